// SPDX-License-Identifier: MIT
/*
 * DRM_IOCTL_NPU_SEM_TO_SYNCOBJ and SYNCOBJ_TO_SEM: semaphores and syncobjs, within a process and
 * between two. vgem has fences that somebody else signals.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "npu_points.h"
#include "npu_vgem.h"

FIXTURE(syncobj) {
	int fd;
	struct npu_lane lane;
	uint32_t timeline;
};

FIXTURE_SETUP(syncobj)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	self->timeline = syncobj_create(self->fd);
	ASSERT_NE(0, self->timeline);
}

FIXTURE_TEARDOWN(syncobj)
{
	close(self->fd);
}

TEST_F(syncobj, reached_already)
{
	ASSERT_EQ(0, export_point(&self->lane, 3, 0, self->timeline, 7));
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 7, soon()));
	EXPECT_EQ(7, point_now(self->fd, self->timeline));
}

/* Before it has grown there is no fence at all, and nobody can wait for one by mistake. */
TEST_F(syncobj, comes_when_it_has_grown)
{
	struct drm_syncobj_timeline_wait without = { 0 };
	uint64_t point = 1;

	ASSERT_EQ(0, export_point(&self->lane, 3, 1, self->timeline, 1));
	without.handles = (uintptr_t)&self->timeline;
	without.points = (uintptr_t)&point;
	without.count_handles = 1;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &without));
	EXPECT_EQ(0, point_now(self->fd, self->timeline));
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 1, soon()));
}

TEST_F(syncobj, points_come_in_order)
{
	uint64_t i, last = 0, now;

	for (i = 16; i >= 1; i--)
		ASSERT_EQ(0, export_point(&self->lane, 3, i, self->timeline, 10 * i));
	for (i = 1; i <= 16; i++) {
		npu_lane_signal(&self->lane, 3, 1);
		ASSERT_EQ(0, point_wait(self->fd, self->timeline, 10 * i, soon()));
		now = point_now(self->fd, self->timeline);
		EXPECT_GE(now, last);
		last = now;
	}
	EXPECT_EQ(160, last);
}

/* Once the timeline has come farther, an earlier point is neither lost nor put behind. */
TEST_F(syncobj, points_bound_the_wrong_way_round)
{
	ASSERT_EQ(0, export_point(&self->lane, 3, 1, self->timeline, 20));
	ASSERT_EQ(0, export_point(&self->lane, 3, 2, self->timeline, 10));
	npu_lane_signal(&self->lane, 3, 1);
	ASSERT_EQ(0, point_wait(self->fd, self->timeline, 20, soon()));
	npu_lane_signal(&self->lane, 3, 1);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 2, soon()));
	usleep(50000);
	EXPECT_EQ(20, point_now(self->fd, self->timeline));
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 10, soon()));
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 20, soon()));
}

/* However they were bound, all points of a context that ends come. */
TEST_F(syncobj, all_points_of_a_dead_context)
{
	uint64_t i;

	for (i = 1; i <= 64; i++)
		ASSERT_EQ(0, export_point(&self->lane, i % 8, 1 + i, self->timeline,
					  1 + (i * 37) % 64));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	for (i = 1; i <= 64; i++)
		EXPECT_EQ(0, point_wait(self->fd, self->timeline, i, soon()));
	EXPECT_EQ(64, point_now(self->fd, self->timeline));
}

TEST_F(syncobj, of_a_single_fence)
{
	uint32_t handle = syncobj_create(self->fd);

	ASSERT_EQ(0, export_point(&self->lane, 3, 1, handle, 0));
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_EQ(0, point_wait(self->fd, handle, 0, soon()));
}

/* A wait by eventfd, with what else a program polls. */
TEST_F(syncobj, eventfd_is_told)
{
	struct drm_syncobj_eventfd ask = { .handle = self->timeline, .point = 5 };
	struct pollfd poll_fd = { .events = POLLIN };

	ask.fd = eventfd(0, EFD_CLOEXEC);
	poll_fd.fd = ask.fd;
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_SYNCOBJ_EVENTFD, &ask));
	ASSERT_EQ(0, export_point(&self->lane, 3, 1, self->timeline, 5));
	EXPECT_EQ(0, poll(&poll_fd, 1, 20));
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_EQ(1, poll(&poll_fd, 1, 20000));
	close(ask.fd);
}

