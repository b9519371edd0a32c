// SPDX-License-Identifier: GPL-2.0-only
/* The module, its DRM driver, and the life of a device. */
#include <linux/compat.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/uaccess.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>
#include <drm/npu_accel.h>

#include "npu_compat.h"
#include "npu_gem.h"
#include "npu_wait.h"

#define NPU_IOCTL(name, function) \
	DRM_IOCTL_DEF_DRV(NPU_##name, function, 0)

static const struct drm_ioctl_desc npu_ioctls[] = {
	NPU_IOCTL(GET_PARAM, npu_param_ioctl),
	NPU_IOCTL(GEM_CREATE, npu_gem_create_ioctl),
	NPU_IOCTL(GEM_INFO, npu_gem_info_ioctl),
	NPU_IOCTL(CTX_CREATE, npu_context_create_ioctl),
	NPU_IOCTL(CTX_DESTROY, npu_context_destroy_ioctl),
	NPU_IOCTL(CTX_STATUS, npu_context_status_ioctl),
	NPU_IOCTL(VM_BIND, npu_bind_ioctl),
	NPU_IOCTL(QUEUE_CREATE, npu_queue_create_ioctl),
	NPU_IOCTL(QUEUE_DESTROY, npu_queue_destroy_ioctl),
	NPU_IOCTL(SEM_WAIT, npu_semaphore_wait_ioctl),
	NPU_IOCTL(SEM_TO_SYNCOBJ, npu_sem_to_syncobj_ioctl),
	NPU_IOCTL(SYNCOBJ_TO_SEM, npu_syncobj_to_sem_ioctl),
	NPU_IOCTL(GEM_USERPTR, npu_gem_userptr_ioctl),
	NPU_IOCTL(CTX_EVENTS, npu_notice_ioctl),
};

/* Bytes of each structure as it was first published, which no program's is shorter than. */
static const u16 npu_first_sizes[] = {
	[DRM_NPU_GET_PARAM] = 16,
	[DRM_NPU_GEM_CREATE] = 16,
	[DRM_NPU_GEM_INFO] = 24,
	[DRM_NPU_CTX_CREATE] = 40,
	[DRM_NPU_CTX_DESTROY] = 8,
	[DRM_NPU_CTX_STATUS] = 56,
	[DRM_NPU_VM_BIND] = 24,
	[DRM_NPU_QUEUE_CREATE] = 48,
	[DRM_NPU_QUEUE_DESTROY] = 8,
	[DRM_NPU_SEM_WAIT] = 40,
	[DRM_NPU_SEM_TO_SYNCOBJ] = 32,
	[DRM_NPU_SYNCOBJ_TO_SEM] = 40,
	[DRM_NPU_GEM_USERPTR] = 24,
	[DRM_NPU_CTX_EVENTS] = 24,
};

static_assert(ARRAY_SIZE(npu_first_sizes) == ARRAY_SIZE(npu_ioctls));

/* DRM would do the work first, and then find that the program cannot be told. */
static int npu_check_writable(u8 __user *arg, size_t bytes)
{
	size_t at = 0;
	u8 value;

	while (at < bytes) {
		/* What is there is written over in the end anyway. */
		if (get_user(value, arg + at) || put_user(value, arg + at))
			return -EFAULT;
		at += PAGE_SIZE - offset_in_page(arg + at);
	}
	return 0;
}

/* DRM fills up what a program's structure lacks, and cuts what it has beyond ours. */
static int npu_check_structure(unsigned int cmd, void __user *arg)
{
	unsigned int nr = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;
	unsigned int known;
	int ret;

	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE || nr >= ARRAY_SIZE(npu_ioctls))
		return 0;
	known = _IOC_SIZE(npu_ioctls[nr].cmd);
	if (_IOC_SIZE(cmd) < npu_first_sizes[nr] || _IOC_DIR(cmd) != _IOC_DIR(npu_ioctls[nr].cmd))
		return -EINVAL;
	ret = npu_check_writable(arg, _IOC_SIZE(cmd));
	if (ret || _IOC_SIZE(cmd) <= known)
		return ret;
	ret = check_zeroed_user(arg + known, _IOC_SIZE(cmd) - known);
	if (ret < 0)
		return ret;
	return ret ? 0 : -E2BIG;
}

