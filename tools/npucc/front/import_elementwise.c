// SPDX-License-Identifier: MIT
/* Unary functions, binary arithmetic, comparisons. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "import.h"

/* Operators that are one function of one input; defaults by ONNX. */
static const struct {
	const char *op_type;
	enum graph_activation_kind kind;
	const char *alpha_name;
	float alpha;
	const char *beta_name;
	float beta;
} unary[] = {
	{ "Relu", GRAPH_ACTIVATION_RELU, NULL, 0, NULL, 0 },
	{ "LeakyRelu", GRAPH_ACTIVATION_LEAKYRELU, "alpha", 0.01f, NULL, 0 },
	{ "Elu", GRAPH_ACTIVATION_ELU, "alpha", 1, NULL, 0 },
	{ "Selu", GRAPH_ACTIVATION_SELU, "alpha", 1.67326319217681884765625f, "gamma",
	  1.05070102214813232421875f },
	{ "Celu", GRAPH_ACTIVATION_CELU, "alpha", 1, NULL, 0 },
	{ "Sigmoid", GRAPH_ACTIVATION_SIGMOID, NULL, 0, NULL, 0 },
	{ "HardSigmoid", GRAPH_ACTIVATION_HARDSIGMOID, "alpha", 0.2f, "beta", 0.5f },
	{ "HardSwish", GRAPH_ACTIVATION_HARDSWISH, NULL, 1.0f / 6, NULL, 0.5f },
	{ "Swish", GRAPH_ACTIVATION_SILU, "alpha", 1, NULL, 0 },
	{ "QuickGelu", GRAPH_ACTIVATION_SILU, "alpha", 1.702f, NULL, 0 },
	{ "Tanh", GRAPH_ACTIVATION_TANH, NULL, 0, NULL, 0 },
	{ "Erf", GRAPH_ACTIVATION_ERF, NULL, 0, NULL, 0 },
	{ "Mish", GRAPH_ACTIVATION_MISH, NULL, 0, NULL, 0 },
	{ "Softplus", GRAPH_ACTIVATION_SOFTPLUS, NULL, 0, NULL, 0 },
	{ "Softsign", GRAPH_ACTIVATION_SOFTSIGN, NULL, 0, NULL, 0 },
	{ "ThresholdedRelu", GRAPH_ACTIVATION_THRESHOLDED_RELU, "alpha", 1, NULL, 0 },
	{ "Shrink", GRAPH_ACTIVATION_SHRINK, "lambd", 0.5f, "bias", 0 },
	{ "Exp", GRAPH_ACTIVATION_EXP, NULL, 0, NULL, 0 },
	{ "Log", GRAPH_ACTIVATION_LOG, NULL, 0, NULL, 0 },
	{ "Sqrt", GRAPH_ACTIVATION_SQRT, NULL, 0, NULL, 0 },
	{ "Reciprocal", GRAPH_ACTIVATION_RECIPROCAL, NULL, 0, NULL, 0 },
	{ "Abs", GRAPH_ACTIVATION_ABS, NULL, 0, NULL, 0 },
	{ "Neg", GRAPH_ACTIVATION_NEG, NULL, 0, NULL, 0 },
	{ "Sign", GRAPH_ACTIVATION_SIGN, NULL, 0, NULL, 0 },
	{ "Floor", GRAPH_ACTIVATION_FLOOR, NULL, 0, NULL, 0 },
	{ "Ceil", GRAPH_ACTIVATION_CEIL, NULL, 0, NULL, 0 },
	{ "Round", GRAPH_ACTIVATION_ROUND, NULL, 0, NULL, 0 },
	{ "Not", GRAPH_ACTIVATION_NOT, NULL, 0, NULL, 0 },
	{ "Sin", GRAPH_ACTIVATION_SIN, NULL, 0, NULL, 0 },
	{ "Cos", GRAPH_ACTIVATION_COS, NULL, 0, NULL, 0 },
	{ "Tan", GRAPH_ACTIVATION_TAN, NULL, 0, NULL, 0 },
	{ "Asin", GRAPH_ACTIVATION_ASIN, NULL, 0, NULL, 0 },
	{ "Acos", GRAPH_ACTIVATION_ACOS, NULL, 0, NULL, 0 },
	{ "Atan", GRAPH_ACTIVATION_ATAN, NULL, 0, NULL, 0 },
	{ "Sinh", GRAPH_ACTIVATION_SINH, NULL, 0, NULL, 0 },
	{ "Cosh", GRAPH_ACTIVATION_COSH, NULL, 0, NULL, 0 },
	{ "Asinh", GRAPH_ACTIVATION_ASINH, NULL, 0, NULL, 0 },
	{ "Acosh", GRAPH_ACTIVATION_ACOSH, NULL, 0, NULL, 0 },
	{ "Atanh", GRAPH_ACTIVATION_ATANH, NULL, 0, NULL, 0 },
	{ "IsNaN", GRAPH_ACTIVATION_ISNAN, NULL, 0, NULL, 0 },
};

