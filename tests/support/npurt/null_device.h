/* SPDX-License-Identifier: MIT */
/*
 * A device that does nothing as fast as it can: a thread takes packets from the ring, raises the
 * semaphore they name, and runs no program. What is measured against it is the host's cost alone.
 */
#ifndef NULL_DEVICE_H
#define NULL_DEVICE_H

#include <stdint.h>

#include "npurt.h"

/** null_device_open() - one device with one consumer a queue; exits when out of memory */
struct npurt_device *null_device_open(void);

/** null_device_close() - everything made on it is gone */
void null_device_close(struct npurt_device *device);

/** null_device_stand_still() - take no packet from now on, but for those of null_device_go_on() */
void null_device_stand_still(struct npurt_device *device);

/** null_device_go_on() - take so many more; UINT64_MAX: all */
void null_device_go_on(struct npurt_device *device, uint64_t packets);

/** null_device_time_outs() - how many waits for its semaphores have timed out */
uint64_t null_device_time_outs(struct npurt_device *device);

#endif /* NULL_DEVICE_H */
