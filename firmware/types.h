/* SPDX-License-Identifier: MIT */
/*
 * Types, limits and small helpers of all parts of the firmware, on the core and natively.
 *
 * Loops over the set bits of a word are written as SET_EACH: at most 32 turns.
 */
#ifndef FIRMWARE_TYPES_H
#define FIRMWARE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

#define BIT(number)		(1u << (number))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* What the tables are made for. Hardware that has more is used up to here. */
#define QUEUES_MAX		64
#define SLOTS_MAX		16
#define CONTEXTS_MAX		64
#define CLUSTERS_MAX		32
#define PRIORITIES		16

#define QUEUE_WORDS		(QUEUES_MAX / 32)

/* The @count lowest bits of a word. */
static inline u32 lowest_mask(u32 count)
{
	return count < 32 ? BIT(count) - 1 : ~0u;
}

/* A time that does not come. */
#define NEVER			(~(u64)0)

/* "No such queue", "no such slot". */
#define NONE			0xffu

/*
 * The number of the lowest set bit; @word is not 0. The base instruction set cannot count zeros:
 * the isolated bit times a de Bruijn sequence leaves a different pattern in the top five bits
 * for each of its 32 places.
 */
static inline unsigned int lowest_bit(u32 word)
{
	static const u8 place[32] = {
		0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8,
		31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5, 10, 9,
	};

	return place[((word & (0u - word)) * 0x077cb531u) >> 27];
}

#define SET_EACH(bit, set)							\
	for (u32 set_left_ = (set);						\
	     set_left_ && ((bit) = lowest_bit(set_left_), true);		\
	     set_left_ &= set_left_ - 1)

#endif /* FIRMWARE_TYPES_H */
