// SPDX-License-Identifier: MIT
/* Samples as text, one after another. */
#include "table.h"
#include "view.h"

void top_view_text(FILE *file, const struct top_rates *rates, const struct top_wish *wish,
		   double seconds, size_t width)
{
	struct top_table table;
	struct top_rows rows;

	top_rows_make(&rows, rates, wish);
	top_table_make(&table, rates, &rows, wish, seconds, width);
	for (size_t i = 0; i < table.count; i++)
		fprintf(file, "%s\n", table.line[i].text);
	fputc('\n', file);
	top_table_free(&table);
	top_rows_free(&rows);
}
