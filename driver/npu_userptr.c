// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of a program's own memory. The pages are pinned when the buffer is made, without a lock
 * and in pieces, as that may take long, and unpinned when nothing holds it any more. They stay the
 * buffer's whatever becomes of the addresses at which they were.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/npu_accel.h>

#include "npu_context.h"
#include "npu_gem.h"

/* Pages that are pinned before signals and others get a chance. */
#define NPU_USERPTR_BATCH	512

/**
 * struct npu_userptr - a buffer of a program's own memory
 * @base: the object
 * @mm: whose memory it is, and is counted as pinned; held, but not its mappings
 * @account: who pays, with a reference
 * @read_only: the device must not write it
 * @pages: those pinned
 * @count: how many
 */
struct npu_userptr {
	struct drm_gem_object base;
	struct mm_struct *mm;
	struct npu_account *account;
	bool read_only;
	struct page **pages;
	unsigned long count;
};

static struct npu_userptr *to_npu_userptr(struct drm_gem_object *obj)
{
	return container_of(obj, struct npu_userptr, base);
}

static void npu_userptr_unpin(struct npu_userptr *userptr)
{
	unsigned long done, count;

	/* What the device may have written is to reach the file it is of, if there is one. */
	for (done = 0; done < userptr->count; done += count) {
		count = min(userptr->count - done, NPU_USERPTR_BATCH);
		unpin_user_pages_dirty_lock(userptr->pages + done, count, !userptr->read_only);
		cond_resched();
	}
}

/* Makes the memory count, for the user and against the limit of his process, or nothing. */
static int npu_userptr_charge(struct npu_userptr *userptr)
{
	unsigned long count = userptr->base.size >> PAGE_SHIFT;
	u64 pinned;
	int ret;

	ret = npu_account_take(userptr->account, NPU_QUOTA_BYTES, userptr->base.size);
	if (ret)
		return ret;
	pinned = atomic64_add_return(count, &userptr->mm->pinned_vm);
	if (pinned <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub(count, &userptr->mm->pinned_vm);
	npu_account_give(userptr->account, NPU_QUOTA_BYTES, userptr->base.size);
	return -EDQUOT;
}

static void npu_userptr_uncharge(struct npu_userptr *userptr)
{
	atomic64_sub(userptr->base.size >> PAGE_SHIFT, &userptr->mm->pinned_vm);
	npu_account_give(userptr->account, NPU_QUOTA_BYTES, userptr->base.size);
}

static int npu_userptr_pin_some(struct npu_userptr *userptr, unsigned long address,
				unsigned long count)
{
	unsigned int flags = FOLL_LONGTERM | (userptr->read_only ? 0 : FOLL_WRITE);
	int got;

	if (fatal_signal_pending(current))
		return -EINTR;
	got = pin_user_pages_fast(address + (userptr->count << PAGE_SHIFT),
				  min(count - userptr->count, NPU_USERPTR_BATCH), flags,
				  userptr->pages + userptr->count);
	if (got > 0)
		userptr->count += got;
	if (got > 0)
		return 0;
	/* While it waits for a page it may be told to end. */
	if (got == -EINTR || got == -ERESTARTSYS)
		return -EINTR;
	/* Persistent memory, for one, says something else of what cannot be pinned for long. */
	return got == -ENOMEM ? -ENOMEM : -EFAULT;
}

static int npu_userptr_pin(struct npu_userptr *userptr, unsigned long address)
{
	unsigned long count = userptr->base.size >> PAGE_SHIFT;
	int ret = 0;

	userptr->pages = kvmalloc_array(count, sizeof(*userptr->pages), GFP_KERNEL_ACCOUNT);
	if (!userptr->pages)
		return -ENOMEM;
	while (!ret && userptr->count < count) {
		ret = npu_userptr_pin_some(userptr, address, count);
		cond_resched();
	}
	if (ret) {
		npu_userptr_unpin(userptr);
		kvfree(userptr->pages);
	}
	return ret;
}

static void npu_userptr_free(struct drm_gem_object *obj)
{
	struct npu_userptr *userptr = to_npu_userptr(obj);

	npu_userptr_unpin(userptr);
	npu_userptr_uncharge(userptr);
	kvfree(userptr->pages);
	mmdrop(userptr->mm);
	npu_account_put(userptr->account);
	drm_gem_object_release(obj);
	kfree(userptr);
}

/* It is for the process that has handed it in, and nobody else. */
static struct dma_buf *npu_userptr_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EACCES);
}

