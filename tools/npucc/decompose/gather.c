/* SPDX-License-Identifier: MIT */
/*
 * GATHER by computed indices (embeddings): the device's transfers cannot be told their source by data, so
 * each index becomes a row that is 1 in its place and else 0, and a matrix product picks
 * the rows: exactly, since all other products are 0.
 */
#include "decompose.h"

static struct graph_value *numbers_below(struct graph *graph, int64_t count)
{
	int32_t *data = arena_alloc_array(graph->arena, (uint64_t)count, sizeof(*data));

	if (!data)
		return NULL;
	for (int64_t i = 0; i < count; i++)
		data[i] = (int32_t)i;
	return graph_constant_new(graph, "places", GRAPH_DTYPE_I32, 1, &count, data);
}

/* Negative indices count from the end. */
static struct graph_value *counted_from_start(struct decompose *d, struct graph_value *indices,
					      int64_t rows)
{
	struct graph_value *negative, *zero, *size;
	static const int32_t none[1];
	int32_t *count = arena_alloc(d->graph->arena, sizeof(*count));

	if (!count)
		return NULL;
	*count = (int32_t)rows;
	zero = graph_constant_new(d->graph, "zero", GRAPH_DTYPE_I32, 0, NULL, none);
	size = graph_constant_new(d->graph, "rows", GRAPH_DTYPE_I32, 0, NULL, count);
	negative = decompose_eltwise(d, GRAPH_ELTWISE_LESS, indices, zero);
	negative = decompose_cast(d, negative, GRAPH_DTYPE_I32);
	negative = decompose_eltwise(d, GRAPH_ELTWISE_MUL, negative, size);
	return decompose_eltwise(d, GRAPH_ELTWISE_ADD, indices, negative);
}

static int look_up(struct decompose *d)
{
	struct graph_value *data = d->node->inputs[0], *indices = d->node->inputs[1];
	const struct graph_value *output = d->node->outputs[0];
	const union graph_attr plain = { .matmul = { .transpose_a = false } };
	int64_t rows = data->dims[0], count = graph_element_count(indices);
	const int64_t column[2] = { count, 1 };
	const int64_t matrix[2] = { rows, graph_element_count(data) / rows };
	struct graph_value *operands[2];

	indices = decompose_cast(d, indices, GRAPH_DTYPE_I32);
	indices = counted_from_start(d, decompose_reshape(d, indices, 2, column), rows);
	operands[0] = decompose_eltwise(d, GRAPH_ELTWISE_EQUAL, indices, numbers_below(d->graph, rows));
	operands[0] = decompose_cast(d, operands[0], data->dtype);
	operands[1] = decompose_reshape(d, data, 2, matrix);
	if (operands[1])
		operands[0] = decompose_op(d, GRAPH_OP_MATMUL, &plain, operands, 2);
	return decompose_finish(d, decompose_reshape(d, operands[0], output->rank, output->dims));
}

int decompose_gather(struct decompose *d)
{
	return graph_is_constant(d->node->inputs[1]) ? 0 : look_up(d);
}
