// SPDX-License-Identifier: MIT
#include "card_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 512

int card_file_open(const char *root, const char *card, const char *file, int flags)
{
	char path[PATH_BYTES];
	int length, fd;

	length = snprintf(path, sizeof(path), "%s/sys/class/accel/%s/device/%s", root, card, file);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int card_file_line(const char *root, const char *card, const char *file, char *text, size_t bytes)
{
	int fd = card_file_open(root, card, file, O_RDONLY);
	ssize_t got;
	int error;

	if (fd < 0)
		return fd;
	got = read(fd, text, bytes - 1);
	error = got < 0 ? -errno : 0;
	close(fd);
	if (error)
		return error;
	text[got] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}

int card_file_number(const char *root, const char *card, const char *file, uint64_t *number)
{
	char text[CARD_LINE_BYTES], *end;
	int ret = card_file_line(root, card, file, text, sizeof(text));

	if (ret)
		return ret;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno || *text < '0' || *text > '9' || *end ? -EPROTO : 0;
}
