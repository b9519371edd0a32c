// SPDX-License-Identifier: MIT
/*
 * Heat and clock of the whole device: loads that are too much for the air around it. Manual:
 * firmware.rst, "Clock", and clock-and-heat.rst.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/scratch_file.h"
#include "host.h"
#include "machine.h"

#define LIMIT		400000000ull
#define CONTEXT		1
#define SAMPLE		16384
#define POINTS		4
#define COOL		85000
#define HOT		95000
#define TRIP		110000

/* One cluster is as good as four. Its MAC array alone makes it 35 degrees warmer than the air. */
#define SMALL		"npu-v3?clusters=1&heat_rise=70"

static const char *image_path;
static char path[] = "/tmp/test-heat-XXXXXX";

static struct host *begin(const char *config)
{
	struct host *host = host_create(config, image_path);

	host_context(host, CONTEXT);
	host_queue(host, 0, CONTEXT, 0);
	return host;
}

static uint32_t reg(struct host *host, uint32_t offset)
{
	return npu_model_register_read(host->model, offset);
}

static uint64_t counter(struct host *host, uint32_t offset)
{
	uint64_t low = reg(host, offset);

	return (uint64_t)reg(host, offset + 4) << 32 | low;
}

static uint32_t temperature(struct host *host)
{
	return reg(host, NPU_REG_TEMPERATURE);
}

static uint32_t point(struct host *host)
{
	return reg(host, NPU_REG_CLOCK) >> NPU_CLOCK_NOW_SHIFT;
}

static uint32_t limits(struct host *host, uint32_t fastest, uint32_t slowest, uint32_t *reply)
{
	struct npu_message message = { .kind = NPU_MESSAGE_CLOCK,
				       .argument = { fastest, slowest } };
	uint32_t status = host_call(host, &message);

	for (unsigned int i = 0; i < 4; i++)
		reply[i] = message.argument[i];
	return status;
}

static void work(struct host *host, uint32_t passes)
{
	host_exec(host, 0, host_work(host, host->model->config.clusters, passes), NPU_SEM_NONE);
	host_ring(host, 0);
}

static bool done(struct host *host)
{
	return host_record(host, 0, host->index[0] - 1)->status != NPU_STATUS_NONE;
}

/* Alarms included. Time stands still in a device that has tripped. */
static void pass(struct host *host, uint64_t cycles)
{
	uint64_t until = npu_model_time(host->model) + cycles;

	while (npu_model_time(host->model) < until && !reg(host, NPU_REG_ERROR_STATUS)) {
		uint64_t left = until - npu_model_time(host->model);

		if (npu_model_run(host->model, left))
			npu_model_skip(host->model, left);
	}
}

/* What was seen of a run: how hot it was, where the clock changed. */
struct story {
	uint32_t hottest, coolest;	/* since the first change */
	unsigned int down, up;
	uint64_t slow;			/* samples at a slower point */
	uint64_t samples;
};

static void watch(struct host *host, struct story *story)
{
	uint32_t before = point(host);

	*story = (struct story){ .coolest = UINT32_MAX };
	while (!done(host)) {
		pass(host, SAMPLE);
		if (reg(host, NPU_REG_ERROR_STATUS))
			return;
		if (point(host) != before && !done(host)) {
			/* One point at a time, for a reason that is seen within a few samples. */
			assert_int_equal(abs((int)point(host) - (int)before), 1);
			if (point(host) > before)
				assert_in_range(temperature(host), HOT - 300, TRIP);
			else
				assert_in_range(temperature(host), 0, COOL + 300);
			story->down += point(host) > before;
			story->up += point(host) < before;
			before = point(host);
		}
		if (temperature(host) > story->hottest)
			story->hottest = temperature(host);
		if (story->down && temperature(host) < story->coolest)
			story->coolest = temperature(host);
		story->slow += before > 0;
		story->samples++;
	}
}

