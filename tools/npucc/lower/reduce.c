/* SPDX-License-Identifier: MIT */
/*
 * REDUCE and global pooling: kept dims are split over tiles and clusters, reduced dims
 * are walked inside; partial results are kept in fp32 until the last part is in.
 */
#include "tile.h"

#include <math.h>
#include <string.h>

#define REDUCE_TILE_ELEMENTS 16384

struct reduction {
	enum npu_vec part;		/* reduces a tile */
	enum npu_vec combine;		/* joins two partial results */
	bool square;			/* of the elements, first */
	bool absolute;
	bool negate;			/* before and after: minimum as maximum */
	bool product;
	bool root, logarithm;
	float scale;			/* of the result */
};

struct reduce {
	struct lower *lower;
	struct reduction how;
	int32_t in_zero, out_zero;	/* of integers */
	struct tiling kept;		/* operands: 0 output, 1 input, over the kept dims */
	/* the reduced dims, outermost first */
	uint32_t rank;
	int64_t dims[GRAPH_MAX_RANK], strides[GRAPH_MAX_RANK];
	uint32_t split;			/* reduced dims after it are whole in a part */
	int64_t chunk;
	uint64_t parts;
};

static bool reduction_of(enum graph_reduce_kind kind, int64_t count, struct reduction *how)
{
	*how = (struct reduction) { NPU_VEC_REDUCE_SUM, NPU_VEC_ADD, .scale = 1 };
	switch (kind) {
	case GRAPH_REDUCE_SUM:
		return true;
	case GRAPH_REDUCE_MEAN:
		how->scale = (float)(1.0 / (double)count);
		return true;
	case GRAPH_REDUCE_MAX:
		how->part = NPU_VEC_REDUCE_MAX;
		how->combine = NPU_VEC_MAX;
		return true;
	case GRAPH_REDUCE_MIN:
		how->part = NPU_VEC_REDUCE_MAX;
		how->combine = NPU_VEC_MAX;
		how->negate = true;
		return true;
	case GRAPH_REDUCE_PROD:
		how->product = true;
		how->combine = NPU_VEC_MUL;
		return true;
	case GRAPH_REDUCE_L1:
		how->absolute = true;
		return true;
	case GRAPH_REDUCE_L2:
		how->square = true;
		how->root = true;
		return true;
	case GRAPH_REDUCE_SUM_SQUARE:
		how->square = true;
		return true;
	case GRAPH_REDUCE_LOG_SUM:
		how->logarithm = true;
		return true;
	default:
		return false;
	}
}

static int64_t magnitude(int64_t value)
{
	return value < 0 ? -value : value;
}

/* Collects the reduced dims, largest stride outermost, contiguous ones merged. */
static void collect_reduced(struct reduce *reduce, const struct placement *in, uint32_t axes)
{
	reduce->rank = 0;
	for (uint32_t i = 0; i < in->rank; i++) {
		uint32_t at = reduce->rank;

		if (!(axes >> i & 1) || in->dims[i] == 1)
			continue;
		while (at > 0 && magnitude(reduce->strides[at - 1]) < magnitude(in->strides[i])) {
			reduce->dims[at] = reduce->dims[at - 1];
			reduce->strides[at] = reduce->strides[at - 1];
			at--;
		}
		reduce->dims[at] = in->dims[i];
		reduce->strides[at] = in->strides[i];
		reduce->rank++;
	}
	for (uint32_t i = reduce->rank; i-- > 1;) {
		if (reduce->strides[i - 1] != reduce->strides[i] * reduce->dims[i])
			continue;
		reduce->dims[i - 1] *= reduce->dims[i];
		reduce->strides[i - 1] = reduce->strides[i];
		for (uint32_t j = i; j + 1 < reduce->rank; j++) {
			reduce->dims[j] = reduce->dims[j + 1];
			reduce->strides[j] = reduce->strides[j + 1];
		}
		reduce->rank--;
	}
	if (reduce->rank == 0) {
		reduce->rank = 1;
		reduce->dims[0] = 1;
		reduce->strides[0] = 0;
	}
}

