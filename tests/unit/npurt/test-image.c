// SPDX-License-Identifier: MIT
/* The model loader: a good file is read right, and nothing in a bad one is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "npurt/tiny_model.h"

static const struct npurt_image_limits npu_v3 = {
	.config = "npu-v3",
	.clusters = 4,
	.dma_channels = 2,
	.local_bytes = 512 << 10,
	.global_bytes = 4 << 20,
};

/* Reads bytes from memory of exactly their size, so that the address sanitizer sees the end. */
static int read_bytes(struct npurt_image *image, const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	struct npurt_source source;
	int ret;

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	npurt_source_memory(&source, copy, size);
	ret = npurt_image_read(image, &source, &npu_v3);
	free(copy);
	return ret;
}

static void test_good(void **state)
{
	struct tiny_options options = { .elements = 96, .scratch = 12345 };
	struct tiny_model model;
	struct npurt_image image;

	(void)state;
	tiny_model_make(&model, &options);
	assert_int_equal(read_bytes(&image, model.bytes, model.size), 0);
	assert_int_equal(image.text.offset, model.text);
	assert_int_equal(image.text.bytes, model.text_bytes);
	assert_int_equal(image.rodata.offset, model.rodata);
	assert_int_equal(image.rodata.bytes, 192);
	assert_int_equal(image.bss.bytes, 12345);
	assert_string_equal(image.target, "npu-v3");
	assert_int_equal(image.build_id[31], 0xb1);
	assert_int_equal(image.abi, 0x10000);
	assert_string_equal(image.name, "tiny");
	assert_int_equal(image.inputs, 1);
	assert_int_equal(image.outputs, 1);
	assert_string_equal(image.tensors[0].name, "x");
	assert_int_equal(image.tensors[0].rank, 2);
	assert_int_equal(image.tensors[0].dims[1], 96);
	assert_int_equal(image.tensors[0].dims[7], 1);
	assert_int_equal(image.tensors[0].elements, 96);
	assert_int_equal(image.tensors[0].host_bytes, 384);
	assert_int_equal(image.tensors[0].device_bytes, 192);
	assert_string_equal(image.tensors[1].name, "y");
	assert_true(image.tensors[1].scale == 1.0f);
	assert_int_equal(image.layer_count, 2);
	assert_string_equal(image.layers[0].name, "double");
	assert_string_equal(image.layers[0].op, "Mul");
	assert_string_equal(image.layers[1].op, "Add");
	assert_int_equal(image.marks, 2);
	assert_int_equal(image.predicted_cycles, 23);
	assert_null(npurt_image_symbol_at(&image, 0));
	assert_string_equal(npurt_image_symbol_at(&image, 64), "double.cluster0");
	assert_string_equal(npurt_image_symbol_at(&image, model.shift_offset - 16),
			    "double.cluster0");
	assert_string_equal(npurt_image_symbol_at(&image, model.shift_offset), "shift.cluster0");
	npurt_image_release(&image);
	tiny_model_free(&model);
}

