// SPDX-License-Identifier: MIT
/* What a device that is reset leaves: who reads it, what is in it, what is not, and how often. */
#include <limits.h>
#include <sys/prctl.h>

#include "coredump.h"
#include "npu/npu_regs.h"

#define DEVICE "/sys/class/accel/accel0/device"
#define DATA_VA 0x20000000ull
#define NAME "npu \x1b[7mvictim"

FIXTURE(coredump) {
	int fd;
	struct npu_lane lane;
	char interval[32];
};

FIXTURE_SETUP(coredump)
{
	read_line(DUMP_INTERVAL, self->interval, sizeof(self->interval));
	ASSERT_NE(0, *self->interval);
	ASSERT_EQ(0, dump_set_interval("0"));
	dump_discard();
	/* Whoever opens the device is named. */
	ASSERT_EQ(0, prctl(PR_SET_NAME, NAME));
	self->fd = npu_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, npu_lane_open(&self->lane, self->fd));
}

FIXTURE_TEARDOWN(coredump)
{
	dump_discard();
	dump_set_interval(self->interval);
	/* It works again. */
	EXPECT_EQ(0, npu_context_destroy(self->fd, npu_context(self->fd)));
	close(self->fd);
}

static int reset(void)
{
	return write_file(DEVICE "/npu_reset", "1");
}

/* One signal that is done, and a packet that waits for what nobody signals. */
static int stand_still(struct npu_lane *lane)
{
	struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 7, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { 4711 },
	};

	npu_lane_signal(lane, 1, 12);
	npu_lane_put(lane, &wait);
	return npu_wait(lane->fd, lane->ctx, 1, 12, now_ns() + 60000 * MILLISECOND);
}

static bool find_queue(const struct coredump *dump, uint32_t context,
		       struct npu_coredump_queue *queue)
{
	uint32_t i;

	for (i = 0; dump_entry(dump, NPU_COREDUMP_QUEUES, 0, i, queue, sizeof(*queue)); i++) {
		if (queue->context == context)
			return true;
	}
	return false;
}

static bool find_semaphore(const struct coredump *dump, uint32_t context, uint32_t sem,
			   struct npu_coredump_semaphore *to)
{
	uint32_t i;

	for (i = 0; dump_entry(dump, NPU_COREDUMP_SEMAPHORES, 0, i, to, sizeof(*to)); i++) {
		if (to->context == context && to->sem == sem)
			return true;
	}
	return false;
}

TEST_F(coredump, says_what_happened)
{
	struct npu_coredump_header header;
	struct npu_coredump_register reg;
	struct npu_coredump_system system;
	struct npu_coredump_cause cause;
	char device[PATH_MAX], log[5] = "";
	struct coredump dump;
	bool known = false;
	uint32_t i;

	ASSERT_EQ(0, stand_still(&self->lane));
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, dump_read(&dump));
	ASSERT_GE(dump.size, sizeof(header));
	memcpy(&header, dump.bytes, sizeof(header));
	EXPECT_EQ(0, memcmp(header.magic, NPU_COREDUMP_MAGIC, sizeof(header.magic)));
	EXPECT_EQ(NPU_COREDUMP_MAJOR, header.major);
	EXPECT_EQ(sizeof(header), header.header_bytes);
	EXPECT_EQ(dump.size, header.bytes);
	EXPECT_EQ(0, header.flags);

	ASSERT_TRUE(dump_entry(&dump, NPU_COREDUMP_CAUSE, 0, 0, &cause, sizeof(cause)));
	EXPECT_STREQ("somebody asked for a reset", (char *)cause.reason);
	EXPECT_EQ(NPU_COREDUMP_RESET, cause.outcome);
	EXPECT_EQ(1, cause.answers);
	EXPECT_LE((long)cause.resets + 1, npu_sysfs_number("npu_resets"));
	ASSERT_TRUE(dump_entry(&dump, NPU_COREDUMP_SYSTEM, 0, 0, &system, sizeof(system)));
	ASSERT_NE(NULL, realpath(DEVICE, device));
	EXPECT_STREQ(strrchr(device, '/') + 1, (char *)system.device);
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_HW_VERSION), system.hardware);
	EXPECT_EQ(npu_param(self->fd, DRM_NPU_PARAM_FIRMWARE_ABI), system.firmware_abi);
	for (i = 0; dump_entry(&dump, NPU_COREDUMP_REGISTERS, 0, i, &reg, sizeof(reg)); i++) {
		if (reg.offset == NPU_REG_ID)
			known = reg.value == NPU_ID_VALUE;
	}
	EXPECT_TRUE(known);
	/* Its first line is that it started. */
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(dump_entry(&dump, NPU_COREDUMP_LOG, 0, i, log + i, 1));
	EXPECT_NE(0, log[0]);
	free(dump.bytes);
}

