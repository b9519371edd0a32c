// SPDX-License-Identifier: GPL-2.0-only
/*
 * Semaphores and DRM's synchronization objects.
 *
 * Work of user queues has no end that the kernel could promise, so no fence ever stands for it:
 * when a semaphore has grown, a fence that is signalled already becomes a point of a syncobj. The
 * other way round is free: fences of others come to their end, and then a semaphore grows.
 *
 * Both happen in one worker, as syncobjs are not for interrupts, and points of a timeline must come
 * in the order of their semaphore's values. It does not run while the whole system goes to sleep,
 * as then it would not find the device.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/llist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>

#include "npu_trace.h"
#include "npu_wait.h"

/* What the doorbell takes as a signal. */
#define NPU_SIGNAL_SHIFT	48
#define NPU_SIGNAL_MAX		((1ull << NPU_SIGNAL_SHIFT) - 1)

/**
 * struct npu_sync_point - a point that comes when a semaphore has grown
 * @node: in the device's list once it is due
 * @due: it is there, or was
 * @ctx: with a reference
 * @syncobj: with a reference
 * @chain: of a timeline; NULL: a syncobj of one fence
 * @at: where in the timeline
 * @wait: what for
 */
struct npu_sync_point {
	struct llist_node node;
	bool due;
	struct npu_context *ctx;
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 at;
	struct npu_wait wait;
};

/**
 * struct npu_sync_signal - a semaphore that grows when a fence is signalled
 * @node: in the device's list once it is due
 * @link: in the context's list; under wait_lock
 * @callback: the fence's
 * @ctx: with a reference
 * @queue: with a reference; its doorbell takes the signal
 * @fence: with a reference
 * @store: what its doorbell takes
 */
struct npu_sync_signal {
	struct llist_node node;
	struct list_head link;
	struct dma_fence_cb callback;
	struct npu_context *ctx;
	struct npu_queue *queue;
	struct dma_fence *fence;
	u64 store;
};

static int npu_pending_take(struct npu_context *ctx)
{
	return npu_account_take(ctx->account, NPU_QUOTA_WAITS, 1);
}

static void npu_pending_give(struct npu_context *ctx)
{
	npu_account_give(ctx->account, NPU_QUOTA_WAITS, 1);
}

/* ------------------------------------------------------------------- semaphore to syncobj */

static void npu_sync_point_free(struct npu_sync_point *point)
{
	dma_fence_chain_free(point->chain);
	drm_syncobj_put(point->syncobj);
	npu_context_put(point->ctx);
	kfree(point);
}

/* A timeline does not go back: who waits for an earlier point has what he waits for, or will. */
static bool npu_sync_point_is_past(const struct npu_sync_point *point)
{
	struct dma_fence *fence = drm_syncobj_fence_get(point->syncobj);
	struct dma_fence_chain *chain = to_dma_fence_chain(fence);
	bool past = chain && chain->base.seqno >= point->at;

	dma_fence_put(fence);
	return past;
}

static void npu_sync_point_appear(struct npu_sync_point *point)
{
	struct dma_fence *fence = dma_fence_get_stub();

	if (!point->chain) {
		drm_syncobj_replace_fence(point->syncobj, fence);
	} else if (!npu_sync_point_is_past(point)) {
		drm_syncobj_add_point(point->syncobj, point->chain, fence, point->at);
		point->chain = NULL;
	}
	dma_fence_put(fence);
}

static void npu_sync_point_finish(struct npu_sync_point *point)
{
	struct npu_context *ctx = point->ctx;

	spin_lock(&ctx->wait_lock);
	npu_wait_unlink(ctx, &point->wait);
	spin_unlock(&ctx->wait_lock);
	trace_npu_wait_end(ctx, &point->wait, NPU_WAIT_SYNCOBJ,
			   npu_wait_outcome(ctx, &point->wait));
	npu_sync_point_appear(point);
	npu_pending_give(ctx);
	npu_sync_point_free(point);
}

/* Whatever the reason: nobody is left waiting for a point that will not come. */
static void npu_sync_point_wake(struct npu_wait *wait, int result)
{
	struct npu_sync_point *point = container_of(wait, struct npu_sync_point, wait);
	struct npu_device *ndev = point->ctx->ndev;

	if (xchg(&point->due, true))
		return;
	llist_add(&point->node, &ndev->points);
	queue_work(system_freezable_wq, &ndev->bridge);
}