/* Output seen with the input's rank: reduced dims have size 1. */
static void kept_space(const struct graph_node *node, const struct placement *out,
		       const struct placement *in, uint32_t axes, bool output_keeps,
		       struct space *space)
{
	struct placement view[2] = { *in, *in };
	uint32_t o = 0;

	(void)node;
	for (uint32_t i = 0; i < in->rank; i++) {
		bool reduced = axes >> i & 1;

		if (reduced) {
			for (uint32_t p = 0; p < 2; p++) {
				view[p].dims[i] = 1;
				view[p].strides[i] = 0;
			}
			o += output_keeps;
			continue;
		}
		view[0].strides[i] = out->strides[o++];
	}
	view[0].argument = out->argument;
	view[0].offset = out->offset;
	view[0].dtype = out->dtype;
	space_init(space, in->rank, view[0].dims);
	space_add(space, &view[0]);
	space_add(space, &view[1]);
	space_simplify(space, 1);
}

/*
 * A part is a tile of at most two kept dims and two reduced ones (four in all); kept dims outside,
 * so the innermost is a reduced dim, unless a kept one is contiguous in memory: then lanes keep
 * columns and rows are added up.
 */
static bool choose_tiles(struct reduce *reduce, const struct space *space, int64_t elements)
{
	int64_t last = reduce->dims[reduce->rank - 1], before, inner;

	reduce->split = reduce->rank - 1;
	reduce->chunk = last < elements ? last : elements;
	if (reduce->chunk > 65535)
		reduce->chunk = 65535;
	inner = reduce->chunk;
	if (inner == last && reduce->rank > 1) {
		before = reduce->dims[reduce->rank - 2];
		reduce->split = reduce->rank - 2;
		reduce->chunk = elements / inner < before ? elements / inner : before;
		if (reduce->chunk > 65535)
			reduce->chunk = 65535;
		inner *= reduce->chunk;
	}
	reduce->parts = (uint64_t)((reduce->dims[reduce->split] + reduce->chunk - 1) / reduce->chunk);
	for (uint32_t i = 0; i < reduce->split; i++)
		reduce->parts *= (uint64_t)reduce->dims[i];
	for (int64_t room = elements / inner; room >= 1; room /= 2) {
		if (!tiling_choose(&reduce->kept, space, room, reduce->lower->clusters, 1))
			return false;
		/* Two kept dims at most: the other two of the four belong to the reduction. */
		if (space->rank - reduce->kept.split <= 2)
			return true;
	}
	return false;
}

struct part {
	uint32_t dims[2];	/* of the reduction: outer, inner */
	int64_t strides[2];
	int64_t offset;
};

static void part_at(const struct reduce *reduce, uint64_t index, struct part *part)
{
	uint32_t split = reduce->split;
	uint64_t pieces = (uint64_t)((reduce->dims[split] + reduce->chunk - 1) / reduce->chunk);
	int64_t start = (int64_t)(index % pieces) * reduce->chunk;
	int64_t size = reduce->dims[split] - start;

	if (size > reduce->chunk)
		size = reduce->chunk;
	part->offset = start * reduce->strides[split];
	index /= pieces;
	for (uint32_t i = split; i-- > 0;) {
		part->offset += (int64_t)(index % (uint64_t)reduce->dims[i]) * reduce->strides[i];
		index /= (uint64_t)reduce->dims[i];
	}
	if (split == reduce->rank - 1) {
		part->dims[0] = 1;
		part->strides[0] = 0;
		part->dims[1] = (uint32_t)size;
		part->strides[1] = reduce->strides[split];
	} else {
		part->dims[0] = (uint32_t)size;
		part->strides[0] = reduce->strides[split];
		part->dims[1] = (uint32_t)reduce->dims[split + 1];
		part->strides[1] = reduce->strides[split + 1];
	}
}

struct cluster_state {
	struct ring in, out;
	uint32_t square, partial, total;	/* fp32: a part, the kept tile twice */
};

/* Which order the local copy has: kept dims innermost where they are contiguous in memory. */
static bool kept_innermost(const struct tile *tile, const struct part *part)
{
	int64_t kept = magnitude(tile->strides[1][3]), reduced = magnitude(part->strides[1]);

	return tile->dims[3] > 1 && kept && (kept < reduced || part->dims[1] == 1);
}

