// SPDX-License-Identifier: MIT
/*
 * Operators at sizes of many tiles, with little local SRAM and with one stage, against the interpreter
 * that the ONNX project's tests are run with; and the table of limits against the lowerings.
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
#include "fold/interpreter.h"
#include "lower/vector_program.h"
#include "onnx_builder.h"
#include "random.h"
#include "scan/fields.h"

#define TOLERANCE 4e-3

struct trial {
	struct onnx_builder *builder;
	struct random random;
	float scale, shift;		/* of the inputs, which are -1..1 */
};

static float *floats(struct random *random, size_t count)
{
	float *data = malloc(count * sizeof(*data) + 1);

	assert_non_null(data);
	random_floats(random, data, count);
	return data;
}

static void begin(struct trial *trial, int64_t opset)
{
	trial->builder = onnx_builder_new(opset);
	trial->scale = 1;
	trial->shift = 0;
	assert_non_null(trial->builder);
}

static void input(struct trial *trial, unsigned int rank, const int64_t *dims)
{
	onnx_builder_input(trial->builder, "x", rank, dims);
}

static void constant(struct trial *trial, const char *name, unsigned int rank, const int64_t *dims)
{
	size_t count = 1;
	float *data;

	for (unsigned int i = 0; i < rank; i++)
		count *= (size_t)dims[i];
	data = floats(&trial->random, count);
	onnx_builder_floats(trial->builder, name, rank, dims, data);
	free(data);
}

/* ----------------------------------------------------------------------- comparison */
static void expect(struct trial *trial, const uint8_t *model, size_t size, const float *x,
		   float *want, size_t count)
{
	struct npucc_front_options options = { .fusion = 0 };
	struct npucc_model *loaded;
	struct interpreter *interpreter;
	struct diag diag;

	(void)trial;
	diag_init(&diag);
	loaded = npucc_front_load_memory(model, size, &options, &diag);
	assert_non_null(loaded);
	interpreter = interpreter_new(npucc_model_graph(loaded));
	assert_non_null(interpreter);
	if (interpreter_input(interpreter, 0, x) || interpreter_run(interpreter, &diag))
		fail_msg("%s", diag_first_error(&diag));
	memcpy(want, interpreter_output(interpreter, 0), count * sizeof(*want));
	interpreter_free(interpreter);
	npucc_model_free(loaded);
	diag_free(&diag);
}

static void compare(const char *what, const float *have, const float *want, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs((double)want[i]));
	for (size_t i = 0; i < count; i++) {
		double room = TOLERANCE * (most + fabs((double)want[i]));

		if (fabs((double)have[i] - (double)want[i]) <= room)
			continue;
		fail_msg("%s: element %zu of %zu is %g, expected %g within %g", what, i, count,
			 (double)have[i], (double)want[i], room);
	}
}

/* Compiles and runs the trial's model with several targets and memories. */
static void finish(struct trial *trial, const char *what, const int64_t *x_dims, unsigned int x_rank,
		   const int64_t *y_dims, unsigned int y_rank)
{
	static const struct {
		const char *target;
		uint32_t sram, stages;
	} ways[] = {
		{ "npu-v3", 0, 2 },
		{ "npu-v3?clusters=3", 32768, 2 },
		{ "lowpower-v3", 24576, 1 },
	};
	size_t x_count = 1, y_count = 1, size;
	const float *inputs[1];
	float *x, *y, *want;
	const uint8_t *model;

	for (unsigned int i = 0; i < x_rank; i++)
		x_count *= (size_t)x_dims[i];
	for (unsigned int i = 0; i < y_rank; i++)
		y_count *= (size_t)y_dims[i];
	onnx_builder_output(trial->builder, "y", y_rank, y_dims);
	model = onnx_builder_finish(trial->builder, &size);
	assert_non_null(model);
	x = floats(&trial->random, x_count);
	for (size_t i = 0; i < x_count; i++)
		x[i] = half_to_float(half_from_float(x[i] * trial->scale + trial->shift));
	y = floats(&trial->random, y_count);
	want = floats(&trial->random, y_count);
	expect(trial, model, size, x, want, y_count);
	inputs[0] = x;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct harness harness;
		char text[256];

		snprintf(text, sizeof(text), "%s on %s with %u bytes", what, ways[i].target, ways[i].sram);
		assert_int_equal(harness_init(&harness, ways[i].target), 0);
		harness.options.max_sram_bytes = ways[i].sram;
		harness.options.pipeline_stages = ways[i].stages;
		if (harness_compile(&harness, model, size) || harness_run(&harness, inputs, &y, i))
			fail_msg("%s: %s", text, harness.error);
		compare(text, y, want, y_count);
		harness_free(&harness);
	}
	free(x);
	free(y);
	free(want);
	onnx_builder_free(trial->builder);
}

