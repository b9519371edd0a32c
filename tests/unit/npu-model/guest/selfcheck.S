/* SPDX-License-Identifier: MIT */
/*
 * Checks the control core from inside: loads, stores, branches, jumps, every compressed
 * instruction, CSRs, exceptions, interrupts, sleep. Exits with zero or the line that failed.
 * Expected values are written down from the RISC-V specifications and from rv32.h's choices.
 *
 * Registers with a fixed use: s7 where the trap handler goes on, s8 mcause, s9 mepc, s10 mtval,
 * s11 number of traps; t6 belongs to the checks.
 */
#include "ports.h"

#define CHECK(register, value) \
	li t6, value; \
	beq register, t6, 9f; \
	li a0, __LINE__; \
	j finish; \
9:

#define CHECK_ADDRESS(register, symbol) \
	la t6, symbol; \
	beq register, t6, 9f; \
	li a0, __LINE__; \
	j finish; \
9:

#define FAIL \
	li a0, __LINE__; \
	j finish

/* The instruction traps; what mtval holds is an expression or an address. */
#define TRAPS(cause, value, instruction) traps __LINE__, cause, value, instruction

	.macro traps line, cause, value, instruction
	li s8, -1
	la s7, after_\@
at_\@:
	\instruction
	j wrong_\@
after_\@:
	li t6, \cause
	bne s8, t6, wrong_\@
	la t6, at_\@
	bne s9, t6, wrong_\@
	la t6, \value
	beq s10, t6, right_\@
wrong_\@:
	li a0, \line
	j finish
right_\@:
	.endm

/* The branch goes where it should, forwards and backwards. */
#define BRANCHES(name, a, b) branches __LINE__, name, a, b
#define FALLS(name, a, b) falls __LINE__, name, a, b

	.macro branches line, name, a, b
	li a1, \a
	li a2, \b
	j forward_\@
back_\@:
	j done_\@
forward_\@:
	\name a1, a2, next_\@
	j wrong_\@
next_\@:
	\name a1, a2, back_\@
wrong_\@:
	li a0, \line
	j finish
done_\@:
	.endm

	.macro falls line, name, a, b
	li a1, \a
	li a2, \b
	\name a1, a2, wrong_\@
	j right_\@
wrong_\@:
	li a0, \line
	j finish
right_\@:
	.endm

	.option norelax
	.section .text.start, "ax"
	.globl _start
_start:
	la sp, stack_top
	la t0, trap_handler
	csrw mtvec, t0
	la s7, unexpected
	li s11, 0
	call check_reset
	call check_memory
	call check_branches
	call check_jumps
	call check_zero
	call check_compressed
	call check_csrs
	call check_counters
	call check_exceptions
	call check_interrupts
	call check_vectors
	call check_timer
	call check_sleep
	li a0, 0
finish:
	li t0, MACHINE_EXIT
	sw a0, 0(t0)
	j finish

unexpected:
	FAIL

	/*
	 * Notes the trap and goes on where the test says; after an interrupt with interrupts off,
	 * because its line is still raised. Uses t5.
	 */
	.balign 4
trap_handler:
	csrr s8, mcause
	csrr s9, mepc
	csrr s10, mtval
	addi s11, s11, 1
	csrw mepc, s7
	bgez s8, 1f
	li t5, 0x80
	csrc mstatus, t5
1:
	mret

check_reset:
	CHECK(t1, 0)
	CHECK(s0, 0)
	CHECK(tp, 0)
	csrr a1, mstatus
	CHECK(a1, 0x1800)
	csrr a1, mie
	CHECK(a1, 0)
	csrr a1, mip
	CHECK(a1, 0)
	csrr a1, mcause
	CHECK(a1, 0)
	csrr a1, mepc
	CHECK(a1, 0)
	ret

	.option norvc
