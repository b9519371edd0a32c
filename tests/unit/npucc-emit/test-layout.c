// SPDX-License-Identifier: MIT
/* Placements: views point at the right elements, memory of live values never overlaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/stream.h"
#include "layout/view.h"
#include "random.h"

static struct graph *new_graph(struct arena *arena)
{
	struct graph *graph;

	arena_init(arena, 0);
	graph = graph_new(arena, "test");
	assert_non_null(graph);
	return graph;
}

static struct graph_value *new_value(struct graph *graph, uint32_t rank, const int64_t *dims)
{
	struct graph_value *value = graph_value_new(graph, "v", 1, GRAPH_DTYPE_F32);

	assert_non_null(value);
	graph_value_set_shape(value, rank, dims);
	return value;
}

/* Byte address of an element, by its index in row-major order of the dims. */
static int64_t address(const struct placement *placement, int64_t index)
{
	int64_t at = placement->offset;
	uint32_t i;

	for (i = placement->rank; i-- > 0;) {
		at += index % placement->dims[i] * placement->strides[i];
		index /= placement->dims[i];
	}
	return at;
}

static struct placement some_placement(struct random *random, uint32_t rank)
{
	struct placement placement = { .argument = 1, .dtype = NPU_DTYPE_FP16, .rank = rank };
	uint32_t order[4] = { 0, 1, 2, 3 }, i;
	int64_t stride = 2;

	for (i = 0; i < rank; i++)
		placement.dims[i] = random_between(random, 1, 6);
	for (i = rank; i > 1 && (random_next(random) & 1); i--) {
		uint32_t other = random_between(random, 0, i - 1), swap = order[i - 1];

		order[i - 1] = order[other];
		order[other] = swap;
	}
	for (i = rank; i-- > 0;) {
		placement.strides[order[i]] = stride;
		stride *= placement.dims[order[i]];
	}
	placement.offset = 64 * random_between(random, 0, 100);
	return placement;
}

static int64_t count_of(const struct placement *placement)
{
	int64_t count = 1;
	uint32_t i;

	for (i = 0; i < placement->rank; i++)
		count *= placement->dims[i];
	return count;
}

/* Dims with the same product, by splitting and joining those there are. */
static uint32_t other_dims(struct random *random, int64_t count, int64_t dims[8])
{
	uint32_t rank = 0;

	while (count > 1 && rank < 6) {
		int64_t factor = random_between(random, 1, 12);

		if (count % factor)
			continue;
		dims[rank++] = factor;
		count /= factor;
	}
	dims[rank++] = count;
	return rank;
}

static void reshapes_keep_row_major_order(void **state)
{
	struct random random = { .state = 99 };
	int views = 0, i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct placement source = some_placement(&random, random_between(&random, 1, 4)),
				 view;
		int64_t dims[8], count = count_of(&source), at;
		uint32_t rank = other_dims(&random, count, dims);

		if (!view_reshape(&source, rank, dims, &view))
			continue;
		views++;
		assert_int_equal(view.rank, rank);
		for (at = 0; at < count; at++)
			assert_int_equal(address(&view, at), address(&source, at));
	}
	assert_true(views > 2000);
}

/* What needs no strides but those there are must be found: row-major memory reshapes always. */
static void dense_memory_always_reshapes(void **state)
{
	struct random random = { .state = 11 };
	int i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct placement source = some_placement(&random, random_between(&random, 1, 4)),
				 view;
		int64_t dims[8], stride = 2;
		uint32_t d;

		for (d = source.rank; d-- > 0;) {
			source.strides[d] = stride;
			stride *= source.dims[d];
		}
		assert_true(view_reshape(&source, other_dims(&random, count_of(&source), dims),
					 dims, &view));
	}
}

