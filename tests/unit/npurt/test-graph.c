// SPDX-License-Identifier: MIT
/* Graphs of device and host tasks, on a whole device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

#define BUFFERS 5

/* A chain b0 -> b1 -> b2 -> b3, each y = 2 x + w, and a host task that looks at the end. */
struct chain {
	struct rig rig;
	struct npurt_buffer *buffer[BUFFERS];
	struct npurt_graph *graph;
	uint32_t run[3], host;
	struct npurt_future *own; /* of the replay in flight */
	int calls;
	int answer;
	float seen;
};

static float value_at(struct chain *chain, int buffer, uint32_t index)
{
	struct npurt_tensor_info info = { .size = sizeof(info) };
	float values[64];

	ok(npurt_model_get_output(chain->rig.model, 0, &info));
	ok(npurt_tensor_to_host(&info, npurt_buffer_map(chain->buffer[buffer]),
				npurt_buffer_bytes(chain->buffer[buffer]), values, sizeof(values)));
	return values[index];
}

static void set_values(struct chain *chain, int buffer, float start)
{
	struct npurt_tensor_info info = { .size = sizeof(info) };
	float values[64];
	int i;

	for (i = 0; i < 64; i++)
		values[i] = start;
	ok(npurt_model_get_input(chain->rig.model, 0, &info));
	ok(npurt_tensor_from_host(&info, values, sizeof(values),
				  npurt_buffer_map(chain->buffer[buffer]),
				  npurt_buffer_bytes(chain->buffer[buffer])));
}

/* y = 2 x + w, n times. */
static float expected(float x, uint32_t index, int times)
{
	while (times--)
		x = 2 * x + tiny_weight(index);
	return x;
}

static int look(void *data)
{
	struct chain *chain = data;

	chain->calls++;
	chain->seen = value_at(chain, 3, 5);
	return chain->answer;
}

static void add_run(struct chain *chain, struct npurt_model *model, int from, int to,
		    uint32_t *node)
{
	const struct npurt_binding bindings[2] = {
		{ chain->buffer[from], 0 },
		{ chain->buffer[to], 0 },
	};

	ok(npurt_graph_add_run(chain->graph, model, bindings, 2, 0, node));
}

static void make_buffers(struct chain *chain, const struct npurt_context_options *context)
{
	int i;

	memset(chain, 0, sizeof(*chain));
	rig_make(&chain->rig, context, NULL);
	for (i = 0; i < BUFFERS; i++)
		ok(npurt_buffer_alloc(chain->rig.context, 128, 0, &chain->buffer[i]));
}

static void make_chain(struct chain *chain, bool with_host)
{
	int i;

	make_buffers(chain, NULL);
	ok(npurt_graph_create(chain->rig.context, NULL, &chain->graph));
	for (i = 0; i < 3; i++)
		add_run(chain, chain->rig.model, i, i + 1, &chain->run[i]);
	/* Not in the order of their numbers. */
	ok(npurt_graph_add_edge(chain->graph, chain->run[1], chain->run[2]));
	ok(npurt_graph_add_edge(chain->graph, chain->run[0], chain->run[1]));
	if (with_host) {
		ok(npurt_graph_add_host(chain->graph, look, chain, &chain->host));
		ok(npurt_graph_add_edge(chain->graph, chain->run[2], chain->host));
	}
	ok(npurt_graph_build(chain->graph));
}

static void free_chain(struct chain *chain)
{
	int i;

	npurt_graph_destroy(chain->graph);
	for (i = 0; i < BUFFERS; i++)
		npurt_buffer_free(chain->buffer[i]);
	rig_free(&chain->rig);
}

static void replay(struct npurt_graph *graph)
{
	struct npurt_future *future = NULL;

	ok(npurt_graph_submit(graph, NULL, &future));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
}

static void test_chain_and_host(void **state)
{
	struct npurt_context_status status = { .size = sizeof(status) };
	struct npurt_binding other;
	struct chain chain;

	(void)state;
	make_chain(&chain, true);
	set_values(&chain, 0, 3);
	replay(chain.graph);
	assert_int_equal(chain.calls, 1);
	assert_true(chain.seen == expected(3, 5, 3));
	set_values(&chain, 0, 7);
	replay(chain.graph);
	assert_int_equal(chain.calls, 2);
	assert_true(chain.seen == expected(7, 5, 3));
	/* A GRAPH and its SIGNAL for three tasks. */
	ok(npurt_context_get_status(chain.rig.context, &status));
	assert_int_equal(status.submitted, 4);
	assert_int_equal(status.completed, 4);
	/* Another input from now on. */
	set_values(&chain, 4, 1);
	other = (struct npurt_binding){ chain.buffer[4], 0 };
	ok(npurt_graph_set_binding(chain.graph, chain.run[0], 0, &other));
	replay(chain.graph);
	assert_true(chain.seen == expected(1, 5, 3));
	free_chain(&chain);
}

