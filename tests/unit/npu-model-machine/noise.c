// SPDX-License-Identifier: MIT
/* See noise.h. */
#include "noise.h"

#include <string.h>

static uint64_t random_state;

void noise_seed(uint64_t seed)
{
	random_state = seed;
}

uint32_t noise(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

uint32_t noise_below(uint32_t limit)
{
	return noise() % limit;
}

bool noise_chance(uint32_t one_in)
{
	return noise_below(one_in) == 0;
}

void noise_bytes(void *to, size_t size)
{
	uint8_t *out = to;

	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)noise();
}

static uint8_t random_token(void)
{
	if (noise_chance(2))
		return 0;
	return NPU_TOKEN(noise_chance(2) ? noise_below(4) : 32 + noise_below(3));
}

/* What the descriptors of one program have in common, so that operands often fit each other. */
static uint32_t style_dims[4];
static unsigned int style_dtype;

static void random_style(void)
{
	static const uint32_t dims[] = { 1, 1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 255 };

	for (unsigned int d = 0; d < 4; d++)
		style_dims[d] = dims[noise_below(4 * d + (d < 3))];
	style_dims[0] = 1;
	style_dtype = noise_below(NPU_DTYPE_COUNT);
}

/* A descriptor that is often right: small dims, an address near something. */
static void random_descriptor(unsigned int reg, void *to)
{
	unsigned int space = reg < 5 ? NPU_SPACE_LOCAL : noise_below(3);
	const uint32_t *d = style_dims;
	struct npu_td td;

	if (noise_chance(100)) {
		noise_bytes(to, NPU_TD_BYTES);
		return;
	}
	td = dense(space, space ? 0 : noise_below(4),
		   noise_below(noise_chance(20) ? 1u << 30 : 0x8000) & ~3u,
		   noise_chance(10) ? noise_below(NPU_DTYPE_COUNT) : style_dtype, d[0], d[1], d[2],
		   d[3]);
	if (noise_chance(12))
		td.dim[noise_below(4)] = (uint16_t)(1 + noise_below(40));
	if (noise_chance(10))
		td.stride[noise_below(4)] = noise() >> noise_below(32);
	if (noise_chance(10))
		td.stride[noise_below(4)] = 0;
	if (noise_chance(20))
		td.stride[noise_below(4)] = (uint32_t)-(int32_t)noise_below(5000);
	memcpy(to, &td, sizeof(td));
}

/* MAC: weights for the window that follows, of the type that goes with the activations. */
static void random_weights(void *to)
{
	bool half = style_dtype == NPU_DTYPE_FP16;
	unsigned int dtype = half ? NPU_DTYPE_FP16 : NPU_DTYPE_INT8;
	unsigned int depth = half ? 8 : style_dtype == NPU_DTYPE_INT16 ? 16 : 32;
	struct npu_td td = dense(NPU_SPACE_LOCAL, 0, noise_below(0x8000) & ~63u, dtype, 1,
				 1 + noise_below(9), 32, depth);

	memcpy(to, &td, sizeof(td));
}

static void random_window(void *to)
{
	struct npu_window window = {
		.out_height = (uint16_t)(1 + noise_below(8)),
		.out_width = (uint16_t)(1 + noise_below(8)),
		.kernel_height = (uint16_t)(1 + noise_below(3)),
		.kernel_width = (uint16_t)(1 + noise_below(3)),
		.stride_y = (uint16_t)(1 + noise_below(2)),
		.stride_x = (uint16_t)(1 + noise_below(2)),
		.dilation_y = 1,
		.dilation_x = 1,
		.origin_y = (uint16_t)-noise_below(3),
		.origin_x = (uint16_t)-noise_below(3),
	};

	memcpy(to, &window, sizeof(window));
}

static void random_stage(void *to)
{
	struct npu_stage stage = {
		.activation = (uint8_t)noise_below(3), .flags = (uint8_t)noise_below(8),
		.table_address = noise_below(1024) * 16, .scale_address = noise_below(0x8000),
	};

	memcpy(to, &stage, sizeof(stage));
}

