/* SPDX-License-Identifier: MIT */
/*
 * The firmware image that was made together with this library; the file is generated.
 */
#ifndef NPURT_FIRMWARE_H
#define NPURT_FIRMWARE_H

#include <stddef.h>

extern const unsigned char npurt_firmware[];
extern const size_t npurt_firmware_bytes;

#endif /* NPURT_FIRMWARE_H */
