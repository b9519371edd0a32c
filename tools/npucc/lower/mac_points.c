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

/* The first step before which a point may stand, with @work of the cluster's done. */
/* Between steps that make a result, where what waits in a store slot is little enough to be saved. */
static bool may_leave_before(const struct emitter *e, uint32_t step)
{
	const struct step *before = step ? &e->steps[step - 1] : NULL;

	return !before || (before->last_chunk && (before->last_stored ||
						  e->plan->s_bytes <= NPU_POINT_BYTES_MAX));
}

static uint32_t find_step(const struct emitter *e, uint64_t work)
{
	uint64_t done = 0;
	uint32_t i;

	for (i = 0; i < e->step_count; i++) {
		if (done >= work && may_leave_before(e, i))
			return i;
		done += work_of(e, &e->steps[i]);
	}
	return e->step_count;
}

static uint32_t issued_before(const struct loads *loads, uint32_t step)
{
	uint32_t issued = 0, i;

	for (i = 0; i < step; i++)
		while (mac_may_issue(loads, issued, i))
			issued++;
	return issued;
}

static uint32_t begun_before(const struct loads *loads, uint32_t step)
{
	uint32_t count = 0;

	while (count < loads->count && loads->list[count].first_step < step)
		count++;
	return count;
}

static uint32_t ended_before(const struct loads *loads, uint32_t step)
{
	uint32_t count = 0, i;

	for (i = 0; i < loads->count; i++)
		count += loads->list[i].last_step < step;
	return count;
}

/*
 * What the leader of a shared ring has issued is enough for each member to come to the point, and
 * no more than each has let go of slots for: or they would wait for each other.
 */
static bool shared_fits(const struct loads *loads, uint32_t step, uint32_t issued)
{
	return begun_before(loads, step) <= issued &&
	       issued <= ended_before(loads, step) + loads->ring.slots;
}

static const struct emitter *leader_of(const struct emitter *emitters, const struct sharing *sharing)
{
	return &emitters[__builtin_ctz(sharing->mask)];
}

/* Fills in what is issued. False when the clusters could not all come to the point. */
static bool complete(const struct emitter *emitters, uint32_t clusters, struct cut *cuts)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		const struct emitter *e = &emitters[i], *leader = e;
		struct cut *cut = &cuts[i];

		if (!e->step_count)
			continue;
		if (e->a.sharing.members > 1)
			leader = leader_of(emitters, &e->a.sharing);
		cut->a = issued_before(&leader->a, cuts[leader->cluster].step);
		leader = e;
		if (e->w.sharing.members > 1)
			leader = leader_of(emitters, &e->w.sharing);
		cut->w = issued_before(&leader->w, cuts[leader->cluster].step);
		cut->r = issued_before(&e->r, cut->step);
		if (!shared_fits(&e->a, cut->step, cut->a) || !shared_fits(&e->w, cut->step, cut->w))
			return false;
	}
	return true;
}

static bool try_point(struct emitter *emitters, uint32_t clusters, const uint64_t *work,
		      uint32_t part)
{
	struct cut cuts[NPU_PROGRAM_CLUSTERS_MAX] = { 0 };
	bool further = true;
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		struct emitter *e = &emitters[i];

		cuts[i].step = find_step(e, work[i] * part / POINTS_WHOLE);
		if (e->point_count && e->step_count)
			further &= cuts[i].step > e->cuts[e->point_count - 1].step;
		else if (e->step_count)
			further &= cuts[i].step > 0;
		further &= !e->step_count || cuts[i].step < e->step_count;
	}
	if (!further || !complete(emitters, clusters, cuts))
		return false;
	for (i = 0; i < clusters; i++)
		emitters[i].cuts[emitters[i].point_count++] = cuts[i];
	return true;
}

int mac_place_points(struct emitter *emitters, uint32_t clusters)
{
	struct points *points = emitters[0].lower->points;
	uint32_t wanted = (uint32_t)(emitters[0].plan->cycles / POINT_CYCLES), i, try;
	uint64_t work[NPU_PROGRAM_CLUSTERS_MAX];

	for (i = 0; i < clusters; i++) {
		work[i] = all_work(&emitters[i]);
		emitters[i].cuts = calloc(wanted + 1ull, sizeof(struct cut));
		if (!emitters[i].cuts)
			return -1;
	}
	for (i = 1; i <= wanted; i++) {
		for (try = 0; try < TRIES; try++) {
			uint32_t part = (uint32_t)(((uint64_t)i * TRIES + try) * POINTS_WHOLE /
						   ((wanted + 1ull) * TRIES));
			uint32_t point;

			if (!try_point(emitters, clusters, work, part))
				continue;
			point = points_add(points, part);
			if (emitters[0].point_count == 1)
				emitters[0].first_point = point;
			break;
		}
	}
	if (emitters[0].lower->log && wanted)
		fprintf(emitters[0].lower->log, "%s: %u points inside of %u wanted\n",
			emitters[0].problem->node->name, emitters[0].point_count, wanted);
	for (i = 1; i < clusters; i++)
		emitters[i].first_point = emitters[0].first_point;
	return points_failed(points) ? -1 : 0;
}

/* The part of a store slot that is filled and waits for the rest of its blocks. */
static void save_results(struct emitter *e, uint32_t point, uint32_t step)
{
	uint32_t stored = 0, i;

	if (!step || e->steps[step - 1].last_stored)
		return;
	for (i = 0; i < step; i++)
		stored += e->steps[i].last_chunk && e->steps[i].last_stored;
	points_save(e->lower->points, point, e->cluster,
		    e->store.base + stored % e->store.slots * e->store.slot_bytes,
		    e->plan->s_bytes);
}

static void load_again(struct emitter *e, uint32_t point, const struct loads *loads,
		       uint32_t issued, uint32_t step, mac_move_function *move)
{
	uint32_t i;

	for (i = 0; i < issued; i++) {
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
