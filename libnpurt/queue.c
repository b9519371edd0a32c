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

#include "npu_pgtable.h"
#include "objects.h"

#define SPINS_A_LOOK 32

static uint64_t progress(const struct npurt_queue *queue)
{
	const uint64_t *value = &queue->context->backend->semaphores[NPURT_PROGRESS_SEMAPHORE];

	return le64toh(__atomic_load_n(value, __ATOMIC_ACQUIRE));
}

static struct npurt_slot *slot_of(const struct npurt_queue *queue, uint64_t index)
{
	return &queue->slots[index & (npurt_ring_size(&queue->ring) - 1)];
}

static struct npu_record *record_of(const struct npurt_queue *queue, uint64_t index)
{
	return &queue->records[index & (npurt_ring_size(&queue->ring) - 1)];
}

static int stopped(const struct npurt_queue *queue)
{
	return __atomic_load_n(&queue->stopped, __ATOMIC_ACQUIRE);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* --------------------------------------------------------------- completion */

/* Ends the task of the lowest index. Under retire_lock. */
static void retire_one(struct npurt_queue *queue, int lost)
{
	struct npurt_slot *slot = slot_of(queue, queue->retired);
	struct npurt_future *task = slot->task;

	slot->task = NULL;
	npurt_future_finish(task, record_of(queue, queue->retired), lost, queue->stop_reason);
	npurt_future_put(task);
	/* From here on a producer may have the slot. */
	__atomic_store_n(&queue->retired, queue->retired + 1, __ATOMIC_RELEASE);
}

/* No task of a stopped queue comes to an end by itself. Under retire_lock. */
static void retire_lost(struct npurt_queue *queue)
{
	while (queue->retired < npurt_ring_written(&queue->ring)) {
		uint64_t ready = queue->retired + 1;

		/* Its producer is between reserving and publishing: a matter of instructions. */
		while (__atomic_load_n(&slot_of(queue, queue->retired)->ready, __ATOMIC_ACQUIRE) !=
		       ready)
			sched_yield();
		retire_one(queue, stopped(queue));
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

/* Under retire_lock. */
static void retire_locked(struct npurt_queue *queue)
{
	uint64_t done;

	/* Looked at first, so that what the device completed before it stopped counts as done. */
	check_ring(queue);
	done = progress(queue);
	while (queue->retired < done && queue->retired < npurt_ring_written(&queue->ring))
		retire_one(queue, 0);
	if (stopped(queue))
		retire_lost(queue);
}

void npurt_queue_retire(struct npurt_queue *queue)
{
	pthread_mutex_lock(&queue->retire_lock);
	retire_locked(queue);
	pthread_mutex_unlock(&queue->retire_lock);
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

	return progress(queue) >= tasks || stopped(queue) || npurt_ring_error(&queue->ring, &index);
}

/* True when it came to pass while spinning. */
static bool spin(const struct npurt_queue *queue, uint64_t tasks, int64_t until_ns)
{
	unsigned int i;

	do {
		for (i = 0; i < SPINS_A_LOOK; i++) {
			if (reached(queue, tasks))
				return true;
			relax();
		}
	} while (npurt_now() < until_ns);
	return false;
}

int npurt_queue_wait(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns)
{
	struct npurt_backend_context *context = queue->context->backend;
	const struct npurt_wait wait = {
		.semaphore = NPURT_PROGRESS_SEMAPHORE,
		.value = tasks,
		.deadline_ns = deadline_ns,
	};
	int64_t now, until;
	int ret;

	if (reached(queue, tasks))
		return 0;
	now = npurt_now();
	if (now >= deadline_ns)
		return -ETIMEDOUT;
	until = now + queue->context->spin_ns;
	if (until > now && spin(queue, tasks, until < deadline_ns ? until : deadline_ns))
		return 0;
	ret = context->backend->ops->wait(context, &wait);
	if (ret && ret != -ETIMEDOUT) {
		stop(queue, ret, npurt_last_error());
		ret = 0;
	}
	return ret;
}

/* --------------------------------------------------------------- submission */

static void fill_arguments(const struct npurt_queue *queue, const struct npurt_future *task,
			   uint64_t index)
{
	uint64_t slot = index & (npurt_ring_size(&queue->ring) - 1);
	__le64 *arguments = queue->arguments + slot * NPU_ARG_COUNT;
	const struct npurt_model *model = task->model;
	uint32_t i;

	arguments[NPU_ARG_WEIGHTS] = htole64(model->rodata ? model->rodata->va : 0);
	arguments[NPU_ARG_SCRATCH] = htole64(model->bss ? model->bss->va : 0);
	for (i = 0; i < task->use_count; i++)
		arguments[NPU_ARG_FIRST_IO + i] =
			htole64(task->uses[i].buffer->va + task->uses[i].offset);
	if (!task->profile)
		return;
	for (i = NPU_ARG_FIRST_IO + task->use_count; i < NPU_ARG_PROFILE; i++)
		arguments[i] = 0;
	arguments[NPU_ARG_PROFILE] = htole64(task->profile->va);
}

static uint64_t device_address(const struct npurt_queue *queue, const void *pointer)
{
	const unsigned char *base = queue->memory->memory.host;

	return queue->memory->va + (uint64_t)((const unsigned char *)pointer - base);
}

/* From the reservation to the header no lock, no allocation, no wait. */
static void publish(struct npurt_queue *queue, struct npurt_future *task, uint64_t index,
		    uint64_t budget)
{
	struct npurt_slot *slot = slot_of(queue, index);
	struct npu_record *record = record_of(queue, index);
	uint64_t arguments = device_address(queue, queue->arguments) +
			     (index & (npurt_ring_size(&queue->ring) - 1)) * NPU_ARG_COUNT *
				     sizeof(queue->arguments[0]);
	struct npu_packet_exec packet = {
		.header = htole32(NPU_PACKET_HEADER(NPU_PACKET_EXEC,
						    task->profile ? NPU_EXEC_PROFILE : 0, 0)),
		.task_id = htole32((uint32_t)(index + 1)),
		.program = htole64(task->model->text->va),
		.arguments = htole64(arguments),
		.record = htole64(device_address(queue, record)),
		.budget = htole32((uint32_t)((budget + 1023) / 1024)),
		.argument_count = (uint8_t)(task->profile ? NPU_ARG_COUNT :
							    NPU_ARG_FIRST_IO + task->use_count),
		.signal_sem = htole16(NPURT_PROGRESS_SEMAPHORE),
		.wait_sem = { htole16(NPU_SEM_NONE), htole16(NPU_SEM_NONE) },
	};

	__atomic_store_n(&record->status, 0, __ATOMIC_RELAXED);
	fill_arguments(queue, task, index);
	task->index = index;
	slot->task = task;
	task->submit_ns = npurt_now();
	npurt_ring_publish(&queue->ring, index, &packet);
	__atomic_store_n(&slot->ready, index + 1, __ATOMIC_RELEASE);
	if (npurt_ring_needs_doorbell(&queue->ring))
		queue->context->backend->backend->ops->doorbell(queue->backend, index + 1);
}

static int fail_stopped(const struct npurt_queue *queue)
{
	return npurt_fail(stopped(queue), "npurt: nothing can be submitted: %s",
			  queue->stop_reason);
}

static int reserve(struct npurt_queue *queue, uint64_t *index)
{
	if (!npurt_ring_reserve(&queue->ring, 1, index))
		return 0;
	try_retire(queue);
	return npurt_ring_reserve(&queue->ring, 1, index);
}

/* ---------------------------------------------------- admission to a full queue */

static void enqueue(struct npurt_queue *queue, struct npurt_submitter *me)
{
	me->next = NULL;
	if (queue->last)
		queue->last->next = me;
	else
		queue->first = me;
	queue->last = me;
	__atomic_fetch_add(&queue->waiting, 1, __ATOMIC_RELEASE);
}

/* Leaves the list, from wherever it is, and tells a new first one. Under admission_lock. */
static void dequeue(struct npurt_queue *queue, struct npurt_submitter *me)
{
	struct npurt_submitter **link = &queue->first, *before = NULL;

	while (*link != me) {
		before = *link;
		link = &before->next;
	}
	*link = me->next;
	if (queue->last == me)
		queue->last = before;
	__atomic_fetch_sub(&queue->waiting, 1, __ATOMIC_RELEASE);
	if (!before && queue->first)
		pthread_cond_signal(&queue->first->first);
}

/* Until everybody who came earlier has been served. Under admission_lock. */
static int wait_for_turn(struct npurt_queue *queue, struct npurt_submitter *me, int64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NPURT_NS_PER_SECOND),
		.tv_nsec = (long)(deadline_ns % NPURT_NS_PER_SECOND),
	};

	while (queue->first != me) {
		if (deadline_ns == INT64_MAX) {
			pthread_cond_wait(&me->first, &queue->admission_lock);
			continue;
		}
		if (npurt_now() >= deadline_ns)
			return -ETIMEDOUT;
		pthread_cond_timedwait(&me->first, &queue->admission_lock, &deadline);
	}
	return 0;
}

/* The first one's wait for room. */
static int wait_for_room(struct npurt_queue *queue, uint64_t *index, int64_t deadline_ns)
{
	for (;;) {
		uint64_t retired;
		int ret;

		npurt_queue_retire(queue);
		if (stopped(queue))
			return fail_stopped(queue);
		if (!npurt_ring_reserve(&queue->ring, 1, index))
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

static int submit_full(struct npurt_queue *queue, struct npurt_future *task, int64_t deadline_ns,
		       uint64_t budget)
{
	struct npurt_submitter me;
	pthread_condattr_t attributes;
	uint64_t index = 0;
	int ret;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&me.first, &attributes);
	pthread_condattr_destroy(&attributes);

	pthread_mutex_lock(&queue->admission_lock);
	enqueue(queue, &me);
	ret = wait_for_turn(queue, &me, deadline_ns);
	pthread_mutex_unlock(&queue->admission_lock);
	if (!ret)
		ret = wait_for_room(queue, &index, deadline_ns);
	if (!ret)
		publish(queue, task, index, budget);
	pthread_mutex_lock(&queue->admission_lock);
	dequeue(queue, &me);
	pthread_mutex_unlock(&queue->admission_lock);
	pthread_cond_destroy(&me.first);
	if (ret == -ETIMEDOUT)
		return npurt_fail(
			-ETIMEDOUT,
			"npurt: the queue has no room for another task within the time-out: "
			"%" PRIu64 " tasks are in flight",
			queue->ring.depth);
	return ret;
}

int npurt_queue_submit(struct npurt_queue *queue, struct npurt_future *task,
		       const struct npurt_run_options *options)
{
	int64_t deadline = INT64_MAX;
	uint64_t index = 0;
	int ret;

	if (stopped(queue))
		return fail_stopped(queue);
	npurt_count_up(&task->references);
	/* First come, first served: while somebody waits, nobody passes by. */
	if (!__atomic_load_n(&queue->waiting, __ATOMIC_ACQUIRE) && !reserve(queue, &index)) {
		publish(queue, task, index, options->budget_cycles);
		return 0;
	}
	if (options->policy == NPURT_POLICY_TRY) {
		npurt_count_down(&task->references);
		return npurt_fail(-EAGAIN,
				  "npurt: the queue is full, %" PRIu64
				  " tasks are in flight: wait for "
				  "one, or submit with NPURT_POLICY_BLOCK",
				  queue->ring.depth);
	}
	if (options->policy == NPURT_POLICY_TIMEOUT)
		deadline = npurt_deadline(options->timeout_ns);
	ret = submit_full(queue, task, deadline, options->budget_cycles);
	if (ret)
		npurt_count_down(&task->references);
	return ret;
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
static int make_memory(struct npurt_queue *queue, unsigned int log2)
{
	uint64_t size = (uint64_t)1 << log2;
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
	queue->slots = calloc(size, sizeof(*queue->slots));
	if (!queue->slots)
		return npurt_fail(-ENOMEM, "npurt: no memory for a queue of %" PRIu64 " tasks",
				  size);
	return 0;
}

int npurt_queue_init(struct npurt_queue *queue, struct npurt_context *context, uint32_t depth,
		     uint32_t priority)
{
	unsigned int log2 = ring_log2(depth);
	int ret;

	queue->context = context;
	pthread_mutex_init(&queue->retire_lock, NULL);
	pthread_mutex_init(&queue->admission_lock, NULL);
	queue->ring.log2 = log2;
	queue->ring.depth = depth;
	queue->ring.retired = &queue->retired;
	ret = make_memory(queue, log2);
	if (ret)
		return ret;
	return context->backend->backend->ops->queue_create(context->backend, queue->memory->va,
							    log2, priority, &queue->backend);
}

void npurt_queue_fini(struct npurt_queue *queue)
{
	if (!queue->context)
		return;
	if (queue->backend) {
		queue->context->backend->backend->ops->queue_destroy(queue->backend);
		stop(queue, -ECANCELED, "its context was destroyed");
	}
	npurt_buffer_put(queue->memory);
	free(queue->slots);
	pthread_mutex_destroy(&queue->retire_lock);
	pthread_mutex_destroy(&queue->admission_lock);
}
