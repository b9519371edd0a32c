// SPDX-License-Identifier: MIT
/* Operators that change shapes or move elements about. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../fold/eval.h"
#include "import.h"

static int need_input(struct import_node *in, struct graph_value **x)
{
	*x = import_input(in, 0);
	return *x ? 0 : import_missing(in, 1);
}

static int import_identity(struct import_node *in)
{
	struct graph_value *x;

	return need_input(in, &x) ? -1 : import_result(in, 0, x);
}

/* Dropout does nothing when not training; its mask is all true. */
static int import_dropout(struct import_node *in)
{
	struct graph_value *x, *mask, *training = import_input(in, 2);
	void *data;

	if (training && (!graph_is_constant(training) || graph_element_count(training) != 1 ||
			 graph_constant_as_i64(training, 0)))
		return import_unknown(in, "it is in training mode; export the model for inference");
	if (need_input(in, &x) || import_result(in, 0, x))
		return -1;
	if (in->onnx->output_count < 2 || !in->onnx->outputs[1].size)
		return 0;
	mask = import_constant(in, GRAPH_DTYPE_BOOL, x->rank, x->dims, &data);
	if (mask)
		memset(data, 1, (size_t)graph_element_count(mask));
	return import_result(in, 1, mask);
}

static int import_reshape_node(struct import_node *in)
{
	int64_t list[GRAPH_MAX_RANK], known = 1, total;
	bool allow_zero = import_attribute_int(in, "allowzero", 0) != 0;
	int32_t count, unknown = -1, i;
	struct graph_value *x;
	int result;

	if (need_input(in, &x))
		return -1;
	result = import_ints(in, 1, "shape", list, GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	if (count < 0)
		return import_missing(in, 2);
	total = graph_element_count(x);
	for (i = 0; i < count; i++) {
		if (list[i] == 0 && !allow_zero) {
			if ((uint32_t)i >= x->rank)
				return import_error(in,
						    "dimension %" PRId32
						    " of the target shape is 0 (as the input's), "
						    "the input has only %" PRIu32
						    " dimensions; state its size",
						    i, x->rank);
			list[i] = x->dims[i];
		}
		if (list[i] == -1 && unknown >= 0)
			return import_error(
				in,
				"dimensions %" PRId32 " and %" PRId32
				" of the target shape are -1, at most one may be; state the other's size",
				unknown, i);
		if (list[i] < -1)
			return import_error(in,
					    "dimension %" PRId32 " of the target shape is %" PRId64
					    ", at least -1 is needed; correct the shape",
					    i, list[i]);
		if (list[i] == -1)
			unknown = i;
		else if (list[i] && known > ((int64_t)1 << 40) / list[i])
			return import_error(
				in,
				"dimension %" PRId32 " of the target shape is %" PRId64
				", at most 2^40 elements in all are supported; correct the shape",
				i, list[i]);
		else
			known *= list[i];
	}
	if (unknown >= 0) {
		if (!known || total % known)
			return import_error(
				in,
				"%" PRId64
				" elements cannot be divided by the target shape's other dimensions, a multiple of %" PRId64
				" is needed; correct the shape",
				total, known);
		list[unknown] = total / known;
	}
	return import_result(in, 0, import_reshape(in, x, (uint32_t)count, list));
}

static int import_flatten(struct import_node *in)
{
	int64_t axis = import_attribute_int(in, "axis", 1), dims[2] = { 1, 1 };
	struct graph_value *x;
	uint32_t i;

	if (need_input(in, &x))
		return -1;
	if (axis < -(int64_t)x->rank || axis > x->rank)
		return import_error(in,
				    "axis is %" PRId64 ", %" PRId64 " to %" PRIu32
				    " is needed; correct axis",
				    axis, -(int64_t)x->rank, x->rank);
	if (axis < 0)
		axis += x->rank;
	for (i = 0; i < x->rank; i++)
		dims[i >= axis] *= x->dims[i];
	return import_result(in, 0, import_reshape(in, x, 2, dims));
}

/* Axes as a bit mask over @rank dimensions. */
static int axes_mask(struct import_node *in, const int64_t *axes, int32_t count, uint32_t rank,
		     uint32_t *mask)
{
	int64_t axis;
	int32_t i;

	*mask = 0;
	for (i = 0; i < count; i++) {
		if (import_axis(in, axes[i], rank, &axis))
			return -1;
		*mask |= 1u << axis;
	}
	return 0;
}

static int import_squeeze(struct import_node *in)
{
	int64_t axes[GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK];
	uint32_t mask = 0, rank = 0, i;
	struct graph_value *x;
	int32_t count;
	int result;

	if (need_input(in, &x))
		return -1;
	result = import_ints(in, 1, "axes", axes, GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	if (axes_mask(in, axes, count, x->rank, &mask))
		return -1;
	for (i = 0; i < x->rank; i++) {
		bool gone = count < 0 ? x->dims[i] == 1 : mask >> i & 1;

		if (gone && x->dims[i] != 1)
			return import_error(in,
					    "dimension %" PRIu32 " is %" PRId64
					    ", only 1 can be squeezed; correct axes",
					    i, x->dims[i]);
		if (!gone)
			dims[rank++] = x->dims[i];
	}
	return import_result(in, 0, import_reshape(in, x, rank, dims));
}

static int import_unsqueeze(struct import_node *in)
{
	int64_t axes[GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK];
	uint32_t mask, rank, from = 0, i;
	struct graph_value *x;
	int32_t count;
	int result;

	if (need_input(in, &x))
		return -1;
	result = import_ints(in, 1, "axes", axes, GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	if (count < 0)
		return import_missing(in, 2);
	rank = x->rank + (uint32_t)count;
	if (rank > GRAPH_MAX_RANK)
		return import_unknown(in,
				      "its output has %" PRIu32 " dimensions, at most "
				      "%d are supported; add fewer",
				      rank, GRAPH_MAX_RANK);
	if (axes_mask(in, axes, count, rank, &mask))
		return -1;
	if (__builtin_popcount(mask) != count)
		return import_error(
			in,
			"axes has %" PRId32
			" entries of %d dimensions, each may be named once; correct axes",
			count, __builtin_popcount(mask));
	for (i = 0; i < rank; i++)
		dims[i] = mask >> i & 1 ? 1 : x->dims[from++];
	return import_result(in, 0, import_reshape(in, x, rank, dims));
}

static int import_transpose_node(struct import_node *in)
{
	const struct onnx_attribute *perm = import_attribute(in, "perm");
	int64_t list[GRAPH_MAX_RANK];
	struct graph_value *x;
	uint32_t i;

	if (need_input(in, &x))
		return -1;
	if (perm && perm->int_count && perm->int_count != x->rank)
		return import_error(in,
				    "perm has %" PRIu32 " entries, %" PRIu32
				    " are needed; name each dimension once",
				    perm->int_count, x->rank);
	for (i = 0; i < x->rank; i++) {
		list[i] = x->rank - 1 - i;
		if (perm && perm->int_count)
			list[i] = perm->ints[i] < 0 ? perm->ints[i] + x->rank : perm->ints[i];
	}
	return import_result(in, 0, import_transpose(in, x, list));
}

static int import_shape_node(struct import_node *in)
{
	int64_t start = import_attribute_int(in, "start", 0), end, count;
	struct graph_value *x, *value;
	void *data;

	if (need_input(in, &x))
		return -1;
	end = import_attribute_int(in, "end", x->rank);
	start = start < 0 ? start + x->rank : start;
	end = end < 0 ? end + x->rank : end;
	start = start < 0 ? 0 : start > x->rank ? x->rank : start;
	end = end < 0 ? 0 : end > x->rank ? x->rank : end;
	count = end > start ? end - start : 0;
	value = import_constant(in, GRAPH_DTYPE_I64, 1, &count, &data);
	if (value && count)
		memcpy(data, x->dims + start, (size_t)count * sizeof(x->dims[0]));
	return import_result(in, 0, value);
}

static int import_size(struct import_node *in)
{
	struct graph_value *x, *value;
	void *data;

	if (need_input(in, &x))
		return -1;
	value = import_constant(in, GRAPH_DTYPE_I64, 0, NULL, &data);
	if (value)
		*(int64_t *)data = graph_element_count(x);
	return import_result(in, 0, value);
}

static int import_concat(struct import_node *in)
{
	struct graph_value *inputs[4096];
	struct graph_node *node;
	struct graph_value *x;
	uint32_t count = 0, i;
	int64_t axis;

	if (need_input(in, &x))
		return -1;
	if (in->input_count > sizeof(inputs) / sizeof(inputs[0]))
		return import_unknown(in,
				      "it joins %" PRIu32
				      " tensors, at most 4096 are supported; join them in steps",
				      in->input_count);
	if (import_axis(in, import_attribute_int(in, "axis", 1), x->rank, &axis))
		return -1;
	/* Empty parts add nothing and would only be in the way later. */
	for (i = 0; i < in->input_count; i++) {
		if (!in->inputs[i])
			return import_missing(in, in->input_count);
		if (in->inputs[i]->rank != x->rank)
			return import_error(in,
					    "input %" PRIu32 " has %" PRIu32 " dimensions, %" PRIu32
					    " like the first are needed; put a Reshape before it",
					    i, in->inputs[i]->rank, x->rank);
		if (in->inputs[i]->dims[axis] || i + 1 == in->input_count)
			inputs[count++] = in->inputs[i];
	}
	if (count > 1 && !inputs[count - 1]->dims[axis])
		count--;
	if (count == 1)
		return import_result(in, 0, inputs[0]);
	node = import_node_new(in, GRAPH_OP_CONCAT, count, inputs, 1);
	if (!node)
		return -1;
	node->attr.axis.axis = axis;
	return import_result(in, 0, import_finish(in, node));
}

/* Sizes of the parts: stated, or equal with a smaller last one. */
static int split_sizes(struct import_node *in, const struct graph_value *x, int64_t axis,
		       int64_t *sizes, uint32_t outputs)
{
	int64_t parts = import_attribute_int(in, "num_outputs", outputs), each,
		left = x->dims[axis];
	int32_t count, i;
	int result;

	result = import_ints(in, 1, "split", sizes, outputs, &count);
	if (result)
		return result;
	if (count >= 0 && (uint32_t)count != outputs)
		return import_error(in,
				    "split has %" PRId32 " entries, %" PRIu32
				    " are needed; state one an output",
				    count, outputs);
	if (count >= 0)
		return 0;
	if (parts != outputs)
		return import_error(in,
				    "num_outputs is %" PRId64 ", %" PRIu32
				    " is needed; correct num_outputs",
				    parts, outputs);
	each = (left + outputs - 1) / outputs;
	for (i = 0; (uint32_t)i < outputs; i++) {
		sizes[i] = each < left ? each : left;
		left -= sizes[i];
	}
	return 0;
}

static int import_split(struct import_node *in)
{
	uint32_t outputs = in->onnx->output_count, i;
	int64_t dims[GRAPH_MAX_RANK], axis, *sizes;
	struct graph_node *node;
	struct graph_value *x;
	int result;

	if (need_input(in, &x))
		return -1;
	if (!outputs)
		return import_error(in, "it has 0 outputs, at least 1 is needed; name one");
	if (import_axis(in, import_attribute_int(in, "axis", 0), x->rank, &axis))
		return -1;
	sizes = arena_alloc_array(in->import->arena, outputs, sizeof(*sizes));
	if (!sizes)
		return import_memory(in);
	result = split_sizes(in, x, axis, sizes, outputs);
	if (result)
		return result;
	node = import_node_new(in, GRAPH_OP_SPLIT, 1, &x, outputs);
	if (!node)
		return -1;
	node->attr.axis.axis = axis;
	memcpy(dims, x->dims, sizeof(dims));
	for (i = 0; i < outputs; i++) {
		struct graph_value *y;

		dims[axis] = sizes[i];
		if (sizes[i] < 0)
			return import_error(in,
					    "size %" PRIu32 " is %" PRId64
					    ", at least 0 is needed; correct split",
					    i, sizes[i]);
		if (import_stated(in, node, i, x->dtype, x->rank, dims))
			return -1;
		y = node->outputs[i];
		if (import_result(in, i, y))
			return -1;
	}
	return import_finish_all(in, node);
}

/* One dimension of Slice, by the rules of numpy. */
static void slice_dim(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first,
		      int64_t *count)
{
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1, room;

	if (start < 0)
		start = start < -size ? low : start + size;
	if (end < 0)
		end = end < -size ? low : end + size;
	start = start < low ? low : start > high ? high : start;
	end = end < low ? low : end > high ? high : end;
	room = step > 0 ? end - start : start - end;
	*first = start;
	*count = 0;
	if (room <= 0)
		return;
	/* No step is longer than the dimension, so INT64_MIN cannot be negated. */
	if (step > size)
		step = size;
	if (step < -size)
		step = -size;
	*count = (room - 1) / (step > 0 ? step : -step) + 1;
}

static int slice_lists(struct import_node *in, int64_t lists[4][GRAPH_MAX_RANK], int32_t counts[4])
{
	static const char *const names[4] = { "starts", "ends", "axes", "steps" };
	int result;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		result = import_ints(in, i + 1, in->opset < 10 ? names[i] : NULL, lists[i],
				     GRAPH_MAX_RANK, &counts[i]);
		if (result)
			return result;
	}
	if (counts[0] < 0 || counts[1] != counts[0] || (counts[2] >= 0 && counts[2] != counts[0]) ||
	    (counts[3] >= 0 && counts[3] != counts[0]))
		return import_error(in,
				    "starts, ends, axes and steps have %" PRId32 ", %" PRId32
				    ", %" PRId32 " and %" PRId32
				    " entries, as many of each are needed; correct them",
				    counts[0], counts[1], counts[2], counts[3]);
	return 0;
}

static int import_slice(struct import_node *in)
{
	int64_t lists[4][GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK], axis;
	struct graph_attr_slice slice;
	struct graph_node *node;
	struct graph_value *x;
	int32_t counts[4], i;
	bool whole = true;
	int result;

	if (need_input(in, &x))
		return -1;
	result = slice_lists(in, lists, counts);
	if (result)
		return result;
	memcpy(dims, x->dims, sizeof(dims));
	for (i = 0; i < GRAPH_MAX_RANK; i++) {
		slice.start[i] = 0;
		slice.step[i] = 1;
	}
	for (i = 0; i < counts[0]; i++) {
		int64_t step = counts[3] >= 0 ? lists[3][i] : 1;

		if (!step)
			return import_error(in,
					    "step %" PRId32
					    " is 0, another number is needed; correct steps",
					    i);
		if (import_axis(in, counts[2] >= 0 ? lists[2][i] : i, x->rank, &axis))
			return -1;
		slice_dim(x->dims[axis], lists[0][i], lists[1][i], step, &slice.start[axis],
			  &dims[axis]);
		slice.step[axis] = dims[axis] > 1 ? step : 1;
		if (!dims[axis])
			slice.start[axis] = 0;
		whole = whole && dims[axis] == x->dims[axis] && slice.step[axis] == 1;
	}
	if (whole)
		return import_result(in, 0, x);
	node = import_node_new(in, GRAPH_OP_SLICE, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, x->rank, dims))
		return -1;
	node->attr.slice = slice;
	return import_result(in, 0, import_finish(in, node));
}

static int pad_mode(struct import_node *in, struct graph_attr_pad *pad)
{
	struct wire_bytes mode;

	pad->mode = GRAPH_PAD_CONSTANT;
	if (!import_attribute_text(in, "mode", &mode) || onnx_is(mode, "constant"))
		return 0;
	if (onnx_is(mode, "reflect"))
		pad->mode = GRAPH_PAD_REFLECT;
	else if (onnx_is(mode, "edge"))
		pad->mode = GRAPH_PAD_EDGE;
	else if (onnx_is(mode, "wrap"))
		pad->mode = GRAPH_PAD_WRAP;
	else
		return import_unknown(
			in,
			"mode is '%s', only constant, reflect, edge and wrap are supported; use one of them",
			onnx_string(in->import->arena, mode));
	return 0;
}

static int pad_amounts(struct import_node *in, const struct graph_value *x,
		       struct graph_attr_pad *pad)
{
	int64_t amounts[2 * GRAPH_MAX_RANK], axes[GRAPH_MAX_RANK], axis;
	int32_t count, axis_count, i;
	int result;

	result = import_ints(in, 1, in->opset < 2 ? "paddings" : "pads", amounts,
			     2 * GRAPH_MAX_RANK, &count);
	if (!result)
		result = import_ints(in, 3, NULL, axes, GRAPH_MAX_RANK, &axis_count);
	if (result)
		return result;
	if (axis_count < 0) {
		axis_count = (int32_t)x->rank;
		for (i = 0; i < axis_count; i++)
			axes[i] = i;
	}
	if (count != 2 * axis_count)
		return import_error(in,
				    "pads has %" PRId32 " entries, %" PRId32
				    " are needed; state two a dimension",
				    count, 2 * axis_count);
	for (i = 0; i < axis_count; i++) {
		if (import_axis(in, axes[i], x->rank, &axis))
			return -1;
		pad->begin[axis] = amounts[i];
		pad->end[axis] = amounts[axis_count + i];
	}
	return 0;
}

static int import_pad(struct import_node *in)
{
	struct graph_value *x, *fill = import_input(in, 2);
	struct graph_attr_pad pad = { 0 };
	struct graph_node *node;
	bool none = true;
	uint32_t i;
	int result;

	if (need_input(in, &x))
		return -1;
	result = pad_mode(in, &pad);
	if (!result)
		result = pad_amounts(in, x, &pad);
	if (result)
		return result;
	pad.value = import_attribute_float(in, "value", 0.0f);
	if (fill && pad.mode == GRAPH_PAD_CONSTANT) {
		if (!graph_is_constant(fill) || graph_element_count(fill) != 1)
			return import_unknown(
				in, "its fill value is computed while running; the device "
				    "needs it when compiling");
		pad.value = graph_constant_as_f32(fill, 0);
	}
	for (i = 0; i < x->rank; i++)
		none = none && !pad.begin[i] && !pad.end[i];
	if (none)
		return import_result(in, 0, x);
	node = import_node_new(in, GRAPH_OP_PAD, 1, &x, 1);
	if (!node)
		return -1;
	node->attr.pad = pad;
	return import_result(in, 0, import_finish(in, node));
}

static int import_expand(struct import_node *in)
{
	int64_t list[GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK];
	struct graph_node *node;
	struct graph_value *x;
	uint32_t rank, i;
	int32_t count;
	int result;

	if (need_input(in, &x))
		return -1;
	result = import_ints(in, 1, NULL, list, GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	if (count < 0)
		return import_missing(in, 2);
	rank = x->rank > (uint32_t)count ? x->rank : (uint32_t)count;
	for (i = 0; i < rank; i++) {
		int64_t have = i < rank - x->rank ? 1 : x->dims[i - (rank - x->rank)];
		int64_t want = i < rank - (uint32_t)count ? 1 : list[i - (rank - (uint32_t)count)];

		if (have != want && have != 1 && want != 1)
			return import_error(in,
					    "dimension %" PRIu32 " of the target shape is %" PRId64
					    ", %" PRId64 " or 1 is needed; correct the shape",
					    i, want, have);
		dims[i] = have == 1 ? want : have;
	}
	if (rank == x->rank && !memcmp(dims, x->dims, rank * sizeof(dims[0])))
		return import_result(in, 0, x);
	node = import_node_new(in, GRAPH_OP_EXPAND, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, rank, dims))
		return -1;
	return import_result(in, 0, import_finish(in, node));
}

static int import_tile(struct import_node *in)
{
	int64_t repeats[GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK], axis;
	struct graph_node *node;
	struct graph_value *x;
	int32_t count, i;
	int result;

	if (need_input(in, &x))
		return -1;
	result = import_ints(in, 1, NULL, repeats, GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	/* Opset 1: one count and one axis, both inputs. */
	if (in->opset < 6 && in->input_count == 3 && count == 1) {
		int64_t times = repeats[0];

		result = import_ints(in, 2, NULL, &axis, 1, &count);
		if (result || import_axis(in, axis, x->rank, &axis))
			return result ? result : -1;
		for (i = 0; (uint32_t)i < x->rank; i++)
			repeats[i] = i == axis ? times : 1;
		count = (int32_t)x->rank;
	}
	if (count < 0 || (uint32_t)count != x->rank)
		return import_error(in,
				    "repeats has %" PRId32 " entries, %" PRIu32
				    " are needed; state one a dimension",
				    count, x->rank);
	for (i = 0; i < count; i++) {
		if (repeats[i] < 0 || repeats[i] > (int64_t)1 << 40 ||
		    (repeats[i] && x->dims[i] > ((int64_t)1 << 40) / repeats[i]))
			return import_error(in,
					    "repeat %" PRId32 " is %" PRId64
					    ", 0 to 2^40 elements are supported; correct repeats",
					    i, repeats[i]);
		dims[i] = x->dims[i] * repeats[i];
	}
	node = import_node_new(in, GRAPH_OP_TILE, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, x->rank, dims))
		return -1;
	return import_result(in, 0, import_finish(in, node));
}

static int import_cast_node(struct import_node *in)
{
	enum graph_dtype dtype;
	struct graph_value *x, *like = import_input(in, 1);
	int64_t to = import_attribute_int(in, "to", ONNX_UNDEFINED);

	if (need_input(in, &x))
		return -1;
	dtype = like ? like->dtype : onnx_dtype((int32_t)(to < 0 || to > 1000 ? 0 : to));
	if (!graph_dtype_bytes(dtype))
		return import_unknown(
			in,
			"element type is %s, only floats of 16 to 64 bits, integers and bool are supported; cast to one of them",
			onnx_type_name((int32_t)(to < 0 || to > 1000 ? 0 : to)));
	return import_result(in, 0, import_cast(in, x, dtype));
}

/* Depth to space and back: a reshape, a transpose, a reshape. */
static int rearrange(struct import_node *in, struct graph_value *x, const int64_t first[6],
		     const int64_t perm[6], const int64_t last[4])
{
	x = import_reshape(in, x, 6, first);
	if (x)
		x = import_transpose(in, x, perm);
	if (x)
		x = import_reshape(in, x, 4, last);
	return import_result(in, 0, x);
}

static int import_depth_to_space(struct import_node *in)
{
	static const int64_t perms[2][6] = { { 0, 3, 4, 1, 5, 2 }, { 0, 1, 4, 2, 5, 3 } };
	int64_t block = import_attribute_int(in, "blocksize", 0), channels;
	bool crd = import_attribute_is(in, "mode", "CRD");
	char text[GRAPH_SHAPE_TEXT];
	struct graph_value *x;

	if (need_input(in, &x))
		return -1;
	if (x->rank != 4 || block < 1 || block > 4096 || x->dims[1] % (block * block))
		return import_error(in,
				    "blocksize is %" PRId64
				    " for an input of shape %s, [N,C,H,W] with C a multiple of its "
				    "square is needed; correct blocksize",
				    block, graph_format_shape(x, text));
	channels = x->dims[1] / (block * block);
	return rearrange(
		in, x,
		crd ? (int64_t[6]){ x->dims[0], channels, block, block, x->dims[2], x->dims[3] } :
		      (int64_t[6]){ x->dims[0], block, block, channels, x->dims[2], x->dims[3] },
		perms[crd],
		(int64_t[4]){ x->dims[0], channels, x->dims[2] * block, x->dims[3] * block });
}

static int import_space_to_depth(struct import_node *in)
{
	static const int64_t perm[6] = { 0, 3, 5, 1, 2, 4 };
	int64_t block = import_attribute_int(in, "blocksize", 0);
	char text[GRAPH_SHAPE_TEXT];
	struct graph_value *x;

	if (need_input(in, &x))
		return -1;
	if (x->rank != 4 || block < 1 || block > 4096 || x->dims[2] % block || x->dims[3] % block)
		return import_error(
			in,
			"blocksize is %" PRId64
			" for an input of shape %s, [N,C,H,W] with H and W multiples of it "
			"is needed; correct blocksize",
			block, graph_format_shape(x, text));
	return rearrange(in, x,
			 (int64_t[6]){ x->dims[0], x->dims[1], x->dims[2] / block, block,
				       x->dims[3] / block, block },
			 perm,
			 (int64_t[4]){ x->dims[0], x->dims[1] * block * block, x->dims[2] / block,
				       x->dims[3] / block });
}

const struct import_operator import_shape_operators[] = {
	{ "Identity", import_identity },
	{ "Dropout", import_dropout },
	{ "Reshape", import_reshape_node },
	{ "Flatten", import_flatten },
	{ "Squeeze", import_squeeze },
	{ "Unsqueeze", import_unsqueeze },
	{ "Transpose", import_transpose_node },
	{ "Shape", import_shape_node },
	{ "Size", import_size },
	{ "Concat", import_concat },
	{ "Split", import_split },
	{ "Slice", import_slice },
	{ "Pad", import_pad },
	{ "Expand", import_expand },
	{ "Tile", import_tile },
	{ "Cast", import_cast_node },
	{ "CastLike", import_cast_node },
	{ "DepthToSpace", import_depth_to_space },
	{ "SpaceToDepth", import_space_to_depth },
	{ NULL, NULL },
};
