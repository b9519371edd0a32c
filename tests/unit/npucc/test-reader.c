// SPDX-License-Identifier: MIT
/*
 * The zero-copy reader against the code protobuf-c generates from the format's
 * own definition, field by field, over every model there is to test with.
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "front/onnx.h"
#include "onnx.pb-c.h"

static const char *corpus;
static uint32_t models, nodes, tensors;

static void same_string(struct wire_bytes got, const char *want)
{
	/* Generated code ends strings with a NUL and cannot hold one. */
	assert_int_equal(got.size, want ? strlen(want) : 0);
	if (got.size)
		assert_memory_equal(got.data, want, got.size);
}

static void same_bytes(struct wire_bytes got, const ProtobufCBinaryData *want)
{
	assert_int_equal(got.size, want->len);
	if (got.size)
		assert_memory_equal(got.data, want->data, got.size);
}

/* Elements by the definition of TensorProto, in the type's own bytes. */
static void expected_element(const Onnx__TensorProto *tensor, uint64_t index, uint32_t bytes,
			     uint8_t *element)
{
	uint64_t number;

	if (tensor->has_raw_data) {
		memcpy(element, tensor->raw_data.data + index * bytes, bytes);
	} else if (tensor->n_float_data) {
		memcpy(element, &tensor->float_data[index], bytes);
	} else if (tensor->n_double_data) {
		memcpy(element, &tensor->double_data[index], bytes);
	} else {
		number = tensor->n_int32_data ? (uint64_t)(int64_t)tensor->int32_data[index] :
			 tensor->n_int64_data ? (uint64_t)tensor->int64_data[index] :
						tensor->uint64_data[index];
		memcpy(element, &number, bytes);
	}
}

static bool decodable(const Onnx__TensorProto *tensor)
{
	bool external = tensor->has_data_location &&
			tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;

	return graph_dtype_bytes(onnx_dtype(tensor->data_type)) &&
	       tensor->n_dims <= GRAPH_MAX_RANK && !tensor->segment && !external;
}

static void same_data(const struct onnx_tensor *got, const Onnx__TensorProto *want)
{
	uint32_t bytes = graph_dtype_bytes(onnx_dtype(want->data_type));
	int64_t dims[GRAPH_MAX_RANK];
	enum graph_dtype dtype;
	uint64_t count = 1, i;
	struct arena arena;
	struct diag diag;
	const void *data;
	uint8_t element[8];

	if (!decodable(want))
		return;
	for (i = 0; i < want->n_dims; i++)
		count *= (uint64_t)want->dims[i];
	arena_init(&arena, 0);
	diag_init(&diag);
	if (onnx_tensor_value(got, NULL, &arena, &diag, &dtype, dims, &data))
		fail_msg("tensor: %s", diag_first_error(&diag));
	assert_int_equal((uintptr_t)data % bytes, 0);
	for (i = 0; i < count; i++) {
		expected_element(want, i, bytes, element);
		assert_memory_equal((const uint8_t *)data + i * bytes, element, bytes);
	}
	diag_free(&diag);
	arena_free(&arena);
}

static void same_tensor(const struct onnx_tensor *got, const Onnx__TensorProto *want)
{
	tensors++;
	same_string(got->name, want->name);
	assert_int_equal(got->type, want->data_type);
	assert_int_equal(got->rank, want->n_dims);
	if (got->rank)
		assert_memory_equal(got->dims, want->dims, got->rank * sizeof(got->dims[0]));
	assert_int_equal(got->segmented, want->segment != NULL);
	same_data(got, want);
}

static void same_graph(const struct onnx_graph *got, const Onnx__GraphProto *want);

static void same_attribute(const struct onnx_attribute *got, const Onnx__AttributeProto *want)
{
	size_t i;

	same_string(got->name, want->name);
	if (want->has_type)
		assert_int_equal(got->type, want->type);
	if (want->has_f)
		assert_memory_equal(&got->f, &want->f, sizeof(got->f));
	if (want->has_i)
		assert_int_equal(got->i, want->i);
	if (want->has_s)
		same_bytes(got->s, &want->s);
	assert_int_equal(got->t != NULL, want->t != NULL);
	if (want->t)
		same_tensor(got->t, want->t);
	assert_int_equal(got->g != NULL, want->g != NULL);
	if (want->g)
		same_graph(got->g, want->g);
	assert_int_equal(got->float_count, want->n_floats);
	if (want->n_floats)
		assert_memory_equal(got->floats, want->floats, want->n_floats * sizeof(float));
	assert_int_equal(got->int_count, want->n_ints);
	if (want->n_ints)
		assert_memory_equal(got->ints, want->ints, want->n_ints * sizeof(int64_t));
	assert_int_equal(got->string_count, want->n_strings);
	for (i = 0; i < want->n_strings; i++)
		same_bytes(got->strings[i], &want->strings[i]);
	same_string(got->reference, want->ref_attr_name);
}

static void same_node(const struct onnx_node *got, const Onnx__NodeProto *want)
{
	size_t i;

	nodes++;
	same_string(got->name, want->name);
	same_string(got->op_type, want->op_type);
	same_string(got->domain, want->domain);
	assert_int_equal(got->input_count, want->n_input);
	assert_int_equal(got->output_count, want->n_output);
	assert_int_equal(got->attribute_count, want->n_attribute);
	for (i = 0; i < want->n_input; i++)
		same_string(got->inputs[i], want->input[i]);
	for (i = 0; i < want->n_output; i++)
		same_string(got->outputs[i], want->output[i]);
	for (i = 0; i < want->n_attribute; i++)
		same_attribute(&got->attributes[i], want->attribute[i]);
}

