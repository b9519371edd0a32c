// SPDX-License-Identifier: MIT
/*
 * The engines' arithmetic once more, from Documentation/hardware/arithmetic.rst: one element at
 * a time, straight from the raw descriptors, conversions by way of double.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t u32_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_u32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)(value >> 16);
	at[3] = (uint8_t)(value >> 24);
}

/* -------------------------------------------------------------------- conversions */

float reference_from_half(uint16_t half)
{
	int exponent = half >> 10 & 31;
	double fraction = half & 0x3ff;
	double magnitude;

	if (exponent == 31)
		magnitude = fraction != 0 ? NAN : INFINITY;
	else if (!exponent)
		magnitude = ldexp(fraction, -24);
	else
		magnitude = ldexp(1024 + fraction, exponent - 25);
	return (float)(half & 0x8000 ? -magnitude : magnitude);
}

uint16_t reference_to_half(float value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs((double)value), quantum, rounded;
	int exponent = -14;

	if (isnan(value))
		return 0x7e00;
	if (magnitude >= 0x1p-14)
		exponent = magnitude >= 65520 ? 15 : ilogb(magnitude);
	if (magnitude >= 65520)
		return sign | 0x7c00;
	quantum = ldexp(1, exponent - 10);
	rounded = nearbyint(magnitude / quantum);	/* 0..2048 */
	if (rounded < 1024)
		return sign | (uint16_t)rounded;
	return (uint16_t)(sign | (((exponent + 14) << 10) + (int)rounded));
}

static int64_t integer_at(const uint8_t *at, unsigned int dtype)
{
	switch (dtype) {
	case NPU_DTYPE_INT8:
		return (int8_t)at[0];
	case NPU_DTYPE_UINT8:
		return at[0];
	case NPU_DTYPE_INT16:
		return (int16_t)(at[0] | at[1] << 8);
	default:
		return (int32_t)u32_at(at);
	}
}

float reference_load(const uint8_t *at, unsigned int dtype, int zero)
{
	if (dtype == NPU_DTYPE_FP16)
		return reference_from_half((uint16_t)(at[0] | at[1] << 8));
	if (dtype == NPU_DTYPE_FP32)
		return float_of(u32_at(at));
	return (float)(double)(integer_at(at, dtype) - zero);
}

