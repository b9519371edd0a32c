// SPDX-License-Identifier: MIT
/* One queue follows another in a slot: CORE_NEXT, as command-processor.rst and timing.rst promise. */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define RECORD		0x3000

/* Of timing.rst: a packet's fetch, the comparison, the dispatch. */
#define FETCH		122
#define COMPARE		1
#define DISPATCH	60

static void name_next(struct board *board, uint32_t value)
{
	npu_model_core_write(board->model, NPU_REG_CORE_NEXT, value);
}

static uint32_t next(struct board *board)
{
	return npu_model_core_read(board->model, NPU_REG_CORE_NEXT);
}

static unsigned int queue_in(struct board *board, unsigned int slot)
{
	return board_slot(board, slot, NPU_SLOT_STATE) >> 8 & 0xff;
}

static uint32_t events(struct board *board, unsigned int slot)
{
	uint32_t value = board_slot(board, slot, NPU_SLOT_EVENT);

	npu_model_core_write(board->model, NPU_REG_SLOT(slot) + NPU_SLOT_EVENT, value);
	return value;
}

static uint32_t doorbells(struct board *board)
{
	return npu_model_core_read(board->model, NPU_REG_CORE_DOORBELLS_LO);
}

static void push_signal(struct board *board, unsigned int queue, unsigned int semaphore)
{
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.sem = (uint16_t)semaphore,
		.add = 1,
	};

	board_push(board, queue, &signal);
}

/* Contexts 0 and 1, queue 0 of the first and 1 and 2 of the second; 0 is in slot 0, EMPTY. */
static struct board *two_contexts(void)
{
	struct board *board = board_create(NULL);

	for (unsigned int i = 0; i < 2; i++)
		board_add_context(board, i);
	for (unsigned int i = 0; i < 3; i++)
		board_add_queue(board, i, i != 0, 0x1000 + 0x1000 * i, 4);
	board_attach(board, 0, 0);
	board_run(board, 10000);
	events(board, 0);
	return board;
}

static struct program delay_program(struct board *board, unsigned int context)
{
	struct program program = program_begin(board, context, PROGRAM, 1);

	for (unsigned int i = 0; i < 100; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_SYNC));
	program_finish(&program);
	return program;
}

static void push_task(struct board *board, const struct program *program, unsigned int queue)
{
	struct npu_packet_exec exec = exec_packet(program, 1, 0, 0, RECORD + 0x1000 * queue);

	board_push(board, queue, &exec);
}

static const struct npu_record *record_of(struct board *board, unsigned int queue)
{
	return board_at(board, queue != 0, RECORD + 0x1000 * queue);
}

/* An idle queue goes, and the one named is there in the same cycle. */
static void test_idle(void **state)
{
	struct board *board = two_contexts();

	(void)state;
	board_grant(board, 0, 3, 0, 4096);
	push_signal(board, 1, 5);
	assert_int_equal(board_ring(board, 1)->sleeping, 1);
	name_next(board, NPU_NEXT_VALID | 1);
	assert_int_equal(next(board), NPU_NEXT_VALID | 1);
	assert_int_equal(queue_in(board, 0), 0);
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(queue_in(board, 0), 1);
	assert_int_equal(next(board), 1);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
	assert_int_equal(events(board, 0), NPU_SLOT_EVENT_SWITCHED);
	assert_int_equal(board_ring(board, 0)->sleeping, 1);
	assert_int_equal(board_ring(board, 1)->sleeping, 0);
	board_run(board, 10000);
	assert_int_equal(board_semaphore(board, 1, 5), 1);
	/* It has been taken: the next one to go leaves the slot free. */
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(events(board, 0), NPU_SLOT_EVENT_IDLE | NPU_SLOT_EVENT_DETACHED);
	board_destroy(board);
}

/* The grant stays where that is asked for. */
static void test_grant(void **state)
{
	struct board *board = two_contexts();

	(void)state;
	board_grant(board, 0, 6, 64, 4096);
	name_next(board, NPU_NEXT_VALID | NPU_NEXT_GRANT | 2);
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(queue_in(board, 0), 2);
	assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 6);
	/* Nobody else gets it. */
	board_attach(board, 1, 0);
	board_grant(board, 1, 15, 8192, 4096);
	assert_int_equal(board_slot(board, 1, NPU_SLOT_GRANT), 9);
	board_destroy(board);
}

/* Who cannot come in is not waited for. */
static void test_refused(void **state)
{
	static const uint32_t refused[] = { 3, 63, 64, 255, 0, 1 };
	struct board *board;

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		board = two_contexts();
		board_attach(board, 1, 1);
		name_next(board, NPU_NEXT_VALID | NPU_NEXT_GRANT | refused[i]);
		board_grant(board, 0, 1, 0, 0);
		board_control(board, 0, NPU_SLOT_DETACH);
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
		assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
		assert_int_equal(next(board) & NPU_NEXT_VALID, 0);
		assert_int_equal(events(board, 0), NPU_SLOT_EVENT_DETACHED);
		board_destroy(board);
	}
	/* One with an error; and one whose name was taken back. */
	board = two_contexts();
	npu_model_core_write(board->model, NPU_REG_QUEUE(2) + NPU_QUEUE_ERROR, 7);
	name_next(board, NPU_NEXT_VALID | 2);
	name_next(board, 0);
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	board_attach(board, 0, 0);
	name_next(board, NPU_NEXT_VALID | 2);
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(next(board), 2);
	/* A slot that is free already takes nobody. */
	name_next(board, NPU_NEXT_VALID | 1);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(next(board), NPU_NEXT_VALID | 1);
	board_destroy(board);
}

