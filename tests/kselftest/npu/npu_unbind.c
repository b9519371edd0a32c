// SPDX-License-Identifier: MIT
/* The device goes away under a program that uses it. Needs root, and a device behind PCI. */
#include <linux/udmabuf.h>
#include <pthread.h>

#include "npu_test.h"

#define DRIVER "/sys/bus/pci/drivers/npu/"

FIXTURE(unbind) {
	int fd;
	struct npu_lane lane;
	char bus[64];
	bool gone;
};

static int tell(const char *file, const char *bus)
{
	int fd = open(file, O_WRONLY);
	ssize_t done = write(fd, bus, strlen(bus));

	close(fd);
	return done == (ssize_t)strlen(bus) ? 0 : -1;
}

/* A file or a mapping of the old device would keep its number from the new one. */
static void let_go(int fd, struct npu_lane *lane)
{
	munmap((void *)lane->doorbell, (size_t)sysconf(_SC_PAGESIZE));
	munmap(lane->ring, LANE_BYTES);
	close(fd);
}

FIXTURE_SETUP(unbind)
{
	char target[256];
	ssize_t length = readlink("/sys/class/accel/accel0/device", target, sizeof(target) - 1);

	ASSERT_GT(length, 0);
	target[length] = 0;
	snprintf(self->bus, sizeof(self->bus), "%s", strrchr(target, '/') + 1);
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(unbind)
{
	let_go(self->fd, &self->lane);
	if (self->gone)
		EXPECT_EQ(0, tell(DRIVER "bind", self->bus));
}

TEST_F(unbind, every_call_says_so)
{
	struct drm_npu_gem_create create = { .size = PAGE };
	struct drm_npu_ctx_create context = { 0 };
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };

	self->gone = !tell(DRIVER "unbind", self->bus);
	ASSERT_TRUE(self->gone);
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &context));
	EXPECT_EQ(-ENODEV, npu_bind(self->fd, self->lane.ctx, self->lane.handle, 0x20000000, PAGE));
	EXPECT_EQ(-ENODEV, npu_context_destroy(self->fd, self->lane.ctx));
	/* Mappings stay, doorbells do nothing. */
	self->lane.ring[100] = 1;
	*self->lane.doorbell = 1;
}

/* What came from elsewhere is not mapped for a device that has no driver: a kernel that checks DMA tells. */
TEST_F(unbind, with_imported_memory)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = 4 * PAGE };
	struct drm_prime_handle taken = { 0 };
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	ASSERT_GE(maker, 0);
	create.memfd = (uint32_t)memfd_create("import", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ASSERT_EQ(0, ftruncate((int)create.memfd, 4 * PAGE));
	ASSERT_EQ(0, fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	taken.fd = ioctl(maker, UDMABUF_CREATE, &create);
	ASSERT_GE(taken.fd, 0);
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, taken.handle, 0x20000000, 4 * PAGE));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, 0x20000000 + PAGE, PAGE));
	self->gone = !tell(DRIVER "unbind", self->bus);
	ASSERT_TRUE(self->gone);
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken));
	close(taken.fd);
	close((int)create.memfd);
	close(maker);
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
	self->gone = !tell(DRIVER "unbind", self->bus);
	ASSERT_TRUE(self->gone);
	pthread_join(thread, &result);
	EXPECT_EQ(-ENODEV, (int)(intptr_t)result);
	EXPECT_LT(now_ns() - before, 15000 * MILLISECOND);
}

TEST_F(unbind, works_again)
{
	int round;

	for (round = 0; round < 5; round++) {
		self->gone = !tell(DRIVER "unbind", self->bus);
		ASSERT_TRUE(self->gone);
		let_go(self->fd, &self->lane);
		ASSERT_EQ(0, tell(DRIVER "bind", self->bus));
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
