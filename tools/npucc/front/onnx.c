// SPDX-License-Identifier: MIT
/*
 * Walks the messages of an ONNX model. Each message is walked twice: once to
 * count its repeated fields, once to fill arrays of exactly that size. Where a
 * field that is not repeated comes more than once the last one counts, as
 * protobuf says.
 */
#include "onnx.h"

#include <inttypes.h>

struct onnx_reader {
	const uint8_t *base;
	struct arena *arena;
	struct diag *diag;
	uint32_t depth;
	uint32_t nodes;
};

static int malformed(struct onnx_reader *reader, const char *what, struct wire_cursor cursor)
{
	return diag_error(
		reader->diag,
		"%s is not well formed near byte %" PRIu64
		" of the file: it is damaged, cut short, or no ONNX model; export or copy "
		"it again",
		what, (uint64_t)(cursor.at - reader->base));
}

static int no_memory(struct onnx_reader *reader, const char *what)
{
	return diag_error(reader->diag,
			  "not enough memory to read %s: the model is larger than this machine or "
			  "the memory limit allows",
			  what);
}

static void *new_array(struct onnx_reader *reader, uint64_t count, size_t size, const char *what)
{
	void *array = arena_alloc_array(reader->arena, count, size);

	if (!array)
		no_memory(reader, what);
	return array;
}

/* Fields of a message that are counted; slot 0 is for everything else. */
#define MAX_COUNTED 26

/* A packed list counts what it holds: bytes that end a varint, or fixed elements. */
static uint64_t packed_count(const struct wire_field *field, unsigned int element_bytes)
{
	uint64_t count = 0, i;

	if (field->type != WIRE_BYTES)
		return 1;
	if (element_bytes)
		return field->bytes.size / element_bytes;
	for (i = 0; i < field->bytes.size; i++)
		count += !(field->bytes.data[i] & 0x80);
	return count;
}

static int count_fields(struct onnx_reader *reader, struct wire_bytes bytes, const char *what,
			uint64_t counts[MAX_COUNTED])
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	int more;

	memset(counts, 0, MAX_COUNTED * sizeof(counts[0]));
	while ((more = wire_next(&cursor, &field)) > 0)
		if (field.number < MAX_COUNTED)
			counts[field.number]++;
	return more < 0 ? malformed(reader, what, cursor) : 0;
}

static void read_varints(const struct wire_field *field, int64_t *list, uint64_t *at, uint64_t room)
{
	struct wire_cursor cursor;
	uint64_t value;

	if (field->type == WIRE_VARINT && *at < room)
		list[(*at)++] = (int64_t)field->value;
	if (field->type != WIRE_BYTES)
		return;
	cursor = wire_open(field->bytes);
	while (*at < room && wire_varint(&cursor, &value))
		list[(*at)++] = (int64_t)value;
}

static void read_floats(const struct wire_field *field, float *list, uint64_t *at, uint64_t room)
{
	struct wire_cursor cursor;
	uint64_t value;

	if (field->type == WIRE_FIXED32 && *at < room)
		list[(*at)++] = wire_float(field->value);
	if (field->type != WIRE_BYTES)
		return;
	cursor = wire_open(field->bytes);
	while (*at < room && wire_fixed(&cursor, 4, &value))
		list[(*at)++] = wire_float(value);
}

static int parse_external(struct onnx_reader *reader, struct wire_bytes bytes,
			  struct onnx_tensor *tensor)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_bytes key = { NULL, 0 }, value = { NULL, 0 };
	struct wire_field field;
	int more;

	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_BYTES)
			key = field.bytes;
		if (field.number == 2 && field.type == WIRE_BYTES)
			value = field.bytes;
	}
	if (more < 0)
		return malformed(reader, "an external data entry", cursor);
	if (onnx_is(key, "location"))
		tensor->location = value;
	if (onnx_is(key, "offset"))
		tensor->offset = value;
	if (onnx_is(key, "length"))
		tensor->length = value;
	return 0;
}

static const enum onnx_encoding tensor_fields[12] = {
	[4] = ONNX_ENCODING_FLOAT, [5] = ONNX_ENCODING_INT32,	[6] = ONNX_ENCODING_STRING,
	[7] = ONNX_ENCODING_INT64, [10] = ONNX_ENCODING_DOUBLE, [11] = ONNX_ENCODING_UINT64,
};

