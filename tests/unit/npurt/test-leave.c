// SPDX-License-Identifier: MIT
/* What is let go of stays for as long as tasks in flight use it, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "objects.h"

#define THREADS 4
#define TASKS 20000

/* A queue of which nothing but its indices is there. */
struct rig {
	struct npurt_queue queue;
	struct npu_ring_control control;
	struct npurt_backend_queue backend;
};

struct thing {
	struct npurt_leaver leaver;
	unsigned int releases;
};

static void release(struct npurt_leaver *leaver)
{
	((struct thing *)leaver)->releases++;
}

static void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	pthread_mutex_init(&rig->queue.leavers.lock, NULL);
	rig->queue.backend = &rig->backend;
	rig->queue.ring.control = &rig->control;
}

static void go_to(struct rig *rig, uint64_t written, uint64_t retired)
{
	rig->control.write_index = htole64(written);
	rig->queue.retired = retired;
	npurt_release_left(&rig->queue);
}

static void test_unused(void **state)
{
	struct thing never = { .leaver.release = release }, before = never, nowhere = never;
	struct rig rig;

	(void)state;
	rig_init(&rig);
	go_to(&rig, 100, 40);
	npurt_leave(&rig.queue, &never.leaver);
	assert_int_equal(never.releases, 1);
	/* Whatever a use was rounded up to, it is over. */
	npurt_used_until(&before.leaver, 17);
	npurt_leave(&rig.queue, &before.leaver);
	assert_int_equal(before.releases, 1);
	/* A queue that is gone has nothing in flight. */
	npurt_used_until(&nowhere.leaver, 90);
	rig.queue.backend = NULL;
	npurt_leave(&rig.queue, &nowhere.leaver);
	assert_int_equal(nowhere.releases, 1);
}

static void test_used(void **state)
{
	uint64_t until;

	(void)state;
	for (until = 1; until < 3 * NPURT_LEAVE_STEP; until++) {
		struct thing thing = { .leaver.release = release };
		struct rig rig;

		/* It was the last one: nothing will be submitted that would let it go. */
		rig_init(&rig);
		npurt_used_until(&thing.leaver, until);
		go_to(&rig, until, 0);
		npurt_leave(&rig.queue, &thing.leaver);
		go_to(&rig, until, until - 1);
		assert_int_equal(thing.releases, 0);
		go_to(&rig, until, until);
		assert_int_equal(thing.releases, 1);
	}
}

/* What others submit later does not keep it. */
static void test_step(void **state)
{
	const uint64_t until = 2 * NPURT_LEAVE_STEP + 1, last = 3 * NPURT_LEAVE_STEP;
	struct thing thing = { .leaver.release = release };
	struct rig rig;

	(void)state;
	rig_init(&rig);
	npurt_used_until(&thing.leaver, until);
	go_to(&rig, 1000, until - 1);
	npurt_leave(&rig.queue, &thing.leaver);
	assert_int_equal(thing.releases, 0);
	go_to(&rig, 1000, last);
	assert_int_equal(thing.releases, 1);
}

/* An older use does not take back a newer one. */
static void test_order(void **state)
{
	struct thing thing = { .leaver.release = release };
	struct rig rig;

	(void)state;
	rig_init(&rig);
	npurt_used_until(&thing.leaver, 70);
	npurt_used_until(&thing.leaver, 3);
	go_to(&rig, 70, 69);
	npurt_leave(&rig.queue, &thing.leaver);
	assert_int_equal(thing.releases, 0);
	go_to(&rig, 70, 70);
	assert_int_equal(thing.releases, 1);
}

struct user {
	struct npurt_leaver *leaver;
	uint64_t first;
};

static void *use(void *argument)
{
	const struct user *user = argument;
	uint64_t i;

	for (i = user->first; i <= TASKS; i += THREADS)
		npurt_used_until(user->leaver, i);
	return NULL;
}

static void test_threads(void **state)
{
	struct thing thing = { .leaver.release = release };
	pthread_t threads[THREADS];
	struct user users[THREADS];
	struct rig rig;
	uint64_t i;

	(void)state;
	rig_init(&rig);
	for (i = 0; i < THREADS; i++) {
		users[i] = (struct user){ &thing.leaver, i + 1 };
		assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	go_to(&rig, TASKS, TASKS - 1);
	npurt_leave(&rig.queue, &thing.leaver);
	assert_int_equal(thing.releases, 0);
	go_to(&rig, TASKS, TASKS);
	assert_int_equal(thing.releases, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unused),	cmocka_unit_test(test_used),
		cmocka_unit_test(test_step),	cmocka_unit_test(test_order),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
