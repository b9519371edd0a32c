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

static int npu_firmware_start(struct npu_device *ndev, dma_addr_t dma, size_t bytes)
{
	u32 value;
	int ret;

	npu_write64(ndev, NPU_REG_BOOT_ADDRESS_LO, dma);
	npu_write(ndev, NPU_REG_BOOT_SIZE, bytes);
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
 * npu_firmware_boot() - load the firmware and wait until it is ready
 * @ndev: the device, in reset
 *
 * Return: 0 or a negative errno.
 */
int npu_firmware_boot(struct npu_device *ndev)
{
	struct device *dev = ndev->drm.dev;
	const struct firmware *firmware;
	const struct npu_fw_header *header;
	dma_addr_t dma;
	void *image;
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
	image = dma_alloc_coherent(dev, firmware->size, &dma, GFP_KERNEL);
	if (!image) {
		ret = -ENOMEM;
		goto release;
	}
	/* The device checks the image, on a copy of its own. */
	memcpy(image, firmware->data, firmware->size);
	ret = npu_firmware_start(ndev, dma, firmware->size);
	header = (const struct npu_fw_header *)firmware->data;
	memcpy(ndev->firmware_version, header->version, sizeof(ndev->firmware_version));
	/* A core that never became ready may still be reading. */
	if (ret)
		npu_device_stop(ndev);
	dma_free_coherent(dev, firmware->size, image, dma);
release:
	release_firmware(firmware);
	return ret;
}
