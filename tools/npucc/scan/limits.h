/* SPDX-License-Identifier: MIT */
/*
 * What the device and its back end take, as one table: each row says of one
 * field of one operator what it may be. The scan reads it to tell people, the
 * back end to refuse: one predicate, so that the two cannot disagree.
 */
#ifndef NPUCC_SCAN_LIMITS_H
#define NPUCC_SCAN_LIMITS_H

#include "../graph/graph.h"

enum scan_where {
	SCAN_NONE,	/* refused; what an operator without a row is */
	SCAN_NPU,
	SCAN_CPU,
	SCAN_WHERE_COUNT
};

enum scan_rule {
	SCAN_AT_MOST,
	SCAN_AT_LEAST,
	SCAN_EQUAL,
	SCAN_ONE_OF,		/* bit `value` of the limit is set; values 0..63 */
	SCAN_MULTIPLE_OF,
};

/* What a field function gives where the field does not apply; no rule looks at it. */
#define SCAN_NOT_APPLICABLE INT64_MIN

/* A field of a node as a number; see fields.h for the ones there are. */
typedef int64_t (*scan_field)(const struct graph_node *node);

struct scan_limit {
	enum graph_op op;	/* GRAPH_OP_COUNT: every operator */
	const char *name;	/* of the field, for people: "kernel height" */
	scan_field field;
	enum scan_rule rule;
	int64_t limit;
	/* Text of a value for fields that are enumerations; NULL: the number itself. */
	const char *(*text)(int64_t value);
	const char *suggestion;	/* what to change, an imperative clause */
};

/* Where each operator runs when all its limits hold. Filled by the back end (limits.c). */
extern const enum scan_where scan_operators[GRAPH_OP_COUNT];

/* The rows, in the order they are checked; scan_limit_count of them. */
extern const struct scan_limit scan_limits[];
extern const size_t scan_limit_count;

/* scan_limit_text - what the rule allows: "at most 64", "only max, average". */
void scan_limit_text(const struct scan_limit *limit, char *to, size_t room);

/* The first rule a node breaks. */
struct scan_finding {
	enum scan_where where;
	const struct scan_limit *limit;	/* NULL when the operator as such is refused, or none is */
	int64_t value;
	const char *suggestion;		/* never NULL */
	char reason[512];		/* a clause: rule, value, limit; empty on the NPU */
};

/* scan_node - whether @node can run, and where. True when it is not refused. */
bool scan_node(const struct graph_node *node, struct scan_finding *finding);

/*
 * scan_refuse - scan every node and write one error sentence for each that is
 * refused (node, rule, value, limit, suggestion). Returns 0 when none is, -1 else.
 */
int scan_refuse(const struct graph *graph, struct diag *diag);

#endif
