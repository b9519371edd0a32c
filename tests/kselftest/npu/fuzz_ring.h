/* SPDX-License-Identifier: MIT */
/* Random packets in random rings: well formed, most of them, as others end a queue. */
#ifndef NPU_FUZZ_RING_H
#define NPU_FUZZ_RING_H

#include "fuzz_world.h"

#define FUZZ_SEMS 4

union fuzz_packet {
	uint32_t header;
	unsigned char bytes[NPU_PACKET_BYTES];
	struct npu_packet_exec exec;
	struct npu_packet_wait wait;
	struct npu_packet_signal signal;
	struct npu_packet_copy copy;
	struct npu_packet_timestamp timestamp;
	struct npu_packet_graph graph;
};

static inline uint64_t loose_address(struct fuzz_world *world)
{
	return FUZZ_DATA_VA + FUZZ_LOOSE + roll(&world->dice, FUZZ_BYTES - FUZZ_LOOSE);
}

static inline uint64_t record_address(struct fuzz_world *world)
{
	return chance(world, 3) ? 0 : FUZZ_DATA_VA + FUZZ_RECORDS + 64 * roll(&world->dice, 64);
}

static inline uint16_t any_sem(struct fuzz_world *world)
{
	return chance(world, 3) ? NPU_SEM_NONE : (uint16_t)roll(&world->dice, FUZZ_SEMS);
}

static inline void fill_exec(struct fuzz_world *world, union fuzz_packet *packet)
{
	uint32_t place = chance(world, 8) ? FUZZ_WILD_PROGRAM : FUZZ_PROGRAM;

	packet->exec = (struct npu_packet_exec){
		.program = FUZZ_CODE_VA + place,
		.arguments = FUZZ_DATA_VA + FUZZ_ARGUMENTS,
		.record = record_address(world),
		.budget = 1 + roll(&world->dice, 64),
		.argument_count = (uint8_t)roll(&world->dice, 33),
		.signal_sem = any_sem(world),
		.wait_sem = { any_sem(world), any_sem(world) },
	};
}

/* Values that were there long ago, or, seldom, that may never come. */
static inline void fill_wait(struct fuzz_world *world, const struct fuzz_lane *lane,
			     union fuzz_packet *packet)
{
	for (int i = 0; i < 6; i++) {
		packet->wait.sem[i] = any_sem(world);
		packet->wait.value[i] = chance(world, 64) ? lane->signalled + 2 : 0;
	}
}

static inline void fill_graph(struct fuzz_world *world, union fuzz_packet *packet)
{
	union fuzz_packet list[4] = { 0 };
	uint32_t count = 1 + roll(&world->dice, 4);

	for (uint32_t i = 0; i < count; i++) {
		list[i].header = NPU_PACKET_HEADER(NPU_PACKET_NOP, 0, 0);
		if (!chance(world, 2))
			continue;
		list[i].signal.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0);
		list[i].signal.sem = (uint16_t)roll(&world->dice, FUZZ_SEMS);
		list[i].signal.add = 1;
	}
	if (chance(world, 16))
		mutate(world, list, sizeof(list));
	memcpy(world->bytes + FUZZ_LIST, list, sizeof(list));
	packet->graph = (struct npu_packet_graph){
		.list = FUZZ_DATA_VA + FUZZ_LIST,
		.patches = FUZZ_DATA_VA + FUZZ_PATCHES,
		.count = count,
		.record = record_address(world),
	};
}

static inline void fill_packet(struct fuzz_world *world, const struct fuzz_lane *lane,
			       uint32_t opcode, union fuzz_packet *packet)
{
	memset(packet, 0, sizeof(*packet));
	switch (opcode) {
	case NPU_PACKET_EXEC:
		fill_exec(world, packet);
		break;
	case NPU_PACKET_WAIT:
		fill_wait(world, lane, packet);
		break;
	case NPU_PACKET_SIGNAL:
		packet->signal.sem = (uint16_t)roll(&world->dice, FUZZ_SEMS);
		packet->signal.add = 1 + roll(&world->dice, 3);
		break;
	case NPU_PACKET_COPY:
		packet->copy.destination = loose_address(world);
		packet->copy.source = loose_address(world);
		packet->copy.record = record_address(world);
		packet->copy.bytes = 1 + roll(&world->dice, 8192);
		packet->copy.signal_sem = any_sem(world);
		break;
	case NPU_PACKET_TIMESTAMP:
		packet->timestamp.destination = loose_address(world) & ~7ull;
		break;
	case NPU_PACKET_GRAPH:
		fill_graph(world, packet);
		break;
	default:
		break;
	}
	packet->header = NPU_PACKET_HEADER(opcode, 0, 0);
}

