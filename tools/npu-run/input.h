/* SPDX-License-Identifier: MIT */
/* Files as a model's inputs and as references for its outputs. */
#ifndef NPU_RUN_INPUT_H
#define NPU_RUN_INPUT_H

#include "npurt.h"
#include "options.h"
#include "tensor.h"

/*
 * input_load - read @path as the elements of @info: .npy and ONNX .pb are converted from their own
 * type, images are scaled to the tensor's size, anything else is raw elements. The number of
 * elements must match; dims may differ by ones. Returns 0, or -1 with a sentence naming file and tensor.
 */
int input_load(const char *path, const struct npurt_tensor_info *info, const struct options *options,
	       struct tensor *tensor, char error[TENSOR_ERROR_BYTES]);

#endif
