// SPDX-License-Identifier: MIT
/* Who waits for room gets it in the order of coming: on a device that takes packets when told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "graph.h"
#include "npurt/null_device.h"
#include "rig.h"

#define DEPTH 4
#define WAITERS 6
#define MILLISECOND 1000000ll

/* Of a replay with device tasks: its list, and the signal behind it. */
#define GRAPH_PACKETS 2

static void still_make(struct rig *rig)
{
	const struct npurt_context_options options = { .size = sizeof(options),
						       .queue_depth = DEPTH };
	const struct tiny_options tiny = { .elements = 16 };
	struct tiny_model file;
	int i;

	memset(rig, 0, sizeof(*rig));
	rig->device = null_device_open();
	null_device_stand_still(rig->device);
	ok(npurt_context_create(rig->device, &options, &rig->context));
	tiny_model_make(&file, &tiny);
	ok(npurt_model_load_memory(rig->context, file.bytes, file.size, &rig->model));
	tiny_model_free(&file);
	for (i = 0; i < 2; i++)
		ok(npurt_buffer_alloc(rig->context, 32, 0, &rig->bindings[i].buffer));
}

static void still_free(struct rig *rig)
{
	npurt_buffer_free(rig->bindings[0].buffer);
	npurt_buffer_free(rig->bindings[1].buffer);
	npurt_model_unload(rig->model);
	npurt_context_destroy(rig->context);
	null_device_close(rig->device);
}

static void fill(struct rig *rig)
{
	int i;

	for (i = 0; i < DEPTH; i++)
		ok(npurt_run_submit(rig->model, rig->bindings, 2, NULL, NULL));
}

static int try_run(struct rig *rig)
{
	const struct npurt_run_options options = { .size = sizeof(options),
						   .policy = NPURT_POLICY_TRY };

	return npurt_run_submit(rig->model, rig->bindings, 2, &options, NULL);
}

/* A thread that submits a run, or a graph if it has one. */
struct submitter {
	struct rig *rig;
	struct npurt_graph *graph;
	uint32_t policy;
	int64_t timeout_ns;
	uint32_t *finished; /* threads so far */
	pthread_t thread;
	uint32_t place; /* among them */
	int result;
	int64_t took_ns;
	struct npurt_future *future;
};

static int submit(struct submitter *self)
{
	const struct npurt_run_options run = { .size = sizeof(run),
					       .policy = self->policy,
					       .timeout_ns = self->timeout_ns };
	const struct npurt_replay_options replay = { .size = sizeof(replay),
						     .policy = self->policy,
						     .timeout_ns = self->timeout_ns };

	if (self->graph)
		return npurt_graph_submit(self->graph, &replay, &self->future);
	return npurt_run_submit(self->rig->model, self->rig->bindings, 2, &run, &self->future);
}

