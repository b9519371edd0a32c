// SPDX-License-Identifier: MIT
/* Instruction decoder: what it refuses, and figures worked out by hand from timing.rst. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

enum { X, W, WINDOW, DST, PARAMETERS, STAGE, RESIDUAL, SECOND, DRAM, GLOBAL, TABLE };

#define NONE	NPU_TD_NONE

struct bench {
	struct npu_config config;
	struct npu_td tds[NPU_TD_COUNT];
};

static void set(struct bench *bench, unsigned int target, unsigned int dtype, int64_t offset,
		uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3)
{
	uint32_t dim[4] = { d0, d1, d2, d3 };
	int64_t stride[4];

	natural_strides(stride, dim, dtype, 0);
	bench->tds[target] = make_tensor(dtype, offset, dim, stride, 0);
}

static void set_window(struct bench *bench, uint16_t oh, uint16_t ow, uint16_t kh, uint16_t kw)
{
	struct npu_window window = { oh, ow, kh, kw, 1, 1, 1, 1, 0, 0, { 0 } };

	memcpy(&bench->tds[WINDOW], &window, sizeof(window));
}

/* Legal operands for every instruction of `instructions`. */
static void bench_open(struct bench *bench, const char *configuration)
{
	char error[200];

	memset(bench, 0, sizeof(*bench));
	assert_int_equal(npu_config_parse(configuration, &bench->config, error, sizeof(error)), 0);
	set(bench, X, NPU_DTYPE_INT8, 0, 1, 10, 18, 64);
	set(bench, W, NPU_DTYPE_INT8, 0x8000, 1, 18, 32, 32);
	set_window(bench, 8, 16, 3, 3);
	set(bench, DST, NPU_DTYPE_INT8, 0x10000, 1, 8, 16, 32);
	set(bench, PARAMETERS, NPU_DTYPE_INT32, 0x20000, 1, 1, 32, 2);
	set(bench, RESIDUAL, NPU_DTYPE_INT8, 0x14000, 1, 8, 16, 32);
	set(bench, SECOND, NPU_DTYPE_FP32, 0x18000, 1, 8, 16, 1);
	set(bench, DRAM, NPU_DTYPE_INT8, 0, 1, 8, 16, 32);
	bench->tds[DRAM].word0 &= ~(NPU_TD_SPACE_MASK << NPU_TD_SPACE_SHIFT);
	bench->tds[DRAM].word0 |= 5ull << NPU_TD_ARG_SHIFT;
	set(bench, GLOBAL, NPU_DTYPE_INT8, 0, 1, 8, 16, 32);
	bench->tds[GLOBAL].word0 ^= 3ull << NPU_TD_SPACE_SHIFT;	/* 2 to 1 */
	set(bench, TABLE, NPU_DTYPE_INT8, 0x21000, 1, 1, 1, 256);
}

enum kind { MAC, OUT, VEC, REDUCE, EXPSUM, LAYOUT, DMA, LDTD, TDSET, LOOP, SYNC, MARK, BARRIER,
	    BARRIER_POINT, POINT, END, KINDS };

static const struct npu_insn instructions[KINDS] = {
	[MAC] = { .opcode = NPU_OP_MAC, .dst = NONE, .src = { X, W, WINDOW }, .imm32 = 32 },
	[OUT] = { .opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32, .dst = DST,
		  .src = { PARAMETERS, STAGE, NONE } },
	[VEC] = { .opcode = NPU_OP_VEC, .subop = NPU_VEC_ADD, .dst = DST,
		  .src = { RESIDUAL, NPU_TD_IMMEDIATE, NONE }, .imm32 = 0x3f800000 },
	[REDUCE] = { .opcode = NPU_OP_VEC, .subop = NPU_VEC_REDUCE_SUM, .dst = SECOND,
		     .src = { DST, NONE, NONE }, .imm16 = 8 },
	[EXPSUM] = { .opcode = NPU_OP_VEC, .subop = NPU_VEC_EXPSUM, .dst = DST,
		     .src = { RESIDUAL, RESIDUAL, SECOND } },
	[LAYOUT] = { .opcode = NPU_OP_LAYOUT, .dst = DST, .src = { RESIDUAL, NONE, NONE } },
	[DMA] = { .opcode = NPU_OP_DMA, .dst = DST, .src = { DRAM, NONE, NONE } },
	[LDTD] = { .opcode = NPU_OP_LDTD, .dst = 3, .src = { NONE, NONE, NONE } },
	[TDSET] = { .opcode = NPU_OP_TDSET, .subop = NPU_TDSET_DIM, .dst = 3,
		    .src = { NONE, NONE, NONE }, .imm16 = 2, .imm32 = 7 },
	[LOOP] = { .opcode = NPU_OP_LOOP, .dst = NONE, .src = { NONE, NONE, NONE }, .imm32 = 9 },
	[SYNC] = { .opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_OUT, .dst = NONE,
		   .src = { NONE, NONE, NONE } },
	[MARK] = { .opcode = NPU_OP_MARK, .subop = NPU_ENGINE_MAC, .dst = NONE,
		   .src = { NONE, NONE, NONE }, .imm32 = 77 },
	[BARRIER] = { .opcode = NPU_OP_BARRIER, .dst = NONE, .src = { NONE, NONE, NONE } },
	[BARRIER_POINT] = { .opcode = NPU_OP_BARRIER, .dst = NONE, .src = { NONE, NONE, NONE },
			    .imm32 = 4 * NPU_POINT_ALIGN },
	[POINT] = { .opcode = NPU_OP_POINT, .dst = NONE, .src = { NONE, NONE, NONE },
		    .imm32 = 4 * NPU_POINT_ALIGN },
	[END] = { .opcode = NPU_OP_END, .dst = NONE, .src = { NONE, NONE, NONE } },
};

