// SPDX-License-Identifier: MIT
/* Writes the table of limits as Documentation/operators.rst; tests/docs keeps the two equal. */
#include <stdio.h>
#include <string.h>

#include "limits.h"

/* ONNX operators that become each operator of the graph, for people. */
static const char *const onnx_names[GRAPH_OP_COUNT] = {
	[GRAPH_OP_CONV] = "Conv (1-D, 2-D), QLinearConv, ConvInteger",
	[GRAPH_OP_CONVTRANSPOSE] = "ConvTranspose (1-D, 2-D)",
	[GRAPH_OP_MATMUL] = "MatMul, Gemm, QLinearMatMul, MatMulInteger",
	[GRAPH_OP_ELTWISE] = "Functions of two or more operands: Add, Sub, Mul, Div, Max, Min, Mod, Pow, Sum, Mean, Equal, "
			     "Greater, GreaterOrEqual, Less, LessOrEqual, And, Or, Xor",
	[GRAPH_OP_ACTIVATION] =
		"Functions of one operand: Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Celu, Clip, Cos, Cosh, Elu, Erf, "
		"Exp, FastGelu, Floor, Gelu, HardSigmoid, HardSwish, IsInf, IsNaN, LeakyRelu, Log, Mish, Neg, Not, QuickGelu, "
		"Reciprocal, Relu, Round, Selu, Shrink, Sigmoid, Sign, Sin, Sinh, Softplus, Softsign, Sqrt, Swish, Tan, Tanh, "
		"ThresholdedRelu",
	[GRAPH_OP_PRELU] = "PRelu",
	[GRAPH_OP_POOL] = "MaxPool, AveragePool, LpPool, GlobalMaxPool, GlobalAveragePool, GlobalLpPool (1-D, 2-D)",
	[GRAPH_OP_REDUCE] = "ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare, "
			    "ReduceLogSum, ReduceLogSumExp, ArgMax, ArgMin",
	[GRAPH_OP_SOFTMAX] = "Softmax, LogSoftmax",
	[GRAPH_OP_LAYERNORM] = "LayerNormalization, RMSNormalization, SimplifiedLayerNormalization",
	[GRAPH_OP_INSTANCENORM] = "InstanceNormalization",
	[GRAPH_OP_GROUPNORM] = "GroupNormalization",
	[GRAPH_OP_LRN] = "LRN",
	[GRAPH_OP_BATCHNORM] = "BatchNormalization",
	[GRAPH_OP_TRANSPOSE] = "Transpose, and with reshape DepthToSpace, SpaceToDepth",
	[GRAPH_OP_RESHAPE] = "Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout",
	[GRAPH_OP_CONCAT] = "Concat",
	[GRAPH_OP_SLICE] = "Slice",
	[GRAPH_OP_SPLIT] = "Split",
	[GRAPH_OP_PAD] = "Pad",
	[GRAPH_OP_EXPAND] = "Expand",
	[GRAPH_OP_TILE] = "Tile",
	[GRAPH_OP_GATHER] = "Gather",
	[GRAPH_OP_CAST] = "Cast, CastLike",
	[GRAPH_OP_WHERE] = "Where",
	[GRAPH_OP_RESIZE] = "Resize, Upsample",
	[GRAPH_OP_QUANTIZE] = "QuantizeLinear",
	[GRAPH_OP_DEQUANTIZE] = "DequantizeLinear",
};

static const char *place_name(enum scan_where where)
{
	return where == SCAN_NPU ? "the NPU" : where == SCAN_CPU ? "the CPU" : "nothing: refused";
}

static void print_rows(enum graph_op op)
{
	char rule[512];

	for (size_t i = 0; i < scan_limit_count; i++) {
		const struct scan_limit *limit = &scan_limits[i];

		if (limit->op != op)
			continue;
		scan_limit_text(limit, rule, sizeof(rule));
		printf("   * - %s\n     - %s\n     - %s\n", limit->name, rule, limit->suggestion);
	}
}

static bool has_rows(enum graph_op op)
{
	for (size_t i = 0; i < scan_limit_count; i++)
		if (scan_limits[i].op == op)
			return true;
	return false;
}

static void print_heading(const char *text, char line)
{
	printf("\n%s\n", text);
	for (size_t i = 0; i < strlen(text); i++)
		putchar(line);
	printf("\n\n");
}

static void print_table(enum graph_op op)
{
	if (!has_rows(op)) {
		printf("No limits of its own.\n");
		return;
	}
	printf(".. list-table::\n   :header-rows: 1\n   :widths: 25 40 35\n\n"
	       "   * - field\n     - supported\n     - else\n");
	print_rows(op);
}

static void print_operator(enum graph_op op)
{
	print_heading(graph_op_name(op), '-');
	printf("%s. Runs on %s.\n", onnx_names[op] ? onnx_names[op] : graph_op_name(op),
	       place_name(scan_operators[op]));
	if (scan_operators[op] == SCAN_NONE)
		return;
	putchar('\n');
	print_table(op);
}

int main(void)
{
	puts(".. SPDX-License-Identifier: MIT\n"
	     ".. Written by tools/npucc/scan/document.c from the table of limits; do not edit.");
	print_heading("What npucc compiles", '=');
	puts("The importer makes one or more of the operators below of each ONNX operator that is named here, whatever its\n"
	     "opset; others are refused. BiasGelu, LpNormalization, MeanVarianceNormalization, Trilu and functions of the model become\n"
	     "several. If and Loop, and what depends on shapes and constants only (Constant, ConstantOfShape, CumSum, NonZero, Range,\n"
	     "Shape, Size, ...), are done when compiling.\n"
	     "\n"
	     "``npucc scan`` checks a model's nodes against these limits, field by field, and the compiler refuses by the same\n"
	     "table. What several shapes and layouts decide together the back end refuses, and ``npucc scan`` reports that, too:\n"
	     "\n"
	     "* rows, windows or lines of which not one fits local SRAM;\n"
	     "* operands with a dimension beyond 65,535 or a stride beyond 2 GiB in a tensor descriptor;\n"
	     "* a Reshape, a Gather or a normalization over dimensions that a Transpose before it has torn apart;\n"
	     "* convolutions of more images times groups, and products of more matrices, than a program counts;\n"
	     "* models of more inputs and outputs than a program has arguments.\n"
	     "\n"
	     "uint16 and integers of 32 and 64 bits are held in 32 bits with a sign; what an input has beyond them is clamped.\n"
	     "Moving and casting them is exact; arithmetic and comparisons are done in fp32, which is exact up to 2^24.");
	print_heading("Every operator", '-');
	print_table(GRAPH_OP_COUNT);
	for (int op = GRAPH_OP_UNKNOWN + 1; op < GRAPH_OP_COUNT; op++)
		print_operator((enum graph_op)op);
	return 0;
}
