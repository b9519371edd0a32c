/* SPDX-License-Identifier: MIT */
/* Command line of npucc. */
#ifndef NPUCC_COMMAND_OPTIONS_H
#define NPUCC_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "../layout/placement.h"
#include "../npucc_front.h"
#include "config.h"

enum command {
	COMMAND_COMPILE,
	COMMAND_SCAN,
	COMMAND_VERSION,
	COMMAND_HELP,
};

struct options {
	enum command command;
	const char *model;
	const char *output;
	const char *target;		/* as given, with overrides */
	struct npu_config config;
	struct npucc_shape_binding shapes[NPUCC_MAX_SHAPES];
	uint32_t shape_count;
	const char *calibration;	/* directory, "random", or NULL */
	const char *precision;
	uint32_t fusion, pipeline_stages;
	enum layout_preference layout;
	uint32_t max_sram_bytes;	/* 0: all there is */
	uint32_t max_window_bytes;	/* 0: all there is */
	uint32_t tile_min, tile_max;
	bool tune, no_cache, json;
	const char *cache_dir, *dump, *log;
};

/*
 * options_parse - read the command line. Strings stay in @argv, shape names are cut in place.
 * Returns 0, or -1 after a sentence on stderr (wrong use: exit status 2).
 */
int options_parse(struct options *options, int argc, char **argv);

/* options_help - the text of --help. */
void options_help(FILE *out);

#endif
