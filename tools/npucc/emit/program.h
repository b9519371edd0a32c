/* SPDX-License-Identifier: MIT */
/*
 * From streams to the parts of a model binary: .text, .npu.meta, and the ELF file.
 */
#ifndef NPUCC_EMIT_PROGRAM_H
#define NPUCC_EMIT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "../graph/graph.h"
#include "../support/arena.h"
#include "../support/diag.h"
#include "npu/npu_packet.h"
#include "points.h"
#include "stream.h"

/* One layer: a node's instructions between two marks. */
struct program_layer {
	const char *name, *op;
	uint32_t origin;		/* of the node: see graph.h */
	uint32_t mark;
	uint64_t macs, predicted_cycles, dram_bytes;
	size_t start[NPU_PROGRAM_CLUSTERS_MAX];	/* offset in each cluster's stream */
};

struct program {
	const char *model_name;
	const char *target;		/* at most 15 bytes */
	uint32_t clusters, dma_channels;
	uint32_t local_bytes, global_bytes;
	struct stream *streams[NPU_PROGRAM_CLUSTERS_MAX];
	struct points *points;		/* of the streams */
	void *rodata;			/* allocated by malloc() */
	size_t rodata_bytes;
	uint64_t scratch_bytes;
	struct program_layer *layers;
	uint32_t layer_count;
	uint64_t macs, predicted_cycles, roofline_cycles, floor_cycles;
	enum npu_dtype precision;
	const struct graph *graph;	/* inputs and outputs, placed */
	/* set by program_build() */
	uint8_t *text;
	size_t text_bytes;
	uint32_t points_offset;		/* in text, behind the streams */
	uint32_t entry[NPU_PROGRAM_CLUSTERS_MAX];
	uint8_t *meta;
	size_t meta_bytes;
};

/*
 * program_build - lay the streams (ended by END) behind a program header, write the
 * metadata. Results are in @arena. Returns 0, or -1 with a sentence.
 */
int program_build(struct program *program, struct arena *arena, struct diag *diag);

/* program_meta - the metadata part of program_build(). */
int program_meta(struct program *program, struct arena *arena, struct diag *diag);

/*
 * elf_write - write @program to @path by way of a temporary file beside it, so that
 * nobody ever sees half of it. Equal programs give equal bytes. Returns 0, or -1 with a
 * sentence. Manual: Documentation/binary-format.rst.
 */
int elf_write(const struct program *program, const char *path, struct diag *diag);

#endif
