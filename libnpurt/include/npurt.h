/* SPDX-License-Identifier: MIT */
/*
 * libnpurt: run compiled models on a neural processing unit.
 *
 * The guide is Documentation/runtime/guide.rst; "Guide:" below names its section.
 *
 * Rules that hold for every function here:
 *
 * - A function returning int returns 0 or more when it did its work, and a negative errno when
 *   it did not. The sentence that says what went wrong, where, and what to do about it is then
 *   in npurt_last_error() of the calling thread. A failed call leaves nothing behind: no object,
 *   no descriptor, no task on the device; output parameters keep their values.
 * - Objects are reference counted inside: an object stays alive as long as another object or a
 *   task in flight needs it, whatever the order in which the application lets go of them. After
 *   its release function an application must not use a pointer again.
 * - The library never exits, never aborts, installs no signal handlers and prints nothing, except
 *   into the log that the environment variable NPURT_LOG asks for: NPURT_LOG=LEVEL[:FILE] with
 *   LEVEL one of error, warning, info, debug; without a file it goes to stderr.
 * - "Any thread" means: may be called from any threads at once, also on the same object.
 *   Releasing an object while another thread is inside a call with it is the caller's error.
 * - Structures that start with `size` are versioned by it: the caller sets it to sizeof the
 *   structure it was compiled with, and zeroes the rest of those it fills in.
 * - After fork() the objects belong to the parent. In the child every call with them returns
 *   -EOWNERDEAD (release functions do nothing), and mapped memory is not there; the child opens
 *   the device anew. Guide: Processes.
 */
#ifndef NPURT_H
#define NPURT_H

#include <stddef.h>
#include <stdint.h>

#define NPURT_VERSION_MAJOR 0
#define NPURT_VERSION_MINOR 1
#define NPURT_VERSION_PATCH 0

#if defined(__GNUC__)
#define NPURT_API __attribute__((visibility("default")))
#else
#define NPURT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct npurt_device;
struct npurt_context;
struct npurt_buffer;
struct npurt_model;
struct npurt_future;
struct npurt_graph;

/* A time-out that never comes. Time-outs are nanoseconds from the call on; 0 does not wait. */
#define NPURT_FOREVER (-1)

/* ------------------------------------------------------------------- library */

/**
 * npurt_version() - the library's version, "0.1.0"
 *
 * Return: a constant string, never NULL.
 * Any thread.
 */
NPURT_API const char *npurt_version(void);

/**
 * npurt_last_error() - the sentence of the calling thread's last failed call
 *
 * Return: the sentence, "" when no call has failed on this thread. It belongs to the library and
 * is overwritten by the thread's next failing call; successful calls leave it alone.
 * Any thread.  Guide: Errors.
 */
NPURT_API const char *npurt_last_error(void);

/* ------------------------------------------------------------------- devices */

#define NPURT_NAME_BYTES 64

/* One device that npurt_open() would take. */
struct npurt_device_entry {
	char name[NPURT_NAME_BYTES];		/* for npurt_open() */
	char description[2 * NPURT_NAME_BYTES];	/* for people */
};

/**
 * npurt_list() - which devices there are
 * @entries: filled with up to @capacity devices; may be NULL when @capacity is 0
 * @entry_bytes: sizeof(struct npurt_device_entry)
 * @capacity: number of entries that fit
 *
 * Hardware devices come first, the device models `sim:...` after them.
 *
 * Return: how many there are (may be more than @capacity), or -EINVAL.
 * Any thread.  Guide: Devices.
 */
NPURT_API int npurt_list(struct npurt_device_entry *entries, size_t entry_bytes, size_t capacity);

/**
 * npurt_open() - open a device
 * @name: `sim:` or `sim:CONFIG[?KEY=VALUE[&KEY=VALUE]...]` for a device model of its own inside
 *	this process (CONFIG npu-v3 or lowpower-v3; keys are in the guide), `/dev/accel/accelN` or
 *	`accelN` for hardware. NULL or "": what $NPU_DEVICE names, else the first device of
 *	npurt_list().
 * @device: the new device; the caller releases it with npurt_close()
 *
 * Boots the device's firmware where that is this library's work: `sim:` takes the image built
 * into the library, or the file that $NPU_FIRMWARE names.
 *
 * Return: 0; -EINVAL (name or key not understood), -ENODEV or -ENOENT (no such device), -EACCES
 * (the file's permissions), -EPERM (device cgroup), -ENOMEM, -EPROTO (firmware or kernel driver of
 * another version), -EIO (firmware refused or dead),
 * -EOPNOTSUPP (this build has no way to such a device).
 * Any thread.  Guide: Devices.
 */
NPURT_API int npurt_open(const char *name, struct npurt_device **device);

/**
 * npurt_close() - let go of a device
 * @device: may be NULL
 *
 * Contexts made from it keep working until they are released themselves.
 * Any thread.
 */
NPURT_API void npurt_close(struct npurt_device *device);

/* What a device is. Read from its capability registers. */
struct npurt_device_info {
	size_t size;
	char name[NPURT_NAME_BYTES];	/* as given to npurt_open(), completed: "sim:npu-v3" */
	char config[16];		/* "npu-v3" */
	char driver[NPURT_NAME_BYTES];	/* back end and its version */
	char firmware_version[32];
	uint32_t firmware_abi;		/* major << 16 | minor */
	uint32_t hardware_version;	/* major << 16 | minor */
	uint32_t clusters;
	uint32_t mac_channels;		/* of array shape M */
	uint32_t mac_depth;		/* int8 depth of array shape M */
	uint32_t macs_per_cluster;	/* int8 multiply-accumulates a cycle a cluster */
	uint32_t local_sram_bytes;	/* a cluster */
	uint32_t global_sram_bytes;
	uint32_t accumulator_bytes;	/* a cluster */
	uint32_t dma_channels;		/* in all */
	uint32_t dram_bytes_per_cycle;
	uint32_t dram_latency_cycles;
	uint32_t vector_bytes;		/* a cycle a cluster */
	uint32_t output_results;	/* int8 results a cycle a cluster */
	uint32_t queues;
	uint32_t slots;
	uint32_t contexts;
	uint32_t semaphores_per_context;
	uint64_t clock_hz;
};

