// SPDX-License-Identifier: MIT
/*
 * Import: shapes given and asked for, shape chains, forms of operators by
 * opset, encodings of tensors, external data, and what is refused in words.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "front/onnx.h"
#include "npucc_front.h"
#include "onnx_builder.h"

static const int64_t image[] = { 1, 4, 6, 6 };

/* ------------------------------------------------------------- models by the builder */

struct loaded {
	struct onnx_builder *builder;
	struct npucc_model *model;
	struct graph *graph;
	struct diag diag;
};

static void load(struct loaded *loaded, struct onnx_builder *builder,
		 const struct npucc_shape_binding *shapes, uint32_t shape_count)
{
	struct npucc_front_options options = { .shapes = shapes, .shape_count = shape_count };
	const uint8_t *bytes;
	size_t size;

	memset(loaded, 0, sizeof(*loaded));
	onnx_builder_output(builder, "y", 1, (const int64_t[]){ 1 });
	bytes = onnx_builder_finish(builder, &size);
	assert_non_null(bytes);
	diag_init(&loaded->diag);
	loaded->builder = builder;
	loaded->model = npucc_front_load_memory(bytes, size, &options, &loaded->diag);
	if (loaded->model)
		loaded->graph = npucc_model_graph(loaded->model);
}

static void done(struct loaded *loaded)
{
	npucc_model_free(loaded->model);
	onnx_builder_free(loaded->builder);
	diag_free(&loaded->diag);
}

static struct onnx_builder *begin(int64_t opset, unsigned int rank, const int64_t *dims)
{
	struct onnx_builder *builder = onnx_builder_new(opset);

	assert_non_null(builder);
	onnx_builder_input(builder, "x", rank, dims);
	return builder;
}

static void accepted(const struct loaded *loaded)
{
	if (!loaded->model)
		fail_msg("%s", diag_first_error(&loaded->diag));
}

static void refused(const struct loaded *loaded, const char *words)
{
	const char *error = diag_first_error(&loaded->diag);

	assert_null(loaded->model);
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
}

static void has_shape(const struct graph_value *value, uint32_t rank, const int64_t *dims)
{
	assert_int_equal(value->rank, rank);
	assert_memory_equal(value->dims, dims, rank * sizeof(*dims));
}

/* Reshape to [N, C, H*W] by the chain exporters write. */
static void test_shape_chain(void **state)
{
	static const int64_t zero[] = { 0 }, one[] = { 1 }, rest[] = { -1 }, end[] = { 1000 };
	struct onnx_builder *builder = begin(13, 4, image);
	struct loaded loaded;

	(void)state;
	onnx_builder_integers(builder, "zero", 1, zero);
	onnx_builder_integers(builder, "one", 1, one);
	onnx_builder_integers(builder, "rest", 1, rest);
	onnx_builder_integers(builder, "end", 1, end);
	onnx_builder_node(builder, "Shape", "x", "s");
	onnx_builder_node(builder, "Gather", "s zero", "n");
	onnx_builder_node(builder, "Slice", "s one end", "t");
	onnx_builder_node(builder, "Gather", "t zero", "c");
	onnx_builder_node(builder, "Mul", "c one", "d");
	onnx_builder_node(builder, "Concat", "n d rest", "shape");
	onnx_builder_int(builder, "axis", 0);
	onnx_builder_node(builder, "Reshape", "x shape", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->node_count, 1);
	has_shape(loaded.graph->outputs[0], 3, (const int64_t[]){ 1, 4, 36 });
	done(&loaded);
}

