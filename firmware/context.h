/* SPDX-License-Identifier: MIT */
/*
 * Contexts: which the host created.
 */
#ifndef FIRMWARE_CONTEXT_H
#define FIRMWARE_CONTEXT_H

#include "npu/npu_packet.h"
#include "types.h"

/**
 * context_create() - returns NPU_ERROR_NONE, BAD_ARGUMENT or EXISTS
 */
enum npu_error context_create(u32 context);

/**
 * context_destroy() - begin to destroy a context: its running tasks are killed
 *
 * Returns NPU_ERROR_NONE, BAD_ARGUMENT or NOT_FOUND. It is gone when context_finish() says so.
 */
enum npu_error context_destroy(u32 context);

/**
 * context_finish() - end what context_destroy() began, once nothing of it runs
 *
 * Returns whether the context is gone.
 */
bool context_finish(u32 context);

/**
 * context_exists() - false for any number that is no context
 */
bool context_exists(u32 context);

#endif /* FIRMWARE_CONTEXT_H */
