// SPDX-License-Identifier: MIT
/* npu-objdump: shows what is in a model binary, and assembles instruction streams. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "show.h"

static const char usage[] =
	"usage: npu-objdump MODEL.npu [-h] [-t] [-d [--cluster N]] [--json]\n"
	"       npu-objdump --assemble FILE.s -o OUT.bin\n"
	"Shows what is in a compiled model.\n"
	"\n"
	"  -h               sections, program, resources, inputs and outputs (default)\n"
	"  -t               symbols and layers\n"
	"  -d               disassemble the clusters' instruction streams\n"
	"  --cluster N      only the stream of cluster N\n"
	"  --json           one JSON object instead of text\n"
	"  --assemble FILE  turn a listing of -d, or one of your own, into an instruction stream\n"
	"  -o FILE          where the stream goes\n"
	"  --help, --version\n";

enum {
	OPTION_CLUSTER = 256,
	OPTION_JSON,
	OPTION_ASSEMBLE,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "cluster", required_argument, NULL, OPTION_CLUSTER },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "assemble", required_argument, NULL, OPTION_ASSEMBLE },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	const char *model, *assemble, *output;
	unsigned int what; /* SHOW_* */
	uint32_t clusters;
	bool json;
};

static int wrong(const char *sentence)
{
	fprintf(stderr, "npu-objdump: %s; see 'npu-objdump --help'\n", sentence);
	return 2;
}

static int parse_cluster(const char *text, uint32_t *clusters)
{
	if (text[0] < '0' || text[0] >= '0' + NPU_PROGRAM_CLUSTERS_MAX || text[1])
		return wrong("--cluster takes a number from 0 to 7");
	*clusters = 1u << (text[0] - '0');
	return -1;
}

/* -1 to go on, else the exit status. */
static int take(struct arguments *arguments, int option)
{
	switch (option) {
	case 'h':
		arguments->what |= SHOW_HEADERS;
		return -1;
	case 't':
		arguments->what |= SHOW_SYMBOLS;
		return -1;
	case 'd':
		arguments->what |= SHOW_CODE;
		return -1;
	case 'o':
		arguments->output = optarg;
		return -1;
	case OPTION_CLUSTER:
		return parse_cluster(optarg, &arguments->clusters);
	case OPTION_JSON:
		arguments->json = true;
		return -1;
	case OPTION_ASSEMBLE:
		arguments->assemble = optarg;
		return -1;
	case OPTION_HELP:
		fputs(usage, stdout);
		return 0;
	case OPTION_VERSION:
		puts("npu-objdump " NPU_VERSION);
		return 0;
	default:
		fputs("npu-objdump: see 'npu-objdump --help'\n", stderr);
		return 2;
	}
}

static int check(struct arguments *arguments, int left)
{
	if (arguments->assemble) {
		if (left || arguments->what || arguments->json || arguments->clusters)
			return wrong("--assemble takes nothing but -o OUT.bin");
		return arguments->output ? -1 : wrong("--assemble needs -o OUT.bin");
	}
	if (left != 1)
		return wrong("one MODEL.npu is wanted");
	if (arguments->output)
		return wrong("-o goes with --assemble");
	if (arguments->clusters && !(arguments->what & SHOW_CODE))
		return wrong("--cluster goes with -d");
	if (!arguments->what)
		arguments->what = SHOW_HEADERS;
	return -1;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	int option, status;

	while ((option = getopt_long(argc, argv, "htdo:", long_options, NULL)) != -1) {
		status = take(arguments, option);
		if (status >= 0)
			return status;
	}
	status = check(arguments, argc - optind);
	if (status < 0 && !arguments->assemble)
		arguments->model = argv[optind];
	return status;
}

static void show_text(const struct model_file *model, const struct arguments *arguments)
{
	static void (*const shows[])(const struct model_file *, FILE *) = {
		show_headers,
		show_symbols,
	};
	bool first = true;

	for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
		if (!(arguments->what >> i & 1))
			continue;
		if (!first)
			putchar('\n');
		shows[i](model, stdout);
		first = false;
	}
	if (!(arguments->what & SHOW_CODE))
		return;
	if (!first)
		putchar('\n');
	show_code(model, arguments->clusters, stdout);
}

static int show(const struct arguments *arguments)
{
	char error[MODEL_ERROR_BYTES];
	struct model_file model;
	int status = 1;

	if (model_file_open(&model, arguments->model, error)) {
		fprintf(stderr, "npu-objdump: %s\n", error);
		goto out;
	}
	if (arguments->clusters != EVERY_CLUSTER &&
	    arguments->clusters >> model.image.program.clusters) {
		fprintf(stderr, "npu-objdump: %s: the program has clusters 0 to %u only\n",
			arguments->model, model.image.program.clusters - 1);
		goto out;
	}
	if (arguments->json)
		show_json(&model, arguments->what, arguments->clusters, stdout);
	else
		show_text(&model, arguments);
	status = 0;
out:
	model_file_release(&model);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	int status = parse(argc, argv, &arguments);

	if (status >= 0)
		return status;
	if (arguments.assemble)
		return assemble_file(arguments.assemble, arguments.output);
	if (!arguments.clusters)
		arguments.clusters = EVERY_CLUSTER;
	status = show(&arguments);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "npu-objdump: the output could not be written: %s\n",
			strerror(errno));
		status = 1;
	}
	return status;
}
