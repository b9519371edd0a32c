/* SPDX-License-Identifier: MIT */
/*
 * The library's objects and what they do for each other.
 *
 * Two counts keep them alive. Handles are what the application holds: a context lives as long as
 * it, or any buffer, model or future made in it, is in the application's hands; a device as long
 * as it or any of its contexts. References keep the memory of buffers and models: one for the
 * application, one for each graph and replay; and what has none left stays until the tasks that use it
 * are over (leave.h). So a task in flight never keeps a context alive that nobody can
 * reach any more; it is killed instead.
 *
 * Locks, outer first: a line's, retire_lock, a graph's, leavers', bind_lock, va_lock, the back
 * end's.
 */
#ifndef NPURT_OBJECTS_H
#define NPURT_OBJECTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "image.h"
#include "leave.h"
#include "line.h"
#include "npurt.h"
#include "pool.h"
#include "range.h"
#include "ring.h"
#include "trace.h"
#include "words.h"

#define NPURT_PAGE 4096u

/* The semaphore that counts the queue's completed tasks. */
#define NPURT_PROGRESS_SEMAPHORE 0

struct npurt_notifier;
struct npurt_stats;
struct npurt_stats_model;
struct npurt_stats_queue;
struct npurt_workers;

struct npurt_device {
	uint32_t handles;
	pthread_mutex_t start_lock; /* of `workers` */
	struct npurt_workers *workers; /* NULL until somebody needs them */
	const uint32_t *ours; /* its page reads as zero in a forked child */
	struct npurt_log log;
	struct npurt_trace trace;
	struct npurt_backend *backend;
	struct npurt_stats *stats; /* NULL: nobody counts */
	struct npurt_device_info info;
};

struct npurt_buffer {
	struct npurt_pool_block block; /* first */
	struct npurt_leaver leaver;
	struct npurt_buffer *next, **link; /* of its context, under bind_lock */
	unsigned int prot; /* NPU_PROT_* */
	uint32_t references;
	uint32_t flags;
	struct npurt_context *context;
	struct npurt_memory memory;
	uint64_t va;
	uint64_t bytes; /* as asked for */
	bool imported;
};

struct npurt_model {
	uint32_t references;
	struct npurt_leaver leaver;
	struct npurt_context *context;
	struct npurt_image image;
	struct npurt_buffer *text, *rodata, *bss;
	struct npurt_stats_model *stats; /* NULL: nobody counts */
	struct npurt_buffer *save; /* of a preempted task; NULL: the program has no points */
	/* Of every run of it */
	uint32_t uses; /* inputs and outputs */
	uint64_t use_bytes; /* as the queue's bound counts them */
	struct npu_packet_exec packet; /* without what is a run's own, and not profiled */
	__le64 weights, scratch; /* arguments */
};

struct npurt_queue;
struct npurt_task;

/*
 * struct npurt_task_ops - what a queue does with a task
 * @fill:	write the packets of the places from @index on, the last one raising the progress
 *		semaphore by as many as there are; publish all but that one, and return its header;
 *		no lock, no allocation, no wait
 * @finish:	it is over, or lost with its queue (@lost: a negative errno, for @reason); drops the
 *		queue's hold on it; under retire_lock
 */
struct npurt_task_ops {
	__le32 (*fill)(struct npurt_queue *queue, struct npurt_task *task, uint64_t index);
	void (*finish)(struct npurt_queue *queue, struct npurt_task *task, int lost,
		       const char *reason);
};

/* What a queue carries: packets that end together. */
struct npurt_task {
	const struct npurt_task_ops *ops;
	uint64_t packets;
	uint64_t bytes; /* of memory it works on, as far as the queue's bound counts them */
	uint64_t index; /* of the first of them */
	bool timed; /* somebody will ask when */
	int64_t submit_ns;
};

/*
 * A packet's slot. @task: in the first packet's; else, and while the slot is free, NULL. @filled:
 * behind the index of the last packet in it whose producer is done with its task.
 */
struct npurt_slot {
	struct npurt_task *task;
	uint64_t filled;
};

struct npurt_queue {
	struct npurt_context *context;
	struct npurt_backend_queue *backend;
	struct npurt_backend_queue *lost; /* those of before resets, which somebody may still ring */
	bool killed; /* it is not to be made again; under retire_lock */
	struct npurt_buffer *memory; /* ring, records, arguments */
	struct npurt_ring ring;
	struct npu_record *records;
	__le64 *arguments; /* NPU_ARG_COUNT a slot */
	struct npurt_slot *slots;
	uint64_t device_offset; /* of an address for the device to the host's, in `memory` */
	uint64_t bytes_max; /* of tasks in flight; 0: not counted */
	uint32_t log2, priority; /* of its ring; as it was made */
	int stopped; /* negative errno: takes no more */
	struct npurt_line line; /* submitters waiting for room */
	struct npurt_stats_queue *stats; /* NULL: nobody counts */
	int64_t front_ns; /* when the newest of the ended tasks that are timed was seen to end */
	/* What those write who retire, away from what submitters read. */
	char stop_reason[256]; /* set before `stopped` */
	uint64_t retired; /* tasks below this index are over and done with */
	uint64_t logged; /* the log has the records below this index, as far as it wants them */
	uint64_t bytes; /* in flight */
	pthread_mutex_t retire_lock;
	struct npurt_leavers leavers;
};

