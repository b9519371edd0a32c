// SPDX-License-Identifier: MIT
/* Buffers: DRM_IOCTL_NPU_GEM_CREATE, GEM_INFO, mappings, dma-buf. */
#include "account.h"

FIXTURE(gem) {
	int fd;
};

FIXTURE_SETUP(gem)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(gem)
{
	close(self->fd);
}

TEST_F(gem, sizes_are_rounded_up)
{
	static const uint64_t sizes[] = { 1, 4095, 4096, 4097, 65536, 3 << 20 };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct drm_npu_gem_create create = { .size = sizes[i] };
		struct drm_npu_gem_info info = { 0 };

		ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
		EXPECT_NE(0, create.handle);
		EXPECT_EQ((sizes[i] + page - 1) / page * page, create.size);
		info.handle = create.handle;
		ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
		EXPECT_EQ(create.size, info.size);
		EXPECT_EQ(0, info.flags);
		EXPECT_EQ(0, npu_close_handle(self->fd, create.handle));
	}
}

TEST_F(gem, zeroed_and_written)
{
	uint32_t handle = npu_buffer(self->fd, 1 << 20);
	unsigned char *memory = npu_map(self->fd, handle, 1 << 20);
	unsigned char *again = npu_map(self->fd, handle, 1 << 20);
	int i, set = 0;

	ASSERT_NE(MAP_FAILED, memory);
	ASSERT_NE(MAP_FAILED, again);
	for (i = 0; i < 1 << 20; i++)
		set += memory[i] != 0;
	EXPECT_EQ(0, set);
	memset(memory, 0x5a, 1 << 20);
	EXPECT_EQ(0x5a, again[(1 << 20) - 1]);
}

/* Of all that is pages of shmem's, in bytes. */
static uint64_t large_pages_in_use(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "ShmemHugePages: %llu kB", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib << 10;
}

/* Two of the device's large leaves, and something that is none: one table less for each leaf. */
TEST_F(gem, large_pages)
{
	const uint64_t leaf = 2 << 20, pages = 2 * leaf, all = pages + PAGE, first = 1ull << 30;
	uint64_t large = npu_param(self->fd, DRM_NPU_PARAM_LARGE_PAGE), used;
	uint64_t before = large_pages_in_use(), bytes = account_of("device", "bytes");
	uint32_t ctx = npu_context(self->fd), handle = npu_buffer(self->fd, all);
	const uint64_t tables = 3 * PAGE;
	unsigned char *memory;

	TH_LOG("large pages are of %llu bytes", (unsigned long long)large);
	if (large != leaf) {
		/* A kernel that has none, or whose are larger than what is asked for here. */
		EXPECT_TRUE(!large || (large > leaf && !(large & (large - 1))));
		ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, first, all));
		return;
	}
	ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, first, all));
	used = large_pages_in_use() - before;
	EXPECT_EQ(pages, used);
	EXPECT_EQ(all + tables, account_of("device", "bytes") - bytes);
	/* Zeroed and the program's own, as any other; and in halves when a part goes. */
	memory = npu_map(self->fd, handle, all);
	ASSERT_NE(MAP_FAILED, memory);
	EXPECT_EQ(0, memory[0] | memory[leaf - 1] | memory[pages - 1] | memory[all - 1]);
	memset(memory, 0x5a, all);
	ASSERT_EQ(0, npu_unbind(self->fd, ctx, first + PAGE, PAGE));
	EXPECT_EQ(all + tables + PAGE, account_of("device", "bytes") - bytes);
	ASSERT_EQ(0, npu_unbind(self->fd, ctx, first, all));
	munmap(memory, all);
	npu_close_handle(self->fd, handle);
	EXPECT_EQ(before, large_pages_in_use());
}

TEST_F(gem, write_combined)
{
	struct drm_npu_gem_create create = { .size = PAGE, .flags = DRM_NPU_GEM_WRITE_COMBINE };
	struct drm_npu_gem_info info = { 0 };
	volatile uint32_t *memory;

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	info.handle = create.handle;
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(DRM_NPU_GEM_WRITE_COMBINE, info.flags);
	memory = npu_map(self->fd, create.handle, PAGE);
	ASSERT_NE(MAP_FAILED, (void *)memory);
	EXPECT_EQ(0, memory[5]);
	memory[5] = 99;
	EXPECT_EQ(99, memory[5]);
}

