// SPDX-License-Identifier: MIT
/*
 * Buffers that the kernel driver shares with others as dma-bufs.
 *
 * Importing a dma-buf that this file has already, its own included, gives the handle it has; so
 * handles of shared memory are counted, and closed with the last one who uses them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xf86drm.h>

#include "drm_backend.h"
#include "drm/npu_accel.h"

struct drm_shared {
	struct drm_shared *next;
	uint32_t handle;
	uint32_t users;
};

static struct drm_shared **find(struct drm *drm, uint32_t handle)
{
	struct drm_shared **link = &drm->shared;

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

/* One more who uses a handle; under the lock. */
static int use(struct drm *drm, uint32_t handle)
{
	struct drm_shared *shared = *find(drm, handle);

	if (!shared) {
		shared = calloc(1, sizeof(*shared));
		if (!shared)
			return -ENOMEM;
		shared->handle = handle;
		shared->next = drm->shared;
		drm->shared = shared;
	}
	shared->users++;
	return 0;
}

static void stop_using(struct drm *drm, uint32_t handle)
{
	struct drm_shared **link, *shared;

	/* Closed under the lock, so that nobody is given a handle that is about to go. */
	pthread_mutex_lock(&drm->share_lock);
	link = find(drm, handle);
	shared = *link;
	if (!--shared->users) {
		*link = shared->next;
		free(shared);
		drmCloseBufferHandle(drm->fd, handle);
	}
	pthread_mutex_unlock(&drm->share_lock);
}

int drm_memory_alloc_shared(struct npurt_backend *backend, uint64_t bytes,
			    struct npurt_memory *memory)
{
	struct drm *drm = drm_of(backend);
	int ret = drm_memory_alloc(backend, bytes, memory);

	if (ret)
		return ret;
	pthread_mutex_lock(&drm->share_lock);
	ret = use(drm, (uint32_t)memory->handle);
	pthread_mutex_unlock(&drm->share_lock);
	if (ret) {
		drm_memory_free(backend, memory);
		return npurt_fail(ret, "npurt: no memory for a buffer");
	}
	memory->shared = true;
	return 0;
}

int drm_memory_export(struct npurt_backend *backend, const struct npurt_memory *memory, int *file)
{
	struct drm *drm = drm_of(backend);

	if (drmPrimeHandleToFD(drm->fd, (uint32_t)memory->handle, DRM_CLOEXEC | DRM_RDWR, file))
		return drm_fail(drm, -errno, "exporting a buffer");
	return 0;
}

static int import_handle(struct drm *drm, int file, uint32_t *handle)
{
	int ret = 0;

	pthread_mutex_lock(&drm->share_lock);
	if (drmPrimeFDToHandle(drm->fd, file, handle)) {
		ret = -errno;
	} else {
		ret = use(drm, *handle);
		/* Without memory for its entry it had none: nobody else uses it. */
		if (ret)
			drmCloseBufferHandle(drm->fd, *handle);
	}
	pthread_mutex_unlock(&drm->share_lock);
	if (ret == -EINVAL)
		return npurt_fail(ret,
				  "%s: file descriptor %d is no dma-buf: import what "
				  "npurt_buffer_export() or another driver exports",
				  drm->path, file);
	return ret ? drm_fail(drm, ret, "importing a dma-buf") : 0;
}

int drm_memory_import(struct npurt_backend *backend, int file, bool writable,
		      struct npurt_memory *memory)
{
	struct drm *drm = drm_of(backend);
	struct drm_npu_gem_info info = { 0 };
	void *host;
	int ret;

	ret = import_handle(drm, file, &info.handle);
	if (ret)
		return ret;
	ret = drm_call(drm, DRM_IOCTL_NPU_GEM_INFO, &info);
	if (!ret) {
		host = drm_map(drm, info.size, info.mmap_offset, writable);
		if (host == MAP_FAILED)
			ret = -errno;
	}
	if (ret) {
		stop_using(drm, info.handle);
		return drm_fail(drm, ret, "mapping an imported buffer");
	}
	*memory = (struct npurt_memory){
		.host = host, .bytes = info.size, .handle = info.handle, .shared = true,
	};
	return 0;
}

void drm_share_end(struct drm *drm, const struct npurt_memory *memory)
{
	stop_using(drm, (uint32_t)memory->handle);
}
