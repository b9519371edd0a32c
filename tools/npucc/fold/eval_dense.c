// SPDX-License-Identifier: MIT
/* Convolutions, matrix products and pools; sums in double. */
#include <math.h>
#include <stdlib.h>

#include "eval.h"

/* Operands as double, so that the inner loops are plain. */
static double *as_double(const struct graph_value *value, const void *data)
{
	int64_t count = graph_element_count(value), i;
	double *copy = malloc(((size_t)count + 1) * sizeof(*copy));

	for (i = 0; copy && i < count; i++)
		copy[i] = eval_load(value->dtype, data, i);
	return copy;
}

static void finish(const struct graph_node *node, const void *const *inputs, const double *sums,
		   int64_t inner, int64_t channels, void *output)
{
	const struct graph_value *y = node->outputs[0];
	int64_t count = graph_element_count(y), i;
	bool bias = node->input_count > GRAPH_IN_BIAS && node->inputs[GRAPH_IN_BIAS];
	bool residual = node->input_count > GRAPH_IN_RESIDUAL && node->inputs[GRAPH_IN_RESIDUAL];

	for (i = 0; i < count; i++) {
		double v = sums[i];

		if (bias)
			v += eval_load(node->inputs[GRAPH_IN_BIAS]->dtype, inputs[GRAPH_IN_BIAS],
				       i / inner % channels);
		if (residual)
			v += eval_load(y->dtype, inputs[GRAPH_IN_RESIDUAL], i);
		eval_store(y->dtype, output, i, v);
	}
}

/* One output plane += one input plane * one kernel plane. */
static void conv_plane(const struct graph_window *window, const double *x, int64_t height,
		       int64_t width, const double *w, double *y, int64_t out_height,
		       int64_t out_width)
{
	int64_t ky, kx, oy, ox;

	for (ky = 0; ky < window->kernel[0]; ky++)
		for (kx = 0; kx < window->kernel[1]; kx++) {
			double factor = w[ky * window->kernel[1] + kx];
			int64_t left = kx * window->dilation[1] - window->pad_begin[1];

			for (oy = 0; oy < out_height; oy++) {
				int64_t iy = oy * window->stride[0] + ky * window->dilation[0] -
					     window->pad_begin[0];
				const double *row = x + iy * width;

				if (iy < 0 || iy >= height)
					continue;
				for (ox = 0; ox < out_width; ox++) {
					int64_t ix = ox * window->stride[1] + left;

					if (ix >= 0 && ix < width)
						y[oy * out_width + ox] += factor * row[ix];
				}
			}
		}
}

/* The transpose of conv_plane(): input positions scatter into the output. */
static void transposed_plane(const struct graph_window *window, const double *x, int64_t height,
			     int64_t width, const double *w, double *y, int64_t out_height,
			     int64_t out_width)
{
	int64_t iy, ix, ky, kx;

	for (iy = 0; iy < height; iy++)
		for (ix = 0; ix < width; ix++)
			for (ky = 0; ky < window->kernel[0]; ky++)
				for (kx = 0; kx < window->kernel[1]; kx++) {
					int64_t oy = iy * window->stride[0] - window->pad_begin[0] +
						     ky * window->dilation[0];
					int64_t ox = ix * window->stride[1] - window->pad_begin[1] +
						     kx * window->dilation[1];

					if (oy >= 0 && oy < out_height && ox >= 0 && ox < out_width)
						y[oy * out_width + ox] +=
							x[iy * width + ix] *
							w[ky * window->kernel[1] + kx];
				}
}

static void conv_sums(const struct graph_node *node, const double *x, const double *w, double *sums)
{
	const struct graph_attr_conv *conv = &node->attr.conv;
	const int64_t *in = node->inputs[0]->dims, *out = node->outputs[0]->dims;
	int64_t kernel = conv->window.kernel[0] * conv->window.kernel[1];
	int64_t in_group = in[1] / conv->group, out_group = out[1] / conv->group;
	int64_t in_plane = in[2] * in[3], out_plane = out[2] * out[3], n, m, c;

	for (n = 0; n < out[0]; n++)
		for (m = 0; m < out[1]; m++)
			for (c = 0; c < in_group; c++) {
				int64_t channel = m / out_group * in_group + c;
				const double *plane = x + (n * in[1] + channel) * in_plane;
				double *target = sums + (n * out[1] + m) * out_plane;

				if (node->op == GRAPH_OP_CONV)
					conv_plane(&conv->window, plane, in[2], in[3],
						   w + (m * in_group + c) * kernel, target, out[2],
						   out[3]);
				else
					transposed_plane(&conv->window, plane, in[2], in[3],
							 w + (channel * out_group + m % out_group) *
									 kernel,
							 target, out[2], out[3]);
			}
}