/* Too hot at the nominal point, cool at the next one: back and forth, 10 degrees each way. */
static void test_back_and_forth(void **state)
{
	struct host *host = begin(SMALL "&heat_kcycles=1500&ambient=61");
	struct story story;
	uint32_t reply[4];

	(void)state;
	work(host, 7000);
	watch(host, &story);
	print_message("    air of 61 degrees: %u to %u degrees, %u times slower, %u faster, "
		      "slower in %llu of %llu samples\n", story.coolest / 1000,
		      story.hottest / 1000, story.down, story.up, (unsigned long long)story.slow,
		      (unsigned long long)story.samples);
	assert_true(story.down >= 2 && story.up >= 2);
	assert_in_range(story.hottest, HOT, HOT + 1000);
	assert_in_range(story.coolest, COOL - 1000, COOL);
	limits(host, NPU_CLOCK_ASK, 0, reply);
	assert_int_equal(reply[3], story.down);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	/* Without work it cools, comes back to the nominal point, and is silent. */
	work(host, 7000);
	while (!point(host))
		pass(host, SAMPLE);
	assert_false(done(host));
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_DESTROY, 0), NPU_ERROR_NONE);
	assert_true(npu_model_timer(host->model) < UINT64_MAX);
	host_idle(host, LIMIT);
	assert_int_equal(npu_model_timer(host->model), UINT64_MAX);
	assert_int_equal(reg(host, NPU_REG_CLOCK), 0);
	assert_true(temperature(host) <= COOL);
	limits(host, NPU_CLOCK_ASK, 0, reply);
	assert_int_equal(reply[2], 0);
	host_destroy(host);
}

/* In air of 75 degrees: as slow as it has to be, and it stays there. */
static void test_settles(void **state)
{
	struct host *host = begin(SMALL "&heat_kcycles=1500&ambient=75");
	struct story story;
	uint32_t reply[4];

	(void)state;
	work(host, 5000);
	watch(host, &story);
	print_message("    air of 75 degrees: at most %u degrees, %u times slower, %u faster, "
		      "point %u\n", story.hottest / 1000, story.down, story.up, point(host));
	assert_int_equal(story.down, 2);
	assert_int_equal(story.up, 0);
	assert_true(story.hottest < TRIP);
	limits(host, NPU_CLOCK_ASK, 0, reply);
	assert_int_equal(reply[2], 2);
	assert_int_equal(reply[3], 1);
	host_destroy(host);
}

