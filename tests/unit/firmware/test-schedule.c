// SPDX-License-Identifier: MIT
/*
 * Slots and grants: who gets them, who gives them up, and how long that takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"
#include "policy.h"

#define MICROSECOND	1000u	/* cycles of mock_large */

/*
 * Upper limits of what the manual gives as measured, in cycles. They leave room for another
 * version of the compiler and for nothing else.
 */
#define ATTACH_LIMIT	350
#define GRANT_LIMIT	700

static const char *image_path;
static struct mock *mock;

static int boot(void **state)
{
	(void)state;
	mock = mock_create(&mock_large, image_path);
	assert_int_equal(mock_context(mock, 0), NPU_ERROR_NONE);
	return 0;
}

static int boot_small(void **state)
{
	(void)state;
	mock = mock_create(&mock_small, image_path);
	assert_int_equal(mock_context(mock, 0), NPU_ERROR_NONE);
	return 0;
}

static int halt(void **state)
{
	(void)state;
	mock_destroy(mock);
	mock = NULL;
	return 0;
}

static struct mock_task exec(uint32_t clusters, uint32_t bytes, uint64_t cycles)
{
	return (struct mock_task){ .kind = MOCK_EXEC, .clusters = clusters, .bytes = bytes,
				   .cycles = cycles, .semaphore = ~0u };
}

static struct mock_task wait_for(uint32_t semaphore, uint64_t value)
{
	return (struct mock_task){ .kind = MOCK_WAIT, .semaphore = semaphore, .value = value };
}

static void create(unsigned int queue, unsigned int priority)
{
	assert_int_equal(mock_queue(mock, queue, 0, priority), NPU_ERROR_NONE);
}

static void submit(unsigned int queue, struct mock_task task)
{
	mock_push(mock, queue, task);
	mock_ring(mock, queue);
}

static unsigned int running(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < mock->config.slots; i++)
		count += mock->slot[i].state == NPU_SLOT_STATE_RUNNING;
	return count;
}

static int slot_of(unsigned int queue)
{
	for (unsigned int i = 0; i < mock->config.slots; i++) {
		if (mock->slot[i].state != NPU_SLOT_STATE_FREE && mock->slot[i].queue == queue)
			return (int)i;
	}
	return -1;
}

/* The path of a task on an idle device, with its costs; then the one without firmware. */
static void test_first_task(void **state)
{
	const struct mock_slot *slot = &mock->slot[0];
	uint64_t attach;
	uint64_t grant;
	uint64_t retired;
	uint64_t started;

	(void)state;
	create(5, 0);
	mock_settle(mock, 100000);
	retired = mock->core->retired;
	submit(5, exec(2, 100000, 5000));
	mock_run(mock, 3000);
	assert_int_equal(slot->state, NPU_SLOT_STATE_RUNNING);
	assert_int_equal(slot->clusters, 3);
	assert_int_equal(slot->window, 0);
	assert_true(slot->window_bytes >= 100000);
	attach = mock->queue[5].longest_wait;
	grant = slot->granted - slot->requested;
	print_message("    doorbell to attach %llu cycles, request to grant %llu cycles, "
		      "%llu instructions in all\n", (unsigned long long)attach,
		      (unsigned long long)grant,
		      (unsigned long long)(mock->core->retired - retired));
	assert_in_range(attach, 1, ATTACH_LIMIT);
	assert_in_range(grant, 1, GRANT_LIMIT);
	mock_settle(mock, 100000);
	assert_int_equal(mock->queue[5].done, 1);

	/* It is alone, so slot and grant stay, and the next doorbell goes to the hardware. */
	assert_int_equal(slot->state, NPU_SLOT_STATE_EMPTY);
	started = mock_now(mock);
	submit(5, exec(1, 4096, 700));
	submit(5, exec(2, 100000, 700));
	mock_settle(mock, 100000);
	assert_int_equal(mock->queue[5].done, 3);
	assert_int_equal(mock->queue[5].attaches, 1);
	assert_true(slot->granted < started);
}

