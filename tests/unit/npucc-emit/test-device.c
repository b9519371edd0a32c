// SPDX-License-Identifier: MIT
/*
 * Small networks on the device model, tasks and rings and firmware included, against the
 * same streams run on the host: the same bits, whatever the device's timing makes of the
 * order of execution.
 */
#include <endian.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emit/program.h"
#include "harness.h"
#include "npurt.h"
#include "onnx_builder.h"
#include "random.h"

struct network {
	int64_t c, h, w, m, n, stride; /* channels in, size, channels of each convolution */
	int64_t out[2];
};

static float *floats(struct random *random, size_t count)
{
	float *data = malloc(count * sizeof(*data));

	assert_non_null(data);
	random_floats(random, data, count);
	return data;
}

static void add_weights(struct onnx_builder *builder, struct random *random, const char *name,
			int64_t m, int64_t c, int64_t kernel)
{
	int64_t dims[4] = { m, c, kernel, kernel };
	size_t count = (size_t)(m * c * kernel * kernel), i;
	float *data = floats(random, count);

	for (i = 0; i < count; i++)
		data[i] /= 4;
	onnx_builder_floats(builder, name, 4, dims, data);
	free(data);
}

/* Dense 3x3, ReLU; depthwise 3x3; pointwise with the first's result added; matrix product. */
static struct onnx_builder *build(const struct network *net, struct random *random)
{
	static const int64_t pads[4] = { 1, 1, 1, 1 };
	struct onnx_builder *builder = onnx_builder_new(13);
	int64_t x[4] = { 1, net->c, net->h, net->w };
	int64_t y[4] = { 1, net->m, net->out[0], net->n };
	int64_t b[2] = { net->out[1], net->n }, strides[2] = { net->stride, net->stride };
	float *matrix = floats(random, (size_t)(b[0] * b[1]));

	assert_non_null(builder);
	onnx_builder_input(builder, "x", 4, x);
	onnx_builder_output(builder, "y", 4, y);
	add_weights(builder, random, "w1", net->m, net->c, 3);
	add_weights(builder, random, "w2", net->m, 1, 3);
	add_weights(builder, random, "w3", net->m, net->m, 1);
	onnx_builder_floats(builder, "b", 2, b, matrix);
	free(matrix);
	onnx_builder_node(builder, "Conv", "x w1", "t1");
	onnx_builder_ints(builder, "pads", 4, pads);
	onnx_builder_ints(builder, "strides", 2, strides);
	onnx_builder_node(builder, "Relu", "t1", "t2");
	onnx_builder_node(builder, "Conv", "t2 w2", "t3");
	onnx_builder_ints(builder, "pads", 4, pads);
	onnx_builder_int(builder, "group", net->m);
	onnx_builder_node(builder, "Conv", "t3 w3", "t4");
	onnx_builder_node(builder, "Add", "t4 t2", "t5");
	onnx_builder_node(builder, "MatMul", "t5 b", "y");
	return builder;
}

static void set_network(struct network *net, struct random *random)
{
	net->c = random_between(random, 1, 40);
	net->h = random_between(random, 3, 30);
	net->w = random_between(random, 3, 40);
	net->m = random_between(random, 1, 90);
	net->n = random_between(random, 1, 50);
	net->stride = random_between(random, 1, 2);
	net->out[0] = (net->h - 1) / net->stride + 1;
	net->out[1] = (net->w - 1) / net->stride + 1;
}

static void must(int result)
{
	if (result < 0)
		fail_msg("%s", npurt_last_error());
}

/* What the device makes of @x; returns the bytes of its output (the caller's to free). */
static uint16_t *run_on_device(const char *target, const char *path, const float *x, size_t x_count,
			       size_t y_count)
{
	struct npurt_buffer *in, *out;
	struct npurt_context *context;
	struct npurt_binding bindings[2] = { 0 };
	struct npurt_device *device;
	struct npurt_model *model;
	uint16_t *result = malloc(y_count * 2);
	uint16_t *halves;
	char name[64];
	size_t i;

	assert_non_null(result);
	snprintf(name, sizeof(name), "sim:%s", target);
	must(npurt_open(name, &device));
	must(npurt_context_create(device, NULL, &context));
	must(npurt_model_load(context, path, &model));
	must(npurt_buffer_alloc(context, x_count * 2, 0, &in));
	must(npurt_buffer_alloc(context, y_count * 2, 0, &out));
	halves = npurt_buffer_map(in);
	for (i = 0; i < x_count; i++)
		halves[i] = htole16(half_from_float(x[i]));
	bindings[0].buffer = in;
	bindings[1].buffer = out;
	must(npurt_run(model, bindings, 2, NULL));
	memcpy(result, npurt_buffer_map(out), y_count * 2);
	npurt_buffer_free(in);
	npurt_buffer_free(out);
	npurt_model_unload(model);
	npurt_context_destroy(context);
	npurt_close(device);
	return result;
}