static enum drm_gem_object_status npu_userptr_status(struct drm_gem_object *obj)
{
	return DRM_GEM_OBJECT_RESIDENT;
}

static const struct drm_gem_object_funcs npu_userptr_funcs = {
	.free = npu_userptr_free,
	.export = npu_userptr_export,
	.status = npu_userptr_status,
};

/**
 * npu_userptr_is() - is a buffer of a program's own memory?
 * @obj: the buffer
 */
bool npu_userptr_is(struct drm_gem_object *obj)
{
	return obj->funcs == &npu_userptr_funcs;
}

/**
 * npu_userptr_pages() - the pages of a buffer
 * @obj: a buffer of a program's own memory
 *
 * Return: those pinned, one for each page of it.
 */
struct page **npu_userptr_pages(struct drm_gem_object *obj)
{
	return to_npu_userptr(obj)->pages;
}

/**
 * npu_userptr_is_read_only() - must the device not write it?
 * @obj: any buffer
 */
bool npu_userptr_is_read_only(struct drm_gem_object *obj)
{
	return npu_userptr_is(obj) && to_npu_userptr(obj)->read_only;
}

/**
 * npu_userptr_check() - may the caller bind a buffer?
 * @obj: a buffer of a program's own memory
 * @writes: the device is to write it
 *
 * Return: 0, -EACCES (it is another process's, or must not be written).
 */
int npu_userptr_check(struct drm_gem_object *obj, bool writes)
{
	struct npu_userptr *userptr = to_npu_userptr(obj);

	return userptr->mm != current->mm || (writes && userptr->read_only) ? -EACCES : 0;
}

/* Without a handle yet. */
static struct npu_userptr *npu_userptr_new(struct drm_device *drm, struct npu_account *account,
					   const struct drm_npu_gem_userptr *args)
{
	struct npu_userptr *userptr;
	int ret;

	userptr = kzalloc(sizeof(*userptr), GFP_KERNEL_ACCOUNT);
	if (!userptr)
		return ERR_PTR(-ENOMEM);
	userptr->base.funcs = &npu_userptr_funcs;
	drm_gem_private_object_init(drm, &userptr->base, args->size);
	userptr->read_only = args->flags & DRM_NPU_USERPTR_READ_ONLY;
	userptr->account = npu_account_get(account);
	userptr->mm = current->mm;
	mmgrab(userptr->mm);
	ret = npu_userptr_charge(userptr);
	if (ret)
		goto drop;
	ret = npu_userptr_pin(userptr, args->address);
	if (ret)
		goto uncharge;
	return userptr;
uncharge:
	npu_userptr_uncharge(userptr);
drop:
	mmdrop(userptr->mm);
	npu_account_put(account);
	drm_gem_private_object_fini(&userptr->base);
	kfree(userptr);
	return ERR_PTR(ret);
}

/**
 * npu_gem_userptr_ioctl() - DRM_IOCTL_NPU_GEM_USERPTR
 * @drm: the device
 * @data: struct drm_npu_gem_userptr
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_file *nfile = file->driver_priv;
	struct drm_npu_gem_userptr *args = data;
	struct npu_userptr *userptr;
	int ret;

	if (args->flags & ~DRM_NPU_USERPTR_READ_ONLY || !args->size ||
	    !PAGE_ALIGNED(args->address) || !PAGE_ALIGNED(args->size))
		return -EINVAL;
	if (args->size > NPU_VA_END)
		return -E2BIG;
	if (args->address > ULONG_MAX - args->size)
		return -EFAULT;
	if (npu_device_is_gone(to_npu_device(drm)))
		return -ENODEV;
	userptr = npu_userptr_new(drm, nfile->account, args);
	if (IS_ERR(userptr))
		return PTR_ERR(userptr);
	ret = drm_gem_handle_create(file, &userptr->base, &args->handle);
	/* The handle has a reference of its own. */
	drm_gem_object_put(&userptr->base);
	return ret;
}
