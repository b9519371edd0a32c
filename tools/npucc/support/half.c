// SPDX-License-Identifier: MIT
#include "half.h"

#include <math.h>
#include <string.h>

#define HALF_MAX 65504.0f

static float float_from_bits(uint32_t bits)
{
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static uint32_t bits_from_float(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t mantissa = half & 0x3ff;

	if (exponent == 0x1f)
		return float_from_bits(sign | 0x7f800000u | mantissa << 13);
	if (exponent)
		return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
	if (!mantissa)
		return float_from_bits(sign);
	/* Subnormal: shift the leading one into the implicit place. */
	exponent = 113;
	while (!(mantissa & 0x400)) {
		mantissa <<= 1;
		exponent--;
	}
	return float_from_bits(sign | exponent << 23 | (mantissa & 0x3ff) << 13);
}

uint16_t half_from_float(float number)
{
	uint32_t bits = bits_from_float(number);
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t shift, mantissa, half, rest;

	if (magnitude > 0x7f800000)
		return 0x7e00;
	if (magnitude >= 0x477ff000) /* rounds to 65536 or more */
		return sign | 0x7c00;
	if (magnitude < 0x33000000) /* below half of the least subnormal */
		return sign;
	if (magnitude >= 0x38800000) {
		half = (magnitude - 0x38000000) >> 13;
		rest = magnitude & 0x1fff;
		if (rest > 0x1000 || (rest == 0x1000 && (half & 1)))
			half++;
		return (uint16_t)(sign | half);
	}
	shift = 126 - (magnitude >> 23); /* 14..24 */
	mantissa = (magnitude & 0x7fffff) | 0x800000;
	half = mantissa >> shift;
	rest = mantissa & ((1u << shift) - 1);
	if (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (half & 1)))
		half++;
	return (uint16_t)(sign | half);
}

float bfloat16_to_float(uint16_t bits)
{
	return float_from_bits((uint32_t)bits << 16);
}

uint16_t bfloat16_from_float(float number)
{
	uint32_t bits = bits_from_float(number);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	bits += 0x7fff + (bits >> 16 & 1);
	return (uint16_t)(bits >> 16);
}

uint16_t half_from_constant(float number)
{
	if (isfinite(number) && number > HALF_MAX)
		number = HALF_MAX;
	if (isfinite(number) && number < -HALF_MAX)
		number = -HALF_MAX;
	return half_from_float(number);
}
