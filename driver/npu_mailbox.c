// SPDX-License-Identifier: GPL-2.0-only
/* Messages to and from the firmware. Authority: Documentation/hardware/firmware.rst. */
#include <linux/iopoll.h>
#include <linux/jiffies.h>

#include "npu_context.h"

#define NPU_MESSAGE_WORDS	(sizeof(struct npu_message) / sizeof(__le32))

/* A reply takes microseconds, or what a running task's end takes. */
#define NPU_REPLY_TIMEOUT	(10 * HZ)

static void npu_mailbox_write(struct npu_device *ndev, const struct npu_message *message)
{
	const __le32 *words = (const __le32 *)message;
	u32 i;

	for (i = 0; i < NPU_MESSAGE_WORDS; i++)
		npu_write(ndev, NPU_REG_MAILBOX_TO_FW + i * 4, le32_to_cpu(words[i]));
	npu_write(ndev, NPU_REG_MAILBOX_TO_FW_SEND, 1);
}

static void npu_mailbox_read(struct npu_device *ndev, struct npu_message *message)
{
	__le32 *words = (__le32 *)message;
	u32 i;

	for (i = 0; i < NPU_MESSAGE_WORDS; i++)
		words[i] = cpu_to_le32(npu_read(ndev, NPU_REG_MAILBOX_TO_HOST + i * 4));
}

static int npu_mailbox_status(u32 status)
{
	switch (status) {
	case NPU_ERROR_NONE:
		return 0;
	case NPU_ERROR_BAD_ARGUMENT:
		return -EINVAL;
	case NPU_ERROR_VERSION:
		return -EPROTO;
	case NPU_ERROR_BUSY:
		return -EBUSY;
	default:
		return -EIO;
	}
}

/* One that was given up may still be there; what is written then would be mixed with it. */
static int npu_mailbox_wait_free(struct npu_device *ndev, unsigned long timeout)
{
	u32 full;

	if (!ndev->given_up)
		return 0;
	return read_poll_timeout(npu_read, full, !full || npu_device_is_dead(ndev), 100,
				 jiffies_to_usecs(timeout), false, ndev,
				 NPU_REG_MAILBOX_TO_FW_SEND);
}

/* Returns 0 when nothing came. The interrupt that tells of the answer can be lost. */
static unsigned long npu_mailbox_await(struct npu_device *ndev, unsigned long timeout)
{
	unsigned long left;

	for (;;) {
		left = wait_for_completion_timeout(&ndev->mailbox_reply, min(timeout, HZ));
		if (left || timeout <= HZ)
			return left;
		timeout -= HZ;
		npu_mailbox_irq(ndev);
	}
}

/* Waits for the answer to @message, and puts it there. */
static int npu_mailbox_wait(struct npu_device *ndev, struct npu_message *message,
			    unsigned long timeout)
{
	unsigned long left;
	int ret = 0;

	left = npu_mailbox_await(ndev, timeout);
	/* A caller that has nothing of before may try again, after the reset. */
	if (npu_device_is_dead(ndev))
		return npu_dead_error(ndev);
	if (!left)
		return -ETIMEDOUT;
	spin_lock(&ndev->reply_lock);
	/* Nobody has answered when a reset came between, or it is not the answer to this. */
	if (ndev->sequence || ndev->reply.kind != message->kind)
		ret = -EIO;
	*message = ndev->reply;
	spin_unlock(&ndev->reply_lock);
	return ret ?: npu_mailbox_status(le32_to_cpu(message->status));
}

/**
 * npu_mailbox_ask() - send a message and wait for the answer
 * @ndev: the caller is inside npu_device_enter(), or sees to it that the device works
 * @message: kind and arguments; replaced by the answer
 * @timeout: jiffies
 *
 * Return: 0; -EINVAL (the firmware refuses an argument), -EPROTO (the version), -EBUSY, -EIO (the
 * message, it answers nonsense, or the device is reset just now), -ENODEV (the device is dead),
 * -ETIMEDOUT.
 */
