/* SPDX-License-Identifier: MIT */
/* Which rows of models and processes are shown, in which order. */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include "rates.h"

enum top_sort {
	TOP_SORT_USE = 0,
	TOP_SORT_RUNS,
	TOP_SORT_LATENCY,
	TOP_SORT_MEMORY,
	TOP_SORT_FAILED,
	TOP_SORT_PID,
	TOP_SORT_NAME,
	TOP_SORTS
};

/* What the user asked for. */
struct top_wish {
	enum top_sort sort;
	bool reverse, tree, hide_idle, hide_events;
	char filter[64]; /* "": everything */
	const char *device; /* NULL: every one */
};

/* A row is a model; or a process: in a tree above its models, else when it has none. */
struct top_row {
	size_t process;
	size_t model; /* TOP_NO_ROW: the process */
};

struct top_rows {
	size_t count;
	struct top_row *row;
};

void top_rows_make(struct top_rows *rows, const struct top_rates *rates,
		   const struct top_wish *wish);
void top_rows_free(struct top_rows *rows);

/** top_is_wanted_device() - does the user want to see it? */
bool top_is_wanted_device(const struct top_device *device, const struct top_wish *wish);

/** top_is_wanted_event() - of a device that the user wants to see, or of whatever device */
bool top_is_wanted_event(const struct top_event *event, const struct top_sample *sample,
			 const struct top_wish *wish);

const char *top_sort_name(enum top_sort sort);

#endif /* TOP_ROWS_H */
