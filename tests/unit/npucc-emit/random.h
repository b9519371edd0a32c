/* SPDX-License-Identifier: MIT */
/* A seeded generator: the same numbers on every machine. */
#ifndef TESTS_NPUCC_EMIT_RANDOM_H
#define TESTS_NPUCC_EMIT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "support/half.h"

struct random {
	uint64_t state;
};

static inline uint32_t random_next(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (uint32_t)(random->state >> 32);
}

/* low..high, both included */
static inline uint32_t random_between(struct random *random, uint32_t low, uint32_t high)
{
	return low + random_next(random) % (high - low + 1);
}

/* Numbers fp16 holds exactly, about -1..1. */
static inline void random_floats(struct random *random, float *out, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		out[i] = half_to_float(half_from_float((float)(int32_t)random_next(random) /
						       2147483648.0f));
}

#endif
