// SPDX-License-Identifier: MIT
/*
 * Messages: every one, every argument wrong, and hosts that do not wait their turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static const char *image_path;
static struct mock *mock;

static int boot(void **state)
{
	(void)state;
	mock = mock_create(&mock_large, image_path);
	return 0;
}

static int halt(void **state)
{
	(void)state;
	mock_destroy(mock);
	mock = NULL;
	return 0;
}

static void check_arguments_zero(const struct npu_message *message)
{
	for (unsigned int i = 0; i < COUNT(message->argument); i++)
		assert_int_equal(message->argument[i], 0);
}

static void test_hello(void **state)
{
	static const struct {
		uint32_t version;
		uint32_t status;
	} cases[] = {
		{ 1 << 16, NPU_ERROR_NONE },
		{ 1 << 16 | 77, NPU_ERROR_NONE },
		{ 0, NPU_ERROR_VERSION },
		{ 0xffff, NPU_ERROR_VERSION },
		{ 2 << 16, NPU_ERROR_VERSION },
		{ ~0u, NPU_ERROR_VERSION },
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(cases); i++) {
		struct npu_message message = { .kind = NPU_MESSAGE_HELLO,
					       .argument = { cases[i].version } };

		assert_int_equal(mock_call(mock, &message), cases[i].status);
		assert_int_equal(message.argument[0],
				 NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR);
		assert_int_equal(message.argument[1], 1);
		assert_int_not_equal(message.argument[2], 0);
		memset(message.argument, 0, 3 * sizeof(message.argument[0]));
		check_arguments_zero(&message);
	}
}

static void test_unknown_kinds(void **state)
{
	static const uint16_t kinds[] = { 0, NPU_MESSAGE_ERROR_EVENT, NPU_MESSAGE_PANIC, 14, 256,
					  0xffff };

	(void)state;
	for (unsigned int i = 0; i < COUNT(kinds); i++) {
		struct npu_message message = { .kind = kinds[i] };

		/* Whatever else is in it. */
		memset(message.argument, (int)(0x11 * i), sizeof(message.argument));
		if (kinds[i] == NPU_MESSAGE_ERROR_EVENT) {
			/* The harness would take the reply for an event. */
			message.sequence = 7;
			mock_post(mock, &message);
			mock_run(mock, 10000);
			assert_true(mock_take(mock, &message));
			assert_int_equal(message.sequence, 7);
			assert_int_equal(message.status, NPU_ERROR_UNKNOWN_MESSAGE);
			continue;
		}
		assert_int_equal(mock_call(mock, &message), NPU_ERROR_UNKNOWN_MESSAGE);
		check_arguments_zero(&message);
	}
}

/* Every word a message does not use, one at a time. */
static void test_unused_fields(void **state)
{
	static const unsigned int used[] = {
		[NPU_MESSAGE_HELLO] = 1,
		[NPU_MESSAGE_CONTEXT_CREATE] = 1,
		[NPU_MESSAGE_CONTEXT_DESTROY] = 1,
		[NPU_MESSAGE_QUEUE_CREATE] = 9,
		[NPU_MESSAGE_QUEUE_DESTROY] = 1,
		[NPU_MESSAGE_PING] = 0,
		[NPU_MESSAGE_LOG_READ] = 1,
		[NPU_MESSAGE_SUSPEND] = 1,
		[NPU_MESSAGE_QUEUE_STATE] = 1,
		[NPU_MESSAGE_POWER] = 1,
		[NPU_MESSAGE_CLOCK] = 2,
	};

	(void)state;
	for (uint16_t kind = NPU_MESSAGE_HELLO; kind <= NPU_MESSAGE_CLOCK; kind++) {
		struct npu_message message = { .kind = kind, .status = 1 };

		if (kind == NPU_MESSAGE_ERROR_EVENT || kind == NPU_MESSAGE_PANIC)
			continue;
		assert_int_equal(mock_call(mock, &message), NPU_ERROR_BAD_ARGUMENT);
		for (unsigned int i = used[kind]; i < COUNT(message.argument); i++) {
			message = (struct npu_message){ .kind = kind };
			message.argument[i] = 1u << i;
			assert_int_equal(mock_call(mock, &message), NPU_ERROR_BAD_ARGUMENT);
			check_arguments_zero(&message);
		}
	}
	/* None of it did anything: context 0 does not exist. */
	assert_int_equal(mock_context_destroy(mock, 0), NPU_ERROR_NOT_FOUND);
}

