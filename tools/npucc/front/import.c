// SPDX-License-Identifier: MIT
#include "import.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scope.h"

#define MAX_INLINED_NODES (1u << 20)
#define NEWEST_OPSET 25

static const struct import_operator *const operator_tables[] = {
	import_dense_operators, import_elementwise_operators, import_shape_operators,
	import_index_operators, import_reduce_operators,      import_norm_operators,
	import_quant_operators, import_control_operators,     import_resize_operators,
};

static const struct import_operator *find_operator(const char *op_type)
{
	const struct import_operator *op;
	size_t i;

	for (i = 0; i < sizeof(operator_tables) / sizeof(operator_tables[0]); i++)
		for (op = operator_tables[i]; op->op_type; op++)
			if (!strcmp(op->op_type, op_type))
				return op;
	return NULL;
}

static bool is_default_domain(struct wire_bytes domain)
{
	return !domain.size || onnx_is(domain, "ai.onnx");
}

/* Version of a domain's operators: those of the function being inlined, else the model's. */
static int64_t opset_version(const struct import *import, struct wire_bytes domain)
{
	const struct onnx_opset *opsets = import->model->opsets;
	uint32_t count = import->model->opset_count, i;
	const struct onnx_function *function = scope_function(import->scope);

	if (function && function->opset_count) {
		opsets = function->opsets;
		count = function->opset_count;
	}
	for (i = 0; i < count; i++)
		if (onnx_equal(opsets[i].domain, domain) ||
		    (is_default_domain(opsets[i].domain) && is_default_domain(domain)))
			return opsets[i].version;
	return 1;
}

static const char *node_name(struct import *import, const struct onnx_node *onnx)
{
	if (onnx->name.size)
		return onnx_string(import->arena, onnx->name);
	if (onnx->output_count && onnx->outputs[0].size)
		return onnx_string(import->arena, onnx->outputs[0]);
	return arena_printf(import->arena, "%s_%" PRIu32, onnx_string(import->arena, onnx->op_type),
			    import->onnx_nodes);
}

/*
 * An output of an operator nobody can translate still has the shape the model
 * itself may state for it, so that the nodes after it can be examined.
 */
static void stated_shape(struct import *import, struct graph_value *value)
{
	const struct onnx_value_info *info;
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t i;

	info = scope_value_info(import->scope, value->name, value->name_length);
	if (!info || !info->is_tensor)
		return;
	value->dtype = onnx_dtype(info->type);
	if (!info->has_shape || info->rank > GRAPH_MAX_RANK)
		return;
	for (i = 0; i < info->rank; i++) {
		if (!info->dims[i].has_value || info->dims[i].value < 0)
			return;
		dims[i] = info->dims[i].value;
	}
	graph_value_set_shape(value, info->rank, dims);
	if (graph_element_count(value) < 0)
		value->has_rank = false;
}

static int keep_unknown(struct import_node *in)
{
	struct import *import = in->import;
	struct graph_node *node;
	uint32_t i;

	node = import_node_new(in, GRAPH_OP_UNKNOWN, in->input_count, in->inputs,
			       in->onnx->output_count);
	if (!node)
		return -1;
	node->domain = onnx_string(import->arena, in->onnx->domain);
	node->problem = in->problem;
	node->source = in->onnx;
	for (i = 0; i < in->onnx->output_count; i++) {
		struct wire_bytes name = in->onnx->outputs[i];
		struct graph_value *value;

		value = graph_value_new(import->graph, name.size ? (const char *)name.data : "",
					name.size, GRAPH_DTYPE_NONE);
		if (!value)
			return import_memory(in);
		stated_shape(import, value);
		graph_node_set_output(node, i, value);
		if (name.size && scope_bind(import->scope, import->arena, name, value))
			return import_memory(in);
	}
	return 0;
}

static int resolve_inputs(struct import_node *in)
{
	struct import *import = in->import;
	const struct onnx_node *onnx = in->onnx;
	uint32_t i;

	in->inputs = arena_alloc_array(import->arena, onnx->input_count, sizeof(*in->inputs));
	if (!in->inputs)
		return import_memory(in);
	in->input_count = onnx->input_count;
	for (i = 0; i < onnx->input_count; i++) {
		if (!onnx->inputs[i].size)
			continue;
		in->inputs[i] = scope_find(import->scope, onnx->inputs[i]);
		if (!in->inputs[i])
			return import_error(in,
					    "input %" PRIu32 " is '%s', which no node before it "
					    "makes, one has to; put the node that makes it first",
					    i, onnx_string(import->arena, onnx->inputs[i]));
	}
	return 0;
}

