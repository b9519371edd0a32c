// SPDX-License-Identifier: MIT
/*
 * Streams of a MAC plan.
 *
 * One cluster's work is first written down as a list of steps (one MAC instruction
 * each) and the lists of loads they use. Then it is emitted in step order. A load is
 * emitted as early as it may: after the step that frees its slot, so that every wait
 * is for a release that stands before it in the stream. Such a stream cannot block
 * itself, whatever the depth of the engines' queues.
 */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mac.h"

#define ELEMENT		2
/* Loads standing in a DMA queue ahead of their use; the queue holds 8 instructions. */
#define LOADS_AHEAD	5u

struct load {
	uint32_t first_step, last_step;
	uint32_t tile;			/* activations, residual: index of struct place */
	uint32_t piece;			/* activations */
	uint32_t pass[2];		/* residual */
	uint32_t block, blocks;		/* weights, residual */
	uint32_t chunk;			/* weights; UINT32_MAX: all of them */
	uint32_t instance;
};

/*
 * Loads that several clusters want alike: one of them, the leader, issues them as
 * multicasts. Each member frees a slot by a shared token of its own, since a
 * common one could not tell two slots freed by one from one freed by two.
 */
struct sharing {
	uint32_t members;		/* 1: not shared */
	uint16_t mask;
	bool leader;
	unsigned int own;		/* this cluster's token */
	unsigned int tokens[NPU_PROGRAM_CLUSTERS_MAX];	/* of the members */
};

struct loads {
	struct load *list;
	uint32_t count, capacity, issued;
	struct ring ring;
	struct sharing sharing;
};

/* A tile of an instance. */
struct place {
	uint32_t instance;
	uint32_t first[2], count[2];	/* output positions */
};

struct step {
	uint32_t place;
	uint32_t pass[2];		/* first position in the tile */
	uint32_t block, chunk;
	uint32_t a, w, r;		/* loads */
	bool first_chunk, last_chunk;
	bool first_stored, last_stored;	/* of the blocks stored together */
	uint32_t store_block, store_blocks;
};

struct run;

struct emitter {
	struct lower *lower;
	const struct mac_problem *problem;
	const struct mac_plan *plan;
	const int64_t *set_offsets;
	int64_t parameters, table;
	uint32_t cluster;
	struct stream *stream;
	uint32_t first_block, blocks;
	struct place *places;
	uint32_t place_count;
	struct step *steps;
	uint32_t step_count, step_capacity;
	struct run *run;		/* being written down */
	struct loads a, w, r;
	struct ring acc, store;
	uint32_t half;
	uint32_t parameters_at, table_at;
	uint32_t parameters_first_set, parameters_first_channel;
	unsigned int ready;		/* token: parameters and table are there */
	bool wants_ready;
	struct npu_stage stage;
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ------------------------------------------------------------------ lists of work */
static void *grow(void *list, uint32_t *capacity, uint32_t count, size_t size)
{
	uint32_t wanted = *capacity ? *capacity * 2 : 64;
	void *bigger;

	if (count < *capacity)
		return list;
	bigger = realloc(list, wanted * size);
	if (bigger)
		*capacity = wanted;
	return bigger;
}

static struct load *add_load(struct emitter *e, struct loads *loads)
{
	struct load *list = grow(loads->list, &loads->capacity, loads->count, sizeof(*list));

