// SPDX-License-Identifier: MIT
/* Waiting in a line. */
#include <errno.h>

#include "line.h"
#include "objects.h"

void npurt_line_init(struct npurt_line *line)
{
	pthread_mutex_init(&line->lock, NULL);
}

void npurt_line_fini(struct npurt_line *line)
{
	pthread_mutex_destroy(&line->lock);
}

/* Under the lock. */
static void enqueue(struct npurt_line *line, struct npurt_line_place *place)
{
	place->next = NULL;
	if (line->last)
		line->last->next = place;
	else
		line->first = place;
	line->last = place;
	__atomic_fetch_add(&line->waiting, 1, __ATOMIC_RELEASE);
}

/* From wherever it is; tells a new first one. Under the lock. */
static void dequeue(struct npurt_line *line, struct npurt_line_place *place)
{
	struct npurt_line_place **link = &line->first, *before = NULL;

	while (*link != place) {
		before = *link;
		link = &before->next;
	}
	*link = place->next;
	if (line->last == place)
		line->last = before;
	__atomic_fetch_sub(&line->waiting, 1, __ATOMIC_RELEASE);
	if (!before && line->first)
		pthread_cond_signal(&line->first->first);
}

/* Under the lock. */
static int wait_for_turn(struct npurt_line *line, struct npurt_line_place *place,
			 int64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NPURT_NS_PER_SECOND),
		.tv_nsec = (long)(deadline_ns % NPURT_NS_PER_SECOND),
	};

	while (line->first != place) {
		if (deadline_ns == INT64_MAX) {
			pthread_cond_wait(&place->first, &line->lock);
			continue;
		}
		if (npurt_now() >= deadline_ns)
			return -ETIMEDOUT;
		pthread_cond_timedwait(&place->first, &line->lock, &deadline);
	}
	return 0;
}

int npurt_line_enter(struct npurt_line *line, struct npurt_line_place *place, int64_t deadline_ns)
{
	pthread_condattr_t attributes;
	int ret;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&place->first, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_lock(&line->lock);
	enqueue(line, place);
	ret = wait_for_turn(line, place, deadline_ns);
	pthread_mutex_unlock(&line->lock);
	return ret;
}

void npurt_line_leave(struct npurt_line *line, struct npurt_line_place *place)
{
	pthread_mutex_lock(&line->lock);
	dequeue(line, place);
	pthread_mutex_unlock(&line->lock);
	pthread_cond_destroy(&place->first);
}
