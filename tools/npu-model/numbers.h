/* SPDX-License-Identifier: MIT */
/*
 * Numbers as the device holds them: little-endian memory, fp16, and the rules every part of the
 * arithmetic shares. Manual: Documentation/hardware/arithmetic.rst, "Numbers".
 */
#ifndef NPU_MODEL_NUMBERS_H
#define NPU_MODEL_NUMBERS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define FP32_NAN_BITS	0x7fc00000u	/* the only NaN that is ever written */
#define FP16_NAN_BITS	0x7e00u
#define FP32_INFINITY	(__builtin_inff())

static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static inline uint16_t load_le16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return le16toh(value);
}

static inline uint32_t load_le32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static inline uint64_t load_le64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

static inline void store_le16(void *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static inline void store_le32(void *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static inline void store_le64(void *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline float float_nan(void)
{
	return float_from_bits(FP32_NAN_BITS);
}

/* 2^exponent for -126..127. */
static inline float power_of_two(int32_t exponent)
{
	return float_from_bits((uint32_t)(exponent + 127) << 23);
}

/* Exact: every fp16 is an fp32. */
static inline float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t magnitude = half & 0x7fff;

	if (magnitude >= 0x7c00)	/* infinity or NaN */
		return float_from_bits(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
	if (magnitude >= 0x0400)
		return float_from_bits(sign | ((magnitude << 13) + ((127u - 15) << 23)));
	/* Subnormal or zero: an integer times 2^-24. */
	return float_from_bits(sign | float_bits((float)magnitude * 0x1p-24f));
}

/* Round to nearest, ties to even; subnormals kept; every NaN is FP16_NAN_BITS. */
static inline uint16_t float_to_half(float value)
{
	uint32_t bits = float_bits(value);
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t rounded;

	if (magnitude > 0x7f800000u)
		return FP16_NAN_BITS;
	if (magnitude >= 0x477ff000u)	/* 65520 and above */
		return sign | 0x7c00;
	if (magnitude < 0x38800000u)	/* below 2^-14: the sum's last place is 2^-24 */
		return (uint16_t)(sign | (float_bits(float_from_bits(magnitude) + 0.5f) -
					  float_bits(0.5f)));
	rounded = magnitude - ((127u - 15) << 23) + 0xfff + (magnitude >> 13 & 1);
	return (uint16_t)(sign | rounded >> 13);
}

/* Rounded to 16 significant bits (below 2^-126 to 2^-141), ties to even. NaN stays NaN. */
static inline float float_to_operand(float value)
{
	uint32_t bits = float_bits(value);

	return value == value ? float_from_bits((bits + 0x7f + (bits >> 8 & 1)) & ~0xffu) : value;
}

/* To an integer in fp32, ties to even, the sign of zero kept. NaN stays NaN. */
static inline float round_to_even(float value)
{
	float magnitude = __builtin_fabsf(value);
	float rounded = (magnitude + 0x1p23f) - 0x1p23f;

	return __builtin_copysignf(magnitude < 0x1p23f ? rounded : magnitude, value);
}

/* NaN if either is one; -0 is less than +0. */
static inline float float_max(float a, float b)
{
	float larger = a > b ? a : b;
	float equal = float_from_bits(float_bits(a) & float_bits(b));
	float result = a == b ? equal : larger;

	return a != a || b != b ? float_nan() : result;
}

static inline float float_min(float a, float b)
{
	float smaller = a < b ? a : b;
	float equal = float_from_bits(float_bits(a) | float_bits(b));
	float result = a == b ? equal : smaller;

	return a != a || b != b ? float_nan() : result;
}

/* To nearest, ties to even, saturated to low..high (within +-2^24); NaN becomes 0. */
static inline int32_t float_to_integer(float value, int32_t low, int32_t high)
{
	float rounded = round_to_even(value == value ? value : 0.0f);

	rounded = rounded > (float)low ? rounded : (float)low;
	rounded = rounded < (float)high ? rounded : (float)high;
	return (int32_t)rounded;
}

/* The same, saturated to int32. */
static inline int32_t float_to_int32(float value)
{
	float rounded = round_to_even(value == value ? value : 0.0f);
	float bounded = rounded > -0x1p31f ? rounded : -0x1p31f;

	bounded = bounded < 0x1.fffffep30f ? bounded : 0x1.fffffep30f;
	return rounded >= 0x1p31f ? INT32_MAX : (int32_t)bounded;
}

#endif /* NPU_MODEL_NUMBERS_H */