static struct npu_td input_dram(const struct reduce *reduce, const struct tile *tile,
				const struct part *part)
{
	const struct space_operand *in = &reduce->kept.space->operand[1];
	uint32_t kept[2] = { tile->dims[2], tile->dims[3] };
	bool columns = kept_innermost(tile, part);
	uint32_t dims[4] = { kept[0], kept[1], part->dims[0], part->dims[1] };
	int64_t strides[4] = { tile->strides[1][2], tile->strides[1][3], part->strides[0],
			       part->strides[1] };

	if (columns) {
		uint32_t d[4] = { part->dims[0], part->dims[1], kept[0], kept[1] };
		int64_t s[4] = { part->strides[0], part->strides[1], strides[0], strides[1] };

		return td_dram(in->argument, tile->offset[1] + part->offset, in->dtype, d, s);
	}
	return td_dram(in->argument, tile->offset[1] + part->offset, in->dtype, dims, strides);
}

/* The part in local SRAM, dense in the same order, and the result's shape for the reduction. */
static struct npu_td part_local(const struct tile *tile, const struct part *part,
				enum npu_dtype dtype, uint32_t offset)
{
	if (kept_innermost(tile, part))
		return td_local_dense(offset, dtype, part->dims[0], part->dims[1], tile->dims[2],
				      tile->dims[3]);
	return td_local_dense(offset, dtype, tile->dims[2], tile->dims[3], part->dims[0],
			      part->dims[1]);
}

static struct npu_td result_of(const struct tile *tile, const struct part *part,
			       enum npu_dtype dtype, uint32_t offset)
{
	if (kept_innermost(tile, part))
		return td_local_dense(offset, dtype, 1, 1, tile->dims[2], tile->dims[3]);
	return td_local_dense(offset, dtype, tile->dims[2], tile->dims[3], 1, 1);
}

/* Whether elements are changed into fp32 before they are reduced. */
static bool changes_elements(const struct reduction *how)
{
	return how->square || how->absolute || how->negate || how->product;
}

/*
 * The product over the dims in @mask of the dense fp32 tensor at @offset, which is used up: halves of a
 * dim are multiplied until one element is left.
 */
static void multiply_part(struct stream *stream, uint32_t offset, uint32_t dims[4], uint16_t mask,
			  const struct npu_td *result)
{
	int64_t strides[4] = { 4ll * dims[1] * dims[2] * dims[3], 4ll * dims[2] * dims[3],
			       4ll * dims[3], 4 };
	struct npu_td low, high;

	for (uint32_t d = 0; d < 4; d++) {
		uint32_t left = dims[d];

		while ((mask >> d & 1) && left > 1) {
			dims[d] = left / 2;
			low = td_local(offset, NPU_DTYPE_FP32, dims, strides);
			left -= dims[d];
			high = td_local(offset + left * (uint32_t)strides[d], NPU_DTYPE_FP32, dims,
					strides);
			stream_vec(stream, NPU_VEC_MUL, &low, &low, &high, NULL, 0, 0);
		}
		dims[d] = left;
	}
	low = td_local(offset, NPU_DTYPE_FP32, dims, strides);
	stream_vec(stream, NPU_VEC_COPY, result, &low, NULL, NULL, 0, 0);
}

static void part_dims(const struct tile *tile, const struct part *part, uint32_t dims[4])
{
	bool columns = kept_innermost(tile, part);

	dims[columns ? 0 : 2] = part->dims[0];
	dims[columns ? 1 : 3] = part->dims[1];
	dims[columns ? 2 : 0] = tile->dims[2];
	dims[columns ? 3 : 1] = tile->dims[3];
}

