// SPDX-License-Identifier: MIT
/*
 * Preemption: a task leaves its clusters at a point of its program, and comes back. Manual:
 * command-processor.rst, "Preemption".
 */
#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"
#include "numbers.h"

/* A point's table as read and checked, and where its ranges are saved. */
struct point {
	uint32_t count;
	struct npu_point_range range[NPU_POINT_RANGES_MAX];	/* of the host's byte order */
	uint32_t place[NPU_POINT_RANGES_MAX];			/* in the cluster's part */
	uint32_t bytes;						/* of the part that are used */
};

static bool check_range(const struct npu_task *task, struct npu_point_range *range)
{
	uint32_t limit = task->window_bytes;

	range->space = le32toh(range->space);
	range->offset = le32toh(range->offset);
	range->bytes = le32toh(range->bytes);
	if (range->space == NPU_SPACE_LOCAL)
		limit = task->config.local_bytes;
	else if (range->space != NPU_SPACE_GLOBAL)
		return false;
	return !range->reserved && range->bytes && range->bytes <= NPU_POINT_BYTES_MAX &&
	       range->offset <= limit && range->bytes <= limit - range->offset;
}

/* Give each range its place. False when they are more than a point may have. */
static bool place_ranges(const struct npu_task *task, struct point *point)
{
	uint32_t total = 0;

	point->bytes = sizeof(struct npu_save_state);
	for (uint32_t i = 0; i < point->count; i++) {
		point->place[i] = point->bytes;
		total += point->range[i].bytes;
		if (total > NPU_POINT_BYTES_MAX)
			return false;
		point->bytes += (point->range[i].bytes + NPU_SAVE_ALIGN - 1) &
				~(NPU_SAVE_ALIGN - 1u);
	}
	return point->bytes <= task->save_bytes;
}

/* False for what is no point: then it is a barrier like any other. */
static bool read_point(struct npu_model *model, const struct npu_task *task, uint32_t offset,
		       struct point *point)
{
	struct npu_memory_error error;
	struct npu_point header;
	uint64_t end;

	if (!offset || offset % NPU_POINT_ALIGN ||
	    offset + (uint64_t)sizeof(header) > task->program_bytes ||
	    !npu_context_read(model, task->context, task->program + offset, &header,
			      sizeof(header), NPU_ACCESS_FETCH, &error))
		return false;
	point->count = le32toh(header.count);
	end = offset + (uint64_t)sizeof(header) +
	      point->count * (uint64_t)sizeof(point->range[0]);
	if (point->count > NPU_POINT_RANGES_MAX || end > task->program_bytes ||
	    header.reserved[0] || header.reserved[1] || header.reserved[2] ||
	    !npu_context_read(model, task->context, task->program + offset + sizeof(header),
			      point->range, point->count * sizeof(point->range[0]),
			      NPU_ACCESS_FETCH, &error))
		return false;
	for (uint32_t i = 0; i < point->count; i++) {
		if (!check_range(task, &point->range[i]))
			return false;
	}
	return place_ranges(task, point);
}

static uint64_t part_address(const struct npu_task *task, unsigned int cluster)
{
	return task->save_area + (uint64_t)cluster * task->save_bytes;
}

static uint8_t *range_bytes(struct npu_model *model, const struct npu_task *task,
			    unsigned int cluster, const struct npu_point_range *range)
{
	if (range->space == NPU_SPACE_GLOBAL)
		return model->global + task->window_base + range->offset;
	return model->clusters[task->cluster[cluster]].memory.local + range->offset;
}

/* ------------------------------------------------------------------- transfers */

static uint64_t latency(struct npu_model *model, const struct npu_task *task,
			enum npu_access access)
{
	struct npu_memory_error error;
	struct npu_leaf leaf;
	bool ok;

	return model->config.dram_latency +
	       npu_mmu_walk(model, task->context, task->save_area, access, &leaf, &error, &ok) *
		       npu_walk_cycles(&model->config);
}

