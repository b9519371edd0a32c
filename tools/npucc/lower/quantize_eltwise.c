// SPDX-License-Identifier: MIT
/* ELTWISE and ACTIVATION on bytes. */
#include <math.h>

#include "../fold/eval.h"
#include "quantize.h"

/* -------------------------------------------------------------------------- tables */
static uint8_t saturated(double number, enum graph_dtype dtype)
{
	double low = dtype == GRAPH_DTYPE_U8 ? 0 : INT8_MIN;
	double high = dtype == GRAPH_DTYPE_U8 ? UINT8_MAX : INT8_MAX;

	if (isnan(number))
		return 0;
	return (uint8_t)(int)fmin(fmax(number, low), high);
}

/* Any function of one byte is a table of the bytes it gives. */
static void fill_bytes(const struct graph_node *node, uint8_t *bytes)
{
	const struct graph_quantization *from = &node->quant->inputs[0], *to = &node->quant->output;
	bool is_signed = node->inputs[0]->dtype == GRAPH_DTYPE_I8;

	for (int i = 0; i <= UINT8_MAX; i++) {
		int integer = is_signed ? (int8_t)i : i;
		float x = (float)(integer - from->zero) * from->scales[0];
		float y = (float)eval_activation(&node->attr.activation, (double)x);

		bytes[i] = saturated((double)(nearbyintf(y / to->scales[0])) + to->zero,
				     node->outputs[0]->dtype);
	}
}

static int lower_bytes(struct lower *lower, const struct graph_node *node)
{
	struct quantize_job job = { .lower = lower, .node = node };
	enum vector_slot x = quantize_source(&job, node->inputs[0], 0);
	uint8_t bytes[UINT8_MAX + 1];

	if (x == VECTOR_NONE)
		return -1;
	fill_bytes(node, bytes);
	job.bytes = bytes;
	vector_step(&job.program, NPU_VEC_TABLE, VECTOR_OUT, x, VECTOR_TABLE, VECTOR_NONE, 0);
	return quantize_run(&job);
}

/* ---------------------------------------------------------------------- arithmetic */
/* An operand: integers times a scale, or one number. */
struct operand {
	enum vector_slot slot;		/* VECTOR_SCALAR: a number */
	double scale;
	double number;
};

static int read_operand(struct quantize_job *job, uint32_t index, struct operand *operand)
{
	const struct graph_value *value = job->node->inputs[index];
	const struct graph_quantization *quantization = &job->node->quant->inputs[index];

	if (!quantization->scales) {
		*operand = (struct operand){ .slot = VECTOR_SCALAR,
					     .number = (double)graph_constant_as_f32(value, 0) };
		return 0;
	}
	operand->scale = (double)quantization->scales[0];
	operand->slot = quantize_source(job, value, quantization->zero);
	return operand->slot == VECTOR_NONE ? -1 : 0;
}

static void scaled(struct quantize_job *job, enum vector_slot dst, const struct operand *operand,
		   double factor)
{
	vector_step(&job->program, NPU_VEC_MUL, dst, operand->slot, VECTOR_SCALAR, VECTOR_NONE,
		    (float)(operand->scale * factor));
}

/* dst = a + sign b, all in units of @unit. */
static void build_sum(struct quantize_job *job, enum vector_slot dst, const struct operand *a,
		      const struct operand *b, double sign, double unit)
{
	if (b->slot == VECTOR_SCALAR || a->slot == VECTOR_SCALAR) {
		const struct operand *x = b->slot == VECTOR_SCALAR ? a : b;
		double number = x == a ? sign * b->number : a->number;

		scaled(job, VECTOR_TEMP0, x, (x == a ? 1 : sign) / unit);
		vector_step(&job->program, NPU_VEC_ADD, dst, VECTOR_TEMP0, VECTOR_SCALAR,
			    VECTOR_NONE, (float)(number / unit));
		return;
	}
	scaled(job, VECTOR_TEMP0, a, 1 / unit);
	vector_step(&job->program, NPU_VEC_MULADD, dst, b->slot, VECTOR_SCALAR, VECTOR_TEMP0,
		    (float)(sign * b->scale / unit));
}

static void build_product(struct quantize_job *job, enum vector_slot dst, const struct operand *a,
			  const struct operand *b, double unit)
{
	if (b->slot == VECTOR_SCALAR || a->slot == VECTOR_SCALAR) {
		const struct operand *x = b->slot == VECTOR_SCALAR ? a : b;

		scaled(job, dst, x, (x == a ? b->number : a->number) / unit);
		return;
	}
	vector_step(&job->program, NPU_VEC_MUL, VECTOR_TEMP0, a->slot, b->slot, VECTOR_NONE, 0);
	vector_step(&job->program, NPU_VEC_MUL, dst, VECTOR_TEMP0, VECTOR_SCALAR, VECTOR_NONE,
		    (float)(a->scale * b->scale / unit));
}

