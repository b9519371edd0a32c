// SPDX-License-Identifier: MIT
/*
 * Every arithmetic instruction, as the assembler encodes it, against the host's arithmetic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/operations.h"
#include "machine.h"

#define COUNT(text, bytes, expression) + 1
#define OPERATION_COUNT (0 ALL_OPERATIONS(COUNT))

#define NAME(text, bytes, expression) text,
static const char *const names[] = { ALL_OPERATIONS(NAME) };

#define LENGTH(text, bytes, expression) bytes,
static const uint8_t lengths[] = { ALL_OPERATIONS(LENGTH) };

#define REGISTER_A0	10
#define REGISTER_A1	11
#define RANDOM_PAIRS	3000

static const uint32_t edges[] = {
	0, 1, 2, 3, 7, 31, 32, 33, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x55555555, 0xaaaaaaaa,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xffff8000, 0xfffffffe, 0xffffffff,
};

static const char *program_path;

/* Rounds down, as an arithmetic shift to the right does; @b is positive. */
static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

#define WITH(immediate, expression) (i = (immediate), (expression))
#define EXPECT(text, bytes, expression) \
	results[count++] = (uint32_t)(expression); \
	pc += bytes;

/* What each instruction leaves in a0. */
static void expect(uint32_t a, uint32_t b, uint32_t results[OPERATION_COUNT])
{
	int64_t sa = (int32_t)a;
	int64_t sb = (int32_t)b;
	uint32_t pc = NPU_FW_TCM_BASE;
	size_t count = 0;
	int64_t i;

	ALL_OPERATIONS(EXPECT)
	assert_int_equal(count, OPERATION_COUNT);
}

/* Runs each instruction alone, with all other registers holding a pattern to be left alone. */
static void check_pair(struct machine *machine, uint32_t a, uint32_t b)
{
	struct rv32 *core = &machine->core;
	uint32_t results[OPERATION_COUNT];
	uint32_t pc = NPU_FW_TCM_BASE;

	expect(a, b, results);
	for (size_t n = 0; n < OPERATION_COUNT; n++) {
		for (uint32_t r = 1; r < 32; r++)
			core->x[r] = 0xabcd0000 + r;
		core->x[REGISTER_A0] = a;
		core->x[REGISTER_A1] = b;
		core->pc = pc;
		assert_int_equal(rv32_step(core), 1);
		if (core->x[REGISTER_A0] != results[n])
			fail_msg("%s with a0 0x%x a1 0x%x: 0x%x instead of 0x%x", names[n], a, b,
				 core->x[REGISTER_A0], results[n]);
		pc += lengths[n];
		if (core->pc != pc)
			fail_msg("%s: pc 0x%x instead of 0x%x", names[n], core->pc, pc);
		for (uint32_t r = 1; r < 32; r++) {
			uint32_t before = r == REGISTER_A1 ? b : 0xabcd0000 + r;

			if (r != REGISTER_A0 && core->x[r] != before)
				fail_msg("%s changed x%u", names[n], r);
		}
		assert_int_equal(core->x[0], 0);
	}
}

static struct machine *load_program(void)
{
	struct machine *machine = machine_create();

	machine_load_file(machine, program_path);
	rv32_reset(&machine->core, NPU_FW_TCM_BASE);
	return machine;
}

static void test_edges(void **state)
{
	struct machine *machine = load_program();
	size_t count = sizeof(edges) / sizeof(edges[0]);

	(void)state;
	for (size_t a = 0; a < count; a++) {
		for (size_t b = 0; b < count; b++)
			check_pair(machine, edges[a], edges[b]);
	}
	free(machine);
}

static void test_random(void **state)
{
	struct machine *machine = load_program();
	uint64_t seed = 1;

	(void)state;
	for (size_t n = 0; n < RANDOM_PAIRS; n++) {
		uint32_t a, b;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		a = (uint32_t)(seed >> 32);
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		b = (uint32_t)(seed >> 32);
		/* Small divisors and factors too. */
		check_pair(machine, a >> (n % 32), b >> (n / 32 % 32));
	}
	free(machine);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_random),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: test-rv32-arithmetic PROGRAM\n");
		return 2;
	}
	program_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
