/* SPDX-License-Identifier: MIT */
/*
 * Runs a program's streams without a device: every engine's head that may start is a choice,
 * and a seeded generator chooses. Timing plays no part, so what a program computes must not
 * depend on the seed: different seeds with different results are a missing token.
 *
 * Checked on the way: illegal operands, token overflow, streams nobody can go on with, tokens left
 * over at a barrier or at the end, addresses outside the arguments.
 */
#ifndef TESTS_SUPPORT_STREAM_SIM_H
#define TESTS_SUPPORT_STREAM_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "npu/npu_isa.h"

struct stream_sim_memory {
	uint8_t *bytes;
	size_t size;
};

/*
 * stream_sim_run - run @program (struct npu_program_header and streams).
 * @arguments: memory behind each argument register; size 0 where there is none
 * @seed: order of execution; 0: loads as early and results as late as possible
 * @error: receives a sentence on failure
 * @instructions: receives the number of executed instructions; may be NULL
 *
 * Returns 0, or -1 with @error.
 */
int stream_sim_run(const struct npu_config *config, const uint8_t *program, size_t size,
		   const struct stream_sim_memory arguments[NPU_ARG_COUNT], uint64_t seed,
		   char error[256], uint64_t *instructions);

#endif