static const unsigned int tensor_field_bytes[12] = { [4] = 4, [10] = 8 };

/* Decide where the elements are; several data fields at once are a contradiction. */
static void tensor_count(struct onnx_tensor *tensor, const struct wire_field *field)
{
	enum onnx_encoding encoding = tensor_fields[field->number];
	uint64_t count = 1;

	if (encoding != ONNX_ENCODING_STRING)
		count = packed_count(field, tensor_field_bytes[field->number]);
	if (!count)
		return;
	if (tensor->encoding != encoding)
		tensor->count = 0;
	tensor->encoding = encoding;
	tensor->count += count;
}

static int parse_tensor_field(struct onnx_reader *reader, struct onnx_tensor *tensor,
			      const struct wire_field *field, bool *external)
{
	switch (field->number) {
	case 2:
		if (field->type == WIRE_VARINT)
			tensor->type = (int32_t)field->value;
		return 0;
	case 3:
		tensor->segmented = true;
		return 0;
	case 4:
	case 5:
	case 6:
	case 7:
	case 10:
	case 11:
		tensor_count(tensor, field);
		return 0;
	case 8:
		if (field->type == WIRE_BYTES)
			tensor->name = field->bytes;
		return 0;
	case 9:
		if (field->type == WIRE_BYTES)
			tensor->raw = field->bytes;
		return 0;
	case 13:
		return parse_external(reader, field->bytes, tensor);
	case 14:
		*external = field->type == WIRE_VARINT && field->value == 1;
		return 0;
	default:
		return 0;
	}
}

static int parse_tensor(struct onnx_reader *reader, struct wire_bytes bytes,
			struct onnx_tensor *tensor)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	uint64_t rank = 0, at = 0;
	bool external = false;
	int64_t *dims;
	int more;

	tensor->body = bytes;
	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1)
			rank += packed_count(&field, 0);
		if (parse_tensor_field(reader, tensor, &field, &external))
			return -1;
	}
	if (more < 0)
		return malformed(reader, "a tensor", cursor);
	if (rank > ONNX_MAX_DIMS)
		return diag_error(reader->diag,
				  "tensor '%s' states %" PRIu64
				  " dimensions, at most %d can be read",
				  onnx_string(reader->arena, tensor->name), rank, ONNX_MAX_DIMS);
	if (tensor->raw.data)
		tensor->encoding = ONNX_ENCODING_RAW;
	if (external)
		tensor->encoding = ONNX_ENCODING_EXTERNAL;
	dims = new_array(reader, rank, sizeof(*dims), "a tensor's dimensions");
	if (!dims)
		return -1;
	cursor = wire_open(bytes);
	while (wire_next(&cursor, &field) > 0)
		if (field.number == 1)
			read_varints(&field, dims, &at, rank);
	tensor->dims = dims;
	tensor->rank = (uint32_t)at;
	return 0;
}

static int parse_graph(struct onnx_reader *reader, struct wire_bytes bytes,
		       struct onnx_graph *graph);

static int attribute_lists(struct onnx_reader *reader, struct wire_bytes bytes,
			   struct onnx_attribute *attribute, uint64_t floats, uint64_t ints,
			   uint64_t strings)
{
	struct wire_cursor cursor = wire_open(bytes);
	uint64_t float_at = 0, int_at = 0, string_at = 0;
	struct wire_bytes *string_list;
	struct wire_field field;
	float *float_list;
	int64_t *int_list;

	if (floats > ONNX_MAX_LIST || ints > ONNX_MAX_LIST || strings > ONNX_MAX_LIST)
		return diag_error(reader->diag,
				  "attribute '%s' has a list of more than %u entries; store it as "
				  "a tensor",
				  onnx_string(reader->arena, attribute->name), ONNX_MAX_LIST);
	float_list = new_array(reader, floats, sizeof(*float_list), "an attribute");
	int_list = new_array(reader, ints, sizeof(*int_list), "an attribute");
	string_list = new_array(reader, strings, sizeof(*string_list), "an attribute");
	if (!float_list || !int_list || !string_list)
		return -1;
	while (wire_next(&cursor, &field) > 0) {
		if (field.number == 7)
			read_floats(&field, float_list, &float_at, floats);
		if (field.number == 8)
			read_varints(&field, int_list, &int_at, ints);
		if (field.number == 9 && field.type == WIRE_BYTES)
			string_list[string_at++] = field.bytes;
	}
	attribute->floats = float_list;
	attribute->float_count = (uint32_t)float_at;
	attribute->ints = int_list;
	attribute->int_count = (uint32_t)int_at;
	attribute->strings = string_list;
	attribute->string_count = (uint32_t)string_at;
	return 0;
}

