/* SPDX-License-Identifier: MIT */
/*
 * A board whose control core runs the real firmware: boot, mailbox, queues, records.
 */
#ifndef TEST_BOOTED_H
#define TEST_BOOTED_H

#include "board.h"
#include "npu/npu_firmware.h"
#include "npu/npu_mailbox.h"

/* Path of the image. */
extern const char *booted_image;

uint32_t booted_read_register(struct board *board, uint32_t offset);
void booted_write_register(struct board *board, uint32_t offset, uint32_t value);

/* Puts the image into memory; returns its size. */
uint32_t booted_load_image(struct board *board, uint64_t *address);

/* Let device time pass, timers included, until @offset reads @value. */
void booted_wait_register(struct board *board, uint32_t offset, uint32_t value);

/* Boot until the firmware is ready. */
void booted_boot(struct board *board);

/* Send a message and wait for the reply. */
struct npu_message booted_exchange(struct board *board, uint16_t kind, const uint32_t *arguments,
				   unsigned int count);

void booted_create_queue(struct board *board, unsigned int queue, unsigned int context,
			 uint64_t offset, unsigned int log2);
void booted_create_context(struct board *board, uint32_t context);

/* Let device time pass until the record is there. */
void booted_wait_record(struct board *board, const struct npu_record *record);

#endif /* TEST_BOOTED_H */
