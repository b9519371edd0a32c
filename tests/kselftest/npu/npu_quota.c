// SPDX-License-Identifier: MIT
/* Caps: of the device, of a user, of a file; what counts, for whom, and until when. */
#include <pthread.h>
#include <sys/sysinfo.h>

#include "account.h"

#define USER 1000
#define OTHER 1001
#define VA 0x40000000ull
#define FAR (1ull << 30)
#define KIB 1024ull
#define DEVICE_FILE "/dev/accel/accel0"

FIXTURE(quota) {
	uint64_t limits[LIMITS];
	mode_t mode;
	int fd;
};

FIXTURE_SETUP(quota)
{
	struct stat stat_of;
	size_t i;

	for (i = 0; i < LIMITS; i++)
		self->limits[i] = limit_get(limit_names[i]);
	ASSERT_EQ(0, stat(DEVICE_FILE, &stat_of));
	self->mode = stat_of.st_mode & 07777;
	ASSERT_EQ(0, chmod(DEVICE_FILE, 0666));
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(quota)
{
	size_t i;

	close(self->fd);
	chmod(DEVICE_FILE, self->mode);
	for (i = 0; i < LIMITS; i++)
		EXPECT_EQ(0, limit_set(limit_names[i], self->limits[i]));
	/* Whatever was tried, nobody has anything any more. */
	EXPECT_EQ(0, account_of("device", "bytes"));
	EXPECT_EQ(0, account_of("device", "contexts"));
	EXPECT_EQ(0, account_of("device", "queues"));
	EXPECT_EQ(0, account_of("device", "mappings"));
	EXPECT_EQ(0, account_of("device", "waits"));
}

/* As many contexts as there are; the error that comes then. */
static uint32_t fill_contexts(int fd, int *error)
{
	struct drm_npu_ctx_create create;
	uint32_t made = 0;

	do {
		memset(&create, 0, sizeof(create));
		*error = npu_call(fd, DRM_IOCTL_NPU_CTX_CREATE, &create);
	} while (!*error && ++made < 10000);
	return made;
}

static uint32_t fill_queues(int fd, uint32_t ctx, int *error)
{
	struct drm_npu_queue_create create;
	uint32_t made = 0;

	do {
		create = (struct drm_npu_queue_create){
			.ctx = ctx, .ring = RING_VA, .ring_log2 = LANE_LOG2,
		};
		*error = npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create);
	} while (!*error && ++made < 10000);
	return made;
}

TEST_F(quota, what_it_begins_with)
{
	struct sysinfo info;

	ASSERT_EQ(0, sysinfo(&info));
	EXPECT_EQ((uint64_t)info.totalram * info.mem_unit / 2, limit_get("device_bytes"));
	EXPECT_EQ(limit_get("device_bytes") / 2, limit_get("user_bytes"));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_CONTEXTS), limit_get("device_contexts"));
	EXPECT_EQ(limit_get("device_contexts") / 2, limit_get("user_contexts"));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_QUEUES), limit_get("device_queues"));
	EXPECT_EQ(limit_get("device_queues") / 2, limit_get("user_queues"));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_MAPPINGS_MAX), limit_get("file_mappings"));
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_PENDING_MAX), limit_get("file_waits"));
}

static void write_a_limit(const struct program *program, void *argument)
{
	MUST(limit_get("user_bytes") != 0);
	MUST(limit_set("user_bytes", 1) == -EACCES);
}

TEST_F(quota, only_the_administrator_sets_them)
{
	EXPECT_TRUE(program_run(USER, write_a_limit, NULL));
	EXPECT_EQ(-EINVAL, write_file(LIMITS_FOLDER "user_bytes", "many"));
	EXPECT_EQ(-EINVAL, write_file(LIMITS_FOLDER "user_bytes", "-1"));
	EXPECT_EQ(-ERANGE, write_file(LIMITS_FOLDER "user_bytes", "99999999999999999999"));
	EXPECT_EQ(-EINVAL, limit_set("device_contexts", limit_get("device_contexts") + 1));
	EXPECT_EQ(-EINVAL, limit_set("user_queues", limit_get("device_queues") + 1));
	EXPECT_EQ(0, limit_set("user_queues", limit_get("device_queues")));
	EXPECT_EQ(0, limit_set("user_bytes", UINT64_MAX));
	EXPECT_EQ(UINT64_MAX, limit_get("user_bytes"));
}

