// SPDX-License-Identifier: MIT
/*
 * A run is had again from the record of its arrivals: every task in the same cycles. And what a
 * hung task means for the others. Manual: arrivals.rst.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/scratch_file.h"
#include "host.h"
#include "machine.h"
#include "random.h"

#define LIMIT		400000000ull
#define QUEUES		12
#define PACKETS		24		/* a queue */
#define BUDGET		64u		/* of a task that hangs, in units of 1024 cycles */
#define HUNG_QUEUE	3
#define SEMAPHORES	4

static const char *image_path;
static char path[] = "/tmp/test-replay-XXXXXX";

/* One device, and what is to be submitted in which order. */
struct run {
	struct host *host;
	struct random random;
	uint64_t store[3], points, hang, idle;
	unsigned int hung;		/* tasks that hang */
};

static void fill_data(uint8_t *data, unsigned int queue, uint64_t index)
{
	for (unsigned int i = 0; i < HOST_DATA; i++)
		data[i] = (uint8_t)(queue * 31 + index * 7 + i + 1);
}

/* Three slots for twelve queues of all priorities, two contexts. */
static void begin(struct run *run, bool hang)
{
	*run = (struct run){ .random = { .state = 0xa771 } };
	run->host = host_create("npu-v3?slots=3", image_path);
	for (unsigned int i = 0; i < 2; i++)
		host_context(run->host, i);
	for (unsigned int i = 0; i < QUEUES; i++)
		host_queue(run->host, i, i == HUNG_QUEUE, i);
	for (unsigned int i = 0; i < 3; i++)
		run->store[i] = host_store(run->host, 1 + i);
	run->points = host_points(run->host, 2, 12);
	run->idle = host_program(run->host, 2, 8192, 3000);
	run->hang = hang ? host_program(run->host, 2, 4096, 1u << 20) : run->idle;
	host_idle(run->host, LIMIT);
}

static void push_one(struct run *run, unsigned int queue)
{
	struct host *host = run->host;
	uint64_t index = host->index[queue];
	uint8_t data[HOST_DATA];

	if (queue == HUNG_QUEUE && index % 4 == 1) {
		host_exec_within(host, queue, run->hang, BUDGET, NPU_SEM_NONE);
		run->hung++;
		return;
	}
	switch (index % 4) {
	case 0:
		host_exec_points(host, queue, run->points);
		break;
	case 1:
		host_exec(host, queue, run->idle, queue % SEMAPHORES);
		break;
	default:
		fill_data(data, queue, index);
		host_exec_store(host, queue, run->store[index % 3], NPU_SEM_NONE, data);
		break;
	}
}

/* Packets and signals of the host, at random, while the device works. */
static void live(struct run *run, bool hang)
{
	struct host *host;
	char error[200];

	begin(run, hang);
	host = run->host;
	assert_int_equal(npu_model_record(host->model, path, error, sizeof(error)), 0);
	for (unsigned int i = 0; i < QUEUES * PACKETS;) {
		unsigned int queue = random_below(&run->random, QUEUES);

		if (host->index[queue] < PACKETS) {
			push_one(run, queue);
			i++;
		}
		/* Some are found without a doorbell. */
		if (random_below(&run->random, 4))
			host_ring(host, queue);
		if (!random_below(&run->random, 8))
			npu_model_doorbell(host->model, queue, NPU_DOORBELL_SIGNAL,
					   5ull << 48 | 1, 8);
		npu_model_run(host->model, random_below(&run->random, 4000));
	}
	for (unsigned int queue = 0; queue < QUEUES; queue++)
		host_ring(host, queue);
	host_idle(host, LIMIT);
	assert_int_equal(npu_model_record_end(host->model), 0);
}

/* The same packets in the same order, all before the first arrival. */
static void replay(struct run *run, bool hang, const char *file)
{
	char error[200];

	begin(run, hang);
	if (npu_model_replay(run->host->model, file, error, sizeof(error)))
		fail_msg("%s", error);
	for (unsigned int i = 0; i < QUEUES * PACKETS;) {
		unsigned int queue = random_below(&run->random, QUEUES);

		if (run->host->index[queue] < PACKETS) {
			push_one(run, queue);
			i++;
		}
		random_below(&run->random, 4);
		random_below(&run->random, 8);
		random_below(&run->random, 4000);
		host_ring(run->host, queue);
	}
	host_idle(run->host, LIMIT);
}

/* Records that differ, and semaphores. */
static unsigned int differences(const struct run *one, const struct run *other)
{
	unsigned int different = 0;

	for (unsigned int queue = 0; queue < QUEUES; queue++) {
		for (unsigned int i = 0; i < PACKETS; i++)
			different += memcmp(host_record(one->host, queue, i),
					    host_record(other->host, queue, i),
					    sizeof(struct npu_record)) != 0;
	}
	for (unsigned int semaphore = 0; semaphore < 8; semaphore++)
		different += host_semaphore(one->host, 0, semaphore) !=
			     host_semaphore(other->host, 0, semaphore);
	return different;
}

