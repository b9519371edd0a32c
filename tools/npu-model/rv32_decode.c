// SPDX-License-Identifier: MIT
/*
 * Decoder of the 32-bit instructions: RV32I, M, Zicsr, Zifencei.
 */
#include "rv32_internal.h"

static uint32_t bits(uint32_t instruction, unsigned int low, unsigned int count)
{
	return (instruction >> low) & ((1u << count) - 1);
}

static int32_t sign_extend(uint32_t value, unsigned int width)
{
	uint32_t sign = 1u << (width - 1);

	return (int32_t)((value ^ sign) - sign);
}

static int32_t immediate_i(uint32_t instruction)
{
	return sign_extend(bits(instruction, 20, 12), 12);
}

static int32_t immediate_s(uint32_t instruction)
{
	return sign_extend(bits(instruction, 25, 7) << 5 | bits(instruction, 7, 5), 12);
}

static int32_t immediate_b(uint32_t instruction)
{
	return sign_extend(bits(instruction, 31, 1) << 12 | bits(instruction, 7, 1) << 11 |
			   bits(instruction, 25, 6) << 5 | bits(instruction, 8, 4) << 1, 13);
}

static int32_t immediate_u(uint32_t instruction)
{
	return (int32_t)(instruction & 0xfffff000);
}

static int32_t immediate_j(uint32_t instruction)
{
	return sign_extend(bits(instruction, 31, 1) << 20 | bits(instruction, 12, 8) << 12 |
			   bits(instruction, 20, 1) << 11 | bits(instruction, 21, 10) << 1, 21);
}

static struct rv32_decoded illegal(void)
{
	return (struct rv32_decoded){ .operation = RV32_OP_ILLEGAL, .length = 4, .rd = RV32_SINK };
}

static uint32_t decode_rd(uint32_t instruction)
{
	uint32_t rd = bits(instruction, 7, 5);

	return rd ? rd : RV32_SINK;
}

/* An instruction with a destination, a source and an immediate. */
static struct rv32_decoded type_i(enum rv32_operation operation, uint32_t instruction,
				  int32_t immediate)
{
	return (struct rv32_decoded){
		.operation = operation,
		.length = 4,
		.rd = decode_rd(instruction),
		.rs1 = bits(instruction, 15, 5),
		.immediate = immediate,
	};
}

/* One with a destination and an immediate. */
static struct rv32_decoded type_u(enum rv32_operation operation, uint32_t instruction,
				  int32_t immediate)
{
	return (struct rv32_decoded){
		.operation = operation,
		.length = 4,
		.rd = decode_rd(instruction),
		.immediate = immediate,
	};
}

/* One with two sources and an immediate. */
static struct rv32_decoded type_s(enum rv32_operation operation, uint32_t instruction,
				  int32_t immediate)
{
	return (struct rv32_decoded){
		.operation = operation,
		.length = 4,
		.rd = RV32_SINK,
		.rs1 = bits(instruction, 15, 5),
		.rs2 = bits(instruction, 20, 5),
		.immediate = immediate,
	};
}

static struct rv32_decoded type_r(enum rv32_operation operation, uint32_t instruction)
{
	return (struct rv32_decoded){
		.operation = operation,
		.length = 4,
		.rd = decode_rd(instruction),
		.rs1 = bits(instruction, 15, 5),
		.rs2 = bits(instruction, 20, 5),
	};
}

static struct rv32_decoded plain(enum rv32_operation operation)
{
	return (struct rv32_decoded){ .operation = operation, .length = 4, .rd = RV32_SINK };
}

static struct rv32_decoded decode_branch(uint32_t instruction)
{
	/* Zero entries are the encodings that do not exist. */
	static const uint8_t operations[8] = {
		RV32_OP_BEQ, RV32_OP_BNE, 0, 0,
		RV32_OP_BLT, RV32_OP_BGE, RV32_OP_BLTU, RV32_OP_BGEU,
	};
	enum rv32_operation operation = operations[bits(instruction, 12, 3)];

	if (!operation)
		return illegal();
	return type_s(operation, instruction, immediate_b(instruction));
}

static struct rv32_decoded decode_load(uint32_t instruction)
{
	static const uint8_t operations[8] = {
		RV32_OP_LB, RV32_OP_LH, RV32_OP_LW, 0, RV32_OP_LBU, RV32_OP_LHU,
	};
	enum rv32_operation operation = operations[bits(instruction, 12, 3)];

	if (!operation)
		return illegal();
	return type_i(operation, instruction, immediate_i(instruction));
}

static struct rv32_decoded decode_store(uint32_t instruction)
{
	static const uint8_t operations[8] = { RV32_OP_SB, RV32_OP_SH, RV32_OP_SW };
	enum rv32_operation operation = operations[bits(instruction, 12, 3)];

	if (!operation)
		return illegal();
	return type_s(operation, instruction, immediate_s(instruction));
}

