// SPDX-License-Identifier: MIT
/*
 * The control core's program: sleep, look at what happened, decide, sleep.
 */
#include "heat.h"
#include "hw.h"
#include "log.h"
#include "mailbox.h"
#include "panic.h"
#include "queue.h"
#include "scheduler.h"
#include "slot.h"

#define CAUSES	(NPU_CORE_IRQ_DOORBELL | NPU_CORE_IRQ_MAILBOX | NPU_CORE_IRQ_SLOT | \
		 NPU_CORE_IRQ_WATCHDOG | NPU_CORE_IRQ_HEAT)

/* Causes that hardly ever come. */
#define RARE	(NPU_CORE_IRQ_WATCHDOG | NPU_CORE_IRQ_HEAT)

_Noreturn void firmware_main(void);

u64 log_time(void)
{
	return hw_time();
}

static void note_rare(u32 pending, u64 now)
{
	if (pending & NPU_CORE_IRQ_WATCHDOG)
		queue_overrun();
	if (pending & NPU_CORE_IRQ_HEAT)
		heat_begin(now);
}

/* Bounded: every loop below this function has a limit that is stated there. */
static void turn(void)
{
	u32 pending = hw_read(NPU_REG_CORE_IRQ_PENDING);
	u64 now = hw_time();

	/* Cleared before it is looked at: what comes later ends the next sleep. */
	hw_write(NPU_REG_CORE_IRQ_PENDING, pending);
	if (pending & NPU_CORE_IRQ_SLOT) {
		slot_poll(now);
		scheduler_refill(now);
	}
	if (pending & NPU_CORE_IRQ_DOORBELL)
		queue_poll_doorbells(now);
	if (pending & RARE)
		note_rare(pending, now);
	scheduler_run(now);
	mailbox_run(pending & NPU_CORE_IRQ_MAILBOX);
	scheduler_name_next(now);
}

static void start(void)
{
	log_init(hw_megahertz());
	hw_write(NPU_REG_CORE_LOG, (u32)(uintptr_t)&log_ring);
	hw_probe();
	scheduler_init();
	log_write(LOG_INFO, "npu-fw %u.%u", NPU_FW_VERSION_MAJOR, NPU_FW_VERSION_MINOR, 0);
	log_write(LOG_INFO, "%u clusters, %u slots, %u queues", hw.clusters, hw.slots, hw.queues);
	hw_write(NPU_REG_CORE_IRQ_ENABLE, CAUSES);
	hw_write(NPU_REG_FW_STATE, NPU_FW_STATE_READY);
}

_Noreturn void firmware_main(void)
{
	u32 alive = 0;

	start();
	/* The one loop without an end. */
	for (;;) {
		turn();
		panic_check_stack();
		hw_write(NPU_REG_FW_ALIVE, ++alive);
		hw_sleep();
	}
}
