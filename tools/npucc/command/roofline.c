// SPDX-License-Identifier: MIT
#include <math.h>

#include "compile.h"

#define ELEMENT 2.0 /* bytes of fp16 */

/* Bytes of an element as the node's precision has it. */
static double element_bytes(const struct graph_node *node)
{
	return node->quant ? 1.0 : ELEMENT;
}

static double held_bytes(const struct graph_value *value)
{
	if (graph_dtype_is_float(value->dtype))
		return ELEMENT;
	return (double)graph_dtype_bytes(value->dtype);
}

static double elements(const struct graph_value *value)
{
	int64_t count = value ? graph_element_count(value) : 0;

	return count > 0 ? (double)count : 0.0;
}

static double constant_bytes(const struct graph_node *node, uint32_t index)
{
	const struct graph_value *value = node->inputs[index];

	return graph_is_constant(value) ? elements(value) * element_bytes(node) : 0.0;
}

/* Multiplications of a node of the array, 0 for others. */
static double node_macs(const struct graph_node *node)
{
	const struct graph_value *x = node->inputs[0];
	const struct graph_value *weight = node->input_count > 1 ? node->inputs[1] : NULL;

	switch (node->op) {
	case GRAPH_OP_CONV:
		return elements(node->outputs[0]) * elements(weight) / (double)weight->dims[0];
	case GRAPH_OP_CONVTRANSPOSE:
		return elements(x) * elements(weight) / (double)weight->dims[0];
	case GRAPH_OP_MATMUL:
		return elements(node->outputs[0]) *
		       (double)x->dims[x->rank - (node->attr.matmul.transpose_a ? 2 : 1)];
	default:
		return 0.0;
	}
}

void roofline(const struct graph *graph, const struct npu_config *config,
	      struct compile_report *report)
{
	double lanes = (double)config->clusters * config->mac_channels;
	double dram = config->dram_bytes, bound = 0, macs = 0, bytes = 0, io = 0;
	double array = 0, integer_macs = 0;
	const struct graph_node *node;
	uint32_t i;

	for (node = graph->first; node; node = node->next) {
		enum npu_dtype dtype = node->quant ? NPU_DTYPE_INT8 : NPU_DTYPE_FP16;
		double peak = lanes * npu_config_mac_depth(config, dtype);
		double now = node_macs(node), weights;

		if (now == 0.0)
			continue;
		weights = fmax(constant_bytes(node, 1),
			       node->op == GRAPH_OP_MATMUL ? constant_bytes(node, 0) : 0.0);
		macs += now;
		integer_macs += node->quant ? now : 0;
		array += now / peak;
		bytes += weights;
		bound += fmax(now / peak, weights / dram);
	}
	for (i = 0; i < graph->input_count; i++)
		io += elements(graph->inputs[i]) * held_bytes(graph->inputs[i]);
	for (i = 0; i < graph->output_count; i++)
		io += elements(graph->outputs[i]) * held_bytes(graph->outputs[i]);
	report->macs = (uint64_t)macs;
	report->precision = integer_macs * 2 > macs ? NPU_DTYPE_INT8 : NPU_DTYPE_FP16;
	report->least_dram_bytes = (uint64_t)(bytes + io);
	report->roofline_cycles = (uint64_t)ceil(bound + io / dram);
	report->floor_cycles = (uint64_t)ceil(fmax(array, (bytes + io) / dram));
}
