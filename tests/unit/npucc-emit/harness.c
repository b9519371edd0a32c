// SPDX-License-Identifier: MIT
#include "harness.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout/placement.h"
#include "support/half.h"
#include "stream_sim.h"

static int explain(struct harness *harness)
{
	const char *text = diag_first_error(&harness->diag);

	snprintf(harness->error, sizeof(harness->error), "%s", text ? text : "no sentence");
	return -1;
}

int harness_init(struct harness *harness, const char *target)
{
	memset(harness, 0, sizeof(*harness));
	diag_init(&harness->diag);
	harness->options.fusion = 2;
	harness->options.pipeline_stages = 2;
	return npu_config_parse(target, &harness->options.config, harness->error,
				sizeof(harness->error));
}

int harness_compile(struct harness *harness, const uint8_t *model, size_t size)
{
	struct npucc_front_options front = { .fusion = (int)harness->options.fusion };

	harness->model = npucc_front_load_memory(model, size, &front, &harness->diag);
	if (!harness->model)
		return explain(harness);
	if (compile_graph(npucc_model_graph(harness->model), &harness->options, NULL,
			  &harness->program, &harness->report, &harness->diag))
		return explain(harness);
	return 0;
}

/* The device holds floats as fp16, or as fp32 where layout_plan() says so. */
static bool is_wide(const struct graph_value *value)
{
	return placement_of(value)->dtype == NPU_DTYPE_FP32;
}

static uint8_t *to_device(const struct graph_value *value, const float *from)
{
	size_t count = (size_t)graph_element_count(value);
	uint8_t *bytes = malloc(count * 4 + 1);

	for (size_t i = 0; bytes && i < count; i++) {
		uint16_t half = htole16(half_from_float(from[i]));

		if (is_wide(value))
			memcpy(bytes + 4 * i, &from[i], 4);
		else
			memcpy(bytes + 2 * i, &half, 2);
	}
	return bytes;
}

static void from_device(const struct graph_value *value, const uint8_t *bytes, float *to)
{
	for (int64_t i = 0; i < graph_element_count(value); i++) {
		uint16_t half;

		if (is_wide(value)) {
			memcpy(&to[i], bytes + 4 * i, 4);
			continue;
		}
		memcpy(&half, bytes + 2 * i, 2);
		to[i] = half_to_float(le16toh(half));
	}
}

int harness_run(struct harness *harness, const float *const *inputs, float *const *outputs,
		uint64_t seed)
{
	struct stream_sim_memory arguments[NPU_ARG_COUNT] = { 0 };
	struct graph *graph = npucc_model_graph(harness->model);
	uint32_t i, first_output = NPU_ARG_FIRST_IO + graph->input_count;
	int result = -1;

	arguments[NPU_ARG_WEIGHTS].bytes = harness->program.rodata;
	arguments[NPU_ARG_WEIGHTS].size = harness->program.rodata_bytes;
	arguments[NPU_ARG_SCRATCH].size = harness->program.scratch_bytes;
	arguments[NPU_ARG_SCRATCH].bytes = malloc(harness->program.scratch_bytes + 1);
	if (!arguments[NPU_ARG_SCRATCH].bytes)
		goto out;
	memset(arguments[NPU_ARG_SCRATCH].bytes, 0xff, harness->program.scratch_bytes);
	for (i = 0; i < graph->input_count + graph->output_count; i++) {
		struct stream_sim_memory *memory = &arguments[NPU_ARG_FIRST_IO + i];
		const struct graph_value *value = i < graph->input_count ?
							  graph->inputs[i] :
							  graph->outputs[i - graph->input_count];

		memory->size = (size_t)graph_element_count(value) * (is_wide(value) ? 4 : 2);
		memory->bytes = i < graph->input_count ? to_device(value, inputs[i]) :
							 malloc(memory->size);
		if (!memory->bytes)
			goto out;
		if (i >= graph->input_count)
			memset(memory->bytes, 0xff, memory->size);
	}
	result = stream_sim_run(&harness->options.config, harness->program.text,
				harness->program.text_bytes, arguments, seed, harness->error,
				&harness->instructions);
	for (i = 0; i < graph->output_count && !result; i++)
		from_device(graph->outputs[i], arguments[first_output + i].bytes, outputs[i]);
out:
	for (i = NPU_ARG_SCRATCH; i < NPU_ARG_COUNT; i++)
		free(arguments[i].bytes);
	return result;
}

void harness_free(struct harness *harness)
{
	free(harness->program.rodata);
	npucc_model_free(harness->model);
	diag_free(&harness->diag);
	memset(harness, 0, sizeof(*harness));
}
