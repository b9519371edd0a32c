/* SPDX-License-Identifier: MIT */
/*
 * What stands between the library and a device: it maps memory, hands out contexts and queues, and
 * sleeps. Rings, packets, semaphores and records are the same bytes on every back end.
 *
 * `sim:` (sim.c) plays the kernel's part over the device model in this process. The one over the
 * kernel driver (drm.c) maps each of these onto one ioctl or one mapping: memory_alloc GEM_CREATE
 * and mmap, memory_export and memory_import PRIME's calls, bind and unbind VM_BIND, context_create
 * CTX_CREATE and the semaphore area's mapping, queue_create QUEUE_CREATE and the doorbell's mapping,
 * wait SEM_WAIT, last_fault CTX_STATUS.
 *
 * Every function returns 0 or a negative errno with a sentence (npurt_fail()), may be called by any
 * thread, and needs no lock of the caller, except that an object's destruction is its last use.
 */
#ifndef NPURT_BACKEND_H
#define NPURT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "npurt.h"

struct npurt_backend;
struct npurt_backend_context;
struct npurt_backend_queue;

/*
 * Memory of whole pages. @handle is the back end's; so is @file, of shared memory. @shared: others
 * may have it, too. @wrapped: it is the application's own, as is its mapping.
 */
struct npurt_memory {
	unsigned char *host;
	uint64_t bytes;
	uint64_t handle;
	int file;
	bool shared;
	bool wrapped;
};

/* What the device says about a task that touched what it must not. */
struct npurt_fault {
	uint32_t error; /* enum npu_error */
	uint32_t access; /* enum npu_fault_access */
	uint32_t cluster;
	uint64_t address;
	uint64_t program_offset;
};

/* How a semaphore is waited for. */
struct npurt_wait {
	uint32_t semaphore;
	uint64_t value; /* until it is at least this */
	int64_t deadline_ns; /* CLOCK_MONOTONIC; INT64_MAX: none */
};

/**
 * struct npurt_backend_ops - a back end
 * @close:	the last context is gone
 * @get_info:	what the device is; @name is filled in by the caller
 * @get_counters: what it has done
 * @firmware_log: as npurt_device_firmware_log()
 * @memory_alloc: zeroed memory, a multiple of 4 KiB, aligned to 2 MiB where it is that large
 * @memory_alloc_shared: the same, of memory that memory_export can hand out
 * @memory_export: a file descriptor of shared memory, close-on-exec, the caller's
 * @memory_import: what somebody else's file descriptor stands for, which stays the caller's;
 *		@writable: host and device may write it
 * @memory_wrap: the application's memory at @host, whole pages of the processor; @writable: the device
 *		may write it
 * @memory_free: nothing maps it any more
 * @memory_clear: make it zeroes again; the device does not use it
 * @context_create: an address space; @flags NPURT_CONTEXT_*
 * @context_destroy: kills what runs in it; its queues are gone already
 * @bind:	maps memory at @va with NPU_PROT_*
 * @unbind:	when it returns, the device does not reach the memory any more
 * @queue_create: a queue over the ring at @ring_va, which goes on with packet @first
 * @queue_destroy: its running task is killed; when it returns, the device is done with the ring
 * @doorbell:	a queue has packets; never sleeps
 * @wait:	sleeps until a semaphore has a value: 0, -ETIMEDOUT (never early; no sentence), -EIO
 *		(a queue of the context has stopped, or the context is lost), -ENODEV (the device is
 *		dead)
 * @is_lost:	the device was or has to be reset, and has forgotten the context without a fault of
 *		its own: one in its place can be made. Makes a system call only once for a context, when
 *		it is dead. NULL: that never happens
 * @why_lost:	the device was reset, in words, for such a context
 * @prepare_uring: fill a submission of io_uring's that completes as @wait would; @timeout_us from its
 *		submission on, UINT32_MAX: none. NULL: there is no such thing
 * @last_fault:	of a task: 0, or -ENOENT without a sentence
 */
