// SPDX-License-Identifier: MIT
/*
 * Who goes first: the rules one by one, then a device full of queues that always have work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy.h"
#include "random.h"

#define MEGAHERTZ	1000
#define AGEING		(POLICY_AGEING * MEGAHERTZ)
#define SLICE		(POLICY_SLICE * MEGAHERTZ)
#define TICK		(POLICY_TICK * MEGAHERTZ)

static struct policy policy;

static int set_up(void **state)
{
	(void)state;
	policy_init(&policy, MEGAHERTZ);
	return 0;
}

/*
 * A slice costs the wait for the next one, half a slice half of it; at the highest priority there is
 * no wait.
 */
static void test_resumed(void **state)
{
	const u64 rank = 7000000;

	(void)state;
	assert_int_equal(policy_rank_resumed(rank, 0, 0), rank);
	assert_int_equal(policy_rank_resumed(rank, SLICE, 0), policy_rank(&policy, rank, 0));
	assert_int_equal(policy_rank_resumed(rank, SLICE / 2, 9), rank + 3 * AGEING);
	assert_int_equal(policy_rank_resumed(rank, SLICE, PRIORITIES - 1), rank);
}

static void test_lowest_bit(void **state)
{
	struct random random = { 99 };

	(void)state;
	for (unsigned int bit = 0; bit < 32; bit++) {
		assert_int_equal(lowest_bit(BIT(bit)), bit);
		for (unsigned int i = 0; i < 100; i++) {
			u32 above = bit < 31 ? random_next(&random) << (bit + 1) : 0;

			assert_int_equal(lowest_bit(above | BIT(bit)), bit);
		}
	}
}

static void test_set_each(void **state)
{
	static const u32 sets[] = { 0, 1, 0x80000000u, 0xffffffffu, 0x00a50f01u };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sets); i++) {
		unsigned int before = 0;
		unsigned int bit;
		u32 seen = 0;

		SET_EACH(bit, sets[i]) {
			assert_true(!seen || bit > before);
			seen |= BIT(bit);
			before = bit;
		}
		assert_int_equal(seen, sets[i]);
	}
}

static void test_order(void **state)
{
	u64 rank[64] = { 0 };
	u32 set[2] = { 0, 0 };

	(void)state;
	assert_int_equal(policy_first(rank, set, 2), NONE);

	/* Higher priority first, although it came later. */
	rank[5] = policy_rank(&policy, 1000, 3);
	rank[40] = policy_rank(&policy, 2000, 4);
	set[0] = BIT(5);
	set[1] = BIT(8);
	assert_int_equal(policy_first(rank, set, 2), 40);

	/* Equal priority: who came first. */
	rank[40] = policy_rank(&policy, 999, 3);
	assert_int_equal(policy_first(rank, set, 2), 40);
	rank[40] = policy_rank(&policy, 1001, 3);
	assert_int_equal(policy_first(rank, set, 2), 5);

	/* A level is made up for by waiting, and not before. */
	rank[40] = policy_rank(&policy, 1000 + AGEING + 1, 4);
	assert_int_equal(policy_first(rank, set, 2), 5);
	rank[40] = policy_rank(&policy, 1000 + AGEING - 1, 4);
	assert_int_equal(policy_first(rank, set, 2), 40);

	/* Only those who take part count. */
	set[1] = 0;
	assert_int_equal(policy_first(rank, set, 2), 5);
}

static void test_victims(void **state)
{
	struct policy_slot slots[] = {
		{ POLICY_BUSY, 0, true, 0, ~(u64)0 },
		{ POLICY_BLOCKED, 15, true, 10, 0 },
		{ POLICY_BLOCKED, 2, true, 20, 0 },
		{ POLICY_IDLE, 15, true, 30, 0 },
		{ POLICY_IDLE, 15, true, 25, 0 },
		{ POLICY_ABSENT, 0, true, 0, ~(u64)0 },
	};
	u64 now = 50;
	u64 rank = policy_rank(&policy, 40, 7);
	static const unsigned int order[] = { 4, 3, 2, 1, 0, NONE };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
		unsigned int victim = policy_victim(&policy, slots, ARRAY_SIZE(slots), rank, now);

		assert_int_equal(victim, order[i]);
		if (victim != NONE)
			slots[victim].activity = POLICY_ABSENT;
	}
}

