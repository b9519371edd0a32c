/* SPDX-License-Identifier: MIT */
/*
 * What queues of packets lead to, whoever schedules them: semaphores only grow and waits ask for
 * "at least", so every order of execution that the rules allow ends in the same state.
 */
#ifndef TEST_FIRMWARE_REFERENCE_H
#define TEST_FIRMWARE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define REFERENCE_QUEUES	24
#define REFERENCE_PACKETS	2048
#define REFERENCE_CONTEXTS	3
#define REFERENCE_SEMAPHORES	6
#define REFERENCE_NONE		0xffffu		/* no semaphore */

enum reference_kind {
	REFERENCE_TASK,		/* ends with `status`, then signals */
	REFERENCE_WAIT,
	REFERENCE_SIGNAL,
	REFERENCE_NOP,
	REFERENCE_BAD,		/* stops its queue */
};

struct reference_packet {
	enum reference_kind kind;
	uint16_t status;
	unsigned int semaphore;
	uint64_t value;		/* waited for, or added; tasks: 1 */
	bool data;		/* stores 64 bytes that tell queue and index */
};

struct reference_queue {
	unsigned int context;
	uint64_t pushed;
	uint64_t limit;		/* packets it may execute: it was destroyed there */
	uint64_t done;		/* set by reference_run() */
	struct reference_packet packet[REFERENCE_PACKETS];
};

struct reference {
	unsigned int queues;
	struct reference_queue queue[REFERENCE_QUEUES];
	uint64_t signalled[REFERENCE_CONTEXTS][REFERENCE_SEMAPHORES];	/* by the host */
	uint64_t value[REFERENCE_CONTEXTS][REFERENCE_SEMAPHORES];	/* set by reference_run() */
};

/** reference_run() - execute all that can be, in no particular order */
void reference_run(struct reference *reference);

#endif /* TEST_FIRMWARE_REFERENCE_H */
