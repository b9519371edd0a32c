// SPDX-License-Identifier: MIT
/*
 * Operators on integers: what quant_graph() makes of a graph, and that it computes the same. The
 * interpreter runs each graph before (numbers between DEQUANTIZE and QUANTIZE) and after.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/infer.h"
#include "fold/interpreter.h"
#include "quant/quant.h"

struct rig {
	struct arena arena;
	struct diag diag;
	struct graph *graph;
	struct graph_value *x;
	uint32_t state;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	arena_init(&rig->arena, 0);
	diag_init(&rig->diag);
	rig->graph = graph_new(&rig->arena, "test");
	assert_non_null(rig->graph);
	rig->state = 1;
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	diag_free(&rig->diag);
	arena_free(&rig->arena);
	free(rig);
	return 0;
}

static uint32_t draw(struct rig *rig)
{
	rig->state = rig->state * 1664525u + 1013904223u;
	return rig->state >> 8;
}

/* ------------------------------------------------------------------------ building */
static struct graph_value *input(struct rig *rig, uint32_t rank, const int64_t *dims)
{
	struct graph *graph = rig->graph;
	struct graph_value *x = graph_value_new(graph, "x", 1, GRAPH_DTYPE_F32);

	assert_non_null(x);
	graph_value_set_shape(x, rank, dims);
	x->is_input = true;
	graph->inputs = arena_alloc_array(&rig->arena, 1, sizeof(*graph->inputs));
	graph->inputs[0] = x;
	graph->input_count = 1;
	rig->x = x;
	return x;
}

static void output(struct rig *rig, struct graph_value *value)
{
	struct graph *graph = rig->graph;

	graph->outputs = arena_alloc_array(&rig->arena, 1, sizeof(*graph->outputs));
	graph->outputs[0] = value;
	graph->output_count = 1;
	value->is_output = true;
	if (graph_verify(graph, &rig->diag))
		fail_msg("%s", diag_first_error(&rig->diag));
}

static struct graph_node *node(struct rig *rig, enum graph_op op, uint32_t count,
			       struct graph_value *const *inputs)
{
	struct graph_node *made = graph_node_new(rig->graph, NULL, op, graph_op_name(op),
						 graph_op_name(op), count, 1);
	uint32_t i;

	assert_non_null(made);
	for (i = 0; i < count; i++)
		if (inputs[i])
			assert_int_equal(graph_node_set_input(rig->graph, made, i, inputs[i]), 0);
	assert_non_null(graph_node_new_output(rig->graph, made, 0, "value", GRAPH_DTYPE_NONE));
	return made;
}

static struct graph_value *finish(struct rig *rig, struct graph_node *made)
{
	if (graph_infer_node(made, &rig->diag))
		fail_msg("%s", diag_first_error(&rig->diag));
	return made->outputs[0];
}

static struct graph_value *constant(struct rig *rig, enum graph_dtype dtype, uint32_t rank,
				    const int64_t *dims, const void *data)
{
	struct graph_value like = { .has_rank = true, .rank = rank };
	void *copy;

	if (rank)
		memcpy(like.dims, dims, rank * sizeof(*dims));
	copy = arena_copy(&rig->arena, data,
			  (size_t)graph_element_count(&like) * graph_dtype_bytes(dtype));
	return graph_constant_new(rig->graph, "constant", dtype, rank, dims, copy);
}

static struct graph_value *through(struct rig *rig, enum graph_op op, struct graph_value *x,
				   struct graph_value *scale, struct graph_value *zero,
				   enum graph_dtype dtype, int64_t axis)
{
	struct graph_value *inputs[] = { x, scale, zero };
	struct graph_node *made = node(rig, op, 3, inputs);

	made->attr.axis.axis = axis;
	made->outputs[0]->dtype = dtype;
	return finish(rig, made);
}

static struct graph_value *quantize(struct rig *rig, struct graph_value *x, float scale, int zero)
{
	uint8_t byte = (uint8_t)zero;

	return through(rig, GRAPH_OP_QUANTIZE, x, graph_constant_scalar(rig->graph, "scale", scale),
		       constant(rig, GRAPH_DTYPE_U8, 0, NULL, &byte), GRAPH_DTYPE_U8, 0);
}