static void test_device_only(void **state)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_future *future;
	struct chain chain;
	int i;

	(void)state;
	make_chain(&chain, false);
	for (i = 0; i < 100; i++) {
		set_values(&chain, 0, (float)(i % 8));
		ok(npurt_graph_submit(chain.graph, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		ok(npurt_future_get_report(future, &report));
		assert_int_equal(report.status, 1);
		assert_true(report.cycles > 0);
		ok(npurt_future_node_result(future, 2));
		assert_int_equal(npurt_future_node_result(future, 3), -EINVAL);
		npurt_future_release(future);
		assert_true(value_at(&chain, 3, 6) == expected((float)(i % 8), 6, 3));
	}
	free_chain(&chain);
}

/* ---------------------------------------------------------------------- failure */

static int answer_of(void *data)
{
	return *(int *)data;
}

static int count_call(void *data)
{
	__atomic_fetch_add((int *)data, 1, __ATOMIC_ACQ_REL);
	return 0;
}

static struct npurt_model *load_tiny(struct chain *chain, enum tiny_kind kind)
{
	const struct tiny_options options = { .kind = kind, .trips = 300000 };
	struct tiny_model file;
	struct npurt_model *model = NULL;

	tiny_model_make(&file, &options);
	ok(npurt_model_load_memory(chain->rig.context, file.bytes, file.size, &model));
	tiny_model_free(&file);
	return model;
}

static void expect_result(struct npurt_future *future, uint32_t node, int result)
{
	int got = npurt_future_node_result(future, node);

	if (got != result)
		fail_msg("node %u ended with %d, expected %d", node, got, result);
}

/* The second of three runs goes astray; another branch of the same list does not care. */
static void test_device_failure(void **state)
{
	struct npurt_model *stray;
	struct npurt_future *future;
	uint32_t first, second, third, beside;
	struct chain chain;
	int i;

	(void)state;
	make_buffers(&chain, NULL);
	stray = load_tiny(&chain, TINY_STRAYS);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, chain.rig.model, 0, 1, &first);
	add_run(&chain, stray, 1, 2, &second);
	add_run(&chain, chain.rig.model, 2, 3, &third);
	add_run(&chain, chain.rig.model, 0, 4, &beside);
	ok(npurt_graph_add_edge(chain.graph, first, second));
	ok(npurt_graph_add_edge(chain.graph, second, third));
	ok(npurt_graph_build(chain.graph));
	npurt_model_unload(stray);
	/* Failing leaves nothing behind for the next replay. */
	for (i = 0; i < 2; i++) {
		set_values(&chain, 0, 2);
		ok(npurt_graph_submit(chain.graph, NULL, &future));
		assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -EFAULT);
		assert_says("node 1 of a graph of 4");
		assert_says("model 'tiny'");
		assert_says("nothing is mapped there");
		expect_result(future, first, 0);
		expect_result(future, second, -EFAULT);
		expect_result(future, third, -ECANCELED);
		expect_result(future, beside, 0);
		npurt_future_release(future);
		assert_true(value_at(&chain, 4, 6) == expected(2, 6, 1));
	}
	free_chain(&chain);
}

/* Bound to other memory while replays fail and tell what they worked on. For the sanitizers. */
struct binder {
	struct chain *chain;
	uint32_t node;
	uint32_t stop;
};

static void *bind_again_and_again(void *argument)
{
	struct binder *binder = argument;
	struct chain *chain = binder->chain;
	struct npurt_binding to = { NULL, 0 };

	while (!__atomic_load_n(&binder->stop, __ATOMIC_ACQUIRE)) {
		ok(npurt_buffer_alloc(chain->rig.context, 128, 0, &to.buffer));
		ok(npurt_graph_set_binding(chain->graph, binder->node, 1, &to));
		npurt_buffer_free(to.buffer);
	}
	return NULL;
}

