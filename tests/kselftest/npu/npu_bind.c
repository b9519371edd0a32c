// SPDX-License-Identifier: MIT
/* DRM_IOCTL_NPU_VM_BIND. */
#include "npu_test.h"

#define BYTES (16 * PAGE)
#define VA 0x40000000ull

FIXTURE(bind) {
	int fd;
	uint32_t ctx, handle;
};

FIXTURE_SETUP(bind)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->ctx = npu_context(self->fd);
	self->handle = npu_buffer(self->fd, BYTES);
	ASSERT_NE(0, self->ctx);
	ASSERT_NE(0, self->handle);
}

FIXTURE_TEARDOWN(bind)
{
	close(self->fd);
}

/* One operation with one thing wrong. Handle 1 stands for the fixture's buffer. */
FIXTURE(wrong) {
	int fd;
	uint32_t ctx, handle;
};

FIXTURE_VARIANT(wrong) {
	struct drm_npu_bind_op op;
	int error;
};

#define READ_WRITE (DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE)
#define WRONG(name, expected, ...) \
	FIXTURE_VARIANT_ADD(wrong, name) { .op = { __VA_ARGS__ }, .error = (expected) }
#define MAP_OP .flags = READ_WRITE, .handle = 1, .va = VA, .bytes = BYTES
#define UNMAP_OP .type = DRM_NPU_BIND_UNMAP, .va = VA, .bytes = BYTES

/* Later initializers replace earlier ones, which is the point. */
#pragma GCC diagnostic ignored "-Woverride-init"
WRONG(map_type, -EINVAL, MAP_OP, .type = 2);
WRONG(map_type_large, -EINVAL, MAP_OP, .type = UINT32_MAX);
WRONG(map_no_flags, -EINVAL, MAP_OP, .flags = 0);
WRONG(map_write_only, -EINVAL, MAP_OP, .flags = DRM_NPU_BIND_WRITE);
WRONG(map_exec_only, -EINVAL, MAP_OP, .flags = DRM_NPU_BIND_EXEC);
WRONG(map_unknown_flag, -EINVAL, MAP_OP, .flags = READ_WRITE | 8);
WRONG(map_last_flag, -EINVAL, MAP_OP, .flags = READ_WRITE | 1u << 31);
WRONG(map_no_handle, -ENOENT, MAP_OP, .handle = 0);
WRONG(map_unknown_handle, -ENOENT, MAP_OP, .handle = 777);
WRONG(map_pad, -EINVAL, MAP_OP, .pad = 1);
WRONG(map_odd_offset, -EINVAL, MAP_OP, .offset = 64);
WRONG(map_offset_beyond, -EINVAL, MAP_OP, .offset = PAGE);
WRONG(map_offset_huge, -EINVAL, MAP_OP, .offset = ~(PAGE - 1));
WRONG(map_odd_va, -EINVAL, MAP_OP, .va = VA + 1);
WRONG(map_va_beyond, -EINVAL, MAP_OP, .va = 1ull << 40);
WRONG(map_va_wraps, -EINVAL, MAP_OP, .va = ~(PAGE - 1));
WRONG(map_no_bytes, -EINVAL, MAP_OP, .bytes = 0);
WRONG(map_odd_bytes, -EINVAL, MAP_OP, .bytes = PAGE + 1);
WRONG(map_bytes_beyond, -EINVAL, MAP_OP, .bytes = BYTES + PAGE);
WRONG(map_bytes_huge, -EINVAL, MAP_OP, .bytes = ~(PAGE - 1));
WRONG(unmap_flags, -EINVAL, UNMAP_OP, .flags = READ_WRITE);
WRONG(unmap_handle, -EINVAL, UNMAP_OP, .handle = 1);
WRONG(unmap_pad, -EINVAL, UNMAP_OP, .pad = 1);
WRONG(unmap_offset, -EINVAL, UNMAP_OP, .offset = PAGE);
WRONG(unmap_odd_va, -EINVAL, UNMAP_OP, .va = VA + 8);
WRONG(unmap_no_bytes, -EINVAL, UNMAP_OP, .bytes = 0);
WRONG(unmap_odd_bytes, -EINVAL, UNMAP_OP, .bytes = 5);
WRONG(unmap_bytes_beyond, -EINVAL, UNMAP_OP, .bytes = 1ull << 40);
WRONG(unmap_wraps, -EINVAL, UNMAP_OP, .bytes = ~(PAGE - 1));