/* ------------------------------------------------------------------------- contexts and queues */

static void take_a_users_contexts(const struct program *program, void *argument)
{
	int fd = npu_open(), second = npu_open(), error;

	MUST(fd >= 0 && second >= 0);
	MUST(fill_contexts(fd, &error) == limit_get("user_contexts") && error == -EDQUOT);
	MUST(fill_contexts(second, &error) == 0 && error == -EDQUOT);
	MUST(npu_context_destroy(fd, 1) == 0);
	MUST(fill_contexts(second, &error) == 1 && error == -EDQUOT);
	program_stay(program);
}

static void find_no_context(const struct program *program, void *argument)
{
	int fd = npu_open(), error;

	MUST(fd >= 0);
	MUST(fill_contexts(fd, &error) == 0 && error == -ENOSPC);
}

/* A user has half, with all his files; others have the rest, and who is privileged all of it. */
TEST_F(quota, contexts_of_a_user)
{
	uint32_t all = (uint32_t)limit_get("device_contexts"), half = all / 2;
	struct program program;
	int error;

	EXPECT_TRUE(program_start(&program, USER, take_a_users_contexts, NULL));
	EXPECT_EQ(half, account_of("user uid=1000 ", "contexts"));
	EXPECT_EQ(3, account_of("user uid=1000 ", "refused-contexts"));
	EXPECT_EQ(all - half, fill_contexts(self->fd, &error));
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_TRUE(program_run(OTHER, find_no_context, NULL));
	EXPECT_TRUE(program_end(&program));
	/* What he had is to be had. */
	EXPECT_EQ(half, fill_contexts(self->fd, &error));
	EXPECT_EQ(-ENOSPC, error);
}

static void take_a_users_queues(const struct program *program, void *argument)
{
	struct drm_npu_queue_destroy destroy;
	struct npu_lane lane;
	int error;

	MUST(npu_lane_open(&lane, npu_open()) == 0);
	MUST(fill_queues(lane.fd, lane.ctx, &error) == 2 && error == -EDQUOT);
	destroy = (struct drm_npu_queue_destroy){ .ctx = lane.ctx, .queue = lane.queue };
	MUST(npu_call(lane.fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy) == 0);
	MUST(fill_queues(lane.fd, lane.ctx, &error) == 1 && error == -EDQUOT);
	program_stay(program);
}

TEST_F(quota, queues_of_a_user)
{
	struct program program;
	struct npu_lane lane;
	int error;

	ASSERT_EQ(0, limit_set("user_queues", 3));
	ASSERT_EQ(0, limit_set("device_queues", 5));
	EXPECT_TRUE(program_start(&program, USER, take_a_users_queues, NULL));
	EXPECT_EQ(3, account_of_process(program.pid, "queues"));
	EXPECT_EQ(2, account_of_process(program.pid, "refused-queues"));
	ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
	EXPECT_EQ(1, fill_queues(self->fd, lane.ctx, &error));
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_TRUE(program_end(&program));
	/* A cap that comes to lie below takes nothing away, and gives nothing more. */
	ASSERT_EQ(0, limit_set("device_queues", 1));
	EXPECT_EQ(0, fill_queues(self->fd, lane.ctx, &error));
	EXPECT_EQ(-ENOSPC, error);
	npu_lane_signal(&lane, 1, 1);
	EXPECT_EQ(0, npu_wait(self->fd, lane.ctx, 1, 1, now_ns() + 20000 * MILLISECOND));
	npu_lane_unmap(&lane);
}

/* ------------------------------------------------------------------------------- pinned bytes */

static uint64_t my_bytes(void)
{
	return account_of("device", "bytes");
}