static int attribute_tensor(struct onnx_reader *reader, struct wire_bytes bytes,
			    struct onnx_attribute *attribute)
{
	struct onnx_tensor *tensor = new_array(reader, 1, sizeof(*tensor), "an attribute");

	if (!tensor || parse_tensor(reader, bytes, tensor))
		return -1;
	attribute->t = tensor;
	return 0;
}

static int attribute_graph(struct onnx_reader *reader, struct wire_bytes bytes,
			   struct onnx_attribute *attribute)
{
	struct onnx_graph *graph;
	int result;

	if (reader->depth >= ONNX_MAX_DEPTH)
		return diag_error(reader->diag,
				  "graphs are nested more than %d deep at attribute '%s'; no such "
				  "model can be compiled",
				  ONNX_MAX_DEPTH, onnx_string(reader->arena, attribute->name));
	graph = new_array(reader, 1, sizeof(*graph), "a nested graph");
	if (!graph)
		return -1;
	reader->depth++;
	result = parse_graph(reader, bytes, graph);
	reader->depth--;
	attribute->g = graph;
	return result;
}

/* Files of IR version 1 carry no type: it is that of the field that is there. */
static enum onnx_attribute_type attribute_type(const uint64_t counts[MAX_COUNTED])
{
	static const uint8_t types[][2] = {
		{ 2, ONNX_ATTRIBUTE_FLOAT },	      { 3, ONNX_ATTRIBUTE_INT },
		{ 4, ONNX_ATTRIBUTE_STRING },	      { 5, ONNX_ATTRIBUTE_TENSOR },
		{ 6, ONNX_ATTRIBUTE_GRAPH },	      { 7, ONNX_ATTRIBUTE_FLOATS },
		{ 8, ONNX_ATTRIBUTE_INTS },	      { 9, ONNX_ATTRIBUTE_STRINGS },
		{ 10, ONNX_ATTRIBUTE_TENSORS },	      { 11, ONNX_ATTRIBUTE_GRAPHS },
		{ 22, ONNX_ATTRIBUTE_SPARSE_TENSOR }, { 23, ONNX_ATTRIBUTE_SPARSE_TENSORS },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (counts[types[i][0]])
			return (enum onnx_attribute_type)types[i][1];
	return ONNX_ATTRIBUTE_UNDEFINED;
}

static int parse_attribute(struct onnx_reader *reader, struct wire_bytes bytes,
			   struct onnx_attribute *attribute)
{
	struct wire_bytes tensor = { NULL, 0 }, graph = { NULL, 0 };
	struct wire_cursor cursor = wire_open(bytes);
	uint64_t counts[MAX_COUNTED], floats = 0, ints = 0;
	struct wire_field field;

	if (count_fields(reader, bytes, "an attribute", counts))
		return -1;
	attribute->type = attribute_type(counts);
	while (wire_next(&cursor, &field) > 0) {
		bool is_bytes = field.type == WIRE_BYTES;

		if (field.number == 1 && is_bytes)
			attribute->name = field.bytes;
		else if (field.number == 2 && field.type == WIRE_FIXED32)
			attribute->f = wire_float(field.value);
		else if (field.number == 3 && field.type == WIRE_VARINT)
			attribute->i = (int64_t)field.value;
		else if (field.number == 4 && is_bytes)
			attribute->s = field.bytes;
		else if (field.number == 5 && is_bytes)
			tensor = field.bytes;
		else if (field.number == 6 && is_bytes)
			graph = field.bytes;
		else if (field.number == 7)
			floats += packed_count(&field, 4);
		else if (field.number == 8)
			ints += packed_count(&field, 0);
		else if (field.number == 20 && field.type == WIRE_VARINT && field.value &&
			 field.value <= ONNX_ATTRIBUTE_TYPE_PROTOS)
			attribute->type = (enum onnx_attribute_type)field.value;
		else if (field.number == 21 && is_bytes)
			attribute->reference = field.bytes;
	}
	if (tensor.data && attribute_tensor(reader, tensor, attribute))
		return -1;
	if (graph.data && attribute_graph(reader, graph, attribute))
		return -1;
	return attribute_lists(reader, bytes, attribute, floats, ints, counts[9]);
}

static int parse_node(struct onnx_reader *reader, struct wire_bytes bytes, struct onnx_node *node)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct onnx_attribute *attributes;
	struct wire_bytes *inputs, *outputs;
	uint64_t counts[MAX_COUNTED];
	struct wire_field field;

