// SPDX-License-Identifier: MIT
/*
 * The control core as its owner sees it: time, sleep, traps in traps, the bus, changed code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine.h"
#include "rv32_internal.h"

#define NOP		0x00000013
#define ADD_1		0x00150513	/* addi a0, a0, 1 */
#define ADD_2		0x00250513	/* addi a0, a0, 2 */
#define LOAD		0x0005a503	/* lw a0, 0(a1) */
#define LOAD_ODD	0x00159503	/* lh a0, 1(a1) */
#define STORE		0x00a5a023	/* sw a0, 0(a1) */
#define STORE_HALF	0x00a59023	/* sh a0, 0(a1) */
#define STORE_BYTE	0x00a58023	/* sb a0, 0(a1) */
#define JUMP_SELF	0x0000006f
#define JUMP_BACK_4	0xffdff06f
#define ECALL		0x00000073
#define BREAK		0x00100073
#define READ_NO_CSR	0x00002573	/* csrr a0, 0 */
#define WRITE_READ_ONLY_CSR	0xf1451073	/* csrw mhartid, a0 */
#define MRET		0x30200073
#define WFI		0x10500073
#define ENABLE		0x30046073	/* csrsi mstatus, 8 */
#define DISABLE		0x30047073	/* csrci mstatus, 8 */
#define ILLEGAL		0x00000000

#define A0		10
#define A1		11

#define TCM		NPU_FW_TCM_BASE
#define HANDLER		(TCM + 0x1000)

/* A machine that is about to execute @code, with a trap handler that does nothing. */
static struct machine *machine_with(const uint32_t *code, size_t words)
{
	const uint32_t handler[] = { MRET };
	struct machine *machine = machine_create();

	machine_write(machine, TCM, code, 4 * words);
	machine_write(machine, HANDLER, handler, sizeof(handler));
	rv32_reset(&machine->core, TCM);
	machine->core.mtvec = HANDLER;
	return machine;
}

