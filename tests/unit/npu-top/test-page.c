// SPDX-License-Identifier: MIT
/* Pages that are good, damaged, stale, foreign, or written by somebody who means harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "page.h"
#include "rates.h"
#include "samples.h"
#include "source.h"
#include "view.h"

#define NAME NPURT_STATS_PREFIX "1.1"

static struct npurt_stats_page page;
static char folder[256];

static int begin(void **state)
{
	(void)state;
	make_folder(folder, sizeof(folder));
	make_page(&page, 10);
	return 0;
}

static int end(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static struct top_sample *collect(void)
{
	struct top_sample *sample = top_sample_new();

	top_pages_collect(folder, sample);
	return sample;
}

/* The only page is left out, for this reason. */
static void expect_note(const char *words)
{
	struct top_sample *sample = collect();

	assert_int_equal(sample->devices, 0);
	assert_int_equal(sample->models, 0);
	assert_int_equal(sample->notes, words != NULL);
	if (words && !strstr(sample->note[0].text, words))
		fail_msg("'%s' says nothing of '%s'", sample->note[0].text, words);
	top_sample_free(sample);
}

static void test_good(void **state)
{
	struct top_sample *sample;

	(void)state;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->notes, 0);
	assert_int_equal(sample->devices, 1);
	assert_string_equal(sample->device[0].name, "sim:npu-v3");
	assert_int_equal(sample->device[0].state, TOP_WELL);
	assert_int_equal(sample->processes, 1);
	assert_int_equal(sample->process[0].pid, getpid());
	assert_true(sample->process[0].ours);
	assert_int_equal(sample->queues, 1);
	assert_int_equal(sample->queue[0].row.priority, 5);
	assert_int_equal(sample->models, 1);
	assert_string_equal(sample->model[0].row.name, "net");
	assert_int_equal(sample->model[0].queue, 0);
	top_sample_free(sample);
}

static void test_stale(void **state)
{
	(void)state;
	page.start_time++;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note(NULL);
}

static void test_other_namespace(void **state)
{
	struct top_sample *sample;

	(void)state;
	page.pid_namespace++;
	page.pid = 1;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->devices, 1);
	assert_false(sample->process[0].ours);
	top_sample_free(sample);
	/* Nobody can say whether it lives but its beat. */
	page.beat_ns -= 60000000000;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note(NULL);
}

/* Only its own processes are who a user's page may speak for: else it could name root's. */
static void test_process_of_another_user(void **state)
{
	char path[512];

	(void)state;
	if (geteuid()) {
		page.pid = 1;
		page.start_time = npurt_stats_start_time(1);
	}
	write_page(folder, NAME, &page, sizeof(page), 0600);
	snprintf(path, sizeof(path), "%s/" NAME, folder);
	if (!geteuid())
		assert_int_equal(chown(path, 1, 1), 0);
	expect_note(NULL);
}

/* On the same card, a process in a container has the number of one out here. */
static void test_same_number_in_a_container(void **state)
{
	struct top_sample *sample = top_sample_new();

	(void)state;
	strcpy(top_add_device(sample)->name, "accel0");
	top_add_process(sample, 0, getpid())->ours = true;
	strcpy(page.device.name, "/dev/accel/accel0");
	page.pid_namespace++;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	top_pages_collect(folder, sample);
	assert_int_equal(sample->devices, 1);
	assert_int_equal(sample->processes, 2);
	assert_false(sample->process[0].has_page);
	assert_true(sample->process[1].has_page);
	assert_false(sample->process[1].ours);
	assert_int_equal(sample->queue[0].process, 1);
	/* Nor is it taken for the one out here when that one's page comes after it. */
	page.pid_namespace--;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample->process[0].pid++;
	top_pages_collect(folder, sample);
	assert_int_equal(sample->processes, 3);
	assert_true(sample->process[2].ours);
	top_sample_free(sample);
}

static void test_frozen(void **state)
{
	struct top_sample *sample;

	(void)state;
	page.beat_ns -= 60000000000;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->device[0].state, TOP_FROZEN);
	assert_non_null(strstr(sample->device[0].trouble, "60 s"));
	top_sample_free(sample);
}

static void test_stopped(void **state)
{
	struct top_sample *sample;

	(void)state;
	page.queue[0].error = -EIO;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->device[0].state, TOP_STOPPED);
	top_sample_free(sample);
	/* Not an errno at all. */
	page.queue[0].error = INT32_MIN;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->device[0].state, TOP_STOPPED);
	top_sample_free(sample);
}

static void test_foreign(void **state)
{
	(void)state;
	write_page(folder, NAME, &page, sizeof(page), 0640);
	expect_note("only this user may write");
	write_page(folder, NAME, &page, sizeof(page), 0602);
	expect_note("only this user may write");
}

static void test_not_a_file(void **state)
{
	char path[512], target[520];

	(void)state;
	snprintf(path, sizeof(path), "%s/" NAME, folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_note("not a file");
	assert_int_equal(unlink(path), 0);
	/* Links are not followed: somebody else's page. */
	write_page(folder, "page", &page, sizeof(page), 0600);
	snprintf(target, sizeof(target), "%s/page", folder);
	assert_int_equal(symlink(target, path), 0);
	expect_note(NULL);
}

static void test_short(void **state)
{
	static const size_t cuts[] = { 0, 1, 8, 31, sizeof(struct npurt_stats_page) - 400000 };

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		write_page(folder, NAME, &page, cuts[i], 0600);
		expect_note("too short");
	}
}

