// SPDX-License-Identifier: MIT
/*
 * Four threads and a queue that is mostly full: each task is complete in the order of its thread's
 * submissions, refusals and time-outs have no effect, and nobody is left behind.
 */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npurt/null_device.h"
#include "npurt/tiny_model.h"

#define THREADS 4
#define DEPTH 64
/* Tasks of a thread whose futures it holds at a time. */
#define WINDOW 24
#define TIMEOUT_NS 50000
#define LATENESS_MAX 100000

struct shared {
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_binding bindings[2];
	uint64_t each;
	uint64_t shares[THREADS]; /* when the first thread was through */
	struct worker *workers;
	uint32_t first_is_through;
};

struct worker {
	struct shared *shared;
	uint64_t submitted, refused, timed_out, early;
	uint32_t task_before;
	uint32_t out_of_order;
	int failure;
	struct npurt_future *window[WINDOW];
	int64_t *lateness;
	uint32_t latenesses;
};

static void note_timeout(struct worker *worker, int64_t start)
{
	int64_t late = soak_now() - start - TIMEOUT_NS;

	worker->timed_out++;
	worker->early += late < 0;
	if (worker->latenesses < LATENESS_MAX)
		worker->lateness[worker->latenesses++] = late;
}

/* By each policy in turn, until it is in. */
static void submit(struct worker *worker, struct npurt_future **future)
{
	const struct shared *shared = worker->shared;
	struct npurt_run_options options = {
		.size = sizeof(options),
		.policy = worker->submitted % 3,
		.timeout_ns = TIMEOUT_NS,
	};
	int ret;

	do {
		int64_t start = options.policy == NPURT_POLICY_TIMEOUT ? soak_now() : 0;

		ret = npurt_run_submit(shared->model, shared->bindings, 2, &options, future);
		if (ret == -ETIMEDOUT)
			note_timeout(worker, start);
		worker->refused += ret == -EAGAIN;
		/* A refusal is no reason to try for ever: the next way in waits. */
		options.policy = NPURT_POLICY_BLOCK;
	} while (ret == -EAGAIN || ret == -ETIMEDOUT);
	if (ret)
		worker->failure = ret;
	worker->submitted++;
}

static void finish(struct worker *worker, struct npurt_future *future)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	int ret = npurt_future_wait(future, NPURT_FOREVER);

	if (!ret)
		ret = npurt_future_get_report(future, &report);
	if (ret)
		worker->failure = ret;
	/* Ids are 32 bits of the queue's count. */
	if ((int32_t)(report.task_id - worker->task_before) <= 0)
		worker->out_of_order++;
	worker->task_before = report.task_id;
	npurt_future_release(future);
}

static void note_shares(struct shared *shared)
{
	int i;

	if (__atomic_exchange_n(&shared->first_is_through, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < THREADS; i++)
		shared->shares[i] =
			__atomic_load_n(&shared->workers[i].submitted, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	uint64_t i;

	for (i = 0; i < worker->shared->each && !worker->failure; i++) {
		struct npurt_future **place = &worker->window[i % WINDOW];

		if (*place)
			finish(worker, *place);
		*place = NULL;
		submit(worker, place);
	}
	note_shares(worker->shared);
	for (; i < worker->shared->each + WINDOW; i++) {
		if (worker->window[i % WINDOW])
			finish(worker, worker->window[i % WINDOW]);
	}
	return NULL;
}

/* Never closed: see null_device.c. */
static struct npurt_device *device;

static void make(struct shared *shared)
{
	const struct npurt_context_options options = { .size = sizeof(options),
						       .queue_depth = DEPTH };
	const struct tiny_options tiny = { .elements = 16 };
	struct tiny_model file;
	int i;

	if (!device)
		device = null_device_open();
	ok(npurt_context_create(device, &options, &shared->context));
	tiny_model_make(&file, &tiny);
	ok(npurt_model_load_memory(shared->context, file.bytes, file.size, &shared->model));
	tiny_model_free(&file);
	for (i = 0; i < 2; i++)
		ok(npurt_buffer_alloc(shared->context, 32, 0, &shared->bindings[i].buffer));
}

static void run(struct shared *shared, struct worker *workers, uint64_t each)
{
	pthread_t threads[THREADS];
	int i;

	shared->each = each;
	shared->workers = workers;
	shared->first_is_through = 0;
	for (i = 0; i < THREADS; i++) {
		memset(workers[i].window, 0, sizeof(workers[i].window));
		workers[i].submitted = 0;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool is_well(const struct worker *worker, int number, uint64_t each)
{
	int64_t median = 0;

	if (worker->latenesses) {
		qsort(worker->lateness, worker->latenesses, sizeof(int64_t), compare);
		median = worker->lateness[worker->latenesses / 2];
	}
	printf("# thread %d: %" PRIu64 " tasks; %" PRIu64 " of them when the first was through; "
	       "%" PRIu64 " refused, %" PRIu64 " timed out, median %.3g ms late, %" PRIu64
	       " early; %u out of order; failure %d\n",
	       number, worker->submitted, worker->shared->shares[number], worker->refused,
	       worker->timed_out, (double)median / 1e6, worker->early, worker->out_of_order,
	       worker->failure);
	return worker->submitted == each && !worker->early && !worker->out_of_order &&
	       !worker->failure;
}

/* Of many tasks some find no room at once, and some not in time. */
static bool all_ways_were_gone(const struct worker *workers)
{
	uint64_t refused = 0, timed_out = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		refused += workers[i].refused;
		timed_out += workers[i].timed_out;
	}
	return refused && timed_out;
}

bool soak_queue(uint64_t count)
{
	struct npurt_context_status status = { .size = sizeof(status) };
	struct worker workers[THREADS] = { 0 };
	struct shared shared = { 0 };
	uint64_t warm = count / 10 / THREADS, each = count / THREADS - warm;
	struct footprint before;
	bool held = true;
	int i;

	make(&shared);
	for (i = 0; i < THREADS; i++) {
		workers[i].shared = &shared;
		workers[i].lateness = calloc(LATENESS_MAX, sizeof(int64_t));
		if (!workers[i].lateness)
			exit(1);
		/* Touched before memory is looked at. */
		memset(workers[i].lateness, 1, LATENESS_MAX * sizeof(int64_t));
	}
	run(&shared, workers, warm);
	before = footprint_now();
	run(&shared, workers, each);
	for (i = 0; i < THREADS; i++)
		held &= is_well(&workers[i], i, each);
	held &= count < 10000 || all_ways_were_gone(workers);
	held &= !footprint_grew("queue", &before);
	ok(npurt_context_get_status(shared.context, &status));
	/* What was refused is not among them. */
	held &= status.submitted == (warm + each) * THREADS && !status.in_flight;
	for (i = 0; i < THREADS; i++)
		free(workers[i].lateness);
	npurt_buffer_free(shared.bindings[0].buffer);
	npurt_buffer_free(shared.bindings[1].buffer);
	npurt_model_unload(shared.model);
	npurt_context_destroy(shared.context);
	return held;
}
