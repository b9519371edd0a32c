/* SPDX-License-Identifier: MIT */
#include "vector_program.h"

#include <math.h>

/* Below this rsqrt's argument is raised, so that 0 * rsqrt(0) is not NaN; the least normal fp32. */
#define SQRT_FLOOR 1.17549435e-38f

void vector_step(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		 enum vector_slot a, enum vector_slot b, enum vector_slot c, float scalar)
{
	enum vector_slot used[4] = { dst, a, b, c };

	if (program->count == VECTOR_MAX_STEPS) {
		program->overflow = true;
		return;
	}
	for (unsigned int i = 0; i < 4; i++) {
		program->uses_temp[0] |= used[i] == VECTOR_TEMP0;
		program->uses_temp[1] |= used[i] == VECTOR_TEMP1;
		program->uses_table |= used[i] == VECTOR_TABLE;
	}
	program->steps[program->count++] = (struct vector_step) {
		.function = function, .dst = dst, .a = a, .b = b, .c = c, .scalar = scalar,
	};
}

static void unary(struct vector_program *program, enum npu_vec function, enum vector_slot dst,
		  enum vector_slot src)
{
	vector_step(program, function, dst, src, VECTOR_NONE, VECTOR_NONE, 0);
}

static void with_scalar(struct vector_program *program, enum npu_vec function,
			enum vector_slot dst, enum vector_slot src, float scalar)
{
	vector_step(program, function, dst, src, VECTOR_SCALAR, VECTOR_NONE, scalar);
}

static bool by_table(enum graph_activation_kind kind)
{
	switch (kind) {
	case GRAPH_ACTIVATION_LEAKYRELU:
	case GRAPH_ACTIVATION_ELU:
	case GRAPH_ACTIVATION_SELU:
	case GRAPH_ACTIVATION_CELU:
	case GRAPH_ACTIVATION_SIGMOID:
	case GRAPH_ACTIVATION_HARDSIGMOID:
	case GRAPH_ACTIVATION_HARDSWISH:
	case GRAPH_ACTIVATION_SILU:
	case GRAPH_ACTIVATION_GELU:
	case GRAPH_ACTIVATION_GELU_TANH:
	case GRAPH_ACTIVATION_MISH:
	case GRAPH_ACTIVATION_SOFTPLUS:
	case GRAPH_ACTIVATION_THRESHOLDED_RELU:
	case GRAPH_ACTIVATION_SIGN:
		return true;
	default:
		return false;
	}
}

/* The instruction that is the whole function, or -1. */
static int direct_function(enum graph_activation_kind kind)
{
	switch (kind) {
	case GRAPH_ACTIVATION_TANH:
		return NPU_VEC_TANH;
	case GRAPH_ACTIVATION_ERF:
		return NPU_VEC_ERF;
	case GRAPH_ACTIVATION_EXP:
		return NPU_VEC_EXP;
	case GRAPH_ACTIVATION_LOG:
		return NPU_VEC_LOG;
	case GRAPH_ACTIVATION_RSQRT:
		return NPU_VEC_RSQRT;
	case GRAPH_ACTIVATION_RECIPROCAL:
		return NPU_VEC_RECIPROCAL;
	case GRAPH_ACTIVATION_ABS:
		return NPU_VEC_ABS;
	case GRAPH_ACTIVATION_FLOOR:
		return NPU_VEC_FLOOR;
	case GRAPH_ACTIVATION_ROUND:
		return NPU_VEC_ROUND;
	default:
		return -1;
	}
}

static bool by_steps(enum graph_activation_kind kind)
{
	switch (kind) {
	case GRAPH_ACTIVATION_NONE:
	case GRAPH_ACTIVATION_RELU:
	case GRAPH_ACTIVATION_CLIP:
	case GRAPH_ACTIVATION_SQRT:
	case GRAPH_ACTIVATION_SQUARE:
	case GRAPH_ACTIVATION_NEG:
	case GRAPH_ACTIVATION_CEIL:
	case GRAPH_ACTIVATION_LINEAR:
	case GRAPH_ACTIVATION_SOFTSIGN:
	case GRAPH_ACTIVATION_NOT:
	case GRAPH_ACTIVATION_ISNAN:
	case GRAPH_ACTIVATION_ISINF:
		return true;
	default:
		return false;
	}
}

bool vector_activation_supported(enum graph_activation_kind kind)
{
	return by_table(kind) || by_steps(kind) || direct_function(kind) >= 0;
}

static void clip(struct vector_program *program, enum vector_slot dst, enum vector_slot src,
		 float low, float high)
{
	bool has_low = !isinf(low), has_high = !isinf(high);

	if (has_low)
		with_scalar(program, NPU_VEC_MAX, dst, src, low);
	if (has_high)
		with_scalar(program, NPU_VEC_MIN, dst, has_low ? dst : src, high);
	if (!has_low && !has_high && dst != src)
		unary(program, NPU_VEC_COPY, dst, src);
}

/* alpha, beta: whether negative and positive infinity count. */
static void is_infinite(struct vector_program *program, const struct graph_activation *activation,
			enum vector_slot dst, enum vector_slot src)
{
	bool negative = activation->alpha != 0, positive = activation->beta != 0;

	unary(program, negative && positive ? NPU_VEC_ABS : NPU_VEC_COPY, VECTOR_TEMP1, src);
	with_scalar(program, NPU_VEC_EQUAL, dst, VECTOR_TEMP1,
		    positive ? INFINITY : negative ? -INFINITY : NAN);
}

