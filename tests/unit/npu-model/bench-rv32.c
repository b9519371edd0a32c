// SPDX-License-Identifier: MIT
/*
 * How fast the host interprets the control core: prints million instructions a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "machine.h"

#define RUNS	100

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct machine *machine;
	double begin;

	if (argc != 2) {
		fprintf(stderr, "usage: bench-rv32 PROGRAM\n");
		return 2;
	}
	machine = machine_create();
	begin = now();
	for (int i = 0; i < RUNS; i++) {
		machine->exited = false;
		memset(machine->tcm, 0, sizeof(machine->tcm));
		machine_load_file(machine, argv[1]);
		if (!machine_run(machine, UINT64_MAX))
			return 1;
	}
	printf("%.1f M instructions/s, %.2f cycles each\n",
	       (double)machine->core.retired / (now() - begin) / 1e6,
	       (double)machine->core.cycle / (double)machine->core.retired);
	free(machine);
	return 0;
}
