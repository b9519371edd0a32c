// SPDX-License-Identifier: MIT
/* MAC array: every shape, type, stride, padding and dilation against the reference. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ACTIVATIONS	0
#define WEIGHTS		1
#define WINDOW		2
#define WEIGHTS_AT	0x20000

static const struct {
	unsigned int activations, weights;
} types[] = {
	{ NPU_DTYPE_INT8, NPU_DTYPE_INT8 },   { NPU_DTYPE_INT8, NPU_DTYPE_UINT8 },
	{ NPU_DTYPE_UINT8, NPU_DTYPE_INT8 },  { NPU_DTYPE_UINT8, NPU_DTYPE_UINT8 },
	{ NPU_DTYPE_INT16, NPU_DTYPE_INT8 },  { NPU_DTYPE_FP16, NPU_DTYPE_FP16 },
	{ NPU_DTYPE_FP32, NPU_DTYPE_FP16 },   { NPU_DTYPE_FP32, NPU_DTYPE_FP32 },
	{ NPU_DTYPE_FP16, NPU_DTYPE_FP32 },
};

#define TYPE_COUNT	(sizeof(types) / sizeof(types[0]))

struct pass {
	unsigned int shape, type;
	struct npu_window window;
	uint32_t height, width, channels, out_channels, first;
	bool resume, half, special, strided;
};

static uint32_t limit(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

static struct pass random_pass(const struct npu_config *config, struct random *random)
{
	struct pass pass = {
		.shape = random_range(random, 0, 2),
		.type = random_range(random, 0, TYPE_COUNT - 1),
		.height = random_range(random, 1, 12),
		.width = random_range(random, 1, 12),
		.resume = random_chance(random, 2),
		.half = random_chance(random, 2),
		.special = random_chance(random, 3),
		.strided = random_chance(random, 4),
	};
	unsigned int sum = types[pass.type].activations == NPU_DTYPE_INT16 ? 8 : 4;
	uint32_t positions = npu_config_acc_positions(config, sum);
	uint32_t most = config->mac_channels / (pass.shape == NPU_MAC_SHAPE_S ? 2 : 1);
	struct npu_window *window = &pass.window;

	window->out_height = (uint16_t)random_range(random, 1, 6);
	window->out_width = (uint16_t)random_range(random, 1, limit(positions / 6, 10));
	window->kernel_height = (uint16_t)random_range(random, 1, 4);
	window->kernel_width = (uint16_t)random_range(random, 1, 4);
	window->stride_y = (uint16_t)random_range(random, 1, 3);
	window->stride_x = (uint16_t)random_range(random, 1, 3);
	window->dilation_y = (uint16_t)random_range(random, 1, 2);
	window->dilation_x = (uint16_t)random_range(random, 1, 2);
	window->origin_y = (uint16_t)(random_range(random, 0, 4) - 3);
	window->origin_x = (uint16_t)(random_range(random, 0, 4) - 3);
	pass.out_channels = random_range(random, 1, most);
	if (pass.shape == NPU_MAC_SHAPE_V)
		pass.channels = random_range(random, pass.out_channels, most + 3);
	else
		pass.channels = random_range(random, 1, random_chance(random, 3) ? 90 : 20);
	pass.first = random_range(random, 0,
				  positions - (uint32_t)window->out_height * window->out_width);
	return pass;
}

static uint32_t depth_of(const struct npu_config *config, const struct pass *pass)
{
	uint32_t depth = config->mac_depth;

	if (types[pass->type].activations == NPU_DTYPE_INT16)
		depth /= 2;
	if (types[pass->type].activations >= NPU_DTYPE_FP16)
		depth /= 4;
	return pass->shape == NPU_MAC_SHAPE_S ? depth / 2 : depth;
}

/* Descriptors and memory of a pass. */
static struct npu_insn set_up(struct cluster *cluster, const struct pass *pass,
			      struct random *random)
{
	unsigned int a = types[pass->type].activations, w = types[pass->type].weights;
	uint32_t taps = (uint32_t)pass->window.kernel_height * pass->window.kernel_width;
	uint32_t depth = depth_of(&cluster->config, pass);
	uint32_t adim[4] = { 1, pass->height, pass->width, pass->channels };
	uint32_t wdim[4] = { 1, 1, taps, pass->out_channels };
	int64_t astride[4], wstride[4];
	int azero = a <= NPU_DTYPE_UINT8 ? (int)random_range(random, 0, 255) : 0;
	int wzero = w <= NPU_DTYPE_UINT8 ? (int)random_range(random, 0, 255) : 0;
	struct npu_insn insn = {
		.opcode = NPU_OP_MAC,
		.subop = (uint8_t)(pass->shape | (pass->resume ? NPU_MAC_RESUME : 0) |
				   (pass->half ? NPU_MAC_HALF : 0)),
		.dst = NPU_TD_NONE,
		.src = { ACTIVATIONS, WEIGHTS, WINDOW },
		.imm16 = (uint16_t)pass->first,
		.imm32 = pass->out_channels,
	};

