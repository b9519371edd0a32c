/* SPDX-License-Identifier: MIT */
/*
 * The control core's boot ROM: decides whether a firmware image may run.
 *
 * Device manual: Documentation/hardware, "Boot". The image's format is in uapi/npu/npu_firmware.h.
 * Thread safe.
 */
#ifndef NPU_MODEL_BOOT_ROM_H
#define NPU_MODEL_BOOT_ROM_H

#include <stddef.h>
#include <stdint.h>

#include "npu/npu_firmware.h"

/**
 * npu_boot_rom_check() - check a firmware image
 * @image:	image, at any alignment, not NULL. Must be a private copy: who can change it
 *		during or after the check can get anything past it.
 * @size:	bytes of @image; exactly header and payload
 * @header:	set to the header inside @image when it is accepted, else to NULL
 *
 * Returns NPU_BOOT_STATUS_RUNNING or the first refusal in the order of enum npu_boot_status.
 */
enum npu_boot_status npu_boot_rom_check(const void *image, size_t size,
					const struct npu_fw_header **header);

/**
 * npu_boot_rom_load() - check an image, copy it into TCM
 * @tcm:	NPU_FW_TCM_SIZE bytes. Bytes outside the payload become zero; after a refusal
 *		nothing was written.
 * @entry:	set to the address of the first instruction when the image is accepted
 *
 * For the rest see npu_boot_rom_check(). A decode cache over @tcm is the caller's to invalidate.
 */
enum npu_boot_status npu_boot_rom_load(const void *image, size_t size, uint8_t *tcm,
				       uint32_t *entry);

/**
 * npu_boot_rom_reason() - a refusal as a sentence, static, never NULL
 */
const char *npu_boot_rom_reason(enum npu_boot_status status);

#endif /* NPU_MODEL_BOOT_ROM_H */
