// SPDX-License-Identifier: MIT
/*
 * Page tables against a walker of their bytes that was written from the RISC-V privileged
 * specification (Sv39), and against a plain map of pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_pgtable.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* Tables get addresses that are no pointers, so that nothing can mix them up. */
#define TABLES_MAX 4096
#define TABLE_BASE (0x40ull * GIB)

struct world {
	void *table[TABLES_MAX];
	long tables, hosts;
	long allocations_left; /* then there is no memory; -1: plenty */
	struct npu_pgtable pt;
};

static int allowed(struct world *world)
{
	if (!world->allocations_left)
		return 0;
	if (world->allocations_left > 0)
		world->allocations_left--;
	return 1;
}

static void *table_alloc(void *owner, __u64 *dma)
{
	struct world *world = owner;
	unsigned int i;

	if (!allowed(world))
		return NULL;
	for (i = 0; world->table[i]; i++)
		assert_true(i + 1 < TABLES_MAX);
	world->table[i] = aligned_alloc(4096, 4096);
	assert_non_null(world->table[i]);
	memset(world->table[i], 0, 4096);
	*dma = TABLE_BASE + i * 4096;
	world->tables++;
	return world->table[i];
}

static void table_free(void *owner, void *table, __u64 dma)
{
	struct world *world = owner;
	uint64_t i = (dma - TABLE_BASE) / 4096;

	assert_true(i < TABLES_MAX);
	assert_ptr_equal(world->table[i], table);
	free(table);
	world->table[i] = NULL;
	world->tables--;
}

static void *host_alloc(void *owner, unsigned long bytes)
{
	struct world *world = owner;

	if (!allowed(world))
		return NULL;
	world->hosts++;
	return calloc(1, bytes);
}

static void host_free(void *owner, void *memory)
{
	struct world *world = owner;

	if (memory)
		world->hosts--;
	free(memory);
}

static const struct npu_pgtable_ops ops = {
	.table_alloc = table_alloc,
	.table_free = table_free,
	.host_alloc = host_alloc,
	.host_free = host_free,
};

static struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->allocations_left = -1;
	assert_int_equal(npu_pgtable_init(&world->pt, &ops, world), 0);
	return world;
}

static void world_free(struct world *world)
{
	npu_pgtable_fini(&world->pt);
	assert_int_equal(world->tables, 0);
	assert_int_equal(world->hosts, 0);
	free(world);
}

/*
 * The specification's walk. Returns the permissions (R 1, W 2, X 4) or 0, and fails the test where
 * the tables themselves are wrong.
 */
static unsigned int walk(struct world *world, uint64_t va, uint64_t *pa, uint64_t *leaf_bytes)
{
	uint64_t table = npu_pgtable_root(&world->pt);
	int i;

	if (va >> 38 && va >> 38 != 0x3ffffff)
		return 0; /* bits 63:39 must equal bit 38 */
	for (i = 2; i >= 0; i--) {
		uint64_t vpn = va >> (12 + 9 * i) & 511;
		uint64_t ppn, pte;

		assert_true(table >= TABLE_BASE && table < TABLE_BASE + TABLES_MAX * 4096ull);
		assert_non_null(world->table[(table - TABLE_BASE) / 4096]);
		memcpy(&pte, (char *)world->table[(table - TABLE_BASE) / 4096] + vpn * 8, 8);
		assert_int_equal(pte >> 54, 0);
		if (!(pte & 1)) {
			assert_int_equal(pte, 0);
			return 0;
		}
		ppn = pte >> 10 & 0xfffffffffffull;
		if (!(pte & 0xe)) {
			/* Pointer: D, A and U are reserved; level 0 cannot point. */
			assert_int_equal(pte & 0x3f1, 1);
			assert_true(i > 0);
			table = ppn << 12;
			continue;
		}
		assert_false((pte & 4) && !(pte & 2)); /* W without R is reserved */
		assert_int_equal(ppn & (((uint64_t)1 << 9 * i) - 1), 0);
		assert_true(pte & 0x10); /* U */
		assert_true(pte & 0x40); /* A */
		assert_int_equal(!!(pte & 0x80),
				 !!(pte & 4)); /* D exactly where it can be written */
		*leaf_bytes = (uint64_t)1 << (12 + 9 * i);
		*pa = (ppn << 12) + (va & (*leaf_bytes - 1));
		return pte >> 1 & 7;
	}
	fail();
	return 0;
}

