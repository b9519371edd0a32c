// SPDX-License-Identifier: MIT
/*
 * LayerNorm, written out by exporters as mean, difference, square, mean, root
 * and quotient, back to one node; then its scale and bias.
 */
#include <math.h>
#include <string.h>

#include "fuse.h"
#include "match.h"

/* The axes of a mean that keeps its dimensions, when they are all from one on. */
static bool trailing_axes(const struct graph_node *mean, int64_t *axis)
{
	uint32_t rank = mean->inputs[0]->rank, first = 0, axes = mean->attr.reduce.axes;

	if (mean->attr.reduce.kind != GRAPH_REDUCE_MEAN || !mean->attr.reduce.keep_dims || !axes)
		return false;
	while (!(axes >> first & 1))
		first++;
	*axis = first;
	return axes == ((1u << rank) - 1) - ((1u << first) - 1);
}

/* @value is x - mean(x); gives x and the axis. */
static bool is_centred(const struct graph_value *value, struct graph_value **x, int64_t *axis)
{
	struct graph_node *sub = match_eltwise(value, GRAPH_ELTWISE_SUB), *mean;

	if (!sub)
		return false;
	mean = match_op(sub->inputs[1], GRAPH_OP_REDUCE);
	if (!mean || mean->inputs[0] != sub->inputs[0] || !trailing_axes(mean, axis))
		return false;
	*x = sub->inputs[0];
	return true;
}

/* @value is a square; gives what of. */
static struct graph_value *squared(const struct graph_value *value)
{
	struct graph_node *node = match_activation(value, GRAPH_ACTIVATION_SQUARE);

	if (node)
		return node->inputs[0];
	node = match_eltwise(value, GRAPH_ELTWISE_MUL);
	return node && node->inputs[0] == node->inputs[1] ? node->inputs[0] : NULL;
}

/*
 * @value is mean(square(d)) + epsilon for a d that is centred; or for any d,
 * which is RMSNorm.
 */
static bool is_variance(struct graph_value *value, struct graph_value **d, int64_t *axis,
			float *epsilon)
{
	struct match_linear linear;
	struct graph_node *mean;

	match_linear_value(value, &linear);
	if (!match_close(linear.scale, 1) || linear.shift < 0)
		return false;
	*epsilon = (float)linear.shift;
	mean = match_op(linear.x, GRAPH_OP_REDUCE);
	if (!mean || !trailing_axes(mean, axis))
		return false;
	*d = squared(mean->inputs[0]);
	return *d != NULL;
}

/* The node divides d by its deviation: gives d and the variance under the root. */
static bool is_normalised(const struct graph_node *node, struct graph_value **d,
			  struct graph_value **variance)
{
	struct graph_node *root, *inverse;
	uint32_t side;

	if (node->op != GRAPH_OP_ELTWISE || node->activation.kind != GRAPH_ACTIVATION_NONE)
		return false;
	if (node->attr.eltwise == GRAPH_ELTWISE_DIV) {
		root = match_activation(node->inputs[1], GRAPH_ACTIVATION_SQRT);
		*d = node->inputs[0];
		*variance = root ? root->inputs[0] : NULL;
		return root != NULL;
	}
	for (side = 0; side < 2 && node->attr.eltwise == GRAPH_ELTWISE_MUL; side++) {
		*d = node->inputs[1 - side];
		root = match_activation(node->inputs[side], GRAPH_ACTIVATION_RSQRT);
		inverse = match_activation(node->inputs[side], GRAPH_ACTIVATION_RECIPROCAL);
		if (!root && inverse)
			root = match_activation(inverse->inputs[0], GRAPH_ACTIVATION_SQRT);
		*variance = root ? root->inputs[0] : NULL;
		if (root)
			return true;
	}
	return false;
}