static int npu_sync_point_link(struct npu_sync_point *point)
{
	struct npu_context *ctx = point->ctx;
	struct npu_device *ndev = ctx->ndev;
	int ret, idx;

	ret = npu_device_enter(ndev, &idx);
	if (ret)
		return ret;
	spin_lock(&ctx->wait_lock);
	ret = npu_wait_outcome(ctx, &point->wait);
	if (ret >= 0 || ret == -EAGAIN) {
		npu_wait_link(ctx, &point->wait);
		/* It may have grown meanwhile. */
		if (npu_wait_outcome(ctx, &point->wait) != -EAGAIN)
			npu_wait_wake(&point->wait, 0);
		ret = 0;
	}
	spin_unlock(&ctx->wait_lock);
	/* The worker may be done with the point by now, and with it the context may be gone. */
	npu_backstop_start(ndev);
	npu_device_exit(ndev, idx);
	return ret;
}

/* What is there already concerns the device no more, which may sleep. */
static int npu_sync_point_begin(struct npu_sync_point *point)
{
	int ret = npu_wait_outcome(point->ctx, &point->wait);

	if (ret == -EAGAIN)
		return npu_sync_point_link(point);
	if (ret < 0)
		return ret;
	npu_wait_wake(&point->wait, 0);
	return 0;
}

static int npu_sync_point_add(struct npu_sync_point *point,
			      const struct drm_npu_sem_to_syncobj *args)
{
	int ret;

	point->at = args->point;
	npu_wait_init(&point->wait, 1, npu_sync_point_wake);
	point->wait.waiters[0].sem = args->sem;
	point->wait.waiters[0].node.value = args->value;
	if (args->point) {
		point->chain = dma_fence_chain_alloc();
		if (!point->chain)
			return -ENOMEM;
	}
	ret = npu_pending_take(point->ctx);
	if (ret)
		return ret;
	trace_npu_wait_begin(point->ctx, &point->wait, NPU_WAIT_SYNCOBJ);
	ret = npu_sync_point_begin(point);
	if (ret) {
		trace_npu_wait_end(point->ctx, &point->wait, NPU_WAIT_SYNCOBJ, ret);
		npu_pending_give(point->ctx);
	}
	return ret;
}

/**
 * npu_sem_to_syncobj_ioctl() - DRM_IOCTL_NPU_SEM_TO_SYNCOBJ
 * @drm: the device
 * @data: struct drm_npu_sem_to_syncobj
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_sem_to_syncobj_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_npu_sem_to_syncobj *args = data;
	struct npu_sync_point *point;
	int ret = -ENOENT;

	if (args->flags || args->sem >= to_npu_device(drm)->caps.semaphores)
		return -EINVAL;
	point = kzalloc(struct_size(point, wait.waiters, 1), GFP_KERNEL_ACCOUNT);
	if (!point)
		return -ENOMEM;
	point->ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!point->ctx)
		goto free;
	point->syncobj = drm_syncobj_find(file, args->syncobj);
	if (!point->syncobj)
		goto put;
	ret = npu_sync_point_add(point, args);
	/* Once it is linked, the worker has it. */
	if (ret)
		npu_sync_point_free(point);
	return ret;
put:
	npu_context_put(point->ctx);
free:
	kfree(point);
	return ret;
}

/* ------------------------------------------------------------------- syncobj to semaphore */

static void npu_sync_signal_free(struct npu_sync_signal *signal)
{
	dma_fence_put(signal->fence);
	npu_queue_put(signal->queue);
	npu_context_put(signal->ctx);
	kfree(signal);
}

/* A device that sleeps is woken up for it. */
static void npu_sync_signal_store(struct npu_sync_signal *signal)
{
	struct npu_device *ndev = signal->ctx->ndev;
	struct npu_queue *queue = signal->queue;
	int idx;

	if (npu_device_enter(ndev, &idx))
		return;
	/* The doorbell of a queue that is gone may be another's. */
	mutex_lock(&ndev->doorbell_lock);
	if (!queue->dead) {
		trace_npu_doorbell_signal(ndev, queue, signal->store >> NPU_SIGNAL_SHIFT,
					  signal->store & NPU_SIGNAL_MAX);
		writeq(signal->store, ndev->doorbell_regs + queue->index * NPU_DOORBELL_STRIDE +
		       NPU_DOORBELL_SIGNAL);
	}
	mutex_unlock(&ndev->doorbell_lock);
	npu_device_exit(ndev, idx);
}

static void npu_sync_signal_finish(struct npu_sync_signal *signal)
{
	spin_lock(&signal->ctx->wait_lock);
	list_del(&signal->link);
	spin_unlock(&signal->ctx->wait_lock);
	npu_sync_signal_store(signal);
	npu_pending_give(signal->ctx);
	npu_sync_signal_free(signal);
}

/* By whoever signals the fence, in any context. */
static void npu_sync_signal_due(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct npu_sync_signal *signal = container_of(callback, struct npu_sync_signal, callback);
	struct npu_device *ndev = signal->ctx->ndev;

	llist_add(&signal->node, &ndev->signals);
	queue_work(system_freezable_wq, &ndev->bridge);
}

static struct npu_queue *npu_sync_signal_queue(struct npu_context *ctx, u32 id)
{
	struct npu_queue *queue;

