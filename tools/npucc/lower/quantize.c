// SPDX-License-Identifier: MIT
/* QUANTIZE and DEQUANTIZE, by tensor and by channel. */
#include <endian.h>
#include <math.h>
#include <string.h>

#include "quantize.h"
#include "tile_pipeline.h"

#define TILE_ELEMENTS	16384
#define TABLE_BYTES	256

/* ------------------------------------------------------------------------------ jobs */
enum vector_slot quantize_source(struct quantize_job *job, const struct graph_value *value,
				 int32_t zero)
{
	if (lower_read_placement(job->lower, value, &job->source[job->sources]))
		return VECTOR_NONE;
	job->source_zero[job->sources] = zero;
	return (enum vector_slot)(VECTOR_IN0 + job->sources++);
}

static int load_bytes(struct quantize_job *job, uint32_t cluster)
{
	static const uint32_t dims[4] = { 1, 1, 1, TABLE_BYTES };
	static const int64_t strides[4] = { 0, 0, 0, 1 };
	struct stream *stream = job->lower->streams[cluster];
	uint32_t local = lower_local(job->lower, cluster, TABLE_BYTES);
	unsigned int token = lower_token(job->lower, cluster);
	int64_t offset = lower_constant(job->lower, job->bytes, TABLE_BYTES, 64);
	struct npu_td source;

	if (offset < 0)
		return -1;
	if (local == UINT32_MAX)
		return diag_error(job->lower->diag, "no room in local SRAM for a table of bytes");
	source = td_dram(NPU_ARG_WEIGHTS, offset, NPU_DTYPE_UINT8, dims, strides);
	job->table[cluster] = td_local_dense(local, NPU_DTYPE_UINT8, 1, 1, 1, TABLE_BYTES);
	stream_dma(stream, 0, &job->table[cluster], &source, 0);
	stream_give(stream, NPU_ENGINE_DMA0, token);
	stream_need(stream, NPU_ENGINE_VECTOR, token);
	return 0;
}

static int prepare(void *context, uint32_t cluster, const struct tile *largest)
{
	struct quantize_job *job = context;
	struct npu_td operand[VECTOR_SLOT_COUNT] = { 0 };

	if (job->bytes) {
		if (load_bytes(job, cluster))
			return -1;
	} else {
		if (vector_load_table(&job->program, job->lower, cluster, operand))
			return -1;
		job->table[cluster] = operand[VECTOR_TABLE];
	}
	for (uint32_t i = 0; i < 2; i++) {
		if (!job->program.uses_temp[i])
			continue;
		job->temp[cluster][i] =
			lower_local(job->lower, cluster, (uint32_t)largest->elements * 4);
		if (job->temp[cluster][i] == UINT32_MAX)
			return diag_error(job->lower->diag,
					  "no room in local SRAM for a temporary tile");
	}
	return 0;
}

static void compute(void *context, uint32_t cluster, const struct tile *tile,
		    const struct npu_td operand[SPACE_MAX_OPERANDS])
{
	const struct quantize_job *job = context;
	struct npu_td slot[VECTOR_SLOT_COUNT] = { 0 };

	slot[VECTOR_OUT] = td_zero(operand[0], job->output_zero);
	for (uint32_t i = 0; i < job->sources; i++)
		slot[VECTOR_IN0 + i] = td_zero(operand[1 + i], job->source_zero[i]);
	slot[VECTOR_TABLE] = job->table[cluster];
	for (uint32_t i = 0; i < 2; i++)
		slot[VECTOR_TEMP0 + i] = tile_dense(tile, NPU_DTYPE_FP32, job->temp[cluster][i]);
	vector_emit(&job->program, job->lower->streams[cluster], slot);
}

int quantize_run(struct quantize_job *job)
{
	struct tile_kernel kernel = { .prepare = prepare, .compute = compute, .context = job };
	const struct graph_value *output = job->node->outputs[0];
	struct lower *lower = job->lower;
	struct tiling tiling;
	struct space space;
	uint32_t temps = job->program.uses_temp[0] + job->program.uses_temp[1];
	int64_t elements;

	if (job->program.overflow)
		return diag_error(lower->diag,
				  "node '%s' (%s): no vector instructions for this form",
				  job->node->name, job->node->op_type);
	kernel.constant_bytes = job->bytes ? TABLE_BYTES : vector_table_bytes(&job->program);
	space_init(&space, output->rank, output->dims);
	space_add(&space, placement_of(output));
	for (uint32_t i = 0; i < job->sources; i++)
		space_add(&space, &job->source[i]);
	space_simplify(&space, 0);
	elements = tile_pipeline_elements(lower, &space, 4 * temps, sizeof(struct npu_table),
					  TILE_ELEMENTS);
	if (!tiling_choose(&tiling, &space, elements, lower->clusters, 2))
		return diag_error(lower->diag,
				  "node '%s' (%s): no tile fits %u bytes of local SRAM; raise --max-sram-bytes",
				  job->node->name, job->node->op_type, lower_local_free(lower, 0));
	return tile_pipeline_run(lower, &tiling, &kernel);
}

/* -------------------------------------------------------------------- (de)quantize */
static void step(struct quantize_job *job, enum npu_vec function, enum vector_slot dst,
		 enum vector_slot a, enum vector_slot b, float scalar)
{
	vector_step(&job->program, function, dst, a, b, VECTOR_NONE, scalar);
}

