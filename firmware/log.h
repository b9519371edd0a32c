/* SPDX-License-Identifier: MIT */
/*
 * The log: lines of text in a ring in TCM, the oldest overwritten first. The host reads it by
 * NPU_MESSAGE_LOG_READ, a debugger through NPU_REG_CORE_LOG. No use of hardware here.
 */
#ifndef FIRMWARE_LOG_H
#define FIRMWARE_LOG_H

#include "npu/npu_mailbox.h"
#include "types.h"

enum log_level {
	LOG_ERROR,
	LOG_WARNING,
	LOG_INFO,
	LOG_DEBUG,
};

/* Lines above this level are not recorded. */
#ifndef LOG_LEVEL
#define LOG_LEVEL	LOG_INFO
#endif

#define LOG_BYTES	16384	/* of text; a power of two */
#define LOG_LINE_MAX	96	/* what does not fit into a line is cut off */
#define LOG_READ_MAX	40	/* bytes of text in a message */

struct log_ring {
	struct npu_log_ring header;
	char text[LOG_BYTES];
};

extern struct log_ring log_ring;

/**
 * log_init() - empty the log
 * @megahertz:	cycles a microsecond, 1..65535
 */
void log_init(u32 megahertz);

/**
 * log_time() - device cycles; whoever links the log supplies it
 */
u64 log_time(void);

/**
 * log_write() - add a line: time in microseconds, level, text
 * @format:	text in which each %u (decimal) and %x (hexadecimal) takes the next of the values
 */
void log_write(enum log_level level, const char *format, u32 first, u32 second, u32 third);

/**
 * log_read() - copy text out
 * @start:	number of the first byte wanted, counted since boot. What is not there (any more,
 *		or yet) means: from the oldest whole line.
 * @text:	room for LOG_READ_MAX bytes
 * @next:	set to the number of the byte after those copied
 *
 * Returns the bytes copied; 0 when @start is the end of the log.
 */
u32 log_read(u32 start, char *text, u32 *next);

#endif /* FIRMWARE_LOG_H */
