// SPDX-License-Identifier: MIT
#include "options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_TARGET = 256,
	OPTION_SHAPE,
	OPTION_CALIB,
	OPTION_PRECISION,
	OPTION_FUSION,
	OPTION_PIPELINE_STAGES,
	OPTION_LAYOUT_PREF,
	OPTION_MAX_SRAM_BYTES,
	OPTION_MAX_WINDOW_BYTES,
	OPTION_TILE_MIN,
	OPTION_TILE_MAX,
	OPTION_TUNE,
	OPTION_NO_CACHE,
	OPTION_CACHE_DIR,
	OPTION_DUMP,
	OPTION_LOG,
	OPTION_JSON,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "target", required_argument, NULL, OPTION_TARGET },
	{ "shape", required_argument, NULL, OPTION_SHAPE },
	{ "calib", required_argument, NULL, OPTION_CALIB },
	{ "precision", required_argument, NULL, OPTION_PRECISION },
	{ "fusion", required_argument, NULL, OPTION_FUSION },
	{ "pipeline-stages", required_argument, NULL, OPTION_PIPELINE_STAGES },
	{ "layout-pref", required_argument, NULL, OPTION_LAYOUT_PREF },
	{ "max-sram-bytes", required_argument, NULL, OPTION_MAX_SRAM_BYTES },
	{ "max-window-bytes", required_argument, NULL, OPTION_MAX_WINDOW_BYTES },
	{ "tile-min", required_argument, NULL, OPTION_TILE_MIN },
	{ "tile-max", required_argument, NULL, OPTION_TILE_MAX },
	{ "tune", no_argument, NULL, OPTION_TUNE },
	{ "no-cache", no_argument, NULL, OPTION_NO_CACHE },
	{ "cache-dir", required_argument, NULL, OPTION_CACHE_DIR },
	{ "dump", required_argument, NULL, OPTION_DUMP },
	{ "log", required_argument, NULL, OPTION_LOG },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

void options_help(FILE *out)
{
	fputs("usage: npucc compile MODEL.onnx -o OUT.npu [options]\n"
	      "       npucc scan MODEL.onnx [--target T] [--shape ...] [--json]\n"
	      "       npucc version\n"
	      "\n"
	      "Compiles an ONNX model for a neural processing unit, or says what of it can be.\n"
	      "\n"
	      "  -o, --output FILE          the model binary\n"
	      "  --target NAME              npu-v3 (default), lowpower-v3; overrides as in npu-v3?clusters=2\n"
	      "  --shape NAME=1x3x48x320    shape of an input (may be repeated)\n"
	      "  --calib DIR|random         sample inputs for quantization\n"
	      "  --precision P              auto (default), int8, int16, fp16\n"
	      "  --fusion 0..2              0 each node apart, 1 into producers, 2 everything (default)\n"
	      "  --pipeline-stages 1..3     buffers a stream of tiles: 1 none ahead, 2 (default), 3\n"
	      "  --layout-pref L            planes between nodes: auto (default), NHWC, NCHW\n"
	      "  --max-sram-bytes N         local SRAM a cluster that tiles may use\n"
	      "  --max-window-bytes N       global SRAM that the program may use\n"
	      "  --tile-min N, --tile-max N output positions of a tile\n"
	      "  --tune                     run the best candidates on the model, keep the fastest\n"
	      "  --no-cache, --cache-dir D  the compile cache\n"
	      "  --dump STAGE               write the graph after import, fuse or quant to stderr\n"
	      "  --log FILE                 tile choices and merged nodes (- is stderr)\n"
	      "  --json                     one JSON object on stdout\n"
	      "\n"
	      "Exit status: 0 done, 1 the model cannot be compiled, 2 wrong use.\n",
	      out);
}

static int refuse(const char *format, const char *value)
{
	fputs("npucc: ", stderr);
	fprintf(stderr, format, value);
	fputs("; see npucc --help\n", stderr);
	return -1;
}

static int parse_number(const char *text, uint32_t low, uint32_t high, const char *what,
			uint32_t *number)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < low || value > high) {
		fprintf(stderr, "npucc: %s is a number from %u to %u, not '%s'; see npucc --help\n",
			what, low, high, text);
		return -1;
	}
	*number = (uint32_t)value;
	return 0;
}

static int parse_choice(const char *text, const char *const *choices, const char *message,
			uint32_t *index)
{
	for (*index = 0; choices[*index]; (*index)++)
		if (!strcmp(text, choices[*index]))
			return 0;
	return refuse(message, text);
}