static struct graph_value *dequantize(struct rig *rig, struct graph_value *x, float scale, int zero)
{
	uint8_t byte = (uint8_t)zero;

	return through(rig, GRAPH_OP_DEQUANTIZE, x,
		       graph_constant_scalar(rig->graph, "scale", scale),
		       constant(rig, x->dtype, 0, NULL, &byte), GRAPH_DTYPE_F32, 0);
}

static struct graph_value *both(struct rig *rig, struct graph_value *x, float scale, int zero)
{
	return dequantize(rig, quantize(rig, x, scale, zero), scale, zero);
}

/* int8 weights with a scale and a zero point a channel of dims[axis]. */
static struct graph_value *weights(struct rig *rig, uint32_t rank, const int64_t *dims,
				   int64_t axis, int zero_step)
{
	int64_t count = 1, channels = dims[axis], i;
	int8_t data[4096], zeros[64];
	float scales[64];

	for (i = 0; i < rank; i++)
		count *= dims[i];
	assert_true(count <= 4096 && channels <= 64);
	for (i = 0; i < count; i++)
		data[i] = (int8_t)draw(rig);
	for (i = 0; i < channels; i++) {
		scales[i] = 0.002f + 0.0005f * (float)i;
		zeros[i] = (int8_t)(i * zero_step);
	}
	return through(rig, GRAPH_OP_DEQUANTIZE, constant(rig, GRAPH_DTYPE_I8, rank, dims, data),
		       graph_constant_f32(rig->graph, "scales", 1, &channels, scales),
		       constant(rig, GRAPH_DTYPE_I8, 1, &channels, zeros), GRAPH_DTYPE_F32, axis);
}

static struct graph_value *conv(struct rig *rig, struct graph_value *x, struct graph_value *w)
{
	struct graph_value *inputs[] = { x, w };
	struct graph_node *made = node(rig, GRAPH_OP_CONV, 2, inputs);
	struct graph_window *window = &made->attr.conv.window;

	for (int i = 0; i < 2; i++) {
		window->kernel[i] = w->dims[2 + i];
		window->stride[i] = window->dilation[i] = 1;
		window->pad_begin[i] = window->pad_end[i] = 1;
	}
	made->attr.conv.group = 1;
	return finish(rig, made);
}

static struct graph_value *eltwise(struct rig *rig, enum graph_eltwise_kind kind,
				   struct graph_value *a, struct graph_value *b)
{
	struct graph_value *inputs[] = { a, b };
	struct graph_node *made = node(rig, GRAPH_OP_ELTWISE, 2, inputs);

	made->attr.eltwise = kind;
	return finish(rig, made);
}

/* ------------------------------------------------------------------------- running */
static int64_t run(struct rig *rig, double *results)
{
	struct interpreter *interpreter = interpreter_new(rig->graph);
	const struct graph_value *y = rig->graph->outputs[0];
	int64_t count = graph_element_count(rig->x), i;
	float *x = malloc((size_t)count * sizeof(*x));
	uint32_t before = rig->state;
	const void *data;

	assert_non_null(interpreter);
	assert_non_null(x);
	rig->state = 99;
	for (i = 0; i < count; i++)
		x[i] = (float)(draw(rig) % 2000) / 500.0f - 2.0f;
	rig->state = before;
	assert_int_equal(interpreter_input(interpreter, 0, x), 0);
	if (interpreter_run(interpreter, &rig->diag))
		fail_msg("%s", diag_first_error(&rig->diag));
	data = interpreter_output(interpreter, 0);
	count = graph_element_count(y);
	assert_true(count <= 4096);
	for (i = 0; i < count; i++)
		results[i] = y->dtype == GRAPH_DTYPE_U8 ? ((const uint8_t *)data)[i] :
							  (double)((const float *)data)[i];
	interpreter_free(interpreter);
	free(x);
	return count;
}

