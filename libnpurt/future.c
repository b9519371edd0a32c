// SPDX-License-Identifier: MIT
/* Futures: waiting, and what became of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "futex.h"
#include "notifier.h"
#include "objects.h"
#include "workers.h"

/* Room for bindings in a future that is used again. */
#define SPARE_USES 8
#define SPARES_MAX 256

/* One that was used before; NULL also when somebody else is at it. */
static struct npurt_future *take_spare(struct npurt_spares *spares)
{
	struct npurt_future *future;

	if (!__atomic_load_n(&spares->first, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&spares->locked, 1, __ATOMIC_ACQUIRE))
		return NULL;
	future = spares->first;
	if (future) {
		__atomic_store_n(&spares->first, future->next_called, __ATOMIC_RELAXED);
		spares->count--;
	}
	__atomic_store_n(&spares->locked, 0, __ATOMIC_RELEASE);
	return future;
}

static bool keep_spare(struct npurt_spares *spares, struct npurt_future *future)
{
	bool kept;

	if (future->uses_room != SPARE_USES ||
	    __atomic_exchange_n(&spares->locked, 1, __ATOMIC_ACQUIRE))
		return false;
	kept = NPURT_SPARES && spares->count < SPARES_MAX;
	if (kept) {
		future->next_called = spares->first;
		__atomic_store_n(&spares->first, future, __ATOMIC_RELAXED);
		spares->count++;
	}
	__atomic_store_n(&spares->locked, 0, __ATOMIC_RELEASE);
	return kept;
}

void npurt_future_free_spares(struct npurt_context *context)
{
	struct npurt_future *future;

	while ((future = take_spare(&context->spares)))
		free(future);
}

/* Field by field: for a whole structure compilers take a loop that is slow to start. */
static void start_afresh(struct npurt_future *future)
{
	future->run = (struct npurt_run){ .uses = future->uses };
	future->references = 1;
	future->complete = 0;
	future->sleepers = 0;
	future->cancel = 0;
	future->callback = NULL;
	future->callback_data = NULL;
	future->next_called = NULL;
	future->call_queued = false;
	future->on_queue = false;
	future->has_record = false;
	future->result = 0;
	future->queue_end = 0;
	future->submit_ns = 0;
	future->complete_ns = 0;
	future->flow = 0;
	future->error = NULL;
	future->times = NULL;
	future->node_results = NULL;
	future->nodes = 0;
	future->clusters = 0;
	future->layers = 0;
}

struct npurt_future *npurt_future_new(struct npurt_context *context, size_t uses)
{
	size_t room = uses > SPARE_USES ? uses : SPARE_USES;
	struct npurt_future *future = NULL;

	if (room == SPARE_USES)
		future = take_spare(&context->spares);
	if (!future)
		future = malloc(sizeof(*future) + room * sizeof(future->uses[0]));
	if (!future) {
		npurt_fail(-ENOMEM, "npurt: no memory for a task");
		return NULL;
	}
	start_afresh(future);
	future->context = context;
	future->uses_room = (uint32_t)room;
	return future;
}

void npurt_future_put(struct npurt_future *future)
{
	if (!npurt_count_down(&future->references))
		return;
	npurt_buffer_put(future->run.profile);
	free(future->error);
	free(future->times);
	free(future->node_results);
	if (!keep_spare(&future->context->spares, future))
		free(future);
}

void npurt_future_complete(struct npurt_future *future)
{
	__atomic_store_n(&future->complete, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&future->sleepers, __ATOMIC_SEQ_CST))
		npurt_futex_wake(&future->complete, INT_MAX);
	if (__atomic_load_n(&future->callback, __ATOMIC_SEQ_CST))
		npurt_notifier_call(future);
}

static bool is_complete(const struct npurt_future *future)
{
	return __atomic_load_n(&future->complete, __ATOMIC_ACQUIRE);
}

static int check_future(const struct npurt_future *future, const char *call)
{
	if (!future)
		return npurt_fail(-EINVAL, "npurt: %s() without a future (NULL)", call);
	return npurt_check_ours(future->context->device);
}