static void put_integer(uint8_t *at, unsigned int dtype, int64_t value)
{
	static const int64_t low[] = { -128, 0, -32768, -2147483648ll };
	static const int64_t high[] = { 127, 255, 32767, 2147483647ll };
	unsigned int i;

	if (value < low[dtype])
		value = low[dtype];
	if (value > high[dtype])
		value = high[dtype];
	for (i = 0; i < NPU_DTYPE_BYTES(dtype); i++)
		at[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

void reference_store(uint8_t *at, unsigned int dtype, int zero, float value)
{
	double rounded = isnan(value) ? 0 : nearbyint((double)value);
	uint16_t half;

	switch (dtype) {
	case NPU_DTYPE_FP16:
		half = reference_to_half(value);
		at[0] = (uint8_t)half;
		at[1] = (uint8_t)(half >> 8);
		break;
	case NPU_DTYPE_FP32:
		put_u32(at, isnan(value) ? 0x7fc00000 : bits_of(value));
		break;
	default:
		/* Far beyond every type, and what an int64_t holds. */
		rounded = rounded > 1e12 ? 1e12 : rounded < -1e12 ? -1e12 : rounded;
		put_integer(at, dtype, (int64_t)rounded + zero);
	}
}

/* -------------------------------------------------------------------- descriptors */

unsigned int reference_dtype(const struct npu_td *td)
{
	return td->word0 >> 48 & 15;
}

int reference_zero(const struct npu_td *td)
{
	unsigned int zero = td->word0 >> 56;

	return reference_dtype(td) == NPU_DTYPE_INT8 ? (int8_t)zero : (int)zero;
}

static int64_t address_of(const struct npu_td *td)
{
	return (int64_t)(td->word0 & ((1ull << 40) - 1));
}

uint8_t *reference_element(const struct cluster *cluster, const struct npu_td *td,
			   const uint32_t index[4])
{
	int64_t at = address_of(td);
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (td->dim[i] != 1)	/* a dim of 1 repeats */
			at += (int64_t)index[i] * (int32_t)td->stride[i];
	assert_true(at >= 0 && at + NPU_DTYPE_BYTES(reference_dtype(td)) <=
				       cluster->config.local_bytes);
	return cluster->local + at;
}

/* ---------------------------------------------------------------------- MAC array */

static float tree(const float *products, unsigned int count)
{
	if (count == 1)
		return products[0];
	return tree(products, count / 2) + tree(products + count / 2, count / 2);
}

/* An operand as the array takes it: fp32 with 16 significant bits. */
static float operand(const uint8_t *at, unsigned int dtype)
{
	float value = reference_load(at, dtype, 0);
	double quantum;

	if (dtype != NPU_DTYPE_FP32 || value == 0 || !isfinite(value))
		return value;
	quantum = ldexp(1, (fabsf(value) < 0x1p-126f ? -126 : ilogbf(value)) - 15);
	return (float)(nearbyint(value / quantum) * quantum);
}

/* One operand pair of a pass; false: the lane adds nothing. */
static bool lane_operands(const struct cluster *cluster, const struct npu_insn *insn,
			  uint32_t position, uint32_t channel, uint32_t lane, uint32_t depth,
			  const uint8_t **a, const uint8_t **w)
{
	const struct npu_td *activations = &cluster->tds[insn->src[0]];
	const struct npu_td *weights = &cluster->tds[insn->src[1]];
	bool spatial = (insn->subop & 3) == NPU_MAC_SHAPE_V;
	uint32_t channels = spatial ? 1 : activations->dim[3];
	struct npu_window window;
	uint32_t tap = lane / channels, c = spatial ? channel : lane % channels;
	int64_t y, x;

	memcpy(&window, &cluster->tds[insn->src[2]], sizeof(window));
	if (tap >= (uint32_t)window.kernel_height * window.kernel_width)
		return false;
	y = (int64_t)(position / window.out_width) * window.stride_y + (int16_t)window.origin_y +
	    (int64_t)(tap / window.kernel_width) * window.dilation_y;
	x = (int64_t)(position % window.out_width) * window.stride_x + (int16_t)window.origin_x +
	    (int64_t)(tap % window.kernel_width) * window.dilation_x;
	if (y < 0 || x < 0 || y >= activations->dim[1] || x >= activations->dim[2])
		return false;
	*a = reference_element(cluster, activations, (uint32_t[4]){ 0, (uint32_t)y, (uint32_t)x, c });
	if (spatial)
		*w = reference_element(cluster, weights, (uint32_t[4]){ 0, 0, tap, channel });
	else
		*w = reference_element(cluster, weights,
				       (uint32_t[4]){ 0, lane / depth, channel, lane % depth });
	return true;
}

void reference_mac(struct cluster *cluster, const struct npu_insn *insn)
{
	const struct npu_td *activations = &cluster->tds[insn->src[0]];
	const struct npu_td *weights = &cluster->tds[insn->src[1]];
	unsigned int dtype = reference_dtype(activations);
	bool fp = dtype == NPU_DTYPE_FP16 || dtype == NPU_DTYPE_FP32;
	unsigned int sum_bytes = dtype == NPU_DTYPE_INT16 ? 8 : 4;
	unsigned int shape = insn->subop & 3;
	uint32_t depth = cluster->config.mac_depth / (fp ? 4 : dtype == NPU_DTYPE_INT16 ? 2 : 1);
	struct npu_window window;
	uint32_t steps, position, channel, step, lane;

	memcpy(&window, &cluster->tds[insn->src[2]], sizeof(window));
	if (shape == NPU_MAC_SHAPE_S)
		depth /= 2;
	if (shape == NPU_MAC_SHAPE_V)
		depth = 1;
	steps = ((uint32_t)window.kernel_height * window.kernel_width *
			 (shape == NPU_MAC_SHAPE_V ? 1 : activations->dim[3]) +
		 depth - 1) / depth;
	for (position = 0; position < (uint32_t)window.out_height * window.out_width; position++)
		for (channel = 0; channel < insn->imm32; channel++) {
			uint8_t *at = cluster->acc[insn->subop & NPU_MAC_HALF ? 1 : 0] +
				      ((size_t)(insn->imm16 + position) *
					       cluster->config.mac_channels +
				       channel) * sum_bytes;
			bool resume = insn->subop & NPU_MAC_RESUME;
			float sum = resume ? float_of(u32_at(at)) : 0;
			uint64_t integer = 0;

			if (sum == 0)
				sum = 0;	/* a resumed -0 is +0 */
			if (resume)
				integer = sum_bytes == 8 ?
						  u32_at(at) | (uint64_t)u32_at(at + 4) << 32 :
						  u32_at(at);
			for (step = 0; step < steps; step++) {
				float products[64] = { 0 };

				for (lane = 0; lane < depth; lane++) {
					const uint8_t *a, *w;

					if (!lane_operands(cluster, insn, position, channel,
							   step * depth + lane, depth, &a, &w))
						continue;
					if (fp)
						products[lane] =
							operand(a, dtype) *
							operand(w, reference_dtype(weights));
					else
						integer += (uint64_t)((integer_at(a, dtype) -
								       reference_zero(activations)) *
								      (integer_at(w,
										  reference_dtype(
											  weights)) -
								       reference_zero(weights)));
				}
				sum += tree(products, depth);
			}
			if (fp)
				put_u32(at, isnan(sum) ? 0x7fc00000 : bits_of(sum));
			else
				put_u32(at, (uint32_t)integer);
			if (sum_bytes == 8)
				put_u32(at + 4, (uint32_t)(integer >> 32));
		}
}

/* ------------------------------------------------------------------- output stage */

float reference_max(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

float reference_min(float a, float b)
{
	return -reference_max(-a, -b);
}

/* base + fraction * delta, or, of a curve, base + fraction * (delta + fraction * curve). */
static float segment_of(const uint8_t *segment, float fraction, bool curve)
{
	float delta = float_of(u32_at(segment + 4)), product;

	if (curve) {
		product = fraction * float_of(u32_at(segment + 8));
		delta = delta + product;
	}
	product = fraction * delta;
	return float_of(u32_at(segment)) + product;
}

static float table_or_curve(const uint8_t *table, float x, bool curve)
{
	float low = float_of(u32_at(table)), inverse_step = float_of(u32_at(table + 4));
	float u = x - low;
	float slope, offset, product;
	uint32_t segment;

	u = u * inverse_step;
	if (isnan(x))
		return x;
	if (u >= 0 && u < 256) {
		segment = (uint32_t)floorf(u);
		return segment_of(table + 32 + (curve ? 12 : 8) * segment, u - (float)segment, curve);
	}
	slope = float_of(u32_at(table + (u >= 256 ? 16 : 8)));
	offset = float_of(u32_at(table + (u >= 256 ? 20 : 12)));
	if (slope == 0)
		return offset;
	product = x * slope;
	return product + offset;
}

float reference_table(const uint8_t *table, float x)
{
	return table_or_curve(table, x, false);
}

static float reference_curve(const uint8_t *curve, float x)
{
	return table_or_curve(curve, x, true);
}

/* value * multiplier / 2^shift, exactly, to the nearest, ties to even. */
static int64_t requantize(int64_t value, uint32_t multiplier, uint32_t shift)
{
	int64_t product = (int64_t)((uint64_t)value * multiplier);
	__extension__ typedef __int128 wide;
	wide divisor = (wide)1 << shift;
	wide quotient = product / divisor, rest = product % divisor;

	if (rest < 0) {
		rest += divisor;
		quotient -= 1;
	}
	if (2 * rest > divisor || (2 * rest == divisor && quotient % 2 != 0))
		quotient += 1;
	if (quotient > INT32_MAX)
		return INT32_MAX;
	return quotient < INT32_MIN ? INT32_MIN : (int64_t)quotient;
}

/* What OUT reads, before it writes anything. */
struct stage_input {
	struct npu_stage stage;
	const struct npu_td *dst, *residual;
	const uint8_t *local;	/* as it was */
	const uint8_t *channels;
	uint32_t y, x, c;
};

static uint32_t source_offset(const struct cluster *cluster, const struct npu_td *td,
			      const uint32_t index[4])
{
	return (uint32_t)(reference_element(cluster, td, index) - cluster->local);
}

static const uint8_t *residual_of(const struct cluster *cluster, const struct stage_input *in)
{
	return in->local + source_offset(cluster, in->residual,
					 (uint32_t[4]){ 0, in->y, in->x, in->c });
}

static float stage_fp(const struct cluster *cluster, const struct stage_input *in, float value)
{
	uint32_t position = in->y * in->dst->dim[2] + in->x;
	float scale = 1, bias = 0, residual = 0;

	if (in->stage.flags & NPU_STAGE_POSITION_SCALE)
		value *= float_of(u32_at(in->local + in->stage.scale_address + 4 * position));
	if (in->channels) {
		bias = float_of(u32_at(in->channels + 8 * in->c));
		scale = float_of(u32_at(in->channels + 8 * in->c + 4));
	}
	value = value * scale;
	value = value + bias;
	if (in->residual)
		residual = reference_load(residual_of(cluster, in), reference_dtype(in->residual),
					  reference_zero(in->residual));
	if (in->stage.flags & NPU_STAGE_RESIDUAL_BEFORE)
		value += residual;
	if (in->stage.activation == NPU_ACTIVATION_CLAMP)
		value = reference_min(reference_max(value, float_of(in->stage.clamp_low)),
				      float_of(in->stage.clamp_high));
	if (in->stage.activation == NPU_ACTIVATION_TABLE)
		value = reference_table(in->local + in->stage.table_address, value);
	if (in->stage.activation == NPU_ACTIVATION_CURVE)
		value = reference_curve(in->local + in->stage.table_address, value);
	if (in->stage.flags & NPU_STAGE_RESIDUAL_AFTER)
		value += residual;
	return value;
}

static int64_t stage_integer(const struct cluster *cluster, const struct stage_input *in,
			     int64_t value)
{
	uint32_t multiplier = 1, shift = 0;
	int64_t residual = 0;
	uint8_t byte;

	if (in->channels) {
		value = (int64_t)((uint64_t)value +
				  (uint64_t)(int64_t)(int32_t)u32_at(in->channels + 8 * in->c));
		multiplier = in->channels[8 * in->c + 4] | in->channels[8 * in->c + 5] << 8;
		shift = in->channels[8 * in->c + 6] & 63;
	}
	value = requantize(value, multiplier, shift);
	if (in->residual)
		residual = requantize(integer_at(residual_of(cluster, in),
						 reference_dtype(in->residual)) -
					      reference_zero(in->residual),
				      in->stage.residual_multiplier, in->stage.residual_shift);
	if (in->stage.flags & NPU_STAGE_RESIDUAL_BEFORE)
		value += residual;
	value += reference_zero(in->dst);
	if (in->stage.activation == NPU_ACTIVATION_CLAMP) {
		int64_t low = (int32_t)in->stage.clamp_low, high = (int32_t)in->stage.clamp_high;

		value = value < low ? low : value;
		value = value > high ? high : value;
	}
	if (in->stage.activation == NPU_ACTIVATION_TABLE) {
		put_integer(&byte, reference_dtype(in->dst), value);
		value = integer_at(in->local + in->stage.table_address + byte,
				   reference_dtype(in->dst));
	}
	if (in->stage.flags & NPU_STAGE_RESIDUAL_AFTER)
		value += residual;
	return value;
}

static void out_element(struct cluster *cluster, const struct npu_insn *insn,
			const struct stage_input *in)
{
	unsigned int sum = insn->subop & 3;
	unsigned int dtype = reference_dtype(in->dst);
	unsigned int sum_bytes = sum == NPU_OUT_SUM_INT64 ? 8 : 4;
	uint32_t position = insn->imm16 + in->y * in->dst->dim[2] + in->x;
	const uint8_t *at = cluster->acc[insn->subop & NPU_OUT_HALF ? 1 : 0] +
			    ((size_t)position * cluster->config.mac_channels + in->c) * sum_bytes;
	uint8_t *to = reference_element(cluster, in->dst,
					(uint32_t[4]){ 0, in->y, in->x, in->c });
	int64_t integer = (int32_t)u32_at(at);
	float value;

	if (sum == NPU_OUT_SUM_INT64)
		integer = (int64_t)(u32_at(at) | (uint64_t)u32_at(at + 4) << 32);
	if (sum != NPU_OUT_SUM_FP && dtype <= NPU_DTYPE_INT32) {
		put_integer(to, dtype, stage_integer(cluster, in, integer));
		return;
	}
	value = sum == NPU_OUT_SUM_FP ? float_of(u32_at(at)) : (float)integer;
	reference_store(to, dtype, reference_zero(in->dst), stage_fp(cluster, in, value));
}

void reference_out(struct cluster *cluster, const struct npu_insn *insn)
{
	uint8_t *before = malloc(cluster->config.local_bytes);
	struct stage_input in = { .dst = &cluster->tds[insn->dst], .local = before };

	assert_non_null(before);
	memcpy(before, cluster->local, cluster->config.local_bytes);
	if (insn->src[1] != NPU_TD_NONE)
		memcpy(&in.stage, &cluster->tds[insn->src[1]], sizeof(in.stage));
	if (insn->src[0] != NPU_TD_NONE)
		in.channels = before + address_of(&cluster->tds[insn->src[0]]);
	if (insn->src[2] != NPU_TD_NONE)
		in.residual = &cluster->tds[insn->src[2]];
	for (in.y = 0; in.y < in.dst->dim[1]; in.y++)
		for (in.x = 0; in.x < in.dst->dim[2]; in.x++)
			for (in.c = 0; in.c < in.dst->dim[3]; in.c++)
				out_element(cluster, insn, &in);
	free(before);
}

/* -------------------------------------------------------------------- layout unit */

void reference_layout(struct cluster *cluster, const struct npu_insn *insn)
{
	const struct npu_td *dst = &cluster->tds[insn->dst], *src = &cluster->tds[insn->src[0]];
	uint8_t *before = malloc(cluster->config.local_bytes);
	uint32_t i[4];

	assert_non_null(before);
	memcpy(before, cluster->local, cluster->config.local_bytes);
	for (i[0] = 0; i[0] < dst->dim[0]; i[0]++)
		for (i[1] = 0; i[1] < dst->dim[1]; i[1]++)
			for (i[2] = 0; i[2] < dst->dim[2]; i[2]++)
				for (i[3] = 0; i[3] < dst->dim[3]; i[3]++)
					memcpy(reference_element(cluster, dst, i),
					       before + source_offset(cluster, src, i),
					       NPU_DTYPE_BYTES(reference_dtype(dst)));
	free(before);
}
