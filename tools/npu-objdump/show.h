/* SPDX-License-Identifier: MIT */
/* What npu-objdump prints of a model. All functions write to @file and cannot fail otherwise. */
#ifndef NPU_OBJDUMP_SHOW_H
#define NPU_OBJDUMP_SHOW_H

#include <stdio.h>

#include "model_file.h"

#define SHOW_HEADERS (1u << 0)
#define SHOW_SYMBOLS (1u << 1)
#define SHOW_CODE (1u << 2)

#define EVERY_CLUSTER (~0u)

/* show_headers - identity, sections, program header, resources, inputs and outputs */
void show_headers(const struct model_file *model, FILE *file);

/* show_symbols - where each layer's code starts on each cluster, in the order of addresses */
void show_symbols(const struct model_file *model, FILE *file);

/*
 * show_code - disassemble the streams of the clusters in the mask @clusters. The text assembles to
 * the streams' bytes, one after the other: everything else in it is comment.
 */
void show_code(const struct model_file *model, uint32_t clusters, FILE *file);

/* show_json - one object with the parts in @what (SHOW_*) */
void show_json(const struct model_file *model, unsigned int what, uint32_t clusters, FILE *file);

/* symbol_end - where the code of symbol @index ends: at the next symbol or the stream's end */
uint64_t symbol_end(const struct model_file *model, size_t index);

/* symbol_stream - the stream a place in the program belongs to, or NULL */
const struct stream *symbol_stream(const struct model_file *model, uint64_t offset);

/* cluster_list - "0" or "0, 1" for the stream's clusters */
#define CLUSTER_LIST_BYTES 32
const char *cluster_list(uint32_t clusters, char text[CLUSTER_LIST_BYTES]);

/* tensor_types - names of a tensor's types, never NULL */
const char *host_type_name(uint32_t type);
const char *device_type_name(uint32_t type);

#endif
