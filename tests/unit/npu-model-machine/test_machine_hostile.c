// SPDX-License-Identifier: MIT
/*
 * Hostile input: random packets and random programs, seeded. Nothing may crash or hang; every task
 * has a record that says how it ended, and the device works afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define ROUNDS		10000
#define PROGRAM		0x200000
#define DATA		0x100000
#define DATA_BYTES	0x80000

static uint64_t random_state;

static uint32_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static uint32_t below(uint32_t limit)
{
	return rnd() % limit;
}

static bool chance(uint32_t one_in)
{
	return below(one_in) == 0;
}

static void random_bytes(void *to, size_t size)
{
	uint8_t *out = to;

	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)rnd();
}

static uint8_t random_token(void)
{
	if (chance(2))
		return 0;
	return NPU_TOKEN(chance(2) ? below(4) : 32 + below(3));
}

/* What the descriptors of one program have in common, so that operands often fit each other. */
static uint32_t style_dims[4];
static unsigned int style_dtype;

static void random_style(void)
{
	static const uint32_t dims[] = { 1, 1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 255 };

	for (unsigned int d = 0; d < 4; d++)
		style_dims[d] = dims[below(4 * d + (d < 3))];
	style_dims[0] = 1;
	style_dtype = below(NPU_DTYPE_COUNT);
}

/* A descriptor that is often right: small dims, an address near something. */
static void random_descriptor(unsigned int reg, void *to)
{
	unsigned int space = reg < 5 ? NPU_SPACE_LOCAL : below(3);
	const uint32_t *d = style_dims;
	struct npu_td td;

	if (chance(100)) {
		random_bytes(to, NPU_TD_BYTES);
		return;
	}
	td = dense(space, space ? 0 : below(4), below(chance(20) ? 1u << 30 : 0x8000) & ~3u,
		   chance(10) ? below(NPU_DTYPE_COUNT) : style_dtype, d[0], d[1], d[2], d[3]);
	if (chance(12))
		td.dim[below(4)] = (uint16_t)(1 + below(40));
	if (chance(10))
		td.stride[below(4)] = rnd() >> below(32);
	if (chance(10))
		td.stride[below(4)] = 0;
	if (chance(20))
		td.stride[below(4)] = (uint32_t)-(int32_t)below(5000);
	memcpy(to, &td, sizeof(td));
}

/* MAC: weights for the window that follows, of the type that goes with the activations. */
static void random_weights(void *to)
{
	bool half = style_dtype == NPU_DTYPE_FP16;
	unsigned int dtype = half ? NPU_DTYPE_FP16 : NPU_DTYPE_INT8;
	unsigned int depth = half ? 8 : style_dtype == NPU_DTYPE_INT16 ? 16 : 32;
	struct npu_td td =
		dense(NPU_SPACE_LOCAL, 0, below(0x8000) & ~63u, dtype, 1, 1 + below(9), 32, depth);

	memcpy(to, &td, sizeof(td));
}

static void random_window(void *to)
{
	struct npu_window window = {
		.out_height = (uint16_t)(1 + below(8)), .out_width = (uint16_t)(1 + below(8)),
		.kernel_height = (uint16_t)(1 + below(3)), .kernel_width = (uint16_t)(1 + below(3)),
		.stride_y = (uint16_t)(1 + below(2)), .stride_x = (uint16_t)(1 + below(2)),
		.dilation_y = 1, .dilation_x = 1,
		.origin_y = (uint16_t)-below(3), .origin_x = (uint16_t)-below(3),
	};

	memcpy(to, &window, sizeof(window));
}

static void random_stage(void *to)
{
	struct npu_stage stage = {
		.activation = (uint8_t)below(3), .flags = (uint8_t)below(8),
		.table_address = below(1024) * 16, .scale_address = below(0x8000),
	};

	memcpy(to, &stage, sizeof(stage));
}

static struct npu_insn random_insn(void)
{
	static const uint8_t opcodes[] = {
		NPU_OP_TDSET, NPU_OP_LOOP, NPU_OP_LOOP, NPU_OP_ENDLOOP, NPU_OP_SYNC, NPU_OP_BARRIER,
		NPU_OP_MARK, NPU_OP_DMA, NPU_OP_DMA, NPU_OP_DMA, NPU_OP_MAC, NPU_OP_MAC, NPU_OP_OUT,
		NPU_OP_VEC, NPU_OP_VEC, NPU_OP_LAYOUT, NPU_OP_DMA, NPU_OP_VEC, NPU_OP_MAC,
		NPU_OP_LAYOUT, NPU_OP_SYNC,
	};
	struct npu_insn insn = { 0 };

