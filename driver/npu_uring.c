// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for semaphores by io_uring.
 *
 * Whoever is first to know that a wait ends (the device's event, the time-out, the program's
 * cancellation, the end of process or ring, the end of context or device) hands the command back to
 * io_uring, and npu_uring_finish() tidies up in the submitter's context. Nothing here asks who is
 * running: a command may be issued and finished by threads of io_uring's.
 */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_compat.h"
#include "npu_trace.h"
#include "npu_wait.h"

/**
 * struct npu_uring_wait - a wait that a command stands for
 * @ref: by the command, and by who issues it
 * @cmd: the command
 * @ctx: with a reference
 * @timer: the time-out
 * @ended: somebody has handed the command back
 * @finished: it is too late to be linked; under the context's wait_lock
 * @result: of the first who ended it
 * @wait: what for
 */
struct npu_uring_wait {
	struct kref ref;
	struct io_uring_cmd *cmd;
	struct npu_context *ctx;
	struct hrtimer timer;
	bool ended;
	bool finished;
	int result;
	struct npu_wait wait;
};

/* What io_uring keeps of ours with a command. */
struct npu_uring_data {
	struct npu_uring_wait *uwait;
};

static void npu_uring_free(struct kref *ref)
{
	struct npu_uring_wait *uwait = container_of(ref, struct npu_uring_wait, ref);

	npu_context_put(uwait->ctx);
	kfree(uwait);
}

static struct npu_uring_wait *npu_uring_of(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, struct npu_uring_data)->uwait;
}

/* ------------------------------------------------------------------------ the end of a wait */

static void npu_uring_finish(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct npu_uring_wait *uwait = npu_uring_of(cmd);
	struct npu_context *ctx = uwait->ctx;
	int result = uwait->result;

	spin_lock(&ctx->wait_lock);
	uwait->finished = true;
	npu_wait_unlink(ctx, &uwait->wait);
	/* What is met counts before anything else. */
	if (npu_wait_outcome(ctx, &uwait->wait) >= 0)
		result = 0;
	spin_unlock(&ctx->wait_lock);
	trace_npu_wait_end(ctx, &uwait->wait, NPU_WAIT_URING, result);
	hrtimer_cancel(&uwait->timer);
	npu_account_give(ctx->account, NPU_QUOTA_WAITS, 1);
	npu_uring_done(cmd, result, issue_flags);
	kref_put(&uwait->ref, npu_uring_free);
}

NPU_URING_TASK_WORK(npu_uring_finish_work, npu_uring_finish)

/* By anybody, in any context. Tells whether nobody was before. */
static bool npu_uring_end(struct npu_uring_wait *uwait, int result)
{
	if (xchg(&uwait->ended, true))
		return false;
	uwait->result = result;
	io_uring_cmd_do_in_task_lazy(uwait->cmd, npu_uring_finish_work);
	return true;
}

static void npu_uring_wake(struct npu_wait *wait, int result)
{
	npu_uring_end(container_of(wait, struct npu_uring_wait, wait), result);
}

static enum hrtimer_restart npu_uring_time_out(struct hrtimer *timer)
{
	npu_uring_end(container_of(timer, struct npu_uring_wait, timer), -ETIME);
	return HRTIMER_NORESTART;
}

/* ------------------------------------------------------------------------------ NPU_URING_WAIT */

static struct npu_uring_wait *npu_uring_new(struct io_uring_cmd *cmd, struct npu_context *ctx,
					    const struct drm_npu_uring_wait *args)
{
	struct npu_uring_wait *uwait;

	uwait = kzalloc(struct_size(uwait, wait.waiters, 1), GFP_KERNEL_ACCOUNT);
	if (!uwait)
		return NULL;
	kref_init(&uwait->ref);
	uwait->cmd = cmd;
	uwait->ctx = ctx;
	npu_hrtimer_setup(&uwait->timer, npu_uring_time_out, HRTIMER_MODE_REL);
	npu_wait_init(&uwait->wait, 1, npu_uring_wake);
	uwait->wait.waiters[0].sem = args->sem;
	uwait->wait.waiters[0].node.value = args->value;
	return uwait;
}

/* The device is asked to tell. Others may end the wait at any moment, also before. */
static void npu_uring_link(struct npu_uring_wait *uwait, u32 timeout_us)
{
	struct npu_context *ctx = uwait->ctx;
	int ret, idx;

	ret = npu_device_enter(ctx->ndev, &idx);
	if (ret) {
		npu_uring_end(uwait, ret);
		return;
	}
	spin_lock(&ctx->wait_lock);
	if (!uwait->finished) {
		npu_wait_link(ctx, &uwait->wait);
		if (timeout_us != U32_MAX)
			hrtimer_start(&uwait->timer,
				      ns_to_ktime((u64)timeout_us * NSEC_PER_USEC),
				      HRTIMER_MODE_REL);
		ret = npu_wait_outcome(ctx, &uwait->wait);
		if (ret != -EAGAIN)
			npu_wait_wake(&uwait->wait, ret);
	}
	spin_unlock(&ctx->wait_lock);
	npu_backstop_start(ctx->ndev);
	npu_device_exit(ctx->ndev, idx);
}

