/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: gives slots to ready queues, has requests for resources served, sets the alarm.
 * How it decides is in policy.h.
 */
#ifndef FIRMWARE_SCHEDULER_H
#define FIRMWARE_SCHEDULER_H

#include "policy.h"
#include "types.h"

void scheduler_init(void);

/**
 * scheduler_refill() - give slots that became free to queues known to be ready
 *
 * A part of scheduler_run() that is worth its own way: a slot that is empty is time lost.
 */
void scheduler_refill(u64 now);

/**
 * scheduler_name_next() - tell the hardware who follows in the slots that are being emptied
 *
 * The last thing in a turn: all else may change who that is.
 */
void scheduler_name_next(u64 now);

/**
 * scheduler_run() - do all that can be done now
 */
void scheduler_run(u64 now);

/* What policy.h has under the same names, with the times of this device. */
u64 scheduler_rank(u64 since, unsigned int priority);
bool scheduler_yields(unsigned int priority, u64 rank, u64 now);
bool scheduler_had_slice(u64 since, u64 now);
bool scheduler_preempts(const struct policy_claim *running, u64 since,
			const struct policy_claim *waiting, u64 now);

#endif /* FIRMWARE_SCHEDULER_H */
