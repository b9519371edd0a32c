// SPDX-License-Identifier: MIT
/* DRM_IOCTL_NPU_GEM_USERPTR: buffers of a program's own memory. */
#include <signal.h>
#include <sys/resource.h>

#include "account.h"

#define USER 1000
/* More than what is pinned in one go. */
#define PAGES 700
#define BYTES (PAGES * PAGE)
#define VA 0x40000000ull
#define OWN_VA 0x50000000ull
#define DEVICE_FILE "/dev/accel/accel0"

FIXTURE(userptr) {
	int fd;
	unsigned char *memory; /* of the program */
	uint32_t own;
	unsigned char *mapped; /* own */
	struct npu_lane lane;
	uint64_t copies;
};

/* A handle or a negative errno. */
static int64_t take(int fd, const void *address, uint64_t size, uint32_t flags)
{
	struct drm_npu_gem_userptr args = {
		.address = (uintptr_t)address, .size = size, .flags = flags,
	};
	int ret = npu_call(fd, DRM_IOCTL_NPU_GEM_USERPTR, &args);

	return ret ? ret : (int64_t)args.handle;
}

static unsigned char *make_memory(uint64_t bytes)
{
	unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t i;

	for (i = 0; memory != MAP_FAILED && i < bytes; i++)
		memory[i] = (unsigned char)(i * 13 + i / PAGE);
	return memory;
}

/* KiB that this process has pinned, by the kernel's own count. */
static uint64_t pinned_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long value = ~0ull;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmPin: %llu", &value) == 1)
			break;
	}
	if (file)
		fclose(file);
	return value;
}

FIXTURE_SETUP(userptr)
{
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	self->memory = make_memory(BYTES);
	ASSERT_NE(MAP_FAILED, (void *)self->memory);
	self->own = npu_buffer(self->fd, BYTES);
	self->mapped = npu_map(self->fd, self->own, BYTES);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, self->own, OWN_VA, BYTES));
}

FIXTURE_TEARDOWN(userptr)
{
	npu_lane_unmap(&self->lane);
	munmap(self->mapped, BYTES);
	close(self->fd);
	EXPECT_EQ(0, pinned_kib());
	EXPECT_EQ(0, account_of("device", "bytes"));
}

static int copy(struct npu_lane *lane, uint64_t *copies, uint64_t to, uint64_t from, uint64_t bytes)
{
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1, .destination = to, .source = from, .bytes = (uint32_t)bytes,
		.signal_sem = 2,
	};

	npu_lane_put(lane, &packet);
	return npu_wait(lane->fd, lane->ctx, 2, ++*copies, now_ns() + 60000 * MILLISECOND);
}

TEST_F(userptr, read_and_written_by_the_device)
{
	int64_t handle = take(self->fd, self->memory, BYTES, 0);

	ASSERT_LT(0, handle);
	EXPECT_EQ(BYTES / 1024, pinned_kib());
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, BYTES));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory, BYTES));
	memset(self->mapped, 0x5a, PAGE);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA + 600 * PAGE, OWN_VA, PAGE));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory + 600 * PAGE, PAGE));
	EXPECT_NE(0, memcmp(self->mapped, self->memory + 601 * PAGE, PAGE));
}

TEST_F(userptr, a_part_of_it)
{
	struct drm_npu_bind_op op = {
		.flags = DRM_NPU_BIND_READ, .offset = 5 * PAGE, .va = VA, .bytes = 2 * PAGE,
	};

	op.handle = take(self->fd, self->memory, BYTES, 0);
	ASSERT_EQ(0, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, 2 * PAGE));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory + 5 * PAGE, 2 * PAGE));
	op.offset = BYTES - PAGE;
	op.va = VA + BYTES;
	EXPECT_EQ(-EINVAL, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
}

TEST_F(userptr, that_cannot_be_written)
{
	struct drm_npu_bind_op op = { .flags = DRM_NPU_BIND_READ, .va = VA, .bytes = BYTES };
	struct drm_npu_ctx_status status = { .ctx = self->lane.ctx };

	ASSERT_EQ(0, mprotect(self->memory, BYTES, PROT_READ));
	EXPECT_EQ(-EFAULT, take(self->fd, self->memory, BYTES, 0));
	EXPECT_EQ(0, pinned_kib());
	op.handle = take(self->fd, self->memory, BYTES, DRM_NPU_USERPTR_READ_ONLY);
	EXPECT_EQ(-EACCES, npu_bind(self->fd, self->lane.ctx, op.handle, VA, BYTES));
	ASSERT_EQ(0, npu_bind_ops(self->fd, self->lane.ctx, &op, 1));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, BYTES));
	EXPECT_EQ(0, memcmp(self->mapped, self->memory, BYTES));
	/* The device keeps to that. */
	memset(self->mapped, 0x5a, PAGE);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA, OWN_VA, PAGE));
	EXPECT_NE(0, memcmp(self->mapped, self->memory, PAGE));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
	EXPECT_EQ(1, status.faults);
}