static void test_failures_while_binding(void **state)
{
	struct npurt_model *stray;
	struct npurt_future *future;
	struct binder binder = { 0 };
	struct chain chain;
	pthread_t thread;
	int i;

	(void)state;
	make_buffers(&chain, NULL);
	stray = load_tiny(&chain, TINY_STRAYS);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, stray, 0, 1, &binder.node);
	ok(npurt_graph_build(chain.graph));
	npurt_model_unload(stray);
	binder.chain = &chain;
	assert_int_equal(pthread_create(&thread, NULL, bind_again_and_again, &binder), 0);
	for (i = 0; i < 50; i++) {
		ok(npurt_graph_submit(chain.graph, NULL, &future));
		assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -EFAULT);
		npurt_future_release(future);
	}
	__atomic_store_n(&binder.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	free_chain(&chain);
}

/* host a fails -> run b and host c behind it are not started; run d and host e are. */
static void test_host_failure(void **state)
{
	struct npurt_future *future;
	uint32_t a, b, c, d, e;
	int answer = -EPERM, calls_c = 0, calls_e = 0;
	struct chain chain;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	ok(npurt_graph_add_host(chain.graph, answer_of, &answer, &a));
	add_run(&chain, chain.rig.model, 0, 1, &b);
	ok(npurt_graph_add_host(chain.graph, count_call, &calls_c, &c));
	add_run(&chain, chain.rig.model, 0, 2, &d);
	ok(npurt_graph_add_host(chain.graph, count_call, &calls_e, &e));
	ok(npurt_graph_add_edge(chain.graph, a, b));
	ok(npurt_graph_add_edge(chain.graph, b, c));
	ok(npurt_graph_add_edge(chain.graph, d, e));
	ok(npurt_graph_build(chain.graph));
	set_values(&chain, 0, 1);
	memset(npurt_buffer_map(chain.buffer[1]), 0x11, 128);
	ok(npurt_graph_submit(chain.graph, NULL, &future));
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -EPERM);
	assert_says("node 0 of a graph of 5");
	assert_says("the host task returned -1");
	expect_result(future, a, -EPERM);
	expect_result(future, b, -ECANCELED);
	expect_result(future, c, -ECANCELED);
	expect_result(future, d, 0);
	expect_result(future, e, 0);
	assert_int_equal(calls_c, 0);
	assert_int_equal(calls_e, 1);
	assert_int_equal(*(unsigned char *)npurt_buffer_map(chain.buffer[1]), 0x11);
	assert_true(value_at(&chain, 2, 6) == expected(1, 6, 1));
	npurt_future_release(future);
	/* The same graph, once its host task does what it should. */
	answer = 0;
	replay(chain.graph);
	assert_int_equal(calls_c, 1);
	assert_int_equal(calls_e, 2);
	assert_true(value_at(&chain, 1, 6) == expected(1, 6, 1));
	free_chain(&chain);
}

/* ---------------------------------------------------------- between host and device */

/* Device, host, device, host; and a copy beside the second run. */
static int double_on_host(void *data)
{
	struct chain *chain = data;
	float value = value_at(chain, 1, 3);

	set_values(chain, 2, 2 * value);
	return 0;
}

static void test_back_and_forth(void **state)
{
	uint32_t first, host, second, copy;
	struct npurt_binding from, to;
	struct chain chain;
	int i;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, chain.rig.model, 0, 1, &first);
	ok(npurt_graph_add_host(chain.graph, double_on_host, &chain, &host));
	add_run(&chain, chain.rig.model, 2, 3, &second);
	from = (struct npurt_binding){ chain.buffer[3], 64 };
	to = (struct npurt_binding){ chain.buffer[4], 2 };
	ok(npurt_graph_add_copy(chain.graph, &to, &from, 33, &copy));
	ok(npurt_graph_add_edge(chain.graph, first, host));
	ok(npurt_graph_add_edge(chain.graph, host, second));
	ok(npurt_graph_add_edge(chain.graph, second, copy));
	ok(npurt_graph_build(chain.graph));
	for (i = 0; i < 20; i++) {
		unsigned char *copied = npurt_buffer_map(chain.buffer[4]);

		set_values(&chain, 0, (float)i);
		memset(copied, 0xee, 128);
		replay(chain.graph);
		/* w[3] is 0. */
		assert_true(value_at(&chain, 3, 6) == expected(4 * (float)i, 6, 1));
		assert_memory_equal(copied + 2,
				    (unsigned char *)npurt_buffer_map(chain.buffer[3]) + 64, 33);
		assert_int_equal(copied[1], 0xee);
		assert_int_equal(copied[35], 0xee);
	}
	free_chain(&chain);
}

