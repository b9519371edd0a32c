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

/* A queue's turn is over while another waits: from the end of its task on. */
static void test_switch(void **state)
{
	(void)state;
	for (unsigned int contexts = 1; contexts <= 2; contexts++) {
		struct host *host = host_create("npu-v3?slots=1", image_path);
		uint64_t program = host_end(host, 2, 4096);
		uint64_t work = host_work(host, 2, 200);
		uint64_t end;
		struct way way;

		host_context(host, 1);
		host_context(host, 2);
		host_queue(host, 0, 1, 5);
		host_queue(host, 1, contexts, 5);
		/* Both have been here. */
		submit(host, 1, program);
		host_idle(host, LIMIT);
		submit(host, 0, program);
		host_idle(host, LIMIT);
		host_exec(host, 0, work, NPU_SEM_NONE);
		host_exec(host, 0, program, NPU_SEM_NONE);
		host_ring(host, 0);
		npu_model_run(host->model, 5000);
		host_exec(host, 1, program, NPU_SEM_NONE);
		host_ring(host, 1);
		while (!host_record(host, 0, 1)->status)
			npu_model_run(host->model, 1);
		end = host_record(host, 0, 1)->end;
		way = follow(host, 1, 1, end);
		print_way(contexts == 1 ? "from task to task, one context" :
					  "from task to task, two contexts", &way);
		print_message("    of which: record %u, switch of queues %llu, scrub %llu\n", FETCH,
			      (unsigned long long)(way.attached - FETCH),
			      (unsigned long long)(way.started - way.attached - FETCH - COMPARE));
		assert_in_range(way.attached - FETCH, 1, SWITCH_MOST);
		/* The MAC used one accumulator half: 128 cycles. */
		assert_int_equal(way.started - way.attached - FETCH - COMPARE,
				 contexts == 1 ? 0 : 128);
		host_destroy(host);
	}
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_switch),
	};

	if (count != 2) {
		fprintf(stderr, "usage: test-firmware-latency IMAGE\n");
		return 2;
	}
	image_path = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
