// SPDX-License-Identifier: MIT
/* Runs on a whole device: model and firmware, as an application sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#define MS 1000000ll

static void check_firmware_log(struct npurt_device *device)
{
	char log[4096];
	uint32_t position = 0;
	int bytes = npurt_device_firmware_log(device, &position, log, sizeof(log));

	assert_true(bytes > 0);
	assert_non_null(memmem(log, (size_t)bytes, "npu-fw", 6));
	assert_int_equal(npurt_device_firmware_log(device, &position, log, sizeof(log)), 0);
}

static void test_info(void **state)
{
	struct npurt_device *device = rig_open(NULL);
	struct npurt_device_info info = { .size = sizeof(info) };
	struct npurt_device_counters counters = { .size = sizeof(counters) };
	struct npurt_device_entry entries[8];

	(void)state;
	ok(npurt_device_get_info(device, &info));
	assert_string_equal(info.config, "npu-v3");
	assert_int_equal(info.clusters, 4);
	assert_int_equal(info.local_sram_bytes, 512 << 10);
	assert_int_equal(info.global_sram_bytes, 4 << 20);
	assert_int_equal(info.macs_per_cluster, 1024);
	assert_int_equal(info.dma_channels, 8);
	assert_int_equal(info.clock_hz, 1000000000);
	assert_int_equal(info.queues, 64);
	assert_int_equal(info.semaphores_per_context, 256);
	assert_int_equal(info.firmware_abi >> 16, 1);
	assert_true(strlen(info.firmware_version) > 0);
	/* An older program's structure is filled as far as it goes. */
	memset(&info, 0x77, sizeof(info));
	info.size = offsetof(struct npurt_device_info, config);
	ok(npurt_device_get_info(device, &info));
	assert_int_equal(info.config[0], 0x77);
	assert_int_equal(strncmp(info.name, rig_is_sim() ? "sim:npu-v3" : "/dev/accel/accel", 10),
			 0);
	info.size = 3;
	assert_int_equal(npurt_device_get_info(device, &info), -EINVAL);
	ok(npurt_device_get_counters(device, &counters));
	assert_true(counters.time_cycles > 0);
	check_firmware_log(device);
	assert_true(npurt_list(entries, sizeof(entries[0]), 8) >= 2);
	/* Cards come first. */
	assert_string_equal(entries[0].name, rig_is_sim() ? "sim:npu-v3" : "/dev/accel/accel0");
	npurt_close(device);
}

static void test_names(void **state)
{
	struct npurt_device *device = NULL;

	(void)state;
	assert_int_equal(npurt_open("sim:nothing", &device), -EINVAL);
	assert_says("nothing");
	assert_int_equal(npurt_open("sim:npu-v3?clusters=99", &device), -EINVAL);
	assert_says("clusters");
	assert_int_equal(npurt_open("sim:npu-v3?memory=x", &device), -EINVAL);
	assert_says("memory=x");
	assert_int_equal(npurt_open("tty0", &device), -EINVAL);
	assert_int_equal(npurt_open("/dev/accel/accel1x", &device), -EINVAL);
	assert_int_equal(npurt_open("accel01", &device), -EINVAL);
	assert_says("accel01");
	assert_int_equal(npurt_open("/dev/accel/accel99999", &device), -ENOENT);
	assert_says("modprobe npu");
	assert_int_equal(npurt_open("accel99998?pages=4k", &device), -ENOENT);
	assert_says("/dev/accel/accel99998");
	assert_null(device);
	setenv("NPU_DEVICE", "sim:lowpower-v3?memory=64", 1);
	ok(npurt_open(NULL, &device));
	unsetenv("NPU_DEVICE");
	struct npurt_device_info info = { .size = sizeof(info) };
	ok(npurt_device_get_info(device, &info));
	assert_string_equal(info.config, "lowpower-v3");
	assert_int_equal(info.clusters, 1);
	npurt_close(device);
	setenv("NPU_FIRMWARE", "/nonexistent/firmware", 1);
	assert_int_equal(npurt_open("sim:?memory=64", &device), -ENOENT);
	assert_says("/nonexistent/firmware");
	setenv("NPU_FIRMWARE", "/proc/self/exe", 1);
	assert_true(npurt_open("sim:?memory=64", &device) < 0);
	unsetenv("NPU_FIRMWARE");
}