static void test_shape_asked_for(void **state)
{
	static const int64_t open_dims[] = { -1, 4, 6, 0 };
	struct npucc_shape_binding shape = { "x", 4, { 2, 4, 6, 9 } };
	struct onnx_builder *builder = begin(13, 4, open_dims);
	struct loaded loaded;

	(void)state;
	onnx_builder_node(builder, "Relu", "x", "y");
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "--shape 'x=");
	done(&loaded);

	builder = begin(13, 4, open_dims);
	onnx_builder_node(builder, "Relu", "x", "y");
	load(&loaded, builder, &shape, 1);
	accepted(&loaded);
	has_shape(loaded.graph->outputs[0], 4, shape.dims);
	done(&loaded);

	builder = begin(13, 4, open_dims);
	onnx_builder_node(builder, "Relu", "x", "y");
	shape.dims[1] = 5;
	load(&loaded, builder, &shape, 1);
	refused(&loaded, "the model fixes it at 4");
	done(&loaded);

	builder = begin(13, 4, open_dims);
	onnx_builder_node(builder, "Relu", "x", "y");
	shape.rank = 3;
	load(&loaded, builder, &shape, 1);
	refused(&loaded, "3 dimensions, the model states 4");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Relu", "x", "y");
	shape.name = "z";
	load(&loaded, builder, &shape, 1);
	refused(&loaded, "'z', which is no input");
	done(&loaded);
}

static void test_shape_text(void **state)
{
	static const char *const bad[] = { "x",
					   "=1x2",
					   "x=1x",
					   "x=0x2",
					   "x=-1",
					   "x=1,2",
					   "x=1x2x",
					   "x=ax1",
					   "x=1x2x3x4x5x6x7x8x9",
					   "x=99999999999999999999",
					   "x= 1" };
	struct npucc_shape_binding shape;
	struct diag diag;
	char text[64];
	size_t i;

	(void)state;
	strcpy(text, "a=b=1x3x48x320");
	assert_int_equal(npucc_parse_shape(text, &shape, NULL), 0);
	assert_string_equal(shape.name, "a=b");
	assert_int_equal(shape.rank, 4);
	assert_int_equal(shape.dims[3], 320);
	strcpy(text, "s=");
	assert_int_equal(npucc_parse_shape(text, &shape, NULL), 0);
	assert_int_equal(shape.rank, 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(text, bad[i]);
		diag_init(&diag);
		assert_int_equal(npucc_parse_shape(text, &shape, &diag), -1);
		assert_int_equal(diag.errors, 1);
		diag_free(&diag);
	}
}

static void test_clip(void **state)
{
	struct onnx_builder *builder = begin(6, 4, image);
	const float six = 6;
	struct loaded loaded;

	(void)state;
	onnx_builder_node(builder, "Clip", "x", "y");
	onnx_builder_float(builder, "max", 6);
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_true(isinf(loaded.graph->first->attr.activation.alpha));
	assert_true(loaded.graph->first->attr.activation.beta == 6.0f);
	done(&loaded);

	builder = begin(11, 4, image);
	onnx_builder_floats(builder, "six", 0, NULL, &six);
	onnx_builder_node(builder, "Clip", "x - six", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_true(isinf(loaded.graph->first->attr.activation.alpha));
	assert_true(loaded.graph->first->attr.activation.beta == 6.0f);
	done(&loaded);
}

/* Flattening softmax of old opsets, one axis of new ones. */
static void test_softmax(void **state)
{
	struct onnx_builder *builder = begin(11, 4, image);
	struct loaded loaded;

	(void)state;
	onnx_builder_node(builder, "Softmax", "x", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->node_count, 3);
	assert_int_equal(loaded.graph->first->next->op, GRAPH_OP_SOFTMAX);
	assert_int_equal(loaded.graph->first->next->inputs[0]->dims[1], 144);
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Softmax", "x", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->node_count, 1);
	assert_int_equal(loaded.graph->first->attr.softmax.axis, 3);
	done(&loaded);
}

/* Before IR version 4 initializers were inputs too. */
static void test_initializer_as_input(void **state)
{
	static const int64_t four[] = { 4 };
	struct onnx_builder *builder = begin(9, 4, image);
	const float numbers[4] = { 1, 2, 3, 4 };
	struct loaded loaded;

	(void)state;
	onnx_builder_input(builder, "slope", 1, four);
	onnx_builder_floats(builder, "slope", 1, four, numbers);
	onnx_builder_node(builder, "PRelu", "x slope", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->input_count, 1);
	assert_true(graph_is_constant(loaded.graph->first->inputs[1]));
	done(&loaded);
}

/* One scale a channel came with opset 13. */
static void test_scales_by_opset(void **state)
{
	static const int64_t four[] = { 4 };
	static const float scales[4] = { 1, 2, 3, 4 };
	struct loaded loaded;

	(void)state;
	for (int64_t opset = 12; opset <= 13; opset++) {
		struct onnx_builder *builder = begin(opset, 4, image);

		onnx_builder_floats(builder, "scales", 1, four, scales);
		onnx_builder_node(builder, "QuantizeLinear", "x scales", "q");
		onnx_builder_node(builder, "DequantizeLinear", "q scales", "y");
		load(&loaded, builder, NULL, 0);
		if (opset < 13)
			refused(&loaded, "opset 12");
		else
			accepted(&loaded);
		done(&loaded);
	}
}

static void test_convolution_1d(void **state)
{
	static const int64_t line[] = { 1, 4, 20 }, weights[] = { 6, 4, 5 }, pads[] = { 1, 2 };
	struct onnx_builder *builder = begin(13, 3, line);
	float numbers[120] = { 0 };
	struct loaded loaded;

	(void)state;
	onnx_builder_floats(builder, "w", 3, weights, numbers);
	onnx_builder_node(builder, "Conv", "x w", "y");
	onnx_builder_ints(builder, "pads", 2, pads);
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->node_count, 3);
	has_shape(loaded.graph->outputs[0], 3, (const int64_t[]){ 1, 6, 19 });
	assert_int_equal(loaded.graph->first->next->attr.conv.window.pad_end[1], 2);
	done(&loaded);
}

