/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The interface of npu.ko, /dev/accel/accelN of a device whose driver calls itself "npu".
 */
#ifndef _UAPI_NPU_ACCEL_H_
#define _UAPI_NPU_ACCEL_H_

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include "drm.h" /* libdrm's: pkg-config --cflags libdrm */
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: The contract
 *
 * - A context is an address space, its queues and its semaphores. It belongs to the open file that
 *   made it, and so do queues and buffer handles. Nothing a program writes into its memory, its
 *   queues' doorbells included, reaches another context.
 * - Work is not submitted here. Once a queue exists, packets are written into its ring and its
 *   doorbell is stored to; rings, packets, records and semaphores are described by npu_packet.h.
 * - Structures only grow at their end, and sets of flags only gain members. The size in an ioctl's
 *   number is the size the program was compiled with: what a shorter structure lacks counts as
 *   zero, and what a longer one has beyond the kernel's must be zero (else -E2BIG). None is shorter
 *   than its first published form, and the direction is part of the number (else -EINVAL). Arrays
 *   are described by struct drm_npu_array, whose stride follows the same rule.
 * - All padding, all reserved fields and all flags without a name must be zero, else -EINVAL.
 *   Fields marked "out" are ignored on the way in.
 * - An ioctl that fails has changed nothing, also when its answer could not have been written.
 * - What a device or a driver can do is asked with DRM_IOCTL_NPU_GET_PARAM, key by key. A key
 *   that is not known is -EINVAL. No program should compare versions.
 * - Every ioctl can answer -ENODEV: the device is gone, or does not work even after a reset. This
 *   does not end until the file is closed. Semaphore areas and buffers stay mapped, doorbells do
 *   nothing.
 * - A device that fails is reset, and ioctls wait for that. Contexts that were there are dead then,
 *   most of them DRM_NPU_CTX_INNOCENT, and new ones can be made; buffers stay.
 * - Every ioctl that names a context or a queue answers -ENOENT for one this file does not have.
 * - Every ioctl can answer -EFAULT: a pointer handed in does not lead to the program's memory, or
 *   the structure cannot be written.
 * - What else can come is listed with each structure. -ENOMEM means that the kernel has no memory
 *   left. -EINTR comes where it is listed only: nothing was done, and the call can be repeated
 *   unchanged, as deadlines are absolute. An errno that is not listed is an error of the driver.
 *
 * How much somebody may have is for the administrator to say, in sysfs (npu_limits/): all together
 * (else -ENOSPC), the files of a user together, which is half of that to begin with (else -EDQUOT),
 * and a file (else -EDQUOT, too). Who opens the file with CAP_SYS_RESOURCE may go beyond the
 * user's part. Files count for the user who opened them.
 *
 * Offsets for mmap() come from DRM_IOCTL_NPU_GEM_INFO (buffers), DRM_IOCTL_NPU_CTX_CREATE
 * (semaphores) and DRM_IOCTL_NPU_QUEUE_CREATE (doorbell), and mean nothing in themselves.
 *
 * The semaphore area is an array of __le64, one a semaphore, and behind them a __le32 status
 * word: zero while the context works, afterwards an errno (EIO, ENODEV) that tells why it does not.
 * It can only be mapped for reading. Values are to be loaded with acquire semantics. The mapping
 * stays when context, file or device are gone. Further behind is a struct npu_context_counters,
 * which the device keeps up to date; it grows before the semaphore that a task signals.
 *
 * The sums of these counters over the contexts a file has and had are in /proc/PID/fdinfo/FD, by
 * the rules of the kernel's drm-usage-stats.rst, for the engines mac, vector and dma:
 * drm-engine-mac in ns, drm-cycles-mac in cycles of the device, drm-maxfreq-mac its clock, and
 * drm-engine-capacity-mac, as there are several of each. npu-tasks, npu-contexts and npu-queues
 * are our own.
 *
 * Semaphores can also be waited for without a thread that sleeps: by io_uring, with the commands
 * of enum drm_npu_uring_op. Other processes and drivers meet them by DRM's syncobjs, whose ioctls
 * the file takes (DRM_CAP_SYNCOBJ_TIMELINE says so): struct drm_npu_sem_to_syncobj, struct
 * drm_npu_syncobj_to_sem.
 *
 * What becomes of a context can be waited for by poll() and read() of the file, as events of DRM's:
 * struct drm_npu_ctx_events, struct drm_npu_event.
 *
 * A doorbell is one page, to be mapped shared and for writing only. The mapping is not inherited by
 * fork(). Stores to the doorbell of a queue that is gone do nothing.
 *
 * The device may sleep while it has no work, also with queues that are open and waits that are
 * pending. Nobody sees that but by the time it takes: the first store to a doorbell waits until the
 * device is awake, and so does an ioctl that needs it. Before the whole system sleeps, tasks have
 * two seconds to end; one that has not is killed, which its record says, and a queue in the
 * middle of a GRAPH stops with NPU_ERROR_KILLED. All other work goes on afterwards.
 */

