// SPDX-License-Identifier: MIT
/* npu-top: what the NPUs do, for whom, and what holds them back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "monitor.h"
#include "options.h"
#include "screen.h"
#include "verdict.h"
#include "view.h"

#define TEXT_COLUMNS 200

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* Who reads our output gets whole samples. */
static void catch_signals(void)
{
	/* A reader that is late must not get half a line: writing goes on, sleeping does not. */
	const struct sigaction action = { .sa_handler = end, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static double now(void)
{
	return (double)top_now() / 1e9;
}

/* Events are taken as they come, for they bear the time when that was. */
static void wait_until(struct top_monitor *monitor, double end)
{
	double left;

	while (!ended && (left = end - now()) > 0)
		top_monitor_wait(monitor, -1, left);
}

/* Once: nothing will change it. */
static void show_missing_events(const struct top_monitor *monitor)
{
	if (*monitor->now->events_missing)
		printf("Events: %s\n", monitor->now->events_missing);
}

static void show(const struct top_monitor *monitor, const struct top_options *options, bool first)
{
	static uint64_t event;

	switch (options->format) {
	case TOP_FORMAT_JSON:
		top_view_json(stdout, &monitor->rates, &options->wish);
		break;
	case TOP_FORMAT_CSV:
		top_view_csv(stdout, &monitor->rates, &options->wish, first, &event);
		break;
	case TOP_FORMAT_PROMETHEUS:
		top_view_prometheus(stdout, &monitor->rates, &options->wish);
		break;
	default:
		if (first)
			show_missing_events(monitor);
		top_view_text(stdout, &monitor->rates, &options->wish, options->seconds,
			      TEXT_COLUMNS);
	}
	fflush(stdout);
}

/* A sample ahead of the first that is shown, so that all of them tell of rates. */
static int run_batch(struct top_monitor *monitor, const struct top_options *options)
{
	struct top_verdict verdict = { 0 };
	double start = now();
	unsigned long i;

	catch_signals();
	if (options->format != TOP_FORMAT_PROMETHEUS)
		top_monitor_take(monitor);
	for (i = 1; !ferror(stdout); i++) {
		if (options->format != TOP_FORMAT_PROMETHEUS || i > 1)
			wait_until(monitor, start + options->seconds * (double)i);
		if (ended)
			break;
		top_monitor_take(monitor);
		show(monitor, options, i == 1);
		top_verdict_take(&verdict, monitor->now, &options->wish);
		if (i == options->count)
			break;
	}
	return verdict.status;
}

int main(int argc, char **argv)
{
	struct top_monitor monitor;
	struct top_options options;
	int status = top_options_read(argc, argv, &options);

	if (status < 0) {
		/* What the monitor opens is nothing to be monitored. */
		setenv("NPURT_STATS", "0", 1);
		top_monitor_init(&monitor);
		if (options.format == TOP_FORMAT_SCREEN)
			status = top_screen_run(&monitor, &options);
		else
			status = run_batch(&monitor, &options);
		top_monitor_fini(&monitor);
	}
	return file_finish_stdout("npu-top") ? 1 : status;
}
