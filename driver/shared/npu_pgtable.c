// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Page tables of the NPU's address spaces. See npu_pgtable.h.
 *
 * Each table has a node beside it, because a kernel cannot turn the device's address of a table
 * into a pointer. A change runs in two passes: the first allocates and can fail, the second
 * writes entries and cannot.
 */
#include "npu_pgtable.h"

#ifdef __KERNEL__
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <linux/compiler.h>
#include <linux/errno.h>

static void entry_store(__le64 *entry, __u64 value)
{
	/* A table's contents must be there before an entry leads to it. */
	dma_wmb();
	WRITE_ONCE(*entry, cpu_to_le64(value));
}

static __u64 entry_load(const __le64 *entry)
{
	return le64_to_cpu(READ_ONCE(*entry));
}
#else
#include <endian.h>
#include <errno.h>
#include <stddef.h>

static void entry_store(__le64 *entry, __u64 value)
{
	__atomic_store_n(entry, htole64(value), __ATOMIC_RELEASE);
}

static __u64 entry_load(const __le64 *entry)
{
	return le64toh(__atomic_load_n(entry, __ATOMIC_RELAXED));
}
#endif

#define LEVEL_ROOT	2
#define LEVEL_LARGE	1	/* its leaves map 2 MiB */
#define LEVEL_SMALL	0

#define PTE_LEAF	(NPU_PTE_READ | NPU_PTE_WRITE | NPU_PTE_EXEC)

/*
 * @used: entries that lead somewhere, or will once the table below them is live. Only then is the
 * entry in the parent written, so an allocation that fails later leaves nothing to take back.
 */
struct npu_pgtable_node {
	__le64 *entries;
	__u64 dma;
	unsigned int used;
	int live;
	struct npu_pgtable_node *next_dead;
	struct npu_pgtable_node *child[];	/* levels 2 and 1 */
};

static unsigned int level_shift(int level)
{
	return NPU_PAGE_SHIFT + 9 * (unsigned int)level;
}

static __u64 level_bytes(int level)
{
	return (__u64)1 << level_shift(level);
}

static unsigned int index_of(__u64 va, int level)
{
	return (va >> level_shift(level)) & (NPU_TABLE_ENTRIES - 1);
}

static __u64 page_entry(__u64 address)
{
	return address >> NPU_PAGE_SHIFT << NPU_PTE_PAGE_SHIFT;
}

static __u64 entry_address(__u64 entry)
{
	return (entry & NPU_PTE_PAGE_MASK) >> NPU_PTE_PAGE_SHIFT << NPU_PAGE_SHIFT;
}

static int is_leaf(__u64 entry)
{
	return (entry & NPU_PTE_VALID) && (entry & PTE_LEAF);
}

static struct npu_pgtable_node *node_new(struct npu_pgtable *pt, int level)
{
	unsigned long children = level == LEVEL_SMALL ? 0 : NPU_TABLE_ENTRIES;
	struct npu_pgtable_node *node;

	node = pt->ops->host_alloc(pt->owner, sizeof(*node) + children * sizeof(node->child[0]));
	if (!node)
		return NULL;
	node->entries = pt->ops->table_alloc(pt->owner, &node->dma);
	if (!node->entries) {
		pt->ops->host_free(pt->owner, node);
		return NULL;
	}
	pt->tables++;
	return node;
}

static void node_free(struct npu_pgtable *pt, struct npu_pgtable_node *node)
{
	pt->ops->table_free(pt->owner, node->entries, node->dma);
	pt->ops->host_free(pt->owner, node);
	pt->tables--;
}

/* The device may have it in its walk cache until the caller has invalidated that. */
static void node_retire(struct npu_pgtable *pt, struct npu_pgtable_node *node)
{
	if (!node->live) {
		node_free(pt, node);
		return;
	}
	node->next_dead = pt->dead;
	pt->dead = node;
}

