// SPDX-License-Identifier: MIT
/*
 * How long it takes from a doorbell to a task's first instruction, and from a queue to the next one
 * in its slot, part by part, in cycles of npu-v3. Manual: firmware.rst, "Costs".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "machine.h"

#define LIMIT		10000000

/* What may not be exceeded, whatever compiler built the firmware. */
#define IN_SLOT_MOST	350
#define ASSIGNED_MOST	500
#define COLD_MOST	2000
#define SWITCH_MOST	300

/* Of the manual, timing.rst: 122 for the packet, 1 for its semaphores, 60 for the dispatch. */
#define FETCH		122
#define COMPARE		1
#define DISPATCH	60
#define HARDWARE	(FETCH + COMPARE + DISPATCH)
/* To clear one accumulator half, which is all that a MAC of host_work() has written. */
#define HALF_SCRUB	128

static const char *image_path;

/* Times at which things happened to a queue since its doorbell, or since another's task ended. */
struct way {
	uint64_t attached;	/* 0: it was in its slot */
	uint64_t granted;	/* 0: it had its grant, or got it before it had to ask */
	uint64_t asked;		/* entered REQUEST; 0: never */
	uint64_t started;	/* record.start */
	uint64_t first;		/* the first instruction */
};

/* The slot that has the queue, or NULL. */
static const struct npu_slot *slot_of(const struct host *host, unsigned int queue)
{
	const struct npu_queue *state = &host->model->command.queue[queue];

	return state->attached ? &host->model->command.slot[state->slot] : NULL;
}

/* Runs until the queue's packet number @index has its record, looking at every cycle. */
static struct way follow(struct host *host, unsigned int queue, uint64_t index, uint64_t since)
{
	const struct npu_record *record = host_record(host, queue, index);
	uint64_t end = since + LIMIT;
	struct way way = { 0 };

	while (!record->status) {
		uint64_t now = npu_model_time(host->model);
		const struct npu_slot *slot;

		assert_true(now < end);
		if (npu_model_run(host->model, 1) && !record->status)
			npu_model_skip(host->model, 1);
		/* What has changed did so in the cycle that has passed. */
		slot = slot_of(host, queue);
		if (slot && !way.attached)
			way.attached = now - since;
		if (slot && slot->phase == NPU_PHASE_REQUEST && !way.asked)
			way.asked = now - since;
		if (way.asked && slot && slot->phase == NPU_PHASE_TASK && !way.granted)
			way.granted = now - since;
	}
	assert_int_equal(record->status, NPU_STATUS_DONE);
	way.started = record->start - since;
	/* The program's only instruction is END: a task of one cycle's decode. */
	way.first = record->end - since;
	return way;
}

static void print_way(const char *what, const struct way *way)
{
	print_message("    %-34s attached %4llu, asked %4llu, granted %4llu, started %4llu, "
		      "first instruction %4llu\n", what, (unsigned long long)way->attached,
		      (unsigned long long)way->asked, (unsigned long long)way->granted,
		      (unsigned long long)way->started, (unsigned long long)way->first);
}

static struct way submit(struct host *host, unsigned int queue, uint64_t program)
{
	uint64_t rung = npu_model_time(host->model);
	uint64_t index = host->index[queue];

	host_exec(host, queue, program, NPU_SEM_NONE);
	host_ring(host, queue);
	return follow(host, queue, index, rung);
}

static void test_doorbell(void **state)
{
	struct host *host = host_create("npu-v3?slots=1", image_path);
	uint64_t program = host_end(host, 2, 4096);
	struct way way;

	(void)state;
	host_context(host, 1);
	host_queue(host, 0, 1, 5);
	host_queue(host, 1, 1, 5);
	host_idle(host, LIMIT);

	way = submit(host, 0, program);
	print_way("cold", &way);
	assert_in_range(way.first, 1, COLD_MOST);
	host_idle(host, LIMIT);

	way = submit(host, 0, program);
	print_way("in its slot", &way);
	assert_int_equal(way.first, HARDWARE);
	assert_in_range(way.first, 1, IN_SLOT_MOST);
	host_idle(host, LIMIT);

	/* Another queue takes the only slot, and leaves it. */
	way = submit(host, 1, program);
	print_way("cold, another queue's idle slot", &way);
	host_idle(host, LIMIT);
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_DESTROY, 1), NPU_ERROR_NONE);
	host_idle(host, LIMIT);
	assert_null(slot_of(host, 0));
	way = submit(host, 0, program);
	print_way("a free slot to be assigned", &way);
	assert_int_equal(way.first - way.attached, HARDWARE);
	assert_int_equal(way.asked, 0);
	assert_in_range(way.first, 1, ASSIGNED_MOST);
	host_destroy(host);
}

/* From the end of queue 0's packet @index to the first instruction of queue 1's first one. */
static struct way follow_end(struct host *host, uint64_t index)
{
	const struct npu_record *record = host_record(host, 0, index);
	uint64_t first = host_control(host, 1)->read_index;

