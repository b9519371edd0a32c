/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_GEM_H__
#define __NPU_GEM_H__

#include <drm/drm_gem_shmem_helper.h>

struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *npu_gem_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *npu_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);
int npu_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_gem_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* __NPU_GEM_H__ */