int npu_mailbox_ask(struct npu_device *ndev, struct npu_message *message, unsigned long timeout)
{
	int ret;

	mutex_lock(&ndev->mailbox_lock);
	/* 0 is the firmware's own. */
	if (!++ndev->last_sequence)
		ndev->last_sequence = 1;
	message->sequence = cpu_to_le16(ndev->last_sequence);
	spin_lock(&ndev->reply_lock);
	ndev->sequence = ndev->last_sequence;
	reinit_completion(&ndev->mailbox_reply);
	spin_unlock(&ndev->reply_lock);
	/* Whoever declares the device dead does so before it completes everybody. */
	smp_mb();
	ret = npu_mailbox_wait_free(ndev, timeout);
	if (npu_device_is_dead(ndev))
		ret = npu_dead_error(ndev);
	if (!ret) {
		npu_mailbox_write(ndev, message);
		ret = npu_mailbox_wait(ndev, message, timeout);
	}
	ndev->given_up = ret == -ETIMEDOUT;
	spin_lock(&ndev->reply_lock);
	ndev->sequence = 0;
	spin_unlock(&ndev->reply_lock);
	mutex_unlock(&ndev->mailbox_lock);
	return ret;
}

/**
 * npu_mailbox_send() - the same, of what takes no time
 * @ndev: as above; dead when it does not answer
 * @message: kind and arguments; replaced by the answer
 *
 * Return: as above, but for -ETIMEDOUT.
 */
int npu_mailbox_send(struct npu_device *ndev, struct npu_message *message)
{
	int ret = npu_mailbox_ask(ndev, message, NPU_REPLY_TIMEOUT);

	if (ret != -ETIMEDOUT)
		return ret;
	npu_device_die(ndev, NPU_FAILURE_SILENCE);
	return npu_dead_error(ndev);
}

/**
 * npu_mailbox_cancel() - no answer will come any more
 * @ndev: dead
 */
void npu_mailbox_cancel(struct npu_device *ndev)
{
	spin_lock(&ndev->reply_lock);
	complete_all(&ndev->mailbox_reply);
	spin_unlock(&ndev->reply_lock);
}

/**
 * npu_mailbox_hello() - agree with the firmware on a version
 * @ndev: booted, interrupts are on
 *
 * Return: 0 or a negative errno.
 */
int npu_mailbox_hello(struct npu_device *ndev)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_HELLO) };
	int ret;

	message.argument[0] = cpu_to_le32(NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR);
	ret = npu_mailbox_send(ndev, &message);
	if (ret == -EPROTO)
		return dev_err_probe(ndev->drm.dev, ret,
				     "the firmware serves mailboxes %u to %u, not %u\n",
				     le32_to_cpu(message.argument[1]),
				     le32_to_cpu(message.argument[0]) >> 16, NPU_MAILBOX_ABI_MAJOR);
	if (ret)
		return dev_err_probe(ndev->drm.dev, ret, "the firmware does not say hello\n");
	ndev->firmware_abi = le32_to_cpu(message.argument[0]);
	return 0;
}

static void npu_mailbox_event(struct npu_device *ndev, const struct npu_message *message)
{
	switch (le16_to_cpu(message->kind)) {
	case NPU_MESSAGE_ERROR_EVENT:
		npu_queue_stopped(ndev, le32_to_cpu(message->argument[1]),
				  le32_to_cpu(message->argument[0]),
				  le32_to_cpu(message->argument[2]));
		break;
	case NPU_MESSAGE_PANIC:
		drm_err(&ndev->drm, "firmware panic %u: mcause %#x, mepc %#x, mtval %#x\n",
			le32_to_cpu(message->argument[0]), le32_to_cpu(message->argument[1]),
			le32_to_cpu(message->argument[2]), le32_to_cpu(message->argument[3]));
		npu_device_die(ndev, NPU_FAILURE_PANIC);
		break;
	default:
		/* A newer firmware may tell more than this driver knows. */
		drm_dbg(&ndev->drm, "message of unknown kind %u\n", le16_to_cpu(message->kind));
		break;
	}
}

/**
 * npu_mailbox_irq() - take what the firmware wrote
 * @ndev: the device
 */
void npu_mailbox_irq(struct npu_device *ndev)
{
	struct npu_message message;

	mutex_lock(&ndev->take_lock);
	/* A device that is gone answers all ones, for ever. */
	while (!npu_device_is_dead(ndev) && npu_read(ndev, NPU_REG_MAILBOX_TO_HOST_SEND) == 1) {
		npu_mailbox_read(ndev, &message);
		npu_write(ndev, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
		if (!message.sequence) {
			npu_mailbox_event(ndev, &message);
			continue;
		}
		spin_lock(&ndev->reply_lock);
		if (le16_to_cpu(message.sequence) == ndev->sequence) {
			ndev->sequence = 0;
			ndev->reply = message;
			complete(&ndev->mailbox_reply);
		}
		spin_unlock(&ndev->reply_lock);
	}
	mutex_unlock(&ndev->take_lock);
}
