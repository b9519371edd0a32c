// SPDX-License-Identifier: MIT
/* Points: tables behind the streams, what they name, and how far apart they are. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/points.h"

#define CLUSTERS	2
#define BASE		0x400

struct bench {
	struct points *points;
	struct stream *streams[CLUSTERS];
	uint8_t *image;
	size_t size;
};

static void bench_open(struct bench *bench)
{
	*bench = (struct bench){ .points = points_new(CLUSTERS, 2) };
	assert_non_null(bench->points);
	for (unsigned int i = 0; i < CLUSTERS; i++)
		bench->streams[i] = stream_new();
}

static void bench_close(struct bench *bench)
{
	free(bench->image);
	points_free(bench->points);
	for (unsigned int i = 0; i < CLUSTERS; i++)
		stream_free(bench->streams[i]);
}

static void write_all(struct bench *bench, uint32_t global_bytes)
{
	bench->image = points_write(bench->points, BASE, global_bytes, bench->streams,
				    &bench->size);
	assert_null(points_error(bench->points));
}

/* Instruction number @index of a stream, and the table it names. */
static struct npu_insn insn_of(const struct bench *bench, unsigned int cluster, size_t index)
{
	struct npu_insn insn;
	size_t size;
	const uint8_t *code = stream_bytes(bench->streams[cluster], &size);

	assert_true((index + 1) * sizeof(insn) <= size);
	memcpy(&insn, code + index * sizeof(insn), sizeof(insn));
	return insn;
}

static const struct npu_point *table_of(const struct bench *bench, unsigned int cluster,
					size_t index)
{
	uint32_t at = le32toh(insn_of(bench, cluster, index).imm32);

	assert_true(at >= BASE && at % NPU_POINT_ALIGN == 0);
	assert_true(at - BASE + sizeof(struct npu_point) <= bench->size);
	return (const struct npu_point *)(const void *)(bench->image + at - BASE);
}

static void layers_share_a_table(void **state)
{
	struct bench bench;

	(void)state;
	for (uint32_t global = 0; global < 2; global++) {
		bench_open(&bench);
		for (unsigned int i = 0; i < 3; i++) {
			uint32_t point = points_add(bench.points, POINTS_WHOLE);

			for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++)
				points_barrier(bench.points, point, cluster,
					       bench.streams[cluster]);
		}
		write_all(&bench, global * 64);
		assert_int_equal(bench.size, sizeof(struct npu_point));
		assert_int_equal(insn_of(&bench, 1, 2).opcode, NPU_OP_BARRIER);
		assert_ptr_equal(table_of(&bench, 0, 0), table_of(&bench, 1, 2));
		assert_int_equal(table_of(&bench, 0, 0)->count, 0);
		assert_int_equal(le32toh(table_of(&bench, 0, 0)->flags),
				 global ? NPU_POINT_WINDOW : 0);
		assert_int_equal(points_save_bytes(bench.points), sizeof(struct npu_save_state));
		bench_close(&bench);
	}
}

/* Where one cluster loads something again the other has a stream, too, if only END. */
static void ranges_and_resume(void **state)
{
	const struct npu_td to = td_local_dense(64, NPU_DTYPE_INT8, 1, 1, 1, 16);
	const struct npu_td from = td_global(0, NPU_DTYPE_INT8, (uint32_t[4]){ 1, 1, 1, 16 },
					     (int64_t[4]){ 0, 0, 0, 1 });
	const struct npu_point_range *range;
	const struct npu_insn *code;
	struct bench bench;
	uint32_t point;

	(void)state;
	bench_open(&bench);
	point = points_add(bench.points, POINTS_WHOLE / 2);
	points_save(bench.points, point, 0, 128, 100);
	points_save(bench.points, point, 0, 1024, 64);
	stream_dma(points_resume(bench.points, point, 0), 0, &to, &from, 0);
	for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++)
		points_here(bench.points, point, cluster, bench.streams[cluster]);
	write_all(&bench, 4096);
	assert_int_equal(points_save_bytes(bench.points),
			 sizeof(struct npu_save_state) + 128 + 64);
	for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++) {
		const struct npu_point *table = table_of(&bench, cluster, 0);
		uint32_t resume = le32toh(table->resume);

		assert_int_equal(insn_of(&bench, cluster, 0).opcode, NPU_OP_POINT);
		assert_true(resume >= BASE && resume % NPU_INSN_BYTES == 0);
		code = (const struct npu_insn *)(const void *)(bench.image + resume - BASE);
		/* Two loads of registers of 48 bytes, then the transfer. */
		assert_int_equal(code[cluster ? 0 : 7].opcode, NPU_OP_END);
		assert_int_equal(le32toh(table->count), cluster ? 0 : 2);
	}
	range = (const struct npu_point_range *)(table_of(&bench, 0, 0) + 1);
	assert_int_equal(le32toh(range[0].space), NPU_SPACE_LOCAL);
	assert_int_equal(le32toh(range[0].offset), 128);
	assert_int_equal(le32toh(range[0].bytes), 100);
	assert_int_equal(le32toh(range[1].offset), 1024);
	bench_close(&bench);
}