static int npu_uring_begin(struct io_uring_cmd *cmd, struct npu_uring_wait *uwait, u32 timeout_us,
			   unsigned int issue_flags)
{
	int ret = npu_wait_outcome(uwait->ctx, &uwait->wait);

	if (ret == -EAGAIN && !timeout_us)
		ret = -ETIME;
	if (ret != -EAGAIN)
		return ret;
	ret = npu_account_take(uwait->ctx->account, NPU_QUOTA_WAITS, 1);
	if (ret)
		return ret;
	io_uring_cmd_to_pdu(cmd, struct npu_uring_data)->uwait = uwait;
	kref_get(&uwait->ref);
	trace_npu_wait_begin(uwait->ctx, &uwait->wait, NPU_WAIT_URING);
	/* From here on it ends by npu_uring_finish() only. */
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	npu_uring_link(uwait, timeout_us);
	return -EIOCBQUEUED;
}

static int npu_uring_wait(struct io_uring_cmd *cmd, struct npu_file *file, unsigned int issue_flags)
{
	const struct drm_npu_uring_wait *shared = (const void *)cmd->sqe->cmd;
	/* The program may still write to what the kernel reads. */
	const struct drm_npu_uring_wait args = {
		.ctx = READ_ONCE(shared->ctx),
		.sem = READ_ONCE(shared->sem),
		.timeout_us = READ_ONCE(shared->timeout_us),
		.value = READ_ONCE(shared->value),
	};
	struct npu_uring_wait *uwait;
	struct npu_context *ctx;
	int ret;

	ctx = npu_context_get(file, args.ctx);
	if (!ctx)
		return -ENOENT;
	if (args.sem >= ctx->ndev->caps.semaphores) {
		npu_context_put(ctx);
		return -EINVAL;
	}
	uwait = npu_uring_new(cmd, ctx, &args);
	if (!uwait) {
		npu_context_put(ctx);
		return -ENOMEM;
	}
	ret = npu_uring_begin(cmd, uwait, args.timeout_us, issue_flags);
	kref_put(&uwait->ref, npu_uring_free);
	return ret;
}

/* ---------------------------------------------------------------------------- NPU_URING_CANCEL */

static bool npu_uring_is(struct npu_uring_wait *uwait, struct io_uring_cmd *cmd, u64 user_data)
{
	struct io_kiocb *waiting = cmd_to_io_kiocb(uwait->cmd);

	return waiting->ctx == cmd_to_io_kiocb(cmd)->ctx && waiting->cqe.user_data == user_data;
}

static int npu_uring_cancel_in(struct npu_context *ctx, struct io_uring_cmd *cmd, u64 user_data)
{
	struct npu_uring_wait *uwait;
	struct npu_wait *wait;
	int count = 0;

	spin_lock(&ctx->wait_lock);
	list_for_each_entry(wait, &ctx->waits, link) {
		if (wait->wake != npu_uring_wake)
			continue;
		/* What is linked is not done, however far it is. */
		uwait = container_of(wait, struct npu_uring_wait, wait);
		if (npu_uring_is(uwait, cmd, user_data) && npu_uring_end(uwait, -ECANCELED))
			count++;
	}
	spin_unlock(&ctx->wait_lock);
	return count;
}

static int npu_uring_cancel(struct io_uring_cmd *cmd, struct npu_file *file)
{
	const struct drm_npu_uring_cancel *shared = (const void *)cmd->sqe->cmd;
	u64 user_data = READ_ONCE(shared->user_data);
	struct npu_context *ctx, *held;
	unsigned long id;
	int count = 0;

	if (READ_ONCE(shared->pad))
		return -EINVAL;
	xa_for_each(&file->contexts, id, ctx) {
		held = npu_context_get(file, id);
		if (!held)
			continue;
		count += npu_uring_cancel_in(held, cmd, user_data);
		npu_context_put(held);
	}
	return count ?: -ENOENT;
}

/* What no command of ours has a use for. */
static bool npu_uring_is_plain(struct io_uring_cmd *cmd)
{
	const struct io_uring_sqe *sqe = cmd->sqe;

	return !READ_ONCE(sqe->ioprio) && !READ_ONCE(sqe->addr) && !READ_ONCE(sqe->len) &&
	       !READ_ONCE(sqe->uring_cmd_flags);
}

/**
 * npu_uring_cmd() - a command of io_uring's
 * @cmd: the command
 * @issue_flags: io_uring's, handed on
 *
 * Return: what the program gets; -EIOCBQUEUED when that comes later.
 */
int npu_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct drm_file *drm_file = cmd->file->private_data;
	struct npu_file *file = drm_file->driver_priv;

	if (issue_flags & IO_URING_F_CANCEL) {
		npu_uring_end(npu_uring_of(cmd), -ECANCELED);
		return 0;
	}
	if (!npu_uring_is_plain(cmd))
		return -EINVAL;
	switch (cmd->cmd_op) {
	case DRM_NPU_URING_OP_WAIT:
		return npu_uring_wait(cmd, file, issue_flags);
	case DRM_NPU_URING_OP_CANCEL:
		return npu_uring_cancel(cmd, file);
	default:
		return -EINVAL;
	}
}
