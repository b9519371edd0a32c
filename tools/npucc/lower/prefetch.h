/* SPDX-License-Identifier: MIT */
/*
 * Weights brought into global SRAM while earlier layers compute.
 *
 * Compiling goes in passes over the layers. The first tells how long each layer takes,
 * how busy it keeps the DRAM and how large its weights are (prefetch_note()). Then
 * prefetch_plan() gives weights a place in global SRAM and cuts their way there
 * into pieces, carried by layers before that leave the DRAM time. The next pass lowers with weights
 * in these places, the last one knows where in .rodata each piece comes from.
 *
 * A layer ends with a barrier that waits for all engines, so a piece that an earlier
 * layer carries has arrived when the layer starts that wants it.
 */
#ifndef NPUCC_LOWER_PREFETCH_H
#define NPUCC_LOWER_PREFETCH_H

#include "lower.h"

struct prefetch;

/* A part of a layer's weights on its way: bytes of .rodata to an offset of global SRAM. */
struct prefetch_piece {
	uint32_t carrier;		/* position of the node that carries it */
	uint32_t item;
	uint64_t first, bytes;		/* of the item's weights */
};

/* prefetch_new - for @graph, whose values are placed; NULL when out of memory. */
struct prefetch *prefetch_new(struct graph *graph, const struct npu_config *config);

/* prefetch_begin - a new pass over the layers begins. */
void prefetch_begin(struct prefetch *prefetch);

/* prefetch_layer - what a layer that was lowered takes. */
void prefetch_layer(struct prefetch *prefetch, const struct graph_node *node,
		    const struct lower_figures *figures);

/*
 * prefetch_note - @node's constant weights are @bytes of .rodata from @source on, and it may read
 * them from global SRAM. Only nodes that call this are prefetched or carry.
 */
void prefetch_note(struct prefetch *prefetch, const struct graph_node *node, int64_t source,
		   uint64_t bytes);

/* prefetch_target - whether @node's weights are in global SRAM, and where. */
bool prefetch_target(const struct prefetch *prefetch, const struct graph_node *node,
		     int64_t *target);

/*
 * prefetch_plan - place weights and cut them into pieces. @limit: bytes of global SRAM; *@used
 * grows to the end of what is taken. Returns the number of items, 0: nothing to do.
 */
uint32_t prefetch_plan(struct prefetch *prefetch, uint64_t limit, uint64_t *used);

/*
 * prefetch_check - after a pass: drop items that no longer fit their place. Returns true when all
 * did, and every source is where the pass before had it.
 */
bool prefetch_check(struct prefetch *prefetch);

/* prefetch_pieces - the pieces @node carries; *@count of them, in order. */
const struct prefetch_piece *prefetch_pieces(const struct prefetch *prefetch,
					     const struct graph_node *node, uint32_t *count);

/*
 * prefetch_move - the transfer of one piece. Returns false when nothing of it is left to
 * move (the weights became smaller).
 */
bool prefetch_move(const struct prefetch *prefetch, const struct prefetch_piece *piece,
		   struct npu_td *dst, struct npu_td *src);

#endif
