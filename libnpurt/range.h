/* SPDX-License-Identifier: MIT */
/*
 * Hands out parts of a range of numbers: addresses of a context, pages of a memory.
 *
 * Thread safety: none, the caller locks.
 */
#ifndef NPURT_RANGE_H
#define NPURT_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct npurt_range_part {
	uint64_t start, end;
};

/* The free parts, ascending; no two touch. @taken: parts that are out. */
struct npurt_range {
	struct npurt_range_part *parts;
	size_t count, capacity;
	size_t taken;
};

/**
 * npurt_range_init() - everything from @start to @end is free
 *
 * Return: 0, -ENOMEM.
 */
int npurt_range_init(struct npurt_range *range, uint64_t start, uint64_t end);

/**
 * npurt_range_fini() - forget it; zeroed memory is allowed
 */
void npurt_range_fini(struct npurt_range *range);

/**
 * npurt_range_take() - take the first free part of @bytes at a multiple of @align
 * @align: a power of two
 * @start: set to where it begins
 *
 * Return: 0; -ENOMEM when there is none (or no memory for the bookkeeping), nothing has changed.
 */
int npurt_range_take(struct npurt_range *range, uint64_t bytes, uint64_t align, uint64_t *start);

/**
 * npurt_range_give() - give back what npurt_range_take() handed out
 *
 * Cannot fail: the take that made a hole also made room to note it.
 */
void npurt_range_give(struct npurt_range *range, uint64_t start, uint64_t bytes);

/**
 * npurt_range_free_bytes() - how much is free
 */
uint64_t npurt_range_free_bytes(const struct npurt_range *range);

#endif /* NPURT_RANGE_H */
