// SPDX-License-Identifier: MIT
/*
 * DEQUANTIZE and QUANTIZE past nodes that only move elements: what an integer stands for does
 * not depend on where it is.
 */
#include "../fuse/match.h"
#include "quant.h"

/* The dimension of @node's output that the input's dimension @axis becomes; -1: none. */
static int64_t axis_behind(const struct graph_node *node, int64_t axis)
{
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t outer = 1, before = 1, i;

	if (node->op == GRAPH_OP_TRANSPOSE) {
		for (i = 0; i < x->rank; i++)
			if (node->attr.transpose.perm[i] == axis)
				return i;
		return -1;
	}
	if (node->op != GRAPH_OP_RESHAPE)
		return -1;
	for (i = 0; i < axis; i++)
		outer *= x->dims[i];
	for (i = 0; i < y->rank; i++) {
		if (before == outer && y->dims[i] == x->dims[axis])
			return i;
		before *= y->dims[i];
	}
	return -1;
}

/* Nodes whose results are some of their first input's elements, in whatever order. */
static bool moves_input(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_CONCAT:
		return false;
	case GRAPH_OP_GATHER:
		/* By computed indices it is a product, which has float results (decompose/gather.c). */
		return graph_is_constant(node->inputs[1]);
	case GRAPH_OP_RESIZE:
		return node->attr.resize.mode == GRAPH_RESIZE_NEAREST &&
		       node->attr.resize.coordinate != GRAPH_COORDINATE_CROP_AND_RESIZE;
	case GRAPH_OP_POOL:
		/* Scales are positive: the greatest number is the greatest integer's. */
		return node->attr.pool.kind == GRAPH_POOL_MAX;
	default:
		return graph_moves_elements(node);
	}
}

/* A node (DE)QUANTIZE like @like before @before. */
static struct graph_node *like_new(struct graph *graph, const struct graph_node *like,
				   struct graph_node *before, struct graph_value *x, int64_t axis)
{
	struct graph_node *node = graph_node_new(graph, before, like->op, like->name,
						 like->op_type, like->input_count, 1);
	uint32_t i;

	if (!node || graph_node_set_input(graph, node, 0, x))
		return NULL;
	for (i = 1; i < like->input_count; i++)
		if (like->inputs[i] && graph_node_set_input(graph, node, i, like->inputs[i]))
			return NULL;
	node->domain = like->domain;
	node->attr.axis.axis = axis;
	return node;
}

static struct graph_value *value_like(struct graph *graph, const struct graph_value *like,
				      enum graph_dtype dtype)
{
	struct graph_value *value =
		graph_value_new(graph, like->name, like->name_length, dtype);

	if (value)
		graph_value_set_shape(value, like->rank, like->dims);
	return value;
}

/* Output @index of @node is made of integers; a DEQUANTIZE behind makes what it was. */
static uint32_t dequantize_behind(struct graph *graph, struct graph_node *node, uint32_t index,
				  const struct graph_node *dequantize, int64_t axis)
{
	struct graph_value *output = node->outputs[index];
	struct graph_value *value = value_like(graph, output, dequantize->inputs[0]->dtype);
	struct graph_node *behind =
		value ? like_new(graph, dequantize, node->next, value, axis) : NULL;

	if (!behind)
		return 0;
	output->producer = NULL;
	graph_node_set_output(behind, 0, output);
	graph_node_set_output(node, index, value);
	return 1;
}

uint32_t quant_move_dequantize(struct graph *graph, struct graph_node *node)
{
	struct graph_node *dequantize;
	int64_t axis = 0;
	uint32_t i;

	if (!moves_input(node))
		return 0;
	dequantize = match_op(node->inputs[0], GRAPH_OP_DEQUANTIZE);
	if (!dequantize || !quant_is_byte(dequantize->inputs[0]->dtype))
		return 0;
	if (graph_element_count(dequantize->inputs[1]) != 1) {
		axis = axis_behind(node, dequantize->attr.axis.axis);
		if (axis < 0)
			return 0;
	}
	if (graph_node_set_input(graph, node, 0, dequantize->inputs[0]))
		return 0;
	for (i = 0; i < node->output_count; i++)
		if (!dequantize_behind(graph, node, i, dequantize, axis))
			return 0;
	/* Weights are read as constants. */
	if (graph_is_constant(node->inputs[0]) && node->output_count == 1)
		quant_fold(graph, node);
	return 1;
}

/* QUANTIZE of a view that nobody else reads: quantize before, so that its producer can. */
uint32_t quant_move_quantize(struct graph *graph, struct graph_node *node)
{
	struct graph_value *x, *quantized, *result;
	struct graph_node *view, *before;

	if (node->op != GRAPH_OP_QUANTIZE || graph_element_count(node->inputs[1]) != 1)
		return 0;
	view = match_op(node->inputs[0], GRAPH_OP_TRANSPOSE);
	if (!view)
		view = match_op(node->inputs[0], GRAPH_OP_RESHAPE);
	if (!view || graph_single_user(view->outputs[0]) != node ||
	    match_op(view->inputs[0], GRAPH_OP_DEQUANTIZE) || !view->inputs[0]->producer)
		return 0;
	x = view->inputs[0];
	result = node->outputs[0];
	quantized = value_like(graph, x, result->dtype);
	before = quantized ? like_new(graph, node, view, x, 0) : NULL;
	if (!before)
		return 0;
	graph_node_set_output(before, 0, quantized);
	if (graph_node_set_input(graph, view, 0, quantized))
		return 0;
	fuse_take_output(graph, view, node);
	return 1;
}
