// SPDX-License-Identifier: MIT
/*
 * A task that leaves in the middle of its sums: what it has in the accumulators comes back with it,
 * to another cluster that others used meanwhile. Manual: command-processor.rst, "Preemption".
 */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define ARGUMENTS	0x2000
#define RECORD		0x3000
#define INPUT		0x100000
#define OUTPUT		0x110000
#define SAVE		0x120000
#define INPUT_BYTES	4096
#define SUMS_BYTES	8192		/* 8 x 8 positions of 32 channels */
#define HALF_BYTES	32768
#define SAVE_BYTES	(sizeof(struct npu_save_state) + INPUT_BYTES + 2 * SUMS_BYTES)
#define LIMIT		100000

enum { IN = 1, HERE, SHAPE, ACTIVATIONS, WEIGHTS, SUMS, OUT_DRAM };

/* The ranges of sums that a point names; 0 bytes: none. */
struct named {
	uint32_t offset, bytes;
};

static void sum_up(struct program *program, unsigned int flags)
{
	program_emit(program, INSN(.opcode = NPU_OP_MAC,
				   .subop = (uint8_t)(NPU_MAC_SHAPE_M | flags),
				   .src = { ACTIVATIONS, WEIGHTS, SHAPE }, .imm32 = 32));
}

static void store_half(struct program *program, unsigned int half, unsigned int token)
{
	struct npu_td to = dense(NPU_SPACE_DRAM, 1, half * SUMS_BYTES, NPU_DTYPE_INT32, 1, 8, 8, 32);
	struct npu_td sums = dense(NPU_SPACE_LOCAL, 0, 0x8000 + half * SUMS_BYTES, NPU_DTYPE_INT32,
				   1, 8, 8, 32);

	program_descriptor(program, SUMS, &sums);
	program_descriptor(program, OUT_DRAM, &to);
	program_emit(program, INSN(.opcode = NPU_OP_OUT, .dst = SUMS,
				   .subop = (uint8_t)(NPU_OUT_SUM_INT32 | (half ? NPU_OUT_HALF : 0)),
				   .release = { NPU_TOKEN(token) }));
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = OUT_DRAM, .src[0] = SUMS,
				   .wait = { NPU_TOKEN(token) }));
}

/* Sums of both halves before the point, more on top of them behind it, then all of them out. */
static void emit_stream(struct program *program, uint32_t point)
{
	const struct npu_window window = {
		.out_height = 8, .out_width = 8, .kernel_height = 1, .kernel_width = 1,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};
	struct npu_td in = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, INPUT_BYTES);
	struct npu_td here = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, INPUT_BYTES);
	struct npu_td activations = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32);
	struct npu_td weights = dense(NPU_SPACE_LOCAL, 0, 2048, NPU_DTYPE_INT8, 1, 1, 32, 32);

	program_descriptor(program, IN, &in);
	program_descriptor(program, HERE, &here);
	program_descriptor(program, SHAPE, &window);
	program_descriptor(program, ACTIVATIONS, &activations);
	program_descriptor(program, WEIGHTS, &weights);
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = HERE, .src[0] = IN));
	program_emit(program, INSN(.opcode = NPU_OP_BARRIER));
	sum_up(program, 0);
	sum_up(program, NPU_MAC_HALF);
	sum_up(program, NPU_MAC_HALF | NPU_MAC_RESUME);
	program_emit(program, INSN(.opcode = NPU_OP_BARRIER, .imm32 = point));
	sum_up(program, NPU_MAC_RESUME);
	sum_up(program, NPU_MAC_HALF | NPU_MAC_RESUME);
	program_emit(program, INSN(.opcode = NPU_OP_BARRIER));
	store_half(program, 0, 1);
	store_half(program, 1, 2);
}

static struct program make_program(struct board *board, unsigned int context,
				   const struct named *named, unsigned int count)
{
	struct program program = program_begin(board, context, PROGRAM, 1);
	uint32_t table = program.size;
	struct npu_point header = { .count = count + 1 };
	struct npu_point_range range = { .space = NPU_SPACE_LOCAL, .bytes = INPUT_BYTES };

	program.header->local_bytes = 65536;
	program.header->global_bytes = 0;
	program.header->save_bytes = SAVE_BYTES;
	memcpy((uint8_t *)program.header + program.size, &header, sizeof(header));
	program.size += sizeof(header);
	for (unsigned int i = 0; i <= count; i++) {
		memcpy((uint8_t *)program.header + program.size, &range, sizeof(range));
		program.size += sizeof(range);
		if (i < count)
			range = (struct npu_point_range){ .space = NPU_POINT_SUMS,
							  .offset = named[i].offset,
							  .bytes = named[i].bytes };
	}
	program_stream(&program, 0);
	emit_stream(&program, table);
	program_finish(&program);
	return program;
}

