// SPDX-License-Identifier: GPL-2.0-only
/* Buffers: system memory by the shmem helper. */
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <drm/npu_accel.h>

#include "npu_context.h"
#include "npu_gem.h"

/* For fdinfo: whether there are pages. A hint, as they can come and go at any time. */
static enum drm_gem_object_status npu_gem_status(struct drm_gem_object *obj)
{
	struct drm_gem_shmem_object *shmem = to_drm_gem_shmem_obj(obj);

	return READ_ONCE(shmem->pages) ? DRM_GEM_OBJECT_RESIDENT : 0;
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
 * npu_gem_create_object() - called by the helper for buffers of our own
 * @drm: the device
 * @size: bytes
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size)
{
	struct npu_gem *gem;

	/* The helper frees it by its own part. */
	static_assert(!offsetof(struct npu_gem, base));
	gem = kzalloc(sizeof(*gem), GFP_KERNEL_ACCOUNT);
	if (!gem)
		return ERR_PTR(-ENOMEM);
	gem->base.base.funcs = &npu_gem_funcs;
	return &gem->base.base;
}

static struct npu_gem *to_npu_gem(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct npu_gem, base);
}

/**
 * npu_gem_pin() - hold a buffer's pages
 * @obj: a buffer of our own
 * @account: who pays for them, when nobody holds them already
 *
 * Return: 0, -EDQUOT, -ENOSPC, -ENOMEM.
 */
int npu_gem_pin(struct drm_gem_object *obj, struct npu_account *account)
{
	struct npu_gem *gem = to_npu_gem(obj);
	int ret;

	ret = npu_charge_hold(&gem->charge, account, obj->size);
	if (ret)
		return ret;
	ret = drm_gem_shmem_pin(&gem->base);
	if (ret)
		npu_charge_drop(&gem->charge, obj->size);
	return ret;
}

/**
 * npu_gem_unpin() - let go of them
 * @obj: a buffer that was pinned
 */
void npu_gem_unpin(struct drm_gem_object *obj)
{
	struct npu_gem *gem = to_npu_gem(obj);

	drm_gem_shmem_unpin(&gem->base);
	npu_charge_drop(&gem->charge, obj->size);
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
	if (npu_device_is_gone(to_npu_device(drm)))
		return -ENODEV;
	shmem = drm_gem_shmem_create(drm, PAGE_ALIGN(args->size));
	/* Where shmem gets no memory for an inode, it says that its file system is full. */
	if (IS_ERR(shmem))
		return PTR_ERR(shmem) == -ENOSPC ? -ENOMEM : PTR_ERR(shmem);
	shmem->map_wc = args->flags & DRM_NPU_GEM_WRITE_COMBINE;
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	if (!ret)
		args->size = shmem->base.size;
	else if (ret == -ENOSPC)
		ret = -ENOMEM; /* two thousand million handles: memory was short before */
	/* The handle has a reference of its own. */
	drm_gem_object_put(&shmem->base);
	return ret;
}

static void npu_gem_info(struct drm_gem_object *obj, struct drm_npu_gem_info *args)
{
	args->flags = 0;
	args->size = obj->size;
	args->mmap_offset = 0;
	if (npu_userptr_is(obj))
		return;
	args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	if (!npu_import_dma_buf(obj) && to_drm_gem_shmem_obj(obj)->map_wc)
		args->flags = DRM_NPU_GEM_WRITE_COMBINE;
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

	if (npu_device_is_gone(to_npu_device(drm)))
		return -ENODEV;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	/* A program's own memory is mapped already. */
	ret = npu_userptr_is(obj) ? 0 : drm_gem_create_mmap_offset(obj);
	if (!ret)
		npu_gem_info(obj, args);
	drm_gem_object_put(obj);
	return ret;
}
