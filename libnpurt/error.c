// SPDX-License-Identifier: MIT
/* The thread's last sentence, and the log. */
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "npurt.h"

static _Thread_local char last_error[NPURT_ERROR_BYTES];

const char *npurt_last_error(void)
{
	return last_error;
}

const char *npurt_version(void)
{
	return NPU_VERSION;
}

int npurt_fail(int error, const char *format, ...)
{
	char text[NPURT_ERROR_BYTES];
	va_list arguments;

	/* An argument may point into the sentence that is being replaced. */
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	memcpy(last_error, text, sizeof(text));
	return error;
}

int npurt_fail_after(int error, const char *format, ...)
{
	char text[NPURT_ERROR_BYTES];
	size_t used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	used = length < 0 ? 0 : (size_t)length;
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "%s", last_error);
	memcpy(last_error, text, sizeof(text));
	return error;
}

static const char *const level_names[] = { "error", "warning", "info", "debug" };

static int level_by_name(const char *name, size_t length)
{
	int level;

	for (level = NPURT_LOG_ERROR; level <= NPURT_LOG_DEBUG; level++) {
		if (strlen(level_names[level]) == length &&
		    !memcmp(level_names[level], name, length))
			return level;
	}
	return -1;
}

void npurt_log_open(struct npurt_log *log)
{
	const char *value = secure_getenv("NPURT_LOG");
	const char *file;

	log->fd = -1;
	log->owned = 0;
	log->level = -1;
	if (!value || !*value)
		return;
	file = strchr(value, ':');
	log->level = level_by_name(value, file ? (size_t)(file - value) : strlen(value));
	if (log->level < 0)
		return;
	if (!file) {
		log->fd = STDERR_FILENO;
		return;
	}
	log->fd = open(file + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
	log->owned = log->fd >= 0;
}

void npurt_log_close(struct npurt_log *log)
{
	if (log->owned)
		close(log->fd);
	log->fd = -1;
	log->owned = 0;
}

void npurt_log_line(const struct npurt_log *log, enum npurt_log_level level, const char *format,
		    ...)
{
	char line[NPURT_ERROR_BYTES];
	struct timespec now;
	va_list arguments;
	int saved = errno;
	size_t used;
	int length;

	if (!npurt_log_enabled(log, level))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	used = (size_t)snprintf(line, sizeof(line), "%lld.%06ld npurt %s: ", (long long)now.tv_sec,
				now.tv_nsec / 1000, level_names[level]);
	va_start(arguments, format);
	length = vsnprintf(line + used, sizeof(line) - used, format, arguments);
	va_end(arguments);
	if (length > 0)
		used += (size_t)length;
	if (used > sizeof(line) - 1)
		used = sizeof(line) - 1;
	line[used++] = '\n';
	/* One write a line, so lines of several threads do not mix. */
	if (write(log->fd, line, used) < 0)
		errno = saved;
	errno = saved;
}
