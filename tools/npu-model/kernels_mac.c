// SPDX-License-Identifier: MIT
/* Kernels: the MAC array. Manual: arithmetic.rst, "MAC array". */
#include "kernels.h"

#include <string.h>

#ifdef NPU_KERNELS_AVX2
#include <immintrin.h>
#endif

#include "numbers.h"

#define ROWS	NPU_MAC_ROWS
#define COLUMNS	NPU_MAC_COLUMNS

#ifdef NPU_KERNELS_AVX2

static inline __m256 product(const float *a, const float *w)
{
	return _mm256_mul_ps(_mm256_broadcast_ss(a), _mm256_loadu_ps(w));
}

/*
 * Sum of a step's products for eight channels, as a tree of neighbours. Two exact products are one
 * product and one fused multiply-add.
 */
static inline __m256 exact2(const float *a, const float *w)
{
	return _mm256_fmadd_ps(_mm256_broadcast_ss(a + 1), _mm256_loadu_ps(w + COLUMNS),
			       product(a, w));
}

static inline __m256 rounded2(const float *a, const float *w)
{
	return _mm256_add_ps(product(a, w), product(a + 1, w + COLUMNS));
}

#define FP_TREE(kind, half, depth)							\
	static inline __m256 kind##depth(const float *a, const float *w)		\
	{										\
		return _mm256_add_ps(kind##half(a, w),					\
				     kind##half(a + (half), w + (half) * COLUMNS));	\
	}

#define FP_STEPS(tree)									\
	static void steps_##tree(float *sums, uint32_t stride, const float *a,		\
				 const float *w, uint32_t lanes, uint32_t depth)	\
	{										\
		__m256 s0 = _mm256_loadu_ps(sums);					\
		__m256 s1 = _mm256_loadu_ps(sums + stride);				\
		__m256 s2 = _mm256_loadu_ps(sums + 2 * (size_t)stride);			\
		__m256 s3 = _mm256_loadu_ps(sums + 3 * (size_t)stride);			\
		uint32_t i;								\
											\
		for (i = 0; i < lanes; i += depth, w += (size_t)depth * COLUMNS) {	\
			s0 = _mm256_add_ps(s0, tree(a + i, w));				\
			s1 = _mm256_add_ps(s1, tree(a + lanes + i, w));			\
			s2 = _mm256_add_ps(s2, tree(a + 2 * lanes + i, w));		\
			s3 = _mm256_add_ps(s3, tree(a + 3 * lanes + i, w));		\
		}									\
		_mm256_storeu_ps(sums, s0);						\
		_mm256_storeu_ps(sums + stride, s1);					\
		_mm256_storeu_ps(sums + 2 * (size_t)stride, s2);			\
		_mm256_storeu_ps(sums + 3 * (size_t)stride, s3);			\
	}

FP_STEPS(product)

#define FP_KIND(kind)									\
	FP_TREE(kind, 2, 4)								\
	FP_TREE(kind, 4, 8)								\
	FP_TREE(kind, 8, 16)								\
	FP_STEPS(kind##2)								\
	FP_STEPS(kind##4)								\
	FP_STEPS(kind##8)								\
	FP_STEPS(kind##16)								\
	static void mac_##kind(float *sums, uint32_t stride, const float *a,		\
			       const float *w, uint32_t lanes, uint32_t depth)		\
	{										\
		switch (depth) {							\
		case 1:									\
			steps_product(sums, stride, a, w, lanes, 1);			\
			break;								\
		case 2:									\
			steps_##kind##2(sums, stride, a, w, lanes, 2);			\
			break;								\
		case 4:									\
			steps_##kind##4(sums, stride, a, w, lanes, 4);			\
			break;								\
		case 8:									\
			steps_##kind##8(sums, stride, a, w, lanes, 8);			\
			break;								\
		default:								\
			steps_##kind##16(sums, stride, a, w, lanes, 16);		\
		}									\
	}

FP_KIND(exact)
FP_KIND(rounded)

/* Sums of ROWS x COLUMNS over all lanes; what the caller promises keeps them in 32 bits. */
static inline void integer_block(__m256i block[ROWS], const int16_t *a, const int16_t *w,
				 uint32_t lanes)
{
	__m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
	uint32_t i;

	for (i = 0; i < lanes; i += 2, w += 2 * COLUMNS) {
		__m256i weights = _mm256_loadu_si256((const __m256i *)w);
		int32_t pair[ROWS];
		uint32_t row;

		for (row = 0; row < ROWS; row++)
			memcpy(&pair[row], a + (size_t)row * lanes + i, sizeof(pair[row]));
		s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_set1_epi32(pair[0]), weights));
		s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_set1_epi32(pair[1]), weights));
		s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_set1_epi32(pair[2]), weights));
		s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_set1_epi32(pair[3]), weights));
	}
	block[0] = s0;
	block[1] = s1;
	block[2] = s2;
	block[3] = s3;
}

static void mac_int32(uint32_t *sums, uint32_t stride, const int16_t *a, const int16_t *w,
		      uint32_t lanes)
{
	__m256i block[ROWS];
	uint32_t row;

	integer_block(block, a, w, lanes);
	for (row = 0; row < ROWS; row++) {
		__m256i *at = (__m256i *)(sums + (size_t)row * stride);

		_mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), block[row]));
	}
}

