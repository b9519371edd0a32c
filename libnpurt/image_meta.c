// SPDX-License-Identifier: MIT
/* .npu.meta: inputs, outputs, layers, names. */
#include "image.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "types.h"

#define COMPILE_AGAIN "the file is damaged, compile the model again"

/* Arguments between the model's own two and the profile area. */
#define TENSORS_MAX (NPU_ARG_PROFILE - NPU_ARG_FIRST_IO)
#define LAYERS_MAX 65536u
#define MARKS_MAX 65536u
#define NAME_MAX_BYTES 4096u

/*
 * @file_offset: of the section, so that a sentence can name a place in the file
 */
struct meta {
	const unsigned char *data;
	uint64_t bytes, file_offset;
	struct npu_meta_header header; /* host order */
};

static int damaged(const struct meta *meta, uint64_t offset, const char *what, const char *why)
{
	return npurt_fail(-ENOEXEC,
			  "model: .npu.meta: %s at offset 0x%" PRIx64 ": %s: " COMPILE_AGAIN, what,
			  meta->file_offset + offset, why);
}

static void header_to_host(struct npu_meta_header *header)
{
	header->magic = le32toh(header->magic);
	header->version = le32toh(header->version);
	header->inputs = le32toh(header->inputs);
	header->outputs = le32toh(header->outputs);
	header->tensors_offset = le32toh(header->tensors_offset);
	header->layers = le32toh(header->layers);
	header->layers_offset = le32toh(header->layers_offset);
	header->strings_offset = le32toh(header->strings_offset);
	header->strings_bytes = le32toh(header->strings_bytes);
	header->model_name = le32toh(header->model_name);
	header->macs = le64toh(header->macs);
	header->predicted_cycles = le64toh(header->predicted_cycles);
	header->roofline_cycles = le64toh(header->roofline_cycles);
	header->floor_cycles = le64toh(header->floor_cycles);
	header->clusters = le32toh(header->clusters);
	header->precision = le32toh(header->precision);
	header->point_cycles = le64toh(header->point_cycles);
}

/* The tables come in their order, each inside the section and aligned. */
static int check_tables(const struct meta *meta)
{
	const struct npu_meta_header *header = &meta->header;
	const struct {
		const char *what;
		uint64_t offset, bytes, align;
	} tables[] = {
		{ "tensor table", header->tensors_offset,
		  ((uint64_t)header->inputs + header->outputs) * sizeof(struct npu_meta_tensor),
		  8 },
		{ "layer table", header->layers_offset,
		  (uint64_t)header->layers * sizeof(struct npu_meta_layer), 8 },
		{ "string table", header->strings_offset, header->strings_bytes, 1 },
	};
	uint64_t end = sizeof(*header);
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!tables[i].bytes)
			continue;
		if (tables[i].offset % tables[i].align || tables[i].offset < end)
			return damaged(meta, tables[i].offset, tables[i].what,
				       "not aligned, or over the table before it");
		if (tables[i].offset > meta->bytes ||
		    tables[i].bytes > meta->bytes - tables[i].offset)
			return damaged(meta, tables[i].offset, tables[i].what,
				       "it reaches over the section's end");
		end = tables[i].offset + tables[i].bytes;
	}
	return 0;
}

static int check_header(const struct meta *meta, const struct npurt_image *image)
{
	const struct npu_meta_header *header = &meta->header;

	if (header->magic != NPU_META_MAGIC)
		return damaged(meta, 0, "header", "not the start of a model's description");
	if (header->version != NPU_META_VERSION)
		return npurt_fail(
			-ENOTSUP,
			"model: .npu.meta at offset 0x%" PRIx64 ": version %u, this "
			"library reads %u: compile the model with a compiler of the library's "
			"version",
			meta->file_offset, header->version, NPU_META_VERSION);
	if (!header->outputs || header->inputs > TENSORS_MAX || header->outputs > TENSORS_MAX ||
	    header->inputs + header->outputs > TENSORS_MAX)
		return npurt_fail(-ENOEXEC,
				  "model: .npu.meta at offset 0x%" PRIx64 ": %u inputs and %u "
				  "outputs, there are %d arguments for them: " COMPILE_AGAIN,
				  meta->file_offset, header->inputs, header->outputs, TENSORS_MAX);
	if (header->layers > LAYERS_MAX)
		return damaged(meta, 0, "header", "too many layers");
	if (header->clusters != image->program.clusters || header->precision >= NPU_DTYPE_COUNT)
		return damaged(meta, 0, "header", "clusters or precision are not the program's");
	return check_tables(meta);
}

