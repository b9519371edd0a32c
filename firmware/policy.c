// SPDX-License-Identifier: MIT
/*
 * Who goes first.
 */
#include "policy.h"

void policy_init(struct policy *policy, u32 megahertz)
{
	for (unsigned int priority = 0; priority < PRIORITIES; priority++)
		policy->handicap[priority] = (u64)megahertz * POLICY_AGEING *
					     (PRIORITIES - 1 - priority);
	policy->slice = (u64)megahertz * POLICY_SLICE;
	policy->tick = (u64)megahertz * POLICY_TICK;
}

u64 policy_rank(const struct policy *policy, u64 since, unsigned int priority)
{
	return since + policy->handicap[priority];
}

u64 policy_rank_resumed(u64 rank, u64 ran, unsigned int priority)
{
	_Static_assert(POLICY_AGEING == POLICY_SLICE,
		       "a slice is worth as many waits as levels above");

	return rank + ran * (PRIORITIES - 1 - priority);
}

unsigned int policy_first(const u64 *rank, const u32 *set, unsigned int words)
{
	unsigned int first = NONE;
	unsigned int bit;
	u64 earliest = 0;

	for (unsigned int word = 0; word < words; word++) {
		SET_EACH(bit, set[word]) {
			unsigned int candidate = word * 32 + bit;

			if (first != NONE && rank[candidate] >= earliest)
				continue;
			first = candidate;
			earliest = rank[candidate];
		}
	}
	return first;
}

bool policy_yields(const struct policy *policy, unsigned int priority, u64 rank, u64 now)
{
	return rank < policy_rank(policy, now, priority);
}

bool policy_had_slice(const struct policy *policy, u64 since, u64 now)
{
	return now - since >= policy->slice;
}

bool policy_preempts(const struct policy *policy, const struct policy_claim *running, u64 since,
		     const struct policy_claim *waiting, u64 now)
{
	if (policy_had_slice(policy, since, now))
		return true;
	return waiting->priority > running->priority && waiting->rank < running->rank;
}

static bool may_go(const struct policy *policy, const struct policy_slot *slot, u64 rank, u64 now)
{
	if (slot->activity != POLICY_BUSY)
		return slot->activity != POLICY_ABSENT;
	if (!slot->served || !policy_had_slice(policy, slot->since, now))
		return rank < slot->rank;
	return policy_yields(policy, slot->priority, rank, now);
}

/* Whether @slot should go rather than @other. */
static bool goes_before(const struct policy_slot *slot, const struct policy_slot *other)
{
	if (slot->activity != other->activity)
		return slot->activity < other->activity;
	if (slot->priority != other->priority)
		return slot->priority < other->priority;
	return slot->since < other->since;
}

unsigned int policy_victim(const struct policy *policy, const struct policy_slot *slots,
			   unsigned int count, u64 rank, u64 now)
{
	unsigned int victim = NONE;

	for (unsigned int i = 0; i < count; i++) {	/* SLOTS_MAX turns at most */
		if (!may_go(policy, &slots[i], rank, now))
			continue;
		if (victim == NONE || goes_before(&slots[i], &slots[victim]))
			victim = i;
	}
	return victim;
}
