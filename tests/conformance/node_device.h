/* SPDX-License-Identifier: MIT */
/* One of the ONNX project's test models, compiled and run on the device model in this process. */
#ifndef TESTS_CONFORMANCE_NODE_DEVICE_H
#define TESTS_CONFORMANCE_NODE_DEVICE_H

#include "node_models.h"
#include "npurt.h"

enum node_outcome {
	NODE_PASSED,		/* on the NPU, within tolerance */
	NODE_FOLDED,		/* the outputs are constants: nothing is left to run */
	NODE_REFUSED,		/* by a row of the table of limits, or the operator as such */
	NODE_REFUSED_LATE,	/* by the back end, with a sentence that no row stands for */
	NODE_FAILED,		/* wrong result, or the run failed */
	NODE_OUTCOME_COUNT
};

struct node_result {
	enum node_outcome outcome;
	char why[512];		/* of all but NODE_PASSED */
};

/*
 * node_device_run - compile the case for npu-v3 and run it. Inputs that real models have as constants
 * (weights, shapes, axes) are made constants step by step until the compiler takes the model; one
 * input at least stays an input. @scratch: path of a file to write.
 */
void node_device_run(struct npurt_device *device, const struct node_case *node_case,
		     const char *scratch, struct node_result *result);

#endif
