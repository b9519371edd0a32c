// SPDX-License-Identifier: MIT
/*
 * Writes models of one operator with seeded weights, for measurements:
 *	make-model conv CHANNELS HEIGHT WIDTH RESULTS KERNEL OUT.onnx
 *	make-model depthwise CHANNELS HEIGHT WIDTH KERNEL STRIDE OUT.onnx
 *	make-model matmul M N K OUT.onnx
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_builder.h"

static float *weights(size_t count)
{
	float *data = malloc(count * sizeof(*data));
	uint64_t state = 88172645463325252ull;
	size_t i;

	for (i = 0; data && i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		data[i] = (float)((int)(state >> 40) % 256 - 128) / 4096.0f;
	}
	return data;
}

static int64_t number(const char *text)
{
	return strtoll(text, NULL, 10);
}

static void make_conv(struct onnx_builder *builder, int64_t c, int64_t h, int64_t w, int64_t m,
		      int64_t kernel, int64_t stride, int64_t group)
{
	int64_t x[4] = { 1, c, h, w }, k[4] = { m, c / group, kernel, kernel };
	int64_t pad = kernel / 2, pads[4] = { pad, pad, pad, pad }, strides[2] = { stride, stride };
	int64_t y[4] = { 1, m, (h + 2 * pad - kernel) / stride + 1,
			 (w + 2 * pad - kernel) / stride + 1 };
	float *data = weights((size_t)(m * c / group * kernel * kernel));

	if (!data)
		return;
	onnx_builder_input(builder, "x", 4, x);
	onnx_builder_output(builder, "y", 4, y);
	onnx_builder_floats(builder, "w", 4, k, data);
	onnx_builder_floats(builder, "b", 1, &m, data);
	onnx_builder_node(builder, "Conv", "x w b", "y");
	onnx_builder_ints(builder, "pads", 4, pads);
	onnx_builder_ints(builder, "strides", 2, strides);
	onnx_builder_int(builder, "group", group);
	free(data);
}

static void make_matmul(struct onnx_builder *builder, int64_t m, int64_t n, int64_t k)
{
	int64_t a[2] = { m, k }, b[2] = { k, n }, y[2] = { m, n };
	float *data = weights((size_t)(n * k));

	if (!data)
		return;
	onnx_builder_input(builder, "a", 2, a);
	onnx_builder_output(builder, "y", 2, y);
	onnx_builder_floats(builder, "b", 2, b, data);
	onnx_builder_node(builder, "MatMul", "a b", "y");
	free(data);
}

int main(int argc, char **argv)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	const uint8_t *model = NULL;
	FILE *file = NULL;
	size_t size = 0;
	int status = 1;

	if (!builder)
		return 1;
	if (argc == 8 && !strcmp(argv[1], "conv"))
		make_conv(builder, number(argv[2]), number(argv[3]), number(argv[4]),
			  number(argv[5]), number(argv[6]), 1, 1);
	else if (argc == 8 && !strcmp(argv[1], "depthwise"))
		make_conv(builder, number(argv[2]), number(argv[3]), number(argv[4]),
			  number(argv[2]), number(argv[5]), number(argv[6]), number(argv[2]));
	else if (argc == 6 && !strcmp(argv[1], "matmul"))
		make_matmul(builder, number(argv[2]), number(argv[3]), number(argv[4]));
	else
		goto usage;
	model = onnx_builder_finish(builder, &size);
	file = model ? fopen(argv[argc - 1], "wb") : NULL;
	if (file && fwrite(model, 1, size, file) == size && !fclose(file))
		status = 0;
	onnx_builder_free(builder);
	return status;
usage:
	fprintf(stderr,
		"usage: make-model conv C H W M KERNEL OUT | depthwise C H W KERNEL STRIDE OUT | matmul M N K OUT\n");
	onnx_builder_free(builder);
	return 2;
}
