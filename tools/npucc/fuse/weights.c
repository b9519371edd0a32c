// SPDX-License-Identifier: MIT
/* Arithmetic with constants into the weights and bias of what makes its input. */
#include <stdlib.h>

#include "../fold/eval.h"
#include "fuse.h"
#include "match.h"

/* A weighted node whose sums nothing else sees. */
static struct graph_node *absorbing_producer(const struct graph_value *x)
{
	struct graph_node *node = x ? x->producer : NULL;

	if (!node || !match_weighted(node) || !graph_single_user(x) ||
	    node->activation.kind != GRAPH_ACTIVATION_NONE)
		return NULL;
	if (node->input_count > GRAPH_IN_RESIDUAL && node->inputs[GRAPH_IN_RESIDUAL])
		return NULL;
	return node;
}

/* Scale and shift by channel of @node acting on @like (its input @side). */
static bool eltwise_by_channel(const struct graph_node *node, uint32_t side, uint32_t dim,
			       float *scale, float *shift)
{
	const struct graph_value *like = node->inputs[side], *other = node->inputs[1 - side];
	int64_t channels = like->dims[dim], c;
	bool add =
		node->attr.eltwise == GRAPH_ELTWISE_ADD || node->attr.eltwise == GRAPH_ELTWISE_SUB;
	float *numbers = add ? shift : scale;

	if (!graph_shape_equal(like, node->outputs[0]) ||
	    !match_channels(other, like, dim, numbers))
		return false;
	for (c = 0; c < channels; c++) {
		if (add)
			scale[c] = 1;
		else
			shift[c] = 0;
		if (node->attr.eltwise == GRAPH_ELTWISE_SUB && side == 0)
			shift[c] = -shift[c];
		if (node->attr.eltwise == GRAPH_ELTWISE_SUB && side == 1)
			scale[c] = -1;
		if (node->attr.eltwise == GRAPH_ELTWISE_DIV) {
			if (side == 1 || scale[c] == 0)
				return false;
			scale[c] = 1 / scale[c];
		}
	}
	return true;
}

static uint32_t absorb(struct graph *graph, struct graph_node *node, struct graph_node *producer,
		       const float *scale, const float *shift)
{
	if (!fuse_scale_weights(graph, producer, scale, shift))
		return 0;
	fuse_take_output(graph, producer, node);
	return 1;
}

static uint32_t absorb_eltwise(struct graph *graph, struct graph_node *node)
{
	struct graph_node *producer = NULL;
	uint32_t side, done = 0, dim;
	float *numbers;

	for (side = 0; side < 2 && !producer; side++)
		if (graph_is_constant(node->inputs[1 - side]))
			producer = absorbing_producer(node->inputs[side]);
	if (!producer)
		return 0;
	side--;
	dim = match_channel_dim(producer);
	numbers = calloc((size_t)node->inputs[side]->dims[dim] * 2 + 1, sizeof(*numbers));
	if (!numbers) {
		graph->out_of_memory = true;
		return 0;
	}
	if (eltwise_by_channel(node, side, dim, numbers, numbers + node->inputs[side]->dims[dim]))
		done = absorb(graph, node, producer, numbers,
			      numbers + node->inputs[side]->dims[dim]);
	free(numbers);
	return done;
}

static uint32_t absorb_batchnorm(struct graph *graph, struct graph_node *node)
{
	struct graph_node *producer = absorbing_producer(node->inputs[0]);
	int64_t channels = node->inputs[0]->dims[1], c;
	float *numbers;
	uint32_t done;

	if (!producer || match_channel_dim(producer) != 1 || !graph_is_constant(node->inputs[1]) ||
	    !graph_is_constant(node->inputs[2]))
		return 0;
	numbers = calloc((size_t)channels * 2 + 1, sizeof(*numbers));
	if (!numbers) {
		graph->out_of_memory = true;
		return 0;
	}
	for (c = 0; c < channels; c++) {
		numbers[c] = graph_constant_as_f32(node->inputs[1], c);
		numbers[channels + c] = graph_constant_as_f32(node->inputs[2], c);
	}
	done = absorb(graph, node, producer, numbers, numbers + channels);
	free(numbers);
	return done;
}

static bool is_plain_eltwise(const struct graph_node *node, enum graph_eltwise_kind a,
			     enum graph_eltwise_kind b)
{
	return node->op == GRAPH_OP_ELTWISE && node->activation.kind == GRAPH_ACTIVATION_NONE &&
	       (node->attr.eltwise == a || node->attr.eltwise == b);
}