	if (chance(300)) {
		random_bytes(&insn, sizeof(insn));
		return insn;
	}
	insn.opcode = opcodes[below(sizeof(opcodes))];
	if (chance(8)) {
		insn.wait[0] = random_token();
		insn.wait[1] = random_token();
	}
	if (chance(2)) {
		insn.release[0] = random_token();
		insn.release[1] = random_token();
	}
	switch (insn.opcode) {
	case NPU_OP_TDSET:
		insn.dst = (uint8_t)(1 + below(8));
		insn.subop = (uint8_t)below(4);
		insn.imm16 = (uint16_t)(insn.subop == 1 ? below(4) : 0);
		insn.imm32 = insn.subop ? 1 + below(9) : below(4096);
		break;
	case NPU_OP_LOOP:
		insn.imm32 = chance(10) ? rnd() : 1 + below(5);
		break;
	case NPU_OP_SYNC:
		insn.subop = (uint8_t)below(7);
		break;
	case NPU_OP_MARK:
		insn.subop = (uint8_t)below(7);
		insn.imm32 = chance(10) ? rnd() : below(100);
		break;
	case NPU_OP_DMA:
		insn.subop = (uint8_t)below(2);
		insn.imm16 = (uint16_t)(chance(4) ? below(32) : 0);
		insn.dst = (uint8_t)(1 + below(8));
		insn.src[0] = (uint8_t)(1 + below(8));
		break;
	case NPU_OP_MAC:
		insn.subop = (uint8_t)(chance(4) ? below(16) : below(4) << 2);
		insn.src[0] = (uint8_t)(1 + below(chance(8) ? 8 : 4));
		insn.src[1] = (uint8_t)(chance(8) ? 1 + below(8) : 11);
		insn.src[2] = 9;
		insn.imm32 = chance(10) ? 1 + below(70) : 1 + below(32);
		insn.imm16 = (uint16_t)(chance(4) ? below(300) : 0);
		break;
	case NPU_OP_OUT:
		insn.subop = (uint8_t)(below(2) * 8 + below(3));
		insn.dst = (uint8_t)(1 + below(8));
		insn.src[0] = (uint8_t)(chance(2) ? 0 : 1 + below(8));
		insn.src[1] = 10;
		insn.src[2] = (uint8_t)(chance(2) ? 0 : 1 + below(8));
		break;
	case NPU_OP_VEC:
		insn.subop = (uint8_t)below(0x26);
		insn.dst = (uint8_t)(1 + below(4));
		insn.src[0] = (uint8_t)(1 + below(4));
		if (insn.subop && (insn.subop < 0x0b || chance(8)))
			insn.src[1] = (uint8_t)(chance(4) ? NPU_TD_IMMEDIATE : 1 + below(4));
		if (insn.subop == NPU_VEC_MULADD || (insn.subop >= 9 && insn.subop <= 10) ||
		    chance(20))
			insn.src[2] = (uint8_t)(chance(4) ? NPU_TD_IMMEDIATE : 1 + below(4));
		insn.imm16 = (uint16_t)(insn.subop >= 0x20 ? below(16) : 0);
		break;
	case NPU_OP_LAYOUT:
		insn.dst = (uint8_t)(1 + below(4));
		insn.src[0] = (uint8_t)(1 + below(4));
		break;
	default:
		break;
	}
	return insn;
}

/* The descriptor registers as the stream has them, loops left aside. */
static struct npu_td mirror[NPU_TD_COUNT];

/*
 * Noise alone ends at its first instruction. So most instructions are drawn until one is legal by
 * itself; what a legal program does wrong is tokens, addresses, bounds and time.
 */
static struct npu_insn drawn_insn(const struct npu_config *config)
{
	struct npu_insn insn = random_insn();

