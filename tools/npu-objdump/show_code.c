// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "isa_text.h"
#include "show.h"

/* Symbols at or before @offset, each once: @next is the first that was not shown. */
static void show_labels(const struct model_file *model, uint64_t offset, size_t *next, FILE *file)
{
	const struct npurt_image *image = &model->image;

	for (; *next < image->symbol_count && image->symbols[*next].offset <= offset; (*next)++)
		fprintf(file, "\n; 0x%06" PRIx64 " %s:\n", image->symbols[*next].offset,
			image->symbols[*next].name);
}

static void show_stream(const struct model_file *model, const struct stream *stream, FILE *file)
{
	const uint8_t *code = model->program + stream->offset;
	size_t at = 0, next = 0, bytes = (size_t)stream->bytes;
	char text[NPU_ISA_LINE_BYTES];

	while (next < model->image.symbol_count &&
	       model->image.symbols[next].offset < stream->offset)
		next++;
	while (at < bytes) {
		int used = npu_isa_disassemble(code, bytes, at, text, sizeof(text));

		if (used <= 0)
			break;
		show_labels(model, stream->offset + at, &next, file);
		fprintf(file, "%-56s ; 0x%06" PRIx64 "\n", text, stream->offset + at);
		at += (size_t)used;
	}
	if (at < bytes)
		fprintf(file, "; %zu bytes at 0x%06" PRIx64 " are less than an instruction\n",
			bytes - at, stream->offset + at);
}

void show_code(const struct model_file *model, uint32_t clusters, FILE *file)
{
	char list[CLUSTER_LIST_BYTES];

	for (uint32_t i = 0; i < model->stream_count; i++) {
		const struct stream *stream = &model->streams[i];

		if (!(stream->clusters & clusters))
			continue;
		fprintf(file, "; cluster %s: %" PRIu64 " bytes at 0x%06" PRIx64 " of the program\n",
			cluster_list(stream->clusters, list), stream->bytes, stream->offset);
		show_stream(model, stream, file);
		fputc('\n', file);
	}
}