static uint32_t error_of(const struct bench *bench, const struct npu_insn *insn, uint64_t *detail)
{
	struct npu_operation operation;
	uint32_t error = 0;

	if (!npu_operation_decode(&bench->config, insn, bench->tds, &operation, &error, detail))
		assert_int_equal(error, 0);
	return error;
}

static struct npu_operation decode(const struct bench *bench, const struct npu_insn *insn)
{
	struct npu_operation operation;
	uint32_t error;
	uint64_t detail;

	if (npu_operation_decode(&bench->config, insn, bench->tds, &operation, &error, &detail))
		fail_msg("opcode 0x%02x refused with error %u", insn->opcode, error);
	return operation;
}

static void accepted(void **state)
{
	static const uint8_t engines[KINDS] = {
		NPU_ENGINE_MAC, NPU_ENGINE_OUT, NPU_ENGINE_VECTOR, NPU_ENGINE_VECTOR,
		NPU_ENGINE_VECTOR, NPU_ENGINE_LAYOUT, NPU_ENGINE_DMA0, 0, 0, 0, NPU_ENGINE_OUT,
		NPU_ENGINE_MAC, 0, 0, 0, 0,
	};
	struct bench bench;
	unsigned int i;

	(void)state;
	bench_open(&bench, "npu-v3");
	for (i = 0; i < KINDS; i++)
		assert_int_equal(decode(&bench, &instructions[i]).engine, engines[i]);
}

