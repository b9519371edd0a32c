/* SPDX-License-Identifier: MIT */
/* Compiles a small model in memory and runs its streams on the host. */
#ifndef TESTS_NPUCC_EMIT_HARNESS_H
#define TESTS_NPUCC_EMIT_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "command/compile.h"

struct harness {
	struct options options;
	struct npucc_model *model;
	struct program program;
	struct compile_report report;
	struct diag diag;
	char error[512];
	uint64_t instructions;		/* executed by the last run */
};

/* harness_init - defaults for @target. Returns 0, or -1 with harness->error. */
int harness_init(struct harness *harness, const char *target);

/* harness_compile - compile an ONNX model; @model must outlive the harness. 0 or -1. */
int harness_compile(struct harness *harness, const uint8_t *model, size_t size);

/*
 * harness_run - inputs in the model's order as floats (rounded to fp16), outputs likewise.
 * @seed: order of execution, see stream_sim_run(). Returns 0 or -1.
 */
int harness_run(struct harness *harness, const float *const *inputs, float *const *outputs,
		uint64_t seed);

void harness_free(struct harness *harness);

#endif
