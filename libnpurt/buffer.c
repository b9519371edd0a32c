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

int npurt_buffer_new(struct npurt_context *context, uint64_t bytes, unsigned int prot,
		     struct npurt_buffer **result)
{
	const struct npurt_backend_ops *ops = context->backend->backend->ops;
	struct npurt_buffer *buffer;
	uint64_t rounded;
	int ret;

	if (!bytes || bytes > NPU_VA_END / 2)
		return npurt_fail(-EINVAL,
				  "npurt: a buffer of %" PRIu64
				  " bytes: a context holds buffers of 1 to "
				  "%" PRIu64 " bytes",
				  bytes, (uint64_t)NPU_VA_END / 2);
	rounded = (bytes + NPU_PAGE_BYTES - 1) & ~(NPU_PAGE_BYTES - 1);
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return npurt_fail(-ENOMEM, "npurt: no memory for a buffer");
	buffer->references = 1;
	buffer->context = context;
	buffer->bytes = bytes;
	ret = ops->memory_alloc(context->backend->backend, rounded, &buffer->memory);
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

void npurt_buffer_put(struct npurt_buffer *buffer)
{
	struct npurt_backend_context *context;

	if (!buffer || !npurt_count_down(&buffer->references))
		return;
	context = buffer->context->backend;
	context->backend->ops->unbind(context, buffer->va, buffer->memory.bytes);
	context->backend->ops->memory_free(context->backend, &buffer->memory);
	give_va(buffer);
	free(buffer);
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
