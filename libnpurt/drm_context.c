// SPDX-License-Identifier: MIT
/* Contexts, bindings, queues and waits of the kernel driver. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drm_backend.h"
#include "drm/npu_accel.h"
#include "npu/npu_regs.h"
#include "npu_pgtable.h"

static void context_end(const struct drm *drm, uint32_t ctx)
{
	struct drm_npu_ctx_destroy destroy = { .ctx = ctx };
	int ret = drm_call(drm, DRM_IOCTL_NPU_CTX_DESTROY, &destroy);

	if (ret && ret != -ENODEV)
		npurt_log_line(drm->base.log, NPURT_LOG_ERROR, "%s: destroying a context: %s",
			       drm->path, strerror(-ret));
}

int drm_context_create(struct npurt_backend *backend, uint32_t flags,
		       struct npurt_backend_context **result)
{
	struct drm_npu_ctx_create create = { 0 };
	struct drm *drm = drm_of(backend);
	struct drm_context *context;
	int ret;

	context = calloc(1, sizeof(*context));
	if (!context)
		return npurt_fail(-ENOMEM, "npurt: no memory for a context");
	if (drm->small_pages || flags & NPURT_CONTEXT_PAGES_4K)
		create.flags = DRM_NPU_CTX_SMALL_PAGES;
	ret = drm_call(drm, DRM_IOCTL_NPU_CTX_CREATE, &create);
	if (ret) {
		free(context);
		return drm_fail(drm, ret, "creating a context");
	}
	context->area_bytes = create.semaphores_bytes;
	context->area = mmap(NULL, context->area_bytes, PROT_READ, MAP_SHARED, drm->fd,
			     (off_t)create.semaphores_offset);
	if (context->area == MAP_FAILED) {
		ret = drm_fail(drm, -errno, "mapping a context's semaphores");
		context_end(drm, create.ctx);
		free(context);
		return ret;
	}
	madvise(context->area, context->area_bytes, MADV_DONTFORK);
	context->status = (const uint32_t *)(const void *)((char *)context->area +
							   create.status_offset);
	context->drm = drm;
	context->ctx = create.ctx;
	context->base.backend = backend;
	context->base.semaphores = context->area;
	*result = &context->base;
	return 0;
}

void drm_context_destroy(struct npurt_backend_context *base)
{
	struct drm_context *context = drm_context_of(base);

	context_end(context->drm, context->ctx);
	munmap(context->area, context->area_bytes);
	free(context);
}

/* ------------------------------------------------------------------ bindings */

static int bind_one(const struct drm_context *context, struct drm_npu_bind_op *op)
{
	struct drm_npu_vm_bind bind = {
		.ctx = context->ctx,
		.ops = {
			.stride = sizeof(*op),
			.count = 1,
			.array = (uint64_t)(uintptr_t)op,
		},
	};

	return drm_call(context->drm, DRM_IOCTL_NPU_VM_BIND, &bind);
}

int drm_bind(struct npurt_backend_context *base, uint64_t va, const struct npurt_memory *memory,
	     unsigned int prot)
{
	const struct drm_context *context = drm_context_of(base);
	struct drm_npu_bind_op op = {
		.type = DRM_NPU_BIND_MAP,
		.handle = (uint32_t)memory->handle,
		.va = va,
		.bytes = memory->bytes,
	};
	char what[96];
	int ret;

	if (prot & NPU_PROT_READ)
		op.flags |= DRM_NPU_BIND_READ;
	if (prot & NPU_PROT_WRITE)
		op.flags |= DRM_NPU_BIND_WRITE;
	if (prot & NPU_PROT_EXEC)
		op.flags |= DRM_NPU_BIND_EXEC;
	ret = bind_one(context, &op);
	if (!ret)
		return 0;
	snprintf(what, sizeof(what), "mapping %" PRIu64 " bytes at 0x%" PRIx64 " of context %u",
		 memory->bytes, va, context->ctx);
	return drm_fail(context->drm, ret, what);
}

