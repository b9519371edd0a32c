/* SPDX-License-Identifier: MIT */
/*
 * Streams the tiles of a space through the vector unit: operand 0 is written, the
 * others are read. Loads on DMA channel 0, one tile ahead; stores on channel 1. What a
 * tile computes is the caller's.
 */
#ifndef NPUCC_LOWER_TILE_PIPELINE_H
#define NPUCC_LOWER_TILE_PIPELINE_H

#include "tile.h"

struct tile_kernel {
	/*
	 * Once a cluster that has tiles: allots constants, which every tile reads and none changes, then
	 * temporaries, whose contents no tile leaves to the next one. May be NULL. 0, or -1 with a sentence.
	 */
	int (*prepare)(void *context, uint32_t cluster, const struct tile *largest);
	/*
	 * Emits the vector instructions of one tile. @operand: views with the tile's full
	 * dims, [0] the destination.
	 */
	void (*compute)(void *context, uint32_t cluster, const struct tile *tile,
			const struct npu_td operand[SPACE_MAX_OPERANDS]);
	uint32_t constant_bytes;	/* of local SRAM, at the beginning of what prepare() allots */
	void *context;
};

/*
 * tile_pipeline_elements - most elements a tile may have so that the buffers of every operand
 * and @temporary_bytes an element fit local SRAM beside @reserved bytes, and points are not too far
 * apart; at most @limit.
 */
int64_t tile_pipeline_elements(const struct lower *lower, const struct space *space,
			       uint32_t temporary_bytes, uint32_t reserved, int64_t limit);

/* tile_pipeline_run - emit all tiles, spread over the clusters. 0, or -1 with a sentence. */
int tile_pipeline_run(struct lower *lower, const struct tiling *tiling,
		      const struct tile_kernel *kernel);

#endif
