// SPDX-License-Identifier: MIT
/*
 * The decoder against the disassembler of GNU binutils: all 16-bit encodings, and many of each
 * major opcode of the 32-bit ones. What binutils shows as no instruction, or as one of an
 * extension the core has not, must be illegal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rv32_internal.h"

#define WORDS_PER_OPCODE	20000

/*
 * Operands as binutils prints them: d, s, t a register for rd, rs1, rs2; D one for both rd and
 * rs1; i an immediate, u one of the upper 20 bits, b a target address, z a number in the place
 * of rs1, c a CSR's name; other characters stand for themselves, * for the rest of the line.
 */
struct syntax {
	const char *name;
	enum rv32_operation operation;
	const char *operands;
	uint32_t implied_rd;
};

static const struct syntax syntaxes[] = {
	{ "lui", RV32_OP_LUI, "d,u", 0 },
	{ "auipc", RV32_OP_AUIPC, "d,u", 0 },
	{ "jal", RV32_OP_JAL, "d,b", 0 },
	{ "jalr", RV32_OP_JALR, "d,i(s)", 0 },
	{ "beq", RV32_OP_BEQ, "s,t,b", 0 },
	{ "bne", RV32_OP_BNE, "s,t,b", 0 },
	{ "blt", RV32_OP_BLT, "s,t,b", 0 },
	{ "bge", RV32_OP_BGE, "s,t,b", 0 },
	{ "bltu", RV32_OP_BLTU, "s,t,b", 0 },
	{ "bgeu", RV32_OP_BGEU, "s,t,b", 0 },
	{ "lb", RV32_OP_LB, "d,i(s)", 0 },
	{ "lh", RV32_OP_LH, "d,i(s)", 0 },
	{ "lw", RV32_OP_LW, "d,i(s)", 0 },
	{ "lbu", RV32_OP_LBU, "d,i(s)", 0 },
	{ "lhu", RV32_OP_LHU, "d,i(s)", 0 },
	{ "sb", RV32_OP_SB, "t,i(s)", 0 },
	{ "sh", RV32_OP_SH, "t,i(s)", 0 },
	{ "sw", RV32_OP_SW, "t,i(s)", 0 },
	{ "addi", RV32_OP_ADDI, "d,s,i", 0 },
	{ "slti", RV32_OP_SLTI, "d,s,i", 0 },
	{ "sltiu", RV32_OP_SLTIU, "d,s,i", 0 },
	{ "xori", RV32_OP_XORI, "d,s,i", 0 },
	{ "ori", RV32_OP_ORI, "d,s,i", 0 },
	{ "andi", RV32_OP_ANDI, "d,s,i", 0 },
	{ "slli", RV32_OP_SLLI, "d,s,i", 0 },
	{ "srli", RV32_OP_SRLI, "d,s,i", 0 },
	{ "srai", RV32_OP_SRAI, "d,s,i", 0 },
	{ "add", RV32_OP_ADD, "d,s,t", 0 },
	{ "sub", RV32_OP_SUB, "d,s,t", 0 },
	{ "sll", RV32_OP_SLL, "d,s,t", 0 },
	{ "slt", RV32_OP_SLT, "d,s,t", 0 },
	{ "sltu", RV32_OP_SLTU, "d,s,t", 0 },
	{ "xor", RV32_OP_XOR, "d,s,t", 0 },
	{ "srl", RV32_OP_SRL, "d,s,t", 0 },
	{ "sra", RV32_OP_SRA, "d,s,t", 0 },
	{ "or", RV32_OP_OR, "d,s,t", 0 },
	{ "and", RV32_OP_AND, "d,s,t", 0 },
	{ "mul", RV32_OP_MUL, "d,s,t", 0 },
	{ "mulh", RV32_OP_MULH, "d,s,t", 0 },
	{ "mulhsu", RV32_OP_MULHSU, "d,s,t", 0 },
	{ "mulhu", RV32_OP_MULHU, "d,s,t", 0 },
	{ "div", RV32_OP_DIV, "d,s,t", 0 },
	{ "divu", RV32_OP_DIVU, "d,s,t", 0 },
	{ "rem", RV32_OP_REM, "d,s,t", 0 },
	{ "remu", RV32_OP_REMU, "d,s,t", 0 },
	{ "fence", RV32_OP_FENCE, "*", 0 },
	{ "fence.tso", RV32_OP_FENCE, "*", 0 },
	{ "pause", RV32_OP_FENCE, "*", 0 },
	{ "fence.i", RV32_OP_FENCE_I, "*", 0 },
	{ "ecall", RV32_OP_ECALL, "", 0 },
	{ "ebreak", RV32_OP_EBREAK, "", 0 },
	{ "mret", RV32_OP_MRET, "", 0 },
	{ "wfi", RV32_OP_WFI, "", 0 },
	{ "csrrw", RV32_OP_CSRRW, "d,c,s", 0 },
	{ "csrrs", RV32_OP_CSRRS, "d,c,s", 0 },
	{ "csrrc", RV32_OP_CSRRC, "d,c,s", 0 },
	{ "csrrwi", RV32_OP_CSRRWI, "d,c,z", 0 },
	{ "csrrsi", RV32_OP_CSRRSI, "d,c,z", 0 },
	{ "csrrci", RV32_OP_CSRRCI, "d,c,z", 0 },
	{ "c.addi4spn", RV32_OP_ADDI, "d,s,i", 0 },
	{ "c.lw", RV32_OP_LW, "d,i(s)", 0 },
	{ "c.sw", RV32_OP_SW, "t,i(s)", 0 },
	{ "c.nop", RV32_OP_ADDI, "*", 0 },
	{ "c.addi", RV32_OP_ADDI, "D,i", 0 },
	{ "c.jal", RV32_OP_JAL, "b", 1 },
	{ "c.li", RV32_OP_ADDI, "d,i", 0 },
	{ "c.addi16sp", RV32_OP_ADDI, "D,i", 0 },
	{ "c.lui", RV32_OP_LUI, "d,u", 0 },
	{ "c.srli", RV32_OP_SRLI, "D,i", 0 },
	{ "c.srli64", RV32_OP_SRLI, "D", 0 },
	{ "c.srai", RV32_OP_SRAI, "D,i", 0 },
	{ "c.srai64", RV32_OP_SRAI, "D", 0 },
	{ "c.andi", RV32_OP_ANDI, "D,i", 0 },
	{ "c.sub", RV32_OP_SUB, "D,t", 0 },
	{ "c.xor", RV32_OP_XOR, "D,t", 0 },
	{ "c.or", RV32_OP_OR, "D,t", 0 },
	{ "c.and", RV32_OP_AND, "D,t", 0 },
	{ "c.j", RV32_OP_JAL, "b", 0 },
	{ "c.beqz", RV32_OP_BEQ, "s,b", 0 },
	{ "c.bnez", RV32_OP_BNE, "s,b", 0 },
	{ "c.slli", RV32_OP_SLLI, "D,i", 0 },
	{ "c.slli64", RV32_OP_SLLI, "D", 0 },
	{ "c.lwsp", RV32_OP_LW, "d,i(s)", 0 },
	{ "c.jr", RV32_OP_JALR, "s", 0 },
	{ "c.mv", RV32_OP_ADD, "d,t", 0 },
	{ "c.ebreak", RV32_OP_EBREAK, "", 0 },
	{ "c.jalr", RV32_OP_JALR, "s", 1 },
	{ "c.add", RV32_OP_ADD, "D,t", 0 },
	{ "c.swsp", RV32_OP_SW, "t,i(s)", 0 },
};

