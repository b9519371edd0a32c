/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "file.h"
#include "front/onnx.h"
#include "image.h"
#include "npy.h"

#define INPUT_FILE_MAX (2ull << 30)
#define PB_ARENA_MAX (4ull << 30)

static bool ends_with(const char *path, const char *suffix)
{
	size_t length = strlen(path), tail = strlen(suffix);

	return length >= tail && !strcasecmp(path + length - tail, suffix);
}

static uint32_t host_type_of(enum graph_dtype dtype)
{
	switch (dtype) {
	case GRAPH_DTYPE_F32:
		return NPURT_HOST_FLOAT;
	case GRAPH_DTYPE_F16:
		return NPURT_HOST_FLOAT16;
	case GRAPH_DTYPE_F64:
		return NPURT_HOST_DOUBLE;
	case GRAPH_DTYPE_I8:
		return NPURT_HOST_INT8;
	case GRAPH_DTYPE_U8:
		return NPURT_HOST_UINT8;
	case GRAPH_DTYPE_I16:
		return NPURT_HOST_INT16;
	case GRAPH_DTYPE_U16:
		return NPURT_HOST_UINT16;
	case GRAPH_DTYPE_I32:
		return NPURT_HOST_INT32;
	case GRAPH_DTYPE_I64:
		return NPURT_HOST_INT64;
	case GRAPH_DTYPE_BOOL:
		return NPURT_HOST_BOOL;
	default:
		return 0;
	}
}

static int parse_pb(const void *data, size_t size, struct tensor *tensor, char *error)
{
	struct wire_bytes bytes = { .data = data, .size = size };
	int64_t dims[GRAPH_MAX_RANK];
	uint64_t sizes[TENSOR_RANK_MAX] = { 0 };
	const struct onnx_tensor *proto;
	enum graph_dtype dtype;
	struct arena arena;
	struct diag diag;
	const void *elements;
	int result = -1;

	arena_init(&arena, PB_ARENA_MAX);
	diag_init(&diag);
	proto = onnx_parse_tensor(bytes, &arena, &diag);
	if (!proto || onnx_tensor_value(proto, NULL, &arena, &diag, &dtype, dims, &elements)) {
		const char *reason = diag_first_error(&diag);

		snprintf(error, TENSOR_ERROR_BYTES, "is no ONNX tensor: %s",
			 reason ? reason : "out of memory");
		goto out;
	}
	for (uint32_t i = 0; i < proto->rank; i++)
		sizes[i] = (uint64_t)dims[i];
	result = tensor_alloc(tensor, host_type_of(dtype), proto->rank, sizes, error);
	if (!result)
		memcpy(tensor->data, elements, tensor->bytes);
out:
	diag_free(&diag);
	arena_free(&arena);
	return result;
}

/* Where height, width and channels stand in a 3- or 4-dimensional tensor. */
struct image_shape {
	uint32_t height, width, channels;
	bool channels_last;
};

static bool image_shape_of(const struct npurt_tensor_info *info, const struct options *options,
			   struct image_shape *shape)
{
	const uint32_t *dims = info->dims + (info->rank == 4 ? 1 : 0);
	bool first = dims[0] == 1 || dims[0] == 3, last = dims[2] == 1 || dims[2] == 3;

	if ((info->rank != 3 && info->rank != 4) || (info->rank == 4 && info->dims[0] != 1))
		return false;
	if (!first && !last)
		return false;
	shape->channels_last = first && last ? options->channels_last :
			       options->layout_given ? options->channels_last : last;
	if (shape->channels_last ? !last : !first)
		return false;
	shape->channels = shape->channels_last ? dims[2] : dims[0];
	shape->height = shape->channels_last ? dims[0] : dims[1];
	shape->width = shape->channels_last ? dims[1] : dims[2];
	return true;
}

static double pixel_value(const struct image *image, size_t pixel, uint32_t channel,
			  uint32_t channels)
{
	const uint8_t *rgb = image->rgb + pixel * 3;

	/* Luma by ITU-R BT.601. */
	return channels == 1 ? 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] : rgb[channel];
}