check_memory:
	la a3, data
	lb a1, 0(a3)
	CHECK(a1, 0x7f)
	lb a1, 1(a3)
	CHECK(a1, -1)
	lb a1, 3(a3)
	CHECK(a1, -126)
	lbu a1, 1(a3)
	CHECK(a1, 0xff)
	lbu a1, 3(a3)
	CHECK(a1, 0x82)
	lh a1, 0(a3)
	CHECK(a1, -129)
	lh a1, 2(a3)
	CHECK(a1, -32127)
	lh a1, 4(a3)
	CHECK(a1, 0x1234)
	lhu a1, 2(a3)
	CHECK(a1, 0x8281)
	lw a1, 0(a3)
	CHECK(a1, 0x8281ff7f)
	addi a4, a3, 2047
	lw a1, -2047(a4)
	CHECK(a1, 0x8281ff7f)
	addi a4, a3, -2048
	lw a1, 2044(a4)
	CHECK(a1, 0x600df00d)
	addi a4, a3, 1024
	addi a4, a4, 1024
	lw a1, -2048(a4)
	CHECK(a1, 0x8281ff7f)
	/* The destination may be the base. */
	mv a4, a3
	lw a4, 4(a4)
	CHECK(a4, 0x56781234)

	/* A narrow store leaves its neighbours alone. */
	la a3, scratch
	li a1, 0x11223344
	sw a1, 0(a3)
	li a1, 0xffffffaa
	sb a1, 1(a3)
	lw a2, 0(a3)
	CHECK(a2, 0x1122aa44)
	li a1, 0xffffbbcc
	sh a1, 2(a3)
	lw a2, 0(a3)
	CHECK(a2, 0xbbccaa44)
	addi a4, a3, 2047
	li a1, 0x5a5a1234
	sw a1, -2047(a4)
	lw a2, 0(a3)
	CHECK(a2, 0x5a5a1234)
	sb zero, 3(a3)
	lw a2, 0(a3)
	CHECK(a2, 0x005a1234)

	/* The same through the bus. */
	li a3, MACHINE_MEMORY
	li a1, 0x8281ff7f
	sw a1, 4(a3)
	lb a2, 5(a3)
	CHECK(a2, -1)
	lbu a2, 5(a3)
	CHECK(a2, 0xff)
	lh a2, 6(a3)
	CHECK(a2, -32127)
	lhu a2, 6(a3)
	CHECK(a2, 0x8281)
	li a1, -2
	sb a1, 4(a3)
	lw a2, 4(a3)
	CHECK(a2, 0x8281fffe)
	sh a1, 6(a3)
	lw a2, 4(a3)
	CHECK(a2, 0xfffefffe)

	/* First and last bytes of TCM. */
	li a3, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE
	li a1, 0x13572468
	sw a1, -4(a3)
	lhu a2, -2(a3)
	CHECK(a2, 0x1357)
	lbu a2, -1(a3)
	CHECK(a2, 0x13)
	ret

check_branches:
	BRANCHES(beq, 5, 5)
	FALLS(beq, 5, 6)
	FALLS(beq, 0, 0x80000000)
	BRANCHES(bne, 5, 6)
	BRANCHES(bne, 0, 0x80000000)
	FALLS(bne, -1, -1)
	BRANCHES(blt, -1, 0)
	BRANCHES(blt, 0x80000000, 0x7fffffff)
	FALLS(blt, 0, -1)
	FALLS(blt, 3, 3)
	BRANCHES(bge, 0, -1)
	BRANCHES(bge, 3, 3)
	BRANCHES(bge, 0x7fffffff, 0x80000000)
	FALLS(bge, -1, 0)
	BRANCHES(bltu, 0, -1)
	BRANCHES(bltu, 0x7fffffff, 0x80000000)
	FALLS(bltu, -1, 0)
	FALLS(bltu, 3, 3)
	BRANCHES(bgeu, -1, 0)
	BRANCHES(bgeu, 3, 3)
	BRANCHES(bgeu, 0x80000000, 0x7fffffff)
	FALLS(bgeu, 0, -1)
	/* Nearly the longest reach, both ways. */
	li a1, 1
	bnez a1, far_branch
	FAIL
far_branch_back:
	ret
	.fill 1018, 4, 0
