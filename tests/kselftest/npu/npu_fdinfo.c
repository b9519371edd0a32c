// SPDX-License-Identifier: MIT
/* /proc/PID/fdinfo, by the rules of the kernel's drm-usage-stats.rst, and counters in the area. */
#include <pthread.h>

#include "npu_test.h"

#define MEMORY_VA 0x20000000ull
#define RECORD_OFFSET (2 * PAGE)

FIXTURE(fdinfo) {
	int fd;
};

FIXTURE_SETUP(fdinfo)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(fdinfo)
{
	close(self->fd);
}

static int64_t soon(void)
{
	return now_ns() + 20000 * MILLISECOND;
}

/* The value of a key, -1 when it is not there or is in another unit. */
static int64_t value_of(int fd, const char *key, const char *unit)
{
	char text[8192], end[32] = "";
	long long value;
	char *line;

	npu_fdinfo(fd, text, sizeof(text));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t length = strlen(key);

		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		if (sscanf(line + length + 1, " %lld %31s", &value, end) < 1 || strcmp(end, unit))
			return -1;
		return value;
	}
	return -1;
}

/* A lane with memory to copy in. */
struct copier {
	struct npu_lane lane;
	unsigned char *memory;
	uint64_t copies;
};

static int copier_open(struct copier *copier, int fd)
{
	uint32_t handle = npu_buffer(fd, 3 * PAGE);
	int ret;

	copier->copies = 0;
	ret = npu_lane_open(&copier->lane, fd);
	if (ret)
		return ret;
	copier->memory = npu_map(fd, handle, 3 * PAGE);
	if (copier->memory == MAP_FAILED)
		return -errno;
	return npu_bind(fd, copier->lane.ctx, handle, MEMORY_VA, 3 * PAGE);
}

/* Copies, and waits; the cycles its record tells, 0 when there is none. */
static uint64_t copy(struct copier *copier, uint32_t bytes)
{
	struct npu_record *record = (void *)(copier->memory + RECORD_OFFSET);
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.source = MEMORY_VA,
		.destination = MEMORY_VA + PAGE,
		.record = MEMORY_VA + RECORD_OFFSET,
		.bytes = bytes,
		.signal_sem = 1,
	};

	memset(record, 0, sizeof(*record));
	npu_lane_put(&copier->lane, &packet);
	if (npu_wait(copier->lane.fd, copier->lane.ctx, 1, ++copier->copies, soon()))
		return 0;
	return record->status == NPU_STATUS_DONE ? record->dma_cycles : 0;
}

TEST_F(fdinfo, a_new_file)
{
	static const char * const engines[] = { "mac", "vector", "dma" };
	int64_t clock = (int64_t)npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ);
	char key[64];
	unsigned int i;

	EXPECT_LT(0, value_of(self->fd, "drm-client-id", ""));
	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "drm-engine-%s", engines[i]);
		EXPECT_EQ(0, value_of(self->fd, key, "ns"));
		snprintf(key, sizeof(key), "drm-cycles-%s", engines[i]);
		EXPECT_EQ(0, value_of(self->fd, key, ""));
		snprintf(key, sizeof(key), "drm-maxfreq-%s", engines[i]);
		EXPECT_EQ(clock, value_of(self->fd, key, "Hz"));
	}
	EXPECT_EQ((int64_t)npu_param(self->fd, DRM_NPU_PARAM_CLUSTERS),
		  value_of(self->fd, "drm-engine-capacity-mac", ""));
	EXPECT_EQ((int64_t)npu_param(self->fd, DRM_NPU_PARAM_CLUSTERS),
		  value_of(self->fd, "drm-engine-capacity-vector", ""));
	EXPECT_EQ((int64_t)npu_param(self->fd, DRM_NPU_PARAM_DMA_CHANNELS) + 1,
		  value_of(self->fd, "drm-engine-capacity-dma", ""));
	EXPECT_EQ(0, value_of(self->fd, "npu-tasks", ""));
	EXPECT_EQ(0, value_of(self->fd, "npu-contexts", ""));
}

/* When a task's semaphore is seen, its cycles are told. */
TEST_F(fdinfo, cycles_are_those_of_the_records)
{
	uint64_t clock = npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ);
	struct copier copier;
	uint64_t sum = 0;
	int i;

	ASSERT_EQ(0, copier_open(&copier, self->fd));
	for (i = 1; i <= 20; i++) {
		uint64_t cycles = copy(&copier, (uint32_t)(i * 200));

		ASSERT_NE(0, cycles);
		sum += cycles;
		ASSERT_EQ((int64_t)sum, value_of(self->fd, "drm-cycles-dma", ""));
		ASSERT_EQ(i, value_of(self->fd, "npu-tasks", ""));
	}
	EXPECT_EQ((int64_t)(sum * 1000000000 / clock), value_of(self->fd, "drm-engine-dma", "ns"));
	EXPECT_EQ(0, value_of(self->fd, "drm-cycles-mac", ""));
	EXPECT_EQ(0, value_of(self->fd, "drm-cycles-vector", ""));
}

