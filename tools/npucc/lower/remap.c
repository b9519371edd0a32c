/* SPDX-License-Identifier: MIT */
/*
 * Movement by an index map for each dim: RESIZE to the nearest, PAD by reflection, edge or wrapping. A map is cut
 * into runs in which input positions step evenly, each repeated as often; a combination of runs, one of each dim, is one
 * copy of strided memory. TILE is a single one.
 */
#include "../fold/eval.h"
#include "copy.h"

#include <string.h>

/* Output first .. first + count * repeat - 1 reads input from + step * (i / repeat). */
struct run {
	int64_t first, count, repeat, from, step;
};

struct map {
	struct run *runs;
	uint32_t count;
};

struct remap {
	struct lower *lower;
	const struct graph_node *node;
	struct placement out, in;
	struct map map[GRAPH_MAX_RANK];
};

static int64_t reflected(int64_t i, int64_t size)
{
	int64_t period = 2 * (size - 1);

	if (size == 1)
		return 0;
	i = (i % period + period) % period;
	return i < size ? i : period - i;
}

static int64_t padded(const struct graph_attr_pad *pad, uint32_t dim, int64_t size, int64_t at)
{
	int64_t i = at - pad->begin[dim];

	switch (pad->mode) {
	case GRAPH_PAD_REFLECT:
		return reflected(i, size);
	case GRAPH_PAD_WRAP:
		return (i % size + size) % size;
	default:
		return i < 0 ? 0 : i < size ? i : size - 1;
	}
}

#define OUTSIDE -1	/* in place of an input position: a constant */

static int resize_map(const struct remap *remap, uint32_t dim, int64_t *index)
{
	struct eval_taps *taps = arena_alloc(remap->lower->arena, sizeof(*taps));
	int64_t in = remap->in.dims[dim], size = remap->out.dims[dim];

	if (!taps)
		return diag_error(remap->lower->diag, "out of memory");
	for (int64_t at = 0; at < size; at++) {
		if (eval_resize_taps(&remap->node->attr.resize, dim, in, size, at, taps))
			return diag_error(remap->lower->diag,
					  "node '%s' (%s): its scale is out of range; give sizes instead",
					  remap->node->name, remap->node->op_type);
		index[at] = taps->outside ? OUTSIDE : eval_clamp(taps->first, in);
	}
	return 0;
}

/* The input position of each output position along @dim. */
static int fill_index(const struct remap *remap, uint32_t dim, int64_t *index)
{
	const struct graph_node *node = remap->node;
	int64_t in = remap->in.dims[dim];

	if (node->op == GRAPH_OP_RESIZE && (node->attr.resize.scale[dim] != 1 ||
					    in != remap->out.dims[dim] ||
					    node->attr.resize.coordinate ==
						    GRAPH_COORDINATE_CROP_AND_RESIZE))
		return resize_map(remap, dim, index);
	for (int64_t at = 0; at < remap->out.dims[dim]; at++)
		index[at] = node->op == GRAPH_OP_PAD ? padded(&node->attr.pad, dim, in, at) : at;
	return 0;
}

static int64_t same_from(const int64_t *index, int64_t at, int64_t end)
{
	int64_t count = 1;

	while (at + count < end && index[at + count] == index[at])
		count++;
	return count;
}

/* The longest run from @at: as many groups of equal length and distance as follow. */
static struct run run_from(const int64_t *index, int64_t at, int64_t end)
{
	struct run run = { .first = at, .count = 1, .from = index[at] };

	run.repeat = same_from(index, at, end);
	for (;;) {
		int64_t next = at + run.count * run.repeat;

		if (next >= end || index[at] == OUTSIDE || index[next] == OUTSIDE ||
		    same_from(index, next, end) < run.repeat)
			return run;
		/* A longer group may only come last, where a new run can take the rest. */
		if (run.count == 1)
			run.step = index[next] - index[at];
		if (index[next] - index[next - run.repeat] != run.step)
			return run;
		run.count++;
	}
}

