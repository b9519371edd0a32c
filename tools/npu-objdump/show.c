// SPDX-License-Identifier: MIT
/* Names and places that text and JSON share. */
#include "show.h"

#include "isa_text.h"
#include "tensor.h"

const char *host_type_name(uint32_t type)
{
	return tensor_type_name(type);
}

const char *device_type_name(uint32_t type)
{
	const char *name = npu_isa_dtype_name(type);

	return name ? name : "an unknown type";
}

const char *cluster_list(uint32_t clusters, char text[CLUSTER_LIST_BYTES])
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < NPU_PROGRAM_CLUSTERS_MAX; i++)
		if (clusters >> i & 1)
			at += (size_t)snprintf(text + at, CLUSTER_LIST_BYTES - at, "%s%u",
					       at ? ", " : "", i);
	return text;
}

const struct stream *symbol_stream(const struct model_file *model, uint64_t offset)
{
	for (uint32_t i = 0; i < model->stream_count; i++) {
		const struct stream *stream = &model->streams[i];

		if (offset >= stream->offset && offset - stream->offset < stream->bytes)
			return stream;
	}
	return NULL;
}

uint64_t symbol_end(const struct model_file *model, size_t index)
{
	const struct npurt_image_symbol *symbols = model->image.symbols;
	const struct stream *stream = symbol_stream(model, symbols[index].offset);
	uint64_t end = symbols[index].offset;

	if (stream)
		end = stream->offset + stream->bytes;
	if (index + 1 < model->image.symbol_count && symbols[index + 1].offset < end)
		end = symbols[index + 1].offset;
	return end;
}
