/* SPDX-License-Identifier: MIT */
/*
 * MaxPool and AveragePool on the vector unit: a tile of the output starts at the neutral
 * value and takes in the kernel's taps one by one, each over the positions whose input
 * lies inside the tensor. So padding of any kind costs nothing and needs no memory.
 */
#include "lower.h"

#include <math.h>
#include <string.h>

/* Along one of the two spatial dims. */
struct axis {
	int64_t input, output;
	int64_t kernel, stride, dilation, pad;
	int64_t input_stride, output_stride;	/* bytes in DRAM */
	int64_t chunk;				/* output positions a tile */
};

struct pool {
	struct lower *lower;
	struct graph_node *node;
	struct placement in, out;
	struct axis y, x;
	int64_t batch, channels, channel_chunk;
	int64_t channel_stride_in, channel_stride_out;
	bool average;
	float scale;			/* of the sum, where it is the same everywhere */
	int64_t scale_table;		/* else .rodata offset of fp32 [output y][output x]; -1: none */
	int32_t in_zero, out_zero;	/* of averages on integers, ... */
	float factor;			/* ... whose scales differ by it; else 0, 0, 1 */
	uint64_t tiles;
};

/* A tile's place along one axis. */
struct span {
	int64_t first, count;		/* output positions */
	int64_t input_first, input_count;
};

struct pool_tile {
	int64_t batch, channel, channels;
	struct span y, x;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t pieces(int64_t total, int64_t chunk)
{
	return (total + chunk - 1) / chunk;
}

static struct span span_at(const struct axis *axis, int64_t index)
{
	struct span span = { .first = index * axis->chunk };
	int64_t start, end;

