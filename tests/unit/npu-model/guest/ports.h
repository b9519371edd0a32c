/* SPDX-License-Identifier: MIT */
/*
 * The device that tests of the control core put into its MMIO window; for C and assembler.
 */
#ifndef TEST_GUEST_PORTS_H
#define TEST_GUEST_PORTS_H

#include "npu/npu_firmware.h"

/* Write ends the run with this code; zero is success. */
#define MACHINE_EXIT		(NPU_FW_MMIO_BASE + 0x00)
/* Write appends a word to the output. */
#define MACHINE_OUTPUT		(NPU_FW_MMIO_BASE + 0x04)
/* Write sets the interrupt lines at once. */
#define MACHINE_LINES		(NPU_FW_MMIO_BASE + 0x08)
/* Timer line is raised while the core's cycle count is at or above this; all ones at start. */
#define MACHINE_TIMER		(NPU_FW_MMIO_BASE + 0x0c)
/* Sixteen bytes of memory. */
#define MACHINE_MEMORY		(NPU_FW_MMIO_BASE + 0x10)
/* Reads as the low half of the core's cycle count at the time of the access. */
#define MACHINE_CYCLE		(NPU_FW_MMIO_BASE + 0x20)
/* From here on every access faults. */
#define MACHINE_NOTHING		(NPU_FW_MMIO_BASE + 0x100)

#endif /* TEST_GUEST_PORTS_H */
