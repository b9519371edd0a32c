// SPDX-License-Identifier: MIT
#include "fields.h"

static const struct graph_value *first_input(const struct graph_node *node)
{
	return node->input_count ? node->inputs[0] : NULL;
}

static const struct graph_value *first_output(const struct graph_node *node)
{
	return node->output_count ? node->outputs[0] : NULL;
}

int64_t scan_scale_constant(const struct graph_node *node)
{
	return graph_is_constant(node->inputs[1]) &&
	       (node->input_count < 3 || !node->inputs[2] || graph_is_constant(node->inputs[2]));
}

int64_t scan_input_dtype(const struct graph_node *node)
{
	return first_input(node) ? (int64_t)first_input(node)->dtype : SCAN_NOT_APPLICABLE;
}

int64_t scan_product_dtype(const struct graph_node *node)
{
	uint32_t i;

	if (node->quant)
		return SCAN_NOT_APPLICABLE;
	for (i = 1; i < node->input_count; i++)
		if (node->inputs[i] && !graph_dtype_is_float(node->inputs[i]->dtype))
			return (int64_t)node->inputs[i]->dtype;
	return scan_input_dtype(node);
}

int64_t scan_integer_product_dtype(const struct graph_node *node)
{
	return node->quant ? scan_input_dtype(node) : SCAN_NOT_APPLICABLE;
}

int64_t scan_output_dtype(const struct graph_node *node)
{
	return first_output(node) ? (int64_t)first_output(node)->dtype : SCAN_NOT_APPLICABLE;
}

static int64_t larger_dim(const struct graph_value *value, int64_t most)
{
	uint32_t i;

	for (i = 0; value && value->has_rank && i < value->rank; i++)
		if (value->dims[i] > most)
			most = value->dims[i];
	return most;
}

int64_t scan_largest_dim(const struct graph_node *node)
{
	int64_t most = 0;
	uint32_t i;

	for (i = 0; i < node->input_count; i++)
		most = larger_dim(node->inputs[i], most);
	for (i = 0; i < node->output_count; i++)
		most = larger_dim(node->outputs[i], most);
	return most;
}

int64_t scan_shapes_known(const struct graph_node *node)
{
	uint32_t i;

	for (i = 0; i < node->input_count; i++)
		if (node->inputs[i] && !graph_shape_known(node->inputs[i]))
			return 0;
	for (i = 0; i < node->output_count; i++)
		if (!graph_shape_known(node->outputs[i]))
			return 0;
	return 1;
}

static int64_t smaller_dim(const struct graph_value *value, int64_t least)
{
	for (uint32_t i = 0; value && value->has_rank && i < value->rank; i++)
		if (value->dims[i] < least)
			least = value->dims[i];
	return least;
}

int64_t scan_smallest_dim(const struct graph_node *node)
{
	int64_t least = INT64_MAX;
	uint32_t i;

	for (i = 0; i < node->input_count; i++)
		if (!node->inputs[i] || !graph_is_constant(node->inputs[i]))
			least = smaller_dim(node->inputs[i], least);
	for (i = 0; i < node->output_count; i++)
		least = smaller_dim(node->outputs[i], least);
	return least == INT64_MAX ? SCAN_NOT_APPLICABLE : least;
}

static const struct graph_window *window_of(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_CONV:
	case GRAPH_OP_CONVTRANSPOSE:
		return &node->attr.conv.window;
	case GRAPH_OP_POOL:
		return &node->attr.pool.window;
	default:
		return NULL;
	}
}

#define WINDOW_FIELD(name, expression)                               \
	int64_t scan_##name(const struct graph_node *node)           \
	{                                                            \
		const struct graph_window *window = window_of(node); \
                                                                     \
		return window ? (expression) : SCAN_NOT_APPLICABLE;  \
	}

WINDOW_FIELD(kernel_height, window->kernel[0])
WINDOW_FIELD(kernel_width, window->kernel[1])
WINDOW_FIELD(stride_height, window->stride[0])
WINDOW_FIELD(stride_width, window->stride[1])
WINDOW_FIELD(dilation_height, window->dilation[0])
WINDOW_FIELD(dilation_width, window->dilation[1])

int64_t scan_largest_pad(const struct graph_node *node)
{
	const struct graph_window *window = window_of(node);
	int64_t most = 0;
	uint32_t i;

	if (!window)
		return SCAN_NOT_APPLICABLE;
	for (i = 0; i < 2; i++) {
		most = window->pad_begin[i] > most ? window->pad_begin[i] : most;
		most = window->pad_end[i] > most ? window->pad_end[i] : most;
	}
	return most;
}

static bool is_conv(const struct graph_node *node)
{
	return node->op == GRAPH_OP_CONV || node->op == GRAPH_OP_CONVTRANSPOSE;
}

static bool has_weights(const struct graph_node *node)
{
	return is_conv(node) || node->op == GRAPH_OP_MATMUL;
}

