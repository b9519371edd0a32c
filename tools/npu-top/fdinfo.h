/* SPDX-License-Identifier: MIT */
/* The text of /proc/PID/fdinfo/FD of an NPU's file, by the kernel's DRM usage rules. */
#ifndef TOP_FDINFO_H
#define TOP_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

struct top_fdinfo {
	bool is_npu;
	char bus[32]; /* drm-pdev */
	uint64_t client;
	uint64_t mac_cycles, vector_cycles, dma_cycles;
	uint64_t resident_bytes;
	uint64_t tasks, contexts, queues;
};

/**
 * top_fdinfo_parse() - read it; what is not understood is passed over
 * @text: is written to
 */
void top_fdinfo_parse(char *text, struct top_fdinfo *info);

#endif /* TOP_FDINFO_H */