static void transposes_and_slices(void **state)
{
	struct random random = { .state = 5 };
	struct arena arena;
	int i;

	(void)state;
	for (i = 0; i < 500; i++) {
		struct graph *graph = new_graph(&arena);
		struct placement source = some_placement(&random, 3), view;
		struct graph_value *input = new_value(graph, 3, source.dims);
		struct graph_node *node =
			graph_node_new(graph, NULL, GRAPH_OP_SLICE, "n", "Slice", 1, 1);
		int64_t dims[3], at[3];
		uint32_t d;

		graph_node_set_input(graph, node, 0, input);
		for (d = 0; d < 3; d++) {
			int64_t start = random_between(&random, 0, (uint32_t)source.dims[d] - 1);
			bool back = random_next(&random) & 1;

			node->attr.slice.start[d] = start;
			node->attr.slice.step[d] = back ? -1 : 1;
			dims[d] = back ? start + 1 : source.dims[d] - start;
		}
		graph_node_set_output(node, 0, new_value(graph, 3, dims));
		assert_true(view_output(node, 0, &source, &view));
		for (at[0] = 0; at[0] < dims[0]; at[0]++)
			for (at[1] = 0; at[1] < dims[1]; at[1]++)
				for (at[2] = 0; at[2] < dims[2]; at[2]++) {
					int64_t want = source.offset, have = view.offset;

					for (d = 0; d < 3; d++) {
						want += (node->attr.slice.start[d] +
							 at[d] * node->attr.slice.step[d]) *
							source.strides[d];
						have += at[d] * view.strides[d];
					}
					assert_int_equal(have, want);
				}
		node->op = GRAPH_OP_TRANSPOSE;
		node->attr.transpose.perm[0] = 2;
		node->attr.transpose.perm[1] = 0;
		node->attr.transpose.perm[2] = 1;
		assert_true(view_output(node, 0, &source, &view));
		for (d = 0; d < 3; d++)
			assert_int_equal(view.strides[d],
					 source.strides[node->attr.transpose.perm[d]]);
		arena_free(&arena);
	}
}

/* Chains and joins of element-wise nodes: live values must not share bytes. */
static void live_values_do_not_overlap(void **state)
{
	enum {
		NODES = 60
	};
	struct random random = { .state = 31 };
	int round;

	(void)state;
	for (round = 0; round < 50; round++) {
		struct graph_value *values[NODES + 1];
		struct arena arena;
		struct graph *graph = new_graph(&arena);
		int64_t dims[4] = { 1, 3, 4, 5 };
		int last[NODES + 1] = { 0 };
		struct diag diag;
		struct layout_memory memory = { .global_limit = round & 1 ? 1500 : 0 };
		int i, j;

		diag_init(&diag);
		values[0] = new_value(graph, 4, dims);
		values[0]->is_input = true;
		graph->inputs = values;
		graph->input_count = 1;
		for (i = 1; i <= NODES; i++) {
			struct graph_node *node =
				graph_node_new(graph, NULL, GRAPH_OP_ELTWISE, "n", "Add", 2, 1);
			int64_t own[4] = { 1, 3, random_between(&random, 1, 9), 5 };

			for (j = 0; j < 2; j++) {
				int from = i - 1 - (int)random_between(&random, 0, i > 6 ? 5 : 0);

				graph_node_set_input(graph, node, (uint32_t)j, values[from]);
				last[from] = i;
			}
			values[i] = new_value(graph, 4, own);
			graph_node_set_output(node, 0, values[i]);
		}
		values[NODES]->is_output = true;
		graph->outputs = &values[NODES];
		graph->output_count = 1;
		assert_int_equal(layout_plan(graph, NPU_DTYPE_FP16, LAYOUT_AUTO, &memory, &diag),
				 0);
		for (i = 1; i < NODES; i++) {
			const struct placement *a = placement_of(values[i]);

			bool global = a->argument == STREAM_ARGUMENT_GLOBAL;

			assert_true(global || a->argument == NPU_ARG_SCRATCH);
			assert_true(a->offset + count_of(a) * 2 <=
				    (int64_t)(global ? memory.global_bytes : memory.scratch_bytes));
			for (j = i + 1; j < NODES && j <= last[i]; j++) {
				const struct placement *b = placement_of(values[j]);

				assert_true(a->argument != b->argument ||
					    a->offset + count_of(a) * 2 <= b->offset ||
					    b->offset + count_of(b) * 2 <= a->offset);
			}
		}
		/* And dead ones do share: the plan is smaller than everything side by side. */
		assert_true(memory.scratch_bytes + memory.global_bytes < NODES * 64 * 2);
		assert_true(memory.global_bytes <= memory.global_limit);
		assert_int_equal(memory.global_bytes != 0, round & 1);
		diag_free(&diag);
		arena_free(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reshapes_keep_row_major_order),
		cmocka_unit_test(dense_memory_always_reshapes),
		cmocka_unit_test(transposes_and_slices),
		cmocka_unit_test(live_values_do_not_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
