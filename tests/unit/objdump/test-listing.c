// SPDX-License-Identifier: MIT
/*
 * npu-objdump: what it prints of a program assembles to the program's bytes, whatever they are; and
 * what it says of a model made by hand is what was put there.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assemble.h"
#include "json_writer.h"
#include "npu/npu_isa.h"
#include "npurt/tiny_model.h"
#include "show.h"

#define WORDS 100000u

static uint64_t dice = 88172645463325252ull;

static uint32_t roll(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)(dice >> 24);
}

/* Prints to memory; the text is to be freed. */
static char *print_code(const struct model_file *model, uint32_t clusters)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	show_code(model, clusters, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static void expect_assembles(const char *text, const uint8_t *code, size_t bytes)
{
	char error[ASSEMBLE_ERROR_BYTES];
	uint8_t *again;
	size_t size;

	if (assemble_text(text, strlen(text), &again, &size, error))
		fail_msg("%s", error);
	assert_int_equal(size, bytes);
	for (size_t i = 0; i < bytes; i++)
		if (again[i] != code[i])
			fail_msg("byte %zu is 0x%02x, not 0x%02x", i, again[i], code[i]);
	free(again);
}

/* A model of which only the program is there. */
static struct model_file program_of(uint8_t *code, size_t bytes)
{
	struct model_file model = {
		.path = "test",
		.streams = { { .offset = 0, .bytes = bytes, .clusters = 1 } },
		.stream_count = 1,
		.program = code,
		.program_bytes = bytes,
	};

	return model;
}

static void expect_round_trip(uint8_t *code, size_t bytes)
{
	struct model_file model = program_of(code, bytes);
	char *text = print_code(&model, EVERY_CLUSTER);

	expect_assembles(text, code, bytes - bytes % NPU_INSN_BYTES);
	free(text);
}

static void test_random_words(void **state)
{
	size_t bytes = WORDS * sizeof(uint32_t);
	uint8_t *code = malloc(bytes);

	(void)state;
	assert_non_null(code);
	for (size_t i = 0; i < bytes; i++)
		code[i] = (uint8_t)roll();
	expect_round_trip(code, bytes);
	free(code);
}

/* Opcodes that exist, fields that are mostly small: lines other than .word. */
static void test_likely_words(void **state)
{
	static const uint8_t opcodes[] = { NPU_OP_END,	   NPU_OP_LDTD,	   NPU_OP_TDSET,
					   NPU_OP_LOOP,	   NPU_OP_ENDLOOP, NPU_OP_SYNC,
					   NPU_OP_MARK,	   NPU_OP_DMA,	   NPU_OP_MAC,
					   NPU_OP_OUT,	   NPU_OP_VEC,	   NPU_OP_LAYOUT,
					   NPU_OP_BARRIER, NPU_OP_POINT,	   NPU_OP_ILLEGAL };
	size_t bytes = WORDS * sizeof(uint32_t);
	uint8_t *code = calloc(1, bytes);

	(void)state;
	assert_non_null(code);
	for (size_t at = 0; at < bytes; at += NPU_INSN_BYTES) {
		struct npu_insn insn = { .opcode = opcodes[roll() % sizeof(opcodes)] };

		insn.subop = (uint8_t)(roll() % 3 ? roll() % 8 : roll());
		for (int i = 0; i < 2; i++) {
			insn.wait[i] = roll() % 2 ? 0 : NPU_TOKEN(roll());
			insn.release[i] = roll() % 3 ? 0 : NPU_TOKEN(roll());
		}
		insn.dst = roll() % 4 ? (uint8_t)(roll() % NPU_TD_COUNT) : NPU_TD_NONE;
		for (int i = 0; i < 3; i++)
			insn.src[i] = roll() % 3 ? (uint8_t)(roll() % NPU_TD_COUNT) :
				      roll() % 3 ? NPU_TD_NONE :
						   NPU_TD_IMMEDIATE;
		insn.imm16 = htole16((uint16_t)(roll() % 2 ? 0 : roll() % 6));
		insn.imm32 = htole32(roll() % 2 ? 0 : roll() % 200);
		memcpy(code + at, &insn, sizeof(insn));
	}
	expect_round_trip(code, bytes);
	free(code);
}

/* What is too short for an instruction is told in a comment. */
static void test_rest(void **state)
{
	uint8_t code[NPU_INSN_BYTES + 5] = { NPU_OP_END, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };
	struct model_file model = program_of(code, sizeof(code));
	char *text = print_code(&model, EVERY_CLUSTER);

	(void)state;
	assert_non_null(strstr(text, "\nend "));
	assert_non_null(strstr(text, "5 bytes at 0x000010 are less than an instruction"));
	free(text);
	expect_round_trip(code, sizeof(code));
}

/* Each stream is read by itself: a load at its end does not take the next one's bytes. */
static void test_streams(void **state)
{
	uint8_t code[4 * NPU_INSN_BYTES] = { 0 };
	struct model_file model = program_of(code, sizeof(code));
	char *text;

	(void)state;
	code[0] = NPU_OP_LDTD;
	code[NPU_INSN_BYTES] = NPU_OP_END;
	memset(code + NPU_INSN_BYTES + 6, 0xff, 4);
	model.stream_count = 2;
	model.streams[0] = (struct stream){ 0, NPU_INSN_BYTES, 1u << 1 };
	model.streams[1] = (struct stream){ NPU_INSN_BYTES, NPU_INSN_BYTES, 1u << 0 | 1u << 2 };
	text = print_code(&model, EVERY_CLUSTER);
	expect_assembles(text, code, 2 * NPU_INSN_BYTES);
	assert_non_null(strstr(text, "; cluster 1: 16 bytes at 0x000000"));
	assert_non_null(strstr(text, "; cluster 0, 2: 16 bytes at 0x000010"));
	free(text);
	text = print_code(&model, 1u << 2);
	expect_assembles(text, code + NPU_INSN_BYTES, NPU_INSN_BYTES);
	free(text);
	text = print_code(&model, 1u << 7);
	assert_string_equal(text, "");
	free(text);
}

static void test_labels(void **state)
{
	/* One before the stream, two at the same place, one inside a load. */
	struct npurt_image_symbol symbols[] = {
		{ 0, "early" },	  { 16, "first" }, { 16, "; second" },
		{ 40, "inside" }, { 80, "late" },
	};
	uint8_t code[6 * NPU_INSN_BYTES] = { 0 };
	struct model_file model = program_of(code, sizeof(code));
	const char *first, *inside, *late;
	char *text;

	(void)state;
	code[16] = NPU_OP_LDTD;
	memset(code + 16 + 6, 0xff, 4);
	code[16 + 6] = 3;
	model.image.symbols = symbols;
	model.image.symbol_count = 5;
	model.streams[0].offset = 16;
	model.streams[0].bytes = 80;
	text = print_code(&model, EVERY_CLUSTER);
	assert_null(strstr(text, "early"));
	first = strstr(text, "\n; 0x000010 first:\n\n; 0x000010 ; second:\nldtd d3, ");
	inside = strstr(text, "\n; 0x000028 inside:\n.word");
	late = strstr(text, "\n; 0x000050 late:\n.word");
	assert_true(first && inside && late && first < inside && inside < late);
	expect_assembles(text, code + 16, 80);
	free(text);
	assert_int_equal(symbol_end(&model, 0), 0);
	assert_int_equal(symbol_end(&model, 1), 16);
	assert_int_equal(symbol_end(&model, 2), 40);
	assert_int_equal(symbol_end(&model, 4), 96);
}

static void test_assembly_errors(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *reason;
	} cases[] = {
		{ "end\nnonsense\n", 13, "line 2: 'nonsense' is no instruction" },
		{ "end\n\n; fine\nend end", 20, "line 4: " },
		{ "end\0end\n", 8, "line 1: holds a NUL" },
	};
	char error[ASSEMBLE_ERROR_BYTES];
	uint8_t *code;
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(assemble_text(cases[i].text, cases[i].size, &code, &bytes, error),
				 -1);
		if (!strstr(error, cases[i].reason))
			fail_msg("'%s' says nothing of '%s'", error, cases[i].reason);
	}
	assert_int_equal(assemble_text("", 0, &code, &bytes, error), 0);
	assert_int_equal(bytes, 0);
	free(code);
	assert_int_equal(assemble_text("end", 3, &code, &bytes, error), 0);
	assert_int_equal(bytes, NPU_INSN_BYTES);
	free(code);
}

