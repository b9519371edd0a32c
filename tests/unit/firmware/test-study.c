// SPDX-License-Identifier: MIT
/*
 * A queueing study: tasks of three priorities at rates that overload the device, as a detector for
 * every frame, a recognizer now and then and a long one in the background would make them, with and
 * without points. How long each takes from its doorbell, whether anybody starves, whether the
 * device is idle while there is work. Manual: firmware.rst, "Preemption".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "random.h"

#define TIME		15000000ull	/* cycles of the study */
#define STEP		1000u
#define CLUSTERS	4
#define TASKS_MAX	1000

/* The manual's bound on what a load below adds to a task. */
#define ADDED_MOST	15000

enum level { LOW, NORMAL, HIGH, LEVELS };

/* Passes of HOST_PASS cycles a task, which comes every @every cycles, or so on average. */
static const struct kind {
	const char *name;
	unsigned int priority;
	uint32_t passes, every;
	bool random;
} kinds[LEVELS] = {
	[LOW] = { "low", 0, 60, 450000, true },			/* 138,000 cycles: 0.31 */
	[NORMAL] = { "normal", 8, 40, 150000, true },		/* 92,000: 0.61 */
	[HIGH] = { "high", 15, 20, 100000, false },		/* 46,000: 0.46 */
};

/* Tasks of a level: what came, what is done. */
struct stream {
	uint64_t program, due;
	uint64_t rung[TASKS_MAX], latency[TASKS_MAX];
	unsigned int came, done, lost;	/* lost: its ring was full */
};

struct study {
	struct host *host;
	bool points;
	struct random random;
	struct stream stream[LEVELS];
	uint64_t begin;
};

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static void arrive(struct study *study, enum level level, uint64_t now)
{
	struct stream *stream = &study->stream[level];
	const struct kind *kind = &kinds[level];

	stream->due += kind->random ? 1 + random_below(&study->random, 2 * kind->every) :
				      kind->every;
	if (stream->came == TASKS_MAX || stream->came - stream->done >= HOST_RECORDS - 1) {
		stream->lost++;
		return;
	}
	stream->rung[stream->came++] = now;
	if (study->points)
		host_exec_points(study->host, level, stream->program);
	else
		host_exec(study->host, level, stream->program, NPU_SEM_NONE);
	host_ring(study->host, level);
}

static void look(struct study *study, enum level level)
{
	struct stream *stream = &study->stream[level];

	while (stream->done < stream->came) {
		const struct npu_record *record = host_record(study->host, level, stream->done);

		if (!record->status)
			return;
		assert_int_equal(record->status, NPU_STATUS_DONE);
		stream->latency[stream->done] = record->end - stream->rung[stream->done];
		stream->done++;
	}
}

static uint64_t percentile(const struct stream *stream, unsigned int percent)
{
	return stream->done ? stream->latency[(stream->done - 1) * percent / 100] : 0;
}

/* What of the device's time its arrays were at work. */
static double work_of(const struct study *study)
{
	uint64_t cycles = npu_model_register_read(study->host->model, NPU_REG_COUNTER_MAC_LO);
	uint64_t time = npu_model_time(study->host->model) - study->begin;

	return (double)cycles / (double)(CLUSTERS * time);
}

/* @levels: those that take part, one bit each. */
static void run(struct study *study, const char *image, bool points, unsigned int levels)
{
	struct host *host = host_create("npu-v3", image);

	*study = (struct study){ .host = host, .points = points, .random = { .state = 0x7e57 } };
	for (enum level level = 0; level < LEVELS; level++) {
		host_context(host, 1 + level);
		host_queue(host, level, 1 + level, kinds[level].priority);
		study->stream[level].program = host_points(host, CLUSTERS, kinds[level].passes);
	}
	study->begin = npu_model_time(host->model);
	for (enum level level = 0; level < LEVELS; level++)
		study->stream[level].due = levels >> level & 1 ? study->begin + 1000 : UINT64_MAX;
	while (npu_model_time(host->model) < study->begin + TIME) {
		uint64_t now = npu_model_time(host->model);

		for (enum level level = 0; level < LEVELS; level++) {
			look(study, level);
			if (study->stream[level].due <= now)
				arrive(study, level, now);
		}
		if (npu_model_run(host->model, STEP))
			npu_model_skip(host->model, STEP);
	}
	for (enum level level = 0; level < LEVELS; level++) {
		struct stream *stream = &study->stream[level];

		look(study, level);
		if (!stream->came)
			continue;
		qsort(stream->latency, stream->done, sizeof(*stream->latency), compare);
		print_message("    %-7s %3u came, %3u done, %3u lost; 50 %% %8llu, 90 %% %8llu, "
			      "99 %% %8llu cycles\n", kinds[level].name, stream->came, stream->done,
			      stream->lost, (unsigned long long)percentile(stream, 50),
			      (unsigned long long)percentile(stream, 90),
			      (unsigned long long)percentile(stream, 99));
	}
	print_message("    arrays at work %.3f of the time, %u preemptions\n", work_of(study),
		      npu_model_register_read(host->model, NPU_REG_COUNTER_PREEMPTIONS_LO));
}

/* Cycles of the tasks that are done. */
static uint64_t work_done(const struct study *study, enum level level)
{
	return (uint64_t)study->stream[level].done * kinds[level].passes * HOST_PASS;
}

static const char *image_path;

static void check(const struct study *study, double capacity)
{
	const struct stream *high = &study->stream[HIGH];

	/* The highest keeps up, the others take turns by age. */
	assert_int_equal(high->lost, 0);
	assert_true(high->came - high->done <= 6);
	assert_true(work_done(study, LOW) >= TIME / 100 * 2);
	assert_true(study->stream[NORMAL].done > 0);
	assert_true(percentile(high, 50) < percentile(&study->stream[NORMAL], 50));
	/* More comes in than the device can do, so it has always something to do, and does it. */
	assert_true(work_of(study) > 0.9 * capacity);
}

static void test_overload(void **state)
{
	static struct study saturated, alone, without, with;
	double capacity;

	(void)state;
	print_message("    normal and high, without points:\n");
	run(&saturated, image_path, false, 1u << NORMAL | 1u << HIGH);
	capacity = work_of(&saturated);
	print_message("    high priority alone:\n");
	run(&alone, image_path, true, 1u << HIGH);
	print_message("    all, without points:\n");
	run(&without, image_path, false, 7);
	print_message("    all, with points:\n");
	run(&with, image_path, true, 7);
	check(&without, capacity);
	check(&with, capacity);
	/* Preempted out of gap after gap it grows old all the same: firmware.rst, "Share". */
	assert_true(work_done(&with, LOW) >= TIME / 16 * 9 / 10);
	/* One that gave its clusters up at its end is nobody who was preempted. */
	assert_true(work_done(&without, NORMAL) >= TIME / 4);
	assert_true(percentile(&with.stream[HIGH], 99) <=
		    percentile(&alone.stream[HIGH], 99) + ADDED_MOST);
	assert_true(percentile(&without.stream[HIGH], 99) >
		    percentile(&alone.stream[HIGH], 99) + ADDED_MOST);
	assert_true(percentile(&with.stream[HIGH], 50) < percentile(&without.stream[HIGH], 50));
	host_destroy(saturated.host);
	host_destroy(alone.host);
	host_destroy(without.host);
	host_destroy(with.host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overload),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
