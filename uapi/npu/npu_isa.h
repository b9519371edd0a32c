/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The cluster's instruction set: instructions, tensor descriptors, tokens.
 *
 * Authority: Documentation/hardware/isa.rst. Device model, firmware, compiler,
 * assembler and disassembler include this file; no encoding is written twice.
 *
 * All multi-byte fields are little endian. Reserved fields must be zero; an
 * instruction or a descriptor with a reserved bit set is an illegal instruction.
 */
#ifndef NPU_ISA_H
#define NPU_ISA_H

#include <linux/types.h>

/* ---------------------------------------------------------------- data types */
enum npu_dtype {
	NPU_DTYPE_INT8 = 0,
	NPU_DTYPE_UINT8 = 1,
	NPU_DTYPE_INT16 = 2,
	NPU_DTYPE_INT32 = 3,
	NPU_DTYPE_FP16 = 4,
	NPU_DTYPE_FP32 = 5,
	NPU_DTYPE_COUNT
};

/* Bytes an element, indexed by enum npu_dtype. */
#define NPU_DTYPE_BYTES(dtype) \
	((dtype) <= NPU_DTYPE_UINT8 ? 1u : \
	 ((dtype) == NPU_DTYPE_INT16 || (dtype) == NPU_DTYPE_FP16) ? 2u : 4u)

/* ------------------------------------------------------------- address spaces */
enum npu_space {
	NPU_SPACE_DRAM = 0,	/* virtual address: argument register + offset */
	NPU_SPACE_GLOBAL = 1,	/* offset in the task's window of global SRAM */
	NPU_SPACE_LOCAL = 2,	/* offset in the cluster's own local SRAM */
};

/*
 * Argument registers: the command processor loads them from the EXEC packet's
 * argument array before the first instruction. The compiler's convention:
 */
#define NPU_ARG_COUNT		32
#define NPU_ARG_WEIGHTS		0	/* .rodata of the model */
#define NPU_ARG_SCRATCH		1	/* .bss of the model */
#define NPU_ARG_FIRST_IO	2	/* inputs in order, then outputs in order */
#define NPU_ARG_SAVE		30	/* where a preempted task is kept, when EXEC says so */
#define NPU_ARG_PROFILE		31	/* area MARK writes to, when EXEC says so */

/* --------------------------------------------------------- tensor descriptors */
#define NPU_TD_COUNT		64	/* registers a cluster */
#define NPU_TD_BYTES		32
#define NPU_TD_NONE		0xff	/* "no operand" in an instruction's operand byte */
#define NPU_TD_IMMEDIATE	0xfe	/* vector unit: the operand is imm32 (an fp32) broadcast */

/*
 * Tensor format. Logical element [i0][i1][i2][i3] is at
 * base + i0*stride[0] + i1*stride[1] + i2*stride[2] + i3*stride[3] bytes; dim[3]
 * is the innermost. Dims are 1..65535; unused outer dims are 1. Strides are bytes,
 * signed; 0 repeats (broadcasts).
 */
struct npu_td {
	__le64 word0;		/* see NPU_TD_* shifts */
	__le16 dim[4];
	__le32 stride[4];	/* two's complement */
};

#define NPU_TD_ADDRESS_BITS	40	/* [39:0] byte offset (two's complement for DRAM) */
#define NPU_TD_ADDRESS_MASK	((1ull << NPU_TD_ADDRESS_BITS) - 1)
#define NPU_TD_ARG_SHIFT	40	/* [44:40] argument register, DRAM only */
#define NPU_TD_ARG_MASK		0x1full
#define NPU_TD_SPACE_SHIFT	46	/* [47:46] enum npu_space */
#define NPU_TD_SPACE_MASK	0x3ull
#define NPU_TD_DTYPE_SHIFT	48	/* [51:48] enum npu_dtype */
#define NPU_TD_DTYPE_MASK	0xfull
#define NPU_TD_ZERO_SHIFT	56	/* [63:56] zero point of int8/uint8, in the type's own range */
#define NPU_TD_ZERO_MASK	0xffull
#define NPU_TD_RESERVED		((1ull << 45) | (0xfull << 52))

