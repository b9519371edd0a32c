// SPDX-License-Identifier: MIT
/*
 * Process B, another user's, tries to get at what process A has, and to take A's share of the
 * device: it gets the error that is promised, and A notices nothing. Shares are looked at in the
 * device's own cycles.
 */
#include <poll.h>

#include "account.h"
#include "npu/npu_regs.h"
#include "program.h"

#define USER 1000
#define OTHER 1001
#define CLUSTERS 4u
#define MOVED 4096u			/* bytes of each space and cluster */
#define SUMS (8 * 8 * 32 * 4u)		/* bytes of accumulators that are looked at */
#define AT_LOCAL 0x1000u
#define LOCAL_SUMS 0x8000u
#define LOCAL_BYTES 0x10000u

/* Where things are, in the process and for the device. */
#define DATA_VA 0x20000000ull
#define DATA_BYTES (64 * PAGE)
#define SECRET 0u
#define CODE 0x2000u
#define ARGUMENTS 0x4000u
#define RECORD 0x5000u
#define TIMES 0x6000u
#define FOUND 0x8000u
#define FOUND_BYTES (CLUSTERS * (2 * MOVED + SUMS))

#define DEVICE_FILE "/dev/accel/accel0"

/* A process's part of the device. */
struct side {
	struct npu_lane lane;
	unsigned char *data;
	uint64_t done, released;
};

static int side_open(struct side *side)
{
	uint32_t handle;
	int ret;

	memset(side, 0, sizeof(*side));
	ret = npu_lane_open(&side->lane, npu_open());
	if (ret)
		return ret;
	handle = npu_buffer(side->lane.fd, DATA_BYTES);
	side->data = npu_map(side->lane.fd, handle, DATA_BYTES);
	if (side->data == MAP_FAILED)
		return -ENOMEM;
	struct drm_npu_bind_op op = {
		.flags = DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE | DRM_NPU_BIND_EXEC,
		.handle = handle, .va = DATA_VA, .bytes = DATA_BYTES,
	};

	return npu_bind_ops(side->lane.fd, side->lane.ctx, &op, 1);
}

static void side_close(struct side *side)
{
	npu_lane_unmap(&side->lane);
	munmap(side->data, DATA_BYTES);
	close(side->lane.fd);
}

static int side_wait(struct side *side)
{
	return npu_wait(side->lane.fd, side->lane.ctx, 2, ++side->done,
			now_ns() + 60000 * MILLISECOND);
}

/* Runs the program that is at CODE; argument 0: the secret, 1: what is found. */
static const struct npu_record *side_run(struct side *side)
{
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = 7, .program = DATA_VA + CODE, .arguments = DATA_VA + ARGUMENTS,
		.record = DATA_VA + RECORD, .budget = 10000, .argument_count = 2,
		.signal_sem = 2, .wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
	uint64_t *arguments = (void *)(side->data + ARGUMENTS);

	arguments[0] = DATA_VA + SECRET;
	arguments[1] = DATA_VA + FOUND;
	memset(side->data + RECORD, 0, sizeof(struct npu_record));
	npu_lane_put(&side->lane, &exec);
	return side_wait(side) ? NULL : (const void *)(side->data + RECORD);
}

/* ------------------------------------------------------------------------------- programs */

static struct npu_td local_bytes(void)
{
	return tensor(NPU_SPACE_LOCAL, 0, AT_LOCAL, NPU_DTYPE_INT8, 1, 1, MOVED);
}

static struct npu_td window_bytes(uint32_t cluster)
{
	return tensor(NPU_SPACE_GLOBAL, 0, cluster * MOVED, NPU_DTYPE_INT8, 1, 1, MOVED);
}

static struct npu_td sums_in(unsigned int space, unsigned int argument, uint64_t address)
{
	return tensor(space, argument, address, NPU_DTYPE_INT32, 8, 8, 32);
}

