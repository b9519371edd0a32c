// SPDX-License-Identifier: MIT
/* A sample as lines of text. 80 columns hold what matters; wider ones get more. */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format.h"
#include "verdict.h"

#define WIDE 120
#define INDENT 2

/* Figures live to the end of the expression they are made in. */
#define TIME(ns) top_time(ns).text
#define BYTES(bytes) top_bytes(bytes).text
#define COUNT(count) top_count(count).text
#define PERCENT(share) top_percent(share).text

static struct top_line *add_line(struct top_table *table, enum top_style style)
{
	struct top_line *line;

	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 64;

		line = realloc(table->line, room * sizeof(*line));
		if (!line) {
			fputs("npu-top: out of memory\n", stderr);
			exit(1);
		}
		table->line = line;
		table->room = room;
	}
	line = &table->line[table->count++];
	memset(line, 0, sizeof(*line));
	line->style = style;
	line->row = TOP_NO_ROW;
	return line;
}

__attribute__((format(printf, 4, 5))) static struct top_line *
print(struct top_table *table, enum top_style style, size_t width, const char *format, ...)
{
	struct top_line *line = add_line(table, style);
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
	if (width < sizeof(line->text))
		line->text[width] = 0;
	length = strlen(line->text);
	while (length && line->text[length - 1] == ' ')
		line->text[--length] = 0;
	return line;
}

/* A sentence on as many lines as it takes: what to do stands at its end. */
static void print_sentence(struct top_table *table, enum top_style style, size_t width,
			   const char *text)
{
	size_t room = width > INDENT + 1 ? width - INDENT : 1;

	while (*text) {
		size_t length = strlen(text), part = length;

		if (length > room) {
			part = room;
			while (part && text[part] != ' ')
				part--;
			if (!part)
				part = room;
		}
		print(table, style, width, "%*s%.*s", INDENT, "", (int)part, text);
		text += part;
		text += strspn(text, " ");
	}
}

/* ------------------------------------------------------------------------ title */

static void add_title(struct top_table *table, const struct top_sample *sample,
		      const struct top_wish *wish, double seconds, size_t width)
{
	time_t now = (time_t)(sample->realtime_ns / 1000000000);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	print(table, TOP_TITLE, width, "npu-top - %s, every %.3gs  sort %s%s%s%s%s%s%s%s", clock,
	      seconds, top_sort_name(wish->sort), wish->reverse ? " reversed" : "",
	      wish->tree ? "  tree" : "", wish->hide_idle ? "  no idle" : "",
	      wish->hide_events ? "  no events" : "",
	      *wish->filter ? "  filter '" : "", wish->filter, *wish->filter ? "'" : "");
}

/* ---------------------------------------------------------------------- devices */

static const char *bar(double share, size_t width, char *text)
{
	size_t full = share > 0 ? (size_t)(share * (double)width + 0.5) : 0;

	memset(text, ' ', width);
	memset(text, '|', full < width ? full : width);
	text[width] = 0;
	return text;
}

static double known(uint64_t number)
{
	return number == TOP_UNKNOWN ? NAN : (double)number;
}

static void owner(const struct top_device *device, char *text, size_t bytes)
{
	if (device->pid)
		snprintf(text, bytes, "of process %d", (int)device->pid);
	else
		snprintf(text, bytes, "%s", device->bus);
}

