// SPDX-License-Identifier: MIT
/* The scan: what it refuses and in which words; its JSON is read back by json-c. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "npucc_front.h"
#include "onnx_builder.h"
#include "scan/fields.h"
#include "scan/scan.h"

static const int64_t image[] = { 1, 4, 6, 6 };

struct scanned {
	struct onnx_builder *builder;
	struct npucc_model *model;
	struct scan_report report;
	struct diag diag;
};

static struct onnx_builder *begin(void)
{
	struct onnx_builder *builder = onnx_builder_new(13);

	assert_non_null(builder);
	onnx_builder_input(builder, "x", 4, image);
	return builder;
}

static void scan(struct scanned *scanned, struct onnx_builder *builder)
{
	struct npucc_front_options options = { .keep_going = true };
	const uint8_t *bytes;
	size_t size;

	memset(scanned, 0, sizeof(*scanned));
	onnx_builder_output(builder, "y", 1, (const int64_t[]){ 1 });
	bytes = onnx_builder_finish(builder, &size);
	assert_non_null(bytes);
	diag_init(&scanned->diag);
	scanned->builder = builder;
	scanned->model = npucc_front_load_memory(bytes, size, &options, &scanned->diag);
	if (!scanned->model)
		fail_msg("%s", diag_first_error(&scanned->diag));
	assert_int_equal(npucc_scan(npucc_model_graph(scanned->model), &scanned->report, NULL), 0);
}

static void done(struct scanned *scanned)
{
	npucc_model_free(scanned->model);
	onnx_builder_free(scanned->builder);
	diag_free(&scanned->diag);
}

static json_object *member(json_object *object, const char *name)
{
	json_object *found = NULL;

	assert_true(json_object_object_get_ex(object, name, &found));
	return found;
}

static json_object *as_json(const struct scan_report *report)
{
	json_object *object;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	scan_print_json(report, out);
	fclose(out);
	object = json_tokener_parse(text);
	free(text);
	assert_non_null(object);
	return object;
}

static const char *text_of(json_object *object, const char *name)
{
	return json_object_get_string(member(object, name));
}

static void test_accepted(void **state)
{
	struct onnx_builder *builder = begin();
	struct scanned scanned;
	json_object *json;

	(void)state;
	onnx_builder_node(builder, "Relu", "x", "y");
	scan(&scanned, builder);
	assert_string_equal(scan_verdict(&scanned.report), "npu");
	json = as_json(&scanned.report);
	assert_int_equal(json_object_get_int(member(json, "schema")), 1);
	assert_string_equal(text_of(json, "verdict"), "npu");
	assert_int_equal(json_object_array_length(member(json, "operators")), 1);
	assert_int_equal(json_object_get_int(member(member(json, "counts"), "npu")), 1);
	json_object_put(json);
	assert_int_equal(scan_refuse(npucc_model_graph(scanned.model), NULL), 0);
	done(&scanned);
}

/* An operator nobody knows, and one behind it whose shape is therefore not known. */
static void test_unknown_operator(void **state)
{
	struct onnx_builder *builder = begin();
	struct scanned scanned;
	json_object *json, *first;
	struct diag diag;

	(void)state;
	onnx_builder_node(builder, "Frob\"\xff\x01", "x", "f");
	onnx_builder_node(builder, "Relu", "f", "y");
	scan(&scanned, builder);
	assert_string_equal(scan_verdict(&scanned.report), "unsupported");
	json = as_json(&scanned.report);
	first = json_object_array_get_idx(member(json, "operators"), 0);
	/* Bytes that are no UTF-8 are told by their number, and the JSON stays JSON. */
	assert_string_equal(text_of(first, "op"), "Frob\"\xc3\xbf\\x01");
	assert_string_equal(text_of(first, "where"), "none");
	assert_non_null(strstr(text_of(first, "reason"), "Frob"));
	assert_true(strlen(text_of(first, "suggestion")) > 10);
	json_object_put(json);
	diag_init(&diag);
	assert_int_equal(scan_refuse(npucc_model_graph(scanned.model), &diag), -1);
	assert_int_equal(diag.errors, 2);
	diag_free(&diag);
	done(&scanned);
}

