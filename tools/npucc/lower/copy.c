/* SPDX-License-Identifier: MIT */
/*
 * Pure movement: TRANSPOSE, RESHAPE, CONCAT, SLICE, SPLIT, PAD, EXPAND and GATHER by constant
 * indices, where layout_plan() could not make the value a view. DRAM to DRAM by DMA; the
 * clusters share the outermost dim.
 */
#include "copy.h"

#include <endian.h>
#include <string.h>

#include "../support/half.h"
#include "tile.h"

#define COPY_TILE_ELEMENTS (1 << 20)

/* Cycles of transfers between two points, as predicted. */
#define GROUP_CYCLES 1500u

/* Of all clusters' transfers, for @elements. */
static uint64_t copy_cycles(const struct lower *lower, const struct placement *out,
			    const struct placement *in, uint64_t elements)
{
	uint64_t bytes = elements * NPU_DTYPE_BYTES(out->dtype), dram = 0;

	dram += out->argument == STREAM_ARGUMENT_GLOBAL ? 0 : bytes;
	dram += in->argument == STREAM_ARGUMENT_GLOBAL ? 0 : bytes;
	return dram ? dram / lower->config->dram_bytes :
		      bytes / lower->clusters / lower->config->dma_layout_bytes;
}

/* Of one transfer: one on each channel of each cluster make a group. */
static int64_t transfer_elements(const struct lower *lower, const struct placement *out,
				 const struct placement *in)
{
	uint64_t group = (uint64_t)COPY_TILE_ELEMENTS * GROUP_CYCLES /
			 (copy_cycles(lower, out, in, COPY_TILE_ELEMENTS) + 1);
	int64_t elements = (int64_t)(group / lower->clusters / 2);

	return elements < COPY_TILE_ELEMENTS ? elements + 1 : COPY_TILE_ELEMENTS;
}

/* A region's transfers, in groups with a point between each two. */
struct region {
	struct lower *lower;
	const struct tiling *tiling;
	const struct placement *out, *in;
	uint32_t points, first_point;
};

static void move(const struct region *region, uint32_t cluster, uint64_t index)
{
	struct npu_td source, target;
	struct tile tile;

	tile_at(region->tiling, index, &tile);
	target = td_dram(region->out->argument, tile.offset[0], region->out->dtype, tile.dims,
			 tile.strides[0]);
	source = td_dram(region->in->argument, tile.offset[1], region->in->dtype, tile.dims,
			 tile.strides[1]);
	stream_dma(region->lower->streams[cluster], (unsigned int)(index & 1), &target, &source, 0);
}

/*
 * Decode is not to run on to the end of the layer: it stands at a point until the group before the
 * last one is done, while the last one keeps the channels busy.
 */
static void move_groups(const struct region *region, uint32_t cluster, uint64_t first,
			uint64_t last)
{
	struct stream *stream = region->lower->streams[cluster];
	const unsigned int token[2] = { lower_token(region->lower, cluster),
					lower_token(region->lower, cluster) };
	bool given[2] = { false, false };
	uint64_t at = first;

	for (uint32_t group = 0; group <= region->points; group++) {
		uint64_t end = first + (last - first) * (group + 1) / (region->points + 1);
		bool moved[2] = { false, false };

		for (; at < end; at++) {
			move(region, cluster, at);
			moved[at & 1] = true;
		}
		if (group == region->points)
			break;
		for (unsigned int channel = 0; channel < 2; channel++) {
			if (given[channel])
				stream_need(stream, NPU_ENGINE_FRONT, token[channel]);
			given[channel] = moved[channel] && group + 1 < region->points;
			if (given[channel])
				stream_give(stream, NPU_ENGINE_DMA0 + channel, token[channel]);
		}
		stream_wait(stream);
		points_here(region->lower->points, region->first_point + group, cluster, stream);
	}
	/* All of them were taken. */
	region->lower->tokens_used[cluster] -= 2;
}

static uint64_t layer_elements(const struct graph_node *node)
{
	uint64_t elements = 0;

	for (uint32_t i = 0; i < node->output_count; i++)
		elements += (uint64_t)graph_element_count(node->outputs[i]);
	return elements ? elements : 1;
}