int64_t scan_weight_constant(const struct graph_node *node)
{
	if (!has_weights(node))
		return SCAN_NOT_APPLICABLE;
	return graph_is_constant(node->inputs[GRAPH_IN_WEIGHT]);
}

int64_t scan_bias_constant(const struct graph_node *node)
{
	if (!has_weights(node))
		return SCAN_NOT_APPLICABLE;
	return node->input_count <= GRAPH_IN_BIAS || !node->inputs[GRAPH_IN_BIAS] ||
	       graph_is_constant(node->inputs[GRAPH_IN_BIAS]);
}

int64_t scan_activation(const struct graph_node *node)
{
	/* Of bytes, every function is a table. */
	if (node->op == GRAPH_OP_ACTIVATION)
		return node->quant ? SCAN_NOT_APPLICABLE : (int64_t)node->attr.activation.kind;
	if (node->activation.kind == GRAPH_ACTIVATION_NONE)
		return SCAN_NOT_APPLICABLE;
	return node->activation.kind;
}

int64_t scan_eltwise(const struct graph_node *node)
{
	return node->op == GRAPH_OP_ELTWISE ? (int64_t)node->attr.eltwise : SCAN_NOT_APPLICABLE;
}

int64_t scan_division_dtype(const struct graph_node *node)
{
	if (node->op != GRAPH_OP_ELTWISE || node->quant ||
	    (node->attr.eltwise != GRAPH_ELTWISE_DIV && node->attr.eltwise != GRAPH_ELTWISE_POW))
		return SCAN_NOT_APPLICABLE;
	return scan_input_dtype(node);
}

int64_t scan_reduce(const struct graph_node *node)
{
	return node->op == GRAPH_OP_REDUCE ? (int64_t)node->attr.reduce.kind : SCAN_NOT_APPLICABLE;
}

int64_t scan_pool(const struct graph_node *node)
{
	return node->op == GRAPH_OP_POOL ? (int64_t)node->attr.pool.kind : SCAN_NOT_APPLICABLE;
}

int64_t scan_interpolation_dtype(const struct graph_node *node)
{
	if (node->op != GRAPH_OP_RESIZE || node->attr.resize.mode == GRAPH_RESIZE_NEAREST)
		return SCAN_NOT_APPLICABLE;
	return scan_input_dtype(node);
}

int64_t scan_repeated_dims(const struct graph_node *node)
{
	const struct graph_value *x = node->inputs[0], *y = node->outputs[0];
	int64_t count = 0;

	if (node->op != GRAPH_OP_TILE &&
	    (node->op != GRAPH_OP_RESIZE || node->attr.resize.mode != GRAPH_RESIZE_NEAREST))
		return SCAN_NOT_APPLICABLE;
	for (uint32_t i = 0; i < x->rank; i++)
		count += (x->dims[i] > 1) + (y->dims[i] > x->dims[i]);
	return count;
}

int64_t scan_cast_dtype(const struct graph_node *node)
{
	if (node->op != GRAPH_OP_CAST)
		return SCAN_NOT_APPLICABLE;
	switch (node->inputs[0]->dtype) {
	case GRAPH_DTYPE_BOOL:
	case GRAPH_DTYPE_U8:
	case GRAPH_DTYPE_U16:
	case GRAPH_DTYPE_U32:
	case GRAPH_DTYPE_U64:
		return SCAN_NOT_APPLICABLE;
	default:
		return scan_output_dtype(node);
	}
}

/* A Gather whose indices are known only when it runs. */
static bool looks_up(const struct graph_node *node)
{
	return node->op == GRAPH_OP_GATHER && !graph_is_constant(node->inputs[1]);
}

int64_t scan_lookup_axis(const struct graph_node *node)
{
	return looks_up(node) ? node->attr.axis.axis : SCAN_NOT_APPLICABLE;
}

int64_t scan_lookup_rows(const struct graph_node *node)
{
	return looks_up(node) ? node->inputs[0]->dims[0] : SCAN_NOT_APPLICABLE;
}

int64_t scan_lookup_dtype(const struct graph_node *node)
{
	return looks_up(node) ? scan_input_dtype(node) : SCAN_NOT_APPLICABLE;
}

const char *scan_dtype_text(int64_t value)
{
	return graph_dtype_name((enum graph_dtype)value);
}

const char *scan_activation_text(int64_t value)
{
	return graph_activation_name((enum graph_activation_kind)value);
}

const char *scan_eltwise_text(int64_t value)
{
	return graph_eltwise_name((enum graph_eltwise_kind)value);
}

const char *scan_reduce_text(int64_t value)
{
	return graph_reduce_name((enum graph_reduce_kind)value);
}

const char *scan_pool_text(int64_t value)
{
	static const char *const names[] = { "max", "average", "lp" };

	return value >= 0 && (size_t)value < sizeof(names) / sizeof(names[0]) ? names[value] : "?";
}

const char *scan_boolean_text(int64_t value)
{
	return value ? "yes" : "no";
}
