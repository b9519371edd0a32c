// SPDX-License-Identifier: MIT
/*
 * Everything at once and at random: messages, doorbells, tasks of all kinds, a host that does not
 * listen. Whatever comes, the firmware stays alive and breaks none of the mock's rules; and when
 * it is over, everything is finished, and everything is free again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"
#include "random.h"

#define STEPS		100000
#define SEEDS		4
/* Nobody waits longer for the firmware to look. The manual gives the figure measured. */
#define TURN_LIMIT	25000

static const char *image_path;

static uint32_t any_argument(struct random *random)
{
	switch (random_below(random, 4)) {
	case 0:
		return random_next(random);
	case 1:
		return 1u << random_below(random, 32);
	default:
		return random_below(random, 70);
	}
}

static struct npu_message any_message(struct random *random, const struct mock *mock)
{
	struct npu_message message = { 0 };

	message.kind = (uint16_t)(random_below(random, 8) ? random_below(random, 10) :
							     random_next(random));
	if (!random_below(random, 8))
		message.kind = NPU_MESSAGE_POWER;
	message.sequence = (uint16_t)random_next(random);
	for (unsigned int i = 0; i < 6; i++)
		message.argument[i] = any_argument(random);
	switch (message.kind) {
	case NPU_MESSAGE_QUEUE_CREATE:
		/* Mostly good, or nothing would ever exist. */
		message.argument[0] = random_below(random, mock->config.queues);
		message.argument[1] = random_below(random, 4);
		message.argument[2] &= ~63u;
		message.argument[3] &= 0x1f;
		message.argument[4] = 2 + random_below(random, 16);
		message.argument[5] = random_below(random, 17);
		break;
	case NPU_MESSAGE_CONTEXT_CREATE:
		message.argument[0] = random_below(random, 4);
		memset(&message.argument[1], 0, 5 * sizeof(message.argument[0]));
		break;
	case NPU_MESSAGE_CONTEXT_DESTROY:
		/* Seldom, for the same reason. */
		message.argument[0] = random_below(random, 64);
		memset(&message.argument[1], 0, 5 * sizeof(message.argument[0]));
		break;
	case NPU_MESSAGE_QUEUE_DESTROY:
		message.argument[0] = random_below(random, mock->config.queues);
		memset(&message.argument[1], 0, 5 * sizeof(message.argument[0]));
		break;
	case NPU_MESSAGE_POWER:
		/* Short enough to be met by work. */
		message.argument[0] = random_below(random, 50);
		memset(&message.argument[1], 0, 5 * sizeof(message.argument[0]));
		break;
	default:
		if (random_below(random, 4))
			memset(&message.argument[1], 0, 5 * sizeof(message.argument[0]));
		break;
	}
	return message;
}

static struct mock_task any_task(struct random *random, const struct mock *mock)
{
	struct mock_task task = {
		.kind = MOCK_EXEC,
		.clusters = 1 + random_below(random, mock->config.clusters),
		.bytes = random_below(random, mock->config.global_bytes + 1),
		.cycles = 1 + random_below(random, 20000),
		.semaphore = random_below(random, MOCK_SEMAPHORES + 1),
	};

	if (task.semaphore == MOCK_SEMAPHORES)
		task.semaphore = ~0u;
	if (random_below(random, 200) == 0) {
		task.kind = MOCK_BAD;
	} else if (random_below(random, 200) == 0) {
		task.clusters = any_argument(random);
		task.bytes = any_argument(random);
	} else if (random_below(random, 10) == 0) {
		task.kind = MOCK_WAIT;
		task.semaphore = random_below(random, MOCK_SEMAPHORES);
		task.value = mock->semaphore[random_below(random, 4)][task.semaphore] +
			     random_below(random, 4);
	} else if (random_below(random, 10) == 0) {
		task.kind = MOCK_COPY;
	}
	return task;
}

static bool queue_full(const struct mock_queue *queue)
{
	return queue->pushed - queue->finished >= MOCK_TASKS;
}

static void any_step(struct mock *mock, struct random *random)
{
	unsigned int queue = random_below(random, mock->config.queues);
	struct npu_message message;

	switch (random_below(random, 10)) {
	case 0:
		message = any_message(random, mock);
		mock_post(mock, &message);
		break;
	case 1:
	case 2:
		mock_take(mock, &message);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		if (!queue_full(&mock->queue[queue]))
			mock_push(mock, queue, any_task(random, mock));
		mock_ring(mock, queue);
		break;
	case 7:
		mock_ring(mock, queue);
		break;
	case 8:
		mock_signal(mock, random_below(random, 4), random_below(random, MOCK_SEMAPHORES),
			    random_below(random, 3));
		break;
	default:
		break;
	}
	mock_run(mock, random_below(random, 6) ? random_below(random, 300) :
						 random_below(random, 20000));
}

/* Take all messages until there are none and nothing moves. */
static void calm_down(struct mock *mock)
{
	struct npu_message message;

	for (unsigned int i = 0; i < 1000; i++) {
		mock_settle(mock, 1000000000);
		if (!mock_take(mock, &message))
			return;
	}
	mock_complain(mock, "the messages never end");
}

static bool queue_valid(const struct mock_queue *queue)
{
	return queue->registers[NPU_QUEUE_CONFIG / 4] & NPU_QUEUE_CONFIG_VALID;
}

