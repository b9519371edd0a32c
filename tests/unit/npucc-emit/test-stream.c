// SPDX-License-Identifier: MIT
/* Streams: what instructions find in their registers, and which tokens they carry. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/stream.h"
#include "operation.h"
#include "random.h"

/* A decoder of its own: registers as the device would have them at each instruction. */
struct reader {
	const uint8_t *code;
	size_t size, at;
	struct npu_td registers[NPU_TD_COUNT];
	unsigned int loads, changes; /* LDTD, TDSET seen */
};

/* The next instruction that is no change of a register; false at the end. */
static bool next(struct reader *reader, struct npu_insn *insn)
{
	struct npu_td *td;

	while (reader->at + sizeof(*insn) <= reader->size) {
		memcpy(insn, reader->code + reader->at, sizeof(*insn));
		reader->at += sizeof(*insn);
		td = &reader->registers[insn->dst % NPU_TD_COUNT];
		if (insn->opcode == NPU_OP_LDTD) {
			memcpy(td, reader->code + reader->at, sizeof(*td));
			reader->at += sizeof(*td);
			reader->loads++;
		} else if (insn->opcode == NPU_OP_TDSET) {
			uint64_t word = le64toh(td->word0), address;

			assert_int_equal(insn->subop, NPU_TDSET_ADD_ADDRESS);
			address = word + (uint64_t)(int64_t)(int32_t)le32toh(insn->imm32);
			td->word0 = htole64((word & ~NPU_TD_ADDRESS_MASK) |
					    (address & NPU_TD_ADDRESS_MASK));
			reader->changes++;
		} else {
			return true;
		}
	}
	return false;
}

static struct reader open_stream(const struct stream *stream)
{
	struct reader reader = { 0 };

	assert_false(stream_failed(stream));
	reader.code = stream_bytes(stream, &reader.size);
	assert_int_equal(reader.size % NPU_INSN_BYTES, 0);
	return reader;
}

static struct npu_td some_operand(struct random *random, bool dram)
{
	uint32_t width = random_between(random, 1, 3);
	uint32_t dims[4] = { 1, 1, random_between(random, 1, 3), 16 * width };
	int64_t strides[4] = { 0, 0, 32 * (int64_t)width, 2 };
	int64_t offset = 64 * (int64_t)random_between(random, 0, 2000);

	if (dram)
		return td_dram(random_between(random, 0, 3), offset - 4096, NPU_DTYPE_FP16, dims,
			       strides);
	return td_local((uint32_t)offset, NPU_DTYPE_FP16, dims, strides);
}

static void operands_arrive(void **state)
{
	enum {
		COUNT = 5000
	};
	struct npu_td(*wanted)[2] = calloc(COUNT, sizeof(*wanted));
	struct random random = { .state = 42 };
	struct stream *stream = stream_new();
	struct reader reader;
	struct npu_insn insn;
	int i;

	(void)state;
	assert_non_null(wanted);
	assert_non_null(stream);
	for (i = 0; i < COUNT; i++) {
		/* Some operands come again, as slots of rings do. */
		if (i > 20 && random_next(&random) % 3 == 0) {
			int again = i - (int)random_between(&random, 1, 20);

			memcpy(wanted[i], wanted[again], sizeof(wanted[i]));
		} else {
			wanted[i][0] = some_operand(&random, false);
			wanted[i][1] = some_operand(&random, true);
		}
		stream_dma(stream, i & 1, &wanted[i][0], &wanted[i][1], 0);
	}
	reader = open_stream(stream);
	for (i = 0; i < COUNT; i++) {
		assert_true(next(&reader, &insn));
		assert_int_equal(insn.opcode, NPU_OP_DMA);
		assert_int_equal(insn.subop, i & 1);
		assert_memory_equal(&reader.registers[insn.dst], &wanted[i][0],
				    sizeof(struct npu_td));
		assert_memory_equal(&reader.registers[insn.src[0]], &wanted[i][1],
				    sizeof(struct npu_td));
	}
	assert_false(next(&reader, &insn));
	/* The cache is worth something: fewer changes than operands, and not all of them loads. */
	assert_true(reader.loads + reader.changes < 2 * COUNT);
	assert_true(reader.changes > reader.loads);
	stream_free(stream);
	free(wanted);
}