static void test_model(void **state)
{
	struct tiny_options options = { .elements = 100, .scratch = 5000 };
	char error[MODEL_ERROR_BYTES];
	struct npurt_source source;
	struct model_file model;
	struct tiny_model tiny;
	char *text;
	size_t size;
	FILE *file;

	(void)state;
	tiny_model_make(&tiny, &options);
	npurt_source_memory(&source, tiny.bytes, tiny.size);
	if (model_file_read(&model, "tiny.npu", &source, error))
		fail_msg("%s", error);
	assert_int_equal(model.section_count, TINY_SECTIONS - 1);
	assert_string_equal(model.sections[TINY_TEXT - 1].name, ".text");
	assert_int_equal(model.sections[TINY_TEXT - 1].offset, tiny.text);
	assert_int_equal(model.sections[TINY_TEXT - 1].bytes, tiny.text_bytes);
	assert_string_equal(model.sections[TINY_SHSTRTAB - 1].name, ".shstrtab");
	assert_int_equal(model.stream_count, 1);
	assert_memory_equal(model.program, tiny.bytes + tiny.text, model.program_bytes);
	text = print_code(&model, EVERY_CLUSTER);
	assert_null(strstr(text, "\n.word"));
	assert_non_null(strstr(text, "shift.cluster0:\n"));
	expect_assembles(text, tiny.bytes + tiny.text + model.streams[0].offset,
			 (size_t)model.streams[0].bytes);
	free(text);
	file = open_memstream(&text, &size);
	show_headers(&model, file);
	show_symbols(&model, file);
	fclose(file);
	assert_non_null(strstr(text, "argument 2, "));
	assert_non_null(strstr(text, "100 float32, fp16 on the device, 200 bytes\n"));
	assert_non_null(strstr(text, "argument 1, not in the file\n"));
	free(text);
	model_file_release(&model);
	tiny_model_free(&tiny);
}