static void *submit_thread(void *argument)
{
	struct submitter *self = argument;
	int64_t start = rig_now();

	self->result = submit(self);
	self->took_ns = rig_now() - start;
	self->place = __atomic_add_fetch(self->finished, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void wait_until(const uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		sched_yield();
}

/* Returns once it is the last one in a line. */
static void start_in_line(struct submitter *submitter, const struct npurt_line *line,
			  uint32_t length)
{
	assert_int_equal(pthread_create(&submitter->thread, NULL, submit_thread, submitter), 0);
	wait_until(&line->waiting, length);
}

/* Its task was so many'th in its queue, and its submission so many'th to return. */
static void check_submitter(struct submitter *submitter, uint32_t place, uint32_t task_id)
{
	struct npurt_task_report report = { .size = sizeof(report) };

	pthread_join(submitter->thread, NULL);
	assert_int_equal(submitter->result, 0);
	assert_int_equal(submitter->place, place);
	ok(npurt_future_wait(submitter->future, NPURT_FOREVER));
	if (task_id) {
		ok(npurt_future_get_report(submitter->future, &report));
		assert_int_equal(report.task_id, task_id);
	}
	npurt_future_release(submitter->future);
}

/* One place becomes free at a time: the first in line has it, and nobody passes by. */
static void test_room_in_order(void **state)
{
	struct submitter submitters[WAITERS];
	uint32_t finished = 0, i;
	struct npurt_line *line;
	struct rig rig;

	(void)state;
	still_make(&rig);
	line = &rig.context->queue.line;
	fill(&rig);
	for (i = 0; i < WAITERS; i++) {
		submitters[i] = (struct submitter){ .rig = &rig, .finished = &finished };
		start_in_line(&submitters[i], line, i + 1);
	}
	assert_int_equal(try_run(&rig), -EAGAIN);
	for (i = 0; i < WAITERS; i++) {
		null_device_go_on(rig.device, 1);
		wait_until(&finished, i + 1);
		wait_until(&line->waiting, WAITERS - 1 - i);
		/* There is no room for it, whether or not there is somebody left in line. */
		assert_int_equal(try_run(&rig), -EAGAIN);
		assert_int_equal(npurt_ring_written(&rig.context->queue.ring), DEPTH + i + 1);
	}
	null_device_go_on(rig.device, UINT64_MAX);
	for (i = 0; i < WAITERS; i++)
		check_submitter(&submitters[i], i + 1, DEPTH + i + 1);
	still_free(&rig);
}

/* Who gives up leaves the line, wherever in it; the others keep their order. */
static void test_time_out_in_line(void **state)
{
	struct submitter submitters[4];
	uint32_t finished = 0, i;
	struct npurt_line *line;
	struct rig rig;

	(void)state;
	still_make(&rig);
	line = &rig.context->queue.line;
	fill(&rig);
	for (i = 0; i < 4; i++) {
		submitters[i] = (struct submitter){ .rig = &rig, .finished = &finished };
		/* The first and one behind it. */
		if (i % 2 == 0) {
			submitters[i].policy = NPURT_POLICY_TIMEOUT;
			submitters[i].timeout_ns = (int64_t)(i + 1) * 100 * MILLISECOND;
		}
		assert_int_equal(pthread_create(&submitters[i].thread, NULL, submit_thread,
						&submitters[i]),
				 0);
		/* On a slow machine one that gives up may be gone again. */
		while (__atomic_load_n(&line->waiting, __ATOMIC_SEQ_CST) +
			       __atomic_load_n(&finished, __ATOMIC_SEQ_CST) <
		       i + 1)
			sched_yield();
	}
	for (i = 0; i < 4; i += 2) {
		pthread_join(submitters[i].thread, NULL);
		assert_int_equal(submitters[i].result, -ETIMEDOUT);
		assert_true(submitters[i].took_ns >= submitters[i].timeout_ns);
	}
	assert_int_equal(__atomic_load_n(&line->waiting, __ATOMIC_SEQ_CST), 2);
	assert_int_equal(npurt_ring_written(&rig.context->queue.ring), DEPTH);
	null_device_go_on(rig.device, 1);
	wait_until(&finished, 3);
	null_device_go_on(rig.device, UINT64_MAX);
	check_submitter(&submitters[1], 3, DEPTH + 1);
	check_submitter(&submitters[3], 4, DEPTH + 2);
	still_free(&rig);
}

static struct npurt_graph *make_graph(struct rig *rig, uint32_t replays)
{
	const struct npurt_graph_options options = { .size = sizeof(options), .replays = replays };
	struct npurt_graph *graph = NULL;

	ok(npurt_graph_create(rig->context, &options, &graph));
	ok(npurt_graph_add_run(graph, rig->model, rig->bindings, 2, 0, NULL));
	ok(npurt_graph_build(graph));
	return graph;
}

/* A replay that ends is handed on to who waits first. */
static void test_replays_in_order(void **state)
{
	struct submitter submitters[WAITERS];
	struct npurt_future *future = NULL;
	uint32_t finished = 0, i;
	struct npurt_graph *graph;
	struct rig rig;

	(void)state;
	still_make(&rig);
	graph = make_graph(&rig, 1);
	ok(npurt_graph_submit(graph, NULL, &future));
	for (i = 0; i < WAITERS; i++) {
		submitters[i] =
			(struct submitter){ .rig = &rig, .graph = graph, .finished = &finished };
		start_in_line(&submitters[i], &graph->line, i + 1);
	}
	for (i = 0; i < WAITERS; i++) {
		null_device_go_on(rig.device, GRAPH_PACKETS);
		wait_until(&finished, i + 1);
		assert_int_equal(npurt_ring_written(&rig.context->queue.ring),
				 GRAPH_PACKETS * (i + 2));
	}
	null_device_go_on(rig.device, UINT64_MAX);
	for (i = 0; i < WAITERS; i++)
		check_submitter(&submitters[i], i + 1, 0);
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	npurt_graph_destroy(graph);
	still_free(&rig);
}

/* Two who submit a graph with one replay: the first has it and waits for room in a full queue. */
struct pair {
	struct rig rig;
	struct npurt_graph *graph;
	uint32_t finished;
	struct submitter first, second;
};

static void pair_make(struct pair *pair, uint32_t policy, int64_t timeout_ns)
{
	still_make(&pair->rig);
	pair->graph = make_graph(&pair->rig, 1);
	pair->finished = 0;
	fill(&pair->rig);
	pair->second = (struct submitter){ .rig = &pair->rig,
					   .graph = pair->graph,
					   .finished = &pair->finished };
	pair->first = pair->second;
	pair->first.policy = policy;
	pair->first.timeout_ns = timeout_ns;
}

static void pair_free(struct pair *pair)
{
	npurt_graph_destroy(pair->graph);
	still_free(&pair->rig);
}

/* Returns false when the first one had given up before both stood in line. */
static bool pair_start(struct pair *pair)
{
	struct npurt_line *lines[] = { &pair->rig.context->queue.line, &pair->graph->line };
	struct submitter *submitters[] = { &pair->first, &pair->second };
	int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&submitters[i]->thread, NULL, submit_thread,
						submitters[i]),
				 0);
		while (!__atomic_load_n(&lines[i]->waiting, __ATOMIC_SEQ_CST) &&
		       !__atomic_load_n(&pair->finished, __ATOMIC_SEQ_CST))
			sched_yield();
	}
	return __atomic_load_n(&pair->graph->line.waiting, __ATOMIC_SEQ_CST) == 1;
}

