// SPDX-License-Identifier: MIT
/*
 * Waiters of a semaphore, against a plain list that is searched from end to end, and the protocol
 * around them against a device that tells late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "npu_watch.h"

#define WAITERS 200

static uint32_t seed;

static uint32_t below(uint32_t limit)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * limit >> 32);
}

/* Counts the waiters of a heap, and checks order, links and ranks. */
static size_t check_heap(const struct npu_watch_waiter *top, const struct npu_watch_waiter *up)
{
	uint32_t left, right;

	if (!top)
		return 0;
	assert_ptr_equal(top->up, up);
	assert_true(!up || up->value <= top->value);
	left = top->left ? top->left->rank : 0;
	right = top->right ? top->right->rank : 0;
	assert_true(left >= right);
	assert_int_equal(top->rank, right + 1);
	return 1 + check_heap(top->left, top) + check_heap(top->right, top);
}

static size_t check(const struct npu_watch *watch)
{
	return check_heap(npu_watch_lowest(watch), NULL);
}

static void test_nobody(void **state)
{
	struct npu_watch watch = { 0 };
	struct npu_watch_waiter waiter = { 0 };

	(void)state;
	assert_null(npu_watch_lowest(&watch));
	assert_null(npu_watch_take(&watch, UINT64_MAX));
	npu_watch_remove(&watch, &waiter);
	assert_null(npu_watch_lowest(&watch));
}

static void test_one(void **state)
{
	struct npu_watch watch = { 0 };
	struct npu_watch_waiter waiter = { 0 };

	(void)state;
	assert_true(npu_watch_add(&watch, &waiter, 5));
	assert_ptr_equal(npu_watch_lowest(&watch), &waiter);
	assert_null(npu_watch_take(&watch, 4));
	assert_ptr_equal(npu_watch_take(&watch, 5), &waiter);
	assert_null(npu_watch_lowest(&watch));
	/* Out already: nothing happens, and it can wait again. */
	npu_watch_remove(&watch, &waiter);
	assert_true(npu_watch_add(&watch, &waiter, UINT64_MAX));
	npu_watch_remove(&watch, &waiter);
	assert_null(npu_watch_take(&watch, UINT64_MAX));
}

static void test_who_arms(void **state)
{
	struct npu_watch watch = { 0 };
	struct npu_watch_waiter waiter[5] = { 0 };

	(void)state;
	assert_true(npu_watch_add(&watch, &waiter[0], 10));
	/* The watch stands there already. */
	assert_false(npu_watch_add(&watch, &waiter[1], 10));
	assert_false(npu_watch_add(&watch, &waiter[2], 11));
	assert_true(npu_watch_add(&watch, &waiter[3], 9));
	npu_watch_remove(&watch, &waiter[3]);
	assert_int_equal(npu_watch_lowest(&watch)->value, 10);
	assert_true(npu_watch_add(&watch, &waiter[4], 0));
	assert_int_equal(check(&watch), 4);
}

static void test_all_that_are_met(void **state)
{
	static const uint64_t values[] = { 7, 3, 9, 3, 8, 1, UINT64_MAX, 0 };
	struct npu_watch watch = { 0 };
	struct npu_watch_waiter waiter[8] = { 0 };
	struct npu_watch_waiter *taken;
	uint64_t last = 0;
	int i, count = 0;

	(void)state;
	for (i = 0; i < 8; i++)
		npu_watch_add(&watch, &waiter[i], values[i]);
	while ((taken = npu_watch_take(&watch, 8))) {
		assert_true(taken->value >= last);
		last = taken->value;
		count++;
	}
	assert_int_equal(count, 6);
	assert_int_equal(npu_watch_lowest(&watch)->value, 9);
	assert_ptr_equal(npu_watch_take(&watch, UINT64_MAX), &waiter[2]);
	assert_ptr_equal(npu_watch_take(&watch, UINT64_MAX), &waiter[6]);
	assert_null(npu_watch_lowest(&watch));
}

/* ------------------------------------------------------------- the plain list */

struct plain {
	bool waits[WAITERS];
	uint64_t value[WAITERS];
};

static uint64_t plain_lowest(const struct plain *plain, size_t *count)
{
	uint64_t lowest = UINT64_MAX;
	int i;

	*count = 0;
	for (i = 0; i < WAITERS; i++) {
		if (!plain->waits[i])
			continue;
		++*count;
		if (plain->value[i] < lowest)
			lowest = plain->value[i];
	}
	return lowest;
}

static void random_add(struct npu_watch *watch, struct npu_watch_waiter *waiter,
		       struct plain *plain, uint32_t range)
{
	uint32_t i = below(WAITERS);
	uint64_t value = below(range), lowest;
	size_t count;

	if (plain->waits[i])
		return;
	lowest = plain_lowest(plain, &count);
	assert_int_equal(npu_watch_add(watch, &waiter[i], value), !count || value < lowest);
	plain->waits[i] = true;
	plain->value[i] = value;
}

static void random_take(struct npu_watch *watch, const struct npu_watch_waiter *waiter,
			struct plain *plain, uint32_t range)
{
	uint64_t value = below(range), lowest;
	const struct npu_watch_waiter *taken;
	size_t count;

