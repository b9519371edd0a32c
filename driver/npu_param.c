// SPDX-License-Identifier: GPL-2.0-only
/* What the device is and has done: DRM_IOCTL_NPU_GET_PARAM. */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/npu_accel.h>

#include "npu_context.h"

/* Where each value that does not change is in struct npu_caps and in the registers. */
static const struct {
	u32 param;
	u32 reg;
	u32 offset;
} npu_cap_list[] = {
#define NPU_CAP(name, field) \
	{ DRM_NPU_PARAM_##name, NPU_REG_##name, offsetof(struct npu_caps, field) }
	NPU_CAP(HW_VERSION, hw_version),
	NPU_CAP(CLUSTERS, clusters),
	NPU_CAP(MAC_CHANNELS, mac_channels),
	NPU_CAP(MAC_DEPTH, mac_depth),
	NPU_CAP(LOCAL_BYTES, local_bytes),
	NPU_CAP(GLOBAL_BYTES, global_bytes),
	NPU_CAP(ACC_BYTES, acc_bytes),
	NPU_CAP(DMA_CHANNELS, dma_channels),
	NPU_CAP(DRAM_BYTES_PER_CYCLE, dram_bytes_per_cycle),
	NPU_CAP(DRAM_LATENCY, dram_latency),
	NPU_CAP(CLOCK_HZ, clock_hz),
	NPU_CAP(QUEUES, queues),
	NPU_CAP(SLOTS, slots),
	NPU_CAP(CONTEXTS, contexts),
	NPU_CAP(SEMAPHORES, semaphores),
	NPU_CAP(VECTOR_BYTES, vector_bytes),
	NPU_CAP(OUT_RESULTS, out_results),
#undef NPU_CAP
};

static const struct {
	u32 param;
	u32 reg;
} npu_counter_list[NPU_COUNTERS] = {
	{ DRM_NPU_PARAM_TIME, NPU_REG_TIME_LO },
	{ DRM_NPU_PARAM_COUNTER_TASKS, NPU_REG_COUNTER_TASKS_LO },
	{ DRM_NPU_PARAM_COUNTER_MAC, NPU_REG_COUNTER_MAC_LO },
	{ DRM_NPU_PARAM_COUNTER_VECTOR, NPU_REG_COUNTER_VECTOR_LO },
	{ DRM_NPU_PARAM_COUNTER_DMA, NPU_REG_COUNTER_DMA_LO },
	{ DRM_NPU_PARAM_COUNTER_DRAM_READ, NPU_REG_COUNTER_DRAM_READ_LO },
	{ DRM_NPU_PARAM_COUNTER_DRAM_WRITE, NPU_REG_COUNTER_DRAM_WRITE_LO },
	{ DRM_NPU_PARAM_COUNTER_TLB_MISS, NPU_REG_COUNTER_TLB_MISS_LO },
};

static u32 *npu_cap(struct npu_caps *caps, u32 i)
{
	return (u32 *)((u8 *)caps + npu_cap_list[i].offset);
}

/**
 * npu_param_read_caps() - read what the device is
 * @ndev: the device
 */
void npu_param_read_caps(struct npu_device *ndev)
{
	struct npu_caps *caps = &ndev->caps;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(npu_cap_list); i++)
		*npu_cap(caps, i) = npu_read(ndev, npu_cap_list[i].reg);
	for (i = 0; i < ARRAY_SIZE(caps->config_name); i++)
		caps->config_name[i] = cpu_to_le32(npu_read(ndev, NPU_REG_CONFIG_NAME + i * 4));
	caps->queues = min_t(u32, caps->queues, NPU_QUEUES_MAX);
	caps->contexts = min_t(u32, caps->contexts, NPU_CONTEXTS_MAX);
	caps->semaphores = min_t(u32, caps->semaphores, NPU_SEMAPHORES_MAX);
}

/* The low word latches the high one; nobody may come between. */
static u64 npu_param_read_counter(struct npu_device *ndev, u32 i)
{
	u32 reg = npu_counter_list[i].reg;
	u64 low;

	lockdep_assert_held(&ndev->counter_lock);
	low = npu_read(ndev, reg);
	return ndev->counters_before[i] + ((u64)npu_read(ndev, reg + 4) << 32 | low);
}

