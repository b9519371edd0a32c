// SPDX-License-Identifier: MIT
/* Execution: VEC. Manual: arithmetic.rst "Vector unit". */
#include "execute_internal.h"

#include <string.h>

#include "numbers.h"

/* A source: where its elements are, or the immediate. */
struct source {
	const struct npu_tensor *tensor;
	const uint8_t *from;
	int64_t stride[4];
};

struct vector {
	const struct execution *execution;
	const struct npu_operation *operation;
	struct source source[3];	/* values only: tables and sums are apart */
	uint32_t dim[4];		/* of the loops */
	int64_t to_stride[4];		/* the destination's in these loops */
};

static uint8_t *destination(const struct vector *vector, const struct npu_tensor *tensor)
{
	return vector->execution->memory->local + tensor->offset;
}

static float *buffer(const struct vector *vector, unsigned int index)
{
	return vector->execution->scratch->row[index];
}

static void fill(float *to, float value, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = value;
}

/* Elements first .. first + count - 1 of a row of a source; count is at most CHUNK. */
static void load(const struct vector *vector, unsigned int index, const uint32_t at[3],
		 uint32_t first, uint32_t count)
{
	const struct source *source = &vector->source[index];
	const struct npu_tensor *tensor = source->tensor;
	int64_t offset;

	if (tensor->kind == NPU_OPERAND_IMMEDIATE) {
		fill(buffer(vector, index), float_from_bits(vector->operation->vec.immediate),
		     count);
		return;
	}
	if (tensor->kind != NPU_OPERAND_TENSOR)
		return;
	offset = at[0] * source->stride[0] + at[1] * source->stride[1] +
		 at[2] * source->stride[2] + first * source->stride[3];
	execution_load(vector->execution, buffer(vector, index), source->from + offset,
		       source->stride[3], tensor->dtype, tensor->zero, count);
}

static uint32_t chunk_of(uint32_t left)
{
	return left < CHUNK ? left : CHUNK;
}

