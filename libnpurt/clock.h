/* SPDX-License-Identifier: MIT */
/*
 * Time, as deadlines count it.
 */
#ifndef NPURT_CLOCK_H
#define NPURT_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NPURT_NS_PER_SECOND 1000000000ll

/*
 * Who waits for something besides the device waits for the device in turns of this length: the back
 * end's wait cannot be cut short by anything but the device.
 */
#define NPURT_TURN_NS (50 * 1000000ll)

/** npurt_now() - CLOCK_MONOTONIC in nanoseconds */
int64_t npurt_now(void);

/** npurt_deadline() - when a time-out from now on ends; INT64_MAX: never */
int64_t npurt_deadline(int64_t timeout_ns);

/** npurt_timespec() - the form that system calls take */
static inline struct timespec npurt_timespec(int64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NPURT_NS_PER_SECOND),
		.tv_nsec = (long)(ns % NPURT_NS_PER_SECOND),
	};
}

#endif /* NPURT_CLOCK_H */
