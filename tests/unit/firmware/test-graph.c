// SPDX-License-Identifier: MIT
/*
 * A graph in the device's memory: a thousand tasks that follow from one packet. What the host does
 * for a replay is counted, in packets and bytes, and does not depend on how many tasks there are.
 * Manual: queues.rst, "GRAPH".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#define LIMIT		100000000ull
#define TASKS		1000u
#define REPLAYS		3u
#define STEP		7u		/* raised by each task */
#define ARGUMENTS	offsetof(struct npu_packet_exec, arguments)

static const char *image_path;

/*
 * Task i copies piece i to piece i + 1, when the one before it has raised the semaphore: each waits
 * for a value relative to the one at the beginning of the replay.
 */
struct chain {
	struct host *host;
	uint32_t tasks;
	uint64_t program, arguments, pieces, list, patches, record, result;
};

/* What the host did for a replay. */
struct cost {
	uint64_t packets, bytes, turns, cycles;
};

static uint64_t argument_of(const struct chain *chain, uint32_t task)
{
	return chain->arguments + (uint64_t)task * 64;
}

static void write_arguments(struct chain *chain, uint64_t at, uint64_t from, uint64_t to)
{
	const uint64_t pair[2] = { from, to };

	memcpy(chain->host->memory + at, pair, sizeof(pair));
}

static struct npu_packet_exec packet_of(const struct chain *chain, uint32_t task, uint64_t base)
{
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = task,
		.program = chain->program,
		.arguments = argument_of(chain, task),
		.argument_count = 2,
		.budget = 1000,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
		.signal_sem = STEP,
	};

	if (task) {
		exec.wait_sem[0] = STEP;
		exec.wait_value[0] = base + task;
	}
	return exec;
}

static void build(struct chain *chain, uint32_t tasks)
{
	struct host *host = host_create("npu-v3", image_path);

	*chain = (struct chain){ .host = host, .tasks = tasks, .program = host_store(host, 1) };
	host_context(host, 1);
	host_queue(host, 0, 1, 7);
	chain->arguments = host_alloc(host, (uint64_t)(tasks + REPLAYS) * 64);
	chain->pieces = host_alloc(host, (uint64_t)(tasks + 1) * HOST_DATA);
	chain->list = host_alloc(host, (uint64_t)tasks * NPU_PACKET_BYTES);
	chain->patches = host_alloc(host, sizeof(struct npu_graph_patch));
	chain->record = host_alloc(host, sizeof(struct npu_record));
	chain->result = chain->pieces + (uint64_t)tasks * HOST_DATA;
	for (uint32_t i = 0; i < tasks; i++) {
		const struct npu_packet_exec exec = packet_of(chain, i, 0);

		write_arguments(chain, argument_of(chain, i), chain->pieces + i * HOST_DATA,
				chain->pieces + (i + 1) * HOST_DATA);
		memcpy(host->memory + chain->list + (uint64_t)i * NPU_PACKET_BYTES, &exec,
		       sizeof(exec));
	}
	host_idle(host, LIMIT);
}

static uint64_t different_bytes(const uint8_t *one, const uint8_t *other, uint64_t count)
{
	uint64_t different = 0;

	for (uint64_t i = 0; i < count; i++)
		different += one[i] != other[i];
	return different;
}

/* One packet, with another input by a patch of the first task's arguments. */
static struct cost replay(struct chain *chain, uint64_t arguments)
{
	struct host *host = chain->host;
	const struct npu_graph_patch patch = { .packet = 0, .offset = ARGUMENTS, .value = arguments };
	const struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0),
		.list = chain->list,
		.patches = chain->patches,
		.count = chain->tasks,
		.patch_count = 1,
		.record = chain->record,
	};
	uint8_t *before = malloc(host->free);
	uint32_t alive = npu_model_register_read(host->model, NPU_REG_FW_ALIVE);
	uint64_t first = host->index[0];
	struct cost cost;

	assert_non_null(before);
	memset(host->memory + chain->record, 0, sizeof(struct npu_record));
	memcpy(before, host->memory, host->free);
	memcpy(host->memory + chain->patches, &patch, sizeof(patch));
	host_packet(host, 0, &graph);
	cost.bytes = different_bytes(before, host->memory, host->free);
	host_ring(host, 0);
	free(before);
	host_idle(host, LIMIT);
	cost.packets = host->index[0] - first;
	cost.turns = npu_model_register_read(host->model, NPU_REG_FW_ALIVE) - alive;
	cost.cycles = ((struct npu_record *)(host->memory + chain->record))->end -
		      ((struct npu_record *)(host->memory + chain->record))->start;
	assert_int_equal(((struct npu_record *)(host->memory + chain->record))->status,
			 NPU_STATUS_DONE);
	return cost;
}

