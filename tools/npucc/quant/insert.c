// SPDX-License-Identifier: MIT
/*
 * QUANTIZE and DEQUANTIZE into a float graph: around every operator that computes on bytes. Weights
 * are int8, symmetric, with a scale a channel; activations are uint8 with one.
 */
#include <math.h>

#include "../fuse/match.h"
#include "calibrate.h"
#include "quant.h"

#define WEIGHT_MAX	127
#define BYTE_MAX	255

struct inserter {
	struct graph *graph;
	struct calibration *calibration;
};

static bool constant_floats(const struct graph_value *value)
{
	return graph_is_constant(value) && value->dtype == GRAPH_DTYPE_F32;
}

static bool is_dense(const struct graph_node *node)
{
	const struct graph_value *bias =
		node->input_count > GRAPH_IN_BIAS ? node->inputs[GRAPH_IN_BIAS] : NULL;

	if ((node->op != GRAPH_OP_CONV && node->op != GRAPH_OP_MATMUL) ||
	    !constant_floats(node->inputs[GRAPH_IN_WEIGHT]) || (bias && !constant_floats(bias)))
		return false;
	if (node->op == GRAPH_OP_MATMUL && node->inputs[GRAPH_IN_WEIGHT]->rank != 2)
		return false;
	return node->input_count <= GRAPH_IN_RESIDUAL || !node->inputs[GRAPH_IN_RESIDUAL];
}

/* Elements of the input, in some order: the same range. */
static bool moves(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
	case GRAPH_OP_RESHAPE:
	case GRAPH_OP_SLICE:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_EXPAND:
		return true;
	case GRAPH_OP_POOL:
		return node->attr.pool.kind == GRAPH_POOL_MAX;
	default:
		return false;
	}
}

static bool on_bytes(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_MATMUL:
		return is_dense(node);
	case GRAPH_OP_ELTWISE:
		return node->attr.eltwise == GRAPH_ELTWISE_ADD ||
		       node->attr.eltwise == GRAPH_ELTWISE_SUB ||
		       node->attr.eltwise == GRAPH_ELTWISE_MUL;
	case GRAPH_OP_POOL:
		return node->attr.pool.kind != GRAPH_POOL_LP;
	case GRAPH_OP_ACTIVATION:
	case GRAPH_OP_CONCAT:
		return true;
	default:
		return moves(node);
	}
}

/* The value whose range is this one's. */
static const struct graph_value *origin(const struct graph_value *value)
{
	while (value->producer && moves(value->producer) &&
	       value->producer->inputs[0]->dtype == GRAPH_DTYPE_F32 &&
	       !graph_is_constant(value->producer->inputs[0]))
		value = value->producer->inputs[0];
	return value;
}

static struct graph_value *byte_constant(struct graph *graph, uint8_t number)
{
	uint8_t *data = arena_alloc(graph->arena, sizeof(*data));

	if (!data)
		return NULL;
	*data = number;
	return graph_constant_new(graph, "zero_point", GRAPH_DTYPE_U8, 0, NULL, data);
}

static struct graph_node *between(struct graph *graph, struct graph_node *before,
				  enum graph_op op, struct graph_value *x,
				  struct graph_value *scale, struct graph_value *zero,
				  enum graph_dtype dtype, int64_t axis)
{
	struct graph_value *inputs[] = { x, scale, zero }, *result;
	struct graph_node *node;
	uint32_t i;

	node = graph_node_new(graph, before, op,
			      x->producer ? x->producer->name : "input",
			      op == GRAPH_OP_QUANTIZE ? "QuantizeLinear" : "DequantizeLinear",
			      zero ? 3 : 2, 1);
	for (i = 0; node && i < node->input_count; i++)
		if (!inputs[i] || graph_node_set_input(graph, node, i, inputs[i]))
			return NULL;
	result = node ? graph_node_new_output(graph, node, 0, x->name, dtype) : NULL;
	if (!result)
		return NULL;
	graph_value_set_shape(result, x->rank, x->dims);
	node->attr.axis.axis = axis;
	return node;
}

/* All readers of @value but @except read @with. */
static int redirect(struct graph *graph, struct graph_value *value, struct graph_value *with,
		    const struct graph_node *except)
{
	uint32_t i = 0;

	while (i < value->use_count) {
		struct graph_use use = value->uses[i];

		if (use.node == except)
			i++;
		else if (graph_node_set_input(graph, use.node, use.index, with))
			return -1;
	}
	return 0;
}

