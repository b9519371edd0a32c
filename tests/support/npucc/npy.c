// SPDX-License-Identifier: MIT
#include "npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *descr(enum graph_dtype dtype)
{
	switch (dtype) {
	case GRAPH_DTYPE_F32:
		return "<f4";
	case GRAPH_DTYPE_F16:
		return "<f2";
	case GRAPH_DTYPE_F64:
		return "<f8";
	case GRAPH_DTYPE_I8:
		return "|i1";
	case GRAPH_DTYPE_U8:
		return "|u1";
	case GRAPH_DTYPE_I16:
		return "<i2";
	case GRAPH_DTYPE_U16:
		return "<u2";
	case GRAPH_DTYPE_I32:
		return "<i4";
	case GRAPH_DTYPE_U32:
		return "<u4";
	case GRAPH_DTYPE_I64:
		return "<i8";
	case GRAPH_DTYPE_U64:
		return "<u8";
	case GRAPH_DTYPE_BOOL:
		return "|b1";
	default:
		return "none";
	}
}

static void shape_text(const struct graph_value *value, char *text, size_t room)
{
	size_t used = 0;
	uint32_t i;

	text[used++] = '(';
	for (i = 0; i < value->rank; i++)
		used += (size_t)snprintf(text + used, room - used, "%" PRId64 "%s", value->dims[i],
					 i + 1 < value->rank ? ", " :
					 value->rank == 1    ? "," :
							       "");
	snprintf(text + used, room - used, ")");
}

void *npy_read(const char *path, const struct graph_value *value)
{
	size_t bytes = (size_t)graph_element_count(value) * graph_dtype_bytes(value->dtype);
	char header[4096], shape[256], wanted[300];
	unsigned char start[10];
	void *data = NULL;
	size_t length;
	FILE *file = fopen(path, "rb");

	shape_text(value, shape, sizeof(shape));
	if (!file || fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) ||
	    start[6] != 1)
		goto bad;
	length = start[8] | (size_t)start[9] << 8;
	if (length >= sizeof(header) || fread(header, 1, length, file) != length)
		goto bad;
	header[length] = 0;
	snprintf(wanted, sizeof(wanted), "'descr': '%s'", descr(value->dtype));
	if (!strstr(header, wanted) || !strstr(header, "'fortran_order': False"))
		goto bad;
	snprintf(wanted, sizeof(wanted), "'shape': %s", shape);
	if (!strstr(header, wanted))
		goto bad;
	data = malloc(bytes ? bytes : 1);
	if (!data || fread(data, 1, bytes, file) != bytes)
		goto bad;
	fclose(file);
	return data;
bad:
	fprintf(stderr, "%s is no .npy file of type %s and shape %s\n", path, descr(value->dtype),
		shape);
	free(data);
	if (file)
		fclose(file);
	return NULL;
}

int npy_write(const char *path, const struct graph_value *value, const void *data)
{
	size_t bytes = (size_t)graph_element_count(value) * graph_dtype_bytes(value->dtype);
	char header[512], shape[256];
	FILE *file = fopen(path, "wb");
	int length;
	bool good;

	if (!file) {
		fprintf(stderr, "%s cannot be written\n", path);
		return -1;
	}
	shape_text(value, shape, sizeof(shape));
	length = snprintf(header, sizeof(header),
			  "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
			  descr(value->dtype), shape);
	/* Magic, length and header together are a multiple of 64 bytes. */
	while ((10 + length + 1) % 64)
		header[length++] = ' ';
	header[length++] = '\n';
	good = fwrite("\x93NUMPY\1", 1, 8, file) == 8 && fputc(length & 0xff, file) != EOF &&
	       fputc(length >> 8, file) != EOF &&
	       fwrite(header, 1, (size_t)length, file) == (size_t)length &&
	       fwrite(data, 1, bytes, file) == bytes;
	if (fclose(file) || !good) {
		fprintf(stderr, "%s cannot be written\n", path);
		return -1;
	}
	return 0;
}
