// SPDX-License-Identifier: MIT
/* DRM_IOCTL_NPU_QUEUE_CREATE and QUEUE_DESTROY, doorbells, and packets that go through. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "npu_test.h"

FIXTURE(queue) {
	int fd;
	struct npu_lane lane;
};

FIXTURE_SETUP(queue)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(queue)
{
	close(self->fd);
}

static struct drm_npu_queue_create good(uint32_t ctx)
{
	return (struct drm_npu_queue_create){ .ctx = ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2 };
}

static int64_t soon(void)
{
	return now_ns() + 20000 * MILLISECOND;
}

/* One field wrong. */
FIXTURE(wrong) {
	int fd;
	uint32_t ctx;
};

FIXTURE_VARIANT(wrong) {
	struct drm_npu_queue_create create;
	int error;
};

#define WRONG(name, expected, ...) \
	FIXTURE_VARIANT_ADD(wrong, name) { \
		.create = { .ctx = 1, .ring = RING_VA, .ring_log2 = LANE_LOG2, __VA_ARGS__ }, \
		.error = (expected), \
	}
#pragma GCC diagnostic ignored "-Woverride-init"
WRONG(no_context, -ENOENT, .ctx = 0);
WRONG(unknown_context, -ENOENT, .ctx = 900);
WRONG(priority, -EINVAL, .priority = 16);
WRONG(priority_huge, -EINVAL, .priority = UINT32_MAX);
WRONG(ring_odd, -EINVAL, .ring = RING_VA + 32);
WRONG(ring_not_bound, -EINVAL, .ring = RING_VA + (1 << 20));
WRONG(ring_half_bound, -EINVAL, .ring = RING_VA + PAGE - 256);
WRONG(ring_beyond, -EINVAL, .ring = 1ull << 40);
WRONG(ring_wraps, -EINVAL, .ring = ~63ull);
WRONG(log2_small, -EINVAL, .ring_log2 = 1);
WRONG(log2_zero, -EINVAL, .ring_log2 = 0);
WRONG(log2_large, -EINVAL, .ring_log2 = 17);
WRONG(log2_huge, -EINVAL, .ring_log2 = UINT32_MAX);
WRONG(log2_more_than_bound, -EINVAL, .ring_log2 = 8);
WRONG(flags, -EINVAL, .flags = 1);
WRONG(last_flag, -EINVAL, .flags = 1u << 31);
WRONG(pad, -EINVAL, .pad = 1);
WRONG(pad2, -EINVAL, .pad2 = 1);

FIXTURE_SETUP(wrong)
{
	uint32_t handle;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->ctx = npu_context(self->fd);
	handle = npu_buffer(self->fd, PAGE);
	ASSERT_EQ(0, npu_bind(self->fd, self->ctx, handle, RING_VA, PAGE));
}

FIXTURE_TEARDOWN(wrong)
{
	close(self->fd);
}

TEST_F(wrong, create)
{
	struct drm_npu_queue_create create = variant->create;

	if (create.ctx == 1)
		create.ctx = self->ctx;
	EXPECT_EQ(variant->error, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	EXPECT_EQ(0, create.queue);
	create = good(self->ctx);
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
}

/* A ring that can only be read is refused; one that becomes so later stops its queue, no other. */
TEST_F(queue, ring_bound_read_only)
{
	uint64_t va = RING_VA + (1 << 20);
	uint32_t handle = npu_buffer(self->fd, PAGE);
	struct drm_npu_bind_op ops[2] = {
		{ .type = DRM_NPU_BIND_UNMAP, .va = va, .bytes = PAGE },
		{ .flags = DRM_NPU_BIND_READ, .handle = handle, .va = va, .bytes = PAGE },
	};
	struct drm_npu_queue_create create = good(self->lane.ctx);
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };
	struct npu_lane lane = { .fd = self->fd, .ctx = self->lane.ctx };

	create.ring = va;
	ASSERT_EQ(0, npu_bind_ops(self->fd, self->lane.ctx, &ops[1], 1));
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, va, PAGE));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, va, PAGE));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	ASSERT_EQ(0, npu_bind_ops(self->fd, self->lane.ctx, ops, 2));
	lane.ring = npu_map(self->fd, handle, PAGE);
	lane.doorbell = mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_SHARED, self->fd,
			     (off_t)create.doorbell_offset);
	ASSERT_NE(MAP_FAILED, (void *)lane.doorbell);
	npu_lane_signal(&lane, 1, 1);
	EXPECT_EQ(-EIO, npu_wait(self->fd, lane.ctx, 1, 100, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_QUEUE_STOPPED, status.state);
	EXPECT_EQ(NPU_ERROR_RING, status.error);
	EXPECT_EQ(create.queue, status.queue);
	/* Another context's does not notice. */
	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	npu_lane_signal(&lane, 1, 1);
	EXPECT_EQ(0, npu_wait(self->fd, lane.ctx, 1, 1, soon()));
}

