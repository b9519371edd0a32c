// SPDX-License-Identifier: MIT
/*
 * Matrix products: constant and computed right sides, batches that broadcast, transposed
 * operands, bias and residual, against sums in double.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "onnx_builder.h"
#include "random.h"

struct product {
	unsigned int rank; /* of the batch: 0..2 */
	int64_t a_batch[2], b_batch[2], batch[2];
	int64_t m, n, k;
	bool constant_b, transpose_a, transpose_b, bias, residual, relu;
};

struct data {
	float *a, *b, *bias, *residual, *y, *again;
	size_t a_count, b_count, y_count;
};

/* Elements of a batch's matrix: @batch broadcasts where its dim is 1. */
static int64_t matrix_at(const struct product *product, const int64_t own[2], const int64_t at[2],
			 int64_t elements)
{
	int64_t index = 0;
	unsigned int i;

	for (i = 0; i < product->rank; i++)
		index = index * own[i] + (own[i] == 1 ? 0 : at[i]);
	return index * elements;
}

static double reference(const struct product *product, const struct data *data, const int64_t at[2],
			int64_t m, int64_t n, double *size)
{
	const float *a =
		data->a + matrix_at(product, product->a_batch, at, product->m * product->k);
	const float *b =
		data->b + matrix_at(product, product->b_batch, at, product->n * product->k);
	double sum = product->bias ? data->bias[n] : 0;
	int64_t k;

	*size = fabs(sum);
	for (k = 0; k < product->k; k++) {
		double left = product->transpose_a ? a[k * product->m + m] : a[m * product->k + k];
		double right = product->transpose_b ? b[n * product->k + k] : b[k * product->n + n];

		sum += left * right;
		*size += fabs(left * right);
	}
	return sum;
}

static void check(const struct product *product, const struct data *data, const char *what)
{
	int64_t at[2], m, n;
	size_t i = 0;

	for (at[0] = 0; at[0] < product->batch[0]; at[0]++)
		for (at[1] = 0; at[1] < product->batch[1]; at[1]++)
			for (m = 0; m < product->m; m++)
				for (n = 0; n < product->n; n++, i++) {
					double size,
						want = reference(product, data, at, m, n, &size),
						between = 0;

					/* An Add that is not fused reads a product that was rounded. */
					if (product->bias)
						between += fabs(want - data->bias[n]) / 2048;
					if (product->residual) {
						between += fabs(want) / 2048;
						want += data->residual[i];
					}
					if (product->relu && want < 0)
						want = 0;
					if (!(fabs(data->y[i] - want) <=
					      fabs(want) / 2048 + between + 3e-7 * size + 1e-7))
						fail_msg(
							"%s: [%lld][%lld][%lld][%lld] is %g, should be %g",
							what, (long long)at[0], (long long)at[1],
							(long long)m, (long long)n,
							(double)data->y[i], want);
				}
}

/* dims of an operand: batch, then rows and columns, swapped when stored transposed. */
static unsigned int dims_of(const struct product *product, const int64_t batch[2], int64_t rows,
			    int64_t columns, int64_t dims[4])
{
	unsigned int i;

	for (i = 0; i < product->rank; i++)
		dims[i] = batch[i];
	dims[i] = rows;
	dims[i + 1] = columns;
	return i + 2;
}

/* A Transpose of the last two dims, which becomes a view or an attribute. */
static void build_transpose(struct onnx_builder *builder, const struct product *product,
			    const char *in, const char *out)
{
	int64_t perm[4] = { 0, 1, 2, 3 };
	unsigned int rank = product->rank + 2;

	perm[rank - 2] = rank - 1;
	perm[rank - 1] = rank - 2;
	onnx_builder_node(builder, "Transpose", in, out);
	onnx_builder_ints(builder, "perm", rank, perm);
}

static struct onnx_builder *build(const struct product *product, const struct data *data)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const char *names[4] = { "p", "q", "s", "y" };
	unsigned int rank, step = 0, steps = product->bias + product->residual + product->relu;
	int64_t dims[4];
	char text[32];

	assert_non_null(builder);
	rank = dims_of(product, product->a_batch, product->transpose_a ? product->k : product->m,
		       product->transpose_a ? product->m : product->k, dims);
	onnx_builder_input(builder, "a", rank, dims);
	rank = dims_of(product, product->b_batch, product->transpose_b ? product->n : product->k,
		       product->transpose_b ? product->k : product->n, dims);
	if (product->constant_b)
		onnx_builder_floats(builder, "b", rank, dims, data->b);
	else
		onnx_builder_input(builder, "b", rank, dims);
	rank = dims_of(product, product->batch, product->m, product->n, dims);
	if (product->residual)
		onnx_builder_input(builder, "r", rank, dims);
	onnx_builder_output(builder, "y", rank, dims);
	if (product->bias)
		onnx_builder_floats(builder, "c", 1, &product->n, data->bias);
	if (product->transpose_a)
		build_transpose(builder, product, "a", "at");
	if (product->transpose_b)
		build_transpose(builder, product, "b", "bt");
	snprintf(text, sizeof(text), "%s %s", product->transpose_a ? "at" : "a",
		 product->transpose_b ? "bt" : "b");
	onnx_builder_node(builder, "MatMul", text, step == steps ? "y" : names[0]);
	if (product->bias) {
		snprintf(text, sizeof(text), "%s c", names[step]);
		step++;
		onnx_builder_node(builder, "Add", text, step == steps ? "y" : names[step]);
	}
	if (product->residual) {
		snprintf(text, sizeof(text), "%s r", names[step]);
		step++;
		onnx_builder_node(builder, "Add", text, step == steps ? "y" : names[step]);
	}
	if (product->relu)
		onnx_builder_node(builder, "Relu", names[step], "y");
	return builder;
}

