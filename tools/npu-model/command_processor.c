// SPDX-License-Identifier: MIT
/*
 * Command processor: queues, slots, looking at rings. See command_processor.h.
 */
#include "command_processor.h"

#include <string.h>

#include "machine.h"
#include "memory.h"

/* Offset of a member of the ring's control block. */
#define CONTROL(member)		offsetof(struct npu_ring_control, member)

struct npu_queue *npu_slot_queue(struct npu_model *model, const struct npu_slot *slot)
{
	return &model->command.queue[slot->queue];
}

/* A word of the ring's control block, to write; NULL when the ring's memory is gone. */
static void *ring_word(struct npu_model *model, const struct npu_queue *queue, uint64_t offset,
		       struct npu_memory_error *error)
{
	return npu_mmu_pointer(model, queue->context, queue->ring + offset, NPU_ACCESS_RING, true,
			       error);
}

static uint64_t packet_address(const struct npu_queue *queue)
{
	uint64_t slot = queue->read_index & ((1ull << queue->log2) - 1);

	return queue->ring + NPU_RING_PACKETS_OFFSET + slot * NPU_PACKET_BYTES;
}

/* Whether the next packet is there; @fetch: to be taken. */
static bool header_valid(struct npu_model *model, const struct npu_queue *queue, uint32_t header,
			 bool fetch)
{
	bool phase = header & NPU_PACKET_PHASE;
	bool there = phase == !(queue->read_index >> queue->log2 & 1);

	return npu_arrival_look(model, (unsigned int)(queue - model->command.queue), there, fetch);
}

/* The next packet's header: NULL when the ring's memory is gone. */
static const void *header_pointer(struct npu_model *model, const struct npu_queue *queue,
				  struct npu_memory_error *error)
{
	return npu_mmu_pointer(model, queue->context, packet_address(queue), NPU_ACCESS_RING, false,
			       error);
}

void npu_slot_raise(struct npu_model *model, struct npu_slot *slot, uint32_t events)
{
	slot->events |= events;
	npu_registers_core_irq(model, NPU_CORE_IRQ_SLOT);
}

void npu_slot_delay(struct npu_model *model, struct npu_slot *slot, enum npu_slot_phase phase,
		    uint64_t cycles)
{
	slot->phase = (uint8_t)phase;
	npu_event_schedule(&model->events, &slot->event, model->now + cycles);
}

void npu_queue_ring_core(struct npu_model *model, unsigned int queue)
{
	model->command.rung |= 1ull << queue;
	npu_registers_core_irq(model, NPU_CORE_IRQ_DOORBELL);
}

bool npu_queue_set_sleeping(struct npu_model *model, struct npu_queue *queue,
			    struct npu_memory_error *error)
{
	void *sleeping = ring_word(model, queue, CONTROL(sleeping), error);
	const void *header;

	if (!sleeping)
		return false;
	npu_store32(sleeping, 1, __ATOMIC_SEQ_CST);
	header = header_pointer(model, queue, error);
	/*
	 * The other half of the producer's order (header, full fence, sleeping flag): either it
	 * sees the flag, or its header is seen here.
	 */
	return header && header_valid(model, queue, npu_load32(header, __ATOMIC_SEQ_CST), false);
}

void npu_queue_clear_sleeping(struct npu_model *model, struct npu_queue *queue)
{
	struct npu_memory_error error;
	void *sleeping = ring_word(model, queue, CONTROL(sleeping), &error);

	if (sleeping)
		npu_store32(sleeping, 0, __ATOMIC_RELEASE);
}

uint64_t npu_queue_fetch_cycles(struct npu_model *model, struct npu_queue *queue)
{
	const struct npu_graph *graph = &queue->graph;
	struct npu_packet_page *known = &queue->page[graph->active];
	uint64_t address = graph->active ? graph->list + (uint64_t)graph->next * NPU_PACKET_BYTES :
					   packet_address(queue);
	uint64_t generation = model->mmu.generation[queue->context];
	struct npu_memory_error error;
	struct npu_leaf leaf;
	unsigned int levels = 0;
	bool ok;

	if (!known->valid || known->page != address >> NPU_PAGE_SHIFT ||
	    known->generation != generation) {
		levels = npu_mmu_walk(model, queue->context, address, NPU_ACCESS_READ, &leaf,
				      &error, &ok);
		known->valid = ok;
		known->page = address >> NPU_PAGE_SHIFT;
		known->generation = generation;
	}
	return (1 + (uint64_t)levels) * npu_walk_cycles(&model->config);
}

