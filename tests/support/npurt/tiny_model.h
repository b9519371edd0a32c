/* SPDX-License-Identifier: MIT */
/*
 * A compiled model made by hand, byte by byte from npu_binary.h and npu_isa.h: no compiler in it.
 *
 * Input "x" and output "y" are fp16 on the device and float on the host. One cluster brings x and
 * the weights w into local SRAM, layer "double" multiplies x by 2, layer "shift" adds w, and y goes
 * back to DRAM: y = 2 x + w, exact for small numbers. w[i] = i mod 8 - 3.
 */
#ifndef TINY_MODEL_H
#define TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum tiny_kind {
	TINY_GOOD = 0,
	TINY_HANGS,	/* waits for a token that nobody releases */
	TINY_STRAYS,	/* writes y 1 GiB behind its argument */
	TINY_WRITES_WEIGHTS,	/* writes y into .rodata */
	TINY_ILLEGAL,	/* an instruction that does not exist, in layer "shift" */
	TINY_SLOW,	/* runs layer "double" on a copy `trips` times before */
};

struct tiny_options {
	enum tiny_kind kind;
	uint32_t elements;	/* of x, w and y, 1..4096; 0: 64 */
	uint32_t trips;		/* TINY_SLOW */
	uint32_t scratch;	/* bytes of .bss */
	const char *target;	/* NULL: "npu-v3" */
};

/* Where in the file things are, for tests that damage them. */
struct tiny_model {
	unsigned char *bytes;
	size_t size;
	size_t text, text_bytes;
	size_t rodata, rodata_bytes;
	size_t note, meta, meta_bytes, symtab, symtab_bytes, strtab, strtab_bytes;
	size_t names, names_bytes;
	size_t segments, sections;
	size_t shift_offset;	/* of layer "shift" in .text */
};

/* Section numbers. */
enum {
	TINY_TEXT = 1,
	TINY_RODATA,
	TINY_BSS,
	TINY_NOTE,
	TINY_META,
	TINY_SYMTAB,
	TINY_STRTAB,
	TINY_SHSTRTAB,
	TINY_SECTIONS
};

/** tiny_model_make() - make one; to be freed with tiny_model_free(); exits when out of memory */
void tiny_model_make(struct tiny_model *model, const struct tiny_options *options);
void tiny_model_free(struct tiny_model *model);

/** tiny_weight() - w[i] */
float tiny_weight(uint32_t index);

#endif /* TINY_MODEL_H */
