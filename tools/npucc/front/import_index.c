// SPDX-License-Identifier: MIT
/* Constants, ranges, gathers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../fold/eval.h"
#include "import.h"

static struct graph_value *int_constant(struct import_node *in, uint32_t rank, int64_t count,
					const int64_t *list)
{
	struct graph_value *value;
	void *data;

	value = import_constant(in, GRAPH_DTYPE_I64, rank, &count, &data);
	if (value && count)
		memcpy(data, list, (size_t)count * sizeof(*list));
	return value;
}

static struct graph_value *float_constant(struct import_node *in, uint32_t rank, int64_t count,
					  const float *list)
{
	struct graph_value *value;
	void *data;

	value = import_constant(in, GRAPH_DTYPE_F32, rank, &count, &data);
	if (value && count)
		memcpy(data, list, (size_t)count * sizeof(*list));
	return value;
}

static int import_constant_node(struct import_node *in)
{
	const struct onnx_attribute *attribute;

	attribute = import_attribute(in, "value");
	if (attribute && attribute->t) {
		if (!graph_dtype_bytes(onnx_dtype(attribute->t->type)))
			return import_unknown(in, "its element type %s is not supported",
					      onnx_type_name(attribute->t->type));
		return import_result(in, 0, import_tensor(in->import, attribute->t));
	}
	attribute = import_attribute(in, "value_float");
	if (attribute)
		return import_result(in, 0, float_constant(in, 0, 1, &attribute->f));
	attribute = import_attribute(in, "value_floats");
	if (attribute)
		return import_result(
			in, 0, float_constant(in, 1, attribute->float_count, attribute->floats));
	attribute = import_attribute(in, "value_int");
	if (attribute)
		return import_result(in, 0, int_constant(in, 0, 1, &attribute->i));
	attribute = import_attribute(in, "value_ints");
	if (attribute)
		return import_result(in, 0,
				     int_constant(in, 1, attribute->int_count, attribute->ints));
	return import_unknown(in, "it holds strings or a sparse tensor, or nothing at all");
}

static bool is_zero(const void *element, uint32_t bytes)
{
	static const uint8_t zeros[8];

	return !memcmp(element, zeros, bytes);
}

static int import_constant_of_shape(struct import_node *in)
{
	const struct onnx_attribute *fill = import_attribute(in, "value");
	enum graph_dtype dtype = GRAPH_DTYPE_F32;
	int64_t dims[GRAPH_MAX_RANK], one[GRAPH_MAX_RANK], count, i;
	struct graph_value *value;
	const void *element = NULL;
	uint32_t bytes;
	int32_t rank;
	void *data;
	int result;

	result = import_ints(in, 0, NULL, dims, GRAPH_MAX_RANK, &rank);
	if (result)
		return result;
	if (rank < 0)
		return import_missing(in, 1);
	if (fill && fill->t &&
	    onnx_tensor_value(fill->t, in->import->files, in->import->arena, in->import->diag,
			      &dtype, one, &element))
		return -1;
	if (element && (fill->t->rank > 1 || (fill->t->rank == 1 && one[0] != 1)))
		return import_error(in,
				    "its value has %" PRId64 " elements of rank %" PRIu32
				    ", 1 is needed; make it a scalar",
				    fill->t->rank ? one[0] : 1, fill->t->rank);
	value = import_constant(in, dtype, (uint32_t)rank, dims, &data);
	if (!value)
		return -1;
	count = graph_element_count(value);
	bytes = graph_dtype_bytes(dtype);
	/* Zeros are there already, and untouched memory costs nothing. */
	if (element && is_zero(element, bytes))
		element = NULL;
	for (i = 0; element && i < count; i++)
		memcpy((uint8_t *)data + i * bytes, element, bytes);
	return import_result(in, 0, value);
}

static int import_range(struct import_node *in)
{
	struct graph_value *start = import_input(in, 0), *limit = import_input(in, 1);
	struct graph_value *delta = import_input(in, 2), *value;
	double first, last, step, steps;
	int64_t count, i;
	void *data;

	if (!start || !limit || !delta)
		return import_missing(in, 3);
	if (!graph_is_constant(start) || !graph_is_constant(limit) || !graph_is_constant(delta))
		return import_unknown(
			in, "its bounds are computed while running, only constants are supported; "
			    "make them constants");
	if (graph_element_count(start) != 1 || graph_element_count(limit) != 1 ||
	    graph_element_count(delta) != 1 || start->dtype != limit->dtype ||
	    start->dtype != delta->dtype)
		return import_error(in,
				    "its bounds have types %s, %s, %s and %" PRId64 ", %" PRId64
				    ", %" PRId64
				    " elements, one type and 1 element are needed; correct them",
				    graph_dtype_name(start->dtype), graph_dtype_name(limit->dtype),
				    graph_dtype_name(delta->dtype), graph_element_count(start),
				    graph_element_count(limit), graph_element_count(delta));
	first = eval_load(start->dtype, start->data, 0);
	last = eval_load(limit->dtype, limit->data, 0);
	step = eval_load(delta->dtype, delta->data, 0);
	steps = step != 0 ? ceil((last - first) / step) : NAN;
	if (!(steps < 1e12))
		return import_error(
			in,
			"its step is %g from %g to %g, at most 10^12 steps are supported; correct it",
			step, first, last);
	count = steps > 0 ? (int64_t)steps : 0;
	value = import_constant(in, start->dtype, 1, &count, &data);
	for (i = 0; value && i < count; i++)
		eval_store(start->dtype, data, i, first + (double)i * step);
	return import_result(in, 0, value);
}

