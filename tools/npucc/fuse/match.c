// SPDX-License-Identifier: MIT
#include "match.h"

#include <math.h>
#include <string.h>

#include "../fold/eval.h"

/* Longer chains of scalar arithmetic than this are met in no model. */
#define MAX_CHAIN 16

struct graph_node *match_op(const struct graph_value *value, enum graph_op op)
{
	struct graph_node *node = value ? value->producer : NULL;

	if (!node || node->op != op || node->activation.kind != GRAPH_ACTIVATION_NONE)
		return NULL;
	return node;
}

struct graph_node *match_activation(const struct graph_value *value,
				    enum graph_activation_kind kind)
{
	struct graph_node *node = match_op(value, GRAPH_OP_ACTIVATION);

	if (!node || node->attr.activation.kind != kind || node->attr.activation.affine)
		return NULL;
	return node;
}

struct graph_node *match_eltwise(const struct graph_value *value, enum graph_eltwise_kind kind)
{
	struct graph_node *node = match_op(value, GRAPH_OP_ELTWISE);

	return node && node->attr.eltwise == kind ? node : NULL;
}

bool match_uniform(const struct graph_value *value, double *number)
{
	int64_t count = graph_element_count(value), i;

	if (!graph_is_constant(value) || count < 1 || !graph_dtype_is_float(value->dtype))
		return false;
	*number = eval_load(value->dtype, value->data, 0);
	for (i = 1; i < count; i++)
		if (eval_load(value->dtype, value->data, i) != *number)
			return false;
	return isfinite(*number);
}

bool match_close(double a, double b)
{
	return fabs(a - b) <= 1e-5 * fmax(1.0, fmax(fabs(a), fabs(b)));
}

/* An arithmetic node with one uniform operand. */
static bool linear_eltwise(const struct graph_node *node, struct match_linear *linear)
{
	double number;
	uint32_t side;

	for (side = 0; side < 2; side++)
		if (match_uniform(node->inputs[side], &number))
			break;
	if (side == 2 || graph_is_constant(node->inputs[1 - side]))
		return false;
	linear->x = node->inputs[1 - side];
	linear->scale = 1;
	linear->shift = 0;
	switch (node->attr.eltwise) {
	case GRAPH_ELTWISE_ADD:
		linear->shift = number;
		return true;
	case GRAPH_ELTWISE_SUB:
		linear->scale = side ? 1 : -1;
		linear->shift = side ? -number : number;
		return true;
	case GRAPH_ELTWISE_MUL:
		linear->scale = number;
		return true;
	case GRAPH_ELTWISE_DIV:
		linear->scale = 1 / number;
		return side == 1 && number != 0;
	default:
		return false;
	}
}

bool match_linear_node(const struct graph_node *node, struct match_linear *linear)
{
	const struct graph_activation *activation = &node->attr.activation;
	bool found = false;

	if (node->activation.kind != GRAPH_ACTIVATION_NONE)
		return false;
	if (node->op == GRAPH_OP_ELTWISE)
		found = linear_eltwise(node, linear);
	if (node->op == GRAPH_OP_ACTIVATION && !activation->affine &&
	    (activation->kind == GRAPH_ACTIVATION_LINEAR ||
	     activation->kind == GRAPH_ACTIVATION_NEG)) {
		bool negate = activation->kind == GRAPH_ACTIVATION_NEG;

		linear->x = node->inputs[0];
		linear->scale = negate ? -1 : (double)activation->alpha;
		linear->shift = negate ? 0 : (double)activation->beta;
		found = true;
	}
	return found && graph_dtype_is_float(linear->x->dtype) &&
	       graph_shape_equal(linear->x, node->outputs[0]) && isfinite(linear->scale) &&
	       isfinite(linear->shift);
}

/* Follow the chain until @stop (NULL: to its end). */
static void follow_linear(struct graph_value *value, const struct graph_value *stop,
			  struct match_linear *linear)
{
	struct match_linear step;
	int i;

