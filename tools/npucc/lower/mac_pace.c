// SPDX-License-Identifier: MIT
/*
 * When a cluster comes to each of its steps: the array's work, and the loads it waits for. Rough, but
 * it knows a layer that waits for its weights first from one that begins at once.
 */
#include <stdlib.h>

#include "mac_cost.h"
#include "mac_emitter.h"

struct feed {
	const struct loads *loads;
	uint64_t arrived;		/* of the loads so far, the last one's time */
	uint32_t next;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t bytes_of(const struct emitter *e, const struct loads *loads, const struct load *load)
{
	const struct mac_plan *plan = e->plan;

	if (loads == &e->a)
		return plan->a_bytes;
	if (loads == &e->r)
		return plan->s_bytes;
	if (load->chunk != UINT32_MAX)
		return plan->chunks[load->chunk].bytes;
	return (uint64_t)load->blocks * plan->block_bytes;
}

static bool from_dram(const struct emitter *e, const struct loads *loads)
{
	const struct mac_problem *problem = e->problem;

	if (loads == &e->a)
		return problem->a_argument != STREAM_ARGUMENT_GLOBAL;
	if (loads == &e->r)
		return problem->r_argument != STREAM_ARGUMENT_GLOBAL;
	return (problem->weights ? problem->w_argument : problem->b_argument) !=
	       STREAM_ARGUMENT_GLOBAL;
}

uint64_t mac_transfer_cycles(const struct emitter *e, const struct loads *loads, uint32_t index)
{
	const struct npu_config *config = e->lower->config;
	uint64_t bytes = bytes_of(e, loads, &loads->list[index]);

	if (!from_dram(e, loads))
		return config->dma_descriptor + bytes / config->global_port_bytes;
	return config->dma_descriptor +
	       bytes * e->lower->clusters / loads->sharing.members / config->dram_bytes;
}

/* When the loads that step @step is the first to use are there; @end: of the steps before. */
static uint64_t arrival(const struct emitter *e, struct feed *feed, uint32_t step,
			const uint64_t *end)
{
	const struct loads *loads = feed->loads;

	for (; feed->next < loads->count && loads->list[feed->next].first_step <= step; feed->next++) {
		uint32_t slots = loads->ring.slots;

		if (feed->next >= slots)
			feed->arrived = later(feed->arrived,
					      end[loads->list[feed->next - slots].last_step]);
		feed->arrived += mac_transfer_cycles(e, loads, feed->next);
	}
	return feed->arrived;
}

static uint64_t step_cycles(const struct emitter *e, const struct step *step)
{
	const struct place *place = &e->places[step->place];
	uint64_t positions = 1;
	unsigned int axis;

	for (axis = 0; axis < 2; axis++) {
		uint32_t left = place->count[axis] - step->pass[axis];

		positions *= left < e->plan->pass[axis] ? left : e->plan->pass[axis];
	}
	return mac_step_cycles(e->lower->config, e->problem, e->plan, positions, step->chunk);
}

uint64_t *mac_pace(const struct emitter *e)
{
	uint64_t *before = calloc(e->step_count + 1ull, sizeof(*before));
	struct feed feeds[3] = { { .loads = &e->a }, { .loads = &e->w }, { .loads = &e->r } };
	uint64_t time = 0;
	uint32_t i, feed;

	if (!before)
		return NULL;
	for (i = 0; i < e->step_count; i++) {
		for (feed = 0; feed < 3; feed++)
			time = later(time, arrival(e, &feeds[feed], i, before + 1));
		time += step_cycles(e, &e->steps[i]);
		before[i + 1] = time;
	}
	return before;
}
