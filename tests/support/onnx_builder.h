/* SPDX-License-Identifier: MIT */
/*
 * Writes small ONNX models for tests. Every function takes the builder and gives it back
 * nothing: a failed allocation shows in onnx_builder_finish().
 */
#ifndef TESTS_SUPPORT_ONNX_BUILDER_H
#define TESTS_SUPPORT_ONNX_BUILDER_H

#include <stddef.h>
#include <stdint.h>

struct onnx_builder;

/* onnx_builder_new - an empty model of ai.onnx @opset; NULL: no memory. */
struct onnx_builder *onnx_builder_new(int64_t opset);
void onnx_builder_free(struct onnx_builder *builder);

/* Float tensors of the graph's interface. */
void onnx_builder_input(struct onnx_builder *builder, const char *name, unsigned int rank,
			const int64_t *dims);
void onnx_builder_output(struct onnx_builder *builder, const char *name, unsigned int rank,
			 const int64_t *dims);

/* Initializers; data is copied. */
void onnx_builder_floats(struct onnx_builder *builder, const char *name, unsigned int rank,
			 const int64_t *dims, const float *data);
void onnx_builder_integers(struct onnx_builder *builder, const char *name, unsigned int count,
			   const int64_t *data);

/*
 * onnx_builder_node - begin a node; attributes that follow belong to it.
 * @inputs, @outputs: names separated by spaces ("x w b"); "-" is an absent input
 */
void onnx_builder_node(struct onnx_builder *builder, const char *op, const char *inputs,
		       const char *outputs);
void onnx_builder_int(struct onnx_builder *builder, const char *name, int64_t value);
void onnx_builder_ints(struct onnx_builder *builder, const char *name, unsigned int count,
		       const int64_t *values);
void onnx_builder_float(struct onnx_builder *builder, const char *name, float value);
void onnx_builder_string(struct onnx_builder *builder, const char *name, const char *value);

/* onnx_builder_finish - the model; owned by the builder, NULL: no memory. */
const uint8_t *onnx_builder_finish(struct onnx_builder *builder, size_t *size);

#endif
