// SPDX-License-Identifier: MIT
/*
 * The table of limits. A row is added, changed or removed together with the
 * lowering it speaks of; nothing else in the compiler refuses a node.
 */
#include "fields.h"

#define BIT(value) ((int64_t)1 << (value))

#define BYTES (BIT(GRAPH_DTYPE_I8) | BIT(GRAPH_DTYPE_U8))

/* Integers that QUANTIZE and DEQUANTIZE know. */
#define QUANTIZED (BYTES | BIT(GRAPH_DTYPE_I16) | BIT(GRAPH_DTYPE_U16))

#define FLOATS (BIT(GRAPH_DTYPE_F32) | BIT(GRAPH_DTYPE_F16) | BIT(GRAPH_DTYPE_BF16) | \
		BIT(GRAPH_DTYPE_F64))

/* What the output stage does: nothing, a clamp, or a table (lower/table.c). */
#define OUTPUT_STAGE (BIT(GRAPH_ACTIVATION_NONE) | BIT(GRAPH_ACTIVATION_RELU) | \
		      BIT(GRAPH_ACTIVATION_CLIP) | BIT(GRAPH_ACTIVATION_LEAKYRELU) | \
		      BIT(GRAPH_ACTIVATION_ELU) | BIT(GRAPH_ACTIVATION_SELU) | \
		      BIT(GRAPH_ACTIVATION_CELU) | BIT(GRAPH_ACTIVATION_SIGMOID) | \
		      BIT(GRAPH_ACTIVATION_HARDSIGMOID) | BIT(GRAPH_ACTIVATION_HARDSWISH) | \
		      BIT(GRAPH_ACTIVATION_SILU) | BIT(GRAPH_ACTIVATION_TANH) | \
		      BIT(GRAPH_ACTIVATION_ERF) | BIT(GRAPH_ACTIVATION_GELU) | \
		      BIT(GRAPH_ACTIVATION_GELU_TANH) | BIT(GRAPH_ACTIVATION_MISH) | \
		      BIT(GRAPH_ACTIVATION_SOFTPLUS) | BIT(GRAPH_ACTIVATION_THRESHOLDED_RELU) | \
		      BIT(GRAPH_ACTIVATION_ABS) | BIT(GRAPH_ACTIVATION_SIGN) | \
		      BIT(GRAPH_ACTIVATION_NEG) | BIT(GRAPH_ACTIVATION_LINEAR))

/* What the vector unit computes: lower/vector_program.c, lower/eltwise.c, lower/reduce.c. */
#define VECTOR_ACTIVATIONS (BIT(GRAPH_ACTIVATION_NONE) | BIT(GRAPH_ACTIVATION_RELU) | \
			    BIT(GRAPH_ACTIVATION_CLIP) | BIT(GRAPH_ACTIVATION_LEAKYRELU) | \
			    BIT(GRAPH_ACTIVATION_ELU) | BIT(GRAPH_ACTIVATION_SELU) | \
			    BIT(GRAPH_ACTIVATION_CELU) | BIT(GRAPH_ACTIVATION_SIGMOID) | \
			    BIT(GRAPH_ACTIVATION_HARDSIGMOID) | BIT(GRAPH_ACTIVATION_HARDSWISH) | \
			    BIT(GRAPH_ACTIVATION_SILU) | BIT(GRAPH_ACTIVATION_TANH) | \
			    BIT(GRAPH_ACTIVATION_ERF) | BIT(GRAPH_ACTIVATION_GELU) | \
			    BIT(GRAPH_ACTIVATION_GELU_TANH) | BIT(GRAPH_ACTIVATION_MISH) | \
			    BIT(GRAPH_ACTIVATION_SOFTPLUS) | BIT(GRAPH_ACTIVATION_EXP) | \
			    BIT(GRAPH_ACTIVATION_LOG) | BIT(GRAPH_ACTIVATION_SQRT) | \
			    BIT(GRAPH_ACTIVATION_RSQRT) | BIT(GRAPH_ACTIVATION_RECIPROCAL) | \
			    BIT(GRAPH_ACTIVATION_SQUARE) | BIT(GRAPH_ACTIVATION_ABS) | \
			    BIT(GRAPH_ACTIVATION_NEG) | BIT(GRAPH_ACTIVATION_FLOOR) | \
			    BIT(GRAPH_ACTIVATION_CEIL) | BIT(GRAPH_ACTIVATION_ROUND) | \
			    BIT(GRAPH_ACTIVATION_LINEAR) | BIT(GRAPH_ACTIVATION_SOFTSIGN) | \
			    BIT(GRAPH_ACTIVATION_THRESHOLDED_RELU) | BIT(GRAPH_ACTIVATION_SIGN) | \
			    BIT(GRAPH_ACTIVATION_NOT) | BIT(GRAPH_ACTIVATION_ISNAN) | \
			    BIT(GRAPH_ACTIVATION_ISINF))