/**
 * npurt_device_get_info() - what the device is
 * @device: the device
 * @info: @info->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -EOWNERDEAD.
 * Any thread.
 */
NPURT_API int npurt_device_get_info(struct npurt_device *device, struct npurt_device_info *info);

/* What a device has done since it was started. Counters do not wrap in practice. */
struct npurt_device_counters {
	size_t size;
	uint64_t time_cycles;
	uint64_t tasks;
	uint64_t mac_cycles;		/* busy, summed over clusters */
	uint64_t vector_cycles;
	uint64_t dma_cycles;
	uint64_t dram_read_bytes;
	uint64_t dram_write_bytes;
	uint64_t tlb_misses;
};

/**
 * npurt_device_get_counters() - what the device has done
 * @device: the device
 * @counters: @counters->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -ENODEV (the device is gone), -EOWNERDEAD.
 * Any thread.
 */
NPURT_API int npurt_device_get_counters(struct npurt_device *device,
					struct npurt_device_counters *counters);

/**
 * npurt_device_firmware_log() - read the firmware's log
 * @device: the device
 * @position: where to go on; 0 at first, updated
 * @text: receives text, not NUL terminated
 * @bytes: room in @text
 *
 * Return: number of bytes written, 0 at the end of the log; -EINVAL, -EIO, -EOWNERDEAD,
 * -EACCES (behind the kernel's driver it is for root), -EOPNOTSUPP (the kernel does not show it).
 * Any thread.
 */
NPURT_API int npurt_device_firmware_log(struct npurt_device *device, uint32_t *position,
					char *text, size_t bytes);

/* ------------------------------------------------------------------- contexts */

/* The context maps with 4 KiB pages only, so that cycles do not depend on where memory lies. */
#define NPURT_CONTEXT_PAGES_4K (1u << 0)
/* Never spin while waiting: sleep at once. */
#define NPURT_CONTEXT_NO_SPIN (1u << 1)

/* How a context is made. Zero in a field means the default. */
struct npurt_context_options {
	size_t size;
	uint32_t flags;		/* NPURT_CONTEXT_* */
	uint32_t queue_depth;	/* places, 1..65536; default 64. A run takes one until it is
				   complete, a list of a graph's device nodes two */
	uint32_t priority;	/* 0..15, 15 first; default 0 */
	uint32_t spin_us;	/* of spinning before a waiter sleeps; default 20, 0 on one CPU */
	uint32_t reserved;	/* 0 */
	uint64_t queue_bytes;	/* of inputs and outputs of tasks in flight at most; 0: no bound */
	uint64_t pool_bytes;	/* of buffers and models at most, and kept for reuse;
				   0: no bound, nothing is kept */
};

/**
 * npurt_context_create() - an address space on the device, and the queue that works in it
 * @device: the device
 * @options: NULL for the defaults
 * @context: the new context; the caller releases it with npurt_context_destroy()
 *
 * A context is the border of protection: what its programs do wrong stays in it.
 *
 * Return: 0; -EINVAL, -ENOSPC (all contexts or queues of the device are taken), -ENOMEM, -EIO,
 * -EOWNERDEAD.
 * Any thread.  Guide: Contexts.
 */
NPURT_API int npurt_context_create(struct npurt_device *device,
				   const struct npurt_context_options *options,
				   struct npurt_context **context);

/**
 * npurt_context_destroy() - let go of a context
 * @context: may be NULL
 *
 * The device's part of it ends when the last buffer, model and future of it is released as well;
 * a task still in flight then is killed.
 * Any thread.
 */
NPURT_API void npurt_context_destroy(struct npurt_context *context);

/* What happens on a context's queue. */
struct npurt_context_status {
	size_t size;
	uint32_t queue_depth;	/* the bound, in places */
	uint32_t in_flight;	/* places of what is submitted and not yet complete */
	uint64_t submitted;	/* places ever taken */
	uint64_t completed;	/* of these, complete, whether done or failed */
	int error;		/* negative errno when the queue has stopped for good, else 0 */
	uint32_t reserved;
	uint64_t bytes_in_flight; /* of inputs and outputs; counted when there is a bound */
	uint64_t buffer_bytes;	/* of memory in use: buffers, models, the queue itself */
	uint64_t pool_kept_bytes; /* of memory kept for reuse */
};

/**
 * npurt_context_get_status() - how a context's queue is doing
 * @context: the context
 * @status: @status->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -EOWNERDEAD. A stopped queue is no failure of this call.
 * Any thread; makes no system call.
 */
NPURT_API int npurt_context_get_status(struct npurt_context *context,
				       struct npurt_context_status *status);

/* -------------------------------------------------------------------- buffers */

/* The device may only read it. */
#define NPURT_BUFFER_READ_ONLY (1u << 0)
/* It can be handed to others: npurt_buffer_export(). */
#define NPURT_BUFFER_EXPORT (1u << 1)

/**
 * npurt_buffer_alloc() - zeroed memory that host and device share
 * @context: the context that sees it
 * @bytes: 1 or more; rounded up to whole pages
 * @flags: NPURT_BUFFER_*
 * @buffer: the new buffer; the caller releases it with npurt_buffer_free()
 *
 * Return: 0; -EINVAL, -ENOMEM (memory, the context's address space, or its pool_bytes are used up),
 * -EOWNERDEAD.
 * Any thread.  Guide: Buffers.
 */
NPURT_API int npurt_buffer_alloc(struct npurt_context *context, uint64_t bytes, uint32_t flags,
				 struct npurt_buffer **buffer);

