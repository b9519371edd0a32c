// SPDX-License-Identifier: MIT
/* The graph's own rules: use lists, replacement, verification; half floats; the arena. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/infer.h"
#include "support/half.h"

static struct arena arena;

static const int64_t plane[] = { 1, 2, 4, 4 };

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct graph_value *value_of(struct graph *graph, const char *name)
{
	struct graph_value *value = graph_value_new(graph, name, strlen(name), GRAPH_DTYPE_F32);

	assert_non_null(value);
	graph_value_set_shape(value, 4, plane);
	return value;
}

static struct graph_node *activation(struct graph *graph, struct graph_value *x, const char *name)
{
	struct graph_node *node =
		graph_node_new(graph, NULL, GRAPH_OP_ACTIVATION, name, "Relu", 1, 1);

	assert_non_null(node);
	node->attr.activation.kind = GRAPH_ACTIVATION_RELU;
	assert_int_equal(graph_node_set_input(graph, node, 0, x), 0);
	assert_non_null(graph_node_new_output(graph, node, 0, name, GRAPH_DTYPE_F32));
	assert_int_equal(graph_infer_node(node, NULL), 0);
	return node;
}

/* x -> a -> b, with b the output. */
static struct graph *chain(struct graph_node **a, struct graph_node **b)
{
	struct graph *graph = graph_new(&arena, "chain");
	struct graph_value *x;

	assert_non_null(graph);
	x = value_of(graph, "x");
	x->is_input = true;
	graph->inputs = arena_alloc(&arena, sizeof(x));
	graph->inputs[0] = x;
	graph->input_count = 1;
	*a = activation(graph, x, "a");
	*b = activation(graph, (*a)->outputs[0], "b");
	graph->outputs = arena_alloc(&arena, sizeof(x));
	graph->outputs[0] = (*b)->outputs[0];
	graph->outputs[0]->is_output = true;
	graph->output_count = 1;
	assert_int_equal(graph_verify(graph, NULL), 0);
	return graph;
}

static void test_uses(void **state)
{
	struct graph_node *a, *b, *add;
	struct graph *graph = chain(&a, &b);
	struct graph_value *x = graph->inputs[0];

	(void)state;
	assert_ptr_equal(graph_single_user(x), a);
	assert_null(graph_single_user(b->outputs[0]));
	add = graph_node_new(graph, NULL, GRAPH_OP_ELTWISE, "add", "Add", 2, 1);
	assert_non_null(add);
	graph_node_set_input(graph, add, 0, x);
	graph_node_set_input(graph, add, 1, x);
	assert_int_equal(x->use_count, 3);
	assert_null(graph_single_user(x));
	graph_node_set_input(graph, add, 0, a->outputs[0]);
	assert_int_equal(x->use_count, 2);
	assert_int_equal(graph_node_resize_inputs(graph, add, 1), 0);
	assert_int_equal(x->use_count, 1);
	graph_node_remove(graph, add);
	assert_int_equal(a->outputs[0]->use_count, 1);
	assert_int_equal(graph->node_count, 2);
	assert_int_equal(graph_verify(graph, NULL), 0);
}

static void test_replace(void **state)
{
	struct graph_node *a, *b;
	struct graph *graph = chain(&a, &b);

	(void)state;
	/* An input cannot take an output's place, a node's result can, and takes its name. */
	assert_int_equal(graph_value_replace(graph, b->outputs[0], graph->inputs[0]), -1);
	assert_int_equal(graph_value_replace(graph, b->outputs[0], a->outputs[0]), 0);
	assert_ptr_equal(graph->outputs[0], a->outputs[0]);
	assert_string_equal(graph->outputs[0]->name, "b");
	assert_int_equal(graph_remove_dead(graph), 1);
	assert_int_equal(graph_verify(graph, NULL), 0);
	assert_ptr_equal(graph->last, a);
}

static void refuses(const struct graph *graph)
{
	struct diag diag;

	diag_init(&diag);
	assert_int_equal(graph_verify(graph, &diag), -1);
	assert_true(diag.errors > 0);
	diag_free(&diag);
}

static void test_verify(void **state)
{
	struct graph_node *a, *b;
	struct graph *graph;

	(void)state;
	graph = chain(&a, &b);
	graph_node_move_before(graph, b, a);
	refuses(graph);
	graph = chain(&a, &b);
	a->outputs[0]->dims[3]++;
	refuses(graph);
	graph = chain(&a, &b);
	a->outputs[0]->use_count = 0;
	refuses(graph);
	graph = chain(&a, &b);
	b->outputs[0]->producer = a;
	refuses(graph);
	graph = chain(&a, &b);
	graph->node_count++;
	refuses(graph);
	graph = chain(&a, &b);
	a->activation.kind = GRAPH_ACTIVATION_RELU;
	refuses(graph);
	graph = chain(&a, &b);
	a->outputs[0]->dtype = GRAPH_DTYPE_F16;
	refuses(graph);
	graph = chain(&a, &b);
	graph->outputs[0] = graph->inputs[0];
	refuses(graph);
}