/* A model's programs with different needs: after one round nothing is asked for any more. */
static void test_grant_grows(void **state)
{
	uint64_t round;

	(void)state;
	create(0, 0);
	for (unsigned int i = 0; i < 2; i++) {
		round = mock_now(mock);
		submit(0, exec(1, 3 << 20, 700));
		submit(0, exec(4, 1 << 20, 700));
		submit(0, exec(2, 64, 700));
		mock_settle(mock, 100000);
	}
	assert_int_equal(mock->queue[0].done, 6);
	assert_true(mock->slot[0].granted < round);
	assert_int_equal(mock->slot[0].clusters, 15);
	assert_true(mock->slot[0].window_bytes >= 3 << 20);
}

static void test_side_by_side(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		create(i, 0);
		submit(i, exec(i < 2 ? 1 : 2, 1 << 20, 100000));
	}
	mock_run(mock, 10000);
	/* One and one and two clusters; mock-slot.c checks that nothing is shared. */
	assert_int_equal(running(), 3);
	mock_settle(mock, 1000000);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(mock->queue[i].done, 1);
}

static void test_window_is_short(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		create(i, 0);
		submit(i, exec(1, 3 << 20, 100000));
	}
	mock_run(mock, 10000);
	assert_int_equal(running(), 1);
	mock_settle(mock, 1000000);
	assert_int_equal(mock->queue[0].done + mock->queue[1].done, 2);
}

static void check_refused(unsigned int queue, struct mock_task task)
{
	uint32_t reports = mock->reports;
	struct npu_message message = { .kind = NPU_MESSAGE_PING };

	create(queue, 15);
	submit(queue, task);
	mock_run(mock, 20000);
	assert_int_equal(mock->queue[queue].rejected, 1);
	assert_int_equal(mock->queue[queue].done, 0);
	assert_int_equal(mock_call(mock, &message), NPU_ERROR_NONE);
	assert_int_equal(mock->reports, reports + 1);
	assert_int_equal(mock->report.argument[0], queue);
	assert_int_equal(mock->report.argument[2], NPU_ERROR_NO_RESOURCES);
	assert_false(mock_queue_in_slot(mock, queue));
}

static void test_impossible_needs(void **state)
{
	(void)state;
	/* Somebody is there already, so that it is not the lack of room that decides. */
	create(0, 15);
	submit(0, exec(4, 4 << 20, 100000000));
	mock_run(mock, 10000);
	check_refused(1, exec(5, 0, 1));
	check_refused(2, exec(0, 64, 1));
	check_refused(3, exec(1, (4 << 20) + 1, 1));
	check_refused(4, exec(~0u, ~0u, 1));
	assert_int_equal(mock->queue[0].done, 0);
}

static void test_idle_grant_is_revoked(void **state)
{
	(void)state;
	create(0, 15);
	create(1, 0);
	submit(0, exec(4, 4 << 20, 1000));
	mock_settle(mock, 100000);
	assert_int_equal(mock->slot[0].clusters, 15);
	submit(1, exec(1, 64, 1000));
	mock_settle(mock, 100000);
	assert_int_equal(mock->queue[1].done, 1);
	assert_int_equal(mock->slot[0].clusters, 0);
	/* At once, not after ageing. */
	assert_true(mock->slot[1].granted - mock->slot[1].requested < 3 * GRANT_LIMIT);
}

/* Of an idle queue of high priority and a busy one of low, the idle one gives. */
static void test_idle_goes_before_busy(void **state)
{
	(void)state;
	create(0, 15);
	create(1, 0);
	create(2, 15);
	submit(1, exec(2, 64, 1000000));
	mock_run(mock, 5000);
	submit(0, exec(2, 64, 1000));
	mock_run(mock, 5000);
	assert_int_equal(mock->queue[0].done, 1);
	assert_int_equal(mock->slot[slot_of(0)].state, NPU_SLOT_STATE_EMPTY);
	submit(2, exec(2, 64, 1000));
	mock_run(mock, 5000);
	assert_int_equal(mock->queue[2].done, 1);
	assert_int_equal(mock->slot[slot_of(1)].written_grant, mock->slot[slot_of(1)].clusters);
}

static void test_running_task_is_not_robbed(void **state)
{
	uint64_t asked;

	(void)state;
	create(0, 5);
	create(1, 5);
	submit(0, exec(4, 64, 50000));
	mock_push(mock, 0, exec(4, 64, 50000));
	mock_run(mock, 5000);
	submit(1, exec(1, 64, 1000));
	asked = mock_now(mock);
	mock_run(mock, 20000);
	/* Revoked, yet in force until the task's end. */
	assert_int_equal(mock->slot[0].state, NPU_SLOT_STATE_RUNNING);
	assert_int_equal(mock->slot[0].clusters, 15);
	assert_int_equal(mock->slot[1].state, NPU_SLOT_STATE_REQUEST);
	mock_settle(mock, 1000000);
	/* The other's second task did not go before it. */
	assert_true(mock->queue[1].first_done < asked + 60000);
	assert_int_equal(mock->queue[0].done, 2);
}

