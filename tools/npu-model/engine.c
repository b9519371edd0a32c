// SPDX-License-Identifier: MIT
/*
 * Engines: queues, tokens, phases of operations. timing.rst, "Operations and rates", "Tokens".
 *
 * An engine's `step` event does all that can be done at a cycle: take tokens, go from phase to
 * phase. It is scheduled whenever something changes that the engine may be waiting for.
 */
#include "cluster.h"
#include "machine.h"
#include "memory.h"

static struct npu_job *job_at(struct npu_engine_unit *unit, uint32_t index)
{
	return &unit->job[index % NPU_ENGINE_JOBS];
}

static struct npu_engine_unit *unit_of(struct npu_alarm *event, size_t offset)
{
	return (struct npu_engine_unit *)((char *)event - offset);
}

static bool is_dma(const struct npu_engine_unit *unit)
{
	return unit->number == NPU_ENGINE_DMA0 || unit->number == NPU_ENGINE_DMA1;
}

static void operation_fault(struct npu_model *model, struct npu_cluster *cluster,
			    const struct npu_job *job, struct npu_task_fault *fault)
{
	fault->program_offset = job->program_offset;
	fault->instruction = npu_operation_word(&job->operation);
	npu_task_fault(model, cluster->task, cluster->number, fault);
}

/* Write MARK's time stamp. Returns false after a fault. */
static bool write_mark(struct npu_model *model, struct npu_cluster *cluster,
		       const struct npu_job *job)
{
	const struct npu_task *task = cluster->task;
	uint64_t index = (uint64_t)job->operation.imm32 * task->clusters +
			 npu_task_gang_index(task, cluster->number);
	uint64_t address =
		task->argument[NPU_ARG_PROFILE] + index * sizeof(struct npu_profile_mark);
	uint64_t time = htole64(model->now - task->start);
	struct npu_memory_error error;
	struct npu_task_fault fault = { .access = NPU_ACCESS_WRITE };

	if (!task->profile)
		return true;
	if (npu_context_write(model, task->context, address, &time, sizeof(time), &error))
		return true;
	fault.error = error.error;
	fault.address = error.address;
	operation_fault(model, cluster, job, &fault);
	return false;
}

bool npu_engine_mark(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_job *job)
{
	return write_mark(model, cluster, job);
}

/*
 * A multicast's local tokens are those of its destinations, and of nobody else; shared
 * ones are released once. Returns false when a counter overflows.
 */
static bool release_tokens(struct npu_model *model, struct npu_cluster *cluster,
			   const struct npu_operation *operation)
{
	const struct npu_task *task = cluster->task;
	unsigned int mask = operation->opcode == NPU_OP_DMA ? operation->dma.multicast : 0;

	if (!mask)
		return npu_tokens_release(model, cluster, operation->release);
	for (unsigned int i = 0; i < 2; i++) {
		uint8_t one[2] = { operation->release[i], 0 };

		if ((one[0] & NPU_TOKEN_ID_MASK) >= NPU_TOKEN_LOCAL_COUNT) {
			if (!npu_tokens_release(model, cluster, one))
				return false;
			continue;
		}
		for (unsigned int c = 0; c < task->clusters; c++)
			if ((mask >> c & 1) &&
			    !npu_tokens_release(model, &model->clusters[task->cluster[c]], one))
				return false;
	}
	return true;
}

/* Where in the cluster's memory a bit error shows: anywhere, but the same every time. */
static uint32_t error_offset(const struct npu_model *model, const struct npu_cluster *cluster,
			     enum npu_fault_kind kind)
{
	uint64_t offset = model->injection.seen[kind] * NPU_BURST_BYTES;

	return (uint32_t)(offset % cluster->task->config.local_bytes);
}

