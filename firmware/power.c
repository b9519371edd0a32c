// SPDX-License-Identifier: MIT
/*
 * Sleep, and who is to be asked when. The hardware wakes clusters by itself, when a task is to
 * start on them; the firmware learns of it from the next event.
 */
#include "heat.h"
#include "hw.h"
#include "npu/npu_mailbox.h"
#include "power.h"
#include "slot.h"

u32 power_active;

static u32 idle_us;
static u64 due = NEVER;		/* when it is looked whether anything was done since */
static u32 tasks_seen;		/* ended by the last look, modulo 2^32 */

static u32 clusters_all(void)
{
	return lowest_mask(hw.clusters);
}

static bool busy(void)
{
	unsigned int slot;

	SET_EACH(slot, slot_attached()) {
		switch (slot_state(slot)) {
		case NPU_SLOT_STATE_FETCH:
		case NPU_SLOT_STATE_REQUEST:
		case NPU_SLOT_STATE_RUNNING:
			return true;
		default:
			break;
		}
	}
	return false;
}

/* Queues in slots run tasks without a word to the firmware, so the device is asked. */
static bool worked(void)
{
	u32 tasks = hw_read(NPU_REG_COUNTER_TASKS_LO);
	bool more = tasks != tasks_seen;

	tasks_seen = tasks;
	return more || busy();
}

static u64 sleep_run(u64 now)
{
	u64 idle = (u64)idle_us * hw.megahertz;

	if (hw_read(NPU_REG_CLUSTERS_ASLEEP) == clusters_all()) {
		due = NEVER;
		return NEVER;
	}
	if (due == NEVER)
		due = now + idle;
	if (now < due)
		return due;
	if (worked()) {
		due = now + idle;
		return due;
	}
	hw_write(NPU_REG_CORE_SLEEP, clusters_all());
	due = NEVER;
	return NEVER;
}

u64 power_run(u64 now)
{
	u64 sleep = power_active & POWER_SLEEP ? sleep_run(now) : NEVER;
	u64 heat = power_active & POWER_HEAT ? heat_run(now) : NEVER;

	return sleep < heat ? sleep : heat;
}

void power_set(u32 microseconds, struct power_state *state)
{
	if (microseconds != NPU_POWER_ASK) {
		idle_us = microseconds;
		power_active &= ~POWER_SLEEP;
		if (microseconds)
			power_active |= POWER_SLEEP;
		due = NEVER;
	}
	state->idle_us = idle_us;
	state->asleep = hw_read(NPU_REG_CLUSTERS_ASLEEP);
}