/*
 * Little address space: the default memory adapts, one that was asked for does not. The
 * sanitizers' own memory would not fit below such a limit.
 */
#ifndef SANITIZED
static void test_little_address_space(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const struct rlimit limit = { 3ull << 30, 3ull << 30 };
		struct npurt_device *device;
		int bad = setrlimit(RLIMIT_AS, &limit);

		bad |= npurt_open("sim:?memory=16384", &device) != -ENOMEM;
		bad |= !strstr(npurt_last_error(), "ulimit -v");
		bad |= npurt_open("sim:", &device);
		if (!bad)
			npurt_close(device);
		_exit(bad != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

static void test_one_run(void **state)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 3);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	rig_check(&rig, rig.y, 3);
	rig_note("one run", future);
	ok(npurt_future_get_report(future, &report));
	assert_int_equal(report.task_id, 1);
	assert_int_equal(report.status, 1);
	assert_int_equal(report.error, 0);
	assert_int_equal(report.clusters, 1);
	assert_true(report.cycles > 60 && report.cycles < 100000);
	assert_int_equal(report.cycles, report.end - report.start);
	assert_true(report.vector_cycles > 0);
	assert_true(report.dma_cycles > 0);
	assert_int_equal(report.mac_cycles, 0);
	/* x and w in, y out: two bursts each; the program beside. */
	assert_true(report.dram_read_bytes >= 256);
	assert_int_equal(report.dram_write_bytes, 128);
	assert_true(report.complete_ns >= report.submit_ns);
	assert_string_equal(npurt_future_error(future), "");
	assert_int_equal(npurt_future_get_layer_times(future, NULL, 0), -ENODATA);
	ok(npurt_future_wait(future, 0));
	npurt_future_release(future);
	rig_free(&rig);
}

static void test_profile(void **state)
{
	struct npurt_run_options options = { .size = sizeof(options), .flags = NPURT_RUN_PROFILE };
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_layer_time times[2];
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, &options, &future));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	rig_check(&rig, rig.y, 0);
	rig_note("profiled", future);
	assert_int_equal(npurt_future_get_layer_times(future, times, 2), 2);
	ok(npurt_future_get_report(future, &report));
	assert_true(times[0].end > 60);
	assert_true(times[1].end > times[0].end);
	assert_true(times[1].end <= report.cycles);
	assert_int_equal(times[0].cycles + times[1].cycles, times[1].end);
	npurt_future_release(future);
	rig_free(&rig);
}

static void test_same_cycles(void **state)
{
	struct npurt_task_report report = { .size = sizeof(report) };
	uint64_t cycles = 0;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct npurt_future *future;
		struct rig rig;

		rig_make(&rig, NULL, NULL);
		rig_fill(&rig, rig.x, rig.y, i);
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		ok(npurt_future_get_report(future, &report));
		if (i)
			assert_int_equal(report.cycles, cycles);
		cycles = report.cycles;
		npurt_future_release(future);
		rig_free(&rig);
	}
}

static void test_bindings(void **state)
{
	struct npurt_run_options options = { .size = sizeof(options) };
	struct npurt_binding bad[2];
	struct npurt_context *other;
	struct npurt_buffer *foreign, *large;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_context_create(rig.device, NULL, &other));
	ok(npurt_buffer_alloc(other, 4096, 0, &foreign));
	ok(npurt_buffer_alloc(rig.context, 4096, 0, &large));
	assert_int_equal(npurt_run(rig.model, rig.bindings, 1, NULL), -EINVAL);
	assert_says("1 bindings, it wants 2");
	assert_int_equal(npurt_run(rig.model, NULL, 2, NULL), -EINVAL);
	memcpy(bad, rig.bindings, sizeof(bad));
	bad[0].buffer = NULL;
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	assert_says("input 'x'");
	bad[0].buffer = foreign;
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	assert_says("another context");
	memcpy(bad, rig.bindings, sizeof(bad));
	bad[1].buffer = rig.x;
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	assert_says("only read");
	bad[1] = (struct npurt_binding){ large, 32 };
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	bad[1] = (struct npurt_binding){ large, 4096 - 64 };
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	bad[1] = (struct npurt_binding){ large, UINT64_MAX - 63 };
	assert_int_equal(npurt_run(rig.model, bad, 2, NULL), -EINVAL);
	options.policy = 3;
	assert_int_equal(npurt_run(rig.model, rig.bindings, 2, &options), -EINVAL);
	options.policy = 0;
	options.budget_cycles = NPURT_BUDGET_MAX + 1;
	assert_int_equal(npurt_run(rig.model, rig.bindings, 2, &options), -EINVAL);
	/* The last good place, and in the middle of the memory. */
	rig_fill(&rig, rig.x, large, 1);
	bad[1] = (struct npurt_binding){ large, 4096 - 128 };
	ok(npurt_run(rig.model, bad, 2, NULL));
	memmove(npurt_buffer_map(large), (char *)npurt_buffer_map(large) + 4096 - 128, 128);
	rig_check(&rig, large, 1);
	npurt_buffer_free(large);
	npurt_buffer_free(foreign);
	npurt_context_destroy(other);
	rig_free(&rig);
}

