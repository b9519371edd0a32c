// SPDX-License-Identifier: MIT
/*
 * A card that goes on using translations it was told to drop (npu-device --defect stale-tlb) writes
 * to a buffer that was unbound. Argument: "caught", behind an IOMMU: the access is a fault, and the
 * buffer is as it was; or "reaches", without one: the buffer is damaged, so the card is as broken
 * as it is said to be.
 */
#include "campaign_work.h"

#define BYTES (4 * PAGE)
#define OLD_VA 0x60000000ull
#define MARK 0x5a

static int copy(struct npu_lane *lane, uint64_t signalled)
{
	const struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 7,
		.destination = OLD_VA,
		.source = DATA_VA,
		.bytes = BYTES,
		.signal_sem = 1,
	};

	npu_lane_put(lane, &packet);
	return npu_wait(lane->fd, lane->ctx, 1, signalled, now_ns() + 60 * SECOND);
}

static bool whole(const unsigned char *bytes, unsigned char value)
{
	for (uint64_t i = 0; i < BYTES; i++) {
		if (bytes[i] != value)
			return false;
	}
	return true;
}

static bool judge(const struct worker *worker, const unsigned char *old, bool caught)
{
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };
	bool good;

	if (npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status))
		return campaign_result(false, "the context's status can be asked for");
	if (!caught)
		return campaign_result(!status.faults && whole(old, 0),
				       "without an IOMMU the card damages what is unbound");
	good = campaign_result(status.faults == 1 && status.fault_error == NPU_ERROR_BUS &&
			       status.task_id == 7 && status.fault_access == 1 &&
			       status.fault_address == OLD_VA,
			       "the access is a fault: %u faults, error %u at %#llx", status.faults,
			       status.fault_error, (unsigned long long)status.fault_address);
	return campaign_result(whole(old, MARK), "what is unbound is as it was") && good;
}

int main(int argc, char **argv)
{
	struct worker worker = { .dice = 1, .fd = npu_open_any() };
	bool caught = argc > 1 && !strcmp(argv[1], "caught");
	unsigned char *old;
	uint32_t handle;
	bool good;

	if (worker.fd < 0 || work_open(&worker))
		return !campaign_result(false, "the device works: %s", strerror(errno));
	handle = npu_buffer(worker.fd, BYTES);
	old = npu_map(worker.fd, handle, BYTES);
	if (old == MAP_FAILED || npu_bind(worker.fd, worker.lane.ctx, handle, OLD_VA, BYTES) ||
	    copy(&worker.lane, 1) || npu_unbind(worker.fd, worker.lane.ctx, OLD_VA, BYTES))
		return !campaign_result(false, "a copy before");
	memset(old, MARK, BYTES);
	good = campaign_result(!copy(&worker.lane, 2), "the copy to what is unbound ends");
	good &= judge(&worker, old, caught);
	/* Others do not notice. */
	worker.fd = npu_open_any();
	good &= campaign_result(!work_life(&worker, 20), "a program after it works");
	return good ? 0 : 1;
}