static void test_contexts(void **state)
{
	(void)state;
	assert_int_equal(mock_context_destroy(mock, 5), NPU_ERROR_NOT_FOUND);
	for (unsigned int i = 0; i < MOCK_CONTEXTS; i++) {
		assert_int_equal(mock_context(mock, i), NPU_ERROR_NONE);
		assert_int_equal(mock_context(mock, i), NPU_ERROR_EXISTS);
	}
	assert_int_equal(mock_context(mock, MOCK_CONTEXTS), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(mock_context(mock, ~0u), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(mock_context_destroy(mock, MOCK_CONTEXTS), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(mock_context_destroy(mock, 5), NPU_ERROR_NONE);
	assert_int_equal(mock_context_destroy(mock, 5), NPU_ERROR_NOT_FOUND);
	assert_int_equal(mock_context(mock, 5), NPU_ERROR_NONE);
}

static void test_queue_arguments(void **state)
{
	static const struct {
		uint32_t argument[6];
		uint32_t status;
	} cases[] = {
		/* queue, context, ring low, high, log2, priority */
		{ { 64, 1, 0x1000, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { ~0u, 1, 0x1000, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 64, 0x1000, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 0x101, 0x1000, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 2, 0x1000, 0, 6, 0 }, NPU_ERROR_NOT_FOUND },
		{ { 0, 1, 0x1020, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1001, 0, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0x40, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0xffffffbf, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0x80000000, 6, 0 }, NPU_ERROR_BAD_ARGUMENT },
		/* The end of the ring beyond the last address, of the lower half and of all. */
		{ { 0, 1, 0xffffff00, 0x3f, 2, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0xffffffc0, 0xffffffff, 2, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 1, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 0, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 17, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 32, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, ~0u, 0 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 6, 16 }, NPU_ERROR_BAD_ARGUMENT },
		{ { 0, 1, 0x1000, 0, 6, ~0u }, NPU_ERROR_BAD_ARGUMENT },
		/* Good ones, at the edges. */
		{ { 1, 1, 0x1000, 0, 2, 15 }, NPU_ERROR_NONE },
		{ { 63, 1, 0x12345640, 0x3f, 16, 0 }, NPU_ERROR_NONE },
		{ { 2, 1, 0, 0xffffffc0, 16, 0 }, NPU_ERROR_NONE },
		/* 128 + 4 * 64 bytes that end with the lower half. */
		{ { 3, 1, 0xfffffe80, 0x3f, 2, 0 }, NPU_ERROR_NONE },
		{ { 3, 1, 0x1000, 0, 2, 0 }, NPU_ERROR_EXISTS },
	};

	(void)state;
	assert_int_equal(mock_context(mock, 1), NPU_ERROR_NONE);
	for (unsigned int i = 0; i < COUNT(cases); i++) {
		struct npu_message message = { .kind = NPU_MESSAGE_QUEUE_CREATE };
		const uint32_t *argument = cases[i].argument;
		const uint32_t *registers;

		memcpy(message.argument, argument, sizeof(cases[i].argument));
		assert_int_equal(mock_call(mock, &message), cases[i].status);
		check_arguments_zero(&message);
		if (cases[i].status != NPU_ERROR_NONE)
			continue;
		registers = mock->queue[argument[0]].registers;
		assert_int_equal(registers[NPU_QUEUE_RING_LO / 4], argument[2]);
		assert_int_equal(registers[NPU_QUEUE_RING_HI / 4], argument[3]);
		assert_int_equal(registers[NPU_QUEUE_CONFIG / 4],
				 NPU_QUEUE_CONFIG_VALID | argument[4] << 8 | argument[1]);
	}
	assert_int_equal(mock->queue[0].registers[NPU_QUEUE_CONFIG / 4], 0);
	assert_int_equal(mock_queue_destroy(mock, 0), NPU_ERROR_NOT_FOUND);
	assert_int_equal(mock_queue_destroy(mock, 64), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(mock_queue_destroy(mock, 63), NPU_ERROR_NONE);
	assert_int_equal(mock->queue[63].registers[NPU_QUEUE_CONFIG / 4], 0);
	assert_int_equal(mock_queue_destroy(mock, 63), NPU_ERROR_NOT_FOUND);
	/* A context takes its queues with it. */
	assert_int_equal(mock_context_destroy(mock, 1), NPU_ERROR_NONE);
	assert_int_equal(mock->queue[1].registers[NPU_QUEUE_CONFIG / 4], 0);
	assert_int_equal(mock_queue_destroy(mock, 2), NPU_ERROR_NOT_FOUND);
}

static uint32_t read_log(char *text, uint32_t start, uint32_t *length)
{
	*length = 0;
	for (unsigned int i = 0; i < 1000; i++) {
		struct npu_message message = { .kind = NPU_MESSAGE_LOG_READ,
					       .argument = { start } };
		uint32_t bytes;

		assert_int_equal(mock_call(mock, &message), NPU_ERROR_NONE);
		bytes = message.argument[1];
		assert_true(bytes <= 40);
		start = message.argument[0];
		if (!bytes)
			return start;
		memcpy(text + *length, &message.argument[2], bytes);
		*length += bytes;
		memset(&message.argument[2], 0, (bytes + 3) & ~3u);
		message.argument[0] = 0;
		message.argument[1] = 0;
		check_arguments_zero(&message);
	}
	fail_msg("the log has no end");
	return 0;
}

static void test_log_read(void **state)
{
	static char text[40 * 1000];
	uint32_t length;
	uint32_t next;

	(void)state;
	next = read_log(text, 0, &length);
	assert_int_equal(next, length);
	assert_non_null(memmem(text, length, "info: npu-fw ", 13));

	mock_context(mock, 33);
	next = read_log(text, next, &length);
	assert_non_null(memmem(text, length, "info: context 33: created\n", 26));
	assert_null(memmem(text, length, "npu-fw", 6));

	/* Long after the ring has gone round, the old place means: from the oldest. */
	for (unsigned int i = 0; i < 500; i++) {
		mock_context_destroy(mock, 33);
		mock_context(mock, 33);
	}
	assert_true(read_log(text, next, &length) > 16384 + next);
	assert_true(length > 16000 && length <= 16384);
	assert_non_null(memmem(text, 100, "us info: context 33", 19));
}

/* The host does not take what it is sent, and sends on. */
static void test_impatient_host(void **state)
{
	const struct npu_message ping = { .kind = NPU_MESSAGE_PING, .sequence = 1 };
	const struct npu_message second = { .kind = NPU_MESSAGE_PING, .sequence = 2 };
	struct npu_message reply;

	(void)state;
	mock_post(mock, &ping);
	mock_run(mock, 10000);
	mock_post(mock, &second);
	mock_run(mock, 10000);
	assert_true(mock->mail_out);
	assert_true(mock_quiet(mock));

	assert_true(mock_take(mock, &reply));
	assert_int_equal(reply.sequence, 1);
	mock_run(mock, 10000);
	assert_true(mock_take(mock, &reply));
	assert_int_equal(reply.sequence, 2);
	mock_run(mock, 10000);
	assert_false(mock->mail_out);
	assert_true(mock_quiet(mock));
}

static const struct mock_task long_task = {
	.kind = MOCK_EXEC, .clusters = 1, .bytes = 4096, .cycles = 1000000000, .semaphore = ~0u,
};

static void test_destroy_running(void **state)
{
	uint64_t before;

	(void)state;
	mock_context(mock, 3);
	mock_queue(mock, 9, 3, 0);
	mock_push(mock, 9, long_task);
	mock_push(mock, 9, long_task);
	mock_ring(mock, 9);
	mock_run(mock, 10000);
	assert_int_equal(mock->slot[0].state, NPU_SLOT_STATE_RUNNING);
	before = mock_now(mock);
	assert_int_equal(mock_queue_destroy(mock, 9), NPU_ERROR_NONE);
	assert_true(mock_now(mock) - before < 10000);
	assert_int_equal(mock->queue[9].killed, 1);
	assert_int_equal(mock->slot[0].state, NPU_SLOT_STATE_FREE);
	assert_int_equal(mock->queue[9].registers[NPU_QUEUE_CONFIG / 4], 0);
	/* A doorbell of a queue that is no more. */
	mock_ring(mock, 9);
	mock_settle(mock, 10000);
}

static void test_destroy_context_running(void **state)
{
	(void)state;
	mock_context(mock, 3);
	mock_context(mock, 4);
	for (unsigned int queue = 0; queue < 20; queue++) {
		mock_queue(mock, queue, queue % 2 ? 3 : 4, queue % 16);
		mock_push(mock, queue, long_task);
		mock_ring(mock, queue);
	}
	mock_run(mock, 500000);
	assert_int_equal(mock_context_destroy(mock, 3), NPU_ERROR_NONE);
	for (unsigned int queue = 0; queue < 20; queue++) {
		if (queue % 2) {
			assert_false(mock_queue_in_slot(mock, queue));
			assert_int_equal(mock->queue[queue].registers[NPU_QUEUE_CONFIG / 4], 0);
		} else {
			assert_int_equal(mock->queue[queue].killed, 0);
		}
	}
	/* The others go on, in the slots that became free. */
	mock_run(mock, 500000);
	for (unsigned int queue = 0; queue < 8; queue += 2)
		assert_true(mock->queue[queue].attaches > 0);
	assert_int_equal(mock_context(mock, 3), NPU_ERROR_NONE);
	assert_int_equal(mock_context_destroy(mock, 4), NPU_ERROR_NONE);
	mock_settle(mock, 10000);
}

static void test_error_event(void **state)
{
	const struct mock_task bad = { .kind = MOCK_BAD };
	struct npu_message message;

	(void)state;
	mock_context(mock, 6);
	mock_queue(mock, 40, 6, 3);
	mock_push(mock, 40, bad);
	mock_ring(mock, 40);
	mock_run(mock, 20000);
	assert_true(mock_take(mock, &message));
	assert_int_equal(message.kind, NPU_MESSAGE_ERROR_EVENT);
	assert_int_equal(message.sequence, 0);
	assert_int_equal(message.argument[0], 40);
	assert_int_equal(message.argument[1], 6);
	assert_int_equal(message.argument[2], NPU_ERROR_BAD_PACKET);
	assert_false(mock_queue_in_slot(mock, 40));

	/* It is dead, but it exists until it is destroyed; then a new one may live there. */
	mock_push(mock, 40, long_task);
	mock_ring(mock, 40);
	mock_settle(mock, 10000);
	assert_int_equal(mock->queue[40].attaches, 1);
	assert_int_equal(mock_queue(mock, 40, 6, 3), NPU_ERROR_EXISTS);
	assert_int_equal(mock_queue_destroy(mock, 40), NPU_ERROR_NONE);
	assert_int_equal(mock_queue(mock, 40, 6, 3), NPU_ERROR_NONE);
	mock_ring(mock, 40);
	mock_run(mock, 10000);
	assert_int_equal(mock->queue[40].attaches, 2);
}

/* What is destroyed before the host could be told of its error is not told of any more. */
static void test_error_of_destroyed_queue(void **state)
{
	const struct mock_task bad = { .kind = MOCK_BAD };
	const struct npu_message destroy = { .kind = NPU_MESSAGE_QUEUE_DESTROY, .sequence = 5,
					     .argument = { 2 } };
	struct npu_message message;

	(void)state;
	mock_context(mock, 0);
	mock_queue(mock, 1, 0, 0);
	mock_queue(mock, 2, 0, 0);
	for (unsigned int queue = 1; queue <= 2; queue++) {
		mock_push(mock, queue, bad);
		mock_ring(mock, queue);
		mock_settle(mock, 100000);
	}
	mock_post(mock, &destroy);
	mock_settle(mock, 100000);
	assert_true(mock_take(mock, &message));
	assert_int_equal(message.kind, NPU_MESSAGE_ERROR_EVENT);
	assert_int_equal(message.argument[0], 1);
	mock_settle(mock, 100000);
	assert_true(mock_take(mock, &message));
	assert_int_equal(message.kind, NPU_MESSAGE_QUEUE_DESTROY);
	assert_int_equal(message.status, NPU_ERROR_NONE);
	mock_settle(mock, 100000);
	assert_false(mock_take(mock, &message));
}

/* A message that comes while a destruction is still waiting for the hardware. */
static void test_message_during_destroy(void **state)
{
	const struct npu_message destroy = { .kind = NPU_MESSAGE_CONTEXT_DESTROY, .sequence = 5,
					     .argument = { 3 } };
	const struct npu_message ping = { .kind = NPU_MESSAGE_PING, .sequence = 6 };
	struct npu_message reply;

	(void)state;
	mock_context(mock, 3);
	for (unsigned int delay = 0; delay < 1500; delay += 10) {
		for (unsigned int queue = 0; queue < 3; queue++) {
			mock_queue(mock, queue, 3, 0);
			mock_push(mock, queue, long_task);
			mock_ring(mock, queue);
		}
		mock_run(mock, 20000);
		mock_post(mock, &destroy);
		mock_run(mock, delay);
		if (mock->mail_in)
			mock_settle(mock, 100000);
		mock_post(mock, &ping);
		mock_settle(mock, 100000);
		assert_true(mock_take(mock, &reply));
		assert_int_equal(reply.sequence, 5);
		mock_settle(mock, 100000);
		assert_true(mock_take(mock, &reply));
		assert_int_equal(reply.sequence, 6);
		mock_settle(mock, 100000);
		mock_context(mock, 3);
	}
}

/* All queues fail while nobody listens; each is told of once. */
static void test_many_error_events(void **state)
{
	const struct mock_task bad = { .kind = MOCK_BAD };
	struct npu_message message = { .kind = NPU_MESSAGE_PING };
	uint64_t seen = 0;

	(void)state;
	mock_context(mock, 0);
	for (unsigned int queue = 0; queue < MOCK_QUEUES; queue++) {
		mock_queue(mock, queue, 0, queue % 16);
		mock_push(mock, queue, bad);
	}
	for (unsigned int queue = 0; queue < MOCK_QUEUES; queue++)
		mock_ring(mock, queue);
	mock_settle(mock, 10000000);
	/* A reply is not kept waiting behind all of them. */
	assert_int_equal(mock_call(mock, &message), NPU_ERROR_NONE);
	assert_true(mock->reports <= 2);
	seen |= mock->reports == 0 ? 0 : (uint64_t)1 << mock->report.argument[0];
	for (unsigned int i = 0; i < 2 * MOCK_QUEUES; i++) {
		mock_run(mock, 5000);
		if (!mock_take(mock, &message))
			break;
		assert_int_equal(message.kind, NPU_MESSAGE_ERROR_EVENT);
		assert_false(seen & (uint64_t)1 << message.argument[0]);
		seen |= (uint64_t)1 << message.argument[0];
	}
	assert_true(seen == ~(uint64_t)0);
	assert_int_equal(mock_context_destroy(mock, 0), NPU_ERROR_NONE);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hello, boot, halt),
		cmocka_unit_test_setup_teardown(test_unknown_kinds, boot, halt),
		cmocka_unit_test_setup_teardown(test_unused_fields, boot, halt),
		cmocka_unit_test_setup_teardown(test_contexts, boot, halt),
		cmocka_unit_test_setup_teardown(test_queue_arguments, boot, halt),
		cmocka_unit_test_setup_teardown(test_log_read, boot, halt),
		cmocka_unit_test_setup_teardown(test_impatient_host, boot, halt),
		cmocka_unit_test_setup_teardown(test_destroy_running, boot, halt),
		cmocka_unit_test_setup_teardown(test_destroy_context_running, boot, halt),
		cmocka_unit_test_setup_teardown(test_error_event, boot, halt),
		cmocka_unit_test_setup_teardown(test_error_of_destroyed_queue, boot, halt),
		cmocka_unit_test_setup_teardown(test_message_during_destroy, boot, halt),
		cmocka_unit_test_setup_teardown(test_many_error_events, boot, halt),
	};

	if (count != 2) {
		fprintf(stderr, "usage: test-firmware-mailbox IMAGE\n");
		return 2;
	}
	image_path = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
