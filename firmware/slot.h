/* SPDX-License-Identifier: MIT */
/*
 * Slots: putting queues in and out, and what the command processor says about them.
 */
#ifndef FIRMWARE_SLOT_H
#define FIRMWARE_SLOT_H

#include "types.h"

/**
 * slot_attach() - put a ready queue into a slot nobody has
 * @rank:	of the queue, see policy.h
 */
void slot_attach(unsigned int slot, unsigned int queue, u64 rank, u64 now);

/**
 * slot_detach() - take the queue out after its running task; slot_poll() tells when it is out
 */
void slot_detach(unsigned int slot);

/**
 * slot_vacate() - the same, after the running task or at its next point; it may be out already
 */
void slot_vacate(unsigned int slot, u64 now);

/**
 * slot_name_next() - the next slot that is emptied goes to this queue, without the firmware
 * @queue:	ready; slot_poll() tells when it has a slot
 * @with_grant:	it takes over what grant the slot has
 */
void slot_name_next(unsigned int queue, bool with_grant);

/**
 * slot_withdraw_next() - nobody is named any more; who got a slot meanwhile is known now
 *
 * Before anything else is done with a queue or a slot that could be changing hands.
 */
void slot_withdraw_next(u64 now);

/**
 * slot_preempt() - the running task leaves its clusters at its next point, if it has any
 * @keep:	its window stays reserved for it, so points that need the window count, too
 */
void slot_preempt(unsigned int slot, bool keep);

/**
 * slot_kept() - whether the slot's task was preempted and needs the window it had
 */
bool slot_kept(unsigned int slot);

/**
 * slot_was_preempted() - whether the slot's last task left its clusters at a point, not at its end
 */
bool slot_was_preempted(unsigned int slot);

/**
 * slot_kill() - as slot_detach(), but the running task ends now
 */
void slot_kill(unsigned int slot);

/**
 * slot_poll() - take note of all slots' events
 */
void slot_poll(u64 now);

/**
 * slot_state() - ask the hardware: NPU_SLOT_STATE_*
 *
 * A queue in a slot takes its doorbells without the firmware, so what the last event said may
 * be out of date.
 */
u32 slot_state(unsigned int slot);

/* Slots that have a queue, and those of them that are being emptied; one bit each. */
u32 slot_attached(void);
u32 slot_leaving(void);

/**
 * slot_serve() - the slot's task got the grant it asked for, or has run under the one that was
 * offered: with the first one the slice begins
 */
void slot_serve(unsigned int slot, u64 now);

/* Of a slot that has a queue; see struct policy_slot. */
unsigned int slot_queue(unsigned int slot);
unsigned int slot_priority(unsigned int slot);
bool slot_served(unsigned int slot);
u64 slot_since(unsigned int slot);
u64 slot_rank(unsigned int slot);

#endif /* FIRMWARE_SLOT_H */