TEST_F(userptr, memory_that_is_not_there)
{
	struct drm_npu_gem_info info = { .handle = self->own };
	void *buffer;

	ASSERT_EQ(0, mprotect(self->memory + 650 * PAGE, PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT, take(self->fd, self->memory, BYTES, 0));
	EXPECT_EQ(-EFAULT, take(self->fd, self->memory, BYTES, DRM_NPU_USERPTR_READ_ONLY));
	ASSERT_EQ(0, munmap(self->memory + 650 * PAGE, PAGE));
	EXPECT_EQ(-EFAULT, take(self->fd, self->memory, BYTES, 0));
	EXPECT_EQ(-EFAULT, take(self->fd, NULL, PAGE, 0));
	EXPECT_EQ(-EFAULT, take(self->fd, (void *)~(PAGE - 1), PAGE, 0));
	EXPECT_EQ(-EFAULT, take(self->fd, (void *)(1ull << 63), PAGE, 0));
	/* What drivers map is no memory of the program's. */
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	buffer = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		      (off_t)info.mmap_offset);
	ASSERT_NE(MAP_FAILED, buffer);
	EXPECT_EQ(-EFAULT, take(self->fd, buffer, PAGE, 0));
	munmap(buffer, PAGE);
	EXPECT_EQ(-EFAULT, take(self->fd, (void *)self->lane.doorbell, PAGE, 0));
	EXPECT_EQ(0, pinned_kib());
}

/* The addresses are the program's to use for something else. */
TEST_F(userptr, unmapped_and_mapped_anew)
{
	unsigned char *expected = malloc(BYTES), *again;
	int64_t handle = take(self->fd, self->memory, BYTES, 0);

	memcpy(expected, self->memory, BYTES);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, munmap(self->memory, BYTES));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, BYTES));
	EXPECT_EQ(0, memcmp(self->mapped, expected, BYTES));
	again = mmap(self->memory, BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ(self->memory, again);
	memset(again, 0x77, BYTES);
	memset(self->mapped, 0x5a, BYTES);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA, OWN_VA, BYTES));
	EXPECT_EQ(0x77, again[0]);
	EXPECT_EQ(0x77, again[BYTES - 1]);
	EXPECT_EQ(BYTES / 1024, pinned_kib());
	free(expected);
}

/* The parent keeps what the device sees; the child has what was there. */
TEST_F(userptr, fork_copies)
{
	int64_t handle = take(self->fd, self->memory, BYTES, 0);
	int go[2], child, status;
	char byte;

	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, pipe(go));
	self->memory[0] = 1;
	child = fork();
	if (!child) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 0)
			_exit(1);
		_exit(self->memory[0] == 1 && self->memory[PAGE] == (unsigned char)(PAGE * 13 + 1) ?
		      0 : 2);
	}
	self->memory[0] = 2;
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA, VA, PAGE));
	EXPECT_EQ(2, self->mapped[0]);
	memset(self->mapped, 0x5a, PAGE);
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA + PAGE, OWN_VA, PAGE));
	EXPECT_EQ(0x5a, self->memory[PAGE]);
	close(go[1]);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	close(go[0]);
}

/* A child has the file, and the handle with it, but not the memory. */
TEST_F(userptr, only_for_its_own_process)
{
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };
	struct drm_npu_gem_info info;
	int child, status;

	prime.handle = take(self->fd, self->memory, BYTES, 0);
	child = fork();
	if (!child)
		_exit(npu_bind(self->fd, self->lane.ctx, prime.handle, VA, BYTES) == -EACCES ? 0 : 1);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-EACCES, npu_call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	info = (struct drm_npu_gem_info){ .handle = prime.handle, .mmap_offset = 1 };
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(0, npu_bind(self->fd, self->lane.ctx, prime.handle, VA, BYTES));
}

/* The binding holds the pages as the handle does. */
TEST_F(userptr, pinned_until_nothing_holds_it)
{
	int64_t handle = take(self->fd, self->memory, BYTES, 0);

	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA, PAGE));
	ASSERT_EQ(0, npu_close_handle(self->fd, handle));
	EXPECT_EQ(BYTES / 1024, pinned_kib());
	ASSERT_EQ(0, copy(&self->lane, &self->copies, OWN_VA + PAGE, VA + PAGE, BYTES - PAGE));
	EXPECT_EQ(0, memcmp(self->mapped + PAGE, self->memory + PAGE, BYTES - PAGE));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA, BYTES));
	EXPECT_EQ(0, pinned_kib());
}