/* What its driver says of a card to everybody. */
static void add_driver_says(struct top_table *table, const struct top_device *device,
			    const struct top_device_rates *figures, size_t width)
{
	const struct top_driver_says *says = &device->driver_says;
	/* The sentence of the trouble has it. */
	bool told = device->state == TOP_RESETTING || device->state == TOP_DEAD;
	const char *failure = told ? "" : says->last_failure;
	char clock[32] = "-", resets[24] = "-", text[TOP_LINE_BYTES];

	if (!*says->state)
		return;
	if (!says->clock_hz)
		snprintf(clock, sizeof(clock), "asleep");
	else if (says->clock_hz != TOP_UNKNOWN)
		snprintf(clock, sizeof(clock), "%.0f MHz", (double)says->clock_hz / 1e6);
	if (says->resets != TOP_UNKNOWN)
		snprintf(resets, sizeof(resets), "%" PRIu64, says->resets);
	snprintf(text, sizeof(text), "driver: %s  busy%6s  memory %s  clock %s  resets %s%s%s%s",
		 says->state, PERCENT(figures->busy), BYTES(known(says->memory_bytes)), clock,
		 resets, *failure ? " (" : "", failure, *failure ? ")" : "");
	print_sentence(table, TOP_PLAIN, width, text);
}

static void add_device(struct top_table *table, const struct top_rates *rates, size_t index,
		       size_t width)
{
	const struct top_device *device = &rates->now->device[index];
	const struct top_device_rates *figures = &rates->device[index];
	size_t length = width >= WIDE ? 20 : 6;
	char mac[32], vector[32], dma[32], whose[64], what[48] = "";

	owner(device, whose, sizeof(whose));
	/* What cannot be opened does not tell. */
	if (device->clusters)
		snprintf(what, sizeof(what), "  %u clusters  %.0f MHz", device->clusters,
			 (double)device->clock_hz / 1e6);
	print(table, device->state == TOP_WELL ? TOP_PLAIN : TOP_BAD, width,
	      "%s %s  %s%s  %.16s%s%s", device->name, whose, top_state_name(device->state), what,
	      *device->firmware ? device->firmware : "firmware -", width >= WIDE ? "  " : "",
	      width >= WIDE ? device->driver : "");
	print_sentence(table, TOP_BAD, width, device->trouble);
	add_driver_says(table, device, figures, width);
	if (!device->has_counters)
		return;
	print(table, TOP_PLAIN, width, "  mac [%s]%6s  vector [%s]%6s  dma [%s]%6s  stall%6s",
	      bar(figures->mac, length, mac), PERCENT(figures->mac),
	      bar(figures->vector, length, vector), PERCENT(figures->vector),
	      bar(figures->dma, length, dma), PERCENT(figures->dma), PERCENT(figures->stall));
	print(table, TOP_PLAIN, width,
	      "  use%6s  tasks/s %s  DRAM/s read %s write %s  time %.2gx  bound by %s",
	      PERCENT(figures->use), COUNT(figures->tasks), BYTES(figures->dram_read),
	      BYTES(figures->dram_write), isnan(figures->speed) ? 0 : figures->speed,
	      top_bound_name(figures->bound));
}

/* ----------------------------------------------------------------------- queues */

static void add_queue(struct top_table *table, const struct top_rates *rates, size_t index,
		      size_t width)
{
	const struct top_queue *queue = &rates->now->queue[index];
	const struct npurt_stats_queue *row = &queue->row;
	const struct top_queue_rates *figures = &rates->queue[index];
	char depth[24];

	snprintf(depth, sizeof(depth), "%u/%u", row->depth, row->capacity);
	print(table, row->error ? TOP_BAD : TOP_PLAIN, width,
	      "%7d %5u %3u %9s %5" PRIu64 " %6s %7s %7s %7s %7s %5u %s",
	      (int)rates->now->process[queue->process].pid, row->number, row->priority, depth,
	      row->counts.high_water, COUNT(figures->completed),
	      COUNT(figures->refused + figures->timed_out), TIME(figures->wait.p50_ns),
	      TIME(figures->wait.p99_ns), row->oldest_ns ? TIME((double)row->oldest_ns) : "-",
	      row->waiting, row->error ? "stopped" : "");
}

/* Higher priorities first, then by process. */
static const struct top_sample *sorting;

