// SPDX-License-Identifier: MIT
/* How fast the machine itself is: instructions a second with next to no arithmetic in them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board.h"

enum { TD_DRAM = 1, TD_LOCAL, TD_WEIGHTS, TD_WINDOW, TD_STAGE, TD_OUT, TD_A, TD_B };

#define TRIPS	20000u

static void emit_stream(struct program *program, unsigned int cluster)
{
	struct npu_window window = {
		.out_height = 1, .out_width = 1, .kernel_height = 1, .kernel_width = 1,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};
	struct npu_stage stage = { .activation = NPU_ACTIVATION_NONE };
	struct npu_td td;

	program_stream(program, cluster);
	td = dense(NPU_SPACE_DRAM, 0, cluster * 0x10000, NPU_DTYPE_INT8, 1, 8, 8, 32);
	td.stride[1] = 4096;
	program_descriptor(program, TD_DRAM, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32);
	program_descriptor(program, TD_LOCAL, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 1, 32, 32);
	program_descriptor(program, TD_WEIGHTS, &td);
	program_descriptor(program, TD_WINDOW, &window);
	program_descriptor(program, TD_STAGE, &stage);
	td = dense(NPU_SPACE_LOCAL, 0, 0x8000, NPU_DTYPE_INT8, 1, 1, 1, 32);
	program_descriptor(program, TD_OUT, &td);
	program_emit(program, INSN(.opcode = NPU_OP_LOOP, .imm32 = TRIPS));
	program_emit(program, INSN(.opcode = NPU_OP_TDSET, .dst = TD_DRAM,
				   .subop = NPU_TDSET_ADD_ADDRESS, .imm32 = 0));
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = TD_LOCAL, .src[0] = TD_DRAM,
				   .release = { NPU_TOKEN(0) }));
	for (unsigned int i = 0; i < 4; i++) {
		program_emit(program, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M,
					   .wait = { i ? 0 : NPU_TOKEN(0) },
					   .release = { NPU_TOKEN(1) },
					   .src = { TD_OUT, TD_WEIGHTS, TD_WINDOW },
					   .imm32 = 32));
		program_emit(program, INSN(.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32,
					   .wait = { NPU_TOKEN(1) }, .dst = TD_OUT,
					   .src = { TD_LOCAL, TD_STAGE }));
	}
	program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_finish(program);
}

static void bench(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	const struct npu_record *record;
	uint64_t argument;
	struct timespec begin, end;
	double seconds;

	(void)state;
	board_simple(board);
	program = program_begin(board, 0, 0x200000, 4);
	for (unsigned int i = 0; i < 4; i++)
		emit_stream(&program, i);
	argument = board_va(board, 0x100000);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	record = board_execute(board, &program, &argument, 1);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	print_message("%u instructions, %llu cycles: %.3f s, %.0f ns an instruction\n",
		      4 * TRIPS * 11, (unsigned long long)(record->end - record->start), seconds,
		      seconds * 1e9 / (4 * TRIPS * 11));
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bench),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
