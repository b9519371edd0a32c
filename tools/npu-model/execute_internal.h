/* SPDX-License-Identifier: MIT */
/* What the files of the execution share. See execute.h for the interface. */
#ifndef NPU_MODEL_EXECUTE_INTERNAL_H
#define NPU_MODEL_EXECUTE_INTERNAL_H

#include "execute.h"
#include "kernels.h"

#define CHANNELS_MAX	64	/* bound of mac_channels */
#define DEPTH_MAX	64	/* bound of mac_depth */
#define COLUMN_GROUPS	(CHANNELS_MAX / NPU_MAC_COLUMNS)
#define TAPS_BLOCK	64	/* taps of shape V in one go */
#define CHUNK		512	/* elements of a row in one go; a multiple of NPU_PARTIAL_SUMS */
#define LINE		64	/* alignment of buffers */

/* Shapes M and S: one block of depth lanes. */
struct mac_block {
	union {
		float fp[COLUMN_GROUPS][NPU_MAC_LANES_MAX][NPU_MAC_COLUMNS];
		int16_t integer[COLUMN_GROUPS][NPU_MAC_LANES_MAX / 2][NPU_MAC_COLUMNS][2];
	} weights;
	union {
		float fp[NPU_MAC_ROWS * NPU_MAC_LANES_MAX];
		int16_t integer[NPU_MAC_ROWS * NPU_MAC_LANES_MAX];
	} activations;
	uint8_t inside[NPU_MAC_ROWS][NPU_MAC_LANES_MAX];	/* lane is inside the tensor */
};

/* Shape V: one block of taps. */
struct tap_block {
	union {
		float fp[TAPS_BLOCK][CHANNELS_MAX];
		int16_t integer[TAPS_BLOCK][CHANNELS_MAX];
	} weights;
	union {
		uint8_t gathered[TAPS_BLOCK][CHANNELS_MAX * 2];	/* fp16 with a channel stride */
		float rounded[TAPS_BLOCK][CHANNELS_MAX];	/* where products are rounded */
	};
	int16_t row[CHANNELS_MAX];
	const uint8_t *activations[TAPS_BLOCK];
	uint32_t weight_row[TAPS_BLOCK];
};

struct npu_execute_scratch {
	struct npu_kernels kernels;
	uint8_t *snapshot;	/* local SRAM as it was, where a destination overlaps a source */
	void *sums;		/* a pass's accumulators as numbers of the host */
	struct npu_function_table table;
	union {
		_Alignas(LINE) struct mac_block mac;
		struct tap_block taps;
	};
	_Alignas(LINE) float row[4][CHUNK];
	_Alignas(LINE) uint8_t bytes[CHUNK * 4];	/* a chunk's elements brought together */
};

/* An engine's work on one operation. */
struct execution {
	const struct npu_config *config;
	struct npu_cluster_memory *memory;
	struct npu_execute_scratch *scratch;
	const struct npu_kernels *kernels;
	const struct npu_operation *operation;
};

/*
 * Memory to read bytes first .. last - 1 of local SRAM from: local SRAM itself, or, where the
 * operation's destinations overlap them, a copy at the same offsets. Call before the first write.
 */
const uint8_t *execution_source(const struct execution *execution, int64_t first, int64_t last);

/*
 * The same for a tensor. A source that is the destination, element by element, is read in
 * place if `in_place`: every element is then read before it is written.
 */
const uint8_t *execution_tensor(const struct execution *execution,
				const struct npu_tensor *tensor, bool in_place);

/* `count` elements, `stride` bytes apart, from `at` on. No more than CHUNK. */
void execution_load(const struct execution *execution, float *to, const uint8_t *at,
		    int64_t stride, uint8_t dtype, int32_t zero, uint32_t count);
void execution_store(const struct execution *execution, uint8_t *at, int64_t stride,
		     uint8_t dtype, int32_t zero, const float *from, uint32_t count);

/* Copies elements of 1, 2 or 4 bytes. */
void execution_copy(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride,
		    uint8_t element_bytes, uint32_t count);

/* Read a struct npu_table, a struct npu_curve. */
void execution_load_table(struct npu_function_table *table, const uint8_t *from);
void execution_load_curve(struct npu_function_table *table, const uint8_t *from);

static inline int64_t tensor_at(const struct npu_tensor *tensor, uint32_t i0, uint32_t i1,
				uint32_t i2, uint32_t i3)
{
	return tensor->offset + i0 * tensor->stride[0] + i1 * tensor->stride[1] +
	       i2 * tensor->stride[2] + i3 * tensor->stride[3];
}

void execute_mac(const struct execution *execution);
void execute_mac_taps(const struct execution *execution);
void execute_out(const struct execution *execution);
void execute_vec(const struct execution *execution);
void execute_layout(const struct execution *execution);

#endif /* NPU_MODEL_EXECUTE_INTERNAL_H */
