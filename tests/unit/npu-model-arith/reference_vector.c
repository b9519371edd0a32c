// SPDX-License-Identifier: MIT
/*
 * The vector unit once more, from Documentation/hardware/arithmetic.rst: functions with tables
 * made by the host's long double library, operations one element at a time.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


/* ---------------------------------------------------------------------- functions */

/* value with no more than so many significant bits. */
static long double shortened(long double value, int bits)
{
	int exponent;
	long double mantissa = frexpl(value, &exponent);

	return ldexpl(rintl(ldexpl(mantissa, bits)), exponent - bits);
}

/* value * 2^exponent in two exact steps but for the last rounding. */
static float scale(float value, int exponent)
{
	return (float)ldexp((double)value, exponent);	/* a double holds it: one rounding */
}

static float function_exp(float x)
{
	long double step = logl(2) / 64;
	float steps_per_unit = (float)(1 / step);
	float high = (float)shortened(step, 10), low = (float)(step - high);
	float k, r, square, sum, cubic, table;
	int whole;

	if (isnan(x))
		return NAN;
	x = fminf(fmaxf(x, -105), 89);
	k = x * steps_per_unit;
	k = rintf(k);
	r = k * high;
	r = x - r;
	cubic = k * low;
	r = r - cubic;
	square = r * r;
	cubic = r * (float)(1.0L / 6);
	cubic = 0.5f + cubic;
	cubic = square * cubic;
	sum = r + cubic;
	whole = (int)k;
	table = (float)exp2l((whole & 63) / 64.0L);
	sum = table * sum;
	sum = table + sum;
	return scale(sum, (whole - (whole & 63)) / 64);
}

/* x = m * 2^e, 1 <= m < 2. */
static float split(float x, int *exponent)
{
	float m = frexpf(x, exponent);

	*exponent -= 1;
	return 2 * m;
}

static int nearest_index(float m)
{
	return (int)floor(((double)m - 1) * 128 + 0.5);
}

static float function_reciprocal(float x)
{
	float m, first, error, square, cube, sum;
	int e, i;

	if (isnan(x))
		return NAN;
	if (x == 0)
		return copysignf(INFINITY, x);
	if (isinf(x))
		return copysignf(0, x);
	m = split(fabsf(x), &e);
	i = nearest_index(m);
	first = (float)(1 / (1 + i / 128.0L));
	error = m * first;
	error = 1 - error;
	square = error * error;
	cube = square * error;
	sum = error + square;
	sum = sum + cube;
	sum = first * sum;
	return copysignf(scale(first + sum, -e), x);
}

static float function_rsqrt(float x)
{
	float m, first, error, sum;
	int e, i, odd;

	if (x == 0)
		return copysignf(INFINITY, x);
	if (isnan(x) || x < 0)
		return NAN;
	if (isinf(x))
		return 0;
	m = split(x, &e);
	i = nearest_index(m);
	odd = e & 1;
	first = (float)(1 / sqrtl((odd ? 2 : 1) * (1 + i / 128.0L)));
	m = odd ? 2 * m : m;
	error = m * first;
	error = error * first;
	error = 1 - error;
	sum = error * 0.3125f;
	sum = 0.375f + sum;
	sum = error * sum;
	sum = 0.5f + sum;
	sum = error * sum;
	sum = first * sum;
	return scale(first + sum, -(e - odd) / 2);
}

static float function_log(float x)
{
	float m, c, z, square, sum, high, low, left, right;
	int e, i;

	if (x == 0)
		return -INFINITY;
	if (isnan(x) || x < 0)
		return NAN;
	if (isinf(x))
		return x;
	m = split(x, &e);
	i = nearest_index(m);
	c = 1 + (float)i / 128;
	if (i >= 64) {
		c /= 2;
		m /= 2;
		e++;
	}
	z = m - c;
	z = z * (float)(1.0L / c);
	square = z * z;
	sum = z * -0.25f;
	sum = (float)(1.0L / 3) + sum;
	sum = z * sum;
	sum = -0.5f + sum;
	sum = square * sum;
	sum = z + sum;
	high = (float)shortened(logl(2), 15);
	low = (float)(logl(2) - high);
	left = (float)e * high;
	left = left + (float)logl(c);
	right = (float)e * low;
	right = sum + right;
	return left + right;
}