/* One queue wants all clusters; others keep each of them busy with small tasks. */
static void test_large_is_not_starved(void **state)
{
	uint64_t asked;

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		create(i, 7);
		for (unsigned int j = 0; j < 60; j++)
			mock_push(mock, i, exec(1, 64, 10000));
		mock_ring(mock, i);
	}
	mock_run(mock, 50000);
	create(6, 7);
	submit(6, exec(4, 4 << 20, 10000));
	asked = mock_now(mock);
	mock_settle(mock, 10000000);
	assert_int_equal(mock->queue[6].done, 1);
	/*
	 * Two requests before it wait for a task each, one after the other; then the tasks on
	 * the clusters end, and its own takes as long.
	 */
	assert_true(mock->queue[6].first_done - asked < 5 * 10000);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(mock->queue[i].done, 60);
}

/* Low priority against a high one that always has work and never yields its clusters. */
static void test_grant_ages(void **state)
{
	const uint64_t bound = 15 * POLICY_AGEING * MICROSECOND;
	uint64_t asked;
	uint64_t waited;

	(void)state;
	create(0, 15);
	create(1, 0);
	for (unsigned int i = 0; i < MOCK_TASKS; i++)
		mock_push(mock, 0, exec(4, 64, 40 * MICROSECOND));
	mock_ring(mock, 0);
	mock_run(mock, 5000);
	submit(1, exec(1, 64, 1000));
	asked = mock_now(mock);
	mock_settle(mock, 10000000);
	waited = mock->queue[1].first_done - asked;
	assert_true(waited >= bound);
	assert_true(waited <= bound + (POLICY_TICK + 2 * 40) * MICROSECOND + 1000);
	assert_int_equal(mock->queue[0].done, MOCK_TASKS);
}

static void test_more_queues_than_slots(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MOCK_QUEUES; i++)
		create(i, i % 16);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < MOCK_QUEUES; i++) {
			mock_push(mock, i, exec(1 + i % 4, i * 60000, 500 + 37 * i));
			mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY, .cycles = 300,
							       .semaphore = ~0u });
			mock_ring(mock, i);
		}
		mock_settle(mock, 20000000);
		for (unsigned int i = 0; i < MOCK_QUEUES; i++)
			assert_int_equal(mock->queue[i].done, 2 * (round + 1));
	}
}

/* Queues that never run dry share the slots; the last attach is never long ago. */
static void test_slices(void **state)
{
	uint32_t least = ~0u;
	uint32_t most = 0;

	(void)state;
	for (unsigned int i = 0; i < 24; i++)
		create(i, 3);
	for (unsigned int turn = 0; turn < 300; turn++) {
		for (unsigned int i = 0; i < 24; i++) {
			struct mock_queue *queue = &mock->queue[i];

			for (unsigned int j = queue->pushed - queue->finished; j < 8; j++)
				mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY,
								       .cycles = 9000,
								       .semaphore = ~0u });
			mock_ring(mock, i);
		}
		mock_run(mock, 20 * MICROSECOND);
	}
	for (unsigned int i = 0; i < 24; i++) {
		const struct mock_queue *queue = &mock->queue[i];

		if (queue->attaches < least)
			least = queue->attaches;
		if (queue->attaches > most)
			most = queue->attaches;
		/* Two rounds of those before it, with their last task and the tick. */
		assert_true(queue->longest_wait <
			    2 * (POLICY_SLICE + POLICY_TICK + 9 + 5) * MICROSECOND);
	}
	assert_true(least >= 12);
	assert_true(most - least <= 1);
}

static void keep_busy(unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		struct mock_queue *queue = &mock->queue[i];

		for (unsigned int j = queue->pushed - queue->finished; j < 8; j++)
			mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY, .cycles = 9000,
							       .semaphore = ~0u });
		mock_ring(mock, i);
	}
}

