// SPDX-License-Identifier: MIT
/*
 * The scheduler. Loops: SLOTS_MAX turns at most.
 */
#include "grant.h"
#include "hw.h"
#include "power.h"
#include "queue.h"
#include "scheduler.h"
#include "slot.h"
#include "suspend.h"

static struct policy policy;
static u64 alarm;
static u32 slots_all;

void scheduler_init(void)
{
	policy_init(&policy, hw.megahertz);
	slots_all = BIT(hw.slots) - 1;
	alarm = NEVER;
	hw_set_alarm(alarm);
	grant_init();
}

u64 scheduler_rank(u64 since, unsigned int priority)
{
	return policy_rank(&policy, since, priority);
}

bool scheduler_yields(unsigned int priority, u64 rank, u64 now)
{
	return policy_yields(&policy, priority, rank, now);
}

bool scheduler_had_slice(u64 since, u64 now)
{
	return policy_had_slice(&policy, since, now);
}

bool scheduler_preempts(const struct policy_claim *running, u64 since,
			const struct policy_claim *waiting, u64 now)
{
	return policy_preempts(&policy, running, since, waiting, now);
}

void scheduler_refill(u64 now)
{
	unsigned int queue;
	unsigned int slot;
	u64 rank;

	if (!queue_any_ready())
		return;
	SET_EACH(slot, slots_all & ~slot_attached()) {
		queue = queue_first_ready(&rank);
		if (queue == NONE)
			return;
		slot_attach(slot, queue, rank, now);
	}
}

/* Who goes first of those that are ready, of which there is one. */
static void name_first(void)
{
	u64 rank;

	/* Somebody who waits for clusters already may have a better claim to them. */
	slot_name_next(queue_first_ready(&rank), !grant_wanted());
}

void scheduler_name_next(u64 now)
{
	if (slot_leaving() && queue_any_ready())
		name_first();
	else
		slot_withdraw_next(now);
}

static enum policy_activity activity(u32 state)
{
	switch (state) {
	case NPU_SLOT_STATE_EMPTY:
		return POLICY_IDLE;
	case NPU_SLOT_STATE_WAITING:
		return POLICY_BLOCKED;
	default:
		return POLICY_BUSY;
	}
}

static void look_at_slots(struct policy_slot *slots)
{
	u32 present = slot_attached() & ~slot_leaving();

	for (unsigned int slot = 0; slot < hw.slots; slot++) {
		u32 state;

		slots[slot].activity = POLICY_ABSENT;
		if (!(present & BIT(slot)) || grant_will_keep(slot))
			continue;
		state = slot_state(slot);
		slots[slot].activity = activity(state);
		slots[slot].priority = (u8)slot_priority(slot);
		slots[slot].served = state != NPU_SLOT_STATE_REQUEST || slot_served(slot);
		slots[slot].since = slot_since(slot);
		slots[slot].rank = slot_rank(slot);
	}
}

/*
 * Each queue that waits needs a slot that is being emptied; one is enough. Returns true when a
 * queue is left for which none could be found yet.
 */
static bool empty_slots(u64 now)
{
	struct policy_slot slots[SLOTS_MAX];
	u32 coming = slot_leaving();
	u32 ready[QUEUE_WORDS];
	bool looked = false;

	queue_ready(ready);
	for (unsigned int turn = 0; turn < SLOTS_MAX; turn++) {
		unsigned int victim;
		unsigned int queue;
		u64 rank;

		queue = queue_first(ready, &rank);
		if (queue == NONE)
			return false;
		ready[queue / 32] &= ~BIT(queue % 32);
		if (coming) {
			coming &= coming - 1;
			continue;
		}
		if (!looked)
			look_at_slots(slots);
		looked = true;
		victim = policy_victim(&policy, slots, hw.slots, rank, now);
		if (victim == NONE)
			return true;
		name_first();
		slot_vacate(victim, now);
		slots[victim].activity = POLICY_ABSENT;
	}
	/* All slots are being emptied: the next turn begins with that. */
	return false;
}

/* @wanted: a tick; without anybody waiting the core sleeps until something happens, or @next. */
static void set_alarm(bool wanted, u64 next, u64 now)
{
	if (wanted && next > now + policy.tick)
		next = alarm > now && alarm <= now + policy.tick ? alarm : now + policy.tick;
	if (next == alarm)
		return;
	alarm = next;
	hw_set_alarm(alarm);
}

void scheduler_run(u64 now)
{
	bool tick = suspend_active && suspend_run(now);
	u64 look;

	scheduler_refill(now);
	if (queue_any_ready() && empty_slots(now))
		tick = true;
	if (grant_wanted() && grant_run(now))
		tick = true;
	look = power_active ? power_run(now) : NEVER;
	if (tick || look != alarm)
		set_alarm(tick, look, now);
}
