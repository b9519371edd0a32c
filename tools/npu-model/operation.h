/* SPDX-License-Identifier: MIT */
/*
 * A decoded, validated instruction with everything its execution and its timing need.
 *
 * Device manual: Documentation/hardware/isa.rst says which encodings are legal,
 * Documentation/hardware/timing.rst where the figures come from. What npu_operation_decode()
 * accepts stays inside local SRAM and accumulators when it is executed; what it leaves to the
 * caller is said at struct npu_operation.
 */
#ifndef NPU_MODEL_OPERATION_H
#define NPU_MODEL_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "npu/npu_isa.h"
#include "npu/npu_packet.h"

/* Elements one operation may touch (destination, or source of a reduction); more is refused. */
#define NPU_OPERATION_ELEMENTS_MAX	(1ull << 24)
#define NPU_OPERATION_DMA_ELEMENTS_MAX	(1ull << 26)

enum npu_operand_kind {
	NPU_OPERAND_NONE = 0,
	NPU_OPERAND_IMMEDIATE,	/* vector unit: struct npu_operation, member immediate */
	NPU_OPERAND_TENSOR,	/* all of struct npu_tensor */
	NPU_OPERAND_ADDRESS,	/* offset only: tables and channel parameters */
};

/* A tensor operand. Strides are bytes; dimension 3 is innermost. */
struct npu_tensor {
	uint8_t kind;		/* enum npu_operand_kind */
	uint8_t space;		/* enum npu_space */
	uint8_t argument;	/* argument register, DRAM only */
	uint8_t dtype;		/* enum npu_dtype */
	uint8_t element_bytes;
	int32_t zero;		/* zero point of int8 and uint8, else 0 */
	int64_t offset;		/* DRAM: signed, from the argument; else from the start of the space */
	uint32_t dim[4];
	int64_t stride[4];	/* a dimension that repeats (size 1 against the operation's) has 0 */
	int64_t low, high;	/* bytes touched: offset + low .. offset + high - 1 */
};

struct npu_mac_operands {
	uint8_t shape;			/* NPU_MAC_SHAPE_* */
	uint8_t half;			/* accumulator half */
	bool resume;
	uint8_t sum;			/* NPU_OUT_SUM_*: what the accumulators hold */
	uint32_t first_position;
	uint32_t positions;		/* out_height * out_width */
	uint32_t channels;		/* output channels */
	uint32_t depth;			/* lanes of a step; V: 1 */
	uint32_t steps;			/* V: taps */
	uint32_t k;			/* lanes that count: kernel_height * kernel_width * C; V: taps */
	uint32_t out_height, out_width;
	uint32_t kernel_height, kernel_width;
	uint32_t stride_y, stride_x, dilation_y, dilation_x;
	int32_t origin_y, origin_x;
};

struct npu_out_operands {
	uint8_t half;
	uint8_t sum;			/* NPU_OUT_SUM_* */
	bool integer_path;
	uint8_t activation;		/* enum npu_activation */
	uint8_t flags;			/* NPU_STAGE_* */
	uint8_t residual_shift;
	uint16_t residual_multiplier;
	uint32_t clamp_low, clamp_high;	/* fp32 bits or int32 */
	uint32_t table_address, scale_address;
	uint32_t first_position;
	uint32_t positions, channels;
};

struct npu_vec_operands {
	uint32_t immediate;		/* fp32 bits */
	uint8_t reduced;		/* bit d: dimension d is reduced */
	bool byte_table;		/* NPU_VEC_TABLE: 256 bytes rather than struct npu_table */
	uint32_t count;			/* elements reduced into one result */
	uint32_t dim[4];		/* the operation's own: destination's, or source's in reductions */
};

struct npu_dma_operands {
	uint8_t channel;		/* 0 or 1 */
	uint16_t multicast;		/* clusters of the gang that receive it; 0: the own one */
	uint64_t elements, bytes;
	bool layout;			/* layout mode, see timing.rst */
};

/*
 * Left to the caller: tokens, loops, loading and setting descriptors, and of a DMA all that is
 * outside local SRAM: translation, the window's bounds, counting of bursts, `work` (of which
 * this holds the part without the DRAM: max(1, ceil(bytes, rate))).
 */
struct npu_operation {
	uint8_t opcode;			/* enum npu_opcode */
	uint8_t subop;
	uint8_t engine;			/* enum npu_engine */
	uint8_t wait[2], release[2];	/* 0 or NPU_TOKEN(n), as encoded */
	uint8_t target;			/* LDTD, TDSET: register */
	uint16_t imm16;
	uint32_t imm32;

	/*
	 * dst and src as in the instruction, except: MAC has no dst, src[2] is in `mac`; OUT's
	 * src[1] is in `out`; EXPSUM's and REDUCE_SUMSQ's second destination is src[2].
	 */
	struct npu_tensor dst, src[3];
	union {
		struct npu_mac_operands mac;
		struct npu_out_operands out;
		struct npu_vec_operands vec;
		struct npu_dma_operands dma;
	};

	/* timing.rst */
	uint64_t work;			/* W; 0 for instructions the front end executes itself */
	uint32_t start, tail;
	uint64_t weight_load;		/* L, MAC only */
	uint64_t local_read;		/* bytes, weights of the MAC array not included */
	uint64_t local_write;
	uint64_t macs;			/* useful multiply-accumulates */
};

/**
 * npu_operation_decode - check an instruction and its descriptors, compute its figures
 * @config: configuration
 * @insn: instruction
 * @tds: the cluster's NPU_TD_COUNT descriptor registers as they are at decode
 * @out: filled in on success, undefined otherwise
 * @error: receives enum npu_error on failure: ILLEGAL_INSTRUCTION, BAD_DESCRIPTOR, LOCAL_RANGE,
 *         ACCUMULATOR_RANGE or LOOP
 * @detail: receives the offset in local SRAM for LOCAL_RANGE (its low 56 bits), else 0
 *
 * Every opcode is decoded, those of the front end too (engine NPU_ENGINE_FRONT; SYNC and MARK
 * name the engine they go to, and have work 1).
 *
 * Return: 0, or -1 with @error and @detail.
 * Thread safety: any thread, no shared state.
 * Manual: isa.rst.
 */
int npu_operation_decode(const struct npu_config *config, const struct npu_insn *insn,
			 const struct npu_td tds[NPU_TD_COUNT], struct npu_operation *out,
			 uint32_t *error, uint64_t *detail);

/** npu_operation_word - the first four bytes of the instruction, as struct npu_fault has them */
static inline uint32_t npu_operation_word(const struct npu_operation *operation)
{
	return operation->opcode | (uint32_t)operation->subop << 8 |
	       (uint32_t)operation->wait[0] << 16 | (uint32_t)operation->wait[1] << 24;
}

/**
 * npu_td_set - execute TDSET on a descriptor register
 * @td: register
 * @operation: decoded TDSET
 *
 * The result is not checked: instructions that use the descriptor do that.
 */
void npu_td_set(struct npu_td *td, const struct npu_operation *operation);

/**
 * npu_dtype_name - "int8", ...; NULL for what is no enum npu_dtype
 */
const char *npu_dtype_name(unsigned int dtype);

#endif /* NPU_MODEL_OPERATION_H */
