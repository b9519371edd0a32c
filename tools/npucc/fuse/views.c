// SPDX-License-Identifier: MIT
/* Reshapes, transposes and pads that change nothing, or can be said elsewhere. */
#include <math.h>
#include <string.h>

#include "../graph/infer.h"
#include "fuse.h"
#include "match.h"

/* @node does nothing: its readers may read its input. */
static uint32_t bypass(struct graph *graph, struct graph_node *node)
{
	if (!graph_value_can_replace(node->outputs[0], node->inputs[0]))
		return 0;
	return graph_value_replace(graph, node->outputs[0], node->inputs[0]) ? 0 : 1;
}

static bool is_identity_transpose(const struct graph_node *node)
{
	uint32_t i;

	for (i = 0; i < node->inputs[0]->rank; i++)
		if (node->attr.transpose.perm[i] != i)
			return false;
	return true;
}

/* Dimensions of more than one element keep their order: the data does not move. */
static bool moves_nothing(const struct graph_node *node)
{
	int64_t last = -1;
	uint32_t i;

	for (i = 0; i < node->inputs[0]->rank; i++) {
		int64_t from = node->attr.transpose.perm[i];

		if (node->inputs[0]->dims[from] == 1)
			continue;
		if (from < last)
			return false;
		last = from;
	}
	return true;
}

static void become_reshape(struct graph_node *node)
{
	memset(&node->attr, 0, sizeof(node->attr));
	node->op = GRAPH_OP_RESHAPE;
}

static uint32_t simplify_transpose(struct graph *graph, struct graph_node *node)
{
	struct graph_node *before = match_op(node->inputs[0], GRAPH_OP_TRANSPOSE);
	int64_t perm[GRAPH_MAX_RANK];
	uint32_t i;

	if (is_identity_transpose(node))
		return bypass(graph, node);
	if (moves_nothing(node)) {
		become_reshape(node);
		return 1;
	}
	if (!before)
		return 0;
	for (i = 0; i < node->inputs[0]->rank; i++)
		perm[i] = before->attr.transpose.perm[node->attr.transpose.perm[i]];
	if (graph_node_set_input(graph, node, 0, before->inputs[0]))
		return 0;
	memcpy(node->attr.transpose.perm, perm, node->inputs[0]->rank * sizeof(perm[0]));
	node->merged++;
	return 1;
}

static uint32_t simplify_reshape(struct graph *graph, struct graph_node *node)
{
	struct graph_node *before = match_op(node->inputs[0], GRAPH_OP_RESHAPE);

	if (graph_shape_equal(node->inputs[0], node->outputs[0]))
		return bypass(graph, node);
	if (!before || graph_node_set_input(graph, node, 0, before->inputs[0]))
		return 0;
	node->merged++;
	return 1;
}

static uint32_t simplify_view(struct graph *graph, struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
		return simplify_transpose(graph, node);
	case GRAPH_OP_RESHAPE:
		return simplify_reshape(graph, node);
	case GRAPH_OP_CAST:
		return node->inputs[0]->dtype == node->outputs[0]->dtype ? bypass(graph, node) : 0;
	case GRAPH_OP_EXPAND:
	case GRAPH_OP_TILE:
		if (graph_shape_equal(node->inputs[0], node->outputs[0]))
			return bypass(graph, node);
		return 0;
	default:
		return 0;
	}
}

uint32_t fuse_views(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following) count += simplify_view(graph, node);
	return count;
}

/* Rows and columns only, growing only, filled with what the window would see as nothing. */
static bool pads_plane(const struct graph_node *pad, double fill)
{
	const struct graph_attr_pad *attr = &pad->attr.pad;
	uint32_t i;

	if (attr->mode != GRAPH_PAD_CONSTANT || (double)attr->value != fill ||
	    pad->inputs[0]->rank != 4)
		return false;
	for (i = 0; i < 4; i++)
		if (attr->begin[i] < 0 || attr->end[i] < 0 ||
		    (i < 2 && (attr->begin[i] || attr->end[i])))
			return false;
	return true;
}

