/* SPDX-License-Identifier: MIT */
/*
 * What the application has let go of while tasks in flight may still use it: it stays until all that
 * was in flight then is over. So a submission need not count what it uses.
 */
#ifndef NPURT_LEAVE_H
#define NPURT_LEAVE_H

#include <pthread.h>
#include <stdint.h>

struct npurt_leaver {
	struct npurt_leaver *next;
	uint64_t until; /* the queue has retired what is below this index */
	void (*release)(struct npurt_leaver *leaver);
};

/* In the order of leaving, which is that of `until`. */
struct npurt_leavers {
	pthread_mutex_t lock;
	struct npurt_leaver *first, *last;
};

struct npurt_queue;

/**
 * npurt_leave() - release something once nothing in flight can use it
 * @leaver: its `release` is set; gone at once when nothing is in flight
 *
 * May be called under retire_lock and under a graph's lock.
 */
void npurt_leave(struct npurt_queue *queue, struct npurt_leaver *leaver);

/** npurt_release_left() - release what need not stay any longer */
void npurt_release_left(struct npurt_queue *queue);

#endif /* NPURT_LEAVE_H */
