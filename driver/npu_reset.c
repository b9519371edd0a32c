// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a device that cannot be worked with any more. It is stopped at once, by whoever
 * finds out and under whatever locks, so that memory can be reused. A worker then ends all its
 * contexts, which are innocent, and starts it again, a few times if need be. What does not start
 * again is dead until the driver is bound again.
 */
#include <linux/kobject.h>
#include <linux/pm_runtime.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_context.h"
#include "npu_trace.h"

/* Firmware may die in the midst of a start, too. */
#define NPU_RESET_STARTS	3

/* Longer than starts that fail take. */
#define NPU_RESET_PATIENCE	(60 * HZ)

/* drm_dev_wedged_event() knows primary nodes only. */
static void npu_reset_tell(struct npu_device *ndev, const char *recovery)
{
	char wedged[32];
	char *environment[2] = { wedged };

	snprintf(wedged, sizeof(wedged), "WEDGED=%s", recovery);
	kobject_uevent_env(&ndev->drm.accel->kdev->kobj, KOBJ_CHANGE, environment);
}

/* Returns whether it is to be reset. */
static bool npu_reset_decide(struct npu_device *ndev, enum npu_failure failure)
{
	bool there = npu_read(ndev, NPU_REG_ID) == NPU_ID_VALUE;
	bool again;

	lockdep_assert_held(&ndev->stop_lock);
	/* Whether it answers is known when its bus is done. */
	again = ndev->recoverable && ndev->reset_starts < NPU_RESET_STARTS &&
		(ndev->reset_held || there);
	if (again) {
		ndev->reset_starts++;
		WRITE_ONCE(ndev->resetting, true);
	} else {
		ndev->recoverable = false;
	}
	/* Who sees that it is dead sees whether there is something to wait for. */
	smp_wmb();
	WRITE_ONCE(ndev->dead, true);
	npu_coredump_look(ndev, there, again, failure);
	/* One that is reset is told of when that is over. */
	if (!again) {
		WRITE_ONCE(ndev->failure, failure);
		npu_devlink_failed(ndev, failure);
	}
	if (there) {
		npu_param_keep_counters(ndev);
		npu_hwmon_look(ndev);
	}
	return again;
}

/* Nothing reaches its memory when this returns. False when somebody has found out before. */
static bool npu_reset_begin(struct npu_device *ndev, enum npu_failure failure, bool *again)
{
	bool first;

	mutex_lock(&ndev->stop_lock);
	first = !ndev->dead;
	if (first)
		*again = npu_reset_decide(ndev, failure);
	npu_device_stop_locked(ndev);
	mutex_unlock(&ndev->stop_lock);
	return first;
}

/* Whoever waits for it is told. */
static void npu_reset_give_up(struct npu_device *ndev, int error)
{
	npu_device_wake_all(ndev, error);
	npu_doorbell_revoke_all(ndev);
}

static void npu_reset_queue(struct npu_device *ndev)
{
	mutex_lock(&ndev->stop_lock);
	if (!ndev->reset_held)
		schedule_work(&ndev->reset_work);
	mutex_unlock(&ndev->stop_lock);
}

/* False: the device has failed once more, and is started once more. */
static bool npu_reset_over(struct npu_device *ndev)
{
	bool over;

	mutex_lock(&ndev->stop_lock);
	over = !ndev->dead || !ndev->recoverable;
	if (over) {
		ndev->reset_starts = 0;
		/* Who sees that it is over sees what has become of the device. */
		smp_store_release(&ndev->resetting, false);
	}
	mutex_unlock(&ndev->stop_lock);
	if (over)
		wake_up_all(&ndev->reset_done);
	return over;
}

/**
 * npu_device_die() - the device cannot be worked with any more
 * @ndev: the device
 * @failure: why
 *
 * Stops it, and tells everybody; it is reset, unless that was in vain, some times, or it does not
 * even answer.
 * Its memory may be reused afterwards. May be called under any lock that may be held while
 * sleeping, but doorbell_lock, counter_lock and stop_lock.
 */
void npu_device_die(struct npu_device *ndev, enum npu_failure failure)
{
	const char *why = npu_failure_text(failure);
	bool again;

	if (!npu_reset_begin(ndev, failure, &again))
		return;
	WRITE_ONCE(ndev->failure, failure);
	trace_npu_reset(ndev, again ? NPU_RESET_BEGIN : NPU_RESET_DEAD, why);
	if (again)
		drm_warn(&ndev->drm, "%s; it is reset\n", why);
	else
		drm_err(&ndev->drm, "%s; it is stopped until the driver is bound again\n", why);
	npu_reset_give_up(ndev, again ? -EIO : -ENODEV);
	if (again)
		npu_reset_queue(ndev);
	else if (ndev->drm.registered)
		npu_reset_tell(ndev, "rebind");
}

