// SPDX-License-Identifier: MIT
/* From nodes and edges to units. */
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

/* What is only needed while building. */
struct plan {
	uint32_t *order; /* all nodes */
	uint32_t *level; /* host nodes on the longest way to a node */
	uint32_t *parent; /* union-find over device nodes; of a root its own number */
	uint32_t *left; /* edges not yet followed; later the segment's unit of a root */
	uint8_t *touches_host; /* of a root: an edge leaves or enters its component */
};

static bool is_device(const struct npurt_graph *graph, uint32_t node)
{
	return graph->node[node].kind != NPURT_NODE_HOST;
}

/* Sorts pairs by their first half: counting, then filling. */
static int make_lists(struct npurt_lists *lists, uint32_t things, const struct npurt_edge *pairs,
		      uint32_t count)
{
	uint32_t i;

	lists->first = calloc((size_t)things + 2, sizeof(*lists->first));
	lists->values = calloc((size_t)count + 1, sizeof(*lists->values));
	if (!lists->first || !lists->values)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		lists->first[pairs[i].before + 2]++;
	for (i = 2; i < things + 2; i++)
		lists->first[i] += lists->first[i - 1];
	for (i = 0; i < count; i++)
		lists->values[lists->first[pairs[i].before + 1]++] = pairs[i].after;
	return 0;
}

/* Topologically, first come, first served. */
static int sort(struct npurt_graph *graph, struct plan *plan)
{
	uint32_t i, j, done = 0, found = 0;

	for (i = 0; i < graph->edges; i++)
		plan->left[graph->edge[i].after]++;
	for (i = 0; i < graph->nodes; i++) {
		if (!plan->left[i])
			plan->order[found++] = i;
	}
	for (; done < found; done++) {
		uint32_t node = plan->order[done];
		uint32_t level = plan->level[node] + !is_device(graph, node);

		for (j = graph->after.first[node]; j < graph->after.first[node + 1]; j++) {
			uint32_t next = graph->after.values[j];

			if (plan->level[next] < level)
				plan->level[next] = level;
			if (!--plan->left[next])
				plan->order[found++] = next;
		}
	}
	if (found == graph->nodes)
		return 0;
	for (i = 0; !plan->left[i]; i++)
		;
	return npurt_fail(-EINVAL,
			  "npurt: node %u of the graph is in, or behind, a cycle of edges: what is "
			  "to run before itself can never start",
			  i);
}

static uint32_t root_of(struct plan *plan, uint32_t node)
{
	while (plan->parent[node] != node) {
		plan->parent[node] = plan->parent[plan->parent[node]];
		node = plan->parent[node];
	}
	return node;
}

/*
 * Device nodes that an edge joins, with no more host nodes before one than before the other, are of
 * one component: host nodes stand only before or behind it, never in between. Components without
 * any neighbour become a single one.
 */
static void gather(struct npurt_graph *graph, struct plan *plan)
{
	uint32_t i, alone = UINT32_MAX;

	for (i = 0; i < graph->nodes; i++)
		plan->parent[i] = i;
	for (i = 0; i < graph->edges; i++) {
		struct npurt_edge edge = graph->edge[i];

		if (is_device(graph, edge.before) && is_device(graph, edge.after) &&
		    plan->level[edge.before] == plan->level[edge.after])
			plan->parent[root_of(plan, edge.after)] = root_of(plan, edge.before);
	}
	for (i = 0; i < graph->edges; i++) {
		uint32_t before = root_of(plan, graph->edge[i].before);
		uint32_t after = root_of(plan, graph->edge[i].after);

		if (before != after)
			plan->touches_host[before] = plan->touches_host[after] = 1;
	}
	for (i = 0; i < graph->nodes; i++) {
		if (!is_device(graph, i) || plan->parent[i] != i || plan->touches_host[i])
			continue;
		if (alone == UINT32_MAX)
			alone = i;
		plan->parent[i] = alone;
	}
}

