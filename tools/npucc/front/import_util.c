// SPDX-License-Identifier: MIT
/* What the translators of the operators have in common. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fold/eval.h"
#include "../graph/infer.h"
#include "import.h"
#include "scope.h"

int import_error(struct import_node *in, const char *format, ...)
{
	char text[640];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return diag_error(in->import->diag, "node '%s' (%s): %s", in->name, in->op_type, text);
}

int import_unknown(struct import_node *in, const char *format, ...)
{
	char text[640];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	in->problem = arena_printf(in->import->arena, "%s", text);
	return IMPORT_UNKNOWN;
}

int import_memory(struct import_node *in)
{
	return import_error(in, "not enough memory to import the model");
}

struct graph_value *import_input(const struct import_node *in, uint32_t index)
{
	return index < in->input_count ? in->inputs[index] : NULL;
}

int import_missing(struct import_node *in, uint32_t needed)
{
	uint32_t i = 0;

	while (i + 1 < needed && import_input(in, i))
		i++;
	return import_error(in,
			    "input %" PRIu32 " is missing, %" PRIu32
			    " are needed; name a value for it",
			    i, needed);
}

int import_need_rank(struct import_node *in, uint32_t least)
{
	const struct graph_value *x = import_input(in, 0);
	char text[GRAPH_SHAPE_TEXT];

	if (!x)
		return import_missing(in, 1);
	if (x->rank >= least)
		return 0;
	return import_error(in,
			    "input 0 has shape %s, at least %" PRIu32
			    " dimensions ([N,C,...]) are needed; put a Reshape before it",
			    graph_format_shape(x, text), least);
}

static const struct onnx_attribute *find_attribute(const struct onnx_attribute *attributes,
						   uint32_t count, struct wire_bytes name)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (onnx_equal(attributes[i].name, name))
			return &attributes[i];
	return NULL;
}

const struct onnx_attribute *import_attribute(const struct import_node *in, const char *name)
{
	struct wire_bytes bytes = { (const uint8_t *)name, strlen(name) };
	const struct import_scope *call = scope_call(in->import->scope);
	const struct onnx_attribute *found;
	uint32_t hops;

	found = find_attribute(in->onnx->attributes, in->onnx->attribute_count, bytes);
	/* Inside a function an attribute may be that of the node that calls it. */
	for (hops = 0; found && found->reference.size && hops < IMPORT_MAX_INLINE_DEPTH; hops++) {
		struct wire_bytes reference = found->reference;

		if (!call)
			return NULL;
		found = find_attribute(call->call->attributes, call->call->attribute_count,
				       reference);
		if (!found)
			found = find_attribute(call->function->defaults,
					       call->function->default_count, reference);
		call = scope_call(call->outer);
	}
	return found && !found->reference.size ? found : NULL;
}

int64_t import_attribute_int(const struct import_node *in, const char *name, int64_t otherwise)
{
	const struct onnx_attribute *attribute = import_attribute(in, name);

	return attribute && attribute->type == ONNX_ATTRIBUTE_INT ? attribute->i : otherwise;
}

float import_attribute_float(const struct import_node *in, const char *name, float otherwise)
{
	const struct onnx_attribute *attribute = import_attribute(in, name);

	return attribute && attribute->type == ONNX_ATTRIBUTE_FLOAT ? attribute->f : otherwise;
}

bool import_attribute_text(const struct import_node *in, const char *name, struct wire_bytes *text)
{
	const struct onnx_attribute *attribute = import_attribute(in, name);

	if (!attribute || attribute->type != ONNX_ATTRIBUTE_STRING)
		return false;
	*text = attribute->s;
	return true;
}

bool import_attribute_is(const struct import_node *in, const char *name, const char *text)
{
	struct wire_bytes found;

	return import_attribute_text(in, name, &found) && onnx_is(found, text);
}

int import_ints(struct import_node *in, uint32_t index, const char *name, int64_t *list,
		uint32_t room, int32_t *count)
{
	const struct graph_value *value = import_input(in, index);
	const struct onnx_attribute *attribute;
	int64_t i, entries;

	*count = -1;
	if (value) {
		entries = graph_element_count(value);
		if (!graph_is_constant(value))
			return import_unknown(
				in,
				"input %" PRIu32
				" ('%s') is computed while running, only constants are supported; "
				"make it one",
				index, name ? name : value->name);
		if (entries < 0 || entries > room)
			return import_unknown(in,
					      "input %" PRIu32 " has %" PRId64
					      " entries, at most %" PRIu32
					      " are supported; correct it",
					      index, entries, room);
		for (i = 0; i < entries; i++)
			list[i] = graph_constant_as_i64(value, i);
		*count = (int32_t)entries;
		return 0;
	}
	attribute = name ? import_attribute(in, name) : NULL;
	if (!attribute)
		return 0;
	if (attribute->type == ONNX_ATTRIBUTE_INT) {
		list[0] = attribute->i;
		*count = 1;
		return 0;
	}
	if (attribute->int_count > room)
		return import_unknown(in,
				      "attribute '%s' has %" PRIu32 " entries, at most %" PRIu32
				      " are supported; correct it",
				      name, attribute->int_count, room);
	if (attribute->int_count)
		memcpy(list, attribute->ints, attribute->int_count * sizeof(*list));
	*count = (int32_t)attribute->int_count;
	return 0;
}

