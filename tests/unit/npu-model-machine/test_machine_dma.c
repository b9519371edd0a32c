// SPDX-License-Identifier: MIT
/*
 * DMA: random strided copies between all spaces against an element-by-element reference, in memory
 * whose pages are scattered.
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define VA		0x0800000000ull
#define PAGES		32u
#define SPACE_BYTES	(PAGES * 4096u)	/* of each space the test uses */

enum { A = 1, B };

static uint32_t random_state = 1;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(random_state >> 4) * limit >> 28);
}

/* The reference's own copy of the three spaces; cluster 1 has a second local SRAM. */
static uint8_t image[4][SPACE_BYTES];

static uint8_t *device_byte(struct board *board, unsigned int space, uint32_t offset)
{
	switch (space) {
	case NPU_SPACE_DRAM:
		/* Pages lie in falling order, see below. */
		return board_dma(board, board->data[1] + (PAGES - 1 - offset / 4096) * 4096ull +
					offset % 4096);
	case NPU_SPACE_GLOBAL:
		return board->model->global + 8192 + offset;
	default:
		return board->model->clusters[space - NPU_SPACE_LOCAL].memory.local + offset;
	}
}

/* Strides and an address that keep all of @dims inside the space. */
static struct npu_td random_tensor(unsigned int space, unsigned int dtype, const uint32_t *dims,
				   bool source)
{
	uint32_t size = NPU_DTYPE_BYTES(dtype);
	struct npu_td td = dense(space, 0, 0, dtype, dims[0], dims[1], dims[2], dims[3]);
	static const unsigned int orders[4][4] = {
		{ 3, 2, 1, 0 }, { 3, 1, 2, 0 }, { 0, 1, 2, 3 }, { 2, 3, 0, 1 },
	};
	const unsigned int *order = orders[below(4)];
	int64_t low = 0, high = size;
	uint32_t step = size;

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int d = order[i];
		int32_t stride;

		step += size * (below(3) ? 0 : below(9));
		stride = (int32_t)step;
		step *= dims[d];
		if (below(6) == 0)
			stride = -stride;
		if (source && below(12) == 0)
			stride = 0;
		td.stride[d] = (uint32_t)stride;
		if (stride < 0)
			low += (int64_t)stride * (dims[d] - 1);
		else
			high += (int64_t)stride * (dims[d] - 1);
	}
	assert_true(high - low < SPACE_BYTES);
	td.word0 |= (uint64_t)(-low + below(SPACE_BYTES - (uint32_t)(high - low))) &
		    NPU_TD_ADDRESS_MASK;
	return td;
}

static uint64_t element(const struct npu_td *td, const uint32_t *index)
{
	int64_t offset = (int64_t)(td->word0 & NPU_TD_ADDRESS_MASK);

	for (unsigned int d = 0; d < 4; d++)
		offset += (int64_t)(int32_t)td->stride[d] * index[d];
	return (uint64_t)offset;
}

static void reference(const struct npu_td *to, unsigned int to_space, const struct npu_td *from,
		      unsigned int from_space, const uint32_t *dims, uint32_t size)
{
	uint32_t i[4];

	for (i[0] = 0; i[0] < dims[0]; i[0]++)
	for (i[1] = 0; i[1] < dims[1]; i[1]++)
	for (i[2] = 0; i[2] < dims[2]; i[2]++)
	for (i[3] = 0; i[3] < dims[3]; i[3]++)
		memcpy(image[to_space] + element(to, i), image[from_space] + element(from, i),
		       size);
}

static void fill(struct board *board, unsigned int space)
{
	for (uint32_t i = 0; i < SPACE_BYTES; i++) {
		image[space][i] = (uint8_t)below(256);
		*device_byte(board, space, i) = image[space][i];
	}
}

static void compare(struct board *board, unsigned int space)
{
	for (uint32_t i = 0; i < SPACE_BYTES; i++) {
		if (*device_byte(board, space, i) != image[space][i])
			fail_msg("space %u differs at %u", space, i);
	}
}

static void test_random(void **state)
{
	struct board *board = board_create(NULL);
	uint64_t argument = VA;

	(void)state;
	board_simple(board);
	board_grant(board, 0, 0xf, 8192, SPACE_BYTES);
	board->data[1] = board_pages(board, PAGES);
	for (unsigned int i = 0; i < PAGES; i++)
		board_map(board, 0, VA + i * 4096ull, board->data[1] + (PAGES - 1 - i) * 4096ull, 0,
			  PTE_ALL);
	for (unsigned int space = 0; space < 4; space++)
		fill(board, space);
	for (unsigned int round = 0; round < 400; round++) {
		static const unsigned int dtypes[] = {
			NPU_DTYPE_INT8, NPU_DTYPE_FP16, NPU_DTYPE_FP32,
		};
		unsigned int dtype = dtypes[below(3)];
		unsigned int to = below(3), from = (to + 1 + below(2)) % 3;
		bool multicast = to == NPU_SPACE_LOCAL && from != NPU_SPACE_LOCAL && below(2);
		uint32_t dims[4] = { 1 + below(3), 1 + below(5), 1 + below(10), 1 + below(40) };
		struct npu_td to_td = random_tensor(to, dtype, dims, false);
		struct npu_td from_td = random_tensor(from, dtype, dims, true);
		struct program program = program_begin(board, 0, PROGRAM, 2);
		unsigned int cluster = below(2);

		program.header->local_bytes = SPACE_BYTES;
		program.header->global_bytes = SPACE_BYTES;
		program_stream(&program, 1 - cluster);
		program_finish(&program);
		program_stream(&program, cluster);
		program_descriptor(&program, A, &from_td);
		program_descriptor(&program, B, &to_td);
		program_emit(&program, INSN(.opcode = NPU_OP_DMA, .subop = (uint8_t)below(2),
					    .dst = B, .src[0] = A, .imm16 = multicast ? 3 : 0));
		program_finish(&program);
		assert_int_equal(board_execute(board, &program, &argument, 1)->status,
				 NPU_STATUS_DONE);
		/* A local side is the executing cluster's. */
		from += from == NPU_SPACE_LOCAL ? cluster : 0;
		if (to != NPU_SPACE_LOCAL || !multicast)
			reference(&to_td, to + (to == NPU_SPACE_LOCAL ? cluster : 0), &from_td,
				  from, dims, NPU_DTYPE_BYTES(dtype));
		for (unsigned int c = 0; multicast && c < 2; c++)
			reference(&to_td, NPU_SPACE_LOCAL + c, &from_td, from, dims,
				  NPU_DTYPE_BYTES(dtype));
		if (round % 8 == 7 || round == 399) {
			for (unsigned int space = 0; space < 4; space++)
				compare(board, space);
		}
	}
	board_destroy(board);
}

/* A source of one element fills the destination. */
static void test_fill(void **state)
{
	struct board *board = board_create(NULL);
	struct program program;
	uint64_t argument;
	struct npu_td td;
	const uint16_t *out;

	(void)state;
	board_simple(board);
	program = program_begin(board, 0, PROGRAM, 1);
	td = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT16, 1, 1, 1, 1);
	program_descriptor(&program, A, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT16, 1, 1, 10, 10);
	program_descriptor(&program, B, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .dst = B, .src[0] = A));
	program_finish(&program);
	argument = board_va(board, 0x100000);
	*(uint16_t *)board_at(board, 0, 0x100000) = 0x1234;
	assert_int_equal(board_execute(board, &program, &argument, 1)->status, NPU_STATUS_DONE);
	out = (const uint16_t *)board->model->clusters[0].memory.local;
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(out[i], 0x1234);
	assert_int_equal(out[100], 0);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
