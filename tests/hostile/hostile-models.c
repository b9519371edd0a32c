// SPDX-License-Identifier: MIT
/* Damaged model binaries, read and shown by npu-objdump's own code. */
#include <elf.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "show.h"

static FILE *nowhere;

static int read_model(const char *path, const uint8_t *data, size_t size, char *error,
		      size_t error_bytes)
{
	char reason[MODEL_ERROR_BYTES] = "";
	struct model_file model;
	int result;

	(void)data;
	(void)size;
	result = model_file_open(&model, path, reason);
	if (result) {
		snprintf(error, error_bytes, "%s", reason);
	} else {
		show_headers(&model, nowhere);
		show_symbols(&model, nowhere);
		show_code(&model, EVERY_CLUSTER, nowhere);
		show_json(&model, SHOW_HEADERS | SHOW_SYMBOLS | SHOW_CODE, 1, nowhere);
	}
	model_file_release(&model);
	return result;
}

/* The headers, and every section but weights and scratch. The file is whole, so it is trusted. */
static size_t elf_parts(const uint8_t *data, size_t size, struct hot_part *parts, size_t capacity)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	size_t count = 0;

	(void)size;
	memcpy(&header, data, sizeof(header));
	parts[count++] = (struct hot_part){ 0, sizeof(header) + 3 * sizeof(Elf64_Phdr) };
	parts[count++] = (struct hot_part){ le64toh(header.e_shoff),
					    le16toh(header.e_shnum) * sizeof(section) };
	for (size_t i = 0; i < le16toh(header.e_shnum) && count < capacity; i++) {
		memcpy(&section, data + le64toh(header.e_shoff) + i * sizeof(section),
		       sizeof(section));
		if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL ||
		    section.sh_flags == SHF_ALLOC)
			continue;
		parts[count++] =
			(struct hot_part){ le64toh(section.sh_offset), le64toh(section.sh_size) };
	}
	return count;
}

int main(int argc, char **argv)
{
	static const struct hostile_format format = {
		.name = "model",
		.hot_parts = elf_parts,
		.read = read_model,
	};

	if (argc < 4) {
		fputs("usage: hostile-models COUNT WORK FILE...\n", stderr);
		return 2;
	}
	nowhere = fopen("/dev/null", "w");
	if (!nowhere) {
		puts("Bail out! /dev/null cannot be opened");
		return 1;
	}
	return hostile_run(&format, strtoul(argv[1], NULL, 10), argv[2], argv + 3, argc - 3);
}