/* ------------------------------------------------------------------ random DAGs */

#define RANDOM_NODES 400
#define RANDOM_EDGES_MAX (4 * RANDOM_NODES)

/*
 * Every node, on the host or on the device, hands on the mark of one that is before it, and those
 * without any the replay's: who ran too early has an older one. Host nodes also note when they ran.
 */
struct note {
	struct random_dag *dag;
	uint32_t from; /* whose mark: RANDOM_NODES is the replay's */
	uint32_t node;
	bool is_device;
	uint32_t time;
};

struct random_dag {
	uint32_t seed;
	uint32_t clock;
	uint32_t *marks; /* in a buffer */
	struct note note[RANDOM_NODES];
	uint32_t edges;
	uint32_t edge[RANDOM_EDGES_MAX][2];
};

static int take_note(void *data)
{
	struct note *note = data;
	uint32_t *marks = note->dag->marks;

	note->time = __atomic_add_fetch(&note->dag->clock, 1, __ATOMIC_ACQ_REL);
	marks[note->node] = marks[note->from];
	return 0;
}

static uint32_t draw(struct random_dag *dag)
{
	dag->seed = dag->seed * 1664525 + 1013904223;
	return dag->seed >> 8;
}

static void draw_dag(struct random_dag *dag, uint32_t edges, uint32_t devices_in_8)
{
	uint32_t i;

	for (i = 0; i < RANDOM_NODES; i++)
		dag->note[i] = (struct note){
			.dag = dag,
			.from = RANDOM_NODES,
			.node = i,
			.is_device = draw(dag) % 8 < devices_in_8,
		};
	for (dag->edges = 0; dag->edges < edges;) {
		uint32_t before = draw(dag) % RANDOM_NODES, after = draw(dag) % RANDOM_NODES;

		/* No cycle: along a permutation of the numbers. */
		if (before * 7 % RANDOM_NODES >= after * 7 % RANDOM_NODES)
			continue;
		dag->edge[dag->edges][0] = before;
		dag->edge[dag->edges++][1] = after;
		dag->note[after].from = before;
	}
}

static void build_dag(struct chain *chain, struct random_dag *dag, struct npurt_buffer *marks)
{
	uint32_t i;

	ok(npurt_graph_create(chain->rig.context, NULL, &chain->graph));
	for (i = 0; i < RANDOM_NODES; i++) {
		const struct npurt_binding from = { marks, 4 * dag->note[i].from };
		const struct npurt_binding to = { marks, 4 * i };

		if (dag->note[i].is_device)
			ok(npurt_graph_add_copy(chain->graph, &to, &from, 4, NULL));
		else
			ok(npurt_graph_add_host(chain->graph, take_note, &dag->note[i], NULL));
	}
	for (i = 0; i < dag->edges; i++)
		ok(npurt_graph_add_edge(chain->graph, dag->edge[i][0], dag->edge[i][1]));
	ok(npurt_graph_build(chain->graph));
}

static void check_dag(const struct random_dag *dag, uint32_t mark)
{
	uint32_t i, hosts = 0;

	for (i = 0; i < RANDOM_NODES; i++) {
		hosts += !dag->note[i].is_device;
		if (dag->marks[i] != mark)
			fail_msg("node %u ran before node %u", i, dag->note[i].from);
	}
	assert_int_equal(dag->clock, hosts);
	for (i = 0; i < dag->edges; i++) {
		const struct note *before = &dag->note[dag->edge[i][0]];
		const struct note *after = &dag->note[dag->edge[i][1]];

		if (!before->is_device && !after->is_device)
			assert_true(before->time < after->time);
	}
}

