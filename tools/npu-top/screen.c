// SPDX-License-Identifier: MIT
/* The terminal: what is drawn, and what keys and mouse do. */
#include "screen.h"

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "end_process.h"
#include "table.h"

enum mode {
	MODE_LOOK,
	MODE_FILTER, /* a filter is typed */
	MODE_END, /* shall this process be ended? */
	MODE_HELP,
};

struct screen {
	struct top_monitor *monitor;
	struct top_options *options;
	struct top_rows rows;
	struct top_table table;
	enum mode mode;
	bool paused, done;
	bool colour;
	size_t selected; /* of the rows */
	size_t scrolled; /* rows above the first that is seen */
	size_t rows_top; /* line of the screen where rows begin */
	char message[200]; /* at the bottom, until the next key */
	struct top_process ending;
};

static const char *const help[] = {
	"Keys",
	"",
	"  q, F10        leave                   space    stop and go on",
	"  up, down, page up and down            select a row; mouse wheel and click too",
	"  P M N T E L   sort by NPU%, memory, PID, runs a second, failures, latency (P99)",
	"  < >           sort by the column to the left, to the right; click on its head",
	"  r             the other way round     t        models below their processes",
	"  /             filter by a text        i        leave out what does nothing",
	"  k, F9         end the selected row's process, when it is yours",
	"  + -           longer and shorter between samples",
	"  e             show and hide the last events of cards, at the bottom",
	"  h, F1, ?      this page",
	"",
	"Columns",
	"",
	"  NPU%     share of the device's time     RUN/s  runs that ended, a second",
	"  P50 P99  submission until its end is seen, of the runs between two samples",
	"  WAIT     behind others of its queue     HIGH   most tasks ever in flight",
	"  REFUS/s  submissions that a full queue refused or that timed out",
	"  time     device seconds in a second (of a model; its time stands when it rests)",
	"",
	"Any key goes back.",
};

/* --------------------------------------------------------------------- drawing */

static attr_t style_of(const struct screen *screen, enum top_style style)
{
	switch (style) {
	case TOP_TITLE:
		return A_BOLD | (screen->colour ? COLOR_PAIR(1) : 0);
	case TOP_HEADER:
		return screen->colour ? COLOR_PAIR(2) : A_REVERSE;
	case TOP_BAD:
		return A_BOLD | (screen->colour ? COLOR_PAIR(3) : 0);
	case TOP_DIM:
		return A_DIM;
	default:
		return A_NORMAL;
	}
}

static void draw_text(int y, attr_t style, const char *text)
{
	attrset(style);
	mvaddnstr(y, 0, text, COLS);
	/* Heads and the selection are bars from side to side. */
	if (style & A_REVERSE || style & A_COLOR) {
		int x = getcurx(stdscr);

		if (getcury(stdscr) == y && x < COLS)
			mvhline(y, x, (chtype)' ' | style, COLS - x);
	}
	attrset(A_NORMAL);
}

/* Lines above the rows, as far as half of the screen goes; devices come first. */
static size_t head_lines(const struct screen *screen)
{
	size_t lines = (size_t)LINES;
	size_t most = lines > 8 ? lines - 6 : lines;

	return screen->table.first_row < most ? screen->table.first_row : most;
}

static void draw_bottom(const struct screen *screen)
{
	char text[320];

	if (screen->mode == MODE_FILTER)
		snprintf(text, sizeof(text), "Filter: %s_   (enter: done, escape: none)",
			 screen->options->wish.filter);
	else if (screen->mode == MODE_END)
		snprintf(text, sizeof(text),
			 "End process %d (%s)? y: SIGTERM, K: SIGKILL, any other key: no",
			 (int)screen->ending.pid, screen->ending.command);
	else if (*screen->message)
		snprintf(text, sizeof(text), "%s", screen->message);
	else
		snprintf(text, sizeof(text),
			 "%sq:leave h:help space:%s P M N T E L:sort r:reverse /:filter t:tree "
			 "i:idle e:events k:end +-:interval",
			 screen->paused ? "STOPPED " : "", screen->paused ? "go on" : "stop");
	draw_text(LINES - 1, A_REVERSE, text);
}

static void draw_help(const struct top_sample *now)
{
	size_t i;

	for (i = 0; i < sizeof(help) / sizeof(help[0]) && (int)i < LINES; i++)
		draw_text((int)i, i ? A_NORMAL : A_BOLD, help[i]);
	if (*now->events_missing && (int)i < LINES)
		mvprintw((int)i, 0, "Events: %.*s", COLS, now->events_missing);
}

static void keep_selection_seen(struct screen *screen, size_t room)
{
	if (screen->rows.count && screen->selected >= screen->rows.count)
		screen->selected = screen->rows.count - 1;
	if (screen->selected < screen->scrolled)
		screen->scrolled = screen->selected;
	if (room && screen->selected >= screen->scrolled + room)
		screen->scrolled = screen->selected - room + 1;
	if (!screen->rows.count)
		screen->selected = screen->scrolled = 0;
}