/* SAME_UPPER puts the odd pad behind, SAME_LOWER before. */
static void test_auto_pad(void **state)
{
	static const int64_t weights[] = { 2, 4, 4, 2 }, strides[] = { 1, 2 };
	static const char *const modes[] = { "SAME_UPPER", "SAME_LOWER" };
	float numbers[64] = { 0 };
	struct loaded loaded;
	int lower;

	(void)state;
	for (lower = 0; lower < 2; lower++) {
		struct onnx_builder *builder = begin(13, 4, image);
		const struct graph_window *window;

		onnx_builder_floats(builder, "w", 4, weights, numbers);
		onnx_builder_node(builder, "Conv", "x w", "y");
		onnx_builder_string(builder, "auto_pad", modes[lower]);
		onnx_builder_ints(builder, "strides", 2, strides);
		load(&loaded, builder, NULL, 0);
		accepted(&loaded);
		window = &loaded.graph->first->attr.conv.window;
		assert_int_equal(window->pad_begin[0], lower ? 2 : 1);
		assert_int_equal(window->pad_end[0], lower ? 1 : 2);
		assert_int_equal(window->pad_begin[1] + window->pad_end[1], 0);
		has_shape(loaded.graph->outputs[0], 4, (const int64_t[]){ 1, 2, 6, 3 });
		done(&loaded);
	}
}

static void test_gemm(void **state)
{
	static const int64_t left[] = { 3, 8 }, right[] = { 5, 8 }, five[] = { 5 };
	struct onnx_builder *builder = begin(13, 2, left);
	float numbers[40];
	struct loaded loaded;
	size_t i;

	(void)state;
	for (i = 0; i < 40; i++)
		numbers[i] = (float)i;
	onnx_builder_floats(builder, "w", 2, right, numbers);
	onnx_builder_floats(builder, "c", 1, five, numbers);
	onnx_builder_node(builder, "Gemm", "x w c", "y");
	onnx_builder_int(builder, "transB", 1);
	onnx_builder_float(builder, "alpha", 0.5f);
	onnx_builder_float(builder, "beta", 2.0f);
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->node_count, 1);
	/* [k][n] is half of [n][k]; the bias is doubled. */
	assert_true(graph_constant_as_f32(loaded.graph->first->inputs[1], 5 * 3 + 2) == 19.0f / 2);
	assert_true(graph_constant_as_f32(loaded.graph->first->inputs[2], 4) == 8.0f);
	done(&loaded);
}