static void test_from_file(void **state)
{
	struct tiny_options options = { 0 };
	struct tiny_model model;
	struct npurt_image image;
	struct npurt_source source;
	char path[] = "/tmp/npurt-image-XXXXXX";
	int fd = mkstemp(path), pipes[2];

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	tiny_model_make(&model, &options);
	assert_int_equal(write(fd, model.bytes, model.size), (ssize_t)model.size);
	assert_int_equal(npurt_source_fd(&source, fd), 0);
	assert_int_equal(source.bytes, model.size);
	assert_int_equal(npurt_image_read(&image, &source, &npu_v3), 0);
	npurt_image_release(&image);
	/* It shrinks after it was opened. */
	assert_int_equal(ftruncate(fd, (off_t)model.meta), 0);
	assert_int_equal(npurt_image_read(&image, &source, &npu_v3), -ENOEXEC);
	npurt_image_release(&image);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(npurt_source_fd(&source, pipes[0]), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(npurt_source_fd(&source, pipes[0]), -EBADF);
	tiny_model_free(&model);
}

/* One field made wrong, and what must be said about it. */
struct damage {
	size_t offset, bytes;
	uint64_t value;
	int error;
	const char *words;	/* part of the sentence */
};

#define FIELD(base, type, member) \
	(base) + offsetof(type, member), sizeof(((type *)0)->member)
#define SECTION(number, member) \
	FIELD(model.sections + (number) * sizeof(Elf64_Shdr), Elf64_Shdr, member)
#define SEGMENT(number, member) \
	FIELD(model.segments + (number) * sizeof(Elf64_Phdr), Elf64_Phdr, member)
#define META(member) FIELD(model.meta, struct npu_meta_header, member)
#define TENSOR(number, member) \
	FIELD(model.meta + sizeof(struct npu_meta_header) + \
	      (number) * sizeof(struct npu_meta_tensor), struct npu_meta_tensor, member)
#define LAYER(member) \
	FIELD(model.meta + sizeof(struct npu_meta_header) + 2 * sizeof(struct npu_meta_tensor), \
	      struct npu_meta_layer, member)
#define PROGRAM(member) FIELD(model.text, struct npu_program_header, member)
#define NOTE(member) FIELD(model.note + 16, struct npu_note, member)
#define SYMBOL(member) FIELD(model.symtab + sizeof(Elf64_Sym), Elf64_Sym, member)
#define HEADER(member) FIELD(0, Elf64_Ehdr, member)

static void test_damage(void **state)
{
	struct tiny_options options = { .scratch = 4096 };
	struct tiny_model model;
	size_t i;

	(void)state;
	tiny_model_make(&model, &options);
	const struct damage damages[] = {
		{ 0, 1, 0x7e, -ENOEXEC, "does not start with an ELF header" },
		{ EI_CLASS, 1, ELFCLASS32, -ENOEXEC, "64-bit" },
		{ EI_DATA, 1, ELFDATA2MSB, -ENOEXEC, "little-endian" },
		{ HEADER(e_machine), EM_X86_64, -ENOEXEC, "machine 0x3e" },
		{ HEADER(e_type), ET_REL, -ENOEXEC, "EXEC" },
		{ HEADER(e_shentsize), 63, -ENOEXEC, "header size" },
		{ HEADER(e_shnum), 0, -ENOEXEC, "0 section headers" },
		{ HEADER(e_shnum), 65, -ENOEXEC, "65 section headers" },
		{ HEADER(e_phnum), 17, -ENOEXEC, "17 program headers" },
		{ HEADER(e_shoff), 12, -ENOEXEC, "not aligned" },
		{ HEADER(e_shoff), 0x7ffffffffffffff8, -ENOEXEC, "not lie inside" },
		{ HEADER(e_phoff), 0, -ENOEXEC, "not lie inside" },
		{ HEADER(e_shstrndx), 9, -ENOEXEC, "section names" },
		{ HEADER(e_shstrndx), TINY_TEXT, -ENOEXEC, "section names" },
		{ SECTION(TINY_META, sh_name), 4096, -ENOEXEC, "outside .shstrtab" },
		{ SECTION(TINY_META, sh_name), 1, -ENOEXEC, "second section" },
		{ SECTION(TINY_META, sh_name), 0, -ENOEXEC, "no section .npu.meta" },
		{ SECTION(TINY_META, sh_offset), UINT64_MAX - 4, -ENOEXEC, "end at" },
		{ SECTION(TINY_META, sh_size), UINT64_MAX - 4, -ENOEXEC, "end at" },
		{ SECTION(TINY_META, sh_addralign), 6, -ENOEXEC, "power of two" },
		{ SECTION(TINY_META, sh_offset), model.meta - 8, -ENOEXEC, "overlap" },
		{ SECTION(TINY_META, sh_type), SHT_NOBITS, -ENOEXEC, "type 8 of .npu.meta" },
		{ SECTION(TINY_TEXT, sh_flags), SHF_ALLOC, -ENOEXEC, "flags" },
		{ SECTION(TINY_TEXT, sh_offset), model.text + 16, -ENOEXEC, "aligned" },
		{ SECTION(TINY_BSS, sh_size), (uint64_t)1 << 38, -ENOEXEC, "section" },
		{ SECTION(TINY_SYMTAB, sh_entsize), 16, -ENOEXEC, "symbols" },
		{ SECTION(TINY_SYMTAB, sh_link), TINY_TEXT, -ENOEXEC, "symbols" },
		{ SECTION(TINY_NOTE, sh_flags), SHF_ALLOC, 0, "" },
		{ SEGMENT(0, p_flags), PF_R | PF_W | PF_X, -ENOEXEC, "rights" },
		{ SEGMENT(0, p_flags), PF_R, -ENOEXEC, "size" },
		{ SEGMENT(1, p_offset), 4095, -ENOEXEC, "does not show" },
		{ SEGMENT(1, p_filesz), 64, -ENOEXEC, "does not show" },
		{ SEGMENT(1, p_memsz), 64, -ENOEXEC, "size" },
		{ SEGMENT(1, p_align), 3, -ENOEXEC, "power of two" },
		{ SEGMENT(1, p_type), PT_NULL, -ENOEXEC, ".rodata has no program header" },
		{ SEGMENT(2, p_filesz), 8, -ENOEXEC, "scratch" },
		{ NOTE(abi_major), 2, -ENOTSUP, "format 2.0" },
		{ NOTE(abi_minor), 1, -ENOTSUP, "format 1.1" },
		{ NOTE(reserved), 1, -ENOEXEC, "note" },
		{ NOTE(target), 0, -ENOEXEC, "target" },
		{ NOTE(target), 0x33762d75706c, -ENOTSUP, "--target npu-v3" },
		{ NOTE(target), 0x0a33762d75706e, -ENOEXEC, "target" },
		{ PROGRAM(magic), 0, -ENOEXEC, "program header" },
		{ PROGRAM(version), 9, -ENOTSUP, "version 9" },
		{ PROGRAM(clusters), 0, -ENOEXEC, "clusters" },
		{ PROGRAM(clusters), 9, -ENOEXEC, "clusters" },
		{ PROGRAM(dma_channels), 3, -ENOEXEC, "channels" },
		{ PROGRAM(bytes), 64, -ENOEXEC, "size" },
		{ PROGRAM(bytes), 0xfffffff0, -ENOEXEC, "size" },
		{ PROGRAM(local_bytes), (512 << 10) + 1, -ENOTSUP, "bytes of local SRAM" },
		{ PROGRAM(global_bytes), (4 << 20) + 1, -ENOTSUP, "bytes of global SRAM" },
		{ PROGRAM(save_bytes), 32, -ENOEXEC, "save area" },
		{ PROGRAM(reserved2), 1, -ENOEXEC, "reserved" },
		{ PROGRAM(save_bytes), 64, -ENOEXEC, "save area" },
		{ PROGRAM(save_bytes), sizeof(struct npu_save_state) + 1, -ENOEXEC, "save area" },
		{ model.text + offsetof(struct npu_program_header, entry), 4, 72, -ENOEXEC,
		  "entry 0x48" },
		{ model.text + offsetof(struct npu_program_header, entry), 4, 0, -ENOEXEC,
		  "entry 0x0" },
		{ model.text + offsetof(struct npu_program_header, entry), 4, 0xfffffff0, -ENOEXEC,
		  "entry 0xfffffff0" },
		{ model.text + offsetof(struct npu_program_header, entry) + 4, 4, 64, -ENOEXEC,
		  "beyond its clusters" },
		{ META(magic), 1, -ENOEXEC, "description" },
		{ META(version), NPU_META_VERSION + 1, -ENOTSUP, "version 3" },
		{ META(outputs), 0, -ENOEXEC, "0 outputs" },
		{ META(inputs), 0xffffffff, -ENOEXEC, "4294967295 inputs" },
		{ META(inputs), 2, -ENOEXEC, "layer table" },
		{ META(layers), 65537, -ENOEXEC, "layers" },
		{ META(layers), 3, -ENOEXEC, "layer table" },
		{ META(tensors_offset), 4, -ENOEXEC, "tensor table" },
		{ META(tensors_offset), 0, -ENOEXEC, "tensor table" },
		{ META(strings_offset), 0xfffffff0, -ENOEXEC, "string table" },
		{ META(strings_bytes), 0xfffffff0, -ENOEXEC, "string table" },
		{ META(strings_bytes), 0, -ENOEXEC, "outside the string table" },
		{ META(model_name), 1000, -ENOEXEC, "outside the string table" },
		{ META(clusters), 2, -ENOEXEC, "clusters" },
		{ META(precision), NPU_DTYPE_COUNT, -ENOEXEC, "precision" },
		{ TENSOR(0, name), 0x80000000, -ENOEXEC, "outside the string table" },
		{ TENSOR(0, argument), 3, -ENOEXEC, "argument" },
		{ TENSOR(1, argument), 2, -ENOEXEC, "argument" },
		{ TENSOR(0, host_type), 8, -ENOEXEC, "types 8" },
		{ TENSOR(0, device_dtype), NPU_DTYPE_COUNT, -ENOEXEC, "types 1" },
		{ TENSOR(0, rank), 9, -ENOEXEC, "8 dimensions" },
		{ TENSOR(0, rank), 1, -ENOEXEC, "beyond its rank" },
		{ TENSOR(0, dims), 0, -ENOEXEC, "dimension of 0" },
		{ TENSOR(0, dims), ~0ull, -ENOEXEC, "too many elements" },
		{ TENSOR(0, bytes), 127, -ENOEXEC, "127 bytes" },
		{ TENSOR(0, scale), 0x7f800000, -ENOEXEC, "scale" },
		{ TENSOR(0, scale), 0x80000000, -ENOEXEC, "scale" },
		{ TENSOR(0, scale), 0x7fc00000, -ENOEXEC, "scale" },
		{ TENSOR(0, scale), 0x40000000, -ENOEXEC, "real type" },
		{ TENSOR(0, zero_point), 1, -ENOEXEC, "real type" },
		{ TENSOR(0, reserved), 1, -ENOEXEC, "argument" },
		{ LAYER(mark), 65536, -ENOEXEC, "mark" },
		{ LAYER(reserved), 1, -ENOEXEC, "mark" },
		{ LAYER(op), 31, -ENOEXEC, "outside the string table" },
		{ SYMBOL(st_name), 500, -ENOEXEC, "outside .strtab" },
		{ SYMBOL(st_value), 0xfff, -ENOEXEC, "outside .text" },
		{ SYMBOL(st_value), 0x100000, -ENOEXEC, "outside .text" },
	};

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *damage = &damages[i];
		size_t bytes = damage->bytes > 8 ? 8 : damage->bytes;
		unsigned char saved[8];
		struct npurt_image image;
		int ret;

		memcpy(saved, model.bytes + damage->offset, bytes);
		memcpy(model.bytes + damage->offset, &damage->value, bytes);
		ret = read_bytes(&image, model.bytes, model.size);
		if (ret != damage->error ||
		    (ret && !strstr(npurt_last_error(), damage->words)))
			fail_msg("damage %zu at 0x%zx, value 0x%llx: got %d '%s', expected %d '%s'",
				 i, damage->offset, (unsigned long long)damage->value, ret,
				 ret ? npurt_last_error() : "", damage->error, damage->words);
		npurt_image_release(&image);
		memcpy(model.bytes + damage->offset, saved, bytes);
	}
	tiny_model_free(&model);
}

