// SPDX-License-Identifier: MIT
/* Submitting a graph: a replay that is idle, then the queue or the workers. */
#include <errno.h>
#include <string.h>

#include "graph.h"
#include "thread.h"

static int read_options(const struct npurt_replay_options *from,
			struct npurt_replay_options *options)
{
	int ret = npurt_take_sized(options, sizeof(*options), from, "replay options");

	if (ret)
		return ret;
	if (options->policy > NPURT_POLICY_TIMEOUT || options->flags || options->deadline_ns < 0)
		return npurt_fail(
			-EINVAL,
			"npurt: replay policy %u, flags 0x%x or deadline %lld: this library "
			"knows policies 0 to %d and no flags, and a deadline is not negative",
			options->policy, options->flags, (long long)options->deadline_ns,
			NPURT_POLICY_TIMEOUT);
	return 0;
}

/* ------------------------------------------------------------- an idle replay */

/* Marks it as taken. Under the graph's lock. */
static struct npurt_replay *find_idle(struct npurt_graph *graph, struct npurt_future *future)
{
	uint32_t i;

	for (i = 0; i < graph->replays; i++) {
		if (graph->replay[i].future)
			continue;
		graph->replay[i].future = future;
		__atomic_fetch_add(&graph->held, 1, __ATOMIC_SEQ_CST);
		return &graph->replay[i];
	}
	return NULL;
}

/* Under the graph's lock. */
static bool has_idle(const struct npurt_graph *graph)
{
	uint32_t i;

	for (i = 0; i < graph->replays; i++) {
		if (!graph->replay[i].future)
			return true;
	}
	return false;
}

static struct npurt_replay *take_idle(struct npurt_graph *graph, struct npurt_future *future)
{
	struct npurt_replay *replay;

	pthread_mutex_lock(&graph->lock);
	replay = find_idle(graph, future);
	pthread_mutex_unlock(&graph->lock);
	if (replay || !graph->device_only)
		return replay;
	/* One may be over, and nobody has looked. */
	npurt_queue_retire(&graph->context->queue);
	pthread_mutex_lock(&graph->lock);
	replay = find_idle(graph, future);
	pthread_mutex_unlock(&graph->lock);
	return replay;
}

/* Workers end the replay of a graph with host nodes. */
static int wait_for_workers(struct npurt_graph *graph, struct npurt_future *future,
			    int64_t deadline_ns, struct npurt_replay **result)
{
	int ret = 0;

	pthread_mutex_lock(&graph->lock);
	while (!(*result = find_idle(graph, future)) && !ret)
		ret = npurt_cond_wait(&graph->idle, &graph->lock, deadline_ns);
	pthread_mutex_unlock(&graph->lock);
	return ret;
}

/*
 * One that a submitter has may also end without the queue: late, or refused. So nobody sleeps long
 * for the queue alone.
 */
static int wait_a_turn(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns)
{
	int64_t turn = npurt_now() + NPURT_TURN_NS;
	int ret = npurt_queue_wait(queue, tasks, turn < deadline_ns ? turn : deadline_ns);

	return ret == -ETIMEDOUT && npurt_now() < deadline_ns ? 0 : ret;
}

/* None is the queue's: how far it comes is no news. */
static bool all_held(const struct npurt_graph *graph)
{
	return __atomic_load_n(&graph->held, __ATOMIC_SEQ_CST) >= graph->replays;
}

/* Until one of those who have them gives it back, or hands it to the queue. */
static int wait_for_submitters(struct npurt_graph *graph, int64_t deadline_ns)
{
	int ret = 0;

	pthread_mutex_lock(&graph->lock);
	while (all_held(graph) && !has_idle(graph) && !ret)
		ret = npurt_cond_wait(&graph->idle, &graph->lock, deadline_ns);
	pthread_mutex_unlock(&graph->lock);
	return ret;
}

/* Whoever looks ends the replays of one without. */
static int wait_for_queue(struct npurt_graph *graph, struct npurt_future *future,
			  int64_t deadline_ns, struct npurt_replay **result)
{
	struct npurt_queue *queue = &graph->context->queue;
	int ret = 0;

	/* Who hands one to the queue looks for us after that. */
	npurt_fence();
	while (!ret) {
		/* Looked at first: what somebody retires from here on is no reason to sleep. */
		uint64_t retired = __atomic_load_n(&queue->retired, __ATOMIC_ACQUIRE);

		*result = take_idle(graph, future);
		if (*result)
			return 0;
		ret = all_held(graph) ? wait_for_submitters(graph, deadline_ns) :
					wait_a_turn(queue, retired + 1, deadline_ns);
	}
	return ret;
}

static int take_replay(struct npurt_graph *graph, struct npurt_future *future, int64_t deadline_ns,
		       struct npurt_replay **result)
{
	struct npurt_line_place place;
	int ret;