int import_axis(struct import_node *in, int64_t axis, uint32_t rank, int64_t *result)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return import_error(in,
				    "axis is %" PRId64 ", %" PRId64 " to %" PRId64
				    " is needed; correct axis",
				    axis, -(int64_t)rank, (int64_t)rank - 1);
	*result = axis < 0 ? axis + rank : axis;
	return 0;
}

struct graph_node *import_node_new(struct import_node *in, enum graph_op op, uint32_t input_count,
				   struct graph_value *const *inputs, uint32_t output_count)
{
	struct graph *graph = in->import->graph;
	struct graph_node *node;
	uint32_t i;

	node = graph_node_new(graph, NULL, op, in->name, in->op_type, input_count, output_count);
	if (!node)
		goto fail;
	for (i = 0; i < input_count; i++)
		if (inputs[i] && graph_node_set_input(graph, node, i, inputs[i]))
			goto fail;
	return node;
fail:
	import_memory(in);
	return NULL;
}

int import_stated(struct import_node *in, struct graph_node *node, uint32_t index,
		  enum graph_dtype dtype, uint32_t rank, const int64_t *dims)
{
	char text[GRAPH_SHAPE_TEXT];
	struct graph_value *value;

	value = graph_node_new_output(in->import->graph, node, index, in->name, dtype);
	if (!value)
		return import_memory(in);
	graph_value_set_shape(value, rank, dims);
	if (graph_element_count(value) < 0)
		return import_error(
			in,
			"output %" PRIu32
			" has shape %s, at most 2^40 elements and no negative dimension "
			"are supported; correct its attributes",
			index, graph_format_shape(value, text));
	return 0;
}

static bool all_constant(const struct graph_node *node)
{
	uint32_t i;

	for (i = 0; i < node->input_count; i++)
		if (node->inputs[i] && !graph_is_constant(node->inputs[i]))
			return false;
	return node->input_count > 0;
}

/*
 * Replace a node that reads only constants by its results. Not being able to
 * (too much work, a type the evaluator lacks) is no error: the node runs then.
 */
static int fold(struct import_node *in, struct graph_node *node)
{
	struct import *import = in->import;
	uint64_t work = eval_work(node);
	const void **inputs;
	void **outputs;
	uint32_t i;

	if (work > import->fold_work)
		return 0;
	inputs = arena_alloc_array(import->arena, node->input_count, sizeof(*inputs));
	outputs = arena_alloc_array(import->arena, node->output_count, sizeof(*outputs));
	if (!inputs || !outputs)
		return import_memory(in);
	for (i = 0; i < node->input_count; i++)
		inputs[i] = node->inputs[i] ? node->inputs[i]->data : NULL;
	for (i = 0; i < node->output_count; i++) {
		const struct graph_value *value = node->outputs[i];

		outputs[i] = arena_alloc_array(import->arena, (uint64_t)graph_element_count(value),
					       graph_dtype_bytes(value->dtype));
		if (!outputs[i])
			return import_error(in,
					    "not enough memory to compute this constant of %" PRId64
					    " elements",
					    graph_element_count(value));
	}
	import->fold_work -= work;
	if (eval_node(node, inputs, outputs, import->diag))
		return -1;
	for (i = 0; i < node->output_count; i++)
		node->outputs[i]->data = outputs[i];
	graph_node_remove(import->graph, node);
	return 0;
}

int import_finish_all(struct import_node *in, struct graph_node *node)
{
	struct graph *graph = in->import->graph;
	uint32_t i;

	for (i = 0; i < node->output_count; i++)
		if (!node->outputs[i] &&
		    !graph_node_new_output(graph, node, i, in->name, GRAPH_DTYPE_NONE))
			return import_memory(in);
	if (graph_infer_node(node, in->import->diag))
		return -1;
	return all_constant(node) ? fold(in, node) : 0;
}

struct graph_value *import_finish(struct import_node *in, struct graph_node *node)
{
	struct graph_value *result;

	if (!node || import_finish_all(in, node))
		return NULL;
	result = node->outputs[0];
	return result;
}

int import_result(struct import_node *in, uint32_t index, struct graph_value *value)
{
	struct import *import = in->import;
	struct wire_bytes name;

	if (!value)
		return -1;
	if (index >= in->onnx->output_count || !in->onnx->outputs[index].size)
		return 0;
	name = in->onnx->outputs[index];
	/* What passes through keeps the name it has; what was made here gets this one. */
	if (value->producer && value->producer->name == in->name && !value->is_output) {
		value->name = arena_string(import->arena, (const char *)name.data, name.size);
		if (!value->name)
			return import_memory(in);
		value->name_length = name.size;
	}
	if (scope_bind(import->scope, import->arena, name, value))
		return import_memory(in);
	return 0;
}

