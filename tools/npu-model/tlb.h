/* SPDX-License-Identifier: MIT */
/*
 * The timed TLB and walk cache. timing.rst, "TLB".
 *
 * Both hold keys only: a context, a level and the address above that level's page. In the TLB the
 * level is the leaf's; in the walk cache it is that of the table entry that points further
 * down (2: one of the root table, 1: one of the table below).
 */
#ifndef NPU_MODEL_TLB_H
#define NPU_MODEL_TLB_H

#include "mmu.h"

#define NPU_LEVEL_SHIFT(level)	(NPU_PAGE_SHIFT + 9u * (level))

/* [63:58] context, [57:56] level, [55:0] page; bit 55 is free and set so that no key is zero. */
static inline uint64_t npu_tlb_key(unsigned int context, uint64_t address, unsigned int level)
{
	uint64_t page = (address & ((1ull << 39) - 1)) >> NPU_LEVEL_SHIFT(level);

	return (uint64_t)context << 58 | (uint64_t)level << 56 | 1ull << 55 | page;
}

static inline unsigned int npu_tlb_key_level(uint64_t key)
{
	return key >> 56 & 3;
}

static inline unsigned int npu_tlb_key_context(uint64_t key)
{
	return (unsigned int)(key >> 58);
}

/* First address of the page or table entry, without sign extension. */
static inline uint64_t npu_tlb_key_address(uint64_t key)
{
	return (key & ((1ull << 55) - 1)) << NPU_LEVEL_SHIFT(npu_tlb_key_level(key));
}

/** npu_tlb_init() - empty, with @size entries (at most NPU_TLB_ENTRIES_MAX) */
void npu_tlb_init(struct npu_tlb *tlb, unsigned int size);

/** npu_tlb_lookup() - true when a leaf of any size covers @address, which makes it the newest */
bool npu_tlb_lookup(struct npu_tlb *tlb, unsigned int context, uint64_t address);

/** npu_tlb_insert() - add a leaf that is not in; the oldest makes room */
void npu_tlb_insert(struct npu_tlb *tlb, unsigned int context, uint64_t address,
		    unsigned int level);

/** npu_tlb_remove() - remove all entries whose key matches */
void npu_tlb_remove(struct npu_tlb *tlb, bool (*match)(uint64_t key, const void *opaque),
		    const void *opaque);

/** npu_walk_cache_init() - empty, with @size entries (at most NPU_WALK_ENTRIES_MAX) */
void npu_walk_cache_init(struct npu_walk_cache *cache, unsigned int size);

/** npu_walk_cache_lookup() - true when in, which makes it the newest */
bool npu_walk_cache_lookup(struct npu_walk_cache *cache, uint64_t key);

/** npu_walk_cache_insert() - make @key the newest; the oldest makes room */
void npu_walk_cache_insert(struct npu_walk_cache *cache, uint64_t key);

/** npu_walk_cache_remove() - remove all entries whose key matches */
void npu_walk_cache_remove(struct npu_walk_cache *cache,
			   bool (*match)(uint64_t key, const void *opaque), const void *opaque);

#endif /* NPU_MODEL_TLB_H */
