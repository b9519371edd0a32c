// SPDX-License-Identifier: MIT
/*
 * Runs compute() on the control core. The seed lies in the test device's memory.
 */
#include <stddef.h>

#include "compute.h"
#include "ports.h"

#define PORT(address) (*(volatile uint32_t *)(address))

void start_c(void);

void emit(uint32_t value)
{
	PORT(MACHINE_OUTPUT) = value;
}

void start_c(void)
{
	compute(PORT(MACHINE_MEMORY));
	PORT(MACHINE_EXIT) = 0;
}

/* The compiler may call these for what looks like them. */
void *memset(void *destination, int value, size_t size)
{
	volatile uint8_t *bytes = destination;

	while (size--)
		*bytes++ = (uint8_t)value;
	return destination;
}

void *memcpy(void *destination, const void *source, size_t size)
{
	volatile uint8_t *bytes = destination;
	const uint8_t *from = source;

	while (size--)
		*bytes++ = *from++;
	return destination;
}

__asm__(
	".section .text.start, \"ax\"\n"
	".globl _start\n"
	"_start:\n"
	".option push\n"
	".option norelax\n"
	"la gp, __global_pointer$\n"
	".option pop\n"
	"la sp, stack_top\n"
	"call start_c\n"
	"ebreak\n"
	".text\n"
);
