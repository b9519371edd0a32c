/* SPDX-License-Identifier: MIT */
/*
 * The clock's points: what the host allows, and what heat demands.
 */
#ifndef FIRMWARE_HEAT_H
#define FIRMWARE_HEAT_H

#include "npu/npu_packet.h"
#include "types.h"

/**
 * struct heat_state - what the host may know
 * @fastest:	point that it allows while tasks run
 * @slowest:	point while none does
 * @demand:	the point that heat demands, 0: none
 * @times:	how often it has begun to, modulo 2^32
 */
struct heat_state {
	u32 fastest;
	u32 slowest;
	u32 demand;
	u32 times;
};

/**
 * heat_limits() - what the host allows
 * @fastest:	NPU_CLOCK_ASK: as before
 * @state:	filled in when that is well
 */
enum npu_error heat_limits(u32 fastest, u32 slowest, struct heat_state *state);

/**
 * heat_begin() - the device has become hot: sets POWER_HEAT
 */
void heat_begin(u64 now);

/**
 * heat_run() - while POWER_HEAT is set: another point when it is time, or none any more
 *
 * Returns when it is to be looked at again, or NEVER. No loops.
 */
u64 heat_run(u64 now);

#endif /* FIRMWARE_HEAT_H */
