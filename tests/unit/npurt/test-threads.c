// SPDX-License-Identifier: MIT
/* Many tasks, and many threads on one context: order, results, nothing lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "objects.h"
#include "rig.h"

/* The sanitizers make everything slower. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TASKS 2000
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TASKS 2000
#endif
#endif
#ifndef TASKS
#define TASKS 10000
#endif

static void test_many_tasks(void **state)
{
	struct npurt_context_status status = { .size = sizeof(status) };
	struct tiny_options tiny = { .elements = 16 };
	struct npurt_future *last = NULL;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, NULL, &tiny);
	rig_fill(&rig, rig.x, rig.y, 5);
	for (i = 0; i < TASKS; i++) {
		npurt_future_release(last);
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &last));
	}
	ok(npurt_future_wait(last, NPURT_FOREVER));
	rig_check(&rig, rig.y, 5);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.submitted, TASKS);
	assert_int_equal(status.completed, TASKS);
	npurt_future_release(last);
	rig_free(&rig);
}

#define THREADS 4
#define TASKS_EACH (TASKS / 10)

struct worker {
	struct rig *rig;
	int number;
	unsigned int refused;
	const char *failure;
};

/* Each its own buffers; cmocka's assertions work only on the main thread. */
static const char *work(struct worker *worker)
{
	static const uint32_t policies[] = { NPURT_POLICY_BLOCK, NPURT_POLICY_TRY,
					     NPURT_POLICY_TIMEOUT };
	struct rig *rig = worker->rig;
	struct npurt_buffer *x, *y;
	uint32_t task_before = 0;
	int i;

	if (npurt_buffer_alloc(rig->context, rig->elements * 2, 0, &x) ||
	    npurt_buffer_alloc(rig->context, rig->elements * 2, 0, &y))
		return "no buffer";
	for (i = 0; i < TASKS_EACH; i++) {
		struct npurt_binding bindings[2] = { { x, 0 }, { y, 0 } };
		struct npurt_run_options options = {
			.size = sizeof(options), .policy = policies[i % 3],
			.timeout_ns = 60000000000ll,
		};
		struct npurt_task_report report = { .size = sizeof(report) };
		struct npurt_future *future;
		uint16_t *in = npurt_buffer_map(x), *out = npurt_buffer_map(y);
		uint32_t j;
		int ret;

		for (j = 0; j < rig->elements; j++)
			in[j] = (uint16_t)(0x3c00 + ((worker->number + i) % 4) * 0x400);
		memset(out, 0xff, rig->elements * 2);
		do {
			ret = npurt_run_submit(rig->model, bindings, 2, &options, &future);
			worker->refused += ret == -EAGAIN;
		} while (ret == -EAGAIN);
		if (ret)
			return "not submitted";
		if (npurt_future_wait(future, NPURT_FOREVER))
			return "not done";
		if (npurt_future_get_report(future, &report))
			return "no report";
		npurt_future_release(future);
		/* 2 x + w with w = -3 .. 4; w = 0 is every eighth from the fourth. */
		if (out[3] != in[3] + 0x400 || out[11] != in[3] + 0x400)
			return "wrong result";
		if (report.task_id <= task_before)
			return "tasks of one thread out of order";
		task_before = report.task_id;
	}
	npurt_buffer_free(x);
	npurt_buffer_free(y);
	return NULL;
}

static void *work_thread(void *argument)
{
	struct worker *worker = argument;

	worker->failure = work(worker);
	return NULL;
}

static void run_threads(uint32_t depth, uint32_t flags)
{
	struct npurt_context_options options = { .size = sizeof(options), .queue_depth = depth,
						 .flags = flags };
	struct npurt_context_status status = { .size = sizeof(status) };
	struct tiny_options tiny = { .elements = 16 };
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	struct rig rig;
	int i;

	rig_make(&rig, &options, &tiny);
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .rig = &rig, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, work_thread, &workers[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < THREADS; i++) {
		if (workers[i].failure)
			fail_msg("thread %d: %s", i, workers[i].failure);
	}
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.submitted, THREADS * TASKS_EACH);
	assert_int_equal(status.completed, THREADS * TASKS_EACH);
	rig_free(&rig);
}

