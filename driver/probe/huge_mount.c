// SPDX-License-Identifier: GPL-2.0-only
#include <drm/drm_gem.h>

int npu_probe(struct drm_device *drm);
int npu_probe(struct drm_device *drm)
{
	return drm_gem_huge_mnt_create(drm, "within_size");
}
