// SPDX-License-Identifier: MIT
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine.h"

static void record(struct machine *machine, uint32_t address, unsigned int width, uint32_t value)
{
	machine->bus_address = address;
	machine->bus_width = width;
	machine->bus_value = value;
	machine->bus_cycle = machine->core.cycle;
	machine->bus_accesses++;
}

static void update_lines(struct machine *machine)
{
	uint32_t lines = machine->lines;

	if (machine->core.cycle >= machine->timer)
		lines |= RV32_IRQ_TIMER;
	rv32_set_irq(&machine->core, lines);
}

static bool in_memory(uint32_t address, unsigned int width)
{
	return address >= MACHINE_MEMORY && address - MACHINE_MEMORY <= 16 - width;
}

static bool machine_load(void *opaque, uint32_t address, unsigned int width, uint32_t *value)
{
	struct machine *machine = opaque;

	if (in_memory(address, width)) {
		/* The bits a narrow load does not ask for are anything. */
		*value = 0x96a5c3b4;
		memcpy(value, machine->memory + (address - MACHINE_MEMORY), width);
		*value = le32toh(*value);
	} else if (address == MACHINE_CYCLE) {
		*value = (uint32_t)machine->core.cycle;
	} else {
		record(machine, address, width, 0);
		return false;
	}
	record(machine, address, width, *value);
	return true;
}

static void emit(struct machine *machine, uint32_t value)
{
	if (machine->output_count < MACHINE_OUTPUT_LIMIT)
		machine->output[machine->output_count++] = value;
}

static bool machine_store(void *opaque, uint32_t address, unsigned int width, uint32_t value)
{
	struct machine *machine = opaque;

	record(machine, address, width, value);
	if (in_memory(address, width)) {
		value = htole32(value);
		memcpy(machine->memory + (address - MACHINE_MEMORY), &value, width);
		return true;
	}
	switch (address) {
	case MACHINE_EXIT:
		machine->exited = true;
		machine->exit_code = value;
		rv32_stop(&machine->core);
		return true;
	case MACHINE_OUTPUT:
		emit(machine, value);
		return true;
	case MACHINE_LINES:
		machine->lines = value;
		update_lines(machine);
		return true;
	case MACHINE_TIMER:
		machine->timer = value;
		update_lines(machine);
		/* The run in progress does not know of this event. */
		rv32_stop(&machine->core);
		return true;
	}
	return false;
}

struct machine *machine_create(void)
{
	struct machine *machine = calloc(1, sizeof(*machine));

	assert_non_null(machine);
	machine->bus = (struct rv32_bus){
		.opaque = machine,
		.load = machine_load,
		.store = machine_store,
	};
	machine->timer = UINT32_MAX;
	rv32_init(&machine->core, machine->tcm, &machine->bus);
	return machine;
}

void machine_write(struct machine *machine, uint32_t address, const void *data, size_t size)
{
	uint32_t offset = address - NPU_FW_TCM_BASE;

	assert_true(offset <= NPU_FW_TCM_SIZE && size <= NPU_FW_TCM_SIZE - offset);
	memcpy(machine->tcm + offset, data, size);
	rv32_tcm_changed(&machine->core, offset, (uint32_t)size);
}

void machine_load_file(struct machine *machine, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file)
		fail_msg("cannot open %s", path);
	size = fread(machine->tcm, 1, sizeof(machine->tcm), file);
	fclose(file);
	if (!size)
		fail_msg("%s is empty", path);
}

bool machine_run(struct machine *machine, uint64_t limit)
{
	struct rv32 *core = &machine->core;

	rv32_reset(core, NPU_FW_TCM_BASE);
	while (!machine->exited && core->status != RV32_HALTED && core->cycle < limit) {
		uint64_t until = limit;

		/* The timer's line rises between two instructions, at the exact cycle. */
		if (core->cycle < machine->timer && machine->timer < limit)
			until = machine->timer;
		if (rv32_run(core, until) == RV32_WFI)
			rv32_idle(core, 1);
		update_lines(machine);
	}
	return machine->exited;
}
