// SPDX-License-Identifier: MIT
/*
 * The boot ROM: an image written here byte by byte, as npu_firmware.h describes it and sealed by
 * sha256sum, is accepted; every broken field is refused by its own code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "boot_rom.h"
#include "npu/npu_regs.h"

#define PAYLOAD_SIZE	64
#define IMAGE_SIZE	(128 + PAYLOAD_SIZE)
#define MUTATIONS	10000

/* Offsets of the fields in the image. */
#define MAGIC		0
#define HEADER_VERSION	4
#define HEADER_SIZE	8
#define HARDWARE_MIN	12
#define HARDWARE_MAX	16
#define PAYLOAD		20
#define LOAD		24
#define ENTRY		28
#define ABI_MAJOR	32
#define ABI_MINOR	36
#define VERSION		40
#define RESERVED	72
#define DIGEST		96

static void put(uint8_t *image, size_t offset, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		image[offset + i] = (uint8_t)(value >> 8 * i);
}

static unsigned int hex_digit(char digit)
{
	return digit <= '9' ? (unsigned int)(digit - '0') : (unsigned int)(digit - 'a' + 10);
}

/* Lets sha256sum make the digest of header and payload. */
static void seal(uint8_t *image, size_t size)
{
	char path[] = "/tmp/npu-test-boot-rom-XXXXXX";
	char command[64], hex[65];
	int file = mkstemp(path);
	FILE *pipe;

	assert_true(file >= 0);
	assert_int_equal(write(file, image, DIGEST), DIGEST);
	assert_int_equal(write(file, image + 128, size - 128), size - 128);
	close(file);
	snprintf(command, sizeof(command), "sha256sum %s", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(hex, sizeof(hex), pipe));
	while (fgetc(pipe) != EOF)
		;
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
	for (size_t i = 0; i < 32; i++)
		image[DIGEST + i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 |
					      hex_digit(hex[2 * i + 1]));
}

static void make(uint8_t image[IMAGE_SIZE])
{
	memset(image, 0, IMAGE_SIZE);
	memcpy(image, "NPUF", 4);
	put(image, HEADER_VERSION, 1);
	put(image, HEADER_SIZE, 128);
	put(image, HARDWARE_MIN, 0x00030000);
	put(image, HARDWARE_MAX, 0x0003ffff);
	put(image, PAYLOAD, PAYLOAD_SIZE);
	put(image, LOAD, 0x10000100);
	put(image, ENTRY, 0x10000102);
	put(image, ABI_MAJOR, 1);
	put(image, ABI_MINOR, 2);
	strcpy((char *)image + VERSION, "1.2.3-test+4");
	for (size_t i = 0; i < PAYLOAD_SIZE; i++)
		image[128 + i] = (uint8_t)(i * 7 + 1);
	seal(image, IMAGE_SIZE);
}

static enum npu_boot_status check(const uint8_t *image, size_t size)
{
	const struct npu_fw_header *header = (const void *)1;
	enum npu_boot_status status = npu_boot_rom_check(image, size, &header);

	if (status == NPU_BOOT_STATUS_RUNNING)
		assert_ptr_equal(header, image);
	else
		assert_null(header);
	return status;
}

static void test_accepted(void **state)
{
	uint8_t image[IMAGE_SIZE];

	(void)state;
	make(image);
	assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_RUNNING);
}

static void test_any_alignment(void **state)
{
	uint8_t image[IMAGE_SIZE];
	uint8_t *moved = malloc(IMAGE_SIZE + 8);

	(void)state;
	assert_non_null(moved);
	make(image);
	for (size_t shift = 0; shift < 8; shift++) {
		memcpy(moved + shift, image, IMAGE_SIZE);
		assert_int_equal(check(moved + shift, IMAGE_SIZE), NPU_BOOT_STATUS_RUNNING);
	}
	free(moved);
}

