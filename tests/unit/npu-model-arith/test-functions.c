// SPDX-License-Identifier: MIT
/* Functions and conversions of the vector unit against the host's double library. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define COUNT		8192
#define FROM_AT		0x10000

/* Runs an operation over COUNT fp32; both implementations must agree. */
static void run(struct cluster *cluster, unsigned int subop, const float *from, float *to)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC, .subop = (uint8_t)subop, .dst = 0,
		.src = { 1, NPU_TD_NONE, NPU_TD_NONE },
	};
	uint32_t dim[4] = { 1, 1, 1, COUNT };
	int64_t stride[4];

	natural_strides(stride, dim, NPU_DTYPE_FP32, 0);
	cluster->tds[0] = make_tensor(NPU_DTYPE_FP32, 0, dim, stride, 0);
	cluster->tds[1] = make_tensor(NPU_DTYPE_FP32, FROM_AT, dim, stride, 0);
	cluster_poke(cluster, FROM_AT, from, COUNT * sizeof(float));
	cluster_execute(cluster, &insn);
	memcpy(to, cluster->memory.local, COUNT * sizeof(float));
	assert_memory_equal(cluster->plain.local, to, COUNT * sizeof(float));
}

static double exact(unsigned int subop, double x)
{
	switch (subop) {
	case NPU_VEC_EXP:
		return exp(x);
	case NPU_VEC_RECIPROCAL:
		return 1 / x;
	case NPU_VEC_RSQRT:
		return 1 / sqrt(x);
	case NPU_VEC_LOG:
		return log(x);
	case NPU_VEC_TANH:
		return tanh(x);
	default:
		return erf(x);
	}
}

static const struct {
	unsigned int subop;
	const char *name;
	double ulps;	/* of fp32, in results that are no subnormals: what the manual promises */
} functions[] = {
	{ NPU_VEC_EXP, "exp", 1.25 },	 { NPU_VEC_RECIPROCAL, "reciprocal", 1.5 },
	{ NPU_VEC_RSQRT, "rsqrt", 1.5 }, { NPU_VEC_LOG, "log", 1.75 },
	{ NPU_VEC_TANH, "tanh", 1.75 },	 { NPU_VEC_ERF, "erf", 2.0 },
};

#define FUNCTION_COUNT	(sizeof(functions) / sizeof(functions[0]))

static int32_t half_order(uint16_t half)
{
	return half & 0x8000 ? -(half & 0x7fff) : half;
}

/* fp16: every operand there is; rounded, the result is the nearest or a neighbour of it. */
static void every_half(void **state)
{
	struct random random = { 1 };
	struct cluster cluster;
	float *from = malloc(COUNT * sizeof(*from)), *to = malloc(COUNT * sizeof(*to));
	unsigned int f, i, first;

	(void)state;
	assert_true(from && to);
	cluster_open(&cluster, "npu-v3", &random);
	for (f = 0; f < FUNCTION_COUNT; f++)
		for (first = 0; first < 65536; first += COUNT) {
			for (i = 0; i < COUNT; i++)
				from[i] = reference_from_half((uint16_t)(first + i));
			run(&cluster, functions[f].subop, from, to);
			for (i = 0; i < COUNT; i++) {
				double expected = exact(functions[f].subop, (double)from[i]);
				uint16_t best = reference_to_half((float)expected);
				uint16_t got = reference_to_half(to[i]);

				if (abs(half_order(got) - half_order(best)) <= 1)
					continue;
				fail_msg("%s(%a) = %a as fp16 0x%04x, exactly %a, 0x%04x",
					 functions[f].name, (double)from[i], (double)to[i], got,
					 expected, best);
			}
		}
	cluster_close(&cluster);
	free(from);
	free(to);
}

static void check_ulps(unsigned int f, float x, float got, double *worst)
{
	double expected = exact(functions[f].subop, (double)x);
	double magnitude = fabs(expected), error;

	if (isnan(expected) || isinf((float)expected) || magnitude == 0) {
		float rounded = (float)expected;

		/* log of 1 is +0; infinities and zeros keep their sign */
		if (isnan(expected) ? !isnan(got) : got != rounded)
			fail_msg("%s(%a) = %a instead of %a", functions[f].name, (double)x,
				 (double)got, expected);
		return;
	}
	if (magnitude < 0x1p-126) {	/* subnormal: absolute */
		assert_true(fabs((double)got - expected) <= 0x1p-149 * functions[f].ulps);
		return;
	}
	error = fabs((double)got - expected) / ldexp(1, ilogb(expected) - 23);
	if (error > *worst)
		*worst = error;
	if (error > functions[f].ulps)
		fail_msg("%s(%a) = %a, exactly %a: %.2f ulp", functions[f].name, (double)x,
			 (double)got, expected, error);
}