static float function_odd(float x, bool tanh_not_erf)
{
	float a = fabsf(x), limit = tanh_not_erf ? 10 : 4, k, d, sum;
	long double c, value, slope, second, third;

	if (isnan(x))
		return NAN;
	a = a < limit ? a : limit;
	k = rintf(a * 32);
	d = a - k / 32;
	c = k / 32;
	if (tanh_not_erf) {
		value = tanhl(c);
		slope = 1 - value * value;
		second = -value;
		third = value * value - 1 / 3.0L;
	} else {
		value = erfl(c);
		slope = 2 / sqrtl(acosl(-1)) * expl(-c * c);
		second = -c;
		third = (2 * c * c - 1) / 3;
	}
	/* 1 - tanh^2 loses what long double has to give: from its definition instead. */
	if (tanh_not_erf)
		slope = 1 / (coshl(c) * coshl(c));
	sum = d * (float)third;
	sum = (float)second + sum;
	sum = d * sum;
	sum = d * sum;
	sum = d + sum;
	sum = (float)slope * sum;
	return copysignf((float)value + sum, x);
}

float reference_function(unsigned int subop, float x)
{
	switch (subop) {
	case NPU_VEC_EXP:
	case NPU_VEC_EXPSUM:
		return function_exp(x);
	case NPU_VEC_RECIPROCAL:
		return function_reciprocal(x);
	case NPU_VEC_RSQRT:
		return function_rsqrt(x);
	case NPU_VEC_LOG:
		return function_log(x);
	case NPU_VEC_TANH:
		return function_odd(x, true);
	default:
		return function_odd(x, false);
	}
}

/* --------------------------------------------------------------------- operations */

static float element(unsigned int subop, float a, float b, float c)
{
	float product = a * b;

	switch (subop) {
	case NPU_VEC_COPY:
		return a;
	case NPU_VEC_ADD:
		return a + b;
	case NPU_VEC_SUB:
		return a - b;
	case NPU_VEC_MUL:
		return product;
	case NPU_VEC_MAX:
		return reference_max(a, b);
	case NPU_VEC_MIN:
		return reference_min(a, b);
	case NPU_VEC_MULADD:
		return product + c;
	case NPU_VEC_EQUAL:
		return a == b;
	case NPU_VEC_GREATER:
		return a > b;
	case NPU_VEC_SELECT:
		return a == 0 ? c : b;
	case NPU_VEC_CLAMP:
		return reference_min(reference_max(a, b), c);
	case NPU_VEC_ABS:
		return fabsf(a);
	case NPU_VEC_FLOOR:
		return floorf(a);
	case NPU_VEC_ROUND:
		return rintf(a);
	case NPU_VEC_EXPSUM:
		return reference_function(subop, a - b);
	default:
		return reference_function(subop, a);
	}
}

struct input {
	const struct cluster *cluster;
	const struct npu_insn *insn;
	const uint8_t *before;	/* local memory */
};

static const uint8_t *source_at(const struct input *in, unsigned int source, const uint32_t i[4])
{
	const struct npu_td *td = &in->cluster->tds[in->insn->src[source]];

	return in->before + (reference_element(in->cluster, td, i) - in->cluster->local);
}

static float source(const struct input *in, unsigned int number, const uint32_t i[4])
{
	uint8_t operand = in->insn->src[number];
	const struct npu_td *td = &in->cluster->tds[operand % NPU_TD_COUNT];
	float immediate;
	uint32_t bits = in->insn->imm32;

	if (operand == NPU_TD_NONE)
		return 0;
	memcpy(&immediate, &bits, sizeof(immediate));
	if (operand == NPU_TD_IMMEDIATE)
		return immediate;
	return reference_load(source_at(in, number, i), reference_dtype(td), reference_zero(td));
}

static bool is_byte(const struct npu_td *td)
{
	return reference_dtype(td) <= NPU_DTYPE_UINT8;
}

/* The element's value; byte tables store by themselves. */
static void one_element(const struct input *in, const uint32_t i[4], float *value)
{
	const struct npu_td *dst = &in->cluster->tds[in->insn->dst];
	uint8_t *to = reference_element(in->cluster, dst, i);
	const uint8_t *table;

	if (in->insn->subop == NPU_VEC_TABLE) {
		table = in->before + (in->cluster->tds[in->insn->src[1]].word0 &
				      ((1ull << 40) - 1));
		if (in->insn->src[0] < NPU_TD_COUNT && is_byte(dst) &&
		    is_byte(&in->cluster->tds[in->insn->src[0]])) {
			*to = table[*source_at(in, 0, i)];
			return;
		}
		*value = reference_table(table, source(in, 0, i));
	} else {
		bool sums = in->insn->subop == NPU_VEC_EXPSUM;

		*value = element(in->insn->subop, source(in, 0, i), source(in, 1, i),
				 sums ? 0 : source(in, 2, i));
	}
	reference_store(to, reference_dtype(dst), reference_zero(dst), *value);
}

