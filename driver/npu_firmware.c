// SPDX-License-Identifier: GPL-2.0-only
/* Starts the control core. Authority: Documentation/hardware/firmware.rst. */
#include <linux/dma-mapping.h>
#include <linux/firmware.h>
#include <linux/iopoll.h>
#include <linux/module.h>

#include "npu_device.h"

#define NPU_FIRMWARE_NAME	"npu/npu-fw.img"
#define NPU_FIRMWARE_BYTES_MAX	(NPU_FW_HEADER_SIZE + NPU_FW_TCM_SIZE)
#define NPU_BOOT_POLL_US	100
#define NPU_BOOT_TIMEOUT_US	(10 * USEC_PER_SEC)

MODULE_FIRMWARE(NPU_FIRMWARE_NAME);

static const char *npu_boot_refusal(u32 status)
{
	switch (status) {
	case NPU_BOOT_STATUS_UNREADABLE:
		return "reading it failed";
	case NPU_BOOT_STATUS_BAD_HARDWARE:
		return "it was made for other hardware";
	case NPU_BOOT_STATUS_BAD_DIGEST:
		return "its digest is wrong, the file is damaged";
	default:
		return "it is no image this device takes";
	}
}

/**
 * npu_firmware_start() - start the firmware and wait until it is ready
 * @ndev: the device, in reset; its image is loaded
 *
 * Return: 0 or a negative errno; then it may still be reading the image.
 */
int npu_firmware_start(struct npu_device *ndev)
{
	u32 value;
	int ret;

	npu_write64(ndev, NPU_REG_BOOT_ADDRESS_LO, ndev->image_dma);
	npu_write(ndev, NPU_REG_BOOT_SIZE, ndev->image_bytes);
	npu_write(ndev, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	ret = readl_poll_timeout(ndev->regs + NPU_REG_BOOT_STATUS, value,
				 value != NPU_BOOT_STATUS_RESET, NPU_BOOT_POLL_US,
				 NPU_BOOT_TIMEOUT_US);
	if (ret)
		return dev_err_probe(ndev->drm.dev, ret, "the boot ROM does not answer\n");
	if (value != NPU_BOOT_STATUS_RUNNING)
		return dev_err_probe(ndev->drm.dev, -EINVAL,
				     "the device refuses %s: %s (boot status %u)\n",
				     NPU_FIRMWARE_NAME, npu_boot_refusal(value), value);
	ret = readl_poll_timeout(ndev->regs + NPU_REG_FW_STATE, value,
				 value != NPU_FW_STATE_RESET, NPU_BOOT_POLL_US,
				 NPU_BOOT_TIMEOUT_US);
	if (ret || value != NPU_FW_STATE_READY)
		return dev_err_probe(ndev->drm.dev, ret ?: -EIO,
				     "the firmware did not become ready (state %u)\n", value);
	return 0;
}

/**
 * npu_firmware_load() - take the firmware into memory that the device can read
 * @ndev: the device
 *
 * It stays there: after a suspend there may be no file to be read yet.
 *
 * Return: 0 or a negative errno.
 */
int npu_firmware_load(struct npu_device *ndev)
{
	struct device *dev = ndev->drm.dev;
	const struct firmware *firmware;
	const struct npu_fw_header *header;
	int ret;

	ret = request_firmware(&firmware, NPU_FIRMWARE_NAME, dev);
	if (ret)
		return dev_err_probe(dev, ret, "/lib/firmware/%s cannot be loaded\n",
				     NPU_FIRMWARE_NAME);
	if (firmware->size < sizeof(*header) || firmware->size > NPU_FIRMWARE_BYTES_MAX) {
		ret = dev_err_probe(dev, -EINVAL, "%s has %zu bytes, which no image has\n",
				    NPU_FIRMWARE_NAME, firmware->size);
		goto release;
	}
	ndev->image_bytes = firmware->size;
	ndev->image = dmam_alloc_coherent(dev, firmware->size, &ndev->image_dma, GFP_KERNEL);
	if (!ndev->image) {
		ret = -ENOMEM;
		goto release;
	}
	/* The device checks the image, on a copy of its own. */
	memcpy(ndev->image, firmware->data, firmware->size);
	header = (const struct npu_fw_header *)firmware->data;
	memcpy(ndev->firmware_version, header->version, sizeof(ndev->firmware_version));
release:
	release_firmware(firmware);
	return ret;
}
