// SPDX-License-Identifier: MIT
/* Vector and layout unit: every operation, type, stride and overlap against the reference. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define TABLE_AT	0x3c000
#define AREA		0x8000	/* room of an operand */

enum { DST, A, B, C, SECOND, TABLE };

static unsigned int sources_of(unsigned int subop)
{
	switch (subop) {
	case NPU_VEC_ADD:
	case NPU_VEC_SUB:
	case NPU_VEC_MUL:
	case NPU_VEC_MAX:
	case NPU_VEC_MIN:
	case NPU_VEC_EQUAL:
	case NPU_VEC_GREATER:
	case NPU_VEC_EXPSUM:
		return 2;
	case NPU_VEC_MULADD:
	case NPU_VEC_SELECT:
	case NPU_VEC_CLAMP:
		return 3;
	default:
		return 1;
	}
}

static const uint8_t element_wise[] = {
	NPU_VEC_COPY, NPU_VEC_ADD, NPU_VEC_SUB, NPU_VEC_MUL, NPU_VEC_MAX, NPU_VEC_MIN,
	NPU_VEC_MULADD, NPU_VEC_EQUAL, NPU_VEC_GREATER, NPU_VEC_SELECT, NPU_VEC_CLAMP,
	NPU_VEC_ABS, NPU_VEC_FLOOR, NPU_VEC_ROUND, NPU_VEC_TABLE, NPU_VEC_EXP,
	NPU_VEC_RECIPROCAL, NPU_VEC_RSQRT, NPU_VEC_TANH, NPU_VEC_ERF, NPU_VEC_EXPSUM,
	NPU_VEC_LOG,
};

static int random_zero(unsigned int dtype, struct random *random)
{
	return dtype <= NPU_DTYPE_UINT8 ? (int)random_range(random, 0, 255) : 0;
}

/* A tensor in one of the areas, sometimes with gaps, turned round, or backwards. */
static struct npu_td random_tensor(struct random *random, unsigned int area,
				   const uint32_t dim[4], unsigned int dtype, bool may_overlap)
{
	int64_t stride[4], offset = (int64_t)area * AREA;
	unsigned int i;

	if (may_overlap && random_chance(random, 6))
		offset = (int64_t)random_range(random, 0, 8);	/* near the destination's area */

	natural_strides(stride, dim, dtype, random_chance(random, 3) ? 4 : 0);
	if (random_chance(random, 5)) {	/* innermost dim outermost */
		stride[2] = NPU_DTYPE_BYTES(dtype);
		stride[1] = stride[2] * dim[2];
		stride[0] = stride[1] * dim[1];
		stride[3] = stride[0] * dim[0];
	}
	if (random_chance(random, 6)) {
		i = random_range(random, 0, 3);
		offset += stride[i] * (dim[i] - 1);
		stride[i] = -stride[i];
	}
	return make_tensor(dtype, offset, dim, stride, random_zero(dtype, random));
}

static void random_dims(struct random *random, uint32_t dim[4])
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		dim[i] = random_chance(random, 3) ? 1 : random_range(random, 1, 5);
	dim[3] = random_range(random, 1, 40);
	if (random_chance(random, 6)) {	/* rows longer than the library's chunks */
		dim[0] = dim[1] = 1;
		dim[2] = random_range(random, 1, 2);
		dim[3] = random_range(random, 500, 1400);
	}
}

static void random_source(struct cluster *cluster, struct npu_insn *insn, unsigned int number,
			  struct random *random, bool special)
{
	const struct npu_td *dst = &cluster->tds[DST];
	unsigned int dtype = random_range(random, 0, NPU_DTYPE_COUNT - 1);
	struct npu_td *td = &cluster->tds[A + number];
	uint32_t dim[4], i;
	float immediate;

