/* SPDX-License-Identifier: MIT */
/*
 * What the campaigns share: programs that do to the driver, many times over, what a test does once.
 * They print KTAP, and take their length as an argument.
 */
#ifndef NPU_CAMPAIGN_H
#define NPU_CAMPAIGN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "npu_test.h"

#define SECOND (1000 * MILLISECOND)

static inline uint32_t roll(uint64_t *dice, uint32_t sides)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return (uint32_t)((*dice >> 11) % sides);
}

/* One line of the result; false is counted. */
static inline bool campaign_result(bool good, const char *format, ...)
{
	static unsigned int number;
	va_list list;

	printf("%sok %u ", good ? "" : "not ", ++number);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	putchar('\n');
	fflush(stdout);
	return good;
}

/* A device that is bound again while somebody still has the old one open gets another number. */
static inline int npu_open_any(void)
{
	char path[32];
	int fd;

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The same, when it is not there yet. */
static inline int npu_open_soon(int64_t deadline)
{
	int fd = npu_open_any();

	while (fd < 0 && now_ns() < deadline) {
		usleep(20000);
		fd = npu_open_any();
	}
	return fd;
}

/* How many contexts, or queues of one context, can be made until the device has no more. */
static inline uint64_t count_contexts(int fd)
{
	uint64_t count = 0;

	while (npu_context(fd))
		count++;
	return count;
}

static inline uint64_t count_queues(int fd)
{
	struct npu_lane lane;
	uint64_t count = 1;

	if (npu_lane_open(&lane, fd))
		return 0;
	for (;; count++) {
		struct drm_npu_queue_create create = {
			.ctx = lane.ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
		};

		if (npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create))
			break;
	}
	npu_lane_unmap(&lane);
	return count;
}

/* Nothing is left on the device of those who have gone: not a context, a queue, a task. */
static inline bool device_is_idle(void)
{
	uint64_t contexts, queues, tasks, dma;
	int fd = npu_open_soon(now_ns() + 20 * SECOND);
	bool idle;

	if (fd < 0)
		return campaign_result(false, "the device cannot be opened: %s", strerror(errno));
	queues = count_queues(fd);
	idle = campaign_result(queues == npu_param(fd, DRM_NPU_PARAM_QUEUES),
			       "all queues are free: %llu", (unsigned long long)queues);
	close(fd);
	fd = npu_open_any();
	contexts = count_contexts(fd);
	idle &= campaign_result(contexts == npu_param(fd, DRM_NPU_PARAM_CONTEXTS),
				"all contexts are free: %llu", (unsigned long long)contexts);
	tasks = npu_param(fd, DRM_NPU_PARAM_COUNTER_TASKS);
	dma = npu_param(fd, DRM_NPU_PARAM_COUNTER_DMA);
	usleep(200000);
	idle &= campaign_result(tasks == npu_param(fd, DRM_NPU_PARAM_COUNTER_TASKS) &&
				dma == npu_param(fd, DRM_NPU_PARAM_COUNTER_DMA),
				"nothing runs any more");
	close(fd);
	return idle;
}

#endif /* NPU_CAMPAIGN_H */
