/* SPDX-License-Identifier: MIT */
/* What the files of the instruction decoder share. See operation.h for the interface. */
#ifndef NPU_MODEL_OPERATION_INTERNAL_H
#define NPU_MODEL_OPERATION_INTERNAL_H

#include "numbers.h"
#include "operation.h"

struct decoder {
	const struct npu_config *config;
	const struct npu_insn *insn;
	const struct npu_td *tds;
	struct npu_operation *out;
	uint32_t error;
	uint64_t detail;
};

/* Notes an error; -1, so that callers can return it. */
int decoder_fail(struct decoder *decoder, enum npu_error error);

/* The operand bytes that an instruction does not use. */
#define DECODER_DST	(1u << 0)
#define DECODER_SRC(n)	(2u << (n))

/* Unused operand bytes hold NPU_TD_NONE. */
int decoder_unused(struct decoder *decoder, unsigned int operands);

/* Fails unless bytes first .. first + bytes - 1 are inside local SRAM. */
int decoder_local_range(struct decoder *decoder, int64_t first, int64_t bytes);

/* The raw descriptor an operand byte names; NULL and a noted error when it names none. */
const struct npu_td *decoder_register(struct decoder *decoder, uint8_t operand);

/* A tensor in any space. Local SRAM's range is checked, no other. */
int decoder_tensor(struct decoder *decoder, uint8_t operand, struct npu_tensor *tensor);

/* The same, in local SRAM only. */
int decoder_local_tensor(struct decoder *decoder, uint8_t operand, struct npu_tensor *tensor);

/* An address in local SRAM with `bytes` behind it. */
int decoder_address(struct decoder *decoder, uint8_t operand, int64_t bytes,
		    struct npu_tensor *tensor);

/* Gives a source the operation's dims; a dim of 1 repeats, any other must be equal. */
int decoder_repeat(struct decoder *decoder, struct npu_tensor *tensor, const uint32_t dim[4]);

/* Product of four dims, at most 65535^4. */
uint64_t decoder_elements(const uint32_t dim[4]);

int decode_mac(struct decoder *decoder);
int decode_out(struct decoder *decoder);
int decode_vec(struct decoder *decoder);
int decode_layout(struct decoder *decoder);
int decode_dma(struct decoder *decoder);

#endif /* NPU_MODEL_OPERATION_INTERNAL_H */
