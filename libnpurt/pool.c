// SPDX-License-Identifier: MIT
/* Blocks of memory that are kept. */
#include "pool.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define PAGE 4096u
#define STEPS 4u /* classes of each doubling */

void npurt_pool_init(struct npurt_pool *pool, uint64_t max)
{
	memset(pool, 0, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pool->max = max;
}

void npurt_pool_fini(struct npurt_pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
}

static unsigned int log2_of(uint64_t number)
{
	return 63 - (unsigned int)__builtin_clzll(number);
}

/*
 * Classes in pages: 1 2 3 4, 5 6 7 8, 10 12 14 16, 20 24 28 32, ... The number of a class is that
 * of its group times STEPS, plus its place in it.
 */
static unsigned int class_of(uint64_t bytes)
{
	uint64_t pages = (bytes + PAGE - 1) / PAGE;
	unsigned int group, step_log2;

	if (pages <= STEPS)
		return (unsigned int)pages - 1;
	group = log2_of((pages - 1) / STEPS) + 1;
	step_log2 = group - 1;
	return group * STEPS +
	       (unsigned int)((pages - 1 - ((uint64_t)STEPS << step_log2)) >> step_log2);
}

static uint64_t bytes_of(unsigned int class)
{
	unsigned int group = class / STEPS;
	uint64_t place = class % STEPS + 1;

	if (!group)
		return place * PAGE;
	return ((STEPS + place) << (group - 1)) * PAGE;
}

uint64_t npurt_pool_bytes(uint64_t bytes)
{
	unsigned int class;

	if (!bytes || bytes > UINT64_MAX / 4)
		return 0;
	class = class_of(bytes);
	return class < NPURT_POOL_CLASSES ? bytes_of(class) : 0;
}

/* ------------------------------------------------------------- under the lock */

static struct npurt_pool_block **list_of(struct npurt_pool *pool,
					 const struct npurt_pool_block *block)
{
	return &pool->free[class_of(block->bytes)][block->kind];
}

/* Out of the order of age. */
static void forget_age(struct npurt_pool *pool, struct npurt_pool_block *block)
{
	*(block->before ? &block->before->after : &pool->oldest) = block->after;
	*(block->after ? &block->after->before : &pool->newest) = block->before;
	pool->kept -= block->bytes;
}

/* The one that was kept last: its memory is the warmest. */
static struct npurt_pool_block *take_kept(struct npurt_pool *pool, uint64_t bytes,
					  unsigned int kind)
{
	struct npurt_pool_block **list = &pool->free[class_of(bytes)][kind];
	struct npurt_pool_block *block = *list;

	if (!block)
		return NULL;
	*list = block->next;
	block->next = NULL;
	forget_age(pool, block);
	return block;
}

/* The oldest of all is the last in its list. */
static struct npurt_pool_block *give_up_oldest(struct npurt_pool *pool)
{
	struct npurt_pool_block *block = pool->oldest;
	struct npurt_pool_block **link = list_of(pool, block);

	while (*link != block)
		link = &(*link)->next;
	*link = NULL;
	forget_age(pool, block);
	return block;
}

/* --------------------------------------------------------------------- the rest */

int npurt_pool_take(struct npurt_pool *pool, uint64_t bytes, unsigned int kind,
		    struct npurt_pool_block **block, struct npurt_pool_block **given_up)
{
	*given_up = NULL;
	*block = NULL;
	pthread_mutex_lock(&pool->lock);
	if (bytes > pool->max - pool->used) {
		pthread_mutex_unlock(&pool->lock);
		return -ENOMEM;
	}
	*block = take_kept(pool, bytes, kind);
	pool->used += bytes;
	while (pool->used + pool->kept > pool->max) {
		struct npurt_pool_block *oldest = give_up_oldest(pool);

		oldest->next = *given_up;
		*given_up = oldest;
	}
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

void npurt_pool_untake(struct npurt_pool *pool, uint64_t bytes)
{
	pthread_mutex_lock(&pool->lock);
	pool->used -= bytes;
	pthread_mutex_unlock(&pool->lock);
}

void npurt_pool_give(struct npurt_pool *pool, struct npurt_pool_block *block)
{
	struct npurt_pool_block **list = list_of(pool, block);

	pthread_mutex_lock(&pool->lock);
	pool->used -= block->bytes;
	pool->kept += block->bytes;
	block->next = *list;
	*list = block;
	block->before = pool->newest;
	block->after = NULL;
	*(pool->newest ? &pool->newest->after : &pool->oldest) = block;
	pool->newest = block;
	pthread_mutex_unlock(&pool->lock);
}

struct npurt_pool_block *npurt_pool_drain(struct npurt_pool *pool)
{
	struct npurt_pool_block *chain = NULL;

	pthread_mutex_lock(&pool->lock);
	while (pool->oldest) {
		struct npurt_pool_block *oldest = give_up_oldest(pool);

		oldest->next = chain;
		chain = oldest;
	}
	pthread_mutex_unlock(&pool->lock);
	return chain;
}