static void test_random_dags(void **state)
{
	static struct random_dag dag = { .seed = 1 };
	uint32_t round, again, mark = 0;
	struct npurt_buffer *marks;
	struct chain chain;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_buffer_alloc(chain.rig.context, 4 * (RANDOM_NODES + 1), 0, &marks));
	dag.marks = npurt_buffer_map(marks);
	for (round = 0; round < 12; round++) {
		draw_dag(&dag, RANDOM_NODES * (round % 4 + 1), round % 3 * 3);
		build_dag(&chain, &dag, marks);
		for (again = 0; again < 3; again++) {
			dag.marks[RANDOM_NODES] = ++mark;
			dag.clock = 0;
			replay(chain.graph);
			check_dag(&dag, mark);
		}
		npurt_graph_destroy(chain.graph);
	}
	npurt_buffer_free(marks);
	chain.graph = NULL;
	free_chain(&chain);
}

/* More packets than one GRAPH takes, in one replay. */
static void test_long_list(void **state)
{
	const uint32_t nodes = 65536 + 100;
	struct npurt_context_status status = { .size = sizeof(status) };
	struct npurt_binding from, to;
	struct npurt_future *future;
	struct chain chain;
	uint32_t i;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	/* Hands one byte on, through all of a buffer, many times. */
	for (i = 0; i < nodes; i++) {
		from = (struct npurt_binding){ chain.buffer[0], i % 128 };
		to = (struct npurt_binding){ chain.buffer[0], (i + 1) % 128 };
		ok(npurt_graph_add_copy(chain.graph, &to, &from, 1, NULL));
		if (i)
			ok(npurt_graph_add_edge(chain.graph, i - 1, i));
	}
	ok(npurt_graph_build(chain.graph));
	memset(npurt_buffer_map(chain.buffer[0]), 0, 128);
	*(unsigned char *)npurt_buffer_map(chain.buffer[0]) = 0x5c;
	ok(npurt_graph_submit(chain.graph, NULL, &future));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	assert_int_equal(((unsigned char *)npurt_buffer_map(chain.buffer[0]))[nodes % 128], 0x5c);
	ok(npurt_context_get_status(chain.rig.context, &status));
	assert_int_equal(status.submitted, 3);
	free_chain(&chain);
}

/* -------------------------------------------------------- admission, cancel, deadline */

/* A host task that stands still until it is told to go on. */
struct gate {
	uint32_t inside, open;
};

