// SPDX-License-Identifier: MIT
/* What sysfs and debugfs say of the device, its contexts and queues. */
#include "account.h"
#include "power.h"

#define FOLDER "/sys/class/accel/accel0/device/"
#define VA 0x40000000ull
#define COPIES 8
#define COPIED (256 * 1024u)

FIXTURE(info) {
	int fd;
	struct npu_lane lane;
};

FIXTURE_SETUP(info)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(info)
{
	power_allow(-1);
	npu_lane_unmap(&self->lane);
	close(self->fd);
}

static uint64_t number(const char *name)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), FOLDER "%s", name);
	read_line(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/* Whether the file of debugfs has a line with all of this in it. */
static bool says(const char *name, const char *first, const char *second)
{
	char path[512], line[512];
	bool found = false;
	FILE *file = NULL;

	if (npu_debugfs(name, path, sizeof(path)))
		file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, first) && strstr(line, second);
	if (file)
		fclose(file);
	return found;
}

static int copy(struct npu_lane *lane, uint64_t signal)
{
	const struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0), .task_id = 3,
		.destination = VA + COPIED, .source = VA, .bytes = COPIED, .signal_sem = 2,
	};

	for (int i = 0; i < COPIES; i++)
		npu_lane_put(lane, &packet);
	return npu_wait(lane->fd, lane->ctx, 2, signal, now_ns() + 20000 * MILLISECOND);
}

/* As the context's own counter says: of the DMA channels and the one that copies. */
static uint64_t expected_us(int fd, uint64_t dma_cycles)
{
	return dma_cycles / (npu_param(fd, DRM_NPU_PARAM_DMA_CHANNELS) + 1) * 1000000 /
	       npu_param(fd, DRM_NPU_PARAM_CLOCK_HZ);
}

TEST_F(info, busy_time)
{
	uint64_t before = number("npu_busy_time_us"), cycles, after;
	struct npu_context_counters *counters;
	void *area;

	area = mmap(NULL, self->lane.made.semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)self->lane.made.semaphores_offset);
	ASSERT_NE(MAP_FAILED, area);
	counters = (void *)((char *)area + self->lane.made.counters_offset);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, npu_buffer(self->fd, 2 * COPIED), VA,
			      2 * COPIED));
	ASSERT_EQ(0, copy(&self->lane, COPIES));
	after = number("npu_busy_time_us");
	cycles = counters->dma_cycles;
	EXPECT_LT(0, expected_us(self->fd, cycles));
	/* What had been before was rounded down as well. */
	EXPECT_LE(expected_us(self->fd, cycles), after - before);
	EXPECT_GE(expected_us(self->fd, cycles) + 2, after - before);
	munmap(area, self->lane.made.semaphores_bytes);
	/* It stays when the context goes, the device is reset, or sleeps. */
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(after, number("npu_busy_time_us"));
	ASSERT_EQ(0, write_file(FOLDER "npu_reset", "1"));
	EXPECT_EQ(after, number("npu_busy_time_us"));
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(now_ns() + 20000 * MILLISECOND));
	EXPECT_EQ(after, number("npu_busy_time_us"));
	EXPECT_TRUE(power_asleep());
}

TEST_F(info, frequency)
{
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ) / 1000000,
		  number("npu_current_frequency_mhz"));
	ASSERT_EQ(0, power_allow(10));
	ASSERT_TRUE(power_wait_asleep(now_ns() + 20000 * MILLISECOND));
	EXPECT_EQ(0, number("npu_current_frequency_mhz"));
	EXPECT_TRUE(power_asleep());
}

TEST_F(info, memory)
{
	uint64_t before = number("npu_memory_bytes");

	EXPECT_EQ(account_of("device", "bytes"), before);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, npu_buffer(self->fd, COPIED), VA, COPIED));
	EXPECT_LE(before + COPIED, number("npu_memory_bytes"));
	EXPECT_EQ(account_of("device", "bytes"), number("npu_memory_bytes"));
}

TEST_F(info, firmware_version)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_FIRMWARE_VERSION };
	char text[64], name[33] = "";

	for (get.index = 0; get.index < 4; get.index++) {
		ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GET_PARAM, &get));
		memcpy(name + 8 * get.index, &get.value, 8);
	}
	read_line(FOLDER "npu_firmware_version", text, sizeof(text));
	EXPECT_STREQ(name, text);
	EXPECT_STRNE("", text);
}

TEST_F(info, for_everybody_to_read_and_nobody_to_write)
{
	ASSERT_EQ(0, seteuid(1000));
	EXPECT_NE(0, number("npu_current_frequency_mhz"));
	EXPECT_EQ(-EACCES, write_file(FOLDER "npu_busy_time_us", "0"));
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(info, contexts_and_queues)
{
	char mine[32], range[64];

	snprintf(mine, sizeof(mine), " pid=%d ", getpid());
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, npu_buffer(self->fd, COPIED), VA, COPIED));
	EXPECT_TRUE(says("contexts", mine, "faults=0"));
	snprintf(range, sizeof(range), "0x%010llx bytes=%u rw", (unsigned long long)VA, COPIED);
	EXPECT_TRUE(says("contexts", range, ""));
	EXPECT_TRUE(says("queues", mine, "ring=0x"));
	EXPECT_TRUE(says("queues", mine, " error=0"));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_FALSE(says("contexts", mine, ""));
	EXPECT_FALSE(says("contexts", range, ""));
	EXPECT_FALSE(says("queues", mine, ""));
}

TEST_HARNESS_MAIN
