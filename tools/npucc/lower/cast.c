// SPDX-License-Identifier: MIT
/*
 * CAST. The vector unit rounds to nearest where a cast to integers cuts fractions off, and
 * saturates where one between integers keeps the low bits; these are a few instructions, or a
 * copy of low bytes.
 */
#include "copy.h"
#include "quantize.h"

static bool is_integer(enum graph_dtype dtype)
{
	return !graph_dtype_is_float(dtype) && dtype != GRAPH_DTYPE_BOOL;
}

static void step(struct quantize_job *job, enum npu_vec function, enum vector_slot dst,
		 enum vector_slot a, enum vector_slot b, float scalar)
{
	vector_step(&job->program, function, dst, a, b, VECTOR_NONE, scalar);
}

/* floor(|x|) times the sign. */
static void truncate(struct quantize_job *job, enum vector_slot dst, enum vector_slot x)
{
	step(job, NPU_VEC_ABS, VECTOR_TEMP0, x, VECTOR_NONE, 0);
	step(job, NPU_VEC_FLOOR, VECTOR_TEMP0, VECTOR_TEMP0, VECTOR_NONE, 0);
	step(job, NPU_VEC_GREATER, VECTOR_TEMP1, x, VECTOR_SCALAR, 0);
	step(job, NPU_VEC_MUL, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_SCALAR, 2);
	step(job, NPU_VEC_ADD, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_SCALAR, -1);
	step(job, NPU_VEC_MUL, dst, VECTOR_TEMP0, VECTOR_TEMP1, 0);
}

static void compare_with_zero(struct quantize_job *job, enum vector_slot x)
{
	step(job, NPU_VEC_EQUAL, VECTOR_TEMP0, x, VECTOR_SCALAR, 0);
	step(job, NPU_VEC_EQUAL, VECTOR_OUT, VECTOR_TEMP0, VECTOR_SCALAR, 0);
}

/* Low bytes of a wider integer, which stand first. */
static void keep_low_bytes(struct quantize_job *job, enum npu_dtype to)
{
	if (NPU_DTYPE_BYTES(to) <= NPU_DTYPE_BYTES(job->source[0].dtype))
		job->source[0].dtype = to;
}

/* An uint16 is held in 32 bits: TEMP0 without its multiples of 2^16, exactly. */
static void keep_16_bits(struct quantize_job *job)
{
	step(job, NPU_VEC_MUL, VECTOR_TEMP1, VECTOR_TEMP0, VECTOR_SCALAR, 1.0f / 65536);
	step(job, NPU_VEC_FLOOR, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_NONE, 0);
	step(job, NPU_VEC_MUL, VECTOR_TEMP1, VECTOR_TEMP1, VECTOR_SCALAR, 65536);
	step(job, NPU_VEC_SUB, VECTOR_OUT, VECTOR_TEMP0, VECTOR_TEMP1, 0);
}

static void between_integers(struct quantize_job *job, enum vector_slot x)
{
	if (job->node->outputs[0]->dtype == GRAPH_DTYPE_U16) {
		keep_low_bytes(job, NPU_DTYPE_INT16);
		step(job, NPU_VEC_COPY, VECTOR_TEMP0, x, VECTOR_NONE, 0);
		keep_16_bits(job);
		return;
	}
	keep_low_bytes(job, placement_of(job->node->outputs[0])->dtype);
	step(job, NPU_VEC_COPY, VECTOR_OUT, x, VECTOR_NONE, 0);
}

static void to_integer(struct quantize_job *job, enum vector_slot x)
{
	if (job->node->outputs[0]->dtype != GRAPH_DTYPE_U16) {
		truncate(job, VECTOR_OUT, x);
		return;
	}
	truncate(job, VECTOR_TEMP0, x);
	keep_16_bits(job);
}

int lower_cast(struct lower *lower, struct graph_node *node)
{
	struct quantize_job job = { .lower = lower, .node = node };
	enum graph_dtype from = node->inputs[0]->dtype, to = node->outputs[0]->dtype;
	enum vector_slot x = quantize_source(&job, node->inputs[0], 0);

	if (x == VECTOR_NONE)
		return -1;
	/* The vector unit would round what an int32 has beyond 24 bits. */
	if (!graph_dtype_is_float(to) && layout_same_bits(from, to))
		return copy_region(lower, node, placement_of(node->outputs[0]), &job.source[0]);
	if (to == GRAPH_DTYPE_BOOL)
		compare_with_zero(&job, x);
	else if (is_integer(from) && is_integer(to))
		between_integers(&job, x);
	else if (graph_dtype_is_float(from) && is_integer(to))
		to_integer(&job, x);
	else
		step(&job, NPU_VEC_COPY, VECTOR_OUT, x, VECTOR_NONE, 0);
	return quantize_run(&job);
}
