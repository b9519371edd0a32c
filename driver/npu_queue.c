// SPDX-License-Identifier: GPL-2.0-only
/* User queues. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_context.h"
#include "npu_trace.h"

#define NPU_PRIORITY_MAX	15
#define NPU_PRIORITY_FREE	7	/* up to here for everybody */
#define NPU_RING_ALIGN		64

static void npu_queue_free(struct kref *ref)
{
	struct npu_queue *queue = container_of(ref, struct npu_queue, ref);

	if (queue->dummy)
		__free_page(queue->dummy);
	kfree(queue);
}

/**
 * npu_queue_put() - end using a queue
 * @queue: the queue
 */
void npu_queue_put(struct npu_queue *queue)
{
	kref_put(&queue->ref, npu_queue_free);
}

static struct npu_queue *npu_queue_new(struct npu_context *ctx)
{
	struct npu_queue *queue;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue)
		return NULL;
	kref_init(&queue->ref);
	queue->ctx = ctx;
	queue->dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!queue->dummy) {
		npu_queue_put(queue);
		return NULL;
	}
	return queue;
}

static int npu_queue_take_index(struct npu_device *ndev, struct npu_queue *queue)
{
	struct npu_account *account = queue->ctx->account;
	int ret;
	u32 i;

	lockdep_assert_held(&ndev->hw_lock);
	ret = npu_account_take(account, NPU_QUOTA_QUEUES, 1);
	if (ret)
		return ret;
	spin_lock(&ndev->contexts_lock);
	for (i = 0; i < ndev->caps.queues && ndev->queues[i]; i++)
		;
	if (i < ndev->caps.queues) {
		queue->index = i;
		ndev->queues[i] = queue;
	}
	spin_unlock(&ndev->contexts_lock);
	if (i < ndev->caps.queues)
		return 0;
	npu_account_give(account, NPU_QUOTA_QUEUES, 1);
	return -ENOSPC;
}

static void npu_queue_give_index(struct npu_device *ndev, struct npu_queue *queue)
{
	lockdep_assert_held(&ndev->hw_lock);
	spin_lock(&ndev->contexts_lock);
	ndev->queues[queue->index] = NULL;
	spin_unlock(&ndev->contexts_lock);
	npu_account_give(queue->ctx->account, NPU_QUOTA_QUEUES, 1);
}

/* @error: enum npu_error that had stopped it before, when it is not new. */
static int npu_queue_announce(struct npu_queue *queue, u32 error)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_QUEUE_CREATE) };
	const struct npu_queue_setup *setup = &queue->setup;

	message.argument[0] = cpu_to_le32(queue->index);
	message.argument[1] = cpu_to_le32(queue->ctx->index);
	message.argument[2] = cpu_to_le32(lower_32_bits(setup->ring));
	message.argument[3] = cpu_to_le32(upper_32_bits(setup->ring));
	message.argument[4] = cpu_to_le32(setup->ring_log2);
	message.argument[5] = cpu_to_le32(setup->priority);
	message.argument[6] = cpu_to_le32(lower_32_bits(queue->place));
	message.argument[7] = cpu_to_le32(upper_32_bits(queue->place));
	message.argument[8] = cpu_to_le32(error);
	return npu_mailbox_send(queue->ctx->ndev, &message);
}

static int npu_queue_check(struct npu_context *ctx, const struct drm_npu_queue_create *args)
{
	u64 bytes;

	if (args->flags || args->pad || args->pad2 || args->priority > NPU_PRIORITY_MAX)
		return -EINVAL;
	if (args->ring_log2 < NPU_RING_LOG2_MIN || args->ring_log2 > NPU_RING_LOG2_MAX)
		return -EINVAL;
	bytes = NPU_RING_PACKETS_OFFSET + ((u64)NPU_PACKET_BYTES << args->ring_log2);
	if (!IS_ALIGNED(args->ring, NPU_RING_ALIGN) || args->ring >= NPU_VA_END ||
	    bytes > NPU_VA_END - args->ring)
		return -EINVAL;
	if (args->priority > NPU_PRIORITY_FREE && !can_nice(current, -1))
		return -EACCES;
	/* The device writes indices into it. */
	if (npu_bind_covers(&ctx->vm, args->ring, bytes, DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE))
		return 0;
	/* Of a context that is dead nothing is bound. */
	return READ_ONCE(ctx->error) ?: -EINVAL;
}

