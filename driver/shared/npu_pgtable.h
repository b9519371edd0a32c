/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Page tables of the NPU's address spaces (RISC-V Sv39, Svade).
 *
 * One source for the kernel driver and for the library's device model back end: memory
 * comes through callbacks, nothing else is asked of the world around it. Authority on the format:
 * Documentation/hardware/mmu.rst.
 *
 * Not thread safe: the caller serializes all calls on one table. The device walks the tables at
 * any time; every entry is changed by one 64-bit store, and a table is published after its
 * contents. Invalidating the device's TLB after npu_pgtable_unmap() is the caller's part, and only
 * then may npu_pgtable_reap() be called.
 */
#ifndef NPU_PGTABLE_H
#define NPU_PGTABLE_H

#include <linux/types.h>

#define NPU_PAGE_SHIFT		12
#define NPU_PAGE_BYTES		((__u64)1 << NPU_PAGE_SHIFT)
#define NPU_LARGE_PAGE_SHIFT	21
#define NPU_LARGE_PAGE_BYTES	((__u64)1 << NPU_LARGE_PAGE_SHIFT)
#define NPU_TABLE_ENTRIES	512

/*
 * A canonical 39-bit address repeats its bit 38 above; only the lower half is ever mapped, so
 * that an address is also its own offset.
 */
#define NPU_VA_BITS		38
#define NPU_VA_END		((__u64)1 << NPU_VA_BITS)

/* Physical addresses reach as far as an entry's 44-bit page number. */
#define NPU_PA_BITS		56

#define NPU_PTE_VALID		((__u64)1 << 0)
#define NPU_PTE_READ		((__u64)1 << 1)
#define NPU_PTE_WRITE		((__u64)1 << 2)
#define NPU_PTE_EXEC		((__u64)1 << 3)
#define NPU_PTE_USER		((__u64)1 << 4)
#define NPU_PTE_ACCESSED	((__u64)1 << 6)
#define NPU_PTE_DIRTY		((__u64)1 << 7)
#define NPU_PTE_PAGE_SHIFT	10
#define NPU_PTE_PAGE_MASK	((((__u64)1 << 44) - 1) << NPU_PTE_PAGE_SHIFT)

/* What the device may do with a range. Writing without reading does not exist in Sv39. */
#define NPU_PROT_READ		0x1u
#define NPU_PROT_WRITE		0x2u
#define NPU_PROT_EXEC		0x4u
#define NPU_PROT_ALL		7u

/* 4 KiB leaves only, however well the memory is aligned. */
#define NPU_MAP_SMALL_PAGES	0x1u

struct npu_pgtable_node;

/**
 * struct npu_pgtable_ops - where tables come from
 * @table_alloc:	a zeroed, 4 KiB aligned table of 4 KiB that the device can read; *dma is its
 *			address for the device; NULL when there is no memory
 * @table_free:		gives a table back
 * @host_alloc:		zeroed memory for bookkeeping; NULL when there is none
 * @host_free:		gives it back; may be called with NULL
 *
 * They are called only from inside calls of this file, with the owner given to
 * npu_pgtable_init(), and may sleep if the caller may.
 */
struct npu_pgtable_ops {
	void *(*table_alloc)(void *owner, __u64 *dma);
	void (*table_free)(void *owner, void *table, __u64 dma);
	void *(*host_alloc)(void *owner, unsigned long bytes);
	void (*host_free)(void *owner, void *memory);
};

/**
 * struct npu_pgtable - one address space
 * @ops:	where tables come from
 * @owner:	passed to @ops
 * @root:	the table of level 2
 * @dead:	tables taken out, which the device may still know
 * @tables:	tables in use or dead, for accounting
 */
struct npu_pgtable {
	const struct npu_pgtable_ops *ops;
	void *owner;
	struct npu_pgtable_node *root;
	struct npu_pgtable_node *dead;
	unsigned long tables;
};

/* Memory that is contiguous for the device. */
struct npu_pgtable_extent {
	__u64 address;	/* for the device, 4 KiB aligned */
	__u64 bytes;	/* a multiple of 4 KiB, not 0 */
};

/**
 * npu_pgtable_init() - make an empty address space
 * @pt: to be initialized
 * @ops: must outlive @pt
 * @owner: passed to @ops
 *
 * Return: 0, -ENOMEM.
 */
int npu_pgtable_init(struct npu_pgtable *pt, const struct npu_pgtable_ops *ops, void *owner);

/**
 * npu_pgtable_fini() - give all tables back
 * @pt: the address space; the device must not use it any more. Zeroed memory is allowed
 */
void npu_pgtable_fini(struct npu_pgtable *pt);

/**
 * npu_pgtable_root() - what goes into the context table
 * @pt: the address space
 *
 * Return: the root's address for the device.
 */
__u64 npu_pgtable_root(const struct npu_pgtable *pt);

/**
 * npu_pgtable_map() - map a list of extents, one behind the other, or nothing
 * @pt: the address space
 * @va: first address, 4 KiB aligned
 * @extents: the memory
 * @count: number of extents, 1 or more
 * @prot: NPU_PROT_*, at least read or execute
 * @flags: NPU_MAP_*
 *
 * 2 MiB leaves are used where address and memory allow. No TLB invalidation is needed after it,
 * as the device does not keep misses.
 *
 * Return: 0; -EINVAL (alignment, range, prot or flags), -EEXIST (part of the range is mapped),
 * -ENOMEM. On failure nothing has changed.
 */
int npu_pgtable_map(struct npu_pgtable *pt, __u64 va, const struct npu_pgtable_extent *extents,
		    unsigned long count, unsigned int prot, unsigned int flags);

/**
 * npu_pgtable_unmap() - unmap a range, or nothing
 * @pt: the address space
 * @va: first address, 4 KiB aligned
 * @bytes: a multiple of 4 KiB, not 0; holes in the range are allowed
 *
 * A 2 MiB leaf that reaches over an end of the range is split, which is all that can fail.
 *
 * Return: 0; -EINVAL, -ENOMEM. On failure nothing has changed.
 */
int npu_pgtable_unmap(struct npu_pgtable *pt, __u64 va, __u64 bytes);

/**
 * npu_pgtable_reap() - give back the tables that earlier calls took out
 * @pt: the address space; the device's TLB has been invalidated since
 */
void npu_pgtable_reap(struct npu_pgtable *pt);

/**
 * npu_pgtable_lookup() - what the tables say about an address
 * @pt: the address space
 * @va: any address
 * @address: set to the device's address of the byte
 *
 * Return: NPU_PROT_* of the mapping, 0 when there is none (then @address is not touched).
 */
unsigned int npu_pgtable_lookup(const struct npu_pgtable *pt, __u64 va, __u64 *address);

#endif /* NPU_PGTABLE_H */
