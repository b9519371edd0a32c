// SPDX-License-Identifier: MIT
/* Execution: OUT. Manual: arithmetic.rst "Output stage". */
#include "execute_internal.h"

#include <string.h>

#include "numbers.h"

#define MULTIPLIER_OFFSET	offsetof(struct npu_channel_int, multiplier)
#define SHIFT_OFFSET		offsetof(struct npu_channel_int, shift)
#define SHIFT_MASK		63	/* of a channel's shift */

/* Everything the stage reads, gathered before it writes. */
struct stage {
	const struct execution *execution;
	const struct npu_out_operands *out;
	const struct npu_tensor *dst, *residual;
	const uint8_t *residual_from;	/* NULL: none */
	const uint8_t *byte_table;	/* integer path */
	const uint8_t *position_scale;
	/* fp path */
	float scale[CHANNELS_MAX], bias[CHANNELS_MAX];
	float low[CHANNELS_MAX], high[CHANNELS_MAX];
	/* integer path */
	int32_t bias_int[CHANNELS_MAX];
	uint16_t multiplier[CHANNELS_MAX];
	uint8_t shift[CHANNELS_MAX];
};

static int64_t saturate32(int64_t value)
{
	if (value > INT32_MAX)
		return INT32_MAX;
	return value < INT32_MIN ? INT32_MIN : value;
}

/* value * multiplier, 64-bit two's complement, shifted right, ties to even, saturated to int32. */
static int64_t requantize(int64_t value, uint16_t multiplier, uint8_t shift)
{
	int64_t product = (int64_t)((uint64_t)value * multiplier);
	int64_t quotient;
	uint64_t rest, half;

	if (!shift)
		return saturate32(product);
	quotient = product >> shift;
	rest = (uint64_t)product & ((1ull << shift) - 1);
	half = 1ull << (shift - 1);
	if (rest > half || (rest == half && (quotient & 1)))
		quotient++;
	return saturate32(quotient);
}

static void load_channels(struct stage *stage)
{
	const struct npu_operation *operation = stage->execution->operation;
	const struct npu_tensor *parameters = &operation->src[0];
	uint32_t channels = stage->out->channels;
	const uint8_t *from;
	uint32_t c;

	if (parameters->kind == NPU_OPERAND_NONE) {
		for (c = 0; c < channels; c++) {
			stage->scale[c] = 1.0f;
			stage->multiplier[c] = 1;
		}
		return;
	}
	from = execution_source(stage->execution, parameters->offset,
				parameters->offset + 8 * (int64_t)channels);
	from += parameters->offset;
	for (c = 0; c < channels; c++, from += 8) {
		stage->bias_int[c] = (int32_t)load_le32(from);
		stage->bias[c] = float_from_bits(load_le32(from));
		stage->scale[c] = float_from_bits(load_le32(from + 4));
		stage->multiplier[c] = load_le16(from + MULTIPLIER_OFFSET);
		stage->shift[c] = from[SHIFT_OFFSET] & SHIFT_MASK;
	}
}

static void load_stage(struct stage *stage)
{
	const struct execution *execution = stage->execution;
	const struct npu_out_operands *out = stage->out;
	int64_t table = out->table_address;
	int64_t scale = out->scale_address;
	uint32_t c;

	load_channels(stage);
	for (c = 0; c < out->channels; c++) {
		stage->low[c] = float_from_bits(out->clamp_low);
		stage->high[c] = float_from_bits(out->clamp_high);
	}
	if (out->activation == NPU_ACTIVATION_TABLE && out->integer_path)
		stage->byte_table = execution_source(execution, table, table + 256) + table;
	else if (out->activation == NPU_ACTIVATION_TABLE)
		execution_load_table(&execution->scratch->table,
				     execution_source(execution, table,
						      table + (int64_t)sizeof(struct npu_table)) +
					     table);
	else if (out->activation == NPU_ACTIVATION_CURVE)
		execution_load_curve(&execution->scratch->table,
				     execution_source(execution, table,
						      table + (int64_t)sizeof(struct npu_curve)) +
					     table);
	if (out->flags & NPU_STAGE_POSITION_SCALE)
		stage->position_scale = execution_source(execution, scale,
							 scale + 4 * (int64_t)out->positions) +
					scale;
	if (stage->residual->kind == NPU_OPERAND_TENSOR)
		stage->residual_from = execution_tensor(execution, stage->residual, true);
}

