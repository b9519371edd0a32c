// SPDX-License-Identifier: MIT
#include "early.h"

#include "precision.h"

#define LAYERS_BEHIND	10
/*
 * For so many products the array takes eight cycles, in which the output stage could write its
 * channels in fp32 four times: these results cost nothing but room.
 */
#define LONG_SUM	64

struct early {
	struct graph *graph;
	uint32_t *behind;	/* layers on the array behind a value, by id */
	uint32_t *class;	/* values of one type: union-find, by id */
	bool *wide;		/* by class, then by id */
};

static bool on_array(const struct graph_node *node)
{
	return (node->op == GRAPH_OP_MATMUL && !precision_vector_matmul(node)) ||
	       (node->op == GRAPH_OP_CONV && !precision_vector_conv(node));
}

/* Operators that read and write fp32 and fp16, each operand as it is. */
static bool takes_any_float(const struct graph_node *node)
{
	if (node->op == GRAPH_OP_CAST)
		return false;
	return graph_moves_elements(node) || on_array(node) || precision_on_vector_unit(node) ||
	       node->op == GRAPH_OP_CONVTRANSPOSE ||
	       (node->op == GRAPH_OP_POOL && node->attr.pool.kind != GRAPH_POOL_LP);
}

static uint32_t class_of(struct early *early, uint32_t id)
{
	while (early->class[id] != id) {
		early->class[id] = early->class[early->class[id]];
		id = early->class[id];
	}
	return id;
}

static void count_behind(struct early *early)
{
	for (const struct graph_node *node = early->graph->last; node; node = node->previous) {
		uint32_t behind = 0;

		for (uint32_t i = 0; i < node->output_count; i++)
			if (node->outputs[i] && early->behind[node->outputs[i]->id] > behind)
				behind = early->behind[node->outputs[i]->id];
		behind += on_array(node);
		for (uint32_t i = 0; i < node->input_count; i++)
			if (node->inputs[i] && early->behind[node->inputs[i]->id] < behind)
				early->behind[node->inputs[i]->id] = behind;
	}
}

/* What a movement reads and writes has one type. */
static void join(struct early *early, const struct graph_node *node)
{
	uint32_t inputs = node->op == GRAPH_OP_CONCAT ? node->input_count : 1;

	for (uint32_t i = 0; i < inputs; i++)
		for (uint32_t o = 0; o < node->output_count; o++)
			if (node->inputs[i] && node->outputs[o])
				early->class[class_of(early, node->outputs[o]->id)] =
					class_of(early, node->inputs[i]->id);
}

static bool may_be_wide(const struct graph_value *value)
{
	if (value->dtype != GRAPH_DTYPE_F32 || value->is_output ||
	    (value->producer ? !takes_any_float(value->producer) : !value->is_input))
		return false;
	for (uint32_t i = 0; i < value->use_count; i++)
		if (!takes_any_float(value->uses[i].node))
			return false;
	return true;
}

static bool is_long_sum(const struct graph_value *value)
{
	const struct graph_node *node = value->producer;

	return node && node->op == GRAPH_OP_CONV && on_array(node) &&
	       graph_element_count(node->inputs[GRAPH_IN_WEIGHT]) / value->dims[1] >= LONG_SUM;
}

static void decide(struct early *early)
{
	struct graph *graph = early->graph;

	for (uint32_t i = 0; i < graph->value_count; i++)
		if (early->behind[i] >= LAYERS_BEHIND || is_long_sum(graph->values[i]))
			early->wide[class_of(early, i)] = true;
	for (uint32_t i = 0; i < graph->value_count; i++)
		if (!may_be_wide(graph->values[i]))
			early->wide[class_of(early, i)] = false;
	for (uint32_t i = 0; i < graph->value_count; i++)
		early->wide[i] = early->wide[class_of(early, i)];
}

bool *precision_early(struct graph *graph)
{
	struct early early = {
		.graph = graph,
		.behind = arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(uint32_t)),
		.class = arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(uint32_t)),
		.wide = arena_alloc_array(graph->arena, graph->value_count + 1ull, sizeof(bool)),
	};
	struct graph_node *node, *following;

	if (!early.behind || !early.class || !early.wide)
		return NULL;
	for (uint32_t i = 0; i < graph->value_count; i++)
		early.class[i] = i;
	count_behind(&early);
	graph_for_each_node(graph, node, following)
		if (graph_moves_elements(node))
			join(&early, node);
	decide(&early);
	return early.wide;
}
