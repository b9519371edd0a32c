// SPDX-License-Identifier: MIT
/* Address translation: Sv39 walks, invalidation, host pointers. See mmu.h. */
#include "mmu.h"

#include <endian.h>
#include <string.h>

#include "machine.h"
#include "tlb.h"

#define PTE_VALID	(1ull << 0)
#define PTE_READ	(1ull << 1)
#define PTE_WRITE	(1ull << 2)
#define PTE_EXECUTE	(1ull << 3)
#define PTE_USER	(1ull << 4)
#define PTE_ACCESSED	(1ull << 6)
#define PTE_DIRTY	(1ull << 7)
#define PTE_RESERVED	(0x3ffull << 54)
#define PTE_PPN_SHIFT	10
#define PTE_PPN_MASK	((1ull << 44) - 1)

#define VA_BITS		39

void npu_mmu_init(struct npu_mmu *mmu, const struct npu_config *config)
{
	memset(mmu, 0, sizeof(*mmu));
	npu_tlb_init(&mmu->tlb, config->tlb_entries);
	npu_walk_cache_init(&mmu->walks, config->walk_entries);
}

void npu_mmu_forget_pointers(struct npu_mmu *mmu)
{
	for (unsigned int i = 0; i < NPU_POINTERS; i++) {
		mmu->pointer[i].read = NULL;
		mmu->pointer[i].write = NULL;
	}
	memset(mmu->host_page, 0, sizeof(mmu->host_page));
}

void npu_mmu_set_context(struct npu_mmu *mmu, unsigned int context, bool valid, uint64_t root)
{
	mmu->valid[context] = valid;
	mmu->root[context] = root;
	npu_mmu_invalidate_context(mmu, context);
}

struct range {
	unsigned int context;
	uint64_t first, last;	/* without sign extension */
};

static bool in_range(uint64_t key, const void *opaque)
{
	const struct range *range = opaque;
	uint64_t first = npu_tlb_key_address(key);
	uint64_t last = first + (1ull << NPU_LEVEL_SHIFT(npu_tlb_key_level(key))) - 1;

	return npu_tlb_key_context(key) == range->context && first <= range->last &&
	       last >= range->first;
}

static void invalidate(struct npu_mmu *mmu, const struct range *range)
{
	npu_tlb_remove(&mmu->tlb, in_range, range);
	npu_walk_cache_remove(&mmu->walks, in_range, range);
	for (unsigned int i = 0; i < NPU_POINTERS; i++) {
		if (mmu->pointer[i].key && in_range(mmu->pointer[i].key, range))
			mmu->pointer[i].key = 0;
	}
	mmu->generation[range->context]++;
}

void npu_mmu_invalidate_all(struct npu_mmu *mmu)
{
	npu_tlb_init(&mmu->tlb, mmu->tlb.size);
	npu_walk_cache_init(&mmu->walks, mmu->walks.size);
	memset(mmu->pointer, 0, sizeof(mmu->pointer));
	for (unsigned int i = 0; i < NPU_CONTEXTS_MAX; i++)
		mmu->generation[i]++;
}

void npu_mmu_invalidate_context(struct npu_mmu *mmu, unsigned int context)
{
	struct range range = { .context = context, .first = 0, .last = UINT64_MAX };

	invalidate(mmu, &range);
}

void npu_mmu_invalidate_range(struct npu_mmu *mmu, unsigned int context, uint64_t address,
			      uint64_t bytes)
{
	const uint64_t mask = (1ull << VA_BITS) - 1;
	struct range range = { .context = context };

	if (!bytes)
		return;
	range.first = address & mask;
	/* A range beyond the end of the address space is cut there. */
	range.last = bytes - 1 > mask - range.first ? mask : range.first + bytes - 1;
	invalidate(mmu, &range);
}