/* A queue that stops leaves its slot free: whose error it is must not be in doubt. */
static void test_stopped(void **state)
{
	struct board *board = two_contexts();
	const uint32_t bad[16] = { NPU_PACKET_HEADER(77, 0, 0) };

	(void)state;
	board_push(board, 0, bad);
	board_ring_doorbell(board, 0);
	board_run(board, 10000);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_STOPPED);
	name_next(board, NPU_NEXT_VALID | 1);
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
	assert_int_equal(next(board), NPU_NEXT_VALID | 1);
	board_destroy(board);
}

/* What was left behind is rung again. */
static void test_left_behind(void **state)
{
	struct board *board = two_contexts();

	(void)state;
	push_signal(board, 0, 1);
	push_signal(board, 0, 1);
	name_next(board, NPU_NEXT_VALID | 1);
	board_ring_doorbell(board, 0);
	npu_model_run(board->model, FETCH + 10);
	/* The first SIGNAL is under way: it belongs to the old queue's context. */
	board_control(board, 0, NPU_SLOT_DETACH);
	assert_int_equal(queue_in(board, 0), 0);
	board_run(board, 10000);
	assert_int_equal(queue_in(board, 0), 1);
	assert_int_equal(board_semaphore(board, 0, 1), 1);
	assert_int_equal(board_semaphore(board, 1, 1), 0);
	assert_int_equal(doorbells(board), 1);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	board_destroy(board);
}

/*
 * The cycles from the end of queue 0's task to the start of queue 1's, which is named @late cycles
 * after the end of the former, or long before it.
 */
static uint64_t switch_cycles(unsigned int late, bool kill)
{
	struct board *board = two_contexts();
	struct program program = delay_program(board, 0);
	struct program other = delay_program(board, 1);
	const struct npu_record *first = record_of(board, 0);
	const struct npu_record *second = record_of(board, 1);
	uint64_t cycles;

	/* Its page is known to the queue. */
	push_signal(board, 1, 5);
	board_attach(board, 1, 1);
	board_run(board, 10000);
	board_control(board, 1, NPU_SLOT_DETACH);
	board_grant(board, 0, 1, 0, board->model->config.global_bytes);
	push_task(board, &program, 0);
	push_task(board, &program, 0);
	push_task(board, &other, 1);
	if (!late)
		name_next(board, NPU_NEXT_VALID | NPU_NEXT_GRANT | 1);
	board_ring_doorbell(board, 0);
	npu_model_run(board->model, FETCH + COMPARE + DISPATCH + 20);
	assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_RUNNING);
	board_control(board, 0, kill ? NPU_SLOT_KILL : NPU_SLOT_DETACH);
	if (late) {
		while (npu_slot_queue(board->model, &board->model->command.slot[0])->read_index == 0)
			npu_model_run(board->model, 1);
		npu_model_run(board->model, late);
		name_next(board, NPU_NEXT_VALID | NPU_NEXT_GRANT | 1);
	}
	board_run(board, 100000);
	assert_int_equal(first->status, kill ? NPU_STATUS_KILLED : NPU_STATUS_DONE);
	assert_int_equal(second->status, NPU_STATUS_DONE);
	assert_int_equal(board_ring(board, 0)->read_index, 1);
	assert_int_equal(events(board, 0) & (NPU_SLOT_EVENT_DONE | NPU_SLOT_EVENT_SWITCHED),
			 NPU_SLOT_EVENT_DONE | NPU_SLOT_EVENT_SWITCHED);
	cycles = second->start - first->end;
	board_destroy(board);
	return cycles;
}

static void test_cycles(void **state)
{
	(void)state;
	assert_int_equal(switch_cycles(0, false), FETCH + COMPARE);
	assert_int_equal(switch_cycles(0, true), FETCH + COMPARE);
	/* The loop above sees the end a cycle late. */
	for (unsigned int late = 1; late < FETCH - 1; late += 10)
		assert_in_range(switch_cycles(late, false), FETCH + COMPARE + late,
				FETCH + COMPARE + late + 1);
}

/* After a reset nobody is named. */
static void test_reset(void **state)
{
	struct board *board = two_contexts();

	(void)state;
	name_next(board, ~0u);
	assert_int_equal(next(board), NPU_NEXT_VALID | NPU_NEXT_GRANT | 0xff);
	npu_model_reset(board->model);
	assert_int_equal(next(board), 0);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
