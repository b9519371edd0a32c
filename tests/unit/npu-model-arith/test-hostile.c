// SPDX-License-Identifier: MIT
/*
 * A million random instructions with random descriptors: the decoder survives them, and what it
 * accepts stays inside its memories (guard bytes here, every access under the sanitizers) and
 * gives the same bytes with and without the host's vector instructions.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS		1000000
#define EXECUTED_MIN	10000	/* enough to mean something */
#define WORK_MAX	400000	/* elements or products of one operation that is executed */

/* Numbers that meet bounds: small ones, powers of two, neighbours of limits, anything. */
static uint32_t edge(struct random *random, uint32_t bits)
{
	uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;

	switch (random_range(random, 0, 4)) {
	case 0:
		return random_range(random, 0, 4);
	case 1:
		return random_range(random, 0, 40) & mask;
	case 2:
		return (1u << random_range(random, 0, bits - 1)) & mask;
	case 3:
		return (0u - random_range(random, 0, 70)) & mask;
	default:
		return random_u32(random) & mask;
	}
}

enum format { ANYTHING, WINDOW, STAGE, TENSOR };

static void random_descriptor(struct random *random, struct npu_td *td, enum format format,
			      uint32_t local_bytes)
{
	unsigned int dtype = random_range(random, 0, NPU_DTYPE_COUNT - 1), i;
	struct npu_window window;
	struct npu_stage stage;
	uint32_t dim[4];
	int64_t stride[4];

	for (i = 0; i < 4; i++)
		dim[i] = random_chance(random, 3) ? random_range(random, 1, 12) :
			 random_chance(random, 12) ? edge(random, 16) : 1;
	switch (random_chance(random, 12) ? random_range(random, 0, 3) : format) {
	case ANYTHING:
		for (i = 0; i < sizeof(*td); i++)
			((uint8_t *)td)[i] = (uint8_t)edge(random, 8);
		return;
	case WINDOW:
		window = (struct npu_window){
			(uint16_t)random_range(random, 1, 6), (uint16_t)random_range(random, 1, 6),
			(uint16_t)random_range(random, 1, 3), (uint16_t)random_range(random, 1, 3),
			(uint16_t)random_range(random, 1, 3), (uint16_t)random_range(random, 1, 3),
			(uint16_t)edge(random, 16), (uint16_t)random_range(random, 1, 3),
			(uint16_t)edge(random, 16), (uint16_t)edge(random, 16), { 0 } };
		memcpy(td, &window, sizeof(window));
		return;
	case STAGE:
		memset(&stage, 0, sizeof(stage));
		stage.activation = (uint8_t)random_range(random, 0, 2 + random_chance(random, 8));
		stage.flags = (uint8_t)random_range(random, 0, 8);
		stage.residual_shift = (uint8_t)random_range(random, 0, 63);
		stage.residual_multiplier = (uint16_t)random_u32(random);
		stage.clamp_low = random_u32(random);
		stage.clamp_high = random_u32(random);
		stage.table_address = random_range(random, 0, local_bytes / 15) * 16;
		stage.scale_address = random_range(random, 0, local_bytes + 64);
		memcpy(td, &stage, sizeof(stage));
		return;
	default:
		natural_strides(stride, dim, dtype, random_range(random, 0, 3));
		if (random_chance(random, 4))
			stride[random_range(random, 0, 3)] =
				(int32_t)edge(random, random_chance(random, 2) ? 32 : 12);
		*td = make_tensor(dtype, random_range(random, 0, local_bytes + 16), dim, stride,
				  dtype <= NPU_DTYPE_UINT8 ? (int)edge(random, 8) : 0);
	}
}

