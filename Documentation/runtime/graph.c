// SPDX-License-Identifier: MIT
/*
 * graph MODEL.npu: runs a model and then a function of this program, as a graph, several times.
 *
 * The model has one input and one output of floats. cc graph.c $(pkg-config --cflags --libs npurt)
 */
#include <npurt.h>
#include <stdio.h>
#include <stdlib.h>

struct tensor {
	struct npurt_tensor_info info;
	float *values;
	struct npurt_buffer *buffer;
};

static int complain(void)
{
	fprintf(stderr, "graph: %s\n", npurt_last_error());
	return 1;
}

/* The host node: what the model wrote is there. A negative errno would cancel what is behind it. */
static int print_output(void *data)
{
	struct tensor *output = data;
	int ret;

	ret = npurt_tensor_to_host(&output->info, npurt_buffer_map(output->buffer),
				   npurt_buffer_bytes(output->buffer), output->values,
				   output->info.host_bytes);
	if (ret)
		return ret;
	printf("%s: %g %g %g\n", output->info.name, (double)output->values[0],
	       (double)output->values[1], (double)output->values[2]);
	return 0;
}

static int prepare(struct npurt_context *context, struct tensor *tensor)
{
	if (tensor->info.host_type != NPURT_HOST_FLOAT || tensor->info.elements < 3) {
		fprintf(stderr, "graph: %s is not three floats or more\n", tensor->info.name);
		return 1;
	}
	tensor->values = calloc(tensor->info.elements, sizeof(float));
	if (!tensor->values)
		return 1;
	return npurt_buffer_alloc(context, tensor->info.device_bytes, 0, &tensor->buffer) ?
		       complain() :
		       0;
}

static int build(struct npurt_graph *graph, struct npurt_model *model, struct tensor *tensors)
{
	const struct npurt_binding bindings[] = { { tensors[0].buffer, 0 },
						  { tensors[1].buffer, 0 } };
	uint32_t run, print;

	if (npurt_graph_add_run(graph, model, bindings, 2, 0, &run) ||
	    npurt_graph_add_host(graph, print_output, &tensors[1], &print) ||
	    npurt_graph_add_edge(graph, run, print) || npurt_graph_build(graph))
		return complain();
	return 0;
}

static int replay(struct npurt_graph *graph, struct tensor *input, float value)
{
	struct npurt_future *future;
	uint64_t i;
	int ret;

	for (i = 0; i < input->info.elements; i++)
		input->values[i] = value;
	if (npurt_tensor_from_host(&input->info, input->values, input->info.host_bytes,
				   npurt_buffer_map(input->buffer),
				   npurt_buffer_bytes(input->buffer)) ||
	    npurt_graph_submit(graph, NULL, &future))
		return complain();
	ret = npurt_future_wait(future, NPURT_FOREVER);
	npurt_future_release(future);
	return ret ? complain() : 0;
}

static int work(struct npurt_context *context, struct npurt_model *model, struct tensor *tensors)
{
	struct npurt_graph *graph;
	int failed, i;

	for (i = 0; i < 2; i++)
		tensors[i].info.size = sizeof(tensors[i].info);
	if (npurt_model_get_input(model, 0, &tensors[0].info) ||
	    npurt_model_get_output(model, 0, &tensors[1].info) ||
	    npurt_graph_create(context, NULL, &graph))
		return complain();
	failed = prepare(context, &tensors[0]) || prepare(context, &tensors[1]) ||
		 build(graph, model, tensors);
	for (i = 1; i <= 3 && !failed; i++)
		failed = replay(graph, &tensors[0], (float)i);
	npurt_graph_destroy(graph);
	return failed;
}

int main(int argc, char **argv)
{
	struct tensor tensors[2] = { { { 0 }, NULL, NULL } };
	struct npurt_device *device = NULL;
	struct npurt_context *context = NULL;
	struct npurt_model *model = NULL;
	int failed, i;

	if (argc != 2) {
		fprintf(stderr, "usage: graph MODEL.npu\n");
		return 2;
	}
	if (npurt_open(NULL, &device) || npurt_context_create(device, NULL, &context) ||
	    npurt_model_load(context, argv[1], &model))
		failed = complain();
	else
		failed = work(context, model, tensors);
	for (i = 0; i < 2; i++) {
		npurt_buffer_free(tensors[i].buffer);
		free(tensors[i].values);
	}
	npurt_model_unload(model);
	npurt_context_destroy(context);
	npurt_close(device);
	return failed;
}