#define DRM_NPU_GET_PARAM		0x00
#define DRM_NPU_GEM_CREATE		0x01
#define DRM_NPU_GEM_INFO		0x02
#define DRM_NPU_CTX_CREATE		0x03
#define DRM_NPU_CTX_DESTROY		0x04
#define DRM_NPU_CTX_STATUS		0x05
#define DRM_NPU_VM_BIND			0x06
#define DRM_NPU_QUEUE_CREATE		0x07
#define DRM_NPU_QUEUE_DESTROY		0x08
#define DRM_NPU_SEM_WAIT		0x09
#define DRM_NPU_SEM_TO_SYNCOBJ		0x0a
#define DRM_NPU_SYNCOBJ_TO_SEM		0x0b
#define DRM_NPU_GEM_USERPTR		0x0c
#define DRM_NPU_CTX_EVENTS		0x0d

/**
 * struct drm_npu_array - an array handed to the kernel
 * @stride: size of one element as the program was compiled, at least that of the element's
 *	    first published form (else -EINVAL) and at most 4096 (else -E2BIG)
 * @count: number of elements, not zero (else -EINVAL), and not too many (else -E2BIG)
 * @array: address of the first one
 */
struct drm_npu_array {
	__u32 stride;
	__u32 count;
	__u64 array;
};

/**
 * enum drm_npu_param - what can be asked
 *
 * @DRM_NPU_PARAM_HW_VERSION: register NPU_REG_HW_VERSION
 * @DRM_NPU_PARAM_CLUSTERS: clusters
 * @DRM_NPU_PARAM_MAC_CHANNELS: output channels of a MAC array
 * @DRM_NPU_PARAM_MAC_DEPTH: int8 depth of a MAC array
 * @DRM_NPU_PARAM_LOCAL_BYTES: local SRAM of a cluster
 * @DRM_NPU_PARAM_GLOBAL_BYTES: global SRAM
 * @DRM_NPU_PARAM_ACC_BYTES: accumulators of a cluster
 * @DRM_NPU_PARAM_DMA_CHANNELS: DMA channels in all
 * @DRM_NPU_PARAM_DRAM_BYTES_PER_CYCLE: bandwidth to memory
 * @DRM_NPU_PARAM_DRAM_LATENCY: cycles
 * @DRM_NPU_PARAM_CLOCK_HZ: device cycles a second
 * @DRM_NPU_PARAM_QUEUES: hardware queues, shared by all contexts
 * @DRM_NPU_PARAM_SLOTS: queues that are worked on at a time
 * @DRM_NPU_PARAM_CONTEXTS: contexts, shared by all programs
 * @DRM_NPU_PARAM_SEMAPHORES: semaphores of a context
 * @DRM_NPU_PARAM_VECTOR_BYTES: width of the vector unit
 * @DRM_NPU_PARAM_OUT_RESULTS: int8 results of the output stage a cycle
 * @DRM_NPU_PARAM_CONFIG_NAME: @index 0 and 1: 8 bytes each of the configuration's name, first
 *	byte lowest, padded with NUL
 * @DRM_NPU_PARAM_FIRMWARE_VERSION: @index 0 to 3: the same, of the firmware's version
 * @DRM_NPU_PARAM_FIRMWARE_ABI: of its mailbox, major << 16 | minor
 * @DRM_NPU_PARAM_PAGE_SIZE: grain of addresses, offsets and sizes of DRM_IOCTL_NPU_VM_BIND
 * @DRM_NPU_PARAM_VA_END: device addresses are below this
 * @DRM_NPU_PARAM_WAITS_MAX: semaphores one DRM_IOCTL_NPU_SEM_WAIT can wait for
 * @DRM_NPU_PARAM_BINDS_MAX: operations one DRM_IOCTL_NPU_VM_BIND can have
 * @DRM_NPU_PARAM_PENDING_MAX: waits of a file that nobody sleeps in, all contexts together
 * @DRM_NPU_PARAM_URING: 1: the commands of enum drm_npu_uring_op; 0: the kernel has no io_uring
 * @DRM_NPU_PARAM_MAPPINGS_MAX: ranges of addresses a file can have bound, all contexts together
 * @DRM_NPU_PARAM_USERPTR: 1: DRM_IOCTL_NPU_GEM_USERPTR
 * @DRM_NPU_PARAM_EVENTS_MAX: events a file can have: those asked for, and those not read yet
 * @DRM_NPU_PARAM_LARGE_PAGE: bytes; a buffer has pages of this size where they fit into it and the
 *	kernel finds some, and of the processor's page size otherwise. What is bound where address
 *	and offset are aligned to 2 MiB needs fewer tables and translations then. 0: there are none
 * @DRM_NPU_PARAM_TIME: device cycles now
 * @DRM_NPU_PARAM_COUNTER_TASKS: tasks since power on
 * @DRM_NPU_PARAM_COUNTER_MAC: busy cycles of MAC arrays, all clusters
 * @DRM_NPU_PARAM_COUNTER_VECTOR: busy cycles of vector units
 * @DRM_NPU_PARAM_COUNTER_DMA: busy cycles of DMA channels
 * @DRM_NPU_PARAM_COUNTER_DRAM_READ: bytes
 * @DRM_NPU_PARAM_COUNTER_DRAM_WRITE: bytes
 * @DRM_NPU_PARAM_COUNTER_TLB_MISS: misses
 */
