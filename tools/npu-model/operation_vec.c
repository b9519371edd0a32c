// SPDX-License-Identifier: MIT
/* Instruction decoder: VEC. Manual: isa.rst "VEC", timing.rst "Vector unit". */
#include "operation_internal.h"

/* How an operation uses its source operands. */
enum source_use {
	SOURCE_NONE = 0,
	SOURCE_VALUE,		/* tensor or immediate */
	SOURCE_TENSOR,		/* tensor only: it gives a reduction its dims */
	SOURCE_TABLE,		/* address of a table */
	SOURCE_SUMS,		/* second destination */
};

struct shape_of {
	uint8_t source[3];
	bool valid, reduction, function;
};

static const struct shape_of shapes[] = {
#define UNARY	.valid = true, .source = { SOURCE_VALUE }
#define BINARY	.valid = true, .source = { SOURCE_VALUE, SOURCE_VALUE }
#define TERNARY	.valid = true, .source = { SOURCE_VALUE, SOURCE_VALUE, SOURCE_VALUE }
#define REDUCTION .valid = true, .reduction = true
	[NPU_VEC_COPY] = { UNARY },
	[NPU_VEC_ADD] = { BINARY },
	[NPU_VEC_SUB] = { BINARY },
	[NPU_VEC_MUL] = { BINARY },
	[NPU_VEC_MAX] = { BINARY },
	[NPU_VEC_MIN] = { BINARY },
	[NPU_VEC_MULADD] = { TERNARY },
	[NPU_VEC_EQUAL] = { BINARY },
	[NPU_VEC_GREATER] = { BINARY },
	[NPU_VEC_SELECT] = { TERNARY },
	[NPU_VEC_CLAMP] = { TERNARY },
	[NPU_VEC_ABS] = { UNARY },
	[NPU_VEC_FLOOR] = { UNARY },
	[NPU_VEC_ROUND] = { UNARY },
	[NPU_VEC_TABLE] = { .valid = true, .source = { SOURCE_VALUE, SOURCE_TABLE } },
	[NPU_VEC_EXP] = { UNARY, .function = true },
	[NPU_VEC_RECIPROCAL] = { UNARY, .function = true },
	[NPU_VEC_RSQRT] = { UNARY, .function = true },
	[NPU_VEC_TANH] = { UNARY, .function = true },
	[NPU_VEC_ERF] = { UNARY, .function = true },
	[NPU_VEC_EXPSUM] = { .valid = true, .function = true,
			     .source = { SOURCE_VALUE, SOURCE_VALUE, SOURCE_SUMS } },
	[NPU_VEC_LOG] = { UNARY, .function = true },
	[NPU_VEC_REDUCE_SUM] = { REDUCTION, .source = { SOURCE_TENSOR } },
	[NPU_VEC_REDUCE_SUMSQ] = { REDUCTION,
				   .source = { SOURCE_TENSOR, SOURCE_NONE, SOURCE_SUMS } },
	[NPU_VEC_REDUCE_MAX] = { REDUCTION, .source = { SOURCE_TENSOR } },
	[NPU_VEC_REDUCE_MEAN] = { REDUCTION, .source = { SOURCE_TENSOR } },
	[NPU_VEC_REDUCE_ARGMAX] = { REDUCTION, .source = { SOURCE_TENSOR } },
};

#define ARGMAX_REDUCED	(1u << 3)	/* dim 3 only */

static bool same_dims(const uint32_t a[4], const uint32_t b[4])
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static int check_dims(struct decoder *decoder, const uint32_t dim[4], const uint32_t expected[4])
{
	if (same_dims(dim, expected))
		return 0;
	return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
}

static int decode_table(struct decoder *decoder, uint8_t operand, struct npu_tensor *tensor)
{
	struct npu_operation *out = decoder->out;

	out->vec.byte_table = out->src[0].kind == NPU_OPERAND_TENSOR &&
			      out->src[0].dtype <= NPU_DTYPE_UINT8 &&
			      out->dst.dtype <= NPU_DTYPE_UINT8;
	if (decoder_address(decoder, operand,
			    out->vec.byte_table ? 256 : (int64_t)sizeof(struct npu_table), tensor))
		return -1;
	if (tensor->offset % 16)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return 0;
}

static int decode_source(struct decoder *decoder, unsigned int index, enum source_use use)
{
	struct npu_tensor *tensor = &decoder->out->src[index];
	uint8_t operand = decoder->insn->src[index];

	switch (use) {
	case SOURCE_NONE:
		return decoder_unused(decoder, DECODER_SRC(index));
	case SOURCE_TABLE:
		return decode_table(decoder, operand, tensor);
	case SOURCE_VALUE:
		if (operand == NPU_TD_IMMEDIATE) {
			tensor->kind = NPU_OPERAND_IMMEDIATE;
			return 0;
		}
		return decoder_local_tensor(decoder, operand, tensor);
	default:
		return decoder_local_tensor(decoder, operand, tensor);
	}
}

/* The operation's own dims, and that all operands agree with them. */
static int check_elementwise(struct decoder *decoder, const struct shape_of *shape)
{
	struct npu_operation *out = decoder->out;
	unsigned int i;

	if (out->imm16)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	for (i = 0; i < 4; i++)
		out->vec.dim[i] = out->dst.dim[i];
	for (i = 0; i < 3; i++)
		if (shape->source[i] == SOURCE_VALUE && out->src[i].kind == NPU_OPERAND_TENSOR &&
		    decoder_repeat(decoder, &out->src[i], out->vec.dim))
			return -1;
	return 0;
}

