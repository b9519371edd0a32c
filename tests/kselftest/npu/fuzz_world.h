/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzer of calls and rings lives in: an open file, contexts with queues, buffers. All
 * that is chosen is chosen by the dice, so a seed says which calls are made; what they meet depends
 * on the moment, too.
 */
#ifndef NPU_FUZZ_WORLD_H
#define NPU_FUZZ_WORLD_H

#include <poll.h>
#include <signal.h>
#include <sys/time.h>

#include "campaign.h"
#include "npu/npu_isa.h"
#include "npu/npu_regs.h"
#include "uring.h"

#define FUZZ_LANES 3
#define FUZZ_HANDLES 8
#define FUZZ_SYNCOBJS 4
#define FUZZ_ERRNOS 136
#define FUZZ_PACKETS 9		/* opcodes, of which the first is none */
#define FUZZ_CALLS_MAX 48

/* The same memory is there for data and, readable and executable, for programs. */
#define FUZZ_BYTES (1u << 18)
#define FUZZ_DATA_VA 0x20000000ull
#define FUZZ_CODE_VA 0x24000000ull
/* Where mappings come and go. */
#define FUZZ_LOOSE_VA 0x40000000ull

/* Offsets in that memory. */
#define FUZZ_PROGRAM 0		/* ends at once */
#define FUZZ_WILD_PROGRAM 0x1000	/* what the dice made of it */
#define FUZZ_ARGUMENTS 0x2000
#define FUZZ_RECORDS 0x3000
#define FUZZ_LIST 0x4000
#define FUZZ_PATCHES 0x5000
#define FUZZ_LOOSE 0x8000	/* from here on: anything */

/* Shared by all workers. */
struct fuzz_counts {
	uint64_t good[FUZZ_CALLS_MAX];
	uint64_t errors[FUZZ_CALLS_MAX][FUZZ_ERRNOS];
	uint64_t written[FUZZ_PACKETS];
	uint64_t executed[FUZZ_PACKETS];
	uint64_t stopped;
	uint64_t lives;
	uint64_t steps;
};

struct fuzz_lane {
	struct npu_lane lane;
	uint64_t counted;	/* packets that were looked after */
	uint8_t opcodes[1 << LANE_LOG2];
	uint64_t signalled;
};

struct fuzz_world {
	uint64_t dice;
	int fd;
	struct fuzz_lane lanes[FUZZ_LANES];
	uint32_t memory;	/* handle of FUZZ_BYTES */
	unsigned char *bytes;
	uint32_t handles[FUZZ_HANDLES];
	uint32_t syncobjs[FUZZ_SYNCOBJS];
	int dma_buf;
	struct uring ring;
	bool has_ring;
	struct fuzz_counts *counts;
};

static inline bool chance(struct fuzz_world *world, uint32_t one_in)
{
	return !roll(&world->dice, one_in);
}

static inline uint64_t roll64(struct fuzz_world *world)
{
	uint64_t high = roll(&world->dice, UINT32_MAX);

	return high << 32 | roll(&world->dice, UINT32_MAX);
}

/* Numbers at which things go wrong. */
static inline uint64_t edge(struct fuzz_world *world)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 8, 15, 16, 63, 64, 127, 128, 255, 256, 511, 4095, 4096, 4097, 0x7fff,
		0xfffe, 0xffff, 0x10000, 1 << 20, 1 << 21, INT32_MAX, 1u << 31, UINT32_MAX - 1,
		UINT32_MAX, 1ull << 32, 1ull << 38, (1ull << 39) - 4096, 1ull << 39, 1ull << 40,
		INT64_MAX, 1ull << 63, UINT64_MAX - 4095, UINT64_MAX,
	};
	uint64_t value = edges[roll(&world->dice, sizeof(edges) / sizeof(edges[0]))];

	return chance(world, 4) ? roll64(world) : value;
}

/* One to three places of a structure become something else. */
static inline void mutate(struct fuzz_world *world, void *structure, size_t bytes)
{
	unsigned char *at = structure;

	for (uint32_t times = 1 + roll(&world->dice, 3); times; times--) {
		uint64_t value = edge(world);
		size_t width = 1ull << roll(&world->dice, 4);
		size_t place;

		if (width > bytes)
			continue;
		place = roll(&world->dice, (uint32_t)(bytes / width)) * width;
		if (chance(world, 3))
			at[place] ^= (unsigned char)(1u << roll(&world->dice, 8));
		else
			memcpy(at + place, &value, width);
	}
}

static inline struct fuzz_lane *any_lane(struct fuzz_world *world)
{
	return &world->lanes[roll(&world->dice, FUZZ_LANES)];
}

static inline uint32_t any_handle(struct fuzz_world *world)
{
	uint32_t handle = world->handles[roll(&world->dice, FUZZ_HANDLES)];

	return handle ? handle : world->memory;
}

