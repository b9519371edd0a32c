// SPDX-License-Identifier: MIT
/*
 * COPY: the command processor's own channel. timing.rst, "Command processor".
 */
#include "command_processor.h"
#include "machine.h"
#include "memory.h"

/* Flow ids are cluster * 8 + engine, and there are seven engines. */
#define COPY_FLOW_ID	7

/* Rank among the ends of work: as a DMA channel of a cluster after the last. */
#define COPY_RANK	NPU_RANK_COMPLETE(NPU_ENGINE_COUNT, 0)

static uint64_t bursts(uint64_t address, uint64_t bytes)
{
	return (address % NPU_BURST_BYTES + bytes + NPU_BURST_BYTES - 1) / NPU_BURST_BYTES;
}

static unsigned int walk_levels(struct npu_model *model, unsigned int context, uint64_t address,
				enum npu_access access)
{
	struct npu_memory_error error;
	struct npu_leaf leaf;
	bool ok;

	return npu_mmu_walk(model, context, address, access, &leaf, &error, &ok);
}

/* The channel is this slot's. */
static void take_channel(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_copy *copy = &slot->packet.copy;
	unsigned int context = npu_slot_queue(model, slot)->context;
	unsigned int levels = walk_levels(model, context, le64toh(copy->source), NPU_ACCESS_READ) +
			      walk_levels(model, context, le64toh(copy->destination),
					  NPU_ACCESS_WRITE);
	uint64_t latency = model->config.dma_descriptor + 2ull * model->config.dram_latency +
			   levels * npu_walk_cycles(&model->config);

	model->command.copy_slot = slot->number;
	slot->copy_start = model->now;
	npu_slot_delay(model, slot, NPU_PHASE_COPY_LATENCY, latency);
}

void npu_copy_begin(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_command_processor *command = &model->command;
	uint64_t record = le64toh(slot->packet.copy.record);
	struct npu_memory_error error;

	if (record && !npu_mmu_pointer(model, npu_slot_queue(model, slot)->context, record,
				       NPU_ACCESS_WRITE, true, &error)) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_WRITE, error.error);
		return;
	}
	if (command->copy_slot < 0) {
		take_channel(model, slot);
		return;
	}
	slot->phase = NPU_PHASE_COPY_TURN;
	command->copy_turn[command->copy_waiting++] = slot->number;
}

static void remove_turn(struct npu_command_processor *command, unsigned int slot)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < command->copy_waiting; i++) {
		if (command->copy_turn[i] != slot)
			command->copy_turn[kept++] = command->copy_turn[i];
	}
	command->copy_waiting = kept;
}

static void release_channel(struct npu_model *model)
{
	struct npu_command_processor *command = &model->command;
	unsigned int next;

	command->copy_slot = -1;
	if (!command->copy_waiting)
		return;
	next = command->copy_turn[0];
	remove_turn(command, next);
	take_channel(model, &command->slot[next]);
}

static uint64_t copy_work(const struct npu_model *model, const struct npu_packet_copy *copy,
			  uint64_t count)
{
	uint64_t work = (le32toh(copy->bytes) + model->config.dma_bytes - 1ull) /
			model->config.dma_bytes;
	uint64_t burst_work = count * npu_config_burst_cycles(&model->config);

	return burst_work > work ? burst_work : work;
}

static void count_bursts(const struct npu_packet_copy *copy, uint64_t *read, uint64_t *write)
{
	*read = bursts(le64toh(copy->source), le32toh(copy->bytes));
	*write = bursts(le64toh(copy->destination), le32toh(copy->bytes));
}

void npu_copy_work(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_flow *flow = &model->command.copy;
	uint64_t read, write, work;

	count_bursts(&slot->packet.copy, &read, &write);
	work = copy_work(model, &slot->packet.copy, read + write);
	slot->phase = NPU_PHASE_COPY;
	slot->copy_work_start = model->now;
	npu_flow_reset(flow);
	npu_flow_demand(flow, NPU_RESOURCE_DRAM, (read + write) * NPU_BURST_BYTES, work);
	npu_bandwidth_start(&model->bandwidth, &model->events, flow, model->now, work);
}