static const struct onnx_function *find_function(const struct import *import,
						 const struct onnx_node *onnx)
{
	uint32_t i;

	for (i = 0; i < import->model->function_count; i++) {
		const struct onnx_function *function = &import->model->functions[i];

		if (onnx_equal(function->name, onnx->op_type) &&
		    onnx_equal(function->domain, onnx->domain))
			return function;
	}
	return NULL;
}

static int translate_nodes(struct import *import, const struct onnx_node *nodes, uint32_t count);

/* A model-local function: its body in a scope where its parameters are the node's. */
static int inline_function(struct import_node *in, const struct onnx_function *function)
{
	struct import *import = in->import;
	struct import_scope scope;
	uint32_t i;
	int result = -1;

	if (import->inline_depth >= IMPORT_MAX_INLINE_DEPTH)
		return import_error(
			in,
			"functions are nested more than %d deep, at most that is supported; unfold some",
			IMPORT_MAX_INLINE_DEPTH);
	scope_open(&scope, import->scope, NULL);
	scope.function = function;
	scope.call = in->onnx;
	for (i = 0; i < function->input_count && i < in->input_count; i++)
		if (in->inputs[i] &&
		    scope_bind(&scope, import->arena, function->inputs[i], in->inputs[i])) {
			import_memory(in);
			goto out;
		}
	import->scope = &scope;
	import->inline_depth++;
	result = translate_nodes(import, function->nodes, function->node_count);
	import->inline_depth--;
	import->scope = scope.outer;
	for (i = 0; !result && i < function->output_count && i < in->onnx->output_count; i++) {
		struct graph_value *value = scope_find(&scope, function->outputs[i]);

		if (!in->onnx->outputs[i].size)
			continue;
		if (!value)
			result = import_error(
				in,
				"the function has no value for its output '%s', one is needed; let a node of it make that",
				onnx_string(import->arena, function->outputs[i]));
		else
			result = import_result(in, i, value);
	}
out:
	scope_close(&scope);
	return result;
}

static int translate(struct import_node *in)
{
	struct import *import = in->import;
	const struct onnx_function *function = find_function(import, in->onnx);
	const struct import_operator *op;

	if (function)
		return inline_function(in, function);
	op = find_operator(in->op_type);
	if (!is_default_domain(in->onnx->domain) && !onnx_is(in->onnx->domain, "com.microsoft"))
		return import_unknown(
			in,
			"its domain is '%s', only ai.onnx and com.microsoft are supported; replace it by operators of these",
			onnx_string(import->arena, in->onnx->domain));
	if (!op)
		return import_unknown(
			in,
			"its operator is %s, only those of operators.rst are supported; replace it by these, or cut the model before it",
			in->op_type);
	if (!import_shapes_known(in))
		return IMPORT_UNKNOWN;
	return op->translate(in);
}

static int translate_node(struct import *import, const struct onnx_node *onnx)
{
	struct import_node in = { .import = import, .onnx = onnx };
	int result;

	in.op_type = onnx_string(import->arena, onnx->op_type);
	in.name = node_name(import, onnx);
	if (!in.name)
		in.name = "?";
	in.opset = opset_version(import, onnx->domain);
	import->onnx_nodes++;
	if (resolve_inputs(&in))
		return -1;
	result = translate(&in);
	if (result == IMPORT_UNKNOWN)
		result = keep_unknown(&in);
	return result;
}

static int translate_nodes(struct import *import, const struct onnx_node *nodes, uint32_t count)
{
	uint32_t i;

	if (import->inline_depth) {
		import->inlined_nodes += count;
		if (import->inlined_nodes > MAX_INLINED_NODES || count > MAX_INLINED_NODES)
			return diag_error(import->diag,
					  "branches, loops and functions unfold to more "
					  "than %u nodes; nothing of that size can be compiled",
					  MAX_INLINED_NODES);
	}
	for (i = 0; i < count; i++)
		if (translate_node(import, &nodes[i]))
			return -1;
	return 0;
}

