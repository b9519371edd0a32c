// SPDX-License-Identifier: GPL-2.0-only
/* Tables and translations of an address space. Authority: Documentation/hardware/mmu.rst. */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "npu_context.h"

#define NPU_TLB_CONTEXT		2
#define NPU_TLB_RANGE		3
#define NPU_TLB_CONTEXT_SHIFT	8
#define NPU_TLB_POLL_US		10
#define NPU_TLB_TIMEOUT_US	(5 * USEC_PER_SEC)

#define NPU_TABLE_BYTES		NPU_PAGE_BYTES
#define NPU_TABLE_CHARGE	max_t(u64, NPU_TABLE_BYTES, PAGE_SIZE)

/* What a table that waits to be used holds. */
struct npu_spare_table {
	struct list_head link;
	dma_addr_t dma;
};

/* It is paid for already. */
static struct npu_spare_table *npu_table_new(struct npu_vm *vm)
{
	struct npu_spare_table *spare;
	dma_addr_t dma;

	spare = dma_alloc_coherent(vm->ndev->drm.dev, NPU_TABLE_BYTES, &dma, GFP_KERNEL_ACCOUNT);
	if (spare)
		spare->dma = dma;
	else
		npu_account_give(vm->account, NPU_QUOTA_BYTES, NPU_TABLE_CHARGE);
	return spare;
}

static void *npu_table_alloc(void *owner, __u64 *dma)
{
	struct npu_vm *vm = owner;
	struct npu_spare_table *spare;

	/* Whoever asks has reserved what he can need. */
	spare = list_first_entry_or_null(&vm->reserve, struct npu_spare_table, link);
	if (drm_WARN_ON(&vm->ndev->drm, !spare))
		return NULL;
	list_del(&spare->link);
	*dma = spare->dma;
	memset(spare, 0, sizeof(*spare));
	return spare;
}

static void npu_table_free(void *owner, void *table, __u64 dma)
{
	struct npu_vm *vm = owner;

	dma_free_coherent(vm->ndev->drm.dev, NPU_TABLE_BYTES, table, dma);
	npu_account_give(vm->account, NPU_QUOTA_BYTES, NPU_TABLE_CHARGE);
}

/*
 * Two pages at most, and after the point of no return: a failure would leave some operations of a
 * call done and others not.
 */
static void *npu_host_alloc(void *owner, unsigned long bytes)
{
	return kzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
}

static void npu_host_free(void *owner, void *memory)
{
	kfree(memory);
}

static const struct npu_pgtable_ops npu_pgtable_ops = {
	.table_alloc = npu_table_alloc,
	.table_free = npu_table_free,
	.host_alloc = npu_host_alloc,
	.host_free = npu_host_free,
};

/**
 * npu_vm_init() - make an empty address space
 * @account: who pays for it
 * @vm: to be initialized
 * @map_flags: NPU_MAP_*
 *
 * Return: 0, -ENOMEM, -EDQUOT, -ENOSPC; then there is nothing to be undone.
 */
int npu_vm_init(struct npu_account *account, struct npu_vm *vm, unsigned int map_flags)
{
	int ret;

	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->reserve);
	vm->mappings = RB_ROOT;
	vm->ndev = account->ndev;
	vm->account = account;
	vm->map_flags = map_flags;
	/* The root. */
	ret = npu_vm_reserve(vm, &vm->reserve, 1, false);
	if (!ret)
		ret = npu_pgtable_init(&vm->tables, &npu_pgtable_ops, vm);
	npu_vm_release(vm, &vm->reserve);
	vm->valid = !ret;
	return ret;
}

/**
 * npu_vm_fini() - unpin all memory and give all tables back
 * @vm: the device does not use it any more
 *
 * Nothing can be bound in it afterwards. May be called again.
 */
void npu_vm_fini(struct npu_vm *vm)
{
	mutex_lock(&vm->lock);
	if (vm->valid) {
		vm->valid = false;
		npu_bind_clear(vm);
		npu_pgtable_fini(&vm->tables);
	}
	mutex_unlock(&vm->lock);
}

