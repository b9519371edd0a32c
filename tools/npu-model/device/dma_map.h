/* SPDX-License-Identifier: MIT */
/*
 * What of the guest's memory the device may reach, by DMA address.
 *
 * The client names regions, with files behind them or without. A file is mapped into this process
 * once, whole, however often its parts come and go; a region is a part of it with permissions.
 * Regions without a file are remembered and never translated.
 *
 * A pointer that dma_map_translate() returned stays good until dma_map_clear(), or until a
 * dma_map_add() that follows the region's removal. Between the removal of a region and either of
 * these the caller sees to it that nobody uses such pointers any more.
 *
 * Thread safety: dma_map_translate() may be called from any thread at any time; the others from one
 * thread at a time.
 */
#ifndef NPU_DEVICE_DMA_MAP_H
#define NPU_DEVICE_DMA_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dma_map;

/* Regions at most; an IOMMU in the guest makes one for each range it maps. */
#define DMA_MAP_REGIONS_MAX	65536u
/* Files mapped at a time. */
#define DMA_MAP_FILES_MAX	32u

/* dma_map_create() - an empty map; NULL when there is no memory */
struct dma_map *dma_map_create(void);

/* dma_map_destroy() - NULL is allowed */
void dma_map_destroy(struct dma_map *map);

/**
 * dma_map_add() - a region
 * @address, @size:	DMA addresses; the sum was checked for overflow
 * @read, @write:	what the device may do
 * @fd:			the file, or -1: none. Not kept, not closed
 * @offset:		of the region in the file
 *
 * With a file, everything is a multiple of 4096 and inside of the file. Returns 0 or an errno:
 * EINVAL, EEXIST (overlaps another region), EACCES (the file cannot be written), ENOSPC (too many
 * regions or files), ENOMEM.
 */
int dma_map_add(struct dma_map *map, uint64_t address, uint64_t size, bool read, bool write,
		int fd, uint64_t offset);

/**
 * dma_map_remove() - what lies between @address and @address + @size - 1
 *
 * Regions that reach over an end of the range keep the rest. A range with nothing in it is no
 * error. Returns 0, or ENOMEM when there is no memory for what is left: then nothing has changed.
 */
int dma_map_remove(struct dma_map *map, uint64_t address, uint64_t size);

/* dma_map_clear() - no regions, no files */
void dma_map_clear(struct dma_map *map);

/**
 * dma_map_translate() - where @size bytes at DMA address @address are
 *
 * Returns NULL unless all of them are in one region that has a file and allows the access.
 */
void *dma_map_translate(struct dma_map *map, uint64_t address, uint64_t size, bool write);

/* What was added since the last dma_map_clear() and is still there. */
struct dma_map_stats {
	size_t with_file, without_file;
	bool missed;	/* an access to a region without a file was refused */
};

struct dma_map_stats dma_map_stats(struct dma_map *map);

#endif