static struct npu_td found(uint32_t at)
{
	return tensor(NPU_SPACE_DRAM, 1, at, NPU_DTYPE_INT8, 1, 1, MOVED);
}

/* The accumulators get sums of the secret, of which the local SRAM is full. */
static void sum_up(struct code *code)
{
	const struct npu_window window = {
		.out_height = 8, .out_width = 8, .kernel_height = 1, .kernel_width = 1,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};
	struct npu_td activations = tensor(NPU_SPACE_LOCAL, 0, AT_LOCAL, NPU_DTYPE_INT8, 8, 8, 32);
	struct npu_td weights = tensor(NPU_SPACE_LOCAL, 0, AT_LOCAL, NPU_DTYPE_INT8, 1, 32, 32);

	code_load(code, 3, &window);
	code_load(code, 4, &activations);
	code_load(code, 5, &weights);
	code_emit(code, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M, .src = { 4, 5, 3 },
			     .imm32 = 32, .wait = { NPU_TOKEN(2) }, .release = { NPU_TOKEN(4) }));
}

static void store_sums(struct code *code, uint32_t at, unsigned int after)
{
	struct npu_td sums = sums_in(NPU_SPACE_LOCAL, 0, LOCAL_SUMS);

	code_load(code, 6, &sums);
	code_emit(code, INSN(.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32, .dst = 6,
			     .wait = { after ? NPU_TOKEN(after) : 0 },
			     .release = { NPU_TOKEN(5) }));
	code_move(code, sums_in(NPU_SPACE_DRAM, 1, at), sums, 5, 6);
}

/* A's: the secret into all SRAM and, summed, into the accumulators, and out again. */
static void write_honest(struct side *side)
{
	struct npu_td secret = tensor(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, MOVED);
	struct code code;

	code_begin(&code, side->data + CODE, CLUSTERS, LOCAL_BYTES, CLUSTERS * MOVED);
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		uint32_t at = i * (2 * MOVED + SUMS);

		code.header->entry[i] = code.header->bytes;
		code_move(&code, local_bytes(), secret, 0, 1);
		code_move(&code, window_bytes(i), local_bytes(), 1, 2);
		sum_up(&code);
		store_sums(&code, at + 2 * MOVED, 4);
		code_move(&code, found(at), local_bytes(), 6, 7);
		code_move(&code, found(at + MOVED), window_bytes(i), 7, 8);
		code_emit(&code, INSN(.opcode = NPU_OP_END));
	}
}

/* B's: all that is there goes out, and nothing in before. */
static void write_curious(struct side *side)
{
	struct code code;

	code_begin(&code, side->data + CODE, CLUSTERS, LOCAL_BYTES, CLUSTERS * MOVED);
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		uint32_t at = i * (2 * MOVED + SUMS);

		code.header->entry[i] = code.header->bytes;
		code_move(&code, found(at), local_bytes(), 0, 1);
		code_move(&code, found(at + MOVED), window_bytes(i), 1, 2);
		store_sums(&code, at + 2 * MOVED, 2);
		code_emit(&code, INSN(.opcode = NPU_OP_END));
	}
}

/* B's: one byte beyond what it has asked for. */
static void write_beyond(struct side *side, struct npu_td beyond)
{
	struct code code;

	code_begin(&code, side->data + CODE, 1, LOCAL_BYTES, MOVED);
	code.header->entry[0] = code.header->bytes;
	code_move(&code, found(0), beyond, 0, 1);
	code_emit(&code, INSN(.opcode = NPU_OP_END));
}

/* ------------------------------------------------------------------------------ A, the victim */

FIXTURE(attack) {
	struct side a;
	unsigned char *expected;
	mode_t mode;
};

