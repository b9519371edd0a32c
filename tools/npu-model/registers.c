// SPDX-License-Identifier: MIT
/*
 * Registers as host and control core see them. Manual: registers.rst.
 */
#include "registers.h"

#include <string.h>

#include "machine.h"
#include "memory.h"
#include "npu/npu_mailbox.h"

#define WORD(low, offset, words)	((offset) - (low) < 4u * (words))

static uint64_t pair(const uint32_t half[2])
{
	return (uint64_t)half[1] << 32 | half[0];
}

void npu_registers_reset(struct npu_model *model)
{
	memset(&model->registers, 0, sizeof(model->registers));
	model->registers.timecmp[0] = UINT32_MAX;
	model->registers.timecmp[1] = UINT32_MAX;
}

void npu_registers_raise(struct npu_model *model, uint32_t bits)
{
	struct npu_registers *registers = &model->registers;

	registers->irq_status |= bits;
	bits &= registers->irq_enable;
	if (!bits || npu_inject(model, NPU_INJECT_DROP_IRQ))
		return;
	if (model->ops.irq)
		model->ops.irq(model->host, bits);
}

void npu_registers_memory_error(struct npu_model *model, bool corrected, unsigned int cluster,
				uint32_t offset)
{
	struct npu_registers *registers = &model->registers;

	if (corrected)
		model->counters.ecc_corrected++;
	else
		model->counters.ecc_uncorrected++;
	registers->error_status |= corrected ? NPU_ERROR_STATUS_CORRECTED :
					       NPU_ERROR_STATUS_UNCORRECTED;
	registers->error_cluster = cluster;
	registers->error_address = offset;
}

void npu_registers_trip(struct npu_model *model)
{
	model->injection.tripped = true;
	model->registers.error_status |= NPU_ERROR_STATUS_TEMPERATURE;
	npu_registers_raise(model, NPU_IRQ_FATAL);
}

void npu_registers_core_irq(struct npu_model *model, uint32_t bits)
{
	model->registers.core_irq_pending |= bits;
	npu_core_update(model);
}

void npu_registers_fault(struct npu_model *model, const struct npu_fault_record *fault)
{
	struct npu_host_ring *ring = &model->registers.faults;
	bool was_empty = npu_host_ring_empty(ring);
	uint64_t entry[4] = {
		(uint64_t)fault->task_id << 32 | (fault->queue & 0xffu) << 24 |
			(fault->context & 0xffu) << 16 | (fault->error & 0xff) << 8,
		fault->address,
		(uint64_t)fault->cluster << 32 | fault->access,
		(uint64_t)fault->instruction << 32 | fault->program_offset,
	};

	if (!npu_host_ring_append(model, ring, entry, 4)) {
		ring->lost++;
		return;
	}
	if (was_empty)
		npu_registers_raise(model, NPU_IRQ_FAULT);
}

bool npu_registers_event(struct npu_model *model, enum npu_event_kind kind, unsigned int context,
			 uint32_t number, uint64_t value)
{
	struct npu_host_ring *ring = &model->registers.events;
	bool was_empty = npu_host_ring_empty(ring);
	uint64_t entry[2] = {
		(uint64_t)number << 32 | (uint64_t)context << 16 | (uint64_t)kind << 8,
		value,
	};

	if (!npu_host_ring_append(model, ring, entry, 2))
		return false;
	/* With more in the ring the driver has still to post its index, and is told then. */
	if (was_empty)
		npu_registers_raise(model, NPU_IRQ_EVENT);
	return true;
}

void npu_registers_queue_error(struct npu_model *model, unsigned int number)
{
	const struct npu_queue *queue = &model->command.queue[number];
	const struct npu_host_ring *ring = &model->registers.events;

	/* Without a ring, or memory behind it, nobody will ever see this event. */
	if (!npu_registers_event(model, NPU_EVENT_QUEUE_ERROR, queue->context, number,
				 queue->error) &&
	    ring->log2 && npu_host_ring_full(ring))
		model->registers.queue_errors |= 1ull << number;
}

