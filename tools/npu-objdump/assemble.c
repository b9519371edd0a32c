// SPDX-License-Identifier: MIT
#include "assemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "isa_text.h"
#include "npu/npu_isa.h"

#define LONGEST_INSTRUCTION (NPU_INSN_BYTES + NPU_TD_BYTES)
#define TEXT_BYTES_MAX ((size_t)1 << 30)

struct output {
	uint8_t *code;
	size_t used, capacity;
};

static int make_room(struct output *output)
{
	size_t capacity = output->capacity ? 2 * output->capacity : 4096;
	uint8_t *code;

	if (output->capacity - output->used >= LONGEST_INSTRUCTION)
		return 0;
	code = realloc(output->code, capacity);
	if (!code)
		return -1;
	output->code = code;
	output->capacity = capacity;
	return 0;
}

int assemble_text(const char *text, size_t size, uint8_t **code, size_t *bytes,
		  char error[ASSEMBLE_ERROR_BYTES])
{
	struct output output = { 0 };
	const char *at = text, *end = text + size;
	size_t line = 1;

	for (;; line++) {
		char message[256];
		int used;

		if (make_room(&output)) {
			snprintf(error, ASSEMBLE_ERROR_BYTES, "line %zu: no memory for the stream",
				 line);
			goto fail;
		}
		used = npu_isa_assemble_line(at, output.code + output.used, message,
					     sizeof(message));
		if (used < 0) {
			snprintf(error, ASSEMBLE_ERROR_BYTES, "line %zu: %s", line, message);
			goto fail;
		}
		output.used += (size_t)used;
		at += strcspn(at, "\n");
		if (at == end)
			break;
		if (!*at) {
			snprintf(error, ASSEMBLE_ERROR_BYTES, "line %zu: holds a NUL byte", line);
			goto fail;
		}
		at++;
	}
	*code = output.code;
	*bytes = output.used;
	return 0;
fail:
	free(output.code);
	return -1;
}

int assemble_file(const char *from, const char *to)
{
	char error[ASSEMBLE_ERROR_BYTES];
	size_t size, bytes;
	char *text = file_read(from, TEXT_BYTES_MAX, &size, error, sizeof(error));
	uint8_t *code;
	int result = 1;

	if (!text) {
		fprintf(stderr, "npu-objdump: %s\n", error);
		return 1;
	}
	if (assemble_text(text, size, &code, &bytes, error)) {
		fprintf(stderr, "npu-objdump: %s: %s\n", from, error);
		goto out;
	}
	result = file_write(to, code, bytes, error, sizeof(error)) ? 1 : 0;
	if (result)
		fprintf(stderr, "npu-objdump: %s\n", error);
	free(code);
out:
	free(text);
	return result;
}
