// SPDX-License-Identifier: MIT
/* The search: every sensible split, tile, loop order and ring size, by predicted cycles. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mac_cost.h"

#define CHUNKS_MAX 4096u
#define DIVISORS_MAX 24u
#define KEEP_MAX 12u /* loads kept at once: tokens count to 15 */
#define WEIGHT_SLOTS 5u /* weights are many small loads: their latency wants several */
#define STORE_SMALL (16u << 10)
#define STORE_LARGE (64u << 10)
#define EXTENT_MAX 16384u /* rows or columns of a tile: origins have 16 bits */
#define TILES_MAX (1ull << 24) /* of an instance */

struct search {
	const struct lower *lower;
	const struct mac_problem *problem;
	struct mac_chunk chunks[CHUNKS_MAX];
	uint32_t local_free;
	uint32_t positions_max; /* of a pass */
	struct mac_plan best;
	bool found;
	uint64_t tried;
};

void mac_blocks(const struct mac_plan *plan, uint32_t part, uint32_t *first, uint32_t *count)
{
	uint64_t blocks = plan->blocks;

	*first = (uint32_t)(blocks * part / plan->parts_channel);
	*count = (uint32_t)(blocks * (part + 1) / plan->parts_channel) - *first;
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return a / b + (a % b != 0);
}

static bool better(const struct mac_plan *a, const struct mac_plan *b)
{
	if (a->cycles != b->cycles)
		return a->cycles < b->cycles;
	if (a->dram_bytes != b->dram_bytes)
		return a->dram_bytes < b->dram_bytes;
	return a->local_bytes < b->local_bytes;
}

static void try_plan(struct search *search, struct mac_plan *plan)
{
	search->tried++;
	if (!mac_cost(search->lower, search->problem, plan, search->local_free))
		return;
	if (!search->found || better(plan, &search->best)) {
		search->best = *plan;
		search->found = true;
	}
}

static void try_slots(struct search *search, struct mac_plan *plan)
{
	uint32_t blocks = ceil_div(plan->blocks, plan->parts_channel);
	uint32_t kept = plan->split == MAC_WHOLE ? ceil_div(blocks, plan->group_blocks) :
						   blocks * plan->chunk_count;
	uint32_t stages = search->lower->pipeline_stages, a, w;

	if (stages == 1) {
		plan->a_slots = plan->w_slots = plan->s_slots = 1;
		try_plan(search, plan);
		return;
	}
	plan->s_slots = 2;
	for (a = 1; a <= (stages < 3 ? 2 : 3); a++) {
		for (w = 1; w <= WEIGHT_SLOTS; w++) {
			plan->a_slots = a;
			plan->w_slots = w;
			try_plan(search, plan);
		}
		if (kept < 3 || kept > KEEP_MAX)
			continue;
		plan->w_slots = kept;
		try_plan(search, plan);
	}
}

static uint32_t store_blocks(const struct mac_plan *plan, uint32_t element, uint32_t most,
			     uint64_t bytes)
{
	uint64_t block = (uint64_t)plan->pass[0] * plan->pass[1] * plan->block_channels * element;
	uint32_t blocks = 1;

	/* Results by channel are one run a channel: more of them together gain nothing. */
	if (plan->store_by_channel)
		return 1;
	if (block * most <= bytes)
		return most;
	while (blocks < most / 2 && block * blocks * 2 <= bytes)
		blocks *= 2;
	return blocks;
}

static void try_stores(struct search *search, struct mac_plan *plan, uint32_t most)
{
	uint32_t element = NPU_DTYPE_BYTES(search->problem->types.output);
	uint32_t small = store_blocks(plan, element, most, STORE_SMALL);
	uint32_t large = store_blocks(plan, element, most, STORE_LARGE);

	plan->store_blocks = small;
	try_slots(search, plan);
	if (large == small)
		return;
	plan->store_blocks = large;
	try_slots(search, plan);
}

static void try_groups(struct search *search, struct mac_plan *plan)
{
	uint32_t blocks = ceil_div(plan->blocks, plan->parts_channel), group;
	int outer;

	if (plan->split != MAC_WHOLE) {
		plan->group_blocks = 1;
		plan->weights_outer = false;
		try_stores(search, plan, blocks);
		return;
	}
	for (group = 1;; group *= 2) {
		plan->group_blocks = group < blocks ? group : blocks;
		for (outer = 0; outer < 2; outer++) {
			plan->weights_outer = outer;
			try_stores(search, plan, plan->group_blocks);
		}
		if (group >= blocks)
			break;
	}
}

static void try_clusters(struct search *search, struct mac_plan *plan)
{
	uint32_t clusters = search->lower->clusters, parts;

	for (parts = 1; parts <= clusters; parts++) {
		if (clusters % parts || (parts > 1 && parts > plan->blocks))
			continue;
		plan->parts_channel = parts;
		plan->parts_space = clusters / parts;
		try_groups(search, plan);
	}
}

