// SPDX-License-Identifier: MIT
/* Convolutions, matrix products, pools. */
#include <inttypes.h>
#include <string.h>

#include "../graph/infer.h"
#include "import.h"

enum auto_pad {
	AUTO_PAD_NONE,
	AUTO_PAD_UPPER,
	AUTO_PAD_LOWER,
	AUTO_PAD_VALID,
};

static enum auto_pad read_auto_pad(const struct import_node *in)
{
	if (import_attribute_is(in, "auto_pad", "SAME_UPPER"))
		return AUTO_PAD_UPPER;
	if (import_attribute_is(in, "auto_pad", "SAME_LOWER"))
		return AUTO_PAD_LOWER;
	if (import_attribute_is(in, "auto_pad", "VALID"))
		return AUTO_PAD_VALID;
	return AUTO_PAD_NONE;
}

/* A list attribute with one entry a spatial dimension; @otherwise when absent. */
static int spatial_list(struct import_node *in, const char *name, uint32_t spatial,
			int64_t otherwise, int64_t list[2])
{
	const struct onnx_attribute *attribute = import_attribute(in, name);
	uint32_t lead = 2 - spatial, i;

	list[0] = otherwise;
	list[1] = otherwise;
	if (!attribute || !attribute->int_count)
		return 0;
	if (attribute->int_count != spatial)
		return import_error(in,
				    "attribute '%s' has %" PRIu32 " entries, %" PRIu32
				    " are needed; state one for each spatial dimension",
				    name, attribute->int_count, spatial);
	for (i = 0; i < spatial; i++)
		list[lead + i] = attribute->ints[i];
	return 0;
}

static int read_pads(struct import_node *in, uint32_t spatial, struct graph_window *window)
{
	const struct onnx_attribute *pads = import_attribute(in, "pads");
	uint32_t lead = 2 - spatial, i;

	if (!pads || !pads->int_count)
		return 0;
	if (pads->int_count != 2 * spatial)
		return import_error(in,
				    "attribute 'pads' has %" PRIu32 " entries, %" PRIu32
				    " are needed; state two for each spatial dimension",
				    pads->int_count, 2 * spatial);
	for (i = 0; i < spatial; i++) {
		window->pad_begin[lead + i] = pads->ints[i];
		window->pad_end[lead + i] = pads->ints[spatial + i];
	}
	return 0;
}

/* Kernel (from @kernel unless stated), strides, dilations and pads; auto_pad is the caller's. */
static int read_window(struct import_node *in, uint32_t spatial, const int64_t kernel[2],
		       struct graph_window *window)
{
	struct graph_window_field problem;
	uint32_t i;

	if (spatial_list(in, "kernel_shape", spatial, 0, window->kernel) ||
	    spatial_list(in, "strides", spatial, 1, window->stride) ||
	    spatial_list(in, "dilations", spatial, 1, window->dilation) ||
	    read_pads(in, spatial, window))
		return -1;
	for (i = 0; i < 2; i++) {
		if (spatial == 1 && i == 0) {
			window->kernel[0] = 1;
			window->stride[0] = 1;
			window->dilation[0] = 1;
		} else if (!window->kernel[i] && kernel) {
			window->kernel[i] = kernel[i];
		}
	}
	if (graph_window_problem(window, &problem))
		return import_error(in,
				    "%s %s is %" PRId64 ", %" PRId64 " to %" PRId64
				    " is supported; correct the attribute",
				    problem.name, problem.dimension, problem.value, problem.least,
				    problem.most);
	return 0;
}

/* Pads so that the output is input / stride, rounded up. */
static void pad_same(struct graph_window *window, const int64_t input[2], bool upper)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		int64_t extent = (window->kernel[i] - 1) * window->dilation[i] + 1;
		int64_t output = (input[i] + window->stride[i] - 1) / window->stride[i];
		int64_t total = (output - 1) * window->stride[i] + extent - input[i];

		if (total < 0)
			total = 0;
		window->pad_begin[i] = upper ? total / 2 : total - total / 2;
		window->pad_end[i] = total - window->pad_begin[i];
	}
}

static void resolve_auto_pad(const struct import_node *in, struct graph_window *window,
			     const int64_t input[2])
{
	enum auto_pad mode = read_auto_pad(in);

	if (mode == AUTO_PAD_NONE)
		return;
	memset(window->pad_begin, 0, sizeof(window->pad_begin));
	memset(window->pad_end, 0, sizeof(window->pad_end));
	if (mode != AUTO_PAD_VALID)
		pad_same(window, input, mode == AUTO_PAD_UPPER);
}

