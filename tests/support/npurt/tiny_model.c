// SPDX-License-Identifier: MIT
/* A compiled model made by hand: see tiny_model.h. Little-endian hosts only, as the tests. */
#include "tiny_model.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu/npu_binary.h"
#include "npu/npu_isa.h"
#include "npu/npu_packet.h"

#define CAPACITY (64u << 10)
#define TEXT_ADDRESS 0x1000u

/* Bytes, growing at the end. */
struct writer {
	unsigned char *bytes;
	size_t used;
};

static size_t put(struct writer *writer, const void *data, size_t bytes)
{
	size_t at = writer->used;

	if (bytes > CAPACITY - writer->used) {
		fprintf(stderr, "tiny_model: larger than %u bytes\n", CAPACITY);
		exit(1);
	}
	memcpy(writer->bytes + at, data, bytes);
	writer->used += bytes;
	return at;
}

static size_t put_string(struct writer *writer, const char *text)
{
	return put(writer, text, strlen(text) + 1);
}

static void align(struct writer *writer, size_t to)
{
	while (writer->used % to)
		put(writer, "", 1);
}

/* ------------------------------------------------------------------ program */

static uint16_t half_of_small(int value)
{
	uint16_t sign = value < 0 ? 0x8000 : 0, exponent = 15;
	unsigned int mantissa = (unsigned int)abs(value) << 10;

	if (!value)
		return 0;
	while (mantissa >= 2048) {
		mantissa >>= 1;
		exponent++;
	}
	return (uint16_t)(sign | exponent << 10 | (mantissa - 1024));
}

float tiny_weight(uint32_t index)
{
	return (float)(index % 8) - 3.0f;
}

static void load_descriptor(struct writer *text, uint8_t reg, uint64_t space, uint64_t argument,
			    uint64_t address, uint32_t elements)
{
	struct npu_insn insn = { .opcode = NPU_OP_LDTD, .dst = reg, .src = { 0xff, 0xff, 0xff } };
	struct npu_td td = {
		.word0 = (address & NPU_TD_ADDRESS_MASK) | argument << NPU_TD_ARG_SHIFT |
			 space << NPU_TD_SPACE_SHIFT |
			 (uint64_t)NPU_DTYPE_FP16 << NPU_TD_DTYPE_SHIFT,
		.dim = { 1, 1, 1, (uint16_t)elements },
		.stride = { elements * 2, elements * 2, elements * 2, 2 },
	};

	put(text, &insn, sizeof(insn));
	put(text, &td, sizeof(td));
}

enum {
	REG_X = 0,
	REG_LOCAL_X,
	REG_W,
	REG_LOCAL_W,
	REG_Y,
	REG_COPY
};

static void emit(struct writer *text, struct npu_insn insn)
{
	put(text, &insn, sizeof(insn));
}

#define NONE NPU_TD_NONE

static void emit_slow_loop(struct writer *text, uint32_t trips)
{
	emit(text, (struct npu_insn){ .opcode = NPU_OP_LOOP, .dst = NONE,
				      .src = { NONE, NONE, NONE }, .imm32 = trips });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_VEC, .subop = NPU_VEC_COPY,
				      .dst = REG_COPY, .src = { REG_COPY, NONE, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_ENDLOOP, .dst = NONE,
				      .src = { NONE, NONE, NONE } });
}

static void emit_double(struct writer *text, const struct tiny_options *options)
{
	const uint32_t two = 0x40000000;

	if (options->kind == TINY_SLOW)
		emit_slow_loop(text, options->trips);
	emit(text, (struct npu_insn){ .opcode = NPU_OP_DMA, .release = { NPU_TOKEN(0) },
				      .dst = REG_LOCAL_X, .src = { REG_X, NONE, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_DMA, .release = { NPU_TOKEN(1) },
				      .dst = REG_LOCAL_W, .src = { REG_W, NONE, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_VEC, .subop = NPU_VEC_MUL,
				      .wait = { NPU_TOKEN(0) },
				      .release = { NPU_TOKEN(2), NPU_TOKEN(3) },
				      .dst = REG_LOCAL_X,
				      .src = { REG_LOCAL_X, NPU_TD_IMMEDIATE, NONE },
				      .imm32 = two });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_MARK, .subop = NPU_ENGINE_VECTOR,
				      .wait = { NPU_TOKEN(3) }, .dst = NONE,
				      .src = { NONE, NONE, NONE }, .imm32 = 0 });
}

static void emit_shift(struct writer *text, const struct tiny_options *options)
{
	if (options->kind == TINY_ILLEGAL)
		emit(text, (struct npu_insn){ .opcode = 0xee });
	if (options->kind == TINY_HANGS)
		emit(text, (struct npu_insn){ .opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_FRONT,
					      .wait = { NPU_TOKEN(9) }, .dst = NONE,
					      .src = { NONE, NONE, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_VEC, .subop = NPU_VEC_ADD,
				      .wait = { NPU_TOKEN(1), NPU_TOKEN(2) },
				      .release = { NPU_TOKEN(4) }, .dst = REG_LOCAL_X,
				      .src = { REG_LOCAL_X, REG_LOCAL_W, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_DMA, .wait = { NPU_TOKEN(4) },
				      .release = { NPU_TOKEN(5) }, .dst = REG_Y,
				      .src = { REG_LOCAL_X, NONE, NONE } });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_MARK, .subop = NPU_ENGINE_DMA0,
				      .wait = { NPU_TOKEN(5) }, .dst = NONE,
				      .src = { NONE, NONE, NONE }, .imm32 = 1 });
	emit(text, (struct npu_insn){ .opcode = NPU_OP_END, .dst = NONE,
				      .src = { NONE, NONE, NONE } });
}

