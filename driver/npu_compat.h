/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernels differ that this driver is built for. NPU_HAVE_* come from Kbuild. */
#ifndef __NPU_COMPAT_H__
#define __NPU_COMPAT_H__

#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>

#include <drm/drm_device.h>
#include <drm/drm_gem.h>
#include <net/devlink.h>

/* Processor and device work on the same memory, not on copies: it may be mapped more than once. */
#ifdef DMA_ATTR_REQUIRE_COHERENT
#define NPU_DMA_ATTRS	DMA_ATTR_REQUIRE_COHERENT
#else
#define NPU_DMA_ATTRS	0
#endif

static inline void npu_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*function)(struct hrtimer *),
				     enum hrtimer_mode mode)
{
#ifdef NPU_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

/*
 * Buffers that are made from now on get large pages where they fit into the buffer, and where the
 * kernel can give some. Returns how large these are; 0: it has none, or no memory for the mount.
 */
static inline unsigned long npu_gem_use_large_pages(struct drm_device *drm)
{
#if defined(NPU_HAVE_HUGE_MOUNT) && defined(CONFIG_TRANSPARENT_HUGEPAGE)
	/* A mount that fails is left there as an error, which buffers would be made in. */
	if (!drm_gem_huge_mnt_create(drm, "within_size") && !IS_ERR_OR_NULL(drm->huge_mnt))
		return HPAGE_PMD_SIZE;
	drm->huge_mnt = NULL;
#endif
	return 0;
}

static inline void npu_uring_done(struct io_uring_cmd *cmd, int result, unsigned int issue_flags)
{
#ifdef NPU_HAVE_URING_DONE_OF_3
	io_uring_cmd_done(cmd, result, issue_flags);
#else
	io_uring_cmd_done(cmd, result, 0, issue_flags);
#endif
}

/* Defines what io_uring_cmd_complete_in_task() takes, out of a function of command and flags. */
#ifdef NPU_HAVE_URING_TOKEN
#define NPU_URING_TASK_WORK(name, function)						\
static void name(struct io_tw_req req, io_tw_token_t token)				\
{											\
	function(io_uring_cmd_from_tw(req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);	\
}
#else
#define NPU_URING_TASK_WORK(name, function)						\
static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)			\
{											\
	function(cmd, issue_flags);							\
}
#endif

#if IS_ENABLED(CONFIG_NET_DEVLINK)
static inline struct devlink_health_reporter *
npu_health_reporter_create(struct devlink *devlink, const struct devlink_health_reporter_ops *ops,
			   u64 grace_ms, void *priv)
{
#ifdef NPU_HAVE_HEALTH_REPORTER_OF_3
	/* That of the operations, which is none. */
	return devlink_health_reporter_create(devlink, ops, priv);
#else
	return devlink_health_reporter_create(devlink, ops, grace_ms, priv);
#endif
}
#endif

#endif /* __NPU_COMPAT_H__ */
