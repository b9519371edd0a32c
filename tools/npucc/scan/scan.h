/* SPDX-License-Identifier: MIT */
/* The compatibility scan: a row for every node, a verdict for the model. */
#ifndef NPUCC_SCAN_SCAN_H
#define NPUCC_SCAN_SCAN_H

#include "limits.h"

struct scan_row {
	const struct graph_node *node;
	enum scan_where where;
	const char *reason;	/* "" when it runs on the NPU */
	const char *suggestion;	/* "" when there is nothing to change */
	const char *shape;	/* of the first output */
	const struct scan_limit *limit;	/* the rule it breaks, or NULL */
	int64_t value;		/* of the rule's field */
	uint64_t cycles;	/* predicted by the back end; 0: not known, or fused into another */
};

struct scan_report {
	struct scan_row *rows;
	uint32_t row_count;
	uint32_t counts[SCAN_WHERE_COUNT];	/* nodes by enum scan_where */
};

/*
 * npucc_scan - a row for each node of @graph, in order. The report lives in the
 * graph's arena. Returns 0, or -1 with a sentence when memory is short.
 */
int npucc_scan(struct graph *graph, struct scan_report *report, struct diag *diag);

/* scan_verdict - "npu", "partial" (some on the CPU) or "unsupported". */
const char *scan_verdict(const struct scan_report *report);

/* scan_print - a table for people. */
void scan_print(const struct scan_report *report, FILE *out);

/* scan_print_json - one object: schema, verdict, operators, counts. */
void scan_print_json(const struct scan_report *report, FILE *out);

/* scan_json_string - @text as a JSON string; bytes that are no UTF-8 become \u00xx. */
void scan_json_string(const char *text, FILE *out);

#endif