void drm_unbind(struct npurt_backend_context *base, uint64_t va, uint64_t bytes)
{
	const struct drm_context *context = drm_context_of(base);
	struct drm_npu_bind_op op = {
		.type = DRM_NPU_BIND_UNMAP,
		.va = va,
		.bytes = bytes,
	};
	int ret = bind_one(context, &op);

	/* Of a device that is gone or a context that is dead nothing is reached any more. */
	if (ret && ret != -ENODEV && ret != -EIO)
		npurt_log_line(context->drm->base.log, NPURT_LOG_ERROR,
			       "%s: unmapping 0x%" PRIx64 " failed: %s", context->drm->path, va,
			       strerror(-ret));
}

/* -------------------------------------------------------------------- queues */

static void queue_end(const struct drm_context *context, uint32_t queue)
{
	struct drm_npu_queue_destroy destroy = { .ctx = context->ctx, .queue = queue };
	int ret = drm_call(context->drm, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);

	if (ret && ret != -ENODEV)
		npurt_log_line(context->drm->base.log, NPURT_LOG_ERROR,
			       "%s: destroying a queue: %s", context->drm->path, strerror(-ret));
}

int drm_queue_create(struct npurt_backend_context *base, uint64_t ring_va, unsigned int log2,
		     uint32_t priority, uint64_t first, struct npurt_backend_queue **result)
{
	const struct drm_context *context = drm_context_of(base);
	const struct drm *drm = context->drm;
	struct drm_npu_queue_create create = {
		.ctx = context->ctx,
		.priority = priority,
		.ring = ring_va,
		.ring_log2 = log2,
		.first = first,
	};
	struct drm_queue *queue = calloc(1, sizeof(*queue));
	int ret;

	if (!queue)
		return npurt_fail(-ENOMEM, "npurt: no memory for a queue");
	ret = drm_call(drm, DRM_IOCTL_NPU_QUEUE_CREATE, &create);
	if (ret) {
		free(queue);
		if (ret == -EACCES)
			return npurt_fail(ret,
					  "%s: creating a queue: priority %u is not allowed to "
					  "this user: priorities from 8 on need CAP_SYS_NICE or "
					  "`ulimit -e` of 21 or more; ask for 7 or less",
					  drm->path, priority);
		return drm_fail(drm, ret, "creating a queue");
	}
	queue->base.context = base;
	queue->queue = create.queue;
	queue->doorbell_bytes = create.doorbell_bytes;
	queue->doorbell = mmap(NULL, queue->doorbell_bytes, PROT_WRITE, MAP_SHARED, drm->fd,
			       (off_t)create.doorbell_offset);
	if (queue->doorbell == MAP_FAILED) {
		ret = drm_fail(drm, -errno, "mapping a queue's doorbell");
		queue_end(context, create.queue);
		free(queue);
		return ret;
	}
	*result = &queue->base;
	return 0;
}

void drm_queue_destroy(struct npurt_backend_queue *base)
{
	struct drm_queue *queue = (struct drm_queue *)base;

	queue_end(drm_context_of(base->context), queue->queue);
	munmap(queue->doorbell, queue->doorbell_bytes);
	free(queue);
}

