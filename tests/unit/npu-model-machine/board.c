// SPDX-License-Identifier: MIT
/* See board.h. */
#include "board.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *translate(void *host, uint64_t address, uint64_t size, bool write)
{
	struct board *board = host;

	(void)write;
	if (address < BOARD_MEMORY_BASE ||
	    address - BOARD_MEMORY_BASE > BOARD_MEMORY_BYTES - size)
		return NULL;
	if (board->hole && address == board->hole)
		return NULL;
	return board->memory + (address - BOARD_MEMORY_BASE);
}

static void irq(void *host, uint32_t vectors)
{
	struct board *board = host;

	board->irqs |= vectors;
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		board->irq_count[i] += vectors >> i & 1;
}

const struct npu_model_host_ops board_host_ops = { .translate = translate, .irq = irq };

static void write64(struct board *board, uint32_t low, uint64_t value)
{
	npu_model_register_write(board->model, low, (uint32_t)value);
	npu_model_register_write(board->model, low + 4, (uint32_t)(value >> 32));
}

void board_restart(struct board *board)
{
	memset(board_dma(board, BOARD_EVENTS), 0, 4096);
	memset(board_dma(board, BOARD_FAULTS), 0, 4096);
	board->events_read = 0;
	board->faults_read = 0;
	write64(board, NPU_REG_CONTEXT_TABLE_LO, BOARD_CONTEXT_TABLE);
	write64(board, NPU_REG_EVENT_BASE_LO, BOARD_EVENTS);
	npu_model_register_write(board->model, NPU_REG_EVENT_LOG2, BOARD_EVENTS_LOG2);
	write64(board, NPU_REG_FAULT_BASE_LO, BOARD_FAULTS);
	npu_model_register_write(board->model, NPU_REG_FAULT_LOG2, BOARD_FAULTS_LOG2);
	npu_model_register_write(board->model, NPU_REG_IRQ_ENABLE, 0xf);
}

struct board *board_create(const char *config)
{
	struct board *board = calloc(1, sizeof(*board));
	char error[256] = "";