/*
 * The only replay is a submitter's, who waits for room and gives up. Who waits for the replay is
 * told by it, and does not look at the device again and again. Returns false on a machine so slow
 * that the first one had given up before the second came.
 */
static bool given_back(int64_t timeout_ns)
{
	struct pair pair;
	bool in_time;

	pair_make(&pair, NPURT_POLICY_TIMEOUT, timeout_ns);
	in_time = pair_start(&pair);
	pthread_join(pair.first.thread, NULL);
	assert_int_equal(pair.first.result, -ETIMEDOUT);
	/* The second one has the replay, and waits for room. */
	wait_until(&pair.rig.context->queue.line.waiting, 1);
	wait_until(&pair.graph->line.waiting, 0);
	if (in_time)
		assert_int_equal(null_device_time_outs(pair.rig.device), 1);
	null_device_go_on(pair.rig.device, UINT64_MAX);
	check_submitter(&pair.second, 2, 0);
	pair_free(&pair);
	return in_time;
}

static void test_given_back(void **state)
{
	int64_t timeout_ns = 300 * MILLISECOND;

	(void)state;
	while (!given_back(timeout_ns))
		timeout_ns *= 2;
}

/* The same, and the first one gets room: now the queue's progress is waited for. */
static void test_handed_over(void **state)
{
	struct pair pair;

	(void)state;
	pair_make(&pair, NPURT_POLICY_BLOCK, 0);
	assert_true(pair_start(&pair));
	null_device_go_on(pair.rig.device, GRAPH_PACKETS);
	wait_until(&pair.finished, 1);
	assert_int_equal(__atomic_load_n(&pair.graph->line.waiting, __ATOMIC_SEQ_CST), 1);
	null_device_go_on(pair.rig.device, UINT64_MAX);
	check_submitter(&pair.first, 1, 0);
	check_submitter(&pair.second, 2, 0);
	pair_free(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_in_order),	 cmocka_unit_test(test_time_out_in_line),
		cmocka_unit_test(test_replays_in_order), cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
