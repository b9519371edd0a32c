// SPDX-License-Identifier: MIT
/* Graphs, as the application makes and submits them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"
#include "notifier.h"
#include "stats.h"
#include "thread.h"

/* Ids of tasks in graphs; those of other tasks count from 1. */
#define TASK_ID_BASE 0x80000000u

uint64_t npurt_graph_packets(const struct npurt_unit *unit)
{
	return (unit->packets + NPU_GRAPH_PACKETS_MAX - 1) / NPU_GRAPH_PACKETS_MAX + 1;
}

uint64_t npurt_graph_bytes(const struct npurt_graph *graph, const struct npurt_unit *unit)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = unit->first_packet; i < unit->first_packet + unit->packets; i++) {
		const struct npurt_node *node = &graph->node[graph->order[i]];

		bytes += node->kind == NPURT_NODE_RUN ? node->run.model->use_bytes :
						       node->bytes;
	}
	return bytes;
}

/* ----------------------------------------------------------------- life time */

static int read_options(const struct npurt_graph_options *from, struct npurt_graph_options *options)
{
	int ret = npurt_take_sized(options, sizeof(*options), from, "graph options");

	if (ret)
		return ret;
	if (options->flags || options->replays > NPURT_GRAPH_REPLAYS_MAX)
		return npurt_fail(
			-EINVAL,
			"npurt: graph flags 0x%x, %u replays: this library knows no flags, "
			"and at most %u replays in flight",
			options->flags, options->replays, NPURT_GRAPH_REPLAYS_MAX);
	if (!options->replays)
		options->replays = 1;
	return 0;
}

int npurt_graph_create(struct npurt_context *context, const struct npurt_graph_options *from,
		       struct npurt_graph **result)
{
	struct npurt_graph_options options;
	struct npurt_graph *graph;
	int ret;

	if (!context || !result)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_graph_create() wants a context and a place for the "
				  "graph, one is NULL");
	ret = npurt_check_ours(context->device);
	if (!ret)
		ret = read_options(from, &options);
	if (ret)
		return ret;
	graph = calloc(1, sizeof(*graph));
	if (!graph)
		return npurt_fail(-ENOMEM, "npurt: no memory for a graph");
	graph->references = 1;
	graph->context = context;
	graph->replays = options.replays;
	pthread_mutex_init(&graph->lock, NULL);
	npurt_cond_init(&graph->idle);
	npurt_line_init(&graph->line);
	npurt_count_up(&context->handles);
	*result = graph;
	return 0;
}

static void forget_plan(struct npurt_graph *graph)
{
	free(graph->after.first);
	free(graph->after.values);
	free(graph->units_after.first);
	free(graph->units_after.values);
	free(graph->unit);
	free(graph->order);
}

void npurt_graph_put(struct npurt_graph *graph)
{
	uint32_t i;

	if (!npurt_count_down(&graph->references))
		return;
	npurt_stats_remove_model(graph->context->device->stats, graph->stats);
	for (i = 0; graph->replay && i < graph->replays; i++)
		npurt_replay_fini(&graph->replay[i]);
	free(graph->replay);
	for (i = 0; i < graph->nodes; i++) {
		npurt_run_let_go(&graph->node[i].run);
		free(graph->node[i].run.uses);
	}
	free(graph->node);
	free(graph->edge);
	forget_plan(graph);
	npurt_line_fini(&graph->line);
	pthread_cond_destroy(&graph->idle);
	pthread_mutex_destroy(&graph->lock);
	free(graph);
}

void npurt_graph_destroy(struct npurt_graph *graph)
{
	struct npurt_context *context;

	if (!graph || !npurt_is_ours(graph->context->device))
		return;
	context = graph->context;
	npurt_graph_put(graph);
	npurt_context_put(context);
}

/* ------------------------------------------------------------- nodes and edges */

static int check_unbuilt(const struct npurt_graph *graph, const char *call)
{
	int ret;

	if (!graph)
		return npurt_fail(-EINVAL, "npurt: %s() without a graph (NULL)", call);
	ret = npurt_check_ours(graph->context->device);
	if (ret)
		return ret;
	if (graph->built)
		return npurt_fail(-EBUSY, "npurt: %s(): the graph is built already, make another",
				  call);
	return 0;
}

