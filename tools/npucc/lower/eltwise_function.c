/* SPDX-License-Identifier: MIT */
#include "eltwise_function.h"

#include <math.h>

/* Exponents up to here are products, two a bit; beyond, logarithms are shorter. */
#define PRODUCT_EXPONENT_MAX 255
/* Stands for log 0 where it is multiplied by an exponent that may be 0. */
#define LOG_ZERO -1e30f

static void step(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		 enum vector_slot a, struct eltwise_operand b)
{
	vector_step(program, function, dst, a, b.slot, VECTOR_NONE, b.scalar);
}

static void unary(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		  enum vector_slot a)
{
	vector_step(program, function, dst, a, VECTOR_NONE, VECTOR_NONE, 0);
}

static void scaled(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		   enum vector_slot a, float scalar)
{
	vector_step(program, function, dst, a, VECTOR_SCALAR, VECTOR_NONE, scalar);
}

static void commutative(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
			struct eltwise_operand a, struct eltwise_operand b)
{
	if (a.slot == VECTOR_SCALAR)
		step(program, function, dst, b.slot, a);
	else
		step(program, function, dst, a.slot, b);
}

static void subtract(struct vector_program *program, enum vector_slot dst, struct eltwise_operand a,
		     struct eltwise_operand b)
{
	if (a.slot != VECTOR_SCALAR) {
		step(program, NPU_VEC_SUB, dst, a.slot, b);
		return;
	}
	/* The immediate can only be the second operand. */
	scaled(program, NPU_VEC_MUL, VECTOR_TEMP0, b.slot, -1);
	scaled(program, NPU_VEC_ADD, dst, VECTOR_TEMP0, a.scalar);
}

static void divide(struct vector_program *program, enum vector_slot dst, struct eltwise_operand a,
		   struct eltwise_operand b)
{
	if (b.slot == VECTOR_SCALAR) {
		scaled(program, NPU_VEC_MUL, dst, a.slot, 1.0f / b.scalar);
		return;
	}
	unary(program, NPU_VEC_RECIPROCAL, VECTOR_TEMP0, b.slot);
	commutative(program, NPU_VEC_MUL, dst, a,
		    (struct eltwise_operand){ .slot = VECTOR_TEMP0 });
}

static void greater(struct vector_program *program, enum vector_slot dst, struct eltwise_operand a,
		    struct eltwise_operand b)
{
	if (a.slot != VECTOR_SCALAR) {
		step(program, NPU_VEC_GREATER, dst, a.slot, b);
		return;
	}
	scaled(program, NPU_VEC_MUL, VECTOR_TEMP0, b.slot, -1);
	scaled(program, NPU_VEC_GREATER, dst, VECTOR_TEMP0, -a.scalar);
}

/* Not "not less": with a NaN both are false. */
static void greater_equal(struct vector_program *program, enum vector_slot dst,
			  struct eltwise_operand a, struct eltwise_operand b)
{
	greater(program, VECTOR_TEMP0, a, b);
	commutative(program, NPU_VEC_EQUAL, VECTOR_TEMP1, a, b);
	vector_step(program, NPU_VEC_MAX, dst, VECTOR_TEMP0, VECTOR_TEMP1, VECTOR_NONE, 0);
}

static void exclusive_or(struct vector_program *program, enum vector_slot dst,
			 struct eltwise_operand a, struct eltwise_operand b)
{
	commutative(program, NPU_VEC_EQUAL, VECTOR_TEMP0, a, b);
	scaled(program, NPU_VEC_EQUAL, dst, VECTOR_TEMP0, 0);
}

/* ---------------------------------------------------------------------------- powers */
/* By squares: TEMP1 goes through x^2, x^4, ... */
static void integer_power(struct vector_program *program, enum vector_slot dst, enum vector_slot x,
			  int exponent)
{
	int left = exponent < 0 ? -exponent : exponent;
	enum vector_slot product = VECTOR_NONE, square = x;

	if (exponent == 0) {
		scaled(program, NPU_VEC_MUL, VECTOR_TEMP0, x, 0);
		scaled(program, NPU_VEC_ADD, dst, VECTOR_TEMP0, 1);
		return;
	}
	while (left) {
		if (left & 1 && product != VECTOR_NONE) {
			vector_step(program, NPU_VEC_MUL, VECTOR_TEMP0, product, square, VECTOR_NONE,
				    0);
			product = VECTOR_TEMP0;
		} else if (left == 1 || (left & 1 && square == x)) {
			product = square;
		} else if (left & 1) {
			unary(program, NPU_VEC_COPY, VECTOR_TEMP0, square);
			product = VECTOR_TEMP0;
		}
		left >>= 1;
		if (!left)
			break;
		vector_step(program, NPU_VEC_MUL, VECTOR_TEMP1, square, square, VECTOR_NONE, 0);
		square = VECTOR_TEMP1;
	}
	unary(program, exponent < 0 ? NPU_VEC_RECIPROCAL : NPU_VEC_COPY, dst, product);
}

/* e^(exponent log x); a negative x gives NaN, as it does for an exponent that is no integer. */
static void real_power(struct vector_program *program, enum vector_slot dst, enum vector_slot x,
		       float exponent)
{
	unary(program, NPU_VEC_LOG, VECTOR_TEMP0, x);
	scaled(program, NPU_VEC_MUL, VECTOR_TEMP0, VECTOR_TEMP0, exponent);
	unary(program, NPU_VEC_EXP, dst, VECTOR_TEMP0);
}

