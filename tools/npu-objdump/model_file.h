/* SPDX-License-Identifier: MIT */
/*
 * A model binary as npu-objdump looks at it: the loader's own reader checks the file, and what a
 * loader does not need (all section headers, the program's bytes) is read behind it.
 * Manual: Documentation/binary-format.rst.
 */
#ifndef NPU_OBJDUMP_MODEL_FILE_H
#define NPU_OBJDUMP_MODEL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "image.h"

#define SECTION_NAME_BYTES 64
#define MODEL_ERROR_BYTES 1024

struct section {
	char name[SECTION_NAME_BYTES]; /* shortened where it is longer; printable */
	uint32_t type;
	uint64_t flags, offset, bytes, align;
};

/* Code from one stream's entry to the next one's, or to the program's end, without padding. */
struct stream {
	uint64_t offset, bytes; /* in the program */
	uint32_t clusters; /* a bit for each cluster that starts here */
};

struct model_file {
	const char *path;
	struct npurt_image image;
	struct section *sections;
	uint32_t section_count;
	struct stream streams[NPU_PROGRAM_CLUSTERS_MAX]; /* by offset */
	uint32_t stream_count;
	uint8_t *program; /* .text */
	uint64_t program_bytes; /* as its header says, not more than .text has */
};

/**
 * model_file_read() - read and check a model
 * @model: filled; to be released with model_file_release(), also on failure
 * @path: of the file, for messages; must live as long as @model
 * @source: its bytes, needed only during the call
 * @error: receives a sentence on failure
 *
 * Return: 0 or -1. Thread safety: any thread.
 */
int model_file_read(struct model_file *model, const char *path, const struct npurt_source *source,
		    char error[MODEL_ERROR_BYTES]);

/**
 * model_file_open() - model_file_read() for the regular file at @path
 */
int model_file_open(struct model_file *model, const char *path, char error[MODEL_ERROR_BYTES]);

/**
 * model_file_release() - free what a model holds; zeroed memory is allowed
 */
void model_file_release(struct model_file *model);

#endif