/* Into the device and into the context's table. */
static int npu_queue_add(struct npu_context *ctx, struct npu_queue *queue,
			 const struct drm_npu_queue_create *args)
{
	struct npu_device *ndev = ctx->ndev;
	int ret;

	mutex_lock(&ndev->hw_lock);
	ret = ctx->gone ? -EIO : npu_queue_take_index(ndev, queue);
	if (ret)
		goto unlock;
	ret = xa_alloc(&ctx->queues, &queue->id, queue, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto index;
	queue->setup.ring = args->ring;
	queue->setup.ring_log2 = args->ring_log2;
	queue->setup.priority = args->priority;
	queue->place = args->first;
	ret = npu_queue_announce(queue, NPU_ERROR_NONE);
	if (ret)
		goto erase;
	trace_npu_queue_create(queue);
	mutex_unlock(&ndev->hw_lock);
	return 0;
erase:
	xa_erase(&ctx->queues, queue->id);
index:
	npu_queue_give_index(ndev, queue);
unlock:
	mutex_unlock(&ndev->hw_lock);
	return ret;
}

/**
 * npu_queue_create_ioctl() - DRM_IOCTL_NPU_QUEUE_CREATE
 * @drm: the device
 * @data: struct drm_npu_queue_create
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *ndev = to_npu_device(drm);
	struct drm_npu_queue_create *args = data;
	struct npu_context *ctx;
	struct npu_queue *queue;
	int ret, idx;

	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	ret = npu_queue_check(ctx, args);
	if (ret)
		goto put;
	ret = npu_device_enter(ndev, &idx);
	if (ret)
		goto put;
	queue = npu_queue_new(ctx);
	if (!queue) {
		ret = -ENOMEM;
		goto exit;
	}
	ret = npu_queue_add(ctx, queue, args);
	if (ret) {
		npu_queue_put(queue);
		goto exit;
	}
	args->queue = queue->id;
	args->doorbell_offset = (u64)NPU_MMAP_DOORBELL << NPU_MMAP_KIND_SHIFT |
				(u64)queue->index << NPU_MMAP_NUMBER_SHIFT;
	args->doorbell_bytes = PAGE_SIZE;
exit:
	npu_device_exit(ndev, idx);
put:
	npu_context_put(ctx);
	return ret;
}

/* Nobody finds or rings it any more; the device may still have it. */
static void npu_queue_hide(struct npu_context *ctx, struct npu_queue *queue)
{
	trace_npu_queue_destroy(queue);
	npu_semaphore_queue_gone(ctx, queue);
	npu_doorbell_revoke(ctx->ndev, queue);
	xa_erase(&ctx->queues, queue->id);
}

/**
 * npu_queue_destroy_ioctl() - DRM_IOCTL_NPU_QUEUE_DESTROY
 * @drm: the device
 * @data: struct drm_npu_queue_destroy
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_QUEUE_DESTROY) };
	struct npu_device *ndev = to_npu_device(drm);
	struct drm_npu_queue_destroy *args = data;
	struct npu_context *ctx;
	struct npu_queue *queue;
	int ret, idx;

	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	ret = npu_device_enter(ndev, &idx);
	if (ret)
		goto put;
	mutex_lock(&ndev->hw_lock);
	queue = xa_load(&ctx->queues, args->queue);
	if (!queue) {
		ret = -ENOENT;
		goto unlock;
	}
	npu_queue_hide(ctx, queue);
	message.argument[0] = cpu_to_le32(queue->index);
	ret = npu_mailbox_send(ndev, &message);
	if (ret) {
		/* Firmware that works, but cannot. */
		if (!npu_device_is_dead(ndev))
			npu_semaphore_fail(ctx, -EIO, DRM_NPU_CTX_GUILTY);
		npu_device_die(ndev, NPU_FAILURE_QUEUE_END);
		ret = npu_dead_error(ndev);
	} else {
		/* That it stopped must not be taken for a later one's of this number. */
		npu_irq_drain(ndev);
	}
	npu_queue_give_index(ndev, queue);
	npu_queue_put(queue);
