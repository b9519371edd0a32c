// SPDX-License-Identifier: MIT
/* Convolutions and matrix products of bytes. */
#include "../fuse/match.h"
#include "quant.h"

/* The dimension of the weights that output channels go along. */
static uint32_t channel_axis(const struct graph_node *node)
{
	uint32_t rank = node->inputs[GRAPH_IN_WEIGHT]->rank;

	if (node->op == GRAPH_OP_CONV)
		return 0;
	return node->attr.matmul.transpose_b ? rank - 2 : rank - 1;
}

static struct graph_node *weights_of(struct graph *graph, const struct graph_node *node,
				     struct graph_quantization *quantization)
{
	struct graph_node *source = match_op(node->inputs[GRAPH_IN_WEIGHT], GRAPH_OP_DEQUANTIZE);

	if (!source || !quant_is_byte(source->inputs[0]->dtype) ||
	    !quant_read(graph, source, quantization))
		return NULL;
	if (node->op == GRAPH_OP_CONV && !graph_is_constant(source->inputs[0]))
		return NULL;
	if (quantization->count != 1 && quantization->axis != channel_axis(node))
		return NULL;
	return source;
}

/* A bias of constants, integers or not; *@source is the DEQUANTIZE to leave out. */
static bool bias_of(struct graph *graph, const struct graph_node *node,
		    struct graph_quantization *quantization, struct graph_node **source)
{
	const struct graph_value *bias =
		node->input_count > GRAPH_IN_BIAS ? node->inputs[GRAPH_IN_BIAS] : NULL;

	*source = NULL;
	if (!bias || graph_is_constant(bias))
		return true;
	*source = match_op(bias, GRAPH_OP_DEQUANTIZE);
	return *source && graph_is_constant((*source)->inputs[0]) &&
	       quant_read(graph, *source, quantization);
}

static bool holds_constants(const struct graph_value *value)
{
	const struct graph_node *source = match_op(value, GRAPH_OP_DEQUANTIZE);
	uint32_t i;

	if (!source)
		return graph_is_constant(value);
	for (i = 0; i < source->input_count; i++)
		if (source->inputs[i] && !graph_is_constant(source->inputs[i]))
			return false;
	return true;
}

/* The sum behind a product that is its bias, as Gemm has one, with what is fused onto the sum. */
static bool take_bias(struct graph *graph, struct graph_node *node)
{
	struct graph_value *product = node->outputs[0], *bias;
	struct graph_node *sum = graph_single_user(product);

	if (node->op != GRAPH_OP_MATMUL || node->activation.kind != GRAPH_ACTIVATION_NONE || !sum ||
	    (node->input_count > GRAPH_IN_BIAS && node->inputs[GRAPH_IN_BIAS]) ||
	    sum->op != GRAPH_OP_ELTWISE || sum->attr.eltwise != GRAPH_ELTWISE_ADD)
		return true;
	bias = sum->inputs[sum->inputs[0] == product];
	if (!holds_constants(bias) || bias->rank != 1 ||
	    bias->dims[0] != product->dims[product->rank - 1])
		return true;
	if (graph_node_resize_inputs(graph, node, GRAPH_IN_BIAS + 1) ||
	    graph_node_set_input(graph, node, GRAPH_IN_BIAS, bias))
		return false;
	/* Made of constants, but before the sum only; others may read it before the product. */
	if (bias->producer && !graph_node_precedes(bias->producer, node))
		graph_node_move_before(graph, bias->producer, node);
	node->activation = sum->activation;
	fuse_take_output(graph, node, sum);
	return true;
}

/* MatMulInteger, ConvInteger: the sums themselves, as the CAST to int32 behind them has them. */
static struct graph_node *sums_of(struct graph *graph, const struct graph_node *node,
				  const struct graph_quant *quant,
				  struct graph_quantization *quantization)
{
	struct graph_node *cast = graph_single_user(node->outputs[0]);
	uint32_t i, j;
	float *one;

	if (!cast || cast->op != GRAPH_OP_CAST || cast->outputs[0]->dtype != GRAPH_DTYPE_I32)
		return NULL;
	for (i = 0; i < 2; i++)
		for (j = 0; j < quant->inputs[i].count; j++)
			if (quant->inputs[i].scales[j] != 1.0f)
				return NULL;
	one = arena_alloc(graph->arena, sizeof(*one));
	if (!one)
		return NULL;
	*one = 1.0f;
	*quantization = (struct graph_quantization){ .scales = one, .count = 1 };
	return cast;
}

static bool clamps(const struct graph_activation *activation)
{
	return !activation->affine && (activation->kind == GRAPH_ACTIVATION_NONE ||
				       activation->kind == GRAPH_ACTIVATION_RELU ||
				       activation->kind == GRAPH_ACTIVATION_CLIP);
}

/* Sums have 32 bits: no input may make one overflow. */
static bool sums_fit(const struct graph_node *node)
{
	const struct graph_value *x = node->inputs[GRAPH_IN_X], *w = node->inputs[GRAPH_IN_WEIGHT];
	int64_t depth;

	if (node->op == GRAPH_OP_CONV)
		depth = w->dims[1] * w->dims[2] * w->dims[3];
	else
		depth = x->dims[x->rank - (node->attr.matmul.transpose_a ? 2 : 1)];
	return depth <= INT32_MAX / (UINT8_MAX * UINT8_MAX);
}

static uint32_t rewrite(struct graph *graph, struct graph_node *node,
			struct graph_node *const sources[3], const struct graph_quant *quant,
			struct graph_node *target)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (sources[i] && graph_node_set_input(graph, node, i, sources[i]->inputs[0]))
			return 0;
	node->quant = quant;
	if (target)
		fuse_take_output(graph, node, target);
	return 1;
}

uint32_t quant_dense(struct graph *graph, struct graph_node *node)
{
	struct graph_node *sources[3], *target = NULL;
	struct graph_quant *quant;

	if ((node->op != GRAPH_OP_CONV && node->op != GRAPH_OP_MATMUL) || node->quant ||
	    (node->input_count > GRAPH_IN_RESIDUAL && node->inputs[GRAPH_IN_RESIDUAL]) ||
	    !match_op(node->inputs[GRAPH_IN_X], GRAPH_OP_DEQUANTIZE) || !sums_fit(node))
		return 0;
	quant = quant_new(graph, node->input_count > 3 ? node->input_count : 3);
	if (!quant || !take_bias(graph, node))
		return 0;
	sources[0] = quant_source(graph, node->inputs[GRAPH_IN_X], &quant->inputs[0]);
	sources[1] = weights_of(graph, node, &quant->inputs[1]);
	if (!sources[0] || !sources[1] ||
	    !bias_of(graph, node, &quant->inputs[GRAPH_IN_BIAS], &sources[2]))
		return 0;
	if (clamps(&node->activation))
		target = quant_target(graph, node->outputs[0], &quant->output);
	if (!target && node->activation.kind == GRAPH_ACTIVATION_NONE)
		target = sums_of(graph, node, quant, &quant->output);
	if (!target)
		quant->output.scales = NULL;
	return rewrite(graph, node, sources, quant, target);
}
