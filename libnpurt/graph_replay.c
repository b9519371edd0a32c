// SPDX-License-Identifier: MIT
/*
 * A replay: units start when what is before them has ended, and what failed cancels what is behind.
 *
 * A node is marked as cancelled before the units that lead to it are counted down, so whoever
 * starts its unit sees the mark.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "notifier.h"
#include "stats.h"

/* -------------------------------------------------------------------- failure */

static bool is_cancelled(const struct npurt_replay *replay, uint32_t node)
{
	return __atomic_load_n(&replay->cancelled[node], __ATOMIC_RELAXED);
}

/* The node will not do, or has not done, its work; nor will those behind it. */
static void fail_node(struct npurt_replay *replay, uint32_t node, int error)
{
	const struct npurt_lists *after = &replay->graph->after;
	uint32_t i;

	replay->result[node] = error;
	__atomic_store_n(&replay->failed, 1, __ATOMIC_RELAXED);
	for (i = after->first[node]; i < after->first[node + 1]; i++)
		__atomic_store_n(&replay->cancelled[after->values[i]], NPURT_CANCELLED_BEHIND,
				 __ATOMIC_RELAXED);
}

/* Why a node is not to start, 0 when it is. */
static int refusal(struct npurt_replay *replay, uint32_t node)
{
	if (is_cancelled(replay, node))
		return -ECANCELED;
	if (__atomic_load_n(&replay->future->cancel, __ATOMIC_RELAXED)) {
		replay->cancelled[node] = NPURT_CANCELLED_BY_CALL;
		return -ECANCELED;
	}
	if (replay->deadline_ns != INT64_MAX && npurt_now() >= replay->deadline_ns) {
		replay->cancelled[node] = NPURT_CANCELLED_LATE;
		return -ETIME;
	}
	return 0;
}

/* Is refusal() worth asking? */
static bool may_refuse(const struct npurt_replay *replay)
{
	return __atomic_load_n(&replay->failed, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&replay->future->cancel, __ATOMIC_RELAXED) ||
	       replay->deadline_ns != INT64_MAX;
}

/* ------------------------------------------------------------------------ end */

/* There is one that is not just behind another. What failed by itself comes first. */
static uint32_t first_failure(const struct npurt_replay *replay)
{
	uint32_t i, found = 0;

	for (i = replay->graph->nodes; i > 0; i--) {
		uint8_t cancelled = replay->cancelled[i - 1];

		if (!replay->result[i - 1] || cancelled == NPURT_CANCELLED_BEHIND)
			continue;
		if (!cancelled || replay->cancelled[found] || !replay->result[found])
			found = i - 1;
	}
	return found;
}

static uint32_t place_of(const struct npurt_graph *graph, uint32_t node)
{
	uint32_t place = graph->unit[graph->node[node].unit].first_packet;

	while (graph->order[place] != node)
		place++;
	return place;
}

static void describe_node(const struct npurt_replay *replay, uint32_t index, char *text,
			  size_t bytes)
{
	const struct npurt_graph *graph = replay->graph;
	const struct npurt_node *node = &graph->node[index];
	const struct npurt_unit_run *unit = &replay->unit[node->unit];
	const struct npurt_run run = npurt_replay_run(replay, index);
	int error = replay->result[index];
	struct npu_record record;

	if (node->kind != NPURT_NODE_HOST && !unit->lost)
		npurt_record_read(&record, npurt_replay_record(replay, place_of(graph, index)));
	if (replay->cancelled[index] == NPURT_CANCELLED_BY_CALL)
		snprintf(text, bytes, "it was cancelled before it started");
	else if (replay->cancelled[index] == NPURT_CANCELLED_LATE)
		snprintf(text, bytes, "the replay's deadline passed before it started");
	else if (node->kind == NPURT_NODE_HOST)
		snprintf(text, bytes, "the host task returned %d (%s)", error, strerror(-error));
	else if (unit->lost)
		snprintf(text, bytes, "it was lost with its queue: %s",
			 unit->reason ? unit->reason : strerror(-unit->lost));
	else if (node->kind == NPURT_NODE_COPY)
		snprintf(text, bytes, "copying %" PRIu64 " bytes: %s at address 0x%" PRIx64,
			 node->bytes, npurt_describe_error(record.error), (uint64_t)record.detail);
	else
		npurt_describe_failure(&run, &record, text, bytes);
}

