// SPDX-License-Identifier: MIT
/* The device sleeps while its queues are open, and nobody notices but by the time it takes. */
#include <pthread.h>

#include "npu_points.h"
#include "power.h"

#define SEM 1

FIXTURE(power) {
	int fd;
	struct npu_lane lane;
};

FIXTURE_SETUP(power)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(soon()));
}

FIXTURE_TEARDOWN(power)
{
	power_allow(-1);
	close(self->fd);
}

TEST_F(power, first_doorbell_wakes)
{
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 2, soon()));
	EXPECT_TRUE(power_wait_asleep(soon()));
}

/* Fifty times, so that the ring is left and found again at every place. */
TEST_F(power, indices_go_on)
{
	uint64_t before = power_count(self->fd, "suspends");

	for (uint64_t i = 2; i < 52; i++) {
		npu_lane_signal(&self->lane, SEM, 1);
		ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, i, soon()));
		ASSERT_TRUE(power_wait_asleep(soon()));
	}
	EXPECT_GE(power_count(self->fd, "suspends"), before + 50);
}

struct sleeper {
	struct npu_lane *lane;
	uint64_t value;
	int result;
};

static void *sleep_on_it(void *data)
{
	struct sleeper *sleeper = data;

	sleeper->result = npu_wait(sleeper->lane->fd, sleeper->lane->ctx, SEM, sleeper->value,
				   INT64_MAX);
	return NULL;
}

/* Who waits keeps nothing awake, and is woken by what comes after. */
TEST_F(power, waiter_stays)
{
	struct sleeper sleeper = { .lane = &self->lane, .value = 3 };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_on_it, &sleeper));
	usleep(50000);
	ASSERT_TRUE(power_wait_asleep(soon()));
	npu_lane_signal(&self->lane, SEM, 1);
	usleep(50000);
	ASSERT_TRUE(power_wait_asleep(soon()));
	npu_lane_signal(&self->lane, SEM, 1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, sleeper.result);
}

/* A packet that waits is no work, and is there afterwards. */
TEST_F(power, packet_waits)
{
	struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 2, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { 1 },
	};
	struct drm_npu_queue_create create = {
		.ctx = self->lane.ctx, .ring = RING_VA + (1 << 20), .ring_log2 = LANE_LOG2,
	};
	uint32_t handle = npu_buffer(self->fd, LANE_BYTES);
	struct npu_lane other = { .fd = self->fd, .ctx = self->lane.ctx };

	npu_lane_put(&self->lane, &wait);
	npu_lane_signal(&self->lane, SEM, 1);
	usleep(50000);
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, SEM, 2, 0));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, create.ring, LANE_BYTES));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	other.ring = npu_map(self->fd, handle, LANE_BYTES);
	other.doorbell = mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_SHARED, self->fd,
			      (off_t)create.doorbell_offset);
	ASSERT_NE(MAP_FAILED, (void *)other.doorbell);
	ASSERT_TRUE(power_wait_asleep(soon()));
	npu_lane_signal(&other, 2, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 2, soon()));
}

/* A signal of the host's is a doorbell, too. */
TEST_F(power, host_signal)
{
	volatile uint64_t *signal = (volatile uint64_t *)(self->lane.doorbell + 2);

	*signal = 3ull << 48 | 5;
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 5, soon()));
	ASSERT_TRUE(power_wait_asleep(soon()));
	*signal = 3ull << 48 | 1;
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 6, soon()));
}

/* So is a fence that was signalled; the call itself leaves the device alone. */
TEST_F(power, fence_wakes)
{
	uint32_t timeline = syncobj_create(self->fd);
	uint64_t before = power_count(self->fd, "suspends");

	ASSERT_EQ(0, point_signal(self->fd, timeline, 1));
	ASSERT_EQ(0, import_point(&self->lane, timeline, 1, 3, 5));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 5, soon()));
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_LT(before, power_count(self->fd, "suspends"));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 3, 6, 0));
}

/* What a point waits for keeps nothing awake; what is there already wakes nobody. */
TEST_F(power, points_come_from_sleep)
{
	uint32_t timeline = syncobj_create(self->fd);
	uint64_t before = power_count(self->fd, "suspends");

	ASSERT_EQ(0, export_point(&self->lane, SEM, 1, timeline, 1));
	EXPECT_EQ(0, point_wait(self->fd, timeline, 1, soon()));
	EXPECT_TRUE(power_asleep());
	EXPECT_EQ(before, power_count(self->fd, "suspends"));
	ASSERT_EQ(0, export_point(&self->lane, SEM, 2, timeline, 2));
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_EQ(1, point_now(self->fd, timeline));
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(0, point_wait(self->fd, timeline, 2, soon()));
}

