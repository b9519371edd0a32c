/* SPDX-License-Identifier: MIT */
/*
 * Who goes first. Pure: no use of hardware.
 *
 * Whoever waits has a rank, a point in time: when it began to wait, later by one ageing step for
 * each level its priority is below the highest. The earliest rank goes first. So a higher
 * priority goes before a lower one, equal ones in the order they came, and one that waits is
 * after a known time before everybody who comes later.
 */
#ifndef FIRMWARE_POLICY_H
#define FIRMWARE_POLICY_H

#include "types.h"

/* In microseconds: waiting time that makes up for one level of priority; how long a queue keeps
 * its slot while others of its priority wait; how often waiting is looked at again.
 */
#define POLICY_AGEING	100
#define POLICY_SLICE	100
#define POLICY_TICK	25

/**
 * struct policy - times in device cycles
 * @handicap:	of each priority: what its rank is later than the beginning of its wait
 */
struct policy {
	u64 handicap[PRIORITIES];
	u64 slice;
	u64 tick;
};

/* What a queue in a slot does. */
enum policy_activity {
	POLICY_ABSENT,		/* no queue, or it leaves already */
	POLICY_IDLE,		/* has no packet */
	POLICY_BLOCKED,		/* waits for semaphores */
	POLICY_BUSY,
};

/**
 * struct policy_slot - a queue in a slot
 * @activity:	what it does
 * @priority:	0..PRIORITIES - 1
 * @served:	its slice began: it does not wait for its first grant in this slot
 * @since:	when the slice began
 * @rank:	with which it got the slot
 */
struct policy_slot {
	enum policy_activity activity;
	u8 priority;
	bool served;
	u64 since;
	u64 rank;
};

/**
 * policy_init() - convert the times
 * @megahertz:	cycles a microsecond
 */
void policy_init(struct policy *policy, u32 megahertz);

/**
 * policy_rank() - the rank of somebody who waits
 * @since:	when it began to
 */
u64 policy_rank(const struct policy *policy, u64 since, unsigned int priority);

/**
 * policy_first() - who goes first
 * @rank:	rank of each
 * @set:	who takes part, one bit each
 * @words:	of @set
 *
 * Returns its number (the lowest among equals), or NONE.
 */
unsigned int policy_first(const u64 *rank, const u32 *set, unsigned int words);

/**
 * policy_yields() - whether one that has what another waits for should give it up
 * @priority:	of the one that has it
 * @rank:	of the one that waits
 *
 * It should when, queueing up again now, it would have to wait behind the other.
 */
bool policy_yields(const struct policy *policy, unsigned int priority, u64 rank, u64 now);

/**
 * struct policy_claim - of one that has clusters, or waits for them
 * @priority:	0..PRIORITIES - 1
 * @rank:	with which it got them, or waits
 */
struct policy_claim {
	unsigned int priority;
	u64 rank;
};

/**
 * policy_rank_resumed() - of one that was preempted before it had a slice
 * @rank:	with which it got its clusters
 * @ran:	how long it had them
 *
 * A whole slice costs the whole wait for the next one, a part of it that part. Were the wait to
 * begin anew, one that gets the gaps that others leave would never grow old; were it not changed,
 * one that gets all it needs in gaps would hold up others all the same.
 */
u64 policy_rank_resumed(u64 rank, u64 ran, unsigned int priority);

/**
 * policy_had_slice() - whether one that got its clusters at @since has had them for a slice
 */
bool policy_had_slice(const struct policy *policy, u64 since, u64 now);

/**
 * policy_preempts() - whether one that should give up clusters has to at its next point
 * @since:	when it got them
 *
 * It has to for a higher priority that comes before it, and when it has had its slice: equals take
 * turns in slices, or saving and restoring would be all they do; and who has aged until it came
 * before a higher priority gets something done.
 */
bool policy_preempts(const struct policy *policy, const struct policy_claim *running, u64 since,
		     const struct policy_claim *waiting, u64 now);

/**
 * policy_victim() - whose slot goes to a waiting queue
 * @slots:	all slots
 * @count:	of them
 * @rank:	of the waiting queue
 *
 * Idle queues first, then blocked ones, then busy ones that have had their slice and yield, or
 * got the slot with a later rank; among equals the lowest priority, then the longest slice.
 * So who has aged until it got a slot gets something done there. Returns a slot or NONE.
 */
unsigned int policy_victim(const struct policy *policy, const struct policy_slot *slots,
			   unsigned int count, u64 rank, u64 now);

#endif /* FIRMWARE_POLICY_H */