static void take_failure(struct npurt_replay *replay)
{
	struct npurt_future *future = replay->future;
	const struct npurt_graph *graph = replay->graph;
	char why[NPURT_ERROR_BYTES - 64], text[NPURT_ERROR_BYTES];
	uint32_t node = first_failure(replay);

	future->result = replay->result[node];
	describe_node(replay, node, why, sizeof(why));
	snprintf(text, sizeof(text), "node %u of a graph of %u failed: %s", node, graph->nodes,
		 why);
	future->error = strdup(text);
	/* Without memory for it the future still says that, and how, the graph has failed. */
	future->node_results = malloc(graph->nodes * sizeof(*future->node_results));
	if (future->node_results)
		memcpy(future->node_results, replay->result,
		       graph->nodes * sizeof(*future->node_results));
	npurt_log_line(&graph->context->device->log, NPURT_LOG_ERROR, "context %p: %s",
		       (void *)graph->context, text);
}

/* Saturates, as the device's counters do. */
static void add(uint32_t *sum, uint32_t more)
{
	*sum = more > UINT32_MAX - *sum ? UINT32_MAX : *sum + more;
}

static void add_record(struct npu_record *sum, const struct npu_record *record)
{
	if (!record->status)
		return;
	if (!sum->status || record->start < sum->start)
		sum->start = record->start;
	if (record->end > sum->end)
		sum->end = record->end;
	if (sum->status <= NPU_STATUS_DONE) {
		sum->task_id = record->task_id;
		sum->status = record->status;
		sum->error = record->error;
		sum->detail = record->detail;
	}
	add(&sum->mac_cycles, record->mac_cycles);
	add(&sum->out_cycles, record->out_cycles);
	add(&sum->vector_cycles, record->vector_cycles);
	add(&sum->dma_cycles, record->dma_cycles);
	add(&sum->dram_read, record->dram_read);
	add(&sum->dram_write, record->dram_write);
	add(&sum->stall_token, record->stall_token);
	add(&sum->stall_memory, record->stall_memory);
}

void npurt_replay_end(struct npurt_replay *replay)
{
	struct npurt_graph *graph = replay->graph;
	struct npurt_context *context = graph->context;
	struct npurt_future *future = replay->future;
	bool device_only = graph->device_only;
	uint32_t i;

	for (i = 0; i < graph->units; i++) {
		if (graph->unit[i].is_segment)
			add_record(&future->record, &replay->unit[i].record);
	}
	future->has_record = future->record.status != NPU_STATUS_NONE;
	future->complete_ns = npurt_now();
	if (__atomic_load_n(&replay->failed, __ATOMIC_RELAXED))
		take_failure(replay);
	/* Idle before it is known to be complete: who waited for it may submit the next one. */
	pthread_mutex_lock(&graph->lock);
	npurt_stats_ran(graph->stats, future);
	if (device_only)
		npurt_stats_waited(&context->queue, future);
	replay->future = NULL;
	pthread_cond_signal(&graph->idle);
	pthread_mutex_unlock(&graph->lock);
	npurt_future_complete(future);
	npurt_future_put(future);
	npurt_graph_put(graph);
	npurt_notifier_completed(context);
	if (!device_only)
		npurt_context_put(context);
}

/* ---------------------------------------------------------------------- units */

/* Jobs to be handed on, and the one to go on with. */
struct ready {
	struct npurt_job *first, *last;
};

static void add_ready(struct ready *ready, struct npurt_job *job)
{
	if (!ready->first)
		ready->last = job;
	job->next = ready->first;
	ready->first = job;
}

static bool count_down(struct npurt_unit_run *unit, uint32_t before)
{
	return before == 1 || __atomic_sub_fetch(&unit->waiting, 1, __ATOMIC_ACQ_REL) == 0;
}

/* A unit has ended: what only waited for it is ready. Returns true when the replay has ended. */
static bool end_unit(struct npurt_unit_run *run, struct ready *ready)
{
	struct npurt_replay *replay = run->replay;
	const struct npurt_graph *graph = replay->graph;
	uint32_t from = graph->units_after.first[run->unit];
	uint32_t to = graph->units_after.first[run->unit + 1];

	if (from == to)
		return __atomic_sub_fetch(&replay->ends, 1, __ATOMIC_ACQ_REL) == 0;
	for (; from < to; from++) {
		uint32_t next = graph->units_after.values[from];

		if (count_down(&replay->unit[next], graph->unit[next].before))
			add_ready(ready, &replay->unit[next].job);
	}
	return false;
}

static void run_host_node(struct npurt_replay *replay, uint32_t index)
{
	const struct npurt_node *node = &replay->graph->node[index];
	int error = may_refuse(replay) ? refusal(replay, index) : 0;

	if (!error) {
		struct npurt_trace *trace = &replay->graph->context->device->trace;
		int64_t start = npurt_trace_on(trace) ? npurt_now() : 0;

		npurt_set_in_callback(true);
		error = node->task(node->data);
		npurt_set_in_callback(false);
		if (start)
			npurt_trace_host(trace, "host task", NULL, start, 0, 0);
		if (error > 0)
			error = -EINVAL;
	}
	if (error)
		fail_node(replay, index, error);
}