/* Nobody is left waiting, whatever happens to who was to signal. */
TEST_F(syncobj, context_is_destroyed)
{
	ASSERT_EQ(0, export_point(&self->lane, 3, 1, self->timeline, 1));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 1, soon()));
	EXPECT_EQ(-ENOENT, export_point(&self->lane, 3, 1, self->timeline, 2));
}

/* Binds points, which come at once, in contexts that another thread makes and ends. */
struct coming_and_going {
	int fd;
	uint32_t timeline;
	uint32_t newest;
	bool ends;
};

static void *bind_points(void *data)
{
	struct coming_and_going *shared = data;
	uint64_t point = 0;

	while (!__atomic_load_n(&shared->ends, __ATOMIC_ACQUIRE)) {
		struct npu_lane lane = {
			.fd = shared->fd,
			.ctx = __atomic_load_n(&shared->newest, __ATOMIC_ACQUIRE),
		};

		export_point(&lane, 0, 0, shared->timeline, ++point);
	}
	return NULL;
}

TEST_F(syncobj, contexts_end_while_points_are_bound)
{
	struct coming_and_going shared = { .fd = self->fd, .timeline = self->timeline };
	pthread_t binders[2];

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&binders[i], NULL, bind_points, &shared));
	for (int i = 0; i < 200; i++) {
		uint32_t ctx = npu_context(self->fd);

		ASSERT_NE(0, ctx);
		__atomic_store_n(&shared.newest, ctx, __ATOMIC_RELEASE);
		usleep((useconds_t)(i % 4) * 500);
		EXPECT_EQ(0, npu_context_destroy(self->fd, ctx));
	}
	__atomic_store_n(&shared.ends, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(binders[i], NULL);
}

TEST_F(syncobj, queue_stops)
{
	struct npu_packet_signal wrong = { .header = NPU_PACKET_HEADER(99, 0, 0) };

	ASSERT_EQ(0, export_point(&self->lane, 3, 1, self->timeline, 1));
	npu_lane_put(&self->lane, &wrong);
	EXPECT_EQ(0, point_wait(self->fd, self->timeline, 1, soon()));
	EXPECT_EQ(-EIO, export_point(&self->lane, 3, 1, self->timeline, 2));
	EXPECT_EQ(0, export_point(&self->lane, 3, 0, self->timeline, 2));
}

TEST_F(syncobj, fence_becomes_a_signal)
{
	ASSERT_EQ(0, point_signal(self->fd, self->timeline, 4));
	ASSERT_EQ(0, import_point(&self->lane, self->timeline, 4, 9, 3));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 9, 3, soon()));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 9, 4, 0));
}

TEST_F(syncobj, what_is_wrong)
{
	struct drm_npu_sem_to_syncobj out = {
		.ctx = self->lane.ctx, .syncobj = self->timeline, .flags = 1,
	};
	struct drm_npu_syncobj_to_sem in = {
		.ctx = self->lane.ctx, .queue = self->lane.queue, .syncobj = self->timeline,
		.point = 1, .add = 1, .flags = 1,
	};

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &out));
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM, &in));
	in.flags = 0;
	in.pad = 1;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM, &in));
	EXPECT_EQ(-EINVAL, export_point(&self->lane, 256, 0, self->timeline, 1));
	EXPECT_EQ(-ENOENT, export_point(&self->lane, 0, 0, self->timeline + 1, 1));
	/* A point that is not there. */
	EXPECT_EQ(-EINVAL, import_point(&self->lane, self->timeline, 1, 0, 1));
	ASSERT_EQ(0, point_signal(self->fd, self->timeline, 1));
	EXPECT_EQ(-EINVAL, import_point(&self->lane, self->timeline, 1, 256, 1));
	EXPECT_EQ(-EINVAL, import_point(&self->lane, self->timeline, 1, 0, 0));
	EXPECT_EQ(-EINVAL, import_point(&self->lane, self->timeline, 1, 0, 1ull << 48));
	EXPECT_EQ(-ENOENT, import_point(&self->lane, self->timeline + 1, 1, 0, 1));
	self->lane.queue++;
	EXPECT_EQ(-ENOENT, import_point(&self->lane, self->timeline, 1, 0, 1));
}

