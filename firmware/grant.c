// SPDX-License-Identifier: MIT
/*
 * Grants.
 *
 * A grant stays with its slot until somebody else needs it, so a queue that is alone asks once.
 * Loops: SLOTS_MAX turns at most.
 */
#include "grant.h"
#include "hw.h"
#include "log.h"
#include "npu/npu_packet.h"
#include "policy.h"
#include "resources.h"
#include "scheduler.h"
#include "slot.h"

enum outcome {
	SERVED,		/* granted or refused */
	PASSED,		/* cannot be met yet; others may go before it */
	CLOSED,		/* is being made room for; others must not take it away */
};

static struct resources resources;
static u32 requesting;
static u32 revoking;		/* 0 was written to GRANT, a task still runs on it */
static u32 preempting;		/* ... which has been asked to leave at its next point */
static u32 keeping;		/* of preempting: with its window kept for it */
static u32 kept;		/* of holders: without clusters, with the window of a preempted task */
static u64 given[SLOTS_MAX];	/* when */
static u64 rank[SLOTS_MAX];	/* with which it asks, or got what it has */
static struct resources_need needs[SLOTS_MAX];
static struct resources_grant had[QUEUES_MAX];	/* 0 clusters: nothing yet */
static struct resources_grant held[SLOTS_MAX];	/* last given to the slot */

void grant_init(void)
{
	resources_init(&resources, hw.clusters, hw.global_bytes);
}

/*
 * The first request goes on with the wait for the slot, or ageing would begin anew; that of a task
 * that was preempted early, with the wait for its slice.
 */
static u64 request_rank(unsigned int slot, u64 now)
{
	if (!slot_served(slot))
		return slot_rank(slot);
	if (slot_was_preempted(slot) && !scheduler_had_slice(given[slot], now))
		return policy_rank_resumed(rank[slot], now - given[slot], slot_priority(slot));
	return scheduler_rank(now, slot_priority(slot));
}

void grant_request(unsigned int slot, u64 now)
{
	u32 registers = NPU_REG_SLOT(slot);

	if (requesting & BIT(slot))
		return;
	requesting |= BIT(slot);
	rank[slot] = request_rank(slot, now);
	needs[slot].clusters = hw_read(registers + NPU_SLOT_NEED_CLUSTERS);
	needs[slot].bytes = hw_read(registers + NPU_SLOT_NEED_GLOBAL);
}

void grant_withdraw(unsigned int slot)
{
	requesting &= ~BIT(slot);
}

static bool keeps(unsigned int slot)
{
	return kept & resources.holders & BIT(slot);
}

bool grant_will_keep(unsigned int slot)
{
	return keeps(slot) || (preempting & keeping & BIT(slot));
}

void grant_check(unsigned int slot)
{
	if (!(revoking & BIT(slot)) || hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_GRANT))
		return;
	if (!slot_kept(slot)) {
		grant_free(slot);
		return;
	}
	revoking &= ~BIT(slot);
	preempting &= ~BIT(slot);
	kept |= BIT(slot);
	resources_shrink(&resources, slot, 0);
}

void grant_free(unsigned int slot)
{
	revoking &= ~BIT(slot);
	preempting &= ~BIT(slot);
	resources_release(&resources, slot);
}

static void revoke(unsigned int slot)
{
	hw_write(NPU_REG_SLOT(slot) + NPU_SLOT_GRANT, 0);
	revoking |= BIT(slot);
	grant_check(slot);
}

/*
 * Slots that have to give up their clusters do so at their tasks' next points, once they may be
 * asked to. Returns true while one may not yet.
 */
static bool preempt(unsigned int asking, u64 now)
{
	bool fits = resources_window_fits(&resources, needs[asking].bytes, asking);
	/* A slot that becomes free takes its window with it. */
	u32 keep = fits ? ~slot_leaving() : 0;
	const struct policy_claim waiting = { slot_priority(asking), rank[asking] };
	unsigned int slot;
	bool early = false;

	SET_EACH(slot, revoking & ~preempting) {
		const struct policy_claim running = { slot_priority(slot), rank[slot] };

		if (!scheduler_preempts(&running, given[slot], &waiting, now)) {
			early = true;
			continue;
		}
		slot_preempt(slot, keep & BIT(slot));
		preempting |= BIT(slot);
		keeping = (keeping & ~BIT(slot)) | (keep & BIT(slot));
	}
	return early;
}