	for (unsigned int i = 0; i < 40 && !chance(400); i++) {
		struct npu_insn emitted = insn;
		struct npu_operation operation;
		uint32_t error;
		uint64_t detail;

		emitted.dst = emitted.dst ? emitted.dst : NPU_TD_NONE;
		for (unsigned int k = 0; k < 3; k++)
			emitted.src[k] = emitted.src[k] ? emitted.src[k] : NPU_TD_NONE;
		if (!npu_operation_decode(config, &emitted, mirror, &operation, &error, &detail)) {
			if (insn.opcode == NPU_OP_TDSET)
				npu_td_set(&mirror[operation.target], &operation);
			break;
		}
		insn = random_insn();
	}
	return insn;
}

/* Loops are mostly closed. */
static void random_stream(struct program *program, unsigned int count)
{
	struct npu_config config = program->board->model->config;
	unsigned int depth = 0;

	config.local_bytes = program->header->local_bytes;
	while (count--) {
		struct npu_insn insn = drawn_insn(&config);
		bool wild = chance(50);

		if (insn.opcode == NPU_OP_ENDLOOP && !depth && !wild)
			continue;
		if (insn.opcode == NPU_OP_LOOP && depth == NPU_LOOP_NESTING && !wild)
			continue;
		depth += insn.opcode == NPU_OP_LOOP;
		depth -= insn.opcode == NPU_OP_ENDLOOP && depth;
		program_emit(program, insn);
	}
	while (depth--)
		program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
}

static void random_program(struct board *board, struct program *program)
{
	unsigned int clusters = chance(3) ? 1 + below(4) : 1;

	*program = program_begin(board, 0, PROGRAM, clusters);
	program->header->global_bytes = 64 * below(1024);
	program->header->local_bytes = chance(4) ? below(0x8000) : 0x20000;
	for (unsigned int i = 0; i < clusters; i++) {
		unsigned int count = below(40);
		uint8_t descriptor[NPU_TD_BYTES];

		program_stream(program, i);
		random_style();
		for (unsigned int r = 1; r <= 8; r++) {
			random_descriptor(r, descriptor);
			program_descriptor(program, r, descriptor);
			memcpy(&mirror[r], descriptor, NPU_TD_BYTES);
		}
		random_window(descriptor);
		program_descriptor(program, 9, descriptor);
		memcpy(&mirror[9], descriptor, NPU_TD_BYTES);
		random_stage(descriptor);
		program_descriptor(program, 10, descriptor);
		memcpy(&mirror[10], descriptor, NPU_TD_BYTES);
		random_weights(descriptor);
		program_descriptor(program, 11, descriptor);
		memcpy(&mirror[11], descriptor, NPU_TD_BYTES);
		random_stream(program, count);
		if (!chance(20))
			program_finish(program);
	}
	if (chance(50))
		random_bytes((uint8_t *)program->header + below(sizeof(*program->header)), 1);
}

/* Records are within what the manual says. */
static void check_record(const struct npu_record *record, uint32_t task)
{
	assert_int_equal(record->task_id, task);
	assert_in_range(record->status, NPU_STATUS_DONE, NPU_STATUS_REJECTED);
	assert_true(record->end >= record->start);
	if (record->status == NPU_STATUS_DONE)
		assert_int_equal(record->error, NPU_ERROR_NONE);
	else
		assert_in_range(record->error, NPU_ERROR_MMU_UNMAPPED, NPU_ERROR_RING);
}

/* After whatever came before, a program that does nothing still runs. */
static void check_alive(struct board *board)
{
	struct program program = program_begin(board, 0, PROGRAM, 1);
	const struct npu_record *record;

	program_finish(&program);
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->end - record->start, 60);
}