/**
 * npu_vm_reserve() - make tables in advance
 * @vm: for which
 * @reserve: list they are added to
 * @tables: how many
 * @anyway: what for is worth going beyond a cap
 *
 * Without locks, as it may take long.
 *
 * Return: 0, -ENOMEM, -EDQUOT, -ENOSPC, -EINTR (the process is to be killed). What was made is on
 * @reserve.
 */
int npu_vm_reserve(struct npu_vm *vm, struct list_head *reserve, unsigned long tables, bool anyway)
{
	struct npu_spare_table *spare;
	int ret = 0;

	while (tables--) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (anyway)
			npu_account_take_anyway(vm->account, NPU_QUOTA_BYTES, NPU_TABLE_CHARGE);
		else
			ret = npu_account_take(vm->account, NPU_QUOTA_BYTES, NPU_TABLE_CHARGE);
		if (ret)
			return ret;
		spare = npu_table_new(vm);
		if (!spare)
			return -ENOMEM;
		list_add(&spare->link, reserve);
		cond_resched();
	}
	return 0;
}

/**
 * npu_vm_release() - give tables back that were not needed
 * @vm: for which they were made
 * @reserve: list of them; empty afterwards
 */
void npu_vm_release(struct npu_vm *vm, struct list_head *reserve)
{
	struct npu_spare_table *spare, *next;

	list_for_each_entry_safe(spare, next, reserve, link) {
		list_del(&spare->link);
		npu_table_free(vm, spare, spare->dma);
	}
}

/*
 * The device counts an invalidation when no access uses what it dropped. One that does not end is
 * that of an access of the context's.
 */
static void npu_mmu_invalidate(struct npu_context *ctx, u32 command)
{
	struct npu_device *ndev = ctx->ndev;
	u32 before, done;
	int ret;

	lockdep_assert_held(&ndev->tlb_lock);
	if (npu_device_is_dead(ndev)) {
		/* Whoever found out may not have got so far yet. */
		npu_device_stop(ndev);
		return;
	}
	before = npu_read(ndev, NPU_REG_TLB_DONE);
	npu_write(ndev, NPU_REG_TLB_INVALIDATE, command | ctx->index << NPU_TLB_CONTEXT_SHIFT);
	ret = readl_poll_timeout(ndev->regs + NPU_REG_TLB_DONE, done, done != before,
				 NPU_TLB_POLL_US, NPU_TLB_TIMEOUT_US);
	/* All ones come from a device that is gone, and has been seen to count up there. */
	if (npu_read(ndev, NPU_REG_ID) == NPU_ID_VALUE) {
		if (!ret)
			return;
		npu_semaphore_fail(ctx, -EIO, DRM_NPU_CTX_GUILTY);
	}
	npu_device_die(ndev, NPU_FAILURE_INVALIDATION);
}

/**
 * npu_mmu_invalidate_context() - the device forgets an address space
 * @ctx: whose; the caller is inside npu_device_enter()
 *
 * When it returns, memory that was unmapped before is not reached any more: the device has
 * completed it, or is stopped.
 */
void npu_mmu_invalidate_context(struct npu_context *ctx)
{
	struct npu_device *ndev = ctx->ndev;

	mutex_lock(&ndev->tlb_lock);
	npu_mmu_invalidate(ctx, NPU_TLB_CONTEXT);
	mutex_unlock(&ndev->tlb_lock);
}

/**
 * npu_mmu_invalidate_range() - the same for a range
 * @ctx: whose; the caller is inside npu_device_enter()
 * @va: first address
 * @bytes: not 0
 */
void npu_mmu_invalidate_range(struct npu_context *ctx, u64 va, u64 bytes)
{
	struct npu_device *ndev = ctx->ndev;

	mutex_lock(&ndev->tlb_lock);
	npu_write64(ndev, NPU_REG_TLB_ADDRESS_LO, va);
	npu_write64(ndev, NPU_REG_TLB_BYTES_LO, bytes);
	npu_mmu_invalidate(ctx, NPU_TLB_RANGE);
	mutex_unlock(&ndev->tlb_lock);
}