static void test_dump(void **state)
{
	struct graph_node *a, *b;
	struct graph *graph = chain(&a, &b);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	a->name = "line\nbreak\"\x01";
	graph_dump(graph, out);
	fclose(out);
	assert_non_null(strstr(text, "activation relu"));
	assert_non_null(strstr(text, "\"line\\x0abreak\\\"\\x01\""));
	assert_non_null(strstr(text, "f32[1x2x4x4]"));
	free(text);
}

static void test_window_output(void **state)
{
	struct graph_window window = { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 1 }, { 0, 1 } };

	(void)state;
	assert_int_equal(graph_window_output(&window, 0, 8, false), 3);
	assert_int_equal(graph_window_output(&window, 0, 8, true), 4);
	assert_int_equal(graph_window_output(&window, 1, 8, false), 4);
	assert_int_equal(graph_window_output(&window, 0, 2, false), 0);
	/* A window that would start in the end padding does not count. */
	window.kernel[1] = 1;
	window.pad_end[1] = 0;
	assert_int_equal(graph_window_output(&window, 1, 2, true), 2);
	window.stride[1] = 3;
	assert_int_equal(graph_window_output(&window, 1, 2, true), 1);
	window.dilation[0] = 3;
	assert_int_equal(graph_window_output(&window, 0, 9, false), 2);
}

/* By the definition of the format. */
static double half_value(uint16_t half)
{
	int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
	double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);

	return half >> 15 ? -value : value;
}

static void test_half(void **state)
{
	uint32_t bits;

	(void)state;
	for (bits = 0; bits < 0x10000; bits++) {
		float value = half_to_float((uint16_t)bits);

		if ((bits & 0x7fff) > 0x7c00) {
			assert_true(isnan(value));
			assert_int_equal(half_from_float(value), 0x7e00);
			continue;
		}
		if ((bits & 0x7fff) == 0x7c00)
			assert_true(isinf(value) && (value < 0) == (bits >> 15 == 1));
		else
			assert_true((double)value == half_value((uint16_t)bits));
		assert_int_equal(half_from_float(value), bits);
	}
}

/* Between two neighbours: to the nearer, the middle to the even one. */
static void test_half_rounding(void **state)
{
	uint32_t bits;

	(void)state;
	for (bits = 0; bits < 0x7c00; bits++) {
		double low = half_value((uint16_t)bits);
		double high = bits == 0x7bff ? 65536.0 : half_value((uint16_t)(bits + 1));
		float middle = (float)((low + high) / 2);
		uint32_t even = bits & 1 ? bits + 1 : bits;

		assert_int_equal(half_from_float(middle), even);
		assert_int_equal(half_from_float(nextafterf(middle, 0)), bits);
		assert_int_equal(half_from_float(nextafterf(middle, 1e9f)), bits + 1);
		assert_int_equal(half_from_float(-middle), even | 0x8000);
	}
	assert_int_equal(half_from_float(INFINITY), 0x7c00);
	assert_int_equal(half_from_float(1e30f), 0x7c00);
	assert_int_equal(half_from_float(1e-30f), 0);
}

static void test_bfloat16(void **state)
{
	uint32_t bits;

	(void)state;
	for (bits = 0; bits < 0x7f80; bits++) {
		float low = bfloat16_to_float((uint16_t)bits);
		float high = bfloat16_to_float((uint16_t)(bits + 1));
		float middle = low + (high - low) / 2;

		assert_int_equal(bfloat16_from_float(low), bits);
		if (!isinf(high))
			assert_int_equal(bfloat16_from_float(middle), bits & 1 ? bits + 1 : bits);
	}
	assert_int_equal(bfloat16_from_float(NAN), 0x7fc0);
}

static void test_arena(void **state)
{
	struct arena small;
	uint8_t *a, *b;
	size_t i;

	(void)state;
	arena_init(&small, 100000);
	a = arena_alloc(&small, 50000);
	b = arena_alloc(&small, 100);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal((uintptr_t)a % 64, 0);
	assert_int_equal((uintptr_t)b % 64, 0);
	for (i = 0; i < 50000; i++)
		assert_int_equal(a[i], 0);
	memset(a, 1, 50000);
	memset(b, 2, 100);
	assert_int_equal(a[49999], 1);
	assert_null(arena_alloc(&small, 50000));
	assert_null(arena_alloc_array(&small, UINT64_MAX / 2, 4));
	assert_non_null(arena_alloc(&small, 0));
	assert_string_equal(arena_printf(&small, "%d-%s", 7, "x"), "7-x");
	arena_free(&small);
}

static void test_element_count(void **state)
{
	static const int64_t large[] = { (int64_t)1 << 30, (int64_t)1 << 30 };
	static const int64_t none[] = { (int64_t)1 << 39, (int64_t)1 << 39, 0 };
	struct graph_value value = { 0 };

	(void)state;
	assert_int_equal(graph_element_count(&value), -1);
	graph_value_set_shape(&value, 0, NULL);
	assert_int_equal(graph_element_count(&value), 1);
	graph_value_set_shape(&value, 2, large);
	assert_int_equal(graph_element_count(&value), -1);
	graph_value_set_shape(&value, 3, none);
	assert_int_equal(graph_element_count(&value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verify, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
		cmocka_unit_test(test_window_output),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_half_rounding),
		cmocka_unit_test(test_bfloat16),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_element_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
