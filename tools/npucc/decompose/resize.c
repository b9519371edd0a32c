/* SPDX-License-Identifier: MIT */
#include "../graph/infer.h"
#include "decompose.h"

/* The part of an interpolation along one dim: the others stay as they are. */
static struct graph_value *along(struct decompose *d, struct graph_value *x, uint32_t dim)
{
	union graph_attr attr = d->node->attr;
	int64_t dims[GRAPH_MAX_RANK];

	if (!x)
		return NULL;
	for (uint32_t i = 0; i < x->rank; i++) {
		dims[i] = i == dim ? d->node->outputs[0]->dims[i] : x->dims[i];
		if (i == dim)
			continue;
		attr.resize.scale[i] = 1;
		attr.resize.roi_start[i] = 0;
		attr.resize.roi_end[i] = 1;
	}
	return decompose_stated(d, GRAPH_OP_RESIZE, &attr, x, x->rank, dims);
}

/*
 * Whether the nearest position steps unevenly: then each dim is many runs (lower/remap.c), and two dims at
 * once would be as many copies as their product.
 */
static bool steps_unevenly(const struct graph_node *node)
{
	for (uint32_t dim = 0; dim < node->inputs[0]->rank; dim++) {
		int64_t in = node->inputs[0]->dims[dim], out = node->outputs[0]->dims[dim];

		if (graph_resizes(node, dim) && out % in && in % out)
			return true;
	}
	return false;
}

/* Interpolation is separable: one node a dim. */
int decompose_resize(struct decompose *d)
{
	struct graph_value *value = d->node->inputs[0];
	uint32_t count = 0;

	if (d->node->attr.resize.mode == GRAPH_RESIZE_NEAREST && !steps_unevenly(d->node))
		return 0;
	for (uint32_t dim = 0; dim < d->node->inputs[0]->rank; dim++)
		count += graph_resizes(d->node, dim);
	if (count < 2)
		return 0;
	for (uint32_t dim = 0; dim < d->node->inputs[0]->rank; dim++)
		if (graph_resizes(d->node, dim))
			value = along(d, value, dim);
	return decompose_finish(d, value);
}
