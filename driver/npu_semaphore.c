// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeping on semaphores. The device is asked to tell once when a semaphore reaches the lowest
 * value somebody waits for: one posted write and one interrupt a sleep, no register is read.
 * Authority: Documentation/hardware/queues.rst, "Watches".
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_trace.h"
#include "npu_wait.h"

/**
 * struct npu_sleeper - a task that sleeps
 * @task: who
 * @wait: what for
 */
struct npu_sleeper {
	struct task_struct *task;
	struct npu_wait wait;
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
	atomic64_inc(&ctx->account->armed);
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
	atomic64_inc(&ctx->account->events);
	spin_lock(&ctx->wait_lock);
	value = npu_sem_value(ctx, sem);
	while ((met = npu_watch_take(&ctx->watches[sem], value)))
		npu_wait_wake(container_of(met, struct npu_waiter, node)->wait, 0);
	npu_sem_arm(ctx, sem);
	spin_unlock(&ctx->wait_lock);
}

/**
 * npu_semaphore_rearm() - have the device watch again, which has forgotten all
 * @ctx: the context
 *
 * What has grown meanwhile fires at once.
 */
void npu_semaphore_rearm(struct npu_context *ctx)
{
	struct npu_wait *wait;
	u32 i;

	spin_lock(&ctx->wait_lock);
	list_for_each_entry(wait, &ctx->waits, link) {
		for (i = 0; i < wait->count; i++)
			npu_sem_arm(ctx, wait->waiters[i].sem);
	}
	spin_unlock(&ctx->wait_lock);
}