/* Leaves out what is not to run. Returns whether anything is left. */
static bool prepare_segment(struct npurt_unit_run *run)
{
	struct npurt_replay *replay = run->replay;
	const struct npurt_unit *unit = &replay->graph->unit[run->unit];
	uint32_t i, left = 0;

	for (i = unit->first_packet; i < unit->first_packet + unit->packets; i++) {
		uint32_t node = replay->graph->order[i];
		int error;

		if (replay->result[node])
			continue;
		error = refusal(replay, node);
		left += !error;
		if (!error)
			continue;
		fail_node(replay, node, error);
		npurt_replay_skip(replay, i);
	}
	return left != 0;
}

/* Looks at every node of a segment in which something has failed. */
static void read_segment(struct npurt_unit_run *run)
{
	struct npurt_replay *replay = run->replay;
	const struct npurt_unit *unit = &replay->graph->unit[run->unit];
	uint32_t i;

	for (i = unit->first_packet; i < unit->first_packet + unit->packets; i++) {
		uint32_t node = replay->graph->order[i];
		struct npu_record record;
		int error;

		if (replay->result[node])
			continue;
		npurt_record_read(&record, npurt_replay_record(replay, i));
		error = run->lost ? run->lost : npurt_error_of_status(record.status, record.error);
		/* It may have run: the device keeps to the order, and knows no reasons. */
		if (is_cancelled(replay, node))
			error = -ECANCELED;
		if (error)
			fail_node(replay, node, error);
	}
}

static void end_segment(struct npurt_unit_run *run)
{
	if (run->lost || run->record.status != NPU_STATUS_DONE)
		read_segment(run);
}

int npurt_segment_submit(struct npurt_unit_run *run, int64_t deadline_ns, bool *started)
{
	struct npurt_replay *replay = run->replay;
	bool late_first = replay->deadline_ns <= deadline_ns;
	int ret;

	*started = !may_refuse(replay) || prepare_segment(run);
	if (!*started)
		return 0;
	ret = npurt_queue_submit(&replay->graph->context->queue, &run->task,
				 late_first ? replay->deadline_ns : deadline_ns);
	*started = !ret;
	/* There was no room before all of it was late. */
	if (ret == -ETIMEDOUT && late_first && !prepare_segment(run))
		return 0;
	return ret;
}

/* Until the device has it. Returns false when it has ended without. */
static bool start_segment(struct npurt_unit_run *run)
{
	struct npurt_context *context = run->replay->graph->context;
	bool started;
	int ret;

	npurt_notifier_want(context);
	/* The replay, which holds the context, may have ended before the submission returns. */
	npurt_count_up(&context->handles);
	ret = npurt_segment_submit(run, INT64_MAX, &started);
	if (!started)
		npurt_notifier_want_no_more(context);
	if (ret) {
		run->lost = ret;
		run->reason = strdup(npurt_last_error());
		end_segment(run);
	}
	npurt_context_put(context);
	return started;
}

static void run_unit(struct npurt_job *job, struct npurt_worker *worker);

/* The rest of a unit's end: hands on what is ready but for one, which it returns. */
static struct npurt_job *hand_on(struct npurt_unit_run *run, struct npurt_worker *worker)
{
	struct npurt_workers *workers = run->replay->graph->context->device->workers;
	struct ready ready = { NULL, NULL };
	struct npurt_job *next;

	if (end_unit(run, &ready)) {
		npurt_replay_end(run->replay);
		return NULL;
	}
	next = ready.first;
	if (next && next->next)
		npurt_workers_push(workers, worker, next->next, ready.last);
	return next;
}

static struct npurt_unit_run *unit_of(struct npurt_job *job)
{
	return (struct npurt_unit_run *)((char *)job - offsetof(struct npurt_unit_run, job));
}

static void run_unit(struct npurt_job *job, struct npurt_worker *worker)
{
	while (job) {
		struct npurt_unit_run *run = unit_of(job);
		const struct npurt_unit *unit = &run->replay->graph->unit[run->unit];

		if (!unit->is_segment)
			run_host_node(run->replay, unit->node);
		else if (start_segment(run))
			return;
		job = hand_on(run, worker);
	}
}

/* A segment of a mixed graph is over: on a worker. */
static void run_segment_end(struct npurt_job *job, struct npurt_worker *worker)
{
	struct npurt_unit_run *run = unit_of(job);

	end_segment(run);
	job = hand_on(run, worker);
	if (job)
		run_unit(job, worker);
}

