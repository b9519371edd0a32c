// SPDX-License-Identifier: MIT
/*
 * Packets, semaphores, priorities, kills and resets at random, on the whole device with its
 * firmware, against a reference that knows nothing of time. While it runs: nothing is done out of
 * its order, nothing twice, data are there before the record, the record before the semaphore. In
 * the end: nothing is lost. `make soak` runs it for a million steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "machine.h"
#include "random.h"
#include "reference.h"

#define EPOCH_STEPS	1500
#define LIMIT		4000000000ull
#define HANG_BUDGET	4		/* 1024 cycles each */
#define GRAPH_PIECES	8		/* at most */
#define GRAPH_BYTES	(GRAPH_PIECES * NPU_PACKET_BYTES)

static const char *image_path;
static uint64_t steps_wanted = 20000;
static uint64_t seed = 1;

/* A device, what it was told, and how much of what it did has been looked at. */
struct epoch {
	struct host *host;
	struct random *random;
	struct reference reference;
	uint64_t seen[REFERENCE_QUEUES];
	uint64_t last_end[REFERENCE_QUEUES];
	bool destroyed[REFERENCE_QUEUES];
	uint64_t semaphore[REFERENCE_CONTEXTS][REFERENCE_SEMAPHORES];
	uint64_t store[4], points[2], idle[4], hang, bad;
	uint64_t lists;			/* GRAPH_BYTES for each packet of each ring */
	uint64_t begun;			/* cycle of the last reset */
};

struct totals {
	uint64_t packets, graphs, destroyed, killed, preemptions, wakes, stopped, resets;
	uint64_t ends[8];
};

static struct totals totals;

static unsigned int below(struct epoch *epoch, unsigned int limit)
{
	return random_below(epoch->random, limit);
}

/* ------------------------------------------------------------------ what is told */

/* Of the clock, for work and for rest. */
static void choose_points(struct epoch *epoch)
{
	uint32_t slowest = below(epoch, NPU_CLOCK_POINTS);
	struct npu_message message = {
		.kind = NPU_MESSAGE_CLOCK,
		.argument = { below(epoch, slowest + 1), slowest },
	};

	assert_int_equal(host_call(epoch->host, &message), NPU_ERROR_NONE);
}

static void make_programs(struct epoch *epoch)
{
	for (unsigned int i = 0; i < 4; i++) {
		epoch->store[i] = host_store(epoch->host, i + 1);
		epoch->idle[i] = host_program(epoch->host, i + 1, 4096 << i, 200 << i);
	}
	for (unsigned int i = 0; i < 2; i++)
		epoch->points[i] = host_points(epoch->host, 2 * i + 1, 20);
	epoch->hang = host_program(epoch->host, 2, 4096, 1u << 20);
	epoch->bad = host_bad_program(epoch->host);
	epoch->lists = host_alloc(epoch->host,
				  REFERENCE_QUEUES * HOST_RECORDS * (uint64_t)GRAPH_BYTES);
}

static struct epoch *begin(struct random *random)
{
	static const char *const configs[] = {
		"npu-v3", "npu-v3?slots=1", "npu-v3?slots=2", "npu-v3?slots=3&clusters=3",
		"npu-v3?slots=16",
	};
	struct epoch *epoch = calloc(1, sizeof(*epoch));

	assert_non_null(epoch);
	epoch->random = random;
	epoch->host = host_create(configs[below(epoch, 5)], image_path);
	epoch->reference.queues = 2 + below(epoch, REFERENCE_QUEUES - 1);
	for (unsigned int i = 0; i < REFERENCE_CONTEXTS; i++)
		host_context(epoch->host, i);
	for (unsigned int i = 0; i < epoch->reference.queues; i++) {
		struct reference_queue *queue = &epoch->reference.queue[i];

		queue->context = below(epoch, REFERENCE_CONTEXTS);
		queue->limit = REFERENCE_PACKETS;
		host_queue(epoch->host, i, queue->context, below(epoch, 16));
	}
	make_programs(epoch);
	/* Clusters that sleep whenever they can, in every other epoch. */
	if (below(epoch, 2))
		host_call1(epoch->host, NPU_MESSAGE_POWER, 1 + below(epoch, 30));
	choose_points(epoch);
	return epoch;
}