static struct board *make_board(void)
{
	struct board *board = board_create(NULL);

	for (unsigned int context = 0; context < 2; context++) {
		uint64_t *arguments;
		uint8_t *input;

		board_add_context(board, context);
		arguments = board_at(board, context, ARGUMENTS);
		arguments[0] = board_va(board, INPUT);
		arguments[1] = board_va(board, OUTPUT);
		arguments[NPU_ARG_SAVE] = board_va(board, SAVE);
		input = board_at(board, context, INPUT);
		for (unsigned int i = 0; i < INPUT_BYTES; i++)
			input[i] = (uint8_t)(i * 7 + i / 32 + 3 * context);
		board_add_queue(board, context, context, 0x1000, 4);
		board_attach(board, context, context);
		board_run(board, 10000);
	}
	return board;
}

static void submit(struct board *board, const struct program *program, uint32_t mask)
{
	struct npu_packet_exec exec = exec_packet(program, 5, ARGUMENTS, NPU_ARG_COUNT, RECORD);

	exec.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, NPU_EXEC_PREEMPT, 0);
	exec.budget = 100;
	board_grant(board, program->context, mask, 0, 0);
	board_push(board, program->context, &exec);
	board_ring_doorbell(board, program->context);
}

static uint16_t status_of(struct board *board, unsigned int context)
{
	return ((const struct npu_record *)board_at(board, context, RECORD))->status;
}

/* Asks for the clusters as soon as it runs. Whether the task left; when it did it came back. */
static bool run(const struct named *named, unsigned int count, bool ask, uint8_t *output)
{
	struct board *board = make_board();
	struct program program = make_program(board, 0, named, count);
	struct program other = make_program(board, 1, named, count);
	uint32_t left;

	submit(board, &program, 1);
	for (unsigned int i = 0; board_state(board, 0) != NPU_SLOT_STATE_RUNNING; i++) {
		assert_true(i < LIMIT);
		npu_model_run(board->model, 1);
	}
	if (ask)
		board_control(board, 0, NPU_SLOT_PREEMPT);
	board_run(board, LIMIT);
	left = npu_model_register_read(board->model, NPU_REG_COUNTER_PREEMPTIONS_LO);
	if (left) {
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
		submit(board, &other, 3);
		board_run(board, LIMIT);
		assert_int_equal(status_of(board, 1), NPU_STATUS_DONE);
		board_grant(board, 1, 0, 0, 0);
		board_grant(board, 0, 2, 0, 0);
		board_run(board, LIMIT);
	}
	assert_int_equal(status_of(board, 0), NPU_STATUS_DONE);
	memcpy(output, board_at(board, 0, OUTPUT), 2 * SUMS_BYTES);
	board_destroy(board);
	return left;
}

static const struct named both[] = { { 0, SUMS_BYTES }, { HALF_BYTES, SUMS_BYTES } };

static void sums_come_back(void **state)
{
	static uint8_t alone[2 * SUMS_BYTES], preempted[2 * SUMS_BYTES];

	(void)state;
	assert_false(run(both, 2, false, alone));
	assert_true(run(both, 2, true, preempted));
	assert_memory_equal(preempted, alone, sizeof(alone));
	assert_memory_not_equal(alone, alone + SUMS_BYTES, SUMS_BYTES);
}

/* The half that no range names is lost, the other one is not. */
static void what_is_not_named_is_lost(void **state)
{
	static uint8_t alone[2 * SUMS_BYTES], preempted[2 * SUMS_BYTES];

	(void)state;
	run(both, 2, false, alone);
	assert_true(run(&both[1], 1, true, preempted));
	assert_memory_not_equal(preempted, alone, SUMS_BYTES);
	assert_memory_equal(preempted + SUMS_BYTES, alone + SUMS_BYTES, SUMS_BYTES);
}

static void ranges_that_are_none(void **state)
{
	static const struct named wrong[] = {
		{ HALF_BYTES - 64, 128 },	/* in both halves */
		{ 2 * HALF_BYTES - 64, 128 },	/* behind the second one */
		{ 2 * HALF_BYTES, 64 },
		{ UINT32_MAX - 63, 64 },
		{ HALF_BYTES, 0 },
	};
	static uint8_t alone[2 * SUMS_BYTES], asked[2 * SUMS_BYTES];

	(void)state;
	run(both, 2, false, alone);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(run(&wrong[i], 1, true, asked));
		assert_memory_equal(asked, alone, sizeof(alone));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_come_back),
		cmocka_unit_test(what_is_not_named_is_lost),
		cmocka_unit_test(ranges_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
