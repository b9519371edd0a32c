// SPDX-License-Identifier: MIT
/* Contents of TensorProto messages, in every encoding the format has. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "onnx.h"

static const struct {
	const char *name;
	enum graph_dtype dtype;
} onnx_types[] = {
	[ONNX_UNDEFINED] = { "undefined", GRAPH_DTYPE_OTHER },
	[ONNX_FLOAT] = { "float32", GRAPH_DTYPE_F32 },
	[ONNX_UINT8] = { "uint8", GRAPH_DTYPE_U8 },
	[ONNX_INT8] = { "int8", GRAPH_DTYPE_I8 },
	[ONNX_UINT16] = { "uint16", GRAPH_DTYPE_U16 },
	[ONNX_INT16] = { "int16", GRAPH_DTYPE_I16 },
	[ONNX_INT32] = { "int32", GRAPH_DTYPE_I32 },
	[ONNX_INT64] = { "int64", GRAPH_DTYPE_I64 },
	[ONNX_STRING] = { "string", GRAPH_DTYPE_OTHER },
	[ONNX_BOOL] = { "bool", GRAPH_DTYPE_BOOL },
	[ONNX_FLOAT16] = { "float16", GRAPH_DTYPE_F16 },
	[ONNX_DOUBLE] = { "float64", GRAPH_DTYPE_F64 },
	[ONNX_UINT32] = { "uint32", GRAPH_DTYPE_U32 },
	[ONNX_UINT64] = { "uint64", GRAPH_DTYPE_U64 },
	[14] = { "complex64", GRAPH_DTYPE_OTHER },
	[15] = { "complex128", GRAPH_DTYPE_OTHER },
	[ONNX_BFLOAT16] = { "bfloat16", GRAPH_DTYPE_BF16 },
	[17] = { "float8e4m3fn", GRAPH_DTYPE_OTHER },
	[18] = { "float8e4m3fnuz", GRAPH_DTYPE_OTHER },
	[19] = { "float8e5m2", GRAPH_DTYPE_OTHER },
	[20] = { "float8e5m2fnuz", GRAPH_DTYPE_OTHER },
	[21] = { "uint4", GRAPH_DTYPE_OTHER },
	[22] = { "int4", GRAPH_DTYPE_OTHER },
	[23] = { "float4e2m1", GRAPH_DTYPE_OTHER },
};

#define ONNX_TYPE_COUNT ((int32_t)(sizeof(onnx_types) / sizeof(onnx_types[0])))

const char *onnx_type_name(int32_t type)
{
	return type >= 0 && type < ONNX_TYPE_COUNT ? onnx_types[type].name : "unknown";
}

enum graph_dtype onnx_dtype(int32_t type)
{
	return type >= 0 && type < ONNX_TYPE_COUNT ? onnx_types[type].dtype : GRAPH_DTYPE_OTHER;
}

struct decode {
	const struct onnx_tensor *tensor;
	const char *name;
	struct arena *arena;
	struct diag *diag;
	enum graph_dtype dtype;
	uint64_t elements;
	uint64_t bytes;
};

static int decode_dims(struct decode *decode, int64_t dims[GRAPH_MAX_RANK])
{
	const struct onnx_tensor *tensor = decode->tensor;
	struct graph_value shape = { 0 };
	int64_t count;
	uint32_t i;

	if (tensor->rank > GRAPH_MAX_RANK)
		return diag_error(decode->diag,
				  "tensor '%s' has %" PRIu32 " dimensions; npucc handles "
				  "up to %d, merge some with Reshape",
				  decode->name, tensor->rank, GRAPH_MAX_RANK);
	for (i = 0; i < tensor->rank; i++)
		if (tensor->dims[i] < 0)
			return diag_error(decode->diag,
					  "tensor '%s' has a negative dimension (%" PRId64
					  " at position %" PRIu32 "); the model is damaged",
					  decode->name, tensor->dims[i], i);
	graph_value_set_shape(&shape, tensor->rank, tensor->dims);
	count = graph_element_count(&shape);
	if (count < 0)
		return diag_error(decode->diag,
				  "tensor '%s' states more than 2^40 elements; the model "
				  "is damaged",
				  decode->name);
	memcpy(dims, shape.dims, sizeof(shape.dims));
	decode->elements = (uint64_t)count;
	decode->bytes = (uint64_t)count * graph_dtype_bytes(decode->dtype);
	return 0;
}

static int wrong_size(const struct decode *decode, const char *where, uint64_t found,
		      uint64_t expected, const char *unit)
{
	return diag_error(decode->diag,
			  "tensor '%s' holds %" PRIu64
			  " %s in its %s, its shape and type need %" PRIu64
			  "; the model is damaged, export it again",
			  decode->name, found, unit, where, expected);
}

/* Little endian elements as they are in memory; copied only when not aligned. */
static int decode_raw(const struct decode *decode, struct wire_bytes raw, const char *where,
		      const void **data)
{
	if (raw.size != decode->bytes)
		return wrong_size(decode, where, raw.size, decode->bytes, "bytes");
	if (raw.size && (uintptr_t)raw.data % graph_dtype_bytes(decode->dtype) == 0) {
		*data = raw.data;
		return 0;
	}
	*data = arena_copy(decode->arena, raw.data, raw.size);
	return *data ? 0 :
		       diag_error(decode->diag,
				  "not enough memory for tensor '%s' (%" PRIu64 " bytes)",
				  decode->name, raw.size);
}

