// SPDX-License-Identifier: MIT
/*
 * Cycle counts of whole programs. Every figure is worked out by hand from timing.rst; the
 * arithmetic of the longer ones is in Documentation/hardware/worked-examples.rst.
 */
#include <string.h>

#include "board.h"

#define DATA		0x100000
#define PROGRAM		0x200000	/* another 2 MiB region than the data */

enum { A = 1, B, C, D, E, F, G, H };

static uint64_t cycles(const struct npu_record *record)
{
	assert_int_equal(record->status, NPU_STATUS_DONE);
	return record->end - record->start;
}

static struct board *simple(const char *config, struct program *program, unsigned int clusters)
{
	struct board *board = board_create(config);

	board_simple(board);
	*program = program_begin(board, 0, PROGRAM, clusters);
	return board;
}

static void load(struct program *program, unsigned int reg, struct npu_td td)
{
	program_descriptor(program, reg, &td);
}

static const struct npu_record *run(struct board *board, struct program *program)
{
	uint64_t argument = board_va(board, DATA);

	return board_execute(board, program, &argument, 1);
}

static void window(struct program *program, unsigned int reg, unsigned int out, unsigned int kernel)
{
	struct npu_window window = {
		.out_height = (uint16_t)out, .out_width = (uint16_t)out,
		.kernel_height = (uint16_t)kernel, .kernel_width = (uint16_t)kernel,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
		.origin_y = (uint16_t)-(kernel / 2), .origin_x = (uint16_t)-(kernel / 2),
	};

	program_descriptor(program, reg, &window);
}

/* 60 of dispatch, END is decoded in the first cycle after them. */
static void test_empty(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 60);
	board_destroy(board);
}

/*
 * Decode: LDTD 60, LDTD 62, DMA 64, END 65. DMA takes its tokens at 65, descriptor until 89, then
 * 120 and a walk of two levels (the root's entry came with the program's page): 453. 64 bursts:
 * 128.
 */
static void test_dma(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	const struct npu_record *record;

	(void)state;
	load(&program, A, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	record = run(board, &program);
	assert_int_equal(cycles(record), 89 + 120 + 244 + 128);
	assert_int_equal(record->dma_cycles, 128);
	/* Header, arguments, 192 bytes of program, 4096 of data. */
	assert_int_equal(record->dram_read, 1 + 1 + 3 + 64);
	assert_int_equal(record->dram_write, 0);
	assert_int_equal(record->stall_memory, 0);
	/* Again, with the translations in the TLB. */
	assert_int_equal(cycles(run(board, &program)), 89 + 120 + 128);
	board_destroy(board);
}

/* 2 MiB and 1 GiB leaves end the walk a level or two earlier. */
static void test_leaf_sizes(void **state)
{
	static const unsigned int extra[3] = { 3, 2, 1 };

	(void)state;
	for (unsigned int level = 0; level < 3; level++) {
		struct program program;
		struct board *board = simple(NULL, &program, 1);
		uint64_t va = 0x1000000000ull;	/* another entry of the root table */
		uint64_t argument = va;

		board_map(board, 0, va, level == 2 ? 0x80000000ull : board->data[0] & -0x200000ull,
			  level, PTE_ALL);
		load(&program, A, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
		load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
		program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
		program_finish(&program);
		assert_int_equal(cycles(board_execute(board, &program, &argument, 1)),
				 89 + 120 + extra[level] * 122 + 128);
		board_destroy(board);
	}
}

/*
 * Channel 0: decoded 68, descriptor 93, 120 + 244: works from 457. Channel 1: decoded 69,
 * descriptor 94, its walk reads one level: works from 336. Until 457 it is alone and does 121 of
 * 128; then both run at half rate: channel 1 ends at 457 + 14 = 471, channel 0 has 121 left and
 * ends at 592.
 */
static void test_shared_dram(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	const struct npu_record *record;

	(void)state;
	load(&program, A, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, C, dense(NPU_SPACE_DRAM, 0, 4096, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, D, dense(NPU_SPACE_LOCAL, 0, 4096, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .subop = 1, .dst = D, .src[0] = C));
	program_finish(&program);
	record = run(board, &program);
	assert_int_equal(cycles(record), 592);
	assert_int_equal(record->dma_cycles, 135 + 135);
	assert_int_equal(record->stall_memory, 14);
	board_destroy(board);
}

/*
 * Two transfers on one channel: the second's 24 cycles hide behind the first's work, its latency
 * does not. First: 65 + 24 + 120 + 244 = 455 (decoded 66), works to 583. Second: 583 + 120 + 122,
 * 128.
 */
static void test_descriptor_ahead(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	load(&program, A, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, C, dense(NPU_SPACE_DRAM, 0, 4096, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = C));
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 455 + 128 + 120 + 122 + 128);
	board_destroy(board);
}

/*
 * Rows of 96 bytes, 160 apart, from an address 32 into a burst: 0: 32..127, 1: 192..287, 2:
 * 352..447, 3: 512..607 make 2 + 2 + 2 + 2 bursts, none shared (127/64 = 1, 192/64 = 3; 287/64 = 4,
 * 352/64 = 5; 447/64 = 6, 512/64 = 8). Rows of 40, 40 apart, are one run.
 */
static void test_bursts(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	struct npu_td td;
	const struct npu_record *record;

	(void)state;
	td = dense(NPU_SPACE_DRAM, 0, 32, NPU_DTYPE_INT8, 1, 1, 4, 96);
	td.stride[2] = 160;
	load(&program, A, td);
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 4, 96));
	load(&program, C, dense(NPU_SPACE_DRAM, 0, 32, NPU_DTYPE_INT8, 1, 1, 4, 40));
	load(&program, D, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 4, 40));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = D, .src[0] = C));
	program_finish(&program);
	record = run(board, &program);
	/*
	 * 8 bursts, 16 cycles from 457: less than the 24 of the next descriptor, which began with
	 * them. 32..191 is 3 bursts, 6 cycles.
	 */
	assert_int_equal(cycles(record), 69 + 24 + 120 + 244 + 24 + 120 + 6);
	assert_int_equal(record->dram_read, 1 + 1 + (64 + 4 * 48 + 48 + 63) / 64 + 8 + 3);
	board_destroy(board);
}

