// SPDX-License-Identifier: MIT
/*
 * The mock device: core, registers, time, host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot_rom.h"
#include "mock.h"

#define NEVER		(~(uint64_t)0)
#define BOOT_LIMIT	100000
/* For a reply: the longest chain of events a message can start, with much room. */
#define CALL_LIMIT	50000000

const struct mock_config mock_large = {
	.clusters = 4,
	.global_bytes = 4 << 20,
	.slots = 8,
	.queues = 64,
	.clock_hz = 1000000000,
};

const struct mock_config mock_small = {
	.clusters = 1,
	.global_bytes = 512 << 10,
	.slots = 2,
	.queues = 16,
	.clock_hz = 400000000,
};

uint64_t mock_now(const struct mock *mock)
{
	return mock->core->cycle;
}

void mock_complain(const struct mock *mock, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fail_msg("cycle %llu, pc %x: %s", (unsigned long long)mock_now(mock), mock->core->pc, text);
	abort();
}

/* ------------------------------------------------------------------------ interrupts */

static void update_lines(struct mock *mock)
{
	uint32_t lines = 0;

	if (mock->pending & mock->enable)
		lines |= RV32_IRQ_EXTERNAL;
	if (mock_now(mock) >= mock->timecmp)
		lines |= RV32_IRQ_TIMER;
	rv32_set_irq(mock->core, lines);
}

void mock_interrupt(struct mock *mock, uint32_t cause)
{
	mock->pending |= cause;
	update_lines(mock);
}

void mock_set_doorbell(struct mock *mock, unsigned int queue)
{
	struct mock_queue *entry = &mock->queue[queue];

	if (!(entry->registers[NPU_QUEUE_CONFIG / 4] & NPU_QUEUE_CONFIG_VALID))
		return;
	if (!entry->rung)
		entry->rung_at = mock_now(mock);
	entry->rung = true;
	mock->doorbells[queue / 32] |= 1u << queue % 32;
	mock_interrupt(mock, NPU_CORE_IRQ_DOORBELL);
}

/* ------------------------------------------------------------------------- registers */

static uint32_t read_capability(const struct mock *mock, uint32_t offset)
{
	switch (offset) {
	case NPU_REG_ID:
		return NPU_ID_VALUE;
	case NPU_REG_CLUSTERS:
		return mock->config.clusters;
	case NPU_REG_GLOBAL_BYTES:
		return mock->config.global_bytes;
	case NPU_REG_CLOCK_HZ:
		return mock->config.clock_hz;
	case NPU_REG_QUEUES:
		return mock->config.queues;
	case NPU_REG_SLOTS:
		return mock->config.slots;
	case NPU_REG_CONTEXTS:
		return MOCK_CONTEXTS;
	default:
		mock_complain(mock, "read of register %x", offset);
	}
}

static uint32_t read_register(struct mock *mock, uint32_t offset)
{
	if (offset >= NPU_REG_MAILBOX_TO_FW && offset < NPU_REG_MAILBOX_TO_FW_SEND)
		return mock->to_firmware[(offset - NPU_REG_MAILBOX_TO_FW) / 4];
	if (offset >= NPU_REG_QUEUE(0) && offset < NPU_REG_QUEUE(mock->config.queues))
		return mock->queue[(offset - NPU_REG_QUEUE(0)) / 0x20].registers[offset % 0x20 / 4];
	if (offset >= NPU_REG_SLOT(0) && offset < NPU_REG_SLOT(mock->config.slots))
		return mock_slot_read(mock, (offset - NPU_REG_SLOT(0)) / 0x20, offset % 0x20);
	if (offset >= NPU_REG_SLOT_LEFT(0) && offset < NPU_REG_SLOT_LEFT(mock->config.slots))
		return mock->slot[(offset - NPU_REG_SLOT_LEFT(0)) / 4].left;

	switch (offset) {
	case NPU_REG_CLUSTERS_ASLEEP:
		return mock->asleep;
	case NPU_REG_CLOCK_POINTS:
		return MOCK_POINTS;
	case NPU_REG_TEMPERATURE:
		return mock->temperature;
	case NPU_REG_HEAT_COOL:
		return MOCK_COOL;
	case NPU_REG_HEAT_HOT:
		return MOCK_HOT;
	case NPU_REG_COUNTER_TASKS_LO:
		return mock->tasks;
	case NPU_REG_MAILBOX_TO_FW_SEND:
		return mock->mail_in;
	case NPU_REG_MAILBOX_TO_HOST_SEND:
		return mock->mail_out;
	case NPU_REG_CORE_IRQ_PENDING:
		mock->turn_began = mock_now(mock);
		return mock->pending;
	case NPU_REG_CORE_TIME_LO:
		mock->time_high = (uint32_t)(mock_now(mock) >> 32);
		return (uint32_t)mock_now(mock);
	case NPU_REG_CORE_TIME_HI:
		return mock->time_high;
	case NPU_REG_CORE_DOORBELLS_LO:
		return mock->doorbells[0];
	case NPU_REG_CORE_DOORBELLS_HI:
		return mock->doorbells[1];
	default:
		return read_capability(mock, offset);
	}
}

