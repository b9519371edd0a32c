/* SPDX-License-Identifier: MIT */
/*
 * The library's objects and what they do for each other.
 *
 * Two counts keep them alive. Handles are what the application holds: a context lives as long as
 * it, or any buffer, model or future made in it, is in the application's hands; a device as long
 * as it or any of its contexts. References keep the memory of buffers, models and futures: one
 * for the application, one for each task in flight. So a task in flight never keeps a context
 * alive that nobody can reach any more; it is killed instead.
 *
 * Locks, outer first: admission_lock, retire_lock, va_lock, the back end's.
 */
#ifndef NPURT_OBJECTS_H
#define NPURT_OBJECTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "image.h"
#include "npurt.h"
#include "range.h"
#include "ring.h"

#define NPURT_PAGE 4096u
#define NPURT_NS_PER_SECOND 1000000000ll

/* The semaphore that counts the queue's completed tasks. */
#define NPURT_PROGRESS_SEMAPHORE 0

struct npurt_device {
	uint32_t handles;
	const uint32_t *ours; /* its page reads as zero in a forked child */
	struct npurt_log log;
	struct npurt_backend *backend;
	struct npurt_device_info info;
};

struct npurt_buffer {
	uint32_t references;
	uint32_t flags;
	struct npurt_context *context;
	struct npurt_memory memory;
	uint64_t va;
	uint64_t bytes; /* as asked for */
};

struct npurt_model {
	uint32_t references;
	struct npurt_context *context;
	struct npurt_image image;
	struct npurt_buffer *text, *rodata, *bss;
};

/* A packet's slot. @ready: index + 1 once the packet of that index is published. */
struct npurt_slot {
	struct npurt_future *task;
	uint64_t ready;
};

/* A submitter waiting for room; on its stack, linked under admission_lock. */
struct npurt_submitter {
	struct npurt_submitter *next;
	pthread_cond_t first; /* it is now */
};

struct npurt_queue {
	struct npurt_context *context;
	struct npurt_backend_queue *backend;
	struct npurt_buffer *memory; /* ring, records, arguments */
	struct npurt_ring ring;
	struct npu_record *records;
	__le64 *arguments; /* NPU_ARG_COUNT a slot */
	struct npurt_slot *slots;
	uint64_t retired; /* tasks below this index are over and done with */
	int stopped; /* negative errno: takes no more */
	char stop_reason[256]; /* set before `stopped` */
	pthread_mutex_t retire_lock;
	pthread_mutex_t admission_lock;
	uint32_t waiting; /* submitters in the list */
	struct npurt_submitter *first, *last;
};

struct npurt_context {
	uint32_t handles;
	uint32_t flags;
	int64_t spin_ns;
	struct npurt_device *device;
	struct npurt_backend_context *backend;
	pthread_mutex_t va_lock;
	struct npurt_range va;
	struct npurt_queue queue;
};

/*
 * A task, as the application sees it. Until `complete` it belongs to the queue; then everything but
 * the reference count is constant.
 */
struct npurt_future {
	uint32_t references;
	uint32_t complete;
	struct npurt_context *context;
	struct npurt_model *model; /* NULL once complete */
	uint64_t index;
	int result;
	bool has_record;
	struct npu_record record; /* host order */
	int64_t submit_ns, complete_ns;
	char *error; /* NULL: none */
	uint32_t clusters;
	uint32_t layers;
	struct npurt_layer_time *times; /* NULL: not profiled */
	struct npurt_buffer *profile;
	uint32_t use_count;
	struct npurt_binding uses[]; /* one for each input, then each output */
};

static inline void npurt_count_up(uint32_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

/* True when it was the last one. */
static inline bool npurt_count_down(uint32_t *count)
{
	return __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL) == 0;
}

/** npurt_now() - CLOCK_MONOTONIC in nanoseconds */
int64_t npurt_now(void);

/** npurt_deadline() - when a time-out from now on ends; INT64_MAX: never */
int64_t npurt_deadline(int64_t timeout_ns);

/* -------------------------------------------------------------------- device.c */

/** npurt_is_ours() - false in a forked child */
static inline bool npurt_is_ours(const struct npurt_device *device)
{
	return __atomic_load_n(device->ours, __ATOMIC_RELAXED) != 0;
}

/** npurt_check_ours() - 0, or -EOWNERDEAD with a sentence in a forked child */
int npurt_check_ours(const struct npurt_device *device);

/**
 * npurt_give_sized() - fill the caller's structure, which may be of another version
 * @to: the caller's; its first member says how large it is
 * @from: ours
 *
 * Return: 0, -EINVAL.
 */
int npurt_give_sized(void *to, const void *from, size_t from_bytes);

void npurt_device_put(struct npurt_device *device);

/* ------------------------------------------------------------------- context.c */

void npurt_context_put(struct npurt_context *context);

/* -------------------------------------------------------------------- buffer.c */

/**
 * npurt_buffer_new() - a buffer without a handle on its context
 * @prot: NPU_PROT_*
 */
int npurt_buffer_new(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		     struct npurt_buffer **buffer);
void npurt_buffer_put(struct npurt_buffer *buffer);

/* --------------------------------------------------------------------- model.c */

void npurt_model_put(struct npurt_model *model);

/* --------------------------------------------------------------------- queue.c */

int npurt_queue_init(struct npurt_queue *queue, struct npurt_context *context, uint32_t depth,
		     uint32_t priority);

/** npurt_queue_fini() - kills what runs; every task still in flight ends with -ECANCELED */
void npurt_queue_fini(struct npurt_queue *queue);

/**
 * npurt_queue_submit() - put a task on the queue
 * @task: the queue takes a reference of its own
 *
 * Return: 0; -EAGAIN, -ETIMEDOUT, -EIO and the like: nothing has happened to @task.
 */
int npurt_queue_submit(struct npurt_queue *queue, struct npurt_future *task,
		       const struct npurt_run_options *options);

/** npurt_queue_retire() - let go of all tasks that are complete; afterwards their futures say so */
void npurt_queue_retire(struct npurt_queue *queue);

/**
 * npurt_queue_wait() - spin, then sleep, until a number of tasks are complete
 *
 * Return: 0; -ETIMEDOUT without a sentence; also 0 when the queue has stopped.
 */
int npurt_queue_wait(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns);

/* -------------------------------------------------------------------- future.c */

/**
 * npurt_future_finish() - a task is over: take what its record says, let go of what it used
 * @record: where the device wrote it
 * @lost: negative errno when there is no record, else 0
 * @reason: of @lost
 */
void npurt_future_finish(struct npurt_future *task, const struct npu_record *record, int lost,
			 const char *reason);
void npurt_future_put(struct npurt_future *task);

/* ------------------------------------------------------------------ describe.c */

/**
 * npurt_describe_failure() - why a task failed, in a sentence
 * @task: its record is there, its model still held
 */
void npurt_describe_failure(const struct npurt_future *task, char *text, size_t bytes);

/** npurt_describe_error() - what an enum npu_error means */
const char *npurt_describe_error(uint32_t error);

/** npurt_error_of_status() - the errno of an enum npu_status */
int npurt_error_of_status(uint32_t status, uint32_t error);

#endif /* NPURT_OBJECTS_H */