/* By DMA channel 0 of the gang's first cluster, whose engines are idle. */
static void transfer(struct npu_model *model, struct npu_slot *slot, enum npu_slot_phase phase)
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

static void memory_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster,
			 const struct npu_memory_error *error, enum npu_access access)
{
	const struct npu_task_fault fault = {
		.error = error->error,
		.access = access,
		.address = error->address,
	};

	npu_task_fault(model, task, task->cluster[cluster], &fault);
}

/* ------------------------------------------------------------------------ save */

bool npu_preempt_at_barrier(struct npu_model *model, struct npu_task *task)
{
	struct npu_slot *slot = &model->command.slot[task->slot];
	struct point point;
	uint64_t bytes = 0;

	if (!slot->preempt || task->budget.time <= model->now)
		return false;
	for (unsigned int i = 0; i < task->clusters; i++) {
		const struct npu_front_end *front = &model->clusters[task->cluster[i]].front;

		if (!read_point(model, task, front->own.operation.imm32, &point))
			return false;
		bytes += ceil_div(point.bytes, NPU_BURST_BYTES);
	}
	slot->preempt = false;
	slot->save_bursts = bytes;
	task->budget_left = task->budget.time - model->now;
	npu_event_cancel(&model->events, &task->budget);
	/* The tables first. */
	npu_slot_delay(model, slot, NPU_PHASE_SAVE_LATENCY,
		       npu_walk_cycles(&model->config) + latency(model, task, NPU_ACCESS_WRITE));
	return true;
}

void npu_preempt_save(struct npu_model *model, struct npu_slot *slot)
{
	transfer(model, slot, NPU_PHASE_SAVE);
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
	uint64_t to = part_address(task, number);
	struct npu_save_state state;
	struct point point;

	fill_state(task, cluster, !number, &state);
	if (!npu_context_write(model, task->context, to, &state, sizeof(state), error))
		return false;
	/* The table may have been changed meanwhile: what is saved is what it says now. */
	if (!read_point(model, task, le32toh(state.point), &point))
		return true;
	for (uint32_t i = 0; i < point.count; i++) {
		if (!npu_context_write(model, task->context, to + point.place[i],
				       range_bytes(model, task, number, &point.range[i]),
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
		.start = task->start,
		.budget_left = task->budget_left,
		.counters = task->counters,
	};
	npu_task_stop(model, task);
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
		memory_fault(model, task, i, &error, NPU_ACCESS_WRITE);
		return;
	}
	leave_clusters(model, slot);
}

/* --------------------------------------------------------------------- restore */

void npu_restore_begin(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_saved_task *saved = &npu_slot_queue(model, slot)->saved;
	struct npu_task *task = &slot->task;

	task->start = saved->start;
	task->counters = saved->counters;
	/* States, then tables. */
	npu_slot_delay(model, slot, NPU_PHASE_RESTORE_LATENCY,
		       2 * npu_walk_cycles(&model->config) +
			       latency(model, task, NPU_ACCESS_READ));
}

/* False when the state is not one that the device wrote. */
static bool check_state(const struct npu_task *task, const struct npu_save_state *state)
{
	uint32_t depth = le32toh(state->depth);
	uint32_t offset = le32toh(state->offset);

	if (depth > NPU_LOOP_NESTING || offset % NPU_INSN_BYTES ||
	    offset < sizeof(task->header) || offset >= task->program_bytes)
		return false;
	for (unsigned int i = 0; i < depth; i++) {
		uint32_t body = le32toh(state->loop[i].body);
		uint32_t left = le32toh(state->loop[i].left);

		if (body % NPU_INSN_BYTES || body >= task->program_bytes || !left ||
		    left > NPU_LOOP_MAX_COUNT)
			return false;
	}
	for (unsigned int i = 0; i < sizeof(state->token); i++) {
		if (state->token[i] > NPU_TOKEN_MAX || state->shared_token[i] > NPU_TOKEN_MAX)
			return false;
	}
	return true;
}

static void state_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster)
{
	const struct npu_task_fault fault = {
		.error = NPU_ERROR_SAVED_STATE,
		.access = NPU_ACCESS_READ,
		.address = part_address(task, cluster),
	};

	npu_task_fault(model, task, task->cluster[cluster], &fault);
}

