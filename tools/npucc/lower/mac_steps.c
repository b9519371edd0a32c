// SPDX-License-Identifier: MIT
/* A cluster's work in order: places, MAC instructions, and the loads they use. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mac_emitter.h"

/* Lists and their indices have 32 bits. */
#define TILES_MAX ((uint32_t)(UINT32_MAX / sizeof(struct place)))

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

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
	uint32_t *a; /* by tile of the run */
	uint32_t *w; /* by group */
};

struct run {
	uint32_t first, count; /* places */
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
		for (step.pass[1] = 0; step.pass[1] < tile->count[1];
		     step.pass[1] += plan->pass[1]) {
			for (i = 0; i < blocks; i++) {
				step.block = block + i;
				step.first_stored = i % plan->store_blocks == 0;
				step.last_stored =
					i + 1 == blocks || (i + 1) % plan->store_blocks == 0;
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
		run->kept.w[group] =
			need_weights(e, place, e->first_block + block,
				     least(plan->group_blocks, e->blocks - block), UINT32_MAX);
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
			     (e->blocks + plan->group_blocks - 1) / plan->group_blocks :
			     1;
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

static int no_memory(const struct emitter *e)
{
	return diag_error(e->lower->diag, "node '%s' (%s): not enough memory for its steps",
			  e->problem->node->name, e->problem->node->op_type);
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

	if (end - first > TILES_MAX)
		return diag_error(e->lower->diag,
				  "node '%s' (%s): it is cut into %" PRIu64 " tiles a cluster, a layer may have %u; raise --max-sram-bytes, or make its input smaller",
				  e->problem->node->name, e->problem->node->op_type, end - first,
				  TILES_MAX);
	e->place_count = (uint32_t)(end - first);
	e->places = calloc(e->place_count + 1ull, sizeof(*e->places));
	if (!e->places)
		return no_memory(e);
	for (i = first; i < end; i++) {
		struct place *place = &e->places[i - first];

		place->instance = (uint32_t)(i / tiles);
		place->first[MAC_Y] = (uint32_t)(i % tiles / plan->tiles[1]) * plan->tile[MAC_Y];
		place->first[MAC_X] = (uint32_t)(i % plan->tiles[1]) * plan->tile[MAC_X];
		for (axis = 0; axis < 2; axis++)
			place->count[axis] =
				least(plan->tile[axis], out[axis] - place->first[axis]);
	}
	return 0;
}

int mac_list_steps(struct emitter *e)
{
	mac_blocks(e->plan, e->cluster % e->plan->parts_channel, &e->first_block, &e->blocks);
	if (add_places(e, e->cluster / e->plan->parts_channel))
		return -1;
	if (!e->place_count || !e->blocks)
		return 0;
	return add_runs(e) ? no_memory(e) : 0;
}

void mac_free_steps(struct emitter *e)
{
	free(e->places);
	free(e->steps);
	free(e->a.list);
	free(e->w.list);
	free(e->r.list);
	free(e->cuts);
}
