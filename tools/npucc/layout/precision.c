// SPDX-License-Identifier: MIT
#include "precision.h"

/* Twice 1 MiB of fp32 weights is 2 % of a network of 3 million cycles; beyond it fp16 has to do. */
#define MATRIX_ELEMENTS_MAX	(1 << 18)
#define VALUE_ELEMENTS_MAX	(1 << 14)

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

static bool on_vector_unit(const struct graph_node *node)
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
		return precision_vector_conv(node);
	}
}

bool precision_wide(const struct graph_value *value)
{
	if (!graph_dtype_is_float(value->dtype) || graph_element_count(value) > VALUE_ELEMENTS_MAX)
		return false;
	if (value->producer ? !on_vector_unit(value->producer) : !value->is_input)
		return false;
	for (uint32_t i = 0; i < value->use_count; i++)
		if (!on_vector_unit(value->uses[i].node))
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
