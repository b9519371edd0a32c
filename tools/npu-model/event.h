/* SPDX-License-Identifier: MIT */
/*
 * The event queue: what happens next in device time.
 *
 * Events are ordered by time, then by rank (the order within a cycle, timing.rst "Events at the
 * same cycle"), then by when they were scheduled. An event is a member of the object it is about,
 * so the queue allocates nothing.
 */
#ifndef NPU_MODEL_EVENT_H
#define NPU_MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npu_model;
struct npu_alarm;

typedef void npu_alarm_handler(struct npu_model *model, struct npu_alarm *event);

/**
 * struct npu_alarm - something that will happen
 * @handle:	called when its time has come, with the event no longer in the queue
 * @time:	cycle
 * @rank:	order within a cycle, NPU_RANK_*
 * @position:	index in the heap plus one; 0: not in the queue
 */
struct npu_alarm {
	npu_alarm_handler *handle;
	uint64_t time;
	uint32_t rank;
	uint32_t position;
};

/* Classes of ranks; below them comes the engine's order, then the cluster. */
#define NPU_RANK_COMPLETE(order, cluster)	(0x000u | (order) << 3 | (cluster))
#define NPU_RANK_COMMAND(index)			(0x100u | (index))
#define NPU_RANK_ARRIVAL			0x1ffu
#define NPU_RANK_CORE				0x200u
#define NPU_RANK_START(order, cluster)		(0x300u | (order) << 3 | (cluster))

/* More events than the device has objects with one. */
#define NPU_EVENT_CAPACITY	256

struct npu_event_entry {
	uint64_t time;
	uint64_t order;		/* rank, then sequence */
	struct npu_alarm *event;
};

struct npu_event_queue {
	uint32_t count;
	uint64_t sequence;
	struct npu_event_entry heap[NPU_EVENT_CAPACITY];
};

/**
 * npu_event_schedule() - put an event into the queue, or move it
 * @time:	when; not before the time of the event being handled
 */
void npu_event_schedule(struct npu_event_queue *queue, struct npu_alarm *event, uint64_t time);

/** npu_event_cancel() - take an event out of the queue, if it is in */
void npu_event_cancel(struct npu_event_queue *queue, struct npu_alarm *event);

/** npu_event_pop() - remove and return the first event; the queue must not be empty */
struct npu_alarm *npu_event_pop(struct npu_event_queue *queue);

static inline bool npu_event_pending(const struct npu_alarm *event)
{
	return event->position != 0;
}

/** npu_event_first() - the first event, left in the queue; NULL when there is none */
static inline struct npu_alarm *npu_event_first(const struct npu_event_queue *queue)
{
	return queue->count ? queue->heap[0].event : NULL;
}

#endif /* NPU_MODEL_EVENT_H */
