// SPDX-License-Identifier: MIT
/* Shapes of convolutions, matrix products and pools. */
#include "infer_node.h"

#include <inttypes.h>

/* Large enough for anything real, small enough that products cannot overflow. */
#define WINDOW_LIMIT ((int64_t)1 << 20)

bool graph_window_problem(const struct graph_window *window, struct graph_window_field *problem)
{
	const struct graph_window_field fields[] = {
		{ .name = "kernel", .sizes = window->kernel, .least = 1 },
		{ .name = "stride", .sizes = window->stride, .least = 1 },
		{ .name = "dilation", .sizes = window->dilation, .least = 1 },
		{ .name = "pad before", .sizes = window->pad_begin },
		{ .name = "pad behind", .sizes = window->pad_end },
	};

	for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		for (uint32_t i = 0; i < 2; i++) {
			if (fields[f].sizes[i] >= fields[f].least &&
			    fields[f].sizes[i] <= WINDOW_LIMIT)
				continue;
			*problem = fields[f];
			problem->dimension = i ? "width" : "height";
			problem->value = fields[f].sizes[i];
			problem->most = WINDOW_LIMIT;
			return true;
		}
	return false;
}

bool graph_window_valid(const struct graph_window *window)
{
	struct graph_window_field problem;

	return !graph_window_problem(window, &problem);
}

int64_t graph_window_output(const struct graph_window *window, uint32_t dim, int64_t input,
			    bool ceil)
{
	int64_t extent = (window->kernel[dim] - 1) * window->dilation[dim] + 1;
	int64_t room = input + window->pad_begin[dim] + window->pad_end[dim] - extent;
	int64_t count;

	if (room < 0)
		return 0;
	if (!ceil)
		return room / window->stride[dim] + 1;
	count = (room + window->stride[dim] - 1) / window->stride[dim] + 1;
	if ((count - 1) * window->stride[dim] >= input + window->pad_begin[dim])
		count--;
	return count;
}

static int infer_bias(const struct graph_node *node, struct diag *diag, int64_t channels)
{
	const struct graph_value *bias;
	char text[GRAPH_SHAPE_TEXT];

	if (node->input_count <= GRAPH_IN_BIAS || !node->inputs[GRAPH_IN_BIAS])
		return 0;
	bias = node->inputs[GRAPH_IN_BIAS];
	if (bias->rank == 1 && bias->dims[0] == channels)
		return 0;
	return infer_bad(node, diag,
			 "the bias has shape %s, %" PRId64
			 " elements are needed; give it one a channel",
			 graph_format_shape(bias, text), channels);
}

static int infer_residual(const struct graph_node *node, struct diag *diag,
			  const struct graph_value *result)
{
	const struct graph_value *residual;

	if (node->input_count <= GRAPH_IN_RESIDUAL || !node->inputs[GRAPH_IN_RESIDUAL])
		return 0;
	residual = node->inputs[GRAPH_IN_RESIDUAL];
	if ((node->quant || residual->dtype == result->dtype) &&
	    graph_shape_equal(residual, result))
		return 0;
	return infer_bad(node, diag,
			 "the residual input does not have the output's shape and type");
}

/* A kernel that its weights have, every size in range. */
static int check_window(const struct graph_node *node, struct diag *diag,
			const struct graph_window *window, const struct graph_value *weights)
{
	struct graph_window_field problem;

	if (graph_window_problem(window, &problem))
		return infer_bad(node, diag,
				 "%s %s is %" PRId64 ", %" PRId64 " to %" PRId64
				 " is supported; correct the attribute",
				 problem.name, problem.dimension, problem.value, problem.least,
				 problem.most);
	if (weights &&
	    (window->kernel[0] != weights->dims[2] || window->kernel[1] != weights->dims[3]))
		return infer_bad(node, diag,
				 "kernel_shape is %" PRId64 "x%" PRId64
				 ", that of the weights, %" PRId64 "x%" PRId64
				 ", is needed; leave kernel_shape out",
				 window->kernel[0], window->kernel[1], weights->dims[2],
				 weights->dims[3]);
	return 0;
}

/* The window must fit its padded input. */
static int refuse_extent(const struct graph_node *node, struct diag *diag,
			 const struct graph_window *window, const struct graph_value *x)
{
	int64_t extent[2], room[2];

	for (uint32_t i = 0; i < 2; i++) {
		extent[i] = (window->kernel[i] - 1) * window->dilation[i] + 1;
		room[i] = x->dims[2 + i] + window->pad_begin[i] + window->pad_end[i];
	}
	return infer_bad(node, diag,
			 "the window spans %" PRId64 "x%" PRId64
			 ", at most the padded input's %" PRId64 "x%" PRId64
			 " is supported; give a larger input or more pads",
			 extent[0], extent[1], room[0], room[1]);
}

