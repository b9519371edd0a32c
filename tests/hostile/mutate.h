/* SPDX-License-Identifier: MIT */
/* Damage to files: the same for the same seed, everywhere. */
#ifndef NPU_TESTS_MUTATE_H
#define NPU_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* dice_start - the sequence number @seed */
void dice_start(struct dice *dice, uint64_t seed);

/* dice_roll - 0 .. @sides - 1; 0 when @sides is 0 */
size_t dice_roll(struct dice *dice, size_t sides);

/* A part of the file where damage does more than elsewhere. */
struct hot_part {
	size_t offset, bytes;
};

/*
 * mutate - damage @size bytes at @data, which has room for @capacity, in one to four places; with
 * @hot_count > 0, most of them in one of the @hot parts. Returns the new size.
 */
size_t mutate(struct dice *dice, uint8_t *data, size_t size, size_t capacity,
	      const struct hot_part *hot, size_t hot_count);

/* png_repair - correct the checksums of the chunks, so that damage gets past them */
void png_repair(uint8_t *data, size_t size);

#endif
