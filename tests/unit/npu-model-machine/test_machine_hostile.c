// SPDX-License-Identifier: MIT
/*
 * Hostile input: random packets and random programs, seeded. Nothing may crash or hang; every task
 * has a record that says how it ended, and the device works afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "noise.h"

#define ROUNDS		10000
#define PROGRAM		0x200000
#define DATA		0x100000
#define DATA_BYTES	0x80000

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
	noise_seed(0x1234567);
	board_simple(board);
	arguments = board_at(board, 0, 0x2000);
	record = board_at(board, 0, 0x3000);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct npu_packet_exec exec;
		struct program program;

		noise_program(board, 0, PROGRAM, &program);
		for (unsigned int a = 0; a < NPU_ARG_COUNT; a++)
			arguments[a] = board_va(board, DATA + noise_below(DATA_BYTES));
		if (noise_chance(20))
			arguments[noise_below(4)] = (uint64_t)noise() << noise_below(33);
		memset(record, 0, sizeof(*record));
		exec = exec_packet(&program, i, 0x2000, noise_chance(10) ? noise_below(33) : 32,
				   0x3000);
		exec.budget = 1 + noise_below(16);
		if (noise_chance(4))
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
	noise_seed(0x7654321);
	board_simple(board);
	record = board_at(board, 0, 0x3000);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct program program = program_begin(board, 0, PROGRAM, 1);
		struct npu_packet_exec exec = exec_packet(&program, i, 0x2000, 32, 0x3000);
		uint8_t *stream = board_at(board, 0, PROGRAM + sizeof(*program.header));

		noise_bytes(stream, 1024);
		for (unsigned int k = 0; k < 64; k++)
			stream[k * 16] &= 0x53;
		program.header->bytes = 1024 + noise_below(64);
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
	uint32_t header = opcodes[noise_below(sizeof(opcodes))];

	memset(words, 0, sizeof(words));
	if (noise_chance(3))
		noise_bytes(words, sizeof(words));
	for (unsigned int i = 0; i < 8; i++) {
		if (noise_chance(2))
			words[i] = board_va(board, DATA + noise_below(DATA_BYTES) / 64 * 64);
		else if (noise_chance(2))
			words[i] = noise_below(300);
		else if (noise_chance(4))
			words[i] = (uint64_t)noise() << noise_below(33);
	}
	memcpy(packet, words, sizeof(words));
	if (noise_chance(30))
		header |= noise() & ~NPU_PACKET_PHASE;
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
		exec.budget = 1 + noise_below(3);
		exec.signal_sem = (uint16_t)noise_below(258);
		exec.wait_sem[0] = (uint16_t)(noise_chance(4) ? noise_below(8) : NPU_SEM_NONE);
		exec.wait_sem[1] = NPU_SEM_NONE;
		exec.wait_value[0] %= 8;
		memcpy(packet, &exec, sizeof(exec));
	} else if ((exec.header & 0xff) == NPU_PACKET_COPY) {
		copy.bytes = 1 + noise_below(100000);
		copy.signal_sem = (uint16_t)(noise_chance(2) ? NPU_SEM_NONE : noise_below(8));
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
	} else if (state == NPU_SLOT_STATE_STOPPED || noise_chance(20)) {
		npu_model_core_write(board->model, block + NPU_SLOT_CONTROL,
				     noise_chance(2) ? NPU_SLOT_DETACH : NPU_SLOT_KILL);
	} else if (state == NPU_SLOT_STATE_REQUEST && noise_chance(8)) {
		npu_model_core_write(board->model, block + NPU_SLOT_CONTROL,
				     NPU_SLOT_REJECT | noise_below(64));
	} else if (noise_chance(3)) {
		board_grant(board, slot, noise_below(20), noise_below(100) * 64,
			    noise_below(0x8000) * 64);
	}
}

static void test_packets(void **state)
{
	struct board *board = board_create(NULL);
	unsigned int stopped = 0;

	(void)state;
	noise_seed(0xabcdef);
	board_add_context(board, 0);
	board_add_context(board, 1);
	noise_bytes(board_at(board, 0, DATA), DATA_BYTES);
	noise_bytes(board_at(board, 1, DATA), DATA_BYTES);
	for (unsigned int i = 0; i < 64; i++) {
		struct program program =
			program_begin(board, 0, DATA + noise_below(DATA_BYTES) / 64 * 64, 1);

		program_finish(&program);
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int slot = noise_below(8);
		uint8_t packet[NPU_PACKET_BYTES];

		play_firmware(board, slot);
		random_packet(board, packet);
		repair_packet(packet);
		if (board_slot(board, slot, NPU_SLOT_STATE) != NPU_SLOT_STATE_FREE)
			board_push(board, slot, packet);
		npu_model_doorbell(board->model, noise_below(70),
				   noise_chance(4) ? noise_below(16) : 0, noise(), 8);
		board_ring_doorbell(board, slot);
		npu_model_doorbell(board->model, slot, NPU_DOORBELL_SIGNAL,
				   (uint64_t)noise_below(8) << 48 | noise_below(3), 8);
		npu_model_register_write(board->model, NPU_REG_WATCH_ARM,
					 noise_below(3) << 16 | noise_below(300));
		npu_model_run(board->model, noise_below(4000));
		stopped += board_slot(board, slot, NPU_SLOT_STATE) == NPU_SLOT_STATE_STOPPED;
		while (board_fault(board))
			;
		if (noise_chance(20)) {
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
	noise_seed(0x5555);
	board_simple(board);
	for (unsigned int i = 0; i < 20 * ROUNDS; i++) {
		uint32_t offset = noise_below(0x10000);
		uint32_t value = noise() >> noise_below(32);

		if (!noise_chance(10))
			offset &= ~3u;
		if (noise_chance(2))
			offset = offset % 0x700;
		else if (noise_chance(2))
			offset = 0x9000 + offset % 0x1200;
		if (noise_chance(2))
			npu_model_register_write(board->model, offset, value);
		else
			npu_model_core_write(board->model, offset, value);
		npu_model_register_read(board->model, noise_below(0x20000));
		npu_model_core_read(board->model, noise_below(0x20000));
		if (noise_chance(50))
			npu_model_run(board->model, noise_below(1000));
		if (noise_chance(50))
			npu_model_doorbell(board->model, noise_below(64), 0, noise(), 4);
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
