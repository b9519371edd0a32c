// SPDX-License-Identifier: MIT
/* The back end in order: placements, layers, program, file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../decompose/decompose.h"
#include "../emit/program.h"
#include "../lower/estimate.h"
#include "../lower/lower.h"
#include "../lower/prefetch.h"
#include "../lower/rodata.h"
#include "../scan/limits.h"
#include "compile.h"

/* Passes at most: places, sources, and what a change of weights' sizes may add. */
#define PASSES_MAX 5

struct backend {
	struct lower lower;
	struct program *program;
	struct estimate_registers registers[NPU_PROGRAM_CLUSTERS_MAX];
	FILE *log;			/* the compile log */
	char *pass_log;			/* of the pass under way */
	size_t pass_log_bytes;
};

static void backend_free(struct backend *backend)
{
	uint32_t cluster;

	for (cluster = 0; cluster < backend->lower.clusters; cluster++) {
		stream_free(backend->lower.streams[cluster]);
		backend->lower.streams[cluster] = NULL;
	}
	rodata_free(backend->lower.rodata);
	backend->lower.rodata = NULL;
	points_free(backend->lower.points);
	backend->lower.points = NULL;
	if (backend->lower.log)
		fclose(backend->lower.log);
	backend->lower.log = NULL;
	free(backend->pass_log);
	backend->pass_log = NULL;
}

/* Empty streams and constants: the state in which a pass over the layers starts. */
static int backend_begin(struct backend *backend)
{
	struct lower *lower = &backend->lower;
	uint32_t cluster;

	backend_free(backend);
	lower->marks = 0;
	lower->local_peak = 0;
	memset(backend->registers, 0, sizeof(backend->registers));
	lower->rodata = rodata_new();
	lower->points = points_new(lower->clusters, lower->config->dma_channels);
	if (backend->log)
		lower->log = open_memstream(&backend->pass_log, &backend->pass_log_bytes);
	for (cluster = 0; cluster < lower->clusters; cluster++) {
		lower->streams[cluster] = stream_new();
		if (!lower->streams[cluster])
			return diag_error(lower->diag, "no memory for %u streams", lower->clusters);
		if (lower->config->dma_channels == 1)
			stream_one_channel(lower->streams[cluster]);
	}
	if (!lower->rodata || !lower->points || (backend->log && !lower->log))
		return diag_error(lower->diag, "no memory for constants");
	return 0;
}

static void backend_init(struct backend *backend, struct graph *graph,
			 const struct options *options, FILE *log, struct diag *diag)
{
	backend->log = log;
	backend->lower = (struct lower){
		.graph = graph,
		.config = &options->config,
		.diag = diag,
		.arena = graph->arena,
		.clusters = options->config.clusters,
		.float_type = NPU_DTYPE_FP16,
		.local_limit = options->config.local_bytes,
		.pipeline_stages = options->pipeline_stages,
		.tile_min = options->tile_min,
		.tile_max = options->tile_max,
	};
	if (options->max_sram_bytes && options->max_sram_bytes < backend->lower.local_limit)
		backend->lower.local_limit = options->max_sram_bytes;
}

static void open_layer(struct backend *backend, const struct graph_node *node,
		       struct program_layer *layer)
{
	uint32_t cluster;

	*layer = (struct program_layer){ .name = node->name,
					 .op = node->op_type,
					 .origin = node->origin,
					 .mark = backend->lower.marks };
	for (cluster = 0; cluster < backend->lower.clusters; cluster++)
		stream_bytes(backend->lower.streams[cluster], &layer->start[cluster]);
}

static int lower_layers(struct backend *backend, struct compile_report *report)
{
	struct program *program = backend->program;
	struct lower *lower = &backend->lower;
	struct graph_node *node, *following;

	if (backend_begin(backend))
		return -1;
	program->layer_count = 0;
	report->predicted_cycles = 0;
	report->dram_bytes = 0;
	graph_for_each_node(lower->graph, node, following)
	{
		struct program_layer *layer = &program->layers[program->layer_count];
		uint64_t way;

		if (layout_is_view(node))
			continue;
		open_layer(backend, node, layer);
		if (lower_node(lower, node)) {
			report->refused = node;
			return -1;
		}
		estimate_layer(lower, backend->registers, layer->start, &lower->figures);
		if (lower->prefetch)
			prefetch_layer(lower->prefetch, node, &lower->figures);
		way = points_layer(lower->points, lower->figures.cycles);
		layer->macs = lower->figures.macs;
		layer->predicted_cycles = lower->figures.cycles;
		layer->dram_bytes = lower->figures.dram_bytes;
		report->predicted_cycles += layer->predicted_cycles;
		report->dram_bytes += layer->dram_bytes;
		program->layer_count++;
		if (lower->log)
			fprintf(lower->log,
				"layer %u: %s (%s): %" PRIu64 " MACs, %" PRIu64 " cycles, %" PRIu64
				" DRAM bytes, a point every %" PRIu64 " cycles\n",
				layer->mark, layer->name, layer->op, layer->macs,
				layer->predicted_cycles, layer->dram_bytes, way);
	}
	return 0;
}

