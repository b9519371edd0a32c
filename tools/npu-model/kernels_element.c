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

static inline float exp_of(float x)
{
	float bounded = x == x ? x : 0.0f;
	float steps, rest, square, sum, table;
	int32_t whole;

	bounded = bounded > -105.0f ? bounded : -105.0f;
	bounded = bounded < 89.0f ? bounded : 89.0f;
	steps = small_round(bounded * EXP_STEPS);
	whole = (int32_t)steps + 64 * 256;
	rest = (bounded - steps * EXP_STEP_HIGH) - steps * EXP_STEP_LOW;
	square = rest * rest;
	sum = rest + square * (0.5f + rest * ONE_SIXTH);
	table = exp_table[whole & 63];
	sum = scaled(table + table * sum, (int32_t)((uint32_t)whole >> 6) - 256);
	return x == x ? sum : float_nan();
}

/* A positive number as mantissa in 1..2 and exponent; subnormals times 2^24 first. */
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

static inline float reciprocal_of(float x)
{
	float magnitude = __builtin_fabsf(x);
	int finite = magnitude > 0.0f && magnitude < FP32_INFINITY;
	struct parts parts = parts_of(finite ? magnitude : 1.0f);
	float first = reciprocal_table[parts.index];
	float error = 1.0f - parts.mantissa * first;
	float square = error * error;
	float result = first + first * ((error + square) + square * error);

	result = scaled(result, -parts.exponent);
	result = finite ? result : magnitude == 0.0f ? FP32_INFINITY : 0.0f;
	return x == x ? __builtin_copysignf(result, x) : float_nan();
}

static inline float rsqrt_of(float x)
{
	int finite = x > 0.0f && x < FP32_INFINITY;
	struct parts parts = parts_of(finite ? x : 1.0f);
	uint32_t odd = (uint32_t)parts.exponent & 1;
	float first = rsqrt_table[parts.index + (odd ? 129 : 0)];
	float mantissa = odd ? 2.0f * parts.mantissa : parts.mantissa;
	float error = 1.0f - (mantissa * first) * first;
	float result, edge;

	result = first + first * (error * (0.5f + error * (0.375f + error * 0.3125f)));
	result *= power_of_two(-((parts.exponent - (int32_t)odd) / 2));
	edge = x == 0.0f ? __builtin_copysignf(FP32_INFINITY, x) : float_nan();
	edge = x == FP32_INFINITY ? 0.0f : edge;
	return finite ? result : edge;
}

static inline float log_of(float x)
{
	int finite = x > 0.0f && x < FP32_INFINITY;
	struct parts parts = parts_of(finite ? x : 1.0f);
	int upper = parts.index >= 64;
	float mantissa = upper ? 0.5f * parts.mantissa : parts.mantissa;
	float exponent = (float)(parts.exponent + (upper ? 1 : 0));
	float z = (mantissa - log_center[parts.index]) * log_inverse[parts.index];
	float square = z * z;
	float sum = z + square * (-0.5f + z * (ONE_THIRD + z * -0.25f));
	float result, edge;

	result = (exponent * LOG_2_HIGH + log_table[parts.index]) + (sum + exponent * LOG_2_LOW);
	edge = x == 0.0f ? -FP32_INFINITY : float_nan();
	edge = x == FP32_INFINITY ? FP32_INFINITY : edge;
	return finite ? result : edge;
}

/* Odd functions that saturate: a Taylor step of third order from the nearest k/32. */
static inline float odd_function(float x, float limit, const float *table, const float *slope,
				 const float *second, const float *third)
{
	float magnitude = x == x ? __builtin_fabsf(x) : 0.0f;
	float nearest, rest, step;
	uint32_t k;

	magnitude = magnitude < limit ? magnitude : limit;
	nearest = small_round(magnitude * 32.0f);
	k = (uint32_t)(int32_t)nearest;
	rest = magnitude - nearest * 0x1p-5f;
	step = rest + rest * (rest * (second[k] + rest * third[k]));
	step = table[k] + slope[k] * step;
	return x == x ? __builtin_copysignf(step, x) : float_nan();
}

static inline float tanh_of(float x)
{
	return odd_function(x, 10.0f, tanh_table, tanh_slope, tanh_second, tanh_third);
}

static inline float erf_of(float x)
{
	return odd_function(x, 4.0f, erf_table, erf_slope, erf_second, erf_third);
}

ELEMENT(element_exp, exp_of(a[i]))
ELEMENT(element_reciprocal, reciprocal_of(a[i]))
ELEMENT(element_rsqrt, rsqrt_of(a[i]))
ELEMENT(element_tanh, tanh_of(a[i]))
ELEMENT(element_erf, erf_of(a[i]))
ELEMENT(element_expsum, exp_of(a[i] - b[i]))
ELEMENT(element_log, log_of(a[i]))

static inline float line(float x, float slope, float offset)
{
	return slope == 0.0f ? offset : x * slope + offset;
}

static void table_of(float *restrict to, const float *from,
		     const struct npu_function_table *table, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		float x = from[i];
		float u = (x - table->low) * table->inverse_step;
		int inside = u >= 0.0f && u < 256.0f;
		/* Not a conversion to integer and back: gcc 12 makes that keep the sign of -0. */
		float whole = floor_of(inside ? u : 0.0f) + 0.0f;
		int32_t segment = (int32_t)whole;
		float y = table->base[segment] + (u - whole) * table->delta[segment];
		float left = line(x, table->left_slope, table->left_offset);
		float right = line(x, table->right_slope, table->right_offset);

		y = inside ? y : u >= 256.0f ? right : left;
		to[i] = x == x ? y : x;
	}
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
	.partial_sums = partial_sums,
	.partial_squares = partial_squares,
	.partial_max = partial_max,
};