/* ------------------------------------------------------------------------- operators */
static void test_resize(void **state)
{
	static const char *const modes[] = { "nearest", "linear", "linear", "cubic" };
	static const char *const coordinates[] = { "half_pixel", "asymmetric", "align_corners",
						   "pytorch_half_pixel" };
	struct trial trial = { .random = { .state = 0x1234567 } };

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct random *random = &trial.random;
		const int64_t x[4] = { random_between(random, 1, 2), random_between(random, 1, 40),
				       random_between(random, 2, 50), random_between(random, 2, 60) };
		const int64_t y[4] = { x[0], x[1], i % 3 ? x[2] * 2 : random_between(random, 1, 90),
				       i % 3 ? x[3] * 2 : random_between(random, 1, 90) };
		char text[128];

		begin(&trial, 13);
		input(&trial, 4, x);
		onnx_builder_integers(trial.builder, "sizes", 4, y);
		onnx_builder_node(trial.builder, "Resize", "x - - sizes", "y");
		onnx_builder_string(trial.builder, "mode", modes[i % 4]);
		onnx_builder_string(trial.builder, "coordinate_transformation_mode", coordinates[i / 4]);
		snprintf(text, sizeof(text), "%s, %s, %dx%dx%dx%d to %dx%d", modes[i % 4],
			 coordinates[i / 4], (int)x[0], (int)x[1], (int)x[2], (int)x[3], (int)y[2],
			 (int)y[3]);
		finish(&trial, text, x, 4, y, 4);
	}
}

/* 80 to 107: output 53 lies exactly between 39 and 40, which the scale rounded to float hides. */
static void test_nearest_tie(void **state)
{
	static const int64_t x_dims[4] = { 1, 1, 1, 80 }, y_dims[4] = { 1, 1, 1, 107 };
	struct trial trial = { .random = { .state = 1 } };
	float x[80], y[107], *outputs[1] = { y };
	const float *inputs[1] = { x };
	struct harness harness;
	const uint8_t *model;
	size_t size;

	(void)state;
	for (int i = 0; i < 80; i++)
		x[i] = (float)i;
	begin(&trial, 13);
	input(&trial, 4, x_dims);
	onnx_builder_integers(trial.builder, "sizes", 4, y_dims);
	onnx_builder_node(trial.builder, "Resize", "x - - sizes", "y");
	onnx_builder_string(trial.builder, "mode", "nearest");
	onnx_builder_output(trial.builder, "y", 4, y_dims);
	model = onnx_builder_finish(trial.builder, &size);
	assert_non_null(model);
	assert_int_equal(harness_init(&harness, "npu-v3"), 0);
	if (harness_compile(&harness, model, size) || harness_run(&harness, inputs, outputs, 0))
		fail_msg("%s", harness.error);
	assert_float_equal(y[52], 39, 0);
	assert_float_equal(y[53], 39, 0);
	assert_float_equal(y[54], 40, 0);
	harness_free(&harness);
	onnx_builder_free(trial.builder);
}