static int quantize_value(struct inserter *inserter, struct graph_value *value)
{
	struct graph *graph = inserter->graph;
	struct graph_node *first = value->producer ? value->producer->next : graph->first;
	struct graph_value *scale, *zero;
	struct graph_node *quantize, *dequantize;
	float low, high, step;

	if (!calibration_range(inserter->calibration, origin(value), &low, &high))
		return 0;
	step = fmaxf(high - low, 1e-20f) / BYTE_MAX;
	scale = graph_constant_scalar(graph, "scale", step);
	zero = byte_constant(graph, (uint8_t)fminf(nearbyintf(-low / step), BYTE_MAX));
	quantize = between(graph, first, GRAPH_OP_QUANTIZE, value, scale, zero, GRAPH_DTYPE_U8, 0);
	dequantize = quantize ? between(graph, first, GRAPH_OP_DEQUANTIZE, quantize->outputs[0],
					scale, zero, GRAPH_DTYPE_F32, 0) :
				NULL;
	return dequantize ? redirect(graph, value, dequantize->outputs[0], quantize) : -1;
}

static int quantize_weights(struct inserter *inserter, struct graph_node *node)
{
	struct graph_value *value = node->inputs[GRAPH_IN_WEIGHT], *integers, *scale;
	uint32_t axis = node->op == GRAPH_OP_CONV || node->attr.matmul.transpose_b ? 0 : 1, d;
	int64_t count = graph_element_count(value), channels = value->dims[axis], inner = 1, i;
	const float *weights = value->data;
	struct graph *graph = inserter->graph;
	int8_t *data = arena_alloc_array(graph->arena, (uint64_t)count, sizeof(*data));
	float *scales = arena_alloc_array(graph->arena, (uint64_t)channels, sizeof(*scales));
	struct graph_node *dequantize;

	if (!data || !scales)
		return -1;
	for (d = axis + 1; d < value->rank; d++)
		inner *= value->dims[d];
	for (i = 0; i < channels; i++)
		scales[i] = 1e-20f;
	for (i = 0; i < count; i++) {
		float *scale_of = &scales[i / inner % channels];

		*scale_of = fmaxf(*scale_of, fabsf(weights[i]) / WEIGHT_MAX);
	}
	for (i = 0; i < count; i++)
		data[i] = (int8_t)nearbyintf(weights[i] / scales[i / inner % channels]);
	integers = graph_constant_new(graph, value->name, GRAPH_DTYPE_I8, value->rank, value->dims,
				      data);
	scale = graph_constant_new(graph, "scales", GRAPH_DTYPE_F32, 1, &channels, scales);
	dequantize = integers && scale ? between(graph, node, GRAPH_OP_DEQUANTIZE, integers, scale,
						 NULL, GRAPH_DTYPE_F32, axis) :
					 NULL;
	if (!dequantize)
		return -1;
	return graph_node_set_input(graph, node, GRAPH_IN_WEIGHT, dequantize->outputs[0]);
}

static bool wants_bytes(const struct graph_value *value)
{
	uint32_t i;

	if (value->producer && on_bytes(value->producer) && !value->is_output)
		return true;
	for (i = 0; i < value->use_count; i++)
		if (on_bytes(value->uses[i].node))
			return true;
	return false;
}

int calibration_insert(struct graph *graph, struct calibration *calibration, struct diag *diag)
{
	struct inserter inserter = { .graph = graph, .calibration = calibration };
	uint32_t values = graph->value_count, i;
	struct graph_node *node, *following;
	bool *wanted = arena_alloc_array(graph->arena, values + 1ull, sizeof(*wanted));
	int result = wanted ? 0 : -1;

	/* Which values: by the nodes as they are, before any is made to read something else. */
	for (i = 0; i < values && !result; i++)
		wanted[i] = !graph_is_constant(graph->values[i]) && wants_bytes(graph->values[i]);
	graph_for_each_node(graph, node, following)
		if (!result && is_dense(node))
			result = quantize_weights(&inserter, node);
	for (i = 0; i < values && !result; i++)
		if (wanted[i])
			result = quantize_value(&inserter, graph->values[i]);
	if (result)
		return diag_error(diag, "not enough memory to quantize the model");
	return graph_verify(graph, diag);
}
