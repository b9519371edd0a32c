/* SPDX-License-Identifier: MIT */
/*
 * The same thing again and again, and what must not grow meanwhile.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include "npurt.h"

/* What a process has taken. */
struct footprint {
	uint64_t resident_bytes;
	uint64_t mapped_bytes;
	uint32_t descriptors;
};

struct footprint footprint_now(void);

/**
 * footprint_grew() - is there more now, beyond what the allocator and the kernel keep at hand?
 * @what: printed with both
 */
bool footprint_grew(const char *what, const struct footprint *before);

int64_t soak_now(void);

/** must() - exits with the library's sentence when a call has failed */
void must(int ret, const char *call);
#define ok(call) must((call), #call)

/* Each returns whether all held. @count: how often. */
bool soak_queue(uint64_t count);
bool soak_load(uint64_t count);
bool soak_open(uint64_t count);

#endif /* SOAK_H */
