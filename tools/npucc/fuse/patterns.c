// SPDX-License-Identifier: MIT
/* Activations exporters write out as several nodes, back to one. */
#include <math.h>

#include "fuse.h"
#include "match.h"

/* What a product's other factor says: factor * x. */
struct operand {
	struct graph_value *x;
	double factor;
};

/*
 * @value is factor * gate(x) for a gate clip(alpha x + beta, 0, 1): from
 * HARDSIGMOID or from CLIP(0, h) of a linear function.
 */
static bool hard_gate(struct graph_value *value, const struct graph_value *x, double *alpha,
		      double *beta, double *factor)
{
	struct match_linear outer, inner;
	struct graph_node *node;
	double height = 1;

	match_linear_value(value, &outer);
	if (outer.shift != 0)
		return false;
	node = match_activation(outer.x, GRAPH_ACTIVATION_HARDSIGMOID);
	*alpha = node ? (double)node->attr.activation.alpha : 1;
	*beta = node ? (double)node->attr.activation.beta : 0;
	if (!node) {
		node = match_activation(outer.x, GRAPH_ACTIVATION_CLIP);
		if (!node || node->attr.activation.alpha != 0 ||
		    !(node->attr.activation.beta > 0) || isinf(node->attr.activation.beta))
			return false;
		height = (double)node->attr.activation.beta;
	}
	if (!match_linear_of(node->inputs[0], x, &inner))
		return false;
	*beta = (*alpha * inner.shift + *beta) / height;
	*alpha = *alpha * inner.scale / height;
	*factor = outer.scale * height;
	return true;
}

/* x * gate(x), whatever scalars stand between. */
static uint32_t match_hardswish(struct graph *graph, struct graph_node *node,
				struct graph_value *gate, const struct operand *operand)
{
	double alpha, beta, factor;

	if (!hard_gate(gate, operand->x, &alpha, &beta, &factor))
		return 0;
	return fuse_scaled_activation(graph, node, operand->x, GRAPH_ACTIVATION_HARDSWISH,
				      (float)alpha, (float)beta, factor * operand->factor);
}

static uint32_t match_silu(struct graph *graph, struct graph_node *node, struct graph_value *gate,
			   const struct operand *operand)
{
	struct graph_node *sigmoid = match_activation(gate, GRAPH_ACTIVATION_SIGMOID);
	struct match_linear linear;

	if (!sigmoid || !match_linear_of(sigmoid->inputs[0], operand->x, &linear) ||
	    linear.shift != 0)
		return 0;
	return fuse_scaled_activation(graph, node, operand->x, GRAPH_ACTIVATION_SILU,
				      (float)linear.scale, 0, operand->factor);
}

static uint32_t match_mish(struct graph *graph, struct graph_node *node, struct graph_value *gate,
			   const struct operand *operand)
{
	struct graph_node *tanh_node = match_activation(gate, GRAPH_ACTIVATION_TANH), *softplus;

	softplus = tanh_node ? match_activation(tanh_node->inputs[0], GRAPH_ACTIVATION_SOFTPLUS) :
			       NULL;
	if (!softplus || softplus->inputs[0] != operand->x)
		return 0;
	return fuse_scaled_activation(graph, node, operand->x, GRAPH_ACTIVATION_MISH, 0, 0,
				      operand->factor);
}

/* x * x * x, or pow(x, 3). */
static bool is_cube(const struct graph_value *value, const struct graph_value *x)
{
	struct graph_node *node = match_eltwise(value, GRAPH_ELTWISE_POW), *square;
	double exponent;
	uint32_t side;

	if (node)
		return node->inputs[0] == x && match_uniform(node->inputs[1], &exponent) &&
		       exponent == 3;
	node = match_eltwise(value, GRAPH_ELTWISE_MUL);
	for (side = 0; node && side < 2; side++) {
		square = match_activation(node->inputs[side], GRAPH_ACTIVATION_SQUARE);
		if (square && square->inputs[0] == x && node->inputs[1 - side] == x)
			return true;
	}
	return false;
}