static void mac_int64(uint64_t *sums, uint32_t stride, const int16_t *a, const int16_t *w,
		      uint32_t lanes)
{
	__m256i block[ROWS];
	uint32_t row;

	integer_block(block, a, w, lanes);
	for (row = 0; row < ROWS; row++) {
		__m256i *at = (__m256i *)(sums + (size_t)row * stride);
		__m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(block[row]));
		__m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(block[row], 1));

		_mm256_storeu_si256(at, _mm256_add_epi64(_mm256_loadu_si256(at), low));
		_mm256_storeu_si256(at + 1, _mm256_add_epi64(_mm256_loadu_si256(at + 1), high));
	}
}

#else /* plain */

static float tree(const float *a, const float *w, uint32_t depth)
{
	float level[16];
	uint32_t i;

	for (i = 0; i < depth; i++)
		level[i] = a[i] * w[(size_t)i * COLUMNS];
	for (; depth > 1; depth /= 2)
		for (i = 0; i < depth / 2; i++)
			level[i] = level[2 * i] + level[2 * i + 1];
	return level[0];
}

static void mac_rounded(float *sums, uint32_t stride, const float *a, const float *w,
			uint32_t lanes, uint32_t depth)
{
	uint32_t row, column, i;

	for (row = 0; row < ROWS; row++, sums += stride, a += lanes)
		for (column = 0; column < COLUMNS; column++)
			for (i = 0; i < lanes; i += depth)
				sums[column] += tree(a + i, w + (size_t)i * COLUMNS + column,
						     depth);
}

#define mac_exact	mac_rounded	/* rounding leaves exact products alone */

/* One sum over all lanes; what the caller promises keeps it in 32 bits. */
static int32_t integer_sum(const int16_t *a, const int16_t *w, uint32_t lanes)
{
	int32_t sum = 0;
	uint32_t i;

	for (i = 0; i < lanes; i += 2, w += 2 * COLUMNS)
		sum += a[i] * w[0] + a[i + 1] * w[1];
	return sum;
}

static void mac_int32(uint32_t *sums, uint32_t stride, const int16_t *a, const int16_t *w,
		      uint32_t lanes)
{
	uint32_t row, column;

	for (row = 0; row < ROWS; row++, sums += stride, a += lanes)
		for (column = 0; column < COLUMNS; column++)
			sums[column] += (uint32_t)integer_sum(a, w + 2 * column, lanes);
}

static void mac_int64(uint64_t *sums, uint32_t stride, const int16_t *a, const int16_t *w,
		      uint32_t lanes)
{
	uint32_t row, column;

	for (row = 0; row < ROWS; row++, sums += stride, a += lanes)
		for (column = 0; column < COLUMNS; column++)
			sums[column] += (uint64_t)(int64_t)integer_sum(a, w + 2 * column, lanes);
}

#endif

static void mac_taps(float *sums, const uint8_t *const *a, const uint32_t *w, uint32_t taps,
		     const float *weights, uint32_t weight_stride, uint32_t channels)
{
	uint32_t channel = 0, tap;

#ifdef NPU_KERNELS_AVX2
	for (; channel + 8 <= channels; channel += 8) {
		__m256 sum = _mm256_loadu_ps(sums + channel);

		for (tap = 0; tap < taps; tap++) {
			const float *row = weights + (size_t)w[tap] * weight_stride;
			__m128i half = _mm_loadu_si128(
				(const __m128i *)(a[tap] + 2 * (size_t)channel));

			sum = _mm256_fmadd_ps(_mm256_cvtph_ps(half),
					      _mm256_loadu_ps(row + channel), sum);
		}
		_mm256_storeu_ps(sums + channel, sum);
	}
#endif
	for (; channel < channels; channel++) {
		float sum = sums[channel];

		for (tap = 0; tap < taps; tap++)
			sum += half_to_float(load_le16(a[tap] + 2 * (size_t)channel)) *
			       weights[(size_t)w[tap] * weight_stride + channel];
		sums[channel] = sum;
	}
}

static void mac_taps_rounded(float *sums, const float *a, const uint32_t *w, uint32_t taps,
			     const float *weights, uint32_t stride, uint32_t channels)
{
	uint32_t channel, tap;

	for (tap = 0; tap < taps; tap++, a += stride) {
		const float *row = weights + (size_t)w[tap] * stride;

		for (channel = 0; channel < channels; channel++)
			sums[channel] += a[channel] * row[channel];
	}
}

static void mac_tap_int32(uint32_t *sums, const int16_t *a, const int16_t *w, uint32_t channels)
{
	uint32_t channel;

	for (channel = 0; channel < channels; channel++)
		sums[channel] += (uint32_t)(a[channel] * w[channel]);
}

static void mac_tap_int64(uint64_t *sums, const int16_t *a, const int16_t *w, uint32_t channels)
{
	uint32_t channel;

	for (channel = 0; channel < channels; channel++)
		sums[channel] += (uint64_t)(int64_t)(a[channel] * w[channel]);
}

const struct npu_mac_kernels NPU_KERNEL(npu_mac_kernels) = {
	.fp = mac_exact,
	.fp_rounded = mac_rounded,
	.int32 = mac_int32,
	.int64 = mac_int64,
	.taps = mac_taps,
	.taps_rounded = mac_taps_rounded,
	.tap_int32 = mac_tap_int32,
	.tap_int64 = mac_tap_int64,
};