/* A copy of exactly @size bytes, so that a read beyond it is seen by a sanitizer. */
static enum npu_boot_status check_size(const uint8_t *image, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	enum npu_boot_status status;

	assert_non_null(copy);
	memcpy(copy, image, size);
	status = check(copy, size);
	free(copy);
	return status;
}

static void test_sizes(void **state)
{
	uint8_t image[IMAGE_SIZE + 8] = { 0 };

	(void)state;
	make(image);
	for (size_t size = 0; size < 128; size++)
		assert_int_equal(check_size(image, size), NPU_BOOT_STATUS_TRUNCATED);
	for (size_t size = 128; size < IMAGE_SIZE; size++)
		assert_int_equal(check_size(image, size), NPU_BOOT_STATUS_BAD_SIZE);
	for (size_t size = IMAGE_SIZE + 1; size <= IMAGE_SIZE + 8; size++)
		assert_int_equal(check_size(image, size), NPU_BOOT_STATUS_BAD_SIZE);
}

/* A field with a value that is refused, and sealed with it: only the field is wrong. */
struct refusal {
	size_t offset;
	uint32_t value;
	enum npu_boot_status status;
};

static const struct refusal refusals[] = {
	{ MAGIC, 0, NPU_BOOT_STATUS_BAD_MAGIC },
	{ MAGIC, 0x4e505546, NPU_BOOT_STATUS_BAD_MAGIC },
	{ MAGIC, 0x4655504f, NPU_BOOT_STATUS_BAD_MAGIC },
	{ HEADER_VERSION, 0, NPU_BOOT_STATUS_BAD_HEADER_VERSION },
	{ HEADER_VERSION, 2, NPU_BOOT_STATUS_BAD_HEADER_VERSION },
	{ HEADER_VERSION, 0x10001, NPU_BOOT_STATUS_BAD_HEADER_VERSION },
	{ HEADER_SIZE, 0, NPU_BOOT_STATUS_BAD_HEADER_SIZE },
	{ HEADER_SIZE, 127, NPU_BOOT_STATUS_BAD_HEADER_SIZE },
	{ HEADER_SIZE, 132, NPU_BOOT_STATUS_BAD_HEADER_SIZE },
	{ HEADER_SIZE, 0xffffffff, NPU_BOOT_STATUS_BAD_HEADER_SIZE },
	{ HARDWARE_MIN, NPU_HW_VERSION + 1, NPU_BOOT_STATUS_BAD_HARDWARE },
	{ HARDWARE_MIN, 0xffffffff, NPU_BOOT_STATUS_BAD_HARDWARE },
	{ HARDWARE_MAX, NPU_HW_VERSION - 1, NPU_BOOT_STATUS_BAD_HARDWARE },
	{ HARDWARE_MAX, 0, NPU_BOOT_STATUS_BAD_HARDWARE },
	{ PAYLOAD, 0, NPU_BOOT_STATUS_BAD_SIZE },
	{ PAYLOAD, PAYLOAD_SIZE - 4, NPU_BOOT_STATUS_BAD_SIZE },
	{ PAYLOAD, PAYLOAD_SIZE + 4, NPU_BOOT_STATUS_BAD_SIZE },
	{ PAYLOAD, 0xffffff80, NPU_BOOT_STATUS_BAD_SIZE },
	{ PAYLOAD, 0xfffffffc, NPU_BOOT_STATUS_BAD_SIZE },
	{ LOAD, 0, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x0ffffffc, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x10000102, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x10000101, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x10040000 - PAYLOAD_SIZE + 4, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x10040000, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0x40000000, NPU_BOOT_STATUS_BAD_LOAD },
	{ LOAD, 0xfffffffc, NPU_BOOT_STATUS_BAD_LOAD },
	{ ENTRY, 0, NPU_BOOT_STATUS_BAD_ENTRY },
	{ ENTRY, 0x100000fe, NPU_BOOT_STATUS_BAD_ENTRY },
	{ ENTRY, 0x10000101, NPU_BOOT_STATUS_BAD_ENTRY },
	{ ENTRY, 0x10000100 + PAYLOAD_SIZE, NPU_BOOT_STATUS_BAD_ENTRY },
	{ ENTRY, 0xfffffffe, NPU_BOOT_STATUS_BAD_ENTRY },
	{ VERSION, 0, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e312e20, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e310a31, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e312031, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e31ff31, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e317f31, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION, 0x2e310031, NPU_BOOT_STATUS_BAD_VERSION },
	{ VERSION + 28, 0x01000000, NPU_BOOT_STATUS_BAD_VERSION },
	{ RESERVED, 1, NPU_BOOT_STATUS_BAD_RESERVED },
	{ RESERVED + 20, 0x80000000, NPU_BOOT_STATUS_BAD_RESERVED },
};

