// SPDX-License-Identifier: MIT
#include "precision.h"

/* Twice 1 MiB of fp32 weights is 2 % of a network of 3 million cycles; beyond it fp16 has to do. */
#define MATRIX_ELEMENTS_MAX	(1 << 18)
#define VALUE_ELEMENTS_MAX	(1 << 14)
/* Where fp16 would overflow, more has to be paid. */
#define RANGE_ELEMENTS_MAX	(1 << 18)
#define PRODUCTS_MAX		(1 << 22)

static bool one_position(const struct graph_value *value)
{
	return value->rank == 4 && value->dims[0] == 1 && value->dims[2] == 1 && value->dims[3] == 1;
}

bool precision_vector_conv(const struct graph_node *node)
{
	const struct graph_window *window = &node->attr.conv.window;
	const struct graph_value *weight;

	if (node->op != GRAPH_OP_CONV || node->attr.conv.group != 1 ||
	    !one_position(node->inputs[GRAPH_IN_X]) || !one_position(node->outputs[0]) ||
	    window->kernel[0] != 1 || window->kernel[1] != 1)
		return false;
	if (node->input_count > GRAPH_IN_RESIDUAL && node->inputs[GRAPH_IN_RESIDUAL])
		return false;
	weight = node->inputs[GRAPH_IN_WEIGHT];
	return graph_is_constant(weight) && weight->dtype == GRAPH_DTYPE_F32 &&
	       graph_element_count(weight) <= MATRIX_ELEMENTS_MAX;
}

static bool is_square(const struct graph_node *node)
{
	return node->op == GRAPH_OP_ACTIVATION &&
	       node->attr.activation.kind == GRAPH_ACTIVATION_SQUARE;
}

/* A square, or a sum of squares: twice the range of what fp16 holds. */
static bool is_power(const struct graph_value *value)
{
	const struct graph_node *node = value->producer;

	if (!node)
		return false;
	if (is_square(node))
		return true;
	return node->op == GRAPH_OP_ELTWISE && node->attr.eltwise == GRAPH_ELTWISE_ADD &&
	       is_power(node->inputs[0]) && is_power(node->inputs[1]);
}

bool precision_vector_matmul(const struct graph_node *node)
{
	const struct graph_value *b;
	int64_t products;

	if (node->op != GRAPH_OP_MATMUL || node->quant || node->attr.matmul.transpose_a ||
	    !is_power(node->inputs[GRAPH_IN_X]))
		return false;
	if (node->input_count > GRAPH_IN_RESIDUAL && node->inputs[GRAPH_IN_RESIDUAL])
		return false;
	b = node->inputs[GRAPH_IN_WEIGHT];
	if (!graph_is_constant(b) || b->rank != 2 || b->dtype != GRAPH_DTYPE_F32 ||
	    graph_element_count(b) > MATRIX_ELEMENTS_MAX ||
	    graph_element_count(node->inputs[GRAPH_IN_X]) > RANGE_ELEMENTS_MAX)
		return false;
	products = graph_element_count(node->inputs[GRAPH_IN_X]) *
		   node->outputs[0]->dims[node->outputs[0]->rank - 1];
	return products <= PRODUCTS_MAX;
}

bool precision_on_vector_unit(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_ELTWISE:
	case GRAPH_OP_ACTIVATION:
	case GRAPH_OP_SOFTMAX:
	case GRAPH_OP_LAYERNORM:
	case GRAPH_OP_REDUCE:
	case GRAPH_OP_CAST:
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
		return true;
	case GRAPH_OP_POOL:
		return node->attr.pool.global;
	default:
		return precision_vector_conv(node) || precision_vector_matmul(node);
	}
}

static bool moves_only(const struct graph_node *node)
{
	return node->op == GRAPH_OP_RESHAPE || node->op == GRAPH_OP_TRANSPOSE;
}

/* What @value is another shape or order of. */
static const struct graph_value *moved_from(const struct graph_value *value)
{
	while (value->producer && moves_only(value->producer) &&
	       !graph_is_constant(value->producer->inputs[0]))
		value = value->producer->inputs[0];
	return value;
}

/* Whether the vector unit alone reads @value, moved or not; @squared: it is squared somewhere. */
static bool read_by_vector_unit(const struct graph_value *value, bool *squared)
{
	for (uint32_t i = 0; i < value->use_count; i++) {
		const struct graph_node *node = value->uses[i].node;

		if (moves_only(node) ? !read_by_vector_unit(node->outputs[0], squared) :
				       !precision_on_vector_unit(node))
			return false;
		*squared |= is_square(node);
	}
	return true;
}

/*
 * Powers (spectra of sound, of 16 bits as a rule) go beyond fp16, and what they are squares of
 * may: both are fp32 however they are moved in between.
 */
static bool needs_range(const struct graph_value *value)
{
	const struct graph_value *source = moved_from(value);
	bool squared = false;

	if (graph_element_count(source) > RANGE_ELEMENTS_MAX || !source->producer ||
	    !read_by_vector_unit(source, &squared))
		return false;
	if (source->producer->op == GRAPH_OP_CONV || source->producer->op == GRAPH_OP_MATMUL)
		return squared && !source->producer->quant;
	return is_power(source) && precision_on_vector_unit(source->producer);
}

bool precision_wide(const struct graph_value *value)
{
	if (!graph_dtype_is_float(value->dtype))
		return false;
	if (needs_range(value))
		return true;
	if (graph_element_count(value) > VALUE_ELEMENTS_MAX)
		return false;
	if (value->producer ? !precision_on_vector_unit(value->producer) : !value->is_input)
		return false;
	for (uint32_t i = 0; i < value->use_count; i++)
		if (!precision_on_vector_unit(value->uses[i].node))
			return false;
	return true;
}

bool precision_boundary(const struct graph_value *value)
{
	if (value->dtype != GRAPH_DTYPE_F32)
		return false;
	if (value->is_output && value->producer)
		return value->producer->op == GRAPH_OP_DEQUANTIZE || value->producer->quant;
	if (!value->is_input || value->is_output || !value->use_count)
		return false;
	for (uint32_t i = 0; i < value->use_count; i++)
		if (value->uses[i].node->op != GRAPH_OP_QUANTIZE)
			return false;
	return true;
}