	if (!list)
		return NULL;
	loads->list = list;
	loads->list[loads->count] = (struct load){ .first_step = e->step_count };
	return &loads->list[loads->count++];
}

/* What a place needs that was loaded before and is still there, or UINT32_MAX. */
struct kept {
	uint32_t *a;			/* by tile of the run */
	uint32_t *w;			/* by group */
};

struct run {
	uint32_t first, count;		/* places */
	uint32_t groups;
	struct kept kept;
};

static uint32_t need_activations(struct emitter *e, uint32_t place, uint32_t piece)
{
	struct load *load = add_load(e, &e->a);

	if (!load)
		return UINT32_MAX;
	load->tile = place;
	load->piece = piece;
	return e->a.count - 1;
}

static uint32_t need_weights(struct emitter *e, uint32_t place, uint32_t block, uint32_t blocks,
			     uint32_t chunk)
{
	struct load *load = add_load(e, &e->w);

	if (!load)
		return UINT32_MAX;
	load->instance = e->places[place].instance;
	load->block = block;
	load->blocks = blocks;
	load->chunk = chunk;
	return e->w.count - 1;
}

static uint32_t need_residual(struct emitter *e, const struct step *step)
{
	struct load *load = add_load(e, &e->r);

	if (!load)
		return UINT32_MAX;
	load->tile = step->place;
	load->pass[0] = step->pass[0];
	load->pass[1] = step->pass[1];
	load->block = step->store_block;
	load->blocks = step->store_blocks;
	return e->r.count - 1;
}

static void use(struct loads *loads, uint32_t index, uint32_t step)
{
	loads->list[index].last_step = step;
}

/* One MAC instruction: a chunk of a block of a pass. */
static int add_step(struct emitter *e, struct step *step)
{
	struct step *steps = grow(e->steps, &e->step_capacity, e->step_count, sizeof(*steps));

	if (!steps)
		return -1;
	e->steps = steps;
	use(&e->a, step->a, e->step_count);
	use(&e->w, step->w, e->step_count);
	if (e->problem->residual)
		use(&e->r, step->r, e->step_count);
	e->steps[e->step_count++] = *step;
	return 0;
}

/* A chunk of a block, kept where all of the cluster's have a slot. */
static uint32_t chunk_weights(struct emitter *e, const struct step *step)
{
	const struct mac_plan *plan = e->plan;
	uint32_t at = (step->block - e->first_block) * plan->chunk_count + step->chunk;
	uint32_t *kept = &e->run->kept.w[at];

	if (*kept == UINT32_MAX || plan->w_slots < e->blocks * plan->chunk_count)
		*kept = need_weights(e, step->place, step->block, 1, step->chunk);
	return *kept;
}

static int add_block(struct emitter *e, struct step *step)
{
	const struct mac_plan *plan = e->plan;
	uint32_t piece = UINT32_MAX;

	for (step->chunk = 0; step->chunk < plan->chunk_count; step->chunk++) {
		step->first_chunk = step->chunk == 0;
		step->last_chunk = step->chunk + 1 == plan->chunk_count;
		if (plan->split == MAC_BY_PIECE && plan->chunks[step->chunk].piece != piece) {
			piece = plan->chunks[step->chunk].piece;
			step->a = need_activations(e, step->place, piece);
		}
		if (plan->split != MAC_WHOLE)
			step->w = chunk_weights(e, step);
		if (step->a == UINT32_MAX || step->w == UINT32_MAX || add_step(e, step))
			return -1;
	}
	return 0;
}

/* All passes of a tile over @blocks blocks from @block on. */
static int add_tile(struct emitter *e, uint32_t place, uint32_t a, uint32_t w, uint32_t block,
		    uint32_t blocks)
{
	const struct mac_plan *plan = e->plan;
	const struct place *tile = &e->places[place];
	struct step step = { .place = place, .a = a, .w = w };
	uint32_t i;

	for (step.pass[0] = 0; step.pass[0] < tile->count[0]; step.pass[0] += plan->pass[0]) {
		for (step.pass[1] = 0; step.pass[1] < tile->count[1]; step.pass[1] += plan->pass[1]) {
			for (i = 0; i < blocks; i++) {
				step.block = block + i;
				step.first_stored = i % plan->store_blocks == 0;
				step.last_stored = i + 1 == blocks ||
						   (i + 1) % plan->store_blocks == 0;
				if (step.first_stored) {
					step.store_block = step.block;
					step.store_blocks = least(plan->store_blocks, blocks - i);
					if (e->problem->residual)
						step.r = need_residual(e, &step);
					if (step.r == UINT32_MAX)
						return -1;
				}
				if (add_block(e, &step))
					return -1;
			}
		}
	}
	return 0;
}

/* A group of blocks of the run: its load, kept where there is a slot for each group. */
static uint32_t group_weights(struct emitter *e, struct run *run, uint32_t group, uint32_t place)
{
	const struct mac_plan *plan = e->plan;
	uint32_t block = group * plan->group_blocks;

	if (plan->split != MAC_WHOLE)
		return 0;
	if (run->kept.w[group] == UINT32_MAX || plan->w_slots < run->groups)
		run->kept.w[group] = need_weights(e, place, e->first_block + block,
						  least(plan->group_blocks, e->blocks - block),
						  UINT32_MAX);
	return run->kept.w[group];
}

static uint32_t tile_activations(struct emitter *e, struct run *run, uint32_t place)
{
	uint32_t *kept = &run->kept.a[place - run->first];

	if (e->plan->split == MAC_BY_PIECE)
		return 0;
	if (*kept == UINT32_MAX || e->plan->a_slots < run->count)
		*kept = need_activations(e, place, 0);
	return *kept;
}

static int add_group(struct emitter *e, uint32_t place, uint32_t group, uint32_t a, uint32_t w)
{
	const struct mac_plan *plan = e->plan;
	uint32_t block = group * plan->group_blocks;

	if (a == UINT32_MAX || w == UINT32_MAX)
		return -1;
	if (plan->split != MAC_WHOLE)
		return add_tile(e, place, a, w, e->first_block, e->blocks);
	return add_tile(e, place, a, w, e->first_block + block,
			least(plan->group_blocks, e->blocks - block));
}

/* Places that share their weights. */
static int add_run(struct emitter *e, struct run *run)
{
	uint32_t place, group, a, w;

	if (e->plan->weights_outer) {
		for (group = 0; group < run->groups; group++) {
			w = group_weights(e, run, group, run->first);
			for (place = run->first; place < run->first + run->count; place++) {
				a = tile_activations(e, run, place);
				if (add_group(e, place, group, a, w))
					return -1;
			}
		}
		return 0;
	}
	for (place = run->first; place < run->first + run->count; place++) {
		a = tile_activations(e, run, place);
		for (group = 0; group < run->groups; group++) {
			w = group_weights(e, run, group, place);
			if (add_group(e, place, group, a, w))
				return -1;
		}
	}
	return 0;
}

static int add_runs(struct emitter *e)
{
	const struct mac_plan *plan = e->plan;
	const struct mac_instance *instances = e->problem->instances;
	struct run run = { .first = 0 };
	uint32_t end, i, weights;
	int result = 0;

	run.groups = plan->split == MAC_WHOLE ?
		(e->blocks + plan->group_blocks - 1) / plan->group_blocks : 1;
	weights = plan->split == MAC_WHOLE ? run.groups : e->blocks * plan->chunk_count;
	e->run = &run;
	run.kept.a = malloc((e->place_count + 1ull) * sizeof(uint32_t));
	run.kept.w = malloc((weights + 1ull) * sizeof(uint32_t));
	if (!run.kept.a || !run.kept.w)
		result = -1;
	for (; run.first < e->place_count && !result; run.first = end) {
		for (end = run.first + 1; end < e->place_count; end++)
			if (instances[e->places[end].instance].weight_set !=
			    instances[e->places[run.first].instance].weight_set)
				break;
		run.count = end - run.first;
		for (i = 0; i < run.count; i++)
			run.kept.a[i] = UINT32_MAX;
		for (i = 0; i < weights; i++)
			run.kept.w[i] = UINT32_MAX;
		result = add_run(e, &run);
	}
	free(run.kept.a);
	free(run.kept.w);
	e->run = NULL;
	return result;
}

/* The cluster's tiles: a contiguous share of all instances' tiles. */
static int add_places(struct emitter *e, uint32_t part)
{
	const struct mac_plan *plan = e->plan;
	const uint32_t out[2] = { e->problem->out_height, e->problem->out_width };
	uint64_t tiles = (uint64_t)plan->tiles[0] * plan->tiles[1];
	uint64_t all = tiles * e->problem->instance_count;
	uint64_t first = all * part / plan->parts_space, end = all * (part + 1) / plan->parts_space;
	uint64_t i;
	unsigned int axis;

	if (end - first > UINT32_MAX / sizeof(struct place))
		return -1;
	e->place_count = (uint32_t)(end - first);
	e->places = calloc(e->place_count + 1ull, sizeof(*e->places));
	if (!e->places)
		return -1;
	for (i = first; i < end; i++) {
		struct place *place = &e->places[i - first];

		place->instance = (uint32_t)(i / tiles);
		place->first[MAC_Y] = (uint32_t)(i % tiles / plan->tiles[1]) * plan->tile[MAC_Y];
		place->first[MAC_X] = (uint32_t)(i % plan->tiles[1]) * plan->tile[MAC_X];
		for (axis = 0; axis < 2; axis++)
			place->count[axis] = least(plan->tile[axis], out[axis] - place->first[axis]);
	}
	return 0;
}

/* ---------------------------------------------------------------------- operands */
/* How a tile's activations lie in their slot: [rows][columns][depth], dense. */
struct tile_view {
	struct mac_extent extent[2];
	uint32_t depth;
	int64_t pixel;			/* bytes */
};

static struct tile_view view_of(const struct emitter *e, const struct place *place,
				uint32_t depth)
{
	return (struct tile_view){
		.extent = { mac_input(e->problem, MAC_Y, place->first[MAC_Y], place->count[MAC_Y]),
			    mac_input(e->problem, MAC_X, place->first[MAC_X], place->count[MAC_X]) },
		.depth = depth,
		.pixel = (int64_t)depth * ELEMENT,
	};
}

static uint32_t piece_depth(const struct emitter *e, uint32_t piece)
{
	if (e->plan->split != MAC_BY_PIECE)
		return e->problem->depth;
	return least(e->plan->piece_depth, e->problem->depth - piece * e->plan->piece_depth);
}

/* The slot of the next load, once every reader has let go of what was in it. */
static uint32_t begin_load(struct emitter *e, struct loads *loads)
{
	struct ring *ring = &loads->ring;
	uint32_t i;

	if (loads->sharing.members == 1)
		return ring_produce_begin(ring);
	for (i = 0; i < loads->sharing.members && ring->produced >= ring->slots; i++)
		stream_need(e->stream, ring->producer, loads->sharing.tokens[i]);
	return ring->base + ring->produced % ring->slots * ring->slot_bytes;
}

static void end_use(struct emitter *e, struct loads *loads)
{
	struct ring *ring = &loads->ring;

	if (loads->sharing.members == 1) {
		ring_consume_end(ring);
		return;
	}
	if (ring->consumed + ring->slots < ring->total)
		stream_give(e->stream, ring->consumer, loads->sharing.own);
	ring->consumed++;
}

static void issue_activations(struct emitter *e, const struct load *load)
{
	const struct mac_problem *problem = e->problem;
	const struct place *place = &e->places[load->tile];
	struct tile_view view = view_of(e, place, piece_depth(e, load->piece));
	uint32_t dims[4] = { 1, view.extent[MAC_Y].count, view.extent[MAC_X].count, view.depth };
	int64_t local[4] = { 0, view.pixel * view.extent[MAC_X].count, view.pixel, ELEMENT };
	int64_t dram[4] = { 0, problem->a_stride[MAC_Y], problem->a_stride[MAC_X],
			    problem->a_stride[MAC_C] };
	int64_t from = problem->instances[place->instance].activations +
		view.extent[MAC_Y].first * problem->a_stride[MAC_Y] +
		view.extent[MAC_X].first * problem->a_stride[MAC_X];
	struct npu_td dst, src;

	if (e->plan->split == MAC_BY_PIECE)
		from += (int64_t)load->piece * e->plan->piece_depth * problem->a_stride[MAC_C];
	dst = td_local(begin_load(e, &e->a), NPU_DTYPE_FP16, dims, local);
	src = td_dram(problem->a_argument, from, NPU_DTYPE_FP16, dims, dram);
	stream_dma(e->stream, 0, &dst, &src, e->a.sharing.mask);
	ring_produce_end(&e->a.ring);
}

static void dma_bytes(struct emitter *e, unsigned int channel, uint32_t local, int64_t from,
		      uint32_t bytes, uint16_t multicast)
{
	/* As fp32 words of at most 65,535 a row: dims have 16 bits. */
	uint32_t words = bytes / 4, row = words, rows = 1;
	struct npu_td dst, src;

	while (row > UINT16_MAX || (words % row && row > 1)) {
		rows = (words + UINT16_MAX - 1) / UINT16_MAX;
		while (words % rows)
			rows++;
		row = words / rows;
	}
	dst = td_local_dense(local, NPU_DTYPE_FP32, 1, 1, rows, row);
	src = td_dram(NPU_ARG_WEIGHTS, from, NPU_DTYPE_FP32, (uint32_t[4]){ 1, 1, rows, row },
		      (int64_t[4]){ 0, 0, 4 * (int64_t)row, 4 });
	stream_dma(e->stream, channel, &dst, &src, multicast);
}

/* A matrix that is no constant: rows of depth lanes, as the array reads them. */
static void issue_matrix(struct emitter *e, const struct load *load, uint32_t slot)
{
	const struct mac_problem *problem = e->problem;
	const struct mac_plan *plan = e->plan;
	uint32_t channel = load->block * plan->block_channels;
	uint32_t channels = least(load->blocks * plan->block_channels, problem->channels - channel);
	uint32_t first = load->chunk == UINT32_MAX ? 0 : plan->chunks[load->chunk].depth;
	uint32_t depth = load->chunk == UINT32_MAX ? problem->depth :
			 plan->chunks[load->chunk].depth_count;
	uint32_t steps = load->chunk == UINT32_MAX ? plan->chunks[0].steps :
			 plan->chunks[load->chunk].steps;
	uint32_t dims[4] = { 1, 1, channels, depth };
	int64_t local[4] = { 0, 0, (int64_t)steps * plan->step_depth * ELEMENT, ELEMENT };
	int64_t dram[4] = { 0, 0, problem->b_stride_channel, problem->b_stride_depth };
	int64_t from = problem->instances[load->instance].weights +
		channel * problem->b_stride_channel + first * problem->b_stride_depth;
	struct npu_td dst = td_local(slot, NPU_DTYPE_FP16, dims, local);
	struct npu_td src = td_dram(problem->b_argument, from, NPU_DTYPE_FP16, dims, dram);

	stream_dma(e->stream, 1, &dst, &src, e->w.sharing.mask);
}

static void issue_weights(struct emitter *e, const struct load *load)
{
	const struct mac_plan *plan = e->plan;
	const struct mac_instance *instance = &e->problem->instances[load->instance];
	uint32_t slot = begin_load(e, &e->w), bytes;
	int64_t from;

	if (!e->problem->weights) {
		issue_matrix(e, load, slot);
	} else {
		from = e->set_offsets[instance->weight_set] +
			(int64_t)load->block * plan->block_bytes;
		bytes = load->blocks * plan->block_bytes;
		if (load->chunk != UINT32_MAX) {
			from += plan->chunks[load->chunk].offset;
			bytes = plan->chunks[load->chunk].bytes;
		}
		dma_bytes(e, 1, slot, from, bytes, e->w.sharing.mask);
	}
	ring_produce_end(&e->w.ring);
}

/* Channels that are really there of a run of blocks. */
static uint32_t channels_of(const struct emitter *e, uint32_t block, uint32_t blocks)
{
	return least(blocks * e->plan->block_channels,
		     e->problem->channels - block * e->plan->block_channels);
}

/* How results lie in a store slot or a residual's: strides of [y][x][c]. */
struct slot_view {
	uint32_t dims[4];
	int64_t strides[4];
};

static struct slot_view slot_of(const struct emitter *e, const struct place *place,
				const uint32_t pass[2], uint32_t block, uint32_t blocks)
{
	struct slot_view view = { .dims = { 1, 0, 0, channels_of(e, block, blocks) } };
	uint32_t *dims = view.dims;

	dims[1] = least(e->plan->pass[MAC_Y], place->count[MAC_Y] - pass[MAC_Y]);
	dims[2] = least(e->plan->pass[MAC_X], place->count[MAC_X] - pass[MAC_X]);
	if (e->plan->store_by_channel) {
		view.strides[2] = ELEMENT;
		view.strides[1] = (int64_t)ELEMENT * dims[2];
		view.strides[3] = (int64_t)ELEMENT * dims[2] * dims[1];
	} else {
		view.strides[3] = ELEMENT;
		view.strides[2] = (int64_t)ELEMENT * dims[3];
		view.strides[1] = (int64_t)ELEMENT * dims[3] * dims[2];
	}
	return view;
}

/* Results or residual of @view in DRAM. */
static struct npu_td dram_of(const struct emitter *e, const struct place *place,
			     const uint32_t pass[2], uint32_t block, const struct slot_view *view,
			     bool residual)
{
	const struct mac_problem *problem = e->problem;
	const struct mac_instance *instance = &problem->instances[place->instance];
	const int64_t *stride = residual ? problem->r_stride : problem->o_stride;
	int64_t strides[4] = { 0, stride[MAC_Y], stride[MAC_X], stride[MAC_C] };
	int64_t at = (residual ? instance->residual : instance->output) +
		(int64_t)(place->first[MAC_Y] + pass[MAC_Y]) * stride[MAC_Y] +
		(int64_t)(place->first[MAC_X] + pass[MAC_X]) * stride[MAC_X] +
		(int64_t)block * e->plan->block_channels * stride[MAC_C];

	return td_dram(residual ? problem->r_argument : problem->o_argument, at, NPU_DTYPE_FP16,
		       view->dims, strides);
}

static void issue_residual(struct emitter *e, const struct load *load)
{
	const struct place *place = &e->places[load->tile];
	struct slot_view view = slot_of(e, place, load->pass, load->block, load->blocks);
	struct npu_td src = dram_of(e, place, load->pass, load->block, &view, true);
	struct npu_td dst = td_local(ring_produce_begin(&e->r.ring), NPU_DTYPE_FP16, view.dims,
				     view.strides);

	stream_dma(e->stream, 0, &dst, &src, 0);
	ring_produce_end(&e->r.ring);
}

/* ---------------------------------------------------------------------- emission */
/* Loads of a ring that may stand in the stream before step @step. */
static void issue_loads(struct emitter *e, struct loads *loads, uint32_t step,
			void (*issue)(struct emitter *e, const struct load *load))
{
	while (loads->issued < loads->count) {
		const struct load *load = &loads->list[loads->issued];
		uint32_t slots = loads->ring.slots, ahead = loads->issued;

		if (loads->issued >= slots && loads->list[loads->issued - slots].last_step >= step)
			break;
		/* Those whose use is still to come: not more than the queue takes. */
		while (ahead > 0 && loads->list[ahead - 1].first_step >= step)
			ahead--;
		if (loads->issued - ahead >= LOADS_AHEAD)
			break;
		if (loads->sharing.members == 1 || loads->sharing.leader)
			issue(e, load);
		loads->issued++;
	}
}

static void issue_parameters(struct emitter *e)
{
	const struct mac_problem *problem = e->problem;
	uint32_t bytes = e->plan->parameter_bytes, count;
	int64_t from = e->parameters;

	if (bytes) {
		if (problem->weight_sets > 1) {
			count = problem->weight_sets * problem->channels;
		} else {
			e->parameters_first_channel = e->first_block * e->plan->block_channels;
			count = channels_of(e, e->first_block, e->blocks);
			from += (int64_t)e->parameters_first_channel * sizeof(struct npu_channel_fp);
		}
		dma_bytes(e, 0, e->parameters_at, from,
			  count * (uint32_t)sizeof(struct npu_channel_fp), 0);
	}
	if (e->plan->table_bytes)
		dma_bytes(e, 0, e->table_at, e->table, sizeof(struct npu_table), 0);
	if (bytes || e->plan->table_bytes) {
		stream_give(e->stream, NPU_ENGINE_DMA0, e->ready);
		e->wants_ready = true;
	}
}

static struct npu_td mac_weights(const struct emitter *e, const struct step *step, uint32_t slot)
{
	const struct mac_plan *plan = e->plan;
	const struct mac_chunk *chunk = &plan->chunks[step->chunk];
	const struct load *load = &e->w.list[step->w];
	uint32_t channels = channels_of(e, step->block, 1);
	int64_t step_bytes = (int64_t)plan->block_channels * plan->step_depth * ELEMENT;
	int64_t lanes = (int64_t)chunk->steps * plan->step_depth * ELEMENT;