static int wait_for_word(struct npurt_future *future, int64_t deadline_ns)
{
	int64_t now = npurt_now(), until = now + future->context->spin_ns;

	while (!is_complete(future) && now < until && now < deadline_ns) {
		npurt_relax();
		now = npurt_now();
	}
	while (!is_complete(future)) {
		if (npurt_now() >= deadline_ns)
			return -ETIMEDOUT;
		__atomic_fetch_add(&future->sleepers, 1, __ATOMIC_SEQ_CST);
		npurt_futex_wait(&future->complete, 0, deadline_ns);
		__atomic_fetch_sub(&future->sleepers, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

/* 0 once the task is complete, whatever its result; -ETIMEDOUT. */
static int wait_complete(struct npurt_future *future, int64_t timeout_ns)
{
	int64_t deadline = timeout_ns ? npurt_deadline(timeout_ns) : 0;

	if (!future->on_queue)
		return wait_for_word(future, deadline);
	while (!is_complete(future)) {
		int ret = npurt_queue_wait(&future->context->queue, future->queue_end, deadline);

		if (ret)
			return ret;
		npurt_queue_retire(&future->context->queue);
	}
	return 0;
}

bool npurt_future_is_over(struct npurt_future *future)
{
	return !wait_complete(future, 0);
}

static int wait_traced(struct npurt_future *future, int64_t timeout_ns)
{
	struct npurt_trace *trace = &future->context->device->trace;
	int64_t start;
	int ret;

	if (!npurt_trace_on(trace))
		return wait_complete(future, timeout_ns);
	start = npurt_now();
	ret = wait_complete(future, timeout_ns);
	npurt_trace_host(trace, "wait", NULL, start, ret ? 0 : future->flow, 'f');
	return ret;
}

static int check_complete(struct npurt_future *future, const char *call)
{
	int ret = check_future(future, call);

	if (ret)
		return ret;
	if (wait_complete(future, 0))
		return npurt_fail(-EBUSY, "npurt: task %u is not complete yet: wait for it first",
				  (uint32_t)future->queue_end);
	return 0;
}

int npurt_future_wait(struct npurt_future *future, int64_t timeout_ns)
{
	int ret;

	ret = check_future(future, "npurt_future_wait");
	if (ret)
		return ret;
	if (timeout_ns && npurt_in_callback() && wait_complete(future, 0))
		return npurt_fail(-EDEADLK,
				  "npurt: a callback must not wait for a task: look with a "
				  "time-out of 0, or make the task a node before it");
	ret = timeout_ns ? wait_traced(future, timeout_ns) : wait_complete(future, 0);
	if (ret)
		return npurt_fail(ret, "npurt: task %u is not complete yet",
				  (uint32_t)future->queue_end);
	if (future->result)
		return npurt_fail(future->result, "%s",
				  future->error ? future->error :
						  "a task failed, and there was no memory "
						  "to say how");
	return 0;
}

int npurt_future_node_result(struct npurt_future *future, uint32_t node)
{
	int ret;

	ret = check_complete(future, "npurt_future_node_result");
	if (ret)
		return ret;
	if (node >= future->nodes)
		return npurt_fail(-EINVAL,
				  "npurt: node %u of a future with %u nodes: only those of graphs "
				  "have some",
				  node, future->nodes);
	if (!future->result)
		return 0;
	if (!future->node_results)
		return npurt_fail(-ENOMEM, "npurt: there was no memory for the results of nodes");
	if (future->node_results[node])
		return npurt_fail(future->node_results[node], "npurt: node %u: %s", node,
				  strerror(-future->node_results[node]));
	return 0;
}

int npurt_future_cancel(struct npurt_future *future)
{
	int ret;

	ret = check_future(future, "npurt_future_cancel");
	if (ret)
		return ret;
	__atomic_store_n(&future->cancel, 1, __ATOMIC_RELAXED);
	return 0;
}

int npurt_future_set_callback(struct npurt_future *future, npurt_callback callback, void *data)
{
	struct npurt_context *context;
	int ret;

	ret = check_future(future, "npurt_future_set_callback");
	if (ret)
		return ret;
	if (!callback)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_future_set_callback() without a callback (NULL)");
	context = future->context;
	ret = npurt_notifier_start(context);
	if (ret)
		return ret;
	return npurt_notifier_set_callback(future, callback, data);
}

int npurt_future_prepare_uring(struct npurt_future *future, struct io_uring_sqe *sqe,
			       int64_t timeout_ns)
{
	uint32_t timeout_us = UINT32_MAX;
	int ret;

	ret = check_future(future, "npurt_future_prepare_uring");
	if (ret)
		return ret;
	if (!sqe)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_future_prepare_uring() without a submission (NULL)");
	if (!future->on_queue)
		return npurt_fail(-EOPNOTSUPP,
				  "npurt: the end of a graph with host tasks is no event of the "
				  "device's: use npurt_context_get_fd()");
	if (timeout_ns >= 0) {
		/* Never early. */
		if (timeout_ns > (int64_t)(UINT32_MAX - 1) * 1000)
			return npurt_fail(-EINVAL,
					  "npurt: io_uring waits for a task no longer than 71 "
					  "minutes: pass NPURT_FOREVER, or wait in turns");
		timeout_us = (uint32_t)((timeout_ns + 999) / 1000);
	}
	return npurt_queue_prepare_uring(&future->context->queue, future->queue_end, timeout_us,
					 sqe);
}

const char *npurt_future_error(struct npurt_future *future)
{
	if (check_future(future, "npurt_future_error") || wait_complete(future, 0))
		return "";
	return future->error ? future->error : "";
}

int npurt_future_get_report(struct npurt_future *future, struct npurt_task_report *report)
{
	const struct npu_record *record;
	struct npurt_task_report now;
	int ret;

	ret = check_complete(future, "npurt_future_get_report");
	if (ret)
		return ret;
	if (!future->has_record && !future->result)
		return npurt_fail(-ENODATA, "npurt: the graph had nothing for the device to do, "
					    "which so has no report on it");
	if (!future->has_record)
		return npurt_fail(-EIO, "%s", future->error ? future->error : "the task was lost");
	record = &future->record;
	now = (struct npurt_task_report){
		.size = sizeof(now),
		.task_id = record->task_id,
		.status = record->status,
		.error = record->error,
		.clusters = future->clusters,
		.start = record->start,
		.end = record->end,
		.cycles = record->end - record->start,
		.mac_cycles = record->mac_cycles,
		.output_cycles = record->out_cycles,
		.vector_cycles = record->vector_cycles,
		.dma_cycles = record->dma_cycles,
		.dram_read_bytes = (uint64_t)record->dram_read * 64,
		.dram_write_bytes = (uint64_t)record->dram_write * 64,
		.stall_token_cycles = record->stall_token,
		.stall_memory_cycles = record->stall_memory,
		.detail = record->detail,
		.submit_ns = future->submit_ns,
		.complete_ns = future->complete_ns,
	};
	return npurt_give_sized(report, &now, sizeof(now));
}

int npurt_future_get_layer_times(struct npurt_future *future, struct npurt_layer_time *times,
				 size_t capacity)
{
	size_t count;
	int ret;

	ret = check_complete(future, "npurt_future_get_layer_times");
	if (ret)
		return ret;
	if (!future->times)
		return npurt_fail(
			-ENODATA,
			"npurt: task %u was not profiled: submit it with NPURT_RUN_PROFILE",
			(uint32_t)future->queue_end);
	if (capacity && !times)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_future_get_layer_times() without room (NULL)");
	count = future->layers < capacity ? future->layers : capacity;
	if (count)
		memcpy(times, future->times, count * sizeof(*times));
	return (int)future->layers;
}

void npurt_future_release(struct npurt_future *future)
{
	struct npurt_context *context;

	if (!future || !npurt_is_ours(future->context->device))
		return;
	context = future->context;
	npurt_future_put(future);
	npurt_context_put(context);
}
