// SPDX-License-Identifier: MIT
/* Memory that host and device share. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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

/* Of a size that is mapped as it is, on the device and in its context. */
static int make(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		struct npurt_buffer **result)
{
	const struct npurt_backend_ops *ops = context->backend->backend->ops;
	struct npurt_buffer *buffer;
	int ret;

	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return npurt_fail(-ENOMEM, "npurt: no memory for a buffer");
	buffer->context = context;
	buffer->block.bytes = bytes;
	buffer->block.kind = prot;
	ret = ops->memory_alloc(context->backend->backend, bytes, &buffer->memory);
	if (ret)
		goto free_buffer;
	ret = take_va(buffer);
	if (ret)
		goto free_memory;
	ret = ops->bind(context->backend, buffer->va, &buffer->memory, prot);
	if (ret)
		goto free_va;
	*result = buffer;
	return 0;

free_va:
	give_va(buffer);
free_memory:
	ops->memory_free(context->backend->backend, &buffer->memory);
free_buffer:
	free(buffer);
	return ret;
}

static void release(struct npurt_buffer *buffer)
{
	struct npurt_backend_context *context = buffer->context->backend;

	context->backend->ops->unbind(context, buffer->va, buffer->memory.bytes);
	context->backend->ops->memory_free(context->backend, &buffer->memory);
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

/* No task in flight uses it any more. */
static void release_or_keep(struct npurt_leaver *leaver)
{
	struct npurt_buffer *buffer =
		(struct npurt_buffer *)((char *)leaver - offsetof(struct npurt_buffer, leaver));
	struct npurt_context *context = buffer->context;

	__atomic_fetch_sub(&context->buffer_bytes, buffer->block.bytes, __ATOMIC_RELAXED);
	if (context->pool.max)
		npurt_pool_give(&context->pool, &buffer->block);
	else
		release(buffer);
}

/* One that was kept, or a new one in the place of others. */
static int take_from_pool(struct npurt_context *context, uint64_t bytes, unsigned int prot,
			  struct npurt_buffer **result)
{
	struct npurt_backend *backend = context->backend->backend;
	struct npurt_pool_block *kept, *given_up;
	int ret;

	if (npurt_pool_take(&context->pool, bytes, prot, &kept, &given_up))
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
	ret = make(context, bytes, prot, result);
	if (ret == -ENOMEM) {
		/* The device's memory may be in what is kept. */
		npurt_buffer_release_kept(context);
		ret = make(context, bytes, prot, result);
	}
	if (ret)
		npurt_pool_untake(&context->pool, bytes);
	return ret;
}

static int take(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		struct npurt_buffer **result)
{
	uint64_t rounded = (bytes + NPU_PAGE_BYTES - 1) & ~(NPU_PAGE_BYTES - 1);

	if (!context->pool.max)
		return make(context, rounded, prot, result);
	return take_from_pool(context, npurt_pool_bytes(bytes), prot, result);
}

int npurt_buffer_new(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		     struct npurt_buffer **result)
{
	int ret;

	if (!bytes || bytes > NPU_VA_END / 2)
		return npurt_fail(-EINVAL,
				  "npurt: a buffer of %" PRIu64
				  " bytes: a context holds buffers of 1 to "
				  "%" PRIu64 " bytes",
				  bytes, (uint64_t)NPU_VA_END / 2);
	ret = take(context, bytes, prot, result);
	if (ret == -ENOMEM) {
		/* What has been let go of may only wait for somebody to see that tasks are over. */
		npurt_queue_catch_up(&context->queue);
		ret = take(context, bytes, prot, result);
	}
	if (ret)
		return ret;
	(*result)->references = 1;
	(*result)->flags = 0;
	(*result)->bytes = bytes;
	(*result)->leaver.release = release_or_keep;
	__atomic_fetch_add(&context->buffer_bytes, (*result)->block.bytes, __ATOMIC_RELAXED);
	return 0;
}

void npurt_buffer_put(struct npurt_buffer *buffer)
{
	if (buffer && npurt_count_down(&buffer->references))
		npurt_leave(&buffer->context->queue, &buffer->leaver);
}

int npurt_buffer_alloc(struct npurt_context *context, uint64_t bytes, uint32_t flags,
		       struct npurt_buffer **result)
{
	unsigned int prot = NPU_PROT_READ | NPU_PROT_WRITE;
	int ret;

	if (!context || !result)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_buffer_alloc() wants a context and a place "
				  "for the buffer, one is NULL");
	ret = npurt_check_ours(context->device);
	if (ret)
		return ret;
	if (flags & ~NPURT_BUFFER_READ_ONLY)
		return npurt_fail(-EINVAL, "npurt: buffer flags 0x%x: this library knows 0x%x",
				  flags, NPURT_BUFFER_READ_ONLY);
	if (flags & NPURT_BUFFER_READ_ONLY)
		prot = NPU_PROT_READ;
	ret = npurt_buffer_new(context, bytes, prot, result);
	if (ret)
		return ret;
	(*result)->flags = flags;
	npurt_count_up(&context->handles);
	return 0;
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
