// SPDX-License-Identifier: MIT
/*
 * Owners that do not know of each other share the device: what they gain by it, and what one that
 * means no good can take from another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#define LIMIT		100000000
#define PASSES		40

static const char *image_path;

/* Ends of tasks, of which the last one counts; all must be DONE. */
static uint64_t last_end(const struct host *host, const unsigned int *queues, unsigned int count,
			 uint64_t index)
{
	uint64_t end = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct npu_record *record = host_record(host, queues[i], index);

		assert_int_equal(record->status, NPU_STATUS_DONE);
		end = record->end > end ? record->end : end;
	}
	return end;
}

static bool overlap(const struct npu_record *one, const struct npu_record *other)
{
	return one->start < other->end && other->start < one->end;
}

/* Two tasks of two clusters, of two contexts, against the same two one after the other. */
static void test_side_by_side(void **state)
{
	static const unsigned int both[2] = { 0, 1 };
	struct host *host = host_create("npu-v3", image_path);
	uint64_t program;
	uint64_t together;
	uint64_t apart;
	uint64_t begin;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, 5);
	}
	program = host_work(host, 2, PASSES);
	begin = npu_model_time(host->model);
	for (unsigned int i = 0; i < 2; i++) {
		host_exec(host, i, program, NPU_SEM_NONE);
		host_ring(host, i);
	}
	host_idle(host, LIMIT);
	assert_true(overlap(host_record(host, 0, 0), host_record(host, 1, 0)));
	together = last_end(host, both, 2, 0) - begin;
	assert_true(host_record(host, 0, 0)->mac_cycles >= 2 * PASSES * HOST_PASS);

	begin = npu_model_time(host->model);
	for (unsigned int i = 0; i < 2; i++) {
		host_exec(host, i, program, NPU_SEM_NONE);
		host_ring(host, i);
		host_idle(host, LIMIT);
	}
	assert_false(overlap(host_record(host, 0, 1), host_record(host, 1, 1)));
	apart = last_end(host, both, 2, 1) - begin;
	print_message("    side by side %llu cycles, one after the other %llu: %.3f\n",
		      (unsigned long long)together, (unsigned long long)apart,
		      (double)together / (double)apart);
	assert_true(10 * together < 6 * apart);
	host_destroy(host);
}

/*
 * A queue that had all clusters keeps them for later; when its task uses two of them the others go
 * to who asks, while it runs.
 */
static void test_unused_clusters(void **state)
{
	struct host *host = host_create("npu-v3", image_path);

	(void)state;
	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, 15);
	host_queue(host, 1, 2, 0);
	host_exec(host, 0, host_work(host, 4, 1), NPU_SEM_NONE);
	host_exec(host, 0, host_work(host, 2, PASSES), NPU_SEM_NONE);
	host_ring(host, 0);
	npu_model_run(host->model, 20000);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	assert_int_equal(host_record(host, 0, 1)->status, NPU_STATUS_NONE);
	host_exec(host, 1, host_work(host, 2, PASSES), NPU_SEM_NONE);
	host_ring(host, 1);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 0, 1)->status, NPU_STATUS_DONE);
	assert_int_equal(host_record(host, 1, 0)->status, NPU_STATUS_DONE);
	assert_true(overlap(host_record(host, 0, 1), host_record(host, 1, 0)));
	/* What was taken is asked for again. */
	host_exec(host, 0, host_work(host, 4, 1), NPU_SEM_NONE);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 0, 2)->status, NPU_STATUS_DONE);
	host_destroy(host);
}

#define BLOCKED		63
#define VICTIM		63
#define NEVER_SIGNALLED	4
#define SIGNALLED	5

/* Of the manual, firmware.rst: to empty a slot; then the queue's own way to its task. */
#define EMPTY_A_SLOT	2000
#define COLD_START	2000

/* From doorbell to start, while the others do what they can in between. */
static uint64_t victim_latency(struct host *host, uint64_t program, bool storm)
{
	uint64_t rung = npu_model_time(host->model);

	host_exec(host, VICTIM, program, NPU_SEM_NONE);
	host_ring(host, VICTIM);
	for (unsigned int i = 0; !host_record(host, VICTIM, 0)->status; i++) {
		if (i > 10000)
			fail_msg("the task does not start");
		npu_model_run(host->model, 50);
		if (!storm)
			continue;
		npu_model_doorbell(host->model, i % BLOCKED, NPU_DOORBELL_SIGNAL,
				   (uint64_t)SIGNALLED << 48 | 1, 8);
		host_ring(host, i % BLOCKED);
	}
	assert_int_equal(host_record(host, VICTIM, 0)->status, NPU_STATUS_DONE);
	return host_record(host, VICTIM, 0)->start - rung;
}

/* 63 queues of the highest priority wait for what never comes, and are rung and signalled at. */
static void test_blocked_queues(void **state)
{
	uint64_t latency[3];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct host *host = host_create("npu-v3", image_path);

		host_context(host, 1);
		host_context(host, 2);
		for (unsigned int j = 0; j < BLOCKED; j++) {
			host_queue(host, j, 1, 15);
			host_wait(host, j, NEVER_SIGNALLED, 1);
			if (i)
				host_ring(host, j);
		}
		host_queue(host, VICTIM, 2, 0);
		host_idle(host, LIMIT);
		latency[i] = victim_latency(host, host_program(host, 4, 4096, 100), i == 2);
		host_destroy(host);
	}
	print_message("    alone %llu cycles, behind %u blocked queues %llu, in a storm %llu\n",
		      (unsigned long long)latency[0], BLOCKED, (unsigned long long)latency[1],
		      (unsigned long long)latency[2]);
	assert_in_range(latency[0], 1, COLD_START);
	assert_in_range(latency[1], 1, EMPTY_A_SLOT + COLD_START);
	assert_in_range(latency[2], 1, EMPTY_A_SLOT + COLD_START);
}

