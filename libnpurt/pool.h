/* SPDX-License-Identifier: MIT */
/*
 * Which blocks of memory are kept for the next one who asks, and for how long.
 *
 * Sizes are rounded up to classes, four to each doubling, so that a block of a class serves every
 * request of it, and at most a fifth of a block is more than was asked for (but for requests of
 * less than a page). What is given back is kept. What is in use and what is kept together never
 * exceed a bound: to make a new block, the pool gives up those that have been kept the longest.
 * Contiguity is not the pool's affair: addresses are plenty, and pages are the back end's. So a
 * request is refused only if the blocks in use and the new one exceed the bound; as long as what
 * was asked for, in whole pages, stays below four fifths of it, none is.
 *
 * The pool knows blocks only by their heads; who uses it makes and releases them.
 */
#ifndef NPURT_POOL_H
#define NPURT_POOL_H

#include <pthread.h>
#include <stdint.h>

#define NPURT_POOL_CLASSES 160
#define NPURT_POOL_KINDS 9
/* Blocks that count and are never kept, as others may have them. Lower ones: NPU_PROT_*. */
#define NPURT_POOL_KIND_SHARED 8

/* The head of a block; the rest is its owner's. */
struct npurt_pool_block {
	struct npurt_pool_block *next; /* kept longer, of the same class and kind; or in a chain */
	struct npurt_pool_block *before, *after; /* kept longer, and less long, of all */
	uint64_t bytes; /* of its class */
	unsigned int kind;
};

struct npurt_pool {
	pthread_mutex_t lock;
	uint64_t max;
	uint64_t used, kept; /* bytes of blocks */
	struct npurt_pool_block *free[NPURT_POOL_CLASSES][NPURT_POOL_KINDS];
	struct npurt_pool_block *oldest, *newest;
};

void npurt_pool_init(struct npurt_pool *pool, uint64_t max);

/** npurt_pool_fini() - nothing may be kept any more: npurt_pool_drain() */
void npurt_pool_fini(struct npurt_pool *pool);

/** npurt_pool_bytes() - the size of the class that serves a request; 0: too large for any */
uint64_t npurt_pool_bytes(uint64_t bytes);

/**
 * npurt_pool_take() - a block for a request
 * @bytes: of its class
 * @kind: below NPURT_POOL_KINDS; blocks of one kind are never used for another
 * @block: one that was kept; or NULL: the caller makes one of that size, or takes the request back
 *	by npurt_pool_untake()
 * @given_up: a chain of blocks that the caller has to release, before it makes one
 *
 * Return: 0; -ENOMEM when the bound does not allow it, nothing has changed.
 */
int npurt_pool_take(struct npurt_pool *pool, uint64_t bytes, unsigned int kind,
		    struct npurt_pool_block **block, struct npurt_pool_block **given_up);
void npurt_pool_untake(struct npurt_pool *pool, uint64_t bytes);

/** npurt_pool_give() - keep a block that was taken or made */
void npurt_pool_give(struct npurt_pool *pool, struct npurt_pool_block *block);

/** npurt_pool_drain() - a chain of all that is kept, for the caller to release */
struct npurt_pool_block *npurt_pool_drain(struct npurt_pool *pool);

#endif /* NPURT_POOL_H */
