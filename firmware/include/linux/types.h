/* SPDX-License-Identifier: MIT */
/*
 * The few types the shared headers in uapi/npu take from Linux, for a compiler without an
 * operating system. The control core is little endian, so __le types need no conversion.
 */
#ifndef FIRMWARE_LINUX_TYPES_H
#define FIRMWARE_LINUX_TYPES_H

#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;

#endif /* FIRMWARE_LINUX_TYPES_H */