int npu_pgtable_init(struct npu_pgtable *pt, const struct npu_pgtable_ops *ops, void *owner)
{
	pt->ops = ops;
	pt->owner = owner;
	pt->dead = NULL;
	pt->tables = 0;
	pt->root = node_new(pt, LEVEL_ROOT);
	if (!pt->root)
		return -ENOMEM;
	pt->root->live = 1;
	return 0;
}

static void free_below(struct npu_pgtable *pt, struct npu_pgtable_node *node, int level)
{
	unsigned int i;

	for (i = 0; level > LEVEL_SMALL && i < NPU_TABLE_ENTRIES; i++) {
		if (node->child[i])
			free_below(pt, node->child[i], level - 1);
	}
	node_free(pt, node);
}

void npu_pgtable_fini(struct npu_pgtable *pt)
{
	if (!pt->root)
		return;
	npu_pgtable_reap(pt);
	free_below(pt, pt->root, LEVEL_ROOT);
	pt->root = NULL;
}

__u64 npu_pgtable_root(const struct npu_pgtable *pt)
{
	return pt->root->dma;
}

void npu_pgtable_reap(struct npu_pgtable *pt)
{
	struct npu_pgtable_node *node = pt->dead;

	pt->dead = NULL;
	while (node) {
		struct npu_pgtable_node *next = node->next_dead;

		node_free(pt, node);
		node = next;
	}
}

/* The table of @level that covers @va, as far as it exists; NULL when it does not. */
static struct npu_pgtable_node *find(const struct npu_pgtable *pt, __u64 va, int level)
{
	struct npu_pgtable_node *node = pt->root;
	int at;

	for (at = LEVEL_ROOT; node && at > level; at--)
		node = node->child[index_of(va, at)];
	return node;
}

/* Removes the tables on the way to @va that hold nothing, from below. */
static void prune(struct npu_pgtable *pt, __u64 va)
{
	int level;

	for (level = LEVEL_SMALL; level < LEVEL_ROOT; level++) {
		struct npu_pgtable_node *node = find(pt, va, level);
		struct npu_pgtable_node *parent;

		if (!node)
			continue;
		if (node->used)
			return;
		parent = find(pt, va, level + 1);
		if (node->live)
			entry_store(&parent->entries[index_of(va, level + 1)], 0);
		parent->child[index_of(va, level + 1)] = NULL;
		parent->used--;
		node_retire(pt, node);
	}
}

static void prune_range(struct npu_pgtable *pt, __u64 va, __u64 end)
{
	for (; va < end; va = (va | (NPU_LARGE_PAGE_BYTES - 1)) + 1)
		prune(pt, va);
}

/* Makes the table of @level for @va; its way down is not written yet. */
static int reserve(struct npu_pgtable *pt, __u64 va, int level)
{
	struct npu_pgtable_node *node = pt->root;
	int at;

	for (at = LEVEL_ROOT; at > level; at--) {
		unsigned int index = index_of(va, at);

		if (!node->child[index]) {
			struct npu_pgtable_node *child = node_new(pt, at - 1);

			if (!child)
				return -ENOMEM;
			node->child[index] = child;
			node->used++;
		}
		node = node->child[index];
	}
	return 0;
}

/* Writes a leaf into a reserved table, then the way to it. */
static void commit(struct npu_pgtable *pt, __u64 va, int level, __u64 leaf)
{
	struct npu_pgtable_node *node = find(pt, va, level);
	int at;

	entry_store(&node->entries[index_of(va, level)], leaf);
	node->used++;
	for (at = level + 1; at <= LEVEL_ROOT && !node->live; at++) {
		struct npu_pgtable_node *parent = find(pt, va, at);

		entry_store(&parent->entries[index_of(va, at)],
			    page_entry(node->dma) | NPU_PTE_VALID);
		node->live = 1;
		node = parent;
	}
}

