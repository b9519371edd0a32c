// SPDX-License-Identifier: MIT
/*
 * A context's queue: admission, submission, completion.
 *
 * Submitting into a queue with room takes no lock: a ring index is reserved, and with it the slot
 * of the same number, which holds the task's record and arguments. Completed tasks are let go of in
 * order, by whoever waits or needs room.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "notifier.h"
#include "npu_pgtable.h"
#include "objects.h"
#include "stats.h"
#include "workers.h"

#define SPINS_A_LOOK 32

static struct npurt_slot *slot_of(const struct npurt_queue *queue, uint64_t index)
{
	return &queue->slots[index & (queue->ring.size - 1)];
}

static int stopped(const struct npurt_queue *queue)
{
	return __atomic_load_n(&queue->stopped, __ATOMIC_ACQUIRE);
}

/* --------------------------------------------------------------- completion */

void npurt_queue_take_record(struct npurt_queue *queue, uint64_t index, struct npu_record *to)
{
	struct npu_record *record = npurt_queue_record(queue, index);

	npurt_record_read(to, record);
	__atomic_store_n(&record->status, 0, __ATOMIC_RELAXED);
}

void npurt_trace_finished(struct npurt_context *context, const struct npurt_trace_task *from)
{
	struct npurt_trace_task task = *from;

	/* It can have begun when it was submitted and the one before was over, and not before. */
	task.context = context->trace_number;
	if (task.start_ns < context->trace_end_ns)
		task.start_ns = context->trace_end_ns;
	if (task.end_ns < task.start_ns)
		task.end_ns = task.start_ns;
	context->trace_end_ns = task.end_ns;
	npurt_trace_task(&context->device->trace, &task);
}

/* Ends the packet of the lowest index, and a task with its first one. Under retire_lock. */
static void retire_one(struct npurt_queue *queue, int lost, const char *reason)
{
	struct npurt_slot *slot = slot_of(queue, queue->retired);
	struct npurt_task *task = slot->task;

	slot->task = NULL;
	if (task) {
		if (task->bytes)
			__atomic_fetch_sub(&queue->bytes, task->bytes, __ATOMIC_RELAXED);
		task->ops->finish(queue, task, lost, reason);
	}
	/* From here on a producer may have the slot. */
	__atomic_store_n(&queue->retired, queue->retired + 1, __ATOMIC_RELEASE);
}

/* It may be between reserving and publishing: a matter of instructions. */
static void wait_for_producer(const struct npurt_queue *queue, uint64_t index)
{
	const struct npurt_slot *slot = slot_of(queue, index);

	while (__atomic_load_n(&slot->filled, __ATOMIC_ACQUIRE) != index + 1)
		sched_yield();
}

/* Tasks that do not come to an end by themselves. Under retire_lock. */
static void retire_lost(struct npurt_queue *queue, uint64_t end, int error, const char *reason)
{
	while (queue->retired < end) {
		wait_for_producer(queue, queue->retired);
		retire_one(queue, error, reason);
	}
}

/* Destruction by the application is no news, everything else is. */
static void note_stop(struct npurt_queue *queue, int error, const char *why)
{
	if (stopped(queue))
		return;
	snprintf(queue->stop_reason, sizeof(queue->stop_reason), "%s", why);
	__atomic_store_n(&queue->stopped, error, __ATOMIC_RELEASE);
	npurt_log_line(&queue->context->device->log,
		       error == -ECANCELED ? NPURT_LOG_DEBUG : NPURT_LOG_ERROR, "context %p: %s",
		       (void *)queue->context, queue->stop_reason);
}

static void check_ring(struct npurt_queue *queue)
{
	char why[sizeof(queue->stop_reason)];
	uint64_t index = 0;
	uint32_t error = npurt_ring_error(&queue->ring, &index);

	if (!error || stopped(queue))
		return;
	snprintf(why, sizeof(why),
		 "the device stopped the queue at packet %" PRIu64 ": %s (error %u): destroy the "
		 "context and make another",
		 index, npurt_describe_error(error), error);
	note_stop(queue, -EIO, why);
}

/* ------------------------------------------------------- after a reset of the device */

