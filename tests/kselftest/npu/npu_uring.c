// SPDX-License-Identifier: MIT
/* Waiting for semaphores by io_uring: DRM_NPU_URING_OP_WAIT and DRM_NPU_URING_OP_CANCEL. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "npu_test.h"
#include "uring.h"

#define ENTRIES 64
#define FIXED 1 /* the file is registered */
#define ASYNC 2 /* threads of io_uring's begin each command */

/* How waits have ended. */
struct counts {
	int met, late, cancelled, other;
};

static void count(struct counts *counts, int result)
{
	switch (result) {
	case 0:
		counts->met++;
		break;
	case -ETIME:
		counts->late++;
		break;
	case -ECANCELED:
		counts->cancelled++;
		break;
	default:
		counts->other++;
	}
}

FIXTURE(uring) {
	int fd;
	struct npu_lane lane;
	struct uring ring;
	struct counts counts;
};

FIXTURE_VARIANT(uring) {
	uint32_t setup;
	uint32_t how;
};

FIXTURE_VARIANT_ADD(uring, plain) { 0 };
FIXTURE_VARIANT_ADD(uring, polled_by_kernel) { .setup = IORING_SETUP_SQPOLL };
FIXTURE_VARIANT_ADD(uring, polled_fixed) { .setup = IORING_SETUP_SQPOLL, .how = FIXED };
FIXTURE_VARIANT_ADD(uring, deferred) {
	.setup = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
};
FIXTURE_VARIANT_ADD(uring, large) { .setup = IORING_SETUP_SQE128, .how = FIXED };
FIXTURE_VARIANT_ADD(uring, async) { .how = ASYNC };

FIXTURE_SETUP(uring)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	ASSERT_EQ(0, uring_open(&self->ring, ENTRIES, variant->setup));
	if (variant->how & FIXED)
		ASSERT_EQ(0, uring_register_file(&self->ring, self->fd));
}

FIXTURE_TEARDOWN(uring)
{
	uring_close(&self->ring);
	close(self->fd);
}

static void push(struct uring *ring, struct io_uring_sqe *sqe, uint32_t how)
{
	if (how & FIXED) {
		sqe->fd = 0;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	if (how & ASYNC)
		sqe->flags |= IOSQE_ASYNC;
	uring_push(ring);
}

#define WAIT(sem, value, timeout_us, user_data) \
	push(&self->ring, uring_wait(&self->ring, self->fd, self->lane.ctx, sem, value, \
				     timeout_us, user_data), variant->how)
#define CANCEL(of, user_data) \
	push(&self->ring, uring_cancel(&self->ring, self->fd, of, user_data), variant->how)
#define ENTER(count) ASSERT_EQ(0, uring_enter(&self->ring, count))
#define EXPECT_NEXT(data, result) do { \
	struct uring_result next_ = uring_next(&self->ring); \
	EXPECT_EQ((uint64_t)(data), next_.user_data); \
	EXPECT_EQ(result, next_.res); \
} while (0)

TEST_F(uring, already_met)
{
	WAIT(3, 0, URING_NEVER, 7);
	ENTER(1);
	EXPECT_NEXT(7, 0);
}

TEST_F(uring, only_look)
{
	WAIT(3, 1, 0, 7);
	ENTER(1);
	EXPECT_NEXT(7, -ETIME);
}

TEST_F(uring, completes)
{
	struct uring_result cqe;

	WAIT(3, 1, URING_NEVER, 7);
	ENTER(0);
	usleep(30000);
	EXPECT_FALSE(uring_take(&self->ring, &cqe));
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_NEXT(7, 0);
	EXPECT_FALSE(uring_take(&self->ring, &cqe));
}

/* One who sleeps in io_uring is woken. */
TEST_F(uring, wakes_the_sleeper)
{
	int i;

	for (i = 1; i <= 50; i++) {
		WAIT(4, i, URING_NEVER, i);
		ENTER(0);
		npu_lane_signal(&self->lane, 4, 1);
		ENTER(1);
		EXPECT_NEXT(i, 0);
	}
}

TEST_F(uring, in_order_of_values)
{
	int i;

	for (i = 0; i < 32; i++)
		WAIT(3, 32 - i, URING_NEVER, 32 - i);
	ENTER(0);
	usleep(50000);
	for (i = 1; i <= 32; i++) {
		npu_lane_signal(&self->lane, 3, 1);
		EXPECT_NEXT(i, 0);
	}
}

