// SPDX-License-Identifier: MIT
/* Contexts, page tables and queues of a `sim:` device. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define TLB_CONTEXT 2u
#define TLB_RANGE 3u
#define TLB_CONTEXT_SHIFT 8

static void *table_alloc(void *owner, __u64 *dma)
{
	struct sim *sim = owner;

	*dma = sim_pages_alloc(sim, SIM_PAGE, SIM_PAGE);
	return *dma ? sim_pointer(sim, *dma) : NULL;
}

static void table_free(void *owner, void *table, __u64 dma)
{
	(void)table;
	sim_pages_free(owner, dma, SIM_PAGE);
}

static void *host_alloc(void *owner, unsigned long bytes)
{
	(void)owner;
	return calloc(1, bytes);
}

static void host_free(void *owner, void *memory)
{
	(void)owner;
	free(memory);
}

static const struct npu_pgtable_ops pgtable_ops = {
	.table_alloc = table_alloc,
	.table_free = table_free,
	.host_alloc = host_alloc,
	.host_free = host_free,
};

/* Asks for an invalidation and waits until it is complete. */
static void tlb_invalidate(struct sim_context *context, uint32_t kind, uint64_t va, uint64_t bytes)
{
	struct sim *sim = context->sim;
	int64_t deadline = npurt_now() + sim->patience * NPURT_NS_PER_SECOND;
	uint32_t generation = sim_generation(sim), done;

	/* A device that was stopped reaches nothing, and knows nothing after its reset. */
	if (sim_context_is_lost(context))
		return;
	pthread_mutex_lock(&sim->tlb_lock);
	done = sim_read(sim, NPU_REG_TLB_DONE);
	sim_write(sim, NPU_REG_TLB_ADDRESS_LO, (uint32_t)va);
	sim_write(sim, NPU_REG_TLB_ADDRESS_HI, (uint32_t)(va >> 32));
	sim_write(sim, NPU_REG_TLB_BYTES_LO, (uint32_t)bytes);
	sim_write(sim, NPU_REG_TLB_BYTES_HI, (uint32_t)(bytes >> 32));
	sim_write(sim, NPU_REG_TLB_INVALIDATE, kind | context->index << TLB_CONTEXT_SHIFT);
	while (sim_read(sim, NPU_REG_TLB_DONE) == done && !sim_context_is_lost(context)) {
		/* Memory can be used again only once the device is stopped. */
		if (npurt_now() > deadline)
			sim_died(sim, generation, "it did not take back a memory translation");
		sched_yield();
	}
	pthread_mutex_unlock(&sim->tlb_lock);
}