static void test_damaged(void **state)
{
	(void)state;
	page.magic++;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	make_page(&page, 1);
	page.version = 2;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("another version");
	make_page(&page, 1);
	page.queues_used = NPURT_STATS_QUEUES + 1;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	make_page(&page, 1);
	page.models_used = UINT32_MAX;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	make_page(&page, 1);
	page.bytes--;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	make_page(&page, 1);
	page.pid = 0;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	page.pid = UINT32_MAX;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	/* The clock does not go below zero, and differences of such times overflow. */
	make_page(&page, 1);
	page.beat_ns = -1;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
	page.beat_ns = INT64_MIN;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("damaged");
}

static void test_unsteady(void **state)
{
	(void)state;
	page.sequence = 1;
	write_page(folder, NAME, &page, sizeof(page), 0600);
	expect_note("in the middle of a change");
}

/* What a terminal could obey does not get there, and texts without an end have one. */
static void test_texts(void **state)
{
	struct top_sample *sample;

	(void)state;
	memset(page.device.name, 'A', sizeof(page.device.name));
	memset(page.device.firmware, '\x9b', sizeof(page.device.firmware));
	memcpy(page.model[0].name, "\033]0;evil\007\nx\x7f\xff", 14);
	write_page(folder, NAME, &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(strlen(sample->device[0].name), sizeof(page.device.name) - 1);
	assert_string_equal(sample->model[0].row.name, "?]0;evil??x??");
	for (const char *text = sample->device[0].firmware; *text; text++)
		assert_int_equal(*text, '?');
	top_sample_free(sample);
}

static void test_name_of_file(void **state)
{
	struct top_sample *sample;

	(void)state;
	write_page(folder, NPURT_STATS_PREFIX "7.3", &page, sizeof(page), 0600);
	/* Not a number: it is no process's second page, and does no harm. */
	write_page(folder, NPURT_STATS_PREFIX "7.\033[31m", &page, sizeof(page), 0600);
	write_page(folder, "else", &page, sizeof(page), 0600);
	sample = collect();
	assert_int_equal(sample->devices, 2);
	assert_int_equal(sample->device[0].page + sample->device[1].page, 3);
	top_sample_free(sample);
}

/* Noise but for what makes it a page, with rows that are the same in the next one. */
static void make_noise(const struct npurt_stats_page *good, uint32_t *seed)
{
	write_noise(&page, sizeof(page), seed);
	page.magic = good->magic;
	page.version = good->version;
	page.bytes = good->bytes;
	page.flags |= NPURT_STATS_HAS_COUNTERS;
	page.sequence = 2;
	page.pid = good->pid;
	page.start_time = good->start_time;
	page.pid_namespace = good->pid_namespace;
	page.beat_ns &= INT64_MAX;
	page.queues_used = NPURT_STATS_QUEUES;
	page.models_used = NPURT_STATS_MODELS;
	memcpy(page.device.name, good->device.name, sizeof(page.device.name));
	for (uint32_t i = 0; i < NPURT_STATS_QUEUES; i++)
		page.queue[i].number = i + 1;
	for (uint32_t i = 0; i < NPURT_STATS_MODELS; i++)
		page.model[i].number = i + 1;
}

/*
 * Every row is the one before's, so that figures are made of differences of noise. Returns whether
 * the device's are too: the beats of its pages may go backwards.
 */
static bool expect_differences(const struct top_rates *rates)
{
	assert_int_equal(rates->now->queues, NPURT_STATS_QUEUES);
	assert_int_equal(rates->now->models, NPURT_STATS_MODELS);
	for (size_t i = 0; i < rates->now->queues; i++)
		assert_false(isnan(rates->queue[i].refused));
	for (size_t i = 0; i < rates->now->models; i++)
		assert_false(isnan(rates->model[i].runs));
	return !isnan(rates->device[0].tasks);
}

/* Nothing breaks, whatever the view. */
static void test_noise(void **state)
{
	const struct npurt_stats_page good = page;
	struct top_wish wish = { 0 };
	struct top_sample *before = NULL, *now;
	struct top_rates rates;
	uint32_t seed = 1, compared = 0;
	uint64_t event = 0;
	FILE *file = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 200; i++) {
		make_noise(&good, &seed);
		write_page(folder, NAME, &page, sizeof(page), 0600);
		now = collect();
		assert_int_equal(now->devices, 1);
		top_rates_make(&rates, before, now);
		compared += before && expect_differences(&rates);
		top_view_json(file, &rates, &wish);
		top_view_csv(file, &rates, &wish, true, &event);
		top_view_prometheus(file, &rates, &wish);
		wish.tree = !wish.tree;
		wish.sort = (enum top_sort)(i % TOP_SORTS);
		top_view_text(file, &rates, &wish, 1, (size_t)(20 + i));
		top_rates_free(&rates);
		top_sample_free(before);
		before = now;
	}
	assert_in_range(compared, 50, 150);
	top_sample_free(before);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good, begin, end),
		cmocka_unit_test_setup_teardown(test_stale, begin, end),
		cmocka_unit_test_setup_teardown(test_other_namespace, begin, end),
		cmocka_unit_test_setup_teardown(test_process_of_another_user, begin, end),
		cmocka_unit_test_setup_teardown(test_same_number_in_a_container, begin, end),
		cmocka_unit_test_setup_teardown(test_frozen, begin, end),
		cmocka_unit_test_setup_teardown(test_stopped, begin, end),
		cmocka_unit_test_setup_teardown(test_foreign, begin, end),
		cmocka_unit_test_setup_teardown(test_not_a_file, begin, end),
		cmocka_unit_test_setup_teardown(test_short, begin, end),
		cmocka_unit_test_setup_teardown(test_damaged, begin, end),
		cmocka_unit_test_setup_teardown(test_unsteady, begin, end),
		cmocka_unit_test_setup_teardown(test_texts, begin, end),
		cmocka_unit_test_setup_teardown(test_name_of_file, begin, end),
		cmocka_unit_test_setup_teardown(test_noise, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
