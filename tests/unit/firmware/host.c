// SPDX-License-Identifier: MIT
/*
 * The host of test-model.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "host.h"
#include "npu/npu_firmware.h"
#include "npu/npu_isa.h"

/* Host memory */
#define CONTEXT_TABLE	0x001000u
#define ROOT		0x002000u	/* one for all contexts: they map the same */
#define EVENTS		0x003000u
#define FAULTS		0x004000u
#define AREAS		0x010000u	/* two pages a context */
#define IMAGE		0x100000u
#define RINGS		0x200000u	/* 64 KiB a queue */
#define RECORDS		0x8000u		/* in a queue's */
#define ARGUMENTS	0xa000u		/* in a queue's too */
#define STORE_ARGUMENTS	0xb000u		/* 64 bytes a packet, and the same below */
#define STORE_DATA	0xc000u
#define STORED		0xd000u
#define PROGRAMS	0x600000u
#define SAVE_AREAS	0x700000u	/* 64 KiB a queue, of the first ones */
#define SAVE_AREA_QUEUES 16u
#define FREE		0x800000u
#define MEMORY_BYTES	0x10000000u	/* of which only what is used takes memory */

#define PAGE_ALL	0xdfu		/* valid, read, write, execute, user, accessed, dirty */
#define BOOT_LIMIT	1000000
#define CALL_LIMIT	50000000
#define BUDGET		1000000		/* 1024 cycles each: practically none */

const char *host_image(int count, char **arguments)
{
	if (count == 2)
		return arguments[1];
	fprintf(stderr, "usage: %s IMAGE\n", arguments[0]);
	exit(2);
}

static void *translate(void *opaque, uint64_t address, uint64_t size, bool write)
{
	struct host *host = opaque;

	(void)write;
	if (address >= MEMORY_BYTES || size > MEMORY_BYTES - address)
		return NULL;
	return host->memory + address;
}

static uint32_t read_register(struct host *host, uint32_t offset)
{
	return npu_model_register_read(host->model, offset);
}

static void write_register(struct host *host, uint32_t offset, uint32_t value)
{
	npu_model_register_write(host->model, offset, value);
}

