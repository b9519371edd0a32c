// SPDX-License-Identifier: MIT
/* Words for the device's numbers. */
#include "words.h"

#include <stddef.h>

#include "npu/npu_packet.h"

static const struct {
	uint32_t error;
	const char *meaning;
} meanings[] = {
	{ NPU_ERROR_MMU_UNMAPPED, "nothing is mapped there" },
	{ NPU_ERROR_MMU_PERMISSION, "the mapping does not allow it" },
	{ NPU_ERROR_MMU_ACCESSED_DIRTY, "the mapping is not marked as accessed or dirty" },
	{ NPU_ERROR_MMU_MALFORMED, "the page tables are malformed" },
	{ NPU_ERROR_VA_RANGE, "it is no address of a context" },
	{ NPU_ERROR_LOCAL_RANGE, "it lies outside local SRAM" },
	{ NPU_ERROR_GLOBAL_RANGE, "it lies outside the task's window of global SRAM" },
	{ NPU_ERROR_BUS, "the host's memory there did not answer" },
	{ NPU_ERROR_ECC, "the memory there has lost bits" },
	{ NPU_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction" },
	{ NPU_ERROR_BAD_DESCRIPTOR, "bad tensor descriptor" },
	{ NPU_ERROR_TOKEN_OVERFLOW, "a token was released too often" },
	{ NPU_ERROR_LOOP, "loops nested wrongly" },
	{ NPU_ERROR_PROGRAM_END, "it ran past the program's end" },
	{ NPU_ERROR_SAVED_STATE, "the saved state of the preempted task was overwritten" },
	{ NPU_ERROR_ACCUMULATOR_RANGE, "it reached outside the accumulators" },
	{ NPU_ERROR_BAD_PACKET, "a malformed packet" },
	{ NPU_ERROR_BAD_PROGRAM, "the program's header is refused" },
	{ NPU_ERROR_NO_RESOURCES, "it needs more clusters or SRAM than the device has" },
	{ NPU_ERROR_BUDGET, "its budget of cycles ran out" },
	{ NPU_ERROR_KILLED, "it was killed" },
	{ NPU_ERROR_BAD_SEMAPHORE, "a semaphore that does not exist" },
	{ NPU_ERROR_RING, "the ring's memory faulted" },
};

const char *npurt_describe_error(uint32_t error)
{
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (meanings[i].error == error)
			return meanings[i].meaning;
	}
	return "for a reason this version does not know";
}

bool npurt_is_memory_error(uint32_t error)
{
	return error >= NPU_ERROR_MMU_UNMAPPED && error <= NPU_ERROR_ECC;
}

bool npurt_is_sram_error(uint32_t error)
{
	return error == NPU_ERROR_LOCAL_RANGE || error == NPU_ERROR_GLOBAL_RANGE ||
	       error == NPU_ERROR_ECC;
}

const char *npurt_access_name(uint32_t access)
{
	static const char *const names[] = {
		"reading",
		"writing",
		"fetching the program at",
		"reading the ring at",
	};

	return access < sizeof(names) / sizeof(names[0]) ? names[access] : "reaching for";
}
