/* SPDX-License-Identifier: MIT */
/* Where samples come from. A source adds what it sees, and notes of what it cannot see. */
#ifndef TOP_SOURCE_H
#define TOP_SOURCE_H

#include "sample.h"

struct top_drm;

/**
 * top_drm_new() - what the kernel says of devices and of files open on them
 * @root: "" for the system's /sys and /proc; a folder that holds both, for tests
 */
struct top_drm *top_drm_new(const char *root);
void top_drm_free(struct top_drm *drm);
void top_drm_collect(struct top_drm *drm, struct top_sample *sample);

/**
 * top_pages_collect() - what processes publish of the devices they have opened
 * @folder: NPURT_STATS_FOLDER; another one for tests
 *
 * After top_drm_collect(), whose devices and processes it adds to.
 */
void top_pages_collect(const char *folder, struct top_sample *sample);

#endif /* TOP_SOURCE_H */
