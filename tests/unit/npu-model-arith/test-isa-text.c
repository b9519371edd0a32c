// SPDX-License-Identifier: MIT
/* Assembler and disassembler: round trips of everything, messages. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa_text.h"

#define CODE_BYTES	(1 << 16)

static size_t assemble(const char *text, uint8_t *code)
{
	char error[300];
	size_t bytes;

	if (npu_isa_assemble(text, code, CODE_BYTES, &bytes, error, sizeof(error)))
		fail_msg("%s", error);
	return bytes;
}

/* A whole stream to text and back. */
static void round_trip(const uint8_t *code, size_t bytes, char *text, size_t text_bytes)
{
	uint8_t *again = malloc(bytes);
	size_t offset = 0, used = 0, result;
	char error[300];

	assert_non_null(again);
	while (offset < bytes) {
		char line[NPU_ISA_LINE_BYTES];
		int step = npu_isa_disassemble(code, bytes, offset, line, sizeof(line));

		assert_true(step == 16 || step == 48);
		assert_true(strlen(line) + 1 < sizeof(line));
		assert_true(used + strlen(line) + 2 < text_bytes);
		used += (size_t)sprintf(text + used, "%s\n", line);
		offset += (size_t)step;
	}
	assert_int_equal(offset, bytes);
	if (npu_isa_assemble(text, again, bytes, &result, error, sizeof(error)))
		fail_msg("%s", error);
	assert_int_equal(result, bytes);
	assert_memory_equal(again, code, bytes);
	free(again);
}

/* One line of each kind: what it says, byte for byte, and that it is written again so. */
static void every_form(void **state)
{
	static const struct {
		const char *text;
		struct npu_insn insn;
	} forms[] = {
#define N NPU_TD_NONE
		{ "end", { 0x01, 0, { 0 }, { 0 }, N, { N, N, N }, 0, 0 } },
		{ "tdset d3, address += -64",
		  { 0x03, 0, { 0 }, { 0 }, 3, { N, N, N }, 0, (uint32_t)-64 } },
		{ "tdset d3, dim 2 = 17", { 0x03, 1, { 0 }, { 0 }, 3, { N, N, N }, 2, 17 } },
		{ "tdset d3, out = 4 8", { 0x03, 2, { 0 }, { 0 }, 3, { N, N, N }, 0, 0x40008 } },
		{ "tdset d3, origin = -1 2",
		  { 0x03, 3, { 0 }, { 0 }, 3, { N, N, N }, 0, 0xffff0002 } },
		{ "loop 100", { 0x04, 0, { 0 }, { 0 }, N, { N, N, N }, 0, 100 } },
		{ "endloop", { 0x05, 0, { 0 }, { 0 }, N, { N, N, N }, 0, 0 } },
		{ "sync layout wait t1 g31 release t31",
		  { 0x06, 6, { 0x81, 0xbf }, { 0x9f, 0 }, N, { N, N, N }, 0, 0 } },
		{ "barrier release - t0", { 0x07, 0, { 0 }, { 0, 0x80 }, N, { N, N, N }, 0, 0 } },
		{ "point 0x140", { 0x09, 0, { 0 }, { 0 }, N, { N, N, N }, 0, 0x140 } },
		{ "barrier point 0x140", { 0x07, 0, { 0 }, { 0 }, N, { N, N, N }, 0, 0x140 } },
		{ "mark dma1 4294967295",
		  { 0x08, 2, { 0 }, { 0 }, N, { N, N, N }, 0, 0xffffffff } },
		{ "dma.1 d1, d0 multicast 0xf release g0",
		  { 0x10, 1, { 0 }, { 0xa0, 0 }, 1, { 0, N, N }, 0xf, 0 } },
		{ "mac.s.resume.half1 d0, d1, d2 position 16 channels 9 wait t2",
		  { 0x20, 0xd, { 0x82, 0 }, { 0 }, N, { 0, 1, 2 }, 16, 9 } },
		{ "mac.v d63, d1, d2 position 0 channels 32",
		  { 0x20, 2, { 0 }, { 0 }, N, { 63, 1, 2 }, 0, 32 } },
		{ "out.int64.half1 d5, -, d6, - position 7",
		  { 0x30, 0xa, { 0 }, { 0 }, 5, { N, 6, N }, 7, 0 } },
		{ "vec.muladd d5, d6, #0x3f800000, d7",
		  { 0x40, 6, { 0 }, { 0 }, 5, { 6, 0xfe, 7 }, 0, 0x3f800000 } },
		{ "vec.reduce_sumsq d5, d6, -, d7 reduce 0xc",
		  { 0x40, 0x21, { 0 }, { 0 }, 5, { 6, N, 7 }, 0xc, 0 } },
		{ "layout d5, d6", { 0x50, 0, { 0 }, { 0 }, 5, { 6, N, N }, 0, 0 } },
	};
	uint8_t code[48];
	char error[200], line[NPU_ISA_LINE_BYTES];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (npu_isa_assemble_line(forms[i].text, code, error, sizeof(error)) != 16)
			fail_msg("'%s': %s", forms[i].text, error);
		assert_memory_equal(code, &forms[i].insn, 16);
		assert_int_equal(npu_isa_disassemble(code, 16, 0, line, sizeof(line)), 16);
		assert_string_equal(line, forms[i].text);
	}
}