/* A cluster's state and point. Returns false after a fault, the task being over. */
static bool read_part(struct npu_model *model, struct npu_task *task, unsigned int number,
		      struct npu_save_state *state, struct point *point)
{
	struct npu_memory_error error;

	if (!npu_context_read(model, task->context, part_address(task, number), state,
			      sizeof(*state), NPU_ACCESS_READ, &error)) {
		memory_fault(model, task, number, &error, NPU_ACCESS_READ);
		return false;
	}
	if (check_state(task, state) && read_point(model, task, le32toh(state->point), point))
		return true;
	state_fault(model, task, number);
	return false;
}

void npu_restore_work(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_task *task = &slot->task;
	struct npu_save_state state;
	struct point point;

	slot->save_bursts = 0;
	for (unsigned int i = 0; i < task->clusters; i++) {
		if (!read_part(model, task, i, &state, &point))
			return;
		slot->save_bursts += ceil_div(point.bytes, NPU_BURST_BYTES);
	}
	transfer(model, slot, NPU_PHASE_RESTORE);
}

static bool read_ranges(struct npu_model *model, struct npu_task *task, unsigned int number,
			const struct point *point)
{
	for (uint32_t i = 0; i < point->count; i++) {
		const struct npu_point_range *range = &point->range[i];
		struct npu_memory_error error;

		/* First: a read that fails may have brought a part. */
		npu_scrub_restored(model, task, number, range);
		if (!npu_context_read(model, task->context,
				      part_address(task, number) + point->place[i],
				      range_bytes(model, task, number, range), range->bytes,
				      NPU_ACCESS_READ, &error)) {
			memory_fault(model, task, number, &error, NPU_ACCESS_READ);
			return false;
		}
	}
	return true;
}

static void set_state(struct npu_task *task, struct npu_cluster *cluster, bool first,
		      const struct npu_save_state *state)
{
	struct npu_front_end *front = &cluster->front;

	front->depth = le32toh(state->depth);
	for (unsigned int i = 0; i < front->depth; i++)
		front->loop[i] = (struct npu_loop){
			.body = le32toh(state->loop[i].body),
			.left = le32toh(state->loop[i].left),
		};
	memcpy(cluster->token, state->token, sizeof(state->token));
	if (first)
		memcpy(task->token, state->shared_token, sizeof(state->shared_token));
	memcpy(front->td, state->descriptor, sizeof(state->descriptor));
}

static void end_restore(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_saved_task *saved = &npu_slot_queue(model, slot)->saved;
	struct npu_task *task = &slot->task;
	struct npu_save_state state[NPU_PROGRAM_CLUSTERS_MAX];
	struct point point;

	for (unsigned int i = 0; i < task->clusters; i++) {
		if (!read_part(model, task, i, &state[i], &point) ||
		    !read_ranges(model, task, i, &point))
			return;
	}
	slot->phase = NPU_PHASE_TASK;
	task->counters.dram_read += slot->save_bursts;
	model->counters.dram_read += slot->save_bursts;
	for (unsigned int i = 0; i < task->clusters; i++)
		task->first[i] = le32toh(state[i].offset);
	npu_task_resume(model, task, saved->budget_left);
	for (unsigned int i = 0; i < task->clusters; i++)
		set_state(task, &model->clusters[task->cluster[i]], !i, &state[i]);
	saved->active = false;
}

static void handle_flow_end(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_slot *slot =
		(struct npu_slot *)((char *)event - offsetof(struct npu_slot, save_flow.end));

	npu_bandwidth_stop(&model->bandwidth, &model->events, &slot->save_flow, model->now);
	if (slot->phase == NPU_PHASE_SAVE)
		end_save(model, slot);
	else
		end_restore(model, slot);
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
