// SPDX-License-Identifier: GPL-2.0-only
/* For people who look for a fault: firmware log, what interrupts should have told, sleep. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>

#include "npu_account.h"
#include "npu_context.h"

/* Text from @at on, which is set to where it ends. Returns its bytes, 0 at the end of the log. */
static int npu_log_next(struct npu_device *ndev, struct npu_message *message, u32 *at)
{
	int ret, idx;

	npu_log_ask(message, *at);
	ret = npu_device_enter(ndev, &idx);
	if (ret)
		return ret;
	ret = npu_mailbox_send(ndev, message);
	npu_device_exit(ndev, idx);
	return ret ?: npu_log_answer(message, at);
}

/* The file's position is the number of a byte since the firmware began. */
static ssize_t npu_log_read(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	struct npu_message message;
	u32 at = *position;
	size_t done = 0;
	int ret = 0;

	if (bytes < NPU_LOG_TEXT_MAX)
		return -EINVAL;
	while (bytes - done >= NPU_LOG_TEXT_MAX && !signal_pending(current)) {
		ret = npu_log_next(file->private_data, &message, &at);
		if (ret <= 0)
			break;
		if (copy_to_user(to + done, &message.argument[2], ret)) {
			ret = -EFAULT;
			break;
		}
		done += ret;
		*position = at;
	}
	if (!done && ret >= 0 && signal_pending(current))
		return -EINTR;
	return done ?: ret;
}

static const struct file_operations npu_log_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = npu_log_read,
	.llseek = default_llseek,
};

static int npu_accounts_show(struct seq_file *to, void *unused)
{
	npu_account_show(to->private, to);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(npu_accounts);

static int npu_queues_show(struct seq_file *to, void *unused)
{
	struct npu_device *ndev = to->private;
	const struct npu_queue *queue;
	u32 i;

	spin_lock(&ndev->contexts_lock);
	for (i = 0; i < NPU_QUEUES_MAX; i++) {
		queue = ndev->queues[i];
		if (!queue)
			continue;
		seq_printf(to, "queue %u context=%u number=%u pid=%d priority=%u", i,
			   queue->ctx->index, queue->id, queue->ctx->account->pid,
			   queue->setup.priority);
		seq_printf(to, " ring=0x%llx packets=%u error=%u\n", queue->setup.ring,
			   1u << queue->setup.ring_log2, queue->error);
	}
	spin_unlock(&ndev->contexts_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(npu_queues);

static void npu_context_show(struct seq_file *to, struct npu_context *ctx)
{
	u32 state, faults;

	spin_lock(&ctx->wait_lock);
	state = npu_context_state(ctx);
	faults = ctx->faults;
	spin_unlock(&ctx->wait_lock);
	seq_printf(to, "context %u number=%u pid=%d state=%u faults=%u\n", ctx->index, ctx->id,
		   ctx->account->pid, state, faults);
	npu_bind_show(&ctx->vm, to);
}

static int npu_contexts_show(struct seq_file *to, void *unused)
{
	struct npu_device *ndev = to->private;
	struct npu_context *ctx;
	u32 index = 0;

	while ((ctx = npu_context_next(ndev, &index))) {
		npu_context_show(to, ctx);
		npu_context_put(ctx);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(npu_contexts);

/**
 * npu_debugfs_init() - make the files
 * @ndev: registered; they go with its folder
 */
void npu_debugfs_init(struct npu_device *ndev)
{
	struct dentry *folder = ndev->drm.debugfs_root;

	debugfs_create_file("accounts", 0400, folder, ndev, &npu_accounts_fops);
	debugfs_create_file("contexts", 0400, folder, ndev, &npu_contexts_fops);
	debugfs_create_file("queues", 0400, folder, ndev, &npu_queues_fops);
	debugfs_create_file("firmware_log", 0400, folder, ndev, &npu_log_fops);
	debugfs_create_atomic_t("backstop_looks", 0400, folder, &ndev->looks);
	debugfs_create_atomic_t("lost_interrupts", 0400, folder, &ndev->lost_interrupts);
	debugfs_create_atomic_t("resets", 0400, folder, &ndev->resets);
	debugfs_create_u64("suspends", 0400, folder, &ndev->suspends);
	debugfs_create_u64("suspends_refused", 0400, folder, &ndev->suspends_refused);
}
