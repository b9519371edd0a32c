// SPDX-License-Identifier: MIT
/*
 * A device that breaks while it is used: what may have begun fails and says why, the rest runs, and
 * contexts, memory and models stay what they were. What breaks is said by the device's own scripts.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "objects.h"
#include "rig.h"
#include "sim.h"

#define RUNS 300
#define THREADS 4
#define FOREVER NPURT_FOREVER

/* A rig on a device that breaks. */
static void make_broken(struct rig *rig, const char *fault)
{
	char name[160];

	snprintf(name, sizeof(name), "sim:npu-v3?memory=256&fault=%s", fault);
	setenv("NPU_TEST_DEVICE", name, 1);
	rig_make(rig, NULL, NULL);
	unsetenv("NPU_TEST_DEVICE");
}

static uint32_t resets(const struct rig *rig)
{
	return sim_generation((struct sim *)rig->device->backend);
}

/* ------------------------------------------------------------------ one context */

/* Each run has an output of its own; those that failed are as they were. */
static void runs_in_flight(const char *fault, const char *words)
{
	struct npurt_future *future[RUNS];
	struct npurt_buffer *y[RUNS];
	uint32_t failed = 0, i;
	struct rig rig;
	int ret;

	make_broken(&rig, fault);
	rig_fill(&rig, rig.x, rig.y, 4);
	for (i = 0; i < RUNS; i++) {
		struct npurt_binding bindings[2] = { { .buffer = rig.x } };

		ok(npurt_buffer_alloc(rig.context, 128, 0, &y[i]));
		bindings[1].buffer = y[i];
		ok(npurt_run_submit(rig.model, bindings, 2, NULL, &future[i]));
	}
	for (i = 0; i < RUNS; i++) {
		ret = npurt_future_wait(future[i], FOREVER);
		if (!ret) {
			rig_check(&rig, y[i], 4);
		} else {
			assert_int_equal(ret, -EIO);
			assert_says("the device was reset");
			assert_says(words);
			failed++;
		}
		npurt_future_release(future[i]);
		npurt_buffer_free(y[i]);
	}
	assert_true(resets(&rig) > 0);
	/* One can have begun at a time. */
	assert_true(failed <= resets(&rig));
	rig_free(&rig);
}

static void firmware_that_dies(void **state)
{
	(void)state;
	runs_in_flight("fw-crash#40/60", "its firmware died");
}

static void a_device_that_gets_too_hot(void **state)
{
	(void)state;
	runs_in_flight("over-temperature#50/40", "it became too hot");
}

/* Tasks go on without it. Who has something to ask of it finds out. */
static void firmware_that_falls_silent(void **state)
{
	struct npurt_context *context;
	struct rig rig;
	int i;

	(void)state;
	make_broken(&rig, "fw-silence#60&patience=2");
	for (i = 0; !resets(&rig); i++) {
		ok(npurt_context_create(rig.device, NULL, &context));
		npurt_context_destroy(context);
		rig_fill(&rig, rig.x, rig.y, i % 20);
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
		rig_check(&rig, rig.y, i % 20);
	}
	rig_free(&rig);
}

/* ---------------------------------------------------------------- many contexts */

struct worker {
	const struct rig *rig;
	pthread_t thread;
	uint32_t failed, done;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct npurt_binding bindings[2] = { { NULL, 0 } };
	struct rig own = { .elements = 64 };
	struct tiny_model file;
	uint32_t i;

	tiny_model_make(&file, &(struct tiny_options){ 0 });
	/* The device may break at any time, also while a context is being made. */
	while (npurt_context_create(worker->rig->device, NULL, &own.context))
		worker->failed++;
	ok(npurt_model_load_memory(own.context, file.bytes, file.size, &own.model));
	for (i = 0; i < RUNS; i++) {
		ok(npurt_buffer_alloc(own.context, 128, 0, &own.x));
		ok(npurt_buffer_alloc(own.context, 128, 0, &own.y));
		rig_fill(&own, own.x, own.y, (int)i % 50);
		bindings[0].buffer = own.x;
		bindings[1].buffer = own.y;
		while (npurt_run(own.model, bindings, 2, NULL))
			worker->failed++;
		rig_check(&own, own.y, (int)i % 50);
		__atomic_add_fetch(&worker->done, 1, __ATOMIC_RELEASE);
		npurt_buffer_free(own.x);
		npurt_buffer_free(own.y);
		if (i % 100 == 50) {
			npurt_model_unload(own.model);
			ok(npurt_model_load_memory(own.context, file.bytes, file.size, &own.model));
		}
	}
	npurt_model_unload(own.model);
	npurt_context_destroy(own.context);
	tiny_model_free(&file);
	return NULL;
}

static void start_work(struct worker *workers, const struct rig *rig)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .rig = rig };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
}