/*
 * A transpose of 16 x 16 bytes: 256 bytes by elements, so 32 bytes a cycle; in DRAM one run: 4
 * bursts, 8 cycles, which is as long.
 */
static void test_layout_mode(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	struct npu_td td = dense(NPU_SPACE_LOCAL, 0, 0x1000, NPU_DTYPE_INT8, 1, 1, 16, 16);

	(void)state;
	td.stride[2] = 1;
	td.stride[3] = 16;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 16, 16));
	load(&program, B, td);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	/* Nothing in DRAM: 65 + 24 and the work. */
	assert_int_equal(cycles(run(board, &program)), 65 + 24 + 8);
	board_destroy(board);
}

/*
 * Three passes of 64 positions x 9 steps. Decode 66, 67, 68, END 69. The first: weights of 9 KiB
 * from 67 to 139, work to 715. The others' weights load during the work before, so 576 each; the
 * last's tail: 139 + 3 * 576 + 32 = 1899.
 */
static void test_mac_chain(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	const struct npu_record *record;

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 9, 32, 32));
	window(&program, C, 8, 3);
	for (unsigned int i = 0; i < 3; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_MAC, .src = { A, B, C }, .imm32 = 32,
					    .imm16 = (uint16_t)(64 * i)));
	program_finish(&program);
	record = run(board, &program);
	assert_int_equal(cycles(record), 139 + 3 * 576 + 32);
	assert_int_equal(record->mac_cycles, 3 * 576);
	board_destroy(board);
}

/* One position a pass: 9 cycles of work do not hide 72 of loading: 67 + 3 * 72 + 9 + ... */
static void test_mac_weights_bound(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 9, 32, 32));
	window(&program, C, 1, 3);
	for (unsigned int i = 0; i < 3; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_MAC, .src = { A, B, C },
					    .imm32 = 32));
	program_finish(&program);
	/* Work of one begins with the load of the next: 67 + 72, + 72, + 72, + 9 + 32. */
	assert_int_equal(cycles(run(board, &program)), 67 + 3 * 72 + 9 + 32);
	board_destroy(board);
}

/*
 * MAC, then OUT by token, then SYNC behind both: MAC 67..139 load, ..715 work, 747 complete; OUT
 * waits: 8 + 64 * 32 / 64 = 40: 787.
 */
