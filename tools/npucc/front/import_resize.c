// SPDX-License-Identifier: MIT
/* Resize and its ancestor Upsample. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "import.h"

struct resize {
	struct graph_attr_resize attr;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t axes[GRAPH_MAX_RANK]; /* dimensions that sizes, scales and roi speak of */
	uint32_t axis_count;
};

static int read_modes(struct import_node *in, struct graph_attr_resize *attr)
{
	static const char *const coordinates[] = { "half_pixel",	 "half_pixel_symmetric",
						   "pytorch_half_pixel", "align_corners",
						   "asymmetric",	 "tf_crop_and_resize" };
	static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
					       "ceil" };
	struct wire_bytes text;
	uint32_t i;

	/* Upsample and the first Resize know neither of the two attributes. */
	attr->coordinate =
		in->opset < 11 ? GRAPH_COORDINATE_ASYMMETRIC : GRAPH_COORDINATE_HALF_PIXEL;
	attr->nearest = in->opset < 11 ? GRAPH_NEAREST_FLOOR : GRAPH_NEAREST_ROUND_PREFER_FLOOR;
	if (import_attribute_text(in, "mode", &text)) {
		if (onnx_is(text, "linear") || onnx_is(text, "bilinear"))
			attr->mode = GRAPH_RESIZE_LINEAR;
		else if (onnx_is(text, "cubic"))
			attr->mode = GRAPH_RESIZE_CUBIC;
		else if (!onnx_is(text, "nearest"))
			return import_unknown(
				in,
				"mode is '%s', only nearest, linear and cubic are supported; use one of them",
				onnx_string(in->import->arena, text));
	}
	if (import_attribute_text(in, "coordinate_transformation_mode", &text)) {
		for (i = 0; i < 6 && !onnx_is(text, coordinates[i]); i++)
			;
		if (i == 6)
			return import_unknown(
				in,
				"coordinate_transformation_mode is '%s', only half_pixel, half_pixel_symmetric, "
				"pytorch_half_pixel, align_corners, asymmetric and tf_crop_and_resize are supported; "
				"use one of them",
				onnx_string(in->import->arena, text));
		attr->coordinate = (enum graph_resize_coordinate)i;
	}
	if (import_attribute_text(in, "nearest_mode", &text)) {
		for (i = 0; i < 4 && !onnx_is(text, nearest[i]); i++)
			;
		if (i == 4)
			return import_unknown(
				in,
				"nearest_mode is '%s', only round_prefer_floor, round_prefer_ceil, floor and ceil are "
				"supported; use one of them",
				onnx_string(in->import->arena, text));
		attr->nearest = (enum graph_resize_nearest)i;
	}
	attr->cubic_a = import_attribute_float(in, "cubic_coeff_a", -0.75f);
	attr->extrapolation = import_attribute_float(in, "extrapolation_value", 0.0f);
	attr->exclude_outside = import_attribute_int(in, "exclude_outside", 0) != 0;
	attr->antialias = import_attribute_int(in, "antialias", 0) != 0;
	return 0;
}

static int read_axes(struct import_node *in, const struct graph_value *x, struct resize *resize)
{
	const struct onnx_attribute *axes = import_attribute(in, "axes");
	int64_t axis;
	uint32_t i;

	resize->axis_count = axes && axes->int_count ? axes->int_count : x->rank;
	if (resize->axis_count > x->rank)
		return import_error(in,
				    "axes has %" PRIu32 " entries, at most %" PRIu32
				    " are needed; correct axes",
				    resize->axis_count, x->rank);
	for (i = 0; i < resize->axis_count; i++) {
		axis = i;
		if (axes && axes->int_count && import_axis(in, axes->ints[i], x->rank, &axis))
			return -1;
		resize->axes[i] = (uint32_t)axis;
	}
	return 0;
}

/* A float list that must be constant; *count is -1 when absent or empty. */
static int float_list(struct import_node *in, uint32_t index, const char *name, float *list,
		      uint32_t room, int32_t *count)
{
	const struct onnx_attribute *attribute = import_attribute(in, "scales");
	const struct graph_value *value = import_input(in, index);
	int64_t entries, i;

	*count = -1;
	if (!value && index == UINT32_MAX && attribute && attribute->float_count <= room) {
		memcpy(list, attribute->floats, attribute->float_count * sizeof(*list));
		*count = (int32_t)attribute->float_count;
	}
	if (!value)
		return 0;
	entries = graph_element_count(value);
	if (!entries)
		return 0;
	if (!graph_is_constant(value))
		return import_unknown(
			in,
			"its %s are computed while running, only constants are supported; make them constants",
			name);
	if (entries > room)
		return import_error(in,
				    "it has %" PRId64 " %s, at most %" PRIu32
				    " are supported; correct them",
				    entries, name, room);
	for (i = 0; i < entries; i++)
		list[i] = graph_constant_as_f32(value, i);
	*count = (int32_t)entries;
	return 0;
}

static int read_roi(struct import_node *in, struct resize *resize)
{
	float roi[2 * GRAPH_MAX_RANK];
	int32_t count;
	uint32_t i;
	int result;

	for (i = 0; i < GRAPH_MAX_RANK; i++)
		resize->attr.roi_end[i] = 1.0f;
	if (resize->attr.coordinate != GRAPH_COORDINATE_CROP_AND_RESIZE)
		return 0;
	result = float_list(in, 1, "regions", roi, 2 * GRAPH_MAX_RANK, &count);
	if (result)
		return result;
	if (count != 2 * (int32_t)resize->axis_count)
		return import_error(in,
				    "its region of interest has %" PRId32 " entries, %" PRIu32
				    " are needed; correct roi",
				    count, 2 * resize->axis_count);
	for (i = 0; i < resize->axis_count; i++) {
		resize->attr.roi_start[resize->axes[i]] = roi[i];
		resize->attr.roi_end[resize->axes[i]] = roi[resize->axis_count + i];
	}
	return 0;
}

