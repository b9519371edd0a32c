// SPDX-License-Identifier: MIT
/*
 * The real firmware on the control core: boot, mailbox, queues, tasks. The first argument is its
 * image.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "npu/npu_firmware.h"
#include "npu/npu_mailbox.h"

static const char *image_path;

#define LIMIT	20000000ull

static uint32_t read_register(struct board *board, uint32_t offset)
{
	return npu_model_register_read(board->model, offset);
}

static void write_register(struct board *board, uint32_t offset, uint32_t value)
{
	npu_model_register_write(board->model, offset, value);
}

/* Returns the image's size. */
static uint32_t load_image(struct board *board, uint64_t *address)
{
	FILE *file = fopen(image_path, "rb");
	uint32_t size;

	assert_non_null(file);
	*address = board_pages(board, 80);
	size = (uint32_t)fread(board_dma(board, *address), 1, 80 * 4096, file);
	fclose(file);
	assert_true(size > NPU_FW_HEADER_SIZE);
	return size;
}

/* Let device time pass, timers included, until @offset reads @value. */
static void wait_register(struct board *board, uint32_t offset, uint32_t value)
{
	uint64_t end = npu_model_time(board->model) + LIMIT;

	while (read_register(board, offset) != value) {
		if (npu_model_time(board->model) > end)
			fail_msg("register %#x is %#x, not %#x", offset,
				 read_register(board, offset), value);
		if (npu_model_run(board->model, 1000))
			npu_model_skip(board->model, 1000);
		if (npu_model_timer(board->model) == UINT64_MAX &&
		    npu_model_run(board->model, 1000) &&
		    read_register(board, offset) != value)
			fail_msg("the device sleeps for good, register %#x is %#x, not %#x", offset,
				 read_register(board, offset), value);
	}
}

static void boot(struct board *board)
{
	uint64_t address;
	uint32_t size = load_image(board, &address);

	write_register(board, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	write_register(board, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	write_register(board, NPU_REG_BOOT_SIZE, size);
	write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
	wait_register(board, NPU_REG_FW_STATE, NPU_FW_STATE_READY);
}

static struct npu_message exchange(struct board *board, uint16_t kind, const uint32_t *arguments,
				   unsigned int count)
{
	static uint16_t sequence;
	struct npu_message message = { .kind = kind, .sequence = ++sequence };
	struct npu_message reply;
	uint32_t words[16];

	if (count)
		memcpy(message.argument, arguments, count * sizeof(*arguments));
	memcpy(words, &message, sizeof(words));
	for (unsigned int i = 0; i < 16; i++)
		write_register(board, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	write_register(board, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	wait_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	for (unsigned int i = 0; i < 16; i++)
		words[i] = read_register(board, NPU_REG_MAILBOX_TO_HOST + 4 * i);
	memcpy(&reply, words, sizeof(reply));
	write_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	assert_int_equal(reply.kind, kind);
	assert_int_equal(reply.sequence, message.sequence);
	return reply;
}

static void create_queue(struct board *board, unsigned int queue, unsigned int context,
			 uint64_t offset, unsigned int log2)
{
	uint64_t va = board_va(board, offset);
	uint32_t arguments[6] = {
		queue, context, (uint32_t)va, (uint32_t)(va >> 32), log2, 4,
	};

	board->ring[queue] = offset;
	board->ring_log2[queue] = log2;
	board->queue_context[queue] = context;
	board->write_index[queue] = 0;
	assert_int_equal(exchange(board, NPU_MESSAGE_QUEUE_CREATE, arguments, 6).status, 0);
}

static void create_context(struct board *board, uint32_t context)
{
	board_add_context(board, context);
	assert_int_equal(exchange(board, NPU_MESSAGE_CONTEXT_CREATE, &context, 1).status, 0);
}

static void wait_record(struct board *board, const struct npu_record *record)
{
	uint64_t end = npu_model_time(board->model) + LIMIT;

	while (!record->status) {
		bool idle = npu_model_run(board->model, 1000);

		if (npu_model_time(board->model) > end ||
		    (idle && npu_model_timer(board->model) == UINT64_MAX && !record->status))
			fail_msg("no record after %llu cycles",
				 (unsigned long long)npu_model_time(board->model));
		if (idle)
			npu_model_skip(board->model, 1000);
	}
}

static void test_boot(void **state)
{
	struct board *board = board_create(NULL);
	uint32_t abi = NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR;
	struct npu_message reply;

	(void)state;
	boot(board);
	reply = exchange(board, NPU_MESSAGE_HELLO, &abi, 1);
	assert_int_equal(reply.status, NPU_ERROR_NONE);
	assert_int_equal(reply.argument[0], abi);
	assert_int_equal(exchange(board, NPU_MESSAGE_PING, NULL, 0).status, NPU_ERROR_NONE);
	assert_true(board->irq_count[0] >= 2);
	/* A reset stops it; it boots again. */
	write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	assert_int_equal(read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RESET);
	assert_int_equal(read_register(board, NPU_REG_FW_STATE), NPU_FW_STATE_RESET);
	board_run(board, 1000);
	boot(board);
	board_destroy(board);
}

static void test_damaged_image(void **state)
{
	struct board *board = board_create(NULL);
	uint64_t address;
	uint32_t size = load_image(board, &address);

	(void)state;
	((uint8_t *)board_dma(board, address))[size - 1] ^= 1;
	write_register(board, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	write_register(board, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	write_register(board, NPU_REG_BOOT_SIZE, size);
	write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_BAD_DIGEST);
	write_register(board, NPU_REG_BOOT_SIZE, 0xffffffff);
	write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_BAD_SIZE);
	write_register(board, NPU_REG_BOOT_ADDRESS_HI, 0x77);
	write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_UNREADABLE);
	board_run(board, 1000);
	board_destroy(board);
}

/* Queues of two contexts, more than there are slots, each with a few tasks. */
static void test_queues(void **state)
{
	struct board *board = board_create("npu-v3?slots=2");
	struct npu_packet_exec exec;
	struct program program[2];

	(void)state;
	boot(board);
	for (unsigned int context = 0; context < 2; context++) {
		create_context(board, context);
		program[context] = program_begin(board, context, 0x200000, 1 + context);
		program[context].header->local_bytes = 4096;
		program[context].header->global_bytes = 4096;
		if (context)
			program_stream(&program[context], 1);
		program_finish(&program[context]);
	}
	for (unsigned int queue = 0; queue < 6; queue++)
		create_queue(board, queue, queue % 2, 0x10000 * (queue + 1), 3);
	for (unsigned int i = 0; i < 18; i++) {
		unsigned int queue = i % 6;

		exec = exec_packet(&program[queue % 2], i, 0x2000, 0, 0x100000 + i * 64);
		board_push(board, queue, &exec);
		board_ring_doorbell(board, queue);
	}
	for (unsigned int i = 0; i < 18; i++) {
		const struct npu_record *record = board_at(board, i % 2, 0x100000 + i * 64);

		wait_record(board, record);
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->task_id, i);
	}
	board_destroy(board);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot),
		cmocka_unit_test(test_damaged_image),
		cmocka_unit_test(test_queues),
	};

	if (argc != 2)
		return 1;
	image_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
