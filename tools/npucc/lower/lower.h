/* SPDX-License-Identifier: MIT */
/*
 * Lowering: from nodes with placed values to instruction streams.
 *
 * One file an operator family (lower/conv.c, lower/eltwise.c, ...), each exporting one
 * function of type lower_function. A node is one layer: lower_node() opens it, calls
 * the operator's function, closes it with a barrier of all clusters, which is a point, and a MARK. Within
 * a layer the function splits the work over clusters, gives each stream its tiles
 * and ties engines by tokens. At the end of a layer every token must be back at zero.
 *
 * Local SRAM and tokens are the layer's own: both allocators restart with each layer.
 */
#ifndef NPUCC_LOWER_LOWER_H
#define NPUCC_LOWER_LOWER_H

#include "../emit/points.h"
#include "../emit/stream.h"
#include "../graph/graph.h"
#include "../layout/placement.h"
#include "../support/diag.h"
#include "config.h"		/* struct npu_config: figures of the target */
#include "npu/npu_packet.h"

struct rodata;			/* growing .rodata image */
struct prefetch;

/* Planned figures of one layer; operators fill in what they know. */
struct lower_figures {
	uint64_t macs;			/* useful ones */
	uint64_t cycles;		/* predicted */
	uint64_t dram_bytes;		/* predicted traffic, whole bursts */
	uint64_t array_cycles;		/* of the busiest cluster's MAC array */
};

struct lower {
	struct graph *graph;
	const struct npu_config *config;
	struct diag *diag;
	struct arena *arena;
	uint32_t clusters;		/* streams[0..clusters-1] */
	struct stream *streams[NPU_PROGRAM_CLUSTERS_MAX];
	struct rodata *rodata;
	struct points *points;
	enum npu_dtype float_type;	/* NPU_DTYPE_FP16 */
	uint32_t local_limit;		/* bytes of local SRAM that tiles may use */
	uint32_t pipeline_stages;	/* 1: no double buffering; 2, 3 */
	uint32_t tile_min, tile_max;	/* output positions of a tile; 0: no bound */
	/* state of the open layer */
	const struct graph_node *node;
	uint32_t local_used[NPU_PROGRAM_CLUSTERS_MAX];
	uint32_t tokens_used[NPU_PROGRAM_CLUSTERS_MAX];
	uint32_t shared_used;
	uint64_t copied;			/* elements that copy_region() has moved */
	uint32_t local_peak;
	uint32_t marks;				/* layers closed so far, the next MARK's index */
	FILE *log;				/* tile choices, or NULL */
	struct prefetch *prefetch;		/* weights brought ahead, or NULL */
	/* what the open layer's cost model found; lower_node() clears it */
	struct lower_figures figures;
};

/* Returns 0, or -1 with a sentence in lower->diag naming the node. */
typedef int (*lower_function)(struct lower *lower, struct graph_node *node);

/*
 * lower_local - allot @bytes (rounded up to 64) of local SRAM of @cluster for this
 * layer. Returns the offset, or UINT32_MAX when it does not fit (no message: callers
 * size their tiles with lower_local_free() first).
 */
uint32_t lower_local(struct lower *lower, uint32_t cluster, uint32_t bytes);
uint32_t lower_local_free(const struct lower *lower, uint32_t cluster);

/* lower_token - a local token of @cluster nobody else uses in this layer (0..31). */
unsigned int lower_token(struct lower *lower, uint32_t cluster);

/* lower_shared_token - a token of the gang nobody else uses in this layer (32..63). */
unsigned int lower_shared_token(struct lower *lower);

/*
 * lower_constant - append @bytes to .rodata, aligned to @align; returns the offset in
 * argument NPU_ARG_WEIGHTS. Equal content is stored once.
 */
int64_t lower_constant(struct lower *lower, const void *bytes, size_t size, uint32_t align);

/*
 * lower_read_placement - how to read @value: a constant is put into .rodata in the device
 * type (row major) first, anything else is where layout_plan() put it.
 */
int lower_read_placement(struct lower *lower, const struct graph_value *value,
			 struct placement *placement);