static int apply_scales(struct import_node *in, const struct graph_value *x, struct resize *resize,
			const float *scales)
{
	uint32_t i;

	for (i = 0; i < resize->axis_count; i++) {
		uint32_t axis = resize->axes[i];
		double roi =
			(double)resize->attr.roi_end[axis] - (double)resize->attr.roi_start[axis];
		double size = (double)x->dims[axis] * roi * (double)scales[i];

		/* Written so that NaN is refused too. */
		if (!(scales[i] > 0) || !(size < 1e12) || !(size >= 0))
			return import_error(
				in,
				"scale %" PRIu32
				" is %g, more than 0 and at most 10^12 elements are supported; correct scales",
				i, (double)scales[i]);
		resize->attr.scale[axis] = scales[i];
		resize->dims[axis] = (int64_t)floor(size);
	}
	return 0;
}

/* keep_aspect_ratio_policy: one scale for all axes, the smallest or largest. */
static void keep_ratio(struct import_node *in, const struct graph_value *x, struct resize *resize,
		       const int64_t *sizes)
{
	bool larger = import_attribute_is(in, "keep_aspect_ratio_policy", "not_smaller");
	double scale = 0;
	uint32_t i;

	for (i = 0; i < resize->axis_count; i++) {
		double own = (double)sizes[i] / (double)x->dims[resize->axes[i]];

		if (!i || (larger ? own > scale : own < scale))
			scale = own;
	}
	for (i = 0; i < resize->axis_count; i++) {
		uint32_t axis = resize->axes[i];

		resize->attr.scale[axis] = (float)scale;
		resize->dims[axis] = (int64_t)floor(scale * (double)x->dims[axis] + 0.5);
	}
}

static int apply_sizes(struct import_node *in, const struct graph_value *x, struct resize *resize,
		       const int64_t *sizes)
{
	struct wire_bytes policy;
	uint32_t i;

	for (i = 0; i < resize->axis_count; i++) {
		uint32_t axis = resize->axes[i];

		if (sizes[i] < 1 || sizes[i] > (int64_t)1 << 40 || x->dims[axis] < 1)
			return import_error(in,
					    "size %" PRIu32 " is %" PRId64
					    ", 1 to 2^40 is supported; correct sizes",
					    i, sizes[i]);
		resize->dims[axis] = sizes[i];
		resize->attr.scale[axis] = (float)((double)sizes[i] / (double)x->dims[axis]);
	}
	if (import_attribute_text(in, "keep_aspect_ratio_policy", &policy) &&
	    !onnx_is(policy, "stretch"))
		keep_ratio(in, x, resize, sizes);
	return 0;
}

static int finish_resize(struct import_node *in, struct graph_value *x, const struct resize *resize)
{
	struct graph_node *node;
	bool nothing = resize->attr.coordinate != GRAPH_COORDINATE_CROP_AND_RESIZE;
	uint32_t i;

	for (i = 0; i < x->rank; i++)
		nothing = nothing && resize->dims[i] == x->dims[i] && resize->attr.scale[i] == 1.0f;
	if (nothing)
		return import_result(in, 0, x);
	node = import_node_new(in, GRAPH_OP_RESIZE, 1, &x, 1);
	if (!node || import_stated(in, node, 0, x->dtype, x->rank, resize->dims))
		return -1;
	node->attr.resize = resize->attr;
	return import_result(in, 0, import_finish(in, node));
}

static int import_resize(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0);
	bool upsample = in->opset < 11 || !strcmp(in->op_type, "Upsample");
	float scales[GRAPH_MAX_RANK];
	int64_t sizes[GRAPH_MAX_RANK];
	struct resize resize = { 0 };
	int32_t scale_count, size_count = -1;
	uint32_t i, index;
	int result;

	if (!x)
		return import_missing(in, 1);
	result = read_modes(in, &resize.attr);
	if (result)
		return result;
	memcpy(resize.dims, x->dims, sizeof(resize.dims));
	for (i = 0; i < GRAPH_MAX_RANK; i++)
		resize.attr.scale[i] = 1.0f;
	if (read_axes(in, x, &resize))
		return -1;
	result = read_roi(in, &resize);
	if (result)
		return result;
	index = !upsample ? 2 : import_input(in, 1) ? 1 : UINT32_MAX;
	result = float_list(in, index, "scales", scales, GRAPH_MAX_RANK, &scale_count);
	if (!result && !upsample)
		result = import_ints(in, 3, NULL, sizes, GRAPH_MAX_RANK, &size_count);
	if (result)
		return result;
	if (size_count > 0 && (uint32_t)size_count == resize.axis_count)
		result = apply_sizes(in, x, &resize, sizes);
	else if (scale_count > 0 && (uint32_t)scale_count == resize.axis_count)
		result = apply_scales(in, x, &resize, scales);
	else
		result = import_error(in,
				      "it has %" PRId32 " scales and %" PRId32 " sizes, %" PRIu32
				      " of one of them are needed; state one a dimension",
				      scale_count < 0 ? 0 : scale_count,
				      size_count < 0 ? 0 : size_count, resize.axis_count);
	return result ? result : finish_resize(in, x, &resize);
}

const struct import_operator import_resize_operators[] = {
	{ "Resize", import_resize },
	{ "Upsample", import_resize },
	{ NULL, NULL },
};