static void test_slot_priority(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 17; i++)
		create(i, i < 16 ? 2 : 9);
	keep_busy(0, 16);
	mock_run(mock, 150 * MICROSECOND);
	submit(16, exec(1, 64, 1000));
	mock_run(mock, 30 * MICROSECOND);
	/* It waited for the end of a task and not for a slice. */
	assert_int_equal(mock->queue[16].done, 1);
	assert_true(mock->queue[16].longest_wait <= 9000 + 1000);
}

static void test_low_priority_is_not_starved(void **state)
{
	const uint64_t bound = 15 * POLICY_AGEING * MICROSECOND;

	(void)state;
	for (unsigned int i = 0; i < 17; i++)
		create(i, i < 16 ? 15 : 0);
	keep_busy(0, 16);
	mock_run(mock, 50 * MICROSECOND);
	submit(16, exec(1, 64, 1000));
	for (unsigned int turn = 0; turn < 200 && !mock->queue[16].done; turn++) {
		keep_busy(0, 16);
		mock_run(mock, 20 * MICROSECOND);
	}
	assert_int_equal(mock->queue[16].done, 1);
	assert_true(mock->queue[16].longest_wait >= bound / 2);
	assert_true(mock->queue[16].longest_wait <=
		    bound + 3 * (POLICY_SLICE + POLICY_TICK + 9) * MICROSECOND);
}

/* The same when it needs clusters, too, which the others never leave alone. */
static void test_aged_queue_is_served(void **state)
{
	const uint64_t bound = 15 * POLICY_AGEING * MICROSECOND;
	uint64_t asked;

	(void)state;
	for (unsigned int i = 0; i < 17; i++) {
		create(i, i < 16 ? 15 : 0);
		for (unsigned int j = 0; j < 40 && i < 16; j++)
			mock_push(mock, i, exec(4, 64, 30 * MICROSECOND));
		if (i < 16)
			mock_ring(mock, i);
	}
	mock_run(mock, 50 * MICROSECOND);
	submit(16, exec(1, 64, 1000));
	asked = mock_now(mock);
	mock_settle(mock, 100000000);
	assert_int_equal(mock->queue[16].done, 1);
	/* Everybody who is there when it has aged has one task before it, at most. */
	assert_true(mock->queue[16].first_done - asked >= bound);
	assert_true(mock->queue[16].first_done - asked <=
		    bound + (16 * 30 + 2 * POLICY_TICK + 20) * MICROSECOND);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(mock->queue[i].done, 40);
}

/* Where tasks are long, the alarm has a change prepared when one ends. */
static void test_alarm_is_early(void **state)
{
	const uint64_t task = 400 * MICROSECOND;
	uint64_t asked;

	(void)state;
	for (unsigned int i = 0; i < 9; i++) {
		create(i, 7);
		for (unsigned int j = 0; j < 4; j++)
			mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY, .cycles = task,
							       .semaphore = ~0u });
		mock_ring(mock, i);
	}
	mock_settle(mock, 100 * task);
	for (unsigned int i = 0; i < 9; i++) {
		assert_int_equal(mock->queue[i].done, 4);
		assert_true(mock->queue[i].longest_wait < task + 20 * MICROSECOND);
	}

	/* As for slots, so for clusters: 15 levels have aged during the fourth task. */
	create(10, 15);
	create(11, 0);
	for (unsigned int j = 0; j < 8; j++)
		mock_push(mock, 10, exec(4, 64, task));
	mock_ring(mock, 10);
	mock_run(mock, 5 * MICROSECOND);
	submit(11, exec(1, 64, 1000));
	asked = mock_now(mock);
	mock_settle(mock, 100 * task);
	assert_true(mock->queue[11].first_done - asked < 4 * task + 20 * MICROSECOND);
}

/* For one queue that waits, one slot is emptied and not more, however long that takes. */
static void test_one_slot_is_enough(void **state)
{
	unsigned int attaches = 0;

	(void)state;
	for (unsigned int i = 0; i < 9; i++)
		create(i, i < 8 ? 0 : 15);
	for (unsigned int i = 0; i < 8; i++) {
		for (unsigned int j = 0; j < 20; j++)
			mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY,
							       .cycles = i ? 3000 : 15000,
							       .semaphore = ~0u });
		mock_ring(mock, i);
	}
	mock_run(mock, 2000);
	submit(8, exec(1, 64, 1000));
	mock_run(mock, 60 * MICROSECOND);
	for (unsigned int i = 0; i < 9; i++)
		attaches += mock->queue[i].attaches;
	/* Each once, and the one that made room once more. */
	assert_int_equal(attaches, 10);
	mock_settle(mock, 10000000);
}

