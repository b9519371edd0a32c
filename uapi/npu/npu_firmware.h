/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The control core's memory map and the firmware image it boots.
 *
 * Read by the device model, the kernel driver, the firmware (C, assembler and linker script) and
 * the tool that makes images. All fields of an image are little endian.
 */
#ifndef NPU_FIRMWARE_H
#define NPU_FIRMWARE_H

/* What the control core sees. It executes only from TCM; ROM and MMIO are not executable. */
#define NPU_FW_ROM_BASE		0x00000000
#define NPU_FW_ROM_SIZE		0x00001000
#define NPU_FW_TCM_BASE		0x10000000
#define NPU_FW_TCM_SIZE		0x00040000
#define NPU_FW_MMIO_BASE	0x40000000
#define NPU_FW_MMIO_SIZE	0x00010000

#define NPU_FW_MAGIC		0x4655504e	/* the bytes 'N' 'P' 'U' 'F' */
#define NPU_FW_HEADER_VERSION	1
#define NPU_FW_HEADER_SIZE	128
#define NPU_FW_VERSION_SIZE	32
#define NPU_FW_DIGEST_SIZE	32
#define NPU_FW_DIGEST_OFFSET	(NPU_FW_HEADER_SIZE - NPU_FW_DIGEST_SIZE)

/* The payload is copied by words, so its size and its load address are multiples of this. */
#define NPU_FW_ALIGN		4

#ifndef __ASSEMBLER__

#if defined(__KERNEL__) || defined(__linux__)
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint8_t __u8;
typedef uint32_t __u32;
typedef __u32 __le32;
#endif

/**
 * struct npu_fw_header - what stands before the payload of a firmware image
 * @magic:		NPU_FW_MAGIC
 * @header_version:	NPU_FW_HEADER_VERSION
 * @header_size:	NPU_FW_HEADER_SIZE; the payload follows at once
 * @hardware_min:	lowest NPU_HW_VERSION (npu_regs.h) the firmware runs on
 * @hardware_max:	highest one, inclusive
 * @payload_size:	bytes of payload, not zero, a multiple of NPU_FW_ALIGN; header and payload
 *			together are the whole image
 * @load_address:	where the payload goes in TCM, a multiple of NPU_FW_ALIGN
 * @entry:		address of the first instruction: even, inside the loaded payload
 * @abi_major:		version of the interface between firmware and driver; a difference is
 *			incompatible
 * @abi_minor:		counts compatible additions to it
 * @version:		firmware version, printable ASCII, ended and padded by NUL
 * @reserved:		zero
 * @digest:		SHA-256 of the header's bytes before this field, followed by the payload
 *
 * Packed because the header is read where the image lies, at any alignment.
 */
struct npu_fw_header {
	__le32 magic;
	__le32 header_version;
	__le32 header_size;
	__le32 hardware_min;
	__le32 hardware_max;
	__le32 payload_size;
	__le32 load_address;
	__le32 entry;
	__le32 abi_major;
	__le32 abi_minor;
	__u8 version[NPU_FW_VERSION_SIZE];
	__u8 reserved[24];
	__u8 digest[NPU_FW_DIGEST_SIZE];
} __attribute__((packed));

/**
 * enum npu_boot_status - NPU_REG_BOOT_STATUS: what became of the last image
 *
 * The boot ROM checks in the order of this list and answers with the first refusal.
 *
 * @NPU_BOOT_STATUS_RESET:		no image was started since reset
 * @NPU_BOOT_STATUS_RUNNING:		accepted, the control core runs it
 * @NPU_BOOT_STATUS_UNREADABLE:		reading it from host memory failed
 * @NPU_BOOT_STATUS_TRUNCATED:		shorter than a header
 * @NPU_BOOT_STATUS_BAD_MAGIC:		not a firmware image
 * @NPU_BOOT_STATUS_BAD_HEADER_VERSION:	a header this ROM does not know
 * @NPU_BOOT_STATUS_BAD_HEADER_SIZE:	header_size is not NPU_FW_HEADER_SIZE
 * @NPU_BOOT_STATUS_BAD_HARDWARE:	made for other hardware, or an empty range
 * @NPU_BOOT_STATUS_BAD_SIZE:		payload_size is zero, not aligned, or not what follows the
 *					header
 * @NPU_BOOT_STATUS_BAD_LOAD:		load_address is not aligned, or the payload does not fit
 *					into TCM there
 * @NPU_BOOT_STATUS_BAD_ENTRY:		entry is odd or outside the payload
 * @NPU_BOOT_STATUS_BAD_VERSION:	version is empty, not ended, not printable, or not padded
 *					by NUL
 * @NPU_BOOT_STATUS_BAD_RESERVED:	a reserved byte is set
 * @NPU_BOOT_STATUS_BAD_DIGEST:		the bytes are not those the image was made with
 */
enum npu_boot_status {
	NPU_BOOT_STATUS_RESET = 0,
	NPU_BOOT_STATUS_RUNNING = 1,
	NPU_BOOT_STATUS_UNREADABLE = 2,
	NPU_BOOT_STATUS_TRUNCATED = 3,
	NPU_BOOT_STATUS_BAD_MAGIC = 4,
	NPU_BOOT_STATUS_BAD_HEADER_VERSION = 5,
	NPU_BOOT_STATUS_BAD_HEADER_SIZE = 6,
	NPU_BOOT_STATUS_BAD_HARDWARE = 7,
	NPU_BOOT_STATUS_BAD_SIZE = 8,
	NPU_BOOT_STATUS_BAD_LOAD = 9,
	NPU_BOOT_STATUS_BAD_ENTRY = 10,
	NPU_BOOT_STATUS_BAD_VERSION = 11,
	NPU_BOOT_STATUS_BAD_RESERVED = 12,
	NPU_BOOT_STATUS_BAD_DIGEST = 13,
};

#endif /* __ASSEMBLER__ */
#endif /* NPU_FIRMWARE_H */
