// SPDX-License-Identifier: MIT
/* What seldom happens: memory that goes away in between, kills at odd moments, full counters. */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define RECORD		0x3000

enum { A = 1, B };

/* Unmap a page of context 0 and invalidate it. */
static void unmap(struct board *board, uint64_t offset)
{
	*board_entry(board, 0, board_va(board, offset), 0) = 0;
	npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, 1);
}

static struct program loop_program(struct board *board, unsigned int context, uint32_t trips)
{
	struct program program = program_begin(board, context, PROGRAM, 1);

	program.header->local_bytes = 65536;
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = trips));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_finish(&program);
	return program;
}

static void push_exec(struct board *board, unsigned int queue, const struct program *program,
		      uint64_t record, uint16_t signal)
{
	struct npu_packet_exec exec = exec_packet(program, 7, 0x2000, 0, record);

	exec.signal_sem = signal;
	board_push(board, queue, &exec);
	board_ring_doorbell(board, queue);
}

/* The record's page goes while the task runs: fault record, semaphore, then the queue stops. */
static void test_record_lost(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	const struct npu_fault *fault;

	(void)state;
	board_simple(board);
	program = loop_program(board, 0, 1000);
	push_exec(board, 0, &program, 0x9000, 4);
	assert_false(npu_model_run(board->model, 500));
	unmap(board, 0x9000);
	board_run(board, 10000);
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->address, board_va(board, 0x9000));
	assert_int_equal(fault->access, NPU_ACCESS_WRITE);
	assert_int_equal(fault->cluster, 0xff);
	assert_int_equal(fault->task_id, 7);
	assert_int_equal(board_semaphore(board, 0, 4), 1);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
	assert_int_equal(board_ring(board, 0)->error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(board_ring(board, 0)->error_index, 0);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	board_destroy(board);
}

/* DETACH is asked for while the queue is about to stop: it does both. */
static void test_record_lost_detached(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;

	(void)state;
	board_simple(board);
	program = loop_program(board, 0, 1000);
	push_exec(board, 0, &program, 0x9000, NPU_SEM_NONE);
	assert_false(npu_model_run(board->model, 500));
	unmap(board, 0x9000);
	board_control(board, 0, NPU_SLOT_DETACH);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(board_ring(board, 0)->error, NPU_ERROR_MMU_UNMAPPED);
	/* A queue with an error is attached only to be stopped, until it is made anew. */
	board_attach(board, 2, 0);
	assert_int_equal(board_state(board, 2), NPU_SLOT_STATE_STOPPED);
	board_control(board, 2, NPU_SLOT_DETACH);
	board_ring_doorbell(board, 0);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_DOORBELLS_LO), 0);
	memset(board_ring(board, 0), 0, 0x1000);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_attach(board, 2, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 2), NPU_SLOT_STATE_EMPTY);
	board_destroy(board);
}

/* Arguments nobody can read; a ring that is not aligned. */
static void test_bad_addresses(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = loop_program(board, 0, 1);
	exec = exec_packet(&program, 7, 0x9000 - 64, 32, RECORD);
	unmap(board, 0x9000);
	record = board_at(board, 0, RECORD);
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(record->status, NPU_STATUS_REJECTED);
	assert_int_equal(record->error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(record->detail, board_va(board, 0x9000));
	assert_int_equal(board_fault(board)->access, NPU_ACCESS_READ);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_EMPTY);
	board_add_queue(board, 1, 0, 0x8020, 4);
	board_attach(board, 1, 1);
	assert_int_equal(board_state(board, 1), NPU_SLOT_STATE_STOPPED);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_QUEUE(1) + NPU_QUEUE_ERROR),
			 NPU_ERROR_RING);
	/* A ring whose control block is on a page that cannot be written. */
	board_add_queue(board, 2, 0, 0xa000 - 128, 4);
	*board_entry(board, 0, board_va(board, 0x9000), 0) =
		(board->data[0] + 0x9000) >> 12 << 10 | (PTE_ALL & ~PTE_W);
	board_attach(board, 2, 2);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 2), NPU_SLOT_STATE_STOPPED);
	assert_int_equal(board_fault(board)->access, NPU_ACCESS_RING);
	board_destroy(board);
}

/* Writes the last 256 of 65536 bytes of local SRAM. */
static struct program last_bytes_program(struct board *board, unsigned int context)
{
	struct npu_td td = dense(NPU_SPACE_LOCAL, 0, 65536 - 256, NPU_DTYPE_INT8, 1, 1, 1, 256);
	struct program program = program_begin(board, context, PROGRAM, 1);