	span.count = least(axis->chunk, axis->output - span.first);
	start = span.first * axis->stride - axis->pad;
	end = (span.first + span.count - 1) * axis->stride - axis->pad +
	      (axis->kernel - 1) * axis->dilation + 1;
	span.input_first = least(most(start, 0), axis->input - 1);
	span.input_count = most(least(end, axis->input) - span.input_first, 1);
	return span;
}

static void pool_tile_at(const struct pool *pool, uint64_t index, struct pool_tile *tile)
{
	uint64_t columns = (uint64_t)pieces(pool->x.output, pool->x.chunk);
	uint64_t rows = (uint64_t)pieces(pool->y.output, pool->y.chunk);
	uint64_t blocks = (uint64_t)pieces(pool->channels, pool->channel_chunk);

	tile->x = span_at(&pool->x, (int64_t)(index % columns));
	index /= columns;
	tile->y = span_at(&pool->y, (int64_t)(index % rows));
	index /= rows;
	tile->channel = (int64_t)(index % blocks) * pool->channel_chunk;
	tile->channels = least(pool->channel_chunk, pool->channels - tile->channel);
	tile->batch = (int64_t)(index / blocks);
}

static int64_t input_extent(const struct axis *axis, int64_t chunk)
{
	return least((chunk - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1,
		     axis->input);
}

static uint64_t tile_cost(const struct pool *pool, int64_t rows, int64_t columns, int64_t channels)
{
	uint64_t slots = pool->lower->pipeline_stages;
	uint64_t size = NPU_DTYPE_BYTES(pool->in.dtype);
	uint64_t in = (uint64_t)(input_extent(&pool->y, rows) * input_extent(&pool->x, columns) *
				 channels);
	uint64_t out = (uint64_t)(rows * columns * channels);

	return slots * (in + out) * size + (pool->average ? out * 4 : 0) +
	       (uint64_t)(slots * 4) * (uint64_t)(rows * columns);
}

static bool pool_tile_fits(const struct pool *pool, int64_t rows, int64_t columns, int64_t channels)
{
	/* Slack: every buffer is rounded up to 64 bytes. */
	return tile_cost(pool, rows, columns, channels) + 1024 <=
	       lower_local_free(pool->lower, 0);
}

/* Whole rows of all channels if they fit; else fewer channels, then fewer columns. */
static bool choose_pool_tile(struct pool *pool)
{
	int64_t channels = least(pool->channels, 65535), columns = least(pool->x.output, 65535);
	int64_t rows = 1, per_cluster;

	while (!pool_tile_fits(pool, 1, columns, channels) && channels > 32)
		channels = (channels + 1) / 2;
	while (!pool_tile_fits(pool, 1, columns, channels) && columns > 1)
		columns = (columns + 1) / 2;
	while (!pool_tile_fits(pool, 1, columns, channels) && channels > 1)
		channels = (channels + 1) / 2;
	if (!pool_tile_fits(pool, 1, columns, channels))
		return false;
	while (rows < pool->y.output && pool_tile_fits(pool, rows + 1, columns, channels))
		rows++;
	/* Two tiles a cluster, so that loads hide behind the vector unit's work. */
	per_cluster = pieces(pool->y.output, 2 * (int64_t)pool->lower->clusters);
	pool->y.chunk = least(rows, most(per_cluster, 1));
	pool->x.chunk = columns;
	pool->channel_chunk = channels;
	pool->tiles = (uint64_t)(pieces(pool->y.output, pool->y.chunk) *
				 pieces(pool->x.output, columns) * pieces(pool->channels, channels) *
				 pool->batch);
	return true;
}

struct pool_cluster {
	struct stream *stream;
	struct ring in, out, scale;
	uint32_t neutral;		/* fp32 in local SRAM */
	uint32_t sum;			/* fp32, a tile (average only) */
	bool scales;
};

static struct npu_td neutral_operand(uint32_t offset, const uint32_t dims[4])
{
	static const int64_t repeated[4] = { 0, 0, 0, 0 };

	return td_local(offset, NPU_DTYPE_FP32, dims, repeated);
}

static int load_neutral(struct pool *pool, struct pool_cluster *state, uint32_t cluster)
{
	static const uint32_t dims[4] = { 1, 1, 1, 1 };
	static const int64_t strides[4] = { 0, 0, 0, 4 };
	float neutral = pool->average ? 0.0f : -INFINITY;
	unsigned int token = lower_token(pool->lower, cluster);
	int64_t offset = lower_constant(pool->lower, &neutral, sizeof(neutral), 4);
	struct npu_td source, target;

	state->neutral = lower_local(pool->lower, cluster, sizeof(neutral));
	if (offset < 0 || state->neutral == UINT32_MAX)
		return diag_error(pool->lower->diag, "no room for a pool's neutral value");
	source = td_dram(NPU_ARG_WEIGHTS, offset, NPU_DTYPE_FP32, dims, strides);
	target = td_local_dense(state->neutral, NPU_DTYPE_FP32, 1, 1, 1, 1);
	stream_dma(state->stream, 0, &target, &source, 0);
	stream_give(state->stream, NPU_ENGINE_DMA0, token);
	stream_need(state->stream, NPU_ENGINE_VECTOR, token);
	return 0;
}

static int open_pool(struct pool *pool, struct pool_cluster *state, uint32_t cluster,
		     uint32_t tiles)
{
	struct lower *lower = pool->lower;
	uint32_t slots = lower->pipeline_stages;
	uint32_t size = NPU_DTYPE_BYTES(pool->in.dtype);
	uint32_t in = (uint32_t)(input_extent(&pool->y, pool->y.chunk) *
				 input_extent(&pool->x, pool->x.chunk) * pool->channel_chunk) * size;
	uint32_t out = (uint32_t)(pool->y.chunk * pool->x.chunk * pool->channel_chunk);

	state->stream = lower->streams[cluster];
	state->scales = pool->average && pool->scale_table >= 0;
	if (load_neutral(pool, state, cluster))
		return -1;
	state->sum = 0;
	if (pool->average)
		state->sum = lower_local(lower, cluster, out * 4);
	if (state->sum == UINT32_MAX)
		return diag_error(lower->diag, "no room in local SRAM for an average's sums");
	if (state->scales &&
	    ring_init(&state->scale, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_VECTOR,
		      (uint32_t)(pool->y.chunk * pool->x.chunk) * 4, slots, tiles))
		return -1;
	if (ring_init(&state->in, lower, cluster, NPU_ENGINE_DMA0, NPU_ENGINE_VECTOR, in, slots,
		      tiles))
		return -1;
	return ring_init(&state->out, lower, cluster, NPU_ENGINE_VECTOR, NPU_ENGINE_DMA1,
			 out * NPU_DTYPE_BYTES(pool->out.dtype), slots, tiles);
}

static void load_pool(struct pool *pool, struct pool_cluster *state, const struct pool_tile *tile)
{
	uint32_t dims[4] = { 1, (uint32_t)tile->y.input_count, (uint32_t)tile->x.input_count,
			     (uint32_t)tile->channels };
	int64_t strides[4] = { 0, pool->y.input_stride, pool->x.input_stride,
			       pool->channel_stride_in };
	struct npu_td source, target;

	source = td_dram(pool->in.argument,
			 pool->in.offset + tile->batch * pool->in.strides[0] +
			 tile->channel * pool->channel_stride_in +
			 tile->y.input_first * pool->y.input_stride +
			 tile->x.input_first * pool->x.input_stride,
			 pool->in.dtype, dims, strides);
	target = td_local_dense(ring_produce_begin(&state->in), pool->in.dtype, 1, dims[1], dims[2],
				dims[3]);
	stream_dma(state->stream, 0, &target, &source, 0);
	ring_produce_end(&state->in);
	if (!state->scales)
		return;
	dims[1] = (uint32_t)tile->y.count;
	dims[2] = (uint32_t)tile->x.count;
	dims[3] = 1;
	strides[1] = 4 * pool->x.output;
	strides[2] = 4;
	strides[3] = 4;
	source = td_dram(NPU_ARG_WEIGHTS,
			 pool->scale_table + 4 * (tile->y.first * pool->x.output + tile->x.first),
			 NPU_DTYPE_FP32, dims, strides);
	target = td_local_dense(ring_produce_begin(&state->scale), NPU_DTYPE_FP32, 1, dims[1],
				dims[2], 1);
	stream_dma(state->stream, 0, &target, &source, 0);
	ring_produce_end(&state->scale);
}

/* Output positions of @span for which tap @tap reads inside the tensor: [*first, *first + count). */
static int64_t inside(const struct axis *axis, const struct span *span, int64_t tap, int64_t *first)
{
	int64_t shift = tap * axis->dilation - axis->pad;
	int64_t low = span->first, high = span->first + span->count;

	if (low * axis->stride + shift < 0)
		low = (-shift + axis->stride - 1) / axis->stride;
	if (axis->input - shift <= 0)
		return 0;
	high = least(high, (axis->input - 1 - shift) / axis->stride + 1);
	*first = low;
	return high - low;
}

static void take_tap(struct pool *pool, struct pool_cluster *state, const struct pool_tile *tile,
		     int64_t ky, int64_t kx, uint32_t in, uint32_t into)
{
	enum npu_dtype type = pool->average ? NPU_DTYPE_FP32 : pool->out.dtype;
	int64_t size = NPU_DTYPE_BYTES(type), element = NPU_DTYPE_BYTES(pool->in.dtype);
	int64_t row_in = tile->x.input_count * tile->channels * element;
	int64_t row_out = tile->x.count * tile->channels * size;
	int64_t y, x, rows = inside(&pool->y, &tile->y, ky, &y);
	int64_t columns = inside(&pool->x, &tile->x, kx, &x);
	struct npu_td source, target;

	if (rows <= 0 || columns <= 0)
		return;
	int64_t iy = y * pool->y.stride + ky * pool->y.dilation - pool->y.pad - tile->y.input_first;
	int64_t ix = x * pool->x.stride + kx * pool->x.dilation - pool->x.pad - tile->x.input_first;
	uint32_t dims[4] = { 1, (uint32_t)rows, (uint32_t)columns, (uint32_t)tile->channels };
	int64_t in_strides[4] = { 0, pool->y.stride * row_in,
				  pool->x.stride * tile->channels * element, element };
	int64_t out_strides[4] = { 0, row_out, tile->channels * size, size };

	source = td_local(in + (uint32_t)(iy * row_in + ix * tile->channels * element),
			  pool->in.dtype, dims, in_strides);
	source = td_zero(source, pool->in_zero);
	target = td_local(into + (uint32_t)((y - tile->y.first) * row_out +
					    (x - tile->x.first) * tile->channels * size),
			  type, dims, out_strides);
	stream_vec(state->stream, pool->average ? NPU_VEC_ADD : NPU_VEC_MAX, &target, &target,
		   &source, NULL, 0, 0);
}

static void compute_pool(struct pool *pool, struct pool_cluster *state,
			 const struct pool_tile *tile)
{
	uint32_t in = ring_consume_begin(&state->in), out = ring_produce_begin(&state->out);
	uint32_t into = pool->average ? state->sum : out;
	const uint32_t dims[4] = { 1, (uint32_t)tile->y.count, (uint32_t)tile->x.count,
				   (uint32_t)tile->channels };
	struct npu_td start = td_local_dense(into, pool->average ? NPU_DTYPE_FP32 : pool->out.dtype,
					     1, dims[1], dims[2], dims[3]);
	struct npu_td neutral = neutral_operand(state->neutral, dims);

	stream_vec(state->stream, NPU_VEC_COPY, &start, &neutral, NULL, NULL, 0, 0);
	for (int64_t ky = 0; ky < pool->y.kernel; ky++)
		for (int64_t kx = 0; kx < pool->x.kernel; kx++)
			take_tap(pool, state, tile, ky, kx, in, into);
	if (pool->average) {
		struct npu_td result = td_local_dense(out, pool->out.dtype, 1, dims[1], dims[2],
						      dims[3]);

		result = td_zero(result, pool->out_zero);
		if (state->scales) {
			const int64_t strides[4] = { 0, 4 * tile->x.count, 4, 0 };
			struct npu_td scale = td_local(ring_consume_begin(&state->scale),
						       NPU_DTYPE_FP32, dims, strides);

			stream_vec(state->stream, NPU_VEC_MUL, &result, &start, &scale, NULL, 0, 0);
			ring_consume_end(&state->scale);
		} else {
			stream_vec(state->stream, NPU_VEC_MUL, &result, &start, STREAM_SCALAR, NULL,
				   0, pool->scale);
		}
	}
	ring_consume_end(&state->in);
	ring_produce_end(&state->out);
}

static void store_pool(struct pool *pool, struct pool_cluster *state, const struct pool_tile *tile)
{
	const uint32_t dims[4] = { 1, (uint32_t)tile->y.count, (uint32_t)tile->x.count,
				   (uint32_t)tile->channels };
	const int64_t strides[4] = { 0, pool->y.output_stride, pool->x.output_stride,
				     pool->channel_stride_out };
	struct npu_td source = td_local_dense(ring_consume_begin(&state->out), pool->out.dtype, 1,
					      dims[1], dims[2], dims[3]);
	struct npu_td target = td_dram(pool->out.argument,
				       pool->out.offset + tile->batch * pool->out.strides[0] +
				       tile->channel * pool->channel_stride_out +
				       tile->y.first * pool->y.output_stride +
				       tile->x.first * pool->x.output_stride,
				       pool->out.dtype, dims, strides);

	stream_dma(state->stream, 1, &target, &source, 0);
	ring_consume_end(&state->out);
}

static int pool_cluster(struct pool *pool, uint32_t cluster)
{
	uint64_t first = pool->tiles * cluster / pool->lower->clusters;
	uint64_t last = pool->tiles * (cluster + 1) / pool->lower->clusters;
	struct pool_cluster state;
	struct pool_tile tile;

	if (first == last)
		return 0;
	if (open_pool(pool, &state, cluster, (uint32_t)(last - first)))
		return -1;
	pool_tile_at(pool, first, &tile);
	load_pool(pool, &state, &tile);
	for (uint64_t index = first; index < last; index++) {
		struct pool_tile next;

		if (index + 1 < last) {
			pool_tile_at(pool, index + 1, &next);
			load_pool(pool, &state, &next);
		}
		pool_tile_at(pool, index, &tile);
		compute_pool(pool, &state, &tile);
		store_pool(pool, &state, &tile);
	}
	return 0;
}

/* Taps of output position @at that count for an average. */
static int64_t taps_counted(const struct axis *axis, int64_t at, bool include_pad, int64_t pad_end)
{
	int64_t count = 0;

	for (int64_t k = 0; k < axis->kernel; k++) {
		int64_t i = at * axis->stride + k * axis->dilation - axis->pad;
		bool in_tensor = i >= 0 && i < axis->input;
		bool in_padding = i >= -axis->pad && i < axis->input + pad_end;

		count += include_pad ? in_padding : in_tensor;
	}
	return count;
}

static int plan_average(struct pool *pool)
{
	const struct graph_attr_pool *attr = &pool->node->attr.pool;
	int64_t count = pool->y.output * pool->x.output;
	float *scale = arena_alloc_array(pool->lower->arena, (uint64_t)count, sizeof(*scale));
	bool same = true;

	if (!scale)
		return diag_error(pool->lower->diag, "out of memory");
	for (int64_t y = 0; y < pool->y.output; y++) {
		int64_t rows = taps_counted(&pool->y, y, attr->count_include_pad,
					    attr->window.pad_end[0]);

		for (int64_t x = 0; x < pool->x.output; x++) {
			int64_t taps = rows * taps_counted(&pool->x, x, attr->count_include_pad,
							   attr->window.pad_end[1]);

			scale[y * pool->x.output + x] = taps ? pool->factor * (float)(1.0 / (double)taps) : 0;
			same &= scale[y * pool->x.output + x] == scale[0];
		}
	}
	pool->scale = scale[0];
	if (same)
		return 0;
	pool->scale_table = lower_constant(pool->lower, scale, (size_t)count * sizeof(*scale), 64);
	return pool->scale_table < 0 ? diag_error(pool->lower->diag, "out of memory") : 0;
}

static struct axis axis_of(const struct pool *pool, const struct graph_window *window, uint32_t i)
{
	return (struct axis) {
		.input = pool->in.dims[2 + i], .output = pool->out.dims[2 + i],
		.kernel = window->kernel[i], .stride = window->stride[i],
		.dilation = window->dilation[i], .pad = window->pad_begin[i],
		.input_stride = pool->in.strides[2 + i], .output_stride = pool->out.strides[2 + i],
	};
}

int lower_pool(struct lower *lower, struct graph_node *node)
{
	const struct graph_attr_pool *attr = &node->attr.pool;
	struct pool pool = {
		.lower = lower, .node = node, .average = attr->kind == GRAPH_POOL_AVERAGE,
		.scale_table = -1, .factor = 1,
	};

	if (attr->global)
		return lower_global_pool(lower, node);
	if (lower_read_placement(lower, node->inputs[0], &pool.in))
		return -1;
	pool.out = *placement_of(node->outputs[0]);
	pool.y = axis_of(&pool, &attr->window, 0);
	pool.x = axis_of(&pool, &attr->window, 1);
	pool.batch = pool.in.dims[0];
	pool.channels = pool.in.dims[1];
	pool.channel_stride_in = pool.in.strides[1];
	pool.channel_stride_out = pool.out.strides[1];
	if (node->quant) {
		pool.in_zero = node->quant->inputs[0].zero;
		pool.out_zero = node->quant->output.zero;
		pool.factor = node->quant->inputs[0].scales[0] / node->quant->output.scales[0];
	}
	if (pool.average && plan_average(&pool))
		return -1;
	if (!choose_pool_tile(&pool))
		return diag_error(lower->diag,
				  "node '%s' (%s): one output position's window does not fit %u bytes of local SRAM; raise --max-sram-bytes",
				  node->name, node->op_type, lower_local_free(lower, 0));
	for (uint32_t cluster = 0; cluster < lower->clusters; cluster++)
		if (pool_cluster(&pool, cluster))
			return -1;
	return 0;
}
