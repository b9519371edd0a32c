// SPDX-License-Identifier: MIT
/*
 * Who leaves looks at how far the queue has come after it is in the list, and who retires looks at the
 * list after it has said how far it has come: with full fences between, one of them releases it.
 */
#include "leave.h"

#include <stddef.h>

#include "objects.h"

static void append(struct npurt_queue *queue, struct npurt_leaver *leaver)
{
	struct npurt_leavers *leavers = &queue->leavers;

	leaver->next = NULL;
	pthread_mutex_lock(&leavers->lock);
	if (leavers->first)
		leavers->last->next = leaver;
	else
		__atomic_store_n(&leavers->first, leaver, __ATOMIC_SEQ_CST);
	leavers->last = leaver;
	pthread_mutex_unlock(&leavers->lock);
}

static struct npurt_leaver *take_left(struct npurt_queue *queue)
{
	struct npurt_leavers *leavers = &queue->leavers;
	struct npurt_leaver *leaver;

	if (!__atomic_load_n(&leavers->first, __ATOMIC_SEQ_CST))
		return NULL;
	pthread_mutex_lock(&leavers->lock);
	leaver = leavers->first;
	if (leaver && leaver->until <= __atomic_load_n(&queue->retired, __ATOMIC_SEQ_CST))
		__atomic_store_n(&leavers->first, leaver->next, __ATOMIC_SEQ_CST);
	else
		leaver = NULL;
	pthread_mutex_unlock(&leavers->lock);
	return leaver;
}

void npurt_release_left(struct npurt_queue *queue)
{
	struct npurt_leaver *leaver;

	npurt_fence();
	while ((leaver = take_left(queue)))
		leaver->release(leaver);
}

static bool is_unused(const struct npurt_queue *queue, struct npurt_leaver *leaver)
{
	uint64_t written;

	/* A context that is not whole yet, or no longer, has nothing in flight. */
	if (!npurt_queue_is_there(queue))
		return true;
	/* What it was rounded up to may never be reached. */
	written = npurt_ring_written(&queue->ring);
	if (leaver->until > written)
		leaver->until = written;
	return leaver->until <= __atomic_load_n(&queue->retired, __ATOMIC_ACQUIRE);
}

void npurt_leave(struct npurt_queue *queue, struct npurt_leaver *leaver)
{
	if (is_unused(queue, leaver)) {
		leaver->release(leaver);
		return;
	}
	append(queue, leaver);
	npurt_release_left(queue);
}
