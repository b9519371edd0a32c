// SPDX-License-Identifier: MIT
/* The JSON object of npu-objdump; its keys are a contract and only grow. */
#include <elf.h>
#include <endian.h>

#include "isa_text.h"
#include "json_writer.h"
#include "show.h"

#define SCHEMA 1

static void put_identity(struct json_writer *json, const struct model_file *model)
{
	const struct npurt_image *image = &model->image;
	char text[2 * sizeof(image->build_id) + 1];

	json_text(json, "file", model->path);
	json_text(json, "model", image->name);
	json_text(json, "target", image->target);
	snprintf(text, sizeof(text), "%u.%u", image->abi >> 16, image->abi & 0xffff);
	json_text(json, "abi", text);
	for (size_t i = 0; i < sizeof(image->build_id); i++)
		snprintf(text + 2 * i, 3, "%02x", image->build_id[i]);
	json_text(json, "build_id", text);
	json_text(json, "precision", device_type_name(image->precision));
	json_number(json, "macs", image->macs);
	json_number(json, "predicted_cycles", image->predicted_cycles);
	json_number(json, "roofline_cycles", image->roofline_cycles);
	json_number(json, "floor_cycles", image->floor_cycles);
}

static void put_sections(struct json_writer *json, const struct model_file *model)
{
	json_begin(json, "sections", '[');
	for (uint32_t i = 0; i < model->section_count; i++) {
		const struct section *section = &model->sections[i];

		json_begin(json, NULL, '{');
		json_text(json, "name", section->name);
		json_number(json, "offset", section->offset);
		json_number(json, "bytes", section->bytes);
		json_number(json, "align", section->align);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_program(struct json_writer *json, const struct model_file *model)
{
	const struct npu_program_header *header = &model->image.program;

	json_begin(json, "program", '{');
	json_number(json, "version", le16toh(header->version));
	json_number(json, "bytes", model->program_bytes);
	json_number(json, "clusters", header->clusters);
	json_number(json, "dma_channels", header->dma_channels);
	json_number(json, "local_sram_bytes", le32toh(header->local_bytes));
	json_number(json, "global_sram_bytes", le32toh(header->global_bytes));
	json_number(json, "save_bytes", le32toh(header->save_bytes));
	json_number(json, "point_cycles", model->image.point_cycles);
	json_begin(json, "entries", '[');
	for (uint32_t i = 0; i < header->clusters; i++)
		json_number(json, NULL, le32toh(header->entry[i]));
	json_end(json, ']');
	json_end(json, '}');
}

static void put_tensors(struct json_writer *json, const char *key, const struct model_file *model,
			uint32_t first, uint32_t count)
{
	json_begin(json, key, '[');
	for (uint32_t i = first; i < first + count; i++) {
		const struct npurt_image_tensor *tensor = &model->image.tensors[i];

		json_begin(json, NULL, '{');
		json_text(json, "name", tensor->name);
		json_number(json, "argument", NPU_ARG_FIRST_IO + i);
		json_text(json, "host_type", host_type_name(tensor->host_type));
		json_text(json, "device_type", device_type_name(tensor->device_type));
		json_begin(json, "dims", '[');
		for (uint32_t d = 0; d < tensor->rank; d++)
			json_number(json, NULL, tensor->dims[d]);
		json_end(json, ']');
		json_real(json, "scale", (double)tensor->scale);
		json_signed(json, "zero_point", tensor->zero_point);
		json_number(json, "bytes", tensor->device_bytes);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_symbols(struct json_writer *json, const struct model_file *model)
{
	const struct npurt_image *image = &model->image;

	json_begin(json, "symbols", '[');
	for (size_t i = 0; i < image->symbol_count; i++) {
		json_begin(json, NULL, '{');
		json_text(json, "name", image->symbols[i].name);
		json_number(json, "offset", image->symbols[i].offset);
		json_number(json, "bytes", symbol_end(model, i) - image->symbols[i].offset);
		json_end(json, '}');
	}
	json_end(json, ']');
	json_begin(json, "layers", '[');
	for (uint32_t i = 0; i < image->layer_count; i++) {
		const struct npurt_image_layer *layer = &image->layers[i];

		json_begin(json, NULL, '{');
		json_text(json, "name", layer->name);
		json_text(json, "op", layer->op);
		json_number(json, "mark", layer->mark);
		json_number(json, "macs", layer->macs);
		json_number(json, "predicted_cycles", layer->predicted_cycles);
		json_number(json, "dram_bytes", layer->dram_bytes);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_instructions(struct json_writer *json, const struct model_file *model,
			     const struct stream *stream)
{
	const uint8_t *code = model->program + stream->offset;
	size_t at = 0, bytes = (size_t)stream->bytes;
	char text[NPU_ISA_LINE_BYTES];

	json_begin(json, "instructions", '[');
	while (at < bytes) {
		int used = npu_isa_disassemble(code, bytes, at, text, sizeof(text));

		if (used <= 0)
			break;
		json_begin(json, NULL, '{');
		json_number(json, "offset", stream->offset + at);
		json_text(json, "text", text);
		json_end(json, '}');
		at += (size_t)used;
	}
	json_end(json, ']');
}

static void put_code(struct json_writer *json, const struct model_file *model, uint32_t clusters)
{
	json_begin(json, "streams", '[');
	for (uint32_t i = 0; i < model->stream_count; i++) {
		const struct stream *stream = &model->streams[i];

		if (!(stream->clusters & clusters))
			continue;
		json_begin(json, NULL, '{');
		json_begin(json, "clusters", '[');
		for (uint32_t c = 0; c < NPU_PROGRAM_CLUSTERS_MAX; c++)
			if (stream->clusters >> c & 1)
				json_number(json, NULL, c);
		json_end(json, ']');
		json_number(json, "offset", stream->offset);
		json_number(json, "bytes", stream->bytes);
		put_instructions(json, model, stream);
		json_end(json, '}');
	}
	json_end(json, ']');
}

void show_json(const struct model_file *model, unsigned int what, uint32_t clusters, FILE *file)
{
	const struct npurt_image *image = &model->image;
	struct json_writer json = { .file = file };

	json_begin(&json, NULL, '{');
	json_number(&json, "schema", SCHEMA);
	put_identity(&json, model);
	if (what & SHOW_HEADERS) {
		put_sections(&json, model);
		put_program(&json, model);
		put_tensors(&json, "inputs", model, 0, image->inputs);
		put_tensors(&json, "outputs", model, image->inputs, image->outputs);
	}
	if (what & SHOW_SYMBOLS)
		put_symbols(&json, model);
	if (what & SHOW_CODE)
		put_code(&json, model, clusters);
	json_end(&json, '}');
}
