// SPDX-License-Identifier: MIT
/*
 * Preemption: a task leaves its clusters at a point of its program. Manual: command-processor.rst,
 * "Preemption".
 */
#include <string.h>

#include "command_processor.h"
#include "numbers.h"
#include "save_area.h"

/* ------------------------------------------------------------------- transfers */

/* By DMA channel 0 of the gang's first cluster, whose engines are idle. */
void npu_preempt_transfer(struct npu_model *model, struct npu_slot *slot,
			  enum npu_slot_phase phase)
{
	const struct npu_config *config = &model->config;
	uint64_t work = slot->save_bursts * npu_config_burst_cycles(config);
	uint64_t moved = slot->save_bursts * NPU_BURST_BYTES;
	unsigned int cluster = slot->task.cluster[0];

	if (work < ceil_div(moved, config->dma_bytes))
		work = ceil_div(moved, config->dma_bytes);
	slot->phase = (uint8_t)phase;
	slot->save_flow.id = (uint8_t)(cluster * 8u + NPU_ENGINE_DMA0);
	slot->save_flow.end.rank = NPU_RANK_COMPLETE(npu_engine_order(NPU_ENGINE_DMA0), cluster);
	npu_flow_reset(&slot->save_flow);
	npu_flow_demand(&slot->save_flow, NPU_RESOURCE_DRAM, moved, work);
	npu_bandwidth_start(&model->bandwidth, &model->events, &slot->save_flow, model->now, work);
}

/* ------------------------------------------------------------------------ save */

void npu_preempt_ask(struct npu_model *model, struct npu_slot *slot, bool keep)
{
	struct npu_task *task = &slot->task;

	slot->keep = slot->keep || keep;
	if (slot->preempt)
		return;
	slot->preempt = true;
	task->leave_at = 1;
	if (slot->phase != NPU_PHASE_TASK)
		return;
	for (unsigned int i = 0; i < task->clusters; i++) {
		uint32_t points = model->clusters[task->cluster[i]].front.points;

		if (task->leave_at <= points)
			task->leave_at = points + 1;
	}
}

bool npu_preempt_stops(const struct npu_model *model, const struct npu_task *task, uint32_t point)
{
	return model->command.slot[task->slot].preempt && point == task->leave_at;
}

/* The tables of all clusters. False when the task cannot be saved here. */
static bool read_points(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_task *task = &slot->task;
	unsigned int resumed = 0;

	slot->save_bursts = 0;
	slot->window_kept = false;
	for (unsigned int i = 0; i < task->clusters; i++) {
		const struct npu_front_end *front = &model->clusters[task->cluster[i]].front;
		struct npu_point_table point;

		if (!npu_point_read(model, task, front->own.operation.imm32, &point))
			return false;
		slot->save_bursts += ceil_div(point.bytes, NPU_BURST_BYTES);
		slot->window_kept |= point.window;
		resumed += point.resume != 0;
	}
	return (slot->keep || !slot->window_kept) && (!resumed || resumed == task->clusters);
}

bool npu_preempt_at_barrier(struct npu_model *model, struct npu_task *task)
{
	struct npu_slot *slot = &model->command.slot[task->slot];

	if (!slot->preempt || task->returning || task->budget.time <= model->now)
		return false;
	if (!read_points(model, slot)) {
		/* Where they all stand at a POINT it is the next one's turn. */
		task->leave_at += model->clusters[task->cluster[0]].front.leaving;
		return false;
	}
	slot->preempt = false;
	slot->keep = false;
	task->budget_left = task->budget.time - model->now;
	npu_event_cancel(&model->events, &task->budget);
	/* The tables first. */
	npu_slot_delay(model, slot, NPU_PHASE_SAVE_LATENCY,
		       npu_walk_cycles(&model->config) +
			       npu_save_latency(model, task, NPU_ACCESS_WRITE));
	return true;
}

void npu_preempt_save(struct npu_model *model, struct npu_slot *slot)
{
	npu_preempt_transfer(model, slot, NPU_PHASE_SAVE);
}