static void expect(struct world *world, uint64_t va, unsigned int prot, uint64_t pa,
		   uint64_t leaf_bytes)
{
	uint64_t got_pa = 0, got_leaf = 0;
	__u64 looked_up = 0;

	assert_int_equal(walk(world, va, &got_pa, &got_leaf), prot);
	assert_int_equal(npu_pgtable_lookup(&world->pt, va, &looked_up), prot);
	if (!prot)
		return;
	assert_int_equal(got_pa, pa);
	assert_int_equal(looked_up, pa);
	if (leaf_bytes)
		assert_int_equal(got_leaf, leaf_bytes);
}

static int map_one(struct world *world, uint64_t va, uint64_t pa, uint64_t bytes, unsigned int prot,
		   unsigned int flags)
{
	struct npu_pgtable_extent extent = { pa, bytes };

	return npu_pgtable_map(&world->pt, va, &extent, 1, prot, flags);
}

static void test_leaf_sizes(void **state)
{
	struct world *world = world_new();

	(void)state;
	/* From 4 KiB below a border on: small, two large, small. */
	assert_int_equal(map_one(world, 6 * MIB - 4 * KIB, GIB - 4 * KIB, 4 * MIB + 8 * KIB,
				 NPU_PROT_READ, 0),
			 0);
	expect(world, 6 * MIB - 8 * KIB, 0, 0, 0);
	expect(world, 6 * MIB - 4 * KIB, NPU_PROT_READ, GIB - 4 * KIB, 4 * KIB);
	expect(world, 6 * MIB + 5, NPU_PROT_READ, GIB + 5, 2 * MIB);
	expect(world, 10 * MIB - 1, NPU_PROT_READ, GIB + 4 * MIB - 1, 2 * MIB);
	expect(world, 10 * MIB + 4 * KIB - 1, NPU_PROT_READ, GIB + 4 * MIB + 4 * KIB - 1, 4 * KIB);
	expect(world, 10 * MIB + 4 * KIB, 0, 0, 0);
	/* Memory that is not aligned as the address is. */
	assert_int_equal(map_one(world, GIB, 4 * KIB, 4 * MIB, NPU_PROT_READ | NPU_PROT_WRITE, 0),
			 0);
	expect(world, GIB + 2 * MIB, NPU_PROT_READ | NPU_PROT_WRITE, 2 * MIB + 4 * KIB, 4 * KIB);
	/* Small ones when asked for. */
	assert_int_equal(
		map_one(world, 2 * GIB, 2 * MIB, 2 * MIB, NPU_PROT_EXEC, NPU_MAP_SMALL_PAGES), 0);
	expect(world, 2 * GIB + MIB, NPU_PROT_EXEC, 3 * MIB, 4 * KIB);
	world_free(world);
}

static void test_protections(void **state)
{
	struct world *world = world_new();
	unsigned int prot;

	(void)state;
	for (prot = 0; prot < 16; prot++) {
		int valid = prot == 1 || prot == 3 || prot == 4 || prot == 5 || prot == 7;
		uint64_t va = (prot + 1) * 2 * MIB;

		assert_int_equal(map_one(world, va, GIB, 4 * KIB, prot, 0), valid ? 0 : -EINVAL);
		expect(world, va, valid ? prot : 0, GIB, 4 * KIB);
	}
	world_free(world);
}

static void test_refusals(void **state)
{
	struct world *world = world_new();
	struct npu_pgtable_extent two[2] = { { GIB, 4 * KIB }, { 2 * GIB, 0 } };
	struct npu_pgtable_extent many[2] = { { 0, NPU_VA_END - 4 * KIB },
					      { 0, NPU_VA_END - 4 * KIB } };
	long tables = world->tables;

	(void)state;
	assert_int_equal(map_one(world, 1, GIB, 4 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, GIB + 512, 4 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, GIB, 4 * KIB + 1, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, GIB, 0, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, GIB, 4 * KIB, 1, 2), -EINVAL);
	assert_int_equal(map_one(world, NPU_VA_END, GIB, 4 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, NPU_VA_END - 4 * KIB, GIB, 8 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, ~(uint64_t)0xfff, GIB, 8 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, (1ull << 56) - 4 * KIB, 8 * KIB, 1, 0), -EINVAL);
	assert_int_equal(map_one(world, 4 * KIB, ~(uint64_t)0xfff, 4 * KIB, 1, 0), -EINVAL);
	assert_int_equal(npu_pgtable_map(&world->pt, 4 * KIB, two, 2, 1, 0), -EINVAL);
	assert_int_equal(npu_pgtable_map(&world->pt, 4 * KIB, two, 0, 1, 0), -EINVAL);
	assert_int_equal(npu_pgtable_map(&world->pt, 4 * KIB, many, 2, 1, 0), -EINVAL);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 4 * KIB, 0), -EINVAL);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 4 * KIB, NPU_VA_END), -EINVAL);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 1, 4 * KIB), -EINVAL);
	assert_int_equal(world->tables, tables);
	/* The highest page and the highest address are good. */
	assert_int_equal(
		map_one(world, NPU_VA_END - 4 * KIB, (1ull << 56) - 4 * KIB, 4 * KIB, 1, 0), 0);
	expect(world, NPU_VA_END - 1, 1, (1ull << 56) - 1, 4 * KIB);
	expect(world, NPU_VA_END, 0, 0, 0);
	expect(world, ~(uint64_t)0, 0, 0, 0);
	world_free(world);
}