static void put_text(struct writer *file, struct tiny_model *model,
		     const struct tiny_options *options)
{
	uint32_t n = options->elements;
	uint64_t y_argument = NPU_ARG_FIRST_IO + 1, y_offset = 0;
	struct npu_program_header header = {
		.magic = NPU_PROGRAM_MAGIC,
		.version = NPU_PROGRAM_VERSION,
		.clusters = 1,
		.dma_channels = 1,
		.local_bytes = 6 * n,
		.entry = { sizeof(header) },
	};

	if (options->kind == TINY_STRAYS)
		y_offset = 1u << 30;
	if (options->kind == TINY_WRITES_WEIGHTS)
		y_argument = NPU_ARG_WEIGHTS;
	model->text = put(file, &header, sizeof(header));
	load_descriptor(file, REG_X, NPU_SPACE_DRAM, NPU_ARG_FIRST_IO, 0, n);
	load_descriptor(file, REG_LOCAL_X, NPU_SPACE_LOCAL, 0, 0, n);
	load_descriptor(file, REG_W, NPU_SPACE_DRAM, NPU_ARG_WEIGHTS, 0, n);
	load_descriptor(file, REG_LOCAL_W, NPU_SPACE_LOCAL, 0, 2 * n, n);
	load_descriptor(file, REG_Y, NPU_SPACE_DRAM, y_argument, y_offset, n);
	load_descriptor(file, REG_COPY, NPU_SPACE_LOCAL, 0, 4 * n, n);
	emit_double(file, options);
	model->shift_offset = file->used - model->text;
	emit_shift(file, options);
	model->text_bytes = file->used - model->text;
	header.bytes = (uint32_t)model->text_bytes;
	memcpy(file->bytes + model->text, &header, sizeof(header));
}

static void put_rodata(struct writer *file, struct tiny_model *model, uint32_t elements)
{
	uint32_t i;

	model->rodata = file->used;
	for (i = 0; i < elements; i++) {
		uint16_t half = half_of_small((int)tiny_weight(i));

		put(file, &half, sizeof(half));
	}
	model->rodata_bytes = file->used - model->rodata;
}

/* ------------------------------------------------------------ note and tables */

static void put_note(struct writer *file, struct tiny_model *model, const char *target)
{
	Elf64_Nhdr header = { 4, sizeof(struct npu_note), NPU_NOTE_TYPE_ABI };
	struct npu_note note = {
		.abi_major = NPU_BINARY_ABI_MAJOR,
		.abi_minor = NPU_BINARY_ABI_MINOR,
	};

	snprintf(note.target, sizeof(note.target), "%s", target);
	memset(note.build_id, 0xb1, sizeof(note.build_id));
	model->note = put(file, &header, sizeof(header));
	put(file, "NPU", 4);
	put(file, &note, sizeof(note));
}

static struct npu_meta_tensor tensor(uint32_t name, uint32_t argument, uint32_t elements)
{
	return (struct npu_meta_tensor){
		.name = name,
		.argument = argument,
		.host_type = 1,
		.device_dtype = NPU_DTYPE_FP16,
		.rank = 2,
		.dims = { 1, elements },
		.scale = 0x3f800000,
		.bytes = 2ull * elements,
	};
}

static void put_meta(struct writer *file, struct tiny_model *model, uint32_t elements)
{
	/* Offsets:                    0     5  7  9       16    23 */
	static const char strings[] = "tiny\0x\0y\0double\0shift\0Mul\0Add";
	struct npu_meta_tensor tensors[2] = {
		tensor(5, NPU_ARG_FIRST_IO, elements),
		tensor(7, NPU_ARG_FIRST_IO + 1, elements),
	};
	struct npu_meta_layer layers[2] = {
		{ .name = 9, .op = 22, .mark = 0, .macs = 0, .predicted_cycles = 11 },
		{ .name = 16, .op = 26, .mark = 1, .macs = 0, .predicted_cycles = 12 },
	};
	struct npu_meta_header header = {
		.magic = NPU_META_MAGIC,
		.version = NPU_META_VERSION,
		.inputs = 1,
		.outputs = 1,
		.tensors_offset = sizeof(header),
		.layers = 2,
		.layers_offset = sizeof(header) + sizeof(tensors),
		.strings_offset = sizeof(header) + sizeof(tensors) + sizeof(layers),
		.strings_bytes = sizeof(strings),
		.macs = 0,
		.predicted_cycles = 23,
		.roofline_cycles = 5,
		.floor_cycles = 4,
		.clusters = 1,
		.precision = NPU_DTYPE_FP16,
	};

	model->meta = put(file, &header, sizeof(header));
	put(file, tensors, sizeof(tensors));
	put(file, layers, sizeof(layers));
	put(file, strings, sizeof(strings));
	model->meta_bytes = file->used - model->meta;
}

