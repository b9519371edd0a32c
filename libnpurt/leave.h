/* SPDX-License-Identifier: MIT */
/*
 * What the application has let go of while tasks in flight still use it: it stays until the last of
 * them is over. So a submission says of what it uses only which task that is, and nothing has to be
 * counted down when the task is over.
 */
#ifndef NPURT_LEAVE_H
#define NPURT_LEAVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct npurt_leaver {
	struct npurt_leaver *next;
	uint64_t until; /* no task uses it once the queue has retired what is below this index */
	void (*release)(struct npurt_leaver *leaver);
};

/* In the order of leaving. One that is used no longer may wait for one before it that still is. */
struct npurt_leavers {
	pthread_mutex_t lock;
	struct npurt_leaver *first, *last;
};

struct npurt_queue;

/*
 * Indices are rounded up to a multiple of this, so that what is used by every task has to be
 * changed for few of them only. Something may stay for so many packets less one too long, of those
 * that were there when it was let go of.
 */
#define NPURT_LEAVE_STEP 16u

/**
 * npurt_used_until() - a task uses something
 * @until: index behind the task's last packet
 *
 * Producers at the same time may say so in any order: the highest index counts.
 */
static inline void npurt_used_until(struct npurt_leaver *leaver, uint64_t until)
{
	uint64_t seen = __atomic_load_n(&leaver->until, __ATOMIC_RELAXED), next;

	if (seen >= until)
		return;
	next = (until + NPURT_LEAVE_STEP - 1) & ~(uint64_t)(NPURT_LEAVE_STEP - 1);
	while (seen < next && !__atomic_compare_exchange_n(&leaver->until, &seen, next, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/**
 * npurt_leave() - release something once no task in flight uses it
 * @leaver: its `release` is set; gone at once when no task in flight does
 *
 * May be called under retire_lock and under a graph's lock.
 */
void npurt_leave(struct npurt_queue *queue, struct npurt_leaver *leaver);

/** npurt_release_left() - release what need not stay any longer */
void npurt_release_left(struct npurt_queue *queue);

#endif /* NPURT_LEAVE_H */
