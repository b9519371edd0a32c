// SPDX-License-Identifier: MIT
/*
 * Completion: record, counters, read index, semaphore, interrupt, in this order. Manual: queues.rst,
 * "Order".
 */
#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"

static uint32_t clip(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void npu_retire_fill(struct npu_record *record, uint32_t task_id, uint64_t start, uint64_t end,
		     const struct npu_outcome *outcome, const struct npu_task_counters *counters)
{
	*record = (struct npu_record){
		.task_id = htole32(task_id),
		.status = htole16(outcome->status),
		.error = htole16(outcome->error),
		.start = htole64(start),
		.end = htole64(end),
		.mac_cycles = htole32(clip(counters->mac_cycles)),
		.out_cycles = htole32(clip(counters->out_cycles)),
		.vector_cycles = htole32(clip(counters->vector_cycles)),
		.dma_cycles = htole32(clip(counters->dma_cycles)),
		.dram_read = htole32(clip(counters->dram_read)),
		.dram_write = htole32(clip(counters->dram_write)),
		.stall_token = htole32(clip(counters->stall_token)),
		.stall_memory = htole32(clip(counters->stall_memory)),
		.detail = htole64(outcome->detail),
	};
}

void npu_retire_left(struct npu_slot *slot, const struct npu_outcome *outcome)
{
	switch (outcome->status) {
	case NPU_STATUS_DONE:
		slot->left = NPU_SLOT_LEFT_ENDED;
		break;
	case NPU_STATUS_KILLED:
		slot->left = NPU_SLOT_LEFT_KILLED;
		break;
	default:
		slot->left = NPU_SLOT_LEFT_FAILED;
	}
}

void npu_retire_task(struct npu_model *model, struct npu_slot *slot, uint64_t record_address,
		     const struct npu_record *record, uint16_t signal, uint32_t events)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_retire *retire = &slot->retire[slot->retire_end % NPU_RETIRES];

	*retire = (struct npu_retire){
		.time = model->now + npu_walk_cycles(&model->config),
		.queue = slot->queue,
		.context = queue->context,
		.record_address = record_address,
		.record = *record,
		.signal = signal,
		.index = queue->read_index,
		.events = events,
	};
	if (!queue->graph.active) {
		retire->ring = queue->ring;
		retire->read_index = ++queue->read_index;
	}
	slot->retire_end++;
	if (!npu_event_pending(&slot->retire_event))
		npu_event_schedule(&model->events, &slot->retire_event, retire->time);
}

/* The status is what says that the rest is there. */
static void store_record(uint8_t *to, const struct npu_record *record)
{
	const uint8_t *from = (const uint8_t *)record;
	size_t status = offsetof(struct npu_record, status);

	memcpy(to, from, status);
	memcpy(to + status + 2, from + status + 2, sizeof(*record) - status - 2);
	npu_store16(to + status, le16toh(record->status), __ATOMIC_RELEASE);
}

/* Returns enum npu_error when the record's memory is gone. */
static uint32_t write_record(struct npu_model *model, const struct npu_retire *retire)
{
	struct npu_memory_error error;
	struct npu_fault_record fault = {
		.context = retire->context,
		.queue = retire->queue,
		.task_id = le32toh(retire->record.task_id),
		.access = NPU_ACCESS_WRITE,
		.cluster = NPU_FAULT_COMMAND_PROCESSOR,
	};
	uint8_t *to;

	if (!retire->record_address)
		return NPU_ERROR_NONE;
	to = npu_mmu_pointer(model, retire->context, retire->record_address, NPU_ACCESS_WRITE, true,
			     &error);
	if (to) {
		store_record(to, &retire->record);
		return NPU_ERROR_NONE;
	}
	fault.error = error.error;
	fault.address = error.address;
	npu_registers_fault(model, &fault);
	return error.error;
}

static void write_index(struct npu_model *model, const struct npu_retire *retire)
{
	struct npu_memory_error error;
	void *to;

	if (!retire->ring)
		return;
	to = npu_mmu_pointer(model, retire->context,
			     retire->ring + offsetof(struct npu_ring_control, read_index),
			     NPU_ACCESS_RING, true, &error);
	if (to)
		npu_store64(to, retire->read_index, __ATOMIC_RELEASE);
}

/* After the last thing to be written: stop the queue, leave the slot, if either was asked for. */
static void settle(struct npu_model *model, struct npu_slot *slot)
{
	uint32_t error = slot->stop_error;

	if (npu_retire_pending(slot))
		return;
	slot->stop_error = NPU_ERROR_NONE;
	if (error)
		npu_slot_stop(model, slot, error, slot->stop_index);
	else if (slot->phase == NPU_PHASE_LEAVING)
		npu_slot_look(model, slot);
}

static void retire_first(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_retire *retire = &slot->retire[slot->retire_first % NPU_RETIRES];
	uint32_t error = write_record(model, retire);

	npu_context_counters_store(model, retire->context);
	write_index(model, retire);
	if (retire->signal != NPU_SEM_NONE)
		npu_semaphore_add(model, retire->context, retire->signal, 1);
	if (retire->events)
		npu_slot_raise(model, slot, retire->events);
	slot->retire_first++;
	if (error && !slot->stop_error) {
		slot->stop_error = error;
		slot->stop_index = retire->index;
	}
}

static uint64_t next_time(const struct npu_slot *slot)
{
	return slot->retire[slot->retire_first % NPU_RETIRES].time;
}

void npu_retire_handle(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_slot *slot =
		(struct npu_slot *)((char *)event - offsetof(struct npu_slot, retire_event));

	/* A GRAPH's record with its last task's: before the packet that has arrived meanwhile. */
	do {
		retire_first(model, slot);
	} while (npu_retire_pending(slot) && next_time(slot) <= model->now);
	if (npu_retire_pending(slot))
		npu_event_schedule(&model->events, &slot->retire_event, next_time(slot));
	settle(model, slot);
}
