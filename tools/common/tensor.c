/* SPDX-License-Identifier: MIT */
#include "tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npurt.h"

/* Larger than any model's input; a hostile header must not make us ask for more. */
#define TENSOR_BYTES_MAX (1ull << 34)

static const struct {
	const char *name;
	uint8_t bytes;
} types[] = {
	[NPURT_HOST_FLOAT] = { "float32", 4 },	 [NPURT_HOST_UINT8] = { "uint8", 1 },
	[NPURT_HOST_INT8] = { "int8", 1 },	 [NPURT_HOST_UINT16] = { "uint16", 2 },
	[NPURT_HOST_INT16] = { "int16", 2 },	 [NPURT_HOST_INT32] = { "int32", 4 },
	[NPURT_HOST_INT64] = { "int64", 8 },	 [NPURT_HOST_BOOL] = { "bool", 1 },
	[NPURT_HOST_FLOAT16] = { "float16", 2 }, [NPURT_HOST_DOUBLE] = { "float64", 8 },
};

static bool known(uint32_t type)
{
	return type < sizeof(types) / sizeof(types[0]) && types[type].bytes;
}

size_t tensor_type_bytes(uint32_t type)
{
	return known(type) ? types[type].bytes : 0;
}

const char *tensor_type_name(uint32_t type)
{
	return known(type) ? types[type].name : "an unknown type";
}

int tensor_alloc(struct tensor *tensor, uint32_t type, uint32_t rank, const uint64_t *dims,
		 char error[TENSOR_ERROR_BYTES])
{
	uint64_t bytes = tensor_type_bytes(type), elements = 1;

	memset(tensor, 0, sizeof(*tensor));
	if (!bytes || rank > TENSOR_RANK_MAX) {
		snprintf(error, TENSOR_ERROR_BYTES,
			 "a tensor of type %" PRIu32 " and rank %" PRIu32
			 " is not handled; at most %d dimensions of numbers are",
			 type, rank, TENSOR_RANK_MAX);
		return -1;
	}
	for (uint32_t i = 0; i < rank; i++) {
		tensor->dims[i] = dims[i];
		if (__builtin_mul_overflow(elements, dims[i], &elements) ||
		    __builtin_mul_overflow(bytes, dims[i], &bytes) || bytes > TENSOR_BYTES_MAX) {
			snprintf(error, TENSOR_ERROR_BYTES,
				 "a tensor with dimension %" PRIu32 " = %" PRIu64
				 " has more than 16 GiB",
				 i, dims[i]);
			return -1;
		}
	}
	tensor->data = calloc(1, bytes ? bytes : 1);
	if (!tensor->data) {
		snprintf(error, TENSOR_ERROR_BYTES, "no memory for a tensor of %" PRIu64 " bytes",
			 bytes);
		return -1;
	}
	tensor->type = type;
	tensor->rank = rank;
	tensor->elements = elements;
	tensor->bytes = bytes;
	return 0;
}

void tensor_free(struct tensor *tensor)
{
	free(tensor->data);
	memset(tensor, 0, sizeof(*tensor));
}

static double half_value(uint16_t half)
{
	int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
	double value;

	if (exponent == 0x1f)
		value = mantissa ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(mantissa + 0x400, exponent - 25);
	else
		value = ldexp(mantissa, -24);
	return half & 0x8000 ? -value : value;
}

/* Round to nearest even by the current rounding mode, which nobody here changes. */
static uint16_t half_bits(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value), scaled;
	int exponent;

	if (isnan(value))
		return 0x7e00;
	if (magnitude >= 65520.0)
		return sign | 0x7c00;
	frexp(magnitude, &exponent);
	if (magnitude == 0 || exponent < -13)
		return sign | (uint16_t)rint(ldexp(magnitude, 24));
	scaled = rint(ldexp(magnitude, 11 - exponent)); /* 1024..2048 */
	return sign | (uint16_t)(((exponent + 14) << 10) + (int)scaled - 0x400);
}

double tensor_element(const struct tensor *tensor, uint64_t index)
{
	const void *data = tensor->data;

	switch (tensor->type) {
	case NPURT_HOST_FLOAT:
		return ((const float *)data)[index];
	case NPURT_HOST_DOUBLE:
		return ((const double *)data)[index];
	case NPURT_HOST_FLOAT16:
		return half_value(((const uint16_t *)data)[index]);
	case NPURT_HOST_UINT8:
	case NPURT_HOST_BOOL:
		return ((const uint8_t *)data)[index];
	case NPURT_HOST_INT8:
		return ((const int8_t *)data)[index];
	case NPURT_HOST_UINT16:
		return ((const uint16_t *)data)[index];
	case NPURT_HOST_INT16:
		return ((const int16_t *)data)[index];
	case NPURT_HOST_INT32:
		return ((const int32_t *)data)[index];
	case NPURT_HOST_INT64:
		return (double)((const int64_t *)data)[index];
	default:
		return NAN;
	}
}

static double saturate(double value, double low, double high)
{
	if (isnan(value))
		return 0;
	value = rint(value);
	return value < low ? low : value > high ? high : value;
}

void tensor_set_element(struct tensor *tensor, uint64_t index, double value)
{
	void *data = tensor->data;

	switch (tensor->type) {
	case NPURT_HOST_FLOAT:
		((float *)data)[index] = (float)value;
		break;
	case NPURT_HOST_DOUBLE:
		((double *)data)[index] = value;
		break;
	case NPURT_HOST_FLOAT16:
		((uint16_t *)data)[index] = half_bits(value);
		break;
	case NPURT_HOST_UINT8:
		((uint8_t *)data)[index] = (uint8_t)saturate(value, 0, UINT8_MAX);
		break;
	case NPURT_HOST_BOOL:
		((uint8_t *)data)[index] = value != 0;
		break;
	case NPURT_HOST_INT8:
		((int8_t *)data)[index] = (int8_t)saturate(value, INT8_MIN, INT8_MAX);
		break;
	case NPURT_HOST_UINT16:
		((uint16_t *)data)[index] = (uint16_t)saturate(value, 0, UINT16_MAX);
		break;
	case NPURT_HOST_INT16:
		((int16_t *)data)[index] = (int16_t)saturate(value, INT16_MIN, INT16_MAX);
		break;
	case NPURT_HOST_INT32:
		((int32_t *)data)[index] = (int32_t)saturate(value, INT32_MIN, INT32_MAX);
		break;
	case NPURT_HOST_INT64:
		/* 2^63 is no int64; the largest double below it is. */
		((int64_t *)data)[index] = (int64_t)saturate(value, -0x1p63, 0x1.fffffffffffffp62);
		break;
	default:
		break;
	}
}

char *tensor_shape_text(uint32_t rank, const uint64_t *dims, char text[TENSOR_SHAPE_TEXT])
{
	size_t at = 0;

	snprintf(text, TENSOR_SHAPE_TEXT, "scalar");
	for (uint32_t i = 0; i < rank && at < TENSOR_SHAPE_TEXT; i++)
		at += (size_t)snprintf(text + at, TENSOR_SHAPE_TEXT - at, "%s%" PRIu64,
				       i ? "x" : "", dims[i]);
	return text;
}
