// SPDX-License-Identifier: MIT
/*
 * A device that is never idle: what a high priority gains by preemption, what it costs the low one,
 * and that equals do not spend their time saving and restoring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "random.h"

#define LIMIT		200000000
#define ARRIVALS	100
#define LOW_PASSES	60		/* a task of 138,000 cycles */
#define HIGH_PASSES	2
#define LONG_PASSES	520		/* 1.2 million cycles */

/* The manual's bound on what a load below adds to a task: point distance, save, the way there. */
#define ADDED_MOST	15000

static const char *image_path;

static uint32_t preemptions(struct host *host)
{
	return npu_model_register_read(host->model, NPU_REG_COUNTER_PREEMPTIONS_LO);
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Keep a queue's ring full of tasks for all clusters. */
static void saturate_queue(struct host *host, unsigned int queue, uint64_t program, bool points)
{
	while (host->index[queue] - host_control(host, queue)->read_index < 4) {
		if (points)
			host_exec_points(host, queue, program);
		else
			host_exec(host, queue, program, NPU_SEM_NONE);
	}
	host_ring(host, queue);
}

static void saturate(struct host *host, uint64_t program, bool points)
{
	saturate_queue(host, 0, program, points);
}

struct latencies {
	uint64_t middle, ninety_nine, most;
	uint64_t low;		/* tasks of the load that ended in 100 million cycles */
};

/* From doorbell to end of tasks that come now and then, with or without a load below them. */
static struct latencies measure(bool load, bool points)
{
	struct host *host = host_create("npu-v3", image_path);
	struct latencies latencies = { 0 };
	uint64_t latency[ARRIVALS];
	struct random random = { .state = 0x1234567 };
	uint64_t high;
	uint64_t low;

	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, 0);
	host_queue(host, 1, 2, 15);
	low = host_points(host, 4, LOW_PASSES);
	high = host_work(host, 4, HIGH_PASSES);
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < ARRIVALS; i++) {
		uint64_t end = npu_model_time(host->model) + 50000 + random_below(&random, 400000);
		uint64_t rung;

		while (npu_model_time(host->model) < end) {
			if (load)
				saturate(host, low, points);
			if (npu_model_run(host->model, 2000))
				npu_model_skip(host->model, 2000);
			if (!load && npu_model_timer(host->model) == UINT64_MAX)
				break;
		}
		rung = npu_model_time(host->model);
		host_exec(host, 1, high, NPU_SEM_NONE);
		host_ring(host, 1);
		while (!host_record(host, 1, i)->status) {
			if (load)
				saturate(host, low, points);
			npu_model_run(host->model, 500);
		}
		assert_int_equal(host_record(host, 1, i)->status, NPU_STATUS_DONE);
		latency[i] = host_record(host, 1, i)->end - rung;
	}
	latencies.low = host_control(host, 0)->read_index * 100000000 /
			npu_model_time(host->model);
	if (!points)
		assert_int_equal(preemptions(host), 0);
	host_destroy(host);
	qsort(latency, ARRIVALS, sizeof(*latency), compare);
	latencies.middle = latency[ARRIVALS / 2];
	latencies.ninety_nine = latency[ARRIVALS * 99 / 100];
	latencies.most = latency[ARRIVALS - 1];
	return latencies;
}

static void print_latencies(const char *what, const struct latencies *latencies)
{
	print_message("    %-24s median %6llu, 99 %% %6llu, most %6llu cycles; load %llu tasks\n",
		      what, (unsigned long long)latencies->middle,
		      (unsigned long long)latencies->ninety_nine,
		      (unsigned long long)latencies->most, (unsigned long long)latencies->low);
}

static void test_high_priority(void **state)
{
	struct latencies alone;
	struct latencies with;
	struct latencies without;

	(void)state;
	alone = measure(false, false);
	print_latencies("alone", &alone);
	without = measure(true, false);
	print_latencies("under load, no points", &without);
	with = measure(true, true);
	print_latencies("under load, with points", &with);
	assert_true(with.ninety_nine <= alone.ninety_nine + ADDED_MOST);
	assert_true(without.ninety_nine > with.ninety_nine);
	/* The low priority loses what is taken off it, and not much more. */
	assert_true(with.low * 10 >= without.low * 9);
}

