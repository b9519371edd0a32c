/* SPDX-License-Identifier: MIT */
/*
 * Sleep: clusters of a device that has had nothing to do for a while.
 */
#ifndef FIRMWARE_POWER_H
#define FIRMWARE_POWER_H

#include "types.h"

/**
 * struct power_state - what the host may know
 * @idle_us:	after which the clusters fall asleep; 0: never
 * @asleep:	mask of those that sleep
 */
struct power_state {
	u32 idle_us;
	u32 asleep;
};

/**
 * power_set() - after how many microseconds without work clusters fall asleep
 * @idle_us:	0: never; NPU_POWER_ASK: as before
 */
void power_set(u32 idle_us, struct power_state *state);

/* What is to be looked after: 0 on a device that is cool and whose clusters never sleep. */
#define POWER_SLEEP	BIT(0)	/* clusters are to sleep at times */
#define POWER_HEAT	BIT(1)	/* heat demands a slower clock */
extern u32 power_active;

/**
 * power_run() - while there is something: put clusters to sleep, change the clock, when it is time
 *
 * Returns when it is to be looked at again, or NEVER. Loops: SLOTS_MAX turns.
 */
u64 power_run(u64 now);

#endif /* FIRMWARE_POWER_H */
