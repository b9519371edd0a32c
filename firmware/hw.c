// SPDX-License-Identifier: MIT
/*
 * What the device has.
 */
#include "hw.h"
#include "log.h"
#include "panic.h"

struct hw hw;

static u32 capability(u32 offset, u32 most)
{
	u32 value = hw_read(offset);

	if (value == 0)
		panic(NPU_PANIC_HARDWARE, offset);
	if (value > most) {
		log_write(LOG_WARNING, "register %x: %u, only %u are used", offset, value, most);
		return most;
	}
	return value;
}

u32 hw_megahertz(void)
{
	u32 megahertz = hw_read(NPU_REG_CLOCK_HZ) / 1000000;

	return megahertz ? megahertz : 1;
}

void hw_probe(void)
{
	if (hw_read(NPU_REG_ID) != NPU_ID_VALUE)
		panic(NPU_PANIC_HARDWARE, NPU_REG_ID);
	hw.megahertz = hw_megahertz();
	hw.queues = capability(NPU_REG_QUEUES, QUEUES_MAX);
	hw.slots = capability(NPU_REG_SLOTS, SLOTS_MAX);
	hw.contexts = capability(NPU_REG_CONTEXTS, CONTEXTS_MAX);
	hw.clusters = capability(NPU_REG_CLUSTERS, CLUSTERS_MAX);
	hw.global_bytes = capability(NPU_REG_GLOBAL_BYTES, ~0u);
}
