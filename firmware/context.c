// SPDX-License-Identifier: MIT
/*
 * Contexts.
 */
#include "context.h"
#include "hw.h"
#include "log.h"
#include "queue.h"

static bool created[CONTEXTS_MAX];

bool context_exists(u32 context)
{
	return context < hw.contexts && created[context];
}

enum npu_error context_create(u32 context)
{
	if (context >= hw.contexts)
		return NPU_ERROR_BAD_ARGUMENT;
	if (created[context])
		return NPU_ERROR_EXISTS;
	created[context] = true;
	log_write(LOG_INFO, "context %u: created", context, 0, 0);
	return NPU_ERROR_NONE;
}

enum npu_error context_destroy(u32 context)
{
	if (context >= hw.contexts)
		return NPU_ERROR_BAD_ARGUMENT;
	if (!created[context])
		return NPU_ERROR_NOT_FOUND;
	queue_destroy_all(context);
	return NPU_ERROR_NONE;
}

bool context_finish(u32 context)
{
	if (queue_any(context))
		return false;
	created[context] = false;
	log_write(LOG_INFO, "context %u: destroyed", context, 0, 0);
	return true;
}