int infer_conv(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[GRAPH_IN_X], *w = node->inputs[GRAPH_IN_WEIGHT];
	const struct graph_attr_conv *conv = &node->attr.conv;
	int64_t dims[4];
	uint32_t i;

	if (infer_need_rank(node, diag, 0, 4) || infer_need_rank(node, diag, 1, 4))
		return -1;
	if (check_window(node, diag, &conv->window, w))
		return -1;
	if (conv->group < 1 || x->dims[1] % conv->group || w->dims[0] % conv->group ||
	    x->dims[1] / conv->group != w->dims[1])
		return infer_bad(node, diag,
				 "group is %" PRId64 " for %" PRId64
				 " input channels, weights of %" PRId64 " outputs and %" PRId64
				 " inputs each need another; correct group or the weights",
				 conv->group, x->dims[1], w->dims[0], w->dims[1]);
	dims[0] = x->dims[0];
	dims[1] = w->dims[0];
	for (i = 0; i < 2; i++) {
		dims[2 + i] = graph_window_output(&conv->window, i, x->dims[2 + i], false);
		if (dims[2 + i] < 1)
			return refuse_extent(node, diag, &conv->window, x);
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return infer_bias(node, diag, dims[1]) ? -1 : infer_residual(node, diag, result);
}

int infer_convtranspose(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_value *x = node->inputs[GRAPH_IN_X], *w = node->inputs[GRAPH_IN_WEIGHT];
	const struct graph_attr_conv *conv = &node->attr.conv;
	const struct graph_window *window = &conv->window;
	int64_t dims[4];
	uint32_t i;

	if (infer_need_rank(node, diag, 0, 4) || infer_need_rank(node, diag, 1, 4))
		return -1;
	if (check_window(node, diag, window, w))
		return -1;
	if (conv->group < 1 || x->dims[1] != w->dims[0] || x->dims[1] % conv->group)
		return infer_bad(node, diag,
				 "group is %" PRId64 " for %" PRId64
				 " input channels, weights of %" PRId64
				 " inputs need another; correct group or the weights",
				 conv->group, x->dims[1], w->dims[0]);
	if (w->dims[1] > ((int64_t)1 << 40) / conv->group)
		return infer_bad(node, diag,
				 "output channels are %" PRId64 " times %" PRId64
				 ", at most 2^40 are supported; correct group",
				 w->dims[1], conv->group);
	dims[0] = x->dims[0];
	dims[1] = w->dims[1] * conv->group;
	for (i = 0; i < 2; i++) {
		if (conv->output_padding[i] < 0 || conv->output_padding[i] > WINDOW_LIMIT)
			return infer_bad(node, diag,
					 "output_padding is %" PRId64 ", 0 to %" PRId64
					 " is supported; correct the attribute",
					 conv->output_padding[i], WINDOW_LIMIT);
		dims[2 + i] = (x->dims[2 + i] - 1) * window->stride[i] +
			      (window->kernel[i] - 1) * window->dilation[i] + 1 -
			      window->pad_begin[i] - window->pad_end[i] + conv->output_padding[i];
		if (dims[2 + i] < 1)
			return infer_bad(node, diag,
					 "output %s is %" PRId64 ", at least 1 is needed; pad less",
					 i ? "width" : "height", dims[2 + i]);
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return infer_bias(node, diag, dims[1]) ? -1 : infer_residual(node, diag, result);
}

int infer_matmul(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *a = node->inputs[0], *b = node->inputs[1];
	const struct graph_attr_matmul *matmul = &node->attr.matmul;
	char text_a[GRAPH_SHAPE_TEXT], text_b[GRAPH_SHAPE_TEXT];
	struct graph_value lead_a = *a, lead_b = *b;
	int64_t m, n, depth_a, depth_b;

	if (a->rank < 2 || b->rank < 2)
		return infer_bad(node, diag,
				 "operands have %" PRIu32 " and %" PRIu32
				 " dimensions, at least 2 are needed; put a Reshape before them",
				 a->rank, b->rank);
	m = a->dims[a->rank - (matmul->transpose_a ? 1 : 2)];
	depth_a = a->dims[a->rank - (matmul->transpose_a ? 2 : 1)];
	depth_b = b->dims[b->rank - (matmul->transpose_b ? 1 : 2)];
	n = b->dims[b->rank - (matmul->transpose_b ? 2 : 1)];
	lead_a.rank -= 2;
	lead_b.rank -= 2;
	if (depth_a != depth_b || graph_broadcast(&lead_a, &lead_b, result))
		return infer_bad(
			node, diag,
			"operands have shapes %s%s and %s%s, the last dimension of the first and the last but "
			"one of the second have to be the same; correct the model's shapes",
			graph_format_shape(a, text_a), matmul->transpose_a ? " (transposed)" : "",
			graph_format_shape(b, text_b), matmul->transpose_b ? " (transposed)" : "");
	result->dims[result->rank++] = m;
	result->dims[result->rank++] = n;
	result->dtype = a->dtype;
	return infer_bias(node, diag, n) ? -1 : infer_residual(node, diag, result);
}

int infer_pool(const struct graph_node *node, struct diag *diag, const struct graph_value *stated,
	       struct graph_value *result)
{
	const struct graph_attr_pool *pool = &node->attr.pool;
	const struct graph_value *x = node->inputs[0];
	int64_t dims[4];
	uint32_t i;

	if (infer_need_rank(node, diag, 0, 4))
		return -1;
	if (check_window(node, diag, &pool->window, NULL))
		return -1;
	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	for (i = 0; i < 2; i++) {
		int64_t least = graph_window_output(&pool->window, i, x->dims[2 + i], false);
		int64_t most = graph_window_output(&pool->window, i, x->dims[2 + i], true);

		dims[2 + i] = stated->has_rank && stated->rank == 4 ? stated->dims[2 + i] : least;
		if (least < 1)
			return refuse_extent(node, diag, &pool->window, x);
		if ((dims[2 + i] < least && dims[2 + i] < most) ||
		    (dims[2 + i] > most && dims[2 + i] > least))
			return infer_bad(node, diag,
					 "output %s is %" PRId64 ", its windows make %" PRId64
					 " or %" PRId64 "; correct ceil_mode or the pads",
					 i ? "width" : "height", dims[2 + i], least, most);
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return 0;
}
