/* SPDX-License-Identifier: MIT */
#include "node_device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/compile.h"
#include "scan/limits.h"

#define ATTEMPTS 4

/* ---------------------------------------------------------------------- compiling */
static uint64_t fixed_inputs(const struct node_case *node_case, int attempt)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < node_case->input_count; i++) {
		bool is_float = graph_dtype_is_float(node_case->inputs[i].dtype);

		if ((attempt == 1 && !is_float) || (attempt == 2 && i > 0) ||
		    (attempt == 3 && i > 0 && !is_float))
			mask |= (uint64_t)1 << i;
	}
	return mask;
}

static void explain(struct node_result *result, enum node_outcome outcome, const struct diag *diag)
{
	const char *text = diag_first_error(diag);

	result->outcome = outcome;
	snprintf(result->why, sizeof(result->why), "%s", text ? text : "no sentence");
}

/* What is left of the graph, if anything, copies constants to the outputs. */
static bool all_constant(const struct graph *graph)
{
	for (const struct graph_node *node = graph->first; node; node = node->next)
		for (uint32_t i = 0; i < node->input_count; i++)
			if (node->inputs[i] && !graph_is_constant(node->inputs[i]))
				return false;
	return true;
}

/* The sentence of the table of limits, without the node's name: tests are grouped by it. */
static bool refused_by_table(const struct graph *graph, struct node_result *result)
{
	struct scan_finding finding;

	for (const struct graph_node *node = graph->first; node; node = node->next) {
		if (scan_node(node, &finding))
			continue;
		result->outcome = NODE_REFUSED;
		snprintf(result->why, sizeof(result->why), "%s: %.400s", node->op_type,
			 finding.reason);
		return true;
	}
	return false;
}

/* True when @scratch holds a program; else the result says why not. */
static bool compile(struct npucc_model *model, const char *scratch, struct node_result *result)
{
	struct options options = { .fusion = 2, .pipeline_stages = 2 };
	struct graph *graph = npucc_model_graph(model);
	struct compile_report report;
	struct program program = { 0 };
	struct diag diag;
	bool done = false;

	if (all_constant(graph)) {
		result->outcome = NODE_FOLDED;
		snprintf(result->why, sizeof(result->why), "every output is a constant");
		return false;
	}
	if (refused_by_table(graph, result))
		return false;
	diag_init(&diag);
	if (npu_config_parse("npu-v3", &options.config, result->why, sizeof(result->why)) ||
	    compile_graph(graph, &options, NULL, &program, &report, &diag))
		explain(result, NODE_REFUSED_LATE, &diag);
	else if (elf_write(&program, scratch, &diag))
		explain(result, NODE_FAILED, &diag);
	else
		done = true;
	free(program.rodata);
	diag_free(&diag);
	return done;
}

/* ------------------------------------------------------------------------ running */
struct run {
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_binding bindings[2 * NODE_MAX_TENSORS];
	uint32_t count;
};

static int alloc_binding(struct run *run, const struct npurt_tensor_info *info)
{
	struct npurt_binding *binding = &run->bindings[run->count];

	binding->offset = 0;
	if (npurt_buffer_alloc(run->context, info->device_bytes, 0, &binding->buffer))
		return -1;
	run->count++;
	return 0;
}

static int bind_input(struct run *run, uint32_t index, const struct node_tensor *tensor)
{
	struct npurt_tensor_info info = { .size = sizeof(info) };

	if (npurt_model_get_input(run->model, index, &info) || alloc_binding(run, &info))
		return -1;
	return npurt_tensor_from_host(&info, tensor->data, info.host_bytes,
				      npurt_buffer_map(run->bindings[run->count - 1].buffer),
				      info.device_bytes);
}

static int start(struct run *run, struct npurt_device *device, const struct node_case *node_case,
		 uint64_t constants, const char *scratch)
{
	struct npurt_model_info model = { .size = sizeof(model) };
	struct npurt_tensor_info info = { .size = sizeof(info) };
	uint32_t index = 0;

	if (npurt_context_create(device, NULL, &run->context) ||
	    npurt_model_load(run->context, scratch, &run->model) ||
	    npurt_model_get_info(run->model, &model))
		return -1;
	for (uint32_t i = 0; i < node_case->input_count; i++)
		if (!(constants >> i & 1) && index < model.inputs &&
		    bind_input(run, index++, &node_case->inputs[i]))
			return -1;
	for (uint32_t i = 0; i < model.outputs; i++)
		if (npurt_model_get_output(run->model, i, &info) || alloc_binding(run, &info))
			return -1;
	return npurt_run(run->model, run->bindings, run->count, NULL);
}