static void test_programs(void **state)
{
	struct board *board = board_create(NULL);
	uint64_t *arguments;
	struct npu_record *record;
	unsigned int ends[8] = { 0 };
	unsigned int errors[64] = { 0 };

	(void)state;
	random_state = 0x1234567;
	board_simple(board);
	arguments = board_at(board, 0, 0x2000);
	record = board_at(board, 0, 0x3000);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct npu_packet_exec exec;
		struct program program;

		random_program(board, &program);
		for (unsigned int a = 0; a < NPU_ARG_COUNT; a++)
			arguments[a] = board_va(board, DATA + below(DATA_BYTES));
		if (chance(20))
			arguments[below(4)] = (uint64_t)rnd() << below(33);
		memset(record, 0, sizeof(*record));
		exec = exec_packet(&program, i, 0x2000, chance(10) ? below(33) : 32, 0x3000);
		exec.budget = 1 + below(16);
		if (chance(4))
			exec.header |= NPU_EXEC_PROFILE << NPU_PACKET_FLAGS_SHIFT;
		board_push(board, 0, &exec);
		board_ring_doorbell(board, 0);
		board_run(board, 100000);
		check_record(record, i);
		assert_true(record->end - record->start <= exec.budget * 1024);
		ends[record->status]++;
		errors[record->error]++;
		while (board_fault(board))
			;
	}
	for (unsigned int i = 1; i < 64; i++) {
		if (errors[i])
			print_message("error %u: %u\n", i, errors[i]);
	}
	print_message("done %u fault %u budget %u rejected %u\n", ends[NPU_STATUS_DONE],
		      ends[NPU_STATUS_FAULT], ends[NPU_STATUS_BUDGET], ends[NPU_STATUS_REJECTED]);
	/* A test that only ever sees refusals would test little. */
	assert_true(ends[NPU_STATUS_DONE] > ROUNDS / 10);
	assert_true(ends[NPU_STATUS_FAULT] > ROUNDS / 50);
	assert_true(ends[NPU_STATUS_BUDGET] > ROUNDS / 50);
	check_alive(board);
	board_destroy(board);
}

/* Bytes of nothing but noise where the streams should be. */
static void test_noise(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_record *record;

	(void)state;
	random_state = 0x7654321;
	board_simple(board);
	record = board_at(board, 0, 0x3000);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct program program = program_begin(board, 0, PROGRAM, 1);
		struct npu_packet_exec exec = exec_packet(&program, i, 0x2000, 32, 0x3000);
		uint8_t *stream = board_at(board, 0, PROGRAM + sizeof(*program.header));

		random_bytes(stream, 1024);
		for (unsigned int k = 0; k < 64; k++)
			stream[k * 16] &= 0x53;
		program.header->bytes = 1024 + below(64);
		exec.budget = 4;
		memset(record, 0, sizeof(*record));
		board_push(board, 0, &exec);
		board_ring_doorbell(board, 0);
		board_run(board, 10000);
		check_record(record, i);
		while (board_fault(board))
			;
	}
	check_alive(board);
	board_destroy(board);
}

static void random_packet(struct board *board, uint8_t *packet)
{
	static const uint8_t opcodes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 2, 6, 8, 9 };
	uint64_t words[8];
	uint32_t header = opcodes[below(sizeof(opcodes))];

	memset(words, 0, sizeof(words));
	if (chance(3))
		random_bytes(words, sizeof(words));
	for (unsigned int i = 0; i < 8; i++) {
		if (chance(2))
			words[i] = board_va(board, DATA + below(DATA_BYTES) / 64 * 64);
		else if (chance(2))
			words[i] = below(300);
		else if (chance(4))
			words[i] = (uint64_t)rnd() << below(33);
	}
	memcpy(packet, words, sizeof(words));
	if (chance(30))
		header |= rnd() & ~NPU_PACKET_PHASE;
	memcpy(packet, &header, sizeof(header));
}

/* Enough of an EXEC or a COPY that it gets past the checks. */
static void repair_packet(uint8_t *packet)
{
	struct npu_packet_exec exec;
	struct npu_packet_copy copy;

	memcpy(&exec, packet, sizeof(exec));
	memcpy(&copy, packet, sizeof(copy));
	if ((exec.header & 0xff) == NPU_PACKET_EXEC) {
		exec.reserved0 = 0;
		exec.reserved1 = 0;
		exec.argument_count %= 40;
		exec.budget = 1 + below(3);
		exec.signal_sem = (uint16_t)below(258);
		exec.wait_sem[0] = (uint16_t)(chance(4) ? below(8) : NPU_SEM_NONE);
		exec.wait_sem[1] = NPU_SEM_NONE;
		exec.wait_value[0] %= 8;
		memcpy(packet, &exec, sizeof(exec));
	} else if ((exec.header & 0xff) == NPU_PACKET_COPY) {
		copy.bytes = 1 + below(100000);
		copy.signal_sem = (uint16_t)(chance(2) ? NPU_SEM_NONE : below(8));
		copy.reserved0 = 0;
		memset(copy.reserved1, 0, sizeof(copy.reserved1));
		memcpy(packet, &copy, sizeof(copy));
	}
}

