// SPDX-License-Identifier: MIT
/*
 * GRAPH: a list of packets in context memory. Manual: queues.rst, "GRAPH".
 */
#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"

void npu_graph_begin(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_graph *packet = &slot->packet.graph;
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_graph *graph = &queue->graph;
	struct npu_memory_error error;
	uint64_t record = le64toh(packet->record);

	if (record && !npu_mmu_pointer(model, queue->context, record, NPU_ACCESS_WRITE, true,
				       &error)) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_WRITE, error.error);
		return;
	}
	graph->active = true;
	graph->count = le32toh(packet->count);
	graph->next = 0;
	graph->patch_count = le32toh(packet->patch_count);
	graph->patch_next = 0;
	graph->list = le64toh(packet->list);
	graph->patches = le64toh(packet->patches);
	graph->record = record;
	graph->task_id = le32toh(packet->task_id);
	graph->start = model->now;
	graph->outcome = (struct npu_outcome){ .status = NPU_STATUS_DONE };
	memset(&graph->counters, 0, sizeof(graph->counters));
	for (unsigned int i = 0; i < model->config.semaphores; i++)
		graph->latched[i] = npu_semaphore_value(model, queue->context, i);
	npu_slot_look(model, slot);
}

/*
 * Apply the patches of the packet at graph->next. The position among the patches moves on only
 * when the packet is done (npu_graph_advance()), since it may have to be fetched again.
 */
static uint32_t apply_patches(struct npu_model *model, struct npu_slot *slot,
			      struct npu_memory_error *error)
{
	const struct npu_queue *queue = npu_slot_queue(model, slot);
	const struct npu_graph *graph = &queue->graph;

	for (uint32_t i = graph->patch_next; i < graph->patch_count; i++) {
		struct npu_graph_patch patch;
		uint32_t offset;

		if (!npu_context_read(model, queue->context,
				      graph->patches + i * (uint64_t)sizeof(patch), &patch,
				      sizeof(patch), NPU_ACCESS_READ, error))
			return error->error;
		if (le32toh(patch.packet) > graph->next)
			break;
		offset = le32toh(patch.offset);
		if (le32toh(patch.packet) != graph->next || offset < 8 || offset > 56 || offset % 8)
			return NPU_ERROR_BAD_PACKET;
		slot->packet.words[offset / 8] = patch.value;
		slot->patches_used++;
	}
	return NPU_ERROR_NONE;
}

uint32_t npu_graph_load(struct npu_model *model, struct npu_slot *slot,
			struct npu_memory_error *error)
{
	const struct npu_queue *queue = npu_slot_queue(model, slot);
	const struct npu_graph *graph = &queue->graph;
	uint64_t address = graph->list + (uint64_t)graph->next * NPU_PACKET_BYTES;

	slot->patches_used = 0;
	if (!npu_context_read(model, queue->context, address, &slot->packet, sizeof(slot->packet),
			      NPU_ACCESS_READ, error))
		return error->error;
	return apply_patches(model, slot, error);
}

static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void npu_graph_account(struct npu_graph *graph, const struct npu_outcome *outcome,
		       const struct npu_task_counters *counters)
{
	struct npu_task_counters *sums = &graph->counters;

	if (graph->outcome.status == NPU_STATUS_DONE)
		graph->outcome = *outcome;
	add(&sums->mac_cycles, counters->mac_cycles);
	add(&sums->out_cycles, counters->out_cycles);
	add(&sums->vector_cycles, counters->vector_cycles);
	add(&sums->dma_cycles, counters->dma_cycles);
	add(&sums->dram_read, counters->dram_read);
	add(&sums->dram_write, counters->dram_write);
	add(&sums->stall_token, counters->stall_token);
	add(&sums->stall_memory, counters->stall_memory);
}

/* Returns true when the list's packet that is done was the last one. */
static bool advance(struct npu_slot *slot, struct npu_graph *graph)
{
	graph->next++;
	graph->patch_next += slot->patches_used;
	return graph->next == graph->count;
}

void npu_graph_packet_done(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_graph *graph = &npu_slot_queue(model, slot)->graph;
	struct npu_record record;

	if (!advance(slot, graph))
		return;
	npu_retire_fill(&record, graph->task_id, graph->start, model->now, &graph->outcome,
			&graph->counters);
	graph->active = false;
	npu_retire_task(model, slot, graph->record, &record, NPU_SEM_NONE, 0);
}
