// SPDX-License-Identifier: MIT
/*
 * sim:?record= and ?replay=: threads that work on one device are recorded, and whatever way the
 * threads take in the replay, every task has its cycles again. Manual: arrivals.rst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "npu/npu_packet.h"
#include "objects.h"
#include "rig.h"
#include "scratch_file.h"
#include "sim.h"
#include "sim_options.h"

#define THREADS		4
#define RUNS		25	/* of a thread */
#define BUDGET		(64u * 1024)
#define HANGS		"hang#7/9"	/* of all tasks, from the seventh on every ninth */
#define HUNG		11
#define NAME_BYTES	200
#define HOT_RUNS	5	/* on a device that trips */
#define HOT_RUN		2	/* ... with this one */

static const uint32_t priorities[THREADS] = { 0, 5, 5, 15 };
static char path[] = "/tmp/test-arrivals-XXXXXX";

/* One thread's context, and what its tasks reported. */
struct worker {
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_buffer *x, *y[RUNS];
	struct npurt_task_report report[RUNS];
	pthread_t thread;
	uint32_t seed;
	char failed[512];
};

struct session {
	struct npurt_device *device;
	struct worker worker[THREADS];
};

static void make_worker(struct session *session, unsigned int number, uint32_t seed)
{
	const struct tiny_options slow = { .kind = TINY_SLOW, .elements = 256, .trips = 40 };
	const struct npurt_context_options options = {
		.size = sizeof(options), .priority = priorities[number],
	};
	struct worker *worker = &session->worker[number];
	struct tiny_model file;

	*worker = (struct worker){ .seed = seed * 7919 + number };
	ok(npurt_context_create(session->device, &options, &worker->context));
	tiny_model_make(&file, &slow);
	ok(npurt_model_load_memory(worker->context, file.bytes, file.size, &worker->model));
	tiny_model_free(&file);
	ok(npurt_buffer_alloc(worker->context, 512, NPURT_BUFFER_READ_ONLY, &worker->x));
	for (unsigned int i = 0; i < RUNS; i++)
		ok(npurt_buffer_alloc(worker->context, 512, 0, &worker->y[i]));
}

static void free_worker(struct worker *worker)
{
	npurt_buffer_free(worker->x);
	for (unsigned int i = 0; i < RUNS; i++)
		npurt_buffer_free(worker->y[i]);
	npurt_model_unload(worker->model);
	npurt_context_destroy(worker->context);
}

/* Another time for each seed, so that nothing but the recording makes two sessions alike. */
static void dawdle(struct worker *worker)
{
	struct timespec span = { 0 };

	worker->seed = worker->seed * 1664525 + 1013904223;
	span.tv_nsec = worker->seed >> 24 < 128 ? 0 : (long)(worker->seed >> 16 & 0xff) * 4000;
	nanosleep(&span, NULL);
}

static void *say(struct worker *worker, const char *why)
{
	snprintf(worker->failed, sizeof(worker->failed), "%s", why);
	return worker->failed;
}

/* Two runs at a time: the second one is found by a look, or has to ring. */
static void *work(void *opaque)
{
	const struct npurt_run_options options = {
		.size = sizeof(options), .budget_cycles = BUDGET,
	};
	struct worker *worker = opaque;
	struct npurt_future *future[RUNS];

	for (unsigned int i = 0; i <= RUNS; i++) {
		if (i < RUNS) {
			const struct npurt_binding bindings[2] = {
				{ .buffer = worker->x }, { .buffer = worker->y[i] },
			};

			dawdle(worker);
			if (npurt_run_submit(worker->model, bindings, 2, &options, &future[i]))
				return say(worker, npurt_last_error());
		}
		if (!i)
			continue;
		npurt_future_wait(future[i - 1], NPURT_FOREVER);
		worker->report[i - 1].size = sizeof(worker->report[0]);
		if (npurt_future_get_report(future[i - 1], &worker->report[i - 1]))
			return say(worker, npurt_future_error(future[i - 1]));
		npurt_future_release(future[i - 1]);
	}
	return NULL;
}

static void run_session(struct session *session, const char *keys, uint32_t seed)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "sim:npu-v3?memory=256&pages=4k&slots=3&%s%s", keys, path);
	ok(npurt_open(name, &session->device));
	for (unsigned int i = 0; i < THREADS; i++)
		make_worker(session, i, seed);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&session->worker[i].thread, NULL, work,
						&session->worker[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		void *failed = NULL;

		pthread_join(session->worker[i].thread, &failed);
		if (failed)
			fail_msg("thread %u: %s", i, (const char *)failed);
	}
}

static void end_session(struct session *session)
{
	for (unsigned int i = 0; i < THREADS; i++)
		free_worker(&session->worker[i]);
	npurt_close(session->device);
}

/* What the device says of a task; times of the host are others. */
static bool equal(const struct npurt_task_report *one, const struct npurt_task_report *other)
{
	return !memcmp(one, other, offsetof(struct npurt_task_report, submit_ns));
}

static unsigned int differences(const struct session *one, const struct session *other)
{
	unsigned int different = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		for (unsigned int j = 0; j < RUNS; j++)
			different += !equal(&one->worker[i].report[j], &other->worker[i].report[j]);
	}
	return different;
}

