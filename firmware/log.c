// SPDX-License-Identifier: MIT
/*
 * The log.
 */
#include "log.h"

_Static_assert((LOG_BYTES & (LOG_BYTES - 1)) == 0, "positions in the ring are masked");

/* Digits of a 64-bit number. */
#define DIGITS_MAX	20

/* Outside of what the start-up code clears: 16 KiB of zeros would only cost time. */
struct log_ring log_ring __attribute__((section(".noinit")));

static u32 cycles_per_microsecond;

struct line {
	char text[LOG_LINE_MAX];
	u32 length;
};

void log_init(u32 megahertz)
{
	cycles_per_microsecond = megahertz;
	log_ring.header.bytes = LOG_BYTES;
	log_ring.header.end = 0;
	log_ring.header.full = 0;
	log_ring.header.magic = NPU_LOG_MAGIC;
}

static void line_put(struct line *line, char character)
{
	/* One byte stays free for the end of the line. */
	if (line->length < LOG_LINE_MAX - 1)
		line->text[line->length++] = character;
}

static void line_put_text(struct line *line, const char *text)
{
	for (u32 i = 0; i < LOG_LINE_MAX && text[i]; i++)
		line_put(line, text[i]);
}

/* By digits of 16 bits, so that the core's own division does. Returns the remainder. */
static u32 divide(u64 *value, u32 divisor)
{
	u64 quotient = 0;
	u32 remainder = 0;

	for (unsigned int i = 0; i < 4; i++) {
		u32 part = remainder << 16 | (u32)(*value >> 48);

		*value <<= 16;
		quotient = quotient << 16 | part / divisor;
		remainder = part % divisor;
	}
	*value = quotient;
	return remainder;
}

static void line_put_decimal(struct line *line, u64 value)
{
	char digits[DIGITS_MAX];
	u32 count = 0;

	do {
		digits[count++] = (char)('0' + divide(&value, 10));
	} while (value && count < DIGITS_MAX);
	while (count)
		line_put(line, digits[--count]);
}

static void line_put_hexadecimal(struct line *line, u32 value)
{
	line_put_text(line, "0x");
	for (unsigned int i = 0; i < 8; i++) {
		line_put(line, "0123456789abcdef"[value >> 28]);
		value <<= 4;
	}
}

static void ring_put(const struct line *line)
{
	u32 end = log_ring.header.end;

	for (u32 i = 0; i < line->length; i++)
		log_ring.text[(end + i) & (LOG_BYTES - 1)] = line->text[i];
	if ((end & (LOG_BYTES - 1)) + line->length >= LOG_BYTES)
		log_ring.header.full = 1;
	log_ring.header.end = end + line->length;
}

static void line_format(struct line *line, const char *format, const u32 *value)
{
	for (u32 i = 0; i < LOG_LINE_MAX && format[i]; i++) {
		if (format[i] != '%') {
			line_put(line, format[i]);
			continue;
		}
		i++;
		if (format[i] == 'u')
			line_put_decimal(line, *value++);
		else
			line_put_hexadecimal(line, *value++);
	}
}

void log_write(enum log_level level, const char *format, u32 first, u32 second, u32 third)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	const u32 value[] = { first, second, third };
	struct line line;
	u64 time;

	if (level > LOG_LEVEL)
		return;
	line.length = 0;
	time = log_time();
	divide(&time, cycles_per_microsecond);
	line_put_decimal(&line, time);
	line_put_text(&line, " us ");
	line_put_text(&line, names[level]);
	line_put_text(&line, ": ");
	line_format(&line, format, value);
	line.text[line.length++] = '\n';
	ring_put(&line);
}

/* After an overwritten beginning the first line is a torn one. */
static u32 oldest_line(void)
{
	u32 end = log_ring.header.end;
	u32 start = end - LOG_BYTES;

	if (!log_ring.header.full)
		return 0;
	for (u32 i = 0; i < LOG_LINE_MAX && start != end; i++) {
		if (log_ring.text[start++ & (LOG_BYTES - 1)] == '\n')
			break;
	}
	return start;
}

u32 log_read(u32 start, char *text, u32 *next)
{
	u32 end = log_ring.header.end;
	u32 held = log_ring.header.full ? LOG_BYTES : end;
	u32 bytes;

	if (end - start > held)
		start = oldest_line();
	bytes = end - start;
	if (bytes > LOG_READ_MAX)
		bytes = LOG_READ_MAX;
	for (u32 i = 0; i < bytes; i++)
		text[i] = log_ring.text[(start + i) & (LOG_BYTES - 1)];
	*next = start + bytes;
	return bytes;
}
