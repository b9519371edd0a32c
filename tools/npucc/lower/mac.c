// SPDX-License-Identifier: MIT
/* What convolutions and matrix products share around plan and emission. */
#include "mac.h"
#include "prefetch.h"

#include <math.h>
#include <stdlib.h>

bool mac_activation(const struct graph_activation *activation, uint8_t *stage, float *low,
		    float *high)
{
	/* Only a table does something to its function's value. */
	if (activation->affine) {
		*stage = NPU_ACTIVATION_CURVE;
		return lower_table_supports(activation);
	}
	switch (activation->kind) {
	case GRAPH_ACTIVATION_NONE:
		*stage = NPU_ACTIVATION_NONE;
		return true;
	case GRAPH_ACTIVATION_RELU:
		*stage = NPU_ACTIVATION_CLAMP;
		*low = 0.0f;
		*high = INFINITY;
		return true;
	case GRAPH_ACTIVATION_CLIP:
		*stage = NPU_ACTIVATION_CLAMP;
		*low = activation->alpha;
		*high = activation->beta;
		return true;
	default:
		*stage = NPU_ACTIVATION_CURVE;
		return lower_table_supports(activation);
	}
}

/* Rows of @strides follow each other without a gap. */
static bool rows_join(const int64_t strides[3], uint32_t width, uint32_t height)
{
	return height == 1 || strides[MAC_Y] == strides[MAC_X] * width;
}

static bool is_pointwise(const struct mac_problem *problem)
{
	unsigned int axis;

	for (axis = 0; axis < 2; axis++)
		if (problem->kernel[axis] != 1 || problem->stride[axis] != 1 || problem->pad[axis])
			return false;
	return problem->out_height == problem->height && problem->out_width == problem->width;
}

/* All instances lie @bytes times their number from the first, for every operand. */
static bool instances_join(const struct mac_problem *problem, const struct mac_instance *instances)
{
	int64_t width = problem->width;
	uint32_t i;

	for (i = 1; i < problem->instance_count; i++) {
		const struct mac_instance *now = &instances[i], *before = &instances[i - 1];

		if (now->weight_set != before->weight_set ||
		    now->activations - before->activations != problem->a_stride[MAC_X] * width ||
		    now->output - before->output != problem->o_stride[MAC_X] * width ||
		    (problem->residual &&
		     now->residual - before->residual != problem->r_stride[MAC_X] * width))
			return false;
	}
	return true;
}

static const struct graph_value *input_of(const struct graph_node *node, uint32_t index)
{
	return index < node->input_count ? node->inputs[index] : NULL;
}

/* How a value is held; constants are brought in as fp16. */
static enum npu_dtype held_as(const struct graph_value *value)
{
	return value && !graph_is_constant(value) ? placement_of(value)->dtype : NPU_DTYPE_FP16;
}

/*
 * Constant weights are held like the activations they meet, unless they are nearly all that the layer
 * moves: twice their bytes would be what it waits for. The limit is a measured compromise: with one
 * instead of four, weights in fp16 are what the recognizer's largest errors come from (twice the
 * error, for 1.6 % fewer cycles at width 320 and 4.5 % at 160).
 */
#define WEIGHTS_A_VALUE 4
/* With so many values a weight, its second two bytes are lost among theirs, whatever type those have. */
#define VALUES_A_WEIGHT 8

static enum npu_dtype weights_held_as(const struct mac_problem *problem, enum npu_dtype activations)
{
	const struct graph_node *node = problem->node;
	int64_t values, weights;

	if (!problem->weights)
		return held_as(node->inputs[GRAPH_IN_WEIGHT]);
	values = graph_element_count(node->inputs[GRAPH_IN_X]) + graph_element_count(node->outputs[0]);
	weights = graph_element_count(problem->weights);
	if (weights * VALUES_A_WEIGHT <= values)
		return NPU_DTYPE_FP32;
	return weights > WEIGHTS_A_VALUE * values ? NPU_DTYPE_FP16 : activations;
}

