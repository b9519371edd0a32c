// SPDX-License-Identifier: MIT
/*
 * Kernels: element-wise operations, functions, partial sums.
 * Manual: arithmetic.rst, "Vector unit" and "Functions". The loops are written so that compilers
 * turn them into vector instructions: no calls, no branches that they cannot make selections of.
 */
#include "kernels.h"

#include "function_tables.h"
#include "numbers.h"

#define ELEMENT(name, expression)							\
	static void name(float *restrict to, const float *a, const float *b,		\
			 const float *c, uint32_t count)				\
	{										\
		uint32_t i;								\
											\
		(void)b;								\
		(void)c;								\
		for (i = 0; i < count; i++)						\
			to[i] = (expression);						\
	}

ELEMENT(element_copy, a[i])
ELEMENT(element_add, a[i] + b[i])
ELEMENT(element_sub, a[i] - b[i])
ELEMENT(element_mul, a[i] * b[i])
ELEMENT(element_max, float_max(a[i], b[i]))
ELEMENT(element_min, float_min(a[i], b[i]))
ELEMENT(element_muladd, a[i] * b[i] + c[i])
ELEMENT(element_equal, a[i] == b[i] ? 1.0f : 0.0f)
ELEMENT(element_greater, a[i] > b[i] ? 1.0f : 0.0f)
ELEMENT(element_select, a[i] != 0.0f ? b[i] : c[i])
ELEMENT(element_abs, __builtin_fabsf(a[i]))
ELEMENT(element_round, round_to_even(a[i]))

/* Two passes: in one, gcc 12 finds no vector form. */
static void element_clamp(float *restrict to, const float *a, const float *b, const float *c,
			  uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = float_max(a[i], b[i]);
	for (i = 0; i < count; i++)
		to[i] = float_min(to[i], c[i]);
}

static inline float floor_of(float value)
{
	float rounded = round_to_even(value);

	return rounded > value ? rounded - 1.0f : rounded;
}

ELEMENT(element_floor, floor_of(a[i]))

/* |value| < 2^22, ties to even. */
static inline float small_round(float value)
{
	return (value + 0x1.8p23f) - 0x1.8p23f;
}

/* value * 2^exponent for |exponent| <= 252: one rounding, in the second product. */
static inline float scaled(float value, int32_t exponent)
{
	int32_t half = (int32_t)((uint32_t)(exponent + 512) >> 1) - 256;

	return value * power_of_two(half) * power_of_two(exponent - half);
}

/*
 * Each function is three: `inner` makes of x an operand that `core` computes without a condition,
 * `outer` puts in what special operands give. In one piece, compilers read the tables only where
 * the result needs it, and then find no vector form.
 */
#define FUNCTION(name, operand)								\
	static void element_##name(float *restrict to, const float *a, const float *b,	\
				   const float *c, uint32_t count)			\
	{										\
		uint32_t i;								\
											\
		(void)b;								\
		(void)c;								\
		for (i = 0; i < count; i++)						\
			to[i] = name##_inner(operand);					\
		for (i = 0; i < count; i++)						\
			to[i] = name##_core(to[i]);					\
		for (i = 0; i < count; i++)						\
			to[i] = name##_outer(operand, to[i]);				\
	}

static inline float exp_inner(float x)
{
	float bounded = x == x ? x : 0.0f;

	bounded = bounded > -105.0f ? bounded : -105.0f;
	return bounded < 89.0f ? bounded : 89.0f;
}

static inline float exp_core(float x)
{
	float steps = small_round(x * EXP_STEPS);
	uint32_t whole = (uint32_t)((int32_t)steps + 64 * 256);
	float rest = (x - steps * EXP_STEP_HIGH) - steps * EXP_STEP_LOW;
	float square = rest * rest;
	float sum = rest + square * (0.5f + rest * ONE_SIXTH);
	float table = exp_table[whole & 63];

	return scaled(table + table * sum, (int32_t)(whole >> 6) - 256);
}

static inline float exp_outer(float x, float y)
{
	return x == x ? y : float_nan();
}

FUNCTION(exp, a[i])

#define expsum_inner	exp_inner
#define expsum_core	exp_core
#define expsum_outer	exp_outer

FUNCTION(expsum, a[i] - b[i])

