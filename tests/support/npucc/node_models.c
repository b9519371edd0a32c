// SPDX-License-Identifier: MIT
#include "node_models.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fold/eval.h"
#include "fold/interpreter.h"

static bool read_tensor(struct node_case *node_case, const char *path, struct node_tensor *out)
{
	const struct onnx_tensor *tensor;
	struct onnx_files *files;
	struct wire_bytes bytes;

	files = onnx_files_open(path, NULL);
	if (!files)
		return false;
	node_case->tensor_files[node_case->file_count++] = files;
	onnx_files_get(files, 0, &bytes);
	tensor = onnx_parse_tensor(bytes, &node_case->arena, NULL);
	if (!tensor || onnx_tensor_value(tensor, NULL, &node_case->arena, NULL, &out->dtype,
					 out->dims, &out->data))
		return false;
	out->rank = tensor->rank;
	return true;
}

static bool read_tensors(struct node_case *node_case, const char *kind, struct node_tensor *list,
			 uint32_t *count)
{
	char path[640];

	for (*count = 0; *count < NODE_MAX_TENSORS; (*count)++) {
		snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%" PRIu32 ".pb",
			 node_case->folder, kind, *count);
		if (access(path, R_OK))
			return true;
		if (!read_tensor(node_case, path, &list[*count]))
			return false;
	}
	return false;
}

bool node_case_open(struct node_case *node_case, const char *folder)
{
	struct wire_bytes bytes;
	char path[640];

	memset(node_case, 0, sizeof(*node_case));
	snprintf(node_case->folder, sizeof(node_case->folder), "%s", folder);
	arena_init(&node_case->arena, 0);
	snprintf(path, sizeof(path), "%s/model.onnx", folder);
	node_case->files = onnx_files_open(path, NULL);
	if (!node_case->files)
		return false;
	onnx_files_get(node_case->files, 0, &bytes);
	node_case->model = onnx_parse(bytes, &node_case->arena, NULL);
	return node_case->model &&
	       read_tensors(node_case, "input", node_case->inputs, &node_case->input_count) &&
	       read_tensors(node_case, "output", node_case->outputs, &node_case->output_count);
}

void node_case_close(struct node_case *node_case)
{
	uint32_t i;

	for (i = 0; i < node_case->file_count; i++)
		onnx_files_close(node_case->tensor_files[i]);
	onnx_files_close(node_case->files);
	arena_free(&node_case->arena);
}

/* Data files belong to the inputs that are no initializers, in order. */
static uint32_t runtime_inputs(const struct node_case *node_case,
			       const struct onnx_value_info *list[NODE_MAX_TENSORS])
{
	const struct onnx_graph *graph = node_case->model->graph;
	uint32_t count = 0, i, j;

	for (i = 0; i < graph->input_count && count < NODE_MAX_TENSORS; i++) {
		for (j = 0; j < graph->initializer_count; j++)
			if (onnx_equal(graph->initializers[j].name, graph->inputs[i].name))
				break;
		if (j == graph->initializer_count)
			list[count++] = &graph->inputs[i];
	}
	return count;
}

struct npucc_model *node_case_load(const struct node_case *node_case, uint64_t constants,
				   int fusion, struct diag *diag)
{
	struct npucc_constant_binding fixed[NODE_MAX_TENSORS];
	struct npucc_shape_binding shapes[NODE_MAX_TENSORS];
	const struct onnx_value_info *infos[NODE_MAX_TENSORS];
	struct npucc_front_options options = { .shapes = shapes, .constants = fixed };
	char names[NODE_MAX_TENSORS][256], path[640];
	uint32_t count = runtime_inputs(node_case, infos), i;

	options.fusion = fusion;
	options.fold_affine = fusion == 2;
	options.keep_going = true;
	for (i = 0; i < count && i < node_case->input_count; i++) {
		const struct node_tensor *tensor = &node_case->inputs[i];

		snprintf(names[i], sizeof(names[i]), "%.*s", (int)infos[i]->name.size,
			 (const char *)infos[i]->name.data);
		if (constants >> i & 1) {
			struct npucc_constant_binding *binding = &fixed[options.constant_count++];

			binding->name = names[i];
			binding->dtype = tensor->dtype;
			binding->rank = tensor->rank;
			memcpy(binding->dims, tensor->dims, sizeof(binding->dims));
			binding->data = tensor->data;
		} else {
			struct npucc_shape_binding *binding = &shapes[options.shape_count++];

			binding->name = names[i];
			binding->rank = tensor->rank;
			memcpy(binding->dims, tensor->dims, sizeof(binding->dims));
		}
	}
	snprintf(path, sizeof(path), "%s/model.onnx", node_case->folder);
	return npucc_front_load(path, &options, diag);
}