	if (++reader->nodes > ONNX_MAX_NODES)
		return diag_error(reader->diag,
				  "the model has more than %u nodes; nothing of that "
				  "size can be compiled",
				  ONNX_MAX_NODES);
	if (count_fields(reader, bytes, "a node", counts))
		return -1;
	inputs = new_array(reader, counts[1], sizeof(*inputs), "a node");
	outputs = new_array(reader, counts[2], sizeof(*outputs), "a node");
	attributes = new_array(reader, counts[5], sizeof(*attributes), "a node");
	if (!inputs || !outputs || !attributes)
		return -1;
	node->inputs = inputs;
	node->outputs = outputs;
	node->attributes = attributes;
	while (wire_next(&cursor, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 1)
			inputs[node->input_count++] = field.bytes;
		else if (field.number == 2)
			outputs[node->output_count++] = field.bytes;
		else if (field.number == 3)
			node->name = field.bytes;
		else if (field.number == 4)
			node->op_type = field.bytes;
		else if (field.number == 7)
			node->domain = field.bytes;
		else if (field.number == 5 &&
			 parse_attribute(reader, field.bytes, &attributes[node->attribute_count++]))
			return -1;
	}
	return 0;
}

static int parse_dim(struct onnx_reader *reader, struct wire_bytes bytes, struct onnx_dim *dim)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_VARINT) {
			dim->has_value = true;
			dim->value = (int64_t)field.value;
		} else if (field.number == 2 && field.type == WIRE_BYTES) {
			dim->has_value = false;
			dim->parameter = field.bytes;
		}
	}
	return more < 0 ? malformed(reader, "a dimension", cursor) : 0;
}

static int parse_shape(struct onnx_reader *reader, struct wire_bytes bytes,
		       struct onnx_value_info *info)
{
	struct wire_cursor cursor = wire_open(bytes);
	uint64_t counts[MAX_COUNTED];
	struct wire_field field;
	struct onnx_dim *dims;
	uint32_t rank = 0;

	if (count_fields(reader, bytes, "a shape", counts))
		return -1;
	if (counts[1] > ONNX_MAX_DIMS)
		return diag_error(reader->diag,
				  "value '%s' states %" PRIu64 " dimensions, at most "
				  "%d can be read",
				  onnx_string(reader->arena, info->name), counts[1], ONNX_MAX_DIMS);
	dims = new_array(reader, counts[1], sizeof(*dims), "a shape");
	if (!dims)
		return -1;
	while (wire_next(&cursor, &field) > 0)
		if (field.number == 1 && field.type == WIRE_BYTES &&
		    parse_dim(reader, field.bytes, &dims[rank++]))
			return -1;
	info->has_shape = true;
	info->dims = dims;
	info->rank = rank;
	return 0;
}

static int parse_tensor_type(struct onnx_reader *reader, struct wire_bytes bytes,
			     struct onnx_value_info *info)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	int more;

	info->is_tensor = true;
	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			info->type = (int32_t)field.value;
		if (field.number == 2 && field.type == WIRE_BYTES &&
		    parse_shape(reader, field.bytes, info))
			return -1;
	}
	return more < 0 ? malformed(reader, "a tensor type", cursor) : 0;
}

static int parse_type(struct onnx_reader *reader, struct wire_bytes bytes,
		      struct onnx_value_info *info)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&cursor, &field)) > 0)
		if (field.number == 1 && field.type == WIRE_BYTES &&
		    parse_tensor_type(reader, field.bytes, info))
			return -1;
	return more < 0 ? malformed(reader, "a type", cursor) : 0;
}

