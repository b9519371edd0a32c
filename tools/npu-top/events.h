/* SPDX-License-Identifier: MIT */
/* The kernel's events of cards, as they come. */
#ifndef TOP_EVENTS_H
#define TOP_EVENTS_H

#include "sample.h"

struct top_events;

/** top_events_new() - listen, to what this user and this kernel let; exits when out of memory */
struct top_events *top_events_new(void);
void top_events_free(struct top_events *events);

/**
 * top_events_wait() - until there are events to be read, or input on @fd, or time is over, or a signal
 * @fd: -1: none
 * @seconds: more than 0
 */
void top_events_wait(const struct top_events *events, int fd, double seconds);

/**
 * top_events_read() - take what has come, and give the sample the last few
 * @sample: whose cards' events are taken; all else is none of ours
 */
void top_events_read(struct top_events *events, struct top_sample *sample);

#endif /* TOP_EVENTS_H */