	linear->x = value;
	linear->scale = 1;
	linear->shift = 0;
	for (i = 0; i < MAX_CHAIN && linear->x != stop; i++) {
		if (!linear->x->producer || !match_linear_node(linear->x->producer, &step))
			return;
		linear->shift += linear->scale * step.shift;
		linear->scale *= step.scale;
		linear->x = step.x;
	}
}

void match_linear_value(struct graph_value *value, struct match_linear *linear)
{
	follow_linear(value, NULL, linear);
}

bool match_linear_of(struct graph_value *value, const struct graph_value *x,
		     struct match_linear *linear)
{
	follow_linear(value, x, linear);
	return linear->x == x;
}

bool match_channels(const struct graph_value *constant, const struct graph_value *like,
		    uint32_t dim, float *numbers)
{
	uint32_t lead, i;
	bool varies;
	int64_t c;

	if (!graph_is_constant(constant) || !graph_dtype_is_float(constant->dtype) ||
	    constant->rank > like->rank || !graph_element_count(constant))
		return false;
	lead = like->rank - constant->rank;
	for (i = 0; i < constant->rank; i++)
		if (constant->dims[i] != 1 &&
		    (lead + i != dim || constant->dims[i] != like->dims[dim]))
			return false;
	varies = graph_element_count(constant) > 1;
	for (c = 0; c < like->dims[dim]; c++)
		numbers[c] = (float)eval_load(constant->dtype, constant->data, varies ? c : 0);
	return true;
}

bool match_weighted(const struct graph_node *node)
{
	const struct graph_value *weight;

	if (node->op != GRAPH_OP_CONV && node->op != GRAPH_OP_CONVTRANSPOSE &&
	    node->op != GRAPH_OP_MATMUL)
		return false;
	weight = node->inputs[GRAPH_IN_WEIGHT];
	if (!graph_is_constant(weight) || !graph_dtype_is_float(weight->dtype) ||
	    graph_is_constant(node->inputs[0]))
		return false;
	if (node->op == GRAPH_OP_MATMUL && node->attr.matmul.transpose_b)
		return false;
	return node->input_count <= GRAPH_IN_BIAS || !node->inputs[GRAPH_IN_BIAS] ||
	       graph_is_constant(node->inputs[GRAPH_IN_BIAS]);
}

uint32_t match_channel_dim(const struct graph_node *node)
{
	return node->op == GRAPH_OP_MATMUL ? node->outputs[0]->rank - 1 : 1;
}

void fuse_take_output(struct graph *graph, struct graph_node *node, struct graph_node *last)
{
	struct graph_value *output = last->outputs[0];

	node->outputs[0]->producer = NULL;
	graph_node_set_output(node, 0, output);
	node->merged += 1 + last->merged;
	graph_node_remove(graph, last);
}

uint32_t fuse_become_activation(struct graph *graph, struct graph_node *node, struct graph_value *x,
				enum graph_activation_kind kind, float alpha, float beta)
{
	if (graph_node_set_input(graph, node, 0, x) || graph_node_resize_inputs(graph, node, 1))
		return 0;
	memset(&node->attr, 0, sizeof(node->attr));
	node->op = GRAPH_OP_ACTIVATION;
	node->attr.activation.kind = kind;
	node->attr.activation.alpha = alpha;
	node->attr.activation.beta = beta;
	node->merged++;
	return 1;
}

uint32_t fuse_scaled_activation(struct graph *graph, struct graph_node *node, struct graph_value *x,
				enum graph_activation_kind kind, float alpha, float beta,
				double factor)
{
	struct graph_node *inner;
	struct graph_value *y;

	if (match_close(factor, 1))
		return fuse_become_activation(graph, node, x, kind, alpha, beta);
	inner = graph_node_new(graph, node, GRAPH_OP_ACTIVATION, node->name, node->op_type, 1, 1);
	if (!inner || graph_node_set_input(graph, inner, 0, x))
		return 0;
	inner->attr.activation.kind = kind;
	inner->attr.activation.alpha = alpha;
	inner->attr.activation.beta = beta;
	y = graph_node_new_output(graph, inner, 0, node->name, x->dtype);
	if (!y)
		return 0;
	graph_value_set_shape(y, x->rank, x->dims);
	return fuse_become_activation(graph, node, y, GRAPH_ACTIVATION_LINEAR, (float)factor, 0);
}