/* Queues that wait for a queue that has no slot give theirs up for it. */
static void test_waiting_gives_up_slot(void **state)
{
	struct mock_task signal = exec(1, 64, 1000);

	(void)state;
	signal.semaphore = 1;
	for (unsigned int i = 0; i < 16; i++) {
		create(i, i < 15 ? 15 : 0);
		if (i < 15) {
			mock_push(mock, i, wait_for(1, 1));
			submit(i, exec(1, 64, 1000));
		}
	}
	mock_settle(mock, 1000000);
	/* They sleep, all of them, also those without a slot. */
	assert_true(mock_quiet(mock));
	for (unsigned int i = 0; i < 15; i++)
		assert_int_equal(mock->queue[i].done, 0);
	submit(15, signal);
	mock_settle(mock, 1000000);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(mock->queue[i].done, i < 15 ? 2 : 1);
}

/* Each waits for the one after it; there are fewer slots than that. */
static void test_chain_of_waits(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		struct mock_task task = exec(1, 64, 500);

		create(i, 11 - i);
		task.semaphore = 2;
		mock_push(mock, i, wait_for(2, 11 - i));
		submit(i, task);
	}
	mock_settle(mock, 10000000);
	for (unsigned int i = 0; i < 12; i++)
		assert_int_equal(mock->queue[i].done, 2);
}

static void test_doorbell_meets_detach(void **state)
{
	unsigned int moved = 0;

	(void)state;
	/* One more queue than slots, and doorbells at every distance from each other. */
	for (unsigned int i = 0; i < 9; i++)
		create(i, 4);
	for (unsigned int distance = 0; distance < 700; distance++) {
		unsigned int other = 1 + distance % 8;

		submit(0, exec(1, 64, 50));
		mock_run(mock, distance);
		submit(other, exec(1, 64, 50));
		mock_run(mock, distance / 3);
		submit(0, exec(1, 64, 50));
		mock_settle(mock, 1000000);
		assert_int_equal(mock->queue[0].done, 2 * (distance + 1));
		assert_int_equal(mock->queue[other].pushed, mock->queue[other].done);
	}
	for (unsigned int i = 0; i < 9; i++)
		moved += mock->queue[i].attaches;
	assert_true(moved > 100);
}

/*
 * A queue is displaced, and rung again by the hardware, at every distance from another doorbell:
 * also between two reads of the firmware.
 */
static void test_doorbell_meets_end(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		create(i, i < 8 ? 3 : 9);
	for (uint64_t distance = 0; distance < 400; distance++) {
		int leaving = -1;

		for (unsigned int i = 0; i < 8; i++) {
			for (unsigned int j = 0; j < 2; j++)
				mock_push(mock, i, (struct mock_task){ .kind = MOCK_COPY,
								       .cycles = 9000 + 500 * i,
								       .semaphore = ~0u });
			mock_ring(mock, i);
		}
		mock_run(mock, 5000);
		submit(8, exec(1, 64, 50));
		mock_run(mock, 2000);
		for (int i = 0; i < 8; i++) {
			if (mock->slot[i].detach)
				leaving = i;
		}
		assert_true(leaving >= 0);
		mock_run(mock, mock->slot[leaving].until - mock_now(mock) - distance);
		submit(9, exec(1, 64, 50));
		mock_settle(mock, 1000000);
		for (unsigned int i = 0; i < 10; i++)
			assert_int_equal(mock->queue[i].done, mock->queue[i].pushed);
	}
}

/*
 * A queue gets its slot by CORE_NEXT at every distance from a message that destroys it, while
 * another one is named after it and gets a slot at once: the firmware has to see first where it is.
 */