static void matmul_sums(const struct graph_node *node, const double *a, const double *b,
			double *sums)
{
	const struct graph_value *va = node->inputs[0], *vb = node->inputs[1];
	const struct graph_value *y = node->outputs[0];
	struct graph_value lead_y = *y, lead_a = *va, lead_b = *vb;
	int64_t rows = y->dims[y->rank - 2], columns = y->dims[y->rank - 1], i, m, n, k;
	bool transpose_a = node->attr.matmul.transpose_a,
	     transpose_b = node->attr.matmul.transpose_b;
	int64_t depth = va->dims[va->rank - (transpose_a ? 2 : 1)];
	struct eval_walk walk;

	lead_y.rank -= 2;
	lead_a.rank -= 2;
	lead_b.rank -= 2;
	eval_walk_init(&walk, &lead_y);
	eval_walk_broadcast(&walk, 0, &lead_a);
	eval_walk_broadcast(&walk, 1, &lead_b);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		const double *from_a = a + walk.offset[0] * rows * depth;
		const double *from_b = b + walk.offset[1] * depth * columns;
		double *to = sums + i * rows * columns;

		for (m = 0; m < rows; m++)
			for (k = 0; k < depth; k++) {
				double factor = from_a[transpose_a ? k * rows + m : m * depth + k];
				int64_t step = transpose_b ? depth : 1;
				const double *row = from_b + (transpose_b ? k : k * columns);

				for (n = 0; n < columns; n++)
					to[m * columns + n] += factor * row[n * step];
			}
	}
}

static int eval_products(const struct graph_node *node, const void *const *inputs, void *output)
{
	const struct graph_value *y = node->outputs[0];
	double *a = as_double(node->inputs[0], inputs[0]);
	double *b = as_double(node->inputs[1], inputs[1]);
	double *sums = calloc((size_t)graph_element_count(y) + 1, sizeof(*sums));
	int result = -1;

	if (!a || !b || !sums)
		goto out;
	result = 0;
	if (!graph_element_count(y))
		goto out;
	if (node->op == GRAPH_OP_MATMUL) {
		matmul_sums(node, a, b, sums);
		finish(node, inputs, sums, 1, y->dims[y->rank - 1], output);
	} else {
		conv_sums(node, a, b, sums);
		finish(node, inputs, sums, y->dims[2] * y->dims[3], y->dims[1], output);
	}
out:
	free(a);
	free(b);
	free(sums);
	return result;
}

/* One window: @x is the plane, (oy, ox) the output position. */
static double pool_window(const struct graph_attr_pool *pool, enum graph_dtype dtype, const void *x,
			  int64_t base, const int64_t size[2], int64_t oy, int64_t ox)
{
	const struct graph_window *window = &pool->window;
	double most = -INFINITY, sum = 0;
	int64_t counted = 0, ky, kx;

	for (ky = 0; ky < window->kernel[0]; ky++)
		for (kx = 0; kx < window->kernel[1]; kx++) {
			int64_t iy = oy * window->stride[0] + ky * window->dilation[0] -
				     window->pad_begin[0];
			int64_t ix = ox * window->stride[1] + kx * window->dilation[1] -
				     window->pad_begin[1];
			bool inside = iy >= 0 && iy < size[0] && ix >= 0 && ix < size[1];
			double v;

			/* What ceil_mode adds beyond the stated pads is never counted. */
			if (inside ||
			    (pool->count_include_pad && iy < size[0] + window->pad_end[0] &&
			     ix < size[1] + window->pad_end[1]))
				counted++;
			if (!inside)
				continue;
			v = eval_load(dtype, x, base + iy * size[1] + ix);
			if (v > most || isnan(v))
				most = v;
			sum += pool->kind == GRAPH_POOL_LP ? pow(fabs(v), (double)pool->p) : v;
		}
	if (pool->kind == GRAPH_POOL_MAX)
		return most;
	if (pool->kind == GRAPH_POOL_LP)
		return pow(sum, 1.0 / (double)pool->p);
	return counted ? sum / (double)counted : 0;
}

static void eval_pool(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t planes = y->dims[0] * y->dims[1], plane, oy, ox, at = 0;

	for (plane = 0; plane < planes; plane++)
		for (oy = 0; oy < y->dims[2]; oy++)
			for (ox = 0; ox < y->dims[3]; ox++)
				eval_store(y->dtype, output, at++,
					   pool_window(&node->attr.pool, x->dtype, input,
						       plane * x->dims[2] * x->dims[3], x->dims + 2,
						       oy, ox));
}

int eval_dense(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	       struct diag *diag)
{
	if (node->op == GRAPH_OP_POOL) {
		eval_pool(node, inputs[0], outputs[0]);
		return 0;
	}
	if (eval_products(node, inputs, outputs[0]))
		return diag_error(diag, "not enough memory to evaluate node '%s' (%s)", node->name,
				  node->op_type);
	return 0;
}