/* The driver posted its index of the event ring: there may be room for what had to wait. */
static void events_consumed(struct npu_model *model, uint32_t index)
{
	struct npu_registers *registers = &model->registers;

	npu_host_ring_consume(&registers->events, index);
	if (!npu_host_ring_empty(&registers->events))
		npu_registers_raise(model, NPU_IRQ_EVENT);
	while (registers->queue_errors && !npu_host_ring_full(&registers->events)) {
		unsigned int queue = (unsigned int)__builtin_ctzll(registers->queue_errors);

		registers->queue_errors &= registers->queue_errors - 1;
		npu_registers_queue_error(model, queue);
	}
	npu_semaphore_retry_events(model);
}

static void faults_consumed(struct npu_model *model, uint32_t index)
{
	npu_host_ring_consume(&model->registers.faults, index);
	if (!npu_host_ring_empty(&model->registers.faults))
		npu_registers_raise(model, NPU_IRQ_FAULT);
}

static void context_update(struct npu_model *model, uint32_t context)
{
	uint64_t table = pair(model->registers.context_table) & ~NPU_PAGE_MASK;
	const struct npu_context_entry *from;
	struct npu_context_entry entry;
	bool valid;

	if (context >= model->config.contexts)
		return;
	from = npu_host_pointer(model, table + context * sizeof(entry), false);
	if (!from)
		return;
	memcpy(&entry, from, sizeof(entry));
	valid = le32toh(entry.flags) & NPU_CONTEXT_VALID;
	if (valid && !model->mmu.valid[context])
		npu_scrub_forget(model, context);
	npu_mmu_set_context(&model->mmu, context, valid,
			    le64toh(entry.page_table) & ~NPU_PAGE_MASK);
	npu_semaphore_context_update(model, context, valid, le64toh(entry.semaphores),
				     le64toh(entry.thresholds));
	npu_context_counters_update(model, context, valid, le64toh(entry.counters));
}

static void tlb_invalidate(struct npu_model *model, uint32_t value)
{
	struct npu_registers *registers = &model->registers;
	uint32_t context = value >> 8 & 0xff;

	if (context >= NPU_CONTEXTS_MAX || !(value & 3))
		return;
	/* Those behind it wait for it. */
	if (model->injection.tlb_hung || npu_inject(model, NPU_INJECT_TLB_HANG)) {
		model->injection.tlb_hung = true;
		return;
	}
	switch (value & 3) {
	case 1:
		npu_mmu_invalidate_all(&model->mmu);
		break;
	case 2:
		npu_mmu_invalidate_context(&model->mmu, context);
		break;
	case 3:
		npu_mmu_invalidate_range(&model->mmu, context, pair(registers->tlb_address),
					 pair(registers->tlb_bytes));
		break;
	default:
		return;
	}
	registers->tlb_done++;
}

static uint32_t capability(const struct npu_config *config, uint32_t offset)
{
	switch (offset) {
	case NPU_REG_ID:
		return NPU_ID_VALUE;
	case NPU_REG_HW_VERSION:
		return NPU_HW_VERSION;
	case NPU_REG_CLUSTERS:
		return config->clusters;
	case NPU_REG_MAC_CHANNELS:
		return config->mac_channels;
	case NPU_REG_MAC_DEPTH:
		return config->mac_depth;
	case NPU_REG_LOCAL_BYTES:
		return config->local_bytes;
	case NPU_REG_GLOBAL_BYTES:
		return config->global_bytes;
	case NPU_REG_ACC_BYTES:
		return config->acc_bytes;
	case NPU_REG_DMA_CHANNELS:
		return config->clusters * config->dma_channels;
	case NPU_REG_DRAM_BYTES_PER_CYCLE:
		return config->dram_bytes;
	case NPU_REG_DRAM_LATENCY:
		return config->dram_latency;
	case NPU_REG_CLOCK_HZ:
		return config->clock_hz;
	case NPU_REG_QUEUES:
		return config->queues;
	case NPU_REG_SLOTS:
		return config->slots;
	case NPU_REG_CONTEXTS:
		return config->contexts;
	case NPU_REG_SEMAPHORES:
		return config->semaphores;
	case NPU_REG_VECTOR_BYTES:
		return config->vector_bytes;
	case NPU_REG_OUT_RESULTS:
		return config->out_results;
	default:
		return 0;
	}
}