/*
 * Window format (MAC source 2): how output positions and kernel taps walk the
 * activation tensor (dims [batch=1][height][width][channels]). Position (y, x)
 * and tap (ky, kx) read row y*stride_y + ky*dilation_y + origin_y and column
 * x*stride_x + kx*dilation_x + origin_x; outside the tensor the operand is zero
 * (the zero point), which is how padding is done.
 */
struct npu_window {
	__le16 out_height, out_width;	/* positions of this pass, row major */
	__le16 kernel_height, kernel_width;
	__le16 stride_y, stride_x;	/* 1.. */
	__le16 dilation_y, dilation_x;	/* 1.. */
	__le16 origin_y, origin_x;	/* two's complement */
	__le32 reserved[3];
};

/*
 * Output-stage format (OUT source 1).
 * fp path: v = acc * scale[c] + bias[c] (each step rounded to fp32), where the
 * per-channel pair comes from OUT source 0 (none: 1 and 0).
 * integer path: v = requantize(acc + bias[c], multiplier[c], shift[c]).
 */
enum npu_activation {
	NPU_ACTIVATION_NONE = 0,
	NPU_ACTIVATION_CLAMP = 1,	/* to [clamp_low, clamp_high] */
	NPU_ACTIVATION_TABLE = 2,	/* struct npu_table at table_address */
	NPU_ACTIVATION_CURVE = 3,	/* struct npu_curve there; not on the integer path */
};

#define NPU_STAGE_RESIDUAL_BEFORE	(1u << 0)	/* add source 2 before the activation */
#define NPU_STAGE_RESIDUAL_AFTER	(1u << 1)	/* ... after it */
#define NPU_STAGE_POSITION_SCALE	(1u << 2)	/* multiply by an fp32 a position, first of all */
#define NPU_STAGE_FLAGS_ALL		0x7u

struct npu_stage {
	__u8 activation;
	__u8 flags;
	__u8 residual_shift;	/* integer path: residual requantized by multiplier, shift */
	__u8 reserved0;
	__le32 clamp_low;	/* fp32 bits, or int32 in quantized units */
	__le32 clamp_high;
	__le32 table_address;	/* local SRAM, 16-byte aligned */
	__le32 scale_address;	/* local SRAM: fp32 a position */
	__le16 residual_multiplier;
	__le16 reserved1;
	__le32 reserved2[2];
};

/* Per-channel parameters in local SRAM, 8 bytes a channel. */
struct npu_channel_fp {
	__le32 bias;		/* fp32 bits */
	__le32 scale;		/* fp32 bits */
};

struct npu_channel_int {
	__le32 bias;
	__le16 multiplier;	/* unsigned 16 bit */
	__u8 shift;		/* 0..62, right shift of the 64-bit product */
	__u8 reserved;
};

/*
 * Function table for fp (output stage and vector unit): 256 segments with linear
 * interpolation. u = (x - low) * inverse_step; u < 0 or NaN: x*left_slope +
 * left_offset (NaN stays NaN); u >= 256: x*right_slope + right_offset; else
 * i = floor(u), y = base[i] + (u - i) * delta[i]; all in fp32, each operation rounded.
 * A left or right slope of 0 gives the offset alone, for infinite x too.
 * For int8/uint8 the table is 256 bytes indexed by the value's own bits.
 */
struct npu_table {
	__le32 low, inverse_step;
	__le32 left_slope, left_offset;
	__le32 right_slope, right_offset;
	__le32 reserved[2];
	struct {
		__le32 base, delta;
	} segment[256];
};

/*
 * The same with parabolas for the output stage's fp path: f = u - i,
 * y = base[i] + f * (delta[i] + f * curve[i]).
 */
struct npu_curve {
	__le32 low, inverse_step;
	__le32 left_slope, left_offset;
	__le32 right_slope, right_offset;
	__le32 reserved[2];
	struct {
		__le32 base, delta, curve;
	} segment[256];
};

