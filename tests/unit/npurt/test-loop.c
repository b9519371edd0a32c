// SPDX-License-Identifier: MIT
/*
 * Event loops: the same tests on loops by io_uring and by poll(), and on one that was to be by io_uring
 * in a process that may not use it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

#define MILLISECOND 1000000ll
#define LONG (60000 * MILLISECOND)

static uint32_t kind; /* of the loops now */

struct call {
	int count, result;
	int *called; /* shared: how many were */
};

static void note(void *data, int result)
{
	struct call *call = data;

	call->count++;
	call->result = result;
	if (call->called)
		++*call->called;
}

static struct npurt_loop *loop_make(void)
{
	const struct npurt_loop_options options = { .size = sizeof(options), .kind = kind };
	struct npurt_loop *loop = NULL;

	ok(npurt_loop_create(&options, &loop));
	return loop;
}

/* Until so many more callbacks have been called. */
static void run(struct npurt_loop *loop, int count)
{
	int64_t end = rig_now() + LONG;

	while (count > 0) {
		int ret = npurt_loop_run(loop, end - rig_now());

		if (ret <= 0)
			fail_msg("%d callbacks did not come: %d %s", count, ret,
				 npurt_last_error());
		count -= ret;
	}
	assert_int_equal(count, 0);
}

static void test_arguments(void **state)
{
	const struct npurt_loop_options wrong = { .size = sizeof(wrong), .kind = 3 };
	struct npurt_loop *loop = loop_make(), *none = NULL;
	struct call call = { 0 };
	char byte;
	int ends[2];

	(void)state;
	assert_int_equal(npurt_loop_create(&wrong, &none), -EINVAL);
	assert_int_equal(npurt_loop_create(NULL, NULL), -EINVAL);
	assert_null(none);
	assert_int_equal(npurt_loop_get_kind(NULL), -EINVAL);
	assert_int_equal(npurt_loop_run(NULL, 0), -EINVAL);
	assert_int_equal(npurt_loop_wake(NULL), -EINVAL);
	assert_int_equal(npurt_loop_add_timer(NULL, 0, note, &call), -EINVAL);
	assert_int_equal(npurt_loop_add_timer(loop, 0, NULL, &call), -EINVAL);
	assert_int_equal(npurt_loop_add_future(loop, NULL, 0, note, &call), -EINVAL);
	assert_int_equal(npurt_loop_add_read(loop, 0, NULL, 1, 0, note, &call), -EINVAL);
	assert_int_equal(npurt_loop_add_read(loop, 0, &byte, 1, -1, note, &call), -EINVAL);
	assert_int_equal(npurt_loop_add_read(loop, -1, &byte, 1, 0, note, &call), -EBADF);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(npurt_loop_add_read(loop, ends[0], &byte, 1, 0, note, &call), -ESPIPE);
	/* A descriptor that is none is found out later, by both in the same way. */
	close(ends[1]);
	close(ends[0]);
	ok(npurt_loop_add_fd(loop, ends[0], POLLIN, note, &call));
	run(loop, 1);
	assert_int_equal(call.result, -EBADF);
	assert_int_equal(npurt_loop_run(loop, 0), 0);
	npurt_loop_destroy(loop);
	npurt_loop_destroy(NULL);
	assert_int_equal(call.count, 1);
}