FIXTURE_SETUP(attack)
{
	struct stat stat_of;

	ASSERT_EQ(0, stat(DEVICE_FILE, &stat_of));
	self->mode = stat_of.st_mode & 07777;
	ASSERT_EQ(0, chmod(DEVICE_FILE, 0666));
	ASSERT_EQ(0, side_open(&self->a));
	self->expected = malloc(FOUND_BYTES);
	for (uint32_t i = 0; i < MOVED; i++)
		self->a.data[SECRET + i] = (unsigned char)(1 + i % 100);
	write_honest(&self->a);
	ASSERT_NE(NULL, side_run(&self->a));
	memcpy(self->expected, self->a.data + FOUND, FOUND_BYTES);
}

FIXTURE_TEARDOWN(attack)
{
	chmod(DEVICE_FILE, self->mode);
	side_close(&self->a);
	free(self->expected);
}

/* A's program again: does it find what it found before anybody attacked? */
static bool a_is_well(struct side *a, const unsigned char *expected)
{
	struct drm_npu_ctx_status status = { .ctx = a->lane.ctx };
	const struct npu_record *record;

	memset(a->data + FOUND, 0, FOUND_BYTES);
	record = side_run(a);
	return record && !record->error && !memcmp(a->data + FOUND, expected, FOUND_BYTES) &&
	       !npu_call(a->lane.fd, DRM_IOCTL_NPU_CTX_STATUS, &status) && !status.faults &&
	       status.state == DRM_NPU_CTX_ALIVE;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	while (count && !*bytes) {
		bytes++;
		count--;
	}
	return !count;
}

/* What it found is the secret, so that what B looks for was there. */
TEST_F(attack, there_is_something_to_find)
{
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		const unsigned char *part = self->expected + i * (2 * MOVED + SUMS);

		EXPECT_EQ(0, memcmp(part, self->a.data + SECRET, MOVED));
		EXPECT_EQ(0, memcmp(part + MOVED, self->a.data + SECRET, MOVED));
		EXPECT_FALSE(is_zero(part + 2 * MOVED, SUMS));
	}
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

/* ----------------------------------------------------------------------------- what A's are */

static void look_into_sram(const struct program *program, void *argument)
{
	const struct npu_record *record;
	struct side b;

	MUST(!side_open(&b));
	write_curious(&b);
	memset(b.data + FOUND, 0xee, FOUND_BYTES);
	record = side_run(&b);
	MUST(record && !record->error);
	MUST(is_zero(b.data + FOUND, FOUND_BYTES));
	side_close(&b);
}

TEST_F(attack, sram_and_accumulators)
{
	for (int round = 0; round < 5; round++) {
		EXPECT_TRUE(program_run(USER, look_into_sram, NULL));
		EXPECT_TRUE(a_is_well(&self->a, self->expected));
	}
}

static void look_beyond(const struct program *program, void *argument)
{
	const struct npu_record *record;
	struct side b;

	MUST(!side_open(&b));
	write_beyond(&b, tensor(NPU_SPACE_GLOBAL, 0, 64, NPU_DTYPE_INT8, 1, 1, MOVED));
	record = side_run(&b);
	MUST(record && record->error == NPU_ERROR_GLOBAL_RANGE);
	write_beyond(&b, tensor(NPU_SPACE_GLOBAL, 0, 1 << 20, NPU_DTYPE_INT8, 1, 1, MOVED));
	record = side_run(&b);
	MUST(record && record->error == NPU_ERROR_GLOBAL_RANGE);
	write_beyond(&b, tensor(NPU_SPACE_LOCAL, 0, (512 << 10) - 64, NPU_DTYPE_INT8, 1, 1, MOVED));
	record = side_run(&b);
	MUST(record && record->error == NPU_ERROR_LOCAL_RANGE);
	write_beyond(&b, tensor(NPU_SPACE_DRAM, 0, 1ull << 30, NPU_DTYPE_INT8, 1, 1, MOVED));
	record = side_run(&b);
	MUST(record && record->error == NPU_ERROR_MMU_UNMAPPED);
	MUST(is_zero(b.data + FOUND, FOUND_BYTES));
	side_close(&b);
}