/* Operands where a function is interesting, and operands anywhere. */
static float operand(unsigned int subop, struct random *random)
{
	uint32_t bits = random_u32(random);
	float x;

	switch (random_range(random, 0, 3)) {
	case 0:
		memcpy(&x, &bits, sizeof(x));
		return x;
	case 1:	/* near 1 and its like */
		return 1 + (float)(int32_t)(bits & 0xffff) * 0x1p-20f - 0x1p-5f;
	case 2:
		return (float)((int32_t)bits) * (subop == NPU_VEC_EXP ? 0x1p-24f : 0x1p-28f);
	default:
		return (float)(bits & 0xffffff) * 0x1p-20f;
	}
}

static void random_floats(void **state)
{
	struct random random = { 2 };
	struct cluster cluster;
	float *from = malloc(COUNT * sizeof(*from)), *to = malloc(COUNT * sizeof(*to));
	unsigned int f, i, round;

	(void)state;
	assert_true(from && to);
	cluster_open(&cluster, "npu-v3", &random);
	for (f = 0; f < FUNCTION_COUNT; f++) {
		double worst = 0;

		for (round = 0; round < 60; round++) {
			for (i = 0; i < COUNT; i++)
				from[i] = operand(functions[f].subop, &random);
			run(&cluster, functions[f].subop, from, to);
			for (i = 0; i < COUNT; i++)
				check_ulps(f, from[i], to[i], &worst);
		}
		print_message("%s: at most %.3f ulp\n", functions[f].name, worst);
	}
	cluster_close(&cluster);
	free(from);
	free(to);
}

/* Values that programs rely on. */
static void exact_values(void **state)
{
	static const struct {
		unsigned int subop;
		float x, y;
	} cases[] = {
		{ NPU_VEC_EXP, 0, 1 },		     { NPU_VEC_EXP, -0.0f, 1 },
		{ NPU_VEC_EXP, -INFINITY, 0 },	     { NPU_VEC_EXP, INFINITY, INFINITY },
		{ NPU_VEC_EXP, -200, 0 },	     { NPU_VEC_RECIPROCAL, 1, 1 },
		{ NPU_VEC_RECIPROCAL, -8, -0.125f }, { NPU_VEC_RECIPROCAL, 0, INFINITY },
		{ NPU_VEC_RECIPROCAL, -0.0f, -INFINITY }, { NPU_VEC_RSQRT, 4, 0.5f },
		{ NPU_VEC_RSQRT, 0x1p-149f, 0x1.6a09e6p+74f }, { NPU_VEC_RSQRT, 0, INFINITY },
		{ NPU_VEC_LOG, 1, 0 },		     { NPU_VEC_LOG, 0, -INFINITY },
		{ NPU_VEC_TANH, 0, 0 },		     { NPU_VEC_TANH, -0.0f, -0.0f },
		{ NPU_VEC_TANH, 11, 1 },	     { NPU_VEC_TANH, -INFINITY, -1 },
		{ NPU_VEC_ERF, 5, 1 },		     { NPU_VEC_ERF, -0.0f, -0.0f },
		{ NPU_VEC_FLOOR, -0.5f, -1 },	     { NPU_VEC_FLOOR, 0x1p30f, 0x1p30f },
		{ NPU_VEC_ROUND, 2.5f, 2 },	     { NPU_VEC_ROUND, -1.5f, -2 },
		{ NPU_VEC_ROUND, -0.25f, -0.0f },    { NPU_VEC_ROUND, 8388607.5f, 8388608 },
	};
	struct random random = { 3 };
	struct cluster cluster;
	float *from = calloc(COUNT, sizeof(*from)), *to = malloc(COUNT * sizeof(*to));
	unsigned int i;

	(void)state;
	assert_true(from && to);
	cluster_open(&cluster, "npu-v3", &random);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		from[0] = cases[i].x;
		run(&cluster, cases[i].subop, from, to);
		if (memcmp(&to[0], &cases[i].y, sizeof(float)))
			fail_msg("function 0x%02x of %a is %a, not %a", cases[i].subop,
				 (double)cases[i].x, (double)to[0], (double)cases[i].y);
	}
	cluster_close(&cluster);
	free(from);
	free(to);
}

