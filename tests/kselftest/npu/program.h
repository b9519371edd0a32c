/* SPDX-License-Identifier: MIT */
/* Small programs for clusters, written by hand. */
#ifndef NPU_PROGRAM_H
#define NPU_PROGRAM_H

#include "npu/npu_isa.h"
#include "npu_test.h"

struct code {
	unsigned char *bytes;
	struct npu_program_header *header;
};

#define INSN(...) ((struct npu_insn){ __VA_ARGS__ })

static inline void code_begin(struct code *code, void *memory, uint32_t clusters,
			      uint32_t local_bytes, uint32_t global_bytes)
{
	code->bytes = memory;
	code->header = memory;
	*code->header = (struct npu_program_header){
		.magic = NPU_PROGRAM_MAGIC, .version = NPU_PROGRAM_VERSION,
		.clusters = (uint8_t)clusters, .dma_channels = 2,
		.bytes = sizeof(*code->header),
		.local_bytes = local_bytes, .global_bytes = global_bytes,
	};
}

static inline void code_append(struct code *code, const void *bytes, uint32_t size)
{
	memcpy(code->bytes + code->header->bytes, bytes, size);
	code->header->bytes += size;
}

static inline void code_emit(struct code *code, struct npu_insn insn)
{
	insn.dst = insn.dst ? insn.dst : NPU_TD_NONE;
	for (int i = 0; i < 3; i++)
		insn.src[i] = insn.src[i] ? insn.src[i] : NPU_TD_NONE;
	code_append(code, &insn, sizeof(insn));
}

static inline void code_load(struct code *code, unsigned int reg, const void *descriptor)
{
	code_emit(code, INSN(.opcode = NPU_OP_LDTD, .dst = (uint8_t)reg));
	code_append(code, descriptor, NPU_TD_BYTES);
}

/* A dense tensor, [1][d1][d2][d3]. */
static inline struct npu_td tensor(unsigned int space, unsigned int argument, uint64_t address,
				   unsigned int dtype, uint32_t d1, uint32_t d2, uint32_t d3)
{
	uint32_t size = NPU_DTYPE_BYTES(dtype);

	return (struct npu_td){
		.word0 = (address & NPU_TD_ADDRESS_MASK) |
			 (uint64_t)argument << NPU_TD_ARG_SHIFT |
			 (uint64_t)space << NPU_TD_SPACE_SHIFT |
			 (uint64_t)dtype << NPU_TD_DTYPE_SHIFT,
		.dim = { 1, (uint16_t)d1, (uint16_t)d2, (uint16_t)d3 },
		.stride = { d1 * d2 * d3 * size, d2 * d3 * size, d3 * size, size },
	};
}

/* A copy of bytes between spaces; @after: token that it waits for, or 0; @token: released. */
static inline void code_move(struct code *code, struct npu_td to, struct npu_td from,
			     unsigned int after, unsigned int token)
{
	code_load(code, 1, &from);
	code_load(code, 2, &to);
	code_emit(code, INSN(.opcode = NPU_OP_DMA, .dst = 2, .src[0] = 1,
			     .wait = { after ? NPU_TOKEN(after) : 0 },
			     .release = { NPU_TOKEN(token) }));
}

#endif /* NPU_PROGRAM_H */
