// SPDX-License-Identifier: MIT
/* Normalisations. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../fold/eval.h"
#include "import.h"

/* y = x * scale + shift with mean, variance and epsilon folded into the two. */
static int batch_norm_constants(struct import_node *in, struct graph_value *operands[3])
{
	double epsilon = (double)import_attribute_float(in, "epsilon", 1e-5f);
	const struct graph_value *x = operands[0];
	struct graph_value *given[4];
	char text[GRAPH_SHAPE_TEXT];
	float *scale, *shift;
	void *data[2];
	int64_t i;
	uint32_t j;

	for (j = 0; j < 4; j++) {
		given[j] = import_input(in, j + 1);
		if (!given[j] || given[j]->rank != 1 || given[j]->dims[0] != x->dims[1])
			return import_error(in,
					    "input %" PRIu32
					    " has shape %s, one element for each of %" PRId64
					    " channels is needed; correct it",
					    j + 1,
					    given[j] ? graph_format_shape(given[j], text) : "none",
					    x->dims[1]);
		if (!graph_is_constant(given[j]))
			return import_unknown(
				in,
				"its parameters are computed while running, only constants are supported; "
				"make them constants of the model");
	}
	operands[1] = import_constant(in, GRAPH_DTYPE_F32, 1, &x->dims[1], &data[0]);
	operands[2] = import_constant(in, GRAPH_DTYPE_F32, 1, &x->dims[1], &data[1]);
	if (!operands[1] || !operands[2])
		return -1;
	scale = data[0];
	shift = data[1];
	for (i = 0; i < x->dims[1]; i++) {
		double variance = eval_load(given[3]->dtype, given[3]->data, i);
		double factor =
			eval_load(given[0]->dtype, given[0]->data, i) / sqrt(variance + epsilon);

		scale[i] = (float)factor;
		shift[i] = (float)(eval_load(given[1]->dtype, given[1]->data, i) -
				   eval_load(given[2]->dtype, given[2]->data, i) * factor);
	}
	return 0;
}

static int import_batch_norm(struct import_node *in)
{
	struct graph_value *operands[3] = { import_input(in, 0), NULL, NULL };
	struct graph_node *node;
	uint32_t i;
	int result;

	if (import_need_rank(in, 2))
		return -1;
	if (import_attribute_int(in, "training_mode", 0))
		return import_unknown(
			in,
			"training_mode is 1, only 0 is supported; export the model for inference");
	for (i = 1; i < in->onnx->output_count && in->opset >= 14; i++)
		if (in->onnx->outputs[i].size)
			return import_unknown(
				in, "it has more than one output, as when training; export "
				    "the model for inference");
	result = batch_norm_constants(in, operands);
	if (result)
		return result;
	node = import_node_new(in, GRAPH_OP_BATCHNORM, 3, operands, 1);
	return import_result(in, 0, import_finish(in, node));
}

static int norm(struct import_node *in, enum graph_op op, struct graph_value *operands[3],
		const struct graph_attr_norm *attr)
{
	struct graph_node *node = import_node_new(in, op, 3, operands, 1);

	if (!node)
		return -1;
	node->attr.norm = *attr;
	return import_result(in, 0, import_finish(in, node));
}

static struct graph_value *reduce(struct import_node *in, struct graph_value *x,
				  enum graph_reduce_kind kind, uint32_t axes)
{
	struct graph_node *node = import_node_new(in, GRAPH_OP_REDUCE, 1, &x, 1);

	if (!node)
		return NULL;
	node->attr.reduce.kind = kind;
	node->attr.reduce.axes = axes;
	node->attr.reduce.keep_dims = true;
	return import_finish(in, node);
}

static bool has_output(const struct import_node *in, uint32_t index)
{
	return index < in->onnx->output_count && in->onnx->outputs[index].size;
}

