/* SPDX-License-Identifier: MIT */
/* Events: what a message of the kernel says of a card, and the last few of them. */
#ifndef TOP_EVENT_H
#define TOP_EVENT_H

#include "sample.h"

/**
 * top_event_read_uevent() - a card's WEDGED=
 * @bytes: one message of the group of the kernel's uevents, or anything else
 *
 * True when it is one; its number, time and, in @event->bus, place are still open.
 */
bool top_event_read_uevent(const void *bytes, size_t length, struct top_event *event);

/**
 * top_event_read_devlink() - a report of a health reporter
 * @bytes: one message of devlink's group "config", or anything else; aligned to 4
 * @family: devlink's number among the families of generic netlink
 *
 * True when it is one; its number, time and, in @event->device, name are still open.
 */
bool top_event_read_devlink(const void *bytes, size_t length, int family,
			    struct top_event *event);

/** top_event_make_lost() - messages have come faster than they were read */
void top_event_make_lost(struct top_event *event);

/** top_event_place() - fill in name and bus from a card of the sample; false: it is none of ours */
bool top_event_place(struct top_event *event, const struct top_sample *sample);

/* The last ones, oldest first. */
struct top_event_ring {
	uint64_t number; /* of the last one */
	size_t count;
	struct top_event event[TOP_EVENTS];
};

/** top_event_add() - number it; loss upon loss is one event. The oldest makes room */
void top_event_add(struct top_event_ring *ring, const struct top_event *event);

/** top_event_kind_name() - a word for it */
const char *top_event_kind_name(enum top_event_kind kind);

#endif /* TOP_EVENT_H */