	if (pass->shape != NPU_MAC_SHAPE_V) {
		wdim[1] = (taps * pass->channels + depth - 1) / depth;
		wdim[2] = pass->out_channels;
		wdim[3] = depth;
	}
	natural_strides(astride, adim, a, random_chance(random, 3) ? 6 : 0);
	natural_strides(wstride, wdim, w, random_chance(random, 3) ? 4 : 0);
	if (pass->strided) {	/* channels apart: [channel][height][width] */
		astride[2] = NPU_DTYPE_BYTES(a);
		astride[1] = astride[2] * pass->width;
		astride[3] = astride[1] * pass->height;
	}
	cluster->tds[ACTIVATIONS] = make_tensor(a, 0x40, adim, astride, azero);
	cluster->tds[WEIGHTS] = make_tensor(w, WEIGHTS_AT, wdim, wstride, wzero);
	memcpy(&cluster->tds[WINDOW], &pass->window, sizeof(pass->window));
	cluster_fill_type(cluster, random, 0, 0x8000, a, pass->special);
	cluster_fill_type(cluster, random, WEIGHTS_AT, 0x18000, w, pass->special);
	return insn;
}

static void random_passes(const char *configuration, uint64_t seed, unsigned int count)
{
	struct random random = { seed };
	struct cluster cluster;
	unsigned int i;
	char what[160];

	cluster_open(&cluster, configuration, &random);
	for (i = 0; i < count; i++) {
		struct pass pass = random_pass(&cluster.config, &random);
		struct npu_insn insn = set_up(&cluster, &pass, &random);

		snprintf(what, sizeof(what), "pass %u: shape %u type %u k %ux%ux%u channels %u%s%s",
			 i, pass.shape, pass.type, pass.window.kernel_height,
			 pass.window.kernel_width, pass.channels, pass.out_channels,
			 pass.resume ? " resume" : "", pass.special ? " special" : "");
		cluster_execute(&cluster, &insn);
		reference_mac(&cluster, &insn);
		cluster_compare(&cluster, what);
	}
	cluster_close(&cluster);
}

static void npu_v3_passes(void **state)
{
	(void)state;
	random_passes("npu-v3", 1, 250);
}

static void lowpower_v3_passes(void **state)
{
	(void)state;
	random_passes("lowpower-v3", 2, 150);
}

static void other_arrays(void **state)
{
	(void)state;
	random_passes("npu-v3?mac_depth=64&mac_channels=64&acc_kib=128", 3, 80);
	random_passes("npu-v3?mac_depth=8&mac_channels=8&acc_kib=16", 4, 80);
}

