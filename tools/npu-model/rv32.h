/* SPDX-License-Identifier: MIT */
/*
 * The control core: an RV32IMC_Zicsr interpreter, machine mode only.
 *
 * Device manual: Documentation/hardware, "Control core". Where the RISC-V specifications leave a
 * choice, this core chooses:
 *
 * - Instructions are fetched from TCM only; anywhere else is an instruction access fault.
 * - Stores to TCM are seen by the very next fetch; fence and fence.i have nothing to do.
 * - Misaligned loads and stores trap, before the address itself is checked.
 * - mtval holds the instruction for an illegal instruction, the address for every other fault
 *   and for ebreak, zero for ecall and interrupts.
 * - Interrupts: lines 16 to 31 first, the lowest number wins; then external (11), software (3),
 *   timer (7). All of mip is set by the lines and read-only to software.
 * - An exception inside a trap handler, that is after a trap and before mret or before software
 *   sets mstatus.MIE, halts the core. The first trap stays in mepc, mcause and mtval; the second
 *   is in struct rv32, member fatal.
 * - An instruction that writes half of mcycle or minstret keeps the other half from counting: the
 *   next instruction reads what was written and what was there.
 * - No Zicntr: the counters are mcycle and minstret, and mhpmcounter3..31 which read zero.
 *
 * Time: an instruction takes one cycle, a load or store outside TCM RV32_BUS_CYCLES (also when
 * it faults), taking an interrupt one more. Nothing here reads a clock or allocates memory: equal
 * input gives equal cycles.
 *
 * Thread safety: none; one thread at a time for one core.
 */
#ifndef NPU_MODEL_RV32_H
#define NPU_MODEL_RV32_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/npu_firmware.h"

/* Cycles of a load or store that leaves the core for the bus. */
#define RV32_BUS_CYCLES		3

/* Bits of mie and mip and of rv32_set_irq(). Lines 16 to 31 are the device's own. */
#define RV32_IRQ_SOFTWARE	(1u << 3)
#define RV32_IRQ_TIMER		(1u << 7)
#define RV32_IRQ_EXTERNAL	(1u << 11)
#define RV32_IRQ_LOCAL(line)	(1u << (16 + (line)))
#define RV32_IRQ_STANDARD	(RV32_IRQ_SOFTWARE | RV32_IRQ_TIMER | RV32_IRQ_EXTERNAL)
#define RV32_IRQ_ALL		(0xffff0000u | RV32_IRQ_STANDARD)

enum rv32_cause {
	RV32_CAUSE_FETCH_ACCESS = 1,
	RV32_CAUSE_ILLEGAL = 2,
	RV32_CAUSE_BREAKPOINT = 3,
	RV32_CAUSE_LOAD_MISALIGNED = 4,
	RV32_CAUSE_LOAD_ACCESS = 5,
	RV32_CAUSE_STORE_MISALIGNED = 6,
	RV32_CAUSE_STORE_ACCESS = 7,
	RV32_CAUSE_ECALL = 11,
};

/* Set in mcause for interrupts; the low bits are the line. */
#define RV32_CAUSE_INTERRUPT	0x80000000u

/**
 * enum rv32_status - what the core does
 * @RV32_RUNNING:	executes
 * @RV32_WFI:		sleeps until an enabled line is raised
 * @RV32_HALTED:	held in reset, stopped by rv32_halt(), or by an exception in a trap handler;
 *			until rv32_reset()
 */
enum rv32_status {
	RV32_RUNNING,
	RV32_WFI,
	RV32_HALTED,
};

/**
 * struct rv32_bus - everything outside TCM
 * @opaque:	passed to the callbacks
 * @load:	reads @width bytes (1, 2 or 4) at @address, a multiple of @width, into the low bits
 *		of *@value. Returns false for an access fault.
 * @store:	writes the low @width bytes of @value. Returns false for an access fault.
 *
 * During a callback core->cycle is the time at which the access begins. A callback may call
 * rv32_set_irq(), rv32_stop() and rv32_halt(), and no other function of this file.
 */
struct rv32_bus {
	void *opaque;
	bool (*load)(void *opaque, uint32_t address, unsigned int width, uint32_t *value);
	bool (*store)(void *opaque, uint32_t address, unsigned int width, uint32_t value);
};

/* What stopped an instruction: the values mcause, mepc and mtval take. */
struct rv32_trap {
	uint32_t cause;
	uint32_t pc;
	uint32_t value;
};