/* What ends at once, and what the dice wrote after a header that is good. */
static inline void fuzz_write_programs(struct fuzz_world *world)
{
	const struct npu_program_header header = {
		.magic = NPU_PROGRAM_MAGIC,
		.version = NPU_PROGRAM_VERSION,
		.clusters = 1,
		.dma_channels = 1,
		.bytes = sizeof(header) + 64 * NPU_INSN_BYTES,
		.local_bytes = 4096,
		.global_bytes = 4096,
		.entry = { sizeof(header) },
	};
	const struct npu_insn end = {
		.opcode = NPU_OP_END,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};
	unsigned char *wild = world->bytes + FUZZ_WILD_PROGRAM;

	memcpy(world->bytes + FUZZ_PROGRAM, &header, sizeof(header));
	memcpy(world->bytes + FUZZ_PROGRAM + sizeof(header), &end, sizeof(end));
	memcpy(wild, &header, sizeof(header));
	for (size_t i = sizeof(header); i < header.bytes; i++)
		wild[i] = (unsigned char)roll(&world->dice, 256);
}

/* Its ring is new, and so are its indices. */
static inline int fuzz_lane_open(struct fuzz_world *world, struct fuzz_lane *lane)
{
	struct drm_npu_bind_op ops[2] = {
		{
			.flags = DRM_NPU_BIND_READ | DRM_NPU_BIND_WRITE,
			.handle = world->memory, .va = FUZZ_DATA_VA, .bytes = FUZZ_BYTES,
		},
		{
			.flags = DRM_NPU_BIND_READ | DRM_NPU_BIND_EXEC,
			.handle = world->memory, .va = FUZZ_CODE_VA, .bytes = FUZZ_BYTES,
		},
	};
	int ret;

	memset(lane, 0, sizeof(*lane));
	ret = npu_lane_open(&lane->lane, world->fd);
	return ret ? ret : npu_bind_ops(world->fd, lane->lane.ctx, ops, 2);
}

static inline void fuzz_lane_close(struct fuzz_world *world, struct fuzz_lane *lane)
{
	npu_lane_unmap(&lane->lane);
	if (lane->lane.handle)
		npu_close_handle(world->fd, lane->lane.handle);
	if (lane->lane.ctx)
		npu_context_destroy(world->fd, lane->lane.ctx);
	memset(lane, 0, sizeof(*lane));
}

/* The first has a fence from the beginning. */
static inline void fuzz_make_syncobjs(struct fuzz_world *world)
{
	for (uint32_t i = 0; i < FUZZ_SYNCOBJS; i++) {
		struct drm_syncobj_create create = { .flags = i ? 0 : DRM_SYNCOBJ_CREATE_SIGNALED };

		if (!npu_call(world->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create))
			world->syncobjs[i] = create.handle;
	}
}

static inline int fuzz_world_open(struct fuzz_world *world)
{
	int ret = 0;

	/* Of the life before only the dice and the counts. */
	*world = (struct fuzz_world){ .dice = world->dice, .counts = world->counts,
				      .bytes = MAP_FAILED, .dma_buf = -1 };
	world->fd = npu_open_any();
	if (world->fd < 0)
		return -errno;
	world->memory = npu_buffer(world->fd, FUZZ_BYTES);
	world->bytes = npu_map(world->fd, world->memory, FUZZ_BYTES);
	if (world->bytes == MAP_FAILED)
		return -ENOMEM;
	fuzz_write_programs(world);
	fuzz_make_syncobjs(world);
	world->dma_buf = npu_udmabuf(4 * PAGE, NULL);
	world->has_ring = !uring_open(&world->ring, 16, 0);
	for (uint32_t i = 0; !ret && i < FUZZ_LANES; i++)
		ret = fuzz_lane_open(world, &world->lanes[i]);
	return ret;
}

/* The file's end is the end of most of it. */
static inline void fuzz_world_close(struct fuzz_world *world)
{
	for (uint32_t i = 0; i < FUZZ_LANES; i++) {
		if (chance(world, 2))
			world->lanes[i].lane.ctx = 0;
		world->lanes[i].lane.handle = 0;
		fuzz_lane_close(world, &world->lanes[i]);
	}
	if (world->bytes != MAP_FAILED)
		munmap(world->bytes, FUZZ_BYTES);
	if (world->dma_buf >= 0)
		close(world->dma_buf);
	/* In either order: a ring's commands keep the file. */
	if (world->has_ring && chance(world, 2)) {
		uring_close(&world->ring);
		world->has_ring = false;
	}
	close(world->fd);
	if (world->has_ring)
		uring_close(&world->ring);
	__atomic_fetch_add(&world->counts->lives, 1, __ATOMIC_RELAXED);
}

#endif /* NPU_FUZZ_WORLD_H */