enum drm_npu_param {
	DRM_NPU_PARAM_HW_VERSION = 0,
	DRM_NPU_PARAM_CLUSTERS = 1,
	DRM_NPU_PARAM_MAC_CHANNELS = 2,
	DRM_NPU_PARAM_MAC_DEPTH = 3,
	DRM_NPU_PARAM_LOCAL_BYTES = 4,
	DRM_NPU_PARAM_GLOBAL_BYTES = 5,
	DRM_NPU_PARAM_ACC_BYTES = 6,
	DRM_NPU_PARAM_DMA_CHANNELS = 7,
	DRM_NPU_PARAM_DRAM_BYTES_PER_CYCLE = 8,
	DRM_NPU_PARAM_DRAM_LATENCY = 9,
	DRM_NPU_PARAM_CLOCK_HZ = 10,
	DRM_NPU_PARAM_QUEUES = 11,
	DRM_NPU_PARAM_SLOTS = 12,
	DRM_NPU_PARAM_CONTEXTS = 13,
	DRM_NPU_PARAM_SEMAPHORES = 14,
	DRM_NPU_PARAM_VECTOR_BYTES = 15,
	DRM_NPU_PARAM_OUT_RESULTS = 16,
	DRM_NPU_PARAM_CONFIG_NAME = 17,
	DRM_NPU_PARAM_FIRMWARE_VERSION = 18,
	DRM_NPU_PARAM_FIRMWARE_ABI = 19,
	DRM_NPU_PARAM_PAGE_SIZE = 20,
	DRM_NPU_PARAM_VA_END = 21,
	DRM_NPU_PARAM_WAITS_MAX = 22,
	DRM_NPU_PARAM_BINDS_MAX = 23,
	DRM_NPU_PARAM_PENDING_MAX = 24,
	DRM_NPU_PARAM_URING = 25,
	DRM_NPU_PARAM_MAPPINGS_MAX = 26,
	DRM_NPU_PARAM_USERPTR = 27,
	DRM_NPU_PARAM_EVENTS_MAX = 28,
	DRM_NPU_PARAM_LARGE_PAGE = 29,
	DRM_NPU_PARAM_TIME = 64,
	DRM_NPU_PARAM_COUNTER_TASKS = 65,
	DRM_NPU_PARAM_COUNTER_MAC = 66,
	DRM_NPU_PARAM_COUNTER_VECTOR = 67,
	DRM_NPU_PARAM_COUNTER_DMA = 68,
	DRM_NPU_PARAM_COUNTER_DRAM_READ = 69,
	DRM_NPU_PARAM_COUNTER_DRAM_WRITE = 70,
	DRM_NPU_PARAM_COUNTER_TLB_MISS = 71,
};

/**
 * struct drm_npu_get_param - ask one thing
 * @param: enum drm_npu_param
 * @index: for a key that has several values which of them, else zero
 * @value: out
 *
 * Errors: -EINVAL (a key or an index that is not known). Nothing else.
 */
struct drm_npu_get_param {
	__u32 param;
	__u32 index;
	__u64 value;
};

/**
 * enum drm_npu_gem_flags - of a buffer
 *
 * @DRM_NPU_GEM_WRITE_COMBINE: the processor's mappings are write-combined instead of cached
 */
enum drm_npu_gem_flags {
	DRM_NPU_GEM_WRITE_COMBINE = 1 << 0,
};

/**
 * struct drm_npu_gem_create - make a buffer of zeroed system memory
 * @size: bytes; out: rounded up to whole pages of the processor
 * @flags: enum drm_npu_gem_flags
 * @handle: out
 *
 * The pages come when they are used first. The handle is closed with DRM_IOCTL_GEM_CLOSE; memory
 * that a context has bound stays until it is unbound.
 *
 * Errors: -EINVAL (no size, flags), -E2BIG (more than addresses there are), -ENOMEM.
 */
struct drm_npu_gem_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct drm_npu_gem_info - what a buffer is
 * @handle: own, imported from a dma-buf, or made of the program's memory
 * @flags: out: enum drm_npu_gem_flags
 * @size: out: bytes
 * @mmap_offset: out: for mmap() of this file; zero for the program's memory, which it has mapped
 *
 * Errors: -ENOENT (no such handle), -ENOSPC (no offset left).
 */
