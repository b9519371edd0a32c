// SPDX-License-Identifier: MIT
/*
 * What one context leaves in SRAM, accumulators and tokens no other one sees, and what removing it
 * costs. Manual: command-processor.rst, "Scrubbing".
 */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define RECORD		0x3000
#define ARGUMENTS	0x2000
#define SOURCE		0x100000	/* what a dirty task brings in: SECRET_BYTES of 0x5a */
#define SEEN		0x110000	/* what a curious task found: local, window, sums */
#define LOCAL		0x1000		/* in local SRAM */
#define SECRET_BYTES	4096
#define SUMS_BYTES	8192		/* 8 x 8 positions of 32 channels */
#define WINDOW		0x10000		/* in global SRAM */

enum { IN = 1, AT_LOCAL, AT_WINDOW, SHAPE, ACTIVATIONS, WEIGHTS, SUMS, TO_LOCAL, TO_WINDOW,
       TO_SUMS };

static void load(struct program *program, unsigned int reg, struct npu_td td)
{
	program_descriptor(program, reg, &td);
}

static struct program begin(struct board *board, unsigned int context)
{
	struct program program = program_begin(board, context, PROGRAM, 1);

	program.header->local_bytes = 65536;
	program.header->global_bytes = SECRET_BYTES;
	load(&program, AT_LOCAL, dense(NPU_SPACE_LOCAL, 0, LOCAL, NPU_DTYPE_INT8, 1, 1, 1,
				       SECRET_BYTES));
	load(&program, AT_WINDOW, dense(NPU_SPACE_GLOBAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1,
					SECRET_BYTES));
	return program;
}

static void copy(struct program *program, unsigned int to, unsigned int from, unsigned int after,
		 unsigned int token)
{
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = (uint8_t)to,
				   .src[0] = (uint8_t)from,
				   .wait = { after ? NPU_TOKEN(after) : 0 },
				   .release = { NPU_TOKEN(token) }));
}

/* One pass of 64 positions into half 1, out of the secret itself. */
static void sum_up(struct program *program, unsigned int after, unsigned int token)
{
	const struct npu_window window = {
		.out_height = 8, .out_width = 8, .kernel_height = 1, .kernel_width = 1,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};

	program_descriptor(program, SHAPE, &window);
	load(program, ACTIVATIONS, dense(NPU_SPACE_LOCAL, 0, LOCAL, NPU_DTYPE_INT8, 1, 8, 8, 32));
	load(program, WEIGHTS, dense(NPU_SPACE_LOCAL, 0, LOCAL, NPU_DTYPE_INT8, 1, 1, 32, 32));
	program_emit(program, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M | NPU_MAC_HALF,
				   .src = { ACTIVATIONS, WEIGHTS, SHAPE }, .imm32 = 32,
				   .wait = { NPU_TOKEN(after) }, .release = { NPU_TOKEN(token) }));
}

/* Brings the secret into local SRAM and, as asked for, into the window and the accumulators. */
static struct program dirty_program(struct board *board, unsigned int context, bool window,
				    bool sums)
{
	struct program program = begin(board, context);

	load(&program, IN, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, SECRET_BYTES));
	copy(&program, AT_LOCAL, IN, 0, 1);
	if (window)
		copy(&program, AT_WINDOW, IN, 0, 2);
	if (sums)
		sum_up(&program, 1, 3);
	program_finish(&program);
	return program;
}

/* Stores what it finds there; the sums by way of local SRAM. */
static struct program curious_program(struct board *board, unsigned int context)
{
	struct program program = begin(board, context);

	load(&program, TO_LOCAL, dense(NPU_SPACE_DRAM, 1, 0, NPU_DTYPE_INT8, 1, 1, 1,
				       SECRET_BYTES));
	load(&program, TO_WINDOW, dense(NPU_SPACE_DRAM, 1, SECRET_BYTES, NPU_DTYPE_INT8, 1, 1, 1,
					SECRET_BYTES));
	load(&program, TO_SUMS, dense(NPU_SPACE_DRAM, 1, 2 * SECRET_BYTES, NPU_DTYPE_INT32, 1, 8,
				      8, 32));
	load(&program, SUMS, dense(NPU_SPACE_LOCAL, 0, 0x8000, NPU_DTYPE_INT32, 1, 8, 8, 32));
	copy(&program, TO_LOCAL, AT_LOCAL, 0, 1);
	copy(&program, TO_WINDOW, AT_WINDOW, 0, 2);
	program_emit(&program, INSN(.opcode = NPU_OP_OUT,
				    .subop = NPU_OUT_SUM_INT32 | NPU_OUT_HALF, .dst = SUMS,
				    .release = { NPU_TOKEN(3) }));
	copy(&program, TO_SUMS, SUMS, 3, 4);
	program_finish(&program);
	return program;
}

static void add_context(struct board *board, unsigned int context)
{
	uint64_t *arguments;

	board_add_context(board, context);
	arguments = board_at(board, context, ARGUMENTS);
	arguments[0] = board_va(board, SOURCE);
	arguments[1] = board_va(board, SEEN);
	memset(board_at(board, context, SOURCE), 0x5a, SECRET_BYTES);
}