static struct graph_window *padded_window(struct graph_node *node, double *fill)
{
	*fill = 0;
	if (node->op == GRAPH_OP_CONV)
		return &node->attr.conv.window;
	if (node->op != GRAPH_OP_POOL || node->attr.pool.global)
		return NULL;
	if (node->attr.pool.kind == GRAPH_POOL_MAX) {
		*fill = -INFINITY;
		return &node->attr.pool.window;
	}
	/* Zeros of an average are counted, as its own pads may not be. */
	if (node->attr.pool.kind == GRAPH_POOL_AVERAGE &&
	    (node->attr.pool.count_include_pad ||
	     (!node->attr.pool.window.pad_begin[0] && !node->attr.pool.window.pad_begin[1] &&
	      !node->attr.pool.window.pad_end[0] && !node->attr.pool.window.pad_end[1])))
		return &node->attr.pool.window;
	return NULL;
}

static uint32_t absorb_pad(struct graph *graph, struct graph_node *node)
{
	struct graph_node *pad = match_op(node->inputs[0], GRAPH_OP_PAD);
	struct graph_window *window, wider;
	uint32_t i;
	double fill;

	window = pad ? padded_window(node, &fill) : NULL;
	if (!window || !pads_plane(pad, fill) || !graph_single_user(node->inputs[0]))
		return 0;
	wider = *window;
	for (i = 0; i < 2; i++) {
		wider.pad_begin[i] += pad->attr.pad.begin[2 + i];
		wider.pad_end[i] += pad->attr.pad.end[2 + i];
	}
	if (!graph_window_valid(&wider))
		return 0;
	/* A pool that ends beyond its pads would count differently. */
	for (i = 0; i < 2 && node->op == GRAPH_OP_POOL; i++)
		if (graph_window_output(&wider, i, pad->inputs[0]->dims[2 + i], false) !=
		    node->outputs[0]->dims[2 + i])
			return 0;
	if (graph_node_set_input(graph, node, 0, pad->inputs[0]))
		return 0;
	*window = wider;
	if (node->op == GRAPH_OP_POOL && node->attr.pool.kind == GRAPH_POOL_AVERAGE)
		node->attr.pool.count_include_pad = true;
	node->merged += 1 + pad->merged;
	return 1;
}

uint32_t fuse_pad(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0;

	graph_for_each_node(graph, node,
			    following) if (node->op == GRAPH_OP_CONV || node->op == GRAPH_OP_POOL)
		count += absorb_pad(graph, node);
	return count;
}

/* A transpose of the last two dimensions only. */
static bool swaps_last_two(const struct graph_node *node)
{
	uint32_t rank = node->outputs[0]->rank, i;

	for (i = 0; i + 2 < rank; i++)
		if (node->attr.transpose.perm[i] != i)
			return false;
	return rank >= 2 && node->attr.transpose.perm[rank - 1] == rank - 2;
}

/*
 * A transpose that takes the innermost dimension away, for one matrix product:
 * with its last two dimensions left in order it moves whole rows, and the
 * product reads them the other way.
 */
static bool keep_rows_whole(struct graph_node *node)
{
	uint32_t rank = node->outputs[0]->rank;
	int64_t *perm = node->attr.transpose.perm, *dims = node->outputs[0]->dims, swap;

	if (rank < 2 || perm[rank - 2] != rank - 1 || !graph_single_user(node->outputs[0]))
		return false;
	swap = perm[rank - 2];
	perm[rank - 2] = perm[rank - 1];
	perm[rank - 1] = swap;
	swap = dims[rank - 2];
	dims[rank - 2] = dims[rank - 1];
	dims[rank - 1] = swap;
	return true;
}

static uint32_t absorb_transpose(struct graph *graph, struct graph_node *node, uint32_t side)
{
	bool *flag = side ? &node->attr.matmul.transpose_b : &node->attr.matmul.transpose_a;
	struct graph_node *transpose = match_op(node->inputs[side], GRAPH_OP_TRANSPOSE);

	if (!transpose)
		return 0;
	if (swaps_last_two(transpose)) {
		if (graph_node_set_input(graph, node, side, transpose->inputs[0]))
			return 0;
		node->merged++;
	} else if (!keep_rows_whole(transpose)) {
		return 0;
	}
	*flag = !*flag;
	return 1;
}

uint32_t fuse_transpose(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0, side;

	graph_for_each_node(graph, node,
			    following) for (side = 0; side < 2 && node->op == GRAPH_OP_MATMUL;
					    side++) count += absorb_transpose(graph, node, side);
	return count;
}
