// SPDX-License-Identifier: MIT
/* Element-wise functions, reductions, softmax, normalisations, quantization. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"

static double clamp(double x, double low, double high)
{
	/* In this order NaN stays NaN and low > high gives high, as Min(Max()) does. */
	if (x < low)
		x = low;
	if (x > high)
		x = high;
	return x;
}

static double sigmoid(double x)
{
	return 1.0 / (1.0 + exp(-x));
}

static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double round_half_even(double x)
{
	double down = floor(x), rest = x - down;

	if (rest < 0.5)
		return down;
	if (rest > 0.5)
		return down + 1;
	return fmod(down, 2.0) == 0 ? down : down + 1;
}

static double eval_trigonometric(enum graph_activation_kind kind, double x)
{
	switch (kind) {
	case GRAPH_ACTIVATION_SIN:
		return sin(x);
	case GRAPH_ACTIVATION_COS:
		return cos(x);
	case GRAPH_ACTIVATION_TAN:
		return tan(x);
	case GRAPH_ACTIVATION_ASIN:
		return asin(x);
	case GRAPH_ACTIVATION_ACOS:
		return acos(x);
	case GRAPH_ACTIVATION_ATAN:
		return atan(x);
	case GRAPH_ACTIVATION_SINH:
		return sinh(x);
	case GRAPH_ACTIVATION_COSH:
		return cosh(x);
	case GRAPH_ACTIVATION_ASINH:
		return asinh(x);
	case GRAPH_ACTIVATION_ACOSH:
		return acosh(x);
	case GRAPH_ACTIVATION_ATANH:
		return atanh(x);
	default:
		return x;
	}
}

static double eval_arithmetic(const struct graph_activation *activation, double x)
{
	double alpha = (double)activation->alpha, beta = (double)activation->beta;

	switch (activation->kind) {
	case GRAPH_ACTIVATION_EXP:
		return exp(x);
	case GRAPH_ACTIVATION_LOG:
		return log(x);
	case GRAPH_ACTIVATION_SQRT:
		return sqrt(x);
	case GRAPH_ACTIVATION_RSQRT:
		return 1.0 / sqrt(x);
	case GRAPH_ACTIVATION_RECIPROCAL:
		return 1.0 / x;
	case GRAPH_ACTIVATION_SQUARE:
		return x * x;
	case GRAPH_ACTIVATION_ABS:
		return fabs(x);
	case GRAPH_ACTIVATION_NEG:
		return -x;
	case GRAPH_ACTIVATION_SIGN:
		return (double)((x > 0) - (x < 0));
	case GRAPH_ACTIVATION_FLOOR:
		return floor(x);
	case GRAPH_ACTIVATION_CEIL:
		return ceil(x);
	case GRAPH_ACTIVATION_ROUND:
		return isfinite(x) ? round_half_even(x) : x;
	case GRAPH_ACTIVATION_LINEAR:
		return alpha * x + beta;
	case GRAPH_ACTIVATION_NOT:
		return x == 0;
	case GRAPH_ACTIVATION_ISNAN:
		return isnan(x);
	case GRAPH_ACTIVATION_ISINF:
		return isinf(x) && (x < 0 ? alpha != 0 : beta != 0);
	default:
		return eval_trigonometric(activation->kind, x);
	}
}