static int bind_initializers(struct import *import, const struct onnx_graph *onnx)
{
	uint32_t i;

	if (onnx->sparse_initializer_count)
		return diag_error(import->diag,
				  "graph '%s' has sparse initializers, which npucc does "
				  "not read; store them as dense tensors",
				  onnx_string(import->arena, onnx->name));
	for (i = 0; i < onnx->initializer_count; i++) {
		struct graph_value *value = import_tensor(import, &onnx->initializers[i]);

		if (!value)
			return -1;
		if (scope_bind(import->scope, import->arena, onnx->initializers[i].name, value))
			return diag_error(import->diag, "not enough memory to import the model");
	}
	return 0;
}

int import_inline(struct import_node *in, const struct onnx_graph *graph,
		  const struct wire_bytes *names, struct graph_value *const *values, uint32_t count,
		  struct graph_value **results)
{
	struct import *import = in->import;
	struct import_scope scope;
	int result = -1;
	uint32_t i;

	if (import->inline_depth >= IMPORT_MAX_INLINE_DEPTH)
		return import_error(
			in,
			"branches and loops are nested more than %d deep, at most that is supported; unfold some",
			IMPORT_MAX_INLINE_DEPTH);
	scope_open(&scope, import->scope, graph);
	import->scope = &scope;
	import->inline_depth++;
	for (i = 0; i < count; i++)
		if (scope_bind(&scope, import->arena, names[i], values[i])) {
			import_memory(in);
			goto out;
		}
	if (bind_initializers(import, graph) ||
	    translate_nodes(import, graph->nodes, graph->node_count))
		goto out;
	for (i = 0; i < graph->output_count; i++) {
		results[i] = scope_find(&scope, graph->outputs[i].name);
		if (!results[i]) {
			import_error(
				in,
				"a branch has no value for its output '%s', one is needed; let a node of it make that",
				onnx_string(import->arena, graph->outputs[i].name));
			goto out;
		}
	}
	result = 0;
out:
	import->inline_depth--;
	import->scope = scope.outer;
	scope_close(&scope);
	return result;
}

static const struct npucc_shape_binding *find_binding(const struct import *import,
						      struct wire_bytes name)
{
	uint32_t i;

	for (i = 0; i < import->options->shape_count; i++)
		if (onnx_is(name, import->options->shapes[i].name))
			return &import->options->shapes[i];
	return NULL;
}

/* "NAME=Nx3x48xW" for the sentence that asks for a shape. */
static const char *shape_template(struct import *import, const struct onnx_value_info *info)
{
	const char *text = "";
	uint32_t i;

	for (i = 0; text && i < info->rank; i++) {
		const struct onnx_dim *dim = &info->dims[i];
		const char *separator = i ? "x" : "";

		if (dim->has_value && dim->value >= 0)
			text = arena_printf(import->arena, "%s%s%" PRId64, text, separator,
					    dim->value);
		else if (dim->parameter.size)
			text = arena_printf(import->arena, "%s%s<%s>", text, separator,
					    onnx_string(import->arena, dim->parameter));
		else
			text = arena_printf(import->arena, "%s%s<any>", text, separator);
	}
	return text ? text : "?";
}

/* The shape asked for must be one the model allows. */
static int check_binding(struct import *import, const struct onnx_value_info *info,
			 const struct npucc_shape_binding *binding)
{
	uint32_t i;

	if (!info->has_shape)
		return 0;
	if (info->rank != binding->rank)
		return diag_error(import->diag,
				  "--shape gives input '%s' %" PRIu32 " dimensions, the "
				  "model states %" PRIu32 " (%s)",
				  binding->name, binding->rank, info->rank,
				  shape_template(import, info));
	for (i = 0; i < info->rank; i++)
		if (info->dims[i].has_value && info->dims[i].value > 0 &&
		    info->dims[i].value != binding->dims[i])
			return diag_error(import->diag,
					  "--shape gives dimension %" PRIu32 " of input '%s' "
					  "the size %" PRId64 ", the model fixes it at %" PRId64,
					  i, binding->name, binding->dims[i], info->dims[i].value);
	return 0;
}