static void add_points(struct region *region, const struct graph_node *node)
{
	struct lower *lower = region->lower;
	uint64_t tiles = region->tiling->tiles, elements = 1, all = layer_elements(node), points;

	for (uint32_t i = 0; i < region->tiling->space->rank; i++)
		elements *= (uint64_t)region->tiling->space->dims[i];
	points = copy_cycles(lower, region->out, region->in, elements) / GROUP_CYCLES;
	if (points > tiles / lower->clusters)
		points = tiles / lower->clusters;
	region->points = (uint32_t)points;
	for (uint64_t i = 1; i <= points; i++) {
		uint64_t done = lower->copied + elements * i / (points + 1);
		uint32_t point = points_add(lower->points, (uint32_t)((done < all ? done : all) *
								      POINTS_WHOLE / all));

		if (i == 1)
			region->first_point = point;
	}
	lower->copied += elements;
}

int copy_region(struct lower *lower, const struct graph_node *node, const struct placement *out,
		const struct placement *in)
{
	struct tiling tiling;
	struct space space;
	struct region region = { .lower = lower, .tiling = &tiling, .out = out, .in = in };

	space_init(&space, out->rank, out->dims);
	space_add(&space, out);
	space_add(&space, in);
	space_simplify(&space, 0);
	if (!tiling_choose(&tiling, &space, transfer_elements(lower, out, in), lower->clusters, 2))
		return diag_error(lower->diag, "node '%s' (%s): cannot be cut into transfers",
				  node->name, node->op_type);
	add_points(&region, node);
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++) {
		uint64_t clusters = lower->clusters;

		move_groups(&region, cluster, (tiling.tiles * cluster + clusters - 1) / clusters,
			    (tiling.tiles * (cluster + 1) + clusters - 1) / clusters);
	}
	return 0;
}

static void barrier(struct lower *lower)
{
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++)
		stream_barrier(lower->streams[cluster]);
}

/* The part of @whole that starts at @start and has the dims of @dims. */
static struct placement part_of(const struct placement *whole, const int64_t *start,
				const int64_t *dims)
{
	struct placement part = *whole;

	for (uint32_t i = 0; i < whole->rank; i++) {
		part.offset += start[i] * whole->strides[i];
		part.dims[i] = dims[i];
	}
	return part;
}

static int copy_transpose(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	const struct placement *out = placement_of(node->outputs[0]);
	struct placement view = *in;

	for (uint32_t i = 0; i < in->rank; i++) {
		view.dims[i] = in->dims[node->attr.transpose.perm[i]];
		view.strides[i] = in->strides[node->attr.transpose.perm[i]];
	}
	return copy_region(lower, node, out, &view);
}

/*
 * Two shapes of the same elements in the same order, cut into dims that both are made of:
 * [6,4] and [2,12] become [2,3,4]. False where no such dims exist ([4,6] and [3,8]).
 */
static bool refine(struct placement *a, struct placement *b)
{
	struct placement from[2] = { *a, *b };
	struct placement *to[2] = { a, b };
	uint32_t at[2] = { a->rank, b->rank }, rank = 0;
	int64_t left[2] = { 1, 1 }, stride[2] = { 0, 0 };
	int64_t dims[GRAPH_MAX_RANK], strides[2][GRAPH_MAX_RANK];

	/* Innermost first; `left` is what the current dim of each still holds. */
	for (;;) {
		for (uint32_t p = 0; p < 2; p++)
			while (left[p] == 1 && at[p] > 0) {
				left[p] = from[p].dims[--at[p]];
				stride[p] = from[p].strides[at[p]];
			}
		if (left[0] == 1 && left[1] == 1)
			break;
		int64_t piece = left[0] < left[1] ? left[0] : left[1];

		if (piece == 1 || left[0] % piece || left[1] % piece || rank == GRAPH_MAX_RANK)
			return false;
		dims[rank] = piece;
		for (uint32_t p = 0; p < 2; p++) {
			strides[p][rank] = stride[p];
			stride[p] *= piece;
			left[p] /= piece;
		}
		rank++;
	}
	for (uint32_t p = 0; p < 2; p++) {
		to[p]->rank = rank;
		for (uint32_t i = 0; i < rank; i++) {
			to[p]->dims[i] = dims[rank - 1 - i];
			to[p]->strides[i] = strides[p][rank - 1 - i];
		}
	}
	return true;
}

