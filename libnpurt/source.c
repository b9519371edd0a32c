// SPDX-License-Identifier: MIT
/* Where a model's bytes come from: memory or a file. */
#include "image.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static int source_check(const struct npurt_source *source, uint64_t offset, size_t bytes)
{
	if (offset <= source->bytes && bytes <= source->bytes - offset)
		return 0;
	return npurt_fail(-ENOEXEC,
			  "model: %zu bytes at offset 0x%" PRIx64
			  " lie outside the file of %" PRIu64
			  " bytes: it is truncated or damaged, compile the model again",
			  bytes, offset, source->bytes);
}

static int memory_read(const struct npurt_source *source, uint64_t offset, void *to, size_t bytes)
{
	int ret = source_check(source, offset, bytes);

	if (ret)
		return ret;
	if (bytes)
		memcpy(to, source->memory + offset, bytes);
	return 0;
}

static int fd_read(const struct npurt_source *source, uint64_t offset, void *to, size_t bytes)
{
	int ret = source_check(source, offset, bytes);
	size_t done = 0;

	while (!ret && done < bytes) {
		ssize_t n =
			pread(source->fd, (char *)to + done, bytes - done, (off_t)(offset + done));

		if (n > 0)
			done += (size_t)n;
		else if (!n)
			ret = npurt_fail(
				-ENOEXEC,
				"model: the file ends at offset 0x%" PRIx64 ", it was %" PRIu64
				" bytes long when it was opened: do not change a model while "
				"it is loaded",
				offset + done, source->bytes);
		else if (errno != EINTR)
			ret = npurt_fail(-errno,
					 "model: reading the file at offset 0x%" PRIx64
					 " failed: %s",
					 offset + done, strerror(errno));
	}
	return ret;
}

void npurt_source_memory(struct npurt_source *source, const void *data, size_t bytes)
{
	*source = (struct npurt_source){
		.read = memory_read,
		.bytes = bytes,
		.memory = data,
		.fd = -1,
	};
}

int npurt_source_fd(struct npurt_source *source, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return npurt_fail(-errno, "model: file descriptor %d cannot be examined: %s", fd,
				  strerror(errno));
	if (!S_ISREG(stat.st_mode) || stat.st_size < 0)
		return npurt_fail(-EINVAL,
				  "model: file descriptor %d is not a regular file; read "
				  "its bytes and use npurt_model_load_memory()",
				  fd);
	*source = (struct npurt_source){
		.read = fd_read,
		.bytes = (uint64_t)stat.st_size,
		.fd = fd,
	};
	return 0;
}
