// SPDX-License-Identifier: MIT
/*
 * What libnpurt costs. Each line printed is `name|unit|median|least`; the name says what is inside
 * the timed region. "Null consumer": a thread that takes packets and runs nothing (null_device.c).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npurt.h"
#include "npurt/tiny_model.h"
#include "npurt/null_device.h"

#define ROUNDS 301
#define BURST 256
/* On a machine that is busy with something else fewer rounds have to do. */
#define ROUNDS_MIN 5
#define SECONDS_MAX 3

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-runtime: %s: %s\n", what, npurt_last_error());
	exit(1);
}

#define ok(call) must((call), #call)

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, const char *unit, double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	printf("%s|%s|%.4g|%.4g\n", name, unit, values[count / 2], values[0]);
	fflush(stdout);
}

static bool is_enough(int rounds, double begin)
{
	return rounds >= ROUNDS_MIN && now_ns() - begin > SECONDS_MAX * 1e9;
}

struct rig {
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_binding bindings[2];
};

static void make(struct rig *rig, struct npurt_device *device, uint32_t depth)
{
	const struct npurt_context_options options = {
		.size = sizeof(options),
		.queue_depth = depth,
		.spin_us = 100000,
	};
	const struct tiny_options tiny = { .elements = 16 };
	struct tiny_model file;
	int i;

	memset(rig, 0, sizeof(*rig));
	ok(npurt_context_create(device, &options, &rig->context));
	tiny_model_make(&file, &tiny);
	ok(npurt_model_load_memory(rig->context, file.bytes, file.size, &rig->model));
	tiny_model_free(&file);
	for (i = 0; i < 2; i++)
		ok(npurt_buffer_alloc(rig->context, 32, 0, &rig->bindings[i].buffer));
}

/* Its consumer ends with it. */
static void unmake(struct rig *rig)
{
	npurt_buffer_free(rig->bindings[0].buffer);
	npurt_buffer_free(rig->bindings[1].buffer);
	npurt_model_unload(rig->model);
	npurt_context_destroy(rig->context);
}

/* Until everything that was submitted is complete, and let go of. */
static void drain(struct rig *rig)
{
	ok(npurt_run(rig->model, rig->bindings, 2, NULL));
}

static void dynamic(struct npurt_device *device, bool with_future)
{
	static double values[ROUNDS];
	struct npurt_future *future[BURST];
	struct rig rig;
	char name[160];
	double begin;
	int round, i;

	make(&rig, device, 2 * BURST);
	begin = now_ns();
	for (round = 0; round < ROUNDS && !is_enough(round, begin); round++) {
		double start;

		drain(&rig);
		start = cpu_ns();
		for (i = 0; i < BURST; i++)
			ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL,
					    with_future ? &future[i] : NULL));
		values[round] = (cpu_ns() - start) / BURST;
		drain(&rig);
		for (i = 0; with_future && i < BURST; i++)
			npurt_future_release(future[i]);
	}
	snprintf(name, sizeof(name),
		 "submission, %s future, null consumer: processor time of npurt_run_submit()",
		 with_future ? "with a" : "no");
	print(name, "ns", values, round);
	unmake(&rig);
}

/* So many submissions, for who counts instructions. */
static void submit_only(struct npurt_device *device, bool with_future, int count)
{
	struct npurt_future *future = NULL;
	struct rig rig;
	int i;

	make(&rig, device, 2 * BURST);
	for (i = 0; i < count; i++) {
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL,
				    with_future ? &future : NULL));
		if (with_future)
			npurt_future_release(future);
		if (i % BURST == BURST - 1)
			drain(&rig);
	}
	unmake(&rig);
}

/* ----------------------------------------------------------------------- graphs */

enum shape {
	CHAIN,
	FORK_JOIN,
	RANDOM
};

static const char *const shape_names[] = { "chain", "fork-join", "random" };

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void add_edges(struct npurt_graph *graph, enum shape shape, uint32_t nodes)
{
	uint32_t seed = 1, i;

	for (i = 1; i < nodes; i++) {
		if (shape == CHAIN) {
			ok(npurt_graph_add_edge(graph, i - 1, i));
		} else if (shape == RANDOM) {
			ok(npurt_graph_add_edge(graph, draw(&seed) % i, i));
			ok(npurt_graph_add_edge(graph, draw(&seed) % i, i));
		} else if (i < nodes - 1) {
			ok(npurt_graph_add_edge(graph, 0, i));
			ok(npurt_graph_add_edge(graph, i, nodes - 1));
		}
	}
}

static int nothing(void *data)
{
	(void)data;
	return 0;
}

static struct npurt_graph *make_graph(struct rig *rig, bool host, enum shape shape, uint32_t nodes)
{
	struct npurt_graph *graph = NULL;
	uint32_t i;