TEST_F(gem, mapping_outlives_the_handle)
{
	uint32_t handle = npu_buffer(self->fd, PAGE);
	volatile uint32_t *memory = npu_map(self->fd, handle, PAGE);

	ASSERT_NE(MAP_FAILED, (void *)memory);
	memory[0] = 4;
	ASSERT_EQ(0, npu_close_handle(self->fd, handle));
	EXPECT_EQ(4, memory[0]);
	close(self->fd);
	EXPECT_EQ(4, memory[0]);
	self->fd = npu_open();
}

TEST_F(gem, no_size)
{
	struct drm_npu_gem_create create = { 0 };

	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	EXPECT_EQ(0, create.handle);
}

TEST_F(gem, too_large)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 4095, 1ull << 63, 1ull << 50 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct drm_npu_gem_create create = { .size = sizes[i] };

		EXPECT_EQ(-E2BIG, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	}
}

/* Buffers of the program's have one from the beginning, others when they are asked for it. */
TEST_F(gem, no_offset_left)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct drm_prime_handle taken = { .fd = npu_udmabuf(page, NULL) };
	uint64_t bytes = npu_param(self->fd, DRM_NPU_PARAM_VA_END);
	struct drm_npu_gem_create create = { 0 };
	struct drm_npu_gem_info info = { 0 };
	uint32_t last = 0;

	ASSERT_GE(taken.fd, 0);
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken));
	close(taken.fd);
	/* They run out before memory does, of which these take none. */
	while (bytes >= PAGE) {
		create.size = bytes;
		if (npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create))
			bytes /= 2;
		else
			last = create.handle;
	}
	EXPECT_EQ(-ENOMEM, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	info.handle = taken.handle;
	EXPECT_EQ(-ENOSPC, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	/* Whoever lets go makes room. */
	EXPECT_EQ(0, npu_close_handle(self->fd, last));
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
}

TEST_F(gem, unknown_flags)
{
	int bit;

	for (bit = 1; bit < 32; bit++) {
		struct drm_npu_gem_create create = { .size = PAGE, .flags = 1u << bit };

		EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, &create));
	}
}

TEST_F(gem, create_bad_pointer)
{
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_GEM_CREATE, NULL));
}

TEST_F(gem, info_of_no_handle)
{
	static const uint32_t wrong[] = { 0, 5000, UINT32_MAX };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct drm_npu_gem_info info = { .handle = wrong[i] };

		EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	}
}

TEST_F(gem, closed_handle)
{
	uint32_t handle = npu_buffer(self->fd, PAGE);
	struct drm_npu_gem_info info = { .handle = handle };

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	ASSERT_EQ(0, npu_close_handle(self->fd, handle));
	EXPECT_EQ(-EINVAL, npu_close_handle(self->fd, handle));
	info.handle = handle;
	EXPECT_EQ(-ENOENT, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)info.mmap_offset));
}

TEST_F(gem, mapping_beyond_the_end)
{
	struct drm_npu_gem_info info = { .handle = npu_buffer(self->fd, PAGE) };
	/* The processor's page may hold more than the buffer was asked to. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)info.mmap_offset));
}

/* Handles and offsets of one file are nothing to another. */
TEST_F(gem, of_another_file)
{
	struct drm_npu_gem_info info = { .handle = npu_buffer(self->fd, PAGE) };
	struct drm_npu_gem_info other = info;
	int fd = npu_open();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(-ENOENT, npu_call(fd, DRM_IOCTL_NPU_GEM_INFO, &other));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)info.mmap_offset));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(gem, no_such_offset)
{
	static const uint64_t offsets[] = {
		0, 4096, 1ull << 28, 1ull << 40, 1ull << 50, 1ull << 62,
	};
	unsigned int i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd,
					   (off_t)offsets[i]));
}

TEST_F(gem, dma_buf_between_files)
{
	struct drm_prime_handle share = {
		.handle = npu_buffer(self->fd, PAGE),
		.flags = O_CLOEXEC | O_RDWR,
	};
	struct drm_prime_handle taken = { 0 };
	volatile uint32_t *here, *there;
	int fd = npu_open();

	here = npu_map(self->fd, share.handle, PAGE);
	ASSERT_NE(MAP_FAILED, (void *)here);
	here[7] = 1234;
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &share));
	taken.fd = share.fd;
	ASSERT_EQ(0, npu_call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken));
	there = npu_map(fd, taken.handle, PAGE);
	ASSERT_NE(MAP_FAILED, (void *)there);
	EXPECT_EQ(1234, there[7]);
	close(share.fd);
	close(fd);
}

TEST_HARNESS_MAIN
