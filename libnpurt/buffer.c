// SPDX-License-Identifier: MIT
/* Memory that host and device share. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npu_pgtable.h"
#include "objects.h"

/* Nothing is mapped between two buffers, so that running over the end of one faults. */
#define GUARD_BYTES NPU_PAGE_BYTES

static int take_va(struct npurt_buffer *buffer)
{
	struct npurt_context *context = buffer->context;
	uint64_t bytes = buffer->memory.bytes;
	uint64_t align = bytes >= NPU_LARGE_PAGE_BYTES ? NPU_LARGE_PAGE_BYTES : NPU_PAGE_BYTES;
	int ret;

	pthread_mutex_lock(&context->va_lock);
	ret = npurt_range_take(&context->va, bytes + GUARD_BYTES, align, &buffer->va);
	pthread_mutex_unlock(&context->va_lock);
	if (ret)
		return npurt_fail(
			-ENOMEM,
			"npurt: the context has no free piece of address space of %" PRIu64
			" bytes: free buffers or models, or use a second context",
			bytes);
	return 0;
}

static void give_va(struct npurt_buffer *buffer)
{
	pthread_mutex_lock(&buffer->context->va_lock);
	npurt_range_give(&buffer->context->va, buffer->va, buffer->memory.bytes + GUARD_BYTES);
	pthread_mutex_unlock(&buffer->context->va_lock);
}

static int bind_to(struct npurt_backend_context *backend, const struct npurt_buffer *buffer)
{
	return backend->backend->ops->bind(backend, buffer->va, &buffer->memory, buffer->prot);
}

static int bind(struct npurt_buffer *buffer)
{
	struct npurt_context *context = buffer->context;
	struct npurt_backend_context *backend;
	int ret;

	pthread_mutex_lock(&context->bind_lock);
	backend = npurt_context_backend(context);
	ret = bind_to(backend, buffer);
	/* It is bound with all others when the context is made again. */
	if (ret && npurt_is_lost(backend))
		ret = 0;
	if (!ret) {
		buffer->next = context->buffers;
		buffer->link = &context->buffers;
		if (buffer->next)
			buffer->next->link = &buffer->next;
		context->buffers = buffer;
	}
	pthread_mutex_unlock(&context->bind_lock);
	return ret;
}

static void unbind(struct npurt_buffer *buffer)
{
	struct npurt_context *context = buffer->context;
	struct npurt_backend_context *backend;

	pthread_mutex_lock(&context->bind_lock);
	backend = npurt_context_backend(context);
	backend->backend->ops->unbind(backend, buffer->va, buffer->memory.bytes);
	*buffer->link = buffer->next;
	if (buffer->next)
		buffer->next->link = buffer->link;
	pthread_mutex_unlock(&context->bind_lock);
}

int npurt_buffer_bind_all(struct npurt_context *context, struct npurt_backend_context *backend)
{
	const struct npurt_buffer *buffer;
	int ret = 0;

	for (buffer = context->buffers; buffer && !ret; buffer = buffer->next)
		ret = bind_to(backend, buffer);
	return ret;
}

/* A buffer of memory, in its context; the memory is freed when that fails. */
static int make_of(struct npurt_context *context, const struct npurt_memory *memory,
		   unsigned int prot, struct npurt_buffer **result)
{
	struct npurt_backend *backend = context->device->backend;
	struct npurt_buffer *buffer;
	int ret = -ENOMEM;

	buffer = calloc(1, sizeof(*buffer));
	if (!buffer) {
		npurt_fail(ret, "npurt: no memory for a buffer");
		goto free_memory;
	}
	buffer->context = context;
	buffer->memory = *memory;
	buffer->block.bytes = memory->bytes;
	buffer->block.kind = memory->shared ? NPURT_POOL_KIND_SHARED : prot;
	buffer->prot = prot;
	ret = take_va(buffer);
	if (ret)
		goto free_buffer;
	ret = bind(buffer);
	if (ret)
		goto free_va;
	*result = buffer;
	return 0;

free_va:
	give_va(buffer);
free_buffer:
	free(buffer);
free_memory:
	backend->ops->memory_free(backend, memory);
	return ret;
}

