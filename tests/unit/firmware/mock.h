/* SPDX-License-Identifier: MIT */
/*
 * A device that consists of the real control core and as little as possible around it: the
 * registers npu_regs.h describes, queues that hold scripted tasks instead of packets, and a host.
 *
 * It watches the firmware while it runs and fails the test (mock_fail) as soon as a register is
 * used in a way the manual does not allow, or two slots hold the same cluster or SRAM.
 */
#ifndef TEST_FIRMWARE_MOCK_H
#define TEST_FIRMWARE_MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/npu_mailbox.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"
#include "rv32.h"

#define MOCK_QUEUES	64
#define MOCK_SLOTS	8
#define MOCK_CONTEXTS	64
#define MOCK_POINTS	4	/* of the clock */
#define MOCK_COOL	85000	/* thousandths of a degree */
#define MOCK_HOT	95000
#define MOCK_SEMAPHORES	4
#define MOCK_TASKS	64	/* waiting in one queue */
#define MOCK_FETCH	122	/* cycles to look at a ring */

enum mock_kind {
	MOCK_EXEC,		/* needs a grant, runs for some cycles */
	MOCK_COPY,		/* runs without one */
	MOCK_WAIT,		/* until a semaphore has reached a value */
	MOCK_BAD,		/* stops its queue */
};

/**
 * struct mock_task - what stands in a queue
 * @clusters:	of MOCK_EXEC
 * @bytes:	of global SRAM, of MOCK_EXEC
 * @cycles:	of MOCK_EXEC and MOCK_COPY
 * @semaphore:	waited for, or raised by one at the end; ~0u: none
 * @value:	of MOCK_WAIT
 */
struct mock_task {
	enum mock_kind kind;
	uint32_t clusters;
	uint32_t bytes;
	uint64_t cycles;
	uint32_t semaphore;
	uint64_t value;
};

/**
 * struct mock_queue - a queue's registers, its tasks and what became of them
 * @registers:	as the firmware wrote them
 * @task:	ring of tasks, @pushed - @finished of them present
 * @done:	tasks that ended well
 * @killed:	tasks ended by NPU_SLOT_KILL
 * @rejected:	tasks refused by NPU_SLOT_REJECT
 * @attaches:	how often it got a slot
 * @rung_at:	time of the last doorbell that came while it had no slot
 * @attached_at: time of the last NPU_SLOT_ATTACH
 * @longest_wait: longest time from @rung_at to @attached_at
 * @first_done:	when its first task ended
 */
struct mock_queue {
	uint32_t registers[8];
	struct mock_task task[MOCK_TASKS];
	uint32_t pushed;
	uint32_t finished;
	uint32_t done;
	uint32_t killed;
	uint32_t rejected;
	uint32_t attaches;
	uint64_t rung_at;
	uint64_t attached_at;
	uint64_t longest_wait;
	uint64_t first_done;
	bool rung;		/* waits for a slot since @rung_at */
	bool parked;		/* left a slot in WAITING */
};

/**
 * struct mock_slot - a slot
 * @look_again:	a doorbell came since the ring was last looked at
 * @until:	end of the present state, where only time ends it
 * @requested:	when it entered REQUEST; @granted: when that was answered
 */
struct mock_slot {
	uint32_t queue;
	uint32_t state;
	uint32_t events;
	uint32_t left;		/* NPU_REG_SLOT_LEFT */
	uint32_t window;
	uint32_t window_bytes;
	uint32_t written_grant;
	uint32_t clusters;	/* in force */
	bool detach;
	bool look_again;
	uint64_t until;
	uint64_t requested;
	uint64_t granted;
	uint32_t needs[2];
};

struct mock_config {
	uint32_t clusters;
	uint32_t global_bytes;
	uint32_t slots;
	uint32_t queues;
	uint32_t clock_hz;
};

/**
 * struct mock - a device
 * @panic:	what was written to NPU_REG_CORE_PANIC
 * @next:	NPU_REG_CORE_NEXT; @switches: how often a queue got its slot by it
 * @longest_turn: from a look at the causes of an interrupt to the end of the work on them, cycles
 */