static struct rv32_decoded decode_shift_immediate(uint32_t instruction)
{
	uint32_t amount = bits(instruction, 20, 5);
	uint32_t kind = bits(instruction, 25, 7);

	if (bits(instruction, 12, 3) == 1) {
		if (kind != 0)
			return illegal();
		return type_i(RV32_OP_SLLI, instruction, (int32_t)amount);
	}
	if (kind == 0)
		return type_i(RV32_OP_SRLI, instruction, (int32_t)amount);
	if (kind == 0x20)
		return type_i(RV32_OP_SRAI, instruction, (int32_t)amount);
	return illegal();
}

static struct rv32_decoded decode_op_immediate(uint32_t instruction)
{
	static const uint8_t operations[8] = {
		RV32_OP_ADDI, 0, RV32_OP_SLTI, RV32_OP_SLTIU,
		RV32_OP_XORI, 0, RV32_OP_ORI, RV32_OP_ANDI,
	};
	enum rv32_operation operation = operations[bits(instruction, 12, 3)];

	if (!operation)
		return decode_shift_immediate(instruction);
	return type_i(operation, instruction, immediate_i(instruction));
}

static struct rv32_decoded decode_op(uint32_t instruction)
{
	static const uint8_t base[8] = {
		RV32_OP_ADD, RV32_OP_SLL, RV32_OP_SLT, RV32_OP_SLTU,
		RV32_OP_XOR, RV32_OP_SRL, RV32_OP_OR, RV32_OP_AND,
	};
	static const uint8_t alternate[8] = { [0] = RV32_OP_SUB, [5] = RV32_OP_SRA };
	static const uint8_t multiply[8] = {
		RV32_OP_MUL, RV32_OP_MULH, RV32_OP_MULHSU, RV32_OP_MULHU,
		RV32_OP_DIV, RV32_OP_DIVU, RV32_OP_REM, RV32_OP_REMU,
	};
	uint32_t function = bits(instruction, 12, 3);
	enum rv32_operation operation = 0;

	switch (bits(instruction, 25, 7)) {
	case 0:
		operation = base[function];
		break;
	case 1:
		operation = multiply[function];
		break;
	case 0x20:
		operation = alternate[function];
		break;
	}
	if (!operation)
		return illegal();
	return type_r(operation, instruction);
}

static struct rv32_decoded decode_privileged(uint32_t instruction)
{
	switch (instruction) {
	case 0x00000073:
		return plain(RV32_OP_ECALL);
	case 0x00100073:
		return plain(RV32_OP_EBREAK);
	case 0x30200073:
		return plain(RV32_OP_MRET);
	case 0x10500073:
		return plain(RV32_OP_WFI);
	}
	return illegal();
}

static struct rv32_decoded decode_system(uint32_t instruction)
{
	static const uint8_t operations[8] = {
		0, RV32_OP_CSRRW, RV32_OP_CSRRS, RV32_OP_CSRRC,
		0, RV32_OP_CSRRWI, RV32_OP_CSRRSI, RV32_OP_CSRRCI,
	};
	uint32_t function = bits(instruction, 12, 3);
	enum rv32_operation operation = operations[function];

	if (function == 0)
		return decode_privileged(instruction);
	if (!operation)
		return illegal();
	return type_i(operation, instruction, (int32_t)bits(instruction, 20, 12));
}

static struct rv32_decoded decode_fence(uint32_t instruction)
{
	/* The other fields are reserved for finer fences, which a plain one may stand for. */
	switch (bits(instruction, 12, 3)) {
	case 0:
		return plain(RV32_OP_FENCE);
	case 1:
		return plain(RV32_OP_FENCE_I);
	}
	return illegal();
}

static struct rv32_decoded decode_jalr(uint32_t instruction)
{
	if (bits(instruction, 12, 3) != 0)
		return illegal();
	return type_i(RV32_OP_JALR, instruction, immediate_i(instruction));
}

struct rv32_decoded rv32_decode(uint32_t instruction)
{
	if (rv32_instruction_length(instruction) == 2)
		return rv32_decode_compressed((uint16_t)instruction);

	switch (bits(instruction, 0, 7)) {
	case 0x03:
		return decode_load(instruction);
	case 0x0f:
		return decode_fence(instruction);
	case 0x13:
		return decode_op_immediate(instruction);
	case 0x17:
		return type_u(RV32_OP_AUIPC, instruction, immediate_u(instruction));
	case 0x23:
		return decode_store(instruction);
	case 0x33:
		return decode_op(instruction);
	case 0x37:
		return type_u(RV32_OP_LUI, instruction, immediate_u(instruction));
	case 0x63:
		return decode_branch(instruction);
	case 0x67:
		return decode_jalr(instruction);
	case 0x6f:
		return type_u(RV32_OP_JAL, instruction, immediate_j(instruction));
	case 0x73:
		return decode_system(instruction);
	}
	return illegal();
}
