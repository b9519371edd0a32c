// SPDX-License-Identifier: MIT
/* Which rows are shown, in which order. */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* qsort() hands nothing through. */
static const struct top_rates *sorting;
static const struct top_wish *sorting_wish;

static double known(double value)
{
	return isnan(value) ? -1 : value;
}

static double figure(const struct top_rates *rates, const struct top_row *row, enum top_sort sort)
{
	const struct top_process_rates *process = &rates->process[row->process];
	const struct top_model_rates *model =
		row->model == TOP_NO_ROW ? NULL : &rates->model[row->model];

	switch (sort) {
	case TOP_SORT_RUNS:
		return known(model ? model->runs : process->runs);
	case TOP_SORT_LATENCY:
		return known(model ? model->latency.p99_ns : NAN);
	case TOP_SORT_MEMORY:
		return model ? (double)rates->now->model[row->model].row.memory_bytes :
			       (double)rates->now->process[row->process].memory_bytes;
	case TOP_SORT_FAILED:
		return model ? (double)rates->now->model[row->model].row.counts.failed :
			       (double)process->all_failed;
	case TOP_SORT_PID:
		return -(double)rates->now->process[row->process].pid;
	default:
		return known(model ? model->use : process->use);
	}
}

static const char *name_of(const struct top_rates *rates, const struct top_row *row)
{
	if (row->model == TOP_NO_ROW)
		return rates->now->process[row->process].command;
	return rates->now->model[row->model].row.name;
}

static int compare_rows(const struct top_row *a, const struct top_row *b)
{
	double x, y;

	if (sorting_wish->sort == TOP_SORT_NAME)
		return strcmp(name_of(sorting, a), name_of(sorting, b));
	x = figure(sorting, a, sorting_wish->sort);
	y = figure(sorting, b, sorting_wish->sort);
	return (x < y) - (x > y);
}

/* Equal ones keep an order of their own, so that rows do not jump. */
static int compare(const void *one, const void *other)
{
	const struct top_row *a = one, *b = other;
	const struct top_process *p = &sorting->now->process[a->process];
	const struct top_process *q = &sorting->now->process[b->process];
	int order = compare_rows(a, b);

	if (order)
		return sorting_wish->reverse ? -order : order;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (a->model == TOP_NO_ROW || b->model == TOP_NO_ROW)
		return (b->model == TOP_NO_ROW) - (a->model == TOP_NO_ROW);
	return a->model < b->model ? -1 : a->model > b->model;
}

static bool contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static bool matches(const struct top_rates *rates, const struct top_row *row,
		    const struct top_wish *wish)
{
	const struct top_process *process = &rates->now->process[row->process];
	const struct top_device *device = &rates->now->device[process->device];
	char pid[16];

	if (!top_is_wanted_device(device, wish))
		return false;
	if (!*wish->filter)
		return true;
	snprintf(pid, sizeof(pid), "%d", (int)process->pid);
	return contains(process->command, wish->filter) || contains(process->user, wish->filter) ||
	       contains(pid, wish->filter) || contains(device->name, wish->filter) ||
	       contains(name_of(rates, row), wish->filter);
}

static bool is_idle(const struct top_rates *rates, const struct top_row *row)
{
	if (row->model == TOP_NO_ROW)
		return !(rates->process[row->process].use > 0) &&
		       !(rates->process[row->process].runs > 0);
	return !(rates->model[row->model].runs > 0);
}

static void add(struct top_rows *rows, const struct top_rates *rates, const struct top_wish *wish,
		struct top_row row)
{
	if (matches(rates, &row, wish) && !(wish->hide_idle && is_idle(rates, &row)))
		rows->row[rows->count++] = row;
}

static bool has_models(const struct top_sample *now, size_t process)
{
	for (size_t i = 0; i < now->models; i++) {
		if (now->model[i].process == process)
			return true;
	}
	return false;
}

static void sort(struct top_row *row, size_t count, const struct top_rates *rates,
		 const struct top_wish *wish)
{
	sorting = rates;
	sorting_wish = wish;
	if (count)
		qsort(row, count, sizeof(*row), compare);
}

/* Each process is followed by its models. */
static void make_tree(struct top_rows *rows, const struct top_rates *rates,
		      const struct top_wish *wish)
{
	const struct top_sample *now = rates->now;
	struct top_row *process = calloc(now->processes + 1, sizeof(*process));
	size_t i, j, first;

	for (i = 0; process && i < now->processes; i++)
		process[i] = (struct top_row){ i, TOP_NO_ROW };
	if (process)
		sort(process, now->processes, rates, wish);
	for (i = 0; process && i < now->processes; i++) {
		first = rows->count++;
		for (j = 0; j < now->models; j++) {
			if (now->model[j].process == process[i].process)
				add(rows, rates, wish, (struct top_row){ process[i].process, j });
		}
		sort(rows->row + first + 1, rows->count - first - 1, rates, wish);
		/* A process stays above what is shown of it. */
		rows->row[first] = process[i];
		if (rows->count == first + 1) {
			rows->count = first;
			add(rows, rates, wish, process[i]);
		}
	}
	free(process);
}

void top_rows_make(struct top_rows *rows, const struct top_rates *rates,
		   const struct top_wish *wish)
{
	const struct top_sample *now = rates->now;
	size_t i;

	rows->count = 0;
	rows->row = calloc(now->models + now->processes + 1, sizeof(*rows->row));
	if (!rows->row)
		return;
	if (wish->tree) {
		make_tree(rows, rates, wish);
		return;
	}
	for (i = 0; i < now->models; i++)
		add(rows, rates, wish, (struct top_row){ now->model[i].process, i });
	for (i = 0; i < now->processes; i++) {
		if (!has_models(now, i))
			add(rows, rates, wish, (struct top_row){ i, TOP_NO_ROW });
	}
	sort(rows->row, rows->count, rates, wish);
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->row);
	rows->row = NULL;
	rows->count = 0;
}

bool top_is_wanted_device(const struct top_device *device, const struct top_wish *wish)
{
	const char *wanted = wish->device;

	if (!wanted)
		return true;
	if (!strncmp(wanted, "/dev/accel/", 11))
		wanted += 11;
	/* "sim:" is every model, "sim:npu-v3" those of that configuration. */
	if (!strncmp(wanted, "sim:", 4))
		return !strncmp(device->name, wanted, strlen(wanted));
	return !strcmp(device->name, wanted);
}

bool top_is_wanted_event(const struct top_event *event, const struct top_sample *sample,
			 const struct top_wish *wish)
{
	if (event->kind == TOP_EVENT_LOST || !wish->device)
		return true;
	/* By its place: it may have another name by now. */
	for (size_t i = 0; i < sample->devices; i++) {
		if (!strcmp(event->bus, sample->device[i].bus))
			return top_is_wanted_device(&sample->device[i], wish);
	}
	return false;
}

const char *top_sort_name(enum top_sort sort)
{
	static const char *const names[TOP_SORTS] = { "NPU%", "RUN/s", "P99", "MEM",
						      "ERR",  "PID",   "NAME" };

	return names[sort];
}
