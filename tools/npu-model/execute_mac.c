// SPDX-License-Identifier: MIT
/*
 * Execution: MAC, shapes M and S. Manual: arithmetic.rst "MAC array".
 *
 * A pass works on copies of its accumulators, block of depth lanes after block, four positions
 * by eight channels at a time. Lanes beyond K hold zero on both sides. Taps outside the tensor
 * hold zero on the activations' side, which is enough unless a weight there is infinite or NaN.
 */
#include "execute_internal.h"

#include <string.h>

#include "numbers.h"

#define FP32_EXPONENT	0x7f800000u

/* The pass at hand. */
struct pass {
	const struct execution *execution;
	const struct npu_mac_operands *mac;
	const struct npu_tensor *activations, *weights;
	const uint8_t *local;
	struct mac_block *block;
	uint32_t first_lane, lanes;	/* the block's */
	uint32_t columns;		/* channels, rounded up to NPU_MAC_COLUMNS */
	bool fp;
	bool rounded;			/* fp32 operands: products are not exact */
	bool merges;			/* neighbouring taps of a row are neighbours in memory */
	bool not_finite;		/* a weight of the block is infinite or NaN */
};

static uint32_t round_up(uint32_t value, uint32_t to)
{
	return (value + to - 1) / to * to;
}

static void load_integers(const struct pass *pass, const struct npu_tensor *tensor, int16_t *to,
			  int64_t at, uint32_t count)
{
	const struct npu_convert_kernels *convert = pass->execution->kernels->convert;
	uint32_t i;

	if (tensor->stride[3] == tensor->element_bytes) {
		convert->load_integer[tensor->dtype](to, pass->local + at, tensor->zero, count);
		return;
	}
	for (i = 0; i < count; i++, at += tensor->stride[3])
		convert->load_integer[tensor->dtype](to + i, pass->local + at, tensor->zero, 1);
}

static void load_floats(const struct pass *pass, const struct npu_tensor *tensor, float *to,
			int64_t at, uint32_t count)
{
	execution_load(pass->execution, to, pass->local + at, tensor->stride[3], tensor->dtype, 0,
		       count);
	if (tensor->dtype == NPU_DTYPE_FP32)
		pass->execution->kernels->convert->round_operands(to, count);
}

/* ------------------------------------------------------------------------ weights */

static bool any_not_finite(const float *values, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if ((float_bits(values[i]) & FP32_EXPONENT) == FP32_EXPONENT)
			return true;
	return false;
}

/* One channel's lanes of one step. */
static void pack_run(struct pass *pass, uint32_t channel, uint32_t lane, int64_t at,
		     uint32_t count)
{
	struct mac_block *block = pass->block;
	uint32_t group = channel / NPU_MAC_COLUMNS;
	uint32_t column = channel % NPU_MAC_COLUMNS;
	int16_t integers[DEPTH_MAX];
	float floats[DEPTH_MAX];
	uint32_t i;

	if (pass->fp) {
		load_floats(pass, pass->weights, floats, at, count);
		for (i = 0; i < count; i++)
			block->weights.fp[group][lane + i][column] = floats[i];
		pass->not_finite |= any_not_finite(floats, count);
		return;
	}
	load_integers(pass, pass->weights, integers, at, count);
	for (i = 0; i < count; i++)
		block->weights.integer[group][(lane + i) / 2][column][(lane + i) % 2] =
			integers[i];
}

static void pack_weights(struct pass *pass)
{
	const struct npu_tensor *weights = pass->weights;
	uint32_t depth = pass->mac->depth;
	uint32_t channel, lane, group;

	/* Columns beyond the channels and lanes beyond K are zero. */
	for (group = 0; group < pass->columns / NPU_MAC_COLUMNS; group++) {
		if (pass->fp)
			memset(pass->block->weights.fp[group], 0,
			       pass->lanes * sizeof(pass->block->weights.fp[group][0]));
		else
			memset(pass->block->weights.integer[group], 0,
			       pass->lanes / 2 * sizeof(pass->block->weights.integer[group][0]));
	}
	pass->not_finite = false;
	for (channel = 0; channel < pass->mac->channels; channel++)
		for (lane = 0; lane < pass->lanes; lane += depth) {
			uint32_t first = pass->first_lane + lane;
			uint32_t count = pass->mac->k - first;

			pack_run(pass, channel, lane,
				 tensor_at(weights, 0, first / depth, channel, 0),
				 count < depth ? count : depth);
		}
}

