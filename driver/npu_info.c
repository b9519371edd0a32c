// SPDX-License-Identifier: GPL-2.0-only
/* What the device is and does, as files of sysfs: Documentation/driver/sysfs-driver-npu. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "npu_account.h"
#include "npu_context.h"
#include "npu_cycles.h"

/* Of the kind of engine that was at work most, so that one kind that never rests is all of it. */
static u64 npu_info_busy_cycles(struct npu_device *ndev)
{
	struct npu_usage usage;
	u64 busiest;

	npu_usage_of_device(ndev, &usage);
	busiest = div_u64(max(usage.mac, usage.vector), max(ndev->caps.clusters, 1u));
	/* The command processor's channel, which copies, is one more. */
	return max(busiest, div_u64(usage.dma, ndev->caps.dma_channels + 1));
}

static ssize_t npu_busy_time_us_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);
	u64 ns = npu_cycles_to_ns(npu_info_busy_cycles(ndev), ndev->caps.clock_hz);

	return sysfs_emit(text, "%llu\n", div_u64(ns, NSEC_PER_USEC));
}
static DEVICE_ATTR_RO(npu_busy_time_us);

/**
 * npu_info_clock_hz() - the clock of this moment
 * @ndev: the device, which is not woken up
 *
 * Return: Hz; 0 of a device that sleeps, or is dead.
 */
u32 npu_info_clock_hz(struct npu_device *ndev)
{
	u32 point, hz = ndev->caps.clock_hz;
	int idx;

	if (npu_device_enter_awake(ndev, &idx))
		return 0;
	point = npu_read(ndev, NPU_REG_CLOCK) >> NPU_CLOCK_NOW_SHIFT & 0xff;
	/* A device that has none has its clock. */
	if (point < npu_read(ndev, NPU_REG_CLOCK_POINTS))
		hz = npu_read(ndev, NPU_REG_CLOCK_POINT_HZ(point));
	npu_device_exit(ndev, idx);
	return hz;
}

static ssize_t npu_current_frequency_mhz_show(struct device *dev, struct device_attribute *attr,
					      char *text)
{
	return sysfs_emit(text, "%u\n", npu_info_clock_hz(dev_get_drvdata(dev)) / 1000000);
}
static DEVICE_ATTR_RO(npu_current_frequency_mhz);

static ssize_t npu_memory_bytes_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);
	u64 bytes;

	spin_lock(&ndev->quota_lock);
	bytes = ndev->quota.count.used[NPU_QUOTA_BYTES];
	spin_unlock(&ndev->quota_lock);
	return sysfs_emit(text, "%llu\n", bytes);
}
static DEVICE_ATTR_RO(npu_memory_bytes);

static ssize_t npu_firmware_version_show(struct device *dev, struct device_attribute *attr,
					 char *text)
{
	struct npu_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(text, "%.*s\n", (int)sizeof(ndev->firmware_version),
			  ndev->firmware_version);
}
static DEVICE_ATTR_RO(npu_firmware_version);

static struct attribute *npu_info_attrs[] = {
	&dev_attr_npu_busy_time_us.attr,
	&dev_attr_npu_current_frequency_mhz.attr,
	&dev_attr_npu_memory_bytes.attr,
	&dev_attr_npu_firmware_version.attr,
	NULL
};

const struct attribute_group npu_info_group = {
	.attrs = npu_info_attrs,
};