/* The mean and the inverse deviation, where a model asks for them too. */
static int layer_norm_statistics(struct import_node *in, struct graph_value *x,
				 const struct graph_attr_norm *attr)
{
	uint32_t axes = ((1u << x->rank) - 1) - ((1u << attr->axis) - 1);
	struct graph_value *mean, *rest, *variance, *epsilon;

	if (!has_output(in, 1) && !has_output(in, 2))
		return 0;
	mean = reduce(in, x, GRAPH_REDUCE_MEAN, axes);
	if (import_result(in, 1, mean))
		return -1;
	rest = import_eltwise(in, GRAPH_ELTWISE_SUB, x, mean);
	rest = rest ? import_activation(in, rest, GRAPH_ACTIVATION_SQUARE, 0, 0) : NULL;
	variance = rest ? reduce(in, rest, GRAPH_REDUCE_MEAN, axes) : NULL;
	epsilon = variance ? import_scalar(in, x, attr->epsilon) : NULL;
	variance = epsilon ? import_eltwise(in, GRAPH_ELTWISE_ADD, variance, epsilon) : NULL;
	if (!variance)
		return -1;
	return import_result(in, 2, import_activation(in, variance, GRAPH_ACTIVATION_RSQRT, 0, 0));
}

static int import_layer_norm(struct import_node *in)
{
	struct graph_value *operands[3] = { import_input(in, 0), import_input(in, 1),
					    import_input(in, 2) };
	struct graph_attr_norm attr = { .epsilon = import_attribute_float(in, "epsilon", 1e-5f) };

	if (!operands[0])
		return import_missing(in, 1);
	attr.rms = !strcmp(in->op_type, "RMSNormalization") ||
		   !strcmp(in->op_type, "SimplifiedLayerNormalization");
	if (attr.rms && (has_output(in, 1) || has_output(in, 2)))
		return import_unknown(in, "outputs beyond the first are not supported");
	if (import_axis(in, import_attribute_int(in, "axis", -1), operands[0]->rank, &attr.axis))
		return -1;
	if (layer_norm_statistics(in, operands[0], &attr))
		return -1;
	return norm(in, GRAPH_OP_LAYERNORM, operands, &attr);
}

static int import_instance_norm(struct import_node *in)
{
	struct graph_value *operands[3] = { import_input(in, 0), import_input(in, 1),
					    import_input(in, 2) };
	struct graph_attr_norm attr = { .epsilon = import_attribute_float(in, "epsilon", 1e-5f) };

	if (!operands[0] || !operands[1] || !operands[2])
		return import_missing(in, 3);
	if (import_need_rank(in, 3))
		return -1;
	attr.groups = operands[0]->dims[1];
	return norm(in, GRAPH_OP_INSTANCENORM, operands, &attr);
}

/* Opset 18 gave scale and bias by group; from 21 on they are by channel. */
static struct graph_value *by_channel(struct import_node *in, struct graph_value *value,
				      int64_t groups, int64_t channels)
{
	int64_t column[2] = { groups, 1 }, full[2] = { groups, channels / groups };
	struct graph_node *node;

	if (value->rank != 1 || value->dims[0] != groups || groups == channels)
		return value;
	value = import_reshape(in, value, 2, column);
	if (!value)
		return NULL;
	node = import_node_new(in, GRAPH_OP_EXPAND, 1, &value, 1);
	if (!node || import_stated(in, node, 0, value->dtype, 2, full))
		return NULL;
	value = import_finish(in, node);
	return value ? import_reshape(in, value, 1, &channels) : NULL;
}

static int import_group_norm(struct import_node *in)
{
	struct graph_value *operands[3] = { import_input(in, 0), import_input(in, 1),
					    import_input(in, 2) };
	struct graph_attr_norm attr = { .epsilon = import_attribute_float(in, "epsilon", 1e-5f) };
	int64_t channels;
	uint32_t i;

	attr.groups = import_attribute_int(in, "num_groups", 0);
	if (!operands[0] || !operands[1] || !operands[2])
		return import_missing(in, 3);
	if (import_need_rank(in, 3))
		return -1;
	channels = operands[0]->dims[1];
	if (attr.groups < 1 || channels % attr.groups)
		return import_error(in,
				    "num_groups is %" PRId64 ", a divisor of %" PRId64
				    " channels is needed; correct num_groups",
				    attr.groups, channels);
	for (i = 1; i < 3; i++) {
		operands[i] = by_channel(in, operands[i], attr.groups, channels);
		if (!operands[i])
			return -1;
	}
	return norm(in, GRAPH_OP_GROUPNORM, operands, &attr);
}

