// SPDX-License-Identifier: MIT
/* The timed TLB and walk cache: least recently used is replaced. See mmu.h. */
#include "tlb.h"

#include <string.h>

static unsigned int hash(uint64_t key)
{
	return (unsigned int)((key * 0x9e3779b97f4a7c15ull) >> 54) % NPU_TLB_BUCKETS;
}

void npu_tlb_init(struct npu_tlb *tlb, unsigned int size)
{
	memset(tlb, 0, sizeof(*tlb));
	tlb->size = (uint16_t)(size < NPU_TLB_ENTRIES_MAX ? size : NPU_TLB_ENTRIES_MAX);
	tlb->newest = NPU_TLB_NONE;
	tlb->oldest = NPU_TLB_NONE;
	for (unsigned int i = 0; i < NPU_TLB_BUCKETS; i++)
		tlb->bucket[i] = NPU_TLB_NONE;
}

static void list_remove(struct npu_tlb *tlb, uint16_t index)
{
	struct npu_tlb_entry *entry = &tlb->entry[index];

	if (entry->newer == NPU_TLB_NONE)
		tlb->newest = entry->older;
	else
		tlb->entry[entry->newer].older = entry->older;
	if (entry->older == NPU_TLB_NONE)
		tlb->oldest = entry->newer;
	else
		tlb->entry[entry->older].newer = entry->newer;
}

static void list_add_newest(struct npu_tlb *tlb, uint16_t index)
{
	struct npu_tlb_entry *entry = &tlb->entry[index];

	entry->newer = NPU_TLB_NONE;
	entry->older = tlb->newest;
	if (tlb->newest == NPU_TLB_NONE)
		tlb->oldest = index;
	else
		tlb->entry[tlb->newest].newer = index;
	tlb->newest = index;
}

static void bucket_remove(struct npu_tlb *tlb, uint16_t index)
{
	uint16_t *link = &tlb->bucket[hash(tlb->entry[index].key)];

	while (*link != index)
		link = &tlb->entry[*link].next;
	*link = tlb->entry[index].next;
}

static void bucket_add(struct npu_tlb *tlb, uint16_t index)
{
	uint16_t *link = &tlb->bucket[hash(tlb->entry[index].key)];

	tlb->entry[index].next = *link;
	*link = index;
}

static uint16_t find(const struct npu_tlb *tlb, uint64_t key)
{
	uint16_t index = tlb->bucket[hash(key)];

	while (index != NPU_TLB_NONE && tlb->entry[index].key != key)
		index = tlb->entry[index].next;
	return index;
}

bool npu_tlb_lookup(struct npu_tlb *tlb, unsigned int context, uint64_t address)
{
	if (tlb->newest != NPU_TLB_NONE &&
	    tlb->entry[tlb->newest].key == npu_tlb_key(context, address, 0))
		return true;
	for (unsigned int level = 0; level < 3; level++) {
		uint16_t index;

		if (!tlb->level_count[level])
			continue;
		index = find(tlb, npu_tlb_key(context, address, level));
		if (index == NPU_TLB_NONE)
			continue;
		list_remove(tlb, index);
		list_add_newest(tlb, index);
		return true;
	}
	return false;
}

void npu_tlb_insert(struct npu_tlb *tlb, unsigned int context, uint64_t address,
		    unsigned int level)
{
	uint16_t index = tlb->count;

	if (tlb->count == tlb->size) {
		index = tlb->oldest;
		list_remove(tlb, index);
		bucket_remove(tlb, index);
		tlb->level_count[npu_tlb_key_level(tlb->entry[index].key)]--;
	} else {
		tlb->count++;
	}
	tlb->entry[index].key = npu_tlb_key(context, address, level);
	tlb->level_count[level]++;
	bucket_add(tlb, index);
	list_add_newest(tlb, index);
}

void npu_tlb_remove(struct npu_tlb *tlb, bool (*match)(uint64_t key, const void *opaque),
		    const void *opaque)
{
	static const uint16_t none = NPU_TLB_NONE;
	struct npu_tlb kept;
	uint16_t index = tlb->oldest;

	npu_tlb_init(&kept, tlb->size);
	while (index != none) {
		const struct npu_tlb_entry *entry = &tlb->entry[index];

		if (!match(entry->key, opaque)) {
			uint16_t to = kept.count++;

			kept.entry[to].key = entry->key;
			kept.level_count[npu_tlb_key_level(entry->key)]++;
			bucket_add(&kept, to);
			list_add_newest(&kept, to);
		}
		index = entry->newer;
	}
	*tlb = kept;
}

void npu_walk_cache_init(struct npu_walk_cache *cache, unsigned int size)
{
	memset(cache, 0, sizeof(*cache));
	cache->size = (uint16_t)(size < NPU_WALK_ENTRIES_MAX ? size : NPU_WALK_ENTRIES_MAX);
}

static void move_to_front(struct npu_walk_cache *cache, unsigned int from, uint64_t key)
{
	memmove(&cache->key[1], &cache->key[0], from * sizeof(cache->key[0]));
	cache->key[0] = key;
}

bool npu_walk_cache_lookup(struct npu_walk_cache *cache, uint64_t key)
{
	for (unsigned int i = 0; i < cache->count; i++) {
		if (cache->key[i] != key)
			continue;
		move_to_front(cache, i, key);
		return true;
	}
	return false;
}

void npu_walk_cache_insert(struct npu_walk_cache *cache, uint64_t key)
{
	if (!cache->size || npu_walk_cache_lookup(cache, key))
		return;
	if (cache->count < cache->size)
		cache->count++;
	move_to_front(cache, cache->count - 1u, key);
}

void npu_walk_cache_remove(struct npu_walk_cache *cache,
			   bool (*match)(uint64_t key, const void *opaque), const void *opaque)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < cache->count; i++) {
		if (!match(cache->key[i], opaque))
			cache->key[kept++] = cache->key[i];
	}
	cache->count = (uint16_t)kept;
}