/* Tasks that ended by their budget, each in time; all others are done, with the right output. */
static unsigned int check_tasks(struct session *session, const void *output)
{
	unsigned int hung = 0;

	for (unsigned int i = 0; i < THREADS * RUNS; i++) {
		struct worker *worker = &session->worker[i / RUNS];
		const struct npurt_task_report *report = &worker->report[i % RUNS];

		if (report->status == NPU_STATUS_BUDGET) {
			hung++;
			assert_in_range(report->cycles, BUDGET, BUDGET / 10 * 11);
			continue;
		}
		assert_int_equal(report->status, NPU_STATUS_DONE);
		assert_memory_equal(npurt_buffer_map(worker->y[i % RUNS]), output, 512);
	}
	return hung;
}

/* Of clusters that slept. */
static uint32_t count_wakes(const struct session *session)
{
	return sim_read((struct sim *)session->device->backend, NPU_REG_COUNTER_WAKES_LO);
}

/* Heat demanded slower points than the host's, or will at the next look. */
static void check_heat(const struct session *session)
{
	struct sim *sim = (struct sim *)session->device->backend;

	assert_true(sim_read(sim, NPU_REG_TEMPERATURE) >= 95000);
	assert_in_range(sim_read(sim, NPU_REG_CLOCK) & 0xff, 2, 3);
	assert_int_equal(sim_read(sim, NPU_REG_ERROR_STATUS), 0);
}

static void test_replay(void **state)
{
	static struct session first, again, alone;
	uint8_t output[512];
	uint32_t wakes;

	(void)state;
	run_session(&alone, "spin=0&record=", 1);
	memcpy(output, npurt_buffer_map(alone.worker[0].y[0]), sizeof(output));
	assert_int_equal(check_tasks(&alone, output), 0);
	end_session(&alone);

	run_session(&first, "sleep=20&fault=" HANGS "&record=", 2);
	wakes = count_wakes(&first);
	assert_true(wakes > 0);
	end_session(&first);
	run_session(&again, "sleep=20&fault=" HANGS "&wait=100&replay=", 3);
	assert_int_equal(differences(&first, &again), 0);
	assert_int_equal(check_tasks(&again, output), HUNG);
	assert_int_equal(count_wakes(&again), wakes);
	end_session(&again);
}

/* Hot from the beginning: alarms of the firmware between the tasks, and points that change. */
static void test_heat(void **state)
{
	static struct session first, again;
	uint8_t output[512];

	(void)state;
	run_session(&first, "fastest=1&slowest=2&ambient=95&heat_kcycles=300&record=", 4);
	memcpy(output, npurt_buffer_map(first.worker[0].y[0]), sizeof(output));
	check_heat(&first);
	end_session(&first);
	run_session(&again, "fastest=1&slowest=2&ambient=95&heat_kcycles=300&replay=", 5);
	assert_int_equal(differences(&first, &again), 0);
	assert_int_equal(check_tasks(&again, output), 0);
	check_heat(&again);
	end_session(&again);
}

/* A program that has nothing in common with the one recorded but its beginning. */
static void test_other_program(void **state)
{
	struct session session = { 0 };
	struct worker *worker = &session.worker[0];
	struct npurt_binding bindings[2] = { 0 };
	struct npurt_future *future;
	char name[NAME_BYTES];

	(void)state;
	run_session(&session, "record=", 6);
	end_session(&session);
	snprintf(name, sizeof(name), "sim:npu-v3?memory=256&pages=4k&slots=3&wait=1&replay=%s",
		 path);
	ok(npurt_open(name, &session.device));
	/* The recording has another context now, this program a task. */
	make_worker(&session, 0, 7);
	bindings[0].buffer = worker->x;
	bindings[1].buffer = worker->y[0];
	ok(npurt_run_submit(worker->model, bindings, 2, NULL, &future));
	assert_true(npurt_future_wait(future, NPURT_FOREVER) < 0);
	assert_says("this is not the run that was recorded: at cycle");
	assert_says("has not been made within 1 s");
	npurt_future_release(future);
	free_worker(worker);
	npurt_close(session.device);
}

/* One that goes on when the recording is at its end is on its own. */
static void test_longer_program(void **state)
{
	struct session session = { 0 };
	char name[NAME_BYTES];
	uint8_t output[512];

	(void)state;
	snprintf(name, sizeof(name), "sim:npu-v3?memory=256&pages=4k&slots=3&record=%s", path);
	ok(npurt_open(name, &session.device));
	npurt_close(session.device);
	run_session(&session, "wait=100&replay=", 8);
	memcpy(output, npurt_buffer_map(session.worker[0].y[0]), sizeof(output));
	assert_int_equal(check_tasks(&session, output), 0);
	end_session(&session);
}

static void open_hot(struct session *session, const char *keys)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "sim:npu-v3?memory=256&pages=4k&%s%s", keys, path);
	ok(npurt_open(name, &session->device));
	make_worker(session, 0, 9);
}