static void test_refusals(void **state)
{
	uint8_t image[IMAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		enum npu_boot_status status;

		make(image);
		put(image, refusals[i].offset, refusals[i].value);
		seal(image, IMAGE_SIZE);
		status = check(image, IMAGE_SIZE);
		if (status != refusals[i].status)
			fail_msg("0x%x at %zu: code %d instead of %d", refusals[i].value,
				 refusals[i].offset, (int)status, (int)refusals[i].status);
	}
}

/* What is just inside. */
static void test_limits(void **state)
{
	static const struct { size_t offset[2]; uint32_t value[2]; } good[] = {
		{ { HARDWARE_MIN, HARDWARE_MAX }, { NPU_HW_VERSION, NPU_HW_VERSION } },
		{ { HARDWARE_MIN, HARDWARE_MAX }, { 0, 0xffffffff } },
		{ { LOAD, ENTRY }, { 0x10000000, 0x10000000 } },
		{ { LOAD, ENTRY }, { 0x10040000 - PAYLOAD_SIZE, 0x1003fffe } },
		{ { ABI_MAJOR, ABI_MINOR }, { 0xffffffff, 0 } },
		{ { VERSION, VERSION + 4 }, { 0x7e7e7e7e, 0x21212121 } },
	};
	uint8_t image[IMAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		make(image);
		put(image, good[i].offset[0], good[i].value[0]);
		put(image, good[i].offset[1], good[i].value[1]);
		seal(image, IMAGE_SIZE);
		assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_RUNNING);
	}
	/* The longest version: 31 characters. */
	make(image);
	memset(image + VERSION, 'v', 31);
	seal(image, IMAGE_SIZE);
	assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_RUNNING);
	memset(image + VERSION, 0, 32);
	seal(image, IMAGE_SIZE);
	assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_BAD_VERSION);
	memset(image + VERSION, 'v', 32);
	seal(image, IMAGE_SIZE);
	assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_BAD_VERSION);
}

/* All of TCM is the most there can be. */
static void test_full_tcm(void **state)
{
	size_t size = 128 + NPU_FW_TCM_SIZE;
	uint8_t *image = calloc(1, size + 4);

	(void)state;
	assert_non_null(image);
	make(image);
	put(image, PAYLOAD, NPU_FW_TCM_SIZE);
	put(image, LOAD, NPU_FW_TCM_BASE);
	seal(image, size);
	assert_int_equal(check(image, size), NPU_BOOT_STATUS_RUNNING);
	put(image, PAYLOAD, NPU_FW_TCM_SIZE + 4);
	seal(image, size + 4);
	assert_int_equal(check(image, size + 4), NPU_BOOT_STATUS_BAD_LOAD);
	free(image);
}

