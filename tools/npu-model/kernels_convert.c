// SPDX-License-Identifier: MIT
/* Kernels: between memory and the engines' registers. Manual: arithmetic.rst, "Conversions". */
#include "kernels.h"

#ifdef NPU_KERNELS_AVX2
#include <immintrin.h>
#endif

#include "numbers.h"

static void load_int8(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	const int8_t *values = (const int8_t *)from;
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (float)(values[i] - zero);
}

static void load_uint8(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (float)((int32_t)from[i] - zero);
}

static void load_int16(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		to[i] = (float)(int16_t)load_le16(from + 2 * (size_t)i);
}

static void load_int32(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		to[i] = (float)(int32_t)load_le32(from + 4 * (size_t)i);
}

static void load_fp16(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i = 0;

	(void)zero;
#ifdef NPU_KERNELS_AVX2
	for (; i + 8 <= count; i += 8)
		_mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
						 (const __m128i *)(from + 2 * (size_t)i))));
#endif
	for (; i < count; i++)
		to[i] = half_to_float(load_le16(from + 2 * (size_t)i));
}

static void load_fp32(float *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		to[i] = float_from_bits(load_le32(from + 4 * (size_t)i));
}

/* The zero point is added after rounding, before saturation; |zero| is at most 255. */
static int32_t quantized(float value, int32_t zero, int32_t low, int32_t high)
{
	/* Bounds moved by the zero point: the sum cannot overflow and needs no second check. */
	return float_to_integer(value, low - zero, high - zero) + zero;
}

static void store_int8(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (uint8_t)quantized(from[i], zero, INT8_MIN, INT8_MAX);
}

static void store_uint8(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (uint8_t)quantized(from[i], zero, 0, UINT8_MAX);
}

static void store_int16(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		store_le16(to + 2 * (size_t)i,
			   (uint16_t)float_to_integer(from[i], INT16_MIN, INT16_MAX));
}

static void store_int32(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		store_le32(to + 4 * (size_t)i,
			   (uint32_t)float_to_int32(from[i]));
}

static void store_fp16(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i = 0;

	(void)zero;
#ifdef NPU_KERNELS_AVX2
	for (; i + 8 <= count; i += 8) {
		__m256 value = _mm256_loadu_ps(from + i);
		__m256 number = _mm256_cmp_ps(value, value, _CMP_ORD_Q);
		__m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)FP32_NAN_BITS));

		value = _mm256_blendv_ps(nan, value, number);
		_mm_storeu_si128((__m128i *)(to + 2 * (size_t)i),
				 _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
	}
#endif
	for (; i < count; i++)
		store_le16(to + 2 * (size_t)i, float_to_half(from[i]));
}

static void store_fp32(uint8_t *to, const float *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		store_le32(to + 4 * (size_t)i,
			   from[i] == from[i] ? float_bits(from[i]) : FP32_NAN_BITS);
}

static void load_integer_int8(int16_t *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	const int8_t *values = (const int8_t *)from;
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)(values[i] - zero);
}

static void load_integer_uint8(int16_t *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)((int32_t)from[i] - zero);
}

static void load_integer_int16(int16_t *to, const uint8_t *from, int32_t zero, uint32_t count)
{
	uint32_t i;

	(void)zero;
	for (i = 0; i < count; i++)
		to[i] = (int16_t)load_le16(from + 2 * (size_t)i);
}

static void round_operands(float *values, uint32_t count)
{
	uint32_t i = 0;

#ifdef NPU_KERNELS_AVX2
	for (; i + 8 <= count; i += 8) {
		__m256 value = _mm256_loadu_ps(values + i);
		__m256 number = _mm256_cmp_ps(value, value, _CMP_ORD_Q);
		__m256i bits = _mm256_castps_si256(value);
		__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 8), _mm256_set1_epi32(1));

		bits = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7f)));
		bits = _mm256_and_si256(bits, _mm256_set1_epi32(~0xff));
		_mm256_storeu_ps(values + i,
				 _mm256_blendv_ps(value, _mm256_castsi256_ps(bits), number));
	}
#endif
	for (; i < count; i++)
		values[i] = float_to_operand(values[i]);
}

const struct npu_convert_kernels NPU_KERNEL(npu_convert_kernels) = {
	.load = { load_int8, load_uint8, load_int16, load_int32, load_fp16, load_fp32 },
	.store = { store_int8, store_uint8, store_int16, store_int32, store_fp16, store_fp32 },
	.load_integer = { load_integer_int8, load_integer_uint8, load_integer_int16 },
	.round_operands = round_operands,
};
