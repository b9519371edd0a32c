// SPDX-License-Identifier: MIT
#include "stream.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* A stream beyond this is a runaway lowering, not a program. */
#define STREAM_MAX_BYTES (1u << 30)

/* Operands used within this many others are likely to be wanted again as they are. */
#define STREAM_RECENT 12

#define STREAM_MAX_PENDING 32

struct pending {
	uint8_t token[STREAM_MAX_PENDING];
	unsigned int count;
};

struct stream {
	uint8_t *code;
	size_t size, capacity;
	bool failed, one_channel;
	/* what the 64 registers hold when the next instruction is decoded */
	struct npu_td registers[NPU_TD_COUNT];
	bool valid[NPU_TD_COUNT];
	uint64_t used[NPU_TD_COUNT];
	uint64_t clock;
	struct pending needs[NPU_ENGINE_COUNT];
	size_t last[NPU_ENGINE_COUNT]; /* offset of the engine's newest instruction */
	bool has_last[NPU_ENGINE_COUNT];
};

const struct npu_td stream_scalar;

struct stream *stream_new(void)
{
	return calloc(1, sizeof(struct stream));
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	free(stream->code);
	free(stream);
}

void stream_one_channel(struct stream *stream)
{
	stream->one_channel = true;
}

static enum npu_engine stream_engine(const struct stream *stream, enum npu_engine engine)
{
	return engine == NPU_ENGINE_DMA1 && stream->one_channel ? NPU_ENGINE_DMA0 : engine;
}

bool stream_failed(const struct stream *stream)
{
	return stream->failed;
}

const void *stream_bytes(const struct stream *stream, size_t *size)
{
	*size = stream->size;
	return stream->code;
}

/* ------------------------------------------------------------------ operands */
static struct npu_td td_tensor(enum npu_space space, unsigned int argument, int64_t offset,
			       enum npu_dtype dtype, const uint32_t dims[4],
			       const int64_t strides[4])
{
	const int64_t limit = (int64_t)1 << (NPU_TD_ADDRESS_BITS - 1);
	struct npu_td td = { 0 };
	bool good = argument < NPU_ARG_COUNT && offset >= -limit && offset < limit;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		/* A dim of one never steps: 0 makes equal operands look equal. */
		int64_t stride = dims[i] == 1 && i < 3 ? 0 : strides[i];

		good = good && dims[i] >= 1 && dims[i] <= UINT16_MAX;
		good = good && stride >= INT32_MIN && stride <= INT32_MAX;
		td.dim[i] = htole16((uint16_t)dims[i]);
		td.stride[i] = htole32((uint32_t)(int32_t)stride);
	}
	td.word0 = htole64(
		((uint64_t)offset & NPU_TD_ADDRESS_MASK) | (uint64_t)argument << NPU_TD_ARG_SHIFT |
		(uint64_t)space << NPU_TD_SPACE_SHIFT | (uint64_t)dtype << NPU_TD_DTYPE_SHIFT);
	/* No dim may be 0, so this is how the stream learns of an operand that cannot be. */
	if (!good)
		td.dim[3] = 0;
	return td;
}

struct npu_td td_dram(unsigned int argument, int64_t offset, enum npu_dtype dtype,
		      const uint32_t dims[4], const int64_t strides[4])
{
	if (argument == STREAM_ARGUMENT_GLOBAL)
		return td_tensor(NPU_SPACE_GLOBAL, 0, offset, dtype, dims, strides);
	return td_tensor(NPU_SPACE_DRAM, argument, offset, dtype, dims, strides);
}

struct npu_td td_local(uint32_t offset, enum npu_dtype dtype, const uint32_t dims[4],
		       const int64_t strides[4])
{
	return td_tensor(NPU_SPACE_LOCAL, 0, offset, dtype, dims, strides);
}

struct npu_td td_global(uint32_t offset, enum npu_dtype dtype, const uint32_t dims[4],
			const int64_t strides[4])
{
	return td_tensor(NPU_SPACE_GLOBAL, 0, offset, dtype, dims, strides);
}

struct npu_td td_local_dense(uint32_t offset, enum npu_dtype dtype, uint32_t d0, uint32_t d1,
			     uint32_t d2, uint32_t d3)
{
	int64_t element = NPU_DTYPE_BYTES(dtype);
	uint32_t dims[4] = { d0, d1, d2, d3 };
	int64_t strides[4] = { element * d3 * d2 * d1, element * d3 * d2, element * d3, element };

	return td_local(offset, dtype, dims, strides);
}

struct npu_td td_zero(struct npu_td td, int32_t zero)
{
	uint64_t bits = (uint64_t)((uint32_t)zero & NPU_TD_ZERO_MASK) << NPU_TD_ZERO_SHIFT;

	td.word0 |= htole64(bits);
	return td;
}