static void end(struct epoch *epoch)
{
	totals.preemptions += epoch->host->model->counters.preemptions;
	totals.wakes += epoch->host->model->power.wakes;
	host_destroy(epoch->host);
	free(epoch);
}

/* What the task of this packet stores. */
static void fill_data(uint8_t *data, unsigned int queue, uint64_t index)
{
	for (unsigned int i = 0; i < HOST_DATA; i++)
		data[i] = (uint8_t)(queue * 31 + index * 7 + index / 32 * 3 + i + 1);
}

static unsigned int any_semaphore(struct epoch *epoch)
{
	return below(epoch, 2) ? below(epoch, REFERENCE_SEMAPHORES) : REFERENCE_NONE;
}

static struct reference_packet push_task(struct epoch *epoch, unsigned int number)
{
	struct host *host = epoch->host;
	unsigned int clusters = host->model->config.clusters;
	struct reference_packet packet = {
		.kind = REFERENCE_TASK, .status = NPU_STATUS_DONE, .value = 1,
		.semaphore = any_semaphore(epoch),
	};
	uint8_t data[HOST_DATA];

	switch (below(epoch, 15)) {
	case 12:
		packet.data = true;
		fill_data(data, number, host->index[number]);
		host_copy(host, number, packet.semaphore, data);
		break;
	case 13:
	case 14:
		packet.data = true;
		packet.semaphore = REFERENCE_NONE;
		fill_data(data, number, host->index[number]);
		host_graph(host, number, epoch->lists +
			   (number * HOST_RECORDS + host->index[number] % HOST_RECORDS) *
			   (uint64_t)GRAPH_BYTES, 1u << below(epoch, 4), data);
		totals.graphs++;
		break;
	case 0:
		packet.status = NPU_STATUS_BUDGET;
		host_exec_within(host, number, epoch->hang, HANG_BUDGET, packet.semaphore);
		break;
	case 1:
		packet.status = NPU_STATUS_REJECTED;
		host_exec(host, number, epoch->bad, packet.semaphore);
		break;
	case 2:
	case 3:
		if (number < 16) {
			packet.semaphore = REFERENCE_NONE;
			host_exec_points(host, number, epoch->points[below(epoch, 2)]);
			break;
		}
		host_exec(host, number, epoch->idle[below(epoch, clusters)], packet.semaphore);
		break;
	case 4:
	case 5:
		host_exec(host, number, epoch->idle[below(epoch, clusters)], packet.semaphore);
		break;
	default:
		packet.data = true;
		fill_data(data, number, host->index[number]);
		host_exec_store(host, number, epoch->store[below(epoch, clusters)],
				packet.semaphore, data);
		break;
	}
	return packet;
}

static struct reference_packet push_wait(struct epoch *epoch, unsigned int number)
{
	unsigned int context = epoch->reference.queue[number].context;
	struct reference_packet packet = {
		.kind = REFERENCE_WAIT, .semaphore = below(epoch, REFERENCE_SEMAPHORES),
	};

	packet.value = epoch->semaphore[context][packet.semaphore] + below(epoch, 4);
	host_wait(epoch->host, number, packet.semaphore, packet.value);
	return packet;
}

static struct reference_packet push_signal(struct epoch *epoch, unsigned int number)
{
	struct reference_packet packet = {
		.kind = REFERENCE_SIGNAL, .semaphore = below(epoch, REFERENCE_SEMAPHORES),
		.value = 1 + below(epoch, 3),
	};
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.sem = (uint16_t)packet.semaphore,
		.add = packet.value,
	};

	host_packet(epoch->host, number, &signal);
	return packet;
}