static void check_results(const struct run *run)
{
	for (unsigned int queue = 0; queue < QUEUES; queue++) {
		for (unsigned int i = 0; i < PACKETS; i++) {
			const struct npu_record *record = host_record(run->host, queue, i);
			uint8_t data[HOST_DATA];

			if (queue == HUNG_QUEUE && i % 4 == 1)
				continue;
			assert_int_equal(record->status, NPU_STATUS_DONE);
			if (i % 4 < 2)
				continue;
			fill_data(data, queue, i);
			assert_memory_equal(host_stored(run->host, queue, i), data, HOST_DATA);
		}
	}
}

/* A hung task dies within its budget and a tenth; nobody else's result is another one. */
static void test_hung(void **state)
{
	static struct run first, again, without;
	uint64_t longest = 0;

	(void)state;
	live(&first, true);
	check_results(&first);
	assert_true(first.hung > 0);
	for (unsigned int i = 1; i < PACKETS; i += 4) {
		const struct npu_record *record = host_record(first.host, HUNG_QUEUE, i);

		assert_int_equal(record->status, NPU_STATUS_BUDGET);
		if (record->end - record->start > longest)
			longest = record->end - record->start;
	}
	assert_in_range(longest, BUDGET * 1024, BUDGET * 1024 / 10 * 11);
	replay(&again, true, path);
	assert_int_equal(npu_model_missing(again.host->model), 0);
	assert_int_equal(differences(&first, &again), 0);
	/* The same arrivals without it: other cycles, the same results. */
	replay(&without, false, path);
	check_results(&without);
	print_message("    %u tasks hung of %u, the longest for %llu cycles with a budget of %u; "
		      "replayed: 0 records differ; without them: %u\n", first.hung,
		      QUEUES * PACKETS, (unsigned long long)longest, BUDGET * 1024,
		      differences(&first, &without));
	assert_true(differences(&first, &without) > 0);
	host_destroy(first.host);
	host_destroy(again.host);
	host_destroy(without.host);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Other arrivals, other cycles; and packets that are not there are counted. */
static void test_other_file(void **state)
{
	static struct run first, again;
	char error[200], line[100];
	uint64_t cycle;
	FILE *from, *to;
	unsigned int shifted = 0;

	(void)state;
	live(&first, false);
	from = fopen(path, "r");
	unlink(path);
	to = fopen(path, "w");
	assert_non_null(from);
	assert_non_null(to);
	while (fgets(line, sizeof(line), from)) {
		/* No look in vain, and all doorbells later. */
		if (strstr(line, "empty"))
			continue;
		if (sscanf(line, "%llu", (unsigned long long *)&cycle) == 1) {
			fprintf(to, "%llu%s", (unsigned long long)cycle + 5000, strchr(line, ' '));
			shifted++;
		} else {
			fputs(line, to);
		}
	}
	fclose(from);
	assert_int_equal(fclose(to), 0);
	assert_true(shifted > 0);
	replay(&again, false, path);
	assert_true(npu_model_missing(again.host->model) > 0);
	assert_true(differences(&first, &again) > 0);
	/* After the replay the host's doorbells count again. */
	write_file("npu-arrivals 1\n");
	assert_int_equal(npu_model_replay(again.host->model, path, error, sizeof(error)), 0);
	host_exec(again.host, 0, again.idle, NPU_SEM_NONE);
	host_ring(again.host, 0);
	host_idle(again.host, LIMIT);
	assert_int_equal(host_control(again.host, 0)->read_index, PACKETS);
	assert_int_equal(npu_model_record(again.host->model, "/dev/null", error, sizeof(error)), 0);
	host_ring(again.host, 0);
	host_idle(again.host, LIMIT);
	assert_int_equal(host_control(again.host, 0)->read_index, PACKETS + 1);
	host_destroy(first.host);
	host_destroy(again.host);
}

/* What a replay misses that has a doorbell 5,000 cycles from now, and looks in vain before it. */
static uint64_t missing_with(unsigned int looks)
{
	struct host *host = host_create("npu-v3", image_path);
	char error[200], text[200];
	uint64_t now, missing;
	int used;

	host_context(host, 1);
	host_queue(host, 0, 1, 1);
	host_exec(host, 0, host_end(host, 1, 0), NPU_SEM_NONE);
	host_idle(host, LIMIT);
	now = npu_model_time(host->model);
	used = snprintf(text, sizeof(text), "npu-arrivals 1\n");
	for (unsigned int i = 0; i < looks; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%llu empty 0\n",
				 (unsigned long long)now + 100 + i);
	snprintf(text + used, sizeof(text) - (size_t)used, "%llu ring 0\n",
		 (unsigned long long)now + 5000);
	write_file(text);
	assert_int_equal(npu_model_replay(host->model, path, error, sizeof(error)), 0);
	host_idle(host, LIMIT);
	assert_int_equal(host_control(host, 0)->read_index, 1);
	missing = npu_model_missing(host->model);
	host_destroy(host);
	return missing;
}

/* Looks of the recording that are never made are counted, and hide nothing that comes later. */
static void test_passed_look(void **state)
{
	(void)state;
	assert_int_equal(missing_with(2), missing_with(0) + 2);
}

/* One task of a queue: from its doorbell until the ring is found empty, the last line. */
static struct host *begin_one(void)
{
	struct host *host = host_create("npu-v3", image_path);

	host_context(host, 1);
	host_queue(host, 0, 1, 1);
	host_idle(host, LIMIT);
	host_exec(host, 0, host_program(host, 1, 0, 20000), NPU_SEM_NONE);
	return host;
}

/* A doorbell that the recording has already does not come again while it has a line left. */
static void test_late_doorbell(void **state)
{
	struct host *host = begin_one();
	char error[200];

	(void)state;
	assert_int_equal(npu_model_record(host->model, path, error, sizeof(error)), 0);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	assert_int_equal(npu_model_record_end(host->model), 0);
	host_destroy(host);

	host = begin_one();
	assert_int_equal(npu_model_replay_patiently(host->model, path, error, sizeof(error)), 0);
	npu_model_run(host->model, 10000);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_NONE);
	host_ring(host, 0);
	assert_false(host->model->command.queue[0].rung);
	host_idle(host, LIMIT);
	assert_int_equal(host_record(host, 0, 0)->status, NPU_STATUS_DONE);
	/* Then the host's own count. */
	host_exec(host, 0, host_end(host, 1, 0), NPU_SEM_NONE);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	assert_int_equal(host_control(host, 0)->read_index, 2);
	host_destroy(host);
}