struct drm_npu_gem_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 mmap_offset;
};

/**
 * enum drm_npu_userptr_flags - of a buffer made of the program's memory
 *
 * @DRM_NPU_USERPTR_READ_ONLY: the device must not write it, so that it may be of a mapping that the
 *	program cannot write either
 */
enum drm_npu_userptr_flags {
	DRM_NPU_USERPTR_READ_ONLY = 1 << 0,
};

/**
 * struct drm_npu_gem_userptr - make a buffer of the program's own memory
 * @address: of the memory, in whole pages of the processor
 * @size: bytes, in whole pages of the processor
 * @flags: enum drm_npu_userptr_flags
 * @handle: out
 *
 * The pages that are there now become the buffer's, and are pinned until the last handle is
 * closed and nothing of it is bound any more; they count against RLIMIT_MEMLOCK, and as pinned
 * memory of the user. What happens to the addresses later does not concern the buffer: after
 * munmap(), or when something else is mapped there, the device still works on the pages that
 * were. After a fork() the parent keeps the pages that the device sees, and the child has copies
 * of them, if the mapping is private. What the device may have written of a mapped file is marked
 * as changed in the end; memory of a file that keeps track of writers is refused, unless it is
 * only to be read.
 *
 * Only the process whose memory it is can bind it (else -EACCES), for writing only without
 * DRM_NPU_USERPTR_READ_ONLY (else -EACCES); it cannot be exported as a dma-buf (-EACCES).
 *
 * Errors: -EINVAL (flags, no size, alignment), -E2BIG (more than addresses there are), -EFAULT
 * (nothing is mapped there, it may not be written, or it is memory of a file or of a device that
 * cannot be pinned so), -EDQUOT (more than RLIMIT_MEMLOCK allows, or than the user may have
 * pinned), -ENOSPC (the device would have more pinned than it may), -EINTR (a signal ends the
 * process, which does not see it), -ENOMEM.
 */