/* Streams as the header has them: in any order, shared, with room between them. */
static void test_find_streams(void **state)
{
	struct tiny_options options = { .elements = 64 };
	struct npu_program_header header;
	struct npu_meta_header meta;
	char error[MODEL_ERROR_BYTES];
	struct npurt_source source;
	struct model_file model;
	struct tiny_model tiny;
	uint32_t bytes;

	(void)state;
	tiny_model_make(&tiny, &options);
	memcpy(&header, tiny.bytes + tiny.text, sizeof(header));
	bytes = le32toh(header.bytes);
	assert_true(bytes >= 64 + 9 * NPU_INSN_BYTES);
	header.clusters = 3;
	header.entry[0] = htole32(64 + 5 * NPU_INSN_BYTES);
	header.entry[1] = htole32(64);
	header.entry[2] = htole32(64 + 5 * NPU_INSN_BYTES);
	memcpy(tiny.bytes + tiny.text, &header, sizeof(header));
	memset(tiny.bytes + tiny.text + 64, 0, 5 * NPU_INSN_BYTES);
	tiny.bytes[tiny.text + 64] = NPU_OP_SYNC;
	tiny.bytes[tiny.text + 64 + NPU_INSN_BYTES] = NPU_OP_END;
	memcpy(&meta, tiny.bytes + tiny.meta, sizeof(meta));
	meta.clusters = htole32(3);
	memcpy(tiny.bytes + tiny.meta, &meta, sizeof(meta));
	npurt_source_memory(&source, tiny.bytes, tiny.size);
	if (model_file_read(&model, "tiny.npu", &source, error))
		fail_msg("%s", error);
	assert_int_equal(model.stream_count, 2);
	assert_int_equal(model.streams[0].offset, 64);
	assert_int_equal(model.streams[0].bytes, 2 * NPU_INSN_BYTES);
	assert_int_equal(model.streams[0].clusters, 1u << 1);
	assert_int_equal(model.streams[1].offset, 64 + 5 * NPU_INSN_BYTES);
	assert_int_equal(model.streams[1].bytes, bytes - 64 - 5 * NPU_INSN_BYTES);
	assert_int_equal(model.streams[1].clusters, 1u << 0 | 1u << 2);
	model_file_release(&model);
	tiny_model_free(&tiny);
}

static void test_refused(void **state)
{
	char error[MODEL_ERROR_BYTES];
	struct model_file model;

	(void)state;
	assert_int_equal(model_file_open(&model, "/none/such", error), -1);
	assert_string_equal(error, "/none/such: cannot be opened: No such file or directory");
	model_file_release(&model);
	assert_int_equal(model_file_open(&model, "/dev/null", error), -1);
	assert_string_equal(error, "/dev/null: is no regular file");
	model_file_release(&model);
}

static void test_json(void **state)
{
	/* Quotes, controls, UTF-8 of each length, and bytes that are none. */
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "plain", "plain" },
		{ "\"\\\n\x7f", "\\u0022\\u005c\\u000a\\u007f" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\x80"
		  "b",
		  "a\\ufffdb" },
		{ "\xc0\xaf", "\\ufffd\\ufffd" },
		{ "\xe2\x82", "\\ufffd\\ufffd" },
		{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },
		{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
		{ "\xff", "\\ufffd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text, expected[128];
		size_t size;
		struct json_writer json = { .file = open_memstream(&text, &size) };

		json_begin(&json, NULL, '{');
		json_text(&json, "k", cases[i].text);
		json_begin(&json, "list", '[');
		json_number(&json, NULL, UINT64_MAX);
		json_signed(&json, NULL, -5);
		json_end(&json, ']');
		json_begin(&json, "empty", '[');
		json_end(&json, ']');
		json_end(&json, '}');
		fclose(json.file);
		snprintf(
			expected, sizeof(expected),
			"{\n  \"k\": \"%s\",\n  \"list\": [\n    18446744073709551615,\n    -5\n  ],\n"
			"  \"empty\": []\n}\n",
			cases[i].json);
		assert_string_equal(text, expected);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_words), cmocka_unit_test(test_likely_words),
		cmocka_unit_test(test_rest),	     cmocka_unit_test(test_streams),
		cmocka_unit_test(test_labels),	     cmocka_unit_test(test_assembly_errors),
		cmocka_unit_test(test_model),	     cmocka_unit_test(test_find_streams),
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
