// SPDX-License-Identifier: MIT
/*
 * Before a suspend. Loops: SLOTS_MAX turns at most.
 */
#include "grant.h"
#include "hw.h"
#include "log.h"
#include "queue.h"
#include "scheduler.h"
#include "slot.h"
#include "suspend.h"

bool suspend_active;
static bool patient;
static bool late;	/* what ran was killed */
static u64 deadline;

/* A queue there has nothing to do, or cannot do it for want of a semaphore. */
static bool at_rest(unsigned int slot)
{
	u32 state = slot_state(slot);

	return (state == NPU_SLOT_STATE_EMPTY || state == NPU_SLOT_STATE_WAITING) &&
	       !queue_progress(slot_queue(slot));
}

static bool idle(void)
{
	unsigned int slot;

	if (queue_any_ready() || slot_leaving())
		return false;
	SET_EACH(slot, slot_attached()) {
		if (!at_rest(slot))
			return false;
	}
	return true;
}

enum npu_error suspend_begin(u32 patience)
{
	u64 now = hw_time();

	/* Nobody is rung while he has a slot, so those without one are asked as well. */
	queue_poll_doorbells(now);
	if (!patience && !idle())
		return NPU_ERROR_BUSY;
	suspend_active = true;
	patient = patience;
	late = false;
	deadline = now + (u64)patience * hw.megahertz;
	queue_hold(false);
	scheduler_run(now);
	return NPU_ERROR_NONE;
}

static void kill_all(void)
{
	unsigned int slot;

	late = true;
	queue_hold(true);
	SET_EACH(slot, slot_attached())
		slot_kill(slot);
	log_write(LOG_WARNING, "suspend: not all tasks ended in time", 0, 0, 0);
}

bool suspend_run(u64 now)
{
	unsigned int slot;

	if (late)
		return false;
	/*
	 * What is in the middle of a GRAPH, was preempted or leaves with its window goes on: it could not be
	 * taken up again.
	 */
	SET_EACH(slot, slot_attached() & ~slot_leaving()) {
		if (!queue_progress(slot_queue(slot)) && !grant_will_keep(slot))
			slot_detach(slot);
	}
	if (!slot_attached() && !queue_any_ready())
		return false;
	if (patient && now >= deadline)
		kill_all();
	return patient && !late;
}

/* Something has begun since all was idle: it may take as long as its budget, or more. */
static bool has_begun(void)
{
	unsigned int slot;

	SET_EACH(slot, slot_attached()) {
		if (slot_state(slot) == NPU_SLOT_STATE_RUNNING ||
		    queue_progress(slot_queue(slot)) || grant_will_keep(slot))
			return true;
	}
	return false;
}

bool suspend_finish(enum npu_error *error)
{
	u64 now = hw_time();
	bool emptied;

	queue_poll_doorbells(now);
	emptied = !slot_attached() && !queue_any_ready();
	if (!patient && (has_begun() || (emptied && queue_any_held()))) {
		suspend_active = false;
		queue_release(now);
		scheduler_run(now);
		*error = NPU_ERROR_BUSY;
		return true;
	}
	if (!emptied)
		return false;
	suspend_active = false;
	log_write(LOG_INFO, "suspend: all slots are empty", 0, 0, 0);
	return true;
}