/**
 * npurt_buffer_export() - a file descriptor that stands for a buffer's memory
 * @buffer: made with NPURT_BUFFER_EXPORT, or imported
 * @file: the new descriptor, close-on-exec; the caller closes it
 *
 * Other processes, other contexts of this one (npurt_buffer_import()) and other drivers can use the
 * memory by it without a copy. It lives as long as anybody has the descriptor, a mapping of it, or a
 * buffer. A device behind the kernel driver gives a dma-buf, `sim:` a memfd whose size is sealed.
 * Nobody is told when a task has written it: wait for the task's future before others read.
 *
 * Return: 0; -EINVAL (not made for it), -EMFILE and what else the kernel answers, -EOWNERDEAD.
 * Any thread.  Guide: Sharing memory.
 */
NPURT_API int npurt_buffer_export(struct npurt_buffer *buffer, int *file);

/**
 * npurt_buffer_import() - a buffer of memory that somebody else has
 * @context: the context that sees it
 * @file: a dma-buf: of a camera, a display, a dma-buf heap, udmabuf, npurt_buffer_export(); of `sim:`
 *	also a memfd that cannot shrink (F_SEAL_SHRINK). Stays the caller's, who may close it
 * @flags: 0, or NPURT_BUFFER_READ_ONLY: neither the device nor npurt_buffer_map() may write it
 * @buffer: the new buffer, as large as the memory; the caller releases it with npurt_buffer_free()
 *
 * Nothing is copied. It does not count towards pool_bytes. What another driver's device or its
 * processors wrote is there after a DMA_BUF_IOCTL_SYNC of it, as for every dma-buf.
 *
 * Return: 0; -EINVAL (flags, not such a file), -EBADF, -EACCES (a descriptor that cannot be
 * written, without NPURT_BUFFER_READ_ONLY), -ENOMEM, -EOWNERDEAD, and what the exporter answers.
 * Any thread.  Guide: Sharing memory.
 */
NPURT_API int npurt_buffer_import(struct npurt_context *context, int file, uint32_t flags,
				  struct npurt_buffer **buffer);

/**
 * npurt_buffer_wrap() - a buffer of the program's own memory
 * @context: the context that sees it
 * @memory: whole pages of the processor's (sysconf(_SC_PAGESIZE)), by mmap(), aligned_alloc() or another
 *	library. Stays the caller's, and mapped until the buffer is freed and the last task that uses it
 *	is over
 * @bytes: of it, whole pages, too
 * @flags: 0, or NPURT_BUFFER_READ_ONLY: the device may not write it, nor need the program be able to
 * @buffer: the new buffer; the caller releases it with npurt_buffer_free(). npurt_buffer_map() is @memory
 *
 * Nothing is copied. It does not count towards pool_bytes, but behind the kernel driver towards
 * RLIMIT_MEMLOCK, as its pages are kept in place; and it cannot be exported.
 *
 * Return: 0; -EINVAL (flags, no whole pages), -EFAULT (not all of it is there, or not to be written; of a
 * file that the driver does not take), -EDQUOT (RLIMIT_MEMLOCK, or the user's share), -ENOMEM,
 * -EOPNOTSUPP (the driver is too old), -EOWNERDEAD.
 * Any thread.  Guide: Sharing memory.
 */
NPURT_API int npurt_buffer_wrap(struct npurt_context *context, void *memory, uint64_t bytes,
				uint32_t flags, struct npurt_buffer **buffer);

/**
 * npurt_buffer_free() - let go of a buffer
 * @buffer: may be NULL
 *
 * A task in flight that uses it keeps it until it is complete; the host's pointer is dead at once.
 * Any thread.
 */
NPURT_API void npurt_buffer_free(struct npurt_buffer *buffer);

/**
 * npurt_buffer_map() - where the host sees it
 * @buffer: the buffer
 *
 * The mapping lives as long as the buffer; it is coherent with the device: what a task wrote is
 * there when the task's future is done, what the host writes before npurt_run_submit() is seen
 * by the task.
 *
 * Return: the first byte, page aligned; NULL in a forked child.
 * Any thread.
 */
NPURT_API void *npurt_buffer_map(const struct npurt_buffer *buffer);

/**
 * npurt_buffer_bytes() - its size as asked for
 * @buffer: the buffer
 *
 * Return: bytes.
 * Any thread.
 */
NPURT_API uint64_t npurt_buffer_bytes(const struct npurt_buffer *buffer);

/**
 * npurt_buffer_address() - where the device sees it
 * @buffer: the buffer
 *
 * Return: virtual address in the buffer's context.
 * Any thread.
 */
NPURT_API uint64_t npurt_buffer_address(const struct npurt_buffer *buffer);

/* --------------------------------------------------------------------- models */

/**
 * npurt_model_load() - load a compiled model from a file
 * @context: where its memory is bound
 * @path: a file that `npucc compile` wrote
 * @model: the new model; the caller releases it with npurt_model_unload()
 *
 * Everything in the file is checked before the device sees any of it; npurt_last_error() names
 * the offset of what is wrong.
 *
 * Return: 0; -EINVAL, -ENOEXEC (not a model, or a damaged one), -ENOTSUP (made for another
 * device, or by a newer compiler), -ENOMEM, -EFBIG, -EOWNERDEAD, or the errno of open() or read().
 * Any thread.  Guide: Models.
 */
NPURT_API int npurt_model_load(struct npurt_context *context, const char *path,
			       struct npurt_model **model);

/**
 * npurt_model_load_fd() - load a compiled model from an open file
 * @context: where its memory is bound
 * @fd: readable, of a regular file; read from offset 0, its position is not moved, not closed
 * @model: as npurt_model_load()
 *
 * Return: as npurt_model_load().
 * Any thread.
 */
NPURT_API int npurt_model_load_fd(struct npurt_context *context, int fd,
				  struct npurt_model **model);

/**
 * npurt_model_load_memory() - load a compiled model from memory
 * @context: where its memory is bound
 * @data: the file's bytes; not needed after the call
 * @bytes: how many
 * @model: as npurt_model_load()
 *
 * Return: as npurt_model_load().
 * Any thread.
 */
