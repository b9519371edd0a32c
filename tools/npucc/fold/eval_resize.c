// SPDX-License-Identifier: MIT
/* Resize: separable interpolation, one dimension after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"

/*
 * The scale as it was before the importer rounded it: a position between two others is a tie by
 * the sizes' ratio, which the rounded one misses.
 */
static double exact_scale(const struct graph_attr_resize *resize, uint32_t dim, int64_t in,
			  int64_t size)
{
	double ratio = (double)size / (double)in;

	return (float)ratio == resize->scale[dim] ? ratio : (double)resize->scale[dim];
}

/* Where output position @out of a dimension lies in the input. */
static double source_position(const struct graph_attr_resize *resize, uint32_t dim, int64_t in,
			      int64_t size, int64_t out)
{
	double scale = exact_scale(resize, dim, in, size), x = (double)out, adjustment, center;

	switch (resize->coordinate) {
	case GRAPH_COORDINATE_HALF_PIXEL:
		return (x + 0.5) / scale - 0.5;
	case GRAPH_COORDINATE_HALF_PIXEL_SYMMETRIC:
		adjustment = (double)size / (scale * (double)in);
		center = (double)in / 2;
		return center * (1 - adjustment) + (x + 0.5) / scale - 0.5;
	case GRAPH_COORDINATE_PYTORCH_HALF_PIXEL:
		return size > 1 ? (x + 0.5) / scale - 0.5 : 0;
	case GRAPH_COORDINATE_ALIGN_CORNERS:
		/* By the unrounded length, as the operator's own reference has it. */
		return size > 1 ? x * (double)(in - 1) / (scale * (double)in - 1) : 0;
	case GRAPH_COORDINATE_CROP_AND_RESIZE: {
		double start = (double)resize->roi_start[dim] * (double)(in - 1);
		double width = ((double)resize->roi_end[dim] - (double)resize->roi_start[dim]) *
			       (double)(in - 1);

		if (size > 1)
			return start + x * width / (double)(size - 1);
		return start + width / 2;
	}
	default:
		return x / scale;
	}
}

static double nearest_position(enum graph_resize_nearest nearest, double x)
{
	switch (nearest) {
	case GRAPH_NEAREST_ROUND_PREFER_FLOOR:
		return ceil(x - 0.5);
	case GRAPH_NEAREST_ROUND_PREFER_CEIL:
		return floor(x + 0.5);
	case GRAPH_NEAREST_FLOOR:
		return floor(x);
	default:
		return ceil(x);
	}
}

