// SPDX-License-Identifier: MIT
/*
 * The control core's boot ROM: checks a firmware image and loads it into TCM.
 */
#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "boot_rom.h"
#include "npu/npu_regs.h"
#include "sha256.h"

_Static_assert(sizeof(struct npu_fw_header) == NPU_FW_HEADER_SIZE, "header layout");
_Static_assert(offsetof(struct npu_fw_header, digest) == NPU_FW_DIGEST_OFFSET, "digest layout");
_Static_assert(SHA256_DIGEST_SIZE == NPU_FW_DIGEST_SIZE, "digest size");

static bool hardware_matches(const struct npu_fw_header *header)
{
	return le32toh(header->hardware_min) <= NPU_HW_VERSION &&
	       le32toh(header->hardware_max) >= NPU_HW_VERSION;
}

static bool payload_size_valid(const struct npu_fw_header *header, size_t image_size)
{
	uint32_t size = le32toh(header->payload_size);

	return size != 0 && size % NPU_FW_ALIGN == 0 && size == image_size - NPU_FW_HEADER_SIZE;
}

static bool load_range_valid(const struct npu_fw_header *header)
{
	/* An address below TCM wraps round to an offset beyond it. */
	uint32_t offset = le32toh(header->load_address) - NPU_FW_TCM_BASE;

	if (offset % NPU_FW_ALIGN || offset >= NPU_FW_TCM_SIZE)
		return false;
	return le32toh(header->payload_size) <= NPU_FW_TCM_SIZE - offset;
}

static bool entry_valid(const struct npu_fw_header *header)
{
	uint32_t entry = le32toh(header->entry);

	return entry % 2 == 0 &&
	       entry - le32toh(header->load_address) < le32toh(header->payload_size);
}

static bool version_valid(const struct npu_fw_header *header)
{
	size_t length = 0;

	while (length < NPU_FW_VERSION_SIZE && header->version[length] > ' ' &&
	       header->version[length] <= '~')
		length++;
	if (length == 0 || length == NPU_FW_VERSION_SIZE)
		return false;
	for (size_t i = length; i < NPU_FW_VERSION_SIZE; i++) {
		if (header->version[i])
			return false;
	}
	return true;
}

static bool reserved_valid(const struct npu_fw_header *header)
{
	for (size_t i = 0; i < sizeof(header->reserved); i++) {
		if (header->reserved[i])
			return false;
	}
	return true;
}

static bool digest_valid(const uint8_t *image, size_t size, const struct npu_fw_header *header)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, image, NPU_FW_DIGEST_OFFSET);
	sha256_update(&hash, image + NPU_FW_HEADER_SIZE, size - NPU_FW_HEADER_SIZE);
	sha256_final(&hash, digest);
	return memcmp(digest, header->digest, sizeof(digest)) == 0;
}

enum npu_boot_status npu_boot_rom_check(const void *image, size_t size,
					const struct npu_fw_header **header)
{
	const struct npu_fw_header *candidate = image;

	*header = NULL;
	if (size < sizeof(*candidate))
		return NPU_BOOT_STATUS_TRUNCATED;
	if (le32toh(candidate->magic) != NPU_FW_MAGIC)
		return NPU_BOOT_STATUS_BAD_MAGIC;
	if (le32toh(candidate->header_version) != NPU_FW_HEADER_VERSION)
		return NPU_BOOT_STATUS_BAD_HEADER_VERSION;
	if (le32toh(candidate->header_size) != NPU_FW_HEADER_SIZE)
		return NPU_BOOT_STATUS_BAD_HEADER_SIZE;
	if (!hardware_matches(candidate))
		return NPU_BOOT_STATUS_BAD_HARDWARE;
	if (!payload_size_valid(candidate, size))
		return NPU_BOOT_STATUS_BAD_SIZE;
	if (!load_range_valid(candidate))
		return NPU_BOOT_STATUS_BAD_LOAD;
	if (!entry_valid(candidate))
		return NPU_BOOT_STATUS_BAD_ENTRY;
	if (!version_valid(candidate))
		return NPU_BOOT_STATUS_BAD_VERSION;
	if (!reserved_valid(candidate))
		return NPU_BOOT_STATUS_BAD_RESERVED;
	if (!digest_valid(image, size, candidate))
		return NPU_BOOT_STATUS_BAD_DIGEST;

	*header = candidate;
	return NPU_BOOT_STATUS_RUNNING;
}

enum npu_boot_status npu_boot_rom_load(const void *image, size_t size, uint8_t *tcm,
				       uint32_t *entry)
{
	const struct npu_fw_header *header;
	enum npu_boot_status status = npu_boot_rom_check(image, size, &header);

	if (status != NPU_BOOT_STATUS_RUNNING)
		return status;

	/* What an earlier firmware left behind must not become this one's input. */
	memset(tcm, 0, NPU_FW_TCM_SIZE);
	memcpy(tcm + (le32toh(header->load_address) - NPU_FW_TCM_BASE),
	       (const uint8_t *)image + NPU_FW_HEADER_SIZE, le32toh(header->payload_size));
	*entry = le32toh(header->entry);
	return NPU_BOOT_STATUS_RUNNING;
}

const char *npu_boot_rom_reason(enum npu_boot_status status)
{
	static const char *const reasons[] = {
		[NPU_BOOT_STATUS_RESET] = "no image was started since reset",
		[NPU_BOOT_STATUS_RUNNING] = "the image is accepted",
		[NPU_BOOT_STATUS_UNREADABLE] = "the image could not be read from host memory",
		[NPU_BOOT_STATUS_TRUNCATED] = "the image is shorter than a firmware header",
		[NPU_BOOT_STATUS_BAD_MAGIC] =
			"the image does not begin with NPUF, so it is no firmware",
		[NPU_BOOT_STATUS_BAD_HEADER_VERSION] =
			"the header's version is not known to this boot ROM",
		[NPU_BOOT_STATUS_BAD_HEADER_SIZE] =
			"the header's size is not that of its version",
		[NPU_BOOT_STATUS_BAD_HARDWARE] = "the firmware was made for other hardware",
		[NPU_BOOT_STATUS_BAD_SIZE] =
			"the payload's size is zero, not a multiple of four, or not that of the "
			"bytes after the header",
		[NPU_BOOT_STATUS_BAD_LOAD] =
			"the load address is not a multiple of four, or the payload does not fit "
			"into TCM there",
		[NPU_BOOT_STATUS_BAD_ENTRY] = "the entry address is odd or outside the payload",
		[NPU_BOOT_STATUS_BAD_VERSION] =
			"the version is empty, not ended, not printable ASCII, or not padded with "
			"zeros",
		[NPU_BOOT_STATUS_BAD_RESERVED] = "a reserved byte of the header is not zero",
		[NPU_BOOT_STATUS_BAD_DIGEST] =
			"the SHA-256 in the header is not that of the image",
	};
	unsigned int index = (unsigned int)status;

	if (index >= sizeof(reasons) / sizeof(reasons[0]))
		return "the boot ROM's answer is not known to this version of the software";
	return reasons[index];
}
