// SPDX-License-Identifier: MIT
/* What all lowerings share: layers, local SRAM, tokens, rings, constants. */
#include "../layout/precision.h"
#include "lower.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "../support/half.h"
#include "rodata.h"

#define LOCAL_ALIGN	64u

/* -------------------------------------------------------------- local SRAM, tokens */
uint32_t lower_local_free(const struct lower *lower, uint32_t cluster)
{
	uint32_t used = lower->local_used[cluster];

	return used < lower->local_limit ? (lower->local_limit - used) & ~(LOCAL_ALIGN - 1) : 0;
}

uint32_t lower_local(struct lower *lower, uint32_t cluster, uint32_t bytes)
{
	uint32_t offset = lower->local_used[cluster];
	uint64_t rounded = ((uint64_t)bytes + LOCAL_ALIGN - 1) & ~(uint64_t)(LOCAL_ALIGN - 1);
	uint64_t end = offset + rounded;

	if (end > lower->local_limit)
		return UINT32_MAX;
	lower->local_used[cluster] = (uint32_t)end;
	if (end > lower->local_peak)
		lower->local_peak = (uint32_t)end;
	return offset;
}

unsigned int lower_token(struct lower *lower, uint32_t cluster)
{
	/* One beyond the last makes the stream fail, which the end of the layer reports. */
	if (lower->tokens_used[cluster] >= NPU_TOKEN_LOCAL_COUNT)
		return NPU_TOKEN_ID_MASK + 1;
	return lower->tokens_used[cluster]++;
}

unsigned int lower_shared_token(struct lower *lower)
{
	if (lower->shared_used >= NPU_TOKEN_SHARED_COUNT)
		return NPU_TOKEN_ID_MASK + 1;
	return NPU_TOKEN_LOCAL_COUNT + lower->shared_used++;
}

/* ------------------------------------------------------------------------- rings */
int ring_init(struct ring *ring, struct lower *lower, uint32_t cluster, enum npu_engine producer,
	      enum npu_engine consumer, uint32_t slot_bytes, uint32_t slots, uint32_t total)
{
	uint64_t bytes;

	if (slots > total)
		slots = total;
	if (slots > NPU_TOKEN_MAX)
		slots = NPU_TOKEN_MAX;
	if (!slots)
		slots = 1;
	slot_bytes = (slot_bytes + LOCAL_ALIGN - 1) & ~(LOCAL_ALIGN - 1);
	bytes = (uint64_t)slot_bytes * slots;
	*ring = (struct ring){
		.lower = lower,
		.cluster = cluster,
		.producer = producer,
		.consumer = consumer,
		.slot_bytes = slot_bytes,
		.slots = slots,
		.total = total,
	};
	ring->base = bytes > UINT32_MAX ? UINT32_MAX :
					  lower_local(lower, cluster, (uint32_t)bytes);
	if (ring->base == UINT32_MAX)
		return diag_error(lower->diag,
				  "node '%s' (%s): %" PRIu32 " buffers of %" PRIu32 " bytes do not fit what is left of %" PRIu32 " bytes of local SRAM; raise --max-sram-bytes or lower --pipeline-stages",
				  lower->node->name, lower->node->op_type, slots, slot_bytes,
				  lower->local_limit);
	ring->full = lower_token(lower, cluster);
	ring->free = lower_token(lower, cluster);
	return 0;
}

static uint32_t ring_slot(const struct ring *ring, uint32_t tile)
{
	return ring->base + tile % ring->slots * ring->slot_bytes;
}

uint32_t ring_produce_begin(struct ring *ring)
{
	if (ring->produced >= ring->slots)
		stream_need(ring->lower->streams[ring->cluster], ring->producer, ring->free);
	return ring_slot(ring, ring->produced);
}

void ring_produce_end(struct ring *ring)
{
	stream_give(ring->lower->streams[ring->cluster], ring->producer, ring->full);
	ring->produced++;
}

uint32_t ring_consume_begin(struct ring *ring)
{
	stream_need(ring->lower->streams[ring->cluster], ring->consumer, ring->full);
	return ring_slot(ring, ring->consumed);
}

void ring_consume_end(struct ring *ring)
{
	/* Nobody waits for the last slots: their tokens would be left over. */
	if (ring->consumed + ring->slots < ring->total)
		stream_give(ring->lower->streams[ring->cluster], ring->consumer, ring->free);
	ring->consumed++;
}

/* --------------------------------------------------------------------- constants */
int64_t lower_constant(struct lower *lower, const void *bytes, size_t size, uint32_t align)
{
	int64_t offset = rodata_add(lower->rodata, bytes, size, align);

	if (offset < 0)
		diag_error(lower->diag, "the model's constants need more memory than there is (%zu bytes more were refused)",
			   size);
	return offset;
}

/* Elements of @value converted to @dtype, little endian, in the arena. */
static void *convert_constant(struct lower *lower, const struct graph_value *value,
			      enum npu_dtype dtype, size_t *size)
{
	int64_t count = graph_element_count(value), i;
	uint8_t *bytes;

	if (count < 0)
		return NULL;
	*size = (size_t)count * NPU_DTYPE_BYTES(dtype);
	bytes = arena_alloc(lower->arena, *size);
	if (!bytes)
		return NULL;
	for (i = 0; i < count; i++) {
		if (dtype == NPU_DTYPE_FP16) {
			uint16_t half = htole16(half_from_constant(graph_constant_as_f32(value, i)));

			memcpy(bytes + 2 * i, &half, 2);
		} else if (dtype == NPU_DTYPE_FP32) {
			float number = graph_constant_as_f32(value, i);
			uint32_t bits;

			memcpy(&bits, &number, 4);
			bits = htole32(bits);
			memcpy(bytes + 4 * i, &bits, 4);
		} else {
			int64_t number = graph_constant_as_i64(value, i);
			uint32_t bits;

			if (dtype == NPU_DTYPE_INT32) {
				number = number > INT32_MAX ? INT32_MAX : number;
				number = number < INT32_MIN ? INT32_MIN : number;
			}
			bits = htole32((uint32_t)(int32_t)number);
			memcpy(bytes + i * NPU_DTYPE_BYTES(dtype), &bits, NPU_DTYPE_BYTES(dtype));
		}
	}
	return bytes;
}

