// SPDX-License-Identifier: MIT
/*
 * usage: load DEVICE
 *
 * Three contexts of different priority on one device, each with a model of its own and a thread
 * that runs it at its own pace; a fourth one is offered more than its queue takes.
 *
 * Says "ready" at the beginning. A line on its standard input ends the work: then it prints, in
 * JSON, what it has measured itself, and keeps everything until its standard input ends. It tells
 * when each run ended (CLOCK_MONOTONIC), and quantiles of latency: of each what ranks around it
 * have, as close to the end they lie far apart.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "npurt.h"
#include "npurt/tiny_model.h"

#define LOADS 3
#define RUNS_MAX 1000000
#define NS 1000000000ll

struct load {
	const char *name; /* as long as "tiny" */
	uint32_t priority, elements, trips, depth;
	int64_t every_ns;
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_binding bindings[2];
	pthread_t thread;
	int64_t *latency, *end;
	uint64_t runs, failed, refused;
};

static int64_t begin_ns;
static uint32_t ended;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS + time.tv_nsec;
}

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "load: %s: %s\n", what, npurt_last_error());
	exit(1);
}

#define ok(call) must((call), #call)

static void make(struct load *load, struct npurt_device *device)
{
	const struct npurt_context_options options = {
		.size = sizeof(options),
		.priority = load->priority,
		.queue_depth = load->depth,
	};
	const struct tiny_options tiny = {
		.kind = TINY_SLOW,
		.elements = load->elements,
		.trips = load->trips,
	};
	struct tiny_model file;
	char *name;
	int i;

	ok(npurt_context_create(device, &options, &load->context));
	tiny_model_make(&file, &tiny);
	name = memmem(file.bytes, file.size, "tiny", 5);
	must(name ? 0 : -EINVAL, "the model's name");
	memcpy(name, load->name, 4);
	ok(npurt_model_load_memory(load->context, file.bytes, file.size, &load->model));
	tiny_model_free(&file);
	for (i = 0; i < 2; i++) {
		ok(npurt_buffer_alloc(load->context, load->elements * 2, 0,
				      &load->bindings[i].buffer));
		load->bindings[i].offset = 0;
	}
	load->latency = calloc(RUNS_MAX, sizeof(*load->latency));
	load->end = calloc(RUNS_MAX, sizeof(*load->end));
	must(load->latency && load->end ? 0 : -ENOMEM, "memory");
}

static void unmake(struct load *load)
{
	npurt_buffer_free(load->bindings[0].buffer);
	npurt_buffer_free(load->bindings[1].buffer);
	npurt_model_unload(load->model);
	npurt_context_destroy(load->context);
	free(load->latency);
	free(load->end);
}

static void sleep_until(int64_t ns)
{
	struct timespec wake = { .tv_sec = ns / NS, .tv_nsec = ns % NS };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
}

/* What the library says it took: when this thread gets to look depends on who else wants the processor. */
static int run_once(struct load *load, int64_t *latency)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_future *future;
	int64_t before = now(), after;
	int ret;

	ok(npurt_run_submit(load->model, load->bindings, 2, NULL, &future));
	ret = npurt_future_wait(future, NPURT_FOREVER);
	after = now();
	ok(npurt_future_get_report(future, &report));
	*latency = report.complete_ns - report.submit_ns;
	if (report.submit_ns < before || report.complete_ns > after || *latency <= 0) {
		fprintf(stderr, "npu-load: a run's times are not within what it took\n");
		exit(1);
	}
	npurt_future_release(future);
	return ret;
}

/* One run after another, each begun when its turn has come. */
static void *run(void *opaque)
{
	struct load *load = opaque;
	int64_t turn = begin_ns;

	for (; !__atomic_load_n(&ended, __ATOMIC_RELAXED) && load->runs < RUNS_MAX;
	     turn += load->every_ns) {
		sleep_until(turn);
		if (run_once(load, &load->latency[load->runs]))
			load->failed++;
		load->end[load->runs] = now();
		load->runs++;
	}
	return NULL;
}

static int compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

	return a < b ? -1 : a > b;
}

static int64_t quantile(const struct load *load, double share)
{
	uint64_t rank = (uint64_t)(share * (double)load->runs);

	return load->runs ? load->latency[rank < load->runs ? rank : load->runs - 1] : 0;
}

static void print(struct load *load, bool last)
{
	uint64_t i;

	qsort(load->latency, load->runs, sizeof(*load->latency), compare);
	printf("{\"name\": \"%s\", \"priority\": %u, \"runs\": %" PRIu64 ", \"failed\": %" PRIu64
	       ", \"p50_ns\": [%" PRId64 ", %" PRId64 "], \"p99_ns\": [%" PRId64 ", %" PRId64
	       "], \"ends_ns\": [",
	       load->name, load->priority, load->runs, load->failed, quantile(load, 0.48),
	       quantile(load, 0.52), quantile(load, 0.98), quantile(load, 1));
	for (i = 0; i < load->runs; i++)
		printf("%s%" PRId64, i ? "," : "", load->end[i]);
	printf("]}%s\n", last ? "" : ",");
}

/* A queue of two that holds more work than the load lasts. */
static void fill(struct load *load)
{
	const struct npurt_run_options options = {
		.size = sizeof(options),
		.policy = NPURT_POLICY_TRY,
	};
	int ret;

	/* A submitter that is held up finds room again. */
	while (load->refused < 10) {
		ret = npurt_run_submit(load->model, load->bindings, 2, &options, NULL);
		if (ret == -EAGAIN)
			load->refused++;
		else
			must(ret, "npurt_run_submit");
	}
}

int main(int argc, char **argv)
{
	struct load loads[LOADS] = {
		{ .name = "fast",
		  .priority = 1,
		  .elements = 64,
		  .trips = 10,
		  .every_ns = NS / 200 },
		{ .name = "even",
		  .priority = 2,
		  .elements = 256,
		  .trips = 20,
		  .every_ns = NS / 100 },
		{ .name = "slow",
		  .priority = 3,
		  .elements = 1024,
		  .trips = 40,
		  .every_ns = NS / 50 },
	};
	struct load full = { .name = "full", .elements = 4096, .trips = 50, .depth = 2 };
	struct npurt_device *device;
	int i, key;

	if (argc != 2) {
		fputs("usage: load DEVICE\n", stderr);
		return 2;
	}
	ok(npurt_open(argv[1], &device));
	for (i = 0; i < LOADS; i++)
		make(&loads[i], device);
	make(&full, device);
	fill(&full);
	begin_ns = now();
	for (i = 0; i < LOADS; i++) {
		if (pthread_create(&loads[i].thread, NULL, run, &loads[i]))
			must(-EAGAIN, "pthread_create");
	}
	puts("ready");
	fflush(stdout);
	while ((key = getchar()) != '\n' && key != EOF)
		;
	__atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
	for (i = 0; i < LOADS; i++)
		pthread_join(loads[i].thread, NULL);
	printf("{\"refused\": %" PRIu64 ", \"loads\": [\n", full.refused);
	for (i = 0; i < LOADS; i++)
		print(&loads[i], i + 1 == LOADS);
	printf("]}\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (i = 0; i < LOADS; i++)
		unmake(&loads[i]);
	unmake(&full);
	npurt_close(device);
	return 0;
}