/* sqrt(2/pi) (x + 0.044715 x^3) */
static bool is_tanh_argument(struct graph_value *value, const struct graph_value *x)
{
	struct match_linear outer, cube;
	struct graph_node *add;
	uint32_t side;

	match_linear_value(value, &outer);
	if (outer.shift != 0 || !match_close(outer.scale, 0.7978845608))
		return false;
	add = match_eltwise(outer.x, GRAPH_ELTWISE_ADD);
	for (side = 0; add && side < 2; side++) {
		match_linear_value(add->inputs[side], &cube);
		if (add->inputs[1 - side] == x && cube.shift == 0 &&
		    match_close(cube.scale, 0.044715) && is_cube(cube.x, x))
			return true;
	}
	return false;
}

/* (factor x) * (s + s erf(x / sqrt 2)), or with tanh of the polynomial. */
static uint32_t match_gelu(struct graph *graph, struct graph_node *node, struct graph_value *gate,
			   const struct operand *operand)
{
	struct match_linear outer, inner;
	enum graph_activation_kind kind = GRAPH_ACTIVATION_GELU;
	struct graph_node *function;

	match_linear_value(gate, &outer);
	if (outer.scale == 0 || !match_close(outer.scale, outer.shift))
		return 0;
	function = match_activation(outer.x, GRAPH_ACTIVATION_ERF);
	if (function) {
		if (!match_linear_of(function->inputs[0], operand->x, &inner) || inner.shift != 0 ||
		    !match_close(inner.scale, 0.70710678))
			return 0;
	} else {
		function = match_activation(outer.x, GRAPH_ACTIVATION_TANH);
		kind = GRAPH_ACTIVATION_GELU_TANH;
		if (!function || !is_tanh_argument(function->inputs[0], operand->x))
			return 0;
	}
	return fuse_scaled_activation(graph, node, operand->x, kind, 0, 0,
				      2 * outer.scale * operand->factor);
}

static uint32_t match_gates(struct graph *graph, struct graph_node *node, struct graph_value *gate,
			    const struct operand *operand)
{
	uint32_t done = match_hardswish(graph, node, gate, operand);

	if (!done)
		done = match_silu(graph, node, gate, operand);
	if (!done)
		done = match_mish(graph, node, gate, operand);
	if (!done)
		done = match_gelu(graph, node, gate, operand);
	return done;
}

/* Either side of a product may be the gate, the other may be a multiple of x. */
static uint32_t match_product(struct graph *graph, struct graph_node *node)
{
	struct match_linear step;
	uint32_t side, done = 0;

	if (!graph_shape_equal(node->inputs[0], node->inputs[1]) ||
	    !graph_dtype_is_float(node->inputs[0]->dtype))
		return 0;
	for (side = 0; side < 2 && !done && !graph->out_of_memory; side++) {
		struct graph_value *gate = node->inputs[side];
		struct operand operand = { node->inputs[1 - side], 1 };

		done = match_gates(graph, node, gate, &operand);
		while (!done && operand.x->producer &&
		       match_linear_node(operand.x->producer, &step) && step.shift == 0) {
			operand.x = step.x;
			operand.factor *= step.scale;
			done = match_gates(graph, node, gate, &operand);
		}
	}
	return done;
}

