// SPDX-License-Identifier: MIT
/* The device goes away under a program that uses it. Needs root. */
#include <pthread.h>

#include "npu_test.h"
#include "uring.h"

FIXTURE(unbind) {
	int fd;
	struct npu_lane lane;
	char function[64];
	bool gone;
};

/* A file or a mapping of the old device would keep its number from the new one. */
static void let_go(int fd, struct npu_lane *lane)
{
	munmap((void *)lane->doorbell, (size_t)sysconf(_SC_PAGESIZE));
	munmap(lane->ring, LANE_BYTES);
	close(fd);
}

FIXTURE_SETUP(unbind)
{
	ASSERT_TRUE(find_function(self->function, sizeof(self->function)));
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(unbind)
{
	let_go(self->fd, &self->lane);
	if (self->gone)
		EXPECT_EQ(0, driver_write("bind", self->function));
}

TEST_F(unbind, every_call_says_so)
{
	static const unsigned long others[] = {
		DRM_IOCTL_NPU_GEM_INFO, DRM_IOCTL_NPU_CTX_STATUS, DRM_IOCTL_NPU_QUEUE_CREATE,
		DRM_IOCTL_NPU_QUEUE_DESTROY, DRM_IOCTL_NPU_SEM_WAIT,
		DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM,
		DRM_IOCTL_NPU_CTX_EVENTS,
	};
	struct drm_npu_gem_create create = { .size = PAGE };
	struct drm_npu_ctx_create context = { 0 };
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };
	unsigned char nothing[256] = { 0 };
	unsigned int i;

	self->gone = !driver_write("unbind", self->function);
	ASSERT_TRUE(self->gone);
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &context));
	EXPECT_EQ(-ENODEV, npu_bind(self->fd, self->lane.ctx, self->lane.handle, 0x20000000, PAGE));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT_EQ(-ENODEV, npu_call(self->fd, others[i], nothing));
	EXPECT_EQ(-ENODEV, npu_context_destroy(self->fd, self->lane.ctx));
	/* Mappings stay, doorbells do nothing. */
	self->lane.ring[100] = 1;
	*self->lane.doorbell = 1;
}

static void *sleep_on(void *argument)
{
	struct npu_lane *lane = argument;

	return (void *)(intptr_t)npu_wait(lane->fd, lane->ctx, 3, 1, now_ns() + 30000 * MILLISECOND);
}

TEST_F(unbind, sleepers_wake)
{
	int64_t before;
	pthread_t thread;
	void *result;

	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_on, &self->lane));
	usleep(100000);
	before = now_ns();
	self->gone = !driver_write("unbind", self->function);
	ASSERT_TRUE(self->gone);
	pthread_join(thread, &result);
	EXPECT_EQ(-ENODEV, (int)(intptr_t)result);
	EXPECT_LT(now_ns() - before, 15000 * MILLISECOND);
}

/* Those who wait by io_uring are told, and the ring goes on. */
TEST_F(unbind, waits_of_rings_end)
{
	struct uring ring;
	int i;

	ASSERT_EQ(0, uring_open(&ring, 16, 0));
	for (i = 0; i < 8; i++) {
		uring_wait(&ring, self->fd, self->lane.ctx, i, 1, i % 2 ? URING_NEVER : 60000000, i);
		uring_push(&ring);
	}
	ASSERT_EQ(0, uring_enter(&ring, 0));
	self->gone = !driver_write("unbind", self->function);
	ASSERT_TRUE(self->gone);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-ENODEV, uring_next(&ring).res);
	uring_wait(&ring, self->fd, self->lane.ctx, 1, 1, URING_NEVER, 99);
	uring_push(&ring);
	ASSERT_EQ(0, uring_enter(&ring, 1));
	EXPECT_EQ(-ENODEV, uring_next(&ring).res);
	uring_close(&ring);
}

/* Who asked for it can read it from the file of a device that is gone. */
TEST_F(unbind, event_comes)
{
	struct drm_npu_ctx_events ask = { .ctx = self->lane.ctx, .kinds = DRM_NPU_EVENT_DEAD };
	struct drm_npu_event event = { .kind = 0 };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_EVENTS, &ask));
	self->gone = !driver_write("unbind", self->function);
	ASSERT_TRUE(self->gone);
	ASSERT_EQ((ssize_t)sizeof(event), read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(DRM_NPU_EVENT_DEAD, event.kind);
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, event.state);
	EXPECT_EQ(self->lane.ctx, event.ctx);
}

TEST_F(unbind, works_again)
{
	int round;

	for (round = 0; round < 5; round++) {
		self->gone = !driver_write("unbind", self->function);
		ASSERT_TRUE(self->gone);
		let_go(self->fd, &self->lane);
		ASSERT_EQ(0, driver_write("bind", self->function));
		self->gone = false;
		self->fd = npu_open();
		ASSERT_GE(self->fd, 0);
		ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
		npu_lane_signal(&self->lane, 1, 1);
		ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 1, 1,
				      now_ns() + 20000 * MILLISECOND));
	}
}

TEST_HARNESS_MAIN