static long npu_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = npu_check_structure(cmd, (void __user *)arg);

	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long npu_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = npu_check_structure(cmd, compat_ptr(arg));

	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
}
#endif

static int npu_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct drm_file *file = filp->private_data;
	struct npu_file *nfile = file->driver_priv;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u32 number = (offset >> NPU_MMAP_NUMBER_SHIFT) & (NPU_MMAP_NUMBERS - 1);
	unsigned long first = (offset & ((1u << NPU_MMAP_NUMBER_SHIFT) - 1)) >> PAGE_SHIFT;

	if (vma->vm_pgoff >= DRM_FILE_PAGE_OFFSET_START)
		return drm_gem_mmap(filp, vma);
	switch (offset >> NPU_MMAP_KIND_SHIFT) {
	case NPU_MMAP_DOORBELL:
		return npu_doorbell_mmap(nfile, vma, number, first);
	case NPU_MMAP_SEMAPHORES:
		return npu_context_mmap(nfile, vma, number, first);
	default:
		return -EINVAL;
	}
}

static const struct file_operations npu_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = npu_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = npu_compat_ioctl,
#endif
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = npu_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.uring_cmd = npu_uring_cmd,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static int npu_open(struct drm_device *drm, struct drm_file *file)
{
	struct npu_file *nfile;

	nfile = kzalloc(sizeof(*nfile), GFP_KERNEL_ACCOUNT);
	if (!nfile)
		return -ENOMEM;
	nfile->ndev = to_npu_device(drm);
	xa_init_flags(&nfile->contexts, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&nfile->ending);
	nfile->account = npu_account_new(nfile->ndev);
	if (!nfile->account) {
		kfree(nfile);
		return -ENOMEM;
	}
	file->driver_priv = nfile;
	return 0;
}

static void npu_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct npu_file *nfile = file->driver_priv;
	struct npu_context *ctx;
	unsigned long id;

	xa_for_each(&nfile->contexts, id, ctx) {
		npu_context_shut(ctx);
		npu_context_put(ctx);
	}
	xa_destroy(&nfile->contexts);
	/* Nothing that its contexts owed is on its way when it is closed. */
	npu_syncobj_settle(nfile->ndev);
	npu_account_put(nfile->account);
	kfree(nfile);
}

/*
 * What the interface can do is asked by DRM_IOCTL_NPU_GET_PARAM. The version is for people:
 * 1.0	contexts, bindings, user queues, waits; io_uring, syncobjs and events since
 */
static const struct drm_driver npu_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.name = "npu",
	.desc = "NPU",
	.major = 1,
	.minor = 0,
	.fops = &npu_fops,
	.open = npu_open,
	.postclose = npu_postclose,
	.show_fdinfo = npu_fdinfo_show,
	.ioctls = npu_ioctls,
	.num_ioctls = ARRAY_SIZE(npu_ioctls),
	.gem_create_object = npu_gem_create_object,
	.gem_prime_import = npu_import,
};

/* Files of sysfs, of whatever bus the device is on. */
const struct attribute_group *npu_device_groups[] = {
	&npu_info_group,
	&npu_limits_group,
	&npu_reset_group,
	NULL
};

