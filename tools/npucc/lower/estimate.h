/* SPDX-License-Identifier: MIT */
/*
 * Predicted cycles of a layer from its instructions: what each engine has to do, and what the
 * memories have to move. For operators that have no cost model of their own.
 */
#ifndef NPUCC_LOWER_ESTIMATE_H
#define NPUCC_LOWER_ESTIMATE_H

#include "lower.h"

/* A cluster's descriptor registers, as they are after the layers estimated so far. */
struct estimate_registers {
	struct npu_td td[NPU_TD_COUNT];
};

/*
 * estimate_layer - figures of the instructions from @start[cluster] on to the end of each stream.
 * @registers: of each cluster; updated
 */
void estimate_layer(const struct lower *lower, struct estimate_registers *registers,
		    const size_t start[NPU_PROGRAM_CLUSTERS_MAX], struct lower_figures *figures);

#endif
