// SPDX-License-Identifier: MIT
/*
 * Programs on the control core: one that checks the core from inside, and one whose output is
 * compared with what the same source computes on the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/compute.h"
#include "machine.h"

#define SEEDS	5

static const char *selfcheck_path;
static char **compute_paths;

static uint32_t host_output[MACHINE_OUTPUT_LIMIT];
static size_t host_count;

void emit(uint32_t value)
{
	assert_true(host_count < MACHINE_OUTPUT_LIMIT);
	host_output[host_count++] = value;
}

static void run(struct machine *machine, const char *path, uint64_t limit)
{
	const struct rv32 *core = &machine->core;

	machine_load_file(machine, path);
	if (!machine_run(machine, limit)) {
		fail_msg("%s does not end: status %d pc 0x%x mcause 0x%x mepc 0x%x fatal cause %u "
			 "pc 0x%x", path, (int)core->status, core->pc, core->mcause, core->mepc,
			 core->fatal.cause, core->fatal.pc);
	}
}

static void test_selfcheck(void **state)
{
	struct machine *machine = machine_create();

	(void)state;
	run(machine, selfcheck_path, 1000000);
	if (machine->exit_code)
		fail_msg("selfcheck.S:%u failed", machine->exit_code);
	free(machine);
}

static void compare_compute(const char *path, uint32_t seed)
{
	struct machine *machine = machine_create();

	machine->memory[0] = (uint8_t)seed;
	run(machine, path, 100000000);
	host_count = 0;
	compute(seed);
	assert_true(host_count > 1000);
	assert_int_equal(machine->output_count, host_count);
	for (size_t i = 0; i < host_count; i++) {
		if (machine->output[i] != host_output[i])
			fail_msg("%s, seed %u: word %zu is 0x%x instead of 0x%x", path, seed, i,
				 machine->output[i], host_output[i]);
	}
	free(machine);
}

static void test_compute(void **state)
{
	(void)state;
	for (char **path = compute_paths; *path; path++) {
		for (uint32_t seed = 0; seed < SEEDS; seed++)
			compare_compute(*path, seed);
	}
}

/* Equal programs take equal cycles, however the time is cut into runs. */
static void test_deterministic(void **state)
{
	struct machine *whole = machine_create();
	struct machine *steps = machine_create();
	uint64_t sum = 0;

	(void)state;
	run(whole, compute_paths[0], 100000000);
	machine_load_file(steps, compute_paths[0]);
	rv32_reset(&steps->core, NPU_FW_TCM_BASE);
	while (!steps->exited)
		sum += rv32_step(&steps->core);
	assert_int_equal(steps->core.cycle, sum);
	assert_int_equal(steps->core.cycle, whole->core.cycle);
	assert_int_equal(steps->core.retired, whole->core.retired);
	assert_memory_equal(steps->core.x, whole->core.x, 32 * sizeof(uint32_t));
	assert_memory_equal(steps->tcm, whole->tcm, sizeof(whole->tcm));
	free(steps);
	free(whole);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selfcheck),
		cmocka_unit_test(test_compute),
		cmocka_unit_test(test_deterministic),
	};

	if (argc < 3) {
		fprintf(stderr, "usage: test-rv32-guest SELFCHECK COMPUTE...\n");
		return 2;
	}
	selfcheck_path = argv[1];
	compute_paths = argv + 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
