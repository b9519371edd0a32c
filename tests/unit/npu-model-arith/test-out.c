// SPDX-License-Identifier: MIT
/* Output stage: every path, type, activation and residual against the reference. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define DST		0
#define PARAMETERS	1
#define STAGE		2
#define RESIDUAL	3
#define DST_AT		0x1000
#define PARAMETERS_AT	0x20000
#define TABLE_AT	0x21000
#define SCALE_AT	0x22000
#define RESIDUAL_AT	0x24000

static void put_float(struct cluster *cluster, int64_t at, float value)
{
	cluster_poke(cluster, at, &value, sizeof(value));
}

/* Parameters that make sense for the path, so that results are not all saturated. */
static void fill_parameters(struct cluster *cluster, struct random *random, bool integer,
			    bool special, uint32_t channels)
{
	uint32_t c;

	for (c = 0; c < channels; c++) {
		int64_t at = PARAMETERS_AT + 8 * (int64_t)c;

		if (integer) {
			uint32_t bias = random_u32(random) >> random_range(random, 0, 31);
			uint16_t multiplier = (uint16_t)random_u32(random);
			uint8_t shift[2] = {
				(uint8_t)random_range(random, 0, special ? 63 : 40), 0,
			};

			cluster_poke(cluster, at, &bias, 4);
			cluster_poke(cluster, at + 4, &multiplier, 2);
			cluster_poke(cluster, at + 6, shift, 2);
		} else {
			put_float(cluster, at, random_float(random, special));
			put_float(cluster, at + 4, random_float(random, special));
		}
	}
}

static void fill_table(struct cluster *cluster, struct random *random, bool special)
{
	unsigned int i;

	put_float(cluster, TABLE_AT, -4);
	put_float(cluster, TABLE_AT + 4, 32);
	for (i = 2; i < 6; i++)
		put_float(cluster, TABLE_AT + 4 * i,
			  random_chance(random, 3) ? 0 : random_float(random, special));
	for (i = 0; i < 768; i++)
		put_float(cluster, TABLE_AT + 32 + 4 * i, random_float(random, special));
}

/* Sums of a size that the path can show something of. */
static void fill_sums(struct cluster *cluster, struct random *random, unsigned int sum,
		      bool special)
{
	size_t half = cluster->config.acc_bytes / 2, i;

	for (i = 0; i + 8 <= half; i += 8) {
		uint64_t raw = (uint64_t)random_u32(random) << 32 | random_u32(random);
		float value[2] = { random_float(random, special), random_float(random, special) };

		if (sum == NPU_OUT_SUM_FP)
			memcpy(&raw, value, sizeof(raw));
		else if (sum == NPU_OUT_SUM_INT64)
			raw = (uint64_t)((int64_t)raw >> random_range(random, 0, 63));
		else if (random_chance(random, 2))
			raw = (uint32_t)((int32_t)raw >> random_range(random, 0, 31));
		memcpy(cluster->acc[0] + i, &raw, 8);
		memcpy(cluster->memory.acc[0] + i, &raw, 8);
		memcpy(cluster->plain.acc[0] + i, &raw, 8);
	}
}

static struct npu_td random_result(const struct cluster *cluster, struct random *random,
				   unsigned int sum)
{
	uint32_t positions = npu_config_acc_positions(&cluster->config,
						      sum == NPU_OUT_SUM_INT64 ? 8 : 4);
	unsigned int dtype = random_range(random, 0, NPU_DTYPE_COUNT - 1);
	uint32_t dim[4] = {
		1, random_range(random, 1, 6), random_range(random, 1, positions / 6),
		random_range(random, 1, cluster->config.mac_channels),
	};
	int zero = dtype <= NPU_DTYPE_UINT8 ? (int)random_range(random, 0, 255) : 0;
	int64_t stride[4];

	natural_strides(stride, dim, dtype, random_chance(random, 3) ? 12 : 0);
	if (random_chance(random, 5)) {	/* channels outermost */
		stride[2] = NPU_DTYPE_BYTES(dtype);
		stride[1] = stride[2] * dim[2];
		stride[3] = stride[1] * dim[1];
	}
	return make_tensor(dtype, DST_AT, dim, stride, zero);
}

