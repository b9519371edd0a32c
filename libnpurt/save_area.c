// SPDX-License-Identifier: MIT
/*
 * Where a task is kept while it is preempted: memory of its model, since of a model one task runs at
 * a time.
 */
#include <endian.h>
#include <errno.h>

#include "npu_pgtable.h"
#include "run_packet.h"

int npurt_save_area_new(struct npurt_model *model)
{
	const struct npu_program_header *program = &model->image.program;
	uint64_t bytes = (uint64_t)le32toh(program->save_bytes) * program->clusters;

	if (!bytes)
		return 0;
	return npurt_buffer_new(model->context, bytes, NPU_PROT_READ | NPU_PROT_WRITE,
				&model->save);
}

void npurt_run_late_arguments(const struct npurt_run *run, __le64 *arguments)
{
	uint32_t count = npurt_run_argument_count(run), i;

	for (i = NPU_ARG_FIRST_IO + run->use_count; i < count; i++)
		arguments[i] = 0;
	if (run->model->save)
		arguments[NPU_ARG_SAVE] = htole64(run->model->save->va);
	if (run->profile)
		arguments[NPU_ARG_PROFILE] = htole64(run->profile->va);
}