uint32_t fuse_batchnorm(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following)
	{
		if (node->op == GRAPH_OP_BATCHNORM)
			count += absorb_batchnorm(graph, node);
		else if (is_plain_eltwise(node, GRAPH_ELTWISE_MUL, GRAPH_ELTWISE_DIV))
			count += absorb_eltwise(graph, node);
	}
	return count;
}

uint32_t fuse_bias(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0;

	graph_for_each_node(graph, node, following) if (is_plain_eltwise(node, GRAPH_ELTWISE_ADD,
									 GRAPH_ELTWISE_SUB))
		count += absorb_eltwise(graph, node);
	return count;
}

static bool has_pads(const struct graph_window *window)
{
	return window->pad_begin[0] || window->pad_begin[1] || window->pad_end[0] ||
	       window->pad_end[1];
}

/* Sum over the inputs of each output channel's weights: what a shift of the input adds. */
static bool weight_sums(const struct graph_node *node, double factor, float *shift)
{
	const struct graph_value *w = node->inputs[GRAPH_IN_WEIGHT];
	int64_t count = graph_element_count(w), channels = node->outputs[0]->dims[1], i;
	int64_t each = channels ? count / channels : 0;
	double sum = 0;

	if (node->op == GRAPH_OP_MATMUL)
		return false;
	for (i = 0; i < count; i++) {
		sum += eval_load(w->dtype, w->data, i);
		if ((i + 1) % each)
			continue;
		shift[i / each] = (float)(sum * factor);
		sum = 0;
	}
	return true;
}

/* CONV whose only other input is constant reads scale x + shift: into its weights. */
static uint32_t push_forward(struct graph *graph, struct graph_node *node,
			     const struct match_linear *linear)
{
	struct graph_node *user = graph_single_user(node->outputs[0]);
	int64_t channels, c;
	float *numbers;
	uint32_t done = 0;

	if (!user || user->op != GRAPH_OP_CONV || !match_weighted(user) ||
	    user->inputs[0] != node->outputs[0])
		return 0;
	/* A pad is zero after the shift, so a shift cannot pass it. */
	if (linear->shift != 0 && has_pads(&user->attr.conv.window))
		return 0;
	channels = user->outputs[0]->dims[1];
	numbers = calloc((size_t)channels * 2 + 1, sizeof(*numbers));
	if (!numbers) {
		graph->out_of_memory = true;
		return 0;
	}
	if (!weight_sums(user, linear->shift, numbers + channels))
		goto out;
	/* The bias is not scaled: give its part back after the weights are. */
	for (c = 0; c < channels; c++) {
		double bias = 0;

		if (user->input_count > GRAPH_IN_BIAS && user->inputs[GRAPH_IN_BIAS])
			bias = eval_load(user->inputs[GRAPH_IN_BIAS]->dtype,
					 user->inputs[GRAPH_IN_BIAS]->data, c);
		numbers[c] = (float)linear->scale;
		numbers[channels + c] += (float)(bias - bias * (double)numbers[c]);
	}
	if (fuse_scale_weights(graph, user, numbers, numbers + channels) &&
	    !graph_node_set_input(graph, user, 0, linear->x)) {
		user->merged += 1 + node->merged;
		done = 1;
	}
out:
	free(numbers);
	return done;
}

/* Two steps of scalar arithmetic are one; one that does nothing is none. */
static uint32_t merge_linear(struct graph *graph, struct graph_node *node,
			     const struct match_linear *own)
{
	struct graph_node *before = own->x->producer;
	struct match_linear first;

	if (own->scale == 1 && own->shift == 0 &&
	    graph_value_can_replace(node->outputs[0], own->x)) {
		graph_value_replace(graph, node->outputs[0], own->x);
		return 1;
	}
	if (!before || !match_linear_node(before, &first))
		return 0;
	return fuse_become_activation(graph, node, first.x, GRAPH_ACTIVATION_LINEAR,
				      (float)(own->scale * first.scale),
				      (float)(own->scale * first.shift + own->shift));
}

uint32_t fuse_linear(struct graph *graph)
{
	struct graph_node *node, *following;
	struct match_linear linear;
	uint32_t count = 0, done;

	graph_for_each_node(graph, node, following)
	{
		if (!match_linear_node(node, &linear))
			continue;
		done = merge_linear(graph, node, &linear);
		if (!done && !graph->out_of_memory)
			done = push_forward(graph, node, &linear);
		count += done;
	}
	return count;
}