static int import_gather(struct import_node *in)
{
	struct graph_value *operands[2] = { import_input(in, 0), import_input(in, 1) };
	struct graph_node *node;
	int64_t axis;

	if (!operands[0] || !operands[1])
		return import_missing(in, 2);
	if (import_axis(in, import_attribute_int(in, "axis", 0), operands[0]->rank, &axis))
		return -1;
	node = import_node_new(in, GRAPH_OP_GATHER, 2, operands, 1);
	if (!node)
		return -1;
	node->attr.axis.axis = axis;
	return import_result(in, 0, import_finish(in, node));
}

/* Positions of what is not zero: only of constants, for its size is a value. */
static int import_non_zero(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *value;
	int64_t count, found = 0, at = 0, i, dims[2];
	struct eval_walk walk;
	uint32_t j;
	void *data;

	if (!x)
		return import_missing(in, 1);
	if (!graph_is_constant(x) || !x->rank)
		return import_unknown(
			in, "its input is computed while running, only constants are supported; "
			    "cut the model before it");
	count = graph_element_count(x);
	for (i = 0; i < count; i++)
		found += eval_load(x->dtype, x->data, i) != 0;
	dims[0] = x->rank;
	dims[1] = found;
	value = import_constant(in, GRAPH_DTYPE_I64, 2, dims, &data);
	if (!value)
		return -1;
	eval_walk_init(&walk, x);
	for (i = 0; i < count; i++, eval_walk_next(&walk)) {
		if (eval_load(x->dtype, x->data, i) == 0)
			continue;
		for (j = 0; j < x->rank; j++)
			((int64_t *)data)[(int64_t)j * found + at] = walk.index[j];
		at++;
	}
	return import_result(in, 0, value);
}

/* A running sum of constants (position ids); others are left to the scan. */
static int import_cum_sum(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *axis_value = import_input(in, 1), *value;
	bool exclusive = import_attribute_int(in, "exclusive", 0) != 0;
	bool reverse = import_attribute_int(in, "reverse", 0) != 0;
	int64_t axis, inner = 1, size, total, base, i;
	uint32_t j;
	void *data;

	if (!x || !axis_value)
		return import_missing(in, 2);
	if (!graph_is_constant(x) || !graph_is_constant(axis_value) ||
	    graph_element_count(axis_value) != 1)
		return import_unknown(
			in,
			"its input is computed while running, only constants are supported; use a "
			"MatMul with a triangle of ones");
	if (import_axis(in, graph_constant_as_i64(axis_value, 0), x->rank, &axis))
		return -1;
	value = import_constant(in, x->dtype, x->rank, x->dims, &data);
	if (!value)
		return -1;
	size = x->dims[axis];
	total = graph_element_count(x);
	for (j = (uint32_t)axis + 1; j < x->rank; j++)
		inner *= x->dims[j];
	for (base = 0; total && base < total / size; base++) {
		int64_t start = base / inner * size * inner + base % inner;
		double sum = 0;

		for (i = 0; i < size; i++) {
			int64_t at = start + (reverse ? size - 1 - i : i) * inner;
			double v = eval_load(x->dtype, x->data, at);

			eval_store(x->dtype, data, at, exclusive ? sum : sum + v);
			sum += v;
		}
	}
	return import_result(in, 0, value);
}

/* A triangle of the last two dimensions: a choice by a mask that is known. */
static int import_trilu(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *offset = import_input(in, 1), *operands[3];
	bool upper = import_attribute_int(in, "upper", 1) != 0;
	int64_t k = 0, rows, columns, i, j;
	struct graph_node *node;
	void *data;

	if (import_need_rank(in, 2))
		return -1;
	if (offset && (!graph_is_constant(offset) || graph_element_count(offset) != 1))
		return import_unknown(
			in,
			"its diagonal is computed while running, only constants are supported; make it "
			"one");
	if (offset)
		k = graph_constant_as_i64(offset, 0);
	rows = x->dims[x->rank - 2];
	columns = x->dims[x->rank - 1];
	/* Beyond the matrix every diagonal is alike. */
	k = k > columns ? columns : k < -rows ? -rows : k;
	operands[0] = import_constant(in, GRAPH_DTYPE_BOOL, 2, x->dims + x->rank - 2, &data);
	operands[1] = x;
	operands[2] = import_scalar(in, x, 0);
	if (!operands[0] || !operands[2])
		return -1;
	for (i = 0; i < rows; i++)
		for (j = 0; j < columns; j++)
			((uint8_t *)data)[i * columns + j] = upper ? j >= i + k : j <= i + k;
	node = import_node_new(in, GRAPH_OP_WHERE, 3, operands, 1);
	return import_result(in, 0, import_finish(in, node));
}

const struct import_operator import_index_operators[] = {
	{ "Constant", import_constant_node },
	{ "ConstantOfShape", import_constant_of_shape },
	{ "Range", import_range },
	{ "Gather", import_gather },
	{ "NonZero", import_non_zero },
	{ "CumSum", import_cum_sum },
	{ "Trilu", import_trilu },
	{ NULL, NULL },
};
