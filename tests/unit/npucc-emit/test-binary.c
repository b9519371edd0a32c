// SPDX-License-Identifier: MIT
/* The file npucc writes: sections, segments, note, metadata, symbols, and the same bytes twice. */
#include <elf.h>
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "emit/program.h"
#include "harness.h"
#include "npu/npu_binary.h"
#include "onnx_builder.h"
#include "random.h"
#include "sha256.h"

struct file {
	uint8_t *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
};

static struct file read_file(const char *path)
{
	struct file file = { 0 };
	FILE *in = fopen(path, "rb");

	assert_non_null(in);
	fseek(in, 0, SEEK_END);
	file.size = (size_t)ftell(in);
	rewind(in);
	file.bytes = malloc(file.size);
	assert_non_null(file.bytes);
	assert_int_equal(fread(file.bytes, 1, file.size, in), file.size);
	fclose(in);
	assert_true(file.size > sizeof(Elf64_Ehdr));
	file.header = (const void *)file.bytes;
	file.sections = (const void *)(file.bytes + file.header->e_shoff);
	return file;
}

static const Elf64_Shdr *section(const struct file *file, const char *name)
{
	const char *names =
		(const char *)file->bytes + file->sections[file->header->e_shstrndx].sh_offset;
	unsigned int i;

	for (i = 0; i < file->header->e_shnum; i++)
		if (!strcmp(names + file->sections[i].sh_name, name))
			return &file->sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

/* Two convolutions, so that there are scratch, weights and two layers. */
static void compile_model(struct harness *harness, struct onnx_builder *builder, const char *target)
{
	int64_t x[4] = { 1, 3, 12, 10 }, y[4] = { 1, 8, 10, 8 };
	int64_t w1[4] = { 16, 3, 3, 3 }, w2[4] = { 8, 16, 1, 1 };
	struct random random = { .state = 3 };
	static float weights[16 * 27];
	const uint8_t *model;
	size_t size;

	random_floats(&random, weights, 16 * 27);
	onnx_builder_input(builder, "picture", 4, x);
	onnx_builder_output(builder, "result", 4, y);
	onnx_builder_floats(builder, "w1", 4, w1, weights);
	onnx_builder_floats(builder, "w2", 4, w2, weights);
	onnx_builder_node(builder, "Conv", "picture w1", "t");
	onnx_builder_node(builder, "Conv", "t w2", "result");
	model = onnx_builder_finish(builder, &size);
	assert_non_null(model);
	assert_int_equal(harness_init(harness, target), 0);
	if (harness_compile(harness, model, size))
		fail_msg("%s", harness->error);
}

static void write_model(struct harness *harness, const char *path)
{
	if (elf_write(&harness->program, path, &harness->diag))
		fail_msg("%s", diag_first_error(&harness->diag));
}

static void sections_and_segments(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const char *path = "test-binary-1.npu";
	const Elf64_Phdr *segments;
	struct harness harness;
	struct file file;

	(void)state;
	compile_model(&harness, builder, "npu-v3");
	write_model(&harness, path);
	file = read_file(path);
	assert_memory_equal(file.header->e_ident, ELFMAG, SELFMAG);
	assert_int_equal(file.header->e_machine, NPU_ELF_MACHINE);
	assert_int_equal(file.header->e_type, ET_EXEC);
	assert_int_equal(file.header->e_phnum, 3);
	segments = (const void *)(file.bytes + file.header->e_phoff);
	assert_int_equal(segments[0].p_flags, PF_R | PF_X);
	assert_int_equal(segments[1].p_flags, PF_R);
	assert_int_equal(segments[2].p_flags, PF_R | PF_W);
	assert_int_equal(segments[0].p_offset % 4096, 0);
	assert_int_equal(segments[1].p_offset % 4096, 0);
	assert_int_equal(segments[2].p_filesz, 0);
	assert_int_equal(segments[2].p_memsz, harness.program.scratch_bytes);
	assert_memory_equal(file.bytes + section(&file, ".text")->sh_offset, harness.program.text,
			    harness.program.text_bytes);
	assert_int_equal(section(&file, ".rodata")->sh_size, harness.program.rodata_bytes);
	unlink(path);
	free(file.bytes);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void note_names_target_and_content(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const char *path = "test-binary-2.npu";
	static const char *const parts[] = { ".text", ".rodata", ".npu.meta" };
	uint8_t digest[SHA256_DIGEST_SIZE];
	const struct npu_note *note;
	struct harness harness;
	struct sha256 hash;
	struct file file;
	int i;

	(void)state;
	compile_model(&harness, builder, "lowpower-v3");
	write_model(&harness, path);
	file = read_file(path);
	sha256_init(&hash);
	for (i = 0; i < 3; i++)
		sha256_update(&hash, file.bytes + section(&file, parts[i])->sh_offset,
			      section(&file, parts[i])->sh_size);
	sha256_final(&hash, digest);
	note = (const void *)(file.bytes + section(&file, ".note.npu")->sh_offset + 16);
	assert_int_equal(le16toh(note->abi_major), NPU_BINARY_ABI_MAJOR);
	assert_string_equal(note->target, "lowpower-v3");
	assert_memory_equal(note->build_id, digest, sizeof(digest));
	unlink(path);
	free(file.bytes);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void metadata_says_what_the_model_is(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const struct npu_meta_header *header;
	const struct npu_meta_tensor *tensors;
	const struct npu_meta_layer *layers;
	struct harness harness;
	const char *strings;
	uint64_t macs = 16 * 27 * 80 + 8 * 16 * 80;

	(void)state;
	compile_model(&harness, builder, "npu-v3");
	header = (const void *)harness.program.meta;
	strings = (const char *)harness.program.meta + le32toh(header->strings_offset);
	tensors = (const void *)(harness.program.meta + le32toh(header->tensors_offset));
	layers = (const void *)(harness.program.meta + le32toh(header->layers_offset));
	assert_int_equal(le32toh(header->magic), NPU_META_MAGIC);
	assert_int_equal(le32toh(header->strings_offset) + le32toh(header->strings_bytes),
			 harness.program.meta_bytes);
	assert_int_equal(le32toh(header->inputs), 1);
	assert_int_equal(le32toh(header->outputs), 1);
	assert_int_equal(le64toh(header->macs), macs);
	assert_string_equal(strings + le32toh(tensors[0].name), "picture");
	assert_string_equal(strings + le32toh(tensors[1].name), "result");
	assert_int_equal(le32toh(tensors[0].host_type), 1);
	assert_int_equal(le32toh(tensors[0].device_dtype), NPU_DTYPE_FP16);
	assert_int_equal(le32toh(tensors[0].argument), NPU_ARG_FIRST_IO);
	assert_int_equal(le32toh(tensors[1].argument), NPU_ARG_FIRST_IO + 1);
	assert_int_equal(le32toh(tensors[1].dims[1]), 8);
	assert_int_equal(le64toh(tensors[0].bytes), 3 * 12 * 10 * 2);
	assert_int_equal(le32toh(header->layers), 2);
	assert_int_equal(le64toh(layers[0].macs) + le64toh(layers[1].macs), macs);
	/* 34,560 and 10,240 MACs at 1,024, weights of 864 and 256 bytes at 32, 720 + 1,280 bytes. */
	assert_int_equal(le64toh(header->roofline_cycles), 34 + 10 + 63);
	assert_int_equal(le64toh(header->floor_cycles), 98);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void same_model_same_bytes(void **state)
{
	const char *path[2] = { "test-binary-3.npu", "test-binary-4.npu" };
	struct file file[2];
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct onnx_builder *builder = onnx_builder_new(13);
		struct harness harness;

		compile_model(&harness, builder, "npu-v3");
		write_model(&harness, path[i]);
		file[i] = read_file(path[i]);
		harness_free(&harness);
		onnx_builder_free(builder);
		unlink(path[i]);
	}
	assert_int_equal(file[0].size, file[1].size);
	assert_memory_equal(file[0].bytes, file[1].bytes, file[0].size);
	free(file[0].bytes);
	free(file[1].bytes);
}

static void symbols_mark_layers(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const char *path = "test-binary-5.npu";
	const Elf64_Shdr *table, *text;
	const Elf64_Sym *symbols;
	struct harness harness;
	const char *names;
	struct file file;
	unsigned int i;

	(void)state;
	compile_model(&harness, builder, "npu-v3");
	write_model(&harness, path);
	file = read_file(path);
	table = section(&file, ".symtab");
	text = section(&file, ".text");
	symbols = (const void *)(file.bytes + table->sh_offset);
	names = (const char *)file.bytes + file.sections[table->sh_link].sh_offset;
	assert_int_equal(table->sh_size / sizeof(*symbols), 1 + 2 * 4 + 1);
	assert_string_equal(names + symbols[9].st_name, NPU_POINTS_SYMBOL);
	for (i = 1; i < 9; i++) {
		char want[32];

		snprintf(want, sizeof(want), "Conv.%u.cluster%u", (i - 1) / 4, (i - 1) % 4);
		assert_string_equal(names + symbols[i].st_name, want);
		assert_true(symbols[i].st_value >= text->sh_addr);
		assert_true(symbols[i].st_value < text->sh_addr + text->sh_size);
		assert_int_equal((symbols[i].st_value - text->sh_addr) % 16, 0);
	}
	unlink(path);
	free(file.bytes);
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void a_path_nobody_can_write_is_an_error(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	struct harness harness;

	(void)state;
	compile_model(&harness, builder, "npu-v3");
	assert_int_not_equal(elf_write(&harness.program, "/nonexistent/model.npu", &harness.diag),
			     0);
	assert_non_null(strstr(diag_first_error(&harness.diag), "/nonexistent/model.npu"));
	harness_free(&harness);
	onnx_builder_free(builder);
}

static void a_destination_that_is_no_file_stays_what_it_is(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	char path[] = "/tmp/npucc-fifo-XXXXXX";
	struct harness harness;
	struct stat status;

	(void)state;
	compile_model(&harness, builder, "npu-v3");
	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_not_equal(elf_write(&harness.program, path, &harness.diag), 0);
	assert_non_null(strstr(diag_first_error(&harness.diag), "is no regular file"));
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	unlink(path);
	harness_free(&harness);
	onnx_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_and_segments),
		cmocka_unit_test(note_names_target_and_content),
		cmocka_unit_test(metadata_says_what_the_model_is),
		cmocka_unit_test(same_model_same_bytes),
		cmocka_unit_test(symbols_mark_layers),
		cmocka_unit_test(a_path_nobody_can_write_is_an_error),
		cmocka_unit_test(a_destination_that_is_no_file_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
