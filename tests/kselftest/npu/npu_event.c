// SPDX-License-Identifier: MIT
/* Events that are read from the file: who asked for one is told, once. */
#include <poll.h>
#include <pthread.h>

#include "power.h"

#define SEM 1
#define ALL (DRM_NPU_EVENT_FAULT | DRM_NPU_EVENT_QUEUE_STOPPED | DRM_NPU_EVENT_DEAD)

FIXTURE(event) {
	int fd;
	struct npu_lane lane;
};

FIXTURE_SETUP(event)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(event)
{
	power_allow(-1);
	close(self->fd);
}

static int ask(int fd, uint32_t ctx, uint32_t kinds, uint32_t faults)
{
	struct drm_npu_ctx_events args = {
		.ctx = ctx, .kinds = kinds, .faults = faults, .user_data = 0x1234567890abcdef,
	};

	return npu_call(fd, DRM_IOCTL_NPU_CTX_EVENTS, &args);
}

static int cancel(int fd, uint32_t ctx, uint32_t kinds)
{
	struct drm_npu_ctx_events args = {
		.ctx = ctx, .kinds = kinds, .flags = DRM_NPU_CTX_EVENTS_CANCEL,
	};

	return npu_call(fd, DRM_IOCTL_NPU_CTX_EVENTS, &args);
}

static bool comes(int fd, int milliseconds)
{
	struct pollfd come = { .fd = fd, .events = POLLIN };

	return poll(&come, 1, milliseconds) == 1 && come.revents == POLLIN;
}

/* The next event, which must be there soon, else one of no kind. */
static struct drm_npu_event next(int fd)
{
	struct drm_npu_event event = { .kind = 0 };

	if (comes(fd, 20000) && read(fd, &event, sizeof(event)) != sizeof(event))
		event.kind = 0;
	return event;
}

/* Its queue is stopped when this returns. */
static int stop_queue(struct npu_lane *lane)
{
	const struct npu_packet_signal bad = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = SEM,
	};

	npu_lane_put(lane, &bad);
	return npu_wait(lane->fd, lane->ctx, SEM, 1000, now_ns() + 20000 * MILLISECOND);
}

static void put_fault(struct npu_lane *lane)
{
	const struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0), .task_id = 7,
		.destination = 0x50000000, .source = RING_VA, .bytes = 64,
		.signal_sem = NPU_SEM_NONE,
	};

	npu_lane_put(lane, &copy);
}

TEST_F(event, queue_stops)
{
	struct drm_npu_event event;

	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, ALL, 0));
	EXPECT_FALSE(comes(self->fd, 0));
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	event = next(self->fd);
	EXPECT_EQ(DRM_NPU_EVENT, event.base.type);
	EXPECT_EQ(sizeof(event), event.base.length);
	EXPECT_EQ(0x1234567890abcdef, event.user_data);
	EXPECT_EQ(self->lane.ctx, event.ctx);
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, event.kind);
	EXPECT_EQ(DRM_NPU_CTX_QUEUE_STOPPED, event.state);
	EXPECT_EQ(0, event.faults);
	EXPECT_FALSE(comes(self->fd, 0));
}

/* Only what is new is told, and none is missed between being told and asking again. */
TEST_F(event, faults)
{
	struct drm_npu_event event;
	uint32_t known = 0, rounds;

	for (rounds = 0; rounds < 3; rounds++) {
		ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, known));
		EXPECT_FALSE(comes(self->fd, 100));
		put_fault(&self->lane);
		event = next(self->fd);
		EXPECT_EQ(DRM_NPU_EVENT_FAULT, event.kind);
		EXPECT_EQ(DRM_NPU_CTX_ALIVE, event.state);
		EXPECT_EQ(known + 1, event.faults);
		known = event.faults;
	}
	put_fault(&self->lane);
	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, now_ns() + 20000 * MILLISECOND));
	EXPECT_FALSE(comes(self->fd, 100));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, known));
	EXPECT_EQ(known + 1, next(self->fd).faults);
}

TEST_F(event, device_is_reset)
{
	struct drm_npu_event event;

	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, ALL, 0));
	ASSERT_EQ(0, write_file("/sys/class/accel/accel0/device/npu_reset", "1"));
	event = next(self->fd);
	EXPECT_EQ(DRM_NPU_EVENT_DEAD, event.kind);
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, event.state);
	EXPECT_FALSE(comes(self->fd, 100));
	/* It stays so, and who asks late is told at once. */
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_DEAD, 0));
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, next(self->fd).state);
}

static void *read_one(void *data)
{
	int fd = *(int *)data;
	struct drm_npu_event event = { .kind = 0 };

	return (void *)(uintptr_t)(read(fd, &event, sizeof(event)) == sizeof(event) ? event.kind : 0);
}

TEST_F(event, reader_sleeps)
{
	pthread_t thread;
	void *kind;

	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, &self->fd));
	usleep(100000);
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	ASSERT_EQ(0, pthread_join(thread, &kind));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, (uintptr_t)kind);
}

TEST_F(event, short_and_long_reads)
{
	struct drm_npu_event two[3];
	int flags = fcntl(self->fd, F_GETFL);

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(-1, read(self->fd, two, sizeof(two)));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	EXPECT_EQ(0, read(self->fd, two, sizeof(two[0]) - 1));
	EXPECT_TRUE(comes(self->fd, 0));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	/* As many whole ones as there is room for. */
	EXPECT_EQ((ssize_t)sizeof(two[0]), read(self->fd, two, sizeof(two[0]) + 31));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	EXPECT_EQ((ssize_t)(2 * sizeof(two[0])), read(self->fd, two, sizeof(two)));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, two[0].kind);
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, two[1].kind);
	EXPECT_FALSE(comes(self->fd, 0));
}

