/* SPDX-License-Identifier: MIT */
/*
 * LAYERNORM: rows of the normalised dims, whole in each tile; the mean is taken off before
 * the squares are summed, all in fp32, so that a large mean costs no accuracy.
 */
#include "tile_pipeline.h"

#define NORM_TILE_ELEMENTS 16384
#define REDUCE_ROWS 0x8	/* dim 3 */

struct norm {
	struct lower *lower;
	float epsilon;
	bool rms, has_scale, has_bias;
	uint32_t centred[NPU_PROGRAM_CLUSTERS_MAX];	/* fp32, the tile */
	uint32_t square[NPU_PROGRAM_CLUSTERS_MAX];	/* fp32, the tile */
	uint32_t column[NPU_PROGRAM_CLUSTERS_MAX];	/* fp32, a row each */
};

static int prepare(void *context, uint32_t cluster, const struct tile *largest)
{
	struct norm *norm = context;
	struct lower *lower = norm->lower;
	uint32_t rows = (uint32_t)(largest->elements / largest->dims[3]);

	norm->centred[cluster] = lower_local(lower, cluster, (uint32_t)largest->elements * 4);
	norm->square[cluster] = lower_local(lower, cluster, (uint32_t)largest->elements * 4);
	norm->column[cluster] = lower_local(lower, cluster, rows * 4);
	if (norm->centred[cluster] == UINT32_MAX || norm->square[cluster] == UINT32_MAX ||
	    norm->column[cluster] == UINT32_MAX)
		return diag_error(lower->diag, "no room in local SRAM for normalisation's temporaries");
	return 0;
}

static void compute(void *context, uint32_t cluster, const struct tile *tile,
		    const struct npu_td operand[SPACE_MAX_OPERANDS])
{
	const struct norm *norm = context;
	struct stream *stream = norm->lower->streams[cluster];
	const int64_t strides[4] = { 4ll * tile->dims[1] * tile->dims[2], 4ll * tile->dims[2], 4, 0 };
	struct npu_td column = td_local_dense(norm->column[cluster], NPU_DTYPE_FP32, tile->dims[0],
					      tile->dims[1], tile->dims[2], 1);
	struct npu_td repeated = td_local(norm->column[cluster], NPU_DTYPE_FP32, tile->dims, strides);
	struct npu_td centred = tile_dense(tile, NPU_DTYPE_FP32, norm->centred[cluster]);
	struct npu_td square = tile_dense(tile, NPU_DTYPE_FP32, norm->square[cluster]);
	const struct npu_td *x = &operand[1], *bias = &operand[norm->has_scale ? 3 : 2];

	if (!norm->rms) {
		stream_vec(stream, NPU_VEC_REDUCE_MEAN, &column, x, NULL, NULL, REDUCE_ROWS, 0);
		stream_vec(stream, NPU_VEC_SUB, &centred, x, &repeated, NULL, 0, 0);
		x = &centred;
	}
	stream_vec(stream, NPU_VEC_MUL, &square, x, x, NULL, 0, 0);
	stream_vec(stream, NPU_VEC_REDUCE_MEAN, &column, &square, NULL, NULL, REDUCE_ROWS, 0);
	stream_vec(stream, NPU_VEC_ADD, &column, &column, STREAM_SCALAR, NULL, 0, norm->epsilon);
	stream_vec(stream, NPU_VEC_RSQRT, &column, &column, NULL, NULL, 0, 0);
	if (!norm->has_scale && !norm->has_bias) {
		stream_vec(stream, NPU_VEC_MUL, &operand[0], x, &repeated, NULL, 0, 0);
		return;
	}
	if (!norm->has_scale) {
		stream_vec(stream, NPU_VEC_MULADD, &operand[0], x, &repeated, bias, 0, 0);
		return;
	}
	stream_vec(stream, NPU_VEC_MUL, &centred, x, &repeated, NULL, 0, 0);
	if (norm->has_bias)
		stream_vec(stream, NPU_VEC_MULADD, &operand[0], &centred, &operand[2], bias, 0, 0);
	else
		stream_vec(stream, NPU_VEC_MUL, &operand[0], &centred, &operand[2], NULL, 0, 0);
}

/* Merges dims axis.. into one where every operand allows it; the reduction wants a single row. */
static bool single_row(const struct space *space)
{
	return space->fixed == 1;
}

int lower_norm(struct lower *lower, struct graph_node *node)
{
	const struct graph_value *output = node->outputs[0];
	struct norm norm = {
		.lower = lower, .epsilon = node->attr.norm.epsilon, .rms = node->attr.norm.rms,
		.has_scale = node->input_count > 1 && node->inputs[1],
		.has_bias = node->input_count > 2 && node->inputs[2],
	};
	struct tile_kernel kernel = { .prepare = prepare, .compute = compute, .context = &norm };
	struct tiling tiling;
	struct space space;
	int64_t elements, row;

	space_init(&space, output->rank, output->dims);
	space_add(&space, placement_of(output));
	for (uint32_t i = 0; i < node->input_count; i++) {
		struct placement placement;

		if (!node->inputs[i])
			continue;
		if (lower_read_wide(lower, node->inputs[i], &placement))
			return -1;
		space_add(&space, &placement);
	}
	space.fixed = output->rank - (uint32_t)node->attr.norm.axis;
	space_simplify(&space, 0);
	if (!single_row(&space))
		return diag_error(lower->diag,
				  "node '%s' (%s): the normalised dimensions are not contiguous; normalise the last dimension alone, or put a Transpose before the node",
				  node->name, node->op_type);
	row = space.dims[space.rank - 1];
	elements = tile_pipeline_elements(lower, &space, 4 + 4 + 4, 0,
					  row > NORM_TILE_ELEMENTS ? row : NORM_TILE_ELEMENTS);
	if (!tiling_choose(&tiling, &space, elements, lower->clusters, 2))
		return diag_error(lower->diag,
				  "node '%s' (%s): a row of %lld does not fit %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, (long long)row,
				  lower_local_free(lower, 0));
	return tile_pipeline_run(lower, &tiling, &kernel);
}