/* [A,B,L] as [A,B,1,L]: the device works on planes. */
static struct graph_value *lift(struct import_node *in, struct graph_value *x)
{
	int64_t dims[4] = { x->dims[0], x->dims[1], 1, x->dims[2] };

	return x->rank == 3 ? import_reshape(in, x, 4, dims) : x;
}

static struct graph_value *unlift(struct import_node *in, struct graph_value *y, uint32_t rank)
{
	int64_t dims[3];

	if (!y || rank == 4)
		return y;
	dims[0] = y->dims[0];
	dims[1] = y->dims[1];
	dims[2] = y->dims[3];
	return import_reshape(in, y, 3, dims);
}

static int check_planes(struct import_node *in, const struct graph_value *x,
			const struct graph_value *w)
{
	char text[GRAPH_SHAPE_TEXT];

	if (!x || !w)
		return import_missing(in, 2);
	if (x->rank > 4)
		return import_unknown(
			in,
			"its input has shape %s, at most 4 dimensions are supported; use convolutions over "
			"one or two dimensions",
			graph_format_shape(x, text));
	if (x->rank < 3 || w->rank != x->rank)
		return import_error(
			in,
			"its input has shape %s and its weights have rank %" PRIu32
			", [N,C,H,W] and [M,C/group,kH,kW] are needed; put a Reshape before it",
			graph_format_shape(x, text), w->rank);
	return 0;
}

/* Weights and input lifted, window read: what Conv and ConvTranspose share. */
static int conv_operands(struct import_node *in, struct graph_value *operands[3],
			 struct graph_attr_conv *conv)
{
	struct graph_value *x = import_input(in, 0), *w = import_input(in, 1);
	int result = check_planes(in, x, w);
	uint32_t rank;

	if (result)
		return result;
	rank = x->rank;
	conv->group = import_attribute_int(in, "group", 1);
	operands[0] = lift(in, x);
	operands[1] = lift(in, w);
	operands[2] = import_input(in, 2);
	if (!operands[0] || !operands[1])
		return -1;
	return read_window(in, rank - 2, operands[1]->dims + 2, &conv->window);
}

static int import_conv(struct import_node *in)
{
	struct graph_value *operands[3], *y;
	struct graph_attr_conv conv = { 0 };
	struct graph_node *node;
	int result = conv_operands(in, operands, &conv);

	if (result)
		return result;
	resolve_auto_pad(in, &conv.window, operands[0]->dims + 2);
	node = import_node_new(in, GRAPH_OP_CONV, 3, operands, 1);
	if (!node)
		return -1;
	node->attr.conv = conv;
	y = import_finish(in, node);
	return import_result(in, 0, unlift(in, y, in->inputs[0]->rank));
}

/* ConvTranspose may state its output instead of its pads. */
static int transposed_pads(struct import_node *in, uint32_t spatial, const int64_t *input,
			   struct graph_attr_conv *conv)
{
	enum auto_pad mode = read_auto_pad(in);
	struct graph_window *window = &conv->window;
	int64_t wanted[2];
	uint32_t i;

	if (spatial_list(in, "output_padding", spatial, 0, conv->output_padding) ||
	    spatial_list(in, "output_shape", spatial, 0, wanted))
		return -1;
	if (spatial == 1)
		conv->output_padding[0] = 0;
	for (i = 2 - spatial; i < 2; i++) {
		int64_t extent = (window->kernel[i] - 1) * window->dilation[i] + 1, total;

		if (mode == AUTO_PAD_VALID) {
			window->pad_begin[i] = 0;
			window->pad_end[i] = 0;
		}
		if (!wanted[i] && (mode == AUTO_PAD_UPPER || mode == AUTO_PAD_LOWER))
			wanted[i] = input[i] * window->stride[i];
		if (!wanted[i])
			continue;
		if (wanted[i] < 0 || wanted[i] > (int64_t)1 << 32)
			return import_error(in,
					    "output_shape is %" PRId64
					    ", 0 to 2^32 is supported; correct the attribute",
					    wanted[i]);
		total = window->stride[i] * (input[i] - 1) + conv->output_padding[i] + extent -
			wanted[i];
		if (total < 0) {
			conv->output_padding[i] -= total;
			total = 0;
		}
		window->pad_begin[i] = mode == AUTO_PAD_UPPER ? total / 2 : total - total / 2;
		window->pad_end[i] = total - window->pad_begin[i];
	}
	return 0;
}

static int import_conv_transpose(struct import_node *in)
{
	struct graph_value *operands[3], *y;
	struct graph_attr_conv conv = { 0 };
	struct graph_node *node;
	int result = conv_operands(in, operands, &conv);

	if (result)
		return result;
	if (transposed_pads(in, in->inputs[0]->rank - 2, operands[0]->dims + 2, &conv))
		return -1;
	node = import_node_new(in, GRAPH_OP_CONVTRANSPOSE, 3, operands, 1);
	if (!node)
		return -1;
	node->attr.conv = conv;
	y = import_finish(in, node);
	return import_result(in, 0, unlift(in, y, in->inputs[0]->rank));
}

