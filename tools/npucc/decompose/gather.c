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

static struct graph_value *cast(struct decompose *d, struct graph_value *x, enum graph_dtype dtype)
{
	struct graph_node *node;
	struct graph_value *y;

	if (!x || x->dtype == dtype)
		return x;
	node = graph_node_new(d->graph, d->node, GRAPH_OP_CAST, d->node->name, d->node->op_type, 1, 1);
	if (!node || graph_node_set_input(d->graph, node, 0, x))
		return NULL;
	y = graph_node_new_output(d->graph, node, 0, x->name, dtype);
	if (y)
		graph_value_set_shape(y, x->rank, x->dims);
	return y;
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
	negative = cast(d, decompose_eltwise(d, GRAPH_ELTWISE_LESS, indices, zero), GRAPH_DTYPE_I32);
	negative = decompose_eltwise(d, GRAPH_ELTWISE_MUL, negative, size);
	return decompose_eltwise(d, GRAPH_ELTWISE_ADD, indices, negative);
}

int decompose_gather(struct decompose *d)
{
	struct graph_value *data = d->node->inputs[0], *indices = d->node->inputs[1];
	const struct graph_value *output = d->node->outputs[0];
	const union graph_attr plain = { .matmul = { .transpose_a = false } };
	int64_t rows = data->dims[0], count = graph_element_count(indices);
	const int64_t column[2] = { count, 1 };
	const int64_t matrix[2] = { rows, graph_element_count(data) / rows };
	struct graph_value *operands[2];

	if (graph_is_constant(indices))
		return 0;
	indices = cast(d, indices, GRAPH_DTYPE_I32);
	indices = counted_from_start(d, decompose_reshape(d, indices, 2, column), rows);
	operands[0] = decompose_eltwise(d, GRAPH_ELTWISE_EQUAL, indices, numbers_below(d->graph, rows));
	operands[0] = cast(d, operands[0], data->dtype);
	operands[1] = decompose_reshape(d, data, 2, matrix);
	if (operands[1])
		operands[0] = decompose_op(d, GRAPH_OP_MATMUL, &plain, operands, 2);
	return decompose_finish(d, decompose_reshape(d, operands[0], output->rank, output->dims));
}