/* What the memories say of an operation's operands. Returns false after a fault. */
static bool check_memories(struct npu_model *model, struct npu_cluster *cluster,
			   const struct npu_job *job)
{
	struct npu_task_fault fault = { .error = NPU_ERROR_ECC, .access = NPU_ACCESS_READ };

	/* Who declares no local SRAM reads none. */
	if (!model->injection.kinds || !cluster->task->config.local_bytes)
		return true;
	if (npu_inject(model, NPU_INJECT_ECC_CORRECTED))
		npu_registers_memory_error(model, true, cluster->number,
					   error_offset(model, cluster, NPU_INJECT_ECC_CORRECTED));
	if (!npu_inject(model, NPU_INJECT_ECC_UNCORRECTED))
		return true;
	fault.address = error_offset(model, cluster, NPU_INJECT_ECC_UNCORRECTED);
	npu_registers_memory_error(model, false, cluster->number, (uint32_t)fault.address);
	operation_fault(model, cluster, job, &fault);
	return false;
}

/* An operation's effect. Returns false after a fault, when the cluster has been reset. */
static bool perform(struct npu_model *model, struct npu_cluster *cluster, struct npu_job *job)
{
	struct npu_operation *operation = &job->operation;
	struct npu_task_fault fault;

	if (!check_memories(model, cluster, job))
		return false;
	switch (operation->opcode) {
	case NPU_OP_SYNC:
		break;
	case NPU_OP_MARK:
		if (!write_mark(model, cluster, job))
			return false;
		break;
	case NPU_OP_DMA:
		if (npu_dma_execute(model, cluster, operation, &fault))
			break;
		operation_fault(model, cluster, job, &fault);
		return false;
	default:
		npu_execute(&cluster->task->config, &cluster->memory, operation);
		break;
	}
	if (release_tokens(model, cluster, operation))
		return true;
	fault = (struct npu_task_fault){
		.error = NPU_ERROR_TOKEN_OVERFLOW,
		.address = job->program_offset,
	};
	operation_fault(model, cluster, job, &fault);
	return false;
}

/* Complete, in order, all jobs whose tail is over. Returns false after a fault. */
static bool complete_jobs(struct npu_model *model, struct npu_cluster *cluster,
			  struct npu_engine_unit *unit)
{
	while (unit->completed != unit->current) {
		struct npu_job *job = job_at(unit, unit->completed);

		if (job->complete > model->now) {
			npu_event_schedule(&model->events, &unit->complete, job->complete);
			return true;
		}
		if (!perform(model, cluster, job))
			return false;
		unit->completed++;
		cluster->jobs--;
	}
	if (!cluster->jobs && cluster->front.drain)
		npu_front_end_wake(model, cluster);
	return true;
}

static void handle_complete(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_engine_unit *unit = unit_of(event, offsetof(struct npu_engine_unit, complete));

	complete_jobs(model, &model->clusters[unit->cluster], unit);
}

/* SYNC and MARK take time and do no work. */
static bool is_work(const struct npu_job *job)
{
	return job->operation.opcode != NPU_OP_SYNC && job->operation.opcode != NPU_OP_MARK;
}

bool npu_engine_at_work(const struct npu_engine_unit *unit, uint64_t *since)
{
	const struct npu_job *job = &unit->job[unit->current % NPU_ENGINE_JOBS];

	if (unit->state != NPU_ENGINE_WORK || !is_work(job))
		return false;
	*since = job->work_start;
	return true;
}

/* Busy cycles and stalls of a finished work phase. */
static void account(struct npu_model *model, struct npu_task *task,
		    const struct npu_engine_unit *unit, const struct npu_job *job)
{
	uint64_t cycles = model->now - job->work_start;

	if (!is_work(job))
		return;
	npu_heat_worked(model, unit->number, job->work_start);
	task->counters.stall_memory += cycles - job->operation.work;
	switch (unit->number) {
	case NPU_ENGINE_MAC:
		task->counters.mac_cycles += cycles;
		model->counters.mac += cycles;
		break;
	case NPU_ENGINE_OUT:
		task->counters.out_cycles += cycles;
		break;
	case NPU_ENGINE_VECTOR:
		task->counters.vector_cycles += cycles;
		model->counters.vector += cycles;
		break;
	case NPU_ENGINE_DMA0:
	case NPU_ENGINE_DMA1:
		task->counters.dma_cycles += cycles;
		model->counters.dma += cycles;
		task->counters.dram_read += job->bursts_read;
		task->counters.dram_write += job->bursts_write;
		model->counters.dram_read += job->bursts_read;
		model->counters.dram_write += job->bursts_write;
		break;
	}
}