static void test_overlap_changes_nothing(void **state)
{
	struct world *world = world_new();
	struct npu_pgtable_extent extents[3] = { { GIB, 2 * MIB },
						 { 3 * GIB, 8 * KIB },
						 { 5 * GIB, 4 * MIB } };
	long tables;

	(void)state;
	assert_int_equal(map_one(world, 8 * MIB, 7 * GIB, 4 * KIB, 1, 0), 0);
	assert_int_equal(map_one(world, 64 * MIB, 8 * GIB, 2 * MIB, 1, 0), 0);
	tables = world->tables;
	assert_int_equal(npu_pgtable_map(&world->pt, 4 * MIB, extents, 3, 3, 0), -EEXIST);
	assert_int_equal(map_one(world, 65 * MIB, GIB, 4 * KIB, 1, 0), -EEXIST);
	assert_int_equal(world->tables, tables);
	expect(world, 4 * MIB, 0, 0, 0);
	expect(world, 6 * MIB, 0, 0, 0);
	expect(world, 8 * MIB, 1, 7 * GIB, 4 * KIB);
	expect(world, 65 * MIB, 1, 8 * GIB + MIB, 2 * MIB);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 8 * MIB, 4 * KIB), 0);
	assert_int_equal(npu_pgtable_map(&world->pt, 4 * MIB, extents, 3, 3, 0), 0);
	expect(world, 6 * MIB + 4 * KIB, 3, 3 * GIB + 4 * KIB, 4 * KIB);
	expect(world, 6 * MIB + 8 * KIB, 3, 5 * GIB, 4 * KIB);
	world_free(world);
}

/* Every number of allocations before memory runs out: all or nothing, and nothing leaks. */
static void test_no_memory(void **state)
{
	struct npu_pgtable_extent extents[2] = { { GIB, 6 * MIB }, { 3 * GIB + 4 * KIB, 4 * MIB } };
	long left, succeeded = -1;

	(void)state;
	for (left = 0; left < 64; left++) {
		struct world *world = world_new();
		long tables, hosts;
		int ret;

		assert_int_equal(map_one(world, 3 * GIB, 9 * GIB, 4 * KIB, 1, 0), 0);
		tables = world->tables;
		hosts = world->hosts;
		world->allocations_left = left;
		ret = npu_pgtable_map(&world->pt, GIB - 2 * MIB - 4 * KIB, extents, 2, 1, 0);
		if (ret) {
			assert_int_equal(ret, -ENOMEM);
			assert_int_equal(world->tables, tables);
			assert_int_equal(world->hosts, hosts);
			assert_null(world->pt.dead);
			expect(world, GIB - 2 * MIB, 0, 0, 0);
		} else if (succeeded < 0) {
			succeeded = left;
		}
		expect(world, 3 * GIB, 1, 9 * GIB, 4 * KIB);
		world_free(world);
	}
	assert_true(succeeded > 4);
}