static void test_timers(void **state)
{
	struct npurt_loop *loop = loop_make();
	struct call calls[3] = { 0 };
	int64_t start = rig_now(), took;
	int called = 0, i;

	(void)state;
	for (i = 0; i < 3; i++) {
		calls[i].called = &called;
		ok(npurt_loop_add_timer(loop, (3 - i) * 20 * MILLISECOND, note, &calls[i]));
	}
	/* On a machine that stands still for a while several are due at once. */
	while (called < 3) {
		assert_true(npurt_loop_run(loop, LONG) > 0);
		took = rig_now() - start;
		for (i = 0; i < 3; i++)
			assert_true(!calls[i].count || took >= (3 - i) * 20 * MILLISECOND);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(calls[i].count, 1);
	start = rig_now();
	assert_int_equal(npurt_loop_run(loop, 10 * MILLISECOND), 0);
	assert_true(rig_now() - start >= 10 * MILLISECOND);
	npurt_loop_destroy(loop);
}

static void test_futures(void **state)
{
	struct npurt_future *futures[4];
	struct npurt_loop *loop = loop_make();
	struct call calls[4];
	struct rig rig;
	int round, i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 1);
	for (round = 0; round < 25; round++) {
		memset(calls, 0, sizeof(calls));
		for (i = 0; i < 4; i++) {
			ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &futures[i]));
			ok(npurt_loop_add_future(loop, futures[i], i % 2 ? NPURT_FOREVER : LONG,
						 note, &calls[i]));
		}
		/* One that is released meanwhile is still waited for. */
		npurt_future_release(futures[3]);
		run(loop, 4);
		for (i = 0; i < 4; i++) {
			assert_int_equal(calls[i].count, 1);
			assert_int_equal(calls[i].result, 0);
		}
		for (i = 0; i < 3; i++) {
			ok(npurt_future_wait(futures[i], 0));
			npurt_future_release(futures[i]);
		}
	}
	rig_check(&rig, rig.y, 1);
	rig_free(&rig);
	/* The context is gone, the loop lives on. */
	assert_int_equal(npurt_loop_run(loop, 0), 0);
	npurt_loop_destroy(loop);
}

static int host_task(void *data)
{
	*(int *)data += 1;
	return 0;
}

/* One that the device does not know of: of a graph with a host task. */
static void test_host_graph(void **state)
{
	struct npurt_future *future = NULL;
	struct npurt_loop *loop = loop_make();
	struct npurt_graph *graph = NULL;
	struct call call = { 0 };
	struct rig rig;
	int ran = 0;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_graph_create(rig.context, NULL, &graph));
	ok(npurt_graph_add_host(graph, host_task, &ran, NULL));
	ok(npurt_graph_build(graph));
	ok(npurt_graph_submit(graph, NULL, &future));
	ok(npurt_loop_add_future(loop, future, NPURT_FOREVER, note, &call));
	run(loop, 1);
	assert_int_equal(call.result, 0);
	assert_int_equal(ran, 1);
	npurt_future_release(future);
	npurt_graph_destroy(graph);
	npurt_loop_destroy(loop);
	rig_free(&rig);
}

/* One that takes long: its time-out comes first, and then, when it is killed, its end. */
static void test_time_out_and_end(void **state)
{
	struct tiny_options slow = { .kind = TINY_SLOW, .trips = 1u << 20 };
	struct npurt_future *future = NULL;
	struct npurt_loop *loop = loop_make();
	struct call late = { 0 }, end = { 0 };
	int64_t start;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &slow);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	start = rig_now();
	ok(npurt_loop_add_future(loop, future, MILLISECOND, note, &late));
	run(loop, 1);
	assert_int_equal(late.result, -ETIME);
	assert_true(rig_now() - start >= MILLISECOND);
	ok(npurt_loop_add_future(loop, future, NPURT_FOREVER, note, &end));
	assert_int_equal(npurt_loop_run(loop, 0), 0);
	/* A loop that ends does not wait for the task. */
	npurt_loop_destroy(loop);
	assert_int_equal(end.count, 1);
	assert_int_equal(end.result, -ECANCELED);
	npurt_future_release(future);
	rig_free(&rig);
}

/* Of a task that has failed the loop says that it is over. */
static void test_failure(void **state)
{
	struct tiny_options strays = { .kind = TINY_STRAYS };
	struct npurt_future *future = NULL;
	struct npurt_loop *loop = loop_make();
	struct call call = { 0 };
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &strays);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	ok(npurt_loop_add_future(loop, future, NPURT_FOREVER, note, &call));
	run(loop, 1);
	assert_int_equal(call.result, 0);
	assert_int_equal(npurt_future_wait(future, 0), -EFAULT);
	npurt_future_release(future);
	npurt_loop_destroy(loop);
	rig_free(&rig);
}

