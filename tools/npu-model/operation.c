// SPDX-License-Identifier: MIT
/*
 * Instruction decoder: fields common to all instructions, operands, and the instructions the
 * front end executes itself. The engines' instructions are in operation_mac.c and its like.
 */
#include "operation.h"

#include <string.h>

#include "operation_internal.h"

#define DETAIL_MASK	((1ull << 56) - 1)	/* the top byte of a detail names the cluster */

int decoder_fail(struct decoder *decoder, enum npu_error error)
{
	decoder->error = error;
	return -1;
}

int decoder_unused(struct decoder *decoder, unsigned int operands)
{
	const struct npu_insn *insn = decoder->insn;
	unsigned int i;

	if ((operands & DECODER_DST) && insn->dst != NPU_TD_NONE)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	for (i = 0; i < 3; i++)
		if ((operands & DECODER_SRC(i)) && insn->src[i] != NPU_TD_NONE)
			return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return 0;
}

int decoder_local_range(struct decoder *decoder, int64_t first, int64_t bytes)
{
	int64_t limit = decoder->config->local_bytes;

	if (first >= 0 && first <= limit && bytes <= limit - first)
		return 0;
	/* What an access in ascending order would trip over. */
	decoder->detail = (uint64_t)(first < 0 || first > limit ? first : limit) & DETAIL_MASK;
	return decoder_fail(decoder, NPU_ERROR_LOCAL_RANGE);
}

const struct npu_td *decoder_register(struct decoder *decoder, uint8_t operand)
{
	if (operand < NPU_TD_COUNT)
		return &decoder->tds[operand];
	decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return NULL;
}

uint64_t decoder_elements(const uint32_t dim[4])
{
	return (uint64_t)dim[0] * dim[1] * dim[2] * dim[3];
}

static int64_t sign_extend_address(uint64_t word)
{
	uint64_t sign = 1ull << (NPU_TD_ADDRESS_BITS - 1);

	return (int64_t)(((word & NPU_TD_ADDRESS_MASK) ^ sign) - sign);
}

/* Space, argument register and offset, which all formats with word0 share. */
static int decode_place(struct decoder *decoder, uint64_t word, struct npu_tensor *tensor)
{
	if (word & NPU_TD_RESERVED)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	tensor->space = (word >> NPU_TD_SPACE_SHIFT) & NPU_TD_SPACE_MASK;
	tensor->argument = (word >> NPU_TD_ARG_SHIFT) & NPU_TD_ARG_MASK;
	if (tensor->space > NPU_SPACE_LOCAL)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	if (tensor->space == NPU_SPACE_DRAM) {
		tensor->offset = sign_extend_address(word);
		return 0;
	}
	if (tensor->argument)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	tensor->offset = (int64_t)(word & NPU_TD_ADDRESS_MASK);
	return 0;
}

static int decode_type(struct decoder *decoder, uint64_t word, struct npu_tensor *tensor)
{
	unsigned int dtype = (word >> NPU_TD_DTYPE_SHIFT) & NPU_TD_DTYPE_MASK;
	uint8_t zero = (word >> NPU_TD_ZERO_SHIFT) & NPU_TD_ZERO_MASK;

	if (dtype >= NPU_DTYPE_COUNT)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	if (zero && dtype > NPU_DTYPE_UINT8)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	tensor->dtype = (uint8_t)dtype;
	tensor->element_bytes = (uint8_t)NPU_DTYPE_BYTES(dtype);
	tensor->zero = zero;
	if (dtype == NPU_DTYPE_INT8)
		tensor->zero = (int8_t)zero;
	return 0;
}

static int decode_shape(struct decoder *decoder, const struct npu_td *td,
			struct npu_tensor *tensor)
{
	unsigned int i;

	tensor->low = 0;
	tensor->high = tensor->element_bytes;
	for (i = 0; i < 4; i++) {
		int64_t reach;

		tensor->dim[i] = le16toh(td->dim[i]);
		tensor->stride[i] = (int32_t)le32toh(td->stride[i]);
		if (!tensor->dim[i])
			return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
		reach = (int64_t)(tensor->dim[i] - 1) * tensor->stride[i];
		if (reach < 0)
			tensor->low += reach;
		else
			tensor->high += reach;
	}
	return 0;
}

