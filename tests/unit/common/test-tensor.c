// SPDX-License-Identifier: MIT
/* Tensors of the tools: conversion of elements, sizes. Half precision against Python's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file.h"
#include "npurt.h"
#include "tensor.h"

#define HALVES 0x10000u

static const char *table_path;

struct rounding {
	double number;
	uint64_t bits;
};

struct table {
	unsigned char *data;
	double values[HALVES];
	const unsigned char *roundings;
	size_t rounding_count;
};

static int read_table(void **state)
{
	struct table *table = calloc(1, sizeof(*table));
	char error[256];
	size_t size;

	assert_non_null(table);
	table->data = file_read(table_path, 1 << 26, &size, error, sizeof(error));
	if (!table->data)
		fail_msg("%s", error);
	assert_true(size > sizeof(table->values));
	memcpy(table->values, table->data, sizeof(table->values));
	table->roundings = table->data + sizeof(table->values);
	table->rounding_count = (size - sizeof(table->values)) / sizeof(struct rounding);
	*state = table;
	return 0;
}

static int drop_table(void **state)
{
	struct table *table = *state;

	free(table->data);
	free(table);
	return 0;
}

static void make(struct tensor *tensor, uint32_t type, uint64_t elements)
{
	char error[TENSOR_ERROR_BYTES];

	if (tensor_alloc(tensor, type, 1, &elements, error))
		fail_msg("%s", error);
}

static void test_half_values(void **state)
{
	const struct table *table = *state;
	struct tensor tensor;

	make(&tensor, NPURT_HOST_FLOAT16, HALVES);
	for (uint32_t i = 0; i < HALVES; i++)
		((uint16_t *)tensor.data)[i] = (uint16_t)i;
	for (uint32_t i = 0; i < HALVES; i++) {
		double is = tensor_element(&tensor, i), should = table->values[i];

		if (isnan(should) ? !isnan(is) : memcmp(&is, &should, sizeof(is)))
			fail_msg("half 0x%04x is %.17g, not %.17g", i, should, is);
	}
	tensor_free(&tensor);
}

static void test_half_there_and_back(void **state)
{
	struct tensor tensor;

	(void)state;
	make(&tensor, NPURT_HOST_FLOAT16, 2);
	for (uint32_t i = 0; i < HALVES; i++) {
		uint16_t *halves = tensor.data;

		halves[0] = (uint16_t)i;
		tensor_set_element(&tensor, 1, tensor_element(&tensor, 0));
		if ((i & 0x7fff) > 0x7c00)
			assert_true((halves[1] & 0x7fff) > 0x7c00);
		else
			assert_int_equal(halves[1], i);
	}
	tensor_free(&tensor);
}

static void test_half_rounding(void **state)
{
	const struct table *table = *state;
	struct tensor tensor;

	make(&tensor, NPURT_HOST_FLOAT16, 1);
	assert_true(table->rounding_count > 4 * 0x7c00);
	for (size_t i = 0; i < table->rounding_count; i++) {
		struct rounding rounding;
		uint16_t bits;

		memcpy(&rounding, table->roundings + i * sizeof(rounding), sizeof(rounding));
		tensor_set_element(&tensor, 0, rounding.number);
		bits = *(uint16_t *)tensor.data;
		if (bits != rounding.bits)
			fail_msg("%.17g rounds to half 0x%04x, not 0x%04x", rounding.number,
				 (unsigned int)rounding.bits, bits);
	}
	tensor_free(&tensor);
}

/* By the types' definitions: rounded half to even, saturated, NaN is 0. */
static const struct {
	uint32_t type;
	double set, get;
} conversions[] = {
	{ NPURT_HOST_INT8, 1.5, 2 },
	{ NPURT_HOST_INT8, 2.5, 2 },
	{ NPURT_HOST_INT8, -2.5, -2 },
	{ NPURT_HOST_INT8, 127.4, 127 },
	{ NPURT_HOST_INT8, 128, 127 },
	{ NPURT_HOST_INT8, -129, -128 },
	{ NPURT_HOST_INT8, -1e300, -128 },
	{ NPURT_HOST_INT8, INFINITY, 127 },
	{ NPURT_HOST_INT8, NAN, 0 },
	{ NPURT_HOST_UINT8, -0.4, 0 },
	{ NPURT_HOST_UINT8, -7, 0 },
	{ NPURT_HOST_UINT8, 255.5, 255 },
	{ NPURT_HOST_UINT8, 254.5, 254 },
	{ NPURT_HOST_UINT8, 1e9, 255 },
	{ NPURT_HOST_UINT8, NAN, 0 },
	{ NPURT_HOST_INT16, 32767.5, 32767 },
	{ NPURT_HOST_INT16, -40000, -32768 },
	{ NPURT_HOST_UINT16, 65535.6, 65535 },
	{ NPURT_HOST_UINT16, -1, 0 },
	{ NPURT_HOST_INT32, 2147483648.0, 2147483647.0 },
	{ NPURT_HOST_INT32, -2147483649.0, -2147483648.0 },
	{ NPURT_HOST_INT32, -INFINITY, -2147483648.0 },
	{ NPURT_HOST_INT64, 9007199254740993.0, 9007199254740992.0 },
	{ NPURT_HOST_INT64, 0x1p63, 0x1.fffffffffffffp62 },
	{ NPURT_HOST_INT64, -0x1p63, -0x1p63 },
	{ NPURT_HOST_INT64, -INFINITY, -0x1p63 },
	{ NPURT_HOST_INT64, NAN, 0 },
	{ NPURT_HOST_BOOL, 0.25, 1 },
	{ NPURT_HOST_BOOL, -3, 1 },
	{ NPURT_HOST_BOOL, 0, 0 },
	{ NPURT_HOST_FLOAT, 16777217.0, 16777216.0 },
	{ NPURT_HOST_FLOAT, 1e300, INFINITY },
	{ NPURT_HOST_DOUBLE, 0.1, 0.1 },
};

