// SPDX-License-Identifier: MIT
/*
 * Convolutions of many shapes, compiled for many devices, run on the host in several
 * orders of execution, against the operator's definition in double.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "onnx_builder.h"
#include "random.h"

enum after {
	AFTER_NOTHING,
	AFTER_RELU,
	AFTER_CLIP,
	AFTER_LEAKY,
	AFTER_SIGMOID,
	AFTER_HARDSIGMOID,
	AFTER_COUNT
};

struct conv {
	int64_t n, c, h, w, m, group;
	int64_t kernel[2], stride[2], dilation[2], pads[4];
	int64_t out[2];
	bool bias, residual;
	enum after after;
};

struct data {
	float *x, *weight, *bias, *residual, *y, *again;
	size_t x_count, weight_count, y_count;
};

static double apply(enum after after, double v)
{
	switch (after) {
	case AFTER_RELU:
		return v < 0 ? 0 : v;
	case AFTER_CLIP:
		return v < -0.5 ? -0.5 : v > 1.5 ? 1.5 : v;
	case AFTER_LEAKY:
		return v < 0 ? 0.125 * v : v;
	case AFTER_SIGMOID:
		return 1 / (1 + exp(-v));
	case AFTER_HARDSIGMOID:
		v = 0.25 * v + 0.5;
		return v < 0 ? 0 : v > 1 ? 1 : v;
	default:
		return v;
	}
}

/* One output by definition; *@size is the sum of absolute products. */
static double reference(const struct conv *conv, const struct data *data, int64_t n, int64_t m,
			int64_t oy, int64_t ox, double *size)
{
	int64_t depth = conv->c / conv->group, first = m / (conv->m / conv->group) * depth;
	double sum = conv->bias ? data->bias[m] : 0;
	int64_t c, ky, kx;

	*size = fabs(sum);
	for (c = 0; c < depth; c++)
		for (ky = 0; ky < conv->kernel[0]; ky++)
			for (kx = 0; kx < conv->kernel[1]; kx++) {
				int64_t y = oy * conv->stride[0] + ky * conv->dilation[0] -
					    conv->pads[0];
				int64_t x = ox * conv->stride[1] + kx * conv->dilation[1] -
					    conv->pads[1];
				double product;

				if (y < 0 || y >= conv->h || x < 0 || x >= conv->w)
					continue;
				product = (double)data->x[((n * conv->c + first + c) * conv->h +
							   y) * conv->w +
							  x] *
					  data->weight[((m * depth + c) * conv->kernel[0] + ky) *
							       conv->kernel[1] +
						       kx];
				sum += product;
				*size += fabs(product);
			}
	return sum;
}

static void check(const struct conv *conv, const struct data *data, const char *what)
{
	size_t i = 0;
	int64_t n, m, y, x;

	for (n = 0; n < conv->n; n++)
		for (m = 0; m < conv->m; m++)
			for (y = 0; y < conv->out[0]; y++)
				for (x = 0; x < conv->out[1]; x++, i++) {
					double size, sum = reference(conv, data, n, m, y, x, &size),
						     want;

					if (conv->residual)
						sum += data->residual[i];
					want = apply(conv->after, sum);
					/* Half a unit of fp16, the fp32 sums, a table's segments. */
					if (!(fabs(data->y[i] - want) <=
					      fabs(want) / 2048 + 3e-7 * size + 1e-7 +
						      (conv->after == AFTER_SIGMOID ? 2e-4 : 0)))
						fail_msg(
							"%s: [%lld][%lld][%lld][%lld] is %g, should be %g",
							what, (long long)n, (long long)m,
							(long long)y, (long long)x,
							(double)data->y[i], want);
				}
}

static void build_after(struct onnx_builder *builder, enum after after, const char *in)
{
	static const char *const operators[AFTER_COUNT] = {
		"", "Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSigmoid",
	};
	float low = -0.5f, high = 1.5f;
	char inputs[32];

	snprintf(inputs, sizeof(inputs), "%s%s", in, after == AFTER_CLIP ? " low high" : "");
	if (after == AFTER_CLIP) {
		onnx_builder_floats(builder, "low", 0, NULL, &low);
		onnx_builder_floats(builder, "high", 0, NULL, &high);
	}
	onnx_builder_node(builder, operators[after], inputs, "y");
	if (after == AFTER_LEAKY)
		onnx_builder_float(builder, "alpha", 0.125f);
	if (after == AFTER_HARDSIGMOID)
		onnx_builder_float(builder, "alpha", 0.25f);
}

