// SPDX-License-Identifier: GPL-2.0-only
/* The NPU as a PCI function. */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include "npu_device.h"

/* Until identifiers are assigned: those the device's manual names. */
#define NPU_PCI_VENDOR		0x1234
#define NPU_PCI_DEVICE		0x4e50

#define NPU_BAR_REGISTERS	0
#define NPU_BAR_DOORBELLS	2

static int npu_pci_map(struct npu_device *ndev, struct pci_dev *pdev)
{
	int ret;

	if (pci_resource_len(pdev, NPU_BAR_REGISTERS) < NPU_REGISTERS_BYTES)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR0 is too small for the registers\n");
	ndev->regs = pcim_iomap_region(pdev, NPU_BAR_REGISTERS, "npu");
	if (IS_ERR(ndev->regs))
		return dev_err_probe(&pdev->dev, PTR_ERR(ndev->regs), "BAR0 cannot be mapped\n");
	ret = npu_device_identify(ndev, pci_resource_len(pdev, NPU_BAR_DOORBELLS));
	if (ret)
		return ret;
	if (!devm_request_mem_region(&pdev->dev, pci_resource_start(pdev, NPU_BAR_DOORBELLS),
				     pci_resource_len(pdev, NPU_BAR_DOORBELLS), "npu"))
		return dev_err_probe(&pdev->dev, -EBUSY, "BAR2 is in use\n");
	ndev->doorbells = pci_resource_start(pdev, NPU_BAR_DOORBELLS);
	ndev->doorbell_regs = devm_ioremap(&pdev->dev, ndev->doorbells,
					   pci_resource_len(pdev, NPU_BAR_DOORBELLS));
	if (!ndev->doorbell_regs)
		return dev_err_probe(&pdev->dev, -ENOMEM, "BAR2 cannot be mapped\n");
	return 0;
}

/**
 * npu_pci_allow_dma() - let the device read and write memory, or no more
 * @ndev: the device, on any bus; where there is nothing to switch it has to keep still by itself
 * @allowed: whether it may
 */
void npu_pci_allow_dma(struct npu_device *ndev, bool allowed)
{
	if (!dev_is_pci(ndev->drm.dev))
		return;
	if (allowed)
		pci_set_master(to_pci_dev(ndev->drm.dev));
	else
		pci_clear_master(to_pci_dev(ndev->drm.dev));
}

static void npu_pci_free_vectors(void *data)
{
	pci_free_irq_vectors(data);
}

/*
 * A vector for each cause, so that nobody has to read which it was; else one for all, which only
 * MSI has: of a single vector of MSI-X the device would tell of one cause, and of others nobody.
 */
static int npu_pci_irqs(struct npu_device *ndev, struct pci_dev *pdev)
{
	int count, ret, i;

	count = pci_alloc_irq_vectors(pdev, NPU_IRQ_COUNT, NPU_IRQ_COUNT,
				      PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (count < 0)
		count = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (count < 0)
		return dev_err_probe(&pdev->dev, count, "no interrupt (MSI-X or MSI) to be had\n");
	ret = devm_add_action_or_reset(&pdev->dev, npu_pci_free_vectors, pdev);
	if (ret)
		return ret;
	for (i = 0; i < count && !ret; i++)
		ret = npu_irq_request(ndev, i, pci_irq_vector(pdev, i),
				      count == 1 ? GENMASK(NPU_IRQ_COUNT - 1, 0) : BIT(i));
	return ret;
}

static int npu_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct npu_device *ndev;
	int ret;

	ndev = npu_device_alloc(&pdev->dev);
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	pci_set_drvdata(pdev, ndev);
	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "the function cannot be enabled\n");
	ret = npu_pci_map(ndev, pdev);
	if (ret)
		return ret;
	/* Whatever ran before must not do DMA once it is allowed to. */
	ret = npu_device_prepare(ndev);
	if (ret)
		return ret;
	pci_set_master(pdev);
	ret = npu_irq_init(ndev);
	if (!ret)
		ret = npu_pci_irqs(ndev, pdev);
	if (!ret)
		ret = npu_device_init(ndev);
	if (ret)
		npu_device_stop(ndev);
	else
		pci_save_state(pdev);
	return ret;
}

static void npu_pci_remove(struct pci_dev *pdev)
{
	npu_device_remove(pci_get_drvdata(pdev));
}

static void npu_pci_shutdown(struct pci_dev *pdev)
{
	npu_device_shutdown(pci_get_drvdata(pdev));
}

/* ------------------------------------------------------ errors of the bus, and its resets */

static void npu_pci_reset_prepare(struct pci_dev *pdev)
{
	npu_reset_hold(pci_get_drvdata(pdev), NPU_FAILURE_BUS_RESET);
}

static void npu_pci_reset_done(struct pci_dev *pdev)
{
	npu_reset_release(pci_get_drvdata(pdev));
}

static pci_ers_result_t npu_pci_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	if (state == pci_channel_io_perm_failure) {
		npu_reset_never(pci_get_drvdata(pdev));
		return PCI_ERS_RESULT_DISCONNECT;
	}
	npu_reset_hold(pci_get_drvdata(pdev), NPU_FAILURE_BUS_ERROR);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t npu_pci_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	/* For the next time: some kernels forget what they have restored. */
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers npu_pci_error_handlers = {
	.error_detected = npu_pci_error_detected,
	.slot_reset = npu_pci_slot_reset,
	.resume = npu_pci_reset_done,
	.reset_prepare = npu_pci_reset_prepare,
	.reset_done = npu_pci_reset_done,
};

static const struct pci_device_id npu_pci_ids[] = {
	{ PCI_DEVICE(NPU_PCI_VENDOR, NPU_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, npu_pci_ids);

static struct pci_driver npu_pci_driver = {
	.name = "npu",
	.id_table = npu_pci_ids,
	.probe = npu_pci_probe,
	.remove = npu_pci_remove,
	.shutdown = npu_pci_shutdown,
	.err_handler = &npu_pci_error_handlers,
	.dev_groups = npu_device_groups,
	.driver.pm = pm_ptr(&npu_pm_ops),
};

int npu_pci_register(void)
{
	return pci_register_driver(&npu_pci_driver);
}

void npu_pci_unregister(void)
{
	pci_unregister_driver(&npu_pci_driver);
}
