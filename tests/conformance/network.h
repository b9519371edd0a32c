/* SPDX-License-Identifier: MIT */
/*
 * Compiled networks on a host of the firmware's tests: in device time, cycle for cycle. For programs
 * that print TAP.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "../unit/firmware/host.h"
#include "image.h"

#define NETWORK_COPIES 2 /* of arguments and outputs, used in turn */

/* A compiled network: the file, and where it is in a host's memory. */
struct network {
	struct npurt_source source;
	struct npurt_image image;
	uint64_t program, arguments[NETWORK_COPIES];
	uint64_t outputs[NETWORK_COPIES], output_bytes;
	uint8_t *expected; /* the outputs of a run alone */
	uint64_t alone, mac_alone; /* cycles of it, and of the array in it */
};

/** check() - a line of TAP */
void check(bool good, const char *what);

/** check_end() - its last one; what the program exits with */
int check_end(void);

/** die() - something is wrong with the test itself */
void die(const char *what) __attribute__((noreturn));

/** network_open() - read a compiled network, of one output; dies */
void network_open(struct network *network, const char *path);

/** network_place() - program, weights, scratch and save area once; outputs and arguments twice */
void network_place(struct host *host, struct network *network);

/** network_submit() - a task more for a queue, which no doorbell has told of yet */
void network_submit(struct host *host, unsigned int queue, const struct network *network,
		    uint32_t flags);

/** network_run_alone() - its first run, on an idle device: what it takes, and what comes out */
void network_run_alone(struct host *host, unsigned int queue, struct network *network);

/**
 * network_take_outputs() - are the outputs of the queue's task number @index there and right?
 *
 * They are gone afterwards.
 */
bool network_take_outputs(struct host *host, unsigned int queue, const struct network *network,
			  uint64_t index);

/** network_compare() - of uint64_t, for qsort() */
int network_compare(const void *one, const void *other);

#endif /* NETWORK_H */