static int stand_still(void *data)
{
	struct gate *gate = data;

	__atomic_store_n(&gate->inside, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	return 0;
}

static void make_gate(struct chain *chain, struct gate *gate, int *calls)
{
	uint32_t first, run, last;

	memset(gate, 0, sizeof(*gate));
	make_buffers(chain, NULL);
	ok(npurt_graph_create(chain->rig.context, NULL, &chain->graph));
	ok(npurt_graph_add_host(chain->graph, stand_still, gate, &first));
	add_run(chain, chain->rig.model, 0, 1, &run);
	ok(npurt_graph_add_host(chain->graph, count_call, calls, &last));
	ok(npurt_graph_add_edge(chain->graph, first, run));
	ok(npurt_graph_add_edge(chain->graph, run, last));
	ok(npurt_graph_build(chain->graph));
	set_values(chain, 0, 1);
}

static void wait_inside(struct gate *gate)
{
	while (!__atomic_load_n(&gate->inside, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void test_policies(void **state)
{
	struct npurt_replay_options options = { .size = sizeof(options) };
	struct npurt_future *future, *none = NULL;
	struct chain chain;
	struct gate gate;
	int64_t start;
	int calls = 0;

	(void)state;
	make_gate(&chain, &gate, &calls);
	ok(npurt_graph_submit(chain.graph, NULL, &future));
	wait_inside(&gate);
	assert_int_equal(npurt_future_wait(future, 0), -ETIMEDOUT);
	options.policy = NPURT_POLICY_TRY;
	assert_int_equal(npurt_graph_submit(chain.graph, &options, &none), -EAGAIN);
	assert_says("in flight");
	options.policy = NPURT_POLICY_TIMEOUT;
	options.timeout_ns = 20000000;
	start = rig_now();
	assert_int_equal(npurt_graph_submit(chain.graph, &options, &none), -ETIMEDOUT);
	assert_true(rig_now() - start >= options.timeout_ns);
	assert_null(none);
	__atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
	ok(npurt_graph_submit(chain.graph, NULL, &none));
	ok(npurt_future_wait(none, NPURT_FOREVER));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	assert_int_equal(calls, 2);
	npurt_future_release(none);
	npurt_future_release(future);
	free_chain(&chain);
}

static void test_cancel(void **state)
{
	struct npurt_future *future;
	struct chain chain;
	struct gate gate;
	int calls = 0;

	(void)state;
	make_gate(&chain, &gate, &calls);
	ok(npurt_graph_submit(chain.graph, NULL, &future));
	wait_inside(&gate);
	ok(npurt_future_cancel(future));
	__atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -ECANCELED);
	assert_says("node 1 of a graph of 3");
	assert_says("cancelled before it started");
	expect_result(future, 0, 0);
	expect_result(future, 1, -ECANCELED);
	expect_result(future, 2, -ECANCELED);
	assert_int_equal(calls, 0);
	npurt_future_release(future);
	replay(chain.graph);
	assert_int_equal(calls, 1);
	free_chain(&chain);
}

/*
 * Submits with deadlines that grow, until the first host task starts before one: a machine may be
 * so busy that even that is late, and then nothing stands still.
 */
static struct npurt_future *submit_with_deadline(struct chain *chain, struct gate *gate)
{
	struct npurt_replay_options options = { .size = sizeof(options), .deadline_ns = 5000000 };
	struct npurt_future *future;

	for (;;) {
		int64_t late = rig_now() + options.deadline_ns;

		ok(npurt_graph_submit(chain->graph, &options, &future));
		while (rig_now() <= late + 1000000)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		if (__atomic_load_n(&gate->inside, __ATOMIC_ACQUIRE))
			return future;
		assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -ETIME);
		npurt_future_release(future);
		options.deadline_ns *= 2;
	}
}

static void test_deadline(void **state)
{
	struct npurt_future *future;
	struct chain chain;
	struct gate gate;
	int calls = 0;

	(void)state;
	make_gate(&chain, &gate, &calls);
	future = submit_with_deadline(&chain, &gate);
	__atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -ETIME);
	assert_says("deadline");
	expect_result(future, 0, 0);
	expect_result(future, 1, -ETIME);
	expect_result(future, 2, -ECANCELED);
	assert_int_equal(calls, 0);
	npurt_future_release(future);
	free_chain(&chain);
}

/* The deadline comes while a graph of device nodes waits: for its other replay, and for room. */
static void expect_late(struct chain *chain, uint32_t node)
{
	const struct npurt_replay_options options = { .size = sizeof(options),
						      .deadline_ns = 3000000 };
	struct npurt_future *future;

	ok(npurt_graph_submit(chain->graph, &options, &future));
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -ETIME);
	assert_says("deadline passed before it started");
	expect_result(future, node, -ETIME);
	npurt_future_release(future);
}

static void test_late_on_the_device(void **state)
{
	const struct npurt_context_options depth = { .size = sizeof(depth), .queue_depth = 2 };
	struct npurt_model *slow;
	struct npurt_future *first;
	struct chain chain;
	uint32_t node;

	(void)state;
	make_buffers(&chain, &depth);
	slow = load_tiny(&chain, TINY_SLOW);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, slow, 0, 1, &node);
	ok(npurt_graph_build(chain.graph));
	set_values(&chain, 0, 1);
	ok(npurt_graph_submit(chain.graph, NULL, &first));
	expect_late(&chain, node);
	ok(npurt_future_wait(first, 0));
	npurt_future_release(first);
	npurt_graph_destroy(chain.graph);

	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, chain.rig.model, 0, 2, &node);
	ok(npurt_graph_build(chain.graph));
	memset(npurt_buffer_map(chain.buffer[2]), 0x11, 128);
	ok(npurt_run_submit(slow, (struct npurt_binding[]){ { chain.buffer[0], 0 },
							     { chain.buffer[1], 0 } },
			    2, NULL, &first));
	expect_late(&chain, node);
	ok(npurt_future_wait(first, NPURT_FOREVER));
	npurt_future_release(first);
	assert_int_equal(*(unsigned char *)npurt_buffer_map(chain.buffer[2]), 0x11);
	/* The next one is not late. */
	replay(chain.graph);
	assert_true(value_at(&chain, 2, 6) == expected(1, 6, 1));
	npurt_model_unload(slow);
	free_chain(&chain);
}

