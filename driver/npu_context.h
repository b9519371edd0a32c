/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_CONTEXT_H__
#define __NPU_CONTEXT_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>

#include <drm/npu_accel.h>

#include "npu_account.h"
#include "npu_device.h"
#include "npu_pgtable.h"
#include "npu_watch.h"

#define NPU_FAULTS_KEPT		16
#define NPU_WAITS_MAX		64
#define NPU_BINDS_MAX		256
#define NPU_NOTICE_KINDS	3

/* DRM sets aside so many bytes for the events of a file. */
#define NPU_NOTICES_MAX		(4096 / sizeof(struct drm_npu_event))

/* No element is ever larger, and what it has beyond ours must be looked at. */
#define NPU_STRIDE_MAX		4096

struct io_uring_cmd;
struct npu_notice;
struct vm_area_struct;

/**
 * struct npu_vm - an address space
 * @ndev: the device
 * @account: who pays for tables and mappings; its context has a reference
 * @lock: everything here
 * @tables: what the device walks
 * @mappings: struct npu_mapping by address; they do not overlap
 * @reserve: tables that were made before the point of no return
 * @map_flags: NPU_MAP_*
 * @valid: @tables exist
 */
struct npu_vm {
	struct npu_device *ndev;
	struct npu_account *account;
	struct mutex lock; /* everything here */
	struct npu_pgtable tables;
	struct rb_root mappings;
	struct list_head reserve;
	unsigned int map_flags;
	bool valid;
};

/**
 * struct npu_context - an address space, its queues and its semaphores
 */
struct npu_context {
	/** @ref: by the file's table, and by those who use it for a while */
	struct kref ref;
	/** @ndev: with a reference to its DRM device */
	struct npu_device *ndev;
	/** @file: whose; compared only, as it may be gone */
	struct npu_file *file;
	/** @account: of the file, with a reference */
	struct npu_account *account;
	/** @id: number in the file */
	u32 id;
	/** @index: hardware number */
	u32 index;
	/** @gone: the device does not know it any more; under hw_lock */
	bool gone;
	/** @vm: address space */
	struct npu_vm vm;
	/** @queues: struct npu_queue by number, each with a reference; under hw_lock */
	struct xarray queues;

	/** @area: values, then the status word; pages of their own, which mappings keep */
	struct page *area;
	/** @area_order: their order */
	unsigned int area_order;
	/** @area_bytes: of what is mapped */
	u32 area_bytes;
	/** @values: in @area */
	__le64 *values;
	/** @status: in @area, behind the values */
	__le32 *status;
	/** @counters: in @area, what its tasks have cost; only the device writes them */
	const struct npu_context_counters *counters;
	/** @area_dma: address of @area for the device; under hw_lock */
	dma_addr_t area_dma;
	/** @thresholds: of watches */
	__le64 *thresholds;
	/** @thresholds_dma: their address for the device */
	dma_addr_t thresholds_dma;

	/** @ending: in the file's list while it is destroyed; under its contexts' lock */
	struct list_head ending;

	/** @wait_lock: all that follows */
	spinlock_t wait_lock;
	/** @watches: who waits for each semaphore */
	struct npu_watch *watches;
	/** @waits: struct npu_wait, all of them */
	struct list_head waits;
	/** @signals: struct npu_sync_signal, all of them */
	struct list_head signals;
	/** @notices: events that were asked for, by bit of enum drm_npu_event_kind */
	struct npu_notice *notices[NPU_NOTICE_KINDS];
	/** @error: waits that are not met end with it; 0 or a negative errno */
	int error;
	/** @state: enum drm_npu_ctx_state of a context that is dead, else 0 */
	u32 state;
	/** @ends: nothing but its program's wish has ended it */
	bool ends;
	/** @stopped: queues that have stopped and exist */
	unsigned int stopped;
	/** @stop_error: enum npu_error of the first of them */
	u32 stop_error;
	/** @stop_queue: its number */
	u32 stop_queue;
	/** @faults: so far */
	u32 faults;
	/** @fault: the newest of them */
	struct npu_fault fault[NPU_FAULTS_KEPT];
};

/* enum drm_npu_ctx_state; under wait_lock. */
static inline u32 npu_context_state(const struct npu_context *ctx)
{
	if (ctx->state)
		return ctx->state;
	return ctx->stopped ? DRM_NPU_CTX_QUEUE_STOPPED : DRM_NPU_CTX_ALIVE;
}

/**
 * struct npu_queue_setup - a queue's ring
 * @ring: its address for the device
 * @ring_log2: binary logarithm of its packets
 * @priority: 0 to NPU_PRIORITY_MAX
 */
struct npu_queue_setup {
	u64 ring;
	u32 ring_log2;
	u32 priority;
};