int decoder_tensor(struct decoder *decoder, uint8_t operand, struct npu_tensor *tensor)
{
	const struct npu_td *td = decoder_register(decoder, operand);
	uint64_t word;

	if (!td)
		return -1;
	word = le64toh(td->word0);
	tensor->kind = NPU_OPERAND_TENSOR;
	if (decode_place(decoder, word, tensor) || decode_type(decoder, word, tensor) ||
	    decode_shape(decoder, td, tensor))
		return -1;
	if (tensor->space != NPU_SPACE_LOCAL)
		return 0;
	return decoder_local_range(decoder, tensor->offset + tensor->low,
				   tensor->high - tensor->low);
}

int decoder_local_tensor(struct decoder *decoder, uint8_t operand, struct npu_tensor *tensor)
{
	if (decoder_tensor(decoder, operand, tensor))
		return -1;
	if (tensor->space != NPU_SPACE_LOCAL)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return 0;
}

int decoder_address(struct decoder *decoder, uint8_t operand, int64_t bytes,
		    struct npu_tensor *tensor)
{
	const struct npu_td *td = decoder_register(decoder, operand);

	if (!td)
		return -1;
	tensor->kind = NPU_OPERAND_ADDRESS;
	if (decode_place(decoder, le64toh(td->word0), tensor))
		return -1;
	if (tensor->space != NPU_SPACE_LOCAL)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return decoder_local_range(decoder, tensor->offset, bytes);
}

int decoder_repeat(struct decoder *decoder, struct npu_tensor *tensor, const uint32_t dim[4])
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (tensor->dim[i] == dim[i])
			continue;
		if (tensor->dim[i] != 1)
			return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
		tensor->dim[i] = dim[i];
		tensor->stride[i] = 0;
	}
	return 0;
}

static int decode_tokens(struct decoder *decoder)
{
	const struct npu_insn *insn = decoder->insn;
	struct npu_operation *out = decoder->out;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		out->wait[i] = insn->wait[i];
		out->release[i] = insn->release[i];
	}
	for (i = 0; i < 4; i++) {
		uint8_t token = i < 2 ? out->wait[i] : out->release[i - 2];

		if (token && token != NPU_TOKEN(token))
			return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	}
	return 0;
}

/* Instructions without operands: which of their fields may be other than zero. */
static int decode_plain(struct decoder *decoder, bool subop, bool imm32)
{
	struct npu_operation *out = decoder->out;

	if (decoder_unused(decoder, DECODER_DST | DECODER_SRC(0) | DECODER_SRC(1) | DECODER_SRC(2)))
		return -1;
	if (out->imm16 || (!subop && out->subop) || (!imm32 && out->imm32))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return 0;
}

static int decode_loop(struct decoder *decoder)
{
	if (decode_plain(decoder, false, true))
		return -1;
	if (!decoder->out->imm32 || decoder->out->imm32 > NPU_LOOP_MAX_COUNT)
		return decoder_fail(decoder, NPU_ERROR_LOOP);
	return 0;
}

/*
 * What the point's table holds is looked at when the task is to be preempted there. Who comes back
 * goes on behind it, where a release would be lost.
 */
static int decode_barrier(struct decoder *decoder)
{
	const struct npu_operation *out = decoder->out;

	if (decode_plain(decoder, false, true))
		return -1;
	if (out->imm32 % NPU_POINT_ALIGN || (out->imm32 && (out->release[0] || out->release[1])))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return 0;
}

static int decode_point(struct decoder *decoder)
{
	const struct npu_operation *out = decoder->out;

	if (!out->imm32 || out->wait[0] || out->wait[1])
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return decode_barrier(decoder);
}

/* SYNC and MARK go to the engine they name. */
static int decode_for_engine(struct decoder *decoder)
{
	struct npu_operation *out = decoder->out;

	if (decode_plain(decoder, true, out->opcode == NPU_OP_MARK))
		return -1;
	if (out->subop >= NPU_ENGINE_COUNT ||
	    (out->subop == NPU_ENGINE_DMA1 && decoder->config->dma_channels < 2))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	out->engine = out->subop;
	out->work = 1;
	return 0;
}