TEST_F(uring, time_out_never_early)
{
	int64_t before;
	int i;

	for (i = 1; i <= 5; i++) {
		before = now_ns();
		WAIT(3, 1, i * 7000, i);
		ENTER(1);
		EXPECT_NEXT(i, -ETIME);
		EXPECT_GE(now_ns() - before, i * 7 * MILLISECOND);
	}
}

TEST_F(uring, cancelled)
{
	WAIT(3, 1, URING_NEVER, 7);
	WAIT(3, 1, URING_NEVER, 8);
	WAIT(4, 1, 20000000, 7);
	ENTER(0);
	usleep(50000);
	CANCEL(7, 99);
	ENTER(1);
	for (int i = 0; i < 3; i++) {
		struct uring_result cqe = uring_next(&self->ring);

		EXPECT_TRUE(cqe.user_data == 7 || cqe.user_data == 99);
		EXPECT_EQ(cqe.user_data == 7 ? -ECANCELED : 2, cqe.res);
	}
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_NEXT(8, 0);
	CANCEL(7, 99);
	ENTER(1);
	EXPECT_NEXT(99, -ENOENT);
}

/* Three may end a wait at the same time; it ends once. */
TEST_F(uring, ends_once)
{
	int i, j;

	for (i = 1; i <= 100; i++) {
		WAIT(5, i, 300 + i % 7 * 100, 1);
		ENTER(0);
		usleep(i % 5 * 100);
		npu_lane_signal(&self->lane, 5, 1);
		CANCEL(1, 2);
		ENTER(0);
		for (j = 0; j < 2; j++) {
			struct uring_result cqe = uring_next(&self->ring);

			ASSERT_TRUE(cqe.user_data == 1 || cqe.user_data == 2);
			if (cqe.user_data == 1)
				count(&self->counts, cqe.res);
			else
				EXPECT_TRUE(cqe.res == 1 || cqe.res == -ENOENT);
		}
		ASSERT_EQ(0, npu_wait(self->fd, self->lane.ctx, 5, i, now_ns() + 20000 * MILLISECOND));
	}
	EXPECT_EQ(0, self->counts.other);
	EXPECT_EQ(100, self->counts.met + self->counts.late + self->counts.cancelled);
}

TEST_F(uring, context_is_destroyed)
{
	WAIT(3, 1, URING_NEVER, 7);
	ENTER(0);
	usleep(20000);
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_NEXT(7, -EIO);
	WAIT(3, 1, URING_NEVER, 8);
	ENTER(0);
	EXPECT_NEXT(8, -ENOENT);
}

TEST_F(uring, queue_stops)
{
	struct npu_packet_signal wrong = { .header = NPU_PACKET_HEADER(99, 0, 0) };

	WAIT(3, 1, URING_NEVER, 7);
	ENTER(0);
	usleep(20000);
	npu_lane_put(&self->lane, &wrong);
	EXPECT_NEXT(7, -EIO);
	/* What is met counts before anything else. */
	WAIT(3, 0, URING_NEVER, 8);
	WAIT(3, 1, URING_NEVER, 9);
	ENTER(0);
	for (int i = 0; i < 2; i++) {
		struct uring_result cqe = uring_next(&self->ring);

		EXPECT_EQ(cqe.user_data == 8 ? 0 : -EIO, cqe.res);
	}
}

/* The ring goes with its waits; context and file are as good as before. */
TEST_F(uring, ring_ends)
{
	int i, round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < 20; i++)
			WAIT(3, 100, i % 2 ? URING_NEVER : 30000000, i);
		ENTER(0);
		usleep(10000);
		uring_close(&self->ring);
		ASSERT_EQ(0, uring_open(&self->ring, ENTRIES, variant->setup));
		if (variant->how & FIXED)
			ASSERT_EQ(0, uring_register_file(&self->ring, self->fd));
	}
	WAIT(3, 1, URING_NEVER, 7);
	ENTER(0);
	npu_lane_signal(&self->lane, 3, 1);
	EXPECT_NEXT(7, 0);
}

/* --------------------------------------------------------------------------- without variants */