	while (!record->status)
		npu_model_run(host->model, 1);
	return follow(host, 1, first, record->end);
}

/* Queues 0 and 1 of one context or two, both of which have been in the only slot; 0 is there. */
static struct host *two_queues(const char *config, unsigned int contexts, unsigned int priority)
{
	struct host *host = host_create(config, image_path);
	uint64_t program = host_end(host, 2, 4096);

	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, 5);
	host_queue(host, 1, contexts, priority);
	submit(host, 1, program);
	host_idle(host, LIMIT);
	submit(host, 0, program);
	host_idle(host, LIMIT);
	return host;
}

/* A queue's turn is over while another waits: from the end of its task on. */
static void test_switch(void **state)
{
	(void)state;
	for (unsigned int contexts = 1; contexts <= 2; contexts++) {
		struct host *host = two_queues("npu-v3?slots=1", contexts, 5);
		uint64_t program = host_end(host, 2, 4096);
		uint64_t scrub;
		struct way way;

		host_exec(host, 0, host_work(host, 2, 200), NPU_SEM_NONE);
		host_exec(host, 0, program, NPU_SEM_NONE);
		host_ring(host, 0);
		npu_model_run(host->model, 5000);
		host_exec(host, 1, program, NPU_SEM_NONE);
		host_ring(host, 1);
		way = follow_end(host, 1);
		print_way(contexts == 1 ? "from task to task, one context" :
					  "from task to task, two contexts", &way);
		scrub = way.first - HARDWARE;
		print_message("    of which: beside the record %u, compare and dispatch %u, "
			      "scrub %llu\n", FETCH, COMPARE + DISPATCH,
			      (unsigned long long)scrub);
		assert_int_equal(scrub, contexts == 1 ? 0 : HALF_SCRUB);
		assert_in_range(way.first - scrub, 1, SWITCH_MOST);
		host_destroy(host);
	}
}

/* The same when the task ends before the firmware could say who follows: it does so afterwards. */
static void test_late_switch(void **state)
{
	struct way most = { 0 };

	(void)state;
	for (unsigned int delay = 0; delay < 1000; delay += 50) {
		struct host *host = two_queues("npu-v3?slots=1", 1, 6);
		uint64_t work = host_work(host, 2, 1);
		uint64_t begin;
		struct way way;

		host_exec(host, 0, work, NPU_SEM_NONE);
		host_exec(host, 1, host_end(host, 2, 4096), NPU_SEM_NONE);
		begin = npu_model_time(host->model);
		host_ring(host, 0);
		npu_model_run(host->model, begin + HOST_PASS - delay - npu_model_time(host->model));
		assert_int_equal(host_record(host, 0, 1)->status, NPU_STATUS_NONE);
		host_ring(host, 1);
		way = follow_end(host, 1);
		if (way.first > most.first)
			most = way;
		host_destroy(host);
	}
	print_way("from task to task, doorbell near its end", &most);
	assert_in_range(most.first, 1, COLD_MOST);
}

/* A task is taken off its clusters because its slot is needed: from the end of the save on. */
static void test_switch_at_point(void **state)
{
	struct host *host = two_queues("npu-v3?slots=1", 2, 15);
	const struct npu_record *record = host_record(host, 1, 1);
	uint64_t program = host_end(host, 2, 4096);
	uint64_t left;

	(void)state;
	host_exec_points(host, 0, host_points(host, 2, 200));
	host_ring(host, 0);
	npu_model_run(host->model, 5000);
	host_exec(host, 1, program, NPU_SEM_NONE);
	host_ring(host, 1);
	while (!host->model->counters.preemptions)
		npu_model_run(host->model, 1);
	left = npu_model_time(host->model);
	host_idle(host, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	print_message("    %-34s first instruction %4llu, of which scrub %u\n",
		      "from a save to a task", (unsigned long long)(record->end - left),
		      HALF_SCRUB);
	assert_int_equal(record->end - left, HARDWARE + HALF_SCRUB);
	assert_int_equal(host_record(host, 0, 1)->status, NPU_STATUS_DONE);
	host_destroy(host);
}

/* Both have slots, and the clusters that one has are what the other waits for. */
static void test_clusters(void **state)
{
	struct host *host = two_queues("npu-v3", 1, 6);
	uint64_t all = host_end(host, 4, 4096);
	struct way way;

	(void)state;
	host_exec(host, 0, host_work(host, 4, 20), NPU_SEM_NONE);
	host_ring(host, 0);
	npu_model_run(host->model, 5000);
	host_exec(host, 1, all, NPU_SEM_NONE);
	host_ring(host, 1);
	way = follow_end(host, 1);
	print_way("clusters from slot to slot", &way);
	assert_in_range(way.first, 1, COLD_MOST);
	host_destroy(host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_late_switch),
		cmocka_unit_test(test_switch_at_point),
		cmocka_unit_test(test_clusters),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