static float *floats(struct random *random, size_t count)
{
	float *data = malloc((count + 1) * sizeof(*data));

	assert_non_null(data);
	random_floats(random, data, count);
	return data;
}

static void run_product(const struct product *product, const char *target, struct random *random,
			uint32_t sram, uint32_t stages)
{
	struct data data = {
		.a_count = (size_t)(product->a_batch[0] * product->a_batch[1] * product->m *
				    product->k),
		.b_count = (size_t)(product->b_batch[0] * product->b_batch[1] * product->n *
				    product->k),
		.y_count =
			(size_t)(product->batch[0] * product->batch[1] * product->m * product->n),
	};
	const float *inputs[3];
	struct onnx_builder *builder;
	struct harness harness;
	const uint8_t *model;
	unsigned int count = 0;
	char what[400];
	size_t size;

	data.a = floats(random, data.a_count);
	data.b = floats(random, data.b_count);
	data.bias = floats(random, (size_t)product->n);
	data.residual = floats(random, data.y_count);
	data.y = floats(random, data.y_count);
	data.again = floats(random, data.y_count);
	inputs[count++] = data.a;
	if (!product->constant_b)
		inputs[count++] = data.b;
	if (product->residual)
		inputs[count++] = data.residual;
	snprintf(
		what, sizeof(what),
		"batch %lldx%lld (a %lldx%lld, b %lldx%lld) m %lld n %lld k %lld constant %d transposed %d %d bias %d residual %d relu %d on %s, %u bytes, %u stages",
		(long long)product->batch[0], (long long)product->batch[1],
		(long long)product->a_batch[0], (long long)product->a_batch[1],
		(long long)product->b_batch[0], (long long)product->b_batch[1],
		(long long)product->m, (long long)product->n, (long long)product->k,
		product->constant_b, product->transpose_a, product->transpose_b, product->bias,
		product->residual, product->relu, target, sram, stages);
	assert_int_equal(harness_init(&harness, target), 0);
	harness.options.max_sram_bytes = sram;
	harness.options.pipeline_stages = stages;
	builder = build(product, &data);
	model = onnx_builder_finish(builder, &size);
	assert_non_null(model);
	if (harness_compile(&harness, model, size) || harness_run(&harness, inputs, &data.y, 0))
		fail_msg("%s: %s", what, harness.error);
	check(product, &data, what);
	if (harness_run(&harness, inputs, &data.again, random_next(random) | 1))
		fail_msg("%s: %s", what, harness.error);
	if (memcmp(data.y, data.again, data.y_count * sizeof(float)))
		fail_msg("%s: depends on the order of execution", what);
	harness_free(&harness);
	onnx_builder_free(builder);
	free(data.a);
	free(data.b);
	free(data.bias);
	free(data.residual);
	free(data.y);
	free(data.again);
}

static void set_batch(struct product *product, struct random *random)
{
	unsigned int i;

	product->rank = random_between(random, 0, 2);
	for (i = 0; i < 2; i++)
		product->a_batch[i] = product->b_batch[i] = product->batch[i] = 1;
	for (i = 0; i < product->rank; i++) {
		uint32_t kind = random_between(random, 0, 3);

		product->batch[i] = random_between(random, 1, 5);
		product->a_batch[i] = kind == 1 ? 1 : product->batch[i];
		product->b_batch[i] = kind >= 2 ? 1 : product->batch[i];
	}
}

static const char *const targets[] = {
	"npu-v3",
	"npu-v3?clusters=1",
	"lowpower-v3",
	"npu-v3?clusters=3",
};

static void products(void **state)
{
	static const uint32_t sizes[] = { 0, 0, 65536, 24576, 12288 };
	struct random random = { .state = 0x5eed5eed };
	struct product product;
	int i;

	(void)state;
	for (i = 0; i < 240; i++) {
		set_batch(&product, &random);
		product.m = random_between(&random, 1, 5) == 1 ? 1 : random_between(&random, 1, 90);
		product.n = random_between(&random, 1, 100);
		product.k = random_between(&random, 1, 70);
		product.constant_b = random_next(&random) & 1;
		product.transpose_a = (random_next(&random) & 3) == 0;
		product.transpose_b = random_next(&random) & 1;
		product.bias = random_next(&random) & 1;
		product.residual = (random_next(&random) & 3) == 0;
		product.relu = random_next(&random) & 1;
		run_product(&product, targets[i % 4], &random, sizes[random_next(&random) % 5],
			    random_between(&random, 1, 3));
	}
}

/* More depth than the SRAM holds of one position and one block. */
static void deep(void **state)
{
	struct random random = { .state = 0xdeedeed };
	struct product product;
	int i;

	(void)state;
	for (i = 0; i < 24; i++) {
		memset(&product, 0, sizeof(product));
		product.a_batch[0] = product.b_batch[0] = product.batch[0] = 1;
		product.a_batch[1] = product.b_batch[1] = product.batch[1] = 1;
		product.m = random_between(&random, 1, 40);
		product.n = random_between(&random, 1, 70);
		product.k = random_between(&random, 2000, 5000);
		product.constant_b = i & 1;
		product.transpose_b = i & 2;
		run_product(&product, targets[i % 4], &random, i & 4 ? 16384 : 65536, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