static void write_queue(struct mock *mock, unsigned int queue, uint32_t offset, uint32_t value)
{
	struct mock_queue *entry = &mock->queue[queue];

	if (mock_queue_in_slot(mock, queue))
		mock_complain(mock, "queue %u is changed in its slot", queue);
	if (offset > NPU_QUEUE_ERROR)
		mock_complain(mock, "write to register %x of queue %u", offset, queue);
	entry->registers[offset / 4] = value;
	/* A new queue begins with an empty ring. */
	if (offset == NPU_QUEUE_CONFIG && value & NPU_QUEUE_CONFIG_VALID)
		entry->finished = entry->pushed;
	if (offset == NPU_QUEUE_CONFIG && !(value & NPU_QUEUE_CONFIG_VALID)) {
		mock->doorbells[queue / 32] &= ~(1u << queue % 32);
		entry->parked = false;
		entry->rung = false;
	}
}

static void write_register(struct mock *mock, uint32_t offset, uint32_t value)
{
	if (offset >= NPU_REG_MAILBOX_TO_HOST && offset < NPU_REG_MAILBOX_TO_HOST_SEND) {
		/* A panic may write over what the host has not taken. */
		if (mock->mail_out && value != NPU_MESSAGE_PANIC &&
		    (mock->to_host[0] & 0xffff) != NPU_MESSAGE_PANIC)
			mock_complain(mock, "a message is written over another");
		mock->to_host[(offset - NPU_REG_MAILBOX_TO_HOST) / 4] = value;
		return;
	}
	if (offset >= NPU_REG_QUEUE(0) && offset < NPU_REG_QUEUE(mock->config.queues)) {
		write_queue(mock, (offset - NPU_REG_QUEUE(0)) / 0x20, offset % 0x20, value);
		return;
	}
	if (offset >= NPU_REG_SLOT(0) && offset < NPU_REG_SLOT(mock->config.slots)) {
		mock_slot_write(mock, (offset - NPU_REG_SLOT(0)) / 0x20, offset % 0x20, value);
		return;
	}

	switch (offset) {
	case NPU_REG_FW_ALIVE:
		mock->alive = value;
		if (mock_now(mock) - mock->turn_began > mock->longest_turn)
			mock->longest_turn = mock_now(mock) - mock->turn_began;
		break;
	case NPU_REG_FW_STATE:
		mock->state = value;
		break;
	case NPU_REG_MAILBOX_TO_FW_SEND:
		mock->mail_in = false;
		break;
	case NPU_REG_MAILBOX_TO_HOST_SEND:
		mock->mail_out = true;
		mock->irq |= NPU_IRQ_MAILBOX;
		break;
	case NPU_REG_CORE_IRQ_PENDING:
		mock->pending &= ~value;
		break;
	case NPU_REG_CORE_IRQ_ENABLE:
		mock->enable = value;
		break;
	case NPU_REG_CORE_TIMECMP_LO:
		mock->timecmp = (mock->timecmp & ~(uint64_t)0xffffffff) | value;
		break;
	case NPU_REG_CORE_TIMECMP_HI:
		mock->timecmp = (uint64_t)value << 32 | (uint32_t)mock->timecmp;
		break;
	case NPU_REG_CORE_DOORBELLS_LO:
	case NPU_REG_CORE_DOORBELLS_HI:
		mock->doorbells[(offset - NPU_REG_CORE_DOORBELLS_LO) / 4] &= ~value;
		break;
	case NPU_REG_CORE_LOG:
		mock->log = value;
		break;
	case NPU_REG_CORE_NEXT:
		mock->next = value;
		break;
	case NPU_REG_CORE_SLEEP:
		mock_slot_sleep(mock);
		mock->asleep = value;
		break;
	case NPU_REG_CORE_CLOCK:
		if ((value & 0xff) >= MOCK_POINTS || value >> NPU_CLOCK_REST_SHIFT >= MOCK_POINTS ||
		    value >> NPU_CLOCK_REST_SHIFT < (value & 0xff))
			mock_complain(mock, "the clock is set to %x", value);
		mock->clock = value;
		break;
	case NPU_REG_CORE_PANIC:
		mock->panic = value;
		mock->irq |= NPU_IRQ_FATAL;
		rv32_halt(mock->core);
		break;
	default:
		mock_complain(mock, "write to register %x", offset);
	}
}

