// SPDX-License-Identifier: MIT
/*
 * npu-mkimage: its images carry what they were asked to and are accepted by the boot ROM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "boot_rom.h"
#include "npu/npu_regs.h"

#define GOOD	"--load 0x10000000 --entry 0x10000002 --firmware-version 1.0.0 --abi 1.2 "
#define IMAGE_LIMIT	(NPU_FW_HEADER_SIZE + NPU_FW_TCM_SIZE)

static const char *mkimage_path;

struct fixture {
	char folder[32];
	char binary[64];
	char image[64];
	char messages[64];
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->folder, "/tmp/npu-test-mkimage-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->binary, sizeof(fixture->binary), "%s/binary", fixture->folder);
	snprintf(fixture->image, sizeof(fixture->image), "%s/image", fixture->folder);
	snprintf(fixture->messages, sizeof(fixture->messages), "%s/messages", fixture->folder);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->binary);
	unlink(fixture->image);
	unlink(fixture->messages);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static void write_binary(const struct fixture *fixture, size_t size)
{
	FILE *file = fopen(fixture->binary, "wb");

	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		fputc((int)(i * 13 + 1) & 0xff, file);
	assert_int_equal(fclose(file), 0);
}

/* Returns the exit code; what the program says goes to the fixture's messages. */
static int run(const struct fixture *fixture, const char *options)
{
	char command[1024];
	int status;

	snprintf(command, sizeof(command), "'%s' %s > %s 2>&1", mkimage_path, options,
		 fixture->messages);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make(const struct fixture *fixture, const char *options)
{
	char command[768];

	snprintf(command, sizeof(command), "%s %s %s", options, fixture->binary, fixture->image);
	return run(fixture, command);
}

static size_t read_file(const char *path, void *buffer, size_t limit)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(buffer, 1, limit, file);
	fclose(file);
	return size;
}

static uint32_t word(const uint8_t *image, size_t offset)
{
	return image[offset] | (uint32_t)image[offset + 1] << 8 |
	       (uint32_t)image[offset + 2] << 16 | (uint32_t)image[offset + 3] << 24;
}

static void test_image(void **state)
{
	const struct fixture *fixture = *state;
	const struct npu_fw_header *header;
	uint8_t image[2000];
	size_t size;

	write_binary(fixture, 1001);
	assert_int_equal(make(fixture, GOOD "--hardware 0x20000..0x3ffff"), 0);
	size = read_file(fixture->image, image, sizeof(image));
	/* Padded to a word. */
	assert_int_equal(size, 128 + 1004);
	assert_memory_equal(image, "NPUF", 4);
	assert_int_equal(word(image, 4), 1);
	assert_int_equal(word(image, 8), 128);
	assert_int_equal(word(image, 12), 0x20000);
	assert_int_equal(word(image, 16), 0x3ffff);
	assert_int_equal(word(image, 20), 1004);
	assert_int_equal(word(image, 24), 0x10000000);
	assert_int_equal(word(image, 28), 0x10000002);
	assert_int_equal(word(image, 32), 1);
	assert_int_equal(word(image, 36), 2);
	assert_string_equal((const char *)image + 40, "1.0.0");
	for (size_t i = 0; i < 1004; i++)
		assert_int_equal(image[128 + i], i < 1001 ? (i * 13 + 1) & 0xff : 0);
	assert_int_equal(npu_boot_rom_check(image, size, &header), NPU_BOOT_STATUS_RUNNING);
}

static void test_default_hardware(void **state)
{
	const struct fixture *fixture = *state;
	uint8_t image[200];

	write_binary(fixture, 4);
	assert_int_equal(make(fixture, GOOD), 0);
	assert_int_equal(read_file(fixture->image, image, sizeof(image)), 132);
	assert_int_equal(word(image, 12), NPU_HW_VERSION);
	assert_int_equal(word(image, 16), NPU_HW_VERSION);
}

