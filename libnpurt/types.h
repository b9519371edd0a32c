/* SPDX-License-Identifier: MIT */
/*
 * Element types of host and device.
 */
#ifndef NPURT_TYPES_H
#define NPURT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/npu_isa.h"
#include "npurt.h"

_Static_assert((int)NPURT_DEVICE_FP32 == (int)NPU_DTYPE_FP32, "numbers are the device's");
_Static_assert((int)NPURT_DEVICE_FP16 == (int)NPU_DTYPE_FP16, "numbers are the device's");
_Static_assert((int)NPURT_DEVICE_INT32 == (int)NPU_DTYPE_INT32, "numbers are the device's");

/* Bytes of an element, 0 for a type that is not known. */
static inline uint32_t npurt_host_type_bytes(uint32_t type)
{
	switch (type) {
	case NPURT_HOST_UINT8:
	case NPURT_HOST_INT8:
	case NPURT_HOST_BOOL:
		return 1;
	case NPURT_HOST_UINT16:
	case NPURT_HOST_INT16:
	case NPURT_HOST_FLOAT16:
	case NPURT_HOST_BFLOAT16:
		return 2;
	case NPURT_HOST_FLOAT:
	case NPURT_HOST_INT32:
	case NPURT_HOST_UINT32:
		return 4;
	case NPURT_HOST_INT64:
	case NPURT_HOST_UINT64:
	case NPURT_HOST_DOUBLE:
		return 8;
	default:
		return 0;
	}
}

static inline uint32_t npurt_device_type_bytes(uint32_t type)
{
	return type < NPU_DTYPE_COUNT ? NPU_DTYPE_BYTES(type) : 0;
}

static inline bool npurt_device_type_is_real(uint32_t type)
{
	return type == NPURT_DEVICE_FP16 || type == NPURT_DEVICE_FP32;
}

/* Range of a device's integer type. */
static inline void npurt_device_type_range(uint32_t type, int64_t *low, int64_t *high)
{
	static const int64_t ranges[][2] = {
		[NPURT_DEVICE_INT8] = { INT8_MIN, INT8_MAX },
		[NPURT_DEVICE_UINT8] = { 0, UINT8_MAX },
		[NPURT_DEVICE_INT16] = { INT16_MIN, INT16_MAX },
		[NPURT_DEVICE_INT32] = { INT32_MIN, INT32_MAX },
	};

	*low = type <= NPURT_DEVICE_INT32 ? ranges[type][0] : 0;
	*high = type <= NPURT_DEVICE_INT32 ? ranges[type][1] : 0;
}

#endif /* NPURT_TYPES_H */
