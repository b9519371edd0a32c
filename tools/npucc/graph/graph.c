// SPDX-License-Identifier: MIT
#include "graph.h"

#include <math.h>
#include <string.h>

#include "../support/half.h"

#define GRAPH_MAX_ELEMENTS ((int64_t)1 << 40)

struct graph *graph_new(struct arena *arena, const char *name)
{
	struct graph *graph = arena_alloc(arena, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->arena = arena;
	graph->name = name ? name : "";
	return graph;
}

/* Growth copies into new arena memory; the old array is freed with the arena. */
static void *graph_grow(struct graph *graph, void *old, uint32_t count, uint32_t *capacity,
			size_t size)
{
	uint32_t wanted = *capacity ? *capacity * 2 : 4;
	void *array;

	if (count < *capacity)
		return old;
	if (*capacity > UINT32_MAX / 2)
		goto fail;
	array = arena_alloc_array(graph->arena, wanted, size);
	if (!array)
		goto fail;
	if (count)
		memcpy(array, old, count * size);
	*capacity = wanted;
	return array;
fail:
	graph->out_of_memory = true;
	return NULL;
}

struct graph_value *graph_value_new(struct graph *graph, const char *name, size_t name_length,
				    enum graph_dtype dtype)
{
	struct graph_value **values;
	struct graph_value *value;