/* A ring that another queue has worked on goes on where that one stood, in its second lap. */
TEST_F(queue, begins_where_it_is_told)
{
	const uint64_t first = (1 << LANE_LOG2) + 5;
	uint64_t va = RING_VA + (1 << 20);
	struct npu_lane lane = { .fd = self->fd, .ctx = self->lane.ctx, .written = first };
	struct drm_npu_queue_create create = good(self->lane.ctx);
	uint32_t handle = npu_buffer(self->fd, PAGE);
	struct npu_ring_control *control;
	unsigned int i;

	create.ring = va;
	create.first = first;
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, va, PAGE));
	lane.ring = npu_map(self->fd, handle, PAGE);
	control = (void *)lane.ring;
	/* What the first lap has left. */
	for (i = 0; i < 1 << LANE_LOG2; i++) {
		uint32_t header = NPU_PACKET_HEADER(NPU_PACKET_NOP, 0, 1);

		memcpy(lane.ring + NPU_RING_PACKETS_OFFSET + i * NPU_PACKET_BYTES, &header,
		       sizeof(header));
	}
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	lane.doorbell = mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_SHARED, self->fd,
			     (off_t)create.doorbell_offset);
	ASSERT_NE(MAP_FAILED, (void *)lane.doorbell);
	npu_lane_signal(&lane, 1, 1);
	npu_lane_signal(&lane, 1, 1);
	EXPECT_EQ(0, npu_wait(self->fd, lane.ctx, 1, 2, soon()));
	EXPECT_EQ(first + 2, __atomic_load_n(&control->read_index, __ATOMIC_ACQUIRE));
	EXPECT_EQ(0, control->error);
}

TEST_F(queue, destroy)
{
	struct drm_npu_queue_destroy destroy = { .ctx = self->lane.ctx, .queue = self->lane.queue };
	struct drm_npu_queue_destroy wrong = { .ctx = self->lane.ctx, .queue = 0 };

	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &wrong));
	wrong.queue = UINT32_MAX;
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &wrong));
	wrong.queue = self->lane.queue;
	wrong.ctx = self->lane.ctx + 1;
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &wrong));
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
}

/* A context's queue is not another context's of the same file. */
TEST_F(queue, destroy_by_another_context)
{
	struct drm_npu_queue_destroy destroy = {
		.ctx = npu_context(self->fd),
		.queue = self->lane.queue,
	};

	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	npu_lane_signal(&self->lane, 1, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 1, 1, soon()));
}

TEST_F(queue, bad_pointers)
{
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, NULL));
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, NULL));
}

TEST_F(queue, all_in_use)
{
	uint32_t queues = (uint32_t)npu_param(self->fd, DRM_NPU_PARAM_QUEUES);
	uint32_t made = 1;
	int ret = 0;

	for (; made <= queues; made++) {
		struct drm_npu_queue_create create = good(self->lane.ctx);

		ret = npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create);
		if (ret)
			break;
	}
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(queues, made);
}

TEST_F(queue, high_priority_needs_a_right)
{
	struct rlimit none = { 0 };
	int child = fork(), status;

	if (!child) {
		int fd = npu_open();
		struct npu_lane lane;
		struct drm_npu_queue_create create;

		if (npu_lane_open(&lane, fd) || setrlimit(RLIMIT_NICE, &none) || setuid(1000))
			_exit(1);
		create = good(lane.ctx);
		create.priority = 8;
		if (npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create) != -EACCES)
			_exit(2);
		create = good(lane.ctx);
		create.priority = 7;
		if (npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create))
			_exit(3);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(queue, highest_priority_of_root)
{
	struct drm_npu_queue_create create = good(self->lane.ctx);

	create.priority = 15;
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
}

TEST_F(queue, doorbell_mappings)
{
	struct drm_npu_queue_create create = good(self->lane.ctx);

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	EXPECT_EQ((uint64_t)sysconf(_SC_PAGESIZE), create.doorbell_bytes);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, create.doorbell_bytes, PROT_WRITE, MAP_PRIVATE, self->fd,
				   (off_t)create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * create.doorbell_bytes, PROT_WRITE, MAP_SHARED,
				   self->fd, (off_t)create.doorbell_offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, create.doorbell_bytes, PROT_WRITE | PROT_EXEC, MAP_SHARED,
				   self->fd, (off_t)create.doorbell_offset));
}

TEST_F(queue, signals)
{
	int i;

	/* More than the ring has packets: it goes round. */
	for (i = 1; i <= 100; i++) {
		npu_lane_signal(&self->lane, 5, 2);
		ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 5, 2 * i, soon()));
	}
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 5, 201, 0));
}

