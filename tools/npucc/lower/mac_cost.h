/* SPDX-License-Identifier: MIT */
/*
 * Predicted cycles of MAC plans, by the formulas of Documentation/hardware/timing.rst.
 */
#ifndef NPUCC_LOWER_MAC_COST_H
#define NPUCC_LOWER_MAC_COST_H

#include "mac.h"

/*
 * mac_cost - complete @plan (slot sizes, local_bytes, cycles, dram_bytes) from its choices.
 * Returns false when it does not fit @local_free bytes.
 */
bool mac_cost(const struct lower *lower, const struct mac_problem *problem, struct mac_plan *plan,
	      uint32_t local_free);

/* mac_step_cycles - what @positions of chunk @chunk take the array, with its weights and sums there. */
uint64_t mac_step_cycles(const struct npu_config *config, const struct mac_problem *problem,
			 const struct mac_plan *plan, uint64_t positions, uint32_t chunk);

/* mac_chunks - set plan->chunks (caller's array of @capacity) by split, kernel_split, piece_depth. */
bool mac_chunks(const struct mac_problem *problem, struct mac_plan *plan, struct mac_chunk *chunks,
		uint32_t capacity);

/*
 * burst_estimate - 64-byte bursts of moving @dims elements of @element bytes by @strides: runs
 * whose ends are not known to be aligned count one more.
 */
uint64_t burst_estimate(const uint32_t dims[3], const int64_t strides[3], uint32_t element);

#endif