/* fp16 to fp32 and back: every pattern; NaN becomes the one there is. */
static void half_conversions(void **state)
{
	struct random random = { 4 };
	struct cluster cluster;
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC, .subop = NPU_VEC_COPY, .dst = 0,
		.src = { 1, NPU_TD_NONE, NPU_TD_NONE },
	};
	uint32_t dim[4] = { 1, 1, 8, 8192 };
	int64_t stride[4];
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	natural_strides(stride, dim, NPU_DTYPE_FP16, 0);
	cluster.tds[0] = make_tensor(NPU_DTYPE_FP16, 0, dim, stride, 0);
	cluster.tds[1] = make_tensor(NPU_DTYPE_FP16, 0x20000, dim, stride, 0);
	for (i = 0; i < 65536; i++)
		cluster_poke(&cluster, 0x20000 + 2 * (int64_t)i, &(uint16_t){ (uint16_t)i }, 2);
	cluster_execute(&cluster, &insn);
	for (i = 0; i < 65536; i++) {
		bool nan = (i & 0x7fff) > 0x7c00;
		uint16_t expected = nan ? 0x7e00 : (uint16_t)i;

		assert_memory_equal(cluster.memory.local + 2 * i, &expected, 2);
		assert_memory_equal(cluster.plain.local + 2 * i, &expected, 2);
	}
	cluster_close(&cluster);
}

/* fp32 to fp16: halfway between any two neighbours, and the nearest on either side of that. */
static void half_rounding(void **state)
{
	struct random random = { 5 };
	struct cluster cluster;
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC, .subop = NPU_VEC_COPY, .dst = 0,
		.src = { 1, NPU_TD_NONE, NPU_TD_NONE },
	};
	uint32_t dim[4] = { 1, 1, 1, 3 * 7 };	/* vector instructions and a rest without */
	int64_t from_stride[4], to_stride[4];
	uint32_t half, i;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	natural_strides(to_stride, dim, NPU_DTYPE_FP16, 0);
	natural_strides(from_stride, dim, NPU_DTYPE_FP32, 0);
	cluster.tds[0] = make_tensor(NPU_DTYPE_FP16, 0, dim, to_stride, 0);
	cluster.tds[1] = make_tensor(NPU_DTYPE_FP32, 0x100, dim, from_stride, 0);
	for (half = 0; half < 0x7c00; half += 7) {
		float values[21];

		for (i = 0; i < 21; i++) {
			float low = reference_from_half((uint16_t)(half + i / 3));
			float high = reference_from_half((uint16_t)(half + i / 3 + 1));

			if (isinf(high))
				high = 65536;
			values[i] = (float)(((double)low + (double)high) / 2);
			if (i % 3)
				values[i] = nextafterf(values[i], i % 3 == 1 ? 0 : INFINITY);
			if (half & 1)
				values[i] = -values[i];
		}
		cluster_poke(&cluster, 0x100, values, sizeof(values));
		cluster_execute(&cluster, &insn);
		for (i = 0; i < 21; i++) {
			uint16_t expected = reference_to_half(values[i]);

			assert_memory_equal(cluster.memory.local + 2 * i, &expected, 2);
			assert_memory_equal(cluster.plain.local + 2 * i, &expected, 2);
		}
	}
	/* by hand: 1 + 2^-11 is a tie and goes to 1; 1 + 3 * 2^-11 to 1 + 2^-9 */
	assert_int_equal(reference_to_half(1 + 0x1p-11f), 0x3c00);
	assert_int_equal(reference_to_half(1 + 3 * 0x1p-11f), 0x3c02);
	assert_int_equal(reference_to_half(0x1p-25f), 0);
	assert_int_equal(reference_to_half(3 * 0x1p-25f), 2);
	cluster_close(&cluster);
}