/* Runs a program as the only task of queue @context; returns the cycles from doorbell to start. */
static uint64_t execute(struct board *board, unsigned int context, const struct program *program,
			uint16_t status)
{
	struct npu_packet_exec exec = exec_packet(program, 1, ARGUMENTS, 2, RECORD);
	struct npu_record *record = board_at(board, context, RECORD);
	uint64_t rung;

	memset(board_at(board, context, 0x1000), 0, 0x1000);
	record->status = 0;
	exec.budget = 20;
	board_add_queue(board, context, context, 0x1000, 4);
	board_attach(board, 0, context);
	board_run(board, 10000);
	board_grant(board, 0, 4, WINDOW, SECRET_BYTES);
	board_push(board, context, &exec);
	rung = npu_model_time(board->model);
	board_ring_doorbell(board, context);
	board_run(board, 100000);
	assert_int_equal(record->status, status);
	board_control(board, 0, NPU_SLOT_DETACH);
	board_run(board, 10000);
	return record->start - rung;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, count - 1);
}

static void look(struct board *board, unsigned int context, bool local, bool window, bool sums)
{
	const uint8_t *seen = board_at(board, context, SEEN);

	assert_int_equal(!all_zero(seen, SECRET_BYTES), local);
	assert_int_equal(!all_zero(seen + SECRET_BYTES, SECRET_BYTES), window);
	assert_int_equal(!all_zero(seen + 2 * SECRET_BYTES, SUMS_BYTES), sums);
}

/* Fetch 122, compare 1. */
#define ADMITTED	123

/*
 * Local SRAM is touched up to 8192, of 65536 declared: 64 cycles at 128. The window's 4096 at 256:
 * 16. One accumulator half, 32 KiB at 256: 128. All three at once.
 */
static const struct { bool window, sums; uint64_t cycles; } cases[] = {
	{ false, false, 64 }, { true, false, 64 }, { false, true, 128 }, { true, true, 128 },
};

static struct board *two_contexts(void)
{
	struct board *board = board_create(NULL);

	add_context(board, 0);
	add_context(board, 1);
	return board;
}

static uint32_t scrub_counter(struct board *board)
{
	return npu_model_register_read(board->model, NPU_REG_COUNTER_SCRUB_LO);
}

static void test_other_context(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct board *board = two_contexts();
		struct program program;

		program = dirty_program(board, 0, cases[i].window, cases[i].sums);
		assert_int_equal(execute(board, 0, &program, NPU_STATUS_DONE), ADMITTED);
		/* Its own next task finds everything, without a cycle lost. */
		program = curious_program(board, 0);
		assert_int_equal(execute(board, 0, &program, NPU_STATUS_DONE), ADMITTED);
		look(board, 0, true, cases[i].window, cases[i].sums);
		assert_int_equal(scrub_counter(board), 0);

		program = dirty_program(board, 0, cases[i].window, cases[i].sums);
		execute(board, 0, &program, NPU_STATUS_DONE);
		program = curious_program(board, 1);
		/* The task in between has touched local SRAM up to 0x8000 + 8192: 320 cycles. */
		assert_int_equal(execute(board, 1, &program, NPU_STATUS_DONE), ADMITTED + 320);
		look(board, 1, false, false, false);
		assert_int_equal(scrub_counter(board), 320);
		board_destroy(board);
	}
}

/* Just what was touched. */
static void test_cycles(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct board *board = two_contexts();
		struct program program;

		program = dirty_program(board, 0, cases[i].window, cases[i].sums);
		execute(board, 0, &program, NPU_STATUS_DONE);
		program = curious_program(board, 1);
		assert_int_equal(execute(board, 1, &program, NPU_STATUS_DONE),
				 ADMITTED + cases[i].cycles);
		look(board, 1, false, false, false);
		assert_int_equal(scrub_counter(board), cases[i].cycles);
		board_destroy(board);
	}
}

/* A number that is given to somebody else is somebody else. */
static void test_number_used_again(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;

	(void)state;
	add_context(board, 0);
	program = dirty_program(board, 0, true, true);
	execute(board, 0, &program, NPU_STATUS_DONE);
	/* An update of the same context is no change of hands. */
	board_update_context(board, 0, true);
	program = curious_program(board, 0);
	assert_int_equal(execute(board, 0, &program, NPU_STATUS_DONE), ADMITTED);
	look(board, 0, true, true, true);

	program = dirty_program(board, 0, true, true);
	execute(board, 0, &program, NPU_STATUS_DONE);
	board_update_context(board, 0, false);
	board_update_context(board, 0, true);
	program = curious_program(board, 0);
	assert_int_equal(execute(board, 0, &program, NPU_STATUS_DONE), ADMITTED + 320);
	look(board, 0, false, false, false);
	board_destroy(board);
}

/* Tokens left over, the cluster's own and the gang's, are nobody's. */
static void test_tokens(void **state)
{
	static const unsigned int token[2] = { 7, NPU_TOKEN_LOCAL_COUNT + 7 };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct board *board = two_contexts();
		unsigned int other = i / 2;
		struct program program;

		for (unsigned int reader = 0; reader < 2; reader++) {
			unsigned int context = reader ? other : 0;
			struct npu_insn sync = { .opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_MAC };

			if (reader)
				sync.wait[0] = NPU_TOKEN(token[i % 2]);
			else
				sync.release[0] = NPU_TOKEN(token[i % 2]);
			program = begin(board, context);
			program_emit(&program, sync);
			program_finish(&program);
			execute(board, context, &program,
				reader ? NPU_STATUS_BUDGET : NPU_STATUS_DONE);
		}
		board_destroy(board);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_context),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_number_used_again),
		cmocka_unit_test(test_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
