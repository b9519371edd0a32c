// SPDX-License-Identifier: MIT
/*
 * A sample as lines of comma-separated values (RFC 4180, lines end with a line feed). Every row has
 * all columns; those that say nothing of its kind are empty.
 */
#include <inttypes.h>
#include <math.h>

#include "event.h"
#include "view.h"

enum column {
	TIME,
	KIND,
	DEVICE,
	PID,
	USER,
	NAME,
	STATE,
	NUMBER,
	PRIORITY,
	UTILIZATION,
	MAC,
	VECTOR,
	DMA,
	STALL,
	PER_SECOND,
	FAILED_PER_SECOND,
	P50_NS,
	P99_NS,
	MEMORY_BYTES,
	DEPTH,
	CAPACITY,
	HIGH_WATER,
	OLDEST_NS,
	TOTAL,
	FAILED,
	BUSY,
	CLOCK_HZ,
	RESETS,
	COLUMNS
};

static const char *const names[COLUMNS] = {
	[TIME] = "time_ns",
	[KIND] = "kind",
	[DEVICE] = "device",
	[PID] = "pid",
	[USER] = "user",
	[NAME] = "name",
	[STATE] = "state",
	[NUMBER] = "number",
	[PRIORITY] = "priority",
	[UTILIZATION] = "utilization",
	[MAC] = "mac",
	[VECTOR] = "vector",
	[DMA] = "dma",
	[STALL] = "stall",
	[PER_SECOND] = "per_second",
	[FAILED_PER_SECOND] = "failed_per_second",
	[P50_NS] = "p50_ns",
	[P99_NS] = "p99_ns",
	[MEMORY_BYTES] = "memory_bytes",
	[DEPTH] = "depth",
	[CAPACITY] = "capacity",
	[HIGH_WATER] = "high_water",
	[OLDEST_NS] = "oldest_ns",
	[TOTAL] = "total",
	[FAILED] = "failed",
	[BUSY] = "busy",
	[CLOCK_HZ] = "clock_hz",
	[RESETS] = "resets",
};

/* A line in the making; what has not been set is empty. */
struct line {
	const char *text[COLUMNS];
	char figure[COLUMNS][32];
};

static void set_count(struct line *line, enum column column, uint64_t count)
{
	snprintf(line->figure[column], sizeof(line->figure[column]), "%" PRIu64, count);
	line->text[column] = line->figure[column];
}

static void set_known(struct line *line, enum column column, uint64_t number)
{
	if (number != TOP_UNKNOWN)
		set_count(line, column, number);
}

static void set_figure(struct line *line, enum column column, double value)
{
	if (!isfinite(value))
		return;
	snprintf(line->figure[column], sizeof(line->figure[column]), "%.6g", value);
	line->text[column] = line->figure[column];
}