/* Depths of several blocks, so that sums carry over inside a pass. */
static void deep_passes(void **state)
{
	struct random random = { 5 };
	struct cluster cluster;
	unsigned int type, shape;
	char what[80];

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	for (type = 0; type < TYPE_COUNT; type++)
		for (shape = 0; shape < 3; shape++) {
			struct pass pass = {
				.shape = shape,
				.type = type,
				.window = { 2, 3, 9, 11, 1, 1, 1, 1, (uint16_t)-1, (uint16_t)-1, {0} },
				.height = 10,
				.width = 12,
				.channels = 17,
				.out_channels = 13,
				.special = type % 2,
			};
			struct npu_insn insn = set_up(&cluster, &pass, &random);

			snprintf(what, sizeof(what), "deep pass, type %u shape %u", type, shape);
			cluster_execute(&cluster, &insn);
			reference_mac(&cluster, &insn);
			cluster_compare(&cluster, what);
		}
	cluster_close(&cluster);
}

/* By hand: the order of a step's additions shows in the last bit. */
static void fp16_order_by_hand(void **state)
{
	static const uint16_t lanes[8] = {
		/* 2^15, 2^-9 seven times: pairs keep what a chain would lose */
		0x7800, 0x1800, 0x1800, 0x1800, 0x1800, 0x1800, 0x1800, 0x1800,
	};
	static const uint16_t one = 0x3c00;
	struct random random = { 6 };
	struct cluster cluster;
	struct npu_window window = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, {0} };
	struct npu_insn insn = { .opcode = NPU_OP_MAC, .dst = NPU_TD_NONE,
				 .src = { ACTIVATIONS, WEIGHTS, WINDOW }, .imm32 = 1 };
	/* (2^15 + 2^-9) is a tie and goes to even: 2^15; + 2^-8 is exact; + 2^-7 is exact */
	float expected = 32768.0f + 0x1p-8f + 0x1p-7f, got;
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	for (i = 0; i < 8; i++)
		cluster_poke(&cluster, 2 * i, &lanes[i], 2);
	for (i = 0; i < 8; i++)
		cluster_poke(&cluster, 64 + 2 * i, &one, 2);
	cluster.tds[ACTIVATIONS] = make_tensor(NPU_DTYPE_FP16, 0, (uint32_t[4]){ 1, 1, 1, 8 },
					       (int64_t[4]){ 0, 0, 0, 2 }, 0);
	cluster.tds[WEIGHTS] = make_tensor(NPU_DTYPE_FP16, 64, (uint32_t[4]){ 1, 1, 1, 8 },
					   (int64_t[4]){ 0, 0, 0, 2 }, 0);
	memcpy(&cluster.tds[WINDOW], &window, sizeof(window));
	cluster_execute(&cluster, &insn);
	memcpy(&got, cluster.memory.acc[0], sizeof(got));
	assert_memory_equal(&got, &expected, sizeof(got));
	memcpy(&got, cluster.plain.acc[0], sizeof(got));
	assert_memory_equal(&got, &expected, sizeof(got));
	cluster_close(&cluster);
}