TEST_F(syncobj, no_more_than_the_file_may_have)
{
	uint64_t most = npu_param(self->fd, DRM_NPU_PARAM_PENDING_MAX), i;

	for (i = 0; i < most; i++)
		ASSERT_EQ(0, export_point(&self->lane, 3, 1 + i % 2, self->timeline, 1 + i));
	EXPECT_EQ(-EDQUOT, export_point(&self->lane, 3, 1, self->timeline, 1 + i));
	npu_lane_signal(&self->lane, 3, 2);
	ASSERT_EQ(0, point_wait(self->fd, self->timeline, most, soon()));
	/* Close with as many pending. */
	for (i = 0; i < most / 2; i++)
		ASSERT_EQ(0, export_point(&self->lane, 3, 3, self->timeline, 1 + most + i));
}

/* --------------------------------------------------------------------- fences of somebody else */

FIXTURE(fence) {
	int fd, vgem;
	struct npu_lane lane;
	uint32_t syncobj;
	struct vgem_fence pending;
};

FIXTURE_SETUP(fence)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->vgem = vgem_open();
	ASSERT_GE(self->vgem, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	self->syncobj = syncobj_create(self->fd);
	ASSERT_EQ(0, vgem_fence(self->vgem, &self->pending));
	ASSERT_EQ(0, syncobj_take(self->fd, self->syncobj, self->pending.sync_file));
}

FIXTURE_TEARDOWN(fence)
{
	vgem_fence_end(self->vgem, &self->pending);
	close(self->vgem);
	close(self->fd);
}

static int import_fence(const struct npu_lane *lane, uint32_t syncobj)
{
	return import_point(lane, syncobj, 0, 9, 3);
}

/* The call itself does not wait. */
TEST_F(fence, is_waited_for)
{
	ASSERT_EQ(0, import_fence(&self->lane, self->syncobj));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 9, 1, now_ns() + 50 * MILLISECOND));
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &self->pending));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 9, 3, soon()));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 9, 4, 0));
}

/* It needs neither handle nor descriptor any more. */
TEST_F(fence, is_held)
{
	struct drm_syncobj_destroy destroy = { .handle = self->syncobj };

	ASSERT_EQ(0, import_fence(&self->lane, self->syncobj));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy));
	close(self->pending.sync_file);
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &self->pending));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 9, 3, soon()));
}

TEST_F(fence, comes_after_the_queue)
{
	struct drm_npu_queue_destroy destroy = { self->lane.ctx, self->lane.queue };

	ASSERT_EQ(0, import_fence(&self->lane, self->syncobj));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &self->pending));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 9, 1, now_ns() + 50 * MILLISECOND));
	EXPECT_EQ(-ENOENT, import_fence(&self->lane, self->syncobj));
}

TEST_F(fence, comes_after_the_context)
{
	ASSERT_EQ(0, import_fence(&self->lane, self->syncobj));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &self->pending));
}

TEST_F(fence, comes_after_the_file)
{
	struct npu_lane lane;
	int fd = npu_open();
	uint32_t syncobj = syncobj_create(fd);

	ASSERT_EQ(0, npu_lane_open(&lane, fd));
	ASSERT_EQ(0, syncobj_take(fd, syncobj, self->pending.sync_file));
	ASSERT_EQ(0, import_fence(&lane, syncobj));
	npu_lane_unmap(&lane);
	close(fd);
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &self->pending));
}

/* Pending fences count, until they are signalled or their context ends. */
TEST_F(fence, no_more_than_the_file_may_have)
{
	uint64_t most = npu_param(self->fd, DRM_NPU_PARAM_PENDING_MAX), i;
	uint32_t timeline = syncobj_create(self->fd);
	struct vgem_fence fence;

	for (i = 4; i < most; i++)
		ASSERT_EQ(0, export_point(&self->lane, 3, 1, timeline, i));
	/* vgem lets none be pending for longer than ten seconds. */
	ASSERT_EQ(0, vgem_fence(self->vgem, &fence));
	ASSERT_EQ(0, syncobj_take(self->fd, self->syncobj, fence.sync_file));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, import_fence(&self->lane, self->syncobj));
	EXPECT_EQ(-EDQUOT, import_fence(&self->lane, self->syncobj));
	EXPECT_EQ(-EDQUOT, export_point(&self->lane, 3, 1, timeline, most));
	ASSERT_EQ(0, vgem_fence_end(self->vgem, &fence));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 9, 12, soon()));
	EXPECT_EQ(0, import_fence(&self->lane, self->syncobj));
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 9, 15, soon()));
}

/* ----------------------------------------------------------------------------- two processes */

/* Many more, and nothing else, are in campaign_handover. */
TEST_F(syncobj, two_processes_hand_over)
{
	EXPECT_EQ(0, hand_over(self->fd, 100));
}

TEST_HARNESS_MAIN
