// SPDX-License-Identifier: MIT
/*
 * Firmware and device model together: rings, packets and programs are real here. More queues than
 * slots, more wishes than clusters, queues that wait, fail and are destroyed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#define LIMIT		100000000
#define QUEUES		24

static const char *image_path;

static void check_done(const struct host *host, unsigned int queue, uint64_t index)
{
	const struct npu_record *record = host_record(host, queue, index);

	if (record->status != NPU_STATUS_DONE)
		fail_msg("queue %u, task %u: status %u, error %u", queue, (unsigned int)index,
			 record->status, record->error);
}

/* Returns the time at which all was done. */
static uint64_t run_mix(const char *config, uint32_t clusters, uint32_t global_bytes)
{
	struct host *host = host_create(config, image_path);
	uint32_t hello = NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR;
	unsigned int queues = clusters > 1 ? QUEUES : 16;
	uint64_t program[16];
	uint64_t time;

	assert_int_equal(host_call1(host, NPU_MESSAGE_HELLO, hello), NPU_ERROR_NONE);
	host_context(host, 0);
	host_context(host, 7);
	for (unsigned int i = 0; i < 16; i++)
		program[i] = host_program(host, 1 + i % clusters, global_bytes / 16 * (i + 1),
					  500 + 400 * i);
	for (unsigned int i = 0; i < queues; i++)
		host_queue(host, i, i % 2 ? 7 : 0, i % 16);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < queues; i++) {
			for (unsigned int j = 0; j < 6; j++)
				host_exec(host, i, program[(i + j) % 16], NPU_SEM_NONE);
			host_ring(host, i);
		}
		host_idle(host, LIMIT);
		for (unsigned int i = 0; i < queues; i++) {
			for (unsigned int j = 0; j < 6; j++)
				check_done(host, i, 6 * round + j);
			assert_int_equal(host_control(host, i)->read_index, 6 * (round + 1));
			assert_int_equal(host_control(host, i)->sleeping, 1);
		}
	}
	assert_int_equal(host->reports, 0);
	time = npu_model_time(host->model);
	assert_int_equal(host_call1(host, NPU_MESSAGE_CONTEXT_DESTROY, 7), NPU_ERROR_NONE);
	assert_int_equal(host_call1(host, NPU_MESSAGE_CONTEXT_DESTROY, 0), NPU_ERROR_NONE);
	host_destroy(host);
	return time;
}

static void test_mix(void **state)
{
	(void)state;
	assert_int_equal(run_mix("npu-v3", 4, 4 << 20), run_mix("npu-v3", 4, 4 << 20));
}

static void test_mix_small(void **state)
{
	(void)state;
	run_mix("lowpower-v3", 1, 512 << 10);
}

/* Two tasks of two clusters overlap; two of three clusters cannot. */
static void test_side_by_side(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	const struct npu_record *first;
	const struct npu_record *second;

	(void)state;
	host_context(host, 0);
	for (unsigned int clusters = 2; clusters <= 3; clusters++) {
		uint64_t program = host_program(host, clusters, 65536, 20000);

		host_queue(host, 2 * clusters, 0, 5);
		host_queue(host, 2 * clusters + 1, 0, 5);
		host_exec(host, 2 * clusters, program, NPU_SEM_NONE);
		host_exec(host, 2 * clusters + 1, program, NPU_SEM_NONE);
		host_ring(host, 2 * clusters);
		host_ring(host, 2 * clusters + 1);
		host_idle(host, LIMIT);
		check_done(host, 2 * clusters, 0);
		check_done(host, 2 * clusters + 1, 0);
		first = host_record(host, 2 * clusters, 0);
		second = host_record(host, 2 * clusters + 1, 0);
		if (clusters == 2)
			assert_true(first->start < second->end && second->start < first->end);
		else
			assert_true(first->start >= second->end || second->start >= first->end);
	}
	host_destroy(host);
}