static void handle_work_end(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_engine_unit *unit = unit_of(event, offsetof(struct npu_engine_unit, flow.end));
	struct npu_cluster *cluster = &model->clusters[unit->cluster];
	struct npu_job *job = job_at(unit, unit->current);

	npu_bandwidth_stop(&model->bandwidth, &model->events, &unit->flow, model->now);
	account(model, cluster->task, unit, job);
	job->complete = model->now + job->operation.tail;
	/* An engine's operations complete in order. */
	if (job->complete < unit->last_complete)
		job->complete = unit->last_complete;
	unit->last_complete = job->complete;
	unit->state = NPU_ENGINE_IDLE;
	unit->current++;
	npu_event_schedule(&model->events, &unit->step, model->now);
	complete_jobs(model, cluster, unit);
}

/* The head of the queue takes its tokens, if it can. */
static bool take_head(struct npu_model *model, struct npu_cluster *cluster,
		      struct npu_engine_unit *unit)
{
	struct npu_job *job;

	if (unit->taken == unit->end)
		return false;
	job = job_at(unit, unit->taken);
	if (job->ready > model->now) {
		npu_event_schedule(&model->events, &unit->step, job->ready);
		return false;
	}
	if (!npu_tokens_take(cluster, job->operation.wait, unit->number)) {
		if (unit->state == NPU_ENGINE_IDLE && !unit->stalled) {
			unit->stalled = true;
			unit->stall_since = model->now;
		}
		return false;
	}
	if (unit->stalled) {
		unit->stalled = false;
		cluster->task->counters.stall_token += model->now - unit->stall_since;
	}
	job->prepared = model->now + job->operation.start;
	if (unit->number == NPU_ENGINE_MAC)
		job->prepared = model->now + job->operation.weight_load;
	unit->taken++;
	/* There is room in the queue again. */
	npu_front_end_wake(model, cluster);
	return true;
}

static void start_work(struct npu_model *model, struct npu_engine_unit *unit,
		       struct npu_job *job)
{
	const struct npu_operation *operation = &job->operation;

	if (!is_dma(unit) || operation->opcode != NPU_OP_DMA) {
		npu_flow_reset(&unit->flow);
		npu_flow_demand(&unit->flow, NPU_RESOURCE(unit->cluster, NPU_RESOURCE_LOCAL_READ),
				operation->local_read, operation->work);
		npu_flow_demand(&unit->flow, NPU_RESOURCE(unit->cluster, NPU_RESOURCE_LOCAL_WRITE),
				operation->local_write, operation->work);
	}
	unit->state = NPU_ENGINE_WORK;
	job->work_start = model->now;
	npu_bandwidth_start(&model->bandwidth, &model->events, &unit->flow, model->now,
			    operation->work);
}

/*
 * From phase to phase, as far as this cycle allows. Returns false when the step event is scheduled
 * for the end of a phase.
 */
static bool advance(struct npu_model *model, struct npu_cluster *cluster,
		    struct npu_engine_unit *unit)
{
	struct npu_job *job = job_at(unit, unit->current);

	if (unit->state == NPU_ENGINE_START) {
		if (job->prepared > model->now) {
			npu_event_schedule(&model->events, &unit->step, job->prepared);
			return false;
		}
		/* Whoever looks for it finds it at work, for ever. */
		if (cluster->task->hung)
			return false;
		unit->latency_end = model->now;
		if (job->operation.opcode == NPU_OP_DMA) {
			unit->latency_end += npu_dma_prepare(model, cluster, job, &unit->flow);
			if (npu_inject(model, NPU_INJECT_SLOW_DMA))
				unit->latency_end += model->injection.argument;
		}
		unit->state = NPU_ENGINE_LATENCY;
	}
	if (unit->state == NPU_ENGINE_LATENCY) {
		if (unit->latency_end > model->now) {
			npu_event_schedule(&model->events, &unit->step, unit->latency_end);
			return false;
		}
		start_work(model, unit, job);
	}
	return true;
}