/* Descriptors are read as their next use reads them. */
static void descriptors(void **state)
{
	static const char text[] =
		"ldtd d0, tensor local+0x40 uint8 zero 0x80 dims 1 16 16 64 strides 0 1024 64 1\n"
		"ldtd d1, tensor arg31-0x10 fp16 dims 1 2 32 8 strides 0 512 16 -2 wait t1\n"
		"ldtd d2, window out 4 8 kernel 3 3 stride 1 2 dilation 1 1 origin -1 -32768\n"
		"ldtd d3, stage activation 1 flags 0x2 low 0x00000000 high 0x40c00000 table 0x0 "
		"scale 0x40 multiplier 9 shift 3\n"
		"ldtd d4, window out 1 1 kernel 1 1 stride 1 1 dilation 1 1 origin 0 0\n"
		"ldtd d5, raw 0x00000000 0x00002000 0x00010001 0x00010001 0x00000000 0x00000000 "
		"0x00000000 0x00000000\n"
		"tdset d4, origin = 0 -1\n"
		"mac.m d0, d1, d2 position 0 channels 32\n"
		"out.fp d1, -, d3, d0 position 0\n"
		"end\n";
	uint8_t *code = malloc(CODE_BYTES);
	char *again = malloc(CODE_BYTES);
	size_t bytes;

	(void)state;
	assert_true(code && again);
	bytes = assemble(text, code);
	assert_int_equal(bytes, 6 * 48 + 4 * 16);
	round_trip(code, bytes, again, CODE_BYTES);
	assert_string_equal(again, text);
	free(code);
	free(again);
}

/* Fields at random, of which some are as an instruction has them. */
static void random_instruction(struct random *random, struct npu_insn *insn)
{
	static const uint8_t opcodes[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
					   0x10, 0x20, 0x30, 0x40, 0x50 };
	unsigned int i;

	for (i = 0; i < sizeof(*insn); i++)
		((uint8_t *)insn)[i] = (uint8_t)random_u32(random);
	if (random_chance(random, 8))
		return;
	insn->opcode = opcodes[random_u32(random) % sizeof(opcodes)];
	insn->subop &= random_chance(random, 2) ? 3 : 0x2f;
	insn->dst = random_chance(random, 2) ? NPU_TD_NONE : insn->dst & 63;
	for (i = 0; i < 3; i++)
		insn->src[i] = random_chance(random, 2) ? NPU_TD_NONE :
			       random_chance(random, 8) ? NPU_TD_IMMEDIATE : insn->src[i] & 63;
	for (i = 0; i < 2; i++) {
		insn->wait[i] = random_chance(random, 2) ? 0 : NPU_TOKEN(insn->wait[i]);
		insn->release[i] = random_chance(random, 2) ? 0 : NPU_TOKEN(insn->release[i]);
	}
	if (random_chance(random, 2))
		insn->imm16 = 0;
	if (random_chance(random, 2))
		insn->imm32 = 0;
}

