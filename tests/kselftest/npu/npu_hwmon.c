// SPDX-License-Identifier: MIT
/* What the device says of itself by hwmon. That it became too hot: campaign_reset hot. */
#include <limits.h>

#include "hwmon.h"
#include "power.h"

FIXTURE(hwmon) {
	int fd;
	char text[64];
};

FIXTURE_SETUP(hwmon)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(hwmon)
{
	power_allow(-1);
	close(self->fd);
}

TEST_F(hwmon, says_what_it_is)
{
	hwmon_read("name", self->text, sizeof(self->text));
	EXPECT_STREQ("npu", self->text);
	hwmon_read("freq1_label", self->text, sizeof(self->text));
	EXPECT_STREQ("clock", self->text);
	hwmon_read("freq1_input", self->text, sizeof(self->text));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ), strtoull(self->text, NULL, 10));
	EXPECT_LT(0, npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ));
	hwmon_read("temp1_emergency_alarm", self->text, sizeof(self->text));
	EXPECT_STREQ("0", self->text);
}

static long sensor(const char *file)
{
	char text[64];

	hwmon_read(file, text, sizeof(text));
	return *text ? strtol(text, NULL, 10) : LONG_MIN;
}

/* As the manual has it: the air of 25 degrees at least, and never more than 85 with it. */
TEST_F(hwmon, sensors)
{
	EXPECT_EQ(95000, sensor("temp1_max"));
	EXPECT_EQ(85000, sensor("temp1_max_hyst"));
	EXPECT_EQ(110000, sensor("temp1_emergency"));
	EXPECT_LE(25000, sensor("temp1_input"));
	EXPECT_GE(85000, sensor("temp1_input"));
	EXPECT_LE(0, sensor("power1_input"));
	EXPECT_EQ(0, sensor("power1_input") % 1000);
}

/* No sensor, no value. */
TEST_F(hwmon, says_no_more_than_it_knows)
{
	static const char *const nothing[] = { "temp1_crit", "in0_input", "energy1_input" };
	char path[512];
	unsigned int i;

	for (i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		ASSERT_TRUE(hwmon_path(nothing[i], path, sizeof(path)));
		EXPECT_EQ(-1, access(path, F_OK));
		EXPECT_EQ(ENOENT, errno);
	}
}

TEST_F(hwmon, for_everybody_to_read_and_nobody_to_write)
{
	char path[512];

	ASSERT_EQ(0, seteuid(1000));
	hwmon_read("freq1_input", self->text, sizeof(self->text));
	EXPECT_STRNE("", self->text);
	ASSERT_TRUE(hwmon_path("temp1_emergency_alarm", path, sizeof(path)));
	EXPECT_EQ(-EACCES, write_file(path, "0"));
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(hwmon, leaves_the_device_asleep)
{
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(now_ns() + 20000 * MILLISECOND));
	hwmon_read("temp1_emergency_alarm", self->text, sizeof(self->text));
	EXPECT_STREQ("0", self->text);
	EXPECT_EQ(0, sensor("freq1_input"));
	EXPECT_EQ(LONG_MIN, sensor("temp1_input"));
	EXPECT_EQ(LONG_MIN, sensor("power1_input"));
	EXPECT_TRUE(power_asleep());
}

/* A reset for any other reason is no alarm. */
TEST_F(hwmon, heat_is_not_the_only_reason)
{
	ASSERT_EQ(0, write_file("/sys/class/accel/accel0/device/npu_reset", "1"));
	hwmon_read("temp1_emergency_alarm", self->text, sizeof(self->text));
	EXPECT_STREQ("0", self->text);
	EXPECT_EQ(0, npu_context_destroy(self->fd, npu_context(self->fd)));
}

TEST_HARNESS_MAIN
