// SPDX-License-Identifier: MIT
/*
 * Control and status registers of the control core.
 */
#include "rv32_internal.h"

#define CSR_MSTATUS		0x300
#define CSR_MISA		0x301
#define CSR_MIE			0x304
#define CSR_MTVEC		0x305
#define CSR_MSTATUSH		0x310
#define CSR_MCOUNTINHIBIT	0x320
#define CSR_MHPMEVENT3		0x323
#define CSR_MHPMEVENT31		0x33f
#define CSR_MSCRATCH		0x340
#define CSR_MEPC		0x341
#define CSR_MCAUSE		0x342
#define CSR_MTVAL		0x343
#define CSR_MIP			0x344
#define CSR_MCYCLE		0xb00
#define CSR_MINSTRET		0xb02
#define CSR_MHPMCOUNTER3	0xb03
#define CSR_MHPMCOUNTER31	0xb1f
#define CSR_MCYCLEH		0xb80
#define CSR_MINSTRETH		0xb82
#define CSR_MHPMCOUNTER3H	0xb83
#define CSR_MHPMCOUNTER31H	0xb9f
#define CSR_MVENDORID		0xf11
#define CSR_MARCHID		0xf12
#define CSR_MIMPID		0xf13
#define CSR_MHARTID		0xf14
#define CSR_MCONFIGPTR		0xf15

/* 32-bit registers; extensions I, M and C, none of which can be switched off. */
#define MISA	(1u << 30 | 1u << ('I' - 'A') | 1u << ('M' - 'A') | 1u << ('C' - 'A'))

/* Interrupt bit and line number: every cause the core can raise fits. */
#define MCAUSE_MASK	(RV32_CAUSE_INTERRUPT | 31u)

/* Registers that must exist and are hardwired to zero in this core. */
static bool reads_zero(uint32_t csr)
{
	switch (csr) {
	case CSR_MSTATUSH:
	case CSR_MCOUNTINHIBIT:
	case CSR_MVENDORID:
	case CSR_MARCHID:
	case CSR_MIMPID:
	case CSR_MHARTID:
	case CSR_MCONFIGPTR:
		return true;
	}
	return (csr >= CSR_MHPMEVENT3 && csr <= CSR_MHPMEVENT31) ||
	       (csr >= CSR_MHPMCOUNTER3 && csr <= CSR_MHPMCOUNTER31) ||
	       (csr >= CSR_MHPMCOUNTER3H && csr <= CSR_MHPMCOUNTER31H);
}

static uint64_t mcycle(const struct rv32 *core)
{
	return core->cycle + core->mcycle_offset;
}

static uint64_t minstret(const struct rv32 *core)
{
	return core->retired + core->minstret_offset;
}

bool rv32_csr_read(const struct rv32 *core, uint32_t csr, uint32_t *value)
{
	switch (csr) {
	case CSR_MSTATUS:
		*value = core->mstatus;
		return true;
	case CSR_MISA:
		*value = MISA;
		return true;
	case CSR_MIE:
		*value = core->mie;
		return true;
	case CSR_MTVEC:
		*value = core->mtvec;
		return true;
	case CSR_MSCRATCH:
		*value = core->mscratch;
		return true;
	case CSR_MEPC:
		*value = core->mepc;
		return true;
	case CSR_MCAUSE:
		*value = core->mcause;
		return true;
	case CSR_MTVAL:
		*value = core->mtval;
		return true;
	case CSR_MIP:
		*value = core->lines;
		return true;
	case CSR_MCYCLE:
		*value = (uint32_t)mcycle(core);
		return true;
	case CSR_MCYCLEH:
		*value = (uint32_t)(mcycle(core) >> 32);
		return true;
	case CSR_MINSTRET:
		*value = (uint32_t)minstret(core);
		return true;
	case CSR_MINSTRETH:
		*value = (uint32_t)(minstret(core) >> 32);
		return true;
	}
	*value = 0;
	return reads_zero(csr);
}

static void write_mstatus(struct rv32 *core, uint32_t value)
{
	core->mstatus = (value & (RV32_MSTATUS_MIE | RV32_MSTATUS_MPIE)) | RV32_MSTATUS_MPP;
	/* A handler that lets interrupts in has saved what a further trap overwrites. */
	if (value & RV32_MSTATUS_MIE)
		core->in_trap = false;
	rv32_update_attention(core);
}

static uint64_t replace_low(uint64_t counter, uint32_t value)
{
	return (counter & 0xffffffff00000000u) | value;
}

static uint64_t replace_high(uint64_t counter, uint32_t value)
{
	return (counter & 0xffffffffu) | (uint64_t)value << 32;
}

/* The next instruction sees what was written: the writing one does not count itself. */
static void write_mcycle(struct rv32 *core, uint64_t value)
{
	core->mcycle_offset = value - (core->cycle + 1);
}

static void write_minstret(struct rv32 *core, uint64_t value)
{
	core->minstret_offset = value - (core->retired + 1);
}

bool rv32_csr_write(struct rv32 *core, uint32_t csr, uint32_t value)
{
	if (csr >> 10 == 3)
		return false;

	switch (csr) {
	case CSR_MSTATUS:
		write_mstatus(core, value);
		break;
	case CSR_MIE:
		core->mie = value & RV32_IRQ_ALL;
		rv32_update_attention(core);
		break;
	case CSR_MTVEC:
		/* Mode 2 and 3 are reserved. */
		core->mtvec = value & ~2u;
		break;
	case CSR_MSCRATCH:
		core->mscratch = value;
		break;
	case CSR_MEPC:
		core->mepc = value & ~1u;
		break;
	case CSR_MCAUSE:
		core->mcause = value & MCAUSE_MASK;
		break;
	case CSR_MTVAL:
		core->mtval = value;
		break;
	case CSR_MCYCLE:
		write_mcycle(core, replace_low(mcycle(core), value));
		break;
	case CSR_MCYCLEH:
		write_mcycle(core, replace_high(mcycle(core), value));
		break;
	case CSR_MINSTRET:
		write_minstret(core, replace_low(minstret(core), value));
		break;
	case CSR_MINSTRETH:
		write_minstret(core, replace_high(minstret(core), value));
		break;
	}
	return true;
}