/* The packet is over, well or not. */
static void finish(struct npu_model *model, struct npu_slot *slot,
		   const struct npu_outcome *outcome, const struct npu_task_counters *counters)
{
	const struct npu_packet_copy *copy = &slot->packet.copy;
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_record record;

	model->counters.tasks++;
	model->counters.dma += counters->dma_cycles;
	model->counters.dram_read += counters->dram_read;
	model->counters.dram_write += counters->dram_write;
	npu_retire_fill(&record, le32toh(copy->task_id), slot->copy_start, model->now, outcome,
			counters);
	npu_context_counters_add(model, queue->context, counters);
	npu_retire_left(slot, outcome);
	npu_retire_task(model, slot, le64toh(copy->record), &record, le16toh(copy->signal_sem),
			NPU_SLOT_EVENT_DONE);
	if (queue->graph.active) {
		npu_graph_account(&queue->graph, outcome, counters);
		npu_graph_packet_done(model, slot);
	}
	npu_slot_look(model, slot);
}

static void fault(struct npu_model *model, const struct npu_slot *slot,
		  const struct npu_memory_error *error, struct npu_outcome *outcome)
{
	struct npu_fault_record record = {
		.error = error->error,
		.context = model->command.queue[slot->queue].context,
		.queue = slot->queue,
		.task_id = le32toh(slot->packet.copy.task_id),
		.address = error->address,
		.access = error->address - le64toh(slot->packet.copy.source) <
				  le32toh(slot->packet.copy.bytes) ?
			  NPU_ACCESS_READ : NPU_ACCESS_WRITE,
		.cluster = NPU_FAULT_COMMAND_PROCESSOR,
	};

	npu_registers_fault(model, &record);
	outcome->status = NPU_STATUS_FAULT;
	outcome->error = (uint16_t)error->error;
	outcome->detail = error->address & ((1ull << 56) - 1);
}

static void handle_end(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_slot *slot = &model->command.slot[model->command.copy_slot];
	const struct npu_packet_copy *copy = &slot->packet.copy;
	struct npu_task_counters counters = { 0 };
	struct npu_outcome outcome = { .status = NPU_STATUS_DONE };
	struct npu_memory_error error;
	uint64_t work;

	(void)event;
	npu_bandwidth_stop(&model->bandwidth, &model->events, &model->command.copy, model->now);
	count_bursts(copy, &counters.dram_read, &counters.dram_write);
	work = copy_work(model, copy, counters.dram_read + counters.dram_write);
	npu_heat_worked(model, NPU_ENGINE_DMA0, slot->copy_work_start);
	counters.dma_cycles = model->now - slot->copy_work_start;
	counters.stall_memory = counters.dma_cycles - work;
	if (!npu_context_copy(model, npu_slot_queue(model, slot)->context,
			      le64toh(copy->destination), le64toh(copy->source),
			      le32toh(copy->bytes), &error))
		fault(model, slot, &error, &outcome);
	release_channel(model);
	finish(model, slot, &outcome, &counters);
}

void npu_copy_kill(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_task_counters none = { 0 };
	struct npu_outcome outcome = {
		.status = NPU_STATUS_KILLED,
		.error = NPU_ERROR_KILLED,
		.detail = npu_slot_queue(model, slot)->read_index,
	};

	npu_event_cancel(&model->events, &slot->event);
	if (slot->phase == NPU_PHASE_COPY_TURN) {
		slot->copy_start = model->now;
		remove_turn(&model->command, slot->number);
	} else {
		if (slot->phase == NPU_PHASE_COPY)
			npu_heat_worked(model, NPU_ENGINE_DMA0, slot->copy_work_start);
		npu_bandwidth_stop(&model->bandwidth, &model->events, &model->command.copy,
				   model->now);
		release_channel(model);
	}
	finish(model, slot, &outcome, &none);
}

void npu_copy_init(struct npu_model *model)
{
	struct npu_flow *flow = &model->command.copy;

	flow->end.handle = handle_end;
	flow->end.rank = COPY_RANK;
	flow->id = COPY_FLOW_ID;
	model->command.copy_slot = -1;
}
