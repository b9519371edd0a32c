// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: what the device knows of them, and their semaphore areas. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_compat.h"
#include "npu_context.h"
#include "npu_trace.h"

/**
 * npu_context_table_init() - memory for what CONTEXT_UPDATE reads
 * @ndev: the device, before its firmware runs
 *
 * Return: 0, -ENOMEM.
 */
int npu_context_table_init(struct npu_device *ndev)
{
	size_t bytes = ndev->caps.contexts * sizeof(*ndev->context_table);

	ndev->context_table = dmam_alloc_coherent(ndev->drm.dev, bytes, &ndev->context_table_dma,
						  GFP_KERNEL);
	return ndev->context_table ? 0 : -ENOMEM;
}

static size_t npu_context_values_bytes(struct npu_context *ctx)
{
	return ctx->ndev->caps.semaphores * sizeof(__le64);
}

/* Behind values and status word, in the device's terms one burst. */
static size_t npu_context_counters_offset(struct npu_context *ctx)
{
	return ALIGN(npu_context_values_bytes(ctx) + sizeof(__le32), sizeof(*ctx->counters));
}

static void npu_context_update(struct npu_context *ctx, u32 flags)
{
	struct npu_device *ndev = ctx->ndev;
	struct npu_context_entry *entry = &ndev->context_table[ctx->index];

	lockdep_assert_held(&ndev->hw_lock);
	memset(entry, 0, sizeof(*entry));
	if (flags) {
		entry->page_table = cpu_to_le64(npu_pgtable_root(&ctx->vm.tables));
		entry->semaphores = cpu_to_le64(ctx->area_dma);
		entry->thresholds = cpu_to_le64(ctx->thresholds_dma);
		entry->counters = cpu_to_le64(ctx->area_dma + npu_context_counters_offset(ctx));
		entry->flags = cpu_to_le32(flags);
	}
	/* writel() orders the entry before the device is asked to read it. */
	npu_write(ndev, NPU_REG_CONTEXT_UPDATE, ctx->index);
}

/*
 * Pages of their own rather than coherent memory, as processes may keep them mapped when the device
 * is gone. The device must see processor caches, without which there are no contexts.
 */
static int npu_context_area_init(struct npu_context *ctx)
{
	struct device *dev = ctx->ndev->drm.dev;
	size_t values = npu_context_values_bytes(ctx);

	ctx->area_bytes = PAGE_ALIGN(npu_context_counters_offset(ctx) + sizeof(*ctx->counters));
	ctx->area_order = get_order(ctx->area_bytes);
	ctx->area = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_COMP, ctx->area_order);
	if (!ctx->area)
		return -ENOMEM;
	ctx->values = page_address(ctx->area);
	ctx->status = (__le32 *)((void *)ctx->values + values);
	ctx->counters = (void *)ctx->values + npu_context_counters_offset(ctx);
	ctx->area_dma = dma_map_page_attrs(dev, ctx->area, 0, ctx->area_bytes,
					   DMA_BIDIRECTIONAL, NPU_DMA_ATTRS);
	if (dma_mapping_error(dev, ctx->area_dma)) {
		__free_pages(ctx->area, ctx->area_order);
		ctx->area = NULL;
		return -ENOMEM;
	}
	ctx->thresholds = dma_alloc_coherent(dev, PAGE_ALIGN(values), &ctx->thresholds_dma,
					     GFP_KERNEL_ACCOUNT);
	return ctx->thresholds ? 0 : -ENOMEM;
}

/* The device's part of a context's memory; the pages of the area stay. */
static void npu_context_area_unmap(struct npu_context *ctx)
{
	struct device *dev = ctx->ndev->drm.dev;
	__le64 *thresholds;

	spin_lock(&ctx->wait_lock);
	thresholds = ctx->thresholds;
	ctx->thresholds = NULL;
	spin_unlock(&ctx->wait_lock);
	if (thresholds)
		dma_free_coherent(dev, PAGE_ALIGN(npu_context_values_bytes(ctx)), thresholds,
				  ctx->thresholds_dma);
	if (ctx->area)
		dma_unmap_page_attrs(dev, ctx->area_dma, ctx->area_bytes, DMA_BIDIRECTIONAL,
				     NPU_DMA_ATTRS);
}

