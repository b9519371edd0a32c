// SPDX-License-Identifier: MIT
/*
 * Disassembler. See isa_text.h. A line is what the assembler makes the same bytes of; this is
 * checked for each line, and bytes without such a line are written as numbers.
 */
#include "isa_text.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "npu/npu_isa.h"

struct writer {
	char *text;
	size_t size, used;
};

static void put(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct writer *writer, const char *format, ...)
{
	va_list arguments;
	int length;

	if (writer->used + 1 >= writer->size)
		return;
	va_start(arguments, format);
	length = vsnprintf(writer->text + writer->used, writer->size - writer->used, format,
			   arguments);
	va_end(arguments);
	if (length < 0)
		return;
	writer->used += (size_t)length;
	if (writer->used >= writer->size)
		writer->used = writer->size - 1;
}

static void put_operand(struct writer *writer, const struct npu_insn *insn, uint8_t operand)
{
	if (operand == NPU_TD_NONE)
		put(writer, "-");
	else if (operand == NPU_TD_IMMEDIATE)
		put(writer, "#0x%08x", le32toh(insn->imm32));
	else
		put(writer, "d%u", operand);
}

/* dst and the first `sources` sources; trailing absent ones only where they may be present. */
static void put_operands(struct writer *writer, const struct npu_insn *insn, bool dst,
			 unsigned int sources)
{
	const char *separator = " ";
	unsigned int i;

	if (dst) {
		put(writer, " ");
		put_operand(writer, insn, insn->dst);
		separator = ", ";
	}
	for (i = 0; i < sources; i++) {
		put(writer, "%s", separator);
		put_operand(writer, insn, insn->src[i]);
		separator = ", ";
	}
}

static void put_token_list(struct writer *writer, const char *word, const __u8 tokens[2])
{
	unsigned int i;

	if (!tokens[0] && !tokens[1])
		return;
	put(writer, " %s", word);
	for (i = 0; i < 2; i++) {
		unsigned int id = tokens[i] & NPU_TOKEN_ID_MASK;

		if (!tokens[i]) {
			if (!i)
				put(writer, " -");
			continue;
		}
		if (id < NPU_TOKEN_LOCAL_COUNT)
			put(writer, " t%u", id);
		else
			put(writer, " g%u", id - NPU_TOKEN_LOCAL_COUNT);
	}
}

static void put_tdset(struct writer *writer, const struct npu_insn *insn)
{
	uint32_t value = le32toh(insn->imm32);

	put_operands(writer, insn, true, 0);
	switch (insn->subop) {
	case NPU_TDSET_ADD_ADDRESS:
		put(writer, ", address += %d", (int32_t)value);
		break;
	case NPU_TDSET_DIM:
		put(writer, ", dim %u = %u", le16toh(insn->imm16), value);
		break;
	case NPU_TDSET_WINDOW_OUT:
		put(writer, ", out = %u %u", value >> 16, value & 0xffff);
		break;
	default:
		put(writer, ", origin = %d %d", (int16_t)(value >> 16), (int16_t)(value & 0xffff));
	}
}

static void put_mac(struct writer *writer, const struct npu_insn *insn)
{
	static const char shapes[] = "msv?";

	put(writer, ".%c", shapes[insn->subop & NPU_MAC_SHAPE_MASK]);
	if (insn->subop & NPU_MAC_RESUME)
		put(writer, ".resume");
	if (insn->subop & NPU_MAC_HALF)
		put(writer, ".half1");
	put_operands(writer, insn, false, 3);
	put(writer, " position %u channels %u", le16toh(insn->imm16), le32toh(insn->imm32));
}

static void put_out(struct writer *writer, const struct npu_insn *insn)
{
	static const char *const sums[] = { "fp", "int32", "int64", "?" };

	put(writer, ".%s", sums[insn->subop & NPU_OUT_SUM_MASK]);
	if (insn->subop & NPU_OUT_HALF)
		put(writer, ".half1");
	put_operands(writer, insn, true, 3);
	put(writer, " position %u", le16toh(insn->imm16));
}

static void put_vec(struct writer *writer, const struct npu_insn *insn)
{
	const char *name = npu_isa_vec_name(insn->subop);

	put(writer, ".%s", name ? name : "?");
	put_operands(writer, insn, true, 3);
	if (insn->imm16)
		put(writer, " reduce 0x%x", le16toh(insn->imm16));
}