/* A file goes straight to where the device reads it. */
static void test_read(void **state)
{
	char path[] = "/tmp/npurt-loop-XXXXXX", expected[100];
	struct npurt_loop *loop = loop_make();
	struct call whole = { 0 }, tail = { 0 }, behind = { 0 };
	struct rig rig;
	char rest[8];
	int fd, i;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	for (i = 0; i < 100; i++)
		expected[i] = (char)(i * 7);
	assert_int_equal(write(fd, expected, sizeof(expected)), sizeof(expected));
	rig_make(&rig, NULL, NULL);
	ok(npurt_loop_add_read(loop, fd, npurt_buffer_map(rig.x), 100, 0, note, &whole));
	ok(npurt_loop_add_read(loop, fd, rest, sizeof(rest), 95, note, &tail));
	ok(npurt_loop_add_read(loop, fd, rest, sizeof(rest), 100, note, &behind));
	run(loop, 3);
	assert_int_equal(whole.result, 100);
	assert_memory_equal(npurt_buffer_map(rig.x), expected, 100);
	assert_int_equal(tail.result, 5);
	assert_memory_equal(rest, expected + 95, 5);
	assert_int_equal(behind.result, 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 100);
	close(fd);
	npurt_loop_destroy(loop);
	rig_free(&rig);
}

struct reader {
	struct npurt_loop *loop;
	int fd, left;
};

static void take_byte(void *data, int result)
{
	struct reader *reader = data;
	char byte;

	assert_true(result & POLLIN);
	assert_int_equal(read(reader->fd, &byte, 1), 1);
	/* Nothing may wait here; asking for more may be done. */
	assert_int_equal(npurt_loop_run(reader->loop, 0), -EDEADLK);
	if (--reader->left)
		ok(npurt_loop_add_fd(reader->loop, reader->fd, POLLIN, take_byte, reader));
}

static void test_descriptors(void **state)
{
	struct reader reader = { .loop = loop_make(), .left = 3 };
	struct call writable = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	reader.fd = ends[0];
	ok(npurt_loop_add_fd(reader.loop, ends[0], POLLIN, take_byte, &reader));
	assert_int_equal(npurt_loop_run(reader.loop, 0), 0);
	ok(npurt_loop_add_fd(reader.loop, ends[1], POLLOUT, note, &writable));
	run(reader.loop, 1);
	assert_true(writable.result & POLLOUT);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	run(reader.loop, 3);
	assert_int_equal(reader.left, 0);
	npurt_loop_destroy(reader.loop);
	close(ends[0]);
	close(ends[1]);
}

static void *wake(void *loop)
{
	return (void *)(intptr_t)npurt_loop_wake(loop);
}

static void test_wake(void **state)
{
	struct npurt_loop *loop = loop_make();
	pthread_t thread;
	void *result;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		assert_int_equal(pthread_create(&thread, NULL, wake, loop), 0);
		assert_int_equal(npurt_loop_run(loop, NPURT_FOREVER), 0);
		pthread_join(thread, &result);
		assert_null(result);
	}
	/* Several wake-ups are one; none is left. */
	ok(npurt_loop_wake(loop));
	ok(npurt_loop_wake(loop));
	assert_int_equal(npurt_loop_run(loop, NPURT_FOREVER), 0);
	assert_int_equal(npurt_loop_run(loop, MILLISECOND), 0);
	npurt_loop_destroy(loop);
}

static void add_when_it_ends(void *data, int result)
{
	struct reader *reader = data;

	assert_int_equal(result, -ECANCELED);
	assert_int_equal(npurt_loop_add_timer(reader->loop, 0, note, NULL), -ECANCELED);
	reader->left--;
}