static void reduce_part(const struct reduce *reduce, struct stream *stream,
			const struct cluster_state *state, const struct tile *tile,
			const struct part *part, uint32_t local, bool first)
{
	enum npu_dtype dtype = reduce->kept.space->operand[1].dtype;
	struct npu_td input = td_zero(part_local(tile, part, dtype, local), reduce->in_zero);
	struct npu_td changed = part_local(tile, part, NPU_DTYPE_FP32, state->square);
	uint32_t into = first ? state->total : state->partial;
	struct npu_td result = result_of(tile, part, NPU_DTYPE_FP32, into);
	struct npu_td total = result_of(tile, part, NPU_DTYPE_FP32, state->total);
	uint16_t mask = kept_innermost(tile, part) ? 0x3 : 0xc;
	const struct npu_td *source = &input;

	if (changes_elements(&reduce->how)) {
		if (reduce->how.product)
			stream_vec(stream, NPU_VEC_COPY, &changed, &input, NULL, NULL, 0, 0);
		else if (reduce->how.square)
			stream_vec(stream, NPU_VEC_MUL, &changed, &input, &input, NULL, 0, 0);
		else if (reduce->how.absolute)
			stream_vec(stream, NPU_VEC_ABS, &changed, &input, NULL, NULL, 0, 0);
		else
			stream_vec(stream, NPU_VEC_MUL, &changed, &input, STREAM_SCALAR, NULL, 0, -1);
		source = &changed;
	}
	if (reduce->how.product) {
		uint32_t dims[4];

		part_dims(tile, part, dims);
		multiply_part(stream, state->square, dims, mask, &result);
	} else {
		stream_vec(stream, reduce->how.part, &result, source, NULL, NULL, mask, 0);
	}
	if (!first)
		stream_vec(stream, reduce->how.combine, &total, &total, &result, NULL, 0, 0);
}

static void finish(const struct reduce *reduce, struct stream *stream,
		   const struct cluster_state *state, const struct tile *tile, uint32_t local)
{
	struct npu_td total = tile_dense(tile, NPU_DTYPE_FP32, state->total);
	struct npu_td spare = tile_dense(tile, NPU_DTYPE_FP32, state->partial);
	struct npu_td out = td_zero(tile_view(&reduce->kept, tile, 0, local), reduce->out_zero);

	if (reduce->how.root) {
		stream_vec(stream, NPU_VEC_MAX, &spare, &total, STREAM_SCALAR, NULL, 0,
			   1.17549435e-38f);
		stream_vec(stream, NPU_VEC_RSQRT, &spare, &spare, NULL, NULL, 0, 0);
		stream_vec(stream, NPU_VEC_MUL, &out, &total, &spare, NULL, 0, 0);
	} else if (reduce->how.logarithm) {
		stream_vec(stream, NPU_VEC_LOG, &out, &total, NULL, NULL, 0, 0);
	} else {
		stream_vec(stream, NPU_VEC_MUL, &out, &total, STREAM_SCALAR, NULL, 0,
			   reduce->how.negate ? -1 : reduce->how.scale);
	}
}

static int open_cluster(struct reduce *reduce, uint32_t cluster, uint64_t tiles,
			struct cluster_state *state)
{
	struct lower *lower = reduce->lower;
	const struct space *space = reduce->kept.space;
	uint32_t slots = lower->pipeline_stages, elements;
	struct tile tile;
	struct part part;

	tile_at(&reduce->kept, 0, &tile);
	part_at(reduce, 0, &part);
	elements = (uint32_t)tile.elements * part.dims[0] * part.dims[1];
	state->total = lower_local(lower, cluster, (uint32_t)tile.elements * 4);
	state->partial = lower_local(lower, cluster, (uint32_t)tile.elements * 4);
	state->square = 0;
	if (changes_elements(&reduce->how))
		state->square = lower_local(lower, cluster, elements * 4);
	if (state->total == UINT32_MAX || state->partial == UINT32_MAX || state->square == UINT32_MAX)
		return diag_error(lower->diag, "no room in local SRAM for a reduction's temporaries");
	if (ring_init(&state->in, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_VECTOR,
		      elements * NPU_DTYPE_BYTES(space->operand[1].dtype), slots,
		      (uint32_t)(tiles * reduce->parts)))
		return -1;
	return ring_init(&state->out, lower, cluster, NPU_ENGINE_VECTOR, NPU_ENGINE_DMA1,
			 tile_bytes(&reduce->kept, 0), slots, (uint32_t)tiles);
}

