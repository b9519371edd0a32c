/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_status.h"
#include "input.h"

static int complain(const char *what)
{
	fprintf(stderr, "npu-run: %s: %s\n", what, npurt_last_error());
	return -1;
}

/* With --raw the host's elements are the device's own. */
static void make_raw(struct npurt_tensor_info *info)
{
	static const uint32_t host[] = {
		[NPURT_DEVICE_INT8] = NPURT_HOST_INT8,	 [NPURT_DEVICE_UINT8] = NPURT_HOST_UINT8,
		[NPURT_DEVICE_INT16] = NPURT_HOST_INT16, [NPURT_DEVICE_INT32] = NPURT_HOST_INT32,
		[NPURT_DEVICE_FP16] = NPURT_HOST_FLOAT16, [NPURT_DEVICE_FP32] = NPURT_HOST_FLOAT,
	};

	info->host_type = host[info->device_type];
	info->host_bytes = info->device_bytes;
	info->scale = 1;
	info->zero_point = 0;
}

static int describe(struct session *session, const struct options *options)
{
	session->info.size = sizeof(session->info);
	if (npurt_model_get_info(session->model, &session->info))
		return complain(options->model);
	session->count = session->info.inputs + session->info.outputs;
	session->tensors = calloc(session->count, sizeof(*session->tensors));
	session->bindings = calloc(session->count, sizeof(*session->bindings));
	if (!session->tensors || !session->bindings) {
		fputs("npu-run: no memory for the model's tensors\n", stderr);
		return -1;
	}
	for (uint32_t i = 0; i < session->count; i++) {
		struct npurt_tensor_info *info = &session->tensors[i];
		int error;

		info->size = sizeof(*info);
		if (i < session->info.inputs)
			error = npurt_model_get_input(session->model, i, info);
		else
			error = npurt_model_get_output(session->model, i - session->info.inputs, info);
		if (error || npurt_buffer_alloc(session->context, info->device_bytes, 0,
						&session->bindings[i].buffer))
			return complain(options->model);
		if (options->raw)
			make_raw(info);
	}
	return 0;
}

int session_find(const struct session *session, bool output, const char *name)
{
	uint32_t first = output ? session->info.inputs : 0;
	uint32_t count = output ? session->info.outputs : session->info.inputs;
	const char *kind = output ? "output" : "input";

	if (!*name && count == 1)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(session->tensors[first + i].name, name))
			return (int)i;
	if (*name)
		fprintf(stderr, "npu-run: the model has no %s '%s'; it has:", kind, name);
	else
		fprintf(stderr, "npu-run: the model has %u %ss, so write NAME=FILE; it has:", count, kind);
	for (uint32_t i = 0; i < count; i++)
		fprintf(stderr, " '%s'", session->tensors[first + i].name);
	fputc('\n', stderr);
	return -1;
}

static int fill_input(struct session *session, const struct options *options,
		      const struct named_file *input)
{
	int index = session_find(session, false, input->name);
	char error[TENSOR_ERROR_BYTES];
	struct npurt_tensor_info *info;
	struct tensor tensor;
	void *device;
	int result = 0;

	if (index < 0)
		return -1;
	info = &session->tensors[index];
	if (input_load(input->file, info, options, &tensor, error)) {
		fprintf(stderr, "npu-run: %s\n", error);
		return -1;
	}
	device = npurt_buffer_map(session->bindings[index].buffer);
	if (options->raw)
		memcpy(device, tensor.data, tensor.bytes);
	else if (npurt_tensor_from_host(info, tensor.data, tensor.bytes, device, info->device_bytes))
		result = complain(input->file);
	tensor_free(&tensor);
	return result;
}

/* Returns an exit status. That a device is dead may be found only when its firmware is asked. */
static int open_device(struct session *session, const struct options *options)
{
	struct npurt_context_options context = {
		.size = sizeof(context), .queue_depth = options->queue_depth,
		.priority = options->priority,
	};
	int ret = npurt_open(options->device, &session->device);

	if (ret) {
		complain(options->device ? options->device : "no device");
		return device_status(ret);
	}
	session->device_info.size = sizeof(session->device_info);
	if (npurt_device_get_info(session->device, &session->device_info)) {
		complain("the device does not say what it is");
		return DEVICE_STATUS_FAILED;
	}
	ret = npurt_context_create(session->device, &context, &session->context);
	if (ret) {
		complain("no context on the device");
		return device_status(ret);
	}
	return 0;
}

/* Onto the open device. */
static int load(struct session *session, const struct options *options)
{
	if (npurt_model_load(session->context, options->model, &session->model))
		return complain(options->model);
	if (describe(session, options))
		return -1;
	for (uint32_t i = 0; i < options->input_count; i++)
		if (fill_input(session, options, &options->inputs[i]))
			return -1;
	return 0;
}

int session_open(struct session *session, const struct options *options)
{
	int status;

	memset(session, 0, sizeof(*session));
	status = open_device(session, options);
	if (status)
		return status;
	return load(session, options) ? 1 : 0;
}

void session_close(struct session *session)
{
	for (uint32_t i = 0; session->bindings && i < session->count; i++)
		npurt_buffer_free(session->bindings[i].buffer);
	free(session->bindings);
	free(session->tensors);
	npurt_model_unload(session->model);
	npurt_context_destroy(session->context);
	npurt_close(session->device);
	memset(session, 0, sizeof(*session));
}

int session_output(const struct session *session, uint32_t index, struct tensor *tensor,
		   char error[TENSOR_ERROR_BYTES])
{
	uint32_t at = session->info.inputs + index;
	const struct npurt_tensor_info *info = &session->tensors[at];
	const void *device = npurt_buffer_map(session->bindings[at].buffer);
	uint64_t dims[TENSOR_RANK_MAX] = { 0 };

	for (uint32_t i = 0; i < info->rank; i++)
		dims[i] = info->dims[i];
	if (tensor_alloc(tensor, info->host_type, info->rank, dims, error))
		return -1;
	if (tensor->bytes == info->device_bytes && info->host_bytes == info->device_bytes &&
	    info->scale == 1 && info->zero_point == 0) {
		/* Also the way of --raw: the same elements on both sides. */
		memcpy(tensor->data, device, tensor->bytes);
		return 0;
	}
	if (!npurt_tensor_to_host(info, device, info->device_bytes, tensor->data, tensor->bytes))
		return 0;
	snprintf(error, TENSOR_ERROR_BYTES, "output '%.100s': %.300s", info->name, npurt_last_error());
	tensor_free(tensor);
	return -1;
}

uint64_t session_peak_macs(const struct session *session)
{
	uint64_t int8 = (uint64_t)session->device_info.clusters *
			session->device_info.macs_per_cluster;

	switch (session->info.precision) {
	case NPURT_DEVICE_FP16:
		return int8 / 4;
	case NPURT_DEVICE_INT16:
		return int8 / 2;
	default:
		return int8;
	}
}
