// SPDX-License-Identifier: MIT
#include "infer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Large enough for anything real, small enough that products cannot overflow. */
#define WINDOW_LIMIT ((int64_t)1 << 20)

bool graph_eltwise_is_compare(enum graph_eltwise_kind kind)
{
	return kind >= GRAPH_ELTWISE_EQUAL;
}

bool graph_window_valid(const struct graph_window *window)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (window->kernel[i] < 1 || window->kernel[i] > WINDOW_LIMIT)
			return false;
		if (window->stride[i] < 1 || window->stride[i] > WINDOW_LIMIT)
			return false;
		if (window->dilation[i] < 1 || window->dilation[i] > WINDOW_LIMIT)
			return false;
		if (window->pad_begin[i] < 0 || window->pad_begin[i] > WINDOW_LIMIT)
			return false;
		if (window->pad_end[i] < 0 || window->pad_end[i] > WINDOW_LIMIT)
			return false;
	}
	return true;
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

bool graph_resizes(const struct graph_node *node, uint32_t dim)
{
	const struct graph_attr_resize *resize = &node->attr.resize;

	if (resize->coordinate == GRAPH_COORDINATE_CROP_AND_RESIZE &&
	    (resize->roi_start[dim] != 0 || resize->roi_end[dim] != 1))
		return true;
	return node->inputs[0]->dims[dim] != node->outputs[0]->dims[dim] || resize->scale[dim] != 1;
}

int graph_broadcast(const struct graph_value *a, const struct graph_value *b,
		    struct graph_value *result)
{
	uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t i;

	for (i = 0; i < rank; i++) {
		int64_t from_a = i < rank - a->rank ? 1 : a->dims[i - (rank - a->rank)];
		int64_t from_b = i < rank - b->rank ? 1 : b->dims[i - (rank - b->rank)];

		if (from_a != from_b && from_a != 1 && from_b != 1)
			return -1;
		dims[i] = from_a == 1 ? from_b : from_a;
	}
	graph_value_set_shape(result, rank, dims);
	return 0;
}

__attribute__((format(printf, 3, 4))) static int bad(const struct graph_node *node,
						     struct diag *diag, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_error(diag, "node '%s' (%s): %s", node->name, node->op_type, text);
}

static int need_rank(const struct graph_node *node, struct diag *diag, uint32_t index,
		     uint32_t rank)
{
	const struct graph_value *value = node->inputs[index];
	char text[GRAPH_SHAPE_TEXT];

	if (value->rank == rank)
		return 0;
	return bad(node, diag,
		   "input %" PRIu32 " has shape %s, a tensor of rank %" PRIu32 " is needed", index,
		   graph_format_shape(value, text), rank);
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
	return bad(node, diag, "the bias has shape %s, %" PRId64 " elements are needed",
		   graph_format_shape(bias, text), channels);
}

static int infer_residual(const struct graph_node *node, struct diag *diag,
			  const struct graph_value *result)
{
	const struct graph_value *residual;

	if (node->input_count <= GRAPH_IN_RESIDUAL || !node->inputs[GRAPH_IN_RESIDUAL])
		return 0;
	residual = node->inputs[GRAPH_IN_RESIDUAL];
	if ((node->quant || residual->dtype == result->dtype) && graph_shape_equal(residual, result))
		return 0;
	return bad(node, diag, "the residual input does not have the output's shape and type");
}