static int build_program(struct backend *backend, struct compile_report *report)
{
	struct program *program = backend->program;
	struct lower *lower = &backend->lower;
	uint32_t cluster;

	program->model_name = lower->graph->name ? lower->graph->name : "";
	program->target = lower->config->name;
	program->clusters = lower->clusters;
	program->dma_channels = lower->config->dma_channels;
	program->local_bytes = lower->local_peak;
	program->rodata = rodata_take(lower->rodata, &program->rodata_bytes);
	program->precision = report->precision;
	program->graph = lower->graph;
	program->macs = report->macs;
	program->predicted_cycles = report->predicted_cycles;
	program->roofline_cycles = report->roofline_cycles;
	program->floor_cycles = report->floor_cycles;
	program->points = lower->points;
	for (cluster = 0; cluster < lower->clusters; cluster++) {
		program->streams[cluster] = lower->streams[cluster];
		stream_end(program->streams[cluster]);
		if (stream_failed(program->streams[cluster]))
			return diag_error(lower->diag, "no memory for the program of cluster %u",
					  cluster);
	}
	if (program_build(program, lower->arena, lower->diag))
		return -1;
	report->layers = program->layer_count;
	report->sram_peak_bytes = lower->local_peak;
	report->text_bytes = program->text_bytes;
	report->rodata_bytes = program->rodata_bytes;
	return 0;
}

/*
 * Lower with weights brought to global SRAM by earlier layers: see lower/prefetch.h. Without
 * anything to bring, or when places do not settle, the first pass stands.
 */
static int lower_passes(struct backend *backend, struct layout_memory *memory,
			struct compile_report *report)
{
	struct lower *lower = &backend->lower;
	struct prefetch *prefetch = NULL;
	uint64_t used = memory->global_bytes;
	uint32_t pass;

	if (memory->global_limit)
		prefetch = prefetch_new(lower->graph, lower->config);
	lower->prefetch = prefetch;
	if (lower_layers(backend, report))
		return -1;
	if (!prefetch || !prefetch_plan(prefetch, memory->global_limit, &used))
		return 0;
	for (pass = 0; pass < PASSES_MAX; pass++) {
		prefetch_begin(prefetch);
		if (lower_layers(backend, report))
			return -1;
		if (prefetch_check(prefetch)) {
			memory->global_bytes = used;
			return 0;
		}
	}
	lower->prefetch = NULL;
	return lower_layers(backend, report);
}

static int lower_graph(struct backend *backend, struct layout_memory *memory,
		       struct compile_report *report)
{
	struct lower *lower = &backend->lower;
	struct program *program = backend->program;

	program->layers = arena_alloc_array(lower->arena, lower->graph->node_count + 1ull,
					    sizeof(*program->layers));
	if (!program->layers)
		return diag_error(lower->diag, "no memory for %u layers", lower->graph->node_count);
	if (lower_passes(backend, memory, report))
		return -1;
	if (backend->log && !fflush(lower->log))
		fwrite(backend->pass_log, 1, backend->pass_log_bytes, backend->log);
	report->scratch_bytes = program->scratch_bytes = memory->scratch_bytes;
	report->global_bytes = program->global_bytes = (uint32_t)memory->global_bytes;
	return build_program(backend, report);
}

int compile_graph(struct graph *graph, const struct options *options, FILE *log,
		  struct program *program, struct compile_report *report, struct diag *diag)
{
	struct backend backend = { .program = program };
	struct layout_memory memory = { .global_limit = options->config.global_bytes };
	int result;

	memset(program, 0, sizeof(*program));
	*report = (struct compile_report){ 0 };
	if (scan_refuse(graph, diag))
		return -1;
	roofline(graph, &options->config, report);
	if (decompose_graph(graph, diag))
		return -1;
	if (options->max_window_bytes && options->max_window_bytes < memory.global_limit)
		memory.global_limit = options->max_window_bytes;
	/* Load, compute and store in turn means by way of DRAM. */
	if (options->pipeline_stages == 1)
		memory.global_limit = 0;
	if (layout_plan(graph, NPU_DTYPE_FP16, options->layout, &memory, diag))
		return -1;
	backend_init(&backend, graph, options, log, diag);
	result = lower_graph(&backend, &memory, report);
	memset(program->streams, 0, sizeof(program->streams));
	program->points = NULL;
	backend_free(&backend);
	return result;
}
