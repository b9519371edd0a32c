// SPDX-License-Identifier: GPL-2.0-only
/* What tasks have cost, of a file and of the device: read in memory, the device is not asked. */
#include "npu_context.h"

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

/**
 * npu_usage_of_file() - what all contexts of a file have cost
 * @file: the file; under its contexts' lock
 * @sum: is filled in
 */
void npu_usage_of_file(struct npu_file *file, struct npu_usage *sum)
{
	struct npu_context *ctx;
	unsigned long id;

	lockdep_assert_held(&file->contexts.xa_lock);
	*sum = file->ended;
	list_for_each_entry(ctx, &file->ending, ending)
		npu_usage_add(sum, ctx);
	xa_for_each(&file->contexts, id, ctx)
		npu_usage_add(sum, ctx);
}

/**
 * npu_usage_keep() - add what a context has cost to what others have that ended
 * @ctx: is about to lose its number; under contexts_lock
 */
void npu_usage_keep(const struct npu_context *ctx)
{
	lockdep_assert_held(&ctx->ndev->contexts_lock);
	npu_usage_add(&ctx->ndev->ended, ctx);
}

/**
 * npu_usage_of_device() - what all contexts have cost since the driver was bound
 * @ndev: the device, which may sleep, or be dead
 * @sum: is filled in; less of it than before never is
 */
void npu_usage_of_device(struct npu_device *ndev, struct npu_usage *sum)
{
	u32 i;

	spin_lock(&ndev->contexts_lock);
	*sum = ndev->ended;
	for (i = 0; i < NPU_CONTEXTS_MAX; i++) {
		if (ndev->contexts[i])
			npu_usage_add(sum, ndev->contexts[i]);
	}
	spin_unlock(&ndev->contexts_lock);
}
