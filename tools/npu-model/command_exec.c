// SPDX-License-Identifier: MIT
/*
 * EXEC: admission, grant, start, end. Manual: command-processor.rst.
 */
#include <string.h>

#include "command_processor.h"
#include "machine.h"
#include "memory.h"

#define BUDGET_UNIT	1024ull

/* A cluster that is told to stop has so many cycles for it. */
#define STOP_CYCLES	4096

static void end_by_budget(struct npu_model *model, struct npu_task *task)
{
	const struct npu_slot *slot = &model->command.slot[task->slot];
	struct npu_task_fault place = { .error = NPU_ERROR_BUDGET };
	unsigned int cluster = npu_task_place(model, task, &place);
	struct npu_outcome outcome = {
		.status = NPU_STATUS_BUDGET,
		.error = NPU_ERROR_BUDGET,
		.detail = model->command.queue[slot->queue].read_index,
	};

	npu_task_report(model, task, cluster, &place);
	model->registers.core_watchdog[0] = task->queue | (uint32_t)task->context << 8;
	model->registers.core_watchdog[1] = task->task_id;
	npu_registers_core_irq(model, NPU_CORE_IRQ_WATCHDOG);
	npu_command_task_ended(model, task, &outcome);
}

/* Its clusters were told to stop: what becomes of it when they do not. */
static void await_stop(struct npu_model *model, struct npu_task *task, uint16_t status)
{
	if (task->ending)
		return;
	task->ending = status;
	npu_event_schedule(&model->events, &task->budget, model->now + STOP_CYCLES);
}

static void handle_budget(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_task *task =
		(struct npu_task *)((char *)event - offsetof(struct npu_task, budget));

	if (!task->stuck)
		end_by_budget(model, task);
	else if (!task->ending)
		await_stop(model, task, NPU_STATUS_BUDGET);
	else
		npu_registers_core_irq(model, NPU_CORE_IRQ_WATCHDOG);
}

/* Its time to stop is over. */
static bool is_stuck(const struct npu_task *task)
{
	return task->running && task->ending && !npu_event_pending(&task->budget);
}

uint32_t npu_exec_stuck_clusters(const struct npu_model *model)
{
	uint32_t clusters = 0;

	for (unsigned int i = 0; i < model->config.slots; i++) {
		if (is_stuck(&model->command.slot[i].task))
			clusters |= npu_task_clusters(&model->command.slot[i].task);
	}
	return clusters;
}

void npu_exec_reset_clusters(struct npu_model *model, uint32_t clusters)
{
	for (unsigned int i = 0; i < model->config.slots; i++) {
		struct npu_slot *slot = &model->command.slot[i];
		struct npu_task *task = &slot->task;

		if (!is_stuck(task) || !(npu_task_clusters(task) & clusters))
			continue;
		task->stuck = false;
		if (task->ending == NPU_STATUS_KILLED)
			npu_exec_kill(model, slot);
		else
			end_by_budget(model, task);
	}
}

void npu_exec_init(struct npu_slot *slot)
{
	slot->task.slot = slot->number;
	slot->task.budget.handle = handle_budget;
	slot->task.budget.rank = NPU_RANK_COMMAND(slot->number);
}

/* Count a packet with a record as done: its own, or one of a graph's list. */
static void finish(struct npu_model *model, struct npu_slot *slot, const struct npu_record *record,
		   const struct npu_outcome *outcome, const struct npu_task_counters *counters,
		   uint32_t events)
{
	const struct npu_packet_exec *exec = &slot->packet.exec;
	struct npu_queue *queue = npu_slot_queue(model, slot);

	npu_context_counters_add(model, queue->context, counters);
	queue->saved.active = false;
	slot->preempt = false;
	slot->keep = false;
	npu_retire_left(slot, outcome);
	npu_retire_task(model, slot, le64toh(exec->record), record, le16toh(exec->signal_sem),
			events);
	if (!queue->graph.active)
		return;
	npu_graph_account(&queue->graph, outcome, counters);
	npu_graph_packet_done(model, slot);
}

/* When a task that does not run (any more) started, and what it has cost: now and nothing for most. */
static uint64_t take_past(struct npu_model *model, const struct npu_slot *slot,
			  struct npu_task_counters *counters)
{
	const struct npu_saved_task *saved = &npu_slot_queue(model, slot)->saved;

	*counters = saved->active ? saved->counters : (struct npu_task_counters){ 0 };
	return saved->active ? saved->start : model->now;
}

