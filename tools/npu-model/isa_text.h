/* SPDX-License-Identifier: MIT */
/*
 * The instruction set as text: assembler and disassembler.
 *
 * Syntax: Documentation/hardware/isa.rst, "Assembly language". What the disassembler writes, the
 * assembler turns into the same bytes, for every input: encodings that have no other form are
 * written as `.word`. Needs nothing of the device model.
 */
#ifndef NPU_ISA_TEXT_H
#define NPU_ISA_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define NPU_ISA_LINE_BYTES	320	/* enough for every line of the disassembler */

/* What a descriptor's bits do not say: how instructions read them. */
enum npu_isa_format {
	NPU_ISA_FORMAT_TENSOR = 0,
	NPU_ISA_FORMAT_WINDOW,
	NPU_ISA_FORMAT_STAGE,
};

/**
 * npu_isa_disassemble - write one instruction as a line of text
 * @code: instruction stream
 * @bytes: its size; a rest of less than an instruction cannot be written
 * @offset: of the instruction in @code
 * @text: receives the line, without a newline, NUL terminated
 * @text_bytes: size of @text, at least NPU_ISA_LINE_BYTES
 *
 * The format of a loaded descriptor is guessed from the first later instruction that uses the
 * register (npu_isa_guess_format()).
 *
 * Return: bytes consumed, 16 or (LDTD with its descriptor) 48; -EINVAL past the end.
 * Thread safety: any thread, no shared state.
 */
int npu_isa_disassemble(const uint8_t *code, size_t bytes, size_t offset, char *text,
			size_t text_bytes);

/**
 * npu_isa_guess_format - how the next use of a descriptor register reads it
 * @code: instruction stream
 * @bytes: its size
 * @offset: first instruction to look at
 * @target: register
 * Return: enum npu_isa_format; tensor where no use is found before the register's next load.
 */
enum npu_isa_format npu_isa_guess_format(const uint8_t *code, size_t bytes, size_t offset,
					 uint8_t target);

/**
 * npu_isa_assemble_line - assemble one line
 * @line: text; ends at a newline or NUL
 * @code: receives up to 48 bytes
 * @error: receives a sentence on failure, without the line's number
 * @error_bytes: size of @error, at least 1
 * Return: bytes written: 0 (blank or comment), 16 or 48; -EINVAL.
 */
int npu_isa_assemble_line(const char *line, uint8_t code[48], char *error, size_t error_bytes);

/**
 * npu_isa_assemble - assemble a text of many lines
 * @text: NUL terminated
 * @code: receives the instruction stream
 * @capacity: of @code
 * @bytes: receives the stream's size
 * @error: receives a sentence on failure that starts with the line's number
 * @error_bytes: size of @error, at least 1
 * Return: 0, -EINVAL, or -ENOSPC when @capacity is too small.
 */
int npu_isa_assemble(const char *text, uint8_t *code, size_t capacity, size_t *bytes,
		     char *error, size_t error_bytes);

/** npu_isa_opcode_name, npu_isa_vec_name, npu_isa_engine_name - names; NULL for unknown numbers */
const char *npu_isa_opcode_name(unsigned int opcode);
const char *npu_isa_vec_name(unsigned int subop);
const char *npu_isa_engine_name(unsigned int engine);
const char *npu_isa_dtype_name(unsigned int dtype);

#endif /* NPU_ISA_TEXT_H */
