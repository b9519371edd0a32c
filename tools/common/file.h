/* SPDX-License-Identifier: MIT */
/* Whole files in memory. */
#ifndef NPU_COMMON_FILE_H
#define NPU_COMMON_FILE_H

#include <stddef.h>

/*
 * file_read - the bytes of regular file @path, at most @limit. Returns memory to be freed, or NULL
 * with a sentence in @error (of @error_size bytes). A NUL follows the last byte.
 */
void *file_read(const char *path, size_t limit, size_t *size, char *error, size_t error_size);

/*
 * file_write - make @path hold exactly @size bytes of @data. A failure leaves no
 * regular file behind. Returns
 * 0, or -1 with a sentence in @error.
 */
int file_write(const char *path, const void *data, size_t size, char *error, size_t error_size);

/*
 * file_finish_stdout - write out what is buffered for stdout; a full disk must not look like success.
 * Returns 0, or -1 after a message of @program on stderr.
 */
int file_finish_stdout(const char *program);

#endif