static int parse_value_info(struct onnx_reader *reader, struct wire_bytes bytes,
			    struct onnx_value_info *info)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_bytes type = { NULL, 0 };
	struct wire_field field;
	int more;

	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_BYTES)
			info->name = field.bytes;
		if (field.number == 2 && field.type == WIRE_BYTES)
			type = field.bytes;
	}
	if (more < 0)
		return malformed(reader, "a value's description", cursor);
	return type.data ? parse_type(reader, type, info) : 0;
}

static int parse_graph_field(struct onnx_reader *reader, const struct wire_field *field,
			     struct onnx_graph *graph)
{
	struct wire_bytes bytes = field->bytes;

	/* The arrays are as long as count_fields() found; const only for readers. */
	switch (field->number) {
	case 1:
		return parse_node(reader, bytes,
				  (struct onnx_node *)&graph->nodes[graph->node_count++]);
	case 2:
		graph->name = bytes;
		return 0;
	case 5:
		return parse_tensor(
			reader, bytes,
			(struct onnx_tensor *)&graph->initializers[graph->initializer_count++]);
	case 11:
		return parse_value_info(
			reader, bytes,
			(struct onnx_value_info *)&graph->inputs[graph->input_count++]);
	case 12:
		return parse_value_info(
			reader, bytes,
			(struct onnx_value_info *)&graph->outputs[graph->output_count++]);
	case 13:
		return parse_value_info(
			reader, bytes,
			(struct onnx_value_info *)&graph->value_infos[graph->value_info_count++]);
	case 15:
		graph->sparse_initializer_count++;
		return 0;
	default:
		return 0;
	}
}

static int parse_graph(struct onnx_reader *reader, struct wire_bytes bytes,
		       struct onnx_graph *graph)
{
	struct wire_cursor cursor = wire_open(bytes);
	uint64_t counts[MAX_COUNTED];
	struct wire_field field;

	if (count_fields(reader, bytes, "a graph", counts))
		return -1;
	graph->nodes = new_array(reader, counts[1], sizeof(*graph->nodes), "a graph");
	graph->initializers = new_array(reader, counts[5], sizeof(*graph->initializers), "a graph");
	graph->inputs = new_array(reader, counts[11], sizeof(*graph->inputs), "a graph");
	graph->outputs = new_array(reader, counts[12], sizeof(*graph->outputs), "a graph");
	graph->value_infos = new_array(reader, counts[13], sizeof(*graph->value_infos), "a graph");
	if (!graph->nodes || !graph->initializers || !graph->inputs || !graph->outputs ||
	    !graph->value_infos)
		return -1;
	while (wire_next(&cursor, &field) > 0)
		if (field.type == WIRE_BYTES && parse_graph_field(reader, &field, graph))
			return -1;
	return 0;
}

static int parse_opset(struct onnx_reader *reader, struct wire_bytes bytes,
		       struct onnx_opset *opset)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&cursor, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_BYTES)
			opset->domain = field.bytes;
		if (field.number == 2 && field.type == WIRE_VARINT)
			opset->version = (int64_t)field.value;
	}
	return more < 0 ? malformed(reader, "an operator set", cursor) : 0;
}

static int parse_function(struct onnx_reader *reader, struct wire_bytes bytes,
			  struct onnx_function *function)
{
	struct wire_cursor cursor = wire_open(bytes);
	struct onnx_attribute *defaults;
	struct wire_bytes *inputs, *outputs;
	struct onnx_opset *opsets;
	struct onnx_node *nodes;
	uint64_t counts[MAX_COUNTED];
	struct wire_field field;
	int bad = 0;