static void test_every_length(void **state)
{
	struct tiny_options options = { 0 };
	struct tiny_model model;
	size_t length;

	(void)state;
	tiny_model_make(&model, &options);
	for (length = 0; length < model.size; length++) {
		struct npurt_image image;

		assert_int_equal(read_bytes(&image, model.bytes, length), -ENOEXEC);
		assert_true(strlen(npurt_last_error()) > 20);
		npurt_image_release(&image);
	}
	tiny_model_free(&model);
}

/* ---------------------------------------------------------------- mutations */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* A place that means something: headers and tables rather than code and padding. */
static size_t pick_place(const struct tiny_model *model, uint64_t *seed, size_t size)
{
	const struct {
		size_t start, bytes;
	} parts[] = {
		{ 0, sizeof(Elf64_Ehdr) },
		{ model->segments, 3 * sizeof(Elf64_Phdr) },
		{ model->sections, TINY_SECTIONS * sizeof(Elf64_Shdr) },
		{ model->text, sizeof(struct npu_program_header) },
		{ model->note, 16 + sizeof(struct npu_note) },
		{ model->meta, model->meta_bytes },
		{ model->symtab, model->symtab_bytes },
		{ model->strtab, model->strtab_bytes },
		{ model->names, model->names_bytes },
		{ 0, model->size },
	};
	uint64_t which = next_random(seed) % (sizeof(parts) / sizeof(parts[0]));
	size_t place = parts[which].start + next_random(seed) % parts[which].bytes;

	return place < size ? place : size - 1;
}

