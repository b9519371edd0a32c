/* SPDX-License-Identifier: MIT */
#ifndef TOP_OPTIONS_H
#define TOP_OPTIONS_H

#include "rows.h"

enum top_format {
	TOP_FORMAT_SCREEN = 0,
	TOP_FORMAT_TEXT,
	TOP_FORMAT_JSON,
	TOP_FORMAT_CSV,
	TOP_FORMAT_PROMETHEUS,
};

struct top_options {
	enum top_format format;
	unsigned long count; /* samples; 0: no end */
	double seconds; /* between samples */
	bool colour;
	struct top_wish wish;
};

/** top_options_read() - -1 when there is work to do, else the exit status */
int top_options_read(int argc, char **argv, struct top_options *options);

#endif /* TOP_OPTIONS_H */