/* Nothing is lost but what may have run when the device was reset. */
static void end_work(struct worker *workers, const struct rig *rig, uint32_t asked)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].done, RUNS);
		assert_true(workers[i].failed <= (rig_is_sim() ? resets(rig) : asked));
	}
}

static void others_go_on(void **state)
{
	struct worker workers[THREADS];
	int before = rig_open_fds();
	struct rig rig;

	(void)state;
	make_broken(&rig, "fw-crash#200/300");
	start_work(workers, &rig);
	end_work(workers, &rig, 0);
	assert_true(resets(&rig) > 0);
	rig_free(&rig);
	assert_int_equal(rig_open_fds(), before);
}

/* Of `sim:` the device is told that it died; a driver's is asked to be reset, by root. */
static void reset_device(const struct rig *rig)
{
	struct sim *sim = (struct sim *)rig->device->backend;
	FILE *file;

	if (rig_is_sim()) {
		sim_died(sim, sim_generation(sim), "somebody asked for a reset");
		return;
	}
	file = fopen("/sys/class/accel/accel0/device/npu_reset", "we");
	assert_non_null(file);
	assert_true(fputs("1", file) > 0);
	assert_int_equal(fclose(file), 0);
}

static uint32_t done(struct worker *workers)
{
	uint32_t sum = 0, i;

	for (i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&workers[i].done, __ATOMIC_ACQUIRE);
	return sum;
}

/* Something of everybody's, so that nobody is reset again and again for nothing. */
static bool wait_for_more(struct worker *workers, uint32_t than)
{
	while (done(workers) < than && done(workers) < THREADS * RUNS)
		sched_yield();
	return done(workers) < THREADS * RUNS;
}

static void somebody_resets_it(void **state)
{
	struct worker workers[THREADS];
	int before = rig_open_fds();
	uint32_t asked = 0;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	start_work(workers, &rig);
	while (wait_for_more(workers, asked * 100)) {
		reset_device(&rig);
		asked++;
	}
	assert_true(asked > 0);
	end_work(workers, &rig, asked);
	/* Also for who had nothing in flight. */
	rig_fill(&rig, rig.x, rig.y, 7);
	while (npurt_run(rig.model, rig.bindings, 2, NULL))
		;
	rig_check(&rig, rig.y, 7);
	rig_free(&rig);
	assert_int_equal(rig_open_fds(), before);
}

/* --------------------------------------------------------------------- graphs */

/* A replay fails as a whole, or is right as a whole; what depends on what failed is not run. */
static void graphs_stay_what_they_are(void **state)
{
	struct npurt_binding second[2] = { { NULL, 0 } };
	struct npurt_graph *graph;
	struct npurt_future *future;
	uint32_t first, then, failed = 0, i;
	struct rig rig;
	int ret;

	(void)state;
	make_broken(&rig, "over-temperature#20/33");
	ok(npurt_graph_create(rig.context, NULL, &graph));
	ok(npurt_buffer_alloc(rig.context, 128, 0, &second[1].buffer));
	second[0].buffer = rig.x;
	ok(npurt_graph_add_run(graph, rig.model, rig.bindings, 2, 0, &first));
	ok(npurt_graph_add_run(graph, rig.model, second, 2, 0, &then));
	ok(npurt_graph_add_edge(graph, first, then));
	ok(npurt_graph_build(graph));
	for (i = 0; i < RUNS; i++) {
		rig_fill(&rig, rig.x, rig.y, (int)i % 30);
		memset(npurt_buffer_map(second[1].buffer), 0, 128);
		ok(npurt_graph_submit(graph, NULL, &future));
		ret = npurt_future_wait(future, FOREVER);
		npurt_future_release(future);
		if (ret) {
			assert_says("the device was reset");
			failed++;
			continue;
		}
		rig_check(&rig, rig.y, (int)i % 30);
		rig_check(&rig, second[1].buffer, (int)i % 30);
	}
	assert_true(failed > 0);
	assert_true(failed <= resets(&rig));
	npurt_buffer_free(second[1].buffer);
	npurt_graph_destroy(graph);
	rig_free(&rig);
}

/* ------------------------------------------------------------------ who waits how */

static void who_only_looks_sees_it_too(void **state)
{
	struct npurt_future *future;
	struct rig rig;
	int ret = 0, i;

	(void)state;
	make_broken(&rig, "over-temperature#3");
	for (i = 0; i < 6; i++) {
		rig_fill(&rig, rig.x, rig.y, i);
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
		do {
			ret = npurt_future_wait(future, 0);
			sched_yield();
		} while (ret == -ETIMEDOUT);
		assert_int_equal(ret, i == 2 ? -EIO : 0);
		if (!ret)
			rig_check(&rig, rig.y, i);
		npurt_future_release(future);
	}
	assert_int_equal(resets(&rig), 1);
	rig_free(&rig);
}

