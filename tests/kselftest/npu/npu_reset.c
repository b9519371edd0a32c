// SPDX-License-Identifier: MIT
/* A device that is reset: who is told what, what is lost, and that it works again. */
#include <dirent.h>
#include <pthread.h>

#include "npu_test.h"

#define SECOND (1000 * MILLISECOND)
#define DATA_VA 0x20000000ull

#define DEVICE "/sys/class/accel/accel0/device"

FIXTURE(reset) {
	int fd;
	struct npu_lane lane;
};

static bool file_says(const char *name, const char *words)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), DEVICE "/%s", name);
	read_line(path, text, sizeof(text));
	return strstr(text, words) != NULL;
}

static int reset_by(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), DEVICE "/%s", name);
	return write_file(path, "1");
}

FIXTURE_SETUP(reset)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(reset)
{
	close(self->fd);
}

static int try_lane(struct npu_lane *lane, int fd)
{
	npu_lane_signal(lane, 1, 1);
	return npu_wait(fd, lane->ctx, 1, 1, now_ns() + 60 * SECOND);
}

/* A device on a chip has no bus that resets it. */
static bool can_reset_by(const char *name)
{
	char function[64];

	return strcmp(name, "reset") || find_on_bus("pci", ":", function, sizeof(function));
}

struct sleeper {
	int fd, result;
	uint32_t ctx;
};

static void *sleep_long(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->result = npu_wait(sleeper->fd, sleeper->ctx, 3, 1, now_ns() + 100 * SECOND);
	return NULL;
}

static uint32_t state_of(int fd, uint32_t ctx)
{
	struct drm_npu_ctx_status status = { .ctx = ctx };

	return npu_call(fd, DRM_IOCTL_NPU_CTX_STATUS, &status) ? ~0u : status.state;
}

FIXTURE_VARIANT(reset) {
	const char *file;
};

FIXTURE_VARIANT_ADD(reset, by_driver) {
	.file = "npu_reset",
};

FIXTURE_VARIANT_ADD(reset, by_bus) {
	.file = "reset",
};

TEST_F(reset, everybody_is_told)
{
	struct sleeper sleeper = { .fd = self->fd, .ctx = self->lane.ctx };
	long resets = npu_sysfs_number("npu_resets");
	struct drm_npu_syncobj_to_sem fence = {
		.ctx = self->lane.ctx, .queue = self->lane.queue, .add = 1,
	};
	struct drm_npu_queue_create queue = {
		.ctx = self->lane.ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
	};
	struct npu_lane lane;
	pthread_t thread;
	uint32_t buffer;

	if (!can_reset_by(variant->file))
		return;
	ASSERT_EQ(0, try_lane(&self->lane, self->fd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_long, &sleeper));
	usleep(100000);
	ASSERT_EQ(0, reset_by(variant->file));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EIO, sleeper.result);
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, state_of(self->fd, self->lane.ctx));
	EXPECT_LT(resets, npu_sysfs_number("npu_resets"));
	EXPECT_TRUE(file_says("npu_state", "working"));

	/* What is left of the context refuses everything, and harms nobody. */
	npu_lane_signal(&self->lane, 1, 1);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, 1, 2, now_ns() + 60 * SECOND));
	buffer = npu_buffer(self->fd, PAGE);
	ASSERT_NE(0, buffer);
	EXPECT_EQ(-EIO, npu_bind(self->fd, self->lane.ctx, buffer, DATA_VA, PAGE));
	EXPECT_EQ(-EIO, npu_call(self->fd, DRM_IOCTL_NPU_SYNCOBJ_TO_SEM, &fence));
	EXPECT_EQ(-EIO, npu_call(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &queue));

	/* A new one works, in the same file and in another. */
	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	EXPECT_EQ(0, try_lane(&lane, self->fd));
	EXPECT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(-ENOENT, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(0, npu_context_destroy(self->fd, lane.ctx));
}

struct maker {
	int fd;
	uint32_t create_failed, destroy_failed, wrong;
	bool end;
};

static void let_go(struct npu_lane *lane)
{
	npu_lane_unmap(lane);
	npu_context_destroy(lane->fd, lane->ctx);
	npu_close_handle(lane->fd, lane->handle);
}

/* Contexts and queues come and go, whatever happens. */
static void *make_and_break(void *argument)
{
	struct maker *maker = argument;

	while (!__atomic_load_n(&maker->end, __ATOMIC_RELAXED)) {
		struct drm_npu_ctx_create create = { 0 };
		struct drm_npu_queue_destroy destroy;
		struct npu_lane lane;
		int ret;

		ret = npu_call(maker->fd, DRM_IOCTL_NPU_CTX_CREATE, &create);
		if (!ret)
			npu_context_destroy(maker->fd, create.ctx);
		else if (ret == -EIO)
			__atomic_fetch_add(&maker->create_failed, 1, __ATOMIC_RELAXED);
		else
			maker->wrong++;
		if (!npu_lane_open(&lane, maker->fd)) {
			destroy = (struct drm_npu_queue_destroy){ lane.ctx, lane.queue };
			ret = npu_call(maker->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
			if (ret == -EIO)
				__atomic_fetch_add(&maker->destroy_failed, 1, __ATOMIC_RELAXED);
			else if (ret && ret != -ENOENT)
				maker->wrong++;
		}
		let_go(&lane);
	}
	return NULL;
}

/* What was asked of the device just then fails, and leaves nothing behind. */
TEST_F_TIMEOUT(reset, fails_just_then, 200)
{
	struct maker maker = { .fd = self->fd };
	int64_t end = now_ns() + 150 * SECOND;
	struct npu_lane lane;
	pthread_t thread;

	if (!can_reset_by(variant->file))
		return;
	ASSERT_EQ(0, pthread_create(&thread, NULL, make_and_break, &maker));
	while (now_ns() < end && (!__atomic_load_n(&maker.create_failed, __ATOMIC_RELAXED) ||
				  !__atomic_load_n(&maker.destroy_failed, __ATOMIC_RELAXED))) {
		reset_by(variant->file);
		usleep(random() % 3000);
	}
	__atomic_store_n(&maker.end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_NE(0, maker.create_failed);
	EXPECT_NE(0, maker.destroy_failed);
	EXPECT_EQ(0, maker.wrong);
	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	EXPECT_EQ(0, try_lane(&lane, self->fd));
}

TEST_F(reset, again_and_again)
{
	long before = npu_sysfs_number("npu_resets");
	int i;

	if (!can_reset_by(variant->file))
		return;
	for (i = 0; i < 5; i++) {
		struct npu_lane lane;

		ASSERT_EQ(0, reset_by(variant->file));
		ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
		ASSERT_EQ(0, try_lane(&lane, self->fd));
	}
	EXPECT_EQ(before + 5, npu_sysfs_number("npu_resets"));
}

TEST_F(reset, only_for_the_administrator)
{
	char path[64];

	if (!can_reset_by(variant->file))
		return;
	snprintf(path, sizeof(path), DEVICE "/%s", variant->file);
	ASSERT_EQ(0, seteuid(1000));
	EXPECT_EQ(-1, open(path, O_WRONLY));
	EXPECT_EQ(EACCES, errno);
	ASSERT_EQ(0, seteuid(0));
}

TEST_HARNESS_MAIN