static struct graph_value *one_input(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0);

	if (!x)
		import_missing(in, 1);
	return x;
}

static int import_unary(struct import_node *in)
{
	struct graph_value *x = one_input(in);
	float alpha, beta;
	size_t i = 0;

	if (!x)
		return -1;
	while (strcmp(unary[i].op_type, in->op_type))
		i++;
	alpha = unary[i].alpha;
	beta = unary[i].beta;
	if (unary[i].alpha_name)
		alpha = import_attribute_float(in, unary[i].alpha_name, alpha);
	if (unary[i].beta_name)
		beta = import_attribute_float(in, unary[i].beta_name, beta);
	return import_result(in, 0, import_activation(in, x, unary[i].kind, alpha, beta));
}

static int import_is_inf(struct import_node *in)
{
	struct graph_value *x = one_input(in);
	float negative = import_attribute_int(in, "detect_negative", 1) ? 1 : 0;
	float positive = import_attribute_int(in, "detect_positive", 1) ? 1 : 0;

	if (!x)
		return -1;
	return import_result(in, 0,
			     import_activation(in, x, GRAPH_ACTIVATION_ISINF, negative, positive));
}

static int import_gelu(struct import_node *in)
{
	struct graph_value *x = one_input(in);
	bool is_tanh =
		import_attribute_is(in, "approximate", "tanh") || !strcmp(in->op_type, "FastGelu");
	struct graph_value *bias = import_input(in, 1);

	if (!x)
		return -1;
	if (bias)
		x = import_eltwise(in, GRAPH_ELTWISE_ADD, x, bias);
	if (!x)
		return -1;
	return import_result(
		in, 0,
		import_activation(
			in, x, is_tanh ? GRAPH_ACTIVATION_GELU_TANH : GRAPH_ACTIVATION_GELU, 0, 0));
}

/* A bound of Clip: attribute before opset 11, input after. */
static int clip_bound(struct import_node *in, uint32_t index, const char *name, float *bound,
		      struct graph_value **runtime)
{
	struct graph_value *value = import_input(in, index);

	*bound = import_attribute_float(in, name, *bound);
	if (!value)
		return 0;
	if (graph_element_count(value) != 1)
		return import_error(in,
				    "bound '%s' has %" PRId64
				    " elements, 1 is needed; make it a scalar",
				    name, graph_element_count(value));
	if (graph_is_constant(value))
		*bound = graph_constant_as_f32(value, 0);
	else
		*runtime = value;
	return 0;
}

static int import_clip(struct import_node *in)
{
	struct graph_value *x = one_input(in), *low = NULL, *high = NULL;
	float alpha = -INFINITY, beta = INFINITY;

	if (!x || clip_bound(in, 1, "min", &alpha, &low) || clip_bound(in, 2, "max", &beta, &high))
		return -1;
	/* Integers keep their own arithmetic. */
	if (!graph_dtype_is_float(x->dtype)) {
		low = import_input(in, 1);
		high = import_input(in, 2);
	}
	if (!low && !high)
		return import_result(in, 0,
				     import_activation(in, x, GRAPH_ACTIVATION_CLIP, alpha, beta));
	if (!low && alpha != -INFINITY && graph_dtype_is_float(x->dtype))
		low = import_scalar(in, x, alpha);
	if (!high && beta != INFINITY && graph_dtype_is_float(x->dtype))
		high = import_scalar(in, x, beta);
	if (low)
		x = import_eltwise(in, GRAPH_ELTWISE_MAX, x, low);
	if (x && high)
		x = import_eltwise(in, GRAPH_ELTWISE_MIN, x, high);
	return import_result(in, 0, x);
}

