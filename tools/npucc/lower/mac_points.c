// SPDX-License-Identifier: MIT
/*
 * Points inside a layer of the MAC array: between the blocks of channels, where no sum is in the
 * accumulators. What was loaded and is still to be used is loaded again by a task that comes
 * back; of results only those are saved that wait for others to be stored together.
 */
#include <stdlib.h>
#include <string.h>

#include "mac_emitter.h"

/* So far apart that the prediction may be off by some and the way is still 5,000 cycles. */
#define POINT_CYCLES 3000u

/* Places tried for one point. */
#define TRIES 8u

struct cut {
	uint32_t step;		/* the point stands before it */
	uint32_t a, w, r;	/* loads issued until there */
};

/* Of a ring's loads, those that are issued, begun and no longer used before a step. */
struct counts {
	uint32_t issued, begun, ended;
};

/* A cluster's steps, gone through once. */
struct way {
	struct counts *a, *w, *r;	/* before each step, and behind the last one */
	uint64_t work;			/* of all steps */
	uint32_t step;			/* come to so far */
	uint64_t done;			/* before it */
};

/* Positions times depth steps of a step, what the array takes. */
static uint64_t work_of(const struct emitter *e, const struct step *step)
{
	const struct place *place = &e->places[step->place];
	uint64_t work = e->plan->chunks[step->chunk].steps;
	unsigned int axis;

	for (axis = 0; axis < 2; axis++) {
		uint32_t left = place->count[axis] - step->pass[axis];

		work *= left < e->plan->pass[axis] ? left : e->plan->pass[axis];
	}
	return work;
}

static uint64_t all_work(const struct emitter *e)
{
	uint64_t work = 0;
	uint32_t i;

	for (i = 0; i < e->step_count; i++)
		work += work_of(e, &e->steps[i]);
	return work;
}

/* Between steps that make a result, where what waits in a store slot is little enough to be saved. */
static bool may_leave_before(const struct emitter *e, uint32_t step)
{
	const struct step *before = step ? &e->steps[step - 1] : NULL;

	return !before || (before->last_chunk && (before->last_stored ||
						  e->plan->s_bytes <= NPU_POINT_BYTES_MAX));
}

/* The first step, from where the way has come to, before which a point may stand with @work done. */
static uint32_t go_on(const struct emitter *e, struct way *way, uint64_t work)
{
	while (way->step < e->step_count &&
	       (way->done < work || !may_leave_before(e, way->step)))
		way->done += work_of(e, &e->steps[way->step++]);
	return way->step;
}

static struct counts *count_loads(const struct loads *loads, uint32_t steps)
{
	struct counts *before = calloc(steps + 1ull, sizeof(*before));
	uint32_t issued = 0, begun = 0, i;

	if (!before)
		return NULL;
	for (i = 0; i < loads->count; i++)
		before[loads->list[i].last_step + 1].ended++;
	for (i = 0; i < steps; i++) {
		while (mac_may_issue(loads, issued, i))
			issued++;
		while (begun < loads->count && loads->list[begun].first_step <= i)
			begun++;
		before[i + 1].issued = issued;
		before[i + 1].begun = begun;
		before[i + 1].ended += before[i].ended;
	}
	return before;
}

static bool open_way(struct way *way, const struct emitter *e)
{
	way->work = all_work(e);
	way->a = count_loads(&e->a, e->step_count);
	way->w = count_loads(&e->w, e->step_count);
	way->r = count_loads(&e->r, e->step_count);
	return way->a && way->w && way->r;
}

static void close_ways(struct way *ways, uint32_t clusters)
{
	uint32_t i;

	for (i = 0; ways && i < clusters; i++) {
		free(ways[i].a);
		free(ways[i].w);
		free(ways[i].r);
	}
	free(ways);
}

/*
 * What the leader of a shared ring has issued is enough for each member to come to the point, and
 * no more than each has let go of slots for: or they would wait for each other.
 */
static bool shared_fits(const struct loads *loads, const struct counts *before, uint32_t issued)
{
	return before->begun <= issued && issued <= before->ended + loads->ring.slots;
}

/* The cluster that issues the loads. */
static uint32_t leader_of(const struct loads *loads, uint32_t cluster)
{
	return loads->sharing.members > 1 ? (uint32_t)__builtin_ctz(loads->sharing.mask) : cluster;
}

/* Fills in what is issued. False when the clusters could not all come to the point. */
static bool complete(const struct emitter *emitters, uint32_t clusters, const struct way *ways,
		     struct cut *cuts)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		const struct emitter *e = &emitters[i];
		uint32_t a = leader_of(&e->a, i), w = leader_of(&e->w, i);
		struct cut *cut = &cuts[i];

		if (!e->step_count)
			continue;
		cut->a = ways[a].a[cuts[a].step].issued;
		cut->w = ways[w].w[cuts[w].step].issued;
		cut->r = ways[i].r[cut->step].issued;
		if (!shared_fits(&e->a, &ways[i].a[cut->step], cut->a) ||
		    !shared_fits(&e->w, &ways[i].w[cut->step], cut->w))
			return false;
	}
	return true;
}