struct npurt_backend_ops {
	void (*close)(struct npurt_backend *backend);
	void (*get_info)(struct npurt_backend *backend, struct npurt_device_info *info);
	int (*get_counters)(struct npurt_backend *backend, struct npurt_device_counters *counters);
	int (*firmware_log)(struct npurt_backend *backend, uint32_t *position, char *text,
			    size_t bytes);
	int (*memory_alloc)(struct npurt_backend *backend, uint64_t bytes,
			    struct npurt_memory *memory);
	int (*memory_alloc_shared)(struct npurt_backend *backend, uint64_t bytes,
				   struct npurt_memory *memory);
	int (*memory_export)(struct npurt_backend *backend, const struct npurt_memory *memory,
			     int *file);
	int (*memory_import)(struct npurt_backend *backend, int file, bool writable,
			     struct npurt_memory *memory);
	int (*memory_wrap)(struct npurt_backend *backend, void *host, uint64_t bytes, bool writable,
			   struct npurt_memory *memory);
	void (*memory_free)(struct npurt_backend *backend, const struct npurt_memory *memory);
	void (*memory_clear)(struct npurt_backend *backend, const struct npurt_memory *memory);
	int (*context_create)(struct npurt_backend *backend, uint32_t flags,
			      struct npurt_backend_context **context);
	void (*context_destroy)(struct npurt_backend_context *context);
	int (*bind)(struct npurt_backend_context *context, uint64_t va,
		    const struct npurt_memory *memory, unsigned int prot);
	void (*unbind)(struct npurt_backend_context *context, uint64_t va, uint64_t bytes);
	int (*queue_create)(struct npurt_backend_context *context, uint64_t ring_va,
			    unsigned int log2, uint32_t priority, uint64_t first,
			    struct npurt_backend_queue **queue);
	void (*queue_destroy)(struct npurt_backend_queue *queue);
	void (*doorbell)(struct npurt_backend_queue *queue, uint64_t index);
	int (*wait)(struct npurt_backend_context *context, const struct npurt_wait *wait);
	int (*prepare_uring)(struct npurt_backend_context *context, const struct npurt_wait *wait,
			     uint32_t timeout_us, struct io_uring_sqe *sqe);
	bool (*is_lost)(struct npurt_backend_context *context);
	void (*why_lost)(struct npurt_backend_context *context, char *text, size_t bytes);
	int (*last_fault)(struct npurt_backend_context *context, uint32_t task_id,
			  struct npurt_fault *fault);
};

struct npurt_backend {
	const struct npurt_backend_ops *ops;
	const struct npurt_log *log;
};

/*
 * @semaphores: the write-back area, semaphores_per_context values; read with acquire
 */
struct npurt_backend_context {
	struct npurt_backend *backend;
	const uint64_t *semaphores;
	/* The library's own: rebuild.c */
	uint64_t done_before; /* packets of the queue that were done with before it */
	struct npurt_backend_context *before; /* that was lost, or NULL */
};

struct npurt_backend_queue {
	struct npurt_backend_context *context;
	struct npurt_backend_queue *before; /* the library's own, as above */
};

/**
 * npurt_sim_open() - a device model in this process
 * @config: what follows `sim:`
 * @log: must outlive the back end
 */
int npurt_sim_open(const char *config, const struct npurt_log *log, struct npurt_backend **backend);

/**
 * npurt_drm_open() - a device behind the kernel driver
 * @name: `accelN` or `/dev/accel/accelN`, with or without `?pages=4k`
 * @log: must outlive the back end
 *
 * Return: 0; -ENOENT or -ENODEV (no such device, or not one of ours), -EACCES (permissions), -EPERM
 * (device cgroup), -EPROTO (driver of another version), -EINVAL (name).
 */
int npurt_drm_open(const char *name, const struct npurt_log *log, struct npurt_backend **backend);

/**
 * npurt_drm_list() - the devices the kernel driver has, by number
 * @entries: filled with up to @capacity
 *
 * Return: how many there are.
 */
size_t npurt_drm_list(struct npurt_device_entry *entries, size_t capacity);

#endif /* NPURT_BACKEND_H */