	if (insn->subop != NPU_VEC_TABLE && random_chance(random, 8)) {
		immediate = random_float(random, special);
		memcpy(&insn->imm32, &immediate, 4);
		insn->src[number] = NPU_TD_IMMEDIATE;
		return;
	}
	for (i = 0; i < 4; i++)
		dim[i] = random_chance(random, 6) ? 1 : dst->dim[i];
	*td = random_tensor(random, A + number, dim, dtype, true);
	for (i = 0; i < 4; i++)
		if (dim[i] > 1 && random_chance(random, 10))
			td->stride[i] = 0;
	if (random_chance(random, 5)) {	/* in place */
		*td = *dst;
		for (i = 0; i < 4; i++)
			assert_int_equal(td->dim[i], dst->dim[i]);
	}
	insn->src[number] = (uint8_t)(A + number);
	cluster_fill_type(cluster, random, (int64_t)(A + number) * AREA, AREA, dtype, special);
}

/* Where EXPSUM and REDUCE_SUMSQ put sums: apart from everything. */
static void set_second(struct cluster *cluster, struct npu_insn *insn, const uint32_t dim[4])
{
	int64_t stride[4];

	natural_strides(stride, dim, NPU_DTYPE_FP32, 0);
	cluster->tds[SECOND] = make_tensor(NPU_DTYPE_FP32, SECOND * AREA, dim, stride, 0);
	insn->src[2] = SECOND;
}

static void check(struct cluster *cluster, const struct npu_insn *insn, unsigned int number)
{
	char what[100];

	snprintf(what, sizeof(what), "case %u: opcode 0x%02x subop 0x%02x to dtype %u", number,
		 insn->opcode, insn->subop, reference_dtype(&cluster->tds[DST]));
	cluster_execute(cluster, insn);
	if (insn->opcode == NPU_OP_VEC)
		reference_vec(cluster, insn);
	else
		reference_layout(cluster, insn);
	cluster_compare(cluster, what);
}

static void one_element_wise(struct cluster *cluster, struct random *random, unsigned int number)
{
	unsigned int dtype = random_range(random, 0, NPU_DTYPE_COUNT - 1), i;
	bool special = random_chance(random, 2);
	uint32_t dim[4];
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC,
		.subop = element_wise[number % sizeof(element_wise)],
		.dst = DST,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};

	random_dims(random, dim);
	cluster->tds[DST] = random_tensor(random, DST, dim, dtype, false);
	if (random_chance(random, 6))	/* elements over each other: the last one stays */
		cluster->tds[DST].stride[random_range(random, 0, 3)] =
			random_range(random, 0, 2) * NPU_DTYPE_BYTES(dtype);
	cluster_fill_type(cluster, random, 0, AREA, dtype, special);
	for (i = 0; i < sources_of(insn.subop); i++)
		random_source(cluster, &insn, i, random, special);
	if (insn.subop == NPU_VEC_TABLE) {
		float head[6] = { -4, 32, 0, random_float(random, special), 0.5f, -1 };

		cluster->tds[TABLE] = make_tensor(NPU_DTYPE_FP32, TABLE_AT,
						  (uint32_t[4]){ 1, 1, 1, 1 },
						  (int64_t[4]){ 0 }, 0);
		insn.src[1] = TABLE;
		cluster_fill_type(cluster, random, TABLE_AT, sizeof(struct npu_table),
				  NPU_DTYPE_FP32, false);
		cluster_poke(cluster, TABLE_AT, head, sizeof(head));
	}
	if (insn.subop == NPU_VEC_EXPSUM)
		set_second(cluster, &insn, (uint32_t[4]){ dim[0], dim[1], dim[2], 1 });
	check(cluster, &insn, number);
}

static void element_wise_operations(void **state)
{
	struct random random = { 1 };
	struct cluster cluster;
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "lowpower-v3", &random);
	for (i = 0; i < 60 * sizeof(element_wise); i++)
		one_element_wise(&cluster, &random, i);
	cluster_close(&cluster);
}