far_branch:
	bnez a1, far_branch_back
	FAIL

check_jumps:
	mv s0, ra
	jal a1, jump_1
jump_0:
	FAIL
jump_1:
	CHECK_ADDRESS(a1, jump_0)
	/* Bit 0 of the target is dropped; the offset counts. */
	la a2, jump_3 + 1000
	jalr a3, -999(a2)
jump_2:
	FAIL
jump_3:
	CHECK_ADDRESS(a3, jump_2)
	/* Base and link may be one register: the base is read first. */
	la a4, jump_5
	jalr a4, 0(a4)
jump_4:
	FAIL
jump_5:
	CHECK_ADDRESS(a4, jump_4)
	jal zero, jump_6
	FAIL
jump_6:
	/* Far forwards and back. */
	jal a5, far_jump
jump_7:
	CHECK_ADDRESS(a6, far_jump_link)
	auipc a1, 0
jump_8:
	addi a1, a1, 4
	CHECK_ADDRESS(a1, jump_8)
	mv ra, s0
	ret

check_zero:
	li a1, 7
	addi zero, a1, 5
	CHECK(zero, 0)
	lui zero, 0x12345
	CHECK(zero, 0)
	la a2, data
	lw zero, 0(a2)
	CHECK(zero, 0)
	csrrs zero, mscratch, a1
	CHECK(zero, 0)
	jal zero, 1f
1:
	CHECK(zero, 0)
	mul zero, a1, a1
	add a1, zero, zero
	CHECK(a1, 0)
	ret

	.option rvc
check_compressed:
	mv s4, ra
	c.nop
	/* Arithmetic of all registers is compared elsewhere; here is what moves and jumps. */
	la s0, data
	c.lw a1, 0(s0)
	CHECK(a1, 0x8281ff7f)
	c.lw a5, 4(s0)
	CHECK(a5, 0x56781234)
	la s0, far_data - 124
	c.lw a2, 124(s0)
	CHECK(a2, 0x0badcafe)
	la s0, far_data - 64
	c.lw a2, 64(s0)
	CHECK(a2, 0x0badcafe)
	la a5, scratch
	li s0, 0x76543210
	c.sw s0, 0(a5)
	lw a1, 0(a5)
	CHECK(a1, 0x76543210)
	la a5, scratch - 124
	c.sw a5, 124(a5)
	lw a1, 124(a5)
	CHECK_ADDRESS(a1, scratch - 124)

	mv s2, sp
	la sp, far_data - 252
	c.lwsp a1, 252(sp)
	CHECK(a1, 0x0badcafe)
	la sp, far_data - 32
	c.lwsp t5, 32(sp)
	CHECK(t5, 0x0badcafe)
	la sp, scratch - 252
	li t5, 0x01020304
	c.swsp t5, 252(sp)
	la sp, scratch - 64
	c.lwsp a1, 64(sp)
	CHECK(a1, 0x01020304)
	c.swsp zero, 64(sp)
	c.lwsp a1, 64(sp)
	CHECK(a1, 0)

	li sp, 0x10000
	c.addi4spn a0, sp, 4
	CHECK(a0, 0x10004)
	c.addi4spn s1, sp, 1020
	CHECK(s1, 0x103fc)
	c.addi4spn a5, sp, 680
	CHECK(a5, 0x102a8)
	c.addi16sp sp, 496
	CHECK(sp, 0x101f0)
	c.addi16sp sp, -512
	CHECK(sp, 0xfff0)
	c.addi16sp sp, 16
	CHECK(sp, 0x10000)
	c.addi16sp sp, -336
	CHECK(sp, 0xfeb0)
	c.addi t5, 31
	c.li t5, -32
	CHECK(t5, -32)
	c.addi t5, 31
	CHECK(t5, -1)
	c.lui t5, 0xfffe1
	CHECK(t5, 0xfffe1000)
	c.mv s3, t5
	CHECK(s3, 0xfffe1000)
	c.add s3, t5
	CHECK(s3, 0xfffc2000)
	c.slli s3, 4
	CHECK(s3, 0xffc20000)
	mv sp, s2

	c.j compressed_1
	FAIL