static int infer_conv(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[GRAPH_IN_X], *w = node->inputs[GRAPH_IN_WEIGHT];
	const struct graph_attr_conv *conv = &node->attr.conv;
	int64_t dims[4];
	uint32_t i;

	if (need_rank(node, diag, 0, 4) || need_rank(node, diag, 1, 4))
		return -1;
	if (!graph_window_valid(&conv->window) || conv->window.kernel[0] != w->dims[2] ||
	    conv->window.kernel[1] != w->dims[3])
		return bad(node, diag,
			   "kernel, strides, dilations or pads are out of range or do not "
			   "match the weights' %" PRId64 "x%" PRId64,
			   w->dims[2], w->dims[3]);
	if (conv->group < 1 || x->dims[1] % conv->group || w->dims[0] % conv->group ||
	    x->dims[1] / conv->group != w->dims[1])
		return bad(node, diag,
			   "%" PRId64 " input channels in %" PRId64 " groups do not match "
			   "weights for %" PRId64 " outputs of %" PRId64 " inputs each",
			   x->dims[1], conv->group, w->dims[0], w->dims[1]);
	dims[0] = x->dims[0];
	dims[1] = w->dims[0];
	for (i = 0; i < 2; i++) {
		dims[2 + i] = graph_window_output(&conv->window, i, x->dims[2 + i], false);
		if (dims[2 + i] < 1)
			return bad(node, diag,
				   "the kernel is larger than the padded input of %" PRId64
				   "x%" PRId64 "; a larger input is needed",
				   x->dims[2], x->dims[3]);
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return infer_bias(node, diag, dims[1]) ? -1 : infer_residual(node, diag, result);
}

static int infer_convtranspose(const struct graph_node *node, struct diag *diag,
			       struct graph_value *result)
{
	const struct graph_value *x = node->inputs[GRAPH_IN_X], *w = node->inputs[GRAPH_IN_WEIGHT];
	const struct graph_attr_conv *conv = &node->attr.conv;
	const struct graph_window *window = &conv->window;
	int64_t dims[4];
	uint32_t i;

	if (need_rank(node, diag, 0, 4) || need_rank(node, diag, 1, 4))
		return -1;
	if (!graph_window_valid(window) || window->kernel[0] != w->dims[2] ||
	    window->kernel[1] != w->dims[3])
		return bad(node, diag,
			   "kernel, strides, dilations or pads are out of range or do not "
			   "match the weights' %" PRId64 "x%" PRId64,
			   w->dims[2], w->dims[3]);
	if (conv->group < 1 || x->dims[1] != w->dims[0] || x->dims[1] % conv->group)
		return bad(node, diag,
			   "%" PRId64 " input channels in %" PRId64 " groups do not match "
			   "weights for %" PRId64 " inputs",
			   x->dims[1], conv->group, w->dims[0]);
	if (w->dims[1] > ((int64_t)1 << 40) / conv->group)
		return bad(node, diag, "the number of output channels is out of range");
	dims[0] = x->dims[0];
	dims[1] = w->dims[1] * conv->group;
	for (i = 0; i < 2; i++) {
		if (conv->output_padding[i] < 0 || conv->output_padding[i] > WINDOW_LIMIT)
			return bad(node, diag, "output_padding is out of range");
		if (x->dims[2 + i] > (int64_t)1 << 40)
			return bad(node, diag, "the input is too large");
		dims[2 + i] = (x->dims[2 + i] - 1) * window->stride[i] +
			      (window->kernel[i] - 1) * window->dilation[i] + 1 -
			      window->pad_begin[i] - window->pad_end[i] + conv->output_padding[i];
		if (dims[2 + i] < 1)
			return bad(node, diag, "the pads leave nothing of the output");
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return infer_bias(node, diag, dims[1]) ? -1 : infer_residual(node, diag, result);
}

static int infer_matmul(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_value *a = node->inputs[0], *b = node->inputs[1];
	const struct graph_attr_matmul *matmul = &node->attr.matmul;
	char text_a[GRAPH_SHAPE_TEXT], text_b[GRAPH_SHAPE_TEXT];
	struct graph_value lead_a = *a, lead_b = *b;
	int64_t m, n, depth_a, depth_b;

	if (a->rank < 2 || b->rank < 2)
		return bad(node, diag, "both operands need at least two dimensions");
	m = a->dims[a->rank - (matmul->transpose_a ? 1 : 2)];
	depth_a = a->dims[a->rank - (matmul->transpose_a ? 2 : 1)];
	depth_b = b->dims[b->rank - (matmul->transpose_b ? 1 : 2)];
	n = b->dims[b->rank - (matmul->transpose_b ? 2 : 1)];
	lead_a.rank -= 2;
	lead_b.rank -= 2;
	if (depth_a != depth_b || graph_broadcast(&lead_a, &lead_b, result))
		return bad(node, diag, "operands of shape %s%s and %s%s cannot be multiplied",
			   graph_format_shape(a, text_a),
			   matmul->transpose_a ? " (transposed)" : "",
			   graph_format_shape(b, text_b),
			   matmul->transpose_b ? " (transposed)" : "");
	result->dims[result->rank++] = m;
	result->dims[result->rank++] = n;
	result->dtype = a->dtype;
	return infer_bias(node, diag, n) ? -1 : infer_residual(node, diag, result);
}

static int infer_eltwise(const struct graph_node *node, struct diag *diag,
			 struct graph_value *result)
{
	const struct graph_value *a = node->inputs[0], *b = node->inputs[1];
	char text_a[GRAPH_SHAPE_TEXT], text_b[GRAPH_SHAPE_TEXT];

	if (graph_broadcast(a, b, result))
		return bad(node, diag, "shapes %s and %s do not go together",
			   graph_format_shape(a, text_a), graph_format_shape(b, text_b));
	if (a->dtype != b->dtype && node->attr.eltwise != GRAPH_ELTWISE_POW && !node->quant)
		return bad(node, diag,
			   "operands of types %s and %s cannot be combined; insert a Cast",
			   graph_dtype_name(a->dtype), graph_dtype_name(b->dtype));
	result->dtype = graph_eltwise_is_compare(node->attr.eltwise) ? GRAPH_DTYPE_BOOL : a->dtype;
	return 0;
}

static int infer_where(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	struct graph_value both = { 0 };

	if (graph_broadcast(node->inputs[1], node->inputs[2], &both) ||
	    graph_broadcast(node->inputs[0], &both, result))
		return bad(node, diag, "the three shapes do not go together");
	if (node->inputs[0]->dtype != GRAPH_DTYPE_BOOL)
		return bad(node, diag, "the condition is %s, bool is needed",
			   graph_dtype_name(node->inputs[0]->dtype));
	if (node->inputs[1]->dtype != node->inputs[2]->dtype)
		return bad(node, diag, "the two choices differ in type; insert a Cast");
	result->dtype = node->inputs[1]->dtype;
	return 0;
}

static int infer_pool(const struct graph_node *node, struct diag *diag,
		      const struct graph_value *stated, struct graph_value *result)
{
	const struct graph_attr_pool *pool = &node->attr.pool;
	const struct graph_value *x = node->inputs[0];
	int64_t dims[4];
	uint32_t i;

	if (need_rank(node, diag, 0, 4))
		return -1;
	if (!graph_window_valid(&pool->window))
		return bad(node, diag, "kernel, strides, dilations or pads are out of range");
	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	for (i = 0; i < 2; i++) {
		int64_t least = graph_window_output(&pool->window, i, x->dims[2 + i], false);
		int64_t most = graph_window_output(&pool->window, i, x->dims[2 + i], true);

		dims[2 + i] = stated->has_rank && stated->rank == 4 ? stated->dims[2 + i] : least;
		if (least < 1)
			return bad(node, diag,
				   "the window is larger than the padded input of %" PRId64
				   "x%" PRId64 "; a larger input is needed",
				   x->dims[2], x->dims[3]);
		if (dims[2 + i] < least && dims[2 + i] < most)
			return bad(node, diag, "the output is smaller than the windows it holds");
		if (dims[2 + i] > most && dims[2 + i] > least)
			return bad(node, diag, "the output is larger than the windows it holds");
	}
	graph_value_set_shape(result, 4, dims);
	result->dtype = x->dtype;
	return 0;
}

static int infer_reduce(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_attr_reduce *reduce = &node->attr.reduce;
	const struct graph_value *x = node->inputs[0];
	bool index = reduce->kind == GRAPH_REDUCE_ARGMAX || reduce->kind == GRAPH_REDUCE_ARGMIN;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t i, rank = 0;

	if (reduce->axes >> x->rank)
		return bad(node, diag, "an axis is beyond the input's %" PRIu32 " dimensions",
			   x->rank);
	for (i = 0; i < x->rank; i++) {
		bool reduced = reduce->axes >> i & 1;

		if (reduced && x->dims[i] == 0 &&
		    (index || reduce->kind == GRAPH_REDUCE_MAX || reduce->kind == GRAPH_REDUCE_MIN))
			return bad(node, diag, "dimension %" PRIu32 " is empty and has no extreme",
				   i);
		if (!reduced)
			dims[rank++] = x->dims[i];
		else if (reduce->keep_dims)
			dims[rank++] = 1;
	}
	graph_value_set_shape(result, rank, dims);
	result->dtype = index ? GRAPH_DTYPE_I64 : x->dtype;
	return 0;
}

static int infer_transpose(const struct graph_node *node, struct diag *diag,
			   struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t seen = 0, i;

	for (i = 0; i < x->rank; i++) {
		int64_t from = node->attr.transpose.perm[i];

		if (from < 0 || from >= x->rank || (seen >> from & 1))
			return bad(node, diag,
				   "perm is no permutation of the input's %" PRIu32 " dimensions",
				   x->rank);
		seen |= 1u << from;
		dims[i] = x->dims[from];
	}
	graph_value_set_shape(result, x->rank, dims);
	result->dtype = x->dtype;
	return 0;
}

static int infer_concat(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_value *first = node->inputs[0];
	int64_t axis = node->attr.axis.axis;
	uint32_t i, j;

	if (axis < 0 || axis >= first->rank)
		return bad(node, diag,
			   "axis %" PRId64 " is beyond the inputs' %" PRIu32 " dimensions", axis,
			   first->rank);
	graph_value_set_shape(result, first->rank, first->dims);
	result->dtype = first->dtype;
	for (i = 1; i < node->input_count; i++) {
		const struct graph_value *x = node->inputs[i];

		if (x->rank != first->rank || x->dtype != first->dtype)
			return bad(node, diag,
				   "input %" PRIu32 " differs from the first in rank or type", i);
		for (j = 0; j < x->rank; j++)
			if (j != axis && x->dims[j] != first->dims[j])
				return bad(node, diag,
					   "input %" PRIu32 " differs from the first in "
					   "dimension %" PRIu32 ", which is not the axis",
					   i, j);
		if (x->dims[axis] > ((int64_t)1 << 40) - result->dims[axis])
			return bad(node, diag, "the output is too large");
		result->dims[axis] += x->dims[axis];
	}
	return 0;
}

static int infer_slice(const struct graph_node *node, struct diag *diag,
		       const struct graph_value *stated, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	uint32_t i;

	if (!graph_shape_known(stated) || stated->rank != x->rank)
		return bad(node, diag, "the output must have the input's rank");
	for (i = 0; i < x->rank; i++) {
		int64_t start = node->attr.slice.start[i], step = node->attr.slice.step[i];
		int64_t count = stated->dims[i], room;

		if (!count)
			continue;
		if (!step || start < 0 || start >= x->dims[i])
			return bad(node, diag, "the slice starts outside dimension %" PRIu32, i);
		room = step > 0 ? x->dims[i] - 1 - start : start;
		if (step == INT64_MIN || count - 1 > room / (step > 0 ? step : -step))
			return bad(node, diag, "the slice ends outside dimension %" PRIu32, i);
	}
	graph_value_set_shape(result, stated->rank, stated->dims);
	result->dtype = x->dtype;
	return 0;
}

static int infer_split(const struct graph_node *node, struct diag *diag)
{
	const struct graph_value *x = node->inputs[0];
	int64_t axis = node->attr.axis.axis, sum = 0;
	uint32_t i, j;

	if (axis < 0 || axis >= x->rank)
		return bad(node, diag,
			   "axis %" PRId64 " is beyond the input's %" PRIu32 " dimensions", axis,
			   x->rank);
	for (i = 0; i < node->output_count; i++) {
		const struct graph_value *y = node->outputs[i];

		if (!graph_shape_known(y) || y->rank != x->rank || y->dtype != x->dtype)
			return bad(node, diag,
				   "output %" PRIu32 " must have the input's rank and type", i);
		for (j = 0; j < x->rank; j++)
			if (j != axis && y->dims[j] != x->dims[j])
				return bad(node, diag,
					   "output %" PRIu32 " differs from the input in "
					   "dimension %" PRIu32 ", which is not the axis",
					   i, j);
		if (y->dims[axis] > x->dims[axis] - sum)
			return bad(node, diag, "the parts are larger than the whole");
		sum += y->dims[axis];
	}
	if (sum != x->dims[axis])
		return bad(node, diag,
			   "the parts add up to %" PRId64 ", the dimension has %" PRId64, sum,
			   x->dims[axis]);
	return 0;
}

static int infer_pad(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	const struct graph_attr_pad *pad = &node->attr.pad;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t i;

	for (i = 0; i < x->rank; i++) {
		int64_t begin = pad->begin[i], end = pad->end[i];
		int64_t limit = (int64_t)1 << 40;

		if (begin > limit || begin < -limit || end > limit || end < -limit)
			return bad(node, diag, "a pad is out of range");
		dims[i] = x->dims[i] + begin + end;
		if (dims[i] < 0)
			return bad(node, diag,
				   "negative pads remove more than dimension %" PRIu32 " has", i);
		if (pad->mode == GRAPH_PAD_REFLECT && (begin > 0 || end > 0) &&
		    (begin >= x->dims[i] || end >= x->dims[i]))
			return bad(node, diag,
				   "reflect pads of dimension %" PRIu32 " are not smaller "
				   "than it",
				   i);
		if (pad->mode != GRAPH_PAD_CONSTANT && dims[i] && !x->dims[i])
			return bad(node, diag, "an empty dimension cannot be padded from itself");
	}
	graph_value_set_shape(result, x->rank, dims);
	result->dtype = x->dtype;
	return 0;
}

/* RESHAPE, EXPAND, TILE, RESIZE: the output states its dims. */
static int infer_stated(const struct graph_node *node, struct diag *diag,
			const struct graph_value *stated, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	char from[GRAPH_SHAPE_TEXT], to[GRAPH_SHAPE_TEXT];
	struct graph_value both = { 0 };
	uint32_t i;

	if (!graph_shape_known(stated))
		return bad(node, diag, "the output's shape is not known");
	graph_value_set_shape(result, stated->rank, stated->dims);
	result->dtype = x->dtype;
	graph_format_shape(x, from);
	graph_format_shape(stated, to);
	if (node->op == GRAPH_OP_RESHAPE && graph_element_count(x) != graph_element_count(stated))
		return bad(node, diag, "shape %s cannot become %s: the numbers of elements differ",
			   from, to);
	if (node->op == GRAPH_OP_EXPAND &&
	    (graph_broadcast(x, stated, &both) || !graph_shape_equal(&both, stated)))
		return bad(node, diag, "shape %s cannot be expanded to %s", from, to);
	if ((node->op == GRAPH_OP_TILE || node->op == GRAPH_OP_RESIZE) && x->rank != stated->rank)
		return bad(node, diag, "shape %s cannot become %s: ranks differ", from, to);
	for (i = 0; node->op == GRAPH_OP_TILE && i < x->rank; i++)
		if (x->dims[i] ? stated->dims[i] % x->dims[i] : stated->dims[i])
			return bad(node, diag, "shape %s cannot be tiled to %s", from, to);
	for (i = 0; node->op == GRAPH_OP_RESIZE && i < x->rank; i++)
		if (!x->dims[i] && stated->dims[i])
			return bad(node, diag, "an empty tensor cannot be resized");
	return 0;
}

static int infer_gather(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0], *indices = node->inputs[1];
	int64_t axis = node->attr.axis.axis, dims[GRAPH_MAX_RANK];
	uint32_t rank = 0, i;

	if (axis < 0 || axis >= x->rank)
		return bad(node, diag,
			   "axis %" PRId64 " is beyond the data's %" PRIu32 " dimensions", axis,
			   x->rank);
	if (indices->dtype != GRAPH_DTYPE_I64 && indices->dtype != GRAPH_DTYPE_I32)
		return bad(node, diag, "indices are %s, int32 or int64 is needed",
			   graph_dtype_name(indices->dtype));
	if (x->rank - 1 + indices->rank > GRAPH_MAX_RANK)
		return bad(node, diag, "the output would have more than %d dimensions",
			   GRAPH_MAX_RANK);
	for (i = 0; i < axis; i++)
		dims[rank++] = x->dims[i];
	for (i = 0; i < indices->rank; i++)
		dims[rank++] = indices->dims[i];
	for (i = (uint32_t)axis + 1; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	graph_value_set_shape(result, rank, dims);
	result->dtype = x->dtype;
	return 0;
}

/* Scale, zero point, shift: per tensor or one per channel along @axis. */
static int need_vector(const struct graph_node *node, struct diag *diag, uint32_t index,
		       int64_t axis, bool scalar_too)
{
	const struct graph_value *x = node->inputs[0], *v;

	if (index >= node->input_count || !node->inputs[index])
		return 0;
	v = node->inputs[index];
	if (scalar_too && graph_element_count(v) == 1)
		return 0;
	if (v->rank == 1 && axis >= 0 && axis < x->rank && v->dims[0] == x->dims[axis])
		return 0;
	return bad(node, diag,
		   "input %" PRIu32 " does not have one element for each of dimension %" PRId64,
		   index, axis);
}

static int infer_quantize(const struct graph_node *node, struct diag *diag,
			  const struct graph_value *stated, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	int64_t axis = node->attr.axis.axis;

	if (node->attr.axis.block_size)
		return bad(node, diag,
			   "blocked scales are not supported; use one scale a tensor or "
			   "channel");
	if (need_vector(node, diag, 1, axis, true) || need_vector(node, diag, 2, axis, true))
		return -1;
	graph_value_set_shape(result, x->rank, x->dims);
	result->dtype = stated->dtype;
	return 0;
}

static int infer_norm(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	int64_t axis = node->attr.norm.axis;
	struct graph_value tail = { 0 }, both = { 0 };
	uint32_t i;

	graph_value_set_shape(result, x->rank, x->dims);
	result->dtype = x->dtype;
	if (node->op != GRAPH_OP_LAYERNORM) {
		if (x->rank < 3 || node->attr.norm.groups < 1 ||
		    x->dims[1] % node->attr.norm.groups)
			return bad(node, diag,
				   "an input [N,C,...] with C a multiple of the groups is "
				   "needed");
		return need_vector(node, diag, 1, 1, false) ? -1 :
							      need_vector(node, diag, 2, 1, false);
	}
	if (axis < 0 || axis >= x->rank)
		return bad(node, diag,
			   "axis %" PRId64 " is beyond the input's %" PRIu32 " dimensions", axis,
			   x->rank);
	graph_value_set_shape(&tail, x->rank - (uint32_t)axis, x->dims + axis);
	for (i = 1; i < node->input_count; i++)
		if (node->inputs[i] && (graph_broadcast(node->inputs[i], &tail, &both) ||
					!graph_shape_equal(&both, &tail)))
			return bad(node, diag, "scale or bias do not have the normalised shape");
	return 0;
}

static int infer_same(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	struct graph_value both = { 0 };

	graph_value_set_shape(result, x->rank, x->dims);
	result->dtype = x->dtype;
	switch (node->op) {
	case GRAPH_OP_ACTIVATION:
		if (node->attr.activation.kind == GRAPH_ACTIVATION_ISNAN ||
		    node->attr.activation.kind == GRAPH_ACTIVATION_ISINF)
			result->dtype = GRAPH_DTYPE_BOOL;
		return 0;
	case GRAPH_OP_SOFTMAX:
		if (node->attr.softmax.axis < 0 || node->attr.softmax.axis >= x->rank)
			return bad(node, diag,
				   "axis %" PRId64 " is beyond the input's %" PRIu32 " dimensions",
				   node->attr.softmax.axis, x->rank);
		return 0;
	case GRAPH_OP_PRELU:
		if (graph_broadcast(node->inputs[1], x, &both) || !graph_shape_equal(&both, x))
			return bad(node, diag, "the slope does not broadcast to the input");
		return 0;
	case GRAPH_OP_LRN:
		if (x->rank < 2 || node->attr.lrn.size < 1)
			return bad(node, diag,
				   "an input [N,C,...] and a size of at least 1 are needed");
		return 0;
	case GRAPH_OP_BATCHNORM:
		if (x->rank < 2)
			return bad(node, diag, "an input [N,C,...] is needed");
		return need_vector(node, diag, 1, 1, false) ? -1 :
							      need_vector(node, diag, 2, 1, false);
	default:
		return 0;
	}
}

static int infer_one(const struct graph_node *node, struct diag *diag,
		     const struct graph_value *stated, struct graph_value *result)
{
	switch (node->op) {
	case GRAPH_OP_CONV:
		return infer_conv(node, diag, result);
	case GRAPH_OP_CONVTRANSPOSE:
		return infer_convtranspose(node, diag, result);
	case GRAPH_OP_MATMUL:
		return infer_matmul(node, diag, result);
	case GRAPH_OP_ELTWISE:
		return infer_eltwise(node, diag, result);
	case GRAPH_OP_WHERE:
		return infer_where(node, diag, result);
	case GRAPH_OP_POOL:
		return infer_pool(node, diag, stated, result);
	case GRAPH_OP_REDUCE:
		return infer_reduce(node, diag, result);
	case GRAPH_OP_TRANSPOSE:
		return infer_transpose(node, diag, result);
	case GRAPH_OP_CONCAT:
		return infer_concat(node, diag, result);
	case GRAPH_OP_SLICE:
		return infer_slice(node, diag, stated, result);
	case GRAPH_OP_PAD:
		return infer_pad(node, diag, result);
	case GRAPH_OP_GATHER:
		return infer_gather(node, diag, result);
	case GRAPH_OP_RESHAPE:
	case GRAPH_OP_EXPAND:
	case GRAPH_OP_TILE:
	case GRAPH_OP_RESIZE:
		return infer_stated(node, diag, stated, result);
	case GRAPH_OP_CAST:
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
		return infer_quantize(node, diag, stated, result);
	case GRAPH_OP_LAYERNORM:
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
		return infer_norm(node, diag, result);
	default:
		return infer_same(node, diag, result);
	}
}

/* Inputs every operator must have, before any is looked at. */
static uint32_t required_inputs(enum graph_op op)
{
	switch (op) {
	case GRAPH_OP_WHERE:
	case GRAPH_OP_BATCHNORM:
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
		return 3;
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
	case GRAPH_OP_MATMUL:
	case GRAPH_OP_ELTWISE:
	case GRAPH_OP_PRELU:
	case GRAPH_OP_GATHER:
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
		return 2;
	default:
		return 1;
	}
}

static int check_inputs(const struct graph_node *node, struct diag *diag)
{
	uint32_t needed = required_inputs(node->op), i;

	if (node->op == GRAPH_OP_CONCAT)
		needed = node->input_count ? node->input_count : 1;
	if (node->input_count < needed || !node->output_count)
		return bad(node, diag, "%" PRIu32 " inputs and an output are needed", needed);
	for (i = 0; i < node->input_count; i++) {
		if (!node->inputs[i] && i < needed)
			return bad(node, diag, "input %" PRIu32 " is missing", i);
		if (node->inputs[i] && !graph_shape_known(node->inputs[i]))
			return bad(node, diag, "the shape of input %" PRIu32 " ('%s') is not known",
				   i, node->inputs[i]->name);
	}
	for (i = 0; i < node->output_count; i++)
		if (!node->outputs[i])
			return bad(node, diag, "output %" PRIu32 " is missing", i);
	return 0;
}

int graph_infer_node(struct graph_node *node, struct diag *diag)
{
	struct graph_value result = { 0 };

	if (node->op == GRAPH_OP_UNKNOWN)
		return 0;
	if (check_inputs(node, diag))
		return -1;
	if (node->op == GRAPH_OP_SPLIT)
		return infer_split(node, diag);
	if (infer_one(node, diag, node->outputs[0], &result))
		return -1;
	if (graph_element_count(&result) < 0)
		return bad(node, diag, "the output would have more than 2^40 elements");
	graph_value_set_shape(node->outputs[0], result.rank, result.dims);
	if (!node->quant)
		node->outputs[0]->dtype = result.dtype;
	return 0;
}

int graph_check_node(const struct graph_node *node, struct diag *diag)
{
	char text[GRAPH_SHAPE_TEXT], expected[GRAPH_SHAPE_TEXT];
	struct graph_value result = { 0 };

	if (node->op == GRAPH_OP_UNKNOWN)
		return 0;
	if (check_inputs(node, diag))
		return -1;
	if (node->op == GRAPH_OP_SPLIT)
		return infer_split(node, diag);
	if (infer_one(node, diag, node->outputs[0], &result))
		return -1;
	if (node->quant)
		result.dtype = node->outputs[0]->dtype;
	if (result.dtype == node->outputs[0]->dtype && graph_shape_equal(&result, node->outputs[0]))
		return 0;
	return bad(node, diag, "the output is %s[%s], by its inputs it must be %s[%s]",
		   graph_dtype_name(node->outputs[0]->dtype),
		   graph_format_shape(node->outputs[0], text), graph_dtype_name(result.dtype),
		   graph_format_shape(&result, expected));
}
