// SPDX-License-Identifier: MIT
/*
 * Contexts that the device forgot when it was reset are made again: their memory is where it was, and
 * their queue goes on in the ring it has.
 *
 * Others may be looking at the context that was lost, or ringing its doorbell, at any time. So it is
 * kept, and let go of with the context.
 */
#include <string.h>

#include "objects.h"

/* What packets of a lost queue say about the device is over. */
static void ring_reset(const struct npurt_ring *ring, uint64_t first)
{
	struct npu_ring_control *control = ring->control;

	__atomic_store_n(&control->error, 0, __ATOMIC_RELAXED);
	/* As the device itself does when it is told of a queue: it has looked at nothing yet. */
	__atomic_store_n(&control->sleeping, htole32(1), __ATOMIC_RELAXED);
	__atomic_store_n(&control->read_index, htole64(first), __ATOMIC_RELEASE);
}

static int fill_context(struct npurt_context *context, struct npurt_backend_context *backend,
			uint64_t first, struct npurt_backend_queue **queue)
{
	struct npurt_queue *ours = &context->queue;
	int ret;

	/* Whatever fails below: nobody has looked at what is in the ring from here on. */
	ring_reset(&ours->ring, first);
	ret = npurt_buffer_bind_all(context, backend);
	if (ret)
		return ret;
	return backend->backend->ops->queue_create(backend, ours->memory->va, ours->log2,
						   ours->priority, first, queue);
}

static int rebuild_once(struct npurt_context *context, uint64_t first)
{
	struct npurt_backend *device = context->device->backend;
	struct npurt_backend_context *backend = NULL;
	struct npurt_backend_queue *queue = NULL;
	int ret;

	pthread_mutex_lock(&context->bind_lock);
	ret = device->ops->context_create(device, context->flags, &backend);
	if (ret)
		goto unlock;
	backend->done_before = first;
	ret = fill_context(context, backend, first, &queue);
	/*
	 * A device that fails may have done some of the queue before, even if nobody heard that the
	 * queue was made. So this context counts, as one that was lost since: what it has done is
	 * seen by its semaphores and in the ring.
	 */
	if (ret && context->queue.backend && npurt_is_lost(backend)) {
		ret = 0;
	} else if (ret) {
		device->ops->context_destroy(backend);
		goto unlock;
	}
	backend->before = context->backend;
	if (queue && context->queue.backend) {
		context->queue.backend->before = context->queue.lost;
		context->queue.lost = context->queue.backend;
	}
	/* Whoever rings the new queue sees the new context. */
	__atomic_store_n(&context->backend, backend, __ATOMIC_RELEASE);
	if (queue)
		__atomic_store_n(&context->queue.backend, queue, __ATOMIC_SEQ_CST);
unlock:
	pthread_mutex_unlock(&context->bind_lock);
	return ret;
}

int npurt_rebuild(struct npurt_context *context, uint64_t first)
{
	unsigned int tries;
	int ret = 0;

	/* The device may fail again while the context is being made. */
	for (tries = 0; tries < NPURT_REBUILD_TRIES; tries++) {
		ret = rebuild_once(context, first);
		if (!ret)
			break;
	}
	return ret;
}

static void free_queues(struct npurt_backend_queue *queue, const struct npurt_backend_ops *ops)
{
	while (queue) {
		struct npurt_backend_queue *before = queue->before;

		ops->queue_destroy(queue);
		queue = before;
	}
}

void npurt_rebuild_free(struct npurt_context *context)
{
	const struct npurt_backend_ops *ops = context->device->backend->ops;
	struct npurt_backend_context *backend = context->backend;

	free_queues(context->queue.lost, ops);
	while (backend) {
		struct npurt_backend_context *before = backend->before;

		ops->context_destroy(backend);
		backend = before;
	}
}