static void run_network(const struct network *net, struct random *random, const char *target,
			uint32_t sram)
{
	size_t x_count = (size_t)(net->c * net->h * net->w);
	size_t y_count = (size_t)(net->m * net->out[0] * net->n), i;
	float *x = floats(random, x_count), *y = floats(random, y_count);
	const char *path = "test-device.npu";
	const float *inputs[1] = { x };
	struct onnx_builder *builder = build(net, random);
	struct harness harness;
	const uint8_t *model;
	uint16_t *device;
	size_t size;

	model = onnx_builder_finish(builder, &size);
	assert_non_null(model);
	assert_int_equal(harness_init(&harness, target), 0);
	harness.options.max_sram_bytes = sram;
	if (harness_compile(&harness, model, size) || harness_run(&harness, inputs, &y, 0))
		fail_msg("%s", harness.error);
	if (elf_write(&harness.program, path, &harness.diag))
		fail_msg("%s", diag_first_error(&harness.diag));
	device = run_on_device(target, path, x, x_count, y_count);
	for (i = 0; i < y_count; i++)
		if (le16toh(device[i]) != half_from_float(y[i]))
			fail_msg(
				"%s, %u bytes, %lldx%lldx%lld to %lld and %lld, stride %lld: element %zu is %#x on the device, %#x on the host",
				target, sram, (long long)net->c, (long long)net->h,
				(long long)net->w, (long long)net->m, (long long)net->n,
				(long long)net->stride, i, le16toh(device[i]),
				half_from_float(y[i]));
	free(device);
	free(x);
	free(y);
	unlink(path);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void networks(void **state)
{
	static const char *const targets[] = {
		"npu-v3",
		"lowpower-v3",
		"npu-v3?clusters=2",
		"npu-v3?clusters=3&global_kib=16",
	};
	static const uint32_t sram[] = { 0, 0, 49152 };
	struct random random = { .state = 0xfeedbeef };
	struct network net;
	int i;

	(void)state;
	for (i = 0; i < 36; i++) {
		set_network(&net, &random);
		run_network(&net, &random, targets[i % 4], sram[i % 3]);
	}
}

/* Convolutions one after the other, each with weights worth bringing ahead. */
static struct onnx_builder *build_chain(int64_t channels, int64_t size, int length,
					struct random *random)
{
	static const int64_t pads[4] = { 1, 1, 1, 1 };
	struct onnx_builder *builder = onnx_builder_new(13);
	int64_t dims[4] = { 1, channels, size, size };
	char inputs[32], output[16];
	int i;

	assert_non_null(builder);
	onnx_builder_input(builder, "t0", 4, dims);
	snprintf(output, sizeof(output), "t%d", length);
	onnx_builder_output(builder, output, 4, dims);
	for (i = 0; i < length; i++) {
		char name[16];

		snprintf(name, sizeof(name), "w%d", i);
		add_weights(builder, random, name, channels, channels, 3);
		snprintf(inputs, sizeof(inputs), "t%d w%d", i, i);
		snprintf(output, sizeof(output), "t%d", i + 1);
		onnx_builder_node(builder, "Conv", inputs, output);
		onnx_builder_ints(builder, "pads", 4, pads);
	}
	return builder;
}

static void run_chain(int64_t channels, int64_t size, const char *target, uint32_t stages,
		      struct random *random, float *y)
{
	struct random weights = { .state = 77 };
	struct onnx_builder *builder = build_chain(channels, size, 5, &weights);
	size_t count = (size_t)(channels * size * size), bytes, i;
	float *x = floats(&weights, count), *again = floats(random, count);
	const char *path = "test-chain.npu";
	const float *inputs[1] = { x };
	struct harness harness;
	const uint8_t *model;
	uint16_t *device;

	model = onnx_builder_finish(builder, &bytes);
	assert_non_null(model);
	assert_int_equal(harness_init(&harness, target), 0);
	harness.options.pipeline_stages = stages;
	if (harness_compile(&harness, model, bytes) || harness_run(&harness, inputs, &y, 0))
		fail_msg("%s", harness.error);
	/* Two planes are alive at once: what is beyond them are weights. */
	assert_int_equal(harness.report.global_bytes > 3 * count * 2, stages > 1);
	if (harness_run(&harness, inputs, &again, random_next(random) | 1))
		fail_msg("%s", harness.error);
	assert_memory_equal(y, again, count * sizeof(*y));
	if (elf_write(&harness.program, path, &harness.diag))
		fail_msg("%s", diag_first_error(&harness.diag));
	device = run_on_device(target, path, x, count, count);
	for (i = 0; i < count; i++)
		assert_int_equal(le16toh(device[i]), half_from_float(y[i]));
	free(device);
	free(x);
	free(again);
	unlink(path);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void weights_brought_ahead(void **state)
{
	static const char *const targets[] = { "npu-v3", "npu-v3?clusters=2", "lowpower-v3" };
	const int64_t channels = 64, size = 12;
	size_t count = (size_t)(channels * size * size), i, t;
	struct random random = { .state = 4711 };
	float largest = 0;
	float *ahead = floats(&random, count), *in_turn = floats(&random, count);

	(void)state;
	for (t = 0; t < 3; t++) {
		run_chain(channels, size, targets[t], 2, &random, ahead);
		run_chain(channels, size, targets[t], 1, &random, in_turn);
		/* Other tilings add up in another order, and each layer rounds to fp16. */
		for (i = 0; i < count; i++)
			largest = fmaxf(largest, fabsf(in_turn[i]));
		for (i = 0; i < count; i++)
			assert_true(fabsf(ahead[i] - in_turn[i]) <= largest / 256);
	}
	free(ahead);
	free(in_turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks),
		cmocka_unit_test(weights_brought_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