static int parse_image(const void *data, size_t size, const struct npurt_tensor_info *info,
		       const struct options *options, struct tensor *tensor, char *error)
{
	struct image image, scaled = { 0 };
	struct image_shape shape;
	uint64_t dims[TENSOR_RANK_MAX];
	size_t pixels;
	int result;

	if (!image_shape_of(info, options, &shape)) {
		snprintf(error, TENSOR_ERROR_BYTES,
			 "is an image, and the input has no shape of one (1 or 3 channels, batch 1)");
		return -1;
	}
	if (image_decode(data, size, &image, error))
		return -1;
	result = image_resize(&image, shape.width, shape.height, &scaled, error);
	image_free(&image);
	if (result)
		return -1;
	for (uint32_t i = 0; i < info->rank; i++)
		dims[i] = info->dims[i];
	result = tensor_alloc(tensor, NPURT_HOST_FLOAT, info->rank, dims, error);
	pixels = (size_t)shape.width * shape.height;
	for (size_t p = 0; !result && p < pixels; p++) {
		for (uint32_t c = 0; c < shape.channels; c++) {
			size_t at = shape.channels_last ? p * shape.channels + c : c * pixels + p;
			double value = pixel_value(&scaled, p, c, shape.channels);

			tensor_set_element(tensor, at, (value - options->mean[c]) * options->scale[c]);
		}
	}
	image_free(&scaled);
	return result;
}

static int parse_raw(const void *data, size_t size, const struct npurt_tensor_info *info,
		     struct tensor *tensor, char *error)
{
	uint64_t dims[TENSOR_RANK_MAX];

	if (size != info->host_bytes) {
		snprintf(error, TENSOR_ERROR_BYTES,
			 "has %zu bytes; as raw elements of %s the tensor needs %" PRIu64, size,
			 tensor_type_name(info->host_type), info->host_bytes);
		return -1;
	}
	for (uint32_t i = 0; i < info->rank; i++)
		dims[i] = info->dims[i];
	if (tensor_alloc(tensor, info->host_type, info->rank, dims, error))
		return -1;
	memcpy(tensor->data, data, size);
	return 0;
}

/* Same elements in the same order: dims but for those of size 1. */
static bool same_shape(const struct tensor *tensor, const struct npurt_tensor_info *info)
{
	uint32_t i = 0, j = 0;

	for (;;) {
		while (i < tensor->rank && tensor->dims[i] == 1)
			i++;
		while (j < info->rank && info->dims[j] == 1)
			j++;
		if (i == tensor->rank || j == info->rank)
			return i == tensor->rank && j == info->rank;
		if (tensor->dims[i++] != info->dims[j++])
			return false;
	}
}

static int check_shape(const struct tensor *tensor, const struct npurt_tensor_info *info, char *error)
{
	char have[TENSOR_SHAPE_TEXT], want[TENSOR_SHAPE_TEXT];
	uint64_t dims[TENSOR_RANK_MAX];

	if (same_shape(tensor, info))
		return 0;
	for (uint32_t i = 0; i < info->rank; i++)
		dims[i] = info->dims[i];
	snprintf(error, TENSOR_ERROR_BYTES, "has shape %s, the tensor has %s",
		 tensor_shape_text(tensor->rank, tensor->dims, have),
		 tensor_shape_text(info->rank, dims, want));
	return -1;
}

/* The tensor's own type, element by element where the file has another. */
static int convert(struct tensor *tensor, const struct npurt_tensor_info *info, char *error)
{
	struct tensor converted;

	if (tensor->type == info->host_type)
		return 0;
	if (tensor_alloc(&converted, info->host_type, tensor->rank, tensor->dims, error))
		return -1;
	for (uint64_t i = 0; i < tensor->elements; i++)
		tensor_set_element(&converted, i, tensor_element(tensor, i));
	tensor_free(tensor);
	*tensor = converted;
	return 0;
}

int input_load(const char *path, const struct npurt_tensor_info *info, const struct options *options,
	       struct tensor *tensor, char error[TENSOR_ERROR_BYTES])
{
	char reason[TENSOR_ERROR_BYTES] = "";
	size_t size;
	void *data = file_read(path, INPUT_FILE_MAX, &size, error, TENSOR_ERROR_BYTES);
	int result;

	memset(tensor, 0, sizeof(*tensor));
	if (!data)
		return -1;
	if (ends_with(path, ".npy"))
		result = npy_parse(data, size, tensor, reason);
	else if (ends_with(path, ".pb"))
		result = parse_pb(data, size, tensor, reason);
	else if (ends_with(path, ".png") || ends_with(path, ".jpg") || ends_with(path, ".jpeg"))
		result = parse_image(data, size, info, options, tensor, reason);
	else
		result = parse_raw(data, size, info, tensor, reason);
	free(data);
	if (!result && (check_shape(tensor, info, reason) || convert(tensor, info, reason))) {
		tensor_free(tensor);
		result = -1;
	}
	if (result)
		snprintf(error, TENSOR_ERROR_BYTES, "%.150s (tensor '%.80s') %.250s", path, info->name,
			 reason);
	return result;
}