TEST_F(queue, copy)
{
	uint32_t handle = npu_buffer(self->fd, 2 * PAGE);
	uint32_t *memory = npu_map(self->fd, handle, 2 * PAGE);
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1,
		.destination = 0x20001000,
		.source = 0x20000000,
		.bytes = PAGE,
		.signal_sem = 2,
	};
	unsigned int i, wrong = 0;

	ASSERT_NE(MAP_FAILED, (void *)memory);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, 0x20000000, 2 * PAGE));
	for (i = 0; i < PAGE / 4; i++)
		memory[i] = i * 2654435761u;
	npu_lane_put(&self->lane, &packet);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 2, 1, soon()));
	for (i = 0; i < PAGE / 4; i++)
		wrong += memory[PAGE / 4 + i] != i * 2654435761u;
	EXPECT_EQ(0, wrong);
}

/* A copy from where nothing is bound faults; the fault names task and address, and work goes on. */
TEST_F(queue, fault)
{
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 77,
		.destination = RING_VA + 2048,
		.source = 0x30000000,
		.bytes = 64,
		.signal_sem = 2,
	};
	struct drm_npu_ctx_status status = {
		.ctx = self->lane.ctx,
		.flags = DRM_NPU_CTX_STATUS_TASK,
		.task_id = 77,
	};

	npu_lane_put(&self->lane, &packet);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 2, 1, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_ALIVE, status.state);
	EXPECT_EQ(1, status.faults);
	EXPECT_EQ(NPU_ERROR_MMU_UNMAPPED, status.fault_error);
	EXPECT_EQ(77, status.task_id);
	EXPECT_EQ(0, status.fault_access);
	EXPECT_EQ(0x30000000, status.fault_address);
	status = (struct drm_npu_ctx_status){
		.ctx = self->lane.ctx,
		.flags = DRM_NPU_CTX_STATUS_TASK,
		.task_id = 78,
	};
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(0, status.fault_error);
	npu_lane_signal(&self->lane, 2, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 2, 2, soon()));
}

/* What is unbound is not reached any more. */
TEST_F(queue, fault_after_unbind)
{
	uint32_t handle = npu_buffer(self->fd, PAGE);
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1,
		.destination = 0x20000000,
		.source = RING_VA,
		.bytes = 64,
		.signal_sem = 2,
	};
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };

	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, 0x20000000, PAGE));
	npu_lane_put(&self->lane, &packet);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 2, 1, soon()));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, 0x20000000, PAGE));
	npu_lane_put(&self->lane, &packet);
	ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 2, 2, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(1, status.faults);
	EXPECT_EQ(1, status.fault_access);
	EXPECT_EQ(0x20000000, status.fault_address);
}

/* A malformed packet stops its queue; waits fail until the queue is destroyed. */
TEST_F(queue, bad_packet)
{
	struct { uint32_t header; char rest[60]; } packet = { .header = 0xee };
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };
	struct drm_npu_queue_destroy destroy = { .ctx = self->lane.ctx, .queue = self->lane.queue };
	struct npu_lane other;

	ASSERT_EQ(0, npu_lane_open(&other, self->fd));
	npu_lane_put(&self->lane, &packet);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, 3, 1, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(DRM_NPU_CTX_QUEUE_STOPPED, status.state);
	EXPECT_EQ(NPU_ERROR_BAD_PACKET, status.error);
	EXPECT_EQ(self->lane.queue, status.queue);
	/* What is met counts before anything else. */
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 3, 0, soon()));
	/* Nobody else notices. */
	npu_lane_signal(&other, 3, 1);
	EXPECT_EQ(0, npu_wait(self->fd, other.ctx, 3, 1, soon()));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 3, 1, now_ns() + 20 * MILLISECOND));
}

TEST_F(queue, doorbell_of_a_destroyed_queue)
{
	struct drm_npu_queue_destroy destroy = { .ctx = self->lane.ctx, .queue = self->lane.queue };
	struct drm_npu_queue_create create = good(self->lane.ctx);

	*self->lane.doorbell = 0;
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy));
	*self->lane.doorbell = 1;
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	*self->lane.doorbell = 2;
	close(self->fd);
	*self->lane.doorbell = 3;
	self->fd = npu_open();
	create.ctx = self->lane.ctx;
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
}

TEST_F(queue, doorbell_is_not_inherited)
{
	int child, status;

	*self->lane.doorbell = 0;
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		*self->lane.doorbell = 1;
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSEGV, WTERMSIG(status));
}

/* Killed with packets on their way; the device serves the next one. */
TEST_F(queue, owner_is_killed)
{
	int round, child, status;

	for (round = 0; round < 10; round++) {
		child = fork();
		if (!child) {
			struct npu_lane lane;

			if (npu_lane_open(&lane, npu_open()))
				_exit(1);
			for (;;)
				npu_lane_signal(&lane, 1, 1);
		}
		usleep(20000 + 3000 * round);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	npu_lane_signal(&self->lane, 1, 1);
	EXPECT_EQ(0, npu_wait(self->fd, self->lane.ctx, 1, 1, soon()));
}

TEST_HARNESS_MAIN