compressed_0:
	c.j compressed_2
compressed_1:
	c.j compressed_0
	FAIL
compressed_2:
	c.jal compressed_4
compressed_3:
	FAIL
compressed_4:
	CHECK_ADDRESS(ra, compressed_3)
	la t5, compressed_5 + 1
	c.jr t5
	FAIL
compressed_5:
	la t5, compressed_7
	c.jalr t5
compressed_6:
	FAIL
compressed_7:
	CHECK_ADDRESS(ra, compressed_6)
	/* Base and link are one. */
	la ra, compressed_9
	c.jalr ra
compressed_8:
	FAIL
compressed_9:
	CHECK_ADDRESS(ra, compressed_8)

	c.li s0, 0
	c.beqz s0, compressed_b
	FAIL
compressed_a:
	c.j compressed_c
compressed_b:
	c.beqz s0, compressed_a
	FAIL
compressed_c:
	c.bnez s0, compressed_wrong
	c.li a5, 1
	c.beqz a5, compressed_wrong
	c.bnez a5, compressed_d
compressed_wrong:
	FAIL
compressed_d:
	c.jr s4
	.option norvc

check_csrs:
	csrr a1, misa
	CHECK(a1, 0x40001104)
	csrr a1, mhartid
	CHECK(a1, 0)
	csrr a1, mvendorid
	CHECK(a1, 0)
	csrr a1, marchid
	CHECK(a1, 0)
	csrr a1, mimpid
	CHECK(a1, 0)
	csrr a1, 0xf15
	CHECK(a1, 0)
	csrr a1, 0x310
	CHECK(a1, 0)
	csrr a1, mcountinhibit
	CHECK(a1, 0)
	csrr a1, mhpmcounter3
	CHECK(a1, 0)
	csrr a1, mhpmcounter31h
	CHECK(a1, 0)
	csrr a1, mhpmevent17
	CHECK(a1, 0)

	li a1, 0xf0f0a5a5
	csrrw a2, mscratch, a1
	csrrw a2, mscratch, zero
	CHECK(a2, 0xf0f0a5a5)
	csrw mscratch, a1
	li a1, 0x0ff00000
	csrrs a2, mscratch, a1
	CHECK(a2, 0xf0f0a5a5)
	csrrc a2, mscratch, a1
	CHECK(a2, 0xfff0a5a5)
	csrrs a2, mscratch, zero
	CHECK(a2, 0xf000a5a5)
	csrrwi a2, mscratch, 21
	CHECK(a2, 0xf000a5a5)
	csrrsi a2, mscratch, 10
	CHECK(a2, 21)
	csrrci a2, mscratch, 6
	CHECK(a2, 31)
	csrrsi a2, mscratch, 0
	CHECK(a2, 25)
	/* Source and destination are one. */
	li a1, 77
	csrrw a1, mscratch, a1
	CHECK(a1, 25)
	csrr a1, mscratch
	CHECK(a1, 77)

	/* What cannot be written stays. */
	li a1, -1
	csrw misa, a1
	csrr a2, misa
	CHECK(a2, 0x40001104)
	csrw mip, a1
	csrr a2, mip
	CHECK(a2, 0)
	csrw mepc, a1
	csrr a2, mepc
	CHECK(a2, 0xfffffffe)
	csrw mcause, a1
	csrr a2, mcause
	CHECK(a2, 0x8000001f)
	csrw mtval, a1
	csrr a2, mtval
	CHECK(a2, 0xffffffff)
	csrw mie, a1
	csrr a2, mie
	CHECK(a2, 0xffff0888)
	csrw mie, zero
	csrw mhpmcounter4, a1
	csrr a2, mhpmcounter4
	CHECK(a2, 0)
	csrw mstatus, a1
	csrr a2, mstatus
	CHECK(a2, 0x1888)
	csrw mstatus, zero
	csrr a2, mstatus
	CHECK(a2, 0x1800)
	csrr a3, mtvec
	csrw mtvec, a1
	csrr a2, mtvec
	CHECK(a2, 0xfffffffd)
	csrw mtvec, a3
	ret

