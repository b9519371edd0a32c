// SPDX-License-Identifier: MIT
/*
 * Each fusion pass alone: what it makes of a small model, and that the result
 * computes the same as the model taken node by node.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fuse/fuse.h"
#include "fold/interpreter.h"
#include "npucc_front.h"
#include "onnx_builder.h"

#define ALL_PASSES (((uint64_t)1 << FUSE_PASS_COUNT) - 1)
#define ONLY(pass) (ALL_PASSES & ~((uint64_t)1 << (pass)))

static const int64_t image[] = { 1, 4, 6, 6 };
static const int64_t rows[] = { 2, 5, 8 };

/* Numbers that repeat late and are far from all alike. */
static float sample(uint32_t index)
{
	return (float)((index * 37 + 11) % 101) / 25.0f - 2.0f;
}

static void constant(struct onnx_builder *builder, const char *name, unsigned int rank,
		     const int64_t *dims, float scale, float shift)
{
	float numbers[1024];
	size_t count = 1, i;

	for (i = 0; i < rank; i++)
		count *= (size_t)dims[i];
	assert_true(count <= 1024);
	for (i = 0; i < count; i++)
		numbers[i] = sample((uint32_t)i + name[0]) * scale + shift;
	onnx_builder_floats(builder, name, rank, dims, numbers);
}

static void scalar(struct onnx_builder *builder, const char *name, float number)
{
	onnx_builder_floats(builder, name, 0, NULL, &number);
}

/* A model in memory; the bytes are the builder's. */
struct bytes {
	const uint8_t *data;
	size_t size;
};

static struct bytes finish(struct onnx_builder *builder)
{
	struct bytes bytes;

	bytes.data = onnx_builder_finish(builder, &bytes.size);
	assert_non_null(bytes.data);
	return bytes;
}

static struct npucc_model *load(struct bytes bytes, int fusion, uint64_t disabled)
{
	struct npucc_front_options options = {
		.fusion = fusion,
		.disabled_passes = disabled,
		.fold_affine = true,
	};
	struct npucc_model *model;
	struct diag diag;

	diag_init(&diag);
	model = npucc_front_load_memory(bytes.data, bytes.size, &options, &diag);
	if (!model)
		fail_msg("%s", diag_first_error(&diag));
	diag_free(&diag);
	return model;
}

/* The first output for inputs that are always the same; the caller frees it. */
static float *run(struct npucc_model *model, int64_t *count)
{
	struct graph *graph = npucc_model_graph(model);
	struct interpreter *interpreter = interpreter_new(graph);
	float *input, *output;
	uint32_t i;
	int64_t j;

	assert_non_null(interpreter);
	for (i = 0; i < graph->input_count; i++) {
		int64_t elements = graph_element_count(graph->inputs[i]);

		input = malloc((size_t)elements * sizeof(*input));
		assert_non_null(input);
		for (j = 0; j < elements; j++)
			input[j] = sample((uint32_t)j * 3 + i);
		assert_int_equal(interpreter_input(interpreter, i, input), 0);
		free(input);
	}
	assert_int_equal(interpreter_run(interpreter, NULL), 0);
	*count = graph_element_count(graph->outputs[0]);
	output = malloc((size_t)*count * sizeof(*output));
	assert_non_null(output);
	memcpy(output, interpreter_output(interpreter, 0), (size_t)*count * sizeof(*output));
	interpreter_free(interpreter);
	return output;
}

static struct onnx_builder *kept_builder;

static int free_builder(void **state)
{
	(void)state;
	onnx_builder_free(kept_builder);
	return 0;
}

/* Takes the builder; gives the model fused by @disabled's complement after comparing. */
static struct npucc_model *fused(struct onnx_builder *builder, uint64_t disabled)
{
	struct bytes bytes = finish(builder);
	struct npucc_model *plain = load(bytes, 0, 0), *model = load(bytes, 2, disabled);
	float *want, *got;
	int64_t count, same, i;