static bool set_tile(struct search *search, struct mac_plan *plan, uint32_t rows, uint32_t columns)
{
	const struct lower *lower = search->lower;
	uint32_t most = search->positions_max;
	uint64_t positions = (uint64_t)rows * columns;

	if (lower->tile_min && positions < lower->tile_min &&
	    (rows < search->problem->out_height || columns < search->problem->out_width))
		return false;
	if (lower->tile_max && positions > lower->tile_max && positions > 1)
		return false;
	if (mac_input(search->problem, MAC_Y, 0, rows).count > EXTENT_MAX ||
	    mac_input(search->problem, MAC_X, 0, columns).count > EXTENT_MAX)
		return false;
	plan->tile[MAC_Y] = rows;
	plan->tile[MAC_X] = columns;
	plan->tiles[MAC_Y] = ceil_div(search->problem->out_height, rows);
	plan->tiles[MAC_X] = ceil_div(search->problem->out_width, columns);
	if ((uint64_t)plan->tiles[MAC_Y] * plan->tiles[MAC_X] > TILES_MAX)
		return false;
	if (columns <= most) {
		uint32_t fit = most / columns < rows ? most / columns : rows;

		plan->pass[MAC_X] = columns;
		plan->pass[MAC_Y] = ceil_div(rows, ceil_div(rows, fit));
	} else {
		plan->pass[MAC_Y] = 1;
		plan->pass[MAC_X] = ceil_div(columns, ceil_div(columns, most));
	}
	/* Activations that come by piece stay for one pass only. */
	return plan->split != MAC_BY_PIECE ||
	       (plan->pass[MAC_Y] == rows && plan->pass[MAC_X] == columns);
}

/* Sizes that cut @extent into 1, 2, 3, 4, 6, 8, 12, 16, ... equal parts, largest first. */
static uint32_t divisions(uint32_t extent, uint32_t sizes[DIVISORS_MAX])
{
	uint32_t count = 0, parts, size, last = 0;

	for (parts = 1; count < DIVISORS_MAX; parts = parts & (parts - 1) ? parts / 3 * 4 :
						      parts > 1		  ? parts / 2 * 3 :
									    2) {
		size = ceil_div(extent, parts);
		if (size != last)
			sizes[count++] = size;
		last = size;
		if (size <= 1)
			break;
	}
	return count;
}

static void try_tiles(struct search *search, struct mac_plan *plan)
{
	const struct mac_problem *problem = search->problem;
	uint32_t rows[DIVISORS_MAX], columns[DIVISORS_MAX];
	uint32_t row_count = divisions(problem->out_height, rows);
	uint32_t column_count = divisions(problem->out_width, columns);
	uint32_t y, x;

	for (x = 0; x < column_count; x++) {
		/* Narrow tiles read their borders twice: only where whole rows do not do. */
		if (problem->out_height > 1 && search->found && x &&
		    columns[x] < search->positions_max / 4)
			break;
		for (y = 0; y < row_count; y++)
			if (set_tile(search, plan, rows[y], columns[x]))
				try_clusters(search, plan);
	}
}

static void set_shape(const struct search *search, struct mac_plan *plan, uint8_t shape)
{
	const struct npu_config *config = search->lower->config;
	uint32_t depth = npu_config_mac_depth(config, search->problem->types.activations);

	*plan = (struct mac_plan){ .shape = shape, .piece_depth = search->problem->depth };
	plan->block_channels = config->mac_channels;
	plan->step_depth = depth;
	if (shape == NPU_MAC_SHAPE_S) {
		plan->block_channels = config->mac_channels / 2;
		plan->step_depth = depth / 2;
	}
	plan->blocks = ceil_div(search->problem->channels, plan->block_channels);
}

/* Array cycles a position, times four. */
static uint64_t shape_cost(const struct search *search, uint8_t shape)
{
	const struct mac_problem *problem = search->problem;
	uint64_t lanes = (uint64_t)problem->kernel[0] * problem->kernel[1] * problem->depth;
	struct mac_plan plan;

	set_shape(search, &plan, shape);
	if (!plan.step_depth || !plan.block_channels)
		return UINT64_MAX;
	return plan.blocks * ((lanes + plan.step_depth - 1) / plan.step_depth) *
	       (shape == NPU_MAC_SHAPE_S ? 1 : 4);
}

static void choose_order(const struct search *search, struct mac_plan *plan)
{
	const struct mac_problem *problem = search->problem;
	int64_t channel = llabs(problem->o_stride[MAC_C]);
	bool below_x = problem->out_width == 1 || channel < llabs(problem->o_stride[MAC_X]);
	bool below_y = problem->out_height == 1 || channel < llabs(problem->o_stride[MAC_Y]);

	plan->store_by_channel = problem->channels > 1 && !(below_x && below_y);
}

