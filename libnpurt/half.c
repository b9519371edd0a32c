// SPDX-License-Identifier: MIT
/* IEEE half precision: see half.h. */
#include "half.h"

#include <string.h>

#include "cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define DOUBLE_MANTISSA_BITS 52
#define HALF_MANTISSA_BITS 10
#define HALF_INFINITY 0x7c00u

/* Shifts right and rounds half to even what falls out. */
static uint64_t shift_rounded(uint64_t value, unsigned int shift)
{
	uint64_t half = (uint64_t)1 << (shift - 1);
	uint64_t rest = value & ((half << 1) - 1);
	uint64_t kept = value >> shift;

	if (rest > half || (rest == half && kept & 1))
		kept++;
	return kept;
}

uint16_t npurt_half_from_double(double value)
{
	uint64_t bits, mantissa;
	uint16_t sign;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	sign = (uint16_t)(bits >> 63 << 15);
	exponent = (int)(bits >> DOUBLE_MANTISSA_BITS & 0x7ff) - 1023;
	mantissa = bits & (((uint64_t)1 << DOUBLE_MANTISSA_BITS) - 1);
	if (exponent == 1024)
		return mantissa ? NPURT_HALF_NAN : (uint16_t)(sign | HALF_INFINITY);
	if (exponent > 15)
		return (uint16_t)(sign | HALF_INFINITY);
	if (exponent < -25)
		return sign;
	mantissa |= (uint64_t)1 << DOUBLE_MANTISSA_BITS;
	if (exponent < -14) {
		/* Subnormal: in units of 2^-24. Rounding up into the normal numbers just works. */
		unsigned int shift = (unsigned int)(DOUBLE_MANTISSA_BITS - 24 - exponent);

		return (uint16_t)(sign | shift_rounded(mantissa, shift));
	}
	/* The leading one is added to the exponent below it, and so is a carry of the rounding. */
	mantissa = shift_rounded(mantissa, DOUBLE_MANTISSA_BITS - HALF_MANTISSA_BITS);
	return (uint16_t)(sign | (((uint64_t)(exponent + 14) << HALF_MANTISSA_BITS) + mantissa));
}

float npurt_half_to_float(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
	uint32_t exponent = bits >> HALF_MANTISSA_BITS & 0x1f;
	uint32_t mantissa = bits & 0x3ffu;
	uint32_t result;
	float value;

	if (exponent == 31) {
		result = sign | 0x7f800000u | mantissa << 13;
		if (mantissa)
			result |= 0x00400000u;
	} else if (exponent) {
		result = sign | (exponent + 112) << 23 | mantissa << 13;
	} else {
		value = (float)mantissa * 0x1p-24f;
		memcpy(&result, &value, sizeof(result));
		result |= sign;
	}
	memcpy(&value, &result, sizeof(value));
	return value;
}

void npurt_halves_from_floats_plain(void *to, const void *from, size_t count)
{
	const unsigned char *source = from;
	unsigned char *target = to;
	size_t i;

	for (i = 0; i < count; i++) {
		uint16_t half;
		float value;

		memcpy(&value, source + i * sizeof(value), sizeof(value));
		half = npurt_half_from_double((double)value);
		memcpy(target + i * sizeof(half), &half, sizeof(half));
	}
}

void npurt_floats_from_halves_plain(void *to, const void *from, size_t count)
{
	const unsigned char *source = from;
	unsigned char *target = to;
	size_t i;

	for (i = 0; i < count; i++) {
		uint16_t half;
		float value;

		memcpy(&half, source + i * sizeof(half), sizeof(half));
		value = npurt_half_to_float(half);
		memcpy(target + i * sizeof(value), &value, sizeof(value));
	}
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static void
halves_from_floats_f16c(unsigned char *to, const unsigned char *from, size_t count)
{
	/* The processor keeps a NaN's payload; the device has only one NaN. */
	const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
	size_t i;

	for (i = 0; i + 8 <= count; i += 8) {
		__m256 value = _mm256_loadu_ps((const float *)(const void *)(from + 4 * i));
		__m256 unordered = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);

		value = _mm256_blendv_ps(value, nan, unordered);
		_mm_storeu_si128((__m128i *)(void *)(to + 2 * i),
				 _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
	}
	npurt_halves_from_floats_plain(to + 2 * i, from + 4 * i, count - i);
}

__attribute__((target("avx,f16c"))) static void
floats_from_halves_f16c(unsigned char *to, const unsigned char *from, size_t count)
{
	size_t i;

	for (i = 0; i + 8 <= count; i += 8) {
		__m128i value = _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * i));

		_mm256_storeu_ps((float *)(void *)(to + 4 * i), _mm256_cvtph_ps(value));
	}
	npurt_floats_from_halves_plain(to + 4 * i, from + 2 * i, count - i);
}

static int have_f16c(void)
{
	return cpu_has_f16c();
}

void npurt_halves_from_floats(void *to, const void *from, size_t count)
{
	if (have_f16c())
		halves_from_floats_f16c(to, from, count);
	else
		npurt_halves_from_floats_plain(to, from, count);
}

void npurt_floats_from_halves(void *to, const void *from, size_t count)
{
	if (have_f16c())
		floats_from_halves_f16c(to, from, count);
	else
		npurt_floats_from_halves_plain(to, from, count);
}
#else
void npurt_halves_from_floats(void *to, const void *from, size_t count)
{
	npurt_halves_from_floats_plain(to, from, count);
}

void npurt_floats_from_halves(void *to, const void *from, size_t count)
{
	npurt_floats_from_halves_plain(to, from, count);
}
#endif