static int make_map(struct remap *remap, uint32_t dim)
{
	struct arena *arena = remap->lower->arena;
	struct map *map = &remap->map[dim];
	int64_t size = remap->out.dims[dim], at;
	int64_t *index = arena_alloc_array(arena, (uint64_t)size, sizeof(*index));

	map->runs = arena_alloc_array(arena, (uint64_t)size, sizeof(*map->runs));
	if (!index || !map->runs)
		return diag_error(remap->lower->diag, "out of memory");
	if (fill_index(remap, dim, index))
		return -1;
	for (at = 0; at < size;) {
		struct run run = run_from(index, at, size);

		map->runs[map->count++] = run;
		at += run.count * run.repeat;
	}
	return 0;
}

static bool add_dim(struct placement *out, struct placement *in, int64_t size, int64_t out_stride,
		    int64_t in_stride)
{
	uint32_t i = out->rank;

	if (size == 1)
		return true;
	if (i == GRAPH_MAX_RANK)
		return false;
	out->dims[i] = in->dims[i] = size;
	out->strides[i] = out_stride;
	in->strides[i] = in_stride;
	out->rank = in->rank = i + 1;
	return true;
}

static int refuse_rank(const struct remap *remap)
{
	return diag_error(remap->lower->diag,
			  "node '%s' (%s): its dims and their repeats are more than %u; split it into two",
			  remap->node->name, remap->node->op_type, GRAPH_MAX_RANK);
}

/* TILE: each dim behind one that repeats it. */
static int copy_tiles(const struct remap *remap)
{
	struct placement out = remap->out, in = remap->in;
	bool fits = true;

	out.rank = in.rank = 0;
	for (uint32_t d = 0; d < remap->out.rank; d++) {
		int64_t size = remap->in.dims[d], stride = remap->out.strides[d];

		fits &= add_dim(&out, &in, remap->out.dims[d] / size, size * stride, 0);
		fits &= add_dim(&out, &in, size, stride, remap->in.strides[d]);
	}
	return fits ? copy_region(remap->lower, remap->node, &out, &in) : refuse_rank(remap);
}

/* Copies the combination of runs @at, one index a dim. */
static int copy_runs(const struct remap *remap, const uint32_t *at)
{
	struct placement out = remap->out, in = remap->in;
	bool fits = true, outside = false;

	out.rank = in.rank = 0;
	for (uint32_t d = 0; d < remap->out.rank; d++) {
		const struct run *run = &remap->map[d].runs[at[d]];
		int64_t out_stride = remap->out.strides[d], in_stride = remap->in.strides[d];

		out.offset += run->first * out_stride;
		in.offset += run->from * in_stride;
		outside |= run->from == OUTSIDE;
		fits &= add_dim(&out, &in, run->count, run->repeat * out_stride,
				run->step * in_stride);
		fits &= add_dim(&out, &in, run->repeat, out_stride, 0);
	}
	if (!fits)
		return refuse_rank(remap);
	if (outside)
		return copy_fill(remap->lower, remap->node, &out, remap->node->attr.resize.extrapolation);
	return copy_region(remap->lower, remap->node, &out, &in);
}

static bool next_combination(const struct remap *remap, uint32_t *at)
{
	for (uint32_t d = remap->out.rank; d-- > 0;) {
		if (++at[d] < remap->map[d].count)
			return true;
		at[d] = 0;
	}
	return false;
}

int lower_remap(struct lower *lower, struct graph_node *node)
{
	struct remap remap = { .lower = lower, .node = node, .out = *placement_of(node->outputs[0]) };
	uint32_t at[GRAPH_MAX_RANK] = { 0 };

	if (lower_read_placement(lower, node->inputs[0], &remap.in))
		return -1;
	if (node->op == GRAPH_OP_TILE)
		return copy_tiles(&remap);
	for (uint32_t d = 0; d < remap.out.rank; d++)
		if (make_map(&remap, d))
			return -1;
	do {
		if (copy_runs(&remap, at))
			return -1;
	} while (next_combination(&remap, at));
	return 0;
}