static double eval_function(const struct graph_activation *activation, double x)
{
	double alpha = (double)activation->alpha, beta = (double)activation->beta;

	switch (activation->kind) {
	case GRAPH_ACTIVATION_NONE:
		return x;
	case GRAPH_ACTIVATION_RELU:
		return x < 0 ? 0 : x;
	case GRAPH_ACTIVATION_CLIP:
		return clamp(x, alpha, beta);
	case GRAPH_ACTIVATION_LEAKYRELU:
		return x < 0 ? alpha * x : x;
	case GRAPH_ACTIVATION_ELU:
		return x < 0 ? alpha * expm1(x) : x;
	case GRAPH_ACTIVATION_SELU:
		return beta * (x > 0 ? x : alpha * expm1(x));
	case GRAPH_ACTIVATION_CELU:
		return (x > 0 ? x : 0) + (x < 0 ? alpha * expm1(x / alpha) : 0);
	case GRAPH_ACTIVATION_SIGMOID:
		return sigmoid(x);
	case GRAPH_ACTIVATION_HARDSIGMOID:
		return clamp(alpha * x + beta, 0, 1);
	case GRAPH_ACTIVATION_HARDSWISH:
		return x * clamp(alpha * x + beta, 0, 1);
	case GRAPH_ACTIVATION_SILU:
		return x * sigmoid(alpha * x);
	case GRAPH_ACTIVATION_TANH:
		return tanh(x);
	case GRAPH_ACTIVATION_ERF:
		return erf(x);
	case GRAPH_ACTIVATION_GELU:
		return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
	case GRAPH_ACTIVATION_GELU_TANH:
		return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
	case GRAPH_ACTIVATION_MISH:
		return x * tanh(softplus(x));
	case GRAPH_ACTIVATION_SOFTPLUS:
		return softplus(x);
	case GRAPH_ACTIVATION_SOFTSIGN:
		return x / (1 + fabs(x));
	case GRAPH_ACTIVATION_THRESHOLDED_RELU:
		return x > alpha ? x : 0;
	case GRAPH_ACTIVATION_SHRINK:
		return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
	default:
		return eval_arithmetic(activation, x);
	}
}

double eval_activation(const struct graph_activation *activation, double x)
{
	double y = eval_function(activation, x);

	return activation->affine ? y * (double)activation->scale + (double)activation->shift : y;
}

static double eltwise_float(enum graph_eltwise_kind kind, double a, double b)
{
	switch (kind) {
	case GRAPH_ELTWISE_ADD:
		return a + b;
	case GRAPH_ELTWISE_SUB:
		return a - b;
	case GRAPH_ELTWISE_MUL:
		return a * b;
	case GRAPH_ELTWISE_DIV:
		return a / b;
	case GRAPH_ELTWISE_MAX:
		return isnan(a) ? a : a > b ? a : b;
	case GRAPH_ELTWISE_MIN:
		return isnan(a) ? a : a < b ? a : b;
	case GRAPH_ELTWISE_POW:
		return pow(a, b);
	case GRAPH_ELTWISE_FMOD:
		return fmod(a, b);
	case GRAPH_ELTWISE_MOD: {
		double rest = fmod(a, b);

		return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
	}
	case GRAPH_ELTWISE_EQUAL:
		return a == b;
	case GRAPH_ELTWISE_GREATER:
		return a > b;
	case GRAPH_ELTWISE_GREATER_EQUAL:
		return a >= b;
	case GRAPH_ELTWISE_LESS:
		return a < b;
	case GRAPH_ELTWISE_LESS_EQUAL:
		return a <= b;
	case GRAPH_ELTWISE_AND:
		return a != 0 && b != 0;
	case GRAPH_ELTWISE_OR:
		return a != 0 || b != 0;
	case GRAPH_ELTWISE_XOR:
		return (a != 0) != (b != 0);
	default:
		return 0;
	}
}

static int64_t int_power(int64_t base, int64_t exponent)
{
	uint64_t result = 1, factor = (uint64_t)base;

	if (exponent < 0)
		return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
	for (; exponent; exponent >>= 1) {
		if (exponent & 1)
			result *= factor;
		factor *= factor;
	}
	return (int64_t)result;
}