	ok(npurt_graph_create(rig->context, NULL, &graph));
	for (i = 0; i < nodes; i++)
		ok(host ? npurt_graph_add_host(graph, nothing, NULL, NULL) :
			  npurt_graph_add_run(graph, rig->model, rig->bindings, 2, 0, NULL));
	add_edges(graph, shape, nodes);
	ok(npurt_graph_build(graph));
	return graph;
}

static void replay(struct npurt_device *device, bool host, enum shape shape, uint32_t nodes)
{
	static double values[ROUNDS], submits[ROUNDS];
	int rounds = nodes > 10000 ? 21 : ROUNDS, round;
	struct npurt_graph *graph;
	double begin;
	struct rig rig;
	char name[160];

	make(&rig, device, 64);
	graph = make_graph(&rig, host, shape, nodes);
	begin = now_ns();
	for (round = -2; round < rounds && !is_enough(round, begin); round++) {
		struct npurt_future *future;
		double start = now_ns(), before = cpu_ns(), submitted;

		ok(npurt_graph_submit(graph, NULL, &future));
		submitted = cpu_ns();
		ok(npurt_future_wait(future, NPURT_FOREVER));
		if (round >= 0) {
			values[round] = (now_ns() - start) / nodes;
			submits[round] = submitted - before;
		}
		npurt_future_release(future);
	}
	snprintf(name, sizeof(name), "%u %s, %s, a node, %s: submit to end of wait", nodes,
		 host ? "empty host tasks" : "device tasks", shape_names[shape],
		 host ? "worker pool" : "null consumer");
	print(name, "ns", values, round);
	if (!host) {
		snprintf(name, sizeof(name),
			 "%u device tasks, %s, a graph, null consumer: processor time of "
			 "npurt_graph_submit()",
			 nodes, shape_names[shape]);
		print(name, "ns", submits, round);
	}
	npurt_graph_destroy(graph);
	unmake(&rig);
}

/* So many replays of empty host tasks, for who counts instructions. */
static void replay_only(struct npurt_device *device, const char *name, uint32_t nodes, int count)
{
	struct npurt_graph *graph;
	size_t shape = 0;
	struct rig rig;

	while (shape < RANDOM && strcmp(shape_names[shape], name))
		shape++;
	make(&rig, device, 64);
	graph = make_graph(&rig, true, (enum shape)shape, nodes);
	while (count-- > 0) {
		struct npurt_future *future;

		ok(npurt_graph_submit(graph, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		npurt_future_release(future);
	}
	npurt_graph_destroy(graph);
	unmake(&rig);
}

/* ------------------------------------------------------------------------- sim: */

static void round_trip(struct npurt_device *device)
{
	static double values[ROUNDS];
	struct npurt_graph *graph;
	struct npurt_binding to;
	struct rig rig;
	double begin;
	int round;

	make(&rig, device, 64);
	begin = now_ns();
	for (round = 0; round < ROUNDS && !is_enough(round, begin); round++) {
		double start = now_ns();

		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
		values[round] = now_ns() - start;
	}
	print("round trip of a run of 16 elements, sim:, both sides spin: npurt_run()", "ns",
	      values, round);
	to = rig.bindings[1];
	ok(npurt_graph_create(rig.context, NULL, &graph));
	ok(npurt_graph_add_copy(graph, &to, &rig.bindings[0], 1, NULL));
	ok(npurt_graph_build(graph));
	begin = now_ns();
	for (round = 0; round < ROUNDS && !is_enough(round, begin); round++) {
		struct npurt_future *future;
		double start = now_ns();

		ok(npurt_graph_submit(graph, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		values[round] = now_ns() - start;
		npurt_future_release(future);
	}
	print("round trip of a graph that copies a byte, sim:, both sides spin", "ns", values,
	      round);
	npurt_graph_destroy(graph);
	unmake(&rig);
}

/*
 * usage: bench-runtime [submit | instructions no|with-a COUNT | replays SHAPE NODES COUNT]
 * With `submit` the first two only, for a profiler; with `instructions` so many submissions, with
 * `replays` so many of a graph.
 */
int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 10, 1000, 100000 };
	struct npurt_device *null = null_device_open(), *sim = NULL;
	size_t i, shape;

	if (argc == 4 && !strcmp(argv[1], "instructions")) {
		submit_only(null, !strcmp(argv[2], "with-a"), atoi(argv[3]));
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "replays")) {
		replay_only(null, argv[2], (uint32_t)atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	dynamic(null, false);
	dynamic(null, true);
	if (argc == 2 && !strcmp(argv[1], "submit"))
		return 0;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		replay(null, false, CHAIN, sizes[i]);
	for (shape = CHAIN; shape <= RANDOM; shape++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			replay(null, true, (enum shape)shape, sizes[i]);
	}
	ok(npurt_open("sim:npu-v3?memory=256&spin=100000", &sim));
	round_trip(sim);
	return 0;
}