static void test_conversions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
		struct tensor tensor;
		double is;

		/* The neighbours show writes beyond the element. */
		make(&tensor, conversions[i].type, 3);
		tensor_set_element(&tensor, 1, conversions[i].set);
		is = tensor_element(&tensor, 1);
		if (is != conversions[i].get)
			fail_msg("%s of %.17g is %.17g, not %.17g",
				 tensor_type_name(conversions[i].type), conversions[i].set,
				 conversions[i].get, is);
		assert_true(tensor_element(&tensor, 0) == 0 && tensor_element(&tensor, 2) == 0);
		tensor_free(&tensor);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		uint32_t type, rank;
		uint64_t dims[TENSOR_RANK_MAX + 1];
		uint64_t bytes; /* 0: refused */
		uint64_t elements;
	} cases[] = {
		{ NPURT_HOST_FLOAT, 0, { 0 }, 4, 1 },
		{ NPURT_HOST_FLOAT, 2, { 3, 5 }, 60, 15 },
		{ NPURT_HOST_DOUBLE, 8, { 1, 2, 1, 2, 1, 2, 1, 2 }, 128, 16 },
		{ NPURT_HOST_FLOAT, 9, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 0, 0 },
		{ NPURT_HOST_UINT8, 2, { 1ull << 33, 1ull << 33 }, 0, 0 },
		{ NPURT_HOST_UINT8, 2, { 1ull << 32, 1ull << 32 }, 0, 0 },
		{ NPURT_HOST_FLOAT, 1, { UINT64_MAX / 4 + 1 }, 0, 0 },
		{ NPURT_HOST_UINT8, 1, { (1ull << 34) + 1 }, 0, 0 },
		{ 0, 1, { 1 }, 0, 0 },
		{ 8, 1, { 1 }, 0, 0 },
		{ UINT32_MAX, 1, { 1 }, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char error[TENSOR_ERROR_BYTES] = "";
		struct tensor tensor;
		int result =
			tensor_alloc(&tensor, cases[i].type, cases[i].rank, cases[i].dims, error);

		assert_int_equal(result, cases[i].bytes ? 0 : -1);
		if (result) {
			assert_true(strlen(error) > 10);
			continue;
		}
		assert_int_equal(tensor.bytes, cases[i].bytes);
		assert_int_equal(tensor.elements, cases[i].elements);
		for (size_t b = 0; b < tensor.bytes; b++)
			assert_int_equal(((unsigned char *)tensor.data)[b], 0);
		tensor_free(&tensor);
		assert_null(tensor.data);
	}
}

static void test_empty(void **state)
{
	const uint64_t dims[2] = { 0, 7 };
	char error[TENSOR_ERROR_BYTES];
	struct tensor tensor;

	(void)state;
	assert_int_equal(tensor_alloc(&tensor, NPURT_HOST_FLOAT, 2, dims, error), 0);
	assert_int_equal(tensor.elements, 0);
	assert_int_equal(tensor.bytes, 0);
	tensor_free(&tensor);
}

static void test_shape_text(void **state)
{
	const uint64_t dims[TENSOR_RANK_MAX] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
						 UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	const uint64_t few[4] = { 1, 3, 48, 320 };
	char text[TENSOR_SHAPE_TEXT];

	(void)state;
	assert_string_equal(tensor_shape_text(4, few, text), "1x3x48x320");
	assert_string_equal(tensor_shape_text(0, few, text), "scalar");
	assert_int_equal(strlen(tensor_shape_text(TENSOR_RANK_MAX, dims, text)), 8 * 20 + 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_values),   cmocka_unit_test(test_half_there_and_back),
		cmocka_unit_test(test_half_rounding), cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_sizes),	      cmocka_unit_test(test_empty),
		cmocka_unit_test(test_shape_text),
	};

	if (argc != 2) {
		fputs("usage: test-common-tensor HALF-TABLE\n", stderr);
		return 2;
	}
	table_path = argv[1];
	return cmocka_run_group_tests(tests, read_table, drop_table);
}
