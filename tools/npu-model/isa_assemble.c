// SPDX-License-Identifier: MIT
/* Assembler. See isa_text.h; the syntax is in Documentation/hardware/isa.rst. */
#include "isa_text.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "npu/npu_isa.h"

#define SEPARATORS	" \t\r,"

/* A word of a line. */
struct word {
	const char *text;
	size_t length;
};

struct reader {
	const char *at, *end;
	char *error;
	size_t error_bytes;
	bool failed;
	struct npu_insn insn;
	uint8_t descriptor[NPU_TD_BYTES];
	bool immediate;		/* imm32 was given by an operand */
};

static void fail(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The first error stays. */
static void fail(struct reader *reader, const char *format, ...)
{
	va_list arguments;

	if (reader->failed)
		return;
	reader->failed = true;
	va_start(arguments, format);
	vsnprintf(reader->error, reader->error_bytes, format, arguments);
	va_end(arguments);
}

static bool is_separator(char character)
{
	return character && strchr(SEPARATORS, character);
}

static struct word peek(struct reader *reader)
{
	struct word word;

	while (reader->at < reader->end && is_separator(*reader->at))
		reader->at++;
	word.text = reader->at;
	word.length = 0;
	while (word.text + word.length < reader->end && !is_separator(word.text[word.length]))
		word.length++;
	return word;
}

static struct word next(struct reader *reader)
{
	struct word word = peek(reader);

	reader->at = word.text + word.length;
	return word;
}

static bool is(struct word word, const char *text)
{
	return strlen(text) == word.length && !memcmp(word.text, text, word.length);
}

static bool accept(struct reader *reader, const char *text)
{
	if (!is(peek(reader), text))
		return false;
	next(reader);
	return true;
}

static int shown(struct word word)
{
	return word.length > 40 ? 40 : (int)word.length;
}

static void expect(struct reader *reader, const char *text)
{
	struct word word = next(reader);

	if (!is(word, text))
		fail(reader, "'%s' is expected where '%.*s' is", text, shown(word), word.text);
}

/* Unsigned digits, decimal or after 0x. */
static bool digits(struct word word, uint64_t *value)
{
	unsigned int base = 10;
	uint64_t sum = 0;
	size_t i = 0;

	if (word.length > 2 && word.text[0] == '0' && word.text[1] == 'x') {
		base = 16;
		i = 2;
	}
	if (i == word.length)
		return false;
	for (; i < word.length; i++) {
		char character = word.text[i];
		unsigned int digit;

		if (character >= '0' && character <= '9')
			digit = (unsigned int)(character - '0');
		else if (character >= 'a' && character <= 'f')
			digit = (unsigned int)(character - 'a') + 10;
		else
			return false;
		if (digit >= base || sum > (UINT64_MAX - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	*value = sum;
	return true;
}

static uint64_t number(struct reader *reader, const char *what, uint64_t high)
{
	struct word word = next(reader);
	uint64_t value = 0;

	if (!digits(word, &value) || value > high) {
		fail(reader, "%s is a number from 0 to %llu, not '%.*s'", what,
		     (unsigned long long)high, shown(word), word.text);
		return 0;
	}
	return value;
}

/* A number that may be negative, in two's complement of so many bits. */
static uint32_t signed_number(struct reader *reader, const char *what, unsigned int bits)
{
	struct word word = next(reader);
	struct word magnitude = word;
	uint64_t value = 0, limit = 1ull << (bits - 1);
	bool negative = word.length && word.text[0] == '-';

	if (negative) {
		magnitude.text++;
		magnitude.length--;
	}
	if (!digits(magnitude, &value) || value > (negative ? limit : limit - 1)) {
		fail(reader, "%s is a number from -%llu to %llu, not '%.*s'", what,
		     (unsigned long long)limit, (unsigned long long)limit - 1, shown(word),
		     word.text);
		return 0;
	}
	if (negative)
		value = 0 - value;
	return (uint32_t)(value & (limit * 2 - 1));
}

static bool prefixed(struct word word, char prefix, uint64_t limit, uint64_t *value)
{
	struct word rest = { word.text + 1, word.length - 1 };

	return word.length > 1 && word.text[0] == prefix && digits(rest, value) && *value < limit;
}

static uint8_t operand(struct reader *reader, bool optional)
{
	struct word word = next(reader);
	uint64_t value = 0;

	if (is(word, "-") && optional)
		return NPU_TD_NONE;
	if (prefixed(word, 'd', NPU_TD_COUNT, &value))
		return (uint8_t)value;
	fail(reader, "an operand is a register d0 to d%d%s, not '%.*s'", NPU_TD_COUNT - 1,
	     optional ? " or -" : "", shown(word), word.text);
	return NPU_TD_NONE;
}

/* A source of the vector unit: also #0x.., one number for all of them. */
static uint8_t value_operand(struct reader *reader)
{
	struct word word = peek(reader);
	uint64_t value = 0;

	if (!prefixed(word, '#', 1ull << 32, &value))
		return operand(reader, true);
	next(reader);
	if (reader->immediate && le32toh(reader->insn.imm32) != value)
		fail(reader, "an instruction holds one immediate; '%.*s' is a second", shown(word),
		     word.text);
	reader->immediate = true;
	reader->insn.imm32 = htole32((uint32_t)value);
	return NPU_TD_IMMEDIATE;
}

static bool token(struct reader *reader, uint8_t *to)
{
	struct word word = peek(reader);
	uint64_t value = 0;

	if (is(word, "-"))
		*to = 0;
	else if (prefixed(word, 't', NPU_TOKEN_LOCAL_COUNT, &value))
		*to = NPU_TOKEN(value);
	else if (prefixed(word, 'g', NPU_TOKEN_SHARED_COUNT, &value))
		*to = NPU_TOKEN(value + NPU_TOKEN_LOCAL_COUNT);
	else
		return false;
	next(reader);
	return true;
}

static void token_list(struct reader *reader, const char *name, __u8 tokens[2])
{
	if (!accept(reader, name))
		return;
	if (!token(reader, &tokens[0]))
		fail(reader, "'%s' is followed by one or two tokens, t0 to t31 or g0 to g31", name);
	else
		token(reader, &tokens[1]);
}

/* -------------------------------------------------------------------- descriptors */

static uint64_t address(struct reader *reader)
{
	static const char *const spaces[] = { "arg", "global", "local" };
	struct word word = next(reader), offset;
	unsigned int space;
	size_t sign = 0;
	uint64_t argument = 0, value = 0, limit = NPU_TD_ADDRESS_MASK;
	bool negative;

	while (sign < word.length && word.text[sign] != '+' && word.text[sign] != '-')
		sign++;
	offset.text = word.text + sign + 1;
	offset.length = sign < word.length ? word.length - sign - 1 : 0;
	negative = sign < word.length && word.text[sign] == '-';
	for (space = 0; space < 3; space++)
		if (sign >= strlen(spaces[space]) &&
		    !memcmp(word.text, spaces[space], strlen(spaces[space])))
			break;
	if (space == NPU_SPACE_DRAM) {
		struct word register_number = { word.text + 3, sign - 3 };

		if (!digits(register_number, &argument) || argument > NPU_TD_ARG_MASK)
			space = 3;
		limit >>= 1;	/* signed */
	} else if (space < 3 && (sign != strlen(spaces[space]) || negative)) {
		space = 3;
	}
	if (space == 3 || !digits(offset, &value) || value > limit + negative) {
		fail(reader, "an address is arg0 to arg31, global or local, and +0x..., not '%.*s'",
		     shown(word), word.text);
		return 0;
	}
	if (negative)
		value = (0 - value) & NPU_TD_ADDRESS_MASK;
	return value | argument << NPU_TD_ARG_SHIFT | (uint64_t)space << NPU_TD_SPACE_SHIFT;
}

static uint64_t dtype(struct reader *reader)
{
	struct word word = next(reader);
	unsigned int i;

	for (i = 0; i < NPU_DTYPE_COUNT; i++)
		if (is(word, npu_isa_dtype_name(i)))
			return i;
	fail(reader, "a type is int8, uint8, int16, int32, fp16 or fp32, not '%.*s'", shown(word),
	     word.text);
	return 0;
}

static void tensor(struct reader *reader)
{
	uint64_t word = address(reader);
	struct npu_td td;
	unsigned int i;

	memset(&td, 0, sizeof(td));
	word |= dtype(reader) << NPU_TD_DTYPE_SHIFT;
	if (accept(reader, "zero"))
		word |= number(reader, "a zero point's byte", 255) << NPU_TD_ZERO_SHIFT;
	td.word0 = htole64(word);
	expect(reader, "dims");
	for (i = 0; i < 4; i++)
		td.dim[i] = htole16((uint16_t)number(reader, "a dim", UINT16_MAX));
	expect(reader, "strides");
	for (i = 0; i < 4; i++)
		td.stride[i] = htole32(signed_number(reader, "a stride", 32));
	memcpy(reader->descriptor, &td, sizeof(td));
}

static void pair(struct reader *reader, const char *name, __le16 *y, __le16 *x)
{
	expect(reader, name);
	*y = htole16((uint16_t)number(reader, name, UINT16_MAX));
	*x = htole16((uint16_t)number(reader, name, UINT16_MAX));
}

static void window(struct reader *reader)
{
	struct npu_window raw;

	memset(&raw, 0, sizeof(raw));
	pair(reader, "out", &raw.out_height, &raw.out_width);
	pair(reader, "kernel", &raw.kernel_height, &raw.kernel_width);
	pair(reader, "stride", &raw.stride_y, &raw.stride_x);
	pair(reader, "dilation", &raw.dilation_y, &raw.dilation_x);
	expect(reader, "origin");
	raw.origin_y = htole16((uint16_t)signed_number(reader, "an origin", 16));
	raw.origin_x = htole16((uint16_t)signed_number(reader, "an origin", 16));
	memcpy(reader->descriptor, &raw, sizeof(raw));
}

static uint64_t field(struct reader *reader, const char *name, uint64_t high)
{
	expect(reader, name);
	return number(reader, name, high);
}

static void stage(struct reader *reader)
{
	struct npu_stage raw;

	memset(&raw, 0, sizeof(raw));
	raw.activation = (uint8_t)field(reader, "activation", UINT8_MAX);
	raw.flags = (uint8_t)field(reader, "flags", UINT8_MAX);
	raw.clamp_low = htole32((uint32_t)field(reader, "low", UINT32_MAX));
	raw.clamp_high = htole32((uint32_t)field(reader, "high", UINT32_MAX));
	raw.table_address = htole32((uint32_t)field(reader, "table", UINT32_MAX));
	raw.scale_address = htole32((uint32_t)field(reader, "scale", UINT32_MAX));
	raw.residual_multiplier = htole16((uint16_t)field(reader, "multiplier", UINT16_MAX));
	raw.residual_shift = (uint8_t)field(reader, "shift", UINT8_MAX);
	memcpy(reader->descriptor, &raw, sizeof(raw));
}

static void words(struct reader *reader, uint8_t *to, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		uint32_t word = htole32((uint32_t)number(reader, "a word", UINT32_MAX));

		memcpy(to + 4 * (size_t)i, &word, sizeof(word));
	}
}

static void descriptor(struct reader *reader)
{
	struct word word;

	reader->insn.dst = operand(reader, false);
	word = next(reader);
	if (is(word, "tensor"))
		tensor(reader);
	else if (is(word, "window"))
		window(reader);
	else if (is(word, "stage"))
		stage(reader);
	else if (is(word, "raw"))
		words(reader, reader->descriptor, NPU_TD_BYTES / 4);
	else
		fail(reader, "a descriptor is tensor, window, stage or raw, not '%.*s'",
		     shown(word), word.text);
}

/* ------------------------------------------------------------------- instructions */

static void tdset(struct reader *reader)
{
	struct npu_insn *insn = &reader->insn;
	uint32_t high;

	insn->dst = operand(reader, false);
	if (accept(reader, "address")) {
		insn->subop = NPU_TDSET_ADD_ADDRESS;
		expect(reader, "+=");
		insn->imm32 = htole32(signed_number(reader, "an increment", 32));
	} else if (accept(reader, "dim")) {
		insn->subop = NPU_TDSET_DIM;
		insn->imm16 = htole16((uint16_t)number(reader, "a dim's number", 3));
		expect(reader, "=");
		insn->imm32 = htole32((uint32_t)number(reader, "a dim", UINT16_MAX));
	} else if (accept(reader, "out")) {
		insn->subop = NPU_TDSET_WINDOW_OUT;
		expect(reader, "=");
		high = (uint32_t)number(reader, "a height", UINT16_MAX) << 16;
		insn->imm32 = htole32(high | (uint32_t)number(reader, "a width", UINT16_MAX));
	} else {
		insn->subop = NPU_TDSET_WINDOW_ORIGIN;
		expect(reader, "origin");
		expect(reader, "=");
		high = signed_number(reader, "an origin", 16) << 16;
		insn->imm32 = htole32(high | signed_number(reader, "an origin", 16));
	}
}

static void engine(struct reader *reader)
{
	struct word word = next(reader);
	unsigned int i;

	for (i = 0; i < NPU_ENGINE_COUNT; i++) {
		if (!is(word, npu_isa_engine_name(i)))
			continue;
		reader->insn.subop = (uint8_t)i;
		return;
	}
	fail(reader,
	     "an engine is front, dma0, dma1, mac, out, vector or layout, not '%.*s'",
	     shown(word), word.text);
}

/* The parts of a mnemonic behind its first point. */
struct suffixes {
	const char *at, *end;
};

static struct word suffix(struct suffixes *suffixes)
{
	struct word word = { suffixes->at, 0 };

	while (suffixes->at < suffixes->end && *suffixes->at != '.')
		suffixes->at++;
	word.length = (size_t)(suffixes->at - word.text);
	if (suffixes->at < suffixes->end)
		suffixes->at++;
	return word;
}

static void mac(struct reader *reader, struct suffixes suffixes)
{
	struct npu_insn *insn = &reader->insn;
	struct word word = suffix(&suffixes);
	unsigned int i;

	if (is(word, "m"))
		insn->subop = NPU_MAC_SHAPE_M;
	else if (is(word, "s"))
		insn->subop = NPU_MAC_SHAPE_S;
	else if (is(word, "v"))
		insn->subop = NPU_MAC_SHAPE_V;
	else
		fail(reader, "the shape of mac is .m, .s or .v");
	while (suffixes.at < suffixes.end) {
		word = suffix(&suffixes);
		if (is(word, "resume"))
			insn->subop |= NPU_MAC_RESUME;
		else if (is(word, "half1"))
			insn->subop |= NPU_MAC_HALF;
		else
			fail(reader, "mac knows .resume and .half1, not '.%.*s'", shown(word),
			     word.text);
	}
	for (i = 0; i < 3; i++)
		insn->src[i] = operand(reader, false);
	insn->imm16 = htole16((uint16_t)field(reader, "position", UINT16_MAX));
	insn->imm32 = htole32((uint32_t)field(reader, "channels", UINT32_MAX));
}

static void out(struct reader *reader, struct suffixes suffixes)
{
	struct npu_insn *insn = &reader->insn;
	struct word word = suffix(&suffixes);
	unsigned int i;

	if (is(word, "fp"))
		insn->subop = NPU_OUT_SUM_FP;
	else if (is(word, "int32"))
		insn->subop = NPU_OUT_SUM_INT32;
	else if (is(word, "int64"))
		insn->subop = NPU_OUT_SUM_INT64;
	else
		fail(reader, "the sums of out are .fp, .int32 or .int64");
	while (suffixes.at < suffixes.end) {
		word = suffix(&suffixes);
		if (is(word, "half1"))
			insn->subop |= NPU_OUT_HALF;
		else
			fail(reader, "out knows .half1, not '.%.*s'", shown(word), word.text);
	}
	insn->dst = operand(reader, false);
	for (i = 0; i < 3; i++)
		insn->src[i] = operand(reader, true);
	insn->imm16 = htole16((uint16_t)field(reader, "position", UINT16_MAX));
}

static void vec(struct reader *reader, struct suffixes suffixes)
{
	struct npu_insn *insn = &reader->insn;
	struct word word = suffix(&suffixes);
	unsigned int i;

	for (i = 0; i <= UINT8_MAX; i++)
		if (npu_isa_vec_name(i) && is(word, npu_isa_vec_name(i)))
			break;
	if (i > UINT8_MAX || suffixes.at < suffixes.end)
		fail(reader, "'%.*s' is no operation of vec", shown(word), word.text);
	insn->subop = (uint8_t)i;
	insn->dst = operand(reader, false);
	for (i = 0; i < 3; i++)
		insn->src[i] = value_operand(reader);
	if (accept(reader, "reduce"))
		insn->imm16 = htole16((uint16_t)number(reader, "a mask of dims", UINT16_MAX));
}

static void dma(struct reader *reader, struct suffixes suffixes)
{
	struct npu_insn *insn = &reader->insn;
	struct word word = suffix(&suffixes);

	if (is(word, "1"))
		insn->subop = 1;
	else if (!is(word, "0"))
		fail(reader, "the channel of dma is .0 or .1");
	insn->dst = operand(reader, false);
	insn->src[0] = operand(reader, false);
	if (accept(reader, "multicast"))
		insn->imm16 = htole16((uint16_t)number(reader, "a mask of clusters", UINT16_MAX));
}

static void instruction(struct reader *reader, struct word mnemonic, struct suffixes suffixes)
{
	struct npu_insn *insn = &reader->insn;
	unsigned int opcode;

	for (opcode = 0; opcode <= UINT8_MAX; opcode++)
		if (npu_isa_opcode_name(opcode) && is(mnemonic, npu_isa_opcode_name(opcode)))
			break;
	insn->opcode = (uint8_t)opcode;
	switch (opcode) {
	case NPU_OP_LDTD:
		descriptor(reader);
		return;
	case NPU_OP_TDSET:
		tdset(reader);
		return;
	case NPU_OP_LOOP:
		insn->imm32 = htole32((uint32_t)number(reader, "a trip count", UINT32_MAX));
		return;
	case NPU_OP_SYNC:
		engine(reader);
		return;
	case NPU_OP_MARK:
		engine(reader);
		insn->imm32 = htole32((uint32_t)number(reader, "a mark's index", UINT32_MAX));
		return;
	case NPU_OP_DMA:
		dma(reader, suffixes);
		return;
	case NPU_OP_MAC:
		mac(reader, suffixes);
		return;
	case NPU_OP_OUT:
		out(reader, suffixes);
		return;
	case NPU_OP_VEC:
		vec(reader, suffixes);
		return;
	case NPU_OP_LAYOUT:
		insn->dst = operand(reader, false);
		insn->src[0] = operand(reader, false);
		return;
	case NPU_OP_END:
	case NPU_OP_ENDLOOP:
		return;
	case NPU_OP_BARRIER:
		if (accept(reader, "point"))
			insn->imm32 = htole32((uint32_t)number(reader, "a table's offset",
							       UINT32_MAX));
		return;
	case NPU_OP_POINT:
		insn->imm32 = htole32((uint32_t)number(reader, "a table's offset", UINT32_MAX));
		return;
	default:
		fail(reader, "'%.*s' is no instruction", shown(mnemonic), mnemonic.text);
	}
}

static int read_line(struct reader *reader, uint8_t code[48])
{
	struct npu_insn *insn = &reader->insn;
	struct word word = next(reader);
	struct word mnemonic = word;
	struct suffixes suffixes = { word.text + word.length, word.text + word.length };
	size_t point;

	if (!word.length)
		return 0;
	if (is(word, ".word")) {
		words(reader, code, NPU_INSN_BYTES / 4);
		return NPU_INSN_BYTES;
	}
	for (point = 0; point < word.length && word.text[point] != '.'; point++)
		;
	if (point < word.length) {
		mnemonic.length = point;
		suffixes.at = word.text + point + 1;
	}
	insn->dst = NPU_TD_NONE;
	memset(insn->src, NPU_TD_NONE, sizeof(insn->src));
	instruction(reader, mnemonic, suffixes);
	if (suffixes.end != suffixes.at && insn->opcode != NPU_OP_DMA &&
	    insn->opcode != NPU_OP_MAC && insn->opcode != NPU_OP_OUT && insn->opcode != NPU_OP_VEC)
		fail(reader, "'%.*s' takes no '.'", shown(mnemonic), mnemonic.text);
	token_list(reader, "wait", insn->wait);
	token_list(reader, "release", insn->release);
	memcpy(code, insn, NPU_INSN_BYTES);
	if (insn->opcode != NPU_OP_LDTD)
		return NPU_INSN_BYTES;
	memcpy(code + NPU_INSN_BYTES, reader->descriptor, NPU_TD_BYTES);
	return NPU_INSN_BYTES + NPU_TD_BYTES;
}

int npu_isa_assemble_line(const char *line, uint8_t code[48], char *error, size_t error_bytes)
{
	struct reader reader = {
		.at = line,
		.end = line + strcspn(line, ";\n"),	/* a comment ends the line */
		.error = error,
		.error_bytes = error_bytes,
	};
	struct word rest;
	int bytes;

	error[0] = '\0';
	bytes = read_line(&reader, code);
	rest = peek(&reader);
	if (rest.length)
		fail(&reader, "'%.*s' is not understood here", shown(rest), rest.text);
	return reader.failed ? -EINVAL : bytes;
}

int npu_isa_assemble(const char *text, uint8_t *code, size_t capacity, size_t *bytes,
		     char *error, size_t error_bytes)
{
	unsigned int line = 1;

	*bytes = 0;
	for (;;) {
		uint8_t instruction_code[48];
		char message[256];
		int size = npu_isa_assemble_line(text, instruction_code, message,
						 sizeof(message));

		if (size < 0) {
			snprintf(error, error_bytes, "line %u: %s", line, message);
			return size;
		}
		if ((size_t)size > capacity - *bytes) {
			snprintf(error, error_bytes,
				 "line %u: the stream is longer than the %zu bytes there is room for",
				 line, capacity);
			return -ENOSPC;
		}
		memcpy(code + *bytes, instruction_code, (size_t)size);
		*bytes += (size_t)size;
		text += strcspn(text, "\n");
		if (!*text)
			break;
		text++;
		line++;
	}
	error[0] = '\0';
	return 0;
}