/**
 * npu_reset_end() - the device is not to be started again, whatever happens
 * @ndev: the driver goes, or the system goes down
 *
 * Return: false when it was dead already.
 */
bool npu_reset_end(struct npu_device *ndev)
{
	bool first;

	mutex_lock(&ndev->stop_lock);
	ndev->recoverable = false;
	first = !ndev->dead;
	WRITE_ONCE(ndev->dead, true);
	mutex_unlock(&ndev->stop_lock);
	return first;
}

/* The device has forgotten them; what is left of them is memory. */
static void npu_reset_contexts(struct npu_device *ndev)
{
	struct npu_context *ctx;
	u32 index = 0;

	while ((ctx = npu_context_next(ndev, &index))) {
		npu_semaphore_fail(ctx, -EIO, DRM_NPU_CTX_INNOCENT);
		npu_context_shut(ctx);
		npu_context_put(ctx);
	}
}

static bool npu_reset_revive(struct npu_device *ndev)
{
	bool revive;

	mutex_lock(&ndev->stop_lock);
	revive = ndev->recoverable;
	if (revive) {
		ndev->stopped = false;
		WRITE_ONCE(ndev->dead, false);
	}
	mutex_unlock(&ndev->stop_lock);
	return revive;
}

static int npu_reset_start(struct npu_device *ndev)
{
	int ret = -ENODEV;

	mutex_lock(&ndev->hw_lock);
	if (npu_reset_revive(ndev)) {
		trace_npu_reset(ndev, NPU_RESET_START, npu_failure_text(ndev->failure));
		npu_pci_allow_dma(ndev, true);
		ndev->asleep = false;
		ret = npu_device_start(ndev);
	}
	mutex_unlock(&ndev->hw_lock);
	if (ret)
		npu_device_die(ndev, NPU_FAILURE_RESTART);
	npu_doorbell_open_all(ndev);
	return ret;
}

static void npu_reset_asleep(struct npu_device *ndev)
{
	const char *why = npu_failure_text(NPU_FAILURE_WAKE);

	npu_reset_end(ndev);
	WRITE_ONCE(ndev->failure, NPU_FAILURE_WAKE);
	trace_npu_reset(ndev, NPU_RESET_DEAD, why);
	npu_devlink_failed(ndev, NPU_FAILURE_WAKE);
	drm_err(&ndev->drm, "%s; it is stopped until the driver is bound again\n", why);
	npu_reset_tell(ndev, "rebind");
}

/* Returns whether it works. */
static bool npu_reset_run(struct npu_device *ndev)
{
	struct device *dev = ndev->drm.dev;
	bool works;

	/* Interrupts from before must not be taken for those of after. */
	npu_irq_wait(ndev);
	/* Of contexts that are still there. */
	npu_coredump_make(ndev);
	npu_reset_contexts(ndev);
	if (pm_runtime_resume_and_get(dev) < 0) {
		npu_reset_asleep(ndev);
		return false;
	}
	works = !npu_reset_start(ndev);
	if (works)
		atomic_inc(&ndev->resets);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
	return works;
}

static void npu_reset_work(struct work_struct *work)
{
	struct npu_device *ndev = container_of(work, struct npu_device, reset_work);
	bool works;
	int idx;

	if (!drm_dev_enter(&ndev->drm, &idx)) {
		npu_reset_over(ndev);
		return;
	}
	WRITE_ONCE(ndev->reset_task, current);
	works = npu_reset_run(ndev);
	WRITE_ONCE(ndev->reset_task, NULL);
	if (npu_reset_over(ndev) && works) {
		trace_npu_reset(ndev, NPU_RESET_WORKS, npu_failure_text(ndev->failure));
		drm_info(&ndev->drm, "the device works again after a reset\n");
		npu_reset_tell(ndev, "none");
		npu_devlink_failed(ndev, ndev->failure);
	}
	drm_dev_exit(idx);
}

/**
 * npu_reset_cancel() - whoever waits for a reset waits no more
 * @ndev: after npu_reset_end()
 */
void npu_reset_cancel(struct npu_device *ndev)
{
	cancel_work_sync(&ndev->reset_work);
	npu_reset_over(ndev);
}

/**
 * npu_reset_init() - the device is not dead yet
 * @ndev: the device
 */
void npu_reset_init(struct npu_device *ndev)
{
	INIT_WORK(&ndev->reset_work, npu_reset_work);
	init_waitqueue_head(&ndev->reset_done);
}

