// SPDX-License-Identifier: MIT
/* A queue that the device stops: everybody is told, and the next context is well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "rig.h"

#define TASKS 3

/* What a program could do to its own ring: spoil the packet behind the running task's. */
static void spoil_packet(struct npurt_context *context, uint64_t index)
{
	unsigned char *packet = npurt_ring_packet(&context->queue.ring, index);

	memset(packet + offsetof(struct npu_packet_exec, budget), 0, 4);
	packet[offsetof(struct npu_packet_exec, reserved0)] = 1;
}

static void *wait_for(void *argument)
{
	return (void *)(intptr_t)npurt_future_wait(argument, NPURT_FOREVER);
}

static void stop_queue(uint32_t flags)
{
	struct npurt_context_options options = { .size = sizeof(options), .queue_depth = TASKS,
						 .flags = flags };
	struct npurt_context_status status = { .size = sizeof(status) };
	struct tiny_options tiny = { .kind = TINY_SLOW, .trips = 300000 };
	struct npurt_future *futures[TASKS];
	struct npurt_context *other;
	pthread_t thread;
	struct rig rig;
	void *result;
	int i;

	rig_make(&rig, &options, &tiny);
	rig_fill(&rig, rig.x, rig.y, 0);
	for (i = 0; i < TASKS; i++)
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &futures[i]));
	spoil_packet(rig.context, 1);
	/* One sleeps on the last, which will never run; one asks for room that never comes. */
	assert_int_equal(pthread_create(&thread, NULL, wait_for, futures[2]), 0);
	i = npurt_run_submit(rig.model, rig.bindings, 2, NULL, NULL);
	assert_true(i == 0 || i == -EIO);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -EIO);
	ok(npurt_future_wait(futures[0], 0));
	rig_check(&rig, rig.y, 0);
	i = npurt_future_wait(futures[1], 0);
	assert_true(i == -EBADMSG || i == -EIO);
	assert_says("malformed packet");
	assert_int_equal(npurt_future_wait(futures[2], 0), -EIO);
	assert_says("task 3 of model 'tiny'");
	assert_says("stopped the queue at packet 1");
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, NULL, NULL), -EIO);
	assert_says("stopped the queue at packet 1");
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.error, -EIO);
	assert_int_equal(status.in_flight, 0);
	ok(npurt_context_create(rig.device, NULL, &other));
	npurt_context_destroy(other);
	for (i = 0; i < TASKS; i++)
		npurt_future_release(futures[i]);
	rig_free(&rig);
}

static void test_spinning(void **state)
{
	(void)state;
	stop_queue(0);
}

static void test_sleeping(void **state)
{
	(void)state;
	stop_queue(NPURT_CONTEXT_NO_SPIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spinning),
		cmocka_unit_test(test_sleeping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
