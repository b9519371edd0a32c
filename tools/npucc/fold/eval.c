// SPDX-License-Identifier: MIT
#include "eval.h"

#include <math.h>
#include <string.h>

#include "../support/half.h"

double eval_load(enum graph_dtype dtype, const void *data, int64_t index)
{
	switch (dtype) {
	case GRAPH_DTYPE_F32:
		return (double)((const float *)data)[index];
	case GRAPH_DTYPE_F16:
		return (double)half_to_float(((const uint16_t *)data)[index]);
	case GRAPH_DTYPE_BF16:
		return (double)bfloat16_to_float(((const uint16_t *)data)[index]);
	case GRAPH_DTYPE_F64:
		return ((const double *)data)[index];
	case GRAPH_DTYPE_U64:
		return (double)((const uint64_t *)data)[index];
	default:
		return (double)eval_load_int(dtype, data, index);
	}
}

int64_t eval_load_int(enum graph_dtype dtype, const void *data, int64_t index)
{
	switch (dtype) {
	case GRAPH_DTYPE_I8:
		return ((const int8_t *)data)[index];
	case GRAPH_DTYPE_U8:
	case GRAPH_DTYPE_BOOL:
		return ((const uint8_t *)data)[index];
	case GRAPH_DTYPE_I16:
		return ((const int16_t *)data)[index];
	case GRAPH_DTYPE_U16:
		return ((const uint16_t *)data)[index];
	case GRAPH_DTYPE_I32:
		return ((const int32_t *)data)[index];
	case GRAPH_DTYPE_U32:
		return ((const uint32_t *)data)[index];
	case GRAPH_DTYPE_I64:
	case GRAPH_DTYPE_U64:
		return ((const int64_t *)data)[index];
	default:
		return 0;
	}
}

void eval_store_int(enum graph_dtype dtype, void *data, int64_t index, int64_t number)
{
	switch (dtype) {
	case GRAPH_DTYPE_BOOL:
		((uint8_t *)data)[index] = number != 0;
		break;
	case GRAPH_DTYPE_I8:
	case GRAPH_DTYPE_U8:
		((uint8_t *)data)[index] = (uint8_t)number;
		break;
	case GRAPH_DTYPE_I16:
	case GRAPH_DTYPE_U16:
		((uint16_t *)data)[index] = (uint16_t)number;
		break;
	case GRAPH_DTYPE_I32:
	case GRAPH_DTYPE_U32:
		((uint32_t *)data)[index] = (uint32_t)number;
		break;
	case GRAPH_DTYPE_I64:
	case GRAPH_DTYPE_U64:
		((int64_t *)data)[index] = number;
		break;
	default:
		break;
	}
}

/* The least and one more than the largest number of an integer type. */
static void integer_range(enum graph_dtype dtype, double *least, double *beyond)
{
	unsigned int bits = 8 * graph_dtype_bytes(dtype);
	bool is_signed = dtype == GRAPH_DTYPE_I8 || dtype == GRAPH_DTYPE_I16 ||
			 dtype == GRAPH_DTYPE_I32 || dtype == GRAPH_DTYPE_I64;

	*least = is_signed ? -ldexp(1.0, (int)bits - 1) : 0.0;
	*beyond = ldexp(1.0, (int)bits - (is_signed ? 1 : 0));
}

static void store_saturated(enum graph_dtype dtype, void *data, int64_t index, double number)
{
	double least, beyond;

	integer_range(dtype, &least, &beyond);
	if (isnan(number))
		number = 0;
	number = trunc(number);
	if (number < least)
		number = least;
	if (number >= beyond)
		/* All ones below the sign; U64's does not fit in int64 and is told apart. */
		eval_store_int(dtype, data, index,
			       dtype == GRAPH_DTYPE_U64 ? -1 :
			       dtype == GRAPH_DTYPE_I64 ? INT64_MAX :
							  (int64_t)(beyond - 1));
	else if (dtype == GRAPH_DTYPE_U64)
		((uint64_t *)data)[index] = (uint64_t)number;
	else
		eval_store_int(dtype, data, index, (int64_t)number);
}

/* A double rounded to odd at float's precision rounds correctly again to half. */
static float narrow_for_half(double number)
{
	float narrow = (float)number;
	uint32_t bits;

	if ((double)narrow == number || isnan(number) || isinf(narrow))
		return narrow;
	memcpy(&bits, &narrow, sizeof(bits));
	if (fabs((double)narrow) > fabs(number))
		bits--;
	bits |= 1;
	memcpy(&narrow, &bits, sizeof(bits));
	return narrow;
}

void eval_store(enum graph_dtype dtype, void *data, int64_t index, double number)
{
	switch (dtype) {
	case GRAPH_DTYPE_F32:
		((float *)data)[index] = (float)number;
		break;
	case GRAPH_DTYPE_F16:
		((uint16_t *)data)[index] = half_from_float(narrow_for_half(number));
		break;
	case GRAPH_DTYPE_BF16:
		((uint16_t *)data)[index] = bfloat16_from_float(narrow_for_half(number));
		break;
	case GRAPH_DTYPE_F64:
		((double *)data)[index] = number;
		break;
	case GRAPH_DTYPE_BOOL:
		((uint8_t *)data)[index] = number != 0.0;
		break;
	default:
		store_saturated(dtype, data, index, number);
		break;
	}
}

