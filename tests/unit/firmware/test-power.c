// SPDX-License-Identifier: MIT
/*
 * Sleep: clusters of an idle device sleep when the host has asked for it, and what that costs.
 * Manual: firmware.rst and command-processor.rst, "Sleep".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "host.h"
#include "machine.h"
#include "npu/npu_mailbox.h"

#define LIMIT		100000000
#define CONTEXT		1
#define ALL		0xfu
#define IDLE_US		200u
#define IDLE		(IDLE_US * 1000)	/* cycles */
#define WAKE		1000
#define LONG		(3 * IDLE)

static const char *image_path;
static struct host *host;

static int begin(void **state)
{
	(void)state;
	host = host_create("npu-v3", image_path);
	host_context(host, CONTEXT);
	host_queue(host, 0, CONTEXT, 0);
	host_queue(host, 1, CONTEXT, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_destroy(host);
	return 0;
}

static uint32_t reg(uint32_t offset)
{
	return npu_model_register_read(host->model, offset);
}

static uint32_t ask(uint32_t idle_us, uint32_t *asleep)
{
	struct npu_message message = { .kind = NPU_MESSAGE_POWER, .argument = { idle_us } };

	assert_int_equal(host_call(host, &message), NPU_ERROR_NONE);
	for (unsigned int i = 2; i < 14; i++)
		assert_int_equal(message.argument[i], 0);
	*asleep = message.argument[1];
	return message.argument[0];
}

/* A task on all clusters; returns the cycles from its doorbell to its start. */
static uint64_t run(unsigned int queue, uint32_t turns, uint64_t *cycles)
{
	uint64_t index = host->index[queue];
	const struct npu_record *record;
	uint64_t rung;

	host_exec(host, queue, host_program(host, 4, 4096, turns), NPU_SEM_NONE);
	rung = npu_model_time(host->model);
	host_ring(host, queue);
	record = host_record(host, queue, index);
	while (!record->status)
		npu_model_run(host->model, 100);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	*cycles = record->end - record->start;
	return record->start - rung;
}

static void pass(uint64_t cycles)
{
	uint64_t until = npu_model_time(host->model) + cycles;

	while (npu_model_time(host->model) < until) {
		uint64_t left = until - npu_model_time(host->model);

		if (!npu_model_run(host->model, left))
			continue;
		if (npu_model_timer(host->model) == UINT64_MAX)
			return;
		npu_model_skip(host->model, left);
	}
}

/* Who does not ask has nothing of it: not even an alarm. */
static void test_never(void **state)
{
	uint32_t asleep;
	uint64_t cycles;

	(void)state;
	run(0, 100, &cycles);
	pass(10 * IDLE);
	assert_int_equal(npu_model_timer(host->model), UINT64_MAX);
	assert_int_equal(ask(NPU_POWER_ASK, &asleep), 0);
	assert_int_equal(asleep, 0);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
	assert_int_equal(reg(NPU_REG_COUNTER_SLEEP_LO), 0);
}

static void test_sleep(void **state)
{
	uint64_t awake, asleep, plain, woken, slept;
	uint32_t mask;

	(void)state;
	run(0, 100, &plain);
	awake = run(0, 100, &plain);
	assert_int_equal(ask(IDLE_US, &mask), IDLE_US);
	assert_int_equal(mask, 0);
	pass(IDLE / 2);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
	pass(3 * IDLE);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), ALL);
	/* Asleep there is nothing to look for. */
	assert_int_equal(npu_model_timer(host->model), UINT64_MAX);
	slept = reg(NPU_REG_COUNTER_SLEEP_LO);
	assert_true(slept > 0);
	asleep = run(0, 100, &woken);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
	assert_int_equal(woken, plain);
	assert_int_equal(asleep, awake + WAKE);
	assert_int_equal(reg(NPU_REG_COUNTER_WAKES_LO), 1);
	assert_true(reg(NPU_REG_COUNTER_SLEEP_LO) >= slept);
	print_message("    doorbell to start %llu cycles awake, %llu asleep; the task %llu and "
		      "%llu\n", (unsigned long long)awake, (unsigned long long)asleep,
		      (unsigned long long)plain, (unsigned long long)woken);
	/* Awake it is looked at again, and it falls asleep again. */
	pass(3 * IDLE);
	assert_int_equal(ask(NPU_POWER_ASK, &mask), IDLE_US);
	assert_int_equal(mask, ALL);
	assert_int_equal(ask(0, &mask), 0);
	run(0, 100, &woken);
	pass(10 * IDLE);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
	assert_int_equal(npu_model_timer(host->model), UINT64_MAX);
}

/* Neither a long task nor short ones that come all the time are idleness. */
static void test_busy(void **state)
{
	uint64_t cycles;
	uint32_t mask;

	(void)state;
	ask(IDLE_US, &mask);
	run(0, LONG + 1000, &cycles);
	assert_true(cycles > LONG);
	assert_int_equal(reg(NPU_REG_COUNTER_WAKES_LO), 0);
	assert_int_equal(reg(NPU_REG_COUNTER_SLEEP_LO), 0);
	for (unsigned int i = 0; i < 20; i++) {
		run(i % 2, 10, &cycles);
		pass(IDLE / 2);
	}
	assert_int_equal(reg(NPU_REG_COUNTER_SLEEP_LO), 0);
	pass(3 * IDLE);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), ALL);
}

/* What the hardware does by itself: clusters with a task do not sleep, a reset wakes all. */
static void test_hardware(void **state)
{
	const struct npu_record *record = host_record(host, 0, 0);

	(void)state;
	host_exec(host, 0, host_program(host, 2, 0, 20000), NPU_SEM_NONE);
	host_ring(host, 0);
	npu_model_run(host->model, 5000);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	npu_model_core_write(host->model, NPU_REG_CORE_SLEEP, ~0u);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0xc);
	npu_model_run(host->model, 500);
	assert_int_equal(reg(NPU_REG_COUNTER_SLEEP_LO), 2 * 500);
	npu_model_register_write(host->model, NPU_REG_CLUSTERS_ASLEEP, 0);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0xc);
	npu_model_register_write(host->model, NPU_REG_CORE_SLEEP, ~0u);
	host_idle(host, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(reg(NPU_REG_COUNTER_WAKES_LO), 0);
	npu_model_reset(host->model);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
	assert_int_equal(reg(NPU_REG_COUNTER_SLEEP_LO), 0);
}

static void test_refused(void **state)
{
	struct npu_message message = { .kind = NPU_MESSAGE_POWER, .argument = { IDLE_US, 1 } };
	uint32_t mask;

	(void)state;
	assert_int_equal(host_call(host, &message), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(ask(NPU_POWER_ASK, &mask), 0);
	/* The longest time there is. */
	assert_int_equal(ask(NPU_POWER_ASK - 1, &mask), NPU_POWER_ASK - 1);
	pass(100 * IDLE);
	assert_int_equal(reg(NPU_REG_CLUSTERS_ASLEEP), 0);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_never, begin, end),
		cmocka_unit_test_setup_teardown(test_sleep, begin, end),
		cmocka_unit_test_setup_teardown(test_busy, begin, end),
		cmocka_unit_test_setup_teardown(test_hardware, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