/* Every row of the table: a sentence when broken, nothing when just kept. */
static void test_rules(void **state)
{
	size_t i;

	(void)state;
	assert_true(scan_limit_count > 0);
	for (i = 0; i < scan_limit_count; i++) {
		const struct scan_limit *limit = &scan_limits[i];

		assert_true(limit->op <= GRAPH_OP_COUNT);
		assert_non_null(limit->name);
		assert_non_null(limit->field);
		assert_true(strlen(limit->suggestion) > 10);
		if (limit->rule == SCAN_MULTIPLE_OF)
			assert_true(limit->limit > 0);
	}
	assert_int_equal(scan_operators[GRAPH_OP_UNKNOWN], SCAN_NONE);
}

static void test_sentence(void **state)
{
	static const int64_t kernel[] = { 3, 3 };
	struct onnx_builder *builder = begin();
	struct scan_finding finding;
	json_object *json, *first;
	struct scanned scanned;

	(void)state;
	onnx_builder_node(builder, "LpPool", "x", "y");
	onnx_builder_ints(builder, "kernel_shape", 2, kernel);
	scan(&scanned, builder);
	assert_false(scan_node(npucc_model_graph(scanned.model)->first, &finding));
	assert_non_null(finding.limit);
	assert_ptr_equal(finding.limit->field, scan_pool);
	assert_int_equal(finding.value, GRAPH_POOL_LP);
	assert_non_null(strstr(finding.reason, "kind is lp, only max, average is supported"));
	json = as_json(&scanned.report);
	first = json_object_array_get_idx(member(json, "operators"), 0);
	assert_string_equal(text_of(first, "rule"), "kind");
	assert_string_equal(text_of(first, "value"), "lp");
	assert_string_equal(text_of(first, "limit"), "only max, average");
	assert_non_null(strchr(text_of(first, "shape"), 'x'));
	json_object_put(json);
	done(&scanned);
}

static void test_fields(void **state)
{
	static const int64_t dims[] = { 8, 2, 5, 3 }, strides[] = { 2, 1 }, pads[] = { 4, 0, 0, 1 };
	struct onnx_builder *builder = begin();
	float numbers[240] = { 0 };
	const struct graph_node *node;
	struct scanned scanned;

	(void)state;
	onnx_builder_floats(builder, "w", 4, dims, numbers);
	onnx_builder_node(builder, "Conv", "x w", "y");
	onnx_builder_ints(builder, "strides", 2, strides);
	onnx_builder_ints(builder, "pads", 4, pads);
	onnx_builder_int(builder, "group", 2);
	scan(&scanned, builder);
	node = npucc_model_graph(scanned.model)->first;
	assert_int_equal(scan_kernel_height(node), 5);
	assert_int_equal(scan_kernel_width(node), 3);
	assert_int_equal(scan_stride_height(node), 2);
	assert_int_equal(scan_stride_width(node), 1);
	assert_int_equal(scan_largest_pad(node), 4);
	assert_int_equal(scan_weight_constant(node), 1);
	assert_int_equal(scan_largest_dim(node), 8);
	assert_int_equal(scan_eltwise(node), SCAN_NOT_APPLICABLE);
	done(&scanned);
}

static void test_table(void **state)
{
	struct onnx_builder *builder = begin();
	struct scanned scanned;
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	(void)state;
	onnx_builder_node(builder, "Frobnicate", "x", "line\nbreak");
	onnx_builder_node(builder, "Relu", "x", "y");
	onnx_builder_output(builder, "line\nbreak", 1, (const int64_t[]){ 1 });
	scan(&scanned, builder);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	scan_print(&scanned.report, out);
	fclose(out);
	assert_non_null(
		strstr(text, "verdict: unsupported (1 on the NPU, 0 on the CPU, 1 unsupported)"));
	assert_null(strstr(text, "line\nbreak"));
	free(text);
	done(&scanned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted), cmocka_unit_test(test_unknown_operator),
		cmocka_unit_test(test_rules),	 cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_fields),	 cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
