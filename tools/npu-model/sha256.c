// SPDX-License-Identifier: MIT
/*
 * SHA-256 after FIPS 180-4; the names of functions and variables are the standard's.
 */
#include <string.h>

#include "sha256.h"

/* Fractional parts of the square roots of the first 8 primes (5.3.3). */
static const uint32_t initial_state[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
	0x1f83d9ab, 0x5be0cd19,
};

/* Fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t ch(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) ^ (~x & z);
}

static uint32_t maj(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) ^ (x & z) ^ (y & z);
}

static uint32_t big_sigma_0(uint32_t x)
{
	return rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22);
}

static uint32_t big_sigma_1(uint32_t x)
{
	return rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25);
}

static uint32_t small_sigma_0(uint32_t x)
{
	return rotr(x, 7) ^ rotr(x, 18) ^ x >> 3;
}

static uint32_t small_sigma_1(uint32_t x)
{
	return rotr(x, 17) ^ rotr(x, 19) ^ x >> 10;
}

static uint32_t read_be32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void write_be32(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 24);
	bytes[1] = (uint8_t)(value >> 16);
	bytes[2] = (uint8_t)(value >> 8);
	bytes[3] = (uint8_t)value;
}

static void expand_block(uint32_t w[64], const uint8_t *block)
{
	for (unsigned int t = 0; t < 16; t++)
		w[t] = read_be32(block + 4 * t);
	for (unsigned int t = 16; t < 64; t++)
		w[t] = small_sigma_1(w[t - 2]) + w[t - 7] + small_sigma_0(w[t - 15]) + w[t - 16];
}

static void hash_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64];
	uint32_t v[8];

	expand_block(w, block);
	memcpy(v, state, sizeof(v));
	for (unsigned int t = 0; t < 64; t++) {
		uint32_t t1 = v[7] + big_sigma_1(v[4]) + ch(v[4], v[5], v[6]) + k[t] + w[t];
		uint32_t t2 = big_sigma_0(v[0]) + maj(v[0], v[1], v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (unsigned int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(struct sha256 *hash)
{
	memcpy(hash->state, initial_state, sizeof(hash->state));
	hash->length = 0;
}

void sha256_update(struct sha256 *hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	size_t held = hash->length % SHA256_BLOCK_SIZE;

	if (size == 0)
		return;

	hash->length += size;
	if (held) {
		size_t room = SHA256_BLOCK_SIZE - held;
		size_t taken = size < room ? size : room;

		memcpy(hash->block + held, bytes, taken);
		if (taken < room)
			return;
		hash_block(hash->state, hash->block);
		bytes += taken;
		size -= taken;
	}
	for (; size >= SHA256_BLOCK_SIZE; size -= SHA256_BLOCK_SIZE) {
		hash_block(hash->state, bytes);
		bytes += SHA256_BLOCK_SIZE;
	}
	memcpy(hash->block, bytes, size);
}

void sha256_final(struct sha256 *hash, uint8_t digest[SHA256_DIGEST_SIZE])
{
	static const uint8_t padding[SHA256_BLOCK_SIZE] = { 0x80 };
	uint64_t bits = hash->length * 8;
	size_t held = hash->length % SHA256_BLOCK_SIZE;
	uint8_t length[8];

	/* One bit, then zeros up to the last eight bytes of a block. */
	sha256_update(hash, padding, held < 56 ? 56 - held : 120 - held);
	write_be32(length, (uint32_t)(bits >> 32));
	write_be32(length + 4, (uint32_t)bits);
	sha256_update(hash, length, sizeof(length));

	for (unsigned int i = 0; i < 8; i++)
		write_be32(digest + 4 * i, hash->state[i]);
}