/* A byte of an instruction changed. */
static const struct {
	enum kind kind;
	size_t at;
	uint8_t value;
	uint32_t error;
} bad_bytes[] = {
#define BYTE(kind, field, value, error) \
	{ kind, offsetof(struct npu_insn, field), value, NPU_ERROR_##error }
	BYTE(END, opcode, 0x00, ILLEGAL_INSTRUCTION),
	BYTE(END, opcode, 0x0a, ILLEGAL_INSTRUCTION),
	BYTE(END, opcode, 0xff, ILLEGAL_INSTRUCTION),
	BYTE(END, subop, 1, ILLEGAL_INSTRUCTION),
	BYTE(END, dst, 0, ILLEGAL_INSTRUCTION),
	BYTE(END, src[2], 0, ILLEGAL_INSTRUCTION),
	BYTE(END, imm16, 1, ILLEGAL_INSTRUCTION),
	BYTE(END, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(END, wait[0], 1, ILLEGAL_INSTRUCTION),
	BYTE(END, wait[1], 0x40, ILLEGAL_INSTRUCTION),
	BYTE(END, release[0], 0xc0, ILLEGAL_INSTRUCTION),
	BYTE(END, release[1], 0x3f, ILLEGAL_INSTRUCTION),
	BYTE(BARRIER, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(BARRIER, imm32, NPU_POINT_ALIGN / 2, ILLEGAL_INSTRUCTION),
	BYTE(BARRIER_POINT, release[0], NPU_TOKEN(0), ILLEGAL_INSTRUCTION),
	BYTE(BARRIER_POINT, release[1], NPU_TOKEN(33), ILLEGAL_INSTRUCTION),
	BYTE(POINT, release[0], NPU_TOKEN(0), ILLEGAL_INSTRUCTION),
	BYTE(POINT, wait[1], NPU_TOKEN(0), ILLEGAL_INSTRUCTION),
	BYTE(POINT, imm32, 0, ILLEGAL_INSTRUCTION),
	BYTE(POINT, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(POINT, subop, 1, ILLEGAL_INSTRUCTION),
	BYTE(LDTD, dst, 64, ILLEGAL_INSTRUCTION),
	BYTE(LDTD, dst, NONE, ILLEGAL_INSTRUCTION),
	BYTE(LDTD, src[0], 1, ILLEGAL_INSTRUCTION),
	BYTE(LDTD, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(TDSET, subop, 4, ILLEGAL_INSTRUCTION),
	BYTE(TDSET, imm16, 4, ILLEGAL_INSTRUCTION),
	BYTE(TDSET, imm32, 0, ILLEGAL_INSTRUCTION),
	BYTE(TDSET, subop, NPU_TDSET_ADD_ADDRESS, ILLEGAL_INSTRUCTION),	/* imm16 is 2 */
	BYTE(LOOP, imm32, 0, LOOP),
	BYTE(LOOP, subop, 1, ILLEGAL_INSTRUCTION),
	BYTE(SYNC, subop, NPU_ENGINE_COUNT, ILLEGAL_INSTRUCTION),
	BYTE(SYNC, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(MARK, subop, NPU_ENGINE_COUNT, ILLEGAL_INSTRUCTION),
	BYTE(DMA, subop, 2, ILLEGAL_INSTRUCTION),
	BYTE(DMA, src[0], NONE, ILLEGAL_INSTRUCTION),
	BYTE(DMA, src[0], NPU_TD_IMMEDIATE, ILLEGAL_INSTRUCTION),
	BYTE(DMA, src[1], 0, ILLEGAL_INSTRUCTION),
	BYTE(DMA, src[0], X, BAD_DESCRIPTOR),		/* other dims */
	BYTE(DMA, src[0], SECOND, BAD_DESCRIPTOR),	/* another type */
	BYTE(DMA, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(MAC, subop, 3, ILLEGAL_INSTRUCTION),
	BYTE(MAC, subop, 0x10, ILLEGAL_INSTRUCTION),
	BYTE(MAC, dst, 0, ILLEGAL_INSTRUCTION),
	BYTE(MAC, src[0], NONE, ILLEGAL_INSTRUCTION),
	BYTE(MAC, src[0], DRAM, BAD_DESCRIPTOR),
	BYTE(MAC, src[0], SECOND, BAD_DESCRIPTOR),
	BYTE(MAC, src[2], X, BAD_DESCRIPTOR),		/* a tensor is no window */
	BYTE(MAC, src[2], 64, ILLEGAL_INSTRUCTION),
	BYTE(MAC, imm32, 0, ILLEGAL_INSTRUCTION),
	BYTE(MAC, imm32, 33, ILLEGAL_INSTRUCTION),
	BYTE(MAC, imm16, 129, ACCUMULATOR_RANGE),
	BYTE(MAC, subop, NPU_MAC_SHAPE_S, ILLEGAL_INSTRUCTION),	/* 32 channels are too many */
	BYTE(MAC, subop, NPU_MAC_SHAPE_V, BAD_DESCRIPTOR),	/* weights of M */
	BYTE(OUT, subop, 3, ILLEGAL_INSTRUCTION),
	BYTE(OUT, subop, 4, ILLEGAL_INSTRUCTION),
	BYTE(OUT, dst, NONE, ILLEGAL_INSTRUCTION),
	BYTE(OUT, src[2], RESIDUAL, ILLEGAL_INSTRUCTION),	/* the stage has no residual */
	BYTE(OUT, src[1], X, BAD_DESCRIPTOR),
	BYTE(OUT, imm16, 129, ACCUMULATOR_RANGE),
	BYTE(OUT, imm32, 1, ILLEGAL_INSTRUCTION),
	BYTE(OUT, dst, X, BAD_DESCRIPTOR),			/* 64 channels */
	BYTE(VEC, subop, 0x0f, ILLEGAL_INSTRUCTION),
	BYTE(VEC, subop, 0x17, ILLEGAL_INSTRUCTION),
	BYTE(VEC, subop, 0x25, ILLEGAL_INSTRUCTION),
	BYTE(VEC, subop, NPU_VEC_COPY, ILLEGAL_INSTRUCTION),	/* a second source */
	BYTE(VEC, src[1], NONE, ILLEGAL_INSTRUCTION),
	BYTE(VEC, src[1], RESIDUAL, ILLEGAL_INSTRUCTION),	/* imm32 without its operand */
	BYTE(VEC, src[2], RESIDUAL, ILLEGAL_INSTRUCTION),
	BYTE(VEC, src[0], X, BAD_DESCRIPTOR),
	BYTE(VEC, src[0], GLOBAL, BAD_DESCRIPTOR),
	BYTE(VEC, imm16, 1, ILLEGAL_INSTRUCTION),
	BYTE(REDUCE, imm16, 0, ILLEGAL_INSTRUCTION),
	BYTE(REDUCE, imm16, 0x10, ILLEGAL_INSTRUCTION),
	BYTE(REDUCE, imm16, 4, BAD_DESCRIPTOR),
	BYTE(REDUCE, src[0], NPU_TD_IMMEDIATE, ILLEGAL_INSTRUCTION),
	BYTE(REDUCE, subop, NPU_VEC_REDUCE_ARGMAX, BAD_DESCRIPTOR),	/* not to int32 */
	BYTE(REDUCE, subop, NPU_VEC_REDUCE_SUMSQ, ILLEGAL_INSTRUCTION),	/* no second destination */
	BYTE(EXPSUM, src[2], NONE, ILLEGAL_INSTRUCTION),
	BYTE(EXPSUM, src[2], RESIDUAL, BAD_DESCRIPTOR),
	BYTE(EXPSUM, src[2], DST, BAD_DESCRIPTOR),
	BYTE(LAYOUT, subop, 1, ILLEGAL_INSTRUCTION),
	BYTE(LAYOUT, src[0], DRAM, BAD_DESCRIPTOR),
	BYTE(LAYOUT, dst, SECOND, BAD_DESCRIPTOR),
	BYTE(LAYOUT, src[1], 0, ILLEGAL_INSTRUCTION),
};

static void refused_bytes(void **state)
{
	struct bench bench;
	uint64_t detail;
	size_t i;

	(void)state;
	bench_open(&bench, "npu-v3");
	for (i = 0; i < sizeof(bad_bytes) / sizeof(bad_bytes[0]); i++) {
		struct npu_insn insn = instructions[bad_bytes[i].kind];
		uint32_t error;

		((uint8_t *)&insn)[bad_bytes[i].at] = bad_bytes[i].value;
		error = error_of(&bench, &insn, &detail);
		if (error != bad_bytes[i].error)
			fail_msg("entry %zu: error %u instead of %u", i, error,
				 bad_bytes[i].error);
		assert_int_equal(detail, 0);
	}
}

/* One bit or field of a descriptor changed. */
static void refused_descriptors(void **state)
{
	static const struct {
		enum kind kind;
		unsigned int target;
		size_t at;
		uint8_t value;
		uint32_t error;
	} cases[] = {
		{ MAC, X, 5, 0xa0, NPU_ERROR_BAD_DESCRIPTOR },	/* bit 45 */
		{ MAC, X, 5, 0x81, NPU_ERROR_BAD_DESCRIPTOR },	/* argument of local SRAM */
		{ MAC, X, 5, 0xc0, NPU_ERROR_BAD_DESCRIPTOR },	/* space 3 */
		{ MAC, X, 5, 0x40, NPU_ERROR_BAD_DESCRIPTOR },	/* global SRAM */
		{ MAC, X, 6, 0x06, NPU_ERROR_BAD_DESCRIPTOR },	/* no type */
		{ MAC, X, 6, 0x10, NPU_ERROR_BAD_DESCRIPTOR },	/* bit 52 */
		{ MAC, X, 6, NPU_DTYPE_INT32, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, X, 8, 2, NPU_ERROR_BAD_DESCRIPTOR },	/* batch */
		{ MAC, X, 14, 0, NPU_ERROR_BAD_DESCRIPTOR },	/* a dim of 0 */
		{ MAC, X, 14, 32, NPU_ERROR_BAD_DESCRIPTOR },	/* K fits no weights */
		{ MAC, X, 4, 1, NPU_ERROR_LOCAL_RANGE },	/* 4 GiB */
		{ MAC, W, 10, 17, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, W, 12, 31, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, W, 28, 2, NPU_ERROR_BAD_DESCRIPTOR },	/* lanes apart */
		{ MAC, WINDOW, 0, 0, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, WINDOW, 0, 17, NPU_ERROR_ACCUMULATOR_RANGE },
		{ MAC, WINDOW, 8, 0, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, WINDOW, 12, 0, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, WINDOW, 20, 1, NPU_ERROR_BAD_DESCRIPTOR },
		{ MAC, WINDOW, 31, 1, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, DST, 8, 2, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, DST, 10, 17, NPU_ERROR_ACCUMULATOR_RANGE },
		{ OUT, DST, 14, 33, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, PARAMETERS, 2, 8, NPU_ERROR_LOCAL_RANGE },
		{ OUT, PARAMETERS, 5, 0, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 0, 4, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 0, NPU_ACTIVATION_CURVE, NPU_ERROR_BAD_DESCRIPTOR },	/* on integers */
		{ OUT, STAGE, 1, 8, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 1, NPU_STAGE_RESIDUAL_BEFORE, NPU_ERROR_ILLEGAL_INSTRUCTION },
		{ OUT, STAGE, 1, 3, NPU_ERROR_BAD_DESCRIPTOR },	/* before and after */
		{ OUT, STAGE, 1, NPU_STAGE_POSITION_SCALE, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 2, 63, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 3, 1, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 22, 1, NPU_ERROR_BAD_DESCRIPTOR },
		{ OUT, STAGE, 24, 1, NPU_ERROR_BAD_DESCRIPTOR },
		{ VEC, RESIDUAL, 7, 3, 0 },			/* a zero point */
		{ VEC, SECOND, 7, 3, 0 },			/* not used */
		{ EXPSUM, SECOND, 7, 3, NPU_ERROR_BAD_DESCRIPTOR },	/* fp32 has none */
		{ VEC, RESIDUAL, 14, 31, NPU_ERROR_BAD_DESCRIPTOR },
		{ EXPSUM, SECOND, 6, NPU_DTYPE_INT32, NPU_ERROR_BAD_DESCRIPTOR },
		{ EXPSUM, SECOND, 14, 2, NPU_ERROR_BAD_DESCRIPTOR },
		{ EXPSUM, SECOND, 1, 0, NPU_ERROR_BAD_DESCRIPTOR },	/* over the destination */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;
		uint64_t detail;
		uint32_t error;

		bench_open(&bench, "npu-v3");
		((uint8_t *)&bench.tds[cases[i].target])[cases[i].at] = cases[i].value;
		error = error_of(&bench, &instructions[cases[i].kind], &detail);
		if (error != cases[i].error)
			fail_msg("case %zu: error %u instead of %u", i, error, cases[i].error);
	}
}

/* Ranges to the byte, and what an error tells of them. */
static void local_range(void **state)
{
	struct npu_insn insn = instructions[LAYOUT];
	struct bench bench;
	uint64_t detail;

	(void)state;
	bench_open(&bench, "npu-v3?local_kib=512");
	set(&bench, DST, NPU_DTYPE_INT8, 512 * 1024 - 4096, 1, 8, 16, 32);
	assert_int_equal(error_of(&bench, &insn, &detail), 0);
	set(&bench, DST, NPU_DTYPE_INT8, 512 * 1024 - 4095, 1, 8, 16, 32);
	assert_int_equal(error_of(&bench, &insn, &detail), NPU_ERROR_LOCAL_RANGE);
	assert_int_equal(detail, 512 * 1024);
	/* backwards to byte 0, and one below */
	set(&bench, DST, NPU_DTYPE_INT8, 31, 1, 8, 16, 32);
	bench.tds[DST].stride[3] = (uint32_t)-1;
	assert_int_equal(error_of(&bench, &insn, &detail), 0);
	set(&bench, DST, NPU_DTYPE_INT8, 30, 1, 8, 16, 32);
	bench.tds[DST].stride[3] = (uint32_t)-1;
	assert_int_equal(error_of(&bench, &insn, &detail), NPU_ERROR_LOCAL_RANGE);
	assert_true(detail == ((1ull << 56) - 1));
	/* the greatest extent there is */
	bench.tds[DST] = make_tensor(NPU_DTYPE_INT8, (1ll << 40) - 1,
				     (uint32_t[4]){ 65535, 65535, 65535, 65535 },
				     (int64_t[4]){ INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX }, 0);
	assert_int_equal(error_of(&bench, &insn, &detail), NPU_ERROR_LOCAL_RANGE);
	/* no extent, too many elements */
	bench.tds[DST] = make_tensor(NPU_DTYPE_INT8, 0, (uint32_t[4]){ 2, 1024, 16384, 1 },
				     (int64_t[4]){ 0 }, 0);
	bench.tds[RESIDUAL] = bench.tds[DST];
	assert_int_equal(error_of(&bench, &insn, &detail), NPU_ERROR_BAD_DESCRIPTOR);
	assert_int_equal(error_of(&bench, &instructions[VEC], &detail), NPU_ERROR_BAD_DESCRIPTOR);
	bench.tds[DST].dim[0] = 1;
	bench.tds[RESIDUAL] = bench.tds[DST];
	assert_int_equal(error_of(&bench, &insn, &detail), 0);
	assert_int_equal(error_of(&bench, &instructions[VEC], &detail), 0);
}

static void tdset(void **state)
{
	struct bench bench;
	struct npu_insn insn = instructions[TDSET];
	struct npu_operation operation;
	struct npu_window window;
	struct npu_td td;

	(void)state;
	bench_open(&bench, "npu-v3");
	operation = decode(&bench, &insn);
	td = bench.tds[DRAM];
	npu_td_set(&td, &operation);
	assert_int_equal(td.dim[2], 7);
	insn.subop = NPU_TDSET_ADD_ADDRESS;
	insn.imm16 = 0;
	insn.imm32 = (uint32_t)-16;
	operation = decode(&bench, &insn);
	td = bench.tds[DRAM];
	npu_td_set(&td, &operation);
	/* stays in its 40 bits: the argument register is as it was */
	assert_true(td.word0 == (bench.tds[DRAM].word0 | 0xfffffffff0ull));
	insn.subop = NPU_TDSET_WINDOW_ORIGIN;
	insn.imm32 = 0xfffd0005;
	operation = decode(&bench, &insn);
	td = bench.tds[WINDOW];
	npu_td_set(&td, &operation);
	memcpy(&window, &td, sizeof(window));
	assert_int_equal((int16_t)window.origin_y, -3);
	assert_int_equal(window.origin_x, 5);
	assert_int_equal(window.out_width, 16);
	insn.subop = NPU_TDSET_WINDOW_OUT;
	insn.imm32 = 0x00020003;
	operation = decode(&bench, &insn);
	npu_td_set(&td, &operation);
	memcpy(&window, &td, sizeof(window));
	assert_int_equal(window.out_height, 2);
	assert_int_equal(window.out_width, 3);
	assert_int_equal(window.origin_x, 5);
}

/* ------------------------------------------------------------------------- timing */

struct figures {
	uint64_t work, load, read, write, macs;
	uint32_t start, tail;
};

static void check(const struct bench *bench, const struct npu_insn *insn,
		  const struct figures *expected)
{
	struct npu_operation operation = decode(bench, insn);

	assert_int_equal(operation.work, expected->work);
	assert_int_equal(operation.weight_load, expected->load);
	assert_int_equal(operation.local_read, expected->read);
	assert_int_equal(operation.local_write, expected->write);
	assert_int_equal(operation.macs, expected->macs);
	assert_int_equal(operation.start, expected->start);
	assert_int_equal(operation.tail, expected->tail);
}

static void mac_figures(void **state)
{
	struct npu_insn insn = instructions[MAC];
	struct npu_window window;
	struct bench bench;

	(void)state;
	bench_open(&bench, "npu-v3");
	/* int8 M: 128 positions, K = 576, 18 steps; weights 18 KiB */
	check(&bench, &insn, &(struct figures){ .work = 2304, .load = 144, .read = 128 * 18 * 32,
						.macs = 128 * 576 * 32, .tail = 32 });
	/* 20 of 32 channels load as many weights */
	insn.imm32 = 20;
	check(&bench, &insn, &(struct figures){ .work = 2304, .load = 144, .read = 128 * 18 * 32,
						.macs = 128 * 576 * 20, .tail = 32 });
	/* int8 S, K = 27: two steps of 16; 128 positions in 32 turns; weights 512 bytes */
	set(&bench, X, NPU_DTYPE_INT8, 0, 1, 10, 18, 3);
	set(&bench, W, NPU_DTYPE_INT8, 0x8000, 1, 2, 16, 16);
	insn.subop = NPU_MAC_SHAPE_S;
	insn.imm32 = 16;
	check(&bench, &insn, &(struct figures){ .work = 64, .load = 8, .read = 128 * 2 * 16,
						.macs = 128 * 27 * 16, .tail = 32 });
	/* fp16 M, 5 positions, K = 64: 8 steps; weights 8 * 32 * 8 * 2 = 4 KiB */
	set(&bench, X, NPU_DTYPE_FP16, 0, 1, 1, 5, 64);
	set(&bench, W, NPU_DTYPE_FP16, 0x8000, 1, 8, 32, 8);
	set_window(&bench, 1, 5, 1, 1);
	insn.subop = NPU_MAC_SHAPE_M;
	insn.imm32 = 32;
	check(&bench, &insn, &(struct figures){ .work = 40, .load = 32, .read = 5 * 8 * 8 * 2,
						.macs = 5 * 64 * 32, .tail = 32 });
	/* the same in fp32: twice the bytes, no more cycles */
	set(&bench, X, NPU_DTYPE_FP32, 0, 1, 1, 5, 64);
	set(&bench, W, NPU_DTYPE_FP32, 0x8000, 1, 8, 32, 8);
	check(&bench, &insn, &(struct figures){ .work = 40, .load = 64, .read = 5 * 8 * 8 * 4,
						.macs = 5 * 64 * 32, .tail = 32 });
	/* int16 x int8 M: depth 16, K = 20: 2 steps; weights 2 * 32 * 16 bytes */
	set(&bench, X, NPU_DTYPE_INT16, 0, 1, 1, 5, 20);
	set(&bench, W, NPU_DTYPE_INT8, 0x8000, 1, 2, 32, 16);
	check(&bench, &insn, &(struct figures){ .work = 10, .load = 8, .read = 5 * 2 * 16 * 2,
						.macs = 5 * 20 * 32, .tail = 32 });
	/* fp16 V 3x3, 14 positions of stride 2 over 5 x 15 with padding 1: 2 turns of 9 taps;
	 * rows -1..3: 4 touched (0..3), columns -1..13: 14 touched */
	set(&bench, X, NPU_DTYPE_FP16, 0, 1, 5, 15, 32);
	set(&bench, W, NPU_DTYPE_FP16, 0x8000, 1, 1, 9, 32);
	window = (struct npu_window){ 2, 7, 3, 3, 2, 2, 1, 1, (uint16_t)-1, (uint16_t)-1, { 0 } };
	memcpy(&bench.tds[WINDOW], &window, sizeof(window));
	insn.subop = NPU_MAC_SHAPE_V;
	check(&bench, &insn, &(struct figures){ .work = 18, .load = 8, .read = 4 * 14 * 32 * 2,
						.macs = 14 * 9 * 32, .tail = 32 });
	/* a stride of 3 leaves every third row and column untouched by 2x2 taps */
	window = (struct npu_window){ 2, 4, 2, 2, 3, 3, 1, 1, 0, 0, { 0 } };
	memcpy(&bench.tds[WINDOW], &window, sizeof(window));
	set(&bench, W, NPU_DTYPE_FP16, 0x8000, 1, 1, 4, 32);
	check(&bench, &insn, &(struct figures){ .work = 4, .load = 8, .read = 4 * 8 * 32 * 2,
						.macs = 8 * 4 * 32, .tail = 32 });
	/* lowpower-v3: depth 16, 16 cycles a KiB */
	bench_open(&bench, "lowpower-v3");
	set(&bench, W, NPU_DTYPE_INT8, 0x8000, 1, 36, 16, 16);
	insn = instructions[MAC];
	insn.imm32 = 16;
	check(&bench, &insn, &(struct figures){ .work = 128 * 36, .load = 16 * 9,
						.read = 128 * 36 * 16, .macs = 128 * 576 * 16,
						.tail = 32 });
}

static void out_figures(void **state)
{
	struct npu_insn insn = instructions[OUT];
	struct npu_stage stage = { .flags = NPU_STAGE_RESIDUAL_AFTER };
	struct bench bench;

	(void)state;
	bench_open(&bench, "npu-v3");
	/* 128 positions, 32 channels, int8 */
	check(&bench, &insn, &(struct figures){ .work = 8 + 64, .read = 256, .write = 4096 });
	memcpy(&bench.tds[STAGE], &stage, sizeof(stage));
	insn.src[2] = RESIDUAL;
	check(&bench, &insn, &(struct figures){ .work = 8 + 64, .read = 256 + 4096,
						.write = 4096 });
	/* fp16 results with a scale a position, no parameters: 32 a cycle */
	stage.flags = NPU_STAGE_POSITION_SCALE;
	memcpy(&bench.tds[STAGE], &stage, sizeof(stage));
	insn.src[0] = insn.src[2] = NONE;
	set(&bench, DST, NPU_DTYPE_FP16, 0x10000, 1, 3, 5, 7);
	check(&bench, &insn, &(struct figures){ .work = 8 + 4, .read = 60, .write = 210 });
	set(&bench, DST, NPU_DTYPE_FP32, 0x10000, 1, 3, 5, 7);
	check(&bench, &insn, &(struct figures){ .work = 8 + 7, .read = 60, .write = 420 });
}

static void vector_figures(void **state)
{
	struct npu_insn insn = instructions[VEC];
	struct bench bench;

	(void)state;
	bench_open(&bench, "npu-v3");
	/* 4096 int8 and an immediate */
	check(&bench, &insn, &(struct figures){ .work = 64, .read = 4096, .write = 4096,
						.start = 4, .tail = 4 });
	/* two streams: fp16 and int8 */
	set(&bench, RESIDUAL, NPU_DTYPE_FP16, 0x14000, 1, 8, 16, 32);
	insn.src[1] = DST;
	insn.imm32 = 0;
	check(&bench, &insn, &(struct figures){ .work = 192, .read = 12288, .write = 4096,
						.start = 4, .tail = 4 });
	/* a row beside a stream is free */
	set(&bench, X, NPU_DTYPE_FP32, 0x8000, 1, 1, 1, 32);
	insn.src[1] = X;
	check(&bench, &insn, &(struct figures){ .work = 128, .read = 8192, .write = 4096,
						.start = 4, .tail = 4 });
	/* a column (dim 3 repeats) is streamed: 8 * 16 fp32 */
	set(&bench, X, NPU_DTYPE_FP32, 0x8000, 1, 8, 16, 1);
	check(&bench, &insn, &(struct figures){ .work = 136, .read = 8192 + 512, .write = 4096,
						.start = 4, .tail = 4 });
	/* a single row is a stream: nothing else uses it again */
	set(&bench, RESIDUAL, NPU_DTYPE_FP16, 0x14000, 1, 1, 1, 320);
	set(&bench, DST, NPU_DTYPE_FP16, 0x10000, 1, 1, 1, 320);
	insn = instructions[VEC];
	check(&bench, &insn, &(struct figures){ .work = 10, .read = 640, .write = 640,
						.start = 4, .tail = 4 });
	/* a function: 32 elements a cycle */
	insn.subop = NPU_VEC_TANH;
	insn.src[1] = NONE;
	insn.imm32 = 0;
	set(&bench, RESIDUAL, NPU_DTYPE_INT8, 0x14000, 1, 8, 16, 32);
	set(&bench, DST, NPU_DTYPE_INT8, 0x10000, 1, 8, 16, 32);
	check(&bench, &insn, &(struct figures){ .work = 128, .read = 4096, .write = 4096,
						.start = 4, .tail = 4 });
	/* elements apart in the source: 16 bytes each; in the destination: as many */
	insn.subop = NPU_VEC_COPY;
	bench.tds[RESIDUAL].stride[3] = 2;
	check(&bench, &insn, &(struct figures){ .work = 1024, .read = 65536, .write = 4096,
						.start = 4, .tail = 4 });
	bench.tds[DST].stride[3] = 2;
	bench.tds[RESIDUAL].stride[3] = 1;
	check(&bench, &insn, &(struct figures){ .work = 1024, .read = 4096, .write = 4096,
						.start = 4, .tail = 4 });
	/* expsum: a stream, a column, and the sums written */
	bench_open(&bench, "npu-v3");
	insn = instructions[EXPSUM];
	insn.src[1] = X;
	set(&bench, X, NPU_DTYPE_FP32, 0x8000, 1, 8, 16, 1);
	check(&bench, &insn, &(struct figures){ .work = 128, .read = 4096 + 512,
						.write = 4096 + 512, .start = 4, .tail = 4 });
	/* a reduction reads its source */
	check(&bench, &instructions[REDUCE], &(struct figures){ .work = 64, .read = 4096,
								.write = 512, .start = 4,
								.tail = 4 });
}

static void copy_figures(void **state)
{
	struct npu_insn insn = instructions[DMA];
	struct bench bench;
	struct npu_operation operation;

	(void)state;
	bench_open(&bench, "npu-v3");
	check(&bench, &instructions[LAYOUT], &(struct figures){ .work = 128, .read = 4096,
								.write = 4096, .start = 4,
								.tail = 4 });
	check(&bench, &insn, &(struct figures){ .work = 64, .write = 4096, .start = 24 });
	/* transposing: layout mode */
	bench.tds[DRAM].stride[3] = 128;
	bench.tds[DRAM].stride[2] = 1;
	bench.tds[DRAM].stride[1] = 16;
	operation = decode(&bench, &insn);
	assert_true(operation.dma.layout);
	assert_int_equal(operation.work, 128);
	assert_int_equal(operation.src[0].argument, 5);
	assert_int_equal(operation.src[0].space, NPU_SPACE_DRAM);
	/* rows apart are no layout; neither is a repeated outer dim */
	bench_open(&bench, "npu-v3");
	bench.tds[DRAM].stride[2] = 100;
	assert_false(decode(&bench, &insn).dma.layout);
	bench.tds[DRAM].stride[1] = 0;
	assert_false(decode(&bench, &insn).dma.layout);
	/* offsets in DRAM are signed */
	bench.tds[DRAM].word0 |= NPU_TD_ADDRESS_MASK;
	assert_int_equal(decode(&bench, &insn).src[0].offset, -1);
	/* from local to global SRAM, and to many */
	insn.dst = GLOBAL;
	insn.src[0] = DST;
	check(&bench, &insn, &(struct figures){ .work = 64, .read = 4096, .start = 24 });
	insn.dst = DST;
	insn.src[0] = GLOBAL;
	insn.imm16 = 0xf;
	insn.subop = 1;
	operation = decode(&bench, &insn);
	assert_int_equal(operation.engine, NPU_ENGINE_DMA1);
	assert_int_equal(operation.dma.multicast, 0xf);
	insn.dst = GLOBAL;
	insn.src[0] = DST;
	assert_int_equal(error_of(&bench, &insn, &(uint64_t){ 0 }), NPU_ERROR_BAD_DESCRIPTOR);
	insn.imm16 = 0x100;
	assert_int_equal(error_of(&bench, &insn, &(uint64_t){ 0 }), NPU_ERROR_ILLEGAL_INSTRUCTION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused_bytes),
		cmocka_unit_test(refused_descriptors),
		cmocka_unit_test(local_range),
		cmocka_unit_test(tdset),
		cmocka_unit_test(mac_figures),
		cmocka_unit_test(out_figures),
		cmocka_unit_test(vector_figures),
		cmocka_unit_test(copy_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
