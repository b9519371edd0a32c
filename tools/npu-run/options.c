/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: npu-run MODEL.npu [options]\n"
	"Runs a compiled model and shows how long it took.\n"
	"\n"
	"  --device DEV              sim:, sim:lowpower-v3?clusters=2, accelN, /dev/accel/accelN\n"
	"                            (default: $NPU_DEVICE, else the first device)\n"
	"  --input NAME=FILE         .npy, ONNX .pb, .png or .jpg, else raw bytes; 'NAME=' may be\n"
	"                            left out when there is one input; without it: zeros\n"
	"  --output NAME=FILE.npy    write an output\n"
	"  --compare NAME=FILE       compare an output with a reference; exit status 1 when it differs\n"
	"    --atol X --rtol Y       by more than X + Y * |reference| (default 0.01 and 0.01)\n"
	"  --iterations N            measured runs (default 1)\n"
	"  --warmup N                runs before them that are not counted (default 0)\n"
	"  --queue-depth N           runs on the device at once (default 1)\n"
	"  --priority P              0..15 (default 0)\n"
	"  --mean A[,B,C] --scale A[,B,C]\n"
	"                            of images: (pixel - mean) * scale (default 0 and 1/255)\n"
	"  --layout NCHW|NHWC        of an image input whose shape leaves it open\n"
	"  --raw                     inputs and outputs are the device's own types\n"
	"  --report FILE.html        a page with times and layers\n"
	"  --trace FILE.json         a trace for Perfetto or chrome://tracing\n"
	"  --json                    one JSON object instead of text\n"
	"  --help, --version\n";

enum {
	OPTION_DEVICE = 256,
	OPTION_INPUT,
	OPTION_OUTPUT,
	OPTION_COMPARE,
	OPTION_ATOL,
	OPTION_RTOL,
	OPTION_ITERATIONS,
	OPTION_WARMUP,
	OPTION_QUEUE_DEPTH,
	OPTION_PRIORITY,
	OPTION_MEAN,
	OPTION_SCALE,
	OPTION_LAYOUT,
	OPTION_RAW,
	OPTION_REPORT,
	OPTION_TRACE,
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPTION_DEVICE },
	{ "input", required_argument, NULL, OPTION_INPUT },
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "compare", required_argument, NULL, OPTION_COMPARE },
	{ "atol", required_argument, NULL, OPTION_ATOL },
	{ "rtol", required_argument, NULL, OPTION_RTOL },
	{ "iterations", required_argument, NULL, OPTION_ITERATIONS },
	{ "warmup", required_argument, NULL, OPTION_WARMUP },
	{ "queue-depth", required_argument, NULL, OPTION_QUEUE_DEPTH },
	{ "priority", required_argument, NULL, OPTION_PRIORITY },
	{ "mean", required_argument, NULL, OPTION_MEAN },
	{ "scale", required_argument, NULL, OPTION_SCALE },
	{ "layout", required_argument, NULL, OPTION_LAYOUT },
	{ "raw", no_argument, NULL, OPTION_RAW },
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "trace", required_argument, NULL, OPTION_TRACE },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int wrong(const char *option, const char *text, const char *wanted)
{
	fprintf(stderr, "npu-run: --%s %s: %s is wanted\n", option, text, wanted);
	return 2;
}

static int parse_number(const char *option, const char *text, uint32_t low, uint32_t high,
			uint32_t *number)
{
	char *end, wanted[64];
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && value >= low && value <= high) {
		*number = (uint32_t)value;
		return -1;
	}
	snprintf(wanted, sizeof(wanted), "a number from %u to %u", low, high);
	return wrong(option, text, wanted);
}

static int parse_tolerance(const char *option, const char *text, double *number)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0))
		return wrong(option, text, "a number not below 0");
	*number = value;
	return -1;
}

/* One number for all channels, or three. */
static int parse_channels(const char *option, const char *text, double numbers[3])
{
	const char *at = text;
	char *end;
	int count;

	for (count = 0; count < 3; count++) {
		numbers[count] = strtod(at, &end);
		if (end == at || !isfinite(numbers[count]))
			return wrong(option, text, "one number or three with commas");
		at = end;
		if (*at != ',')
			break;
		at++;
	}
	if (*at || count == 1 || count == 3)
		return wrong(option, text, "one number or three with commas");
	if (count == 0)
		numbers[1] = numbers[2] = numbers[0];
	return -1;
}