static void test_output_stage(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	struct npu_stage stage = { .activation = NPU_ACTIVATION_NONE };
	const struct npu_record *record;

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 9, 32, 32));
	window(&program, C, 8, 3);
	program_descriptor(&program, D, &stage);
	program_emit(&program, INSN(.opcode = NPU_OP_MAC, .src = { A, B, C }, .imm32 = 32,
				    .release = { NPU_TOKEN(5) }));
	program_emit(&program, INSN(.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32,
				    .wait = { NPU_TOKEN(5) }, .dst = A, .src = { B, D }));
	program_finish(&program);
	record = run(board, &program);
	/* One LDTD more than above: all two cycles later. OUT was decoded at 69, ready at 70. */
	assert_int_equal(cycles(record), 141 + 576 + 32 + 40);
	assert_int_equal(record->out_cycles, 40);
	assert_int_equal(record->stall_token, 141 + 576 + 32 - 70);
	board_destroy(board);
}

/*
 * SYNC completes in order: behind a MAC pass it releases its token when the pass is complete, not a
 * cycle after the pass's work.
 */
static void test_in_order(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 9, 32, 32));
	window(&program, C, 8, 3);
	program_emit(&program, INSN(.opcode = NPU_OP_MAC, .src = { A, B, C }, .imm32 = 32));
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_MAC,
				    .release = { NPU_TOKEN(1) }));
	/* The front end waits for it, then END. */
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_FRONT,
				    .wait = { NPU_TOKEN(1) }));
	program_finish(&program);
	/* Complete at 139 + 576 + 32; SYNC of the front end is decoded then, END a cycle later. */
	assert_int_equal(cycles(run(board, &program)), 139 + 576 + 32 + 1);
	board_destroy(board);
}

/*
 * Cluster 0: LDTD 60, 62, 64, VEC 66: from 67 start 4, 2 sources x 2048 bytes at 64: 64, tail 4:
 * 139. Cluster 1 is at the barrier since 60. Both go on at 143.
 */
static void test_barrier(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 2);
	const struct npu_record *record;

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_FP16, 1, 1, 4, 256));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x1000, NPU_DTYPE_FP16, 1, 1, 4, 256));
	load(&program, C, dense(NPU_SPACE_LOCAL, 0, 0x2000, NPU_DTYPE_FP16, 1, 1, 4, 256));
	program_emit(&program, INSN(.opcode = NPU_OP_VEC, .subop = NPU_VEC_ADD, .dst = C,
				    .src = { A, B }));
	program_emit(&program, INSN(.opcode = NPU_OP_BARRIER));
	program_finish(&program);
	program_stream(&program, 1);
	program_emit(&program, INSN(.opcode = NPU_OP_BARRIER));
	program_finish(&program);
	record = run(board, &program);
	assert_int_equal(cycles(record), 67 + 4 + 64 + 4 + 4);
	assert_int_equal(record->vector_cycles, 64);
	board_destroy(board);
}

/*
 * Local to global 4096 bytes: decoded 68, 69 + 24 + 64 = 157; token, then the multicast to both
 * clusters, whose descriptor was read ahead only after its token: 157 + 24 + 64.
 */
static void test_multicast(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 2);

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, B, dense(NPU_SPACE_GLOBAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, C, dense(NPU_SPACE_LOCAL, 0, 0x2000, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC));
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A,
				    .release = { NPU_TOKEN(0) }));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = C, .src[0] = B, .imm16 = 3,
				    .wait = { NPU_TOKEN(0) }));
	program_finish(&program);
	program_stream(&program, 1);
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 69 + 24 + 64 + 24 + 64);
	board_destroy(board);
}

/*
 * 300 instructions in a row: 60 of them in the first block. Block 1: 60 + 120 + 32 = 212, block 2:
 * 364, block 3: 516, block 4 (784 bytes, 13 bursts) begins a page, walk of one level: 516 + 122 +
 * 120 + 26 = 784. It holds instructions 252..299 and END: 784 + 48.
 */
static void test_fetch(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	const struct npu_record *record;

	(void)state;
	for (unsigned int i = 0; i < 300; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_TDSET, .dst = A));
	program_finish(&program);
	record = run(board, &program);
	assert_int_equal(cycles(record), 784 + 48);
	assert_int_equal(record->dram_read, 1 + 1 + 4 * 16 + 13);
	board_destroy(board);
}

