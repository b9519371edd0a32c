// SPDX-License-Identifier: MIT
/*
 * The end.
 */
#include "hw.h"
#include "log.h"
#include "panic.h"
#include "stack.h"

/* By the linker script: the guard area lies at the lower end of TCM, the stack above it. */
extern const volatile u32 stack_guard[STACK_GUARD_BYTES / 4];
extern const u32 stack_top[];

_Noreturn static void stop(enum npu_panic reason, u32 cause, u32 address, u32 value)
{
	const u32 message[] = { NPU_MESSAGE_PANIC, NPU_ERROR_NONE, reason, cause, address, value };

	log_write(LOG_ERROR, "panic %u: cause %x at %x", reason, cause, address);
	log_write(LOG_ERROR, "panic %u: value %x", reason, value, 0);
	for (unsigned int i = 0; i < sizeof(struct npu_message) / 4; i++)
		hw_write(NPU_REG_MAILBOX_TO_HOST + i * 4,
			 i < ARRAY_SIZE(message) ? message[i] : 0);
	hw_write(NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	hw_write(NPU_REG_FW_STATE, NPU_FW_STATE_PANIC);
	hw_write(NPU_REG_CORE_PANIC, reason);
	/* Not reached where the register stops the core at once. */
	for (;;)
		hw_sleep();
}

_Noreturn void panic(enum npu_panic reason, u32 value)
{
	stop(reason, 0, (u32)(uintptr_t)__builtin_return_address(0), value);
}

_Noreturn void panic_trap(u32 cause, u32 address, u32 value, u32 stack)
{
	u32 bottom = (u32)(uintptr_t)stack_guard + STACK_GUARD_BYTES;
	u32 top = (u32)(uintptr_t)stack_top;

	if (stack < bottom || stack > top)
		stop(NPU_PANIC_STACK, cause, address, stack);
	stop(NPU_PANIC_TRAP, cause, address, value);
}

void panic_check_stack(void)
{
	if (stack_guard[0] != STACK_GUARD_WORD ||
	    stack_guard[ARRAY_SIZE(stack_guard) - 1] != STACK_GUARD_WORD)
		panic(NPU_PANIC_STACK, 0);
}