/* Of a size that is mapped as it is, on the device and in its context. */
static int make(struct npurt_context *context, uint64_t bytes, unsigned int prot, bool shared,
		struct npurt_buffer **result)
{
	struct npurt_backend *backend = context->device->backend;
	struct npurt_memory memory = { 0 };
	int ret;

	if (shared)
		ret = backend->ops->memory_alloc_shared(backend, bytes, &memory);
	else
		ret = backend->ops->memory_alloc(backend, bytes, &memory);
	return ret ? ret : make_of(context, &memory, prot, result);
}

static void release(struct npurt_buffer *buffer)
{
	struct npurt_backend *backend = buffer->context->device->backend;

	unbind(buffer);
	backend->ops->memory_free(backend, &buffer->memory);
	give_va(buffer);
	free(buffer);
}

static void release_chain(struct npurt_pool_block *chain)
{
	while (chain) {
		struct npurt_pool_block *block = chain;

		chain = block->next;
		release((struct npurt_buffer *)block);
	}
}

void npurt_buffer_release_kept(struct npurt_context *context)
{
	release_chain(npurt_pool_drain(&context->pool));
}

/* Does the context's pool count it? What comes from others is not the pool's. */
static bool is_counted(const struct npurt_buffer *buffer)
{
	return buffer->context->pool.max && !buffer->imported;
}

/* No task in flight uses it any more. */
static void release_or_keep(struct npurt_leaver *leaver)
{
	struct npurt_buffer *buffer =
		(struct npurt_buffer *)((char *)leaver - offsetof(struct npurt_buffer, leaver));
	struct npurt_context *context = buffer->context;

	__atomic_fetch_sub(&context->buffer_bytes, buffer->block.bytes, __ATOMIC_RELAXED);
	if (is_counted(buffer) && !buffer->memory.shared) {
		npurt_pool_give(&context->pool, &buffer->block);
		return;
	}
	if (is_counted(buffer))
		npurt_pool_untake(&context->pool, buffer->block.bytes);
	release(buffer);
}

/* One that was kept, or a new one in the place of others. Shared ones never are kept. */
static int take_from_pool(struct npurt_context *context, uint64_t bytes, unsigned int prot,
			  bool shared, struct npurt_buffer **result)
{
	struct npurt_backend *backend = context->device->backend;
	unsigned int kind = shared ? NPURT_POOL_KIND_SHARED : prot;
	struct npurt_pool_block *kept, *given_up;
	int ret;

	if (npurt_pool_take(&context->pool, bytes, kind, &kept, &given_up))
		return npurt_fail(-ENOMEM,
				  "npurt: %" PRIu64
				  " bytes more than the context's pool_bytes allow, %" PRIu64
				  " in all: free buffers or models, or make the context with more",
				  bytes, context->pool.max);
	release_chain(given_up);
	if (kept) {
		*result = (struct npurt_buffer *)kept;
		backend->ops->memory_clear(backend, &(*result)->memory);
		return 0;
	}
	ret = make(context, bytes, prot, shared, result);
	if (ret == -ENOMEM) {
		/* The device's memory may be in what is kept. */
		npurt_buffer_release_kept(context);
		ret = make(context, bytes, prot, shared, result);
	}
	if (ret)
		npurt_pool_untake(&context->pool, bytes);
	return ret;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + NPU_PAGE_BYTES - 1) & ~(NPU_PAGE_BYTES - 1);
}

/* What others see is as large as was asked for, and not as a class of the pool's. */
static int take(struct npurt_context *context, uint64_t bytes, unsigned int prot, bool shared,
		struct npurt_buffer **result)
{
	if (!context->pool.max)
		return make(context, whole_pages(bytes), prot, shared, result);
	return take_from_pool(context, shared ? whole_pages(bytes) : npurt_pool_bytes(bytes), prot,
			      shared, result);
}

/* The application's, or a model's. */
static void hand_out(struct npurt_buffer *buffer, uint64_t bytes)
{
	buffer->references = 1;
	buffer->flags = 0;
	buffer->bytes = bytes;
	buffer->leaver.release = release_or_keep;
	__atomic_fetch_add(&buffer->context->buffer_bytes, buffer->block.bytes, __ATOMIC_RELAXED);
}

