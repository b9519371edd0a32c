// SPDX-License-Identifier: MIT
/* Contexts: an address space, its queue, and how long they live. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "notifier.h"
#include "npu_pgtable.h"
#include "objects.h"

#define DEPTH_DEFAULT 64u
#define DEPTH_MAX (1u << NPU_RING_LOG2_MAX)
#define PRIORITY_MAX 15u
#define SPIN_US_DEFAULT 20u
#define SPIN_US_MAX 1000000u

/* Low addresses stay free, so that a null pointer and small offsets from it fault. */
#define VA_START ((uint64_t)64 << 20)

static int read_options(const struct npurt_context_options *from,
			struct npurt_context_options *options)
{
	int ret = npurt_take_sized(options, sizeof(*options), from, "context options");

	if (ret)
		return ret;
	if (options->flags & ~(NPURT_CONTEXT_PAGES_4K | NPURT_CONTEXT_NO_SPIN))
		return npurt_fail(-EINVAL, "npurt: context flags 0x%x: this library knows 0x%x",
				  options->flags, NPURT_CONTEXT_PAGES_4K | NPURT_CONTEXT_NO_SPIN);
	if (options->queue_depth > DEPTH_MAX || options->priority > PRIORITY_MAX ||
	    options->spin_us > SPIN_US_MAX)
		return npurt_fail(
			-EINVAL,
			"npurt: queue depth %u, priority %u, spin_us %u: at most %u, %u and %u",
			options->queue_depth, options->priority, options->spin_us, DEPTH_MAX,
			PRIORITY_MAX, SPIN_US_MAX);
	if (!options->queue_depth)
		options->queue_depth = DEPTH_DEFAULT;
	if (!options->spin_us)
		options->spin_us = SPIN_US_DEFAULT;
	return 0;
}

static int64_t spin_time(const struct npurt_context_options *options)
{
	/* On one CPU nothing changes while we spin. */
	if (options->flags & NPURT_CONTEXT_NO_SPIN || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return 0;
	return (int64_t)options->spin_us * 1000;
}

static void context_free(struct npurt_context *context)
{
	npurt_queue_kill(&context->queue);
	npurt_notifier_end(context);
	npurt_queue_fini(&context->queue);
	npurt_future_free_spares(context);
	npurt_buffer_release_kept(context);
	npurt_rebuild_free(context);
	npurt_range_fini(&context->va);
	npurt_pool_fini(&context->pool);
	pthread_mutex_destroy(&context->bind_lock);
	pthread_mutex_destroy(&context->va_lock);
	pthread_mutex_destroy(&context->start_lock);
	npurt_device_put(context->device);
	free(context);
}

int npurt_context_create(struct npurt_device *device, const struct npurt_context_options *from,
			 struct npurt_context **result)
{
	struct npurt_context_options options;
	struct npurt_context *context;
	int ret;

	if (!device || !result)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_context_create() wants a device and a place "
				  "for the context, one is NULL");
	ret = npurt_check_ours(device);
	if (!ret)
		ret = read_options(from, &options);
	if (ret)
		return ret;
	context = calloc(1, sizeof(*context));
	if (!context)
		return npurt_fail(-ENOMEM, "npurt: no memory for a context");
	context->handles = 1;
	context->flags = options.flags;
	context->spin_ns = spin_time(&options);
	context->device = device;
	npurt_count_up(&device->handles);
	pthread_mutex_init(&context->bind_lock, NULL);
	pthread_mutex_init(&context->va_lock, NULL);
	npurt_pool_init(&context->pool, options.pool_bytes);
	pthread_mutex_init(&context->start_lock, NULL);
	ret = npurt_range_init(&context->va, VA_START, NPU_VA_END);
	if (ret)
		ret = npurt_fail(ret, "npurt: no memory for a context");
	if (!ret)
		ret = device->backend->ops->context_create(device->backend, options.flags,
							   &context->backend);
	if (!ret)
		ret = npurt_queue_init(&context->queue, context, &options);
	if (ret) {
		context_free(context);
		return ret;
	}
	context->trace_number = npurt_trace_context(&device->trace, &device->info);
	npurt_log_line(&device->log, NPURT_LOG_DEBUG, "context %p: created, queue depth %u",
		       (void *)context, options.queue_depth);
	*result = context;
	return 0;
}

bool npurt_context_try_get(struct npurt_context *context)
{
	uint32_t handles = __atomic_load_n(&context->handles, __ATOMIC_RELAXED);

	while (handles) {
		if (__atomic_compare_exchange_n(&context->handles, &handles, handles + 1, true,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

void npurt_context_put(struct npurt_context *context)
{
	if (!npurt_count_down(&context->handles))
		return;
	npurt_log_line(&context->device->log, NPURT_LOG_DEBUG, "context %p: destroyed",
		       (void *)context);
	context_free(context);
}

void npurt_context_destroy(struct npurt_context *context)
{
	if (context && npurt_is_ours(context->device))
		npurt_context_put(context);
}

int npurt_context_get_status(struct npurt_context *context, struct npurt_context_status *status)
{
	struct npurt_context_status now = { .size = sizeof(now) };
	uint64_t written;
	int ret;

	if (!context)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_context_get_status() without a context (NULL)");
	ret = npurt_check_ours(context->device);
	if (ret)
		return ret;
	now.completed = npurt_queue_progress(&context->queue);
	written = npurt_ring_written(&context->queue.ring);
	now.buffer_bytes = __atomic_load_n(&context->buffer_bytes, __ATOMIC_RELAXED);
	pthread_mutex_lock(&context->pool.lock);
	now.pool_kept_bytes = context->pool.kept;
	pthread_mutex_unlock(&context->pool.lock);
	now.bytes_in_flight = __atomic_load_n(&context->queue.bytes, __ATOMIC_RELAXED);
	now.queue_depth = (uint32_t)context->queue.ring.depth;
	now.submitted = written;
	now.error = __atomic_load_n(&context->queue.stopped, __ATOMIC_ACQUIRE);
	/* Tasks lost in a stopped queue never raise the semaphore. */
	if (now.error || now.completed > written)
		now.completed = written;
	now.in_flight = (uint32_t)(written - now.completed);
	return npurt_give_sized(status, &now, sizeof(now));
}
