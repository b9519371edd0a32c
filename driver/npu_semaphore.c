// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeping on semaphores. The device is asked to tell once when a semaphore reaches the lowest
 * value somebody waits for: one posted write and one interrupt a sleep, no register is read.
 * Authority: Documentation/hardware/queues.rst, "Watches".
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_context.h"

/* Sleepers look by themselves that often, should an interrupt be lost or the device gone. */
#define NPU_BACKSTOP_NS		NSEC_PER_SEC

/**
 * struct npu_waiter - a semaphore somebody waits for
 * @node: in the semaphore's watch, and the value that is waited for; under wait_lock, but for the
 *	value, which does not change
 * @wait: the sleep it belongs to
 * @sem: index of the semaphore
 */
struct npu_waiter {
	struct npu_watch_waiter node;
	struct npu_wait *wait;
	u32 sem;
};

/**
 * struct npu_wait - somebody who sleeps
 * @link: in the context's list
 * @task: who
 * @woken: an interrupt did
 * @all: until all are met
 * @count: number of waiters
 * @waiters: what for
 */
struct npu_wait {
	struct list_head link;
	struct task_struct *task;
	bool woken;
	bool all;
	u32 count;
	struct npu_waiter waiters[] __counted_by(count);
};

/**
 * npu_semaphore_init() - a context's waiting
 * @ctx: the context
 *
 * Return: 0, -ENOMEM.
 */
int npu_semaphore_init(struct npu_context *ctx)
{
	ctx->watches = kvcalloc(ctx->ndev->caps.semaphores, sizeof(*ctx->watches),
				GFP_KERNEL_ACCOUNT);
	return ctx->watches ? 0 : -ENOMEM;
}

static u64 npu_sem_value(struct npu_context *ctx, u32 sem)
{
	u64 value = le64_to_cpu(READ_ONCE(ctx->values[sem]));

	/* What the device wrote before the value must be seen after it. */
	dma_rmb();
	return value;
}

static void npu_sem_wake(struct npu_wait *wait)
{
	WRITE_ONCE(wait->woken, true);
	wake_up_process(wait->task);
}

/* Has the device watch for the lowest value somebody waits for. */
static void npu_sem_arm(struct npu_context *ctx, u32 sem)
{
	const struct npu_watch_waiter *lowest = npu_watch_lowest(&ctx->watches[sem]);

	lockdep_assert_held(&ctx->wait_lock);
	/* Without thresholds the device does not know the context any more. */
	if (!lowest || !ctx->thresholds || npu_device_is_dead(ctx->ndev))
		return;
	WRITE_ONCE(ctx->thresholds[sem], cpu_to_le64(lowest->value));
	/* writel() orders the threshold before the device is asked to fetch it. */
	npu_write(ctx->ndev, NPU_REG_WATCH_ARM, ctx->index << 16 | sem);
}

/**
 * npu_semaphore_fired() - a watch told that a semaphore has grown
 * @ctx: whose
 * @sem: index, as the device says
 *
 * The event may be older than those who wait now; then it only makes the watch be armed again.
 */
void npu_semaphore_fired(struct npu_context *ctx, u32 sem)
{
	struct npu_watch_waiter *met;
	u64 value;

	if (sem >= ctx->ndev->caps.semaphores)
		return;
	spin_lock(&ctx->wait_lock);
	value = npu_sem_value(ctx, sem);
	while ((met = npu_watch_take(&ctx->watches[sem], value)))
		npu_sem_wake(container_of(met, struct npu_waiter, node)->wait);
	npu_sem_arm(ctx, sem);
	spin_unlock(&ctx->wait_lock);
}

static void npu_sem_wake_all(struct npu_context *ctx)
{
	struct npu_wait *wait;

	lockdep_assert_held(&ctx->wait_lock);
	list_for_each_entry(wait, &ctx->waits, link)
		npu_sem_wake(wait);
}

/**
 * npu_semaphore_fail() - nothing will be signalled in a context any more
 * @ctx: the context
 * @error: -EIO or -ENODEV, for those who wait
 * @state: enum drm_npu_ctx_state
 *
 * The first reason stays.
 */
