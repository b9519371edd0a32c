// SPDX-License-Identifier: MIT
/*
 * The allocator of windows, against a map with one entry for each granule of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "window.h"

#define GRANULES	256
#define FREE		0xff
#define STEPS		200000

/* The owner of each granule; a window is what has the same owner. */
static u8 owner[GRANULES];

static void reference_release(unsigned int slot)
{
	for (unsigned int i = 0; i < GRANULES; i++) {
		if (owner[i] == slot)
			owner[i] = FREE;
	}
}

/* The first granule of the lowest free run of @count, or -1. */
static int reference_find(unsigned int count, u32 without)
{
	unsigned int run = 0;

	for (unsigned int i = 0; i < GRANULES; i++) {
		bool free = owner[i] == FREE || without & BIT(owner[i]);

		run = free ? run + 1 : 0;
		if (run == count)
			return (int)(i + 1 - count);
	}
	return -1;
}

static unsigned int granules(u32 bytes)
{
	return bytes / WINDOW_ALIGN + (bytes % WINDOW_ALIGN != 0);
}

static void check_find(const struct window_map *map, u32 bytes, u32 without)
{
	int expected = reference_find(granules(bytes), without);
	u32 base;

	assert_int_equal(window_find(map, bytes, without, &base), expected >= 0);
	if (expected >= 0)
		assert_int_equal(base, (u32)expected * WINDOW_ALIGN);
}

static void test_random(void **state)
{
	struct random random = { 0x123456789abcdefull };
	struct window_map map;
	unsigned int taken = 0;
	unsigned int full = 0;

	(void)state;
	memset(owner, FREE, sizeof(owner));
	window_init(&map, GRANULES * WINDOW_ALIGN + 17);
	for (unsigned int step = 0; step < STEPS; step++) {
		unsigned int slot = random_below(&random, SLOTS_MAX);
		/* Small ones mostly, so that there are many at a time. */
		u32 largest = random_below(&random, 8) ? 40 : GRANULES + 10;
		u32 bytes = 1 + random_below(&random, largest * WINDOW_ALIGN);
		u32 base;

		check_find(&map, bytes, random_next(&random) & (BIT(SLOTS_MAX) - 1));
		window_release(&map, slot);
		reference_release(slot);
		check_find(&map, bytes, 0);
		if (!window_find(&map, bytes, 0, &base)) {
			full++;
			continue;
		}
		window_take(&map, slot, base, bytes);
		memset(&owner[base / WINDOW_ALIGN], (int)slot, granules(bytes));
		taken++;
	}
	/* Both ways were gone often enough to mean something. */
	assert_true(taken > STEPS / 4);
	assert_true(full > STEPS / 100);
}

static void test_edges(void **state)
{
	struct window_map map;
	u32 base = 1;

	(void)state;
	window_init(&map, 1024);
	assert_true(window_find(&map, 0, 0, &base));
	assert_int_equal(base, 0);
	assert_true(window_find(&map, 1024, 0, &base));
	assert_false(window_find(&map, 1025, 0, &base));
	assert_false(window_find(&map, ~0u, 0, &base));

	/* Nothing is taken for 0 bytes, and 1 byte takes a granule. */
	window_take(&map, 3, 0, 0);
	assert_int_equal(map.count, 0);
	window_take(&map, 3, 0, 1);
	assert_true(window_find(&map, 1024 - 64, 0, &base));
	assert_int_equal(base, 64);
	assert_false(window_find(&map, 1024 - 63, 0, &base));
	window_release(&map, 5);
	assert_false(window_find(&map, 1024, 0, &base));
	window_release(&map, 3);
	assert_true(window_find(&map, 1024, 0, &base));
}

static void test_largest_memory(void **state)
{
	struct window_map map;
	u32 base;

	(void)state;
	window_init(&map, ~0u);
	assert_int_equal(map.bytes, 0xffffffc0u);
	assert_true(window_find(&map, 0xffffffc0u, 0, &base));
	assert_false(window_find(&map, 0xffffffc1u, 0, &base));
	window_take(&map, 0, 0, 0xffffff80u);
	assert_true(window_find(&map, 64, 0, &base));
	assert_int_equal(base, 0xffffff80u);
	assert_false(window_find(&map, 65, 0, &base));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_largest_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