/**
 * npu_reset_wait() - wait while the device is reset
 * @ndev: the device; no lock that a reset takes is held
 *
 * Not for longer than a reset takes, and not by the one who resets it.
 *
 * Return: whether it may work now.
 */
bool npu_reset_wait(struct npu_device *ndev)
{
	if (READ_ONCE(ndev->reset_task) == current || npu_device_is_gone(ndev))
		return false;
	/* Also when the reset was over before anybody could wait for it. */
	return wait_event_killable_timeout(ndev->reset_done, !READ_ONCE(ndev->resetting),
					   NPU_RESET_PATIENCE) > 0;
}

/* --------------------------------------------------------------- while a bus is at it */

static void npu_reset_set_held(struct npu_device *ndev, bool held)
{
	mutex_lock(&ndev->stop_lock);
	ndev->reset_held = held;
	mutex_unlock(&ndev->stop_lock);
}

/**
 * npu_reset_hold() - nobody talks to the device until its bus is done with it
 * @ndev: the device
 * @failure: why
 */
void npu_reset_hold(struct npu_device *ndev, enum npu_failure failure)
{
	npu_reset_set_held(ndev, true);
	flush_work(&ndev->reset_work);
	npu_device_die(ndev, failure);
}

/**
 * npu_reset_release() - the bus is done; the device is started again, if it can be
 * @ndev: after npu_reset_hold()
 */
void npu_reset_release(struct npu_device *ndev)
{
	npu_reset_set_held(ndev, false);
	if (READ_ONCE(ndev->resetting))
		npu_reset_queue(ndev);
	flush_work(&ndev->reset_work);
}

/**
 * npu_reset_never() - the bus has lost the device for good
 * @ndev: the device
 */
void npu_reset_never(struct npu_device *ndev)
{
	npu_reset_end(ndev);
	npu_reset_give_up(ndev, -ENODEV);
	npu_reset_cancel(ndev);
	/* One that was to be made by the reset. */
	npu_coredump_make(ndev);
	if (!READ_ONCE(ndev->failure))
		WRITE_ONCE(ndev->failure, NPU_FAILURE_BUS_LOST);
	npu_devlink_failed(ndev, ndev->failure);
}

/* -------------------------------------------------------------------------------- sysfs */

static ssize_t npu_state_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);
	const char *state = "working";

	if (npu_device_is_gone(ndev))
		state = "dead";
	else if (READ_ONCE(ndev->resetting))
		state = "resetting";
	return sysfs_emit(text, "%s\n", state);
}
static DEVICE_ATTR_RO(npu_state);

static ssize_t npu_resets_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(text, "%d\n", atomic_read(&ndev->resets));
}
static DEVICE_ATTR_RO(npu_resets);

static ssize_t npu_reset_reason_show(struct device *dev, struct device_attribute *attr,
				     char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);
	enum npu_failure failure = READ_ONCE(ndev->failure);

	return sysfs_emit(text, "%s\n", failure ? npu_failure_text(failure) : "");
}
static DEVICE_ATTR_RO(npu_reset_reason);

/**
 * npu_reset_by_request() - somebody wants the device to be reset
 * @ndev: the device; no lock that a reset takes is held
 *
 * Return: 0 when it works again; -ENODEV (it does not, or was dead before), -EIO.
 */
int npu_reset_by_request(struct npu_device *ndev)
{
	int ret, idx;

	ret = npu_device_enter(ndev, &idx);
	if (ret)
		return ret;
	/* Who has the mailbox may wait for firmware that does not answer any more. */
	if (!mutex_is_locked(&ndev->mailbox_lock))
		npu_log_follow(ndev);
	npu_device_die(ndev, NPU_FAILURE_REQUEST);
	npu_device_exit(ndev, idx);
	/* A bus may be at it, too. */
	npu_reset_wait(ndev);
	if (npu_device_is_gone(ndev))
		return -ENODEV;
	return npu_device_is_dead(ndev) ? -EIO : 0;
}

/* Anything that is written resets the device, and the write ends when it works again. */
static ssize_t npu_reset_store(struct device *dev, struct device_attribute *attr,
			       const char *text, size_t bytes)
{
	return npu_reset_by_request(dev_get_drvdata(dev)) ?: bytes;
}
static DEVICE_ATTR_WO(npu_reset);

static struct attribute *npu_reset_attrs[] = {
	&dev_attr_npu_state.attr,
	&dev_attr_npu_resets.attr,
	&dev_attr_npu_reset_reason.attr,
	&dev_attr_npu_reset.attr,
	NULL
};

const struct attribute_group npu_reset_group = {
	.attrs = npu_reset_attrs,
};