/* No queue was forgotten: with all semaphores met, all that exist and live are empty. */
static void check_all_finished(struct mock *mock)
{
	for (unsigned int context = 0; context < 4; context++) {
		for (unsigned int i = 0; i < MOCK_SEMAPHORES; i++)
			mock_signal(mock, context, i, 1000000);
	}
	calm_down(mock);
	for (unsigned int i = 0; i < mock->config.queues; i++) {
		const struct mock_queue *queue = &mock->queue[i];

		if (queue_valid(queue) && !queue->registers[NPU_QUEUE_ERROR / 4] &&
		    queue->pushed != queue->finished)
			mock_complain(mock, "queue %u is stuck", i);
	}
}

static void check_all_free(struct mock *mock)
{
	const struct mock_task all = {
		.kind = MOCK_EXEC,
		.clusters = mock->config.clusters,
		.bytes = mock->config.global_bytes,
		.cycles = 100,
		.semaphore = ~0u,
	};
	uint32_t done;

	for (unsigned int context = 0; context < MOCK_CONTEXTS; context++)
		mock_context_destroy(mock, context);
	for (unsigned int i = 0; i < mock->config.queues; i++)
		assert_false(queue_valid(&mock->queue[i]));
	assert_int_equal(mock_context(mock, 2), NPU_ERROR_NONE);
	assert_int_equal(mock_queue(mock, 11, 2, 0), NPU_ERROR_NONE);
	done = mock->queue[11].done;
	mock_push(mock, 11, all);
	mock_ring(mock, 11);
	calm_down(mock);
	assert_int_equal(mock->queue[11].done, done + 1);
}

/* Heat that comes and goes, and hosts that ask for points, there or not. */
static void heat_step(struct mock *mock, struct random *random)
{
	struct npu_message message = {
		.kind = NPU_MESSAGE_CLOCK,
		.argument = { random_below(random, 5), random_below(random, 5) },
	};

	if (!random_below(random, 8))
		message.argument[0] = NPU_CLOCK_ASK;
	if (!random_below(random, 16))
		mock_post(mock, &message);
	mock->temperature = random_next(random) % 120000 - 10000;
	if (!random_below(random, 16))
		mock_interrupt(mock, NPU_CORE_IRQ_HEAT);
}

/* @heat: where its numbers come from, NULL: there is none. */
static void run(const struct mock_config *config, uint64_t seed, struct random *heat)
{
	struct random random = { seed };
	struct mock *mock = mock_create(config, image_path);
	uint64_t attaches = 0;
	uint64_t done = 0;
	uint64_t killed = 0;
	uint64_t rejected = 0;

	for (unsigned int step = 0; step < STEPS; step++) {
		if (heat)
			heat_step(mock, heat);
		any_step(mock, &random);
		assert_int_equal(mock->panic, 0);
	}
	mock->temperature = 25000;
	check_all_finished(mock);
	check_all_free(mock);
	for (unsigned int i = 0; i < config->queues; i++) {
		attaches += mock->queue[i].attaches;
		done += mock->queue[i].done;
		killed += mock->queue[i].killed;
		rejected += mock->queue[i].rejected;
	}
	print_message("    %llu tasks done, %llu attaches, %llu killed, %llu refused\n",
		      (unsigned long long)done, (unsigned long long)attaches,
		      (unsigned long long)killed, (unsigned long long)rejected);
	print_message("    longest turn %llu cycles\n", (unsigned long long)mock->longest_turn);
	assert_true(mock->longest_turn < TURN_LIMIT);
	/* All of it was gone through. */
	assert_true(attaches > 1000);
	assert_true(done > 1000);
	assert_true(killed > 0);
	assert_true(rejected > 10);
	mock_destroy(mock);
}

static void test_large(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(&mock_large, seed * 0x9e3779b97f4a7c15ull, NULL);
}

static void test_heat(void **state)
{
	struct random heat = { 0x4ea7 };

	(void)state;
	run(&mock_large, 0x9e3779b97f4a7c15ull, &heat);
	run(&mock_small, 0xc2b2ae3d27d4eb4full, &heat);
}

static void test_small(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(&mock_small, seed * 0xc2b2ae3d27d4eb4full, NULL);
}

/* Doorbells without end cost the others nothing but their turn. */
static void test_doorbell_storm(void **state)
{
	struct mock *mock = mock_create(&mock_large, image_path);
	const struct mock_task task = { .kind = MOCK_EXEC, .clusters = 1, .bytes = 64,
					.cycles = 1000, .semaphore = ~0u };

	(void)state;
	assert_int_equal(mock_context(mock, 0), NPU_ERROR_NONE);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(mock_queue(mock, i, 0, i ? 15 : 0), NPU_ERROR_NONE);
	for (unsigned int turn = 0; turn < 2000; turn++) {
		for (unsigned int i = 1; i < 64; i++)
			mock_ring(mock, i);
		if (turn == 100) {
			mock_push(mock, 0, task);
			mock_ring(mock, 0);
		}
		mock_run(mock, 1500);
		if (mock->queue[0].done)
			break;
	}
	assert_int_equal(mock->queue[0].done, 1);
	mock_destroy(mock);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_doorbell_storm),
	};

	if (count != 2) {
		fprintf(stderr, "usage: test-firmware-hostile IMAGE\n");
		return 2;
	}
	image_path = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