void npu_slot_look(struct npu_model *model, struct npu_slot *slot)
{
	if (slot->detach) {
		npu_slot_leave(model, slot, false);
		return;
	}
	npu_slot_delay(model, slot, NPU_PHASE_FETCH,
		       npu_queue_fetch_cycles(model, npu_slot_queue(model, slot)));
}

void npu_slot_stop(struct npu_model *model, struct npu_slot *slot, uint32_t error, uint64_t index)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_memory_error ignored;
	void *word;

	npu_event_cancel(&model->events, &slot->event);
	queue->error = error;
	slot->phase = NPU_PHASE_STOPPED;
	word = ring_word(model, queue, CONTROL(error_index), &ignored);
	if (word)
		npu_store64(word, index, __ATOMIC_RELAXED);
	word = ring_word(model, queue, CONTROL(error), &ignored);
	if (word)
		npu_store32(word, error, __ATOMIC_RELEASE);
	npu_registers_queue_error(model, slot->queue);
	npu_slot_raise(model, slot, NPU_SLOT_EVENT_STOPPED);
	if (slot->detach)
		npu_slot_leave(model, slot, false);
}

void npu_slot_memory_stop(struct npu_model *model, struct npu_slot *slot,
			  const struct npu_memory_error *error, enum npu_access access,
			  uint32_t queue_error)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_fault_record record = {
		.error = error->error,
		.context = queue->context,
		.queue = slot->queue,
		.address = error->address,
		.access = access,
		.cluster = NPU_FAULT_COMMAND_PROCESSOR,
	};

	npu_registers_fault(model, &record);
	npu_slot_stop(model, slot, queue_error, queue->read_index);
}

/* No packet: say so in the ring, look once more, sleep. */
static void go_empty(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_memory_error error = { .error = NPU_ERROR_NONE };

	if (npu_queue_set_sleeping(model, queue, &error)) {
		npu_queue_clear_sleeping(model, queue);
		npu_slot_look(model, slot);
		return;
	}
	if (error.error) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_RING, NPU_ERROR_RING);
		return;
	}
	slot->phase = NPU_PHASE_EMPTY;
	npu_slot_raise(model, slot, NPU_SLOT_EVENT_IDLE);
}

static void fetch_from_ring(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_memory_error error;
	const void *header = header_pointer(model, queue, &error);
	uint32_t first;

	queue->rung = false;
	if (!header) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_RING, NPU_ERROR_RING);
		return;
	}
	first = npu_load32(header, __ATOMIC_ACQUIRE);
	if (!header_valid(model, queue, first, true)) {
		if (npu_arrivals_wait(&model->arrivals))
			npu_slot_delay(model, slot, NPU_PHASE_FETCH, 0);
		else
			go_empty(model, slot);
		return;
	}
	/* One copy, header included: whatever user space stores later is not looked at. */
	memcpy(&slot->packet, header, sizeof(slot->packet));
	slot->packet.header = htole32(first);
	npu_packet_begin(model, slot);
}

static void fetch_from_graph(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_memory_error error = { .error = NPU_ERROR_NONE };
	uint32_t code = npu_graph_load(model, slot, &error);

	if (error.error) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_READ, error.error);
		return;
	}
	if (code) {
		npu_slot_stop(model, slot, code, npu_slot_queue(model, slot)->read_index);
		return;
	}
	npu_packet_begin(model, slot);
}

/* Count the ring's packet as done; its memory may be reused. */
static void advance_ring(struct npu_model *model, struct npu_queue *queue)
{
	struct npu_memory_error error;
	void *word;

	queue->read_index++;
	word = ring_word(model, queue, CONTROL(read_index), &error);
	if (word)
		npu_store64(word, queue->read_index, __ATOMIC_RELEASE);
}

void npu_slot_next(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);

	if (queue->graph.active)
		npu_graph_packet_done(model, slot);
	else
		advance_ring(model, queue);
	npu_slot_look(model, slot);
}

static void handle_event(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_slot *slot =
		(struct npu_slot *)((char *)event - offsetof(struct npu_slot, event));

	switch (slot->phase) {
	case NPU_PHASE_FETCH:
		if (npu_slot_queue(model, slot)->graph.active)
			fetch_from_graph(model, slot);
		else
			fetch_from_ring(model, slot);
		break;
	case NPU_PHASE_COMPARE:
	case NPU_PHASE_WAITING:
		npu_packet_compare(model, slot);
		break;
	case NPU_PHASE_REQUEST:
		npu_exec_try(model, slot);
		break;
	case NPU_PHASE_SCRUB:
		npu_exec_start(model, slot);
		break;
	case NPU_PHASE_SAVE_LATENCY:
		npu_preempt_save(model, slot);
		break;
	case NPU_PHASE_RESTORE_LATENCY:
		npu_restore_work(model, slot);
		break;
	case NPU_PHASE_COPY_LATENCY:
		npu_copy_work(model, slot);
		break;
	case NPU_PHASE_DELAY:
		npu_packet_delayed(model, slot);
		break;
	default:
		break;
	}
}

