/* SPDX-License-Identifier: MIT */
/* A file of a test's own. */
#ifndef TEST_SCRATCH_FILE_H
#define TEST_SCRATCH_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/**
 * scratch_file() - make it, empty; the caller unlinks it
 * @path:	ends with XXXXXX, which becomes something else
 *
 * Returns false, and says why, when it cannot be made.
 */
static inline bool scratch_file(char *path)
{
	int file = mkstemp(path);

	if (file < 0) {
		perror(path);
		return false;
	}
	close(file);
	return true;
}

#endif /* TEST_SCRATCH_FILE_H */