/* A queue out of its slot wakes when what it waits for is there, and not for anything else. */
static void test_wakes_for_its_own(void **state)
{
	struct host *host = host_create("npu-v3?slots=1", image_path);
	uint64_t program;
	uint32_t alive;

	(void)state;
	host_context(host, 1);
	host_queue(host, 0, 1, 15);
	host_queue(host, 1, 1, 0);
	program = host_program(host, 1, 4096, 100);
	host_wait(host, 0, NEVER_SIGNALLED, 2);
	host_exec(host, 0, program, NPU_SEM_NONE);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	host_exec(host, 1, program, NPU_SEM_NONE);
	host_ring(host, 1);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 1, 0)->status, NPU_STATUS_DONE);
	alive = npu_model_register_read(host->model, NPU_REG_FW_ALIVE);
	npu_model_doorbell(host->model, 0, NPU_DOORBELL_SIGNAL, (uint64_t)SIGNALLED << 48 | 1, 8);
	npu_model_doorbell(host->model, 0, NPU_DOORBELL_SIGNAL,
			   (uint64_t)NEVER_SIGNALLED << 48 | 1, 8);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	assert_int_equal(npu_model_register_read(host->model, NPU_REG_FW_ALIVE), alive);
	npu_model_doorbell(host->model, 0, NPU_DOORBELL_SIGNAL,
			   (uint64_t)NEVER_SIGNALLED << 48 | 1, 8);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 0, 1)->status, NPU_STATUS_DONE);
	host_destroy(host);
}

/* All of the log, as the host reads it. */
static const char *read_log(struct host *host)
{
	static char text[4096];
	size_t length = 0;
	uint32_t next = 0;

	for (;;) {
		struct npu_message message = { .kind = NPU_MESSAGE_LOG_READ, .argument = { next } };

		assert_int_equal(host_call(host, &message), NPU_ERROR_NONE);
		next = message.argument[0];
		if (!message.argument[1] || length + message.argument[1] >= sizeof(text))
			break;
		memcpy(text + length, &message.argument[2], message.argument[1]);
		length += message.argument[1];
	}
	text[length] = '\0';
	return text;
}

/* Tasks that never end, of one owner, beside those of another, which notice nothing. */
static void test_hung_tasks(void **state)
{
	struct host *host = host_create("npu-v3", image_path);
	const char *log;
	uint64_t hung;
	uint64_t good;

	(void)state;
	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, 15);
	host_queue(host, 1, 2, 0);
	hung = host_work(host, 2, 1u << 20);
	good = host_work(host, 2, PASSES);
	for (unsigned int i = 0; i < 4; i++) {
		host_exec_within(host, 0, hung, 20, 7);
		host_exec(host, 1, good, NPU_SEM_NONE);
	}
	host_ring(host, 0);
	host_ring(host, 1);
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < 4; i++) {
		const struct npu_record *record = host_record(host, 0, i);

		assert_int_equal(record->status, NPU_STATUS_BUDGET);
		assert_int_equal(record->end - record->start, 20 * 1024);
		record = host_record(host, 1, i);
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->mac_cycles, 2 * PASSES * HOST_PASS);
	}
	assert_int_equal(host->reports, 0);
	/* The log has the first one and no more. */
	log = strstr(read_log(host), "queue 0: task 0 ran out of its budget, context 1");
	assert_non_null(log);
	assert_null(strstr(strstr(log, "ran out") + 1, "ran out"));
	host_destroy(host);
}

/* Keep a queue at work. */
static void refill(struct host *host, unsigned int queue, uint64_t program)
{
	while (host->index[queue] - host_control(host, queue)->read_index < 4)
		host_exec(host, queue, program, NPU_SEM_NONE);
	host_ring(host, queue);
}

/*
 * A queue of the lowest priority that has aged until it got a slot is offered there what it had
 * last, which is less than it needs now: it does not have to age once more.
 */
static void test_offer_too_small(void **state)
{
	struct host *host = host_create("npu-v3?slots=2", image_path);
	uint64_t busy = host_program(host, 2, 0, 20000);
	const struct npu_record *record;
	uint64_t rung;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, i ? 15 : 0);
	}
	host_exec(host, 0, host_end(host, 1, 0), NPU_SEM_NONE);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < 50; i++) {
		refill(host, 1, busy);
		refill(host, 2, busy);
		npu_model_run(host->model, 2000);
	}
	rung = npu_model_time(host->model);
	host_exec(host, 0, host_end(host, 4, 0), NPU_SEM_NONE);
	host_ring(host, 0);
	record = host_record(host, 0, 1);
	while (!record->status && npu_model_time(host->model) < rung + 4000000) {
		refill(host, 1, busy);
		refill(host, 2, busy);
		npu_model_run(host->model, 2000);
	}
	assert_int_equal(record->status, NPU_STATUS_DONE);
	/* 1500 us, then the tasks that run. */
	assert_in_range(record->start - rung, 1500000, 1500000 + 2 * 50000);
	host_destroy(host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_unused_clusters),
		cmocka_unit_test(test_blocked_queues),
		cmocka_unit_test(test_wakes_for_its_own),
		cmocka_unit_test(test_hung_tasks),
		cmocka_unit_test(test_offer_too_small),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
