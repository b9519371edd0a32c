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

static int run_cluster(struct pipeline *p)
{
	struct tile largest;

	tile_at(p->tiling, 0, &largest);
	if (p->kernel->prepare && p->kernel->prepare(p->kernel->context, p->cluster, &largest))
		return -1;
	if (open_rings(p))
		return -1;
	load(p, p->first);
	for (uint64_t index = p->first; index < p->last; index++) {
		if (index + 1 < p->last)
			load(p, index + 1);
		compute(p, index);
		store(p, index);
	}
	return 0;
}

int64_t tile_pipeline_elements(const struct lower *lower, const struct space *space,
			       uint32_t temporary_bytes, uint32_t reserved, int64_t limit)
{
	/* Every buffer is rounded up to 64 bytes. */
	uint64_t room = lower_local_free(lower, 0), slack = reserved + 64ull * 16;
	uint64_t bytes = temporary_bytes;
	int64_t elements;

	for (uint32_t o = 0; o < space->operand_count; o++)
		bytes += (uint64_t)lower->pipeline_stages * NPU_DTYPE_BYTES(space->operand[o].dtype);
	room -= room < slack ? room : slack;
	elements = (int64_t)(room / bytes);
	return elements < limit ? elements : limit;
}

int tile_pipeline_run(struct lower *lower, const struct tiling *tiling,
		      const struct tile_kernel *kernel)
{
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++) {
		struct pipeline p = {
			.lower = lower, .tiling = tiling, .kernel = kernel, .cluster = cluster,
			.sources = tiling->space->operand_count - 1,
		};

		lower_share(tiling->tiles, lower->clusters, cluster, &p.first, &p.last);
		if (p.first < p.last && run_cluster(&p))
			return -1;
	}
	return 0;
}
