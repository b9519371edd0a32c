// SPDX-License-Identifier: MIT
#include "mac_cost.h"

#include <stdlib.h>

/* Cycles that clusters sharing loads drift apart, and the SYNCs for their tokens take. */
#define SHARING_MARGIN 32u
#define ALIGN 64u

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

	for (i = 0; i < 3; i++) /* smallest stride first, dims of one out of the way */
		for (j = i + 1; j < 3; j++) {
			uint64_t a = dims[order[i]] == 1 ? UINT64_MAX :
							   (uint64_t)llabs(strides[order[i]]);
			uint64_t b = dims[order[j]] == 1 ? UINT64_MAX :
							   (uint64_t)llabs(strides[order[j]]);

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
			continue; /* repeats: the same bursts */
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

static bool layout_mode(const uint32_t dims[3], const int64_t source[3], unsigned int innermost,
			enum npu_dtype dtype)
{
	/* The other side's innermost dim has the element as its stride; the source's must too. */
	return dims[innermost] > 1 && source[innermost] != NPU_DTYPE_BYTES(dtype);
}

/* ------------------------------------------------------------------------ chunks */
static void add_chunk(const struct mac_problem *problem, struct mac_plan *plan,
		      const struct mac_chunk *chunk)
{
	struct mac_chunk *to = &plan->chunks[plan->chunk_count++];
	uint32_t lanes = chunk->kernel_count[0] * chunk->kernel_count[1] * chunk->depth_count;
	uint32_t element = NPU_DTYPE_BYTES(problem->types.weights);

	*to = *chunk;
	if (problem->depthwise) {
		to->steps = chunk->kernel_count[0] * chunk->kernel_count[1];
		to->bytes = to->steps * plan->block_channels * element;
	} else {
		to->steps = (uint32_t)ceil_div(lanes, plan->step_depth);
		to->bytes = to->steps * plan->block_channels * plan->step_depth * element;
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
			 ceil_div(problem->kernel[MAC_Y], step_y) *
			 ceil_div(problem->kernel[MAC_X], step_x);
	uint64_t step_bytes = (uint64_t)plan->block_channels * plan->step_depth *
			      NPU_DTYPE_BYTES(problem->types.weights);
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

/* ------------------------------------------------------------------ local SRAM */
/* Results and residuals have slots of one size. */
static uint64_t stored_bytes(const struct mac_problem *problem)
{
	uint64_t output = NPU_DTYPE_BYTES(problem->types.output);

	return problem->residual ? most(output, NPU_DTYPE_BYTES(problem->types.residual)) : output;
}

static bool size_slots(const struct lower *lower, const struct mac_problem *problem,
		       struct mac_plan *plan, uint32_t local_free)
{
	const struct mac_instance *last = &problem->instances[problem->instance_count - 1];
	uint64_t rows = least(
		problem->height,
		(uint64_t)(plan->tile[MAC_Y] - 1) * problem->stride[MAC_Y] +
			(uint64_t)(problem->kernel[MAC_Y] - 1) * problem->dilation[MAC_Y] + 1);
	uint64_t columns = least(
		problem->width,
		(uint64_t)(plan->tile[MAC_X] - 1) * problem->stride[MAC_X] +
			(uint64_t)(problem->kernel[MAC_X] - 1) * problem->dilation[MAC_X] + 1);
	uint64_t depth = plan->split == MAC_BY_PIECE ? plan->piece_depth : problem->depth;
	uint64_t positions = (uint64_t)plan->pass[MAC_Y] * plan->pass[MAC_X];
	uint64_t stored =
		least((uint64_t)plan->store_blocks * plan->block_channels, problem->channels);
	uint64_t a = align_up(rows * columns * depth * NPU_DTYPE_BYTES(problem->types.activations));
	uint64_t s = align_up(positions * stored * stored_bytes(problem));
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
	if (problem->parameters)
		parameters = align_up((last->weight_set ?
					       (uint64_t)problem->weight_sets * problem->channels :
					       ceil_div(plan->blocks, plan->parts_channel) *
						       plan->block_channels) *
				      sizeof(struct npu_channel_fp));
	if (mac_activation(&problem->activation, &activation, &low, &high) &&
	    activation == NPU_ACTIVATION_CURVE)
		table = align_up(sizeof(struct npu_curve));
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

/* ----------------------------------------------------------------------- figures */
/* Transfers of one kind. A multicast is one stream for all that take it. */
struct flow {
	bool dram; /* else global SRAM */
	bool layout;
	uint64_t bytes, bursts; /* of one transfer */
	uint64_t count; /* of one stream */
	uint64_t streams;
	unsigned int channel;
};

enum {
	FLOW_A,
	FLOW_W,
	FLOW_R,
	FLOW_S,
	FLOW_COUNT
};

struct figures {
	uint64_t clusters; /* that have work */
	uint64_t part_tiles, part_blocks, part_groups;
	uint64_t tile_passes, part_positions;
	uint64_t runs; /* of a part: changes of the set of weights */
	bool w_kept; /* each of a run's weights is loaded once */
	struct flow flow[FLOW_COUNT];
	uint64_t mac, out, front, dram, global;
};

static uint64_t weight_load(const struct npu_config *config, const struct mac_chunk *chunk)
{
	return config->weight_load_cycles * ceil_div(chunk->bytes, 1024);
}

static void count_parts(const struct mac_problem *problem, struct mac_plan *plan, struct figures *f)
{
	uint64_t tiles = (uint64_t)plan->tiles[0] * plan->tiles[1];
	uint64_t all = problem->instance_count * tiles;

	f->part_tiles = ceil_div(all, plan->parts_space);
	f->clusters = least(all, plan->parts_space) * least(plan->blocks, plan->parts_channel);
	f->part_blocks = ceil_div(plan->blocks, plan->parts_channel);
	f->part_groups = ceil_div(f->part_blocks, plan->group_blocks);
	f->runs = problem->weight_sets == 1 ? 1 : ceil_div(f->part_tiles, tiles);
	f->tile_passes =
		ceil_div(plan->tile[0], plan->pass[0]) * ceil_div(plan->tile[1], plan->pass[1]);
	f->part_positions =
		least(f->part_tiles * plan->tile[0] * plan->tile[1],
		      (uint64_t)problem->instance_count * problem->out_height * problem->out_width);
	f->w_kept = plan->split == MAC_WHOLE ?
			    plan->weights_outer || plan->w_slots >= f->part_groups :
			    plan->w_slots >= f->part_blocks * plan->chunk_count;
	f->flow[FLOW_A].streams = least(all, plan->parts_space);
	f->flow[FLOW_W].streams = least(plan->blocks, plan->parts_channel);
	if (f->runs > 1 || (!f->w_kept && all % plan->parts_space))
		f->flow[FLOW_W].streams = f->clusters;
	f->flow[FLOW_R].streams = f->flow[FLOW_S].streams = f->clusters;
}

static void count_transfers(const struct mac_problem *problem, const struct mac_plan *plan,
			    struct figures *f)
{
	uint64_t passes = f->part_tiles * f->tile_passes;
	uint64_t sweep =
		plan->split == MAC_WHOLE ? f->part_groups : f->part_blocks * plan->chunk_count;
	uint64_t times = f->w_kept ? f->runs : plan->split == MAC_WHOLE ? f->part_tiles : passes;
	bool again = plan->weights_outer && plan->a_slots < f->part_tiles;

	if (plan->split == MAC_BY_PIECE)
		f->flow[FLOW_A].count =
			passes * f->part_blocks * ceil_div(problem->depth, plan->piece_depth);
	else
		f->flow[FLOW_A].count = f->part_tiles * (again ? f->part_groups : 1);
	f->flow[FLOW_W].count = times * sweep;
	f->flow[FLOW_S].count = passes * ceil_div(f->part_blocks, plan->store_blocks);
	f->flow[FLOW_R].count = problem->residual ? f->flow[FLOW_S].count : 0;
	f->flow[FLOW_W].channel = 1;
}

static void size_flow(struct flow *flow, uint32_t argument, const uint32_t dims[3],
		      const int64_t strides[3], enum npu_dtype dtype)
{
	flow->dram = argument != STREAM_ARGUMENT_GLOBAL;
	flow->bytes = (uint64_t)dims[0] * dims[1] * dims[2] * NPU_DTYPE_BYTES(dtype);
	flow->bursts = burst_estimate(dims, strides, NPU_DTYPE_BYTES(dtype));
}

static void size_flows(const struct mac_problem *problem, const struct mac_plan *plan,
		       struct figures *f)
{
	uint32_t tile[3] = {
		mac_input(problem, MAC_Y, plan->tile[MAC_Y] / 2, plan->tile[MAC_Y]).count,
		mac_input(problem, MAC_X, 0, plan->tile[MAC_X]).count,
		plan->split == MAC_BY_PIECE ? plan->piece_depth : problem->depth,
	};
	uint32_t pass[3] = {
		plan->pass[MAC_Y],
		plan->pass[MAC_X],
		(uint32_t)least((uint64_t)plan->store_blocks * plan->block_channels,
				problem->channels),
	};
	uint64_t blocks = plan->split == MAC_WHOLE ? least(plan->group_blocks, f->part_blocks) : 1;
	uint32_t matrix[3] = {
		1,
		(uint32_t)least(blocks * plan->block_channels, problem->channels),
		plan->piece_depth,
	};
	int64_t b_stride[3] = { 0, problem->b_stride_channel, problem->b_stride_depth };
	const struct mac_types *types = &problem->types;
	struct flow *w = &f->flow[FLOW_W];

	size_flow(&f->flow[FLOW_A], problem->a_argument, tile, problem->a_stride, types->activations);
	size_flow(&f->flow[FLOW_S], problem->o_argument, pass, problem->o_stride, types->output);
	size_flow(&f->flow[FLOW_R], problem->r_argument, pass, problem->r_stride, types->residual);
	f->flow[FLOW_A].layout = layout_mode(tile, problem->a_stride, MAC_C, types->activations);
	if (!problem->weights) {
		size_flow(w, problem->b_argument, matrix, b_stride, types->weights);
		w->layout = layout_mode(matrix, b_stride, MAC_C, types->weights);
		return;
	}
	w->dram = problem->w_argument != STREAM_ARGUMENT_GLOBAL;
	w->bytes = plan->split == MAC_WHOLE ? blocks * plan->block_bytes :
					      plan->block_bytes / plan->chunk_count;
	w->bursts = ceil_div(w->bytes, ALIGN);
}

/* -------------------------------------------------------------------------- cost */
static uint64_t mac_work(const struct npu_config *config, const struct mac_problem *problem,
			 const struct mac_plan *plan, uint64_t positions,
			 const struct mac_chunk *chunk)
{
	switch (plan->shape) {
	case NPU_MAC_SHAPE_M:
		return positions * chunk->steps;
	case NPU_MAC_SHAPE_S:
		return ceil_div(positions, 4) * chunk->steps;
	default:
		return ceil_div(positions,
				npu_config_mac_depth(config, problem->types.activations)) *
		       chunk->steps;
	}
}

static uint64_t out_cycles(const struct npu_config *config, const struct mac_problem *problem,
			   const struct mac_plan *plan, uint64_t positions)
{
	uint64_t channels = least(plan->block_channels, problem->channels);

	return config->out_overhead +
	       ceil_div(positions * channels,
			config->out_results / NPU_DTYPE_BYTES(problem->types.output));
}

/*
 * A pass takes its accumulators when the output stage is done with the pass before
 * the last, and only then loads its weights.
 */
uint64_t mac_step_cycles(const struct npu_config *config, const struct mac_problem *problem,
			 const struct mac_plan *plan, uint64_t positions, uint32_t chunk)
{
	uint64_t out = chunk ? 0 : config->mac_tail + out_cycles(config, problem, plan, positions);

	return most(mac_work(config, problem, plan, positions, &plan->chunks[chunk]),
		    weight_load(config, &plan->chunks[chunk]) + out);
}

struct cost {
	const struct npu_config *config;
	const struct mac_problem *problem;
	const struct mac_plan *plan;
	struct figures f;
	uint64_t burst;
	uint64_t span; /* cycles the DRAM's traffic is spread over; 0: not yet known */
};

/* Work of one transfer that has the device to itself. */
static uint64_t alone(const struct cost *cost, const struct flow *flow)
{
	const struct npu_config *config = cost->config;
	uint64_t rate = flow->layout ? config->dma_layout_bytes : config->dma_bytes;

	if (!flow->dram)
		return ceil_div(flow->bytes, least(rate, config->global_port_bytes));
	return most(ceil_div(flow->bytes, rate), cost->burst * flow->bursts);
}

/* What a transfer keeps its channel for: a descriptor's latency shows each time. */
static uint64_t transfer(const struct cost *cost, const struct flow *flow)
{
	return alone(cost, flow) + (flow->dram ? cost->config->dram_latency : 0);
}

/* What other flows take of the DRAM's time, in 1/1024. */
static uint64_t taken(const struct cost *cost, const struct flow *flow)
{
	uint64_t own = flow->count * flow->streams * flow->bursts * cost->burst;

	if (!cost->span)
		return 0;
	return least((cost->f.dram - least(own, cost->f.dram)) * 1024 / cost->span, 900);
}

/* From issue to data while all streams of the kind load and others take their share. */
static uint64_t crowded(const struct cost *cost, const struct flow *flow, uint64_t streams)
{
	uint64_t shared =
		flow->dram ?
			cost->burst * flow->bursts * streams * 1024 / (1024 - taken(cost, flow)) :
			ceil_div(flow->bytes * streams, cost->config->global_sram_bytes);

	return cost->config->dma_descriptor + (flow->dram ? cost->config->dram_latency : 0) +
	       most(alone(cost, flow), shared);
}

static void count_engines(struct cost *cost)
{
	const struct mac_plan *plan = cost->plan;
	struct figures *f = &cost->f;
	uint64_t passes = most(f->part_tiles * f->tile_passes, 1);
	uint64_t positions = ceil_div(f->part_positions, passes);
	uint32_t i;

	for (i = 0; i < plan->chunk_count; i++)
		f->mac += mac_step_cycles(cost->config, cost->problem, plan, positions, i);
	f->mac *= passes * f->part_blocks;
	f->out = passes * f->part_blocks *
		 out_cycles(cost->config, cost->problem, plan, positions);
}

/*
 * Time the front end needs to get its code: instructions with the descriptors they
 * change. Interior tiles repeat windows and slots, so most are in registers already.
 */
static void count_code(struct cost *cost)
{
	const struct npu_config *config = cost->config;
	const struct mac_plan *plan = cost->plan;
	struct figures *f = &cost->f;
	uint64_t passes = f->part_tiles * f->tile_passes * f->part_blocks;
	uint64_t macs = plan->chunk_count * passes * (plan->chunk_count > 1 ? 4 : 2);
	uint64_t transfers = f->flow[FLOW_A].count + f->flow[FLOW_W].count + f->flow[FLOW_S].count +
			     f->flow[FLOW_R].count;
	uint64_t blocks = ceil_div((macs + 2 * passes + 3 * transfers) * NPU_INSN_BYTES,
				   config->fetch_block_bytes);
	uint64_t bursts = config->fetch_block_bytes / ALIGN;

	f->front = blocks * (config->dram_latency + bursts * cost->burst);
	f->dram += f->clusters * blocks * bursts * cost->burst;
}

static void count_memory(struct cost *cost, struct mac_plan *plan)
{
	struct figures *f = &cost->f;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < FLOW_COUNT; i++) {
		const struct flow *flow = &f->flow[i];
		uint64_t all = flow->count * flow->streams;

		f->dram += flow->dram ? all * flow->bursts * cost->burst : 0;
		bytes += flow->dram ? 0 : all * flow->bytes;
	}
	f->global = ceil_div(bytes, cost->config->global_sram_bytes);
	plan->dram_bytes = f->dram / cost->burst * ALIGN;
	count_code(cost);
}

/*
 * Stores share a channel with loads and wait behind them: with the weights' only where
 * these are all there soon.
 */
static void choose_store_channel(struct cost *cost, struct mac_plan *plan)
{
	const struct flow *w = &cost->f.flow[FLOW_W];
	uint64_t weights = w->count * most(transfer(cost, w),
					   w->dram ? cost->burst * w->bursts * w->streams : 0);

	plan->store_channel = w->count <= plan->w_slots && weights * 8 < cost->f.mac ? 1 : 0;
	cost->f.flow[FLOW_S].channel = plan->store_channel;
}

/*
 * Stores that stand before a load in its channel: they wait for the output stage, and the load
 * waits for them.
 */
static uint64_t stores_before(const struct cost *cost, const struct flow *flow)
{
	const struct flow *store = &cost->f.flow[FLOW_S];
	uint64_t each;

	if (store->channel != flow->channel)
		return 0;
	each = crowded(cost, store, store->streams) + cost->config->mac_tail +
	       cost->f.out /
		       most(cost->f.part_tiles * cost->f.tile_passes * cost->f.part_blocks, 1);
	return each * least(store->count, flow->count * cost->plan->s_slots) / most(flow->count, 1);
}

/* Loads that are not hidden behind @compute by their ring's slots. */
static uint64_t exposed(const struct cost *cost, const struct flow *flow, uint64_t slots,
			uint64_t compute)
{
	/*
	 * A slot is free when the array's tail is over, for all who share it when the slowest
	 * is there; and the array takes its weights in only when it has all tokens.
	 */
	uint64_t time = crowded(cost, flow, flow->streams) + stores_before(cost, flow) +
			weight_load(cost->config, &cost->plan->chunks[0]) + cost->config->mac_tail +
			(flow->streams < cost->f.clusters ? SHARING_MARGIN : 0);
	uint64_t hidden;

	if (flow->count <= slots)
		return 0;
	hidden = (slots - 1) * compute / flow->count;
	return (flow->count - slots) * (time - least(time, hidden));
}

/*
 * While a tile's activations come in, weights get their share of the DRAM only: what they
 * fall behind in that time, beyond what their buffers hold.
 */
static uint64_t behind(const struct cost *cost, uint64_t compute)
{
	const struct flow *a = &cost->f.flow[FLOW_A], *w = &cost->f.flow[FLOW_W];
	uint64_t tile, load, wanted, lost;

	if (cost->f.w_kept || a->count < 2 || a->dram != w->dram)
		return 0;
	tile = crowded(cost, a, a->streams + w->streams);
	load = crowded(cost, w, a->streams + w->streams);
	wanted = most(compute / w->count, 1);
	if (load <= wanted)
		return 0;
	tile = least(tile, compute / a->count);
	lost = tile - tile * wanted / load;
	return (a->count - 1) * (lost - least(lost, (cost->plan->w_slots - 1) * wanted));
}

/* The first tile takes its weights as they come, those of the whole sweep. */
static uint64_t first_sweep(const struct cost *cost, uint64_t compute)
{
	const struct flow *w = &cost->f.flow[FLOW_W];
	uint64_t loads = w->count / cost->f.runs, time;

	if (!cost->f.w_kept || cost->plan->weights_outer || loads < 2)
		return 0;
	time = (loads - 1) *
	       most(transfer(cost, w), w->dram ? cost->burst * w->bursts * w->streams : 0);
	return cost->f.runs * (time - least(time, compute / cost->f.part_tiles));
}

/* Three tokens at once (sums, activations, weights) take a SYNC: no look-ahead, L shows. */
static uint64_t syncs(const struct cost *cost)
{
	const struct figures *f = &cost->f;

	if (f->w_kept && !cost->plan->weights_outer)
		return 0;
	return least(f->flow[FLOW_A].count, f->flow[FLOW_W].count) * 2 *
	       (1 + weight_load(cost->config, &cost->plan->chunks[0]));
}

static uint64_t total(struct cost *cost, uint32_t *prefetch_channel)
{
	const struct figures *f = &cost->f;
	const struct flow *a = &f->flow[FLOW_A], *w = &f->flow[FLOW_W], *s = &f->flow[FLOW_S];
	uint64_t compute = most(f->mac, f->out), stall, body, dma[2] = { 0, 0 }, start;
	unsigned int i;

	cost->span = most(most(compute, f->dram), 1);
	stall = exposed(cost, a, cost->plan->a_slots, compute) +
		exposed(cost, w, cost->plan->w_slots, compute) + behind(cost, compute) +
		first_sweep(cost, compute) + syncs(cost);
	if (cost->plan->s_slots == 1)
		stall += s->count * crowded(cost, s, s->streams);
	for (i = 0; i < FLOW_COUNT; i++)
		dma[f->flow[i].channel] += f->flow[i].count * transfer(cost, &f->flow[i]);
	*prefetch_channel = dma[0] <= dma[1] ? 0 : 1;
	body = most(most(compute + stall, f->front), most(f->dram, f->global));
	body = most(body, most(dma[0], dma[1]));
	cost->span = 0;
	start = most(crowded(cost, a,
			     a->streams + (a->dram && w->dram ?
						   w->streams * w->bursts / most(a->bursts, 1) :
						   0)),
		     crowded(cost, w, w->streams));
	return cost->config->dispatch_cycles + start + body + cost->config->mac_tail +
	       f->out / most(f->part_tiles * f->tile_passes * f->part_blocks, 1) +
	       crowded(cost, s, s->streams);
}

bool mac_cost(const struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan,
	      uint32_t local_free)
{
	struct cost cost = {
		.config = lower->config,
		.problem = problem,
		.plan = plan,
		.burst = npu_config_burst_cycles(lower->config),
	};

	if (!size_slots(lower, problem, plan, local_free))
		return false;
	count_parts(problem, plan, &cost.f);
	if (cost.f.part_tiles * cost.f.tile_passes >
	    MAC_STEPS_MAX / plan->chunk_count / cost.f.part_blocks)
		return false;
	count_transfers(problem, plan, &cost.f);
	size_flows(problem, plan, &cost.f);
	count_engines(&cost);
	count_memory(&cost, plan);
	choose_store_channel(&cost, plan);
	plan->array_cycles = cost.f.mac;
	plan->cycles = total(&cost, &plan->prefetch_channel);
	return true;
}