	want = run(plain, &count);
	got = run(model, &same);
	assert_int_equal(count, same);
	for (i = 0; i < count; i++)
		if (!(fabsf(got[i] - want[i]) <= 1e-5f + 1e-5f * fabsf(want[i])))
			fail_msg("element %d is %.9g, %.9g without fusion", (int)i, (double)got[i],
				 (double)want[i]);
	free(want);
	free(got);
	npucc_model_free(plain);
	/* The model's constants are the builder's bytes: kept until the next one. */
	onnx_builder_free(kept_builder);
	kept_builder = builder;
	return model;
}

static const struct graph_node *only_node(struct npucc_model *model)
{
	assert_int_equal(npucc_model_graph(model)->node_count, 1);
	return npucc_model_graph(model)->first;
}

static struct onnx_builder *begin(const int64_t *dims, unsigned int rank)
{
	struct onnx_builder *builder = onnx_builder_new(13);

	assert_non_null(builder);
	onnx_builder_input(builder, "x", rank, dims);
	return builder;
}

static void end(struct onnx_builder *builder)
{
	/* The shape stated for an output is not read; the name is. */
	onnx_builder_output(builder, "y", 1, (const int64_t[]){ 1 });
}

static void convolution(struct onnx_builder *builder, const char *output, int64_t pad)
{
	static const int64_t dims[] = { 3, 4, 3, 3 };
	const int64_t pads[] = { pad, pad, pad, pad };

	constant(builder, "w", 4, dims, 0.3f, 0.05f);
	onnx_builder_node(builder, "Conv", "x w", output);
	onnx_builder_ints(builder, "pads", 4, pads);
}

static void test_batchnorm(void **state)
{
	static const int64_t three[] = { 3 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	convolution(builder, "c", 1);
	constant(builder, "scale", 1, three, 1, 0.5f);
	constant(builder, "bias", 1, three, 1, 0);
	constant(builder, "mean", 1, three, 0.5f, 0);
	constant(builder, "variance", 1, three, 0.1f, 1);
	onnx_builder_node(builder, "BatchNormalization", "c scale bias mean variance", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_BATCHNORM));
	assert_int_equal(only_node(model)->op, GRAPH_OP_CONV);
	assert_int_equal(only_node(model)->merged, 1);
	npucc_model_free(model);
}

static void test_batchnorm_after_transposed(void **state)
{
	static const int64_t dims[] = { 4, 3, 2, 2 }, six[] = { 6 }, strides[] = { 2, 2 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	constant(builder, "w", 4, dims, 0.3f, 0);
	constant(builder, "scale", 1, six, 1, 0.5f);
	constant(builder, "variance", 1, six, 0.1f, 1);
	onnx_builder_node(builder, "ConvTranspose", "x w", "c");
	onnx_builder_ints(builder, "strides", 2, strides);
	onnx_builder_int(builder, "group", 2);
	onnx_builder_node(builder, "BatchNormalization", "c scale scale scale variance", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_BATCHNORM));
	assert_int_equal(only_node(model)->op, GRAPH_OP_CONVTRANSPOSE);
	npucc_model_free(model);
}

/* A result that is read twice must stay as it is. */
static void test_batchnorm_of_shared_result(void **state)
{
	static const int64_t three[] = { 3 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	convolution(builder, "c", 1);
	constant(builder, "scale", 1, three, 1, 0.5f);
	constant(builder, "variance", 1, three, 0.1f, 1);
	onnx_builder_node(builder, "BatchNormalization", "c scale scale scale variance", "d");
	onnx_builder_node(builder, "Sub", "d c", "y");
	end(builder);
	model = fused(builder, 0);
	assert_int_equal(npucc_model_graph(model)->node_count, 3);
	npucc_model_free(model);
}

static void test_bias(void **state)
{
	static const int64_t weights[] = { 8, 3 }, three[] = { 3 };
	struct onnx_builder *builder = begin(rows, 3);
	struct npucc_model *model;

	(void)state;
	constant(builder, "w", 2, weights, 0.4f, 0);
	constant(builder, "b", 1, three, 1, 0);
	onnx_builder_node(builder, "MatMul", "x w", "m");
	onnx_builder_node(builder, "Add", "b m", "n");
	onnx_builder_node(builder, "Sub", "b n", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_BIAS));
	assert_non_null(only_node(model)->inputs[GRAPH_IN_BIAS]);
	npucc_model_free(model);
}

