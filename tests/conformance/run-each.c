/* SPDX-License-Identifier: MIT */
/*
 * run-each MODEL.npu IN.npy OUT.npy: runs a model with one input and one output once for each element
 * of IN's first axis, in one process, and stacks the outputs. The device is $NPU_DEVICE's, else sim:.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "npurt.h"
#include "npy.h"

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "run-each: %s: %s\n", what, why);
	return 1;
}

struct state {
	struct npurt_device *device;
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_tensor_info in_info, out_info;
	struct npurt_binding bindings[2];
	struct tensor in, out;
};

static int load(struct state *state, const char *model, const char *input)
{
	char error[TENSOR_ERROR_BYTES];
	size_t size;
	void *file;
	int bad;

	state->in_info.size = sizeof(state->in_info);
	state->out_info.size = sizeof(state->out_info);
	if (npurt_open(getenv("NPU_DEVICE") ? NULL : "sim:", &state->device) ||
	    npurt_context_create(state->device, NULL, &state->context) ||
	    npurt_model_load(state->context, model, &state->model) ||
	    npurt_model_get_input(state->model, 0, &state->in_info) ||
	    npurt_model_get_output(state->model, 0, &state->out_info) ||
	    npurt_buffer_alloc(state->context, state->in_info.device_bytes, 0,
			       &state->bindings[0].buffer) ||
	    npurt_buffer_alloc(state->context, state->out_info.device_bytes, 0,
			       &state->bindings[1].buffer))
		return fail(model, npurt_last_error());
	file = file_read(input, (size_t)1 << 31, &size, error, sizeof(error));
	if (!file)
		return fail(input, error);
	bad = npy_parse(file, size, &state->in, error);
	free(file);
	if (bad)
		return fail(input, error);
	if (state->in.type != state->in_info.host_type || !state->in.rank ||
	    state->in.bytes != state->in.dims[0] * state->in_info.host_bytes)
		return fail(input, "is no stack of the model's inputs");
	return 0;
}

static int run(struct state *state)
{
	uint64_t dims[TENSOR_RANK_MAX] = { state->in.dims[0] };
	char error[TENSOR_ERROR_BYTES];

	for (uint32_t i = 0; i < state->out_info.rank; i++)
		dims[1 + i] = state->out_info.dims[i];
	if (tensor_alloc(&state->out, state->out_info.host_type, 1 + state->out_info.rank, dims, error))
		return fail("the outputs", error);
	for (uint64_t i = 0; i < dims[0]; i++) {
		const char *from = (const char *)state->in.data + i * state->in_info.host_bytes;
		char *to = (char *)state->out.data + i * state->out_info.host_bytes;

		if (npurt_tensor_from_host(&state->in_info, from, state->in_info.host_bytes,
					   npurt_buffer_map(state->bindings[0].buffer),
					   state->in_info.device_bytes) ||
		    npurt_run(state->model, state->bindings, 2, NULL) ||
		    npurt_tensor_to_host(&state->out_info, npurt_buffer_map(state->bindings[1].buffer),
					 state->out_info.device_bytes, to, state->out_info.host_bytes))
			return fail("a run", npurt_last_error());
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct state state = { 0 };
	char error[TENSOR_ERROR_BYTES];
	int status;

	if (argc != 4) {
		fputs("usage: run-each MODEL.npu IN.npy OUT.npy\n", stderr);
		return 2;
	}
	status = load(&state, argv[1], argv[2]) || run(&state);
	if (!status && npy_write(argv[3], &state.out, error))
		status = fail(argv[3], error);
	tensor_free(&state.in);
	tensor_free(&state.out);
	npurt_buffer_free(state.bindings[0].buffer);
	npurt_buffer_free(state.bindings[1].buffer);
	npurt_model_unload(state.model);
	npurt_context_destroy(state.context);
	npurt_close(state.device);
	return status;
}