unlock:
	mutex_unlock(&ndev->hw_lock);
	npu_device_exit(ndev, idx);
put:
	npu_context_put(ctx);
	return ret;
}

/**
 * npu_queue_drop_all() - the queues of a context that ends
 * @ctx: the context; the device is told by the caller, in one message for all
 */
void npu_queue_drop_all(struct npu_context *ctx)
{
	struct npu_queue *queue;
	unsigned long id;

	lockdep_assert_held(&ctx->ndev->hw_lock);
	xa_for_each(&ctx->queues, id, queue) {
		npu_queue_hide(ctx, queue);
		npu_queue_give_index(ctx->ndev, queue);
		npu_queue_put(queue);
	}
}

/**
 * npu_queue_note_place() - ask where a queue stands, before the device forgets it
 * @queue: the queue; the device is suspended
 *
 * Return: 0 or a negative errno: it will not be known where to go on.
 */
int npu_queue_note_place(struct npu_queue *queue)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_QUEUE_STATE) };
	int ret;

	lockdep_assert_held(&queue->ctx->ndev->hw_lock);
	message.argument[0] = cpu_to_le32(queue->index);
	ret = npu_mailbox_send(queue->ctx->ndev, &message);
	if (ret)
		return ret;
	queue->place = (u64)le32_to_cpu(message.argument[1]) << 32 |
		       le32_to_cpu(message.argument[0]);
	if (message.argument[2])
		npu_semaphore_queue_stopped(queue->ctx, queue, le32_to_cpu(message.argument[2]));
	/* What was in the middle of something cannot go on there. */
	return message.argument[3] ? -EBUSY : 0;
}

/**
 * npu_queue_lose_place() - what a queue had begun is lost
 * @queue: the queue, which ends so
 */
void npu_queue_lose_place(struct npu_queue *queue)
{
	npu_semaphore_queue_stopped(queue->ctx, queue, NPU_ERROR_KILLED);
}

/**
 * npu_queue_restore() - make it known to the device again, where it was
 * @queue: the queue, whose context the device knows
 *
 * Return: 0 or a negative errno.
 */
int npu_queue_restore(struct npu_queue *queue)
{
	lockdep_assert_held(&queue->ctx->ndev->hw_lock);
	return npu_queue_announce(queue, min_t(u32, READ_ONCE(queue->error), U8_MAX));
}

/**
 * npu_queue_stopped() - the device has stopped a queue for an error
 * @ndev: the device
 * @context: hardware number of its context
 * @index: hardware number of the queue
 * @error: enum npu_error
 *
 * The event ring and the firmware both tell it, in either order.
 */
void npu_queue_stopped(struct npu_device *ndev, u32 context, u32 index, u32 error)
{
	struct npu_queue *queue = NULL;
	struct npu_context *ctx;

	ctx = npu_context_get_by_index(ndev, context);
	if (!ctx)
		return;
	spin_lock(&ndev->contexts_lock);
	if (index < NPU_QUEUES_MAX && ndev->queues[index] && ndev->queues[index]->ctx == ctx) {
		queue = ndev->queues[index];
		kref_get(&queue->ref);
	}
	spin_unlock(&ndev->contexts_lock);
	if (queue) {
		npu_semaphore_queue_stopped(ctx, queue, error);
		npu_queue_put(queue);
	}
	npu_context_put(ctx);
	npu_log_follow_soon(ndev);
}
