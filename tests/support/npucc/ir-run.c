// SPDX-License-Identifier: MIT
/*
 * Runs a model through npucc's front half and interprets the graph in float,
 * to compare it with another runtime.
 *
 * usage: ir-run MODEL.onnx [--fusion N] [--affine] [--shape NAME=1x2x3]...
 *               [--input NAME=FILE.npy]... [--output NAME=FILE.npy]...
 */
#include <stdlib.h>
#include <string.h>

#include "fold/interpreter.h"
#include "npucc_front.h"
#include "npy.h"

#define MAX_FILES 32

struct file {
	const char *name;
	const char *path;
};

struct arguments {
	const char *model;
	struct npucc_shape_binding shapes[NPUCC_MAX_SHAPES];
	struct npucc_front_options options;
	struct file inputs[MAX_FILES], outputs[MAX_FILES];
	int input_count, output_count;
};

static bool split(char *text, struct file *file)
{
	char *equals = strrchr(text, '=');

	if (!equals)
		return false;
	*equals = 0;
	file->name = text;
	file->path = equals + 1;
	return true;
}

static bool parse(int argc, char **argv, struct arguments *arguments, struct diag *diag)
{
	int i;

	arguments->options.shapes = arguments->shapes;
	arguments->options.fusion = 2;
	for (i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "--affine")) {
			arguments->options.fold_affine = true;
		} else if (!strcmp(argv[i], "--fusion") && more) {
			arguments->options.fusion = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--shape") && more) {
			if (arguments->options.shape_count == NPUCC_MAX_SHAPES ||
			    npucc_parse_shape(argv[++i],
					      &arguments->shapes[arguments->options.shape_count++],
					      diag))
				return false;
		} else if (!strcmp(argv[i], "--input") && more &&
			   arguments->input_count < MAX_FILES) {
			if (!split(argv[++i], &arguments->inputs[arguments->input_count++]))
				return false;
		} else if (!strcmp(argv[i], "--output") && more &&
			   arguments->output_count < MAX_FILES) {
			if (!split(argv[++i], &arguments->outputs[arguments->output_count++]))
				return false;
		} else if (argv[i][0] != '-' && !arguments->model) {
			arguments->model = argv[i];
		} else {
			return false;
		}
	}
	return arguments->model != NULL;
}

static int find(struct graph_value *const *list, uint32_t count, const char *name)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i]->name, name))
			return (int)i;
	fprintf(stderr, "the model has no input or output '%s'\n", name);
	return -1;
}

static bool set_inputs(struct interpreter *interpreter, const struct graph *graph,
		       const struct arguments *arguments)
{
	int i;

	if ((uint32_t)arguments->input_count != graph->input_count) {
		fprintf(stderr, "the model has %u inputs, %d are given\n", graph->input_count,
			arguments->input_count);
		return false;
	}
	for (i = 0; i < arguments->input_count; i++) {
		int index = find(graph->inputs, graph->input_count, arguments->inputs[i].name);
		void *data = index < 0 ? NULL :
					 npy_read(arguments->inputs[i].path, graph->inputs[index]);
		int result = data ? interpreter_input(interpreter, (uint32_t)index, data) : -1;

		free(data);
		if (result)
			return false;
	}
	return true;
}

static bool get_outputs(const struct interpreter *interpreter, const struct graph *graph,
			const struct arguments *arguments)
{
	int i;

	for (i = 0; i < arguments->output_count; i++) {
		int index = find(graph->outputs, graph->output_count, arguments->outputs[i].name);

		if (index < 0 || npy_write(arguments->outputs[i].path, graph->outputs[index],
					   interpreter_output(interpreter, (uint32_t)index)))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct interpreter *interpreter = NULL;
	struct npucc_model *model = NULL;
	struct diag diag;
	int result = 1;

	diag_init(&diag);
	if (!parse(argc, argv, &arguments, &diag)) {
		fprintf(stderr,
			"usage: ir-run MODEL.onnx [--fusion N] [--affine] [--shape NAME=1x2x3]... "
			"[--input NAME=FILE.npy]... [--output NAME=FILE.npy]...\n");
		result = 2;
		goto out;
	}
	model = npucc_front_load(arguments.model, &arguments.options, &diag);
	if (!model)
		goto out;
	interpreter = interpreter_new(npucc_model_graph(model));
	if (!interpreter || !set_inputs(interpreter, npucc_model_graph(model), &arguments) ||
	    interpreter_run(interpreter, &diag) ||
	    !get_outputs(interpreter, npucc_model_graph(model), &arguments))
		goto out;
	printf("nodes %u merged %u\n", npucc_model_graph(model)->node_count,
	       npucc_model_merged(model));
	result = 0;
out:
	interpreter_free(interpreter);
	npucc_model_free(model);
	diag_print(&diag, DIAG_WARNING, stderr);
	diag_free(&diag);
	return result;
}