struct mock {
	struct rv32 *core;
	uint8_t *tcm;
	struct rv32_bus bus;
	struct mock_config config;
	uint32_t pending;
	uint32_t enable;
	uint64_t timecmp;
	uint32_t time_high;
	uint32_t doorbells[2];
	uint32_t irq;
	uint32_t state;
	uint32_t alive;
	uint64_t turn_began;
	uint64_t longest_turn;
	uint32_t log;
	uint32_t panic;
	uint32_t next;
	uint32_t switches;
	uint32_t asleep;	/* NPU_REG_CLUSTERS_ASLEEP */
	uint32_t clock;		/* NPU_REG_CORE_CLOCK as written last */
	uint32_t temperature;	/* set by tests, who raise NPU_CORE_IRQ_HEAT, too */
	uint32_t tasks;		/* ended */
	bool mail_in;
	bool mail_out;
	uint32_t to_firmware[16];
	uint32_t to_host[16];
	uint16_t sequence;
	struct mock_queue queue[MOCK_QUEUES];
	struct mock_slot slot[MOCK_SLOTS];
	uint64_t semaphore[MOCK_CONTEXTS][MOCK_SEMAPHORES];
	uint32_t reports;	/* ERROR_EVENTs taken by mock_receive() */
	struct npu_message report;	/* the last one */
};

extern const struct mock_config mock_large;	/* as npu-v3 */
extern const struct mock_config mock_small;	/* as lowpower-v3 */

/**
 * mock_create() - a device that has booted the image; waits until it is READY
 * @path:	of the image
 */
struct mock *mock_create(const struct mock_config *config, const char *path);

/**
 * mock_load() - the same, but stopped before the firmware's first instruction
 */
struct mock *mock_load(const struct mock_config *config, const char *path);

void mock_destroy(struct mock *mock);

/**
 * mock_run() - let device time pass
 */
void mock_run(struct mock *mock, uint64_t cycles);

/**
 * mock_settle() - run until the core sleeps and nothing is under way; fails after @limit cycles
 */
void mock_settle(struct mock *mock, uint64_t limit);

/**
 * mock_quiet() - whether the core sleeps, without an alarm, and nothing is under way
 */
bool mock_quiet(const struct mock *mock);

uint64_t mock_now(const struct mock *mock);

/**
 * mock_push() - put a task into a queue, without a doorbell
 */
void mock_push(struct mock *mock, unsigned int queue, struct mock_task task);

void mock_ring(struct mock *mock, unsigned int queue);

/**
 * mock_signal() - raise a semaphore from outside
 */
void mock_signal(struct mock *mock, unsigned int context, unsigned int semaphore, uint64_t amount);

/**
 * mock_post() - put a message into the mailbox, whatever is there
 */
void mock_post(struct mock *mock, const struct npu_message *message);

/**
 * mock_take() - take a message the firmware has sent; false when there is none
 */
bool mock_take(struct mock *mock, struct npu_message *message);

/**
 * mock_call() - send a message, wait for the reply (counting error events on the way)
 * @message:	kind and arguments; becomes the reply
 *
 * Returns the reply's status.
 */
uint32_t mock_call(struct mock *mock, struct npu_message *message);

/* mock_call() with the arguments of the usual messages. */
uint32_t mock_context(struct mock *mock, unsigned int context);
uint32_t mock_context_destroy(struct mock *mock, unsigned int context);
uint32_t mock_queue(struct mock *mock, unsigned int queue, unsigned int context,
		    unsigned int priority);
uint32_t mock_queue_destroy(struct mock *mock, unsigned int queue);

/**
 * mock_complain() - fail the test with a sentence about the device
 */
void mock_complain(const struct mock *mock, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Between mock.c and mock-slot.c. */
void mock_slot_write(struct mock *mock, unsigned int slot, uint32_t offset, uint32_t value);
uint32_t mock_slot_read(struct mock *mock, unsigned int slot, uint32_t offset);
/* Clusters are to sleep: complains when any is at work. */
void mock_slot_sleep(struct mock *mock);
/* Carry out what ends now. */
void mock_slot_advance(struct mock *mock);
/* When the next state ends, or ~0. */
uint64_t mock_slot_next(const struct mock *mock);
void mock_slot_doorbell(struct mock *mock, unsigned int queue);
void mock_slot_semaphore(struct mock *mock, unsigned int context);
bool mock_queue_in_slot(const struct mock *mock, unsigned int queue);
void mock_set_doorbell(struct mock *mock, unsigned int queue);
void mock_interrupt(struct mock *mock, uint32_t cause);

#endif /* TEST_FIRMWARE_MOCK_H */
