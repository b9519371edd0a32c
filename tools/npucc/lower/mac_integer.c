// SPDX-License-Identifier: MIT
/*
 * MAC operators on integers: types, zero points, and what the output stage does to the sums.
 *
 * A sum counts in units of scale of x times scale of the weights. To an integer result the output
 * stage multiplies it by a 16-bit number and shifts; to a float one it multiplies by the unit.
 */
#include <endian.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mac.h"

#define MULTIPLIER_BITS	16
#define MULTIPLIER_MAX	((1 << MULTIPLIER_BITS) - 1)
#define SHIFT_MAX	62

static bool integer_result(const struct mac_problem *problem)
{
	enum npu_dtype output = problem->types.output;

	return output == NPU_DTYPE_INT8 || output == NPU_DTYPE_UINT8 || output == NPU_DTYPE_INT32;
}

void mac_set_integer(struct mac_problem *problem)
{
	const struct graph_node *node = problem->node;
	const struct graph_quant *quant = node->quant;

	problem->types = (struct mac_types){
		.activations = layout_dtype(node->inputs[GRAPH_IN_X]->dtype, NPU_DTYPE_FP16),
		.weights = layout_dtype(node->inputs[GRAPH_IN_WEIGHT]->dtype, NPU_DTYPE_FP16),
		.output = placement_of(node->outputs[0])->dtype,
		.residual = NPU_DTYPE_FP16,
		.sums = NPU_OUT_SUM_INT32,
		.activations_zero = quant->inputs[GRAPH_IN_X].zero,
		.weights_zero = quant->inputs[GRAPH_IN_WEIGHT].zero,
	};
	if (problem->types.output == NPU_DTYPE_INT8 || problem->types.output == NPU_DTYPE_UINT8)
		problem->types.output_zero = quant->output.zero;
	problem->parameters = true;
}

/* What a step of the sum of @channel of @instance stands for. */
static double unit_of(const struct mac_problem *problem, const struct mac_instance *instance,
		      uint32_t channel)
{
	const struct graph_quantization *weights =
		&problem->node->quant->inputs[GRAPH_IN_WEIGHT];
	uint64_t at = (uint64_t)(instance->bias + channel * problem->bias_stride);
	float scale = weights->scales[weights->count == 1 ? 0 : at];

	return (double)problem->node->quant->inputs[GRAPH_IN_X].scales[0] * (double)scale;
}

static double bias_of(const struct mac_problem *problem, const struct mac_instance *instance,
		      uint32_t channel)
{
	const struct graph_quantization *bias = &problem->node->quant->inputs[GRAPH_IN_BIAS];
	uint64_t at = (uint64_t)(instance->bias + channel * problem->bias_stride);
	double number = (double)mac_bias_at(problem, instance, channel);

	if (!problem->bias || !bias->scales)
		return number;
	/* Biases are int32: as float they would lose their last bits. */
	number = (double)graph_constant_as_i64(
		problem->bias, graph_element_count(problem->bias) == 1 ? 0 : (int64_t)at);
	return (double)bias->scales[bias->count == 1 ? 0 : at] * (number - bias->zero);
}

/* The nearest multiplier 2^-shift to @factor. */
static void set_multiplier(struct npu_channel_int *parameters, double factor)
{
	int exponent, shift;
	long multiplier = lround(ldexp(frexp(factor, &exponent), MULTIPLIER_BITS));

	shift = MULTIPLIER_BITS - exponent;
	if (multiplier > MULTIPLIER_MAX) {
		multiplier /= 2;
		shift--;
	}
	if (shift < 0) {
		/* Every sum but 0 saturates an 8-bit result. */
		multiplier = MULTIPLIER_MAX;
		shift = 0;
	}
	for (; shift > SHIFT_MAX; shift--)
		multiplier /= 2;
	parameters->multiplier = htole16((uint16_t)multiplier);
	parameters->shift = (uint8_t)shift;
}

static int32_t saturate(double number)
{
	number = nearbyint(number);
	if (number >= (double)INT32_MAX)
		return INT32_MAX;
	return number <= (double)INT32_MIN ? INT32_MIN : (int32_t)number;
}

static void set_integer(const struct mac_problem *problem, const struct mac_instance *instance,
			uint32_t channel, struct npu_channel_int *parameters)
{
	double unit = unit_of(problem, instance, channel);
	double bias = bias_of(problem, instance, channel) / unit;

	parameters->bias = htole32((uint32_t)saturate(bias));
	set_multiplier(parameters, unit / (double)problem->node->quant->output.scales[0]);
}

static __le32 float_bits(double number)
{
	float single = (float)number;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	return htole32(bits);
}

static void set_float(const struct mac_problem *problem, const struct mac_instance *instance,
		      uint32_t channel, struct npu_channel_fp *parameters)
{
	parameters->scale = float_bits(unit_of(problem, instance, channel));
	parameters->bias = float_bits(bias_of(problem, instance, channel));
}

int mac_integer_parameters(struct lower *lower, const struct mac_problem *problem, int64_t *offset)
{
	size_t count = (size_t)problem->weight_sets * problem->channels;
	union {
		struct npu_channel_int integer;
		struct npu_channel_fp fp;
	} *parameters = calloc(count, sizeof(*parameters)), *set;
	uint32_t i, channel;

	if (!parameters)
		return diag_error(lower->diag,
				  "node '%s': %zu channels' parameters do not fit into memory",
				  problem->node->name, count);
	for (i = 0; i < problem->instance_count; i++) {
		const struct mac_instance *instance = &problem->instances[i];

		set = parameters + (size_t)instance->weight_set * problem->channels;
		for (channel = 0; channel < problem->channels; channel++) {
			if (integer_result(problem))
				set_integer(problem, instance, channel, &set[channel].integer);
			else
				set_float(problem, instance, channel, &set[channel].fp);
		}
	}
	*offset = lower_constant(lower, parameters, count * sizeof(*parameters), 64);
	free(parameters);
	return *offset < 0 ? -1 : 0;
}

bool mac_integer_clamp(const struct mac_problem *problem, float low, float high,
		       struct npu_stage *stage)
{
	double scale, zero;

	if (!integer_result(problem))
		return false;
	scale = (double)problem->node->quant->output.scales[0];
	zero = problem->node->quant->output.zero;
	stage->clamp_low = htole32((uint32_t)saturate(nearbyint((double)low / scale) + zero));
	stage->clamp_high = htole32((uint32_t)saturate(nearbyint((double)high / scale) + zero));
	return true;
}
