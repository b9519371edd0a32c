/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of the interpreter: decoder, CSRs, execution. See rv32.h for the core itself.
 */
#ifndef NPU_MODEL_RV32_INTERNAL_H
#define NPU_MODEL_RV32_INTERNAL_H

#include <endian.h>
#include <string.h>

#include "rv32.h"

/* Zero must stay "not decoded yet": a cleared cache is an empty one. */
enum rv32_operation {
	RV32_OP_NONE,
	RV32_OP_ILLEGAL,
	RV32_OP_LUI,
	RV32_OP_AUIPC,
	RV32_OP_JAL,
	RV32_OP_JALR,
	RV32_OP_BEQ,
	RV32_OP_BNE,
	RV32_OP_BLT,
	RV32_OP_BGE,
	RV32_OP_BLTU,
	RV32_OP_BGEU,
	RV32_OP_LB,
	RV32_OP_LH,
	RV32_OP_LW,
	RV32_OP_LBU,
	RV32_OP_LHU,
	RV32_OP_SB,
	RV32_OP_SH,
	RV32_OP_SW,
	RV32_OP_ADDI,
	RV32_OP_SLTI,
	RV32_OP_SLTIU,
	RV32_OP_XORI,
	RV32_OP_ORI,
	RV32_OP_ANDI,
	RV32_OP_SLLI,
	RV32_OP_SRLI,
	RV32_OP_SRAI,
	RV32_OP_ADD,
	RV32_OP_SUB,
	RV32_OP_SLL,
	RV32_OP_SLT,
	RV32_OP_SLTU,
	RV32_OP_XOR,
	RV32_OP_SRL,
	RV32_OP_SRA,
	RV32_OP_OR,
	RV32_OP_AND,
	RV32_OP_MUL,
	RV32_OP_MULH,
	RV32_OP_MULHSU,
	RV32_OP_MULHU,
	RV32_OP_DIV,
	RV32_OP_DIVU,
	RV32_OP_REM,
	RV32_OP_REMU,
	RV32_OP_FENCE,
	RV32_OP_FENCE_I,
	RV32_OP_ECALL,
	RV32_OP_EBREAK,
	RV32_OP_MRET,
	RV32_OP_WFI,
	/* CSR address in immediate; the operand is register rs1, or rs1 itself for the I forms. */
	RV32_OP_CSRRW,
	RV32_OP_CSRRS,
	RV32_OP_CSRRC,
	RV32_OP_CSRRWI,
	RV32_OP_CSRRSI,
	RV32_OP_CSRRCI,
};

#define RV32_MSTATUS_MIE	(1u << 3)
#define RV32_MSTATUS_MPIE	(1u << 7)
#define RV32_MSTATUS_MPP	(3u << 11)

/**
 * rv32_instruction_length() - 2 for a compressed instruction, else 4, told from its first half
 */
static inline unsigned int rv32_instruction_length(uint32_t instruction)
{
	return (instruction & 3) == 3 ? 4 : 2;
}

/**
 * rv32_decode() - take an instruction apart
 * @instruction:	as fetched; the high half is ignored for a compressed one
 *
 * A compressed instruction becomes what it stands for, with length 2. Encodings that are
 * reserved, or belong to extensions this core has not, become RV32_OP_ILLEGAL. Fields an operation
 * does not use are zero, except rd, which is then RV32_SINK.
 */
struct rv32_decoded rv32_decode(uint32_t instruction);

/**
 * rv32_decode_compressed() - the 16-bit half of rv32_decode()
 */
struct rv32_decoded rv32_decode_compressed(uint16_t instruction);

/**
 * rv32_csr_read() - value of a CSR, as of before the present instruction
 *
 * Returns false when there is no such CSR.
 */
bool rv32_csr_read(const struct rv32 *core, uint32_t csr, uint32_t *value);

/**
 * rv32_csr_write() - write a CSR that rv32_csr_read() knows
 *
 * Bits that cannot be written are ignored. Returns false when the CSR is read-only by its address.
 */
bool rv32_csr_write(struct rv32 *core, uint32_t csr, uint32_t value);

/**
 * rv32_update_attention() - to be called after a change of lines, mie, mstatus, status or
 * stop_requested while the core runs, and before it does
 */
static inline void rv32_update_attention(struct rv32 *core)
{
	bool interrupt = (core->lines & core->mie) && (core->mstatus & RV32_MSTATUS_MIE);

	core->attention = interrupt || core->stop_requested || core->status != RV32_RUNNING;
}

static inline uint32_t rv32_read_le32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint16_t rv32_read_le16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

#endif /* NPU_MODEL_RV32_INTERNAL_H */