/* An instruction taken apart once. Internal. */
struct rv32_decoded {
	uint32_t operation : 8;
	uint32_t length : 3;
	uint32_t rd : 6;
	uint32_t rs1 : 5;
	uint32_t rs2 : 5;
	int32_t immediate;
};

/* Writes to x0 are decoded as writes to this register, which nothing reads. */
#define RV32_SINK		32

#define RV32_CODE_LINE_SHIFT	6

/**
 * struct rv32 - a core
 * @x:		registers; x[0] is zero, x[RV32_SINK] is not a register
 * @pc:		next instruction, even
 * @cycle:	cycles since rv32_init(), asleep or not; never set back
 * @retired:	instructions completed since rv32_init()
 * @status:	see enum rv32_status
 * @fatal:	the exception that came on top of a trap and halted the core; all zero (a cause
 *		that does not exist) when something else did
 * @lines:	interrupt lines raised now, mip
 *
 * The members above may be read at any time by the owner; the rest is the interpreter's own.
 * About 1 MiB because of the decoded instructions, so better not on a stack.
 */
struct rv32 {
	uint32_t x[33];
	uint32_t pc;
	uint64_t cycle;
	uint64_t retired;
	enum rv32_status status;
	struct rv32_trap fatal;
	uint32_t lines;

	/* Something else than the next instruction is to be looked at: interrupt, stop, sleep. */
	bool attention;
	bool stop_requested;
	bool in_trap;

	uint32_t mstatus;
	uint32_t mie;
	uint32_t mtvec;
	uint32_t mscratch;
	uint32_t mepc;
	uint32_t mcause;
	uint32_t mtval;
	/* Added to cycle and retired, so that the run loop keeps one counter of each. */
	uint64_t mcycle_offset;
	uint64_t minstret_offset;

	uint8_t *tcm;
	const struct rv32_bus *bus;
	bool code_line[NPU_FW_TCM_SIZE >> RV32_CODE_LINE_SHIFT];
	struct rv32_decoded decoded[NPU_FW_TCM_SIZE / 2];
};

/**
 * rv32_init() - make a core, held in reset: status RV32_HALTED until rv32_reset()
 * @core:	overwritten whole
 * @tcm:	NPU_FW_TCM_SIZE bytes, owned by the caller, alive as long as the core is used
 * @bus:	owned by the caller, alive as long as the core is used
 */
void rv32_init(struct rv32 *core, uint8_t *tcm, const struct rv32_bus *bus);

/**
 * rv32_reset() - let the core run from @pc (bit 0 is ignored)
 *
 * Registers and CSRs become zero (mstatus: MPP machine, interrupts off); cycle and retired go on,
 * mcycle and minstret start at zero. The interrupt lines stay as they are. TCM may have been
 * written by anybody before this call.
 */
void rv32_reset(struct rv32 *core, uint32_t pc);

/**
 * rv32_step() - execute one instruction, or take one trap
 *
 * Returns the cycles consumed: zero when the core sleeps on or is halted. See core->status.
 */
unsigned int rv32_step(struct rv32 *core);

/**
 * rv32_run() - execute until core->cycle reaches @until
 *
 * The last instruction may end past @until. Returns earlier, with core->status telling why, when
 * the core falls asleep, halts, or a bus callback called rv32_stop().
 */
enum rv32_status rv32_run(struct rv32 *core, uint64_t until);

/**
 * rv32_stop() - for bus callbacks: let rv32_run() return after this instruction
 */
void rv32_stop(struct rv32 *core);

/**
 * rv32_halt() - stop the core until rv32_reset()
 *
 * From a bus callback, the instruction still completes.
 */
void rv32_halt(struct rv32 *core);

/**
 * rv32_idle() - let time pass for a core that does not execute (asleep or halted)
 */
void rv32_idle(struct rv32 *core, uint64_t cycles);

/**
 * rv32_set_irq() - set the level of all interrupt lines
 * @lines:	RV32_IRQ_*; other bits are ignored
 *
 * A line that mie enables wakes a sleeping core at once (status RV32_RUNNING); the interrupt itself
 * is taken by the next rv32_step() or rv32_run().
 */
void rv32_set_irq(struct rv32 *core, uint32_t lines);

/**
 * rv32_tcm_changed() - somebody else than the core wrote into TCM
 * @offset:	first byte, from the start of TCM
 * @size:	bytes; the range is cut at the end of TCM
 */
void rv32_tcm_changed(struct rv32 *core, uint32_t offset, uint32_t size);

#endif /* NPU_MODEL_RV32_H */