/*
 * Where the queue goes on: behind what the device had done with, and behind a task that may have
 * begun. While the device's sleeping flag is set, it has not looked at the next packet.
 */
static uint64_t index_after_reset(const struct npurt_queue *queue)
{
	const struct npu_ring_control *control = queue->ring.control;
	uint64_t read = le64toh(__atomic_load_n(&control->read_index, __ATOMIC_ACQUIRE));
	uint64_t written = npurt_ring_written(&queue->ring), index = queue->retired, end;

	for (; index < written; index = end) {
		wait_for_producer(queue, index);
		end = index + slot_of(queue, index)->task->packets;
		if (read >= end)
			continue;
		if (read > index || !__atomic_load_n(&control->sleeping, __ATOMIC_ACQUIRE))
			return end;
		break;
	}
	return index;
}

static int rebuild(struct npurt_queue *queue, uint64_t first, const char *why)
{
	struct npurt_context *context = queue->context;
	bool in_vain = first == npurt_context_backend(context)->done_before;

	context->rebuilds_in_vain = in_vain ? context->rebuilds_in_vain + 1 : 0;
	if (context->rebuilds_in_vain > NPURT_REBUILD_TRIES)
		return npurt_fail(-EIO,
				  "the device was reset %u times, and nothing of the queue was "
				  "done in between; the last time: %s", NPURT_REBUILD_TRIES, why);
	return npurt_rebuild(context, first);
}

static void ring_doorbell(struct npurt_queue *queue, uint64_t index)
{
	const struct npurt_backend_ops *ops = queue->context->device->backend->ops;
	struct npurt_backend_queue *backend, *now;

	now = __atomic_load_n(&queue->backend, __ATOMIC_SEQ_CST);
	do {
		backend = now;
		ops->doorbell(backend, index);
		/* One of before a reset tells nobody. */
		now = __atomic_load_n(&queue->backend, __ATOMIC_SEQ_CST);
	} while (now != backend);
}

/* The context is lost: what may have begun fails, and the rest is run. Under retire_lock. */
static void go_on(struct npurt_queue *queue)
{
	struct npurt_backend_context *lost = npurt_context_backend(queue->context);
	char why[sizeof(queue->stop_reason) / 2], reason[sizeof(queue->stop_reason)];
	uint64_t first = index_after_reset(queue);
	int ret;

	if (queue->killed)
		return;
	lost->backend->ops->why_lost(lost, why, sizeof(why));
	ret = rebuild(queue, first, why);
	if (ret) {
		note_stop(queue, ret, npurt_last_error());
		return;
	}
	npurt_log_line(&queue->context->device->log, NPURT_LOG_WARNING,
		       "context %p: made again after a reset of the device (%s)",
		       (void *)queue->context, why);
	snprintf(reason, sizeof(reason),
		 "the device was reset (%s) while it may have run: submit it again", why);
	retire_lost(queue, first, -EIO, reason);
	ring_doorbell(queue, first);
}

/* Under retire_lock. */
static void retire_locked(struct npurt_queue *queue)
{
	uint64_t before = queue->retired, done;

	/* Looked at first, so that what the device completed before it stopped counts as done. */
	check_ring(queue);
	done = npurt_queue_progress(queue);
	npurt_stats_retiring(queue->stats, npurt_ring_written(&queue->ring) - before);
	while (queue->retired < done && queue->retired < npurt_ring_written(&queue->ring))
		retire_one(queue, 0, NULL);
	if (!stopped(queue) && npurt_is_lost(npurt_context_backend(queue->context)))
		go_on(queue);
	if (stopped(queue))
		retire_lost(queue, npurt_ring_written(&queue->ring), stopped(queue),
			    queue->stop_reason);
	if (queue->retired == before)
		return;
	npurt_release_left(queue);
	npurt_notifier_completed(queue->context);
}

void npurt_queue_retire(struct npurt_queue *queue)
{
	pthread_mutex_lock(&queue->retire_lock);
	retire_locked(queue);
	pthread_mutex_unlock(&queue->retire_lock);
}

void npurt_queue_catch_up(struct npurt_queue *queue)
{
	if (npurt_queue_is_there(queue) && __atomic_load_n(&queue->retired, __ATOMIC_RELAXED) !=
				      npurt_ring_written(&queue->ring))
		npurt_queue_retire(queue);
}

