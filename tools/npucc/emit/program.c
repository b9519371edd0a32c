// SPDX-License-Identifier: MIT
#include "program.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_ALIGN 1024 /* instruction fetch works in blocks of this size */
#define PROGRAM_MAX ((size_t)1 << 31)

static size_t align_up(size_t number, size_t align)
{
	return (number + align - 1) / align * align;
}

/* Behind the streams. The streams' points get their tables. */
static int write_points(struct program *program, uint32_t base, void **bytes, size_t *size,
			struct diag *diag)
{
	const char *error;

	*bytes = points_write(program->points, base, program->global_bytes, program->streams, size);
	error = points_error(program->points);
	if (!error && *size <= PROGRAM_MAX - base)
		return 0;
	free(*bytes);
	if (error)
		return diag_error(diag, "%s", error);
	return diag_error(diag,
			  "the program (%zu bytes, %zu of them for its points) is larger than the %zu that a program may have; compile the model in parts",
			  base + *size, *size, PROGRAM_MAX);
}

int program_build(struct program *program, struct arena *arena, struct diag *diag)
{
	struct npu_program_header header = {
		.magic = htole32(NPU_PROGRAM_MAGIC),
		.version = htole16(NPU_PROGRAM_VERSION),
		.clusters = (uint8_t)program->clusters,
		.dma_channels = (uint8_t)program->dma_channels,
		.local_bytes = htole32(program->local_bytes),
		.global_bytes = htole32(program->global_bytes),
	};
	size_t bytes = align_up(sizeof(header), NPU_INSN_BYTES), size, points_bytes;
	uint32_t cluster;
	void *points;

	for (cluster = 0; cluster < program->clusters; cluster++) {
		/* Short streams follow each other; long ones start with a whole fetch block. */
		stream_bytes(program->streams[cluster], &size);
		if (bytes % STREAM_ALIGN + size > STREAM_ALIGN)
			bytes = align_up(bytes, STREAM_ALIGN);
		program->entry[cluster] = (uint32_t)bytes;
		header.entry[cluster] = htole32((uint32_t)bytes);
		bytes += size;
		if (bytes > PROGRAM_MAX)
			return diag_error(
				diag,
				"the program is larger than %zu bytes; compile a smaller model or smaller shapes",
				PROGRAM_MAX);
	}
	if (write_points(program, (uint32_t)bytes, &points, &points_bytes, diag))
		return -1;
	header.save_bytes = htole32(points_save_bytes(program->points));
	header.bytes = htole32((uint32_t)(bytes + points_bytes));
	program->points_offset = (uint32_t)bytes;
	bytes += points_bytes;
	program->text = arena_alloc(arena, bytes);
	if (!program->text) {
		free(points);
		return diag_error(diag, "the program (%zu bytes) does not fit into memory", bytes);
	}
	program->text_bytes = bytes;
	memcpy(program->text, &header, sizeof(header));
	for (cluster = 0; cluster < program->clusters; cluster++) {
		const void *code = stream_bytes(program->streams[cluster], &size);

		memcpy(program->text + program->entry[cluster], code, size);
	}
	if (points_bytes)
		memcpy(program->text + program->points_offset, points, points_bytes);
	free(points);
	return program_meta(program, arena, diag);
}