static int add_node(struct npurt_graph *graph, const struct npurt_node *node, uint32_t *number)
{
	if (graph->nodes == NPURT_GRAPH_NODES_MAX)
		return npurt_fail(-E2BIG, "npurt: a graph has at most %u nodes",
				  NPURT_GRAPH_NODES_MAX);
	if (graph->nodes == graph->nodes_room) {
		uint32_t room = graph->nodes_room ? 2 * graph->nodes_room : 16;
		struct npurt_node *more = realloc(graph->node, room * sizeof(*more));

		if (!more)
			return npurt_fail(-ENOMEM, "npurt: no memory for a node of a graph");
		graph->node = more;
		graph->nodes_room = room;
	}
	graph->node[graph->nodes] = *node;
	if (number)
		*number = graph->nodes;
	graph->nodes++;
	return 0;
}

/* A node with room for bindings; when it cannot be added the room is freed. */
static int add_device_node(struct npurt_graph *graph, struct npurt_node *node, size_t uses,
			   uint32_t *number)
{
	int ret;

	node->run.uses = calloc(uses + 1, sizeof(*node->run.uses));
	if (!node->run.uses)
		return npurt_fail(-ENOMEM, "npurt: no memory for a node of a graph");
	ret = add_node(graph, node, number);
	if (ret)
		free(node->run.uses);
	return ret;
}

int npurt_graph_add_run(struct npurt_graph *graph, struct npurt_model *model,
			const struct npurt_binding *bindings, size_t count, uint64_t budget_cycles,
			uint32_t *number)
{
	const struct npurt_run_options options = { .size = sizeof(options),
						   .budget_cycles = budget_cycles };
	struct npurt_run_options read;
	struct npurt_node node = { .kind = NPURT_NODE_RUN };
	int ret;

	ret = check_unbuilt(graph, "npurt_graph_add_run");
	if (!ret)
		ret = npurt_run_check(model, bindings, count, "npurt_graph_add_run");
	if (!ret)
		ret = npurt_run_options_read(&options, &read);
	if (ret)
		return ret;
	if (model->context != graph->context)
		return npurt_fail(
			-EINVAL,
			"model '%s' belongs to another context than the graph: load it in "
			"the graph's",
			model->image.name);
	node.budget = read.budget_cycles;
	ret = add_device_node(graph, &node, count, number);
	if (!ret)
		npurt_run_hold(&graph->node[graph->nodes - 1].run, model, bindings, count);
	return ret;
}

static int check_copy(const struct npurt_graph *graph, const struct npurt_binding *end,
		      uint64_t bytes, bool written)
{
	const char *which = written ? "destination" : "source";

	if (!end || !end->buffer)
		return npurt_fail(-EINVAL, "npurt: a copy without a %s (NULL)", which);
	if (end->buffer->context != graph->context)
		return npurt_fail(
			-EINVAL,
			"npurt: the %s of a copy belongs to another context than the graph", which);
	if (end->offset > end->buffer->bytes || bytes > end->buffer->bytes - end->offset)
		return npurt_fail(-EINVAL,
				  "npurt: a copy of %" PRIu64 " bytes does not fit its %s: offset "
				  "%" PRIu64 " of a buffer of %" PRIu64,
				  bytes, which, end->offset, end->buffer->bytes);
	if (written && end->buffer->flags & NPURT_BUFFER_READ_ONLY)
		return npurt_fail(-EINVAL, "npurt: the destination of a copy is a buffer that the "
					   "device may only read");
	return 0;
}