NPURT_API int npurt_model_load_memory(struct npurt_context *context, const void *data,
				      size_t bytes, struct npurt_model **model);

/**
 * npurt_model_unload() - let go of a model
 * @model: may be NULL
 *
 * Tasks in flight keep what they need of it.
 * Any thread.
 */
NPURT_API void npurt_model_unload(struct npurt_model *model);

/* Element types on the device; the numbers are the device's own (NPU_DTYPE_*). */
enum npurt_device_type {
	NPURT_DEVICE_INT8 = 0,
	NPURT_DEVICE_UINT8 = 1,
	NPURT_DEVICE_INT16 = 2,
	NPURT_DEVICE_INT32 = 3,
	NPURT_DEVICE_FP16 = 4,
	NPURT_DEVICE_FP32 = 5,
};

/* Element types as the model's author sees them; the numbers are ONNX's. */
enum npurt_host_type {
	NPURT_HOST_FLOAT = 1,
	NPURT_HOST_UINT8 = 2,
	NPURT_HOST_INT8 = 3,
	NPURT_HOST_UINT16 = 4,
	NPURT_HOST_INT16 = 5,
	NPURT_HOST_INT32 = 6,
	NPURT_HOST_INT64 = 7,
	NPURT_HOST_BOOL = 9,
	NPURT_HOST_FLOAT16 = 10,
	NPURT_HOST_DOUBLE = 11,
	NPURT_HOST_UINT32 = 12,
	NPURT_HOST_UINT64 = 13,
	NPURT_HOST_BFLOAT16 = 16,
};

#define NPURT_RANK_MAX 8

/* An input or an output of a model. Elements are dense, the last dimension innermost. */
struct npurt_tensor_info {
	size_t size;
	const char *name;	/* lives as long as the model */
	uint32_t host_type;	/* enum npurt_host_type */
	uint32_t device_type;	/* enum npurt_device_type */
	uint32_t rank;
	uint32_t dims[NPURT_RANK_MAX];	/* 1 beyond rank */
	float scale;		/* real = (device - zero_point) * scale; 1 when not quantized */
	int32_t zero_point;
	uint64_t elements;
	uint64_t host_bytes;	/* elements * size of host_type */
	uint64_t device_bytes;	/* what a buffer for it must hold */
};

/* A model as a whole. */
struct npurt_model_info {
	size_t size;
	const char *name;	/* lives as long as the model, as `target` does */
	const char *target;	/* configuration it was compiled for */
	uint8_t build_id[32];
	uint32_t inputs;
	uint32_t outputs;
	uint32_t layers;
	uint32_t clusters;
	uint32_t precision;	/* enum npurt_device_type of most multiplications */
	uint32_t abi;		/* of the file: major << 16 | minor */
	uint64_t macs;		/* useful multiply-accumulates of one run */
	uint64_t predicted_cycles;
	uint64_t roofline_cycles;
	uint64_t floor_cycles;
	uint64_t program_bytes;
	uint64_t weight_bytes;
	uint64_t scratch_bytes;
};

/* One layer of a model, in the order in which their last outputs are stored. */
struct npurt_layer_info {
	size_t size;
	const char *name;	/* the node's; lives as long as the model, as `op` does */
	const char *op;		/* the operator's */
	uint64_t macs;
	uint64_t predicted_cycles;
	uint64_t dram_bytes;	/* planned traffic */
};

/**
 * npurt_model_get_info() - the model as a whole
 * @model: the model
 * @info: @info->size set by the caller; filled
 *
 * Return: 0; -EINVAL.
 * Any thread.
 */
NPURT_API int npurt_model_get_info(const struct npurt_model *model, struct npurt_model_info *info);

/**
 * npurt_model_get_input() - one input
 * @model: the model
 * @index: 0 .. inputs - 1
 * @info: @info->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -ENOENT (no such input).
 * Any thread.
 */
NPURT_API int npurt_model_get_input(const struct npurt_model *model, uint32_t index,
				    struct npurt_tensor_info *info);

/**
 * npurt_model_get_output() - one output
 * @model: the model
 * @index: 0 .. outputs - 1
 * @info: @info->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -ENOENT.
 * Any thread.
 */
NPURT_API int npurt_model_get_output(const struct npurt_model *model, uint32_t index,
				     struct npurt_tensor_info *info);

/**
 * npurt_model_get_layer() - one layer
 * @model: the model
 * @index: 0 .. layers - 1
 * @info: @info->size set by the caller; filled
 *
 * Return: 0; -EINVAL, -ENOENT.
 * Any thread.
 */
NPURT_API int npurt_model_get_layer(const struct npurt_model *model, uint32_t index,
				    struct npurt_layer_info *info);

/* ---------------------------------------------------------------- conversions */

/**
 * npurt_tensor_from_host() - host's elements to device's
 * @info: an input, from npurt_model_get_input()
 * @host: @info->elements elements of @info->host_type
 * @host_bytes: at least @info->host_bytes
 * @device: room for the device's elements, usually npurt_buffer_map(); not overlapping @host
 * @device_bytes: at least @info->device_bytes
 *
 * Reals become quantized integers by scale and zero point, rounding half to even and saturating,
 * NaN becomes the zero point; reals to fp16 round once to nearest even, subnormals are kept, every
 * NaN becomes 0x7e00. Integers become integers of another width by saturation.
 *
 * Return: 0; -EINVAL (a size too small, a type that cannot be converted).
 * Any thread.  Guide: Conversions.
 */
NPURT_API int npurt_tensor_from_host(const struct npurt_tensor_info *info, const void *host,
				     size_t host_bytes, void *device, size_t device_bytes);

/**
 * npurt_tensor_to_host() - device's elements to host's
 * @info: an output, from npurt_model_get_output()
 * @device: the device's elements
 * @device_bytes: at least @info->device_bytes
 * @host: room for the host's elements; not overlapping @device
 * @host_bytes: at least @info->host_bytes
 *
 * The reverse of npurt_tensor_from_host(); a real becoming a host integer is rounded half to
 * even and saturated, NaN becomes 0.
 *
 * Return: 0; -EINVAL.
 * Any thread.
 */
