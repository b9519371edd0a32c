// SPDX-License-Identifier: MIT
/* Operators that move elements and do not look at them. */
#include <inttypes.h>
#include <string.h>

#include "eval.h"

static void copy_element(void *to, int64_t to_index, const void *from, int64_t from_index,
			 uint32_t bytes)
{
	memcpy((uint8_t *)to + to_index * bytes, (const uint8_t *)from + from_index * bytes, bytes);
}

/* Output elements in order; operand 0 of the walk says where each comes from. */
static void copy_walk(struct eval_walk *walk, uint32_t bytes, const void *input, void *output)
{
	int64_t i;

	for (i = 0; i < walk->count; i++, eval_walk_next(walk))
		copy_element(output, i, input, walk->offset[0], bytes);
}

static void move_transpose(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0];
	int64_t strides[GRAPH_MAX_RANK];
	struct eval_walk walk;
	uint32_t i;

	eval_strides(x, strides);
	eval_walk_init(&walk, node->outputs[0]);
	for (i = 0; i < x->rank; i++)
		walk.stride[0][i] = strides[node->attr.transpose.perm[i]];
	copy_walk(&walk, graph_dtype_bytes(x->dtype), input, output);
}

static void move_slice(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0];
	int64_t strides[GRAPH_MAX_RANK];
	struct eval_walk walk;
	uint32_t i;

	eval_strides(x, strides);
	eval_walk_init(&walk, node->outputs[0]);
	for (i = 0; walk.count && i < x->rank; i++) {
		walk.offset[0] += node->attr.slice.start[i] * strides[i];
		/* A dimension of one never steps, and its step may be anything. */
		if (walk.dims[i] > 1)
			walk.stride[0][i] = node->attr.slice.step[i] * strides[i];
	}
	copy_walk(&walk, graph_dtype_bytes(x->dtype), input, output);
}

/* Blocks of everything from the axis on: CONCAT writes them, SPLIT reads them. */
static void copy_blocks(const struct graph_value *whole, const struct graph_value *part,
			int64_t axis, int64_t at, void *to, const void *from, bool to_whole)
{
	int64_t outer = 1, inner = graph_dtype_bytes(whole->dtype), i;
	uint32_t j;

	for (j = 0; j < (uint32_t)axis; j++)
		outer *= whole->dims[j];
	for (j = (uint32_t)axis + 1; j < whole->rank; j++)
		inner *= whole->dims[j];
	for (i = 0; i < outer; i++) {
		int64_t in_whole = (i * whole->dims[axis] + at) * inner;
		int64_t in_part = i * part->dims[axis] * inner;
		size_t size = (size_t)(part->dims[axis] * inner);

		if (!size)
			continue;
		if (to_whole)
			memcpy((uint8_t *)to + in_whole, (const uint8_t *)from + in_part, size);
		else
			memcpy((uint8_t *)to + in_part, (const uint8_t *)from + in_whole, size);
	}
}

static void move_concat(const struct graph_node *node, const void *const *inputs, void *output)
{
	int64_t at = 0;
	uint32_t i;

	for (i = 0; i < node->input_count; i++) {
		copy_blocks(node->outputs[0], node->inputs[i], node->attr.axis.axis, at, output,
			    inputs[i], true);
		at += node->inputs[i]->dims[node->attr.axis.axis];
	}
}

static void move_split(const struct graph_node *node, const void *input, void *const *outputs)
{
	int64_t at = 0;
	uint32_t i;

	for (i = 0; i < node->output_count; i++) {
		copy_blocks(node->inputs[0], node->outputs[i], node->attr.axis.axis, at, outputs[i],
			    input, false);
		at += node->outputs[i]->dims[node->attr.axis.axis];
	}
}

/* Where a padded position comes from; -1 for the fill value. */
static int64_t pad_source(enum graph_pad_mode mode, int64_t position, int64_t size)
{
	if (position >= 0 && position < size)
		return position;
	switch (mode) {
	case GRAPH_PAD_EDGE:
		return position < 0 ? 0 : size - 1;
	case GRAPH_PAD_WRAP:
		position %= size;
		return position < 0 ? position + size : position;
	case GRAPH_PAD_REFLECT:
		return position < 0 ? -position : 2 * (size - 1) - position;
	default:
		return -1;
	}
}

