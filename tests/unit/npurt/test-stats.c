// SPDX-License-Identifier: MIT
/* The statistics page: what is counted, who may read it, and when it goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "stats_page.h"

/* A beat and more, on a busy machine. */
#define PATIENCE_MS 10000

static bool open_page_of(pid_t pid, int number, int *fd)
{
	char name[64];

	snprintf(name, sizeof(name), "/" NPURT_STATS_PREFIX "%d.%d", (int)pid, number);
	*fd = shm_open(name, O_RDONLY, 0);
	return *fd >= 0;
}

static bool has_page(pid_t pid)
{
	int fd;

	if (!open_page_of(pid, 1, &fd))
		return false;
	close(fd);
	return true;
}

static const struct npurt_stats_page *map_page(void)
{
	const struct npurt_stats_page *page;
	int fd;

	assert_true(open_page_of(getpid(), 1, &fd));
	page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	close(fd);
	return page;
}

static void unmap_page(const struct npurt_stats_page *page)
{
	munmap((void *)(uintptr_t)page, sizeof(*page));
}

/* What the publisher looks up is there a beat later. */
static void wait_for_beat(const struct npurt_stats_page *page)
{
	uint64_t beats = __atomic_load_n(&page->beats, __ATOMIC_ACQUIRE);

	for (int i = 0; i < PATIENCE_MS; i++) {
		if (__atomic_load_n(&page->beats, __ATOMIC_ACQUIRE) >= beats + 2)
			return;
		usleep(1000);
	}
	fail_msg("the page has no beat");
}

static uint64_t sum(const struct npurt_stats_times *times)
{
	uint64_t count = 0;

	for (int i = 0; i < NPURT_STATS_BUCKETS; i++)
		count += times->bucket[i];
	return count;
}

static void test_buckets(void **state)
{
	uint64_t value, before;

	(void)state;
	for (unsigned int i = 0; i < NPURT_STATS_BUCKETS; i++) {
		value = npurt_stats_bucket_start(i);
		assert_int_equal(npurt_stats_bucket(value), i);
		before = npurt_stats_bucket_start(i + 1) - 1;
		assert_int_equal(npurt_stats_bucket(before), i);
		/* No wider than a sixteenth of what is in it. */
		assert_true((before - value) * 16 <= value);
	}
	assert_int_equal(npurt_stats_bucket(UINT64_MAX), NPURT_STATS_BUCKETS - 1);
}

static void test_counts(void **state)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	const struct npurt_stats_page *page;
	const struct npurt_stats_model *model;
	struct npurt_future *future;
	uint64_t cycles = 0, mac = 0;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	page = map_page();
	assert_int_equal(page->magic, NPURT_STATS_MAGIC);
	assert_int_equal(page->pid, getpid());
	assert_int_equal(page->start_time, npurt_stats_start_time(getpid()));
	rig_fill(&rig, rig.x, rig.y, 0);
	for (i = 0; i < 100; i++) {
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		ok(npurt_future_get_report(future, &report));
		cycles += report.cycles;
		mac += report.mac_cycles;
		npurt_future_release(future);
	}
	wait_for_beat(page);
	assert_int_equal(page->models_used, 1);
	model = &page->model[0];
	assert_int_equal(model->kind, NPURT_STATS_MODEL);
	assert_int_equal(model->queue, page->queue[0].number);
	assert_int_equal(model->counts.runs, 100);
	assert_int_equal(model->counts.failed, 0);
	assert_int_equal(model->counts.cycles, cycles);
	assert_int_equal(model->counts.mac_cycles, mac);
	assert_int_equal(sum(&model->counts.latency), 100);
	assert_true(model->counts.latency.sum_ns > 0);
	assert_int_equal(page->queue[0].submitted, 100);
	assert_int_equal(page->queue[0].completed, 100);
	assert_int_equal(page->queue[0].depth, 0);
	assert_int_equal(page->queue[0].counts.high_water, 1);
	assert_int_equal(sum(&page->queue[0].counts.wait), 100);
	if (rig_is_sim()) {
		assert_true(page->flags & NPURT_STATS_HAS_COUNTERS);
		assert_int_equal(page->device.tasks, 100);
		assert_true(page->device.time_cycles >= cycles);
	}
	rig_free(&rig);
	assert_false(has_page(getpid()));
	unmap_page(page);
}

