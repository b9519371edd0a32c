/* SPDX-License-Identifier: MIT */
/*
 * Queues: what the host created, and which of them have work but no slot.
 */
#ifndef FIRMWARE_QUEUE_H
#define FIRMWARE_QUEUE_H

#include "npu/npu_packet.h"
#include "types.h"

/**
 * struct queue_setup - arguments of QUEUE_CREATE, unchecked
 */
struct queue_setup {
	u32 queue;
	u32 context;
	u32 ring_low;
	u32 ring_high;
	u32 log2_packets;
	u32 priority;
	u32 index_low;
	u32 index_high;
	u32 error;
};

/**
 * queue_create() - check the arguments and make the queue known to the hardware
 *
 * Returns NPU_ERROR_NONE, or BAD_ARGUMENT, NOT_FOUND (no such context), EXISTS.
 */
enum npu_error queue_create(const struct queue_setup *setup);

/**
 * queue_destroy() - begin to destroy a queue: its running task is killed
 *
 * Returns NPU_ERROR_NONE, or BAD_ARGUMENT, NOT_FOUND. It is gone when queue_exists() says so:
 * at once, or when its slot is free.
 */
enum npu_error queue_destroy(u32 queue);

/**
 * queue_destroy_all() - begin to destroy all queues of a context
 */
void queue_destroy_all(u32 context);

/**
 * queue_exists() - whether a queue was created and is not gone yet; false for any other number
 */
bool queue_exists(u32 queue);

/**
 * queue_any() - whether a context has queues
 */
bool queue_any(u32 context);

/**
 * queue_poll_doorbells() - take note of the queues that were rung
 */
void queue_poll_doorbells(u64 now);

/**
 * queue_overrun() - a task ran out of its budget; the first of a queue is logged
 */
void queue_overrun(void);

/**
 * queue_any_ready() - whether some queue wants a slot
 */
bool queue_any_ready(void);

/**
 * queue_ready() - copy the set of queues that want a slot, QUEUE_WORDS words
 */
void queue_ready(u32 *set);

/**
 * queue_first() - who of a set made by queue_ready() goes first
 * @rank:	set to its rank
 *
 * Returns the queue or NONE.
 */
unsigned int queue_first(const u32 *set, u64 *rank);

/**
 * queue_first_ready() - the same of all queues that want a slot
 */
unsigned int queue_first_ready(u64 *rank);

/**
 * queue_rank() - the rank of a queue that wants a slot, or wanted the one it has
 */
u64 queue_rank(unsigned int queue);

unsigned int queue_priority(unsigned int queue);

/**
 * queue_progress() - what it has begun and would not find again: NPU_QUEUE_PROGRESS_*
 */
u32 queue_progress(unsigned int queue);

/**
 * struct queue_place - where a queue stands
 */
struct queue_place {
	u32 index_low;
	u32 index_high;
	u32 error;
	u32 progress;
};

/**
 * queue_place() - ask for it
 *
 * Returns NPU_ERROR_NONE, or BAD_ARGUMENT, NOT_FOUND.
 */
enum npu_error queue_place(u32 queue, struct queue_place *place);

/**
 * queue_hold() - from now on queues that are rung do not become ready
 * @all:	also those in the middle of something
 */
void queue_hold(bool all);

/**
 * queue_release() - those that were held are ready, and nobody is held any more
 */
void queue_release(u64 now);

/**
 * queue_any_held() - whether some queue would be ready if it were not held
 */
bool queue_any_held(void);

/* What slot.c reports. */

/**
 * queue_enters_slot() - the queue gets a slot and is not ready any more
 */
void queue_enters_slot(unsigned int queue, unsigned int slot);

/**
 * queue_left_slot() - its slot is free: the queue sleeps, waits again, or is gone
 */
void queue_left_slot(unsigned int queue, u64 now);

/**
 * queue_stopped() - the hardware stopped it for an error: it never gets a slot again, the host
 * is told
 */
void queue_stopped(unsigned int queue);

/**
 * struct queue_report - an error the host has not been told of
 */
struct queue_report {
	u32 queue;
	u32 context;
	u32 error;
};

/**
 * queue_has_report() - whether there is one; at most one a queue, so they cannot pile up
 */
bool queue_has_report(void);

/**
 * queue_next_report() - take the next report out; only when there is one
 */
void queue_next_report(struct queue_report *report);

#endif /* FIRMWARE_QUEUE_H */
