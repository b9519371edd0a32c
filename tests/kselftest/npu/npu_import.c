// SPDX-License-Identifier: MIT
/* Buffers of another driver: udmabuf makes dma-bufs of a program's memory. */
#include <sys/stat.h>

#include "npu_test.h"

#define BYTES (16 * PAGE)
#define VA 0x40000000ull
#define OWN_VA 0x50000000ull

FIXTURE(import) {
	int fd, dma_buf;
	unsigned char *memory; /* of the dma-buf */
	uint32_t handle, own;
	uint32_t *mapped; /* own */
	struct npu_lane lane;
	uint64_t copies;
};

static uint32_t import(int fd, int dma_buf)
{
	struct drm_prime_handle prime = { .fd = dma_buf };

	return npu_call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime) ? 0 : prime.handle;
}

/* How many devices are attached to a dma-buf, as debugfs says; -1 when it does not say. */
static int attached(int dma_buf)
{
	FILE *file = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	bool found = false;
	struct stat stat;
	char line[512], inode[32];
	int count = -1;

	if (!file || fstat(dma_buf, &stat))
		return -1;
	snprintf(inode, sizeof(inode), "\t%08lu\t", (unsigned long)stat.st_ino);
	while (fgets(line, sizeof(line), file)) {
		found |= strstr(line, inode) != NULL;
		if (found && sscanf(line, "Total %d devices attached", &count) == 1)
			break;
	}
	fclose(file);
	return count;
}

FIXTURE_SETUP(import)
{
	unsigned int i;

	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	self->dma_buf = npu_udmabuf(BYTES, &self->memory);
	ASSERT_GE(self->dma_buf, 0);
	for (i = 0; i < BYTES / 4; i++)
		((uint32_t *)(void *)self->memory)[i] = i * 2654435761u;
	self->handle = import(self->fd, self->dma_buf);
	ASSERT_NE(0, self->handle);
	self->own = npu_buffer(self->fd, BYTES);
	self->mapped = npu_map(self->fd, self->own, BYTES);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->own, OWN_VA, BYTES));
}

FIXTURE_TEARDOWN(import)
{
	close(self->dma_buf);
	close(self->fd);
}

static int copy(struct npu_lane *lane, uint64_t *copies, uint64_t to, uint64_t from, uint64_t bytes)
{
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1,
		.destination = to,
		.source = from,
		.bytes = (uint32_t)bytes,
		.signal_sem = 2,
	};

	npu_lane_put(lane, &packet);
	return npu_wait(lane->fd, lane->ctx, 2, ++*copies, now_ns() + 20000 * MILLISECOND);
}

TEST_F(import, read_and_written_by_the_device)
{
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->handle, VA, BYTES));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, BYTES));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory, BYTES));
	memset(self->mapped, 0x5a, PAGE);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA + 3 * PAGE, OWN_VA, PAGE));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory + 3 * PAGE, PAGE));
	EXPECT_NE(0, memcmp(self->mapped, self->memory + 4 * PAGE, PAGE));
}

TEST_F(import, a_part_of_it)
{
	struct drm_npu_bind_op op = {
		.flags = DRM_NPU_BIND_READ, .handle = self->handle,
		.offset = 5 * PAGE, .va = VA, .bytes = 2 * PAGE,
	};

	ASSERT_EQ(0, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, 2 * PAGE));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory + 5 * PAGE, 2 * PAGE));
	op.va += BYTES;
	op.offset = 15 * PAGE;
	EXPECT_EQ(-EINVAL, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
	op.offset = 1ull << 40;
	EXPECT_EQ(-EINVAL, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
}

TEST_F(import, mapped_by_the_program)
{
	struct drm_npu_gem_info info = { .handle = self->handle };
	unsigned char *again;

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(0, info.flags);
	again = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		     (off_t)info.mmap_offset);
	ASSERT_NE(MAP_FAILED, again);
	EXPECT_EQ(0, memcmp(again, self->memory, BYTES));
	again[7 * PAGE] = 0xa5;
	EXPECT_EQ(0xa5, self->memory[7 * PAGE]);
	/* It holds what it shows. */
	ASSERT_EQ(0, npu_close_handle(self->fd, self->handle));
	EXPECT_EQ(0xa5, again[7 * PAGE]);
	munmap(again, BYTES);
}

TEST_F(import, held_by_the_binding)
{
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->handle, VA, BYTES));
	ASSERT_EQ(0, npu_close_handle(self->fd, self->handle));
	close(self->dma_buf);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, BYTES));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory, BYTES));
	EXPECT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA, BYTES));
}

/* Twice the same handle; and what is handed on is what came. */
TEST_F(import, is_the_same)
{
	struct drm_prime_handle prime = { .handle = self->handle, .flags = O_CLOEXEC | O_RDWR };
	struct stat here, there;

	EXPECT_EQ(self->handle, import(self->fd, self->dma_buf));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ASSERT_EQ(0, fstat(self->dma_buf, &here));
	ASSERT_EQ(0, fstat(prime.fd, &there));
	EXPECT_EQ(here.st_ino, there.st_ino);
	close(prime.fd);
}

TEST_F(import, of_what_is_no_dma_buf)
{
	struct drm_prime_handle prime = { .fd = self->fd };

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	prime.fd = -1;
	EXPECT_EQ(-EBADF, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
}

/* The device is attached by bindings, and by nothing else. */
TEST_F(import, attached_while_bound)
{
	EXPECT_EQ(0, attached(self->dma_buf));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->handle, VA, BYTES));
	EXPECT_EQ(1, attached(self->dma_buf));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->handle, VA + BYTES, PAGE));
	EXPECT_EQ(2, attached(self->dma_buf));
	/* Two parts are left of the first, which it serves both. */
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA + PAGE, PAGE));
	EXPECT_EQ(2, attached(self->dma_buf));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA, BYTES));
	EXPECT_EQ(1, attached(self->dma_buf));
	/* One that fails leaves nothing. */
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->lane.ctx, self->handle, VA + BYTES, PAGE));
	EXPECT_EQ(1, attached(self->dma_buf));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->lane.ctx));
	EXPECT_EQ(0, attached(self->dma_buf));
}

/* The driver goes, file and handle stay: nothing is attached or mapped for the device any more. */
TEST_F(import, detached_when_the_driver_goes)
{
	struct drm_prime_handle again = { .fd = self->dma_buf };
	char function[64];

	ASSERT_TRUE(find_function(function, sizeof(function)));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->handle, VA, BYTES));
	/* A hole, so that what is left are two mappings of one attachment. */
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA + PAGE, PAGE));
	ASSERT_EQ(1, attached(self->dma_buf));
	ASSERT_EQ(0, driver_write("unbind", function));
	EXPECT_EQ(0, attached(self->dma_buf));
	EXPECT_EQ(-ENODEV, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &again));
	npu_lane_unmap(&self->lane);
	munmap(self->mapped, BYTES);
	close(self->fd);
	EXPECT_EQ(0, driver_write("bind", function));
	/* The memory is the program's as before. */
	EXPECT_EQ(2654435761u, ((uint32_t *)(void *)self->memory)[1]);
	self->fd = npu_open();
	EXPECT_GE(self->fd, 0);
}

TEST_HARNESS_MAIN
