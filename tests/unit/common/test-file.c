// SPDX-License-Identifier: MIT
/* Whole files: what is read, what is refused, what a failure leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"

struct fixture {
	char folder[40], path[64];
	char error[256];
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->folder, "/tmp/npu-test-file-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static void test_there_and_back(void **state)
{
	static const char bytes[] = "a\0b\n\xff";
	struct fixture *fixture = *state;
	size_t size = 99;
	char *data;

	assert_int_equal(file_write(fixture->path, bytes, 5, fixture->error, 256), 0);
	data = file_read(fixture->path, 5, &size, fixture->error, 256);
	assert_non_null(data);
	assert_int_equal(size, 5);
	assert_memory_equal(data, bytes, 5);
	assert_int_equal(data[5], 0);
	free(data);
	/* A shorter file replaces it whole. */
	assert_int_equal(file_write(fixture->path, "x", 1, fixture->error, 256), 0);
	data = file_read(fixture->path, 5, &size, fixture->error, 256);
	assert_int_equal(size, 1);
	free(data);
}

static void test_empty(void **state)
{
	struct fixture *fixture = *state;
	size_t size = 99;
	char *data;

	assert_int_equal(file_write(fixture->path, NULL, 0, fixture->error, 256), 0);
	data = file_read(fixture->path, 0, &size, fixture->error, 256);
	assert_non_null(data);
	assert_int_equal(size, 0);
	assert_int_equal(data[0], 0);
	free(data);
}

static void test_limit(void **state)
{
	struct fixture *fixture = *state;
	size_t size;

	assert_int_equal(file_write(fixture->path, "123456", 6, fixture->error, 256), 0);
	assert_null(file_read(fixture->path, 5, &size, fixture->error, 256));
	assert_non_null(strstr(fixture->error, "6 bytes"));
	assert_non_null(strstr(fixture->error, fixture->path));
}

static void expect_refused(struct fixture *fixture, const char *path, const char *reason)
{
	size_t size;

	strcpy(fixture->error, "");
	assert_null(file_read(path, 1000, &size, fixture->error, 256));
	if (!strstr(fixture->error, reason))
		fail_msg("'%s' says nothing of '%s'", fixture->error, reason);
}

static void test_refused(void **state)
{
	struct fixture *fixture = *state;

	expect_refused(fixture, fixture->path, "No such file");
	expect_refused(fixture, fixture->folder, "is no regular file");
	expect_refused(fixture, "/dev/zero", "is no regular file");
	/* Nobody writes into it: a reader that waits waits for ever. */
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	alarm(20);
	expect_refused(fixture, fixture->path, "is no regular file");
	alarm(0);
}

/* The reason must not be lost behind a long name. */
static void test_long_name(void **state)
{
	struct fixture *fixture = *state;
	char name[3000], error[512];
	size_t size;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_null(file_read(name, 10, &size, error, sizeof(error)));
	assert_non_null(strstr(error, "File name too long"));
	assert_int_equal(file_write(name, "x", 1, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "File name too long"));
	(void)fixture;
}

static void test_unwritable(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/none/file", fixture->folder);
	assert_int_equal(file_write(path, "x", 1, fixture->error, 256), -1);
	assert_non_null(strstr(fixture->error, "No such file"));
}

static void test_cut_off(void **state)
{
	struct rlimit before, small = { 4096, 4096 };
	struct fixture *fixture = *state;
	char *bytes = calloc(1, 1 << 20);
	int result;

	assert_non_null(bytes);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	result = file_write(fixture->path, bytes, 1 << 20, fixture->error, 256);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	free(bytes);
	assert_int_equal(result, -1);
	assert_non_null(strstr(fixture->error, "File too large"));
	assert_int_equal(access(fixture->path, F_OK), -1);
}

/* A link to a full device: the failure must be told, and the link must stay. */
static void test_device_stays(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(symlink("/dev/full", fixture->path), 0);
	assert_int_equal(file_write(fixture->path, "x", 1, fixture->error, 256), -1);
	assert_non_null(strstr(fixture->error, "No space left"));
	assert_int_equal(access(fixture->path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwritable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