	if (count_fields(reader, bytes, "a function", counts))
		return -1;
	inputs = new_array(reader, counts[4], sizeof(*inputs), "a function");
	outputs = new_array(reader, counts[5], sizeof(*outputs), "a function");
	nodes = new_array(reader, counts[7], sizeof(*nodes), "a function");
	opsets = new_array(reader, counts[9], sizeof(*opsets), "a function");
	defaults = new_array(reader, counts[11], sizeof(*defaults), "a function");
	if (!inputs || !outputs || !nodes || !opsets || !defaults)
		return -1;
	while (!bad && wire_next(&cursor, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 1)
			function->name = field.bytes;
		else if (field.number == 4)
			inputs[function->input_count++] = field.bytes;
		else if (field.number == 5)
			outputs[function->output_count++] = field.bytes;
		else if (field.number == 7)
			bad = parse_node(reader, field.bytes, &nodes[function->node_count++]);
		else if (field.number == 9)
			bad = parse_opset(reader, field.bytes, &opsets[function->opset_count++]);
		else if (field.number == 10)
			function->domain = field.bytes;
		else if (field.number == 11)
			bad = parse_attribute(reader, field.bytes,
					      &defaults[function->default_count++]);
	}
	function->inputs = inputs;
	function->outputs = outputs;
	function->nodes = nodes;
	function->opsets = opsets;
	function->defaults = defaults;
	return bad;
}

static int parse_model_field(struct onnx_reader *reader, const struct wire_field *field,
			     struct onnx_model *model, struct onnx_opset *opsets,
			     struct onnx_function *functions, struct onnx_graph *graph)
{
	switch (field->number) {
	case 1:
		model->ir_version = (int64_t)field->value;
		return 0;
	case 2:
		model->producer_name = field->bytes;
		return 0;
	case 7:
		if (field->type != WIRE_BYTES)
			return 0;
		if (model->graph)
			return diag_error(reader->diag, "the model holds more than one main graph; "
							"it is damaged, export it again");
		model->graph = graph;
		return parse_graph(reader, field->bytes, graph);
	case 8:
		return parse_opset(reader, field->bytes, &opsets[model->opset_count++]);
	case 25:
		return parse_function(reader, field->bytes, &functions[model->function_count++]);
	default:
		return 0;
	}
}

const struct onnx_model *onnx_parse(struct wire_bytes bytes, struct arena *arena, struct diag *diag)
{
	struct onnx_reader reader = { .base = bytes.data, .arena = arena, .diag = diag };
	struct wire_cursor cursor = wire_open(bytes);
	struct onnx_function *functions;
	uint64_t counts[MAX_COUNTED];
	struct onnx_opset *opsets;
	struct onnx_model *model;
	struct onnx_graph *graph;
	struct wire_field field;

	if (count_fields(&reader, bytes, "the model", counts))
		return NULL;
	model = new_array(&reader, 1, sizeof(*model), "the model");
	graph = new_array(&reader, 1, sizeof(*graph), "the model");
	opsets = new_array(&reader, counts[8], sizeof(*opsets), "the model");
	functions = new_array(&reader, counts[25], sizeof(*functions), "the model");
	if (!model || !graph || !opsets || !functions)
		return NULL;
	model->opsets = opsets;
	model->functions = functions;
	while (wire_next(&cursor, &field) > 0)
		if (parse_model_field(&reader, &field, model, opsets, functions, graph))
			return NULL;
	if (!model->graph) {
		diag_error(diag, "the file holds no graph: it is empty or no ONNX model");
		return NULL;
	}
	return model;
}

const struct onnx_tensor *onnx_parse_tensor(struct wire_bytes bytes, struct arena *arena,
					    struct diag *diag)
{
	struct onnx_reader reader = { .base = bytes.data, .arena = arena, .diag = diag };
	struct onnx_tensor *tensor = new_array(&reader, 1, sizeof(*tensor), "the tensor");

	if (!tensor || parse_tensor(&reader, bytes, tensor))
		return NULL;
	return tensor;
}

bool onnx_is(struct wire_bytes bytes, const char *text)
{
	size_t length = strlen(text);

	return bytes.size == length && (!length || !memcmp(bytes.data, text, length));
}

bool onnx_equal(struct wire_bytes a, struct wire_bytes b)
{
	return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

const char *onnx_string(struct arena *arena, struct wire_bytes bytes)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t size = bytes.size < 256 ? bytes.size : 256, i;
	char *text = arena_alloc(arena, size * 4 + 1);
	char *at = text;

	if (!text)
		return "?";
	for (i = 0; i < size; i++) {
		uint8_t c = bytes.data[i];

		if (c >= 0x20 && c != 0x7f) {
			*at++ = (char)c;
			continue;
		}
		*at++ = '\\';
		*at++ = 'x';
		*at++ = hex[c >> 4];
		*at++ = hex[c & 15];
	}
	*at = 0;
	return text;
}