static bool in_registers(uint32_t address)
{
	return address >= NPU_FW_MMIO_BASE && address - NPU_FW_MMIO_BASE < NPU_FW_MMIO_SIZE;
}

static bool bus_load(void *opaque, uint32_t address, unsigned int width, uint32_t *value)
{
	struct mock *mock = opaque;

	if (!in_registers(address))
		return false;
	if (width != 4)
		mock_complain(mock, "read of %u bytes at %x", width, address);
	*value = read_register(mock, address - NPU_FW_MMIO_BASE);
	return true;
}

static bool bus_store(void *opaque, uint32_t address, unsigned int width, uint32_t value)
{
	struct mock *mock = opaque;

	if (!in_registers(address))
		return false;
	if (width != 4)
		mock_complain(mock, "write of %u bytes at %x", width, address);
	write_register(mock, address - NPU_FW_MMIO_BASE, value);
	update_lines(mock);
	/* What was written may have made something happen earlier than it was known. */
	rv32_stop(mock->core);
	return true;
}

/* ------------------------------------------------------------------------------ time */

static void advance_to(struct mock *mock, uint64_t until)
{
	while (mock_now(mock) < until) {
		uint64_t next = mock_slot_next(mock);

		if (mock->timecmp > mock_now(mock) && mock->timecmp < next)
			next = mock->timecmp;
		if (next > until)
			next = until;
		if (mock->core->status == RV32_RUNNING)
			rv32_run(mock->core, next);
		else if (next > mock_now(mock))
			rv32_idle(mock->core, next - mock_now(mock));
		mock_slot_advance(mock);
		update_lines(mock);
	}
}

void mock_run(struct mock *mock, uint64_t cycles)
{
	advance_to(mock, mock_now(mock) + cycles);
}

bool mock_quiet(const struct mock *mock)
{
	return mock->core->status != RV32_RUNNING && mock->timecmp == NEVER &&
	       mock_slot_next(mock) == NEVER;
}

void mock_settle(struct mock *mock, uint64_t limit)
{
	uint64_t end = mock_now(mock) + limit;

	while (!mock_quiet(mock)) {
		if (mock_now(mock) >= end)
			mock_complain(mock, "still busy after %llu cycles",
				      (unsigned long long)limit);
		mock_run(mock, 50);
	}
}

/* ------------------------------------------------------------------------------ host */

static void load_image(struct mock *mock, const char *path)
{
	static uint8_t image[NPU_FW_TCM_SIZE];
	uint32_t entry;
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(image, 1, sizeof(image), file);
	fclose(file);
	assert_int_equal(npu_boot_rom_load(image, size, mock->tcm, &entry),
			 NPU_BOOT_STATUS_RUNNING);
	rv32_init(mock->core, mock->tcm, &mock->bus);
	rv32_reset(mock->core, entry);
}

struct mock *mock_load(const struct mock_config *config, const char *path)
{
	struct mock *mock = calloc(1, sizeof(*mock));

