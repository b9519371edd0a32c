/* SPDX-License-Identifier: MIT */
/*
 * RESIZE by interpolation along one dim (decompose/ makes several nodes of more). The dim is whole and
 * outermost in each tile, so that a vector instruction computes an output position, or a run of
 * positions with equal weights, for everything else in the tile at once.
 */
#include "../fold/eval.h"
#include "../graph/infer.h"
#include "tile.h"

#include <string.h>

#define RESIZE_TILE_ELEMENTS 65536

/* Nonzero weights of an output position; positions of the input. */
struct position {
	uint32_t first, count;		/* in weights and sources */
	bool outside;
};

/* Output positions first, first + step, ...: equal weights, sources evenly apart. */
struct batch {
	int64_t first, count, step, distance;
};

struct resize {
	struct lower *lower;
	const struct graph_node *node;
	uint32_t axis;
	struct tiling kept;		/* operands: 0 output, 1 input, over the other dims */
	int64_t in, out;		/* sizes of the dim */
	int64_t in_stride, out_stride;	/* bytes in DRAM */
	struct position *positions;
	float *weights;
	int64_t *sources;
	struct batch *batches;		/* every position in one of them */
	uint32_t batch_count;
};

/* ------------------------------------------------------------------------- weights */
/* Adds a tap; positions beyond an end fall together there. */
static void add_tap(struct resize *resize, struct position *position, int64_t source, double weight)
{
	uint32_t last = position->first + position->count;

	if (position->count && resize->sources[last - 1] == source) {
		resize->weights[last - 1] += (float)weight;
		return;
	}
	resize->sources[last] = source;
	resize->weights[last] = (float)weight;
	position->count++;
}

static int taps_at(const struct resize *resize, int64_t at, struct eval_taps *taps)
{
	if (!eval_resize_taps(&resize->node->attr.resize, resize->axis, resize->in, resize->out, at, taps))
		return 0;
	return diag_error(resize->lower->diag,
			  "node '%s' (%s): its scale is out of range; give sizes instead",
			  resize->node->name, resize->node->op_type);
}

/* Room for the taps of every position: a few each, as a rule. */
static int alloc_weights(struct resize *resize, struct eval_taps *taps)
{
	struct arena *arena = resize->lower->arena;
	uint64_t room = 0;

	for (int64_t at = 0; at < resize->out; at++) {
		if (taps_at(resize, at, taps))
			return -1;
		room += (uint64_t)taps->count + 1;
	}
	resize->positions = arena_alloc_array(arena, (uint64_t)resize->out, sizeof(*resize->positions));
	resize->weights = arena_alloc_array(arena, room, sizeof(*resize->weights));
	resize->sources = arena_alloc_array(arena, room, sizeof(*resize->sources));
	if (!resize->positions || !resize->weights || !resize->sources)
		return diag_error(resize->lower->diag, "out of memory");
	return 0;
}

static int plan_weights(struct resize *resize)
{
	struct eval_taps *taps = arena_alloc(resize->lower->arena, sizeof(*taps));
	uint32_t used = 0;

	if (!taps)
		return diag_error(resize->lower->diag, "out of memory");
	if (alloc_weights(resize, taps))
		return -1;
	for (int64_t at = 0; at < resize->out; at++) {
		struct position *position = &resize->positions[at];

		if (taps_at(resize, at, taps))
			return -1;
		*position = (struct position){ .first = used, .outside = taps->outside };
		for (int64_t i = 0; i < taps->count; i++)
			if (taps->weight[i] != 0)
				add_tap(resize, position, eval_clamp(taps->first + i, resize->in),
					taps->weight[i]);
		if (!position->count)
			add_tap(resize, position, 0, 0);
		used += position->count;
	}
	return 0;
}

static bool same_weights(const struct resize *resize, int64_t a, int64_t b)
{
	const struct position *left = &resize->positions[a], *right = &resize->positions[b];

	return left->count == right->count && left->outside == right->outside &&
	       !memcmp(resize->weights + left->first, resize->weights + right->first,
		       left->count * sizeof(*resize->weights));
}

/* Whether every source of @b is that of @a, @distance further. */
static bool moved_by(const struct resize *resize, int64_t a, int64_t b, int64_t distance)
{
	const struct position *left = &resize->positions[a], *right = &resize->positions[b];

	for (uint32_t i = 0; i < left->count; i++)
		if (resize->sources[right->first + i] - resize->sources[left->first + i] != distance)
			return false;
	return true;
}

/* The longest batch from @first with that step; positions already done are in @done. */
static struct batch batch_from(const struct resize *resize, int64_t first, int64_t step,
			       const bool *done)
{
	const struct position *position = &resize->positions[first];
	struct batch batch = { .first = first, .count = 1, .step = step };

	for (int64_t at = first + step; at < resize->out; at += step) {
		if (done[at] || !same_weights(resize, first, at))
			break;
		if (batch.count == 1)
			batch.distance = resize->sources[resize->positions[at].first] -
					 resize->sources[position->first];
		if (!moved_by(resize, at - step, at, batch.distance))
			break;
		batch.count++;
	}
	return batch;
}

