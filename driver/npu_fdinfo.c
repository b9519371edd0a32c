// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/PID/fdinfo says of an open file, by DRM's usage-stats rules. */
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npu_context.h"
#include "npu_cycles.h"

static void npu_fdinfo_engine(struct drm_printer *p, struct npu_device *ndev, const char *name,
			      u32 capacity, u64 cycles)
{
	u32 hz = ndev->caps.clock_hz;

	drm_printf(p, "drm-engine-%s:\t%llu ns\n", name, npu_cycles_to_ns(cycles, hz));
	drm_printf(p, "drm-engine-capacity-%s:\t%u\n", name, capacity);
	drm_printf(p, "drm-cycles-%s:\t%llu\n", name, cycles);
	drm_printf(p, "drm-maxfreq-%s:\t%u Hz\n", name, hz);
}

/**
 * npu_fdinfo_show() - beside what DRM says of every driver
 * @p: where to
 * @file: the file
 *
 * Asks nothing of the device: what it says is in memory.
 */
void npu_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct npu_file *nfile = file->driver_priv;
	struct npu_device *ndev = nfile->ndev;
	unsigned long contexts = 0, queues = 0, id, queue_id;
	struct npu_context *ctx;
	struct npu_queue *queue;
	struct npu_usage usage;

	xa_lock(&nfile->contexts);
	npu_usage_of_file(nfile, &usage);
	xa_for_each(&nfile->contexts, id, ctx) {
		contexts++;
		xa_for_each(&ctx->queues, queue_id, queue)
			queues++;
	}
	xa_unlock(&nfile->contexts);
	npu_fdinfo_engine(p, ndev, "mac", ndev->caps.clusters, usage.mac);
	npu_fdinfo_engine(p, ndev, "vector", ndev->caps.clusters, usage.vector);
	/* The command processor's channel, which copies, is one more. */
	npu_fdinfo_engine(p, ndev, "dma", ndev->caps.dma_channels + 1, usage.dma);
	drm_show_memory_stats(p, file);
	drm_printf(p, "npu-tasks:\t%llu\n", usage.tasks);
	drm_printf(p, "npu-contexts:\t%lu\n", contexts);
	drm_printf(p, "npu-queues:\t%lu\n", queues);
}