/* A constant that differs within a plane is no bias. */
static void test_bias_refused(void **state)
{
	static const int64_t plane[] = { 1, 1, 6, 6 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	convolution(builder, "c", 1);
	constant(builder, "b", 4, plane, 1, 0);
	onnx_builder_node(builder, "Add", "c b", "y");
	end(builder);
	model = fused(builder, 0);
	assert_int_equal(npucc_model_graph(model)->node_count, 2);
	npucc_model_free(model);
}

static void test_activation(void **state)
{
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	convolution(builder, "c", 0);
	onnx_builder_node(builder, "LeakyRelu", "c", "y");
	onnx_builder_float(builder, "alpha", 0.2f);
	end(builder);
	model = fused(builder, ONLY(FUSE_ACTIVATION));
	assert_int_equal(only_node(model)->activation.kind, GRAPH_ACTIVATION_LEAKYRELU);
	npucc_model_free(model);
}

static void test_affine(void **state)
{
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	scalar(builder, "s", 0.3f);
	scalar(builder, "t", -1.5f);
	onnx_builder_node(builder, "Sigmoid", "x", "a");
	onnx_builder_node(builder, "Mul", "s a", "b");
	onnx_builder_node(builder, "Add", "b t", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_AFFINE));
	assert_true(only_node(model)->attr.activation.affine);
	npucc_model_free(model);
}

static void test_residual(void **state)
{
	static const int64_t dims[] = { 4, 4, 3, 3 }, pads[] = { 1, 1, 1, 1 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	constant(builder, "w", 4, dims, 0.3f, 0);
	onnx_builder_node(builder, "Conv", "x w", "c");
	onnx_builder_ints(builder, "pads", 4, pads);
	/* Made after the convolution, which must move behind it. */
	onnx_builder_node(builder, "Exp", "x", "e");
	onnx_builder_node(builder, "Add", "e c", "s");
	onnx_builder_node(builder, "Relu", "s", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_RESIDUAL) & ONLY(FUSE_ACTIVATION));
	assert_int_equal(npucc_model_graph(model)->node_count, 2);
	assert_int_equal(npucc_model_graph(model)->last->op, GRAPH_OP_CONV);
	assert_non_null(npucc_model_graph(model)->last->inputs[GRAPH_IN_RESIDUAL]);
	npucc_model_free(model);
}

static void test_linear(void **state)
{
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	scalar(builder, "a", 2.5f);
	scalar(builder, "b", -0.75f);
	onnx_builder_node(builder, "Mul", "x a", "c");
	onnx_builder_node(builder, "Sub", "b c", "d");
	onnx_builder_node(builder, "Div", "d a", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_LINEAR));
	assert_int_equal(only_node(model)->attr.activation.kind, GRAPH_ACTIVATION_LINEAR);
	npucc_model_free(model);
}

static struct onnx_builder *linear_before_convolution(int64_t pad)
{
	struct onnx_builder *builder = begin(image, 4);
	static const int64_t dims[] = { 3, 4, 3, 3 };
	const int64_t pads[] = { pad, pad, pad, pad };

	constant(builder, "w", 4, dims, 0.3f, 0.05f);
	scalar(builder, "s", 2.5f);
	scalar(builder, "t", -0.75f);
	onnx_builder_node(builder, "Mul", "x s", "m");
	onnx_builder_node(builder, "Add", "m t", "n");
	onnx_builder_node(builder, "Conv", "n w", "y");
	onnx_builder_ints(builder, "pads", 4, pads);
	end(builder);
	return builder;
}