struct graph_value *import_bound(const struct import *import, struct wire_bytes name)
{
	return scope_find(import->scope, name);
}

struct graph_value *import_reshape(struct import_node *in, struct graph_value *x, uint32_t rank,
				   const int64_t *dims)
{
	struct graph_node *node = import_node_new(in, GRAPH_OP_RESHAPE, 1, &x, 1);

	if (!node || import_stated(in, node, 0, x->dtype, rank, dims))
		return NULL;
	return import_finish(in, node);
}

struct graph_value *import_transpose(struct import_node *in, struct graph_value *x,
				     const int64_t *perm)
{
	struct graph_node *node = import_node_new(in, GRAPH_OP_TRANSPOSE, 1, &x, 1);

	if (!node)
		return NULL;
	memcpy(node->attr.transpose.perm, perm, x->rank * sizeof(*perm));
	return import_finish(in, node);
}

struct graph_value *import_eltwise(struct import_node *in, enum graph_eltwise_kind kind,
				   struct graph_value *a, struct graph_value *b)
{
	struct graph_value *inputs[2] = { a, b };
	struct graph_node *node = import_node_new(in, GRAPH_OP_ELTWISE, 2, inputs, 1);

	if (!node)
		return NULL;
	node->attr.eltwise = kind;
	return import_finish(in, node);
}

struct graph_value *import_activation(struct import_node *in, struct graph_value *x,
				      enum graph_activation_kind kind, float alpha, float beta)
{
	struct graph_node *node = import_node_new(in, GRAPH_OP_ACTIVATION, 1, &x, 1);

	if (!node)
		return NULL;
	node->attr.activation.kind = kind;
	node->attr.activation.alpha = alpha;
	node->attr.activation.beta = beta;
	return import_finish(in, node);
}

struct graph_value *import_cast(struct import_node *in, struct graph_value *x,
				enum graph_dtype dtype)
{
	struct graph_node *node;

	if (x->dtype == dtype)
		return x;
	node = import_node_new(in, GRAPH_OP_CAST, 1, &x, 1);
	if (!node || import_stated(in, node, 0, dtype, x->rank, x->dims))
		return NULL;
	return import_finish(in, node);
}

struct graph_value *import_constant(struct import_node *in, enum graph_dtype dtype, uint32_t rank,
				    const int64_t *dims, void **data)
{
	struct graph_value shape = { 0 }, *value;
	int64_t count;

	graph_value_set_shape(&shape, rank, dims);
	count = graph_element_count(&shape);
	if (count < 0) {
		import_error(in, "a constant has a negative dimension or more than 2^40 elements");
		return NULL;
	}
	*data = arena_alloc_array(in->import->arena, (uint64_t)count, graph_dtype_bytes(dtype));
	if (!*data) {
		import_error(in, "not enough memory for a constant of %" PRId64 " elements", count);
		return NULL;
	}
	value = graph_constant_new(in->import->graph, in->name, dtype, rank, dims, *data);
	if (!value)
		import_memory(in);
	return value;
}

struct graph_value *import_scalar(struct import_node *in, const struct graph_value *like,
				  float number)
{
	struct graph_value *value;
	void *data;

	value = import_constant(in, like->dtype, 0, NULL, &data);
	if (value)
		eval_store(like->dtype, data, 0, (double)number);
	return value;
}

struct graph_value *import_tensor(struct import *import, const struct onnx_tensor *tensor)
{
	int64_t dims[GRAPH_MAX_RANK];
	struct graph_value *value;
	enum graph_dtype dtype;
	const void *data;

	if (onnx_tensor_value(tensor, import->files, import->arena, import->diag, &dtype, dims,
			      &data))
		return NULL;
	value = graph_value_new(import->graph,
				tensor->name.size ? (const char *)tensor->name.data : "",
				tensor->name.size, dtype);
	if (!value) {
		diag_error(import->diag, "not enough memory to import the model");
		return NULL;
	}
	graph_value_set_shape(value, tensor->rank, dims);
	value->data = data;
	return value;
}

bool import_shapes_known(struct import_node *in)
{
	uint32_t i;

	for (i = 0; i < in->input_count; i++) {
		const struct graph_value *value = in->inputs[i];

		if (!value || (graph_shape_known(value) && graph_dtype_bytes(value->dtype)))
			continue;
		if (value->producer && value->producer->op == GRAPH_OP_UNKNOWN)
			import_unknown(
				in,
				"the shape of what node '%s' (%s) gives is not known, it is needed; replace that node",
				value->producer->name, value->producer->op_type);
		else
			import_unknown(in,
				       "the shape of input %" PRIu32
				       " is not known, it is needed; state it in the model",
				       i);
		return false;
	}
	return true;
}