NPURT_API int npurt_tensor_to_host(const struct npurt_tensor_info *info, const void *device,
				   size_t device_bytes, void *host, size_t host_bytes);

/* -------------------------------------------------------------------- running */

/* What a full queue does to a submitter. */
enum npurt_policy {
	NPURT_POLICY_BLOCK = 0,		/* waits for room */
	NPURT_POLICY_TRY = 1,		/* -EAGAIN at once, nothing has happened */
	NPURT_POLICY_TIMEOUT = 2,	/* waits at most timeout_ns, then -ETIMEDOUT, never early */
};

/* Time stamps at layer ends are taken: npurt_future_get_layer_times(). */
#define NPURT_RUN_PROFILE (1u << 0)

/* The budget a run has when the caller names none: device cycles. */
#define NPURT_BUDGET_DEFAULT (10ull * 1000 * 1000 * 1000)
#define NPURT_BUDGET_MAX (0xffffffffull * 1024)

/* How a task is submitted. Zero in a field means the default. */
struct npurt_run_options {
	size_t size;
	uint32_t policy;	/* enum npurt_policy */
	uint32_t flags;		/* NPURT_RUN_* */
	int64_t timeout_ns;	/* of NPURT_POLICY_TIMEOUT */
	uint64_t budget_cycles;	/* device cycles until the task is ended, rounded up to 1024 */
};

/* Where an input is read or an output written: the tensor's dense bytes in a buffer. */
struct npurt_binding {
	struct npurt_buffer *buffer;	/* of the model's context */
	uint64_t offset;		/* multiple of 64 */
};

/**
 * npurt_run_submit() - one run of a model, put on its context's queue
 * @model: the model
 * @bindings: one for each input in order, then one for each output in order
 * @count: inputs + outputs
 * @options: NULL for the defaults
 * @future: the new future; the caller releases it with npurt_future_release(). NULL: nobody
 *	wants to know; the task runs all the same
 *
 * Runs of one context start and complete in the order of their submission, so one that reads
 * what an earlier one writes needs nothing else. Into a queue with room this makes no system
 * call unless the device sleeps. Inputs must not change, and outputs must not be read, before
 * the future is done.
 *
 * Return: 0; -EINVAL (bindings do not fit the model), -EAGAIN or -ETIMEDOUT (the queue is full,
 * by policy), -E2BIG (more bytes than the queue takes at all), -EDEADLK (it would wait, in a
 * callback), -EIO (the queue has stopped, see the sentence), -ENOMEM, -EOWNERDEAD.
 * Any thread.  Guide: Running.
 */
NPURT_API int npurt_run_submit(struct npurt_model *model, const struct npurt_binding *bindings,
			       size_t count, const struct npurt_run_options *options,
			       struct npurt_future **future);

/**
 * npurt_run() - npurt_run_submit(), wait until done, release
 * @model: as npurt_run_submit(), like the next three
 * @bindings: see there
 * @count: see there
 * @options: see there
 *
 * Return: 0 when the run is done; as npurt_run_submit() and npurt_future_wait() otherwise.
 * Any thread.
 */
NPURT_API int npurt_run(struct npurt_model *model, const struct npurt_binding *bindings,
			size_t count, const struct npurt_run_options *options);

/**
 * npurt_future_wait() - wait until a task is complete
 * @future: the future
 * @timeout_ns: how long at most; NPURT_FOREVER, or 0 to look only
 *
 * Spins on the task's semaphore in memory for a little while, then sleeps. May be called any
 * number of times; the answer of a complete task stays the same.
 *
 * Return: 0 when the task is done; -ETIMEDOUT (not complete yet, and nothing else), -EDEADLK (it
 * would wait, in a callback), or why it failed: -EFAULT (it touched memory or executed an
 * instruction that it must not), -ETIME (its budget ran out), -EBADMSG (the device refused it),
 * -ECANCELED (killed), -EIO (the queue stopped before it, or the device's memory lost bits it
 * worked on), -ENODEV (the device is dead),
 * -EOWNERDEAD. npurt_future_error() has the sentence.
 * Any thread.  Guide: Waiting.
 */
NPURT_API int npurt_future_wait(struct npurt_future *future, int64_t timeout_ns);

/**
 * npurt_future_error() - why a task failed
 * @future: the future
 *
 * Return: a sentence naming task, model, layer, address and reason; "" of a task that is done or
 * not complete. Lives as long as the future.
 * Any thread.  Guide: Errors.
 */
NPURT_API const char *npurt_future_error(struct npurt_future *future);

/* What the device says about a complete task. */
struct npurt_task_report {
	size_t size;
	uint32_t task_id;
	uint32_t status;	/* the device's own: NPU_STATUS_* */
	uint32_t error;		/* NPU_ERROR_* */
	uint32_t clusters;	/* of the program */
	uint64_t start;		/* device cycles */
	uint64_t end;
	uint64_t cycles;	/* end - start */
	uint64_t mac_cycles;	/* busy, summed over clusters */
	uint64_t output_cycles;
	uint64_t vector_cycles;
	uint64_t dma_cycles;	/* summed over channels */
	uint64_t dram_read_bytes;	/* instruction fetch included */
	uint64_t dram_write_bytes;
	uint64_t stall_token_cycles;
	uint64_t stall_memory_cycles;
	uint64_t detail;	/* of an error: address or offset */
	int64_t submit_ns;	/* CLOCK_MONOTONIC: published to the device */
	int64_t complete_ns;	/* CLOCK_MONOTONIC: the host noticed */
};

/**
 * npurt_future_get_report() - the device's report on a complete task
 * @future: the future
 * @report: @report->size set by the caller; filled
 *
 * Return: 0, also of a task that failed; -EBUSY (not complete), -EINVAL, -EIO (the task was lost
 * without a record), -ENODATA (a graph of host tasks only), -EOWNERDEAD.
 * Any thread.
 */