static void test_linear_into_weights(void **state)
{
	struct npucc_model *model;

	(void)state;
	model = fused(linear_before_convolution(0), ONLY(FUSE_LINEAR));
	assert_int_equal(only_node(model)->op, GRAPH_OP_CONV);
	npucc_model_free(model);
	/* Pads are zero after the shift: it must stay. */
	model = fused(linear_before_convolution(1), ONLY(FUSE_LINEAR));
	assert_int_equal(npucc_model_graph(model)->node_count, 2);
	npucc_model_free(model);
}

static void check_pattern(struct onnx_builder *builder, enum graph_activation_kind kind)
{
	struct npucc_model *model;

	end(builder);
	model = fused(builder, ONLY(FUSE_PATTERNS) & ONLY(FUSE_LINEAR) & ONLY(FUSE_VIEWS));
	assert_int_equal(only_node(model)->op, GRAPH_OP_ACTIVATION);
	assert_int_equal(only_node(model)->attr.activation.kind, kind);
	npucc_model_free(model);
}

static void test_hardswish(void **state)
{
	struct onnx_builder *builder = begin(image, 4);

	(void)state;
	scalar(builder, "three", 3);
	scalar(builder, "zero", 0);
	scalar(builder, "six", 6);
	onnx_builder_node(builder, "Add", "x three", "a");
	onnx_builder_node(builder, "Clip", "a zero six", "b");
	onnx_builder_node(builder, "Mul", "x b", "c");
	onnx_builder_node(builder, "Div", "c six", "y");
	check_pattern(builder, GRAPH_ACTIVATION_HARDSWISH);

	builder = begin(image, 4);
	onnx_builder_node(builder, "HardSigmoid", "x", "g");
	onnx_builder_node(builder, "Mul", "g x", "y");
	check_pattern(builder, GRAPH_ACTIVATION_HARDSWISH);

	builder = begin(image, 4);
	scalar(builder, "three", 3);
	scalar(builder, "zero", 0);
	scalar(builder, "six", 6);
	onnx_builder_node(builder, "Add", "x three", "a");
	onnx_builder_node(builder, "Clip", "a zero six", "b");
	onnx_builder_node(builder, "Div", "b six", "y");
	check_pattern(builder, GRAPH_ACTIVATION_HARDSIGMOID);
}

static void test_silu(void **state)
{
	struct onnx_builder *builder = begin(image, 4);

	(void)state;
	scalar(builder, "beta", 1.702f);
	onnx_builder_node(builder, "Mul", "x beta", "a");
	onnx_builder_node(builder, "Sigmoid", "a", "b");
	onnx_builder_node(builder, "Mul", "b x", "y");
	check_pattern(builder, GRAPH_ACTIVATION_SILU);
}

static void test_mish(void **state)
{
	struct onnx_builder *builder = begin(image, 4);

	(void)state;
	onnx_builder_node(builder, "Softplus", "x", "a");
	onnx_builder_node(builder, "Tanh", "a", "b");
	onnx_builder_node(builder, "Mul", "x b", "y");
	check_pattern(builder, GRAPH_ACTIVATION_MISH);
}

static void test_gelu(void **state)
{
	struct onnx_builder *builder = begin(image, 4);

	(void)state;
	scalar(builder, "root", 1.41421356f);
	scalar(builder, "one", 1);
	scalar(builder, "half", 0.5f);
	onnx_builder_node(builder, "Div", "x root", "a");
	onnx_builder_node(builder, "Erf", "a", "b");
	onnx_builder_node(builder, "Add", "b one", "c");
	onnx_builder_node(builder, "Mul", "x c", "d");
	onnx_builder_node(builder, "Mul", "d half", "y");
	check_pattern(builder, GRAPH_ACTIVATION_GELU);

	builder = begin(image, 4);
	scalar(builder, "three", 3);
	scalar(builder, "small", 0.044715f);
	scalar(builder, "root", 0.7978845608f);
	scalar(builder, "one", 1);
	scalar(builder, "half", 0.5f);
	onnx_builder_node(builder, "Pow", "x three", "p");
	onnx_builder_node(builder, "Mul", "p small", "q");
	onnx_builder_node(builder, "Add", "x q", "r");
	onnx_builder_node(builder, "Mul", "r root", "s");
	onnx_builder_node(builder, "Tanh", "s", "t");
	onnx_builder_node(builder, "Add", "t one", "u");
	onnx_builder_node(builder, "Mul", "x half", "v");
	onnx_builder_node(builder, "Mul", "v u", "y");
	check_pattern(builder, GRAPH_ACTIVATION_GELU_TANH);
}