static double kernel_weight(const struct graph_attr_resize *resize, double distance)
{
	double a = (double)resize->cubic_a, d = fabs(distance);

	if (resize->mode == GRAPH_RESIZE_LINEAR)
		return d < 1 ? 1 - d : 0;
	if (d < 1)
		return ((a + 2) * d - (a + 3)) * d * d + 1;
	return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Weights of the input positions that make one output position. */
static int make_taps(const struct graph_attr_resize *resize, uint32_t dim, int64_t in, double x,
		     struct eval_taps *taps)
{
	double scale = (double)resize->scale[dim];
	double shrink = resize->antialias && scale < 1 ? scale : 1;
	double reach = (resize->mode == GRAPH_RESIZE_LINEAR ? 1 : 2) / shrink, sum = 0;
	int64_t i;

	if (resize->mode == GRAPH_RESIZE_NEAREST) {
		taps->first = (int64_t)nearest_position(resize->nearest, x);
		taps->count = 1;
		taps->weight[0] = 1;
		return 0;
	}
	taps->first = (int64_t)floor(x - reach) + 1;
	taps->count = (int64_t)ceil(x + reach) - taps->first;
	if (taps->count < 1 || taps->count > EVAL_MAX_TAPS)
		return -1;
	for (i = 0; i < taps->count; i++) {
		int64_t position = taps->first + i;

		taps->weight[i] = kernel_weight(resize, ((double)position - x) * shrink);
		if (resize->exclude_outside && (position < 0 || position >= in))
			taps->weight[i] = 0;
		sum += taps->weight[i];
	}
	if (!resize->exclude_outside && shrink == 1)
		return 0;
	for (i = 0; sum != 0 && i < taps->count; i++)
		taps->weight[i] /= sum;
	return 0;
}

int64_t eval_clamp(int64_t position, int64_t size)
{
	if (position < 0)
		return 0;
	return position < size ? position : size - 1;
}

int eval_resize_taps(const struct graph_attr_resize *resize, uint32_t dim, int64_t in, int64_t size,
		     int64_t at, struct eval_taps *taps)
{
	double x = source_position(resize, dim, in, size, at);

	taps->outside = resize->coordinate == GRAPH_COORDINATE_CROP_AND_RESIZE &&
			(x < 0 || x > (double)(in - 1));
	/* NaN and anything beyond all sense fall here too. */
	if (!(fabs(x) < 1e15))
		return -1;
	return make_taps(resize, dim, in, x, taps);
}

/* [outer, in, inner] -> [outer, size, inner] */
static int resize_dim(const struct graph_attr_resize *resize, uint32_t dim, const double *from,
		      double *to, int64_t outer, int64_t in, int64_t size, int64_t inner)
{
	struct eval_taps *taps = malloc(sizeof(*taps));
	int64_t o, y, i, t;
	int result = -1;

	if (!taps)
		return -1;
	for (y = 0; y < size; y++) {
		if (eval_resize_taps(resize, dim, in, size, y, taps))
			goto out;
		for (o = 0; o < outer; o++)
			for (i = 0; i < inner; i++) {
				double sum = 0;

				for (t = 0; t < taps->count; t++) {
					int64_t p = eval_clamp(taps->first + t, in);

					sum += taps->weight[t] * from[(o * in + p) * inner + i];
				}
				to[(o * size + y) * inner + i] =
					taps->outside ? (double)resize->extrapolation : sum;
			}
	}
	result = 0;
out:
	free(taps);
	return result;
}

static int64_t product(const int64_t *dims, uint32_t from, uint32_t to)
{
	int64_t result = 1;
	uint32_t i;

	for (i = from; i < to; i++)
		result *= dims[i];
	return result;
}

int eval_resize(const struct graph_node *node, const void *const *inputs, void *const *outputs,
		struct diag *diag)
{
	const struct graph_attr_resize *resize = &node->attr.resize;
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t dims[GRAPH_MAX_RANK], count = graph_element_count(x), i;
	double *current = malloc(((size_t)count + 1) * sizeof(*current));
	int result = -1;
	uint32_t d;

	if (!current)
		goto out;
	for (i = 0; i < count; i++)
		current[i] = eval_load(x->dtype, inputs[0], i);
	memcpy(dims, x->dims, sizeof(dims));
	for (d = 0; count && d < x->rank; d++) {
		int64_t outer = product(dims, 0, d), inner = product(dims, d + 1, x->rank);
		double *next;

		if (dims[d] == y->dims[d] && resize->scale[d] == 1.0f &&
		    resize->coordinate != GRAPH_COORDINATE_CROP_AND_RESIZE)
			continue;
		next = calloc((size_t)(outer * y->dims[d] * inner) + 1, sizeof(*next));
		if (!next ||
		    resize_dim(resize, d, current, next, outer, dims[d], y->dims[d], inner)) {
			free(next);
			goto out;
		}
		free(current);
		current = next;
		dims[d] = y->dims[d];
	}
	count = graph_element_count(y);
	for (i = 0; i < count; i++)
		eval_store(y->dtype, outputs[0], i, current[i]);
	result = 0;
out:
	free(current);
	if (result)
		diag_error(diag,
			   "node '%s' (%s) cannot be evaluated: its scale is out of range or "
			   "memory is short",
			   node->name, node->op_type);
	return result;
}
