// SPDX-License-Identifier: MIT
/*
 * Points inside a layer of the MAC array: between blocks of channels, where no sum is in the
 * accumulators, or, where a block takes too long, between the chunks of one. What was loaded and is
 * still to be used is loaded again by a task that comes back; of results only sums are saved, and
 * those that wait for others to be stored together.
 */
#include <stdlib.h>
#include <string.h>

#include "mac_emitter.h"

/* So far apart that the prediction may be off by half and the way is still 5,000 cycles. */
#define POINT_CYCLES 2200u

/* Loads of a step: two rings of slots that tokens count. */
#define EARLY_MAX (2u * NPU_TOKEN_MAX)

/* Places tried for one point. */
#define TRIES 8u

struct cut {
	uint32_t step;		/* the point stands before it; 0: between its loads */
	uint32_t a, w, r;	/* loads issued until there */
};

/* Of a ring's loads, those that are issued, begun and no longer used before a step. */
struct counts {
	uint32_t issued, begun, ended;
};

/* A cluster's steps, gone through once. */
struct way {
	struct counts *a, *w, *r;	/* before each step, and behind the last one */
	uint64_t *time;			/* the same */
	uint32_t step;			/* come to so far */
};

/* In the middle of a block there are sums in the accumulators. */
static bool is_inside(const struct emitter *e, uint32_t step)
{
	return step && !e->steps[step - 1].last_chunk;
}

/* What they take, those of the one half that is in use. */
static uint32_t sum_bytes(const struct emitter *e)
{
	return e->plan->pass[0] * e->plan->pass[1] * e->lower->config->mac_channels *
	       (e->problem->types.sums == NPU_OUT_SUM_INT64 ? 8 : 4);
}

/* A store slot holds results that wait for those of more blocks. */
static bool holds_results(const struct emitter *e, uint32_t step)
{
	return step && !e->steps[step].first_stored;
}

static bool may_leave_before(const struct emitter *e, uint32_t step, bool inside)
{
	uint64_t bytes = 0;

	if (is_inside(e, step)) {
		if (!inside)
			return false;
		bytes += sum_bytes(e);
	}
	if (holds_results(e, step))
		bytes += e->plan->s_bytes;
	return bytes <= NPU_POINT_BYTES_MAX;
}

/* What of the layer is done before a step, in POINTS_WHOLE. */
static uint64_t part_before(const struct emitter *e, const struct way *way, uint32_t step)
{
	return way->time[step] * POINTS_WHOLE / way->time[e->step_count];
}

/* The first step, from where the way has come to, before which a point may stand with @part done. */
static uint32_t go_on(const struct emitter *e, struct way *way, uint32_t part, bool inside)
{
	while (way->step < e->step_count && (part_before(e, way, way->step) < part ||
					     !may_leave_before(e, way->step, inside)))
		way->step++;
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
	way->time = mac_pace(e);
	way->a = count_loads(&e->a, e->step_count);
	way->w = count_loads(&e->w, e->step_count);
	way->r = count_loads(&e->r, e->step_count);
	return way->time && way->a && way->w && way->r;
}

static void close_ways(struct way *ways, uint32_t clusters)
{
	uint32_t i;

	for (i = 0; ways && i < clusters; i++) {
		free(ways[i].time);
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

/* Where one point may stand. */
struct span {
	uint32_t from, to;		/* of the layer, in POINTS_WHOLE */
	bool inside;			/* blocks, too */
};

/*
 * Behind the point before it, before the span's end and the layer's, in every cluster that has
 * steps.
 */
static bool go_on_together(const struct emitter *emitters, uint32_t clusters, struct way *ways,
			   const struct span *span, struct cut *cuts)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		const struct emitter *e = &emitters[i];
		uint32_t last = e->point_count ? e->cuts[e->point_count - 1].step : 0;

		if (!e->step_count)
			continue;
		cuts[i].step = go_on(e, &ways[i], span->from, span->inside);
		if (cuts[i].step <= last || cuts[i].step == e->step_count ||
		    part_before(e, &ways[i], cuts[i].step) >= span->to)
			return false;
	}
	return true;
}

static bool try_point(struct emitter *emitters, uint32_t clusters, struct way *ways,
		      const struct span *span)
{
	struct cut cuts[NPU_PROGRAM_CLUSTERS_MAX] = { 0 };
	uint32_t i;

	if (!go_on_together(emitters, clusters, ways, span, cuts) ||
	    !complete(emitters, clusters, ways, cuts))
		return false;
	for (i = 0; i < clusters; i++)
		emitters[i].cuts[emitters[i].point_count++] = cuts[i];
	return true;
}

/* At one of the places of the span, *@part of the layer. */
static bool try_places(struct emitter *emitters, uint32_t clusters, struct way *ways,
		       const struct span *span, uint32_t *part)
{
	uint32_t from[NPU_PROGRAM_CLUSTERS_MAX], try, i;
	struct span left = *span;

	for (i = 0; i < clusters; i++)
		from[i] = ways[i].step;
	for (try = 0; try < TRIES; try++) {
		left.from = span->from + (span->to - span->from) * try / TRIES;
		*part = left.from;
		if (try_point(emitters, clusters, ways, &left))
			return true;
	}
	for (i = 0; i < clusters; i++)
		ways[i].step = from[i];
	return false;
}