static void give(unsigned int slot, unsigned int queue, const struct resources_grant *grant,
		 u64 now)
{
	u32 registers = NPU_REG_SLOT(slot);

	hw_write(registers + NPU_SLOT_GRANT_WINDOW, grant->base);
	hw_write(registers + NPU_SLOT_GRANT_WINDOW_BYTES, grant->bytes);
	hw_write(registers + NPU_SLOT_GRANT, grant->clusters);
	requesting &= ~BIT(slot);
	revoking &= ~BIT(slot);
	preempting &= ~BIT(slot);
	kept &= ~BIT(slot);
	held[slot] = *grant;
	given[slot] = now;
	resources_take(&resources, slot, grant);
	had[queue] = *grant;
}

/* What was asked for; an offer may turn out to be too little, and then nobody was served. */
static void give_asked(unsigned int slot, const struct resources_grant *grant, u64 now)
{
	give(slot, slot_queue(slot), grant, now);
	slot_serve(slot, now);
}

void grant_offer(unsigned int slot, unsigned int queue, u64 queue_rank, u64 now)
{
	const struct resources_grant *grant = &had[queue];

	if (requesting || !grant->clusters || !resources_unused(&resources, grant))
		return;
	rank[slot] = queue_rank;
	give(slot, queue, grant, now);
}

void grant_take_over(unsigned int slot, unsigned int queue, u64 now)
{
	u32 clusters = hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_GRANT);

	if (!clusters) {
		grant_free(slot);
		return;
	}
	resources_shrink(&resources, slot, clusters);
	held[slot].clusters = clusters;
	had[queue] = held[slot];
	given[slot] = now;
	rank[slot] = slot_rank(slot);
}

void grant_forget(unsigned int queue)
{
	had[queue].clusters = 0;
}

static void reject(unsigned int slot)
{
	hw_write(NPU_REG_SLOT(slot) + NPU_SLOT_CONTROL, NPU_SLOT_REJECT | NPU_ERROR_NO_RESOURCES);
	requesting &= ~BIT(slot);
	log_write(LOG_WARNING, "slot %u: refused, the device cannot give %u clusters and %u bytes",
		  slot, needs[slot].clusters, needs[slot].bytes);
}

/* Of what a slot needs, what has still to be found: its window may be there. */
static struct resources_need missing(unsigned int slot)
{
	struct resources_need need = needs[slot];

	if (keeps(slot))
		need.bytes = 0;
	return need;
}

/* Clusters, and a window, which is the one that was kept where there is one. */
static bool find(unsigned int slot, const struct resources_need *need,
		 struct resources_grant *grant)
{
	if (!resources_find(&resources, need, BIT(slot), grant))
		return false;
	if (keeps(slot)) {
		grant->base = held[slot].base;
		grant->bytes = held[slot].bytes;
	}
	return true;
}

static u32 larger(u32 first, u32 second)
{
	return first > second ? first : second;
}

/*
 * A program after another asks only when it needs more. Keeping what was held besides what is
 * needed ends the asking after one round of a model's programs.
 */
static bool find_free(unsigned int slot, struct resources_grant *grant)
{
	struct resources_need need = missing(slot);
	struct resources_need most;

	most = resources_held(&resources, slot);
	most.clusters = larger(most.clusters, need.clusters);
	most.bytes = need.bytes ? larger(most.bytes, need.bytes) : 0;
	return find(slot, &most, grant) || find(slot, &need, grant);
}

/*
 * A slot may hold more clusters than its running task uses, which are the lowest ones. Where that
 * is all that is missing, those it does not use go to @asking: it costs nobody anything now.
 */
