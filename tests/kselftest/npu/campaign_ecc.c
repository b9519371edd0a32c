// SPDX-License-Identifier: MIT
/*
 * Runs tasks that use local SRAM on a device whose SRAM loses bits once, as npu-device --fault
 * ecc-uncorrected makes it do: one of them fails, the device goes on, and devlink's reporter of ecc is
 * told. No core dump is made.
 */
#include "campaign_program.h"
#include "coredump.h"
#include "devlink.h"

#define MOVED 64
#define LOCAL_BYTES 4096
#define TASKS 8

/* From argument 0 into local SRAM, and back. */
static void emit_moves(struct code *code)
{
	struct npu_td local = tensor(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, MOVED);
	struct npu_td dram = tensor(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, MOVED);

	code_move(code, local, dram, 0, 1);
	code_move(code, dram, local, 1, 2);
}

static int run_tasks(struct worker *worker)
{
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0), .program = EXTRA_VA,
		.arguments = DATA_VA, .argument_count = 1, .budget = 10000, .signal_sem = 2,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
	uint64_t *arguments = npu_map(worker->fd, worker->data, DATA_BYTES);

	if (arguments == MAP_FAILED)
		return -errno;
	arguments[0] = DATA_VA + PAGE;
	for (exec.task_id = 1; exec.task_id <= TASKS; exec.task_id++)
		npu_lane_put(&worker->lane, &exec);
	munmap(arguments, DATA_BYTES);
	worker->signalled += TASKS;
	return npu_wait(worker->fd, worker->lane.ctx, 2, worker->signalled, now_ns() + 60 * SECOND);
}

/* Of the context so far. */
static bool failed_once(const struct worker *worker)
{
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };

	return !npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status) && status.faults == 1 &&
	       status.fault_error == NPU_ERROR_ECC;
}

static bool is_told(void)
{
	static struct devlink link;

	return !devlink_open(&link) && devlink_wait(&link, "ecc", 1, true);
}

int main(void)
{
	struct worker worker = { .dice = 1, .fd = npu_open() };
	struct coredump dump;
	bool fine;

	dump_discard();
	if (work_open(&worker) || work_bind_code(&worker, LOCAL_BYTES, emit_moves))
		return !campaign_result(false, "a context");
	fine = campaign_result(!run_tasks(&worker), "%u tasks end", TASKS);
	fine &= campaign_result(failed_once(&worker), "one of them for lost bits");
	fine &= campaign_result(is_told(), "the reporter of ecc is told once");
	fine &= campaign_result(!npu_sysfs_number("npu_resets") && !dump_find(&dump),
				"the device goes on");
	fine &= campaign_result(!run_tasks(&worker) && failed_once(&worker), "and works");
	npu_lane_unmap(&worker.lane);
	return fine ? 0 : 1;
}