NPURT_API int npurt_future_get_report(struct npurt_future *future,
				      struct npurt_task_report *report);

/* When a layer ended, in device cycles after the task's start. */
struct npurt_layer_time {
	uint64_t end;		/* its last output was stored, on the last of its clusters */
	uint64_t cycles;	/* end - the latest end before it; these sum to the last end */
};

/**
 * npurt_future_get_layer_times() - when each layer ended
 * @future: of a task submitted with NPURT_RUN_PROFILE
 * @times: filled with up to @capacity layers, in the order of npurt_model_get_layer()
 * @capacity: how many fit
 *
 * A layer that wrote no mark (the task failed before) has the end of the one before it.
 *
 * Return: number of layers of the model; -EBUSY (not complete), -ENODATA (not profiled), -EINVAL,
 * -EOWNERDEAD.
 * Any thread.  Guide: Profiling.
 */
NPURT_API int npurt_future_get_layer_times(struct npurt_future *future,
					   struct npurt_layer_time *times, size_t capacity);

/**
 * npurt_future_release() - let go of a future
 * @future: may be NULL
 *
 * Does not wait and does not cancel.
 * Any thread.
 */
NPURT_API void npurt_future_release(struct npurt_future *future);

/* ------------------------------------------------------------------ notification */

/* What is called when a task is complete. */
typedef void (*npurt_callback)(struct npurt_future *future, void *data);

/**
 * npurt_future_set_callback() - have a function called when a task is complete
 * @future: the future; it may be released at any time from now on, also by the function
 * @callback: called once, in any case: also when the task is complete already, and when its context
 *	is destroyed before. On the context's completion thread, with all signals blocked; in
 *	npurt_dispatch() once npurt_context_get_fd() has been called. There it must not wait: calls
 *	that would return -EDEADLK
 * @data: for @callback
 *
 * Return: 0; -EINVAL, -EBUSY (it has one), -ENOMEM or -EAGAIN (no thread), -EOWNERDEAD.
 * Any thread.  Guide: Notification.
 */
NPURT_API int npurt_future_set_callback(struct npurt_future *future, npurt_callback callback,
					void *data);

/**
 * npurt_context_get_fd() - a file descriptor for poll()
 * @context: the context
 *
 * It is readable when tasks have completed since the last npurt_dispatch(), and now and then for
 * nothing: futures are worth a look, and there may be room in the queue. From the first call on
 * callbacks run in npurt_dispatch().
 *
 * Return: the descriptor, always the same one, closed with the context; -EINVAL, -ENOMEM or -EAGAIN
 * (no thread), -EMFILE or -ENFILE, -EOWNERDEAD.
 * Any thread.  Guide: Notification.
 */
NPURT_API int npurt_context_get_fd(struct npurt_context *context);

/**
 * npurt_dispatch() - make the descriptor unreadable, and run callbacks that are due
 * @context: one whose npurt_context_get_fd() has been called
 *
 * Does not wait.
 *
 * Return: how many callbacks have run; -EINVAL (no descriptor), -EDEADLK (in a callback),
 * -EOWNERDEAD.
 * Any thread.  Guide: Notification.
 */
NPURT_API int npurt_dispatch(struct npurt_context *context);

struct io_uring_sqe;

/**
 * npurt_future_prepare_uring() - have a task's end complete a submission of io_uring's
 * @future: of npurt_run_submit(), or of a graph without host tasks
 * @sqe: filled, except its user_data; of 64 or 128 bytes. Whoever has the device's file registered sets
 *	fd and IOSQE_FIXED_FILE afterwards
 * @timeout_ns: from the submission on, rounded up to microseconds, at most 71 minutes; or NPURT_FOREVER
 *
 * The completion's result is 0 when the task is complete, -ETIME after the time-out, or another negative
 * errno when the task will not complete any more; npurt_future_wait() then says at once what became of
 * it. No thread of the library's is needed. Nothing happens when the submission is not made; the future
 * may be released before it completes.
 *
 * Return: 0; -EINVAL, -EOPNOTSUPP (`sim:`, a graph with host tasks, a kernel without io_uring: use
 * npurt_context_get_fd()), -EOWNERDEAD.
 * Any thread.  Guide: Notification.
 */
NPURT_API int npurt_future_prepare_uring(struct npurt_future *future, struct io_uring_sqe *sqe,
					 int64_t timeout_ns);

/* ------------------------------------------------------------------- event loops */

struct npurt_loop;

enum npurt_loop_kind {
	NPURT_LOOP_URING = 1,	/* by io_uring */
	NPURT_LOOP_POLL = 2,	/* by poll() */
};

struct npurt_loop_options {
	size_t size;
	uint32_t kind;		/* enum npurt_loop_kind; 0: io_uring, or poll() where that is refused */
	uint32_t reserved;	/* 0 */
};

/*
 * What is called, once, when something has happened that was asked for, on the thread inside
 * npurt_loop_run(). It may ask for more. It must not wait: calls that would return -EDEADLK.
 */
typedef void (*npurt_loop_callback)(void *data, int result);

/**
 * npurt_loop_create() - an event loop: one thread waits for tasks, files, descriptors and times
 * @options: NULL for the defaults
 * @loop: the new loop; the caller releases it with npurt_loop_destroy()
 *
 * It behaves the same whatever it is made of. No thread is made for it.
 *
 * Return: 0; -EINVAL, -ENOMEM, -EMFILE or -ENFILE; of NPURT_LOOP_URING also -EPERM and the like (io_uring
 * is refused) and -EOPNOTSUPP (the library was built without).
 * Any thread.  Guide: Event loops.
 */
NPURT_API int npurt_loop_create(const struct npurt_loop_options *options, struct npurt_loop **loop);