static struct npu_td random_residual(const struct npu_td *dst, struct random *random,
				     bool integer)
{
	unsigned int dtype = random_range(random, 0, integer ? NPU_DTYPE_INT32 : NPU_DTYPE_FP32);
	uint32_t dim[4];
	int64_t stride[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		dim[i] = random_chance(random, 6) ? 1 : dst->dim[i];
	natural_strides(stride, dim, dtype, random_chance(random, 3) ? 8 : 0);
	return make_tensor(dtype, random_chance(random, 8) ? DST_AT + 2 : RESIDUAL_AT, dim, stride,
			   dtype <= NPU_DTYPE_UINT8 ? (int)random_range(random, 0, 255) : 0);
}

static struct npu_stage random_stage(struct random *random, bool integer, unsigned int dtype,
				     bool special)
{
	struct npu_stage stage = {
		.activation = (uint8_t)random_range(random, 0, integer ? 2 : 3),
		.table_address = TABLE_AT,
		.scale_address = SCALE_AT,
		.residual_multiplier = (uint16_t)random_u32(random),
		.residual_shift = (uint8_t)random_range(random, 8, special ? 62 : 24),
	};
	float bounds[2] = { random_float(random, special), random_float(random, special) };

	if (integer && dtype > NPU_DTYPE_UINT8 && stage.activation == NPU_ACTIVATION_TABLE)
		stage.activation = NPU_ACTIVATION_NONE;
	if (!random_chance(random, 3))
		stage.flags |= random_chance(random, 2) ? NPU_STAGE_RESIDUAL_BEFORE :
							  NPU_STAGE_RESIDUAL_AFTER;
	if (!integer && random_chance(random, 3))
		stage.flags |= NPU_STAGE_POSITION_SCALE;
	memcpy(&stage.clamp_low, &bounds[0], 4);
	memcpy(&stage.clamp_high, &bounds[1], 4);
	if (integer) {
		stage.clamp_low = random_range(random, 0, 100) - 90;
		stage.clamp_high = random_range(random, 20, 300);
	}
	return stage;
}

static void one_case(struct cluster *cluster, struct random *random, unsigned int number)
{
	unsigned int sum = random_range(random, 0, 2);
	bool special = random_chance(random, 3), integer;
	struct npu_td *dst = &cluster->tds[DST];
	struct npu_stage stage;
	struct npu_insn insn = {
		.opcode = NPU_OP_OUT,
		.subop = (uint8_t)sum,
		.dst = DST,
		.src = { PARAMETERS, STAGE, NPU_TD_NONE },
	};
	char what[120];

	*dst = random_result(cluster, random, sum);
	integer = sum != NPU_OUT_SUM_FP && reference_dtype(dst) <= NPU_DTYPE_INT32;
	cluster->tds[PARAMETERS] = make_tensor(NPU_DTYPE_INT32, PARAMETERS_AT,
					       (uint32_t[4]){ 1, 1, 1, 1 },
					       (int64_t[4]){ 0 }, 0);
	stage = random_stage(random, integer, reference_dtype(dst), special);
	memcpy(&cluster->tds[STAGE], &stage, sizeof(stage));
	if (stage.flags & (NPU_STAGE_RESIDUAL_BEFORE | NPU_STAGE_RESIDUAL_AFTER)) {
		cluster->tds[RESIDUAL] = random_residual(dst, random, integer);
		insn.src[2] = RESIDUAL;
	} else if (random_chance(random, 6)) {
		insn.src[1] = NPU_TD_NONE;
	}
	if (random_chance(random, 6))
		insn.src[0] = NPU_TD_NONE;
	fill_parameters(cluster, random, integer, special, cluster->config.mac_channels);
	fill_table(cluster, random, special);
	cluster_fill_type(cluster, random, SCALE_AT, 0x400, NPU_DTYPE_FP32, special);
	fill_sums(cluster, random, sum, special);
	snprintf(what, sizeof(what), "case %u: sum %u dtype %u activation %u flags %u", number, sum,
		 reference_dtype(dst), stage.activation, stage.flags);
	cluster_execute(cluster, &insn);
	reference_out(cluster, &insn);
	cluster_compare(cluster, what);
}

static void random_stages(const char *configuration, uint64_t seed, unsigned int count)
{
	struct random random = { seed };
	struct cluster cluster;
	unsigned int i;

	cluster_open(&cluster, configuration, &random);
	for (i = 0; i < count; i++)
		one_case(&cluster, &random, i);
	cluster_close(&cluster);
}

static void npu_v3_stages(void **state)
{
	(void)state;
	random_stages("npu-v3", 1, 500);
}

static void lowpower_v3_stages(void **state)
{
	(void)state;
	random_stages("lowpower-v3", 2, 250);
}

/* By hand: halves go to the even neighbour, on both sides of zero, before the zero point. */
static void integer_rounding_by_hand(void **state)
{
	static const int32_t sums[8] = { 1, 3, 5, -1, -3, -5, 2, 1000 };
	static const int8_t expected[8] = { 3 + 0, 3 + 2, 3 + 2, 3 + 0, 3 - 2, 3 - 2, 3 + 1, 127 };
	static const uint32_t none;
	static const uint16_t one = 1;
	static const uint8_t shift[2] = { 1, 0 };
	struct random random = { 3 };
	struct cluster cluster;
	struct npu_insn insn = {
		.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_INT32, .dst = DST,
		.src = { PARAMETERS, NPU_TD_NONE, NPU_TD_NONE },
	};
	unsigned int c;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	for (c = 0; c < 8; c++) {
		cluster_poke(&cluster, PARAMETERS_AT + 8 * c, &none, 4);
		cluster_poke(&cluster, PARAMETERS_AT + 8 * c + 4, &one, 2);
		cluster_poke(&cluster, PARAMETERS_AT + 8 * c + 6, shift, 2);
	}
	memcpy(cluster.memory.acc[0], sums, sizeof(sums));
	memcpy(cluster.plain.acc[0], sums, sizeof(sums));
	cluster.tds[DST] = make_tensor(NPU_DTYPE_INT8, DST_AT, (uint32_t[4]){ 1, 1, 1, 8 },
				       (int64_t[4]){ 0, 0, 0, 1 }, 3);
	cluster.tds[PARAMETERS] = make_tensor(NPU_DTYPE_INT32, PARAMETERS_AT,
					      (uint32_t[4]){ 1, 1, 1, 1 }, (int64_t[4]){ 0 }, 0);
	cluster_execute(&cluster, &insn);
	assert_memory_equal(cluster.memory.local + DST_AT, expected, sizeof(expected));
	assert_memory_equal(cluster.plain.local + DST_AT, expected, sizeof(expected));
	cluster_close(&cluster);
}

/* By hand: x * x over two segments of 1, as (i + f)^2 = i^2 + f * (2 i + f). */
static void curve_by_hand(void **state)
{
	static const float sums[4] = { 0.5f, 1.25f, -1, 300 };
	static const float expected[4] = { 0.25f, 1.5625f, 2, 305 };
	static const float head[6] = { 0, 1, -2, 0, 1, 5 };
	static const float segments[6] = { 0, 0, 1, 1, 2, 1 };
	struct random random = { 4 };
	struct cluster cluster;
	struct npu_stage stage = { .activation = NPU_ACTIVATION_CURVE, .table_address = TABLE_AT };
	struct npu_insn insn = {
		.opcode = NPU_OP_OUT, .subop = NPU_OUT_SUM_FP, .dst = DST,
		.src = { NPU_TD_NONE, STAGE, NPU_TD_NONE },
	};

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	memcpy(cluster.memory.acc[0], sums, sizeof(sums));
	memcpy(cluster.plain.acc[0], sums, sizeof(sums));
	cluster_poke(&cluster, TABLE_AT, head, sizeof(head));
	cluster_poke(&cluster, TABLE_AT + 32, segments, sizeof(segments));
	memcpy(&cluster.tds[STAGE], &stage, sizeof(stage));
	cluster.tds[DST] = make_tensor(NPU_DTYPE_FP32, DST_AT, (uint32_t[4]){ 1, 1, 1, 4 },
				       (int64_t[4]){ 0, 0, 0, 4 }, 0);
	cluster_execute(&cluster, &insn);
	assert_memory_equal(cluster.memory.local + DST_AT, expected, sizeof(expected));
	assert_memory_equal(cluster.plain.local + DST_AT, expected, sizeof(expected));
	cluster_close(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(npu_v3_stages),
		cmocka_unit_test(lowpower_v3_stages),
		cmocka_unit_test(integer_rounding_by_hand),
		cmocka_unit_test(curve_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