static const struct node_tensor *as_bfloat16(const struct node_tensor *tensor,
					     struct node_tensor *copy)
{
	*copy = *tensor;
	copy->dtype = GRAPH_DTYPE_BF16;
	return copy;
}

/* Infinities and NaNs have no neighbours. */
static bool is_near(double got, double want, double room)
{
	if (got == want || (isnan(got) && isnan(want)))
		return true;
	return isfinite(got) && isfinite(want) && fabs(got - want) <= room;
}

static double largest(const struct node_tensor *tensor, int64_t count)
{
	double most = 0;

	for (int64_t i = 0; i < count; i++) {
		double value = fabs(eval_load(tensor->dtype, tensor->data, i));

		if (isfinite(value) && value > most)
			most = value;
	}
	return most;
}

int node_compare(const struct graph_value *value, const void *data,
		 const struct node_tensor *expected, uint32_t index,
		 const struct node_tolerance *tolerance, struct diag *diag)
{
	bool is_float = graph_dtype_is_float(value->dtype);
	struct node_tensor bits;
	int64_t count = graph_element_count(value), i;
	char text[GRAPH_SHAPE_TEXT];
	double most;

	/* Older test data holds bfloat16 as the bits it is made of. */
	if (expected->dtype == GRAPH_DTYPE_U16 && value->dtype == GRAPH_DTYPE_BF16)
		expected = as_bfloat16(expected, &bits);
	if (value->rank != expected->rank || value->dtype != expected->dtype ||
	    (value->rank && memcmp(value->dims, expected->dims, value->rank * sizeof(int64_t))))
		return diag_error(diag,
				  "output %" PRIu32 " is %s[%s], another shape or type is expected",
				  index, graph_dtype_name(value->dtype),
				  graph_format_shape(value, text));
	most = largest(expected, count);
	for (i = 0; i < count; i++) {
		double got = eval_load(value->dtype, data, i);
		double want = eval_load(expected->dtype, expected->data, i);
		double room = tolerance->absolute + tolerance->of_largest * most +
			      tolerance->of_value * fabs(want);

		if (is_near(got, want, is_float ? room : 0))
			continue;
		return diag_error(diag,
				  "output %" PRIu32 " element %" PRId64
				  " is %.9g, expected %.9g within %.3g",
				  index, i, got, want, is_float ? room : 0);
	}
	return 0;
}

static int set_inputs(const struct node_case *node_case, struct interpreter *interpreter,
		      const struct graph *graph, uint64_t constants)
{
	const struct onnx_value_info *infos[NODE_MAX_TENSORS];
	uint32_t count = runtime_inputs(node_case, infos), index = 0, i;

	for (i = 0; i < count && i < node_case->input_count; i++) {
		if (constants >> i & 1)
			continue;
		if (index >= graph->input_count ||
		    interpreter_input(interpreter, index++, node_case->inputs[i].data))
			return -1;
	}
	return 0;
}

int node_case_run(const struct node_case *node_case, struct npucc_model *model, uint64_t constants,
		  struct diag *diag)
{
	struct graph *graph = npucc_model_graph(model);
	struct interpreter *interpreter = interpreter_new(graph);
	int result = -1;
	uint32_t i;

	if (!interpreter || set_inputs(node_case, interpreter, graph, constants)) {
		diag_error(diag, "the inputs do not fit the graph");
		goto out;
	}
	if (graph->output_count != node_case->output_count) {
		diag_error(diag, "the graph has %" PRIu32 " outputs, %" PRIu32 " are expected",
			   graph->output_count, node_case->output_count);
		goto out;
	}
	if (interpreter_run(interpreter, diag))
		goto out;
	for (i = 0; i < graph->output_count; i++) {
		const struct node_tensor *expected = &node_case->outputs[i];
		const struct node_tolerance tolerance = {
			.absolute = 1e-4,
			.of_value = expected->dtype == GRAPH_DTYPE_F16 ? 2e-3 : 1e-3,
		};

		if (node_compare(graph->outputs[i], interpreter_output(interpreter, i), expected, i,
				 &tolerance, diag))
			goto out;
	}
	result = 0;
out:
	interpreter_free(interpreter);
	return result;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **node_folders(const char *top, uint32_t *count)
{
	char **list = NULL, path[512];
	struct dirent *entry;
	DIR *folder = opendir(top);

	*count = 0;
	while (folder && (entry = readdir(folder))) {
		char **longer;

		if (entry->d_name[0] == '.')
			continue;
		longer = realloc(list, (*count + 1) * sizeof(*list));
		if (!longer)
			break;
		list = longer;
		snprintf(path, sizeof(path), "%s/%s", top, entry->d_name);
		list[(*count)++] = strdup(path);
	}
	if (folder)
		closedir(folder);
	if (list)
		qsort(list, *count, sizeof(*list), by_name);
	return list;
}