static uint32_t become_layernorm(struct graph *graph, struct graph_node *node,
				 struct graph_value *x, int64_t axis, float epsilon, bool rms)
{
	if (graph_node_resize_inputs(graph, node, 3) || graph_node_set_input(graph, node, 0, x) ||
	    graph_node_set_input(graph, node, 1, NULL) ||
	    graph_node_set_input(graph, node, 2, NULL))
		return 0;
	memset(&node->attr, 0, sizeof(node->attr));
	node->op = GRAPH_OP_LAYERNORM;
	node->attr.norm.axis = axis;
	node->attr.norm.epsilon = epsilon;
	node->attr.norm.rms = rms;
	node->merged += rms ? 4 : 6;
	return 1;
}

static uint32_t match_layernorm(struct graph *graph, struct graph_node *node)
{
	struct graph_value *d, *under, *variance, *x, *other;
	int64_t axis, centre_axis, other_axis;
	float epsilon;

	if (!is_normalised(node, &d, &under) || !is_variance(under, &variance, &axis, &epsilon))
		return 0;
	if (!is_centred(d, &x, &centre_axis)) {
		/* Without the mean, of the very same tensor: RMSNorm. */
		if (variance != d)
			return 0;
		return become_layernorm(graph, node, d, axis, epsilon, true);
	}
	/* Some exporters compute the difference twice. */
	if (variance != d &&
	    (!is_centred(variance, &other, &other_axis) || other != x || other_axis != centre_axis))
		return 0;
	if (axis != centre_axis)
		return 0;
	return become_layernorm(graph, node, x, axis, epsilon, false);
}

/* A constant of the normalised dimensions only. */
static bool is_parameter(const struct graph_value *value, const struct graph_node *norm)
{
	const struct graph_value *y = norm->outputs[0];
	uint32_t lead, i, axis = (uint32_t)norm->attr.norm.axis;

	if (!graph_is_constant(value) || value->dtype != y->dtype || value->rank > y->rank)
		return false;
	lead = y->rank - value->rank;
	for (i = 0; i < value->rank; i++)
		if (value->dims[i] != 1 && (lead + i < axis || value->dims[i] != y->dims[lead + i]))
			return false;
	return true;
}

/* The normalised dimensions of a parameter, without leading ones. */
static struct graph_value *parameter(struct graph *graph, const struct graph_value *value,
				     const struct graph_node *norm)
{
	const struct graph_value *y = norm->outputs[0];
	uint32_t tail = y->rank - (uint32_t)norm->attr.norm.axis, skip;

	skip = value->rank > tail ? value->rank - tail : 0;
	return graph_constant_new(graph, value->name, value->dtype, value->rank - skip,
				  value->dims + skip, value->data);
}

static uint32_t absorb_parameter(struct graph *graph, struct graph_node *node)
{
	uint32_t slot = node->attr.eltwise == GRAPH_ELTWISE_MUL ? 1 : 2, side;
	struct graph_value *value;
	struct graph_node *norm = NULL;

	for (side = 0; side < 2 && !norm; side++) {
		norm = match_op(node->inputs[side], GRAPH_OP_LAYERNORM);
		if (norm && (!graph_single_user(node->inputs[side]) ||
			     !is_parameter(node->inputs[1 - side], norm) || norm->inputs[slot] ||
			     (slot == 1 && norm->inputs[2])))
			norm = NULL;
	}
	if (!norm || !graph_shape_equal(norm->outputs[0], node->outputs[0]))
		return 0;
	value = parameter(graph, node->inputs[2 - side], norm);
	if (!value || graph_node_set_input(graph, norm, slot, value))
		return 0;
	fuse_take_output(graph, norm, node);
	return 1;
}

uint32_t fuse_norm(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0, done;

	graph_for_each_node(graph, node, following)
	{
		if (node->op != GRAPH_OP_ELTWISE || node->activation.kind != GRAPH_ACTIVATION_NONE)
			continue;
		done = match_layernorm(graph, node);
		if (!done && (node->attr.eltwise == GRAPH_ELTWISE_MUL ||
			      node->attr.eltwise == GRAPH_ELTWISE_ADD))
			done = absorb_parameter(graph, node);
		count += done;
	}
	return count;
}