/* Division by zero has no answer in ONNX; zero keeps the evaluator total. */
static int64_t int_divide(int64_t a, int64_t b)
{
	if (!b)
		return 0;
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t int_modulo(int64_t a, int64_t b, bool sign_of_divisor)
{
	int64_t rest;

	if (!b || b == -1)
		return 0;
	rest = a % b;
	return sign_of_divisor && rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t eltwise_int(enum graph_eltwise_kind kind, int64_t a, int64_t b)
{
	switch (kind) {
	case GRAPH_ELTWISE_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case GRAPH_ELTWISE_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case GRAPH_ELTWISE_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case GRAPH_ELTWISE_DIV:
		return int_divide(a, b);
	case GRAPH_ELTWISE_MAX:
		return a > b ? a : b;
	case GRAPH_ELTWISE_MIN:
		return a < b ? a : b;
	case GRAPH_ELTWISE_POW:
		return int_power(a, b);
	case GRAPH_ELTWISE_MOD:
		return int_modulo(a, b, true);
	case GRAPH_ELTWISE_FMOD:
		return int_modulo(a, b, false);
	case GRAPH_ELTWISE_EQUAL:
		return a == b;
	case GRAPH_ELTWISE_GREATER:
		return a > b;
	case GRAPH_ELTWISE_GREATER_EQUAL:
		return a >= b;
	case GRAPH_ELTWISE_LESS:
		return a < b;
	case GRAPH_ELTWISE_LESS_EQUAL:
		return a <= b;
	case GRAPH_ELTWISE_AND:
		return a && b;
	case GRAPH_ELTWISE_OR:
		return a || b;
	case GRAPH_ELTWISE_XOR:
		return !a != !b;
	default:
		return 0;
	}
}

static void math_eltwise(const struct graph_node *node, const void *const *inputs, void *output)
{
	enum graph_dtype type_a = node->inputs[0]->dtype, type_b = node->inputs[1]->dtype;
	enum graph_dtype type = node->outputs[0]->dtype;
	bool floats = graph_dtype_is_float(type_a) || graph_dtype_is_float(type_b);
	struct eval_walk walk;
	int64_t i;

	eval_walk_init(&walk, node->outputs[0]);
	eval_walk_broadcast(&walk, 0, node->inputs[0]);
	eval_walk_broadcast(&walk, 1, node->inputs[1]);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		if (floats)
			eval_store(type, output, i,
				   eltwise_float(node->attr.eltwise,
						 eval_load(type_a, inputs[0], walk.offset[0]),
						 eval_load(type_b, inputs[1], walk.offset[1])));
		else
			eval_store_int(
				type, output, i,
				eltwise_int(node->attr.eltwise,
					    eval_load_int(type_a, inputs[0], walk.offset[0]),
					    eval_load_int(type_b, inputs[1], walk.offset[1])));
	}
}

static void math_activation(const struct graph_node *node, const void *input, void *output)
{
	enum graph_dtype from = node->inputs[0]->dtype, to = node->outputs[0]->dtype;
	int64_t count = graph_element_count(node->outputs[0]), i;

	for (i = 0; i < count; i++)
		eval_store(to, output, i,
			   eval_activation(&node->attr.activation, eval_load(from, input, i)));
}

static void math_prelu(const struct graph_node *node, const void *const *inputs, void *output)
{
	enum graph_dtype dtype = node->outputs[0]->dtype;
	struct eval_walk walk;
	int64_t i;

	eval_walk_init(&walk, node->outputs[0]);
	eval_walk_broadcast(&walk, 0, node->inputs[1]);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		double x = eval_load(dtype, inputs[0], i);

		if (x < 0)
			x *= eval_load(node->inputs[1]->dtype, inputs[1], walk.offset[0]);
		eval_store(dtype, output, i, x);
	}
}

static void math_cast(const struct graph_node *node, const void *input, void *output)
{
	enum graph_dtype from = node->inputs[0]->dtype, to = node->outputs[0]->dtype;
	bool ints = !graph_dtype_is_float(from) && !graph_dtype_is_float(to);
	int64_t count = graph_element_count(node->outputs[0]), i;

	for (i = 0; i < count; i++) {
		if (ints)
			eval_store_int(to, output, i, eval_load_int(from, input, i));
		else
			eval_store(to, output, i, eval_load(from, input, i));
	}
}

/* Running value of one reduction. */
struct accumulator {
	double sum;
	double extreme;
	int64_t integer;
	int64_t position;
	bool any;
};

