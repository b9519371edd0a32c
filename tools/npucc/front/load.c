// SPDX-License-Identifier: MIT
/* The stages of the front half, one after the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../fuse/fuse.h"
#include "../npucc_front.h"
#include "../quant/quant.h"
#include "import.h"
#include "onnx.h"

struct npucc_model {
	struct arena arena;
	struct onnx_files *files;
	struct graph *graph;
	uint32_t onnx_nodes;
};

static int parse_dims(const char *text, struct npucc_shape_binding *binding, struct diag *diag)
{
	const char *at = text;

	binding->rank = 0;
	while (*at) {
		char *end;
		long long size;

		errno = 0;
		size = strtoll(at, &end, 10);
		if (end == at || errno || size < 1 || size > (long long)1 << 40 || *at < '0' ||
		    *at > '9')
			return diag_error(diag,
					  "'%s' is no shape: sizes of 1 or more joined by 'x' are "
					  "needed, as in 1x3x48x320",
					  text);
		if (binding->rank == GRAPH_MAX_RANK)
			return diag_error(diag, "shape '%s' has more than %d dimensions", text,
					  GRAPH_MAX_RANK);
		binding->dims[binding->rank++] = size;
		if (*end && (*end != 'x' || !end[1]))
			return diag_error(diag,
					  "'%s' is no shape: sizes of 1 or more joined by 'x' are "
					  "needed, as in 1x3x48x320",
					  text);
		at = *end ? end + 1 : end;
	}
	return 0;
}

int npucc_parse_shape(char *text, struct npucc_shape_binding *binding, struct diag *diag)
{
	char *equals = strrchr(text, '=');

	if (!equals || equals == text)
		return diag_error(diag, "--shape '%s' does not have the form NAME=1x3x48x320",
				  text);
	if (parse_dims(equals + 1, binding, diag))
		return -1;
	*equals = 0;
	binding->name = text;
	return 0;
}

static void dump(const struct npucc_model *model, const struct npucc_front_options *options,
		 const char *stage)
{
	if (!options->dump || (options->dump_stage && strcmp(options->dump_stage, stage)))
		return;
	fprintf(options->dump, "# after %s\n", stage);
	graph_dump(model->graph, options->dump);
}

static int check_known(const struct graph *graph, struct diag *diag)
{
	const struct graph_node *node;
	uint32_t i;

	for (node = graph->first; node; node = node->next)
		for (i = 0; i < node->output_count; i++)
			if (!graph_shape_known(node->outputs[i]))
				return diag_error(diag, "node '%s' (%s) cannot be compiled: %s",
						  node->name, node->op_type,
						  node->problem ?
							  node->problem :
							  "the shape of its output is not known");
	return 0;
}

static int run_stages(struct npucc_model *model, struct wire_bytes bytes,
		      const struct npucc_front_options *options, struct diag *diag)
{
	struct import import = {
		.arena = &model->arena,
		.diag = diag,
		.files = model->files,
		.options = options,
	};
	uint64_t disabled = options->disabled_passes;
	uint32_t integers;
	bool quantized;

	import.model = onnx_parse(bytes, &model->arena, diag);
	if (!import.model)
		return -1;
	model->graph =
		graph_new(&model->arena, onnx_string(&model->arena, import.model->graph->name));
	import.graph = model->graph;
	if (!model->graph)
		return diag_error(diag, "not enough memory to import the model");
	if (import_model(&import))
		return -1;
	model->onnx_nodes = import.onnx_nodes;
	graph_remove_dead(model->graph);
	if (graph_verify(model->graph, diag))
		return -1;
	dump(model, options, "import");
	if (!options->keep_going && check_known(model->graph, diag))
		return -1;
	if (!options->fold_affine)
		disabled |= (uint64_t)1 << FUSE_AFFINE;
	if (fuse_graph(model->graph, options->fusion, disabled, diag))
		return -1;
	dump(model, options, "fuse");
	quantized = quant_speaks_of_integers(model->graph);
	if (quant_graph(model->graph, &integers, diag))
		return -1;
	/* Weights that only were stored as integers are constants now. */
	if (quantized && !integers && fuse_graph(model->graph, options->fusion, disabled, diag))
		return -1;
	dump(model, options, "quant");
	return 0;
}

static struct npucc_model *load(struct onnx_files *files, struct wire_bytes bytes,
				const struct npucc_front_options *options, struct diag *diag)
{
	struct npucc_model *model = calloc(1, sizeof(*model));

	if (!model) {
		diag_error(diag, "not enough memory to import the model");
		onnx_files_close(files);
		return NULL;
	}
	arena_init(&model->arena, options->max_memory);
	model->files = files;
	if (run_stages(model, bytes, options, diag)) {
		npucc_model_free(model);
		return NULL;
	}
	return model;
}

struct npucc_model *npucc_front_load(const char *path, const struct npucc_front_options *options,
				     struct diag *diag)
{
	struct onnx_files *files = onnx_files_open(path, diag);
	struct wire_bytes bytes;

	if (!files)
		return NULL;
	onnx_files_get(files, 0, &bytes);
	return load(files, bytes, options, diag);
}

struct npucc_model *npucc_front_load_memory(const void *bytes, size_t size,
					    const struct npucc_front_options *options,
					    struct diag *diag)
{
	struct wire_bytes span = { bytes, size };

	return load(NULL, span, options, diag);
}

struct graph *npucc_model_graph(struct npucc_model *model)
{
	return model->graph;
}

uint32_t npucc_model_merged(const struct npucc_model *model)
{
	uint32_t left = model->graph->node_count;

	return model->onnx_nodes > left ? model->onnx_nodes - left : 0;
}

bool npucc_model_file(const struct npucc_model *model, uint32_t index, const void **bytes,
		      size_t *size)
{
	struct wire_bytes span;

	if (!model->files || !onnx_files_get(model->files, index, &span))
		return false;
	*bytes = span.data;
	*size = span.size;
	return true;
}

void npucc_model_free(struct npucc_model *model)
{
	if (!model)
		return;
	onnx_files_close(model->files);
	arena_free(&model->arena);
	free(model);
}
