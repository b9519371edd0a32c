/* SPDX-License-Identifier: MIT */
/*
 * Reading a core dump of the driver's (uapi/npu/npu_coredump.h). It comes from anywhere, so nothing in
 * it is taken to be true: what is read lies inside the bytes that are there, and text is made fit for
 * a terminal.
 */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/npu_coredump.h"

#define DUMP_SECTIONS_MAX 256
#define DUMP_TEXT_BYTES 256

struct dump_section {
	uint32_t kind, index, entry_bytes, entries;
	const unsigned char *data;
};

struct dump {
	uint16_t major, minor;
	bool cut; /* the driver had no room for all */
	bool ends_early; /* the file ends before the dump does */
	struct npu_coredump_cause cause;
	struct npu_coredump_system system;
	struct dump_section sections[DUMP_SECTIONS_MAX];
	size_t count;
};

/**
 * dump_read() - look through a dump
 * @dump: filled; it points into @bytes
 * @error: a sentence when it is no dump that can be read
 *
 * Return: 0, -1.
 */
int dump_read(struct dump *dump, const void *bytes, size_t size, char error[DUMP_TEXT_BYTES]);

/** dump_find() - the first section of a kind and index, or an empty one */
struct dump_section dump_find(const struct dump *dump, enum npu_coredump_kind kind, uint32_t index);

/**
 * dump_entry() - a copy of an entry
 * @to: zero where the dump has less than @known bytes of it
 *
 * Return: false when there is no such entry.
 */
bool dump_entry(const struct dump_section *section, uint32_t i, void *to, size_t known);

/** dump_text() - what is in a field, printable, and ended */
void dump_text(char to[DUMP_TEXT_BYTES], const void *field, size_t bytes);

/** dump_register() - what a register said; false: the dump does not tell */
bool dump_register(const struct dump *dump, uint32_t offset, uint32_t *value);

/** dump_semaphore() - what is known of a semaphore; zeros when the dump does not tell */
struct npu_coredump_semaphore dump_semaphore(const struct dump *dump, uint32_t context,
					     uint32_t sem);

/** dump_register_name() - NULL: it has none */
const char *dump_register_name(uint32_t offset);

#endif /* DUMP_H */