/* Runs the passes; results before and after are the same up to a tie. Nodes on integers. */
static uint32_t rewrite(struct rig *rig)
{
	double before[4096], after[4096], most = 0;
	uint32_t integers = 0, off = 0;
	int64_t count, i;

	count = run(rig, before);
	if (quant_graph(rig->graph, &integers, &rig->diag))
		fail_msg("%s", diag_first_error(&rig->diag));
	assert_int_equal(run(rig, after), count);
	for (i = 0; i < count; i++) {
		most = fmax(most, fabs(before[i] - after[i]));
		off += fabs(before[i] - after[i]) > 1e-4;
	}
	if (most > 1 || off > count / 100)
		fail_msg("%u of %ld results differ, by %g at most", off, (long)count, most);
	return integers;
}

static uint32_t count_of(const struct rig *rig, enum graph_op op)
{
	const struct graph_node *at;
	uint32_t count = 0;

	for (at = rig->graph->first; at; at = at->next)
		count += at->op == op;
	return count;
}

static const int64_t plane[] = { 1, 6, 7, 7 }, kernel[] = { 8, 6, 3, 3 };

/* --------------------------------------------------------------------------- tests */
static void convolution(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);
	struct graph_value *y = conv(rig, x, weights(rig, 4, kernel, 0, 0));

	output(rig, quantize(rig, y, 0.05f, 120));
	assert_int_equal(rewrite(rig), 1);
	assert_int_equal(rig->graph->node_count, 2);
	assert_int_equal(rig->graph->last->op, GRAPH_OP_CONV);
	assert_int_equal(rig->graph->outputs[0]->dtype, GRAPH_DTYPE_U8);
}

static void float_result(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);

	output(rig, conv(rig, x, weights(rig, 4, kernel, 0, 0)));
	assert_int_equal(rewrite(rig), 1);
	assert_int_equal(rig->graph->outputs[0]->dtype, GRAPH_DTYPE_F32);
	assert_null(rig->graph->last->quant->output.scales);
}

static void two_readers_keep_a_float_result(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);
	struct graph_value *y = conv(rig, x, weights(rig, 4, kernel, 0, 0));
	struct graph_value *a = both(rig, y, 0.05f, 120), *b = both(rig, y, 0.1f, 128);

	output(rig, quantize(rig, eltwise(rig, GRAPH_ELTWISE_ADD, a, b), 0.15f, 128));
	assert_int_equal(rewrite(rig), 2);
	assert_int_equal(count_of(rig, GRAPH_OP_QUANTIZE), 3);
}

/* A descriptor has one zero point; other weights compute as numbers. */
static void zero_points_by_channel(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);

	output(rig, quantize(rig, conv(rig, x, weights(rig, 4, kernel, 0, 3)), 0.05f, 120));
	assert_int_equal(rewrite(rig), 0);
	assert_true(graph_is_constant(rig->graph->last->previous->inputs[GRAPH_IN_WEIGHT]));
}

static void scales_along_the_wrong_axis(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);

	output(rig, quantize(rig, conv(rig, x, weights(rig, 4, kernel, 1, 0)), 0.05f, 120));
	assert_int_equal(rewrite(rig), 0);
}

static void useless_scales(void **state)
{
	static const float scales[] = { -0.02f, 0.0f, INFINITY, NAN };
	struct rig *rig = *state;
	struct graph_quantization quantization;
	struct graph_value *x = input(rig, 4, plane);

	for (unsigned int i = 0; i < 4; i++) {
		struct graph_value *y = quantize(rig, x, scales[i], 100);

		assert_false(quant_read(rig->graph, y->producer, &quantization));
	}
	assert_true(quant_read(rig->graph, quantize(rig, x, 0.02f, 100)->producer, &quantization));
	assert_int_equal(quantization.zero, 100);
}