/* The address sanitizer shall see the use of what has been let go of. */
#if defined(__SANITIZE_ADDRESS__)
#define NPURT_SPARES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NPURT_SPARES 0
#endif
#endif
#ifndef NPURT_SPARES
#define NPURT_SPARES 1
#endif

/* Futures to be used again, linked by `next_called`. */
struct npurt_spares {
	uint32_t locked; /* only ever tried */
	uint32_t count;
	struct npurt_future *first;
};

struct npurt_context {
	uint32_t handles;
	uint32_t flags;
	int64_t spin_ns;
	struct npurt_device *device;
	struct npurt_backend_context *backend; /* npurt_context_backend() */
	uint32_t rebuilds_in_vain; /* since packets of the queue were done with; under retire_lock */
	pthread_mutex_t va_lock;
	struct npurt_range va;
	uint64_t buffer_bytes; /* in use */
	struct npurt_pool pool; /* max 0: nothing is kept */
	pthread_mutex_t bind_lock; /* what is bound does not change */
	struct npurt_buffer *buffers; /* all of them, kept ones, too */
	struct npurt_queue queue;
	pthread_mutex_t start_lock; /* of `notifier` */
	struct npurt_notifier *notifier; /* NULL until somebody needs it; then it stays */
	uint32_t graph_tasks; /* ids given to nodes of graphs */
	uint32_t trace_number;
	int64_t trace_end_ns; /* of the last task in the trace; under retire_lock */
	struct npurt_spares spares;
};

/* A model and the memory it works on. */
struct npurt_run {
	struct npurt_model *model;
	struct npurt_buffer *profile; /* NULL: not profiled */
	struct npurt_binding *uses; /* one for each input, then each output */
	uint32_t use_count;
};

/*
 * A run, or a graph's replay, as the application sees it. Until `complete` it belongs to the queue
 * or to the replay; then everything but the counts is constant.
 */
struct npurt_future {
	/* Once complete of no interest, but for the first. Set for each run. */
	struct npurt_context *context;
	struct npurt_task task;
	uint64_t budget;
	struct npurt_run run;
	uint32_t uses_room; /* of uses[] */
	struct npu_record record; /* host order; of a graph, the sum over its segments */

	/* All zero at first, but for the references. */
	uint32_t references;
	uint32_t complete; /* a futex */
	uint32_t sleepers; /* on it */
	uint32_t cancel; /* what has not started shall not */
	npurt_callback callback; /* NULL: none; see npurt_notifier_call() */
	void *callback_data;
	struct npurt_future *next_called;
	bool call_queued;
	bool on_queue; /* complete once the queue has retired what is below queue_end */
	bool has_record;
	int result;
	uint64_t queue_end;
	int64_t submit_ns, complete_ns;
	uint64_t flow; /* in the trace; 0: none */
	char *error; /* NULL: none */
	struct npurt_layer_time *times; /* NULL: not profiled */
	int *node_results; /* NULL: all 0 */
	uint32_t nodes; /* of a graph; 0: a run */
	uint32_t clusters;
	uint32_t layers;

