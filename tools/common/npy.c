/* SPDX-License-Identifier: MIT */
#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "npurt.h"

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

static const struct {
	const char *descr;
	uint32_t type;
} codes[] = {
	{ "<f4", NPURT_HOST_FLOAT }, { "<f8", NPURT_HOST_DOUBLE }, { "<f2", NPURT_HOST_FLOAT16 },
	{ "|u1", NPURT_HOST_UINT8 }, { "|i1", NPURT_HOST_INT8 },   { "<u2", NPURT_HOST_UINT16 },
	{ "<i2", NPURT_HOST_INT16 }, { "<i4", NPURT_HOST_INT32 },  { "<i8", NPURT_HOST_INT64 },
	{ "|b1", NPURT_HOST_BOOL },
};

#define CODE_COUNT (sizeof(codes) / sizeof(codes[0]))

/* The header is a Python dictionary; only what numpy itself writes is understood. */
struct header {
	const char *text;
	size_t size;
	uint32_t type;
	bool fortran;
	uint32_t rank;
	uint64_t dims[TENSOR_RANK_MAX];
};

static const char *find(const char *text, size_t size, const char *word)
{
	return memmem(text, size, word, strlen(word));
}

/* The text after "'key':" and blanks, or NULL. */
static const char *value_of(const struct header *header, const char *key)
{
	const char *end = header->text + header->size, *at = find(header->text, header->size, key);

	if (!at)
		return NULL;
	at += strlen(key);
	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != ':')
		return NULL;
	while (at < end && *at == ' ')
		at++;
	return at < end ? at : NULL;
}

static bool starts_with(const struct header *header, const char *at, const char *word)
{
	size_t left = (size_t)(header->text + header->size - at);

	return strlen(word) <= left && !memcmp(at, word, strlen(word));
}

static int parse_type(struct header *header, char *error)
{
	const char *at = value_of(header, "'descr'");

	for (size_t i = 0; at && i < CODE_COUNT; i++) {
		char quoted[8];

		snprintf(quoted, sizeof(quoted), "%c%s%c", *at, codes[i].descr, *at);
		if ((*at == '\'' || *at == '"') && starts_with(header, at, quoted)) {
			header->type = codes[i].type;
			return 0;
		}
	}
	snprintf(error, TENSOR_ERROR_BYTES,
		 "the .npy header's 'descr' is no little-endian number type; save it as float32");
	return -1;
}

static int parse_order(struct header *header, char *error)
{
	const char *at = value_of(header, "'fortran_order'");

	if (at && starts_with(header, at, "True")) {
		header->fortran = true;
		return 0;
	}
	if (at && starts_with(header, at, "False"))
		return 0;
	snprintf(error, TENSOR_ERROR_BYTES,
		 "the .npy header has no 'fortran_order' of True or False");
	return -1;
}

static int parse_shape(struct header *header, char *error)
{
	const char *end = header->text + header->size, *at = value_of(header, "'shape'");

	if (!at || *at++ != '(')
		goto bad;
	for (;;) {
		uint64_t dim = 0;

		while (at < end && (*at == ' ' || *at == ','))
			at++;
		if (at == end)
			goto bad;
		if (*at == ')')
			return 0;
		if (*at < '0' || *at > '9' || header->rank == TENSOR_RANK_MAX)
			goto bad;
		for (; at < end && *at >= '0' && *at <= '9'; at++)
			if (__builtin_mul_overflow(dim, 10, &dim) ||
			    __builtin_add_overflow(dim, (uint64_t)(*at - '0'), &dim))
				goto bad;
		header->dims[header->rank++] = dim;
	}
bad:
	snprintf(error, TENSOR_ERROR_BYTES,
		 "the .npy header's 'shape' is no tuple of at most %d numbers", TENSOR_RANK_MAX);
	return -1;
}

/* Before memory is taken for the elements: a shape costs nothing to claim. */
static int check_bytes(const struct header *header, size_t have, char *error)
{
	uint64_t need = tensor_type_bytes(header->type);
	bool overflow = false;

	for (uint32_t i = 0; i < header->rank; i++)
		overflow |= __builtin_mul_overflow(need, header->dims[i], &need);
	if (!overflow && need == have)
		return 0;
	snprintf(error, TENSOR_ERROR_BYTES,
		 "%zu bytes of elements follow the .npy header, its shape needs %s%" PRIu64, have,
		 overflow ? "more than " : "", overflow ? UINT64_MAX : need);
	return -1;
}

