// SPDX-License-Identifier: MIT
/* Activations and residual sums onto the node that makes their input. */
#include <stdlib.h>

#include "fuse.h"
#include "match.h"

static bool takes_activation(const struct graph_node *node)
{
	if (node->activation.kind != GRAPH_ACTIVATION_NONE ||
	    !graph_dtype_is_float(node->outputs[0]->dtype))
		return false;
	switch (node->op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
	case GRAPH_OP_MATMUL:
		return true;
	case GRAPH_OP_ELTWISE:
		return node->attr.eltwise <= GRAPH_ELTWISE_MIN;
	default:
		return false;
	}
}

/* Functions an output stage does by clamp or table. */
static bool is_fusable(enum graph_activation_kind kind)
{
	switch (kind) {
	case GRAPH_ACTIVATION_RELU:
	case GRAPH_ACTIVATION_CLIP:
	case GRAPH_ACTIVATION_LEAKYRELU:
	case GRAPH_ACTIVATION_ELU:
	case GRAPH_ACTIVATION_SELU:
	case GRAPH_ACTIVATION_CELU:
	case GRAPH_ACTIVATION_SIGMOID:
	case GRAPH_ACTIVATION_HARDSIGMOID:
	case GRAPH_ACTIVATION_HARDSWISH:
	case GRAPH_ACTIVATION_SILU:
	case GRAPH_ACTIVATION_TANH:
	case GRAPH_ACTIVATION_GELU:
	case GRAPH_ACTIVATION_GELU_TANH:
	case GRAPH_ACTIVATION_MISH:
	case GRAPH_ACTIVATION_SOFTPLUS:
		return true;
	default:
		return false;
	}
}

/* What makes @value, or what it is another shape or order of; nobody else reads any of them. */
static struct graph_node *maker_of(const struct graph_value *value)
{
	while (graph_single_user(value) && value->producer &&
	       (value->producer->op == GRAPH_OP_RESHAPE || value->producer->op == GRAPH_OP_TRANSPOSE))
		value = value->producer->inputs[0];
	return graph_single_user(value) ? value->producer : NULL;
}

uint32_t fuse_activation(struct graph *graph)
{
	struct graph_node *node, *following, *producer;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following)
	{
		if (node->op != GRAPH_OP_ACTIVATION || !is_fusable(node->attr.activation.kind))
			continue;
		producer = maker_of(node->inputs[0]);
		if (!producer || !takes_activation(producer) ||
		    node->inputs[0]->dtype != node->outputs[0]->dtype)
			continue;
		producer->activation = node->attr.activation;
		fuse_take_output(graph, node->inputs[0]->producer, node);
		count++;
	}
	return count;
}

static struct graph_activation *own_activation(struct graph_node *node)
{
	if (node->activation.kind != GRAPH_ACTIVATION_NONE)
		return &node->activation;
	if (node->op == GRAPH_OP_ACTIVATION && is_fusable(node->attr.activation.kind))
		return &node->attr.activation;
	return NULL;
}

uint32_t fuse_affine(struct graph *graph)
{
	struct graph_node *node, *following;
	struct graph_activation *activation;
	struct match_linear linear;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following)
	{
		if (!match_linear_node(node, &linear) || !linear.x->producer ||
		    !graph_single_user(linear.x))
			continue;
		activation = own_activation(linear.x->producer);
		if (!activation)
			continue;
		if (!activation->affine) {
			activation->scale = 1;
			activation->shift = 0;
		}
		activation->affine = true;
		activation->scale = (float)(linear.scale * (double)activation->scale);
		activation->shift =
			(float)(linear.scale * (double)activation->shift + linear.shift);
		fuse_take_output(graph, linear.x->producer, node);
		count++;
	}
	return count;
}

static bool takes_residual(const struct graph_value *value, const struct graph_value *sum)
{
	const struct graph_node *node = value->producer;

	if (!node || !match_weighted(node) || !graph_single_user(value) ||
	    node->activation.kind != GRAPH_ACTIVATION_NONE || !graph_shape_equal(value, sum) ||
	    !graph_dtype_is_float(value->dtype))
		return false;
	return node->input_count <= GRAPH_IN_RESIDUAL || !node->inputs[GRAPH_IN_RESIDUAL];
}

static uint32_t absorb_residual(struct graph *graph, struct graph_node *sum)
{
	struct graph_value *a = sum->inputs[0], *b = sum->inputs[1], *other;
	bool first = takes_residual(a, sum->outputs[0]),
	     second = takes_residual(b, sum->outputs[0]);
	struct graph_node *node;

	if (a == b || (!first && !second) || !graph_shape_equal(a, b))
		return 0;
	/* Of two the later one: the other's result exists by then. */
	if (first && second)
		first = graph_node_precedes(b->producer, a->producer);
	node = first ? a->producer : b->producer;
	other = first ? b : a;
	if (graph_is_constant(other))
		return 0;
	if (graph_node_resize_inputs(graph, node, GRAPH_IN_RESIDUAL + 1) ||
	    graph_node_set_input(graph, node, GRAPH_IN_RESIDUAL, other))
		return 0;
	graph_node_move_before(graph, node, sum);
	fuse_take_output(graph, node, sum);
	return 1;
}

uint32_t fuse_residual(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0;

	graph_for_each_node(graph, node,
			    following) if (node->op == GRAPH_OP_ELTWISE &&
					   node->attr.eltwise == GRAPH_ELTWISE_ADD &&
					   node->activation.kind == GRAPH_ACTIVATION_NONE) count +=
		absorb_residual(graph, node);
	return count;
}