/* A positive finite number as mantissa in 1..2 and exponent; subnormals times 2^24 first. */
struct parts {
	float mantissa;
	int32_t exponent;
	uint32_t index;		/* of the nearest 1 + index/128, 0..128 */
};

static inline struct parts parts_of(float magnitude)
{
	int small = magnitude < 0x1p-126f;
	uint32_t bits = float_bits(magnitude * (small ? 0x1p24f : 1.0f));
	uint32_t fraction = bits & 0x7fffff;
	struct parts parts = {
		.mantissa = float_from_bits(fraction | 0x3f800000u),
		.exponent = (int32_t)(bits >> 23) - (small ? 127 + 24 : 127),
		.index = (fraction + 0x8000) >> 16,
	};

	return parts;
}

static inline float reciprocal_inner(float x)
{
	float magnitude = __builtin_fabsf(x);

	return magnitude > 0.0f && magnitude < FP32_INFINITY ? magnitude : 1.0f;
}

static inline float reciprocal_core(float x)
{
	struct parts parts = parts_of(x);
	float first = reciprocal_table[parts.index];
	float error = 1.0f - parts.mantissa * first;
	float square = error * error;

	return scaled(first + first * ((error + square) + square * error), -parts.exponent);
}

static inline float reciprocal_outer(float x, float y)
{
	y = x == 0.0f ? FP32_INFINITY : y;
	y = __builtin_fabsf(x) == FP32_INFINITY ? 0.0f : y;
	return x == x ? __builtin_copysignf(y, x) : float_nan();
}

FUNCTION(reciprocal, a[i])

static inline float positive_inner(float x)
{
	return x > 0.0f && x < FP32_INFINITY ? x : 1.0f;
}

#define rsqrt_inner	positive_inner
#define log_inner	positive_inner

static inline float rsqrt_core(float x)
{
	struct parts parts = parts_of(x);
	uint32_t odd = (uint32_t)parts.exponent & 1;
	float first = rsqrt_table[parts.index + 129 * odd];
	float mantissa = parts.mantissa * (float)(int32_t)(1 + odd);
	float error = 1.0f - (mantissa * first) * first;
	uint32_t half = (uint32_t)(parts.exponent - (int32_t)odd + 512) >> 1;

	return (first + first * (error * (0.5f + error * (0.375f + error * 0.3125f)))) *
	       power_of_two(256 - (int32_t)half);
}

static inline float rsqrt_outer(float x, float y)
{
	y = x == FP32_INFINITY ? 0.0f : y;
	y = x == 0.0f ? __builtin_copysignf(FP32_INFINITY, x) : y;
	return x >= 0.0f ? y : float_nan();
}

FUNCTION(rsqrt, a[i])

static inline float log_core(float x)
{
	struct parts parts = parts_of(x);
	uint32_t upper = parts.index >= 64;
	float mantissa = parts.mantissa * (upper ? 0.5f : 1.0f);
	float exponent = (float)(parts.exponent + (int32_t)upper);
	float z = (mantissa - log_center[parts.index]) * log_inverse[parts.index];
	float square = z * z;
	float sum = z + square * (-0.5f + z * (ONE_THIRD + z * -0.25f));

	return (exponent * LOG_2_HIGH + log_table[parts.index]) + (sum + exponent * LOG_2_LOW);
}

static inline float log_outer(float x, float y)
{
	y = x == FP32_INFINITY ? FP32_INFINITY : y;
	y = x == 0.0f ? -FP32_INFINITY : y;
	return x >= 0.0f ? y : float_nan();
}

FUNCTION(log, a[i])