static void put_symbols(struct writer *file, struct tiny_model *model)
{
	Elf64_Sym symbols[3] = {
		{ 0 },
		{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		  .st_shndx = TINY_TEXT,
		  .st_value = TEXT_ADDRESS + sizeof(struct npu_program_header) },
		{ .st_name = 17, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		  .st_shndx = TINY_TEXT, .st_value = TEXT_ADDRESS + model->shift_offset },
	};

	model->symtab = put(file, symbols, sizeof(symbols));
	model->symtab_bytes = sizeof(symbols);
	model->strtab = put_string(file, "");
	put_string(file, "double.cluster0");
	put_string(file, "shift.cluster0");
	model->strtab_bytes = file->used - model->strtab;
}

/* -------------------------------------------------------------------- frame */

static void put_sections(struct writer *file, struct tiny_model *model, uint32_t scratch)
{
	Elf64_Shdr sections[TINY_SECTIONS] = {
		[TINY_TEXT] = { 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_ADDRESS,
				model->text, model->text_bytes, 0, 0, 64, 0 },
		[TINY_RODATA] = { 7, SHT_PROGBITS, SHF_ALLOC, 0x8000, model->rodata,
				  model->rodata_bytes, 0, 0, 4096, 0 },
		[TINY_BSS] = { 15, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x100000, model->rodata,
			       scratch, 0, 0, 4096, 0 },
		[TINY_NOTE] = { 20, SHT_NOTE, 0, 0, model->note, 16 + sizeof(struct npu_note), 0,
				0, 4, 0 },
		[TINY_META] = { 30, SHT_PROGBITS, 0, 0, model->meta, model->meta_bytes, 0, 0, 8,
				0 },
		[TINY_SYMTAB] = { 40, SHT_SYMTAB, 0, 0, model->symtab, model->symtab_bytes,
				  TINY_STRTAB, 3, 8, sizeof(Elf64_Sym) },
		[TINY_STRTAB] = { 48, SHT_STRTAB, 0, 0, model->strtab, model->strtab_bytes, 0, 0,
				  1, 0 },
		[TINY_SHSTRTAB] = { 56, SHT_STRTAB, 0, 0, 0, 0, 0, 0, 1, 0 },
	};
	static const char names[] =
		"\0.text\0.rodata\0.bss\0.note.npu\0.npu.meta\0.symtab\0.strtab\0.shstrtab";

	model->names = put(file, names, sizeof(names));
	model->names_bytes = sizeof(names);
	sections[TINY_SHSTRTAB].sh_offset = model->names;
	sections[TINY_SHSTRTAB].sh_size = sizeof(names);
	align(file, 8);
	model->sections = put(file, sections, sizeof(sections));
}

static void fill_front(struct writer *file, struct tiny_model *model, uint32_t scratch)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = NPU_ELF_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = model->segments,
		.e_shoff = model->sections,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = TINY_SECTIONS,
		.e_shstrndx = TINY_SHSTRTAB,
	};
	Elf64_Phdr segments[3] = {
		{ PT_LOAD, PF_R | PF_X, model->text, TEXT_ADDRESS, TEXT_ADDRESS,
		  model->text_bytes, model->text_bytes, 64 },
		{ PT_LOAD, PF_R, model->rodata, 0x8000, 0x8000, model->rodata_bytes,
		  model->rodata_bytes, 4096 },
		{ PT_LOAD, PF_R | PF_W, model->rodata, 0x100000, 0x100000, 0, scratch, 4096 },
	};

	memcpy(file->bytes, &header, sizeof(header));
	memcpy(file->bytes + model->segments, segments, sizeof(segments));
}

void tiny_model_make(struct tiny_model *model, const struct tiny_options *from)
{
	struct tiny_options options = *from;
	struct writer file = { .bytes = calloc(1, CAPACITY) };

	memset(model, 0, sizeof(*model));
	if (!file.bytes)
		exit(1);
	if (!options.elements)
		options.elements = 64;
	file.used = sizeof(Elf64_Ehdr);
	model->segments = file.used;
	file.used += 3 * sizeof(Elf64_Phdr);
	align(&file, 64);
	put_text(&file, model, &options);
	align(&file, 4096);
	put_rodata(&file, model, options.elements);
	align(&file, 8);
	put_note(&file, model, options.target ? options.target : "npu-v3");
	align(&file, 8);
	put_meta(&file, model, options.elements);
	align(&file, 8);
	put_symbols(&file, model);
	put_sections(&file, model, options.scratch);
	fill_front(&file, model, options.scratch);
	model->bytes = realloc(file.bytes, file.used);
	model->size = file.used;
	if (!model->bytes)
		exit(1);
}

void tiny_model_free(struct tiny_model *model)
{
	free(model->bytes);
	memset(model, 0, sizeof(*model));
}
