/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of the engines, over rows of numbers.
 *
 * The kernels_*.c files are compiled twice: plain, and for x86-64 with AVX2, F16C and FMA. Both
 * give the same bits. FMA is used only where the product is exact, so that its one rounding is
 * the rounding of the addition; the compiler never contracts by itself.
 *
 * No kernel keeps state, so any thread may call them.
 */
#ifndef NPU_MODEL_KERNELS_H
#define NPU_MODEL_KERNELS_H

#include <stdint.h>

#include "npu/npu_isa.h"

#ifdef NPU_KERNELS_AVX2
#define NPU_KERNEL(name)	name##_avx2
#else
#define NPU_KERNEL(name)	name##_plain
#endif

/* Rows that are contiguous in little-endian memory, indexed by enum npu_dtype. */
typedef void npu_load_kernel(float *to, const uint8_t *from, int32_t zero, uint32_t count);
typedef void npu_store_kernel(uint8_t *to, const float *from, int32_t zero, uint32_t count);

struct npu_convert_kernels {
	npu_load_kernel *load[NPU_DTYPE_COUNT];
	npu_store_kernel *store[NPU_DTYPE_COUNT];
	/* int8, uint8 and int16 as integers, for the MAC array (other entries are NULL) */
	void (*load_integer[NPU_DTYPE_COUNT])(int16_t *to, const uint8_t *from, int32_t zero,
					      uint32_t count);
	/* fp32 operands of the MAC array: to 16 significant bits, in place; a NaN stays one */
	void (*round_operands)(float *values, uint32_t count);
};

/* NPU_VEC_TABLE's and the output stage's table or curve, in host order. */
struct npu_function_table {
	float low, inverse_step;
	float left_slope, left_offset;
	float right_slope, right_offset;
	float base[256], delta[256], curve[256];
};

/* to[i] = f(a[i], b[i], c[i]); unused sources may be NULL, `to` is apart from all of them. */
typedef void npu_element_kernel(float *restrict to, const float *a, const float *b,
				const float *c, uint32_t count);

/* Sixteen partial sums: element i of a row goes to sum i mod 16. */
#define NPU_PARTIAL_SUMS	16

struct npu_element_kernels {
	npu_element_kernel *element[NPU_VEC_LOG + 1];	/* by enum npu_vec; NULL where none */
	void (*table)(float *restrict to, const float *from,
		      const struct npu_function_table *table, uint32_t count);
	void (*curve)(float *restrict to, const float *from,
		      const struct npu_function_table *table, uint32_t count);
	void (*partial_sums)(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count);
	void (*partial_squares)(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count);
	void (*partial_max)(float sums[NPU_PARTIAL_SUMS], const float *from, uint32_t count);
};

/*
 * MAC array: NPU_MAC_ROWS positions by NPU_MAC_COLUMNS channels. Activations are rows of
 * `lanes`; weights are [lane][column], the integer ones [lane pair][column][2]. `stride` is in
 * sums. Lanes that count for nothing hold zero on both sides.
 */
#define NPU_MAC_ROWS		4
#define NPU_MAC_COLUMNS		8
#define NPU_MAC_LANES_MAX	256	/* of one call: with int16 they just fit 32 bits */

struct npu_mac_kernels {
	/* lanes is a multiple of depth, which is 1, 2, 4, 8 or 16; products are exact in fp32 */
	void (*fp)(float *sums, uint32_t stride, const float *activations, const float *weights,
		   uint32_t lanes, uint32_t depth);
	/* the same where products have to be rounded */
	void (*fp_rounded)(float *sums, uint32_t stride, const float *activations,
			   const float *weights, uint32_t lanes, uint32_t depth);
	/* lanes is even; 32-bit two's complement sums */
	void (*int32)(uint32_t *sums, uint32_t stride, const int16_t *activations,
		      const int16_t *weights, uint32_t lanes);
	void (*int64)(uint64_t *sums, uint32_t stride, const int16_t *activations,
		      const int16_t *weights, uint32_t lanes);
	/* Shape V, fp16: sums[c] += a * w, tap after tap; a[t] points at contiguous fp16,
	 * weights at fp32 [taps][weight_stride]; w[t] says which row of it. */
	void (*taps)(float *sums, const uint8_t *const *a, const uint32_t *w, uint32_t taps,
		     const float *weights, uint32_t weight_stride, uint32_t channels);
	/* The same with rounded products; tap t's activations are fp32, at a + t * stride. */
	void (*taps_rounded)(float *sums, const float *a, const uint32_t *w, uint32_t taps,
			     const float *weights, uint32_t stride, uint32_t channels);
	/* Shape V, integers: one tap */
	void (*tap_int32)(uint32_t *sums, const int16_t *a, const int16_t *w, uint32_t channels);
	void (*tap_int64)(uint64_t *sums, const int16_t *a, const int16_t *w, uint32_t channels);
};

struct npu_kernels {
	const struct npu_convert_kernels *convert;
	const struct npu_element_kernels *element;
	const struct npu_mac_kernels *mac;
};

extern const struct npu_convert_kernels npu_convert_kernels_plain, npu_convert_kernels_avx2;
extern const struct npu_element_kernels npu_element_kernels_plain, npu_element_kernels_avx2;
extern const struct npu_mac_kernels npu_mac_kernels_plain, npu_mac_kernels_avx2;

#endif /* NPU_MODEL_KERNELS_H */
