/* SPDX-License-Identifier: MIT */
/*
 * The end: what cannot be gone on with is logged, told to the host, and stops the core.
 */
#ifndef FIRMWARE_PANIC_H
#define FIRMWARE_PANIC_H

#include "npu/npu_mailbox.h"
#include "npu/npu_packet.h"
#include "types.h"

/**
 * panic() - give up outside a trap
 * @value:	what NPU_MESSAGE_PANIC carries as argument 3
 */
_Noreturn void panic(enum npu_panic reason, u32 value);

/**
 * panic_trap() - give up inside one; called by trap_entry on a stack of its own
 * @stack:	the stack pointer at the exception
 */
_Noreturn void panic_trap(u32 cause, u32 address, u32 value, u32 stack);

/**
 * panic_check_stack() - give up when the guard area below the stack was written to
 */
void panic_check_stack(void);

#endif /* FIRMWARE_PANIC_H */
