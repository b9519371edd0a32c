// SPDX-License-Identifier: MIT
/* Instruction decoder: MAC. Manual: isa.rst "MAC", timing.rst "MAC array". */
#include "operation_internal.h"

#include <string.h>

static bool types_allowed(const struct npu_tensor *activations, const struct npu_tensor *weights)
{
	switch (activations->dtype) {
	case NPU_DTYPE_INT8:
	case NPU_DTYPE_UINT8:
		return weights->dtype <= NPU_DTYPE_UINT8;
	case NPU_DTYPE_INT16:
		return weights->dtype == NPU_DTYPE_INT8;
	case NPU_DTYPE_FP16:
	case NPU_DTYPE_FP32:
		return weights->dtype == NPU_DTYPE_FP16 || weights->dtype == NPU_DTYPE_FP32;
	default:
		return false;
	}
}

static uint8_t sum_of(uint8_t activation_dtype)
{
	switch (activation_dtype) {
	case NPU_DTYPE_INT16:
		return NPU_OUT_SUM_INT64;
	case NPU_DTYPE_FP16:
	case NPU_DTYPE_FP32:
		return NPU_OUT_SUM_FP;
	default:
		return NPU_OUT_SUM_INT32;
	}
}

static int decode_window(struct decoder *decoder, struct npu_mac_operands *mac)
{
	const struct npu_td *td = decoder_register(decoder, decoder->insn->src[2]);
	struct npu_window window;

	if (!td)
		return -1;
	memcpy(&window, td, sizeof(window));
	if (window.reserved[0] || window.reserved[1] || window.reserved[2])
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	mac->out_height = le16toh(window.out_height);
	mac->out_width = le16toh(window.out_width);
	mac->kernel_height = le16toh(window.kernel_height);
	mac->kernel_width = le16toh(window.kernel_width);
	mac->stride_y = le16toh(window.stride_y);
	mac->stride_x = le16toh(window.stride_x);
	mac->dilation_y = le16toh(window.dilation_y);
	mac->dilation_x = le16toh(window.dilation_x);
	mac->origin_y = (int16_t)le16toh(window.origin_y);
	mac->origin_x = (int16_t)le16toh(window.origin_x);
	if (!mac->out_height || !mac->out_width || !mac->kernel_height || !mac->kernel_width ||
	    !mac->stride_y || !mac->stride_x || !mac->dilation_y || !mac->dilation_x)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	return 0;
}

static int check_accumulators(struct decoder *decoder, struct npu_mac_operands *mac)
{
	unsigned int sum_bytes = mac->sum == NPU_OUT_SUM_INT64 ? 8 : 4;
	uint64_t positions = (uint64_t)mac->out_height * mac->out_width;

	if (mac->first_position + positions > npu_config_acc_positions(decoder->config, sum_bytes))
		return decoder_fail(decoder, NPU_ERROR_ACCUMULATOR_RANGE);
	mac->positions = (uint32_t)positions;
	return 0;
}

/* Weights and depth; every dimension but the channels' is what the window says it is. */
static int check_depth(struct decoder *decoder, const struct npu_tensor *activations,
		       const struct npu_tensor *weights, struct npu_mac_operands *mac)
{
	uint64_t taps = (uint64_t)mac->kernel_height * mac->kernel_width;
	uint64_t k = taps * activations->dim[3];
	bool fits;

	if (mac->shape == NPU_MAC_SHAPE_V) {
		mac->depth = 1;
		fits = weights->dim[1] == 1 && weights->dim[2] == taps &&
		       weights->dim[3] >= mac->channels &&
		       activations->dim[3] >= mac->channels;
		k = taps;
	} else {
		mac->depth = npu_config_mac_depth(decoder->config, activations->dtype);
		if (mac->shape == NPU_MAC_SHAPE_S)
			mac->depth /= 2;
		fits = weights->dim[1] == ceil_div(k, mac->depth) &&
		       weights->dim[2] >= mac->channels && weights->dim[3] == mac->depth;
	}
	if (!fits || activations->dim[0] != 1 || weights->dim[0] != 1 ||
	    weights->stride[3] != weights->element_bytes)
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	mac->steps = mac->shape == NPU_MAC_SHAPE_V ? weights->dim[2] : weights->dim[1];
	mac->k = (uint32_t)k;
	return 0;
}