/* An input for a replay; returns the arguments that name it. */
static uint64_t make_input(struct chain *chain, uint32_t number, uint8_t *data)
{
	uint64_t arguments = argument_of(chain, chain->tasks + number);
	uint64_t input = host_alloc(chain->host, HOST_DATA);

	for (unsigned int i = 0; i < HOST_DATA; i++)
		data[i] = (uint8_t)(number * 91 + i * 5 + 1);
	memcpy(chain->host->memory + input, data, HOST_DATA);
	write_arguments(chain, arguments, input, chain->pieces + HOST_DATA);
	return arguments;
}

/* The most of its replays, all of which have to give their input. */
static struct cost replays(uint32_t tasks)
{
	struct chain chain;
	struct cost most = { 0 };

	build(&chain, tasks);
	for (uint32_t i = 0; i < REPLAYS; i++) {
		uint8_t data[HOST_DATA];
		uint64_t arguments = make_input(&chain, i, data);
		struct cost cost = replay(&chain, arguments);

		assert_memory_equal(chain.host->memory + chain.result, data, HOST_DATA);
		assert_int_equal(host_semaphore(chain.host, 1, STEP), (uint64_t)tasks * (i + 1));
		assert_int_equal(npu_model_register_read(chain.host->model, NPU_REG_COUNTER_TASKS_LO),
				 tasks * (i + 1));
		most.packets += cost.packets;
		most.bytes = cost.bytes > most.bytes ? cost.bytes : most.bytes;
		/* The first one has to ask for a slot and clusters. */
		if (i)
			most.turns = cost.turns > most.turns ? cost.turns : most.turns;
		most.cycles = cost.cycles;
	}
	host_destroy(chain.host);
	return most;
}

static void test_cost(void **state)
{
	static const uint32_t tasks[] = { 1, 10, TASKS };
	struct cost cost[3];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		cost[i] = replays(tasks[i]);
		print_message("    %4u tasks: %llu packets in %u replays, at most %llu bytes written by "
			      "the host for one, %llu cycles\n", tasks[i],
			      (unsigned long long)cost[i].packets, REPLAYS,
			      (unsigned long long)cost[i].bytes, (unsigned long long)cost[i].cycles);
		assert_int_equal(cost[i].packets, REPLAYS);
		/* A packet, a patch, the write index. */
		assert_in_range(cost[i].bytes, 1, NPU_PACKET_BYTES + sizeof(struct npu_graph_patch) + 8);
		/* The control core hears that a task has ended, at most twice for each. */
		assert_in_range(cost[i].turns, 1, 2 * tasks[i] + 4);
	}
}

/* The same tasks, packet by packet: the same bytes everywhere. */
static void test_same_results(void **state)
{
	struct chain graph, single;
	uint8_t data[HOST_DATA];
	uint64_t input;

	(void)state;
	build(&graph, TASKS);
	input = make_input(&graph, 0, data);
	replay(&graph, input);
	build(&single, TASKS);
	input = make_input(&single, 0, data);
	for (uint32_t i = 0; i < TASKS; i++) {
		struct npu_packet_exec exec = packet_of(&single, i, 0);

		if (!i)
			exec.arguments = input;
		if (single.host->index[0] - host_control(single.host, 0)->read_index ==
		    HOST_RECORDS - 1)
			host_idle(single.host, LIMIT);
		host_packet(single.host, 0, &exec);
		host_ring(single.host, 0);
	}
	host_idle(single.host, LIMIT);
	assert_int_equal(host_semaphore(single.host, 1, STEP), TASKS);
	assert_memory_equal(single.host->memory + single.pieces, graph.host->memory + graph.pieces,
			    (TASKS + 1) * HOST_DATA);
	assert_memory_equal(graph.host->memory + graph.result, data, HOST_DATA);
	host_destroy(graph.host);
	host_destroy(single.host);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_same_results),
	};

	image_path = host_image(count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
