/* SPDX-License-Identifier: MIT */
/*
 * Failing with a sentence, and the log.
 */
#ifndef NPURT_ERROR_H
#define NPURT_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define NPURT_ERROR_BYTES 1024

#define NPURT_PRINTF(string, first) __attribute__((format(printf, string, first)))

/**
 * npurt_fail() - set the calling thread's sentence
 * @error: negative errno
 * @format: what, where, why, and what to do; no full stop at its end
 *
 * Return: @error, so that a failing function can `return npurt_fail(...)`.
 */
int npurt_fail(int error, const char *format, ...) NPURT_PRINTF(2, 3);

/**
 * npurt_fail_after() - put more in front of the sentence that is there
 *
 * Return: @error.
 */
int npurt_fail_after(int error, const char *format, ...) NPURT_PRINTF(2, 3);

enum npurt_log_level {
	NPURT_LOG_ERROR = 0,
	NPURT_LOG_WARNING = 1,
	NPURT_LOG_INFO = 2,
	NPURT_LOG_DEBUG = 3,
};

/* Where NPURT_LOG asked to write; @fd is -1 when nowhere. */
struct npurt_log {
	int fd;
	int level;
	int owned; /* @fd is ours to close */
};

/**
 * npurt_log_open() - set up a log by the environment
 *
 * What cannot be understood or opened means no log: a log must not stop the work.
 */
void npurt_log_open(struct npurt_log *log);

/**
 * npurt_log_close() - the opposite
 */
void npurt_log_close(struct npurt_log *log);

static inline int npurt_log_enabled(const struct npurt_log *log, enum npurt_log_level level)
{
	return log->fd >= 0 && (int)level <= log->level;
}

/**
 * npurt_log_line() - write one line, if the level is asked for; any thread
 */
void npurt_log_line(const struct npurt_log *log, enum npurt_log_level level, const char *format,
		    ...) NPURT_PRINTF(3, 4);

#endif /* NPURT_ERROR_H */