static int new_buffer(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		      bool shared, struct npurt_buffer **result)
{
	int ret;

	if (!bytes || bytes > NPU_VA_END / 2)
		return npurt_fail(-EINVAL,
				  "npurt: a buffer of %" PRIu64
				  " bytes: a context holds buffers of 1 to "
				  "%" PRIu64 " bytes",
				  bytes, (uint64_t)NPU_VA_END / 2);
	ret = take(context, bytes, prot, shared, result);
	if (ret == -ENOMEM) {
		/* What has been let go of may only wait for somebody to see that tasks are over. */
		npurt_queue_catch_up(&context->queue);
		ret = take(context, bytes, prot, shared, result);
	}
	if (ret)
		return ret;
	hand_out(*result, bytes);
	return 0;
}

int npurt_buffer_new(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		     struct npurt_buffer **result)
{
	return new_buffer(context, bytes, prot, false, result);
}

void npurt_buffer_put(struct npurt_buffer *buffer)
{
	if (buffer && npurt_count_down(&buffer->references))
		npurt_leave(&buffer->context->queue, &buffer->leaver);
}

/* What all want that make a buffer for an application. */
static int check_call(const char *call, const struct npurt_context *context,
		      struct npurt_buffer **result, uint32_t flags, uint32_t known)
{
	int ret;

	if (!context || !result)
		return npurt_fail(-EINVAL,
				  "npurt: %s() wants a context and a place for the buffer, one is "
				  "NULL", call);
	ret = npurt_check_ours(context->device);
	if (ret)
		return ret;
	if (flags & ~known)
		return npurt_fail(-EINVAL, "npurt: buffer flags 0x%x: this call knows 0x%x", flags,
				  known);
	return 0;
}

static unsigned int prot_of(uint32_t flags)
{
	return flags & NPURT_BUFFER_READ_ONLY ? NPU_PROT_READ : NPU_PROT_READ | NPU_PROT_WRITE;
}

int npurt_buffer_alloc(struct npurt_context *context, uint64_t bytes, uint32_t flags,
		       struct npurt_buffer **result)
{
	int ret;

	ret = check_call("npurt_buffer_alloc", context, result, flags,
			 NPURT_BUFFER_READ_ONLY | NPURT_BUFFER_EXPORT);
	if (ret)
		return ret;
	ret = new_buffer(context, bytes, prot_of(flags), flags & NPURT_BUFFER_EXPORT, result);
	if (ret)
		return ret;
	(*result)->flags = flags;
	npurt_count_up(&context->handles);
	return 0;
}

int npurt_buffer_export(struct npurt_buffer *buffer, int *file)
{
	struct npurt_backend *backend;
	int ret;

	if (!buffer || !file)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_buffer_export() wants a buffer and a place for "
				  "the file descriptor, one is NULL");
	ret = npurt_check_ours(buffer->context->device);
	if (ret)
		return ret;
	if (!buffer->memory.shared)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_buffer_export() of a buffer that was not made "
				  "for it: allocate it with NPURT_BUFFER_EXPORT");
	backend = buffer->context->device->backend;
	return backend->ops->memory_export(backend, &buffer->memory, file);
}

/* Who may only read memory must not get to write it by the device. */
static int check_file(int file, bool writable)
{
	int mode = fcntl(file, F_GETFL);

	if (mode < 0)
		return npurt_fail(-errno, "npurt: file descriptor %d to import: %s", file,
				  strerror(errno));
	if (writable && (mode & O_ACCMODE) == O_RDONLY)
		return npurt_fail(-EACCES,
				  "npurt: file descriptor %d is open for reading only: import it "
				  "with NPURT_BUFFER_READ_ONLY, or have it exported for writing",
				  file);
	return 0;
}

/* What a buffer is to be made of: the application's memory, or else what a descriptor stands for. */
struct origin {
	void *host;
	uint64_t bytes;
	int file;
	uint32_t flags;
};

