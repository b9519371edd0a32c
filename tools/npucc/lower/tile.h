/* SPDX-License-Identifier: MIT */
/*
 * Iteration spaces: one set of dims over which several strided operands are walked
 * together, cut into tiles of at most four dims that fit local SRAM.
 */
#ifndef NPUCC_LOWER_TILE_H
#define NPUCC_LOWER_TILE_H

#include "lower.h"

#define SPACE_MAX_OPERANDS 4

struct space_operand {
	uint32_t argument;
	int64_t offset;			/* bytes */
	enum npu_dtype dtype;
	int64_t strides[GRAPH_MAX_RANK];	/* bytes; 0 where the operand repeats */
};

struct space {
	uint32_t rank;			/* 0..GRAPH_MAX_RANK */
	int64_t dims[GRAPH_MAX_RANK];
	uint32_t fixed;			/* the last `fixed` dims keep their place and are not merged with others */
	uint32_t operand_count;
	struct space_operand operand[SPACE_MAX_OPERANDS];
};

/* space_init - an empty space over @rank @dims. */
void space_init(struct space *space, uint32_t rank, const int64_t *dims);

/*
 * space_add - add an operand that broadcasts to the space's dims (numpy rule: aligned at
 * the last dim, size 1 repeats). Returns its index.
 */
uint32_t space_add(struct space *space, const struct placement *placement);

/*
 * space_simplify - drop dims of size 1, order the rest by @operand's strides (largest
 * outermost; `fixed` dims stay last), merge neighbours that are contiguous in every operand.
 */
void space_simplify(struct space *space, uint32_t operand);

/*
 * How a space is cut: dims before `split` are walked one by one, dim `split` in
 * pieces of `chunk`, the dims after it are whole in each tile.
 */
struct tiling {
	const struct space *space;
	uint32_t split;
	int64_t chunk;
	uint64_t tiles;
};

/*
 * tiling_choose - the largest tiles of at most @max_elements elements, at most four dims of at most
 * 65535, that still give each of @clusters at least @per_cluster tiles where the space allows. The last
 * `fixed` dims are never cut. Returns false when they alone exceed @max_elements.
 */
bool tiling_choose(struct tiling *tiling, const struct space *space, int64_t max_elements,
		   uint32_t clusters, uint32_t per_cluster);

/* One tile: dims padded to four with leading ones. */
struct tile {
	uint32_t dims[4];
	int64_t elements;
	int64_t offset[SPACE_MAX_OPERANDS];	/* bytes, absolute in the operand's argument */
	int64_t strides[SPACE_MAX_OPERANDS][4];
};

void tile_at(const struct tiling *tiling, uint64_t index, struct tile *tile);

/* tile_changes - whether @operand reads different memory in different tiles. */
bool tile_changes(const struct tiling *tiling, uint32_t operand);

/* tile_bytes - local bytes of @operand in the largest tile (repeated dims held once). */
uint32_t tile_bytes(const struct tiling *tiling, uint32_t operand);

/* tile_dram - the operand's part of DRAM, repeated dims once. */
struct npu_td tile_dram(const struct tiling *tiling, const struct tile *tile, uint32_t operand);

/* tile_local - dense local copy of it at @offset, the shape tile_dram() has. */
struct npu_td tile_local(const struct tiling *tiling, const struct tile *tile, uint32_t operand,
			 uint32_t offset);

/* tile_view - the same local copy seen with the tile's full dims (repeats by stride 0). */
struct npu_td tile_view(const struct tiling *tiling, const struct tile *tile, uint32_t operand,
			uint32_t offset);

/* tile_dense - a local tensor of the tile's dims and @dtype, no repeats (temporaries). */
struct npu_td tile_dense(const struct tile *tile, enum npu_dtype dtype, uint32_t offset);

/* lower_share - the half-open range of @total items that @cluster of @clusters takes. */
void lower_share(uint64_t total, uint32_t clusters, uint32_t cluster, uint64_t *first,
		 uint64_t *last);

#endif