/* LOOP at 60, then two cycles a trip, END at 60 + 1 + 200. Nested: 3 * (1 + 5 * 2 + 1) + 1. */
static void test_loop(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 100));
	program_emit(&program, INSN(.opcode = NPU_OP_TDSET, .dst = A));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 3));
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 5));
	program_emit(&program, INSN(.opcode = NPU_OP_TDSET, .dst = A));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 60 + 1 + 200 + 1 + 3 * (1 + 10 + 1));
	board_destroy(board);
}

/*
 * A loop of 70 instructions reaches into the second block; it and the one after the loop stay in
 * the buffer, so only the first pass waits: block 1 (208 bytes, 4 bursts) arrives at 60 + 120 + 8 =
 * 188. LOOP is instruction 0, so 59 of the body are in block 0 (61..119), 11 and ENDLOOP in block
 * 1: 188..199; then 3 more trips of 71, END.
 */
static void test_loop_in_buffer(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 4));
	for (unsigned int i = 0; i < 70; i++)
		program_emit(&program, INSN(.opcode = NPU_OP_TDSET, .dst = A));
	program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 200 + 3 * 71);
	board_destroy(board);
}

/*
 * Nine SYNCs to the vector unit, none of which can start: the first leaves the queue for nobody,
 * eight fill it, the ninth is not decoded until a token comes. The front end would release it: it
 * cannot, so the task ends by its budget.
 */
static void test_queue_depth(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);
	uint64_t argument = board_va(board, DATA);

	(void)state;
	for (unsigned int depth = 8; depth <= 9; depth++) {
		struct npu_packet_exec exec;
		struct npu_record *record = board_at(board, 0, 0x3000);

		program = program_begin(board, 0, PROGRAM, 1);
		for (unsigned int i = 0; i < depth; i++)
			program_emit(&program, INSN(.opcode = NPU_OP_SYNC,
						    .subop = NPU_ENGINE_VECTOR,
						    .wait = { NPU_TOKEN(0) },
						    .release = { NPU_TOKEN(0) }));
		program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .release = { NPU_TOKEN(0) }));
		program_finish(&program);
		memset(record, 0, sizeof(*record));
		memcpy(board_at(board, 0, 0x2000), &argument, 8);
		exec = exec_packet(&program, 1, 0x2000, 1, 0x3000);
		exec.budget = 1;
		board_push(board, 0, &exec);
		board_ring_doorbell(board, 0);
		board_run(board, 10000);
		if (depth == 8) {
			/* Decoded 60..67, released at 68: one a cycle from 68, end 76. */
			assert_int_equal(record->status, NPU_STATUS_DONE);
			assert_int_equal(record->end - record->start, 76);
		} else {
			assert_int_equal(record->status, NPU_STATUS_BUDGET);
			assert_int_equal(record->error, NPU_ERROR_BUDGET);
			assert_int_equal(record->end - record->start, 1024);
		}
	}
	board_destroy(board);
}

/* LAYOUT: 1024 bytes at 32: 32, start and tail 4 each; decoded at 64. */
static void test_layout_unit(void **state)
{
	struct program program;
	struct board *board = simple(NULL, &program, 1);

	(void)state;
	load(&program, A, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 32, 32));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0x1000, NPU_DTYPE_INT8, 1, 1, 32, 32));
	program_emit(&program, INSN(.opcode = NPU_OP_LAYOUT, .dst = B, .src[0] = A));
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 65 + 4 + 32 + 4);
	board_destroy(board);
}

/*
 * lowpower-v3: 8 bytes a cycle of DRAM: a burst is 8 cycles, a walk's read 128. 4096 bytes: 64
 * bursts, 512 cycles.
 */
static void test_lowpower(void **state)
{
	struct program program;
	struct board *board = simple("lowpower-v3", &program, 1);

	(void)state;
	load(&program, A, dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 4096));
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	assert_int_equal(cycles(run(board, &program)), 89 + 120 + 2 * 128 + 512);
	board_destroy(board);
}

