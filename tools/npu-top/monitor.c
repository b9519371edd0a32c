// SPDX-License-Identifier: MIT
#include "monitor.h"

#include <string.h>

void top_monitor_init(struct top_monitor *monitor)
{
	memset(monitor, 0, sizeof(*monitor));
	monitor->drm = top_drm_new("");
	monitor->events = top_events_new();
}

void top_monitor_fini(struct top_monitor *monitor)
{
	top_rates_free(&monitor->rates);
	top_sample_free(monitor->before);
	top_sample_free(monitor->now);
	top_drm_free(monitor->drm);
	top_events_free(monitor->events);
}

void top_monitor_take(struct top_monitor *monitor)
{
	top_rates_free(&monitor->rates);
	top_sample_free(monitor->before);
	monitor->before = monitor->now;
	monitor->now = top_sample_new();
	top_drm_collect(monitor->drm, monitor->now);
	top_pages_collect(NPURT_STATS_FOLDER, monitor->now);
	top_events_read(monitor->events, monitor->now);
	top_rates_make(&monitor->rates, monitor->before, monitor->now);
}

bool top_monitor_wait(struct top_monitor *monitor, int fd, double seconds)
{
	struct top_sample *now = monitor->now;
	uint64_t before = now->events ? now->event[now->events - 1].number : 0;

	top_events_wait(monitor->events, fd, seconds);
	top_events_read(monitor->events, now);
	return now->events && now->event[now->events - 1].number != before;
}