void npu_exec_reject(struct npu_model *model, struct npu_slot *slot, uint32_t error,
		     uint64_t detail, uint32_t stop)
{
	const struct npu_packet_exec *exec = &slot->packet.exec;
	uint64_t index = npu_slot_queue(model, slot)->read_index;
	struct npu_outcome outcome = {
		.status = NPU_STATUS_REJECTED,
		.error = (uint16_t)error,
		.detail = detail,
	};
	struct npu_task_counters counters;
	struct npu_record record;
	uint64_t start = take_past(model, slot, &counters);

	npu_retire_fill(&record, le32toh(exec->task_id), start, model->now, &outcome, &counters);
	finish(model, slot, &record, &outcome, &counters, 0);
	if (!stop) {
		npu_slot_look(model, slot);
		return;
	}
	npu_event_cancel(&model->events, &slot->event);
	slot->phase = NPU_PHASE_LEAVING;
	slot->stop_error = stop;
	slot->stop_index = index;
}

/* A program's memory cannot be read: rejected, with a fault record. */
static void reject_memory(struct npu_model *model, struct npu_slot *slot,
			  const struct npu_memory_error *error, enum npu_access access)
{
	const struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_fault_record fault = {
		.error = error->error,
		.context = queue->context,
		.queue = slot->queue,
		.task_id = le32toh(slot->packet.exec.task_id),
		.address = error->address,
		.access = access,
		.cluster = NPU_FAULT_COMMAND_PROCESSOR,
	};

	npu_registers_fault(model, &fault);
	npu_exec_reject(model, slot, error->error, error->address, NPU_ERROR_NONE);
}

/* As much as a point may need, and no more. */
static bool save_bytes_valid(const struct npu_program_header *header)
{
	uint32_t bytes = le32toh(header->save_bytes);
	uint32_t most = sizeof(struct npu_save_state) + NPU_POINT_BYTES_MAX +
			NPU_POINT_RANGES_MAX * NPU_SAVE_ALIGN;

	return !bytes || (bytes % NPU_SAVE_ALIGN == 0 && bytes >= sizeof(struct npu_save_state) &&
			  bytes <= most);
}

/* enum npu_error of a program's header */
static uint32_t check_header(const struct npu_config *config,
			     const struct npu_program_header *header)
{
	uint32_t bytes = le32toh(header->bytes);

	if (le32toh(header->magic) != NPU_PROGRAM_MAGIC ||
	    le16toh(header->version) != NPU_PROGRAM_VERSION || !header->clusters ||
	    header->clusters > NPU_PROGRAM_CLUSTERS_MAX || !header->dma_channels ||
	    header->dma_channels > 2 || !save_bytes_valid(header) || header->reserved2)
		return NPU_ERROR_BAD_PROGRAM;
	for (unsigned int i = 0; i < NPU_PROGRAM_CLUSTERS_MAX; i++) {
		uint32_t entry = le32toh(header->entry[i]);
		bool used = i < header->clusters;

		if (!used && entry)
			return NPU_ERROR_BAD_PROGRAM;
		if (used && (entry % NPU_INSN_BYTES || entry < sizeof(*header) || entry >= bytes))
			return NPU_ERROR_BAD_PROGRAM;
	}
	if (header->clusters > config->clusters || header->dma_channels > config->dma_channels ||
	    le32toh(header->local_bytes) > config->local_bytes ||
	    le32toh(header->global_bytes) > config->global_bytes)
		return NPU_ERROR_NO_RESOURCES;
	return NPU_ERROR_NONE;
}

/* Where the task is kept when it is preempted; nowhere: it is not. */
static void set_save_area(struct npu_task *task, uint32_t flags)
{
	task->save_area = task->argument[NPU_ARG_SAVE];
	task->save_bytes = 0;
	if (flags & NPU_EXEC_PREEMPT && task->save_area % NPU_SAVE_ALIGN == 0)
		task->save_bytes = le32toh(task->header.save_bytes);
}

static void set_task(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_exec *exec = &slot->packet.exec;
	uint32_t flags = le32toh(exec->header) >> NPU_PACKET_FLAGS_SHIFT;
	struct npu_task *task = &slot->task;

	task->queue = slot->queue;
	task->context = npu_slot_queue(model, slot)->context;
	task->task_id = le32toh(exec->task_id);
	task->profile = flags & NPU_EXEC_PROFILE;
	task->program = le64toh(exec->program);
	task->program_bytes = le32toh(task->header.bytes);
	task->clusters = task->header.clusters;
	task->window_bytes = le32toh(task->header.global_bytes);
	task->config = model->config;
	task->config.local_bytes = le32toh(task->header.local_bytes);
	task->config.dma_channels = task->header.dma_channels;
	task->arguments = exec->argument_count;
	for (unsigned int i = 0; i < NPU_ARG_COUNT; i++)
		task->argument[i] = le64toh(task->argument[i]);
	for (unsigned int i = 0; i < task->clusters; i++)
		task->first[i] = le32toh(task->header.entry[i]);
	set_save_area(task, flags);
}

