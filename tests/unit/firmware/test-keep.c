// SPDX-License-Identifier: MIT
/*
 * The promise of KEEP: nobody has the window of a preempted task before it has come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "npu/npu_isa.h"

static const char *image_path;

static uint32_t preemptions(struct host *host)
{
	return npu_model_register_read(host->model, NPU_REG_COUNTER_PREEMPTIONS_LO);
}

/* A task of host_window_points(), with data of its own. */
struct window_task {
	uint64_t in, out;
};

static struct window_task submit_window_task(struct host *host, unsigned int queue, uint32_t passes)
{
	const uint64_t save = host_alloc(host, 0x10000);
	const uint64_t arguments = host_alloc(host, NPU_ARG_COUNT * sizeof(uint64_t));
	const struct window_task task = {
		.in = host_alloc(host, HOST_DATA), .out = host_alloc(host, HOST_DATA),
	};
	uint64_t values[NPU_ARG_COUNT] = { task.in, task.out };

	values[NPU_ARG_SAVE] = save;
	memcpy(host->memory + arguments, values, sizeof(values));
	memset(host->memory + task.in, (int)(0x11 * (queue + 1)), HOST_DATA);
	host_exec_task(host, queue, host_window_points(host, passes), arguments, NPU_EXEC_PREEMPT);
	return task;
}

enum { LOW, MIDDLE, HIGH, ALL };

/*
 * The lowest priority runs, the middle one comes and has it leave with its window kept, the highest
 * one comes @delay cycles later and needs a slot. Returns how often a task was preempted.
 */
static uint32_t run_short_of_slots(uint64_t delay)
{
	struct host *host = host_create("npu-v3?slots=2&clusters=1", image_path);
	struct window_task tasks[ALL];
	uint32_t preempted;

	for (unsigned int i = 0; i < ALL; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, i * 7);
	}
	tasks[LOW] = submit_window_task(host, LOW, 40);
	host_ring(host, LOW);
	npu_model_run(host->model, 20000);
	tasks[MIDDLE] = submit_window_task(host, MIDDLE, 4);
	tasks[HIGH] = submit_window_task(host, HIGH, 4);
	host_ring(host, MIDDLE);
	if (delay)
		npu_model_run(host->model, delay);
	host_ring(host, HIGH);
	host_idle(host, 2000000);
	for (unsigned int i = 0; i < ALL; i++) {
		assert_int_equal(host_record(host, i, 0)->status, NPU_STATUS_DONE);
		assert_memory_equal(host->memory + tasks[i].out, host->memory + tasks[i].in,
				    HOST_DATA);
	}
	preempted = preemptions(host);
	host_destroy(host);
	return preempted;
}

/* A slot whose task was told that its window is kept is not emptied, and the other way round. */
static void test_slot_kept(void **state)
{
	uint32_t preempted = 0;

	(void)state;
	for (uint64_t delay = 0; delay < 8000; delay += 200)
		preempted += run_short_of_slots(delay);
	print_message("    %u preemptions\n", preempted);
	assert_true(preempted >= 30);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slot_kept),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