static uint32_t name_word(const struct npu_config *config, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, config->name + (offset - NPU_REG_CONFIG_NAME), sizeof(word));
	return le32toh(word);
}

/* A 64-bit counter by the offset of its low word; false when there is none. */
static bool counter(const struct npu_model *model, uint32_t offset, uint64_t *value)
{
	const struct npu_counters *counters = &model->counters;

	switch (offset) {
	case NPU_REG_TIME_LO:
		*value = model->now;
		return true;
	case NPU_REG_COUNTER_TASKS_LO:
		*value = counters->tasks;
		return true;
	case NPU_REG_COUNTER_MAC_LO:
		*value = counters->mac;
		return true;
	case NPU_REG_COUNTER_VECTOR_LO:
		*value = counters->vector;
		return true;
	case NPU_REG_COUNTER_DMA_LO:
		*value = counters->dma;
		return true;
	case NPU_REG_COUNTER_DRAM_READ_LO:
		*value = counters->dram_read * NPU_BURST_BYTES;
		return true;
	case NPU_REG_COUNTER_DRAM_WRITE_LO:
		*value = counters->dram_write * NPU_BURST_BYTES;
		return true;
	case NPU_REG_COUNTER_TLB_MISS_LO:
		*value = model->mmu.misses;
		return true;
	case NPU_REG_COUNTER_SCRUB_LO:
		*value = counters->scrub;
		return true;
	case NPU_REG_COUNTER_PREEMPTIONS_LO:
		*value = counters->preemptions;
		return true;
	case NPU_REG_COUNTER_ECC_CORRECTED_LO:
		*value = counters->ecc_corrected;
		return true;
	case NPU_REG_COUNTER_ECC_UNCORRECTED_LO:
		*value = counters->ecc_uncorrected;
		return true;
	case NPU_REG_COUNTER_SLEEP_LO:
		*value = npu_power_slept(model);
		return true;
	case NPU_REG_COUNTER_WAKES_LO:
		*value = model->power.wakes;
		return true;
	case NPU_REG_COUNTER_ENERGY_LO:
		*value = model->heat.energy;
		return true;
	case NPU_REG_COUNTER_POINT_LO(0):
	case NPU_REG_COUNTER_POINT_LO(1):
	case NPU_REG_COUNTER_POINT_LO(2):
	case NPU_REG_COUNTER_POINT_LO(3):
		*value = npu_clock_counter(model, (offset - NPU_REG_COUNTER_POINT_LO(0)) / 8);
		return true;
	default:
		return false;
	}
}

/* Reading the low word keeps the high one of the same moment for the same reader. */
static bool read_counter(const struct npu_model *model, uint32_t offset, uint32_t *latch,
			 uint32_t *value)
{
	uint64_t whole;

	if (offset < NPU_REG_TIME_LO || offset > NPU_REG_COUNTER_POINT_HI(NPU_CLOCK_POINTS - 1))
		return false;
	if (counter(model, offset, &whole)) {
		*latch = (uint32_t)(whole >> 32);
		*value = (uint32_t)whole;
		return true;
	}
	*value = counter(model, offset - 4, &whole) ? *latch : 0;
	return true;
}