struct drm_npu_gem_userptr {
	__u64 address;
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * enum drm_npu_ctx_flags - of a context
 *
 * @DRM_NPU_CTX_SMALL_PAGES: its memory is mapped by 4 KiB pages only, which makes times comparable
 *	between memory of different shape
 */
enum drm_npu_ctx_flags {
	DRM_NPU_CTX_SMALL_PAGES = 1 << 0,
};

/**
 * struct drm_npu_ctx_create - make a context
 * @flags: enum drm_npu_ctx_flags
 * @ctx: out: its number, not zero
 * @semaphores: out: number of its semaphores, all zero
 * @pad: zero
 * @semaphores_offset: out: for mmap() of the semaphore area
 * @semaphores_bytes: out: of the whole area, status word and counters included
 * @status_offset: out: where in the area the status word is
 * @counters_offset: out: where in the area the struct npu_context_counters is
 * @pad2: zero
 *
 * Errors: -EINVAL (flags, padding), -EOPNOTSUPP (the device's DMA bypasses the caches, so it has no
 * contexts and no queues), -EDQUOT (the user has as many as he may, or as much memory), -ENOSPC
 * (all contexts of the device are in use, or all memory it may pin), -EIO (the device failed just
 * then, and is reset), -ENOMEM.
 */
struct drm_npu_ctx_create {
	__u32 flags;
	__u32 ctx;
	__u32 semaphores;
	__u32 pad;
	__u64 semaphores_offset;
	__u32 semaphores_bytes;
	__u32 status_offset;
	__u32 counters_offset;
	__u32 pad2;
};

/**
 * struct drm_npu_ctx_destroy - end a context
 * @ctx: the context
 * @pad: zero
 *
 * Running tasks are killed, queues are destroyed, everything is unbound. When the call returns, the
 * device does not reach the context's memory any more. Waits on its semaphores end with -EIO.
 *
 * Errors: -EINVAL (padding), -ENOENT (no such context).
 */
struct drm_npu_ctx_destroy {
	__u32 ctx;
	__u32 pad;
};

/**
 * enum drm_npu_ctx_state - how a context is
 *
 * @DRM_NPU_CTX_ALIVE: well
 * @DRM_NPU_CTX_QUEUE_STOPPED: the device stopped one of its queues for an error of the program's;
 *	this ends when that queue is destroyed
 * @DRM_NPU_CTX_GUILTY: dead, because of what it did
 * @DRM_NPU_CTX_INNOCENT: dead, because the device or the driver failed
 */
enum drm_npu_ctx_state {
	DRM_NPU_CTX_ALIVE = 0,
	DRM_NPU_CTX_QUEUE_STOPPED = 1,
	DRM_NPU_CTX_GUILTY = 2,
	DRM_NPU_CTX_INNOCENT = 3,
};

/**
 * enum drm_npu_ctx_status_flags - of DRM_IOCTL_NPU_CTX_STATUS
 *
 * @DRM_NPU_CTX_STATUS_TASK: look for the newest fault of @task_id, not for the newest of all
 */
enum drm_npu_ctx_status_flags {
	DRM_NPU_CTX_STATUS_TASK = 1 << 0,
};

/**
 * struct drm_npu_ctx_status - what became of a context, and of its tasks
 * @ctx: the context
 * @flags: enum drm_npu_ctx_status_flags
 * @task_id: with DRM_NPU_CTX_STATUS_TASK the task asked for, else zero; out: of the fault
 * @state: out: enum drm_npu_ctx_state
 * @error: out: enum npu_error of the queue that stopped first, else zero
 * @queue: out: that queue, else zero
 * @faults: out: faults of the context so far
 * @fault_error: out: enum npu_error of the fault; zero: none, and all below is zero
 * @fault_access: out: enum npu_fault_access
 * @fault_cluster: out: 0xff: command processor
 * @fault_address: out: as the device says
 * @fault_program_offset: out: bits 31..0 of the instruction; 63..32 its first four bytes
 *
 * The newest 16 faults of a context are kept. A fault is told here before its task's record is
 * written. The call works on a context that is dead, too.
 *
 * Errors: -EINVAL (flags, a task without DRM_NPU_CTX_STATUS_TASK), -ENOENT (no such context).
 */
struct drm_npu_ctx_status {
	__u32 ctx;
	__u32 flags;
	__u32 task_id;
	__u32 state;
	__u32 error;
	__u32 queue;
	__u32 faults;
	__u32 fault_error;
	__u32 fault_access;
	__u32 fault_cluster;
	__u64 fault_address;
	__u64 fault_program_offset;
};

/**
 * enum drm_npu_event_kind - what a program can be told of a context
 *
 * @DRM_NPU_EVENT_FAULT: it had faults beyond those the program knows of
 * @DRM_NPU_EVENT_QUEUE_STOPPED: a queue of it has stopped
 * @DRM_NPU_EVENT_DEAD: it is DRM_NPU_CTX_GUILTY or DRM_NPU_CTX_INNOCENT
 */
enum drm_npu_event_kind {
	DRM_NPU_EVENT_FAULT = 1 << 0,
	DRM_NPU_EVENT_QUEUE_STOPPED = 1 << 1,
	DRM_NPU_EVENT_DEAD = 1 << 2,
};

/**
 * enum drm_npu_ctx_events_flags - of DRM_IOCTL_NPU_CTX_EVENTS
 *
 * @DRM_NPU_CTX_EVENTS_CANCEL: what was asked for and has not come is not wanted any more
 */
enum drm_npu_ctx_events_flags {
	DRM_NPU_CTX_EVENTS_CANCEL = 1 << 0,
};

/**
 * struct drm_npu_ctx_events - ask to be told, once, what becomes of a context
 * @ctx: the context
 * @kinds: enum drm_npu_event_kind, one or more
 * @flags: enum drm_npu_ctx_events_flags
 * @faults: with DRM_NPU_EVENT_FAULT the number of faults that the program knows of, else zero
 * @user_data: comes with the events; zero with DRM_NPU_CTX_EVENTS_CANCEL
 *
 * Each of @kinds comes once as a struct drm_npu_event: when it happens, or at once if it is so
 * already. Who wants to be told again asks again, so that none can be missed meanwhile. Events are
 * there to wake a program up; what has become of the context DRM_IOCTL_NPU_CTX_STATUS tells. A
 * context that is destroyed takes with it what was asked for and has not come; events that have
 * come stay until they are read.
 *
 * Errors: -EINVAL (flags, kinds, @faults or @user_data where they mean nothing), -ENOENT (no such
 * context), -EEXIST (one of @kinds is asked for already), -EDQUOT (the file has
 * DRM_NPU_PARAM_EVENTS_MAX events that are asked for or not read yet, or would have more), -ENOMEM.
 */
struct drm_npu_ctx_events {
	__u32 ctx;
	__u32 kinds;
	__u32 flags;
	__u32 faults;
	__u64 user_data;
};

/* Type of a struct drm_event that is a struct drm_npu_event. */
#define DRM_NPU_EVENT			0x80000000u

/**
 * struct drm_npu_event - what read() of the file gives
 * @base: its type is DRM_NPU_EVENT, its length that of this structure, which may grow
 * @user_data: of who asked for it
 * @ctx: the context
 * @kind: enum drm_npu_event_kind, one of them
 * @state: enum drm_npu_ctx_state, of the moment when it happened
 * @faults: faults of the context until then
 *
 * Events come in the order in which they happened, as many whole ones as there is room for; without
 * room for one read() gives 0 bytes. It waits for the first, or fails with EAGAIN when the file is
 * O_NONBLOCK; poll() and its kin say when there is one (POLLIN). Events can be read when the device
 * is gone, too.
 */
struct drm_npu_event {
	struct drm_event base;
	__u64 user_data;
	__u32 ctx;
	__u32 kind;
	__u32 state;
	__u32 faults;
};

/**
 * enum drm_npu_bind_type - of an operation
 *
 * @DRM_NPU_BIND_MAP: put a buffer's range at an address where nothing is
 * @DRM_NPU_BIND_UNMAP: take away what is in a range; mappings that reach over its ends are cut, and
 *	holes are allowed
 */
enum drm_npu_bind_type {
	DRM_NPU_BIND_MAP = 0,
	DRM_NPU_BIND_UNMAP = 1,
};

/**
 * enum drm_npu_bind_flags - what the device may do with memory
 *
 * @DRM_NPU_BIND_READ: read it
 * @DRM_NPU_BIND_WRITE: write it; needs DRM_NPU_BIND_READ
 * @DRM_NPU_BIND_EXEC: fetch programs from it, which also needs DRM_NPU_BIND_READ
 */
enum drm_npu_bind_flags {
	DRM_NPU_BIND_READ = 1 << 0,
	DRM_NPU_BIND_WRITE = 1 << 1,
	DRM_NPU_BIND_EXEC = 1 << 2,
};

/**
 * struct drm_npu_bind_op - one operation of DRM_IOCTL_NPU_VM_BIND
 * @type: enum drm_npu_bind_type
 * @flags: enum drm_npu_bind_flags, not zero for a map, zero for an unmap
 * @handle: map: the buffer; unmap: zero
 * @pad: zero
 * @offset: map: where in the buffer, in whole pages; unmap: zero
 * @va: address for the device, in whole pages
 * @bytes: whole pages, not zero
 */
struct drm_npu_bind_op {
	__u32 type;
	__u32 flags;
	__u32 handle;
	__u32 pad;
	__u64 offset;
	__u64 va;
	__u64 bytes;
};

/**
 * struct drm_npu_vm_bind - change a context's address space
 * @ctx: the context
 * @failed: out: on failure the operation that is to blame, where one is
 * @ops: struct drm_npu_bind_op, 1 to DRM_NPU_PARAM_BINDS_MAX, done in order
 *
 * All operations are done, or none. "Whole pages" are of DRM_NPU_PARAM_PAGE_SIZE. When the call
 * returns, the device sees the new mappings, and does not reach memory that was unmapped; a task
 * that needs it faults. The memory of a mapping is pinned, and counts for whoever bound a buffer
 * first, all of it, until nobody has any of it bound; so do page tables. Buffers of others do not
 * count.
 *
 * Errors: -EINVAL (type, flags, alignment, an empty range or one beyond the buffer or beyond
 * DRM_NPU_PARAM_VA_END, padding, no operations, a buffer of others whose memory is not made of such
 * pages), -E2BIG (too many operations), -ENOENT (context or handle), -EACCES (memory of another
 * process, or to be written although it is DRM_NPU_USERPTR_READ_ONLY), -EEXIST (something is mapped
 * there), -EDQUOT (the file would have more than DRM_NPU_PARAM_MAPPINGS_MAX mappings, or its user
 * more memory pinned than he may), -ENOSPC (the device would have more pinned than it may), -EIO
 * (the context is dead), -EINTR (a signal ends the process, which does not see it),
 * -ENOMEM; for a buffer of others also what its owner answers when it is mapped.
 */
struct drm_npu_vm_bind {
	__u32 ctx;
	__u32 failed;
	struct drm_npu_array ops;
};

/**
 * struct drm_npu_queue_create - make a queue over a ring
 * @ctx: the context
 * @priority: 0 to 15, higher goes first; from 8 on it needs CAP_SYS_NICE or an RLIMIT_NICE that
 *	allows nice -1 or lower
 * @ring: address for the device of struct npu_ring_control, aligned to 64 bytes; the whole ring
 *	is bound for reading and writing, and starts zeroed, but for what @first says
 * @ring_log2: binary logarithm of its packets, 2 to 16
 * @flags: zero
 * @queue: out: its number, not zero
 * @pad: zero
 * @doorbell_offset: out: for mmap() of its doorbell
 * @doorbell_bytes: out: what to map, one page of the processor
 * @pad2: zero
 * @first: index of the packet it begins with; for a ring that was worked on before, by a queue of
 *	a context that a reset of the device ended. The device counts from there: it does not touch
 *	the read index until that packet is done with
 *
 * Errors: -EINVAL (priority, alignment, size, flags, padding, a ring that is not all bound for
 * reading and writing), -ENOENT (no such context), -EACCES (the priority is not allowed), -EDQUOT
 * (the user has as many as he may), -ENOSPC (all queues of the device are in use), -EIO (the
 * context is dead), -ENOMEM.
 */
struct drm_npu_queue_create {
	__u32 ctx;
	__u32 priority;
	__u64 ring;
	__u32 ring_log2;
	__u32 flags;
	__u32 queue;
	__u32 pad;
	__u64 doorbell_offset;
	__u32 doorbell_bytes;
	__u32 pad2;
	__u64 first;
};

/**
 * struct drm_npu_queue_destroy - end a queue
 * @ctx: its context
 * @queue: the queue
 *
 * A running task is killed; its record is written when the call returns. Packets that have not
 * begun are not looked at any more.
 *
 * Errors: -ENOENT (context or queue), -EIO (the device failed just then, and is reset).
 */
struct drm_npu_queue_destroy {
	__u32 ctx;
	__u32 queue;
};

/**
 * struct drm_npu_sem - a semaphore and what it is waited for
 * @sem: index of the semaphore
 * @pad: zero
 * @value: met when the semaphore is at least this
 */
struct drm_npu_sem {
	__u32 sem;
	__u32 pad;
	__u64 value;
};

/**
 * enum drm_npu_sem_wait_flags - of DRM_IOCTL_NPU_SEM_WAIT
 *
 * @DRM_NPU_SEM_WAIT_ALL: until all are met, not the first
 */
enum drm_npu_sem_wait_flags {
	DRM_NPU_SEM_WAIT_ALL = 1 << 0,
};

/**
 * struct drm_npu_sem_wait - sleep until semaphores have grown
 * @ctx: the context
 * @flags: enum drm_npu_sem_wait_flags
 * @sems: struct drm_npu_sem, 1 to DRM_NPU_PARAM_WAITS_MAX
 * @deadline_ns: CLOCK_MONOTONIC; not in the future: only look; INT64_MAX: none. Not negative
 * @first: out: without DRM_NPU_SEM_WAIT_ALL the lowest element that is met
 * @pad: zero
 *
 * What is met counts before anything else: the call succeeds for it on a dead context as well.
 *
 * Errors: -EINVAL (flags, padding, a semaphore the context does not have, no elements, a negative
 * deadline), -E2BIG (too many), -ENOENT (no such context), -ETIME (the deadline has passed, never
 * early), -EIO (not met, and a queue of the context has stopped or the context is dead or
 * destroyed), -EINTR (a signal was handled, by a handler without SA_RESTART; after one with it the
 * wait goes on), -ENOMEM.
 */
struct drm_npu_sem_wait {
	__u32 ctx;
	__u32 flags;
	struct drm_npu_array sems;
	__s64 deadline_ns;
	__u32 first;
	__u32 pad;
};

/**
 * struct drm_npu_sem_to_syncobj - a semaphore's growth becomes a point of a syncobj
 * @ctx: the context
 * @sem: index of the semaphore
 * @value: reached when the semaphore is at least this
 * @syncobj: handle of the syncobj
 * @flags: zero
 * @point: of its timeline; zero: it is one of a single fence, which is replaced
 *
 * Nothing is seen of it until the semaphore has grown: no fence stands for work that may never end.
 * Then the point comes, signalled, in the order in which values are reached. Who waits for it asks
 * for that with DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, or by DRM_IOCTL_SYNCOBJ_EVENTFD. A timeline
 * does not go back: a point below one that is there already adds nothing.
 *
 * The point also comes when a queue of the context stops or the context ends, so that nobody is
 * left waiting. Points carry no errors: DRM_IOCTL_NPU_CTX_STATUS tells the difference.
 *
 * Errors: -EINVAL (flags, a semaphore the context does not have), -ENOENT (context or syncobj),
 * -EIO (not reached, and a queue of the context has stopped or the context is dead), -EDQUOT
 * (DRM_NPU_PARAM_PENDING_MAX are pending), -ENOMEM.
 */
struct drm_npu_sem_to_syncobj {
	__u32 ctx;
	__u32 sem;
	__u64 value;
	__u32 syncobj;
	__u32 flags;
	__u64 point;
};

/**
 * struct drm_npu_syncobj_to_sem - a semaphore grows when a point of a syncobj is signalled
 * @ctx: the context
 * @queue: one of its queues; when it is destroyed before, nothing happens
 * @syncobj: handle of the syncobj
 * @sem: index of the semaphore
 * @point: of its timeline, or zero
 * @add: added to the semaphore, 1 to 2^48 - 1
 * @flags: zero
 * @pad: zero
 *
 * The call does not wait. The fence must be there, signalled or not; that it failed makes no
 * difference.
 *
 * Errors: -EINVAL (flags, padding, @add, a semaphore the context does not have, a point that is not
 * there yet), -ENOENT (context, queue or syncobj), -EIO (the context is dead), -EDQUOT
 * (DRM_NPU_PARAM_PENDING_MAX are pending), -ENOMEM.
 */
struct drm_npu_syncobj_to_sem {
	__u32 ctx;
	__u32 queue;
	__u32 syncobj;
	__u32 sem;
	__u64 point;
	__u64 add;
	__u32 flags;
	__u32 pad;
};

/**
 * struct drm_npu_uring_wait - DRM_NPU_URING_OP_WAIT: complete when a semaphore has grown
 * @ctx: the context
 * @sem: index of the semaphore
 * @timeout_us: microseconds from the submission on; 0: only look; 0xffffffff: none
 * @value: met when the semaphore is at least this
 *
 * What is met counts before anything else, as with DRM_IOCTL_NPU_SEM_WAIT. The result is 0 when it
 * is met, else an error: -ETIME (never early), -ECANCELED (by DRM_NPU_URING_OP_CANCEL, or as the
 * ring ends), -EIO (not met, and a queue of the context has stopped or the context is dead or
 * destroyed), -ENODEV, -EINVAL (a semaphore the context does not have), -ENOENT (no such context),
 * -EDQUOT (DRM_NPU_PARAM_PENDING_MAX are pending), -ENOMEM.
 */
struct drm_npu_uring_wait {
	__u16 ctx;
	__u16 sem;
	__u32 timeout_us;
	__u64 value;
};

/**
 * struct drm_npu_uring_cancel - DRM_NPU_URING_OP_CANCEL: end waits before their time
 * @user_data: of the waits' submissions, on this ring and this file
 * @pad: zero
 *
 * Every such wait that is still pending completes with -ECANCELED, or with 0 if it is met just
 * then. io_uring's own cancellation and linked time-outs do not reach commands of drivers.
 *
 * The result is the number of waits that were ended, else an error: -ENOENT (none), -EINVAL
 * (padding).
 */
struct drm_npu_uring_cancel {
	__u64 user_data;
	__u64 pad;
};

#define DRM_IOCTL_NPU_GET_PARAM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GET_PARAM, struct drm_npu_get_param)
#define DRM_IOCTL_NPU_GEM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GEM_CREATE, struct drm_npu_gem_create)
#define DRM_IOCTL_NPU_GEM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GEM_INFO, struct drm_npu_gem_info)
#define DRM_IOCTL_NPU_CTX_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_CTX_CREATE, struct drm_npu_ctx_create)
#define DRM_IOCTL_NPU_CTX_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_CTX_DESTROY, struct drm_npu_ctx_destroy)
#define DRM_IOCTL_NPU_CTX_STATUS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_CTX_STATUS, struct drm_npu_ctx_status)
#define DRM_IOCTL_NPU_VM_BIND \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_VM_BIND, struct drm_npu_vm_bind)
#define DRM_IOCTL_NPU_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_QUEUE_CREATE, struct drm_npu_queue_create)
#define DRM_IOCTL_NPU_QUEUE_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_QUEUE_DESTROY, struct drm_npu_queue_destroy)
#define DRM_IOCTL_NPU_SEM_WAIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_SEM_WAIT, struct drm_npu_sem_wait)
#define DRM_IOCTL_NPU_SEM_TO_SYNCOBJ \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_SEM_TO_SYNCOBJ, struct drm_npu_sem_to_syncobj)
#define DRM_IOCTL_NPU_SYNCOBJ_TO_SEM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_SYNCOBJ_TO_SEM, struct drm_npu_syncobj_to_sem)
#define DRM_IOCTL_NPU_GEM_USERPTR \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GEM_USERPTR, struct drm_npu_gem_userptr)
#define DRM_IOCTL_NPU_CTX_EVENTS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_CTX_EVENTS, struct drm_npu_ctx_events)

/**
 * enum drm_npu_uring_op - what io_uring can ask of the file
 *
 * @DRM_NPU_URING_OP_WAIT: struct drm_npu_uring_wait
 * @DRM_NPU_URING_OP_CANCEL: struct drm_npu_uring_cancel
 *
 * In a submission of IORING_OP_URING_CMD: this is its cmd_op, and the structure, of 16 bytes, is in
 * its cmd. Its fields ioprio, addr, len and uring_cmd_flags are zero, else -EINVAL, which is also
 * the answer to an operation that is not known. It may be of 64 or of 128 bytes. The file may be
 * registered with the ring, and the ring may be one that the kernel polls.
 */
enum drm_npu_uring_op {
	DRM_NPU_URING_OP_WAIT = DRM_IOW(DRM_COMMAND_BASE + 0x40, struct drm_npu_uring_wait),
	DRM_NPU_URING_OP_CANCEL = DRM_IOW(DRM_COMMAND_BASE + 0x41, struct drm_npu_uring_cancel),
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_NPU_ACCEL_H_ */
