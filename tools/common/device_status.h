/* SPDX-License-Identifier: MIT */
/*
 * Exit statuses of programs that cannot work with a device, for scripts to tell apart. The sentence
 * on standard error says what to do.
 */
#ifndef DEVICE_STATUS_H
#define DEVICE_STATUS_H

#include <errno.h>

enum device_status {
	DEVICE_STATUS_FAILED = 1, /* another reason */
	DEVICE_STATUS_NONE = 3, /* there is no such device */
	DEVICE_STATUS_DENIED = 4, /* this user, or container, may not use it */
	DEVICE_STATUS_WEDGED = 5, /* it is there and does not answer */
	DEVICE_STATUS_GONE = 6, /* it was there: unplugged, dead, or without its driver */
};

/* What helps a device that its driver cannot start again: the end of a sentence. */
#define DEVICE_DEAD_REMEDY "unbind its driver and bind it, or switch its power off and on"

/** device_status() - the exit status for a negative errno of opening or asking a device */
static inline int device_status(int error)
{
	switch (error) {
	case -ENOENT:
		return DEVICE_STATUS_NONE;
	case -EACCES:
	case -EPERM:
		return DEVICE_STATUS_DENIED;
	case -EIO:
	case -ETIMEDOUT:
		return DEVICE_STATUS_WEDGED;
	case -ENODEV:
		return DEVICE_STATUS_GONE;
	default:
		return DEVICE_STATUS_FAILED;
	}
}

#endif /* DEVICE_STATUS_H */
