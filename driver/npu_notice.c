// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs are told what becomes of a context by events of DRM's, which are read from the file.
 * Whoever wants one asks for it, and then has room for it: nothing needs memory when it happens,
 * none can be lost, and who asks for many uses up what his own file may have. DRM takes back what
 * was asked for from a file that is closed, before its contexts end.
 */
#include <linux/bits.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_context.h"

#define NPU_NOTICE_ALL		(BIT(NPU_NOTICE_KINDS) - 1)

/**
 * struct npu_notice - an event that somebody asked for
 * @base: DRM's part, first, as DRM frees it
 * @event: what is read
 * @known: faults that the program knows of
 */
struct npu_notice {
	struct drm_pending_event base;
	struct drm_npu_event event;
	u32 known;
};

static_assert(!offsetof(struct npu_notice, base));
static_assert(BIT(NPU_NOTICE_KINDS) == DRM_NPU_EVENT_DEAD << 1);

static bool npu_notice_is_due(const struct npu_context *ctx, const struct npu_notice *notice)
{
	switch (notice->event.kind) {
	case DRM_NPU_EVENT_FAULT:
		return ctx->faults != notice->known;
	case DRM_NPU_EVENT_QUEUE_STOPPED:
		return ctx->stopped;
	default:
		return ctx->error;
	}
}

/**
 * npu_notice_check() - tell those who asked for it what has become of a context
 * @ctx: something has happened to it
 */
void npu_notice_check(struct npu_context *ctx)
{
	struct npu_notice *notice;
	u32 i;

	lockdep_assert_held(&ctx->wait_lock);
	for (i = 0; i < NPU_NOTICE_KINDS; i++) {
		notice = ctx->notices[i];
		if (!notice || !npu_notice_is_due(ctx, notice))
			continue;
		ctx->notices[i] = NULL;
		notice->event.state = npu_context_state(ctx);
		notice->event.faults = ctx->faults;
		/* It is DRM's from here on. */
		drm_send_event(&ctx->ndev->drm, &notice->base);
	}
}

static void npu_notice_cancel(struct npu_context *ctx, struct npu_notice *notice)
{
	if (notice)
		drm_event_cancel_free(&ctx->ndev->drm, &notice->base);
}

static void npu_notice_drop_kinds(struct npu_context *ctx, u32 kinds)
{
	u32 i;

	spin_lock(&ctx->wait_lock);
	for (i = 0; i < NPU_NOTICE_KINDS; i++) {
		if (!(kinds & BIT(i)))
			continue;
		npu_notice_cancel(ctx, ctx->notices[i]);
		ctx->notices[i] = NULL;
	}
	spin_unlock(&ctx->wait_lock);
}

/**
 * npu_notice_drop() - nobody is told of a context any more
 * @ctx: the context
 */
void npu_notice_drop(struct npu_context *ctx)
{
	npu_notice_drop_kinds(ctx, NPU_NOTICE_ALL);
}

static bool npu_notice_asked(const struct npu_context *ctx, u32 kinds)
{
	u32 i;

	lockdep_assert_held(&ctx->wait_lock);
	for (i = 0; i < NPU_NOTICE_KINDS; i++) {
		if (kinds & BIT(i) && ctx->notices[i])
			return true;
	}
	return false;
}

static int npu_notice_new(struct drm_file *file, const struct drm_npu_ctx_events *args, u32 kind,
			  struct npu_notice **to)
{
	struct npu_notice *notice = kzalloc(sizeof(*notice), GFP_KERNEL_ACCOUNT);

	if (!notice)
		return -ENOMEM;
	notice->event.base.type = DRM_NPU_EVENT;
	notice->event.base.length = sizeof(notice->event);
	notice->event.user_data = args->user_data;
	notice->event.ctx = args->ctx;
	notice->event.kind = kind;
	notice->known = args->faults;
	/* It fails for one reason: what the file may have is used up. */
	if (drm_event_reserve_init(file->minor->dev, file, &notice->base, &notice->event.base)) {
		kfree(notice);
		return -EDQUOT;
	}
	*to = notice;
	return 0;
}

/* What is put into the context is taken out of @fresh. */
static int npu_notice_put(struct npu_context *ctx, u32 kinds, struct npu_notice **fresh)
{
	int ret = 0;
	u32 i;

	spin_lock(&ctx->wait_lock);
	if (npu_notice_asked(ctx, kinds))
		ret = -EEXIST;
	for (i = 0; !ret && i < NPU_NOTICE_KINDS; i++) {
		if (!(kinds & BIT(i)))
			continue;
		ctx->notices[i] = fresh[i];
		fresh[i] = NULL;
	}
	npu_notice_check(ctx);
	spin_unlock(&ctx->wait_lock);
	return ret;
}

static int npu_notice_ask(struct npu_context *ctx, struct drm_file *file,
			  const struct drm_npu_ctx_events *args)
{
	struct npu_notice *fresh[NPU_NOTICE_KINDS] = { };
	bool asked;
	int ret = 0;
	u32 i;

	/* A semaphore may be seen before the interrupt that tells of a fault before it. */
	npu_irq_drain_awake(ctx->ndev);
	/* Nobody needs room for what is refused anyway. */
	spin_lock(&ctx->wait_lock);
	asked = npu_notice_asked(ctx, args->kinds);
	spin_unlock(&ctx->wait_lock);
	if (asked)
		return -EEXIST;
	for (i = 0; !ret && i < NPU_NOTICE_KINDS; i++) {
		if (args->kinds & BIT(i))
			ret = npu_notice_new(file, args, BIT(i), &fresh[i]);
	}
	if (!ret)
		ret = npu_notice_put(ctx, args->kinds, fresh);
	for (i = 0; i < NPU_NOTICE_KINDS; i++)
		npu_notice_cancel(ctx, fresh[i]);
	return ret;
}

/**
 * npu_notice_ioctl() - DRM_IOCTL_NPU_CTX_EVENTS
 * @drm: the device
 * @data: struct drm_npu_ctx_events
 * @file: the file
 *
 * Return: see the structure.
 */
int npu_notice_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_npu_ctx_events *args = data;
	struct npu_context *ctx;
	int ret = 0;

	if (!args->kinds || args->kinds & ~NPU_NOTICE_ALL ||
	    args->flags & ~DRM_NPU_CTX_EVENTS_CANCEL)
		return -EINVAL;
	if (args->flags & DRM_NPU_CTX_EVENTS_CANCEL && args->user_data)
		return -EINVAL;
	if (args->faults &&
	    (args->flags & DRM_NPU_CTX_EVENTS_CANCEL || !(args->kinds & DRM_NPU_EVENT_FAULT)))
		return -EINVAL;
	ctx = npu_context_get(file->driver_priv, args->ctx);
	if (!ctx)
		return -ENOENT;
	if (args->flags & DRM_NPU_CTX_EVENTS_CANCEL)
		npu_notice_drop_kinds(ctx, args->kinds);
	else
		ret = npu_notice_ask(ctx, file, args);
	npu_context_put(ctx);
	return ret;
}