static int import_prelu(struct import_node *in)
{
	struct graph_value *operands[2] = { import_input(in, 0), import_input(in, 1) };
	int64_t dims[GRAPH_MAX_RANK];
	struct graph_node *node;
	uint32_t i;

	if (!operands[0] || !operands[1])
		return import_missing(in, 2);
	/* A slope a channel, written [C] by old exporters, means dimension 1. */
	if (operands[1]->rank == 1 && operands[0]->rank > 2 && operands[1]->dims[0] != 1 &&
	    operands[1]->dims[0] == operands[0]->dims[1]) {
		dims[0] = operands[1]->dims[0];
		for (i = 1; i < operands[0]->rank - 1; i++)
			dims[i] = 1;
		operands[1] = import_reshape(in, operands[1], operands[0]->rank - 1, dims);
		if (!operands[1])
			return -1;
	}
	node = import_node_new(in, GRAPH_OP_PRELU, 2, operands, 1);
	return import_result(in, 0, import_finish(in, node));
}

static const struct {
	const char *op_type;
	enum graph_eltwise_kind kind;
} binary[] = {
	{ "Add", GRAPH_ELTWISE_ADD },
	{ "Sub", GRAPH_ELTWISE_SUB },
	{ "Mul", GRAPH_ELTWISE_MUL },
	{ "Div", GRAPH_ELTWISE_DIV },
	{ "Max", GRAPH_ELTWISE_MAX },
	{ "Min", GRAPH_ELTWISE_MIN },
	{ "Sum", GRAPH_ELTWISE_ADD },
	{ "Mean", GRAPH_ELTWISE_ADD },
	{ "Equal", GRAPH_ELTWISE_EQUAL },
	{ "Greater", GRAPH_ELTWISE_GREATER },
	{ "GreaterOrEqual", GRAPH_ELTWISE_GREATER_EQUAL },
	{ "Less", GRAPH_ELTWISE_LESS },
	{ "LessOrEqual", GRAPH_ELTWISE_LESS_EQUAL },
	{ "And", GRAPH_ELTWISE_AND },
	{ "Or", GRAPH_ELTWISE_OR },
	{ "Xor", GRAPH_ELTWISE_XOR },
};

static enum graph_eltwise_kind binary_kind(const char *op_type)
{
	size_t i = 0;

	while (strcmp(binary[i].op_type, op_type))
		i++;
	return binary[i].kind;
}

/* Before opset 7 the second operand was aligned by an attribute, not at the end. */
static struct graph_value *old_broadcast(struct import_node *in, struct graph_value *a,
					 struct graph_value *b)
{
	int64_t axis = import_attribute_int(in, "axis", -1), dims[GRAPH_MAX_RANK];
	uint32_t i;

	if (in->opset >= 7 || !import_attribute_int(in, "broadcast", 0) || axis < 0 ||
	    axis + b->rank > a->rank)
		return b;
	for (i = 0; i < a->rank - (uint32_t)axis; i++)
		dims[i] = i < b->rank ? b->dims[i] : 1;
	return import_reshape(in, b, a->rank - (uint32_t)axis, dims);
}

static int import_binary(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1);
	enum graph_eltwise_kind kind = binary_kind(in->op_type);

	if (!a || !b)
		return import_missing(in, 2);
	b = old_broadcast(in, a, b);
	if (!b)
		return -1;
	if (a == b && kind == GRAPH_ELTWISE_MUL && graph_dtype_is_float(a->dtype))
		return import_result(in, 0,
				     import_activation(in, a, GRAPH_ACTIVATION_SQUARE, 0, 0));
	return import_result(in, 0, import_eltwise(in, kind, a, b));
}

/* Sum, Mean, Max, Min of any number of operands: pairs, in order. */
static int import_variadic(struct import_node *in)
{
	enum graph_eltwise_kind kind = binary_kind(in->op_type);
	struct graph_value *result = import_input(in, 0);
	uint32_t i;

	if (!result)
		return import_missing(in, 1);
	for (i = 1; i < in->input_count; i++) {
		if (!in->inputs[i])
			return import_missing(in, in->input_count);
		result = import_eltwise(in, kind, result, in->inputs[i]);
		if (!result)
			return -1;
	}
	if (!strcmp(in->op_type, "Mean") && in->input_count > 1) {
		struct graph_value *count =
			import_scalar(in, result, 1.0f / (float)in->input_count);

		if (!count)
			return -1;
		result = import_eltwise(in, GRAPH_ELTWISE_MUL, result, count);
	}
	return import_result(in, 0, result);
}