	assert_non_null(mock);
	mock->core = malloc(sizeof(*mock->core));
	mock->tcm = malloc(NPU_FW_TCM_SIZE);
	assert_non_null(mock->core);
	assert_non_null(mock->tcm);
	mock->config = *config;
	mock->timecmp = NEVER;
	mock->bus = (struct rv32_bus){ mock, bus_load, bus_store };
	for (unsigned int i = 0; i < MOCK_SLOTS; i++)
		mock->slot[i].until = NEVER;
	load_image(mock, path);
	return mock;
}

struct mock *mock_create(const struct mock_config *config, const char *path)
{
	struct mock *mock = mock_load(config, path);

	mock_settle(mock, BOOT_LIMIT);
	assert_int_equal(mock->state, NPU_FW_STATE_READY);
	return mock;
}

void mock_destroy(struct mock *mock)
{
	if (!mock)
		return;
	free(mock->tcm);
	free(mock->core);
	free(mock);
}

void mock_push(struct mock *mock, unsigned int number, struct mock_task task)
{
	struct mock_queue *queue = &mock->queue[number];

	if (queue->pushed - queue->finished == MOCK_TASKS)
		mock_complain(mock, "queue %u is full", number);
	if (task.kind == MOCK_EXEC && task.cycles == 0)
		mock_complain(mock, "a task without duration");
	queue->task[queue->pushed++ % MOCK_TASKS] = task;
}

void mock_ring(struct mock *mock, unsigned int queue)
{
	mock_slot_doorbell(mock, queue);
}

void mock_signal(struct mock *mock, unsigned int context, unsigned int semaphore, uint64_t amount)
{
	mock->semaphore[context][semaphore] += amount;
	mock_slot_semaphore(mock, context);
}

void mock_post(struct mock *mock, const struct npu_message *message)
{
	memcpy(mock->to_firmware, message, sizeof(*message));
	mock->mail_in = true;
	mock_interrupt(mock, NPU_CORE_IRQ_MAILBOX);
}

bool mock_take(struct mock *mock, struct npu_message *message)
{
	if (!mock->mail_out)
		return false;
	memcpy(message, mock->to_host, sizeof(*message));
	mock->mail_out = false;
	mock_interrupt(mock, NPU_CORE_IRQ_MAILBOX);
	return true;
}

uint32_t mock_call(struct mock *mock, struct npu_message *message)
{
	uint64_t end = mock_now(mock) + CALL_LIMIT;
	struct npu_message reply;

	message->sequence = ++mock->sequence;
	mock_post(mock, message);
	while (mock_now(mock) < end) {
		mock_run(mock, 20);
		if (!mock_take(mock, &reply))
			continue;
		if (reply.kind == NPU_MESSAGE_ERROR_EVENT) {
			mock->reports++;
			mock->report = reply;
			continue;
		}
		assert_int_equal(reply.kind, message->kind);
		assert_int_equal(reply.sequence, message->sequence);
		*message = reply;
		return reply.status;
	}
	mock_complain(mock, "no reply to message %u", message->kind);
}

uint32_t mock_context(struct mock *mock, unsigned int context)
{
	struct npu_message message = { .kind = NPU_MESSAGE_CONTEXT_CREATE,
				       .argument = { context } };

	return mock_call(mock, &message);
}

uint32_t mock_context_destroy(struct mock *mock, unsigned int context)
{
	struct npu_message message = { .kind = NPU_MESSAGE_CONTEXT_DESTROY,
				       .argument = { context } };

	return mock_call(mock, &message);
}

uint32_t mock_queue(struct mock *mock, unsigned int queue, unsigned int context,
		    unsigned int priority)
{
	struct npu_message message = {
		.kind = NPU_MESSAGE_QUEUE_CREATE,
		.argument = { queue, context, 0x10000 * (queue + 1), 1, 6, priority },
	};

	return mock_call(mock, &message);
}

uint32_t mock_queue_destroy(struct mock *mock, unsigned int queue)
{
	struct npu_message message = { .kind = NPU_MESSAGE_QUEUE_DESTROY, .argument = { queue } };

	return mock_call(mock, &message);
}
