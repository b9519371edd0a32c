// SPDX-License-Identifier: MIT
/*
 * Quantization. Operators on integers become the float operator between
 * DEQUANTIZE and QUANTIZE: the form QDQ models have, of which quant/ makes operators on
 * integers again.
 */
#include <inttypes.h>
#include <string.h>

#include "../fold/eval.h"
#include "../graph/infer.h"
#include "import.h"

static int quant_axis(struct import_node *in, const struct graph_value *x,
		      const struct graph_value *scale, int64_t *axis)
{
	*axis = 0;
	if (graph_element_count(scale) == 1)
		return 0;
	if (in->opset < 13)
		return import_error(in,
				    "its scale has more than one element, which opset %lld does "
				    "not have; convert the model to opset 13 or newer",
				    (long long)in->opset);
	return import_axis(in, import_attribute_int(in, "axis", 1), x->rank, axis);
}

static struct graph_value *quant(struct import_node *in, enum graph_op op, struct graph_value *x,
				 struct graph_value *scale, struct graph_value *zero,
				 enum graph_dtype dtype, int64_t axis)
{
	struct graph_value *operands[3] = { x, scale, zero };
	struct graph_node *node = import_node_new(in, op, 3, operands, 1);

	if (!node || import_stated(in, node, 0, dtype, x->rank, x->dims))
		return NULL;
	node->attr.axis.axis = axis;
	/* Constant weights stay integers until the operators that read them are known (quant/). */
	if (op == GRAPH_OP_DEQUANTIZE && x->rank > 0)
		return graph_infer_node(node, in->import->diag) ? NULL : node->outputs[0];
	return import_finish(in, node);
}

static int import_quantize_linear(struct import_node *in)
{
	struct graph_value *x = import_input(in, 0), *scale = import_input(in, 1);
	struct graph_value *zero = import_input(in, 2);
	int64_t type = import_attribute_int(in, "output_dtype", ONNX_UNDEFINED), axis;
	bool quantize = !strcmp(in->op_type, "QuantizeLinear");
	enum graph_dtype dtype;

	if (!x || !scale)
		return import_missing(in, 2);
	if (import_attribute_int(in, "block_size", 0))
		return import_unknown(in,
				      "block_size is %" PRId64
				      ", only 0 is supported; use one scale a tensor or "
				      "channel",
				      import_attribute_int(in, "block_size", 0));
	if (quant_axis(in, x, scale, &axis))
		return -1;
	dtype = scale->dtype;
	if (quantize) {
		dtype = zero ? zero->dtype : GRAPH_DTYPE_U8;
		if (!zero && type > 0 && type < 1000)
			dtype = onnx_dtype((int32_t)type);
		if (!graph_dtype_bytes(dtype))
			return import_unknown(in, "its output type is not supported");
	}
	return import_result(in, 0,
			     quant(in, quantize ? GRAPH_OP_QUANTIZE : GRAPH_OP_DEQUANTIZE, x, scale,
				   zero, dtype, axis));
}

/* One operand of an integer operator as float: inputs @index, +1 (scale), +2 (zero point). */
static struct graph_value *operand(struct import_node *in, uint32_t index, int64_t axis)
{
	struct graph_value *x = import_input(in, index), *scale = import_input(in, index + 1);

	if (!x || !scale) {
		import_missing(in, index + 2);
		return NULL;
	}
	if (graph_element_count(scale) == 1)
		axis = 0;
	return quant(in, GRAPH_OP_DEQUANTIZE, x, scale, import_input(in, index + 2),
		     GRAPH_DTYPE_F32, axis);
}

static int result_quantized(struct import_node *in, struct graph_value *y, uint32_t scale)
{
	struct graph_value *zero = import_input(in, scale + 1);

	if (!y)
		return -1;
	if (!import_input(in, scale))
		return import_missing(in, scale + 1);
	return import_result(in, 0,
			     quant(in, GRAPH_OP_QUANTIZE, y, import_input(in, scale), zero,
				   zero ? zero->dtype : GRAPH_DTYPE_U8, 0));
}

/* Build a float node with the translator of another operator and these inputs. */
static struct graph_value *float_node(struct import_node *in, const char *op_type,
				      const struct import_operator *table,
				      struct graph_value **inputs, uint32_t count)
{
	static const char name[] = "\1quantized"; /* no model's name begins so */
	struct wire_bytes output = { (const uint8_t *)name, sizeof(name) - 1 };
	struct onnx_node onnx = *in->onnx;
	struct import_node inner = *in;
	struct graph_value *result = NULL;