static struct reference_packet push_plain(struct epoch *epoch, unsigned int number, bool bad)
{
	const uint32_t words[16] = { NPU_PACKET_HEADER(bad ? 77 : NPU_PACKET_NOP, 0, 0) };

	host_packet(epoch->host, number, words);
	return (struct reference_packet){
		.kind = bad ? REFERENCE_BAD : REFERENCE_NOP, .semaphore = REFERENCE_NONE,
	};
}

static void push(struct epoch *epoch, unsigned int number)
{
	struct reference_queue *queue = &epoch->reference.queue[number];
	struct reference_packet packet;
	unsigned int what;

	if (epoch->destroyed[number] || queue->pushed == REFERENCE_PACKETS ||
	    queue->pushed - epoch->seen[number] == HOST_RECORDS)
		return;
	what = below(epoch, 100);
	if (what < 60)
		packet = push_task(epoch, number);
	else if (what < 75)
		packet = push_wait(epoch, number);
	else if (what < 90)
		packet = push_signal(epoch, number);
	else
		packet = push_plain(epoch, number, what == 99 && !below(epoch, 4));
	queue->packet[queue->pushed++] = packet;
}

/* ------------------------------------------------------------------ what is seen */

static void check_record(struct epoch *epoch, unsigned int number, uint64_t index)
{
	const struct reference_packet *packet = &epoch->reference.queue[number].packet[index];
	const struct npu_record *record = host_record(epoch->host, number, index);
	uint8_t data[HOST_DATA];

	assert_int_equal(record->task_id, index);
	/* Only the last one of a destroyed queue may be another end than its own. */
	if (record->status != packet->status) {
		assert_int_equal(record->status, NPU_STATUS_KILLED);
		assert_true(epoch->destroyed[number]);
		assert_int_equal(index + 1, epoch->reference.queue[number].limit);
		totals.killed++;
	}
	totals.ends[record->status]++;
	assert_true(record->start <= record->end);
	assert_true(record->start >= epoch->last_end[number]);
	epoch->last_end[number] = record->end;
	if (!packet->data || record->status != NPU_STATUS_DONE)
		return;
	fill_data(data, number, index);
	assert_memory_equal(host_stored(epoch->host, number, index), data, HOST_DATA);
}

static void look_at_queue(struct epoch *epoch, unsigned int number)
{
	const struct reference_queue *queue = &epoch->reference.queue[number];
	uint64_t index = host_control(epoch->host, number)->read_index;

	assert_true(index >= epoch->seen[number] && index <= queue->pushed);
	for (; epoch->seen[number] < index; epoch->seen[number]++) {
		totals.packets++;
		if (queue->packet[epoch->seen[number]].kind == REFERENCE_TASK)
			check_record(epoch, number, epoch->seen[number]);
	}
	/* Behind the packet at hand nothing has been done. */
	for (index++; index < queue->pushed; index++)
		assert_true(queue->packet[index].kind != REFERENCE_TASK ||
			    !host_record(epoch->host, number, index)->status);
}

/* All that can have been added to a semaphore by what has been seen. */
static uint64_t most(const struct epoch *epoch, unsigned int context, unsigned int semaphore)
{
	uint64_t sum = epoch->reference.signalled[context][semaphore];

	for (unsigned int i = 0; i < epoch->reference.queues; i++) {
		const struct reference_queue *queue = &epoch->reference.queue[i];

		if (queue->context != context)
			continue;
		for (uint64_t j = 0; j < epoch->seen[i]; j++) {
			const struct reference_packet *packet = &queue->packet[j];

			if (packet->kind != REFERENCE_WAIT && packet->semaphore == semaphore)
				sum += packet->value;
		}
	}
	return sum;
}

static void look_at_semaphores(struct epoch *epoch)
{
	for (unsigned int c = 0; c < REFERENCE_CONTEXTS; c++) {
		for (unsigned int s = 0; s < REFERENCE_SEMAPHORES; s++) {
			uint64_t value = host_semaphore(epoch->host, c, s);

			assert_true(value >= epoch->semaphore[c][s]);
			if (value != epoch->semaphore[c][s])
				assert_true(value <= most(epoch, c, s));
			epoch->semaphore[c][s] = value;
		}
	}
}