TEST_F(fdinfo, contexts_add_up_and_stay_when_they_are_gone)
{
	struct copier copiers[3];
	int64_t sum = 0;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, copier_open(&copiers[i], self->fd));
		sum += (int64_t)copy(&copiers[i], 1000);
	}
	EXPECT_LT(0, sum);
	EXPECT_EQ(sum, value_of(self->fd, "drm-cycles-dma", ""));
	EXPECT_EQ(3, value_of(self->fd, "npu-contexts", ""));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_context_destroy(self->fd, copiers[i].lane.ctx));
		EXPECT_EQ(sum, value_of(self->fd, "drm-cycles-dma", ""));
	}
	EXPECT_EQ(0, value_of(self->fd, "npu-contexts", ""));
	/* A new context, of the same hardware number, begins at zero. */
	ASSERT_EQ(0, copier_open(&copiers[0], self->fd));
	EXPECT_EQ(sum, value_of(self->fd, "drm-cycles-dma", ""));
	sum += (int64_t)copy(&copiers[0], 64);
	EXPECT_EQ(sum, value_of(self->fd, "drm-cycles-dma", ""));
}

TEST_F(fdinfo, each_file_has_its_own)
{
	struct copier mine, others;
	int other = npu_open();
	int64_t cycles;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, copier_open(&mine, self->fd));
	ASSERT_EQ(0, copier_open(&others, other));
	cycles = (int64_t)copy(&others, 4096);
	EXPECT_EQ(cycles, value_of(other, "drm-cycles-dma", ""));
	EXPECT_EQ(0, value_of(self->fd, "drm-cycles-dma", ""));
	EXPECT_NE(value_of(other, "drm-client-id", ""), value_of(self->fd, "drm-client-id", ""));
	close(other);
}

/* The same, without a system call. */
TEST_F(fdinfo, counters_in_the_area)
{
	const struct npu_context_counters *counters;
	const struct drm_npu_ctx_create *made;
	struct copier copier;
	const char *area;
	uint64_t cycles;

	ASSERT_EQ(0, copier_open(&copier, self->fd));
	made = &copier.lane.made;
	EXPECT_EQ(0, made->counters_offset % sizeof(*counters));
	EXPECT_GE(made->counters_offset, made->status_offset + sizeof(uint32_t));
	ASSERT_LE(made->counters_offset + sizeof(*counters), made->semaphores_bytes);
	area = mmap(NULL, made->semaphores_bytes, PROT_READ, MAP_SHARED, self->fd,
		    (off_t)made->semaphores_offset);
	ASSERT_NE(MAP_FAILED, (void *)area);
	counters = (const void *)(area + made->counters_offset);
	EXPECT_EQ(0, counters->tasks);
	cycles = copy(&copier, 4096);
	EXPECT_NE(0, cycles);
	EXPECT_EQ(cycles, counters->dma_cycles);
	EXPECT_EQ(1, counters->tasks);
	EXPECT_EQ((int64_t)cycles, value_of(self->fd, "drm-cycles-dma", ""));
}

struct watcher {
	int fd;
	bool stop;
	int64_t last;
	unsigned int looks, fell;
	pthread_t thread;
};

static void *watch(void *argument)
{
	struct watcher *watcher = argument;

	while (!__atomic_load_n(&watcher->stop, __ATOMIC_ACQUIRE)) {
		int64_t now = value_of(watcher->fd, "drm-cycles-dma", "");

		watcher->fell += now < watcher->last;
		watcher->last = now;
		watcher->looks++;
	}
	return NULL;
}

/* Who looks while contexts come and go sees the sums only grow. */
TEST_F(fdinfo, never_falls)
{
	struct watcher watcher = { .fd = self->fd };
	int i;

	ASSERT_EQ(0, pthread_create(&watcher.thread, NULL, watch, &watcher));
	for (i = 0; i < 40; i++) {
		struct copier copier;

		ASSERT_EQ(0, copier_open(&copier, self->fd));
		EXPECT_NE(0, copy(&copier, 4096));
		ASSERT_EQ(0, npu_context_destroy(self->fd, copier.lane.ctx));
	}
	__atomic_store_n(&watcher.stop, true, __ATOMIC_RELEASE);
	pthread_join(watcher.thread, NULL);
	EXPECT_EQ(0, watcher.fell);
	EXPECT_LT(0, watcher.looks);
}

TEST_F(fdinfo, memory)
{
	int64_t total = value_of(self->fd, "drm-total-memory", "KiB");
	uint32_t ctx = npu_context(self->fd);
	uint32_t handle;

	/* Zero has no unit in some kernels. */
	EXPECT_GE(0, total);
	handle = npu_buffer(self->fd, 64 * PAGE);
	EXPECT_EQ(256, value_of(self->fd, "drm-total-memory", "KiB"));
	EXPECT_GE(0, value_of(self->fd, "drm-resident-memory", "KiB"));
	ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, MEMORY_VA, 64 * PAGE));
	EXPECT_EQ(256, value_of(self->fd, "drm-resident-memory", "KiB"));
}

/* htop and others give up beyond 4 KiB. */
TEST_F(fdinfo, short_with_many_contexts)
{
	char text[8192];
	ssize_t bytes;
	int i;

	for (i = 0; i < 40; i++)
		ASSERT_NE(0, npu_context(self->fd));
	bytes = npu_fdinfo(self->fd, text, sizeof(text));
	EXPECT_GT(bytes, 0);
	EXPECT_LT(bytes, 2048);
	EXPECT_EQ(40, value_of(self->fd, "npu-contexts", ""));
}

TEST_HARNESS_MAIN