FIXTURE(once) {
	int fd;
	struct npu_lane lane;
	struct uring ring;
};

FIXTURE_SETUP(once)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	ASSERT_EQ(0, uring_open(&self->ring, ENTRIES, 0));
}

FIXTURE_TEARDOWN(once)
{
	uring_close(&self->ring);
	close(self->fd);
}

static int result_of(struct uring *ring)
{
	uring_push(ring);
	return uring_enter(ring, 1) ?: uring_next(ring).res;
}

TEST_F(once, what_is_wrong)
{
	struct drm_npu_uring_cancel pad = { .user_data = 1, .pad = 1 };
	struct io_uring_sqe *sqe;
	int fd = self->fd;
	uint32_t ctx = self->lane.ctx;

	EXPECT_EQ(1, npu_param(fd, DRM_NPU_PARAM_URING));
	uring_wait(&self->ring, fd, 0, 3, 0, 0, 1);
	EXPECT_EQ(-ENOENT, result_of(&self->ring));
	uring_wait(&self->ring, fd, ctx + 1, 3, 0, 0, 1);
	EXPECT_EQ(-ENOENT, result_of(&self->ring));
	uring_wait(&self->ring, fd, ctx, 256, 0, 0, 1);
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	uring_wait(&self->ring, fd, ctx, UINT16_MAX, 0, 0, 1);
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	uring_command(&self->ring, fd, DRM_NPU_URING_OP_CANCEL, &pad, 1);
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	uring_command(&self->ring, fd, DRM_NPU_URING_OP_CANCEL + 1, &pad, 1);
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	uring_command(&self->ring, fd, DRM_IOCTL_NPU_SEM_WAIT, &pad, 1);
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	sqe = uring_wait(&self->ring, fd, ctx, 3, 0, 0, 1);
	sqe->addr = 1;
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	sqe = uring_wait(&self->ring, fd, ctx, 3, 0, 0, 1);
	sqe->len = 1;
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	sqe = uring_wait(&self->ring, fd, ctx, 3, 0, 0, 1);
	sqe->ioprio = 1;
	EXPECT_EQ(-EINVAL, result_of(&self->ring));
	uring_wait(&self->ring, fd, ctx, 3, 0, 0, 1);
	EXPECT_EQ(0, result_of(&self->ring));
	/* Neither is a call. */
	EXPECT_EQ(-EINVAL, npu_call(fd, DRM_NPU_URING_OP_WAIT, &pad));
	EXPECT_EQ(-EINVAL, npu_call(fd, DRM_NPU_URING_OP_CANCEL, &pad));
}

/* What others wait for is theirs: rings and files are told apart. */
TEST_F(once, cancels_only_its_own)
{
	struct npu_lane other_lane;
	struct uring other;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_lane_open(&other_lane, fd));
	ASSERT_EQ(0, uring_open(&other, ENTRIES, 0));
	uring_wait(&other, self->fd, self->lane.ctx, 3, 1, URING_NEVER, 7);
	uring_push(&other);
	ASSERT_EQ(0, uring_enter(&other, 0));
	uring_wait(&self->ring, fd, other_lane.ctx, 3, 1, URING_NEVER, 7);
	uring_push(&self->ring);
	uring_cancel(&self->ring, self->fd, 7, 99);
	EXPECT_EQ(-ENOENT, result_of(&self->ring));
	npu_lane_signal(&self->lane, 3, 1);
	npu_lane_signal(&other_lane, 3, 1);
	EXPECT_EQ(0, uring_next(&other).res);
	EXPECT_EQ(0, uring_next(&self->ring).res);
	uring_close(&other);
	close(fd);
}