/**
 * npurt_loop_destroy() - end what has been asked for, and free the loop
 * @loop: may be NULL
 *
 * What has not happened yet ends with -ECANCELED; a read that has begun is waited for. Callbacks are
 * called here for the last time.
 * Any thread, not in a callback.  Guide: Event loops.
 */
NPURT_API void npurt_loop_destroy(struct npurt_loop *loop);

/**
 * npurt_loop_get_kind() - what a loop is made of
 * @loop: the loop
 *
 * Return: enum npurt_loop_kind; -EINVAL.
 * Any thread.  Guide: Event loops.
 */
NPURT_API int npurt_loop_get_kind(const struct npurt_loop *loop);

/**
 * npurt_loop_add_future() - ask for the end of a task
 * @loop: the loop
 * @future: the future; it may be released at any time from now on
 * @timeout_ns: from now on, or NPURT_FOREVER
 * @callback: gets 0 when the task is complete, and npurt_future_wait() says at once what became of it;
 *	-ETIME after the time-out
 * @data: for @callback
 *
 * Where the device cannot complete something of io_uring's, the future's context is watched by
 * npurt_context_get_fd(): then its callbacks run in npurt_loop_run(), and nobody else calls
 * npurt_dispatch() for it.
 *
 * Return: 0; -EINVAL, -ENOMEM, -EBUSY, -ECANCELED (the loop is being destroyed), those of
 * npurt_context_get_fd(), -EOWNERDEAD.
 * One thread of a loop at a time.  Guide: Event loops.
 */
NPURT_API int npurt_loop_add_future(struct npurt_loop *loop, struct npurt_future *future,
				    int64_t timeout_ns, npurt_loop_callback callback, void *data);

/**
 * npurt_loop_add_fd() - ask, once, for a descriptor to be ready
 * @loop: the loop
 * @fd: the descriptor; to be open until then
 * @events: POLLIN and the like, as poll() takes them
 * @callback: gets what is ready, as poll() says it, or a negative errno
 * @data: for @callback
 *
 * Return: 0; -EINVAL, -ENOMEM, -EBUSY, -ECANCELED (the loop is being destroyed).
 * One thread of a loop at a time.  Guide: Event loops.
 */
NPURT_API int npurt_loop_add_fd(struct npurt_loop *loop, int fd, short events,
				npurt_loop_callback callback, void *data);

/**
 * npurt_loop_add_read() - read from a file, such as into a buffer that the device has
 * @loop: the loop
 * @fd: an open file, not a pipe or socket; its position is not moved
 * @to: memory that stays until @callback is called: npurt_buffer_map() or any other
 * @bytes: how many at most
 * @offset: in the file
 * @callback: gets how many it were, 0 at the end of the file, or a negative errno
 * @data: for @callback
 *
 * Return: 0; -EINVAL, -ENOMEM, -EBUSY, -EBADF, -ESPIPE (a pipe or socket), -ECANCELED (the loop is being
 * destroyed).
 * One thread of a loop at a time.  Guide: Event loops.
 */
NPURT_API int npurt_loop_add_read(struct npurt_loop *loop, int fd, void *to, size_t bytes,
				  int64_t offset, npurt_loop_callback callback, void *data);

/**
 * npurt_loop_add_timer() - ask for a time, once
 * @loop: the loop
 * @timeout_ns: from now on
 * @callback: gets 0; never early
 * @data: for @callback
 *
 * Return: 0; -EINVAL, -ENOMEM, -ECANCELED (the loop is being destroyed).
 * One thread of a loop at a time.  Guide: Event loops.
 */
NPURT_API int npurt_loop_add_timer(struct npurt_loop *loop, int64_t timeout_ns,
				   npurt_loop_callback callback, void *data);

/**
 * npurt_loop_run() - wait until something has happened, and call back
 * @loop: the loop
 * @timeout_ns: 0: only look; NPURT_FOREVER: none
 *
 * Return: how many callbacks have been called; 0 after the time-out or npurt_loop_wake(); -EINVAL,
 * -ENOMEM, -EDEADLK (in a callback), what poll() or io_uring fails with.
 * One thread of a loop at a time.  Guide: Event loops.
 */
NPURT_API int npurt_loop_run(struct npurt_loop *loop, int64_t timeout_ns);

/**
 * npurt_loop_wake() - have npurt_loop_run() return, the one that runs or the next
 * @loop: the loop
 *
 * Return: 0; -EINVAL.
 * Any thread.  Guide: Event loops.
 */
NPURT_API int npurt_loop_wake(struct npurt_loop *loop);

/* --------------------------------------------------------------------- graphs */

/* How a graph is made. Zero in a field means the default. */
struct npurt_graph_options {
	size_t size;
	uint32_t flags;		/* none yet: 0 */
	uint32_t replays;	/* in flight at most, 1..64; default 1; 1 with host tasks */
};

/**
 * npurt_graph_create() - an empty graph of tasks
 * @context: where its device tasks run
 * @options: NULL for the defaults
 * @graph: the new graph; the caller releases it with npurt_graph_destroy()
 *
 * Nodes and edges are added, the graph is built, and then submitted any number of times.
 *
 * Return: 0; -EINVAL, -ENOMEM, -EOWNERDEAD.
 * Any thread.  Guide: Graphs.
 */
NPURT_API int npurt_graph_create(struct npurt_context *context,
				 const struct npurt_graph_options *options,
				 struct npurt_graph **graph);

/**
 * npurt_graph_destroy() - let go of a graph
 * @graph: may be NULL
 *
 * Replays in flight keep what they need of it. One with host tasks also keeps its context.
 * Any thread.
 */
NPURT_API void npurt_graph_destroy(struct npurt_graph *graph);

/**
 * npurt_graph_add_run() - a node that runs a model
 * @graph: not built yet
 * @model: of the graph's context
 * @bindings: as npurt_run_submit()
 * @count: inputs + outputs
 * @budget_cycles: device cycles until the node is ended; 0: NPURT_BUDGET_DEFAULT
 * @node: the node's number, counted from 0; may be NULL
 *
 * Return: 0; -EINVAL (bindings do not fit), -EBUSY (built already), -E2BIG (2^20 nodes), -ENOMEM,
 * -EOWNERDEAD.
 * One thread at a time for one graph, like the other functions that add to it or build it.
 * Guide: Graphs.
 */