/* -------------------------------------------------------------------- activations */

/* Lanes from one (ky, kx, c) on that are inside the tensor and neighbours in memory, or outside. */
struct run {
	int64_t at;
	uint32_t count;
	bool inside;
};

static struct run next_run(const struct pass *pass, int64_t y0, int64_t x0, uint32_t lane,
			   uint32_t end)
{
	const struct npu_mac_operands *mac = pass->mac;
	const struct npu_tensor *tensor = pass->activations;
	uint32_t channels = tensor->dim[3];
	uint32_t tap = lane / channels, c = lane % channels;
	uint32_t ky = tap / mac->kernel_width, kx = tap % mac->kernel_width;
	int64_t y = y0 + (int64_t)ky * mac->dilation_y;
	int64_t x = x0 + (int64_t)kx * mac->dilation_x;
	struct run run = { .count = channels - c };

	run.inside = y >= 0 && y < tensor->dim[1] && x >= 0 && x < tensor->dim[2];
	if (run.inside) {
		run.at = tensor->offset + y * tensor->stride[1] + x * tensor->stride[2] +
			 c * tensor->stride[3];
		if (pass->merges) {
			uint64_t taps = (tensor->dim[2] - 1 - (uint64_t)x) / mac->dilation_x + 1;

			if (taps > mac->kernel_width - kx)
				taps = mac->kernel_width - kx;
			if (taps * channels - c > end - lane)
				run.count = end - lane;
			else
				run.count = (uint32_t)(taps * channels) - c;
		}
	}
	if (run.count > end - lane)
		run.count = end - lane;
	return run;
}

/* One position's lanes of the block. Returns whether some lie outside the tensor. */
static bool gather(struct pass *pass, uint32_t position, uint32_t row)
{
	const struct npu_mac_operands *mac = pass->mac;
	struct mac_block *block = pass->block;
	int64_t y = (int64_t)(position / mac->out_width) * mac->stride_y + mac->origin_y;
	int64_t x = (int64_t)(position % mac->out_width) * mac->stride_x + mac->origin_x;
	uint32_t lane = pass->first_lane;
	uint32_t end = lane + pass->lanes < mac->k ? lane + pass->lanes : mac->k;
	size_t to = (size_t)row * pass->lanes;
	bool outside = false;

	if (pass->fp)
		memset(block->activations.fp + to, 0, pass->lanes * sizeof(float));
	else
		memset(block->activations.integer + to, 0, pass->lanes * sizeof(int16_t));
	while (lane < end) {
		struct run run = next_run(pass, y, x, lane, end);
		uint32_t at = lane - pass->first_lane;

		if (pass->not_finite)
			memset(block->inside[row] + at, run.inside, run.count);
		if (!run.inside)
			outside = true;
		else if (pass->fp)
			load_floats(pass, pass->activations, block->activations.fp + to + at,
				    run.at, run.count);
		else
			load_integers(pass, pass->activations,
				      block->activations.integer + to + at, run.at, run.count);
		lane += run.count;
	}
	return outside;
}

/* ----------------------------------------------------------------------- the array */

/* A step whose lanes outside the tensor add nothing, whatever their weights are. */
static float masked_step(const float *activations, const uint8_t *inside, const float *weights,
			 uint32_t depth)
{
	float level[DEPTH_MAX];
	uint32_t i;

	for (i = 0; i < depth; i++)
		level[i] = inside[i] ? activations[i] * weights[i * NPU_MAC_COLUMNS] : 0.0f;
	for (; depth > 1; depth /= 2)
		for (i = 0; i < depth / 2; i++)
			level[i] = level[2 * i] + level[2 * i + 1];
	return level[0];
}