	values = graph_grow(graph, graph->values, graph->value_count, &graph->value_capacity,
			    sizeof(*values));
	if (!values)
		return NULL;
	graph->values = values;
	value = arena_alloc(graph->arena, sizeof(*value));
	if (!value)
		goto fail;
	value->name = arena_string(graph->arena, name, name_length);
	if (!value->name)
		goto fail;
	value->name_length = name_length;
	value->dtype = dtype;
	value->id = graph->value_count;
	values[graph->value_count++] = value;
	return value;
fail:
	graph->out_of_memory = true;
	return NULL;
}

void graph_value_set_shape(struct graph_value *value, uint32_t rank, const int64_t *dims)
{
	value->has_rank = true;
	value->rank = rank;
	memset(value->dims, 0, sizeof(value->dims));
	if (rank)
		memcpy(value->dims, dims, rank * sizeof(*dims));
}

struct graph_value *graph_constant_new(struct graph *graph, const char *name,
				       enum graph_dtype dtype, uint32_t rank, const int64_t *dims,
				       const void *data)
{
	struct graph_value *value = graph_value_new(graph, name, strlen(name), dtype);

	if (!value)
		return NULL;
	graph_value_set_shape(value, rank, dims);
	value->data = data;
	return value;
}

struct graph_value *graph_constant_f32(struct graph *graph, const char *name, uint32_t rank,
				       const int64_t *dims, const float *data)
{
	uint64_t bytes = sizeof(float);
	uint32_t i;
	void *copy;

	for (i = 0; i < rank; i++)
		bytes *= (uint64_t)dims[i];
	copy = arena_copy(graph->arena, data, bytes);
	if (!copy) {
		graph->out_of_memory = true;
		return NULL;
	}
	return graph_constant_new(graph, name, GRAPH_DTYPE_F32, rank, dims, copy);
}

struct graph_value *graph_constant_scalar(struct graph *graph, const char *name, float number)
{
	return graph_constant_f32(graph, name, 0, NULL, &number);
}

static void graph_link_before(struct graph *graph, struct graph_node *node,
			      struct graph_node *before)
{
	node->next = before;
	node->previous = before ? before->previous : graph->last;
	if (node->previous)
		node->previous->next = node;
	else
		graph->first = node;
	if (before)
		before->previous = node;
	else
		graph->last = node;
}

static void graph_unlink(struct graph *graph, struct graph_node *node)
{
	if (node->previous)
		node->previous->next = node->next;
	else
		graph->first = node->next;
	if (node->next)
		node->next->previous = node->previous;
	else
		graph->last = node->previous;
	node->previous = NULL;
	node->next = NULL;
}

struct graph_node *graph_node_new(struct graph *graph, struct graph_node *before, enum graph_op op,
				  const char *name, const char *op_type, uint32_t input_count,
				  uint32_t output_count)
{
	struct graph_node *node = arena_alloc(graph->arena, sizeof(*node));

	if (!node)
		goto fail;
	node->inputs = arena_alloc_array(graph->arena, input_count, sizeof(*node->inputs));
	node->outputs = arena_alloc_array(graph->arena, output_count, sizeof(*node->outputs));
	if (!node->inputs || !node->outputs)
		goto fail;
	node->id = node->origin = graph->next_node_id++;
	node->op = op;
	node->name = name;
	node->op_type = op_type;
	node->domain = "";
	node->input_count = input_count;
	node->output_count = output_count;
	graph_link_before(graph, node, before);
	graph->node_count++;
	return node;
fail:
	graph->out_of_memory = true;
	return NULL;
}

static int graph_add_use(struct graph *graph, struct graph_value *value, struct graph_node *node,
			 uint32_t index)
{
	struct graph_use *uses;

	uses = graph_grow(graph, value->uses, value->use_count, &value->use_capacity,
			  sizeof(*uses));
	if (!uses)
		return -1;
	value->uses = uses;
	uses[value->use_count].node = node;
	uses[value->use_count].index = index;
	value->use_count++;
	return 0;
}

static void graph_drop_use(struct graph_value *value, const struct graph_node *node, uint32_t index)
{
	uint32_t i = value->use_count;

	/* From the end, where the use is that passes which clear up drop next. */
	while (i-- > 0) {
		if (value->uses[i].node != node || value->uses[i].index != index)
			continue;
		memmove(&value->uses[i], &value->uses[i + 1],
			(value->use_count - i - 1) * sizeof(value->uses[0]));
		value->use_count--;
		return;
	}
}

int graph_node_set_input(struct graph *graph, struct graph_node *node, uint32_t index,
			 struct graph_value *value)
{
	if (node->inputs[index] == value)
		return 0;
	if (value && graph_add_use(graph, value, node, index))
		return -1;
	if (node->inputs[index])
		graph_drop_use(node->inputs[index], node, index);
	node->inputs[index] = value;
	return 0;
}

int graph_node_resize_inputs(struct graph *graph, struct graph_node *node, uint32_t count)
{
	struct graph_value **inputs;
	uint32_t i;

	for (i = count; i < node->input_count; i++)
		graph_node_set_input(graph, node, i, NULL);
	if (count > node->input_count) {
		inputs = arena_alloc_array(graph->arena, count, sizeof(*inputs));
		if (!inputs) {
			graph->out_of_memory = true;
			return -1;
		}
		if (node->input_count)
			memcpy(inputs, node->inputs, node->input_count * sizeof(*inputs));
		node->inputs = inputs;
	}
	node->input_count = count;
	return 0;
}

void graph_node_set_output(struct graph_node *node, uint32_t index, struct graph_value *value)
{
	node->outputs[index] = value;
	if (value) {
		value->producer = node;
		value->producer_index = index;
	}
}

struct graph_value *graph_node_new_output(struct graph *graph, struct graph_node *node,
					  uint32_t index, const char *name, enum graph_dtype dtype)
{
	struct graph_value *value = graph_value_new(graph, name, strlen(name), dtype);

	if (value)
		graph_node_set_output(node, index, value);
	return value;
}

bool graph_value_can_replace(const struct graph_value *old, const struct graph_value *with)
{
	if (old == with)
		return false;
	if (!old->is_output)
		return true;
	return !with->is_input && !with->is_output && !with->data && with->producer;
}

int graph_value_replace(struct graph *graph, struct graph_value *old, struct graph_value *with)
{
	uint32_t i;

	if (!graph_value_can_replace(old, with))
		return -1;
	while (old->use_count) {
		struct graph_use use = old->uses[old->use_count - 1];

		if (graph_node_set_input(graph, use.node, use.index, with))
			return -1;
	}
	if (!old->is_output)
		return 0;
	for (i = 0; i < graph->output_count; i++)
		if (graph->outputs[i] == old)
			graph->outputs[i] = with;
	with->name = old->name;
	with->name_length = old->name_length;
	with->is_output = true;
	old->is_output = false;
	return 0;
}

void graph_node_remove(struct graph *graph, struct graph_node *node)
{
	uint32_t i;

	for (i = 0; i < node->input_count; i++)
		graph_node_set_input(graph, node, i, NULL);
	for (i = 0; i < node->output_count; i++)
		if (node->outputs[i] && node->outputs[i]->producer == node)
			node->outputs[i]->producer = NULL;
	graph_unlink(graph, node);
	graph->node_count--;
}

bool graph_moves_elements(const struct graph_node *node)
{
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
	case GRAPH_OP_RESHAPE:
	case GRAPH_OP_CONCAT:
	case GRAPH_OP_SLICE:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_EXPAND:
	case GRAPH_OP_GATHER:
		return true;
	default:
		return false;
	}
}

bool graph_node_precedes(const struct graph_node *a, const struct graph_node *b)
{
	const struct graph_node *node;

	for (node = a->next; node; node = node->next)
		if (node == b)
			return true;
	return false;
}