/* No cluster is two slots', and what two slots may write of the window is not either. */
static void look_at_grants(const struct epoch *epoch)
{
	const struct npu_model *model = epoch->host->model;
	uint32_t taken = 0;

	for (unsigned int i = 0; i < model->config.slots; i++) {
		const struct npu_slot *one = &model->command.slot[i];

		assert_int_equal(one->grant & taken, 0);
		taken |= one->grant;
		for (unsigned int j = 0; j < i; j++) {
			const struct npu_slot *other = &model->command.slot[j];

			if (!one->grant || !other->grant || !one->grant_window_bytes ||
			    !other->grant_window_bytes)
				continue;
			assert_true(one->grant_window >=
				    other->grant_window + other->grant_window_bytes ||
				    other->grant_window >=
				    one->grant_window + one->grant_window_bytes);
		}
	}
}

/* The device is at work as long as a task is on clusters, and no cycle has no point. */
static void look_at_clock(const struct epoch *epoch)
{
	const struct npu_model *model = epoch->host->model;
	uint64_t cycles = 0;
	uint32_t tasks = 0;

	for (unsigned int i = 0; i < model->config.slots; i++)
		tasks += model->command.slot[i].task.running;
	assert_int_equal(model->clock.tasks, tasks);
	for (unsigned int i = 0; i < NPU_CLOCK_POINTS; i++)
		cycles += npu_clock_counter(model, i);
	assert_int_equal(cycles, npu_model_time(model) - epoch->begun);
}

static void look(struct epoch *epoch)
{
	for (unsigned int i = 0; i < epoch->reference.queues; i++)
		look_at_queue(epoch, i);
	look_at_semaphores(epoch);
	look_at_grants(epoch);
	look_at_clock(epoch);
}

/* ------------------------------------------------------------------------- steps */

static void destroy(struct epoch *epoch, unsigned int number)
{
	if (epoch->destroyed[number])
		return;
	assert_int_equal(host_call1(epoch->host, NPU_MESSAGE_QUEUE_DESTROY, number),
			 NPU_ERROR_NONE);
	epoch->destroyed[number] = true;
	totals.destroyed++;
	epoch->reference.queue[number].limit = host_control(epoch->host, number)->read_index;
}

static void signal_by_host(struct epoch *epoch, unsigned int number)
{
	unsigned int semaphore = below(epoch, REFERENCE_SEMAPHORES);

	/* A page whose queue is gone does nothing. */
	if (epoch->destroyed[number])
		return;
	npu_model_doorbell(epoch->host->model, number, NPU_DOORBELL_SIGNAL,
			   (uint64_t)semaphore << 48 | 1, 8);
	if (!host_control(epoch->host, number)->error)
		epoch->reference.signalled[epoch->reference.queue[number].context][semaphore]++;
}

static void step(struct epoch *epoch)
{
	unsigned int number = below(epoch, epoch->reference.queues);
	unsigned int what = below(epoch, 100);

	if (what < 50) {
		push(epoch, number);
		if (below(epoch, 4))
			host_ring(epoch->host, number);
	} else if (what < 60) {
		host_ring(epoch->host, number);
	} else if (what < 65) {
		signal_by_host(epoch, number);
	} else if (what == 65 && !below(epoch, 4)) {
		destroy(epoch, number);
	} else {
		npu_model_run(epoch->host->model, 1 + below(epoch, 3000));
		if (!below(epoch, 8))
			npu_model_skip(epoch->host->model, below(epoch, 200000));
	}
	look(epoch);
}