/* Names are bytes; they come back as they were. */
static void test_names(void **state)
{
	struct onnx_builder *builder = onnx_builder_new(13);
	struct loaded loaded;

	(void)state;
	assert_non_null(builder);
	onnx_builder_input(builder, "{\"a\":\xff}", 4, image);
	onnx_builder_node(builder, "Relu", "{\"a\":\xff}", "y");
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_string_equal(loaded.graph->inputs[0]->name, "{\"a\":\xff}");
	assert_string_equal(loaded.graph->outputs[0]->name, "y");
	done(&loaded);
}

/* An output that is an input, and one value under two output names. */
static void test_outputs_copied(void **state)
{
	struct onnx_builder *builder = begin(13, 4, image);
	struct loaded loaded;

	(void)state;
	onnx_builder_node(builder, "Relu", "x", "z");
	onnx_builder_node(builder, "Identity", "z", "y");
	onnx_builder_output(builder, "x", 4, image);
	onnx_builder_output(builder, "z", 4, image);
	load(&loaded, builder, NULL, 0);
	accepted(&loaded);
	assert_int_equal(loaded.graph->output_count, 3);
	assert_string_equal(loaded.graph->outputs[0]->name, "x");
	assert_string_equal(loaded.graph->outputs[1]->name, "z");
	assert_string_equal(loaded.graph->outputs[2]->name, "y");
	assert_int_equal(graph_verify(loaded.graph, NULL), 0);
	done(&loaded);
}

static void test_refusals(void **state)
{
	static const int64_t weights[] = { 2, 3, 3, 3 }, perm[] = { 0, 1, 1, 2 },
			     shape[] = { 5, -1 };
	float numbers[54] = { 0 };
	struct onnx_builder *builder;
	struct loaded loaded;

	(void)state;
	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Relu", "nothing", "y");
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "'nothing', which no node before it makes");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_floats(builder, "w", 4, weights, numbers);
	onnx_builder_node(builder, "Conv", "x w", "y");
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "group is 1 for 4 input channels");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Transpose", "x", "y");
	onnx_builder_ints(builder, "perm", 4, perm);
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "a permutation of the input's");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_integers(builder, "shape", 2, shape);
	onnx_builder_node(builder, "Reshape", "x shape", "y");
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "144 elements cannot be divided by");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Softmax", "x", "y");
	onnx_builder_int(builder, "axis", 4);
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "axis is 4, -4 to 3 is needed");
	done(&loaded);

	builder = begin(13, 4, image);
	onnx_builder_node(builder, "Relu", "x", "z");
	load(&loaded, builder, NULL, 0);
	refused(&loaded, "output 'y' of the model is made by no node");
	done(&loaded);
}

/* -------------------------------------------------------------- tensors by the byte */

struct writer {
	uint8_t bytes[4096];
	size_t size;
};

static void put_varint(struct writer *writer, uint64_t number)
{
	do {
		uint8_t byte = number & 0x7f;

		number >>= 7;
		writer->bytes[writer->size++] = (uint8_t)(byte | (number ? 0x80 : 0));
	} while (number);
}

static void put_number(struct writer *writer, unsigned int field, uint64_t number)
{
	put_varint(writer, field << 3);
	put_varint(writer, number);
}

static void put_bytes(struct writer *writer, unsigned int field, const void *data, size_t size)
{
	put_varint(writer, field << 3 | 2);
	put_varint(writer, size);
	memcpy(writer->bytes + writer->size, data, size);
	writer->size += size;
}

static void put_fixed(struct writer *writer, unsigned int field, const void *data, size_t size)
{
	put_varint(writer, field << 3 | (size == 8 ? 1 : 5));
	memcpy(writer->bytes + writer->size, data, size);
	writer->size += size;
}

static void put_entry(struct writer *writer, const char *key, const char *value, size_t size)
{
	struct writer entry = { .size = 0 };

	put_bytes(&entry, 1, key, strlen(key));
	put_bytes(&entry, 2, value, size);
	put_bytes(writer, 13, entry.bytes, entry.size);
}