static void store_int(enum graph_dtype dtype, void *data, uint64_t index, uint64_t value)
{
	switch (graph_dtype_bytes(dtype)) {
	case 1:
		((uint8_t *)data)[index] = (uint8_t)value;
		break;
	case 2:
		((uint16_t *)data)[index] = (uint16_t)value;
		break;
	case 4:
		((uint32_t *)data)[index] = (uint32_t)value;
		break;
	case 8:
		((uint64_t *)data)[index] = value;
		break;
	default:
		break;
	}
}

static unsigned int encoding_field(enum onnx_encoding encoding)
{
	switch (encoding) {
	case ONNX_ENCODING_FLOAT:
		return 4;
	case ONNX_ENCODING_INT32:
		return 5;
	case ONNX_ENCODING_INT64:
		return 7;
	case ONNX_ENCODING_DOUBLE:
		return 10;
	default:
		return 11;
	}
}

static bool next_element(struct wire_cursor *cursor, enum onnx_encoding encoding, uint64_t *value)
{
	if (cursor->at == cursor->end)
		return false;
	if (encoding == ONNX_ENCODING_FLOAT)
		return wire_fixed(cursor, 4, value);
	if (encoding == ONNX_ENCODING_DOUBLE)
		return wire_fixed(cursor, 8, value);
	return wire_varint(cursor, value);
}

static uint64_t decode_field(const struct decode *decode, const struct wire_field *field,
			     void *data, uint64_t at)
{
	struct wire_cursor cursor;
	uint64_t value;

	if (field->type != WIRE_BYTES) {
		if (at < decode->elements)
			store_int(decode->dtype, data, at, field->value);
		return at + 1;
	}
	cursor = wire_open(field->bytes);
	while (next_element(&cursor, decode->tensor->encoding, &value)) {
		if (at < decode->elements)
			store_int(decode->dtype, data, at, value);
		at++;
	}
	return at;
}

/* The element types each typed field may carry; float16 and smaller travel in int32_data. */
static bool encoding_fits(enum onnx_encoding encoding, enum graph_dtype dtype)
{
	switch (encoding) {
	case ONNX_ENCODING_FLOAT:
		return dtype == GRAPH_DTYPE_F32;
	case ONNX_ENCODING_DOUBLE:
		return dtype == GRAPH_DTYPE_F64;
	case ONNX_ENCODING_INT64:
		return dtype == GRAPH_DTYPE_I64;
	case ONNX_ENCODING_UINT64:
		return dtype == GRAPH_DTYPE_U64 || dtype == GRAPH_DTYPE_U32;
	case ONNX_ENCODING_INT32:
		return dtype != GRAPH_DTYPE_F32 && graph_dtype_bytes(dtype) <= 4;
	default:
		return false;
	}
}