/* Queues are given up on and made anew when they stop; the firmware's part is played wildly. */
static void play_firmware(struct board *board, unsigned int slot)
{
	uint32_t block = NPU_REG_SLOT(slot);
	uint32_t state = board_slot(board, slot, NPU_SLOT_STATE) & 0xff;

	npu_model_core_write(board->model, block + NPU_SLOT_EVENT, 0xff);
	if (state == NPU_SLOT_STATE_FREE) {
		board_add_queue(board, slot, slot % 2, 0x10000 + slot * 0x1000, 2);
		memset(board_ring(board, slot), 0, 0x1000);
		board_attach(board, slot, slot);
	} else if (state == NPU_SLOT_STATE_STOPPED || chance(20)) {
		npu_model_core_write(board->model, block + NPU_SLOT_CONTROL,
				     chance(2) ? NPU_SLOT_DETACH : NPU_SLOT_KILL);
	} else if (state == NPU_SLOT_STATE_REQUEST && chance(8)) {
		npu_model_core_write(board->model, block + NPU_SLOT_CONTROL,
				     NPU_SLOT_REJECT | below(64));
	} else if (chance(3)) {
		board_grant(board, slot, below(20), below(100) * 64, below(0x8000) * 64);
	}
}

static void test_packets(void **state)
{
	struct board *board = board_create(NULL);
	unsigned int stopped = 0;

	(void)state;
	random_state = 0xabcdef;
	board_add_context(board, 0);
	board_add_context(board, 1);
	random_bytes(board_at(board, 0, DATA), DATA_BYTES);
	random_bytes(board_at(board, 1, DATA), DATA_BYTES);
	for (unsigned int i = 0; i < 64; i++) {
		struct program program =
			program_begin(board, 0, DATA + below(DATA_BYTES) / 64 * 64, 1);

		program_finish(&program);
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int slot = below(8);
		uint8_t packet[NPU_PACKET_BYTES];

		play_firmware(board, slot);
		random_packet(board, packet);
		repair_packet(packet);
		if (board_slot(board, slot, NPU_SLOT_STATE) != NPU_SLOT_STATE_FREE)
			board_push(board, slot, packet);
		npu_model_doorbell(board->model, below(70), chance(4) ? below(16) : 0, rnd(), 8);
		board_ring_doorbell(board, slot);
		npu_model_doorbell(board->model, slot, NPU_DOORBELL_SIGNAL,
				   (uint64_t)below(8) << 48 | below(3), 8);
		npu_model_register_write(board->model, NPU_REG_WATCH_ARM,
					 below(3) << 16 | below(300));
		npu_model_run(board->model, below(4000));
		stopped += board_slot(board, slot, NPU_SLOT_STATE) == NPU_SLOT_STATE_STOPPED;
		while (board_fault(board))
			;
		if (chance(20)) {
			while (board_event(board))
				;
			npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER,
						 board->events_read);
		}
	}
	print_message("%u stops seen\n", stopped);
	assert_true(stopped > 10);
	/* After a reset it is as new. */
	npu_model_register_write(board->model, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	board_run(board, 1000);
	board_destroy(board);
}

/* Any value in any register, host's and core's. */
static void test_registers(void **state)
{
	struct board *board = board_create("npu-v3?clusters=2");

	(void)state;
	random_state = 0x5555;
	board_simple(board);
	for (unsigned int i = 0; i < 20 * ROUNDS; i++) {
		uint32_t offset = below(0x10000);
		uint32_t value = rnd() >> below(32);

		if (!chance(10))
			offset &= ~3u;
		if (chance(2))
			offset = offset % 0x700;
		else if (chance(2))
			offset = 0x9000 + offset % 0x1200;
		if (chance(2))
			npu_model_register_write(board->model, offset, value);
		else
			npu_model_core_write(board->model, offset, value);
		npu_model_register_read(board->model, below(0x20000));
		npu_model_core_read(board->model, below(0x20000));
		if (chance(50))
			npu_model_run(board->model, below(1000));
		if (chance(50))
			npu_model_doorbell(board->model, below(64), 0, rnd(), 4);
	}
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