void npu_command_doorbell(struct npu_model *model, unsigned int number)
{
	struct npu_queue *queue = &model->command.queue[number];
	struct npu_slot *slot;

	if (!queue->valid || queue->error)
		return;
	if (!queue->attached) {
		/* Its packet is known to wait; a doorbell changes nothing about that. */
		if (!queue->left_waiting)
			npu_queue_ring_core(model, number);
		return;
	}
	queue->rung = true;
	slot = &model->command.slot[queue->slot];
	if (slot->phase != NPU_PHASE_EMPTY)
		return;
	npu_queue_clear_sleeping(model, queue);
	npu_slot_look(model, slot);
}

void npu_command_signal(struct npu_model *model, unsigned int number, uint64_t value)
{
	const struct npu_queue *queue = &model->command.queue[number];
	uint64_t amount = value & ((1ull << 48) - 1);

	if (queue->valid && !queue->error)
		npu_semaphore_add(model, queue->context, (unsigned int)(value >> 48), amount);
}

void npu_command_semaphore_changed(struct npu_model *model, unsigned int context)
{
	struct npu_command_processor *command = &model->command;

	for (unsigned int i = 0; i < model->config.slots; i++) {
		struct npu_slot *slot = &command->slot[i];

		if (slot->phase == NPU_PHASE_WAITING &&
		    command->queue[slot->queue].context == context)
			npu_event_schedule(&model->events, &slot->event, model->now);
	}
	for (unsigned int i = 0; i < model->config.queues; i++) {
		struct npu_queue *queue = &command->queue[i];

		if (!queue->left_waiting || queue->context != context ||
		    npu_semaphore_value(model, context, queue->awaited) < queue->awaited_value)
			continue;
		queue->left_waiting = false;
		npu_queue_ring_core(model, i);
	}
}

static void kill(struct npu_model *model, struct npu_slot *slot)
{
	switch (slot->phase) {
	case NPU_PHASE_SCRUB:
	case NPU_PHASE_TASK:
	case NPU_PHASE_SAVE_LATENCY:
	case NPU_PHASE_SAVE:
	case NPU_PHASE_RESTORE_LATENCY:
	case NPU_PHASE_RESTORE:
		slot->detach = true;
		npu_exec_kill(model, slot);
		break;
	case NPU_PHASE_REQUEST:
		/* One that was preempted has begun, so it has a record. */
		if (npu_slot_queue(model, slot)->saved.active) {
			slot->detach = true;
			npu_exec_kill(model, slot);
		} else {
			npu_slot_detach(model, slot);
		}
		break;
	case NPU_PHASE_COPY_TURN:
	case NPU_PHASE_COPY_LATENCY:
	case NPU_PHASE_COPY:
		slot->detach = true;
		npu_copy_kill(model, slot);
		break;
	default:
		npu_slot_detach(model, slot);
		break;
	}
}

/* Before it starts or comes back a task can be asked to leave as well: at its first point. */
static bool can_be_asked_to_leave(const struct npu_slot *slot)
{
	switch (slot->phase) {
	case NPU_PHASE_SCRUB:
	case NPU_PHASE_TASK:
	case NPU_PHASE_RESTORE_LATENCY:
	case NPU_PHASE_RESTORE:
		return slot->task.save_bytes;
	default:
		return false;
	}
}

static void control(struct npu_model *model, struct npu_slot *slot, uint32_t value)
{
	if (value & NPU_SLOT_PREEMPT && can_be_asked_to_leave(slot))
		npu_preempt_ask(model, slot, value & NPU_SLOT_KEEP);
	if (value & NPU_SLOT_KILL) {
		kill(model, slot);
	} else if (value & NPU_SLOT_DETACH) {
		npu_slot_detach(model, slot);
	} else if (value & NPU_SLOT_REJECT) {
		uint32_t error = value & 0xff ? value & 0xff : NPU_ERROR_NO_RESOURCES;

		if (slot->phase == NPU_PHASE_REQUEST)
			npu_exec_reject(model, slot, error, npu_slot_queue(model, slot)->read_index,
					error);
	} else if (value & NPU_SLOT_ATTACH) {
		npu_slot_attach(model, slot, value & 0xff);
	}
}