/* ----------------------------------------------------------------- instructions */
/* Operand bytes an instruction does not use hold NPU_TD_NONE; all else it does not use is 0. */
struct npu_insn {
	__u8 opcode;		/* enum npu_opcode */
	__u8 subop;
	__u8 wait[2];		/* 0, or NPU_TOKEN(n): taken (both at once) before the start */
	__u8 release[2];	/* 0, or NPU_TOKEN(n): incremented at completion */
	__u8 dst;		/* tensor-descriptor register, or NPU_TD_NONE */
	__u8 src[3];
	__le16 imm16;
	__le32 imm32;
};

#define NPU_INSN_BYTES		16

/*
 * Tokens: counters 0..15. 0..31 belong to the cluster, 32..63 to the gang. All
 * are zero when a task starts. Incrementing one that holds 15 is a fault. A
 * multicast DMA that releases a local token increments that token in every
 * destination cluster (and in no other).
 */
#define NPU_TOKEN_VALID		0x80u
#define NPU_TOKEN_ID_MASK	0x3fu
#define NPU_TOKEN(n)		((__u8)(NPU_TOKEN_VALID | ((n) & NPU_TOKEN_ID_MASK)))
#define NPU_TOKEN_LOCAL_COUNT	32
#define NPU_TOKEN_SHARED_COUNT	32
#define NPU_TOKEN_MAX		15

/* Engines of a cluster: who executes an instruction, in its own order. */
enum npu_engine {
	NPU_ENGINE_FRONT = 0,	/* executed by the front end itself, tokens too */
	NPU_ENGINE_DMA0 = 1,
	NPU_ENGINE_DMA1 = 2,
	NPU_ENGINE_MAC = 3,
	NPU_ENGINE_OUT = 4,
	NPU_ENGINE_VECTOR = 5,
	NPU_ENGINE_LAYOUT = 6,
	NPU_ENGINE_COUNT
};

#define NPU_ENGINE_QUEUE_DEPTH	8

enum npu_opcode {
	NPU_OP_ILLEGAL = 0x00,
	NPU_OP_END = 0x01,	/* waits for all engines of the cluster, ends its stream */
	NPU_OP_LDTD = 0x02,	/* register dst = the 32 bytes (two slots) that follow */
	NPU_OP_TDSET = 0x03,	/* change one field of register dst; subop enum npu_tdset */
	NPU_OP_LOOP = 0x04,	/* imm32 = trip count, 1..2^20 */
	NPU_OP_ENDLOOP = 0x05,
	NPU_OP_SYNC = 0x06,	/* subop = engine; does nothing but wait and release */
	NPU_OP_BARRIER = 0x07,	/* waits for all engines, then for all clusters of the gang;
				 * imm32 = offset of a struct npu_point, or 0 */
	NPU_OP_MARK = 0x08,	/* subop = engine; imm32 = mark index: time stamp to the profile area */
	NPU_OP_POINT = 0x09,	/* a BARRIER for a task that is to leave here, nothing for others;
				 * imm32 = offset of a struct npu_point */
	NPU_OP_DMA = 0x10,	/* subop bit 0: channel; dst, src0; imm16 = multicast mask or 0 */
	NPU_OP_MAC = 0x20,	/* subop NPU_MAC_*; src0 activations, src1 weights, src2 window */
	NPU_OP_OUT = 0x30,	/* subop NPU_OUT_*; dst, src0 channel parameters, src1 stage, src2 residual */
	NPU_OP_VEC = 0x40,	/* subop enum npu_vec; dst, src0, src1, src2 */
	NPU_OP_LAYOUT = 0x50,	/* dst, src0: element-wise copy by strides inside local SRAM */
};

enum npu_tdset {
	NPU_TDSET_ADD_ADDRESS = 0,	/* address += (int32)imm32 */
	NPU_TDSET_DIM = 1,		/* dim[imm16] = imm32 */
	NPU_TDSET_WINDOW_OUT = 2,	/* window: out_height = imm32 >> 16, out_width = imm32 & 0xffff */
	NPU_TDSET_WINDOW_ORIGIN = 3,	/* window: origin_y = imm32 >> 16, origin_x = imm32 & 0xffff */
};

#define NPU_LOOP_NESTING	4
#define NPU_LOOP_MAX_COUNT	(1u << 20)

