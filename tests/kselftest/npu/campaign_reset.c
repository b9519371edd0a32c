// SPDX-License-Identifier: MIT
/*
 * Workers on a device that fails again and again, as npu-device --fault makes it do: whoever loses
 * his context is told so, makes another, and gets right results in it.
 * usage: campaign_reset RESETS [SECONDS]: ends when the device has been reset so often more, and
 *	  has failed when that takes longer
 *        campaign_reset guilty: where a TLB invalidation does not end; whose it is is told so
 *        campaign_reset hot: where the device becomes too hot; hwmon tells so, once
 */
#include <pthread.h>

#include "campaign_program.h"
#include "hwmon.h"

#define WORKERS 4

static int64_t end_ns;
static long wanted;
static uint32_t lost, done;

static bool goes_on(void)
{
	return npu_sysfs_number("npu_resets") < wanted && now_ns() < end_ns;
}

/* A task on a cluster, and a copy whose result is looked at. */
static int copy_once(struct worker *worker, unsigned char *data, uint64_t number)
{
	uint32_t bytes = 4096 + roll(&worker->dice, DATA_BYTES / 2 - 4096);
	int ret;

	memset(data, (int)(number & 0x7f) + 1, bytes);
	memset(data + DATA_BYTES / 2, 0, bytes);
	work_put_program(worker);
	work_put_copy(&worker->lane, bytes);
	npu_lane_signal(&worker->lane, 1, 1);
	ret = npu_wait(worker->fd, worker->lane.ctx, 1, number, now_ns() + 120 * SECOND);
	if (ret)
		return ret;
	if (memcmp(data, data + DATA_BYTES / 2, bytes)) {
		printf("# copy %llu of %u bytes is wrong\n", (unsigned long long)number, bytes);
		return -EILSEQ;
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
	return 0;
}

static uint32_t state_of(const struct worker *worker)
{
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };

	return npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status) ? ~0u : status.state;
}

/* A life of one context. Returns 0 when it was lost as it should, or lasted. */
static int live(struct worker *worker)
{
	unsigned char *data;
	uint64_t number;
	int ret;

	ret = npu_lane_open(&worker->lane, worker->fd);
	if (!ret)
		ret = work_bind_data(worker, &worker->lane);
	if (!ret)
		ret = work_bind_program(worker);
	/* The device may have failed just now; of a queue that is gone no doorbell can be mapped. */
	if (ret == -ENOENT && state_of(worker) == DRM_NPU_CTX_INNOCENT)
		ret = -EIO;
	if (ret)
		return ret == -EIO ? 0 : ret;
	data = npu_map(worker->fd, worker->data, DATA_BYTES);
	if (data == MAP_FAILED)
		return -errno;
	for (number = 1; !ret && number < 100 && goes_on(); number++)
		ret = copy_once(worker, data, number);
	if (ret == -EIO && state_of(worker) == DRM_NPU_CTX_INNOCENT) {
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
		ret = 0;
	}
	munmap(data, DATA_BYTES);
	return ret;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	int ret = 0;

	while (!ret && goes_on()) {
		worker->fd = npu_open();
		worker->data = npu_buffer(worker->fd, DATA_BYTES);
		ret = worker->data ? live(worker) : -ENOMEM;
		npu_lane_unmap(&worker->lane);
		close(worker->fd);
	}
	return (void *)(intptr_t)ret;
}

/* Binds and unbinds until that is the end of the device for a while, or many times. */
static bool wear_out(struct worker *worker)
{
	for (int i = 0; i < 200 && state_of(worker) == DRM_NPU_CTX_ALIVE; i++) {
		if (npu_bind(worker->fd, worker->lane.ctx, worker->data, EXTRA_VA, PAGE) ||
		    npu_unbind(worker->fd, worker->lane.ctx, EXTRA_VA, PAGE))
			break;
	}
	return campaign_result(state_of(worker) == DRM_NPU_CTX_GUILTY,
			       "whose invalidation does not end is guilty");
}

static int tell_apart(void)
{
	struct worker guilty = { .dice = 1, .fd = npu_open() };
	struct worker bystander = { .dice = 2, .fd = npu_open() };
	bool fine;

	if (work_open(&guilty) || work_open(&bystander))
		return !campaign_result(false, "two contexts");
	fine = wear_out(&guilty);
	fine &= campaign_result(state_of(&bystander) == DRM_NPU_CTX_INNOCENT,
				"the other is innocent");
	npu_lane_unmap(&guilty.lane);
	npu_lane_unmap(&bystander.lane);
	fine &= campaign_result(!work_open(&bystander), "the device works again");
	return fine ? 0 : 1;
}

static bool alarmed(const char *expected, const char *what)
{
	char text[16];

	hwmon_read("temp1_emergency_alarm", text, sizeof(text));
	return campaign_result(!strcmp(text, expected), what);
}

/* Copies until the device trips, which it does once. */
static int become_hot(void)
{
	struct worker worker = { .dice = 1, .fd = npu_open() };
	unsigned char *data;
	uint64_t number;
	int ret = 0;
	bool fine;

	if (work_open(&worker) || work_bind_program(&worker))
		return !campaign_result(false, "a context");
	data = npu_map(worker.fd, worker.data, DATA_BYTES);
	if (data == MAP_FAILED)
		return !campaign_result(false, "its memory");
	fine = alarmed("0", "no alarm before");
	for (number = 1; !ret && number < 100; number++)
		ret = copy_once(&worker, data, number);
	fine &= campaign_result(ret == -EIO && state_of(&worker) == DRM_NPU_CTX_INNOCENT,
				"who was at work is innocent");
	munmap(data, DATA_BYTES);
	npu_lane_unmap(&worker.lane);
	fine &= campaign_result(!work_open(&worker), "the device works again");
	fine &= alarmed("1", "the alarm tells of what is over");
	fine &= alarmed("0", "once");
	npu_lane_unmap(&worker.lane);
	return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct worker workers[WORKERS] = { 0 };
	pthread_t threads[WORKERS];
	int failed = 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "guilty"))
		return tell_apart();
	if (!strcmp(argv[1], "hot"))
		return become_hot();
	wanted = npu_sysfs_number("npu_resets") + atol(argv[1]);
	end_ns = now_ns() + (argc > 2 ? atol(argv[2]) : 300) * SECOND;
	for (int i = 0; i < WORKERS; i++) {
		workers[i].dice = (uint64_t)i + 1;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			return 2;
	}
	for (int i = 0; i < WORKERS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		if (!result)
			continue;
		printf("# worker %d: %s\n", i, strerror(-(int)(intptr_t)result));
		failed = 1;
	}
	printf("# %ld resets, %u contexts lost, %u copies right\n", npu_sysfs_number("npu_resets"), lost,
	       done);
	return failed || npu_sysfs_number("npu_resets") < wanted || !done || !lost;
}