/* 255 x 255 x 33,025 is the most that 32 bits hold. */
static void sums_that_could_overflow(void **state)
{
	static const struct {
		int64_t depth;
		uint32_t integers;
	} cases[] = { { 33025, 1 }, { 33026, 0 } };
	struct rig *rig = *state;
	int64_t rows[2] = { 1 }, matrix[2] = { 0, 1 }, one = 1;
	struct graph_value *inputs[2];
	uint32_t integers;
	float scale = 0.01f;

	for (unsigned int i = 0; i < 2; i++) {
		rows[1] = matrix[0] = cases[i].depth;
		rig->graph = graph_new(&rig->arena, "test");
		inputs[0] = both(rig, input(rig, 2, rows), 0.02f, 100);
		inputs[1] = constant(rig, GRAPH_DTYPE_I8, 2, matrix,
				     arena_alloc(&rig->arena, (size_t)matrix[0]));
		inputs[1] = through(rig, GRAPH_OP_DEQUANTIZE, inputs[1],
				    graph_constant_f32(rig->graph, "scale", 1, &one, &scale),
				    constant(rig, GRAPH_DTYPE_I8, 0, NULL, "\0"),
				    GRAPH_DTYPE_F32, 1);
		output(rig, finish(rig, node(rig, GRAPH_OP_MATMUL, 2, inputs)));
		assert_int_equal(quant_graph(rig->graph, &integers, &rig->diag), 0);
		assert_int_equal(integers, cases[i].integers);
	}
}

static void stored_as_integers_only(void **state)
{
	struct rig *rig = *state;

	output(rig, conv(rig, input(rig, 4, plane), weights(rig, 4, kernel, 0, 0)));
	assert_int_equal(rewrite(rig), 0);
	assert_int_equal(rig->graph->node_count, 1);
	assert_int_equal(rig->graph->last->inputs[GRAPH_IN_WEIGHT]->dtype, GRAPH_DTYPE_F32);
}

static void product_with_bias_and_transposed_weights(void **state)
{
	static const int64_t rows[] = { 5, 20 }, matrix[] = { 12, 20 }, results = 12;
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 2, rows), 0.02f, 100), *bias, *inputs[2];
	struct graph_node *product, *turn;
	float data[12];

	for (int i = 0; i < 12; i++)
		data[i] = (float)(i - 6) * 0.3f;
	bias = graph_constant_f32(rig->graph, "bias", 1, &results, data);
	inputs[0] = weights(rig, 2, matrix, 0, 0);
	turn = node(rig, GRAPH_OP_TRANSPOSE, 1, inputs);
	turn->attr.transpose.perm[0] = 1;
	inputs[1] = finish(rig, turn);
	inputs[0] = x;
	product = node(rig, GRAPH_OP_MATMUL, 2, inputs);
	output(rig, quantize(rig, eltwise(rig, GRAPH_ELTWISE_ADD, finish(rig, product), bias),
			     0.05f, 120));
	assert_int_equal(rewrite(rig), 1);
	assert_int_equal(rig->graph->node_count, 2);
	assert_ptr_equal(rig->graph->last->inputs[GRAPH_IN_BIAS], bias);
	assert_true(graph_is_constant(rig->graph->last->inputs[GRAPH_IN_WEIGHT]));
}

static void moves_stay_on_integers(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100);
	struct graph_node *pool = node(rig, GRAPH_OP_POOL, 1, &x), *turn;
	struct graph_window *window = &pool->attr.pool.window;
	struct graph_value *y;

	for (int i = 0; i < 2; i++)
		window->kernel[i] = window->stride[i] = window->dilation[i] = 1 + (i == 0);
	y = both(rig, finish(rig, pool), 0.02f, 100);
	turn = node(rig, GRAPH_OP_TRANSPOSE, 1, &y);
	for (int i = 0; i < 4; i++)
		turn->attr.transpose.perm[i] = 3 - i;
	output(rig, quantize(rig, finish(rig, turn), 0.02f, 100));
	rewrite(rig);
	/* QUANTIZE, pool, transpose; where scales are the same nothing is in between. */
	assert_int_equal(count_of(rig, GRAPH_OP_QUANTIZE), 1);
	assert_int_equal(count_of(rig, GRAPH_OP_DEQUANTIZE), 0);
	assert_int_equal(rig->graph->node_count, 3);
}

static void other_scales_pass_a_table(void **state)
{
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100), *parts[2];
	struct graph_node *joined;

	parts[0] = x;
	parts[1] = both(rig, x, 0.013f, 77);
	joined = node(rig, GRAPH_OP_CONCAT, 2, parts);
	joined->attr.axis.axis = 1;
	output(rig, quantize(rig, finish(rig, joined), 0.02f, 100));
	/* One from 0.02 to 0.013, one back. */
	assert_int_equal(rewrite(rig), 2);
	assert_int_equal(count_of(rig, GRAPH_OP_ACTIVATION), 2);
	assert_int_equal(count_of(rig, GRAPH_OP_DEQUANTIZE), 0);
}

