/* SPDX-License-Identifier: MIT */
/* Seeded noise, and programs made of it that get somewhere before they go wrong. */
#ifndef TEST_NOISE_H
#define TEST_NOISE_H

#include "board.h"

void noise_seed(uint64_t seed);
uint32_t noise(void);
uint32_t noise_below(uint32_t limit);
bool noise_chance(uint32_t one_in);
void noise_bytes(void *to, size_t size);

/* Write a program for arguments 0..3 at @offset of a context's memory. */
void noise_program(struct board *board, unsigned int context, uint64_t offset,
		   struct program *program);

#endif /* TEST_NOISE_H */