static struct npu_insn random_insn(void)
{
	static const uint8_t opcodes[] = {
		NPU_OP_TDSET, NPU_OP_LOOP, NPU_OP_LOOP, NPU_OP_ENDLOOP, NPU_OP_SYNC, NPU_OP_BARRIER,
		NPU_OP_POINT,
		NPU_OP_MARK, NPU_OP_DMA, NPU_OP_DMA, NPU_OP_DMA, NPU_OP_MAC, NPU_OP_MAC, NPU_OP_OUT,
		NPU_OP_VEC, NPU_OP_VEC, NPU_OP_LAYOUT, NPU_OP_DMA, NPU_OP_VEC, NPU_OP_MAC,
		NPU_OP_LAYOUT, NPU_OP_SYNC,
	};
	struct npu_insn insn = { 0 };

	if (noise_chance(300)) {
		noise_bytes(&insn, sizeof(insn));
		return insn;
	}
	insn.opcode = opcodes[noise_below(sizeof(opcodes))];
	if (noise_chance(8)) {
		insn.wait[0] = random_token();
		insn.wait[1] = random_token();
	}
	if (noise_chance(2)) {
		insn.release[0] = random_token();
		insn.release[1] = random_token();
	}
	switch (insn.opcode) {
	case NPU_OP_TDSET:
		insn.dst = (uint8_t)(1 + noise_below(8));
		insn.subop = (uint8_t)noise_below(4);
		insn.imm16 = (uint16_t)(insn.subop == 1 ? noise_below(4) : 0);
		insn.imm32 = insn.subop ? 1 + noise_below(9) : noise_below(4096);
		break;
	case NPU_OP_LOOP:
		insn.imm32 = noise_chance(10) ? noise() : 1 + noise_below(5);
		break;
	case NPU_OP_SYNC:
		insn.subop = (uint8_t)noise_below(7);
		break;
	case NPU_OP_POINT:
		insn.imm32 = 16 * noise_below(8);
		break;
	case NPU_OP_MARK:
		insn.subop = (uint8_t)noise_below(7);
		insn.imm32 = noise_chance(10) ? noise() : noise_below(100);
		break;
	case NPU_OP_DMA:
		insn.subop = (uint8_t)noise_below(2);
		insn.imm16 = (uint16_t)(noise_chance(4) ? noise_below(32) : 0);
		insn.dst = (uint8_t)(1 + noise_below(8));
		insn.src[0] = (uint8_t)(1 + noise_below(8));
		break;
	case NPU_OP_MAC:
		insn.subop = (uint8_t)(noise_chance(4) ? noise_below(16) : noise_below(4) << 2);
		insn.src[0] = (uint8_t)(1 + noise_below(noise_chance(8) ? 8 : 4));
		insn.src[1] = (uint8_t)(noise_chance(8) ? 1 + noise_below(8) : 11);
		insn.src[2] = 9;
		insn.imm32 = noise_chance(10) ? 1 + noise_below(70) : 1 + noise_below(32);
		insn.imm16 = (uint16_t)(noise_chance(4) ? noise_below(300) : 0);
		break;
	case NPU_OP_OUT:
		insn.subop = (uint8_t)(noise_below(2) * 8 + noise_below(3));
		insn.dst = (uint8_t)(1 + noise_below(8));
		insn.src[0] = (uint8_t)(noise_chance(2) ? 0 : 1 + noise_below(8));
		insn.src[1] = 10;
		insn.src[2] = (uint8_t)(noise_chance(2) ? 0 : 1 + noise_below(8));
		break;
	case NPU_OP_VEC:
		insn.subop = (uint8_t)noise_below(0x26);
		insn.dst = (uint8_t)(1 + noise_below(4));
		insn.src[0] = (uint8_t)(1 + noise_below(4));
		if (insn.subop && (insn.subop < 0x0b || noise_chance(8)))
			insn.src[1] =
				(uint8_t)(noise_chance(4) ? NPU_TD_IMMEDIATE : 1 + noise_below(4));
		if (insn.subop == NPU_VEC_MULADD || (insn.subop >= 9 && insn.subop <= 10) ||
		    noise_chance(20))
			insn.src[2] =
				(uint8_t)(noise_chance(4) ? NPU_TD_IMMEDIATE : 1 + noise_below(4));
		insn.imm16 = (uint16_t)(insn.subop >= 0x20 ? noise_below(16) : 0);
		break;
	case NPU_OP_LAYOUT:
		insn.dst = (uint8_t)(1 + noise_below(4));
		insn.src[0] = (uint8_t)(1 + noise_below(4));
		break;
	default:
		break;
	}
	return insn;
}