/* Several replays of one graph in the queue: each with what it was given. */
static void test_replays_in_flight(void **state)
{
	const struct npurt_graph_options options = { .size = sizeof(options), .replays = 4 };
	struct npurt_buffer *in[32], *out[32];
	struct npurt_future *future[32];
	struct npurt_binding binding;
	struct chain chain;
	uint32_t node;
	int i;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_graph_create(chain.rig.context, &options, &chain.graph));
	add_run(&chain, chain.rig.model, 0, 1, &node);
	ok(npurt_graph_build(chain.graph));
	for (i = 0; i < 32; i++) {
		ok(npurt_buffer_alloc(chain.rig.context, 128, 0, &in[i]));
		ok(npurt_buffer_alloc(chain.rig.context, 128, 0, &out[i]));
		rig_fill(&chain.rig, in[i], out[i], i);
		binding = (struct npurt_binding){ in[i], 0 };
		ok(npurt_graph_set_binding(chain.graph, node, 0, &binding));
		binding.buffer = out[i];
		ok(npurt_graph_set_binding(chain.graph, node, 1, &binding));
		ok(npurt_graph_submit(chain.graph, NULL, &future[i]));
		/* The replay holds it. */
		npurt_buffer_free(in[i]);
	}
	for (i = 0; i < 32; i++) {
		ok(npurt_future_wait(future[i], NPURT_FOREVER));
		rig_check(&chain.rig, out[i], i);
		npurt_future_release(future[i]);
		npurt_buffer_free(out[i]);
	}
	free_chain(&chain);
}

/* What would wait, in a callback, does not: for the graph that it is part of, to be sure. */
static int wait_inside_callback(void *data)
{
	struct chain *chain = data;
	struct npurt_future *future;

	while (!(future = __atomic_load_n(&chain->own, __ATOMIC_ACQUIRE)))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	if (npurt_future_wait(future, 0) != -ETIMEDOUT)
		return -EIO;
	return npurt_future_wait(future, NPURT_FOREVER) == -EDEADLK ? 0 : -EIO;
}

static int submit_inside_callback(void *data)
{
	struct chain *chain = data;

	return npurt_graph_submit(chain->graph, NULL, NULL);
}

static void test_waits_in_callbacks(void **state)
{
	struct npurt_future *future;
	uint32_t first, second;
	struct chain chain;

	(void)state;
	make_buffers(&chain, NULL);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	ok(npurt_graph_add_host(chain.graph, wait_inside_callback, &chain, &first));
	ok(npurt_graph_add_host(chain.graph, submit_inside_callback, &chain, &second));
	ok(npurt_graph_add_edge(chain.graph, first, second));
	ok(npurt_graph_build(chain.graph));
	ok(npurt_graph_submit(chain.graph, NULL, &future));
	__atomic_store_n(&chain.own, future, __ATOMIC_RELEASE);
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -EDEADLK);
	expect_result(future, first, 0);
	expect_result(future, second, -EDEADLK);
	npurt_future_release(future);
	free_chain(&chain);
}

