// SPDX-License-Identifier: MIT
/*
 * One instruction after another, as operations.h lists them; never run as a program.
 */
#include "operations.h"

/* The assembler chooses the form by itself unless it is told. */
#define OPTION_2 ".option rvc\n"
#define OPTION_4 ".option norvc\n"
#define INSTRUCTION(text, bytes, expression) OPTION_##bytes text "\n"

__asm__(
	".section .text.start, \"ax\"\n"
	".globl _start\n"
	".option norelax\n"
	"_start:\n"
	ALL_OPERATIONS(INSTRUCTION)
);
