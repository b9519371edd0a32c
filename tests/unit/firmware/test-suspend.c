// SPDX-License-Identifier: MIT
/*
 * The way to a suspend and back: SUSPEND, QUEUE_STATE, a reset, and queues that go on where they
 * were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "host.h"

#define LIMIT	100000000
#define CONTEXT	1
#define LONG	1000000		/* turns of a loop */
#define ENOUGH	1000000		/* microseconds */
#define SHORT	100
#define ANSWER_MOST	20000	/* cycles */

static const char *image_path;
static struct host *host;

static int begin(void **state)
{
	(void)state;
	host = host_create("npu-v3", image_path);
	host_context(host, CONTEXT);
	for (unsigned int queue = 0; queue < 3; queue++)
		host_queue(host, queue, CONTEXT, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_destroy(host);
	return 0;
}

struct place {
	uint64_t index;
	uint32_t error;
	uint32_t progress;
};

static struct place ask(unsigned int queue)
{
	struct npu_message message = { .kind = NPU_MESSAGE_QUEUE_STATE, .argument = { queue } };

	assert_int_equal(host_call(host, &message), NPU_ERROR_NONE);
	for (unsigned int i = 4; i < 14; i++)
		assert_int_equal(message.argument[i], 0);
	return (struct place){
		.index = message.argument[0] | (uint64_t)message.argument[1] << 32,
		.error = message.argument[2],
		.progress = message.argument[3],
	};
}

static uint32_t suspend(uint32_t patience)
{
	return host_call1(host, NPU_MESSAGE_SUSPEND, patience);
}

static void submit(unsigned int queue, uint32_t turns)
{
	host_exec(host, queue, host_program(host, 1, 0, turns), 0);
	host_ring(host, queue);
}

static uint16_t status(unsigned int queue, uint64_t index)
{
	return host_record(host, queue, index)->status;
}

/* What a driver does: all again, where it was. */
static void wake_up(void)
{
	struct place places[3];

	for (unsigned int queue = 0; queue < 3; queue++)
		places[queue] = ask(queue);
	host_restart(host);
	host_context(host, CONTEXT);
	for (unsigned int queue = 0; queue < 3; queue++)
		host_queue_again(host, queue, CONTEXT, places[queue].index, places[queue].error);
}

/* Nobody gets a slot afterwards; what is published meanwhile is found without a doorbell. */
static void test_idle(void **state)
{
	(void)state;
	submit(0, 10);
	host_idle(host, LIMIT);
	assert_int_equal(suspend(0), NPU_ERROR_NONE);
	assert_int_equal(ask(0).index, 1);
	submit(0, 10);
	submit(1, 10);
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_NONE);
	assert_int_equal(status(1, 0), NPU_STATUS_NONE);
	wake_up();
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_DONE);
	assert_int_equal(status(1, 0), NPU_STATUS_DONE);
	assert_int_equal(host_semaphore(host, CONTEXT, 0), 3);
	assert_int_equal(host_control(host, 0)->read_index, 2);
}

/* Without patience a device that works goes on as if nobody had asked. */
static void test_busy(void **state)
{
	(void)state;
	submit(0, LONG);
	npu_model_run(host->model, 20000);
	assert_int_equal(suspend(0), NPU_ERROR_BUSY);
	submit(1, 10);
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 0), NPU_STATUS_DONE);
	assert_int_equal(status(1, 0), NPU_STATUS_DONE);
	assert_int_equal(suspend(0), NPU_ERROR_NONE);
}

