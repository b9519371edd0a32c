// SPDX-License-Identifier: MIT
/* Callbacks, the descriptor for poll(), and the bound by bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

#define DEPTH 4

static const struct npurt_context_options depth_4 = {
	.size = sizeof(depth_4),
	.queue_depth = DEPTH,
};

/* What the callbacks of a test have seen. */
struct seen {
	struct rig *rig;
	uint32_t calls;
	uint32_t failed;
	int result;
	pthread_t thread;
};

static void note(struct npurt_future *future, void *data)
{
	struct seen *seen = data;

	seen->result = npurt_future_wait(future, 0);
	seen->thread = pthread_self();
	if (seen->result)
		__atomic_fetch_add(&seen->failed, 1, __ATOMIC_ACQ_REL);
	__atomic_fetch_add(&seen->calls, 1, __ATOMIC_ACQ_REL);
}

static bool comes_to(uint32_t *count, uint32_t expected)
{
	int i;

	for (i = 0; i < 20000 && __atomic_load_n(count, __ATOMIC_ACQUIRE) != expected; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	return __atomic_load_n(count, __ATOMIC_ACQUIRE) == expected;
}

static struct npurt_future *submit(struct rig *rig)
{
	struct npurt_future *future = NULL;

	ok(npurt_run_submit(rig->model, rig->bindings, 2, NULL, &future));
	return future;
}

static void test_callback(void **state)
{
	struct seen seen = { 0 };
	struct npurt_future *future;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, &depth_4, NULL);
	rig_fill(&rig, rig.x, rig.y, 1);
	for (i = 0; i < 50; i++) {
		future = submit(&rig);
		ok(npurt_future_set_callback(future, note, &seen));
		assert_int_equal(npurt_future_set_callback(future, note, &seen), -EBUSY);
		/* It is called all the same. */
		npurt_future_release(future);
	}
	assert_true(comes_to(&seen.calls, 50));
	assert_int_equal(seen.failed, 0);
	assert_false(pthread_equal(seen.thread, pthread_self()));
	/* Complete before: called, but not by this thread. */
	future = submit(&rig);
	ok(npurt_future_wait(future, NPURT_FOREVER));
	ok(npurt_future_set_callback(future, note, &seen));
	assert_true(comes_to(&seen.calls, 51));
	assert_false(pthread_equal(seen.thread, pthread_self()));
	assert_int_equal(npurt_future_set_callback(future, NULL, NULL), -EINVAL);
	assert_int_equal(npurt_future_set_callback(NULL, note, NULL), -EINVAL);
	npurt_future_release(future);
	rig_check(&rig, rig.y, 1);
	rig_free(&rig);
}

/* A task that is not let finish: its callback comes with the end of its context. */
static void test_callback_of_a_killed_task(void **state)
{
	struct tiny_options slow = { .kind = TINY_SLOW, .trips = 1u << 20 };
	struct seen seen = { 0 };
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &slow);
	future = submit(&rig);
	ok(npurt_future_set_callback(future, note, &seen));
	npurt_future_release(future);
	rig_free(&rig);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.result, -ECANCELED);
}

/* The last one to let go is the callback. */
static void let_go(struct npurt_future *future, void *data)
{
	struct seen *seen = data;

	npurt_future_release(future);
	rig_free(seen->rig);
	__atomic_fetch_add(&seen->calls, 1, __ATOMIC_ACQ_REL);
}

static void test_callback_lets_go(void **state)
{
	struct seen seen = { 0 };
	struct rig rig;
	int fds = rig_open_fds(), i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	seen.rig = &rig;
	ok(npurt_future_set_callback(submit(&rig), let_go, &seen));
	assert_true(comes_to(&seen.calls, 1));
	for (i = 0; i < 10000 && rig_open_fds() != fds; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_int_equal(rig_open_fds(), fds);
}

/* A graph with a host task completes on a worker. */
static int nothing(void *data)
{
	(void)data;
	return 0;
}

static void test_callback_of_a_graph(void **state)
{
	struct seen seen = { 0 };
	struct npurt_future *future;
	struct npurt_graph *graph;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 1);
	for (i = 0; i < 2; i++) {
		ok(npurt_graph_create(rig.context, NULL, &graph));
		ok(npurt_graph_add_run(graph, rig.model, rig.bindings, 2, 0, NULL));
		if (i)
			ok(npurt_graph_add_host(graph, nothing, NULL, NULL));
		ok(npurt_graph_build(graph));
		ok(npurt_graph_submit(graph, NULL, &future));
		ok(npurt_future_set_callback(future, note, &seen));
		npurt_future_release(future);
		npurt_graph_destroy(graph);
	}
	assert_true(comes_to(&seen.calls, 2));
	assert_int_equal(seen.failed, 0);
	rig_free(&rig);
}

static void wait_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, 10000), 1);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