/*
 * MAC. imm16 = first accumulator position; imm32 [7:0] = output channels of this
 * pass (1..array channels). Positions = out_height * out_width of the window.
 * Weights (src1) by shape, with array channels A (32) and depth D of the type:
 *   M, S: dims [1][steps][channels][depth]: stride[1] a depth step, stride[2] a
 *         channel, stride[3] the element size; K = kernel_height*kernel_width*C
 *         flattened (ky, kx, c), steps = ceil(K / D); lanes >= K add nothing.
 *   V:    dims [1][1][taps][channels]: stride[2] a tap, stride[3] the element size.
 */
#define NPU_MAC_SHAPE_MASK	0x03u
#define NPU_MAC_SHAPE_M		0u
#define NPU_MAC_SHAPE_S		1u
#define NPU_MAC_SHAPE_V		2u
#define NPU_MAC_RESUME		0x04u	/* add to the accumulators instead of starting at zero */
#define NPU_MAC_HALF		0x08u	/* accumulator half 1 */
#define NPU_MAC_SUBOP_ALL	0x0fu

/*
 * OUT. imm16 = first accumulator position; the destination's dims
 * [1][out_height][out_width][channels] say how many positions and channels.
 * imm32 is 0. Source 0: local address of npu_channel_fp/int[channels], or none.
 */
#define NPU_OUT_HALF		0x08u
#define NPU_OUT_SUM_FP		0x00u	/* accumulators hold fp32 sums */
#define NPU_OUT_SUM_INT32	0x01u
#define NPU_OUT_SUM_INT64	0x02u
#define NPU_OUT_SUM_MASK	0x03u
#define NPU_OUT_SUBOP_ALL	0x0bu

/*
 * VEC. dims are the destination's, except in reductions, where they are source 0's
 * and imm16 bit d says that dim d is reduced (it is 1 in the destination). A source's
 * dim is the destination's, or 1, which repeats as stride 0 does. imm32: scalar for
 * NPU_TD_IMMEDIATE, else 0.
 */
enum npu_vec {
	NPU_VEC_COPY = 0x00,	/* a; converts types */
	NPU_VEC_ADD = 0x01,	/* a + b */
	NPU_VEC_SUB = 0x02,
	NPU_VEC_MUL = 0x03,
	NPU_VEC_MAX = 0x04,
	NPU_VEC_MIN = 0x05,
	NPU_VEC_MULADD = 0x06,	/* a * b + c, rounded twice */
	NPU_VEC_EQUAL = 0x07,	/* 1 or 0 */
	NPU_VEC_GREATER = 0x08,
	NPU_VEC_SELECT = 0x09,	/* a != 0 ? b : c */
	NPU_VEC_CLAMP = 0x0a,	/* min(max(a, b), c) */
	NPU_VEC_ABS = 0x0b,
	NPU_VEC_FLOOR = 0x0c,
	NPU_VEC_ROUND = 0x0d,	/* half to even */
	NPU_VEC_TABLE = 0x0e,	/* table at src1's address */
	/* 32 elements a cycle at most */
	NPU_VEC_EXP = 0x10,
	NPU_VEC_RECIPROCAL = 0x11,
	NPU_VEC_RSQRT = 0x12,
	NPU_VEC_TANH = 0x13,
	NPU_VEC_ERF = 0x14,
	NPU_VEC_EXPSUM = 0x15,	/* dst = exp(a - b); src2 is a second destination: sum over dim 3 (fp32) */
	NPU_VEC_LOG = 0x16,
	/* reductions */
	NPU_VEC_REDUCE_SUM = 0x20,
	NPU_VEC_REDUCE_SUMSQ = 0x21,	/* dst = sum; src2 is a second destination: sum of squares (fp32) */
	NPU_VEC_REDUCE_MAX = 0x22,
	NPU_VEC_REDUCE_MEAN = 0x23,	/* sum * fp32(1/n), n = elements reduced */
	NPU_VEC_REDUCE_ARGMAX = 0x24,	/* dim 3 only; lowest index of the maximum; int32 */
};

#endif /* NPU_ISA_H */