/* At every moment between the doorbell and the end: it is refused, or the task is done later. */
static void test_any_moment(void **state)
{
	unsigned int refused = 0;

	(void)state;
	for (uint64_t delay = 0; delay < 4000; delay += 37) {
		struct place place;

		submit(0, 400);
		if (delay)
			npu_model_run(host->model, delay);
		if (suspend(0) == NPU_ERROR_NONE) {
			wake_up();
		} else {
			refused++;
		}
		host_idle(host, LIMIT);
		place = ask(0);
		assert_int_equal(place.index, host->index[0]);
		assert_int_equal(status(0, place.index - 1), NPU_STATUS_DONE);
		/* So that the next round finds it empty. */
		((struct npu_record *)(uintptr_t)host_record(host, 0, place.index - 1))->status = 0;
	}
	print_message("    %u refused\n", refused);
	assert_true(refused >= 5 && refused < 100);
}

static void test_patience(void **state)
{
	(void)state;
	submit(0, LONG);
	submit(0, 10);
	npu_model_run(host->model, 20000);
	assert_int_equal(suspend(ENOUGH), NPU_ERROR_NONE);
	assert_int_equal(status(0, 0), NPU_STATUS_DONE);
	assert_int_equal(status(0, 1), NPU_STATUS_NONE);
	assert_int_equal(ask(0).index, 1);
	wake_up();
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_DONE);
}

static void test_late(void **state)
{
	(void)state;
	submit(0, LONG);
	npu_model_run(host->model, 20000);
	assert_int_equal(suspend(SHORT), NPU_ERROR_NONE);
	assert_int_equal(status(0, 0), NPU_STATUS_KILLED);
	assert_int_equal(ask(0).index, 1);
	submit(0, 10);
	wake_up();
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_DONE);
}

/* Semaphores come back from memory, and who waits waits on. */
static void test_waiting(void **state)
{
	(void)state;
	host_wait(host, 0, 0, 2);
	submit(0, 10);
	submit(1, 10);
	host_idle(host, LIMIT);
	assert_int_equal(host_semaphore(host, CONTEXT, 0), 1);
	assert_int_equal(suspend(0), NPU_ERROR_NONE);
	assert_int_equal(ask(0).index, 0);
	wake_up();
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_NONE);
	submit(2, 10);
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 1), NPU_STATUS_DONE);
	assert_int_equal(host_semaphore(host, CONTEXT, 0), 3);
}

static void submit_graph(unsigned int queue, uint64_t awaited)
{
	const uint64_t list = host_alloc(host, 2 * NPU_PACKET_BYTES);
	struct npu_packet_wait wait = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_WAIT, 0, 0),
		.sem = { 0, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE, NPU_SEM_NONE },
		.value = { awaited },
	};
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = 1, .add = 1,
	};
	const struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .list = list, .count = 2,
	};

	*(struct npu_packet_wait *)(void *)(host->memory + list) = wait;
	*(struct npu_packet_signal *)(void *)(host->memory + list + NPU_PACKET_BYTES) = signal;
	host_packet(host, queue, &graph);
	host_ring(host, queue);
}

/* A graph that waits is not idle; one that comes to its end in time is waited for. */
static void test_graph(void **state)
{
	(void)state;
	submit_graph(0, 1);
	host_idle(host, LIMIT);
	assert_int_equal(ask(0).progress, NPU_QUEUE_PROGRESS_GRAPH);
	assert_int_equal(suspend(0), NPU_ERROR_BUSY);
	submit(1, LONG);
	npu_model_run(host->model, 20000);
	assert_int_equal(suspend(ENOUGH), NPU_ERROR_NONE);
	assert_int_equal(ask(0).progress, 0);
	assert_int_equal(ask(0).index, 1);
	assert_int_equal(host_semaphore(host, CONTEXT, 1), 1);
}

