// SPDX-License-Identifier: MIT
/*
 * Clusters and windows together, and the choice whose grants have to go, against counting
 * everything out one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "resources.h"

#define CLUSTERS	6
#define GRANULES	64
#define STEPS		100000
#define HOLDERS		7

struct holding {
	u32 clusters;
	unsigned int first;
	unsigned int count;
};

static struct holding holdings[SLOTS_MAX];

static bool cluster_free(unsigned int cluster, u32 without)
{
	for (unsigned int slot = 0; slot < SLOTS_MAX; slot++) {
		if (!(without & BIT(slot)) && holdings[slot].clusters & BIT(cluster))
			return false;
	}
	return true;
}

static bool granule_free(unsigned int granule, u32 without)
{
	for (unsigned int slot = 0; slot < SLOTS_MAX; slot++) {
		const struct holding *holding = &holdings[slot];

		if (!(without & BIT(slot)) && granule >= holding->first &&
		    granule < holding->first + holding->count)
			return false;
	}
	return true;
}

/* The lowest run of @count things out of @all for which @is_free holds, or -1. */
static int lowest_run(unsigned int count, unsigned int all, u32 without,
		      bool (*is_free)(unsigned int, u32))
{
	unsigned int run = 0;

	if (count == 0)
		return 0;
	for (unsigned int i = 0; i < all; i++) {
		run = is_free(i, without) ? run + 1 : 0;
		if (run == count)
			return (int)(i + 1 - count);
	}
	return -1;
}

static bool reference_find(unsigned int clusters, unsigned int granules, u32 without,
			   struct holding *found)
{
	int cluster = lowest_run(clusters, CLUSTERS, without, cluster_free);
	int granule = lowest_run(granules, GRANULES, without, granule_free);

	if (clusters == 0 || cluster < 0 || granule < 0)
		return false;
	found->clusters = (BIT(clusters) - 1) << cluster;
	found->first = (unsigned int)granule;
	found->count = granules;
	return true;
}

static void check_plan(const struct resources *resources, struct random *random,
		       const struct resources_need *need)
{
	u32 without = BIT(random_below(random, HOLDERS));
	u32 candidates = without;
	struct holding found;
	u8 victims[HOLDERS];
	u32 count = 0;
	u32 robbed;
	bool planned;

	for (u8 slot = 0; slot < HOLDERS; slot++) {
		if (without & BIT(slot) || random_below(random, 3) == 0)
			continue;
		/* In any order. */
		unsigned int place = random_below(random, count + 1);

		memmove(&victims[place + 1], &victims[place], count - place);
		victims[place] = slot;
		candidates |= BIT(slot);
		count++;
	}
	planned = resources_plan(resources, need, without, victims, count, &robbed);
	assert_int_equal(planned, reference_find(need->clusters, need->bytes / WINDOW_ALIGN,
						 candidates, &found));
	if (!planned)
		return;
	assert_int_equal(robbed & ~(candidates & ~without), 0);
	assert_true(reference_find(need->clusters, need->bytes / WINDOW_ALIGN, without | robbed,
				   &found));
	for (unsigned int slot = 0; slot < HOLDERS; slot++) {
		if (robbed & BIT(slot))
			assert_false(reference_find(need->clusters, need->bytes / WINDOW_ALIGN,
						    without | (robbed & ~BIT(slot)), &found));
	}
}

static void test_random(void **state)
{
	struct random random = { 0xfedcba987654321ull };
	struct resources_grant grant;
	struct resources resources;
	unsigned int taken = 0;

	(void)state;
	memset(holdings, 0, sizeof(holdings));
	resources_init(&resources, CLUSTERS, GRANULES * WINDOW_ALIGN);
	for (unsigned int step = 0; step < STEPS; step++) {
		unsigned int slot = random_below(&random, HOLDERS);
		const struct resources_need need = {
			.clusters = random_below(&random, CLUSTERS + 2),
			.bytes = random_below(&random, GRANULES / 2) * WINDOW_ALIGN,
		};
		struct resources_need held;
		struct holding found;
		bool there;

		check_plan(&resources, &random, &need);
		there = resources_find(&resources, &need, BIT(slot), &grant);
		assert_int_equal(there, reference_find(need.clusters, need.bytes / WINDOW_ALIGN,
						       BIT(slot), &found));
		if (!there) {
			resources_release(&resources, slot);
			memset(&holdings[slot], 0, sizeof(holdings[slot]));
			continue;
		}
		assert_int_equal(grant.clusters, found.clusters);
		assert_int_equal(grant.base, found.first * WINDOW_ALIGN);
		assert_int_equal(grant.bytes, need.bytes);
		resources_take(&resources, slot, &grant);
		holdings[slot] = found;
		held = resources_held(&resources, slot);
		assert_int_equal(held.clusters, need.clusters);
		assert_int_equal(held.bytes, need.bytes);
		taken++;
	}
	assert_true(taken > STEPS / 4);
}

static void test_possible(void **state)
{
	static const struct {
		struct resources_need need;
		bool possible;
	} cases[] = {
		{ { 1, 0 }, true },
		{ { 4, 4096 }, true },
		{ { 0, 0 }, false },
		{ { 5, 0 }, false },
		{ { 33, 0 }, false },
		{ { ~0u, 0 }, false },
		{ { 1, 4097 }, false },
		{ { 1, ~0u }, false },
	};
	struct resources resources;
	struct resources_grant grant;

	(void)state;
	resources_init(&resources, 4, 4096);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(resources_possible(&resources, &cases[i].need), cases[i].possible);
		/* An idle device gives what it can give. */
		assert_int_equal(resources_find(&resources, &cases[i].need, 0, &grant),
				 cases[i].possible);
	}
}

static void test_all_clusters(void **state)
{
	const struct resources_need all = { CLUSTERS_MAX, 0 };
	struct resources_grant grant;
	struct resources resources;

	(void)state;
	resources_init(&resources, CLUSTERS_MAX, 64);
	assert_true(resources_find(&resources, &all, 0, &grant));
	assert_int_equal(grant.clusters, ~0u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_possible),
		cmocka_unit_test(test_all_clusters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
