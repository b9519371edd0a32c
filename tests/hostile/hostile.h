/* SPDX-License-Identifier: MIT */
/* What the programs that read damaged files share. */
#ifndef NPU_TESTS_HOSTILE_H
#define NPU_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mutate.h"

/* No file may keep a loader longer than this, sanitizers included. */
#define HOSTILE_SECONDS 30

struct hostile_format {
	const char *name;
	/* Parts of a whole file that damage is worth more in; up to @capacity of them. */
	size_t (*hot_parts)(const uint8_t *data, size_t size, struct hot_part *parts,
			    size_t capacity);
	/* Makes damage harder to see. May be NULL. */
	void (*repair)(uint8_t *data, size_t size);
	/*
	 * Reads the file at @path, whose bytes are at @data. Returns 0, or -1 with a sentence in
	 * @error, which has @error_bytes.
	 */
	int (*read)(const char *path, const uint8_t *data, size_t size, char *error,
		    size_t error_bytes);
};

/*
 * hostile_run - read @count damaged copies of the files. Prints TAP; @work is the path the copies are
 * written to, and where the last one is found after a crash. Whole files must be taken, damaged
 * ones taken or refused with a sentence, and both must happen. Returns the exit status.
 */
int hostile_run(const struct hostile_format *format, size_t count, const char *work,
		char *const *files, int file_count);

#endif