static void put_instruction(struct writer *writer, const struct npu_insn *insn)
{
	const char *name = npu_isa_opcode_name(insn->opcode);
	const char *engine = npu_isa_engine_name(insn->subop);

	put(writer, "%s", name ? name : "?");
	switch (insn->opcode) {
	case NPU_OP_LDTD:
		put_operands(writer, insn, true, 0);
		break;
	case NPU_OP_TDSET:
		put_tdset(writer, insn);
		break;
	case NPU_OP_LOOP:
		put(writer, " %u", le32toh(insn->imm32));
		break;
	case NPU_OP_SYNC:
		put(writer, " %s", engine ? engine : "?");
		break;
	case NPU_OP_BARRIER:
		if (insn->imm32)
			put(writer, " point 0x%x", le32toh(insn->imm32));
		break;
	case NPU_OP_POINT:
		put(writer, " 0x%x", le32toh(insn->imm32));
		break;
	case NPU_OP_MARK:
		put(writer, " %s %u", engine ? engine : "?", le32toh(insn->imm32));
		break;
	case NPU_OP_DMA:
		put(writer, ".%u", insn->subop & 1);
		put_operands(writer, insn, true, 1);
		if (insn->imm16)
			put(writer, " multicast 0x%x", le16toh(insn->imm16));
		break;
	case NPU_OP_MAC:
		put_mac(writer, insn);
		break;
	case NPU_OP_OUT:
		put_out(writer, insn);
		break;
	case NPU_OP_VEC:
		put_vec(writer, insn);
		break;
	case NPU_OP_LAYOUT:
		put_operands(writer, insn, true, 1);
		break;
	}
	put_token_list(writer, "wait", insn->wait);
	put_token_list(writer, "release", insn->release);
}

/* -------------------------------------------------------------------- descriptors */

static void put_address(struct writer *writer, uint64_t word)
{
	static const char *const spaces[] = { "arg", "global", "local", "?" };
	unsigned int space = (word >> NPU_TD_SPACE_SHIFT) & NPU_TD_SPACE_MASK;
	unsigned int argument = (word >> NPU_TD_ARG_SHIFT) & NPU_TD_ARG_MASK;
	uint64_t address = word & NPU_TD_ADDRESS_MASK;
	uint64_t negative = (NPU_TD_ADDRESS_MASK + 1 - address) & NPU_TD_ADDRESS_MASK;

	put(writer, " %s", spaces[space]);
	if (space == NPU_SPACE_DRAM)
		put(writer, "%u", argument);
	if (space == NPU_SPACE_DRAM && address >> (NPU_TD_ADDRESS_BITS - 1))
		put(writer, "-0x%llx", (unsigned long long)negative);
	else
		put(writer, "+0x%llx", (unsigned long long)address);
}

static void put_tensor(struct writer *writer, const uint8_t *raw)
{
	struct npu_td td;
	const char *dtype;
	unsigned int i, zero;
	uint64_t word;

	memcpy(&td, raw, sizeof(td));
	word = le64toh(td.word0);
	dtype = npu_isa_dtype_name((word >> NPU_TD_DTYPE_SHIFT) & NPU_TD_DTYPE_MASK);
	zero = (word >> NPU_TD_ZERO_SHIFT) & NPU_TD_ZERO_MASK;
	put(writer, ", tensor");
	put_address(writer, word);
	put(writer, " %s", dtype ? dtype : "?");
	if (zero)
		put(writer, " zero 0x%02x", zero);
	put(writer, " dims");
	for (i = 0; i < 4; i++)
		put(writer, " %u", le16toh(td.dim[i]));
	put(writer, " strides");
	for (i = 0; i < 4; i++)
		put(writer, " %d", (int32_t)le32toh(td.stride[i]));
}

static void put_window(struct writer *writer, const uint8_t *raw)
{
	struct npu_window window;

	memcpy(&window, raw, sizeof(window));
	put(writer, ", window out %u %u kernel %u %u stride %u %u dilation %u %u origin %d %d",
	    le16toh(window.out_height), le16toh(window.out_width),
	    le16toh(window.kernel_height), le16toh(window.kernel_width),
	    le16toh(window.stride_y), le16toh(window.stride_x), le16toh(window.dilation_y),
	    le16toh(window.dilation_x), (int16_t)le16toh(window.origin_y),
	    (int16_t)le16toh(window.origin_x));
}

