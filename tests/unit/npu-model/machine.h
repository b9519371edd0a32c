/* SPDX-License-Identifier: MIT */
/*
 * A control core with TCM and the device of guest/ports.h, for tests.
 */
#ifndef TEST_MACHINE_H
#define TEST_MACHINE_H

#include <stddef.h>

#include "guest/ports.h"
#include "rv32.h"

#define MACHINE_OUTPUT_LIMIT	4096

struct machine {
	struct rv32 core;
	struct rv32_bus bus;
	uint8_t tcm[NPU_FW_TCM_SIZE];
	uint8_t memory[16];
	uint32_t lines;
	uint32_t timer;
	bool exited;
	uint32_t exit_code;
	uint32_t output[MACHINE_OUTPUT_LIMIT];
	size_t output_count;
	/* The last access that reached the bus. */
	uint32_t bus_address;
	unsigned int bus_width;
	uint32_t bus_value;
	uint64_t bus_cycle;
	unsigned int bus_accesses;
};

/**
 * machine_create() - a machine with cleared TCM, its core not yet reset. Never NULL: a test
 * without memory ends here. Free with free().
 */
struct machine *machine_create(void);

/**
 * machine_write() - copy code or data into TCM at an address
 */
void machine_write(struct machine *machine, uint32_t address, const void *data, size_t size);

/**
 * machine_load_file() - copy a file to the start of TCM; fails the test when that is not possible
 */
void machine_load_file(struct machine *machine, const char *path);

/**
 * machine_run() - reset the core to the start of TCM and run until the program ends
 * @limit: cycles after which the program is taken as hung
 *
 * Time passes for a sleeping core in steps of one cycle. Returns true when the program wrote
 * MACHINE_EXIT.
 */
bool machine_run(struct machine *machine, uint64_t limit);

#endif /* TEST_MACHINE_H */