/* The tensor in @writer; NULL when it is refused, *words then must be in the sentence. */
static const void *decode(const struct writer *writer, struct onnx_files *files,
			  struct arena *arena, const char *words)
{
	struct wire_bytes bytes = { writer->bytes, writer->size };
	const struct onnx_tensor *tensor;
	int64_t dims[GRAPH_MAX_RANK];
	enum graph_dtype dtype;
	const void *data = NULL;
	struct diag diag;
	int result = -1;

	diag_init(&diag);
	tensor = onnx_parse_tensor(bytes, arena, &diag);
	if (tensor)
		result = onnx_tensor_value(tensor, files, arena, &diag, &dtype, dims, &data);
	if (!words && result)
		fail_msg("%s", diag_first_error(&diag));
	if (words) {
		assert_int_equal(result, -1);
		if (!strstr(diag_first_error(&diag), words))
			fail_msg("'%s' does not say '%s'", diag_first_error(&diag), words);
	}
	diag_free(&diag);
	return result ? NULL : data;
}

static void begin_tensor(struct writer *writer, uint64_t count, int type)
{
	memset(writer, 0, sizeof(*writer));
	put_number(writer, 1, count);
	put_number(writer, 2, (uint64_t)type);
	put_bytes(writer, 8, "t", 1);
}

static void test_encodings(void **state)
{
	static const uint8_t halves[] = { 0x80, 0x78, 1 }; /* 0x3c00, 1 */
	static const double real = 2.5;
	static const float single = -3;
	struct writer writer;
	struct arena arena;
	const void *data;

	(void)state;
	arena_init(&arena, 0);
	/* float16 travels in int32_data: packed, then one by one. */
	begin_tensor(&writer, 2, ONNX_FLOAT16);
	put_bytes(&writer, 5, halves, sizeof(halves));
	data = decode(&writer, NULL, &arena, NULL);
	assert_int_equal(((const uint16_t *)data)[0], 0x3c00);
	assert_int_equal(((const uint16_t *)data)[1], 1);
	begin_tensor(&writer, 2, ONNX_INT8);
	put_number(&writer, 5, UINT64_MAX);
	put_number(&writer, 5, 7);
	data = decode(&writer, NULL, &arena, NULL);
	assert_int_equal(((const int8_t *)data)[0], -1);
	assert_int_equal(((const int8_t *)data)[1], 7);
	begin_tensor(&writer, 2, ONNX_FLOAT);
	put_fixed(&writer, 4, &single, sizeof(single));
	put_bytes(&writer, 4, &single, sizeof(single));
	data = decode(&writer, NULL, &arena, NULL);
	assert_true(((const float *)data)[1] == -3.0f);
	begin_tensor(&writer, 1, ONNX_DOUBLE);
	put_fixed(&writer, 10, &real, sizeof(real));
	data = decode(&writer, NULL, &arena, NULL);
	assert_true(*(const double *)data == 2.5);
	begin_tensor(&writer, 1, ONNX_UINT32);
	put_number(&writer, 11, 4000000000u);
	data = decode(&writer, NULL, &arena, NULL);
	assert_int_equal(*(const uint32_t *)data, 4000000000u);
	begin_tensor(&writer, 0, ONNX_INT64);
	assert_non_null(decode(&writer, NULL, &arena, NULL));
	arena_free(&arena);
}