static void masked_row(const struct pass *pass, float *sums, uint32_t row)
{
	const struct mac_block *block = pass->block;
	const float *activations = block->activations.fp + (size_t)row * pass->lanes;
	uint32_t depth = pass->mac->depth;
	uint32_t end = pass->mac->k - pass->first_lane;
	uint32_t channel, lane;

	for (channel = 0; channel < pass->mac->channels; channel++) {
		const float (*weights)[NPU_MAC_COLUMNS] =
			block->weights.fp[channel / NPU_MAC_COLUMNS];

		for (lane = 0; lane < pass->lanes; lane += depth) {
			uint8_t inside[DEPTH_MAX] = { 0 };
			uint32_t count = end - lane < depth ? end - lane : depth;

			memcpy(inside, block->inside[row] + lane, count);
			sums[channel] += masked_step(activations + lane, inside,
						     &weights[lane][channel % NPU_MAC_COLUMNS],
						     depth);
		}
	}
}

static void multiply(const struct pass *pass, uint32_t position)
{
	const struct npu_mac_kernels *kernels = pass->execution->kernels->mac;
	void (*fp)(float *sums, uint32_t stride, const float *activations, const float *weights,
		   uint32_t lanes, uint32_t depth) =
		pass->rounded ? kernels->fp_rounded : kernels->fp;
	const struct mac_block *block = pass->block;
	void *sums = pass->execution->scratch->sums;
	uint32_t columns = pass->columns;
	size_t at = (size_t)position * columns;
	uint32_t group;

	for (group = 0; group < columns / NPU_MAC_COLUMNS; group++, at += NPU_MAC_COLUMNS) {
		const int16_t *integers = &block->weights.integer[group][0][0][0];

		if (pass->fp)
			fp((float *)sums + at, columns, block->activations.fp,
			   &block->weights.fp[group][0][0], pass->lanes, pass->mac->depth);
		else if (pass->mac->sum == NPU_OUT_SUM_INT64)
			kernels->int64((uint64_t *)sums + at, columns,
				       block->activations.integer, integers, pass->lanes);
		else
			kernels->int32((uint32_t *)sums + at, columns,
				       block->activations.integer, integers, pass->lanes);
	}
}

static void run_block(struct pass *pass)
{
	uint32_t positions = pass->mac->positions;
	uint32_t position, row;

	for (position = 0; position < positions; position += NPU_MAC_ROWS) {
		bool outside = false;

		for (row = 0; row < NPU_MAC_ROWS && position + row < positions; row++)
			outside |= gather(pass, position + row, row);
		if (!outside || !pass->not_finite) {
			multiply(pass, position);
			continue;
		}
		for (row = 0; row < NPU_MAC_ROWS && position + row < positions; row++)
			masked_row(pass, (float *)pass->execution->scratch->sums +
					 (size_t)(position + row) * pass->columns, row);
	}
}

/* -------------------------------------------------------------------- accumulators */

static uint8_t *accumulator(const struct pass *pass, uint32_t position, uint32_t sum_bytes)
{
	uint32_t channels = pass->execution->config->mac_channels;

	return pass->execution->memory->acc[pass->mac->half] +
	       (size_t)(pass->mac->first_position + position) * channels * sum_bytes;
}

