// SPDX-License-Identifier: MIT
/* DRM_IOCTL_NPU_SEM_WAIT. */
#include <pthread.h>
#include <signal.h>

#include "npu_test.h"

FIXTURE(wait) {
	int fd;
	struct npu_lane lane;
};

FIXTURE_SETUP(wait)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(wait)
{
	close(self->fd);
}

static int64_t soon(void)
{
	return now_ns() + 20000 * MILLISECOND;
}

static int wait_for(const struct npu_lane *lane, struct drm_npu_sem *sems, uint32_t count,
		    uint32_t flags, int64_t deadline, uint32_t *first)
{
	struct drm_npu_sem_wait wait = {
		.ctx = lane->ctx,
		.flags = flags,
		.sems = { .stride = sizeof(*sems), .count = count, .array = (uintptr_t)sems },
		.deadline_ns = deadline,
	};
	int ret = npu_call(lane->fd, DRM_IOCTL_NPU_SEM_WAIT, &wait);

	if (first)
		*first = wait.first;
	return ret;
}

TEST_F(wait, already_met)
{
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 0, 0, 0));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 255, 0, INT64_MAX));
}

TEST_F(wait, only_look)
{
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 0, 1, 0));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 0, UINT64_MAX, now_ns() - 1));
}

TEST_F(wait, never_early)
{
	int i;

	for (i = 1; i <= 5; i++) {
		int64_t deadline = now_ns() + i * 7 * MILLISECOND;

		EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 4, 1, deadline));
		EXPECT_GE(now_ns(), deadline);
	}
}

TEST_F(wait, unknown_flags)
{
	struct drm_npu_sem sem = { 0 };
	int bit;

	for (bit = 1; bit < 32; bit++)
		EXPECT_EQ(-EINVAL, wait_for(&self->lane, &sem, 1, 1u << bit, 0, NULL));
}

TEST_F(wait, padding)
{
	struct drm_npu_sem sem = { .pad = 1 };
	struct drm_npu_sem_wait wait = {
		.ctx = self->lane.ctx,
		.sems = { .stride = sizeof(sem), .count = 1, .array = (uintptr_t)&sem },
	};

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SEM_WAIT, &wait));
	sem.pad = 0;
	wait.pad = 1;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SEM_WAIT, &wait));
	wait.pad = 0;
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_SEM_WAIT, &wait));
}

TEST_F(wait, no_such_semaphore)
{
	EXPECT_EQ(-EINVAL, npu_wait(self->fd, self->lane.ctx, 256, 0, 0));
	EXPECT_EQ(-EINVAL, npu_wait(self->fd, self->lane.ctx, UINT32_MAX, 0, 0));
}

TEST_F(wait, negative_deadline)
{
	EXPECT_EQ(-EINVAL, npu_wait(self->fd, self->lane.ctx, 0, 0, -1));
	EXPECT_EQ(-EINVAL, npu_wait(self->fd, self->lane.ctx, 0, 1, INT64_MIN));
}

TEST_F(wait, no_such_context)
{
	EXPECT_EQ(-ENOENT, npu_wait(self->fd, 0, 0, 0, 0));
	EXPECT_EQ(-ENOENT, npu_wait(self->fd, self->lane.ctx + 1, 0, 0, 0));
}

TEST_F(wait, the_array)
{
	uint32_t most = (uint32_t)npu_param(self->fd, DRM_NPU_PARAM_WAITS_MAX);
	struct drm_npu_sem *sems = calloc(most + 1, sizeof(*sems));
	struct drm_npu_sem_wait wait = {
		.ctx = self->lane.ctx,
		.sems = { .stride = sizeof(*sems) - 8, .count = 1, .array = (uintptr_t)sems },
	};

	ASSERT_NE(NULL, sems);
	EXPECT_EQ(-EINVAL, wait_for(&self->lane, sems, 0, 0, 0, NULL));
	EXPECT_EQ(-E2BIG, wait_for(&self->lane, sems, most + 1, 0, 0, NULL));
	EXPECT_EQ(-E2BIG, wait_for(&self->lane, sems, UINT32_MAX, 0, 0, NULL));
	EXPECT_EQ(0, wait_for(&self->lane, sems, most, DRM_NPU_SEM_WAIT_ALL, 0, NULL));
	EXPECT_EQ(-EFAULT, wait_for(&self->lane, NULL, 1, 0, 0, NULL));
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SEM_WAIT, &wait));
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_SEM_WAIT, NULL));
	free(sems);
}

TEST_F(wait, first_of_several)
{
	struct drm_npu_sem sems[3] = {
		{ .sem = 7, .value = 5 },
		{ .sem = 8, .value = 1 },
		{ .sem = 9 },
	};
	uint32_t first = 99;

	EXPECT_EQ(0, wait_for(&self->lane, sems, 3, 0, 0, &first));
	EXPECT_EQ(2, first);
	npu_lane_signal(&self->lane, 8, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 8, 1, soon()));
	EXPECT_EQ(0, wait_for(&self->lane, sems, 3, 0, 0, &first));
	EXPECT_EQ(1, first);
}