/* lower_read_wide - the same with float constants in fp32: for the few that a whole plane meets. */
int lower_read_wide(struct lower *lower, const struct graph_value *value,
		    struct placement *placement);

/*
 * Rings of tile buffers between a producing and a consuming engine of one cluster.
 *
 *	ring_init(...total tiles...);
 *	for each tile:
 *		slot = ring_produce_begin(r);  emit the producer's instructions into slot
 *		ring_produce_end(r);
 *		slot = ring_consume_begin(r);  emit the consumer's instructions
 *		ring_consume_end(r);
 *
 * begin/end place the waits and releases (full and free tokens), and leave
 * both tokens at zero after @total tiles. With one slot, load and compute alternate. A
 * tile's producer instructions must all be on `producer`, its consumer's on `consumer`
 * (engines run in order, so the first waits and the last releases).
 */
struct ring {
	struct lower *lower;
	uint32_t cluster;
	enum npu_engine producer, consumer;
	uint32_t base, slot_bytes, slots;	/* local SRAM */
	unsigned int full, free;		/* tokens */
	uint32_t produced, consumed, total;
};

/* ring_init - 0, or -1 with a sentence in the diagnostics when local SRAM has no room. */
int ring_init(struct ring *ring, struct lower *lower, uint32_t cluster, enum npu_engine producer,
	      enum npu_engine consumer, uint32_t slot_bytes, uint32_t slots, uint32_t total);
uint32_t ring_produce_begin(struct ring *ring);	/* local offset of the slot */
void ring_produce_end(struct ring *ring);
uint32_t ring_consume_begin(struct ring *ring);
void ring_consume_end(struct ring *ring);

/* lower_node - lower one node as a layer; refused nodes are the scan's affair. */
int lower_node(struct lower *lower, struct graph_node *node);

/* Operators (one file each, named after it) */
int lower_conv(struct lower *lower, struct graph_node *node);		/* dense and grouped CONV */
int lower_matvec(struct lower *lower, struct graph_node *node);		/* precision_vector_conv(), _matmul() */
int lower_depthwise(struct lower *lower, struct graph_node *node);	/* group == channels */
int lower_matmul(struct lower *lower, struct graph_node *node);		/* constant and activation B, batched */
int lower_eltwise(struct lower *lower, struct graph_node *node);	/* ELTWISE, ACTIVATION, BATCHNORM, PRELU, WHERE */
int lower_cast(struct lower *lower, struct graph_node *node);
int lower_quantize(struct lower *lower, struct graph_node *node);
int lower_dequantize(struct lower *lower, struct graph_node *node);
int lower_quantized_eltwise(struct lower *lower, struct graph_node *node);	/* ELTWISE, ACTIVATION on bytes */
int lower_pool(struct lower *lower, struct graph_node *node);
int lower_resize(struct lower *lower, struct graph_node *node);	/* linear and cubic, along one dim */
int lower_reduce(struct lower *lower, struct graph_node *node);
int lower_global_pool(struct lower *lower, struct graph_node *node);	/* POOL over the whole plane (in reduce.c) */
int lower_softmax(struct lower *lower, struct graph_node *node);
int lower_norm(struct lower *lower, struct graph_node *node);		/* LAYERNORM */
int lower_copy(struct lower *lower, struct graph_node *node);		/* TRANSPOSE, RESHAPE, CONCAT, SLICE, SPLIT, PAD, EXPAND, GATHER that are no views */
int lower_remap(struct lower *lower, struct graph_node *node);	/* nearest RESIZE, PAD that repeats the input, TILE */

/* lower_table_supports - whether lower_table() can hold @activation to fp16 accuracy. */
bool lower_table_supports(const struct graph_activation *activation);

/* lower_table - the fp32 table of @activation in .rodata (struct npu_table); *@offset. */
int lower_table(struct lower *lower, const struct graph_activation *activation, int64_t *offset);

/* lower_curve - the same as a struct npu_curve, for the output stage. */
int lower_curve(struct lower *lower, const struct graph_activation *activation, int64_t *offset);

#endif
