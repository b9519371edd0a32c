// SPDX-License-Identifier: MIT
/* npu-top: what the NPUs do, for whom, and what holds them back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void sleep_until(const struct timespec *start, double seconds)
{
	double until = (double)start->tv_sec + (double)start->tv_nsec / 1e9 + seconds;
	struct timespec wake;

	wake.tv_sec = (time_t)until;
	wake.tv_nsec = (long)((until - (double)wake.tv_sec) * 1e9);
	while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL))
		;
}

static void show(const struct top_monitor *monitor, const struct top_options *options, bool first)
{
	switch (options->format) {
	case TOP_FORMAT_JSON:
		top_view_json(stdout, &monitor->rates, &options->wish);
		break;
	case TOP_FORMAT_CSV:
		top_view_csv(stdout, &monitor->rates, &options->wish, first);
		break;
	case TOP_FORMAT_PROMETHEUS:
		top_view_prometheus(stdout, &monitor->rates, &options->wish);
		break;
	default:
		top_view_text(stdout, &monitor->rates, &options->wish, options->seconds,
			      TEXT_COLUMNS);
	}
	fflush(stdout);
}

/* A sample ahead of the first that is shown, so that all of them tell of rates. */
static int run_batch(struct top_monitor *monitor, const struct top_options *options)
{
	struct top_verdict verdict = { 0 };
	struct timespec start;
	unsigned long i;

	catch_signals();
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (options->format != TOP_FORMAT_PROMETHEUS)
		top_monitor_take(monitor);
	for (i = 1; !ferror(stdout); i++) {
		if (options->format != TOP_FORMAT_PROMETHEUS || i > 1)
			sleep_until(&start, options->seconds * (double)i);
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