	mutex_lock(&ctx->ndev->hw_lock);
	queue = xa_load(&ctx->queues, id);
	if (queue)
		kref_get(&queue->ref);
	mutex_unlock(&ctx->ndev->hw_lock);
	return queue;
}

static int npu_sync_signal_add(struct npu_sync_signal *signal)
{
	struct npu_context *ctx = signal->ctx;
	int ret;

	ret = npu_pending_take(ctx);
	if (ret)
		return ret;
	spin_lock(&ctx->wait_lock);
	ret = ctx->error;
	if (!ret) {
		list_add_tail(&signal->link, &ctx->signals);
		/* Signalled already: the worker is not far. */
		if (dma_fence_add_callback(signal->fence, &signal->callback, npu_sync_signal_due))
			npu_sync_signal_due(signal->fence, &signal->callback);
	}
	spin_unlock(&ctx->wait_lock);
	if (ret)
		npu_pending_give(ctx);
	return ret;
}

/**
 * npu_syncobj_to_sem_ioctl() - DRM_IOCTL_NPU_SYNCOBJ_TO_SEM
 * @drm: the device
 * @data: struct drm_npu_syncobj_to_sem
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_syncobj_to_sem_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_npu_syncobj_to_sem *args = data;
	struct npu_device *ndev = to_npu_device(drm);
	struct npu_sync_signal *signal;
	int ret = -ENOENT;

	if (args->flags || args->pad || args->sem >= ndev->caps.semaphores || !args->add ||
	    args->add > NPU_SIGNAL_MAX)
		return -EINVAL;
	if (npu_device_is_gone(ndev))
		return -ENODEV;
	signal = kzalloc(sizeof(*signal), GFP_KERNEL_ACCOUNT);
	if (!signal)
		return -ENOMEM;
	signal->store = (u64)args->sem << NPU_SIGNAL_SHIFT | args->add;
	signal->ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!signal->ctx)
		goto free;
	/* Of a context that is dead there are no queues to be found. */
	ret = READ_ONCE(signal->ctx->error);
	if (ret)
		goto put_context;
	ret = -ENOENT;
	signal->queue = npu_sync_signal_queue(signal->ctx, args->queue);
	if (!signal->queue)
		goto put_context;
	ret = drm_syncobj_find_fence(file, args->syncobj, args->point, 0, &signal->fence);
	if (ret)
		goto put_queue;
	ret = npu_sync_signal_add(signal);
	/* Once it is linked, the worker has it. */
	if (ret)
		npu_sync_signal_free(signal);
	return ret;
put_queue:
	npu_queue_put(signal->queue);
put_context:
	npu_context_put(signal->ctx);
free:
	kfree(signal);
	return ret;
}

/**
 * npu_syncobj_drop() - a context ends: fences it waits for no longer concern it
 * @ctx: the context, whose error is set
 *
 * Points that it owes have come by npu_semaphore_fail().
 */
void npu_syncobj_drop(struct npu_context *ctx)
{
	struct npu_sync_signal *signal, *next;
	LIST_HEAD(dropped);

	spin_lock(&ctx->wait_lock);
	list_for_each_entry_safe(signal, next, &ctx->signals, link) {
		/* Else the worker has it, or will. */
		if (dma_fence_remove_callback(signal->fence, &signal->callback))
			list_move(&signal->link, &dropped);
	}
	spin_unlock(&ctx->wait_lock);
	list_for_each_entry_safe(signal, next, &dropped, link) {
		npu_pending_give(signal->ctx);
		npu_sync_signal_free(signal);
	}
}

/* ----------------------------------------------------------------------------- the worker */

static void npu_bridge_work(struct work_struct *work)
{
	struct npu_device *ndev = container_of(work, struct npu_device, bridge);
	struct llist_node *points = llist_reverse_order(llist_del_all(&ndev->points));
	struct llist_node *signals = llist_del_all(&ndev->signals);
	struct npu_sync_point *point, *next_point;
	struct npu_sync_signal *signal, *next_signal;

	/* The device stays meanwhile: contexts have it. */
	llist_for_each_entry_safe(point, next_point, points, node) {
		npu_sync_point_finish(point);
		cond_resched();
	}
	llist_for_each_entry_safe(signal, next_signal, signals, node) {
		npu_sync_signal_finish(signal);
		cond_resched();
	}
}

/**
 * npu_syncobj_init() - nothing is owed yet
 * @ndev: the device
 */
void npu_syncobj_init(struct npu_device *ndev)
{
	init_llist_head(&ndev->points);
	init_llist_head(&ndev->signals);
	INIT_WORK(&ndev->bridge, npu_bridge_work);
}

/**
 * npu_syncobj_settle() - what was due before is done when this returns
 * @ndev: the device
 */
void npu_syncobj_settle(struct npu_device *ndev)
{
	flush_work(&ndev->bridge);
}
