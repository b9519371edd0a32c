/* SPDX-License-Identifier: MIT */
/*
 * The device as the control core sees it: registers, time, sleep. Offsets: npu_regs.h.
 */
#ifndef FIRMWARE_HW_H
#define FIRMWARE_HW_H

#include "npu/npu_firmware.h"
#include "npu/npu_regs.h"
#include "types.h"

/**
 * struct hw - what this device has, read once at boot and cut to the firmware's tables
 * @queues:		1..QUEUES_MAX
 * @slots:		1..SLOTS_MAX
 * @contexts:		1..CONTEXTS_MAX
 * @clusters:		1..CLUSTERS_MAX
 * @global_bytes:	of global SRAM
 * @megahertz:		cycles a microsecond, at least 1
 */
struct hw {
	u32 queues;
	u32 slots;
	u32 contexts;
	u32 clusters;
	u32 global_bytes;
	u32 megahertz;
};

extern struct hw hw;

/**
 * hw_megahertz() - cycles a microsecond, at least 1; before the rest, since the log needs it
 */
u32 hw_megahertz(void);

/**
 * hw_probe() - fill in @hw; panics when the registers make no sense
 */
void hw_probe(void);

static inline u32 hw_read(u32 offset)
{
	return *(const volatile u32 *)(uintptr_t)(NPU_FW_MMIO_BASE + offset);
}

static inline void hw_write(u32 offset, u32 value)
{
	*(volatile u32 *)(uintptr_t)(NPU_FW_MMIO_BASE + offset) = value;
}

/* Device cycles. The low word latches the high one, so the order matters. */
static inline u64 hw_time(void)
{
	u32 low = hw_read(NPU_REG_CORE_TIME_LO);

	return (u64)hw_read(NPU_REG_CORE_TIME_HI) << 32 | low;
}

/* The three writes never show the timer a moment that has already passed. */
static inline void hw_set_alarm(u64 time)
{
	hw_write(NPU_REG_CORE_TIMECMP_HI, ~0u);
	hw_write(NPU_REG_CORE_TIMECMP_LO, (u32)time);
	hw_write(NPU_REG_CORE_TIMECMP_HI, (u32)(time >> 32));
}

/*
 * Interrupts are never taken, they only end this sleep; what came before it does so too.
 */
static inline void hw_sleep(void)
{
	__asm__ volatile("wfi" ::: "memory");
}

#endif /* FIRMWARE_HW_H */