static void build_quotient(struct quantize_job *job, enum vector_slot dst, const struct operand *a,
			   const struct operand *b, double unit)
{
	if (b->slot == VECTOR_SCALAR) {
		scaled(job, dst, a, 1 / (b->number * unit));
		return;
	}
	vector_step(&job->program, NPU_VEC_RECIPROCAL, VECTOR_TEMP0, b->slot, VECTOR_NONE,
		    VECTOR_NONE, 0);
	if (a->slot == VECTOR_SCALAR) {
		vector_step(&job->program, NPU_VEC_MUL, dst, VECTOR_TEMP0, VECTOR_SCALAR,
			    VECTOR_NONE, (float)(a->number / (b->scale * unit)));
		return;
	}
	vector_step(&job->program, NPU_VEC_MUL, VECTOR_TEMP0, VECTOR_TEMP0, a->slot, VECTOR_NONE,
		    0);
	vector_step(&job->program, NPU_VEC_MUL, dst, VECTOR_TEMP0, VECTOR_SCALAR, VECTOR_NONE,
		    (float)(a->scale / (b->scale * unit)));
}

static void build_extreme(struct quantize_job *job, enum vector_slot dst, const struct operand *a,
			  const struct operand *b, double unit, enum npu_vec function)
{
	if (b->slot == VECTOR_SCALAR || a->slot == VECTOR_SCALAR) {
		const struct operand *x = b->slot == VECTOR_SCALAR ? a : b;

		scaled(job, VECTOR_TEMP0, x, 1 / unit);
		vector_step(&job->program, function, dst, VECTOR_TEMP0, VECTOR_SCALAR, VECTOR_NONE,
			    (float)((x == a ? b->number : a->number) / unit));
		return;
	}
	scaled(job, VECTOR_TEMP0, a, 1 / unit);
	scaled(job, VECTOR_TEMP1, b, 1 / unit);
	vector_step(&job->program, function, dst, VECTOR_TEMP0, VECTOR_TEMP1, VECTOR_NONE, 0);
}

static void build(struct quantize_job *job, enum vector_slot dst, const struct operand *a,
		  const struct operand *b, double unit)
{
	switch (job->node->attr.eltwise) {
	case GRAPH_ELTWISE_SUB:
		build_sum(job, dst, a, b, -1, unit);
		break;
	case GRAPH_ELTWISE_MUL:
		build_product(job, dst, a, b, unit);
		break;
	case GRAPH_ELTWISE_DIV:
		build_quotient(job, dst, a, b, unit);
		break;
	case GRAPH_ELTWISE_MAX:
		build_extreme(job, dst, a, b, unit, NPU_VEC_MAX);
		break;
	case GRAPH_ELTWISE_MIN:
		build_extreme(job, dst, a, b, unit, NPU_VEC_MIN);
		break;
	default:
		build_sum(job, dst, a, b, 1, unit);
		break;
	}
}

int lower_quantized_eltwise(struct lower *lower, struct graph_node *node)
{
	struct quantize_job job = { .lower = lower,
				    .node = node,
				    .output_zero = node->quant->output.zero };
	double unit = (double)node->quant->output.scales[0];
	const struct graph_activation *activation = &node->activation;
	struct operand a = { 0 }, b = { 0 };

	if (node->op == GRAPH_OP_ACTIVATION)
		return lower_bytes(lower, node);
	if (read_operand(&job, 0, &a) || read_operand(&job, 1, &b))
		return -1;
	if (activation->kind == GRAPH_ACTIVATION_NONE) {
		build(&job, VECTOR_OUT, &a, &b, unit);
	} else if (activation->kind == GRAPH_ACTIVATION_RELU && !activation->affine) {
		/* Scales are positive, so the sign is that of the number. */
		build(&job, VECTOR_TEMP0, &a, &b, unit);
		vector_step(&job.program, NPU_VEC_MAX, VECTOR_OUT, VECTOR_TEMP0, VECTOR_SCALAR,
			    VECTOR_NONE, 0);
	} else {
		build(&job, VECTOR_TEMP0, &a, &b, 1);
		vector_activation(&job.program, activation, VECTOR_TEMP0, VECTOR_TEMP0);
		vector_step(&job.program, NPU_VEC_MUL, VECTOR_OUT, VECTOR_TEMP0, VECTOR_SCALAR,
			    VECTOR_NONE, (float)(1 / unit));
	}
	return quantize_run(&job);
}
