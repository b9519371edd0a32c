// SPDX-License-Identifier: GPL-2.0-only
#include <net/devlink.h>

void *npu_probe(struct devlink *devlink, const struct devlink_health_reporter_ops *ops);
void *npu_probe(struct devlink *devlink, const struct devlink_health_reporter_ops *ops)
{
	return devlink_health_reporter_create(devlink, ops, NULL);
}
