// SPDX-License-Identifier: MIT
/* The event queue: a binary heap. See event.h. */
#include "event.h"

#include <stddef.h>

/* Sequence numbers are unique for 2^48 events: months of emulation. */
#define SEQUENCE_BITS	48

static bool before(const struct npu_event_entry *a, const struct npu_event_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void place(struct npu_event_queue *queue, uint32_t index, struct npu_event_entry entry)
{
	queue->heap[index] = entry;
	entry.event->position = index + 1;
}

static void sift_up(struct npu_event_queue *queue, uint32_t index, struct npu_event_entry entry)
{
	while (index) {
		uint32_t parent = (index - 1) / 2;

		if (!before(&entry, &queue->heap[parent]))
			break;
		place(queue, index, queue->heap[parent]);
		index = parent;
	}
	place(queue, index, entry);
}

static void sift_down(struct npu_event_queue *queue, uint32_t index, struct npu_event_entry entry)
{
	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= queue->count)
			break;
		if (child + 1 < queue->count &&
		    before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!before(&queue->heap[child], &entry))
			break;
		place(queue, index, queue->heap[child]);
		index = child;
	}
	place(queue, index, entry);
}

/* The hole at @index is filled by the last entry. */
static void remove_at(struct npu_event_queue *queue, uint32_t index)
{
	struct npu_event_entry last = queue->heap[--queue->count];

	if (index == queue->count)
		return;
	if (index && before(&last, &queue->heap[(index - 1) / 2]))
		sift_up(queue, index, last);
	else
		sift_down(queue, index, last);
}

void npu_event_cancel(struct npu_event_queue *queue, struct npu_alarm *event)
{
	uint32_t position = event->position;

	if (!position)
		return;
	event->position = 0;
	remove_at(queue, position - 1);
}

void npu_event_schedule(struct npu_event_queue *queue, struct npu_alarm *event, uint64_t time)
{
	struct npu_event_entry entry;

	npu_event_cancel(queue, event);
	/* Cannot happen: every event belongs to an object, and those are fewer. */
	if (queue->count == NPU_EVENT_CAPACITY)
		return;

	event->time = time;
	entry.time = time;
	entry.order = (uint64_t)event->rank << SEQUENCE_BITS |
		      (queue->sequence++ & ((1ull << SEQUENCE_BITS) - 1));
	entry.event = event;
	sift_up(queue, queue->count++, entry);
}

struct npu_alarm *npu_event_pop(struct npu_event_queue *queue)
{
	struct npu_alarm *event = queue->heap[0].event;

	event->position = 0;
	remove_at(queue, 0);
	return event;
}
