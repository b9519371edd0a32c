/* SPDX-License-Identifier: MIT */
/*
 * Doorbell pages that the client maps: memory that a thread looks at all the time.
 *
 * A store that comes while the one before it in the same place was not yet seen replaces it. For a
 * ring that is right, as one look at the ring sees all; of two signals one is lost. The value 0
 * cannot be seen at all. So this is for measuring, and the default are trapped pages.
 */
#ifndef NPU_DEVICE_DOORBELLS_H
#define NPU_DEVICE_DOORBELLS_H

#include <stddef.h>

#include "npu_model_thread.h"

struct doorbells;

/**
 * doorbells_create() - zeroed pages and the thread that looks at them
 * @model:	whose doorbells they are; must outlive the thread
 *
 * Returns NULL with a sentence in @error. To be freed with doorbells_destroy().
 */
struct doorbells *doorbells_create(struct npu_model_thread *model, char *error, size_t error_size);
void doorbells_destroy(struct doorbells *doorbells);

/* doorbells_fd() - the pages' file, CONFIG_BAR2_BYTES long */
int doorbells_fd(const struct doorbells *doorbells);

/* doorbells_clear() - forget stores that were not seen yet; any thread */
void doorbells_clear(struct doorbells *doorbells);

#endif
