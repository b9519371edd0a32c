// SPDX-License-Identifier: MIT
#include "../fold/eval.h"
#include "quant.h"

/* Beyond it, operators on constants run on the device. */
#define FOLD_WORK_MAX ((uint64_t)1 << 28)

static uint32_t (*const passes[])(struct graph *graph, struct graph_node *node) = {
	quant_move_dequantize, quant_requantize, quant_dense, quant_elementwise, quant_concat,
};

bool quant_speaks_of_integers(const struct graph *graph)
{
	const struct graph_node *node;

	for (node = graph->first; node; node = node->next)
		if (node->op == GRAPH_OP_QUANTIZE || node->op == GRAPH_OP_DEQUANTIZE)
			return true;
	return false;
}

/* Sources come before their readers: each node meets what those before it have become. */
static void run_passes(struct graph *graph)
{
	struct graph_node *node, *previous;
	uint32_t i;

	for (node = graph->last; node; node = previous) {
		previous = node->previous;
		quant_move_quantize(graph, node);
	}
	for (node = graph->first; node; node = node->next)
		for (i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
			if (passes[i](graph, node))
				break;
}

static void fold_rest(struct graph *graph)
{
	struct graph_node *node, *following;

	graph_for_each_node(graph, node, following)
		if (eval_work(node) <= FOLD_WORK_MAX)
			quant_fold(graph, node);
}

int quant_graph(struct graph *graph, uint32_t *count, struct diag *diag)
{
	struct graph_node *node;

	*count = 0;
	if (!quant_speaks_of_integers(graph))
		return 0;
	run_passes(graph);
	graph_remove_dead(graph);
	fold_rest(graph);
	graph_remove_dead(graph);
	if (graph->out_of_memory)
		return diag_error(diag, "not enough memory to put the model's integers together");
	for (node = graph->first; node; node = node->next)
		*count += node->quant != NULL;
	return graph_verify(graph, diag);
}