	program.header->local_bytes = 65536;
	program_descriptor(&program, 1, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_LAYOUT, .dst = 1, .src[0] = 1));
	program_finish(&program);
	return program;
}

/* Killed while its clusters were being scrubbed: it had not started. */
static void test_kill_in_scrub(void **state)
{
	struct board *board = board_create(NULL);
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	for (unsigned int context = 0; context < 2; context++) {
		struct program program;

		if (context) {
			board_add_context(board, 1);
			board_add_queue(board, 1, 1, 0x1000, 4);
			board_attach(board, 1, 1);
			board_control(board, 0, NPU_SLOT_DETACH);
			board_run(board, 10000);
			board_grant(board, 1, 1, 0, 4u << 20);
		}
		program = last_bytes_program(board, context);
		push_exec(board, context, &program, RECORD, NPU_SEM_NONE);
		if (!context)
			board_run(board, 10000);
	}
	/* 65536 bytes of local SRAM, to the last one used: 512 cycles after 123 of the packet. */
	assert_false(npu_model_run(board->model, 400));
	assert_int_equal(board_state(board, 1), NPU_SLOT_STATE_RUNNING);
	board_control(board, 1, NPU_SLOT_KILL);
	board_run(board, 10000);
	record = board_at(board, 1, RECORD);
	assert_int_equal(record->status, NPU_STATUS_KILLED);
	assert_int_equal(record->start, record->end);
	assert_int_equal(board_state(board, 1), NPU_SLOT_STATE_FREE);
	board_destroy(board);
}

static struct npu_packet_copy copy_packet(struct board *board, uint64_t to, uint64_t from,
					  uint32_t bytes, uint64_t record)
{
	return (struct npu_packet_copy){
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.destination = board_va(board, to),
		.source = board_va(board, from),
		.bytes = bytes,
		.record = board_va(board, record),
		.signal_sem = NPU_SEM_NONE,
	};
}

/* How the last task or COPY left the slot. */
static uint32_t left(struct board *board, unsigned int slot)
{
	return npu_model_core_read(board->model, NPU_REG_SLOT_LEFT(slot));
}

/* COPY killed in its latency, in its work, and while it waits for the channel. */
static void test_kill_copy(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct board *board = board_create(NULL);
		unsigned int victim = i == 2 ? 1 : 0;

		board_simple(board);
		for (unsigned int queue = 1; queue < 3; queue++) {
			board_add_queue(board, queue, 0, 0x8000 * queue, 4);
			board_attach(board, queue, queue);
		}
		board_run(board, 10000);
		for (unsigned int queue = 0; queue < 3; queue++) {
			struct npu_packet_copy copy =
				copy_packet(board, 0x100000 + queue * 0x10000, 0x200000, 65536,
					    RECORD + queue * 64);

			board_push(board, queue, &copy);
			board_ring_doorbell(board, queue);
		}
		assert_false(npu_model_run(board->model, i == 1 ? 2000 : 200));
		assert_int_equal(board_state(board, victim), NPU_SLOT_STATE_RUNNING);
		board_control(board, victim, NPU_SLOT_KILL);
		board_run(board, 100000);
		for (unsigned int queue = 0; queue < 3; queue++) {
			const struct npu_record *record =
				board_at(board, 0, RECORD + queue * 64);

			assert_int_equal(record->status, queue == victim ? NPU_STATUS_KILLED :
									   NPU_STATUS_DONE);
			assert_int_equal(left(board, queue), queue == victim ?
								     NPU_SLOT_LEFT_KILLED :
								     NPU_SLOT_LEFT_ENDED);
		}
		assert_int_equal(board_state(board, victim), NPU_SLOT_STATE_FREE);
		board_destroy(board);
	}
}