/* Everything told is done as far as it can be, and exactly that. */
static void compare(struct epoch *epoch)
{
	struct reference *reference = &epoch->reference;

	for (unsigned int i = 0; i < reference->queues; i++) {
		if (!epoch->destroyed[i])
			host_ring(epoch->host, i);
	}
	host_idle(epoch->host, LIMIT);
	look(epoch);
	reference_run(reference);
	for (unsigned int i = 0; i < reference->queues; i++) {
		const struct reference_queue *queue = &reference->queue[i];
		bool bad = queue->done < queue->pushed &&
			   queue->packet[queue->done].kind == REFERENCE_BAD;
		uint32_t error = host_control(epoch->host, i)->error;

		if (queue->done != epoch->seen[i])
			fail_msg("queue %u: %llu packets done, the reference says %llu", i,
				 (unsigned long long)epoch->seen[i],
				 (unsigned long long)queue->done);
		/* One that was destroyed may not have come to its bad packet. */
		if (error || !epoch->destroyed[i])
			assert_int_equal(error, bad ? NPU_ERROR_BAD_PACKET : NPU_ERROR_NONE);
		totals.stopped += error != 0;
	}
	for (unsigned int c = 0; c < REFERENCE_CONTEXTS; c++) {
		for (unsigned int s = 0; s < REFERENCE_SEMAPHORES; s++)
			assert_int_equal(epoch->semaphore[c][s], reference->value[c][s]);
	}
}

/* After a reset the device touches nothing any more, whatever it was doing. */
static void reset(struct epoch *epoch)
{
	npu_model_reset(epoch->host->model);
	epoch->begun = npu_model_time(epoch->host->model);
	look(epoch);
	for (unsigned int i = 0; i < epoch->reference.queues; i++)
		host_ring(epoch->host, i);
	assert_true(npu_model_run(epoch->host->model, 100000));
	for (unsigned int i = 0; i < epoch->reference.queues; i++)
		assert_int_equal(host_control(epoch->host, i)->read_index, epoch->seen[i]);
	totals.resets++;
}

static void test_random(void **state)
{
	struct random random = { .state = seed * 0x9e3779b97f4a7c15ull };
	uint64_t steps = 0;

	(void)state;
	while (steps < steps_wanted) {
		struct epoch *epoch = begin(&random);
		unsigned int length = 1 + below(epoch, EPOCH_STEPS);

		for (unsigned int i = 0; i < length; i++)
			step(epoch);
		steps += length;
		if (below(epoch, 8))
			compare(epoch);
		else
			reset(epoch);
		end(epoch);
	}
	print_message("    %llu steps, %llu packets, %llu graphs: %llu tasks done, %llu out of "
		      "budget, %llu rejected, %llu killed; %llu preemptions, %llu wakes, %llu "
		      "queues stopped, %llu destroyed, %llu resets\n", (unsigned long long)steps,
		      (unsigned long long)totals.packets, (unsigned long long)totals.graphs,
		      (unsigned long long)totals.ends[NPU_STATUS_DONE],
		      (unsigned long long)totals.ends[NPU_STATUS_BUDGET],
		      (unsigned long long)totals.ends[NPU_STATUS_REJECTED],
		      (unsigned long long)totals.killed,
		      (unsigned long long)totals.preemptions, (unsigned long long)totals.wakes,
		      (unsigned long long)totals.stopped,
		      (unsigned long long)totals.destroyed, (unsigned long long)totals.resets);
	/* It has met what it is about. */
	assert_true(totals.ends[NPU_STATUS_DONE] > steps / 20);
	assert_true(totals.graphs > steps / 100 && totals.destroyed > steps / 2000);
	assert_true(totals.ends[NPU_STATUS_BUDGET] && totals.ends[NPU_STATUS_REJECTED] &&
		    totals.killed && totals.preemptions && totals.wakes && totals.stopped &&
		    totals.resets);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	if (count < 2 || count > 4) {
		fprintf(stderr, "usage: test-firmware-random IMAGE [STEPS [SEED]]\n");
		return 2;
	}
	image_path = arguments[1];
	if (count > 2)
		steps_wanted = strtoull(arguments[2], NULL, 0);
	if (count > 3)
		seed = strtoull(arguments[3], NULL, 0);
	if (!seed) {
		fprintf(stderr, "test-firmware-random: a seed is not 0\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