/* The whole buffer counts, once; a context's tables count. */
TEST_F(quota, what_counts)
{
	uint32_t ctx = npu_context(self->fd), handle = npu_buffer(self->fd, 256 * KIB);
	const uint64_t root = PAGE, tables = 3 * PAGE;

	EXPECT_EQ(root, my_bytes());
	ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, VA, PAGE));
	EXPECT_EQ(256 * KIB + tables, my_bytes());
	ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, VA + PAGE, 128 * KIB));
	EXPECT_EQ(256 * KIB + tables, my_bytes());
	ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, VA + FAR, PAGE));
	EXPECT_EQ(256 * KIB + tables + 2 * PAGE, my_bytes());
	EXPECT_EQ(3, account_of("device", "mappings"));
	ASSERT_EQ(0, npu_unbind(self->fd, ctx, VA, FAR));
	EXPECT_EQ(256 * KIB + tables, my_bytes());
	/* The handle is not what holds it. */
	npu_close_handle(self->fd, handle);
	EXPECT_EQ(256 * KIB + tables, my_bytes());
	ASSERT_EQ(0, npu_unbind(self->fd, ctx, VA + FAR, PAGE));
	EXPECT_EQ(root, my_bytes());
	EXPECT_EQ(0, npu_context_destroy(self->fd, ctx));
	EXPECT_EQ(0, my_bytes());
}

TEST_F(quota, what_fails_counts_nothing)
{
	uint32_t ctx = npu_context(self->fd), handle = npu_buffer(self->fd, 64 * KIB);
	struct drm_npu_bind_op ops[2] = {
		{ .flags = DRM_NPU_BIND_READ, .handle = handle, .va = VA, .bytes = PAGE },
		{ .flags = DRM_NPU_BIND_READ, .handle = handle, .va = VA, .bytes = PAGE },
	};

	EXPECT_EQ(-EEXIST, npu_bind_ops(self->fd, ctx, ops, 2));
	EXPECT_EQ(PAGE, my_bytes());
	EXPECT_EQ(0, account_of("device", "mappings"));
	ops[1].handle = 12345;
	EXPECT_EQ(-ENOENT, npu_bind_ops(self->fd, ctx, ops, 2));
	EXPECT_EQ(PAGE, my_bytes());
}

static void bind_too_much(const struct program *program, void *argument)
{
	int fd = npu_open();
	uint32_t ctx = npu_context(fd), small = npu_buffer(fd, 512 * KIB);
	uint32_t large = npu_buffer(fd, 1024 * KIB);
	struct drm_npu_bind_op ops[2] = {
		{ .flags = DRM_NPU_BIND_READ, .handle = small, .va = VA, .bytes = PAGE },
		{ .flags = DRM_NPU_BIND_READ, .handle = large, .va = VA + PAGE, .bytes = PAGE },
	};

	/* A page of it would pin it all. */
	MUST(npu_bind(fd, ctx, large, VA, PAGE) == -EDQUOT);
	MUST(npu_bind_ops(fd, ctx, ops, 2) == -EDQUOT);
	MUST(npu_bind_ops(fd, ctx, ops, 1) == 0);
	MUST(npu_bind(fd, ctx, large, VA + PAGE, PAGE) == -EDQUOT);
	program_stay(program);
}

TEST_F(quota, bytes_of_a_user)
{
	uint32_t ctx = npu_context(self->fd), handle = npu_buffer(self->fd, 1024 * KIB);
	struct program program;

	ASSERT_EQ(0, limit_set("user_bytes", 1024 * KIB));
	ASSERT_EQ(0, limit_set("device_bytes", 1500 * KIB));
	EXPECT_TRUE(program_start(&program, USER, bind_too_much, NULL));
	EXPECT_EQ(512 * KIB + 3 * PAGE, account_of("user uid=1000 ", "bytes"));
	EXPECT_EQ(3, account_of_process(program.pid, "refused-bytes"));
	/* Root may have what is left, and that is too little. */
	EXPECT_EQ(-ENOSPC, npu_bind(self->fd, ctx, handle, VA, PAGE));
	EXPECT_TRUE(program_end(&program));
	EXPECT_EQ(0, npu_bind(self->fd, ctx, handle, VA, PAGE));
}

