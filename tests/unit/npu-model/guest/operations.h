/* SPDX-License-Identifier: MIT */
/*
 * Every arithmetic instruction of RV32IMC, for two readers: arithmetic.S makes one instruction of
 * each line, the test computes the expression beside it. Operands: a in a0, b in a1 as uint32_t;
 * sa and sb the same as int64_t, signed; i the immediate. The result goes to a0.
 *
 * OPERATION(text of the instruction, bytes, expression)
 * The lists are in the order in which the instructions lie in memory.
 */
#define REGISTER_OPERATIONS(OPERATION) \
	OPERATION("add a0, a0, a1", 4, a + b) \
	OPERATION("sub a0, a0, a1", 4, a - b) \
	OPERATION("sll a0, a0, a1", 4, (uint64_t)a << (b % 32)) \
	OPERATION("slt a0, a0, a1", 4, sa < sb) \
	OPERATION("sltu a0, a0, a1", 4, a < b) \
	OPERATION("xor a0, a0, a1", 4, a ^ b) \
	OPERATION("srl a0, a0, a1", 4, a >> (b % 32)) \
	OPERATION("sra a0, a0, a1", 4, floor_divide(sa, (int64_t)1 << (b % 32))) \
	OPERATION("or a0, a0, a1", 4, a | b) \
	OPERATION("and a0, a0, a1", 4, a & b) \
	OPERATION("mul a0, a0, a1", 4, sa * sb) \
	OPERATION("mulh a0, a0, a1", 4, floor_divide(sa * sb, 4294967296)) \
	OPERATION("mulhsu a0, a0, a1", 4, floor_divide(sa * (int64_t)b, 4294967296)) \
	OPERATION("mulhu a0, a0, a1", 4, (uint64_t)a * b / 4294967296) \
	OPERATION("div a0, a0, a1", 4, b ? sa / sb : -1) \
	OPERATION("divu a0, a0, a1", 4, b ? a / b : UINT32_MAX) \
	OPERATION("rem a0, a0, a1", 4, b ? sa % sb : sa) \
	OPERATION("remu a0, a0, a1", 4, b ? a % b : a) \
	OPERATION("add a0, x0, a1", 4, b) \
	OPERATION("sub a0, a1, a0", 4, b - a) \
	OPERATION("c.add a0, a1", 2, a + b) \
	OPERATION("c.sub a0, a1", 2, a - b) \
	OPERATION("c.xor a0, a1", 2, a ^ b) \
	OPERATION("c.or a0, a1", 2, a | b) \
	OPERATION("c.and a0, a1", 2, a & b) \
	OPERATION("c.mv a0, a1", 2, b) \
	OPERATION("c.add a0, a0", 2, 2 * a)

#define WITH_IMMEDIATE(OPERATION, name, immediate, expression) \
	OPERATION(name " a0, a0, " #immediate, 4, WITH(immediate, expression))

#define IMMEDIATES(OPERATION, name, expression) \
	WITH_IMMEDIATE(OPERATION, name, -2048, expression) \
	WITH_IMMEDIATE(OPERATION, name, -1366, expression) \
	WITH_IMMEDIATE(OPERATION, name, -1, expression) \
	WITH_IMMEDIATE(OPERATION, name, 0, expression) \
	WITH_IMMEDIATE(OPERATION, name, 1, expression) \
	WITH_IMMEDIATE(OPERATION, name, 1365, expression) \
	WITH_IMMEDIATE(OPERATION, name, 2047, expression)

#define SHIFTS(OPERATION, name, expression) \
	WITH_IMMEDIATE(OPERATION, name, 0, expression) \
	WITH_IMMEDIATE(OPERATION, name, 1, expression) \
	WITH_IMMEDIATE(OPERATION, name, 10, expression) \
	WITH_IMMEDIATE(OPERATION, name, 21, expression) \
	WITH_IMMEDIATE(OPERATION, name, 31, expression)

#define IMMEDIATE_OPERATIONS(OPERATION) \
	IMMEDIATES(OPERATION, "addi", sa + i) \
	IMMEDIATES(OPERATION, "slti", sa < i) \
	IMMEDIATES(OPERATION, "sltiu", a < (uint32_t)i) \
	IMMEDIATES(OPERATION, "xori", a ^ (uint32_t)i) \
	IMMEDIATES(OPERATION, "ori", a | (uint32_t)i) \
	IMMEDIATES(OPERATION, "andi", a & (uint32_t)i) \
	SHIFTS(OPERATION, "slli", (uint64_t)a << i) \
	SHIFTS(OPERATION, "srli", a >> i) \
	SHIFTS(OPERATION, "srai", floor_divide(sa, (int64_t)1 << i))

#define COMPRESSED(OPERATION, name, immediate, expression) \
	OPERATION(name " a0, " #immediate, 2, WITH(immediate, expression))

#define COMPRESSED_IMMEDIATES(OPERATION, name, expression) \
	COMPRESSED(OPERATION, name, -32, expression) \
	COMPRESSED(OPERATION, name, -11, expression) \
	COMPRESSED(OPERATION, name, -1, expression) \
	COMPRESSED(OPERATION, name, 1, expression) \
	COMPRESSED(OPERATION, name, 10, expression) \
	COMPRESSED(OPERATION, name, 21, expression) \
	COMPRESSED(OPERATION, name, 31, expression)

#define COMPRESSED_SHIFTS(OPERATION, name, expression) \
	COMPRESSED(OPERATION, name, 1, expression) \
	COMPRESSED(OPERATION, name, 10, expression) \
	COMPRESSED(OPERATION, name, 21, expression) \
	COMPRESSED(OPERATION, name, 31, expression)

#define UPPER(OPERATION, name, immediate, bytes, expression) \
	OPERATION(name " a0, " #immediate, bytes, WITH(immediate, expression))

#define COMPRESSED_OPERATIONS(OPERATION) \
	COMPRESSED_IMMEDIATES(OPERATION, "c.addi", sa + i) \
	COMPRESSED_IMMEDIATES(OPERATION, "c.li", i) \
	COMPRESSED_IMMEDIATES(OPERATION, "c.andi", a & (uint32_t)i) \
	COMPRESSED_SHIFTS(OPERATION, "c.slli", (uint64_t)a << i) \
	COMPRESSED_SHIFTS(OPERATION, "c.srli", a >> i) \
	COMPRESSED_SHIFTS(OPERATION, "c.srai", floor_divide(sa, (int64_t)1 << i)) \
	UPPER(OPERATION, "c.lui", 1, 2, i * 4096) \
	UPPER(OPERATION, "c.lui", 31, 2, i * 4096) \
	UPPER(OPERATION, "c.lui", 0xfffe0, 2, i * 4096) \
	UPPER(OPERATION, "c.lui", 0xfffff, 2, i * 4096) \
	UPPER(OPERATION, "lui", 0, 4, i * 4096) \
	UPPER(OPERATION, "lui", 1, 4, i * 4096) \
	UPPER(OPERATION, "lui", 0x55555, 4, i * 4096) \
	UPPER(OPERATION, "lui", 0xfffff, 4, i * 4096) \
	UPPER(OPERATION, "auipc", 0, 4, pc + i * 4096) \
	UPPER(OPERATION, "auipc", 0x54321, 4, pc + i * 4096) \
	UPPER(OPERATION, "auipc", 0xfffff, 4, pc + i * 4096)

#define ALL_OPERATIONS(OPERATION) \
	REGISTER_OPERATIONS(OPERATION) \
	IMMEDIATE_OPERATIONS(OPERATION) \
	COMPRESSED_OPERATIONS(OPERATION)