int npurt_graph_add_copy(struct npurt_graph *graph, const struct npurt_binding *to,
			 const struct npurt_binding *from, uint64_t bytes, uint32_t *number)
{
	struct npurt_node node = { .kind = NPURT_NODE_COPY, .bytes = bytes };
	struct npurt_run *run;
	int ret;

	ret = check_unbuilt(graph, "npurt_graph_add_copy");
	if (ret)
		return ret;
	if (!bytes || bytes > NPU_COPY_BYTES_MAX)
		return npurt_fail(-EINVAL,
				  "npurt: a copy of %" PRIu64 " bytes: 1 to %" PRIu64
				  " are possible",
				  bytes, (uint64_t)NPU_COPY_BYTES_MAX);
	ret = check_copy(graph, from, bytes, false);
	if (!ret)
		ret = check_copy(graph, to, bytes, true);
	if (!ret)
		ret = add_device_node(graph, &node, 2, number);
	if (ret)
		return ret;
	run = &graph->node[graph->nodes - 1].run;
	run->uses[0] = *from;
	run->uses[1] = *to;
	run->use_count = 2;
	npurt_count_up(&from->buffer->references);
	npurt_count_up(&to->buffer->references);
	return 0;
}

int npurt_graph_add_host(struct npurt_graph *graph, npurt_host_task task, void *data,
			 uint32_t *number)
{
	const struct npurt_node node = { .kind = NPURT_NODE_HOST, .task = task, .data = data };
	int ret;

	ret = check_unbuilt(graph, "npurt_graph_add_host");
	if (ret)
		return ret;
	if (!task)
		return npurt_fail(-EINVAL, "npurt: npurt_graph_add_host() without a task (NULL)");
	return add_node(graph, &node, number);
}

int npurt_graph_add_edge(struct npurt_graph *graph, uint32_t before, uint32_t after)
{
	int ret;

	ret = check_unbuilt(graph, "npurt_graph_add_edge");
	if (ret)
		return ret;
	if (before >= graph->nodes || after >= graph->nodes || before == after)
		return npurt_fail(-EINVAL,
				  "npurt: an edge from node %u to node %u of a graph with %u nodes",
				  before, after, graph->nodes);
	if (graph->edges == graph->edges_room) {
		uint32_t room = graph->edges_room ? 2 * graph->edges_room : 16;
		struct npurt_edge *more = NULL;

		if (room > graph->edges_room)
			more = realloc(graph->edge, room * sizeof(*more));
		if (!more)
			return npurt_fail(-ENOMEM, "npurt: no memory for an edge of a graph");
		graph->edge = more;
		graph->edges_room = room;
	}
	graph->edge[graph->edges++] = (struct npurt_edge){ before, after };
	return 0;
}

/* -------------------------------------------------------------------- building */

/* What only graphs with host nodes need. */
static int start_threads(struct npurt_graph *graph)
{
	int ret = npurt_device_start_workers(graph->context->device);

	return ret ? ret : npurt_notifier_start(graph->context);
}

/* A segment has to fit the queue, or it could never start. */
static int check_segment(const struct npurt_graph *graph, const struct npurt_unit *unit)
{
	const struct npurt_queue *queue = &graph->context->queue;
	uint64_t packets = npurt_graph_packets(unit), bytes = npurt_graph_bytes(graph, unit);

	if (packets > queue->ring.depth)
		return npurt_fail(-E2BIG,
				  "npurt: %u nodes of the graph take %" PRIu64
				  " places in the queue at once, which has %" PRIu64
				  ": make the context with a larger queue_depth",
				  unit->packets, packets, queue->ring.depth);
	if (queue->bytes_max && bytes > queue->bytes_max)
		return npurt_fail(-E2BIG,
				  "npurt: %u nodes of the graph work on %" PRIu64
				  " bytes, the queue takes %" PRIu64
				  " at once: make the context with more queue_bytes",
				  unit->packets, bytes, queue->bytes_max);
	return 0;
}

static int check_segments(const struct npurt_graph *graph)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < graph->units && !ret; i++) {
		if (graph->unit[i].is_segment)
			ret = check_segment(graph, &graph->unit[i]);
	}
	return ret;
}

static int make_replays(struct npurt_graph *graph)
{
	uint32_t i;
	int ret = 0;

	/* Its host nodes must not meet themselves. */
	if (!graph->device_only)
		graph->replays = 1;
	graph->replay = calloc(graph->replays, sizeof(*graph->replay));
	if (!graph->replay)
		return npurt_fail(-ENOMEM, "npurt: no memory for a graph's replays");
	for (i = 0; i < graph->replays && !ret; i++)
		ret = npurt_replay_init(&graph->replay[i], graph);
	return ret;
}

