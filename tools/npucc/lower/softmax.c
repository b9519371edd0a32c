/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX: rows of the axis, whole in each tile; exp and sum in fp32, so that a row of
 * thousands keeps its small probabilities.
 */
#include "tile_pipeline.h"

#define SOFTMAX_TILE_ELEMENTS 16384

struct softmax {
	struct lower *lower;
	bool log;
	uint32_t exponent[NPU_PROGRAM_CLUSTERS_MAX];	/* fp32, the tile */
	uint32_t column[NPU_PROGRAM_CLUSTERS_MAX][2];	/* fp32, a row each: maximum, sum */
};

static int64_t rows_of(const struct tile *tile)
{
	return tile->elements / tile->dims[3];
}

static int prepare(void *context, uint32_t cluster, const struct tile *largest)
{
	struct softmax *softmax = context;
	struct lower *lower = softmax->lower;
	uint32_t *column = softmax->column[cluster];

	softmax->exponent[cluster] = lower_local(lower, cluster, (uint32_t)largest->elements * 4);
	column[0] = lower_local(lower, cluster, (uint32_t)rows_of(largest) * 4);
	column[1] = lower_local(lower, cluster, (uint32_t)rows_of(largest) * 4);
	if (softmax->exponent[cluster] == UINT32_MAX || column[0] == UINT32_MAX ||
	    column[1] == UINT32_MAX)
		return diag_error(lower->diag, "no room in local SRAM for softmax's temporaries");
	return 0;
}

/* One fp32 a row: as a reduction's destination, and repeated along the row. */
static struct npu_td column_of(const struct tile *tile, uint32_t offset)
{
	return td_local_dense(offset, NPU_DTYPE_FP32, tile->dims[0], tile->dims[1], tile->dims[2], 1);
}

static struct npu_td column_repeated(const struct tile *tile, uint32_t offset)
{
	int64_t strides[4] = { 4ll * tile->dims[1] * tile->dims[2], 4ll * tile->dims[2], 4, 0 };

	return td_local(offset, NPU_DTYPE_FP32, tile->dims, strides);
}

#define REDUCE_ROWS 0x8	/* dim 3 */

static void compute(void *context, uint32_t cluster, const struct tile *tile,
		    const struct npu_td operand[SPACE_MAX_OPERANDS])
{
	const struct softmax *softmax = context;
	struct stream *stream = softmax->lower->streams[cluster];
	struct npu_td maximum = column_of(tile, softmax->column[cluster][0]);
	struct npu_td sum = column_of(tile, softmax->column[cluster][1]);
	struct npu_td maximum_row = column_repeated(tile, softmax->column[cluster][0]);
	struct npu_td sum_row = column_repeated(tile, softmax->column[cluster][1]);
	struct npu_td exponent = tile_dense(tile, NPU_DTYPE_FP32, softmax->exponent[cluster]);

	stream_vec(stream, NPU_VEC_REDUCE_MAX, &maximum, &operand[1], NULL, NULL, REDUCE_ROWS, 0);
	stream_vec(stream, NPU_VEC_EXPSUM, &exponent, &operand[1], &maximum_row, &sum, 0, 0);
	if (softmax->log) {
		stream_vec(stream, NPU_VEC_LOG, &sum, &sum, NULL, NULL, 0, 0);
		stream_vec(stream, NPU_VEC_SUB, &exponent, &operand[1], &maximum_row, NULL, 0, 0);
		stream_vec(stream, NPU_VEC_SUB, &operand[0], &exponent, &sum_row, NULL, 0, 0);
		return;
	}
	stream_vec(stream, NPU_VEC_RECIPROCAL, &sum, &sum, NULL, NULL, 0, 0);
	stream_vec(stream, NPU_VEC_MUL, &operand[0], &exponent, &sum_row, NULL, 0, 0);
}

/* The axis is moved last; DMA brings the rows in whatever their strides are. */
static void make_space(const struct placement *out, const struct placement *in, uint32_t axis,
		       struct space *space)
{
	struct placement moved[2] = { *out, *in };

	for (uint32_t p = 0; p < 2; p++) {
		const struct placement *from = p ? in : out;

		for (uint32_t i = axis; i + 1 < from->rank; i++) {
			moved[p].dims[i] = from->dims[i + 1];
			moved[p].strides[i] = from->strides[i + 1];
		}
		moved[p].dims[from->rank - 1] = from->dims[axis];
		moved[p].strides[from->rank - 1] = from->strides[axis];
	}
	space_init(space, out->rank, moved[0].dims);
	space_add(space, &moved[0]);
	space_add(space, &moved[1]);
	space->fixed = 1;
	space_simplify(space, 0);
}

int lower_softmax(struct lower *lower, struct graph_node *node)
{
	struct softmax softmax = { .lower = lower, .log = node->attr.softmax.log };
	struct tile_kernel kernel = { .prepare = prepare, .compute = compute, .context = &softmax };
	struct placement in;
	struct tiling tiling;
	struct space space;
	int64_t elements, row;

	if (lower_read_placement(lower, node->inputs[0], &in))
		return -1;
	make_space(placement_of(node->outputs[0]), &in, (uint32_t)node->attr.softmax.axis, &space);
	row = space.dims[space.rank - 1];
	elements = tile_pipeline_elements(lower, &space, 4 + 8, 0,
					  row > SOFTMAX_TILE_ELEMENTS ? row : SOFTMAX_TILE_ELEMENTS);
	if (!tiling_choose(&tiling, &space, elements, lower->clusters, 2))
		return diag_error(lower->diag,
				  "node '%s' (%s): a row of %lld does not fit %u bytes of local SRAM; raise --max-sram-bytes or split the axis",
				  node->name, node->op_type, (long long)row,
				  lower_local_free(lower, 0));
	return tile_pipeline_run(lower, &tiling, &kernel);
}
