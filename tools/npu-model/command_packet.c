// SPDX-License-Identifier: MIT
/*
 * Packets: checks, and those that are carried out at once. Manual: queues.rst, "Packets".
 */
#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"

static uint32_t opcode_of(const union npu_packet *packet)
{
	return le32toh(packet->header) & NPU_PACKET_OPCODE_MASK;
}

static uint32_t flags_of(const union npu_packet *packet)
{
	return le32toh(packet->header) >> NPU_PACKET_FLAGS_SHIFT;
}

static bool zero(const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++) {
		if (byte[i])
			return false;
	}
	return true;
}

/* All of the packet after its header's word. */
static bool zero_after_header(const union npu_packet *packet)
{
	return zero((const uint8_t *)packet + 4, sizeof(*packet) - 4);
}

static uint32_t check_semaphore(const struct npu_config *config, uint16_t semaphore, bool optional)
{
	uint32_t number = le16toh(semaphore);

	if (number == NPU_SEM_NONE && optional)
		return NPU_ERROR_NONE;
	return number < config->semaphores ? NPU_ERROR_NONE : NPU_ERROR_BAD_SEMAPHORE;
}

static bool aligned(uint64_t address, uint64_t to)
{
	return le64toh(address) % to == 0;
}

static uint32_t check_exec(const struct npu_config *config, const struct npu_packet_exec *exec,
			   uint32_t flags)
{
	uint32_t error = check_semaphore(config, exec->signal_sem, true);

	if (flags & ~NPU_EXEC_FLAGS_ALL || !exec->budget || exec->reserved0 || exec->reserved1 ||
	    exec->argument_count > NPU_ARG_COUNT || !aligned(exec->program, 64) ||
	    !aligned(exec->arguments, 64) || !aligned(exec->record, 64))
		return NPU_ERROR_BAD_PACKET;
	for (unsigned int i = 0; i < 2 && !error; i++)
		error = check_semaphore(config, exec->wait_sem[i], true);
	return error;
}

static uint32_t check_wait(const struct npu_config *config, const struct npu_packet_wait *wait)
{
	uint32_t error = NPU_ERROR_NONE;

	for (unsigned int i = 0; i < 6 && !error; i++)
		error = check_semaphore(config, wait->sem[i], true);
	return error;
}

static uint32_t check_signal(const struct npu_config *config,
			     const struct npu_packet_signal *signal)
{
	if (!signal->add || signal->reserved0 ||
	    !zero(signal->reserved1, sizeof(signal->reserved1)))
		return NPU_ERROR_BAD_PACKET;
	return check_semaphore(config, signal->sem, false);
}

static uint32_t check_copy(const struct npu_config *config, const struct npu_packet_copy *copy)
{
	uint32_t bytes = le32toh(copy->bytes);

	if (!bytes || bytes > NPU_COPY_BYTES_MAX || copy->reserved0 || !aligned(copy->record, 64) ||
	    !zero(copy->reserved1, sizeof(copy->reserved1)))
		return NPU_ERROR_BAD_PACKET;
	return check_semaphore(config, copy->signal_sem, true);
}

static uint32_t check_graph(const struct npu_packet_graph *graph)
{
	uint32_t count = le32toh(graph->count);

	if (!count || count > NPU_GRAPH_PACKETS_MAX || le32toh(graph->patch_count) > count * 7 ||
	    !aligned(graph->list, 64) || !aligned(graph->patches, 8) ||
	    !aligned(graph->record, 64) || !zero(graph->reserved, sizeof(graph->reserved)))
		return NPU_ERROR_BAD_PACKET;
	return NPU_ERROR_NONE;
}

static uint32_t check_timestamp(const struct npu_packet_timestamp *timestamp)
{
	if (timestamp->reserved0 || !aligned(timestamp->destination, 8) ||
	    !zero(timestamp->reserved1, sizeof(timestamp->reserved1)))
		return NPU_ERROR_BAD_PACKET;
	return NPU_ERROR_NONE;
}

