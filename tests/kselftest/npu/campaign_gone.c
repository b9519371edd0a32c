// SPDX-License-Identifier: MIT
/*
 * The machine takes the card away, or its program dies, while threads sleep on it: each must wake
 * with -ENODEV. Arguments: unplug and how often; kill-device; or kill-device-under-rings, where
 * nobody sleeps in the driver, and only io_uring waits. The machine is asked by a line
 * "npu-host: ..." of the output, see tests/qemu/guest_requests.py.
 */
#include <pthread.h>

#include "campaign_work.h"
#include "uring.h"

#define SLEEPERS 8
#define PATIENCE (60 * SECOND)

struct sleeper {
	const struct npu_lane *lane;
	uint32_t sem;
	int ret;
	pthread_t thread;
};

static void *sleep_on(void *argument)
{
	struct sleeper *sleeper = argument;

	/* Half of them for one semaphore. */
	sleeper->ret = npu_wait(sleeper->lane->fd, sleeper->lane->ctx, sleeper->sem, 1,
				now_ns() + PATIENCE);
	return NULL;
}

static void ask_host(const char *request)
{
	printf("npu-host: %s\n", request);
	fflush(stdout);
}

/* Nothing that is asked of a device that is gone hangs, or says anything else. */
static bool calls_say_so(struct worker *worker)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };
	struct drm_npu_gem_create buffer = { .size = PAGE };
	struct drm_npu_ctx_create context = { 0 };
	bool good = npu_call(worker->fd, DRM_IOCTL_NPU_GET_PARAM, &get) == -ENODEV;

	good &= npu_call(worker->fd, DRM_IOCTL_NPU_GEM_CREATE, &buffer) == -ENODEV;
	good &= npu_call(worker->fd, DRM_IOCTL_NPU_CTX_CREATE, &context) == -ENODEV;
	good &= npu_bind(worker->fd, worker->lane.ctx, worker->data, EXTRA_VA, PAGE) == -ENODEV;
	/* Mappings stay, doorbells do nothing. */
	worker->lane.ring[100] = 1;
	*worker->lane.doorbell = 1;
	return campaign_result(good, "every call says that the device is gone");
}

static bool round_of_sleepers(const char *request)
{
	struct worker worker = { .dice = 1, .fd = npu_open_soon(now_ns() + PATIENCE) };
	struct sleeper sleepers[SLEEPERS];
	int64_t before;
	int woken = 0;
	bool good;

	if (worker.fd < 0 || work_open(&worker) || work_run(&worker))
		return campaign_result(false, "the device works: %s", strerror(errno));
	for (int i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct sleeper){
			.lane = &worker.lane, .sem = i % 2 ? 3 : 4 + (uint32_t)i,
		};
		if (pthread_create(&sleepers[i].thread, NULL, sleep_on, &sleepers[i]))
			return campaign_result(false, "no thread");
	}
	usleep(300000);
	before = now_ns();
	ask_host(request);
	for (int i = 0; i < SLEEPERS; i++) {
		pthread_join(sleepers[i].thread, NULL);
		woken += sleepers[i].ret == -ENODEV;
	}
	good = campaign_result(woken == SLEEPERS, "%d of %d sleepers wake with ENODEV (%lld ms)",
			       woken, SLEEPERS, (long long)(now_ns() - before) / MILLISECOND);
	good &= calls_say_so(&worker);
	npu_lane_unmap(&worker.lane);
	close(worker.fd);
	return good;
}

/* The driver has to look by itself whether the device is there: uring_next() does not sleep in it. */
static bool round_of_rings(void)
{
	struct worker worker = { .dice = 1, .fd = npu_open_soon(now_ns() + PATIENCE) };
	struct uring ring;
	int64_t before;
	int woken = 0;
	bool good;

	if (worker.fd < 0 || work_open(&worker) || work_run(&worker) ||
	    uring_open(&ring, SLEEPERS, 0))
		return campaign_result(false, "the device works: %s", strerror(errno));
	for (uint32_t i = 0; i < SLEEPERS; i++) {
		uring_wait(&ring, worker.fd, worker.lane.ctx, i % 2 ? 3 : 4 + i, 1, URING_NEVER, i);
		uring_push(&ring);
	}
	if (uring_enter(&ring, 0))
		return campaign_result(false, "no waits");
	usleep(300000);
	before = now_ns();
	ask_host("kill-device");
	for (int i = 0; i < SLEEPERS; i++)
		woken += uring_next(&ring).res == -ENODEV;
	good = campaign_result(woken == SLEEPERS, "%d of %d waits end with ENODEV (%lld ms)",
			       woken, SLEEPERS, (long long)(now_ns() - before) / MILLISECOND);
	good &= calls_say_so(&worker);
	uring_close(&ring);
	npu_lane_unmap(&worker.lane);
	close(worker.fd);
	return good;
}

static bool disappears(void)
{
	int64_t deadline = now_ns() + PATIENCE;
	int fd;

	while ((fd = npu_open_any()) >= 0 && now_ns() < deadline) {
		close(fd);
		usleep(10000);
	}
	if (fd >= 0)
		close(fd);
	return campaign_result(fd < 0, "the device's file is gone");
}

static bool unplug(unsigned long rounds)
{
	bool good = true;

	for (unsigned long i = 0; i < rounds && good; i++) {
		good = round_of_sleepers("unplug") && disappears();
		if (good)
			ask_host("plug");
	}
	return device_is_idle() && good;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "unplug"))
		return unplug(strtoul(argv[2], NULL, 10)) ? 0 : 1;
	if (argc == 2 && !strcmp(argv[1], "kill-device"))
		return round_of_sleepers("kill-device") ? 0 : 1;
	if (argc == 2 && !strcmp(argv[1], "kill-device-under-rings"))
		return round_of_rings() ? 0 : 1;
	return 2;
}
