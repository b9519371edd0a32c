/* SPDX-License-Identifier: MIT */
/*
 * Sleeping until a word in memory changes.
 */
#ifndef NPURT_FUTEX_H
#define NPURT_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

/** npurt_futex_wake() - wake up to @count threads that sleep on @word */
static inline void npurt_futex_wake(uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/**
 * npurt_futex_wait() - sleep until @word is not @expected, or something woke us, or a deadline
 * @deadline_ns: CLOCK_MONOTONIC; INT64_MAX: none
 *
 * May return for no reason.
 */
static inline void npurt_futex_wait(uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
	const struct timespec deadline = npurt_timespec(deadline_ns);

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
		deadline_ns == INT64_MAX ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

#endif /* NPURT_FUTEX_H */