static void accumulate(const struct graph_attr_reduce *reduce, struct accumulator *acc, double x,
		       int64_t position)
{
	bool better;

	switch (reduce->kind) {
	case GRAPH_REDUCE_L1:
		acc->sum += fabs(x);
		break;
	case GRAPH_REDUCE_L2:
	case GRAPH_REDUCE_SUM_SQUARE:
		acc->sum += x * x;
		break;
	case GRAPH_REDUCE_PROD:
		acc->sum = acc->any ? acc->sum * x : x;
		break;
	case GRAPH_REDUCE_LOG_SUM_EXP:
		/* Rescaled to the largest so far, so that nothing overflows. */
		if (!acc->any || x > acc->extreme) {
			acc->sum = acc->any ? acc->sum * exp(acc->extreme - x) + 1 : 1;
			acc->extreme = x;
		} else {
			acc->sum += isinf(x) ? x == acc->extreme : exp(x - acc->extreme);
		}
		break;
	case GRAPH_REDUCE_MAX:
	case GRAPH_REDUCE_ARGMAX:
	case GRAPH_REDUCE_MIN:
	case GRAPH_REDUCE_ARGMIN:
		if (reduce->kind == GRAPH_REDUCE_MAX || reduce->kind == GRAPH_REDUCE_ARGMAX)
			better = x > acc->extreme;
		else
			better = x < acc->extreme;
		if (!acc->any || better || isnan(x) ||
		    (reduce->select_last_index && x == acc->extreme)) {
			acc->extreme = x;
			acc->position = position;
		}
		break;
	default:
		acc->sum += x;
		break;
	}
	acc->any = true;
}

static double reduced(const struct graph_attr_reduce *reduce, const struct accumulator *acc,
		      int64_t count)
{
	switch (reduce->kind) {
	case GRAPH_REDUCE_MEAN:
		return acc->sum / (double)count;
	case GRAPH_REDUCE_L2:
		return sqrt(acc->sum);
	case GRAPH_REDUCE_LOG_SUM:
		return log(acc->sum);
	case GRAPH_REDUCE_LOG_SUM_EXP:
		return acc->any ? acc->extreme + log(acc->sum) : -INFINITY;
	case GRAPH_REDUCE_PROD:
		return acc->any ? acc->sum : 1;
	case GRAPH_REDUCE_MAX:
	case GRAPH_REDUCE_MIN:
		return acc->extreme;
	case GRAPH_REDUCE_ARGMAX:
	case GRAPH_REDUCE_ARGMIN:
		return (double)acc->position;
	default:
		return acc->sum;
	}
}

/* Integer sums and products of shape arithmetic must not pass through double. */
static bool reduce_in_int(const struct graph_attr_reduce *reduce, enum graph_dtype dtype)
{
	return !graph_dtype_is_float(dtype) &&
	       (reduce->kind == GRAPH_REDUCE_SUM || reduce->kind == GRAPH_REDUCE_PROD);
}

static int math_reduce(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_attr_reduce *reduce = &node->attr.reduce;
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t strides[GRAPH_MAX_RANK], count = graph_element_count(y), i, per_output = 1;
	bool ints = reduce_in_int(reduce, x->dtype);
	struct accumulator *accumulators;
	uint32_t j, out_dim = 0;
	struct eval_walk walk;

	accumulators = calloc((size_t)count + 1, sizeof(*accumulators));
	if (!accumulators)
		return -1;
	eval_strides(y, strides);
	eval_walk_init(&walk, x);
	for (j = 0; j < x->rank; j++) {
		bool gone = reduce->axes >> j & 1;

		if (gone)
			per_output *= x->dims[j];
		if (!gone)
			walk.stride[0][j] = strides[out_dim];
		if (!gone || reduce->keep_dims)
			out_dim++;
		if (gone)
			walk.stride[1][j] = 1; /* ARGMAX: position along its axis */
	}
	for (i = 0; i < count; i++)
		accumulators[i].integer = reduce->kind == GRAPH_REDUCE_PROD;
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		struct accumulator *acc = &accumulators[walk.offset[0]];

		if (!ints)
			accumulate(reduce, acc, eval_load(x->dtype, input, i), walk.offset[1]);
		else
			acc->integer =
				eltwise_int(reduce->kind == GRAPH_REDUCE_SUM ? GRAPH_ELTWISE_ADD :
									       GRAPH_ELTWISE_MUL,
					    acc->integer, eval_load_int(x->dtype, input, i));
	}
	for (i = 0; i < count; i++) {
		if (ints)
			eval_store_int(y->dtype, output, i, accumulators[i].integer);
		else
			eval_store(y->dtype, output, i,
				   reduced(reduce, &accumulators[i], per_output));
	}
	free(accumulators);
	return 0;
}

