/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_GEM_H__
#define __NPU_GEM_H__

#include <linux/dma-direction.h>
#include <linux/kref.h>
#include <linux/scatterlist.h>

#include <drm/drm_gem_shmem_helper.h>

#include "npu_account.h"

struct dma_buf;
struct dma_buf_attachment;

/**
 * struct npu_gem - a buffer of our own
 * @base: what the helper knows of it
 * @charge: for its pages, all of which are pinned as soon as a part is
 */
struct npu_gem {
	struct drm_gem_shmem_object base;
	struct npu_charge charge;
};

/**
 * struct npu_pinning - a range of a buffer that is held, and mapped for the device
 * @ref: by mappings
 * @obj: the buffer
 * @attachment: to the buffer, when it is imported and mapped
 * @direction: in which the device reaches it
 * @sgt: NULL before it is mapped; the range's pages, which is @own; all of an imported buffer
 * @own: pages of the range
 * @offset: where the range begins in the buffer; where in @sgt, once that is there
 * @bytes: of the range
 */
struct npu_pinning {
	struct kref ref;
	struct drm_gem_object *obj;
	struct dma_buf_attachment *attachment;
	enum dma_data_direction direction;
	struct sg_table *sgt;
	struct sg_table own;
	u64 offset;
	u64 bytes;
};

/* npu_gem.c */
struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size);
int npu_gem_pin(struct drm_gem_object *obj, struct npu_account *account);
void npu_gem_unpin(struct drm_gem_object *obj);
int npu_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_gem_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_import.c */
struct drm_gem_object *npu_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct dma_buf *npu_import_dma_buf(struct drm_gem_object *obj);

/* npu_userptr.c */
bool npu_userptr_is(struct drm_gem_object *obj);
struct page **npu_userptr_pages(struct drm_gem_object *obj);
bool npu_userptr_is_read_only(struct drm_gem_object *obj);
int npu_userptr_check(struct drm_gem_object *obj, bool writes);
int npu_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_pinning.c */
struct npu_pinning *npu_pinning_new(struct npu_account *account, struct drm_gem_object *obj,
				    u64 offset, u64 bytes);
int npu_pinning_map(struct npu_pinning *pinning);
void npu_pinning_put(struct npu_pinning *pinning);
bool npu_pinning_peek(struct npu_pinning *pinning, u64 offset, void *to, size_t bytes);

#endif /* __NPU_GEM_H__ */