	struct npurt_binding uses[]; /* of a run */
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

/** npurt_relax() - one turn of a spinning loop */
static inline void npurt_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* -------------------------------------------------------------------- device.c */

/** npurt_is_ours() - false in a forked child */
static inline bool npurt_is_ours(const struct npurt_device *device)
{
	return __atomic_load_n(device->ours, __ATOMIC_RELAXED) != 0;
}

int npurt_fail_not_ours(void);

/** npurt_check_ours() - 0, or -EOWNERDEAD with a sentence in a forked child */
static inline int npurt_check_ours(const struct npurt_device *device)
{
	return npurt_is_ours(device) ? 0 : npurt_fail_not_ours();
}

/**
 * npurt_take_sized() - read the caller's structure, which may be of another version
 * @to: ours; its first member is its size; zeroes but for what the caller gives
 * @from: the caller's, or NULL
 * @what: it is, for the sentence: "graph options"
 *
 * Return: 0, -EINVAL.
 */
int npurt_take_sized(void *to, size_t to_bytes, const void *from, const char *what);

/**
 * npurt_give_sized() - fill the caller's structure, which may be of another version
 * @to: the caller's; its first member says how large it is
 * @from: ours
 *
 * Return: 0, -EINVAL.
 */
int npurt_give_sized(void *to, const void *from, size_t from_bytes);

void npurt_device_put(struct npurt_device *device);

/** npurt_device_start_workers() - have device->workers; 0 or a negative errno with a sentence */
int npurt_device_start_workers(struct npurt_device *device);

/* ------------------------------------------------------------------- context.c */

void npurt_context_put(struct npurt_context *context);

/**
 * npurt_context_backend() - what the device knows it as
 *
 * Another one after a reset; the one before can be used until the context is freed, and answers
 * that it is lost.
 */
static inline struct npurt_backend_context *
npurt_context_backend(const struct npurt_context *context)
{
	return __atomic_load_n(&context->backend, __ATOMIC_ACQUIRE);
}

/** npurt_context_try_get() - a handle more, unless there is none left */
bool npurt_context_try_get(struct npurt_context *context);

/* -------------------------------------------------------------------- buffer.c */

/**
 * npurt_buffer_new() - a buffer without a handle on its context
 * @prot: NPU_PROT_*
 */
int npurt_buffer_new(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		     struct npurt_buffer **buffer);
void npurt_buffer_put(struct npurt_buffer *buffer);

/** npurt_buffer_release_kept() - release what the context's pool keeps */
void npurt_buffer_release_kept(struct npurt_context *context);

/** npurt_buffer_bind_all() - make all buffers of a context known to a device that has none */
int npurt_buffer_bind_all(struct npurt_context *context, struct npurt_backend_context *backend);

/* -------------------------------------------------------------------- rebuild.c */

/** npurt_is_lost() - has the device been reset, and forgotten the context? */
static inline bool npurt_is_lost(struct npurt_backend_context *backend)
{
	const struct npurt_backend_ops *ops = backend->backend->ops;

	return ops->is_lost && ops->is_lost(backend);
}

/* How often a context is made again for nothing, before it stops. */
#define NPURT_REBUILD_TRIES 3

/**
 * npurt_rebuild() - make a lost context known to the device again
 * @first: packet of the queue to go on with; those before it are done with, or lost
 *
 * Resets the device if that has to be done. Under the queue's retire_lock, or before anybody uses
 * the queue. The caller rings the doorbell.
 *
 * Return: 0; a negative errno with a sentence: the context stays lost.
 */
int npurt_rebuild(struct npurt_context *context, uint64_t first);

/** npurt_rebuild_free() - let go of what was lost before */
void npurt_rebuild_free(struct npurt_context *context);

/* --------------------------------------------------------------------- model.c */

void npurt_model_put(struct npurt_model *model);

/* --------------------------------------------------------------------- queue.c */

int npurt_queue_init(struct npurt_queue *queue, struct npurt_context *context,
		     const struct npurt_context_options *options);

/** npurt_queue_kill() - kills what runs; every task still in flight ends with -ECANCELED */
void npurt_queue_kill(struct npurt_queue *queue);

/** npurt_queue_progress() - how many of its packets the device has done with */
static inline uint64_t npurt_queue_progress(const struct npurt_queue *queue)
{
	const struct npurt_backend_context *backend = npurt_context_backend(queue->context);

	return backend->done_before +
	       le64toh(__atomic_load_n(&backend->semaphores[NPURT_PROGRESS_SEMAPHORE],
				       __ATOMIC_ACQUIRE));
}

/** npurt_queue_is_there() - false before it is made and once it is killed */
static inline bool npurt_queue_is_there(const struct npurt_queue *queue)
{
	return __atomic_load_n(&queue->backend, __ATOMIC_ACQUIRE) != NULL;
}

/** npurt_queue_fini() - lets go of its memory */
void npurt_queue_fini(struct npurt_queue *queue);

/**
 * npurt_queue_submit() - put a task on the queue
 * @task: the caller holds it for the queue, until its finish()
 * @deadline_ns: CLOCK_MONOTONIC; INT64_MAX: none; NPURT_DEADLINE_TRY: do not wait
 *
 * Return: 0; -EAGAIN (of NPURT_DEADLINE_TRY), -ETIMEDOUT, -EDEADLK, -EIO and the like: nothing has
 * happened to @task.
 */
int npurt_queue_submit(struct npurt_queue *queue, struct npurt_task *task, int64_t deadline_ns);

#define NPURT_DEADLINE_TRY 0

/** npurt_policy_deadline() - what enum npurt_policy and its time-out mean from now on */
static inline int64_t npurt_policy_deadline(uint32_t policy, int64_t timeout_ns)
{
	if (policy == NPURT_POLICY_TRY)
		return NPURT_DEADLINE_TRY;
	return policy == NPURT_POLICY_BLOCK ? INT64_MAX : npurt_deadline(timeout_ns);
}

/** npurt_queue_record() - where the device writes the record of a packet */
static inline struct npu_record *npurt_queue_record(const struct npurt_queue *queue, uint64_t index)
{
	return &queue->records[index & (queue->ring.size - 1)];
}

/**
 * npurt_queue_take_record() - what the device says of a packet that is over, in the host's order
 *
 * Leaves the record empty for the next packet there, so that who submits that one need not touch it.
 */
void npurt_queue_take_record(struct npurt_queue *queue, uint64_t index, struct npu_record *record);

/** npurt_queue_log_last() - into the log: what the device recorded last, up to a packet; under retire_lock */
void npurt_queue_log_last(struct npurt_queue *queue, uint64_t index);

/** npurt_queue_arguments() - room for the arguments of a packet */
static inline __le64 *npurt_queue_arguments(const struct npurt_queue *queue, uint64_t index)
{
	return queue->arguments + (index & (queue->ring.size - 1)) * NPU_ARG_COUNT;
}

/** npurt_queue_address() - where the device sees what is in the queue's memory */
static inline uint64_t npurt_queue_address(const struct npurt_queue *queue, const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer + queue->device_offset;
}

/** npurt_queue_catch_up() - let go of what is complete, if anything is in flight */
void npurt_queue_catch_up(struct npurt_queue *queue);

/** npurt_queue_retire() - let go of all tasks that are complete; afterwards their futures say so */
void npurt_queue_retire(struct npurt_queue *queue);

/**
 * npurt_queue_wait() - spin, then sleep, until a number of tasks are complete
 *
 * Return: 0; -ETIMEDOUT without a sentence; also 0 when the queue has stopped, or the device was
 * reset: npurt_queue_retire() makes that good.
 */
int npurt_queue_wait(struct npurt_queue *queue, uint64_t tasks, int64_t deadline_ns);

/**
 * npurt_queue_prepare_uring() - fill a submission of io_uring's that completes when they are
 * @timeout_us: from its submission on; UINT32_MAX: none
 *
 * Return: 0, -EOPNOTSUPP with a sentence.
 */
int npurt_queue_prepare_uring(struct npurt_queue *queue, uint64_t tasks, uint32_t timeout_us,
			      struct io_uring_sqe *sqe);

/* ----------------------------------------------------------------------- run.c */

/**
 * npurt_run_check() - do bindings fit a model?
 * @call: the public function, for the sentence
 */
int npurt_run_check(const struct npurt_model *model, const struct npurt_binding *bindings,
		    size_t count, const char *call);

/** npurt_run_check_one() - does one of them? */
int npurt_run_check_one(const struct npurt_model *model, uint32_t index,
			const struct npurt_binding *binding);

/** npurt_run_options_read() - the caller's options, of any version, with the defaults filled in */
int npurt_run_options_read(const struct npurt_run_options *from, struct npurt_run_options *options);

/** npurt_run_hold() - take references on a run's model and buffers, which are copied to uses[] */
void npurt_run_hold(struct npurt_run *run, struct npurt_model *model,
		    const struct npurt_binding *bindings, size_t count);
void npurt_run_let_go(struct npurt_run *run);

/** npurt_run_prepare() - what all runs of a model that has been loaded have in common */
void npurt_run_prepare(struct npurt_model *model);

/** npurt_trace_finished() - a task is over; under retire_lock; its context and start are filled in */
void npurt_trace_finished(struct npurt_context *context, const struct npurt_trace_task *task);

/** npurt_record_read() - a record of the device in the host's order */
void npurt_record_read(struct npu_record *to, const struct npu_record *from);

/* ---------------------------------------------------------------- save_area.c */

/** npurt_save_area_new() - memory for the model's preempted tasks, when its program has points */
int npurt_save_area_new(struct npurt_model *model);

/* -------------------------------------------------------------------- future.c */

/** npurt_future_new() - one with a reference and room for bindings; NULL with a sentence */
struct npurt_future *npurt_future_new(struct npurt_context *context, size_t uses);
void npurt_future_put(struct npurt_future *future);

/** npurt_future_free_spares() - none is in use any more */
void npurt_future_free_spares(struct npurt_context *context);

/** npurt_future_is_over() - is it complete? Looks after the queue first */
bool npurt_future_is_over(struct npurt_future *future);

/** npurt_future_complete() - everything in it is final: tell those who wait */
void npurt_future_complete(struct npurt_future *future);

/* ------------------------------------------------------------------ describe.c */

/**
 * npurt_describe_failure() - why a task failed, in a sentence
 * @record: what the device says, in the host's order
 */
void npurt_describe_failure(const struct npurt_run *run, const struct npu_record *record,
			    char *text, size_t bytes);


/** npurt_error_of_status() - the errno of an enum npu_status */
int npurt_error_of_status(uint32_t status, uint32_t error);

#endif /* NPURT_OBJECTS_H */
