/* SPDX-License-Identifier: MIT */
/*
 * Protobuf wire format, read in place. Nothing is allocated and nothing is
 * read beyond the span given: the callers' bounds are the only ones there are.
 */
#ifndef NPUCC_FRONT_WIRE_H
#define NPUCC_FRONT_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A piece of the model file: a string, bytes, or a message not yet walked. */
struct wire_bytes {
	const uint8_t *data;
	uint64_t size;
};

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;			/* of VARINT, FIXED32, FIXED64 */
	struct wire_bytes bytes;	/* of BYTES */
};

struct wire_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static inline struct wire_cursor wire_open(struct wire_bytes bytes)
{
	struct wire_cursor cursor = { bytes.data, bytes.data ? bytes.data + bytes.size : NULL };

	return cursor;
}

/* wire_varint - one varint of at most ten bytes; false when it is cut or too long. */
static inline bool wire_varint(struct wire_cursor *cursor, uint64_t *value)
{
	uint64_t result = 0;
	unsigned int shift;

	for (shift = 0; shift < 70 && cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			result |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = result;
			return true;
		}
	}
	return false;
}

static inline bool wire_fixed(struct wire_cursor *cursor, unsigned int size, uint64_t *value)
{
	unsigned int i;

	if ((uint64_t)(cursor->end - cursor->at) < size)
		return false;
	*value = 0;
	for (i = 0; i < size; i++)
		*value |= (uint64_t)cursor->at[i] << (8 * i);
	cursor->at += size;
	return true;
}

/* wire_next - the next field: 1 there is one, 0 the end, -1 the bytes are no protobuf. */
static inline int wire_next(struct wire_cursor *cursor, struct wire_field *field)
{
	uint64_t key, length;

	if (cursor->at == cursor->end)
		return 0;
	if (!wire_varint(cursor, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return -1;
	field->number = (uint32_t)(key >> 3);
	field->value = 0;
	field->bytes.data = NULL;
	field->bytes.size = 0;
	switch (key & 7) {
	case WIRE_VARINT:
		field->type = WIRE_VARINT;
		return wire_varint(cursor, &field->value) ? 1 : -1;
	case WIRE_FIXED64:
		field->type = WIRE_FIXED64;
		return wire_fixed(cursor, 8, &field->value) ? 1 : -1;
	case WIRE_FIXED32:
		field->type = WIRE_FIXED32;
		return wire_fixed(cursor, 4, &field->value) ? 1 : -1;
	case WIRE_BYTES:
		field->type = WIRE_BYTES;
		if (!wire_varint(cursor, &length) ||
		    length > (uint64_t)(cursor->end - cursor->at))
			return -1;
		field->bytes.data = cursor->at;
		field->bytes.size = length;
		cursor->at += length;
		return 1;
	default:
		return -1;	/* groups: no ONNX message has any */
	}
}

static inline float wire_float(uint64_t value)
{
	uint32_t bits = (uint32_t)value;
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static inline double wire_double(uint64_t value)
{
	double number;

	memcpy(&number, &value, sizeof(number));
	return number;
}

#endif