static void one_reduction(struct cluster *cluster, struct random *random, unsigned int number)
{
	unsigned int to = random_range(random, 0, NPU_DTYPE_COUNT - 1);
	unsigned int from = random_range(random, 0, NPU_DTYPE_COUNT - 1), i;
	uint32_t dim[4], result[4];
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC,
		.subop = (uint8_t)(NPU_VEC_REDUCE_SUM + number % 5),
		.dst = DST,
		.src = { A, NPU_TD_NONE, NPU_TD_NONE },
		.imm16 = (uint16_t)random_range(random, 1, 15),
	};

	if (insn.subop == NPU_VEC_REDUCE_ARGMAX) {
		insn.imm16 = 8;
		to = NPU_DTYPE_INT32;
	}
	random_dims(random, dim);
	for (i = 0; i < 4; i++)
		result[i] = insn.imm16 & 1u << i ? 1 : dim[i];
	cluster->tds[A] = random_tensor(random, A, dim, from, true);
	if (random_chance(random, 8))
		cluster->tds[A].stride[random_range(random, 0, 3)] = 0;
	cluster->tds[DST] = random_tensor(random, DST, result, to, false);
	cluster_fill_type(cluster, random, 0, 2 * AREA, from, random_chance(random, 3));
	if (insn.subop == NPU_VEC_REDUCE_SUMSQ)
		set_second(cluster, &insn, result);
	check(cluster, &insn, number);
}

static void reductions(void **state)
{
	struct random random = { 2 };
	struct cluster cluster;
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "lowpower-v3", &random);
	for (i = 0; i < 600; i++)
		one_reduction(&cluster, &random, i);
	cluster_close(&cluster);
}

static void layouts(void **state)
{
	struct random random = { 3 };
	struct cluster cluster;
	unsigned int number, i;

	(void)state;
	cluster_open(&cluster, "lowpower-v3", &random);
	for (number = 0; number < 400; number++) {
		unsigned int dtype = random_range(&random, 0, NPU_DTYPE_COUNT - 1);
		struct npu_insn insn = {
			.opcode = NPU_OP_LAYOUT,
			.dst = DST,
			.src = { A, NPU_TD_NONE, NPU_TD_NONE },
		};
		uint32_t dim[4], from[4];

		random_dims(&random, dim);
		for (i = 0; i < 4; i++)
			from[i] = random_chance(&random, 8) ? 1 : dim[i];
		cluster.tds[DST] = random_tensor(&random, DST, dim, dtype, false);
		cluster.tds[A] = random_tensor(&random, A, from, dtype, true);
		check(&cluster, &insn, number);
	}
	cluster_close(&cluster);
}

/* By hand: sixteen partial sums, and halves of them added. */
static void sum_order_by_hand(void **state)
{
	struct random random = { 4 };
	struct cluster cluster;
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC, .subop = NPU_VEC_REDUCE_SUM, .dst = DST,
		.src = { A, NPU_TD_NONE, NPU_TD_NONE }, .imm16 = 8,
	};
	float row[32] = { 0 }, got;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	row[0] = 0x1p24f;	/* s0 */
	row[1] = 1;		/* s1: would be lost beside s0 */
	row[17] = 1;		/* s1 too: 2, not lost */
	row[9] = 1;		/* s9: meets s1 before either meets s0 */
	row[8] = -0x1p24f;	/* s8: meets s0 first */
	row[16] = 1;		/* s0: 2^24 + 1 is a tie, goes to 2^24 */
	cluster_poke(&cluster, AREA, row, sizeof(row));
	cluster.tds[A] = make_tensor(NPU_DTYPE_FP32, AREA, (uint32_t[4]){ 1, 1, 1, 32 },
				     (int64_t[4]){ 0, 0, 0, 4 }, 0);
	cluster.tds[DST] = make_tensor(NPU_DTYPE_FP32, 0, (uint32_t[4]){ 1, 1, 1, 1 },
				       (int64_t[4]){ 0 }, 0);
	cluster_execute(&cluster, &insn);
	memcpy(&got, cluster.memory.local, sizeof(got));
	assert_true(got == 3.0f);
	memcpy(&got, cluster.plain.local, sizeof(got));
	assert_true(got == 3.0f);
	cluster_close(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(element_wise_operations),
		cmocka_unit_test(reductions),
		cmocka_unit_test(layouts),
		cmocka_unit_test(sum_order_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
