// SPDX-License-Identifier: MIT
#include "null_device.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

#define SEMAPHORES 256
#define TURNS_BEFORE_YIELD 1000

struct null_backend {
	struct npurt_backend base;
	uint64_t allowed; /* packets yet to be taken; UINT64_MAX: no end */
	uint64_t time_outs;
};

struct null_queue {
	struct npurt_backend_queue base;
	struct npurt_ring ring;
	pthread_t thread;
	uint32_t stop;
	uint32_t doorbell;
};

struct null_context {
	struct npurt_backend_context base;
	uint64_t semaphores[SEMAPHORES];
	/* What is bound, to find the ring by its address. */
	unsigned char *host;
	uint64_t va;
};

static const uint32_t mark = 1;

static void close_backend(struct npurt_backend *backend)
{
	free(backend);
}

static void get_info(struct npurt_backend *backend, struct npurt_device_info *info)
{
	(void)backend;
	(void)info;
}

static int memory_alloc(struct npurt_backend *backend, uint64_t bytes, struct npurt_memory *memory)
{
	(void)backend;
	memory->host = aligned_alloc(4096, bytes);
	if (!memory->host)
		return -ENOMEM;
	memset(memory->host, 0, bytes);
	memory->bytes = bytes;
	return 0;
}

static void memory_free(struct npurt_backend *backend, const struct npurt_memory *memory)
{
	(void)backend;
	free(memory->host);
}

static int context_create(struct npurt_backend *backend, uint32_t flags,
			  struct npurt_backend_context **result)
{
	struct null_context *context = calloc(1, sizeof(*context));

	(void)flags;
	if (!context)
		return -ENOMEM;
	context->base.backend = backend;
	context->base.semaphores = context->semaphores;
	*result = &context->base;
	return 0;
}

static void context_destroy(struct npurt_backend_context *context)
{
	free(context);
}

static int bind(struct npurt_backend_context *base, uint64_t va, const struct npurt_memory *memory,
		unsigned int prot)
{
	struct null_context *context = (struct null_context *)base;

	(void)prot;
	/* The first one is the queue's. */
	if (!context->host) {
		context->host = memory->host;
		context->va = va;
	}
	return 0;
}

static void unbind(struct npurt_backend_context *base, uint64_t va, uint64_t bytes)
{
	(void)base;
	(void)va;
	(void)bytes;
}

/* One packet: its semaphore, if it has one. */
static uint64_t consume(const unsigned char *packet)
{
	struct npu_packet_signal signal;

	memcpy(&signal, packet, sizeof(signal));
	switch (le32toh(signal.header) & NPU_PACKET_OPCODE_MASK) {
	case NPU_PACKET_EXEC:
		return 1;
	case NPU_PACKET_SIGNAL:
		return le64toh(signal.add);
	default:
		return 0;
	}
}

/* So that the library finds its tasks done. */
static void write_record(const struct null_context *context, const unsigned char *packet)
{
	struct npu_packet_exec exec;
	struct npu_packet_graph graph;
	struct npu_record *record;
	uint64_t va = 0;

	memcpy(&exec, packet, sizeof(exec));
	memcpy(&graph, packet, sizeof(graph));
	if ((le32toh(exec.header) & NPU_PACKET_OPCODE_MASK) == NPU_PACKET_EXEC)
		va = le64toh(exec.record);
	else if ((le32toh(exec.header) & NPU_PACKET_OPCODE_MASK) == NPU_PACKET_GRAPH)
		va = le64toh(graph.record);
	/* Records of graphs' nodes are read only when something has failed. */
	if (va < context->va)
		return;
	record = (struct npu_record *)(void *)(context->host + (va - context->va));
	record->task_id = exec.task_id;
	__atomic_store_n(&record->status, htole16(NPU_STATUS_DONE), __ATOMIC_RELEASE);
}

/* One turn without news: on a machine that is busy somebody else may have something to do. */
static void turn(unsigned int *turns)
{
	if (++*turns % TURNS_BEFORE_YIELD)
		npurt_relax();
	else
		sched_yield();
}

