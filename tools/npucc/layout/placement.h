/* SPDX-License-Identifier: MIT */
/*
 * Where a value lives in DRAM while the program runs: argument register, offset,
 * element type and a stride for each logical (ONNX order) dimension. Views
 * (Transpose, Reshape, Slice, Split where strides allow) share their source's
 * memory, so they cost nothing; whoever reads a value reads it by its strides.
 */
#ifndef NPUCC_LAYOUT_PLACEMENT_H
#define NPUCC_LAYOUT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../graph/graph.h"
#include "npu/npu_isa.h"

struct placement {
	uint32_t argument;	/* NPU_ARG_*, or STREAM_ARGUMENT_GLOBAL (emit/stream.h) */
	int64_t offset;		/* bytes from the argument's base, or in the window */
	enum npu_dtype dtype;
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK];
	int64_t strides[GRAPH_MAX_RANK];	/* bytes; any order, may be 0 or negative */
};

/* What planes between nodes look like in memory. */
enum layout_preference {
	LAYOUT_AUTO,		/* channels last around convolutions and pools */
	LAYOUT_NHWC,		/* channels last wherever there are four dims */
	LAYOUT_NCHW,		/* never */
};

/* Memory for values between nodes. */
struct layout_memory {
	uint64_t global_limit;		/* in: bytes of global SRAM values may live in */
	uint64_t global_bytes;		/* out: of these, used */
	uint64_t scratch_bytes;		/* out: of .bss */
};

/*
 * layout_plan - give every value of @graph a placement (value->user): graph inputs and
 * outputs dense in ONNX order in their own arguments, constants in .rodata (by the
 * lowering that uses them: they get none here), intermediate values in global SRAM where there
 * is room, else in .bss, with lifetimes packed (memory of values that are no longer read is
 * reused). 4-D values around convolutions and pools are channels-last there.
 * Returns 0, or -1 with a sentence.
 */
int layout_plan(struct graph *graph, enum npu_dtype float_type, enum layout_preference preference,
		struct layout_memory *memory, struct diag *diag);

/* layout_dtype - how the device holds elements of @dtype; floats become @float_type. */
enum npu_dtype layout_dtype(enum graph_dtype dtype, enum npu_dtype float_type);

/*
 * layout_same_bits - a CAST from @from to @to leaves the device's bits as they are: floats, and
 * integers that it holds in one type.
 */
bool layout_same_bits(enum graph_dtype from, enum graph_dtype to);

/* layout_is_view - @node's outputs all share the memory of its input: there is nothing to do. */
bool layout_is_view(const struct graph_node *node);

/* placement_of - the placement of a non-constant value; never NULL after layout_plan(). */
const struct placement *placement_of(const struct graph_value *value);

/*
 * placement_collapse - merge neighbouring dims that are contiguous in all @count
 * placements at once (all of the same dims); dims of size 1 vanish. Rewrites them to the
 * same, smaller rank and returns it.
 */
uint32_t placement_collapse(struct placement *placements, uint32_t count);

#endif