static void boot(struct host *host)
{
	FILE *file = fopen(host->image, "rb");
	size_t size;

	assert_non_null(file);
	write_register(host, NPU_REG_CONTEXT_TABLE_LO, CONTEXT_TABLE);
	write_register(host, NPU_REG_EVENT_BASE_LO, EVENTS);
	write_register(host, NPU_REG_EVENT_LOG2, 6);
	write_register(host, NPU_REG_FAULT_BASE_LO, FAULTS);
	write_register(host, NPU_REG_FAULT_LOG2, 6);
	size = fread(host->memory + IMAGE, 1, NPU_FW_TCM_SIZE, file);
	fclose(file);
	write_register(host, NPU_REG_BOOT_ADDRESS_LO, IMAGE);
	write_register(host, NPU_REG_BOOT_SIZE, (uint32_t)size);
	write_register(host, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(host, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
	host_idle(host, BOOT_LIMIT);
	assert_int_equal(read_register(host, NPU_REG_FW_STATE), NPU_FW_STATE_READY);
}

struct host *host_create(const char *config, const char *path)
{
	const struct npu_model_host_ops ops = { .translate = translate };
	struct host *host = calloc(1, sizeof(*host));
	const uint64_t leaf = PAGE_ALL;
	char error[200];

	assert_non_null(host);
	host->free = FREE;
	host->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(host->memory, MAP_FAILED);
	memcpy(host->memory + ROOT, &leaf, sizeof(leaf));
	host->model = npu_model_create(config, &ops, host, error, sizeof(error));
	if (!host->model)
		fail_msg("%s", error);
	host->image = path;
	boot(host);
	return host;
}

void host_restart(struct host *host)
{
	write_register(host, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	boot(host);
}

void host_destroy(struct host *host)
{
	npu_model_destroy(host->model);
	munmap(host->memory, MEMORY_BYTES);
	free(host);
}

/* True when something was taken. */
static bool take_message(struct host *host, struct npu_message *message)
{
	uint32_t words[16];

	if (!read_register(host, NPU_REG_MAILBOX_TO_HOST_SEND))
		return false;
	for (unsigned int i = 0; i < 16; i++)
		words[i] = read_register(host, NPU_REG_MAILBOX_TO_HOST + 4 * i);
	write_register(host, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	memcpy(message, words, sizeof(*message));
	if (message->kind == NPU_MESSAGE_ERROR_EVENT) {
		host->reports++;
		host->report = *message;
	}
	return true;
}

void host_idle(struct host *host, uint64_t limit)
{
	uint64_t end = npu_model_time(host->model) + limit;
	struct npu_message message;

	while (npu_model_time(host->model) < end) {
		if (!npu_model_run(host->model, 100000))
			continue;
		if (take_message(host, &message))
			continue;
		if (npu_model_timer(host->model) == UINT64_MAX)
			return;
		npu_model_skip(host->model, npu_model_timer(host->model));
	}
	fail_msg("the device is still busy after %llu cycles", (unsigned long long)limit);
}

void host_post(struct host *host, struct npu_message *message)
{
	uint32_t words[16];

	message->sequence = ++host->sequence;
	memcpy(words, message, sizeof(words));
	for (unsigned int i = 0; i < 16; i++)
		write_register(host, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	write_register(host, NPU_REG_MAILBOX_TO_FW_SEND, 1);
}

uint32_t host_reply(struct host *host, struct npu_message *message)
{
	uint64_t end = npu_model_time(host->model) + CALL_LIMIT;
	struct npu_message reply;

	while (npu_model_time(host->model) < end) {
		npu_model_run(host->model, 100);
		if (!take_message(host, &reply) || reply.kind == NPU_MESSAGE_ERROR_EVENT)
			continue;
		assert_int_equal(reply.sequence, message->sequence);
		*message = reply;
		return reply.status;
	}
	fail_msg("no reply to message %u", message->kind);
	return 0;
}

uint32_t host_call(struct host *host, struct npu_message *message)
{
	host_post(host, message);
	return host_reply(host, message);
}

uint32_t host_call1(struct host *host, unsigned int kind, uint32_t argument)
{
	struct npu_message message = { .kind = (uint16_t)kind, .argument = { argument } };

	return host_call(host, &message);
}

void host_context(struct host *host, uint32_t context)
{
	const struct npu_context_entry entry = {
		.flags = NPU_CONTEXT_VALID,
		.page_table = ROOT,
		.semaphores = AREAS + context * 0x2000,
		.thresholds = AREAS + context * 0x2000 + 0x1000,
	};

	memcpy(host->memory + CONTEXT_TABLE + context * sizeof(entry), &entry, sizeof(entry));
	write_register(host, NPU_REG_CONTEXT_UPDATE, context);
	assert_int_equal(host_call1(host, NPU_MESSAGE_CONTEXT_CREATE, context), NPU_ERROR_NONE);
}

static uint32_t ring_address(unsigned int queue)
{
	return RINGS + queue * 0x10000;
}

void host_queue(struct host *host, uint32_t queue, uint32_t context, uint32_t priority)
{
	struct npu_message message = {
		.kind = NPU_MESSAGE_QUEUE_CREATE,
		.argument = { queue, context, ring_address(queue), 0, HOST_RING_LOG2, priority },
	};

	assert_true(ring_address(queue) < PROGRAMS);
	memset(host->memory + ring_address(queue), 0, 0x10000);
	host->index[queue] = 0;
	assert_int_equal(host_call(host, &message), NPU_ERROR_NONE);
}

void host_queue_again(struct host *host, uint32_t queue, uint32_t context, uint64_t index,
		      uint32_t error)
{
	struct npu_message message = {
		.kind = NPU_MESSAGE_QUEUE_CREATE,
		.argument = { queue, context, ring_address(queue), 0, HOST_RING_LOG2, 0,
			      (uint32_t)index, (uint32_t)(index >> 32), error },
	};

	assert_int_equal(host_call(host, &message), NPU_ERROR_NONE);
}

static uint32_t emit(uint8_t *program, uint32_t at, const struct npu_insn *insn)
{
	memcpy(program + at, insn, sizeof(*insn));
	return at + NPU_INSN_BYTES;
}

/* An instruction without operands. */
static uint32_t emit_plain(uint8_t *program, uint32_t at, uint8_t opcode, uint32_t value)
{
	const struct npu_insn insn = {
		.opcode = opcode,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm32 = value,
	};

	return emit(program, at, &insn);
}

static uint32_t emit_descriptor(uint8_t *program, uint32_t at, uint8_t number, const void *td)
{
	const struct npu_insn insn = {
		.opcode = NPU_OP_LDTD,
		.dst = number,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};

	at = emit(program, at, &insn);
	memcpy(program + at, td, NPU_TD_BYTES);
	return at + NPU_TD_BYTES;
}

static uint32_t emit_idle(uint8_t *program, uint32_t at, uint32_t turns)
{
	at = emit_plain(program, at, NPU_OP_LOOP, turns);
	at = emit_plain(program, at, NPU_OP_ENDLOOP, 0);
	return emit_plain(program, at, NPU_OP_END, 0);
}

/* Where a program with points has its table: behind the header. */
#define POINT		((uint32_t)sizeof(struct npu_program_header))
#define POINT_BYTES	((uint32_t)(sizeof(struct npu_point) + sizeof(struct npu_point_range)))
#define LIVE_BYTES	8192
#define SAVE_BYTES	((uint32_t)sizeof(struct npu_save_state) + LIVE_BYTES)

/*
 * A 3 x 3 convolution of 16 x 16 positions, 32 channels to 32, of whatever is there; with @point a
 * barrier after each.
 */
static uint32_t emit_passes(uint8_t *program, uint32_t at, uint32_t passes, uint32_t point)
{
	const struct npu_td activations = {
		.word0 = (uint64_t)NPU_SPACE_LOCAL << NPU_TD_SPACE_SHIFT,
		.dim = { 1, 16, 16, 32 }, .stride = { 0, 512, 32, 1 },
	};
	const struct npu_td weights = {
		.word0 = (uint64_t)NPU_SPACE_LOCAL << NPU_TD_SPACE_SHIFT,
		.dim = { 1, 9, 32, 32 }, .stride = { 0, 1024, 32, 1 },
	};
	const struct npu_window window = {
		.out_height = 16, .out_width = 16, .kernel_height = 3, .kernel_width = 3,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};
	const struct npu_insn mac = {
		.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M, .dst = NPU_TD_NONE,
		.src = { 0, 1, 2 }, .imm32 = 32,
	};

	at = emit_descriptor(program, at, 0, &activations);
	at = emit_descriptor(program, at, 1, &weights);
	at = emit_descriptor(program, at, 2, &window);
	at = emit_plain(program, at, NPU_OP_LOOP, passes);
	at = emit(program, at, &mac);
	if (point)
		at = emit_plain(program, at, NPU_OP_BARRIER, point);
	return emit_plain(program, at, NPU_OP_ENDLOOP, 0);
}

static uint32_t emit_work(uint8_t *program, uint32_t at, uint32_t passes)
{
	at = emit_passes(program, at, passes, 0);
	return emit_plain(program, at, NPU_OP_END, 0);
}

static uint32_t emit_points(uint8_t *program, uint32_t at, uint32_t passes)
{
	at = emit_passes(program, at, passes, POINT);
	return emit_plain(program, at, NPU_OP_END, 0);
}

static uint32_t emit_copy(uint8_t *program, uint32_t at, uint8_t to, uint8_t from)
{
	const struct npu_insn copy = {
		.opcode = NPU_OP_DMA, .dst = to, .src = { from, NPU_TD_NONE, NPU_TD_NONE },
	};

	return emit(program, at, &copy);
}

/* Data that are in the window from the first point to the last. */
static uint32_t emit_window_points(uint8_t *program, uint32_t at, uint32_t passes)
{
	struct npu_td data = { .dim = { 1, 1, 1, HOST_DATA }, .stride = { 0, 0, 0, 1 } };

	at = emit_descriptor(program, at, 3, &data);
	data.word0 = 1ull << NPU_TD_ARG_SHIFT;
	at = emit_descriptor(program, at, 4, &data);
	data.word0 = (uint64_t)NPU_SPACE_GLOBAL << NPU_TD_SPACE_SHIFT;
	at = emit_descriptor(program, at, 5, &data);
	at = emit_copy(program, at, 5, 3);
	at = emit_passes(program, at, passes, POINT);
	at = emit_copy(program, at, 4, 5);
	return emit_plain(program, at, NPU_OP_END, 0);
}

typedef uint32_t emit_stream(uint8_t *program, uint32_t at, uint32_t count);

static uint64_t make_program(struct host *host, unsigned int clusters, uint32_t window,
			     emit_stream *stream, uint32_t count)
{
	uint32_t address = PROGRAMS + host->programs++ * 0x400;
	uint8_t *program = host->memory + address;
	struct npu_program_header header = {
		.magic = NPU_PROGRAM_MAGIC,
		.version = NPU_PROGRAM_VERSION,
		.clusters = (uint8_t)clusters,
		.dma_channels = 1,
		.local_bytes = 65536,
		.global_bytes = window,
	};
	uint32_t at = POINT + POINT_BYTES;

	assert_true(address < SAVE_AREAS - 0x400);
	for (unsigned int i = 0; i < clusters; i++) {
		header.entry[i] = at;
		at = stream(program, at, count);
	}
	assert_true(at <= 0x400);
	header.bytes = at;
	memcpy(program, &header, sizeof(header));
	return address;
}

uint64_t host_program(struct host *host, unsigned int clusters, uint32_t window, uint32_t turns)
{
	return make_program(host, clusters, window, emit_idle, turns);
}

static uint32_t emit_end(uint8_t *program, uint32_t at, uint32_t nothing)
{
	(void)nothing;
	return emit_plain(program, at, NPU_OP_END, 0);
}

uint64_t host_end(struct host *host, unsigned int clusters, uint32_t window)
{
	return make_program(host, clusters, window, emit_end, 0);
}

static uint64_t make_points(struct host *host, unsigned int clusters, emit_stream *stream,
			    uint32_t passes, uint32_t flags)
{
	uint64_t address = make_program(host, clusters, 4096, stream, passes);
	struct npu_program_header *header = (void *)(host->memory + address);
	const struct npu_point point = { .count = 1, .flags = flags };
	const struct npu_point_range range = { .space = NPU_SPACE_LOCAL, .bytes = LIVE_BYTES };

	header->save_bytes = SAVE_BYTES;
	memcpy(host->memory + address + POINT, &point, sizeof(point));
	memcpy(host->memory + address + POINT + sizeof(point), &range, sizeof(range));
	return address;
}

uint64_t host_points(struct host *host, unsigned int clusters, uint32_t passes)
{
	return make_points(host, clusters, emit_points, passes, 0);
}

uint64_t host_window_points(struct host *host, uint32_t passes)
{
	return make_points(host, 1, emit_window_points, passes, NPU_POINT_WINDOW);
}

static uint32_t emit_store(uint8_t *program, uint32_t at, uint32_t nothing)
{
	const struct npu_td local = {
		.word0 = (uint64_t)NPU_SPACE_LOCAL << NPU_TD_SPACE_SHIFT,
		.dim = { 1, 1, 1, HOST_DATA }, .stride = { 0, 0, 0, 1 },
	};
	struct npu_td dram = { .dim = { 1, 1, 1, HOST_DATA }, .stride = { 0, 0, 0, 1 } };
	const struct npu_insn load = {
		.opcode = NPU_OP_DMA, .dst = 0, .src = { 1, NPU_TD_NONE, NPU_TD_NONE },
		.release = { NPU_TOKEN(0) },
	};
	const struct npu_insn store = {
		.opcode = NPU_OP_DMA, .dst = 2, .src = { 0, NPU_TD_NONE, NPU_TD_NONE },
		.wait = { NPU_TOKEN(0) },
	};

	(void)nothing;
	at = emit_descriptor(program, at, 0, &local);
	at = emit_descriptor(program, at, 1, &dram);
	dram.word0 = 1ull << NPU_TD_ARG_SHIFT;
	at = emit_descriptor(program, at, 2, &dram);
	at = emit(program, at, &load);
	at = emit(program, at, &store);
	return emit_plain(program, at, NPU_OP_END, 0);
}

uint64_t host_store(struct host *host, unsigned int clusters)
{
	return make_program(host, clusters, 4096, emit_store, 0);
}

uint64_t host_bad_program(struct host *host)
{
	uint64_t address = make_program(host, 1, 0, emit_end, 0);

	memset(host->memory + address, 0, sizeof(uint32_t));
	return address;
}

uint64_t host_work(struct host *host, unsigned int clusters, uint32_t passes)
{
	return make_program(host, clusters, 4096, emit_work, passes);
}

const struct npu_ring_control *host_control(const struct host *host, unsigned int queue)
{
	return (const struct npu_ring_control *)(host->memory + ring_address(queue));
}

const struct npu_record *host_record(const struct host *host, unsigned int queue, uint64_t index)
{
	return (const struct npu_record *)(host->memory + ring_address(queue) + RECORDS) +
	       index % HOST_RECORDS;
}

void host_packet(struct host *host, unsigned int queue, const void *packet)
{
	uint64_t index = host->index[queue]++;
	uint8_t *slot = host->memory + ring_address(queue) + NPU_RING_PACKETS_OFFSET +
			index % HOST_RECORDS * NPU_PACKET_BYTES;
	struct npu_ring_control *control =
		(struct npu_ring_control *)(host->memory + ring_address(queue));
	uint32_t header;

	assert_true(index - control->read_index < HOST_RECORDS);
	memset(host->memory + ring_address(queue) + RECORDS +
	       index % HOST_RECORDS * sizeof(struct npu_record), 0, sizeof(struct npu_record));
	memcpy(slot, packet, NPU_PACKET_BYTES);
	memcpy(&header, packet, sizeof(header));
	header |= (index >> HOST_RING_LOG2 & 1) ? 0 : NPU_PACKET_PHASE;
	memcpy(slot, &header, sizeof(header));
	control->write_index = index + 1;
}

/* An EXEC of the queue's next packet, with practically no budget. */
static struct npu_packet_exec exec_packet(const struct host *host, unsigned int queue,
					  uint64_t program, unsigned int signal)
{
	uint64_t index = host->index[queue];

	return (struct npu_packet_exec){
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = (uint32_t)index,
		.program = program,
		.arguments = program,
		.record = ring_address(queue) + RECORDS +
			  index % HOST_RECORDS * sizeof(struct npu_record),
		.budget = BUDGET,
		.signal_sem = (uint16_t)signal,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
}

void host_exec(struct host *host, unsigned int queue, uint64_t program, unsigned int signal)
{
	host_exec_within(host, queue, program, BUDGET, signal);
}

void host_exec_within(struct host *host, unsigned int queue, uint64_t program, uint32_t budget,
		      unsigned int signal)
{
	struct npu_packet_exec packet = exec_packet(host, queue, program, signal);

	packet.budget = budget;
	host_packet(host, queue, &packet);
}

uint64_t host_alloc(struct host *host, uint64_t bytes)
{
	uint64_t address = host->free;

	host->free += (bytes + 4095) & ~4095ull;
	assert_true(host->free <= MEMORY_BYTES);
	return address;
}

void host_exec_task(struct host *host, unsigned int queue, uint64_t program, uint64_t arguments,
		    uint32_t flags)
{
	struct npu_packet_exec packet = exec_packet(host, queue, program, NPU_SEM_NONE);

	packet.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, flags, 0);
	packet.arguments = arguments;
	packet.argument_count = NPU_ARG_COUNT;
	host_packet(host, queue, &packet);
}

/* A packet's part of an area in its queue's memory. */
static uint32_t part_of(unsigned int queue, uint32_t area, uint64_t index)
{
	return ring_address(queue) + area + (uint32_t)(index % HOST_RECORDS) * HOST_DATA;
}

void host_exec_store(struct host *host, unsigned int queue, uint64_t program, unsigned int signal,
		     const void *data)
{
	uint64_t index = host->index[queue];
	const uint64_t arguments[2] = {
		part_of(queue, STORE_DATA, index), part_of(queue, STORED, index),
	};
	struct npu_packet_exec packet = exec_packet(host, queue, program, signal);

	packet.arguments = part_of(queue, STORE_ARGUMENTS, index);
	packet.argument_count = 2;
	memcpy(host->memory + packet.arguments, arguments, sizeof(arguments));
	memcpy(host->memory + arguments[0], data, HOST_DATA);
	memset(host->memory + arguments[1], 0, HOST_DATA);
	host_packet(host, queue, &packet);
}

static struct npu_packet_copy copy_packet(const struct host *host, unsigned int queue,
					  const void *data)
{
	uint64_t index = host->index[queue];
	const struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = (uint32_t)index,
		.source = part_of(queue, STORE_DATA, index),
		.destination = part_of(queue, STORED, index),
		.bytes = HOST_DATA,
		.signal_sem = NPU_SEM_NONE,
	};

	memcpy(host->memory + packet.source, data, HOST_DATA);
	memset(host->memory + packet.destination, 0, HOST_DATA);
	return packet;
}

void host_copy(struct host *host, unsigned int queue, unsigned int signal, const void *data)
{
	struct npu_packet_copy packet = copy_packet(host, queue, data);

	packet.record = ring_address(queue) + RECORDS +
			host->index[queue] % HOST_RECORDS * sizeof(struct npu_record);
	packet.signal_sem = (uint16_t)signal;
	host_packet(host, queue, &packet);
}

void host_graph(struct host *host, unsigned int queue, uint64_t list, unsigned int pieces,
		const void *data)
{
	struct npu_packet_copy piece = copy_packet(host, queue, data);
	const struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0),
		.task_id = piece.task_id,
		.list = list,
		.count = pieces,
		.record = ring_address(queue) + RECORDS +
			  host->index[queue] % HOST_RECORDS * sizeof(struct npu_record),
	};

	piece.bytes = HOST_DATA / pieces;
	for (unsigned int i = 0; i < pieces; i++) {
		memcpy(host->memory + list + i * NPU_PACKET_BYTES, &piece, sizeof(piece));
		piece.source += piece.bytes;
		piece.destination += piece.bytes;
	}
	host_packet(host, queue, &graph);
}

const void *host_stored(const struct host *host, unsigned int queue, uint64_t index)
{
	return host->memory + part_of(queue, STORED, index);
}

uint64_t host_semaphore(const struct host *host, unsigned int context, unsigned int semaphore)
{
	uint64_t value;

	memcpy(&value, host->memory + AREAS + context * 0x2000 + semaphore * sizeof(value),
	       sizeof(value));
	return value;
}

void host_exec_points(struct host *host, unsigned int queue, uint64_t program)
{
	uint32_t arguments = ring_address(queue) + ARGUMENTS;
	struct npu_packet_exec packet = exec_packet(host, queue, program, NPU_SEM_NONE);
	const uint64_t save = SAVE_AREAS + queue * 0x10000;

	assert_true(queue < SAVE_AREA_QUEUES);
	packet.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, NPU_EXEC_PREEMPT, 0);
	packet.arguments = arguments;
	packet.argument_count = NPU_ARG_COUNT;
	memcpy(host->memory + arguments + NPU_ARG_SAVE * sizeof(save), &save, sizeof(save));
	host_packet(host, queue, &packet);
}

void host_wait(struct host *host, unsigned int queue, unsigned int semaphore, uint64_t value)
{
	struct npu_packet_wait packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { (uint16_t)semaphore, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE,
			 NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { value },
	};

	host_packet(host, queue, &packet);
}

void host_ring(struct host *host, unsigned int queue)
{
	npu_model_doorbell(host->model, queue, NPU_DOORBELL_RING, host->index[queue], 8);
}
