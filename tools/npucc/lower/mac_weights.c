// SPDX-License-Identifier: MIT
/* Constants of MAC operators in the order the array wants them. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../support/half.h"
#include "mac.h"

/* @scale: what the output stage multiplies the channel by (mac_scale.c). */
static uint16_t weight_at(const struct graph_value *value, int64_t index, float scale)
{
	switch (value->dtype) {
	case GRAPH_DTYPE_F32:
		return htole16(half_from_constant(((const float *)value->data)[index] / scale));
	case GRAPH_DTYPE_F16:
		return htole16(((const uint16_t *)value->data)[index]);
	default:
		return htole16(half_from_constant(graph_constant_as_f32(value, index)));
	}
}

/* A weight as the array takes it, to element @to of @out. */
static void put_weight(const struct mac_problem *problem, int64_t index, float scale, uint8_t *out,
		       size_t to)
{
	uint16_t half;
	uint32_t bits;
	float number;

	if (problem->node->quant) {
		out[to] = ((const uint8_t *)problem->weights->data)[index];
		return;
	}
	if (problem->types.weights == NPU_DTYPE_FP32) {
		number = graph_constant_as_f32(problem->weights, index);
		memcpy(&bits, &number, sizeof(bits));
		bits = htole32(bits);
		memcpy(out + to * sizeof(bits), &bits, sizeof(bits));
		return;
	}
	half = weight_at(problem->weights, index, scale);
	memcpy(out + to * sizeof(half), &half, sizeof(half));
}

struct packer {
	const struct mac_problem *problem;
	const struct mac_plan *plan;
	int64_t first; /* element of the set's first weight */
	const float *scales; /* [channels] of the set, or NULL */
	uint8_t *out;
};

/* One channel of one chunk: the flattened (row, column, depth) lanes, step by step. */
static void pack_channel(const struct packer *packer, const struct mac_chunk *chunk,
			 uint32_t channel, uint8_t *out)
{
	const struct mac_problem *problem = packer->problem;
	uint32_t lanes = packer->plan->step_depth, lane = 0, y, x, c;
	size_t step_stride = (size_t)packer->plan->block_channels * lanes *
			     NPU_DTYPE_BYTES(problem->types.weights);
	float scale = packer->scales ? packer->scales[channel] : 1.0f;

	for (y = 0; y < chunk->kernel_count[MAC_Y]; y++) {
		for (x = 0; x < chunk->kernel_count[MAC_X]; x++) {
			int64_t at = packer->first + channel * problem->w_stride_channel +
				     (chunk->kernel[MAC_Y] + y) * problem->w_stride_kernel[MAC_Y] +
				     (chunk->kernel[MAC_X] + x) * problem->w_stride_kernel[MAC_X] +
				     chunk->depth * problem->w_stride_depth;

			for (c = 0; c < chunk->depth_count; c++) {
				put_weight(problem, at, scale, out, lane);
				at += problem->w_stride_depth;
				if (++lane == lanes) {
					lane = 0;
					out += step_stride;
				}
			}
		}
	}
}

static void pack_dense(const struct packer *packer)
{
	const struct mac_plan *plan = packer->plan;
	size_t row = (size_t)plan->step_depth * NPU_DTYPE_BYTES(packer->problem->types.weights);
	uint32_t block, i, channel;

	for (block = 0; block < plan->blocks; block++) {
		for (i = 0; i < plan->chunk_count; i++) {
			uint8_t *out = packer->out + (size_t)block * plan->block_bytes +
				       plan->chunks[i].offset;

			for (channel = 0; channel < plan->block_channels; channel++) {
				uint32_t number = block * plan->block_channels + channel;

				if (number >= packer->problem->channels)
					break;
				pack_channel(packer, &plan->chunks[i], number,
					     out + channel * row);
			}
		}
	}
}

/* Shape V: [block][tap][channel]. */
static void pack_depthwise(const struct packer *packer)
{
	const struct mac_problem *problem = packer->problem;
	const struct mac_plan *plan = packer->plan;
	uint32_t taps = problem->kernel[MAC_Y] * problem->kernel[MAC_X];
	uint32_t channel, tap;

	for (channel = 0; channel < problem->channels; channel++) {
		uint32_t block = channel / plan->block_channels,
			 lane = channel % plan->block_channels;
		float scale = packer->scales ? packer->scales[channel] : 1.0f;

		for (tap = 0; tap < taps; tap++) {
			int64_t at =
				packer->first + channel * problem->w_stride_channel +
				tap / problem->kernel[MAC_X] * problem->w_stride_kernel[MAC_Y] +
				tap % problem->kernel[MAC_X] * problem->w_stride_kernel[MAC_X];

			put_weight(problem, at, scale,
				   packer->out + (size_t)block * plan->block_bytes,
				   (size_t)tap * plan->block_channels + lane);
		}
	}
}

int mac_pack(struct lower *lower, const struct mac_problem *problem, const struct mac_plan *plan,
	     const float *scales, int64_t *offsets)
{
	size_t bytes = (size_t)plan->blocks * plan->block_bytes;
	struct packer packer = { .problem = problem, .plan = plan };
	uint32_t i, done = UINT32_MAX;
	int result = 0;

	packer.out = malloc(bytes);
	if (!packer.out)
		return diag_error(lower->diag,
				  "node '%s': %zu bytes of weights do not fit into memory",
				  problem->node->name, bytes);
	for (i = 0; i < problem->instance_count && !result; i++) {
		const struct mac_instance *instance = &problem->instances[i];

		if (instance->weight_set == done)
			continue;
		done = instance->weight_set;
		memset(packer.out, 0, bytes);
		packer.first = instance->weights;
		packer.scales = scales ? scales + (size_t)done * problem->channels : NULL;
		if (problem->depthwise)
			pack_depthwise(&packer);
		else
			pack_dense(&packer);
		offsets[done] = lower_constant(lower, packer.out, bytes, 64);
		if (offsets[done] < 0)
			result = -1;
	}
	free(packer.out);
	return result;
}

int mac_parameters(struct lower *lower, const struct mac_problem *problem, const float *scales,
		   int64_t *offset)
{
	size_t count = (size_t)problem->weight_sets * problem->channels;
	struct npu_channel_fp *parameters;
	uint32_t i, channel, bits;

	if (problem->node->quant)
		return mac_integer_parameters(lower, problem, offset);
	parameters = calloc(count, sizeof(*parameters));
	if (!parameters)
		return diag_error(lower->diag,
				  "node '%s': %zu channels' parameters do not fit into memory",
				  problem->node->name, count);
	for (i = 0; i < problem->instance_count; i++) {
		const struct mac_instance *instance = &problem->instances[i];
		struct npu_channel_fp *set =
			parameters + (size_t)instance->weight_set * problem->channels;

		for (channel = 0; channel < problem->channels; channel++) {
			float bias = mac_bias_at(problem, instance, channel);
			float scale =
				scales ? scales[(size_t)instance->weight_set * problem->channels +
						channel] :
					 1.0f;

			memcpy(&bits, &bias, sizeof(bits));
			set[channel].bias = htole32(bits);
			memcpy(&bits, &scale, sizeof(bits));
			set[channel].scale = htole32(bits);
		}
	}
	*offset = lower_constant(lower, parameters, count * sizeof(*parameters), 64);
	free(parameters);
	return *offset < 0 ? -1 : 0;
}