/**
 * npu_param_keep_counters() - the device forgets its counters, but not the time
 * @ndev: about to be reset, after which it goes on as before
 */
void npu_param_keep_counters(struct npu_device *ndev)
{
	u32 i;

	mutex_lock(&ndev->counter_lock);
	for (i = 0; i < NPU_COUNTERS; i++) {
		if (npu_counter_list[i].reg != NPU_REG_TIME_LO)
			ndev->counters_before[i] = npu_param_read_counter(ndev, i);
	}
	mutex_unlock(&ndev->counter_lock);
}

static int npu_param_counter(struct npu_device *ndev, u32 i, u64 *value)
{
	int ret, idx;

	ret = npu_device_enter(ndev, &idx);
	if (ret)
		return ret;
	mutex_lock(&ndev->counter_lock);
	*value = npu_param_read_counter(ndev, i);
	mutex_unlock(&ndev->counter_lock);
	npu_device_exit(ndev, idx);
	return 0;
}

static int npu_param_text(const void *text, size_t bytes, u32 index, u64 *value)
{
	__le64 part;

	if (index >= bytes / sizeof(part))
		return -EINVAL;
	memcpy(&part, text + index * sizeof(part), sizeof(part));
	*value = le64_to_cpu(part);
	return 0;
}

static int npu_param_single(struct npu_device *ndev, u32 param, u64 *value)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(npu_cap_list); i++) {
		if (npu_cap_list[i].param == param) {
			*value = *npu_cap(&ndev->caps, i);
			return 0;
		}
	}
	for (i = 0; i < ARRAY_SIZE(npu_counter_list); i++) {
		if (npu_counter_list[i].param == param)
			return npu_param_counter(ndev, i, value);
	}
	switch (param) {
	case DRM_NPU_PARAM_FIRMWARE_ABI:
		*value = ndev->firmware_abi;
		return 0;
	case DRM_NPU_PARAM_PAGE_SIZE:
		*value = NPU_PAGE_BYTES;
		return 0;
	case DRM_NPU_PARAM_VA_END:
		*value = NPU_VA_END;
		return 0;
	case DRM_NPU_PARAM_WAITS_MAX:
		*value = NPU_WAITS_MAX;
		return 0;
	case DRM_NPU_PARAM_BINDS_MAX:
		*value = NPU_BINDS_MAX;
		return 0;
	case DRM_NPU_PARAM_LARGE_PAGE:
		*value = ndev->large_page;
		return 0;
	case DRM_NPU_PARAM_EVENTS_MAX:
		*value = NPU_NOTICES_MAX;
		return 0;
	case DRM_NPU_PARAM_PENDING_MAX:
		*value = npu_account_cap(ndev, NPU_QUOTA_FILE, NPU_QUOTA_WAITS);
		return 0;
	case DRM_NPU_PARAM_MAPPINGS_MAX:
		*value = npu_account_cap(ndev, NPU_QUOTA_FILE, NPU_QUOTA_MAPPINGS);
		return 0;
	case DRM_NPU_PARAM_USERPTR:
		*value = 1;
		return 0;
	case DRM_NPU_PARAM_URING:
		*value = IS_ENABLED(CONFIG_IO_URING);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * npu_param_ioctl() - DRM_IOCTL_NPU_GET_PARAM
 * @drm: the device
 * @data: struct drm_npu_get_param
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_param_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *ndev = to_npu_device(drm);
	struct drm_npu_get_param *args = data;

	if (npu_device_is_gone(ndev))
		return -ENODEV;
	if (args->param == DRM_NPU_PARAM_CONFIG_NAME)
		return npu_param_text(ndev->caps.config_name, sizeof(ndev->caps.config_name),
				      args->index, &args->value);
	if (args->param == DRM_NPU_PARAM_FIRMWARE_VERSION)
		return npu_param_text(ndev->firmware_version, sizeof(ndev->firmware_version),
				      args->index, &args->value);
	if (args->index)
		return -EINVAL;
	return npu_param_single(ndev, args->param, &args->value);
}
