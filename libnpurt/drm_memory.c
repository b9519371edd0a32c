// SPDX-License-Identifier: MIT
/* Buffers of the kernel driver, mapped into this process. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include <xf86drm.h>

#include "drm_backend.h"
#include "drm/npu_accel.h"

#define LARGE_PAGE ((uint64_t)2 << 20)

/* Address space of which a large buffer's mapping takes the aligned part. */
static unsigned char *reserve(uint64_t bytes)
{
	unsigned char *start, *aligned;
	uint64_t lead;

	start = mmap(NULL, bytes + LARGE_PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	lead = -(uint64_t)(uintptr_t)start & (LARGE_PAGE - 1);
	aligned = start + lead;
	if (lead)
		munmap(start, lead);
	if (lead < LARGE_PAGE)
		munmap(aligned + bytes, LARGE_PAGE - lead);
	return aligned;
}

void *drm_map(const struct drm *drm, uint64_t bytes, uint64_t offset, bool writable)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = MAP_SHARED;
	unsigned char *wanted = NULL;
	void *host;

	if (bytes >= LARGE_PAGE) {
		wanted = reserve(bytes);
		if (!wanted)
			return MAP_FAILED;
		flags |= MAP_FIXED;
	}
	host = mmap(wanted, bytes, prot, flags, drm->fd, (off_t)offset);
	if (host == MAP_FAILED) {
		int error = errno;

		if (wanted)
			munmap(wanted, bytes);
		errno = error;
		return host;
	}
	/* A child would read and write its parent's buffers. */
	madvise(host, bytes, MADV_DONTFORK);
	return host;
}

int drm_memory_alloc(struct npurt_backend *backend, uint64_t bytes, struct npurt_memory *memory)
{
	struct drm_npu_gem_create create = { .size = bytes };
	struct drm_npu_gem_info info = { 0 };
	struct drm *drm = drm_of(backend);
	void *host;
	int ret;

	ret = drm_call(drm, DRM_IOCTL_NPU_GEM_CREATE, &create);
	if (ret)
		return drm_fail(drm, ret, "making a buffer");
	info.handle = create.handle;
	ret = drm_call(drm, DRM_IOCTL_NPU_GEM_INFO, &info);
	if (!ret) {
		/* All of it: the processor's pages may be larger than the device's. */
		host = drm_map(drm, create.size, info.mmap_offset, true);
		if (host == MAP_FAILED)
			ret = -errno;
	}
	if (ret) {
		drmCloseBufferHandle(drm->fd, create.handle);
		return drm_fail(drm, ret, "mapping a buffer");
	}
	memory->host = host;
	memory->bytes = bytes;
	memory->handle = create.handle;
	return 0;
}

int drm_memory_wrap(struct npurt_backend *backend, void *host, uint64_t bytes, bool writable,
		    struct npurt_memory *memory)
{
	struct drm_npu_gem_userptr userptr = {
		.address = (uintptr_t)host,
		.size = bytes,
		.flags = writable ? 0 : DRM_NPU_USERPTR_READ_ONLY,
	};
	struct drm *drm = drm_of(backend);
	int ret;

	if (!drm->userptr)
		return npurt_fail(-EOPNOTSUPP,
				  "%s: its driver takes no memory of programs (version %d.%d): "
				  "install a newer one, or copy", drm->path, drm->version_major,
				  drm->version_minor);
	ret = drm_call(drm, DRM_IOCTL_NPU_GEM_USERPTR, &userptr);
	if (ret == -EFAULT)
		return npurt_fail(ret,
				  "%s: the memory at %p is of a file or of another device, and cannot "
				  "be kept in place: copy, or import it as a dma-buf", drm->path, host);
	if (ret == -EDQUOT)
		return npurt_fail(ret,
				  "%s: %" PRIu64 " bytes of the program's memory would have to stay "
				  "in place, more than RLIMIT_MEMLOCK (`ulimit -l`) or this user's "
				  "share allow", drm->path, bytes);
	if (ret)
		return drm_fail(drm, ret, "taking the program's memory");
	*memory = (struct npurt_memory){
		.host = host, .bytes = bytes, .handle = userptr.handle, .wrapped = true,
	};
	return 0;
}

void drm_memory_free(struct npurt_backend *backend, const struct npurt_memory *memory)
{
	/* munmap() takes the whole of a larger page, as the mapping did. */
	if (!memory->wrapped)
		munmap(memory->host, memory->bytes);
	if (memory->shared)
		drm_share_end(drm_of(backend), memory);
	else
		drmCloseBufferHandle(drm_of(backend)->fd, (uint32_t)memory->handle);
}

void drm_memory_clear(struct npurt_backend *backend, const struct npurt_memory *memory)
{
	(void)backend;
	memset(memory->host, 0, memory->bytes);
}
