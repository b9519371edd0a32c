// SPDX-License-Identifier: MIT
/*
 * The log: what is written, and what a reader gets who comes late or lost his place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log.h"

static u64 now;

u64 log_time(void)
{
	return now;
}

/* All there is from @start on; returns its number of bytes. */
static u32 read_all(u32 start, char *text, u32 *first)
{
	u32 length = 0;
	u32 bytes;
	u32 next;

	*first = start;
	for (unsigned int i = 0; i <= LOG_BYTES; i++) {
		bytes = log_read(start, text + length, &next);
		assert_true(bytes <= LOG_READ_MAX);
		if (i == 0)
			*first = next - bytes;
		else
			assert_int_equal(next - bytes, start);
		start = next;
		length += bytes;
		if (!bytes)
			return length;
	}
	fail_msg("the log has no end");
	return 0;
}

static void test_lines(void **state)
{
	static const char expected[] = "0 us info: started\n"
				       "12 us error: a 0 b 0xdeadbeef c 4294967295\n"
				       "18446744073709551 us warning: late\n";
	char text[LOG_BYTES + LOG_READ_MAX];
	u32 length;
	u32 first;

	(void)state;
	log_init(1000);
	now = 999;
	log_write(LOG_INFO, "started", 0, 0, 0);
	now = 12345;
	log_write(LOG_ERROR, "a %u b %x c %u", 0, 0xdeadbeef, ~0u);
	log_write(LOG_DEBUG, "not recorded", 0, 0, 0);
	now = ~(u64)0;
	log_write(LOG_WARNING, "late", 0, 0, 0);
	length = read_all(0, text, &first);
	assert_int_equal(first, 0);
	assert_int_equal(length, sizeof(expected) - 1);
	assert_memory_equal(text, expected, length);
	/* Numbers before the first byte are none. */
	assert_int_equal(read_all(0u - 5, text, &first), length);
	assert_int_equal(first, 0);
	assert_int_equal(log_ring.header.magic, NPU_LOG_MAGIC);
	assert_int_equal(log_ring.header.end, length);
}

static void test_long_line(void **state)
{
	char format[300];
	char text[LOG_BYTES + LOG_READ_MAX];
	u32 first;

	(void)state;
	memset(format, 'x', sizeof(format) - 1);
	format[sizeof(format) - 1] = '\0';
	now = 0;
	log_init(1);
	log_write(LOG_INFO, format, 0, 0, 0);
	log_write(LOG_INFO, "next", 0, 0, 0);
	assert_int_equal(read_all(0, text, &first), LOG_LINE_MAX + strlen("0 us info: next\n"));
	assert_int_equal(text[LOG_LINE_MAX - 1], '\n');
	assert_memory_equal(text + LOG_LINE_MAX, "0 us info: next\n", 16);
}

/* Against all that was ever written. */
static void test_overwritten(void **state)
{
	static char history[8 * LOG_BYTES];
	char text[LOG_BYTES + LOG_READ_MAX];
	u32 written = 0;
	u32 length;
	u32 first;

	(void)state;
	log_init(1);
	for (u32 i = 0; written < 7 * LOG_BYTES; i++) {
		now = i;
		log_write(LOG_INFO, "line %u of %x", i * i, i, 0);
		written += (u32)sprintf(history + written, "%u us info: line %u of 0x%08x\n", i,
					i * i, i);
		assert_int_equal(log_ring.header.end, written);
		if (i % 37)
			continue;
		length = read_all(0, text, &first);
		assert_int_equal(first + length, written);
		assert_memory_equal(text, history + first, length);
		assert_true(first == 0 || history[first - 1] == '\n');
		assert_true(first == 0 || length > LOG_BYTES - LOG_LINE_MAX);
		/* In the middle of what is there, not moved to the start of a line. */
		length = read_all(written - 7, text, &first);
		assert_int_equal(length, 7);
		assert_memory_equal(text, history + first, length);
	}
	/* Nothing new. */
	assert_int_equal(log_read(written, text, &first), 0);
	assert_int_equal(first, written);
	/* A place that does not exist yet. */
	length = read_all(written + 1, text, &first);
	assert_true(length > LOG_BYTES - LOG_LINE_MAX);
	assert_int_equal(first + length, written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
