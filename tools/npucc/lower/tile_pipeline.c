/* SPDX-License-Identifier: MIT */
#include "tile_pipeline.h"

struct pipeline {
	struct lower *lower;
	const struct tiling *tiling;
	const struct tile_kernel *kernel;
	uint32_t cluster, sources;
	uint64_t first, last;		/* tiles of this cluster */
	struct ring in[SPACE_MAX_OPERANDS], out;
	uint32_t held[SPACE_MAX_OPERANDS];	/* local offset of each source's current tile */
	uint32_t constants;		/* in local SRAM */
	uint32_t point, points;			/* number of the first one, and how many */
};

/* An operand that is the same in all tiles is loaded once and kept. */
static bool moves_at(const struct pipeline *p, uint32_t operand, uint64_t index)
{
	return index == p->first || tile_changes(p->tiling, operand);
}

static int open_rings(struct pipeline *p)
{
	uint32_t tiles = (uint32_t)(p->last - p->first), slots = p->lower->pipeline_stages;

	for (uint32_t o = 1; o <= p->sources; o++) {
		bool changes = tile_changes(p->tiling, o);

		if (ring_init(&p->in[o], p->lower, p->cluster, NPU_ENGINE_DMA0, NPU_ENGINE_VECTOR,
			      tile_bytes(p->tiling, o), changes ? slots : 1, changes ? tiles : 1))
			return -1;
	}
	return ring_init(&p->out, p->lower, p->cluster, NPU_ENGINE_VECTOR, NPU_ENGINE_DMA1,
			 tile_bytes(p->tiling, 0), slots, tiles);
}

static void load(struct pipeline *p, uint64_t index)
{
	struct tile tile;

	tile_at(p->tiling, index, &tile);
	for (uint32_t o = 1; o <= p->sources; o++) {
		struct npu_td source, target;

		if (!moves_at(p, o, index))
			continue;
		source = tile_dram(p->tiling, &tile, o);
		target = tile_local(p->tiling, &tile, o, ring_produce_begin(&p->in[o]));
		stream_dma(p->lower->streams[p->cluster], 0, &target, &source, 0);
		ring_produce_end(&p->in[o]);
	}
}

static void compute(struct pipeline *p, uint64_t index)
{
	struct npu_td operand[SPACE_MAX_OPERANDS] = { 0 };
	struct tile tile;

	tile_at(p->tiling, index, &tile);
	for (uint32_t o = 1; o <= p->sources; o++) {
		if (moves_at(p, o, index))
			p->held[o] = ring_consume_begin(&p->in[o]);
		operand[o] = tile_view(p->tiling, &tile, o, p->held[o]);
	}
	operand[0] = tile_view(p->tiling, &tile, 0, ring_produce_begin(&p->out));
	p->kernel->compute(p->kernel->context, p->cluster, &tile, operand);
	ring_produce_end(&p->out);
	for (uint32_t o = 1; o <= p->sources; o++)
		if (moves_at(p, o, index))
			ring_consume_end(&p->in[o]);
}

static void store(struct pipeline *p, uint64_t index)
{
	struct npu_td source, target;
	struct tile tile;

	tile_at(p->tiling, index, &tile);
	source = tile_local(p->tiling, &tile, 0, ring_consume_begin(&p->out));
	target = tile_dram(p->tiling, &tile, 0);
	stream_dma(p->lower->streams[p->cluster], 1, &target, &source, 0);
	ring_consume_end(&p->out);
}

/* The source's tile @index, of which @slot still has a copy, into that again. */
static void load_again(struct pipeline *p, struct stream *resume, uint32_t operand, uint64_t index,
		       uint32_t slot)
{
	struct npu_td source, target;
	struct tile tile;

	tile_at(p->tiling, index, &tile);
	source = tile_dram(p->tiling, &tile, operand);
	target = tile_local(p->tiling, &tile, operand, slot);
	stream_dma(resume, 0, &target, &source, 0);
}

/*
 * Behind the tile @index: the next one is loaded, and what is the same for all. Both are in memory
 * still; a layer's output never lies over its inputs.
 */
static void emit_point(struct pipeline *p, uint64_t index)
{
	struct points *points = p->lower->points;
	uint32_t point = p->point + (uint32_t)(index - p->first);
	struct stream *resume = points_resume(points, point, p->cluster);

	for (uint32_t o = 1; o <= p->sources && resume; o++) {
		const struct ring *ring = &p->in[o];

		if (tile_changes(p->tiling, o))
			load_again(p, resume, o, index + 1,
				   ring->base + (ring->produced - 1) % ring->slots * ring->slot_bytes);
		else
			load_again(p, resume, o, p->first, p->held[o]);
	}
	points_save(points, point, p->cluster, p->constants, p->kernel->constant_bytes);
	points_here(points, point, p->cluster, p->lower->streams[p->cluster]);
}

