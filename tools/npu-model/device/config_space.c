// SPDX-License-Identifier: MIT
/* PCI configuration space of the card. See config_space.h. */
#include "config_space.h"

#include <string.h>

#include "npu/npu_regs.h"

#define COMMAND			0x04
#define COMMAND_MEMORY		0x0002u
#define COMMAND_BUS_MASTER	0x0004u
#define COMMAND_PARITY		0x0040u
#define COMMAND_SERR		0x0100u
#define COMMAND_NO_INTX		0x0400u
#define STATUS			0x06
#define STATUS_CAPABILITIES	0x0010u
#define CLASS_REVISION		0x08
#define BAR(n)			(0x10u + 4 * (n))
#define BAR_64BIT		0x4u
#define SUBSYSTEM		0x2c
#define CAPABILITIES		0x34
#define INTERRUPT_LINE		0x3c

#define CAP_ID_PM		0x01u
#define CAP_ID_MSI		0x05u
#define CAP_ID_PCIE		0x10u
#define CAP_ID_MSIX		0x11u

#define PM_VERSION		0x0003u
#define PM_CONTROL		(CONFIG_CAP_PM + 4)
#define PM_CONTROL_STATE	0x0003u
#define PM_NO_SOFT_RESET	0x0008u

#define MSI_CONTROL		(CONFIG_CAP_MSI + 2)
#define MSI_ENABLE		0x0001u
#define MSI_CAPABLE_4		(2u << 1)
#define MSI_ENABLED_SHIFT	4
#define MSI_ENABLED_MASK	(7u << MSI_ENABLED_SHIFT)
#define MSI_64BIT		0x0080u
#define MSI_ADDRESS		(CONFIG_CAP_MSI + 4)
#define MSI_DATA		(CONFIG_CAP_MSI + 12)

#define PCIE_FLAGS		(CONFIG_CAP_PCIE + 2)
#define PCIE_FLAGS_V2_ENDPOINT	0x0002u
#define PCIE_DEVICE_CAP		(CONFIG_CAP_PCIE + 4)
#define PCIE_ROLE_BASED_ERRORS	(1u << 15)
#define PCIE_FLR_CAPABLE	(1u << 28)
#define PCIE_DEVICE_CONTROL	(CONFIG_CAP_PCIE + 8)
/* Error reporting, relaxed ordering, payload, no snoop, read request size */
#define PCIE_CONTROL_WRITABLE	0x78ffu
#define PCIE_CONTROL_RESET	0x2810u
#define PCIE_CONTROL_FLR	0x8000u
#define PCIE_LINK_CAP		(CONFIG_CAP_PCIE + 12)
#define PCIE_LINK_CONTROL	(CONFIG_CAP_PCIE + 16)
#define PCIE_LINK_STATUS	(CONFIG_CAP_PCIE + 18)
#define PCIE_LINK_GEN1_X1	0x0011u

#define MSIX_CONTROL		(CONFIG_CAP_MSIX + 2)
#define MSIX_MASK_ALL		0x4000u
#define MSIX_ENABLE		0x8000u
#define MSIX_TABLE		(CONFIG_CAP_MSIX + 4)
#define MSIX_PBA		(CONFIG_CAP_MSIX + 8)
#define MSIX_BAR4		4u