check_counters:
	csrr a1, minstret
	nop
	nop
	csrr a2, minstret
	sub a1, a2, a1
	CHECK(a1, 3)
	csrr a1, mcycle
	nop
	nop
	csrr a2, mcycle
	sub a1, a2, a1
	CHECK(a1, 3)
	/* A load from the bus takes three cycles, one from TCM one. */
	li a3, MACHINE_MEMORY
	csrr a1, mcycle
	lw a4, 0(a3)
	csrr a2, mcycle
	sub a1, a2, a1
	CHECK(a1, 4)
	csrr a1, mcycle
	sb a4, 0(a3)
	csrr a2, mcycle
	sub a1, a2, a1
	CHECK(a1, 4)
	csrr a1, mcycle
	lw a4, -4(sp)
	csrr a2, mcycle
	sub a1, a2, a1
	CHECK(a1, 2)
	/* The bus sees the time at which the access begins. */
	li a3, MACHINE_CYCLE
	csrr a1, mcycle
	lw a2, 0(a3)
	lw a3, 0(a3)
	sub a4, a2, a1
	CHECK(a4, 1)
	sub a4, a3, a2
	CHECK(a4, 3)

	/* The next instruction reads what was written. */
	li a1, 0x12345678
	csrw mcycle, a1
	csrr a2, mcycle
	CHECK(a2, 0x12345678)
	csrw minstret, a1
	csrr a2, minstret
	CHECK(a2, 0x12345678)
	li a1, 0x9abcdef0
	csrw mcycleh, a1
	csrr a2, mcycleh
	CHECK(a2, 0x9abcdef0)
	csrw minstreth, a1
	csrr a2, minstreth
	CHECK(a2, 0x9abcdef0)
	/* Writing one half leaves the other, and a carry crosses. */
	li a1, -1
	li a3, 5
	csrw mcycleh, a3
	csrw mcycle, a1
	csrr a2, mcycleh
	CHECK(a2, 5)
	csrr a2, mcycleh
	CHECK(a2, 6)
	csrw minstreth, a3
	csrw minstret, a1
	nop
	csrr a2, minstreth
	CHECK(a2, 6)
	/* The write of one half keeps the other from counting on, so it is as it was. */
	li a1, 0x9abcdef5
	csrw mcycle, a1
	csrw mcycleh, a3
	csrr a2, mcycle
	CHECK(a2, 0x9abcdef5)
	csrw minstret, a1
	csrw minstreth, a3
	csrr a2, minstret
	CHECK(a2, 0x9abcdef5)
	csrw mcycleh, zero
	csrw mcycle, zero
	/* What traps does not retire. */
	la s7, 1f
	csrr a1, minstret
	ecall
1:
	csrr a2, minstret
	sub a1, a2, a1
	CHECK(a1, 8)
	ret

check_exceptions:
	mv s0, ra
	li s11, 0
	TRAPS(11, 0, "ecall")
	la s7, 1f
	li s8, -1
0:
	ebreak
	FAIL
1:
	CHECK(s8, 3)
	CHECK_ADDRESS(s9, 0b)
	CHECK_ADDRESS(s10, 0b)
	la s7, 1f
	li s8, -1
0:
	.half 0x9002
	.half 0
	FAIL