static void same_dim(const struct onnx_dim *got, const Onnx__TensorShapeProto__Dimension *want)
{
	assert_int_equal(got->has_value,
			 want->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE);
	if (got->has_value)
		assert_int_equal(got->value, want->dim_value);
	if (want->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
		same_string(got->parameter, want->dim_param);
}

static void same_info(const struct onnx_value_info *got, const Onnx__ValueInfoProto *want)
{
	const Onnx__TypeProto__Tensor *type = NULL;
	size_t i;

	same_string(got->name, want->name);
	if (want->type && want->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		type = want->type->tensor_type;
	assert_int_equal(got->is_tensor, type != NULL);
	if (!type)
		return;
	assert_int_equal(got->type, type->elem_type);
	assert_int_equal(got->has_shape, type->shape != NULL);
	if (!type->shape)
		return;
	assert_int_equal(got->rank, type->shape->n_dim);
	for (i = 0; i < type->shape->n_dim; i++)
		same_dim(&got->dims[i], type->shape->dim[i]);
}

static void same_graph(const struct onnx_graph *got, const Onnx__GraphProto *want)
{
	size_t i;

	same_string(got->name, want->name);
	assert_int_equal(got->node_count, want->n_node);
	assert_int_equal(got->initializer_count, want->n_initializer);
	assert_int_equal(got->input_count, want->n_input);
	assert_int_equal(got->output_count, want->n_output);
	assert_int_equal(got->value_info_count, want->n_value_info);
	assert_int_equal(got->sparse_initializer_count, want->n_sparse_initializer);
	for (i = 0; i < want->n_node; i++)
		same_node(&got->nodes[i], want->node[i]);
	for (i = 0; i < want->n_initializer; i++)
		same_tensor(&got->initializers[i], want->initializer[i]);
	for (i = 0; i < want->n_input; i++)
		same_info(&got->inputs[i], want->input[i]);
	for (i = 0; i < want->n_output; i++)
		same_info(&got->outputs[i], want->output[i]);
	for (i = 0; i < want->n_value_info; i++)
		same_info(&got->value_infos[i], want->value_info[i]);
}

static void same_model(const struct onnx_model *got, const Onnx__ModelProto *want)
{
	size_t i;

	models++;
	assert_int_equal(got->ir_version, want->ir_version);
	same_string(got->producer_name, want->producer_name);
	assert_int_equal(got->opset_count, want->n_opset_import);
	for (i = 0; i < want->n_opset_import; i++) {
		same_string(got->opsets[i].domain, want->opset_import[i]->domain);
		assert_int_equal(got->opsets[i].version, want->opset_import[i]->version);
	}
	assert_int_equal(got->function_count, want->n_functions);
	for (i = 0; i < want->n_functions; i++) {
		same_string(got->functions[i].name, want->functions[i]->name);
		assert_int_equal(got->functions[i].node_count, want->functions[i]->n_node);
	}
	same_graph(got->graph, want->graph);
}

static void compare_model(const char *path)
{
	struct onnx_files *files = onnx_files_open(path, NULL);
	const struct onnx_model *got;
	struct wire_bytes bytes;
	Onnx__ModelProto *want;
	struct arena arena;

	assert_non_null(files);
	assert_true(onnx_files_get(files, 0, &bytes));
	arena_init(&arena, 0);
	got = onnx_parse(bytes, &arena, NULL);
	want = onnx__model_proto__unpack(NULL, bytes.size, bytes.data);
	assert_int_equal(got != NULL, want != NULL && want->graph != NULL);
	if (got)
		same_model(got, want);
	if (want)
		onnx__model_proto__free_unpacked(want, NULL);
	arena_free(&arena);
	onnx_files_close(files);
}

/* Sequences and optionals are other messages, which read as tensors without a name. */
static bool is_tensor(const Onnx__TensorProto *tensor)
{
	return tensor->name && tensor->name[0];
}

static void compare_tensor(const char *path)
{
	struct onnx_files *files = onnx_files_open(path, NULL);
	const struct onnx_tensor *got;
	Onnx__TensorProto *want;
	struct wire_bytes bytes;
	struct arena arena;

	/* An empty optional is an empty file. */
	if (!files)
		return;
	assert_true(onnx_files_get(files, 0, &bytes));
	arena_init(&arena, 0);
	want = onnx__tensor_proto__unpack(NULL, bytes.size, bytes.data);
	got = onnx_parse_tensor(bytes, &arena, NULL);
	if (want && got && is_tensor(want))
		same_tensor(got, want);
	if (want)
		onnx__tensor_proto__free_unpacked(want, NULL);
	arena_free(&arena);
	onnx_files_close(files);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

static void walk(const char *folder)
{
	DIR *listing = opendir(folder);
	struct dirent *entry;
	struct stat status;
	char path[1024];

	while (listing && (entry = readdir(listing))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (lstat(path, &status))
			continue;
		if (S_ISDIR(status.st_mode))
			walk(path);
		else if (ends_with(path, ".onnx"))
			compare_model(path);
		else if (ends_with(path, ".pb"))
			compare_tensor(path);
	}
	if (listing)
		closedir(listing);
}

static void test_every_model(void **state)
{
	(void)state;
	walk(corpus);
	print_message("%" PRIu32 " models, %" PRIu32 " nodes, %" PRIu32 " tensors equal\n", models,
		      nodes, tensors);
	assert_in_range(models, 900, UINT32_MAX);
	assert_in_range(tensors, 3000, UINT32_MAX);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_model) };

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	corpus = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
