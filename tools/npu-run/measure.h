/* SPDX-License-Identifier: MIT */
/* Running a session's model and keeping what the device and the clock say. */
#ifndef NPU_RUN_MEASURE_H
#define NPU_RUN_MEASURE_H

#include "session.h"

struct measurement {
	struct npurt_task_report *reports;	/* [runs], in order */
	uint32_t runs;
	struct npurt_layer_time *layers;	/* [session->info.layers], of the first run */
	/* derived */
	uint64_t cycles;			/* median of all runs */
	uint64_t cycles_first;
	uint64_t cycles_warm;			/* median of the runs after the first; of all when there is one */
	int64_t latency_min, latency_median, latency_p99, latency_max;	/* ns, submit to notice */
};

/*
 * measure_run - warm up, then run, `queue_depth` at once. Layer times are those of the first
 * counted run. Returns 0, or -1 after a message on stderr; measure_free() in any case.
 */
int measure_run(struct session *session, const struct options *options,
		struct measurement *measurement);
void measure_free(struct measurement *measurement);

#endif