/* What both sides read alike, except counters. */
static uint32_t read_common(const struct npu_model *model, uint32_t offset)
{
	const struct npu_registers *registers = &model->registers;

	if (WORD(NPU_REG_CONFIG_NAME, offset, 4))
		return name_word(&model->config, offset);
	if (WORD(NPU_REG_MAILBOX_TO_FW, offset, NPU_MAILBOX_WORDS))
		return registers->to_fw[(offset - NPU_REG_MAILBOX_TO_FW) / 4];
	if (WORD(NPU_REG_MAILBOX_TO_HOST, offset, NPU_MAILBOX_WORDS))
		return registers->to_host[(offset - NPU_REG_MAILBOX_TO_HOST) / 4];
	if (WORD(NPU_REG_CLOCK_POINT_HZ(0), offset, NPU_CLOCK_POINTS))
		return npu_clock_point_hz(&model->config,
					  (offset - NPU_REG_CLOCK_POINT_HZ(0)) / 4);
	switch (offset) {
	case NPU_REG_BOOT_ADDRESS_LO:
		return registers->boot_address[0];
	case NPU_REG_BOOT_ADDRESS_HI:
		return registers->boot_address[1];
	case NPU_REG_BOOT_SIZE:
		return registers->boot_size;
	case NPU_REG_BOOT_STATUS:
		return registers->boot_status;
	case NPU_REG_FW_ALIVE:
		return registers->fw_alive;
	case NPU_REG_FW_STATE:
		return registers->fw_state;
	case NPU_REG_IRQ_STATUS:
		return registers->irq_status;
	case NPU_REG_IRQ_ENABLE:
		return registers->irq_enable;
	case NPU_REG_MAILBOX_TO_FW_SEND:
		return registers->to_fw_send;
	case NPU_REG_MAILBOX_TO_HOST_SEND:
		return registers->to_host_send;
	case NPU_REG_CONTEXT_TABLE_LO:
		return registers->context_table[0];
	case NPU_REG_CONTEXT_TABLE_HI:
		return registers->context_table[1];
	case NPU_REG_TLB_ADDRESS_LO:
		return registers->tlb_address[0];
	case NPU_REG_TLB_ADDRESS_HI:
		return registers->tlb_address[1];
	case NPU_REG_TLB_BYTES_LO:
		return registers->tlb_bytes[0];
	case NPU_REG_TLB_BYTES_HI:
		return registers->tlb_bytes[1];
	case NPU_REG_TLB_DONE:
		return registers->tlb_done;
	case NPU_REG_FAULT_BASE_LO:
		return registers->fault_base[0];
	case NPU_REG_FAULT_BASE_HI:
		return registers->fault_base[1];
	case NPU_REG_FAULT_LOG2:
		return registers->faults.log2;
	case NPU_REG_FAULT_CONSUMER:
		return registers->faults.consumer;
	case NPU_REG_FAULT_LOST:
		return registers->faults.lost;
	case NPU_REG_EVENT_BASE_LO:
		return registers->event_base[0];
	case NPU_REG_EVENT_BASE_HI:
		return registers->event_base[1];
	case NPU_REG_EVENT_LOG2:
		return registers->events.log2;
	case NPU_REG_EVENT_CONSUMER:
		return registers->events.consumer;
	case NPU_REG_ERROR_STATUS:
		return registers->error_status;
	case NPU_REG_ERROR_CLUSTER:
		return registers->error_cluster;
	case NPU_REG_ERROR_ADDRESS:
		return registers->error_address;
	case NPU_REG_CLUSTERS_ASLEEP:
		return model->power.asleep;
	case NPU_REG_CLOCK:
		return npu_clock_register(&model->clock);
	case NPU_REG_CLOCK_POINTS:
		return NPU_CLOCK_POINTS;
	case NPU_REG_TEMPERATURE:
		return npu_heat_temperature(model);
	case NPU_REG_HEAT_COOL:
		return NPU_HEAT_COOL;
	case NPU_REG_HEAT_HOT:
		return NPU_HEAT_HOT;
	case NPU_REG_HEAT_TRIP:
		return NPU_HEAT_TRIP;
	case NPU_REG_POWER:
		return model->heat.milliwatts;
	default:
		return capability(&model->config, offset);
	}
}