static void test_extremes(void **state)
{
	struct onnx_builder *builder = begin(image, 4);

	(void)state;
	scalar(builder, "slope", 0.2f);
	onnx_builder_node(builder, "Mul", "x slope", "a");
	onnx_builder_node(builder, "Max", "x a", "y");
	check_pattern(builder, GRAPH_ACTIVATION_LEAKYRELU);

	builder = begin(image, 4);
	scalar(builder, "low", -0.5f);
	scalar(builder, "high", 1.25f);
	onnx_builder_node(builder, "Max", "x low", "a");
	onnx_builder_node(builder, "Min", "high a", "y");
	check_pattern(builder, GRAPH_ACTIVATION_CLIP);
}

static struct onnx_builder *layer_norm(bool shared, bool reciprocal)
{
	static const int64_t eight[] = { 8 }, last[] = { -1 };
	struct onnx_builder *builder = begin(rows, 3);

	constant(builder, "g", 1, eight, 1, 0.5f);
	constant(builder, "b", 1, eight, 1, 0);
	scalar(builder, "two", 2);
	scalar(builder, "epsilon", 1e-3f);
	onnx_builder_node(builder, "ReduceMean", "x", "m");
	onnx_builder_ints(builder, "axes", 1, last);
	onnx_builder_node(builder, "Sub", "x m", "d");
	if (!shared)
		onnx_builder_node(builder, "Sub", "x m", "f");
	onnx_builder_node(builder, "Pow", shared ? "d two" : "f two", "s");
	onnx_builder_node(builder, "ReduceMean", "s", "v");
	onnx_builder_ints(builder, "axes", 1, last);
	onnx_builder_node(builder, "Add", "v epsilon", "e");
	onnx_builder_node(builder, "Sqrt", "e", "r");
	if (reciprocal) {
		onnx_builder_node(builder, "Reciprocal", "r", "i");
		onnx_builder_node(builder, "Mul", "d i", "n");
	} else {
		onnx_builder_node(builder, "Div", "d r", "n");
	}
	onnx_builder_node(builder, "Mul", "n g", "p");
	onnx_builder_node(builder, "Add", "p b", "y");
	end(builder);
	return builder;
}

static void test_layernorm(void **state)
{
	struct npucc_model *model;
	int form;

	(void)state;
	for (form = 0; form < 4; form++) {
		model = fused(layer_norm(form & 1, form & 2), ONLY(FUSE_NORM));
		assert_int_equal(only_node(model)->op, GRAPH_OP_LAYERNORM);
		assert_int_equal(only_node(model)->attr.norm.axis, 2);
		assert_non_null(only_node(model)->inputs[1]);
		assert_non_null(only_node(model)->inputs[2]);
		assert_false(only_node(model)->attr.norm.rms);
		npucc_model_free(model);
	}
}

static void test_rms_norm(void **state)
{
	static const int64_t last[] = { -1 };
	struct onnx_builder *builder = begin(rows, 3);
	struct npucc_model *model;

	(void)state;
	scalar(builder, "two", 2);
	scalar(builder, "epsilon", 1e-3f);
	onnx_builder_node(builder, "Pow", "x two", "s");
	onnx_builder_node(builder, "ReduceMean", "s", "v");
	onnx_builder_ints(builder, "axes", 1, last);
	onnx_builder_node(builder, "Add", "v epsilon", "e");
	onnx_builder_node(builder, "Sqrt", "e", "r");
	onnx_builder_node(builder, "Div", "x r", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_NORM));
	assert_int_equal(only_node(model)->op, GRAPH_OP_LAYERNORM);
	assert_true(only_node(model)->attr.norm.rms);
	npucc_model_free(model);
}