/* The holder waited for its slot from @queued on and got it at @since. */
static unsigned int busy_victim(unsigned int holder, u64 queued, u64 since, unsigned int waiting,
				u64 waiting_since, u64 now)
{
	const struct policy_slot slot = { POLICY_BUSY, (u8)holder, true, since,
					  policy_rank(&policy, queued, holder) };

	return policy_victim(&policy, &slot, 1, policy_rank(&policy, waiting_since, waiting), now);
}

static void test_busy_victims(void **state)
{
	struct policy_slot asking = { POLICY_BUSY, 5, false, 0, policy_rank(&policy, 0, 5) };

	(void)state;
	/* Equal priority: after the slice. */
	assert_int_equal(busy_victim(5, 0, 0, 5, 10, SLICE - 1), NONE);
	assert_int_equal(busy_victim(5, 0, 0, 5, 10, SLICE), 0);
	/* Lower priority goes at once. */
	assert_int_equal(busy_victim(4, 0, 0, 5, 10, 11), 0);
	/* Higher priority goes when its slice is over and the other has waited long enough. */
	assert_int_equal(busy_victim(6, 0, 0, 5, 10, 10 + AGEING), NONE);
	assert_int_equal(busy_victim(6, 0, 0, 5, 10, 10 + AGEING + 1), 0);
	assert_int_equal(busy_victim(15, 0, 0, 0, 10, 10 + 15 * AGEING), NONE);
	assert_int_equal(busy_victim(15, 0, 0, 0, 10, 10 + 15 * AGEING + 1), 0);
	/* Before that only when the other was there first, ageing counted. */
	assert_int_equal(busy_victim(15, 15 * AGEING + 9, 15 * AGEING + 20, 0, 10,
				     15 * AGEING + 21), NONE);
	assert_int_equal(busy_victim(15, 15 * AGEING + 11, 15 * AGEING + 20, 0, 10,
				     15 * AGEING + 21), 0);
	/* Who had to age to get its slot is not driven out again before its slice is over. */
	assert_int_equal(busy_victim(0, 0, 15 * AGEING, 15, 15 * AGEING + 1,
				     16 * AGEING - 1), NONE);
	assert_int_equal(busy_victim(0, 0, 15 * AGEING, 15, 15 * AGEING + 1,
				     15 * AGEING + SLICE), 0);
	/* The slice of one that waits for its first grant has not begun. */
	assert_int_equal(policy_victim(&policy, &asking, 1, policy_rank(&policy, 1, 5),
				       10 * SLICE), NONE);
	assert_int_equal(policy_victim(&policy, &asking, 1, policy_rank(&policy, 1, 6),
				       10 * SLICE), 0);
}

/* ------------------------------------------------------------------- a busy device */

#define QUEUES		64
#define SLOTS		8

struct busy_queue {
	unsigned int priority;
	bool ready;
	bool in_slot;
	u64 since;		/* began to wait */
	u64 longest;		/* longest wait */
	u64 served;		/* cycles in a slot */
	unsigned int turns;
};

struct busy_slot {
	unsigned int queue;
	u64 since;
	u64 rank;
	u64 task_end;
	bool leaving;
};

struct busy_device {
	struct busy_queue queue[QUEUES];
	struct busy_slot slot[SLOTS];
	u64 rank[QUEUES];
	unsigned int queues;
	struct random random;
	u64 now;
	u32 longest_task;
};

