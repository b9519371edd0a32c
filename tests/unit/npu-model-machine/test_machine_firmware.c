// SPDX-License-Identifier: MIT
/*
 * The real firmware on the control core: boot, mailbox, queues, tasks. The first argument is its
 * image.
 */
#include "booted.h"

static void test_boot(void **state)
{
	struct board *board = board_create(NULL);
	uint32_t abi = NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR;
	struct npu_message reply;

	(void)state;
	booted_boot(board);
	reply = booted_exchange(board, NPU_MESSAGE_HELLO, &abi, 1);
	assert_int_equal(reply.status, NPU_ERROR_NONE);
	assert_int_equal(reply.argument[0], abi);
	assert_int_equal(booted_exchange(board, NPU_MESSAGE_PING, NULL, 0).status, NPU_ERROR_NONE);
	assert_true(board->irq_count[0] >= 2);
	/* A reset stops it; it boots again. */
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	assert_int_equal(booted_read_register(board, NPU_REG_BOOT_STATUS),
			 NPU_BOOT_STATUS_RESET);
	assert_int_equal(booted_read_register(board, NPU_REG_FW_STATE), NPU_FW_STATE_RESET);
	board_run(board, 1000);
	booted_boot(board);
	board_destroy(board);
}

static void test_damaged_image(void **state)
{
	struct board *board = board_create(NULL);
	uint64_t address;
	uint32_t size = booted_load_image(board, &address);

	(void)state;
	((uint8_t *)board_dma(board, address))[size - 1] ^= 1;
	booted_write_register(board, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	booted_write_register(board, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	booted_write_register(board, NPU_REG_BOOT_SIZE, size);
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(booted_read_register(board, NPU_REG_BOOT_STATUS),
			 NPU_BOOT_STATUS_BAD_DIGEST);
	booted_write_register(board, NPU_REG_BOOT_SIZE, 0xffffffff);
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(booted_read_register(board, NPU_REG_BOOT_STATUS),
			 NPU_BOOT_STATUS_BAD_SIZE);
	booted_write_register(board, NPU_REG_BOOT_ADDRESS_HI, 0x77);
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(booted_read_register(board, NPU_REG_BOOT_STATUS),
			 NPU_BOOT_STATUS_UNREADABLE);
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
	booted_boot(board);
	for (unsigned int context = 0; context < 2; context++) {
		booted_create_context(board, context);
		program[context] = program_begin(board, context, 0x200000, 1 + context);
		program[context].header->local_bytes = 4096;
		program[context].header->global_bytes = 4096;
		if (context)
			program_stream(&program[context], 1);
		program_finish(&program[context]);
	}
	for (unsigned int queue = 0; queue < 6; queue++)
		booted_create_queue(board, queue, queue % 2, 0x10000 * (queue + 1), 3);
	for (unsigned int i = 0; i < 18; i++) {
		unsigned int queue = i % 6;

		exec = exec_packet(&program[queue % 2], i, 0x2000, 0, 0x100000 + i * 64);
		board_push(board, queue, &exec);
		board_ring_doorbell(board, queue);
	}
	for (unsigned int i = 0; i < 18; i++) {
		const struct npu_record *record = board_at(board, i % 2, 0x100000 + i * 64);

		booted_wait_record(board, record);
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
	booted_image = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