static int run_one(const struct worker *worker, struct npurt_task_report *report)
{
	const struct npurt_binding bindings[2] = {
		{ .buffer = worker->x }, { .buffer = worker->y[0] },
	};
	struct npurt_future *future;
	int ret;

	ok(npurt_run_submit(worker->model, bindings, 2, NULL, &future));
	ret = npurt_future_wait(future, NPURT_FOREVER);
	if (!ret) {
		report->size = sizeof(*report);
		ok(npurt_future_get_report(future, report));
	}
	npurt_future_release(future);
	return ret;
}

static void close_hot(struct session *session)
{
	free_worker(&session->worker[0]);
	npurt_close(session->device);
}

/* Tasks before and after the one with which the device trips. */
static void run_hot(const char *keys, struct npurt_task_report report[HOT_RUNS])
{
	struct session session = { 0 };

	open_hot(&session, keys);
	for (unsigned int i = 0; i < HOT_RUNS; i++) {
		if (i != HOT_RUN) {
			ok(run_one(&session.worker[0], &report[i]));
			continue;
		}
		assert_true(run_one(&session.worker[0], &report[i]) < 0);
		assert_says("it became too hot");
	}
	close_hot(&session);
}

/* What makes a device go on that stands still is in the recording, too. */
static void test_trip(void **state)
{
	struct npurt_task_report first[HOT_RUNS] = { 0 }, again[HOT_RUNS] = { 0 };

	(void)state;
	run_hot("fault=over-temperature#3&record=", first);
	run_hot("fault=over-temperature#3&replay=", again);
	for (unsigned int i = 0; i < HOT_RUNS; i++)
		assert_true(equal(&first[i], &again[i]));
	assert_int_equal(again[HOT_RUNS - 1].status, NPU_STATUS_DONE);
}

/* Where the device that was recorded went on, one that trips does not stand still for ever. */
static void test_other_trip(void **state)
{
	struct npurt_task_report report[HOT_RUNS] = { 0 };
	struct session session = { 0 };

	(void)state;
	open_hot(&session, "record=");
	for (unsigned int i = 0; i <= HOT_RUN; i++)
		ok(run_one(&session.worker[0], &report[i]));
	close_hot(&session);

	open_hot(&session, "fault=over-temperature#3&wait=1&replay=");
	for (unsigned int i = 0; i < HOT_RUN; i++)
		ok(run_one(&session.worker[0], &report[i]));
	assert_true(run_one(&session.worker[0], &report[HOT_RUN]) < 0);
	assert_true(sim_check_replay((struct sim *)session.device->backend) < 0);
	assert_says("standing still");
	close_hot(&session);
}

static unsigned int lines_recorded(void)
{
	FILE *file = fopen(path, "r");
	unsigned int lines = 0;
	int next;

	assert_non_null(file);
	while ((next = fgetc(file)) != EOF)
		lines += next == '\n';
	fclose(file);
	return lines;
}

/* A host that waits for long looks after the device, by its own clock: the device sees none of it. */
static void test_no_ping(void **state)
{
	unsigned int lines[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct npurt_device *device;
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "sim:npu-v3?memory=64&record=%s", path);
		ok(npurt_open(name, &device));
		if (i)
			sim_check_life((struct sim *)device->backend);
		npurt_close(device);
		lines[i] = lines_recorded();
	}
	assert_int_equal(lines[0], lines[1]);
}

/* Longer than whatever the device has for an answer. */
static void test_wait(void **state)
{
	struct sim_options options;

	(void)state;
	ok(sim_options_parse("npu-v3", &options));
	assert_int_equal(options.wait_s, options.patience_s + 10);
	ok(sim_options_parse("npu-v3?patience=200", &options));
	assert_int_equal(options.wait_s, 210);
	ok(sim_options_parse("npu-v3?wait=7&patience=200", &options));
	assert_int_equal(options.wait_s, 7);
}

static void test_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "record=/tmp/test-arrivals-&replay=/tmp/x", "exclude each other" },
		{ "replay=/nowhere/at/all", "cannot be read" },
		{ "record=/nowhere/at/all", "cannot be written" },
		{ "replay=/dev/null", "does not begin with" },
		{ "replay=/tmp", "does not begin with" },
		{ "replay=", "need the name of a file" },
		{ "record=", "need the name of a file" },
		{ "record=/dev/null&wait=0", "wait=0" },
		{ "wait=3601", "wait=3601" },
		{ "sleep=1000001", "sleep=1000001" },
		{ "fastest=4", "fastest=4" },
		{ "slowest=4", "slowest=4" },
		{ "fastest=3&slowest=2", "faster than fastest=3" },
		{ "slowest=0&fastest=1", "slowest=0 is faster than fastest=1" },
	};
	struct npurt_device *device = NULL;
	char name[NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(name, sizeof(name), "sim:npu-v3?memory=64&%s", bad[i][0]);
		assert_true(npurt_open(name, &device) < 0);
		assert_says(bad[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_other_program),
		cmocka_unit_test(test_longer_program),
		cmocka_unit_test(test_trip),
		cmocka_unit_test(test_other_trip),
		cmocka_unit_test(test_no_ping),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_refused),
	};
	int failed;

	if (!scratch_file(path))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