static int run_cluster(struct pipeline *p)
{
	struct tile largest;

	tile_at(p->tiling, 0, &largest);
	p->constants = p->lower->local_used[p->cluster];
	if (p->kernel->prepare && p->kernel->prepare(p->kernel->context, p->cluster, &largest))
		return -1;
	if (p->lower->local_used[p->cluster] - p->constants < p->kernel->constant_bytes)
		return diag_error(p->lower->diag,
				  "internal error: a layer's constants take %u bytes of local SRAM, it allotted %u",
				  p->kernel->constant_bytes,
				  p->lower->local_used[p->cluster] - p->constants);
	if (open_rings(p))
		return -1;
	load(p, p->first);
	for (uint64_t index = p->first; index < p->last; index++) {
		if (index + 1 < p->last)
			load(p, index + 1);
		compute(p, index);
		store(p, index);
		if (index - p->first < p->points)
			emit_point(p, index);
	}
	return 0;
}

/*
 * As many points for each cluster, behind its first tiles: as many as the one with the fewest tiles
 * has tiles with others behind them. Returns the number of the first one.
 */
static uint32_t add_points(struct lower *lower, const struct tiling *tiling, uint32_t *count)
{
	uint64_t fewest = tiling->tiles / lower->clusters;
	uint32_t first = 0;

	*count = fewest ? (uint32_t)fewest - 1 : 0;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t point = points_add(lower->points,
					    (uint32_t)((i + 1) * (uint64_t)POINTS_WHOLE / (*count + 1)));

		first = i ? first : point;
	}
	return first;
}

/* There is a point behind each tile: none should take much longer, rows that cannot be cut aside. */
#define TILE_CYCLES 2500u

/* Elements that are moved in TILE_CYCLES while all clusters do the same. */
static int64_t elements_between_points(const struct lower *lower, const struct space *space)
{
	uint64_t dram = 0, all = 0, cycles, fixed = 1, elements;

	for (uint32_t o = 0; o < space->operand_count; o++) {
		uint32_t bytes = NPU_DTYPE_BYTES(space->operand[o].dtype);

		all += bytes;
		dram += space->operand[o].argument == STREAM_ARGUMENT_GLOBAL ? 0 : bytes;
	}
	for (uint32_t i = space->rank - space->fixed; i < space->rank; i++)
		fixed *= (uint64_t)space->dims[i];
	cycles = all * 1024 / lower->config->global_port_bytes;
	if (cycles < dram * lower->clusters * 1024 / lower->config->dram_bytes)
		cycles = dram * lower->clusters * 1024 / lower->config->dram_bytes;
	elements = TILE_CYCLES * 1024ull / cycles;
	return (int64_t)(elements > fixed ? elements : fixed);
}

int64_t tile_pipeline_elements(const struct lower *lower, const struct space *space,
			       uint32_t temporary_bytes, uint32_t reserved, int64_t limit)
{
	/* Every buffer is rounded up to 64 bytes. */
	uint64_t room = lower_local_free(lower, 0), slack = reserved + 64ull * 16;
	uint64_t bytes = temporary_bytes;
	int64_t elements, between = elements_between_points(lower, space);

	for (uint32_t o = 0; o < space->operand_count; o++)
		bytes += (uint64_t)lower->pipeline_stages * NPU_DTYPE_BYTES(space->operand[o].dtype);
	room -= room < slack ? room : slack;
	elements = (int64_t)(room / bytes);
	elements = elements < limit ? elements : limit;
	return elements < between ? elements : between;
}

int tile_pipeline_run(struct lower *lower, const struct tiling *tiling,
		      const struct tile_kernel *kernel)
{
	uint32_t points, point = add_points(lower, tiling, &points);

	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++) {
		struct pipeline p = {
			.lower = lower, .tiling = tiling, .kernel = kernel, .cluster = cluster,
			.sources = tiling->space->operand_count - 1,
			.point = point, .points = points,
		};

		lower_share(tiling->tiles, lower->clusters, cluster, &p.first, &p.last);
		if (p.first < p.last && run_cluster(&p))
			return -1;
	}
	return 0;
}
