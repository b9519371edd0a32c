/* SPDX-License-Identifier: MIT */
/*
 * A tensor in host memory, as the tools read it from files and compare it.
 * Element types are ONNX's TensorProto.DataType numbers, as in npurt.h.
 */
#ifndef NPU_COMMON_TENSOR_H
#define NPU_COMMON_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_RANK_MAX 8

struct tensor {
	uint32_t type; /* enum npurt_host_type */
	uint32_t rank;
	uint64_t dims[TENSOR_RANK_MAX];
	uint64_t elements;
	void *data; /* dense, last dim innermost; owned */
	size_t bytes;
};

/* Room for the sentence that says what is wrong. */
#define TENSOR_ERROR_BYTES 512

/* tensor_type_bytes - bytes an element; 0 for a type the tools do not handle. */
size_t tensor_type_bytes(uint32_t type);

/* tensor_type_name - "float32" and so on, for messages; never NULL. */
const char *tensor_type_name(uint32_t type);

/*
 * tensor_alloc - a zeroed tensor of @type and @dims. Returns 0, or -1 with a sentence in @error
 * when the type is unknown, the size overflows or memory is short. tensor_free() frees it.
 */
int tensor_alloc(struct tensor *tensor, uint32_t type, uint32_t rank, const uint64_t *dims,
		 char error[TENSOR_ERROR_BYTES]);
void tensor_free(struct tensor *tensor);

/* tensor_element - element @index as a double (exact but for 64-bit integers beyond 2^53). */
double tensor_element(const struct tensor *tensor, uint64_t index);

/* tensor_set_element - store @value converted to the tensor's type (rounded, saturated). */
void tensor_set_element(struct tensor *tensor, uint64_t index, double value);

/* tensor_shape_text - "1x3x48x320" into @text. */
#define TENSOR_SHAPE_TEXT 192
char *tensor_shape_text(uint32_t rank, const uint64_t *dims, char text[TENSOR_SHAPE_TEXT]);

#endif