static int ask_for_shape(struct import *import, const struct onnx_value_info *info)
{
	const char *name = onnx_string(import->arena, info->name);

	if (!info->has_shape)
		return diag_error(import->diag,
				  "the model does not state the shape of input '%s'; give "
				  "it with --shape '%s=1x...'",
				  name, name);
	return diag_error(import->diag,
			  "input '%s' has dimensions that are not fixed (%s); the device "
			  "needs every size when compiling, give them with --shape '%s=...'",
			  name, shape_template(import, info), name);
}

static int input_shape(struct import *import, const struct onnx_value_info *info,
		       struct graph_value *value)
{
	const struct npucc_shape_binding *binding = find_binding(import, info->name);
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t i;

	if (binding) {
		if (check_binding(import, info, binding))
			return -1;
		graph_value_set_shape(value, binding->rank, binding->dims);
		return 0;
	}
	if (!info->has_shape)
		return ask_for_shape(import, info);
	if (info->rank > GRAPH_MAX_RANK)
		return diag_error(import->diag,
				  "input '%s' has %" PRIu32 " dimensions; npucc handles up "
				  "to %d",
				  onnx_string(import->arena, info->name), info->rank,
				  GRAPH_MAX_RANK);
	for (i = 0; i < info->rank; i++) {
		/* Exporters write 0 or -1 for "any"; an input of no elements makes no sense. */
		if (!info->dims[i].has_value || info->dims[i].value <= 0)
			return ask_for_shape(import, info);
		dims[i] = info->dims[i].value;
	}
	graph_value_set_shape(value, info->rank, dims);
	return 0;
}

/* An input fixed by the caller is an initializer. 1: it was one, 0: not, -1: error. */
static int add_constant_input(struct import *import, const struct onnx_value_info *info)
{
	const struct npucc_constant_binding *binding = NULL;
	struct graph_value *value;
	uint32_t i;

	for (i = 0; i < import->options->constant_count; i++)
		if (onnx_is(info->name, import->options->constants[i].name))
			binding = &import->options->constants[i];
	if (!binding)
		return 0;
	if (info->is_tensor && onnx_dtype(info->type) != binding->dtype)
		return diag_error(import->diag,
				  "input '%s' is to be fixed to a tensor of type %s, the "
				  "model states %s",
				  binding->name, graph_dtype_name(binding->dtype),
				  onnx_type_name(info->type));
	value = graph_constant_new(import->graph, binding->name, binding->dtype, binding->rank,
				   binding->dims, binding->data);
	if (!value || scope_bind(import->scope, import->arena, info->name, value))
		return diag_error(import->diag, "not enough memory to import the model");
	return 1;
}

static int add_input(struct import *import, const struct onnx_value_info *info)
{
	struct graph *graph = import->graph;
	struct graph_value *value;
	int fixed;

	/* Before IR version 4 every initializer had to be listed as an input as well. */
	if (scope_find(import->scope, info->name))
		return 0;
	fixed = add_constant_input(import, info);
	if (fixed)
		return fixed < 0 ? -1 : 0;
	if (!info->is_tensor)
		return diag_error(
			import->diag,
			"input '%s' is not a tensor (a sequence, map or "
			"optional), which the device has no form for; give the model tensors",
			onnx_string(import->arena, info->name));
	value = graph_value_new(graph, info->name.size ? (const char *)info->name.data : "",
				info->name.size, onnx_dtype(info->type));
	if (!value)
		return diag_error(import->diag, "not enough memory to import the model");
	if (!graph_dtype_bytes(value->dtype))
		return diag_error(import->diag,
				  "input '%s' has element type %s, which npucc does not "
				  "handle; use float32, float16 or an integer type",
				  onnx_string(import->arena, info->name),
				  onnx_type_name(info->type));
	if (input_shape(import, info, value))
		return -1;
	if (graph_element_count(value) < 0)
		return diag_error(import->diag,
				  "input '%s' has more than 2^40 elements; give a smaller "
				  "--shape",
				  onnx_string(import->arena, info->name));
	value->is_input = true;
	graph->inputs[graph->input_count++] = value;
	if (scope_bind(import->scope, import->arena, info->name, value))
		return diag_error(import->diag, "not enough memory to import the model");
	return 0;
}