static const char *objdump_path;

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

static const struct syntax *find_syntax(const char *name)
{
	for (size_t i = 0; i < sizeof(syntaxes) / sizeof(syntaxes[0]); i++) {
		if (strcmp(syntaxes[i].name, name) == 0)
			return &syntaxes[i];
	}
	return NULL;
}

static uint32_t parse_register(const char **text, uint32_t zero)
{
	unsigned long number;
	char *end;

	assert_int_equal(**text, 'x');
	number = strtoul(*text + 1, &end, 10);
	assert_true(end != *text + 1 && number < 32);
	*text = end;
	return number ? (uint32_t)number : zero;
}

static uint32_t parse_number(const char **text)
{
	char *end;
	uint32_t number = (uint32_t)strtoll(*text, &end, 0);

	assert_ptr_not_equal(end, *text);
	*text = end;
	return number;
}

static void parse_operand(char kind, const char **text, uint32_t address, uint32_t word,
			  struct rv32_decoded *d)
{
	switch (kind) {
	case 'd':
		d->rd = parse_register(text, RV32_SINK);
		break;
	case 's':
		d->rs1 = parse_register(text, 0);
		break;
	case 't':
		d->rs2 = parse_register(text, 0);
		break;
	case 'D':
		d->rs1 = parse_register(text, 0);
		d->rd = d->rs1 ? d->rs1 : RV32_SINK;
		break;
	case 'i':
		d->immediate = (int32_t)parse_number(text);
		break;
	case 'u':
		d->immediate = (int32_t)(parse_number(text) << 12);
		break;
	case 'b':
		d->immediate = (int32_t)(parse_number(text) - address);
		break;
	case 'z':
		d->rs1 = parse_number(text);
		break;
	case 'c':
		*text += strcspn(*text, ",");
		d->immediate = (int32_t)(word >> 20);
		break;
	default:
		assert_int_equal(**text, kind);
		(*text)++;
		break;
	}
}

/* Where the specification is stricter or wider than what binutils prints. */
static enum rv32_operation correct(const struct rv32_decoded *d, const char *name, uint32_t word)
{
	bool shift = d->operation == RV32_OP_SLLI || d->operation == RV32_OP_SRLI ||
		     d->operation == RV32_OP_SRAI;