	lowest = plain_lowest(plain, &count);
	taken = npu_watch_take(watch, value);
	if (!count || lowest > value) {
		assert_null(taken);
		return;
	}
	assert_non_null(taken);
	assert_true(plain->waits[taken - waiter]);
	assert_int_equal(plain->value[taken - waiter], lowest);
	plain->waits[taken - waiter] = false;
}

static void random_run(uint32_t range, uint32_t adds)
{
	struct npu_watch_waiter waiter[WAITERS] = { 0 };
	struct npu_watch watch = { 0 };
	struct plain plain = { 0 };
	uint64_t lowest;
	size_t count;
	int step;

	for (step = 0; step < 4000; step++) {
		uint32_t what = below(100), i;

		if (what < adds) {
			random_add(&watch, waiter, &plain, range);
		} else if (what < adds + 20) {
			/* Those who do not wait are removed too. */
			i = below(WAITERS);
			npu_watch_remove(&watch, &waiter[i]);
			plain.waits[i] = false;
		} else {
			random_take(&watch, waiter, &plain, range);
		}
		lowest = plain_lowest(&plain, &count);
		assert_int_equal(check(&watch), count);
		if (count)
			assert_int_equal(npu_watch_lowest(&watch)->value, lowest);
	}
}

static void test_random(void **state)
{
	uint32_t round;

	(void)state;
	for (round = 0; round < 20; round++) {
		seed = 77 + round;
		random_run(round % 2 ? 1u << 30 : 12, 30 + round % 5 * 12);
	}
}

/* In whatever order they come, nobody walks far. */
static void test_many(void **state)
{
	static const char *const orders[] = { "up", "down", "mixed" };
	size_t many = 1 << 16, i, order;
	struct npu_watch_waiter *waiter = calloc(many, sizeof(*waiter));

	(void)state;
	assert_non_null(waiter);
	for (order = 0; order < sizeof(orders) / sizeof(orders[0]); order++) {
		struct npu_watch watch = { 0 };
		uint64_t last = 0;

		for (i = 0; i < many; i++) {
			npu_watch_add(&watch, &waiter[i],
				      order == 0 ? i : order == 1 ? many - i : below(1u << 31));
			assert_in_range(watch.lowest->rank, 1, 17);
		}
		/* Every second one leaves. */
		for (i = 0; i < many; i += 2)
			npu_watch_remove(&watch, &waiter[i]);
		for (i = 0; i < many / 2; i++) {
			const struct npu_watch_waiter *taken = npu_watch_take(&watch, UINT64_MAX);

			assert_non_null(taken);
			assert_true(taken->value >= last);
			last = taken->value;
		}
		assert_null(watch.lowest);
	}
	free(waiter);
}

/* ------------------------------------------------------------- with a device */

/* Tells once that a value is reached; what it tells may be heard much later. */
struct device {
	uint64_t value;
	uint64_t threshold;
	bool armed;
	unsigned int events;
	unsigned long arms;
};

static void device_look(struct device *device)
{
	if (!device->armed || device->value < device->threshold)
		return;
	device->armed = false;
	device->events++;
}

static void device_arm(struct device *device, uint64_t threshold)
{
	device->armed = true;
	device->threshold = threshold;
	device->arms++;
	device_look(device);
}

/* As drivers do; returns how many were woken. */
static unsigned int hear(struct npu_watch *watch, struct device *device)
{
	unsigned int woken = 0;

	device->events--;
	while (npu_watch_take(watch, device->value))
		woken++;
	if (npu_watch_lowest(watch))
		device_arm(device, npu_watch_lowest(watch)->value);
	return woken;
}

/* Whoever is not met has a watch at his value or below, or an event on its way. */
static void nobody_is_forgotten(const struct npu_watch *watch, const struct device *device)
{
	const struct npu_watch_waiter *lowest = npu_watch_lowest(watch);

	if (!lowest || device->events)
		return;
	assert_true(device->armed);
	assert_true(device->threshold <= lowest->value);
	assert_true(lowest->value > device->value);
}

static void device_step(struct npu_watch *watch, struct device *device,
			struct npu_watch_waiter *waiter)
{
	uint32_t i = below(WAITERS);
	uint64_t value;

	switch (below(8)) {
	case 0:
	case 1:
	case 2:
		if (waiter[i].rank)
			break;
		value = device->value + below(40);
		if (npu_watch_add(watch, &waiter[i], value))
			device_arm(device, value);
		/* Read again, which is what spares it the sleep. */
		if (device->value >= value)
			npu_watch_remove(watch, &waiter[i]);
		break;
	case 3:
		npu_watch_remove(watch, &waiter[i]);
		break;
	case 4:
	case 5:
		device->value += below(6);
		device_look(device);
		break;
	default:
		if (device->events)
			hear(watch, device);
		break;
	}
}

static void test_device(void **state)
{
	struct npu_watch_waiter waiter[WAITERS] = { 0 };
	struct npu_watch watch = { 0 };
	struct device device = { 0 };
	int step;

	(void)state;
	seed = 4711;
	for (step = 0; step < 200000; step++) {
		device_step(&watch, &device, waiter);
		nobody_is_forgotten(&watch, &device);
	}
	/* Enough for everybody: all are told, and nothing stays behind. */
	device.value += 1000;
	device_look(&device);
	while (device.events)
		hear(&watch, &device);
	assert_null(npu_watch_lowest(&watch));
	assert_true(device.arms > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_who_arms),
		cmocka_unit_test(test_all_that_are_met),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
