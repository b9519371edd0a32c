// SPDX-License-Identifier: MIT
/*
 * The table of limits. A row is added, changed or removed together with the
 * lowering it speaks of; nothing else in the compiler refuses a node.
 */
#include "fields.h"

#define BIT(value) ((int64_t)1 << (value))

const enum scan_where scan_operators[GRAPH_OP_COUNT] = {
	[GRAPH_OP_UNKNOWN] = SCAN_NONE,
	[GRAPH_OP_CONV] = SCAN_NPU,
	[GRAPH_OP_CONVTRANSPOSE] = SCAN_NONE,
	[GRAPH_OP_MATMUL] = SCAN_NPU,
	[GRAPH_OP_ELTWISE] = SCAN_NPU,
	[GRAPH_OP_ACTIVATION] = SCAN_NPU,
	[GRAPH_OP_PRELU] = SCAN_NPU,
	[GRAPH_OP_POOL] = SCAN_NPU,
	[GRAPH_OP_REDUCE] = SCAN_NPU,
	[GRAPH_OP_SOFTMAX] = SCAN_NPU,
	[GRAPH_OP_LAYERNORM] = SCAN_NPU,
	[GRAPH_OP_INSTANCENORM] = SCAN_NONE,
	[GRAPH_OP_GROUPNORM] = SCAN_NONE,
	[GRAPH_OP_LRN] = SCAN_NONE,
	[GRAPH_OP_BATCHNORM] = SCAN_NPU,
	[GRAPH_OP_TRANSPOSE] = SCAN_NPU,
	[GRAPH_OP_RESHAPE] = SCAN_NPU,
	[GRAPH_OP_CONCAT] = SCAN_NPU,
	[GRAPH_OP_SLICE] = SCAN_NPU,
	[GRAPH_OP_SPLIT] = SCAN_NPU,
	[GRAPH_OP_PAD] = SCAN_NPU,
	[GRAPH_OP_EXPAND] = SCAN_NPU,
	[GRAPH_OP_TILE] = SCAN_NONE,
	[GRAPH_OP_GATHER] = SCAN_NONE,
	[GRAPH_OP_CAST] = SCAN_NPU,
	[GRAPH_OP_WHERE] = SCAN_NPU,
	[GRAPH_OP_RESIZE] = SCAN_NONE,
	[GRAPH_OP_QUANTIZE] = SCAN_NONE,
	[GRAPH_OP_DEQUANTIZE] = SCAN_NONE,
};

const struct scan_limit scan_limits[] = {
	{ GRAPH_OP_COUNT, "every shape known", scan_shapes_known, SCAN_EQUAL, 1, scan_boolean_text,
	  "fix the node before it that is refused" },
	{ GRAPH_OP_CONV, "weights constant", scan_weight_constant, SCAN_EQUAL, 1, scan_boolean_text,
	  "make the weights constants of the model" },
	{ GRAPH_OP_CONV, "bias constant", scan_bias_constant, SCAN_EQUAL, 1, scan_boolean_text,
	  "make the bias a constant of the model, or add it by an Add" },
	{ GRAPH_OP_PAD, "mode", scan_pad_mode, SCAN_ONE_OF, BIT(GRAPH_PAD_CONSTANT),
	  scan_pad_mode_text, "pad with a constant, or outside of the model" },
};

const size_t scan_limit_count = sizeof(scan_limits) / sizeof(scan_limits[0]);
