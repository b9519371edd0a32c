/* SPDX-License-Identifier: MIT */
/* Functions of two operands as vector instructions. */
#ifndef NPUCC_LOWER_ELTWISE_FUNCTION_H
#define NPUCC_LOWER_ELTWISE_FUNCTION_H

#include "vector_program.h"

/* A streamed operand, or a number (slot VECTOR_SCALAR). */
struct eltwise_operand {
	enum vector_slot slot;
	float scalar;
};

/*
 * eltwise_function - append dst = a @kind b; at most one operand is a number. Uses both temporaries and,
 * for POW, VECTOR_OUT. False when there is no such form.
 */
bool eltwise_function(struct vector_program *program, enum graph_eltwise_kind kind,
		      enum vector_slot dst, struct eltwise_operand a, struct eltwise_operand b);

/*
 * eltwise_takes_number - whether operand @index (0 or 1) of @kind may be @number rather than streamed: powers
 * have forms for some only.
 */
bool eltwise_takes_number(enum graph_eltwise_kind kind, uint32_t index, float number);

#endif
