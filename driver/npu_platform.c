// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NPU on a chip: registers and doorbells wherever they are, and one wired interrupt for all
 * causes. Authority: Documentation/hardware/registers.rst; binding: Documentation/devicetree.
 */
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include "npu_device.h"

static int npu_platform_map(struct npu_device *ndev, struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct resource *res;

	res = platform_get_resource_byname(pdev, IORESOURCE_MEM, "registers");
	if (!res || resource_size(res) < NPU_REGISTERS_BYTES)
		return dev_err_probe(dev, -EINVAL, "no room for the registers\n");
	ndev->regs = devm_ioremap_resource(dev, res);
	if (IS_ERR(ndev->regs))
		return PTR_ERR(ndev->regs);
	res = platform_get_resource_byname(pdev, IORESOURCE_MEM, "doorbells");
	if (!res)
		return dev_err_probe(dev, -EINVAL, "no doorbells\n");
	ndev->doorbells = res->start;
	ndev->doorbell_regs = devm_ioremap_resource(dev, res);
	if (IS_ERR(ndev->doorbell_regs))
		return PTR_ERR(ndev->doorbell_regs);
	return npu_device_identify(ndev, resource_size(res));
}

/* As the line is active while there is anything, one that came too early is seen to later. */
static int npu_platform_irq(struct npu_device *ndev, struct platform_device *pdev)
{
	int irq = platform_get_irq(pdev, 0);

	return irq < 0 ? irq : npu_irq_request(ndev, 0, irq, GENMASK(NPU_IRQ_COUNT - 1, 0));
}

/* It is awake, and stays so until npu_power_begin(). */
static int npu_platform_power(struct device *dev)
{
	int ret;

	pm_runtime_get_noresume(dev);
	ret = pm_runtime_set_active(dev);
	if (!ret)
		ret = devm_pm_runtime_enable(dev);
	if (ret)
		pm_runtime_put_noidle(dev);
	return ret;
}

static int npu_platform_start(struct npu_device *ndev, struct platform_device *pdev)
{
	int ret;

	ret = npu_platform_power(&pdev->dev);
	if (ret)
		return ret;
	ret = npu_irq_init(ndev);
	if (!ret)
		ret = npu_platform_irq(ndev, pdev);
	if (!ret)
		ret = npu_device_init(ndev);
	if (ret) {
		npu_device_stop(ndev);
		pm_runtime_put_noidle(&pdev->dev);
	}
	return ret;
}

static int npu_platform_probe(struct platform_device *pdev)
{
	struct npu_device *ndev;
	int ret;

	ndev = npu_device_alloc(&pdev->dev);
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	platform_set_drvdata(pdev, ndev);
	ret = npu_platform_map(ndev, pdev);
	if (ret)
		return ret;
	ret = npu_device_prepare(ndev);
	if (ret)
		return ret;
	return npu_platform_start(ndev, pdev);
}

static void npu_platform_remove(struct platform_device *pdev)
{
	/* Unlike that of PCI, this bus lets a device sleep until it is removed. */
	pm_runtime_get_sync(&pdev->dev);
	npu_device_remove(platform_get_drvdata(pdev));
	pm_runtime_put_noidle(&pdev->dev);
	/* What npu_power_end() took. */
	pm_runtime_put_noidle(&pdev->dev);
}

static void npu_platform_shutdown(struct platform_device *pdev)
{
	pm_runtime_get_sync(&pdev->dev);
	npu_device_shutdown(platform_get_drvdata(pdev));
	pm_runtime_put_noidle(&pdev->dev);
}

static const struct of_device_id npu_platform_ids[] = {
	{ .compatible = "npu-project,npu3" },
	{ }
};
MODULE_DEVICE_TABLE(of, npu_platform_ids);

static struct platform_driver npu_platform_driver = {
	.probe = npu_platform_probe,
	.remove = npu_platform_remove,
	.shutdown = npu_platform_shutdown,
	.driver = {
		.name = "npu",
		.of_match_table = npu_platform_ids,
		.dev_groups = npu_device_groups,
		.pm = pm_ptr(&npu_pm_ops),
	},
};

int npu_platform_register(void)
{
	return platform_driver_register(&npu_platform_driver);
}

void npu_platform_unregister(void)
{
	platform_driver_unregister(&npu_platform_driver);
}