uint32_t npu_model_register_read(struct npu_model *model, uint32_t offset)
{
	uint32_t value;

	if (model->injection.dead)
		return ~0u;
	if (offset % 4 || offset >= NPU_REG_CORE_ONLY)
		return 0;
	if (read_counter(model, offset, &model->registers.host_latch, &value))
		return value;
	return read_common(model, offset);
}

static void write_irq_enable(struct npu_model *model, uint32_t value)
{
	struct npu_registers *registers = &model->registers;
	uint32_t before = registers->irq_enable;

	registers->irq_enable = value & ((1u << NPU_IRQ_COUNT) - 1);
	/* What was waiting for it is raised now. */
	npu_registers_raise(model, registers->irq_status & registers->irq_enable & ~before);
}

static void write_boot(struct npu_model *model, uint32_t value)
{
	if (value == NPU_BOOT_START)
		npu_core_boot(model);
	else if (value == NPU_BOOT_RESET)
		npu_model_reset(model);
}

static void write_mailbox_host(struct npu_model *model, uint32_t offset, uint32_t value)
{
	struct npu_registers *registers = &model->registers;

	if (offset == NPU_REG_MAILBOX_TO_FW_SEND) {
		if (!(value & 1))
			return;
		registers->to_fw_send = 1;
	} else {
		if (value & 1)
			return;
		registers->to_host_send = 0;
	}
	npu_registers_core_irq(model, NPU_CORE_IRQ_MAILBOX);
}

/* Plain registers: a value that other ones use later. */
static bool write_plain(struct npu_registers *registers, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NPU_REG_BOOT_ADDRESS_LO:
		registers->boot_address[0] = value;
		return true;
	case NPU_REG_BOOT_ADDRESS_HI:
		registers->boot_address[1] = value;
		return true;
	case NPU_REG_BOOT_SIZE:
		registers->boot_size = value;
		return true;
	case NPU_REG_CONTEXT_TABLE_LO:
		registers->context_table[0] = value;
		return true;
	case NPU_REG_CONTEXT_TABLE_HI:
		registers->context_table[1] = value;
		return true;
	case NPU_REG_TLB_ADDRESS_LO:
		registers->tlb_address[0] = value;
		return true;
	case NPU_REG_TLB_ADDRESS_HI:
		registers->tlb_address[1] = value;
		return true;
	case NPU_REG_TLB_BYTES_LO:
		registers->tlb_bytes[0] = value;
		return true;
	case NPU_REG_TLB_BYTES_HI:
		registers->tlb_bytes[1] = value;
		return true;
	case NPU_REG_FAULT_BASE_LO:
		registers->fault_base[0] = value;
		registers->faults.base = pair(registers->fault_base);
		return true;
	case NPU_REG_FAULT_BASE_HI:
		registers->fault_base[1] = value;
		registers->faults.base = pair(registers->fault_base);
		return true;
	case NPU_REG_EVENT_BASE_LO:
		registers->event_base[0] = value;
		registers->events.base = pair(registers->event_base);
		return true;
	case NPU_REG_EVENT_BASE_HI:
		registers->event_base[1] = value;
		registers->events.base = pair(registers->event_base);
		return true;
	default:
		return false;
	}
}