static int import_lrn(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0);
	struct graph_node *node;

	if (!x)
		return import_missing(in, 1);
	node = import_node_new(in, GRAPH_OP_LRN, 1, &x, 1);
	if (!node)
		return -1;
	node->attr.lrn.alpha = import_attribute_float(in, "alpha", 0.0001f);
	node->attr.lrn.beta = import_attribute_float(in, "beta", 0.75f);
	node->attr.lrn.bias = import_attribute_float(in, "bias", 1.0f);
	node->attr.lrn.size = import_attribute_int(in, "size", 1);
	return import_result(in, 0, import_finish(in, node));
}

static int import_lp_norm(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *length;
	int64_t axis, p = import_attribute_int(in, "p", 2);

	if (!x)
		return import_missing(in, 1);
	if (p != 1 && p != 2)
		return import_error(in, "p is %" PRId64 ", only 1 and 2 are supported; correct p",
				    p);
	if (import_axis(in, import_attribute_int(in, "axis", -1), x->rank, &axis))
		return -1;
	length = reduce(in, x, p == 1 ? GRAPH_REDUCE_L1 : GRAPH_REDUCE_L2, 1u << axis);
	if (!length)
		return -1;
	return import_result(in, 0, import_eltwise(in, GRAPH_ELTWISE_DIV, x, length));
}

/* (x - mean) / sqrt(mean of squares - square of mean), by its own definition. */
static int import_mean_variance_norm(struct import_node *in)
{
	const struct onnx_attribute *list = import_attribute(in, "axes");
	struct graph_value *x = import_input(in, 0), *mean, *rest, *square, *deviation, *tiny;
	uint32_t axes = 0xd, i;
	int64_t axis;

	if (!x)
		return import_missing(in, 1);
	for (i = 0; list && i < list->int_count; i++) {
		axes = i ? axes : 0;
		if (import_axis(in, list->ints[i], x->rank, &axis))
			return -1;
		axes |= 1u << axis;
	}
	if (axes >> x->rank)
		return import_error(in, "an axis is outside its input's %" PRIu32 " dimensions",
				    x->rank);
	mean = reduce(in, x, GRAPH_REDUCE_MEAN, axes);
	rest = mean ? import_eltwise(in, GRAPH_ELTWISE_SUB, x, mean) : NULL;
	square = rest ? import_activation(in, rest, GRAPH_ACTIVATION_SQUARE, 0, 0) : NULL;
	deviation = square ? reduce(in, square, GRAPH_REDUCE_MEAN, axes) : NULL;
	deviation =
		deviation ? import_activation(in, deviation, GRAPH_ACTIVATION_SQRT, 0, 0) : NULL;
	tiny = deviation ? import_scalar(in, x, 1e-9f) : NULL;
	deviation = tiny ? import_eltwise(in, GRAPH_ELTWISE_ADD, deviation, tiny) : NULL;
	if (!deviation)
		return -1;
	return import_result(in, 0, import_eltwise(in, GRAPH_ELTWISE_DIV, rest, deviation));
}

const struct import_operator import_norm_operators[] = {
	{ "BatchNormalization", import_batch_norm },
	{ "LayerNormalization", import_layer_norm },
	{ "RMSNormalization", import_layer_norm },
	{ "SimplifiedLayerNormalization", import_layer_norm },
	{ "InstanceNormalization", import_instance_norm },
	{ "GroupNormalization", import_group_norm },
	{ "LRN", import_lrn },
	{ "LpNormalization", import_lp_norm },
	{ "MeanVarianceNormalization", import_mean_variance_norm },
	{ NULL, NULL },
};