static void steps_of(struct vector_program *program, const struct graph_activation *activation,
		     enum vector_slot dst, enum vector_slot src)
{
	switch (activation->kind) {
	case GRAPH_ACTIVATION_RELU:
		with_scalar(program, NPU_VEC_MAX, dst, src, 0);
		break;
	case GRAPH_ACTIVATION_CLIP:
		clip(program, dst, src, activation->alpha, activation->beta);
		break;
	case GRAPH_ACTIVATION_SQRT:
		with_scalar(program, NPU_VEC_MAX, VECTOR_TEMP1, src, SQRT_FLOOR);
		unary(program, NPU_VEC_RSQRT, VECTOR_TEMP1, VECTOR_TEMP1);
		vector_step(program, NPU_VEC_MUL, dst, src, VECTOR_TEMP1, VECTOR_NONE, 0);
		break;
	case GRAPH_ACTIVATION_SQUARE:
		vector_step(program, NPU_VEC_MUL, dst, src, src, VECTOR_NONE, 0);
		break;
	case GRAPH_ACTIVATION_NEG:
		with_scalar(program, NPU_VEC_MUL, dst, src, -1);
		break;
	case GRAPH_ACTIVATION_CEIL:
		with_scalar(program, NPU_VEC_MUL, VECTOR_TEMP1, src, -1);
		unary(program, NPU_VEC_FLOOR, VECTOR_TEMP1, VECTOR_TEMP1);
		with_scalar(program, NPU_VEC_MUL, dst, VECTOR_TEMP1, -1);
		break;
	case GRAPH_ACTIVATION_LINEAR:
		with_scalar(program, NPU_VEC_MUL, VECTOR_TEMP1, src, activation->alpha);
		with_scalar(program, NPU_VEC_ADD, dst, VECTOR_TEMP1, activation->beta);
		break;
	case GRAPH_ACTIVATION_SOFTSIGN:
		unary(program, NPU_VEC_ABS, VECTOR_TEMP1, src);
		with_scalar(program, NPU_VEC_ADD, VECTOR_TEMP1, VECTOR_TEMP1, 1);
		unary(program, NPU_VEC_RECIPROCAL, VECTOR_TEMP1, VECTOR_TEMP1);
		vector_step(program, NPU_VEC_MUL, dst, src, VECTOR_TEMP1, VECTOR_NONE, 0);
		break;
	case GRAPH_ACTIVATION_NOT:
		with_scalar(program, NPU_VEC_EQUAL, dst, src, 0);
		break;
	case GRAPH_ACTIVATION_ISNAN:
		vector_step(program, NPU_VEC_EQUAL, VECTOR_TEMP1, src, src, VECTOR_NONE, 0);
		with_scalar(program, NPU_VEC_EQUAL, dst, VECTOR_TEMP1, 0);
		break;
	case GRAPH_ACTIVATION_ISINF:
		is_infinite(program, activation, dst, src);
		break;
	default:
		if (dst != src)
			unary(program, NPU_VEC_COPY, dst, src);
		break;
	}
}

void vector_activation(struct vector_program *program, const struct graph_activation *activation,
		       enum vector_slot dst, enum vector_slot src)
{
	int direct = direct_function(activation->kind);

	/* What follows the function (affine) is in the table with it. */
	if (activation->affine || by_table(activation->kind)) {
		program->table = *activation;
		vector_step(program, NPU_VEC_TABLE, dst, src, VECTOR_TABLE, VECTOR_NONE, 0);
		return;
	}
	if (direct >= 0) {
		unary(program, (enum npu_vec)direct, dst, src);
		return;
	}
	steps_of(program, activation, dst, src);
}

static const struct npu_td *resolve(const struct npu_td operand[VECTOR_SLOT_COUNT],
				    enum vector_slot slot)
{
	if (slot == VECTOR_NONE)
		return NULL;
	return slot == VECTOR_SCALAR ? STREAM_SCALAR : &operand[slot];
}

void vector_emit(const struct vector_program *program, struct stream *stream,
		 const struct npu_td operand[VECTOR_SLOT_COUNT])
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct vector_step *step = &program->steps[i];

		stream_vec(stream, step->function, &operand[step->dst], resolve(operand, step->a),
			   resolve(operand, step->b), resolve(operand, step->c), 0, step->scalar);
	}
}

uint32_t vector_table_bytes(const struct vector_program *program)
{
	return program->uses_table ? sizeof(struct npu_table) : 0;
}

int vector_load_table(const struct vector_program *program, struct lower *lower, uint32_t cluster,
		      struct npu_td operand[VECTOR_SLOT_COUNT])
{
	static const uint32_t dims[4] = { 1, 1, 1, sizeof(struct npu_table) };
	static const int64_t strides[4] = { 0, 0, 0, 1 };
	struct stream *stream = lower->streams[cluster];
	uint32_t local;
	unsigned int token;
	int64_t offset;
	struct npu_td source;

	if (!program->uses_table)
		return 0;
	if (lower_table(lower, &program->table, &offset))
		return -1;
	local = lower_local(lower, cluster, sizeof(struct npu_table));
	if (local == UINT32_MAX)
		return diag_error(lower->diag, "no room in local SRAM for a function table");
	token = lower_token(lower, cluster);
	source = td_dram(NPU_ARG_WEIGHTS, offset, NPU_DTYPE_UINT8, dims, strides);
	operand[VECTOR_TABLE] = td_local_dense(local, NPU_DTYPE_UINT8, 1, 1, 1,
					       sizeof(struct npu_table));
	stream_dma(stream, 0, &operand[VECTOR_TABLE], &source, 0);
	stream_give(stream, NPU_ENGINE_DMA0, token);
	stream_need(stream, NPU_ENGINE_VECTOR, token);
	return 0;
}
