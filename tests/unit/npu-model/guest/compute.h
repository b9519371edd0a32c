/* SPDX-License-Identifier: MIT */
#ifndef TEST_GUEST_COMPUTE_H
#define TEST_GUEST_COMPUTE_H

#include <stdint.h>

/**
 * compute() - put out some two thousand words that depend on @seed and on correct arithmetic
 */
void compute(uint32_t seed);

/**
 * emit() - take a word of the output; defined by whoever calls compute()
 */
void emit(uint32_t value);

#endif /* TEST_GUEST_COMPUTE_H */
