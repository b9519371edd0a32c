// SPDX-License-Identifier: MIT
#include "mac_cost.h"

#include <stdlib.h>

#define ELEMENT		2u	/* bytes of fp16 */
#define ALIGN		64u

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t align_up(uint64_t number)
{
	return ceil_div(number, ALIGN) * ALIGN;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct mac_extent mac_input(const struct mac_problem *problem, unsigned int axis, uint32_t first,
			    uint32_t count)
{
	int64_t size = axis == MAC_Y ? problem->height : problem->width;
	int64_t low = (int64_t)first * problem->stride[axis] - problem->pad[axis];
	int64_t high = low + (int64_t)(count - 1) * problem->stride[axis] +
		       (int64_t)(problem->kernel[axis] - 1) * problem->dilation[axis];

	/* A tile that sees nothing but padding still needs a tensor to stand beside. */
	low = low < 0 ? 0 : low >= size ? size - 1 : low;
	high = high < low ? low : high >= size ? size - 1 : high;
	return (struct mac_extent){ (uint32_t)low, (uint32_t)(high - low + 1) };
}

/* ------------------------------------------------------------------------ bursts */
uint64_t burst_estimate(const uint32_t dims[3], const int64_t strides[3], uint32_t element)
{
	uint32_t order[3] = { 0, 1, 2 }, i, j;
	uint64_t run = element, runs = 1, span;
	bool broken = false, aligned = true;

	for (i = 0; i < 3; i++)		/* smallest stride first, dims of one out of the way */
		for (j = i + 1; j < 3; j++) {
			uint64_t a = dims[order[i]] == 1 ? UINT64_MAX : (uint64_t)llabs(strides[order[i]]);
			uint64_t b = dims[order[j]] == 1 ? UINT64_MAX : (uint64_t)llabs(strides[order[j]]);

			if (b < a) {
				uint32_t swap = order[i];

				order[i] = order[j];
				order[j] = swap;
			}
		}
	span = element;
	for (i = 0; i < 3; i++) {
		uint32_t dim = dims[order[i]];
		uint64_t stride = (uint64_t)llabs(strides[order[i]]);

		if (dim == 1)
			continue;
		if (!stride)
			continue;	/* repeats: the same bursts */
		if (!broken && stride == run) {
			run *= dim;
			span = run;
			continue;
		}
		broken = true;
		aligned = aligned && stride % ALIGN == 0;
		/* Runs closer than a burst share bursts. */
		if (stride < ALIGN) {
			span += stride * (dim - 1);
			run = span;
			continue;
		}
		runs *= dim;
	}
	if (aligned && run % ALIGN == 0)
		return runs * (run / ALIGN);
	return runs * ((run + ALIGN - 1) / ALIGN) + (runs > 1 || run % ALIGN ? runs : 0) / 2 +
	       (runs == 1);
}

static bool layout_mode(const uint32_t dims[3], const int64_t source[3], unsigned int innermost)
{
	/* The other side's innermost dim has stride ELEMENT; the source's must too. */
	return dims[innermost] > 1 && source[innermost] != ELEMENT;
}

/* ------------------------------------------------------------------------ chunks */
static void add_chunk(const struct mac_problem *problem, struct mac_plan *plan,
		      const struct mac_chunk *chunk)
{
	struct mac_chunk *to = &plan->chunks[plan->chunk_count++];
	uint32_t lanes = chunk->kernel_count[0] * chunk->kernel_count[1] * chunk->depth_count;

	*to = *chunk;
	if (problem->depthwise) {
		to->steps = chunk->kernel_count[0] * chunk->kernel_count[1];
		to->bytes = to->steps * plan->block_channels * ELEMENT;
	} else {
		to->steps = (uint32_t)ceil_div(lanes, plan->step_depth);
		to->bytes = to->steps * plan->block_channels * plan->step_depth * ELEMENT;
	}
	to->offset = plan->block_bytes;
	plan->block_bytes += to->bytes;
}

bool mac_chunks(const struct mac_problem *problem, struct mac_plan *plan, struct mac_chunk *chunks,
		uint32_t capacity)
{
	uint32_t step_y = plan->kernel_split ? 1 : problem->kernel[MAC_Y];
	uint32_t step_x = plan->kernel_split == 2 ? 1 : problem->kernel[MAC_X];
	uint64_t lanes = (uint64_t)step_y * step_x * plan->piece_depth;
	uint64_t count = ceil_div(problem->depth, plan->piece_depth) *
			 ceil_div(problem->kernel[MAC_Y], step_y) * ceil_div(problem->kernel[MAC_X], step_x);
	uint64_t step_bytes = (uint64_t)plan->block_channels * plan->step_depth * ELEMENT;
	struct mac_chunk chunk;
	uint32_t piece, x, y;

	plan->chunks = chunks;
	plan->chunk_count = 0;
	plan->block_bytes = 0;
	if (count > capacity || ceil_div(lanes, plan->step_depth) > UINT16_MAX ||
	    count * (ceil_div(lanes, plan->step_depth) + 1) * step_bytes > UINT32_MAX / 2)
		return false;
	for (piece = 0; piece * plan->piece_depth < problem->depth; piece++) {
		for (y = 0; y < problem->kernel[MAC_Y]; y += step_y) {
			for (x = 0; x < problem->kernel[MAC_X]; x += step_x) {
				uint32_t depth = piece * plan->piece_depth;

				chunk = (struct mac_chunk){
					.kernel = { y, x },
					.kernel_count = { step_y, step_x },
					.depth = depth,
					.depth_count = (uint32_t)least(plan->piece_depth,
								       problem->depth - depth),
					.piece = piece,
				};
				add_chunk(problem, plan, &chunk);
			}
		}
	}
	return true;
}

/* ----------------------------------------------------------------------- figures */
struct figures {
	uint64_t clusters;		/* that have work */
	uint64_t part_tiles, part_blocks, part_groups;
	uint64_t tile_positions, tile_passes;
	uint64_t part_positions;
	uint64_t a_loads, w_loads;	/* of a part */
	uint64_t a_bursts, w_bursts, s_bursts, r_bursts;	/* of one load, store */
	uint64_t stores;		/* of a part */
	uint64_t mac, out, dma[2], dram, front;
	uint64_t w_load_bytes;
	uint64_t a_streams, w_streams;	/* of loads: clusters that share one count once */
	bool w_kept;			/* each of a run's weights is loaded once */
};

static bool size_slots(const struct lower *lower, const struct mac_problem *problem,
		       struct mac_plan *plan, uint32_t local_free)
{
	const struct mac_instance *last = &problem->instances[problem->instance_count - 1];
	uint64_t rows = least(problem->height, (uint64_t)(plan->tile[MAC_Y] - 1) * problem->stride[MAC_Y] +
			      (uint64_t)(problem->kernel[MAC_Y] - 1) * problem->dilation[MAC_Y] + 1);
	uint64_t columns = least(problem->width, (uint64_t)(plan->tile[MAC_X] - 1) * problem->stride[MAC_X] +
				 (uint64_t)(problem->kernel[MAC_X] - 1) * problem->dilation[MAC_X] + 1);
	uint64_t depth = plan->split == MAC_BY_PIECE ? plan->piece_depth : problem->depth;
	uint64_t positions = (uint64_t)plan->pass[MAC_Y] * plan->pass[MAC_X];
	uint64_t stored = least((uint64_t)plan->store_blocks * plan->block_channels, problem->channels);
	uint64_t a = align_up(rows * columns * depth * ELEMENT);
	uint64_t s = align_up(positions * stored * ELEMENT);
	uint64_t w, parameters = 0, table = 0, total;
	uint8_t activation;
	float low, high;
	uint32_t i;

	if (plan->split == MAC_WHOLE) {
		w = (uint64_t)plan->group_blocks * plan->block_bytes;
	} else {
		for (i = 0, w = 0; i < plan->chunk_count; i++)
			w = most(w, plan->chunks[i].bytes);
	}
	w = align_up(w);
	if (problem->bias)
		parameters = align_up((last->weight_set ?
				       (uint64_t)problem->weight_sets * problem->channels :
				       ceil_div(plan->blocks, plan->parts_channel) * plan->block_channels) *
				      sizeof(struct npu_channel_fp));
	if (mac_activation(&problem->activation, &activation, &low, &high) &&
	    activation == NPU_ACTIVATION_TABLE)
		table = align_up(sizeof(struct npu_table));
	total = a * plan->a_slots + w * plan->w_slots + parameters + table +
		s * plan->s_slots * (problem->residual ? 2 : 1);
	if (total > local_free || total > lower->config->local_bytes)
		return false;
	plan->a_bytes = (uint32_t)a;
	plan->w_bytes = (uint32_t)w;
	plan->s_bytes = (uint32_t)s;
	plan->parameter_bytes = (uint32_t)parameters;
	plan->table_bytes = (uint32_t)table;
	plan->local_bytes = (uint32_t)total;
	return true;
}

static uint64_t mac_work(const struct lower *lower, const struct mac_plan *plan, uint64_t positions,
			 const struct mac_chunk *chunk)
{
	uint64_t load = lower->config->weight_load_cycles * ceil_div(chunk->bytes, 1024), work;

	switch (plan->shape) {
	case NPU_MAC_SHAPE_M:
		work = positions * chunk->steps;
		break;
	case NPU_MAC_SHAPE_S:
		work = ceil_div(positions, 4) * chunk->steps;
		break;
	default:
		work = ceil_div(positions, npu_config_mac_depth(lower->config, NPU_DTYPE_FP16)) *
		       chunk->steps;
	}
	return most(work, load);
}

static void count_loads(const struct mac_problem *problem, struct mac_plan *plan,
			struct figures *f)
{
	uint64_t all = (uint64_t)problem->instance_count * plan->tiles[0] * plan->tiles[1];
	uint64_t runs;

	f->part_tiles = ceil_div(all, plan->parts_space);
	f->clusters = least(all, plan->parts_space) * least(plan->blocks, plan->parts_channel);
	f->part_blocks = ceil_div(plan->blocks, plan->parts_channel);
	f->part_groups = ceil_div(f->part_blocks, plan->group_blocks);
	runs = problem->weight_sets == 1 ? 1 :
		ceil_div(f->part_tiles, (uint64_t)plan->tiles[0] * plan->tiles[1]);
	f->tile_positions = (uint64_t)plan->tile[0] * plan->tile[1];
	f->tile_passes = ceil_div(plan->tile[0], plan->pass[0]) * ceil_div(plan->tile[1], plan->pass[1]);
	f->part_positions = least(f->part_tiles * f->tile_positions,
				  (uint64_t)problem->instance_count * problem->out_height *
				  problem->out_width);
	if (plan->split == MAC_BY_PIECE)
		f->a_loads = f->part_tiles * f->part_blocks *
			     ceil_div(problem->depth, plan->piece_depth);
	else
		f->a_loads = f->part_tiles *
			     (plan->weights_outer && plan->a_slots < f->part_tiles ? f->part_groups : 1);
	if (plan->split == MAC_WHOLE) {
		f->w_kept = plan->weights_outer || plan->w_slots >= f->part_groups;
		f->w_loads = (f->w_kept ? runs : f->part_tiles) * f->part_groups;
	} else {
		f->w_kept = plan->w_slots >= f->part_blocks * plan->chunk_count;
		f->w_loads = (f->w_kept ? runs : f->part_tiles * f->tile_passes) * f->part_blocks *
			     plan->chunk_count;
	}
	f->a_streams = least(all, plan->parts_space);
	f->w_streams = least(plan->blocks, plan->parts_channel);
	if (runs > 1 || (!f->w_kept && all % plan->parts_space))
		f->w_streams = f->clusters;
	/* Stores wait for results: they go where no load that is needed soon stands behind them. */
	plan->store_channel = f->w_kept ? 1 : 0;
	f->stores = f->part_tiles * f->tile_passes * ceil_div(f->part_blocks, plan->store_blocks);
}

static void count_bursts(const struct mac_problem *problem, const struct mac_plan *plan,
			 struct figures *f)
{
	uint32_t tile[3] = {
		mac_input(problem, MAC_Y, plan->tile[MAC_Y] / 2, plan->tile[MAC_Y]).count,
		mac_input(problem, MAC_X, 0, plan->tile[MAC_X]).count,
		plan->split == MAC_BY_PIECE ? plan->piece_depth : problem->depth,
	};
	uint32_t pass[3] = {
		plan->pass[MAC_Y], plan->pass[MAC_X],
		(uint32_t)least((uint64_t)plan->store_blocks * plan->block_channels, problem->channels),
	};
	uint32_t matrix[3] = { 1, 1, 1 };
	int64_t b_stride[3] = { 0, problem->b_stride_channel, problem->b_stride_depth };

	f->a_bursts = burst_estimate(tile, problem->a_stride, ELEMENT);
	f->s_bursts = burst_estimate(pass, problem->o_stride, ELEMENT);
	f->r_bursts = problem->residual ? burst_estimate(pass, problem->r_stride, ELEMENT) : 0;
	f->w_load_bytes = plan->split == MAC_WHOLE ?
		least(plan->group_blocks, f->part_blocks) * (uint64_t)plan->block_bytes :
		plan->block_bytes / plan->chunk_count;
	f->w_bursts = ceil_div(f->w_load_bytes, ALIGN);
	if (!problem->weights) {
		matrix[1] = (uint32_t)(f->w_load_bytes / ((uint64_t)plan->step_depth * ELEMENT *
							  ceil_div(plan->piece_depth, plan->step_depth)));
		matrix[2] = plan->piece_depth;
		f->w_bursts = burst_estimate(matrix, b_stride, ELEMENT);
	}
}

/*
 * Bytes of code: what an instruction of each kind takes with the descriptors it
 * changes. Interior tiles repeat windows and slots, so most are registers already.
 */
static void count_instructions(const struct mac_problem *problem, const struct mac_plan *plan,
			       struct figures *f)
{
	const uint64_t insn = NPU_INSN_BYTES;
	uint64_t passes = f->part_tiles * f->tile_passes * f->part_blocks;
	uint64_t mac = plan->chunk_count * passes * insn * (plan->chunk_count > 1 ? 4 : 2);

	f->front = mac + passes * insn * 2 + (f->a_loads + f->w_loads) * insn * 3 +
		   f->stores * insn * (problem->residual ? 6 : 3);
}

static uint64_t dma_cycles(const struct lower *lower, uint64_t bytes, bool layout)
{
	return ceil_div(bytes, layout ? lower->config->dma_layout_bytes : lower->config->dma_bytes);
}

/* What of @loads of @time each is not hidden behind @compute by @slots buffers. */
static uint64_t exposed(uint64_t loads, uint64_t slots, uint64_t time, uint64_t compute)
{
	uint64_t hidden;

	if (loads <= slots)
		return 0;
	hidden = (slots - 1) * compute / loads;
	return (loads - slots) * (time - least(time, hidden));
}

/*
 * While a tile's activations come in, weights get their share of the DRAM only: what they fall
 * behind in that time, beyond what their buffers hold.
 */
static uint64_t crowded(const struct figures *f, const struct mac_plan *plan, uint64_t latency,
			uint64_t burst, uint64_t compute)
{
	uint64_t streams = f->a_streams + f->w_streams;
	uint64_t tile = latency + burst * f->a_bursts * streams;
	uint64_t load = latency + burst * f->w_bursts * streams;
	uint64_t wanted = most(compute / f->w_loads, 1), behind;

	if (load <= wanted)
		return 0;
	tile = least(tile, compute / f->a_loads);
	behind = tile - tile * wanted / load;
	return behind - least(behind, (plan->w_slots - 1) * wanted);
}

bool mac_cost(const struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan,
	      uint32_t local_free)
{
	const struct npu_config *config = lower->config;
	uint32_t tile[3] = { plan->tile[0], plan->tile[1], problem->depth };
	uint64_t latency = config->dram_latency + config->dma_descriptor;
	uint64_t burst = npu_config_burst_cycles(config);
	uint64_t pass_positions = (uint64_t)plan->pass[0] * plan->pass[1];
	uint64_t passes, instructions, compute, stall = 0, a_time, w_time, s_time, busy, body;
	struct figures f = { 0 };
	uint32_t i;

	if (!size_slots(lower, problem, plan, local_free))
		return false;
	count_loads(problem, plan, &f);
	count_bursts(problem, plan, &f);
	passes = most(f.part_tiles * f.tile_passes, 1);
	pass_positions = ceil_div(f.part_positions, passes);
	for (i = 0; i < plan->chunk_count; i++)
		f.mac += mac_work(lower, plan, pass_positions, &plan->chunks[i]);
	f.mac *= passes * f.part_blocks;
	instructions = passes * f.part_blocks;
	f.out = instructions * config->out_overhead +
		ceil_div(f.part_positions * least(f.part_blocks * plan->block_channels, problem->channels),
			 config->out_results / 2);
	f.dram = burst * (f.a_streams * f.a_loads * f.a_bursts + f.w_streams * f.w_loads * f.w_bursts +
			  f.clusters * f.stores * (f.s_bursts + f.r_bursts));
	plan->dram_bytes = f.dram / burst * ALIGN;
	count_instructions(problem, plan, &f);
	f.dram += f.clusters * ceil_div(f.front, config->fetch_block_bytes) *
		  (config->fetch_block_bytes / ALIGN) * burst;
	/* A block of code at a time, each after its latency. */
	f.front = ceil_div(f.front, config->fetch_block_bytes) *
		  (config->dram_latency + config->fetch_block_bytes / ALIGN * burst);
	a_time = most(dma_cycles(lower, plan->a_bytes, layout_mode(tile, problem->a_stride, MAC_C)),
		      burst * f.a_bursts) + config->dram_latency;
	w_time = most(dma_cycles(lower, f.w_load_bytes,
				 !problem->weights && problem->b_stride_depth != ELEMENT),
		      burst * f.w_bursts) + config->dram_latency;
	s_time = most(dma_cycles(lower, plan->s_bytes, false), burst * f.s_bursts) +
		config->dram_latency;
	f.dma[0] = f.a_loads * a_time + f.stores * (f.r_bursts ? f.r_bursts * burst + config->dram_latency : 0);
	f.dma[1] = f.w_loads * w_time;
	f.dma[plan->store_channel] += f.stores * s_time;
	compute = most(f.mac, f.out);
	/* All streams load at once, and others slow them down by what they take of the DRAM. */
	busy = least(1024 * f.dram / most(compute, 1), 900);
	a_time = latency + most(a_time - config->dram_latency,
				burst * f.a_bursts * f.a_streams * 1024 / (1024 - busy));
	w_time = latency + most(w_time - config->dram_latency,
				burst * f.w_bursts * f.w_streams * 1024 / (1024 - busy));
	if (plan->s_slots == 1)
		stall += f.stores * (latency + burst * f.s_bursts * f.clusters);
	stall += exposed(f.a_loads, plan->a_slots, a_time, compute);
	stall += exposed(f.w_loads, plan->w_slots, w_time, compute);
	if (!f.w_kept && f.a_loads > 1)
		stall += (f.a_loads - 1) * crowded(&f, plan, latency, burst, compute);
	/* Where activations and weights are new at once, three tokens take a SYNC: no look-ahead. */
	if (!f.w_kept || plan->weights_outer)
		stall += least(f.a_loads, f.w_loads) * 2 *
			 (1 + config->weight_load_cycles * ceil_div(plan->chunks[0].bytes, 1024));
	compute = most(compute, f.front);
	body = most(most(compute + stall, f.dram), most(f.dma[0], f.dma[1]));
	plan->cycles = config->dispatch_cycles + latency +
		burst * (f.a_streams * f.a_bursts + f.w_streams * f.w_bursts) + body +
		ceil_div(pass_positions * plan->block_channels, config->out_results / 2) +
		latency + burst * f.clusters * f.s_bursts + config->mac_tail;
	return true;
}
