// SPDX-License-Identifier: MIT
/* Element by element, and what the vector unit reduces: bytes in, bytes out. */
#include "../fuse/match.h"
#include "quant.h"

static bool is_scalar(const struct graph_value *value)
{
	return graph_is_constant(value) && graph_dtype_is_float(value->dtype) &&
	       graph_element_count(value) == 1;
}

static bool arithmetic(const struct graph_node *node)
{
	switch (node->attr.eltwise) {
	case GRAPH_ELTWISE_ADD:
	case GRAPH_ELTWISE_SUB:
	case GRAPH_ELTWISE_MUL:
	case GRAPH_ELTWISE_DIV:
	case GRAPH_ELTWISE_MAX:
	case GRAPH_ELTWISE_MIN:
		return true;
	default:
		return false;
	}
}

/* Operators that take each operand as bytes; 0: none. */
static uint32_t operands_of(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_ELTWISE:
		return arithmetic(node) ? 2 : 0;
	case GRAPH_OP_ACTIVATION:
		return 1;
	case GRAPH_OP_POOL:
		return node->attr.pool.kind == GRAPH_POOL_AVERAGE ||
		       (node->attr.pool.global && node->attr.pool.kind == GRAPH_POOL_MAX);
	case GRAPH_OP_REDUCE:
		return node->attr.reduce.kind == GRAPH_REDUCE_MEAN ||
		       node->attr.reduce.kind == GRAPH_REDUCE_SUM;
	default:
		return 0;
	}
}

uint32_t quant_elementwise(struct graph *graph, struct graph_node *node)
{
	struct graph_node *sources[2] = { NULL }, *target;
	uint32_t operands = node->quant ? 0 : operands_of(node), taken = 0, i;
	struct graph_quant *quant;

	if (!operands)
		return 0;
	quant = quant_new(graph, node->input_count);
	if (!quant)
		return 0;
	for (i = 0; i < operands; i++) {
		sources[i] = quant_source(graph, node->inputs[i], &quant->inputs[i]);
		if (!sources[i] && !is_scalar(node->inputs[i]))
			return 0;
		taken += sources[i] != NULL;
	}
	target = taken ? quant_target(graph, node->outputs[0], &quant->output) : NULL;
	if (!target)
		return 0;
	for (i = 0; i < operands; i++)
		if (sources[i] && graph_node_set_input(graph, node, i, sources[i]->inputs[0]))
			return 0;
	node->quant = quant;
	fuse_take_output(graph, node, target);
	return 1;
}

/* @node becomes a table from the bytes of @x to those of its output. */
static uint32_t become_table(struct graph *graph, struct graph_node *node, struct graph_value *x,
			     const struct graph_quantization *from,
			     const struct graph_quantization *to)
{
	struct graph_quant *quant = quant_new(graph, 1);

	if (!quant || !fuse_become_activation(graph, node, x, GRAPH_ACTIVATION_NONE, 0, 0))
		return 0;
	quant->inputs[0] = *from;
	quant->output = *to;
	node->quant = quant;
	return 1;
}

uint32_t quant_requantize(struct graph *graph, struct graph_node *node)
{
	struct graph_quantization from = { 0 }, to = { 0 };
	struct graph_value *x;
	struct graph_node *source;

	if (node->op != GRAPH_OP_QUANTIZE || !quant_is_byte(node->outputs[0]->dtype))
		return 0;
	source = quant_source(graph, node->inputs[0], &from);
	if (!source || !quant_read(graph, node, &to) || to.count != 1)
		return 0;
	x = source->inputs[0];
	if (x->dtype == node->outputs[0]->dtype && quant_same(&from, &to) &&
	    graph_value_can_replace(node->outputs[0], x))
		return graph_value_replace(graph, node->outputs[0], x) ? 0 : 1;
	return become_table(graph, node, x, &from, &to);
}

/* Bytes of @source as those of @target: itself, or a table before @node. */
static struct graph_value *joined(struct graph *graph, struct graph_node *node,
				  const struct graph_node *source,
				  const struct graph_node *target,
				  const struct graph_quantization *from,
				  const struct graph_quantization *to)
{
	struct graph_value *x = source->inputs[0], *value;
	enum graph_dtype dtype = target->outputs[0]->dtype;
	struct graph_node *table;

	if (x->dtype == dtype && quant_same(from, to))
		return x;
	table = graph_node_new(graph, node, GRAPH_OP_ACTIVATION, source->name, source->op_type, 1,
			       1);
	value = table ? graph_node_new_output(graph, table, 0, x->name, dtype) : NULL;
	if (!value || !become_table(graph, table, x, from, to))
		return NULL;
	graph_value_set_shape(value, x->rank, x->dims);
	return value;
}

uint32_t quant_concat(struct graph *graph, struct graph_node *node)
{
	struct graph_quantization to = { 0 }, *from;
	struct graph_node *target;
	uint32_t i;

	if (node->op != GRAPH_OP_CONCAT)
		return 0;
	target = quant_target(graph, node->outputs[0], &to);
	from = target ? arena_alloc_array(graph->arena, node->input_count, sizeof(*from)) : NULL;
	if (!from)
		return 0;
	for (i = 0; i < node->input_count; i++)
		if (!quant_source(graph, node->inputs[i], &from[i]))
			return 0;
	for (i = 0; i < node->input_count; i++) {
		struct graph_value *value = joined(graph, node, node->inputs[i]->producer, target,
						   &from[i], &to);

		if (!value || graph_node_set_input(graph, node, i, value))
			return 0;
	}
	fuse_take_output(graph, node, target);
	return 1;
}