#define MACHINE_WITH(...) \
	machine_with((const uint32_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void test_held_in_reset(void **state)
{
	struct machine *machine = machine_create();
	struct rv32 *core = &machine->core;

	(void)state;
	assert_int_equal(core->status, RV32_HALTED);
	assert_int_equal(rv32_step(core), 0);
	assert_int_equal(rv32_run(core, 100), RV32_HALTED);
	assert_int_equal(core->cycle, 0);
	rv32_set_irq(core, RV32_IRQ_ALL);
	assert_int_equal(rv32_step(core), 0);
	rv32_reset(core, TCM + 1);
	assert_int_equal(core->status, RV32_RUNNING);
	assert_int_equal(core->pc, TCM);
	free(machine);
}

static void test_reset_keeps_time(void **state)
{
	struct machine *machine = MACHINE_WITH(ADD_1, JUMP_BACK_4);
	struct rv32 *core = &machine->core;
	uint32_t value;

	(void)state;
	rv32_run(core, 100);
	rv32_set_irq(core, RV32_IRQ_TIMER);
	core->mscratch = core->mepc = core->mtval = core->mcause = 5;
	core->mie = RV32_IRQ_EXTERNAL;
	core->mstatus = 0x1888;
	rv32_reset(core, TCM);
	assert_int_equal(core->cycle, 100);
	assert_int_equal(core->retired, 100);
	assert_int_equal(core->x[A0], 0);
	assert_int_equal(core->lines, RV32_IRQ_TIMER);
	for (uint32_t csr = 0; csr < 4096; csr++) {
		static const struct { uint32_t csr, value; } nonzero[] = {
			{ 0x300, 0x1800 }, { 0x301, 0x40001104 }, { 0x344, RV32_IRQ_TIMER },
		};
		uint32_t wanted = 0;

		for (size_t i = 0; i < 3; i++)
			wanted = nonzero[i].csr == csr ? nonzero[i].value : wanted;
		if (rv32_csr_read(core, csr, &value))
			assert_int_equal(value, wanted);
	}
	free(machine);
}

static void test_run_until(void **state)
{
	struct machine *machine = MACHINE_WITH(LOAD, ADD_1, JUMP_BACK_4);
	struct rv32 *core = &machine->core;

	(void)state;
	core->x[A1] = MACHINE_MEMORY;
	/* The load takes three cycles; a run that ends inside it ends with it. */
	assert_int_equal(rv32_run(core, 1), RV32_RUNNING);
	assert_int_equal(core->cycle, RV32_BUS_CYCLES);
	assert_int_equal(core->retired, 1);
	assert_int_equal(rv32_run(core, 3), RV32_RUNNING);
	assert_int_equal(core->retired, 1);
	assert_int_equal(rv32_run(core, 0), RV32_RUNNING);
	assert_int_equal(core->retired, 1);
	assert_int_equal(rv32_run(core, 1000), RV32_RUNNING);
	assert_int_equal(core->cycle, 1000);
	assert_int_equal(core->retired, 998);
	free(machine);
}

static void test_costs(void **state)
{
	struct machine *machine = MACHINE_WITH(LOAD, STORE, LOAD, STORE, LOAD, STORE, LOAD_ODD);
	struct rv32 *core = &machine->core;

	(void)state;
	core->x[A1] = TCM + 0x2000;
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(machine->bus_accesses, 0);
	core->x[A1] = MACHINE_MEMORY;
	assert_int_equal(rv32_step(core), 3);
	assert_int_equal(rv32_step(core), 3);
	assert_int_equal(machine->bus_accesses, 2);
	/* An access that faults takes its time on the bus, and does not retire. */
	core->x[A1] = MACHINE_NOTHING;
	assert_int_equal(rv32_step(core), 3);
	assert_int_equal(core->mcause, RV32_CAUSE_LOAD_ACCESS);
	core->mepc += 4;
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(rv32_step(core), 3);
	assert_int_equal(core->mcause, RV32_CAUSE_STORE_ACCESS);
	assert_int_equal(machine->bus_accesses, 4);
	core->mepc += 4;
	assert_int_equal(rv32_step(core), 1);
	/* A misaligned one never gets there. */
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(core->mcause, RV32_CAUSE_LOAD_MISALIGNED);
	assert_int_equal(machine->bus_accesses, 4);
	assert_int_equal(core->cycle, 17);
	assert_int_equal(core->retired, 6);
	free(machine);
}

/* What traps takes its time and does not count as completed. */
static void test_trap_retires_nothing(void **state)
{
	static const uint32_t instructions[] = {
		ILLEGAL, ECALL, BREAK, LOAD_ODD, READ_NO_CSR, WRITE_READ_ONLY_CSR,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		struct machine *machine = MACHINE_WITH(instructions[i]);

		assert_int_equal(rv32_step(&machine->core), 1);
		assert_int_equal(machine->core.pc, HANDLER);
		assert_int_equal(machine->core.retired, 0);
		free(machine);
	}
}

static void test_bus_view(void **state)
{
	struct machine *machine = MACHINE_WITH(NOP, STORE, STORE_HALF, STORE_BYTE, LOAD);
	struct rv32 *core = &machine->core;

	(void)state;
	core->x[A0] = 0x89abcdef;
	core->x[A1] = MACHINE_MEMORY + 4;
	rv32_step(core);
	rv32_step(core);
	assert_int_equal(machine->bus_address, MACHINE_MEMORY + 4);
	assert_int_equal(machine->bus_width, 4);
	assert_int_equal(machine->bus_value, 0x89abcdef);
	assert_int_equal(machine->bus_cycle, 1);
	core->x[A1] = MACHINE_MEMORY + 6;
	rv32_step(core);
	assert_int_equal(machine->bus_address, MACHINE_MEMORY + 6);
	assert_int_equal(machine->bus_width, 2);
	assert_int_equal(machine->bus_value, 0xcdef);
	assert_int_equal(machine->bus_cycle, 4);
	core->x[A1] = MACHINE_MEMORY + 7;
	rv32_step(core);
	assert_int_equal(machine->bus_width, 1);
	assert_int_equal(machine->bus_value, 0xef);
	assert_int_equal(machine->bus_cycle, 7);
	core->x[A1] = MACHINE_MEMORY + 4;
	rv32_step(core);
	assert_int_equal(core->x[A0], 0xefefcdef);
	free(machine);
}

static void test_interrupt_cost(void **state)
{
	struct machine *machine = MACHINE_WITH(ENABLE, ADD_1, ADD_1);
	struct rv32 *core = &machine->core;

	(void)state;
	core->mie = RV32_IRQ_LOCAL(3);
	rv32_step(core);
	rv32_set_irq(core, RV32_IRQ_LOCAL(2));
	rv32_step(core);
	assert_int_equal(core->x[A0], 1);
	rv32_set_irq(core, RV32_IRQ_LOCAL(3) | 1);
	assert_int_equal(core->lines, RV32_IRQ_LOCAL(3));
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(core->pc, HANDLER);
	assert_int_equal(core->mepc, TCM + 8);
	assert_int_equal(core->mcause, RV32_CAUSE_INTERRUPT | 19);
	assert_int_equal(core->retired, 2);
	/* Not again while the handler runs. */
	rv32_set_irq(core, 0);
	rv32_step(core);
	rv32_step(core);
	assert_int_equal(core->x[A0], 2);
	free(machine);
}

static void test_sleep(void **state)
{
	struct machine *machine = MACHINE_WITH(WFI, ADD_1, ADD_1);
	struct rv32 *core = &machine->core;

	(void)state;
	core->mie = RV32_IRQ_TIMER;
	assert_int_equal(rv32_run(core, 100), RV32_WFI);
	assert_int_equal(core->cycle, 1);
	assert_int_equal(core->retired, 1);
	assert_int_equal(rv32_step(core), 0);
	assert_int_equal(rv32_run(core, 100), RV32_WFI);
	rv32_idle(core, 1000);
	assert_int_equal(core->cycle, 1001);
	rv32_set_irq(core, RV32_IRQ_EXTERNAL | RV32_IRQ_LOCAL(0));
	assert_int_equal(core->status, RV32_WFI);
	assert_int_equal(rv32_step(core), 0);
	rv32_set_irq(core, RV32_IRQ_TIMER);
	assert_int_equal(core->status, RV32_RUNNING);
	/* Interrupts are off: the core goes on behind wfi. */
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(core->x[A0], 1);
	assert_int_equal(core->pc, TCM + 8);
	free(machine);
}

static void test_stop_and_halt(void **state)
{
	struct machine *machine = MACHINE_WITH(STORE, ADD_1, ADD_1);
	struct rv32 *core = &machine->core;

	(void)state;
	/* The test device stops the core here. */
	core->x[A1] = MACHINE_EXIT;
	assert_int_equal(rv32_run(core, 1000), RV32_RUNNING);
	assert_int_equal(core->cycle, 3);
	assert_int_equal(core->pc, TCM + 4);
	/* Only once. */
	assert_int_equal(rv32_run(core, 4), RV32_RUNNING);
	assert_int_equal(core->x[A0], 1);
	rv32_halt(core);
	assert_int_equal(rv32_run(core, 1000), RV32_HALTED);
	assert_int_equal(rv32_step(core), 0);
	assert_int_equal(core->x[A0], 1);
	assert_int_equal(core->fatal.cause, 0);
	rv32_set_irq(core, RV32_IRQ_ALL);
	assert_int_equal(core->status, RV32_HALTED);
	free(machine);
}

static void test_trap_in_trap(void **state)
{
	const uint32_t handler[] = { ADD_1, ILLEGAL };
	struct machine *machine = MACHINE_WITH(NOP, ECALL);
	struct rv32 *core = &machine->core;

	(void)state;
	machine_write(machine, HANDLER, handler, sizeof(handler));
	assert_int_equal(rv32_run(core, 1000), RV32_HALTED);
	assert_int_equal(core->cycle, 4);
	assert_int_equal(core->fatal.cause, RV32_CAUSE_ILLEGAL);
	assert_int_equal(core->fatal.pc, HANDLER + 4);
	assert_int_equal(core->fatal.value, 0);
	assert_int_equal(core->pc, HANDLER + 4);
	/* The first trap is still there to be read. */
	assert_int_equal(core->mcause, RV32_CAUSE_ECALL);
	assert_int_equal(core->mepc, TCM + 4);
	assert_int_equal(rv32_step(core), 0);
	rv32_reset(core, TCM);
	assert_int_equal(core->fatal.cause, 0);
	/* And forgotten by a reset. */
	core->mtvec = HANDLER;
	rv32_run(core, core->cycle + 3);
	assert_int_equal(core->status, RV32_RUNNING);
	assert_int_equal(core->x[A0], 1);
	free(machine);
}

/* Writing mstatus is not enough to be out of the handler. */
static void test_trap_after_status(void **state)
{
	const uint32_t handler[] = { DISABLE, ECALL };
	struct machine *machine = MACHINE_WITH(ECALL);

	(void)state;
	machine_write(machine, HANDLER, handler, sizeof(handler));
	assert_int_equal(rv32_run(&machine->core, 1000), RV32_HALTED);
	assert_int_equal(machine->core.fatal.pc, HANDLER + 4);
	free(machine);
}

/* Without a handler the first trap's target, ROM, is no code: that ends at once. */
static void test_trap_without_handler(void **state)
{
	struct machine *machine = MACHINE_WITH(ILLEGAL);
	struct rv32 *core = &machine->core;

	(void)state;
	core->mtvec = 0;
	assert_int_equal(rv32_run(core, 1000), RV32_HALTED);
	assert_int_equal(core->mcause, RV32_CAUSE_ILLEGAL);
	assert_int_equal(core->fatal.cause, RV32_CAUSE_FETCH_ACCESS);
	assert_int_equal(core->fatal.pc, NPU_FW_ROM_BASE);
	free(machine);
}

static void test_trap_after_handler(void **state)
{
	const uint32_t nests[] = { ENABLE, ECALL, JUMP_SELF };
	struct machine *machine = MACHINE_WITH(ECALL);
	struct rv32 *core = &machine->core;

	(void)state;
	/* The handler returns to what traps: for ever, but never in the handler. */
	assert_int_equal(rv32_run(core, 1000), RV32_RUNNING);
	assert_int_equal(core->retired, 500);
	/* A handler that enables interrupts may trap. */
	machine_write(machine, HANDLER, nests, sizeof(nests));
	assert_int_equal(rv32_run(core, 2000), RV32_RUNNING);
	free(machine);
}

static void test_changed_from_outside(void **state)
{
	const uint32_t add_2 = ADD_2;
	struct machine *machine = MACHINE_WITH(ADD_1, JUMP_BACK_4);
	struct rv32 *core = &machine->core;

	(void)state;
	rv32_run(core, 4);
	assert_int_equal(core->x[A0], 2);
	machine_write(machine, TCM, &add_2, sizeof(add_2));
	rv32_run(core, 6);
	assert_int_equal(core->x[A0], 4);
	/* Only the second half of an instruction. */
	machine_write(machine, TCM + 2, (const uint8_t[]){ 0x15, 0x00 }, 2);
	rv32_run(core, 8);
	assert_int_equal(core->x[A0], 5);
	/* One byte: addi a0, a0, 257. */
	machine_write(machine, TCM + 3, (const uint8_t[]){ 0x10 }, 1);
	rv32_run(core, 10);
	assert_int_equal(core->x[A0], 5 + 257);
	free(machine);
}

/* Says whether a change of @size bytes from @offset on lets the core see new code at @at. */
static bool sees_change(uint32_t at, uint32_t offset, uint32_t size)
{
	const uint32_t add_1 = ADD_1, add_2 = ADD_2;
	struct machine *machine = machine_create();
	struct rv32 *core = &machine->core;
	uint32_t result;

	machine_write(machine, TCM + at, &add_1, sizeof(add_1));
	rv32_reset(core, TCM + at);
	rv32_step(core);
	memcpy(machine->tcm + at, &add_2, sizeof(add_2));
	rv32_tcm_changed(core, offset, size);
	core->pc = TCM + at;
	rv32_step(core);
	result = core->x[A0];
	free(machine);
	return result == 3;
}

static void test_limits_of_change(void **state)
{
	uint32_t last = NPU_FW_TCM_SIZE - 4;

	(void)state;
	/* Code that is alone in the second line of the range. */
	assert_true(sees_change(64, 0, 128));
	assert_true(sees_change(256, 192, 128));
	/* Ranges beyond TCM are cut. */
	assert_true(sees_change(last, last, 4));
	assert_true(sees_change(last, last, NPU_FW_TCM_SIZE));
	assert_true(sees_change(last, last, UINT32_MAX));
	assert_true(sees_change(last, 1, UINT32_MAX));
	/* Nothing is forgotten that did not change. */
	assert_false(sees_change(last, NPU_FW_TCM_SIZE, UINT32_MAX));
	assert_false(sees_change(last, UINT32_MAX, UINT32_MAX));
	assert_false(sees_change(last, last, 0));
	assert_false(sees_change(64, 68, 4));
	assert_false(sees_change(64, 60, 4));
}

/* Any part of a longer piece of code, which has been decoded before, is replaced. */
static void test_changed_ranges(void **state)
{
	const uint32_t add_2 = ADD_2;
	uint32_t code[65];

	(void)state;
	for (size_t i = 0; i < 64; i++)
		code[i] = ADD_1;
	code[64] = JUMP_SELF;
	for (size_t first = 0; first < 64; first += 3) {
		for (size_t end = first; end <= 64; end += 5) {
			struct machine *machine = machine_with(code, 65);

			rv32_run(&machine->core, 64);
			assert_int_equal(machine->core.x[A0], 64);
			for (size_t i = first; i < end; i++)
				memcpy(machine->tcm + 4 * i, &add_2, sizeof(add_2));
			rv32_tcm_changed(&machine->core, (uint32_t)(4 * first),
					 (uint32_t)(4 * (end - first)));
			machine->core.pc = TCM;
			rv32_run(&machine->core, 128);
			assert_int_equal(machine->core.x[A0], 128 + end - first);
			free(machine);
		}
	}
}

/* The last word of TCM is as good as any; behind it there is nothing. */
static void test_end_of_tcm(void **state)
{
	const uint32_t code = ADD_1;
	struct machine *machine = MACHINE_WITH(NOP);
	struct rv32 *core = &machine->core;

	(void)state;
	machine_write(machine, TCM + NPU_FW_TCM_SIZE - 4, &code, sizeof(code));
	core->pc = TCM + NPU_FW_TCM_SIZE - 4;
	rv32_step(core);
	assert_int_equal(core->x[A0], 1);
	assert_int_equal(rv32_step(core), 1);
	assert_int_equal(core->mcause, RV32_CAUSE_FETCH_ACCESS);
	assert_int_equal(core->mepc, TCM + NPU_FW_TCM_SIZE);
	assert_int_equal(core->mtval, TCM + NPU_FW_TCM_SIZE);
	free(machine);
}

/*
 * The core writes its own code: @store (through a1) puts @value @offset bytes into the addi
 * a0, a0, 1 at @at. Returns a0 << 8 | a1 after that ran with both of them zero.
 */
static uint32_t own_change(uint32_t at, uint32_t store, uint32_t offset, uint32_t value)
{
	const uint32_t code[] = { ADD_1, JUMP_SELF };
	struct machine *machine = MACHINE_WITH(store, JUMP_SELF);
	struct rv32 *core = &machine->core;
	uint32_t result;

	machine_write(machine, at, code, sizeof(code));
	core->pc = at;
	rv32_step(core);
	assert_int_equal(core->x[A0], 1);
	core->pc = TCM;
	core->x[A0] = value;
	core->x[A1] = at + offset;
	rv32_step(core);
	core->pc = at;
	core->x[A0] = core->x[A1] = 0;
	rv32_step(core);
	result = core->x[A0] << 8 | core->x[A1];
	free(machine);
	return result;
}

static void test_changed_by_itself(void **state)
{
	/* Within a line of the record of where code is, across two, and at the end of TCM. */
	static const uint32_t places[] = {
		TCM + 0x100, TCM + 0x102, TCM + 0x13e, TCM + NPU_FW_TCM_SIZE - 8,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		/* addi a0, a0, 2; addi a0, a0, 257; addi a1, a0, 1 */
		assert_int_equal(own_change(places[i], STORE_HALF, 2, 0x0025), 2 << 8);
		assert_int_equal(own_change(places[i], STORE_BYTE, 3, 0x10), 257 << 8);
		assert_int_equal(own_change(places[i], STORE_BYTE, 2, 0x25), 2 << 8);
		assert_int_equal(own_change(places[i], STORE_HALF, 0, 0x0593), 1);
		assert_int_equal(own_change(places[i], STORE_BYTE, 1, 0x06), 0);
		assert_int_equal(own_change(places[i], STORE_BYTE, 0, 0x93), 1);
	}
}

/* ---------------------------------------------------------------- random programs */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

/* A word that is an instruction more often than not; jumps are rare, so that programs go far. */
static uint32_t random_instruction(uint64_t *seed)
{
	static const uint8_t opcodes[] = {
		0x13, 0x33, 0x03, 0x23, 0x63, 0x13, 0x33, 0x03, 0x23, 0x37, 0x17, 0x73, 0x6f, 0x67,
	};
	static const uint8_t functions[] = { 0, 0, 1, 0x20 };
	uint32_t word = next_random(seed);
	uint32_t choice = next_random(seed);

	if (choice % 8 == 0)
		return word;
	if (choice % 8 == 1)
		return (word & 0xfffcfffc) | 0x00010001;
	if (choice % 8 < 5)
		word = (word & 0x01ffffff) | (uint32_t)functions[choice >> 8 & 3] << 25;
	return (word & ~0x7fu) | opcodes[(choice >> 16) % sizeof(opcodes)];
}

/* Code, and what it loads and stores, share a small region, so that programs hit themselves. */
#define REGION_SIZE	0x1000

static uint32_t random_address(uint64_t *seed)
{
	return TCM + (REGION_SIZE / 2 + next_random(seed) % REGION_SIZE);
}

static void randomize(struct machine *machine, uint64_t seed)
{
	/* Returns behind a full-length instruction: uses a0. */
	static const uint32_t handler[] = { 0x34102573, 0x00450513, 0x34151073, MRET };
	struct rv32 *core = &machine->core;

	for (uint32_t offset = 0; offset < 2 * REGION_SIZE; offset += 4) {
		uint32_t word = htole32(random_instruction(&seed));

		memcpy(machine->tcm + offset, &word, sizeof(word));
	}
	memcpy(machine->tcm + 2 * REGION_SIZE, handler, sizeof(handler));
	rv32_reset(core, random_address(&seed));
	core->mtvec = TCM + 2 * REGION_SIZE;
	core->mie = next_random(&seed) & RV32_IRQ_ALL;
	for (unsigned int r = 1; r < 32; r++) {
		core->x[r] = random_address(&seed);
		if (r % 8 == 0)
			core->x[r] = NPU_FW_MMIO_BASE + next_random(&seed) % 64;
	}
}

/* Lets a program that got stuck go on elsewhere, without a reset: that would forget its code. */
static void restart(struct rv32 *core, uint64_t seed)
{
	core->status = RV32_RUNNING;
	core->in_trap = false;
	core->mtvec = TCM + 2 * REGION_SIZE;
	core->pc = random_address(&seed) & ~1u;
	for (unsigned int r = 1; r < 32; r++)
		core->x[r] = random_address(&seed);
	rv32_update_attention(core);
}

static void assert_same(const struct rv32 *a, const struct rv32 *b)
{
	assert_memory_equal(a->x, b->x, 32 * sizeof(uint32_t));
	assert_int_equal(a->pc, b->pc);
	assert_int_equal(a->cycle, b->cycle);
	assert_int_equal(a->retired, b->retired);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->mstatus, b->mstatus);
	assert_int_equal(a->mcause, b->mcause);
	assert_int_equal(a->mepc, b->mepc);
	assert_int_equal(a->mtval, b->mtval);
	assert_int_equal(a->fatal.cause, b->fatal.cause);
}

/*
 * One machine forgets all decoded instructions before every step, the other keeps them: they
 * must not differ, whatever the program does to its own code. Returns instructions retired.
 */
static uint64_t compare_cached(uint64_t seed, unsigned int steps)
{
	struct machine *cached = machine_create();
	struct machine *fresh = machine_create();
	uint64_t retired;

	randomize(cached, seed);
	randomize(fresh, seed);
	for (unsigned int n = 0; n < steps; n++) {
		if (n % 64 == 0) {
			restart(&cached->core, seed);
			restart(&fresh->core, seed);
		}
		if (n % 16 == 0) {
			uint32_t lines = next_random(&seed) & next_random(&seed);

			rv32_set_irq(&cached->core, lines);
			rv32_set_irq(&fresh->core, lines);
		}
		rv32_tcm_changed(&fresh->core, 0, NPU_FW_TCM_SIZE);
		assert_int_equal(rv32_step(&cached->core), rv32_step(&fresh->core));
		assert_same(&cached->core, &fresh->core);
		assert_int_equal(cached->core.x[0], 0);
		assert_int_equal(cached->core.pc & 1, 0);
		next_random(&seed);
	}
	assert_memory_equal(cached->tcm, fresh->tcm, NPU_FW_TCM_SIZE);
	retired = cached->core.retired;
	free(fresh);
	free(cached);
	return retired;
}

static void test_random_programs(void **state)
{
	uint64_t retired = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		retired += compare_cached(seed, 2000);
	/* Programs that all end at once would prove little. */
	assert_true(retired > 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_in_reset),
		cmocka_unit_test(test_reset_keeps_time),
		cmocka_unit_test(test_run_until),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_trap_retires_nothing),
		cmocka_unit_test(test_bus_view),
		cmocka_unit_test(test_interrupt_cost),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_stop_and_halt),
		cmocka_unit_test(test_trap_in_trap),
		cmocka_unit_test(test_trap_after_status),
		cmocka_unit_test(test_trap_without_handler),
		cmocka_unit_test(test_trap_after_handler),
		cmocka_unit_test(test_changed_from_outside),
		cmocka_unit_test(test_limits_of_change),
		cmocka_unit_test(test_changed_ranges),
		cmocka_unit_test(test_end_of_tcm),
		cmocka_unit_test(test_changed_by_itself),
		cmocka_unit_test(test_random_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
