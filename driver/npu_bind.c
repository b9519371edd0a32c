// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM_IOCTL_NPU_VM_BIND. Everything that can fail is done first: memory is pinned, objects and
 * tables are made, and the operations are played through on the tree of mappings, which can be
 * taken back. Then the tables are written, which cannot fail.
 *
 * What touches the device, its DMA mappings included, is done inside npu_device_enter(), so that
 * nothing of a call is left when unbinding the driver has waited for it.
 */
#include <linux/dma-mapping.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "npu_context.h"
#include "npu_gem.h"
#include "npu_trace.h"

#define NPU_LARGE_SHIFT		NPU_LARGE_PAGE_SHIFT
#define NPU_HUGE_SHIFT		30	/* what a table of the middle level covers */

/* A program's flags are handed on as they are. */
static_assert(DRM_NPU_BIND_READ == NPU_PROT_READ);
static_assert(DRM_NPU_BIND_WRITE == NPU_PROT_WRITE);
static_assert(DRM_NPU_BIND_EXEC == NPU_PROT_EXEC);

/**
 * struct npu_mapping - a range of addresses and what is there
 * @node: in the tree of its address space
 * @link: in a list of those taken out
 * @va: first address
 * @bytes: length
 * @base: address where @pinning began before ends were cut off
 * @flags: enum drm_npu_bind_flags
 * @pinning: with a reference
 */
struct npu_mapping {
	struct rb_node node;
	struct list_head link;
	u64 va;
	u64 bytes;
	u64 base;
	u32 flags;
	struct npu_pinning *pinning;
};

/**
 * struct npu_bind - one operation, prepared
 * @op: as handed in
 * @extents: map: the memory
 * @extent_count: how many
 * @fresh: mappings that may be put into the tree: map one, unmap two for what an end cuts off
 * @put: which of @fresh were
 * @removed: mappings that were taken out of the tree
 */
struct npu_bind {
	struct drm_npu_bind_op op;
	struct npu_pgtable_extent *extents;
	unsigned long extent_count;
	struct npu_mapping *fresh[2];
	bool put[2];
	struct list_head removed;
};

/**
 * struct npu_bind_job - a call
 * @vm: address space
 * @binds: operations
 * @count: how many
 * @failed: the one to blame
 * @reserve: tables made for it
 */
struct npu_bind_job {
	struct npu_vm *vm;
	struct npu_bind *binds;
	u32 count;
	u32 failed;
	struct list_head reserve;
};

static struct npu_mapping *npu_mapping_new(void)
{
	return kzalloc(sizeof(struct npu_mapping), GFP_KERNEL_ACCOUNT);
}

static void npu_mapping_free(struct npu_mapping *mapping)
{
	if (!mapping)
		return;
	if (mapping->pinning)
		npu_pinning_put(mapping->pinning);
	kfree(mapping);
}

/* The part of a DMA segment at @at that belongs to the range; 0 bytes when none does. */
static struct npu_pgtable_extent npu_segment_cut(struct scatterlist *sg, u64 at, u64 from, u64 to)
{
	u64 start = max(at, from);
	u64 end = min(at + sg_dma_len(sg), to);
	struct npu_pgtable_extent extent = { .address = sg_dma_address(sg) + (start - at) };

	extent.bytes = start < end ? end - start : 0;
	return extent;
}

static int npu_bind_extents(struct npu_bind *bind, struct npu_pinning *pinning)
{
	u64 from = pinning->offset, to = from + pinning->bytes, at = 0, sum = 0;
	struct npu_pgtable_extent extent;
	struct scatterlist *sg;
	unsigned int i;

	bind->extents = kvmalloc_array(pinning->sgt->nents, sizeof(extent), GFP_KERNEL_ACCOUNT);
	if (!bind->extents)
		return -ENOMEM;
	for_each_sgtable_dma_sg(pinning->sgt, sg, i) {
		extent = npu_segment_cut(sg, at, from, to);
		at += sg_dma_len(sg);
		if (!extent.bytes)
			continue;
		/* An exporter may hand out memory in pieces that are no pages. */
		if (!IS_ALIGNED(extent.address | extent.bytes, NPU_PAGE_BYTES))
			return -EINVAL;
		sum += extent.bytes;
		bind->extents[bind->extent_count++] = extent;
	}
	return sum == pinning->bytes ? 0 : -EINVAL;
}

