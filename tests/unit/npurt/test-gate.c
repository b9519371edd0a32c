// SPDX-License-Identifier: MIT
/*
 * Tasks of queues of several priorities held by one semaphore and released together: the order, the
 * outputs and the cycles are the same on every device, which is what $NPU_TEST_NOTES is compared for.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "objects.h"
#include "rig.h"

#define QUEUES		6	/* and one that opens the gate: all have slots of their own */
#define TASKS		4	/* of a queue, in a round */
#define ROUNDS		2	/* the first one leaves memories and TLB as the second one finds them */
#define RING_LOG2	5
#define GATE		1
#define DONE(queue)	(2 + (queue))	/* semaphores */
#define DEADLINE_NS	120000000000
#define QUIET_NS	100000000	/* a queue that was rung stands at the gate by then */

static const uint32_t priorities[QUEUES] = { 0, 3, 7, 7, 12, 15 };

struct gate_queue {
	struct npurt_backend_queue *backend;
	struct npurt_ring ring;
	struct npurt_buffer *memory;
	uint64_t retired;
};

struct task {
	struct npurt_buffer *y;
	uint32_t queue, number;
};

struct schedule {
	struct rig rig;
	struct gate_queue queue[QUEUES + 1];	/* the last one opens the gate */
	struct npurt_buffer *arguments, *records;
	struct task tasks[QUEUES * TASKS];
};

static const struct npurt_backend_ops *ops_of(const struct schedule *schedule)
{
	return schedule->rig.context->backend->backend->ops;
}

static void open_queue(struct schedule *schedule, uint32_t number, uint32_t priority)
{
	struct gate_queue *queue = &schedule->queue[number];

	ok(npurt_buffer_alloc(schedule->rig.context, NPURT_PAGE, 0, &queue->memory));
	queue->ring = (struct npurt_ring){
		.control = npurt_buffer_map(queue->memory),
		.retired = &queue->retired,
		.depth = 1u << RING_LOG2, .size = 1u << RING_LOG2,
	};
	ok(ops_of(schedule)->queue_create(schedule->rig.context->backend,
					  npurt_buffer_address(queue->memory), RING_LOG2, priority,
					  0, &queue->backend));
}

static void put(struct gate_queue *queue, const void *packet, __le32 header)
{
	uint64_t index = 0;

	assert_int_equal(npurt_ring_reserve(&queue->ring, 1, &index), 0);
	npurt_ring_fill(&queue->ring, index, packet);
	npurt_ring_publish(&queue->ring, index, header);
}

static struct npu_record *record_of(const struct schedule *schedule, uint32_t task)
{
	return (struct npu_record *)npurt_buffer_map(schedule->records) + task;
}

static void put_task(struct schedule *schedule, uint32_t task, uint64_t gate)
{
	const struct rig *rig = &schedule->rig;
	__le64 *arguments = (__le64 *)npurt_buffer_map(schedule->arguments) + task * NPU_ARG_COUNT;
	struct npu_packet_exec packet = rig->model->packet;
	uint32_t queue = schedule->tasks[task].queue;

	arguments[NPU_ARG_WEIGHTS] = rig->model->weights;
	arguments[NPU_ARG_SCRATCH] = rig->model->scratch;
	arguments[NPU_ARG_FIRST_IO] = htole64(npurt_buffer_address(rig->x));
	arguments[NPU_ARG_FIRST_IO + 1] = htole64(npurt_buffer_address(schedule->tasks[task].y));
	packet.task_id = htole32(task);
	packet.arguments = htole64(npurt_buffer_address(schedule->arguments) +
				   task * NPU_ARG_COUNT * sizeof(__le64));
	packet.argument_count = NPU_ARG_COUNT;
	packet.record = htole64(npurt_buffer_address(schedule->records) +
				task * sizeof(struct npu_record));
	packet.budget = htole32(10000);
	packet.signal_sem = htole16((uint16_t)DONE(queue));
	packet.wait_sem[0] = htole16(GATE);
	packet.wait_sem[1] = htole16(NPU_SEM_NONE);
	packet.wait_value[0] = htole64(gate);
	put(&schedule->queue[queue], &packet,
	    htole32(NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0)));
}

static void open_gate(struct schedule *schedule)
{
	struct gate_queue *queue = &schedule->queue[QUEUES];
	const struct npu_packet_signal packet = { .sem = htole16(GATE), .add = htole64(1) };

	put(queue, &packet, htole32(NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0)));
	ops_of(schedule)->doorbell(queue->backend, 0);
}