void npu_semaphore_fail(struct npu_context *ctx, int error, u32 state)
{
	spin_lock(&ctx->wait_lock);
	if (!ctx->error) {
		ctx->state = state;
		WRITE_ONCE(ctx->error, error);
		WRITE_ONCE(*ctx->status, cpu_to_le32(-error));
		npu_sem_wake_all(ctx);
	}
	spin_unlock(&ctx->wait_lock);
}

/**
 * npu_semaphore_queue_stopped() - a queue will not signal any more
 * @ctx: the context
 * @queue: the queue
 * @error: enum npu_error
 */
void npu_semaphore_queue_stopped(struct npu_context *ctx, struct npu_queue *queue, u32 error)
{
	spin_lock(&ctx->wait_lock);
	if (!queue->error) {
		queue->error = error ?: NPU_ERROR_RING;
		if (!ctx->stopped) {
			ctx->stop_error = queue->error;
			ctx->stop_queue = queue->id;
		}
		WRITE_ONCE(ctx->stopped, ctx->stopped + 1);
		npu_sem_wake_all(ctx);
	}
	spin_unlock(&ctx->wait_lock);
}

/**
 * npu_semaphore_queue_gone() - a queue ends, and so does that it had stopped
 * @ctx: the context
 * @queue: the queue; that it stops from now on is ignored
 */
void npu_semaphore_queue_gone(struct npu_context *ctx, struct npu_queue *queue)
{
	spin_lock(&ctx->wait_lock);
	if (queue->error)
		WRITE_ONCE(ctx->stopped, ctx->stopped - 1);
	queue->error = U32_MAX;
	if (!ctx->stopped) {
		ctx->stop_error = 0;
		ctx->stop_queue = 0;
	}
	spin_unlock(&ctx->wait_lock);
}

/* Which element ends the wait; a negative errno when none does. */
static int npu_wait_met(struct npu_context *ctx, const struct npu_wait *wait)
{
	u32 i;

	for (i = 0; i < wait->count; i++) {
		const struct npu_waiter *waiter = &wait->waiters[i];
		bool met = npu_sem_value(ctx, waiter->sem) >= waiter->node.value;

		if (met && !wait->all)
			return i;
		if (!met && wait->all)
			return -EAGAIN;
	}
	return wait->all ? 0 : -EAGAIN;
}

static void npu_wait_link(struct npu_context *ctx, struct npu_wait *wait)
{
	u32 i;

	spin_lock(&ctx->wait_lock);
	list_add_tail(&wait->link, &ctx->waits);
	for (i = 0; i < wait->count; i++) {
		struct npu_waiter *waiter = &wait->waiters[i];

		if (npu_watch_add(&ctx->watches[waiter->sem], &waiter->node,
				  waiter->node.value))
			npu_sem_arm(ctx, waiter->sem);
	}
	spin_unlock(&ctx->wait_lock);
}

/* A watch that stays armed for nobody costs one event at most. */
static void npu_wait_unlink(struct npu_context *ctx, struct npu_wait *wait)
{
	u32 i;

	spin_lock(&ctx->wait_lock);
	list_del(&wait->link);
	for (i = 0; i < wait->count; i++) {
		struct npu_waiter *waiter = &wait->waiters[i];

		npu_watch_remove(&ctx->watches[waiter->sem], &waiter->node);
	}
	spin_unlock(&ctx->wait_lock);
}

/* Nothing came for long: is the device there, and was nothing lost? */
static void npu_wait_backstop(struct npu_context *ctx, struct npu_wait *wait)
{
	struct npu_device *ndev = ctx->ndev;
	int idx;

	if (npu_wait_met(ctx, wait) >= 0 && !READ_ONCE(wait->woken))
		atomic_inc(&ndev->lost_interrupts);
	/* One of many sleepers is enough to look. */
	if (time_before(jiffies, READ_ONCE(ndev->seen) + HZ / 2) || npu_device_enter(ndev, &idx))
		return;
	WRITE_ONCE(ndev->seen, jiffies);
	if (npu_read(ndev, NPU_REG_ID) != NPU_ID_VALUE)
		npu_device_die(ndev, "the device does not answer");
	drm_dev_exit(idx);
}