/* Where even the slowest point is too fast, the device stands still; then it begins anew. */
static void test_trip(void **state)
{
	struct host *host = begin(SMALL "&heat_kcycles=3000&ambient=105");
	struct story story;

	(void)state;
	/* Hot from the beginning. */
	pass(host, 4000000);
	assert_int_equal(reg(host, NPU_REG_CLOCK), 0x030303);
	assert_int_equal(reg(host, NPU_REG_ERROR_STATUS), 0);
	work(host, 20000);
	watch(host, &story);
	assert_int_equal(reg(host, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_TEMPERATURE);
	assert_true(reg(host, NPU_REG_IRQ_STATUS) & NPU_IRQ_FATAL);
	assert_int_equal(point(host), 3);
	assert_true(temperature(host) >= TRIP);
	assert_false(done(host));
	host_restart(host);
	assert_int_equal(reg(host, NPU_REG_ERROR_STATUS), 0);
	host_context(host, CONTEXT);
	host_queue(host, 0, CONTEXT, 0);
	work(host, 10);
	while (!done(host))
		pass(host, 1000);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	host_destroy(host);
}

/* The same load trips the device sooner when nobody slows it down. */
static void test_first_resort(void **state)
{
	struct host *host = begin(SMALL "&heat_kcycles=1500&ambient=85");
	struct story story;

	(void)state;
	work(host, 3000);
	watch(host, &story);
	assert_int_equal(reg(host, NPU_REG_ERROR_STATUS), 0);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	host_destroy(host);

	host = begin(SMALL "&heat_kcycles=1500&ambient=85");
	npu_model_core_write(host->model, NPU_REG_CORE_IRQ_ENABLE, 0xf);
	work(host, 3000);
	while (!done(host) && !reg(host, NPU_REG_ERROR_STATUS))
		npu_model_run(host->model, SAMPLE);
	assert_int_equal(reg(host, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_TEMPERATURE);
	host_destroy(host);
}

/* Device cycles are the same at all points; how long they take is told by the counters. */
static void test_cycles(void **state)
{
	struct npu_record first = { 0 };
	struct host *host = begin(SMALL);
	uint32_t reply[4], slowest_power = 0;

	(void)state;
	for (uint32_t p = 0; p < POINTS; p++) {
		uint64_t before = counter(host, NPU_REG_COUNTER_POINT_LO(p));
		struct npu_record record;

		assert_int_equal(limits(host, p, POINTS - 1, reply), NPU_ERROR_NONE);
		work(host, 1000);
		while (!done(host))
			pass(host, SAMPLE);
		record = *host_record(host, 0, host->index[0] - 1);
		if (!p)
			first = record;
		assert_int_equal(record.status, NPU_STATUS_DONE);
		assert_int_equal(record.end - record.start, first.end - first.start);
		assert_int_equal(record.mac_cycles, first.mac_cycles);
		assert_true(counter(host, NPU_REG_COUNTER_POINT_LO(p)) - before >=
			    record.end - record.start);
		assert_int_equal(point(host), POINTS - 1);
		/* Slower is less. */
		if (p)
			assert_true(reg(host, NPU_REG_POWER) < slowest_power);
		slowest_power = reg(host, NPU_REG_POWER);
	}
	assert_int_equal(limits(host, 1, 0, reply), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(limits(host, 0, POINTS, reply), NPU_ERROR_NOT_FOUND);
	assert_int_equal(limits(host, NPU_CLOCK_ASK, 0, reply), NPU_ERROR_NONE);
	assert_int_equal(reply[0], POINTS - 1);
	assert_int_equal(reply[1], POINTS - 1);
	host_destroy(host);
}

/* Idle after a while, at the slowest point and asleep; a task that comes pays for the wake only. */
static void test_idle(void **state)
{
	struct host *host = begin("npu-v3");
	const struct npu_record *record;
	uint64_t energy, waited, rung;
	uint32_t reply[4];

	(void)state;
	work(host, 10);
	host_idle(host, LIMIT);
	rung = npu_model_time(host->model);
	work(host, 10);
	host_idle(host, LIMIT);
	waited = host_record(host, 0, 1)->start - rung;
	energy = counter(host, NPU_REG_COUNTER_ENERGY_LO);
	pass(host, 10000000);
	energy = counter(host, NPU_REG_COUNTER_ENERGY_LO) - energy;
	assert_int_equal(limits(host, 0, 3, reply), NPU_ERROR_NONE);
	assert_int_equal(host_call1(host, NPU_MESSAGE_POWER, 200), NPU_ERROR_NONE);
	pass(host, 1000000);
	assert_int_equal(reg(host, NPU_REG_CLUSTERS_ASLEEP), 0xf);
	assert_int_equal(point(host), 3);
	/* Of the nominal 10 million cycles' worth of time it is a fourth of the cycles. */
	assert_in_range(energy, 17000, 18000);
	energy = counter(host, NPU_REG_COUNTER_ENERGY_LO);
	pass(host, 2500000);
	energy = counter(host, NPU_REG_COUNTER_ENERGY_LO) - energy;
	assert_in_range(energy, 3700, 3800);
	rung = npu_model_time(host->model);
	work(host, 10);
	while (!done(host))
		npu_model_run(host->model, 10);
	record = host_record(host, 0, 2);
	assert_int_equal(record->start - rung, waited + 1000);
	assert_int_equal(record->end - record->start,
			 host_record(host, 0, 0)->end - host_record(host, 0, 0)->start);
	assert_int_equal(reg(host, NPU_REG_COUNTER_WAKES_LO), 1);
	host_destroy(host);
}

/* A sample that comes while the firmware executes waits for an instruction, not for a turn. */
static void test_busy_core(void **state)
{
	struct host *host = begin("npu-v3");
	struct npu_message ping = { .kind = NPU_MESSAGE_PING };
	uint64_t sample;

	(void)state;
	host_idle(host, LIMIT);
	for (uint64_t before = 50; before < 500; before += 7) {
		sample = npu_model_time(host->model) / SAMPLE * SAMPLE + 2 * SAMPLE;
		npu_model_skip(host->model, sample - before - npu_model_time(host->model));
		host_post(host, &ping);
		npu_model_run(host->model, 100000);
		assert_true(npu_model_time(host->model) > sample);
		assert_in_range(host->model->heat.accounted, sample, sample + 3);
		assert_int_equal(host_reply(host, &ping), NPU_ERROR_NONE);
		host_idle(host, LIMIT);
	}
	host_destroy(host);
}

/* Whether the host may make this write yet; always, but in a replay. */
static void await_turn(struct host *host, uint32_t offset, uint32_t value, uint64_t step)
{
	for (unsigned int i = 0; i < 10000000; i++) {
		if (npu_model_write_may_come(host->model, offset, value))
			return;
		if (npu_model_run(host->model, step))
			npu_model_skip(host->model, step);
	}
	fail_msg("a write never has its turn");
}

static void set_limits(struct host *host, uint32_t fastest, uint32_t slowest, uint64_t step,
		       uint32_t *times)
{
	struct npu_message message = { .kind = NPU_MESSAGE_CLOCK,
				       .argument = { fastest, slowest } };

	await_turn(host, NPU_REG_MAILBOX_TO_FW_SEND, 1, step);
	host_post(host, &message);
	while (!reg(host, NPU_REG_MAILBOX_TO_HOST_SEND))
		npu_model_run(host->model, step);
	*times = reg(host, NPU_REG_MAILBOX_TO_HOST + 8 + 3 * 4);
	await_turn(host, NPU_REG_MAILBOX_TO_HOST_SEND, 0, step);
	npu_model_register_write(host->model, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
}

/* What a run leaves. */
struct outcome {
	struct npu_record record[6];
	struct npu_heat heat;
	struct npu_clock clock;
	uint64_t time;
	uint32_t slowed;	/* how often heat had begun to, by the last message */
};

/* Tasks, limits of the host in between, and heat; in steps of @step. */
static void live(struct host *host, uint64_t step, struct outcome *outcome)
{
	static const uint32_t fastest[] = { 0, 1, 0 }, slowest[] = { 0, 2, 3 };

	for (unsigned int i = 0; i < 6; i++) {
		host_exec(host, 0, host_work(host, 1, 800 + 50 * i), NPU_SEM_NONE);
		host_ring(host, 0);
		npu_model_run(host->model, 500000);
		if (i % 2 == 0)
			set_limits(host, fastest[i / 2], slowest[i / 2], step, &outcome->slowed);
		while (!done(host)) {
			if (npu_model_run(host->model, step))
				npu_model_skip(host->model, step);
		}
	}
	/* The alarms of a device that cools down. */
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < 6; i++)
		outcome->record[i] = *host_record(host, 0, i);
	outcome->heat = host->model->heat;
	outcome->clock = host->model->clock;
	outcome->time = npu_model_time(host->model);
}

static void test_replay(void **state)
{
	static const uint64_t steps[] = { 3000, 100000, 777 };
	static struct outcome first, again;
	char error[200];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct outcome *outcome = i ? &again : &first;
		struct host *host = begin(SMALL "&heat_kcycles=1000&ambient=75");

		memset(outcome, 0, sizeof(*outcome));
		if (!i)
			assert_int_equal(npu_model_record(host->model, path, error, sizeof(error)),
					 0);
		else if (npu_model_replay_patiently(host->model, path, error, sizeof(error)))
			fail_msg("%s", error);
		live(host, steps[i], outcome);
		if (!i)
			assert_int_equal(npu_model_record_end(host->model), 0);
		assert_int_equal(npu_model_missing(host->model), 0);
		host_destroy(host);
		assert_memory_equal(outcome->record, first.record, sizeof(first.record));
		assert_memory_equal(&outcome->heat, &first.heat, sizeof(first.heat));
		assert_memory_equal(&outcome->clock, &first.clock, sizeof(first.clock));
		assert_int_equal(outcome->time, first.time);
		assert_int_equal(outcome->slowed, first.slowed);
	}
	assert_true(first.slowed > 0);
	for (unsigned int p = 0; p < POINTS; p++)
		assert_true(first.clock.cycles[p] > 0);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back_and_forth),
		cmocka_unit_test(test_settles),
		cmocka_unit_test(test_trip),
		cmocka_unit_test(test_first_resort),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy_core),
		cmocka_unit_test(test_replay),
	};
	int failed;

	image_path = host_image(count, arguments);
	if (!scratch_file(path))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
