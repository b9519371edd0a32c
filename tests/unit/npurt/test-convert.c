// SPDX-License-Identifier: MIT
/* Conversions against definitions that share nothing with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "npurt.h"

/* A half's value by its definition. */
static double half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, mantissa = bits & 1023;
	double value;

	if (exponent == 31)
		value = mantissa ? (double)NAN : (double)INFINITY;
	else if (exponent)
		value = ldexp(1.0 + mantissa / 1024.0, exponent - 15);
	else
		value = ldexp(mantissa / 1024.0, -14);
	return bits & 0x8000 ? -value : value;
}

static void test_halves_to_floats(void **state)
{
	uint16_t *halves = malloc(65536 * 2);
	float *plain = malloc(65536 * 4), *fast = malloc(65536 * 4);
	uint32_t i;

	(void)state;
	for (i = 0; i < 65536; i++)
		halves[i] = (uint16_t)i;
	npurt_floats_from_halves_plain(plain, halves, 65536);
	npurt_floats_from_halves(fast, halves, 65536);
	for (i = 0; i < 65536; i++) {
		double expected = half_value((uint16_t)i);

		if (isnan(expected))
			assert_true(isnan(plain[i]));
		else
			assert_true((double)plain[i] == expected);
		assert_int_equal(!!signbit(plain[i]), i >> 15);
	}
	assert_memory_equal(plain, fast, 65536 * 4);
	free(halves);
	free(plain);
	free(fast);
}

/* The nearest half by search over all of them; ties to the even one. */
static uint16_t nearest_half(double value)
{
	uint16_t low = 0, high = 0x7c00, sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value), below, above, limit;

	if (isnan(value))
		return 0x7e00;
	/* What rounds beyond the largest finite half goes to infinity: 65504 + half a step. */
	limit = 65520.0;
	if (magnitude >= limit)
		return sign | 0x7c00;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		if (half_value(middle) <= magnitude)
			low = middle;
		else
			high = middle;
	}
	below = magnitude - half_value(low);
	above = (high == 0x7c00 ? 65536.0 : half_value(high)) - magnitude;
	if (above < below || (above == below && low & 1))
		return sign | high;
	return sign | low;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#define FLOATS 262144

static void test_floats_to_halves(void **state)
{
	float *floats = malloc(FLOATS * 4);
	uint16_t *plain = malloc(FLOATS * 2), *fast = malloc(FLOATS * 2);
	uint32_t i, seed = 1;

	(void)state;
	for (i = 0; i < FLOATS; i++) {
		seed = seed * 1664525u + 1013904223u;
		/* Every exponent, and the neighbourhood of every half and every tie. */
		if (i < 65536)
			floats[i] = float_of(i << 16 | (seed >> 16));
		else if (i < 131072)
			floats[i] = (float)half_value((uint16_t)i);
		else if (i < 196608)
			floats[i] = float_of(0x33000000u + (i - 131072) * 4096u);
		else
			floats[i] = float_of(0x33000000u + (i - 196608) * 4096u + 1u);
	}
	npurt_halves_from_floats_plain(plain, floats, FLOATS);
	npurt_halves_from_floats(fast, floats, FLOATS);
	for (i = 0; i < FLOATS; i++)
		assert_int_equal(plain[i], nearest_half((double)floats[i]));
	assert_memory_equal(plain, fast, FLOATS * 2);
	/* Every length and alignment, and nothing behind. */
	for (i = 0; i < 40; i++) {
		unsigned char to[2 * 48 + 1];

		memset(to, 0xaa, sizeof(to));
		npurt_halves_from_floats(to + 1, (char *)floats + 4 * 1000, i);
		assert_memory_equal(to + 1, plain + 1000, 2 * i);
		assert_int_equal(to[1 + 2 * i], 0xaa);
	}
	free(floats);
	free(plain);
	free(fast);
}