/* Weights and destinations that fit by chance hardly ever: made to, sometimes. */
static void suit(struct cluster *cluster, struct npu_insn *insn, struct random *random)
{
	struct npu_td *x = &cluster->tds[insn->src[0] & 63], *w = &cluster->tds[insn->src[1] & 63];
	struct npu_td *dst = &cluster->tds[insn->dst & 63];
	struct npu_window window;
	uint32_t depth = cluster->config.mac_depth, taps, i;

	if (insn->opcode == NPU_OP_MAC) {
		memcpy(&window, &cluster->tds[insn->src[2] & 63], sizeof(window));
		taps = (uint32_t)window.kernel_height * window.kernel_width;
		if (reference_dtype(x) == NPU_DTYPE_FP16)
			depth /= 4;
		if (reference_dtype(x) == NPU_DTYPE_INT16)
			depth /= 2;
		if (random_chance(random, 2)) {	/* a pair of types there is */
			w->word0 &= ~(15ull << 48);
			if (reference_dtype(x) == NPU_DTYPE_FP16)
				w->word0 |= (uint64_t)NPU_DTYPE_FP16 << 48;
			w->word0 &= reference_dtype(w) ? ~(255ull << 56) : UINT64_MAX;
		}
		depth /= (insn->subop & 3) == NPU_MAC_SHAPE_S ? 2 : 1;
		w->dim[0] = x->dim[0] = 1;
		w->dim[1] = (uint16_t)((taps * x->dim[3] + depth - 1) / depth);
		w->dim[2] = (uint16_t)insn->imm32;
		w->dim[3] = (uint16_t)depth;
		if ((insn->subop & 3) == NPU_MAC_SHAPE_V) {
			w->dim[1] = 1;
			w->dim[2] = (uint16_t)taps;
			w->dim[3] = (uint16_t)insn->imm32;
		}
		w->stride[3] = NPU_DTYPE_BYTES(reference_dtype(w));
	} else if (insn->opcode == NPU_OP_OUT) {
		dst->dim[0] = 1;
		for (i = 0; i < 4; i++)
			cluster->tds[3].dim[i] = dst->dim[i];
	} else {
		for (i = 0; i < 4; i++)
			x->dim[i] = w->dim[i] = cluster->tds[3].dim[i] = dst->dim[i];
		if (insn->opcode == NPU_OP_LAYOUT || insn->opcode == NPU_OP_DMA)
			x->word0 = (x->word0 & ~(15ull << 48)) | (dst->word0 & 15ull << 48);
		for (i = 0; i < 4 && insn->subop >= NPU_VEC_REDUCE_SUM; i++)
			if (insn->imm16 & 1u << i)
				dst->dim[i] = 1;
	}
}

/* Operands an operation of the vector unit takes: too many or too few are refused. */
static unsigned int arity(unsigned int subop)
{
	if (subop == NPU_VEC_MULADD || subop == NPU_VEC_SELECT || subop == NPU_VEC_CLAMP ||
	    subop == NPU_VEC_EXPSUM)
		return 3;
	if ((subop >= NPU_VEC_ADD && subop <= NPU_VEC_GREATER) || subop == NPU_VEC_TABLE)
		return 2;
	return 1;
}

static void random_operands(struct cluster *cluster, struct npu_insn *insn, struct random *random)
{
	static const enum format formats[3][4] = {
		{ TENSOR, TENSOR, TENSOR, WINDOW },	/* MAC */
		{ TENSOR, TENSOR, STAGE, TENSOR },	/* OUT */
		{ TENSOR, TENSOR, TENSOR, TENSOR },
	};
	unsigned int row = insn->opcode == NPU_OP_MAC ? 0 : insn->opcode == NPU_OP_OUT ? 1 : 2, i;
	unsigned int sources = insn->opcode == NPU_OP_VEC ? arity(insn->subop) : row == 2 ? 1 : 3;

	for (i = 0; i < 4; i++)
		random_descriptor(random, &cluster->tds[i], formats[row][i],
				  cluster->config.local_bytes);
	for (i = 0; i < 3; i++) {
		insn->src[i] = i < sources ? (uint8_t)(i + 1) : NPU_TD_NONE;
		if (row == 1 && random_chance(random, 3))
			insn->src[i] = NPU_TD_NONE;
		if (row == 2 && i < sources && random_chance(random, 12))
			insn->src[i] = NPU_TD_IMMEDIATE;
		if (random_chance(random, 50))
			insn->src[i] = (uint8_t)random_u32(random);
	}
	if (insn->opcode == NPU_OP_VEC && insn->subop == NPU_VEC_REDUCE_SUMSQ)
		insn->src[2] = 3;
	if (insn->src[0] != NPU_TD_IMMEDIATE && insn->src[1] != NPU_TD_IMMEDIATE &&
	    insn->src[2] != NPU_TD_IMMEDIATE && row)
		insn->imm32 = 0;
}

