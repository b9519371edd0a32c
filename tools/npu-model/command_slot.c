// SPDX-License-Identifier: MIT
/*
 * How queues come into slots and leave them. Manual: command-processor.rst, "Slots".
 */
#include "command_processor.h"
#include "machine.h"

void npu_queue_leave_work(struct npu_model *model, struct npu_queue *queue, unsigned int number,
			  bool waiting)
{
	struct npu_memory_error error;
	bool packet = npu_queue_set_sleeping(model, queue, &error);

	queue->left_waiting = waiting;
	if (!waiting && (packet || queue->rung || queue->graph.active))
		npu_queue_ring_core(model, number);
	queue->rung = false;
}

/* The slot's queue leaves it; only a grant may stay. */
static void let_go(struct npu_model *model, struct npu_slot *slot, bool waiting)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);

	npu_event_cancel(&model->events, &slot->event);
	queue->attached = false;
	slot->phase = NPU_PHASE_FREE;
	slot->detach = false;
	slot->revoke = false;
	slot->preempt = false;
	slot->keep = false;
	slot->need_clusters = 0;
	slot->need_global = 0;
	if (!queue->error)
		npu_queue_leave_work(model, queue, slot->queue, waiting);
}

/* A queue that is valid and in no slot comes into one; @ahead: cycles its fetch has been under way. */
static void enter(struct npu_model *model, struct npu_slot *slot, unsigned int number,
		  uint64_t ahead)
{
	struct npu_queue *queue = &model->command.queue[number];
	uint64_t cycles;

	queue->attached = true;
	queue->slot = slot->number;
	queue->left_waiting = false;
	slot->queue = (uint8_t)number;
	slot->stop_error = NPU_ERROR_NONE;
	if (queue->error) {
		slot->phase = NPU_PHASE_STOPPED;
		npu_slot_raise(model, slot, NPU_SLOT_EVENT_STOPPED);
		return;
	}
	if (queue->ring % NPU_PACKET_BYTES) {
		npu_slot_stop(model, slot, NPU_ERROR_RING, queue->read_index);
		return;
	}
	npu_queue_clear_sleeping(model, queue);
	cycles = npu_queue_fetch_cycles(model, queue);
	npu_slot_delay(model, slot, NPU_PHASE_FETCH, cycles > ahead ? cycles - ahead : 0);
}

static bool can_enter(const struct npu_model *model, unsigned int number)
{
	const struct npu_queue *queue;

	if (number >= model->config.queues)
		return false;
	queue = &model->command.queue[number];
	return queue->valid && !queue->attached;
}

/* Since when the slot has had nothing to do but a last record, with a queue named to follow. */
static uint64_t fetched_ahead(const struct npu_model *model, const struct npu_slot *slot)
{
	uint64_t since = model->command.next_since;

	if (slot->phase != NPU_PHASE_LEAVING)
		return 0;
	return model->now - (slot->leaving_since > since ? slot->leaving_since : since);
}

/* Put the queue of NPU_REG_CORE_NEXT into the slot. False when there is none that can follow. */
static bool switch_queues(struct npu_model *model, struct npu_slot *slot, bool waiting)
{
	struct npu_command_processor *command = &model->command;
	unsigned int number = command->next & 0xff;
	uint64_t ahead = fetched_ahead(model, slot);

	if (!(command->next & NPU_NEXT_VALID) || npu_slot_queue(model, slot)->error)
		return false;
	command->next &= ~NPU_NEXT_VALID;
	if (!can_enter(model, number) || command->queue[number].error)
		return false;
	if (!(command->next & NPU_NEXT_GRANT))
		slot->grant = 0;
	let_go(model, slot, waiting);
	enter(model, slot, number, ahead);
	npu_slot_raise(model, slot, NPU_SLOT_EVENT_SWITCHED);
	return true;
}

void npu_slot_leave(struct npu_model *model, struct npu_slot *slot, bool waiting)
{
	if (npu_retire_pending(slot)) {
		npu_event_cancel(&model->events, &slot->event);
		slot->detach = true;
		slot->phase = NPU_PHASE_LEAVING;
		slot->leaving_since = model->now;
		return;
	}
	if (switch_queues(model, slot, waiting))
		return;
	let_go(model, slot, waiting);
	slot->grant = 0;
	npu_slot_raise(model, slot, NPU_SLOT_EVENT_DETACHED);
}

void npu_slot_attach(struct npu_model *model, struct npu_slot *slot, unsigned int number)
{
	if (slot->phase == NPU_PHASE_FREE && can_enter(model, number))
		enter(model, slot, number, 0);
}

void npu_slot_detach(struct npu_model *model, struct npu_slot *slot)
{
	switch (slot->phase) {
	case NPU_PHASE_FREE:
		break;
	case NPU_PHASE_EMPTY:
	case NPU_PHASE_FETCH:
	case NPU_PHASE_COMPARE:
	case NPU_PHASE_REQUEST:
	case NPU_PHASE_STOPPED:
		npu_slot_leave(model, slot, false);
		break;
	case NPU_PHASE_WAITING:
		/* A semaphore that changed in this very cycle has still to be looked at. */
		npu_slot_leave(model, slot, !npu_event_pending(&slot->event));
		break;
	default:
		slot->detach = true;
		break;
	}
}

void npu_command_next(struct npu_model *model, uint32_t value)
{
	model->command.next = value & (NPU_NEXT_VALID | NPU_NEXT_GRANT | 0xff);
	model->command.next_since = model->now;
}