/* Of two zeros max gives +0 and min -0, in whatever order, and a NaN always comes through. */
static void zeros_and_nans(void **state)
{
	static const uint32_t bits[4] = { 0, 0x80000000, 0x7fc00000, 0x3f800000 };
	struct random random = { 6 };
	struct cluster cluster;
	uint32_t dim[4] = { 1, 1, 1, 16 }, one[4] = { 1, 1, 1, 1 }, i, got;
	int64_t stride[4];
	unsigned int max;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	natural_strides(stride, dim, NPU_DTYPE_FP32, 0);
	for (i = 0; i < 3; i++)
		cluster.tds[i] = make_tensor(NPU_DTYPE_FP32, 0x100 * i, dim, stride, 0);
	for (i = 0; i < 16; i++) {
		cluster_poke(&cluster, 0x100 + 4 * i, &bits[i / 4], 4);
		cluster_poke(&cluster, 0x200 + 4 * i, &bits[i % 4], 4);
	}
	for (max = 0; max < 2; max++) {
		struct npu_insn insn = {
			.opcode = NPU_OP_VEC, .subop = max ? NPU_VEC_MAX : NPU_VEC_MIN, .dst = 0,
			.src = { 1, 2, NPU_TD_NONE },
		};

		cluster_execute(&cluster, &insn);
		for (i = 0; i < 16; i++) {
			uint32_t a = bits[i / 4], b = bits[i % 4], expected;

			if (a == 0x7fc00000 || b == 0x7fc00000)
				expected = 0x7fc00000;
			else if (max)	/* among these, as their bits are ordered as signed */
				expected = (int32_t)a > (int32_t)b ? a : b;
			else
				expected = (int32_t)a < (int32_t)b ? a : b;
			assert_memory_equal(cluster.memory.local + 4 * i, &expected, 4);
			assert_memory_equal(cluster.plain.local + 4 * i, &expected, 4);
		}
	}
	/* the greatest of -0 (eleven of them) and +0 is +0 */
	cluster.tds[0] = make_tensor(NPU_DTYPE_FP32, 0, one, stride, 0);
	for (i = 0; i < 16; i++)
		cluster_poke(&cluster, 0x100 + 4 * i, &bits[i % 3 != 2], 4);
	cluster_execute(&cluster, &(struct npu_insn){
		.opcode = NPU_OP_VEC, .subop = NPU_VEC_REDUCE_MAX, .dst = 0,
		.src = { 1, NPU_TD_NONE, NPU_TD_NONE }, .imm16 = 8 });
	memcpy(&got, cluster.memory.local, 4);
	assert_int_equal(got, 0);
	cluster_close(&cluster);
}

/* A caller that flushes subnormals and rounds down gets the same numbers, and keeps its ways. */
static void environment_of_the_caller(void **state)
{
#ifdef __SSE2__
	const unsigned int odd = 0x1f80 | 0x8040 | 0x2000;	/* flush both ways, round down */
	unsigned int before = _mm_getcsr(), after;
	float *from = calloc(COUNT, sizeof(*from)), *to = malloc(COUNT * sizeof(*to));
	struct random random = { 7 };
	struct cluster cluster;
	unsigned int i;

	(void)state;
	assert_true(from && to);
	cluster_open(&cluster, "npu-v3", &random);
	for (i = 0; i < COUNT; i++)
		from[i] = i % 2 ? 3.0f : 0x1p-140f;
	_mm_setcsr(odd);
	run(&cluster, NPU_VEC_RECIPROCAL, from, to);
	after = _mm_getcsr();
	_mm_setcsr(before);
	assert_int_equal(after & ~0x3fu, odd);
	assert_true(isinf(to[0]) && to[1] == 1 / 3.0f);
	_mm_setcsr(odd);
	run(&cluster, NPU_VEC_COPY, from, to);
	_mm_setcsr(before);
	assert_memory_equal(from, to, COUNT * sizeof(float));
	cluster_close(&cluster);
	free(from);
	free(to);
#else
	(void)state;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_half),
		cmocka_unit_test(random_floats),
		cmocka_unit_test(exact_values),
		cmocka_unit_test(half_conversions),
		cmocka_unit_test(half_rounding),
		cmocka_unit_test(zeros_and_nans),
		cmocka_unit_test(environment_of_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