static void grant(struct npu_model *model, struct npu_slot *slot, uint32_t mask)
{
	uint64_t end = (uint64_t)slot->window + slot->window_bytes;
	uint32_t taken = 0;

	if (slot->phase == NPU_PHASE_FREE)
		return;
	if (npu_slot_has_task(slot)) {
		/* What the task uses stays until its end. */
		slot->grant &= mask | npu_task_clusters(&slot->task);
		slot->revoke = !mask;
		return;
	}
	for (unsigned int i = 0; i < model->config.slots; i++) {
		if (i != slot->number)
			taken |= model->command.slot[i].grant;
	}
	mask &= ((1u << model->config.clusters) - 1) & ~taken;
	if (end > model->config.global_bytes || slot->window % NPU_OWNER_BYTES)
		mask = 0;
	slot->grant = mask;
	slot->grant_window = slot->window;
	slot->grant_window_bytes = slot->window_bytes;
	if (mask && slot->phase == NPU_PHASE_REQUEST)
		npu_event_schedule(&model->events, &slot->event, model->now);
}

static uint32_t slot_state(const struct npu_model *model, const struct npu_slot *slot)
{
	static const uint8_t shown[] = {
		[NPU_PHASE_FREE] = NPU_SLOT_STATE_FREE,
		[NPU_PHASE_EMPTY] = NPU_SLOT_STATE_EMPTY,
		[NPU_PHASE_FETCH] = NPU_SLOT_STATE_FETCH,
		[NPU_PHASE_COMPARE] = NPU_SLOT_STATE_FETCH,
		[NPU_PHASE_WAITING] = NPU_SLOT_STATE_WAITING,
		[NPU_PHASE_REQUEST] = NPU_SLOT_STATE_REQUEST,
		[NPU_PHASE_SCRUB] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_TASK] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_SAVE_LATENCY] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_SAVE] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_RESTORE_LATENCY] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_RESTORE] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_COPY_TURN] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_COPY_LATENCY] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_COPY] = NPU_SLOT_STATE_RUNNING,
		[NPU_PHASE_DELAY] = NPU_SLOT_STATE_FETCH,
		[NPU_PHASE_STOPPED] = NPU_SLOT_STATE_STOPPED,
		[NPU_PHASE_LEAVING] = NPU_SLOT_STATE_RUNNING,
	};
	const struct npu_saved_task *saved = &model->command.queue[slot->queue].saved;
	uint32_t queue = slot->phase == NPU_PHASE_FREE ? 0 : slot->queue;
	bool kept = slot->phase == NPU_PHASE_REQUEST && saved->active && saved->window_kept;

	return shown[slot->phase] | queue << 8 | (kept ? NPU_SLOT_STATE_KEPT : 0);
}

uint32_t npu_command_slot_read(const struct npu_model *model, unsigned int number,
			       uint32_t offset)
{
	const struct npu_slot *slot = &model->command.slot[number];

	switch (offset) {
	case NPU_SLOT_STATE:
		return slot_state(model, slot);
	case NPU_SLOT_EVENT:
		return slot->events;
	case NPU_SLOT_NEED_CLUSTERS:
		return slot->need_clusters;
	case NPU_SLOT_NEED_GLOBAL:
		return slot->need_global;
	case NPU_SLOT_GRANT_WINDOW:
		return slot->window;
	case NPU_SLOT_GRANT_WINDOW_BYTES:
		return slot->window_bytes;
	case NPU_SLOT_GRANT:
		return slot->grant;
	default:
		return 0;
	}
}

void npu_command_slot_write(struct npu_model *model, unsigned int number, uint32_t offset,
			    uint32_t value)
{
	struct npu_slot *slot = &model->command.slot[number];

	switch (offset) {
	case NPU_SLOT_CONTROL:
		control(model, slot, value);
		break;
	case NPU_SLOT_EVENT:
		slot->events &= ~value;
		break;
	case NPU_SLOT_GRANT_WINDOW:
		slot->window = value;
		break;
	case NPU_SLOT_GRANT_WINDOW_BYTES:
		slot->window_bytes = value;
		break;
	case NPU_SLOT_GRANT:
		grant(model, slot, value);
		break;
	default:
		break;
	}
}

uint32_t npu_command_slot_left(const struct npu_model *model, unsigned int number)
{
	return model->command.slot[number].left;
}

static uint32_t queue_config(const struct npu_queue *queue)
{
	return queue->context | (uint32_t)queue->log2 << 8 |
	       (queue->valid ? NPU_QUEUE_CONFIG_VALID : 0);
}