void drm_doorbell(struct npurt_backend_queue *base, uint64_t index)
{
	struct drm_queue *queue = (struct drm_queue *)base;
	uint32_t *ring = (void *)(queue->doorbell + NPU_DOORBELL_RING);

	/* The packet is in memory before the device is told of it. */
#if defined(__aarch64__)
	/* A device mapping is outside what a store-release orders for other observers. */
	__asm__ volatile("dmb oshst" : : : "memory");
#endif
	__atomic_store_n(ring, htole32((uint32_t)index), __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------ waits and faults */

int drm_wait(struct npurt_backend_context *base, const struct npurt_wait *wait)
{
	const struct drm_context *context = drm_context_of(base);
	struct drm_npu_sem semaphore = { .sem = wait->semaphore, .value = wait->value };
	struct drm_npu_sem_wait request = {
		.ctx = context->ctx,
		.sems = {
			.stride = sizeof(semaphore),
			.count = 1,
			.array = (uint64_t)(uintptr_t)&semaphore,
		},
		.deadline_ns = wait->deadline_ns < 0 ? 0 : wait->deadline_ns,
	};
	int ret = drm_call(context->drm, DRM_IOCTL_NPU_SEM_WAIT, &request);

	switch (ret) {
	case 0:
		return 0;
	case -ETIME:
		return -ETIMEDOUT;
	case -EIO:
		return npurt_fail(ret, "%s: a queue of the context has stopped",
				  context->drm->path);
	default:
		return drm_fail(context->drm, ret, "waiting");
	}
}

int drm_prepare_uring(struct npurt_backend_context *base, const struct npurt_wait *wait,
		      uint32_t timeout_us, struct io_uring_sqe *sqe)
{
	const struct drm_context *context = drm_context_of(base);
	const struct drm_npu_uring_wait request = {
		.ctx = (uint16_t)context->ctx,
		.sem = (uint16_t)wait->semaphore,
		.timeout_us = timeout_us,
		.value = wait->value,
	};
	uint64_t user_data = sqe->user_data;

	if (!context->drm->uring)
		return npurt_fail(-EOPNOTSUPP,
				  "%s: this driver does not take commands of io_uring: use "
				  "npurt_context_get_fd()",
				  context->drm->path);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = context->drm->fd;
	sqe->cmd_op = DRM_NPU_URING_OP_WAIT;
	sqe->user_data = user_data;
	memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), &request, sizeof(request));
	return 0;
}

/* ------------------------------------------------------ after a reset of the device */

static uint32_t ask_fate(const struct drm_context *context)
{
	struct drm_npu_ctx_status status = { .ctx = context->ctx };
	int ret = drm_call(context->drm, DRM_IOCTL_NPU_CTX_STATUS, &status);

	/* A device that is gone takes nobody back. */
	if (ret || status.state == DRM_NPU_CTX_ALIVE)
		return DRM_NPU_CTX_GUILTY;
	return status.state;
}

bool drm_is_lost(struct npurt_backend_context *base)
{
	struct drm_context *context = drm_context_of(base);
	uint32_t fate;

	if (le32toh(__atomic_load_n(context->status, __ATOMIC_ACQUIRE)) != EIO)
		return false;
	fate = __atomic_load_n(&context->fate, __ATOMIC_RELAXED);
	if (fate == DRM_NPU_CTX_ALIVE) {
		fate = ask_fate(context);
		__atomic_store_n(&context->fate, fate, __ATOMIC_RELAXED);
	}
	return fate == DRM_NPU_CTX_INNOCENT;
}

void drm_why_lost(struct npurt_backend_context *base, char *text, size_t bytes)
{
	const char *name = strrchr(drm_context_of(base)->drm->path, '/') + 1;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/npu_reset_reason", name);
	file = fopen(path, "re");
	if (!file || !fgets(text, (int)bytes, file) || *text == '\n')
		snprintf(text, bytes, "the kernel's log says why");
	text[strcspn(text, "\n")] = 0;
	if (file)
		fclose(file);
}

int drm_last_fault(struct npurt_backend_context *base, uint32_t task_id, struct npurt_fault *fault)
{
	const struct drm_context *context = drm_context_of(base);
	struct drm_npu_ctx_status status = {
		.ctx = context->ctx,
		.flags = DRM_NPU_CTX_STATUS_TASK,
		.task_id = task_id,
	};

	if (drm_call(context->drm, DRM_IOCTL_NPU_CTX_STATUS, &status) || !status.fault_error)
		return -ENOENT;
	*fault = (struct npurt_fault){
		.error = status.fault_error,
		.access = status.fault_access,
		.cluster = status.fault_cluster,
		.address = status.fault_address,
		.program_offset = status.fault_program_offset,
	};
	return 0;
}
