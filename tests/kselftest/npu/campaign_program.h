/* SPDX-License-Identifier: MIT */
/* Work on clusters, for campaigns. */
#ifndef NPU_CAMPAIGN_PROGRAM_H
#define NPU_CAMPAIGN_PROGRAM_H

#include "campaign_work.h"
#include "program.h"

/* A program for one cluster at EXTRA_VA; @emit: its instructions, but for the last. */
static inline int work_bind_code(struct worker *worker, uint32_t local_bytes, void (*emit)(struct code *code))
{
	struct drm_npu_bind_op op = {
		.flags = DRM_NPU_BIND_READ | DRM_NPU_BIND_EXEC, .va = EXTRA_VA, .bytes = PAGE,
		.handle = npu_buffer(worker->fd, PAGE),
	};
	void *memory = op.handle ? npu_map(worker->fd, op.handle, PAGE) : MAP_FAILED;
	struct code code;

	if (memory == MAP_FAILED)
		return -ENOMEM;
	code_begin(&code, memory, 1, local_bytes, 0);
	code.header->entry[0] = code.header->bytes;
	if (emit)
		emit(&code);
	code_emit(&code, INSN(.opcode = NPU_OP_END));
	munmap(memory, PAGE);
	return npu_bind_ops(worker->fd, worker->lane.ctx, &op, 1);
}

/* One that does nothing. */
static inline int work_bind_program(struct worker *worker)
{
	return work_bind_code(worker, 0, NULL);
}

static inline void work_put_program(struct worker *worker)
{
	const struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = (uint32_t)worker->lane.written,
		.program = EXTRA_VA, .budget = 1000000, .signal_sem = NPU_SEM_NONE,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};

	npu_lane_put(&worker->lane, &exec);
}

#endif /* NPU_CAMPAIGN_PROGRAM_H */