TEST_F(attack, windows_and_descriptors)
{
	EXPECT_TRUE(program_run(USER, look_beyond, NULL));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

/* A has its data at an address where B has nothing. */
static void use_as_addresses(const struct program *program, void *argument)
{
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0), .task_id = 9,
		.destination = RING_VA + 2048, .source = DATA_VA, .bytes = 64, .signal_sem = 2,
	};
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0), .task_id = 10,
		.program = DATA_VA + CODE, .arguments = DATA_VA + ARGUMENTS, .budget = 10,
		.argument_count = 2, .signal_sem = 2, .wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
	struct drm_npu_ctx_status status;
	struct side b = { .done = 0 };

	MUST(!npu_lane_open(&b.lane, npu_open()));
	npu_lane_put(&b.lane, &copy);
	MUST(!side_wait(&b));
	npu_lane_put(&b.lane, &exec);
	MUST(!side_wait(&b));
	for (uint32_t task = 9; task <= 10; task++) {
		status = (struct drm_npu_ctx_status){
			.ctx = b.lane.ctx, .flags = DRM_NPU_CTX_STATUS_TASK, .task_id = task,
		};
		MUST(!npu_call(b.lane.fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
		MUST(status.fault_error == NPU_ERROR_MMU_UNMAPPED);
		MUST(status.fault_address >= DATA_VA && status.fault_address < DATA_VA + DATA_BYTES);
	}
	MUST(is_zero(b.lane.ring + 2048, 64));
	npu_lane_unmap(&b.lane);
}

TEST_F(attack, addresses_of_others)
{
	EXPECT_TRUE(program_run(USER, use_as_addresses, NULL));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

struct numbers {
	uint32_t ctx, queue, handle, syncobj;
	uint64_t doorbell, semaphores, buffer;
};

static int map_of(int fd, uint64_t offset, int protection)
{
	void *at = mmap(NULL, PAGE, protection, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? -errno : 0;
}

static void use_numbers(const struct program *program, void *argument)
{
	const struct numbers *a = argument;
	struct drm_npu_ctx_status status = { .ctx = a->ctx };
	struct drm_npu_queue_destroy destroy = { .ctx = a->ctx, .queue = a->queue };
	struct drm_npu_sem_to_syncobj out = { .ctx = a->ctx, .syncobj = a->syncobj };
	struct drm_npu_gem_info info = { .handle = a->handle };
	struct drm_prime_handle prime = { .handle = a->handle, .fd = 500 };
	int fd = npu_open();
	uint32_t own;

	MUST(fd >= 0);
	MUST(npu_call(fd, DRM_IOCTL_NPU_CTX_STATUS, &status) == -ENOENT);
	MUST(npu_call(fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy) == -ENOENT);
	MUST(npu_call(fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &out) == -ENOENT);
	MUST(npu_call(fd, DRM_IOCTL_NPU_GEM_INFO, &info) == -ENOENT);
	MUST(npu_call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) == -ENOENT);
	MUST(npu_call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime) == -EBADF);
	MUST(npu_wait(fd, a->ctx, 2, 1, 0) == -ENOENT);
	MUST(npu_unbind(fd, a->ctx, DATA_VA, PAGE) == -ENOENT);
	MUST(npu_context_destroy(fd, a->ctx) == -ENOENT);
	MUST(map_of(fd, a->doorbell, PROT_WRITE) == -ENOENT);
	MUST(map_of(fd, a->semaphores, PROT_READ) == -ENOENT);
	MUST(map_of(fd, a->buffer, PROT_READ) == -EACCES);
	/* In a context of its own, too. */
	own = npu_context(fd);
	out.ctx = own;
	MUST(npu_call(fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &out) == -ENOENT);
	MUST(npu_bind(fd, own, a->handle, DATA_VA, PAGE) == -ENOENT);
	MUST(map_of(fd, a->doorbell, PROT_WRITE) == -ENOENT);
	MUST(npu_wait(fd, own, 2, 1, 0) == -ETIME);
}

TEST_F(attack, numbers_and_offsets)
{
	struct drm_npu_queue_create create = { .ring = RING_VA + (1 << 20), .ring_log2 = LANE_LOG2 };
	struct drm_syncobj_create syncobj = { 0 };
	struct drm_npu_gem_info info = { 0 };
	struct numbers numbers = { .ctx = self->a.lane.ctx };
	int fd = self->a.lane.fd;

	create.ctx = numbers.ctx;
	ASSERT_EQ(0, npu_bind(fd, create.ctx, npu_buffer(fd, PAGE), create.ring, PAGE));
	ASSERT_EQ(0, npu_call(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create));
	ASSERT_EQ(0, npu_call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &syncobj));
	numbers.queue = create.queue;
	numbers.doorbell = create.doorbell_offset;
	numbers.syncobj = syncobj.handle;
	numbers.semaphores = self->a.lane.made.semaphores_offset;
	numbers.handle = info.handle = self->a.lane.handle;
	ASSERT_EQ(0, npu_call(fd, DRM_IOCTL_NPU_GEM_INFO, &info));
	numbers.buffer = info.mmap_offset;
	EXPECT_TRUE(program_run(USER, use_numbers, &numbers));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

/* ------------------------------------------------------------------------------ A's share */

/* The device's cycles from the first to the last of a few copies that are in the ring already. */
static uint64_t cycles_of_copies(struct side *side)
{
	const struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0), .task_id = 3,
		.destination = DATA_VA + DATA_BYTES / 2, .source = DATA_VA + FOUND,
		.bytes = DATA_BYTES / 4, .signal_sem = NPU_SEM_NONE,
	};
	struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 9, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
	};
	struct npu_packet_timestamp stamp = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_TIMESTAMP, 0, 0),
	};
	const uint64_t *times = (const void *)(side->data + TIMES);

	wait.value[0] = ++side->released;
	npu_lane_put(&side->lane, &wait);
	stamp.destination = DATA_VA + TIMES;
	npu_lane_put(&side->lane, &stamp);
	for (int i = 0; i < 8; i++)
		npu_lane_put(&side->lane, &copy);
	stamp.header = NPU_PACKET_HEADER(NPU_PACKET_BARRIER, 0, 0);
	stamp.destination = 0;
	npu_lane_put(&side->lane, &stamp);
	stamp.header = NPU_PACKET_HEADER(NPU_PACKET_TIMESTAMP, 0, 0);
	stamp.destination = DATA_VA + TIMES + 8;
	npu_lane_put(&side->lane, &stamp);
	npu_lane_signal(&side->lane, 2, 1);
	*(volatile uint64_t *)((volatile char *)side->lane.doorbell + NPU_DOORBELL_SIGNAL) =
		9ull << 48 | 1;
	return side_wait(side) ? 0 : times[1] - times[0];
}

