// SPDX-License-Identifier: MIT
#include "interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "eval.h"

struct interpreter {
	struct graph *graph;
	void **data; /* by value id; NULL for constants */
};

static size_t value_bytes(const struct graph_value *value)
{
	return (size_t)graph_element_count(value) * graph_dtype_bytes(value->dtype);
}

struct interpreter *interpreter_new(struct graph *graph)
{
	struct interpreter *interpreter = calloc(1, sizeof(*interpreter));

	if (!interpreter)
		return NULL;
	interpreter->graph = graph;
	interpreter->data = calloc((size_t)graph->value_count + 1, sizeof(*interpreter->data));
	if (!interpreter->data) {
		free(interpreter);
		return NULL;
	}
	return interpreter;
}

void interpreter_free(struct interpreter *interpreter)
{
	uint32_t i;

	if (!interpreter)
		return;
	for (i = 0; i < interpreter->graph->value_count; i++)
		free(interpreter->data[i]);
	free(interpreter->data);
	free(interpreter);
}

/* Exactly as large as the value is, so that a sanitizer sees every step beyond. */
static void *fresh(struct interpreter *interpreter, const struct graph_value *value)
{
	void **data = &interpreter->data[value->id];

	free(*data);
	*data = malloc(value_bytes(value) ? value_bytes(value) : 1);
	return *data;
}

int interpreter_input(struct interpreter *interpreter, uint32_t index, const void *data)
{
	const struct graph_value *value = interpreter->graph->inputs[index];
	void *copy = fresh(interpreter, value);

	if (!copy)
		return -1;
	memcpy(copy, data, value_bytes(value));
	return 0;
}

const void *interpreter_value(const struct interpreter *interpreter,
			      const struct graph_value *value)
{
	if (!value)
		return NULL;
	return value->data ? value->data : interpreter->data[value->id];
}

static int run_node(struct interpreter *interpreter, const struct graph_node *node,
		    struct diag *diag)
{
	const void **inputs = calloc((size_t)node->input_count + 1, sizeof(*inputs));
	void **outputs = calloc((size_t)node->output_count + 1, sizeof(*outputs));
	int result = -1;
	uint32_t i;

	if (!inputs || !outputs)
		goto out;
	for (i = 0; i < node->input_count; i++)
		inputs[i] = interpreter_value(interpreter, node->inputs[i]);
	for (i = 0; i < node->output_count; i++) {
		outputs[i] = fresh(interpreter, node->outputs[i]);
		if (!outputs[i])
			goto out;
	}
	result = eval_node(node, inputs, outputs, diag);
out:
	free(inputs);
	free(outputs);
	return result;
}

int interpreter_run(struct interpreter *interpreter, struct diag *diag)
{
	const struct graph_node *node;

	for (node = interpreter->graph->first; node; node = node->next)
		if (run_node(interpreter, node, diag))
			return -1;
	return 0;
}

const void *interpreter_output(const struct interpreter *interpreter, uint32_t index)
{
	return interpreter_value(interpreter, interpreter->graph->outputs[index]);
}
