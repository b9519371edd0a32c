// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/PID/fdinfo says of an open file, by DRM's usage-stats rules. */
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npu_context.h"
#include "npu_cycles.h"

/* The device stores each counter at once, in pages that only it writes. */
static u64 npu_usage_read(const __le64 *counter)
{
	return le64_to_cpu(READ_ONCE(*counter));
}

static void npu_usage_add(struct npu_usage *sum, const struct npu_context *ctx)
{
	sum->mac += npu_usage_read(&ctx->counters->mac_cycles);
	sum->vector += npu_usage_read(&ctx->counters->vector_cycles);
	sum->dma += npu_usage_read(&ctx->counters->dma_cycles);
	sum->tasks += npu_usage_read(&ctx->counters->tasks);
}

/**
 * npu_usage_begin_end() - take a context out of its file's table, still counting what it costs
 * @file: the file
 * @id: number of the context
 *
 * Return: the context with the table's reference, to be shut and then handed to npu_usage_end();
 * NULL when there is none.
 */
struct npu_context *npu_usage_begin_end(struct npu_file *file, u32 id)
{
	struct npu_context *ctx;

	xa_lock(&file->contexts);
	ctx = xa_load(&file->contexts, id);
	/* A number that is only reserved is somebody's who is about to put a context there. */
	if (ctx) {
		__xa_erase(&file->contexts, id);
		list_add(&ctx->ending, &file->ending);
	}
	xa_unlock(&file->contexts);
	return ctx;
}

/**
 * npu_usage_end() - keep what a context has cost for as long as its file is open
 * @file: the file
 * @ctx: the context, after npu_context_shut(): it costs no more
 */
void npu_usage_end(struct npu_file *file, struct npu_context *ctx)
{
	xa_lock(&file->contexts);
	list_del_init(&ctx->ending);
	npu_usage_add(&file->ended, ctx);
	xa_unlock(&file->contexts);
}

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
	usage = nfile->ended;
	list_for_each_entry(ctx, &nfile->ending, ending)
		npu_usage_add(&usage, ctx);
	xa_for_each(&nfile->contexts, id, ctx) {
		npu_usage_add(&usage, ctx);
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
