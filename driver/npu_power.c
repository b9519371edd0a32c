// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and resume. Queues are their programs' own, so nobody here knows whether the device has
 * work: it is asked. First the doorbells are taken out of the processes; whoever stores to one from
 * then on waits in npu_doorbell_fault() until the device is awake again, so no doorbell gets lost.
 * Then the firmware empties the slots, and the device is reset, which is what a loss of power does
 * to it. On the way back everything is made again: contexts, whose semaphores the device reads from
 * their areas, queues, at the packets where they stood, and watches.
 */
#include <linux/pm_runtime.h>

#include "npu_context.h"
#include "npu_trace.h"

/* What the system's suspend leaves tasks to end, in the device's time and in ours. */
#define NPU_PATIENCE_US		(2 * USEC_PER_SEC)
#define NPU_PATIENCE		(20 * HZ)

/* Without work for so long. */
#define NPU_AUTOSUSPEND_MS	1000

/* Nothing runs any more, and nothing begins. @patience_us: 0: only if nothing has begun. */
static int npu_power_quiesce(struct npu_device *ndev, u32 patience_us)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_SUSPEND) };

	message.argument[0] = cpu_to_le32(patience_us);
	return npu_mailbox_ask(ndev, &message, NPU_PATIENCE);
}

/* @quiet: the firmware can be asked. What it cannot tell is lost. */
static void npu_power_note_places(struct npu_device *ndev, bool quiet)
{
	u32 i;

	lockdep_assert_held(&ndev->hw_lock);
	for (i = 0; i < NPU_QUEUES_MAX; i++) {
		if (ndev->queues[i] && (!quiet || npu_queue_note_place(ndev->queues[i])))
			npu_queue_lose_place(ndev->queues[i]);
	}
}

/* Returns -EBUSY, only without patience, when the device has work. */
static int npu_power_down(struct npu_device *ndev, u32 patience_us)
{
	int ret;

	lockdep_assert_held(&ndev->hw_lock);
	ret = npu_power_quiesce(ndev, patience_us);
	if (ret && !patience_us && !npu_device_is_dead(ndev)) {
		ndev->suspends_refused++;
		return -EBUSY;
	}
	if (ret)
		drm_err(&ndev->drm, "the firmware does not get ready for a suspend (%d)\n", ret);
	npu_power_note_places(ndev, !ret);
	npu_irq_drain(ndev);
	npu_param_keep_counters(ndev);
	npu_device_halt(ndev);
	npu_irq_wait(ndev);
	ndev->asleep = true;
	ndev->suspends++;
	return 0;
}

static int npu_power_suspend(struct npu_device *ndev, u32 patience_us)
{
	int ret;

	if (npu_device_is_dead(ndev))
		return 0;
	npu_doorbell_close_all(ndev);
	mutex_lock(&ndev->hw_lock);
	ret = npu_power_down(ndev, patience_us);
	mutex_unlock(&ndev->hw_lock);
	if (ret)
		npu_doorbell_open_all(ndev);
	trace_npu_suspend(ndev, patience_us, ret);
	return ret;
}

static int npu_power_restore_context(struct npu_context *ctx)
{
	struct npu_queue *queue;
	unsigned long id;
	int ret;

	ret = npu_context_restore(ctx);
	if (ret)
		return ret;
	xa_for_each(&ctx->queues, id, queue) {
		ret = npu_queue_restore(queue);
		if (ret)
			return ret;
	}
	npu_semaphore_rearm(ctx);
	return 0;
}

static int npu_power_restore_contexts(struct npu_device *ndev)
{
	int ret = 0;
	u32 i;

	/* Who has a number keeps it while hw_lock is held. */
	for (i = 0; !ret && i < NPU_CONTEXTS_MAX; i++) {
		if (ndev->contexts[i])
			ret = npu_power_restore_context(ndev->contexts[i]);
	}
	return ret;
}

static int npu_power_up(struct npu_device *ndev)
{
	int ret;

	lockdep_assert_held(&ndev->hw_lock);
	if (npu_read(ndev, NPU_REG_ID) != NPU_ID_VALUE)
		return -ENODEV;
	/* Others may have been at work with it: what loads an image of the system, for one. */
	npu_device_halt(ndev);
	ndev->asleep = false;
	npu_pci_allow_dma(ndev, true);
	ret = npu_device_start(ndev);
	if (ret)
		return ret;
	return npu_power_restore_contexts(ndev);
}

/* Never fails for others: what does not come back is dead. */
static void npu_power_resume(struct npu_device *ndev)
{
	int ret;

	if (npu_device_is_dead(ndev))
		return;
	mutex_lock(&ndev->hw_lock);
	ret = npu_power_up(ndev);
	mutex_unlock(&ndev->hw_lock);
	if (ret)
		npu_device_die(ndev, NPU_FAILURE_RESUME);
	npu_doorbell_open_all(ndev);
	trace_npu_resume(ndev, ret);
}

static int npu_pm_runtime_suspend(struct device *dev)
{
	int ret = npu_power_suspend(dev_get_drvdata(dev), 0);

	/* Another try, later. */
	if (ret)
		pm_runtime_mark_last_busy(dev);
	return ret;
}

static int npu_pm_runtime_resume(struct device *dev)
{
	npu_power_resume(dev_get_drvdata(dev));
	return 0;
}

static int npu_pm_suspend(struct device *dev)
{
	struct npu_device *ndev = dev_get_drvdata(dev);

	flush_work(&ndev->reset_work);
	npu_power_suspend(ndev, NPU_PATIENCE_US);
	/* When it failed meanwhile and was reset, it is awake, and has nothing to do. */
	flush_work(&ndev->reset_work);
	if (!READ_ONCE(ndev->asleep))
		npu_power_suspend(ndev, NPU_PATIENCE_US);
	return 0;
}

static int npu_pm_resume(struct device *dev)
{
	npu_power_resume(dev_get_drvdata(dev));
	return 0;
}

const struct dev_pm_ops npu_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(npu_pm_suspend, npu_pm_resume)
	RUNTIME_PM_OPS(npu_pm_runtime_suspend, npu_pm_runtime_resume, NULL)
};

/**
 * npu_power_begin() - from now on the device may sleep while it has no work
 * @ndev: registered; whoever probed holds it awake until now
 *
 * On PCI it does so when power/control says "auto".
 */
void npu_power_begin(struct npu_device *ndev)
{
	struct device *dev = ndev->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, NPU_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
}

/**
 * npu_power_end() - the device does not sleep any more
 * @ndev: awake
 */
void npu_power_end(struct npu_device *ndev)
{
	pm_runtime_get_noresume(ndev->drm.dev);
	pm_runtime_dont_use_autosuspend(ndev->drm.dev);
}
