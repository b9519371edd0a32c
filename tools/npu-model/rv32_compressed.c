// SPDX-License-Identifier: MIT
/*
 * Decoder of the compressed instructions (C extension without floating point).
 */
#include "rv32_internal.h"

#define REGISTER_RA	1
#define REGISTER_SP	2

/* Bit @from of the instruction, moved to bit @to: immediates are scattered. */
static uint32_t move_bit(uint32_t instruction, unsigned int from, unsigned int to)
{
	return ((instruction >> from) & 1) << to;
}

static uint32_t move_bits(uint32_t instruction, unsigned int from, unsigned int count,
			  unsigned int to)
{
	return ((instruction >> from) & ((1u << count) - 1)) << to;
}

static uint32_t full_register(uint32_t instruction, unsigned int low)
{
	return (instruction >> low) & 31;
}

/* Three bits name one of x8 to x15. */
static uint32_t short_register(uint32_t instruction, unsigned int low)
{
	return 8 + ((instruction >> low) & 7);
}

static int32_t immediate_6(uint32_t instruction)
{
	int32_t value = (int32_t)move_bits(instruction, 2, 5, 0);

	return instruction & 0x1000 ? value - 32 : value;
}

static int32_t immediate_jump(uint32_t instruction)
{
	uint32_t value = move_bits(instruction, 3, 3, 1) | move_bit(instruction, 11, 4) |
			 move_bit(instruction, 2, 5) | move_bit(instruction, 7, 6) |
			 move_bit(instruction, 6, 7) | move_bits(instruction, 9, 2, 8) |
			 move_bit(instruction, 8, 10);

	return instruction & 0x1000 ? (int32_t)value - 2048 : (int32_t)value;
}

static int32_t immediate_branch(uint32_t instruction)
{
	uint32_t value = move_bits(instruction, 3, 2, 1) | move_bits(instruction, 10, 2, 3) |
			 move_bit(instruction, 2, 5) | move_bits(instruction, 5, 2, 6);

	return instruction & 0x1000 ? (int32_t)value - 256 : (int32_t)value;
}

static int32_t immediate_word(uint32_t instruction)
{
	return (int32_t)(move_bit(instruction, 6, 2) | move_bits(instruction, 10, 3, 3) |
			 move_bit(instruction, 5, 6));
}

static struct rv32_decoded make(enum rv32_operation operation, uint32_t rd, uint32_t rs1,
				uint32_t rs2, int32_t immediate)
{
	return (struct rv32_decoded){
		.operation = operation,
		.length = 2,
		.rd = rd ? rd : RV32_SINK,
		.rs1 = rs1,
		.rs2 = rs2,
		.immediate = immediate,
	};
}

static struct rv32_decoded illegal(void)
{
	return make(RV32_OP_ILLEGAL, 0, 0, 0, 0);
}

static struct rv32_decoded decode_addi4spn(uint32_t instruction)
{
	uint32_t immediate = move_bit(instruction, 6, 2) | move_bit(instruction, 5, 3) |
			     move_bits(instruction, 11, 2, 4) | move_bits(instruction, 7, 4, 6);

	/* Zero is reserved, which also makes cleared memory illegal. */
	if (!immediate)
		return illegal();
	return make(RV32_OP_ADDI, short_register(instruction, 2), REGISTER_SP, 0,
		    (int32_t)immediate);
}

static struct rv32_decoded decode_quadrant_0(uint32_t instruction)
{
	uint32_t base = short_register(instruction, 7);
	uint32_t data = short_register(instruction, 2);

	switch (instruction >> 13) {
	case 0:
		return decode_addi4spn(instruction);
	case 2:
		return make(RV32_OP_LW, data, base, 0, immediate_word(instruction));
	case 6:
		return make(RV32_OP_SW, 0, base, data, immediate_word(instruction));
	}
	return illegal();
}

static struct rv32_decoded decode_addi16sp_lui(uint32_t instruction)
{
	uint32_t rd = full_register(instruction, 7);
	uint32_t immediate;

	if (rd != REGISTER_SP) {
		int32_t upper = immediate_6(instruction);

		/* Zero is reserved. The multiplication cannot overflow: -32 to 31. */
		return upper ? make(RV32_OP_LUI, rd, 0, 0, upper * 4096) : illegal();
	}