static void put_stage(struct writer *writer, const uint8_t *raw)
{
	struct npu_stage stage;

	memcpy(&stage, raw, sizeof(stage));
	put(writer, ", stage activation %u flags 0x%x low 0x%08x high 0x%08x", stage.activation,
	    stage.flags, le32toh(stage.clamp_low), le32toh(stage.clamp_high));
	put(writer, " table 0x%x scale 0x%x multiplier %u shift %u", le32toh(stage.table_address),
	    le32toh(stage.scale_address), le16toh(stage.residual_multiplier),
	    stage.residual_shift);
}

static void put_words(struct writer *writer, const uint8_t *raw, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		uint32_t word;

		memcpy(&word, raw + 4 * (size_t)i, sizeof(word));
		put(writer, " 0x%08x", le32toh(word));
	}
}

enum npu_isa_format npu_isa_guess_format(const uint8_t *code, size_t bytes, size_t offset,
					 uint8_t target)
{
	while (offset < bytes && bytes - offset >= NPU_INSN_BYTES) {
		struct npu_insn insn;

		memcpy(&insn, code + offset, sizeof(insn));
		if (insn.opcode == NPU_OP_MAC && insn.src[2] == target)
			return NPU_ISA_FORMAT_WINDOW;
		if (insn.opcode == NPU_OP_OUT && insn.src[1] == target)
			return NPU_ISA_FORMAT_STAGE;
		if (insn.opcode == NPU_OP_TDSET && insn.dst == target &&
		    insn.subop >= NPU_TDSET_WINDOW_OUT)
			return NPU_ISA_FORMAT_WINDOW;
		if (insn.opcode == NPU_OP_LDTD && insn.dst == target)
			break;
		if (insn.opcode >= NPU_OP_DMA &&
		    (insn.dst == target || insn.src[0] == target || insn.src[1] == target ||
		     insn.src[2] == target))
			break;
		offset += NPU_INSN_BYTES;
		if (insn.opcode == NPU_OP_LDTD)
			offset += NPU_TD_BYTES;
	}
	return NPU_ISA_FORMAT_TENSOR;
}

static bool assembles_to(const char *text, const uint8_t *code, int bytes)
{
	uint8_t again[48];
	char error[160];

	return npu_isa_assemble_line(text, again, error, sizeof(error)) == bytes &&
	       !memcmp(again, code, (size_t)bytes);
}

/* LDTD and its descriptor: in the guessed format, as numbers, or not at all. */
static bool disassemble_load(const struct npu_insn *insn, const uint8_t *code, size_t bytes,
			     size_t offset, struct writer *writer)
{
	const uint8_t *raw = code + offset + NPU_INSN_BYTES;
	struct writer begun;

	put_operands(writer, insn, true, 0);
	begun = *writer;
	switch (npu_isa_guess_format(code, bytes, offset + NPU_INSN_BYTES + NPU_TD_BYTES,
				     insn->dst)) {
	case NPU_ISA_FORMAT_WINDOW:
		put_window(writer, raw);
		break;
	case NPU_ISA_FORMAT_STAGE:
		put_stage(writer, raw);
		break;
	default:
		put_tensor(writer, raw);
	}
	put_token_list(writer, "wait", insn->wait);
	put_token_list(writer, "release", insn->release);
	if (assembles_to(writer->text, code + offset, NPU_INSN_BYTES + NPU_TD_BYTES))
		return true;
	*writer = begun;
	put(writer, ", raw");
	put_words(writer, raw, NPU_TD_BYTES / 4);
	put_token_list(writer, "wait", insn->wait);
	put_token_list(writer, "release", insn->release);
	return assembles_to(writer->text, code + offset, NPU_INSN_BYTES + NPU_TD_BYTES);
}

int npu_isa_disassemble(const uint8_t *code, size_t bytes, size_t offset, char *text,
			size_t text_bytes)
{
	struct writer writer = { .text = text, .size = text_bytes };
	struct npu_insn insn;

	if (offset > bytes || bytes - offset < NPU_INSN_BYTES)
		return -EINVAL;
	memcpy(&insn, code + offset, sizeof(insn));
	if (insn.opcode == NPU_OP_LDTD) {
		if (bytes - offset >= NPU_INSN_BYTES + NPU_TD_BYTES) {
			put(&writer, "ldtd");
			if (disassemble_load(&insn, code, bytes, offset, &writer))
				return NPU_INSN_BYTES + NPU_TD_BYTES;
		}
	} else {
		put_instruction(&writer, &insn);
		if (assembles_to(text, code + offset, NPU_INSN_BYTES))
			return NPU_INSN_BYTES;
	}
	writer.used = 0;
	put(&writer, ".word");
	put_words(&writer, code + offset, NPU_INSN_BYTES / 4);
	return NPU_INSN_BYTES;
}