/* ----------------------------------------------------------------- failures */

/* Runs a bad model once; its sentence must have all of the words. Then a good one must run. */
static void run_bad(enum tiny_kind kind, uint64_t budget, int error, const char *const *words)
{
	struct npurt_run_options options = { .size = sizeof(options), .budget_cycles = budget };
	struct npurt_task_report report = { .size = sizeof(report) };
	struct tiny_options tiny = { .kind = kind };
	struct tiny_model file;
	struct npurt_model *good;
	struct npurt_future *future;
	struct rig rig;
	int ret;

	rig_make(&rig, NULL, &tiny);
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, &options, &future));
	ret = npurt_future_wait(future, NPURT_FOREVER);
	if (ret != error)
		fail_msg("got %d (%s), expected %d", ret, ret ? npurt_last_error() : "", error);
	assert_string_equal(npurt_future_error(future), npurt_last_error());
	for (; *words; words++)
		assert_says(*words);
	print_message("          %s\n", npurt_last_error());
	ok(npurt_future_get_report(future, &report));
	rig_note("failed", future);
	assert_int_not_equal(report.status, 1);
	if (budget)
		assert_true(report.cycles >= budget && report.cycles < budget + 10000);
	npurt_future_release(future);
	/* Others are none the worse for it. */
	tiny = (struct tiny_options){ 0 };
	tiny_model_make(&file, &tiny);
	ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &good));
	ok(npurt_run(good, rig.bindings, 2, NULL));
	rig_check(&rig, rig.y, 0);
	npurt_model_unload(good);
	tiny_model_free(&file);
	rig_free(&rig);
}

static void test_budget(void **state)
{
	static const char *const words[] = { "task 1 of model 'tiny'", "budget",
					     "it waited for token t9, in layer 'shift", NULL };

	(void)state;
	run_bad(TINY_HANGS, 1 << 20, -ETIME, words);
}

static void test_stray_write(void **state)
{
	static const char *const words[] = { "task 1 of model 'tiny'", "writing address 0x",
					     "nothing is mapped there", "layer 'shift", NULL };

	(void)state;
	run_bad(TINY_STRAYS, 0, -EFAULT, words);
}

static void test_write_protected(void **state)
{
	static const char *const words[] = { "does not allow it", "writing address",
					     "in the model's weights", "layer 'shift", NULL };

	(void)state;
	run_bad(TINY_WRITES_WEIGHTS, 0, -EFAULT, words);
}

static void test_illegal(void **state)
{
	static const char *const words[] = { "illegal instruction", "layer 'shift", "cluster 0",
					     NULL };

	(void)state;
	run_bad(TINY_ILLEGAL, 0, -EFAULT, words);
}

/* -------------------------------------------------------------- full queues */

#define DEPTH 4

/* Fills the queue with slow tasks; returns their futures. */
static void fill_queue(struct rig *rig, struct npurt_future **futures)
{
	struct npurt_context_options context = { .size = sizeof(context), .queue_depth = DEPTH };
	struct tiny_options tiny = { .kind = TINY_SLOW, .trips = 300000 };
	unsigned int i;

	rig_make(rig, &context, &tiny);
	rig_fill(rig, rig->x, rig->y, 0);
	for (i = 0; i < DEPTH; i++)
		ok(npurt_run_submit(rig->model, rig->bindings, 2, NULL, &futures[i]));
}

static void empty_queue(struct rig *rig, struct npurt_future **futures)
{
	unsigned int i;

	for (i = 0; i < DEPTH; i++) {
		ok(npurt_future_wait(futures[i], NPURT_FOREVER));
		npurt_future_release(futures[i]);
	}
	rig_check(rig, rig->y, 0);
	rig_free(rig);
}

