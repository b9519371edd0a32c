/* SPDX-License-Identifier: MIT */
/*
 * Reading a compiled model: Documentation/binary-format.rst.
 *
 * Nothing in the file is trusted: it is read piece by piece into memory of our own, and each
 * piece is checked there, so a file that changes meanwhile, or is cut off, does no harm.
 */
#ifndef NPURT_IMAGE_H
#define NPURT_IMAGE_H

#include <stdint.h>

#include "npu/npu_binary.h"
#include "npu/npu_isa.h"
#include "npu/npu_packet.h"
#include "npurt.h"

/* Where a model's bytes come from. @read gets all that is asked for, or fails with a sentence. */
struct npurt_source {
	int (*read)(const struct npurt_source *source, uint64_t offset, void *to, size_t bytes);
	uint64_t bytes;
	const unsigned char *memory;
	int fd;
};

/**
 * npurt_source_memory() - a model in memory, which must stay as long as the source is used
 */
void npurt_source_memory(struct npurt_source *source, const void *data, size_t bytes);

/**
 * npurt_source_fd() - a model in a regular file
 *
 * Return: 0; -EINVAL (not a regular file), errno of fstat().
 */
int npurt_source_fd(struct npurt_source *source, int fd);

/* What the device that shall run the model has. NULL instead of it: any device. */
struct npurt_image_limits {
	const char *config;
	uint32_t clusters;
	uint32_t dma_channels; /* a cluster */
	uint32_t local_bytes;
	uint32_t global_bytes;
};

struct npurt_image_part {
	uint64_t offset, bytes; /* in the source; .bss: bytes only */
};

struct npurt_image_tensor {
	const char *name;
	uint32_t host_type, device_type;
	uint32_t rank, dims[NPURT_RANK_MAX];
	float scale;
	int32_t zero_point;
	uint64_t elements, host_bytes, device_bytes;
};

struct npurt_image_layer {
	const char *name, *op;
	uint32_t mark;
	uint64_t macs, predicted_cycles, dram_bytes;
};

/* A place in the program. Sorted by @offset. */
struct npurt_image_symbol {
	uint64_t offset;
	const char *name;
};

struct npurt_image {
	struct npurt_image_part text, rodata, bss;
	uint64_t text_address;
	struct npu_program_header program; /* checked */
	char target[17];
	uint8_t build_id[32];
	uint32_t abi;
	const char *name;
	uint32_t inputs, outputs, layer_count, precision;
	uint64_t macs, predicted_cycles, roofline_cycles, floor_cycles;
	uint64_t point_cycles; /* longest way between points */
	uint32_t marks; /* highest mark of a layer + 1 */
	struct npurt_image_tensor *tensors; /* inputs, then outputs */
	struct npurt_image_layer *layers;
	struct npurt_image_symbol *symbols;
	size_t symbol_count;
	char *meta_strings; /* what names point into */
	char *symbol_strings;
};

/**
 * npurt_image_read() - read and check everything but the contents of .text and .rodata
 * @image: filled; to be released with npurt_image_release(), also on failure
 * @source: the bytes
 * @limits: the device, or NULL
 *
 * Return: 0; -ENOEXEC, -ENOTSUP, -ENOMEM, or what @source->read returned.
 */
int npurt_image_read(struct npurt_image *image, const struct npurt_source *source,
		     const struct npurt_image_limits *limits);

/**
 * npurt_image_release() - free what an image holds; zeroed memory is allowed
 */
void npurt_image_release(struct npurt_image *image);

/**
 * npurt_image_symbol_at() - whose code is at an offset of the program
 *
 * Return: the last symbol at or before @offset, NULL when there is none.
 */
const char *npurt_image_symbol_at(const struct npurt_image *image, uint64_t offset);

/* ------------------------------------------- between the files of this reader */

/**
 * npurt_image_load_part() - a part of the source in memory of its own
 *
 * Return: @part->bytes bytes and a NUL, to be freed; NULL with a sentence and @*error set.
 */
void *npurt_image_load_part(const struct npurt_source *source, const struct npurt_image_part *part,
			    const char *what, int *error);

/**
 * npurt_image_meta() - .npu.meta
 */
int npurt_image_meta(struct npurt_image *image, const struct npurt_source *source,
		     const struct npurt_image_part *part);

#endif /* NPURT_IMAGE_H */
