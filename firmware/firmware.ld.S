/* SPDX-License-Identifier: MIT */
/*
 * Where everything is in TCM. The stack is at the lower end: what overflows it first hits the
 * guard area, then leaves TCM and traps. IMAGE_ADDRESS comes from the build, which also tells it
 * to the tool that makes the image.
 */
#include "npu/npu_firmware.h"
#include "stack.h"

#define IMAGE_BYTES_MAX	0x10000

OUTPUT_ARCH(riscv)
ENTRY(_start)

MEMORY
{
	TCM (rwx) : ORIGIN = NPU_FW_TCM_BASE, LENGTH = NPU_FW_TCM_SIZE
}

PHDRS
{
	stack PT_LOAD FLAGS(6);
	code PT_LOAD FLAGS(5);
	data PT_LOAD FLAGS(6);
}

SECTIONS
{
	.stack (NOLOAD) : {
		stack_guard = .;
		. += STACK_GUARD_BYTES + STACK_BYTES;
		stack_top = .;
		. += STACK_PANIC_BYTES;
		stack_panic_top = .;
	} > TCM :stack

	ASSERT(. <= IMAGE_ADDRESS, "the stacks do not fit below the image")
	.text IMAGE_ADDRESS : {
		image_start = .;
		KEEP(*(.text.start))
		*(.text.trap)
		*(.text .text.*)
	} > TCM :code
	.rodata : {
		. = ALIGN(4);
		*(.rodata .rodata.* .srodata .srodata.*)
	} > TCM
	.data : {
		. = ALIGN(4);
		__global_pointer$ = . + 0x800;
		*(.data .data.*)
		*(.sdata .sdata.*)
		. = ALIGN(4);
	} > TCM :data
	image_end = .;

	.bss (NOLOAD) : {
		bss_start = .;
		*(.sbss .sbss.*)
		*(.bss .bss.*)
		*(COMMON)
		. = ALIGN(4);
		bss_end = .;
	} > TCM
	.noinit (NOLOAD) : {
		*(.noinit)
	} > TCM

	/DISCARD/ : { *(.comment) *(.eh_frame) *(.note.*) }

	ASSERT(image_end - image_start < IMAGE_BYTES_MAX, "the image is 64 KiB or larger")
	ASSERT(_start == IMAGE_ADDRESS, "the image does not begin with its entry")
	ASSERT((image_end - image_start) % NPU_FW_ALIGN == 0, "the boot ROM copies whole words")
	ASSERT(stack_top % 16 == 0, "the ABI wants stacks aligned to 16 bytes")
	ASSERT(stack_panic_top % 16 == 0, "the ABI wants stacks aligned to 16 bytes")
}
