/* SPDX-License-Identifier: MIT */
#ifndef NPUCC_COMMAND_COMPILE_H
#define NPUCC_COMMAND_COMPILE_H

#include "../emit/program.h"
#include "options.h"

/* command_compile, command_scan - the commands; return the exit status. */
int command_compile(const struct options *options);
int command_scan(const struct options *options);

/* What compile_graph() found out, for reports. */
struct compile_report {
	uint64_t macs, predicted_cycles, roofline_cycles, floor_cycles;
	uint64_t dram_bytes;		/* planned traffic */
	uint64_t least_dram_bytes;	/* every weight, input and output once */
	enum npu_dtype precision;	/* of most MACs */
	uint32_t layers, sram_peak_bytes;
	const struct graph_node *refused;	/* by its lowering */
	uint64_t scratch_bytes, global_bytes, text_bytes, rodata_bytes;
};

/*
 * compile_graph - lay out and lower @graph (which gets placements) into @program, whose parts
 * are in the graph's arena; its .rodata is the caller's to free().
 * @log: tile choices, or NULL. Returns 0, or -1 with a sentence in @diag.
 */
int compile_graph(struct graph *graph, const struct options *options, FILE *log,
		  struct program *program, struct compile_report *report, struct diag *diag);

/*
 * roofline - bound and floor of the whole network in cycles. The bound is the sum over MAC nodes of
 * the larger of array time and the DRAM time of their constant weights, plus that of the
 * network's inputs and outputs; the floor is the larger of the sums of array and DRAM time.
 */
void roofline(const struct graph *graph, const struct npu_config *config,
	      struct compile_report *report);

#endif