static void test_full_try(void **state)
{
	struct npurt_run_options options = { .size = sizeof(options),
					     .policy = NPURT_POLICY_TRY };
	struct npurt_context_status status = { .size = sizeof(status) };
	struct npurt_future *futures[DEPTH], *none = NULL;
	struct rig rig;

	(void)state;
	fill_queue(&rig, futures);
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &options, &none), -EAGAIN);
	assert_says("4 of its 4 places are taken");
	assert_null(none);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.queue_depth, DEPTH);
	assert_int_equal(status.submitted, DEPTH);
	assert_int_equal(status.error, 0);
	assert_int_equal(npurt_future_wait(futures[DEPTH - 1], 0), -ETIMEDOUT);
	assert_int_equal(npurt_future_wait(futures[DEPTH - 1], MS), -ETIMEDOUT);
	ok(npurt_future_wait(futures[0], NPURT_FOREVER));
	/* One is through, so there is room for one. */
	ok(npurt_run_submit(rig.model, rig.bindings, 2, &options, &none));
	ok(npurt_future_wait(none, NPURT_FOREVER));
	npurt_future_release(none);
	ok(npurt_context_get_status(rig.context, &status));
	assert_int_equal(status.submitted, DEPTH + 1);
	assert_int_equal(status.completed, DEPTH + 1);
	assert_int_equal(status.in_flight, 0);
	empty_queue(&rig, futures);
}

static void test_full_timeout(void **state)
{
	struct npurt_run_options options = { .size = sizeof(options),
					     .policy = NPURT_POLICY_TIMEOUT, .timeout_ns = 2 * MS };
	struct npurt_future *futures[DEPTH], *future = NULL;
	struct rig rig;
	int64_t start;

	(void)state;
	fill_queue(&rig, futures);
	start = rig_now();
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, &options, &future),
			 -ETIMEDOUT);
	assert_true(rig_now() - start >= 2 * MS);
	assert_says("no room");
	options.timeout_ns = 600000 * MS;
	ok(npurt_run_submit(rig.model, rig.bindings, 2, &options, &future));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	empty_queue(&rig, futures);
}

static void test_full_block(void **state)
{
	struct npurt_future *futures[DEPTH], *future = NULL;
	struct rig rig;

	(void)state;
	fill_queue(&rig, futures);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	/* There was room only because the first was through. */
	ok(npurt_future_wait(futures[0], 0));
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	empty_queue(&rig, futures);
}

/* ------------------------------------------------------------------ loading */

static void test_load(void **state)
{
	struct npurt_model_info info = { .size = sizeof(info) };
	struct npurt_layer_info layer = { .size = sizeof(layer) };
	struct npurt_tensor_info tensor = { .size = sizeof(tensor) };
	struct tiny_options tiny = { .target = "lowpower-v3" };
	char path[] = "/tmp/npurt-model-XXXXXX", fifo[64];
	struct npurt_model *model = NULL;
	int fd = mkstemp(path);
	struct tiny_model file;
	struct rig rig;

	(void)state;
	assert_true(fd >= 0);
	rig_make(&rig, NULL, NULL);
	tiny_model_make(&file, &tiny);
	assert_int_equal(write(fd, file.bytes, file.size), (ssize_t)file.size);
	assert_int_equal(npurt_model_load(rig.context, path, &model), -ENOTSUP);
	assert_says(path);
	assert_says("compiled for lowpower-v3, the device is npu-v3");
	tiny_model_free(&file);
	tiny.target = NULL;
	tiny_model_make(&file, &tiny);
	assert_int_equal(pwrite(fd, file.bytes, file.size, 0), (ssize_t)file.size);
	ok(npurt_model_load(rig.context, path, &model));
	npurt_model_unload(model);
	assert_int_equal(lseek(fd, 17, SEEK_SET), 17);
	ok(npurt_model_load_fd(rig.context, fd, &model));
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 17);
	ok(npurt_model_get_info(model, &info));
	assert_string_equal(info.name, "tiny");
	assert_string_equal(info.target, "npu-v3");
	assert_int_equal(info.inputs, 1);
	assert_int_equal(info.outputs, 1);
	assert_int_equal(info.layers, 2);
	assert_int_equal(info.predicted_cycles, 23);
	assert_int_equal(info.weight_bytes, 128);
	ok(npurt_model_get_layer(model, 1, &layer));
	assert_string_equal(layer.name, "shift");
	assert_int_equal(npurt_model_get_layer(model, 2, &layer), -ENOENT);
	ok(npurt_model_get_output(model, 0, &tensor));
	assert_string_equal(tensor.name, "y");
	assert_int_equal(tensor.host_bytes, 256);
	assert_int_equal(npurt_model_get_output(model, 1, &tensor), -ENOENT);
	assert_int_equal(npurt_model_get_input(model, 1, &tensor), -ENOENT);
	npurt_model_unload(model);
	close(fd);
	unlink(path);
	assert_int_equal(npurt_model_load(rig.context, path, &model), -ENOENT);
	assert_int_equal(npurt_model_load(rig.context, "/tmp", &model), -EINVAL);
	/* Nobody writes into it: opening must not wait for somebody. */
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(npurt_model_load(rig.context, fifo, &model), -EINVAL);
	assert_says("not a regular file");
	unlink(fifo);
	assert_int_equal(npurt_model_load_memory(rig.context, "", 0, &model), -ENOEXEC);
	tiny_model_free(&file);
	rig_free(&rig);
}