static void test_doubles_round_once(void **state)
{
	(void)state;
	/* Through float, this tie would be made first and then rounded to even. */
	assert_int_equal(npurt_half_from_double(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
	assert_int_equal(npurt_half_from_double(1.0 + 0x1p-11), 0x3c00);
	assert_int_equal(npurt_half_from_double(1e300), 0x7c00);
	assert_int_equal(npurt_half_from_double(-1e-300), 0x8000);
	assert_int_equal(npurt_half_from_double(0x1p-25), 0x0000);
	assert_int_equal(npurt_half_from_double(0x1p-25 * 1.0000001), 0x0001);
}

static struct npurt_tensor_info tensor(uint32_t host, uint32_t device, uint64_t elements,
				       float scale, int32_t zero_point)
{
	return (struct npurt_tensor_info){
		.size = sizeof(struct npurt_tensor_info), .name = "t", .host_type = host,
		.device_type = device, .rank = 1, .scale = scale, .zero_point = zero_point,
		.elements = elements,
	};
}

static void test_quantize(void **state)
{
	const float from[] = { 0.0f, 0.25f, 0.75f, 1.25f, -0.25f, -0.75f, 1000.0f, -1000.0f,
			       NAN, INFINITY, -INFINITY, 1e38f };
	/* Steps of 0.5 from zero point 3: halves go to the even number, then saturation. */
	const int8_t expected[] = { 3, 3, 5, 5, 3, 1, 127, -128, 3, 127, -128, 127 };
	const uint8_t unsigned_expected[] = { 3, 3, 5, 5, 3, 1, 255, 0, 3, 255, 0, 255 };
	struct npurt_tensor_info info = tensor(NPURT_HOST_FLOAT, NPURT_DEVICE_INT8, 12, 0.5f, 3);
	int8_t to[12];
	float back[12];

	(void)state;
	assert_int_equal(npurt_tensor_from_host(&info, from, sizeof(from), to, sizeof(to)), 0);
	assert_memory_equal(to, expected, sizeof(to));
	assert_int_equal(npurt_tensor_to_host(&info, to, sizeof(to), back, sizeof(back)), 0);
	assert_true(back[0] == 0.0f && back[2] == 1.0f && back[6] == 62.0f && back[7] == -65.5f);
	info.device_type = NPURT_DEVICE_UINT8;
	assert_int_equal(npurt_tensor_from_host(&info, from, sizeof(from), to, sizeof(to)), 0);
	assert_memory_equal(to, unsigned_expected, sizeof(to));
}

static void test_integers(void **state)
{
	const int64_t from[] = { 0, -1, 300, -300, INT64_MAX, INT64_MIN };
	const int16_t shorts[] = { 0, -1, 300, -300, 32767, -32768 };
	const int32_t words[] = { 0, -1, 300, -300, INT32_MAX, INT32_MIN };
	struct npurt_tensor_info info = tensor(NPURT_HOST_INT64, NPURT_DEVICE_INT16, 6, 1.0f, 0);
	int16_t to16[6];
	int32_t to32[6];
	int64_t back[6];
	uint16_t halves[6];
	unsigned char flags[6];

	(void)state;
	assert_int_equal(npurt_tensor_from_host(&info, from, sizeof(from), to16, sizeof(to16)), 0);
	assert_memory_equal(to16, shorts, sizeof(to16));
	info.device_type = NPURT_DEVICE_INT32;
	assert_int_equal(npurt_tensor_from_host(&info, from, sizeof(from), to32, sizeof(to32)), 0);
	assert_memory_equal(to32, words, sizeof(to32));
	assert_int_equal(npurt_tensor_to_host(&info, to32, sizeof(to32), back, sizeof(back)), 0);
	assert_int_equal(back[5], INT32_MIN);
	info.host_type = NPURT_HOST_UINT8;
	assert_int_equal(npurt_tensor_to_host(&info, to32, sizeof(to32), flags, sizeof(flags)), 0);
	assert_int_equal(flags[1], 0);
	assert_int_equal(flags[2], 255);
	info.host_type = NPURT_HOST_BOOL;
	assert_int_equal(npurt_tensor_to_host(&info, to32, sizeof(to32), flags, sizeof(flags)), 0);
	assert_int_equal(flags[0], 0);
	assert_int_equal(flags[1], 1);
	info = tensor(NPURT_HOST_INT64, NPURT_DEVICE_FP16, 6, 1.0f, 0);
	assert_int_equal(npurt_tensor_from_host(&info, from, sizeof(from), halves, sizeof(halves)),
			 0);
	assert_int_equal(halves[1], 0xbc00);
	assert_int_equal(halves[4], 0x7c00);
	halves[0] = 0x3e00;	/* 1.5 */
	halves[1] = 0x4100;	/* 2.5 */
	halves[2] = 0x7e00;
	assert_int_equal(npurt_tensor_to_host(&info, halves, sizeof(halves), back, sizeof(back)),
			 0);
	assert_int_equal(back[0], 2);
	assert_int_equal(back[1], 2);
	assert_int_equal(back[2], 0);
	assert_int_equal(back[4], INT64_MAX);
}

static void test_other_reals(void **state)
{
	const double doubles[] = { 1.5, -2.25, 1e300 };
	const uint16_t bfloats[] = { 0x3fc0, 0xc010, 0x7f80 };
	struct npurt_tensor_info info = tensor(NPURT_HOST_DOUBLE, NPURT_DEVICE_FP16, 3, 1.0f, 0);
	uint16_t halves[3], bback[3];
	float floats[3];
	double back[3];

	(void)state;
	assert_int_equal(npurt_tensor_from_host(&info, doubles, sizeof(doubles), halves, 6), 0);
	assert_int_equal(halves[0], 0x3e00);
	assert_int_equal(halves[1], 0xc080);
	assert_int_equal(halves[2], 0x7c00);
	assert_int_equal(npurt_tensor_to_host(&info, halves, 6, back, sizeof(back)), 0);
	assert_true(back[1] == -2.25 && isinf(back[2]));
	info = tensor(NPURT_HOST_BFLOAT16, NPURT_DEVICE_FP32, 3, 1.0f, 0);
	assert_int_equal(npurt_tensor_from_host(&info, bfloats, 6, floats, sizeof(floats)), 0);
	assert_true(floats[0] == 1.5f && floats[1] == -2.25f && isinf(floats[2]));
	floats[0] = float_of(0x3f808000);	/* a tie: to the even one */
	floats[1] = float_of(0x3f818000);
	floats[2] = NAN;
	assert_int_equal(npurt_tensor_to_host(&info, floats, sizeof(floats), bback, 6), 0);
	assert_int_equal(bback[0], 0x3f80);
	assert_int_equal(bback[1], 0x3f82);
	assert_true((bback[2] & 0x7f80) == 0x7f80 && bback[2] & 0x7f);
}

static void test_refusals(void **state)
{
	struct npurt_tensor_info info = tensor(NPURT_HOST_FLOAT, NPURT_DEVICE_FP16, 4, 1.0f, 0);
	float host[4] = { 0 };
	uint16_t device[4];

	(void)state;
	assert_int_equal(npurt_tensor_from_host(&info, host, 15, device, 8), -EINVAL);
	assert_int_equal(npurt_tensor_from_host(&info, host, 16, device, 7), -EINVAL);
	assert_int_equal(npurt_tensor_from_host(&info, NULL, 16, device, 8), -EINVAL);
	assert_int_equal(npurt_tensor_from_host(NULL, host, 16, device, 8), -EINVAL);
	assert_int_equal(npurt_tensor_to_host(&info, device, 7, host, 16), -EINVAL);
	info.host_type = 8;
	assert_int_equal(npurt_tensor_from_host(&info, host, 16, device, 8), -EINVAL);
	assert_non_null(strstr(npurt_last_error(), "type 8"));
	info.host_type = NPURT_HOST_FLOAT;
	info.elements = (uint64_t)1 << 63;
	assert_int_equal(npurt_tensor_from_host(&info, host, 16, device, 8), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves_to_floats),   cmocka_unit_test(test_floats_to_halves),
		cmocka_unit_test(test_doubles_round_once), cmocka_unit_test(test_quantize),
		cmocka_unit_test(test_integers),	   cmocka_unit_test(test_other_reals),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