static uint64_t pick_value(uint64_t *seed)
{
	static const uint64_t values[] = {
		0, 1, 7, 8, 16, 63, 64, 255, 4095, 4096, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0xfffffff0, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 0xfffffffffffff000,
	};

	if (next_random(seed) % 3 == 0)
		return next_random(seed) << 31 ^ next_random(seed);
	return values[next_random(seed) % (sizeof(values) / sizeof(values[0]))];
}

static void mutate(const struct tiny_model *model, unsigned char *bytes, size_t *size,
		   uint64_t *seed)
{
	size_t place = pick_place(model, seed, *size), other, width;
	uint64_t value;

	switch (next_random(seed) % 6) {
	case 0:
		bytes[place] ^= (unsigned char)(1u << next_random(seed) % 8);
		break;
	case 1:
	case 2:
	case 3:
		width = (size_t)1 << next_random(seed) % 4;
		place &= ~(width - 1);
		value = pick_value(seed);
		if (place + width <= *size)
			memcpy(bytes + place, &value, width);
		break;
	case 4:
		other = pick_place(model, seed, *size);
		width = 1 + next_random(seed) % 64;
		if (place + width <= *size && other + width <= *size)
			memmove(bytes + place, bytes + other, width);
		break;
	default:
		if (next_random(seed) % 4 == 0)
			*size = place + 1;
		else
			bytes[place]++;
		break;
	}
}