int sim_contexts_init(struct sim *sim)
{
	uint64_t bytes = sim->contexts * sizeof(struct npu_context_entry);

	bytes = (bytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
	sim->context_table_dma = sim_pages_alloc(sim, bytes, SIM_PAGE);
	if (!sim->context_table_dma)
		return npurt_fail(-ENOMEM, "sim: no memory for the table of contexts");
	sim->context_table = sim_pointer(sim, sim->context_table_dma);
	sim_contexts_reset(sim);
	return 0;
}

void sim_contexts_reset(struct sim *sim)
{
	uint32_t i;

	pthread_mutex_lock(&sim->event_lock);
	for (i = 0; i < SIM_CONTEXTS_MAX; i++)
		sim->context[i] = NULL;
	pthread_mutex_unlock(&sim->event_lock);
	memset(sim->queue, 0, sizeof(sim->queue));
	memset(sim->context_table, 0, sim->contexts * sizeof(*sim->context_table));
	sim_write(sim, NPU_REG_CONTEXT_TABLE_LO, (uint32_t)sim->context_table_dma);
	sim_write(sim, NPU_REG_CONTEXT_TABLE_HI, (uint32_t)(sim->context_table_dma >> 32));
}

static void update_entry(struct sim_context *context, uint32_t flags)
{
	struct sim *sim = context->sim;
	struct npu_context_entry *entry = &sim->context_table[context->index];

	memset(entry, 0, sizeof(*entry));
	if (flags) {
		entry->page_table = htole64(npu_pgtable_root(&context->tables));
		entry->semaphores = htole64(context->semaphores_dma);
		entry->thresholds = htole64(context->thresholds_dma);
		entry->flags = htole32(flags);
	}
	sim_write(sim, NPU_REG_CONTEXT_UPDATE, context->index);
}

static int take_index(struct sim_context *context)
{
	struct sim *sim = context->sim;
	uint32_t i;

	pthread_mutex_lock(&sim->event_lock);
	for (i = 0; i < sim->contexts && sim->context[i]; i++)
		;
	if (i < sim->contexts) {
		sim->context[i] = context;
		context->index = i;
	}
	pthread_mutex_unlock(&sim->event_lock);
	if (i < sim->contexts)
		return 0;
	return npurt_fail(
		-ENOSPC,
		"sim: all %u contexts of the device are in use: destroy one, or share one "
		"between models",
		sim->contexts);
}

static void give_index(struct sim_context *context)
{
	pthread_mutex_lock(&context->sim->event_lock);
	if (context->sim->context[context->index] == context)
		context->sim->context[context->index] = NULL;
	pthread_mutex_unlock(&context->sim->event_lock);
}

static uint64_t area_bytes(const struct sim *sim)
{
	return ((uint64_t)sim->semaphores * 8 + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
}

/* The order of sim_context_create(), backwards. */
static void context_free(struct sim_context *context)
{
	struct sim *sim = context->sim;

	npu_pgtable_fini(&context->tables);
	sim_pages_free(sim, context->semaphores_dma, area_bytes(sim));
	sim_pages_free(sim, context->thresholds_dma, area_bytes(sim));
	pthread_mutex_destroy(&context->bind_lock);
	free(context->watches);
	free(context);
}

static int context_alloc(struct sim *sim, uint32_t flags, struct sim_context **result)
{
	struct sim_context *context = calloc(1, sizeof(*context));

	if (context)
		context->watches = calloc(sim->semaphores, sizeof(*context->watches));
	if (!context || !context->watches) {
		free(context);
		return npurt_fail(-ENOMEM, "sim: no memory for a context");
	}
	context->sim = sim;
	context->base.backend = &sim->base;
	if (sim->small_pages || flags & NPURT_CONTEXT_PAGES_4K)
		context->map_flags = NPU_MAP_SMALL_PAGES;
	pthread_mutex_init(&context->bind_lock, NULL);
	context->semaphores_dma = sim_pages_alloc(sim, area_bytes(sim), SIM_PAGE);
	context->thresholds_dma = sim_pages_alloc(sim, area_bytes(sim), SIM_PAGE);
	if (!context->semaphores_dma || !context->thresholds_dma ||
	    npu_pgtable_init(&context->tables, &pgtable_ops, sim)) {
		context_free(context);
		return npurt_fail(-ENOMEM, "sim: no device memory for a context's tables: free "
					   "buffers, or open the device with ?memory=MIB");
	}
	context->base.semaphores = sim_pointer(sim, context->semaphores_dma);
	context->thresholds = sim_pointer(sim, context->thresholds_dma);
	*result = context;
	return 0;
}

/* Under context_lock. */
static int announce(struct sim_context *context)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_CONTEXT_CREATE) };
	int ret = take_index(context);

	if (ret)
		return ret;
	update_entry(context, NPU_CONTEXT_VALID);
	message.argument[0] = htole32(context->index);
	ret = sim_message(context->sim, &message, "creating a context");
	if (ret) {
		update_entry(context, 0);
		give_index(context);
	}
	return ret;
}

int sim_context_create(struct npurt_backend *backend, uint32_t flags,
		       struct npurt_backend_context **result)
{
	struct sim *sim = sim_of(backend);
	struct sim_context *context = NULL;
	int ret;

	ret = context_alloc(sim, flags, &context);
	if (ret)
		return ret;
	pthread_mutex_lock(&sim->context_lock);
	ret = sim_revive(sim);
	if (!ret)
		ret = announce(context);
	/* A device that failed in the middle of this is reset once for it. */
	if (ret && sim_context_is_lost(context) && !sim_revive(sim)) {
		__atomic_store_n(&context->lost, 0, __ATOMIC_RELEASE);
		ret = announce(context);
	}
	pthread_mutex_unlock(&sim->context_lock);
	if (ret)
		context_free(context);
	else
		*result = &context->base;
	return ret;
}

void sim_context_destroy(struct npurt_backend_context *base)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_CONTEXT_DESTROY) };
	struct sim_context *context = sim_context_of(base);
	struct sim *sim = context->sim;

	pthread_mutex_lock(&sim->context_lock);
	message.argument[0] = htole32(context->index);
	if (!sim_context_is_lost(context) &&
	    sim_message(sim, &message, "destroying a context"))
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR, "%s", npurt_last_error());
	if (!sim_context_is_lost(context))
		update_entry(context, 0);
	tlb_invalidate(context, TLB_CONTEXT, 0, 0);
	give_index(context);
	pthread_mutex_unlock(&sim->context_lock);
	context_free(context);
}