void npu_model_register_write(struct npu_model *model, uint32_t offset, uint32_t value)
{
	struct npu_registers *registers = &model->registers;

	if (model->injection.dead || offset % 4 || offset >= NPU_REG_CORE_ONLY ||
	    write_plain(registers, offset, value))
		return;
	npu_arrival_write(model, offset, value);
	if (WORD(NPU_REG_MAILBOX_TO_FW, offset, NPU_MAILBOX_WORDS)) {
		registers->to_fw[(offset - NPU_REG_MAILBOX_TO_FW) / 4] = value;
		return;
	}
	switch (offset) {
	case NPU_REG_BOOT_CONTROL:
		write_boot(model, value);
		break;
	case NPU_REG_IRQ_STATUS:
		registers->irq_status &= ~value;
		break;
	case NPU_REG_ERROR_STATUS:
		registers->error_status &= ~(value & ~NPU_ERROR_STATUS_TEMPERATURE);
		break;
	case NPU_REG_IRQ_ENABLE:
		write_irq_enable(model, value);
		break;
	case NPU_REG_MAILBOX_TO_FW_SEND:
	case NPU_REG_MAILBOX_TO_HOST_SEND:
		write_mailbox_host(model, offset, value);
		break;
	case NPU_REG_CONTEXT_UPDATE:
		context_update(model, value);
		break;
	case NPU_REG_TLB_INVALIDATE:
		tlb_invalidate(model, value);
		break;
	case NPU_REG_FAULT_LOG2:
		npu_host_ring_configure(&registers->faults, value);
		break;
	case NPU_REG_FAULT_CONSUMER:
		faults_consumed(model, value);
		break;
	case NPU_REG_EVENT_LOG2:
		npu_host_ring_configure(&registers->events, value);
		break;
	case NPU_REG_EVENT_CONSUMER:
		events_consumed(model, value);
		break;
	case NPU_REG_WATCH_ARM:
		npu_semaphore_arm(model, value >> 16, value & 0xffff);
		break;
	default:
		break;
	}
}

#define QUEUE_STRIDE	(NPU_REG_QUEUE(1) - NPU_REG_QUEUE(0))
#define SLOT_STRIDE	(NPU_REG_SLOT(1) - NPU_REG_SLOT(0))

/* The index of a queue's or slot's block @offset is in; false when in none. */
static bool in_block(uint32_t offset, uint32_t base, uint32_t stride, uint32_t count,
		     unsigned int *index)
{
	if (offset < base || offset >= base + stride * count)
		return false;
	*index = (offset - base) / stride;
	return true;
}

static uint32_t read_core_only(struct npu_model *model, uint32_t offset)
{
	struct npu_registers *registers = &model->registers;
	unsigned int index;

	if (in_block(offset, NPU_REG_QUEUE(0), QUEUE_STRIDE, model->config.queues, &index))
		return npu_command_queue_read(model, index, offset % QUEUE_STRIDE);
	if (in_block(offset, NPU_REG_SLOT(0), SLOT_STRIDE, model->config.slots, &index))
		return npu_command_slot_read(model, index, offset % SLOT_STRIDE);
	if (in_block(offset, NPU_REG_SLOT_LEFT(0), 4, model->config.slots, &index))
		return npu_command_slot_left(model, index);
	switch (offset) {
	case NPU_REG_CORE_IRQ_PENDING:
		return registers->core_irq_pending;
	case NPU_REG_CORE_IRQ_ENABLE:
		return registers->core_irq_enable;
	case NPU_REG_CORE_TIME_LO:
		registers->core_latch = (uint32_t)(model->now >> 32);
		return (uint32_t)model->now;
	case NPU_REG_CORE_TIME_HI:
		return registers->core_latch;
	case NPU_REG_CORE_TIMECMP_LO:
		return registers->timecmp[0];
	case NPU_REG_CORE_TIMECMP_HI:
		return registers->timecmp[1];
	case NPU_REG_CORE_DOORBELLS_LO:
		return (uint32_t)model->command.rung;
	case NPU_REG_CORE_DOORBELLS_HI:
		return (uint32_t)(model->command.rung >> 32);
	case NPU_REG_CORE_LOG:
		return registers->core_log;
	case NPU_REG_CORE_WATCHDOG:
		return registers->core_watchdog[0];
	case NPU_REG_CORE_WATCHDOG_TASK:
		return registers->core_watchdog[1];
	case NPU_REG_CORE_STUCK:
		return npu_exec_stuck_clusters(model);
	case NPU_REG_CORE_PANIC:
		return registers->core_panic;
	case NPU_REG_CORE_NEXT:
		return model->command.next;
	default:
		return 0;
	}
}

