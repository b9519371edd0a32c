// SPDX-License-Identifier: MIT
/*
 * usage: screen COLUMNS LINES SECONDS PATTERN PROGRAM [ARGUMENT]...
 *
 * Runs a program on a terminal of its own until a line of its screen matches the extended regular
 * expression and the program is silent for a moment, at most for so many seconds; then prints the
 * screen. The exit status is 0 when a line matched.
 *
 * The terminal knows what the terminfo entry "xterm" has programs send for moving, erasing and
 * repeating; colours and keys are nothing to it, and every byte is a character.
 */
#include <ctype.h>
#include <poll.h>
#include <pty.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS_MAX	256
#define LINES_MAX	128
#define PARAMETERS_MAX	8
#define SILENCE_MS	200

enum state { TEXT, ESCAPE, SEQUENCE, STRING, CHARSET };

static struct {
	char cell[LINES_MAX][COLUMNS_MAX];
	int columns, lines, column, line;
	enum state state;
	int parameter[PARAMETERS_MAX], parameters;
	char last;	/* character, for repeating */
} screen;

static int clamp(int value, int most)
{
	if (value < 0)
		return 0;
	return value > most ? most : value;
}

static void move(int line, int column)
{
	screen.line = clamp(line, screen.lines - 1);
	screen.column = clamp(column, screen.columns - 1);
}

static void blank(int line, int first, int count)
{
	first = clamp(first, screen.columns);
	memset(&screen.cell[line][first], ' ', (size_t)clamp(count, screen.columns - first));
}

static void line_feed(void)
{
	if (screen.line < screen.lines - 1) {
		screen.line++;
		return;
	}
	memmove(screen.cell[0], screen.cell[1],
		sizeof(screen.cell[0]) * (size_t)(screen.lines - 1));
	blank(screen.lines - 1, 0, screen.columns);
}

static void put(char character)
{
	if (screen.column >= screen.columns) {
		screen.column = 0;
		line_feed();
	}
	screen.cell[screen.line][screen.column++] = character;
	screen.last = character;
}

static void erase_display(int how)
{
	if (how == 0)
		blank(screen.line, screen.column, screen.columns);
	else if (how == 1)
		blank(screen.line, 0, screen.column + 1);
	for (int line = 0; line < screen.lines; line++) {
		if (how == 2 || (how == 0 && line > screen.line) ||
		    (how == 1 && line < screen.line))
			blank(line, 0, screen.columns);
	}
}

static void erase_line(int how)
{
	int first = how == 0 ? screen.column : 0;
	int end = how == 1 ? screen.column + 1 : screen.columns;

	blank(screen.line, first, end - first);
}

static void sequence(char final)
{
	int first = screen.parameter[0];
	int count = first ? first : 1;

	switch (final) {
	case 'A': move(screen.line - count, screen.column); break;
	case 'B': move(screen.line + count, screen.column); break;
	case 'C': move(screen.line, screen.column + count); break;
	case 'D': move(screen.line, screen.column - count); break;
	case 'G': move(screen.line, count - 1); break;
	case 'd': move(count - 1, screen.column); break;
	case 'f':
	case 'H':
		move(count - 1, screen.parameter[1] ? screen.parameter[1] - 1 : 0);
		break;
	case 'J': erase_display(first); break;
	case 'K': erase_line(first); break;
	case 'X': blank(screen.line, screen.column, count); break;
	case 'P':
		count = clamp(count, screen.columns - screen.column);
		memmove(&screen.cell[screen.line][screen.column],
			&screen.cell[screen.line][screen.column + count],
			(size_t)(screen.columns - screen.column - count));
		blank(screen.line, screen.columns - count, count);
		break;
	case '@':
		count = clamp(count, screen.columns - screen.column);
		memmove(&screen.cell[screen.line][screen.column + count],
			&screen.cell[screen.line][screen.column],
			(size_t)(screen.columns - screen.column - count));
		blank(screen.line, screen.column, count);
		break;
	case 'b':
		for (int i = 0; i < count && i < screen.columns; i++)
			put(screen.last);
		break;
	default:
		break;
	}
}

