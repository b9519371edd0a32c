// SPDX-License-Identifier: MIT
/*
 * If and Loop. The device runs straight lines: a branch whose condition is
 * known when compiling is taken, else both are computed; a loop whose count is
 * known is unrolled.
 */
#include <inttypes.h>
#include <string.h>

#include "import.h"

#define MAX_ITERATIONS 4096

static bool is_constant_scalar(const struct graph_value *value)
{
	return graph_is_constant(value) && graph_element_count(value) == 1;
}

static const struct onnx_graph *branch_of(struct import_node *in, const char *name)
{
	const struct onnx_attribute *branch = import_attribute(in, name);

	if (!branch || !branch->g) {
		import_error(in, "its %s is missing, one is needed; name it", name);
		return NULL;
	}
	if (branch->g->output_count < in->onnx->output_count) {
		import_error(in,
			     "its %s has %" PRIu32 " outputs, %" PRIu32
			     " are needed; give it as many",
			     name, branch->g->output_count, in->onnx->output_count);
		return NULL;
	}
	return branch->g;
}

static struct graph_value **inline_branch(struct import_node *in, const char *name)
{
	const struct onnx_graph *branch = branch_of(in, name);
	struct graph_value **results;

	if (!branch)
		return NULL;
	results = arena_alloc_array(in->import->arena, branch->output_count, sizeof(*results));
	if (!results) {
		import_memory(in);
		return NULL;
	}
	return import_inline(in, branch, NULL, NULL, 0, results) ? NULL : results;
}

static bool branches_agree(const struct import_node *in, struct graph_value *const *a,
			   struct graph_value *const *b)
{
	uint32_t i;

	for (i = 0; i < in->onnx->output_count; i++)
		if (!graph_shape_equal(a[i], b[i]) || a[i]->dtype != b[i]->dtype)
			return false;
	return true;
}

/*
 * Nodes have no effects, so both branches may be computed and one be chosen,
 * where they give the same shapes.
 */
static int choose_branch(struct import_node *in, struct graph_value *condition)
{
	struct graph_value **chosen = inline_branch(in, "then_branch"), **other, *operands[3];
	struct graph_node *node;
	uint32_t i;

	other = chosen ? inline_branch(in, "else_branch") : NULL;
	if (!other)
		return -1;
	if (!branches_agree(in, chosen, other))
		return import_unknown(
			in,
			"its condition is computed while running and its branches differ in shape, one shape is "
			"supported; export the model with one branch only");
	operands[0] = import_reshape(in, condition, 0, NULL);
	if (!operands[0])
		return -1;
	for (i = 0; i < in->onnx->output_count; i++) {
		operands[1] = chosen[i];
		operands[2] = other[i];
		node = import_node_new(in, GRAPH_OP_WHERE, 3, operands, 1);
		if (import_result(in, i, import_finish(in, node)))
			return -1;
	}
	return 0;
}

static int import_if(struct import_node *in)
{
	struct graph_value *condition = import_input(in, 0), **results;
	uint32_t i;

	if (!condition)
		return import_missing(in, 1);
	if (graph_element_count(condition) != 1 || condition->dtype != GRAPH_DTYPE_BOOL)
		return import_error(in,
				    "its condition is %s of %" PRId64
				    " elements, a bool of 1 is needed; correct it",
				    graph_dtype_name(condition->dtype),
				    graph_element_count(condition));
	if (!graph_is_constant(condition))
		return choose_branch(in, condition);
	results = inline_branch(in, graph_constant_as_i64(condition, 0) ? "then_branch" :
									  "else_branch");
	if (!results)
		return -1;
	for (i = 0; i < in->onnx->output_count; i++)
		if (import_result(in, i, results[i]))
			return -1;
	return 0;
}

struct loop {
	const struct onnx_graph *body;
	uint32_t carried; /* values handed from one iteration to the next */
	uint32_t collected; /* outputs stacked over all iterations */
	struct graph_value **values; /* body inputs: iteration, condition, carried */
	struct graph_value **results; /* body outputs: condition, carried, collected */
	struct graph_value **stacks; /* [collected][iterations], each with a leading 1 */
	struct wire_bytes *names;
};

