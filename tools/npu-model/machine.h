/* SPDX-License-Identifier: MIT */
/*
 * The whole device. Internal to the library; npu_model.h is its interface.
 *
 * Read in this order: event.h (what happens next), npu_model.c (the loop), command_processor.h (a
 * packet's way), task.h, front_end.c, engine.c (an instruction's way), bandwidth.h (how long it
 * takes), operation.h and execute.h (what it does), dma.c, mmu.h, semaphore.h, context_counters.h,
 * registers.h, control_core.h; clock.h and heat.h, which have no influence on any of these but by
 * what the control core makes of it; fault_script.h is what tests make go wrong.
 *
 * All state hangs on struct npu_model; events are members of what they are about, so running
 * allocates nothing. Whatever ends a task resets its clusters at once: a function that may have
 * done so says it in its return value, and its caller touches them no more.
 */
#ifndef NPU_MODEL_MACHINE_H
#define NPU_MODEL_MACHINE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrivals.h"
#include "bandwidth.h"
#include "clock.h"
#include "cluster.h"
#include "command_processor.h"
#include "config.h"
#include "context_counters.h"
#include "control_core.h"
#include "event.h"
#include "fault_script.h"
#include "heat.h"
#include "mmu.h"
#include "npu_model.h"
#include "power.h"
#include "registers.h"
#include "semaphore.h"

/* Global SRAM remembers the owner of each piece of so many bytes. */
#define NPU_OWNER_BYTES		64u

/* Device totals; bytes of DRAM are counted in bursts. */
struct npu_counters {
	uint64_t tasks, mac, vector, dma, dram_read, dram_write, scrub;
	uint64_t preemptions;
	uint64_t ecc_corrected, ecc_uncorrected;
};

struct npu_model {
	struct npu_config config;
	struct npu_model_host_ops ops;
	void *host;
	uint64_t now;
	const uint32_t *yield;		/* not 0: npu_model_run() returns after the event at hand */
	struct npu_event_queue events;
	struct npu_bandwidth bandwidth;
	struct npu_counters counters;
	struct npu_power power;
	struct npu_clock clock;
	struct npu_heat heat;
	struct npu_injection injection;
	struct npu_arrivals arrivals;
	struct npu_registers registers;
	struct npu_command_processor command;
	struct npu_semaphores semaphores;
	struct npu_context_costs costs[NPU_CONTEXTS_MAX];
	struct npu_control_core core;
	uint8_t *global;
	uint8_t *global_owner;		/* scrub.h: whose data is in a piece */
	struct npu_cluster clusters[NPU_CONFIG_CLUSTERS_MAX];
	struct npu_mmu mmu;
};

/* Nothing in it moves any more, whatever there is to be done. */
static inline bool npu_model_stands_still(const struct npu_model *model)
{
	return model->injection.tripped || model->injection.dead;
}

/** npu_model_idle() - as npu_model_run() says it */
bool npu_model_idle(const struct npu_model *model);

/* A read of DRAM that nothing hides: a level of a walk, a packet, a record. */
static inline uint64_t npu_walk_cycles(const struct npu_config *config)
{
	return config->dram_latency + npu_config_burst_cycles(config);
}

/**
 * npu_model_core_read() - a read of the control core's register window
 * npu_model_core_write() - a write to it
 *
 * For the control core, and for tests that play its part. Offsets as for the host, those from
 * NPU_REG_CORE_ONLY up included.
 */
uint32_t npu_model_core_read(struct npu_model *model, uint32_t offset);
void npu_model_core_write(struct npu_model *model, uint32_t offset, uint32_t value);

#endif /* NPU_MODEL_MACHINE_H */
