// SPDX-License-Identifier: MIT
/* DRM_IOCTL_NPU_GET_PARAM, and the rules that hold for every ioctl. */
#include "npu/npu_regs.h"
#include "npu_test.h"

FIXTURE(param) {
	int fd;
};

FIXTURE_SETUP(param)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(param)
{
	close(self->fd);
}

/* What the manual says of npu-v3; 0: only that it is not zero. */
FIXTURE(known) {
	int fd;
};

FIXTURE_VARIANT(known) {
	uint32_t param;
	uint64_t value;
};

#define KNOWN(name, expected) \
	FIXTURE_VARIANT_ADD(known, name) { \
		.param = DRM_NPU_PARAM_##name, .value = (expected), \
	}

KNOWN(HW_VERSION, NPU_HW_VERSION);
KNOWN(CLUSTERS, 4);
KNOWN(MAC_CHANNELS, 0);
KNOWN(MAC_DEPTH, 0);
KNOWN(LOCAL_BYTES, 512 << 10);
KNOWN(GLOBAL_BYTES, 4096 << 10);
KNOWN(ACC_BYTES, 64 << 10);
KNOWN(DMA_CHANNELS, 8);
KNOWN(DRAM_BYTES_PER_CYCLE, 32);
KNOWN(DRAM_LATENCY, 120);
KNOWN(CLOCK_HZ, 1000000000);
KNOWN(QUEUES, 64);
KNOWN(SLOTS, 8);
KNOWN(CONTEXTS, 64);
KNOWN(SEMAPHORES, 256);
KNOWN(VECTOR_BYTES, 0);
KNOWN(OUT_RESULTS, 0);
KNOWN(FIRMWARE_ABI, 0);
KNOWN(PAGE_SIZE, 4096);
KNOWN(VA_END, 0);
KNOWN(WAITS_MAX, 0);
KNOWN(BINDS_MAX, 0);
KNOWN(PENDING_MAX, 4096);
KNOWN(URING, 1);
KNOWN(MAPPINGS_MAX, 1024);
KNOWN(USERPTR, 1);
KNOWN(TIME, 0);

FIXTURE_SETUP(known)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(known)
{
	close(self->fd);
}

TEST_F(known, value)
{
	struct drm_npu_get_param get = { .param = variant->param };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_NE(0, get.value);
	if (variant->value)
		EXPECT_EQ(variant->value, get.value);
}

TEST_F(known, no_second_value)
{
	struct drm_npu_get_param get = { .param = variant->param, .index = 1, .value = 77 };

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_EQ(77, get.value);
}

TEST_F(param, config_name)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_CONFIG_NAME };
	char name[17] = "";
	int i;

	for (i = 0; i < 2; i++) {
		get.index = i;
		ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
		memcpy(name + 8 * i, &get.value, 8);
	}
	EXPECT_STREQ("npu-v3", name);
	get.index = 2;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
}

TEST_F(param, firmware_version)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_FIRMWARE_VERSION };
	char name[33] = "";
	int i;

	for (i = 0; i < 4; i++) {
		get.index = i;
		ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
		memcpy(name + 8 * i, &get.value, 8);
	}
	EXPECT_EQ(0, strncmp(name, "npu-fw", 6));
	get.index = 4;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
}

TEST_F(param, unknown)
{
	static const uint32_t wrong[] = {
		DRM_NPU_PARAM_LARGE_PAGE + 1, 63, 72, 0x80000000, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct drm_npu_get_param get = { .param = wrong[i] };

		EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	}
}

/* The device's cycles count while it works. */
TEST_F(param, work_takes_time)
{
	struct npu_lane lane;
	uint64_t before;

	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	before = npu_param(self->fd, DRM_NPU_PARAM_TIME);
	npu_lane_signal(&lane, 1, 1);
	ASSERT_EQ(0, npu_wait(self->fd, lane.ctx, 1, 1, now_ns() + 20000 * MILLISECOND));
	EXPECT_GT(npu_param(self->fd, DRM_NPU_PARAM_TIME), before);
}

/* A structure of a later version is taken as long as it asks for nothing new. */
TEST_F(param, longer_structure)
{
	struct {
		struct drm_npu_get_param get;
		uint64_t more[2];
	} wide = { .get.param = DRM_NPU_PARAM_CLUSTERS };
	unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GET_PARAM, wide);

	EXPECT_EQ(0, npu_call(self->fd, request, &wide));
	EXPECT_EQ(4, wide.get.value);
	wide.more[1] = 1;
	EXPECT_EQ(-E2BIG, npu_call(self->fd, request, &wide));
	wide.more[1] = 0;
	wide.more[0] = 1ull << 63;
	EXPECT_EQ(-E2BIG, npu_call(self->fd, request, &wide));
}

TEST_F(param, bad_pointer)
{
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, NULL));
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, (void *)~0xfffull));
}

TEST_F(param, no_such_ioctl)
{
	struct drm_npu_get_param get = { 0 };
	unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + 0x3f, struct drm_npu_get_param);

	EXPECT_EQ(-EINVAL, npu_call(self->fd, request, &get));
}

TEST_F(param, driver_name)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("npu", name);
}

TEST_HARNESS_MAIN