uint32_t npu_packet_check(const struct npu_config *config, const union npu_packet *packet,
			  bool in_graph)
{
	uint32_t opcode = opcode_of(packet);
	uint32_t flags = flags_of(packet);

	if (le32toh(packet->header) & NPU_PACKET_RESERVED)
		return NPU_ERROR_BAD_PACKET;
	if (in_graph && le32toh(packet->header) & NPU_PACKET_PHASE)
		return NPU_ERROR_BAD_PACKET;
	if (flags && opcode != NPU_PACKET_EXEC)
		return NPU_ERROR_BAD_PACKET;
	switch (opcode) {
	case NPU_PACKET_NOP:
	case NPU_PACKET_BARRIER:
		return zero_after_header(packet) ? NPU_ERROR_NONE : NPU_ERROR_BAD_PACKET;
	case NPU_PACKET_EXEC:
		return check_exec(config, &packet->exec, flags);
	case NPU_PACKET_WAIT:
		return check_wait(config, &packet->wait);
	case NPU_PACKET_SIGNAL:
		return check_signal(config, &packet->signal);
	case NPU_PACKET_COPY:
		return check_copy(config, &packet->copy);
	case NPU_PACKET_TIMESTAMP:
		return check_timestamp(&packet->timestamp);
	case NPU_PACKET_GRAPH:
		return in_graph ? NPU_ERROR_BAD_PACKET : check_graph(&packet->graph);
	default:
		return NPU_ERROR_BAD_PACKET;
	}
}

void npu_packet_begin(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	uint32_t error = npu_packet_check(&model->config, &slot->packet, queue->graph.active);

	if (error) {
		npu_slot_stop(model, slot, error, queue->read_index);
		return;
	}
	/* Where a task that was preempted had its packet there is another one now: it is forgotten. */
	if (opcode_of(&slot->packet) != NPU_PACKET_EXEC)
		queue->saved.active = false;
	switch (opcode_of(&slot->packet)) {
	case NPU_PACKET_EXEC:
	case NPU_PACKET_WAIT:
		npu_slot_delay(model, slot, NPU_PHASE_COMPARE, 1);
		break;
	case NPU_PACKET_SIGNAL:
	case NPU_PACKET_TIMESTAMP:
		npu_slot_delay(model, slot, NPU_PHASE_DELAY, npu_walk_cycles(&model->config));
		break;
	case NPU_PACKET_COPY:
		npu_copy_begin(model, slot);
		break;
	case NPU_PACKET_GRAPH:
		npu_graph_begin(model, slot);
		break;
	default:
		/* NOP; and BARRIER, because a queue starts nothing before the last is complete. */
		npu_slot_next(model, slot);
		break;
	}
}

/* What is not met is remembered: a queue that leaves its slot is rung when it is. */
static bool met(struct npu_model *model, struct npu_slot *slot, uint16_t semaphore, uint64_t value)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	uint32_t number = le16toh(semaphore);
	uint64_t threshold = le64toh(value);

	if (number == NPU_SEM_NONE)
		return true;
	if (queue->graph.active &&
	    __builtin_add_overflow(threshold, queue->graph.latched[number], &threshold))
		threshold = UINT64_MAX;
	queue->awaited = (uint16_t)number;
	queue->awaited_value = threshold;
	return npu_semaphore_value(model, queue->context, number) >= threshold;
}

static bool all_met(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_exec *exec = &slot->packet.exec;
	const struct npu_packet_wait *wait = &slot->packet.wait;
	bool all = true;

	if (opcode_of(&slot->packet) == NPU_PACKET_EXEC) {
		for (unsigned int i = 0; i < 2; i++)
			all = all && met(model, slot, exec->wait_sem[i], exec->wait_value[i]);
		return all;
	}
	for (unsigned int i = 0; i < 6; i++)
		all = all && met(model, slot, wait->sem[i], wait->value[i]);
	return all;
}

void npu_packet_compare(struct npu_model *model, struct npu_slot *slot)
{
	if (!all_met(model, slot)) {
		if (slot->phase != NPU_PHASE_WAITING) {
			slot->phase = NPU_PHASE_WAITING;
			npu_slot_raise(model, slot, NPU_SLOT_EVENT_IDLE);
		}
		return;
	}
	if (opcode_of(&slot->packet) == NPU_PACKET_EXEC)
		npu_exec_admit(model, slot);
	else
		npu_slot_next(model, slot);
}

static void write_timestamp(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_memory_error error;
	void *to = npu_mmu_pointer(model, queue->context,
				   le64toh(slot->packet.timestamp.destination), NPU_ACCESS_WRITE,
				   true, &error);

	if (!to) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_WRITE, error.error);
		return;
	}
	npu_store64(to, model->now, __ATOMIC_RELEASE);
	npu_slot_next(model, slot);
}

void npu_packet_delayed(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_signal *signal = &slot->packet.signal;
	unsigned int context = npu_slot_queue(model, slot)->context;

	if (opcode_of(&slot->packet) == NPU_PACKET_TIMESTAMP) {
		write_timestamp(model, slot);
		return;
	}
	/*
	 * The index first: who sees the semaphore also sees the space in the ring. After that the
	 * slot may have another queue.
	 */
	npu_slot_next(model, slot);
	npu_semaphore_add(model, context, le16toh(signal->sem), le64toh(signal->add));
}