static int npu_locks_init(struct npu_device *ndev)
{
	struct drm_device *drm = &ndev->drm;

	spin_lock_init(&ndev->contexts_lock);
	spin_lock_init(&ndev->quota_lock);
	INIT_LIST_HEAD(&ndev->accounts);
	spin_lock_init(&ndev->reply_lock);
	init_completion(&ndev->mailbox_reply);
	npu_backstop_init(ndev);
	npu_syncobj_init(ndev);
	npu_reset_init(ndev);
	npu_log_init(ndev);
	/* Not in a loop: lockdep tells locks apart by where they are initialized. */
	return drmm_mutex_init(drm, &ndev->stop_lock) ?:
	       drmm_mutex_init(drm, &ndev->hw_lock) ?:
	       drmm_mutex_init(drm, &ndev->doorbell_lock) ?:
	       drmm_mutex_init(drm, &ndev->tlb_lock) ?:
	       drmm_mutex_init(drm, &ndev->counter_lock) ?:
	       drmm_mutex_init(drm, &ndev->mailbox_lock) ?:
	       drmm_mutex_init(drm, &ndev->take_lock) ?:
	       drmm_mutex_init(drm, &ndev->drain_lock) ?:
	       drmm_mutex_init(drm, &ndev->log.lock);
}

/**
 * npu_device_alloc() - an NPU that is not started yet
 * @parent: the device on its bus
 *
 * Return: the NPU, which goes with @parent's driver; an error pointer.
 */
struct npu_device *npu_device_alloc(struct device *parent)
{
	struct npu_device *ndev;
	int ret;

	ndev = devm_drm_dev_alloc(parent, &npu_driver, struct npu_device, drm);
	if (IS_ERR(ndev))
		return ndev;
	ret = npu_locks_init(ndev) ?: npu_coredump_init(ndev);
	return ret ? ERR_PTR(ret) : ndev;
}

/**
 * npu_device_identify() - is it an NPU, with a doorbell for each queue?
 * @ndev: registers are mapped
 * @doorbell_bytes: of the range where its doorbells are
 *
 * Return: 0, -ENODEV.
 */
int npu_device_identify(struct npu_device *ndev, u64 doorbell_bytes)
{
	u32 id = npu_read(ndev, NPU_REG_ID);

	if (id != NPU_ID_VALUE)
		return dev_err_probe(ndev->drm.dev, -ENODEV,
				     "the register block says %#x, which is no NPU\n", id);
	if (doorbell_bytes < (u64)npu_read(ndev, NPU_REG_QUEUES) * NPU_DOORBELL_STRIDE)
		return dev_err_probe(ndev->drm.dev, -ENODEV, "no room for all doorbells\n");
	return 0;
}

/**
 * npu_device_prepare() - nothing that ran before does DMA, and DMA is set up
 * @ndev: it is an NPU
 *
 * Return: 0 or a negative errno.
 */
int npu_device_prepare(struct npu_device *ndev)
{
	struct device *dev = ndev->drm.dev;
	int ret;

	npu_write(ndev, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(NPU_DMA_BITS));
	if (ret)
		return dev_err_probe(dev, ret, "no DMA to %u-bit addresses\n", NPU_DMA_BITS);
	dma_set_max_seg_size(dev, UINT_MAX);
	return 0;
}

/*
 * Rings and semaphores are ordinary pages, in which both sides must see the other's stores. The
 * rest works without: what the device is and counts, its firmware and that one's log.
 */
static void npu_device_check_coherence(struct npu_device *ndev)
{
	if (dev_is_dma_coherent(ndev->drm.dev))
		return;
	dev_warn(ndev->drm.dev,
		 "DMA bypasses the caches (dma-coherent is missing), so there are no user queues\n");
	ndev->caps.contexts = 0;
	ndev->caps.queues = 0;
}

/**
 * npu_device_start() - from a reset to a firmware that answers
 * @ndev: the device, in reset, with its image loaded
 *
 * Return: 0 or a negative errno.
 */
int npu_device_start(struct npu_device *ndev)
{
	int ret;

	npu_write64(ndev, NPU_REG_CONTEXT_TABLE_LO, ndev->context_table_dma);
	ret = npu_firmware_start(ndev);
	if (ret)
		return ret;
	npu_log_restart(ndev);
	npu_irq_enable(ndev);
	return npu_mailbox_hello(ndev);
}