static struct onnx_builder *build(const struct conv *conv, const struct data *data)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	int64_t x[4] = { conv->n, conv->c, conv->h, conv->w };
	int64_t y[4] = { conv->n, conv->m, conv->out[0], conv->out[1] };
	int64_t weight[4] = { conv->m, conv->c / conv->group, conv->kernel[0], conv->kernel[1] };
	const char *last = conv->residual ? "s" : conv->after ? "t" : "y";

	assert_non_null(builder);
	onnx_builder_input(builder, "x", 4, x);
	if (conv->residual)
		onnx_builder_input(builder, "r", 4, y);
	onnx_builder_output(builder, "y", 4, y);
	onnx_builder_floats(builder, "w", 4, weight, data->weight);
	if (conv->bias)
		onnx_builder_floats(builder, "b", 1, &conv->m, data->bias);
	onnx_builder_node(builder, "Conv", conv->bias ? "x w b" : "x w", last);
	onnx_builder_int(builder, "group", conv->group);
	onnx_builder_ints(builder, "kernel_shape", 2, conv->kernel);
	onnx_builder_ints(builder, "strides", 2, conv->stride);
	onnx_builder_ints(builder, "dilations", 2, conv->dilation);
	onnx_builder_ints(builder, "pads", 4, conv->pads);
	if (conv->residual) {
		onnx_builder_node(builder, "Add", "s r", conv->after ? "t" : "y");
		last = "t";
	}
	if (conv->after)
		build_after(builder, conv->after, last);
	return builder;
}

static struct data make_data(const struct conv *conv, struct random *random)
{
	struct data data = {
		.x_count = (size_t)(conv->n * conv->c * conv->h * conv->w),
		.weight_count = (size_t)(conv->m * conv->c / conv->group * conv->kernel[0] *
					 conv->kernel[1]),
		.y_count = (size_t)(conv->n * conv->m * conv->out[0] * conv->out[1]),
	};

	data.x = malloc(data.x_count * sizeof(float));
	data.weight = malloc(data.weight_count * sizeof(float));
	data.bias = malloc((size_t)conv->m * sizeof(float));
	data.residual = malloc(data.y_count * sizeof(float));
	data.y = malloc(data.y_count * sizeof(float));
	data.again = malloc(data.y_count * sizeof(float));
	random_floats(random, data.x, data.x_count);
	random_floats(random, data.weight, data.weight_count);
	random_floats(random, data.bias, (size_t)conv->m);
	random_floats(random, data.residual, data.y_count);
	return data;
}

static void free_data(struct data *data)
{
	free(data->x);
	free(data->weight);
	free(data->bias);
	free(data->residual);
	free(data->y);
	free(data->again);
}

static void describe(const struct conv *conv, const char *target, const struct options *options,
		     char *text, size_t size)
{
	snprintf(
		text, size,
		"x %lldx%lldx%lldx%lld m %lld group %lld kernel %lldx%lld stride %lld,%lld dilation %lld,%lld pads %lld,%lld,%lld,%lld bias %d residual %d after %d on %s, %u bytes, %u stages, layout %d",
		(long long)conv->n, (long long)conv->c, (long long)conv->h, (long long)conv->w,
		(long long)conv->m, (long long)conv->group, (long long)conv->kernel[0],
		(long long)conv->kernel[1], (long long)conv->stride[0], (long long)conv->stride[1],
		(long long)conv->dilation[0], (long long)conv->dilation[1],
		(long long)conv->pads[0], (long long)conv->pads[1], (long long)conv->pads[2],
		(long long)conv->pads[3], conv->bias, conv->residual, (int)conv->after, target,
		options->max_sram_bytes, options->pipeline_stages, (int)options->layout);
}

static void run_conv(struct conv *conv, const char *target, struct random *random, uint32_t sram,
		     uint32_t stages)
{
	struct onnx_builder *builder;
	struct harness harness;
	struct data data;
	const float *inputs[2];
	char what[512];
	const uint8_t *model;
	size_t size;

	data = make_data(conv, random);
	inputs[0] = data.x;
	inputs[1] = data.residual;
	assert_int_equal(harness_init(&harness, target), 0);
	harness.options.max_sram_bytes = sram;
	harness.options.pipeline_stages = stages;
	harness.options.layout = (enum layout_preference)(random_next(random) % 3);
	describe(conv, target, &harness.options, what, sizeof(what));
	builder = build(conv, &data);
	model = onnx_builder_finish(builder, &size);
	assert_non_null(model);
	if (harness_compile(&harness, model, size))
		fail_msg("%s: %s", what, harness.error);
	if (harness_run(&harness, inputs, &data.y, 0))
		fail_msg("%s: %s", what, harness.error);
	check(conv, &data, what);
	if (harness_run(&harness, inputs, &data.again, random_next(random) | 1))
		fail_msg("%s: %s", what, harness.error);
	if (memcmp(data.y, data.again, data.y_count * sizeof(float)))
		fail_msg("%s: depends on the order of execution", what);
	harness_free(&harness);
	onnx_builder_free(builder);
	free_data(&data);
}

