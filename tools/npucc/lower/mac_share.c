// SPDX-License-Identifier: MIT
/* Loads that several clusters have in common, and the tokens of shared rings. */
#include <stddef.h>
#include <string.h>

#include "mac_emitter.h"

uint32_t mac_load_begin(struct emitter *e, struct loads *loads)
{
	struct ring *ring = &loads->ring;
	uint32_t i;

	if (loads->sharing.members == 1)
		return ring_produce_begin(ring);
	for (i = 0; i < loads->sharing.members && ring->produced >= ring->slots; i++)
		stream_need(e->stream, ring->producer, loads->sharing.tokens[i]);
	return ring->base + ring->produced % ring->slots * ring->slot_bytes;
}

void mac_load_end(struct emitter *e, struct loads *loads)
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

void mac_share(struct emitter *emitters, const struct mac_plan *plan)
{
	uint32_t part;

	for (part = 0; part < plan->parts_space && plan->parts_channel > 1; part++)
		share(emitters, part * plan->parts_channel, 1, plan->parts_channel,
		      offsetof(struct emitter, a), same_activations);
	for (part = 0; part < plan->parts_channel && plan->parts_space > 1; part++)
		share(emitters, part, plan->parts_channel, plan->parts_space,
		      offsetof(struct emitter, w), same_weights);
}