void npu_exec_admit(struct npu_model *model, struct npu_slot *slot)
{
	const struct npu_packet_exec *exec = &slot->packet.exec;
	struct npu_queue *queue = npu_slot_queue(model, slot);
	struct npu_task *task = &slot->task;
	uint64_t record = le64toh(exec->record);
	struct npu_memory_error error;
	uint32_t code;

	if (record && !npu_mmu_pointer(model, queue->context, record, NPU_ACCESS_WRITE, true,
				       &error)) {
		npu_slot_memory_stop(model, slot, &error, NPU_ACCESS_WRITE, error.error);
		return;
	}
	if (!npu_context_read(model, queue->context, le64toh(exec->program), &task->header,
			      sizeof(task->header), NPU_ACCESS_FETCH, &error)) {
		reject_memory(model, slot, &error, NPU_ACCESS_FETCH);
		return;
	}
	code = check_header(&model->config, &task->header);
	if (code) {
		npu_exec_reject(model, slot, code, queue->read_index, NPU_ERROR_NONE);
		return;
	}
	memset(task->argument, 0, sizeof(task->argument));
	if (!npu_context_read(model, queue->context, le64toh(exec->arguments), task->argument,
			      exec->argument_count * sizeof(task->argument[0]), NPU_ACCESS_READ,
			      &error)) {
		reject_memory(model, slot, &error, NPU_ACCESS_READ);
		return;
	}
	set_task(model, slot);
	slot->need_clusters = task->clusters;
	slot->need_global = task->window_bytes;
	npu_exec_try(model, slot);
}

static bool grant_fits(const struct npu_slot *slot, const struct npu_saved_task *saved)
{
	if (saved->active && saved->window_kept && slot->grant_window != saved->window_base)
		return false;
	return (unsigned int)__builtin_popcount(slot->grant) >= slot->task.clusters &&
	       slot->grant_window_bytes >= slot->task.window_bytes;
}

/* The lowest clusters of the grant. */
static void take_clusters(struct npu_slot *slot)
{
	uint32_t left = slot->grant;

	for (unsigned int i = 0; i < slot->task.clusters; i++) {
		slot->task.cluster[i] = (uint8_t)__builtin_ctz(left);
		left &= left - 1;
	}
	slot->task.window_base = slot->grant_window;
}

void npu_exec_try(struct npu_model *model, struct npu_slot *slot)
{
	uint64_t wait;

	if (!grant_fits(slot, &npu_slot_queue(model, slot)->saved)) {
		if (slot->phase != NPU_PHASE_REQUEST) {
			slot->phase = NPU_PHASE_REQUEST;
			npu_slot_raise(model, slot, NPU_SLOT_EVENT_REQUEST);
		}
		return;
	}
	take_clusters(slot);
	wait = npu_power_wake(model, &slot->task) + npu_scrub(model, &slot->task);
	if (wait) {
		npu_slot_delay(model, slot, NPU_PHASE_SCRUB, wait);
		return;
	}
	npu_exec_start(model, slot);
}

void npu_exec_start(struct npu_model *model, struct npu_slot *slot)
{
	if (npu_slot_queue(model, slot)->saved.active) {
		npu_restore_begin(model, slot);
		return;
	}
	slot->phase = NPU_PHASE_TASK;
	npu_task_begin(model, &slot->task, le32toh(slot->packet.exec.budget) * BUDGET_UNIT);
}

void npu_command_task_ended(struct npu_model *model, struct npu_task *task,
			    const struct npu_outcome *outcome)
{
	struct npu_slot *slot = &model->command.slot[task->slot];
	struct npu_record record;

	if (task->running)
		npu_task_stop(model, task);
	model->counters.tasks++;
	npu_retire_fill(&record, task->task_id, task->start, model->now, outcome, &task->counters);
	finish(model, slot, &record, outcome, &task->counters, NPU_SLOT_EVENT_DONE);
	if (slot->revoke) {
		slot->revoke = false;
		slot->grant = 0;
	}
	npu_slot_look(model, slot);
}

void npu_exec_kill(struct npu_model *model, struct npu_slot *slot)
{
	struct npu_outcome outcome = {
		.status = NPU_STATUS_KILLED,
		.error = NPU_ERROR_KILLED,
		.detail = npu_slot_queue(model, slot)->read_index,
	};

	if (slot->task.running && slot->task.stuck) {
		await_stop(model, &slot->task, NPU_STATUS_KILLED);
		return;
	}
	npu_preempt_cancel(model, slot);
	/* While its clusters were still being scrubbed it had not started, or not come back. */
	if (!slot->task.running)
		slot->task.start = take_past(model, slot, &slot->task.counters);
	npu_command_task_ended(model, &slot->task, &outcome);
}