static void test_split(void **state)
{
	struct world *world = world_new();
	long tables, left;

	(void)state;
	assert_int_equal(map_one(world, 2 * MIB, GIB, 6 * MIB, 3, 0), 0);
	tables = world->tables;
	/* Both ends in leaves of their own: fails as a whole as long as one table is missing. */
	for (left = 0; left < 4; left++) {
		world->allocations_left = left;
		assert_int_equal(npu_pgtable_unmap(&world->pt, 3 * MIB, 4 * MIB), -ENOMEM);
		assert_int_equal(world->tables, tables);
		expect(world, 3 * MIB, 3, GIB + MIB, 2 * MIB);
		expect(world, 7 * MIB, 3, GIB + 5 * MIB, 2 * MIB);
	}
	world->allocations_left = left;
	assert_int_equal(npu_pgtable_unmap(&world->pt, 3 * MIB, 4 * MIB), 0);
	world->allocations_left = -1;
	expect(world, 3 * MIB - 1, 3, GIB + MIB - 1, 4 * KIB);
	expect(world, 3 * MIB, 0, 0, 0);
	expect(world, 5 * MIB, 0, 0, 0);
	expect(world, 7 * MIB - 1, 0, 0, 0);
	expect(world, 7 * MIB, 3, GIB + 5 * MIB, 4 * KIB);
	/* Both ends inside one leaf. */
	assert_int_equal(map_one(world, 32 * MIB, 2 * GIB, 2 * MIB, 1, 0), 0);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 32 * MIB + 4 * KIB, 8 * KIB), 0);
	expect(world, 32 * MIB, 1, 2 * GIB, 4 * KIB);
	expect(world, 32 * MIB + 4 * KIB, 0, 0, 0);
	expect(world, 32 * MIB + 12 * KIB, 1, 2 * GIB + 12 * KIB, 4 * KIB);
	world_free(world);
}

static void test_tables_wait_for_reap(void **state)
{
	struct world *world = world_new();

	(void)state;
	assert_int_equal(map_one(world, 4 * KIB, GIB, 4 * KIB, 1, 0), 0);
	assert_int_equal(world->tables, 3);
	assert_int_equal(npu_pgtable_unmap(&world->pt, 4 * KIB, 4 * KIB), 0);
	expect(world, 4 * KIB, 0, 0, 0);
	/* The device may still walk them. */
	assert_int_equal(world->tables, 3);
	npu_pgtable_reap(&world->pt);
	assert_int_equal(world->tables, 1);
	assert_int_equal(world->pt.tables, 1);
	world_free(world);
}

/* Random maps and unmaps in 24 MiB against a map of pages. */
#define RANDOM_PAGES 6144

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void random_step(struct world *world, uint64_t *pages, unsigned char *prots, uint64_t *seed)
{
	uint64_t base = GIB - 8 * MIB;
	uint64_t first = next_random(seed) % RANDOM_PAGES;
	uint64_t count = 1 + next_random(seed) % 1500;
	uint64_t pa = next_random(seed) % 4096 * 4 * KIB;
	static const unsigned char choices[] = { 1, 3, 4, 5, 7 };
	unsigned int prot = choices[next_random(seed) % 5];
	uint64_t i, busy = 0;
	int ret;

	if (next_random(seed) % 2) {
		first &= ~(uint64_t)511;
		pa &= ~(2 * MIB - 1);
	}
	if (count > RANDOM_PAGES - first)
		count = RANDOM_PAGES - first;
	for (i = 0; i < count; i++)
		busy += prots[first + i] != 0;
	if (next_random(seed) % 3 == 0) {
		assert_int_equal(
			npu_pgtable_unmap(&world->pt, base + first * 4 * KIB, count * 4 * KIB), 0);
		memset(&prots[first], 0, count);
		npu_pgtable_reap(&world->pt);
		return;
	}
	ret = map_one(world, base + first * 4 * KIB, pa, count * 4 * KIB, prot, 0);
	assert_int_equal(ret, busy ? -EEXIST : 0);
	for (i = 0; !ret && i < count; i++) {
		prots[first + i] = (unsigned char)prot;
		pages[first + i] = pa + i * 4 * KIB;
	}
}

static void test_random(void **state)
{
	struct world *world = world_new();
	uint64_t *pages = calloc(RANDOM_PAGES, sizeof(*pages));
	unsigned char *prots = calloc(RANDOM_PAGES, 1);
	uint64_t seed = 3, i;
	unsigned int step;

	(void)state;
	for (step = 0; step < 300; step++) {
		random_step(world, pages, prots, &seed);
		for (i = 0; i < RANDOM_PAGES; i++)
			expect(world, GIB - 8 * MIB + i * 4 * KIB, prots[i], pages[i], 0);
	}
	assert_int_equal(npu_pgtable_unmap(&world->pt, GIB - 8 * MIB, RANDOM_PAGES * 4 * KIB), 0);
	npu_pgtable_reap(&world->pt);
	assert_int_equal(world->tables, 1);
	free(pages);
	free(prots);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaf_sizes),
		cmocka_unit_test(test_protections),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_overlap_changes_nothing),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_tables_wait_for_reap),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