static void control(char byte)
{
	switch (byte) {
	case '\r': screen.column = 0; break;
	case '\n': line_feed(); break;
	case '\b': move(screen.line, screen.column - 1); break;
	case '\t': move(screen.line, (screen.column / 8 + 1) * 8); break;
	default: break;
	}
}

static void parameter(char byte)
{
	int *value = &screen.parameter[screen.parameters];

	if (byte == ';' && screen.parameters < PARAMETERS_MAX - 1)
		screen.parameters++;
	else if (isdigit((unsigned char)byte) && *value < 10000)
		*value = *value * 10 + (byte - '0');
}

static void take(char byte)
{
	switch (screen.state) {
	case TEXT:
		if (byte == '\033')
			screen.state = ESCAPE;
		else if ((unsigned char)byte < ' ' || byte == 0x7f)
			control(byte);
		else
			put(byte);
		return;
	case ESCAPE:
		memset(screen.parameter, 0, sizeof(screen.parameter));
		screen.parameters = 0;
		screen.state = byte == '[' ? SEQUENCE : byte == ']' ? STRING :
			       strchr("()*+", byte) ? CHARSET : TEXT;
		return;
	case SEQUENCE:
		if (byte >= 0x40 && byte < 0x7f) {
			screen.state = TEXT;
			sequence(byte);
		} else {
			parameter(byte);
		}
		return;
	case STRING:
		if (byte == '\a')
			screen.state = TEXT;
		return;
	default:
		screen.state = TEXT;
		return;
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* A line without the blanks at its end. */
static const char *text_of(int line)
{
	static char text[COLUMNS_MAX + 1];
	int length = screen.columns;

	while (length && screen.cell[line][length - 1] == ' ')
		length--;
	memcpy(text, screen.cell[line], (size_t)length);
	text[length] = 0;
	return text;
}

static bool matches(const regex_t *pattern)
{
	for (int line = 0; line < screen.lines; line++) {
		if (!regexec(pattern, text_of(line), 0, NULL, 0))
			return true;
	}
	return false;
}

static bool watch(int fd, const regex_t *pattern, int64_t end)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char bytes[4096];

	while (now_ms() < end) {
		ssize_t got;

		if (poll(&poll_fd, 1, SILENCE_MS) <= 0) {
			if (matches(pattern))
				return true;
			continue;
		}
		got = read(fd, bytes, sizeof(bytes));
		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got; i++)
			take(bytes[i]);
	}
	return matches(pattern);
}

int main(int argc, char **argv)
{
	struct winsize size = { 0 };
	regex_t pattern;
	bool matched;
	pid_t child;
	int fd;

	if (argc < 6 || regcomp(&pattern, argv[4], REG_EXTENDED | REG_NOSUB)) {
		fputs("usage: screen COLUMNS LINES SECONDS PATTERN PROGRAM [ARGUMENT]...\n", stderr);
		return 2;
	}
	screen.columns = clamp(atoi(argv[1]), COLUMNS_MAX);
	screen.lines = clamp(atoi(argv[2]), LINES_MAX);
	size.ws_col = (unsigned short)screen.columns;
	size.ws_row = (unsigned short)screen.lines;
	erase_display(2);
	child = forkpty(&fd, NULL, NULL, &size);
	if (child < 0) {
		perror("screen: no terminal");
		return 1;
	}
	if (!child) {
		setenv("TERM", "xterm", 1);
		execvp(argv[5], argv + 5);
		perror(argv[5]);
		_exit(127);
	}
	matched = watch(fd, &pattern, now_ms() + atoi(argv[3]) * 1000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int line = 0; line < screen.lines; line++)
		puts(text_of(line));
	regfree(&pattern);
	return !matched;
}
