/* SPDX-License-Identifier: MIT */
/*
 * Quantization of a float model after training: which range of numbers the integers of each value
 * are to hold, by running the model on samples; and QUANTIZE and DEQUANTIZE where they belong.
 *
 *	calibration = calibration_new(graph);
 *	calibration_observe(), for every sample: least and greatest numbers
 *	calibration_refine(), for every sample: how they are distributed between these
 *	calibration_insert(): the graph is one that quant_graph() makes integers of
 *	calibration_compare(), for some sample: what that costs, value by value
 */
#ifndef NPUCC_QUANT_CALIBRATE_H
#define NPUCC_QUANT_CALIBRATE_H

#include "../graph/graph.h"

struct calibration;

/* calibration_new - for @graph of known shapes; NULL: no memory. calibration_free() frees it. */
struct calibration *calibration_new(struct graph *graph);
void calibration_free(struct calibration *calibration);

/* @inputs: elements of each input of the graph, in its type. 0, or -1 with a sentence. */
int calibration_observe(struct calibration *calibration, const void *const *inputs,
			struct diag *diag);
int calibration_refine(struct calibration *calibration, const void *const *inputs,
		       struct diag *diag);

/*
 * calibration_range - the range of @value under which rounding and clipping take least from what
 * was seen of it, in the mean of squares. False for a value that was not seen or holds no float.
 */
bool calibration_range(const struct calibration *calibration, const struct graph_value *value,
		       float *low, float *high);

/* calibration_insert - after this, values are the same ones, with numbers that are rounded. */
int calibration_insert(struct graph *graph, struct calibration *calibration, struct diag *diag);

/*
 * calibration_compare - run @inputs once more and write a line a node to @out: signal to noise in
 * dB and the largest error against the float model, on the sample refined last.
 */
int calibration_compare(struct calibration *calibration, const void *const *inputs, FILE *out,
			struct diag *diag);

#endif