static void test_bad_tensors(void **state)
{
	struct writer writer;
	struct arena arena;
	int i;

	(void)state;
	arena_init(&arena, (uint64_t)1 << 20);
	begin_tensor(&writer, 3, ONNX_FLOAT);
	put_bytes(&writer, 9, "12345678", 8);
	decode(&writer, NULL, &arena, "holds 8 bytes in its raw data, its shape and type need 12");
	begin_tensor(&writer, 2, ONNX_FLOAT);
	put_number(&writer, 7, 1);
	put_number(&writer, 7, 2);
	decode(&writer, NULL, &arena, "meant for other types");
	/* A huge claim backed by nothing costs nothing. */
	begin_tensor(&writer, (uint64_t)1 << 39, ONNX_INT64);
	put_number(&writer, 7, 1);
	decode(&writer, NULL, &arena, "holds 1 elements");
	begin_tensor(&writer, UINT64_MAX, ONNX_FLOAT);
	decode(&writer, NULL, &arena, "negative dimension");
	begin_tensor(&writer, (uint64_t)1 << 62, ONNX_FLOAT);
	decode(&writer, NULL, &arena, "more than 2^40 elements");
	begin_tensor(&writer, 1, ONNX_STRING);
	decode(&writer, NULL, &arena, "element type string");
	begin_tensor(&writer, 1, ONNX_FLOAT);
	for (i = 0; i < 8; i++)
		put_number(&writer, 1, 1);
	decode(&writer, NULL, &arena, "9 dimensions");
	begin_tensor(&writer, 1, ONNX_FLOAT);
	decode(&writer, NULL, &arena, "holds 0 bytes");
	arena_free(&arena);
}