struct npu_td td_from_window(const struct npu_window *window)
{
	struct npu_td td;

	_Static_assert(sizeof(*window) == sizeof(td), "a window fills one descriptor register");
	memcpy(&td, window, sizeof(td));
	return td;
}

struct npu_td td_from_stage(const struct npu_stage *stage)
{
	struct npu_td td;

	_Static_assert(sizeof(*stage) == sizeof(td), "a stage fills one descriptor register");
	memcpy(&td, stage, sizeof(td));
	return td;
}

/* ------------------------------------------------------------------- emission */
static bool stream_reserve(struct stream *stream, size_t bytes)
{
	size_t capacity = stream->capacity ? stream->capacity : 4096;
	uint8_t *code;

	if (stream->size + bytes <= stream->capacity)
		return true;
	while (capacity < stream->size + bytes)
		capacity *= 2;
	if (capacity > STREAM_MAX_BYTES)
		return false;
	code = realloc(stream->code, capacity);
	if (!code)
		return false;
	stream->code = code;
	stream->capacity = capacity;
	return true;
}

/* Returns the offset of what was appended; meaningless once the stream failed. */
static size_t stream_append(struct stream *stream, const void *bytes, size_t size)
{
	size_t offset = stream->size;

	if (stream->failed)
		return 0;
	if (!stream_reserve(stream, size)) {
		stream->failed = true;
		return 0;
	}
	memcpy(stream->code + offset, bytes, size);
	stream->size += size;
	return offset;
}

static void stream_load(struct stream *stream, unsigned int reg, const struct npu_td *td)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_LDTD,
		.dst = (uint8_t)reg,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};

	stream_append(stream, &insn, sizeof(insn));
	stream_append(stream, td, sizeof(*td));
}

static void stream_tdset(struct stream *stream, unsigned int reg, enum npu_tdset field,
			 uint32_t number)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_TDSET,
		.subop = (uint8_t)field,
		.dst = (uint8_t)reg,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm32 = htole32(number),
	};

	stream_append(stream, &insn, sizeof(insn));
}

static int64_t td_address(const struct npu_td *td)
{
	uint64_t raw = le64toh(td->word0) & NPU_TD_ADDRESS_MASK;

	return (int64_t)(raw << (64 - NPU_TD_ADDRESS_BITS)) >> (64 - NPU_TD_ADDRESS_BITS);
}

/* Same tensor but for its address, which one TDSET changes. */
static bool td_differs_by_address(const struct npu_td *a, const struct npu_td *b)
{
	int64_t distance = td_address(b) - td_address(a);

	return distance >= INT32_MIN && distance <= INT32_MAX &&
	       !((le64toh(a->word0) ^ le64toh(b->word0)) & ~NPU_TD_ADDRESS_MASK) &&
	       !memcmp(a->dim, b->dim, sizeof(a->dim)) &&
	       !memcmp(a->stride, b->stride, sizeof(a->stride));
}

enum operand_kind {
	OPERAND_TENSOR,
	OPERAND_OTHER,
};

/* The register that holds @td, loading or adjusting one where none does. */
static uint8_t stream_register(struct stream *stream, const struct npu_td *td,
			       enum operand_kind kind)
{
	unsigned int i, oldest = 0, walking = NPU_TD_COUNT;
	unsigned int reg;

	stream->clock++;
	if (kind == OPERAND_TENSOR && !td->dim[3]) {
		stream->failed = true;
		return 0;
	}
	for (i = 0; i < NPU_TD_COUNT; i++) {
		if (!stream->valid[i]) {
			if (stream->valid[oldest] || i == 0)
				oldest = i;
			continue;
		}
		if (!memcmp(&stream->registers[i], td, sizeof(*td))) {
			stream->used[i] = stream->clock;
			return (uint8_t)i;
		}
		if (stream->valid[oldest] && stream->used[i] < stream->used[oldest])
			oldest = i;
		if (kind == OPERAND_TENSOR && stream->used[i] + STREAM_RECENT < stream->clock &&
		    td_differs_by_address(&stream->registers[i], td) &&
		    (walking == NPU_TD_COUNT || stream->used[i] > stream->used[walking]))
			walking = i;
	}
	if (walking != NPU_TD_COUNT) {
		reg = walking;
		stream_tdset(stream, reg, NPU_TDSET_ADD_ADDRESS,
			     (uint32_t)(td_address(td) - td_address(&stream->registers[reg])));
	} else {
		reg = oldest;
		stream_load(stream, reg, td);
	}
	stream->registers[reg] = *td;
	stream->valid[reg] = true;
	stream->used[reg] = stream->clock;
	return (uint8_t)reg;
}

static void stream_forget_registers(struct stream *stream)
{
	memset(stream->valid, 0, sizeof(stream->valid));
	memset(stream->used, 0, sizeof(stream->used));
}