/* The time @queues equal queues of an owner each need for a task for all clusters each. */
static uint64_t run_equals(unsigned int queues, uint32_t *preempted)
{
	struct host *host = host_create("npu-v3", image_path);
	uint64_t program = host_points(host, 4, 1000);
	uint64_t begin;
	uint64_t end = 0;

	for (unsigned int i = 0; i < queues; i++) {
		host_context(host, 1 + i);
		host_queue(host, i, 1 + i, 7);
	}
	begin = npu_model_time(host->model);
	for (unsigned int i = 0; i < queues; i++) {
		host_exec_points(host, i, program);
		host_ring(host, i);
	}
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < queues; i++) {
		const struct npu_record *record = host_record(host, i, 0);

		assert_int_equal(record->status, NPU_STATUS_DONE);
		/* Nobody waits for the end of another. */
		assert_true(record->start < begin + 200000);
		end = record->end > end ? record->end : end;
	}
	*preempted = preemptions(host);
	host_destroy(host);
	return end - begin;
}

/* Two equal queues that want all clusters take turns of a slice, not of a point. */
static void test_equals(void **state)
{
	uint32_t preempted;
	uint64_t alone;
	uint64_t both;

	(void)state;
	alone = run_equals(1, &preempted);
	assert_int_equal(preempted, 0);
	both = run_equals(2, &preempted);
	print_message("    one %llu cycles, two %llu with %u preemptions\n",
		      (unsigned long long)alone, (unsigned long long)both, preempted);
	/* At most one for each slice of 100,000 cycles, each worth less than 6 % of it. */
	assert_in_range(preempted, 10, both / 100000);
	assert_true(both < 2 * alone / 100 * 106);
}

/*
 * In 1/1000 of the time from its doorbell to its end: the work of a task of many slices, of
 * @priority, below a queue that never rests.
 */
static uint64_t share_of(unsigned int priority)
{
	struct host *host = host_create("npu-v3", image_path);
	const struct npu_record *record;
	uint64_t high, begin, share;

	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, priority);
	host_queue(host, 1, 2, 15);
	high = host_points(host, 4, LOW_PASSES);
	host_exec_points(host, 0, host_points(host, 4, LONG_PASSES));
	host_idle(host, LIMIT);
	saturate_queue(host, 1, high, true);
	npu_model_run(host->model, 10000);
	begin = npu_model_time(host->model);
	host_ring(host, 0);
	record = host_record(host, 0, 0);
	while (!record->status && npu_model_time(host->model) < begin + LIMIT) {
		saturate_queue(host, 1, high, true);
		npu_model_run(host->model, 2000);
	}
	assert_int_equal(record->status, NPU_STATUS_DONE);
	share = LONG_PASSES * HOST_PASS * 1000ull / (record->end - begin);
	print_message("    priority %2u below 15: %u.%u %% of the time\n", priority,
		      (unsigned int)share / 10, (unsigned int)share % 10);
	host_destroy(host);
	return share;
}

/* The manual: a slice after (15 - p) slices of waiting, at least nine tenths of which are work. */
static void test_share(void **state)
{
	static const unsigned int priorities[] = { 0, 8, 12, 14 };

	(void)state;
	for (unsigned int i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++) {
		uint64_t whole = 1000 / (16 - priorities[i]);

		assert_in_range(share_of(priorities[i]), whole * 90 / 100, whole * 110 / 100);
	}
}

/* A slot that another queue needs is vacated at a point, too. */
static void test_slot(void **state)
{
	struct host *host = host_create("npu-v3?slots=1", image_path);
	uint64_t rung;

	(void)state;
	host_context(host, 1);
	host_context(host, 2);
	host_queue(host, 0, 1, 0);
	host_queue(host, 1, 2, 15);
	host_exec_points(host, 0, host_points(host, 1, 1000));
	host_ring(host, 0);
	npu_model_run(host->model, 50000);
	rung = npu_model_time(host->model);
	host_exec(host, 1, host_work(host, 1, 1), NPU_SEM_NONE);
	host_ring(host, 1);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 1, 0)->status, NPU_STATUS_DONE);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	assert_true(host_record(host, 1, 0)->end < host_record(host, 0, 0)->end);
	assert_in_range(host_record(host, 1, 0)->start - rung, 1, ADDED_MOST);
	assert_int_equal(preemptions(host), 1);
	host_destroy(host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_high_priority),
		cmocka_unit_test(test_equals),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_slot),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