/* Behind the point before it and before the end, in every cluster that has steps. */
static bool go_on_together(const struct emitter *emitters, uint32_t clusters, struct way *ways,
			   uint32_t part, struct cut *cuts)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		const struct emitter *e = &emitters[i];
		uint32_t last = e->point_count ? e->cuts[e->point_count - 1].step : 0;

		if (!e->step_count)
			continue;
		cuts[i].step = go_on(e, &ways[i], ways[i].work * part / POINTS_WHOLE);
		if (cuts[i].step <= last || cuts[i].step == e->step_count)
			return false;
	}
	return true;
}

static bool try_point(struct emitter *emitters, uint32_t clusters, struct way *ways, uint32_t part)
{
	struct cut cuts[NPU_PROGRAM_CLUSTERS_MAX] = { 0 };
	uint32_t i;

	if (!go_on_together(emitters, clusters, ways, part, cuts) ||
	    !complete(emitters, clusters, ways, cuts))
		return false;
	for (i = 0; i < clusters; i++)
		emitters[i].cuts[emitters[i].point_count++] = cuts[i];
	return true;
}

/* The point @index of @wanted, at one of the places that are its. */
static void place_point(struct emitter *emitters, uint32_t clusters, struct way *ways,
			uint32_t index, uint32_t wanted)
{
	uint32_t point, try;

	for (try = 0; try < TRIES; try++) {
		uint32_t part = (uint32_t)(((uint64_t)index * TRIES + try) * POINTS_WHOLE /
					   ((wanted + 1ull) * TRIES));

		if (!try_point(emitters, clusters, ways, part))
			continue;
		point = points_add(emitters[0].lower->points, part);
		if (emitters[0].point_count == 1)
			emitters[0].first_point = point;
		return;
	}
}

static bool open_ways(struct emitter *emitters, uint32_t clusters, struct way *ways, uint32_t wanted)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		emitters[i].cuts = calloc(wanted, sizeof(struct cut));
		if (!emitters[i].cuts || !open_way(&ways[i], &emitters[i]))
			return false;
	}
	return true;
}

int mac_place_points(struct emitter *emitters, uint32_t clusters)
{
	uint32_t wanted = (uint32_t)(emitters[0].plan->cycles / POINT_CYCLES), i;
	const struct lower *lower = emitters[0].lower;
	struct way *ways;
	int result = -1;

	if (!wanted)
		return 0;
	ways = calloc(clusters, sizeof(*ways));
	if (ways && open_ways(emitters, clusters, ways, wanted)) {
		for (i = 1; i <= wanted; i++)
			place_point(emitters, clusters, ways, i, wanted);
		for (i = 1; i < clusters; i++)
			emitters[i].first_point = emitters[0].first_point;
		result = 0;
	}
	close_ways(ways, clusters);
	if (result)
		return diag_error(lower->diag, "node '%s' (%s): not enough memory for its points",
				  emitters[0].problem->node->name,
				  emitters[0].problem->node->op_type);
	if (lower->log)
		fprintf(lower->log, "%s: %u points inside of %u wanted\n",
			emitters[0].problem->node->name, emitters[0].point_count, wanted);
	return 0;
}

/* The part of a store slot that is filled and waits for the rest of its blocks. */
static void save_results(struct emitter *e, uint32_t point, uint32_t step)
{
	if (!step || e->steps[step - 1].last_stored)
		return;
	points_save(e->lower->points, point, e->cluster,
		    e->store.base + e->store.consumed % e->store.slots * e->store.slot_bytes,
		    e->plan->s_bytes);
}

/* A slot has the last load that went there: older ones are no longer used. */
static void load_again(struct emitter *e, uint32_t point, const struct loads *loads,
		       uint32_t issued, uint32_t step, mac_move_function *move)
{
	uint32_t slots = loads->ring.slots, i;

	for (i = issued > slots ? issued - slots : 0; i < issued; i++) {
		struct stream *resume;

		if (loads->list[i].last_step < step)
			continue;
		resume = points_resume(e->lower->points, point, e->cluster);
		if (resume)
			move(e, resume, &loads->list[i], mac_slot_address(loads, i), 0);
	}
}

static void emit_point(struct emitter *e, const struct cut *cut, uint32_t point)
{
	struct points *points = e->lower->points;

	if (cut->step && (e->plan->parameter_bytes || e->plan->table_bytes)) {
		struct stream *resume = points_resume(points, point, e->cluster);

		if (resume)
			mac_move_parameters(e, resume);
	}
	load_again(e, point, &e->a, cut->a, cut->step, mac_move_activations);
	load_again(e, point, &e->w, cut->w, cut->step, mac_move_weights);
	load_again(e, point, &e->r, cut->r, cut->step, mac_move_residual);
	save_results(e, point, cut->step);
	points_here(points, point, e->cluster, e->stream);
}

void mac_emit_points(struct emitter *e, uint32_t step)
{
	while (e->points_emitted < e->point_count && e->cuts[e->points_emitted].step <= step) {
		emit_point(e, &e->cuts[e->points_emitted], e->first_point + e->points_emitted);
		e->points_emitted++;
	}
}