/* A program with one thread and poll(): completion, callbacks and space through one descriptor. */
static void test_descriptor(void **state)
{
	struct npurt_run_options try = { .size = sizeof(try), .policy = NPURT_POLICY_TRY };
	struct seen seen = { .calls = 0 };
	uint32_t submitted = 0, refused = 0;
	struct npurt_future *future;
	struct rig rig;
	int fd;

	(void)state;
	rig_make(&rig, &depth_4, NULL);
	rig_fill(&rig, rig.x, rig.y, 2);
	assert_int_equal(npurt_dispatch(rig.context), -EINVAL);
	assert_says("npurt_context_get_fd");
	fd = npurt_context_get_fd(rig.context);
	assert_true(fd >= 0);
	assert_int_equal(npurt_context_get_fd(rig.context), fd);
	assert_true(is_readable(fd));
	assert_int_equal(npurt_dispatch(rig.context), 0);
	assert_false(is_readable(fd));
	while (seen.calls < 100) {
		int ret = submitted < 100 ?
				  npurt_run_submit(rig.model, rig.bindings, 2, &try, &future) :
				  -EAGAIN;

		if (!ret) {
			submitted++;
			ok(npurt_future_set_callback(future, note, &seen));
			npurt_future_release(future);
			continue;
		}
		assert_int_equal(ret, -EAGAIN);
		refused++;
		wait_readable(fd);
		assert_true(npurt_dispatch(rig.context) >= 0);
	}
	assert_int_equal(submitted, 100);
	assert_true(refused > 0);
	assert_int_equal(seen.failed, 0);
	assert_true(pthread_equal(seen.thread, pthread_self()));
	rig_check(&rig, rig.y, 2);
	/* Without callbacks as well. */
	npurt_dispatch(rig.context);
	future = submit(&rig);
	while (npurt_future_wait(future, 0) == -ETIMEDOUT) {
		wait_readable(fd);
		npurt_dispatch(rig.context);
	}
	ok(npurt_future_wait(future, 0));
	npurt_future_release(future);
	rig_free(&rig);
	assert_int_equal(npurt_context_get_fd(NULL), -EINVAL);
	assert_int_equal(npurt_dispatch(NULL), -EINVAL);
}

/* The end of a graph on the workers is news, too: nothing of it may ever have been on the queue. */
static void test_descriptor_of_host_tasks(void **state)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_future *future;
	struct npurt_graph *graph;
	struct rig rig;
	int fd, i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_graph_create(rig.context, NULL, &graph));
	ok(npurt_graph_add_host(graph, nothing, NULL, NULL));
	ok(npurt_graph_build(graph));
	fd = npurt_context_get_fd(rig.context);
	for (i = 0; i < 100; i++) {
		npurt_dispatch(rig.context);
		ok(npurt_graph_submit(graph, NULL, &future));
		while (npurt_future_wait(future, 0) == -ETIMEDOUT) {
			wait_readable(fd);
			npurt_dispatch(rig.context);
		}
		ok(npurt_future_wait(future, 0));
		assert_int_equal(npurt_future_get_report(future, &report), -ENODATA);
		npurt_future_release(future);
	}
	npurt_graph_destroy(graph);
	rig_free(&rig);
}

/* Not dispatched, but called: when the context ends. */
static void test_never_dispatched(void **state)
{
	struct seen seen = { 0 };
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	assert_true(npurt_context_get_fd(rig.context) >= 0);
	future = submit(&rig);
	ok(npurt_future_set_callback(future, note, &seen));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	assert_int_equal(seen.calls, 0);
	npurt_future_release(future);
	rig_free(&rig);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.result, 0);
}

static void test_bytes(void **state)
{
	/* A run reads 128 bytes and writes 128. */
	struct npurt_context_options options = {
		.size = sizeof(options),
		.queue_depth = 16,
		.queue_bytes = 3 * 256 + 10,
	};
	struct npurt_run_options try = { .size = sizeof(try), .policy = NPURT_POLICY_TRY };
	struct npurt_run_options timeout = {
		.size = sizeof(timeout),
		.policy = NPURT_POLICY_TIMEOUT,
		.timeout_ns = 3000000,
	};
	struct npurt_context_status status = { .size = sizeof(status) };
	struct tiny_options slow = { .kind = TINY_SLOW, .trips = 300000 };
	struct npurt_future *none = NULL;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, &options, &slow);
	for (i = 0; i < 3; i++)
		npurt_future_release(submit(&rig));
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &try, &none), -EAGAIN);
	assert_says("3 of its 16 places and 768 of 778 bytes are taken: wait for a task");
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &timeout, &none), -ETIMEDOUT);
	assert_says("768 of 778 bytes are taken: no room came within the time-out");
	assert_null(none);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.bytes_in_flight, 3 * 256);
	assert_int_equal(status.in_flight, 3);
	rig_free(&rig);

	/* Waits for bytes, not for places. */
	rig_make(&rig, &options, NULL);
	rig_fill(&rig, rig.x, rig.y, 2);
	for (i = 0; i < 100; i++) {
		npurt_future_release(submit(&rig));
		ok(npurt_context_get_status(rig.context, &status));
		assert_true(status.bytes_in_flight <= 3 * 256);
	}
	none = submit(&rig);
	ok(npurt_future_wait(none, NPURT_FOREVER));
	npurt_future_release(none);
	rig_check(&rig, rig.y, 2);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.bytes_in_flight, 0);
	rig_free(&rig);

	options.queue_bytes = 255;
	rig_make(&rig, &options, NULL);
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, NULL, NULL), -E2BIG);
	assert_says("queue_bytes");
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_callback_of_a_killed_task),
		cmocka_unit_test(test_callback_lets_go),
		cmocka_unit_test(test_callback_of_a_graph),
		cmocka_unit_test(test_descriptor),
		cmocka_unit_test(test_descriptor_of_host_tasks),
		cmocka_unit_test(test_never_dispatched),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