static int decode_descriptor_change(struct decoder *decoder)
{
	struct npu_operation *out = decoder->out;
	bool dim = out->opcode == NPU_OP_TDSET && out->subop == NPU_TDSET_DIM;

	if (decoder_unused(decoder, DECODER_SRC(0) | DECODER_SRC(1) | DECODER_SRC(2)) ||
	    !decoder_register(decoder, decoder->insn->dst))
		return -1;
	out->target = decoder->insn->dst;
	if (out->opcode == NPU_OP_LDTD) {
		if (out->subop || out->imm16 || out->imm32)
			return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
		return 0;
	}
	if (out->subop > NPU_TDSET_WINDOW_ORIGIN || (!dim && out->imm16))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	if (dim && (out->imm16 > 3 || !out->imm32 || out->imm32 > UINT16_MAX))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	return 0;
}

static int decode_opcode(struct decoder *decoder)
{
	switch (decoder->out->opcode) {
	case NPU_OP_END:
	case NPU_OP_ENDLOOP:
		return decode_plain(decoder, false, false);
	case NPU_OP_BARRIER:
		return decode_barrier(decoder);
	case NPU_OP_POINT:
		return decode_point(decoder);
	case NPU_OP_LDTD:
	case NPU_OP_TDSET:
		return decode_descriptor_change(decoder);
	case NPU_OP_LOOP:
		return decode_loop(decoder);
	case NPU_OP_SYNC:
	case NPU_OP_MARK:
		return decode_for_engine(decoder);
	case NPU_OP_DMA:
		return decode_dma(decoder);
	case NPU_OP_MAC:
		return decode_mac(decoder);
	case NPU_OP_OUT:
		return decode_out(decoder);
	case NPU_OP_VEC:
		return decode_vec(decoder);
	case NPU_OP_LAYOUT:
		return decode_layout(decoder);
	default:
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	}
}

int npu_operation_decode(const struct npu_config *config, const struct npu_insn *insn,
			 const struct npu_td tds[NPU_TD_COUNT], struct npu_operation *out,
			 uint32_t *error, uint64_t *detail)
{
	struct decoder decoder = {
		.config = config,
		.insn = insn,
		.tds = tds,
		.out = out,
	};
	int result;

	memset(out, 0, sizeof(*out));
	out->opcode = insn->opcode;
	out->subop = insn->subop;
	out->imm16 = le16toh(insn->imm16);
	out->imm32 = le32toh(insn->imm32);
	result = decode_tokens(&decoder);
	if (!result)
		result = decode_opcode(&decoder);
	*error = decoder.error;
	*detail = decoder.detail;
	return result;
}

void npu_td_set(struct npu_td *td, const struct npu_operation *operation)
{
	struct npu_window window;
	uint64_t word = le64toh(td->word0);
	uint32_t value = operation->imm32;

	switch (operation->subop) {
	case NPU_TDSET_ADD_ADDRESS:
		td->word0 = htole64((word & ~NPU_TD_ADDRESS_MASK) |
				    ((word + (uint64_t)(int64_t)(int32_t)value) &
				     NPU_TD_ADDRESS_MASK));
		return;
	case NPU_TDSET_DIM:
		td->dim[operation->imm16 & 3] = htole16((uint16_t)value);
		return;
	}
	memcpy(&window, td, sizeof(window));
	if (operation->subop == NPU_TDSET_WINDOW_OUT) {
		window.out_height = htole16(value >> 16);
		window.out_width = htole16(value & 0xffff);
	} else {
		window.origin_y = htole16(value >> 16);
		window.origin_x = htole16(value & 0xffff);
	}
	memcpy(td, &window, sizeof(window));
}

const char *npu_dtype_name(unsigned int dtype)
{
	static const char *const names[NPU_DTYPE_COUNT] = {
		"int8", "uint8", "int16", "int32", "fp16", "fp32",
	};

	return dtype < NPU_DTYPE_COUNT ? names[dtype] : NULL;
}