static void block_in_waits(const struct program *program, void *argument)
{
	const struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 3, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { 1 },
	};
	int fd = npu_open(), ret;
	struct npu_lane lane;
	uint32_t blocked = 0;

	/* A ring of its own for each. */
	while (!(ret = npu_lane_open(&lane, fd)) && ++blocked < 1000)
		npu_lane_put(&lane, &wait);
	MUST(ret == *(int *)argument);
	MUST(blocked > 20);
	program_stay(program);
}

/* As many queues as there are, all of which wait: they give up their slots. */
TEST_F(attack, queues_blocked_in_wait)
{
	uint64_t alone = cycles_of_copies(&self->a), beside, queues;
	int error = -ENOSPC;
	struct program program;

	ASSERT_LT(0, alone);
	ASSERT_EQ(0, limit_set("user_queues", limit_get("device_queues")));
	ASSERT_EQ(0, limit_set("user_contexts", limit_get("device_contexts")));
	EXPECT_TRUE(program_start(&program, USER, block_in_waits, &error));
	queues = account_of_process(program.pid, "queues");
	EXPECT_EQ(limit_get("device_queues") - 1, queues);
	for (int round = 0; round < 5; round++) {
		beside = cycles_of_copies(&self->a);
		TH_LOG("%llu cycles alone, %llu beside %llu queues that wait",
		       (unsigned long long)alone, (unsigned long long)beside,
		       (unsigned long long)queues);
		EXPECT_LT(0, beside);
		EXPECT_LT(beside, alone + alone / 50);
	}
	EXPECT_TRUE(program_end(&program));
	EXPECT_EQ(0, limit_set("user_queues", limit_get("device_queues") / 2));
	EXPECT_EQ(0, limit_set("user_contexts", limit_get("device_contexts") / 2));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

/* A wait for each semaphore of many contexts, all met, and again. */
static void toggle_watches(const struct program *program, void *argument)
{
	struct drm_syncobj_create create = { 0 };
	uint32_t most = (uint32_t)limit_get("file_waits"), armed = 0;
	struct npu_lane lanes[16];
	int fd = npu_open(), ret;

	MUST(!npu_call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	for (int i = 0; i < 16; i++)
		MUST(!npu_lane_open(&lanes[i], fd));
	for (uint64_t value = 1; value <= 2; value++) {
		for (uint32_t i = 0; i <= most; i++) {
			struct drm_npu_sem_to_syncobj out = {
				.ctx = lanes[i / 256 % 16].ctx, .sem = i % 256, .value = value,
				.syncobj = create.handle, .point = 1 + armed,
			};

			ret = npu_call(fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &out);
			MUST(i < most ? !ret : ret == -EDQUOT);
			armed += !ret;
		}
		for (uint32_t i = 0; i < most; i++)
			*(volatile uint64_t *)((volatile char *)lanes[i / 256 % 16].doorbell +
					       NPU_DOORBELL_SIGNAL) = (uint64_t)(i % 256) << 48 | 1;
		for (uint32_t i = 0; i < most; i += 255)
			MUST(!npu_wait(fd, lanes[i / 256 % 16].ctx, i % 256, value,
				       now_ns() + 60000 * MILLISECOND));
		if (value == 1)
			program_stay(program);
		/* What is due is done by a worker. */
		for (int i = 0; i < 1000 && value == 1; i++) {
			struct drm_npu_sem_to_syncobj out = {
				.ctx = lanes[0].ctx, .value = 100, .syncobj = create.handle,
			};

			usleep(10000);
			if (!npu_call(fd, DRM_IOCTL_NPU_SEM_TO_SYNCOBJ, &out))
				break;
		}
		most -= value == 1;
	}
}

TEST_F(attack, watches_toggled)
{
	uint64_t alone = cycles_of_copies(&self->a), beside, mine, armed;
	struct program program;

	ASSERT_LT(0, alone);
	mine = account_of_process(getpid(), "armed");
	EXPECT_TRUE(program_start(&program, USER, toggle_watches, NULL));
	/* What waits until they are met may arm some once more. */
	armed = account_of_process(program.pid, "armed");
	EXPECT_LE(4096, armed);
	EXPECT_GE(4096 + 17, armed);
	/* Each tells once, and some are on their way. */
	for (int i = 0; i < 2000 && account_of_process(program.pid, "events") < 4096; i++)
		usleep(10000);
	EXPECT_LE(4096, account_of_process(program.pid, "events"));
	EXPECT_GE(armed, account_of_process(program.pid, "events"));
	EXPECT_LE(1, account_of_process(program.pid, "refused-waits"));
	EXPECT_EQ(mine, account_of_process(getpid(), "armed"));
	close(program.go);
	program.go = -1;
	/* While it goes on. */
	for (int round = 0; round < 5; round++) {
		beside = cycles_of_copies(&self->a);
		TH_LOG("%llu cycles alone, %llu beside watches", (unsigned long long)alone,
		       (unsigned long long)beside);
		EXPECT_LT(0, beside);
		EXPECT_LT(beside, alone + alone / 50);
	}
	EXPECT_TRUE(program_end(&program));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
}

/* Tasks that fault, in many contexts, and of each one who wants to be told. */
#define FLOODERS 64u
#define FLOOD 8u
#define SLICE_US 100u			/* firmware.rst, "Slots and queues" */

struct flood {
	struct npu_lane lanes[FLOODERS];
	uint32_t count, rounds;
	uint64_t told, refused;
};

static bool is_to_go_on(const struct program *program)
{
	struct pollfd told = { .fd = program->go };

	return !poll(&told, 1, 0);
}

static void flood_once(struct flood *flood)
{
	/* No COPY: there is one at a time in the device, and A's would wait for it. */
	const struct npu_packet_exec unmapped = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0), .task_id = 9,
		.program = DATA_VA, .arguments = DATA_VA, .budget = 10, .argument_count = 2,
		.signal_sem = NPU_SEM_NONE, .wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};

	for (uint32_t i = 0; i < flood->count; i++) {
		for (uint32_t tasks = 0; tasks < FLOOD; tasks++)
			npu_lane_put(&flood->lanes[i], &unmapped);
		npu_lane_signal(&flood->lanes[i], 2, 1);
	}
	flood->rounds++;
	for (uint32_t i = 0; i < flood->count; i++)
		MUST(!npu_wait(flood->lanes[i].fd, flood->lanes[i].ctx, 2, flood->rounds,
			       now_ns() + 60000 * MILLISECOND));
}

