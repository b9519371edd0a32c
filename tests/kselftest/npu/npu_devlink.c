// SPDX-License-Identifier: MIT
/* What devlink says of the device: versions, and how well it is. */
#include "devlink.h"

FIXTURE(devlink) {
	struct devlink link;
};

FIXTURE_SETUP(devlink)
{
	ASSERT_EQ(0, devlink_open(&self->link));
}

FIXTURE_TEARDOWN(devlink)
{
	close(self->link.fd);
}

static void version(char text[16], uint64_t number)
{
	snprintf(text, 16, "%u.%u", (uint32_t)number >> 16 & 0xffff, (uint32_t)number & 0xffff);
}

TEST_F(devlink, tells_versions)
{
	char firmware[16], hardware[16];
	int fd = npu_open();

	version(firmware, npu_param(fd, DRM_NPU_PARAM_FIRMWARE_ABI));
	version(hardware, npu_param(fd, DRM_NPU_PARAM_HW_VERSION));
	close(fd);
	ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_INFO_GET, NULL, 0));
	EXPECT_TRUE(devlink_says(&self->link, "npu"));
	EXPECT_TRUE(devlink_says(&self->link, "asic.id"));
	EXPECT_TRUE(devlink_says(&self->link, "asic.rev"));
	EXPECT_TRUE(devlink_says(&self->link, hardware));
	EXPECT_TRUE(devlink_says(&self->link, "fw"));
	EXPECT_TRUE(devlink_says(&self->link, "fw.mgmt.api"));
	EXPECT_TRUE(devlink_says(&self->link, firmware));
}

static const char *const reporters[] = { "hang", "fault", "firmware", "ecc" };

#define REPORTERS (sizeof(reporters) / sizeof(reporters[0]))

TEST_F(devlink, has_reporters)
{
	uint64_t reports;
	bool healthy;
	uint32_t i;

	for (i = 0; i < REPORTERS; i++) {
		ASSERT_EQ(0, devlink_health(&self->link, reporters[i], &reports, &healthy));
		EXPECT_TRUE(healthy);
		ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DIAGNOSE,
					 reporters[i], 0));
		EXPECT_TRUE(devlink_says(&self->link, "state"));
		EXPECT_TRUE(devlink_says(&self->link, "working"));
		EXPECT_TRUE(devlink_says(&self->link, "reports"));
	}
	EXPECT_EQ(-EINVAL, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DIAGNOSE, "weather",
				       0));
}

static int set_recovery(struct devlink *link, const char *reporter, uint8_t automatic)
{
	struct devlink_request request;

	devlink_device(link, &request, DEVLINK_CMD_HEALTH_REPORTER_SET, reporter, 0);
	devlink_put(&request, DEVLINK_ATTR_HEALTH_REPORTER_AUTO_RECOVER, &automatic, 1);
	return devlink_send(link, &request);
}

/* What is over when it is reported leaves the device alone, and leaves a dump. */
TEST_F(devlink, reports)
{
	long resets = npu_sysfs_number("npu_resets");
	uint64_t reports;
	bool healthy;
	uint32_t i;

	for (i = 0; i < REPORTERS; i++) {
		ASSERT_EQ(0, devlink_health(&self->link, reporters[i], &reports, &healthy));
		ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_TEST,
					 reporters[i], 0));
		EXPECT_TRUE(devlink_wait(&self->link, reporters[i], reports + 1, true));
		ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DUMP_GET,
					 reporters[i], NLM_F_DUMP));
		EXPECT_TRUE(devlink_says(&self->link, "last failure"));
		EXPECT_TRUE(devlink_says(&self->link, "registers of the last core dump"));
		EXPECT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DUMP_CLEAR,
					 reporters[i], 0));
	}
	EXPECT_EQ(resets, npu_sysfs_number("npu_resets"));
}

/* Who wants to have a say is asked, and then resets the device, as a write of npu_reset does. */
TEST_F(devlink, recovers_when_asked)
{
	long resets = npu_sysfs_number("npu_resets");
	struct npu_lane lane;
	uint64_t reports;
	bool healthy;
	int fd = npu_open();

	ASSERT_EQ(0, npu_lane_open(&lane, fd));
	ASSERT_EQ(0, devlink_health(&self->link, "hang", &reports, &healthy));
	ASSERT_EQ(0, set_recovery(&self->link, "hang", false));
	ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_TEST, "hang", 0));
	EXPECT_TRUE(devlink_wait(&self->link, "hang", reports + 1, false));
	EXPECT_EQ(resets, npu_sysfs_number("npu_resets"));
	EXPECT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_RECOVER, "hang", 0));
	EXPECT_EQ(resets + 1, npu_sysfs_number("npu_resets"));
	npu_lane_signal(&lane, 1, 1);
	EXPECT_EQ(-EIO, npu_wait(fd, lane.ctx, 1, 1, now_ns() + 60000 * MILLISECOND));
	ASSERT_EQ(0, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DIAGNOSE, "hang", 0));
	EXPECT_TRUE(devlink_says(&self->link, "somebody asked for a reset"));
	ASSERT_EQ(0, devlink_health(&self->link, "hang", &reports, &healthy));
	EXPECT_TRUE(healthy);
	EXPECT_EQ(0, set_recovery(&self->link, "hang", true));
	npu_lane_unmap(&lane);
	/* It works again. */
	EXPECT_EQ(0, npu_context_destroy(fd, npu_context(fd)));
	close(fd);
}

TEST_F(devlink, for_the_administrator)
{
	ASSERT_EQ(0, seteuid(1000));
	EXPECT_EQ(-EPERM, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_RECOVER, "hang", 0));
	EXPECT_EQ(-EPERM, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_TEST, "hang", 0));
	EXPECT_EQ(-EPERM, devlink_ask(&self->link, DEVLINK_CMD_HEALTH_REPORTER_DUMP_GET, "hang",
				      NLM_F_DUMP));
	ASSERT_EQ(0, seteuid(0));
}

TEST_HARNESS_MAIN
