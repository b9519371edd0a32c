/* SPDX-License-Identifier: MIT */
/* A sample as lines of text, for a terminal of some width. */
#ifndef TOP_TABLE_H
#define TOP_TABLE_H

#include "rows.h"

enum top_style {
	TOP_PLAIN = 0,
	TOP_TITLE,
	TOP_HEADER,
	TOP_BAD,
	TOP_DIM,
};

#define TOP_LINE_BYTES 512

struct top_line {
	enum top_style style;
	size_t row; /* of top_rows; TOP_NO_ROW: none */
	bool is_row_header; /* of the rows: columns to sort by */
	char text[TOP_LINE_BYTES];
};

struct top_table {
	size_t count, room;
	size_t first_row; /* line number of the first row */
	size_t first_event; /* of those behind the rows, newest last; @count: there are none */
	struct top_line *line;
};

/**
 * top_table_make() - lay out everything
 * @seconds: between samples, for the title
 * @width: columns; lines are no longer
 */
void top_table_make(struct top_table *table, const struct top_rates *rates,
		    const struct top_rows *rows, const struct top_wish *wish, double seconds,
		    size_t width);
void top_table_free(struct top_table *table);

/** top_sort_at() - the column of the rows' header that is at @column; TOP_SORTS: none */
enum top_sort top_sort_at(size_t column);

#endif /* TOP_TABLE_H */