static void load_sums(const struct pass *pass)
{
	const struct npu_mac_operands *mac = pass->mac;
	uint32_t sum_bytes = mac->sum == NPU_OUT_SUM_INT64 ? 8 : 4;
	size_t count = (size_t)round_up(mac->positions, NPU_MAC_ROWS) * pass->columns;
	void *sums = pass->execution->scratch->sums;
	uint32_t position, channel;

	memset(sums, 0, count * sum_bytes);
	if (!mac->resume)
		return;
	for (position = 0; position < mac->positions; position++) {
		const uint8_t *from = accumulator(pass, position, sum_bytes);
		size_t to = (size_t)position * pass->columns;

		for (channel = 0; channel < mac->channels; channel++, to++, from += sum_bytes) {
			if (pass->fp)	/* a resumed -0 counts as +0 */
				((float *)sums)[to] = float_from_bits(load_le32(from)) + 0.0f;
			else if (sum_bytes == 8)
				((uint64_t *)sums)[to] = load_le64(from);
			else
				((uint32_t *)sums)[to] = load_le32(from);
		}
	}
}

static void store_sums(const struct pass *pass)
{
	const struct npu_mac_operands *mac = pass->mac;
	uint32_t sum_bytes = mac->sum == NPU_OUT_SUM_INT64 ? 8 : 4;
	const void *sums = pass->execution->scratch->sums;
	uint32_t position, channel;

	for (position = 0; position < mac->positions; position++) {
		uint8_t *to = accumulator(pass, position, sum_bytes);
		size_t at = (size_t)position * pass->columns;

		for (channel = 0; channel < mac->channels; channel++, at++, to += sum_bytes) {
			if (pass->fp) {
				float sum = ((const float *)sums)[at];

				store_le32(to, sum == sum ? float_bits(sum) : FP32_NAN_BITS);
			} else if (sum_bytes == 8) {
				store_le64(to, ((const uint64_t *)sums)[at]);
			} else {
				store_le32(to, ((const uint32_t *)sums)[at]);
			}
		}
	}
}

static struct pass make_pass(const struct execution *execution)
{
	const struct npu_operation *operation = execution->operation;
	const struct npu_tensor *activations = &operation->src[0];
	const struct npu_mac_operands *mac = &operation->mac;
	struct pass pass = {
		.execution = execution,
		.mac = mac,
		.activations = activations,
		.weights = &operation->src[1],
		.local = execution->memory->local,
		.block = &execution->scratch->mac,
		.columns = round_up(mac->channels, NPU_MAC_COLUMNS),
		.fp = mac->sum == NPU_OUT_SUM_FP,
		.rounded = activations->dtype == NPU_DTYPE_FP32 ||
			   operation->src[1].dtype == NPU_DTYPE_FP32,
		.merges = activations->stride[3] == activations->element_bytes &&
			  activations->stride[2] * mac->dilation_x ==
				  (int64_t)activations->dim[3] * activations->element_bytes,
	};

	return pass;
}

void execute_mac(const struct execution *execution)
{
	struct pass pass = make_pass(execution);
	uint64_t total = (uint64_t)pass.mac->steps * pass.mac->depth;

	load_sums(&pass);
	while (pass.first_lane < total) {
		uint64_t left = total - pass.first_lane;

		pass.lanes = left < NPU_MAC_LANES_MAX ? (uint32_t)left : NPU_MAC_LANES_MAX;
		pack_weights(&pass);
		run_block(&pass);
		pass.first_lane += pass.lanes;
	}
	store_sums(&pass);
}

/* ------------------------------------------------------------------------- shape V */

static void load_tap_weights(struct pass *pass, uint32_t first_tap, uint32_t taps)
{
	struct tap_block *block = &pass->execution->scratch->taps;
	uint32_t tap;

	for (tap = 0; tap < taps; tap++) {
		int64_t at = tensor_at(pass->weights, 0, 0, first_tap + tap, 0);

		if (pass->fp)
			load_floats(pass, pass->weights, block->weights.fp[tap], at,
				    pass->mac->channels);
		else
			load_integers(pass, pass->weights, block->weights.integer[tap], at,
				      pass->mac->channels);
	}
}

