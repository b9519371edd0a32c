/* SPDX-License-Identifier: MIT */
/*
 * Normalisations. Rows that fit local SRAM are LAYERNORM's affair (lower/norm.c); longer ones are
 * made of reductions.
 */
#include "decompose.h"

#define ROW_MAX 16384

static int64_t elements_from(const struct graph_value *value, uint32_t dim)
{
	int64_t count = 1;

	for (uint32_t i = dim; i < value->rank; i++)
		count *= value->dims[i];
	return count;
}

/* (x - mean) / sqrt(variance + epsilon) over the dims from @axis on. */
static struct graph_value *normalised(struct decompose *d, struct graph_value *x, uint32_t axis,
				      float epsilon, bool rms)
{
	uint32_t axes = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
	struct graph_value *value;

	if (!rms) {
		value = decompose_reduce(d, GRAPH_REDUCE_MEAN, x, axes);
		x = decompose_eltwise(d, GRAPH_ELTWISE_SUB, x, value);
	}
	value = decompose_activation(d, x, GRAPH_ACTIVATION_SQUARE, 0, 0);
	value = decompose_reduce(d, GRAPH_REDUCE_MEAN, value, axes);
	value = decompose_activation(d, value, GRAPH_ACTIVATION_LINEAR, 1, epsilon);
	value = decompose_activation(d, value, GRAPH_ACTIVATION_RSQRT, 0, 0);
	return decompose_eltwise(d, GRAPH_ELTWISE_MUL, x, value);
}

static struct graph_value *normalised_rows(struct decompose *d, struct graph_value *x)
{
	const union graph_attr attr = {
		.norm = { .axis = 2, .epsilon = d->node->attr.norm.epsilon },
	};

	if (x && elements_from(x, 2) > ROW_MAX)
		return normalised(d, x, 2, attr.norm.epsilon, false);
	return decompose_op(d, GRAPH_OP_LAYERNORM, &attr, &x, 1);
}

/* y = x scale + bias, one of each a channel. */
static struct graph_value *scaled_channels(struct decompose *d, struct graph_value *x)
{
	struct graph_value *inputs[3] = { x, d->node->inputs[1], d->node->inputs[2] };

	return decompose_op(d, GRAPH_OP_BATCHNORM, NULL, inputs, 3);
}

static int instance_norm(struct decompose *d)
{
	return decompose_finish(d, scaled_channels(d, normalised_rows(d, d->node->inputs[0])));
}

static int group_norm(struct decompose *d)
{
	struct graph_value *x = d->node->inputs[0];
	int64_t groups = d->node->attr.norm.groups;
	const int64_t dims[3] = { x->dims[0], groups, elements_from(x, 1) / groups };
	struct graph_value *value = decompose_reshape(d, x, 3, dims);

	value = normalised_rows(d, value);
	value = decompose_reshape(d, value, x->rank, x->dims);
	return decompose_finish(d, scaled_channels(d, value));
}

static int long_layer_norm(struct decompose *d)
{
	struct graph_node *node = d->node;
	uint32_t axis = (uint32_t)node->attr.norm.axis;
	struct graph_value *value;

	if (elements_from(node->inputs[0], axis) <= ROW_MAX)
		return 0;
	value = normalised(d, node->inputs[0], axis, node->attr.norm.epsilon, node->attr.norm.rms);
	if (node->input_count > 1 && node->inputs[1])
		value = decompose_eltwise(d, GRAPH_ELTWISE_MUL, value, node->inputs[1]);
	if (node->input_count > 2 && node->inputs[2])
		value = decompose_eltwise(d, GRAPH_ELTWISE_ADD, value, node->inputs[2]);
	return decompose_finish(d, value);
}

/* Mean of the squares over @size neighbouring channels: an average pool over [N,1,C,rest]. */
static struct graph_value *neighbours(struct decompose *d, struct graph_value *x, int64_t size)
{
	const int64_t dims[4] = { x->dims[0], 1, x->dims[1], elements_from(x, 2) };
	const union graph_attr attr = {
		.pool = {
			.kind = GRAPH_POOL_AVERAGE,
			.count_include_pad = true,
			.window = {
				.kernel = { size, 1 },
				.stride = { 1, 1 },
				.dilation = { 1, 1 },
				.pad_begin = { (size - 1) / 2, 0 },
				.pad_end = { size / 2, 0 },
			},
		},
	};
	struct graph_value *value = decompose_activation(d, x, GRAPH_ACTIVATION_SQUARE, 0, 0);

	value = decompose_reshape(d, value, 4, dims);
	value = decompose_stated(d, GRAPH_OP_POOL, &attr, value, 4, dims);
	return decompose_reshape(d, value, x->rank, x->dims);
}

/* y = x (bias + alpha mean)^-beta */
static int local_response_norm(struct decompose *d)
{
	const struct graph_attr_lrn lrn = d->node->attr.lrn;
	struct graph_value *x = d->node->inputs[0], *value = neighbours(d, x, lrn.size);

	value = decompose_activation(d, value, GRAPH_ACTIVATION_LINEAR, lrn.alpha, lrn.bias);
	value = decompose_eltwise(d, GRAPH_ELTWISE_POW, value,
				  graph_constant_scalar(d->graph, "beta", -lrn.beta));
	return decompose_finish(d, decompose_eltwise(d, GRAPH_ELTWISE_MUL, x, value));
}

int decompose_norm(struct decompose *d)
{
	switch (d->node->op) {
	case GRAPH_OP_INSTANCENORM:
		return instance_norm(d);
	case GRAPH_OP_GROUPNORM:
		return group_norm(d);
	case GRAPH_OP_LRN:
		return local_response_norm(d);
	default:
		return long_layer_norm(d);
	}
}
