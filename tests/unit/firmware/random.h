/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same on every run (xorshift).
 */
#ifndef TEST_FIRMWARE_RANDOM_H
#define TEST_FIRMWARE_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;		/* not 0 */
};

static inline uint32_t random_next(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (uint32_t)(random->state >> 32);
}

/* 0..limit - 1 */
static inline uint32_t random_below(struct random *random, uint32_t limit)
{
	return random_next(random) % limit;
}

#endif /* TEST_FIRMWARE_RANDOM_H */
