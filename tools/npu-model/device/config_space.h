/* SPDX-License-Identifier: MIT */
/*
 * PCI configuration space of the card. Manual: Documentation/hardware/pcie.rst.
 *
 * Bytes, and for each the bits software may change; everything else of a write is dropped.
 * Not thread safe.
 */
#ifndef NPU_DEVICE_CONFIG_SPACE_H
#define NPU_DEVICE_CONFIG_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SPACE_BYTES	4096u

#define CONFIG_VENDOR		0x1234u
#define CONFIG_DEVICE		0x4e50u
#define CONFIG_CLASS		0x120000u

#define CONFIG_BAR0_BYTES	0x10000u	/* registers */
#define CONFIG_BAR2_BYTES	0x400000u	/* doorbell pages: 64 queues, 64 KiB apart */
#define CONFIG_BAR4_BYTES	0x2000u		/* MSI-X */
#define CONFIG_MSIX_TABLE	0x0u		/* offsets in BAR4 */
#define CONFIG_MSIX_PBA		0x1000u

/* Where the capabilities are */
#define CONFIG_CAP_PM		0x40u
#define CONFIG_CAP_MSI		0x50u
#define CONFIG_CAP_PCIE		0x70u
#define CONFIG_CAP_MSIX		0xb0u

struct config_space {
	uint8_t value[CONFIG_SPACE_BYTES];
	uint8_t writable[CONFIG_SPACE_BYTES];
	bool msi_only;
};

/* What a write has done, besides being remembered. */
#define CONFIG_EFFECT_RESET	(1u << 0)	/* a function level reset is asked for */
#define CONFIG_EFFECT_STATE	(1u << 1)	/* config_space_state() may have changed */

/* What the rest of the device has to know. */
struct config_state {
	bool bus_master;
	bool msi_enabled;
	unsigned int msi_messages;	/* allotted by software: 1, 2, 4 */
	bool msix_enabled;
	bool msix_masked;		/* the whole function */
};

/* config_space_init() - as after power on; @msi_only: without the MSI-X capability and its BAR */
void config_space_init(struct config_space *space, bool msi_only);

/* config_space_reset() - back to that */
void config_space_reset(struct config_space *space);

/* config_space_read() - @count bytes at @offset, which must be inside the space */
void config_space_read(const struct config_space *space, size_t offset, size_t count,
		       uint8_t *data);

/* config_space_write() - the same for a write. Returns a mask of CONFIG_EFFECT_* */
unsigned int config_space_write(struct config_space *space, size_t offset, size_t count,
				const uint8_t *data);

struct config_state config_space_state(const struct config_space *space);

#endif
