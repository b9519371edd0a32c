/* SPDX-License-Identifier: MIT */
/*
 * A short list of vector instructions that computes one tile of an element-wise
 * function: made once a node, emitted once a tile.
 */
#ifndef NPUCC_LOWER_VECTOR_PROGRAM_H
#define NPUCC_LOWER_VECTOR_PROGRAM_H

#include "lower.h"

enum vector_slot {
	VECTOR_NONE,
	VECTOR_SCALAR,		/* the step's immediate */
	VECTOR_TABLE,		/* function table `table` of the program, in local SRAM */
	VECTOR_IN0,
	VECTOR_IN1,
	VECTOR_IN2,
	VECTOR_OUT,
	VECTOR_TEMP0,		/* fp32, the tile's shape */
	VECTOR_TEMP1,
	VECTOR_SLOT_COUNT
};

struct vector_step {
	enum npu_vec function;
	enum vector_slot dst, a, b, c;
	float scalar;
};

#define VECTOR_MAX_STEPS 24

struct vector_program {
	struct vector_step steps[VECTOR_MAX_STEPS];
	uint32_t count;
	bool overflow;				/* more steps than there is room for */
	bool uses_table;
	struct graph_activation table;		/* function of VECTOR_TABLE */
	bool uses_temp[2];
};

/* vector_step - append one step. */
void vector_step(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		 enum vector_slot a, enum vector_slot b, enum vector_slot c, float scalar);

/* vector_activation_supported - whether vector_activation() can express @kind. */
bool vector_activation_supported(enum graph_activation_kind kind);

/*
 * vector_activation - append dst = activation(src). May use VECTOR_TEMP1; @src may be
 * @dst. NONE appends a copy where src and dst differ.
 */
void vector_activation(struct vector_program *program, const struct graph_activation *activation,
		       enum vector_slot dst, enum vector_slot src);

/* vector_emit - emit all steps on @stream; @operand[slot] is the operand of each slot in use. */
void vector_emit(const struct vector_program *program, struct stream *stream,
		 const struct npu_td operand[VECTOR_SLOT_COUNT]);

/* vector_table_bytes - of local SRAM that vector_load_table() takes. */
uint32_t vector_table_bytes(const struct vector_program *program);

/*
 * vector_load_table - bring the program's table into local SRAM of @cluster, once a layer;
 * the first vector instruction after it waits for it. Sets @operand[VECTOR_TABLE]. Does nothing
 * when the program has none. Returns 0, or -1 with a sentence.
 */
int vector_load_table(const struct vector_program *program, struct lower *lower, uint32_t cluster,
		      struct npu_td operand[VECTOR_SLOT_COUNT]);

#endif