static void external_tensor(struct writer *writer, const char *location, size_t size,
			    const char *offset, const char *length)
{
	begin_tensor(writer, 2, ONNX_FLOAT);
	put_number(writer, 14, 1);
	put_entry(writer, "location", location, size);
	if (offset)
		put_entry(writer, "offset", offset, strlen(offset));
	if (length)
		put_entry(writer, "length", length, strlen(length));
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

#define NAME(text) text, sizeof(text) - 1

static void test_external_data(void **state)
{
	static const float numbers[] = { 0, 0, 1.5f, -2 };
	char top[] = "/tmp/npucc-test-XXXXXX", path[128], outside[128];
	struct onnx_files *files;
	struct writer writer;
	struct arena arena;
	const float *data;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(outside, sizeof(outside), "%s/outside.bin", top);
	write_file(outside, numbers, sizeof(numbers));
	snprintf(path, sizeof(path), "%s/model", top);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/model/data.bin", top);
	write_file(path, numbers, sizeof(numbers));
	snprintf(path, sizeof(path), "%s/model/link.bin", top);
	assert_int_equal(symlink(outside, path), 0);
	snprintf(path, sizeof(path), "%s/model/model.onnx", top);
	write_file(path, "x", 1);
	files = onnx_files_open(path, NULL);
	assert_non_null(files);
	arena_init(&arena, 0);

	external_tensor(&writer, NAME("data.bin"), "8", "8");
	data = decode(&writer, files, &arena, NULL);
	assert_true(data[0] == 1.5f && data[1] == -2.0f);
	/* An offset no float can be at is copied to where one can. */
	external_tensor(&writer, NAME("./data.bin"), "7", NULL);
	data = decode(&writer, files, &arena, NULL);
	assert_int_equal((uintptr_t)data % sizeof(float), 0);
	external_tensor(&writer, NAME("data.bin"), "9", NULL);
	decode(&writer, files, &arena, "which has only 16");
	external_tensor(&writer, NAME("data.bin"), "18446744073709551615", "8");
	decode(&writer, files, &arena, "which has only 16");
	external_tensor(&writer, NAME("data.bin"), "18446744073709551616", "8");
	decode(&writer, files, &arena, "which is no number");
	external_tensor(&writer, NAME("data.bin"), "-1", NULL);
	decode(&writer, files, &arena, "which is no number");
	external_tensor(&writer, NAME("data.bin"), "0", "12");
	decode(&writer, files, &arena, "holds 12 bytes");
	external_tensor(&writer, NAME("../outside.bin"), NULL, NULL);
	decode(&writer, files, &arena, "leads out of the model's folder");
	external_tensor(&writer, NAME("a/../../outside.bin"), NULL, NULL);
	decode(&writer, files, &arena, "leads out of the model's folder");
	external_tensor(&writer, NAME("/etc/passwd"), NULL, NULL);
	decode(&writer, files, &arena, "absolute path");
	external_tensor(&writer, NAME("link.bin"), NULL, NULL);
	decode(&writer, files, &arena, "link out of the model's folder");
	external_tensor(&writer, NAME("data.bin\0/etc"), NULL, NULL);
	decode(&writer, files, &arena, "NUL");
	external_tensor(&writer, NAME(""), NULL, NULL);
	decode(&writer, files, &arena, "is empty");
	external_tensor(&writer, NAME("."), NULL, NULL);
	decode(&writer, files, &arena, "link out");
	external_tensor(&writer, NAME("missing.bin"), NULL, NULL);
	decode(&writer, files, &arena, "cannot be found");
	external_tensor(&writer, NAME("data.bin"), NULL, NULL);
	decode(&writer, NULL, &arena, "did not come from a file");

	arena_free(&arena);
	onnx_files_close(files);
	snprintf(path, sizeof(path), "rm -r '%s'", top);
	assert_int_equal(system(path), 0);
}

/* -------------------------------------------------------------------- functions */

static void put_node(struct writer *to, unsigned int field, const char *op, const char *domain,
		     const char *input, const char *output, const struct writer *attribute)
{
	struct writer node = { .size = 0 };

	put_bytes(&node, 1, input, strlen(input));
	put_bytes(&node, 2, output, strlen(output));
	put_bytes(&node, 4, op, strlen(op));
	put_bytes(&node, 7, domain, strlen(domain));
	if (attribute)
		put_bytes(&node, 5, attribute->bytes, attribute->size);
	put_bytes(to, field, node.bytes, node.size);
}

static void put_value(struct writer *to, unsigned int field, const char *name)
{
	/* float [2] */
	static const uint8_t type[] = { 1 << 3 | 2, 8,		1 << 3, 1,	2 << 3 | 2,
					4,	    1 << 3 | 2, 2,	1 << 3, 2 };
	struct writer value = { .size = 0 };

	put_bytes(&value, 1, name, strlen(name));
	put_bytes(&value, 2, type, sizeof(type));
	put_bytes(to, field, value.bytes, value.size);
}

static void put_opset(struct writer *to, unsigned int field, const char *domain, uint64_t version)
{
	struct writer opset = { .size = 0 };

	put_bytes(&opset, 1, domain, strlen(domain));
	put_number(&opset, 2, version);
	put_bytes(to, field, opset.bytes, opset.size);
}

/* Calls own.Leaky(x) twice, once with its slope stated and once with the default; @inner is
 * the operator inside, which may be the function itself. */
static void function_model(struct writer *model, const char *inner, const char *inner_domain)
{
	struct writer function = { .size = 0 }, attribute = { .size = 0 }, graph = { .size = 0 };
	struct writer slope = { .size = 0 }, standard = { .size = 0 };
	const float half = 0.5f, quarter = 0.25f;

	/* alpha of the node is slope of the function. */
	put_bytes(&attribute, 1, "alpha", 5);
	put_bytes(&attribute, 21, "slope", 5);
	put_number(&attribute, 20, ONNX_ATTRIBUTE_FLOAT);
	put_bytes(&standard, 1, "slope", 5);
	put_fixed(&standard, 2, &quarter, sizeof(quarter));
	put_number(&standard, 20, ONNX_ATTRIBUTE_FLOAT);
	put_bytes(&function, 1, "Leaky", 5);
	put_bytes(&function, 4, "in", 2);
	put_bytes(&function, 5, "out", 3);
	put_node(&function, 7, inner, inner_domain, "in", "out", &attribute);
	put_opset(&function, 9, "", 13);
	put_bytes(&function, 10, "own", 3);
	put_bytes(&function, 11, standard.bytes, standard.size);

	put_bytes(&slope, 1, "slope", 5);
	put_fixed(&slope, 2, &half, sizeof(half));
	put_number(&slope, 20, ONNX_ATTRIBUTE_FLOAT);
	put_node(&graph, 1, "Leaky", "own", "x", "out", &slope);
	put_node(&graph, 1, "Leaky", "own", "out", "y", NULL);
	put_value(&graph, 11, "x");
	put_value(&graph, 12, "y");

	memset(model, 0, sizeof(*model));
	put_number(model, 1, 8);
	put_opset(model, 8, "", 13);
	put_opset(model, 8, "own", 1);
	put_bytes(model, 25, function.bytes, function.size);
	put_bytes(model, 7, graph.bytes, graph.size);
}

static void test_functions(void **state)
{
	struct npucc_front_options options = { 0 };
	const struct graph_node *node;
	struct npucc_model *loaded;
	struct writer model;
	struct diag diag;

	(void)state;
	function_model(&model, "LeakyRelu", "");
	diag_init(&diag);
	loaded = npucc_front_load_memory(model.bytes, model.size, &options, &diag);
	if (!loaded)
		fail_msg("%s", diag_first_error(&diag));
	assert_int_equal(npucc_model_graph(loaded)->node_count, 2);
	node = npucc_model_graph(loaded)->first;
	assert_true(node->attr.activation.alpha == 0.5f);
	assert_true(node->next->attr.activation.alpha == 0.25f);
	assert_string_equal(npucc_model_graph(loaded)->outputs[0]->name, "y");
	npucc_model_free(loaded);
	diag_free(&diag);

	/* A function that calls itself has no end. */
	function_model(&model, "Leaky", "own");
	diag_init(&diag);
	assert_null(npucc_front_load_memory(model.bytes, model.size, &options, &diag));
	assert_non_null(strstr(diag_first_error(&diag), "functions are nested more than 16 deep"));
	diag_free(&diag);
}

/* A graph in an attribute of a node of a graph in an attribute ... */
static void test_depth(void **state)
{
	static uint8_t inner[16384], outer[16384];
	struct npucc_front_options options = { 0 };
	size_t size = 0, i, depth;
	struct diag diag;

	(void)state;
	for (depth = 0; depth < 400; depth++) {
		/* graph { node { attribute { g: inner } } }; lengths as three-byte varints. */
		static const uint8_t tags[] = { 6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2 };

		for (i = 0; i < sizeof(tags); i++) {
			outer[0] = tags[i];
			outer[1] = (uint8_t)((size & 0x7f) | 0x80);
			outer[2] = (uint8_t)((size >> 7 & 0x7f) | 0x80);
			outer[3] = (uint8_t)(size >> 14);
			memcpy(outer + 4, inner, size);
			size += 4;
			memcpy(inner, outer, size);
		}
	}
	outer[0] = 7 << 3 | 2;
	outer[1] = (uint8_t)((size & 0x7f) | 0x80);
	outer[2] = (uint8_t)((size >> 7 & 0x7f) | 0x80);
	outer[3] = (uint8_t)(size >> 14);
	memcpy(outer + 4, inner, size);
	diag_init(&diag);
	assert_null(npucc_front_load_memory(outer, size + 4, &options, &diag));
	assert_non_null(strstr(diag_first_error(&diag), "nested more than 16 deep"));
	diag_free(&diag);
}

static void test_files(void **state)
{
	struct npucc_front_options options = { 0 };
	static const char *const paths[] = { "/nonexistent/model.onnx", "/tmp", "/dev/null" };
	struct diag diag;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		diag_init(&diag);
		assert_null(npucc_front_load(paths[i], &options, &diag));
		assert_non_null(strstr(diag_first_error(&diag), paths[i]));
		diag_free(&diag);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape_chain),    cmocka_unit_test(test_shape_asked_for),
		cmocka_unit_test(test_shape_text),     cmocka_unit_test(test_clip),
		cmocka_unit_test(test_softmax),	       cmocka_unit_test(test_initializer_as_input),
		cmocka_unit_test(test_scales_by_opset),
		cmocka_unit_test(test_convolution_1d), cmocka_unit_test(test_auto_pad),
		cmocka_unit_test(test_gemm),	       cmocka_unit_test(test_names),
		cmocka_unit_test(test_outputs_copied), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_encodings),      cmocka_unit_test(test_bad_tensors),
		cmocka_unit_test(test_external_data),  cmocka_unit_test(test_functions),
		cmocka_unit_test(test_depth),	       cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