static void count_call(struct npurt_future *future, void *data)
{
	(void)future;
	__atomic_add_fetch((uint32_t *)data, 1, __ATOMIC_ACQ_REL);
}

static void callbacks_come(void **state)
{
	struct npurt_future *future[20];
	uint32_t calls = 0, i;
	struct rig rig;

	(void)state;
	make_broken(&rig, "over-temperature#5/7");
	for (i = 0; i < 20; i++) {
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future[i]));
		ok(npurt_future_set_callback(future[i], count_call, &calls));
	}
	while (__atomic_load_n(&calls, __ATOMIC_ACQUIRE) < 20)
		sched_yield();
	for (i = 0; i < 20; i++)
		npurt_future_release(future[i]);
	assert_true(resets(&rig) > 0);
	rig_free(&rig);
}

static void a_lost_interrupt_costs_time_only(void **state)
{
	const struct npurt_context_options options = {
		.size = sizeof(options), .flags = NPURT_CONTEXT_NO_SPIN,
	};
	struct npurt_binding bindings[2];
	struct npurt_context *context;
	struct npurt_model *model;
	struct tiny_model file;
	struct rig rig;
	int i;

	(void)state;
	make_broken(&rig, "drop-irq#2/3");
	ok(npurt_context_create(rig.device, &options, &context));
	tiny_model_make(&file, &(struct tiny_options){ .kind = TINY_SLOW, .trips = 1000 });
	ok(npurt_model_load_memory(context, file.bytes, file.size, &model));
	tiny_model_free(&file);
	ok(npurt_buffer_alloc(context, 128, 0, &bindings[0].buffer));
	ok(npurt_buffer_alloc(context, 128, 0, &bindings[1].buffer));
	bindings[0].offset = bindings[1].offset = 0;
	for (i = 0; i < 4; i++) {
		rig_fill(&rig, bindings[0].buffer, bindings[1].buffer, i);
		ok(npurt_run(model, bindings, 2, NULL));
		rig_check(&rig, bindings[1].buffer, i);
	}
	assert_int_equal(resets(&rig), 0);
	npurt_buffer_free(bindings[0].buffer);
	npurt_buffer_free(bindings[1].buffer);
	npurt_model_unload(model);
	npurt_context_destroy(context);
	rig_free(&rig);
}

/* --------------------------------------------------------------------- the end */

static void a_device_that_is_gone(void **state)
{
	struct npurt_context *context;
	struct rig rig;

	(void)state;
	make_broken(&rig, "dead#2");
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	assert_int_equal(npurt_run(rig.model, rig.bindings, 2, NULL), -ENODEV);
	assert_says("a reset does not help");
	assert_int_equal(npurt_run(rig.model, rig.bindings, 2, NULL), -ENODEV);
	assert_int_equal(npurt_context_create(rig.device, NULL, &context), -ENODEV);
	assert_says("open it again");
	rig_free(&rig);
}

/* The firmware dies at its first turn after each reset, before anything can run. */
static void firmware_that_never_comes_back(void **state)
{
	struct rig rig;
	int ret, i;

	(void)state;
	make_broken(&rig, "fw-crash#30/1");
	for (i = 0, ret = 0; i < 1000 && !ret; i++)
		ret = npurt_run(rig.model, rig.bindings, 2, NULL);
	assert_true(ret == -ENODEV || ret == -EIO);
	assert_true(npurt_run(rig.model, rig.bindings, 2, NULL) < 0);
	rig_free(&rig);
}

static void everything_is_let_go_of_without_a_reset(void **state)
{
	int before = rig_open_fds();
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	make_broken(&rig, "over-temperature");
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	npurt_future_release(future);
	rig_free(&rig);
	assert_int_equal(rig_open_fds(), before);
}

/* The others need a device that breaks by its script. */
static int run_on_driver(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(somebody_resets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(somebody_resets_it),
		cmocka_unit_test(firmware_that_dies),
		cmocka_unit_test(a_device_that_gets_too_hot),
		cmocka_unit_test(firmware_that_falls_silent),
		cmocka_unit_test(others_go_on),
		cmocka_unit_test(graphs_stay_what_they_are),
		cmocka_unit_test(who_only_looks_sees_it_too),
		cmocka_unit_test(callbacks_come),
		cmocka_unit_test(a_lost_interrupt_costs_time_only),
		cmocka_unit_test(a_device_that_is_gone),
		cmocka_unit_test(firmware_that_never_comes_back),
		cmocka_unit_test(everything_is_let_go_of_without_a_reset),
	};

	return rig_is_sim() ? cmocka_run_group_tests(tests, NULL, NULL) : run_on_driver();
}
