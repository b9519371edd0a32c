// SPDX-License-Identifier: MIT
/* Invariants of the graph, checked between stages. */
#include <inttypes.h>
#include <stdlib.h>

#include "graph.h"
#include "infer.h"

static int broken(struct diag *diag, const struct graph_node *node, const char *what,
		  uint32_t index)
{
	return diag_error(diag,
			  "internal error: node '%s' (%s): %s (%" PRIu32
			  "); please report this with the model",
			  node->name, graph_op_name(node->op), what, index);
}

/* The list of uses names exactly the places that read the value; @reads of them exist. */
static int verify_uses(const struct graph_value *value, uint32_t reads, struct diag *diag)
{
	uint32_t i;

	for (i = 0; i < value->use_count; i++) {
		const struct graph_use *use = &value->uses[i];

		if (use->index >= use->node->input_count || use->node->inputs[use->index] != value)
			return broken(diag, use->node, "a use is listed that does not exist", i);
	}
	if (value->use_count == reads)
		return 0;
	return diag_error(diag,
			  "internal error: value '%s' lists %" PRIu32 " uses, %" PRIu32
			  " exist; please report this with the model",
			  value->name, value->use_count, reads);
}

/* @seen: by value id, true once its producer has been passed. */
static int verify_inputs(const struct graph_node *node, const bool *seen, struct diag *diag)
{
	uint32_t i;

	for (i = 0; i < node->input_count; i++) {
		const struct graph_value *value = node->inputs[i];

		if (!value)
			continue;
		if (!value->is_input && !value->data && !seen[value->id])
			return broken(diag, node, "input is made by no node before it", i);
	}
	return 0;
}

static int verify_outputs(const struct graph_node *node, bool *seen, struct diag *diag)
{
	uint32_t i;

	for (i = 0; i < node->output_count; i++) {
		const struct graph_value *value = node->outputs[i];

		if (!value)
			return broken(diag, node, "output is missing", i);
		if (value->producer != node || value->producer_index != i)
			return broken(diag, node, "output does not name its producer", i);
		if (value->data || value->is_input)
			return broken(diag, node, "output is a constant or an input", i);
		if (seen[value->id])
			return broken(diag, node, "output is made twice", i);
		seen[value->id] = true;
	}
	return 0;
}

static bool may_have_activation(enum graph_op op)
{
	return op == GRAPH_OP_CONV || op == GRAPH_OP_CONVTRANSPOSE || op == GRAPH_OP_MATMUL ||
	       op == GRAPH_OP_ELTWISE;
}

static int verify_nodes(const struct graph *graph, bool *seen, uint32_t *reads, struct diag *diag)
{
	const struct graph_node *node, *previous = NULL;
	uint32_t count = 0, i;

	for (node = graph->first; node; previous = node, node = node->next) {
		if (node->previous != previous)
			return broken(diag, node, "list is broken", count);
		if (verify_inputs(node, seen, diag) || verify_outputs(node, seen, diag))
			return -1;
		if (node->activation.kind != GRAPH_ACTIVATION_NONE &&
		    !may_have_activation(node->op))
			return broken(diag, node, "carries an activation it cannot have", 0);
		for (i = 0; i < node->input_count; i++)
			if (node->inputs[i])
				reads[node->inputs[i]->id]++;
		if (graph_check_node(node, diag))
			return -1;
		count++;
	}
	if (previous != graph->last || count != graph->node_count)
		return diag_error(diag,
				  "internal error: the graph's list holds %" PRIu32 " nodes and "
				  "claims %" PRIu32 "; please report this with the model",
				  count, graph->node_count);
	return 0;
}

static int verify_ends(const struct graph *graph, const bool *seen, struct diag *diag)
{
	uint32_t i;

	for (i = 0; i < graph->input_count; i++)
		if (!graph->inputs[i]->is_input || graph->inputs[i]->producer ||
		    graph->inputs[i]->data)
			return diag_error(
				diag, "internal error: input '%s' is made by a node or constant",
				graph->inputs[i]->name);
	for (i = 0; i < graph->output_count; i++)
		if (!graph->outputs[i]->is_output || !seen[graph->outputs[i]->id])
			return diag_error(diag, "internal error: output '%s' is made by no node",
					  graph->outputs[i]->name);
	return 0;
}

int graph_verify(const struct graph *graph, struct diag *diag)
{
	bool *seen = calloc((size_t)graph->value_count + 1, sizeof(*seen));
	uint32_t *reads = calloc((size_t)graph->value_count + 1, sizeof(*reads));
	int result = -1;
	uint32_t i;

	if (!seen || !reads) {
		diag_error(diag, "not enough memory to verify the graph");
		goto out;
	}
	if (verify_nodes(graph, seen, reads, diag) || verify_ends(graph, seen, diag))
		goto out;
	for (i = 0; i < graph->value_count; i++)
		if (verify_uses(graph->values[i], reads[i], diag))
			goto out;
	result = 0;
out:
	free(seen);
	free(reads);
	return result;
}
