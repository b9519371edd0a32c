// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbells in processes. Pages come by fault, so that they can be taken away again: a mapping of a
 * queue that is gone shows a page of zeroes instead, and stores to it do nothing. When the device
 * sleeps no page is mapped, so that the first store wakes it up.
 */
#include <linux/file.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_context.h"
#include "npu_trace.h"

static loff_t npu_doorbell_offset(const struct npu_queue *queue)
{
	return (loff_t)NPU_MMAP_DOORBELL << NPU_MMAP_KIND_SHIFT |
	       (loff_t)queue->index << NPU_MMAP_NUMBER_SHIFT;
}

static void npu_doorbell_unmap(struct npu_device *ndev, loff_t offset, loff_t bytes)
{
	lockdep_assert_held(&ndev->doorbell_lock);
	unmap_mapping_range(ndev->drm.anon_inode->i_mapping, offset, bytes, 1);
}

/**
 * npu_doorbell_revoke() - no store reaches the doorbell any more when this returns
 * @ndev: the device
 * @queue: a queue that ends
 */
void npu_doorbell_revoke(struct npu_device *ndev, struct npu_queue *queue)
{
	mutex_lock(&ndev->doorbell_lock);
	queue->dead = true;
	npu_doorbell_unmap(ndev, npu_doorbell_offset(queue), PAGE_SIZE);
	mutex_unlock(&ndev->doorbell_lock);
}

/**
 * npu_doorbell_revoke_all() - the same for all of a device
 * @ndev: dead
 */
void npu_doorbell_revoke_all(struct npu_device *ndev)
{
	mutex_lock(&ndev->doorbell_lock);
	npu_doorbell_unmap(ndev, (loff_t)NPU_MMAP_DOORBELL << NPU_MMAP_KIND_SHIFT,
			   1ull << NPU_MMAP_KIND_SHIFT);
	mutex_unlock(&ndev->doorbell_lock);
}

/**
 * npu_doorbell_close_all() - from now on stores to doorbells wait
 * @ndev: about to be suspended
 *
 * Every store before has reached the device when this returns and the device is asked anything.
 */
void npu_doorbell_close_all(struct npu_device *ndev)
{
	mutex_lock(&ndev->doorbell_lock);
	ndev->doorbells_closed = true;
	npu_doorbell_unmap(ndev, (loff_t)NPU_MMAP_DOORBELL << NPU_MMAP_KIND_SHIFT,
			   1ull << NPU_MMAP_KIND_SHIFT);
	mutex_unlock(&ndev->doorbell_lock);
}

/**
 * npu_doorbell_open_all() - doorbells can be reached again
 * @ndev: at work
 */
void npu_doorbell_open_all(struct npu_device *ndev)
{
	mutex_lock(&ndev->doorbell_lock);
	ndev->doorbells_closed = false;
	mutex_unlock(&ndev->doorbell_lock);
}

/* VM_FAULT_RETRY: not while the device sleeps. */
static vm_fault_t npu_doorbell_show(struct npu_device *ndev, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct npu_queue *queue = vma->vm_private_data;
	phys_addr_t page = ndev->doorbells + (phys_addr_t)queue->index * NPU_DOORBELL_STRIDE;
	vm_fault_t ret;

	mutex_lock(&ndev->doorbell_lock);
	if (queue->dead || npu_device_is_dead(ndev))
		ret = vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(queue->dummy),
					  vm_get_page_prot(vma->vm_flags));
	else if (ndev->doorbells_closed)
		ret = VM_FAULT_RETRY;
	else
		ret = vmf_insert_pfn_prot(vma, vmf->address, PHYS_PFN(page), vma->vm_page_prot);
	mutex_unlock(&ndev->doorbell_lock);
	return ret;
}

/* Waking takes long, so mmap_lock is let go of, and the fault comes again. */
static vm_fault_t npu_doorbell_wake(struct npu_device *ndev, struct vm_fault *vmf)
{
	struct file *file;
	int idx;

	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	/* The mapping may go meanwhile; the file keeps the device. */
	file = get_file(vmf->vma->vm_file);
	release_fault_lock(vmf);
	if (!npu_device_enter(ndev, &idx))
		npu_device_exit(ndev, idx);
	fput(file);
	return VM_FAULT_RETRY;
}

/* It fell asleep again: it is kept awake until the page is there. */
static vm_fault_t npu_doorbell_show_awake(struct npu_device *ndev, struct vm_fault *vmf)
{
	vm_fault_t ret;
	int idx;

	if (npu_device_enter(ndev, &idx)) {
		ret = npu_doorbell_show(ndev, vmf);
	} else {
		ret = npu_doorbell_show(ndev, vmf);
		npu_device_exit(ndev, idx);
	}
	return ret == VM_FAULT_RETRY ? VM_FAULT_SIGBUS : ret;
}

static vm_fault_t npu_doorbell_fault(struct vm_fault *vmf)
{
	struct drm_file *file = vmf->vma->vm_file->private_data;
	struct npu_device *ndev = to_npu_device(file->minor->dev);
	vm_fault_t ret = npu_doorbell_show(ndev, vmf);

	trace_npu_doorbell_fault(ndev, vmf->vma->vm_private_data, ret == VM_FAULT_RETRY);
	if (ret != VM_FAULT_RETRY)
		return ret;
	if (fault_flag_allow_retry_first(vmf->flags))
		return npu_doorbell_wake(ndev, vmf);
	return npu_doorbell_show_awake(ndev, vmf);
}

static void npu_doorbell_open(struct vm_area_struct *vma)
{
	struct npu_queue *queue = vma->vm_private_data;

	kref_get(&queue->ref);
}

static void npu_doorbell_close(struct vm_area_struct *vma)
{
	npu_queue_put(vma->vm_private_data);
}

static const struct vm_operations_struct npu_doorbell_ops = {
	.open = npu_doorbell_open,
	.close = npu_doorbell_close,
	.fault = npu_doorbell_fault,
};

/* The queue, if it is one of the file's. */
static struct npu_queue *npu_doorbell_queue(struct npu_file *file, u32 index)
{
	struct npu_device *ndev = file->ndev;
	struct npu_queue *queue = NULL;
	struct npu_context *ctx;

	if (index >= NPU_QUEUES_MAX)
		return NULL;
	spin_lock(&ndev->contexts_lock);
	if (ndev->queues[index]) {
		ctx = ndev->queues[index]->ctx;
		if (ctx->file == file) {
			queue = ndev->queues[index];
			kref_get(&queue->ref);
		}
	}
	spin_unlock(&ndev->contexts_lock);
	return queue;
}

/**
 * npu_doorbell_mmap() - map a doorbell
 * @file: the file
 * @vma: the mapping
 * @index: hardware number of the queue
 * @first_page: where in the doorbell it begins
 *
 * Return: 0; -ENOENT, -EACCES (not shared, or not for writing only), -EINVAL (not one page).
 */
int npu_doorbell_mmap(struct npu_file *file, struct vm_area_struct *vma, u32 index,
		      unsigned long first_page)
{
	struct npu_queue *queue;

	if (first_page || vma_pages(vma) != 1)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED) || !(vma->vm_flags & VM_WRITE) ||
	    vma->vm_flags & (VM_READ | VM_EXEC))
		return -EACCES;
	queue = npu_doorbell_queue(file, index);
	if (!queue)
		return -ENOENT;
	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYREAD | VM_MAYEXEC);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_private_data = queue;
	vma->vm_ops = &npu_doorbell_ops;
	return 0;
}