/* Counts up what each unit waits for. */
static void reset(struct npurt_replay *replay)
{
	const struct npurt_graph *graph = replay->graph;
	uint32_t i;

	if (replay->failed) {
		memset(replay->result, 0, graph->nodes * sizeof(*replay->result));
		memset(replay->cancelled, 0, graph->nodes);
	}
	replay->failed = 0;
	replay->ends = graph->ends;
	for (i = 0; i < graph->units; i++) {
		struct npurt_unit_run *run = &replay->unit[i];

		run->job.run = run_unit;
		run->waiting = graph->unit[i].before;
		if (!graph->unit[i].is_segment)
			continue;
		run->lost = 0;
		free(run->reason);
		run->reason = NULL;
		memset(&run->record, 0, sizeof(run->record));
	}
}

void npurt_replay_start(struct npurt_replay *replay)
{
	const struct npurt_graph *graph = replay->graph;
	struct ready ready = { NULL, NULL };
	uint32_t i;

	reset(replay);
	for (i = graph->units; i > 0; i--) {
		if (!graph->unit[i - 1].before)
			add_ready(&ready, &replay->unit[i - 1].job);
	}
	if (!graph->device_only)
		npurt_workers_push(graph->context->device->workers, NULL, ready.first, ready.last);
}

/* ------------------------------------------------------------------- segments */

static struct npurt_unit_run *unit_of_task(struct npurt_task *task)
{
	return (struct npurt_unit_run *)((char *)task - offsetof(struct npurt_unit_run, task));
}

/* One GRAPH for each part of the list that fits one, then the SIGNAL for all of them. */
static __le32 fill(struct npurt_queue *queue, struct npurt_task *task, uint64_t index)
{
	struct npurt_unit_run *run = unit_of_task(task);
	struct npurt_replay *replay = run->replay;
	const struct npurt_unit *unit = &replay->graph->unit[run->unit];
	struct npu_packet_signal signal = {
		.header = htole32(NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0)),
		.sem = htole16(NPURT_PROGRESS_SEMAPHORE),
		.add = htole64(task->packets),
	};
	struct npurt_future *future = replay->future;
	uint64_t last = index + task->packets - 1;
	uint32_t done = 0;

	if (future->on_queue) {
		future->queue_end = last + 1;
		future->submit_ns = task->submit_ns;
	}
	for (; index < last; index++) {
		uint32_t left = unit->packets - done;
		uint32_t count = left < NPU_GRAPH_PACKETS_MAX ? left : NPU_GRAPH_PACKETS_MAX;
		struct npu_record *record = npurt_queue_record(queue, index);
		struct npu_packet_graph packet = {
			.header = htole32(NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0)),
			.task_id = htole32((uint32_t)(index + 1)),
			.list = htole64(npurt_replay_list(replay, unit->first_packet + done)),
			.count = htole32(count),
			.record = htole64(npurt_queue_address(queue, record)),
		};

		npurt_ring_fill(&queue->ring, index, &packet);
		npurt_ring_publish(&queue->ring, index, packet.header);
		done += count;
	}
	npurt_ring_fill(&queue->ring, last, &signal);
	return signal.header;
}

static void trace(const struct npurt_unit_run *run)
{
	const struct npurt_replay *replay = run->replay;
	char name[64];

	snprintf(name, sizeof(name), "%u nodes of a graph",
		 replay->graph->unit[run->unit].packets);
	npurt_trace_finished(replay->graph->context, &(struct npurt_trace_task){
		.flow = replay->future->flow,
		.name = name,
		.result = run->lost,
		.start_ns = run->task.submit_ns,
		.end_ns = npurt_now(),
		.record = run->record.status ? &run->record : NULL,
	});
}

static void finish(struct npurt_queue *queue, struct npurt_task *task, int lost, const char *reason)
{
	struct npurt_unit_run *run = unit_of_task(task);
	struct npurt_graph *graph = run->replay->graph;
	struct npu_record record;
	uint64_t i;

	if (!graph->device_only)
		npurt_notifier_want_no_more(queue->context);
	for (i = 0; i + 1 < task->packets; i++) {
		npurt_queue_take_record(queue, task->index + i, &record);
		add_record(&run->record, &record);
		if (record.status == NPU_STATUS_NONE)
			run->lost = lost ? lost : -EIO;
	}
	if (run->lost)
		run->reason = strdup(lost ? reason : "the device completed it without a record");
	if (run->lost || run->record.status != NPU_STATUS_DONE)
		npurt_queue_log_last(queue, task->index + task->packets - 1);
	if (npurt_trace_on(&graph->context->device->trace))
		trace(run);
	if (graph->device_only) {
		end_segment(run);
		npurt_replay_end(run->replay);
		return;
	}
	run->job.run = run_segment_end;
	npurt_workers_push(graph->context->device->workers, NULL, &run->job, &run->job);
}

const struct npurt_task_ops npurt_segment_ops = { .fill = fill, .finish = finish };