static void draw_rows(struct screen *screen, size_t room)
{
	size_t i, row;

	keep_selection_seen(screen, room);
	for (i = 0; i < room && screen->scrolled + i < screen->rows.count; i++) {
		const struct top_line *line;
		attr_t style;

		row = screen->scrolled + i;
		line = &screen->table.line[screen->table.first_row + row];
		style = row == screen->selected ? A_REVERSE : style_of(screen, line->style);
		draw_text((int)(screen->rows_top + i), style, line->text);
	}
}

/* Above the bottom, on at most a quarter of the screen: the newest ones. */
static void draw_events(const struct screen *screen, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct top_line *line = &screen->table.line[screen->table.count - count + i];

		draw_text(LINES - 1 - (int)(count - i), style_of(screen, line->style), line->text);
	}
}

static void draw(struct screen *screen)
{
	size_t head, room, events, i;

	erase();
	if (screen->mode == MODE_HELP) {
		draw_help(screen->monitor->now);
		refresh();
		return;
	}
	head = head_lines(screen);
	screen->rows_top = head;
	room = (size_t)LINES > head + 1 ? (size_t)LINES - head - 1 : 0;
	events = screen->table.count - screen->table.first_event;
	events = events < (size_t)LINES / 4 ? events : (size_t)LINES / 4;
	events = events < room ? events : room;
	room -= events;
	/* The rows' head is the last of them, whatever had to be left out before. */
	for (i = 0; i < head; i++) {
		size_t from = i + 1 < head ? i : screen->table.first_row - 1;

		draw_text((int)i, style_of(screen, screen->table.line[from].style),
			  screen->table.line[from].text);
	}
	draw_rows(screen, room);
	draw_events(screen, events);
	draw_bottom(screen);
	refresh();
}

/* Rows and lines of the newest sample, as the user wants them now. */
static void lay_out(struct screen *screen)
{
	top_table_free(&screen->table);
	top_rows_free(&screen->rows);
	top_rows_make(&screen->rows, &screen->monitor->rates, &screen->options->wish);
	top_table_make(&screen->table, &screen->monitor->rates, &screen->rows,
		       &screen->options->wish, screen->options->seconds, (size_t)COLS);
}

/* ------------------------------------------------------------------------- keys */

static const struct top_process *selected_process(const struct screen *screen)
{
	if (screen->selected >= screen->rows.count)
		return NULL;
	return &screen->monitor->now->process[screen->rows.row[screen->selected].process];
}

static void ask_to_end(struct screen *screen)
{
	const struct top_process *process = selected_process(screen);

	if (!process)
		return;
	screen->ending = *process;
	if (process->ours)
		screen->mode = MODE_END;
	else
		top_end_process(process, 0, screen->message, sizeof(screen->message));
}

static void answer_end(struct screen *screen, int key)
{
	screen->mode = MODE_LOOK;
	if (key == 'y' || key == 'K')
		top_end_process(&screen->ending, key == 'K' ? SIGKILL : SIGTERM, screen->message,
				sizeof(screen->message));
}

static void type_filter(struct screen *screen, int key)
{
	char *filter = screen->options->wish.filter;
	size_t length = strlen(filter);

	if (key == '\n' || key == KEY_ENTER) {
		screen->mode = MODE_LOOK;
	} else if (key == 27) {
		*filter = 0;
		screen->mode = MODE_LOOK;
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		if (length)
			filter[length - 1] = 0;
	} else if (key >= ' ' && key <= '~' && length + 1 < sizeof(screen->options->wish.filter)) {
		filter[length] = (char)key;
		filter[length + 1] = 0;
	}
}

static void sort_by(struct screen *screen, enum top_sort sort)
{
	struct top_wish *wish = &screen->options->wish;

	wish->reverse = wish->sort == sort ? !wish->reverse : false;
	wish->sort = sort;
}

static void select_row(struct screen *screen, long by)
{
	long to = (long)screen->selected + by, last = (long)screen->rows.count - 1;

	to = to > last ? last : to;
	screen->selected = to < 0 ? 0 : (size_t)to;
}

static void click(struct screen *screen)
{
	MEVENT event;
	size_t y;

	if (getmouse(&event) != OK)
		return;
	y = (size_t)event.y;
#ifdef BUTTON5_PRESSED
	if (event.bstate & BUTTON4_PRESSED) {
		select_row(screen, -3);
		return;
	}
	if (event.bstate & BUTTON5_PRESSED) {
		select_row(screen, 3);
		return;
	}
#endif
	if (!(event.bstate & (BUTTON1_CLICKED | BUTTON1_PRESSED)))
		return;
	if (y + 1 == screen->rows_top) {
		enum top_sort sort = top_sort_at((size_t)event.x);

		if (sort != TOP_SORTS)
			sort_by(screen, sort);
	} else if (y >= screen->rows_top &&
		   y - screen->rows_top + screen->scrolled < screen->rows.count) {
		screen->selected = y - screen->rows_top + screen->scrolled;
	}
}

