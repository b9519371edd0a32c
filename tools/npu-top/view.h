/* SPDX-License-Identifier: MIT */
/* Samples for machines. What each key and column means is in npu-top(1). */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include <stdio.h>

#include "rows.h"

#define TOP_SCHEMA 1

/** top_view_json() - one line, one object */
void top_view_json(FILE *file, const struct top_rates *rates, const struct top_wish *wish);

/**
 * top_view_csv() - a line for each row, and for each event that has not been written before
 * @header: also the names of the columns
 * @event: number of the last event that was written, which it keeps; 0 to begin with
 */
void top_view_csv(FILE *file, const struct top_rates *rates, const struct top_wish *wish,
		  bool header, uint64_t *event);

/** top_view_prometheus() - counters and gauges in Prometheus's text format 0.0.4 */
void top_view_prometheus(FILE *file, const struct top_rates *rates, const struct top_wish *wish);

/** top_view_text() - as on the screen, without its keys */
void top_view_text(FILE *file, const struct top_rates *rates, const struct top_wish *wish,
		   double seconds, size_t width);

#endif /* TOP_VIEW_H */