static int add_inputs(struct import *import, const struct onnx_graph *onnx)
{
	int result = 0;
	uint32_t i;

	import->graph->inputs =
		arena_alloc_array(import->arena, onnx->input_count, sizeof(*import->graph->inputs));
	if (!import->graph->inputs)
		return diag_error(import->diag, "not enough memory to import the model");
	/* All of them, so that every missing shape is asked for at once. */
	for (i = 0; i < onnx->input_count; i++)
		if (add_input(import, &onnx->inputs[i]))
			result = -1;
	for (i = 0; i < import->options->shape_count; i++) {
		const char *name = import->options->shapes[i].name;
		struct wire_bytes bytes = { (const uint8_t *)name, strlen(name) };
		struct graph_value *value = scope_find(import->scope, bytes);

		if (!result && (!value || !value->is_input))
			result = diag_error(import->diag,
					    "--shape names '%s', which is no input of the "
					    "model",
					    name);
	}
	return result;
}

/* A graph output that is an input, a constant or an output already needs a copy. */
static struct graph_value *output_copy(struct import *import, struct graph_value *value,
				       struct wire_bytes name)
{
	struct onnx_node none = { .name = name };
	struct import_node in = { .import = import, .onnx = &none, .op_type = "Identity" };
	struct graph_node *node;

	in.name = onnx_string(import->arena, name);
	node = import_node_new(&in, GRAPH_OP_RESHAPE, 1, &value, 1);
	if (!node || import_stated(&in, node, 0, value->dtype, value->rank, value->dims))
		return NULL;
	return node->outputs[0];
}

static int add_output(struct import *import, const struct onnx_value_info *info)
{
	struct graph *graph = import->graph;
	struct graph_value *value = scope_find(import->scope, info->name);

	if (!value)
		return diag_error(import->diag,
				  "output '%s' of the model is made by no node; the model "
				  "is damaged",
				  onnx_string(import->arena, info->name));
	if (value->is_input || value->is_output || !value->producer)
		value = output_copy(import, value, info->name);
	if (!value)
		return -1;
	value->name = arena_string(import->arena, (const char *)info->name.data, info->name.size);
	if (!value->name)
		return diag_error(import->diag, "not enough memory to import the model");
	value->name_length = info->name.size;
	value->is_output = true;
	graph->outputs[graph->output_count++] = value;
	return 0;
}

static int add_outputs(struct import *import, const struct onnx_graph *onnx)
{
	uint32_t i;

	if (!onnx->output_count)
		return diag_error(import->diag,
				  "the model has no outputs; there is nothing to compute");
	import->graph->outputs = arena_alloc_array(import->arena, onnx->output_count,
						   sizeof(*import->graph->outputs));
	if (!import->graph->outputs)
		return diag_error(import->diag, "not enough memory to import the model");
	for (i = 0; i < onnx->output_count; i++)
		if (add_output(import, &onnx->outputs[i]))
			return -1;
	return 0;
}

static int check_versions(struct import *import)
{
	int64_t opset = opset_version(import, (struct wire_bytes){ NULL, 0 });

	if (!import->model->opset_count)
		diag_warning(import->diag,
			     "the model states no operator set; version 1 is assumed");
	if (opset > NEWEST_OPSET)
		diag_warning(import->diag,
			     "the model uses operator set %" PRId64 ", newer than the newest npucc "
			     "knows (%d); operators may have changed since",
			     opset, NEWEST_OPSET);
	if (opset < 7)
		diag_warning(import->diag,
			     "the model uses operator set %" PRId64 "; npucc is made for 7 "
			     "and newer, results may differ: convert it if they do",
			     opset);
	return 0;
}

int import_model(struct import *import)
{
	const struct onnx_graph *onnx = import->model->graph;
	struct import_scope scope;
	int result = -1;

	scope_open(&scope, NULL, onnx);
	import->scope = &scope;
	if (!import->fold_work)
		import->fold_work = IMPORT_DEFAULT_FOLD_WORK;
	if (check_versions(import) || bind_initializers(import, onnx) || add_inputs(import, onnx) ||
	    translate_nodes(import, onnx->nodes, onnx->node_count) || add_outputs(import, onnx))
		goto out;
	result = 0;
out:
	import->scope = NULL;
	scope_close(&scope);
	return result;
}
