/* SPDX-License-Identifier: MIT */
/*
 * Address translation. Manual: Documentation/hardware/mmu.rst.
 *
 * Two things are kept apart. The *timed* TLB and walk cache say what a translation costs, and hold
 * no data anybody reads. What an access finds comes from the page tables in host memory, by way of
 * a cache of host pointers; an invalidation empties both, so a translation is never older than
 * the guest's last invalidation.
 */
#ifndef NPU_MODEL_MMU_H
#define NPU_MODEL_MMU_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "npu/npu_packet.h"

struct npu_model;

#define NPU_PAGE_SHIFT		12
#define NPU_PAGE_BYTES		(1u << NPU_PAGE_SHIFT)
#define NPU_PAGE_MASK		((uint64_t)NPU_PAGE_BYTES - 1)

#define NPU_CONTEXTS_MAX	64
#define NPU_TLB_ENTRIES_MAX	4096
#define NPU_WALK_ENTRIES_MAX	4096

enum npu_access {
	NPU_ACCESS_READ = NPU_FAULT_READ,
	NPU_ACCESS_WRITE = NPU_FAULT_WRITE,
	NPU_ACCESS_FETCH = NPU_FAULT_FETCH,
	NPU_ACCESS_RING = NPU_FAULT_RING,	/* read or write, see the function */
};

/* Why an access failed. */
struct npu_memory_error {
	uint32_t error;			/* enum npu_error */
	uint64_t address;
};

/* A leaf found by a walk. */
struct npu_leaf {
	uint64_t address;		/* DMA address of the page's start */
	uint64_t flags;			/* the page-table entry */
	unsigned int level;		/* 0: 4 KiB, 1: 2 MiB, 2: 1 GiB */
};

struct npu_tlb_entry {
	uint64_t key;
	uint16_t newer, older;		/* list by use */
	uint16_t next;			/* of the same hash */
};

#define NPU_TLB_BUCKETS		1024
#define NPU_TLB_NONE		0xffffu

struct npu_tlb {
	uint16_t size, count;
	uint16_t newest, oldest;
	uint16_t bucket[NPU_TLB_BUCKETS];
	uint32_t level_count[3];	/* entries by leaf level */
	struct npu_tlb_entry entry[NPU_TLB_ENTRIES_MAX];
};

/* Upper levels; entries in order of use, the newest first. */
struct npu_walk_cache {
	uint16_t size, count;
	uint64_t key[NPU_WALK_ENTRIES_MAX];
};

#define NPU_POINTERS		4096	/* pages whose host pointer is known, direct mapped */
#define NPU_HOST_PAGES		1024

struct npu_pointer {
	uint64_t key;			/* context and page; 0: empty */
	uint32_t access;		/* allowed ones, a bit for each enum npu_access */
	uint64_t physical;		/* DMA address of the page */
	uint8_t *read, *write;		/* the page, or NULL when not yet asked for */
};

struct npu_host_page {
	uint64_t key;			/* page and direction; 0: empty */
	uint8_t *data;
};

struct npu_mmu {
	uint64_t root[NPU_CONTEXTS_MAX];	/* DMA address of the root table */
	bool valid[NPU_CONTEXTS_MAX];
	struct npu_tlb tlb;
	struct npu_walk_cache walks;
	uint64_t misses;
	uint64_t generation[NPU_CONTEXTS_MAX];	/* counts invalidations */
	struct npu_pointer pointer[NPU_POINTERS];
	struct npu_host_page host_page[NPU_HOST_PAGES];
};

/** npu_mmu_init() - no context valid, all caches empty */
void npu_mmu_init(struct npu_mmu *mmu, const struct npu_config *config);

/** npu_mmu_set_context() - a context's root table, or that it has none; invalidates it */
void npu_mmu_set_context(struct npu_mmu *mmu, unsigned int context, bool valid, uint64_t root);

/** npu_mmu_invalidate_all() - TLB, walk cache and pointers of all contexts */
void npu_mmu_invalidate_all(struct npu_mmu *mmu);

/** npu_mmu_invalidate_context() - the same for one context */
void npu_mmu_invalidate_context(struct npu_mmu *mmu, unsigned int context);

/** npu_mmu_invalidate_range() - the same for the pages a range touches; 0 bytes: none */
void npu_mmu_invalidate_range(struct npu_mmu *mmu, unsigned int context, uint64_t address,
			      uint64_t bytes);

/** npu_mmu_forget_pointers() - drop host pointers only; what the guest sees stays */
void npu_mmu_forget_pointers(struct npu_mmu *mmu);

/**
 * npu_mmu_walk() - translate by the page tables, without any cache
 * @access:	enum npu_access; NPU_ACCESS_RING is checked as a read
 * @leaf:	filled in on success
 * @error:	filled in on failure
 *
 * Returns the number of levels read (also on failure, where it can be 0), and success in *@ok.
 */
unsigned int npu_mmu_walk(struct npu_model *model, unsigned int context, uint64_t address,
			  enum npu_access access, struct npu_leaf *leaf,
			  struct npu_memory_error *error, bool *ok);

/**
 * npu_mmu_touch() - a timed access: the page enters the TLB
 *
 * Returns the levels that had to be read from DRAM: 0 when the TLB had it. A page that is not
 * mapped does not enter; the access itself will fault.
 */
unsigned int npu_mmu_touch(struct npu_model *model, unsigned int context, uint64_t address,
			   enum npu_access access);

/**
 * npu_mmu_pointer() - host pointer of a context's address
 * @write:	for writing, which matters for NPU_ACCESS_RING only beyond @access
 *
 * Returns a pointer valid to the end of the 4 KiB page, until the model is left; or NULL with
 * *@error.
 */
void *npu_mmu_pointer(struct npu_model *model, unsigned int context, uint64_t address,
		      enum npu_access access, bool write, struct npu_memory_error *error);

/**
 * npu_host_pointer() - host pointer of a DMA address, for what the kernel owns
 *
 * Returns a pointer valid to the end of the 4 KiB page, or NULL: bus error.
 */
void *npu_host_pointer(struct npu_model *model, uint64_t address, bool write);

#endif /* NPU_MODEL_MMU_H */