	/* Amounts beyond 31 are those of RV64. */
	if (shift && d->immediate > 31)
		return RV32_OP_ILLEGAL;
	if (strcmp(name, "c.addi16sp") == 0 && d->immediate == 0)
		return RV32_OP_ILLEGAL;
	/* "Base implementations shall ignore" the unused fields of fences. */
	if ((word & 0x707f) == 0x000f)
		return RV32_OP_FENCE;
	if ((word & 0x707f) == 0x100f)
		return RV32_OP_FENCE_I;
	return d->operation;
}

/* What the decoder should make of a line of the disassembly. */
static struct rv32_decoded expected(const char *name, const char *operands, uint32_t address,
				    uint32_t word)
{
	const struct syntax *syntax = find_syntax(name);
	struct rv32_decoded d = {
		.operation = RV32_OP_ILLEGAL,
		.length = (word & 3) == 3 ? 4 : 2,
		.rd = RV32_SINK,
	};

	if (!syntax) {
		d.operation = correct(&d, name, word);
		return d;
	}
	d.operation = syntax->operation;
	if (syntax->implied_rd)
		d.rd = syntax->implied_rd;
	for (const char *kind = syntax->operands; *kind && *kind != '*'; kind++)
		parse_operand(*kind, &operands, address, word, &d);
	d.operation = correct(&d, name, word);
	return d;
}

static void check_line(const char *line, uint32_t address, uint32_t word, const char *name,
		       const char *operands)
{
	struct rv32_decoded e = expected(name, operands, address, word);
	struct rv32_decoded d = rv32_decode(word);

	if (d.operation == RV32_OP_ILLEGAL && e.operation == RV32_OP_ILLEGAL)
		return;
	if (d.operation != e.operation || d.length != e.length || d.rd != e.rd ||
	    d.rs1 != e.rs1 || d.rs2 != e.rs2 || d.immediate != e.immediate)
		fail_msg("%s: operation %u length %u rd %u rs1 %u rs2 %u immediate %d, expected "
			 "%u %u %u %u %u %d", line, d.operation, d.length, d.rd, d.rs1, d.rs2,
			 d.immediate, e.operation, e.length, e.rd, e.rs1, e.rs2, e.immediate);
}

/* Disassembles @size bytes of code and checks each line; returns how many there were. */
static size_t check_code(const void *code, size_t size)
{
	char path[] = "/tmp/npu-test-decode-XXXXXX";
	char command[512], line[256];
	int file = mkstemp(path);
	size_t count = 0;
	FILE *pipe;

	assert_true(file >= 0);
	assert_int_equal(write(file, code, size), size);
	close(file);
	snprintf(command, sizeof(command),
		 "'%s' -b binary -m riscv:rv32 -M no-aliases,numeric -z -D %s", objdump_path, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		unsigned int address, word;
		char name[64], operands[128] = "";

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, " %x: %x %63s %127s", &address, &word, name, operands) < 3)
			continue;
		check_line(line, address, word, name, operands);
		count++;
	}
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
	return count;
}

static void test_compressed(void **state)
{
	static uint16_t code[3 << 14];
	size_t count = 0;

	(void)state;
	for (uint32_t word = 0; word < 0x10000; word++) {
		if (rv32_instruction_length(word) == 2)
			code[count++] = htole16((uint16_t)word);
	}
	assert_int_equal(count, 3 << 14);
	assert_int_equal(check_code(code, sizeof(code)), count);
}

static void test_full(void **state)
{
	static uint32_t code[28 * WORDS_PER_OPCODE];
	uint64_t seed = 1;
	size_t count = 0;

	(void)state;
	for (uint32_t opcode = 0; opcode < 32; opcode++) {
		/* Longer instructions, of which there are none. */
		if ((opcode & 7) == 7)
			continue;
		for (size_t n = 0; n < WORDS_PER_OPCODE; n++) {
			static const uint32_t usual[] = { 0, 1, 0x20 };
			uint32_t word = next_random(&seed);

			/* Random upper bits seldom are an instruction. */
			if (n % 2)
				word = (word & 0x01ffffff) | usual[n / 2 % 3] << 25;
			code[count++] = htole32((word & ~0x7fu) | opcode << 2 | 3);
		}
	}
	assert_int_equal(check_code(code, sizeof(code)), count);
}

/* Instructions without operands, and all that differ from one of them in a bit or two. */
static void test_system(void **state)
{
	static const uint32_t plain[] = { 0x00000073, 0x00100073, 0x30200073, 0x10500073 };
	static uint32_t code[4 * 25 * 25];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (unsigned int first = 7; first < 32; first++) {
			for (unsigned int second = 7; second < 32; second++)
				code[count++] = htole32((plain[i] ^ 1u << first) ^ 1u << second);
		}
	}
	assert_int_equal(check_code(code, sizeof(code)), count);
}

static void test_longer(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t n = 0; n < 100000; n++)
		assert_int_equal(rv32_decode(next_random(&seed) | 0x1f).operation, RV32_OP_ILLEGAL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_longer),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: test-rv32-decode OBJDUMP\n");
		return 2;
	}
	objdump_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