/*
 * Put @count of the engine's pending waits into @insn. The same counter twice in
 * one instruction is left to a SYNC, so that nobody has to define what it means.
 */
static void stream_take_waits(struct pending *needs, struct npu_insn *insn)
{
	unsigned int taken = 0, i, kept = 0;

	for (i = 0; i < needs->count; i++) {
		uint8_t token = needs->token[i];

		if (taken < 2 && !(taken == 1 && insn->wait[0] == token))
			insn->wait[taken++] = token;
		else
			needs->token[kept++] = token;
	}
	needs->count = kept;
}

static struct npu_insn stream_sync(enum npu_engine engine)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_SYNC,
		.subop = (uint8_t)engine,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};

	return insn;
}

static bool needs_fit_one(const struct pending *needs)
{
	return needs->count <= 1 || (needs->count == 2 && needs->token[0] != needs->token[1]);
}

static void stream_emit(struct stream *stream, enum npu_engine engine, struct npu_insn *insn)
{
	struct pending *needs = &stream->needs[engine];

	while (!needs_fit_one(needs)) {
		struct npu_insn sync = stream_sync(engine);

		stream_take_waits(needs, &sync);
		stream_append(stream, &sync, sizeof(sync));
	}
	stream_take_waits(needs, insn);
	stream->last[engine] = stream_append(stream, insn, sizeof(*insn));
	stream->has_last[engine] = !stream->failed;
}

/* -------------------------------------------------------------------- tokens */
void stream_need(struct stream *stream, enum npu_engine engine, unsigned int token)
{
	struct pending *needs = &stream->needs[stream_engine(stream, engine)];

	if (token > NPU_TOKEN_ID_MASK || needs->count == STREAM_MAX_PENDING) {
		stream->failed = true;
		return;
	}
	needs->token[needs->count++] = NPU_TOKEN(token);
}

void stream_give(struct stream *stream, enum npu_engine engine, unsigned int token)
{
	struct npu_insn *insn, sync;
	unsigned int i;

	engine = stream_engine(stream, engine);
	if (token > NPU_TOKEN_ID_MASK)
		stream->failed = true;
	if (stream->failed)
		return;
	if (stream->has_last[engine] && !stream->needs[engine].count) {
		insn = (struct npu_insn *)(void *)(stream->code + stream->last[engine]);
		for (i = 0; i < 2; i++) {
			if (insn->release[i])
				continue;
			/* Twice the same counter in one instruction: see stream_take_waits(). */
			if (i == 1 && insn->release[0] == NPU_TOKEN(token))
				break;
			insn->release[i] = NPU_TOKEN(token);
			return;
		}
	}
	sync = stream_sync(engine);
	sync.release[0] = NPU_TOKEN(token);
	stream_emit(stream, engine, &sync);
}

/* -------------------------------------------------------------- instructions */
void stream_dma(struct stream *stream, unsigned int channel, const struct npu_td *dst,
		const struct npu_td *src, uint16_t multicast)
{
	enum npu_engine engine =
		stream_engine(stream, channel & 1 ? NPU_ENGINE_DMA1 : NPU_ENGINE_DMA0);
	struct npu_insn insn = {
		.opcode = NPU_OP_DMA,
		.subop = engine == NPU_ENGINE_DMA1,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm16 = htole16(multicast),
	};

	insn.dst = stream_register(stream, dst, OPERAND_TENSOR);
	insn.src[0] = stream_register(stream, src, OPERAND_TENSOR);
	stream_emit(stream, engine, &insn);
}

void stream_mac(struct stream *stream, uint8_t subop, const struct npu_td *activations,
		const struct npu_td *weights, const struct npu_window *window,
		uint16_t first_position, uint32_t channels)
{
	struct npu_td td = td_from_window(window);
	struct npu_insn insn = {
		.opcode = NPU_OP_MAC,
		.subop = subop,
		.dst = NPU_TD_NONE,
		.imm16 = htole16(first_position),
		.imm32 = htole32(channels),
	};

	insn.src[0] = stream_register(stream, activations, OPERAND_TENSOR);
	insn.src[1] = stream_register(stream, weights, OPERAND_TENSOR);
	insn.src[2] = stream_register(stream, &td, OPERAND_OTHER);
	stream_emit(stream, NPU_ENGINE_MAC, &insn);
}

void stream_out(struct stream *stream, uint8_t subop, const struct npu_td *dst,
		const struct npu_td *parameters, const struct npu_stage *stage,
		const struct npu_td *residual, uint16_t first_position)
{
	struct npu_td td = td_from_stage(stage);
	struct npu_insn insn = {
		.opcode = NPU_OP_OUT,
		.subop = subop,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm16 = htole16(first_position),
	};

	insn.dst = stream_register(stream, dst, OPERAND_TENSOR);
	if (parameters)
		insn.src[0] = stream_register(stream, parameters, OPERAND_TENSOR);
	insn.src[1] = stream_register(stream, &td, OPERAND_OTHER);
	if (residual)
		insn.src[2] = stream_register(stream, residual, OPERAND_TENSOR);
	stream_emit(stream, NPU_ENGINE_OUT, &insn);
}

