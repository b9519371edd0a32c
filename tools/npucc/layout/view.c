// SPDX-License-Identifier: MIT
#include "view.h"

/*
 * The old dims without those of size 1, and neighbours that step as one merged, are
 * the runs new dims must divide.
 */
bool view_reshape(const struct placement *source, uint32_t rank, const int64_t *dims,
		  struct placement *view)
{
	struct placement runs = *source;
	uint32_t run = 0, i;
	int64_t rest;

	*view = *source;
	view->rank = rank;
	for (i = 0; i < rank; i++) {
		view->dims[i] = dims[i];
		view->strides[i] = NPU_DTYPE_BYTES(source->dtype);
	}
	placement_collapse(&runs, 1);
	rest = runs.rank ? runs.dims[0] : 1;
	for (i = 0; i < rank; i++) {
		if (dims[i] == 1)
			continue;
		if (rest == 1 && ++run < runs.rank)
			rest = runs.dims[run];
		if (run >= runs.rank || rest % dims[i])
			return false;
		rest /= dims[i];
		view->strides[i] = runs.strides[run] * rest;
	}
	return rest == 1 && run + 1 >= runs.rank;
}

static bool view_transpose(const struct graph_node *node, const struct placement *source,
			   struct placement *view)
{
	uint32_t i;

	*view = *source;
	for (i = 0; i < source->rank; i++) {
		view->dims[i] = source->dims[node->attr.transpose.perm[i]];
		view->strides[i] = source->strides[node->attr.transpose.perm[i]];
	}
	return true;
}

static bool view_slice(const struct graph_node *node, const struct placement *source,
		       struct placement *view)
{
	const struct graph_value *output = node->outputs[0];
	uint32_t i;

	*view = *source;
	for (i = 0; i < source->rank; i++) {
		view->offset += node->attr.slice.start[i] * source->strides[i];
		view->strides[i] = source->strides[i] * node->attr.slice.step[i];
		view->dims[i] = output->dims[i];
	}
	return true;
}

static bool view_split(const struct graph_node *node, uint32_t index,
		       const struct placement *source, struct placement *view)
{
	int64_t axis = node->attr.axis.axis, start = 0;
	uint32_t i;

	for (i = 0; i < index; i++) {
		if (!node->outputs[i])
			return false;
		start += node->outputs[i]->dims[axis];
	}
	*view = *source;
	view->offset += start * source->strides[axis];
	view->dims[axis] = node->outputs[index]->dims[axis];
	return true;
}

static bool view_expand(const struct graph_node *node, const struct placement *source,
			struct placement *view)
{
	const struct graph_value *output = node->outputs[0];
	uint32_t lead, i;

	if (output->rank < source->rank)
		return false;
	lead = output->rank - source->rank;
	*view = *source;
	view->rank = output->rank;
	for (i = 0; i < output->rank; i++) {
		bool repeats = i < lead || (source->dims[i - lead] == 1 && output->dims[i] != 1);

		view->dims[i] = output->dims[i];
		view->strides[i] = repeats ? 0 : source->strides[i - lead];
	}
	return true;
}

/* One constant index: a slice of one, without the dim when the index is a scalar. */
static bool view_gather(const struct graph_node *node, const struct placement *source,
			struct placement *view)
{
	const struct graph_value *indices = node->inputs[1], *output = node->outputs[0];
	uint32_t axis = (uint32_t)node->attr.axis.axis, i;
	int64_t index;

	if (!graph_is_constant(indices) || graph_element_count(indices) != 1 || indices->rank > 1)
		return false;
	index = graph_constant_as_i64(indices, 0);
	if (index < 0)
		index += source->dims[axis];
	if (index < 0 || index >= source->dims[axis])
		return false;
	*view = *source;
	view->offset += index * source->strides[axis];
	view->dims[axis] = 1;
	if (indices->rank)
		return true;
	for (i = axis; i + 1 < source->rank; i++) {
		view->dims[i] = source->dims[i + 1];
		view->strides[i] = source->strides[i + 1];
	}
	view->rank = output->rank;
	return true;
}

/* A change of type that the device does not see. */
static bool view_cast(const struct graph_node *node, const struct placement *source,
		      struct placement *view)
{
	*view = *source;
	return layout_same_bits(node->inputs[0]->dtype, node->outputs[0]->dtype);
}

bool view_output(const struct graph_node *node, uint32_t index, const struct placement *source,
		 struct placement *view)
{
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
		return view_transpose(node, source, view);
	case GRAPH_OP_RESHAPE:
		return view_reshape(source, node->outputs[0]->rank, node->outputs[0]->dims, view);
	case GRAPH_OP_SLICE:
		return view_slice(node, source, view);
	case GRAPH_OP_SPLIT:
		return view_split(node, index, source, view);
	case GRAPH_OP_EXPAND:
		return view_expand(node, source, view);
	case GRAPH_OP_GATHER:
		return view_gather(node, source, view);
	case GRAPH_OP_CAST:
		return view_cast(node, source, view);
	default:
		return false;
	}
}