static void test_largest(void **state)
{
	const struct fixture *fixture = *state;
	const struct npu_fw_header *header;
	uint8_t *image = malloc(IMAGE_LIMIT);

	assert_non_null(image);
	write_binary(fixture, NPU_FW_TCM_SIZE);
	assert_int_equal(make(fixture, GOOD), 0);
	assert_int_equal(read_file(fixture->image, image, IMAGE_LIMIT), IMAGE_LIMIT);
	assert_int_equal(npu_boot_rom_check(image, IMAGE_LIMIT, &header),
			 NPU_BOOT_STATUS_RUNNING);
	free(image);
}

/* Refused work leaves no image and a message that says what is wrong. */
static void expect_refusal(const struct fixture *fixture, const char *options, int code,
			   const char *message)
{
	char text[1024];
	size_t size;

	assert_int_equal(make(fixture, options), code);
	assert_int_not_equal(access(fixture->image, F_OK), 0);
	size = read_file(fixture->messages, text, sizeof(text) - 1);
	text[size] = '\0';
	if (!strstr(text, message))
		fail_msg("%s: '%s' lacks '%s'", options, text, message);
}

static void test_refused(void **state)
{
	const struct fixture *fixture = *state;

	expect_refusal(fixture, GOOD, 1, "cannot open");
	write_binary(fixture, 0);
	expect_refusal(fixture, GOOD, 1, "is empty");
	write_binary(fixture, NPU_FW_TCM_SIZE + 1);
	expect_refusal(fixture, GOOD, 1, "too large");
	write_binary(fixture, 64);
	expect_refusal(fixture, GOOD "--entry 0x10000040", 1, "entry address");
	expect_refusal(fixture, GOOD "--load 0x1003fffc", 1, "fit into TCM");
	expect_refusal(fixture, GOOD "--hardware 1..2", 1, "other hardware");
	expect_refusal(fixture, GOOD "--firmware-version 'a b'", 1, "printable");
}

static void test_wrong_use(void **state)
{
	const struct fixture *fixture = *state;

	write_binary(fixture, 64);
	expect_refusal(fixture, "--load 0x10000000 --entry 0x10000002 --abi 1.2", 2,
		       "--firmware-version is missing");
	expect_refusal(fixture, GOOD "--load 0x100000000", 2, "--load cannot be");
	expect_refusal(fixture, GOOD "--load x", 2, "--load cannot be");
	expect_refusal(fixture, GOOD "--entry ''", 2, "--entry cannot be");
	expect_refusal(fixture, GOOD "--entry -4", 2, "--entry cannot be");
	expect_refusal(fixture, GOOD "--abi 1", 2, "--abi cannot be");
	expect_refusal(fixture, GOOD "--abi 1.2.3", 2, "--abi cannot be");
	expect_refusal(fixture, GOOD "--hardware 3", 2, "--hardware cannot be");
	expect_refusal(fixture, GOOD "--hardware 1.2", 2, "--hardware cannot be");
	expect_refusal(fixture, GOOD "--firmware-version ''", 2, "cannot be ''");
	expect_refusal(fixture, GOOD "--firmware-version 12345678901234567890123456789012", 2,
		       "--firmware-version cannot be");
	expect_refusal(fixture, GOOD "--nonsense", 2, "nonsense");
	expect_refusal(fixture, GOOD "third", 2, "not 3 files");
	assert_int_equal(run(fixture, ""), 2);
	assert_int_equal(run(fixture, "--help"), 0);
	assert_int_equal(run(fixture, "--version"), 0);
}

static void test_unwritable(void **state)
{
	const struct fixture *fixture = *state;
	char command[512];

	write_binary(fixture, 64);
	snprintf(command, sizeof(command), GOOD "%s %s/none/image", fixture->binary,
		 fixture->folder);
	assert_int_equal(run(fixture, command), 1);
	/* A folder in the way: nothing is left beside it either. */
	assert_int_equal(mkdir(fixture->image, 0700), 0);
	assert_int_equal(make(fixture, GOOD), 1);
	assert_int_equal(rmdir(fixture->image), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_image),
		TEST(test_default_hardware),
		TEST(test_largest),
		TEST(test_refused),
		TEST(test_wrong_use),
		TEST(test_unwritable),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: test-mkimage NPU-MKIMAGE\n");
		return 2;
	}
	mkimage_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