static void change_interval(struct screen *screen, double factor)
{
	double seconds = screen->options->seconds * factor;

	if (seconds >= 0.1 && seconds <= 3600)
		screen->options->seconds = seconds;
}

/* Keys that sort, as in top: upper case. */
static bool is_sort_key(struct screen *screen, int key)
{
	static const struct {
		int key;
		enum top_sort sort;
	} keys[] = {
		{ 'P', TOP_SORT_USE },	{ 'M', TOP_SORT_MEMORY }, { 'N', TOP_SORT_PID },
		{ 'T', TOP_SORT_RUNS }, { 'E', TOP_SORT_FAILED }, { 'L', TOP_SORT_LATENCY },
	};
	enum top_sort sort = screen->options->wish.sort;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (key == keys[i].key) {
			sort_by(screen, keys[i].sort);
			return true;
		}
	}
	if (key != '<' && key != '>')
		return false;
	screen->options->wish.sort =
		(enum top_sort)(((int)sort + (key == '>' ? 1 : TOP_SORTS - 1)) % TOP_SORTS);
	return true;
}

static void look_key(struct screen *screen, int key)
{
	struct top_wish *wish = &screen->options->wish;
	long page = LINES / 2;

	if (is_sort_key(screen, key))
		return;
	switch (key) {
	case 'q':
	case 'Q':
	case KEY_F(10):
		screen->done = true;
		break;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case 'h':
	case '?':
	case KEY_F(1):
		screen->mode = MODE_HELP;
		break;
	case 'r':
	case 'R':
		wish->reverse = !wish->reverse;
		break;
	case 't':
	case KEY_F(5):
		wish->tree = !wish->tree;
		break;
	case 'e':
		wish->hide_events = !wish->hide_events;
		break;
	case 'i':
		wish->hide_idle = !wish->hide_idle;
		break;
	case '/':
	case KEY_F(4):
		screen->mode = MODE_FILTER;
		break;
	case 'k':
	case KEY_F(9):
		ask_to_end(screen);
		break;
	case '+':
		change_interval(screen, 2);
		break;
	case '-':
		change_interval(screen, 0.5);
		break;
	case KEY_UP:
		select_row(screen, -1);
		break;
	case KEY_DOWN:
		select_row(screen, 1);
		break;
	case KEY_PPAGE:
		select_row(screen, -page);
		break;
	case KEY_NPAGE:
		select_row(screen, page);
		break;
	case KEY_MOUSE:
		click(screen);
		break;
	}
}

static void take_key(struct screen *screen, int key)
{
	*screen->message = 0;
	switch (screen->mode) {
	case MODE_HELP:
		screen->mode = MODE_LOOK;
		break;
	case MODE_FILTER:
		type_filter(screen, key);
		break;
	case MODE_END:
		answer_end(screen, key);
		break;
	default:
		look_key(screen, key);
	}
}

/* ---------------------------------------------------------------------- running */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void set_up(struct screen *screen)
{
	setlocale(LC_CTYPE, "");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	/* Keys that curses holds come first; what is waited for is input that it has not read. */
	nodelay(stdscr, TRUE);
	mousemask(ALL_MOUSE_EVENTS, NULL);
	mouseinterval(0);
	screen->colour = screen->options->colour && has_colors() && start_color() == OK;
	if (!screen->colour)
		return;
	use_default_colors();
	init_pair(1, COLOR_CYAN, -1);
	init_pair(2, COLOR_BLACK, COLOR_GREEN);
	init_pair(3, COLOR_RED, -1);
}

static void loop(struct screen *screen)
{
	double next = now();
	unsigned long taken = 0;

	while (!screen->done) {
		double wait = next - now();
		int key;

		if (wait <= 0) {
			if (!screen->paused)
				top_monitor_take(screen->monitor);
			taken++;
			if (screen->options->count && taken > screen->options->count)
				return;
			lay_out(screen);
			/* The first one alone tells of no rates. */
			wait = taken == 1 && screen->options->seconds > 0.3 ?
				       0.3 :
				       screen->options->seconds;
			next = now() + wait;
		}
		draw(screen);
		key = getch();
		if (key == ERR) {
			if (top_monitor_wait(screen->monitor, STDIN_FILENO, wait))
				lay_out(screen);
			continue;
		}
		if (key != KEY_RESIZE)
			take_key(screen, key);
		lay_out(screen);
	}
}

int top_screen_run(struct top_monitor *monitor, struct top_options *options)
{
	struct screen screen = { .monitor = monitor, .options = options };
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal) {
		fputs("npu-top: this terminal is unknown to curses: set TERM, or use -b\n", stderr);
		return 1;
	}
	set_up(&screen);
	loop(&screen);
	endwin();
	delscreen(terminal);
	top_table_free(&screen.table);
	top_rows_free(&screen.rows);
	return 0;
}