static void npu_context_free(struct kref *ref)
{
	struct npu_context *ctx = container_of(ref, struct npu_context, ref);
	struct drm_device *drm = &ctx->ndev->drm;

	WARN_ON(!ctx->gone);
	/* Somebody may have asked when it had ended already. */
	npu_notice_drop(ctx);
	xa_destroy(&ctx->queues);
	kvfree(ctx->watches);
	npu_account_put(ctx->account);
	if (ctx->area)
		__free_pages(ctx->area, ctx->area_order);
	kfree(ctx);
	drm_dev_put(drm);
}

/**
 * npu_context_put() - end using a context
 * @ctx: the context
 */
void npu_context_put(struct npu_context *ctx)
{
	kref_put(&ctx->ref, npu_context_free);
}

/**
 * npu_context_get() - begin to use a context of a file
 * @file: the file
 * @id: number of the context
 *
 * Return: the context with a reference, or NULL.
 */
struct npu_context *npu_context_get(struct npu_file *file, u32 id)
{
	struct npu_context *ctx;

	xa_lock(&file->contexts);
	ctx = xa_load(&file->contexts, id);
	if (ctx)
		kref_get(&ctx->ref);
	xa_unlock(&file->contexts);
	return ctx;
}

/**
 * npu_context_get_by_index() - the context the device means
 * @ndev: the device
 * @index: hardware number
 *
 * Return: the context with a reference, or NULL.
 */
struct npu_context *npu_context_get_by_index(struct npu_device *ndev, u32 index)
{
	struct npu_context *ctx = NULL;

	if (index >= NPU_CONTEXTS_MAX)
		return NULL;
	spin_lock(&ndev->contexts_lock);
	if (ndev->contexts[index] && kref_get_unless_zero(&ndev->contexts[index]->ref))
		ctx = ndev->contexts[index];
	spin_unlock(&ndev->contexts_lock);
	return ctx;
}

/**
 * npu_context_next() - each of the device's contexts in turn
 * @ndev: the device
 * @index: hardware number to begin with, 0 at first; is set to the one behind
 *
 * Return: the context with a reference, NULL when there are no more.
 */
struct npu_context *npu_context_next(struct npu_device *ndev, u32 *index)
{
	struct npu_context *ctx = NULL;

	while (!ctx && *index < NPU_CONTEXTS_MAX)
		ctx = npu_context_get_by_index(ndev, (*index)++);
	return ctx;
}

static int npu_context_take_index(struct npu_context *ctx)
{
	struct npu_device *ndev = ctx->ndev;
	int ret;
	u32 i;

	ret = npu_account_take(ctx->account, NPU_QUOTA_CONTEXTS, 1);
	if (ret)
		return ret;
	spin_lock(&ndev->contexts_lock);
	for (i = 0; i < ndev->caps.contexts && ndev->contexts[i]; i++)
		;
	if (i < ndev->caps.contexts) {
		ctx->index = i;
		ndev->contexts[i] = ctx;
	}
	spin_unlock(&ndev->contexts_lock);
	if (i < ndev->caps.contexts)
		return 0;
	npu_account_give(ctx->account, NPU_QUOTA_CONTEXTS, 1);
	return -ENOSPC;
}

static void npu_context_give_index(struct npu_context *ctx)
{
	spin_lock(&ctx->ndev->contexts_lock);
	npu_usage_keep(ctx);
	ctx->ndev->contexts[ctx->index] = NULL;
	spin_unlock(&ctx->ndev->contexts_lock);
	npu_account_give(ctx->account, NPU_QUOTA_CONTEXTS, 1);
}

