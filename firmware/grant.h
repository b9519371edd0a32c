/* SPDX-License-Identifier: MIT */
/*
 * Grants: which slot may use which clusters and which window of global SRAM.
 */
#ifndef FIRMWARE_GRANT_H
#define FIRMWARE_GRANT_H

#include "types.h"

/**
 * grant_init() - everything is free
 */
void grant_init(void);

/**
 * grant_request() - the slot's task waits for resources; asked again is asked once
 */
void grant_request(unsigned int slot, u64 now);

/**
 * grant_offer() - a queue was put into a slot: give it what it had last, if that is unused and
 * nobody waits for anything
 * @queue_rank:	with which it got the slot
 *
 * So its task need not ask, and finds its own data to overwrite, not somebody's to be scrubbed.
 * What it does not use others take, as from any slot.
 */
void grant_offer(unsigned int slot, unsigned int queue, u64 queue_rank, u64 now);

/**
 * grant_take_over() - another queue is in the slot, with the grant that it had where it has one
 */
void grant_take_over(unsigned int slot, unsigned int queue, u64 now);

/**
 * grant_forget() - a queue's number begins a new life
 */
void grant_forget(unsigned int queue);

/**
 * grant_withdraw() - the slot does not wait any more, because it is being emptied
 */
void grant_withdraw(unsigned int slot);

/**
 * grant_check() - after an event: note whether a grant that was revoked is back
 */
void grant_check(unsigned int slot);

/**
 * grant_free() - the slot is empty, which ended its grant
 */
void grant_free(unsigned int slot);

/**
 * grant_will_keep() - whether the slot's task was preempted, or asked to leave, with its window
 * kept for it
 *
 * Such a slot is not emptied: nobody else may have the window before the task has come back.
 */
bool grant_will_keep(unsigned int slot);

/**
 * grant_wanted() - whether some slot waits for resources
 */
bool grant_wanted(void);

/**
 * grant_run() - serve the requests
 *
 * Returns true when one is left that only time can help: it has to age until those who hold
 * what it needs yield.
 */
bool grant_run(u64 now);

#endif /* FIRMWARE_GRANT_H */
