// SPDX-License-Identifier: MIT
/* What a context's tasks have cost, in host memory: queues.rst, "Counters". */
#include <string.h>

#include "board.h"

#define DATA		0x100000
#define PROGRAM		0x200000
#define RECORD		0x3000
#define LIST		0x20000

enum { A = 1, B, C };

static const struct npu_context_counters *counters(struct board *board, unsigned int context)
{
	return board_dma(board, BOARD_COUNTERS(context));
}

/* 64 bursts into local SRAM, then two sources of 64 times 64 bytes through the vector unit. */
static struct program vector_program(struct board *board)
{
	struct npu_td dram = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096);
	struct npu_td from = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096);
	struct npu_td to = dense(NPU_SPACE_LOCAL, 0, 4096, NPU_DTYPE_INT8, 1, 1, 1, 4096);
	struct program program = program_begin(board, 0, PROGRAM, 1);

	program_descriptor(&program, A, &dram);
	program_descriptor(&program, B, &from);
	program_descriptor(&program, C, &to);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_emit(&program,
		     INSN(.opcode = NPU_OP_VEC, .subop = NPU_VEC_MAX, .dst = C, .src = { B, B }));
	program_finish(&program);
	return program;
}

static struct npu_packet_copy copy_packet(struct board *board, uint32_t bytes)
{
	return (struct npu_packet_copy){
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.source = board_va(board, DATA),
		.destination = board_va(board, DATA + 0x10000),
		.bytes = bytes,
		.signal_sem = NPU_SEM_NONE,
	};
}

static void run_packet(struct board *board, const void *packet)
{
	board_push(board, 0, packet);
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
}

static void test_tasks_add_up(void **state)
{
	struct board *board = board_create(NULL);
	const struct npu_context_counters *sum = counters(board, 0);
	struct npu_packet_copy copy;
	const struct npu_record *record;
	struct program program;
	uint64_t argument;

	(void)state;
	board_simple(board);
	program = vector_program(board);
	argument = board_va(board, DATA);
	for (unsigned int i = 1; i <= 3; i++) {
		record = board_execute(board, &program, &argument, 1);
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->dma_cycles, 128);
		assert_int_equal(record->vector_cycles, 128);
		assert_int_equal(sum->dma_cycles, 128 * i);
		assert_int_equal(sum->vector_cycles, 128 * i);
		assert_int_equal(sum->mac_cycles, 0);
		assert_int_equal(sum->out_cycles, 0);
		assert_int_equal(sum->tasks, i);
	}
	/* 64 bursts each way; nobody asked for a record. */
	copy = copy_packet(board, 4096);
	run_packet(board, &copy);
	assert_int_equal(sum->dma_cycles, 3 * 128 + 2 * 128);
	assert_int_equal(sum->tasks, 4);
	/* Nobody else's. */
	assert_int_equal(counters(board, 1)->tasks, 0);
	board_destroy(board);
}

/* They are in memory when the semaphore is, and not before: 122 cycles after the end. */
static void test_stored_with_the_record(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_copy copy;

	(void)state;
	board_simple(board);
	copy = copy_packet(board, 64);
	copy.signal_sem = 4;
	board_push(board, 0, &copy);
	board_ring_doorbell(board, 0);
	while (!counters(board, 0)->tasks) {
		assert_int_equal(board_semaphore(board, 0, 4), 0);
		if (npu_model_run(board->model, 1))
			break;
	}
	assert_int_equal(counters(board, 0)->tasks, 1);
	assert_int_equal(counters(board, 0)->dma_cycles, 4);
	assert_int_equal(board_semaphore(board, 0, 4), 1);
	board_destroy(board);
}

/* The tasks of a list count, the list itself does not. */
static void test_graph_counts_once(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0),
		.count = 2,
	};
	union npu_packet *list;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	list = board_at(board, 0, LIST);
	list[0].copy = copy_packet(board, 4096);
	list[1].copy = copy_packet(board, 64);
	graph.list = board_va(board, LIST);
	graph.record = board_va(board, RECORD);
	run_packet(board, &graph);
	record = board_at(board, 0, RECORD);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->dma_cycles, 256 + 4);
	assert_int_equal(counters(board, 0)->dma_cycles, 256 + 4);
	assert_int_equal(counters(board, 0)->tasks, 2);
	board_destroy(board);
}

/* A task that ends badly has cost what it has cost. */
static void test_failed_tasks(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.budget = 1,
		.signal_sem = NPU_SEM_NONE,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
	struct npu_packet_copy copy;

	(void)state;
	board_simple(board);
	/* Rejected: there is no program in zeroes. */
	exec.program = board_va(board, DATA);
	run_packet(board, &exec);
	assert_int_equal(counters(board, 0)->tasks, 1);
	assert_int_equal(counters(board, 0)->dma_cycles, 0);
	/* A fault at its second page, after the time of the whole. */
	copy = copy_packet(board, 8192);
	copy.destination = board_va(board, BOARD_CONTEXT_BYTES - 4096);
	run_packet(board, &copy);
	assert_non_null(board_fault(board));
	assert_int_equal(counters(board, 0)->tasks, 2);
	assert_int_equal(counters(board, 0)->dma_cycles, 512);
	board_destroy(board);
}

/* What becomes of them when the context's entry is read again. */
static void test_context_update(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_context_counters *sum;
	struct npu_packet_copy copy;

	(void)state;
	board_simple(board);
	sum = board_dma(board, BOARD_COUNTERS(0));
	copy = copy_packet(board, 64);
	run_packet(board, &copy);
	/* One that stays valid keeps its own, whatever is in memory. */
	memset(sum, 0, sizeof(*sum));
	board_update_context(board, 0, true);
	run_packet(board, &copy);
	assert_int_equal(sum->tasks, 2);
	/* One that becomes valid goes on from memory. */
	board_update_context(board, 0, false);
	*sum = (struct npu_context_counters){
		.mac_cycles = 1ull << 40, .out_cycles = 20, .vector_cycles = 30, .dma_cycles = 40,
		.tasks = 50,
	};
	board_update_context(board, 0, true);
	run_packet(board, &copy);
	assert_int_equal(sum->mac_cycles, 1ull << 40);
	assert_int_equal(sum->out_cycles, 20);
	assert_int_equal(sum->vector_cycles, 30);
	assert_int_equal(sum->dma_cycles, 44);
	assert_int_equal(sum->tasks, 51);
	board_destroy(board);
}

/* No address, or memory that does not answer: nothing is stored, and tasks do not notice. */
static void test_no_memory(void **state)
{
	static const uint64_t addresses[] = { 0, 64, BOARD_MEMORY_BASE + BOARD_MEMORY_BYTES };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct board *board = board_create(NULL);
		struct npu_context_entry *entry = board_dma(board, BOARD_CONTEXT_TABLE);
		struct npu_packet_copy copy;
		const struct npu_record *record;

		board_simple(board);
		entry[0].counters = addresses[i];
		npu_model_register_write(board->model, NPU_REG_CONTEXT_UPDATE, 0);
		copy = copy_packet(board, 64);
		copy.record = board_va(board, RECORD);
		run_packet(board, &copy);
		record = board_at(board, 0, RECORD);
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->end - record->start, 24 + 240 + 6 * 122 + 4);
		assert_int_equal(counters(board, 0)->tasks, 0);
		assert_null(board_fault(board));
		board_destroy(board);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_add_up),
		cmocka_unit_test(test_stored_with_the_record),
		cmocka_unit_test(test_graph_counts_once),
		cmocka_unit_test(test_failed_tasks),
		cmocka_unit_test(test_context_update),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