static void load_part(struct reduce *reduce, struct stream *stream, struct cluster_state *state,
		      uint64_t index)
{
	enum npu_dtype dtype = reduce->kept.space->operand[1].dtype;
	struct npu_td source, target;
	struct tile tile;
	struct part part;

	tile_at(&reduce->kept, index / reduce->parts, &tile);
	part_at(reduce, index % reduce->parts, &part);
	source = input_dram(reduce, &tile, &part);
	target = part_local(&tile, &part, dtype, ring_produce_begin(&state->in));
	stream_dma(stream, 0, &target, &source, 0);
	ring_produce_end(&state->in);
}

static int reduce_cluster(struct reduce *reduce, uint32_t cluster)
{
	struct stream *stream = reduce->lower->streams[cluster];
	struct cluster_state state;
	uint64_t first, last, end;

	lower_share(reduce->kept.tiles, reduce->lower->clusters, cluster, &first, &last);
	if (first == last)
		return 0;
	if (open_cluster(reduce, cluster, last - first, &state))
		return -1;
	end = last * reduce->parts;
	load_part(reduce, stream, &state, first * reduce->parts);
	for (uint64_t index = first * reduce->parts; index < end; index++) {
		uint64_t at = index % reduce->parts;
		struct npu_td source, target;
		struct tile tile;
		struct part part;

		if (index + 1 < end)
			load_part(reduce, stream, &state, index + 1);
		tile_at(&reduce->kept, index / reduce->parts, &tile);
		part_at(reduce, at, &part);
		reduce_part(reduce, stream, &state, &tile, &part, ring_consume_begin(&state.in),
			    at == 0);
		ring_consume_end(&state.in);
		if (at + 1 < reduce->parts)
			continue;
		finish(reduce, stream, &state, &tile, ring_produce_begin(&state.out));
		ring_produce_end(&state.out);
		source = tile_local(&reduce->kept, &tile, 0, ring_consume_begin(&state.out));
		target = tile_dram(&reduce->kept, &tile, 0);
		stream_dma(stream, 1, &target, &source, 0);
		ring_consume_end(&state.out);
	}
	return 0;
}

static int run(struct lower *lower, struct graph_node *node, enum graph_reduce_kind kind,
	       uint32_t axes, bool output_keeps)
{
	struct reduce reduce = { .lower = lower };
	struct placement in;
	struct space space;
	int64_t count = 1, elements;

	if (lower_read_placement(lower, node->inputs[0], &in))
		return -1;
	for (uint32_t i = 0; i < in.rank; i++)
		count *= axes >> i & 1 ? in.dims[i] : 1;
	if (!reduction_of(kind, count, &reduce.how))
		return diag_error(lower->diag, "node '%s' (%s): no reduction of kind %s on the device",
				  node->name, node->op_type, graph_reduce_name(kind));
	if (node->quant) {
		reduce.in_zero = node->quant->inputs[0].zero;
		reduce.out_zero = node->quant->output.zero;
		reduce.how.scale *= node->quant->inputs[0].scales[0] / node->quant->output.scales[0];
	}
	kept_space(node, placement_of(node->outputs[0]), &in, axes, output_keeps, &space);
	collect_reduced(&reduce, &in, axes);
	/* Kept tiles are at most as large as parts: four fp32 and two copies of each cover all. */
	elements = lower_local_free(lower, 0) / (2 * 4 + 4 * lower->pipeline_stages + 4);
	if (elements > REDUCE_TILE_ELEMENTS)
		elements = REDUCE_TILE_ELEMENTS;
	if (!choose_tiles(&reduce, &space, elements))
		return diag_error(lower->diag,
				  "node '%s' (%s): no tile fits %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, lower_local_free(lower, 0));
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++)
		if (reduce_cluster(&reduce, cluster))
			return -1;
	return 0;
}

int lower_reduce(struct lower *lower, struct graph_node *node)
{
	return run(lower, node, node->attr.reduce.kind, node->attr.reduce.axes,
		   node->attr.reduce.keep_dims);
}

int lower_global_pool(struct lower *lower, struct graph_node *node)
{
	enum graph_reduce_kind kind = node->attr.pool.kind == GRAPH_POOL_MAX ? GRAPH_REDUCE_MAX :
									      GRAPH_REDUCE_MEAN;

	return run(lower, node, kind, 0xc, true);
}