	if (npurt_line_is_empty(&graph->line)) {
		*result = take_idle(graph, future);
		if (*result)
			return 0;
	}
	if (deadline_ns == NPURT_DEADLINE_TRY)
		return npurt_fail(
			-EAGAIN,
			"npurt: %u replays of the graph are in flight, as many as it can have: "
			"wait for one, or submit with NPURT_POLICY_BLOCK",
			graph->replays);
	if (npurt_in_callback())
		return npurt_fail(-EDEADLK,
				  "npurt: the graph is in flight, and a callback must not "
				  "wait: submit with NPURT_POLICY_TRY there");
	ret = npurt_line_enter(&graph->line, &place, deadline_ns);
	if (!ret)
		ret = graph->device_only ? wait_for_queue(graph, future, deadline_ns, result) :
					   wait_for_workers(graph, future, deadline_ns, result);
	npurt_line_leave(&graph->line, &place);
	if (ret)
		return npurt_fail(ret, "npurt: no replay of the graph ended within the time-out");
	return 0;
}

static void give_back(struct npurt_replay *replay)
{
	struct npurt_graph *graph = replay->graph;

	pthread_mutex_lock(&graph->lock);
	replay->future = NULL;
	__atomic_fetch_sub(&graph->held, 1, __ATOMIC_SEQ_CST);
	pthread_cond_signal(&graph->idle);
	pthread_mutex_unlock(&graph->lock);
	npurt_graph_put(graph);
}

/* It is the queue's, or the workers'. */
static void hand_over(struct npurt_graph *graph)
{
	__atomic_fetch_sub(&graph->held, 1, __ATOMIC_SEQ_CST);
	npurt_fence();
	if (npurt_line_is_empty(&graph->line))
		return;
	pthread_mutex_lock(&graph->lock);
	pthread_cond_signal(&graph->idle);
	pthread_mutex_unlock(&graph->lock);
}

/* ------------------------------------------------------------------- submitting */

static int start(struct npurt_replay *replay, int64_t deadline_ns)
{
	struct npurt_graph *graph = replay->graph;
	bool started;
	int ret;

	if (!graph->device_only) {
		/* Host nodes run to their end: their context stays for so long. */
		npurt_count_up(&graph->context->handles);
		replay->future->submit_ns = npurt_now();
		npurt_replay_start(replay);
		return 0;
	}
	replay->future->on_queue = true;
	npurt_replay_start(replay);
	ret = npurt_segment_submit(&replay->unit[0], deadline_ns, &started);
	if (!ret && !started)
		npurt_replay_end(replay);
	return ret;
}

static int submit(struct npurt_graph *graph, const struct npurt_replay_options *options,
		  struct npurt_future *future)
{
	int64_t deadline = npurt_policy_deadline(options->policy, options->timeout_ns);
	int64_t late = options->deadline_ns ? npurt_deadline(options->deadline_ns) : INT64_MAX;
	struct npurt_replay *replay = NULL;
	int ret;

	ret = take_replay(graph, future, deadline, &replay);
	if (ret)
		return ret;
	npurt_count_up(&graph->references);
	pthread_mutex_lock(&graph->lock);
	npurt_replay_write(replay);
	pthread_mutex_unlock(&graph->lock);
	replay->deadline_ns = late;
	npurt_count_up(&future->references);
	ret = start(replay, deadline);
	if (!ret) {
		hand_over(graph);
		return 0;
	}
	npurt_future_put(future);
	give_back(replay);
	return ret;
}

static int submit_traced(struct npurt_graph *graph, const struct npurt_replay_options *options,
			 struct npurt_future *future)
{
	struct npurt_trace *trace = &graph->context->device->trace;
	int64_t start = npurt_trace_on(trace) ? npurt_now() : 0;
	int ret = submit(graph, options, future);

	if (start)
		npurt_trace_host(trace, "submit a graph", NULL, start, ret ? 0 : future->flow, 's');
	return ret;
}

int npurt_graph_submit(struct npurt_graph *graph, const struct npurt_replay_options *from,
		       struct npurt_future **result)
{
	struct npurt_replay_options options;
	struct npurt_context *context;
	struct npurt_future *future;
	int ret;

	ret = npurt_graph_check_built(graph, "npurt_graph_submit");
	if (!ret)
		ret = read_options(from, &options);
	if (ret)
		return ret;
	context = graph->context;
	future = npurt_future_new(context, 0);
	if (!future)
		return -ENOMEM;
	future->nodes = graph->nodes;
	future->flow = npurt_trace_flow(&context->device->trace);
	memset(&future->record, 0, sizeof(future->record));
	ret = submit_traced(graph, &options, future);
	if (ret || !result) {
		npurt_future_put(future);
		return ret;
	}
	npurt_count_up(&context->handles);
	*result = future;
	return 0;
}