/* The mean over one axis, the square over another: no LayerNorm. */
static void test_layernorm_refused(void **state)
{
	static const int64_t last[] = { 2 }, middle[] = { 1 };
	struct onnx_builder *builder = begin(rows, 3);
	struct npucc_model *model;

	(void)state;
	scalar(builder, "two", 2);
	scalar(builder, "epsilon", 1e-3f);
	onnx_builder_node(builder, "ReduceMean", "x", "m");
	onnx_builder_ints(builder, "axes", 1, last);
	onnx_builder_node(builder, "Sub", "x m", "d");
	onnx_builder_node(builder, "Pow", "d two", "s");
	onnx_builder_node(builder, "ReduceMean", "s", "v");
	onnx_builder_ints(builder, "axes", 1, middle);
	onnx_builder_node(builder, "Add", "v epsilon", "e");
	onnx_builder_node(builder, "Sqrt", "e", "r");
	onnx_builder_node(builder, "Div", "d r", "y");
	end(builder);
	model = fused(builder, 0);
	assert_true(npucc_model_graph(model)->node_count > 1);
	npucc_model_free(model);
}

static void test_views(void **state)
{
	static const int64_t there[] = { 0, 2, 3, 1 }, back[] = { 0, 3, 1, 2 };
	static const int64_t flat[] = { 1, -1 }, again[] = { 4, 36 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	onnx_builder_integers(builder, "flat", 2, flat);
	onnx_builder_integers(builder, "again", 2, again);
	onnx_builder_node(builder, "Transpose", "x", "a");
	onnx_builder_ints(builder, "perm", 4, there);
	onnx_builder_node(builder, "Transpose", "a", "b");
	onnx_builder_ints(builder, "perm", 4, back);
	onnx_builder_node(builder, "Reshape", "b flat", "c");
	onnx_builder_node(builder, "Reshape", "c again", "d");
	onnx_builder_node(builder, "Relu", "d", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_VIEWS));
	assert_int_equal(npucc_model_graph(model)->node_count, 2);
	assert_int_equal(npucc_model_graph(model)->first->op, GRAPH_OP_RESHAPE);
	npucc_model_free(model);
}

/* A view between input and output is all there is: something must still write the output. */
static void test_views_at_the_ends(void **state)
{
	static const int64_t perm[] = { 0, 2, 1, 3 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;

	(void)state;
	onnx_builder_node(builder, "Transpose", "x", "a");
	onnx_builder_ints(builder, "perm", 4, perm);
	onnx_builder_node(builder, "Transpose", "a", "y");
	onnx_builder_ints(builder, "perm", 4, perm);
	end(builder);
	model = fused(builder, 0);
	only_node(model);
	assert_string_equal(npucc_model_graph(model)->outputs[0]->name, "y");
	npucc_model_free(model);
}

static void test_pad(void **state)
{
	static const int64_t dims[] = { 3, 4, 3, 3 }, pads[] = { 0, 0, 1, 2, 0, 0, 3, 0 };
	static const int64_t own[] = { 1, 0, 0, 1 };
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;
	const struct graph_window *window;

	(void)state;
	constant(builder, "w", 4, dims, 0.3f, 0);
	onnx_builder_integers(builder, "p", 8, pads);
	onnx_builder_node(builder, "Pad", "x p", "a");
	onnx_builder_node(builder, "Conv", "a w", "y");
	onnx_builder_ints(builder, "pads", 4, own);
	end(builder);
	model = fused(builder, ONLY(FUSE_PAD));
	window = &only_node(model)->attr.conv.window;
	assert_int_equal(window->pad_begin[0], 2);
	assert_int_equal(window->pad_begin[1], 2);
	assert_int_equal(window->pad_end[0], 3);
	assert_int_equal(window->pad_end[1], 1);
	npucc_model_free(model);
}

static void test_transpose(void **state)
{
	static const int64_t left[] = { 2, 3, 5, 8 }, swap[] = { 0, 1, 3, 2 };
	struct onnx_builder *builder = begin(left, 4);
	struct npucc_model *model;

	(void)state;
	onnx_builder_input(builder, "z", 4, left);
	onnx_builder_node(builder, "Transpose", "z", "t");
	onnx_builder_ints(builder, "perm", 4, swap);
	onnx_builder_node(builder, "MatMul", "x t", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_TRANSPOSE));
	assert_true(only_node(model)->attr.matmul.transpose_b);
	npucc_model_free(model);
}