/* Everything of it that works without the device. */
static struct npu_context *npu_context_new(struct npu_file *file, u32 flags)
{
	unsigned int map_flags = flags & DRM_NPU_CTX_SMALL_PAGES ? NPU_MAP_SMALL_PAGES : 0;
	struct npu_device *ndev = file->ndev;
	struct npu_context *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	kref_init(&ctx->ref);
	ctx->ndev = ndev;
	drm_dev_get(&ndev->drm);
	ctx->file = file;
	ctx->account = npu_account_get(file->account);
	xa_init_flags(&ctx->queues, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&ctx->wait_lock);
	INIT_LIST_HEAD(&ctx->waits);
	INIT_LIST_HEAD(&ctx->signals);
	INIT_LIST_HEAD(&ctx->ending);
	ret = npu_vm_init(ctx->account, &ctx->vm, map_flags);
	if (!ret)
		ret = npu_context_area_init(ctx);
	if (!ret)
		ret = npu_semaphore_init(ctx);
	if (ret) {
		ctx->gone = true;
		npu_vm_fini(&ctx->vm);
		npu_context_area_unmap(ctx);
		npu_context_put(ctx);
		return ERR_PTR(ret);
	}
	return ctx;
}

/* Makes it known to the device. */
static int npu_context_announce(struct npu_context *ctx)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_CONTEXT_CREATE) };
	struct npu_device *ndev = ctx->ndev;
	int ret;

	mutex_lock(&ndev->hw_lock);
	ret = npu_context_take_index(ctx);
	if (ret)
		goto unlock;
	npu_context_update(ctx, NPU_CONTEXT_VALID);
	message.argument[0] = cpu_to_le32(ctx->index);
	ret = npu_mailbox_send(ndev, &message);
	if (ret) {
		if (!npu_device_is_dead(ndev))
			npu_context_update(ctx, 0);
		/* Who has found it by its number meanwhile leaves it to the caller. */
		ctx->gone = true;
		npu_context_give_index(ctx);
	} else {
		npu_log_follow_soon(ndev);
	}
unlock:
	mutex_unlock(&ndev->hw_lock);
	return ret;
}

/* The device forgets it, or is stopped: memory can be reused in any case. */
static void npu_context_withdraw(struct npu_context *ctx)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_CONTEXT_DESTROY) };
	struct npu_device *ndev = ctx->ndev;

	lockdep_assert_held(&ndev->hw_lock);
	message.argument[0] = cpu_to_le32(ctx->index);
	if (npu_mailbox_send(ndev, &message)) {
		npu_device_die(ndev, NPU_FAILURE_CONTEXT_END);
	} else {
		npu_context_update(ctx, 0);
		npu_mmu_invalidate_context(ctx);
		/* What is in the rings must not be taken for a later one's of this number. */
		npu_irq_drain(ndev);
	}
}

/**
 * npu_context_restore() - make it known to the device again, which has forgotten all
 * @ctx: the context, which has a number; its queues come afterwards
 *
 * The device takes semaphores and counters from the area.
 *
 * Return: 0 or a negative errno.
 */
int npu_context_restore(struct npu_context *ctx)
{
	struct npu_message message = { .kind = cpu_to_le16(NPU_MESSAGE_CONTEXT_CREATE) };

	npu_context_update(ctx, NPU_CONTEXT_VALID);
	message.argument[0] = cpu_to_le32(ctx->index);
	return npu_mailbox_send(ctx->ndev, &message);
}

/**
 * npu_context_shut() - end a context, whoever still holds a reference
 * @ctx: the context
 *
 * When it returns, the device does not reach the context's memory any more, and nothing of it is
 * mapped for DMA. May be called again. While the whole system goes to sleep the device is not woken
 * up: it has forgotten the context already.
 */
void npu_context_shut(struct npu_context *ctx)
{
	struct npu_device *ndev = ctx->ndev;
	int ret, idx;

	npu_notice_drop(ctx);
	spin_lock(&ctx->wait_lock);
	ctx->ends |= !ctx->error;
	spin_unlock(&ctx->wait_lock);
	npu_semaphore_fail(ctx, -EIO, DRM_NPU_CTX_GUILTY);
	npu_syncobj_drop(ctx);
	/* Before the lock, which waking the device up takes. */
	ret = npu_device_enter(ndev, &idx);
	mutex_lock(&ndev->hw_lock);
	if (!ctx->gone) {
		ctx->gone = true;
		trace_npu_context_destroy(ctx);
		npu_queue_drop_all(ctx);
		if (!ndev->asleep && ret)
			npu_device_stop(ndev);
		else if (!ndev->asleep)
			npu_context_withdraw(ctx);
		npu_vm_fini(&ctx->vm);
		npu_context_area_unmap(ctx);
		/* Last: who unbinds the driver waits for contexts that have a number. */
		npu_context_give_index(ctx);
	}
	mutex_unlock(&ndev->hw_lock);
	if (!ret)
		npu_device_exit(ndev, idx);
}

