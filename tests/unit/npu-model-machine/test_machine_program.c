// SPDX-License-Identifier: MIT
/* Whole hand-made programs: results against a plain reference. */
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define INPUT		0x100000
#define WEIGHTS		0x110000
#define PARAMETERS	0x130000
#define OUTPUT		0x140000
#define PROGRAM		0x200000

enum { HEIGHT = 8, WIDTH = 8, CHANNELS = 32, K = 3 };

static uint32_t random_state;

static uint32_t random_next(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static int64_t round_half_even(int64_t value, unsigned int shift)
{
	int64_t unit = 1ll << shift;
	int64_t floor = value >= 0 ? value / unit : -((-value + unit - 1) / unit);
	int64_t twice = 2 * (value - floor * unit);

	if (twice > unit || (twice == unit && floor % 2))
		floor++;
	return floor;
}

/* A 3 x 3 convolution with padding, straight from its definition. */
static void reference(const int8_t *input, const int8_t *weights,
		      const struct npu_channel_int *parameters, int8_t *output)
{
	for (int y = 0; y < HEIGHT; y++)
	for (int x = 0; x < WIDTH; x++)
	for (int o = 0; o < CHANNELS; o++) {
		int64_t sum = (int32_t)parameters[o].bias;
		int64_t scaled;

		for (int ky = 0; ky < K; ky++)
		for (int kx = 0; kx < K; kx++)
		for (int c = 0; c < CHANNELS; c++) {
			int row = y + ky - 1, column = x + kx - 1;

			if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH)
				continue;
			sum += input[(row * WIDTH + column) * CHANNELS + c] *
			       weights[(o * K * K + ky * K + kx) * CHANNELS + c];
		}
		scaled = round_half_even(sum * parameters[o].multiplier, parameters[o].shift);
		if (scaled > 127)
			scaled = 127;
		if (scaled < -128)
			scaled = -128;
		output[(y * WIDTH + x) * CHANNELS + o] = (int8_t)scaled;
	}
}

/* Weights [o][ky][kx][c] into tiles [step][o][32 lanes], step = ky * 3 + kx with 32 channels. */
static void tile_weights(const int8_t *weights, int8_t *tiles)
{
	for (int step = 0; step < K * K; step++)
		for (int o = 0; o < CHANNELS; o++)
			memcpy(tiles + (step * CHANNELS + o) * 32,
			       weights + (o * K * K + step) * CHANNELS, CHANNELS);
}

enum {
	TD_IN_DRAM = 1, TD_IN, TD_W_DRAM, TD_W, TD_P_DRAM, TD_P, TD_WINDOW, TD_STAGE, TD_OUT,
	TD_OUT_DRAM,
};