/* The taps of a position that are inside the tensor: where their activations are. */
static uint32_t find_taps(struct pass *pass, uint32_t position, uint32_t first_tap, uint32_t taps)
{
	const struct npu_mac_operands *mac = pass->mac;
	const struct npu_tensor *tensor = pass->activations;
	struct tap_block *block = &pass->execution->scratch->taps;
	int64_t y0 = (int64_t)(position / mac->out_width) * mac->stride_y + mac->origin_y;
	int64_t x0 = (int64_t)(position % mac->out_width) * mac->stride_x + mac->origin_x;
	uint32_t ky = first_tap / mac->kernel_width, kx = first_tap % mac->kernel_width;
	uint32_t found = 0, tap;

	for (tap = 0; tap < taps; tap++, kx++) {
		int64_t y, x;

		if (kx == mac->kernel_width) {
			kx = 0;
			ky++;
		}
		y = y0 + (int64_t)ky * mac->dilation_y;
		x = x0 + (int64_t)kx * mac->dilation_x;
		if (y < 0 || y >= tensor->dim[1] || x < 0 || x >= tensor->dim[2])
			continue;
		block->activations[found] = pass->local + tensor->offset +
					    y * tensor->stride[1] + x * tensor->stride[2];
		block->weight_row[found++] = tap;
	}
	return found;
}

static void run_taps_fp(struct pass *pass, float *sums, uint32_t found)
{
	const struct npu_tensor *tensor = pass->activations;
	struct tap_block *block = &pass->execution->scratch->taps;
	uint32_t tap;

	for (tap = 0; tensor->stride[3] != 2 && tap < found; tap++) {
		execution_copy(block->gathered[tap], 2, block->activations[tap], tensor->stride[3],
			       2, pass->mac->channels);
		block->activations[tap] = block->gathered[tap];
	}
	pass->execution->kernels->mac->taps(sums, block->activations, block->weight_row, found,
					    &block->weights.fp[0][0], CHANNELS_MAX,
					    pass->mac->channels);
}

static void run_taps_rounded(struct pass *pass, float *sums, uint32_t found)
{
	struct tap_block *block = &pass->execution->scratch->taps;
	uint32_t tap;

	for (tap = 0; tap < found; tap++)
		load_floats(pass, pass->activations, block->rounded[tap],
			    block->activations[tap] - pass->local, pass->mac->channels);
	pass->execution->kernels->mac->taps_rounded(sums, block->rounded[0], block->weight_row,
						    found, &block->weights.fp[0][0], CHANNELS_MAX,
						    pass->mac->channels);
}

static void run_taps_integer(struct pass *pass, size_t at, uint32_t found)
{
	struct tap_block *block = &pass->execution->scratch->taps;
	void *sums = pass->execution->scratch->sums;
	uint32_t channels = pass->mac->channels;
	uint32_t tap;

	for (tap = 0; tap < found; tap++) {
		const int16_t *weights = block->weights.integer[block->weight_row[tap]];

		load_integers(pass, pass->activations, block->row,
			      block->activations[tap] - pass->local, channels);
		if (pass->mac->sum == NPU_OUT_SUM_INT64)
			pass->execution->kernels->mac->tap_int64((uint64_t *)sums + at, block->row,
								 weights, channels);
		else
			pass->execution->kernels->mac->tap_int32((uint32_t *)sums + at, block->row,
								 weights, channels);
	}
}

void execute_mac_taps(const struct execution *execution)
{
	struct pass pass = make_pass(execution);
	uint32_t total = pass.mac->steps;
	uint32_t first, position;

	load_sums(&pass);
	for (first = 0; first < total; first += TAPS_BLOCK) {
		uint32_t taps = total - first < TAPS_BLOCK ? total - first : TAPS_BLOCK;

		load_tap_weights(&pass, first, taps);
		for (position = 0; position < pass.mac->positions; position++) {
			uint32_t found = find_taps(&pass, position, first, taps);
			size_t at = (size_t)position * pass.columns;

			if (pass.rounded)
				run_taps_rounded(&pass, (float *)execution->scratch->sums + at,
						 found);
			else if (pass.fp)
				run_taps_fp(&pass, (float *)execution->scratch->sums + at, found);
			else
				run_taps_integer(&pass, at, found);
		}
	}
	store_sums(&pass);
}