/**
 * npu_context_create_ioctl() - DRM_IOCTL_NPU_CTX_CREATE
 * @drm: the device
 * @data: struct drm_npu_ctx_create
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *ndev = to_npu_device(drm);
	struct npu_file *nfile = file->driver_priv;
	struct drm_npu_ctx_create *args = data;
	struct npu_context *ctx;
	int ret, idx;

	if (args->flags & ~DRM_NPU_CTX_SMALL_PAGES || args->pad || args->pad2)
		return -EINVAL;
	if (!ndev->caps.contexts)
		return -EOPNOTSUPP;
	ret = npu_device_enter(ndev, &idx);
	if (ret)
		return ret;
	ctx = npu_context_new(nfile, args->flags);
	if (IS_ERR(ctx)) {
		ret = PTR_ERR(ctx);
		goto exit;
	}
	ret = npu_context_announce(ctx);
	if (ret)
		goto gone;
	/* Only what is complete gets into the table; nobody can guess its number before. */
	ret = xa_alloc(&nfile->contexts, &ctx->id, NULL, XA_LIMIT(1, NPU_MMAP_NUMBERS - 1),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		goto shut;
	args->ctx = ctx->id;
	args->semaphores = ndev->caps.semaphores;
	args->semaphores_offset = (u64)NPU_MMAP_SEMAPHORES << NPU_MMAP_KIND_SHIFT |
				  (u64)ctx->id << NPU_MMAP_NUMBER_SHIFT;
	args->semaphores_bytes = ctx->area_bytes;
	args->status_offset = (void *)ctx->status - (void *)ctx->values;
	args->counters_offset = npu_context_counters_offset(ctx);
	trace_npu_context_create(ctx);
	xa_store(&nfile->contexts, ctx->id, ctx, 0);
	goto exit;
shut:
	npu_context_shut(ctx);
	npu_context_put(ctx);
	if (ret == -EBUSY)
		ret = -ENOSPC;
	goto exit;
gone:
	ctx->gone = true;
	npu_vm_fini(&ctx->vm);
	npu_context_area_unmap(ctx);
	npu_context_put(ctx);
exit:
	npu_device_exit(ndev, idx);
	return ret;
}

/**
 * npu_context_destroy_ioctl() - DRM_IOCTL_NPU_CTX_DESTROY
 * @drm: the device
 * @data: struct drm_npu_ctx_destroy
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *nfile = file->driver_priv;
	struct drm_npu_ctx_destroy *args = data;
	struct npu_context *ctx;

	if (args->pad)
		return -EINVAL;
	ctx = npu_usage_begin_end(nfile, args->ctx);
	if (!ctx)
		return -ENOENT;
	npu_context_shut(ctx);
	npu_usage_end(nfile, ctx);
	npu_context_put(ctx);
	return 0;
}

/**
 * npu_context_fault() - note what the device says of an access that failed
 * @ctx: whose
 * @fault: entry of the fault queue
 */
void npu_context_fault(struct npu_context *ctx, const struct npu_fault *fault)
{
	u32 error = (le32_to_cpu(fault->header) >> 8) & 0xff;

	trace_npu_fault(ctx, fault);
	atomic64_inc(&ctx->account->faults);
	spin_lock(&ctx->wait_lock);
	ctx->fault[ctx->faults++ % NPU_FAULTS_KEPT] = *fault;
	npu_notice_check(ctx);
	spin_unlock(&ctx->wait_lock);
	/* Of other faults the firmware says nothing. */
	if (error == NPU_ERROR_BUDGET)
		npu_log_follow_soon(ctx->ndev);
	else if (error == NPU_ERROR_ECC)
		npu_devlink_ecc(ctx->ndev);
}

