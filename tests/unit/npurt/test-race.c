// SPDX-License-Identifier: MIT
/*
 * What another thread may do at the worst moment, done there: linked with a pthread_mutex_unlock() of
 * its own, which retires what is complete right after a certain unlocking of a graph, or lets others
 * find a lock held for long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "graph.h"
#include "rig.h"

#define HOLD_NS 20000000
#define FORKS 20
/* Of a child that does not hang, on a busy machine. */
#define PATIENCE_S 60

static _Thread_local struct npurt_graph *watched;
static _Thread_local int unlocks_left;
static int interventions;
static _Thread_local bool holds_long;

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	struct npurt_queue *queue;
	int ret;

	if (holds_long)
		nanosleep(&(struct timespec){ .tv_nsec = HOLD_NS }, NULL);
	ret = __real_pthread_mutex_unlock(lock);
	if (!watched || lock != &watched->lock || --unlocks_left)
		return ret;
	queue = &watched->context->queue;
	/* This thread is retiring already. */
	if (pthread_mutex_trylock(&queue->retire_lock))
		return ret;
	__real_pthread_mutex_unlock(&queue->retire_lock);
	interventions++;
	npurt_queue_wait(queue, npurt_ring_written(&queue->ring), INT64_MAX);
	npurt_queue_retire(queue);
	return ret;
}

/*
 * A graph that is in flight is submitted again, and ends while the submitter is anywhere on its way to
 * sleep: it must not sleep for an end that has been.
 */
static void test_end_before_sleep(void **state)
{
	const struct npurt_replay_options options = {
		.size = sizeof(options),
		.policy = NPURT_POLICY_TIMEOUT,
		.timeout_ns = 5000000000,
	};
	const struct tiny_options slow = { .kind = TINY_SLOW, .trips = 3000 };
	struct npurt_graph *graph;
	struct rig rig;
	int moment;

	(void)state;
	rig_make(&rig, NULL, &slow);
	ok(npurt_graph_create(rig.context, NULL, &graph));
	ok(npurt_graph_add_run(graph, rig.model, rig.bindings, 2, 0, NULL));
	ok(npurt_graph_build(graph));
	for (moment = 1; moment < 10; moment++) {
		ok(npurt_graph_submit(graph, NULL, NULL));
		unlocks_left = moment;
		watched = graph;
		ok(npurt_graph_submit(graph, &options, NULL));
		watched = NULL;
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	}
	assert_true(interventions > 0);
	npurt_graph_destroy(graph);
	rig_free(&rig);
}

/* Opens and closes devices of its own all the time, and is slow to let go of locks. */
static void *open_and_close(void *opaque)
{
	const uint32_t *stop = opaque;

	holds_long = true;
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
		npurt_close(rig_open(NULL));
	return NULL;
}

/* A child that is born while another thread opens a device can open one itself, and exit. */
static void test_fork_beside_open(void **state)
{
	uint32_t stop = 0;
	pthread_t thread;
	int i, status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, open_and_close, &stop), 0);
	for (i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct npurt_device *device;

			alarm(PATIENCE_S);
			exit(npurt_open("sim:npu-v3?memory=64", &device) ? 3 : 0);
		}
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER true
#elif defined(__has_feature)
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define ADDRESS_SANITIZER false
#endif

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_end_before_sleep),
		cmocka_unit_test(test_fork_beside_open),
	};
	const struct CMUnitTest without_forks[] = {
		cmocka_unit_test(test_end_before_sleep),
	};

	/*
	 * A child that is born while the other thread is in the sanitizer's allocator finds that locked
	 * for ever, with older compilers, and the leak checker asks it for what that thread allocated.
	 */
	if (ADDRESS_SANITIZER)
		return cmocka_run_group_tests_name("without forks", without_forks, NULL, NULL);
	return cmocka_run_group_tests(all, NULL, NULL);
}