static void try_retire(struct npurt_queue *queue)
{
	if (pthread_mutex_trylock(&queue->retire_lock))
		return;
	retire_locked(queue);
	pthread_mutex_unlock(&queue->retire_lock);
}

static void stop(struct npurt_queue *queue, int error, const char *why)
{
	pthread_mutex_lock(&queue->retire_lock);
	check_ring(queue);
	note_stop(queue, error, why);
	retire_locked(queue);
	pthread_mutex_unlock(&queue->retire_lock);
}

/* ------------------------------------------------------------------ waiting */

static bool reached(const struct npurt_queue *queue, uint64_t tasks)
{
	uint64_t index;

	return npurt_queue_progress(queue) >= tasks || stopped(queue) ||
	       npurt_ring_error(&queue->ring, &index) ||
	       npurt_is_lost(npurt_context_backend(queue->context));
}

/* True when it came to pass while spinning. */
static bool spin(const struct npurt_queue *queue, uint64_t tasks, int64_t until_ns)
{
	unsigned int i;

	do {
		for (i = 0; i < SPINS_A_LOOK; i++) {
			if (reached(queue, tasks))
				return true;
			npurt_relax();
		}
	} while (npurt_now() < until_ns);
	return false;
}

/* Of the semaphore of a context that may have been made when tasks were over already. */
static uint64_t value_of(const struct npurt_backend_context *backend, uint64_t tasks)
{
	return tasks > backend->done_before ? tasks - backend->done_before : 0;
}

/* Until the device says so. */
static int sleep_until(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns)
{
	struct npurt_backend_context *backend = npurt_context_backend(queue->context);
	const struct npurt_wait wait = {
		.semaphore = NPURT_PROGRESS_SEMAPHORE,
		.value = value_of(backend, tasks),
		.deadline_ns = deadline_ns,
	};
	int ret = backend->backend->ops->wait(backend, &wait);

	if (!ret || ret == -ETIMEDOUT)
		return ret;
	/* Who retires next makes it good. */
	if (!npurt_is_lost(backend))
		stop(queue, ret, npurt_last_error());
	return 0;
}

int npurt_queue_wait(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns)
{
	int64_t now, until;

	if (reached(queue, tasks))
		return 0;
	now = npurt_now();
	if (now >= deadline_ns)
		return -ETIMEDOUT;
	until = now + queue->context->spin_ns;
	if (until > now && spin(queue, tasks, until < deadline_ns ? until : deadline_ns))
		return 0;
	return sleep_until(queue, tasks, deadline_ns);
}

int npurt_queue_prepare_uring(struct npurt_queue *queue, uint64_t tasks, uint32_t timeout_us,
			      struct io_uring_sqe *sqe)
{
	struct npurt_backend_context *context = npurt_context_backend(queue->context);
	const struct npurt_wait wait = {
		.semaphore = NPURT_PROGRESS_SEMAPHORE,
		.value = value_of(context, tasks),
	};

	if (!context->backend->ops->prepare_uring)
		return npurt_fail(-EOPNOTSUPP,
				  "npurt: only devices behind the kernel's driver can be waited for "
				  "by io_uring itself: use npurt_context_get_fd()");
	return context->backend->ops->prepare_uring(context, &wait, timeout_us, sqe);
}

/* --------------------------------------------------------------- submission */

/* From the reservation to the last header no lock, no allocation, no wait. */
static inline void publish(struct npurt_queue *queue, struct npurt_task *task, uint64_t index)
{
	uint64_t last = index + task->packets - 1;
	__le32 header;

	slot_of(queue, index)->task = task;
	task->index = index;
	if (task->timed)
		task->submit_ns = npurt_now();
	header = task->ops->fill(queue, task, index);
	/* From here on the task may be over, and gone: first if the queue stops, then in any case. */
	for (; index <= last; index++)
		__atomic_store_n(&slot_of(queue, index)->filled, index + 1, __ATOMIC_RELEASE);
	npurt_ring_publish(&queue->ring, last, header);
	if (npurt_ring_needs_doorbell(&queue->ring))
		ring_doorbell(queue, last + 1);
	npurt_notifier_submitted(queue->context);
}