/* ------------------------------------------------------------------------ fp path */

/* A row of values moves between two buffers of the scratch. */
struct row {
	float *values, *spare;
	uint32_t count;
};

static void apply(const struct stage *stage, struct row *row, unsigned int operation,
		  const float *b, const float *c)
{
	float *swap = row->spare;

	stage->execution->kernels->element->element[operation](swap, row->values, b, c,
							       row->count);
	row->spare = row->values;
	row->values = swap;
}

static void load_sums(const struct stage *stage, const uint8_t *from, float *to)
{
	uint32_t c;

	switch (stage->out->sum) {
	case NPU_OUT_SUM_FP:
		for (c = 0; c < stage->out->channels; c++)
			to[c] = float_from_bits(load_le32(from + 4 * (size_t)c));
		break;
	case NPU_OUT_SUM_INT32:
		for (c = 0; c < stage->out->channels; c++)
			to[c] = (float)(int32_t)load_le32(from + 4 * (size_t)c);
		break;
	default:
		for (c = 0; c < stage->out->channels; c++)
			to[c] = (float)(int64_t)load_le64(from + 8 * (size_t)c);
	}
}

static void add_residual(const struct stage *stage, struct row *row, uint32_t y, uint32_t x)
{
	const struct npu_tensor *residual = stage->residual;
	float *values = stage->execution->scratch->row[2];

	execution_load(stage->execution, values,
		       stage->residual_from + tensor_at(residual, 0, y, x, 0),
		       residual->stride[3], residual->dtype, residual->zero, row->count);
	apply(stage, row, NPU_VEC_ADD, values, NULL);
}

static void activate(const struct stage *stage, struct row *row)
{
	const struct execution *execution = stage->execution;
	const struct npu_element_kernels *element = execution->kernels->element;
	float *swap = row->spare;

	switch (stage->out->activation) {
	case NPU_ACTIVATION_CLAMP:
		apply(stage, row, NPU_VEC_CLAMP, stage->low, stage->high);
		break;
	case NPU_ACTIVATION_TABLE:
		element->table(swap, row->values, &execution->scratch->table, row->count);
		row->spare = row->values;
		row->values = swap;
		break;
	case NPU_ACTIVATION_CURVE:
		element->curve(swap, row->values, &execution->scratch->table, row->count);
		row->spare = row->values;
		row->values = swap;
		break;
	}
}

static void position_fp(const struct stage *stage, const uint8_t *sums, uint32_t y, uint32_t x)
{
	const struct execution *execution = stage->execution;
	const struct npu_tensor *dst = stage->dst;
	struct row row = {
		.values = execution->scratch->row[0],
		.spare = execution->scratch->row[1],
		.count = stage->out->channels,
	};
	uint32_t c;

	load_sums(stage, sums, row.values);
	if (stage->position_scale) {
		size_t position = (size_t)y * dst->dim[2] + x;
		float scale = float_from_bits(load_le32(stage->position_scale + 4 * position));

		for (c = 0; c < row.count; c++)
			row.values[c] *= scale;
	}
	apply(stage, &row, NPU_VEC_MULADD, stage->scale, stage->bias);
	if (stage->out->flags & NPU_STAGE_RESIDUAL_BEFORE)
		add_residual(stage, &row, y, x);
	activate(stage, &row);
	if (stage->out->flags & NPU_STAGE_RESIDUAL_AFTER)
		add_residual(stage, &row, y, x);
	execution_store(execution, execution->memory->local + tensor_at(dst, 0, y, x, 0),
			dst->stride[3], dst->dtype, dst->zero, row.values, row.count);
}

/* ------------------------------------------------------------------- integer path */