/* A name by its offset in the string table; NULL with a sentence. */
static const char *string_at(const struct meta *meta, const char *strings, uint32_t offset,
			     uint64_t where, const char *what)
{
	size_t i;

	if (offset >= meta->header.strings_bytes) {
		damaged(meta, where, what, "its name lies outside the string table");
		return NULL;
	}
	/* The copy ends with a NUL; in the file the last string must, too. */
	for (i = 0; strings[offset + i]; i++) {
		if ((unsigned char)strings[offset + i] < 0x20 || strings[offset + i] == 0x7f) {
			damaged(meta, where, what, "a control character in its name");
			return NULL;
		}
	}
	if (offset + i >= meta->header.strings_bytes || i > NAME_MAX_BYTES) {
		damaged(meta, where, what, "its name has no end, or a late one");
		return NULL;
	}
	return strings + offset;
}

static int take_shape(const struct meta *meta, uint64_t where, const struct npu_meta_tensor *from,
		      struct npurt_image_tensor *tensor)
{
	uint64_t elements = 1;
	uint32_t i;

	tensor->rank = le32toh(from->rank);
	if (tensor->rank > NPU_META_RANK_MAX)
		return damaged(meta, where, "tensor", "more than 8 dimensions");
	for (i = 0; i < NPU_META_RANK_MAX; i++) {
		tensor->dims[i] = le32toh(from->dims[i]);
		if (i >= tensor->rank) {
			if (tensor->dims[i] > 1)
				return damaged(meta, where, "tensor",
					       "a dimension beyond its rank");
			tensor->dims[i] = 1;
		}
		if (!tensor->dims[i] ||
		    __builtin_mul_overflow(elements, tensor->dims[i], &elements) ||
		    elements > (uint64_t)1 << 37)
			return damaged(meta, where, "tensor",
				       "a dimension of 0, or too many elements");
	}
	tensor->elements = elements;
	tensor->host_bytes = elements * npurt_host_type_bytes(tensor->host_type);
	tensor->device_bytes = elements * npurt_device_type_bytes(tensor->device_type);
	if (tensor->device_bytes != le64toh(from->bytes))
		return npurt_fail(-ENOEXEC,
				  "model: .npu.meta: tensor %s at offset 0x%" PRIx64 ": %" PRIu64
				  " bytes, its shape and type make %" PRIu64 ": " COMPILE_AGAIN,
				  tensor->name, meta->file_offset + where,
				  (uint64_t)le64toh(from->bytes), tensor->device_bytes);
	return 0;
}

static int take_quantization(const struct meta *meta, uint64_t where,
			     const struct npu_meta_tensor *from, struct npurt_image_tensor *tensor)
{
	uint32_t bits = le32toh(from->scale);
	int64_t low, high;

	memcpy(&tensor->scale, &bits, sizeof(bits));
	tensor->zero_point = (int32_t)le32toh(from->zero_point);
	if (!isfinite(tensor->scale) || !(tensor->scale > 0))
		return damaged(meta, where, "tensor", "its scale is not a positive number");
	if (npurt_device_type_is_real(tensor->device_type)) {
		if (tensor->scale != 1.0f || tensor->zero_point)
			return damaged(meta, where, "tensor",
				       "a real type with scale or zero point");
		return 0;
	}
	npurt_device_type_range(tensor->device_type, &low, &high);
	if (tensor->zero_point < low || tensor->zero_point > high)
		return damaged(meta, where, "tensor", "its zero point is not a value of its type");
	return 0;
}

static int take_tensor(const struct meta *meta, const char *strings, uint32_t index,
		       struct npurt_image_tensor *tensor)
{
	uint64_t where = meta->header.tensors_offset + index * sizeof(struct npu_meta_tensor);
	struct npu_meta_tensor from;
	int ret;

