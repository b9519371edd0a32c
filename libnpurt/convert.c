// SPDX-License-Identifier: MIT
/* Tensors between the host's element types and the device's. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "half.h"
#include "npurt.h"
#include "types.h"

/* One element on its way: a real, or an integer that fits 64 bits. */
struct element {
	bool is_real;
	double real;
	int64_t integer;
};

static int64_t load_signed(const unsigned char *from, uint32_t bytes)
{
	int64_t value = 0;
	int8_t i8;
	int16_t i16;
	int32_t i32;

	switch (bytes) {
	case 1:
		memcpy(&i8, from, sizeof(i8));
		return i8;
	case 2:
		memcpy(&i16, from, sizeof(i16));
		return i16;
	case 4:
		memcpy(&i32, from, sizeof(i32));
		return i32;
	default:
		memcpy(&value, from, sizeof(value));
		return value;
	}
}

static uint64_t load_unsigned(const unsigned char *from, uint32_t bytes)
{
	/* Host and device are little endian. */
	uint64_t value = 0;

	memcpy(&value, from, bytes);
	return value;
}

static struct element real_element(double real)
{
	return (struct element){ .is_real = true, .real = real };
}

static struct element integer_element(int64_t integer)
{
	return (struct element){ .is_real = false, .integer = integer };
}

static struct element host_load(uint32_t type, const unsigned char *from)
{
	uint32_t bytes = npurt_host_type_bytes(type);
	uint64_t bits;
	float single;
	double wide;

	switch (type) {
	case NPURT_HOST_FLOAT:
		memcpy(&single, from, sizeof(single));
		return real_element((double)single);
	case NPURT_HOST_DOUBLE:
		memcpy(&wide, from, sizeof(wide));
		return real_element(wide);
	case NPURT_HOST_FLOAT16:
		return real_element((double)npurt_half_to_float((uint16_t)load_unsigned(from, 2)));
	case NPURT_HOST_BFLOAT16: {
		uint32_t word = (uint32_t)load_unsigned(from, 2) << 16;

		memcpy(&single, &word, sizeof(single));
		return real_element((double)single);
	}
	case NPURT_HOST_BOOL:
		return integer_element(load_unsigned(from, 1) != 0);
	case NPURT_HOST_UINT8:
	case NPURT_HOST_UINT16:
	case NPURT_HOST_UINT32:
	case NPURT_HOST_UINT64:
		bits = load_unsigned(from, bytes);
		return integer_element(bits > INT64_MAX ? INT64_MAX : (int64_t)bits);
	default:
		return integer_element(load_signed(from, bytes));
	}
}

static struct element device_load(uint32_t type, const unsigned char *from)
{
	float single;