TEST_F(coredump, names_the_process)
{
	struct npu_coredump_semaphore semaphore;
	struct npu_coredump_context context;
	struct npu_coredump_queue queue;
	struct npu_packet_wait packet;
	struct coredump dump;

	ASSERT_EQ(0, stand_still(&self->lane));
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, dump_read(&dump));
	ASSERT_TRUE(dump_find_context(&dump, self->lane.ctx, &context));
	EXPECT_EQ(0, memcmp(context.comm, NAME, strlen(NAME)));
	EXPECT_EQ(getuid(), context.uid);
	EXPECT_EQ(DRM_NPU_CTX_INNOCENT, context.state);
	EXPECT_EQ(0, context.faults);
	ASSERT_TRUE(find_queue(&dump, context.index, &queue));
	EXPECT_EQ(self->lane.queue, queue.id);
	EXPECT_EQ(RING_VA, queue.ring);
	EXPECT_EQ(LANE_LOG2, queue.ring_log2);
	EXPECT_EQ(NPU_COREDUMP_QUEUE_READ, queue.flags);
	EXPECT_EQ(1, queue.control.read_index);
	EXPECT_EQ(2, queue.control.write_index);
	EXPECT_EQ(0, queue.first);
	ASSERT_EQ(2, queue.packets);
	ASSERT_TRUE(dump_entry(&dump, NPU_COREDUMP_PACKETS, queue.queue, 1, &packet,
			       sizeof(packet)));
	EXPECT_EQ(NPU_PACKET_WAIT, packet.header & NPU_PACKET_OPCODE_MASK);
	EXPECT_EQ(7, packet.sem[0]);
	EXPECT_EQ(4711, packet.value[0]);
	ASSERT_TRUE(find_semaphore(&dump, context.index, 1, &semaphore));
	EXPECT_EQ(12, semaphore.value);
	free(dump.bytes);
}

/* Of what programs have in memory there are their packets, and nothing else. */
TEST_F(coredump, keeps_buffers_to_itself)
{
	static const char secret[] = "what nobody else may see";
	uint32_t buffer = npu_buffer(self->fd, PAGE);
	unsigned char *memory, *packet;
	struct coredump dump;

	ASSERT_NE(0, buffer);
	memory = npu_map(self->fd, buffer, PAGE);
	ASSERT_NE(MAP_FAILED, memory);
	memcpy(memory, secret, sizeof(secret));
	ASSERT_EQ(0, npu_bind(self->fd, self->lane.ctx, buffer, DATA_VA, PAGE));
	ASSERT_EQ(0, stand_still(&self->lane));
	/* In the ring's buffer, but in none of its packets, and in one that was never written. */
	memcpy(self->lane.ring + LANE_BYTES - sizeof(secret), secret, sizeof(secret));
	packet = self->lane.ring + NPU_RING_PACKETS_OFFSET + 5 * NPU_PACKET_BYTES;
	memcpy(packet + 8, secret, sizeof(secret));
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, dump_read(&dump));
	EXPECT_EQ(NULL, memmem(dump.bytes, dump.size, secret, sizeof(secret) - 1));
	munmap(memory, PAGE);
	free(dump.bytes);
}

/* Indices are in the program's memory; whatever they are, they are only told. */
TEST_F(coredump, believes_no_ring)
{
	struct npu_ring_control *control = (void *)self->lane.ring;
	static const uint64_t indices[][2] = {
		{ ~0ull, ~0ull }, { ~0ull, 0 }, { 0, ~0ull }, { 1ull << 63, 1 }, { 5, 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
		struct npu_coredump_context context;
		struct npu_coredump_queue queue;
		struct coredump dump;
		struct npu_lane lane;

		ASSERT_EQ(0, npu_lane_open(&lane, self->fd));
		control = (void *)lane.ring;
		control->read_index = indices[i][0];
		control->write_index = indices[i][1];
		ASSERT_EQ(0, reset());
		ASSERT_EQ(0, dump_read(&dump));
		ASSERT_TRUE(dump_find_context(&dump, lane.ctx, &context));
		ASSERT_TRUE(find_queue(&dump, context.index, &queue));
		EXPECT_EQ(indices[i][0], queue.control.read_index);
		EXPECT_EQ(indices[i][1], queue.control.write_index);
		EXPECT_GE(1 << LANE_LOG2, queue.packets);
		EXPECT_GE(64, queue.packets);
		free(dump.bytes);
		dump_discard();
		npu_lane_unmap(&lane);
		EXPECT_EQ(0, npu_context_destroy(self->fd, lane.ctx));
		EXPECT_EQ(0, npu_close_handle(self->fd, lane.handle));
	}
}

TEST_F(coredump, only_for_the_administrator)
{
	struct coredump dump;

	ASSERT_EQ(0, reset());
	ASSERT_TRUE(dump_find(&dump));
	ASSERT_EQ(0, seteuid(1000));
	EXPECT_EQ(-1, open(dump.path, O_RDONLY));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, open(DUMP_INTERVAL, O_WRONLY));
	EXPECT_EQ(EACCES, errno);
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(coredump, one_in_an_interval)
{
	struct coredump dump;

	ASSERT_EQ(0, reset());
	ASSERT_TRUE(dump_find(&dump));
	dump_discard();
	ASSERT_EQ(0, dump_set_interval("100000"));
	ASSERT_EQ(0, reset());
	EXPECT_FALSE(dump_find(&dump));
	ASSERT_EQ(0, dump_set_interval("0"));
	ASSERT_EQ(0, reset());
	EXPECT_TRUE(dump_find(&dump));
}

TEST_HARNESS_MAIN