static void test_full_queue(void **state)
{
	const struct npurt_context_options context = { .size = sizeof(context), .queue_depth = 4 };
	struct npurt_run_options run = { .size = sizeof(run), .policy = NPURT_POLICY_TRY };
	const struct tiny_options hangs = { .kind = TINY_HANGS };
	const struct npurt_stats_page *page;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, &context, &hangs);
	page = map_page();
	run.budget_cycles = NPURT_BUDGET_MAX;
	for (i = 0; i < 4; i++)
		ok(npurt_run_submit(rig.model, rig.bindings, 2, &run, NULL));
	for (i = 0; i < 3; i++)
		assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &run, NULL), -EAGAIN);
	run.policy = NPURT_POLICY_TIMEOUT;
	run.timeout_ns = 1000000;
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &run, NULL), -ETIMEDOUT);
	wait_for_beat(page);
	assert_int_equal(page->queue[0].capacity, 4);
	assert_int_equal(page->queue[0].depth, 4);
	assert_int_equal(page->queue[0].counts.refused, 3);
	assert_int_equal(page->queue[0].counts.timed_out, 1);
	rig_free(&rig);
	unmap_page(page);
}

static void test_oldest(void **state)
{
	const struct tiny_options hangs = { .kind = TINY_HANGS };
	struct npurt_run_options run = { .size = sizeof(run), .budget_cycles = NPURT_BUDGET_MAX };
	const struct npurt_stats_page *page;
	struct npurt_future *future;
	uint64_t first;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &hangs);
	page = map_page();
	ok(npurt_run_submit(rig.model, rig.bindings, 2, &run, &future));
	wait_for_beat(page);
	first = page->queue[0].oldest_ns;
	assert_true(first > 0);
	wait_for_beat(page);
	assert_true(page->queue[0].oldest_ns > first);
	npurt_future_release(future);
	rig_free(&rig);
	unmap_page(page);
}

static void test_failures(void **state)
{
	const struct tiny_options strays = { .kind = TINY_STRAYS };
	const struct npurt_stats_page *page;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &strays);
	page = map_page();
	assert_int_equal(npurt_run(rig.model, rig.bindings, 2, NULL), -EFAULT);
	assert_int_equal(page->model[0].counts.runs, 1);
	assert_int_equal(page->model[0].counts.failed, 1);
	npurt_model_unload(rig.model);
	rig.model = NULL;
	assert_int_equal(page->model[0].number, 0);
	assert_int_equal(page->ended_runs, 1);
	assert_int_equal(page->ended_failed, 1);
	rig_free(&rig);
	unmap_page(page);
}

static void test_graph(void **state)
{
	const struct npurt_stats_page *page;
	struct npurt_graph *graph;
	struct npurt_future *future;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	page = map_page();
	ok(npurt_graph_create(rig.context, NULL, &graph));
	for (i = 0; i < 3; i++)
		ok(npurt_graph_add_run(graph, rig.model, rig.bindings, 2, 0, NULL));
	ok(npurt_graph_build(graph));
	for (i = 0; i < 5; i++) {
		ok(npurt_graph_submit(graph, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		npurt_future_release(future);
	}
	assert_int_equal(page->models_used, 2);
	assert_int_equal(page->model[1].kind, NPURT_STATS_GRAPH);
	assert_string_equal(page->model[1].name, "graph of 3 nodes");
	assert_int_equal(page->model[1].counts.runs, 5);
	assert_true(page->model[1].counts.cycles > 0);
	npurt_graph_destroy(graph);
	assert_int_equal(page->model[1].number, 0);
	rig_free(&rig);
	unmap_page(page);
}

/* More than there are places for: they work, and are counted as left out. */
static void test_left_out(void **state)
{
	struct tiny_options tiny = { .elements = 16 };
	struct npurt_model *model[NPURT_STATS_MODELS + 2];
	const struct npurt_stats_page *page;
	struct tiny_model file;
	struct rig rig;
	int i;

	(void)state;
	rig_make(&rig, NULL, &tiny);
	page = map_page();
	tiny_model_make(&file, &tiny);
	for (i = 0; i < NPURT_STATS_MODELS + 2; i++)
		ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &model[i]));
	assert_int_equal(page->models_left_out, 3);
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run(model[NPURT_STATS_MODELS + 1], rig.bindings, 2, NULL));
	rig_check(&rig, rig.y, 0);
	for (i = 0; i < NPURT_STATS_MODELS + 2; i++)
		npurt_model_unload(model[i]);
	/* Places are used again, under new numbers. */
	ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &model[0]));
	assert_int_equal(page->models_left_out, 3);
	assert_true(page->model[1].number > NPURT_STATS_MODELS);
	npurt_model_unload(model[0]);
	tiny_model_free(&file);
	rig_free(&rig);
	unmap_page(page);
}

