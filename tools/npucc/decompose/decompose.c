/* SPDX-License-Identifier: MIT */
#include "decompose.h"

#include "../graph/infer.h"

static struct graph_node *new_node(struct decompose *d, enum graph_op op,
				   const union graph_attr *attr, struct graph_value *const *inputs,
				   uint32_t count)
{
	struct graph_node *node = graph_node_new(d->graph, d->node, op, d->node->name,
						 d->node->op_type, count, 1);

	if (!node)
		return NULL;
	node->origin = d->node->origin;
	if (attr)
		node->attr = *attr;
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i] && graph_node_set_input(d->graph, node, i, inputs[i]))
			return NULL;
	if (!graph_node_new_output(d->graph, node, 0, d->node->outputs[0]->name, inputs[0]->dtype))
		return NULL;
	return node;
}

struct graph_value *decompose_op(struct decompose *d, enum graph_op op, const union graph_attr *attr,
				 struct graph_value *const *inputs, uint32_t count)
{
	struct graph_node *node = inputs[0] ? new_node(d, op, attr, inputs, count) : NULL;

	if (!node || graph_infer_node(node, d->diag))
		return NULL;
	return node->outputs[0];
}

struct graph_value *decompose_stated(struct decompose *d, enum graph_op op,
				     const union graph_attr *attr, struct graph_value *x,
				     uint32_t rank, const int64_t *dims)
{
	struct graph_node *node = x ? new_node(d, op, attr, &x, 1) : NULL;

	if (!node)
		return NULL;
	graph_value_set_shape(node->outputs[0], rank, dims);
	return graph_check_node(node, d->diag) ? NULL : node->outputs[0];
}

struct graph_value *decompose_cast(struct decompose *d, struct graph_value *x, enum graph_dtype dtype)
{
	struct graph_value *y;

	if (!x || x->dtype == dtype)
		return x;
	y = decompose_stated(d, GRAPH_OP_CAST, NULL, x, x->rank, x->dims);
	if (y)
		y->dtype = dtype;
	return y;
}

struct graph_value *decompose_reshape(struct decompose *d, struct graph_value *x, uint32_t rank,
				      const int64_t *dims)
{
	return decompose_stated(d, GRAPH_OP_RESHAPE, NULL, x, rank, dims);
}

struct graph_value *decompose_activation(struct decompose *d, struct graph_value *x,
					 enum graph_activation_kind kind, float alpha, float beta)
{
	const union graph_attr attr = {
		.activation = { .kind = kind, .alpha = alpha, .beta = beta },
	};

	return decompose_op(d, GRAPH_OP_ACTIVATION, &attr, &x, 1);
}

struct graph_value *decompose_eltwise(struct decompose *d, enum graph_eltwise_kind kind,
				      struct graph_value *a, struct graph_value *b)
{
	const union graph_attr attr = { .eltwise = kind };
	struct graph_value *inputs[2] = { a, b };

	return b ? decompose_op(d, GRAPH_OP_ELTWISE, &attr, inputs, 2) : NULL;
}

struct graph_value *decompose_reduce(struct decompose *d, enum graph_reduce_kind kind,
				     struct graph_value *x, uint32_t axes)
{
	const union graph_attr attr = {
		.reduce = { .kind = kind, .axes = axes, .keep_dims = true },
	};

	return decompose_op(d, GRAPH_OP_REDUCE, &attr, &x, 1);
}

int decompose_finish(struct decompose *d, struct graph_value *value)
{
	if (!value || d->graph->out_of_memory || graph_value_replace(d->graph, d->node->outputs[0], value))
		return diag_error(d->diag,
				  "node '%s' (%s) could not be taken apart: memory is short; give smaller shapes with --shape",
				  d->node->name, d->node->op_type);
	graph_node_remove(d->graph, d->node);
	return 0;
}

static int decompose_node(struct decompose *d)
{
	switch (d->node->op) {
	case GRAPH_OP_CONVTRANSPOSE:
		return decompose_convtranspose(d);
	case GRAPH_OP_GATHER:
		return decompose_gather(d);
	case GRAPH_OP_LAYERNORM:
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
	case GRAPH_OP_LRN:
		return decompose_norm(d);
	case GRAPH_OP_RESIZE:
		return decompose_resize(d);
	case GRAPH_OP_REDUCE:
		return decompose_reduction(d);
	default:
		return 0;
	}
}

int decompose_graph(struct graph *graph, struct diag *diag)
{
	struct graph_node *node, *following;

	graph_for_each_node(graph, node, following) {
		struct decompose d = { .graph = graph, .node = node, .diag = diag };

		if (decompose_node(&d))
			return -1;
	}
	return graph_verify(graph, diag);
}