/* The keys of an attention: whole rows are moved, the product reads them transposed. */
static void test_transpose_of_rows(void **state)
{
	static const int64_t left[] = { 2, 3, 5, 8 }, right[] = { 2, 7, 3, 8 };
	static const int64_t perm[] = { 0, 2, 3, 1 };
	struct onnx_builder *builder = begin(left, 4);
	struct npucc_model *model;

	(void)state;
	onnx_builder_input(builder, "z", 4, right);
	onnx_builder_node(builder, "Transpose", "z", "t");
	onnx_builder_ints(builder, "perm", 4, perm);
	onnx_builder_node(builder, "MatMul", "x t", "y");
	end(builder);
	model = fused(builder, ONLY(FUSE_TRANSPOSE));
	assert_int_equal(npucc_model_graph(model)->node_count, 2);
	assert_int_equal(npucc_model_graph(model)->first->attr.transpose.perm[3], 3);
	assert_true(npucc_model_graph(model)->last->attr.matmul.transpose_b);
	npucc_model_free(model);
}

/*
 * Queries, keys and values of one product, told apart by slices or by a
 * transpose; the scale is on the queries, or (@on_scores) on the scores.
 */
static struct onnx_builder *attention(bool by_transpose, bool on_scores, bool shared)
{
	static const int64_t weights[] = { 8, 24 }, bias[] = { 24 }, five[] = { 2, 5, 3, 2, 4 };
	static const int64_t perm5[] = { 2, 0, 3, 1, 4 }, heads[] = { 2, 5, 2, 4 };
	static const int64_t perm4[] = { 0, 2, 1, 3 }, swap[] = { 0, 1, 3, 2 }, axis[] = { 2 };
	static const int64_t zero[] = { 0 };
	static const char *const parts[] = { "q", "k", "v" };
	struct onnx_builder *builder = begin(rows, 3);
	char begin_name[8], end_name[8], names[64], part[8], flat[8];
	int64_t i;

	constant(builder, "w", 2, weights, 0.4f, 0);
	constant(builder, "b", 1, bias, 1, 0);
	scalar(builder, "s", 0.35f);
	onnx_builder_integers(builder, "five", 5, five);
	onnx_builder_integers(builder, "heads", 4, heads);
	onnx_builder_integers(builder, "axis", 1, axis);
	onnx_builder_integers(builder, "zero", 1, zero);
	onnx_builder_node(builder, "MatMul", "x w", "m");
	onnx_builder_node(builder, "Add", "m b", "n");
	if (by_transpose) {
		onnx_builder_node(builder, "Reshape", "n five", "r");
		onnx_builder_node(builder, "Transpose", "r", "t");
		onnx_builder_ints(builder, "perm", 5, perm5);
	}
	for (i = 0; i < 3; i++) {
		const int64_t from = by_transpose ? i : 8 * i,
			      to = by_transpose ? i + 1 : 8 * i + 8;

		snprintf(begin_name, sizeof(begin_name), "f%d", (int)i);
		snprintf(end_name, sizeof(end_name), "t%d", (int)i);
		snprintf(flat, sizeof(flat), "h%d", (int)i);
		snprintf(part, sizeof(part), "p%d", (int)i);
		onnx_builder_integers(builder, begin_name, 1, &from);
		onnx_builder_integers(builder, end_name, 1, &to);
		snprintf(names, sizeof(names), "%s %s %s %s", by_transpose ? "t" : "n", begin_name,
			 end_name, by_transpose ? "zero" : "axis");
		onnx_builder_node(builder, "Slice", names, part);
		snprintf(names, sizeof(names), "%s %s", part, by_transpose ? "zero" : "heads");
		onnx_builder_node(builder, by_transpose ? "Squeeze" : "Reshape", names,
				  by_transpose ? parts[i] : flat);
		if (by_transpose)
			continue;
		onnx_builder_node(builder, "Transpose", flat, parts[i]);
		onnx_builder_ints(builder, "perm", 4, perm4);
	}
	onnx_builder_node(builder, "Transpose", "k", "kt");
	onnx_builder_ints(builder, "perm", 4, swap);
	if (!on_scores)
		onnx_builder_node(builder, "Mul", "q s", "qs");
	onnx_builder_node(builder, "MatMul", on_scores ? "q kt" : "qs kt", "z");
	if (on_scores)
		onnx_builder_node(builder, "Div", "z s", "zs");
	onnx_builder_node(builder, "Softmax", on_scores ? "zs" : "z", "a");
	onnx_builder_int(builder, "axis", 3);
	/* Read once more, the queries must stay what they are. */
	if (shared)
		onnx_builder_node(builder, "Add", "v q", "u");
	onnx_builder_node(builder, "MatMul", shared ? "a u" : "a v", "y");
	end(builder);
	return builder;
}