static void bind_one_page_everywhere(const struct program *program, void *argument)
{
	int fd = npu_open(), ret = 0;
	uint32_t ctx = npu_context(fd), handle = npu_buffer(fd, PAGE), i;

	for (i = 0; i < 255 && !ret; i++)
		ret = npu_bind(fd, ctx, handle, i * FAR, PAGE);
	MUST(ret == -EDQUOT);
	/* Two tables each, one of which is the same for all. */
	MUST(i > 100 && i < 130);
	MUST(account_of_process(getpid(), "bytes") == UINT64_MAX); /* which is for root to see */
	MUST(npu_unbind(fd, ctx, 0, 100 * FAR) == 0);
	MUST(npu_bind(fd, ctx, handle, 200 * FAR, PAGE) == 0);
	program_stay(program);
}

/* One page in many places costs tables. */
TEST_F(quota, sparse_maps)
{
	struct program program;

	ASSERT_EQ(0, limit_set("user_bytes", 1024 * KIB));
	EXPECT_TRUE(program_start(&program, USER, bind_one_page_everywhere, NULL));
	EXPECT_LE(account_of_process(program.pid, "bytes"), 1024 * KIB);
	EXPECT_LE(1, account_of_process(program.pid, "refused-bytes"));
	EXPECT_TRUE(program_end(&program));
}