/* Everything is let go of while a host task runs: by itself at the end, on the worker. */
static void test_let_go_in_flight(void **state)
{
	struct chain chain;
	struct gate gate;
	int calls = 0, fds = rig_open_fds(), i;

	(void)state;
	make_gate(&chain, &gate, &calls);
	ok(npurt_graph_submit(chain.graph, NULL, NULL));
	wait_inside(&gate);
	free_chain(&chain);
	__atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&calls, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	/* A device-only one is killed with its context. */
	make_chain(&chain, false);
	ok(npurt_graph_submit(chain.graph, NULL, NULL));
	free_chain(&chain);
	/* The worker closes the first one's device after its last call. */
	for (i = 0; i < 10000 && rig_open_fds() != fds; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_int_equal(rig_open_fds(), fds);
}

/* -------------------------------------------------------------------- bad input */

static void test_bad_input(void **state)
{
	const struct npurt_graph_options options = { .size = sizeof(options), .replays = 65 };
	struct npurt_replay_options submit = { .size = sizeof(submit), .policy = 3 };
	struct npurt_context_options small = { .size = sizeof(small), .queue_depth = 1 };
	struct npurt_context_options few_bytes = { .size = sizeof(few_bytes), .queue_bytes = 300 };
	struct npurt_binding whole, beyond;
	struct npurt_graph *none = NULL;
	struct chain chain;
	int calls = 0;

	(void)state;
	make_buffers(&chain, &small);
	whole = (struct npurt_binding){ chain.buffer[0], 0 };
	beyond = (struct npurt_binding){ chain.buffer[1], 1 };
	assert_int_equal(npurt_graph_create(NULL, NULL, &none), -EINVAL);
	assert_int_equal(npurt_graph_create(chain.rig.context, &options, &none), -EINVAL);
	assert_says("64");
	assert_null(none);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	assert_int_equal(npurt_graph_build(chain.graph), -EINVAL);
	assert_says("no nodes");
	assert_int_equal(npurt_graph_submit(chain.graph, NULL, NULL), -EINVAL);
	assert_says("npurt_graph_build");
	assert_int_equal(npurt_graph_add_host(chain.graph, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(npurt_graph_add_run(chain.graph, chain.rig.model, &whole, 1, 0, NULL),
			 -EINVAL);
	assert_int_equal(npurt_graph_add_run(chain.graph, chain.rig.model, chain.rig.bindings, 2,
					     NPURT_BUDGET_MAX + 1, NULL),
			 -EINVAL);
	assert_int_equal(npurt_graph_add_copy(chain.graph, &beyond, &whole, 128, NULL), -EINVAL);
	assert_says("destination");
	assert_int_equal(npurt_graph_add_copy(chain.graph, &whole, &beyond, 0, NULL), -EINVAL);
	whole.buffer = chain.rig.x;
	assert_int_equal(npurt_graph_add_copy(chain.graph, &whole, &beyond, 8, NULL), -EINVAL);
	assert_says("only read");
	add_run(&chain, chain.rig.model, 0, 1, NULL);
	ok(npurt_graph_add_host(chain.graph, count_call, &calls, NULL));
	assert_int_equal(npurt_graph_add_edge(chain.graph, 0, 2), -EINVAL);
	assert_int_equal(npurt_graph_add_edge(chain.graph, 1, 1), -EINVAL);
	ok(npurt_graph_add_edge(chain.graph, 0, 1));
	/* A GRAPH and a SIGNAL do not fit a queue of one. */
	assert_int_equal(npurt_graph_build(chain.graph), -E2BIG);
	assert_says("queue_depth");
	ok(npurt_graph_add_edge(chain.graph, 1, 0));
	assert_int_equal(npurt_graph_build(chain.graph), -EINVAL);
	assert_says("cycle");
	free_chain(&chain);

	/* Each run works on 256 bytes: both together never get through, one by one they do. */
	make_buffers(&chain, &few_bytes);
	ok(npurt_graph_create(chain.rig.context, NULL, &chain.graph));
	add_run(&chain, chain.rig.model, 0, 1, NULL);
	add_run(&chain, chain.rig.model, 1, 2, NULL);
	ok(npurt_graph_add_edge(chain.graph, 0, 1));
	assert_int_equal(npurt_graph_build(chain.graph), -E2BIG);
	assert_says("512 bytes");
	assert_says("queue_bytes");
	free_chain(&chain);

	make_chain(&chain, true);
	assert_int_equal(npurt_graph_build(chain.graph), -EBUSY);
	assert_int_equal(npurt_graph_add_edge(chain.graph, 0, 1), -EBUSY);
	assert_int_equal(npurt_graph_submit(chain.graph, &submit, NULL), -EINVAL);
	whole = (struct npurt_binding){ chain.buffer[4], 0 };
	assert_int_equal(npurt_graph_set_binding(chain.graph, 9, 0, &whole), -EINVAL);
	assert_int_equal(npurt_graph_set_binding(chain.graph, 0, 2, &whole), -EINVAL);
	assert_int_equal(npurt_graph_set_binding(chain.graph, chain.host, 0, &whole), -EINVAL);
	whole.offset = 64;
	assert_int_equal(npurt_graph_set_binding(chain.graph, 0, 0, &whole), -EINVAL);
	assert_int_equal(npurt_future_node_result(NULL, 0), -EINVAL);
	assert_int_equal(npurt_future_cancel(NULL), -EINVAL);
	replay(chain.graph);
	free_chain(&chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain_and_host),
		cmocka_unit_test(test_device_only),
		cmocka_unit_test(test_device_failure),
		cmocka_unit_test(test_failures_while_binding),
		cmocka_unit_test(test_host_failure),
		cmocka_unit_test(test_back_and_forth),
		cmocka_unit_test(test_random_dags),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_late_on_the_device),
		cmocka_unit_test(test_replays_in_flight),
		cmocka_unit_test(test_waits_in_callbacks),
		cmocka_unit_test(test_let_go_in_flight),
		cmocka_unit_test(test_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