/* The descriptor registers as the stream has them, loops left aside. */
static struct npu_td mirror[NPU_TD_COUNT];

/*
 * Noise alone ends at its first instruction. So most instructions are drawn until one is legal by
 * itself; what a legal program does wrong is tokens, addresses, bounds and time.
 */
static struct npu_insn drawn_insn(const struct npu_config *config)
{
	struct npu_insn insn = random_insn();

	for (unsigned int i = 0; i < 40 && !noise_chance(400); i++) {
		struct npu_insn emitted = insn;
		struct npu_operation operation;
		uint32_t error;
		uint64_t detail;

		emitted.dst = emitted.dst ? emitted.dst : NPU_TD_NONE;
		for (unsigned int k = 0; k < 3; k++)
			emitted.src[k] = emitted.src[k] ? emitted.src[k] : NPU_TD_NONE;
		if (!npu_operation_decode(config, &emitted, mirror, &operation, &error, &detail)) {
			if (insn.opcode == NPU_OP_TDSET)
				npu_td_set(&mirror[operation.target], &operation);
			break;
		}
		insn = random_insn();
	}
	return insn;
}

/* Loops are mostly closed. */
static void random_stream(struct program *program, unsigned int count)
{
	struct npu_config config = program->board->model->config;
	unsigned int depth = 0;

	config.local_bytes = program->header->local_bytes;
	while (count--) {
		struct npu_insn insn = drawn_insn(&config);
		bool wild = noise_chance(50);

		if (insn.opcode == NPU_OP_ENDLOOP && !depth && !wild)
			continue;
		if (insn.opcode == NPU_OP_LOOP && depth == NPU_LOOP_NESTING && !wild)
			continue;
		depth += insn.opcode == NPU_OP_LOOP;
		depth -= insn.opcode == NPU_OP_ENDLOOP && depth;
		program_emit(program, insn);
	}
	while (depth--)
		program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
}

void noise_program(struct board *board, unsigned int context, uint64_t offset,
		   struct program *program)
{
	unsigned int clusters = noise_chance(3) ? 1 + noise_below(4) : 1;

	*program = program_begin(board, context, offset, clusters);
	program->header->global_bytes = 64 * noise_below(1024);
	program->header->local_bytes = noise_chance(4) ? noise_below(0x8000) : 0x20000;
	for (unsigned int i = 0; i < clusters; i++) {
		unsigned int count = noise_below(40);
		uint8_t descriptor[NPU_TD_BYTES];

		program_stream(program, i);
		random_style();
		for (unsigned int r = 1; r <= 8; r++) {
			random_descriptor(r, descriptor);
			program_descriptor(program, r, descriptor);
			memcpy(&mirror[r], descriptor, NPU_TD_BYTES);
		}
		random_window(descriptor);
		program_descriptor(program, 9, descriptor);
		memcpy(&mirror[9], descriptor, NPU_TD_BYTES);
		random_stage(descriptor);
		program_descriptor(program, 10, descriptor);
		memcpy(&mirror[10], descriptor, NPU_TD_BYTES);
		random_weights(descriptor);
		program_descriptor(program, 11, descriptor);
		memcpy(&mirror[11], descriptor, NPU_TD_BYTES);
		random_stream(program, count);
		if (!noise_chance(20))
			program_finish(program);
	}
	if (noise_chance(50))
		noise_bytes((uint8_t *)program->header + noise_below(sizeof(*program->header)), 1);
}
