/* SPDX-License-Identifier: MIT */
/*
 * Integers on the vector unit, which subtracts a source's zero point when it reads and adds the
 * destination's when it writes: what both quantize.c and quantize_eltwise.c make and run.
 */
#ifndef NPUCC_LOWER_QUANTIZE_H
#define NPUCC_LOWER_QUANTIZE_H

#include "vector_program.h"

#define QUANTIZE_SOURCES	3

struct quantize_job {
	struct lower *lower;
	const struct graph_node *node;
	struct vector_program program;
	uint32_t sources;			/* VECTOR_IN0.. */
	struct placement source[QUANTIZE_SOURCES];
	int32_t source_zero[QUANTIZE_SOURCES], output_zero;
	const uint8_t *bytes;			/* table of 256 for VECTOR_TABLE, or NULL */
	/* state of the clusters */
	struct npu_td table[NPU_PROGRAM_CLUSTERS_MAX];
	uint32_t temp[NPU_PROGRAM_CLUSTERS_MAX][2];
};

/* quantize_source - add @value as a source; its slot, or VECTOR_NONE with a sentence. */
enum vector_slot quantize_source(struct quantize_job *job, const struct graph_value *value,
				 int32_t zero);

/* quantize_run - emit the job's program over all tiles of the output. 0, or -1 with a sentence. */
int quantize_run(struct quantize_job *job);

#endif