static int compare_queues(const void *one, const void *other)
{
	const struct top_queue *a = &sorting->queue[*(const size_t *)one];
	const struct top_queue *b = &sorting->queue[*(const size_t *)other];
	pid_t p = sorting->process[a->process].pid, q = sorting->process[b->process].pid;

	if (a->row.priority != b->row.priority)
		return a->row.priority > b->row.priority ? -1 : 1;
	if (p != q)
		return p < q ? -1 : 1;
	return (a->row.number > b->row.number) - (a->row.number < b->row.number);
}

static void add_queues(struct top_table *table, const struct top_rates *rates,
		       const struct top_wish *wish, size_t width)
{
	const struct top_sample *now = rates->now;
	size_t *order = calloc(now->queues + 1, sizeof(*order));
	size_t i, count = 0;

	for (i = 0; order && i < now->queues; i++) {
		const struct top_process *process = &now->process[now->queue[i].process];

		if (top_is_wanted_device(&now->device[process->device], wish))
			order[count++] = i;
	}
	if (count) {
		sorting = now;
		qsort(order, count, sizeof(*order), compare_queues);
		print(table, TOP_HEADER, width, "%7s %5s %3s %9s %5s %6s %7s %7s %7s %7s %5s",
		      "PID", "QUEUE", "PRI", "DEPTH", "HIGH", "DONE/s", "REFUS/s", "WAIT50",
		      "WAIT99", "OLDEST", "WAITS");
	}
	for (i = 0; i < count; i++)
		add_queue(table, rates, order[i], width);
	free(order);
}

/* ------------------------------------------------------------- models and processes */

/* Where the columns of add_row_header() end. */
static const struct {
	size_t end;
	enum top_sort sort;
} columns[] = {
	{ 7, TOP_SORT_PID },	  { 16, TOP_SORTS },
	{ 23, TOP_SORT_USE },	  { 30, TOP_SORT_RUNS },
	{ 46, TOP_SORT_LATENCY }, { 54, TOP_SORT_MEMORY },
	{ 60, TOP_SORT_FAILED },  { TOP_LINE_BYTES, TOP_SORT_NAME },
};

enum top_sort top_sort_at(size_t column)
{
	size_t i = 0;

	while (column >= columns[i].end)
		i++;
	return columns[i].sort;
}

static void add_row_header(struct top_table *table, size_t width)
{
	struct top_line *line;

	line = print(table, TOP_HEADER, width, "%7s %-8s %6s %6s %7s %7s %7s %5s %s%s", "PID",
		     "USER", "NPU%", "RUN/s", "P50", "P99", "MEM", "ERR",
		     width >= WIDE ? "   MAC%  STALL CYCLES PRI COMMAND          " : "", "MODEL");
	line->is_row_header = true;
}

static uint32_t priority(const struct top_sample *now, const struct top_model *model)
{
	return model->queue == TOP_NO_ROW ? 0 : now->queue[model->queue].row.priority;
}

static void wide_columns(const struct top_rates *rates, size_t index, char *text, size_t bytes)
{
	const struct top_model_rates *figures = &rates->model[index];
	const struct top_model *model = &rates->now->model[index];

	snprintf(text, bytes, "%7s %6s %6s %3u %-16.16s ", PERCENT(figures->mac),
		 PERCENT(figures->stall), COUNT(figures->cycles), priority(rates->now, model),
		 rates->now->process[model->process].command);
}

static void add_model_row(struct top_table *table, const struct top_rates *rates, size_t index,
			  bool tree, size_t width)
{
	const struct top_model *model = &rates->now->model[index];
	const struct top_process *process = &rates->now->process[model->process];
	const struct top_model_rates *figures = &rates->model[index];
	char wide[80] = "";

	if (width >= WIDE)
		wide_columns(rates, index, wide, sizeof(wide));
	print(table, figures->failed > 0 ? TOP_BAD : TOP_PLAIN, width,
	      "%7d %-8.8s %6s %6s %7s %7s %7s %5s %s%s%s", (int)process->pid, process->user,
	      PERCENT(figures->use), COUNT(figures->runs), TIME(figures->latency.p50_ns),
	      TIME(figures->latency.p99_ns), BYTES((double)model->row.memory_bytes),
	      COUNT((double)model->row.counts.failed), wide, tree ? "  `- " : "", model->row.name);
}