static void emit_conv(struct program *program)
{
	struct npu_window window = {
		.out_height = HEIGHT, .out_width = WIDTH,
		.kernel_height = K, .kernel_width = K,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
		.origin_y = (uint16_t)-1, .origin_x = (uint16_t)-1,
	};
	struct npu_stage stage = { .activation = NPU_ACTIVATION_NONE };
	struct npu_td td;

	td = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, HEIGHT, WIDTH, CHANNELS);
	program_descriptor(program, TD_IN_DRAM, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, HEIGHT, WIDTH, CHANNELS);
	program_descriptor(program, TD_IN, &td);
	td = dense(NPU_SPACE_DRAM, 1, 0, NPU_DTYPE_INT8, 1, K * K, CHANNELS, 32);
	program_descriptor(program, TD_W_DRAM, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, K * K, CHANNELS, 32);
	program_descriptor(program, TD_W, &td);
	td = dense(NPU_SPACE_DRAM, 2, 0, NPU_DTYPE_INT8, 1, 1, 1, CHANNELS * 8);
	program_descriptor(program, TD_P_DRAM, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0x8000, NPU_DTYPE_INT8, 1, 1, 1, CHANNELS * 8);
	program_descriptor(program, TD_P, &td);
	program_descriptor(program, TD_WINDOW, &window);
	program_descriptor(program, TD_STAGE, &stage);
	td = dense(NPU_SPACE_LOCAL, 0, 0xa000, NPU_DTYPE_INT8, 1, HEIGHT, WIDTH, CHANNELS);
	program_descriptor(program, TD_OUT, &td);
	td = dense(NPU_SPACE_DRAM, 3, 0, NPU_DTYPE_INT8, 1, HEIGHT, WIDTH, CHANNELS);
	program_descriptor(program, TD_OUT_DRAM, &td);

	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = TD_IN, .src[0] = TD_IN_DRAM,
				   .release = { NPU_TOKEN(0) }));
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .subop = 1, .dst = TD_W,
				   .src[0] = TD_W_DRAM, .release = { NPU_TOKEN(1) }));
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .subop = 1, .dst = TD_P,
				   .src[0] = TD_P_DRAM, .release = { NPU_TOKEN(2) }));
	program_emit(program, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M,
				   .wait = { NPU_TOKEN(0), NPU_TOKEN(1) },
				   .release = { NPU_TOKEN(3) },
				   .src = { TD_IN, TD_W, TD_WINDOW }, .imm32 = CHANNELS));
	program_emit(program, INSN(.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32, .dst = TD_OUT,
				   .wait = { NPU_TOKEN(3), NPU_TOKEN(2) },
				   .release = { NPU_TOKEN(4) },
				   .src = { TD_P, TD_STAGE }));
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = TD_OUT_DRAM, .src[0] = TD_OUT,
				   .wait = { NPU_TOKEN(4) }));
	program_finish(program);
}

/* Returns the cycles of the program on a device. */
static uint64_t run_conv(const char *config)
{
	struct board *board = board_create(config);
	int8_t *input, *tiles, expected[HEIGHT * WIDTH * CHANNELS];
	int8_t weights[CHANNELS * K * K * CHANNELS];
	struct npu_channel_int *parameters;
	struct program program;
	const struct npu_record *record;
	uint64_t arguments[4], cycles;

	random_state = 1;
	board_simple(board);
	input = board_at(board, 0, INPUT);
	tiles = board_at(board, 0, WEIGHTS);
	parameters = board_at(board, 0, PARAMETERS);
	for (int i = 0; i < HEIGHT * WIDTH * CHANNELS; i++)
		input[i] = (int8_t)random_next();
	for (unsigned int i = 0; i < sizeof(weights); i++)
		weights[i] = (int8_t)random_next();
	for (int i = 0; i < CHANNELS; i++)
		parameters[i] = (struct npu_channel_int){
			.bias = random_next() % 20000 - 10000u,
			.multiplier = (uint16_t)(16384 + random_next() % 16384),
			.shift = 25,
		};
	tile_weights(weights, tiles);
	reference(input, weights, parameters, expected);
	program = program_begin(board, 0, PROGRAM, 1);
	emit_conv(&program);
	arguments[0] = board_va(board, INPUT);
	arguments[1] = board_va(board, WEIGHTS);
	arguments[2] = board_va(board, PARAMETERS);
	arguments[3] = board_va(board, OUTPUT);
	record = board_execute(board, &program, arguments, 4);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_memory_equal(board_at(board, 0, OUTPUT), expected, sizeof(expected));
	cycles = record->end - record->start;
	board_destroy(board);
	return cycles;
}

/* The cycles are worked out in worked-examples.rst, "A convolution". */
static void test_conv(void **state)
{
	(void)state;
	assert_int_equal(run_conv(NULL), 1750);
}

/* Results never depend on timing: the same bits on devices much slower and faster everywhere. */
static void test_timing_does_not_matter(void **state)
{
	static const char *const configs[] = {
		"npu-v3?dram_latency=1", "npu-v3?dram_latency=5000", "npu-v3?dram_bytes=1",
		"npu-v3?local_read=1&local_write=1", "npu-v3?weight_load=1000",
		"npu-v3?out_results=4", "npu-v3?dma_bytes=1",
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
		assert_int_not_equal(run_conv(configs[i]), 1750);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_timing_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
