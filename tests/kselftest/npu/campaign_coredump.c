// SPDX-License-Identifier: MIT
/*
 * Works on a device that fails once, as npu-device --fault makes it do, until its context is lost; the
 * core dump must say why, and name this process, and the health reporter of devlink that it belongs to
 * be told when it is over.
 * usage: campaign_coredump guilty|innocent working|dead REPORTER REASON
 */
#include <limits.h>

#include "campaign_program.h"
#include "coredump.h"
#include "devlink.h"

/* The firmware is needed for contexts only, once a queue runs. */
static int make_and_break(struct worker *worker)
{
	struct drm_npu_ctx_create create = { 0 };
	int ret = npu_call(worker->fd, DRM_IOCTL_NPU_CTX_CREATE, &create);

	return ret ?: npu_context_destroy(worker->fd, create.ctx);
}

/* Something of everything that can bring a fault about. */
static int work_once(struct worker *worker)
{
	int ret;

	work_put_program(worker);
	ret = work_run(worker);
	if (!ret && !(worker->signalled % 8))
		ret = make_and_break(worker);
	if (!ret)
		ret = npu_bind(worker->fd, worker->lane.ctx, worker->data, EXTRA_VA + PAGE, PAGE);
	return ret ?: npu_unbind(worker->fd, worker->lane.ctx, EXTRA_VA + PAGE, PAGE);
}

static bool find_packets(const struct coredump *dump, uint32_t context)
{
	struct npu_coredump_queue queue;
	uint32_t i;

	for (i = 0; dump_entry(dump, NPU_COREDUMP_QUEUES, 0, i, &queue, sizeof(queue)); i++) {
		if (queue.context == context)
			return queue.flags & NPU_COREDUMP_QUEUE_READ && queue.packets;
	}
	return false;
}

/* It is made when the device has been stopped, and before it works again or soon after it is dead. */
static bool wait_for_dump(struct coredump *dump)
{
	int64_t end = now_ns() + 60 * SECOND;
	int ret = dump_read(dump);

	while (ret == -ENOENT && now_ns() < end) {
		usleep(20000);
		ret = dump_read(dump);
	}
	return campaign_result(!ret, "there is a core dump");
}

static bool wait_for_state(const char *wanted)
{
	int64_t end = now_ns() + 60 * SECOND;
	char state[32];

	do {
		usleep(20000);
		read_line("/sys/class/accel/accel0/device/npu_state", state, sizeof(state));
	} while (strcmp(state, wanted) && now_ns() < end);
	return campaign_result(!strcmp(state, wanted), "the device is %s", state);
}

static bool check_dump(const struct worker *worker, const char *state, const char *reason, bool dead)
{
	struct npu_coredump_context context;
	struct npu_coredump_cause cause;
	struct coredump dump;
	uint32_t expected = strcmp(state, "guilty") ? DRM_NPU_CTX_INNOCENT : DRM_NPU_CTX_GUILTY;
	bool fine;

	if (!wait_for_dump(&dump))
		return false;
	fine = campaign_result(dump_entry(&dump, NPU_COREDUMP_CAUSE, 0, 0, &cause, sizeof(cause)) &&
				       !strcmp((char *)cause.reason, reason),
			       "for this reason: %.128s", cause.reason);
	fine &= campaign_result(cause.outcome == (dead ? NPU_COREDUMP_DEAD : NPU_COREDUMP_RESET) &&
					cause.answers == !dead, "it tells the outcome");
	fine &= campaign_result(dump_find_context(&dump, worker->lane.ctx, &context) &&
					!strncmp((char *)context.comm, "campaign_coredump", 15) &&
					context.state == expected &&
					!(context.flags & NPU_COREDUMP_CONTEXT_ENDING),
				"it names this process, which is %s", state);
	return fine & campaign_result(find_packets(&dump, context.index), "it has packets");
}

static bool check_report(const char *reporter, bool dead)
{
	static struct devlink link;

	return campaign_result(!devlink_open(&link) && devlink_wait(&link, reporter, 1, !dead),
			       "the reporter of %s is told once", reporter);
}

int main(int argc, char **argv)
{
	struct worker worker = { .dice = 1, .fd = npu_open() };
	int64_t end = now_ns() + 120 * SECOND;
	int ret = 0;
	bool fine;

	if (argc != 5)
		return 2;
	dump_discard();
	if (work_open(&worker) || work_bind_program(&worker))
		return !campaign_result(false, "a context");
	while (!ret && now_ns() < end)
		ret = work_once(&worker);
	fine = campaign_result(ret, "the context is lost: %s", strerrorname_np(-ret) ?: "it is not");
	fine &= check_dump(&worker, argv[1], argv[4], !strcmp(argv[2], "dead"));
	fine &= wait_for_state(argv[2]);
	fine &= check_report(argv[3], !strcmp(argv[2], "dead"));
	npu_lane_unmap(&worker.lane);
	return fine ? 0 : 1;
}