void graph_node_move_before(struct graph *graph, struct graph_node *node, struct graph_node *before)
{
	if (node == before)
		return;
	graph_unlink(graph, node);
	graph_link_before(graph, node, before);
}

static bool graph_node_is_dead(const struct graph_node *node)
{
	uint32_t i;

	for (i = 0; i < node->output_count; i++)
		if (node->outputs[i] &&
		    (node->outputs[i]->use_count || node->outputs[i]->is_output))
			return false;
	return true;
}

uint32_t graph_remove_dead(struct graph *graph)
{
	struct graph_node *node = graph->last;
	uint32_t removed = 0;

	/* From the end: a reader always goes before what it reads. */
	while (node) {
		struct graph_node *previous = node->previous;

		if (graph_node_is_dead(node)) {
			graph_node_remove(graph, node);
			removed++;
		}
		node = previous;
	}
	return removed;
}

bool graph_shape_known(const struct graph_value *value)
{
	uint32_t i;

	if (!value || !value->has_rank)
		return false;
	for (i = 0; i < value->rank; i++)
		if (value->dims[i] < 0)
			return false;
	return true;
}

int64_t graph_element_count(const struct graph_value *value)
{
	int64_t count = 1;
	uint32_t i;

	if (!graph_shape_known(value))
		return -1;
	for (i = 0; i < value->rank; i++)
		if (value->dims[i] == 0)
			return 0;
	for (i = 0; i < value->rank; i++) {
		if (value->dims[i] > GRAPH_MAX_ELEMENTS / count)
			return -1;
		count *= value->dims[i];
	}
	return count;
}

bool graph_shape_equal(const struct graph_value *a, const struct graph_value *b)
{
	if (!graph_shape_known(a) || !graph_shape_known(b) || a->rank != b->rank)
		return false;
	return !a->rank || !memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0]));
}

bool graph_is_constant(const struct graph_value *value)
{
	return value && value->data;
}

struct graph_node *graph_single_user(const struct graph_value *value)
{
	if (!value || value->is_output || value->use_count != 1)
		return NULL;
	return value->uses[0].node;
}

static int64_t graph_saturate_i64(double number)
{
	if (isnan(number))
		return 0;
	if (number >= 9223372036854775808.0)
		return INT64_MAX;
	if (number < -9223372036854775808.0)
		return INT64_MIN;
	return (int64_t)number;
}

static double graph_constant_as_f64(const struct graph_value *value, int64_t index)
{
	const void *data = value->data;

	switch (value->dtype) {
	case GRAPH_DTYPE_F32:
		return (double)((const float *)data)[index];
	case GRAPH_DTYPE_F16:
		return (double)half_to_float(((const uint16_t *)data)[index]);
	case GRAPH_DTYPE_BF16:
		return (double)bfloat16_to_float(((const uint16_t *)data)[index]);
	case GRAPH_DTYPE_F64:
		return ((const double *)data)[index];
	case GRAPH_DTYPE_U64:
		return (double)((const uint64_t *)data)[index];
	default:
		return (double)graph_constant_as_i64(value, index);
	}
}

float graph_constant_as_f32(const struct graph_value *value, int64_t index)
{
	return (float)graph_constant_as_f64(value, index);
}

int64_t graph_constant_as_i64(const struct graph_value *value, int64_t index)
{
	const void *data = value->data;

	switch (value->dtype) {
	case GRAPH_DTYPE_I8:
		return ((const int8_t *)data)[index];
	case GRAPH_DTYPE_U8:
	case GRAPH_DTYPE_BOOL:
		return ((const uint8_t *)data)[index];
	case GRAPH_DTYPE_I16:
		return ((const int16_t *)data)[index];
	case GRAPH_DTYPE_U16:
		return ((const uint16_t *)data)[index];
	case GRAPH_DTYPE_I32:
		return ((const int32_t *)data)[index];
	case GRAPH_DTYPE_U32:
		return ((const uint32_t *)data)[index];
	case GRAPH_DTYPE_I64:
		return ((const int64_t *)data)[index];
	case GRAPH_DTYPE_U64: {
		uint64_t number = ((const uint64_t *)data)[index];

		return number > INT64_MAX ? INT64_MAX : (int64_t)number;
	}
	case GRAPH_DTYPE_F32:
	case GRAPH_DTYPE_F16:
	case GRAPH_DTYPE_BF16:
	case GRAPH_DTYPE_F64:
		return graph_saturate_i64(graph_constant_as_f64(value, index));
	default:
		return 0;
	}
}
