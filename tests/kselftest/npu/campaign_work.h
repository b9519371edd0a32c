/* SPDX-License-Identifier: MIT */
/*
 * A program's life with the device, by the dice: contexts, queues, copies, waits, bindings, imports.
 * Every step returns 0 or the negative errno that it did not expect.
 */
#ifndef NPU_CAMPAIGN_WORK_H
#define NPU_CAMPAIGN_WORK_H

#include "campaign.h"

#define DATA_VA 0x20000000ull
#define DATA_BYTES (1u << 20)
#define EXTRA_VA 0x30000000ull
#define EXTRA_BYTES (16 * PAGE)
#define IMPORT_BYTES (4 * PAGE)

struct worker {
	uint64_t dice;
	int fd;
	struct npu_lane lane;
	uint32_t data;
	uint64_t signalled;
	const char *step;	/* what was tried last */
};

static inline int work_bind_data(struct worker *worker, struct npu_lane *lane)
{
	return npu_bind(worker->fd, lane->ctx, worker->data, DATA_VA, DATA_BYTES);
}

static inline void work_put_copy(struct npu_lane *lane, uint32_t bytes)
{
	const struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = (uint32_t)lane->written,
		.destination = DATA_VA + DATA_BYTES / 2,
		.source = DATA_VA,
		.bytes = bytes,
		.signal_sem = NPU_SEM_NONE,
	};

	npu_lane_put(lane, &copy);
}

static inline int work_run(struct worker *worker)
{
	worker->step = "work";
	for (uint32_t i = 1 + roll(&worker->dice, 4); i; i--)
		work_put_copy(&worker->lane, 1 + roll(&worker->dice, DATA_BYTES / 2));
	npu_lane_signal(&worker->lane, 1, 1);
	worker->signalled++;
	return npu_wait(worker->fd, worker->lane.ctx, 1, worker->signalled,
			now_ns() + 120 * SECOND);
}

static inline int work_sleep(struct worker *worker)
{
	int64_t deadline = now_ns() + roll(&worker->dice, 5) * MILLISECOND;
	int ret;

	worker->step = "sleep";
	ret = npu_wait(worker->fd, worker->lane.ctx, 2, 1, deadline);
	return ret == -ETIME ? 0 : ret ?: -EBADE;
}

static inline int work_rebind(struct worker *worker)
{
	struct drm_npu_gem_create create = { .size = EXTRA_BYTES };
	int ret;

	worker->step = "bind";
	ret = npu_call(worker->fd, DRM_IOCTL_NPU_GEM_CREATE, &create);
	if (!ret)
		ret = npu_bind(worker->fd, worker->lane.ctx, create.handle, EXTRA_VA, EXTRA_BYTES);
	if (!ret)
		ret = npu_close_handle(worker->fd, create.handle);
	return ret ?: npu_unbind(worker->fd, worker->lane.ctx, EXTRA_VA, EXTRA_BYTES);
}

static inline int work_import(struct worker *worker)
{
	struct drm_prime_handle taken = { .fd = npu_udmabuf(IMPORT_BYTES, NULL) };
	int ret;

	worker->step = "import";
	if (taken.fd < 0)
		return taken.fd;
	ret = npu_call(worker->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken);
	close(taken.fd);
	if (!ret)
		ret = npu_bind(worker->fd, worker->lane.ctx, taken.handle, EXTRA_VA, IMPORT_BYTES);
	if (!ret)
		ret = npu_unbind(worker->fd, worker->lane.ctx, EXTRA_VA, IMPORT_BYTES);
	/* Now and then it stays with the file. */
	return ret || roll(&worker->dice, 4) ? ret : npu_close_handle(worker->fd, taken.handle);
}

/* A second context with work that nobody waits for, which ends in one of two ways. */
static inline int work_abandon(struct worker *worker)
{
	struct drm_npu_queue_destroy destroy;
	struct npu_lane lane;
	int ret;

	worker->step = "abandon";
	ret = npu_lane_open(&lane, worker->fd);
	if (!ret)
		ret = work_bind_data(worker, &lane);
	if (!ret) {
		for (int i = 0; i < 8; i++)
			work_put_copy(&lane, DATA_BYTES / 2);
		destroy = (struct drm_npu_queue_destroy){ .ctx = lane.ctx, .queue = lane.queue };
		if (roll(&worker->dice, 2))
			ret = npu_call(worker->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
		if (!ret)
			ret = npu_context_destroy(worker->fd, lane.ctx);
	}
	npu_lane_unmap(&lane);
	return ret;
}

static inline int work_ask(struct worker *worker)
{
	struct drm_npu_get_param get = { .param = DRM_NPU_PARAM_TIME };
	struct drm_npu_ctx_status status = { .ctx = worker->lane.ctx };
	char text[4096];
	ssize_t said;
	int ret;

	worker->step = "ask";
	said = npu_fdinfo(worker->fd, text, sizeof(text));
	ret = said > 0 ? 0 : (int)said ?: -EBADE;
	if (!ret)
		ret = npu_call(worker->fd, DRM_IOCTL_NPU_GET_PARAM, &get);
	return ret ?: npu_call(worker->fd, DRM_IOCTL_NPU_CTX_STATUS, &status);
}

static inline int work_area(struct worker *worker)
{
	struct drm_npu_ctx_create create = { 0 };
	const uint32_t *area;
	int ret;

	worker->step = "area";
	ret = npu_call(worker->fd, DRM_IOCTL_NPU_CTX_CREATE, &create);
	if (ret)
		return ret;
	area = mmap(NULL, create.semaphores_bytes, PROT_READ, MAP_SHARED, worker->fd,
		    (off_t)create.semaphores_offset);
	if (area == MAP_FAILED)
		return -errno;
	ret = npu_context_destroy(worker->fd, create.ctx);
	/* The status word stays readable, and says that the context is no more. */
	if (!ret && !__atomic_load_n(area + create.status_offset / 4, __ATOMIC_ACQUIRE))
		ret = -EBADE;
	munmap((void *)area, create.semaphores_bytes);
	return ret;
}

static inline int work_open(struct worker *worker)
{
	struct drm_npu_gem_create create = { .size = DATA_BYTES };
	int ret;

	worker->step = "open";
	worker->signalled = 0;
	ret = npu_lane_open(&worker->lane, worker->fd);
	if (!ret)
		ret = npu_call(worker->fd, DRM_IOCTL_NPU_GEM_CREATE, &create);
	worker->data = create.handle;
	return ret ?: work_bind_data(worker, &worker->lane);
}

/* From open to close: so many steps, of which the last may leave everything to close(). */
static inline int work_life(struct worker *worker, unsigned int steps)
{
	static int (*const step[])(struct worker *worker) = {
		work_run, work_run, work_sleep, work_rebind, work_import, work_abandon, work_ask,
		work_area,
	};
	int ret = work_open(worker);

	while (!ret && steps--)
		ret = step[roll(&worker->dice, sizeof(step) / sizeof(step[0]))](worker);
	if (!ret && roll(&worker->dice, 2))
		ret = npu_context_destroy(worker->fd, worker->lane.ctx);
	npu_lane_unmap(&worker->lane);
	close(worker->fd);
	worker->fd = -1;
	return ret;
}

#endif /* NPU_CAMPAIGN_WORK_H */