static void add_process_row(struct top_table *table, const struct top_rates *rates, size_t index,
			    size_t width)
{
	const struct top_process *process = &rates->now->process[index];
	const struct top_process_rates *figures = &rates->process[index];
	char wide[80] = "";

	if (width >= WIDE)
		snprintf(wide, sizeof(wide), "%7s %6s %6s %3s %-16.16s ", PERCENT(figures->mac),
			 "-", "-", "-", process->command);
	print(table, figures->failed > 0 ? TOP_BAD : TOP_PLAIN, width,
	      "%7d %-8.8s %6s %6s %7s %7s %7s %5s %s(%s)", (int)process->pid, process->user,
	      PERCENT(figures->use), COUNT(figures->runs), "-", "-",
	      BYTES((double)process->memory_bytes), COUNT((double)figures->all_failed), wide,
	      process->command);
}

static void add_rows(struct top_table *table, const struct top_rates *rates,
		     const struct top_rows *rows, const struct top_wish *wish, size_t width)
{
	add_row_header(table, width);
	table->first_row = table->count;
	for (size_t i = 0; i < rows->count; i++) {
		const struct top_row *row = &rows->row[i];

		if (row->model == TOP_NO_ROW)
			add_process_row(table, rates, row->process, width);
		else
			add_model_row(table, rates, row->model, wish->tree, width);
		table->line[table->count - 1].row = i;
	}
}

static void add_none(struct top_table *table, const struct top_wish *wish, size_t width)
{
	char why[TOP_LINE_BYTES];

	if (!wish->device) {
		print(table, TOP_DIM, width,
		      "No NPU: no card with the driver npu, and no process of this user with a "
		      "sim: device.");
		return;
	}
	top_explain_missing(wish->device, why, sizeof(why));
	print(table, TOP_BAD, width, "%s:", wish->device);
	print_sentence(table, TOP_BAD, width, why);
}

static void add_event(struct top_table *table, const struct top_event *event, size_t width)
{
	time_t when = (time_t)(event->realtime_ns / 1000000000);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&when, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	print(table, event->is_bad ? TOP_BAD : TOP_PLAIN, width, "Event %s: %s%s%s", clock,
	      event->device, *event->device ? " " : "", event->text);
}

static void add_events(struct top_table *table, const struct top_sample *now,
		       const struct top_wish *wish, size_t width)
{
	table->first_event = table->count;
	for (size_t i = 0; !wish->hide_events && i < now->events; i++) {
		if (top_is_wanted_event(&now->event[i], now, wish))
			add_event(table, &now->event[i], width);
	}
}

void top_table_make(struct top_table *table, const struct top_rates *rates,
		    const struct top_rows *rows, const struct top_wish *wish, double seconds,
		    size_t width)
{
	const struct top_sample *now = rates->now;
	size_t i, shown = 0;

	memset(table, 0, sizeof(*table));
	add_title(table, now, wish, seconds, width);
	for (i = 0; i < now->devices; i++) {
		if (!top_is_wanted_device(&now->device[i], wish))
			continue;
		add_device(table, rates, i, width);
		shown++;
	}
	if (!shown)
		add_none(table, wish, width);
	for (i = 0; i < now->notes; i++)
		print(table, TOP_DIM, width, "Note: %s", now->note[i].text);
	add_queues(table, rates, wish, width);
	add_rows(table, rates, rows, wish, width);
	add_events(table, now, wish, width);
}

void top_table_free(struct top_table *table)
{
	free(table->line);
	memset(table, 0, sizeof(*table));
}