TEST_F(power, counters_and_time_go_on)
{
	const struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.destination = RING_VA + 2048, .source = RING_VA + 1920, .bytes = 64,
		.signal_sem = SEM,
	};
	uint64_t tasks = npu_param(self->fd, DRM_NPU_PARAM_COUNTER_TASKS);
	uint64_t time = npu_param(self->fd, DRM_NPU_PARAM_TIME);

	npu_lane_put(&self->lane, &copy);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 2, soon()));
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_EQ(tasks + 1, npu_param(self->fd, DRM_NPU_PARAM_COUNTER_TASKS));
	EXPECT_LT(time, npu_param(self->fd, DRM_NPU_PARAM_TIME));
}

/* What has nothing to do with the device leaves it alone. */
TEST_F(power, questions_do_not_wake)
{
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };
	uint64_t before = power_count(self->fd, "suspends");
	uint32_t handle = npu_buffer(self->fd, PAGE);
	char text[4096];

	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_ALIVE, status.state);
	EXPECT_GT(npu_fdinfo(self->fd, text, sizeof(text)), 0);
	EXPECT_LT(0, npu_param(self->fd, DRM_NPU_PARAM_QUEUES));
	EXPECT_EQ(0, npu_close_handle(self->fd, handle));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, 0));
	EXPECT_TRUE(power_asleep());
	EXPECT_EQ(before, power_count(self->fd, "suspends"));
}

/* What had stopped has stopped, and what did not has not. */
TEST_F(power, stopped_queue)
{
	const struct npu_packet_signal bad = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = SEM,
	};
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };
	struct drm_npu_queue_destroy destroy = { .ctx = self->lane.ctx, .queue = self->lane.queue };
	struct npu_lane good;

	ASSERT_EQ(0, npu_lane_open(&good, self->fd));
	npu_lane_put(&self->lane, &bad);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, SEM, 9, soon()));
	ASSERT_TRUE(power_wait_asleep(soon()));
	npu_lane_signal(&good, SEM, 1);
	EXPECT_EQ(0, npu_wait(self->fd, good.ctx, SEM, 1, soon()));
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, SEM, 9, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_QUEUE_STOPPED, status.state);
	EXPECT_EQ(NPU_ERROR_BAD_PACKET, status.error);
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
}

TEST_F(power, ends_while_asleep)
{
	struct npu_lane other;
	int fd = npu_open();

	ASSERT_EQ(0, npu_lane_open(&other, fd));
	ASSERT_TRUE(power_wait_asleep(soon()));
	EXPECT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	ASSERT_TRUE(power_wait_asleep(soon()));
	/* A doorbell of a queue that is gone does nothing, and wakes nobody. */
	*self->lane.doorbell = 1;
	EXPECT_TRUE(power_asleep());
	munmap((void *)other.doorbell, (size_t)sysconf(_SC_PAGESIZE));
	close(fd);
	ASSERT_TRUE(power_wait_asleep(soon()));
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	npu_lane_signal(&self->lane, SEM, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 1, soon()));
}

/* A graph in which something waits has begun, and cannot be taken up again: the device stays. */
TEST_F(power, graph_keeps_awake)
{
	struct npu_packet_wait *list = (void *)(self->lane.ring + 2048);
	const struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .list = RING_VA + 2048,
		.count = 1,
	};
	volatile uint64_t *signal = (volatile uint64_t *)(self->lane.doorbell + 2);
	uint64_t refused = power_count(self->fd, "suspends_refused");

	*list = (struct npu_packet_wait){
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 4, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { 1 },
	};
	npu_lane_put(&self->lane, &graph);
	npu_lane_signal(&self->lane, SEM, 1);
	usleep(300000);
	EXPECT_FALSE(power_asleep());
	EXPECT_LT(refused, power_count(self->fd, "suspends_refused"));
	*signal = 4ull << 48 | 1;
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, SEM, 2, soon()));
	EXPECT_TRUE(power_wait_asleep(soon()));
}

TEST_HARNESS_MAIN