/* The last '=' separates, since names may hold any byte; a file may not hold one then. */
static int parse_named(const char *option, char *text, struct named_file *named)
{
	char *separator = strrchr(text, '=');

	named->name = "";
	named->file = text;
	if (separator) {
		*separator = 0;
		named->name = text;
		named->file = separator + 1;
	}
	return *named->file ? -1 : wrong(option, text, "NAME=FILE");
}

static int add_named(const char *option, char *text, struct named_file *list, uint32_t *count)
{
	if (*count == OPTIONS_FILES_MAX)
		return wrong(option, text, "no more than 64 of them");
	return parse_named(option, text, &list[(*count)++]);
}

static int add_comparison(struct options *options, char *text)
{
	struct comparison *comparison = &options->comparisons[options->comparison_count];

	if (options->comparison_count == OPTIONS_FILES_MAX)
		return wrong("compare", text, "no more than 64 of them");
	options->comparison_count++;
	comparison->atol = 0.01;
	comparison->rtol = 0.01;
	return parse_named("compare", text, &comparison->reference);
}

/* Tolerances belong to the comparison before them. */
static int set_tolerance(struct options *options, const char *option, const char *text, bool relative)
{
	struct comparison *last;

	if (!options->comparison_count)
		return wrong(option, text, "a --compare before it");
	last = &options->comparisons[options->comparison_count - 1];
	return parse_tolerance(option, text, relative ? &last->rtol : &last->atol);
}

static int set_layout(struct options *options, const char *text)
{
	options->channels_last = !strcmp(text, "NHWC");
	options->layout_given = true;
	if (options->channels_last || !strcmp(text, "NCHW"))
		return -1;
	return wrong("layout", text, "NCHW or NHWC");
}

static int take(struct options *options, int option, char *text)
{
	switch (option) {
	case OPTION_DEVICE:
		options->device = text;
		return -1;
	case OPTION_INPUT:
		return add_named("input", text, options->inputs, &options->input_count);
	case OPTION_OUTPUT:
		return add_named("output", text, options->outputs, &options->output_count);
	case OPTION_COMPARE:
		return add_comparison(options, text);
	case OPTION_ATOL:
		return set_tolerance(options, "atol", text, false);
	case OPTION_RTOL:
		return set_tolerance(options, "rtol", text, true);
	case OPTION_ITERATIONS:
		return parse_number("iterations", text, 1, 1000000, &options->iterations);
	case OPTION_WARMUP:
		return parse_number("warmup", text, 0, 1000000, &options->warmup);
	case OPTION_QUEUE_DEPTH:
		return parse_number("queue-depth", text, 1, 4096, &options->queue_depth);
	case OPTION_PRIORITY:
		return parse_number("priority", text, 0, 15, &options->priority);
	case OPTION_MEAN:
		return parse_channels("mean", text, options->mean);
	case OPTION_SCALE:
		return parse_channels("scale", text, options->scale);
	case OPTION_LAYOUT:
		return set_layout(options, text);
	case OPTION_RAW:
		options->raw = true;
		return -1;
	case OPTION_REPORT:
		options->report = text;
		return -1;
	case OPTION_TRACE:
		options->trace = text;
		return -1;
	case OPTION_JSON:
		options->json = true;
		return -1;
	case OPTION_HELP:
		fputs(usage, stdout);
		return 0;
	case OPTION_VERSION:
		puts("npu-run " NPU_VERSION);
		return 0;
	default:
		fputs("npu-run: see 'npu-run --help'\n", stderr);
		return 2;
	}
}

int options_parse(int argc, char **argv, struct options *options)
{
	int option, status;

	*options = (struct options) {
		.iterations = 1, .queue_depth = 1,
		.scale = { 1.0 / 255, 1.0 / 255, 1.0 / 255 },
	};
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		status = take(options, option, optarg);
		if (status >= 0)
			return status;
	}
	if (argc - optind != 1) {
		fputs("npu-run: one MODEL.npu is wanted; see 'npu-run --help'\n", stderr);
		return 2;
	}
	options->model = argv[optind];
	return -1;
}