	memcpy(&from, meta->data + where, sizeof(from));
	tensor->name = string_at(meta, strings, le32toh(from.name), where, "tensor");
	if (!tensor->name)
		return -ENOEXEC;
	if (le32toh(from.argument) != NPU_ARG_FIRST_IO + index || from.reserved)
		return damaged(meta, where, "tensor", "not the argument of its place");
	tensor->host_type = le32toh(from.host_type);
	tensor->device_type = le32toh(from.device_dtype);
	if (!npurt_host_type_bytes(tensor->host_type) ||
	    !npurt_device_type_bytes(tensor->device_type))
		return npurt_fail(-ENOEXEC,
				  "model: .npu.meta: tensor %s at offset 0x%" PRIx64
				  ": types %u of the host and %u of the device, one of which this "
				  "library does not know: compile the model again",
				  tensor->name, meta->file_offset + where, tensor->host_type,
				  tensor->device_type);
	ret = take_shape(meta, where, &from, tensor);
	if (ret)
		return ret;
	return take_quantization(meta, where, &from, tensor);
}

static int take_layer(const struct meta *meta, const char *strings, uint32_t index,
		      struct npurt_image_layer *layer)
{
	uint64_t where = meta->header.layers_offset + index * sizeof(struct npu_meta_layer);
	struct npu_meta_layer from;

	memcpy(&from, meta->data + where, sizeof(from));
	layer->name = string_at(meta, strings, le32toh(from.name), where, "layer");
	if (!layer->name)
		return -ENOEXEC;
	layer->op = string_at(meta, strings, le32toh(from.op), where, "layer's operator");
	if (!layer->op)
		return -ENOEXEC;
	layer->mark = le32toh(from.mark);
	if (layer->mark >= MARKS_MAX || from.reserved)
		return damaged(meta, where, "layer", "its mark is out of range");
	layer->macs = le64toh(from.macs);
	layer->predicted_cycles = le64toh(from.predicted_cycles);
	layer->dram_bytes = le64toh(from.dram_bytes);
	return 0;
}

static int take_all(struct npurt_image *image, const struct meta *meta)
{
	const struct npu_meta_header *header = &meta->header;
	uint32_t i, tensors = header->inputs + header->outputs;
	int ret = 0;

	image->tensors = calloc(tensors, sizeof(*image->tensors));
	image->layers = calloc((size_t)header->layers + 1, sizeof(*image->layers));
	image->meta_strings = calloc(1, (size_t)header->strings_bytes + 1);
	if (!image->tensors || !image->layers || !image->meta_strings)
		return npurt_fail(-ENOMEM, "model: no memory for the tables of its layers");
	memcpy(image->meta_strings, meta->data + header->strings_offset, header->strings_bytes);
	image->name = string_at(meta, image->meta_strings, header->model_name, 0, "model");
	if (!image->name)
		return -ENOEXEC;
	image->inputs = header->inputs;
	image->outputs = header->outputs;
	image->layer_count = header->layers;
	for (i = 0; i < tensors && !ret; i++)
		ret = take_tensor(meta, image->meta_strings, i, &image->tensors[i]);
	for (i = 0; i < header->layers && !ret; i++) {
		ret = take_layer(meta, image->meta_strings, i, &image->layers[i]);
		if (image->layers[i].mark >= image->marks)
			image->marks = image->layers[i].mark + 1;
	}
	return ret;
}

int npurt_image_meta(struct npurt_image *image, const struct npurt_source *source,
		     const struct npurt_image_part *part)
{
	struct meta meta = { .bytes = part->bytes, .file_offset = part->offset };
	void *data;
	int ret;

	data = npurt_image_load_part(source, part, ".npu.meta", &ret);
	if (!data)
		return ret;
	meta.data = data;
	if (meta.bytes < sizeof(meta.header)) {
		ret = damaged(&meta, 0, "header", "the section is shorter than its header");
		goto out;
	}
	memcpy(&meta.header, data, sizeof(meta.header));
	header_to_host(&meta.header);
	ret = check_header(&meta, image);
	if (ret)
		goto out;
	image->macs = meta.header.macs;
	image->predicted_cycles = meta.header.predicted_cycles;
	image->roofline_cycles = meta.header.roofline_cycles;
	image->floor_cycles = meta.header.floor_cycles;
	image->precision = meta.header.precision;
	image->point_cycles = meta.header.point_cycles;
	ret = take_all(image, &meta);
out:
	free(data);
	return ret;
}
