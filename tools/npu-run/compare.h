/* SPDX-License-Identifier: MIT */
/* Outputs against references. */
#ifndef NPU_RUN_COMPARE_H
#define NPU_RUN_COMPARE_H

#include "session.h"

struct comparison_result {
	const char *name;		/* of the output */
	double max_abs_error;		/* infinite where one side alone is NaN or infinite */
	uint64_t elements, different;	/* beyond the tolerance */
	bool ok;
};

/*
 * compare_outputs - each of the options' comparisons; @results has room for all. Returns 0 when all
 * could be made (whatever they say), or -1 after a message on stderr.
 */
int compare_outputs(const struct session *session, const struct options *options,
		    struct comparison_result *results);

#endif
