// SPDX-License-Identifier: MIT
/*
 * The image on the control core: start, sleep, and the ways to die.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define STACK_PAINT	0xa5
#define GUARD_BYTES	64
#define CAUSE_ILLEGAL	2
#define CAUSE_STORE	7

static const char *image_path;
static const char *stack_report;

static uint32_t tcm_word(const struct mock *mock, uint32_t address)
{
	uint32_t word;

	memcpy(&word, &mock->tcm[address - NPU_FW_TCM_BASE], sizeof(word));
	return word;
}

static void tcm_write(struct mock *mock, uint32_t address, uint32_t word)
{
	memcpy(&mock->tcm[address - NPU_FW_TCM_BASE], &word, sizeof(word));
	rv32_tcm_changed(mock->core, address - NPU_FW_TCM_BASE, sizeof(word));
}

static void ping(struct mock *mock)
{
	struct npu_message message = { .kind = NPU_MESSAGE_PING };

	assert_int_equal(mock_call(mock, &message), NPU_ERROR_NONE);
}

static void test_ready(void **state)
{
	struct mock *mock = mock_create(&mock_large, image_path);
	uint32_t alive = mock->alive;
	uint64_t booted = mock_now(mock);

	(void)state;
	assert_int_equal(mock->state, NPU_FW_STATE_READY);
	assert_int_equal(mock->core->status, RV32_WFI);
	print_message("    boot: READY and asleep within %llu cycles\n",
		      (unsigned long long)booted);

	/* Nothing to do: it sleeps for good. */
	mock_run(mock, 1000000);
	assert_int_equal(mock->alive, alive);
	assert_true(mock_quiet(mock));
	ping(mock);
	mock_settle(mock, 10000);
	assert_true(mock->alive > alive);
	mock_destroy(mock);
}

static void test_ping_cost(void **state)
{
	const struct npu_message message = { .kind = NPU_MESSAGE_PING };
	struct mock *mock = mock_create(&mock_large, image_path);
	uint64_t began = mock_now(mock);

	(void)state;
	mock_post(mock, &message);
	while (!mock->mail_out && mock_now(mock) < began + 5000)
		mock_run(mock, 1);
	print_message("    ping: reply after %llu cycles\n",
		      (unsigned long long)(mock_now(mock) - began));
	assert_true(mock_now(mock) - began < 1100);
	mock_destroy(mock);
}

static void test_log_ring(void **state)
{
	struct mock *mock = mock_create(&mock_small, image_path);
	const char *text = (const char *)&mock->tcm[mock->log + 16 - NPU_FW_TCM_BASE];
	uint32_t end = tcm_word(mock, mock->log + 8);

	(void)state;
	assert_int_equal(tcm_word(mock, mock->log), NPU_LOG_MAGIC);
	assert_true(end > 0 && end < tcm_word(mock, mock->log + 4));
	assert_int_equal(text[end - 1], '\n');
	assert_non_null(memmem(text, end, "info: npu-fw ", 13));
	assert_non_null(memmem(text, end, "1 clusters, 2 slots, 16 queues", 30));
	mock_destroy(mock);
}

/* The words of the message a dying firmware leaves. */
static void check_panic(const struct mock *mock, enum npu_panic reason)
{
	assert_int_equal(mock->core->status, RV32_HALTED);
	assert_int_equal(mock->core->fatal.cause, 0);
	assert_int_equal(mock->panic, reason);
	assert_int_equal(mock->state, NPU_FW_STATE_PANIC);
	assert_true(mock->irq & NPU_IRQ_FATAL);
	assert_true(mock->mail_out);
	assert_int_equal(mock->to_host[0], NPU_MESSAGE_PANIC);
	assert_int_equal(mock->to_host[1], 0);
	assert_int_equal(mock->to_host[2], reason);
}

static void check_logged(const struct mock *mock, const char *text)
{
	const char *log = (const char *)&mock->tcm[mock->log + 16 - NPU_FW_TCM_BASE];

	assert_non_null(memmem(log, tcm_word(mock, mock->log + 8), text, strlen(text)));
}

static void test_illegal_instruction(void **state)
{
	struct mock *mock = mock_create(&mock_large, image_path);
	uint32_t address = mock->core->pc;
	char text[80];

	(void)state;
	/* Where it goes on when something wakes it; a message nobody took is no obstacle. */
	tcm_write(mock, address & ~3u, 0);
	tcm_write(mock, (address & ~3u) + 4, 0);
	mock->mail_out = true;
	mock_interrupt(mock, NPU_CORE_IRQ_MAILBOX);
	mock_run(mock, 100000);
	check_panic(mock, NPU_PANIC_TRAP);
	assert_int_equal(mock->to_host[3], CAUSE_ILLEGAL);
	assert_int_equal(mock->to_host[4], address);
	assert_int_equal(mock->to_host[5], 0);
	snprintf(text, sizeof(text), "error: panic 1: cause 0x00000002 at 0x%08x\n", address);
	check_logged(mock, text);
	mock_destroy(mock);
}