TEST_F(event, asked_twice_and_cancelled)
{
	uint32_t other = npu_context(self->fd);

	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	EXPECT_EQ(-EEXIST, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	/* All or nothing. */
	EXPECT_EQ(-EEXIST, ask(self->fd, self->lane.ctx, ALL, 0));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, 0));
	ASSERT_EQ(0, ask(self->fd, other, ALL, 0));
	ASSERT_EQ(0, cancel(self->fd, self->lane.ctx, ALL));
	ASSERT_EQ(0, cancel(self->fd, self->lane.ctx, ALL));
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	EXPECT_FALSE(comes(self->fd, 100));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, ALL, 0));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, next(self->fd).kind);
}

TEST_F(event, context_ends)
{
	uint32_t other = npu_context(self->fd);
	struct drm_npu_event event;

	ASSERT_EQ(0, ask(self->fd, other, ALL, 0));
	ASSERT_EQ(0, npu_context_destroy(self->fd, other));
	EXPECT_FALSE(comes(self->fd, 100));
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, ALL, 0));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	/* What has come stays. */
	event = next(self->fd);
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, event.kind);
	EXPECT_EQ(self->lane.ctx, event.ctx);
	EXPECT_FALSE(comes(self->fd, 100));
}

/* A file that has too many is refused more, and no other. */
TEST_F(event, too_many)
{
	uint64_t most = npu_param(self->fd, DRM_NPU_PARAM_EVENTS_MAX), i;
	struct npu_lane other;
	int fd = npu_open();

	ASSERT_LT(0, most);
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	for (i = 0; i < most - 1; i++)
		ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_QUEUE_STOPPED, 0));
	/* All or nothing, here too. */
	EXPECT_EQ(-EDQUOT, ask(self->fd, self->lane.ctx,
			       DRM_NPU_EVENT_FAULT | DRM_NPU_EVENT_DEAD, 0));
	EXPECT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, 0));
	EXPECT_EQ(-EDQUOT, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_DEAD, 0));
	EXPECT_EQ(0, cancel(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT));
	EXPECT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_DEAD, 0));
	EXPECT_EQ(-EDQUOT, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, 0));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, next(self->fd).kind);
	EXPECT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_FAULT, 0));

	ASSERT_EQ(0, npu_lane_open(&other, fd));
	EXPECT_EQ(0, ask(fd, other.ctx, ALL, 0));
	ASSERT_EQ(-EIO, stop_queue(&other));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, next(fd).kind);
	npu_lane_unmap(&other);
	close(fd);
}

/* With events that have come, and others that have not; then the device fails. */
TEST_F(event, file_is_closed)
{
	struct npu_lane lane;
	int i, fd;

	for (i = 0; i < 10; i++) {
		fd = npu_open();
		ASSERT_EQ(0, npu_lane_open(&lane, fd));
		ASSERT_EQ(0, ask(fd, lane.ctx, ALL, 0));
		if (i % 2)
			ASSERT_EQ(-EIO, stop_queue(&lane));
		npu_lane_unmap(&lane);
		close(fd);
	}
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, DRM_NPU_EVENT_DEAD, 0));
	ASSERT_EQ(0, write_file("/sys/class/accel/accel0/device/npu_reset", "1"));
	EXPECT_EQ(DRM_NPU_EVENT_DEAD, next(self->fd).kind);
}

TEST_F(event, of_others)
{
	struct npu_lane other;
	int fd = npu_open();

	/* A number that the first file has not. */
	ASSERT_NE(0, npu_context(fd));
	ASSERT_EQ(0, npu_lane_open(&other, fd));
	EXPECT_EQ(-ENOENT, ask(self->fd, other.ctx, ALL, 0));
	EXPECT_EQ(-ENOENT, cancel(self->fd, other.ctx, ALL));
	ASSERT_EQ(0, ask(fd, other.ctx, ALL, 0));
	ASSERT_EQ(-EIO, stop_queue(&other));
	EXPECT_TRUE(comes(fd, 20000));
	EXPECT_FALSE(comes(self->fd, 0));
	npu_lane_unmap(&other);
	close(fd);
}

TEST_F(event, arguments_that_mean_nothing)
{
	struct drm_npu_ctx_events args = {
		.ctx = self->lane.ctx, .kinds = DRM_NPU_EVENT_FAULT,
		.flags = DRM_NPU_CTX_EVENTS_CANCEL,
	};

	args.user_data = 1;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_EVENTS, &args));
	args.user_data = 0;
	args.faults = 1;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_EVENTS, &args));
	args.faults = 0;
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_EVENTS, &args));
}

TEST_F(event, device_sleeps)
{
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(now_ns() + 20000 * MILLISECOND));
	ASSERT_EQ(0, ask(self->fd, self->lane.ctx, ALL, 0));
	EXPECT_TRUE(power_asleep());
	ASSERT_EQ(-EIO, stop_queue(&self->lane));
	EXPECT_EQ(DRM_NPU_EVENT_QUEUE_STOPPED, next(self->fd).kind);
}

TEST_HARNESS_MAIN
