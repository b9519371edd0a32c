/* SPDX-License-Identifier: MIT */
/* NumPy's .npy format, versions 1 to 3 (format description: numpy.lib.format). */
#ifndef NPU_COMMON_NPY_H
#define NPU_COMMON_NPY_H

#include "tensor.h"

/*
 * npy_parse - a tensor from the @size bytes of an .npy file at @data. Little endian, C or Fortran
 * order. Returns 0, or -1 with a sentence in @error (without the file's name).
 */
int npy_parse(const void *data, size_t size, struct tensor *tensor, char error[TENSOR_ERROR_BYTES]);

/* npy_write - write @tensor to @path as version 1. Returns 0, or -1 with a sentence in @error. */
int npy_write(const char *path, const struct tensor *tensor, char error[TENSOR_ERROR_BYTES]);

#endif
