// SPDX-License-Identifier: MIT
/*
 * The graphs of bench-runtime.c, of empty bodies, in StarPU: tasks and their dependencies are made
 * before; what is timed is the submission of all of them until all are done. Same lines.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 301
#define SECONDS_MAX 3

enum shape { CHAIN, FORK_JOIN, RANDOM };
static const char *const names[] = { "chain", "fork-join", "random" };

static void empty(void *buffers[], void *argument)
{
	(void)buffers;
	(void)argument;
}

static struct starpu_codelet codelet = { .cpu_funcs = { empty }, .name = "empty" };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void add_dependencies(struct starpu_task **tasks, enum shape shape, uint32_t count)
{
	uint32_t seed = 1, i;

	for (i = 1; i < count; i++) {
		struct starpu_task *two[2] = { tasks[i - 1], NULL };

		if (shape == RANDOM) {
			two[0] = tasks[draw(&seed) % i];
			two[1] = tasks[draw(&seed) % i];
			starpu_task_declare_deps_array(tasks[i], two[0] == two[1] ? 1 : 2, two);
		} else if (shape == CHAIN) {
			starpu_task_declare_deps_array(tasks[i], 1, two);
		} else if (i < count - 1) {
			starpu_task_declare_deps_array(tasks[i], 1, tasks);
		}
	}
	if (shape == FORK_JOIN && count > 2)
		starpu_task_declare_deps_array(tasks[count - 1], count - 2, tasks + 1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void make_tasks(struct starpu_task **tasks, enum shape shape, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		tasks[i] = starpu_task_create();
		tasks[i]->cl = &codelet;
	}
	add_dependencies(tasks, shape, count);
}

static void run_tasks(struct starpu_task **tasks, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (starpu_task_submit(tasks[i]))
			exit(1);
	}
	starpu_task_wait_for_all();
}

static struct starpu_task **make_room(uint32_t count)
{
	struct starpu_task **tasks = calloc(count, sizeof(*tasks));

	if (!tasks)
		exit(1);
	return tasks;
}

static void replay(enum shape shape, uint32_t count)
{
	struct starpu_task **tasks = make_room(count);
	double values[ROUNDS], begin = now_ns();
	int rounds = count > 10000 ? 11 : ROUNDS, round;

	for (round = -1; round < rounds; round++) {
		double start;

		if (round >= 5 && now_ns() - begin > SECONDS_MAX * 1e9)
			break;
		make_tasks(tasks, shape, count);
		start = now_ns();
		run_tasks(tasks, count);
		if (round >= 0)
			values[round] = (now_ns() - start) / count;
	}
	qsort(values, (size_t)round, sizeof(*values), compare);
	printf("%u empty host tasks, %s, a node, worker pool: submit to end of wait|ns|%.4g|%.4g\n",
	       count, names[shape], values[round / 2], values[0]);
	fflush(stdout);
	free(tasks);
}

static void replay_only(const char *name, uint32_t count, int rounds)
{
	struct starpu_task **tasks = make_room(count);
	int shape = CHAIN;

	while (shape < RANDOM && strcmp(names[shape], name))
		shape++;
	while (rounds-- > 0) {
		make_tasks(tasks, (enum shape)shape, count);
		run_tasks(tasks, count);
	}
	free(tasks);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 10, 1000, 100000 };
	size_t i;
	int shape;

	setenv("STARPU_SILENT", "1", 0);
	if (starpu_init(NULL))
		return 1;
	if (argc == 5 && !strcmp(argv[1], "replays")) {
		replay_only(argv[2], (uint32_t)atoi(argv[3]), atoi(argv[4]));
		starpu_shutdown();
		return 0;
	}
	for (shape = CHAIN; shape <= RANDOM; shape++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			replay((enum shape)shape, sizes[i]);
	}
	starpu_shutdown();
	return 0;
}
