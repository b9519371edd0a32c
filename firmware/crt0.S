/* SPDX-License-Identifier: MIT */
/*
 * From the boot ROM's jump to C. The ROM has loaded the whole image into TCM (.data needs no
 * copy); interrupts are off and stay so, a pending one only ends wfi.
 */
#include "stack.h"

#define MIE_TIMER	(1 << 7)
#define MIE_EXTERNAL	(1 << 11)

	.section .text.start, "ax"
	.globl	_start
	.type	_start, @function
_start:
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	la	sp, stack_top
	la	t0, trap_entry
	csrw	mtvec, t0

	la	t0, stack_guard
	addi	t1, t0, STACK_GUARD_BYTES
	li	t2, STACK_GUARD_WORD
1:	sw	t2, 0(t0)		/* STACK_GUARD_BYTES / 4 turns */
	addi	t0, t0, 4
	bltu	t0, t1, 1b

	la	t0, bss_start
	la	t1, bss_end
	j	3f
2:	sw	zero, 0(t0)		/* size of .bss / 4 turns */
	addi	t0, t0, 4
3:	bltu	t0, t1, 2b

	li	t0, MIE_TIMER | MIE_EXTERNAL
	csrw	mie, t0
	call	firmware_main
	.size	_start, . - _start