/* Column-major elements into row-major order. */
static void copy_fortran(struct tensor *tensor, const uint8_t *from)
{
	size_t size = tensor_type_bytes(tensor->type);

	for (uint64_t i = 0; i < tensor->elements; i++) {
		uint64_t rest = i, at = 0, stride = 1, index[TENSOR_RANK_MAX];

		for (uint32_t d = tensor->rank; d-- > 0;) {
			index[d] = rest % tensor->dims[d];
			rest /= tensor->dims[d];
		}
		for (uint32_t d = 0; d < tensor->rank; d++) {
			at += index[d] * stride;
			stride *= tensor->dims[d];
		}
		memcpy((uint8_t *)tensor->data + i * size, from + at * size, size);
	}
}

int npy_parse(const void *data, size_t size, struct tensor *tensor, char error[TENSOR_ERROR_BYTES])
{
	const uint8_t *bytes = data;
	struct header header = { .text = NULL };
	size_t start;

	memset(tensor, 0, sizeof(*tensor));
	if (size < 10 || memcmp(bytes, magic, sizeof(magic)) || bytes[6] < 1 || bytes[6] > 3) {
		snprintf(error, TENSOR_ERROR_BYTES, "is no .npy file of version 1 to 3");
		return -1;
	}
	start = bytes[6] == 1 ? 10 : 12;
	header.size = bytes[8] | (size_t)bytes[9] << 8;
	if (bytes[6] > 1 && size >= 12)
		header.size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
	if (size < start || header.size > size - start) {
		snprintf(error, TENSOR_ERROR_BYTES,
			 "the .npy header says %zu bytes, the file has %zu", header.size, size);
		return -1;
	}
	header.text = (const char *)bytes + start;
	start += header.size;
	if (parse_type(&header, error) || parse_order(&header, error) ||
	    parse_shape(&header, error) || check_bytes(&header, size - start, error) ||
	    tensor_alloc(tensor, header.type, header.rank, header.dims, error))
		return -1;
	if (header.fortran && header.rank > 1)
		copy_fortran(tensor, bytes + start);
	else
		memcpy(tensor->data, bytes + start, tensor->bytes);
	return 0;
}

int npy_write(const char *path, const struct tensor *tensor, char error[TENSOR_ERROR_BYTES])
{
	char text[512], shape[256] = "";
	const char *descr = NULL;
	size_t length, padded, at = 0;
	uint8_t *file;
	int result;

	for (size_t i = 0; i < CODE_COUNT; i++)
		if (codes[i].type == tensor->type)
			descr = codes[i].descr;
	if (!descr) {
		snprintf(error, TENSOR_ERROR_BYTES, "%s: elements of %s have no .npy code", path,
			 tensor_type_name(tensor->type));
		return -1;
	}
	for (uint32_t i = 0; i < tensor->rank; i++)
		at += (size_t)snprintf(shape + at, sizeof(shape) - at, "%" PRIu64 ",%s",
				       tensor->dims[i], i + 1 < tensor->rank ? " " : "");
	length = (size_t)snprintf(text, sizeof(text),
				  "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr,
				  shape);
	/* The elements start at a multiple of 64; a newline ends the header. */
	padded = (10 + length + 1 + 63) / 64 * 64;
	file = malloc(padded + tensor->bytes);
	if (!file) {
		snprintf(error, TENSOR_ERROR_BYTES, "%s: no memory to write it", path);
		return -1;
	}
	memset(file, ' ', padded);
	memcpy(file, magic, sizeof(magic));
	file[6] = 1;
	file[7] = 0;
	file[8] = (uint8_t)((padded - 10) & 0xff);
	file[9] = (uint8_t)((padded - 10) >> 8);
	memcpy(file + 10, text, length);
	file[padded - 1] = '\n';
	memcpy(file + padded, tensor->data, tensor->bytes);
	result = file_write(path, file, padded + tensor->bytes, error, TENSOR_ERROR_BYTES);
	free(file);
	return result;
}