1:
	CHECK(s8, 3)
	CHECK_ADDRESS(s10, 0b)

	/* Illegal: mtval is the instruction. */
	TRAPS(2, 0, ".half 0")
	TRAPS(2, 0xffffffff, ".word 0xffffffff")
	TRAPS(2, 0x8000, ".half 0x8000")
	TRAPS(2, 0x10200073, ".word 0x10200073")
	TRAPS(2, 0x12000073, ".word 0x12000073")
	TRAPS(2, 0x30200173, ".word 0x30200173")
	TRAPS(2, 0x00052007, ".word 0x00052007")
	TRAPS(2, 0x1005252f, ".word 0x1005252f")
	TRAPS(2, 0x04b50533, ".word 0x04b50533")
	TRAPS(2, 0x02051513, ".word 0x02051513")
	TRAPS(2, 0xc0002573, ".word 0xc0002573")
	TRAPS(2, 0x10002573, ".word 0x10002573")
	TRAPS(2, 0x3b002573, ".word 0x3b002573")
	TRAPS(2, 0x00002573, ".word 0x00002573")
	/* Writes to CSRs that are read-only by their address. */
	TRAPS(2, 0xf1451073, ".word 0xf1451073")
	TRAPS(2, 0xf1452073, ".word 0xf1452073")
	TRAPS(2, 0xf140e073, ".word 0xf140e073")
	csrrs a1, mhartid, zero
	csrrci a1, mhartid, 0
	/* A trapped CSR instruction has no effect on its destination. */
	li a1, 1234
	TRAPS(2, 0xf14515f3, ".word 0xf14515f3")
	CHECK(a1, 1234)

	la a3, data
	li a1, 4321
	TRAPS(4, data + 1, "lw a1, 1(a3)")
	TRAPS(4, data + 2, "lw a1, 2(a3)")
	TRAPS(4, data + 3, "lh a1, 3(a3)")
	TRAPS(4, data + 1, "lhu a1, 1(a3)")
	TRAPS(6, data + 1, "sw a1, 1(a3)")
	TRAPS(6, data + 2, "sw a1, 2(a3)")
	TRAPS(6, data + 3, "sh a1, 3(a3)")
	CHECK(a1, 4321)
	lw a1, 0(a3)
	CHECK(a1, 0x8281ff7f)

	li a3, MACHINE_NOTHING
	li a1, 4321
	TRAPS(5, MACHINE_NOTHING, "lw a1, 0(a3)")
	TRAPS(5, MACHINE_NOTHING + 6, "lh a1, 6(a3)")
	TRAPS(5, MACHINE_NOTHING + 5, "lbu a1, 5(a3)")
	TRAPS(7, MACHINE_NOTHING + 4, "sw a1, 4(a3)")
	TRAPS(7, MACHINE_NOTHING + 2, "sh a1, 2(a3)")
	TRAPS(7, MACHINE_NOTHING + 1, "sb a1, 1(a3)")
	/* Misaligned comes before the access. */
	TRAPS(4, MACHINE_NOTHING + 2, "lw a1, 2(a3)")
	TRAPS(6, MACHINE_NOTHING + 1, "sh a1, 1(a3)")
	CHECK(a1, 4321)
	TRAPS(5, 0, "lw a1, 0(zero)")
	TRAPS(5, 0xfffffffc, "lw a1, -4(zero)")
	li a3, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE
	TRAPS(5, 0x10040000, "lb a1, 0(a3)")
	li a3, NPU_FW_TCM_BASE
	TRAPS(5, 0x0ffffffc, "lw a1, -4(a3)")

	/* Fetch: the jump completes, its target faults. */
	li a3, NPU_FW_MMIO_BASE
	la s7, 1f
	jalr ra, 0(a3)
0:
	FAIL
1:
	CHECK(s8, 1)
	CHECK(s9, NPU_FW_MMIO_BASE)
	CHECK(s10, NPU_FW_MMIO_BASE)
	CHECK_ADDRESS(ra, 0b)
	/* The second half of an instruction beyond the end of TCM. */
	li a3, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE
	li a1, 0x0013
	sh a1, -2(a3)
	la s7, 1f
	jalr zero, -2(a3)
	FAIL
1:
	CHECK(s8, 1)
	CHECK(s9, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE - 2)
	CHECK(s10, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE)
	/* A compressed instruction fits there. */
	li a1, 0x9002
	sh a1, -2(a3)
	la s7, 1f
	jalr zero, -2(a3)
	FAIL
1:
	CHECK(s8, 3)
	CHECK(s9, NPU_FW_TCM_BASE + NPU_FW_TCM_SIZE - 2)
	CHECK(s11, 43)

	/* A trap saves and clears the interrupt enable, mret restores it. */
	csrsi mstatus, 8
	la t0, 1f
	csrw mtvec, t0
	ecall
	FAIL
	.balign 4
