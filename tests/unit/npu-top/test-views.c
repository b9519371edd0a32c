// SPDX-License-Identifier: MIT
/* Figures in few columns, and lines that are no longer than the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "samples.h"
#include "source.h"
#include "table.h"

static void test_figures(void **state)
{
	(void)state;
	assert_string_equal(top_time(0).text, "0.00ns");
	assert_string_equal(top_time(999.4).text, "999ns");
	assert_string_equal(top_time(999.6).text, "1.00us");
	assert_string_equal(top_time(12345).text, "12.3us");
	assert_string_equal(top_time(2.1e9).text, "2.10s");
	assert_string_equal(top_time(NAN).text, "-");
	assert_string_equal(top_bytes(512).text, "512B");
	assert_string_equal(top_bytes(1024).text, "1.00K");
	assert_string_equal(top_bytes(1310720).text, "1.25M");
	assert_string_equal(top_count(9999).text, "9999");
	assert_string_equal(top_count(12345).text, "12.3k");
	assert_string_equal(top_count(0.5).text, "0.50");
	assert_string_equal(top_percent(0.3411).text, "34.1%");
	assert_string_equal(top_percent(NAN).text, "-");
}

/* Whatever the figure, it fits its column. */
static void test_extremes(void **state)
{
	static const double values[] = { 1e300, INFINITY, 1.8446744073709552e19, 1e-300 };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(strlen(top_time(values[i]).text) < 8);
		assert_true(strlen(top_bytes(values[i]).text) < TOP_FIGURE_BYTES);
		assert_true(strlen(top_count(values[i]).text) < TOP_FIGURE_BYTES);
		assert_true(strlen(top_percent(values[i]).text) < 8);
	}
}

static void lay_out(const struct top_sample *sample, const struct top_wish *wish, size_t width,
		    struct top_table *table)
{
	struct top_rates rates;
	struct top_rows rows;

	top_rates_make(&rates, NULL, sample);
	top_rows_make(&rows, &rates, wish);
	top_table_make(table, &rates, &rows, wish, 1, width);
	top_rows_free(&rows);
	top_rates_free(&rates);
}

static size_t lines_with(const struct top_table *table, const char *words)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++)
		count += strstr(table->line[i].text, words) != NULL;
	return count;
}

static void test_widths(void **state)
{
	static struct npurt_stats_page page;
	struct top_sample *sample = top_sample_new();
	const struct top_wish wish = { 0 };
	struct top_table table;
	char folder[256];

	(void)state;
	make_folder(folder, sizeof(folder));
	make_page(&page, 100);
	page.queue[0].error = -5;
	write_page(folder, NPURT_STATS_PREFIX "1.1", &page, sizeof(page), 0600);
	top_pages_collect(folder, sample);
	for (size_t width = 10; width <= 250; width += 10) {
		lay_out(sample, &wish, width, &table);
		for (size_t i = 0; i < table.count; i++)
			assert_true(strlen(table.line[i].text) <= width);
		assert_int_equal(table.line[table.first_row].row, 0);
		assert_true(table.line[table.first_row - 1].is_row_header);
		if (width >= 80)
			assert_int_equal(lines_with(&table, " net"), 1);
		top_table_free(&table);
	}
	top_sample_free(sample);
	remove_folder(folder);
}

static void test_nothing(void **state)
{
	struct top_sample *sample = top_sample_new();
	struct top_wish wish = { 0 };
	struct top_table table;

	(void)state;
	lay_out(sample, &wish, 80, &table);
	assert_int_equal(lines_with(&table, "No NPU"), 1);
	top_table_free(&table);
	wish.device = "accel7";
	lay_out(sample, &wish, 80, &table);
	assert_int_equal(lines_with(&table, "accel7:"), 2);
	assert_int_equal(lines_with(&table, "there is no such device"), 1);
	assert_int_equal(lines_with(&table, "sim: needs none"), 1);
	top_table_free(&table);
	top_sample_free(sample);
}

/* A click on the head of a column sorts by it. */
static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(top_sort_at(3), TOP_SORT_PID);
	assert_int_equal(top_sort_at(10), TOP_SORTS);
	assert_int_equal(top_sort_at(20), TOP_SORT_USE);
	assert_int_equal(top_sort_at(27), TOP_SORT_RUNS);
	assert_int_equal(top_sort_at(40), TOP_SORT_LATENCY);
	assert_int_equal(top_sort_at(51), TOP_SORT_MEMORY);
	assert_int_equal(top_sort_at(58), TOP_SORT_FAILED);
	assert_int_equal(top_sort_at(70), TOP_SORT_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures), cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_widths),	cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