static void try_split(struct search *search, struct mac_plan *plan, enum mac_split split,
		      uint32_t kernel_split, uint32_t piece_depth)
{
	plan->split = split;
	plan->kernel_split = kernel_split;
	plan->piece_depth = piece_depth;
	if (piece_depth > UINT16_MAX ||
	    (split != MAC_BY_PIECE && search->problem->depth > UINT16_MAX))
		return;
	if (mac_chunks(search->problem, plan, search->chunks, CHUNKS_MAX))
		try_tiles(search, plan);
}

static void try_splits(struct search *search, struct mac_plan *plan)
{
	const struct mac_problem *problem = search->problem;
	uint32_t depth = problem->depth, piece, kernel;

	try_split(search, plan, MAC_WHOLE, 0, depth);
	if (problem->depthwise ||
	    (search->found && search->best.block_bytes <= search->local_free / 32))
		return;
	for (kernel = 0; kernel < (problem->weights ? 3u : 1u); kernel++) {
		for (piece = depth;;
		     piece = ceil_div(piece / 2, plan->step_depth) * plan->step_depth) {
			if (kernel || piece < depth)
				try_split(search, plan, MAC_BY_CHUNK, kernel, piece);
			if (piece < depth)
				try_split(search, plan, MAC_BY_PIECE, kernel, piece);
			if (piece <= plan->step_depth)
				break;
		}
	}
}

static int refuse(struct lower *lower, const struct mac_problem *problem)
{
	return diag_error(
		lower->diag,
		"node '%s' (%s): no tiling of fewer than %u passes fits %u bytes of local SRAM (%ux%u window over %u channels); use smaller shapes, raise --max-sram-bytes or take a target with more local SRAM",
		problem->node->name, problem->node->op_type, MAC_STEPS_MAX,
		lower_local_free(lower, 0), problem->kernel[MAC_Y], problem->kernel[MAC_X],
		problem->depth);
}

static void log_plan(const struct lower *lower, const struct mac_problem *problem,
		     const struct mac_plan *plan, uint64_t tried)
{
	static const char shapes[] = "MSV";
	static const char *const splits[] = { "whole", "by chunk", "by piece" };

	if (!lower->log)
		return;
	fprintf(lower->log,
		"%s: shape %c, %u x %u clusters (space x channels), tile %ux%u in passes of %ux%u, weights %s (%u chunks) in groups of %u blocks, %s outside, slots a%u w%u s%u, stores of %u blocks %s, %u bytes local, %" PRIu64
		" cycles, %" PRIu64 " DRAM bytes, best of %" PRIu64 "\n",
		problem->node->name, shapes[plan->shape], plan->parts_space, plan->parts_channel,
		plan->tile[MAC_Y], plan->tile[MAC_X], plan->pass[MAC_Y], plan->pass[MAC_X],
		splits[plan->split], plan->chunk_count, plan->group_blocks,
		plan->weights_outer ? "weights" : "tiles", plan->a_slots, plan->w_slots,
		plan->s_slots, plan->store_blocks,
		plan->store_by_channel ? "by channel" : "by position", plan->local_bytes,
		plan->cycles, plan->dram_bytes, tried);
}

static bool search_shape(struct search *search)
{
	uint8_t shape = NPU_MAC_SHAPE_M;
	struct mac_plan plan;

	if (search->problem->depthwise)
		shape = NPU_MAC_SHAPE_V;
	else if (shape_cost(search, NPU_MAC_SHAPE_S) < shape_cost(search, NPU_MAC_SHAPE_M))
		shape = NPU_MAC_SHAPE_S;
	set_shape(search, &plan, shape);
	choose_order(search, &plan);
	try_splits(search, &plan);
	return search->found;
}

static bool search_plan(struct lower *lower, const struct mac_problem *problem,
			struct mac_plan *plan, uint64_t *tried)
{
	struct search *search = calloc(1, sizeof(*search));
	bool found = false;

	if (!search)
		return false;
	search->lower = lower;
	search->problem = problem;
	search->local_free = lower_local_free(lower, 0);
	search->positions_max = npu_config_acc_positions(lower->config, 4);
	if (search_shape(search)) {
		*plan = search->best;
		mac_chunks(problem, plan, search->chunks, CHUNKS_MAX);
		plan->chunks = arena_copy(lower->arena, search->chunks,
					  plan->chunk_count * sizeof(*plan->chunks));
		found = plan->chunks != NULL;
	}
	*tried = search->tried;
	free(search);
	return found;
}

bool mac_search(struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan)
{
	uint64_t tried;

	return search_plan(lower, problem, plan, &tried);
}

int mac_plan(struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan)
{
	uint64_t tried;

	if (!search_plan(lower, problem, plan, &tried))
		return refuse(lower, problem);
	log_plan(lower, problem, plan, tried);
	return 0;
}
