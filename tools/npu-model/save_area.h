/* SPDX-License-Identifier: MIT */
/*
 * Points of programs and the save area of a task, which saving and bringing back have in common.
 * Manual: command-processor.rst, "Preemption".
 */
#ifndef NPU_MODEL_SAVE_AREA_H
#define NPU_MODEL_SAVE_AREA_H

#include "machine.h"
#include "memory.h"

/**
 * struct npu_point_table - a point's table as read and checked
 * @window:	the whole window has to be as it was
 * @resume:	offset of the stream that runs first when the task comes back, or 0
 * @place:	where each range is in the cluster's part of the area
 * @bytes:	of the part that are used
 */
struct npu_point_table {
	bool window;
	uint32_t resume;
	uint32_t count;
	struct npu_point_range range[NPU_POINT_RANGES_MAX];	/* of the host's byte order */
	uint32_t place[NPU_POINT_RANGES_MAX];
	uint32_t bytes;
};

/** npu_point_read() - the table at @offset of the program; false for what is no point */
bool npu_point_read(struct npu_model *model, const struct npu_task *task, uint32_t offset,
		    struct npu_point_table *point);

/** npu_save_part() - VA of a cluster's part of the save area */
static inline uint64_t npu_save_part(const struct npu_task *task, unsigned int cluster)
{
	return task->save_area + (uint64_t)cluster * task->save_bytes;
}

/** npu_save_range() - the bytes of a range of the gang's cluster @cluster */
uint8_t *npu_save_range(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
			const struct npu_point_range *range);

/** npu_save_latency() - cycles before a transfer to or from the area: its first page's walk, DRAM */
uint64_t npu_save_latency(struct npu_model *model, const struct npu_task *task,
			  enum npu_access access);

/** npu_save_fault() - the area's memory is missing: the task ends */
void npu_save_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster,
		    const struct npu_memory_error *error, enum npu_access access);

#endif /* NPU_MODEL_SAVE_AREA_H */