1:
	csrr a1, mstatus
	CHECK(a1, 0x1880)
	la t0, 1f
	csrw mepc, t0
	mret
	FAIL
	.balign 4
1:
	csrr a1, mstatus
	CHECK(a1, 0x1888)
	csrci mstatus, 8
	la t0, 1f
	csrw mtvec, t0
	ecall
	FAIL
	.balign 4
1:
	csrr a1, mstatus
	CHECK(a1, 0x1800)
	la t0, 1f
	csrw mepc, t0
	mret
	FAIL
1:
	csrr a1, mstatus
	CHECK(a1, 0x1880)
	la t0, trap_handler
	csrw mtvec, t0
	/* Fences, also those of later specifications. */
	fence
	fence rw, w
	.word 0x0000100f
	.word 0x8330000f
	.word 0x0100000f
	mv ra, s0
	ret

	/* Raise lines, enable them, see which one is taken. a1: lines, a2: mie, a3: line or -1. */
#define TAKES(lines, enabled, cause) \
	li a1, lines; \
	li a2, enabled; \
	call raise; \
	CHECK(s8, cause)

raise:
	li t0, MACHINE_LINES
	csrci mstatus, 8
	csrw mie, a2
	sw a1, 0(t0)
	csrr t1, mip
	bne t1, a1, raise_wrong
	li s8, -1
	la s7, 1f
	csrsi mstatus, 8
0:
	j 2f
1:
	la t1, 0b
	bne s9, t1, raise_wrong
	bnez s10, raise_wrong
2:
	csrci mstatus, 8
	sw zero, 0(t0)
	ret
raise_wrong:
	FAIL

check_interrupts:
	mv s0, ra
	TAKES(0, 0xffff0888, -1)
	TAKES(0x800, 0x800, 0x8000000b)
	TAKES(0x800, 0x88, -1)
	TAKES(0x80, 0x80, 0x80000007)
	TAKES(0x8, 0x8, 0x80000003)
	TAKES(0x888, 0xffff0888, 0x8000000b)
	TAKES(0x88, 0xffff0888, 0x80000003)
	TAKES(0x888, 0xffff0080, 0x80000007)
	TAKES(0x10888, 0xffff0888, 0x80000010)
	TAKES(0x80000000, 0xffff0888, 0x8000001f)
	TAKES(0x80000888, 0xffff0888, 0x8000001f)
	TAKES(0xc0040888, 0xffff0888, 0x80000012)
	TAKES(0xc0040888, 0x80000888, 0x8000001f)

	/* Enabled globally, an interrupt comes right after the store that raises it. */
	li t0, MACHINE_LINES
	li a1, 0x100000
	csrw mie, a1
	csrsi mstatus, 8
	la s7, 1f
	sw a1, 0(t0)
0:
	FAIL
1:
	sw zero, 0(t0)
	csrci mstatus, 8
	CHECK(s8, 0x80000014)
	CHECK_ADDRESS(s9, 0b)
	/* With mie as the last key. */
	csrw mie, zero
	csrsi mstatus, 8
	sw a1, 0(t0)
	la s7, 1f
	csrw mie, a1
0:
	FAIL
1:
	/* With mret as the last key: it returns to the line still raised. */
	csrci mstatus, 8
	CHECK_ADDRESS(s9, 0b)
	la t2, 2f
	csrw mepc, t2
	li t2, 0x80
	csrs mstatus, t2
	la s7, 1f
	mret
2:
	FAIL
1:
	csrci mstatus, 8
	CHECK_ADDRESS(s9, 2b)
	sw zero, 0(t0)
	csrw mie, zero
	mv ra, s0
	ret

check_vectors:
	mv s0, ra
	la t0, vectors + 1
	csrw mtvec, t0
	li a4, 16
