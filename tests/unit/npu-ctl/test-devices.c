// SPDX-License-Identifier: MIT
/* The list of devices, while cards come and go between two looks at it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

/* What each look at the list finds; the last one stays. Negative: it fails. */
static const int *looks;

/* In place of the library's. */
int npurt_list(struct npurt_device_entry *entries, size_t entry_bytes, size_t capacity)
{
	int found = *looks;

	(void)entry_bytes;
	if (looks[1])
		looks++;
	for (size_t i = 0; i < capacity && (int)i < found; i++) {
		snprintf(entries[i].name, sizeof(entries[i].name), "/dev/accel/accel%zu", i);
		snprintf(entries[i].description, sizeof(entries[i].description), "a card");
	}
	return found;
}

static int list(void)
{
	const struct arguments arguments = { .command = "list" };

	return ctl_list(&arguments);
}

/* What a command writes on its output; its status. */
static int run(int (*command)(void), char *text, size_t bytes)
{
	FILE *file = tmpfile();
	int saved, status;
	size_t length;

	assert_non_null(file);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(saved >= 0);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	status = command();
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	rewind(file);
	length = fread(text, 1, bytes - 1, file);
	text[length] = 0;
	fclose(file);
	return status;
}

static void expect_cards(const char *text, size_t count)
{
	char name[32];

	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "/dev/accel/accel%zu", i);
		if (!strstr(text, name) != (i >= count))
			fail_msg("not %zu cards: %s", count, text);
	}
}

static void expect_lines(const char *text, size_t count)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, count);
}

/* Both commands show what the last look has found. */
static void expect_found(const int *numbers, size_t count)
{
	char text[4096];

	looks = numbers;
	assert_int_equal(run(list, text, sizeof(text)), 0);
	expect_lines(text, count);
	expect_cards(text, count);
	looks = numbers;
	assert_int_equal(run(ctl_cdi, text, sizeof(text)), 0);
	expect_cards(text, count);
}

static void test_more(void **state)
{
	static const int more[] = { 1, 3, 0 };

	(void)state;
	expect_found(more, 3);
}

static void test_fewer(void **state)
{
	static const int fewer[] = { 3, 1, 0 };

	(void)state;
	expect_found(fewer, 1);
}

static void test_failures(void **state)
{
	static const int first[] = { -5, 0 }, second[] = { 2, -5, 0 };
	static const int *const cases[] = { first, second };
	char text[4096];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		looks = cases[i];
		assert_int_equal(run(list, text, sizeof(text)), 1);
		assert_string_equal(text, "");
		looks = cases[i];
		assert_int_equal(run(ctl_cdi, text, sizeof(text)), DEVICE_STATUS_FAILED);
		assert_string_equal(text, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_fewer),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