static void npu_sem_wake_all(struct npu_context *ctx, int error)
{
	struct npu_wait *wait;

	lockdep_assert_held(&ctx->wait_lock);
	list_for_each_entry(wait, &ctx->waits, link)
		npu_wait_wake(wait, error);
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
		trace_npu_context_fail(ctx, state, error);
		ctx->state = state;
		WRITE_ONCE(ctx->error, error);
		WRITE_ONCE(*ctx->status, cpu_to_le32(-error));
		npu_sem_wake_all(ctx, error);
		npu_notice_check(ctx);
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
		trace_npu_queue_stop(ctx, queue, queue->error);
		if (!ctx->stopped) {
			ctx->stop_error = queue->error;
			ctx->stop_queue = queue->id;
		}
		WRITE_ONCE(ctx->stopped, ctx->stopped + 1);
		npu_sem_wake_all(ctx, -EIO);
		npu_notice_check(ctx);
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

/**
 * npu_wait_init() - a wait that nobody looks after yet
 * @wait: zeroed
 * @count: number of its waiters, to be filled in by the caller
 * @wake: see struct npu_wait
 */
void npu_wait_init(struct npu_wait *wait, u32 count, void (*wake)(struct npu_wait *, int))
{
	u32 i;

	INIT_LIST_HEAD(&wait->link);
	wait->wake = wake;
	wait->count = count;
	for (i = 0; i < count; i++)
		wait->waiters[i].wait = wait;
}

/**
 * npu_wait_link() - have a wait looked after
 * @ctx: whose semaphores they are
 * @wait: what for. Look at npu_wait_outcome() afterwards: what was there before wakes nobody
 */
void npu_wait_link(struct npu_context *ctx, struct npu_wait *wait)
{
	u32 i;

	lockdep_assert_held(&ctx->wait_lock);
	wait->since = jiffies;
	list_add_tail(&wait->link, &ctx->waits);
	atomic_add(wait->count, &ctx->account->watching);
	for (i = 0; i < wait->count; i++) {
		struct npu_waiter *waiter = &wait->waiters[i];

		if (npu_watch_add(&ctx->watches[waiter->sem], &waiter->node,
				  waiter->node.value))
			npu_sem_arm(ctx, waiter->sem);
	}
}

/**
 * npu_wait_unlink() - nobody looks after a wait any more
 * @ctx: whose semaphores they are
 * @wait: what for; need not have been linked
 *
 * A watch that stays armed for nobody costs one event at most.
 */
void npu_wait_unlink(struct npu_context *ctx, struct npu_wait *wait)
{
	u32 i;

	lockdep_assert_held(&ctx->wait_lock);
	if (list_empty(&wait->link))
		return;
	list_del_init(&wait->link);
	atomic_sub(wait->count, &ctx->account->watching);
	for (i = 0; i < wait->count; i++) {
		struct npu_waiter *waiter = &wait->waiters[i];

		npu_watch_remove(&ctx->watches[waiter->sem], &waiter->node);
	}
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

/**
 * npu_wait_outcome() - how a wait stands
 * @ctx: whose semaphores they are
 * @wait: what for
 *
 * Return: the element that ends it; -EIO or -ENODEV when it will not be met any more; -EAGAIN.
 */
int npu_wait_outcome(struct npu_context *ctx, const struct npu_wait *wait)
{
	int failed = READ_ONCE(ctx->error);
	int ret;

	if (!failed && READ_ONCE(ctx->stopped))
		failed = -EIO;
	/* Values are looked at last: those that were there before the end count. */
	smp_rmb();
	ret = npu_wait_met(ctx, wait);
	return ret < 0 && failed ? failed : ret;
}

/* ---------------------------------------------------------------- sleeping in the call itself */

static void npu_sleeper_wake(struct npu_wait *wait, int result)
{
	struct npu_sleeper *sleeper = container_of(wait, struct npu_sleeper, wait);

	wake_up_process(sleeper->task);
}

/* Nothing came for long: is the device there, and was nothing lost? */
static void npu_sleeper_backstop(struct npu_context *ctx, struct npu_sleeper *sleeper)
{
	if (npu_wait_met(ctx, &sleeper->wait) >= 0 && !READ_ONCE(sleeper->wait.woken))
		atomic_inc(&ctx->ndev->lost_interrupts);
	npu_backstop_look(ctx->ndev, sleeper->wait.since);
}

static int npu_sleeper_check(struct npu_context *ctx, const struct npu_wait *wait,
			     ktime_t deadline)
{
	int ret = npu_wait_outcome(ctx, wait);

	if (ret != -EAGAIN)
		return ret;
	if (ktime_get() >= deadline)
		return -ETIME;
	/* The deadline is absolute, so the call can be made again as it is. */
	return signal_pending(current) ? -ERESTARTSYS : -EAGAIN;
}

static int npu_sleeper_sleep(struct npu_context *ctx, struct npu_sleeper *sleeper,
			     ktime_t deadline)
{
	ktime_t until;
	int ret;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		ret = npu_sleeper_check(ctx, &sleeper->wait, deadline);
		if (ret != -EAGAIN)
			break;
		until = min(deadline, ktime_add_ns(ktime_get(), NPU_BACKSTOP_NS));
		if (!schedule_hrtimeout(&until, HRTIMER_MODE_ABS) && until < deadline)
			npu_sleeper_backstop(ctx, sleeper);
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

static int npu_sleeper_run(struct npu_context *ctx, struct npu_sleeper *sleeper, ktime_t deadline)
{
	int ret, idx;

	ret = npu_sleeper_check(ctx, &sleeper->wait, deadline);
	if (ret != -EAGAIN)
		return ret;
	/* The sleep itself is outside, as its length is the program's choice. */
	ret = npu_device_enter(ctx->ndev, &idx);
	if (ret)
		return ret;
	spin_lock(&ctx->wait_lock);
	npu_wait_link(ctx, &sleeper->wait);
	spin_unlock(&ctx->wait_lock);
	trace_npu_wait_begin(ctx, &sleeper->wait, NPU_WAIT_SLEEP);
	npu_device_exit(ctx->ndev, idx);
	ret = npu_sleeper_sleep(ctx, sleeper, deadline);
	spin_lock(&ctx->wait_lock);
	npu_wait_unlink(ctx, &sleeper->wait);
	spin_unlock(&ctx->wait_lock);
	trace_npu_wait_end(ctx, &sleeper->wait, NPU_WAIT_SLEEP, ret);
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
	struct npu_sleeper *sleeper;
	struct npu_context *ctx;
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
	sleeper = kzalloc(struct_size(sleeper, wait.waiters, args->sems.count), GFP_KERNEL_ACCOUNT);
	if (!sleeper) {
		ret = -ENOMEM;
		goto put;
	}
	npu_wait_init(&sleeper->wait, args->sems.count, npu_sleeper_wake);
	sleeper->wait.all = args->flags & DRM_NPU_SEM_WAIT_ALL;
	sleeper->task = current;
	ret = npu_wait_copy(ctx, &sleeper->wait, &args->sems);
	if (!ret)
		ret = npu_sleeper_run(ctx, sleeper, ns_to_ktime(args->deadline_ns));
	if (ret > 0) {
		args->first = ret;
		ret = 0;
	}
	kfree(sleeper);
put:
	npu_context_put(ctx);
	return ret;
}
