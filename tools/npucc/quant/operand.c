// SPDX-License-Identifier: MIT
/* DEQUANTIZE and QUANTIZE as descriptions of operands. */
#include <math.h>

#include "../fold/eval.h"
#include "../fuse/match.h"
#include "quant.h"

bool quant_is_byte(enum graph_dtype dtype)
{
	return dtype == GRAPH_DTYPE_I8 || dtype == GRAPH_DTYPE_U8;
}

static const struct graph_value *optional_input(const struct graph_node *node, uint32_t index)
{
	return index < node->input_count ? node->inputs[index] : NULL;
}

/* One zero point for all channels: descriptors have room for one. */
static bool read_zero(const struct graph_value *zero, int32_t *number)
{
	int64_t count, i;

	*number = 0;
	if (!zero)
		return true;
	if (!graph_is_constant(zero) || graph_dtype_is_float(zero->dtype))
		return false;
	count = graph_element_count(zero);
	for (i = 1; i < count; i++)
		if (graph_constant_as_i64(zero, i) != graph_constant_as_i64(zero, 0))
			return false;
	*number = (int32_t)graph_constant_as_i64(zero, 0);
	return count > 0;
}

bool quant_read(struct graph *graph, const struct graph_node *node,
		struct graph_quantization *quantization)
{
	const struct graph_value *scale = node->inputs[1];
	int64_t count = graph_element_count(scale), i;
	float *scales;

	if (!graph_is_constant(scale) || count < 1 || node->attr.axis.block_size ||
	    !read_zero(optional_input(node, 2), &quantization->zero))
		return false;
	scales = arena_alloc_array(graph->arena, (uint64_t)count, sizeof(*scales));
	if (!scales) {
		graph->out_of_memory = true;
		return false;
	}
	for (i = 0; i < count; i++) {
		scales[i] = graph_constant_as_f32(scale, i);
		if (!(scales[i] > 0) || isinf(scales[i]))
			return false;
	}
	quantization->scales = scales;
	quantization->count = (uint32_t)count;
	quantization->axis = (uint32_t)node->attr.axis.axis;
	return true;
}

struct graph_node *quant_source(struct graph *graph, const struct graph_value *value,
				struct graph_quantization *quantization)
{
	struct graph_node *node = match_op(value, GRAPH_OP_DEQUANTIZE);

	if (!node || !quant_is_byte(node->inputs[0]->dtype) ||
	    !quant_read(graph, node, quantization) || quantization->count != 1)
		return NULL;
	return node;
}

struct graph_node *quant_target(struct graph *graph, const struct graph_value *value,
				struct graph_quantization *quantization)
{
	struct graph_node *node = graph_single_user(value);

	if (!node || node->op != GRAPH_OP_QUANTIZE || node->inputs[0] != value ||
	    !quant_is_byte(node->outputs[0]->dtype) || !quant_read(graph, node, quantization) ||
	    quantization->count != 1)
		return NULL;
	return node;
}

bool quant_same(const struct graph_quantization *a, const struct graph_quantization *b)
{
	return a->count == 1 && b->count == 1 && a->scales[0] == b->scales[0] &&
	       a->zero == b->zero;
}

struct graph_quant *quant_new(struct graph *graph, uint32_t input_count)
{
	struct graph_quant *quant = arena_alloc(graph->arena, sizeof(*quant));

	if (quant)
		quant->inputs =
			arena_alloc_array(graph->arena, input_count, sizeof(*quant->inputs));
	if (quant && quant->inputs)
		return quant;
	graph->out_of_memory = true;
	return NULL;
}

uint32_t quant_fold(struct graph *graph, struct graph_node *node)
{
	struct graph_value *output = node->outputs[0], *constant;
	const void *inputs[3] = { NULL };
	int64_t count = graph_element_count(output);
	struct diag diag;
	uint32_t i;
	void *data;
	int failed;

	if (node->input_count > 3 || count < 0)
		return 0;
	for (i = 0; i < node->input_count; i++) {
		if (node->inputs[i] && !graph_is_constant(node->inputs[i]))
			return 0;
		inputs[i] = node->inputs[i] ? node->inputs[i]->data : NULL;
	}
	data = arena_alloc_array(graph->arena, (uint64_t)count,
				 graph_dtype_bytes(output->dtype));
	constant = data ? graph_constant_new(graph, output->name, output->dtype, output->rank,
					     output->dims, data) :
			  NULL;
	if (!constant) {
		graph->out_of_memory = true;
		return 0;
	}
	diag_init(&diag);
	failed = eval_node(node, inputs, &data, &diag);
	diag_free(&diag);
	if (failed || !graph_value_can_replace(output, constant) ||
	    graph_value_replace(graph, output, constant))
		return 0;
	return 1;
}