static void move_pad(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0];
	const struct graph_attr_pad *pad = &node->attr.pad;
	uint32_t bytes = graph_dtype_bytes(x->dtype), j;
	int64_t strides[GRAPH_MAX_RANK], i;
	struct eval_walk walk;

	eval_strides(x, strides);
	eval_walk_init(&walk, node->outputs[0]);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		int64_t offset = 0;

		for (j = 0; j < x->rank && offset >= 0; j++) {
			int64_t source =
				pad_source(pad->mode, walk.index[j] - pad->begin[j], x->dims[j]);

			offset = source < 0 || source >= x->dims[j] ? -1 :
								      offset + source * strides[j];
		}
		if (offset >= 0)
			copy_element(output, i, input, offset, bytes);
		else
			eval_store(x->dtype, output, i, (double)pad->value);
	}
}

static void move_expand(const struct graph_node *node, const void *input, void *output)
{
	struct eval_walk walk;

	eval_walk_init(&walk, node->outputs[0]);
	eval_walk_broadcast(&walk, 0, node->inputs[0]);
	copy_walk(&walk, graph_dtype_bytes(node->inputs[0]->dtype), input, output);
}

static void move_tile(const struct graph_node *node, const void *input, void *output)
{
	const struct graph_value *x = node->inputs[0];
	uint32_t bytes = graph_dtype_bytes(x->dtype), j;
	int64_t strides[GRAPH_MAX_RANK], i;
	struct eval_walk walk;

	eval_strides(x, strides);
	eval_walk_init(&walk, node->outputs[0]);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		int64_t offset = 0;

		for (j = 0; j < x->rank; j++)
			offset += walk.index[j] % x->dims[j] * strides[j];
		copy_element(output, i, input, offset, bytes);
	}
}

static int move_gather(const struct graph_node *node, const void *input, const void *indices,
		       void *output, struct diag *diag)
{
	const struct graph_value *x = node->inputs[0], *index = node->inputs[1];
	int64_t axis = node->attr.axis.axis, outer = 1, i, j;
	int64_t inner = graph_dtype_bytes(x->dtype), count = graph_element_count(index);
	uint32_t k;

	for (k = 0; k < (uint32_t)axis; k++)
		outer *= x->dims[k];
	for (k = (uint32_t)axis + 1; k < x->rank; k++)
		inner *= x->dims[k];
	for (j = 0; j < count; j++) {
		int64_t from = eval_load_int(index->dtype, indices, j);

		if (from < -x->dims[axis] || from >= x->dims[axis])
			return diag_error(diag,
					  "node '%s' (%s): index %" PRId64
					  " is outside the %" PRId64 " entries of axis %" PRId64,
					  node->name, node->op_type, from, x->dims[axis], axis);
		if (from < 0)
			from += x->dims[axis];
		for (i = 0; inner && i < outer; i++)
			memcpy((uint8_t *)output + (i * count + j) * inner,
			       (const uint8_t *)input + (i * x->dims[axis] + from) * inner,
			       (size_t)inner);
	}
	return 0;
}

static void move_where(const struct graph_node *node, const void *const *inputs, void *output)
{
	uint32_t bytes = graph_dtype_bytes(node->outputs[0]->dtype), j;
	struct eval_walk walk;
	int64_t i;

	eval_walk_init(&walk, node->outputs[0]);
	for (j = 0; j < 3; j++)
		eval_walk_broadcast(&walk, j, node->inputs[j]);
	for (i = 0; i < walk.count; i++, eval_walk_next(&walk)) {
		uint32_t chosen = ((const uint8_t *)inputs[0])[walk.offset[0]] ? 1 : 2;

		copy_element(output, i, inputs[chosen], walk.offset[chosen], bytes);
	}
}

int eval_move(const struct graph_node *node, const void *const *inputs, void *const *outputs,
	      struct diag *diag)
{
	int64_t count = graph_element_count(node->outputs[0]);
	size_t bytes = (size_t)count * graph_dtype_bytes(node->outputs[0]->dtype);

	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
		move_transpose(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_RESHAPE:
		if (bytes)
			memcpy(outputs[0], inputs[0], bytes);
		return 0;
	case GRAPH_OP_CONCAT:
		move_concat(node, inputs, outputs[0]);
		return 0;
	case GRAPH_OP_SLICE:
		move_slice(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_SPLIT:
		move_split(node, inputs[0], outputs);
		return 0;
	case GRAPH_OP_PAD:
		move_pad(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_EXPAND:
		move_expand(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_TILE:
		move_tile(node, inputs[0], outputs[0]);
		return 0;
	case GRAPH_OP_GATHER:
		return move_gather(node, inputs[0], inputs[1], outputs[0], diag);
	case GRAPH_OP_WHERE:
		move_where(node, inputs, outputs[0]);
		return 0;
	default:
		return -1;
	}
}