#define VECTOR_ELTWISES (BIT(GRAPH_ELTWISE_ADD) | BIT(GRAPH_ELTWISE_SUB) | \
			 BIT(GRAPH_ELTWISE_MUL) | BIT(GRAPH_ELTWISE_DIV) | \
			 BIT(GRAPH_ELTWISE_MAX) | BIT(GRAPH_ELTWISE_MIN) | \
			 BIT(GRAPH_ELTWISE_EQUAL) | BIT(GRAPH_ELTWISE_GREATER) | \
			 BIT(GRAPH_ELTWISE_LESS) | BIT(GRAPH_ELTWISE_GREATER_EQUAL) | \
			 BIT(GRAPH_ELTWISE_LESS_EQUAL) | BIT(GRAPH_ELTWISE_AND) | \
			 BIT(GRAPH_ELTWISE_OR) | BIT(GRAPH_ELTWISE_XOR) | BIT(GRAPH_ELTWISE_POW))

#define VECTOR_REDUCES (BIT(GRAPH_REDUCE_SUM) | BIT(GRAPH_REDUCE_MEAN) | \
			BIT(GRAPH_REDUCE_MAX) | BIT(GRAPH_REDUCE_MIN) | BIT(GRAPH_REDUCE_L1) | \
			BIT(GRAPH_REDUCE_L2) | BIT(GRAPH_REDUCE_SUM_SQUARE) | \
			BIT(GRAPH_REDUCE_LOG_SUM) | BIT(GRAPH_REDUCE_LOG_SUM_EXP) | \
			BIT(GRAPH_REDUCE_PROD))

const enum scan_where scan_operators[GRAPH_OP_COUNT] = {
	[GRAPH_OP_UNKNOWN] = SCAN_NONE,
	[GRAPH_OP_CONV] = SCAN_NPU,
	[GRAPH_OP_CONVTRANSPOSE] = SCAN_NPU,
	[GRAPH_OP_MATMUL] = SCAN_NPU,
	[GRAPH_OP_ELTWISE] = SCAN_NPU,
	[GRAPH_OP_ACTIVATION] = SCAN_NPU,
	[GRAPH_OP_PRELU] = SCAN_NPU,
	[GRAPH_OP_POOL] = SCAN_NPU,
	[GRAPH_OP_REDUCE] = SCAN_NPU,
	[GRAPH_OP_SOFTMAX] = SCAN_NPU,
	[GRAPH_OP_LAYERNORM] = SCAN_NPU,
	[GRAPH_OP_INSTANCENORM] = SCAN_NPU,
	[GRAPH_OP_GROUPNORM] = SCAN_NPU,
	[GRAPH_OP_LRN] = SCAN_NPU,
	[GRAPH_OP_BATCHNORM] = SCAN_NPU,
	[GRAPH_OP_TRANSPOSE] = SCAN_NPU,
	[GRAPH_OP_RESHAPE] = SCAN_NPU,
	[GRAPH_OP_CONCAT] = SCAN_NPU,
	[GRAPH_OP_SLICE] = SCAN_NPU,
	[GRAPH_OP_SPLIT] = SCAN_NPU,
	[GRAPH_OP_PAD] = SCAN_NPU,
	[GRAPH_OP_EXPAND] = SCAN_NPU,
	[GRAPH_OP_TILE] = SCAN_NPU,
	[GRAPH_OP_GATHER] = SCAN_NPU,
	[GRAPH_OP_CAST] = SCAN_NPU,
	[GRAPH_OP_WHERE] = SCAN_NPU,
	[GRAPH_OP_RESIZE] = SCAN_NPU,
	[GRAPH_OP_QUANTIZE] = SCAN_NPU,
	[GRAPH_OP_DEQUANTIZE] = SCAN_NPU,
};

