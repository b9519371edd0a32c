// SPDX-License-Identifier: MIT
/* Instruction decoder: LAYOUT and DMA. Manual: isa.rst and timing.rst, sections of these names. */
#include "operation_internal.h"

/* Both sides of a copy: same type, same dims, no more than `limit` elements. */
static int decode_sides(struct decoder *decoder, bool local, uint64_t limit)
{
	const struct npu_insn *insn = decoder->insn;
	struct npu_operation *out = decoder->out;

	if (decoder_unused(decoder, DECODER_SRC(1) | DECODER_SRC(2)))
		return -1;
	if (local) {
		if (decoder_local_tensor(decoder, insn->dst, &out->dst) ||
		    decoder_local_tensor(decoder, insn->src[0], &out->src[0]))
			return -1;
	} else if (decoder_tensor(decoder, insn->dst, &out->dst) ||
		   decoder_tensor(decoder, insn->src[0], &out->src[0])) {
		return -1;
	}
	if (out->dst.dtype != out->src[0].dtype || decoder_elements(out->dst.dim) > limit)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return decoder_repeat(decoder, &out->src[0], out->dst.dim);
}

int decode_layout(struct decoder *decoder)
{
	const struct npu_config *config = decoder->config;
	struct npu_operation *out = decoder->out;
	uint64_t bytes;

	out->engine = NPU_ENGINE_LAYOUT;
	if (out->subop || out->imm16 || out->imm32)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	if (decode_sides(decoder, true, NPU_OPERATION_ELEMENTS_MAX))
		return -1;
	bytes = decoder_elements(out->dst.dim) * out->dst.element_bytes;
	out->work = ceil_div(bytes, config->layout_bytes);
	out->start = config->layout_start;
	out->tail = config->layout_tail;
	out->local_read = bytes;
	out->local_write = bytes;
	return 0;
}

/* The dim of least stride, the last of several; dims of size 1 and repeated ones left out. */
static int innermost_dim(const struct npu_tensor *tensor)
{
	int64_t least = INT64_MAX;
	int found = -1;
	int i;

	for (i = 0; i < 4; i++) {
		int64_t stride = tensor->stride[i] < 0 ? -tensor->stride[i] : tensor->stride[i];

		if (tensor->dim[i] == 1 || !stride || stride > least)
			continue;
		least = stride;
		found = i;
	}
	return found;
}

static bool needs_layout(const struct npu_tensor *dst, const struct npu_tensor *src)
{
	int to = innermost_dim(dst);
	int from = innermost_dim(src);

	if (to < 0 && from < 0)
		return false;
	if (from < 0)		/* fill: the source is one element */
		return dst->stride[to] != dst->element_bytes;
	return to != from || dst->stride[to] != dst->element_bytes ||
	       src->stride[from] != src->element_bytes;
}

int decode_dma(struct decoder *decoder)
{
	const struct npu_config *config = decoder->config;
	struct npu_operation *out = decoder->out;
	struct npu_dma_operands *dma = &out->dma;

	if ((out->subop & ~1u) || out->subop >= config->dma_channels || out->imm32 ||
	    (out->imm16 >> NPU_PROGRAM_CLUSTERS_MAX))
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	dma->channel = out->subop;
	dma->multicast = out->imm16;
	out->engine = dma->channel ? NPU_ENGINE_DMA1 : NPU_ENGINE_DMA0;
	if (decode_sides(decoder, false, NPU_OPERATION_DMA_ELEMENTS_MAX))
		return -1;
	if (dma->multicast && out->dst.space != NPU_SPACE_LOCAL)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	dma->elements = decoder_elements(out->dst.dim);
	dma->bytes = dma->elements * out->dst.element_bytes;
	dma->layout = needs_layout(&out->dst, &out->src[0]);
	out->work = ceil_div(dma->bytes,
			     dma->layout ? config->dma_layout_bytes : config->dma_bytes);
	out->start = config->dma_descriptor;
	if (out->src[0].space == NPU_SPACE_LOCAL)
		out->local_read = dma->bytes;
	if (out->dst.space == NPU_SPACE_LOCAL)
		out->local_write = dma->bytes;
	return 0;
}