/* Numbers units in the order of their first node, and counts the nodes of each. */
static int number_units(struct npurt_graph *graph, struct plan *plan)
{
	uint32_t *unit_of_root = plan->left;
	uint32_t i;

	graph->unit = calloc((size_t)graph->nodes + 1, sizeof(*graph->unit));
	if (!graph->unit)
		return -ENOMEM;
	for (i = 0; i < graph->nodes; i++)
		unit_of_root[i] = UINT32_MAX;
	for (i = 0; i < graph->nodes; i++) {
		uint32_t node = plan->order[i];
		uint32_t root = root_of(plan, node);
		struct npurt_unit *unit;

		if (unit_of_root[root] == UINT32_MAX)
			unit_of_root[root] = graph->units++;
		unit = &graph->unit[unit_of_root[root]];
		unit->is_segment = is_device(graph, node);
		unit->node = node;
		unit->packets += unit->is_segment;
		graph->node[node].unit = unit_of_root[root];
	}
	return 0;
}

static int order_packets(struct npurt_graph *graph, const struct plan *plan)
{
	uint32_t i;

	for (i = 0; i < graph->units; i++) {
		graph->unit[i].first_packet = graph->device_nodes;
		graph->device_nodes += graph->unit[i].packets;
		graph->unit[i].packets = 0;
	}
	graph->order = calloc((size_t)graph->device_nodes + 1, sizeof(*graph->order));
	if (!graph->order)
		return -ENOMEM;
	for (i = 0; i < graph->nodes; i++) {
		uint32_t node = plan->order[i];
		struct npurt_unit *unit = &graph->unit[graph->node[node].unit];

		if (unit->is_segment)
			graph->order[unit->first_packet + unit->packets++] = node;
	}
	return 0;
}

static int link_units(struct npurt_graph *graph)
{
	struct npurt_edge *pairs = calloc((size_t)graph->edges + 1, sizeof(*pairs));
	uint32_t i, count = 0;
	int ret;

	if (!pairs)
		return -ENOMEM;
	for (i = 0; i < graph->edges; i++) {
		uint32_t before = graph->node[graph->edge[i].before].unit;
		uint32_t after = graph->node[graph->edge[i].after].unit;

		if (before == after)
			continue;
		pairs[count++] = (struct npurt_edge){ before, after };
		graph->unit[after].before++;
	}
	ret = make_lists(&graph->units_after, graph->units, pairs, count);
	free(pairs);
	if (ret)
		return ret;
	for (i = 0; i < graph->units; i++)
		graph->ends += graph->units_after.first[i] == graph->units_after.first[i + 1];
	graph->device_only = graph->units == 1 && graph->unit[0].is_segment;
	return 0;
}

static int arrange(struct npurt_graph *graph, struct plan *plan)
{
	int ret;

	ret = make_lists(&graph->after, graph->nodes, graph->edge, graph->edges);
	if (!ret)
		ret = sort(graph, plan);
	if (ret)
		return ret;
	gather(graph, plan);
	ret = number_units(graph, plan);
	if (!ret)
		ret = order_packets(graph, plan);
	if (!ret)
		ret = link_units(graph);
	return ret;
}

int npurt_graph_arrange(struct npurt_graph *graph)
{
	size_t count = (size_t)graph->nodes + 1;
	struct plan plan = {
		.order = calloc(count, sizeof(*plan.order)),
		.level = calloc(count, sizeof(*plan.level)),
		.parent = calloc(count, sizeof(*plan.parent)),
		.left = calloc(count, sizeof(*plan.left)),
		.touches_host = calloc(count, sizeof(*plan.touches_host)),
	};
	int ret = -ENOMEM;

	if (plan.order && plan.level && plan.parent && plan.left && plan.touches_host)
		ret = arrange(graph, &plan);
	if (ret == -ENOMEM)
		ret = npurt_fail(ret, "npurt: no memory to build a graph of %u nodes",
				 graph->nodes);
	free(plan.order);
	free(plan.level);
	free(plan.parent);
	free(plan.left);
	free(plan.touches_host);
	return ret;
}