uint32_t npu_command_queue_read(const struct npu_model *model, unsigned int number,
				uint32_t offset)
{
	const struct npu_queue *queue = &model->command.queue[number];

	switch (offset) {
	case NPU_QUEUE_RING_LO:
		return (uint32_t)queue->ring;
	case NPU_QUEUE_RING_HI:
		return (uint32_t)(queue->ring >> 32);
	case NPU_QUEUE_CONFIG:
		return queue_config(queue);
	case NPU_QUEUE_READ_LO:
		return (uint32_t)queue->read_index;
	case NPU_QUEUE_READ_HI:
		return (uint32_t)(queue->read_index >> 32);
	case NPU_QUEUE_ERROR:
		return queue->error;
	case NPU_QUEUE_PROGRESS:
		return (queue->graph.active ? NPU_QUEUE_PROGRESS_GRAPH : 0) |
		       (queue->saved.active ? NPU_QUEUE_PROGRESS_TASK : 0);
	default:
		return 0;
	}
}

/* A queue comes to life or ends; either way nothing of an earlier one is left. */
static void configure(struct npu_model *model, struct npu_queue *queue, unsigned int number,
		      uint32_t value)
{
	uint32_t context = value & 0xff;
	uint32_t log2 = value >> 8 & 0xff;

	queue->valid = value & NPU_QUEUE_CONFIG_VALID && context < model->config.contexts &&
		       log2 >= NPU_RING_LOG2_MIN && log2 <= NPU_RING_LOG2_MAX;
	queue->context = (uint8_t)(queue->valid ? context : 0);
	queue->log2 = (uint8_t)(queue->valid ? log2 : 0);
	queue->error = NPU_ERROR_NONE;
	queue->rung = false;
	queue->left_waiting = false;
	queue->graph.active = false;
	queue->saved.active = false;
	queue->page[0].valid = false;
	queue->page[1].valid = false;
	model->command.rung &= ~(1ull << number);
	model->registers.queue_errors &= ~(1ull << number);
	/* Producers may have published before there was a queue. */
	if (queue->valid && queue->ring % NPU_PACKET_BYTES == 0)
		npu_queue_leave_work(model, queue, number, false);
}

static void set_half(uint64_t *value, bool high, uint32_t half)
{
	if (high)
		*value = (*value & UINT32_MAX) | (uint64_t)half << 32;
	else
		*value = (*value & ~(uint64_t)UINT32_MAX) | half;
}

void npu_command_queue_write(struct npu_model *model, unsigned int number, uint32_t offset,
			     uint32_t value)
{
	struct npu_queue *queue = &model->command.queue[number];

	if (queue->attached)
		return;
	switch (offset) {
	case NPU_QUEUE_RING_LO:
	case NPU_QUEUE_RING_HI:
		set_half(&queue->ring, offset == NPU_QUEUE_RING_HI, value);
		break;
	case NPU_QUEUE_READ_LO:
	case NPU_QUEUE_READ_HI:
		set_half(&queue->read_index, offset == NPU_QUEUE_READ_HI, value);
		break;
	case NPU_QUEUE_CONFIG:
		configure(model, queue, number, value);
		break;
	case NPU_QUEUE_ERROR:
		queue->error = value;
		break;
	default:
		break;
	}
}

void npu_command_init(struct npu_model *model)
{
	struct npu_command_processor *command = &model->command;

	for (unsigned int i = 0; i < NPU_SLOTS_MAX; i++) {
		struct npu_slot *slot = &command->slot[i];

		slot->number = (uint8_t)i;
		slot->event.handle = handle_event;
		slot->event.rank = NPU_RANK_COMMAND(i);
		slot->retire_event.handle = npu_retire_handle;
		slot->retire_event.rank = NPU_RANK_COMMAND(i);
		npu_exec_init(slot);
		npu_preempt_init(slot);
	}
	npu_copy_init(model);
}

void npu_command_reset(struct npu_model *model)
{
	struct npu_command_processor *command = &model->command;

	for (unsigned int i = 0; i < NPU_SLOTS_MAX; i++) {
		struct npu_slot *slot = &command->slot[i];

		if (slot->task.running)
			npu_task_stop(model, &slot->task);
		npu_preempt_cancel(model, slot);
		npu_event_cancel(&model->events, &slot->event);
		npu_event_cancel(&model->events, &slot->retire_event);
	}
	npu_bandwidth_stop(&model->bandwidth, &model->events, &command->copy, model->now);
	memset(command, 0, sizeof(*command));
	npu_command_init(model);
}
