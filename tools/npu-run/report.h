/* SPDX-License-Identifier: MIT */
/* What npu-run prints and writes: text, JSON, HTML, trace. */
#ifndef NPU_RUN_REPORT_H
#define NPU_RUN_REPORT_H

#include "compare.h"
#include "measure.h"

struct report {
	const struct session *session;
	const struct options *options;
	const struct measurement *measurement;
	const struct comparison_result *comparisons;
};

/* Share of the array's peak that useful multiply-accumulates took; 0 for 0 cycles. */
double report_utilization(const struct report *report, uint64_t macs, uint64_t cycles);

/*
 * report_bound - what held a layer back: "mac" or "dram" where that resource alone needs more than half
 * of its cycles (the greater of the two), else "other" (vector unit, latency, waiting).
 */
const char *report_bound(const struct report *report, const struct npurt_layer_info *layer,
			 uint64_t cycles);

/* report_text, report_json - on stdout. Return 0, or -1 after a message on stderr. */
int report_text(const struct report *report);
int report_json(const struct report *report);

/* report_html, report_trace - into files. Return 0, or -1 after a message on stderr. */
int report_html(const struct report *report, const char *path);
int report_trace(const struct report *report, const char *path);

#endif