static int fail_stopped(const struct npurt_queue *queue)
{
	return npurt_fail(stopped(queue), "npurt: nothing can be submitted: %s",
			  queue->stop_reason);
}

static int fail_full(const struct npurt_queue *queue, int error, const char *advice)
{
	uint64_t taken = npurt_ring_written(&queue->ring) -
			 __atomic_load_n(&queue->retired, __ATOMIC_RELAXED);

	npurt_stats_refused(queue->stats, error);
	if (!queue->bytes_max)
		return npurt_fail(error,
				  "npurt: the queue is full, %" PRIu64 " of its %" PRIu64
				  " places are taken: %s",
				  taken, queue->ring.depth, advice);
	return npurt_fail(error,
			  "npurt: the queue is full, %" PRIu64 " of its %" PRIu64 " places and "
			  "%" PRIu64 " of %" PRIu64 " bytes are taken: %s",
			  taken, queue->ring.depth,
			  __atomic_load_n(&queue->bytes, __ATOMIC_RELAXED), queue->bytes_max,
			  advice);
}

/* Counts a task's bytes in, unless they would be too many. */
static bool take_bytes(struct npurt_queue *queue, uint64_t bytes)
{
	uint64_t before = __atomic_load_n(&queue->bytes, __ATOMIC_RELAXED);

	do {
		if (bytes > queue->bytes_max - before)
			return false;
	} while (!__atomic_compare_exchange_n(&queue->bytes, &before, before + bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* Room for a task, of both kinds or of none. */
static inline int take_room(struct npurt_queue *queue, const struct npurt_task *task,
			    uint64_t *index)
{
	int ret;

	if (task->bytes && !take_bytes(queue, task->bytes))
		return -EAGAIN;
	ret = npurt_ring_reserve(&queue->ring, task->packets, index);
	if (ret && task->bytes)
		__atomic_fetch_sub(&queue->bytes, task->bytes, __ATOMIC_RELAXED);
	return ret;
}

static int reserve(struct npurt_queue *queue, const struct npurt_task *task, uint64_t *index)
{
	if (!take_room(queue, task, index))
		return 0;
	try_retire(queue);
	return take_room(queue, task, index);
}

/* ---------------------------------------------------- admission to a full queue */

/* The first one's wait for room. */
static int wait_for_room(struct npurt_queue *queue, const struct npurt_task *task, uint64_t *index,
			 int64_t deadline_ns)
{
	for (;;) {
		uint64_t retired;
		int ret;

		npurt_queue_retire(queue);
		if (stopped(queue))
			return fail_stopped(queue);
		if (!take_room(queue, task, index))
			return 0;
		if (npurt_now() >= deadline_ns)
			return -ETIMEDOUT;
		retired = __atomic_load_n(&queue->retired, __ATOMIC_ACQUIRE);
		/* All done, and only the device's read index is late. */
		if (retired == npurt_ring_written(&queue->ring)) {
			sched_yield();
			continue;
		}
		ret = npurt_queue_wait(queue, retired + 1, deadline_ns);
		if (ret)
			return ret;
	}
}

static int submit_full(struct npurt_queue *queue, struct npurt_task *task, int64_t deadline_ns)
{
	struct npurt_line_place place;
	uint64_t index = 0;
	int ret;

	ret = npurt_line_enter(&queue->line, &place, deadline_ns);
	if (!ret)
		ret = wait_for_room(queue, task, &index, deadline_ns);
	if (!ret)
		publish(queue, task, index);
	npurt_line_leave(&queue->line, &place);
	if (ret == -ETIMEDOUT)
		return fail_full(queue, ret, "no room came within the time-out");
	return ret;
}

int npurt_queue_submit(struct npurt_queue *queue, struct npurt_task *task, int64_t deadline_ns)
{
	uint64_t index = 0;

	if (stopped(queue))
		return fail_stopped(queue);
	if (task->bytes > queue->bytes_max)
		return npurt_fail(-E2BIG,
				  "npurt: a task works on %" PRIu64
				  " bytes, the queue takes %" PRIu64
				  " at once: make the context with more queue_bytes",
				  task->bytes, queue->bytes_max);
	/* First come, first served: while somebody waits, nobody passes by. */
	if (npurt_line_is_empty(&queue->line) && !reserve(queue, task, &index)) {
		publish(queue, task, index);
		return 0;
	}
	if (deadline_ns == NPURT_DEADLINE_TRY)
		return fail_full(queue, -EAGAIN,
				 "wait for a task, or submit with NPURT_POLICY_BLOCK");
	if (npurt_in_callback())
		return fail_full(queue, -EDEADLK,
				 "a callback must not wait: submit with NPURT_POLICY_TRY there");
	return submit_full(queue, task, deadline_ns);
}

/* ------------------------------------------------------------ making, ending */

static unsigned int ring_log2(uint32_t depth)
{
	unsigned int log2 = NPU_RING_LOG2_MIN;

	while (((uint32_t)1 << log2) < depth)
		log2++;
	return log2;
}

/* Ring, then records, then arguments, in one buffer. */
static int make_memory(struct npurt_queue *queue)
{
	uint64_t size = queue->ring.size;
	uint64_t records = NPU_RING_PACKETS_OFFSET + size * NPU_PACKET_BYTES;
	uint64_t arguments = records + size * sizeof(struct npu_record);
	uint64_t bytes = arguments + size * NPU_ARG_COUNT * sizeof(__le64);
	unsigned char *host;
	int ret;

	ret = npurt_buffer_new(queue->context, bytes, NPU_PROT_READ | NPU_PROT_WRITE,
			       &queue->memory);
	if (ret)
		return ret;
	host = queue->memory->memory.host;
	queue->ring.control = (struct npu_ring_control *)(void *)host;
	queue->records = (struct npu_record *)(void *)(host + records);
	queue->arguments = (__le64 *)(void *)(host + arguments);
	queue->device_offset = queue->memory->va - (uint64_t)(uintptr_t)host;
	queue->slots = calloc(size, sizeof(*queue->slots));
	if (!queue->slots)
		return npurt_fail(-ENOMEM, "npurt: no memory for a queue of %" PRIu64 " tasks",
				  size);
	return 0;
}

int npurt_queue_init(struct npurt_queue *queue, struct npurt_context *context,
		     const struct npurt_context_options *options)
{
	unsigned int log2 = ring_log2(options->queue_depth);
	int ret;

	queue->context = context;
	pthread_mutex_init(&queue->retire_lock, NULL);
	pthread_mutex_init(&queue->leavers.lock, NULL);
	npurt_line_init(&queue->line);
	queue->ring.size = (uint64_t)1 << log2;
	queue->ring.depth = options->queue_depth;
	queue->bytes_max = options->queue_bytes;
	queue->ring.retired = &queue->retired;
	ret = make_memory(queue);
	if (ret)
		return ret;
	queue->stats = npurt_stats_add_queue(context->device->stats, queue, options->priority);
	queue->log2 = log2;
	queue->priority = options->priority;
	ret = context->backend->backend->ops->queue_create(
		context->backend, queue->memory->va, log2, options->priority, 0, &queue->backend);
	if (ret && npurt_is_lost(context->backend))
		ret = npurt_rebuild(context, 0);
	return ret;
}

void npurt_queue_kill(struct npurt_queue *queue)
{
	if (!queue->backend)
		return;
	pthread_mutex_lock(&queue->retire_lock);
	queue->killed = true;
	pthread_mutex_unlock(&queue->retire_lock);
	queue->context->device->backend->ops->queue_destroy(queue->backend);
	/* Somebody may be retiring at this time, who lets go of things. */
	__atomic_store_n(&queue->backend, NULL, __ATOMIC_RELEASE);
	stop(queue, -ECANCELED, "its context was destroyed");
}

void npurt_queue_fini(struct npurt_queue *queue)
{
	if (!queue->context)
		return;
	npurt_stats_remove_queue(queue->context->device->stats, queue->stats);
	npurt_buffer_put(queue->memory);
	free(queue->slots);
	pthread_mutex_destroy(&queue->retire_lock);
	pthread_mutex_destroy(&queue->leavers.lock);
	npurt_line_fini(&queue->line);
}
