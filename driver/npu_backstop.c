// SPDX-License-Identifier: GPL-2.0-only
/*
 * What should have come by interrupt is looked for once a second, by those who still wait; but not
 * while the whole system goes to sleep.
 */
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>

#include "npu_wait.h"

/* So long somebody waits before the firmware is asked whether it works, and so seldom it is. */
#define NPU_ASK_INTERVAL	(5 * HZ)

/* Whoever has waited for long may wait for the firmware: no answer is the end of it. */
static void npu_backstop_ask(struct work_struct *work)
{
	struct npu_device *ndev = container_of(work, struct npu_device, ask);
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_PING) };
	int idx;

	if (npu_device_enter_awake(ndev, &idx))
		return;
	/* What it said before it fell silent, if it has. */
	npu_log_follow(ndev);
	npu_mailbox_send(ndev, &message);
	npu_device_exit(ndev, idx);
}

/* Elsewhere, as an answer takes time. */
static void npu_backstop_ask_later(struct npu_device *ndev, unsigned long since)
{
	if (time_before(jiffies, since + NPU_ASK_INTERVAL) ||
	    time_before(jiffies, READ_ONCE(ndev->asked) + NPU_ASK_INTERVAL))
		return;
	WRITE_ONCE(ndev->asked, jiffies);
	queue_work(system_freezable_wq, &ndev->ask);
}

/**
 * npu_backstop_look() - nothing came for long: is the device there?
 * @ndev: the device
 * @since: when somebody began to wait, in jiffies
 *
 * One of many who wait is enough to look.
 */
void npu_backstop_look(struct npu_device *ndev, unsigned long since)
{
	int idx;

	if (time_before(jiffies, READ_ONCE(ndev->seen) + HZ / 2) ||
	    npu_device_enter_awake(ndev, &idx))
		return;
	WRITE_ONCE(ndev->seen, jiffies);
	atomic_inc(&ndev->looks);
	if (npu_read(ndev, NPU_REG_ID) != NPU_ID_VALUE) {
		npu_device_die(ndev, NPU_FAILURE_NO_ANSWER);
	} else {
		/* What one interrupt has not told, no other tells before the ring is looked at. */
		npu_irq_drain(ndev);
		npu_backstop_ask_later(ndev, since);
	}
	npu_device_exit(ndev, idx);
}

/* Tells whether anybody waits, and has @since be no later than when the first of them began. */
static bool npu_backstop_context(struct npu_context *ctx, unsigned long *since)
{
	struct npu_wait *wait;
	bool some = false;

	spin_lock(&ctx->wait_lock);
	list_for_each_entry(wait, &ctx->waits, link) {
		some = true;
		if (time_before(wait->since, *since))
			*since = wait->since;
		if (READ_ONCE(wait->woken) || npu_wait_outcome(ctx, wait) < 0)
			continue;
		/* The interrupt may be on its way. */
		if (!wait->late) {
			wait->late = true;
			continue;
		}
		atomic_inc(&ctx->ndev->lost_interrupts);
		npu_wait_wake(wait, 0);
	}
	spin_unlock(&ctx->wait_lock);
	return some;
}

static void npu_backstop_work(struct work_struct *work)
{
	struct npu_device *ndev = container_of(to_delayed_work(work), struct npu_device, backstop);
	struct npu_context *ctx;
	unsigned long since = jiffies;
	bool some = false;
	u32 index = 0;

	while ((ctx = npu_context_next(ndev, &index))) {
		some |= npu_backstop_context(ctx, &since);
		npu_context_put(ctx);
	}
	if (!some)
		return;
	npu_backstop_look(ndev, since);
	queue_delayed_work(system_freezable_wq, &ndev->backstop, HZ);
}

/**
 * npu_backstop_init() - nobody waits yet
 * @ndev: the device
 */
void npu_backstop_init(struct npu_device *ndev)
{
	INIT_DELAYED_WORK(&ndev->backstop, npu_backstop_work);
	INIT_WORK(&ndev->ask, npu_backstop_ask);
}

/**
 * npu_backstop_start() - somebody waits who does not look himself
 * @ndev: the caller is inside npu_device_enter()
 *
 * It ends by itself when nobody waits any more.
 */
void npu_backstop_start(struct npu_device *ndev)
{
	queue_delayed_work(system_freezable_wq, &ndev->backstop, HZ);
}

/**
 * npu_backstop_end() - nobody looks any more
 * @ndev: unplugged
 */
void npu_backstop_end(struct npu_device *ndev)
{
	cancel_delayed_work_sync(&ndev->backstop);
	cancel_work_sync(&ndev->ask);
}