/* Weights and scratch of more than a large page, with both sizes of leaves. */
static void test_large_leaves(void **state)
{
	struct npurt_context_options options = { .size = sizeof(options) };
	struct npurt_buffer *large;
	struct rig rig;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		options.flags = i ? NPURT_CONTEXT_PAGES_4K : 0;
		rig_make(&rig, &options, NULL);
		ok(npurt_buffer_alloc(rig.context, (4 << 20) + 4096, 0, &large));
		assert_int_equal(npurt_buffer_address(large) % (2 << 20), 0);
		rig.bindings[1] = (struct npurt_binding){ large, 4 << 20 };
		rig_fill(&rig, rig.x, large, 4);
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
		memmove(npurt_buffer_map(large), (char *)npurt_buffer_map(large) + (4 << 20), 128);
		rig_check(&rig, large, 4);
		npurt_buffer_free(large);
		rig_free(&rig);
	}
}

/* ---------------------------------------------------------------- lifetimes */

static void test_release_in_any_order(void **state)
{
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 0);
	npurt_close(rig.device);
	npurt_context_destroy(rig.context);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	npurt_model_unload(rig.model);
	npurt_buffer_free(rig.x);
	npurt_buffer_free(rig.y);
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
}

static void test_destroyed_while_running(void **state)
{
	struct tiny_options tiny = { .kind = TINY_HANGS };
	struct npurt_future *future;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &tiny);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	/* Nobody waits: the last handle going kills it. */
	npurt_future_release(future);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, NULL));
	rig_free(&rig);
}

static void test_nothing_leaks(void **state)
{
	int fds = rig_open_fds(), i;

	(void)state;
	for (i = 0; i < 5; i++) {
		struct rig rig;

		rig_make(&rig, NULL, NULL);
		rig_fill(&rig, rig.x, rig.y, 0);
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
		rig_free(&rig);
	}
	assert_int_equal(rig_open_fds(), fds);
}

static void test_memory_comes_back(void **state)
{
	struct tiny_options tiny = { .scratch = 3 << 20 };
	struct tiny_model file;
	struct rig rig;
	/*
	 * 256 MiB of device memory would be used up after 60 models. Through the driver it is the
	 * system's memory, and this only looks whether buffers come with zeroes.
	 */
	int i, rounds = rig_is_sim() ? 300 : 20;

	(void)state;
	rig_make(&rig, NULL, NULL);
	tiny_model_make(&file, &tiny);
	for (i = 0; i < rounds; i++) {
		struct npurt_buffer *buffer;
		struct npurt_model *model;
		unsigned char *bytes;
		size_t at;

		ok(npurt_model_load_memory(rig.context, file.bytes, file.size, &model));
		ok(npurt_buffer_alloc(rig.context, 3 << 20, 0, &buffer));
		bytes = npurt_buffer_map(buffer);
		for (at = 0; at < 3 << 20; at += 4096)
			assert_int_equal(bytes[at], 0);
		memset(bytes, 0xff, 3 << 20);
		npurt_buffer_free(buffer);
		npurt_model_unload(model);
	}
	tiny_model_free(&file);
	rig_free(&rig);
}