static void stop(struct run *run)
{
	for (uint32_t i = 0; i < run->count; i++)
		npurt_buffer_free(run->bindings[i].buffer);
	npurt_model_unload(run->model);
	npurt_context_destroy(run->context);
}

/* ---------------------------------------------------------------------- comparing */
static bool compare(const struct graph_value *value, const void *data,
		    const struct node_tensor *expected, uint32_t index, struct node_result *result)
{
	static const struct node_tolerance tolerance = { .of_value = 4e-3, .of_largest = 4e-3 };
	struct diag diag;
	int different;

	diag_init(&diag);
	different = node_compare(value, data, expected, index, &tolerance, &diag);
	result->outcome = NODE_PASSED;
	if (different)
		explain(result, NODE_FAILED, &diag);
	diag_free(&diag);
	return !different;
}

static void compare_outputs(const struct run *run, const struct graph *graph,
			    const struct node_case *node_case, struct node_result *result)
{
	uint32_t first = run->count - graph->output_count;

	for (uint32_t i = 0; i < graph->output_count && i < node_case->output_count; i++) {
		struct npurt_tensor_info info = { .size = sizeof(info) };
		const void *device = npurt_buffer_map(run->bindings[first + i].buffer);
		void *host;
		bool equal;

		if (npurt_model_get_output(run->model, i, &info))
			return;
		host = malloc(info.host_bytes + 1);
		if (!host || npurt_tensor_to_host(&info, device, info.device_bytes, host,
						  info.host_bytes)) {
			result->outcome = NODE_FAILED;
			snprintf(result->why, sizeof(result->why), "output cannot be converted: %s",
				 npurt_last_error());
			free(host);
			return;
		}
		equal = compare(graph->outputs[i], host, &node_case->outputs[i], i, result);
		free(host);
		if (!equal)
			return;
	}
}

static void run_program(struct npurt_device *device, const struct node_case *node_case,
			const struct graph *graph, uint64_t constants, const char *scratch,
			struct node_result *result)
{
	struct run run = { 0 };

	result->outcome = NODE_FAILED;
	if (graph->output_count != node_case->output_count)
		snprintf(result->why, sizeof(result->why), "the program has %" PRIu32 " outputs",
			 graph->output_count);
	else if (start(&run, device, node_case, constants, scratch))
		snprintf(result->why, sizeof(result->why), "%s", npurt_last_error());
	else
		compare_outputs(&run, graph, node_case, result);
	stop(&run);
}

/* Compiles with some inputs made constants, and runs. False when the model was not taken. */
static bool try_constants(struct npurt_device *device, const struct node_case *node_case,
			  uint64_t constants, const char *scratch, struct node_result *result)
{
	struct npucc_model *model;
	struct diag diag;
	bool compiled = false;

	diag_init(&diag);
	model = node_case_load(node_case, constants, 2, &diag);
	if (!model) {
		explain(result, NODE_REFUSED, &diag);
	} else if (compile(model, scratch, result)) {
		compiled = true;
		run_program(device, node_case, npucc_model_graph(model), constants, scratch, result);
	}
	npucc_model_free(model);
	diag_free(&diag);
	return compiled;
}

void node_device_run(struct npurt_device *device, const struct node_case *node_case,
		     const char *scratch, struct node_result *result)
{
	uint64_t all = node_case->input_count < 64 ? ((uint64_t)1 << node_case->input_count) - 1 :
						     UINT64_MAX;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint64_t constants = fixed_inputs(node_case, attempt);
		struct node_result tried = { .outcome = NODE_FAILED };

		/* With every input known the compiler's own evaluator would be tested instead. */
		if (attempt && (!constants || constants == all))
			continue;
		if (try_constants(device, node_case, constants, scratch, &tried)) {
			*result = tried;
			return;
		}
		/* What was refused with its inputs is not made good by folding them away. */
		if (attempt && tried.outcome == NODE_FOLDED)
			return;
		*result = tried;
		if (tried.outcome == NODE_FOLDED)
			return;
	}
}