/* They are due at once, and are left unread until there is no room for more. */
static void ask_for_events(struct flood *flood)
{
	int ret = 0;

	for (uint32_t i = 0; !ret; i++) {
		struct drm_npu_ctx_events ask = {
			.ctx = flood->lanes[i % flood->count].ctx, .kinds = DRM_NPU_EVENT_FAULT,
		};

		ret = npu_call(flood->lanes[0].fd, DRM_IOCTL_NPU_CTX_EVENTS, &ask);
		flood->refused += ret == -EDQUOT;
		MUST(!ret || ret == -EDQUOT);
	}
}

static void read_events(struct flood *flood)
{
	uint64_t most = npu_param(flood->lanes[0].fd, DRM_NPU_PARAM_EVENTS_MAX);
	struct drm_npu_event event;

	for (uint64_t i = 0; i < most; i++) {
		MUST(read(flood->lanes[0].fd, &event, sizeof(event)) == sizeof(event));
		MUST(event.kind == DRM_NPU_EVENT_FAULT && event.faults);
		flood->told++;
	}
}

static void flood_events(const struct program *program, void *argument)
{
	struct flood flood = { .count = *(const uint32_t *)argument };
	int fd = npu_open();

	for (uint32_t i = 0; i < flood.count; i++)
		MUST(!npu_lane_open(&flood.lanes[i], fd));
	flood_once(&flood);
	MUST(write(program->ready, "", 1) == 1);
	while (is_to_go_on(program)) {
		flood_once(&flood);
		ask_for_events(&flood);
		flood_once(&flood);
		read_events(&flood);
	}
	for (uint32_t i = 0; i < flood.count; i++) {
		struct drm_npu_ctx_status status = { .ctx = flood.lanes[i].ctx };

		MUST(!npu_call(fd, DRM_IOCTL_NPU_CTX_STATUS, &status));
		MUST(status.faults == FLOOD * flood.rounds);
	}
	printf("# %u faults, %llu events, refused %llu times\n", flood.count * FLOOD * flood.rounds,
	       (unsigned long long)flood.told, (unsigned long long)flood.refused);
	fflush(stdout);
	MUST(flood.refused && flood.told);
}