/*
 * How many of 0 .. size - 1 are origin + position * stride + tap * dilation for some position
 * and tap: the rows, or columns, that a window touches.
 */
static uint64_t touched(uint32_t size, int64_t origin, uint32_t positions, uint32_t stride,
			uint32_t taps, uint32_t dilation)
{
	uint8_t seen[(UINT16_MAX + 1) / 8] = { 0 };
	uint64_t count = 0;
	uint32_t position;

	for (position = 0; position < positions; position++) {
		int64_t first = origin + (int64_t)position * stride;
		int64_t tap = 0;

		if (first >= size)
			break;
		if (first < 0)
			tap = (-first + dilation - 1) / dilation;
		for (; tap < taps; tap++) {
			int64_t at = first + tap * dilation;

			if (at >= size)
				break;
			count += !(seen[at / 8] & (1u << (at % 8)));
			seen[at / 8] |= (uint8_t)(1u << (at % 8));
		}
	}
	return count;
}

static void figures(struct decoder *decoder)
{
	const struct npu_config *config = decoder->config;
	struct npu_operation *out = decoder->out;
	const struct npu_mac_operands *mac = &out->mac;
	const struct npu_tensor *activations = &out->src[0];
	uint32_t lanes = npu_config_mac_depth(config, activations->dtype);
	uint64_t channels = config->mac_channels;
	uint64_t weights;

	switch (mac->shape) {
	case NPU_MAC_SHAPE_V:
		out->work = ceil_div(mac->positions, lanes) * mac->steps;
		out->local_read = touched(activations->dim[1], mac->origin_y, mac->out_height,
					  mac->stride_y, mac->kernel_height, mac->dilation_y) *
				  touched(activations->dim[2], mac->origin_x, mac->out_width,
					  mac->stride_x, mac->kernel_width, mac->dilation_x) *
				  mac->channels * activations->element_bytes;
		break;
	case NPU_MAC_SHAPE_S:
		channels /= 2;
		out->work = ceil_div(mac->positions, 4) * mac->steps;
		out->local_read = (uint64_t)mac->positions * mac->steps * mac->depth *
				  activations->element_bytes;
		break;
	default:
		out->work = (uint64_t)mac->positions * mac->steps;
		out->local_read = (uint64_t)mac->positions * mac->steps * mac->depth *
				  activations->element_bytes;
	}
	weights = channels * mac->steps * mac->depth * out->src[1].element_bytes;
	out->weight_load = config->weight_load_cycles * ceil_div(weights, 1024);
	out->tail = config->mac_tail;
	out->macs = (uint64_t)mac->positions * mac->k * mac->channels;
}

int decode_mac(struct decoder *decoder)
{
	const struct npu_insn *insn = decoder->insn;
	struct npu_operation *out = decoder->out;
	struct npu_mac_operands *mac = &out->mac;
	uint32_t channels = decoder->config->mac_channels;

	out->engine = NPU_ENGINE_MAC;
	mac->shape = out->subop & NPU_MAC_SHAPE_MASK;
	mac->half = (out->subop & NPU_MAC_HALF) != 0;
	mac->resume = (out->subop & NPU_MAC_RESUME) != 0;
	mac->first_position = out->imm16;
	mac->channels = out->imm32;
	if (mac->shape == NPU_MAC_SHAPE_S)
		channels /= 2;
	if ((out->subop & ~NPU_MAC_SUBOP_ALL) || mac->shape > NPU_MAC_SHAPE_V ||
	    !mac->channels || mac->channels > channels)
		return decoder_fail(decoder, NPU_ERROR_ILLEGAL_INSTRUCTION);
	if (decoder_unused(decoder, DECODER_DST) ||
	    decoder_local_tensor(decoder, insn->src[0], &out->src[0]) ||
	    decoder_local_tensor(decoder, insn->src[1], &out->src[1]))
		return -1;
	if (!types_allowed(&out->src[0], &out->src[1]))
		return decoder_fail(decoder, NPU_ERROR_BAD_DESCRIPTOR);
	mac->sum = sum_of(out->src[0].dtype);
	if (decode_window(decoder, mac) || check_accumulators(decoder, mac) ||
	    check_depth(decoder, &out->src[0], &out->src[1], mac))
		return -1;
	figures(decoder);
	return 0;
}