/* Max(x, 0), Max(x, alpha x), Min and Max with constants. */
static uint32_t match_extreme(struct graph *graph, struct graph_node *node)
{
	bool is_max = node->attr.eltwise == GRAPH_ELTWISE_MAX;
	struct match_linear linear;
	double number;
	uint32_t side;

	if (!graph_dtype_is_float(node->outputs[0]->dtype))
		return 0;
	for (side = 0; side < 2; side++) {
		struct graph_value *x = node->inputs[1 - side];

		if (match_uniform(node->inputs[side], &number) && !graph_is_constant(x) &&
		    graph_shape_equal(x, node->outputs[0])) {
			if (is_max && number == 0)
				return fuse_become_activation(graph, node, x, GRAPH_ACTIVATION_RELU,
							      0, 0);
			return fuse_become_activation(graph, node, x, GRAPH_ACTIVATION_CLIP,
						      is_max ? (float)number : -INFINITY,
						      is_max ? INFINITY : (float)number);
		}
		match_linear_value(node->inputs[side], &linear);
		if (is_max && linear.x == x && linear.shift == 0 && linear.scale > 0 &&
		    linear.scale < 1)
			return fuse_become_activation(graph, node, x, GRAPH_ACTIVATION_LEAKYRELU,
						      (float)linear.scale, 0);
	}
	return 0;
}

/* CLIP or RELU of a CLIP is one CLIP. */
static uint32_t match_clips(struct graph *graph, struct graph_node *node)
{
	struct graph_node *before = match_activation(node->inputs[0], GRAPH_ACTIVATION_CLIP);
	bool relu = node->attr.activation.kind == GRAPH_ACTIVATION_RELU;
	float low = relu ? 0 : node->attr.activation.alpha;
	float high = relu ? INFINITY : node->attr.activation.beta;
	float low_before, high_before;

	if (!before) {
		before = match_activation(node->inputs[0], GRAPH_ACTIVATION_RELU);
		low_before = 0;
		high_before = INFINITY;
	} else {
		low_before = before->attr.activation.alpha;
		high_before = before->attr.activation.beta;
	}
	if (!before || low > high || low_before > high_before || node->attr.activation.affine)
		return 0;
	low_before = fminf(fmaxf(low_before, low), high);
	high_before = fminf(fmaxf(high_before, low), high);
	return fuse_become_activation(graph, node, before->inputs[0], GRAPH_ACTIVATION_CLIP,
				      low_before, high_before);
}

/* clip(alpha x + beta, 0, h) scaled to 1 is a HARDSIGMOID. */
static uint32_t match_hardsigmoid(struct graph *graph, struct graph_node *node)
{
	double alpha, beta, factor;
	struct match_linear linear, inner;
	struct graph_node *clip;

	if (!match_linear_node(node, &linear) || !graph_single_user(linear.x))
		return 0;
	clip = match_activation(linear.x, GRAPH_ACTIVATION_CLIP);
	if (!clip)
		return 0;
	match_linear_value(clip->inputs[0], &inner);
	if (!hard_gate(node->outputs[0], inner.x, &alpha, &beta, &factor) ||
	    !match_close(factor, 1))
		return 0;
	return fuse_become_activation(graph, node, inner.x, GRAPH_ACTIVATION_HARDSIGMOID,
				      (float)alpha, (float)beta);
}

uint32_t fuse_patterns(struct graph *graph)
{
	struct graph_node *node, *following;
	uint32_t count = 0, done;

	graph_for_each_node(graph, node, following)
	{
		done = 0;
		if (node->op == GRAPH_OP_ACTIVATION &&
		    (node->attr.activation.kind == GRAPH_ACTIVATION_CLIP ||
		     node->attr.activation.kind == GRAPH_ACTIVATION_RELU))
			done = match_clips(graph, node);
		if (node->op == GRAPH_OP_ELTWISE &&
		    node->activation.kind == GRAPH_ACTIVATION_NONE) {
			if (node->attr.eltwise == GRAPH_ELTWISE_MUL)
				done = match_product(graph, node);
			else if (node->attr.eltwise == GRAPH_ELTWISE_MAX ||
				 node->attr.eltwise == GRAPH_ELTWISE_MIN)
				done = match_extreme(graph, node);
		}
		if (!done && !graph->out_of_memory)
			done = match_hardsigmoid(graph, node);
		count += done;
		if (graph->out_of_memory)
			break;
	}
	return count;
}
