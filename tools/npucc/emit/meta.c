// SPDX-License-Identifier: MIT
/* .npu.meta: what the host needs to know of a model. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../layout/placement.h"
#include "npu/npu_binary.h"
#include "program.h"

/* A string table that grows by doubling in the arena. */
struct strings {
	struct arena *arena;
	char *bytes;
	size_t size, capacity;
	bool failed;
};

static uint32_t add_string(struct strings *strings, const char *text)
{
	size_t length = strlen(text) + 1, offset = strings->size;

	if (strings->size + length > strings->capacity) {
		size_t capacity = 2 * (strings->capacity + length);
		char *bytes = arena_alloc(strings->arena, capacity);

		if (!bytes || capacity > UINT32_MAX) {
			strings->failed = true;
			return 0;
		}
		if (strings->size)
			memcpy(bytes, strings->bytes, strings->size);
		strings->bytes = bytes;
		strings->capacity = capacity;
	}
	memcpy(strings->bytes + offset, text, length);
	strings->size += length;
	return (uint32_t)offset;
}

/* ONNX TensorProto.DataType of what the host hands over. */
static uint32_t host_type(enum graph_dtype dtype)
{
	static const uint8_t types[GRAPH_DTYPE_COUNT] = {
		[GRAPH_DTYPE_F32] = 1,	 [GRAPH_DTYPE_U8] = 2,	 [GRAPH_DTYPE_I8] = 3,
		[GRAPH_DTYPE_U16] = 4,	 [GRAPH_DTYPE_I16] = 5,	 [GRAPH_DTYPE_I32] = 6,
		[GRAPH_DTYPE_I64] = 7,	 [GRAPH_DTYPE_BOOL] = 9, [GRAPH_DTYPE_F16] = 10,
		[GRAPH_DTYPE_F64] = 11,	 [GRAPH_DTYPE_U32] = 12, [GRAPH_DTYPE_U64] = 13,
		[GRAPH_DTYPE_BF16] = 16,
	};

	return types[dtype];
}

static struct npu_meta_tensor meta_tensor(const struct graph_value *value, struct strings *strings)
{
	const struct placement *placement = placement_of(value);
	const float one = 1.0f;
	struct npu_meta_tensor tensor = {
		.name = htole32(add_string(strings, value->name)),
		.argument = htole32(placement->argument),
		.host_type = htole32(host_type(value->dtype)),
		.device_dtype = htole32(placement->dtype),
		.rank = htole32(placement->rank),
		.bytes = htole64((uint64_t)graph_element_count(value) *
				 NPU_DTYPE_BYTES(placement->dtype)),
	};
	uint32_t i, bits;

	for (i = 0; i < placement->rank; i++)
		tensor.dims[i] = htole32((uint32_t)placement->dims[i]);
	memcpy(&bits, &one, sizeof(bits));
	tensor.scale = htole32(bits);
	return tensor;
}

static struct npu_meta_layer meta_layer(const struct program_layer *layer, struct strings *strings)
{
	return (struct npu_meta_layer){
		.name = htole32(add_string(strings, layer->name)),
		.op = htole32(add_string(strings, layer->op)),
		.mark = htole32(layer->mark),
		.macs = htole64(layer->macs),
		.predicted_cycles = htole64(layer->predicted_cycles),
		.dram_bytes = htole64(layer->dram_bytes),
	};
}

int program_meta(struct program *program, struct arena *arena, struct diag *diag)
{
	const struct graph *graph = program->graph;
	uint32_t tensors = graph->input_count + graph->output_count, i;
	size_t tensors_offset = sizeof(struct npu_meta_header);
	size_t layers_offset = tensors_offset + tensors * sizeof(struct npu_meta_tensor);
	size_t strings_offset =
		layers_offset + program->layer_count * sizeof(struct npu_meta_layer);
	struct strings strings = { .arena = arena };
	struct npu_meta_header header = {
		.magic = htole32(NPU_META_MAGIC),
		.version = htole32(NPU_META_VERSION),
		.inputs = htole32(graph->input_count),
		.outputs = htole32(graph->output_count),
		.tensors_offset = htole32((uint32_t)tensors_offset),
		.layers = htole32(program->layer_count),
		.layers_offset = htole32((uint32_t)layers_offset),
		.strings_offset = htole32((uint32_t)strings_offset),
		.macs = htole64(program->macs),
		.predicted_cycles = htole64(program->predicted_cycles),
		.roofline_cycles = htole64(program->roofline_cycles),
		.floor_cycles = htole64(program->floor_cycles),
		.clusters = htole32(program->clusters),
		.precision = htole32(program->precision),
		.point_cycles = htole64(points_longest(program->points)),
	};
	uint8_t *fixed = arena_alloc(arena, strings_offset);

	if (!fixed)
		return diag_error(diag, "the model's metadata does not fit into memory");
	header.model_name = htole32(add_string(&strings, program->model_name));
	for (i = 0; i < tensors; i++) {
		struct npu_meta_tensor tensor =
			meta_tensor(i < graph->input_count ? graph->inputs[i] :
							     graph->outputs[i - graph->input_count],
				    &strings);

		memcpy(fixed + tensors_offset + i * sizeof(tensor), &tensor, sizeof(tensor));
	}
	for (i = 0; i < program->layer_count; i++) {
		struct npu_meta_layer layer = meta_layer(&program->layers[i], &strings);

		memcpy(fixed + layers_offset + i * sizeof(layer), &layer, sizeof(layer));
	}
	header.strings_bytes = htole32((uint32_t)strings.size);
	memcpy(fixed, &header, sizeof(header));
	program->meta_bytes = strings_offset + strings.size;
	program->meta = arena_alloc(arena, program->meta_bytes);
	if (!program->meta || strings.failed || program->meta_bytes > UINT32_MAX)
		return diag_error(diag, "the model's metadata does not fit into memory");
	memcpy(program->meta, fixed, strings_offset);
	memcpy(program->meta + strings_offset, strings.bytes, strings.size);
	return 0;
}
