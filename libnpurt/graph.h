/* SPDX-License-Identifier: MIT */
/*
 * Graphs: what npurt_graph_build() makes of nodes and edges, and their replays.
 *
 * Building gathers device nodes into segments. A segment is one list for the device, in the order
 * of its edges, which ring order then keeps: nothing of it needs the host. Units are what is
 * started as a whole: a segment, or a host node. A unit starts when all units before it have ended.
 *
 * Each replay in flight has its own lists, arguments and records in device memory, so that one can
 * be written while another one runs.
 */
#ifndef NPURT_GRAPH_H
#define NPURT_GRAPH_H

#include "objects.h"
#include "workers.h"

#define NPURT_GRAPH_NODES_MAX (1u << 20)
#define NPURT_GRAPH_REPLAYS_MAX 64u

enum npurt_node_kind {
	NPURT_NODE_RUN,
	NPURT_NODE_COPY,
	NPURT_NODE_HOST,
};

struct npurt_node {
	enum npurt_node_kind kind;
	uint32_t unit;
	uint64_t budget;
	uint64_t arguments; /* offset in a replay's memory */
	uint32_t first_use; /* in a replay's held[] */
	struct npurt_run run; /* of a copy: no model, uses[0] is the source, [1] the destination */
	uint64_t bytes; /* of a copy */
	npurt_host_task task;
	void *data;
};

struct npurt_edge {
	uint32_t before, after;
};

/* A list of numbers for each of several things, one after another. */
struct npurt_lists {
	uint32_t *first; /* of thing i: values[first[i]] up to values[first[i + 1]] */
	uint32_t *values;
};

struct npurt_unit {
	uint32_t before; /* units it waits for, with repetition */
	bool is_segment;
	uint32_t node; /* a host node's */
	uint32_t first_packet, packets; /* a segment's, in order[] and in the device's list */
};

struct npurt_replay;

struct npurt_graph {
	uint32_t references;
	struct npurt_context *context;
	pthread_mutex_t lock;
	pthread_cond_t idle; /* a replay is */
	struct npurt_line line; /* submitters waiting for one */
	bool built;
	uint32_t nodes, nodes_room;
	uint32_t edges, edges_room;
	struct npurt_node *node;
	struct npurt_edge *edge; /* until it is built */

	/* Once built */
	struct npurt_lists after; /* nodes behind a node */
	struct npurt_lists units_after; /* units behind a unit */
	uint32_t units;
	struct npurt_unit *unit;
	uint32_t device_nodes;
	uint32_t *order; /* device nodes, segment by segment */
	uint32_t ends; /* units with nothing behind them */
	bool device_only; /* one segment, and nothing else */
	uint64_t memory_bytes; /* of a replay on the device */
	uint32_t uses; /* buffers that its nodes name */
	uint32_t first_task_id;
	uint32_t version; /* of the bindings */
	struct npurt_stats_model *stats; /* NULL: nobody counts */

	uint32_t replays;
	uint32_t held; /* of them, by submitters that have not submitted them yet */
	struct npurt_replay *replay;
};

/* A unit of a replay. */
struct npurt_unit_run {
	struct npurt_job job;
	struct npurt_replay *replay;
	uint32_t unit;
	uint32_t waiting; /* units before it that have not ended */
	/* A segment's */
	struct npurt_task task;
	int lost;
	char *reason; /* of `lost` */
	struct npu_record record; /* host order; the sum over its lists */
};

/* Why a node that may have had nothing wrong with it has failed. */
enum npurt_cancelled {
	NPURT_CANCELLED_NOT = 0,
	NPURT_CANCELLED_BEHIND, /* one before it has failed */
	NPURT_CANCELLED_BY_CALL,
	NPURT_CANCELLED_LATE,
};

struct npurt_replay {
	struct npurt_graph *graph;
	struct npurt_future *future; /* NULL: idle */
	struct npurt_buffer *memory; /* lists, records, arguments; NULL without device nodes */
	struct npurt_binding *held; /* what lists and arguments name, node after node */
	uint32_t version; /* of the bindings in its arguments */
	bool lists_written;
	struct npurt_unit_run *unit;
	uint32_t ends; /* left */
	uint32_t failed; /* a node has: results and cancelled are worth a look */
	int *result; /* of nodes */
	uint8_t *cancelled; /* of nodes: enum npurt_cancelled */
	int64_t deadline_ns;
};

/* ---------------------------------------------------------------- graph_build.c */

/**
 * npurt_graph_arrange() - order nodes, gather segments, make units
 *
 * Return: 0; -EINVAL (a cycle), -ENOMEM with a sentence.
 */
int npurt_graph_arrange(struct npurt_graph *graph);

/* --------------------------------------------------------------- graph_memory.c */

/** npurt_replay_init() - memory for one replay of a graph that has been arranged */
int npurt_replay_init(struct npurt_replay *replay, struct npurt_graph *graph);
void npurt_replay_fini(struct npurt_replay *replay);

/** npurt_replay_write() - bring lists and arguments up to date; the replay is idle */
void npurt_replay_write(struct npurt_replay *replay);

/** npurt_replay_skip() - put a NOP in a node's place, for this replay */
void npurt_replay_skip(struct npurt_replay *replay, uint32_t place);

/** npurt_replay_run() - a node's run on the memory that this replay works on */
struct npurt_run npurt_replay_run(const struct npurt_replay *replay, uint32_t node);

/** npurt_replay_record() - what the device wrote of the node in this place of order[] */
const struct npu_record *npurt_replay_record(const struct npurt_replay *replay, uint32_t place);

/** npurt_replay_list() - where the device sees the packet in a place of order[] */
uint64_t npurt_replay_list(const struct npurt_replay *replay, uint32_t place);

/* --------------------------------------------------------------- graph_replay.c */

extern const struct npurt_task_ops npurt_segment_ops;

/** npurt_replay_start() - a mixed graph: start what waits for nothing */
void npurt_replay_start(struct npurt_replay *replay);

/** npurt_replay_end() - everything has ended; afterwards it may be in use again, or gone */
void npurt_replay_end(struct npurt_replay *replay);

/**
 * npurt_segment_submit() - have the device run what of a segment is still to be run
 * @deadline_ns: as npurt_queue_submit()
 * @started: false: nothing of it is to be run, or this has failed; else it may be over and gone
 *
 * Return: 0; as npurt_queue_submit().
 */
int npurt_segment_submit(struct npurt_unit_run *run, int64_t deadline_ns, bool *started);

/* ---------------------------------------------------------------------- graph.c */

void npurt_graph_put(struct npurt_graph *graph);

/** npurt_graph_check_built() - 0, or a negative errno with a sentence about @call */
int npurt_graph_check_built(const struct npurt_graph *graph, const char *call);

/** npurt_graph_packets() - places in the queue that a segment takes */
uint64_t npurt_graph_packets(const struct npurt_unit *unit);

/** npurt_graph_bytes() - what a segment's nodes read and write, as the queue's bound counts it */
uint64_t npurt_graph_bytes(const struct npurt_graph *graph, const struct npurt_unit *unit);

#endif /* NPURT_GRAPH_H */