static int loop_iteration(struct import_node *in, struct loop *loop, int64_t iteration,
			  int64_t trips)
{
	uint32_t i;
	void *data;

	loop->values[0] = import_constant(in, GRAPH_DTYPE_I64, 0, NULL, &data);
	if (!loop->values[0])
		return -1;
	*(int64_t *)data = iteration;
	if (import_inline(in, loop->body, loop->names, loop->values, loop->carried + 2,
			  loop->results))
		return -1;
	for (i = 0; i < loop->carried + 1; i++)
		loop->values[1 + i] = loop->results[i];
	for (i = 0; i < loop->collected; i++) {
		struct graph_value *value = loop->results[1 + loop->carried + i];
		int64_t dims[GRAPH_MAX_RANK] = { 1 };

		if (!graph_shape_known(value) || value->rank + 1 > GRAPH_MAX_RANK)
			return import_error(
				in,
				"what it collects has no known shape or more dimensions than %d less one, a known one is "
				"needed; collect another value",
				GRAPH_MAX_RANK);
		memcpy(dims + 1, value->dims, value->rank * sizeof(dims[0]));
		value = import_reshape(in, value, value->rank + 1, dims);
		if (!value)
			return -1;
		loop->stacks[(int64_t)i * trips + iteration] = value;
	}
	return 0;
}

static int loop_results(struct import_node *in, const struct loop *loop, int64_t trips,
			int64_t done)
{
	struct graph_node *node;
	uint32_t i;

	for (i = 0; i < loop->carried; i++)
		if (import_result(in, i, loop->values[2 + i]))
			return -1;
	for (i = 0; i < loop->collected; i++) {
		struct graph_value **stack = loop->stacks + (int64_t)i * trips;

		if (!done)
			return import_error(
				in,
				"it runs 0 iterations, at least 1 is needed for what it collects; cut it out of the model");
		node = import_node_new(in, GRAPH_OP_CONCAT, (uint32_t)done, stack, 1);
		if (import_result(in, loop->carried + i, import_finish(in, node)))
			return -1;
	}
	return 0;
}

static int loop_arrays(struct import_node *in, struct loop *loop, int64_t trips)
{
	struct arena *arena = in->import->arena;
	uint32_t i;

	loop->values = arena_alloc_array(arena, (uint64_t)loop->carried + 2, sizeof(*loop->values));
	loop->names = arena_alloc_array(arena, (uint64_t)loop->carried + 2, sizeof(*loop->names));
	loop->results = arena_alloc_array(arena, loop->body->output_count, sizeof(*loop->results));
	loop->stacks = arena_alloc_array(arena, (uint64_t)loop->collected * (uint64_t)(trips + 1),
					 sizeof(*loop->stacks));
	if (!loop->values || !loop->names || !loop->results || !loop->stacks)
		return import_memory(in);
	for (i = 0; i < loop->carried + 2; i++)
		loop->names[i] = loop->body->inputs[i].name;
	for (i = 0; i < loop->carried; i++) {
		loop->values[2 + i] = import_input(in, 2 + i);
		if (!loop->values[2 + i])
			return import_error(in,
					    "the first value of carried value %" PRIu32
					    " is missing, it is needed; name it",
					    i);
	}
	return 0;
}

static int import_loop(struct import_node *in)
{
	struct graph_value *count = import_input(in, 0), *condition = import_input(in, 1);
	const struct onnx_attribute *body = import_attribute(in, "body");
	struct loop loop = { 0 };
	int64_t trips, i;
	void *data;

	if (!body || !body->g)
		return import_error(in, "its body is missing, one is needed; name it");
	if (!is_constant_scalar(count) || (condition && !is_constant_scalar(condition)))
		return import_unknown(
			in,
			"the number of its iterations is computed while running, only constants are supported; "
			"make it one");
	trips = graph_constant_as_i64(count, 0);
	if (trips > MAX_ITERATIONS)
		return import_unknown(
			in,
			"it runs %" PRId64
			" iterations, at most %d are supported; unroll less of the model",
			trips, MAX_ITERATIONS);
	trips = trips < 0 ? 0 : trips;
	loop.body = body->g;
	loop.carried = in->input_count > 2 ? in->input_count - 2 : 0;
	if (loop.body->input_count < loop.carried + 2 || loop.body->output_count < loop.carried + 1)
		return import_error(in,
				    "its body has %" PRIu32 " inputs and %" PRIu32
				    " outputs, those of what it carries are needed; correct "
				    "the body",
				    loop.body->input_count, loop.body->output_count);
	loop.collected = loop.body->output_count - loop.carried - 1;
	if (loop_arrays(in, &loop, trips))
		return -1;
	loop.values[1] = condition;
	if (!condition) {
		loop.values[1] = import_constant(in, GRAPH_DTYPE_BOOL, 0, NULL, &data);
		if (!loop.values[1])
			return -1;
		*(uint8_t *)data = 1;
	}
	for (i = 0; i < trips && graph_constant_as_i64(loop.values[1], 0); i++) {
		if (loop_iteration(in, &loop, i, trips))
			return -1;
		if (!is_constant_scalar(loop.values[1]))
			return import_error(
				in,
				"whether it goes on is computed while running, only constants are supported; make "
				"it one");
	}
	return loop_results(in, &loop, trips, i);
}

const struct import_operator import_control_operators[] = {
	{ "If", import_if },
	{ "Loop", import_loop },
	{ NULL, NULL },
};