/* COPY of memory that is not there, in a graph: its record and the graph's tell, the list goes on. */
static void test_graph_failures(void **state)
{
	struct board *board = board_create(NULL);
	struct npu_packet_graph graph = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .count = 3,
	};
	union npu_packet *list;
	const struct npu_record *record, *outer;

	(void)state;
	board_simple(board);
	list = board_at(board, 0, 0x20000);
	list[0].copy = copy_packet(board, 0x100000, 0x9000 - 32, 64, RECORD);
	list[1].copy = copy_packet(board, 0x100000, 0x110000, 64, RECORD + 64);
	list[2].signal = (struct npu_packet_signal){
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0), .sem = 3,
		.add = UINT64_MAX,
	};
	unmap(board, 0x9000);
	graph.list = board_va(board, 0x20000);
	graph.record = board_va(board, RECORD + 128);
	record = board_at(board, 0, RECORD);
	outer = board_at(board, 0, RECORD + 128);
	board_push(board, 0, &graph);
	board_push(board, 0, &graph);
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
	assert_int_equal(record[0].status, NPU_STATUS_FAULT);
	assert_int_equal(record[0].error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(record[0].detail, board_va(board, 0x9000));
	assert_int_equal(record[1].status, NPU_STATUS_DONE);
	assert_int_equal(outer->status, NPU_STATUS_FAULT);
	assert_int_equal(outer->error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(outer->dram_read, record[0].dram_read + record[1].dram_read);
	/* Semaphores saturate. */
	assert_int_equal(board_semaphore(board, 0, 3), UINT64_MAX);
	assert_int_equal(board_ring(board, 0)->read_index, 2);
	board_destroy(board);
}

/* The firmware must not take the task that comes after a COPY for one that was preempted. */
static void test_left_by_copy(void **state)
{
	static const uint32_t expected[2] = { NPU_SLOT_LEFT_ENDED, NPU_SLOT_LEFT_FAILED };
	struct board *board = board_create(NULL);

	(void)state;
	board_simple(board);
	unmap(board, 0x9000);
	for (unsigned int i = 0; i < 2; i++) {
		struct npu_packet_copy copy =
			copy_packet(board, 0x100000, i ? 0x9000 : 0x110000, 64, RECORD);

		board->model->command.slot[0].left = NPU_SLOT_LEFT_PREEMPTED;
		board_push(board, 0, &copy);
		board_ring_doorbell(board, 0);
		board_run(board, 100000);
		assert_int_equal(left(board, 0), expected[i]);
	}
	board_destroy(board);
}

/* The list, its patches or its record cannot be reached, or a patch is wrong: the queue stops. */
static void test_graph_memory(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		struct board *board = board_create(NULL);
		struct npu_packet_graph graph = {
			.header = NPU_PACKET_HEADER(NPU_PACKET_GRAPH, 0, 0), .count = 2,
			.patch_count = 2,
		};
		union npu_packet *list;
		struct npu_graph_patch *patches;
		uint32_t error = NPU_ERROR_MMU_UNMAPPED;

		board_simple(board);
		list = board_at(board, 0, 0x20000);
		patches = board_at(board, 0, 0x21000);
		list[0].header = NPU_PACKET_NOP;
		list[1].header = NPU_PACKET_NOP;
		patches[0] = (struct npu_graph_patch){ .packet = 0, .offset = 8 };
		patches[1] = (struct npu_graph_patch){ .packet = 1, .offset = 56 };
		graph.list = board_va(board, 0x20000);
		graph.patches = board_va(board, 0x21000);
		switch (i) {
		case 0:
			unmap(board, 0x20000);
			break;
		case 1:
			unmap(board, 0x21000);
			break;
		case 2:
			graph.record = board_va(board, 0x22000);
			unmap(board, 0x22000);
			break;
		case 3:
			patches[1].packet = 0;
			patches[0].packet = 1;
			error = NPU_ERROR_BAD_PACKET;
			break;
		case 4:
			patches[1].offset = 4;
			error = NPU_ERROR_BAD_PACKET;
			break;
		case 5:
			/* Nothing wrong. */
			error = NPU_ERROR_NONE;
			break;
		}
		board_push(board, 0, &graph);
		board_ring_doorbell(board, 0);
		board_run(board, 100000);
		assert_int_equal(board_ring(board, 0)->error, error);
		assert_int_equal(board_ring(board, 0)->read_index, error ? 0 : 1);
		assert_int_equal(board_fault(board) != NULL, error == NPU_ERROR_MMU_UNMAPPED);
		board_destroy(board);
	}
}

