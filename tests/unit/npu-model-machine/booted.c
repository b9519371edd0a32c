// SPDX-License-Identifier: MIT
/* The real firmware on the control core of a board. See booted.h. */
#include "booted.h"

#include <stdio.h>
#include <string.h>

#define LIMIT	20000000ull

const char *booted_image;

uint32_t booted_read_register(struct board *board, uint32_t offset)
{
	return npu_model_register_read(board->model, offset);
}

void booted_write_register(struct board *board, uint32_t offset, uint32_t value)
{
	npu_model_register_write(board->model, offset, value);
}

/* Returns the image's size. */
uint32_t booted_load_image(struct board *board, uint64_t *address)
{
	FILE *file = fopen(booted_image, "rb");
	uint32_t size;

	assert_non_null(file);
	*address = board_pages(board, 80);
	size = (uint32_t)fread(board_dma(board, *address), 1, 80 * 4096, file);
	fclose(file);
	assert_true(size > NPU_FW_HEADER_SIZE);
	return size;
}

/* Let device time pass, timers included, until @offset reads @value. */
void booted_wait_register(struct board *board, uint32_t offset, uint32_t value)
{
	uint64_t end = npu_model_time(board->model) + LIMIT;

	while (booted_read_register(board, offset) != value) {
		if (npu_model_time(board->model) > end)
			fail_msg("register %#x is %#x, not %#x", offset,
				 booted_read_register(board, offset), value);
		if (npu_model_run(board->model, 1000))
			npu_model_skip(board->model, 1000);
		if (npu_model_timer(board->model) == UINT64_MAX &&
		    npu_model_run(board->model, 1000) &&
		    booted_read_register(board, offset) != value)
			fail_msg("the device sleeps for good, register %#x is %#x, not %#x", offset,
				 booted_read_register(board, offset), value);
	}
}

void booted_boot(struct board *board)
{
	uint64_t address;
	uint32_t size = booted_load_image(board, &address);

	booted_write_register(board, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	booted_write_register(board, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	booted_write_register(board, NPU_REG_BOOT_SIZE, size);
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(booted_read_register(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
	booted_wait_register(board, NPU_REG_FW_STATE, NPU_FW_STATE_READY);
}

struct npu_message booted_exchange(struct board *board, uint16_t kind, const uint32_t *arguments,
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
		booted_write_register(board, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	booted_write_register(board, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	booted_wait_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	for (unsigned int i = 0; i < 16; i++)
		words[i] = booted_read_register(board, NPU_REG_MAILBOX_TO_HOST + 4 * i);
	memcpy(&reply, words, sizeof(reply));
	booted_write_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	assert_int_equal(reply.kind, kind);
	assert_int_equal(reply.sequence, message.sequence);
	return reply;
}

void booted_create_queue(struct board *board, unsigned int queue, unsigned int context,
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
	assert_int_equal(booted_exchange(board, NPU_MESSAGE_QUEUE_CREATE, arguments, 6).status, 0);
}

void booted_create_context(struct board *board, uint32_t context)
{
	board_add_context(board, context);
	assert_int_equal(booted_exchange(board, NPU_MESSAGE_CONTEXT_CREATE, &context, 1).status, 0);
}

void booted_wait_record(struct board *board, const struct npu_record *record)
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
