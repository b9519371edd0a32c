/* SPDX-License-Identifier: MIT */
#ifndef TOP_DRIVER_SAYS_H
#define TOP_DRIVER_SAYS_H

#include "sample.h"

/**
 * top_driver_says_read() - what its driver says of the card device->name, without asking the card
 * @root: as of top_drm_new()
 *
 * Returns false when the card itself must not be asked: whoever asks one that is being reset waits
 * for it, and a dead one has nothing to say. State and trouble say so then.
 */
bool top_driver_says_read(struct top_device *device, const char *root);

#endif /* TOP_DRIVER_SAYS_H */