#define STEPS_TRIED 8	/* weights repeat after the scale's numerator, which is small as a rule */

static struct batch longest_batch(const struct resize *resize, int64_t first, const bool *done)
{
	struct batch best = batch_from(resize, first, 1, done);

	for (int64_t step = 2; step <= STEPS_TRIED; step++) {
		struct batch batch = batch_from(resize, first, step, done);

		if (batch.count > best.count)
			best = batch;
	}
	return best;
}

/* The same for every tile. */
static int plan_batches(struct resize *resize)
{
	struct arena *arena = resize->lower->arena;
	bool *done = arena_alloc_array(arena, (uint64_t)resize->out, sizeof(*done));

	resize->batches = arena_alloc_array(arena, (uint64_t)resize->out, sizeof(*resize->batches));
	if (!done || !resize->batches)
		return diag_error(resize->lower->diag, "out of memory");
	for (int64_t at = 0; at < resize->out; at++) {
		struct batch *batch;

		if (done[at])
			continue;
		batch = &resize->batches[resize->batch_count++];
		*batch = longest_batch(resize, at, done);
		for (int64_t i = 0; i < batch->count; i++)
			done[batch->first + i * batch->step] = true;
	}
	return 0;
}

/* ------------------------------------------------------------------------- vectors */
/* @count positions from @first of a local tile with the dim outermost. */
static struct npu_td positions_of(const struct tile *tile, enum npu_dtype dtype, uint32_t offset,
				  int64_t first, int64_t count, int64_t step)
{
	int64_t bytes = NPU_DTYPE_BYTES(dtype), row = tile->elements * bytes;
	const uint32_t dims[4] = { (uint32_t)count, tile->dims[1], tile->dims[2], tile->dims[3] };
	const int64_t strides[4] = { step * row, tile->dims[2] * tile->dims[3] * bytes,
				     tile->dims[3] * bytes, bytes };

	return td_local(offset + (uint32_t)(first * row), dtype, dims, strides);
}

struct buffers {
	struct stream *stream;
	struct ring in, out;
	uint32_t sum;			/* fp32, one position each of a batch */
};

static void emit_batch(const struct resize *resize, const struct buffers *buffers,
		       const struct tile *tile, const struct batch *batch, uint32_t in, uint32_t out)
{
	const struct space *space = resize->kept.space;
	const struct position *position = &resize->positions[batch->first];
	struct npu_td result = positions_of(tile, space->operand[0].dtype, out, batch->first,
					    batch->count, batch->step);
	struct npu_td sum = positions_of(tile, NPU_DTYPE_FP32, buffers->sum, 0, batch->count, 1);

	for (uint32_t i = 0; i < position->count; i++) {
		bool last = i + 1 == position->count && !position->outside;
		struct npu_td source = positions_of(tile, space->operand[1].dtype, in,
						    resize->sources[position->first + i],
						    batch->count, batch->distance);
		float weight = position->outside ? 0 : resize->weights[position->first + i];

		if (i == 0)
			stream_vec(buffers->stream, NPU_VEC_MUL, last ? &result : &sum, &source,
				   STREAM_SCALAR, NULL, 0, weight);
		else
			stream_vec(buffers->stream, NPU_VEC_MULADD, last ? &result : &sum, &source,
				   STREAM_SCALAR, &sum, 0, weight);
	}
	if (position->outside)
		stream_vec(buffers->stream, NPU_VEC_ADD, &result, &sum, STREAM_SCALAR, NULL, 0,
			   resize->node->attr.resize.extrapolation);
}

static void compute(const struct resize *resize, struct buffers *buffers, const struct tile *tile)
{
	uint32_t in = ring_consume_begin(&buffers->in), out = ring_produce_begin(&buffers->out);

	for (uint32_t i = 0; i < resize->batch_count; i++)
		emit_batch(resize, buffers, tile, &resize->batches[i], in, out);
	ring_consume_end(&buffers->in);
	ring_produce_end(&buffers->out);
}

/* ----------------------------------------------------------------------- transfers */
static struct npu_td in_memory(const struct resize *resize, const struct tile *tile, uint32_t operand)
{
	const struct space_operand *from = &resize->kept.space->operand[operand];
	const uint32_t dims[4] = { (uint32_t)(operand ? resize->in : resize->out), tile->dims[1],
				   tile->dims[2], tile->dims[3] };
	int64_t strides[4] = { operand ? resize->in_stride : resize->out_stride };

	for (uint32_t i = 1; i < 4; i++)
		strides[i] = tile->strides[operand][i];
	return td_dram(from->argument, tile->offset[operand], from->dtype, dims, strides);
}

static void load(struct resize *resize, struct buffers *buffers, uint64_t index)
{
	struct npu_td source, target;
	struct tile tile;

	tile_at(&resize->kept, index, &tile);
	source = in_memory(resize, &tile, 1);
	target = positions_of(&tile, resize->kept.space->operand[1].dtype,
			      ring_produce_begin(&buffers->in), 0, resize->in, 1);
	stream_dma(buffers->stream, 0, &target, &source, 0);
	ring_produce_end(&buffers->in);
}