/* s0+s8, s4+s12 .. : the two of a pair are half the number of sums apart. */
static float combined(const float *sums, unsigned int first, unsigned int step)
{
	if (step == 16)
		return sums[first];
	return combined(sums, first, step * 2) + combined(sums, first + step, step * 2);
}

static void element_wise(const struct input *in)
{
	const struct npu_td *dst = &in->cluster->tds[in->insn->dst];
	uint32_t i[4];

	for (i[0] = 0; i[0] < dst->dim[0]; i[0]++)
		for (i[1] = 0; i[1] < dst->dim[1]; i[1]++)
			for (i[2] = 0; i[2] < dst->dim[2]; i[2]++) {
				float sums[16] = { 0 }, value = 0;
				uint32_t row[4] = { i[0], i[1], i[2], 0 };

				for (i[3] = 0; i[3] < dst->dim[3]; i[3]++) {
					one_element(in, i, &value);
					sums[i[3] % 16] += value;
				}
				if (in->insn->subop != NPU_VEC_EXPSUM)
					continue;
				reference_store(reference_element(in->cluster,
						     &in->cluster->tds[in->insn->src[2]], row),
						NPU_DTYPE_FP32, 0, combined(sums, 0, 1));
			}
}

struct sums {
	float sum[16], square[16], best;
	int64_t index;
	uint32_t count;
	bool any_nan;
};

static void take(struct sums *sums, float x, uint32_t at, bool rows)
{
	unsigned int to = rows ? at % 16 : 0;
	float square = x * x;

	sums->sum[to] += x;
	sums->square[to] += square;
	if (!sums->any_nan && (sums->index < 0 || isnan(x) || x > sums->best)) {
		sums->index = at;
		sums->best = x;
	}
	if (!sums->any_nan && !isnan(x))
		sums->best = reference_max(sums->best, x);
	sums->any_nan |= isnan(x);
	sums->count++;
}

static void one_reduction(const struct input *in, const uint32_t at[4], unsigned int mask)
{
	const struct npu_td *src = &in->cluster->tds[in->insn->src[0]];
	const struct npu_td *dst = &in->cluster->tds[in->insn->dst];
	struct sums sums = { .index = -1 };
	uint32_t first[4], last[4], i[4], d;
	bool rows = mask & 8;
	float sum, result, square;

	for (d = 0; d < 4; d++) {
		first[d] = mask & 1u << d ? 0 : at[d];
		last[d] = mask & 1u << d ? src->dim[d] : at[d] + 1u;
	}
	for (i[0] = first[0]; i[0] < last[0]; i[0]++)
		for (i[1] = first[1]; i[1] < last[1]; i[1]++)
			for (i[2] = first[2]; i[2] < last[2]; i[2]++)
				for (i[3] = first[3]; i[3] < last[3]; i[3]++)
					take(&sums, source(in, 0, i), i[3], rows);
	sum = rows ? combined(sums.sum, 0, 1) : sums.sum[0];
	square = rows ? combined(sums.square, 0, 1) : sums.square[0];
	result = sum;
	if (in->insn->subop == NPU_VEC_REDUCE_MEAN)
		result = sum * (float)(1.0 / sums.count);
	if (in->insn->subop == NPU_VEC_REDUCE_MAX)
		result = sums.any_nan ? NAN : sums.best;
	if (in->insn->subop == NPU_VEC_REDUCE_ARGMAX)
		result = (float)sums.index;
	reference_store(reference_element(in->cluster, dst, at), reference_dtype(dst),
			reference_zero(dst), result);
	if (in->insn->subop == NPU_VEC_REDUCE_SUMSQ)
		reference_store(reference_element(in->cluster,
						  &in->cluster->tds[in->insn->src[2]], at),
				NPU_DTYPE_FP32, 0, square);
}

static void reduce(const struct input *in)
{
	const struct npu_td *dst = &in->cluster->tds[in->insn->dst];
	uint32_t i[4];

	for (i[0] = 0; i[0] < dst->dim[0]; i[0]++)
		for (i[1] = 0; i[1] < dst->dim[1]; i[1]++)
			for (i[2] = 0; i[2] < dst->dim[2]; i[2]++)
				for (i[3] = 0; i[3] < dst->dim[3]; i[3]++)
					one_reduction(in, i, in->insn->imm16);
}

void reference_vec(struct cluster *cluster, const struct npu_insn *insn)
{
	uint8_t *before = malloc(cluster->config.local_bytes);
	struct input in = { .cluster = cluster, .insn = insn, .before = before };

	assert_non_null(before);
	memcpy(before, cluster->local, cluster->config.local_bytes);
	if (insn->subop >= NPU_VEC_REDUCE_SUM)
		reduce(&in);
	else
		element_wise(&in);
	free(before);
}