/* All slots wait for a queue that has none; then for a doorbell of the host. */
static void test_waits(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	uint64_t program;

	(void)state;
	host_context(host, 3);
	program = host_program(host, 1, 64, 100);
	for (unsigned int i = 0; i < 20; i++) {
		host_queue(host, i, 3, i < 19 ? 15 : 0);
		if (i < 19)
			host_wait(host, i, 4, 1);
		host_exec(host, i, program, i < 19 ? 5 : 4);
	}
	for (unsigned int i = 0; i < 19; i++)
		host_ring(host, i);
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < 19; i++)
		assert_int_equal(host_record(host, i, 1)->status, NPU_STATUS_NONE);
	host_ring(host, 19);
	host_idle(host, LIMIT);
	check_done(host, 19, 0);
	for (unsigned int i = 0; i < 19; i++)
		check_done(host, i, 1);

	/* The same with a signal from outside, and all queues are out of their slots by then. */
	for (unsigned int i = 0; i < 20; i++) {
		host_wait(host, i, 6, 10);
		host_exec(host, i, program, NPU_SEM_NONE);
		host_ring(host, i);
	}
	host_idle(host, LIMIT);
	npu_model_doorbell(host->model, 0, NPU_DOORBELL_SIGNAL, (uint64_t)6 << 48 | 9, 8);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 2, 3)->status, NPU_STATUS_NONE);
	npu_model_doorbell(host->model, 0, NPU_DOORBELL_SIGNAL, (uint64_t)6 << 48 | 1, 8);
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < 19; i++)
		check_done(host, i, 3);
	check_done(host, 19, 2);
	host_destroy(host);
}

static void test_destroy(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	uint64_t program;

	(void)state;
	host_context(host, 1);
	host_context(host, 2);
	program = host_program(host, 1, 64, 1000000);
	for (unsigned int i = 0; i < 6; i++) {
		host_queue(host, i, 1 + i % 2, 3);
		host_exec(host, i, program, NPU_SEM_NONE);
		host_ring(host, i);
	}
	npu_model_run(host->model, 20000);
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_DESTROY, 0), NPU_ERROR_NONE);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_KILLED);
	assert_int_equal(host_call1(host, NPU_MESSAGE_CONTEXT_DESTROY, 2), NPU_ERROR_NONE);
	assert_int_equal(host_record(host, 1, 0)->status, NPU_STATUS_KILLED);
	assert_int_equal(host_record(host, 3, 0)->status, NPU_STATUS_KILLED);
	host_idle(host, LIMIT);
	check_done(host, 2, 0);
	check_done(host, 4, 0);
	assert_int_equal(host->reports, 0);
	host_destroy(host);
}

static void test_bad_packet(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	const uint32_t packet[16] = { NPU_PACKET_HEADER(99, 0, 0) };
	uint64_t program;

	(void)state;
	host_context(host, 1);
	host_queue(host, 30, 1, 0);
	host_queue(host, 31, 1, 0);
	program = host_program(host, 4, 4 << 20, 100);
	host_exec(host, 30, program, NPU_SEM_NONE);
	host_packet(host, 30, packet);
	host_exec(host, 30, program, NPU_SEM_NONE);
	host_exec(host, 31, program, NPU_SEM_NONE);
	host_ring(host, 30);
	host_ring(host, 31);
	host_idle(host, LIMIT);
	check_done(host, 30, 0);
	check_done(host, 31, 0);
	assert_int_equal(host_control(host, 30)->error, NPU_ERROR_BAD_PACKET);
	assert_int_equal(host_control(host, 30)->error_index, 1);
	assert_int_equal(host->reports, 1);
	assert_int_equal(host->report.argument[0], 30);
	assert_int_equal(host->report.argument[1], 1);
	assert_int_equal(host->report.argument[2], NPU_ERROR_BAD_PACKET);

	/* The number can be used again. */
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_DESTROY, 30), NPU_ERROR_NONE);
	host_queue(host, 30, 1, 0);
	host_exec(host, 30, program, NPU_SEM_NONE);
	host_ring(host, 30);
	host_idle(host, LIMIT);
	check_done(host, 30, 0);
	host_destroy(host);
}

/* A queue that always has work for all clusters, against one of the lowest priority. */
static void test_ageing(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	uint64_t large;
	uint64_t waited;

	(void)state;
	host_context(host, 0);
	large = host_program(host, 4, 64, 20000);
	host_queue(host, 0, 0, 15);
	host_queue(host, 1, 0, 0);
	host_exec(host, 1, host_program(host, 1, 64, 10), NPU_SEM_NONE);
	host_exec(host, 0, large, NPU_SEM_NONE);
	host_ring(host, 0);
	npu_model_run(host->model, 10000);
	host_ring(host, 1);
	waited = npu_model_time(host->model);
	for (unsigned int i = 0; i < 200 && !host_record(host, 1, 0)->status; i++) {
		while (host->index[0] - host_control(host, 0)->read_index < HOST_RECORDS / 2)
			host_exec(host, 0, large, NPU_SEM_NONE);
		host_ring(host, 0);
		npu_model_run(host->model, 20000);
	}
	check_done(host, 1, 0);
	waited = host_record(host, 1, 0)->start - waited;
	/* 15 levels of 100 us, and the end of a task; see policy.h. */
	assert_in_range(waited, 1500000, 1500000 + 25000 + 2 * 20000 + 2000);
	host_destroy(host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_mix_small),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_bad_packet),
		cmocka_unit_test(test_ageing),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
