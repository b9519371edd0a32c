/* SPDX-License-Identifier: MIT */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what)
{
	fprintf(stderr, "npu-ocr: %s: %s\n", what, npurt_last_error());
	return -1;
}

static int check_shape(const struct network *network, const char *path)
{
	const struct npurt_tensor_info *in = &network->input;

	if (network->info.inputs == 1 && network->info.outputs == 1 && in->rank == 4 &&
	    in->dims[0] == 1 && in->dims[1] == 3 && in->host_type == NPURT_HOST_FLOAT &&
	    network->output.host_type == NPURT_HOST_FLOAT)
		return 0;
	fprintf(stderr, "npu-ocr: %s: has no single float input [1,3,H,W] and single float output\n",
		path);
	return -1;
}

int network_load(struct network *network, struct npurt_context *context, const char *path)
{
	memset(network, 0, sizeof(*network));
	network->info.size = sizeof(network->info);
	network->input.size = sizeof(network->input);
	network->output.size = sizeof(network->output);
	if (npurt_model_load(context, path, &network->model) ||
	    npurt_model_get_info(network->model, &network->info) ||
	    npurt_model_get_input(network->model, 0, &network->input) ||
	    npurt_model_get_output(network->model, 0, &network->output))
		return complain(path);
	if (check_shape(network, path))
		return -1;
	network->result = calloc(network->output.elements, sizeof(*network->result));
	if (!network->result) {
		fprintf(stderr, "npu-ocr: %s: no memory for its output\n", path);
		return -1;
	}
	if (npurt_buffer_alloc(context, network->input.device_bytes, 0,
			       &network->bindings[0].buffer) ||
	    npurt_buffer_alloc(context, network->output.device_bytes, 0,
			       &network->bindings[1].buffer))
		return complain(path);
	return 0;
}

void network_free(struct network *network)
{
	free(network->result);
	npurt_buffer_free(network->bindings[0].buffer);
	npurt_buffer_free(network->bindings[1].buffer);
	npurt_model_unload(network->model);
	memset(network, 0, sizeof(*network));
}

/* Planes blue, green, red of @scaled, which is narrower than or as wide as the input. */
static void normalize(const struct image *scaled, float *values, uint32_t width)
{
	for (uint32_t c = 0; c < 3; c++)
		for (uint32_t y = 0; y < scaled->height; y++)
			for (uint32_t x = 0; x < scaled->width; x++) {
				uint8_t pixel = scaled->rgb[((size_t)y * scaled->width + x) * 3 + 2 - c];

				values[((size_t)c * scaled->height + y) * width + x] =
					((float)pixel / 255.0f - 0.5f) / 0.5f;
			}
}

static int fill_input(struct network *network, const struct image *image)
{
	const struct npurt_tensor_info *in = &network->input;
	uint32_t height = in->dims[2], width = in->dims[3], wanted;
	char error[IMAGE_ERROR_BYTES];
	struct image scaled;
	float *values;
	int result;

	wanted = (uint32_t)ceil((double)height * image->width / image->height);
	if (wanted > width)
		wanted = width;
	if (image_resize(image, wanted, height, &scaled, error)) {
		fprintf(stderr, "npu-ocr: %s\n", error);
		return -1;
	}
	values = calloc(in->elements, sizeof(*values));
	if (!values) {
		fputs("npu-ocr: no memory for the network's input\n", stderr);
		image_free(&scaled);
		return -1;
	}
	normalize(&scaled, values, width);
	result = npurt_tensor_from_host(in, values, in->host_bytes,
					npurt_buffer_map(network->bindings[0].buffer),
					in->device_bytes);
	free(values);
	image_free(&scaled);
	return result ? complain("the input") : 0;
}

int network_run(struct network *network, const struct image *image)
{
	const struct npurt_tensor_info *out = &network->output;
	struct npurt_future *future;
	int result = -1;

	if (fill_input(network, image))
		return -1;
	if (npurt_run_submit(network->model, network->bindings, 2, NULL, &future))
		return complain("the run was not taken");
	if (npurt_future_wait(future, NPURT_FOREVER)) {
		fprintf(stderr, "npu-ocr: %s\n", npurt_future_error(future));
		goto out;
	}
	network->report.size = sizeof(network->report);
	if (npurt_future_get_report(future, &network->report) ||
	    npurt_tensor_to_host(out, npurt_buffer_map(network->bindings[1].buffer),
				 out->device_bytes, network->result, out->host_bytes)) {
		complain("the result");
		goto out;
	}
	result = 0;
out:
	npurt_future_release(future);
	return result;
}