/* @least: what of the layer is done at the point before; returns what is at this one. */
static uint32_t add_point(struct emitter *emitters, uint32_t part, uint32_t least)
{
	uint32_t point;

	part = part < least ? least : part;
	point = points_add(emitters[0].lower->points, part);
	if (emitters[0].point_count == 1)
		emitters[0].first_point = point;
	return part;
}

/* The first step's loads, those of the activations first: alike in all clusters that have steps. */
static bool first_loads(const struct emitter *emitters, uint32_t clusters, const struct way *ways,
			const struct emitter **who, uint32_t *a, uint32_t *w)
{
	uint32_t i;

	*who = NULL;
	for (i = 0; i < clusters; i++) {
		const struct emitter *e = &emitters[i];

		if (!e->step_count)
			continue;
		if (!*who) {
			*who = e;
			*a = ways[i].a[1].issued;
			*w = ways[i].w[1].issued;
		}
		if (ways[i].a[1].issued != *a || ways[i].w[1].issued != *w)
			return false;
	}
	return *who;
}

/*
 * Where the first loads take long there are points between them: nothing is done by then, but who
 * wants the clusters does not wait for all of them. Returns what of the layer is done at the last.
 */
static uint32_t place_early_points(struct emitter *emitters, uint32_t clusters,
				   const struct way *ways)
{
	uint32_t a = 0, w = 0, i, cluster, part = 0;
	const struct emitter *who;
	uint64_t since = 0, time = 0;

	if (!first_loads(emitters, clusters, ways, &who, &a, &w))
		return 0;
	for (i = 0; i + 1 < a + w; i++) {
		const struct cut cut = { .a = i < a ? i + 1 : a, .w = i < a ? 0 : i + 1 - a };
		uint64_t cycles = mac_transfer_cycles(who, i < a ? &who->a : &who->w,
						      i < a ? i : i - a);

		time += cycles;
		since += cycles;
		if (since < POINT_CYCLES / 2)
			continue;
		since = 0;
		for (cluster = 0; cluster < clusters; cluster++)
			emitters[cluster].cuts[emitters[cluster].point_count++] = cut;
		time = time < who->plan->cycles ? time : who->plan->cycles;
		part = add_point(emitters, (uint32_t)(time * POINTS_WHOLE / who->plan->cycles),
				 part);
	}
	return part;
}

/* The point @index of @wanted. Between blocks it saves less. */
static uint32_t place_point(struct emitter *emitters, uint32_t clusters, struct way *ways,
			    uint32_t index, uint32_t wanted, uint32_t least)
{
	struct span span = {
		.from = (uint32_t)((uint64_t)index * POINTS_WHOLE / (wanted + 1ull)),
		.to = (uint32_t)((index + 1ull) * POINTS_WHOLE / (wanted + 1ull)),
	};
	uint32_t part;

	if (!try_places(emitters, clusters, ways, &span, &part)) {
		span.inside = true;
		if (!try_places(emitters, clusters, ways, &span, &part))
			return least;
	}
	return add_point(emitters, part, least);
}

static bool open_ways(struct emitter *emitters, uint32_t clusters, struct way *ways, uint32_t wanted)
{
	uint32_t i;

	for (i = 0; i < clusters; i++) {
		emitters[i].cuts = calloc(wanted + EARLY_MAX, sizeof(struct cut));
		if (!emitters[i].cuts || !open_way(&ways[i], &emitters[i]))
			return false;
	}
	return true;
}

int mac_place_points(struct emitter *emitters, uint32_t clusters)
{
	uint32_t wanted = (uint32_t)(emitters[0].plan->cycles / POINT_CYCLES), part, i;
	const struct lower *lower = emitters[0].lower;
	struct way *ways;
	int result = -1;

	if (!wanted)
		return 0;
	ways = calloc(clusters, sizeof(*ways));
	if (ways && open_ways(emitters, clusters, ways, wanted)) {
		part = place_early_points(emitters, clusters, ways);
		for (i = 1; i <= wanted; i++)
			part = place_point(emitters, clusters, ways, i, wanted, part);
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

static void save_results(struct emitter *e, uint32_t point, uint32_t step)
{
	struct points *points = e->lower->points;

	/* A cluster that has no more to do waits behind its last step. */
	if (step == e->step_count)
		return;
	if (is_inside(e, step))
		points_save_sums(points, point, e->cluster,
				 e->half * (e->lower->config->acc_bytes / 2), sum_bytes(e));
	if (!holds_results(e, step))
		return;
	points_save(points, point, e->cluster,
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
	if (cut->step)
		save_results(e, point, cut->step);
	points_here(points, point, e->cluster, e->stream);
}

static void emit_next(struct emitter *e)
{
	emit_point(e, &e->cuts[e->points_emitted], e->first_point + e->points_emitted);
	e->points_emitted++;
}

void mac_emit_early_points(struct emitter *e)
{
	const struct cut *cut;

	if (e->points_emitted >= e->point_count)
		return;
	cut = &e->cuts[e->points_emitted];
	if (!cut->step && cut->a == e->a.issued && cut->w == e->w.issued)
		emit_next(e);
}

void mac_emit_points(struct emitter *e, uint32_t step)
{
	/* A cluster without steps has no loads either that early points could stand between. */
	while (e->points_emitted < e->point_count && e->cuts[e->points_emitted].step <= step &&
	       (e->cuts[e->points_emitted].step || !e->step_count))
		emit_next(e);
}