static void random_case(struct cluster *cluster, struct npu_insn *insn, struct random *random)
{
	static const uint8_t opcodes[] = { NPU_OP_MAC, NPU_OP_MAC, NPU_OP_OUT, NPU_OP_VEC,
					   NPU_OP_VEC, NPU_OP_LAYOUT, NPU_OP_DMA };
	unsigned int i;

	for (i = 0; i < sizeof(*insn); i++)
		((uint8_t *)insn)[i] = (uint8_t)random_u32(random);
	if (random_chance(random, 20))
		return;
	insn->opcode = opcodes[random_u32(random) % sizeof(opcodes)];
	memset(insn->wait, 0, sizeof(insn->wait));
	memset(insn->release, 0, sizeof(insn->release));
	insn->imm16 = random_chance(random, 3) ? (uint16_t)random_range(random, 0, 40) : 0;
	insn->dst = insn->opcode == NPU_OP_MAC ? NPU_TD_NONE : 0;
	if (insn->opcode == NPU_OP_MAC)
		insn->subop &= 0xf;
	else if (insn->opcode == NPU_OP_OUT)
		insn->subop &= 0xb;
	else if (insn->opcode == NPU_OP_VEC)
		insn->subop = (uint8_t)random_range(random, 0, 0x25);
	else
		insn->subop = insn->opcode == NPU_OP_DMA ? insn->subop & 1 : 0;
	if (insn->subop >= NPU_VEC_REDUCE_SUM)
		insn->imm16 = random_chance(random, 2) ? 8 : insn->imm16 & 0xf;
	if (insn->opcode == NPU_OP_MAC)
		insn->imm32 = random_range(random, 0, random_chance(random, 2) ? 8 : 17);
	random_operands(cluster, insn, random);
	if (!random_chance(random, 4))
		suit(cluster, insn, random);
}

static uint64_t effort(const struct npu_operation *operation)
{
	const uint32_t *dim = operation->opcode == NPU_OP_VEC ? operation->vec.dim :
								operation->dst.dim;

	if (operation->opcode == NPU_OP_MAC)
		return operation->macs;
	return (uint64_t)dim[0] * dim[1] * dim[2] * dim[3];
}

static void same(const struct cluster *cluster, const struct npu_insn *insn, unsigned int round)
{
	size_t half = cluster->config.acc_bytes / 2;

	if (memcmp(cluster->memory.local, cluster->plain.local, cluster->config.local_bytes) ||
	    memcmp(cluster->memory.acc[0], cluster->plain.acc[0], half) ||
	    memcmp(cluster->memory.acc[1], cluster->plain.acc[1], half))
		fail_msg("round %u: opcode 0x%02x subop 0x%02x imm16 0x%x: plain and vector differ",
			 round, insn->opcode, insn->subop, insn->imm16);
}

static void million(void **state)
{
	struct random random = { 1 };
	struct cluster cluster;
	unsigned int round, executed = 0, by_opcode[256] = { 0 };

	(void)state;
	cluster_open(&cluster, "lowpower-v3?local_kib=16", &random);
	for (round = 0; round < ROUNDS; round++) {
		struct npu_operation operation;
		struct npu_insn insn;
		uint32_t error;
		uint64_t detail;

		random_case(&cluster, &insn, &random);
		if (npu_operation_decode(&cluster.config, &insn, cluster.tds, &operation, &error,
					 &detail)) {
			assert_true(error == NPU_ERROR_ILLEGAL_INSTRUCTION ||
				    error == NPU_ERROR_BAD_DESCRIPTOR ||
				    error == NPU_ERROR_LOCAL_RANGE || error == NPU_ERROR_LOOP ||
				    error == NPU_ERROR_ACCUMULATOR_RANGE);
			continue;
		}
		by_opcode[insn.opcode]++;
		if (effort(&operation) > WORK_MAX)
			continue;
		npu_execute(&cluster.config, &cluster.memory, &operation);
		npu_execute(&cluster.plain_config, &cluster.plain, &operation);
		same(&cluster, &insn, round);
		executed++;
	}
	print_message("executed %u: mac %u out %u vec %u layout %u, dma decoded %u\n", executed,
		      by_opcode[NPU_OP_MAC], by_opcode[NPU_OP_OUT], by_opcode[NPU_OP_VEC],
		      by_opcode[NPU_OP_LAYOUT], by_opcode[NPU_OP_DMA]);
	assert_true(executed > EXECUTED_MIN);
	assert_true(by_opcode[NPU_OP_MAC] > 1000 && by_opcode[NPU_OP_OUT] > 1000);
	assert_true(by_opcode[NPU_OP_VEC] > 1000 && by_opcode[NPU_OP_LAYOUT] > 1000);
	assert_true(by_opcode[NPU_OP_DMA] > 100);
	cluster_close(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
