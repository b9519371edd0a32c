// SPDX-License-Identifier: MIT
/*
 * A task that was preempted comes back to clusters. Manual: command-processor.rst, "Preemption".
 */
#include "command_processor.h"
#include "save_area.h"

#include "numbers.h"

void npu_restore_begin(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_saved_task *saved = &npu_slot_queue(model, slot)->saved;
	struct npu_task *task = &slot->task;

	task->start = saved->start;
	task->counters = saved->counters;
	/* States, then tables. */
	npu_slot_delay(model, slot, NPU_PHASE_RESTORE_LATENCY,
		       2 * npu_walk_cycles(&model->config) +
			       npu_save_latency(model, task, NPU_ACCESS_READ));
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
		.address = npu_save_part(task, cluster),
	};

	npu_task_fault(model, task, task->cluster[cluster], &fault);
}

/* A cluster's state and point. Returns false after a fault, the task being over. */
static bool read_part(struct npu_model *model, struct npu_task *task, unsigned int number,
		      struct npu_save_state *state, struct npu_point_table *point)
{
	struct npu_memory_error error;

	if (!npu_context_read(model, task->context, npu_save_part(task, number), state,
			      sizeof(*state), NPU_ACCESS_READ, &error)) {
		npu_save_fault(model, task, number, &error, NPU_ACCESS_READ);
		return false;
	}
	if (check_state(task, state) && npu_point_read(model, task, le32toh(state->point), point))
		return true;
	state_fault(model, task, number);
	return false;
}

void npu_restore_work(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_task *task = &slot->task;
	struct npu_save_state state;
	struct npu_point_table point;

	slot->save_bursts = 0;
	for (unsigned int i = 0; i < task->clusters; i++) {
		if (!read_part(model, task, i, &state, &point))
			return;
		slot->save_bursts += ceil_div(point.bytes, NPU_BURST_BYTES);
	}
	npu_preempt_transfer(model, slot, NPU_PHASE_RESTORE);
}

static bool read_ranges(struct npu_model *model, struct npu_task *task, unsigned int number,
			const struct npu_point_table *point)
{
	for (uint32_t i = 0; i < point->count; i++) {
		const struct npu_point_range *range = &point->range[i];
		struct npu_memory_error error;

		/* First: a read that fails may have brought a part. */
		npu_scrub_restored(model, task, number, range);
		if (!npu_context_read(model, task->context,
				      npu_save_part(task, number) + point->place[i],
				      npu_save_range(model, task, number, range), range->bytes,
				      NPU_ACCESS_READ, &error)) {
			npu_save_fault(model, task, number, &error, NPU_ACCESS_READ);
			return false;
		}
	}
	return true;
}

/*
 * Where each stream goes on: behind its point, or first at what brings back the rest. For all of
 * the gang it is the same. False when it is not.
 */
static bool set_stream(struct npu_task *task, unsigned int number,
		       const struct npu_save_state *state, uint32_t resume)
{
	task->first[number] = resume ? resume : le32toh(state->offset);
	if (!number)
		task->returning = resume;
	return task->returning == (resume != 0);
}

void npu_restore_end(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_saved_task *saved = &npu_slot_queue(model, slot)->saved;
	struct npu_task *task = &slot->task;
	struct npu_point_table point;
	bool returning;

	for (unsigned int i = 0; i < task->clusters; i++) {
		struct npu_save_state *held = &model->clusters[task->cluster[i]].front.held;

		if (!read_part(model, task, i, held, &point) ||
		    !read_ranges(model, task, i, &point))
			return;
		if (!set_stream(task, i, held, point.resume)) {
			state_fault(model, task, i);
			return;
		}
	}
	slot->phase = NPU_PHASE_TASK;
	task->counters.dram_read += slot->save_bursts;
	model->counters.dram_read += slot->save_bursts;
	returning = task->returning;
	npu_task_resume(model, task, saved->budget_left);
	task->returning = returning;
	if (!returning)
		npu_task_set_states(model, task);
	saved->active = false;
}
