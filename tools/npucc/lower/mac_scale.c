// SPDX-License-Identifier: MIT
/*
 * A factor for each output channel under which its weights survive fp16 best.
 *
 * The output stage multiplies a channel's sum by a factor in any case, so weights may be stored divided
 * by it, at no cost in cycles. Among 64 factors from 1 to 2 the one is taken whose rounding errors e have
 * the least sum(e^2) + (sum e)^2: the second term because activations behind a ReLU or a
 * hard swish have one sign, so that errors of one sign add up. On the text recognizer this takes off two
 * thirds of what rounding the weights does to the result.
 */
#include <stdlib.h>

#include "mac.h"

#define CANDIDATES	64
#define LANES		16
/* 2^13 + 1: what splits 11 bits off a float's 24 (Dekker). */
#define SPLITTER	8193.0f

static float square(float x)
{
	return x * x;
}

static float cost_of(const float *weights, size_t count, float factor)
{
	float squares[LANES] = { 0 }, sums[LANES] = { 0 }, inverse = 1.0f / factor;
	float squares_all = 0, sum_all = 0;

	/* @weights is padded with zeros to whole lanes, whose error is zero. */
	for (size_t i = 0; i < count; i += LANES) {
		for (unsigned int lane = 0; lane < LANES; lane++) {
			float stored = weights[i + lane] * inverse;
			float large = stored * SPLITTER;
			float error = ((large - (large - stored)) - stored) * factor;

			squares[lane] += error * error;
			sums[lane] += error;
		}
	}
	for (unsigned int lane = 0; lane < LANES; lane++) {
		squares_all += squares[lane];
		sum_all += sums[lane];
	}
	return squares_all + square(sum_all);
}

static float best_factor(const float *weights, size_t count)
{
	float best = 1.0f, least = cost_of(weights, count, 1.0f);

	for (unsigned int i = 1; i < CANDIDATES && least > 0; i++) {
		float factor = 1.0f + (float)i / CANDIDATES;
		float cost = cost_of(weights, count, factor);

		if (cost < least) {
			least = cost;
			best = factor;
		}
	}
	return best;
}

static size_t gather(const struct mac_problem *problem, const struct mac_instance *instance,
		     uint32_t channel, float *weights)
{
	const float *data = problem->weights->data;
	uint32_t depth = problem->depthwise ? 1 : problem->depth;
	size_t count = 0;

	for (uint32_t y = 0; y < problem->kernel[MAC_Y]; y++)
		for (uint32_t x = 0; x < problem->kernel[MAC_X]; x++)
			for (uint32_t c = 0; c < depth; c++)
				weights[count++] = data[instance->weights +
					channel * problem->w_stride_channel +
					y * problem->w_stride_kernel[MAC_Y] +
					x * problem->w_stride_kernel[MAC_X] +
					c * problem->w_stride_depth];
	return count;
}

int mac_scales(struct lower *lower, const struct mac_problem *problem, float **scales)
{
	size_t sets = problem->weight_sets, taps = (size_t)problem->kernel[MAC_Y] * problem->kernel[MAC_X];
	size_t depth = problem->depthwise ? 1 : problem->depth;
	float *weights, *result;

	*scales = NULL;
	/* Weights that are fp16 already, or stay fp32, lose nothing; without a bias no factor is applied. */
	if (!problem->weights || !problem->bias || problem->weights->dtype != GRAPH_DTYPE_F32 ||
	    problem->types.weights == NPU_DTYPE_FP32)
		return 0;
	result = calloc(sets * problem->channels, sizeof(*result));
	weights = calloc(taps * depth + LANES, sizeof(*weights));
	if (!result || !weights) {
		free(result);
		free(weights);
		return diag_error(lower->diag, "node '%s': no memory for the factors of %u channels",
				  problem->node->name, problem->channels);
	}
	for (uint32_t i = 0; i < problem->instance_count; i++) {
		const struct mac_instance *instance = &problem->instances[i];
		float *set = result + (size_t)instance->weight_set * problem->channels;

		if (set[0])
			continue;
		for (uint32_t channel = 0; channel < problem->channels; channel++)
			set[channel] = best_factor(weights, gather(problem, instance, channel, weights));
	}
	free(weights);
	*scales = result;
	return 0;
}