FIXTURE_SETUP(wrong)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	self->ctx = npu_context(self->fd);
	self->handle = npu_buffer(self->fd, BYTES);
	ASSERT_NE(0, self->ctx);
	ASSERT_NE(0, self->handle);
}

FIXTURE_TEARDOWN(wrong)
{
	close(self->fd);
}

TEST_F(wrong, operation)
{
	struct drm_npu_bind_op op = variant->op;

	if (op.handle == 1)
		op.handle = self->handle;
	EXPECT_EQ(variant->error, npu_bind_ops(self->fd, self->ctx, &op, 1));
	/* Nothing was left behind. */
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
}

/* As the second of two, it keeps the first from being done. */
TEST_F(wrong, all_or_nothing)
{
	struct drm_npu_bind_op ops[2] = {
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA + BYTES, .bytes = BYTES },
		variant->op,
	};
	struct drm_npu_vm_bind bind = {
		.ctx = self->ctx,
		.ops = { .stride = sizeof(ops[0]), .count = 2, .array = (uintptr_t)ops },
	};

	if (ops[1].handle == 1)
		ops[1].handle = self->handle;
	EXPECT_EQ(variant->error, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA + BYTES, BYTES));
}

TEST_F(bind, map_and_unmap)
{
	int i;

	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
		ASSERT_EQ(0, npu_unbind(self->fd, self->ctx, VA, BYTES));
	}
}

TEST_F(bind, at_both_ends)
{
	uint64_t end = npu_param(self->fd, DRM_NPU_PARAM_VA_END);

	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, end - BYTES, BYTES));
	EXPECT_EQ(-EINVAL, npu_bind(self->fd, self->ctx, self->handle, end - BYTES + PAGE, BYTES));
	EXPECT_EQ(-EINVAL, npu_bind(self->fd, self->ctx, self->handle, end, BYTES));
}

TEST_F(bind, twice_at_one_place)
{
	ASSERT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA + BYTES - PAGE, PAGE));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA - PAGE, 2 * PAGE));
	/* Elsewhere is another matter. */
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA + BYTES, BYTES));
}

/* Kernels that look after DMA count how often a page is mapped, and not far. */
TEST_F(bind, often_at_other_places)
{
	uint64_t i;

	for (i = 0; i < 32; i++)
		ASSERT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA + i * BYTES, BYTES));
	EXPECT_EQ(0, npu_unbind(self->fd, self->ctx, VA, 32 * BYTES));
}

TEST_F(bind, unmap_cuts)
{
	ASSERT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
	ASSERT_EQ(0, npu_unbind(self->fd, self->ctx, VA + 4 * PAGE, 2 * PAGE));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA + 3 * PAGE, PAGE));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA + 6 * PAGE, PAGE));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA + 4 * PAGE, 2 * PAGE));
	EXPECT_EQ(0, npu_unbind(self->fd, self->ctx, VA, BYTES));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
}

TEST_F(bind, unmap_of_nothing)
{
	EXPECT_EQ(0, npu_unbind(self->fd, self->ctx, VA, BYTES));
	EXPECT_EQ(0, npu_unbind(self->fd, self->ctx, 0, npu_param(self->fd, DRM_NPU_PARAM_VA_END)));
}

TEST_F(bind, large_and_aligned)
{
	uint64_t bytes = 8 << 20;
	uint32_t handle = npu_buffer(self->fd, bytes);

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, npu_bind(self->fd, self->ctx, handle, VA, bytes));
	ASSERT_EQ(0, npu_unbind(self->fd, self->ctx, VA + (2 << 20) + PAGE, PAGE));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, handle, VA + (2 << 20), PAGE));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, handle, VA + (2 << 20) + PAGE, PAGE));
}

TEST_F(bind, outlives_the_handle)
{
	ASSERT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
	ASSERT_EQ(0, npu_close_handle(self->fd, self->handle));
	EXPECT_EQ(0, npu_unbind(self->fd, self->ctx, VA, BYTES));
}