static int import_mod(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1);

	if (!a || !b)
		return import_missing(in, 2);
	return import_result(in, 0,
			     import_eltwise(in,
					    import_attribute_int(in, "fmod", 0) ?
						    GRAPH_ELTWISE_FMOD :
						    GRAPH_ELTWISE_MOD,
					    a, b));
}

/* Powers that are cheap functions are told apart here, once for all passes. */
static int import_pow(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1);
	enum graph_activation_kind kind = GRAPH_ACTIVATION_NONE;

	if (!a || !b)
		return import_missing(in, 2);
	if (graph_is_constant(b) && graph_element_count(b) == 1 && b->rank <= a->rank &&
	    graph_dtype_is_float(a->dtype)) {
		float exponent = graph_constant_as_f32(b, 0);

		if (exponent == 2.0f)
			kind = GRAPH_ACTIVATION_SQUARE;
		else if (exponent == 0.5f)
			kind = GRAPH_ACTIVATION_SQRT;
		else if (exponent == -1.0f)
			kind = GRAPH_ACTIVATION_RECIPROCAL;
		else if (exponent == -0.5f)
			kind = GRAPH_ACTIVATION_RSQRT;
		else if (exponent == 1.0f)
			return import_result(in, 0, a);
	}
	if (kind != GRAPH_ACTIVATION_NONE)
		return import_result(in, 0, import_activation(in, a, kind, 0, 0));
	return import_result(in, 0, import_eltwise(in, GRAPH_ELTWISE_POW, a, b));
}

static int import_where(struct import_node *in)
{
	struct graph_value *operands[3] = { import_input(in, 0), import_input(in, 1),
					    import_input(in, 2) };
	struct graph_node *node;

	if (!operands[0] || !operands[1] || !operands[2])
		return import_missing(in, 3);
	node = import_node_new(in, GRAPH_OP_WHERE, 3, operands, 1);
	return import_result(in, 0, import_finish(in, node));
}

const struct import_operator import_elementwise_operators[] = {
	{ "Relu", import_unary },
	{ "LeakyRelu", import_unary },
	{ "Elu", import_unary },
	{ "Selu", import_unary },
	{ "Celu", import_unary },
	{ "Sigmoid", import_unary },
	{ "HardSigmoid", import_unary },
	{ "HardSwish", import_unary },
	{ "Swish", import_unary },
	{ "QuickGelu", import_unary },
	{ "Tanh", import_unary },
	{ "Erf", import_unary },
	{ "Mish", import_unary },
	{ "Softplus", import_unary },
	{ "Softsign", import_unary },
	{ "ThresholdedRelu", import_unary },
	{ "Shrink", import_unary },
	{ "Exp", import_unary },
	{ "Log", import_unary },
	{ "Sqrt", import_unary },
	{ "Reciprocal", import_unary },
	{ "Abs", import_unary },
	{ "Neg", import_unary },
	{ "Sign", import_unary },
	{ "Floor", import_unary },
	{ "Ceil", import_unary },
	{ "Round", import_unary },
	{ "Not", import_unary },
	{ "Sin", import_unary },
	{ "Cos", import_unary },
	{ "Tan", import_unary },
	{ "Asin", import_unary },
	{ "Acos", import_unary },
	{ "Atan", import_unary },
	{ "Sinh", import_unary },
	{ "Cosh", import_unary },
	{ "Asinh", import_unary },
	{ "Acosh", import_unary },
	{ "Atanh", import_unary },
	{ "IsNaN", import_unary },
	{ "IsInf", import_is_inf },
	{ "Gelu", import_gelu },
	{ "FastGelu", import_gelu },
	{ "BiasGelu", import_gelu },
	{ "Clip", import_clip },
	{ "PRelu", import_prelu },
	{ "Add", import_binary },
	{ "Sub", import_binary },
	{ "Mul", import_binary },
	{ "Div", import_binary },
	{ "Equal", import_binary },
	{ "Greater", import_binary },
	{ "GreaterOrEqual", import_binary },
	{ "Less", import_binary },
	{ "LessOrEqual", import_binary },
	{ "And", import_binary },
	{ "Or", import_binary },
	{ "Xor", import_binary },
	{ "Sum", import_variadic },
	{ "Mean", import_variadic },
	{ "Max", import_variadic },
	{ "Min", import_variadic },
	{ "Mod", import_mod },
	{ "Pow", import_pow },
	{ "Where", import_where },
	{ NULL, NULL },
};