static int range_is_free(const struct npu_pgtable *pt, __u64 va, __u64 end)
{
	while (va < end) {
		const struct npu_pgtable_node *node = pt->root;
		int level = LEVEL_ROOT;

		while (level > LEVEL_SMALL && node->child[index_of(va, level)])
			node = node->child[index_of(va, level--)];
		if (entry_load(&node->entries[index_of(va, level)]) & NPU_PTE_VALID)
			return 0;
		va = (va | (level_bytes(level) - 1)) + 1;
	}
	return 1;
}

static int check_range(__u64 va, __u64 bytes)
{
	if ((va | bytes) & (NPU_PAGE_BYTES - 1))
		return -EINVAL;
	if (!bytes || va >= NPU_VA_END || bytes > NPU_VA_END - va)
		return -EINVAL;
	return 0;
}

static int check_map(__u64 va, const struct npu_pgtable_extent *extents, unsigned long count,
		     unsigned int prot, unsigned int flags, __u64 *bytes)
{
	unsigned long i;

	if (prot & ~NPU_PROT_ALL || !(prot & (NPU_PROT_READ | NPU_PROT_EXEC)))
		return -EINVAL;
	if ((prot & NPU_PROT_WRITE && !(prot & NPU_PROT_READ)) || flags & ~NPU_MAP_SMALL_PAGES)
		return -EINVAL;
	*bytes = 0;
	for (i = 0; i < count; i++) {
		__u64 limit = (__u64)1 << NPU_PA_BITS;

		if ((extents[i].address | extents[i].bytes) & (NPU_PAGE_BYTES - 1))
			return -EINVAL;
		if (!extents[i].bytes || extents[i].bytes > NPU_VA_END - *bytes)
			return -EINVAL;
		if (extents[i].address >= limit || extents[i].bytes > limit - extents[i].address)
			return -EINVAL;
		*bytes += extents[i].bytes;
	}
	return check_range(va, *bytes);
}

/* The level of the leaf that starts a piece of memory. */
static int leaf_level(__u64 va, __u64 address, __u64 bytes, unsigned int flags)
{
	if (flags & NPU_MAP_SMALL_PAGES || bytes < NPU_LARGE_PAGE_BYTES)
		return LEVEL_SMALL;
	return (va | address) & (NPU_LARGE_PAGE_BYTES - 1) ? LEVEL_SMALL : LEVEL_LARGE;
}

static __u64 leaf_bits(unsigned int prot)
{
	/* The device faults rather than set A or D, so both are there from the start. */
	__u64 bits = NPU_PTE_VALID | NPU_PTE_USER | NPU_PTE_ACCESSED;

	if (prot & NPU_PROT_READ)
		bits |= NPU_PTE_READ;
	if (prot & NPU_PROT_WRITE)
		bits |= NPU_PTE_WRITE | NPU_PTE_DIRTY;
	if (prot & NPU_PROT_EXEC)
		bits |= NPU_PTE_EXEC;
	return bits;
}

int npu_pgtable_map(struct npu_pgtable *pt, __u64 va, const struct npu_pgtable_extent *extents,
		    unsigned long count, unsigned int prot, unsigned int flags)
{
	__u64 bits = leaf_bits(prot);
	__u64 bytes, at = va;
	unsigned long i;
	int pass, ret;

	ret = check_map(va, extents, count, prot, flags, &bytes);
	if (ret)
		return ret;
	if (!range_is_free(pt, va, va + bytes))
		return -EEXIST;

	for (pass = 0; pass < 2; pass++) {
		at = va;
		for (i = 0; i < count; i++) {
			__u64 address = extents[i].address;
			__u64 left = extents[i].bytes;

			while (left) {
				int level = leaf_level(at, address, left, flags);

				if (pass)
					commit(pt, at, level, page_entry(address) | bits);
				else if (reserve(pt, at, level))
					goto undo;
				at += level_bytes(level);
				address += level_bytes(level);
				left -= level_bytes(level);
			}
		}
	}
	return 0;

undo:
	prune_range(pt, va, at + 1);
	return -ENOMEM;
}