	onnx.outputs = &output;
	onnx.output_count = 1;
	inner.onnx = &onnx;
	inner.op_type = op_type;
	inner.inputs = inputs;
	inner.input_count = count;
	for (; table->op_type; table++) {
		if (strcmp(table->op_type, op_type))
			continue;
		switch (table->translate(&inner)) {
		case 0:
			result = import_bound(in->import, output);
			break;
		case IMPORT_UNKNOWN:
			import_error(in, "%s", inner.problem);
			break;
		default:
			break;
		}
		break;
	}
	return result;
}

/* int32 bias counts in units of input scale * weight scale. */
static struct graph_value *float_bias(struct import_node *in, struct graph_value *bias,
				      struct graph_value *x_scale, struct graph_value *w_scale)
{
	struct graph_value *scale;

	if (!bias)
		return NULL;
	scale = import_eltwise(in, GRAPH_ELTWISE_MUL, x_scale, w_scale);
	if (!scale)
		return NULL;
	return quant(in, GRAPH_OP_DEQUANTIZE, bias, scale, NULL, GRAPH_DTYPE_F32, 0);
}

static int import_qlinear_conv(struct import_node *in)
{
	struct graph_value *operands[3];

	operands[0] = operand(in, 0, 1);
	operands[1] = operands[0] ? operand(in, 3, 0) : NULL;
	if (!operands[1])
		return -1;
	operands[2] = float_bias(in, import_input(in, 8), import_input(in, 1), import_input(in, 4));
	if (import_input(in, 8) && !operands[2])
		return -1;
	return result_quantized(in, float_node(in, "Conv", import_dense_operators, operands, 3), 6);
}

static int import_qlinear_matmul(struct import_node *in)
{
	struct graph_value *operands[2], *a = import_input(in, 0), *b = import_input(in, 3);

	if (!a || !b || a->rank < 2 || b->rank < 2)
		return import_unknown(in,
				      "operands of fewer than two dimensions are not supported");
	operands[0] = operand(in, 0, a->rank - 2);
	operands[1] = operands[0] ? operand(in, 3, b->rank - 1) : NULL;
	if (!operands[1])
		return -1;
	return result_quantized(in, float_node(in, "MatMul", import_dense_operators, operands, 2),
				6);
}

/* x - zero point, as float; the difference is exact. */
static struct graph_value *centred(struct import_node *in, struct graph_value *x,
				   struct graph_value *zero, int64_t axis)
{
	struct graph_value *one;
	void *data;

	one = import_constant(in, GRAPH_DTYPE_F32, 0, NULL, &data);
	if (!one)
		return NULL;
	*(float *)data = 1.0f;
	if (!zero || graph_element_count(zero) == 1)
		return quant(in, GRAPH_OP_DEQUANTIZE, x, one, zero, GRAPH_DTYPE_F32, 0);
	if (zero->rank != 1 || axis < 0 || axis >= x->rank || zero->dims[0] != x->dims[axis]) {
		import_error(in,
			     "a zero point has %" PRId64
			     " elements, 1 or one a channel is needed; correct it",
			     graph_element_count(zero));
		return NULL;
	}
	return quant(in, GRAPH_OP_DEQUANTIZE, x, one, zero, GRAPH_DTYPE_F32, axis);
}

static int integer_product(struct import_node *in, const char *op_type, int64_t axis_a,
			   int64_t axis_b)
{
	struct graph_value *operands[3] = { NULL, NULL, NULL }, *y;

	operands[0] = centred(in, in->inputs[0], import_input(in, 2), axis_a);
	operands[1] = operands[0] ? centred(in, in->inputs[1], import_input(in, 3), axis_b) : NULL;
	if (!operands[1])
		return -1;
	y = float_node(in, op_type, import_dense_operators, operands, 2);
	return import_result(in, 0, y ? import_cast(in, y, GRAPH_DTYPE_I32) : NULL);
}

static int import_matmul_integer(struct import_node *in)
{
	struct graph_value *a = import_input(in, 0), *b = import_input(in, 1);

	if (!a || !b)
		return import_missing(in, 2);
	return integer_product(in, "MatMul", (int64_t)a->rank - 2, (int64_t)b->rank - 1);
}

static int import_conv_integer(struct import_node *in)
{
	if (!import_input(in, 0) || !import_input(in, 1))
		return import_missing(in, 2);
	return integer_product(in, "Conv", 1, 0);
}

const struct import_operator import_quant_operators[] = {
	{ "QuantizeLinear", import_quantize_linear },
	{ "DequantizeLinear", import_quantize_linear },
	{ "QLinearConv", import_qlinear_conv },
	{ "QLinearMatMul", import_qlinear_matmul },
	{ "MatMulInteger", import_matmul_integer },
	{ "ConvInteger", import_conv_integer },
	{ NULL, NULL },
};
