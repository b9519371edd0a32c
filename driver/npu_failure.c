// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a device was stopped for, in words: of logs, sysfs, devlink and core dumps.
 */
#include "npu_device.h"

static const char * const npu_failures[] = {
	[NPU_FAILURE_NONE] = "none",
	[NPU_FAILURE_REQUEST] = "somebody asked for a reset",
	[NPU_FAILURE_BUS_RESET] = "its bus resets it",
	[NPU_FAILURE_BUS_ERROR] = "its bus reports an error",
	[NPU_FAILURE_BUS_LOST] = "its bus has lost it",
	[NPU_FAILURE_HEAT] = "it became too hot",
	[NPU_FAILURE_PANIC] = "the firmware died",
	[NPU_FAILURE_CORE] = "the control core died",
	[NPU_FAILURE_SILENCE] = "the firmware does not answer",
	[NPU_FAILURE_INVALIDATION] = "a TLB invalidation did not complete",
	[NPU_FAILURE_CONTEXT_END] = "the firmware does not end a context",
	[NPU_FAILURE_QUEUE_END] = "the firmware does not end a queue",
	[NPU_FAILURE_NO_ANSWER] = "the device does not answer",
	[NPU_FAILURE_RESTART] = "the device does not start again after a reset",
	[NPU_FAILURE_RESUME] = "the device does not come back from a suspend",
	[NPU_FAILURE_WAKE] = "it does not wake up for a reset",
	[NPU_FAILURE_PAGE_TABLES] = "page tables and mappings differ",
};

/**
 * npu_failure_text() - a failure in words
 * @failure: what the device was stopped for
 *
 * Return: a sentence without its full stop; it stays.
 */
const char *npu_failure_text(enum npu_failure failure)
{
	return npu_failures[failure];
}