static void math_softmax(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0];
	int64_t axis = node->attr.softmax.axis, size = x->dims[axis], inner = 1, rows, row, i;
	int64_t total = graph_element_count(x);
	uint32_t j;

	for (j = (uint32_t)axis + 1; j < x->rank; j++)
		inner *= x->dims[j];
	rows = size ? total / size : 0;
	for (row = 0; row < rows; row++) {
		int64_t base = row / inner * size * inner + row % inner;
		double most = -INFINITY, sum = 0;

		for (i = 0; i < size; i++)
			most = fmax(most, eval_load(x->dtype, input, base + i * inner));
		for (i = 0; i < size; i++)
			sum += exp(eval_load(x->dtype, input, base + i * inner) - most);
		for (i = 0; i < size; i++) {
			double e = eval_load(x->dtype, input, base + i * inner) - most;

			eval_store(x->dtype, output, base + i * inner,
				   node->attr.softmax.log ? e - log(sum) : exp(e) / sum);
		}
	}
}

/* One run of elements with its own mean and variance. */
static void moments(enum graph_dtype dtype, const void *data, int64_t base, int64_t count,
		    double *mean, double *variance)
{
	double sum = 0, squares = 0;
	int64_t i;

	for (i = 0; i < count; i++)
		sum += eval_load(dtype, data, base + i);
	*mean = sum / (double)count;
	for (i = 0; i < count; i++) {
		double d = eval_load(dtype, data, base + i) - *mean;

		squares += d * d;
	}
	*variance = squares / (double)count;
}

static double optional(const struct graph_node *node, const void *const *inputs, uint32_t index,
		       int64_t offset, double otherwise)
{
	if (index >= node->input_count || !node->inputs[index])
		return otherwise;
	return eval_load(node->inputs[index]->dtype, inputs[index], offset);
}

static void math_layernorm(const struct graph_node *node, const void *const *inputs, void *output)
{
	const struct graph_attr_norm *norm = &node->attr.norm;
	const struct graph_value *x = node->inputs[0];
	int64_t size = 1, total = graph_element_count(x), base;
	struct graph_value tail = { 0 };
	uint32_t j;

	graph_value_set_shape(&tail, x->rank - (uint32_t)norm->axis, x->dims + norm->axis);
	size = graph_element_count(&tail);
	for (base = 0; size && base < total; base += size) {
		double mean, variance, factor;
		struct eval_walk walk;
		int64_t i;

		moments(x->dtype, inputs[0], base, size, &mean, &variance);
		if (norm->rms) {
			variance += mean * mean;
			mean = 0;
		}
		factor = 1.0 / sqrt(variance + (double)norm->epsilon);
		eval_walk_init(&walk, &tail);
		for (j = 1; j < node->input_count && j < 3; j++)
			if (node->inputs[j])
				eval_walk_broadcast(&walk, j, node->inputs[j]);
		for (i = 0; i < size; i++, eval_walk_next(&walk)) {
			double v = (eval_load(x->dtype, inputs[0], base + i) - mean) * factor;

			v *= optional(node, inputs, 1, walk.offset[1], 1);
			v += optional(node, inputs, 2, walk.offset[2], 0);
			eval_store(x->dtype, output, base + i, v);
		}
	}
}

static void math_groupnorm(const struct graph_node *node, const void *const *inputs, void *output)
{
	const struct graph_value *x = node->inputs[0];
	int64_t channels = x->dims[1], total = graph_element_count(x), base, i;
	int64_t plane, size;
	int64_t groups = node->op == GRAPH_OP_INSTANCENORM ? channels : node->attr.norm.groups;

	if (!total)
		return;
	plane = total / (x->dims[0] * channels);
	size = channels / groups * plane;
	for (base = 0; base < total; base += size) {
		double mean, variance, factor;

		moments(x->dtype, inputs[0], base, size, &mean, &variance);
		factor = 1.0 / sqrt(variance + (double)node->attr.norm.epsilon);
		for (i = 0; i < size; i++) {
			int64_t channel = (base + i) / plane % channels;
			double v = (eval_load(x->dtype, inputs[0], base + i) - mean) * factor;

			v = v * optional(node, inputs, 1, channel, 1) +
			    optional(node, inputs, 2, channel, 0);
			eval_store(x->dtype, output, base + i, v);
		}
	}
}