/* A table for the 2 MiB leaf that reaches over @va; *node stays NULL where none does. */
static int split_prepare(struct npu_pgtable *pt, __u64 va, struct npu_pgtable_node **node)
{
	const struct npu_pgtable_node *parent;
	__u64 leaf, i;

	if (!(va & (NPU_LARGE_PAGE_BYTES - 1)))
		return 0;
	parent = find(pt, va, LEVEL_LARGE);
	if (!parent)
		return 0;
	leaf = entry_load(&parent->entries[index_of(va, LEVEL_LARGE)]);
	if (!is_leaf(leaf))
		return 0;
	*node = node_new(pt, LEVEL_SMALL);
	if (!*node)
		return -ENOMEM;
	for (i = 0; i < NPU_TABLE_ENTRIES; i++)
		entry_store(&(*node)->entries[i], leaf + (i << NPU_PTE_PAGE_SHIFT));
	(*node)->used = NPU_TABLE_ENTRIES;
	return 0;
}

static void split_commit(struct npu_pgtable *pt, __u64 va, struct npu_pgtable_node *node)
{
	struct npu_pgtable_node *parent;
	unsigned int index = index_of(va, LEVEL_LARGE);

	if (!node)
		return;
	parent = find(pt, va, LEVEL_LARGE);
	parent->child[index] = node;
	node->live = 1;
	entry_store(&parent->entries[index], page_entry(node->dma) | NPU_PTE_VALID);
}

/* Clears what one table of @level holds from @va on; returns where to go on. */
static __u64 clear_some(struct npu_pgtable_node *node, int level, __u64 va, __u64 end)
{
	do {
		__le64 *entry = &node->entries[index_of(va, level)];

		if (is_leaf(entry_load(entry))) {
			entry_store(entry, 0);
			node->used--;
		}
		va = (va | (level_bytes(level) - 1)) + 1;
	} while (level == LEVEL_SMALL && va < end && index_of(va, level));
	return va;
}

int npu_pgtable_unmap(struct npu_pgtable *pt, __u64 va, __u64 bytes)
{
	struct npu_pgtable_node *first = NULL, *last = NULL;
	__u64 end = va + bytes;
	__u64 at;
	int ret;

	ret = check_range(va, bytes);
	if (ret)
		return ret;
	ret = split_prepare(pt, va, &first);
	/* One leaf may hold both ends; it is split once. */
	if (!ret && (!first || va >> NPU_LARGE_PAGE_SHIFT != end >> NPU_LARGE_PAGE_SHIFT))
		ret = split_prepare(pt, end, &last);
	if (ret) {
		if (first)
			node_free(pt, first);
		return ret;
	}
	split_commit(pt, va, first);
	split_commit(pt, end, last);

	for (at = va; at < end;) {
		struct npu_pgtable_node *node = pt->root;
		int level = LEVEL_ROOT;
		__u64 next;

		while (level > LEVEL_SMALL && node->child[index_of(at, level)])
			node = node->child[index_of(at, level--)];
		next = clear_some(node, level, at, end);
		prune(pt, at);
		at = next;
	}
	return 0;
}

unsigned int npu_pgtable_lookup(const struct npu_pgtable *pt, __u64 va, __u64 *address)
{
	const struct npu_pgtable_node *node = pt->root;
	unsigned int prot = 0;
	int level = LEVEL_ROOT;
	__u64 entry;

	if (va >= NPU_VA_END)
		return 0;
	while (level > LEVEL_SMALL && node->child[index_of(va, level)])
		node = node->child[index_of(va, level--)];
	entry = entry_load(&node->entries[index_of(va, level)]);
	if (!is_leaf(entry))
		return 0;
	*address = entry_address(entry) + (va & (level_bytes(level) - 1));
	if (entry & NPU_PTE_READ)
		prot |= NPU_PROT_READ;
	if (entry & NPU_PTE_WRITE)
		prot |= NPU_PROT_WRITE;
	if (entry & NPU_PTE_EXEC)
		prot |= NPU_PROT_EXEC;
	return prot;
}