static void test_destroy(void **state)
{
	struct reader reader = { .loop = loop_make(), .left = 2 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	ok(npurt_loop_add_timer(reader.loop, LONG, add_when_it_ends, &reader));
	ok(npurt_loop_add_fd(reader.loop, ends[0], POLLIN, add_when_it_ends, &reader));
	npurt_loop_destroy(reader.loop);
	assert_int_equal(reader.left, 0);
	close(ends[0]);
	close(ends[1]);
}

/* More than the ring of submissions has places. */
static void test_many(void **state)
{
	struct npurt_loop *loop = loop_make();
	static struct call calls[1000];
	int ends[2], i;

	(void)state;
	memset(calls, 0, sizeof(calls));
	assert_int_equal(pipe(ends), 0);
	for (i = 0; i < 1000; i++)
		ok(npurt_loop_add_fd(loop, ends[i % 2], i % 2 ? POLLOUT : POLLIN, note, &calls[i]));
	run(loop, 500);
	assert_int_equal(write(ends[1], "a", 1), 1);
	run(loop, 500);
	for (i = 0; i < 1000; i++)
		assert_int_equal(calls[i].count, 1);
	npurt_loop_destroy(loop);
	close(ends[0]);
	close(ends[1]);
}

static int no_leaks(void **state)
{
	static int fds;
	int64_t end = rig_now() + LONG;

	if (*state) {
		/* A worker may still be letting go of the last context. */
		while (rig_open_fds() != fds && rig_now() < end)
			sched_yield();
		assert_int_equal(rig_open_fds(), fds);
		return 0;
	}
	fds = rig_open_fds();
	*state = &fds;
	return 0;
}

#define leak_checked(test) cmocka_unit_test_setup_teardown(test, no_leaks, no_leaks)

static int run_all(const char *name)
{
	const struct CMUnitTest tests[] = {
		leak_checked(test_arguments),
		leak_checked(test_timers),
		leak_checked(test_futures),
		leak_checked(test_host_graph),
		leak_checked(test_time_out_and_end),
		leak_checked(test_failure),
		leak_checked(test_read),
		leak_checked(test_descriptors),
		leak_checked(test_wake),
		leak_checked(test_destroy),
		leak_checked(test_many),
	};

	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

/* As a container does: io_uring_setup() returns EPERM. */
static int refuse_uring(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 4, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void test_refused(void **state)
{
	const struct npurt_loop_options uring = { .size = sizeof(uring), .kind = NPURT_LOOP_URING };
	struct npurt_loop *loop = NULL;

	(void)state;
	assert_int_equal(npurt_loop_create(&uring, &loop), -EPERM);
	assert_says("io_uring is refused");
	ok(npurt_loop_create(NULL, &loop));
	assert_int_equal(npurt_loop_get_kind(loop), NPURT_LOOP_POLL);
	npurt_loop_destroy(loop);
}

/* Asked of the kernel, so that a library without io_uring does not pass for a kernel without it. */
static bool kernel_has_uring(void)
{
	struct io_uring_params params = { 0 };
	long fd = syscall(__NR_io_uring_setup, 1, &params);

	if (fd < 0)
		return false;
	close((int)fd);
	return true;
}

int main(void)
{
	const struct CMUnitTest refused[] = { cmocka_unit_test(test_refused) };
	int failed;

	kind = NPURT_LOOP_POLL;
	failed = run_all("poll");
	if (!kernel_has_uring()) {
		fprintf(stderr, "no loops by io_uring here: %s\n", strerror(errno));
		return failed;
	}
	kind = NPURT_LOOP_URING;
	failed += run_all("io_uring");
	if (refuse_uring()) {
		perror("seccomp");
		return failed + 1;
	}
	failed += cmocka_run_group_tests_name("refused", refused, NULL, NULL);
	kind = 0;
	return failed + run_all("instead of io_uring");
}
