// SPDX-License-Identifier: MIT
/* Reductions and softmax. */
#include <inttypes.h>
#include <string.h>

#include "import.h"

static const struct {
	const char *op_type;
	enum graph_reduce_kind kind;
	int64_t axes_input; /* opset from which axes are an input */
} reductions[] = {
	{ "ReduceSum", GRAPH_REDUCE_SUM, 13 },
	{ "ReduceMean", GRAPH_REDUCE_MEAN, 18 },
	{ "ReduceMax", GRAPH_REDUCE_MAX, 18 },
	{ "ReduceMin", GRAPH_REDUCE_MIN, 18 },
	{ "ReduceProd", GRAPH_REDUCE_PROD, 18 },
	{ "ReduceL1", GRAPH_REDUCE_L1, 18 },
	{ "ReduceL2", GRAPH_REDUCE_L2, 18 },
	{ "ReduceSumSquare", GRAPH_REDUCE_SUM_SQUARE, 18 },
	{ "ReduceLogSum", GRAPH_REDUCE_LOG_SUM, 18 },
	{ "ReduceLogSumExp", GRAPH_REDUCE_LOG_SUM_EXP, 18 },
};

static int reduce_axes(struct import_node *in, const struct graph_value *x, bool from_input,
		       uint32_t *mask)
{
	int64_t axes[GRAPH_MAX_RANK], axis;
	int32_t count, i;
	int result;

	result = import_ints(in, from_input ? 1 : UINT32_MAX, from_input ? NULL : "axes", axes,
			     GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	*mask = 0;
	for (i = 0; i < count; i++) {
		if (import_axis(in, axes[i], x->rank, &axis))
			return -1;
		*mask |= 1u << axis;
	}
	if (count <= 0 && !(from_input && import_attribute_int(in, "noop_with_empty_axes", 0)))
		*mask = (1u << x->rank) - 1;
	return 0;
}

static int import_reduce(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0);
	struct graph_node *node;
	uint32_t mask;
	size_t i = 0;
	int result;

	if (!x)
		return import_missing(in, 1);
	while (strcmp(reductions[i].op_type, in->op_type))
		i++;
	/* Exporters have mixed the two forms up; an input that is there counts. */
	result = reduce_axes(in, x, in->opset >= reductions[i].axes_input || in->input_count > 1,
			     &mask);
	if (result)
		return result;
	node = import_node_new(in, GRAPH_OP_REDUCE, 1, &x, 1);
	if (!node)
		return -1;
	node->attr.reduce.kind = reductions[i].kind;
	node->attr.reduce.axes = mask;
	node->attr.reduce.keep_dims = import_attribute_int(in, "keepdims", 1) != 0;
	return import_result(in, 0, import_finish(in, node));
}

static int import_arg(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0);
	struct graph_node *node;
	int64_t axis;

	if (!x)
		return import_missing(in, 1);
	if (import_axis(in, import_attribute_int(in, "axis", 0), x->rank, &axis))
		return -1;
	node = import_node_new(in, GRAPH_OP_REDUCE, 1, &x, 1);
	if (!node)
		return -1;
	node->attr.reduce.kind =
		strcmp(in->op_type, "ArgMax") ? GRAPH_REDUCE_ARGMIN : GRAPH_REDUCE_ARGMAX;
	node->attr.reduce.axes = 1u << axis;
	node->attr.reduce.keep_dims = import_attribute_int(in, "keepdims", 1) != 0;
	node->attr.reduce.select_last_index = import_attribute_int(in, "select_last_index", 0) != 0;
	return import_result(in, 0, import_finish(in, node));
}

static struct graph_value *softmax(struct import_node *in, struct graph_value *x, int64_t axis)
{
	struct graph_node *node = import_node_new(in, GRAPH_OP_SOFTMAX, 1, &x, 1);

	if (!node)
		return NULL;
	node->attr.softmax.axis = axis;
	node->attr.softmax.log = !strcmp(in->op_type, "LogSoftmax");
	return import_finish(in, node);
}

/* Before opset 13 everything from the axis on was one dimension. */
static int import_softmax(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *y;
	int64_t axis, flat[2] = { 1, 1 };
	uint32_t i;

	if (!x)
		return import_missing(in, 1);
	if (!x->rank)
		return import_unknown(
			in,
			"its input has 0 dimensions, at least 1 is needed for an axis; put a Reshape before it");
	if (import_axis(in, import_attribute_int(in, "axis", in->opset < 13 ? 1 : -1), x->rank,
			&axis))
		return -1;
	for (i = 0; i < x->rank; i++)
		flat[i >= axis] *= x->dims[i];
	/* One dimension it is as well where all after the axis have size one. */
	if (in->opset >= 13 || flat[1] == x->dims[axis])
		return import_result(in, 0, softmax(in, x, axis));
	y = import_reshape(in, x, 2, flat);
	if (y)
		y = softmax(in, y, 1);
	if (y)
		y = import_reshape(in, y, x->rank, x->dims);
	return import_result(in, 0, y);
}

const struct import_operator import_reduce_operators[] = {
	{ "ReduceSum", import_reduce },
	{ "ReduceMean", import_reduce },
	{ "ReduceMax", import_reduce },
	{ "ReduceMin", import_reduce },
	{ "ReduceProd", import_reduce },
	{ "ReduceL1", import_reduce },
	{ "ReduceL2", import_reduce },
	{ "ReduceSumSquare", import_reduce },
	{ "ReduceLogSum", import_reduce },
	{ "ReduceLogSumExp", import_reduce },
	{ "ArgMax", import_arg },
	{ "ArgMin", import_arg },
	{ "Softmax", import_softmax },
	{ "LogSoftmax", import_softmax },
	{ NULL, NULL },
};