static void test_no_memory(void **state)
{
	struct npurt_buffer *buffers[256];
	unsigned int count = 0;
	struct rig rig;
	int ret;

	(void)state;
	rig_make(&rig, NULL, NULL);
	while (!(ret = npurt_buffer_alloc(rig.context, 10 << 20, 0, &buffers[count])))
		assert_true(++count < 256);
	assert_int_equal(ret, -ENOMEM);
	assert_says("memory");
	assert_true(count >= 20);
	assert_int_equal(npurt_buffer_alloc(rig.context, 0, 0, &buffers[count]), -EINVAL);
	assert_int_equal(npurt_buffer_alloc(rig.context, UINT64_MAX, 0, &buffers[count]), -EINVAL);
	while (count)
		npurt_buffer_free(buffers[--count]);
	rig_fill(&rig, rig.x, rig.y, 2);
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	rig_check(&rig, rig.y, 2);
	rig_free(&rig);
}

static void test_no_contexts(void **state)
{
	struct npurt_device *device = rig_open("&contexts=3");
	struct npurt_context *contexts[4] = { NULL };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		ok(npurt_context_create(device, NULL, &contexts[i]));
	assert_int_equal(npurt_context_create(device, NULL, &contexts[3]), -ENOSPC);
	assert_says("all 3 contexts");
	npurt_context_destroy(contexts[1]);
	ok(npurt_context_create(device, NULL, &contexts[1]));
	for (i = 0; i < 3; i++)
		npurt_context_destroy(contexts[i]);
	npurt_close(device);
}

static void test_fork(void **state)
{
	struct npurt_future *future;
	struct rig rig;
	int status;
	pid_t pid;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct npurt_device_info info = { .size = sizeof(info) };
		struct npurt_buffer *buffer;
		int bad = 0;

		bad |= npurt_run(rig.model, rig.bindings, 2, NULL) != -EOWNERDEAD;
		bad |= npurt_future_wait(future, NPURT_FOREVER) != -EOWNERDEAD;
		bad |= npurt_device_get_info(rig.device, &info) != -EOWNERDEAD;
		bad |= npurt_buffer_alloc(rig.context, 1, 0, &buffer) != -EOWNERDEAD;
		bad |= npurt_buffer_map(rig.x) != NULL;
		npurt_future_release(future);
		rig_free(&rig);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ok(npurt_future_wait(future, NPURT_FOREVER));
	rig_check(&rig, rig.y, 0);
	npurt_future_release(future);
	rig_free(&rig);
}

static void test_log(void **state)
{
	char path[] = "/tmp/npurt-log-XXXXXX", value[64], text[65536];
	int fd = mkstemp(path);
	struct rig rig;
	ssize_t bytes;

	(void)state;
	assert_true(fd >= 0);
	snprintf(value, sizeof(value), "debug:%s", path);
	setenv("NPURT_LOG", value, 1);
	rig_make(&rig, NULL, NULL);
	unsetenv("NPURT_LOG");
	rig_fill(&rig, rig.x, rig.y, 0);
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	rig_free(&rig);
	bytes = read(fd, text, sizeof(text) - 1);
	assert_true(bytes > 0);
	text[bytes] = 0;
	assert_non_null(strstr(text, "model 'tiny' loaded"));
	assert_non_null(strstr(text, "task 1 of model 'tiny': status 1"));
	assert_non_null(strstr(text, "closed"));
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_one_run),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_same_cycles),
		cmocka_unit_test(test_bindings),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_stray_write),
		cmocka_unit_test(test_write_protected),
		cmocka_unit_test(test_illegal),
		cmocka_unit_test(test_full_try),
		cmocka_unit_test(test_full_timeout),
		cmocka_unit_test(test_full_block),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_large_leaves),
		cmocka_unit_test(test_release_in_any_order),
		cmocka_unit_test(test_destroyed_while_running),
		cmocka_unit_test(test_nothing_leaks),
		cmocka_unit_test(test_memory_comes_back),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_log),
	};
	/* About the model in the process: its names and keys, its memory. */
	const struct CMUnitTest sim_tests[] = {
		cmocka_unit_test(test_names),
#ifndef SANITIZED
		cmocka_unit_test(test_little_address_space),
#endif
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_contexts),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (rig_is_sim())
		failed += cmocka_run_group_tests(sim_tests, NULL, NULL);
	return failed;
}