1:
	/* Every local line by its own entry. */
	li a1, 1
	sll a1, a1, a4
	mv a2, a1
	li s6, -1
	call raise
	bne s6, a4, 2f
	addi a4, a4, 1
	li a5, 32
	bne a4, a5, 1b
	TAKES(0x800, 0x800, 0x8000000b)
	CHECK(s6, 11)
	TAKES(0x80, 0x80, 0x80000007)
	CHECK(s6, 7)
	/* Exceptions go to the base. */
	li s6, -1
	la s7, 1f
	ecall
1:
	CHECK(s8, 11)
	CHECK(s6, 0)
	la t0, trap_handler
	csrw mtvec, t0
	mv ra, s0
	ret
2:
	FAIL

check_timer:
	li t0, MACHINE_TIMER
	li t1, MACHINE_CYCLE
	li a1, 0x80
	csrw mie, a1
	lw a2, 0(t1)
	addi a2, a2, 200
	sw a2, 0(t0)
	csrsi mstatus, 8
	la s7, 2f
	li a3, 0
1:
	addi a3, a3, 1
	j 1b
2:
	CHECK(s8, 0x80000007)
	/* The loop began 11 cycles after the clock was read and ran for 189 cycles, two a turn. */
	CHECK(a3, 95)
	csrci mstatus, 8
	csrr a1, mip
	CHECK(a1, 0x80)
	li a2, -1
	sw a2, 0(t0)
	csrr a1, mip
	CHECK(a1, 0)
	csrw mie, zero
	ret

check_sleep:
	li t0, MACHINE_TIMER
	li t1, MACHINE_CYCLE
	li t2, MACHINE_LINES
	li a1, 0x80
	csrw mie, a1
	/* Interrupts off: wfi ends and goes on. Time passes meanwhile. */
	csrci mstatus, 8
	lw a2, 0(t1)
	addi a3, a2, 1000
	sw a3, 0(t0)
	li s8, -1
	la s7, 2f
	csrr a5, minstret
	csrr a1, mcycle
	wfi
	csrr a4, mcycle
	csrr a6, minstret
	CHECK(s8, -1)
	sub a6, a6, a5
	CHECK(a6, 4)
	sub a4, a4, a1
	/* The first reading came 11 cycles after the clock's. */
	CHECK(a4, 989)
	/* A line already raised: no sleep. */
	csrr a1, mcycle
	wfi
	csrr a4, mcycle
	sub a4, a4, a1
	CHECK(a4, 2)
	li a3, -1
	sw a3, 0(t0)
	/* Interrupts on: the trap's mepc is behind wfi. */
	lw a2, 0(t1)
	addi a3, a2, 500
	sw a3, 0(t0)
	la s7, 1f
	csrsi mstatus, 8
	wfi
0:
	FAIL
1:
	CHECK(s8, 0x80000007)
	CHECK_ADDRESS(s9, 0b)
	csrci mstatus, 8
	li a3, -1
	sw a3, 0(t0)
	/* A line that mie does not enable wakes nobody: only the timer ends this sleep. */
	li a1, 0x10000
	sw a1, 0(t2)
	lw a2, 0(t1)
	addi a3, a2, 300
	sw a3, 0(t0)
	wfi
	lw a4, 0(t1)
	sub a4, a4, a2
	li a5, 300
	blt a4, a5, 2f
	sw zero, 0(t2)
	li a3, -1
	sw a3, 0(t0)
	csrw mie, zero
	ret
2:
	FAIL

	.balign 4
	.option norvc
vectors:
	.irp line, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	j vector_\line
	.endr
	.irp line, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
vector_\line:
	li s6, \line
	j trap_handler
	.endr

	.fill 20000, 4, 0
far_jump:
	CHECK_ADDRESS(a5, jump_7)
	jal a6, far_jump_back
far_jump_link:
	FAIL
far_jump_back:
	la t0, jump_7
	jr t0

	.section .data
	.balign 4
	.fill 64, 4, 0
	.word 0x600df00d
data:
	.word 0x8281ff7f, 0x56781234
	.fill 64, 4, 0
far_data:
	.word 0x0badcafe
	.fill 64, 4, 0
scratch:
	.word 0
