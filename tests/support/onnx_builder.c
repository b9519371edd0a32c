// SPDX-License-Identifier: MIT
#include "onnx_builder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
};

struct onnx_builder {
	int64_t opset;
	struct bytes graph, node, model;
	bool open; /* node is being built */
	unsigned int nodes;
};

/* Field numbers and types of onnx.proto. */
enum {
	VARINT = 0,
	DELIMITED = 2,
	FIXED32 = 5
};
enum {
	ATTRIBUTE_FLOAT = 1,
	ATTRIBUTE_INT = 2,
	ATTRIBUTE_STRING = 3,
	ATTRIBUTE_INTS = 7
};
enum {
	TYPE_FLOAT = 1,
	TYPE_INT64 = 7
};

static void put(struct bytes *to, const void *data, size_t size)
{
	uint8_t *grown;

	if (to->size + size > to->capacity) {
		size_t capacity = 2 * (to->capacity + size) + 64;

		grown = realloc(to->data, capacity);
		if (!grown) {
			to->failed = true;
			return;
		}
		to->data = grown;
		to->capacity = capacity;
	}
	if (size)
		memcpy(to->data + to->size, data, size);
	to->size += size;
}

static void put_raw_varint(struct bytes *to, uint64_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)(value & 0x7f);
		value >>= 7;
		if (value)
			byte |= 0x80;
		put(to, &byte, 1);
	} while (value);
}

static void put_varint(struct bytes *to, unsigned int field, int64_t value)
{
	put_raw_varint(to, field << 3 | VARINT);
	put_raw_varint(to, (uint64_t)value);
}

static void put_bytes(struct bytes *to, unsigned int field, const void *data, size_t size)
{
	put_raw_varint(to, field << 3 | DELIMITED);
	put_raw_varint(to, size);
	put(to, data, size);
}

static void put_text(struct bytes *to, unsigned int field, const char *text)
{
	put_bytes(to, field, text, strlen(text));
}

/* Moves @message into @to and frees it. */
static void put_message(struct bytes *to, unsigned int field, struct bytes *message)
{
	put_bytes(to, field, message->data, message->size);
	to->failed |= message->failed;
	free(message->data);
	memset(message, 0, sizeof(*message));
}

struct onnx_builder *onnx_builder_new(int64_t opset)
{
	struct onnx_builder *builder = calloc(1, sizeof(*builder));

	if (builder)
		builder->opset = opset;
	return builder;
}

void onnx_builder_free(struct onnx_builder *builder)
{
	if (!builder)
		return;
	free(builder->graph.data);
	free(builder->node.data);
	free(builder->model.data);
	free(builder);
}

static void value_info(struct onnx_builder *builder, unsigned int field, const char *name,
		       unsigned int rank, const int64_t *dims)
{
	struct bytes info = { 0 }, type = { 0 }, tensor = { 0 }, shape = { 0 };
	unsigned int i;

	for (i = 0; i < rank; i++) {
		struct bytes dim = { 0 };

		put_varint(&dim, 1, dims[i]);
		put_message(&shape, 1, &dim);
	}
	put_varint(&tensor, 1, TYPE_FLOAT);
	put_message(&tensor, 2, &shape);
	put_message(&type, 1, &tensor);
	put_text(&info, 1, name);
	put_message(&info, 2, &type);
	put_message(&builder->graph, field, &info);
}

void onnx_builder_input(struct onnx_builder *builder, const char *name, unsigned int rank,
			const int64_t *dims)
{
	value_info(builder, 11, name, rank, dims);
}

void onnx_builder_output(struct onnx_builder *builder, const char *name, unsigned int rank,
			 const int64_t *dims)
{
	value_info(builder, 12, name, rank, dims);
}

static void initializer(struct onnx_builder *builder, const char *name, int type, unsigned int rank,
			const int64_t *dims, const void *data, size_t element)
{
	struct bytes tensor = { 0 };
	size_t count = 1;
	unsigned int i;

	for (i = 0; i < rank; i++) {
		put_varint(&tensor, 1, dims[i]);
		count *= (size_t)dims[i];
	}
	put_varint(&tensor, 2, type);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, data, count * element);
	put_message(&builder->graph, 5, &tensor);
}

void onnx_builder_floats(struct onnx_builder *builder, const char *name, unsigned int rank,
			 const int64_t *dims, const float *data)
{
	initializer(builder, name, TYPE_FLOAT, rank, dims, data, sizeof(*data));
}

void onnx_builder_integers(struct onnx_builder *builder, const char *name, unsigned int count,
			   const int64_t *data)
{
	int64_t dims[1] = { count };

	initializer(builder, name, TYPE_INT64, 1, dims, data, sizeof(*data));
}

static void close_node(struct onnx_builder *builder)
{
	if (builder->open)
		put_message(&builder->graph, 1, &builder->node);
	builder->open = false;
}

static void put_names(struct bytes *node, unsigned int field, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, " ");

		if (length == 1 && *names == '-')
			put_bytes(node, field, names, 0);
		else
			put_bytes(node, field, names, length);
		names += length + (names[length] == ' ');
	}
}

void onnx_builder_node(struct onnx_builder *builder, const char *op, const char *inputs,
		       const char *outputs)
{
	char name[64];

	close_node(builder);
	put_names(&builder->node, 1, inputs);
	put_names(&builder->node, 2, outputs);
	snprintf(name, sizeof(name), "%s.%u", op, builder->nodes++);
	put_text(&builder->node, 3, name);
	put_text(&builder->node, 4, op);
	builder->open = true;
}

static struct bytes attribute(const char *name, int type)
{
	struct bytes message = { 0 };

	put_text(&message, 1, name);
	put_varint(&message, 20, type);
	return message;
}

void onnx_builder_int(struct onnx_builder *builder, const char *name, int64_t value)
{
	struct bytes message = attribute(name, ATTRIBUTE_INT);

	put_varint(&message, 3, value);
	put_message(&builder->node, 5, &message);
}

void onnx_builder_ints(struct onnx_builder *builder, const char *name, unsigned int count,
		       const int64_t *values)
{
	struct bytes message = attribute(name, ATTRIBUTE_INTS);
	unsigned int i;

	for (i = 0; i < count; i++)
		put_varint(&message, 8, values[i]);
	put_message(&builder->node, 5, &message);
}

void onnx_builder_float(struct onnx_builder *builder, const char *name, float value)
{
	struct bytes message = attribute(name, ATTRIBUTE_FLOAT);

	put_raw_varint(&message, 2 << 3 | FIXED32);
	put(&message, &value, sizeof(value));
	put_message(&builder->node, 5, &message);
}

void onnx_builder_string(struct onnx_builder *builder, const char *name, const char *value)
{
	struct bytes message = attribute(name, ATTRIBUTE_STRING);

	put_text(&message, 4, value);
	put_message(&builder->node, 5, &message);
}

const uint8_t *onnx_builder_finish(struct onnx_builder *builder, size_t *size)
{
	struct bytes opset = { 0 };

	close_node(builder);
	put_text(&builder->graph, 2, "test");
	put_varint(&builder->model, 1, 8);
	put_text(&opset, 1, "");
	put_varint(&opset, 2, builder->opset);
	put_message(&builder->model, 8, &opset);
	put_message(&builder->model, 7, &builder->graph);
	*size = builder->model.size;
	return builder->model.failed ? NULL : builder->model.data;
}
