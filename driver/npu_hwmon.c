// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device says of heat, power and clock, by hwmon. Nobody who reads wakes it: sensors of a
 * device that sleeps say nothing.
 */
#include <linux/hwmon.h>
#include <linux/sysfs.h>

#include "npu_device.h"

/* Devices before 3.4 tell when they were too hot, and no more. The device is awake. */
static umode_t npu_hwmon_is_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				    int channel)
{
	const struct npu_device *ndev = data;

	if (type == hwmon_temp && attr == hwmon_temp_emergency_alarm)
		return 0444;
	return readl(ndev->regs + NPU_REG_CLOCK_POINTS) ? 0444 : 0;
}

/* The register, and how much of hwmon's unit one of it is. */
static u32 npu_hwmon_register(enum hwmon_sensor_types type, u32 attr, long *unit)
{
	*unit = 1;
	if (type == hwmon_power) {
		*unit = 1000;
		return NPU_REG_POWER;
	}
	switch (attr) {
	case hwmon_temp_input:
		return NPU_REG_TEMPERATURE;
	case hwmon_temp_max:
		return NPU_REG_HEAT_HOT;
	case hwmon_temp_max_hyst:
		return NPU_REG_HEAT_COOL;
	default:
		return NPU_REG_HEAT_TRIP;
	}
}

/* As alarms are: whoever reads it has seen it. */
static int npu_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			  long *value)
{
	struct npu_device *ndev = dev_get_drvdata(dev);
	long unit;
	u32 reg;
	int idx;

	if (type == hwmon_temp && attr == hwmon_temp_emergency_alarm) {
		*value = xchg(&ndev->tripped, false);
		return 0;
	}
	if (npu_device_enter_awake(ndev, &idx))
		return -ENODATA;
	reg = npu_hwmon_register(type, attr, &unit);
	*value = (s32)npu_read(ndev, reg) * unit;
	npu_device_exit(ndev, idx);
	return 0;
}

static const struct hwmon_ops npu_hwmon_ops = {
	.is_visible = npu_hwmon_is_visible,
	.read = npu_hwmon_read,
};

static const struct hwmon_channel_info * const npu_hwmon_channels[] = {
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT | HWMON_T_MAX | HWMON_T_MAX_HYST |
				 HWMON_T_EMERGENCY | HWMON_T_EMERGENCY_ALARM),
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT),
	NULL
};

static const struct hwmon_chip_info npu_hwmon_chip = {
	.ops = &npu_hwmon_ops,
	.info = npu_hwmon_channels,
};

/* Clocks are not among what hwmon knows. */
static ssize_t freq1_input_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", npu_info_clock_hz(dev_get_drvdata(dev)));
}
static DEVICE_ATTR_RO(freq1_input);

static ssize_t freq1_label_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "clock\n");
}
static DEVICE_ATTR_RO(freq1_label);

static struct attribute *npu_hwmon_attrs[] = {
	&dev_attr_freq1_input.attr,
	&dev_attr_freq1_label.attr,
	NULL
};
ATTRIBUTE_GROUPS(npu_hwmon);

/**
 * npu_hwmon_init() - make the files
 * @ndev: registered
 *
 * The device works without them.
 */
void npu_hwmon_init(struct npu_device *ndev)
{
	struct device *parent = ndev->drm.dev;
	struct device *dev;

	dev = devm_hwmon_device_register_with_info(parent, "npu", ndev, &npu_hwmon_chip,
						   npu_hwmon_groups);
	if (IS_ERR(dev))
		drm_warn(&ndev->drm, "no files of hwmon (%ld)\n", PTR_ERR(dev));
	else
		WRITE_ONCE(ndev->hwmon, dev);
}

/**
 * npu_hwmon_look() - the device failed: is it too hot?
 * @ndev: it answers, and is about to be reset, after which it does not know any more
 */
void npu_hwmon_look(struct npu_device *ndev)
{
	struct device *dev = READ_ONCE(ndev->hwmon);

	if (!(npu_read(ndev, NPU_REG_ERROR_STATUS) & NPU_ERROR_STATUS_TEMPERATURE))
		return;
	WRITE_ONCE(ndev->tripped, true);
	if (dev)
		hwmon_notify_event(dev, hwmon_temp, hwmon_temp_emergency_alarm, 0);
}