const struct scan_limit scan_limits[] = {
	{ GRAPH_OP_COUNT, "every shape known", scan_shapes_known, SCAN_EQUAL, 1, scan_boolean_text,
	  "fix the node before it that is refused" },
	{ GRAPH_OP_COUNT, "smallest dimension", scan_smallest_dim, SCAN_AT_LEAST, 1, NULL,
	  "give inputs a shape without empty dimensions" },
	{ GRAPH_OP_CONV, "weights constant", scan_weight_constant, SCAN_EQUAL, 1, scan_boolean_text,
	  "make the weights constants of the model" },
	{ GRAPH_OP_CONV, "bias constant", scan_bias_constant, SCAN_EQUAL, 1, scan_boolean_text,
	  "make the bias a constant of the model, or add it by an Add" },
	{ GRAPH_OP_CONV, "element type", scan_product_dtype, SCAN_ONE_OF, FLOATS, scan_dtype_text,
	  "cast the operands to float, or quantize them" },
	{ GRAPH_OP_CONV, "element type of quantized input", scan_integer_product_dtype, SCAN_ONE_OF, BYTES,
	  scan_dtype_text, "quantize to int8 or uint8" },
	{ GRAPH_OP_CONV, "kernel height", scan_kernel_height, SCAN_AT_MOST, 8192, NULL,
	  "use a smaller kernel" },
	{ GRAPH_OP_CONV, "kernel width", scan_kernel_width, SCAN_AT_MOST, 8192, NULL,
	  "use a smaller kernel" },
	{ GRAPH_OP_CONV, "stride height", scan_stride_height, SCAN_AT_MOST, 65535, NULL,
	  "use a smaller stride" },
	{ GRAPH_OP_CONV, "stride width", scan_stride_width, SCAN_AT_MOST, 65535, NULL,
	  "use a smaller stride" },
	{ GRAPH_OP_CONV, "dilation height", scan_dilation_height, SCAN_AT_MOST, 65535, NULL,
	  "use a smaller dilation" },
	{ GRAPH_OP_CONV, "dilation width", scan_dilation_width, SCAN_AT_MOST, 65535, NULL,
	  "use a smaller dilation" },
	{ GRAPH_OP_CONV, "pad", scan_largest_pad, SCAN_AT_MOST, 8192, NULL,
	  "pad less, or by a Pad node" },
	{ GRAPH_OP_CONV, "largest dimension", scan_largest_dim, SCAN_AT_MOST, 1 << 30, NULL,
	  "use smaller shapes" },
	{ GRAPH_OP_CONV, "fused activation", scan_activation, SCAN_ONE_OF, OUTPUT_STAGE,
	  scan_activation_text, "compile with --fusion 0" },
	{ GRAPH_OP_CONVTRANSPOSE, "weights constant", scan_weight_constant, SCAN_EQUAL, 1,
	  scan_boolean_text, "make the weights constants of the model" },
	{ GRAPH_OP_CONVTRANSPOSE, "bias constant", scan_bias_constant, SCAN_EQUAL, 1, scan_boolean_text,
	  "make the bias a constant of the model, or add it by an Add" },
	{ GRAPH_OP_CONVTRANSPOSE, "element type", scan_product_dtype, SCAN_ONE_OF, FLOATS,
	  scan_dtype_text, "cast the operands to float" },
	{ GRAPH_OP_CONVTRANSPOSE, "kernel height", scan_kernel_height, SCAN_AT_MOST, 1024, NULL,
	  "use a smaller kernel" },
	{ GRAPH_OP_CONVTRANSPOSE, "kernel width", scan_kernel_width, SCAN_AT_MOST, 1024, NULL,
	  "use a smaller kernel" },
	{ GRAPH_OP_CONVTRANSPOSE, "stride height", scan_stride_height, SCAN_AT_MOST, 64, NULL,
	  "use a smaller stride" },
	{ GRAPH_OP_CONVTRANSPOSE, "stride width", scan_stride_width, SCAN_AT_MOST, 64, NULL,
	  "use a smaller stride" },
	{ GRAPH_OP_CONVTRANSPOSE, "fused activation", scan_activation, SCAN_ONE_OF, OUTPUT_STAGE,
	  scan_activation_text, "compile with --fusion 0" },
	{ GRAPH_OP_MATMUL, "element type", scan_product_dtype, SCAN_ONE_OF, FLOATS, scan_dtype_text,
	  "cast the operands to float, or quantize them" },
	{ GRAPH_OP_MATMUL, "element type of quantized input", scan_integer_product_dtype, SCAN_ONE_OF,
	  BYTES, scan_dtype_text, "quantize to int8 or uint8" },
	{ GRAPH_OP_MATMUL, "largest dimension", scan_largest_dim, SCAN_AT_MOST, 1 << 30, NULL,
	  "use smaller shapes" },
	{ GRAPH_OP_MATMUL, "fused activation", scan_activation, SCAN_ONE_OF, OUTPUT_STAGE,
	  scan_activation_text, "compile with --fusion 0" },
	{ GRAPH_OP_ELTWISE, "function", scan_eltwise, SCAN_ONE_OF, VECTOR_ELTWISES,
	  scan_eltwise_text, "replace it by arithmetic that is supported" },
	{ GRAPH_OP_ELTWISE, "element type of a division or power", scan_division_dtype, SCAN_ONE_OF, FLOATS,
	  scan_dtype_text, "cast the inputs to float" },
	{ GRAPH_OP_ELTWISE, "fused activation", scan_activation, SCAN_ONE_OF, VECTOR_ACTIVATIONS,
	  scan_activation_text, "compile with --fusion 0" },
	{ GRAPH_OP_ACTIVATION, "function", scan_activation, SCAN_ONE_OF, VECTOR_ACTIVATIONS,
	  scan_activation_text, "replace it by a function that is supported" },
	{ GRAPH_OP_REDUCE, "function", scan_reduce, SCAN_ONE_OF, VECTOR_REDUCES, scan_reduce_text,
	  "replace it by a reduction that is supported" },
	{ GRAPH_OP_POOL, "kind", scan_pool, SCAN_ONE_OF, BIT(GRAPH_POOL_MAX) | BIT(GRAPH_POOL_AVERAGE),
	  scan_pool_text, "use MaxPool or AveragePool" },
	{ GRAPH_OP_GATHER, "axis of computed indices", scan_lookup_axis, SCAN_AT_MOST, 0, NULL,
	  "put a Transpose before it, or make the indices constants of the model" },
	{ GRAPH_OP_GATHER, "rows for computed indices", scan_lookup_rows, SCAN_AT_LEAST, 1, NULL,
	  "give the table the rows that its indices name" },
	{ GRAPH_OP_GATHER, "rows for computed indices", scan_lookup_rows, SCAN_AT_MOST, 65535, NULL,
	  "use a smaller table, or make the indices constants of the model" },
	{ GRAPH_OP_GATHER, "element type for computed indices", scan_lookup_dtype, SCAN_ONE_OF, FLOATS,
	  scan_dtype_text, "cast the data to float, or make the indices constants of the model" },
	{ GRAPH_OP_TILE, "dimensions and repeated ones", scan_repeated_dims, SCAN_AT_MOST, GRAPH_MAX_RANK, NULL,
	  "split it into two nodes" },
	{ GRAPH_OP_RESIZE, "dimensions and repeated ones", scan_repeated_dims, SCAN_AT_MOST, GRAPH_MAX_RANK, NULL,
	  "split it into two nodes" },
	/* Held in 32 bits with a sign: what is beyond them can neither be told nor be kept. */
	{ GRAPH_OP_CAST, "type that signed numbers are cast to", scan_cast_dtype, SCAN_ONE_OF,
	  FLOATS | QUANTIZED | BIT(GRAPH_DTYPE_I32) | BIT(GRAPH_DTYPE_I64) | BIT(GRAPH_DTYPE_BOOL),
	  scan_dtype_text, "cast to int64 or int32" },
	{ GRAPH_OP_RESIZE, "element type of an interpolation", scan_interpolation_dtype, SCAN_ONE_OF,
	  FLOATS, scan_dtype_text, "cast the input to float, or use mode nearest" },
	{ GRAPH_OP_QUANTIZE, "scale and zero point constant", scan_scale_constant, SCAN_EQUAL, 1,
	  scan_boolean_text, "make them constants of the model" },
	{ GRAPH_OP_QUANTIZE, "input type", scan_input_dtype, SCAN_ONE_OF, FLOATS, scan_dtype_text,
	  "cast the input to float" },
	{ GRAPH_OP_QUANTIZE, "output type", scan_output_dtype, SCAN_ONE_OF, QUANTIZED,
	  scan_dtype_text, "quantize to int8 or uint8" },
	{ GRAPH_OP_DEQUANTIZE, "scale and zero point constant", scan_scale_constant, SCAN_EQUAL, 1,
	  scan_boolean_text, "make them constants of the model" },
	{ GRAPH_OP_DEQUANTIZE, "input type", scan_input_dtype, SCAN_ONE_OF,
	  QUANTIZED | BIT(GRAPH_DTYPE_I32), scan_dtype_text, "quantize to int8 or uint8" },
};

const size_t scan_limit_count = sizeof(scan_limits) / sizeof(scan_limits[0]);
