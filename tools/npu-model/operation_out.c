// SPDX-License-Identifier: MIT
/* Instruction decoder: OUT. Manual: isa.rst "OUT", timing.rst "Output stage". */
#include "operation_internal.h"

#include <string.h>

#define BYTE_TABLE_BYTES	256
#define SHIFT_MAX		62
#define RESIDUAL_FLAGS		(NPU_STAGE_RESIDUAL_BEFORE | NPU_STAGE_RESIDUAL_AFTER)

static int decode_stage(struct decoder *decoder, uint8_t operand, struct npu_out_operands *stage)
{
	const struct npu_td *td;
	struct npu_stage raw;

	if (operand == NPU_TD_NONE)
		return 0;
	td = decoder_register(decoder, operand);
	if (!td)
		return -1;
	memcpy(&raw, td, sizeof(raw));
	if (raw.reserved0 || raw.reserved1 || raw.reserved2[0] || raw.reserved2[1] ||
	    raw.activation > NPU_ACTIVATION_CURVE || (raw.flags & ~NPU_STAGE_FLAGS_ALL) ||
	    (raw.flags & RESIDUAL_FLAGS) == RESIDUAL_FLAGS || raw.residual_shift > SHIFT_MAX)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	stage->activation = raw.activation;
	stage->flags = raw.flags;
	stage->residual_shift = raw.residual_shift;
	stage->residual_multiplier = le16toh(raw.residual_multiplier);
	stage->clamp_low = le32toh(raw.clamp_low);
	stage->clamp_high = le32toh(raw.clamp_high);
	stage->table_address = le32toh(raw.table_address);
	stage->scale_address = le32toh(raw.scale_address);
	return 0;
}

/* Bytes of the activation's table, which the stage reads for each instruction; 0: it has none. */
static uint32_t table_bytes(const struct npu_out_operands *stage)
{
	if (stage->activation == NPU_ACTIVATION_CURVE)
		return sizeof(struct npu_curve);
	if (stage->activation != NPU_ACTIVATION_TABLE)
		return 0;
	return stage->integer_path ? BYTE_TABLE_BYTES : sizeof(struct npu_table);
}

/* What the stage refers to in local SRAM, and what the integer path has not. */
static int check_stage(struct decoder *decoder, const struct npu_out_operands *stage,
		       const struct npu_tensor *dst)
{
	bool curve = stage->activation == NPU_ACTIVATION_CURVE;
	uint32_t table = table_bytes(stage);

	if (stage->flags & NPU_STAGE_POSITION_SCALE) {
		if (stage->integer_path)
			return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
		if (decoder_local_range(decoder, stage->scale_address, 4 * (int64_t)stage->positions))
			return -1;
	}
	if (!table)
		return 0;
	if (stage->table_address % 16 ||
	    (stage->integer_path && (curve || dst->dtype > NPU_DTYPE_UINT8)))
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return decoder_local_range(decoder, stage->table_address, table);
}

/* The residual is there exactly when the stage says so. */
static int decode_residual(struct decoder *decoder, const struct npu_out_operands *stage,
			   const struct npu_tensor *dst, struct npu_tensor *residual)
{
	uint8_t operand = decoder->insn->src[2];

	if (!(stage->flags & RESIDUAL_FLAGS))
		return decoder_unused(decoder, DECODER_SRC(2));
	if (decoder_local_tensor(decoder, operand, residual) ||
	    decoder_repeat(decoder, residual, dst->dim))
		return -1;
	if (stage->integer_path && residual->dtype > NPU_DTYPE_INT32)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return 0;
}

static int decode_positions(struct decoder *decoder, struct npu_out_operands *stage,
			    const struct npu_tensor *dst)
{
	unsigned int sum_bytes = stage->sum == NPU_OUT_SUM_INT64 ? 8 : 4;
	uint64_t positions = (uint64_t)dst->dim[1] * dst->dim[2];

	if (dst->dim[0] != 1 || dst->dim[3] > decoder->config->mac_channels)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	if (stage->first_position + positions >
	    npu_config_acc_positions(decoder->config, sum_bytes))
		return decoder_fail(decoder, NPU_ERROR_ACCUMULATOR_RANGE);
	stage->positions = (uint32_t)positions;
	stage->channels = dst->dim[3];
	return 0;
}

static void figures(struct decoder *decoder)
{
	const struct npu_config *config = decoder->config;
	struct npu_operation *out = decoder->out;
	const struct npu_out_operands *stage = &out->out;
	uint64_t results = (uint64_t)stage->positions * stage->channels;

	out->work = config->out_overhead +
		    ceil_div(results * out->dst.element_bytes, config->out_results);
	if (out->src[0].kind)
		out->local_read += sizeof(struct npu_channel_fp) * stage->channels;
	if (out->src[2].kind)
		out->local_read += results * out->src[2].element_bytes;
	if (stage->flags & NPU_STAGE_POSITION_SCALE)
		out->local_read += 4 * (uint64_t)stage->positions;
	out->local_read += table_bytes(stage);
	out->local_write = results * out->dst.element_bytes;
}

int decode_out(struct decoder *decoder)
{
	const struct npu_insn *insn = decoder->insn;
	struct npu_operation *out = decoder->out;
	struct npu_out_operands *stage = &out->out;

	out->engine = NPU_ENGINE_OUT;
	stage->half = (out->subop & NPU_OUT_HALF) != 0;
	stage->sum = out->subop & NPU_OUT_SUM_MASK;
	stage->first_position = out->imm16;
	if ((out->subop & ~NPU_OUT_SUBOP_ALL) || stage->sum > NPU_OUT_SUM_INT64 || out->imm32)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	if (decoder_local_tensor(decoder, insn->dst, &out->dst) ||
	    decode_positions(decoder, stage, &out->dst))
		return -1;
	stage->integer_path = stage->sum != NPU_OUT_SUM_FP && out->dst.dtype <= NPU_DTYPE_INT32;
	if (insn->src[0] != NPU_TD_NONE &&
	    decoder_address(decoder, insn->src[0],
			    (int64_t)sizeof(struct npu_channel_fp) * stage->channels, &out->src[0]))
		return -1;
	if (decode_stage(decoder, insn->src[1], stage) ||
	    check_stage(decoder, stage, &out->dst) ||
	    decode_residual(decoder, stage, &out->dst, &out->src[2]))
		return -1;
	figures(decoder);
	return 0;
}