/* By the device's own index, as far as the ring's memory can be believed. */
static inline void count_executed(struct fuzz_world *world, struct fuzz_lane *lane)
{
	const struct npu_ring_control *control = (const void *)lane->lane.ring;
	uint64_t done = __atomic_load_n(&control->read_index, __ATOMIC_ACQUIRE);

	if (done > lane->lane.written)
		return;
	for (; lane->counted < done; lane->counted++) {
		uint8_t opcode = lane->opcodes[lane->counted & ((1 << LANE_LOG2) - 1)];

		__atomic_fetch_add(&world->counts->executed[opcode], 1, __ATOMIC_RELAXED);
	}
}

static inline void put_packet(struct fuzz_world *world, struct fuzz_lane *lane)
{
	uint32_t opcode = 1 + roll(&world->dice, FUZZ_PACKETS - 1);
	union fuzz_packet packet;

	fill_packet(world, lane, opcode, &packet);
	if (chance(world, 64)) {
		mutate(world, &packet, sizeof(packet));
		/* Its place in the ring is the lane's to say; what it is now is nobody's. */
		packet.header &= ~(uint32_t)NPU_PACKET_PHASE;
		opcode = NPU_PACKET_INVALID;
	}
	lane->opcodes[lane->lane.written & ((1 << LANE_LOG2) - 1)] = (uint8_t)opcode;
	__atomic_fetch_add(&world->counts->written[opcode], 1, __ATOMIC_RELAXED);
	npu_lane_put(&lane->lane, &packet);
}

/* Stores of all widths at all places of a doorbell's page. */
static inline void store_anywhere(struct fuzz_world *world, struct fuzz_lane *lane)
{
	volatile unsigned char *page = (volatile unsigned char *)lane->lane.doorbell;
	uint32_t place = chance(world, 2) ? 8 * roll(&world->dice, 4) : roll(&world->dice, 4088);
	uint64_t value = edge(world);

	switch (roll(&world->dice, 4)) {
	case 0:
		page[place] = (unsigned char)value;
		break;
	case 1:
		*(volatile uint32_t *)(page + (place & ~3u)) = (uint32_t)value;
		break;
	case 2:
		*(volatile uint64_t *)(page + (place & ~7u)) = value;
		break;
	default:
		*(volatile uint64_t *)(page + NPU_DOORBELL_SIGNAL) =
			(uint64_t)roll(&world->dice, FUZZ_SEMS) << 48 | 1;
		break;
	}
}

static inline bool lane_has_stopped(struct fuzz_world *world, struct fuzz_lane *lane)
{
	struct drm_npu_ctx_status status = { .ctx = lane->lane.ctx };

	return npu_call(world->fd, DRM_IOCTL_NPU_CTX_STATUS, &status) ||
	       status.state != DRM_NPU_CTX_ALIVE;
}

/* When a ring is full for long, or its queue has stopped, somebody else takes its place. */
static inline int renew_lane(struct fuzz_world *world, struct fuzz_lane *lane)
{
	__atomic_fetch_add(&world->counts->stopped, 1, __ATOMIC_RELAXED);
	fuzz_lane_close(world, lane);
	return fuzz_lane_open(world, lane);
}

static inline int fuzz_ring_step(struct fuzz_world *world)
{
	struct fuzz_lane *lane = any_lane(world);
	uint32_t packets = 1 + roll(&world->dice, 6);

	if (!lane->lane.doorbell || lane->lane.doorbell == MAP_FAILED || !lane->lane.ring ||
	    lane->lane.ring == MAP_FAILED)
		return renew_lane(world, lane);
	count_executed(world, lane);
	if (lane->lane.written + packets - lane->counted > 1 << LANE_LOG2) {
		usleep(1000);
		count_executed(world, lane);
		if (lane->lane.written + packets - lane->counted > 1 << LANE_LOG2)
			return chance(world, 4) || lane_has_stopped(world, lane) ?
				       renew_lane(world, lane) : 0;
	}
	while (packets--)
		put_packet(world, lane);
	if (chance(world, 8))
		store_anywhere(world, lane);
	lane->signalled++;
	return 0;
}

#endif /* NPU_FUZZ_RING_H */
