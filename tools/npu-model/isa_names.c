// SPDX-License-Identifier: MIT
/* Names of opcodes, operations, engines and types. See isa_text.h. */
#include "isa_text.h"

#include "npu/npu_isa.h"

#define NAME_OF(names, index) \
	((index) < sizeof(names) / sizeof((names)[0]) ? (names)[index] : NULL)

const char *npu_isa_opcode_name(unsigned int opcode)
{
	static const char *const names[] = {
		[NPU_OP_END] = "end",
		[NPU_OP_LDTD] = "ldtd",
		[NPU_OP_TDSET] = "tdset",
		[NPU_OP_LOOP] = "loop",
		[NPU_OP_ENDLOOP] = "endloop",
		[NPU_OP_SYNC] = "sync",
		[NPU_OP_BARRIER] = "barrier",
		[NPU_OP_POINT] = "point",
		[NPU_OP_MARK] = "mark",
		[NPU_OP_DMA] = "dma",
		[NPU_OP_MAC] = "mac",
		[NPU_OP_OUT] = "out",
		[NPU_OP_VEC] = "vec",
		[NPU_OP_LAYOUT] = "layout",
	};

	return NAME_OF(names, opcode);
}

const char *npu_isa_vec_name(unsigned int subop)
{
	static const char *const names[] = {
		[NPU_VEC_COPY] = "copy",
		[NPU_VEC_ADD] = "add",
		[NPU_VEC_SUB] = "sub",
		[NPU_VEC_MUL] = "mul",
		[NPU_VEC_MAX] = "max",
		[NPU_VEC_MIN] = "min",
		[NPU_VEC_MULADD] = "muladd",
		[NPU_VEC_EQUAL] = "equal",
		[NPU_VEC_GREATER] = "greater",
		[NPU_VEC_SELECT] = "select",
		[NPU_VEC_CLAMP] = "clamp",
		[NPU_VEC_ABS] = "abs",
		[NPU_VEC_FLOOR] = "floor",
		[NPU_VEC_ROUND] = "round",
		[NPU_VEC_TABLE] = "table",
		[NPU_VEC_EXP] = "exp",
		[NPU_VEC_RECIPROCAL] = "reciprocal",
		[NPU_VEC_RSQRT] = "rsqrt",
		[NPU_VEC_TANH] = "tanh",
		[NPU_VEC_ERF] = "erf",
		[NPU_VEC_EXPSUM] = "expsum",
		[NPU_VEC_LOG] = "log",
		[NPU_VEC_REDUCE_SUM] = "reduce_sum",
		[NPU_VEC_REDUCE_SUMSQ] = "reduce_sumsq",
		[NPU_VEC_REDUCE_MAX] = "reduce_max",
		[NPU_VEC_REDUCE_MEAN] = "reduce_mean",
		[NPU_VEC_REDUCE_ARGMAX] = "reduce_argmax",
	};

	return NAME_OF(names, subop);
}

const char *npu_isa_engine_name(unsigned int engine)
{
	static const char *const names[NPU_ENGINE_COUNT] = {
		"front", "dma0", "dma1", "mac", "out", "vector", "layout",
	};

	return NAME_OF(names, engine);
}

const char *npu_isa_dtype_name(unsigned int dtype)
{
	static const char *const names[NPU_DTYPE_COUNT] = {
		"int8", "uint8", "int16", "int32", "fp16", "fp32",
	};

	return NAME_OF(names, dtype);
}
