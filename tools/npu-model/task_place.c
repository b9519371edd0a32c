// SPDX-License-Identifier: MIT
/* Where a task stands. See task.h, npu_task_place(). */
#include "cluster.h"
#include "machine.h"

static void stand_at(struct npu_task_fault *place, const struct npu_job *job, uint32_t access,
		     uint64_t address)
{
	place->access = access;
	place->address = address;
	place->program_offset = job->program_offset;
	place->instruction = npu_operation_word(&job->operation);
}

static void stand_at_decode(struct npu_task_fault *place, const struct npu_front_end *front,
			    uint32_t access)
{
	place->access = access;
	place->address = 0;
	place->program_offset = front->offset;
	place->instruction = front->instruction;
}

static bool at_work(struct npu_cluster *cluster, struct npu_task_fault *place)
{
	struct npu_front_end *front = &cluster->front;

	for (unsigned int i = NPU_ENGINE_DMA0; i < NPU_ENGINE_COUNT; i++) {
		const struct npu_job *job = npu_engine_working(&cluster->engine[i]);

		if (!job)
			continue;
		stand_at(place, job, NPU_FAULT_AT_WORK, 0);
		return true;
	}
	if (!front->running || (!npu_event_pending(&front->step) && !front->fetching))
		return false;
	stand_at_decode(place, front, NPU_FAULT_AT_WORK);
	return true;
}

static bool without_token(struct npu_cluster *cluster, struct npu_task_fault *place)
{
	for (unsigned int i = NPU_ENGINE_FRONT; i < NPU_ENGINE_COUNT; i++) {
		const struct npu_job *job = i == NPU_ENGINE_FRONT ?
						    npu_front_end_stalled(&cluster->front) :
						    npu_engine_stalled(&cluster->engine[i]);
		unsigned int token;

		if (!job || !npu_tokens_missing(cluster, job->operation.wait, &token))
			continue;
		stand_at(place, job, NPU_FAULT_TOKEN, token);
		return true;
	}
	return false;
}

static bool at_barrier(struct npu_cluster *cluster, struct npu_task_fault *place)
{
	if (cluster->front.barrier == NPU_BARRIER_NONE)
		return false;
	stand_at_decode(place, &cluster->front, NPU_FAULT_BARRIER);
	return true;
}

unsigned int npu_task_place(struct npu_model *model, const struct npu_task *task,
			    struct npu_task_fault *place)
{
	static bool (*const look[])(struct npu_cluster *, struct npu_task_fault *) = {
		at_work, without_token, at_barrier,
	};

	for (unsigned int i = 0; i < sizeof(look) / sizeof(look[0]); i++) {
		for (unsigned int c = 0; c < task->clusters; c++) {
			if (look[i](&model->clusters[task->cluster[c]], place))
				return task->cluster[c];
		}
	}
	stand_at_decode(place, &model->clusters[task->cluster[0]].front, NPU_FAULT_AT_WORK);
	return task->cluster[0];
}