	switch (type) {
	case NPURT_DEVICE_FP32:
		memcpy(&single, from, sizeof(single));
		return real_element((double)single);
	case NPURT_DEVICE_FP16:
		return real_element((double)npurt_half_to_float((uint16_t)load_unsigned(from, 2)));
	case NPURT_DEVICE_UINT8:
		return integer_element((int64_t)load_unsigned(from, 1));
	default:
		return integer_element(load_signed(from, npurt_device_type_bytes(type)));
	}
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Half to even, saturating; NaN is 0. */
static int64_t integer_from_real(double real)
{
	real = nearbyint(real);
	if (!(real > -0x1p63))
		return isnan(real) ? 0 : INT64_MIN;
	return real >= 0x1p63 ? INT64_MAX : (int64_t)real;
}

static void store_integer(unsigned char *to, int64_t value, uint32_t bytes)
{
	memcpy(to, &value, bytes);
}

static void device_store(uint32_t type, unsigned char *to, const struct element *element,
			 float scale, int32_t zero_point)
{
	double real = element->is_real ? element->real : (double)element->integer;
	int64_t low, high, value = element->integer;
	uint16_t half;
	float single;

	if (type == NPURT_DEVICE_FP32) {
		single = (float)real;
		memcpy(to, &single, sizeof(single));
		return;
	}
	if (type == NPURT_DEVICE_FP16) {
		half = npurt_half_from_double(real);
		memcpy(to, &half, sizeof(half));
		return;
	}
	npurt_device_type_range(type, &low, &high);
	if (element->is_real) {
		/* In single precision, as ONNX's QuantizeLinear has it. */
		value = integer_from_real((double)((float)real / scale));
		value = clamp(value, INT32_MIN * (int64_t)4, INT32_MAX * (int64_t)4) + zero_point;
	}
	store_integer(to, clamp(value, low, high), npurt_device_type_bytes(type));
}

static void host_store_integer(uint32_t type, unsigned char *to, int64_t value)
{
	uint32_t bits = 8 * npurt_host_type_bytes(type);

	switch (type) {
	case NPURT_HOST_BOOL:
		value = value != 0;
		break;
	case NPURT_HOST_UINT8:
	case NPURT_HOST_UINT16:
	case NPURT_HOST_UINT32:
		value = clamp(value, 0, ((int64_t)1 << bits) - 1);
		break;
	case NPURT_HOST_UINT64:
		value = value < 0 ? 0 : value;
		break;
	case NPURT_HOST_INT64:
		break;
	default:
		value = clamp(value, -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1);
		break;
	}
	store_integer(to, value, bits / 8);
}

/* To nearest even; NaN stays one. */
static uint16_t bfloat16_from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (isnan(value))
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void host_store(uint32_t type, unsigned char *to, const struct element *element, float scale,
		       int32_t zero_point)
{
	double real = element->real;
	float single;
	uint16_t half;

	/* In single precision, as ONNX's DequantizeLinear has it. */
	if (!element->is_real)
		real = (double)((float)(element->integer - zero_point) * scale);
	switch (type) {
	case NPURT_HOST_FLOAT:
		single = (float)real;
		memcpy(to, &single, sizeof(single));
		break;
	case NPURT_HOST_DOUBLE:
		memcpy(to, &real, sizeof(real));
		break;
	case NPURT_HOST_FLOAT16:
		half = npurt_half_from_double(real);
		memcpy(to, &half, sizeof(half));
		break;
	case NPURT_HOST_BFLOAT16:
		half = bfloat16_from_float((float)real);
		memcpy(to, &half, sizeof(half));
		break;
	case NPURT_HOST_BOOL:
		/* A real between 0 and 1 is not false. */
		to[0] = element->is_real ? element->real != 0.0 : element->integer != 0;
		break;
	default:
		host_store_integer(type, to,
				   element->is_real ? integer_from_real(element->real) :
						      element->integer);
		break;
	}
}

/* Types of which the same bytes mean the same on both sides. */
static bool same_bytes(const struct npurt_tensor_info *info)
{
	static const uint32_t device_of[] = {
		[NPURT_HOST_INT8] = NPURT_DEVICE_INT8 + 1,
		[NPURT_HOST_UINT8] = NPURT_DEVICE_UINT8 + 1,
		[NPURT_HOST_INT16] = NPURT_DEVICE_INT16 + 1,
		[NPURT_HOST_INT32] = NPURT_DEVICE_INT32 + 1,
		[NPURT_HOST_FLOAT16] = NPURT_DEVICE_FP16 + 1,
		[NPURT_HOST_FLOAT] = NPURT_DEVICE_FP32 + 1,
	};

	return info->host_type < sizeof(device_of) / sizeof(device_of[0]) &&
	       device_of[info->host_type] == info->device_type + 1;
}

static int check(const struct npurt_tensor_info *info, const void *host, size_t host_bytes,
		 const void *device, size_t device_bytes)
{
	uint64_t host_size, device_size;

	if (!info || !host || !device)
		return npurt_fail(-EINVAL,
				  "conversion: the tensor, the host's or the device's memory "
				  "is NULL");
	host_size = npurt_host_type_bytes(info->host_type);
	device_size = npurt_device_type_bytes(info->device_type);
	if (!host_size || !device_size)
		return npurt_fail(
			-EINVAL,
			"conversion: host type %u or device type %u is not known; take the "
			"tensor from npurt_model_get_input() or _output()",
			info->host_type, info->device_type);
	if (__builtin_mul_overflow(host_size, info->elements, &host_size) ||
	    __builtin_mul_overflow(device_size, info->elements, &device_size) ||
	    host_bytes < host_size || device_bytes < device_size)
		return npurt_fail(-EINVAL,
				  "conversion: %s has %" PRIu64
				  " elements, %zu bytes of the host or "
				  "%zu bytes of the device are too few for them",
				  info->name ? info->name : "the tensor", info->elements,
				  host_bytes, device_bytes);
	return 0;
}

int npurt_tensor_from_host(const struct npurt_tensor_info *info, const void *host,
			   size_t host_bytes, void *device, size_t device_bytes)
{
	const unsigned char *from = host;
	unsigned char *to = device;
	uint32_t host_size, device_size;
	uint64_t i;
	int ret;

	ret = check(info, host, host_bytes, device, device_bytes);
	if (ret)
		return ret;
	host_size = npurt_host_type_bytes(info->host_type);
	device_size = npurt_device_type_bytes(info->device_type);
	if (same_bytes(info)) {
		memcpy(device, host, info->elements * host_size);
		return 0;
	}
	if (info->host_type == NPURT_HOST_FLOAT && info->device_type == NPURT_DEVICE_FP16) {
		npurt_halves_from_floats(device, host, info->elements);
		return 0;
	}
	for (i = 0; i < info->elements; i++) {
		struct element element = host_load(info->host_type, from + i * host_size);

		device_store(info->device_type, to + i * device_size, &element, info->scale,
			     info->zero_point);
	}
	return 0;
}

int npurt_tensor_to_host(const struct npurt_tensor_info *info, const void *device,
			 size_t device_bytes, void *host, size_t host_bytes)
{
	const unsigned char *from = device;
	unsigned char *to = host;
	uint32_t host_size, device_size;
	uint64_t i;
	int ret;

	ret = check(info, host, host_bytes, device, device_bytes);
	if (ret)
		return ret;
	host_size = npurt_host_type_bytes(info->host_type);
	device_size = npurt_device_type_bytes(info->device_type);
	if (same_bytes(info)) {
		memcpy(host, device, info->elements * host_size);
		return 0;
	}
	if (info->host_type == NPURT_HOST_FLOAT && info->device_type == NPURT_DEVICE_FP16) {
		npurt_floats_from_halves(host, device, info->elements);
		return 0;
	}
	for (i = 0; i < info->elements; i++) {
		struct element element = device_load(info->device_type, from + i * device_size);

		host_store(info->host_type, to + i * host_size, &element, info->scale,
			   info->zero_point);
	}
	return 0;
}