static void wait_again(struct busy_device *device, unsigned int number)
{
	struct busy_queue *queue = &device->queue[number];

	queue->ready = true;
	queue->in_slot = false;
	queue->since = device->now;
	device->rank[number] = policy_rank(&policy, device->now, queue->priority);
}

static unsigned int first_ready(const struct busy_device *device, u32 *set)
{
	set[0] = 0;
	set[1] = 0;
	for (unsigned int i = 0; i < device->queues; i++) {
		if (device->queue[i].ready)
			set[i / 32] |= BIT(i % 32);
	}
	return policy_first(device->rank, set, 2);
}

static void new_task(struct busy_device *device, struct busy_slot *slot)
{
	slot->task_end = device->now + 1 + random_below(&device->random, device->longest_task);
}

static void occupy(struct busy_device *device, struct busy_slot *slot)
{
	u32 set[2];
	unsigned int number = first_ready(device, set);
	struct busy_queue *queue;

	slot->queue = number;
	slot->leaving = false;
	if (number == NONE)
		return;
	queue = &device->queue[number];
	if (device->now - queue->since > queue->longest)
		queue->longest = device->now - queue->since;
	queue->ready = false;
	queue->in_slot = true;
	queue->turns++;
	slot->since = device->now;
	slot->rank = device->rank[number];
	new_task(device, slot);
}

static void tasks_end(struct busy_device *device)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		struct busy_slot *slot = &device->slot[i];

		if (slot->queue == NONE) {
			occupy(device, slot);
		} else if (slot->task_end <= device->now) {
			if (!slot->leaving) {
				new_task(device, slot);
				continue;
			}
			device->queue[slot->queue].served += device->now - slot->since;
			wait_again(device, slot->queue);
			occupy(device, slot);
		}
	}
}

static void displace(struct busy_device *device)
{
	struct policy_slot slots[SLOTS];
	unsigned int leaving = 0;
	u32 set[2];

	for (unsigned int i = 0; i < SLOTS; i++) {
		const struct busy_slot *slot = &device->slot[i];

		slots[i].activity = POLICY_ABSENT;
		leaving += slot->leaving;
		if (slot->queue == NONE || slot->leaving)
			continue;
		slots[i].activity = POLICY_BUSY;
		slots[i].priority = (u8)device->queue[slot->queue].priority;
		slots[i].served = true;
		slots[i].since = slot->since;
		slots[i].rank = slot->rank;
	}
	first_ready(device, set);
	for (unsigned int turn = 0; turn < SLOTS; turn++) {
		unsigned int queue = policy_first(device->rank, set, 2);
		unsigned int victim;

		if (queue == NONE)
			return;
		set[queue / 32] &= ~BIT(queue % 32);
		if (turn < leaving)
			continue;
		victim = policy_victim(&policy, slots, SLOTS, device->rank[queue], device->now);
		if (victim == NONE)
			return;
		device->slot[victim].leaving = true;
		slots[victim].activity = POLICY_ABSENT;
	}
}

static struct busy_device *busy_device(unsigned int queues, u32 longest_task)
{
	struct busy_device *device = calloc(1, sizeof(*device));

	assert_non_null(device);
	device->queues = queues;
	device->random.state = 4711;
	device->longest_task = longest_task;
	for (unsigned int i = 0; i < SLOTS; i++)
		device->slot[i].queue = NONE;
	return device;
}

static void run(struct busy_device *device, u64 until)
{
	for (; device->now < until; device->now += TICK) {
		tasks_end(device);
		displace(device);
	}
}