static int decode_typed(const struct decode *decode, const void **data)
{
	const struct onnx_tensor *tensor = decode->tensor;
	unsigned int number = encoding_field(tensor->encoding);
	struct wire_cursor cursor = wire_open(tensor->body);
	struct wire_field field;
	uint64_t at = 0;
	void *copy;

	if (!encoding_fits(tensor->encoding, decode->dtype))
		return diag_error(decode->diag,
				  "tensor '%s' of type %s has its elements in a field "
				  "meant for other types (field %u); export the model again",
				  decode->name, onnx_type_name(tensor->type), number);
	/* Before the memory is asked for: a short list cannot claim a huge tensor. */
	if (tensor->count != decode->elements)
		return wrong_size(decode, "data field", tensor->count, decode->elements,
				  "elements");
	copy = arena_alloc(decode->arena, decode->bytes);
	if (!copy)
		return diag_error(decode->diag,
				  "not enough memory for tensor '%s' (%" PRIu64 " bytes)",
				  decode->name, decode->bytes);
	while (wire_next(&cursor, &field) > 0)
		if (field.number == number)
			at = decode_field(decode, &field, copy, at);
	if (at != decode->elements)
		return wrong_size(decode, "data field", at, decode->elements, "elements");
	*data = copy;
	return 0;
}

/* Offsets and lengths of external data are decimal strings. */
static int parse_number(const struct decode *decode, struct wire_bytes text, const char *what,
			uint64_t *number)
{
	uint64_t i, value = 0;

	for (i = 0; i < text.size; i++) {
		unsigned int digit = (unsigned int)text.data[i] - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return diag_error(decode->diag,
					  "tensor '%s' states '%s' as the %s of its "
					  "external data, which is no number; the model is damaged",
					  decode->name, onnx_string(decode->arena, text), what);
		value = value * 10 + digit;
	}
	*number = value;
	return 0;
}

static int decode_external(const struct decode *decode, struct onnx_files *files, const void **data)
{
	const struct onnx_tensor *tensor = decode->tensor;
	uint64_t offset = 0, length = decode->bytes;
	struct wire_bytes file;

	if (!files)
		return diag_error(decode->diag,
				  "tensor '%s' is in an external file, but the model did "
				  "not come from a file",
				  decode->name);
	if (parse_number(decode, tensor->offset, "offset", &offset))
		return -1;
	if (tensor->length.size && parse_number(decode, tensor->length, "length", &length))
		return -1;
	if (onnx_files_external(files, tensor->location, decode->name, decode->diag, &file))
		return -1;
	if (offset > file.size || length > file.size - offset)
		return diag_error(decode->diag,
				  "tensor '%s' lies at bytes %" PRIu64 "+%" PRIu64 " of "
				  "external file '%s', which has only %" PRIu64
				  "; the file is cut or "
				  "belongs to another model",
				  decode->name, offset, length,
				  onnx_string(decode->arena, tensor->location), file.size);
	file.data += offset;
	file.size = length;
	return decode_raw(decode, file, "external file", data);
}

int onnx_tensor_value(const struct onnx_tensor *tensor, struct onnx_files *files,
		      struct arena *arena, struct diag *diag, enum graph_dtype *dtype,
		      int64_t dims[GRAPH_MAX_RANK], const void **data)
{
	struct decode decode = {
		.tensor = tensor,
		.name = onnx_string(arena, tensor->name),
		.arena = arena,
		.diag = diag,
		.dtype = onnx_dtype(tensor->type),
	};

	*dtype = decode.dtype;
	if (!graph_dtype_bytes(decode.dtype))
		return diag_error(
			diag,
			"tensor '%s' has element type %s (%" PRId32 "), which npucc does "
			"not handle; convert it to float32, float16 or an integer of 8 bits "
			"or more",
			decode.name, onnx_type_name(tensor->type), tensor->type);
	if (tensor->segmented)
		return diag_error(diag,
				  "tensor '%s' is stored in segments, a form no longer in use; "
				  "save the model again with a recent onnx package",
				  decode.name);
	if (decode_dims(&decode, dims))
		return -1;
	switch (tensor->encoding) {
	case ONNX_ENCODING_RAW:
		return decode_raw(&decode, tensor->raw, "raw data", data);
	case ONNX_ENCODING_EXTERNAL:
		return decode_external(&decode, files, data);
	case ONNX_ENCODING_NONE:
		return decode_raw(&decode, (struct wire_bytes){ NULL, 0 }, "data", data);
	default:
		return decode_typed(&decode, data);
	}
}