static void set_float(struct mac_problem *problem)
{
	const struct graph_node *node = problem->node;
	const struct graph_value *residual = input_of(node, GRAPH_IN_RESIDUAL);
	enum npu_dtype activations = held_as(node->inputs[GRAPH_IN_X]);

	problem->types = (struct mac_types){
		.activations = activations,
		.weights = weights_held_as(problem, activations),
		.output = held_as(node->outputs[0]),
		/* A bias that is computed at run time stands in for one. */
		.residual = held_as(residual ? residual : input_of(node, GRAPH_IN_BIAS)),
		.sums = NPU_OUT_SUM_FP,
	};
	problem->parameters = problem->bias != NULL;
}

void mac_set_types(struct mac_problem *problem)
{
	if (problem->node->quant)
		mac_set_integer(problem);
	else
		set_float(problem);
}

float mac_bias_at(const struct mac_problem *problem, const struct mac_instance *instance,
		  uint32_t channel)
{
	int64_t at = instance->bias + channel * problem->bias_stride;

	if (!problem->bias)
		return 0.0f;
	return graph_constant_as_f32(problem->bias,
				     graph_element_count(problem->bias) == 1 ? 0 : at);
}

void mac_flatten(struct mac_problem *problem, struct mac_instance *instances)
{
	uint32_t width = problem->width, height = problem->height;

	if (!is_pointwise(problem))
		return;
	if (!rows_join(problem->a_stride, width, height) ||
	    !rows_join(problem->o_stride, width, height) ||
	    (problem->residual && !rows_join(problem->r_stride, width, height)) ||
	    (uint64_t)width * height > UINT32_MAX / 2)
		return;
	problem->height = problem->out_height = 1;
	problem->width = problem->out_width = width * height;
	if (!instances_join(problem, instances) ||
	    (uint64_t)problem->width * problem->instance_count > UINT32_MAX / 2)
		return;
	problem->width *= problem->instance_count;
	problem->out_width = problem->width;
	problem->instance_count = 1;
}

/* Weights that earlier layers brought to global SRAM are read there. */
static int64_t place_weights(struct lower *lower, struct mac_problem *problem)
{
	int64_t target = 0;

	if (lower->prefetch && problem->weights && problem->weight_sets == 1 &&
	    prefetch_target(lower->prefetch, problem->node, &target))
		problem->w_argument = STREAM_ARGUMENT_GLOBAL;
	return target;
}

static void note_weights(struct lower *lower, const struct mac_problem *problem,
			 const struct mac_plan *plan, int64_t source)
{
	if (lower->prefetch && problem->weights && problem->weight_sets == 1)
		prefetch_note(lower->prefetch, problem->node, source,
			      (uint64_t)plan->blocks * plan->block_bytes);
}

int mac_lower(struct lower *lower, const struct mac_problem *described)
{
	struct mac_problem own = *described, *problem = &own;
	int64_t *offsets = NULL, parameters = 0, table = 0, target;
	struct mac_plan plan;
	float *scales = NULL;
	int result = -1;

	target = place_weights(lower, problem);
	if (mac_plan(lower, problem, &plan))
		return -1;
	offsets = calloc(problem->weight_sets, sizeof(*offsets));
	if (!offsets) {
		diag_error(lower->diag, "node '%s': no memory for %u sets of weights",
			   problem->node->name, problem->weight_sets);
		goto out;
	}
	if (mac_scales(lower, problem, &scales))
		goto out;
	if (problem->weights && mac_pack(lower, problem, &plan, scales, offsets))
		goto out;
	note_weights(lower, problem, &plan, offsets[0]);
	if (problem->w_argument == STREAM_ARGUMENT_GLOBAL)
		offsets[0] = target;
	if (problem->parameters && mac_parameters(lower, problem, scales, &parameters))
		goto out;
	if (plan.table_bytes && lower_curve(lower, &problem->activation, &table))
		goto out;
	if (mac_emit(lower, problem, &plan, offsets, parameters, table))
		goto out;
	lower->figures.macs = problem->macs;
	lower->figures.cycles = plan.cycles;
	lower->figures.dram_bytes = plan.dram_bytes;
	lower->figures.array_cycles = plan.array_cycles;
	result = 0;
out:
	free(scales);
	free(offsets);
	return result;
}