static int npu_wait_check(struct npu_context *ctx, const struct npu_wait *wait, ktime_t deadline)
{
	int failed = READ_ONCE(ctx->error);
	int ret;

	if (!failed && READ_ONCE(ctx->stopped))
		failed = -EIO;
	/* Values are looked at last: those that were there before the end count. */
	smp_rmb();
	ret = npu_wait_met(ctx, wait);
	if (ret >= 0)
		return ret;
	if (failed)
		return failed;
	if (ktime_get() >= deadline)
		return -ETIME;
	/* The deadline is absolute, so the call can be made again as it is. */
	return signal_pending(current) ? -ERESTARTSYS : -EAGAIN;
}

static int npu_wait_sleep(struct npu_context *ctx, struct npu_wait *wait, ktime_t deadline)
{
	ktime_t until;
	int ret;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		ret = npu_wait_check(ctx, wait, deadline);
		if (ret != -EAGAIN)
			break;
		until = min(deadline, ktime_add_ns(ktime_get(), NPU_BACKSTOP_NS));
		if (!schedule_hrtimeout(&until, HRTIMER_MODE_ABS) && until < deadline)
			npu_wait_backstop(ctx, wait);
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

static int npu_wait_run(struct npu_context *ctx, struct npu_wait *wait, ktime_t deadline)
{
	int ret, idx;

	ret = npu_wait_check(ctx, wait, deadline);
	if (ret != -EAGAIN)
		return ret;
	/* The sleep itself is outside, as its length is the program's choice. */
	ret = npu_device_enter(ctx->ndev, &idx);
	if (ret)
		return ret;
	npu_wait_link(ctx, wait);
	drm_dev_exit(idx);
	ret = npu_wait_sleep(ctx, wait, deadline);
	npu_wait_unlink(ctx, wait);
	return ret;
}

static int npu_wait_copy(struct npu_context *ctx, struct npu_wait *wait,
			 const struct drm_npu_array *sems)
{
	struct drm_npu_sem sem;
	u32 i;
	int ret;

	for (i = 0; i < wait->count; i++) {
		ret = copy_struct_from_user(&sem, sizeof(sem),
					    u64_to_user_ptr(sems->array + (u64)i * sems->stride),
					    sems->stride);
		if (ret)
			return ret;
		if (sem.pad || sem.sem >= ctx->ndev->caps.semaphores)
			return -EINVAL;
		wait->waiters[i].wait = wait;
		wait->waiters[i].sem = sem.sem;
		wait->waiters[i].node.value = sem.value;
	}
	return 0;
}

/**
 * npu_semaphore_wait_ioctl() - DRM_IOCTL_NPU_SEM_WAIT
 * @drm: the device
 * @data: struct drm_npu_sem_wait
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_semaphore_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_sem_wait *args = data;
	struct npu_context *ctx;
	struct npu_wait *wait;
	int ret;

	args->first = 0;
	if (args->flags & ~DRM_NPU_SEM_WAIT_ALL || args->pad || args->deadline_ns < 0)
		return -EINVAL;
	if (!args->sems.count || args->sems.stride < sizeof(struct drm_npu_sem))
		return -EINVAL;
	if (args->sems.count > NPU_WAITS_MAX || args->sems.stride > NPU_STRIDE_MAX)
		return -E2BIG;
	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	wait = kzalloc(struct_size(wait, waiters, args->sems.count), GFP_KERNEL_ACCOUNT);
	if (!wait) {
		ret = -ENOMEM;
		goto put;
	}
	wait->task = current;
	wait->all = args->flags & DRM_NPU_SEM_WAIT_ALL;
	wait->count = args->sems.count;
	ret = npu_wait_copy(ctx, wait, &args->sems);
	if (!ret)
		ret = npu_wait_run(ctx, wait, ns_to_ktime(args->deadline_ns));
	if (ret > 0) {
		args->first = ret;
		ret = 0;
	}
	kfree(wait);
put:
	npu_context_put(ctx);
	return ret;
}