static void write_field(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static bool is_text(enum column column)
{
	return column == KIND || column == DEVICE || column == USER || column == NAME ||
	       column == STATE;
}

static void write_line(FILE *file, const struct line *line)
{
	for (enum column column = 0; column < COLUMNS; column++) {
		if (column)
			fputc(',', file);
		if (!line->text[column])
			continue;
		if (is_text(column))
			write_field(file, line->text[column]);
		else
			fputs(line->text[column], file);
	}
	fputc('\n', file);
}

static void begin(struct line *line, const struct top_rates *rates, const char *kind,
		  const struct top_device *device)
{
	*line = (struct line){ .text = { [KIND] = kind, [DEVICE] = device->name } };
	set_count(line, TIME, (uint64_t)rates->now->realtime_ns);
}

static void set_process(struct line *line, const struct top_process *process)
{
	set_count(line, PID, (uint64_t)process->pid);
	line->text[USER] = process->user;
}

static void write_device(FILE *file, const struct top_rates *rates, size_t index)
{
	const struct top_device *now = &rates->now->device[index];
	const struct top_device_rates *figures = &rates->device[index];
	struct line line;

	begin(&line, rates, "device", now);
	set_count(&line, PID, (uint64_t)now->pid);
	line.text[NAME] = now->config;
	line.text[STATE] = top_state_name(now->state);
	set_figure(&line, UTILIZATION, figures->use);
	set_figure(&line, MAC, figures->mac);
	set_figure(&line, VECTOR, figures->vector);
	set_figure(&line, DMA, figures->dma);
	set_figure(&line, STALL, figures->stall);
	set_figure(&line, PER_SECOND, figures->tasks);
	if (now->has_counters)
		set_count(&line, TOTAL, now->tasks);
	set_figure(&line, BUSY, figures->busy);
	set_known(&line, MEMORY_BYTES, now->driver_says.memory_bytes);
	set_known(&line, CLOCK_HZ, now->driver_says.clock_hz);
	set_known(&line, RESETS, now->driver_says.resets);
	write_line(file, &line);
}

static void write_process(FILE *file, const struct top_rates *rates, size_t index)
{
	const struct top_process *now = &rates->now->process[index];
	const struct top_process_rates *figures = &rates->process[index];
	struct line line;

	begin(&line, rates, "process", &rates->now->device[now->device]);
	set_process(&line, now);
	line.text[NAME] = now->command;
	set_figure(&line, UTILIZATION, figures->use);
	set_figure(&line, MAC, figures->mac);
	set_figure(&line, VECTOR, figures->vector);
	set_figure(&line, DMA, figures->dma);
	set_figure(&line, PER_SECOND, figures->runs);
	set_figure(&line, FAILED_PER_SECOND, figures->failed);
	set_count(&line, MEMORY_BYTES, now->memory_bytes);
	set_count(&line, TOTAL, figures->all_runs);
	set_count(&line, FAILED, figures->all_failed);
	write_line(file, &line);
}

static void write_queue(FILE *file, const struct top_rates *rates, size_t index)
{
	const struct top_process *process = &rates->now->process[rates->now->queue[index].process];
	const struct npurt_stats_queue *now = &rates->now->queue[index].row;
	const struct top_queue_rates *figures = &rates->queue[index];
	struct line line;

	begin(&line, rates, "queue", &rates->now->device[process->device]);
	set_process(&line, process);
	line.text[STATE] = now->error ? "stopped" : "well";
	set_count(&line, NUMBER, now->number);
	set_count(&line, PRIORITY, now->priority);
	set_figure(&line, PER_SECOND, figures->completed);
	set_figure(&line, FAILED_PER_SECOND, figures->refused + figures->timed_out);
	set_figure(&line, P50_NS, figures->wait.p50_ns);
	set_figure(&line, P99_NS, figures->wait.p99_ns);
	set_count(&line, MEMORY_BYTES, now->memory_bytes);
	set_count(&line, DEPTH, now->depth);
	set_count(&line, CAPACITY, now->capacity);
	set_count(&line, HIGH_WATER, now->counts.high_water);
	set_count(&line, OLDEST_NS, now->oldest_ns);
	set_count(&line, TOTAL, now->completed);
	set_count(&line, FAILED, now->counts.refused + now->counts.timed_out);
	write_line(file, &line);
}

static void write_model(FILE *file, const struct top_rates *rates, size_t index)
{
	const struct top_process *process = &rates->now->process[rates->now->model[index].process];
	const struct npurt_stats_model *now = &rates->now->model[index].row;
	const struct top_model_rates *figures = &rates->model[index];
	struct line line;

	begin(&line, rates, now->kind == NPURT_STATS_GRAPH ? "graph" : "model",
	      &rates->now->device[process->device]);
	set_process(&line, process);
	line.text[NAME] = now->name;
	set_count(&line, NUMBER, now->number);
	set_figure(&line, UTILIZATION, figures->use);
	set_figure(&line, MAC, figures->mac);
	set_figure(&line, DMA, figures->dma);
	set_figure(&line, STALL, figures->stall);
	set_figure(&line, PER_SECOND, figures->runs);
	set_figure(&line, FAILED_PER_SECOND, figures->failed);
	set_figure(&line, P50_NS, figures->latency.p50_ns);
	set_figure(&line, P99_NS, figures->latency.p99_ns);
	set_count(&line, MEMORY_BYTES, now->memory_bytes);
	set_count(&line, TOTAL, now->counts.runs);
	set_count(&line, FAILED, now->counts.failed);
	write_line(file, &line);
}

/* Of the time when it came, which no sample has. */
static void write_event(FILE *file, const struct top_event *event)
{
	struct line line = { .text = { [KIND] = "event", [DEVICE] = event->device } };

	set_count(&line, TIME, (uint64_t)event->realtime_ns);
	line.text[NAME] = event->text;
	line.text[STATE] = top_event_kind_name(event->kind);
	set_count(&line, NUMBER, event->number);
	write_line(file, &line);
}

static void write_events(FILE *file, const struct top_sample *now, const struct top_wish *wish,
			 uint64_t *last)
{
	for (size_t i = 0; i < now->events; i++) {
		const struct top_event *event = &now->event[i];

		if (event->number <= *last)
			continue;
		*last = event->number;
		if (top_is_wanted_event(event, now, wish))
			write_event(file, event);
	}
}

static bool is_wanted(const struct top_rates *rates, const struct top_wish *wish, size_t process)
{
	const struct top_sample *now = rates->now;

	return top_is_wanted_device(&now->device[now->process[process].device], wish);
}

void top_view_csv(FILE *file, const struct top_rates *rates, const struct top_wish *wish,
		  bool header, uint64_t *event)
{
	const struct top_sample *now = rates->now;
	size_t i;

	for (i = 0; header && i < COLUMNS; i++)
		fprintf(file, "%s%s", names[i], i + 1 < COLUMNS ? "," : "\n");
	for (i = 0; i < now->devices; i++) {
		if (top_is_wanted_device(&now->device[i], wish))
			write_device(file, rates, i);
	}
	for (i = 0; i < now->processes; i++) {
		if (is_wanted(rates, wish, i))
			write_process(file, rates, i);
	}
	for (i = 0; i < now->queues; i++) {
		if (is_wanted(rates, wish, now->queue[i].process))
			write_queue(file, rates, i);
	}
	for (i = 0; i < now->models; i++) {
		if (is_wanted(rates, wish, now->model[i].process))
			write_model(file, rates, i);
	}
	write_events(file, now, wish, event);
}
