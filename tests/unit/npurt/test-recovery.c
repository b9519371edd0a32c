// SPDX-License-Identifier: MIT
/*
 * What goes wrong in the device, and who notices: a task that hangs among contexts that work, and
 * resets of the device, after which the contexts are made again. Only `sim:` takes orders to fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define WORKERS		8
#define TASKS		12
#define BUDGET		200000
#define ELEMENTS	64

struct worker {
	struct rig rig;
	struct npurt_buffer *y[TASKS];
	struct npurt_future *future[TASKS];
	int result[TASKS];
	pthread_t thread;
	unsigned int failed, number;
	char sentence[1024];
};

struct team {
	struct npurt_device *device;
	struct worker worker[WORKERS];
	unsigned int count;
};

static void add_worker(struct team *team, uint32_t trips)
{
	struct npurt_context_options options = { .size = sizeof(options), .queue_depth = TASKS };
	struct tiny_options tiny = { .kind = trips ? TINY_SLOW : TINY_GOOD, .trips = trips };
	struct worker *worker = &team->worker[team->count];
	struct tiny_model file;

	worker->number = team->count++;
	worker->rig.device = team->device;
	worker->rig.elements = ELEMENTS;
	ok(npurt_context_create(team->device, &options, &worker->rig.context));
	tiny_model_make(&file, &tiny);
	ok(npurt_model_load_memory(worker->rig.context, file.bytes, file.size,
				   &worker->rig.model));
	tiny_model_free(&file);
	ok(npurt_buffer_alloc(worker->rig.context, ELEMENTS * 2, NPURT_BUFFER_READ_ONLY,
			      &worker->rig.x));
	for (unsigned int i = 0; i < TASKS; i++) {
		ok(npurt_buffer_alloc(worker->rig.context, ELEMENTS * 2, 0, &worker->y[i]));
		rig_fill(&worker->rig, worker->rig.x, worker->y[i], (int)worker->number);
	}
}

static void make_team(struct team *team, const char *keys, unsigned int workers, uint32_t trips)
{
	memset(team, 0, sizeof(*team));
	team->device = rig_open(keys);
	for (unsigned int i = 0; i < workers; i++)
		add_worker(team, trips);
}

static void free_team(struct team *team)
{
	for (unsigned int i = 0; i < team->count; i++) {
		struct worker *worker = &team->worker[i];

		for (unsigned int task = 0; task < TASKS; task++) {
			npurt_future_release(worker->future[task]);
			npurt_buffer_free(worker->y[task]);
		}
		npurt_buffer_free(worker->rig.x);
		npurt_model_unload(worker->rig.model);
		npurt_context_destroy(worker->rig.context);
	}
	npurt_close(team->device);
}

static int submit(struct worker *worker, unsigned int task)
{
	struct npurt_run_options options = {
		.size = sizeof(options), .policy = NPURT_POLICY_BLOCK, .budget_cycles = BUDGET,
	};
	struct npurt_binding bindings[2] = {
		{ .buffer = worker->rig.x }, { .buffer = worker->y[task] },
	};

	npurt_future_release(worker->future[task]);
	worker->future[task] = NULL;
	return npurt_run_submit(worker->rig.model, bindings, 2, &options, &worker->future[task]);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (unsigned int i = 0; i < TASKS; i++)
		worker->result[i] = submit(worker, i);
	for (unsigned int i = 0; i < TASKS; i++) {
		if (worker->result[i])
			continue;
		worker->result[i] = npurt_future_wait(worker->future[i], NPURT_FOREVER);
		if (!worker->result[i])
			continue;
		worker->failed++;
		snprintf(worker->sentence, sizeof(worker->sentence), "%s", npurt_last_error());
	}
	return NULL;
}

static void run_team(struct team *team)
{
	for (unsigned int i = 0; i < team->count; i++)
		assert_int_equal(pthread_create(&team->worker[i].thread, NULL, work,
						&team->worker[i]), 0);
	for (unsigned int i = 0; i < team->count; i++)
		pthread_join(team->worker[i].thread, NULL);
}

/* What is done is right, and what failed did so with @error; returns how many failed. */
static unsigned int check_team(struct team *team, int error)
{
	unsigned int failed = 0;

	for (unsigned int i = 0; i < team->count; i++) {
		struct worker *worker = &team->worker[i];

		failed += worker->failed;
		for (unsigned int task = 0; task < TASKS; task++) {
			if (worker->result[task] && worker->result[task] != error)
				fail_msg("%d, not %d: %s", worker->result[task], error,
					 npurt_future_error(worker->future[task]));
			else if (!worker->result[task])
				rig_check(&worker->rig, worker->y[task], (int)worker->number);
		}
	}
	return failed;
}

static const struct worker *who_failed(const struct team *team)
{
	for (unsigned int i = 0; i < team->count; i++) {
		if (team->worker[i].failed)
			return &team->worker[i];
	}
	return NULL;
}

static void assert_sentence(const struct worker *worker, const char *words)
{
	if (!strstr(worker->sentence, words))
		fail_msg("'%s' does not say '%s'", worker->sentence, words);
}

