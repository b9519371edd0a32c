// SPDX-License-Identifier: MIT
/*
 * Two processes under the real firmware (its image is the first argument): one hostile, with random
 * programs and packets, one that computes. The second gets its results, nobody reads or
 * changes what is its own.
 */
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "noise.h"
#include "npu/npu_firmware.h"
#include "npu/npu_mailbox.h"

static const char *image_path;

#define HOSTILE		0
#define HONEST		1
#define ROUNDS		400
#define LIMIT		50000000ull
#define SECRET		0x100000	/* offsets in the honest context */
#define RESULT		0x110000
#define BYTES		4096u
#define PROGRAM		0x200000
#define RECORD		0x3000

static void pass(struct board *board, uint64_t cycles)
{
	if (npu_model_run(board->model, cycles))
		npu_model_skip(board->model, cycles);
}

static void wait_register(struct board *board, uint32_t offset, uint32_t value)
{
	uint64_t end = npu_model_time(board->model) + LIMIT;

	while (npu_model_register_read(board->model, offset) != value) {
		pass(board, 1000);
		assert_true(npu_model_time(board->model) < end);
	}
}

static uint32_t exchange(struct board *board, uint16_t kind, const uint32_t *arguments,
			 unsigned int count)
{
	struct npu_message message = { .kind = kind };
	uint32_t words[16], status;

	memcpy(message.argument, arguments, count * sizeof(*arguments));
	memcpy(words, &message, sizeof(words));
	for (unsigned int i = 0; i < 16; i++)
		npu_model_register_write(board->model, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	npu_model_register_write(board->model, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	do {
		wait_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
		words[0] = npu_model_register_read(board->model, NPU_REG_MAILBOX_TO_HOST);
		status = npu_model_register_read(board->model, NPU_REG_MAILBOX_TO_HOST + 4);
		npu_model_register_write(board->model, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
		/* Reports of stopped queues come in between. */
	} while ((words[0] & 0xffff) == NPU_MESSAGE_ERROR_EVENT);
	assert_int_equal(words[0] & 0xffff, kind);
	return status;
}

static void boot(struct board *board)
{
	uint64_t address = board_pages(board, 80);
	FILE *file = fopen(image_path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(board_dma(board, address), 1, 80 * 4096, file);
	fclose(file);
	npu_model_register_write(board->model, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	npu_model_register_write(board->model, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	npu_model_register_write(board->model, NPU_REG_BOOT_SIZE, (uint32_t)size);
	npu_model_register_write(board->model, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	wait_register(board, NPU_REG_FW_STATE, NPU_FW_STATE_READY);
}

static void create_queue(struct board *board, unsigned int queue, unsigned int context,
			 uint64_t offset)
{
	uint64_t va = board_va(board, offset);
	uint32_t arguments[6] = { queue, context, (uint32_t)va, (uint32_t)(va >> 32), 4, 4 };

	board->ring[queue] = offset;
	board->ring_log2[queue] = 4;
	board->queue_context[queue] = context;
	board->write_index[queue] = 0;
	memset(board_at(board, context, offset), 0, 0x1000);
	assert_int_equal(exchange(board, NPU_MESSAGE_QUEUE_CREATE, arguments, 6), 0);
}

static void move(struct program *program, unsigned int to_space, int64_t to,
		 unsigned int from_space, int64_t from, unsigned int to_argument, unsigned int step)
{
	struct npu_td td = dense(from_space, 0, from, NPU_DTYPE_INT8, 1, 1, 1, BYTES);

	program_descriptor(program, 1, &td);
	td = dense(to_space, to_argument, to, NPU_DTYPE_INT8, 1, 1, 1, BYTES);
	program_descriptor(program, 2, &td);
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = 2, .src[0] = 1,
				   .wait = { step ? NPU_TOKEN(step) : 0 },
				   .release = { NPU_TOKEN(step + 1) }));
}

/* The secret goes through local SRAM, global SRAM and local SRAM again. */
static struct program honest_program(struct board *board)
{
	struct program program = program_begin(board, HONEST, PROGRAM, 1);

	program.header->local_bytes = 0x4000;
	program.header->global_bytes = BYTES;
	move(&program, NPU_SPACE_LOCAL, 0, NPU_SPACE_DRAM, 0, 0, 0);
	move(&program, NPU_SPACE_GLOBAL, 0, NPU_SPACE_LOCAL, 0, 0, 1);
	move(&program, NPU_SPACE_LOCAL, 0x2000, NPU_SPACE_GLOBAL, 0, 0, 2);
	move(&program, NPU_SPACE_DRAM, 0, NPU_SPACE_LOCAL, 0x2000, 1, 3);
	program_finish(&program);
	return program;
}

static void submit_honest(struct board *board, const struct program *program, uint32_t id)
{
	struct npu_packet_exec exec = exec_packet(program, id, 0x2000, 2, RECORD);
	uint64_t *arguments = board_at(board, HONEST, 0x2000);

	arguments[0] = board_va(board, SECRET);
	arguments[1] = board_va(board, RESULT);
	memset(board_at(board, HONEST, RESULT), 0, BYTES);
	memset(board_at(board, HONEST, RECORD), 0, sizeof(struct npu_record));
	board_push(board, 2, &exec);
	board_ring_doorbell(board, 2);
}

static void submit_hostile(struct board *board, unsigned int queue, uint32_t id)
{
	uint64_t offset = PROGRAM + queue * 0x10000;
	uint64_t *arguments = board_at(board, HOSTILE, 0x2000 + queue * 0x100);
	struct npu_packet_exec exec;
	struct program program;

	noise_program(board, HOSTILE, offset, &program);
	for (unsigned int i = 0; i < NPU_ARG_COUNT; i++)
		arguments[i] = board_va(board, 0x100000 + noise_below(0x80000));
	/* The honest context's pages are not mapped here, wherever it looks. */
	if (noise_chance(8))
		arguments[noise_below(4)] = (uint64_t)noise() << noise_below(33);
	exec = exec_packet(&program, id, 0x2000 + queue * 0x100, 32, 0x3000 + queue * 64);
	exec.budget = 1 + noise_below(40);
	if (noise_chance(40))
		noise_bytes(&exec, sizeof(exec));
	board_push(board, queue, &exec);
	board_ring_doorbell(board, queue);
}

/* A queue that stopped, or whose ring is full of work that takes its time, is made anew. */
static void renew(struct board *board, unsigned int queue)
{
	const struct npu_ring_control *ring = board_ring(board, queue);
	uint32_t number = queue;

	if (!ring->error && board->write_index[queue] - ring->read_index < 12)
		return;
	assert_int_equal(exchange(board, NPU_MESSAGE_QUEUE_DESTROY, &number, 1), 0);
	create_queue(board, queue, HOSTILE, 0x10000 + queue * 0x1000);
}

/* No piece of the secret longer than chance anywhere in the hostile context's memory. */
static void search_secret(struct board *board)
{
	const uint8_t *memory = board_at(board, HOSTILE, 0);
	const uint8_t *secret = board_at(board, HONEST, SECRET);

	for (unsigned int piece = 0; piece < BYTES; piece += 64) {
		if (memmem(memory, BOARD_CONTEXT_BYTES, secret + piece, 16))
			fail_msg("bytes %u of the secret are in the other context", piece);
	}
}

static void test_isolation(void **state)
{
	struct board *board = board_create(NULL);
	static uint8_t before[BOARD_CONTEXT_BYTES - RESULT - BYTES];
	const struct npu_record *record;
	struct program program;
	unsigned int hostile_ends = 0;

	(void)state;
	noise_seed(0x2468ace);
	boot(board);
	for (uint32_t context = 0; context < 2; context++) {
		board_add_context(board, context);
		assert_int_equal(exchange(board, NPU_MESSAGE_CONTEXT_CREATE, &context, 1), 0);
	}
	for (unsigned int queue = 0; queue < 2; queue++)
		create_queue(board, queue, HOSTILE, 0x10000 + queue * 0x1000);
	create_queue(board, 2, HONEST, 0x10000);
	noise_bytes(board_at(board, HONEST, SECRET), BYTES);
	noise_bytes(board_at(board, HONEST, RESULT + BYTES), 0x10000);
	program = honest_program(board);
	memcpy(before, board_at(board, HONEST, RESULT + BYTES), sizeof(before));
	record = board_at(board, HONEST, RECORD);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t end = npu_model_time(board->model) + LIMIT;

		for (unsigned int queue = 0; queue < 2; queue++) {
			renew(board, queue);
			submit_hostile(board, queue, round);
		}
		submit_honest(board, &program, round);
		while (!record->status) {
			pass(board, 500);
			if (npu_model_time(board->model) > end)
				fail_msg("round %u: the honest task has not ended", round);
		}
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->task_id, round);
		assert_memory_equal(board_at(board, HONEST, RESULT),
				    board_at(board, HONEST, SECRET), BYTES);
		while (board_fault(board))
			hostile_ends++;
		while (board_event(board))
			;
		npu_model_register_write(board->model, NPU_REG_EVENT_CONSUMER, board->events_read);
		if (round % 50 == 49)
			search_secret(board);
	}
	assert_memory_equal(board_at(board, HONEST, RESULT + BYTES), before, sizeof(before));
	assert_true(hostile_ends > ROUNDS / 10);
	assert_int_equal(npu_model_register_read(board->model, NPU_REG_FW_STATE),
			 NPU_FW_STATE_READY);
	board_destroy(board);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_isolation),
	};

	if (argc != 2)
		return 1;
	image_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