/* ((s0 + s8) + (s4 + s12)) + ... : halves of the sums are added, eight, four, two, one. */
static float combine(float sums[NPU_PARTIAL_SUMS])
{
	uint32_t half, i;

	for (half = NPU_PARTIAL_SUMS / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			sums[i] += sums[i + half];
	return sums[0];
}

/* ------------------------------------------------------------------- element-wise */

static bool sums_rows(const struct vector *vector)
{
	return vector->operation->subop == NPU_VEC_EXPSUM;
}

/*
 * Makes rows longer: an outer dim that continues the next inner one in every operand becomes
 * part of it. Not where rows have sums of their own.
 */
static bool continues(const int64_t stride[4], int outer, int64_t size)
{
	return size == 1 || stride[outer] == size * stride[3];
}

static void merge_dim(struct vector *vector, int outer)
{
	unsigned int i;

	if (vector->dim[3] == 1) {
		vector->to_stride[3] = vector->to_stride[outer];
		for (i = 0; i < 3; i++)
			vector->source[i].stride[3] = vector->source[i].stride[outer];
	}
	vector->dim[3] *= vector->dim[outer];	/* bounded by the limit of elements */
	vector->dim[outer] = 1;
}

static void merge_dims(struct vector *vector)
{
	int outer;

	for (outer = 2; outer >= 0 && !sums_rows(vector); outer--) {
		int64_t size = vector->dim[3];
		unsigned int i;

		if (vector->dim[outer] == 1)
			continue;
		if (!continues(vector->to_stride, outer, size))
			return;
		for (i = 0; i < 3; i++)	/* those of other operands are all zero */
			if (!continues(vector->source[i].stride, outer, size))
				return;
		merge_dim(vector, outer);
	}
}

static void compute(const struct vector *vector, uint32_t count)
{
	const struct npu_element_kernels *kernels = vector->execution->kernels->element;
	float *to = buffer(vector, 3);

	if (vector->operation->subop == NPU_VEC_TABLE)
		kernels->table(to, buffer(vector, 0), &vector->execution->scratch->table, count);
	else
		kernels->element[vector->operation->subop](to, buffer(vector, 0),
							   buffer(vector, 1), buffer(vector, 2),
							   count);
}

static void element_row(const struct vector *vector, const uint32_t at[3])
{
	const struct npu_tensor *dst = &vector->operation->dst;
	const struct npu_tensor *second = &vector->operation->src[2];
	uint8_t *to = destination(vector, dst) + at[0] * vector->to_stride[0] +
		      at[1] * vector->to_stride[1] + at[2] * vector->to_stride[2];
	float sums[NPU_PARTIAL_SUMS] = { 0 };
	uint32_t first, count;
	float sum;

	for (first = 0; first < vector->dim[3]; first += count) {
		count = chunk_of(vector->dim[3] - first);
		load(vector, 0, at, first, count);
		load(vector, 1, at, first, count);
		load(vector, 2, at, first, count);
		compute(vector, count);
		if (sums_rows(vector))
			vector->execution->kernels->element->partial_sums(sums, buffer(vector, 3),
									  count);
		execution_store(vector->execution, to + first * vector->to_stride[3],
				vector->to_stride[3], dst->dtype, dst->zero, buffer(vector, 3),
				count);
	}
	if (!sums_rows(vector))
		return;
	sum = combine(sums);
	execution_store(vector->execution,
			vector->execution->memory->local +
				tensor_at(second, at[0], at[1], at[2], 0),
			4, NPU_DTYPE_FP32, 0, &sum, 1);
}

static void element_wise(struct vector *vector)
{
	uint32_t at[3];

	merge_dims(vector);
	for (at[0] = 0; at[0] < vector->dim[0]; at[0]++)
		for (at[1] = 0; at[1] < vector->dim[1]; at[1]++)
			for (at[2] = 0; at[2] < vector->dim[2]; at[2]++)
				element_row(vector, at);
}

/* 256 bytes indexed by the value's bits: no arithmetic at all. */
static void byte_table(const struct vector *vector)
{
	const struct npu_tensor *dst = &vector->operation->dst;
	const struct source *source = &vector->source[0];
	const struct npu_tensor *table = &vector->operation->src[1];
	uint8_t bytes[256];
	uint32_t i[4];

	memcpy(bytes, vector->execution->memory->local + table->offset, sizeof(bytes));
	for (i[0] = 0; i[0] < dst->dim[0]; i[0]++)
		for (i[1] = 0; i[1] < dst->dim[1]; i[1]++)
			for (i[2] = 0; i[2] < dst->dim[2]; i[2]++) {
				uint8_t *to = vector->execution->memory->local +
					      tensor_at(dst, i[0], i[1], i[2], 0);
				const uint8_t *from = source->from + i[0] * source->stride[0] +
						      i[1] * source->stride[1] +
						      i[2] * source->stride[2];

				for (i[3] = 0; i[3] < dst->dim[3]; i[3]++)
					to[i[3] * dst->stride[3]] =
						bytes[from[i[3] * source->stride[3]]];
			}
}

/* --------------------------------------------------------------------- reductions */

static void accumulate(const struct vector *vector, float sums[NPU_PARTIAL_SUMS],
		       float squares[NPU_PARTIAL_SUMS], uint32_t count)
{
	const struct npu_element_kernels *kernels = vector->execution->kernels->element;
	const float *from = buffer(vector, 0);

	if (vector->operation->subop == NPU_VEC_REDUCE_MAX) {
		kernels->partial_max(sums, from, count);
		return;
	}
	kernels->partial_sums(sums, from, count);
	if (vector->operation->subop == NPU_VEC_REDUCE_SUMSQ)
		kernels->partial_squares(squares, from, count);
}

static float start_value(const struct vector *vector)
{
	return vector->operation->subop == NPU_VEC_REDUCE_MAX ? -FP32_INFINITY : 0.0f;
}

static void store_results(const struct vector *vector, const uint32_t at[3], uint32_t first,
			  float *results, const float *squares, uint32_t count)
{
	const struct npu_operation *operation = vector->operation;
	const struct npu_tensor *dst = &operation->dst;
	const struct npu_tensor *second = &operation->src[2];
	uint8_t *local = vector->execution->memory->local;
	float scale = 1.0f / (float)operation->vec.count;
	uint32_t i;

	if (operation->subop == NPU_VEC_REDUCE_MEAN)
		for (i = 0; i < count; i++)
			results[i] *= scale;
	execution_store(vector->execution, local + tensor_at(dst, at[0], at[1], at[2], first),
			dst->stride[3], dst->dtype, dst->zero, results, count);
	if (operation->subop == NPU_VEC_REDUCE_SUMSQ)
		execution_store(vector->execution,
				local + tensor_at(second, at[0], at[1], at[2], first),
				second->stride[3], NPU_DTYPE_FP32, 0, squares, count);
}

/* Where the reduced outer dims go from and to: all of them, or only the result's own place. */
struct span {
	uint32_t first[3], last[3];
};

static struct span span_of(const struct vector *vector, const uint32_t at[3])
{
	struct span span;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		bool reduced = vector->operation->vec.reduced & (1u << i);

		span.first[i] = reduced ? 0 : at[i];
		span.last[i] = reduced ? vector->dim[i] : at[i] + 1;
	}
	return span;
}

#define FOR_SPAN(span, i)							\
	for (i[0] = (span).first[0]; i[0] < (span).last[0]; i[0]++)		\
		for (i[1] = (span).first[1]; i[1] < (span).last[1]; i[1]++)	\
			for (i[2] = (span).first[2]; i[2] < (span).last[2]; i[2]++)

/* The innermost dim is reduced: one result. */
static void reduce_rows(const struct vector *vector, const uint32_t at[3])
{
	struct span span = span_of(vector, at);
	float sums[NPU_PARTIAL_SUMS], squares[NPU_PARTIAL_SUMS];
	uint32_t i[3], first, count, half;

	fill(sums, start_value(vector), NPU_PARTIAL_SUMS);
	fill(squares, 0.0f, NPU_PARTIAL_SUMS);
	FOR_SPAN(span, i) {
		for (first = 0; first < vector->dim[3]; first += count) {
			count = chunk_of(vector->dim[3] - first);
			load(vector, 0, i, first, count);
			accumulate(vector, sums, squares, count);
		}
	}
	if (vector->operation->subop == NPU_VEC_REDUCE_MAX) {
		for (half = 1; half < NPU_PARTIAL_SUMS; half++)
			sums[0] = float_max(sums[0], sums[half]);
	} else {
		combine(sums);
		combine(squares);
	}
	store_results(vector, at, 0, sums, squares, 1);
}