/* Every single bit counts, also those no rule looks at. */
static void test_every_bit(void **state)
{
	uint8_t image[IMAGE_SIZE];

	(void)state;
	make(image);
	for (size_t bit = 0; bit < 8 * IMAGE_SIZE; bit++) {
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (check(image, IMAGE_SIZE) == NPU_BOOT_STATUS_RUNNING)
			fail_msg("bit %zu of byte %zu may be changed", bit % 8, bit / 8);
		if (bit / 8 >= DIGEST)
			assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_BAD_DIGEST);
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(check(image, IMAGE_SIZE), NPU_BOOT_STATUS_RUNNING);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

/* One to four changes, of a byte or a word, and now and then a cut or an extension. */
static size_t mutate(uint8_t *image, uint64_t *seed)
{
	static const uint32_t values[] = {
		0, 1, 4, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff,
	};
	unsigned int changes = 1 + next_random(seed) % 4;

	while (changes--) {
		uint32_t value = values[next_random(seed) % 7] + next_random(seed) % 3 - 1;

		if (next_random(seed) % 2)
			image[next_random(seed) % IMAGE_SIZE] = (uint8_t)next_random(seed);
		else
			put(image, next_random(seed) % (IMAGE_SIZE / 4) * 4, value);
	}
	return next_random(seed) % 4 ? IMAGE_SIZE : next_random(seed) % (IMAGE_SIZE + 16);
}

static void test_mutations(void **state)
{
	uint8_t original[IMAGE_SIZE], image[IMAGE_SIZE + 16];
	unsigned int seen[NPU_BOOT_STATUS_BAD_DIGEST + 1] = { 0 };
	uint64_t seed = 1;

	(void)state;
	make(original);
	for (unsigned int n = 0; n < MUTATIONS; n++) {
		enum npu_boot_status status;
		bool identical;
		size_t size;

		memset(image, 0, sizeof(image));
		memcpy(image, original, IMAGE_SIZE);
		size = mutate(image, &seed);
		identical = size == IMAGE_SIZE && memcmp(image, original, IMAGE_SIZE) == 0;
		status = check_size(image, size);
		assert_int_equal(status == NPU_BOOT_STATUS_RUNNING, identical);
		seen[status]++;
	}
	/* The changes reached every check. */
	for (size_t i = NPU_BOOT_STATUS_TRUNCATED; i <= NPU_BOOT_STATUS_BAD_DIGEST; i++)
		assert_int_not_equal(seen[i], 0);
}

static void test_load(void **state)
{
	uint8_t *tcm = malloc(NPU_FW_TCM_SIZE);
	uint8_t image[IMAGE_SIZE];
	uint32_t entry = 5;

	(void)state;
	assert_non_null(tcm);
	make(image);
	memset(tcm, 0xa5, NPU_FW_TCM_SIZE);
	image[IMAGE_SIZE - 1] ^= 1;
	assert_int_equal(npu_boot_rom_load(image, IMAGE_SIZE, tcm, &entry),
			 NPU_BOOT_STATUS_BAD_DIGEST);
	for (size_t i = 0; i < NPU_FW_TCM_SIZE; i++)
		assert_int_equal(tcm[i], 0xa5);
	assert_int_equal(entry, 5);
	image[IMAGE_SIZE - 1] ^= 1;
	assert_int_equal(npu_boot_rom_load(image, IMAGE_SIZE, tcm, &entry),
			 NPU_BOOT_STATUS_RUNNING);
	assert_int_equal(entry, 0x10000102);
	for (size_t i = 0; i < NPU_FW_TCM_SIZE; i++) {
		bool inside = i >= 0x100 && i < 0x100 + PAYLOAD_SIZE;

		assert_int_equal(tcm[i], inside ? image[128 + i - 0x100] : 0);
	}
	free(tcm);
}

static void test_reasons(void **state)
{
	(void)state;
	for (int i = -1; i <= NPU_BOOT_STATUS_BAD_DIGEST + 1; i++) {
		for (int j = 0; j < i; j++)
			assert_string_not_equal(npu_boot_rom_reason((enum npu_boot_status)i),
						npu_boot_rom_reason((enum npu_boot_status)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_any_alignment),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_full_tcm),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