TEST_F(bind, many_operations_in_order)
{
	struct drm_npu_bind_op ops[3] = {
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA, .bytes = BYTES },
		{ .type = DRM_NPU_BIND_UNMAP, .va = VA, .bytes = BYTES },
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA, .bytes = PAGE },
	};

	EXPECT_EQ(0, npu_bind_ops(self->fd, self->ctx, ops, 3));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, self->ctx, self->handle, VA, PAGE));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA + PAGE, PAGE));
}

TEST_F(bind, which_failed)
{
	struct drm_npu_bind_op ops[3] = {
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA, .bytes = PAGE },
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA + PAGE, .bytes = PAGE },
		{ .flags = READ_WRITE, .handle = self->handle, .va = VA, .bytes = PAGE },
	};
	struct drm_npu_vm_bind bind = {
		.ctx = self->ctx,
		.ops = { .stride = sizeof(ops[0]), .count = 3, .array = (uintptr_t)ops },
	};

	EXPECT_EQ(-EEXIST, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	EXPECT_EQ(2, bind.failed);
}

TEST_F(bind, of_no_context)
{
	EXPECT_EQ(-ENOENT, npu_bind(self->fd, 0, self->handle, VA, BYTES));
	EXPECT_EQ(-ENOENT, npu_bind(self->fd, self->ctx + 1, self->handle, VA, BYTES));
	ASSERT_EQ(0, npu_context_destroy(self->fd, self->ctx));
	EXPECT_EQ(-ENOENT, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
}

TEST_F(bind, the_array)
{
	struct {
		struct drm_npu_bind_op op;
		uint64_t more;
	} wide[2] = { 0 };
	struct drm_npu_vm_bind bind = { .ctx = self->ctx };
	int i;

	for (i = 0; i < 2; i++)
		wide[i].op = (struct drm_npu_bind_op){ .flags = READ_WRITE, .handle = self->handle,
						       .va = VA + i * PAGE, .bytes = PAGE };
	bind.ops.stride = sizeof(wide[0]);
	bind.ops.array = (uintptr_t)wide;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	bind.ops.count = 2;
	bind.ops.stride = sizeof(wide[0].op) - 8;
	EXPECT_EQ(-EINVAL, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	bind.ops.stride = sizeof(wide[0]);
	wide[1].more = 1;
	EXPECT_EQ(-E2BIG, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	wide[1].more = 0;
	bind.ops.array = 0;
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	bind.ops.array = ~0xfull;
	EXPECT_EQ(-EFAULT, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
	bind.ops.array = (uintptr_t)wide;
	EXPECT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_VM_BIND, &bind));
}

TEST_F(bind, too_many_operations)
{
	uint32_t most = (uint32_t)npu_param(self->fd, DRM_NPU_PARAM_BINDS_MAX);
	struct drm_npu_bind_op *ops = calloc(most + 1, sizeof(*ops));
	uint32_t i;

	ASSERT_NE(NULL, ops);
	for (i = 0; i <= most; i++)
		ops[i] = (struct drm_npu_bind_op){ .type = DRM_NPU_BIND_UNMAP,
						   .va = VA, .bytes = PAGE };
	EXPECT_EQ(-E2BIG, npu_bind_ops(self->fd, self->ctx, ops, most + 1));
	EXPECT_EQ(-E2BIG, npu_bind_ops(self->fd, self->ctx, ops, UINT32_MAX));
	EXPECT_EQ(0, npu_bind_ops(self->fd, self->ctx, ops, most));
	free(ops);
}

/* The same memory in two files' contexts. */
TEST_F(bind, imported_buffer)
{
	struct drm_prime_handle share = { .handle = self->handle, .flags = O_CLOEXEC | O_RDWR };
	struct drm_prime_handle taken = { 0 };
	int fd = npu_open();
	uint32_t ctx = npu_context(fd);

	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &share));
	taken.fd = share.fd;
	ASSERT_EQ(0, npu_call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &taken));
	EXPECT_EQ(0, npu_bind(fd, ctx, taken.handle, VA, BYTES));
	EXPECT_EQ(0, npu_bind(self->fd, self->ctx, self->handle, VA, BYTES));
	EXPECT_EQ(0, npu_unbind(fd, ctx, VA, BYTES));
	close(share.fd);
	close(fd);
}

TEST_HARNESS_MAIN
