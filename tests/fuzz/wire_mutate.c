// SPDX-License-Identifier: MIT
#include "wire_mutate.h"

#include <stdbool.h>
#include <string.h>

#include "mutate.h"

#define FIELDS_MAX	1024
#define DEPTH_MAX	12
#define VARINT_BYTES	10

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct field {
	size_t start, payload, end;
	enum wire wire;
};

struct job {
	struct dice dice;
	wire_mutate_bytes mutate_bytes;
};

/* ------------------------------------------------------------------------- reading */
static bool read_varint(const uint8_t *from, size_t size, size_t *at, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; *at < size && shift < 70; shift += 7) {
		uint8_t byte = from[(*at)++];

		*value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool read_field(const uint8_t *from, size_t size, size_t *at, struct field *field)
{
	uint64_t tag, length;

	field->start = *at;
	if (!read_varint(from, size, at, &tag) || !(tag >> 3))
		return false;
	field->wire = (enum wire)(tag & 7);
	field->payload = *at;
	switch (field->wire) {
	case WIRE_VARINT:
		if (!read_varint(from, size, at, &length))
			return false;
		break;
	case WIRE_64:
		*at += 8;
		break;
	case WIRE_32:
		*at += 4;
		break;
	case WIRE_BYTES:
		if (!read_varint(from, size, at, &length) || length > size - *at)
			return false;
		field->payload = *at;
		*at += length;
		break;
	default:
		return false;
	}
	field->end = *at;
	return *at <= size;
}

/* The number of fields, 0 when this is no message. */
static size_t read_fields(const uint8_t *from, size_t size, struct field *fields)
{
	size_t count = 0, at = 0;

	while (at < size) {
		if (count == FIELDS_MAX || !read_field(from, size, &at, &fields[count]))
			return 0;
		count++;
	}
	return count;
}

/* ------------------------------------------------------------------------- writing */
static size_t write_varint(uint8_t *to, uint64_t value)
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		to[count++] = (uint8_t)(value | 0x80);
	to[count++] = (uint8_t)value;
	return count;
}

static uint64_t other_number(struct job *job, uint64_t number)
{
	switch (dice_roll(&job->dice, 8)) {
	case 0:
		return number + 1;
	case 1:
		return number - 1;
	case 2:
		return 0 - number;
	case 3:
		return number * 2;
	case 4:
		return (uint64_t)1 << dice_roll(&job->dice, 64);
	case 5:
		return ~((uint64_t)1 << dice_roll(&job->dice, 64)) + 1;
	default:
		return dice_roll(&job->dice, 24);
	}
}

static size_t mutate_message(struct job *job, const uint8_t *from, size_t size, uint8_t *to,
			     size_t capacity, unsigned int depth);

/* What a field of bytes becomes, behind its tag at @to. */
static size_t mutate_length(struct job *job, const uint8_t *from, const struct field *field,
			    uint8_t *to, size_t capacity, unsigned int depth)
{
	size_t size = field->end - field->payload, changed = 0, head;
	uint8_t length[VARINT_BYTES];

	if (capacity < size + VARINT_BYTES)
		return 0;
	/* Written behind the longest length there is, and moved up to its own. */
	capacity -= VARINT_BYTES;
	if (depth < DEPTH_MAX && dice_roll(&job->dice, 16))
		changed = mutate_message(job, from + field->payload, size, to + VARINT_BYTES, capacity,
					 depth + 1);
	if (!changed) {
		memcpy(to + VARINT_BYTES, from + field->payload, size);
		changed = job->mutate_bytes(to + VARINT_BYTES, size, capacity);
	}
	head = write_varint(length, changed);
	memmove(to + head, to + VARINT_BYTES, changed);
	memcpy(to, length, head);
	return head + changed;
}

static size_t mutate_field(struct job *job, const uint8_t *from, const struct field *field,
			   uint8_t *to, size_t capacity, unsigned int depth)
{
	size_t size = field->end - field->start, tag = 0, at = field->start, changed;
	uint64_t number;

	if (capacity < size + 2 * VARINT_BYTES)
		return 0;
	read_varint(from, field->end, &at, &number);
	tag = at - field->start;
	memcpy(to, from + field->start, size);
	switch (field->wire) {
	case WIRE_VARINT:
		read_varint(from, field->end, &at, &number);
		return tag + write_varint(to + tag, other_number(job, number));
	case WIRE_BYTES:
		changed = mutate_length(job, from, field, to + tag, capacity - tag, depth);
		return changed ? tag + changed : 0;
	default:
		for (size_t i = field->payload - field->start; i < size; i++)
			if (!dice_roll(&job->dice, 3))
				to[i] = (uint8_t)dice_roll(&job->dice, 256);
		return size;
	}
}

static size_t copy(const uint8_t *from, const struct field *field, uint8_t *to, size_t capacity)
{
	size_t size = field->end - field->start;

	if (size > capacity)
		return 0;
	memcpy(to, from + field->start, size);
	return size;
}

static size_t mutate_message(struct job *job, const uint8_t *from, size_t size, uint8_t *to,
			     size_t capacity, unsigned int depth)
{
	struct field fields[FIELDS_MAX];
	size_t count = read_fields(from, size, fields), used, middle = 0;
	const struct field *chosen, *other;

	if (!count || size > capacity)
		return 0;
	chosen = &fields[dice_roll(&job->dice, count)];
	other = &fields[dice_roll(&job->dice, count)];
	used = chosen->start;
	memcpy(to, from, used);
	switch (dice_roll(&job->dice, 24)) {
	case 0: /* left out */
		break;
	case 1: /* doubled */
		middle = copy(from, chosen, to + used, capacity - used);
		middle += copy(from, chosen, to + used + middle, capacity - used - middle);
		break;
	case 2: /* another in its place */
		middle = copy(from, other, to + used, capacity - used);
		break;
	default:
		middle = mutate_field(job, from, chosen, to + used, capacity - used, depth);
		if (!middle)
			return 0;
	}
	used += middle;
	if (size - chosen->end > capacity - used)
		return 0;
	memcpy(to + used, from + chosen->end, size - chosen->end);
	return used + size - chosen->end;
}

size_t wire_mutate(const uint8_t *from, size_t size, uint8_t *to, size_t capacity, uint64_t seed,
		   wire_mutate_bytes mutate_bytes)
{
	struct job job = { .mutate_bytes = mutate_bytes };

	dice_start(&job.dice, seed);
	return mutate_message(&job, from, size, to, capacity, 0);
}
