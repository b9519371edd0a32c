/* SPDX-License-Identifier: MIT */
/*
 * A device that does nothing as fast as it can: a thread takes packets from the ring, raises the
 * semaphore they name, and runs no program. What is measured against it is the host's cost alone.
 */
#ifndef NULL_DEVICE_H
#define NULL_DEVICE_H

#include "npurt.h"

/** null_device_open() - one device with one consumer; exits when out of memory */
struct npurt_device *null_device_open(void);

#endif /* NULL_DEVICE_H */