TEST_F(once, no_more_than_the_file_may_have)
{
	uint32_t most = (uint32_t)npu_param(self->fd, DRM_NPU_PARAM_PENDING_MAX);
	struct uring_result cqe;
	struct uring ring;
	uint32_t i, cancelled = 0;

	ASSERT_EQ(0, uring_open(&ring, most, 0));
	for (i = 0; i < most; i++) {
		uring_wait(&ring, self->fd, self->lane.ctx, i % 200, 1 + i, URING_NEVER, 5);
		uring_push(&ring);
	}
	ASSERT_EQ(0, uring_enter(&ring, 0));
	EXPECT_FALSE(uring_take(&ring, &cqe));
	uring_wait(&self->ring, self->fd, self->lane.ctx, 3, 1, URING_NEVER, 6);
	EXPECT_EQ(-EDQUOT, result_of(&self->ring));
	/* Sleeping in a call is not bounded by it, and neither is what is met. */
	EXPECT_EQ(-ETIME, npu_wait(self->fd, self->lane.ctx, 3, 1, now_ns() + MILLISECOND));
	uring_wait(&self->ring, self->fd, self->lane.ctx, 3, 0, URING_NEVER, 6);
	EXPECT_EQ(0, result_of(&self->ring));
	uring_cancel(&ring, self->fd, 5, 6);
	uring_push(&ring);
	ASSERT_EQ(0, uring_enter(&ring, most + 1));
	for (i = 0; i <= most; i++) {
		cqe = uring_next(&ring);
		if (cqe.user_data == 5 && cqe.res == -ECANCELED)
			cancelled++;
		else
			EXPECT_EQ((int)most, cqe.res);
	}
	EXPECT_EQ(most, cancelled);
	uring_wait(&self->ring, self->fd, self->lane.ctx, 3, 1, 1000, 6);
	EXPECT_EQ(-ETIME, result_of(&self->ring));
	uring_close(&ring);
}

/* Killed with waits of every kind of ring; the device's contexts are free afterwards. */
TEST_F(once, process_is_killed)
{
	static const uint32_t setups[] = {
		0, IORING_SETUP_SQPOLL, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
	};
	uint32_t contexts = (uint32_t)npu_param(self->fd, DRM_NPU_PARAM_CONTEXTS);
	struct npu_lane lane;
	struct uring ring;
	uint32_t i, round;
	int64_t before;
	int ready[2], status;
	pid_t child;

	for (round = 0; round < contexts + 3; round++) {
		ASSERT_EQ(0, pipe(ready));
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			int fd = npu_open();

			if (fd < 0 || npu_lane_open(&lane, fd) || uring_open(&ring, ENTRIES, setups[round % 3]))
				_exit(1);
			for (i = 0; i < 8; i++) {
				uring_wait(&ring, fd, lane.ctx, i, 1, i % 2 ? URING_NEVER : 60000000, i);
				uring_push(&ring);
			}
			if (uring_enter(&ring, 0))
				_exit(2);
			usleep(5000);
			if (write(ready[1], "", 1) != 1)
				_exit(3);
			for (;;)
				pause();
		}
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &status, 1));
		close(ready[0]);
		before = now_ns();
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_LT(now_ns() - before, 15000 * MILLISECOND);
	}
}

struct shared {
	struct npu_lane *lane;
	uint32_t sem;
};

static void *signal_often(void *argument)
{
	struct shared *shared = argument;
	int i;

	for (i = 0; i < 200; i++) {
		npu_lane_signal(shared->lane, (uint16_t)shared->sem, 1);
		/* The ring has room for 16 packets. */
		if (i % 8 == 7)
			npu_wait(shared->lane->fd, shared->lane->ctx, shared->sem, (uint64_t)i - 6,
				 now_ns() + 20000 * MILLISECOND);
	}
	return NULL;
}

/* Many waits at a time while the device works and threads begin them: each completes once. */
TEST_F(once, none_is_lost)
{
	struct shared shared = { &self->lane, 9 };
	unsigned char seen[200] = { 0 };
	struct io_uring_sqe *sqe;
	pthread_t thread;
	int i, j;

	ASSERT_EQ(0, pthread_create(&thread, NULL, signal_often, &shared));
	for (i = 0; i < 200; i += 50) {
		for (j = i; j < i + 50; j++) {
			sqe = uring_wait(&self->ring, self->fd, self->lane.ctx, 9, (uint64_t)j + 1,
					 URING_NEVER, j);
			if (j % 3 == 0)
				sqe->flags |= IOSQE_ASYNC;
			uring_push(&self->ring);
		}
		ASSERT_EQ(0, uring_enter(&self->ring, 0));
	}
	for (i = 0; i < 200; i++) {
		struct uring_result cqe = uring_next(&self->ring);

		ASSERT_LT(cqe.user_data, 200);
		EXPECT_EQ(0, cqe.res);
		EXPECT_EQ(0, seen[cqe.user_data]++);
	}
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
