/* SPDX-License-Identifier: MIT */
/*
 * The back end over the kernel driver: each operation is one ioctl or one mapping of
 * uapi/drm/npu_accel.h. It holds no lock but for the handles of shared memory; the kernel
 * orders what needs an order.
 */
#ifndef NPURT_DRM_BACKEND_H
#define NPURT_DRM_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"

#define DRM_NAME_BYTES 40

struct drm_shared;

struct drm {
	struct npurt_backend base;
	int fd;
	bool small_pages;
	bool uring; /* the driver takes commands of io_uring */
	bool userptr; /* ... and memory of programs */
	char path[DRM_NAME_BYTES]; /* /dev/accel/accelN */
	int version_major, version_minor; /* the driver's, for people */
	pthread_mutex_t share_lock;
	struct drm_shared *shared; /* under share_lock */
};

struct drm_context {
	struct npurt_backend_context base;
	struct drm *drm;
	uint32_t ctx;
	void *area; /* semaphores */
	uint64_t area_bytes;
	const uint32_t *status; /* in it: why the context is dead; 0: it is not */
	uint32_t fate; /* enum drm_npu_ctx_state of a dead one; DRM_NPU_CTX_ALIVE: not asked yet */
};

struct drm_queue {
	struct npurt_backend_queue base;
	uint32_t queue;
	unsigned char *doorbell;
	uint64_t doorbell_bytes;
};

static inline struct drm *drm_of(struct npurt_backend *backend)
{
	return (struct drm *)backend;
}

static inline struct drm_context *drm_context_of(struct npurt_backend_context *context)
{
	return (struct drm_context *)context;
}

/**
 * drm_call() - an ioctl, again as long as signals come
 *
 * Return: 0 or a negative errno without a sentence.
 */
int drm_call(const struct drm *drm, unsigned long request, void *argument);

/**
 * drm_fail() - the sentence for a call that failed
 * @error: negative errno
 * @what: what was being done
 *
 * Return: @error.
 */
int drm_fail(const struct drm *drm, int error, const char *what);

/* --------------------------------------------------------------- drm_context.c */

int drm_context_create(struct npurt_backend *backend, uint32_t flags,
		       struct npurt_backend_context **context);
void drm_context_destroy(struct npurt_backend_context *context);
int drm_bind(struct npurt_backend_context *context, uint64_t va, const struct npurt_memory *memory,
	     unsigned int prot);
void drm_unbind(struct npurt_backend_context *context, uint64_t va, uint64_t bytes);
int drm_queue_create(struct npurt_backend_context *context, uint64_t ring_va, unsigned int log2,
		     uint32_t priority, uint64_t first, struct npurt_backend_queue **queue);
void drm_queue_destroy(struct npurt_backend_queue *queue);
void drm_doorbell(struct npurt_backend_queue *queue, uint64_t index);
int drm_wait(struct npurt_backend_context *context, const struct npurt_wait *wait);
int drm_prepare_uring(struct npurt_backend_context *context, const struct npurt_wait *wait,
		      uint32_t timeout_us, struct io_uring_sqe *sqe);
bool drm_is_lost(struct npurt_backend_context *context);
void drm_why_lost(struct npurt_backend_context *context, char *text, size_t bytes);
int drm_last_fault(struct npurt_backend_context *context, uint32_t task_id,
		   struct npurt_fault *fault);

/* ---------------------------------------------------------------- drm_memory.c */

int drm_memory_alloc(struct npurt_backend *backend, uint64_t bytes, struct npurt_memory *memory);
int drm_memory_wrap(struct npurt_backend *backend, void *host, uint64_t bytes, bool writable,
		    struct npurt_memory *memory);
void drm_memory_free(struct npurt_backend *backend, const struct npurt_memory *memory);
void drm_memory_clear(struct npurt_backend *backend, const struct npurt_memory *memory);

/**
 * drm_map() - map memory of the driver's into this process, not into its children
 *
 * Large memory begins at a large page. Return: MAP_FAILED with errno.
 */
void *drm_map(const struct drm *drm, uint64_t bytes, uint64_t offset, bool writable);

/* ----------------------------------------------------------------- drm_share.c */

int drm_memory_alloc_shared(struct npurt_backend *backend, uint64_t bytes,
			    struct npurt_memory *memory);
int drm_memory_export(struct npurt_backend *backend, const struct npurt_memory *memory, int *file);
int drm_memory_import(struct npurt_backend *backend, int file, bool writable,
		      struct npurt_memory *memory);

/** drm_share_end() - shared memory is not used any more; it is unmapped already */
void drm_share_end(struct drm *drm, const struct npurt_memory *memory);

/* ------------------------------------------------------------------ drm_list.c */

/**
 * drm_name() - the number in `accelN` or `/dev/accel/accelN`
 * @length: of the name without its keys
 *
 * Return: N, or -1 when it is no such name.
 */
long drm_name(const char *name, size_t length);

/**
 * drm_open_failed() - the sentence for a device node that cannot be opened
 * @error: positive errno of open()
 *
 * Return: the negative errno npurt_open() answers with.
 */
int drm_open_failed(const char *path, int error);

#endif /* NPURT_DRM_BACKEND_H */
