// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: takes the NPU's PCI function, when it is loaded before npu.ko, and shows it as the
 * device that it is on a chip. BARs are its memory ranges; its interrupt is a wired one, whose line
 * is active while IRQ_STATUS & IRQ_ENABLE is not 0 (Documentation/hardware/on-chip.rst), so a
 * driver that leaves a cause uncleared does not come out of its handler. Where the machine has a
 * device tree, the node for an NPU in it is the device's, and says whether DMA is coherent.
 *
 * The device does DMA as its function does, which an IOMMU would not let through.
 */
#include <linux/interrupt.h>
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#include <npu/npu_regs.h>

#define SHIM_BAR_REGISTERS	0
#define SHIM_BAR_DOORBELLS	2

/**
 * struct npu_shim - a function, and the device it is shown as
 * @chip: that device
 * @regs: registers
 * @line: number of the wired interrupt
 * @masked: nobody is told of it
 * @look: looks at the line when it is unmasked
 */
struct npu_shim {
	struct platform_device *chip;
	void __iomem *regs;
	int line;
	bool masked;
	struct irq_work look;
};

/* With interrupts off, as handlers of interrupts run. */
static void npu_shim_tell(struct npu_shim *shim)
{
	if (!READ_ONCE(shim->masked))
		generic_handle_irq(shim->line);
}

/* The line became active; registers are slow to read in a guest, and were just as this says. */
static irqreturn_t npu_shim_message(int irq, void *data)
{
	npu_shim_tell(data);
	return IRQ_HANDLED;
}

static void npu_shim_look(struct irq_work *work)
{
	struct npu_shim *shim = container_of(work, struct npu_shim, look);
	u32 status = readl(shim->regs + NPU_REG_IRQ_STATUS);

	if (status && status & readl(shim->regs + NPU_REG_IRQ_ENABLE))
		npu_shim_tell(shim);
}

static void npu_shim_mask(struct irq_data *data)
{
	struct npu_shim *shim = irq_data_get_irq_chip_data(data);

	WRITE_ONCE(shim->masked, true);
}

static void npu_shim_unmask(struct irq_data *data)
{
	struct npu_shim *shim = irq_data_get_irq_chip_data(data);

	WRITE_ONCE(shim->masked, false);
	/* Not here, under the interrupt's lock. */
	irq_work_queue(&shim->look);
}

static struct irq_chip npu_shim_chip = {
	.name = "npu-shim",
	.irq_mask = npu_shim_mask,
	.irq_unmask = npu_shim_unmask,
};

static void npu_shim_free_line(void *data)
{
	struct npu_shim *shim = data;

	irq_work_sync(&shim->look);
	irq_free_desc(shim->line);
}

static void npu_shim_free_vectors(void *data)
{
	pci_free_irq_vectors(data);
}

static int npu_shim_make_line(struct npu_shim *shim, struct device *dev)
{
	shim->line = irq_alloc_desc(dev_to_node(dev));
	if (shim->line < 0)
		return shim->line;
	shim->masked = true;
	init_irq_work(&shim->look, npu_shim_look);
	irq_set_chip_and_handler(shim->line, &npu_shim_chip, handle_level_irq);
	irq_set_chip_data(shim->line, shim);
	irq_modify_status(shim->line, IRQ_NOREQUEST | IRQ_NOPROBE, IRQ_LEVEL);
	return devm_add_action_or_reset(dev, npu_shim_free_line, shim);
}

static int npu_shim_irq(struct npu_shim *shim, struct pci_dev *function)
{
	struct device *dev = &function->dev;
	int ret;

	ret = npu_shim_make_line(shim, dev);
	if (ret)
		return ret;
	/* One message tells of all causes; vectors of MSI-X tell of one each. */
	ret = pci_alloc_irq_vectors(function, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return ret;
	ret = devm_add_action_or_reset(dev, npu_shim_free_vectors, function);
	if (ret)
		return ret;
	return devm_request_irq(dev, pci_irq_vector(function, 0), npu_shim_message,
				IRQF_NO_THREAD, "npu-shim", shim);
}

static int npu_shim_show(struct npu_shim *shim, struct pci_dev *function)
{
	struct resource ranges[] = {
		DEFINE_RES_MEM_NAMED(pci_resource_start(function, SHIM_BAR_REGISTERS),
				     pci_resource_len(function, SHIM_BAR_REGISTERS), "registers"),
		DEFINE_RES_MEM_NAMED(pci_resource_start(function, SHIM_BAR_DOORBELLS),
				     pci_resource_len(function, SHIM_BAR_DOORBELLS), "doorbells"),
		DEFINE_RES_IRQ(shim->line),
	};
	struct device_node *node = of_find_compatible_node(NULL, NULL, "npu-project,npu3");
	const struct platform_device_info info = {
		.parent = &function->dev,
		.fwnode = of_fwnode_handle(node),
		.name = "npu",
		.id = PLATFORM_DEVID_NONE,
		.res = ranges,
		.num_res = ARRAY_SIZE(ranges),
	};

	ranges[0].parent = &function->resource[SHIM_BAR_REGISTERS];
	ranges[1].parent = &function->resource[SHIM_BAR_DOORBELLS];
	shim->chip = platform_device_register_full(&info);
	of_node_put(node);
	return PTR_ERR_OR_ZERO(shim->chip);
}

static int npu_shim_probe(struct pci_dev *function, const struct pci_device_id *id)
{
	struct npu_shim *shim;
	int ret;

	if (device_iommu_mapped(&function->dev))
		return dev_err_probe(&function->dev, -EOPNOTSUPP, "there is an IOMMU before it\n");
	shim = devm_kzalloc(&function->dev, sizeof(*shim), GFP_KERNEL);
	if (!shim)
		return -ENOMEM;
	pci_set_drvdata(function, shim);
	ret = pcim_enable_device(function);
	if (ret)
		return ret;
	shim->regs = pcim_iomap(function, SHIM_BAR_REGISTERS, 0);
	if (!shim->regs)
		return -ENOMEM;
	pci_set_master(function);
	ret = npu_shim_irq(shim, function);
	if (ret)
		return dev_err_probe(&function->dev, ret, "no interrupt to be had\n");
	return npu_shim_show(shim, function);
}

static void npu_shim_remove(struct pci_dev *function)
{
	struct npu_shim *shim = pci_get_drvdata(function);

	platform_device_unregister(shim->chip);
}

static const struct pci_device_id npu_shim_ids[] = {
	{ PCI_DEVICE(0x1234, 0x4e50) },
	{ }
};
MODULE_DEVICE_TABLE(pci, npu_shim_ids);

static struct pci_driver npu_shim_driver = {
	.name = "npu-shim",
	.id_table = npu_shim_ids,
	.probe = npu_shim_probe,
	.remove = npu_shim_remove,
};
module_pci_driver(npu_shim_driver);

MODULE_DESCRIPTION("Shows the NPU's PCI function as a platform device, for tests");
MODULE_AUTHOR("The NPU project");
MODULE_LICENSE("GPL");