static int parse_shape(struct options *options, char *text)
{
	struct diag diag;
	int result;

	if (options->shape_count == NPUCC_MAX_SHAPES)
		return refuse("--shape %s is one too many", text);
	diag_init(&diag);
	result = npucc_parse_shape(text, &options->shapes[options->shape_count], &diag);
	if (result)
		diag_print(&diag, DIAG_ERROR, stderr);
	else
		options->shape_count++;
	diag_free(&diag);
	return result;
}

static int parse_option(struct options *options, int option, char *value)
{
	static const char *const precisions[] = { "auto", "int8", "int16", "fp16", NULL };
	static const char *const layouts[] = { "auto", "NHWC", "NCHW", NULL };
	static const char *const stages[] = { "import", "fuse", "quant", NULL };
	uint32_t index;

	switch (option) {
	case 'o':
		options->output = value;
		return 0;
	case OPTION_TARGET:
		options->target = value;
		return 0;
	case OPTION_SHAPE:
		return parse_shape(options, value);
	case OPTION_CALIB:
		options->calibration = value;
		return 0;
	case OPTION_PRECISION:
		options->precision = value;
		return parse_choice(value, precisions,
				    "--precision is auto, int8, int16 or fp16, not '%s'", &index);
	case OPTION_FUSION:
		return parse_number(value, 0, 2, "--fusion", &options->fusion);
	case OPTION_PIPELINE_STAGES:
		return parse_number(value, 1, 3, "--pipeline-stages", &options->pipeline_stages);
	case OPTION_LAYOUT_PREF:
		if (parse_choice(value, layouts, "--layout-pref is auto, NHWC or NCHW, not '%s'",
				 &index))
			return -1;
		options->layout = (enum layout_preference)index;
		return 0;
	case OPTION_MAX_SRAM_BYTES:
		return parse_number(value, 1024, UINT32_MAX, "--max-sram-bytes",
				    &options->max_sram_bytes);
	case OPTION_MAX_WINDOW_BYTES:
		return parse_number(value, 64, UINT32_MAX, "--max-window-bytes",
				    &options->max_window_bytes);
	case OPTION_TILE_MIN:
		return parse_number(value, 1, UINT32_MAX, "--tile-min", &options->tile_min);
	case OPTION_TILE_MAX:
		return parse_number(value, 1, UINT32_MAX, "--tile-max", &options->tile_max);
	case OPTION_TUNE:
		options->tune = true;
		return 0;
	case OPTION_NO_CACHE:
		options->no_cache = true;
		return 0;
	case OPTION_CACHE_DIR:
		options->cache_dir = value;
		return 0;
	case OPTION_DUMP:
		options->dump = value;
		return parse_choice(value, stages, "--dump is import, fuse or quant, not '%s'",
				    &index);
	case OPTION_LOG:
		options->log = value;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case 'h':
		options->command = COMMAND_HELP;
		return 0;
	case OPTION_VERSION:
		options->command = COMMAND_VERSION;
		return 0;
	default: /* getopt has said what is wrong */
		fputs("npucc: see npucc --help\n", stderr);
		return -1;
	}
}

static int parse_command(struct options *options, const char *word)
{
	static const char *const commands[] = { "compile", "scan", "version", "help", NULL };
	uint32_t index;

	if (parse_choice(word, commands, "'%s' is no command; commands are compile, scan, version",
			 &index))
		return -1;
	options->command = (enum command)index;
	return 0;
}

static int check(struct options *options)
{
	char error[256];

	if (options->command == COMMAND_HELP || options->command == COMMAND_VERSION)
		return 0;
	if (!options->model)
		return refuse("%s needs a MODEL.onnx",
			      options->command == COMMAND_SCAN ? "scan" : "compile");
	if (options->command == COMMAND_COMPILE && !options->output)
		return refuse("compile '%s' needs -o OUT.npu", options->model);
	if (options->tile_max && options->tile_min > options->tile_max)
		return refuse("%s is more than --tile-max", "--tile-min");
	if (npu_config_parse(options->target, &options->config, error, sizeof(error)))
		return refuse("--target: %s", error);
	return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	int option;

	*options = (struct options){
		.target = "npu-v3",
		.precision = "auto",
		.fusion = 2,
		.pipeline_stages = 2,
	};
	if (argc < 2)
		return refuse("%s", "a command is missing");
	if (argv[1][0] != '-') {
		if (parse_command(options, argv[1]))
			return -1;
		argc--;
		argv++;
	}
	while ((option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1)
		if (parse_option(options, option, optarg))
			return -1;
	if (optind < argc)
		options->model = argv[optind++];
	if (optind < argc)
		return refuse("'%s' is one argument too many", argv[optind]);
	return check(options);
}
