// SPDX-License-Identifier: MIT
/*
 * SHA-256 against the examples of FIPS 180-4 and NIST's, and against sha256sum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sha256.h"

#define HEX_SIZE	(2 * SHA256_DIGEST_SIZE + 1)

static void to_hex(const uint8_t digest[SHA256_DIGEST_SIZE], char hex[HEX_SIZE])
{
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
}

static void hash_whole(const void *data, size_t size, char hex[HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, data, size);
	sha256_final(&hash, digest);
	to_hex(digest, hex);
}

static void test_standard(void **state)
{
	static const struct {
		const char *message;
		const char *digest;
	} examples[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char hex[HEX_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		hash_whole(examples[i].message, strlen(examples[i].message), hex);
		assert_string_equal(hex, examples[i].digest);
	}
}

static void test_million(void **state)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256 hash;
	char part[1000], hex[HEX_SIZE];

	(void)state;
	memset(part, 'a', sizeof(part));
	sha256_init(&hash);
	for (int i = 0; i < 1000; i++)
		sha256_update(&hash, part, sizeof(part));
	sha256_final(&hash, digest);
	to_hex(digest, hex);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* However a message is cut, its digest is the same. */
static void test_pieces(void **state)
{
	uint8_t data[300], digest[SHA256_DIGEST_SIZE];
	char whole[HEX_SIZE], pieces[HEX_SIZE];
	struct sha256 hash;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 11);
	for (size_t size = 0; size <= sizeof(data); size++) {
		hash_whole(data, size, whole);
		for (size_t piece = 1; piece < 70; piece += 7) {
			sha256_init(&hash);
			for (size_t at = 0; at < size; at += piece)
				sha256_update(&hash, data + at,
					      size - at < piece ? size - at : piece);
			sha256_update(&hash, NULL, 0);
			sha256_final(&hash, digest);
			to_hex(digest, pieces);
			assert_string_equal(pieces, whole);
		}
	}
}

static void ask_sha256sum(const void *data, size_t size, char hex[HEX_SIZE])
{
	char path[] = "/tmp/npu-test-sha256-XXXXXX";
	char command[64];
	int file = mkstemp(path);
	FILE *pipe;

	assert_true(file >= 0);
	assert_int_equal(write(file, data, size), size);
	close(file);
	snprintf(command, sizeof(command), "sha256sum %s", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(hex, HEX_SIZE, pipe));
	/* The rest of the line, so that the program does not end by a broken pipe. */
	while (fgetc(pipe) != EOF)
		;
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
}

static void test_against_sha256sum(void **state)
{
	/* All that differs in padding, and some more. */
	static const size_t sizes[] = {
		1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 127, 128, 129, 1000, 4096, 100003,
	};
	static uint8_t data[100003];
	char ours[HEX_SIZE], theirs[HEX_SIZE];
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		data[i] = (uint8_t)(seed >> 56);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		hash_whole(data, sizes[i], ours);
		ask_sha256sum(data, sizes[i], theirs);
		assert_string_equal(ours, theirs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard),
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_against_sha256sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