/* May a packet be taken? */
static bool take_leave(struct null_backend *backend)
{
	uint64_t allowed = __atomic_load_n(&backend->allowed, __ATOMIC_RELAXED);

	while (allowed && allowed != UINT64_MAX) {
		if (__atomic_compare_exchange_n(&backend->allowed, &allowed, allowed - 1, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return allowed == UINT64_MAX;
}

static void *consumer(void *argument)
{
	struct null_queue *queue = argument;
	struct null_context *context = (struct null_context *)queue->base.context;
	struct null_backend *backend = (struct null_backend *)context->base.backend;
	uint64_t read = 0, progress = 0;
	unsigned int turns = 0;

	while (!__atomic_load_n(&queue->stop, __ATOMIC_RELAXED)) {
		const unsigned char *packet = npurt_ring_packet(&queue->ring, read);
		uint32_t header = le32toh(
			__atomic_load_n((const uint32_t *)(const void *)packet, __ATOMIC_ACQUIRE));

		if (!(header & NPU_PACKET_PHASE) != !npurt_ring_phase(&queue->ring, read) ||
		    !take_leave(backend)) {
			turn(&turns);
			continue;
		}
		write_record(context, packet);
		progress += consume(packet);
		read++;
		__atomic_store_n(&queue->ring.control->read_index, htole64(read), __ATOMIC_RELEASE);
		__atomic_store_n(&context->semaphores[NPURT_PROGRESS_SEMAPHORE], htole64(progress),
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

static int queue_create(struct npurt_backend_context *base, uint64_t ring_va, unsigned int log2,
			uint32_t priority, uint64_t first,
			struct npurt_backend_queue **result)
{
	struct null_context *context = (struct null_context *)base;
	struct null_queue *queue = calloc(1, sizeof(*queue));

	(void)priority;
	(void)first;
	if (!queue)
		return -ENOMEM;
	queue->base.context = base;
	queue->ring.size = (uint64_t)1 << log2;
	queue->ring.control = (void *)(context->host + (ring_va - context->va));
	/* Each submission rings, so that the doorbell's store is in what is measured. */
	queue->ring.control->sleeping = htole32(1);
	if (pthread_create(&queue->thread, NULL, consumer, queue)) {
		free(queue);
		return -EAGAIN;
	}
	*result = &queue->base;
	return 0;
}

static void queue_destroy(struct npurt_backend_queue *base)
{
	struct null_queue *queue = (struct null_queue *)base;

	__atomic_store_n(&queue->stop, 1, __ATOMIC_RELAXED);
	pthread_join(queue->thread, NULL);
	free(queue);
}

static void doorbell(struct npurt_backend_queue *base, uint64_t index)
{
	struct null_queue *queue = (struct null_queue *)base;

	__atomic_store_n(&queue->doorbell, (uint32_t)index, __ATOMIC_RELEASE);
}

static int wait(struct npurt_backend_context *context, const struct npurt_wait *wait)
{
	struct null_backend *backend = (struct null_backend *)context->backend;
	unsigned int turns = 0;

	while (le64toh(__atomic_load_n(&context->semaphores[wait->semaphore], __ATOMIC_ACQUIRE)) <
	       wait->value) {
		if (npurt_now() >= wait->deadline_ns) {
			__atomic_fetch_add(&backend->time_outs, 1, __ATOMIC_RELAXED);
			return -ETIMEDOUT;
		}
		turn(&turns);
	}
	return 0;
}

static int last_fault(struct npurt_backend_context *context, uint32_t task_id,
		      struct npurt_fault *fault)
{
	(void)context;
	(void)task_id;
	(void)fault;
	return -ENOENT;
}

static const struct npurt_backend_ops null_ops = {
	.close = close_backend,
	.get_info = get_info,
	.memory_alloc = memory_alloc,
	.memory_free = memory_free,
	.context_create = context_create,
	.context_destroy = context_destroy,
	.bind = bind,
	.unbind = unbind,
	.queue_create = queue_create,
	.queue_destroy = queue_destroy,
	.doorbell = doorbell,
	.wait = wait,
	.last_fault = last_fault,
};

struct npurt_device *null_device_open(void)
{
	struct npurt_device *device = calloc(1, sizeof(*device));
	struct null_backend *backend = calloc(1, sizeof(*backend));

	if (!device || !backend) {
		fprintf(stderr, "null device: no memory\n");
		exit(1);
	}
	device->handles = 1;
	pthread_mutex_init(&device->start_lock, NULL);
	/* Never unmapped: a device of a bench is not closed. */
	device->ours = &mark;
	device->log.fd = -1;
	backend->base.ops = &null_ops;
	backend->base.log = &device->log;
	backend->allowed = UINT64_MAX;
	device->backend = &backend->base;
	snprintf(device->info.name, sizeof(device->info.name), "null");
	snprintf(device->info.config, sizeof(device->info.config), "npu-v3");
	device->info.clusters = 4;
	device->info.dma_channels = 8;
	device->info.local_sram_bytes = 512 << 10;
	device->info.global_sram_bytes = 4 << 20;
	return device;
}

void null_device_close(struct npurt_device *device)
{
	device->backend->ops->close(device->backend);
	pthread_mutex_destroy(&device->start_lock);
	free(device);
}

void null_device_stand_still(struct npurt_device *device)
{
	null_device_go_on(device, 0);
}

void null_device_go_on(struct npurt_device *device, uint64_t packets)
{
	struct null_backend *backend = (struct null_backend *)device->backend;

	__atomic_store_n(&backend->allowed, packets, __ATOMIC_RELAXED);
}

uint64_t null_device_time_outs(struct npurt_device *device)
{
	struct null_backend *backend = (struct null_backend *)device->backend;

	return __atomic_load_n(&backend->time_outs, __ATOMIC_RELAXED);
}