static int make_imported(struct npurt_context *context, const struct origin *from,
			 struct npurt_buffer **result)
{
	struct npurt_backend *backend = context->device->backend;
	bool writable = !(from->flags & NPURT_BUFFER_READ_ONLY);
	struct npurt_memory memory = { 0 };
	int ret;

	if (from->host)
		ret = backend->ops->memory_wrap(backend, from->host, from->bytes, writable,
						&memory);
	else
		ret = backend->ops->memory_import(backend, from->file, writable, &memory);
	return ret ? ret : make_of(context, &memory, prot_of(from->flags), result);
}

static int new_imported(struct npurt_context *context, const struct origin *from,
			struct npurt_buffer **result)
{
	int ret = make_imported(context, from, result);

	if (ret == -ENOMEM) {
		/* As for one that is allocated, of whichever kind what is missing is. */
		npurt_queue_catch_up(&context->queue);
		npurt_buffer_release_kept(context);
		ret = make_imported(context, from, result);
	}
	if (ret)
		return ret;
	(*result)->imported = true;
	hand_out(*result, (*result)->memory.bytes);
	(*result)->flags = from->flags;
	npurt_count_up(&context->handles);
	return 0;
}

int npurt_buffer_import(struct npurt_context *context, int file, uint32_t flags,
			struct npurt_buffer **result)
{
	int ret;

	ret = check_call("npurt_buffer_import", context, result, flags,
			 NPURT_BUFFER_READ_ONLY);
	if (!ret)
		ret = check_file(file, !(flags & NPURT_BUFFER_READ_ONLY));
	if (ret)
		return ret;
	return new_imported(context, &(struct origin){ .file = file, .flags = flags }, result);
}

/* All of it is there, and the program itself may do with it what the device is to be allowed. */
static int check_memory(void *memory, uint64_t bytes, bool writable)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!memory || !bytes || ((uintptr_t)memory | bytes) % page)
		return npurt_fail(-EINVAL,
				  "npurt: %" PRIu64 " bytes of memory at %p: a buffer of the program's "
				  "memory begins and ends with pages, which here have %" PRIu64
				  " bytes: get it by mmap() or aligned_alloc()", bytes, memory, page);
	if (bytes > NPU_VA_END / 2)
		return npurt_fail(-EINVAL, "npurt: %" PRIu64 " bytes of memory at %p: a context holds "
				  "buffers of up to %" PRIu64 " bytes", bytes, memory,
				  (uint64_t)NPU_VA_END / 2);
	if (madvise(memory, bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return npurt_fail(-EFAULT,
				  "npurt: the %" PRIu64 " bytes of memory at %p are not all the "
				  "program's to %s%s", bytes, memory, writable ? "write" : "read",
				  writable ? ": map them so, or use NPURT_BUFFER_READ_ONLY" : "");
	return 0;
}

int npurt_buffer_wrap(struct npurt_context *context, void *memory, uint64_t bytes, uint32_t flags,
		      struct npurt_buffer **result)
{
	const struct origin from = { .host = memory, .bytes = bytes, .flags = flags };
	int ret;

	ret = check_call("npurt_buffer_wrap", context, result, flags,
			 NPURT_BUFFER_READ_ONLY);
	if (!ret)
		ret = check_memory(memory, bytes, !(flags & NPURT_BUFFER_READ_ONLY));
	return ret ? ret : new_imported(context, &from, result);
}

void npurt_buffer_free(struct npurt_buffer *buffer)
{
	struct npurt_context *context;

	if (!buffer || !npurt_is_ours(buffer->context->device))
		return;
	context = buffer->context;
	npurt_queue_catch_up(&context->queue);
	npurt_buffer_put(buffer);
	npurt_context_put(context);
}

void *npurt_buffer_map(const struct npurt_buffer *buffer)
{
	return npurt_is_ours(buffer->context->device) ? buffer->memory.host : NULL;
}

uint64_t npurt_buffer_bytes(const struct npurt_buffer *buffer)
{
	return buffer->bytes;
}

uint64_t npurt_buffer_address(const struct npurt_buffer *buffer)
{
	return buffer->va;
}
