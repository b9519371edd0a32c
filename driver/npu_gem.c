// SPDX-License-Identifier: GPL-2.0-only
/* Buffers: system memory by the shmem helper, and what others export. */
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>
#include <drm/npu_accel.h>

#include "npu_context.h"
#include "npu_gem.h"

/* MODULE_IMPORT_NS() takes a word in older kernels and a string in newer ones. */
MODULE_INFO(import_ns, "DMA_BUF");

/* For fdinfo: whether there are pages. A hint, as they can come and go at any time. */
static enum drm_gem_object_status npu_gem_status(struct drm_gem_object *obj)
{
	struct drm_gem_shmem_object *shmem = to_drm_gem_shmem_obj(obj);

	return READ_ONCE(shmem->pages) || obj->import_attach ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs npu_gem_funcs = {
	.free = drm_gem_shmem_object_free,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = drm_gem_shmem_object_mmap,
	.status = npu_gem_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/**
 * npu_gem_create_object() - called by the helper for buffers of our own and imported ones
 * @drm: the device
 * @size: bytes
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size)
{
	struct drm_gem_shmem_object *shmem;

	shmem = kzalloc(sizeof(*shmem), GFP_KERNEL_ACCOUNT);
	if (!shmem)
		return ERR_PTR(-ENOMEM);
	shmem->base.funcs = &npu_gem_funcs;
	return &shmem->base;
}

/**
 * npu_gem_import() - &drm_driver.gem_prime_import
 * @drm: the device
 * @dma_buf: a buffer, perhaps of our own
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *npu_gem_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int ret, idx;

	ret = npu_device_enter(to_npu_device(drm), &idx);
	if (ret)
		return ERR_PTR(ret);
	obj = drm_gem_prime_import(drm, dma_buf);
	drm_dev_exit(idx);
	return obj;
}

/**
 * npu_gem_import_sg_table() - &drm_driver.gem_prime_import_sg_table
 * @drm: the device
 * @attach: the attachment that becomes the object's
 * @sgt: a mapping of it
 *
 * Bindings map for themselves: what an object kept mapped would stay so when the driver is unbound.
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *npu_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt)
{
	struct drm_gem_object *obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);

	if (IS_ERR(obj))
		return obj;
	to_drm_gem_shmem_obj(obj)->sgt = NULL;
	dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
	return obj;
}

/**
 * npu_gem_create_ioctl() - DRM_IOCTL_NPU_GEM_CREATE
 * @drm: the device
 * @data: struct drm_npu_gem_create
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_gem_create *args = data;
	struct drm_gem_shmem_object *shmem;
	int ret;

	if (!args->size || args->flags & ~DRM_NPU_GEM_WRITE_COMBINE)
		return -EINVAL;
	/* More could not be bound anywhere, and rounding up could wrap. */
	if (args->size > NPU_VA_END)
		return -E2BIG;
	if (npu_device_is_dead(to_npu_device(drm)))
		return -ENODEV;
	shmem = drm_gem_shmem_create(drm, PAGE_ALIGN(args->size));
	if (IS_ERR(shmem))
		return PTR_ERR(shmem);
	shmem->map_wc = args->flags & DRM_NPU_GEM_WRITE_COMBINE;
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	if (!ret)
		args->size = shmem->base.size;
	/* The handle has a reference of its own. */
	drm_gem_object_put(&shmem->base);
	return ret;
}

/**
 * npu_gem_info_ioctl() - DRM_IOCTL_NPU_GEM_INFO
 * @drm: the device
 * @data: struct drm_npu_gem_info
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_gem_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_gem_info *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (npu_device_is_dead(to_npu_device(drm)))
		return -ENODEV;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	ret = drm_gem_create_mmap_offset(obj);
	if (!ret) {
		args->flags = to_drm_gem_shmem_obj(obj)->map_wc ? DRM_NPU_GEM_WRITE_COMBINE : 0;
		args->size = obj->size;
		args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	}
	drm_gem_object_put(obj);
	return ret;
}
