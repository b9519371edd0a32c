// SPDX-License-Identifier: GPL-2.0-only
/* The caps of npu_account.c as files of sysfs: Documentation/driver/sysfs-driver-npu. */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "npu_account.h"
#include "npu_device.h"

/**
 * struct npu_limit - a file
 * @attr: the kernel's part
 * @level: for whom it is
 * @kind: of what
 */
struct npu_limit {
	struct device_attribute attr;
	enum npu_quota_level level;
	enum npu_quota_kind kind;
};

/* What the device has is the most that can be given out. */
static u64 npu_limit_most(const struct npu_device *ndev, enum npu_quota_kind kind)
{
	switch (kind) {
	case NPU_QUOTA_CONTEXTS:
		return ndev->caps.contexts;
	case NPU_QUOTA_QUEUES:
		return ndev->caps.queues;
	default:
		return NPU_QUOTA_NO_CAP;
	}
}

static ssize_t npu_limit_show(struct device *dev, struct device_attribute *attr, char *text)
{
	const struct npu_limit *limit = container_of(attr, struct npu_limit, attr);

	return sysfs_emit(text, "%llu\n", npu_account_cap(dev_get_drvdata(dev), limit->level,
							  limit->kind));
}

static ssize_t npu_limit_store(struct device *dev, struct device_attribute *attr,
			       const char *text, size_t bytes)
{
	const struct npu_limit *limit = container_of(attr, struct npu_limit, attr);
	struct npu_device *ndev = dev_get_drvdata(dev);
	u64 cap;
	int ret;

	ret = kstrtou64(text, 0, &cap);
	if (ret)
		return ret;
	if (cap > npu_limit_most(ndev, limit->kind))
		return -EINVAL;
	spin_lock(&ndev->quota_lock);
	ndev->quota.caps[limit->level][limit->kind] = cap;
	spin_unlock(&ndev->quota_lock);
	return bytes;
}

#define NPU_LIMIT(_name, _level, _kind)							\
static struct npu_limit npu_limit_##_name = {						\
	.attr = __ATTR(_name, 0644, npu_limit_show, npu_limit_store),			\
	.level = NPU_QUOTA_##_level,							\
	.kind = NPU_QUOTA_##_kind,							\
}

NPU_LIMIT(device_bytes, DEVICE, BYTES);
NPU_LIMIT(device_contexts, DEVICE, CONTEXTS);
NPU_LIMIT(device_queues, DEVICE, QUEUES);
NPU_LIMIT(user_bytes, USER, BYTES);
NPU_LIMIT(user_contexts, USER, CONTEXTS);
NPU_LIMIT(user_queues, USER, QUEUES);
NPU_LIMIT(file_mappings, FILE, MAPPINGS);
NPU_LIMIT(file_waits, FILE, WAITS);

static struct attribute *npu_limit_attrs[] = {
	&npu_limit_device_bytes.attr.attr,
	&npu_limit_device_contexts.attr.attr,
	&npu_limit_device_queues.attr.attr,
	&npu_limit_user_bytes.attr.attr,
	&npu_limit_user_contexts.attr.attr,
	&npu_limit_user_queues.attr.attr,
	&npu_limit_file_mappings.attr.attr,
	&npu_limit_file_waits.attr.attr,
	NULL
};

const struct attribute_group npu_limits_group = {
	.name = "npu_limits",
	.attrs = npu_limit_attrs,
};