static void make_schedule(struct schedule *schedule)
{
	const struct tiny_options slow = { .kind = TINY_SLOW, .elements = 1024, .trips = 400 };
	struct rig *rig = &schedule->rig;
	uint32_t i;

	rig_make(rig, NULL, &slow);
	ok(npurt_buffer_alloc(rig->context, QUEUES * TASKS * NPU_ARG_COUNT * sizeof(__le64), 0,
			      &schedule->arguments));
	ok(npurt_buffer_alloc(rig->context, QUEUES * TASKS * sizeof(struct npu_record), 0,
			      &schedule->records));
	for (i = 0; i < QUEUES; i++)
		open_queue(schedule, i, priorities[i]);
	open_queue(schedule, QUEUES, 15);
	for (i = 0; i < QUEUES * TASKS; i++) {
		schedule->tasks[i] = (struct task){ .queue = i % QUEUES, .number = i / QUEUES };
		ok(npurt_buffer_alloc(rig->context, rig->elements * 2, 0, &schedule->tasks[i].y));
	}
}

static void free_schedule(struct schedule *schedule)
{
	for (uint32_t i = 0; i < QUEUES * TASKS; i++)
		npurt_buffer_free(schedule->tasks[i].y);
	for (uint32_t i = 0; i <= QUEUES; i++) {
		ops_of(schedule)->queue_destroy(schedule->queue[i].backend);
		npurt_buffer_free(schedule->queue[i].memory);
	}
	npurt_buffer_free(schedule->arguments);
	npurt_buffer_free(schedule->records);
	rig_free(&schedule->rig);
}

static void run_round(struct schedule *schedule, uint64_t round)
{
	const struct timespec quiet = { .tv_nsec = QUIET_NS };
	struct npurt_backend_context *context = schedule->rig.context->backend;
	uint32_t i;

	memset(npurt_buffer_map(schedule->records), 0, QUEUES * TASKS * sizeof(struct npu_record));
	for (i = 0; i < QUEUES * TASKS; i++) {
		rig_fill(&schedule->rig, schedule->rig.x, schedule->tasks[i].y, 3);
		put_task(schedule, i, round);
	}
	/* One after the other: slots go by who comes first, and of equals the lower slot begins. */
	for (i = 0; i < QUEUES; i++) {
		ops_of(schedule)->doorbell(schedule->queue[i].backend, 0);
		nanosleep(&quiet, NULL);
	}
	for (i = 0; i < QUEUES * TASKS; i++)
		assert_int_equal(record_of(schedule, i)->status, NPU_STATUS_NONE);
	open_gate(schedule);
	for (i = 0; i < QUEUES; i++) {
		const struct npurt_wait wait = {
			.semaphore = DONE(i), .value = round * TASKS,
			.deadline_ns = rig_now() + DEADLINE_NS,
		};

		ok(ops_of(schedule)->wait(context, &wait));
	}
}

static struct schedule *sorted;

static int by_start(const void *one, const void *other)
{
	const struct npu_record *a = record_of(sorted, *(const uint32_t *)one);
	const struct npu_record *b = record_of(sorted, *(const uint32_t *)other);

	if (a->start != b->start)
		return le64toh(a->start) < le64toh(b->start) ? -1 : 1;
	return *(const uint32_t *)one < *(const uint32_t *)other ? -1 : 1;
}

/* The tasks as they began, in cycles since the first one did. */
static void note_order(struct schedule *schedule)
{
	const char *path = getenv("NPU_TEST_NOTES");
	FILE *file = path ? fopen(path, "a") : NULL;
	uint32_t order[QUEUES * TASKS];
	uint64_t begin;

	for (uint32_t i = 0; i < QUEUES * TASKS; i++)
		order[i] = i;
	sorted = schedule;
	qsort(order, QUEUES * TASKS, sizeof(*order), by_start);
	begin = le64toh(record_of(schedule, order[0])->start);
	assert_true(!path || file);
	for (uint32_t i = 0; i < QUEUES * TASKS; i++) {
		const struct task *task = &schedule->tasks[order[i]];
		const struct npu_record *record = record_of(schedule, order[i]);

		if (file)
			fprintf(file,
				"gate: queue %u priority %u task %u: %" PRIu64 " to %" PRIu64
				", stalls %u %u\n",
				task->queue, priorities[task->queue], task->number,
				le64toh(record->start) - begin, le64toh(record->end) - begin,
				le32toh(record->stall_token), le32toh(record->stall_memory));
	}
	assert_int_equal(file ? fclose(file) : 0, 0);
	/* Four at a time fit; whatever else the order is, the lowest one's last task begins last. */
	assert_int_equal(schedule->tasks[order[QUEUES * TASKS - 1]].queue, 0);
}

static void test_gate(void **state)
{
	static struct schedule schedule;

	(void)state;
	make_schedule(&schedule);
	for (uint64_t round = 1; round <= ROUNDS; round++)
		run_round(&schedule, round);
	for (uint32_t i = 0; i < QUEUES * TASKS; i++) {
		assert_int_equal(record_of(&schedule, i)->status, NPU_STATUS_DONE);
		rig_check(&schedule.rig, schedule.tasks[i].y, 3);
	}
	note_order(&schedule);
	free_schedule(&schedule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