int sim_bind(struct npurt_backend_context *base, uint64_t va, const struct npurt_memory *memory,
	     unsigned int prot)
{
	struct npu_pgtable_extent extent = { .address = memory->handle, .bytes = memory->bytes };
	struct sim_context *context = sim_context_of(base);
	int ret;

	pthread_mutex_lock(&context->bind_lock);
	ret = npu_pgtable_map(&context->tables, va, &extent, 1, prot, context->map_flags);
	pthread_mutex_unlock(&context->bind_lock);
	if (ret)
		return npurt_fail(ret,
				  "sim: mapping %" PRIu64 " bytes at 0x%" PRIx64 " of context %u "
				  "failed: %s",
				  memory->bytes, va, context->index, strerror(-ret));
	return 0;
}

void sim_unbind(struct npurt_backend_context *base, uint64_t va, uint64_t bytes)
{
	struct sim_context *context = sim_context_of(base);
	int ret;

	pthread_mutex_lock(&context->bind_lock);
	/* Whole mappings go, so no leaf is split, and nothing is allocated that could fail. */
	ret = npu_pgtable_unmap(&context->tables, va, bytes);
	if (ret)
		npurt_log_line(context->sim->base.log, NPURT_LOG_ERROR,
			       "sim: unmapping 0x%" PRIx64 " failed: %s", va, strerror(-ret));
	tlb_invalidate(context, TLB_RANGE, va, bytes);
	npu_pgtable_reap(&context->tables);
	pthread_mutex_unlock(&context->bind_lock);
}

static int queue_take(struct sim *sim, struct sim_queue *queue)
{
	uint32_t i;

	for (i = 0; i < sim->queues && sim->queue[i]; i++)
		;
	if (i == sim->queues)
		return npurt_fail(-ENOSPC,
				  "sim: all %u hardware queues of the device are in use: destroy a "
				  "context",
				  sim->queues);
	sim->queue[i] = queue;
	queue->index = i;
	return 0;
}

int sim_queue_create(struct npurt_backend_context *base, uint64_t ring_va, unsigned int log2,
		     uint32_t priority, uint64_t first, struct npurt_backend_queue **result)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_QUEUE_CREATE) };
	struct sim_context *context = sim_context_of(base);
	struct sim *sim = context->sim;
	struct sim_queue *queue = calloc(1, sizeof(*queue));
	int ret;

	if (!queue)
		return npurt_fail(-ENOMEM, "sim: no memory for a queue");
	queue->sim = sim;
	queue->base.context = base;
	pthread_mutex_lock(&sim->context_lock);
	/* Another reset may have come since the context was made. */
	ret = sim_context_is_lost(context) ? sim_fail_lost(context) : queue_take(sim, queue);
	if (!ret) {
		message.argument[0] = htole32(queue->index);
		message.argument[1] = htole32(context->index);
		message.argument[2] = htole32((uint32_t)ring_va);
		message.argument[3] = htole32((uint32_t)(ring_va >> 32));
		message.argument[4] = htole32(log2);
		message.argument[5] = htole32(priority);
		message.argument[6] = htole32((uint32_t)first);
		message.argument[7] = htole32((uint32_t)(first >> 32));
		ret = sim_message(sim, &message, "creating a queue");
		if (ret)
			sim->queue[queue->index] = NULL;
	}
	pthread_mutex_unlock(&sim->context_lock);
	if (ret) {
		free(queue);
		return ret;
	}
	*result = &queue->base;
	return 0;
}

void sim_queue_destroy(struct npurt_backend_queue *base)
{
	struct npu_message message = { .kind = htole16(NPU_MESSAGE_QUEUE_DESTROY) };
	struct sim_queue *queue = (struct sim_queue *)base;
	struct sim *sim = queue->sim;

	pthread_mutex_lock(&sim->context_lock);
	message.argument[0] = htole32(queue->index);
	if (!sim_context_is_lost(sim_context_of(base->context)) &&
	    sim_message(sim, &message, "destroying a queue"))
		npurt_log_line(sim->base.log, NPURT_LOG_ERROR, "%s", npurt_last_error());
	if (sim->queue[queue->index] == queue)
		sim->queue[queue->index] = NULL;
	pthread_mutex_unlock(&sim->context_lock);
	free(queue);
}

void sim_doorbell(struct npurt_backend_queue *base, uint64_t index)
{
	struct sim_queue *queue = (struct sim_queue *)base;

	npu_model_thread_doorbell(queue->sim->model, queue->index, NPU_DOORBELL_RING, index,
				  sizeof(uint32_t));
}
