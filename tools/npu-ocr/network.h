/* SPDX-License-Identifier: MIT */
/* One compiled network that takes an image [1,3,H,W] and gives a float tensor. */
#ifndef NPU_OCR_NETWORK_H
#define NPU_OCR_NETWORK_H

#include "image.h"
#include "npurt.h"

struct network {
	struct npurt_model *model;
	struct npurt_model_info info;
	struct npurt_tensor_info input, output;
	struct npurt_binding bindings[2];	/* input, output */
	float *result;				/* [output.elements], after network_run() */
	struct npurt_task_report report;
};

/*
 * network_load - load @path, which must have one float input [1,3,H,W] and one float output. Returns
 * 0, or -1 after a message on stderr. network_free() undoes what was done, in any state.
 */
int network_load(struct network *network, struct npurt_context *context, const char *path);
void network_free(struct network *network);

/*
 * network_run - scale @image to the network's height, keeping its proportions as long as it fits the
 * width, right part zero; values (x / 255 - 0.5) / 0.5 in the order blue, green, red, as PP-OCR's networks
 * were trained. Returns 0, or -1 after a message on stderr.
 */
int network_run(struct network *network, const struct image *image);

#endif
