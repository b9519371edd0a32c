// SPDX-License-Identifier: MIT
/* A device whose DMA bypasses the caches: it says what it is, and has no user queues. */
#include "npu_test.h"

FIXTURE(incoherent) {
	int fd;
};

FIXTURE_SETUP(incoherent)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(incoherent)
{
	close(self->fd);
}

TEST_F(incoherent, has_neither_contexts_nor_queues)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_CONTEXTS, .value = 1 };
	struct drm_npu_ctx_create create = { 0 };

	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_EQ(0, get.value);
	get.param = DRM_NPU_PARAM_QUEUES;
	get.value = 1;
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
	EXPECT_EQ(0, get.value);
	EXPECT_EQ(0, npu_sysfs_number("npu_limits/device_contexts"));
	EXPECT_EQ(0, npu_sysfs_number("npu_limits/device_queues"));
	EXPECT_EQ(-EOPNOTSUPP, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
	create.flags = ~0u;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_CTX_CREATE, &create));
}

TEST_F(incoherent, says_what_it_is)
{
	uint64_t before = npu_param(self->fd, DRM_NPU_PARAM_TIME);

	EXPECT_NE(0, before);
	EXPECT_LE(before, npu_param(self->fd, DRM_NPU_PARAM_TIME));
	EXPECT_NE(0, npu_param(self->fd, DRM_NPU_PARAM_FIRMWARE_ABI));
	EXPECT_NE(0, npu_param(self->fd, DRM_NPU_PARAM_MAC_CHANNELS));
}

TEST_HARNESS_MAIN