	immediate = move_bit(instruction, 6, 4) | move_bit(instruction, 2, 5) |
		    move_bit(instruction, 5, 6) | move_bits(instruction, 3, 2, 7);
	if (instruction & 0x1000)
		return make(RV32_OP_ADDI, rd, rd, 0, (int32_t)immediate - 512);
	return immediate ? make(RV32_OP_ADDI, rd, rd, 0, (int32_t)immediate) : illegal();
}

static struct rv32_decoded decode_alu(uint32_t instruction)
{
	static const uint8_t registers[4] = {
		RV32_OP_SUB, RV32_OP_XOR, RV32_OP_OR, RV32_OP_AND,
	};
	uint32_t rd = short_register(instruction, 7);
	bool high = instruction & 0x1000;
	int32_t amount = (int32_t)move_bits(instruction, 2, 5, 0);

	switch (move_bits(instruction, 10, 2, 0)) {
	case 0:
		return high ? illegal() : make(RV32_OP_SRLI, rd, rd, 0, amount);
	case 1:
		return high ? illegal() : make(RV32_OP_SRAI, rd, rd, 0, amount);
	case 2:
		return make(RV32_OP_ANDI, rd, rd, 0, immediate_6(instruction));
	}
	if (high)
		return illegal();
	return make(registers[move_bits(instruction, 5, 2, 0)], rd, rd,
		    short_register(instruction, 2), 0);
}

static struct rv32_decoded decode_quadrant_1(uint32_t instruction)
{
	uint32_t rd = full_register(instruction, 7);

	switch (instruction >> 13) {
	case 0:
		return make(RV32_OP_ADDI, rd, rd, 0, immediate_6(instruction));
	case 1:
		return make(RV32_OP_JAL, REGISTER_RA, 0, 0, immediate_jump(instruction));
	case 2:
		return make(RV32_OP_ADDI, rd, 0, 0, immediate_6(instruction));
	case 3:
		return decode_addi16sp_lui(instruction);
	case 4:
		return decode_alu(instruction);
	case 5:
		return make(RV32_OP_JAL, 0, 0, 0, immediate_jump(instruction));
	case 6:
		return make(RV32_OP_BEQ, 0, short_register(instruction, 7), 0,
			    immediate_branch(instruction));
	}
	return make(RV32_OP_BNE, 0, short_register(instruction, 7), 0,
		    immediate_branch(instruction));
}

static struct rv32_decoded decode_jump_move_add(uint32_t instruction)
{
	uint32_t rd = full_register(instruction, 7);
	uint32_t rs2 = full_register(instruction, 2);
	bool high = instruction & 0x1000;

	if (rs2)
		return make(RV32_OP_ADD, rd, high ? rd : 0, rs2, 0);
	if (rd)
		return make(RV32_OP_JALR, high ? REGISTER_RA : 0, rd, 0, 0);
	return high ? make(RV32_OP_EBREAK, 0, 0, 0, 0) : illegal();
}

static struct rv32_decoded decode_quadrant_2(uint32_t instruction)
{
	uint32_t rd = full_register(instruction, 7);
	int32_t offset;

	switch (instruction >> 13) {
	case 0:
		if (instruction & 0x1000)
			return illegal();
		return make(RV32_OP_SLLI, rd, rd, 0, (int32_t)move_bits(instruction, 2, 5, 0));
	case 2:
		offset = (int32_t)(move_bits(instruction, 4, 3, 2) | move_bit(instruction, 12, 5) |
				   move_bits(instruction, 2, 2, 6));
		return rd ? make(RV32_OP_LW, rd, REGISTER_SP, 0, offset) : illegal();
	case 4:
		return decode_jump_move_add(instruction);
	case 6:
		offset = (int32_t)(move_bits(instruction, 9, 4, 2) |
				   move_bits(instruction, 7, 2, 6));
		return make(RV32_OP_SW, 0, REGISTER_SP, full_register(instruction, 2), offset);
	}
	return illegal();
}

struct rv32_decoded rv32_decode_compressed(uint16_t instruction)
{
	switch (instruction & 3) {
	case 0:
		return decode_quadrant_0(instruction);
	case 1:
		return decode_quadrant_1(instruction);
	case 2:
		return decode_quadrant_2(instruction);
	}
	return illegal();
}
