// SPDX-License-Identifier: MIT
/* The range allocator against a map of single units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "range.h"

#define START 16
#define UNITS 1024

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

struct part {
	uint64_t start, bytes;
};

/* Is there a free run of `bytes` at a multiple of `align`? Looked up unit by unit. */
static int fits(const unsigned char *used, uint64_t bytes, uint64_t align, uint64_t *where)
{
	uint64_t start, i;

	for (start = START; start + bytes <= START + UNITS; start++) {
		if (start % align)
			continue;
		for (i = 0; i < bytes && !used[start + i]; i++)
			;
		if (i == bytes) {
			*where = start;
			return 1;
		}
	}
	return 0;
}

static void test_against_map(void **state)
{
	unsigned char used[START + UNITS] = { 0 };
	struct part parts[256];
	struct npurt_range range;
	unsigned int count = 0, refused = 0, step;
	uint64_t seed = 7, free_units = UNITS;

	(void)state;
	assert_int_equal(npurt_range_init(&range, START, START + UNITS), 0);
	for (step = 0; step < 200000; step++) {
		if (count && (count == 256 || next_random(&seed) % 5 < 2)) {
			unsigned int victim = (unsigned int)(next_random(&seed) % count);

			npurt_range_give(&range, parts[victim].start, parts[victim].bytes);
			memset(&used[parts[victim].start], 0, parts[victim].bytes);
			free_units += parts[victim].bytes;
			parts[victim] = parts[--count];
		} else {
			uint64_t bytes = 1 + next_random(&seed) % 24;
			uint64_t align = (uint64_t)1 << next_random(&seed) % 5;
			uint64_t start = 0, expected = 0;
			int ret = npurt_range_take(&range, bytes, align, &start);

			if (!fits(used, bytes, align, &expected)) {
				assert_int_equal(ret, -ENOMEM);
				refused++;
				continue;
			}
			assert_int_equal(ret, 0);
			assert_int_equal(start, expected);
			memset(&used[start], 1, bytes);
			parts[count++] = (struct part){ start, bytes };
			free_units -= bytes;
		}
		assert_int_equal(npurt_range_free_bytes(&range), free_units);
		assert_true(range.count <= range.taken + 1);
	}
	assert_true(refused > 100);
	while (count--)
		npurt_range_give(&range, parts[count].start, parts[count].bytes);
	assert_int_equal(range.count, 1);
	assert_int_equal(range.parts[0].start, START);
	assert_int_equal(range.parts[0].end, START + UNITS);
	npurt_range_fini(&range);
}

static void test_borders(void **state)
{
	struct npurt_range range;
	uint64_t start = 99;

	(void)state;
	assert_int_equal(npurt_range_init(&range, 3, 3 + 8), 0);
	assert_int_equal(npurt_range_take(&range, 0, 1, &start), -EINVAL);
	assert_int_equal(npurt_range_take(&range, 9, 1, &start), -ENOMEM);
	assert_int_equal(npurt_range_take(&range, UINT64_MAX, 1, &start), -ENOMEM);
	assert_int_equal(npurt_range_take(&range, 1, (uint64_t)1 << 63, &start), -ENOMEM);
	assert_int_equal(start, 99);
	assert_int_equal(npurt_range_take(&range, 8, 1, &start), 0);
	assert_int_equal(start, 3);
	assert_int_equal(npurt_range_take(&range, 1, 1, &start), -ENOMEM);
	npurt_range_give(&range, 3, 8);
	assert_int_equal(npurt_range_free_bytes(&range), 8);
	npurt_range_fini(&range);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_map),
		cmocka_unit_test(test_borders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