	if (load->chunk == UINT32_MAX)
		slot += (step->block - load->block) * plan->block_bytes;
	if (e->problem->depthwise)
		return td_local(slot, NPU_DTYPE_FP16,
				(uint32_t[4]){ 1, 1, chunk->steps, channels },
				(int64_t[4]){ 0, 0, (int64_t)plan->block_channels * ELEMENT, ELEMENT });
	if (!e->problem->weights)
		return td_local(slot, NPU_DTYPE_FP16,
				(uint32_t[4]){ 1, chunk->steps, channels, plan->step_depth },
				(int64_t[4]){ 0, (int64_t)plan->step_depth * ELEMENT, lanes, ELEMENT });
	return td_local(slot, NPU_DTYPE_FP16,
			(uint32_t[4]){ 1, chunk->steps, channels, plan->step_depth },
			(int64_t[4]){ 0, step_bytes, (int64_t)plan->step_depth * ELEMENT, ELEMENT });
}

static struct npu_td mac_activations(const struct emitter *e, const struct step *step,
				     const struct tile_view *view, uint32_t slot)
{
	const struct mac_chunk *chunk = &e->plan->chunks[step->chunk];
	uint32_t depth = chunk->depth_count;

	if (e->problem->depthwise) {
		slot += step->block * e->plan->block_channels * ELEMENT;
		depth = channels_of(e, step->block, 1);
	} else if (e->plan->split != MAC_BY_PIECE) {
		slot += chunk->depth * ELEMENT;
	}
	return td_local(slot, NPU_DTYPE_FP16,
			(uint32_t[4]){ 1, view->extent[MAC_Y].count, view->extent[MAC_X].count, depth },
			(int64_t[4]){ 0, view->pixel * view->extent[MAC_X].count, view->pixel, ELEMENT });
}

static struct npu_window mac_window(const struct emitter *e, const struct step *step,
				    const struct tile_view *view, const uint32_t dims[4])
{
	const struct mac_problem *problem = e->problem;
	const struct mac_chunk *chunk = &e->plan->chunks[step->chunk];
	const struct place *place = &e->places[step->place];
	int64_t origin[2];
	unsigned int axis;

	for (axis = 0; axis < 2; axis++)
		origin[axis] = (int64_t)(place->first[axis] + step->pass[axis]) * problem->stride[axis] -
			problem->pad[axis] + (int64_t)chunk->kernel[axis] * problem->dilation[axis] -
			view->extent[axis].first;
	return (struct npu_window){
		.out_height = htole16((uint16_t)dims[1]),
		.out_width = htole16((uint16_t)dims[2]),
		.kernel_height = htole16((uint16_t)chunk->kernel_count[MAC_Y]),
		.kernel_width = htole16((uint16_t)chunk->kernel_count[MAC_X]),
		.stride_y = htole16((uint16_t)problem->stride[MAC_Y]),
		.stride_x = htole16((uint16_t)problem->stride[MAC_X]),
		.dilation_y = htole16((uint16_t)problem->dilation[MAC_Y]),
		.dilation_x = htole16((uint16_t)problem->dilation[MAC_X]),
		.origin_y = htole16((uint16_t)(int16_t)origin[MAC_Y]),
		.origin_x = htole16((uint16_t)(int16_t)origin[MAC_X]),
	};
}

/* The slot a load went to; loads are used in the order they were issued in. */
static uint32_t slot_address(const struct loads *loads, uint32_t index)
{
	return loads->ring.base + index % loads->ring.slots * loads->ring.slot_bytes;
}

static void emit_mac(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	const struct load *a = &e->a.list[step->a], *w = &e->w.list[step->w];
	struct tile_view view = view_of(e, place, piece_depth(e, a->piece));
	struct slot_view slot = slot_of(e, place, step->pass, step->block, 1);
	uint8_t subop = (uint8_t)(e->plan->shape | (e->half ? NPU_MAC_HALF : 0));
	struct npu_td activations, weights;
	struct npu_window window;

	if (step->first_chunk)
		ring_produce_begin(&e->acc);
	else
		subop |= NPU_MAC_RESUME;
	if (a->first_step == index)
		ring_consume_begin(&e->a.ring);
	if (w->first_step == index)
		ring_consume_begin(&e->w.ring);
	activations = mac_activations(e, step, &view, slot_address(&e->a, step->a));
	weights = mac_weights(e, step, slot_address(&e->w, step->w));
	window = mac_window(e, step, &view, slot.dims);
	stream_mac(e->stream, subop, &activations, &weights, &window, 0,
		   channels_of(e, step->block, 1));
	if (step->last_chunk)
		ring_produce_end(&e->acc);
	if (a->last_step == index)
		end_use(e, &e->a);
	if (w->last_step == index)
		end_use(e, &e->w);
}

/* Part of a stored slot that @step's block is. */
static struct npu_td out_view(const struct emitter *e, const struct step *step, uint32_t slot)
{
	const struct place *place = &e->places[step->place];
	struct slot_view view = slot_of(e, place, step->pass, step->store_block, step->store_blocks);
	uint32_t channel = (step->block - step->store_block) * e->plan->block_channels;

