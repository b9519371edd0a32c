// SPDX-License-Identifier: GPL-2.0-only
/* Memory that mappings hold: a range of a buffer, pinned, and mapped for the device. */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_gem.h>

#include "npu_compat.h"
#include "npu_gem.h"

/* Memory of others is pinned by its owner, a program's own as long as it is a buffer. */
static bool npu_pinning_holds_pages(struct drm_gem_object *obj)
{
	return !npu_import_dma_buf(obj) && !npu_userptr_is(obj);
}

static void npu_pinning_unmap(struct npu_pinning *pinning)
{
	struct device *dev = pinning->obj->dev->dev;

	if (pinning->attachment) {
		dma_buf_unmap_attachment_unlocked(pinning->attachment, pinning->sgt,
						  pinning->direction);
		dma_buf_detach(npu_import_dma_buf(pinning->obj), pinning->attachment);
	} else {
		dma_unmap_sgtable(dev, &pinning->own, pinning->direction, NPU_DMA_ATTRS);
		sg_free_table(&pinning->own);
	}
}

static void npu_pinning_free(struct kref *ref)
{
	struct npu_pinning *pinning = container_of(ref, struct npu_pinning, ref);

	if (pinning->sgt)
		npu_pinning_unmap(pinning);
	if (npu_pinning_holds_pages(pinning->obj))
		npu_gem_unpin(pinning->obj);
	drm_gem_object_put(pinning->obj);
	kfree(pinning);
}

/**
 * npu_pinning_put() - let go of memory
 * @pinning: once it is mapped, the last one is let go of before the driver is unbound
 */
void npu_pinning_put(struct npu_pinning *pinning)
{
	kref_put(&pinning->ref, npu_pinning_free);
}

/**
 * npu_pinning_new() - pin a range of a buffer
 * @account: who pays, when nobody does so already; not for memory of others
 * @obj: the buffer
 * @offset: where the range begins, inside the buffer
 * @bytes: of the range
 *
 * May take long. Memory of others is pinned by its owner, in npu_pinning_map().
 *
 * Return: the range or an error pointer.
 */
struct npu_pinning *npu_pinning_new(struct npu_account *account, struct drm_gem_object *obj,
				    u64 offset, u64 bytes)
{
	struct npu_pinning *pinning;
	int ret = 0;

	pinning = kzalloc(sizeof(*pinning), GFP_KERNEL_ACCOUNT);
	if (!pinning)
		return ERR_PTR(-ENOMEM);
	if (npu_pinning_holds_pages(obj))
		ret = npu_gem_pin(obj, account);
	if (ret) {
		kfree(pinning);
		return ERR_PTR(ret);
	}
	kref_init(&pinning->ref);
	drm_gem_object_get(obj);
	pinning->obj = obj;
	pinning->direction = npu_userptr_is_read_only(obj) ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
	pinning->offset = offset;
	pinning->bytes = bytes;
	return pinning;
}

static int npu_pinning_map_import(struct npu_pinning *pinning, struct dma_buf *dma_buf)
{
	struct dma_buf_attachment *attachment;
	struct sg_table *sgt;

	attachment = dma_buf_attach(dma_buf, pinning->obj->dev->dev);
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	sgt = dma_buf_map_attachment_unlocked(attachment, pinning->direction);
	if (IS_ERR(sgt)) {
		dma_buf_detach(dma_buf, attachment);
		return PTR_ERR(sgt);
	}
	pinning->attachment = attachment;
	pinning->sgt = sgt;
	return 0;
}

static struct page **npu_pinning_pages(struct drm_gem_object *obj)
{
	return npu_userptr_is(obj) ? npu_userptr_pages(obj) : to_drm_gem_shmem_obj(obj)->pages;
}

static int npu_pinning_map_pages(struct npu_pinning *pinning)
{
	struct page **pages = npu_pinning_pages(pinning->obj);
	unsigned long first = pinning->offset >> PAGE_SHIFT;
	unsigned long end = DIV_ROUND_UP_ULL(pinning->offset + pinning->bytes, PAGE_SIZE);
	struct device *dev = pinning->obj->dev->dev;
	int ret;

	ret = sg_alloc_table_from_pages_segment(&pinning->own, pages + first, end - first, 0,
						(end - first) << PAGE_SHIFT,
						dma_get_max_seg_size(dev), GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	ret = dma_map_sgtable(dev, &pinning->own, pinning->direction, NPU_DMA_ATTRS);
	if (ret) {
		sg_free_table(&pinning->own);
		return ret;
	}
	pinning->sgt = &pinning->own;
	pinning->offset = offset_in_page(pinning->offset);
	return 0;
}

/**
 * npu_pinning_map() - map pinned memory for the device
 * @pinning: not mapped yet; the caller is inside npu_device_enter()
 *
 * Return: 0 or a negative errno.
 */
int npu_pinning_map(struct npu_pinning *pinning)
{
	struct dma_buf *dma_buf = npu_import_dma_buf(pinning->obj);

	return dma_buf ? npu_pinning_map_import(pinning, dma_buf) : npu_pinning_map_pages(pinning);
}

/**
 * npu_pinning_peek() - copy a part of it
 * @pinning: the memory
 * @offset: in the range that was pinned
 * @to: where to
 * @bytes: of the part
 *
 * Return: whether it could be read; memory of another driver's cannot.
 */
bool npu_pinning_peek(struct npu_pinning *pinning, u64 offset, void *to, size_t bytes)
{
	struct sg_table *own = &pinning->own;

	if (pinning->sgt != own)
		return false;
	return sg_pcopy_to_buffer(own->sgl, own->orig_nents, to, bytes,
				  pinning->offset + offset) == bytes;
}
