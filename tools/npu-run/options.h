/* SPDX-License-Identifier: MIT */
/* The command line of npu-run. */
#ifndef NPU_RUN_OPTIONS_H
#define NPU_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_FILES_MAX 64

/* One NAME=FILE. */
struct named_file {
	char *name;		/* "" when the option had no "NAME=": the only tensor is meant */
	char *file;
};

/* One --compare with the tolerances that followed it. */
struct comparison {
	struct named_file reference;
	double atol, rtol;
};

struct options {
	const char *model;
	const char *device;
	struct named_file inputs[OPTIONS_FILES_MAX];
	uint32_t input_count;
	struct named_file outputs[OPTIONS_FILES_MAX];
	uint32_t output_count;
	struct comparison comparisons[OPTIONS_FILES_MAX];
	uint32_t comparison_count;
	uint32_t iterations, warmup, queue_depth, priority;
	double mean[3], scale[3];	/* of image inputs: (pixel - mean) * scale */
	bool channels_last;		/* of image inputs, where the shape leaves it open */
	bool layout_given;
	bool raw;			/* inputs and outputs are the device's own bytes */
	bool json;
	const char *report, *trace;
};

/*
 * options_parse - fill @options from the command line. Returns -1 to go on, or the exit status:
 * 0 after --help and --version, 2 after a message about wrong use.
 */
int options_parse(int argc, char **argv, struct options *options);

#endif