/* What the device has written of a file is in the file when the memory is nowhere else any more. */
TEST_F(userptr, of_a_file)
{
	char path[] = "/tmp/userptr-XXXXXX";
	int file = mkstemp(path);
	unsigned char *memory, byte = 0;
	int64_t handle;

	ASSERT_LE(0, file);
	unlink(path);
	ASSERT_EQ(0, ftruncate(file, 4 * PAGE));
	memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, (void *)memory);
	handle = take(self->fd, memory, 4 * PAGE, 0);
	ASSERT_LT(0, handle);
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, 4 * PAGE));
	memset(self->mapped, 0x5a, PAGE);
	ASSERT_EQ(0, munmap(memory, 4 * PAGE));
	ASSERT_EQ(0, copy(&self->lane, &self->copies, VA + 3 * PAGE, OWN_VA, PAGE));
	ASSERT_EQ(0, npu_unbind(self->fd, self->lane.ctx, VA, 4 * PAGE));
	ASSERT_EQ(0, npu_close_handle(self->fd, handle));
	ASSERT_EQ(1, pread(file, &byte, 1, 4 * PAGE - 1));
	EXPECT_EQ(0x5a, byte);
	ASSERT_EQ(1, pread(file, &byte, 1, 3 * PAGE - 1));
	EXPECT_EQ(0, byte);
	close(file);
}

/* ----------------------------------------------------------------------------------- limits */

static void pin_to_the_limit(const struct program *program, void *argument)
{
	struct rlimit limit = { 8 * PAGE, 8 * PAGE };
	unsigned char *memory = make_memory(16 * PAGE);
	int64_t handle, second;
	int fd = npu_open();

	MUST(fd >= 0 && !setrlimit(RLIMIT_MEMLOCK, &limit));
	MUST(take(fd, memory, 9 * PAGE, 0) == -EDQUOT);
	MUST(pinned_kib() == 0);
	handle = take(fd, memory, 6 * PAGE, 0);
	MUST(handle > 0 && take(fd, memory, 3 * PAGE, 0) == -EDQUOT);
	/* The same memory counts again, as it is pinned again. */
	second = take(fd, memory, 2 * PAGE, 0);
	MUST(second > 0 && pinned_kib() == 32);
	MUST(take(fd, memory, PAGE, 0) == -EDQUOT);
	MUST(!npu_close_handle(fd, (uint32_t)handle));
	MUST(take(fd, memory, 6 * PAGE, DRM_NPU_USERPTR_READ_ONLY) > 0);
	program_stay(program);
}

TEST_F(userptr, counts_against_memlock)
{
	struct program program;
	uint64_t before = account_of("device", "bytes");

	ASSERT_EQ(0, chmod(DEVICE_FILE, 0666));
	EXPECT_TRUE(program_start(&program, USER, pin_to_the_limit, NULL));
	EXPECT_EQ(8 * PAGE, account_of_process(program.pid, "bytes"));
	/* Whoever is killed gives all back. */
	kill(program.pid, SIGKILL);
	EXPECT_FALSE(program_end(&program));
	EXPECT_EQ(before, account_of("device", "bytes"));
	chmod(DEVICE_FILE, 0660);
}

TEST_F(userptr, counts_as_pinned_memory)
{
	uint64_t most = limit_get("device_bytes"), before = account_of("device", "bytes");
	int64_t handle;

	ASSERT_EQ(0, limit_set("device_bytes", before + BYTES));
	EXPECT_EQ(-ENOSPC, take(self->fd, self->memory - PAGE, BYTES + PAGE, 0));
	handle = take(self->fd, self->memory, BYTES, 0);
	EXPECT_LT(0, handle);
	EXPECT_EQ(before + BYTES, account_of("device", "bytes"));
	EXPECT_EQ(-ENOSPC, take(self->fd, self->memory, PAGE, 0));
	EXPECT_EQ(0, limit_set("device_bytes", most));
	/* Bindings add tables only. */
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	EXPECT_GE(before + BYTES + 4 * PAGE, account_of("device", "bytes"));
}

/* The driver goes, file and handle stay: the device has nothing mapped, and the pages go later. */
TEST_F(userptr, when_the_driver_goes)
{
	int64_t handle = take(self->fd, self->memory, BYTES, 0);
	char function[64];

	ASSERT_TRUE(find_function(function, sizeof(function)));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, driver_write("unbind", function));
	EXPECT_EQ(-ENODEV, take(self->fd, self->memory, PAGE, 0));
	EXPECT_EQ(BYTES / 1024, pinned_kib());
	npu_lane_unmap(&self->lane);
	munmap(self->mapped, BYTES);
	close(self->fd);
	EXPECT_EQ(0, pinned_kib());
	ASSERT_EQ(0, driver_write("bind", function));
	self->fd = npu_open();
	EXPECT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
	self->mapped = npu_map(self->fd, npu_buffer(self->fd, BYTES), BYTES);
}

TEST_HARNESS_MAIN
