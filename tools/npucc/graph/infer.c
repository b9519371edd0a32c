// SPDX-License-Identifier: MIT
#include "infer_node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

bool graph_eltwise_is_compare(enum graph_eltwise_kind kind)
{
	return kind >= GRAPH_ELTWISE_EQUAL;
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

int infer_bad(const struct graph_node *node, struct diag *diag, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_error(diag, "node '%s' (%s): %s", node->name, node->op_type, text);
}

int infer_need_rank(const struct graph_node *node, struct diag *diag, uint32_t index, uint32_t rank)
{
	const struct graph_value *value = node->inputs[index];
	char text[GRAPH_SHAPE_TEXT];

	if (value->rank == rank)
		return 0;
	return infer_bad(node, diag,
			 "input %" PRIu32 " has shape %s, a tensor of rank %" PRIu32
			 " is needed; put a Reshape before it",
			 index, graph_format_shape(value, text), rank);
}

static int infer_eltwise(const struct graph_node *node, struct diag *diag,
			 struct graph_value *result)
{
	const struct graph_value *a = node->inputs[0], *b = node->inputs[1];
	char text_a[GRAPH_SHAPE_TEXT], text_b[GRAPH_SHAPE_TEXT];

	if (graph_broadcast(a, b, result))
		return infer_bad(
			node, diag,
			"operands have shapes %s and %s, dimensions have to be the same or 1; put a Reshape before one",
			graph_format_shape(a, text_a), graph_format_shape(b, text_b));
	if (a->dtype != b->dtype && node->attr.eltwise != GRAPH_ELTWISE_POW && !node->quant)
		return infer_bad(node, diag,
				 "operands have types %s and %s, one type is needed; insert a Cast",
				 graph_dtype_name(a->dtype), graph_dtype_name(b->dtype));
	result->dtype = graph_eltwise_is_compare(node->attr.eltwise) ? GRAPH_DTYPE_BOOL : a->dtype;
	return 0;
}

static int infer_where(const struct graph_node *node, struct diag *diag, struct graph_value *result)
{
	char text[3][GRAPH_SHAPE_TEXT];
	struct graph_value both = { 0 };

	if (graph_broadcast(node->inputs[1], node->inputs[2], &both) ||
	    graph_broadcast(node->inputs[0], &both, result))
		return infer_bad(
			node, diag,
			"condition and choices have shapes %s, %s and %s, dimensions have to be the same or 1; "
			"put a Reshape before one",
			graph_format_shape(node->inputs[0], text[0]),
			graph_format_shape(node->inputs[1], text[1]),
			graph_format_shape(node->inputs[2], text[2]));
	if (node->inputs[0]->dtype != GRAPH_DTYPE_BOOL)
		return infer_bad(node, diag,
				 "the condition has type %s, bool is needed; insert a Cast",
				 graph_dtype_name(node->inputs[0]->dtype));
	if (node->inputs[1]->dtype != node->inputs[2]->dtype)
		return infer_bad(
			node, diag,
			"the choices have types %s and %s, one type is needed; insert a Cast",
			graph_dtype_name(node->inputs[1]->dtype),
			graph_dtype_name(node->inputs[2]->dtype));
	result->dtype = node->inputs[1]->dtype;
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
		return infer_bad(node, diag,
				 "axes are 0x%" PRIx32 ", at most the input's %" PRIu32
				 " dimensions are supported; correct axes",
				 reduce->axes, x->rank);
	for (i = 0; i < x->rank; i++) {
		bool reduced = reduce->axes >> i & 1;

		if (reduced && x->dims[i] == 0 &&
		    (index || reduce->kind == GRAPH_REDUCE_MAX || reduce->kind == GRAPH_REDUCE_MIN))
			return infer_bad(
				node, diag,
				"dimension %" PRIu32
				" is 0, at least 1 is needed for an extreme; give it elements",
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
			return infer_bad(node, diag,
					 "perm has %" PRId64 " at %" PRIu32
					 ", a permutation of the input's %" PRIu32
					 " dimensions is needed; name each of them once",
					 from, i, x->rank);
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
		return infer_bad(node, diag,
				 "axis is %" PRId64 ", below the inputs' %" PRIu32
				 " dimensions is needed; correct axis",
				 axis, first->rank);
	graph_value_set_shape(result, first->rank, first->dims);
	result->dtype = first->dtype;
	for (i = 1; i < node->input_count; i++) {
		const struct graph_value *x = node->inputs[i];

		if (x->rank != first->rank || x->dtype != first->dtype)
			return infer_bad(
				node, diag,
				"input %" PRIu32 " is %s of rank %" PRIu32 ", %s of rank %" PRIu32
				" like the first is needed; put a Cast or Reshape before it",
				i, graph_dtype_name(x->dtype), x->rank,
				graph_dtype_name(first->dtype), first->rank);
		for (j = 0; j < x->rank; j++)
			if (j != axis && x->dims[j] != first->dims[j])
				return infer_bad(
					node, diag,
					"dimension %" PRIu32 " of input %" PRIu32 " is %" PRId64
					", %" PRId64
					" like the first's is needed; correct axis, or the shape",
					j, i, x->dims[j], first->dims[j]);
		if (x->dims[axis] > ((int64_t)1 << 40) - result->dims[axis])
			return infer_bad(
				node, diag,
				"dimension %" PRId64
				" of the output is more than 2^40, at most that is supported; "
				"join fewer inputs",
				axis);
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
		return infer_bad(node, diag, "the output must have the input's rank");
	for (i = 0; i < x->rank; i++) {
		int64_t start = node->attr.slice.start[i], step = node->attr.slice.step[i];
		int64_t count = stated->dims[i], room;

		if (!count)
			continue;
		if (!step || start < 0 || start >= x->dims[i])
			return infer_bad(node, diag,
					 "the slice of dimension %" PRIu32 " starts at %" PRId64
					 ", below %" PRId64 " is needed; correct starts",
					 i, start, x->dims[i]);
		room = step > 0 ? x->dims[i] - 1 - start : start;
		if (step == INT64_MIN || count - 1 > room / (step > 0 ? step : -step))
			return infer_bad(node, diag,
					 "the slice of dimension %" PRIu32 " has %" PRId64
					 " elements of %" PRId64 ", fewer are needed; correct ends",
					 i, count, x->dims[i]);
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
		return infer_bad(node, diag,
				 "axis is %" PRId64 ", below the input's %" PRIu32
				 " dimensions is needed; correct axis",
				 axis, x->rank);
	for (i = 0; i < node->output_count; i++) {
		const struct graph_value *y = node->outputs[i];

		if (!graph_shape_known(y) || y->rank != x->rank || y->dtype != x->dtype)
			return infer_bad(node, diag,
					 "output %" PRIu32 " must have the input's rank and type",
					 i);
		for (j = 0; j < x->rank; j++)
			if (j != axis && y->dims[j] != x->dims[j])
				return infer_bad(node, diag,
						 "output %" PRIu32 " differs from the input in "
						 "dimension %" PRIu32 ", which is not the axis",
						 i, j);
		if (y->dims[axis] > x->dims[axis] - sum)
			return infer_bad(node, diag,
					 "output %" PRIu32 " has %" PRId64 " of dimension %" PRId64
					 ", at most the %" PRId64
					 " that are left are supported; correct the sizes",
					 i, y->dims[axis], axis, x->dims[axis] - sum);
		sum += y->dims[axis];
	}
	if (sum != x->dims[axis])
		return infer_bad(node, diag,
				 "the parts add up to %" PRId64 ", the dimension's %" PRId64
				 " are needed; correct the sizes",
				 sum, x->dims[axis]);
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
			return infer_bad(node, diag,
					 "pads of dimension %" PRIu32 " are %" PRId64
					 " and %" PRId64 ", at most 2^40 is supported; pad less",
					 i, begin, end);
		dims[i] = x->dims[i] + begin + end;
		if (dims[i] < 0)
			return infer_bad(node, diag,
					 "pads of dimension %" PRIu32 " are %" PRId64
					 " and %" PRId64 ", at least its size of %" PRId64
					 " has to be left of; cut less",
					 i, begin, end, x->dims[i]);
		if (pad->mode == GRAPH_PAD_REFLECT && (begin > 0 || end > 0) &&
		    (begin >= x->dims[i] || end >= x->dims[i]))
			return infer_bad(node, diag,
					 "reflected pads of dimension %" PRIu32 " are %" PRId64
					 " and %" PRId64 ", less than its size of %" PRId64
					 " is needed; pad less",
					 i, begin, end, x->dims[i]);
		if (pad->mode != GRAPH_PAD_CONSTANT && dims[i] && !x->dims[i])
			return infer_bad(
				node, diag,
				"dimension %" PRIu32
				" is 0, at least 1 is needed to pad from; use mode constant",
				i);
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
		return infer_bad(node, diag, "the output's shape is not known");
	graph_value_set_shape(result, stated->rank, stated->dims);
	result->dtype = x->dtype;
	graph_format_shape(x, from);
	graph_format_shape(stated, to);
	if (node->op == GRAPH_OP_RESHAPE && graph_element_count(x) != graph_element_count(stated))
		return infer_bad(
			node, diag,
			"the target shape is %s, as many elements as %s has are needed; correct the shape",
			to, from);
	if (node->op == GRAPH_OP_EXPAND &&
	    (graph_broadcast(x, stated, &both) || !graph_shape_equal(&both, stated)))
		return infer_bad(
			node, diag,
			"the target shape is %s, dimensions like those of %s are needed where they are not 1; correct the shape",
			to, from);
	if ((node->op == GRAPH_OP_TILE || node->op == GRAPH_OP_RESIZE) && x->rank != stated->rank)
		return infer_bad(
			node, diag,
			"the output has shape %s, the rank of %s is needed; correct the repeats or sizes",
			to, from);
	for (i = 0; node->op == GRAPH_OP_TILE && i < x->rank; i++)
		if (x->dims[i] ? stated->dims[i] % x->dims[i] : stated->dims[i])
			return infer_bad(
				node, diag,
				"the output has shape %s, multiples of %s are needed; correct the repeats",
				to, from);
	for (i = 0; node->op == GRAPH_OP_RESIZE && i < x->rank; i++)
		if (!x->dims[i] && stated->dims[i])
			return infer_bad(node, diag,
					 "dimension %" PRIu32
					 " is 0, at least 1 is needed; resize what has elements",
					 i);
	return 0;
}

static int infer_gather(const struct graph_node *node, struct diag *diag,
			struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0], *indices = node->inputs[1];
	int64_t axis = node->attr.axis.axis, dims[GRAPH_MAX_RANK];
	uint32_t rank = 0, i;

	if (axis < 0 || axis >= x->rank)
		return infer_bad(node, diag,
				 "axis is %" PRId64 ", below the data's %" PRIu32
				 " dimensions is needed; correct axis",
				 axis, x->rank);
	if (indices->dtype != GRAPH_DTYPE_I64 && indices->dtype != GRAPH_DTYPE_I32)
		return infer_bad(node, diag,
				 "indices have type %s, int32 or int64 is needed; insert a Cast",
				 graph_dtype_name(indices->dtype));
	if (x->rank - 1 + indices->rank > GRAPH_MAX_RANK)
		return infer_bad(node, diag,
				 "the output has %" PRIu32
				 " dimensions, at most %d are supported; flatten the indices",
				 x->rank - 1 + indices->rank, GRAPH_MAX_RANK);
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
	char text[GRAPH_SHAPE_TEXT];

	if (index >= node->input_count || !node->inputs[index])
		return 0;
	v = node->inputs[index];
	if (scalar_too && graph_element_count(v) == 1)
		return 0;
	if (v->rank == 1 && axis >= 0 && axis < x->rank && v->dims[0] == x->dims[axis])
		return 0;
	return infer_bad(node, diag,
			 "input %" PRIu32
			 " has shape %s, one element for each of dimension %" PRId64
			 " is needed; correct it, or axis",
			 index, graph_format_shape(v, text), axis);
}

static int infer_quantize(const struct graph_node *node, struct diag *diag,
			  const struct graph_value *stated, struct graph_value *result)
{
	const struct graph_value *x = node->inputs[0];
	int64_t axis = node->attr.axis.axis;

	if (node->attr.axis.block_size)
		return infer_bad(node, diag,
				 "block_size is %" PRId64
				 ", only 0 is supported; use one scale a tensor or "
				 "channel",
				 node->attr.axis.block_size);
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
	char text[GRAPH_SHAPE_TEXT];
	uint32_t i;

	graph_value_set_shape(result, x->rank, x->dims);
	result->dtype = x->dtype;
	if (node->op != GRAPH_OP_LAYERNORM) {
		if (x->rank < 3 || node->attr.norm.groups < 1 ||
		    x->dims[1] % node->attr.norm.groups)
			return infer_bad(
				node, diag,
				"groups are %" PRId64
				" for an input of shape %s, [N,C,...] with a multiple of them is "
				"needed; correct the groups",
				node->attr.norm.groups, graph_format_shape(x, text));
		return need_vector(node, diag, 1, 1, false) ? -1 :
							      need_vector(node, diag, 2, 1, false);
	}
	if (axis < 0 || axis >= x->rank)
		return infer_bad(node, diag,
				 "axis is %" PRId64 ", below the input's %" PRIu32
				 " dimensions is needed; correct axis",
				 axis, x->rank);
	graph_value_set_shape(&tail, x->rank - (uint32_t)axis, x->dims + axis);
	for (i = 1; i < node->input_count; i++)
		if (node->inputs[i] && (graph_broadcast(node->inputs[i], &tail, &both) ||
					!graph_shape_equal(&both, &tail)))
			return infer_bad(
				node, diag,
				"input %" PRIu32
				" has shape %s, that of the normalised dimensions is needed; correct it, or axis",
				i, graph_format_shape(node->inputs[i], text));
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
			return infer_bad(node, diag,
					 "axis %" PRId64 " is beyond the input's %" PRIu32
					 " dimensions",
					 node->attr.softmax.axis, x->rank);
		return 0;
	case GRAPH_OP_PRELU:
		if (graph_broadcast(node->inputs[1], x, &both) || !graph_shape_equal(&both, x))
			return infer_bad(node, diag, "the slope does not broadcast to the input");
		return 0;
	case GRAPH_OP_LRN:
		if (x->rank < 2 || node->attr.lrn.size < 1)
			return infer_bad(node, diag,
					 "an input [N,C,...] and a size of at least 1 are needed");
		return 0;
	case GRAPH_OP_BATCHNORM:
		if (x->rank < 2)
			return infer_bad(node, diag, "an input [N,C,...] is needed");
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
		return infer_bad(node, diag, "%" PRIu32 " inputs and an output are needed", needed);
	for (i = 0; i < node->input_count; i++) {
		if (!node->inputs[i] && i < needed)
			return infer_bad(node, diag, "input %" PRIu32 " is missing", i);
		if (node->inputs[i] && !graph_shape_known(node->inputs[i]))
			return infer_bad(node, diag,
					 "the shape of input %" PRIu32 " ('%s') is not known", i,
					 node->inputs[i]->name);
	}
	for (i = 0; i < node->output_count; i++)
		if (!node->outputs[i])
			return infer_bad(node, diag, "output %" PRIu32 " is missing", i);
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
		return infer_bad(node, diag, "the output would have more than 2^40 elements");
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
	return infer_bad(node, diag, "the output is %s[%s], by its inputs it must be %s[%s]",
			 graph_dtype_name(node->outputs[0]->dtype),
			 graph_format_shape(node->outputs[0], text), graph_dtype_name(result.dtype),
			 graph_format_shape(&result, expected));
}
