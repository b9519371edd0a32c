// SPDX-License-Identifier: MIT
/* Points of programs and the save area of a task. See save_area.h. */
#include "save_area.h"

#include "command_processor.h"
#include "numbers.h"

static bool check_range(const struct npu_task *task, struct npu_point_range *range)
{
	uint32_t limit = task->window_bytes;

	range->space = le32toh(range->space);
	range->offset = le32toh(range->offset);
	range->bytes = le32toh(range->bytes);
	if (range->space == NPU_SPACE_LOCAL)
		limit = task->config.local_bytes;
	else if (range->space == NPU_POINT_SUMS)
		limit = task->config.acc_bytes;
	else if (range->space != NPU_SPACE_GLOBAL)
		return false;
	/* The halves are memories of their own. */
	if (range->space == NPU_POINT_SUMS && range->offset < limit / 2)
		limit /= 2;
	return !range->reserved && range->bytes && range->bytes <= NPU_POINT_BYTES_MAX &&
	       range->offset <= limit && range->bytes <= limit - range->offset;
}

/* Give each range its place. False when they are more than a point may have. */
static bool place_ranges(const struct npu_task *task, struct npu_point_table *point)
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

static bool check_resume(const struct npu_task *task, uint32_t resume)
{
	return !resume || (resume % NPU_INSN_BYTES == 0 && resume >= sizeof(task->header) &&
			   resume < task->program_bytes);
}

bool npu_point_read(struct npu_model *model, const struct npu_task *task, uint32_t offset,
		    struct npu_point_table *point)
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
	point->resume = le32toh(header.resume);
	point->window = le32toh(header.flags) & NPU_POINT_WINDOW;
	end = offset + (uint64_t)sizeof(header) +
	      point->count * (uint64_t)sizeof(point->range[0]);
	if (point->count > NPU_POINT_RANGES_MAX || end > task->program_bytes ||
	    le32toh(header.flags) & ~NPU_POINT_FLAGS_ALL || header.reserved ||
	    !check_resume(task, point->resume) ||
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

uint8_t *npu_save_range(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
			const struct npu_point_range *range)
{
	const struct npu_cluster_memory *memory = &model->clusters[task->cluster[cluster]].memory;
	uint32_t half_bytes = model->config.acc_bytes / 2;

	if (range->space == NPU_SPACE_GLOBAL)
		return model->global + task->window_base + range->offset;
	if (range->space == NPU_POINT_SUMS)
		return memory->acc[range->offset / half_bytes] + range->offset % half_bytes;
	return memory->local + range->offset;
}

uint64_t npu_save_latency(struct npu_model *model, const struct npu_task *task,
			  enum npu_access access)
{
	struct npu_memory_error error;
	struct npu_leaf leaf;
	bool ok;

	return model->config.dram_latency +
	       npu_mmu_walk(model, task->context, task->save_area, access, &leaf, &error, &ok) *
		       npu_walk_cycles(&model->config);
}

void npu_save_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster,
		    const struct npu_memory_error *error, enum npu_access access)
{
	const struct npu_task_fault fault = {
		.error = error->error,
		.access = access,
		.address = error->address,
	};

	npu_task_fault(model, task, task->cluster[cluster], &fault);
}