	view.dims[3] = channels_of(e, step->block, 1);
	return td_local(slot + (uint32_t)(channel * view.strides[3]), NPU_DTYPE_FP16, view.dims,
			view.strides);
}

static void emit_out(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	uint32_t set = e->problem->instances[place->instance].weight_set;
	uint32_t channel = step->block * e->plan->block_channels;
	uint32_t channels = channels_of(e, step->block, 1);
	uint8_t subop = (uint8_t)(NPU_OUT_SUM_FP | (e->half ? NPU_OUT_HALF : 0));
	struct npu_td dst, parameters, residual;

	ring_consume_begin(&e->acc);
	if (e->wants_ready) {
		stream_need(e->stream, NPU_ENGINE_OUT, e->ready);
		e->wants_ready = false;
	}
	if (step->first_stored) {
		ring_produce_begin(&e->store);
		if (e->problem->residual)
			ring_consume_begin(&e->r.ring);
	}
	dst = out_view(e, step, e->store.base +
		       e->store.produced % e->store.slots * e->store.slot_bytes);
	if (e->problem->residual)
		residual = out_view(e, step, slot_address(&e->r, step->r));
	if (e->problem->weight_sets > 1)
		channel += set * e->problem->channels;
	parameters = td_local_dense(e->parameters_at + (channel - e->parameters_first_channel) *
				    (uint32_t)sizeof(struct npu_channel_fp), NPU_DTYPE_FP32, 1, 1,
				    channels, 2);
	stream_out(e->stream, subop, &dst, e->problem->bias ? &parameters : NULL, &e->stage,
		   e->problem->residual ? &residual : NULL, 0);
	ring_consume_end(&e->acc);
	e->half ^= e->acc.slots > 1;
	if (!step->last_stored)
		return;
	ring_produce_end(&e->store);
	if (e->problem->residual)
		ring_consume_end(&e->r.ring);
}

static void emit_store(struct emitter *e, uint32_t index)
{
	const struct step *step = &e->steps[index];
	const struct place *place = &e->places[step->place];
	struct slot_view view = slot_of(e, place, step->pass, step->store_block, step->store_blocks);
	struct npu_td dst = dram_of(e, place, step->pass, step->store_block, &view, false);
	struct npu_td src = td_local(ring_consume_begin(&e->store), NPU_DTYPE_FP16, view.dims,
				     view.strides);

	stream_dma(e->stream, e->plan->store_channel, &dst, &src, 0);
	ring_consume_end(&e->store);
}

static void emit_steps(struct emitter *e)
{
	uint32_t i;

	for (i = 0; i < e->step_count; i++) {
		issue_loads(e, &e->a, i, issue_activations);
		issue_loads(e, &e->w, i, issue_weights);
		if (i == 0)
			issue_parameters(e);
		issue_loads(e, &e->r, i, issue_residual);
		emit_mac(e, i);
		if (!e->steps[i].last_chunk)
			continue;
		emit_out(e, i);
		if (e->steps[i].last_stored)
			emit_store(e, i);
	}
}

static uint32_t float_bits(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static int init_stage(struct emitter *e)
{
	float low = 0, high = 0;
	uint8_t activation;

	if (!mac_activation(&e->problem->activation, &activation, &low, &high))
		return -1;
	e->stage = (struct npu_stage){
		.activation = activation,
		.flags = e->problem->residual ? NPU_STAGE_RESIDUAL_BEFORE : 0,
		.table_address = htole32(activation == NPU_ACTIVATION_TABLE ? e->table_at : 0),
	};
	if (activation == NPU_ACTIVATION_CLAMP) {
		e->stage.clamp_low = htole32(float_bits(low));
		e->stage.clamp_high = htole32(float_bits(high));
	}
	return 0;
}

/* Members of a shared ring must place it alike: what a ring of few loads leaves free stays free. */
static int init_loads(struct emitter *e, struct loads *loads, enum npu_engine producer,
		      uint32_t bytes, uint32_t slots)
{
	struct ring *ring = &loads->ring;

	if (ring_init(ring, e->lower, e->cluster, producer, NPU_ENGINE_MAC, bytes, slots,
		      loads->count))
		return -1;
	if (ring->slots < slots &&
	    lower_local(e->lower, e->cluster, (slots - ring->slots) * ring->slot_bytes) == UINT32_MAX)
		return -1;
	return 0;
}

static int init_cluster(struct emitter *e)
{
	const struct mac_plan *plan = e->plan;
	struct lower *lower = e->lower;
	uint32_t cluster = e->cluster, blocks = 0, i;

	for (i = 0; i < e->step_count; i++) {
		blocks += e->steps[i].last_chunk;
		e->store.total += e->steps[i].last_chunk && e->steps[i].last_stored;
	}
	if (init_loads(e, &e->a, NPU_ENGINE_DMA0, plan->a_bytes, plan->a_slots) ||
	    init_loads(e, &e->w, NPU_ENGINE_DMA1, plan->w_bytes, plan->w_slots))
		return -1;
	e->parameters_at = lower_local(lower, cluster, plan->parameter_bytes);
	e->table_at = lower_local(lower, cluster, plan->table_bytes);
	e->ready = lower_token(lower, cluster);
	if (e->parameters_at == UINT32_MAX || e->table_at == UINT32_MAX ||
	    ring_init(&e->acc, lower, cluster, NPU_ENGINE_MAC, NPU_ENGINE_OUT, 0,
		      lower->pipeline_stages == 1 ? 1 : 2, blocks) ||
	    ring_init(&e->store, lower, cluster, NPU_ENGINE_OUT,
		      plan->store_channel ? NPU_ENGINE_DMA1 : NPU_ENGINE_DMA0, plan->s_bytes,
		      plan->s_slots, e->store.total))
		return -1;
	if (e->problem->residual &&
	    ring_init(&e->r.ring, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_OUT, plan->s_bytes,
		      plan->s_slots, e->r.count))
		return -1;
	return init_stage(e);
}

static int list_cluster(struct emitter *e)
{
	mac_blocks(e->plan, e->cluster % e->plan->parts_channel, &e->first_block, &e->blocks);
	if (add_places(e, e->cluster / e->plan->parts_channel))
		return -1;
	if (!e->place_count || !e->blocks)
		return 0;
	return add_runs(e);
}

/* ----------------------------------------------------------------------- sharing */
static bool same_activations(const struct emitter *a, const struct emitter *b)
{
	uint32_t i;

	if (a->a.count != b->a.count)
		return false;
	for (i = 0; i < a->a.count; i++) {
		const struct load *left = &a->a.list[i], *right = &b->a.list[i];

		if (left->piece != right->piece ||
		    memcmp(&a->places[left->tile], &b->places[right->tile], sizeof(struct place)))
			return false;
	}
	return true;
}

static bool same_weights(const struct emitter *a, const struct emitter *b)
{
	const struct mac_instance *instances = a->problem->instances;
	uint32_t i;

	if (a->w.count != b->w.count)
		return false;
	for (i = 0; i < a->w.count; i++) {
		const struct load *left = &a->w.list[i], *right = &b->w.list[i];

		if (left->block != right->block || left->blocks != right->blocks ||
		    left->chunk != right->chunk ||
		    instances[left->instance].weights != instances[right->instance].weights)
			return false;
	}
	return true;
}

/* The clusters first, first + step, ... (@count of them) share if all their loads are alike. */
static void share(struct emitter *emitters, uint32_t first, uint32_t step, uint32_t count,
		  size_t member, bool (*same)(const struct emitter *a, const struct emitter *b))
{
	struct lower *lower = emitters[0].lower;
	struct sharing sharing = { .members = count };
	uint32_t i;

	for (i = 1; i < count; i++)
		if (!same(&emitters[first], &emitters[first + i * step]))
			return;
	for (i = 0; i < count; i++) {
		sharing.mask |= (uint16_t)(1u << (first + i * step));
		sharing.tokens[i] = lower_shared_token(lower);
	}
	for (i = 0; i < count; i++) {
		char *emitter = (char *)&emitters[first + i * step];
		struct loads *loads = (struct loads *)(void *)(emitter + member);

		loads->sharing = sharing;
		loads->sharing.own = sharing.tokens[i];
		loads->sharing.leader = i == 0;
	}
}

static void share_loads(struct emitter *emitters, const struct mac_plan *plan)
{
	uint32_t part;

	for (part = 0; part < plan->parts_space && plan->parts_channel > 1; part++)
		share(emitters, part * plan->parts_channel, 1, plan->parts_channel,
		      offsetof(struct emitter, a), same_activations);
	for (part = 0; part < plan->parts_channel && plan->parts_space > 1; part++)
		share(emitters, part, plan->parts_channel, plan->parts_space,
		      offsetof(struct emitter, w), same_weights);
}

static void free_cluster(struct emitter *e)
{
	free(e->places);
	free(e->steps);
	free(e->a.list);
	free(e->w.list);
	free(e->r.list);
}

int mac_emit(struct lower *lower, const struct mac_problem *problem, const struct mac_plan *plan,
	     const int64_t *set_offsets, int64_t parameters, int64_t table)
{
	struct emitter *emitters = calloc(lower->clusters, sizeof(*emitters));
	uint32_t cluster;
	int result = emitters ? 0 : -1;

	for (cluster = 0; cluster < lower->clusters && !result; cluster++) {
		emitters[cluster] = (struct emitter){
			.lower = lower,
			.problem = problem,
			.plan = plan,
			.set_offsets = set_offsets,
			.parameters = parameters,
			.table = table,
			.cluster = cluster,
			.stream = lower->streams[cluster],
			.a.sharing.members = 1,
			.w.sharing.members = 1,
			.r.sharing.members = 1,
		};
		result = list_cluster(&emitters[cluster]);
	}
	if (!result)
		share_loads(emitters, plan);
	for (cluster = 0; cluster < lower->clusters && !result; cluster++) {
		if (!emitters[cluster].step_count)
			continue;
		result = init_cluster(&emitters[cluster]);
		if (!result)
			emit_steps(&emitters[cluster]);
	}
	for (cluster = 0; emitters && cluster < lower->clusters; cluster++)
		free_cluster(&emitters[cluster]);
	free(emitters);
	if (!result)
		return 0;
	return diag_error(lower->diag, "node '%s' (%s): its streams do not fit into memory",
			  problem->node->name, problem->node->op_type);
}