static void math_batchnorm(const struct graph_node *node, const void *const *inputs, void *output)
{
	const struct graph_value *x = node->inputs[0];
	int64_t total = graph_element_count(x), plane, i;

	if (!total)
		return;
	plane = total / (x->dims[0] * x->dims[1]);
	for (i = 0; i < total; i++) {
		int64_t channel = i / plane % x->dims[1];

		eval_store(x->dtype, output, i,
			   eval_load(x->dtype, inputs[0], i) *
					   optional(node, inputs, 1, channel, 1) +
				   optional(node, inputs, 2, channel, 0));
	}
}

static void math_lrn(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_attr_lrn *lrn = &node->attr.lrn;
	const struct graph_value *x = node->inputs[0];
	int64_t total = graph_element_count(x), channels = x->dims[1], plane, i, j;

	if (!total)
		return;
	plane = total / (x->dims[0] * channels);
	for (i = 0; i < total; i++) {
		int64_t channel = i / plane % channels;
		int64_t first = channel - (lrn->size - 1) / 2, last = channel + lrn->size / 2;
		double sum = 0;

		for (j = first < 0 ? 0 : first; j <= last && j < channels; j++) {
			double v = eval_load(x->dtype, input, i + (j - channel) * plane);

			sum += v * v;
		}
		eval_store(x->dtype, output, i,
			   eval_load(x->dtype, input, i) /
				   pow((double)lrn->bias +
					       (double)lrn->alpha / (double)lrn->size * sum,
				       (double)lrn->beta));
	}
}

/* Scale and zero point may each be one for the tensor or one a channel. */
static bool by_channel(const struct graph_node *node, uint32_t index)
{
	return index < node->input_count && node->inputs[index] &&
	       graph_element_count(node->inputs[index]) != 1;
}

static void math_quantize(const struct graph_node *node, const void *const *inputs, void *output)
{
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t total = graph_element_count(x), inner = 1, channels = 1, i;
	bool scales = by_channel(node, 1), zeros = by_channel(node, 2);
	uint32_t j;

	if (scales || zeros) {
		channels = x->dims[node->attr.axis.axis];
		for (j = (uint32_t)node->attr.axis.axis + 1; j < x->rank; j++)
			inner *= x->dims[j];
	}
	for (i = 0; i < total; i++) {
		int64_t channel = i / inner % channels;
		double scale = optional(node, inputs, 1, scales ? channel : 0, 1);
		double zero = optional(node, inputs, 2, zeros ? channel : 0, 0);
		double v = eval_load(x->dtype, inputs[0], i);

		if (node->op == GRAPH_OP_QUANTIZE)
			v = round_half_even((double)(float)(v / scale)) + zero;
		else
			v = (v - zero) * scale;
		eval_store(y->dtype, output, i, v);
	}
}

int eval_math(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag)
{
	switch (node->op) {
	case GRAPH_OP_ELTWISE:
		math_eltwise(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_ACTIVATION:
		math_activation(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_PRELU:
		math_prelu(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_CAST:
		math_cast(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_REDUCE:
		if (math_reduce(node, inputs[0], outputs[0]))
			return diag_error(diag, "not enough memory to evaluate node '%s'",
					  node->name);
		return 0;
	case GRAPH_OP_SOFTMAX:
		math_softmax(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_LAYERNORM:
		math_layernorm(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_INSTANCENORM:
	case GRAPH_OP_GROUPNORM:
		math_groupnorm(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_BATCHNORM:
		math_batchnorm(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_LRN:
		math_lrn(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_QUANTIZE:
	case GRAPH_OP_DEQUANTIZE:
		math_quantize(node, inputs, outputs[0]);
		return 0;
	default:
		return diag_error(diag, "node '%s' (%s) cannot be evaluated", node->name,
				  node->op_type);
	}
}