/* Nothing is left of an attempt: the next one starts afresh. */
static void unbuild(struct npurt_graph *graph)
{
	uint32_t i;

	for (i = 0; graph->replay && i < graph->replays; i++)
		npurt_replay_fini(&graph->replay[i]);
	free(graph->replay);
	graph->replay = NULL;
	forget_plan(graph);
	graph->after = graph->units_after = (struct npurt_lists){ NULL, NULL };
	graph->unit = NULL;
	graph->order = NULL;
	graph->units = graph->device_nodes = graph->ends = graph->uses = 0;
	graph->memory_bytes = 0;
}

static int build(struct npurt_graph *graph)
{
	int ret;

	ret = npurt_graph_arrange(graph);
	if (!ret)
		ret = check_segments(graph);
	if (ret)
		return ret;
	graph->first_task_id =
		TASK_ID_BASE + __atomic_fetch_add(&graph->context->graph_tasks, graph->device_nodes,
						  __ATOMIC_RELAXED);
	if (!graph->device_only)
		ret = start_threads(graph);
	return ret ? ret : make_replays(graph);
}

static void count_graph(struct npurt_graph *graph)
{
	struct npurt_context *context = graph->context;
	struct npurt_stats_model row = {
		.kind = NPURT_STATS_GRAPH,
		.clusters = 1,
		.memory_bytes = graph->memory_bytes * graph->replays,
	};

	snprintf(row.name, sizeof(row.name), "graph of %u nodes", graph->nodes);
	graph->stats = npurt_stats_add_model(context->device->stats, context->queue.stats, &row);
}

int npurt_graph_build(struct npurt_graph *graph)
{
	int ret;

	ret = check_unbuilt(graph, "npurt_graph_build");
	if (ret)
		return ret;
	if (!graph->nodes)
		return npurt_fail(-EINVAL, "npurt: npurt_graph_build(): the graph has no nodes");
	ret = build(graph);
	if (ret) {
		unbuild(graph);
		return ret;
	}
	free(graph->edge);
	graph->edge = NULL;
	count_graph(graph);
	graph->built = true;
	return 0;
}

int npurt_graph_check_built(const struct npurt_graph *graph, const char *call)
{
	int ret;

	if (!graph)
		return npurt_fail(-EINVAL, "npurt: %s() without a graph (NULL)", call);
	ret = npurt_check_ours(graph->context->device);
	if (ret)
		return ret;
	if (!graph->built)
		return npurt_fail(-EINVAL, "npurt: %s(): call npurt_graph_build() first", call);
	return 0;
}

int npurt_graph_set_binding(struct npurt_graph *graph, uint32_t number, uint32_t index,
			    const struct npurt_binding *binding)
{
	struct npurt_buffer *before;
	struct npurt_node *node;
	int ret;

	ret = npurt_graph_check_built(graph, "npurt_graph_set_binding");
	if (ret)
		return ret;
	if (number >= graph->nodes || !binding)
		return npurt_fail(
			-EINVAL,
			"npurt: npurt_graph_set_binding() of node %u to %p: the graph has "
			"%u nodes, and the binding must not be NULL",
			number, (const void *)binding, graph->nodes);
	node = &graph->node[number];
	if (index >= node->run.use_count)
		return npurt_fail(-EINVAL, "npurt: node %u of the graph has %u bindings, not a %u",
				  number, node->run.use_count, index);
	if (node->kind == NPURT_NODE_RUN)
		ret = npurt_run_check_one(node->run.model, index, binding);
	else
		ret = check_copy(graph, binding, node->bytes, index == 1);
	if (ret)
		return ret;
	npurt_count_up(&binding->buffer->references);
	pthread_mutex_lock(&graph->lock);
	before = node->run.uses[index].buffer;
	node->run.uses[index] = *binding;
	graph->version++;
	pthread_mutex_unlock(&graph->lock);
	npurt_buffer_put(before);
	return 0;
}
