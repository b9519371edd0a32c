/* SPDX-License-Identifier: MIT */
/*
 * Every trap is an exception, since interrupts are never taken, and the end of the firmware.
 * The old stack may be the reason, so nothing is stored on it.
 */
	.section .text.trap, "ax"
	.globl	trap_entry
	.type	trap_entry, @function
	.balign	4			/* mtvec's low bits are the mode */
trap_entry:
	mv	a3, sp
	la	sp, stack_panic_top
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	csrr	a0, mcause
	csrr	a1, mepc
	csrr	a2, mtval
	tail	panic_trap
	.size	trap_entry, . - trap_entry
