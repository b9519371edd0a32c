// SPDX-License-Identifier: MIT
/* Owners and their removal. See scrub.h. */
#include "scrub.h"

#include <string.h>

#include "cluster.h"
#include "machine.h"
#include "numbers.h"

static bool foreign(uint8_t owner, const struct npu_task *task)
{
	return owner != NPU_OWNER_CLEAN && owner != npu_owner_mark(task->context);
}

/* Decode has checked that local tensors are inside the SRAM. */
static void touch_local(struct npu_cluster *cluster, const struct npu_tensor *tensor)
{
	uint32_t end;

	if (tensor->kind != NPU_OPERAND_TENSOR || tensor->space != NPU_SPACE_LOCAL)
		return;
	end = (uint32_t)(tensor->offset + tensor->high);
	if (cluster->residue.local_end < end)
		cluster->residue.local_end = end;
}

static void touch_multicast(struct npu_model *model, const struct npu_task *task,
			    const struct npu_operation *operation)
{
	for (unsigned int i = 0; i < task->clusters; i++) {
		if (operation->dma.multicast >> i & 1)
			touch_local(&model->clusters[task->cluster[i]], &operation->dst);
	}
}

void npu_scrub_touch(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_operation *operation)
{
	switch (operation->opcode) {
	case NPU_OP_MAC:
		cluster->residue.halves |= (uint8_t)(1u << operation->mac.half);
		break;
	case NPU_OP_DMA:
		if (operation->dma.multicast)
			touch_multicast(model, cluster->task, operation);
		else
			touch_local(cluster, &operation->dst);
		break;
	case NPU_OP_VEC:
		touch_local(cluster, &operation->dst);
		if (operation->subop == NPU_VEC_EXPSUM || operation->subop == NPU_VEC_REDUCE_SUMSQ)
			touch_local(cluster, &operation->src[2]);
		break;
	case NPU_OP_OUT:
	case NPU_OP_LAYOUT:
		touch_local(cluster, &operation->dst);
		break;
	default:
		break;
	}
}

static uint64_t scrub_accumulators(struct npu_model *model, struct npu_cluster *cluster)
{
	uint32_t bytes = model->config.acc_bytes / 2;
	uint64_t cleared = 0;

	for (unsigned int half = 0; half < 2; half++) {
		if (!(cluster->residue.halves >> half & 1))
			continue;
		memset(cluster->memory.acc[half], 0, bytes);
		cleared += bytes;
	}
	return ceil_div(cleared, model->config.scrub_acc_bytes);
}

static uint64_t scrub_cluster(struct npu_model *model, struct npu_cluster *cluster,
			      const struct npu_task *task)
{
	struct npu_residue *residue = &cluster->residue;
	uint64_t cycles = 0;
	uint64_t local;

	if (foreign(residue->owner, task)) {
		cycles = scrub_accumulators(model, cluster);
		local = ceil_div(residue->local_end, model->config.scrub_local_bytes);
		memset(cluster->memory.local, 0, residue->local_end);
		cycles = local > cycles ? local : cycles;
		memset(residue, 0, sizeof(*residue));
	}
	residue->owner = npu_owner_mark(task->context);
	return cycles;
}

static uint64_t scrub_window(struct npu_model *model, const struct npu_task *task)
{
	uint32_t first = task->window_base / NPU_OWNER_BYTES;
	uint32_t pieces = (uint32_t)ceil_div(task->window_bytes, NPU_OWNER_BYTES);
	uint64_t found = 0;

	for (uint32_t i = first; i < first + pieces; i++) {
		if (!foreign(model->global_owner[i], task))
			continue;
		memset(model->global + (size_t)i * NPU_OWNER_BYTES, 0, NPU_OWNER_BYTES);
		model->global_owner[i] = NPU_OWNER_CLEAN;
		found++;
	}
	return ceil_div(found * NPU_OWNER_BYTES, model->config.scrub_global_bytes);
}

uint64_t npu_scrub(struct npu_model *model, const struct npu_task *task)
{
	uint64_t longest = scrub_window(model, task);

	for (unsigned int i = 0; i < task->clusters; i++) {
		uint64_t cycles = scrub_cluster(model, &model->clusters[task->cluster[i]], task);

		longest = cycles > longest ? cycles : longest;
	}
	model->counters.scrub += longest;
	return longest;
}

void npu_scrub_restored(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
			const struct npu_point_range *range)
{
	struct npu_residue *residue = &model->clusters[task->cluster[cluster]].residue;
	uint32_t first = (task->window_base + range->offset) / NPU_OWNER_BYTES;
	uint32_t last = (task->window_base + range->offset + range->bytes - 1) / NPU_OWNER_BYTES;

	if (range->space == NPU_SPACE_GLOBAL)
		memset(model->global_owner + first, npu_owner_mark(task->context), last - first + 1);
	else if (range->space == NPU_POINT_SUMS)
		residue->halves |= (uint8_t)(1u << range->offset / (model->config.acc_bytes / 2));
	else if (residue->local_end < range->offset + range->bytes)
		residue->local_end = range->offset + range->bytes;
}

void npu_scrub_forget(struct npu_model *model, unsigned int context)
{
	uint32_t pieces = (uint32_t)ceil_div(model->config.global_bytes, NPU_OWNER_BYTES);

	for (unsigned int i = 0; i < model->config.clusters; i++) {
		if (model->clusters[i].residue.owner == npu_owner_mark(context))
			model->clusters[i].residue.owner = NPU_OWNER_GONE;
	}
	for (uint32_t i = 0; i < pieces; i++) {
		if (model->global_owner[i] == npu_owner_mark(context))
			model->global_owner[i] = NPU_OWNER_GONE;
	}
}
