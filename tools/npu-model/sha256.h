/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), incremental. Thread safe: state is the caller's. Cannot fail.
 */
#ifndef NPU_MODEL_SHA256_H
#define NPU_MODEL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGEST_SIZE	32
#define SHA256_BLOCK_SIZE	64

struct sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[SHA256_BLOCK_SIZE];
};

/**
 * sha256_init() - start a message
 */
void sha256_init(struct sha256 *hash);

/**
 * sha256_update() - append @size bytes to the message; @data may be NULL when @size is zero
 */
void sha256_update(struct sha256 *hash, const void *data, size_t size);

/**
 * sha256_final() - end the message and write its digest; @hash is to be initialised again after
 */
void sha256_final(struct sha256 *hash, uint8_t digest[SHA256_DIGEST_SIZE]);

#endif /* NPU_MODEL_SHA256_H */
