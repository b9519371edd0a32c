/* SPDX-License-Identifier: MIT */
/*
 * Before a suspend: all queues leave their slots, and what has begun comes to its end.
 */
#ifndef FIRMWARE_SUSPEND_H
#define FIRMWARE_SUSPEND_H

#include "npu/npu_packet.h"
#include "types.h"

/* Until the slots are empty. */
extern bool suspend_active;

/**
 * suspend_begin() - begin to empty the slots
 * @patience:	microseconds that what has begun may take; 0: nothing may have begun
 *
 * Returns NPU_ERROR_NONE; or NPU_ERROR_BUSY, only without patience, and nothing is done.
 */
enum npu_error suspend_begin(u32 patience);

/**
 * suspend_run() - while it is active: do what can be done now, all of it once the time is over
 *
 * Returns true while time has to go on.
 */
bool suspend_run(u64 now);

/**
 * suspend_finish() - whether all slots are empty
 * @error:	set to NPU_ERROR_BUSY when something came up, only without patience: everything goes
 *		on then
 */
bool suspend_finish(enum npu_error *error);

#endif /* FIRMWARE_SUSPEND_H */