TEST_F(wait, all_of_several)
{
	struct drm_npu_sem sems[2] = { { .sem = 7, .value = 2 }, { .sem = 8, .value = 1 } };

	npu_lane_signal(&self->lane, 8, 1);
	EXPECT_EQ(-ETIME, wait_for(&self->lane, sems, 2, DRM_NPU_SEM_WAIT_ALL,
				   now_ns() + 20 * MILLISECOND, NULL));
	npu_lane_signal(&self->lane, 7, 2);
	EXPECT_EQ(0, wait_for(&self->lane, sems, 2, DRM_NPU_SEM_WAIT_ALL, soon(), NULL));
}

struct sleeper {
	const struct npu_lane *lane;
	uint32_t sem;
	uint64_t value;
	int ret;
	pthread_t thread;
};

static void *sleep_on(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->ret = npu_wait(sleeper->lane->fd, sleeper->lane->ctx, sleeper->sem,
				sleeper->value, soon());
	return NULL;
}

TEST_F(wait, sleepers_of_one_semaphore)
{
	struct sleeper sleepers[8];
	int i;

	for (i = 0; i < 8; i++) {
		sleepers[i] = (struct sleeper){
			.lane = &self->lane, .sem = 3, .value = 8 - i, .ret = 1,
		};
		ASSERT_EQ(0, pthread_create(&sleepers[i].thread, NULL, sleep_on, &sleepers[i]));
	}
	usleep(50000);
	for (i = 0; i < 8; i++)
		npu_lane_signal(&self->lane, 3, 1);
	for (i = 0; i < 8; i++) {
		pthread_join(sleepers[i].thread, NULL);
		EXPECT_EQ(0, sleepers[i].ret);
	}
}

TEST_F(wait, ping_pong)
{
	int i;

	/* Each one sleeps: nothing is there when the wait begins, except by chance. */
	for (i = 1; i <= 200; i++) {
		npu_lane_signal(&self->lane, 6, 1);
		ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 6, i, soon()));
	}
}

TEST_F(wait, context_is_destroyed)
{
	struct sleeper sleeper = { .lane = &self->lane, .sem = 3, .value = 1, .ret = 1 };
	int64_t before;

	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, sleep_on, &sleeper));
	usleep(50000);
	before = now_ns();
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	pthread_join(sleeper.thread, NULL);
	EXPECT_EQ(-EIO, sleeper.ret);
	EXPECT_LT(now_ns() - before, 10000 * MILLISECOND);
}

static void nothing(int number)
{
}

TEST_F(wait, signal_comes)
{
	struct sigaction action = { .sa_handler = nothing };
	struct sleeper sleeper = { .lane = &self->lane, .sem = 3, .value = 1, .ret = 1 };

	sigaction(SIGUSR1, &action, NULL);
	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, sleep_on, &sleeper));
	usleep(100000);
	pthread_kill(sleeper.thread, SIGUSR1);
	pthread_join(sleeper.thread, NULL);
	EXPECT_EQ(-EINTR, sleeper.ret);
}

/* The handler asks for it, so the sleep goes on. */
TEST_F(wait, signal_comes_and_the_call_goes_on)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct sleeper sleeper = { .lane = &self->lane, .sem = 3, .value = 1, .ret = 1 };

	sigaction(SIGUSR1, &action, NULL);
	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, sleep_on, &sleeper));
	usleep(100000);
	pthread_kill(sleeper.thread, SIGUSR1);
	usleep(100000);
	npu_lane_signal(&self->lane, 3, 1);
	pthread_join(sleeper.thread, NULL);
	EXPECT_EQ(0, sleeper.ret);
}

/* Values come through the area as well, without a call. */
TEST_F(wait, area_follows)
{
	struct drm_npu_ctx_create create = { 0 };
	const uint64_t *area;
	struct npu_lane lane = self->lane;
	struct drm_npu_queue_create queue = { .ring = RING_VA, .ring_log2 = LANE_LOG2 };
	uint32_t handle = npu_buffer(self->fd, LANE_BYTES);
	int64_t end = soon();

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	area = mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)create.semaphores_offset);
	ASSERT_NE(MAP_FAILED, (void *)area);
	lane.ctx = create.ctx;
	lane.ring = npu_map(self->fd, handle, LANE_BYTES);
	lane.written = 0;
	ASSERT_EQ(0, npu_bind(self->fd, lane.ctx, handle, RING_VA, LANE_BYTES));
	queue.ctx = lane.ctx;
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &queue));
	lane.doorbell = mmap(NULL, queue.doorbell_bytes, PROT_WRITE, MAP_SHARED, self->fd,
			     (off_t)queue.doorbell_offset);
	ASSERT_NE(MAP_FAILED, (void *)lane.doorbell);
	npu_lane_signal(&lane, 11, 41);
	while (__atomic_load_n(&area[11], __ATOMIC_ACQUIRE) != 41 && now_ns() < end)
		usleep(100);
	EXPECT_EQ(41, area[11]);
	EXPECT_EQ(0, area[10]);
}

TEST_HARNESS_MAIN
