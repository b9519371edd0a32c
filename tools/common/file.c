/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *file_read(const char *path, size_t limit, size_t *size, char *error, size_t error_size)
{
	char *data = NULL, *result = NULL;
	struct stat status;
	size_t got;
	/* A pipe without a writer must not keep us waiting: it is refused below. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");

	if (!file) {
		snprintf(error, error_size, "%.300s: cannot be opened: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (fstat(fileno(file), &status) || !S_ISREG(status.st_mode)) {
		snprintf(error, error_size, "%.300s: is no regular file", path);
		goto out;
	}
	if ((unsigned long long)status.st_size > limit) {
		snprintf(error, error_size, "%.300s: has %lld bytes, at most %zu are read", path,
			 (long long)status.st_size, limit);
		goto out;
	}
	data = malloc((size_t)status.st_size + 1);
	if (!data) {
		snprintf(error, error_size, "%.300s: no memory for its %lld bytes", path,
			 (long long)status.st_size);
		goto out;
	}
	got = fread(data, 1, (size_t)status.st_size, file);
	if (got != (size_t)status.st_size) {
		snprintf(error, error_size, "%.300s: only %zu of %lld bytes could be read", path,
			 got, (long long)status.st_size);
		goto out;
	}
	data[got] = 0;
	*size = got;
	result = data;
	data = NULL;
out:
	free(data);
	fclose(file);
	return result;
}

int file_write(const char *path, const void *data, size_t size, char *error, size_t error_size)
{
	FILE *file = fopen(path, "wb");
	struct stat status;
	int failure = 0;
	bool regular;

	if (!file) {
		snprintf(error, error_size, "%.300s: cannot be written: %s", path, strerror(errno));
		return -1;
	}
	/* Devices and pipes are not ours to remove. */
	regular = !fstat(fileno(file), &status) && S_ISREG(status.st_mode);
	if (size && fwrite(data, 1, size, file) != size)
		failure = errno;
	if (fclose(file) && !failure)
		failure = errno;
	if (!failure)
		return 0;
	snprintf(error, error_size, "%.300s: could not be written whole: %s", path,
		 strerror(failure));
	if (regular)
		unlink(path);
	return -1;
}

int file_finish_stdout(const char *program)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "%s: the output could not be written whole: %s\n", program, strerror(errno));
	return -1;
}
