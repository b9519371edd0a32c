// SPDX-License-Identifier: MIT
/* Ends of tasks as completions of io_uring's; where there are none, the call says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "uring.h"

#define ok(call)                                                       \
	do {                                                           \
		if ((call) != 0)                                       \
			fail_msg("%s: %s", #call, npurt_last_error()); \
	} while (0)

#define MILLISECOND 1000000ll

static struct npurt_future *submit(struct rig *rig)
{
	struct npurt_future *future = NULL;

	ok(npurt_run_submit(rig->model, rig->bindings, 2, NULL, &future));
	return future;
}

static void submit_wait(struct uring *ring, struct npurt_future *future, int64_t timeout_ns,
			uint64_t user_data)
{
	struct io_uring_sqe *sqe = uring_sqe(ring);

	sqe->user_data = user_data;
	ok(npurt_future_prepare_uring(future, sqe, timeout_ns));
	assert_int_equal(sqe->user_data, user_data);
	uring_push(ring);
	assert_int_equal(uring_enter(ring, 0), 0);
}

static void test_arguments(void **state)
{
	struct npurt_future *future;
	struct io_uring_sqe sqe;
	struct rig rig;

	(void)state;
	memset(&sqe, 0, sizeof(sqe));
	rig_make(&rig, NULL, NULL);
	future = submit(&rig);
	assert_int_equal(npurt_future_prepare_uring(NULL, &sqe, NPURT_FOREVER), -EINVAL);
	assert_int_equal(npurt_future_prepare_uring(future, NULL, NPURT_FOREVER), -EINVAL);
	assert_int_equal(npurt_future_prepare_uring(future, &sqe, 4294967295001ll), -EINVAL);
	if (rig_is_sim()) {
		assert_int_equal(npurt_future_prepare_uring(future, &sqe, 0), -EOPNOTSUPP);
		assert_non_null(strstr(npurt_last_error(), "npurt_context_get_fd()"));
	}
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	rig_free(&rig);
}

static void test_completes(void **state)
{
	struct npurt_future *futures[4];
	struct uring_result cqe;
	struct uring ring;
	struct rig rig;
	uint64_t i, round;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 1);
	assert_int_equal(uring_open(&ring, 16, 0), 0);
	for (round = 0; round < 25; round++) {
		for (i = 0; i < 4; i++) {
			futures[i] = submit(&rig);
			submit_wait(&ring, futures[i], i % 2 ? NPURT_FOREVER : 20000 * MILLISECOND,
				    i);
		}
		for (i = 0; i < 4; i++) {
			cqe = uring_next(&ring);
			assert_true(cqe.user_data < 4);
			assert_int_equal(cqe.res, 0);
			ok(npurt_future_wait(futures[cqe.user_data], 0));
			npurt_future_release(futures[cqe.user_data]);
			futures[cqe.user_data] = NULL;
		}
	}
	rig_check(&rig, rig.y, 1);
	uring_close(&ring);
	rig_free(&rig);
}

/* One that runs for long: the time-out comes first, then its end; one that is killed tells, too. */
static void test_time_out_and_end(void **state)
{
	struct tiny_options slow = { .kind = TINY_SLOW, .trips = 1u << 20 };
	struct npurt_future *future;
	struct uring_result cqe;
	struct uring ring;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &slow);
	assert_int_equal(uring_open(&ring, 16, 0), 0);
	future = submit(&rig);
	submit_wait(&ring, future, 1, 1);
	submit_wait(&ring, future, NPURT_FOREVER, 2);
	cqe = uring_next(&ring);
	assert_int_equal(cqe.user_data, 1);
	assert_int_equal(cqe.res, -ETIME);
	npurt_future_release(future);
	rig_free(&rig);
	cqe = uring_next(&ring);
	assert_int_equal(cqe.user_data, 2);
	assert_true(cqe.res == -EIO || cqe.res == 0);
	uring_close(&ring);
}

int main(void)
{
	const struct CMUnitTest everywhere[] = {
		cmocka_unit_test(test_arguments),
	};
	const struct CMUnitTest behind_the_driver[] = {
		cmocka_unit_test(test_completes),
		cmocka_unit_test(test_time_out_and_end),
	};
	int failed = cmocka_run_group_tests(everywhere, NULL, NULL);

	if (!rig_is_sim())
		failed += cmocka_run_group_tests(behind_the_driver, NULL, NULL);
	return failed;
}
