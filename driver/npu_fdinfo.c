// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/PID/fdinfo says of an open file, by DRM's usage-stats rules. */
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npu_context.h"

/**
 * npu_fdinfo_show() - beside what DRM says of every driver
 * @p: where to
 * @file: the file
 */
void npu_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct npu_file *nfile = file->driver_priv;
	unsigned long contexts = 0, queues = 0, id, queue_id;
	struct npu_context *ctx;
	struct npu_queue *queue;

	xa_lock(&nfile->contexts);
	xa_for_each(&nfile->contexts, id, ctx) {
		contexts++;
		xa_for_each(&ctx->queues, queue_id, queue)
			queues++;
	}
	xa_unlock(&nfile->contexts);
	drm_show_memory_stats(p, file);
	drm_printf(p, "npu-contexts:\t%lu\n", contexts);
	drm_printf(p, "npu-queues:\t%lu\n", queues);
}