static int copy_reshape(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	struct placement out = *placement_of(node->outputs[0]), from = *in;

	/* Dims that step as one are no dims: dense shapes always have one in common. */
	placement_collapse(&out, 1);
	placement_collapse(&from, 1);
	if (!refine(&out, &from))
		return diag_error(lower->diag,
				  "node '%s' (%s): the two shapes share no common dims and the source is not contiguous; put the Reshape before the Transpose",
				  node->name, node->op_type);
	return copy_region(lower, node, &out, &from);
}

static int copy_concat(struct lower *lower, struct graph_node *node)
{
	const struct placement *out = placement_of(node->outputs[0]);
	int64_t start[GRAPH_MAX_RANK] = { 0 };
	uint32_t axis = (uint32_t)node->attr.axis.axis;

	for (uint32_t i = 0; i < node->input_count; i++) {
		struct placement in, part;

		if (lower_read_placement(lower, node->inputs[i], &in))
			return -1;
		part = part_of(out, start, in.dims);
		start[axis] += in.dims[axis];
		if (in.dims[axis] && copy_region(lower, node, &part, &in))
			return -1;
	}
	return 0;
}

static int copy_slice(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	const struct placement *out = placement_of(node->outputs[0]);
	const struct graph_attr_slice *slice = &node->attr.slice;
	struct placement view = part_of(in, slice->start, out->dims);

	for (uint32_t i = 0; i < in->rank; i++)
		view.strides[i] = in->strides[i] * slice->step[i];
	return copy_region(lower, node, out, &view);
}

static int copy_split(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	int64_t start[GRAPH_MAX_RANK] = { 0 };
	uint32_t axis = (uint32_t)node->attr.axis.axis;

	for (uint32_t i = 0; i < node->output_count; i++) {
		const struct placement *out = placement_of(node->outputs[i]);
		struct placement part = part_of(in, start, out->dims);

		start[axis] += out->dims[axis];
		if (copy_region(lower, node, out, &part))
			return -1;
	}
	return 0;
}

/* The bytes of @number in a device type, little endian; returns their count. */
static size_t encode(float number, enum npu_dtype dtype, uint8_t bytes[4])
{
	uint32_t bits;

	if (dtype == NPU_DTYPE_FP16)
		bits = half_from_constant(number);
	else if (dtype == NPU_DTYPE_FP32)
		memcpy(&bits, &number, sizeof(bits));
	else
		bits = (uint32_t)(int32_t)number;
	bits = htole32(bits);
	memcpy(bytes, &bits, sizeof(bits));
	return NPU_DTYPE_BYTES(dtype);
}

int copy_fill(struct lower *lower, const struct graph_node *node, const struct placement *out,
	      float number)
{
	struct placement fill = *out;
	uint8_t bytes[4];
	size_t size = encode(number, out->dtype, bytes);

	fill.argument = NPU_ARG_WEIGHTS;
	fill.offset = lower_constant(lower, bytes, size, 4);
	memset(fill.strides, 0, sizeof(fill.strides));
	return fill.offset < 0 ? -1 : copy_region(lower, node, out, &fill);
}