uint32_t npu_model_core_read(struct npu_model *model, uint32_t offset)
{
	uint32_t value;

	if (offset % 4)
		return 0;
	if (offset >= NPU_REG_CORE_ONLY)
		return read_core_only(model, offset);
	if (read_counter(model, offset, &model->registers.core_latch, &value))
		return value;
	return read_common(model, offset);
}

static void write_core_only(struct npu_model *model, uint32_t offset, uint32_t value)
{
	struct npu_registers *registers = &model->registers;
	unsigned int index;

	if (in_block(offset, NPU_REG_QUEUE(0), QUEUE_STRIDE, model->config.queues, &index)) {
		npu_command_queue_write(model, index, offset % QUEUE_STRIDE, value);
		return;
	}
	if (in_block(offset, NPU_REG_SLOT(0), SLOT_STRIDE, model->config.slots, &index)) {
		npu_command_slot_write(model, index, offset % SLOT_STRIDE, value);
		return;
	}
	switch (offset) {
	case NPU_REG_CORE_IRQ_PENDING:
		registers->core_irq_pending &= ~value;
		npu_core_update(model);
		break;
	case NPU_REG_CORE_IRQ_ENABLE:
		registers->core_irq_enable = value;
		npu_core_update(model);
		break;
	case NPU_REG_CORE_TIMECMP_LO:
	case NPU_REG_CORE_TIMECMP_HI:
		registers->timecmp[offset == NPU_REG_CORE_TIMECMP_HI] = value;
		npu_core_update(model);
		break;
	case NPU_REG_CORE_DOORBELLS_LO:
		model->command.rung &= ~(uint64_t)value;
		break;
	case NPU_REG_CORE_DOORBELLS_HI:
		model->command.rung &= ~((uint64_t)value << 32);
		break;
	case NPU_REG_CORE_LOG:
		registers->core_log = value;
		break;
	case NPU_REG_CORE_STUCK:
		npu_exec_reset_clusters(model, value);
		break;
	case NPU_REG_CORE_PANIC:
		registers->core_panic = value;
		npu_core_halt(model);
		break;
	case NPU_REG_CORE_NEXT:
		npu_command_next(model, value);
		break;
	case NPU_REG_CORE_SLEEP:
		npu_power_sleep(model, value);
		break;
	case NPU_REG_CORE_CLOCK:
		npu_clock_set(model, value);
		break;
	default:
		break;
	}
}

void npu_model_core_write(struct npu_model *model, uint32_t offset, uint32_t value)
{
	struct npu_registers *registers = &model->registers;

	if (offset % 4)
		return;
	if (offset >= NPU_REG_CORE_ONLY) {
		write_core_only(model, offset, value);
		return;
	}
	if (WORD(NPU_REG_MAILBOX_TO_HOST, offset, NPU_MAILBOX_WORDS)) {
		registers->to_host[(offset - NPU_REG_MAILBOX_TO_HOST) / 4] = value;
		return;
	}
	switch (offset) {
	case NPU_REG_FW_ALIVE:
		registers->fw_alive = value;
		npu_core_turn(model);
		break;
	case NPU_REG_FW_STATE:
		registers->fw_state = value;
		break;
	case NPU_REG_MAILBOX_TO_FW_SEND:
		if (!(value & 1))
			registers->to_fw_send = 0;
		break;
	case NPU_REG_MAILBOX_TO_HOST_SEND:
		if (!(value & 1))
			break;
		registers->to_host_send = 1;
		npu_registers_raise(model, NPU_IRQ_MAILBOX);
		break;
	default:
		break;
	}
}