/**
 * npu_device_init() - everything that does not depend on the bus, up to a device users can open
 * @ndev: registers are mapped, interrupts can come, DMA works
 *
 * Return: 0 or a negative errno; then npu_device_stop() is the caller's part.
 */
int npu_device_init(struct npu_device *ndev)
{
	int ret;

	npu_param_read_caps(ndev);
	ret = npu_context_table_init(ndev);
	if (ret)
		return ret;
	npu_device_check_coherence(ndev);
	npu_account_init(ndev);
	ndev->large_page = npu_gem_use_large_pages(&ndev->drm);
	ret = npu_firmware_load(ndev);
	if (ret)
		return ret;
	ret = npu_device_start(ndev);
	if (ret)
		return ret;
	ret = drm_dev_register(&ndev->drm, 0);
	if (ret)
		return ret;
	npu_debugfs_init(ndev);
	npu_hwmon_init(ndev);
	npu_power_begin(ndev);
	ndev->recoverable = true;
	/* Last, as it offers a reset to everybody who may. */
	npu_devlink_init(ndev);
	return 0;
}

static int npu_device_enter_any(struct npu_device *ndev, int *idx)
{
	if (!drm_dev_enter(&ndev->drm, idx))
		return -ENODEV;
	/* One that is about to start again is nobody's until it has. */
	if (!npu_device_is_dead(ndev) && !READ_ONCE(ndev->resetting))
		return 0;
	drm_dev_exit(*idx);
	return -EAGAIN;
}

/* Returns -EAGAIN when there may be a reset to wait for. */
static int npu_device_try_enter(struct npu_device *ndev, int *idx)
{
	int ret = npu_device_enter_any(ndev, idx);

	if (ret)
		return ret;
	if (pm_runtime_resume_and_get(ndev->drm.dev) < 0) {
		drm_dev_exit(*idx);
		return -ENODEV;
	}
	/* It may not have come back. */
	if (!npu_device_is_dead(ndev))
		return 0;
	npu_device_exit(ndev, *idx);
	return -EAGAIN;
}

/**
 * npu_device_enter() - begin to use the device, which is woken up if it sleeps
 * @ndev: the device
 * @idx: for npu_device_exit()
 *
 * Takes hw_lock when it wakes the device up, waits while it is reset. Nothing of a length that
 * users choose may happen before npu_device_exit().
 *
 * Return: 0, -ENODEV (nothing is to be exited then).
 */
int npu_device_enter(struct npu_device *ndev, int *idx)
{
	int ret;

	/* It may fail once more before it is entered. */
	do {
		ret = npu_device_try_enter(ndev, idx);
	} while (ret == -EAGAIN && npu_reset_wait(ndev));
	return ret ? -ENODEV : 0;
}

/**
 * npu_device_enter_awake() - begin to use the device if it does not sleep
 * @ndev: the device
 * @idx: for npu_device_exit()
 *
 * Return: 0, -ENODEV (it sleeps, or there is none; nothing is to be exited then).
 */
int npu_device_enter_awake(struct npu_device *ndev, int *idx)
{
	if (npu_device_enter_any(ndev, idx))
		return -ENODEV;
	if (!IS_ENABLED(CONFIG_PM) || pm_runtime_get_if_active(ndev->drm.dev) > 0)
		return 0;
	drm_dev_exit(*idx);
	return -ENODEV;
}

/**
 * npu_device_exit() - end using the device
 * @ndev: the device
 * @idx: from npu_device_enter() or npu_device_enter_awake()
 */
void npu_device_exit(struct npu_device *ndev, int idx)
{
	pm_runtime_mark_last_busy(ndev->drm.dev);
	pm_runtime_put_autosuspend(ndev->drm.dev);
	drm_dev_exit(idx);
}

/**
 * npu_device_halt() - the device does no DMA any more when this returns, and has forgotten all
 * @ndev: its registers are mapped
 */