void *npu_host_pointer(struct npu_model *model, uint64_t address, bool write)
{
	uint64_t page = address & ~NPU_PAGE_MASK;
	uint64_t key = page | (write ? 2 : 0) | 1;
	struct npu_host_page *slot =
		&model->mmu.host_page[((page >> NPU_PAGE_SHIFT) ^ (page >> 22)) % NPU_HOST_PAGES];

	if (slot->key != key) {
		uint8_t *data = model->ops.translate(model->host, page, NPU_PAGE_BYTES, write);

		if (!data)
			return NULL;
		slot->key = key;
		slot->data = data;
	}
	return slot->data + (address & NPU_PAGE_MASK);
}

static bool canonical(uint64_t address)
{
	int64_t extended = (int64_t)(address << (64 - VA_BITS)) >> (64 - VA_BITS);

	return (uint64_t)extended == address;
}

/* What a leaf denies: an enum npu_error, or 0. */
static uint32_t leaf_denies(uint64_t entry, enum npu_access access)
{
	if (!(entry & PTE_USER))
		return NPU_ERROR_MMU_PERMISSION;
	if (access == NPU_ACCESS_WRITE && !(entry & PTE_WRITE))
		return NPU_ERROR_MMU_PERMISSION;
	if (access != NPU_ACCESS_WRITE && !(entry & PTE_READ))
		return NPU_ERROR_MMU_PERMISSION;
	if (access == NPU_ACCESS_FETCH && !(entry & PTE_EXECUTE))
		return NPU_ERROR_MMU_PERMISSION;
	if (!(entry & PTE_ACCESSED) || (access == NPU_ACCESS_WRITE && !(entry & PTE_DIRTY)))
		return NPU_ERROR_MMU_ACCESSED_DIRTY;
	return 0;
}

static bool is_leaf(uint64_t entry)
{
	return entry & (PTE_READ | PTE_WRITE | PTE_EXECUTE);
}

/* A valid entry of @level: 0 when it is well formed, else enum npu_error. */
static uint32_t entry_malformed(uint64_t entry, unsigned int level)
{
	uint64_t page = entry >> PTE_PPN_SHIFT & PTE_PPN_MASK;

	if (entry & PTE_RESERVED)
		return NPU_ERROR_MMU_MALFORMED;
	if (!is_leaf(entry)) {
		if (level == 0 || (entry & (PTE_USER | PTE_ACCESSED | PTE_DIRTY)))
			return NPU_ERROR_MMU_MALFORMED;
		return 0;
	}
	if ((entry & PTE_WRITE) && !(entry & PTE_READ))
		return NPU_ERROR_MMU_MALFORMED;
	if (page & ((1ull << 9 * level) - 1))
		return NPU_ERROR_MMU_MALFORMED;
	return 0;
}

unsigned int npu_mmu_walk(struct npu_model *model, unsigned int context, uint64_t address,
			  enum npu_access access, struct npu_leaf *leaf,
			  struct npu_memory_error *error, bool *ok)
{
	uint64_t table;
	unsigned int level = 2;
	unsigned int reads = 0;

	*ok = false;
	error->address = address;
	error->error = NPU_ERROR_VA_RANGE;
	if (!canonical(address))
		return 0;
	error->error = NPU_ERROR_MMU_UNMAPPED;
	if (context >= NPU_CONTEXTS_MAX || !model->mmu.valid[context])
		return 0;

	table = model->mmu.root[context];
	for (;;) {
		uint64_t index = address >> NPU_LEVEL_SHIFT(level) & 0x1ff;
		const uint64_t *slot = npu_host_pointer(model, table + index * 8, false);
		uint64_t entry;

		error->error = NPU_ERROR_MMU_MALFORMED;
		if (!slot)
			return reads;
		entry = le64toh(__atomic_load_n(slot, __ATOMIC_ACQUIRE));
		reads++;
		error->error = NPU_ERROR_MMU_UNMAPPED;
		if (!(entry & PTE_VALID))
			return reads;
		error->error = entry_malformed(entry, level);
		if (error->error)
			return reads;
		table = (entry >> PTE_PPN_SHIFT & PTE_PPN_MASK) << NPU_PAGE_SHIFT;
		if (!is_leaf(entry)) {
			level--;
			continue;
		}
		error->error = leaf_denies(entry, access);
		if (error->error)
			return reads;
		leaf->address = table;
		leaf->flags = entry;
		leaf->level = level;
		*ok = true;
		return reads;
	}
}