static uint32_t get(const uint8_t *bytes, unsigned int count)
{
	uint32_t value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

static void put(uint8_t *bytes, unsigned int count, uint32_t value)
{
	for (unsigned int i = 0; i < count; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

/* @count bytes at @offset read @value, of which software may change @writable. */
static void field(struct config_space *space, unsigned int offset, unsigned int count,
		  uint32_t value, uint32_t writable)
{
	put(space->value + offset, count, value);
	put(space->writable + offset, count, writable);
}

static void add_header(struct config_space *space)
{
	const uint32_t command = COMMAND_MEMORY | COMMAND_BUS_MASTER | COMMAND_PARITY |
				 COMMAND_SERR | COMMAND_NO_INTX;

	field(space, 0x00, 4, CONFIG_VENDOR | CONFIG_DEVICE << 16, 0);
	field(space, COMMAND, 2, 0, command);
	field(space, STATUS, 2, STATUS_CAPABILITIES, 0);
	field(space, CLASS_REVISION, 4, CONFIG_CLASS << 8 | NPU_HW_VERSION >> 16, 0);
	field(space, 0x0c, 1, 0, 0xff);	/* cache line size */
	field(space, BAR(0), 4, 0, ~(CONFIG_BAR0_BYTES - 1));
	field(space, BAR(2), 4, BAR_64BIT, ~(CONFIG_BAR2_BYTES - 1));
	field(space, BAR(3), 4, 0, ~0u);
	if (!space->msi_only)
		field(space, BAR(4), 4, 0, ~(CONFIG_BAR4_BYTES - 1));
	field(space, SUBSYSTEM, 4, CONFIG_VENDOR | CONFIG_DEVICE << 16, 0);
	field(space, CAPABILITIES, 1, CONFIG_CAP_PM, 0);
	/* No interrupt pin: a line number is all there is to remember. */
	field(space, INTERRUPT_LINE, 1, 0, 0xff);
}

static void add_capability(struct config_space *space, unsigned int offset, uint32_t id,
			   unsigned int next)
{
	field(space, offset, 2, id | next << 8, 0);
}

static void add_capabilities(struct config_space *space)
{
	add_capability(space, CONFIG_CAP_PM, CAP_ID_PM, CONFIG_CAP_MSI);
	field(space, CONFIG_CAP_PM + 2, 2, PM_VERSION, 0);
	field(space, PM_CONTROL, 2, PM_NO_SOFT_RESET, PM_CONTROL_STATE);

	add_capability(space, CONFIG_CAP_MSI, CAP_ID_MSI, CONFIG_CAP_PCIE);
	field(space, MSI_CONTROL, 2, MSI_CAPABLE_4 | MSI_64BIT, MSI_ENABLE | MSI_ENABLED_MASK);
	field(space, MSI_ADDRESS, 4, 0, ~3u);
	field(space, MSI_ADDRESS + 4, 4, 0, ~0u);
	field(space, MSI_DATA, 2, 0, 0xffff);

	add_capability(space, CONFIG_CAP_PCIE, CAP_ID_PCIE, space->msi_only ? 0 : CONFIG_CAP_MSIX);
	field(space, PCIE_FLAGS, 2, PCIE_FLAGS_V2_ENDPOINT, 0);
	field(space, PCIE_DEVICE_CAP, 4, PCIE_ROLE_BASED_ERRORS | PCIE_FLR_CAPABLE, 0);
	field(space, PCIE_DEVICE_CONTROL, 2, PCIE_CONTROL_RESET, PCIE_CONTROL_WRITABLE);
	field(space, PCIE_LINK_CAP, 4, PCIE_LINK_GEN1_X1, 0);
	field(space, PCIE_LINK_CONTROL, 2, 0, 0x00c3);
	field(space, PCIE_LINK_STATUS, 2, PCIE_LINK_GEN1_X1, 0);

	if (space->msi_only)
		return;
	add_capability(space, CONFIG_CAP_MSIX, CAP_ID_MSIX, 0);
	field(space, MSIX_CONTROL, 2, NPU_IRQ_COUNT - 1, MSIX_ENABLE | MSIX_MASK_ALL);
	field(space, MSIX_TABLE, 4, CONFIG_MSIX_TABLE | MSIX_BAR4, 0);
	field(space, MSIX_PBA, 4, CONFIG_MSIX_PBA | MSIX_BAR4, 0);
}

void config_space_init(struct config_space *space, bool msi_only)
{
	memset(space, 0, sizeof(*space));
	space->msi_only = msi_only;
	add_header(space);
	add_capabilities(space);
}

void config_space_reset(struct config_space *space)
{
	config_space_init(space, space->msi_only);
}

void config_space_read(const struct config_space *space, size_t offset, size_t count,
		       uint8_t *data)
{
	memcpy(data, space->value + offset, count);
}

unsigned int config_space_write(struct config_space *space, size_t offset, size_t count,
				const uint8_t *data)
{
	const size_t flr = PCIE_DEVICE_CONTROL + 1;
	unsigned int effects = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t mask = space->writable[offset + i];
		uint8_t *value = &space->value[offset + i];

		if ((*value ^ data[i]) & mask)
			effects |= CONFIG_EFFECT_STATE;
		*value = (uint8_t)((*value & ~mask) | (data[i] & mask));
		/* Initiate Function Level Reset always reads 0. */
		if (offset + i == flr && (data[i] & PCIE_CONTROL_FLR >> 8))
			effects |= CONFIG_EFFECT_RESET;
	}
	return effects;
}

struct config_state config_space_state(const struct config_space *space)
{
	uint32_t msi = get(space->value + MSI_CONTROL, 2);
	uint32_t msix = space->msi_only ? 0 : get(space->value + MSIX_CONTROL, 2);
	uint32_t log2 = (msi & MSI_ENABLED_MASK) >> MSI_ENABLED_SHIFT;

	return (struct config_state){
		.bus_master = get(space->value + COMMAND, 2) & COMMAND_BUS_MASTER,
		.msi_enabled = msi & MSI_ENABLE,
		/* More than were asked for is a mistake of software's that does no harm. */
		.msi_messages = log2 < 2 ? 1u << log2 : NPU_IRQ_COUNT,
		.msix_enabled = msix & MSIX_ENABLE,
		.msix_masked = msix & MSIX_MASK_ALL,
	};
}