/* Output channel an element of the weights belongs to. */
static int64_t weight_channel(const struct graph_node *node, int64_t index)
{
	const struct graph_value *w = node->inputs[GRAPH_IN_WEIGHT];
	int64_t kernel;

	if (node->op == GRAPH_OP_MATMUL)
		return index % w->dims[w->rank - 1];
	kernel = w->dims[2] * w->dims[3];
	if (node->op == GRAPH_OP_CONV)
		return index / (kernel * w->dims[1]);
	/* [C, M/group, kH, kW]: the group is that of the input channel. */
	return index / (kernel * w->dims[1]) / (w->dims[0] / node->attr.conv.group) * w->dims[1] +
	       index / kernel % w->dims[1];
}

/* Float32, whose channels are whole blocks of the weights, is nearly all there is. */
static void scale_blocks(const float *from, float *to, int64_t channels, int64_t block,
			 const float *scale)
{
	int64_t c, i;

	for (c = 0; c < channels; c++)
		for (i = 0; i < block; i++)
			to[c * block + i] = from[c * block + i] * scale[c];
}

static struct graph_value *scaled_weights(struct graph *graph, const struct graph_node *node,
					  const float *scale)
{
	const struct graph_value *w = node->inputs[GRAPH_IN_WEIGHT];
	int64_t count = graph_element_count(w), i;
	void *data;

	data = arena_alloc_array(graph->arena, (uint64_t)count, graph_dtype_bytes(w->dtype));
	if (!data) {
		graph->out_of_memory = true;
		return NULL;
	}
	if (node->op == GRAPH_OP_CONV && w->dtype == GRAPH_DTYPE_F32 && w->dims[0])
		scale_blocks(w->data, data, w->dims[0], count / w->dims[0], scale);
	else
		for (i = 0; i < count; i++)
			eval_store(w->dtype, data, i,
				   eval_load(w->dtype, w->data, i) *
					   (double)scale[weight_channel(node, i)]);
	return graph_constant_new(graph, w->name, w->dtype, w->rank, w->dims, data);
}

static bool all_one(const float *numbers, int64_t count)
{
	int64_t i;

	for (i = 0; i < count; i++)
		if (numbers[i] != 1.0f)
			return false;
	return true;
}

uint32_t fuse_scale_weights(struct graph *graph, struct graph_node *node, const float *scale,
			    const float *shift)
{
	const struct graph_value *w = node->inputs[GRAPH_IN_WEIGHT], *old = NULL;
	int64_t channels = node->outputs[0]->dims[match_channel_dim(node)], i;
	struct graph_value *weights, *bias;
	void *data;

	if (node->input_count > GRAPH_IN_BIAS)
		old = node->inputs[GRAPH_IN_BIAS];
	else if (graph_node_resize_inputs(graph, node, GRAPH_IN_BIAS + 1))
		return 0;
	data = arena_alloc_array(graph->arena, (uint64_t)channels, graph_dtype_bytes(w->dtype));
	if (!data) {
		graph->out_of_memory = true;
		return 0;
	}
	for (i = 0; i < channels; i++) {
		double before = old ? eval_load(old->dtype, old->data, i) : 0;

		eval_store(w->dtype, data, i, before * (double)scale[i] + (double)shift[i]);
	}
	bias = graph_constant_new(graph, old ? old->name : node->name, w->dtype, 1, &channels,
				  data);
	weights = all_one(scale, channels) ? node->inputs[GRAPH_IN_WEIGHT] :
					     scaled_weights(graph, node, scale);
	if (!bias || !weights || graph_node_set_input(graph, node, GRAPH_IN_WEIGHT, weights) ||
	    graph_node_set_input(graph, node, GRAPH_IN_BIAS, bias))
		return 0;
	return 1;
}
