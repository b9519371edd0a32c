// SPDX-License-Identifier: GPL-2.0-only
/*
 * The firmware's log. Firmware that has died cannot be asked any more, so what it says when a
 * context comes or something has gone wrong is read soon after, and its last part kept.
 */
#include <linux/jiffies.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "npu_device.h"

/* What tells of one thing tells of others a little later. */
#define NPU_LOG_DELAY		(HZ / 10)

/* Nobody is kept waiting for longer by text, nor by firmware that does not answer. */
#define NPU_LOG_PATIENCE	(HZ / 2)

/**
 * npu_log_ask() - the question for text
 * @message: filled
 * @at: number of the first byte wanted, counted since the firmware started
 */
void npu_log_ask(struct npu_message *message, u32 at)
{
	*message = (struct npu_message){ .kind = cpu_to_le16(NPU_MESSAGE_LOG_READ) };
	message->argument[0] = cpu_to_le32(at);
}

/**
 * npu_log_answer() - the answer to it
 * @message: its text is in the arguments from 2 on
 * @at: set to the number of the byte after the text
 *
 * Return: bytes of text, 0 at the end of the log; -EIO.
 */
int npu_log_answer(const struct npu_message *message, u32 *at)
{
	u32 bytes = le32_to_cpu(message->argument[1]);

	if (bytes > NPU_LOG_TEXT_MAX)
		return -EIO;
	*at = le32_to_cpu(message->argument[0]);
	return bytes;
}

static void npu_log_keep(struct npu_log *log, const char *text, u32 bytes)
{
	u32 i;

	lockdep_assert_held(&log->lock);
	for (i = 0; i < bytes; i++)
		log->text[log->kept++ % NPU_LOG_KEPT] = text[i];
}

/**
 * npu_log_follow() - read what the firmware has logged since the last time
 * @ndev: the caller is inside npu_device_enter(), and holds no lock
 *
 * What does not answer is left to those who have more patience.
 */
void npu_log_follow(struct npu_device *ndev)
{
	unsigned long end = jiffies + NPU_LOG_PATIENCE;
	struct npu_log *log = &ndev->log;
	struct npu_message message;
	int bytes;

	/* Whoever is at it reads what there is. */
	if (!mutex_trylock(&log->lock))
		return;
	do {
		npu_log_ask(&message, log->at);
		if (npu_mailbox_ask(ndev, &message, NPU_LOG_PATIENCE))
			break;
		bytes = npu_log_answer(&message, &log->at);
		if (bytes > 0)
			npu_log_keep(log, (const char *)&message.argument[2], bytes);
	} while (bytes > 0 && time_before(jiffies, end));
	mutex_unlock(&log->lock);
}

static void npu_log_work(struct work_struct *work)
{
	struct npu_device *ndev = container_of(to_delayed_work(work), struct npu_device, log.work);
	int idx;

	if (npu_device_enter_awake(ndev, &idx))
		return;
	npu_log_follow(ndev);
	npu_device_exit(ndev, idx);
}

/**
 * npu_log_follow_soon() - something happened, of which the firmware may say more
 * @ndev: the device; any lock may be held
 */
void npu_log_follow_soon(struct npu_device *ndev)
{
	queue_delayed_work(system_freezable_wq, &ndev->log.work, NPU_LOG_DELAY);
}

/**
 * npu_log_restart() - firmware starts, and counts from 0 on
 * @ndev: the device
 */
void npu_log_restart(struct npu_device *ndev)
{
	static const char mark[] = "\n-- the firmware started again --\n";
	struct npu_log *log = &ndev->log;
	bool whole;

	guard(mutex)(&log->lock);
	/* Nothing was read since the last time. */
	if (!log->at)
		return;
	whole = log->text[(log->kept - 1) % NPU_LOG_KEPT] == '\n';
	npu_log_keep(log, mark + whole, strlen(mark + whole));
	log->at = 0;
}

/**
 * npu_log_copy() - what was kept, the oldest first
 * @ndev: the device
 * @to: room for NPU_LOG_KEPT
 *
 * Return: bytes.
 */
u32 npu_log_copy(struct npu_device *ndev, char *to)
{
	struct npu_log *log = &ndev->log;
	u32 bytes, i;

	guard(mutex)(&log->lock);
	bytes = min_t(u32, log->kept, NPU_LOG_KEPT);
	for (i = 0; i < bytes; i++)
		to[i] = log->text[(log->kept - bytes + i) % NPU_LOG_KEPT];
	return bytes;
}

/**
 * npu_log_init() - nothing is kept yet
 * @ndev: the device; its lock is the caller's part
 */
void npu_log_init(struct npu_device *ndev)
{
	INIT_DELAYED_WORK(&ndev->log.work, npu_log_work);
}

/**
 * npu_log_end() - nothing is read any more
 * @ndev: unplugged
 */
void npu_log_end(struct npu_device *ndev)
{
	disable_delayed_work_sync(&ndev->log.work);
}
