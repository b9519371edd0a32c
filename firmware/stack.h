/* SPDX-License-Identifier: MIT */
/*
 * The guard area below the stack, for C, assembler and linker script. STACK_BYTES and
 * STACK_PANIC_BYTES come from the build, which compares the deepest chain of calls with them.
 */
#ifndef FIRMWARE_STACK_H
#define FIRMWARE_STACK_H

#define STACK_GUARD_BYTES	64
#define STACK_GUARD_WORD	0x57ac6a2d

#endif /* FIRMWARE_STACK_H */