/* The same work twice on new devices, four clusters against each other: equal to the cycle. */
static uint64_t busy_program(void)
{
	struct program program;
	struct board *board = simple(NULL, &program, 4);
	uint64_t result;

	for (unsigned int i = 0; i < 4; i++) {
		program_stream(&program, i);
		load(&program, A,
		     dense(NPU_SPACE_DRAM, 0, i * 0x8000, NPU_DTYPE_INT8, 1, 8, 64, 40));
		load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 64, 40));
		load(&program, C,
		     dense(NPU_SPACE_GLOBAL, 0, i * 0x8000, NPU_DTYPE_INT8, 1, 8, 64, 40));
		program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 20 + i));
		program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A,
					    .release = { NPU_TOKEN(0), NPU_TOKEN(33) }));
		program_emit(&program, INSN(.opcode = NPU_OP_DMA, .subop = 1, .dst = C, .src[0] = B,
					    .wait = { NPU_TOKEN(0), NPU_TOKEN(33) }));
		program_emit(&program, INSN(.opcode = NPU_OP_LAYOUT, .dst = B, .src[0] = B));
		program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
		program_finish(&program);
	}
	result = cycles(run(board, &program));
	board_destroy(board);
	return result;
}

static void test_deterministic(void **state)
{
	uint64_t first = busy_program();

	(void)state;
	assert_true(first > 1000);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(busy_program(), first);
}

/*
 * Three queues of one context wait for one semaphore, each with a task of its own size; whenever
 * they were rung, after the release every task takes the same cycles from the first one's start.
 */
static void released_together(const unsigned int *order, uint64_t *times)
{
	struct board *board = board_create(NULL);
	struct npu_record *records[3];

	board_add_context(board, 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct program program = program_begin(board, 0, PROGRAM + i * 0x10000, 1);

		load(&program, A, dense(NPU_SPACE_DRAM, 0, i * 0x10000, NPU_DTYPE_INT8, 1, 1, 100,
					64 + 100 * i));
		load(&program, B, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 100,
					64 + 100 * i));
		program.header->global_bytes = 0;
		for (unsigned int k = 0; k < 5; k++)
			program_emit(&program, INSN(.opcode = NPU_OP_DMA, .subop = k % 2, .dst = B,
						    .src[0] = A));
		program_finish(&program);
		board_add_queue(board, i, 0, 0x8000 + i * 0x1000, 4);
		board_attach(board, i, i);
		board_run(board, 10000);
		board_grant(board, i, 1u << i, 0, 0);
		records[i] = board_at(board, 0, 0x3000 + i * 64);
	}
	*(uint64_t *)board_at(board, 0, 0x2000) = board_va(board, DATA);
	for (unsigned int i = 0; i < 3; i++) {
		struct program program = { .board = board, .base = PROGRAM + order[i] * 0x10000 };
		struct npu_packet_exec exec = exec_packet(&program, order[i], 0x2000, 1,
							  0x3000 + order[i] * 64);

		exec.wait_sem[0] = 5;
		exec.wait_value[0] = 1;
		board_push(board, order[i], &exec);
		board_ring_doorbell(board, order[i]);
		npu_model_run(board->model, 50 + 37 * order[i] * i);
	}
	board_run(board, 10000);
	npu_model_doorbell(board->model, 0, NPU_DOORBELL_SIGNAL, 5ull << 48 | 1, 8);
	board_run(board, 100000);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(records[i]->status, NPU_STATUS_DONE);
		times[2 * i] = records[i]->start - records[0]->start;
		times[2 * i + 1] = records[i]->end - records[0]->start;
	}
	board_destroy(board);
}

static void test_released_together(void **state)
{
	static const unsigned int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 } };
	uint64_t first[6], again[6];

	(void)state;
	released_together(orders[0], first);
	/* They do share the DRAM: alone the smallest would take less. */
	assert_true(first[1] > 60 + 5 * 200 + 120);
	for (unsigned int i = 1; i < 3; i++) {
		released_together(orders[i], again);
		assert_memory_equal(first, again, sizeof(first));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_dma),
		cmocka_unit_test(test_leaf_sizes),
		cmocka_unit_test(test_shared_dram),
		cmocka_unit_test(test_descriptor_ahead),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_layout_mode),
		cmocka_unit_test(test_mac_chain),
		cmocka_unit_test(test_mac_weights_bound),
		cmocka_unit_test(test_output_stage),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_multicast),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_loop_in_buffer),
		cmocka_unit_test(test_queue_depth),
		cmocka_unit_test(test_layout_unit),
		cmocka_unit_test(test_lowpower),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_released_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
