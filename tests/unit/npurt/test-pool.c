// SPDX-License-Identifier: MIT
/* The pool of blocks: its classes and its bound, over a million operations and on a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "rig.h"

#define PAGE 4096ull
#define MIB (1ull << 20)

static uint64_t seed = 1;

static uint32_t draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* Log-uniform from 4 KiB to 64 MiB. */
static uint64_t draw_bytes(void)
{
	return (uint64_t)(4096 * exp2(14.0 * draw() / 2147483648.0));
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void test_classes(void **state)
{
	uint64_t bytes, before = 0;
	unsigned int i;

	(void)state;
	assert_int_equal(npurt_pool_bytes(0), 0);
	assert_int_equal(npurt_pool_bytes(1), PAGE);
	assert_int_equal(npurt_pool_bytes(4 * PAGE), 4 * PAGE);
	assert_int_equal(npurt_pool_bytes(8 * PAGE + 1), 10 * PAGE);
	assert_int_equal(npurt_pool_bytes(UINT64_MAX), 0);
	for (bytes = 1; bytes < 512 * MIB; bytes += bytes / 7 + 1000) {
		uint64_t class = npurt_pool_bytes(bytes);

		assert_true(class >= bytes && class >= before);
		/* A class serves itself, and wastes a fifth at most. */
		assert_int_equal(npurt_pool_bytes(class), class);
		assert_true((class - pages(bytes)) * 5 <= class);
		before = class;
	}
	for (i = 0; i < 100000; i++) {
		bytes = draw_bytes();
		assert_true((npurt_pool_bytes(bytes) - pages(bytes)) * 5 <=
			    npurt_pool_bytes(bytes));
	}
}

#define CAP (1024 * MIB)
#define LIVE_MAX (CAP / 2)
#define SLOTS 4096

/* Blocks are only heads here: their making and releasing is counted. */
struct world {
	struct npurt_pool pool;
	struct npurt_pool_block *slot[SLOTS];
	uint64_t asked[SLOTS];
	uint64_t live, live_max, total, total_max;
	uint32_t count, made, reused, refused;
};

static void release_chain(struct world *world, struct npurt_pool_block *chain)
{
	while (chain) {
		struct npurt_pool_block *block = chain;

		chain = block->next;
		world->total -= block->bytes;
		free(block);
	}
}

static bool take(struct world *world, uint64_t bytes)
{
	uint64_t class = npurt_pool_bytes(bytes);
	struct npurt_pool_block *block, *given_up;

	if (npurt_pool_take(&world->pool, class, draw() % 2, &block, &given_up)) {
		world->refused++;
		/* With the reason it has to have. */
		assert_true(world->pool.used + class > CAP);
		return false;
	}
	release_chain(world, given_up);
	world->reused += block != NULL;
	if (!block) {
		block = calloc(1, sizeof(*block));
		assert_non_null(block);
		block->bytes = class;
		block->kind = (unsigned int)(world->made % 2);
		world->made++;
		world->total += class;
	}
	assert_int_equal(block->bytes, class);
	if (world->total > world->total_max)
		world->total_max = world->total;
	world->slot[world->count] = block;
	world->asked[world->count++] = bytes;
	world->live += bytes;
	if (world->live > world->live_max)
		world->live_max = world->live;
	return true;
}

static void give(struct world *world, uint32_t which)
{
	npurt_pool_give(&world->pool, world->slot[which]);
	world->live -= world->asked[which];
	world->slot[which] = world->slot[--world->count];
	world->asked[which] = world->asked[world->count];
}

static void empty(struct world *world)
{
	while (world->count)
		give(world, world->count - 1);
	assert_int_equal(world->pool.used, 0);
	assert_int_equal(world->pool.kept, world->total);
	release_chain(world, npurt_pool_drain(&world->pool));
	assert_int_equal(world->total, 0);
	assert_int_equal(world->pool.kept, 0);
	assert_null(world->pool.oldest);
	assert_null(world->pool.newest);
	npurt_pool_fini(&world->pool);
}

/* As long as half of the bound is asked for: never refused, never beyond the bound. */
static void test_a_million_operations(void **state)
{
	static struct world world;
	uint32_t operation;

	(void)state;
	memset(&world, 0, sizeof(world));
	npurt_pool_init(&world.pool, CAP);
	for (operation = 0; operation < 1000000; operation++) {
		uint64_t bytes = draw_bytes();

		/* Up and down, so that what is kept is of the wrong classes again and again. */
		if (world.count && (world.live + bytes > LIVE_MAX || world.count == SLOTS ||
				    draw() % 100 < (operation / 20000 % 2 ? 45 : 55)))
			give(&world, draw() % world.count);
		else
			assert_true(take(&world, bytes));
		assert_true(world.total <= CAP);
		assert_int_equal(world.total, world.pool.used + world.pool.kept);
	}
	assert_int_equal(world.refused, 0);
	printf("# pool: %u made, %u reused; at most %llu MiB asked for at a time, %llu MiB held "
	       "(bound %llu MiB); now %.1f %% of the blocks in use is more than was asked for\n",
	       world.made, world.reused, (unsigned long long)(world.live_max / MIB),
	       (unsigned long long)(world.total_max / MIB), (unsigned long long)(CAP / MIB),
	       100.0 * (double)(world.pool.used - world.live) / (double)world.pool.used);
	empty(&world);
}

/* Beyond that: refused only when the blocks in use leave no room for one of that class. */
static void test_full(void **state)
{
	static struct world world;
	uint32_t operation;

	(void)state;
	memset(&world, 0, sizeof(world));
	npurt_pool_init(&world.pool, CAP);
	for (operation = 0; operation < 200000; operation++) {
		if (world.count == SLOTS || (world.count && draw() % 100 < 40))
			give(&world, draw() % world.count);
		else
			take(&world, draw_bytes());
		assert_true(world.total <= CAP);
	}
	assert_true(world.refused > 0);
	empty(&world);
}

/* On a device: memory comes back zeroed, with the same address, and the bound is one. */
static void test_buffers(void **state)
{
	const struct npurt_context_options options = {
		.size = sizeof(options),
		.pool_bytes = 8 * MIB,
	};
	struct npurt_context_status status = { .size = sizeof(status) };
	struct npurt_buffer *buffer, *more = NULL;
	uint64_t address;
	struct rig rig;
	uint64_t used;
	unsigned char *host;
	int i;

	(void)state;
	rig_make(&rig, &options, NULL);
	ok(npurt_context_get_status(rig.context, &status));
	used = status.buffer_bytes;
	assert_int_equal(status.pool_kept_bytes, 0);
	ok(npurt_buffer_alloc(rig.context, 300000, 0, &buffer));
	address = npurt_buffer_address(buffer);
	assert_int_equal(npurt_buffer_bytes(buffer), 300000);
	memset(npurt_buffer_map(buffer), 0x77, 300000);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.buffer_bytes, used + 80 * PAGE);
	npurt_buffer_free(buffer);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.buffer_bytes, used);
	assert_int_equal(status.pool_kept_bytes, 80 * PAGE);
	/* Of another protection: another block. */
	ok(npurt_buffer_alloc(rig.context, 300000, NPURT_BUFFER_READ_ONLY, &buffer));
	assert_int_not_equal(npurt_buffer_address(buffer), address);
	npurt_buffer_free(buffer);
	ok(npurt_buffer_alloc(rig.context, 290000, 0, &buffer));
	assert_int_equal(npurt_buffer_address(buffer), address);
	host = npurt_buffer_map(buffer);
	for (i = 0; i < 290000; i++)
		assert_int_equal(host[i], 0);
	npurt_buffer_free(buffer);
	assert_int_equal(npurt_buffer_alloc(rig.context, 9 * MIB, 0, &more), -ENOMEM);
	assert_non_null(strstr(npurt_last_error(), "pool_bytes"));
	assert_null(more);
	/* What is kept gives way. */
	ok(npurt_buffer_alloc(rig.context, 7 * MIB, 0, &more));
	ok(npurt_context_get_status(rig.context, &status));
	assert_true(status.buffer_bytes + status.pool_kept_bytes <= 8 * MIB);
	npurt_buffer_free(more);
	/* It works, too. */
	rig_fill(&rig, rig.x, rig.y, 3);
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	rig_check(&rig, rig.y, 3);
	rig_free(&rig);
}

/* Loading and unloading reuses the same memory. */
static void test_models(void **state)
{
	const struct npurt_context_options options = {
		.size = sizeof(options),
		.pool_bytes = 8 * MIB,
	};
	struct npurt_context_status first = { .size = sizeof(first) }, last = first;
	struct tiny_options tiny = { .scratch = 100000 };
	struct npurt_model *model;
	struct tiny_model file;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, &options, NULL);
	tiny_model_make(&file, &tiny);
	for (i = 0; i < 1000; i++) {
		ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &model));
		npurt_model_unload(model);
		if (!i)
			ok(npurt_context_get_status(rig.context, &first));
	}
	ok(npurt_context_get_status(rig.context, &last));
	assert_int_equal(last.buffer_bytes, first.buffer_bytes);
	assert_int_equal(last.pool_kept_bytes, first.pool_kept_bytes);
	tiny_model_free(&file);
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_a_million_operations),
		cmocka_unit_test(test_full),	cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