/**
 * struct npu_queue - a user queue
 * @ref: by its context, by mappings of its doorbell
 * @ctx: whose, without a reference: valid while the queue is in the context's table
 * @id: number in the context
 * @index: hardware number
 * @dead: its doorbell must not be reached any more; under doorbell_lock
 * @setup: what the device is told of it; under hw_lock, as the next
 * @place: index of its next packet, when it was made or the device was suspended last
 * @error: enum npu_error that stopped it; under the context's wait_lock
 * @dummy: what the doorbell's mapping shows when @dead
 */
struct npu_queue {
	struct kref ref;
	struct npu_context *ctx;
	u32 id;
	u32 index;
	bool dead;
	struct npu_queue_setup setup;
	u64 place;
	u32 error;
	struct page *dummy;
};

/* npu_context.c */
struct npu_context *npu_context_get(struct npu_file *file, u32 id);
struct npu_context *npu_context_next(struct npu_device *ndev, u32 *index);
struct npu_context *npu_context_get_by_index(struct npu_device *ndev, u32 index);
void npu_context_put(struct npu_context *ctx);
void npu_context_shut(struct npu_context *ctx);
int npu_context_restore(struct npu_context *ctx);
int npu_context_table_init(struct npu_device *ndev);
int npu_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_context_status_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
void npu_context_fault(struct npu_context *ctx, const struct npu_fault *fault);
int npu_context_mmap(struct npu_file *file, struct vm_area_struct *vma, u32 id,
		     unsigned long first_page);

/* npu_usage.c */
struct npu_context *npu_usage_begin_end(struct npu_file *file, u32 id);
void npu_usage_end(struct npu_file *file, struct npu_context *ctx);
void npu_usage_of_file(struct npu_file *file, struct npu_usage *sum);
void npu_usage_keep(const struct npu_context *ctx);
void npu_usage_of_device(struct npu_device *ndev, struct npu_usage *sum);

/* npu_mmu.c */
int npu_vm_init(struct npu_account *account, struct npu_vm *vm, unsigned int map_flags);
void npu_vm_fini(struct npu_vm *vm);
int npu_vm_reserve(struct npu_vm *vm, struct list_head *reserve, unsigned long tables, bool anyway);
void npu_vm_release(struct npu_vm *vm, struct list_head *reserve);
void npu_mmu_invalidate_context(struct npu_context *ctx);
void npu_mmu_invalidate_range(struct npu_context *ctx, u64 va, u64 bytes);

/* npu_bind.c */
void npu_bind_clear(struct npu_vm *vm);
void npu_bind_show(struct npu_vm *vm, struct seq_file *to);
bool npu_bind_covers(struct npu_vm *vm, u64 va, u64 bytes, u32 flags);
bool npu_bind_peek(struct npu_vm *vm, u64 va, void *to, size_t bytes);
int npu_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_queue.c */
int npu_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
void npu_queue_stopped(struct npu_device *ndev, u32 context, u32 queue, u32 error);
void npu_queue_drop_all(struct npu_context *ctx);
void npu_queue_put(struct npu_queue *queue);
int npu_queue_note_place(struct npu_queue *queue);
void npu_queue_lose_place(struct npu_queue *queue);
int npu_queue_restore(struct npu_queue *queue);

/* npu_doorbell.c */
void npu_doorbell_revoke(struct npu_device *ndev, struct npu_queue *queue);
void npu_doorbell_revoke_all(struct npu_device *ndev);
void npu_doorbell_close_all(struct npu_device *ndev);
void npu_doorbell_open_all(struct npu_device *ndev);
int npu_doorbell_mmap(struct npu_file *file, struct vm_area_struct *vma, u32 index,
		      unsigned long first_page);

/* npu_semaphore.c */
int npu_semaphore_init(struct npu_context *ctx);
void npu_semaphore_fired(struct npu_context *ctx, u32 sem);
void npu_semaphore_rearm(struct npu_context *ctx);
void npu_semaphore_fail(struct npu_context *ctx, int error, u32 state);
void npu_semaphore_queue_stopped(struct npu_context *ctx, struct npu_queue *queue, u32 error);
void npu_semaphore_queue_gone(struct npu_context *ctx, struct npu_queue *queue);
int npu_semaphore_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_notice.c */
void npu_notice_check(struct npu_context *ctx);
void npu_notice_drop(struct npu_context *ctx);
int npu_notice_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_syncobj.c */
void npu_syncobj_init(struct npu_device *ndev);
void npu_syncobj_settle(struct npu_device *ndev);
void npu_syncobj_drop(struct npu_context *ctx);
int npu_sem_to_syncobj_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int npu_syncobj_to_sem_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* npu_uring.c */
int npu_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif /* __NPU_CONTEXT_H__ */