static void longest_way(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	points_add(bench.points, POINTS_WHOLE / 4);
	points_layer(bench.points, 1000);
	assert_int_equal(points_longest(bench.points), 750);
	points_layer(bench.points, 500);		/* without a point: 750 + 500 */
	assert_int_equal(points_longest(bench.points), 1250);
	points_add(bench.points, POINTS_WHOLE);
	points_layer(bench.points, 100);
	assert_int_equal(points_longest(bench.points), 1350);
	points_add(bench.points, POINTS_WHOLE / 2);
	assert_int_equal(points_layer(bench.points, 2000), 1000);
	assert_int_equal(points_longest(bench.points), 1350);
	bench_close(&bench);
}

static void points_out_of_order(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	points_add(bench.points, POINTS_WHOLE / 2);
	points_add(bench.points, POINTS_WHOLE / 2);
	points_layer(bench.points, 1000);
	points_add(bench.points, POINTS_WHOLE / 4);	/* of the next layer */
	assert_null(points_error(bench.points));
	points_add(bench.points, POINTS_WHOLE / 8);
	assert_non_null(points_error(bench.points));
	bench_close(&bench);
}

static void sums_have_a_space_of_their_own(void **state)
{
	const struct npu_point_range *range;
	struct bench bench;
	uint32_t point;

	(void)state;
	bench_open(&bench);
	point = points_add(bench.points, POINTS_WHOLE);
	points_save_sums(bench.points, point, 1, 32768, 10240);
	points_save(bench.points, point, 1, 64, 128);
	for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++)
		points_here(bench.points, point, cluster, bench.streams[cluster]);
	write_all(&bench, 0);
	assert_int_equal(table_of(&bench, 0, 0)->count, 0);
	assert_int_equal(table_of(&bench, 1, 0)->count, 2);
	range = (const struct npu_point_range *)(table_of(&bench, 1, 0) + 1);
	assert_int_equal(range[0].space, NPU_POINT_SUMS);
	assert_int_equal(range[0].offset, 32768);
	assert_int_equal(range[0].bytes, 10240);
	assert_int_equal(range[1].space, NPU_SPACE_LOCAL);
	bench_close(&bench);
}

/* More ranges than a table takes are an error, not a table cut short. */
static void too_many_ranges(void **state)
{
	struct bench bench;
	uint32_t point;

	(void)state;
	bench_open(&bench);
	point = points_add(bench.points, POINTS_WHOLE);
	for (unsigned int i = 0; i < NPU_POINT_RANGES_MAX; i++)
		points_save(bench.points, point, 0, i * 64, 64);
	assert_null(points_error(bench.points));
	points_save(bench.points, point, 0, 0, 64);
	assert_non_null(points_error(bench.points));
	bench_close(&bench);
}

/* More bytes than the device saves would make it no point. */
static void too_many_bytes(void **state)
{
	struct bench bench;
	uint32_t point;

	(void)state;
	bench_open(&bench);
	point = points_add(bench.points, POINTS_WHOLE);
	points_save(bench.points, point, 0, 0, NPU_POINT_BYTES_MAX - 64);
	points_save(bench.points, point, 0, NPU_POINT_BYTES_MAX, 64);
	assert_null(points_error(bench.points));
	points_save(bench.points, point, 0, 2 * NPU_POINT_BYTES_MAX, 16);
	assert_non_null(points_error(bench.points));
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_share_a_table),
		cmocka_unit_test(ranges_and_resume),
		cmocka_unit_test(longest_way),
		cmocka_unit_test(points_out_of_order),
		cmocka_unit_test(sums_have_a_space_of_their_own),
		cmocka_unit_test(too_many_ranges),
		cmocka_unit_test(too_many_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
