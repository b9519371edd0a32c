// SPDX-License-Identifier: MIT
/* Waiting in a line. */
#include "line.h"

#include "thread.h"

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
	int ret = 0;

	while (line->first != place && !ret)
		ret = npurt_cond_wait(&place->first, &line->lock, deadline_ns);
	return ret;
}

int npurt_line_enter(struct npurt_line *line, struct npurt_line_place *place, int64_t deadline_ns)
{
	int ret;

	npurt_cond_init(&place->first);
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