/* The innermost dim is not reduced: a row of results, each a sum of its own. */
static void reduce_columns(const struct vector *vector, const uint32_t at[3])
{
	const struct npu_element_kernels *kernels = vector->execution->kernels->element;
	bool max = vector->operation->subop == NPU_VEC_REDUCE_MAX;
	bool square = vector->operation->subop == NPU_VEC_REDUCE_SUMSQ;
	struct span span = span_of(vector, at);
	float squares[CHUNK];
	uint32_t i[3], j, first, count;

	for (first = 0; first < vector->dim[3]; first += count) {
		float *sums = buffer(vector, 1), *spare = buffer(vector, 2);

		count = chunk_of(vector->dim[3] - first);
		fill(sums, start_value(vector), count);
		fill(squares, 0.0f, count);
		FOR_SPAN(span, i) {
			const float *from = buffer(vector, 0);
			float *swap = spare;

			load(vector, 0, i, first, count);
			kernels->element[max ? NPU_VEC_MAX : NPU_VEC_ADD](swap, sums, from, NULL,
									  count);
			spare = sums;
			sums = swap;
			for (j = 0; square && j < count; j++)
				squares[j] += from[j] * from[j];
		}
		store_results(vector, at, first, sums, squares, count);
	}
}

/* Lowest index of the greatest; a NaN is greater than all, the first of them counts. */
static void reduce_argmax(const struct vector *vector, const uint32_t at[3])
{
	const struct npu_tensor *dst = &vector->operation->dst;
	const float *from = buffer(vector, 0);
	float best = -FP32_INFINITY;
	uint32_t index = 0, first, count, i;

	for (first = 0; first < vector->dim[3] && best == best; first += count) {
		count = chunk_of(vector->dim[3] - first);
		load(vector, 0, at, first, count);
		for (i = 0; i < count && best == best; i++) {
			if (from[i] <= best)
				continue;
			best = from[i];
			index = first + i;
		}
	}
	store_le32(vector->execution->memory->local + tensor_at(dst, at[0], at[1], at[2], 0),
		   index);
}

static void reduce(const struct vector *vector)
{
	const struct npu_operation *operation = vector->operation;
	const uint32_t *dim = operation->dst.dim;
	uint32_t at[3];

	for (at[0] = 0; at[0] < dim[0]; at[0]++)
		for (at[1] = 0; at[1] < dim[1]; at[1]++)
			for (at[2] = 0; at[2] < dim[2]; at[2]++) {
				if (operation->subop == NPU_VEC_REDUCE_ARGMAX)
					reduce_argmax(vector, at);
				else if (operation->vec.reduced & (1u << 3))
					reduce_rows(vector, at);
				else
					reduce_columns(vector, at);
			}
}

/* -------------------------------------------------------------------------- entry */

static const struct npu_tensor no_operand;

static void prepare_sources(struct vector *vector)
{
	const struct npu_operation *operation = vector->operation;
	bool reduction = operation->subop >= NPU_VEC_REDUCE_SUM;
	unsigned int i, j;

	for (i = 0; i < 3; i++) {
		struct source *source = &vector->source[i];
		const struct npu_tensor *tensor = &operation->src[i];
		bool value = tensor->kind == NPU_OPERAND_IMMEDIATE ||
			     tensor->kind == NPU_OPERAND_TENSOR;

		if (i == 2 && (operation->subop == NPU_VEC_EXPSUM ||
			       operation->subop == NPU_VEC_REDUCE_SUMSQ))
			value = false;
		source->tensor = value ? tensor : &no_operand;
		if (!value || tensor->kind == NPU_OPERAND_IMMEDIATE)
			continue;
		source->from = execution_tensor(vector->execution, tensor, !reduction) +
			       tensor->offset;
		for (j = 0; j < 4; j++)
			source->stride[j] = tensor->stride[j];
	}
}

void execute_vec(const struct execution *execution)
{
	const struct npu_operation *operation = execution->operation;
	struct vector vector = {
		.execution = execution,
		.operation = operation,
	};
	const struct npu_tensor *table = &operation->src[1];
	unsigned int i;

	prepare_sources(&vector);
	for (i = 0; i < 4; i++) {
		vector.dim[i] = operation->vec.dim[i];
		vector.to_stride[i] = operation->dst.stride[i];
	}
	if (operation->vec.byte_table) {
		byte_table(&vector);
		return;
	}
	if (operation->subop == NPU_VEC_TABLE)
		execution_load_table(&execution->scratch->table,
				     execution->memory->local + table->offset);
	if (operation->subop >= NPU_VEC_REDUCE_SUM)
		reduce(&vector);
	else
		element_wise(&vector);
}