/* Odd functions that saturate: a Taylor step of third order from the nearest k/32. */
#define ODD_FUNCTION(name, limit)							\
	static inline float name##_inner(float x)					\
	{										\
		float magnitude = x == x ? __builtin_fabsf(x) : 0.0f;			\
											\
		return magnitude < (limit) ? magnitude : (limit);			\
	}										\
											\
	static inline float name##_core(float x)					\
	{										\
		float nearest = small_round(x * 32.0f);					\
		int32_t k = (int32_t)nearest;						\
		float rest = x - nearest * 0x1p-5f;					\
		float step = rest + rest * (rest * (name##_second[k] +			\
						    rest * name##_third[k]));		\
											\
		return name##_table[k] + name##_slope[k] * step;			\
	}										\
											\
	static inline float name##_outer(float x, float y)				\
	{										\
		return x == x ? __builtin_copysignf(y, x) : float_nan();		\
	}										\
											\
	FUNCTION(name, a[i])

ODD_FUNCTION(tanh, 10.0f)
ODD_FUNCTION(erf, 4.0f)

static inline float line(float x, float slope, float offset)
{
	return slope == 0.0f ? offset : x * slope + offset;
}

/* In one piece for each, since @curve is a constant where it is called. */
static inline void segments_of(float *restrict to, const float *from,
			       const struct npu_function_table *table, uint32_t count, int curve)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		float x = from[i];
		float u = (x - table->low) * table->inverse_step;
		int inside = u >= 0.0f && u < 256.0f;
		/* Not a conversion to integer and back: gcc 12 makes that keep the sign of -0. */
		float whole = floor_of(inside ? u : 0.0f) + 0.0f;
		int32_t segment = (int32_t)whole;
		float rest = u - whole;
		float slope = curve ? table->delta[segment] + rest * table->curve[segment] :
				      table->delta[segment];
		float y = table->base[segment] + rest * slope;
		float left = line(x, table->left_slope, table->left_offset);
		float right = line(x, table->right_slope, table->right_offset);

		y = inside ? y : u >= 256.0f ? right : left;
		to[i] = x == x ? y : x;
	}
}

static void table_of(float *restrict to, const float *from,
		     const struct npu_function_table *table, uint32_t count)
{
	segments_of(to, from, table, count, 0);
}

static void curve_of(float *restrict to, const float *from,
		     const struct npu_function_table *table, uint32_t count)
{
	segments_of(to, from, table, count, 1);
}

static void partial_sums(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count)
{
	uint32_t i, j;

	for (i = 0; i + NPU_PARTIAL_SUMS <= count; i += NPU_PARTIAL_SUMS)
		for (j = 0; j < NPU_PARTIAL_SUMS; j++)
			sums[j] += from[i + j];
	for (j = 0; i + j < count; j++)
		sums[j] += from[i + j];
}

static void partial_squares(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count)
{
	uint32_t i, j;

	for (i = 0; i + NPU_PARTIAL_SUMS <= count; i += NPU_PARTIAL_SUMS)
		for (j = 0; j < NPU_PARTIAL_SUMS; j++)
			sums[j] += from[i + j] * from[i + j];
	for (j = 0; i + j < count; j++)
		sums[j] += from[i + j] * from[i + j];
}

static void partial_max(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count)
{
	uint32_t i, j;

	for (i = 0; i + NPU_PARTIAL_SUMS <= count; i += NPU_PARTIAL_SUMS)
		for (j = 0; j < NPU_PARTIAL_SUMS; j++)
			sums[j] = float_max(sums[j], from[i + j]);
	for (j = 0; i + j < count; j++)
		sums[j] = float_max(sums[j], from[i + j]);
}

const struct npu_element_kernels NPU_KERNEL(npu_element_kernels) = {
	.element = {
		[NPU_VEC_COPY] = element_copy,
		[NPU_VEC_ADD] = element_add,
		[NPU_VEC_SUB] = element_sub,
		[NPU_VEC_MUL] = element_mul,
		[NPU_VEC_MAX] = element_max,
		[NPU_VEC_MIN] = element_min,
		[NPU_VEC_MULADD] = element_muladd,
		[NPU_VEC_EQUAL] = element_equal,
		[NPU_VEC_GREATER] = element_greater,
		[NPU_VEC_SELECT] = element_select,
		[NPU_VEC_CLAMP] = element_clamp,
		[NPU_VEC_ABS] = element_abs,
		[NPU_VEC_FLOOR] = element_floor,
		[NPU_VEC_ROUND] = element_round,
		[NPU_VEC_EXP] = element_exp,
		[NPU_VEC_RECIPROCAL] = element_reciprocal,
		[NPU_VEC_RSQRT] = element_rsqrt,
		[NPU_VEC_TANH] = element_tanh,
		[NPU_VEC_ERF] = element_erf,
		[NPU_VEC_EXPSUM] = element_expsum,
		[NPU_VEC_LOG] = element_log,
	},
	.table = table_of,
	.curve = curve_of,
	.partial_sums = partial_sums,
	.partial_squares = partial_squares,
	.partial_max = partial_max,
};
