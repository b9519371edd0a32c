// SPDX-License-Identifier: MIT
/*
 * hello MODEL.npu: runs a compiled model once on made-up input, and prints what came out.
 *
 * cc hello.c -o hello $(pkg-config --cflags --libs npurt)
 */
#include <npurt.h>
#include <stdio.h>
#include <stdlib.h>

#define TENSORS_MAX 29

/* One tensor: what it is, the host's elements, the device's buffer. */
struct tensor {
	struct npurt_tensor_info info;
	float *values;
	struct npurt_buffer *buffer;
};

static int complain(void)
{
	fprintf(stderr, "hello: %s\n", npurt_last_error());
	return 1;
}

/* Both memories of a tensor. This example keeps to models whose author sees floats. */
static int prepare(struct npurt_context *context, struct tensor *tensor)
{
	if (tensor->info.host_type != NPURT_HOST_FLOAT) {
		fprintf(stderr, "hello: %s is not float\n", tensor->info.name);
		return 1;
	}
	tensor->values = calloc(tensor->info.elements, sizeof(float));
	if (!tensor->values)
		return 1;
	if (npurt_buffer_alloc(context, tensor->info.device_bytes, 0, &tensor->buffer))
		return complain();
	return 0;
}

static int prepare_all(struct npurt_context *context, struct npurt_model *model,
		       const struct npurt_model_info *about, struct tensor *tensors)
{
	uint32_t i;

	for (i = 0; i < about->inputs + about->outputs; i++) {
		struct npurt_tensor_info *info = &tensors[i].info;

		info->size = sizeof(*info);
		if (i < about->inputs ? npurt_model_get_input(model, i, info) :
					npurt_model_get_output(model, i - about->inputs, info))
			return complain();
		if (prepare(context, &tensors[i]))
			return 1;
	}
	return 0;
}

static void make_up_values(struct tensor *input)
{
	uint64_t i;

	for (i = 0; i < input->info.elements; i++)
		input->values[i] = (float)(i % 10);
}

static int run(struct npurt_model *model, const struct npurt_model_info *about,
	       struct tensor *tensors)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_binding bindings[TENSORS_MAX] = { { NULL, 0 } };
	uint32_t i, count = about->inputs + about->outputs;
	struct npurt_future *future;

	for (i = 0; i < count; i++)
		bindings[i].buffer = tensors[i].buffer;
	for (i = 0; i < about->inputs; i++) {
		make_up_values(&tensors[i]);
		if (npurt_tensor_from_host(&tensors[i].info, tensors[i].values,
					   tensors[i].info.host_bytes,
					   npurt_buffer_map(tensors[i].buffer),
					   npurt_buffer_bytes(tensors[i].buffer)))
			return complain();
	}
	if (npurt_run_submit(model, bindings, count, NULL, &future))
		return complain();
	/* Here is time for something else. */
	if (npurt_future_wait(future, NPURT_FOREVER) ||
	    npurt_future_get_report(future, &report)) {
		npurt_future_release(future);
		return complain();
	}
	npurt_future_release(future);
	printf("%s took %llu cycles\n", about->name, (unsigned long long)report.cycles);
	return 0;
}

static int print(const struct tensor *output)
{
	uint64_t i;

	if (npurt_tensor_to_host(&output->info, npurt_buffer_map(output->buffer),
				 npurt_buffer_bytes(output->buffer), output->values,
				 output->info.host_bytes))
		return complain();
	printf("%s:", output->info.name);
	for (i = 0; i < output->info.elements && i < 10; i++)
		printf(" %g", (double)output->values[i]);
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct npurt_model_info about = { .size = sizeof(about) };
	struct tensor tensors[TENSORS_MAX] = { { { 0 }, NULL, NULL } };
	struct npurt_device *device = NULL;
	struct npurt_context *context = NULL;
	struct npurt_model *model = NULL;
	uint32_t i;
	int failed;

	if (argc != 2) {
		fprintf(stderr, "usage: hello MODEL.npu\n");
		return 2;
	}
	if (npurt_open(NULL, &device) || npurt_context_create(device, NULL, &context) ||
	    npurt_model_load(context, argv[1], &model) || npurt_model_get_info(model, &about))
		failed = complain();
	else
		failed = prepare_all(context, model, &about, tensors) ||
			 run(model, &about, tensors);
	for (i = about.inputs; !failed && i < about.inputs + about.outputs; i++)
		failed = print(&tensors[i]);

	/* In any order: what is still needed stays. */
	for (i = 0; i < TENSORS_MAX; i++) {
		npurt_buffer_free(tensors[i].buffer);
		free(tensors[i].values);
	}
	npurt_model_unload(model);
	npurt_context_destroy(context);
	npurt_close(device);
	return failed;
}