static int import_matmul(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1), *operands[2], *y;
	bool vector_a, vector_b;
	struct graph_node *node;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t rank;

	if (!a || !b)
		return import_missing(in, 2);
	if (!a->rank || !b->rank)
		return import_error(in,
				    "operands have %" PRIu32 " and %" PRIu32
				    " dimensions, at least 1 is needed; use Mul for scalars",
				    a->rank, b->rank);
	vector_a = a->rank == 1;
	vector_b = b->rank == 1;
	operands[0] = vector_a ? import_reshape(in, a, 2, (int64_t[]){ 1, a->dims[0] }) : a;
	operands[1] = vector_b ? import_reshape(in, b, 2, (int64_t[]){ b->dims[0], 1 }) : b;
	if (!operands[0] || !operands[1])
		return -1;
	node = import_node_new(in, GRAPH_OP_MATMUL, 2, operands, 1);
	y = import_finish(in, node);
	if (!y || (!vector_a && !vector_b))
		return import_result(in, 0, y);
	rank = y->rank - 2;
	memcpy(dims, y->dims, sizeof(dims));
	if (!vector_a)
		dims[rank++] = y->dims[y->rank - 2];
	if (!vector_b)
		dims[rank++] = y->dims[y->rank - 1];
	return import_result(in, 0, import_reshape(in, y, rank, dims));
}

/* value * factor, folded when the value is constant. */
static struct graph_value *scaled(struct import_node *in, struct graph_value *value, float factor)
{
	struct graph_value *scalar;

	if (!value || factor == 1.0f)
		return value;
	scalar = import_scalar(in, value, factor);
	return scalar ? import_eltwise(in, GRAPH_ELTWISE_MUL, value, scalar) : NULL;
}

/* A constant that has one row for all: the bias [N] of the product. */
static struct graph_value *row_bias(struct import_node *in, struct graph_value *c, int64_t columns)
{
	int64_t count = graph_element_count(c);
	struct graph_node *node;

	if (!graph_is_constant(c) || (count != columns && count != 1) || c->rank > 2 ||
	    (c->rank && c->dims[c->rank - 1] != count))
		return NULL;
	c = import_reshape(in, c, 1, &count);
	if (!c || count == columns)
		return c;
	node = import_node_new(in, GRAPH_OP_EXPAND, 1, &c, 1);
	if (!node || import_stated(in, node, 0, c->dtype, 1, &columns))
		return NULL;
	return import_finish(in, node);
}

static int import_gemm(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1);
	struct graph_value *c = import_input(in, 2), *operands[3], *y;
	float alpha = import_attribute_float(in, "alpha", 1.0f);
	float beta = import_attribute_float(in, "beta", 1.0f);
	static const int64_t swap[2] = { 1, 0 };
	struct graph_node *node;

	if (!a || !b)
		return import_missing(in, 2);
	if (a->rank != 2 || b->rank != 2)
		return import_error(
			in,
			"operands have %" PRIu32 " and %" PRIu32
			" dimensions, 2 are needed; use MatMul, or put a Reshape before it",
			a->rank, b->rank);
	if (import_attribute_int(in, "transA", 0))
		a = import_transpose(in, a, swap);
	if (a && import_attribute_int(in, "transB", 0))
		b = import_transpose(in, b, swap);
	if (!a || !b)
		return -1;
	c = beta == 0.0f ? NULL : scaled(in, c, beta);
	if (graph_is_constant(b)) {
		b = scaled(in, b, alpha);
		alpha = 1.0f;
	}
	if (!b || (!c && import_input(in, 2) && beta != 0.0f))
		return -1;
	operands[0] = a;
	operands[1] = b;
	operands[2] = c && alpha == 1.0f ? row_bias(in, c, b->dims[1]) : NULL;
	if (operands[2])
		c = NULL;
	node = import_node_new(in, GRAPH_OP_MATMUL, 3, operands, 1);
	y = scaled(in, import_finish(in, node), alpha);
	if (y && c)
		y = import_eltwise(in, GRAPH_ELTWISE_ADD, y, c);
	return import_result(in, 0, y);
}

