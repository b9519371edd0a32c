/* SPDX-License-Identifier: MIT */
/* The newest sample, the one before it, and what lies between. */
#ifndef TOP_MONITOR_H
#define TOP_MONITOR_H

#include "events.h"
#include "rates.h"
#include "source.h"

struct top_monitor {
	struct top_drm *drm;
	struct top_events *events;
	struct top_sample *before, *now;
	struct top_rates rates;
};

void top_monitor_init(struct top_monitor *monitor);
void top_monitor_fini(struct top_monitor *monitor);

/** top_monitor_take() - take a sample; monitor->rates is what happened since the one before */
void top_monitor_take(struct top_monitor *monitor);

/**
 * top_monitor_wait() - until an event comes, or input on @fd, or time is over, or a signal
 * @fd: -1: none
 * @seconds: more than 0
 *
 * There has been a sample; it is given the events that came. True: there are new ones.
 */
bool top_monitor_wait(struct top_monitor *monitor, int fd, double seconds);

#endif /* TOP_MONITOR_H */