#define MUTATIONS 10000

static void test_mutations(void **state)
{
	struct tiny_options options = { .scratch = 65536 };
	unsigned int step, refused = 0;
	struct tiny_model model;
	unsigned char *bytes;
	uint64_t seed = 11;

	(void)state;
	tiny_model_make(&model, &options);
	bytes = malloc(model.size);
	assert_non_null(bytes);
	for (step = 0; step < MUTATIONS; step++) {
		unsigned int changes = 1 + next_random(&seed) % 3;
		struct npurt_image image;
		size_t size = model.size;
		int ret;

		memcpy(bytes, model.bytes, size);
		while (changes--)
			mutate(&model, bytes, &size, &seed);
		ret = read_bytes(&image, bytes, size);
		if (ret) {
			refused++;
			assert_true(ret == -ENOEXEC || ret == -ENOTSUP);
			assert_true(!strncmp(npurt_last_error(), "model: ", 7));
			assert_true(strlen(npurt_last_error()) > 20);
		} else {
			/* Whatever was let through keeps its promises. */
			assert_true(image.text.offset + image.text.bytes <= size);
			assert_true(image.rodata.offset + image.rodata.bytes <= size);
			assert_true(image.inputs + image.outputs <= 29);
			assert_true(strlen(image.name) < size);
			npurt_image_symbol_at(&image, next_random(&seed));
		}
		npurt_image_release(&image);
	}
	assert_true(refused > MUTATIONS / 2);
	assert_true(refused < MUTATIONS);
	free(bytes);
	tiny_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	     cmocka_unit_test(test_from_file),
		cmocka_unit_test(test_damage),	     cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