static int copy_pad(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	const struct placement *out = placement_of(node->outputs[0]);
	const struct graph_attr_pad *pad = &node->attr.pad;
	int64_t from[GRAPH_MAX_RANK], to[GRAPH_MAX_RANK], dims[GRAPH_MAX_RANK];
	struct placement source, target;
	bool grows = false;

	for (uint32_t i = 0; i < in->rank; i++) {
		int64_t end = pad->end[i] < 0 ? pad->end[i] : 0;

		from[i] = pad->begin[i] < 0 ? -pad->begin[i] : 0;
		to[i] = pad->begin[i] > 0 ? pad->begin[i] : 0;
		dims[i] = in->dims[i] - from[i] + end;
		grows |= pad->begin[i] > 0 || pad->end[i] > 0;
		if (dims[i] <= 0)
			return diag_error(lower->diag, "node '%s' (%s): nothing of dimension %u is left",
					  node->name, node->op_type, i);
	}
	if (grows) {
		if (copy_fill(lower, node, out, pad->value))
			return -1;
		/* The inside is written by other channels and clusters than the fill. */
		barrier(lower);
	}
	source = part_of(in, from, dims);
	target = part_of(out, to, dims);
	return copy_region(lower, node, &target, &source);
}

static int copy_expand(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	return copy_region(lower, node, placement_of(node->outputs[0]), in);
}

/* Rows of consecutive indices are one transfer. */
static int copy_gather(struct lower *lower, struct graph_node *node, const struct placement *in)
{
	const struct placement *out = placement_of(node->outputs[0]);
	const struct graph_value *indices = node->inputs[1];
	uint32_t axis = (uint32_t)node->attr.axis.axis;
	int64_t count = graph_element_count(indices), dim = in->dims[axis];
	struct placement flat = *out;
	int64_t stride = axis + indices->rank > 0 && indices->rank ?
			 out->strides[axis + indices->rank - 1] : 0;

	/* The indices' dims, flattened into one: contiguous among themselves by construction. */
	for (uint32_t i = 1; i < indices->rank; i++)
		if (out->strides[axis + i - 1] != out->strides[axis + i] * out->dims[axis + i])
			return diag_error(lower->diag,
					  "node '%s' (%s): the result's layout splits the indices' dimensions",
					  node->name, node->op_type);
	flat.rank = in->rank;
	for (uint32_t i = 0; i < in->rank; i++) {
		uint32_t from = i < axis ? i : i + indices->rank - 1;

		flat.dims[i] = i == axis ? count : out->dims[from];
		flat.strides[i] = i == axis ? stride : out->strides[from];
	}
	for (int64_t first = 0, run; first < count; first += run) {
		int64_t start[GRAPH_MAX_RANK] = { 0 }, dims[GRAPH_MAX_RANK];
		int64_t index = graph_constant_as_i64(indices, first);
		struct placement source, target;

		index += index < 0 ? dim : 0;
		for (run = 1; first + run < count; run++) {
			int64_t next = graph_constant_as_i64(indices, first + run);

			if (next + (next < 0 ? dim : 0) != index + run)
				break;
		}
		if (index < 0 || index + run > dim)
			return diag_error(lower->diag,
					  "node '%s' (%s): index %lld is outside dimension %u of size %lld",
					  node->name, node->op_type, (long long)index, axis,
					  (long long)dim);
		for (uint32_t i = 0; i < in->rank; i++)
			dims[i] = i == axis ? run : in->dims[i];
		start[axis] = index;
		source = part_of(in, start, dims);
		start[axis] = first;
		target = part_of(&flat, start, dims);
		if (copy_region(lower, node, &target, &source))
			return -1;
	}
	return 0;
}

int lower_copy(struct lower *lower, struct graph_node *node)
{
	struct placement in;

	if (node->op == GRAPH_OP_CONCAT)
		return copy_concat(lower, node);
	if (lower_read_placement(lower, node->inputs[0], &in))
		return -1;
	switch (node->op) {
	case GRAPH_OP_TRANSPOSE:
		return copy_transpose(lower, node, &in);
	case GRAPH_OP_RESHAPE:
		return copy_reshape(lower, node, &in);
	case GRAPH_OP_SLICE:
		return copy_slice(lower, node, &in);
	case GRAPH_OP_SPLIT:
		return copy_split(lower, node, &in);
	case GRAPH_OP_PAD:
		return copy_pad(lower, node, &in);
	case GRAPH_OP_EXPAND:
		return copy_expand(lower, node, &in);
	case GRAPH_OP_GATHER:
		return copy_gather(lower, node, &in);
	default:
		return diag_error(lower->diag, "node '%s' (%s): is no movement of data", node->name,
				  node->op_type);
	}
}