static void test_destroy_meets_switch(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		create(i, i < 8 ? 3 : i < 9 ? 9 : 12);
	for (uint64_t distance = 0; distance < 700; distance++) {
		const struct npu_message destroy = {
			.kind = NPU_MESSAGE_QUEUE_DESTROY, .sequence = 7, .argument = { 8 },
		};
		struct npu_message reply;
		int leaving = -1;

		for (unsigned int i = 0; i < 8; i++) {
			submit(i, (struct mock_task){ .kind = MOCK_COPY, .semaphore = ~0u,
						      .cycles = i < 7 ? 12000 + 500 * i : 7500 });
		}
		mock_run(mock, 5000);
		submit(8, exec(1, 64, 50));
		mock_run(mock, 2000);
		for (int i = 0; i < 8; i++) {
			if (mock->slot[i].detach)
				leaving = i;
		}
		assert_true(leaving >= 0);
		/* Queue 7 has nothing to do by then. */
		mock_run(mock, mock->slot[leaving].until - mock_now(mock) - distance);
		submit(9, exec(1, 64, 50));
		mock_post(mock, &destroy);
		mock_settle(mock, 1000000);
		assert_true(mock_take(mock, &reply));
		assert_int_equal(reply.status, NPU_ERROR_NONE);
		assert_false(mock_queue_in_slot(mock, 8));
		for (unsigned int i = 0; i < 10; i++) {
			if (i != 8)
				assert_int_equal(mock->queue[i].done, mock->queue[i].pushed);
		}
		create(8, 9);
	}
	assert_true(mock->switches > 100);
}

static void test_one_queue_of_sixty_four(void **state)
{
	(void)state;
	create(63, 8);
	submit(63, exec(1, 0, 10));
	mock_settle(mock, 100000);
	assert_int_equal(mock->queue[63].done, 1);
	assert_int_equal(slot_of(63), 0);
}

/* Equal input gives equal cycles. */
static uint64_t scripted_run(void)
{
	uint64_t time;

	boot(NULL);
	for (unsigned int i = 0; i < 30; i++) {
		create(i, i * 7 % 16);
		for (unsigned int j = 0; j < 5; j++)
			mock_push(mock, i, exec(1 + (i + j) % 4, (i + 1) * 30000, 3000 + 100 * i));
		mock_ring(mock, i);
	}
	mock_settle(mock, 100000000);
	time = mock_now(mock) ^ mock->core->retired << 20;
	halt(NULL);
	return time;
}

static void test_deterministic(void **state)
{
	(void)state;
	assert_true(scripted_run() == scripted_run());
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_task, boot, halt),
		cmocka_unit_test_setup_teardown(test_grant_grows, boot, halt),
		cmocka_unit_test_setup_teardown(test_side_by_side, boot, halt),
		cmocka_unit_test_setup_teardown(test_window_is_short, boot, halt),
		cmocka_unit_test_setup_teardown(test_impossible_needs, boot, halt),
		cmocka_unit_test_setup_teardown(test_idle_grant_is_revoked, boot, halt),
		cmocka_unit_test_setup_teardown(test_idle_goes_before_busy, boot, halt),
		cmocka_unit_test_setup_teardown(test_running_task_is_not_robbed, boot, halt),
		cmocka_unit_test_setup_teardown(test_large_is_not_starved, boot, halt),
		cmocka_unit_test_setup_teardown(test_grant_ages, boot, halt),
		cmocka_unit_test_setup_teardown(test_more_queues_than_slots, boot, halt),
		cmocka_unit_test_setup_teardown(test_slices, boot, halt),
		cmocka_unit_test_setup_teardown(test_slot_priority, boot, halt),
		cmocka_unit_test_setup_teardown(test_low_priority_is_not_starved, boot, halt),
		cmocka_unit_test_setup_teardown(test_aged_queue_is_served, boot, halt),
		cmocka_unit_test_setup_teardown(test_alarm_is_early, boot, halt),
		cmocka_unit_test_setup_teardown(test_one_slot_is_enough, boot, halt),
		cmocka_unit_test_setup_teardown(test_waiting_gives_up_slot, boot, halt),
		cmocka_unit_test_setup_teardown(test_chain_of_waits, boot_small, halt),
		cmocka_unit_test_setup_teardown(test_doorbell_meets_detach, boot, halt),
		cmocka_unit_test_setup_teardown(test_doorbell_meets_end, boot, halt),
		cmocka_unit_test_setup_teardown(test_destroy_meets_switch, boot, halt),
		cmocka_unit_test_setup_teardown(test_one_queue_of_sixty_four, boot, halt),
		cmocka_unit_test(test_deterministic),
	};

	if (count != 2) {
		fprintf(stderr, "usage: test-firmware-schedule IMAGE\n");
		return 2;
	}
	image_path = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