static int finish_pool(struct import_node *in, struct graph_value *x, uint32_t rank,
		       const struct graph_attr_pool *pool, bool ceil)
{
	struct graph_node *node;
	int64_t dims[4];
	uint32_t i;

	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	for (i = 0; i < 2; i++) {
		dims[2 + i] = graph_window_output(&pool->window, i, x->dims[2 + i], ceil);
		if (dims[2 + i] < 1)
			return import_error(
				in,
				"the window of kernel %" PRId64 "x%" PRId64
				" does not fit the padded input, %" PRId64 "x%" PRId64
				" before pads, it has to; give a larger input or more pads",
				pool->window.kernel[0], pool->window.kernel[1], x->dims[2],
				x->dims[3]);
	}
	node = import_node_new(in, GRAPH_OP_POOL, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, 4, dims))
		return -1;
	node->attr.pool = *pool;
	return import_result(in, 0, unlift(in, import_finish(in, node), rank));
}

static int pool(struct import_node *in, enum graph_pool_kind kind)
{
	struct graph_value *x = import_input(in, 0);
	struct graph_attr_pool attr = { .kind = kind };
	uint32_t rank;

	if (import_need_rank(in, 3))
		return -1;
	rank = x->rank;
	if (rank > 4)
		return import_unknown(
			in,
			"its input has %" PRIu32
			" dimensions, at most 4 are supported; pool over one or two at a time",
			rank);
	if (in->onnx->output_count > 1 && in->onnx->outputs[1].size)
		return import_unknown(
			in, "output 1 (the indices) is wanted, only output 0 is supported; do "
			    "without it");
	x = lift(in, x);
	if (!x || read_window(in, rank - 2, NULL, &attr.window))
		return -1;
	attr.count_include_pad = import_attribute_int(in, "count_include_pad", 0) != 0;
	attr.p = import_attribute_int(in, "p", 2);
	resolve_auto_pad(in, &attr.window, x->dims + 2);
	return finish_pool(in, x, rank, &attr, import_attribute_int(in, "ceil_mode", 0) != 0);
}

/* The window is the plane; more than two dimensions are merged into it. */
static int global_pool(struct import_node *in, enum graph_pool_kind kind)
{
	struct graph_value *x = import_input(in, 0), *y;
	struct graph_attr_pool attr = { .kind = kind, .global = true };
	int64_t dims[GRAPH_MAX_RANK];
	struct graph_node *node;
	uint32_t rank, i;

	if (import_need_rank(in, 3))
		return -1;
	rank = x->rank;
	memcpy(dims, x->dims, sizeof(dims));
	if (rank > 4) {
		for (i = 4; i < rank; i++)
			dims[3] *= dims[i];
		x = import_reshape(in, x, 4, dims);
	} else {
		x = lift(in, x);
	}
	if (!x)
		return -1;
	attr.p = import_attribute_int(in, "p", 2);
	for (i = 0; i < 2; i++) {
		attr.window.kernel[i] = x->dims[2 + i];
		attr.window.stride[i] = 1;
		attr.window.dilation[i] = 1;
		dims[2 + i] = 1;
	}
	if (!graph_window_valid(&attr.window))
		return import_error(in,
				    "the plane to pool over is %" PRId64 "x%" PRId64
				    ", 1 to 2^20 each is supported; "
				    "give another shape",
				    x->dims[2], x->dims[3]);
	node = import_node_new(in, GRAPH_OP_POOL, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, 4, dims))
		return -1;
	node->attr.pool = attr;
	y = import_finish(in, node);
	for (i = 2; i < rank; i++)
		dims[i] = 1;
	if (y && rank != 4)
		y = import_reshape(in, y, rank, dims);
	return import_result(in, 0, y);
}

static int import_max_pool(struct import_node *in)
{
	return pool(in, GRAPH_POOL_MAX);
}

static int import_average_pool(struct import_node *in)
{
	return pool(in, GRAPH_POOL_AVERAGE);
}

static int import_lp_pool(struct import_node *in)
{
	return pool(in, GRAPH_POOL_LP);
}

static int import_global_average_pool(struct import_node *in)
{
	return global_pool(in, GRAPH_POOL_AVERAGE);
}

static int import_global_max_pool(struct import_node *in)
{
	return global_pool(in, GRAPH_POOL_MAX);
}

static int import_global_lp_pool(struct import_node *in)
{
	return global_pool(in, GRAPH_POOL_LP);
}

const struct import_operator import_dense_operators[] = {
	{ "Conv", import_conv },
	{ "ConvTranspose", import_conv_transpose },
	{ "MatMul", import_matmul },
	{ "Gemm", import_gemm },
	{ "MaxPool", import_max_pool },
	{ "AveragePool", import_average_pool },
	{ "LpPool", import_lp_pool },
	{ "GlobalAveragePool", import_global_average_pool },
	{ "GlobalMaxPool", import_global_max_pool },
	{ "GlobalLpPool", import_global_lp_pool },
	{ NULL, NULL },
};