static void handle_step(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_engine_unit *unit = unit_of(event, offsetof(struct npu_engine_unit, step));
	struct npu_cluster *cluster = &model->clusters[unit->cluster];

	if (unit->state == NPU_ENGINE_IDLE) {
		if (unit->current == unit->taken && !take_head(model, cluster, unit))
			return;
		unit->state = NPU_ENGINE_START;
	}
	if (!advance(model, cluster, unit))
		return;
	/* Working: the one behind may load its weights or read its descriptor. */
	if (unit->look_ahead && unit->taken == unit->current + 1)
		take_head(model, cluster, unit);
}

void npu_engine_init(struct npu_cluster *cluster, unsigned int engine)
{
	struct npu_engine_unit *unit = &cluster->engine[engine];
	unsigned int order = npu_engine_order(engine);

	unit->number = (uint8_t)engine;
	unit->cluster = cluster->number;
	unit->look_ahead = is_dma(unit) || engine == NPU_ENGINE_MAC;
	unit->step.handle = handle_step;
	unit->step.rank = NPU_RANK_START(order, cluster->number);
	unit->complete.handle = handle_complete;
	unit->complete.rank = NPU_RANK_COMPLETE(order, cluster->number);
	unit->flow.end.handle = handle_work_end;
	unit->flow.end.rank = NPU_RANK_COMPLETE(order, cluster->number);
	unit->flow.id = (uint8_t)(cluster->number * 8u + engine);
}

void npu_engine_reset(struct npu_model *model, struct npu_cluster *cluster, unsigned int engine)
{
	struct npu_engine_unit *unit = &cluster->engine[engine];
	uint64_t since;

	if (npu_engine_at_work(unit, &since))
		npu_heat_worked(model, engine, since);
	npu_event_cancel(&model->events, &unit->step);
	npu_event_cancel(&model->events, &unit->complete);
	npu_bandwidth_stop(&model->bandwidth, &model->events, &unit->flow, model->now);
	unit->state = NPU_ENGINE_IDLE;
	unit->stalled = false;
	unit->completed = 0;
	unit->current = 0;
	unit->taken = 0;
	unit->end = 0;
	unit->last_complete = 0;
}

struct npu_job *npu_engine_space(struct npu_engine_unit *unit)
{
	if (unit->end - unit->taken == NPU_ENGINE_QUEUE_DEPTH ||
	    unit->end - unit->completed == NPU_ENGINE_JOBS)
		return NULL;
	return job_at(unit, unit->end);
}

bool npu_engine_queue_empty(const struct npu_engine_unit *unit)
{
	return unit->taken == unit->end;
}

const struct npu_job *npu_engine_working(struct npu_engine_unit *unit)
{
	if (unit->state == NPU_ENGINE_IDLE && unit->completed == unit->current)
		return NULL;
	return job_at(unit, unit->completed);
}

const struct npu_job *npu_engine_stalled(struct npu_engine_unit *unit)
{
	return unit->stalled ? job_at(unit, unit->taken) : NULL;
}

void npu_engine_submit(struct npu_model *model, struct npu_cluster *cluster,
		       struct npu_engine_unit *unit)
{
	struct npu_job *job = job_at(unit, unit->end);
	bool head = unit->taken == unit->end;

	job->ready = model->now + 1;
	unit->end++;
	cluster->jobs++;
	/* In the other cases a step is scheduled already, or something will cause one. */
	if (head && (unit->state == NPU_ENGINE_IDLE ||
		     (unit->state == NPU_ENGINE_WORK && unit->look_ahead &&
		      unit->taken == unit->current + 1)))
		npu_event_schedule(&model->events, &unit->step, job->ready);
}