static void same_operand_is_loaded_once(void **state)
{
	struct npu_td dst = td_local_dense(0, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct npu_td src = td_local_dense(4096, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct stream *stream = stream_new();
	struct reader reader;
	struct npu_insn insn;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		stream_layout(stream, &dst, &src);
	reader = open_stream(stream);
	while (next(&reader, &insn))
		assert_int_equal(insn.opcode, NPU_OP_LAYOUT);
	assert_int_equal(reader.loads, 2);
	assert_int_equal(reader.changes, 0);
	stream_free(stream);
}

static void loops_forget_registers(void **state)
{
	struct npu_td dst = td_local_dense(0, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct npu_td src = td_local_dense(4096, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct stream *stream = stream_new();
	struct reader reader;
	struct npu_insn insn;

	(void)state;
	stream_layout(stream, &dst, &src);
	stream_loop(stream, 10);
	stream_layout(stream, &dst, &src);
	stream_end_loop(stream);
	stream_layout(stream, &dst, &src);
	/* A release after the loop must not be put into an instruction inside of it. */
	stream_loop(stream, 2);
	stream_end_loop(stream);
	stream_give(stream, NPU_ENGINE_LAYOUT, 5);
	reader = open_stream(stream);
	while (next(&reader, &insn)) {
		if (insn.opcode == NPU_OP_LAYOUT)
			assert_int_equal(insn.release[0], 0);
	}
	assert_int_equal(reader.loads, 6);
	assert_int_equal(insn.opcode, NPU_OP_SYNC);
	assert_int_equal(insn.release[0], NPU_TOKEN(5));
	stream_free(stream);
}

/* Whatever number of waits and releases is asked for, each is there once, in order. */
static void tokens_are_all_there(void **state)
{
	struct npu_td dst = td_local_dense(0, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct npu_td src = td_local_dense(4096, NPU_DTYPE_FP16, 1, 1, 1, 64);
	struct random random = { .state = 7 };
	int round, i;

	(void)state;
	for (round = 0; round < 200; round++) {
		int waits[8] = { 0 }, releases[8] = { 0 };
		int wait_count = (int)random_between(&random, 0, 6);
		int release_count = (int)random_between(&random, 0, 6);
		struct stream *stream = stream_new();
		bool reached = false;
		struct reader reader;
		struct npu_insn insn;

		for (i = 0; i < wait_count; i++) {
			unsigned int token = random_between(&random, 0, 7);

			stream_need(stream, NPU_ENGINE_LAYOUT, token);
			waits[token]++;
		}
		stream_layout(stream, &dst, &src);
		for (i = 0; i < release_count; i++) {
			unsigned int token = random_between(&random, 0, 7);

			stream_give(stream, NPU_ENGINE_LAYOUT, token);
			releases[token]++;
		}
		reader = open_stream(stream);
		while (next(&reader, &insn)) {
			assert_true(
				insn.opcode == NPU_OP_LAYOUT ||
				(insn.opcode == NPU_OP_SYNC && insn.subop == NPU_ENGINE_LAYOUT));
			if (insn.opcode == NPU_OP_LAYOUT)
				reached = true;
			if (insn.wait[0] && insn.wait[1])
				assert_int_not_equal(insn.wait[0], insn.wait[1]);
			for (i = 0; i < 2; i++) {
				if (insn.wait[i]) {
					assert_true(!reached || insn.opcode == NPU_OP_LAYOUT);
					waits[insn.wait[i] & NPU_TOKEN_ID_MASK]--;
				}
				if (insn.release[i]) {
					assert_true(reached);
					releases[insn.release[i] & NPU_TOKEN_ID_MASK]--;
				}
			}
		}
		for (i = 0; i < 8; i++) {
			assert_int_equal(waits[i], 0);
			assert_int_equal(releases[i], 0);
		}
		stream_free(stream);
	}
}

static void waits_nobody_took_stand_before_a_barrier(void **state)
{
	struct stream *stream = stream_new();
	struct reader reader;
	struct npu_insn insn;

	(void)state;
	stream_need(stream, NPU_ENGINE_MAC, 3);
	stream_barrier(stream);
	reader = open_stream(stream);
	assert_true(next(&reader, &insn));
	assert_int_equal(insn.opcode, NPU_OP_SYNC);
	assert_int_equal(insn.subop, NPU_ENGINE_MAC);
	assert_int_equal(insn.wait[0], NPU_TOKEN(3));
	assert_true(next(&reader, &insn));
	assert_int_equal(insn.opcode, NPU_OP_BARRIER);
	stream_free(stream);
}

static void impossible_operands_fail(void **state)
{
	static const struct {
		uint32_t dim;
		int64_t stride, offset;
	} bad[] = {
		{ 0, 2, 0 },
		{ 65536, 2, 0 },
		{ 4, (int64_t)1 << 31, 0 },
		{ 4, 2, (int64_t)1 << 39 },
		{ 4, -((int64_t)1 << 31) - 1, 0 },
	};
	struct npu_td dst = td_local_dense(0, NPU_DTYPE_FP16, 1, 1, 1, 4);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t dims[4] = { 1, 1, 2, bad[i].dim };
		int64_t strides[4] = { 0, 0, 64, bad[i].stride };
		struct npu_td src = td_dram(1, bad[i].offset, NPU_DTYPE_FP16, dims, strides);
		struct stream *stream = stream_new();

		stream_dma(stream, 0, &dst, &src, 0);
		assert_true(stream_failed(stream));
		stream_free(stream);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_arrive),
		cmocka_unit_test(same_operand_is_loaded_once),
		cmocka_unit_test(loops_forget_registers),
		cmocka_unit_test(tokens_are_all_there),
		cmocka_unit_test(waits_nobody_took_stand_before_a_barrier),
		cmocka_unit_test(impossible_operands_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