static int64_t load_integer(const uint8_t *from, uint8_t dtype)
{
	switch (dtype) {
	case NPU_DTYPE_INT8:
		return (int8_t)*from;
	case NPU_DTYPE_UINT8:
		return *from;
	case NPU_DTYPE_INT16:
		return (int16_t)load_le16(from);
	default:
		return (int32_t)load_le32(from);
	}
}

static int64_t saturate(int64_t value, uint8_t dtype)
{
	static const int64_t low[] = { INT8_MIN, 0, INT16_MIN, INT32_MIN };
	static const int64_t high[] = { INT8_MAX, UINT8_MAX, INT16_MAX, INT32_MAX };

	if (value > high[dtype])
		return high[dtype];
	return value < low[dtype] ? low[dtype] : value;
}

static void store_integer(uint8_t *to, int64_t value, uint8_t dtype)
{
	if (dtype <= NPU_DTYPE_UINT8)
		*to = (uint8_t)value;
	else if (dtype == NPU_DTYPE_INT16)
		store_le16(to, (uint16_t)value);
	else
		store_le32(to, (uint32_t)value);
}

static int64_t residual_at(const struct stage *stage, uint32_t y, uint32_t x, uint32_t c)
{
	const struct npu_tensor *residual = stage->residual;
	int64_t value = load_integer(stage->residual_from + tensor_at(residual, 0, y, x, c),
				     residual->dtype);

	return requantize(value - residual->zero, stage->out->residual_multiplier,
			  stage->out->residual_shift);
}

static int64_t activate_integer(const struct stage *stage, int64_t value)
{
	int64_t low = (int32_t)stage->out->clamp_low;
	int64_t high = (int32_t)stage->out->clamp_high;

	switch (stage->out->activation) {
	case NPU_ACTIVATION_CLAMP:
		value = value > low ? value : low;
		return value < high ? value : high;
	case NPU_ACTIVATION_TABLE:
		value = saturate(value, stage->dst->dtype);
		return load_integer(&stage->byte_table[(uint8_t)value], stage->dst->dtype);
	default:
		return value;
	}
}

static int64_t integer_sum(const struct stage *stage, const uint8_t *sums, uint32_t c)
{
	if (stage->out->sum == NPU_OUT_SUM_INT64)
		return (int64_t)load_le64(sums + 8 * (size_t)c);
	return (int32_t)load_le32(sums + 4 * (size_t)c);
}

static void position_integer(const struct stage *stage, const uint8_t *sums, uint32_t y,
			     uint32_t x)
{
	const struct npu_tensor *dst = stage->dst;
	uint8_t *to = stage->execution->memory->local + tensor_at(dst, 0, y, x, 0);
	uint32_t c;

	for (c = 0; c < stage->out->channels; c++, to += dst->stride[3]) {
		uint64_t sum = (uint64_t)integer_sum(stage, sums, c) +
			       (uint64_t)(int64_t)stage->bias_int[c];
		int64_t value = requantize((int64_t)sum, stage->multiplier[c], stage->shift[c]);

		if (stage->out->flags & NPU_STAGE_RESIDUAL_BEFORE)
			value += residual_at(stage, y, x, c);
		value = activate_integer(stage, value + dst->zero);
		if (stage->out->flags & NPU_STAGE_RESIDUAL_AFTER)
			value += residual_at(stage, y, x, c);
		store_integer(to, saturate(value, dst->dtype), dst->dtype);
	}
}

void execute_out(const struct execution *execution)
{
	const struct npu_operation *operation = execution->operation;
	const struct npu_out_operands *out = &operation->out;
	struct stage stage = {
		.execution = execution,
		.out = out,
		.dst = &operation->dst,
		.residual = &operation->src[2],
	};
	size_t row = (size_t)execution->config->mac_channels *
		     (out->sum == NPU_OUT_SUM_INT64 ? 8 : 4);
	const uint8_t *sums = execution->memory->acc[out->half] + out->first_position * row;
	uint32_t y, x;

	load_stage(&stage);
	for (y = 0; y < stage.dst->dim[1]; y++)
		for (x = 0; x < stage.dst->dim[2]; x++, sums += row) {
			if (out->integer_path)
				position_integer(&stage, sums, y, x);
			else
				position_fp(&stage, sums, y, x);
		}
}
