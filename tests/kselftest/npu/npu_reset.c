// SPDX-License-Identifier: MIT
/* A device that is reset: who is told what, what is lost, and that it works again. */
#include <dirent.h>
#include <pthread.h>

#include "npu_test.h"

#define SECOND (1000 * MILLISECOND)
#define DATA_VA 0x20000000ull

FIXTURE(reset) {
	int fd;
	char function[288];
	struct npu_lane lane;
};

static long read_number(const char *function, const char *name)
{
	char path[320], text[32] = "";
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", function, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	return got > 0 ? atol(text) : -1;
}

static bool file_says(const char *function, const char *name, const char *words)
{
	char path[320], text[256] = "";
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", function, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	return got > 0 && strstr(text, words);
}

static int reset_by(const char *function, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", function, name);
	return write_file(path, "1");
}

FIXTURE_SETUP(reset)
{
	char name[256];

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_TRUE(find_function(name, sizeof(name)));
	snprintf(self->function, sizeof(self->function), PCI_DRIVER "/%s", name);
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
	long resets = read_number(self->function, "npu_resets");
	int64_t begin = now_ns();
	struct npu_lane lane;
	pthread_t thread;
	uint32_t buffer;

	ASSERT_EQ(0, try_lane(&self->lane, self->fd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_long, &sleeper));
	usleep(100000);
	if (reset_by(self->function, variant->file) == -ENOENT)
		SKIP(return, "the bus cannot reset it");
	pthread_join(thread, NULL);
	EXPECT_EQ(-EIO, sleeper.result);
	EXPECT_LT(now_ns() - begin, 90 * SECOND);
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, state_of(self->fd, self->lane.ctx));
	EXPECT_LT(resets, read_number(self->function, "npu_resets"));
	EXPECT_TRUE(file_says(self->function, "npu_state", "working"));

	/* What is left of the context refuses everything, and harms nobody. */
	npu_lane_signal(&self->lane, 1, 1);
	EXPECT_EQ(-EIO, npu_wait(self->fd, self->lane.ctx, 1, 2, now_ns() + 60 * SECOND));
	buffer = npu_buffer(self->fd, PAGE);
	ASSERT_NE(0, buffer);
	EXPECT_EQ(-EIO, npu_bind(self->fd, self->lane.ctx, buffer, DATA_VA, PAGE));

	/* A new one works, in the same file and in another. */
	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	EXPECT_EQ(0, try_lane(&lane, self->fd));
	EXPECT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(-ENOENT, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(0, npu_context_destroy(self->fd, lane.ctx));
}

TEST_F(reset, again_and_again)
{
	int i;

	for (i = 0; i < 5; i++) {
		struct npu_lane lane;

		if (reset_by(self->function, variant->file) == -ENOENT)
			SKIP(return, "the bus cannot reset it");
		ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
		ASSERT_EQ(0, try_lane(&lane, self->fd));
	}
	EXPECT_GE(read_number(self->function, "npu_resets"), 5);
}

TEST_F(reset, only_for_the_administrator)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", self->function, variant->file);
	if (access(path, F_OK))
		SKIP(return, "the bus cannot reset it");
	ASSERT_EQ(0, seteuid(1000));
	EXPECT_EQ(-1, open(path, O_WRONLY));
	EXPECT_EQ(EACCES, errno);
	ASSERT_EQ(0, seteuid(0));
}

TEST_HARNESS_MAIN