static int check_reduction(struct decoder *decoder)
{
	struct npu_operation *out = decoder->out;
	uint32_t expected[4];
	uint64_t count = 1;
	unsigned int i;

	if (!out->imm16 || out->imm16 > 0xf ||
	    (out->subop == NPU_VEC_REDUCE_ARGMAX && out->imm16 != ARGMAX_REDUCED))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	out->vec.reduced = (uint8_t)out->imm16;
	for (i = 0; i < 4; i++) {
		bool reduced = out->imm16 & (1u << i);

		out->vec.dim[i] = out->src[0].dim[i];
		expected[i] = reduced ? 1 : out->src[0].dim[i];
		count *= reduced ? out->src[0].dim[i] : 1;
	}
	if (out->subop == NPU_VEC_REDUCE_ARGMAX && out->dst.dtype != NPU_DTYPE_INT32)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	out->vec.count = (uint32_t)(count & UINT32_MAX);	/* the limit of elements bounds it */
	return check_dims(decoder, out->dst.dim, expected);
}

/* The second destination: fp32, and apart from the first. */
static int check_sums(struct decoder *decoder)
{
	struct npu_operation *out = decoder->out;
	const struct npu_tensor *dst = &out->dst;
	const struct npu_tensor *sums = &out->src[2];
	uint32_t expected[4] = { dst->dim[0], dst->dim[1], dst->dim[2], dst->dim[3] };

	if (out->subop == NPU_VEC_EXPSUM)
		expected[3] = 1;
	if (sums->dtype != NPU_DTYPE_FP32 ||
	    (sums->offset + sums->low < dst->offset + dst->high &&
	     dst->offset + dst->low < sums->offset + sums->high))
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return check_dims(decoder, sums->dim, expected);
}

/* The stride of the innermost dim that is no 1, or the element size where all are. */
static int64_t innermost_stride(const struct npu_tensor *tensor)
{
	unsigned int i;

	for (i = 4; i-- > 0;)
		if (tensor->dim[i] > 1)
			return tensor->stride[i];
	return tensor->element_bytes;
}

static bool scattered(const struct npu_tensor *tensor)
{
	int64_t stride = innermost_stride(tensor);

	return stride && stride != tensor->element_bytes;
}

/* Bytes of a source that pass through the unit; 0 for scalars and repeated rows. */
static uint64_t streamed(const struct npu_config *config, const struct npu_tensor *tensor,
			 const uint32_t dim[4])
{
	uint64_t elements = 1;
	bool outer = false;
	unsigned int i;

	if (tensor->kind != NPU_OPERAND_TENSOR)
		return 0;
	for (i = 0; i < 4; i++) {
		if (tensor->dim[i] == 1 || !tensor->stride[i])
			continue;
		elements *= tensor->dim[i];
		outer |= i < 3;
	}
	/* A single element is a scalar; a row is free where more than one row uses it. */
	if (elements == 1 || (!outer && (uint64_t)dim[0] * dim[1] * dim[2] > 1))
		return 0;
	return elements * (scattered(tensor) ? config->vector_scattered : tensor->element_bytes);
}

static void figures(struct decoder *decoder, const struct shape_of *shape)
{
	const struct npu_config *config = decoder->config;
	struct npu_operation *out = decoder->out;
	uint64_t written = decoder_elements(out->dst.dim);
	uint64_t least = 1;
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (shape->source[i] == SOURCE_VALUE || shape->source[i] == SOURCE_TENSOR)
			out->local_read += streamed(config, &out->src[i], out->vec.dim);
	out->local_write = written * out->dst.element_bytes;
	if (shape->source[2] == SOURCE_SUMS)
		out->local_write += decoder_elements(out->src[2].dim) * 4;
	out->work = ceil_div(out->local_read, config->vector_bytes);
	if (shape->function)
		least = ceil_div(decoder_elements(out->vec.dim), config->vector_functions);
	if (out->work < least)
		out->work = least;
	least = ceil_div(written * config->vector_scattered, config->vector_bytes);
	if (scattered(&out->dst) && out->work < least)
		out->work = least;
	out->start = config->vector_start;
	out->tail = config->vector_tail;
}

static bool uses_immediate(const struct npu_operation *out)
{
	return out->src[0].kind == NPU_OPERAND_IMMEDIATE ||
	       out->src[1].kind == NPU_OPERAND_IMMEDIATE ||
	       out->src[2].kind == NPU_OPERAND_IMMEDIATE;
}

int decode_vec(struct decoder *decoder)
{
	struct npu_operation *out = decoder->out;
	const struct shape_of *shape;
	unsigned int i;

	out->engine = NPU_ENGINE_VECTOR;
	out->vec.immediate = out->imm32;
	if (out->subop >= sizeof(shapes) / sizeof(shapes[0]) || !shapes[out->subop].valid)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	shape = &shapes[out->subop];
	if (decoder_local_tensor(decoder, decoder->insn->dst, &out->dst))
		return -1;
	for (i = 0; i < 3; i++)
		if (decode_source(decoder, i, shape->source[i]))
			return -1;
	if (out->imm32 && !uses_immediate(out))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	if (shape->reduction ? check_reduction(decoder) : check_elementwise(decoder, shape))
		return -1;
	if (decoder_elements(out->vec.dim) > NPU_OPERATION_ELEMENTS_MAX)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	if (shape->source[2] == SOURCE_SUMS && check_sums(decoder))
		return -1;
	figures(decoder, shape);
	return 0;
}