static void test_guard(void **state)
{
	static const uint32_t places[] = { 0, GUARD_BYTES - 4 };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct mock *mock = mock_create(&mock_large, image_path);

		tcm_write(mock, NPU_FW_TCM_BASE + places[i], 0);
		mock_interrupt(mock, NPU_CORE_IRQ_MAILBOX);
		mock_run(mock, 100000);
		check_panic(mock, NPU_PANIC_STACK);
		mock_destroy(mock);
	}
}

static void test_stack_left(void **state)
{
	struct mock *mock = mock_create(&mock_large, image_path);

	(void)state;
	/* As after a recursion that went through: the next call stores below TCM. */
	mock->core->x[2] = NPU_FW_TCM_BASE;
	mock_interrupt(mock, NPU_CORE_IRQ_MAILBOX);
	mock_run(mock, 100000);
	check_panic(mock, NPU_PANIC_STACK);
	assert_int_equal(mock->to_host[3], CAUSE_STORE);
	assert_true(mock->to_host[5] < NPU_FW_TCM_BASE);
	mock_destroy(mock);
}

static void check_hardware_refused(const struct mock_config *config, uint32_t offset)
{
	struct mock *mock = mock_load(config, image_path);

	mock_run(mock, 100000);
	check_panic(mock, NPU_PANIC_HARDWARE);
	assert_int_equal(mock->to_host[5], offset);
	mock_destroy(mock);
}

static void test_impossible_hardware(void **state)
{
	struct mock_config config = mock_large;

	(void)state;
	config.clusters = 0;
	check_hardware_refused(&config, NPU_REG_CLUSTERS);
	config = mock_large;
	config.slots = 0;
	check_hardware_refused(&config, NPU_REG_SLOTS);
	config = mock_large;
	config.queues = 0;
	check_hardware_refused(&config, NPU_REG_QUEUES);
	config = mock_large;
	config.global_bytes = 0;
	check_hardware_refused(&config, NPU_REG_GLOBAL_BYTES);
}

static void test_slow_clock(void **state)
{
	struct mock_config config = mock_large;
	struct mock *mock;

	(void)state;
	config.clock_hz = 0;
	mock = mock_create(&config, image_path);
	ping(mock);
	mock_destroy(mock);
}

static unsigned int static_depth(const char *root)
{
	char line[1000];
	char name[64];
	unsigned int depth = 0;
	unsigned int found = 0;
	FILE *file = fopen(stack_report, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^:]: %u of", name, &depth) == 2 && !strcmp(name, root))
			found = depth;
	}
	fclose(file);
	assert_int_not_equal(found, 0);
	return found;
}

static void busy_hour(struct mock *mock)
{
	const struct mock_task task = { .kind = MOCK_EXEC, .clusters = 2, .bytes = 1 << 20,
					.cycles = 5000, .semaphore = ~0u };
	const struct mock_task impossible = { .kind = MOCK_EXEC, .clusters = 9, .cycles = 1,
					      .semaphore = ~0u };
	struct npu_message message = { .kind = 99 };

	assert_int_equal(mock_context(mock, 1), NPU_ERROR_NONE);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(mock_queue(mock, i, 1, i % 16), NPU_ERROR_NONE);
		for (unsigned int j = 0; j < 10; j++)
			mock_push(mock, i, task);
		mock_push(mock, i, impossible);
		mock_ring(mock, i);
	}
	mock_call(mock, &message);
	mock_settle(mock, 100000000);
	assert_int_equal(mock_context_destroy(mock, 1), NPU_ERROR_NONE);
}

static void test_stack_use(void **state)
{
	struct mock *mock = mock_load(&mock_large, image_path);
	uint32_t top = NPU_FW_TCM_BASE + GUARD_BYTES + STACK_BYTES;
	uint32_t lowest = NPU_FW_TCM_BASE + GUARD_BYTES;
	unsigned int depth = static_depth("firmware_main");

	(void)state;
	memset(mock->tcm, STACK_PAINT, top - NPU_FW_TCM_BASE);
	busy_hour(mock);
	while (lowest < top && mock->tcm[lowest - NPU_FW_TCM_BASE] == STACK_PAINT)
		lowest++;
	print_message("    stack: %u bytes used, %u at most by the call graph, %u there\n",
		      top - lowest, depth, STACK_BYTES);
	assert_true(top - lowest > 100);
	assert_true(top - lowest <= depth);
	assert_true(depth <= STACK_BYTES);
	mock_destroy(mock);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_ping_cost),
		cmocka_unit_test(test_log_ring),
		cmocka_unit_test(test_illegal_instruction),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_stack_left),
		cmocka_unit_test(test_impossible_hardware),
		cmocka_unit_test(test_slow_clock),
		cmocka_unit_test(test_stack_use),
	};

	if (count != 3) {
		fprintf(stderr, "usage: test-firmware-boot IMAGE STACK-REPORT\n");
		return 2;
	}
	image_path = arguments[1];
	stack_report = arguments[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