static void test_convtranspose(void **state)
{
	struct trial trial = { .random = { .state = 0x7654321 } };

	(void)state;
	for (int i = 0; i < 24; i++) {
		struct random *random = &trial.random;
		const int64_t groups = i % 4 == 3 ? 3 : 1;
		const int64_t x[4] = { random_between(random, 1, 2),
				       groups * random_between(random, 1, 20),
				       random_between(random, 1, 20), random_between(random, 1, 24) };
		const int64_t w[4] = { x[1], random_between(random, 1, 20), random_between(random, 1, 5),
				       random_between(random, 1, 5) };
		const int64_t m = w[1] * groups;
		const int64_t strides[2] = { random_between(random, 1, 3), random_between(random, 1, 3) };
		const int64_t dilations[2] = { random_between(random, 1, 2),
					       random_between(random, 1, 2) };
		const int64_t full[2] = { (x[2] - 1) * strides[0] + (w[2] - 1) * dilations[0] + 1,
					  (x[3] - 1) * strides[1] + (w[3] - 1) * dilations[1] + 1 };
		const int64_t pads[4] = { full[0] > 3, full[1] > 4, full[0] > 5, full[1] > 6 };
		const int64_t y[4] = { x[0], m, full[0] - pads[0] - pads[2],
				       full[1] - pads[1] - pads[3] };
		char text[128];

		begin(&trial, 13);
		input(&trial, 4, x);
		constant(&trial, "w", 4, w);
		constant(&trial, "b", 1, &m);
		onnx_builder_node(trial.builder, "ConvTranspose", "x w b", "t");
		onnx_builder_ints(trial.builder, "strides", 2, strides);
		onnx_builder_ints(trial.builder, "dilations", 2, dilations);
		onnx_builder_ints(trial.builder, "pads", 4, pads);
		onnx_builder_int(trial.builder, "group", groups);
		onnx_builder_node(trial.builder, "Relu", "t", "y");
		snprintf(text, sizeof(text), "%dx%dx%dx%d, kernel %dx%d, stride %dx%d, %d groups",
			 (int)x[0], (int)x[1], (int)x[2], (int)x[3], (int)w[2], (int)w[3],
			 (int)strides[0], (int)strides[1], (int)groups);
		finish(&trial, text, x, 4, y, 4);
	}
}

static void test_reductions(void **state)
{
	static const char *const kinds[] = { "ReduceProd", "ReduceLogSumExp", "ReduceL2", "ReduceMin" };
	struct trial trial = { .random = { .state = 0xabcdef } };

	(void)state;
	for (int i = 0; i < 24; i++) {
		struct random *random = &trial.random;
		const int64_t x[3] = { random_between(random, 1, 30), random_between(random, 1, 90),
				       random_between(random, 1, 300) };
		const int64_t axis = i % 3;
		int64_t y[3] = { x[0], x[1], x[2] };
		char text[128];

		y[axis] = 1;
		begin(&trial, 13);
		/* Factors about one, of both signs: a product of 300 stays in range. */
		trial.scale = i % 4 ? 1 : 0.02f;
		trial.shift = i % 4 ? 0 : (i & 4 ? -1 : 1);
		input(&trial, 3, x);
		onnx_builder_node(trial.builder, kinds[i % 4], "x", "y");
		onnx_builder_ints(trial.builder, "axes", 1, &axis);
		snprintf(text, sizeof(text), "%s of axis %d of %dx%dx%d", kinds[i % 4], (int)axis,
			 (int)x[0], (int)x[1], (int)x[2]);
		finish(&trial, text, x, 3, y, 3);
	}
}

static void test_pads(void **state)
{
	static const char *const modes[] = { "reflect", "edge", "constant" };
	struct trial trial = { .random = { .state = 0x2468ace } };

	(void)state;
	for (int i = 0; i < 15; i++) {
		struct random *random = &trial.random;
		const int64_t x[4] = { random_between(random, 1, 2), random_between(random, 1, 20),
				       random_between(random, 7, 40), random_between(random, 7, 60) };
		int64_t pads[8] = { 0 }, y[4];
		char text[128];

		for (int d = 0; d < 4; d++) {
			/* A reflection reaches as far as the dim; negative ones cut. */
			pads[d] = d < 2 ? 0 : random_between(random, 0, 8) - 2ll;
			pads[4 + d] = d < 2 ? 0 : random_between(random, 0, 8) - 2ll;
			y[d] = x[d] + pads[d] + pads[4 + d];
		}
		begin(&trial, 13);
		input(&trial, 4, x);
		onnx_builder_integers(trial.builder, "pads", 8, pads);
		onnx_builder_node(trial.builder, "Pad", "x pads", "y");
		onnx_builder_string(trial.builder, "mode", modes[i % 3]);
		snprintf(text, sizeof(text), "%s, %dx%d by %d %d %d %d", modes[i % 3], (int)x[2],
			 (int)x[3], (int)pads[2], (int)pads[3], (int)pads[6], (int)pads[7]);
		finish(&trial, text, x, 4, y, 4);
	}
}