static bool trim(unsigned int asking)
{
	struct resources_need need = missing(asking);
	u32 keep[SLOTS_MAX];
	u32 unused = 0;
	u32 trimmed = 0;
	unsigned int slot;

	SET_EACH(slot, resources.holders & ~BIT(asking)) {
		if (slot_state(slot) != NPU_SLOT_STATE_RUNNING)
			continue;
		keep[slot] = resources_lowest(&resources, slot,
					      hw_read(NPU_REG_SLOT(slot) + NPU_SLOT_NEED_CLUSTERS));
		if (!keep[slot] || keep[slot] == resources.clusters[slot])
			continue;
		unused |= resources.clusters[slot] & ~keep[slot];
		trimmed |= BIT(slot);
	}
	if (!trimmed || !resources_enough_with(&resources, &need, BIT(asking), unused))
		return false;
	SET_EACH(slot, trimmed) {
		u32 registers = NPU_REG_SLOT(slot);

		hw_write(registers + NPU_SLOT_GRANT, revoking & BIT(slot) ? 0 : keep[slot]);
		/* Its task may have ended, and one for more clusters begun. */
		resources_shrink(&resources, slot, hw_read(registers + NPU_SLOT_GRANT));
	}
	return true;
}

/*
 * Grants that nobody uses at the moment go first, then those of running tasks that have to
 * yield, by priority. Returns how many.
 */
static u32 list_victims(unsigned int asking, u64 now, u8 *victims)
{
	u8 order[SLOTS_MAX];
	u32 count = 0;
	unsigned int slot;

	SET_EACH(slot, resources.holders & ~(revoking | kept | BIT(asking))) {
		u32 state = slot_state(slot);
		bool busy = state == NPU_SLOT_STATE_RUNNING || state == NPU_SLOT_STATE_FETCH;
		unsigned int priority = slot_priority(slot);
		u32 place;

		if (busy && !scheduler_yields(priority, rank[asking], now))
			continue;
		if (busy)
			priority += PRIORITIES;
		for (place = count; place && order[place - 1] > priority; place--) {
			order[place] = order[place - 1];
			victims[place] = victims[place - 1];
		}
		order[place] = (u8)priority;
		victims[place] = (u8)slot;
		count++;
	}
	return count;
}

static enum outcome make_room(unsigned int asking, u64 now)
{
	struct resources_need need = missing(asking);
	struct resources_grant grant;
	u8 victims[SLOTS_MAX];
	u32 count = list_victims(asking, now, victims);
	unsigned int slot;
	u32 robbed;

	if (!resources_plan(&resources, &need, revoking | BIT(asking), victims, count,
			    &robbed))
		return PASSED;
	SET_EACH(slot, robbed)
		revoke(slot);
	if (!find(asking, &need, &grant))
		return CLOSED;
	give_asked(asking, &grant, now);
	return SERVED;
}

static enum outcome serve(unsigned int slot, u64 now)
{
	struct resources_grant grant;
	struct resources_need need;

	/* Who holds nothing has nothing to keep. */
	if (!(resources.holders & BIT(slot)) &&
	    resources_find(&resources, &needs[slot], BIT(slot), &grant)) {
		give_asked(slot, &grant, now);
		return SERVED;
	}
	if (!resources_possible(&resources, &needs[slot])) {
		reject(slot);
		return SERVED;
	}
	need = missing(slot);
	if (!find_free(slot, &grant) &&
	    !(trim(slot) && find(slot, &need, &grant)))
		return make_room(slot, now);
	give_asked(slot, &grant, now);
	return SERVED;
}

bool grant_wanted(void)
{
	return requesting;
}

bool grant_run(u64 now)
{
	u32 waiting = requesting;
	bool passed = false;

	while (waiting) {
		unsigned int slot = policy_first(rank, &waiting, 1);
		enum outcome outcome = serve(slot, now);

		if (outcome == CLOSED)
			return preempt(slot, now) || passed;
		if (outcome == PASSED)
			passed = true;
		waiting &= ~BIT(slot);
	}
	return passed;
}