static int read_as(struct lower *lower, const struct graph_value *value, enum npu_dtype dtype,
		   struct placement *placement)
{
	int64_t stride;
	size_t size = 0;
	void *bytes;
	uint32_t i;

	if (!graph_is_constant(value)) {
		*placement = *placement_of(value);
		return 0;
	}
	memset(placement, 0, sizeof(*placement));
	placement->argument = NPU_ARG_WEIGHTS;
	placement->dtype = dtype;
	placement->rank = value->rank;
	stride = NPU_DTYPE_BYTES(placement->dtype);
	for (i = value->rank; i-- > 0;) {
		placement->dims[i] = value->dims[i];
		placement->strides[i] = stride;
		stride *= value->dims[i];
	}
	bytes = convert_constant(lower, value, placement->dtype, &size);
	if (!bytes)
		return diag_error(lower->diag, "constant '%s' does not fit into the compiler's memory",
				  value->name);
	placement->offset = lower_constant(lower, bytes, size, LOCAL_ALIGN);
	return placement->offset < 0 ? -1 : 0;
}

int lower_read_placement(struct lower *lower, const struct graph_value *value,
			 struct placement *placement)
{
	return read_as(lower, value, layout_dtype(value->dtype, lower->float_type), placement);
}

int lower_read_wide(struct lower *lower, const struct graph_value *value,
		    struct placement *placement)
{
	return read_as(lower, value, layout_dtype(value->dtype, NPU_DTYPE_FP32), placement);
}

/* ------------------------------------------------------------------------ layers */
static lower_function lower_dispatch(const struct graph_node *node)
{
	const struct graph_attr_conv *conv = &node->attr.conv;

	switch (node->op) {
	case GRAPH_OP_CONV:
		if (precision_vector_conv(node))
			return lower_matvec;
		if (conv->group > 1 && conv->group == node->inputs[GRAPH_IN_X]->dims[1])
			return lower_depthwise;
		return lower_conv;
	case GRAPH_OP_MATMUL:
		return precision_vector_matmul(node) ? lower_matvec : lower_matmul;
	case GRAPH_OP_CAST:
		return lower_cast;
	case GRAPH_OP_QUANTIZE:
		return lower_quantize;
	case GRAPH_OP_DEQUANTIZE:
		return lower_dequantize;
	case GRAPH_OP_ELTWISE:
	case GRAPH_OP_ACTIVATION:
		return node->quant ? lower_quantized_eltwise : lower_eltwise;
	case GRAPH_OP_PRELU:
	case GRAPH_OP_BATCHNORM:
	case GRAPH_OP_WHERE:
		return lower_eltwise;
	case GRAPH_OP_POOL:
		return lower_pool;
	case GRAPH_OP_REDUCE:
		return lower_reduce;
	case GRAPH_OP_SOFTMAX:
		return lower_softmax;
	case GRAPH_OP_LAYERNORM:
		return lower_norm;
	case GRAPH_OP_TRANSPOSE:
	case GRAPH_OP_RESHAPE:
	case GRAPH_OP_CONCAT:
	case GRAPH_OP_SLICE:
	case GRAPH_OP_SPLIT:
	case GRAPH_OP_EXPAND:
	case GRAPH_OP_GATHER:
		return lower_copy;
	case GRAPH_OP_PAD:
		return node->attr.pad.mode == GRAPH_PAD_CONSTANT ? lower_copy : lower_remap;
	case GRAPH_OP_TILE:
		return lower_remap;
	case GRAPH_OP_RESIZE:
		return node->attr.resize.mode == GRAPH_RESIZE_NEAREST ? lower_remap : lower_resize;
	default:
		return NULL;
	}
}

static int lower_close_layer(struct lower *lower, const struct graph_node *node)
{
	uint32_t point = points_add(lower->points, POINTS_WHOLE);
	uint32_t cluster;

	for (cluster = 0; cluster < lower->clusters; cluster++) {
		struct stream *stream = lower->streams[cluster];

		/* Local SRAM was the layer's own: nothing of it is needed any more. */
		points_barrier(lower->points, point, cluster, stream);
		stream_mark(stream, NPU_ENGINE_FRONT, lower->marks);
		if (stream_failed(stream))
			return diag_error(lower->diag,
					  "node '%s' (%s) needs an operand no tensor descriptor can hold (a dim beyond 65535 or a stride beyond 2 GiB), more than %u tokens, or more memory than there is; smaller inputs (--shape) help",
					  node->name, node->op_type, NPU_TOKEN_LOCAL_COUNT);
	}
	lower->marks++;
	return 0;
}

int lower_node(struct lower *lower, struct graph_node *node)
{
	lower_function function = lower_dispatch(node);

	if (!function)
		return diag_error(lower->diag, "node '%s' (%s) has no lowering for this device",
				  node->name, node->op_type);
	lower->node = node;
	memset(lower->local_used, 0, sizeof(lower->local_used));
	memset(lower->tokens_used, 0, sizeof(lower->tokens_used));
	lower->shared_used = 0;
	lower->copied = 0;
	memset(&lower->figures, 0, sizeof(lower->figures));
	if (function(lower, node))
		return -1;
	return lower_close_layer(lower, node);
}