/* By hand: operands keep 16 significant bits, ties to even, and their products are rounded. */
static void fp32_operands_by_hand(void **state)
{
	static const float operands[8] = {
		1 + 0x1p-16f, 1 + 0x3p-16f, 1 + 0x1p-23f, -1 - 0x1.8p-16f,
		0x1p-127f, 0x1.fffffep127f, 0x1p-149f, 1 + 0x1p-15f,
	};
	/* the last: (1 + 2^-15) * (1 + 2^-10) has a bit of 2^-25, which goes */
	static const float expected[8] = {
		1, 1 + 0x1p-14f, 1, -1 - 0x1p-15f,
		0x1p-127f, INFINITY, 0, 1 + 0x1p-10f + 0x1p-15f,
	};
	static const uint16_t one = 0x3c00, more = 0x3c01;
	struct random random = { 8 };
	struct cluster cluster;
	struct npu_window window = { 1, 8, 1, 1, 1, 1, 1, 1, 0, 0, {0} };
	struct npu_insn insn = { .opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M, .dst = NPU_TD_NONE,
				 .src = { ACTIVATIONS, WEIGHTS, WINDOW }, .imm32 = 1 };
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	cluster_poke(&cluster, 0, operands, sizeof(operands));
	cluster_poke(&cluster, 64, &one, 2);
	cluster_poke(&cluster, 96, &more, 2);
	cluster.tds[ACTIVATIONS] = make_tensor(NPU_DTYPE_FP32, 0, (uint32_t[4]){ 1, 1, 8, 1 },
					       (int64_t[4]){ 0, 0, 4, 4 }, 0);
	cluster.tds[WEIGHTS] = make_tensor(NPU_DTYPE_FP16, 64, (uint32_t[4]){ 1, 1, 1, 8 },
					   (int64_t[4]){ 0, 0, 0, 2 }, 0);
	memcpy(&cluster.tds[WINDOW], &window, sizeof(window));
	cluster_execute(&cluster, &insn);
	window = (struct npu_window){ 1, 1, 1, 1, 1, 1, 1, 1, 0, 7, {0} };
	memcpy(&cluster.tds[WINDOW], &window, sizeof(window));
	cluster.tds[WEIGHTS] = make_tensor(NPU_DTYPE_FP16, 96, (uint32_t[4]){ 1, 1, 1, 8 },
					   (int64_t[4]){ 0, 0, 0, 2 }, 0);
	insn.imm16 = 7;
	cluster_execute(&cluster, &insn);
	for (i = 0; i < 8; i++) {
		assert_memory_equal(cluster.memory.acc[0] + 128 * i, &expected[i], 4);
		assert_memory_equal(cluster.plain.acc[0] + 128 * i, &expected[i], 4);
	}
	cluster_close(&cluster);
}

/* A resumed -0 counts as +0: products of -0, as padding gives them, must not show. */
static void resumed_zero_by_hand(void **state)
{
	static const uint16_t zero, minus_one = 0xbc00;
	static const uint32_t minus_zero = 0x80000000, plus_zero;
	struct random random = { 7 };
	struct cluster cluster;
	struct npu_window window = { 1, 2, 1, 1, 1, 1, 1, 1, 0, 0, {0} };	/* one is outside */
	struct npu_insn insn = { .opcode = NPU_OP_MAC, .subop = NPU_MAC_RESUME,
				 .dst = NPU_TD_NONE, .src = { ACTIVATIONS, WEIGHTS, WINDOW },
				 .imm32 = 1 };
	unsigned int i;

	(void)state;
	cluster_open(&cluster, "npu-v3", &random);
	for (i = 0; i < 8; i++) {
		cluster_poke(&cluster, 2 * i, &zero, 2);
		cluster_poke(&cluster, 64 + 2 * i, &minus_one, 2);
	}
	for (i = 0; i < 2; i++) {
		memcpy(cluster.memory.acc[0] + 128 * i, &minus_zero, 4);
		memcpy(cluster.plain.acc[0] + 128 * i, &minus_zero, 4);
	}
	cluster.tds[ACTIVATIONS] = make_tensor(NPU_DTYPE_FP16, 0, (uint32_t[4]){ 1, 1, 1, 8 },
					       (int64_t[4]){ 0, 0, 0, 2 }, 0);
	cluster.tds[WEIGHTS] = make_tensor(NPU_DTYPE_FP16, 64, (uint32_t[4]){ 1, 1, 1, 8 },
					   (int64_t[4]){ 0, 0, 0, 2 }, 0);
	memcpy(&cluster.tds[WINDOW], &window, sizeof(window));
	cluster_execute(&cluster, &insn);
	for (i = 0; i < 2; i++) {
		assert_memory_equal(cluster.memory.acc[0] + 128 * i, &plus_zero, 4);
		assert_memory_equal(cluster.plain.acc[0] + 128 * i, &plus_zero, 4);
	}
	cluster_close(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(npu_v3_passes),
		cmocka_unit_test(lowpower_v3_passes),
		cmocka_unit_test(other_arrays),
		cmocka_unit_test(deep_passes),
		cmocka_unit_test(fp16_order_by_hand),
		cmocka_unit_test(fp32_operands_by_hand),
		cmocka_unit_test(resumed_zero_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