/* One number a channel along the node's axis, as fp32. */
static enum vector_slot channel_numbers(struct quantize_job *job, const struct graph_value *value,
					bool inverse)
{
	struct placement *placement = &job->source[job->sources];
	int64_t count = graph_element_count(value), i;
	uint32_t rank = job->node->outputs[0]->rank, axis = (uint32_t)job->node->attr.axis.axis;
	__le32 *words = arena_alloc_array(job->lower->arena, (uint64_t)count, sizeof(*words));

	if (!words) {
		diag_error(job->lower->diag, "node '%s': no memory for %lld scales",
			   job->node->name, (long long)count);
		return VECTOR_NONE;
	}
	for (i = 0; i < count; i++) {
		float number = graph_constant_as_f32(value, i);
		uint32_t bits;

		number = inverse ? 1.0f / number : number;
		memcpy(&bits, &number, sizeof(bits));
		words[i] = htole32(bits);
	}
	*placement = (struct placement){ .argument = NPU_ARG_WEIGHTS,
					 .dtype = NPU_DTYPE_FP32,
					 .rank = rank };
	for (uint32_t d = 0; d < rank; d++)
		placement->dims[d] = 1;
	placement->dims[axis] = count;
	placement->strides[axis] = sizeof(*words);
	placement->offset =
		lower_constant(job->lower, words, (size_t)count * sizeof(*words), 64);
	return placement->offset < 0 ? VECTOR_NONE :
				       (enum vector_slot)(VECTOR_IN0 + job->sources++);
}

/* A factor or a zero point of the node: a scalar, or a row operand; false: no memory. */
struct factor {
	enum vector_slot slot;
	float scalar;
};

static bool factor_of(struct quantize_job *job, const struct graph_value *value, bool inverse,
		      struct factor *factor)
{
	if (graph_element_count(value) != 1) {
		*factor = (struct factor){ .slot = channel_numbers(job, value, inverse) };
		return factor->slot != VECTOR_NONE;
	}
	factor->slot = VECTOR_SCALAR;
	factor->scalar = graph_constant_as_f32(value, 0);
	if (inverse)
		factor->scalar = 1.0f / factor->scalar;
	return true;
}

static const struct graph_value *zero_of(const struct graph_node *node)
{
	return node->input_count > 2 ? node->inputs[2] : NULL;
}

/* A zero point that the descriptor of a byte tensor holds. */
static bool in_descriptor(const struct graph_value *zero, const struct placement *bytes)
{
	return zero && graph_element_count(zero) == 1 && NPU_DTYPE_BYTES(bytes->dtype) == 1;
}

int lower_quantize(struct lower *lower, struct graph_node *node)
{
	struct quantize_job job = { .lower = lower, .node = node };
	const struct graph_value *zero = zero_of(node);
	enum vector_slot x = quantize_source(&job, node->inputs[0], 0);
	struct factor scale, offset;

	if (x == VECTOR_NONE || !factor_of(&job, node->inputs[1], true, &scale))
		return -1;
	if (!zero || in_descriptor(zero, placement_of(node->outputs[0]))) {
		job.output_zero = zero ? (int32_t)graph_constant_as_i64(zero, 0) : 0;
		step(&job, NPU_VEC_MUL, VECTOR_OUT, x, scale.slot, scale.scalar);
		return quantize_run(&job);
	}
	if (!factor_of(&job, zero, false, &offset))
		return -1;
	/* Rounded before the zero point: added first, an odd one would turn ties the other way. */
	step(&job, NPU_VEC_MUL, VECTOR_TEMP0, x, scale.slot, scale.scalar);
	step(&job, NPU_VEC_ROUND, VECTOR_TEMP0, VECTOR_TEMP0, VECTOR_NONE, 0);
	if (node->outputs[0]->dtype == GRAPH_DTYPE_U16) {
		/* Held in 32 bits, which do not saturate at its bounds. */
		step(&job, NPU_VEC_ADD, VECTOR_TEMP0, VECTOR_TEMP0, offset.slot, offset.scalar);
		step(&job, NPU_VEC_MAX, VECTOR_TEMP0, VECTOR_TEMP0, VECTOR_SCALAR, 0);
		step(&job, NPU_VEC_MIN, VECTOR_OUT, VECTOR_TEMP0, VECTOR_SCALAR, UINT16_MAX);
	} else {
		step(&job, NPU_VEC_ADD, VECTOR_OUT, VECTOR_TEMP0, offset.slot, offset.scalar);
	}
	return quantize_run(&job);
}

int lower_dequantize(struct lower *lower, struct graph_node *node)
{
	struct quantize_job job = { .lower = lower, .node = node };
	const struct graph_value *zero = zero_of(node);
	enum vector_slot x = quantize_source(&job, node->inputs[0], 0);
	struct factor scale, offset;

	if (x == VECTOR_NONE || !factor_of(&job, node->inputs[1], false, &scale))
		return -1;
	if (!zero || in_descriptor(zero, &job.source[0])) {
		job.source_zero[0] = zero ? (int32_t)graph_constant_as_i64(zero, 0) : 0;
		step(&job, NPU_VEC_MUL, VECTOR_OUT, x, scale.slot, scale.scalar);
		return quantize_run(&job);
	}
	if (!factor_of(&job, zero, false, &offset))
		return -1;
	step(&job, NPU_VEC_SUB, VECTOR_TEMP0, x, offset.slot, offset.scalar);
	step(&job, NPU_VEC_MUL, VECTOR_OUT, VECTOR_TEMP0, scale.slot, scale.scalar);
	return quantize_run(&job);
}