NPURT_API int npurt_graph_add_run(struct npurt_graph *graph, struct npurt_model *model,
				  const struct npurt_binding *bindings, size_t count,
				  uint64_t budget_cycles, uint32_t *node);

/**
 * npurt_graph_add_copy() - a node that copies memory on the device
 * @graph: not built yet
 * @to: where to; any alignment; must not overlap @from
 * @from: where from
 * @bytes: 1 to 2^31
 * @node: as npurt_graph_add_run()
 *
 * Return: as npurt_graph_add_run().
 * One thread at a time for one graph.
 */
NPURT_API int npurt_graph_add_copy(struct npurt_graph *graph, const struct npurt_binding *to,
				   const struct npurt_binding *from, uint64_t bytes,
				   uint32_t *node);

/* What a host node does: 0, or a negative errno, which cancels the nodes behind it. */
typedef int (*npurt_host_task)(void *data);

/**
 * npurt_graph_add_host() - a node that calls a function
 * @graph: not built yet
 * @task: called on one of the device's worker threads, with all signals blocked. There it must
 *	not wait: calls that would return -EDEADLK
 * @data: for @task
 * @node: as npurt_graph_add_run()
 *
 * Return: as npurt_graph_add_run().
 * One thread at a time for one graph.
 */
NPURT_API int npurt_graph_add_host(struct npurt_graph *graph, npurt_host_task task, void *data,
				   uint32_t *node);

/**
 * npurt_graph_add_edge() - a node starts when another one has ended
 * @graph: not built yet
 * @before: ends first
 * @after: starts then, and is cancelled when @before fails
 *
 * Return: 0; -EINVAL (no such node), -EBUSY (built already), -ENOMEM, -EOWNERDEAD.
 * One thread at a time for one graph.
 */
NPURT_API int npurt_graph_add_edge(struct npurt_graph *graph, uint32_t before, uint32_t after);

/**
 * npurt_graph_build() - make a graph ready to be submitted
 * @graph: with at least one node
 *
 * Device nodes that edges join are put into one list for the device, which works through it without
 * the host.
 *
 * Return: 0; -EINVAL (a cycle; no nodes), -EBUSY (built already), -E2BIG (the context's queue takes
 * too few tasks or bytes), -ENOMEM, -EAGAIN (no thread for host tasks), -EOWNERDEAD. After a
 * failure the graph is as before.
 * One thread at a time for one graph.
 */
NPURT_API int npurt_graph_build(struct npurt_graph *graph);

/**
 * npurt_graph_set_binding() - have a node work on other memory from the next submission on
 * @graph: built
 * @node: a run or a copy
 * @index: of a run as in its bindings; of a copy 0 for where from, 1 for where to
 * @binding: the memory
 *
 * Replays in flight go on with the memory they started with.
 *
 * Return: 0; -EINVAL, -EOWNERDEAD.
 * One thread at a time for one graph; others may submit it.
 */
NPURT_API int npurt_graph_set_binding(struct npurt_graph *graph, uint32_t node, uint32_t index,
				      const struct npurt_binding *binding);

/* How a graph is submitted. Zero in a field means the default. */
struct npurt_replay_options {
	size_t size;
	uint32_t policy;	/* enum npurt_policy: of a full queue, and a graph in flight */
	uint32_t flags;		/* none yet: 0 */
	int64_t timeout_ns;	/* of NPURT_POLICY_TIMEOUT */
	int64_t deadline_ns;	/* from the call on; what has not started then is cancelled, also
				   while it waits for room or for another replay; 0: none */
};

/**
 * npurt_graph_submit() - one replay of a graph
 * @graph: built
 * @options: NULL for the defaults
 * @future: complete when every node has ended or been cancelled; the caller releases it with
 *	npurt_future_release(). NULL: nobody wants to know
 *
 * Of a graph without host tasks the device runs as many replays as npurt_graph_options says, one
 * after another. A graph with host tasks has one replay in flight at a time.
 *
 * The replay fails when a node does: with the errno of the first node, by number, that failed by
 * itself. Nodes behind one that failed are cancelled. One that the device had been given already
 * may have run all the same, on what was there; its result is -ECANCELED, and what it wrote is of
 * no use.
 *
 * Return: 0; -EINVAL (not built), -EAGAIN or -ETIMEDOUT (by policy), -EDEADLK (it would wait, in a
 * callback), -EIO (the queue has stopped), -ENOMEM, -EOWNERDEAD.
 * Any thread.  Guide: Graphs.
 */
NPURT_API int npurt_graph_submit(struct npurt_graph *graph,
				 const struct npurt_replay_options *options,
				 struct npurt_future **future);

/**
 * npurt_future_node_result() - how a node of a graph ended
 * @future: of a graph, complete
 * @node: its number
 *
 * Return: 0 when it is done; as npurt_future_wait() when it failed; -ECANCELED (one before it
 * failed, or npurt_future_cancel()), -ETIME (also: the deadline passed before it started), what its
 * host task returned; -EBUSY (not complete), -EINVAL, -EOWNERDEAD.
 * Any thread.
 */
NPURT_API int npurt_future_node_result(struct npurt_future *future, uint32_t node);

/**
 * npurt_future_cancel() - do not start what has not started
 * @future: of a graph; a single run is with the device already, and goes on
 *
 * Does not wait. Nodes that the device or a worker has been given run to their end; the others end
 * with -ECANCELED, and so does the replay, unless a node failed by itself.
 *
 * Return: 0, also when it is complete already; -EINVAL, -EOWNERDEAD.
 * Any thread.
 */
NPURT_API int npurt_future_cancel(struct npurt_future *future);

#ifdef __cplusplus
}
#endif

#endif /* NPURT_H */