static void fill_state(const struct npu_task *task, const struct npu_cluster *cluster, bool first,
		       struct npu_save_state *state)
{
	const struct npu_front_end *front = &cluster->front;

	memset(state, 0, sizeof(*state));
	state->point = htole32(front->own.operation.imm32);
	state->offset = htole32(front->offset + NPU_INSN_BYTES);
	state->depth = htole32(front->depth);
	for (unsigned int i = 0; i < front->depth; i++) {
		state->loop[i].body = htole32(front->loop[i].body);
		state->loop[i].left = htole32(front->loop[i].left);
	}
	memcpy(state->token, cluster->token, sizeof(state->token));
	if (first)
		memcpy(state->shared_token, task->token, sizeof(state->shared_token));
	memcpy(state->descriptor, front->td, sizeof(state->descriptor));
}

static bool write_part(struct npu_model *model, struct npu_task *task, unsigned int number,
		       struct npu_memory_error *error)
{
	const struct npu_cluster *cluster = &model->clusters[task->cluster[number]];
	uint64_t to = npu_save_part(task, number);
	struct npu_save_state state;
	struct npu_point_table point;

	fill_state(task, cluster, !number, &state);
	if (!npu_context_write(model, task->context, to, &state, sizeof(state), error))
		return false;
	/* The table may have been changed meanwhile: what is saved is what it says now. */
	if (!npu_point_read(model, task, le32toh(state.point), &point))
		return true;
	for (uint32_t i = 0; i < point.count; i++) {
		if (!npu_context_write(model, task->context, to + point.place[i],
				       npu_save_range(model, task, number, &point.range[i]),
				       point.range[i].bytes, error))
			return false;
	}
	return true;
}

/* All of it is in memory: the clusters are free, the task waits for others. */
static void leave_clusters(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_task *task = &slot->task;

	task->counters.dram_write += slot->save_bursts;
	model->counters.dram_write += slot->save_bursts;
	model->counters.preemptions++;
	queue->saved = (struct npu_saved_task){
		.active = true,
		.window_kept = slot->window_kept,
		.window_base = task->window_base,
		.start = task->start,
		.budget_left = task->budget_left,
		.counters = task->counters,
	};
	slot->left = NPU_SLOT_LEFT_PREEMPTED |
		     model->clusters[task->cluster[0]].front.offset / NPU_INSN_BYTES
			     << NPU_SLOT_LEFT_POINT_SHIFT;
	npu_task_stop(model, task);
	/* Who follows in the slot may take the grant over. */
	if (!slot->detach || slot->revoke)
		slot->grant = 0;
	slot->revoke = false;
	if (slot->detach) {
		npu_slot_look(model, slot);
		return;
	}
	slot->phase = NPU_PHASE_REQUEST;
	npu_slot_raise(model, slot, NPU_SLOT_EVENT_REQUEST);
}

static void end_save(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_task *task = &slot->task;

	for (unsigned int i = 0; i < task->clusters; i++) {
		struct npu_memory_error error;

		if (write_part(model, task, i, &error))
			continue;
		npu_save_fault(model, task, i, &error, NPU_ACCESS_WRITE);
		return;
	}
	leave_clusters(model, slot);
}

static void handle_flow_end(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_slot *slot =
		(struct npu_slot *)((char *)event - offsetof(struct npu_slot, save_flow.end));

	npu_bandwidth_stop(&model->bandwidth, &model->events, &slot->save_flow, model->now);
	if (slot->phase == NPU_PHASE_SAVE)
		end_save(model, slot);
	else
		npu_restore_end(model, slot);
}

void npu_preempt_init(struct npu_slot *slot)
{
	slot->save_flow.end.handle = handle_flow_end;
}

void npu_preempt_cancel(struct npu_model *model, struct npu_slot *slot)
{
	npu_event_cancel(&model->events, &slot->event);
	npu_bandwidth_stop(&model->bandwidth, &model->events, &slot->save_flow, model->now);
}