void npu_device_halt(struct npu_device *ndev)
{
	npu_write(ndev, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	/* The write is posted: a read makes sure of it. */
	npu_read(ndev, NPU_REG_BOOT_STATUS);
	npu_pci_allow_dma(ndev, false);
}

/**
 * npu_device_stop_locked() - the device does no DMA any more when this returns
 * @ndev: its registers are mapped, or it was stopped before
 */
void npu_device_stop_locked(struct npu_device *ndev)
{
	lockdep_assert_held(&ndev->stop_lock);
	if (ndev->stopped)
		return;
	npu_device_halt(ndev);
	ndev->stopped = true;
}

/**
 * npu_device_stop() - the same without the lock
 * @ndev: as above; if it may be reset, the caller holds what keeps it from starting again: hw_lock,
 *	  or the lock of an address space that is still valid
 *
 * Needs no firmware. May sleep.
 */
void npu_device_stop(struct npu_device *ndev)
{
	mutex_lock(&ndev->stop_lock);
	npu_device_stop_locked(ndev);
	mutex_unlock(&ndev->stop_lock);
}

/**
 * npu_device_wake_all() - whoever waits for the device learns that it is gone
 * @ndev: the device
 * @error: what they are told
 */
void npu_device_wake_all(struct npu_device *ndev, int error)
{
	struct npu_context *ctx;
	u32 index = 0;

	npu_mailbox_cancel(ndev);
	while ((ctx = npu_context_next(ndev, &index))) {
		npu_semaphore_fail(ctx, error, DRM_NPU_CTX_INNOCENT);
		npu_context_put(ctx);
	}
}

/*
 * After npu_reset_end(). At once: nobody serves a wired interrupt any more, which stays active, and
 * its thread at work, until the device is stopped.
 */
static void npu_device_give_up(struct npu_device *ndev)
{
	/* Whoever has the lock and waits for the device waits no more. */
	npu_device_wake_all(ndev, -ENODEV);
	mutex_lock(&ndev->hw_lock);
	npu_device_stop(ndev);
	mutex_unlock(&ndev->hw_lock);
}

/**
 * npu_device_shutdown() - the system goes down; what comes after it must not find DMA going on
 * @ndev: the device
 */
void npu_device_shutdown(struct npu_device *ndev)
{
	if (!npu_reset_end(ndev))
		return;
	npu_device_give_up(ndev);
	npu_doorbell_revoke_all(ndev);
}

/**
 * npu_device_remove() - the driver goes, users may stay
 * @ndev: registered
 */
void npu_device_remove(struct npu_device *ndev)
{
	struct npu_context *ctx;
	u32 index = 0;

	npu_power_end(ndev);
	npu_reset_end(ndev);
	npu_device_give_up(ndev);
	drm_dev_unplug(&ndev->drm);
	npu_reset_cancel(ndev);
	npu_irq_wait(ndev);
	npu_coredump_end(ndev);
	npu_devlink_end(ndev);
	npu_backstop_end(ndev);
	npu_log_end(ndev);
	npu_doorbell_revoke_all(ndev);
	while ((ctx = npu_context_next(ndev, &index))) {
		npu_semaphore_fail(ctx, -ENODEV, DRM_NPU_CTX_INNOCENT);
		npu_context_shut(ctx);
		npu_context_put(ctx);
	}
}

static int __init npu_module_init(void)
{
	int ret;

	if (drm_firmware_drivers_only())
		return -ENODEV;
	ret = npu_platform_register();
	if (ret)
		return ret;
	ret = npu_pci_register();
	if (ret)
		npu_platform_unregister();
	return ret;
}

static void __exit npu_module_exit(void)
{
	npu_pci_unregister();
	npu_platform_unregister();
}

module_init(npu_module_init);
module_exit(npu_module_exit);

MODULE_DESCRIPTION("NPU (neural processing unit)");
MODULE_AUTHOR("The NPU project");
MODULE_LICENSE("GPL");