static void test_equal_share(void **state)
{
	struct busy_device *device = busy_device(QUEUES, SLICE / 4);
	u64 most = 0;
	u64 least = ~(u64)0;

	(void)state;
	for (unsigned int i = 0; i < QUEUES; i++) {
		device->queue[i].priority = 7;
		wait_again(device, i);
	}
	run(device, (u64)QUEUES * SLICE * 100);
	for (unsigned int i = 0; i < QUEUES; i++) {
		const struct busy_queue *queue = &device->queue[i];

		if (queue->turns > most)
			most = queue->turns;
		if (queue->turns < least)
			least = queue->turns;
		/* Those before it have a slice each, and their last task, in 8 slots. */
		assert_true(queue->longest <=
			    (u64)(QUEUES / SLOTS + 1) * (SLICE + SLICE / 4 + 2 * TICK));
	}
	assert_true(least > 100);
	assert_true(most - least <= 1);
	free(device);
}

static void test_nobody_starves(void **state)
{
	/* The lowest priority against more of the highest than there are slots. */
	struct busy_device *device = busy_device(3 * SLOTS, SLICE);
	const struct busy_queue *low = &device->queue[3];
	u64 bound;

	(void)state;
	for (unsigned int i = 0; i < device->queues; i++) {
		device->queue[i].priority = i == 3 ? 0 : PRIORITIES - 1;
		wait_again(device, i);
	}
	run(device, 2000 * (u64)SLICE);
	/* Ageing to the top, then one turn of everybody who was there before. */
	bound = 15 * (u64)AGEING + (u64)(device->queues / SLOTS + 1) * (2 * SLICE + 2 * TICK);
	assert_true(low->turns >= 2000 * (u64)SLICE / (bound + 2 * SLICE));
	assert_true(low->longest <= bound);
	/* And the highest get nearly everything. */
	assert_true(low->served < 2000 * (u64)SLICE / 10);
	free(device);
}

static void test_high_goes_first(void **state)
{
	struct busy_device *device = busy_device(SLOTS + 8, SLICE / 8);
	const struct busy_queue *high = &device->queue[SLOTS];

	(void)state;
	for (unsigned int i = 0; i < device->queues; i++) {
		device->queue[i].priority = i == SLOTS ? 12 : 3;
		if (i != SLOTS)
			wait_again(device, i);
	}
	run(device, 100 * (u64)SLICE);
	assert_int_equal(high->turns, 0);
	wait_again(device, SLOTS);
	run(device, 200 * (u64)SLICE);
	/* It had to wait for the end of one task. */
	assert_true(high->turns >= 1);
	assert_true(high->longest <= SLICE / 8 + 3 * TICK);
	free(device);
}

/* One that got its clusters with rank 4 at 1000, @time cycles ago. */
static bool preempts(const struct policy *policy, unsigned int running, unsigned int waiting,
		     uint64_t rank, uint64_t time)
{
	const struct policy_claim has = { running, 4 };
	const struct policy_claim wants = { waiting, rank };

	return policy_preempts(policy, &has, 1000, &wants, 1000 + time);
}

static void test_preempts(void **state)
{
	struct policy policy;

	(void)state;
	policy_init(&policy, 1000);
	/* At once for a higher priority that comes first; for others after a slice. */
	assert_true(preempts(&policy, 3, 4, 3, policy.slice - 1));
	assert_false(preempts(&policy, 3, 4, 4, policy.slice - 1));
	assert_false(preempts(&policy, 3, 4, 5, policy.slice - 1));
	assert_true(preempts(&policy, 3, 4, 5, policy.slice));
	assert_false(preempts(&policy, 4, 4, 3, policy.slice - 1));
	assert_true(preempts(&policy, 4, 4, 3, policy.slice));
	assert_false(preempts(&policy, 15, 0, 3, policy.slice - 1));
	assert_true(preempts(&policy, 15, 0, 3, policy.slice));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_lowest_bit),
		cmocka_unit_test(test_set_each),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_victims),
		cmocka_unit_test(test_busy_victims),
		cmocka_unit_test(test_preempts),
		cmocka_unit_test(test_equal_share),
		cmocka_unit_test(test_nobody_starves),
		cmocka_unit_test(test_high_goes_first),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