static void random_streams(void **state)
{
	struct random random = { 1 };
	struct npu_insn insn[64];
	char *text = malloc(CODE_BYTES);
	unsigned int round, i;
	size_t symbolic = 0;

	(void)state;
	assert_non_null(text);
	for (round = 0; round < 600; round++) {
		for (i = 0; i < 64; i++)
			random_instruction(&random, &insn[i]);
		round_trip((const uint8_t *)insn, sizeof(insn), text, CODE_BYTES);
		symbolic += strstr(text, "mac.") != NULL;
	}
	assert_true(symbolic > 10);	/* not all was .word */
	free(text);
}

static void messages(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "end\n\nbogus", "line 3: 'bogus' is no instruction" },
		{ "end end", "line 1: 'end' is not understood here" },
		{ "end.now", "line 1: 'end' takes no '.'" },
		{ "mac.x d0, d1, d2 position 0 channels 1",
		  "line 1: the shape of mac is .m, .s or .v" },
		{ "mac.m d0, d1, d64 position 0 channels 1",
		  "line 1: an operand is a register d0 to d63, not 'd64'" },
		{ "layout d0, -", "line 1: an operand is a register d0 to d63, not '-'" },
		{ "loop -1", "line 1: a trip count is a number from 0 to 4294967295, not '-1'" },
		{ "vec.add d0, #0x1, #0x2, -",
		  "line 1: an instruction holds one immediate; '#0x2' is a second" },
		{ "vec.fly d0, d1, -, -", "line 1: 'fly' is no operation of vec" },
		{ "sync moon",
		  "line 1: an engine is front, dma0, dma1, mac, out, vector or layout, not 'moon'" },
		{ "end wait t32",
		  "line 1: 'wait' is followed by one or two tokens, t0 to t31 or g0 to g31" },
		{ "ldtd d0, tensor local-0x1 int8 dims 1 1 1 1 strides 0 0 0 0",
		  "line 1: an address is arg0 to arg31, global or local, and +0x..., not 'local-0x1'" },
		{ "ldtd d0, tensor local+0x1 int4 dims 1 1 1 1 strides 0 0 0 0",
		  "line 1: a type is int8, uint8, int16, int32, fp16 or fp32, not 'int4'" },
		{ "ldtd d0", "line 1: a descriptor is tensor, window, stage or raw, not ''" },
		{ ".word 0 1 2", "line 1: a word is a number from 0 to 4294967295, not ''" },
		{ "tdset d0, origin = 0 40000",
		  "line 1: an origin is a number from -32768 to 32767, not '40000'" },
	};
	uint8_t code[64];
	char error[300];
	size_t bytes, i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(npu_isa_assemble(cases[i].text, code, sizeof(code), &bytes,
						      error, sizeof(error)), 0);
		assert_string_equal(error, cases[i].error);
	}
	assert_int_not_equal(npu_isa_assemble("end\nend\n", code, 16, &bytes, error,
					      sizeof(error)), 0);
	assert_int_equal(npu_isa_disassemble(code, 15, 0, error, sizeof(error)), -22);
	assert_int_equal(npu_isa_disassemble(code, 16, 16, error, sizeof(error)), -22);
	assert_int_equal(assemble("; a comment\n\n  end ; and another\n", code), 16);
}

/* Text at random out of the assembler's own words. */
static void hostile_text(void **state)
{
	static const char *const words[] = {
		"ldtd", "tensor", "window", "d1", ",", "-", "arg", "arg1", "+0x", "local+0x10", "#",
		"#0x1", "mac.m", "mac.", ".", ".word", "0x", "99999999999999999999", "dims",
		"strides", "wait", "t", "t1", "g1", "vec.add", "tdset", "address", "+=", "=", "dim",
		"origin", "\n", ";", " ", "raw", "stage", "dma.0", "out.fp", "position", "\t",
	};
	struct random random = { 2 };
	unsigned int round, i;

	(void)state;
	for (round = 0; round < 100000; round++) {
		char text[400] = "", error[64];
		uint8_t code[128];
		size_t bytes;

		for (i = random_range(&random, 1, 12); i--;) {
			strcat(text, words[random_u32(&random) %
					   (sizeof(words) / sizeof(words[0]))]);
			if (random_chance(&random, 2))
				strcat(text, " ");
		}
		if (npu_isa_assemble(text, code, sizeof(code), &bytes, error, sizeof(error)))
			assert_true(strlen(error) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(messages),
		cmocka_unit_test(hostile_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