/* TEMP1 = the sign of x^y: 1, -1 where x < 0 and y is odd, NaN where x < 0 and y is no integer. */
static void power_sign(struct vector_program *program, enum vector_slot x, enum vector_slot y)
{
	/* Half of y without its integer part: 0 for even y, 1/2 for odd ones, else neither. */
	scaled(program, NPU_VEC_MUL, VECTOR_TEMP1, y, 0.5f);
	unary(program, NPU_VEC_FLOOR, VECTOR_OUT, VECTOR_TEMP1);
	vector_step(program, NPU_VEC_SUB, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_OUT, VECTOR_NONE, 0);
	scaled(program, NPU_VEC_MUL, VECTOR_OUT, x, -1);
	scaled(program, NPU_VEC_GREATER, VECTOR_OUT, VECTOR_OUT, 0);
	vector_step(program, NPU_VEC_MUL, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_OUT, VECTOR_NONE, 0);
	scaled(program, NPU_VEC_MUL, VECTOR_TEMP1, VECTOR_TEMP1, -4);
	scaled(program, NPU_VEC_ADD, VECTOR_TEMP1, VECTOR_TEMP1, 1);
	vector_step(program, NPU_VEC_MUL, VECTOR_OUT, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_NONE, 0);
	scaled(program, NPU_VEC_ADD, VECTOR_OUT, VECTOR_OUT, -1);
	vector_step(program, NPU_VEC_SELECT, VECTOR_TEMP1, VECTOR_OUT, VECTOR_SCALAR, VECTOR_TEMP1,
		    NAN);
}

static void power_of_operands(struct vector_program *program, enum vector_slot dst,
			      enum vector_slot x, enum vector_slot y)
{
	unary(program, NPU_VEC_ABS, VECTOR_TEMP0, x);
	unary(program, NPU_VEC_LOG, VECTOR_TEMP0, VECTOR_TEMP0);
	scaled(program, NPU_VEC_MAX, VECTOR_TEMP0, VECTOR_TEMP0, LOG_ZERO);
	vector_step(program, NPU_VEC_MUL, VECTOR_TEMP0, VECTOR_TEMP0, y, VECTOR_NONE, 0);
	unary(program, NPU_VEC_EXP, VECTOR_TEMP0, VECTOR_TEMP0);
	power_sign(program, x, y);
	vector_step(program, NPU_VEC_MUL, dst, VECTOR_TEMP0, VECTOR_TEMP1, VECTOR_NONE, 0);
}

static void power(struct vector_program *program, enum vector_slot dst, struct eltwise_operand x,
		  struct eltwise_operand y)
{
	if (x.slot == VECTOR_SCALAR) {
		scaled(program, NPU_VEC_MUL, VECTOR_TEMP0, y.slot, logf(x.scalar));
		unary(program, NPU_VEC_EXP, dst, VECTOR_TEMP0);
	} else if (y.slot != VECTOR_SCALAR) {
		power_of_operands(program, dst, x.slot, y.slot);
	} else if (y.scalar == truncf(y.scalar)) {
		integer_power(program, dst, x.slot, (int)y.scalar);
	} else {
		real_power(program, dst, x.slot, y.scalar);
	}
}

bool eltwise_takes_number(enum graph_eltwise_kind kind, uint32_t index, float number)
{
	if (kind != GRAPH_ELTWISE_POW)
		return true;
	if (index == 0)
		return number > 0 && isfinite(number);
	return isfinite(number) &&
	       (number != truncf(number) || fabsf(number) <= PRODUCT_EXPONENT_MAX);
}

/* ---------------------------------------------------------------------------- all */
bool eltwise_function(struct vector_program *program, enum graph_eltwise_kind kind,
		      enum vector_slot dst, struct eltwise_operand a, struct eltwise_operand b)
{
	switch (kind) {
	case GRAPH_ELTWISE_ADD:
		commutative(program, NPU_VEC_ADD, dst, a, b);
		return true;
	case GRAPH_ELTWISE_SUB:
		subtract(program, dst, a, b);
		return true;
	case GRAPH_ELTWISE_MUL:
	case GRAPH_ELTWISE_AND:
		commutative(program, NPU_VEC_MUL, dst, a, b);
		return true;
	case GRAPH_ELTWISE_DIV:
		divide(program, dst, a, b);
		return true;
	case GRAPH_ELTWISE_MAX:
	case GRAPH_ELTWISE_OR:
		commutative(program, NPU_VEC_MAX, dst, a, b);
		return true;
	case GRAPH_ELTWISE_MIN:
		commutative(program, NPU_VEC_MIN, dst, a, b);
		return true;
	case GRAPH_ELTWISE_EQUAL:
		commutative(program, NPU_VEC_EQUAL, dst, a, b);
		return true;
	case GRAPH_ELTWISE_GREATER:
		greater(program, dst, a, b);
		return true;
	case GRAPH_ELTWISE_LESS:
		greater(program, dst, b, a);
		return true;
	case GRAPH_ELTWISE_GREATER_EQUAL:
		greater_equal(program, dst, a, b);
		return true;
	case GRAPH_ELTWISE_LESS_EQUAL:
		greater_equal(program, dst, b, a);
		return true;
	case GRAPH_ELTWISE_XOR:
		exclusive_or(program, dst, a, b);
		return true;
	case GRAPH_ELTWISE_POW:
		power(program, dst, a, b);
		return true;
	default:
		return false;
	}
}
