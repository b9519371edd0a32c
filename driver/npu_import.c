// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of others. Importing one only remembers it: what it needs of the device, attachment and
 * DMA mapping, is made by each binding and goes with it, so that an object that outlives the driver
 * holds nothing of the device. (Older kernels map some exporters' memory with the attachment.)
 */
#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "npu_device.h"
#include "npu_gem.h"

/* The macro for it takes a string on some kernels, a word on others. */
MODULE_INFO(import_ns, "DMA_BUF");

/**
 * struct npu_import - a buffer of somebody else
 * @base: the object; its own reference to @dma_buf goes with its last handle
 * @dma_buf: with a reference
 */
struct npu_import {
	struct drm_gem_object base;
	struct dma_buf *dma_buf;
};

static void npu_import_free(struct drm_gem_object *obj)
{
	struct npu_import *import = container_of(obj, struct npu_import, base);

	drm_gem_object_release(obj);
	dma_buf_put(import->dma_buf);
	kfree(import);
}

static int npu_import_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	/* The exporter brings its own. */
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	vm_flags_set(vma, VM_DONTEXPAND);
	ret = dma_buf_mmap(npu_import_dma_buf(obj), vma, 0);
	/* The mapping holds the exporter's file, not this object. */
	if (!ret)
		drm_gem_object_put(obj);
	return ret;
}

/* For fdinfo: where its owner has it is not known, but there it is. */
static enum drm_gem_object_status npu_import_status(struct drm_gem_object *obj)
{
	return DRM_GEM_OBJECT_RESIDENT;
}

static const struct drm_gem_object_funcs npu_import_funcs = {
	.free = npu_import_free,
	.mmap = npu_import_mmap,
	.status = npu_import_status,
};

/**
 * npu_import_dma_buf() - what an object stands for
 * @obj: the object
 *
 * Return: the buffer it was imported from, NULL when it is one of our own.
 */
struct dma_buf *npu_import_dma_buf(struct drm_gem_object *obj)
{
	if (obj->funcs != &npu_import_funcs)
		return NULL;
	return container_of(obj, struct npu_import, base)->dma_buf;
}

/**
 * npu_import() - make an object of a dma-buf
 * @drm: the device
 * @dma_buf: the buffer
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *npu_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *own;
	struct npu_import *import;

	if (npu_device_is_gone(to_npu_device(drm)))
		return ERR_PTR(-ENODEV);
	/* Finds what this device exported itself; of others it could make nothing. */
	own = drm_gem_prime_import(drm, dma_buf);
	if (!IS_ERR(own))
		return own;
	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return ERR_PTR(-ENOMEM);
	get_dma_buf(dma_buf);
	import->dma_buf = dma_buf;
	import->base.funcs = &npu_import_funcs;
	import->base.resv = dma_buf->resv;
	drm_gem_private_object_init(drm, &import->base, PAGE_ALIGN(dma_buf->size));
	return &import->base;
}
