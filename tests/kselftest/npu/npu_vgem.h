/* SPDX-License-Identifier: MIT */
/* The kernel's virtual driver vgem: buffers and fences that are not ours. */
#ifndef NPU_VGEM_H
#define NPU_VGEM_H

#include <linux/dma-buf.h>

#include "npu_test.h"

/* From vgem_drm.h, which not every system has. */
struct vgem_fence_attach {
	uint32_t handle, flags, out_fence, pad;
};

struct vgem_fence_signal {
	uint32_t fence, flags;
};

#define VGEM_FENCE_OF_WRITING 1
#define VGEM_ATTACH DRM_IOWR(DRM_COMMAND_BASE + 1, struct vgem_fence_attach)
#define VGEM_SIGNAL DRM_IOW(DRM_COMMAND_BASE + 2, struct vgem_fence_signal)

/* A descriptor, or a negative errno. */
static inline int vgem_open(void)
{
	struct drm_version version;
	char path[32], name[8];

	for (int i = 0; i < 16; i++) {
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(&version, 0, sizeof(version));
		memset(name, 0, sizeof(name));
		version.name = name;
		version.name_len = sizeof(name) - 1;
		if (!npu_call(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* A handle, 0 when there is none. @pages of 4 KiB. */
static inline uint32_t vgem_buffer(int vgem, uint32_t pages)
{
	struct drm_mode_create_dumb create = { .height = pages, .width = 1024, .bpp = 32 };

	return npu_call(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &create) ? 0 : create.handle;
}

static inline void *vgem_map(int vgem, uint32_t handle, uint64_t bytes)
{
	struct drm_mode_map_dumb map = { .handle = handle };

	if (npu_call(vgem, DRM_IOCTL_MODE_MAP_DUMB, &map))
		return MAP_FAILED;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vgem, (off_t)map.offset);
}

/* A buffer's dma-buf: a descriptor or a negative errno. */
static inline int share_buffer(int fd, uint32_t handle)
{
	struct drm_prime_handle share = { .handle = handle, .flags = O_CLOEXEC | O_RDWR };
	int ret = npu_call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &share);

	return ret ?: share.fd;
}

/* A dma-buf's handle, 0 when there is none. */
static inline uint32_t take_buffer(int fd, int dma_buf)
{
	struct drm_prime_handle taken = { .fd = dma_buf };

	return npu_call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken) ? 0 : taken.handle;
}

/* A fence that is pending until vgem_fence_end(), or for ten seconds. */
struct vgem_fence {
	uint32_t fence;
	int sync_file;
};

static inline int vgem_fence(int vgem, struct vgem_fence *fence)
{
	struct vgem_fence_attach attach = {
		.handle = vgem_buffer(vgem, 1), .flags = VGEM_FENCE_OF_WRITING,
	};
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_READ };
	int ret = npu_call(vgem, VGEM_ATTACH, &attach), dma_buf;

	if (ret)
		return ret;
	fence->fence = attach.out_fence;
	dma_buf = share_buffer(vgem, attach.handle);
	if (dma_buf < 0)
		return dma_buf;
	ret = npu_call(dma_buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync);
	fence->sync_file = sync.fd;
	close(dma_buf);
	return ret;
}

static inline int vgem_fence_end(int vgem, const struct vgem_fence *fence)
{
	struct vgem_fence_signal args = { .fence = fence->fence };

	return npu_call(vgem, VGEM_SIGNAL, &args);
}

#endif /* NPU_VGEM_H */