static void arithmetic(void **state)
{
	static const enum graph_eltwise_kind kinds[] = {
		GRAPH_ELTWISE_ADD, GRAPH_ELTWISE_SUB, GRAPH_ELTWISE_MUL, GRAPH_ELTWISE_MAX,
		GRAPH_ELTWISE_MIN,
	};
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 4, plane), 0.02f, 100), *y = x;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		y = both(rig, eltwise(rig, kinds[i], y, x), 0.0317f, 90);
	output(rig, quantize(rig, eltwise(rig, GRAPH_ELTWISE_MUL, y,
					  graph_constant_scalar(rig->graph, "half", 0.5f)),
			     0.02f, 100));
	assert_int_equal(rewrite(rig), 6);
	assert_int_equal(count_of(rig, GRAPH_OP_DEQUANTIZE), 0);
}

/* Rows of an integer table by indices that are known only when it runs. */
static void a_looked_up_table_is_float(void **state)
{
	static const int64_t count = 3, table[] = { 9, 4 };
	struct rig *rig = *state;
	struct graph_value *operands[2] = { input(rig, 1, &count), NULL }, *y;
	struct graph_node *made = node(rig, GRAPH_OP_CAST, 1, operands);

	made->outputs[0]->dtype = GRAPH_DTYPE_I64;
	operands[1] = finish(rig, made);
	operands[0] = weights(rig, 2, table, 0, 0);
	y = finish(rig, node(rig, GRAPH_OP_GATHER, 2, operands));
	output(rig, y);
	assert_int_equal(rewrite(rig), 0);
	assert_int_equal(count_of(rig, GRAPH_OP_DEQUANTIZE), 0);
	assert_int_equal(y->producer->op, GRAPH_OP_GATHER);
	assert_int_equal(y->producer->inputs[0]->dtype, GRAPH_DTYPE_F32);
}

/* A bias that another sum before the product reads stays before that, too. */
static void shared_bias(void **state)
{
	static const int64_t rows[] = { 12, 12 }, matrix[] = { 12, 12 }, results = 12;
	struct rig *rig = *state;
	struct graph_value *x = both(rig, input(rig, 2, rows), 0.02f, 100), *bias, *y, *inputs[2];
	uint8_t bytes[12];

	for (int i = 0; i < 12; i++)
		bytes[i] = (uint8_t)(20 * i);
	bias = dequantize(rig, constant(rig, GRAPH_DTYPE_U8, 1, &results, bytes), 0.01f, 100);
	y = both(rig, eltwise(rig, GRAPH_ELTWISE_ADD, x, bias), 0.03f, 90);
	inputs[0] = y;
	inputs[1] = weights(rig, 2, matrix, 1, 0);
	y = finish(rig, node(rig, GRAPH_OP_MATMUL, 2, inputs));
	output(rig, quantize(rig, eltwise(rig, GRAPH_ELTWISE_ADD, y, bias), 0.05f, 120));
	assert_int_equal(rewrite(rig), 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(convolution, setup, teardown),
		cmocka_unit_test_setup_teardown(float_result, setup, teardown),
		cmocka_unit_test_setup_teardown(two_readers_keep_a_float_result, setup, teardown),
		cmocka_unit_test_setup_teardown(zero_points_by_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(scales_along_the_wrong_axis, setup, teardown),
		cmocka_unit_test_setup_teardown(useless_scales, setup, teardown),
		cmocka_unit_test_setup_teardown(sums_that_could_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(stored_as_integers_only, setup, teardown),
		cmocka_unit_test_setup_teardown(product_with_bias_and_transposed_weights, setup,
						teardown),
		cmocka_unit_test_setup_teardown(moves_stay_on_integers, setup, teardown),
		cmocka_unit_test_setup_teardown(other_scales_pass_a_table, setup, teardown),
		cmocka_unit_test_setup_teardown(arithmetic, setup, teardown),
		cmocka_unit_test_setup_teardown(a_looked_up_table_is_float, setup, teardown),
		cmocka_unit_test_setup_teardown(shared_bias, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