static uint32_t count_arithmetic(struct npucc_model *model)
{
	const struct graph_node *node;
	uint32_t count = 0;

	for (node = npucc_model_graph(model)->first; node; node = node->next)
		count += node->op == GRAPH_OP_ELTWISE || node->op == GRAPH_OP_ACTIVATION;
	return count;
}

static void test_scale(void **state)
{
	struct npucc_model *model;
	int form;

	(void)state;
	for (form = 0; form < 4; form++) {
		model = fused(attention(form & 1, form & 2, false),
			      ONLY(FUSE_SCALE) & ONLY(FUSE_BIAS) & ONLY(FUSE_VIEWS));
		assert_int_equal(count_arithmetic(model), 0);
		npucc_model_free(model);
		model = fused(attention(form & 1, form & 2, true),
			      ONLY(FUSE_SCALE) & ONLY(FUSE_BIAS) & ONLY(FUSE_VIEWS));
		assert_int_equal(count_arithmetic(model), 2);
		npucc_model_free(model);
	}
}

/* Level 0 leaves each node apart; passes can be left out one by one. */
static void test_levels(void **state)
{
	struct onnx_builder *builder = begin(image, 4);
	struct npucc_model *model;
	struct bytes bytes;

	(void)state;
	convolution(builder, "c", 1);
	onnx_builder_node(builder, "Sigmoid", "c", "s");
	onnx_builder_node(builder, "Mul", "c s", "y");
	end(builder);
	bytes = finish(builder);
	model = load(bytes, 0, 0);
	assert_int_equal(npucc_model_graph(model)->node_count, 3);
	npucc_model_free(model);
	model = load(bytes, 2, (uint64_t)1 << FUSE_PATTERNS);
	assert_int_equal(npucc_model_graph(model)->node_count, 3);
	npucc_model_free(model);
	model = load(bytes, 1, 0);
	assert_int_equal(npucc_model_graph(model)->node_count, 1);
	assert_int_equal(npucc_model_merged(model), 2);
	npucc_model_free(model);
	onnx_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batchnorm),
		cmocka_unit_test(test_batchnorm_after_transposed),
		cmocka_unit_test(test_batchnorm_of_shared_result),
		cmocka_unit_test(test_bias),
		cmocka_unit_test(test_bias_refused),
		cmocka_unit_test(test_activation),
		cmocka_unit_test(test_affine),
		cmocka_unit_test(test_residual),
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_linear_into_weights),
		cmocka_unit_test(test_hardswish),
		cmocka_unit_test(test_silu),
		cmocka_unit_test(test_mish),
		cmocka_unit_test(test_gelu),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_layernorm),
		cmocka_unit_test(test_rms_norm),
		cmocka_unit_test(test_layernorm_refused),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_views_at_the_ends),
		cmocka_unit_test(test_pad),
		cmocka_unit_test(test_transpose),
		cmocka_unit_test(test_transpose_of_rows),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, free_builder);
}