void eval_strides(const struct graph_value *value, int64_t strides[GRAPH_MAX_RANK])
{
	int64_t stride = 1;
	uint32_t i;

	for (i = value->rank; i-- > 0;) {
		strides[i] = stride;
		stride *= value->dims[i];
	}
}

void eval_walk_init(struct eval_walk *walk, const struct graph_value *shape)
{
	memset(walk, 0, sizeof(*walk));
	walk->rank = shape->rank;
	memcpy(walk->dims, shape->dims, sizeof(walk->dims));
	walk->count = graph_element_count(shape);
}

void eval_walk_broadcast(struct eval_walk *walk, uint32_t operand, const struct graph_value *value)
{
	int64_t strides[GRAPH_MAX_RANK];
	uint32_t lead = walk->rank - value->rank, i;

	eval_strides(value, strides);
	for (i = 0; i < value->rank; i++)
		walk->stride[operand][lead + i] = value->dims[i] == 1 ? 0 : strides[i];
}

void eval_walk_next(struct eval_walk *walk)
{
	uint32_t i = walk->rank, j;

	while (i-- > 0) {
		walk->index[i]++;
		for (j = 0; j < EVAL_OPERANDS; j++)
			walk->offset[j] += walk->stride[j][i];
		if (walk->index[i] < walk->dims[i])
			return;
		for (j = 0; j < EVAL_OPERANDS; j++)
			walk->offset[j] -= walk->stride[j][i] * walk->dims[i];
		walk->index[i] = 0;
	}
}

static uint64_t saturating_product(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t eval_work(const struct graph_node *node)
{
	uint64_t most = 1, per_element = 1;
	uint32_t i;

	for (i = 0; i < node->input_count; i++) {
		int64_t count = graph_element_count(node->inputs[i]);

		if (count > 0 && (uint64_t)count > most)
			most = (uint64_t)count;
	}
	for (i = 0; i < node->output_count; i++) {
		int64_t count = graph_element_count(node->outputs[i]);

		if (count > 0 && (uint64_t)count > most)
			most = (uint64_t)count;
	}
	switch (node->op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
		per_element = saturating_product(
			(uint64_t)node->inputs[1]->dims[1],
			saturating_product((uint64_t)node->attr.conv.window.kernel[0],
					   (uint64_t)node->attr.conv.window.kernel[1]));
		break;
	case GRAPH_OP_POOL:
		per_element = saturating_product((uint64_t)node->attr.pool.window.kernel[0],
						 (uint64_t)node->attr.pool.window.kernel[1]);
		break;
	case GRAPH_OP_MATMUL: {
		const struct graph_value *a = node->inputs[0];

		per_element = (uint64_t)a->dims[a->rank - (node->attr.matmul.transpose_a ? 2 : 1)];
		break;
	}
	case GRAPH_OP_LRN:
		per_element = (uint64_t)node->attr.lrn.size;
		break;
	case GRAPH_OP_RESIZE:
		per_element = 64;
		break;
	default:
		break;
	}
	return saturating_product(most, per_element ? per_element : 1);
}

/* The activation a pass fused onto the node acts on what the operator gave. */
static void apply_activation(const struct graph_node *node, void *output)
{
	const struct graph_value *value = node->outputs[0];
	int64_t count = graph_element_count(value), i;

	if (node->activation.kind == GRAPH_ACTIVATION_NONE)
		return;
	for (i = 0; i < count; i++)
		eval_store(value->dtype, output, i,
			   eval_activation(&node->activation, eval_load(value->dtype, output, i)));
}

int eval_node(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag)
{
	int result;

	if (node->quant)
		return eval_quant(node, inputs, outputs, diag);
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
	case GRAPH_OP_RESHAPE:
	case GRAPH_OP_CONCAT:
	case GRAPH_OP_SLICE:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_PAD:
	case GRAPH_OP_EXPAND:
	case GRAPH_OP_TILE:
	case GRAPH_OP_GATHER:
	case GRAPH_OP_WHERE:
		result = eval_move(node, inputs, outputs, diag);
		break;
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
	case GRAPH_OP_MATMUL:
	case GRAPH_OP_POOL:
		result = eval_dense(node, inputs, outputs, diag);
		break;
	case GRAPH_OP_RESIZE:
		result = eval_resize(node, inputs, outputs, diag);
		break;
	case GRAPH_OP_UNKNOWN:
		result = diag_error(diag, "node '%s' (%s) cannot be evaluated", node->name,
				    node->op_type);
		break;
	default:
		result = eval_math(node, inputs, outputs, diag);
		break;
	}
	if (!result)
		apply_activation(node, outputs[0]);
	return result;
}