static void test_tile_and_gather(void **state)
{
	static const int64_t x[3] = { 5, 33, 70 }, repeats[3] = { 2, 3, 1 }, tiled[3] = { 10, 99, 70 };
	static const int64_t indices[7] = { 3, 4, 5, -1, 0, 0, 32 }, gathered[3] = { 5, 7, 70 };
	struct trial trial = { .random = { .state = 0x1357 } };

	(void)state;
	begin(&trial, 13);
	input(&trial, 3, x);
	onnx_builder_integers(trial.builder, "r", 3, repeats);
	onnx_builder_node(trial.builder, "Tile", "x r", "y");
	finish(&trial, "Tile", x, 3, tiled, 3);
	begin(&trial, 13);
	input(&trial, 3, x);
	onnx_builder_integers(trial.builder, "i", 7, indices);
	onnx_builder_node(trial.builder, "Gather", "x i", "y");
	onnx_builder_int(trial.builder, "axis", 1);
	finish(&trial, "Gather", x, 3, gathered, 3);
}

static void test_norms(void **state)
{
	static const int64_t shapes[][4] = { { 2, 12, 9, 11 }, { 1, 6, 1, 7 }, { 1, 6, 130, 140 } };
	static const int64_t channels[] = { 12, 6, 6 };
	struct trial trial = { .random = { .state = 0x8642 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(&trial, 13);
		trial.shift = 2;
		input(&trial, 4, shapes[i]);
		constant(&trial, "s", 1, &channels[i]);
		constant(&trial, "b", 1, &channels[i]);
		onnx_builder_node(trial.builder, "InstanceNormalization", "x s b", "y");
		finish(&trial, "InstanceNormalization", shapes[i], 4, shapes[i], 4);
		begin(&trial, 21);
		trial.shift = 2;
		input(&trial, 4, shapes[i]);
		constant(&trial, "s", 1, &channels[i]);
		constant(&trial, "b", 1, &channels[i]);
		onnx_builder_node(trial.builder, "GroupNormalization", "x s b", "y");
		onnx_builder_int(trial.builder, "num_groups", 3);
		finish(&trial, "GroupNormalization", shapes[i], 4, shapes[i], 4);
		begin(&trial, 13);
		input(&trial, 4, shapes[i]);
		onnx_builder_node(trial.builder, "LRN", "x", "y");
		onnx_builder_int(trial.builder, "size", 5);
		onnx_builder_float(trial.builder, "alpha", 0.5f);
		finish(&trial, "LRN", shapes[i], 4, shapes[i], 4);
	}
}

static void test_power(void **state)
{
	static const float exponents[] = { 0, 1, 3, -2, 0.5f, 1.7f, -0.5f };
	static const int64_t x[2] = { 37, 211 }, one[1] = { 1 };
	struct trial trial = { .random = { .state = 0x55aa } };

	(void)state;
	for (size_t i = 0; i < sizeof(exponents) / sizeof(exponents[0]); i++) {
		char text[32];

		begin(&trial, 13);
		trial.shift = 2;
		input(&trial, 2, x);
		onnx_builder_floats(trial.builder, "e", 1, one, &exponents[i]);
		onnx_builder_node(trial.builder, "Pow", "x e", "y");
		snprintf(text, sizeof(text), "power %g", (double)exponents[i]);
		finish(&trial, text, x, 2, x, 2);
	}
}

/* --------------------------------------------------------------------------- limits */
/* Whether the rows of @op that look at @field allow @value. */
static bool allowed(enum graph_op op, scan_field field, int64_t value)
{
	for (size_t i = 0; i < scan_limit_count; i++)
		if (scan_limits[i].op == op && scan_limits[i].field == field)
			return (uint64_t)scan_limits[i].limit >> value & 1;
	fail_msg("no such row");
	return false;
}

static void test_limits_are_the_lowerings(void **state)
{
	(void)state;
	for (int kind = 0; kind < GRAPH_ACTIVATION_COUNT; kind++)
		if (allowed(GRAPH_OP_ACTIVATION, scan_activation, kind) !=
		    vector_activation_supported((enum graph_activation_kind)kind))
			fail_msg("the table and the vector unit disagree about %s",
				 graph_activation_name((enum graph_activation_kind)kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_nearest_tie),
		cmocka_unit_test(test_convtranspose),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_pads),
		cmocka_unit_test(test_tile_and_gather),
		cmocka_unit_test(test_norms),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_limits_are_the_lowerings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