static int npu_bind_check(const struct drm_npu_bind_op *op)
{
	const u32 known = DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE | DRM_NPU_BIND_EXEC;

	if (op->pad || !op->bytes || !IS_ALIGNED(op->va | op->bytes | op->offset, NPU_PAGE_BYTES))
		return -EINVAL;
	if (op->va >= NPU_VA_END || op->bytes > NPU_VA_END - op->va)
		return -EINVAL;
	switch (op->type) {
	case DRM_NPU_BIND_MAP:
		if (op->flags & ~known || !(op->flags & DRM_NPU_BIND_READ))
			return -EINVAL;
		return 0;
	case DRM_NPU_BIND_UNMAP:
		return op->flags || op->handle || op->offset ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

/* Tables a range can need: one for each 2 MiB and for each 1 GiB it touches. */
static unsigned long npu_bind_tables(const struct drm_npu_bind_op *op)
{
	u64 last = op->va + op->bytes - 1;

	/* An unmap splits a large leaf at each of its ends. */
	if (op->type == DRM_NPU_BIND_UNMAP)
		return 2;
	return (last >> NPU_LARGE_SHIFT) - (op->va >> NPU_LARGE_SHIFT) +
	       (last >> NPU_HUGE_SHIFT) - (op->va >> NPU_HUGE_SHIFT) + 2;
}

static int npu_bind_prepare_map(struct npu_bind_job *job, struct npu_bind *bind,
				struct drm_gem_object *obj)
{
	const struct drm_npu_bind_op *op = &bind->op;
	struct npu_pinning *pinning;
	int ret;

	if (op->offset > obj->size || op->bytes > obj->size - op->offset)
		return -EINVAL;
	ret = npu_userptr_is(obj) ? npu_userptr_check(obj, op->flags & DRM_NPU_BIND_WRITE) : 0;
	if (ret)
		return ret;
	pinning = npu_pinning_new(job->vm->account, obj, op->offset, op->bytes);
	if (IS_ERR(pinning))
		return PTR_ERR(pinning);
	bind->fresh[0]->pinning = pinning;
	bind->fresh[0]->base = op->va;
	bind->fresh[0]->flags = op->flags;
	return 0;
}

/* Without the device. */
static int npu_bind_prepare(struct npu_bind_job *job, struct npu_bind *bind,
			    struct drm_file *file)
{
	struct drm_gem_object *obj;
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	ret = npu_bind_check(&bind->op);
	if (ret)
		return ret;
	bind->fresh[0] = npu_mapping_new();
	if (!bind->fresh[0])
		return -ENOMEM;
	if (bind->op.type == DRM_NPU_BIND_UNMAP) {
		bind->fresh[1] = npu_mapping_new();
		return bind->fresh[1] ? 0 : -ENOMEM;
	}
	obj = drm_gem_object_lookup(file, bind->op.handle);
	if (!obj)
		return -ENOENT;
	ret = npu_bind_prepare_map(job, bind, obj);
	drm_gem_object_put(obj);
	return ret;
}

/* With it. Who unplugs the device waits for this, so it looks for that between operations. */
static int npu_bind_map(struct npu_bind_job *job, struct npu_bind *bind)
{
	struct npu_pinning *pinning = bind->fresh[0]->pinning;
	int ret;

	if (npu_device_is_dead(job->vm->ndev))
		return npu_dead_error(job->vm->ndev);
	if (pinning) {
		ret = npu_pinning_map(pinning);
		if (!ret)
			ret = npu_bind_extents(bind, pinning);
		if (ret)
			return ret;
	}
	/* Who takes memory away needs tables at first, where he cuts a large leaf. */
	return npu_vm_reserve(job->vm, &job->reserve, npu_bind_tables(&bind->op),
			      bind->op.type == DRM_NPU_BIND_UNMAP);
}

/* The first mapping that ends behind @va. */
static struct npu_mapping *npu_mapping_find(struct npu_vm *vm, u64 va)
{
	struct rb_node *node = vm->mappings.rb_node;
	struct npu_mapping *found = NULL;

	while (node) {
		struct npu_mapping *mapping = rb_entry(node, struct npu_mapping, node);

		if (mapping->va + mapping->bytes > va) {
			found = mapping;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static bool npu_mapping_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct npu_mapping, node)->va <
	       rb_entry(b, struct npu_mapping, node)->va;
}

static void npu_mapping_insert(struct npu_vm *vm, struct npu_mapping *mapping)
{
	rb_add(&mapping->node, &vm->mappings, npu_mapping_less);
}

static void npu_bind_put(struct npu_vm *vm, struct npu_bind *bind, int which, u64 va, u64 bytes)
{
	bind->fresh[which]->va = va;
	bind->fresh[which]->bytes = bytes;
	bind->put[which] = true;
	npu_mapping_insert(vm, bind->fresh[which]);
}

static int npu_bind_play_map(struct npu_vm *vm, struct npu_bind *bind)
{
	struct npu_mapping *mapping = npu_mapping_find(vm, bind->op.va);

	if (mapping && mapping->va < bind->op.va + bind->op.bytes)
		return -EEXIST;
	npu_bind_put(vm, bind, 0, bind->op.va, bind->op.bytes);
	return 0;
}

/* What reaches over an end of the range stays, as a mapping of its own. */
static void npu_bind_keep(struct npu_vm *vm, struct npu_bind *bind, int which,
			  struct npu_mapping *of, u64 va, u64 end)
{
	if (va >= end)
		return;
	kref_get(&of->pinning->ref);
	bind->fresh[which]->pinning = of->pinning;
	bind->fresh[which]->base = of->base;
	bind->fresh[which]->flags = of->flags;
	npu_bind_put(vm, bind, which, va, end - va);
}

static void npu_bind_play_unmap(struct npu_vm *vm, struct npu_bind *bind)
{
	u64 va = bind->op.va, end = va + bind->op.bytes;
	struct npu_mapping *mapping;

	while ((mapping = npu_mapping_find(vm, va)) && mapping->va < end) {
		rb_erase(&mapping->node, &vm->mappings);
		list_add(&mapping->link, &bind->removed);
		npu_bind_keep(vm, bind, 0, mapping, mapping->va, va);
		npu_bind_keep(vm, bind, 1, mapping, end, mapping->va + mapping->bytes);
	}
}

static void npu_bind_take_back(struct npu_vm *vm, struct npu_bind *bind)
{
	struct npu_mapping *mapping, *next;
	int i;

	for (i = 0; i < 2; i++) {
		if (bind->put[i])
			rb_erase(&bind->fresh[i]->node, &vm->mappings);
		bind->put[i] = false;
	}
	list_for_each_entry_safe(mapping, next, &bind->removed, link) {
		list_del(&mapping->link);
		npu_mapping_insert(vm, mapping);
	}
}

static void npu_bind_take_all_back(struct npu_bind_job *job, u32 done)
{
	while (done--)
		npu_bind_take_back(job->vm, &job->binds[done]);
}

/* What a call adds to the number of mappings counts, not what is there in its middle. */
static int npu_bind_pay(struct npu_bind_job *job)
{
	struct npu_account *account = job->vm->account;
	s64 more = 0;
	u32 i;

	for (i = 0; i < job->count; i++) {
		const struct npu_bind *bind = &job->binds[i];

		more += bind->put[0] + bind->put[1];
		more -= list_count_nodes((struct list_head *)&bind->removed);
	}
	if (more > 0)
		return npu_account_take(account, NPU_QUOTA_MAPPINGS, more);
	npu_account_give(account, NPU_QUOTA_MAPPINGS, -more);
	return 0;
}

/* On the tree of mappings only. */
static int npu_bind_play(struct npu_bind_job *job)
{
	int ret = 0;
	u32 done;

	for (done = 0; done < job->count; done++) {
		struct npu_bind *bind = &job->binds[done];

		if (bind->op.type == DRM_NPU_BIND_UNMAP)
			npu_bind_play_unmap(job->vm, bind);
		else
			ret = npu_bind_play_map(job->vm, bind);
		if (ret)
			break;
	}
	job->failed = ret ? done : 0;
	if (!ret)
		ret = npu_bind_pay(job);
	if (ret)
		npu_bind_take_all_back(job, done);
	return ret;
}

/* On the tables. Returns the range that the device may still know. */
static int npu_bind_commit(struct npu_bind_job *job, u64 *va, u64 *end)
{
	struct npu_vm *vm = job->vm;
	int ret = 0;
	u32 i;

	*va = NPU_VA_END;
	*end = 0;
	list_splice_init(&job->reserve, &vm->reserve);
	for (i = 0; i < job->count && !ret; i++) {
		struct npu_bind *bind = &job->binds[i];

		if (bind->op.type == DRM_NPU_BIND_MAP) {
			ret = npu_pgtable_map(&vm->tables, bind->op.va, bind->extents,
					      bind->extent_count, bind->op.flags, vm->map_flags);
		} else if (!list_empty(&bind->removed)) {
			ret = npu_pgtable_unmap(&vm->tables, bind->op.va, bind->op.bytes);
			*va = min(*va, bind->op.va);
			*end = max(*end, bind->op.va + bind->op.bytes);
		}
	}
	list_splice_init(&vm->reserve, &job->reserve);
	return ret;
}

static int npu_bind_apply(struct npu_context *ctx, struct npu_bind_job *job)
{
	struct npu_vm *vm = job->vm;
	u64 va, end;
	int ret;

	mutex_lock(&vm->lock);
	ret = vm->valid ? npu_bind_play(job) : -EIO;
	if (ret)
		goto unlock;
	/* Tables and objects are there, overlaps are ruled out: nothing is left that could fail. */
	ret = npu_bind_commit(job, &va, &end);
	if (drm_WARN_ON(&ctx->ndev->drm, ret))
		npu_device_die(ctx->ndev, NPU_FAILURE_PAGE_TABLES);
	if (va < end)
		npu_mmu_invalidate_range(ctx, va, end - va);
	npu_pgtable_reap(&vm->tables);
unlock:
	mutex_unlock(&vm->lock);
	return ret;
}

static int npu_bind_run(struct npu_context *ctx, struct npu_bind_job *job)
{
	int ret;
	u32 i;

	for (i = 0; i < job->count; i++) {
		job->failed = i;
		ret = npu_bind_map(job, &job->binds[i]);
		if (ret)
			return ret;
		cond_resched();
	}
	job->failed = 0;
	return npu_bind_apply(ctx, job);
}

static void npu_bind_job_free(struct npu_bind_job *job)
{
	struct npu_mapping *mapping, *next;
	u32 i, j;

	npu_vm_release(job->vm, &job->reserve);
	for (i = 0; i < job->count; i++) {
		struct npu_bind *bind = &job->binds[i];

		list_for_each_entry_safe(mapping, next, &bind->removed, link)
			npu_mapping_free(mapping);
		for (j = 0; j < 2; j++) {
			if (!bind->put[j])
				npu_mapping_free(bind->fresh[j]);
		}
		kvfree(bind->extents);
	}
	kvfree(job->binds);
}

static int npu_bind_copy(struct npu_bind_job *job, const struct drm_npu_array *ops)
{
	u32 i;
	int ret;

	if (!ops->count || ops->stride < sizeof(struct drm_npu_bind_op))
		return -EINVAL;
	if (ops->count > NPU_BINDS_MAX || ops->stride > NPU_STRIDE_MAX)
		return -E2BIG;
	job->binds = kvcalloc(ops->count, sizeof(*job->binds), GFP_KERNEL_ACCOUNT);
	if (!job->binds)
		return -ENOMEM;
	job->count = ops->count;
	for (i = 0; i < job->count; i++)
		INIT_LIST_HEAD(&job->binds[i].removed);
	for (i = 0; i < job->count; i++) {
		job->failed = i;
		ret = copy_struct_from_user(&job->binds[i].op, sizeof(job->binds[i].op),
					    u64_to_user_ptr(ops->array + (u64)i * ops->stride),
					    ops->stride);
		if (ret)
			return ret;
	}
	job->failed = 0;
	return 0;
}

static int npu_bind_prepare_all(struct npu_bind_job *job, struct drm_file *file)
{
	u32 i;
	int ret;

	for (i = 0; i < job->count; i++) {
		job->failed = i;
		ret = npu_bind_prepare(job, &job->binds[i], file);
		if (ret)
			return ret;
		cond_resched();
	}
	job->failed = 0;
	return 0;
}

static void npu_bind_trace(struct npu_context *ctx, const struct npu_bind_job *job, int result)
{
	u32 i;

	for (i = 0; i < job->count && trace_npu_bind_enabled(); i++)
		trace_npu_bind(ctx, &job->binds[i].op, result);
}

/**
 * npu_bind_ioctl() - DRM_IOCTL_NPU_VM_BIND
 * @drm: the device
 * @data: struct drm_npu_vm_bind
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_vm_bind *args = data;
	struct npu_bind_job job = { .reserve = LIST_HEAD_INIT(job.reserve) };
	struct npu_context *ctx;
	bool entered = false;
	int ret, idx;

	args->failed = 0;
	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	job.vm = &ctx->vm;
	ret = npu_bind_copy(&job, &args->ops);
	if (!ret)
		ret = npu_bind_prepare_all(&job, file);
	if (!ret) {
		ret = npu_device_enter(ctx->ndev, &idx);
		entered = !ret;
	}
	if (entered) {
		ret = npu_bind_run(ctx, &job);
		npu_bind_trace(ctx, &job, ret);
	}
	if (ret)
		args->failed = job.failed;
	npu_bind_job_free(&job);
	if (entered)
		npu_device_exit(ctx->ndev, idx);
	npu_context_put(ctx);
	return ret;
}

/**
 * npu_bind_peek() - copy what an address space has bound, for people who look for a fault
 * @vm: address space
 * @va: first address
 * @to: where to
 * @bytes: of the range
 *
 * Return: whether all of it could be read; memory of another driver's cannot.
 */
bool npu_bind_peek(struct npu_vm *vm, u64 va, void *to, size_t bytes)
{
	struct npu_mapping *mapping;
	size_t part;

	guard(mutex)(&vm->lock);
	while (bytes) {
		mapping = npu_mapping_find(vm, va);
		if (!mapping || mapping->va > va)
			return false;
		part = min_t(u64, bytes, mapping->va + mapping->bytes - va);
		if (!npu_pinning_peek(mapping->pinning, va - mapping->base, to, part))
			return false;
		va += part;
		to += part;
		bytes -= part;
	}
	return true;
}

/**
 * npu_bind_covers() - is all of a range mapped?
 * @vm: address space
 * @va: first address
 * @bytes: length, not 0
 * @flags: enum drm_npu_bind_flags that it must be mapped with
 */
bool npu_bind_covers(struct npu_vm *vm, u64 va, u64 bytes, u32 flags)
{
	u64 end = va + bytes;
	struct npu_mapping *mapping;

	mutex_lock(&vm->lock);
	while (va < end) {
		mapping = npu_mapping_find(vm, va);
		if (!mapping || mapping->va > va || (mapping->flags & flags) != flags)
			break;
		va = mapping->va + mapping->bytes;
	}
	mutex_unlock(&vm->lock);
	return va >= end;
}

/**
 * npu_bind_clear() - forget all mappings and unpin their memory
 * @vm: address space that the device does not use any more
 */
void npu_bind_clear(struct npu_vm *vm)
{
	struct npu_mapping *mapping, *next;
	u64 count = 0;

	lockdep_assert_held(&vm->lock);
	rbtree_postorder_for_each_entry_safe(mapping, next, &vm->mappings, node) {
		npu_mapping_free(mapping);
		count++;
		cond_resched();
	}
	vm->mappings = RB_ROOT;
	npu_account_give(vm->account, NPU_QUOTA_MAPPINGS, count);
}

/**
 * npu_bind_show() - its tables' pages, and a line for each range that is mapped
 * @vm: the address space
 * @to: where to
 */
void npu_bind_show(struct npu_vm *vm, struct seq_file *to)
{
	const struct npu_mapping *mapping;
	struct rb_node *node;

	mutex_lock(&vm->lock);
	seq_printf(to, "  tables=%lu\n", vm->tables.tables);
	for (node = rb_first(&vm->mappings); node; node = rb_next(node)) {
		mapping = rb_entry(node, struct npu_mapping, node);
		seq_printf(to, "  0x%010llx bytes=%llu %c%c%c\n", mapping->va, mapping->bytes,
			   mapping->flags & DRM_NPU_BIND_READ ? 'r' : '-',
			   mapping->flags & DRM_NPU_BIND_WRITE ? 'w' : '-',
			   mapping->flags & DRM_NPU_BIND_EXEC ? 'x' : '-');
	}
	mutex_unlock(&vm->lock);
}