	assert_non_null(board);
	board->memory = mmap(NULL, BOARD_MEMORY_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(board->memory, MAP_FAILED);
	board->free_table = BOARD_MEMORY_BASE + (1u << 20);
	board->free_page = BOARD_MEMORY_BASE + (4u << 20);
	board->va = BOARD_VA;
	board->model = npu_model_create(config, &board_host_ops, board, error, sizeof(error));
	if (!board->model)
		fail_msg("npu_model_create: %s", error);
	board_restart(board);
	return board;
}

void board_destroy(struct board *board)
{
	npu_model_destroy(board->model);
	munmap(board->memory, BOARD_MEMORY_BYTES);
	free(board);
}

void *board_dma(struct board *board, uint64_t address)
{
	assert_in_range(address, BOARD_MEMORY_BASE, BOARD_MEMORY_BASE + BOARD_MEMORY_BYTES - 1);
	return board->memory + (address - BOARD_MEMORY_BASE);
}

uint64_t board_pages(struct board *board, unsigned int count)
{
	uint64_t address = board->free_page;

	board->free_page += count * 4096ull;
	assert_true(board->free_page <= BOARD_MEMORY_BASE + BOARD_MEMORY_BYTES);
	return address;
}

static uint64_t new_table(struct board *board)
{
	uint64_t address = board->free_table;

	board->free_table += 4096;
	assert_true(address < BOARD_MEMORY_BASE + (4u << 20));
	return address;
}

uint64_t *board_entry(struct board *board, unsigned int context, uint64_t va, unsigned int level)
{
	uint64_t table;

	if (!board->root[context])
		board->root[context] = new_table(board);
	table = board->root[context];
	for (unsigned int at = 2;; at--) {
		uint64_t *entry =
			(uint64_t *)board_dma(board, table) + (va >> (12 + 9 * at) & 0x1ff);

		if (at == level)
			return entry;
		if (!*entry)
			*entry = new_table(board) >> 12 << 10 | PTE_V;
		table = *entry >> 10 << 12;
	}
}

void board_map(struct board *board, unsigned int context, uint64_t va, uint64_t address,
	       unsigned int level, uint64_t flags)
{
	*board_entry(board, context, va, level) = address >> 12 << 10 | flags;
}

void board_update_context(struct board *board, unsigned int context, bool valid)
{
	struct npu_context_entry *entry = board_dma(board, BOARD_CONTEXT_TABLE);

	entry[context] = (struct npu_context_entry){
		.flags = valid ? NPU_CONTEXT_VALID : 0,
		.page_table = board->root[context],
		.semaphores = BOARD_AREA(context),
		.thresholds = BOARD_THRESHOLDS(context),
		.counters = BOARD_COUNTERS(context),
	};
	npu_model_register_write(board->model, NPU_REG_CONTEXT_UPDATE, context);
}

void board_add_context(struct board *board, unsigned int context)
{
	unsigned int pages = BOARD_CONTEXT_BYTES / 4096;

	board->data[context] = board_pages(board, pages);
	for (unsigned int i = 0; i < pages; i++)
		board_map(board, context, board->va + i * 4096ull,
			  board->data[context] + i * 4096ull, 0, PTE_ALL);
	board_update_context(board, context, true);
}

void *board_at(struct board *board, unsigned int context, uint64_t offset)
{
	return board_dma(board, board->data[context] + offset);
}

uint64_t board_va(const struct board *board, uint64_t offset)
{
	return board->va + offset;
}

void board_add_queue(struct board *board, unsigned int queue, unsigned int context,
		     uint64_t offset, unsigned int log2)
{
	uint64_t va = board_va(board, offset);
	uint32_t block = NPU_REG_QUEUE(queue);

	board->ring[queue] = offset;
	board->ring_log2[queue] = log2;
	board->queue_context[queue] = context;
	board->write_index[queue] = 0;
	npu_model_core_write(board->model, block + NPU_QUEUE_RING_LO, (uint32_t)va);
	npu_model_core_write(board->model, block + NPU_QUEUE_RING_HI, (uint32_t)(va >> 32));
	npu_model_core_write(board->model, block + NPU_QUEUE_READ_LO, 0);
	npu_model_core_write(board->model, block + NPU_QUEUE_READ_HI, 0);
	npu_model_core_write(board->model, block + NPU_QUEUE_CONFIG,
			     context | log2 << 8 | NPU_QUEUE_CONFIG_VALID);
}

void board_attach(struct board *board, unsigned int slot, unsigned int queue)
{
	npu_model_core_write(board->model, NPU_REG_SLOT(slot) + NPU_SLOT_CONTROL,
			     NPU_SLOT_ATTACH | queue);
}

void board_grant(struct board *board, unsigned int slot, uint32_t mask, uint32_t window,
		 uint32_t bytes)
{
	uint32_t block = NPU_REG_SLOT(slot);

	npu_model_core_write(board->model, block + NPU_SLOT_GRANT_WINDOW, window);
	npu_model_core_write(board->model, block + NPU_SLOT_GRANT_WINDOW_BYTES, bytes);
	npu_model_core_write(board->model, block + NPU_SLOT_GRANT, mask);
}

struct npu_ring_control *board_ring(struct board *board, unsigned int queue)
{
	return board_at(board, board->queue_context[queue], board->ring[queue]);
}

void board_push(struct board *board, unsigned int queue, const void *packet)
{
	uint64_t index = board->write_index[queue]++;
	unsigned int log2 = board->ring_log2[queue];
	uint8_t *slot = (uint8_t *)board_ring(board, queue) + NPU_RING_PACKETS_OFFSET +
			(index & ((1ull << log2) - 1)) * NPU_PACKET_BYTES;
	uint32_t header;

	memcpy(slot, packet, NPU_PACKET_BYTES);
	memcpy(&header, packet, sizeof(header));
	if (!(index >> log2 & 1))
		header |= NPU_PACKET_PHASE;
	memcpy(slot, &header, sizeof(header));
}

void board_ring_doorbell(struct board *board, unsigned int queue)
{
	npu_model_doorbell(board->model, queue, NPU_DOORBELL_RING, board->write_index[queue], 8);
}

void board_run(struct board *board, uint64_t cycles)
{
	if (!npu_model_run(board->model, cycles))
		fail_msg("the device is not idle after %llu cycles", (unsigned long long)cycles);
}

uint32_t board_slot(struct board *board, unsigned int slot, uint32_t offset)
{
	return npu_model_core_read(board->model, NPU_REG_SLOT(slot) + offset);
}

void board_control(struct board *board, unsigned int slot, uint32_t value)
{
	npu_model_core_write(board->model, NPU_REG_SLOT(slot) + NPU_SLOT_CONTROL, value);
}

uint32_t board_state(struct board *board, unsigned int slot)
{
	return board_slot(board, slot, NPU_SLOT_STATE) & 0xff;
}

uint64_t board_semaphore(struct board *board, unsigned int context, unsigned int semaphore)
{
	const uint64_t *area = board_dma(board, BOARD_AREA(context));

	return area[semaphore];
}

static bool is_new(uint32_t header, uint32_t index, unsigned int log2)
{
	return (header & 1) == ((index >> log2 & 1) ^ 1);
}

const struct npu_fault *board_fault(struct board *board)
{
	const struct npu_fault *ring = board_dma(board, BOARD_FAULTS);
	const struct npu_fault *fault =
		&ring[board->faults_read & ((1u << BOARD_FAULTS_LOG2) - 1)];

	if (!is_new(fault->header, board->faults_read, BOARD_FAULTS_LOG2))
		return NULL;
	board->faults_read++;
	npu_model_register_write(board->model, NPU_REG_FAULT_CONSUMER, board->faults_read);
	return fault;
}

const struct npu_event *board_event(struct board *board)
{
	const struct npu_event *ring = board_dma(board, BOARD_EVENTS);
	const struct npu_event *event =
		&ring[board->events_read & ((1u << BOARD_EVENTS_LOG2) - 1)];

	if (!is_new(event->header, board->events_read, BOARD_EVENTS_LOG2))
		return NULL;
	board->events_read++;
	return event;
}

struct program program_begin(struct board *board, unsigned int context, uint64_t offset,
			     unsigned int clusters)
{
	struct program program = {
		.board = board,
		.context = context,
		.base = offset,
		.size = sizeof(struct npu_program_header),
		.header = board_at(board, context, offset),
	};

	*program.header = (struct npu_program_header){
		.magic = NPU_PROGRAM_MAGIC,
		.version = NPU_PROGRAM_VERSION,
		.clusters = (uint8_t)clusters,
		.dma_channels = (uint8_t)board->model->config.dma_channels,
		.local_bytes = board->model->config.local_bytes,
		.global_bytes = board->model->config.global_bytes,
	};
	program_stream(&program, 0);
	return program;
}

void program_stream(struct program *program, unsigned int cluster)
{
	program->header->entry[cluster] = program->size;
}

static void append(struct program *program, const void *bytes, uint32_t size)
{
	memcpy(board_at(program->board, program->context, program->base + program->size), bytes,
	       size);
	program->size += size;
	program->header->bytes = program->size;
}

void program_emit(struct program *program, struct npu_insn insn)
{
	insn.dst = insn.dst ? insn.dst : NPU_TD_NONE;
	for (unsigned int i = 0; i < 3; i++)
		insn.src[i] = insn.src[i] ? insn.src[i] : NPU_TD_NONE;
	append(program, &insn, sizeof(insn));
}

void program_descriptor(struct program *program, unsigned int reg, const void *td)
{
	program_emit(program, INSN(.opcode = NPU_OP_LDTD, .dst = (uint8_t)reg));
	append(program, td, NPU_TD_BYTES);
}

void program_finish(struct program *program)
{
	program_emit(program, INSN(.opcode = NPU_OP_END));
}

struct npu_td dense(unsigned int space, unsigned int argument, int64_t address, unsigned int dtype,
		    uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3)
{
	uint32_t size = NPU_DTYPE_BYTES(dtype);

	return (struct npu_td){
		.word0 = ((uint64_t)address & NPU_TD_ADDRESS_MASK) |
			 (uint64_t)argument << NPU_TD_ARG_SHIFT |
			 (uint64_t)space << NPU_TD_SPACE_SHIFT |
			 (uint64_t)dtype << NPU_TD_DTYPE_SHIFT,
		.dim = { (uint16_t)d0, (uint16_t)d1, (uint16_t)d2, (uint16_t)d3 },
		.stride = { d1 * d2 * d3 * size, d2 * d3 * size, d3 * size, size },
	};
}

struct npu_packet_exec exec_packet(const struct program *program, uint32_t task_id,
				   uint64_t arguments, unsigned int count, uint64_t record)
{
	return (struct npu_packet_exec){
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = task_id,
		.program = board_va(program->board, program->base),
		.arguments = board_va(program->board, arguments),
		.record = record ? board_va(program->board, record) : 0,
		.budget = 10000,
		.argument_count = (uint8_t)count,
		.signal_sem = NPU_SEM_NONE,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
}

void board_simple(struct board *board)
{
	const struct npu_config *config = &board->model->config;

	board_add_context(board, 0);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_attach(board, 0, 0);
	board_grant(board, 0, (1u << config->clusters) - 1, 0, config->global_bytes);
	board_run(board, 1000000);
}

const struct npu_record *board_execute(struct board *board, const struct program *program,
				       const uint64_t *arguments, unsigned int count)
{
	struct npu_packet_exec exec = exec_packet(program, 77, 0x2000, count, 0x3000);
	struct npu_record *record = board_at(board, 0, 0x3000);

	memset(record, 0, sizeof(*record));
	if (count)
		memcpy(board_at(board, 0, 0x2000), arguments, count * sizeof(*arguments));
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 100000000);
	assert_int_not_equal(record->status, NPU_STATUS_NONE);
	assert_int_equal(record->task_id, 77);
	return record;
}