static void test_threads_with_room(void **state)
{
	(void)state;
	run_threads(64, 0);
}

static void test_threads_without_room(void **state)
{
	(void)state;
	run_threads(1, 0);
}

static void test_threads_sleeping(void **state)
{
	(void)state;
	run_threads(2, NPURT_CONTEXT_NO_SPIN);
}

/* Contexts made and destroyed beside one that works. */
static void *churn(void *argument)
{
	struct npurt_device *device = argument;
	int i;

	for (i = 0; i < 20; i++) {
		struct npurt_context *context;
		struct npurt_buffer *buffer;

		if (npurt_context_create(device, NULL, &context))
			return (void *)"no context";
		if (npurt_buffer_alloc(context, 1 << 20, 0, &buffer))
			return (void *)"no buffer";
		npurt_context_destroy(context);
		npurt_buffer_free(buffer);
	}
	return NULL;
}

static void test_contexts_beside(void **state)
{
	pthread_t threads[2];
	struct rig rig;
	void *failure;
	int i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, rig.device), 0);
	for (i = 0; i < 200; i++) {
		rig_fill(&rig, rig.x, rig.y, i % 7);
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
		rig_check(&rig, rig.y, i % 7);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &failure);
		assert_null(failure);
	}
	rig_free(&rig);
}

#define IN_LINE 6

struct in_line {
	struct rig *rig;
	uint32_t task_id;
	int result;
};

static void *submit_and_wait(void *opaque)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct in_line *me = opaque;
	struct npurt_future *future;

	me->result = npurt_run_submit(me->rig->model, me->rig->bindings, 2, NULL, &future);
	if (me->result)
		return NULL;
	me->result = npurt_future_wait(future, NPURT_FOREVER);
	if (!me->result)
		me->result = npurt_future_get_report(future, &report);
	me->task_id = report.task_id;
	npurt_future_release(future);
	return NULL;
}

/* Until a thread more waits for room. */
static void wait_for_line(const struct npurt_queue *queue, uint32_t waiting)
{
	int64_t deadline = rig_now() + INT64_C(60000000000);

	while (__atomic_load_n(&queue->line.waiting, __ATOMIC_ACQUIRE) != waiting) {
		if (rig_now() > deadline)
			fail_msg("no %u threads wait for room", waiting);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
}

/* Who waits for room gets it in the order of coming, and nobody passes by. */
static void test_first_come_first_served(void **state)
{
	const struct npurt_context_options context = { .size = sizeof(context), .queue_depth = 2 };
	const struct npurt_run_options attempt = { .size = sizeof(attempt), .policy = NPURT_POLICY_TRY };
	struct in_line in_line[IN_LINE];
	pthread_t thread[IN_LINE];
	struct npurt_queue *queue;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, &context, NULL);
	rig_fill(&rig, rig.x, rig.y, 1);
	queue = &rig.context->queue;
	/* However fast the device is, no place comes free while this is held. */
	pthread_mutex_lock(&queue->retire_lock);
	for (i = 0; i < 2; i++)
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, NULL));
	for (i = 0; i < IN_LINE; i++) {
		in_line[i] = (struct in_line){ .rig = &rig };
		assert_int_equal(pthread_create(&thread[i], NULL, submit_and_wait, &in_line[i]), 0);
		wait_for_line(queue, (uint32_t)i + 1);
	}
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &attempt, NULL), -EAGAIN);
	pthread_mutex_unlock(&queue->retire_lock);
	for (i = 0; i < IN_LINE; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(in_line[i].result, 0);
		assert_int_equal(in_line[i].task_id, 3 + i);
	}
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_tasks),
		cmocka_unit_test(test_threads_with_room),
		cmocka_unit_test(test_threads_without_room),
		cmocka_unit_test(test_threads_sleeping),
		cmocka_unit_test(test_contexts_beside),
		cmocka_unit_test(test_first_come_first_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