/* Everything works again, in the contexts there are and in a new one. */
static void check_well(struct team *team)
{
	struct npurt_context *context;

	for (unsigned int i = 0; i < team->count; i++) {
		struct worker *worker = &team->worker[i];

		rig_fill(&worker->rig, worker->rig.x, worker->y[0], (int)worker->number);
		ok(submit(worker, 0));
		ok(npurt_future_wait(worker->future[0], NPURT_FOREVER));
		rig_check(&worker->rig, worker->y[0], (int)worker->number);
	}
	ok(npurt_context_create(team->device, NULL, &context));
	npurt_context_destroy(context);
}

/* One task of one context, with all that can be said of it; nobody else loses anything. */
static void hang_among_many(const char *keys)
{
	const struct worker *worker;
	struct team team;

	make_team(&team, keys, WORKERS, 0);
	run_team(&team);
	assert_int_equal(check_team(&team, -ETIME), 1);
	worker = who_failed(&team);
	assert_sentence(worker, "of model 'tiny' on sim:");
	assert_sentence(worker, "its budget ran out after");
	assert_sentence(worker, "it was at work");
	assert_sentence(worker, "program offset 0x");
	assert_sentence(worker, "cluster ");
	check_well(&team);
	free_team(&team);
}

static void test_hang(void **state)
{
	(void)state;
	hang_among_many("&fault=hang#41");
}

static void test_stuck(void **state)
{
	(void)state;
	hang_among_many("&fault=stuck#41");
}

static void test_lost_bits(void **state)
{
	struct team team;

	(void)state;
	make_team(&team, "&fault=ecc-uncorrected#77,ecc-corrected/5", WORKERS, 0);
	run_team(&team);
	assert_int_equal(check_team(&team, -EIO), 1);
	assert_sentence(who_failed(&team), "the memory there has lost bits");
	check_well(&team);
	free_team(&team);
}

/* At most the task at the head of each queue is lost; those behind it run. */
static void run_over_reset(struct team *team, const char *keys)
{
	make_team(team, keys, 4, 200);
	run_team(team);
	check_team(team, -EIO);
	for (unsigned int i = 0; i < team->count; i++)
		assert_true(team->worker[i].failed <= 1);
}

/* ... and somebody's task was running. */
static void reset_under_load(const char *keys, const char *words)
{
	const struct worker *worker;
	struct team team;

	run_over_reset(&team, keys);
	worker = who_failed(&team);
	assert_non_null(worker);
	assert_sentence(worker, "of model 'tiny'");
	assert_sentence(worker, "was lost: the device was reset");
	assert_sentence(worker, words);
	check_well(&team);
	free_team(&team);
}

static void test_firmware_crash(void **state)
{
	(void)state;
	reset_under_load("&fault=fw-crash#30", "its firmware died");
}

static void test_over_temperature(void **state)
{
	(void)state;
	reset_under_load("&fault=over-temperature#17", "it became too hot");
}

/* More queues than slots: without a reset those that have none would never finish. */
static void test_firmware_silence(void **state)
{
	struct team team;

	(void)state;
	run_over_reset(&team, "&slots=2&patience=1&fault=fw-silence#40");
	check_well(&team);
	free_team(&team);
}

/* Three resets: the contexts come back each time. */
static void test_again_and_again(void **state)
{
	struct team team;
	unsigned int failed;

	(void)state;
	make_team(&team, "&fault=over-temperature#9/9", 4, 200);
	run_team(&team);
	failed = check_team(&team, -EIO);
	assert_in_range(failed, 2, 4 * TASKS - 1);
	free_team(&team);
}

/* Nobody waits for long for what no interrupt tells, and nothing is lost. */
static void test_lost_interrupts(void **state)
{
	struct team team;

	(void)state;
	make_team(&team, "&fault=drop-irq#20/11", 4, 0);
	run_team(&team);
	assert_int_equal(check_team(&team, 0), 0);
	check_well(&team);
	free_team(&team);
}

/* The memory is free only when the device cannot reach it; then it works again. */
static void test_tlb_hangs(void **state)
{
	struct team team;

	(void)state;
	make_team(&team, "&patience=1&fault=tlb-hang#2", 2, 0);
	run_team(&team);
	assert_int_equal(check_team(&team, 0), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct npurt_context *context;

		ok(npurt_context_create(team.device, NULL, &context));
		npurt_context_destroy(context);
	}
	check_well(&team);
	free_team(&team);
}

/* No reset helps: everybody is told so, and everything can be released. */
static void test_dead(void **state)
{
	struct npurt_context *context;
	struct team team;

	(void)state;
	make_team(&team, "&patience=1&fault=dead#20", 3, 0);
	run_team(&team);
	assert_true(check_team(&team, -ENODEV) >= 1);
	assert_sentence(who_failed(&team), "a reset did not help");
	assert_int_equal(npurt_context_create(team.device, NULL, &context), -ENODEV);
	free_team(&team);
}

static void test_bad_keys(void **state)
{
	static const char *const refused[] = {
		"sim:?fault=", "sim:?fault=hangs", "sim:?fault=hang#0", "sim:?fault=hang&fault=hang",
		"sim:?patience=0", "sim:?patience=x", "sim:?patience=",
	};
	struct npurt_device *device;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(npurt_open(refused[i], &device), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_lost_bits),
		cmocka_unit_test(test_firmware_crash),
		cmocka_unit_test(test_over_temperature),
		cmocka_unit_test(test_firmware_silence),
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_lost_interrupts),
		cmocka_unit_test(test_tlb_hangs),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_bad_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