static void test_file(void **state)
{
	struct npurt_device *first = rig_open(NULL), *second = rig_open(NULL);
	struct stat stat_buffer;
	int fd;

	(void)state;
	assert_true(open_page_of(getpid(), 1, &fd));
	assert_int_equal(fstat(fd, &stat_buffer), 0);
	assert_int_equal(stat_buffer.st_mode & 0777, 0600);
	assert_int_equal(stat_buffer.st_uid, geteuid());
	assert_int_equal(stat_buffer.st_size, sizeof(struct npurt_stats_page));
	close(fd);
	/* One for each device. */
	assert_true(open_page_of(getpid(), 2, &fd));
	close(fd);
	npurt_close(first);
	npurt_close(second);
	assert_false(has_page(getpid()));
	assert_false(open_page_of(getpid(), 2, &fd));
}

static void test_switched_off(void **state)
{
	struct rig rig;

	(void)state;
	setenv("NPURT_STATS", "0", 1);
	rig_make(&rig, NULL, NULL);
	unsetenv("NPURT_STATS");
	assert_false(has_page(getpid()));
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	rig_check(&rig, rig.y, 0);
	rig_free(&rig);
}

/* Where the file would end the process with a signal, there is none. */
static void test_limited_files(void **state)
{
	struct rlimit before, little;
	struct rig rig;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	rig_make(&rig, NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(has_page(getpid()));
	rig_free(&rig);
}

/* How a child ends: it has a device open. */
enum ending { BY_EXIT, BY_SIGNAL };

static pid_t run_child(enum ending ending)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct npurt_device *device;

		if (npurt_open("sim:npu-v3?memory=64", &device) || !has_page(getpid()))
			_exit(3);
		if (ending == BY_EXIT)
			exit(0);
		kill(getpid(), SIGKILL);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (ending == BY_EXIT)
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	else
		assert_true(WIFSIGNALED(status));
	return pid;
}

static void test_exit_without_close(void **state)
{
	(void)state;
	assert_false(has_page(run_child(BY_EXIT)));
}

static void test_stale(void **state)
{
	struct npurt_device *device;
	pid_t pid = run_child(BY_SIGNAL);

	(void)state;
	assert_true(has_page(pid));
	device = rig_open(NULL);
	assert_false(has_page(pid));
	npurt_close(device);
}

/* A forked child, and its exit, leave the parent's page alone. */
static void test_fork(void **state)
{
	const struct npurt_stats_page *page;
	struct npurt_device *device = rig_open(NULL);
	int status;
	pid_t pid;

	(void)state;
	page = map_page();
	pid = fork();
	if (!pid)
		exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(has_page(getpid()));
	wait_for_beat(page);
	npurt_close(device);
	unmap_page(page);
}

/* Whole copies while models come and go. */
static void *come_and_go(void *opaque)
{
	struct rig *rig = opaque;
	const struct tiny_options tiny = { .elements = 16 };
	struct tiny_model file;

	tiny_model_make(&file, &tiny);
	for (int i = 0; i < 300; i++) {
		struct npurt_model *model;

		if (npurt_model_load_memory(rig->context, file.bytes, file.size, &model))
			break;
		npurt_run(model, rig->bindings, 2, NULL);
		npurt_model_unload(model);
	}
	tiny_model_free(&file);
	return NULL;
}

static void test_sequence(void **state)
{
	const struct tiny_options tiny = { .elements = 16 };
	const struct npurt_stats_page *page;
	uint64_t whole = 0, ended = 0;
	pthread_t thread;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &tiny);
	page = map_page();
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &rig), 0);
	while (ended < 300 || !whole) {
		uint32_t before = __atomic_load_n(&page->sequence, __ATOMIC_SEQ_CST), number;
		char first;

		number = __atomic_load_n(&page->model[1].number, __ATOMIC_SEQ_CST);
		first = __atomic_load_n(&page->model[1].name[0], __ATOMIC_SEQ_CST);
		ended = __atomic_load_n(&page->ended_runs, __ATOMIC_SEQ_CST);
		if (before & 1 || __atomic_load_n(&page->sequence, __ATOMIC_SEQ_CST) != before)
			continue;
		whole++;
		if (number)
			assert_int_not_equal(first, 0);
	}
	pthread_join(thread, NULL);
	rig_free(&rig);
	unmap_page(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_full_queue),
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_limited_files),
		cmocka_unit_test(test_exit_without_close),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