/* What a program leaves that dies while it records, and what those it starts get of it. */
static void test_unfinished(void **state)
{
	struct host *host = begin_one();
	char error[200], line[100];
	FILE *file;

	(void)state;
	assert_int_equal(npu_model_record(host->model, path, error, sizeof(error)), 0);
	assert_true(fcntl(fileno(host->model->arrivals.record), F_GETFD) & FD_CLOEXEC);
	host_ring(host, 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "npu-arrivals 1\n");
	assert_non_null(fgets(line, sizeof(line), file));
	assert_non_null(strstr(line, " ring 0\n"));
	assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	host_destroy(host);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *reason;
	} bad[] = {
		{ "", "does not begin" },
		{ "npu-arrivals 2\n", "does not begin" },
		{ "npu-arrivals 1\nring 3\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring 64\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring -1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring 1 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring 4294967297\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring -4294967295\n", "no arrival" },
		{ "npu-arrivals 1\n-1 ring 1\n", "no arrival" },
		{ "npu-arrivals 1\n18446744073709551615 ring 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999999999999999999 ring 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring 1", "no arrival" },
		{ "npu-arrivals 1\n99999999  ring 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 signal 1 -0x1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 signal 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 signal 1 x\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 bell 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 write 0x104 0x1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 write 268 0x1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 write 0x10c\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 write 0x10c 0x100000000\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 write 0x00000010c 0x1\n", "no arrival" },
		{ "npu-arrivals 1\n1 write 0x10c 0x1\n", "in the past" },
		{ "npu-arrivals 1\n99999999 emptyyyyyyyyyyy 1\n", "no arrival" },
		{ "npu-arrivals 1\n99999999 ring 1\n99999998 ring 1\n", "in the past" },
		{ "npu-arrivals 1\n1 ring 1\n", "in the past" },
		{ "npu-arrivals 1\n4611686018427387904 ring 1\n", "no device reaches" },
	};
	struct host *host = host_create("npu-v3", image_path);
	char error[200];

	(void)state;
	host_idle(host, LIMIT);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_file(bad[i].text);
		assert_true(npu_model_replay(host->model, path, error, sizeof(error)) < 0);
		if (!strstr(error, bad[i].reason))
			fail_msg("'%s' is refused by '%s'", bad[i].text, error);
	}
	unlink(path);
	assert_true(npu_model_replay(host->model, path, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "cannot be read"));
	assert_true(npu_model_record(host->model, "/nowhere/at/all", error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "cannot be written"));
	/* Nothing of it has stayed. */
	host_context(host, 1);
	host_queue(host, 0, 1, 1);
	host_exec(host, 0, host_end(host, 1, 0), NPU_SEM_NONE);
	host_ring(host, 0);
	host_idle(host, LIMIT);
	assert_int_equal(host_control(host, 0)->read_index, 1);
	host_destroy(host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hung),
		cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_passed_look),
		cmocka_unit_test(test_late_doorbell),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_refused),
	};
	int failed;

	image_path = host_image(count, arguments);
	if (!scratch_file(path))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