/* A reset in the middle of a task: nothing is written, the device is as new. */
static void test_reset(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t time;

	(void)state;
	board_simple(board);
	program = loop_program(board, 0, 100000);
	push_exec(board, 0, &program, RECORD, 4);
	assert_false(npu_model_run(board->model, 1000));
	time = npu_model_time(board->model);
	npu_model_register_write(board->model, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	board_run(board, 1000);
	assert_int_equal(npu_model_time(board->model), time);
	assert_int_equal(((struct npu_record *)board_at(board, 0, RECORD))->status, 0);
	assert_int_equal(board_semaphore(board, 0, 4), 0);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(npu_model_register_read(board->model, NPU_REG_IRQ_ENABLE), 0);
	npu_model_register_write(board->model, NPU_REG_CONTEXT_TABLE_LO,
				 (uint32_t)BOARD_CONTEXT_TABLE);
	board_update_context(board, 0, true);
	memset(board_ring(board, 0), 0, 0x1000);
	board_add_queue(board, 0, 0, 0x1000, 4);
	board_attach(board, 0, 0);
	board_grant(board, 0, 15, 0, 4u << 20);
	program = loop_program(board, 0, 10);
	assert_int_equal(board_execute(board, &program, NULL, 0)->status, NPU_STATUS_DONE);
	board_destroy(board);
}

/* LDTD whose data are past the program's end, or on a page that cannot be executed. */
static void test_descriptor_at_the_end(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = program_begin(board, 0, PROGRAM, 1);
	program_emit(&program, INSN(.opcode = NPU_OP_LDTD, .dst = A));
	program_emit(&program, INSN(.opcode = NPU_OP_END));
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->error, NPU_ERROR_PROGRAM_END);
	assert_int_equal(record->detail, sizeof(struct npu_program_header));
	/* The first word is the last one of its page. */
	program = program_begin(board, 0, PROGRAM, 1);
	program.size = 4096 - NPU_INSN_BYTES;
	program_stream(&program, 0);
	program_descriptor(&program, A, &(struct npu_td){ 0 });
	program_finish(&program);
	assert_int_equal(board_execute(board, &program, NULL, 0)->status, NPU_STATUS_DONE);
	unmap(board, PROGRAM + 4096);
	record = board_execute(board, &program, NULL, 0);
	assert_int_equal(record->error, NPU_ERROR_MMU_UNMAPPED);
	assert_int_equal(record->detail, board_va(board, PROGRAM + 4096));
	board_destroy(board);
}

/* Tokens: 15 are held, the sixteenth is a fault; so it is for the gang's. */
static void test_token_overflow(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board_simple(board);
	for (unsigned int i = 0; i < 6; i++) {
		unsigned int token = i % 2 ? 40 : 3;
		static const uint8_t engines[] = {
			NPU_ENGINE_FRONT, NPU_ENGINE_DMA1, NPU_ENGINE_LAYOUT,
		};
		struct program program = program_begin(board, 0, PROGRAM, 1);
		const struct npu_record *record;
		uint32_t last;

		for (unsigned int k = 0; k < 15; k++)
			program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = engines[i / 2],
						    .release = { NPU_TOKEN(token) }));
		last = program.size;
		program_finish(&program);
		assert_int_equal(board_execute(board, &program, NULL, 0)->status,
				 NPU_STATUS_DONE);
		program.size = last;
		program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = engines[i / 2],
					    .release = { NPU_TOKEN(token) }));
		program_finish(&program);
		record = board_execute(board, &program, NULL, 0);
		assert_int_equal(record->status, NPU_STATUS_FAULT);
		assert_int_equal(record->error, NPU_ERROR_TOKEN_OVERFLOW);
		assert_int_equal(record->detail, last);
	}
	board_destroy(board);
}

/* A device busy with a task lets its core's timer fire on time. */
static void test_timer_while_busy(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t compare;

	(void)state;
	board_simple(board);
	/* No firmware; a core that was let run and sleeps for good: wfi, j .-4 */
	memcpy(board->model->core.tcm, (const uint32_t[]){ 0x10500073u, 0xffdff06fu }, 8);
	rv32_reset(board->model->core.core, NPU_FW_TCM_BASE);
	board_run(board, 100);
	program = loop_program(board, 0, 3000);
	push_exec(board, 0, &program, RECORD, NPU_SEM_NONE);
	compare = npu_model_time(board->model) + 1000;
	npu_model_core_write(board->model, NPU_REG_CORE_TIMECMP_HI, (uint32_t)(compare >> 32));
	npu_model_core_write(board->model, NPU_REG_CORE_TIMECMP_LO, (uint32_t)compare);
	assert_false(npu_model_run(board->model, 999));
	assert_int_equal(board->model->core.core->lines, 0);
	assert_false(npu_model_run(board->model, 1));
	assert_int_equal(board->model->core.core->lines, RV32_IRQ_TIMER);
	assert_int_equal(npu_model_timer(board->model), UINT64_MAX);
	npu_model_core_write(board->model, NPU_REG_CORE_TIMECMP_HI, UINT32_MAX);
	assert_int_equal(board->model->core.core->lines, 0);
	board_run(board, 100000);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_lost),
		cmocka_unit_test(test_record_lost_detached),
		cmocka_unit_test(test_bad_addresses),
		cmocka_unit_test(test_kill_in_scrub),
		cmocka_unit_test(test_kill_copy),
		cmocka_unit_test(test_left_by_copy),
		cmocka_unit_test(test_graph_failures),
		cmocka_unit_test(test_graph_memory),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_descriptor_at_the_end),
		cmocka_unit_test(test_token_overflow),
		cmocka_unit_test(test_timer_while_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
