/* SPDX-License-Identifier: MIT */
/*
 * One cluster's instruction stream under construction.
 *
 * Callers think in operands (whole tensor descriptors), engines and tokens; the
 * stream keeps a model of the 64 descriptor registers and emits LDTD or TDSET only
 * where no register already holds the operand. Operands are copied at decode, so
 * reusing a register never disturbs an instruction emitted before.
 *
 * Tokens: stream_need() before an instruction, stream_give() after it. Each
 * instruction takes two waits and two releases; the stream adds SYNCs on the same
 * engine where more are asked for.
 *
 * Errors are sticky: after an allocation failure or an invalid operand the stream
 * ignores everything and stream_failed() says so. Not thread safe; one thread a stream.
 */
#ifndef NPUCC_EMIT_STREAM_H
#define NPUCC_EMIT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/npu_isa.h"

struct stream;

struct stream *stream_new(void);
void stream_free(struct stream *stream);

/* stream_one_channel - the device has one DMA channel: what goes to the other goes to it. */
void stream_one_channel(struct stream *stream);

bool stream_failed(const struct stream *stream);

/* stream_bytes - the code so far; *@size in bytes, a multiple of 16. */
const void *stream_bytes(const struct stream *stream, size_t *size);

/* ------------------------------------------------------------------ operands */
/*
 * Where a placement may say its memory is besides the argument registers: the task's
 * window of global SRAM. td_dram() with this argument is td_global().
 */
#define STREAM_ARGUMENT_GLOBAL	NPU_ARG_COUNT

/*
 * td_dram, td_local, td_global - a tensor descriptor with dims and strides (bytes),
 * outermost first; all four dims are given, unused outer ones are 1.
 */
struct npu_td td_dram(unsigned int argument, int64_t offset, enum npu_dtype dtype,
		      const uint32_t dims[4], const int64_t strides[4]);
struct npu_td td_local(uint32_t offset, enum npu_dtype dtype, const uint32_t dims[4],
		       const int64_t strides[4]);
struct npu_td td_global(uint32_t offset, enum npu_dtype dtype, const uint32_t dims[4],
			const int64_t strides[4]);

/* td_local_dense - local tensor, row major, no gaps. */
struct npu_td td_local_dense(uint32_t offset, enum npu_dtype dtype, uint32_t d0, uint32_t d1,
			     uint32_t d2, uint32_t d3);

/* td_zero - @td with the zero point of an int8 or uint8 tensor; 0 for every other type. */
struct npu_td td_zero(struct npu_td td, int32_t zero);

/* td_from_window, td_from_stage - the other two descriptor formats as register contents. */
struct npu_td td_from_window(const struct npu_window *window);
struct npu_td td_from_stage(const struct npu_stage *stage);

/* -------------------------------------------------------------------- tokens */
/* stream_need - the next instruction on @engine waits for @token (0..63). */
void stream_need(struct stream *stream, enum npu_engine engine, unsigned int token);

/* stream_give - the last instruction emitted on @engine releases @token. */
void stream_give(struct stream *stream, enum npu_engine engine, unsigned int token);

/* stream_wait - decode itself waits for what NPU_ENGINE_FRONT needs. */
void stream_wait(struct stream *stream);

/* -------------------------------------------------------------- instructions */
void stream_dma(struct stream *stream, unsigned int channel, const struct npu_td *dst,
		const struct npu_td *src, uint16_t multicast);
void stream_mac(struct stream *stream, uint8_t subop, const struct npu_td *activations,
		const struct npu_td *weights, const struct npu_window *window,
		uint16_t first_position, uint32_t channels);
/* @parameters and @residual may be NULL. */
void stream_out(struct stream *stream, uint8_t subop, const struct npu_td *dst,
		const struct npu_td *parameters, const struct npu_stage *stage,
		const struct npu_td *residual, uint16_t first_position);
/*
 * stream_vec - @b and @c may be NULL (no operand); @b or @c equal to STREAM_SCALAR is
 * the immediate @scalar. @reduce: mask of reduced dims. For EXPSUM and SUMSQ @c is the
 * second destination.
 */
extern const struct npu_td stream_scalar;
#define STREAM_SCALAR (&stream_scalar)
void stream_vec(struct stream *stream, enum npu_vec function, const struct npu_td *dst,
		const struct npu_td *a, const struct npu_td *b, const struct npu_td *c,
		uint16_t reduce, float scalar);
void stream_layout(struct stream *stream, const struct npu_td *dst, const struct npu_td *src);
void stream_mark(struct stream *stream, enum npu_engine engine, uint32_t index);
/* stream_barrier - returns the instruction's offset, for stream_set_point(). */
size_t stream_barrier(struct stream *stream);
/* stream_point - the same for a POINT, which has to be given its table. */
size_t stream_point(struct stream *stream);
/* stream_set_point - the BARRIER or POINT at @offset has its table at @table of the program. */
void stream_set_point(struct stream *stream, size_t offset, uint32_t table);
void stream_end(struct stream *stream);

/*
 * stream_loop, stream_end_loop - a counted loop. Inside, the register cache starts
 * empty and is emptied at the end, since contents differ from trip to trip.
 */
void stream_loop(struct stream *stream, uint32_t count);
void stream_end_loop(struct stream *stream);

#endif