static uint8_t stream_vec_operand(struct stream *stream, const struct npu_td *td)
{
	if (!td)
		return NPU_TD_NONE;
	if (td == STREAM_SCALAR)
		return NPU_TD_IMMEDIATE;
	return stream_register(stream, td, OPERAND_TENSOR);
}

void stream_vec(struct stream *stream, enum npu_vec function, const struct npu_td *dst,
		const struct npu_td *a, const struct npu_td *b, const struct npu_td *c,
		uint16_t reduce, float scalar)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_VEC,
		.subop = (uint8_t)function,
		.imm16 = htole16(reduce),
	};
	uint32_t bits = 0;

	/* Unused immediates are zero: the field is reserved then. */
	if (a == STREAM_SCALAR || b == STREAM_SCALAR || c == STREAM_SCALAR)
		memcpy(&bits, &scalar, sizeof(bits));
	insn.imm32 = htole32(bits);
	insn.dst = stream_vec_operand(stream, dst);
	insn.src[0] = stream_vec_operand(stream, a);
	insn.src[1] = stream_vec_operand(stream, b);
	insn.src[2] = stream_vec_operand(stream, c);
	stream_emit(stream, NPU_ENGINE_VECTOR, &insn);
}

void stream_layout(struct stream *stream, const struct npu_td *dst, const struct npu_td *src)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_LAYOUT,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};

	insn.dst = stream_register(stream, dst, OPERAND_TENSOR);
	insn.src[0] = stream_register(stream, src, OPERAND_TENSOR);
	stream_emit(stream, NPU_ENGINE_LAYOUT, &insn);
}

void stream_mark(struct stream *stream, enum npu_engine engine, uint32_t index)
{
	struct npu_insn insn = {
		.opcode = NPU_OP_MARK,
		.subop = (uint8_t)engine,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm32 = htole32(index),
	};

	stream_emit(stream, engine, &insn);
}

void stream_wait(struct stream *stream)
{
	struct npu_insn sync = stream_sync(NPU_ENGINE_FRONT);

	if (stream->needs[NPU_ENGINE_FRONT].count)
		stream_emit(stream, NPU_ENGINE_FRONT, &sync);
}

/* Waits nobody took yet must not be lost when the front end itself acts. */
static void stream_flush_needs(struct stream *stream)
{
	unsigned int engine;

	for (engine = NPU_ENGINE_DMA0; engine < NPU_ENGINE_COUNT; engine++) {
		if (stream->needs[engine].count) {
			struct npu_insn sync = stream_sync(engine);

			stream_emit(stream, engine, &sync);
		}
	}
}

static size_t stream_front(struct stream *stream, enum npu_opcode opcode, uint32_t immediate)
{
	struct npu_insn insn = {
		.opcode = (uint8_t)opcode,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
		.imm32 = htole32(immediate),
	};

	stream_flush_needs(stream);
	stream_emit(stream, NPU_ENGINE_FRONT, &insn);
	/* A release belongs to SYNCs of the front end, never to these. */
	stream->has_last[NPU_ENGINE_FRONT] = false;
	return stream->last[NPU_ENGINE_FRONT];
}

size_t stream_barrier(struct stream *stream)
{
	return stream_front(stream, NPU_OP_BARRIER, 0);
}

size_t stream_point(struct stream *stream)
{
	size_t offset = stream_front(stream, NPU_OP_POINT, 0);

	/* What comes before may be done once and for all: it must not be patched afterwards. */
	memset(stream->has_last, 0, sizeof(stream->has_last));
	return offset;
}

void stream_set_point(struct stream *stream, size_t offset, uint32_t table)
{
	struct npu_insn *insn = (struct npu_insn *)(void *)(stream->code + offset);

	if (!stream->failed)
		insn->imm32 = htole32(table);
}

void stream_end(struct stream *stream)
{
	stream_front(stream, NPU_OP_END, 0);
}

/* What is before a loop's edge must not be patched by what comes after it. */
static void stream_loop_edge(struct stream *stream)
{
	stream_forget_registers(stream);
	memset(stream->has_last, 0, sizeof(stream->has_last));
}

void stream_loop(struct stream *stream, uint32_t count)
{
	if (!count || count > NPU_LOOP_MAX_COUNT)
		stream->failed = true;
	stream_front(stream, NPU_OP_LOOP, count);
	stream_loop_edge(stream);
}

void stream_end_loop(struct stream *stream)
{
	stream_front(stream, NPU_OP_ENDLOOP, 0);
	stream_loop_edge(stream);
}