/* A's copies beside @count queues whose tasks fault; true: none took more than @most cycles. */
static bool copies_beside_faults(struct side *a, const unsigned char *expected, uint32_t count,
				 uint64_t most)
{
	uint64_t before, beside, mine = account_of_process(getpid(), "faults");
	struct program program;
	bool well;

	if (!program_start(&program, USER, flood_events, &count))
		return false;
	before = account_of_process(program.pid, "faults");
	well = before >= count * FLOOD;
	for (int round = 0; round < 5; round++) {
		beside = cycles_of_copies(a);
		printf("# %llu cycles, %llu are promised, beside %u queues whose tasks fault\n",
		       (unsigned long long)beside, (unsigned long long)most, count);
		well = well && beside && beside <= most && a_is_well(a, expected);
	}
	/* It went on all the time, and is B's alone. */
	for (int i = 0; i < 2000 && account_of_process(program.pid, "faults") == before; i++)
		usleep(10000);
	well = well && account_of_process(program.pid, "faults") > before &&
	       account_of_process(getpid(), "faults") == mine;
	return program_end(&program) && well;
}

/* With a slot for everybody. */
TEST_F(attack, events_flooded)
{
	uint32_t slots = (uint32_t)npu_param(self->a.lane.fd, DRM_NPU_PARAM_SLOTS);
	uint64_t alone = cycles_of_copies(&self->a);

	ASSERT_LT(0, alone);
	ASSERT_LT(1, slots);
	EXPECT_TRUE(copies_beside_faults(&self->a, self->expected, slots - 1, alone + alone / 50));
}

