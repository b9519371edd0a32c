/* SPDX-License-Identifier: MIT */
/*
 * Record and replay of arrivals: the only thing about a run that the device does not decide itself.
 * Manual: arrivals.rst.
 */
#ifndef NPU_MODEL_ARRIVALS_H
#define NPU_MODEL_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event.h"

struct npu_model;

#define NPU_ARRIVAL_QUEUES	64

enum npu_arrival_kind {
	NPU_ARRIVAL_RING,	/* a doorbell */
	NPU_ARRIVAL_SIGNAL,	/* the host signals a semaphore */
	NPU_ARRIVAL_EMPTY,	/* the device looked at a ring and its next packet was not there */
	NPU_ARRIVAL_WRITE,	/* the host wrote to a register that has an influence on time */
	NPU_ARRIVAL_KINDS,
};

struct npu_arrival {
	uint64_t cycle;
	uint64_t value;		/* of SIGNAL, WRITE */
	uint32_t where;		/* queue; of WRITE: offset of the register */
	uint32_t kind;		/* enum npu_arrival_kind */
};

/* What a patient replay waits for. */
enum npu_arrival_wait {
	NPU_ARRIVAL_WAIT_NONE,
	NPU_ARRIVAL_WAIT_PACKET,	/* in the ring of queue @awaited */
	NPU_ARRIVAL_WAIT_WRITE,		/* the next arrival */
};

/**
 * struct npu_arrivals - what is being recorded or replayed
 * @record:	where arrivals are written, or NULL
 * @list:	what is replayed, or NULL; @count of them, by rising cycle
 * @next:	the first one that has still to come
 * @looked:	of each queue: the first one that may be its next empty look
 * @event:	when @next is due
 * @missing:	packets that were not there at the cycle of the recording, and looks in vain that were
 *	not made again
 * @patient:	time stands still for what the recording has and the host has not done yet
 * @wait:	it does so now: enum npu_arrival_wait
 */
struct npu_arrivals {
	FILE *record;
	struct npu_arrival *list;
	size_t count;
	size_t next;
	size_t looked[NPU_ARRIVAL_QUEUES];
	struct npu_alarm event;
	uint64_t missing;
	bool patient;
	uint32_t wait;
	uint32_t awaited;
};

/**
 * npu_arrival_door() - the host stored to a doorbell page
 *
 * Returns true when it counts, false in a replay, where the recorded ones do.
 */
bool npu_arrival_door(struct npu_model *model, enum npu_arrival_kind kind, unsigned int queue,
		      uint64_t value);

/**
 * npu_arrival_look() - the device looks whether a queue's next packet is there
 * @there:	whether it is in memory
 * @fetch:	it would be taken now; otherwise another look follows
 *
 * Returns whether it counts as there: in a replay if it was in the recording. When it was and has
 * to be waited for, a fetch is told false, and npu_arrivals_wait() is true.
 */
bool npu_arrival_look(struct npu_model *model, unsigned int queue, bool there, bool fetch);

/** npu_arrival_write() - the host writes to a register: one that is recorded is, or was awaited */
void npu_arrival_write(struct npu_model *model, uint32_t offset, uint32_t value);

/** npu_arrivals_wait() - whether time stands still until the host has done something */
static inline bool npu_arrivals_wait(const struct npu_arrivals *arrivals)
{
	return arrivals->wait != NPU_ARRIVAL_WAIT_NONE;
}

/**
 * npu_arrivals_due() - whether the recording has an arrival in this cycle that has still to come
 *
 * To a device that stands still it comes as well: what makes it go on is one of them.
 */
bool npu_arrivals_due(const struct npu_model *model);

/** npu_arrivals_leap() - cycles until the next arrival if nothing happens before it, else 0 */
uint64_t npu_arrivals_leap(const struct npu_model *model);

/** npu_arrivals_take() - have it come, before any other event */
void npu_arrivals_take(struct npu_model *model);

/** npu_arrivals_look_again() - whether what is waited for has been done is to be found out */
void npu_arrivals_look_again(struct npu_model *model);

/** npu_arrivals_release() - end recording and replay */
void npu_arrivals_release(struct npu_model *model);

#endif /* NPU_MODEL_ARRIVALS_H */