static const char *const targets[] = {
	"npu-v3",      "npu-v3?clusters=1", "npu-v3?clusters=2", "npu-v3?clusters=3",
	"lowpower-v3", "npu-v3?clusters=8",
};

static void set_window(struct conv *conv, struct random *random)
{
	int64_t size[2];
	unsigned int axis;

	size[0] = conv->h;
	size[1] = conv->w;
	for (axis = 0; axis < 2; axis++) {
		for (;;) {
			conv->kernel[axis] = random_between(random, 1, 5);
			conv->stride[axis] = random_between(random, 1, 3);
			conv->dilation[axis] = random_between(random, 1, 3);
			conv->pads[axis] = random_between(random, 0, 3);
			conv->pads[axis + 2] = random_between(random, 0, 3);
			conv->out[axis] = size[axis] + conv->pads[axis] + conv->pads[axis + 2] -
					  conv->dilation[axis] * (conv->kernel[axis] - 1) - 1;
			if (conv->out[axis] >= 0)
				break;
		}
		conv->out[axis] = conv->out[axis] / conv->stride[axis] + 1;
	}
}

static void set_pointwise(struct conv *conv)
{
	unsigned int axis;

	for (axis = 0; axis < 2; axis++) {
		conv->kernel[axis] = conv->stride[axis] = conv->dilation[axis] = 1;
		conv->pads[axis] = conv->pads[axis + 2] = 0;
	}
	conv->out[0] = conv->h;
	conv->out[1] = conv->w;
}

static void set_case(struct conv *conv, struct random *random)
{
	memset(conv, 0, sizeof(*conv));
	conv->n = random_between(random, 1, 8) == 1 ? 2 : 1;
	conv->h = random_between(random, 1, 20);
	conv->w = random_between(random, 1, 12) == 1 ? random_between(random, 250, 400) :
						       random_between(random, 1, 24);
	conv->bias = random_next(random) & 1;
	conv->residual = (random_next(random) & 3) == 0;
	conv->after = (enum after)(random_next(random) % AFTER_COUNT);
	if ((random_next(random) & 3) == 0)
		set_pointwise(conv);
	else
		set_window(conv, random);
}

static uint32_t some_sram(struct random *random)
{
	static const uint32_t sizes[] = { 0, 0, 262144, 65536, 24576, 12288 };

	return sizes[random_next(random) % 6];
}

static void dense(void **state)
{
	struct random random = { .state = 0x1234567 };
	struct conv conv;
	int i;

	(void)state;
	for (i = 0; i < 120; i++) {
		set_case(&conv, &random);
		conv.c = random_between(&random, 1, 40);
		conv.m = random_between(&random, 1, 80);
		conv.group = 1;
		run_conv(&conv, targets[i % 6], &random, some_sram(&random),
			 random_between(&random, 1, 3));
	}
}

static void grouped(void **state)
{
	struct random random = { .state = 0x7654321 };
	struct conv conv;
	int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		set_case(&conv, &random);
		conv.group = random_between(&random, 2, 5);
		conv.c = conv.group * random_between(&random, 2, 12);
		conv.m = conv.group * random_between(&random, 1, 40);
		run_conv(&conv, targets[i % 6], &random, some_sram(&random),
			 random_between(&random, 1, 3));
	}
}

static void depthwise(void **state)
{
	struct random random = { .state = 0x246813579 };
	struct conv conv;
	int i;

	(void)state;
	for (i = 0; i < 90; i++) {
		set_case(&conv, &random);
		conv.c = random_between(&random, 2, 100);
		conv.m = conv.c * (random_between(&random, 1, 6) == 1 ? 2 : 1);
		conv.group = conv.c;
		run_conv(&conv, targets[i % 6], &random, some_sram(&random),
			 random_between(&random, 1, 3));
	}
}

/* Depth that must be cut: weights of one block, then activations too, larger than the SRAM. */
static void deep(void **state)
{
	struct random random = { .state = 0x99887766 };
	struct conv conv;
	int i;

	(void)state;
	for (i = 0; i < 24; i++) {
		set_case(&conv, &random);
		conv.h = random_between(&random, 1, 5);
		conv.w = random_between(&random, 1, 5);
		conv.residual = false;
		if (i & 1)
			set_pointwise(&conv);
		else
			set_window(&conv, &random);
		conv.c = random_between(&random, 300, 700);
		conv.m = random_between(&random, 1, 70);
		conv.group = 1;
		run_conv(&conv, targets[i % 6], &random, i % 3 ? 16384 : 32768,
			 random_between(&random, 1, 3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dense),
		cmocka_unit_test(grouped),
		cmocka_unit_test(depthwise),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
