// SPDX-License-Identifier: MIT
/* The command line. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_MIN 0.1
#define SECONDS_MAX 3600

static const char usage[] =
	"usage: npu-top [-d SECONDS] [--device DEV] [--tree] [--hide-idle] [--filter TEXT]\n"
	"       npu-top -b|--json|--csv|--prom [-n N] [-d SECONDS] [--device DEV]\n"
	"Shows what the NPUs do, for whom, and what holds them back.\n"
	"\n"
	"  -b              batch: samples as text, one after another\n"
	"  --json          batch: one JSON object a line and sample\n"
	"  --csv           batch: comma-separated values, a line a device, process, queue, model\n"
	"  --prom          batch: Prometheus's text format (one sample when -n is not given)\n"
	"  -n N            end after N samples (default: never)\n"
	"  -d SECONDS      between samples, 0.1 to 3600 (default: 1)\n"
	"  --device DEV    only this one: accelN, sim:, sim:npu-v3\n"
	"  --filter TEXT   only models and processes with this in name, command, user or PID\n"
	"  --sort KEY      use, runs, latency, memory, failed, pid or name (default: use)\n"
	"  --reverse       the other way round\n"
	"  --tree          models below their processes\n"
	"  --hide-idle     leave out what does nothing\n"
	"  --no-color      no colours (also: NO_COLOR in the environment)\n"
	"  --help, --version\n"
	"On the screen, h shows the keys.\n"
	"Exit status: 0 done, 1 failed, 2 wrong use; a batch, of the card that --device names:\n"
	"3 there is none, 4 no permission, 5 it does not answer, 6 it is gone.\n";

static int wrong(const char *text, const char *value)
{
	fprintf(stderr, "npu-top: %s: '%s'; see 'npu-top --help'\n", text, value);
	return 2;
}

static int parse_sort(const char *text, struct top_wish *wish)
{
	static const char *const names[TOP_SORTS] = { "use",	"runs", "latency", "memory",
						      "failed", "pid",	"name" };

	for (int i = 0; i < TOP_SORTS; i++) {
		if (!strcmp(text, names[i])) {
			wish->sort = (enum top_sort)i;
			return -1;
		}
	}
	return wrong("--sort takes use, runs, latency, memory, failed, pid or name", text);
}

static int parse_seconds(const char *text, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(text, &end);
	if (errno || end == text || *end || !(*seconds >= SECONDS_MIN && *seconds <= SECONDS_MAX))
		return wrong("-d takes seconds from 0.1 to 3600", text);
	return -1;
}

static int parse_count(const char *text, unsigned long *count)
{
	char *end;

	errno = 0;
	*count = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || !*count)
		return wrong("-n takes a number from 1 on", text);
	return -1;
}

static int parse_filter(const char *text, struct top_wish *wish)
{
	if (strlen(text) >= sizeof(wish->filter))
		return wrong("--filter takes at most 63 characters", text);
	strcpy(wish->filter, text);
	return -1;
}

enum long_option {
	DEVICE = 256,
	JSON,
	CSV,
	PROMETHEUS,
	FILTER,
	SORT,
	REVERSE,
	TREE,
	HIDE_IDLE,
	NO_COLOUR,
	HELP,
	VERSION
};

static int take(int option, struct top_options *options)
{
	switch (option) {
	case 'b':
		options->format = TOP_FORMAT_TEXT;
		return -1;
	case 'n':
		return parse_count(optarg, &options->count);
	case 'd':
		return parse_seconds(optarg, &options->seconds);
	case DEVICE:
		options->wish.device = optarg;
		if (*optarg)
			return -1;
		fputs("npu-top: --device '': give the name of a device, as in accel0\n", stderr);
		return 2;
	case JSON:
		options->format = TOP_FORMAT_JSON;
		return -1;
	case CSV:
		options->format = TOP_FORMAT_CSV;
		return -1;
	case PROMETHEUS:
		options->format = TOP_FORMAT_PROMETHEUS;
		return -1;
	case FILTER:
		return parse_filter(optarg, &options->wish);
	case SORT:
		return parse_sort(optarg, &options->wish);
	case REVERSE:
		options->wish.reverse = true;
		return -1;
	case TREE:
		options->wish.tree = true;
		return -1;
	case HIDE_IDLE:
		options->wish.hide_idle = true;
		return -1;
	case NO_COLOUR:
		options->colour = false;
		return -1;
	case HELP:
		fputs(usage, stdout);
		return 0;
	case VERSION:
		puts("npu-top " NPU_VERSION);
		return 0;
	default:
		fputs("npu-top: see 'npu-top --help'\n", stderr);
		return 2;
	}
}

int top_options_read(int argc, char **argv, struct top_options *options)
{
	static const struct option list[] = {
		{ "device", required_argument, NULL, DEVICE },
		{ "json", no_argument, NULL, JSON },
		{ "csv", no_argument, NULL, CSV },
		{ "prom", no_argument, NULL, PROMETHEUS },
		{ "filter", required_argument, NULL, FILTER },
		{ "sort", required_argument, NULL, SORT },
		{ "reverse", no_argument, NULL, REVERSE },
		{ "tree", no_argument, NULL, TREE },
		{ "hide-idle", no_argument, NULL, HIDE_IDLE },
		{ "no-color", no_argument, NULL, NO_COLOUR },
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, VERSION },
		{ NULL, 0, NULL, 0 },
	};
	const char *no_colour = getenv("NO_COLOR");
	int option, status = -1;

	*options = (struct top_options){ .seconds = 1, .colour = !no_colour || !*no_colour };
	while (status < 0 && (option = getopt_long(argc, argv, "bn:d:", list, NULL)) != -1)
		status = take(option, options);
	if (status >= 0)
		return status;
	if (optind < argc)
		return wrong("only options are taken", argv[optind]);
	if (options->format == TOP_FORMAT_PROMETHEUS && !options->count)
		options->count = 1;
	if (options->format == TOP_FORMAT_SCREEN && !isatty(STDOUT_FILENO)) {
		fputs("npu-top: the output is no terminal: use -b, --json, --csv or --prom\n",
		      stderr);
		return 2;
	}
	return -1;
}