/*
 * With as many queues as a user may have: A's copies are shorter than a slice, so its queue loses its
 * slot once at most, and then waits for the turns of those before it.
 */
TEST_F(attack, events_flooded_and_queues)
{
	uint32_t slots = (uint32_t)npu_param(self->a.lane.fd, DRM_NPU_PARAM_SLOTS);
	uint32_t queues = (uint32_t)limit_get("user_queues");
	uint64_t alone = cycles_of_copies(&self->a), slice, turns = (queues + slots - 1) / slots;

	ASSERT_LT(0, alone);
	ASSERT_LT(slots, queues);
	ASSERT_GE(FLOODERS, queues);
	slice = npu_param(self->a.lane.fd, DRM_NPU_PARAM_CLOCK_HZ) / 1000000 * SLICE_US;
	ASSERT_LT(alone, slice);
	/* The longest task is a copy of A's own. */
	EXPECT_TRUE(copies_beside_faults(&self->a, self->expected, queues,
					 alone + turns * (slice + alone / 8)));
}

/* Children of children, each of which takes contexts until there are none for this user. */
static void storm(const struct program *program, void *argument)
{
	for (int i = 0; i < 6; i++)
		(void)!fork();
	int fd = npu_open();

	while (fd >= 0 && npu_context(fd))
		;
	/* They all stay until the first of them is told to go. */
	if (getppid() != *(pid_t *)argument) {
		char byte;

		(void)!read(program->go, &byte, 1);
		_exit(0);
	}
	program_stay(program);
	while (wait(NULL) > 0)
		;
}

static void make_a_context(const struct program *program, void *argument)
{
	struct side c;

	MUST(!side_open(&c));
	write_curious(&c);
	MUST(side_run(&c) && is_zero(c.data + FOUND, FOUND_BYTES));
	side_close(&c);
}

TEST_F(attack, fork_storm)
{
	uint64_t half = limit_get("user_contexts");
	pid_t self_pid = getpid();
	struct program program;

	EXPECT_TRUE(program_start(&program, USER, storm, &self_pid));
	/* Each of the 64 takes what there is left, until there is nothing. */
	for (int i = 0; i < 2000 && account_of("user uid=1000 ", "refused-contexts") < 64; i++)
		usleep(10000);
	EXPECT_EQ(half, account_of("user uid=1000 ", "contexts"));
	EXPECT_LE(64, account_of("user uid=1000 ", "refused-contexts"));
	EXPECT_TRUE(program_run(OTHER, make_a_context, NULL));
	EXPECT_TRUE(a_is_well(&self->a, self->expected));
	EXPECT_TRUE(program_end(&program));
}

TEST_HARNESS_MAIN