static void store(struct resize *resize, struct buffers *buffers, const struct tile *tile)
{
	struct npu_td source, target;

	source = positions_of(tile, resize->kept.space->operand[0].dtype,
			      ring_consume_begin(&buffers->out), 0, resize->out, 1);
	target = in_memory(resize, tile, 0);
	stream_dma(buffers->stream, 1, &target, &source, 0);
	ring_consume_end(&buffers->out);
}

static int open_buffers(struct resize *resize, struct buffers *buffers, uint32_t cluster,
			uint32_t tiles)
{
	struct lower *lower = resize->lower;
	const struct space *space = resize->kept.space;
	struct tile tile;
	uint32_t in, out;

	tile_at(&resize->kept, 0, &tile);
	in = (uint32_t)(tile.elements * resize->in) * NPU_DTYPE_BYTES(space->operand[1].dtype);
	out = (uint32_t)(tile.elements * resize->out) * NPU_DTYPE_BYTES(space->operand[0].dtype);
	buffers->stream = lower->streams[cluster];
	buffers->sum = lower_local(lower, cluster, (uint32_t)(tile.elements * resize->out) * 4);
	if (buffers->sum == UINT32_MAX)
		return diag_error(lower->diag,
				  "node '%s' (%s): the sums of an interpolated tile do not fit what is left of %u bytes of local SRAM; raise --max-sram-bytes",
				  lower->node->name, lower->node->op_type, lower->local_limit);
	if (ring_init(&buffers->in, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_VECTOR, in,
		      lower->pipeline_stages, tiles) ||
	    ring_init(&buffers->out, lower, cluster, NPU_ENGINE_VECTOR, NPU_ENGINE_DMA1, out,
		      lower->pipeline_stages, tiles))
		return -1;
	return 0;
}

static int resize_cluster(struct resize *resize, uint32_t cluster)
{
	struct buffers buffers = { 0 };
	uint64_t first, last;

	lower_share(resize->kept.tiles, resize->lower->clusters, cluster, &first, &last);
	if (first == last)
		return 0;
	if (open_buffers(resize, &buffers, cluster, (uint32_t)(last - first)))
		return -1;
	load(resize, &buffers, first);
	for (uint64_t index = first; index < last; index++) {
		struct tile tile;

		if (index + 1 < last)
			load(resize, &buffers, index + 1);
		tile_at(&resize->kept, index, &tile);
		compute(resize, &buffers, &tile);
		store(resize, &buffers, &tile);
	}
	return 0;
}

/* ------------------------------------------------------------------------- tiles */
static void kept_space(const struct resize *resize, struct placement out, struct placement in,
		       struct space *space)
{
	out.dims[resize->axis] = in.dims[resize->axis] = 1;
	space_init(space, out.rank, out.dims);
	space_add(space, &out);
	space_add(space, &in);
	space_simplify(space, 0);
}

/* Three kept dims at most: the outermost of the four is the dim itself. */
static bool choose_tiles(struct resize *resize, const struct space *space)
{
	uint32_t slots = resize->lower->pipeline_stages;
	int64_t in = resize->in * NPU_DTYPE_BYTES(space->operand[1].dtype) * slots;
	int64_t out = resize->out * (NPU_DTYPE_BYTES(space->operand[0].dtype) * (int64_t)slots + 4);
	int64_t room = (lower_local_free(resize->lower, 0) - 1024) / (in + out);

	if (room * resize->out > RESIZE_TILE_ELEMENTS)
		room = RESIZE_TILE_ELEMENTS / resize->out;
	for (; room >= 1; room /= 2)
		if (tiling_choose(&resize->kept, space, room, resize->lower->clusters, 2) &&
		    space->rank - resize->kept.split <= 3)
			return true;
	return false;
}

static uint32_t resized_dim(const struct graph_node *node)
{
	for (uint32_t i = 0; i < node->inputs[0]->rank; i++)
		if (graph_resizes(node, i))
			return i;
	return 0;
}

int lower_resize(struct lower *lower, struct graph_node *node)
{
	struct resize resize = { .lower = lower, .node = node, .axis = resized_dim(node) };
	const struct placement *out = placement_of(node->outputs[0]);
	struct placement in;
	struct space space;

	if (lower_read_placement(lower, node->inputs[0], &in))
		return -1;
	resize.in = in.dims[resize.axis];
	resize.out = out->dims[resize.axis];
	resize.in_stride = in.strides[resize.axis];
	resize.out_stride = out->strides[resize.axis];
	if (plan_weights(&resize) || plan_batches(&resize))
		return -1;
	kept_space(&resize, *out, in, &space);
	if (!choose_tiles(&resize, &space))
		return diag_error(lower->diag,
				  "node '%s' (%s): a line of %lld interpolated to %lld does not fit %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, (long long)resize.in,
				  (long long)resize.out, lower_local_free(lower, 0));
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++)
		if (resize_cluster(&resize, cluster))
			return -1;
	return 0;
}