/* Who bound it first pays until nobody has it bound, even when his file is closed. */
TEST_F(quota, who_pays_for_what_is_shared)
{
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };
	int second = npu_open();
	uint32_t ctx = npu_context(self->fd), seconds = npu_context(second);

	prime.handle = npu_buffer(self->fd, 256 * KIB);
	ASSERT_EQ(0, npu_bind(self->fd, ctx, prime.handle, VA, PAGE));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ASSERT_EQ(0, npu_call(second, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	ASSERT_EQ(0, npu_bind(second, seconds, prime.handle, VA, PAGE));
	EXPECT_EQ(256 * KIB + 6 * PAGE, my_bytes());
	close(self->fd);
	self->fd = second;
	EXPECT_EQ(256 * KIB + 3 * PAGE, my_bytes());
	/* The first line is that of the file that is closed. */
	EXPECT_EQ(256 * KIB, account_of_process(getpid(), "bytes"));
	ASSERT_EQ(0, npu_unbind(second, seconds, VA, PAGE));
	EXPECT_EQ(PAGE, my_bytes());
	EXPECT_EQ(PAGE, account_of_process(getpid(), "bytes"));
}

TEST_F(quota, memory_of_others_does_not_count)
{
	struct drm_prime_handle prime = { .fd = npu_udmabuf(256 * KIB, NULL) };
	uint32_t ctx = npu_context(self->fd);

	ASSERT_GE(prime.fd, 0);
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	ASSERT_EQ(0, npu_bind(self->fd, ctx, prime.handle, VA, 256 * KIB));
	EXPECT_EQ(3 * PAGE, my_bytes());
	close(prime.fd);
}

/* --------------------------------------------------------------------------- what a file may */

TEST_F(quota, mappings_of_a_file)
{
	uint32_t ctx = npu_context(self->fd), second = npu_context(self->fd);
	uint32_t handle = npu_buffer(self->fd, 4 * PAGE), i;
	struct drm_npu_bind_op ops[2] = {
		{ .flags = DRM_NPU_BIND_READ, .handle = handle, .va = VA, .bytes = 4 * PAGE },
		{ .type = DRM_NPU_BIND_UNMAP, .va = VA + 4 * PAGE, .bytes = PAGE },
	};

	ASSERT_EQ(0, limit_set("file_mappings", 8));
	EXPECT_EQ(8, npu_param(self->fd, DRM_NPU_PARAM_MAPPINGS_MAX));
	for (i = 0; i < 7; i++)
		ASSERT_EQ(0, npu_bind(self->fd, ctx, handle, VA + 4 * i * PAGE, 4 * PAGE));
	ASSERT_EQ(0, npu_bind(self->fd, second, handle, VA, PAGE));
	EXPECT_EQ(-EDQUOT, npu_bind(self->fd, second, handle, VA + PAGE, PAGE));
	/* A hole makes two of one. */
	EXPECT_EQ(-EDQUOT, npu_unbind(self->fd, ctx, VA + PAGE, PAGE));
	EXPECT_EQ(-EEXIST, npu_bind(self->fd, ctx, handle, VA + PAGE, PAGE));
	/* What counts is what a call leaves. */
	ASSERT_EQ(0, npu_unbind(self->fd, ctx, VA, 4 * PAGE));
	ops[1].va = VA + 5 * PAGE;
	EXPECT_EQ(-EDQUOT, npu_bind_ops(self->fd, ctx, ops, 2));
	ops[1].va = VA + 4 * PAGE;
	EXPECT_EQ(0, npu_bind_ops(self->fd, ctx, ops, 2));
	EXPECT_EQ(8, account_of("device", "mappings"));
	EXPECT_EQ(3, account_of_process(getpid(), "refused-mappings"));
	/* Another file has its own. */
	close(self->fd);
	self->fd = npu_open();
	EXPECT_EQ(0, account_of("device", "mappings"));
}

static int bind_point(int fd, uint32_t ctx, uint32_t syncobj)
{
	struct drm_npu_sem_to_syncobj args = {
		.ctx = ctx, .sem = 1, .value = 1, .syncobj = syncobj, .point = 1,
	};

	return npu_call(fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &args);
}

TEST_F(quota, waits_of_a_file)
{
	struct drm_syncobj_create create = { 0 };
	uint32_t ctx = npu_context(self->fd), i;

	ASSERT_EQ(0, limit_set("file_waits", 3));
	EXPECT_EQ(3, npu_param(self->fd, DRM_NPU_PARAM_PENDING_MAX));
	ASSERT_EQ(0, npu_call(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, bind_point(self->fd, ctx, create.handle));
	EXPECT_EQ(-EDQUOT, bind_point(self->fd, ctx, create.handle));
	EXPECT_EQ(3, account_of_process(getpid(), "waits"));
	EXPECT_EQ(3, account_of_process(getpid(), "watching"));
	EXPECT_EQ(1, account_of_process(getpid(), "refused-waits"));
}

/* --------------------------------------------------------------------------- counters say who */

static void *wait_long(void *argument)
{
	struct npu_lane *lane = argument;

	MUST(npu_wait(lane->fd, lane->ctx, 5, 1, now_ns() + 100000 * MILLISECOND) == 0);
	return NULL;
}

static void wait_and_fault(const struct program *program, void *argument)
{
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1, .destination = VA, .source = VA, .bytes = 64, .signal_sem = 6,
	};
	struct npu_lane lane;
	pthread_t thread;

	MUST(npu_lane_open(&lane, npu_open()) == 0);
	npu_lane_signal(&lane, 1, 1);
	MUST(npu_wait(lane.fd, lane.ctx, 1, 1, now_ns() + 20000 * MILLISECOND) == 0);
	npu_lane_put(&lane, &copy);
	MUST(npu_wait(lane.fd, lane.ctx, 6, 1, now_ns() + 20000 * MILLISECOND) == 0);
	MUST(!pthread_create(&thread, NULL, wait_long, &lane));
	program_stay(program);
	npu_lane_signal(&lane, 5, 1);
	MUST(!pthread_join(thread, NULL));
}

TEST_F(quota, counters_say_who)
{
	struct program program;
	int i;

	EXPECT_TRUE(program_start(&program, USER, wait_and_fault, NULL));
	EXPECT_EQ(USER, account_of_process(program.pid, "uid"));
	EXPECT_EQ(0, account_of_process(program.pid, "privileged"));
	EXPECT_EQ(1, account_of_process(getpid(), "privileged"));
	EXPECT_EQ(1, account_of_process(program.pid, "queues"));
	EXPECT_EQ(1, account_of_process(program.pid, "faults"));
	EXPECT_EQ(0, account_of_process(getpid(), "faults"));
	/* The thread may not have got that far. */
	for (i = 0; i < 1000 && account_of_process(program.pid, "watching") != 1; i++)
		usleep(10000);
	EXPECT_EQ(1, account_of_process(program.pid, "watching"));
	EXPECT_LE(1, account_of_process(program.pid, "armed"));
	EXPECT_EQ(0, account_of_process(getpid(), "armed"));
	EXPECT_TRUE(program_end(&program));
	EXPECT_EQ(UINT64_MAX, account_of_process(program.pid, "uid"));
}

TEST_HARNESS_MAIN
