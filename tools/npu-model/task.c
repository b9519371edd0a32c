// SPDX-License-Identifier: MIT
/* Tasks on their clusters. See task.h. */
#include "task.h"

#include <string.h>

#include "cluster.h"
#include "machine.h"

/* Bits of a record's detail below the number of the cluster. */
#define DETAIL_CLUSTER_SHIFT	56

unsigned int npu_task_gang_index(const struct npu_task *task, unsigned int cluster)
{
	unsigned int i = 0;

	while (i + 1 < task->clusters && task->cluster[i] != cluster)
		i++;
	return i;
}

uint32_t npu_task_clusters(const struct npu_task *task)
{
	uint32_t mask = 0;

	for (unsigned int i = 0; i < task->clusters; i++)
		mask |= 1u << task->cluster[i];
	return mask;
}

/* Header and arguments come in with the dispatch, from DRAM. */
static void count_dispatch(struct npu_model *model, struct npu_task *task, unsigned int arguments)
{
	uint32_t bursts = 1 + (arguments * 8 + NPU_BURST_BYTES - 1) / NPU_BURST_BYTES;

	task->counters.dram_read += bursts;
	model->counters.dram_read += bursts;
}

void npu_task_begin(struct npu_model *model, struct npu_task *task, uint64_t budget_cycles)
{
	task->start = model->now;
	task->stuck = npu_inject(model, NPU_INJECT_STUCK);
	task->hung = npu_inject(model, NPU_INJECT_HANG) || task->stuck;
	memset(&task->counters, 0, sizeof(task->counters));
	npu_task_resume(model, task, budget_cycles);
	if (npu_inject(model, NPU_INJECT_OVER_TEMPERATURE))
		npu_registers_trip(model);
	if (npu_inject(model, NPU_INJECT_DEAD))
		model->injection.dead = true;
}

void npu_task_resume(struct npu_model *model, struct npu_task *task, uint64_t budget_cycles)
{
	uint64_t first_decode = model->now + model->config.dispatch_cycles;

	npu_clock_task_on(model);
	task->running = true;
	task->returning = false;
	task->ended = 0;
	task->arrived = 0;
	memset(task->token, 0, sizeof(task->token));
	memset(task->token_waiters, 0, sizeof(task->token_waiters));
	count_dispatch(model, task, task->arguments);
	for (unsigned int i = 0; i < task->clusters; i++) {
		struct npu_cluster *cluster = &model->clusters[task->cluster[i]];

		cluster->task = task;
		npu_front_end_begin(model, cluster, task->first[i], first_decode);
	}
	npu_event_schedule(&model->events, &task->budget, model->now + budget_cycles);
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

void npu_task_set_states(struct npu_model *model, struct npu_task *task)
{
	for (unsigned int i = 0; i < task->clusters; i++) {
		struct npu_cluster *cluster = &model->clusters[task->cluster[i]];

		set_state(task, cluster, !i, &cluster->front.held);
	}
}

static void go_on(struct npu_model *model, struct npu_task *task)
{
	uint64_t time = model->now + model->config.barrier_cycles;

	task->returning = false;
	task->ended = 0;
	npu_task_set_states(model, task);
	for (unsigned int i = 0; i < task->clusters; i++) {
		struct npu_cluster *cluster = &model->clusters[task->cluster[i]];

		npu_front_end_jump(model, cluster, le32toh(cluster->front.held.offset), time);
	}
}

void npu_task_stop(struct npu_model *model, struct npu_task *task)
{
	npu_event_cancel(&model->events, &task->budget);
	for (unsigned int i = 0; i < task->clusters; i++)
		npu_cluster_reset(model, &model->clusters[task->cluster[i]]);
	npu_clock_task_off(model);
	task->running = false;
	task->hung = false;
	task->stuck = false;
	task->ending = 0;
}

void npu_task_stream_ended(struct npu_model *model, struct npu_task *task)
{
	struct npu_outcome done = { .status = NPU_STATUS_DONE };

	if (++task->ended < task->clusters)
		return;
	if (task->returning)
		go_on(model, task);
	else
		npu_command_task_ended(model, task, &done);
}

void npu_task_report(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
		     const struct npu_task_fault *fault)
{
	struct npu_fault_record record = {
		.error = fault->error,
		.context = task->context,
		.queue = task->queue,
		.task_id = task->task_id,
		.address = fault->address,
		.access = fault->access,
		.cluster = cluster,
		.program_offset = fault->program_offset,
		.instruction = fault->instruction,
	};

	npu_registers_fault(model, &record);
}

void npu_task_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster,
		    const struct npu_task_fault *fault)
{
	uint64_t mask = (1ull << DETAIL_CLUSTER_SHIFT) - 1;
	struct npu_outcome outcome = {
		.status = NPU_STATUS_FAULT,
		.error = (uint16_t)fault->error,
		.detail = (fault->address & mask) |
			  (uint64_t)npu_task_gang_index(task, cluster) << DETAIL_CLUSTER_SHIFT,
	};

	npu_task_report(model, task, cluster, fault);
	npu_command_task_ended(model, task, &outcome);
}