/* A task that begins at any moment of the answer is not waited for: it is refused, or comes later. */
static void test_task_any_moment(void **state)
{
	unsigned int refused = 0;

	(void)state;
	/* In a slot, with its clusters. */
	submit(0, 10);
	host_idle(host, LIMIT);
	for (uint64_t delay = 0; delay < 2000; delay += 29) {
		struct npu_message message = { .kind = NPU_MESSAGE_SUSPEND };
		uint64_t begin = npu_model_time(host->model);
		bool busy;

		host_post(host, &message);
		if (delay)
			npu_model_run(host->model, delay);
		submit(0, 3 * ANSWER_MOST);
		busy = host_reply(host, &message) == NPU_ERROR_BUSY;
		assert_true(npu_model_time(host->model) - begin < ANSWER_MOST);
		if (!busy)
			wake_up();
		refused += busy;
		host_idle(host, LIMIT);
		assert_int_equal(ask(0).index, host->index[0]);
		assert_int_equal(status(0, host->index[0] - 1), NPU_STATUS_DONE);
		((struct npu_record *)(uintptr_t)host_record(host, 0, host->index[0] - 1))->status = 0;
		submit(0, 10);
		host_idle(host, LIMIT);
	}
	print_message("    %u refused\n", refused);
	assert_true(refused > 0);
}

/* One that waits and begins at any moment of the answer does not keep it for ever, and ends later. */
static void test_graph_any_moment(void **state)
{
	unsigned int refused = 0, rounds = 0;

	(void)state;
	for (uint64_t delay = 0; delay < 4000; delay += 37) {
		struct npu_message message = { .kind = NPU_MESSAGE_SUSPEND };

		host_post(host, &message);
		if (delay)
			npu_model_run(host->model, delay);
		/* Counted from its start on. */
		submit_graph(0, 1);
		rounds++;
		if (host_reply(host, &message) == NPU_ERROR_NONE)
			wake_up();
		else
			refused++;
		host_idle(host, LIMIT);
		submit(1, 10);
		host_idle(host, LIMIT);
		assert_int_equal(host_semaphore(host, CONTEXT, 1), rounds);
		assert_int_equal(ask(0).index, host->index[0]);
	}
	print_message("    %u of %u refused\n", refused, rounds);
	assert_true(refused >= 5 && refused < rounds);
}

/* One that does not is told of, and its queue can be made with an error. */
static void test_lost_graph(void **state)
{
	struct place place;

	(void)state;
	/* Nobody signals so often. */
	submit_graph(0, 9);
	submit(1, LONG);
	npu_model_run(host->model, 20000);
	assert_int_equal(suspend(SHORT), NPU_ERROR_NONE);
	assert_int_equal(status(1, 0), NPU_STATUS_KILLED);
	place = ask(0);
	assert_int_equal(place.progress, NPU_QUEUE_PROGRESS_GRAPH);
	host_restart(host);
	host_context(host, CONTEXT);
	host_queue_again(host, 0, CONTEXT, place.index, NPU_ERROR_KILLED);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	place = ask(0);
	assert_int_equal(place.error, NPU_ERROR_KILLED);
	assert_int_equal(place.index, 0);
	assert_int_equal(host_semaphore(host, CONTEXT, 1), 0);
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_DESTROY, 0), NPU_ERROR_NONE);
}

static void test_wrong(void **state)
{
	struct npu_message message = { .kind = NPU_MESSAGE_SUSPEND, .argument = { 0, 1 } };
	struct npu_message create = {
		.kind = NPU_MESSAGE_QUEUE_CREATE,
		.argument = { 5, CONTEXT, 0x200000, 0, HOST_RING_LOG2, 0, 0, 0, 256 },
	};

	(void)state;
	assert_int_equal(host_call(host, &message), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(host_call(host, &create), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_STATE, 64), NPU_ERROR_BAD_ARGUMENT);
	assert_int_equal(host_call1(host, NPU_MESSAGE_QUEUE_STATE, 9), NPU_ERROR_NOT_FOUND);
	/* Nothing of it has changed anything. */
	submit(0, 10);
	host_idle(host, LIMIT);
	assert_int_equal(status(0, 0), NPU_STATUS_DONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		TEST(test_idle), TEST(test_busy), TEST(test_any_moment), TEST(test_patience),
		TEST(test_late), TEST(test_waiting), TEST(test_graph),
		TEST(test_task_any_moment), TEST(test_graph_any_moment), TEST(test_lost_graph), TEST(test_wrong),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
