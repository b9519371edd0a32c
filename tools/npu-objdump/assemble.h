/* SPDX-License-Identifier: MIT */
/* The way back from a listing to an instruction stream. */
#ifndef NPU_OBJDUMP_ASSEMBLE_H
#define NPU_OBJDUMP_ASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#define ASSEMBLE_ERROR_BYTES 512

/**
 * assemble_text() - instruction stream of a text
 * @text: @size bytes, NUL terminated behind them
 * @size: of @text
 * @code: receives memory to be freed by the caller
 * @bytes: receives its size
 * @error: receives a sentence on failure, which names the line
 *
 * Syntax: Documentation/hardware/isa.rst, "Assembly language".
 *
 * Return: 0 or -1. Thread safety: any thread.
 */
int assemble_text(const char *text, size_t size, uint8_t **code, size_t *bytes,
		  char error[ASSEMBLE_ERROR_BYTES]);

/**
 * assemble_file() - assemble_text() from one file into another; the message goes to stderr
 * Return: exit status.
 */
int assemble_file(const char *from, const char *to);

#endif