/* Levels the walk cache does not supply; the levels read enter it. */
static unsigned int cached_levels(struct npu_walk_cache *walks, unsigned int context,
				  uint64_t address, unsigned int reads)
{
	uint64_t key[2] = {
		npu_tlb_key(context, address, 2),
		npu_tlb_key(context, address, 1),
	};
	unsigned int pointers = reads - 1;	/* entries that point further down */
	unsigned int supplied = 0;

	/* The deepest one that is there spares all above it. */
	for (unsigned int i = pointers; i > 0 && !supplied; i--) {
		if (npu_walk_cache_lookup(walks, key[i - 1]))
			supplied = i;
	}
	for (unsigned int i = supplied; i < pointers; i++)
		npu_walk_cache_insert(walks, key[i]);
	return reads - supplied;
}

unsigned int npu_mmu_touch(struct npu_model *model, unsigned int context, uint64_t address,
			   enum npu_access access)
{
	struct npu_mmu *mmu = &model->mmu;
	struct npu_memory_error error;
	struct npu_leaf leaf;
	unsigned int reads;
	bool ok;

	if (npu_tlb_lookup(&mmu->tlb, context, address))
		return 0;
	mmu->misses++;
	reads = npu_mmu_walk(model, context, address, access, &leaf, &error, &ok);
	if (!reads)
		return 0;
	reads = cached_levels(&mmu->walks, context, address, reads);
	if (ok)
		npu_tlb_insert(&mmu->tlb, context, address, leaf.level);
	return reads;
}

static uint32_t allowed_accesses(uint64_t flags)
{
	uint32_t allowed = 0;

	for (enum npu_access access = NPU_ACCESS_READ; access <= NPU_ACCESS_RING; access++) {
		if (!leaf_denies(flags, access))
			allowed |= 1u << access;
	}
	return allowed;
}

/* The translation of @address, walked anew when what is known does not allow @access. */
static struct npu_pointer *find_pointer(struct npu_model *model, unsigned int context,
					uint64_t address, enum npu_access access,
					struct npu_memory_error *error)
{
	uint64_t key = npu_tlb_key(context, address, 0);
	uint64_t page = address >> NPU_PAGE_SHIFT;
	struct npu_pointer *slot =
		&model->mmu.pointer[(page ^ (page >> 12) ^ context * 97u) % NPU_POINTERS];
	struct npu_leaf leaf;
	uint64_t mask;
	bool ok;

	if (slot->key == key && (slot->access & 1u << access))
		return slot;
	npu_mmu_walk(model, context, address, access, &leaf, error, &ok);
	if (!ok)
		return NULL;
	mask = (1ull << NPU_LEVEL_SHIFT(leaf.level)) - 1;
	slot->key = key;
	slot->access = allowed_accesses(leaf.flags);
	slot->physical = leaf.address | (address & mask & ~NPU_PAGE_MASK);
	slot->read = NULL;
	slot->write = NULL;
	return slot;
}

void *npu_mmu_pointer(struct npu_model *model, unsigned int context, uint64_t address,
		      enum npu_access access, bool write, struct npu_memory_error *error)
{
	enum npu_access check = write ? NPU_ACCESS_WRITE : access;
	struct npu_pointer *slot;
	uint8_t **data;

	if (!canonical(address)) {
		error->error = NPU_ERROR_VA_RANGE;
		error->address = address;
		return NULL;
	}
	slot = find_pointer(model, context, address, check, error);
	if (!slot)
		return NULL;
	data = write ? &slot->write : &slot->read;
	if (!*data)
		*data = npu_host_pointer(model, slot->physical, write);
	if (!*data) {
		error->error = NPU_ERROR_BUS;
		error->address = address;
		return NULL;
	}
	return *data + (address & NPU_PAGE_MASK);
}