/* The newest fault, or the newest of a task. */
static const struct npu_fault *npu_context_find_fault(struct npu_context *ctx,
						      const struct drm_npu_ctx_status *args)
{
	u32 kept = min_t(u32, ctx->faults, NPU_FAULTS_KEPT);
	u32 i;

	lockdep_assert_held(&ctx->wait_lock);
	for (i = 1; i <= kept; i++) {
		const struct npu_fault *fault = &ctx->fault[(ctx->faults - i) % NPU_FAULTS_KEPT];

		if (!(args->flags & DRM_NPU_CTX_STATUS_TASK) ||
		    le32_to_cpu(fault->task_id) == args->task_id)
			return fault;
	}
	return NULL;
}

static void npu_context_fill_status(struct npu_context *ctx, struct drm_npu_ctx_status *args)
{
	const struct npu_fault *fault;

	spin_lock(&ctx->wait_lock);
	fault = npu_context_find_fault(ctx, args);
	args->state = npu_context_state(ctx);
	args->error = ctx->stop_error;
	args->queue = ctx->stop_queue;
	args->faults = ctx->faults;
	args->task_id = fault ? le32_to_cpu(fault->task_id) : 0;
	args->fault_error = fault ? (le32_to_cpu(fault->header) >> 8) & 0xff : 0;
	args->fault_access = fault ? le32_to_cpu(fault->access) : 0;
	args->fault_cluster = fault ? le32_to_cpu(fault->cluster) : 0;
	args->fault_address = fault ? le64_to_cpu(fault->address) : 0;
	args->fault_program_offset = fault ? le64_to_cpu(fault->program_offset) : 0;
	spin_unlock(&ctx->wait_lock);
}

/**
 * npu_context_status_ioctl() - DRM_IOCTL_NPU_CTX_STATUS
 * @drm: the device
 * @data: struct drm_npu_ctx_status
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_context_status_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_ctx_status *args = data;
	struct npu_context *ctx;

	if (args->flags & ~DRM_NPU_CTX_STATUS_TASK)
		return -EINVAL;
	if (!(args->flags & DRM_NPU_CTX_STATUS_TASK) && args->task_id)
		return -EINVAL;
	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	/* A task's record may be seen before the interrupt that tells of its fault. */
	npu_irq_drain_awake(ctx->ndev);
	npu_context_fill_status(ctx, args);
	npu_context_put(ctx);
	return 0;
}

/* ------------------------------------------------------- the area's mapping */

static void npu_area_open(struct vm_area_struct *vma)
{
	struct npu_context *ctx = vma->vm_private_data;

	kref_get(&ctx->ref);
}

static void npu_area_close(struct vm_area_struct *vma)
{
	npu_context_put(vma->vm_private_data);
}

static vm_fault_t npu_area_fault(struct vm_fault *vmf)
{
	struct npu_context *ctx = vmf->vma->vm_private_data;
	unsigned long offset = vmf->pgoff & ((1u << (NPU_MMAP_NUMBER_SHIFT - PAGE_SHIFT)) - 1);

	if (offset >= ctx->area_bytes >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	vmf->page = ctx->area + offset;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct npu_area_ops = {
	.open = npu_area_open,
	.close = npu_area_close,
	.fault = npu_area_fault,
};

/**
 * npu_context_mmap() - map a semaphore area, for reading
 * @file: the file
 * @vma: the mapping
 * @id: number of the context
 * @first_page: where in the area it begins
 *
 * Return: 0; -ENOENT, -EACCES (not for reading only), -EINVAL (beyond the area).
 */
int npu_context_mmap(struct npu_file *file, struct vm_area_struct *vma, u32 id,
		     unsigned long first_page)
{
	struct npu_context *ctx = npu_context_get(file, id);

	if (!ctx)
		return -ENOENT;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC)) {
		npu_context_put(ctx);
		return -EACCES;
	}
	if (first_page + vma_pages(vma) > ctx->area_bytes >> PAGE_SHIFT) {
		npu_context_put(ctx);
		return -EINVAL;
	}
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_private_data = ctx;
	vma->vm_ops = &npu_area_ops;
	return 0;
}
