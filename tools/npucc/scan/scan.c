// SPDX-License-Identifier: MIT
#include "scan.h"

#include <inttypes.h>
#include <string.h>

static bool holds(const struct scan_limit *limit, int64_t value)
{
	switch (limit->rule) {
	case SCAN_AT_MOST:
		return value <= limit->limit;
	case SCAN_AT_LEAST:
		return value >= limit->limit;
	case SCAN_EQUAL:
		return value == limit->limit;
	case SCAN_ONE_OF:
		return value >= 0 && value < 64 && ((uint64_t)limit->limit >> value & 1);
	case SCAN_MULTIPLE_OF:
		return value % limit->limit == 0;
	default:
		return false;
	}
}

static void add_text(char *to, size_t room, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, room - used, "%s", text);
}

static void add_value(char *to, size_t room, const struct scan_limit *limit, int64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRId64, value);
	add_text(to, room, limit->text ? limit->text(value) : number);
}

void scan_limit_text(const struct scan_limit *limit, char *to, size_t room)
{
	static const char *const rules[] = { "at most ", "at least ", "only ", "only ",
					     "only a multiple of " };
	int64_t i;
	bool first = true;

	snprintf(to, room, "%s", rules[limit->rule]);
	if (limit->rule != SCAN_ONE_OF)
		add_value(to, room, limit, limit->limit);
	for (i = 0; limit->rule == SCAN_ONE_OF && i < 64; i++) {
		if (!((uint64_t)limit->limit >> i & 1))
			continue;
		add_text(to, room, first ? "" : ", ");
		add_value(to, room, limit, i);
		first = false;
	}
}

/* "kernel height is 128, at most 64 is supported" */
static void explain(const struct scan_limit *limit, int64_t value, char *to, size_t room)
{
	to[0] = 0;
	add_text(to, room, limit->name);
	add_text(to, room, " is ");
	add_value(to, room, limit, value);
	add_text(to, room, ", ");
	scan_limit_text(limit, to + strlen(to), room - strlen(to));
	add_text(to, room, " is supported");
}

/* The importer's sentence is "rule, value, limit; suggestion". */
static bool refuse_operator(const struct graph_node *node, struct scan_finding *finding)
{
	const char *cut = node->problem ? strstr(node->problem, "; ") : NULL;

	finding->where = SCAN_NONE;
	finding->suggestion =
		cut ? cut + 2 :
		      "replace it in the model by operators that are supported, or cut the "
		      "model before it";
	if (node->problem)
		snprintf(finding->reason, sizeof(finding->reason), "%.*s",
			 cut ? (int)(cut - node->problem) : (int)strlen(node->problem),
			 node->problem);
	else
		snprintf(finding->reason, sizeof(finding->reason),
			 "operator %s has no form on the device", node->op_type);
	return false;
}

bool scan_node(const struct graph_node *node, struct scan_finding *finding)
{
	size_t i;

	memset(finding, 0, sizeof(*finding));
	finding->suggestion = "";
	if (node->op == GRAPH_OP_UNKNOWN || scan_operators[node->op] == SCAN_NONE)
		return refuse_operator(node, finding);
	finding->where = scan_operators[node->op];
	if (finding->where == SCAN_CPU)
		snprintf(finding->reason, sizeof(finding->reason), "%s runs as a host task",
			 node->op_type);
	for (i = 0; i < scan_limit_count; i++) {
		const struct scan_limit *limit = &scan_limits[i];
		int64_t value;

		if (limit->op != node->op && limit->op != GRAPH_OP_COUNT)
			continue;
		value = limit->field(node);
		if (value == SCAN_NOT_APPLICABLE || holds(limit, value))
			continue;
		finding->where = SCAN_NONE;
		finding->limit = limit;
		finding->value = value;
		finding->suggestion = limit->suggestion;
		explain(limit, value, finding->reason, sizeof(finding->reason));
		return false;
	}
	return true;
}

int scan_refuse(const struct graph *graph, struct diag *diag)
{
	const struct graph_node *node;
	struct scan_finding finding;
	int result = 0;

	for (node = graph->first; node; node = node->next)
		if (!scan_node(node, &finding))
			result = diag_error(diag, "node '%s' (%s) cannot run on the device: %s; %s",
					    node->name, node->op_type, finding.reason,
					    finding.suggestion);
	return result;
}

static const char *shape_of(struct graph *graph, const struct graph_node *node)
{
	char text[GRAPH_SHAPE_TEXT];

	if (!node->output_count || !node->outputs[0])
		return "";
	graph_format_shape(node->outputs[0], text);
	return arena_string(graph->arena, text, strlen(text));
}

int npucc_scan(struct graph *graph, struct scan_report *report, struct diag *diag)
{
	const struct graph_node *node;
	struct scan_finding finding;

	memset(report, 0, sizeof(*report));
	report->rows = arena_alloc_array(graph->arena, graph->node_count, sizeof(*report->rows));
	if (!report->rows)
		return diag_error(diag, "not enough memory to scan %" PRIu32 " nodes",
				  graph->node_count);
	for (node = graph->first; node; node = node->next) {
		struct scan_row *row = &report->rows[report->row_count++];

		scan_node(node, &finding);
		row->node = node;
		row->where = finding.where;
		row->suggestion = finding.suggestion;
		row->limit = finding.limit;
		row->value = finding.value;
		row->shape = shape_of(graph, node);
		row->reason = arena_string(graph->arena, finding.reason, strlen(finding.reason));
		if (!row->reason || !row->shape)
			return diag_error(diag, "not enough memory to scan node '%s'", node->name);
		report->counts[row->where]++;
	}
	return 0;
}

const char *scan_verdict(const struct scan_report *report)
{
	if (report->counts[SCAN_NONE])
		return "unsupported";
	return report->counts[SCAN_CPU] ? "partial" : "npu";
}
