// SPDX-License-Identifier: MIT
/* Guest memory by DMA address. See dma_map.h. */
#include "dma_map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus_guard.h"

#define PAGE_MASK	4095u

struct file {
	dev_t device;
	ino_t inode;
	uint8_t *data;		/* NULL: free */
	uint64_t size;
	bool writable;
	size_t regions;
};

struct region {
	uint64_t first, last;	/* DMA addresses */
	struct file *file;	/* or NULL */
	uint64_t offset;
	bool read, write;
};

struct dma_map {
	pthread_mutex_t lock;	/* regions and missed, against translate */
	struct region *regions;	/* sorted, disjoint */
	size_t count, room;
	bool missed;
	struct file files[DMA_MAP_FILES_MAX];
};

struct dma_map *dma_map_create(void)
{
	struct dma_map *map = calloc(1, sizeof(*map));

	if (map)
		pthread_mutex_init(&map->lock, NULL);
	return map;
}

void dma_map_destroy(struct dma_map *map)
{
	if (!map)
		return;
	dma_map_clear(map);
	free(map->regions);
	pthread_mutex_destroy(&map->lock);
	free(map);
}

/* Number of the first region that ends at or behind @address. */
static size_t find(const struct dma_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->regions[middle].last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Room for one more region. */
static int reserve(struct dma_map *map)
{
	size_t room = map->room ? map->room * 2 : 64;
	struct region *regions;

	if (map->count < map->room)
		return 0;
	if (map->count >= DMA_MAP_REGIONS_MAX)
		return ENOSPC;
	regions = realloc(map->regions, room * sizeof(*regions));
	if (!regions)
		return ENOMEM;
	map->regions = regions;
	map->room = room;
	return 0;
}

static void unmap_file(struct file *file)
{
	bus_guard_remove(file->data);
	munmap(file->data, file->size);
	memset(file, 0, sizeof(*file));
}

/* A place for another file; one that no region uses any more has to go when there is none. */
static struct file *free_file(struct dma_map *map)
{
	struct file *unused = NULL;

	for (size_t i = 0; i < DMA_MAP_FILES_MAX; i++) {
		if (!map->files[i].data)
			return &map->files[i];
		if (!map->files[i].regions)
			unused = &map->files[i];
	}
	if (unused)
		unmap_file(unused);
	return unused;
}

static struct file *known_file(struct dma_map *map, const struct stat *status, bool writable)
{
	for (size_t i = 0; i < DMA_MAP_FILES_MAX; i++) {
		struct file *file = &map->files[i];

		/* A file that has grown since is mapped again. */
		if (file->data && file->device == status->st_dev &&
		    file->inode == status->st_ino && file->size == (uint64_t)status->st_size &&
		    file->writable >= writable)
			return file;
	}
	return NULL;
}

static int map_file(struct dma_map *map, int fd, bool write, struct file **result)
{
	struct stat status;
	struct file *file;
	bool writable;
	void *data;
	int flags;

	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return EINVAL;
	writable = (flags & O_ACCMODE) == O_RDWR;
	if ((flags & O_ACCMODE) == O_WRONLY || (write && !writable))
		return EACCES;
	*result = known_file(map, &status, writable);
	if (*result)
		return 0;
	file = free_file(map);
	if (!file)
		return ENOSPC;
	data = mmap(NULL, (size_t)status.st_size, PROT_READ | (writable ? PROT_WRITE : 0),
		    MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return errno;
	*file = (struct file){
		.device = status.st_dev,
		.inode = status.st_ino,
		.data = data,
		.size = (uint64_t)status.st_size,
		.writable = writable,
	};
	bus_guard_add(data, file->size);
	*result = file;
	return 0;
}

static int check_file(const struct region *region)
{
	uint64_t size = region->last - region->first + 1;

	if ((region->first | size | region->offset) & PAGE_MASK)
		return EINVAL;
	if (region->offset > region->file->size || size > region->file->size - region->offset)
		return EINVAL;
	return 0;
}

static void insert(struct dma_map *map, size_t index, const struct region *region)
{
	memmove(map->regions + index + 1, map->regions + index,
		(map->count - index) * sizeof(*region));
	map->regions[index] = *region;
	map->count++;
	if (region->file)
		region->file->regions++;
}

int dma_map_add(struct dma_map *map, uint64_t address, uint64_t size, bool read, bool write,
		int fd, uint64_t offset)
{
	struct region region = {
		.first = address,
		.last = address + (size - 1),
		.offset = offset,
		.read = read,
		.write = write,
	};
	size_t index = find(map, address);
	int result;

	if (!size || region.last < region.first)
		return EINVAL;
	if (index < map->count && map->regions[index].first <= region.last)
		return EEXIST;
	if (fd >= 0) {
		result = map_file(map, fd, write, &region.file);
		if (!result)
			result = check_file(&region);
		if (result)
			return result;
	}
	pthread_mutex_lock(&map->lock);
	result = reserve(map);
	if (!result)
		insert(map, index, &region);
	pthread_mutex_unlock(&map->lock);
	return result;
}

static void take_out(struct dma_map *map, size_t index)
{
	if (map->regions[index].file)
		map->regions[index].file->regions--;
	map->count--;
	memmove(map->regions + index, map->regions + index + 1,
		(map->count - index) * sizeof(map->regions[0]));
}

/* Region @index loses @first to @last; returns the number of the next one to look at. */
static size_t cut(struct dma_map *map, size_t index, uint64_t first, uint64_t last)
{
	struct region *region = &map->regions[index];
	struct region tail = *region;

	if (region->first >= first && region->last <= last) {
		take_out(map, index);
		return index;
	}
	if (region->last > last) {
		tail.offset += last + 1 - tail.first;
		tail.first = last + 1;
		if (region->first >= first) {
			*region = tail;
			return index + 1;
		}
		insert(map, index + 1, &tail);
	}
	map->regions[index].last = first - 1;
	return index + 1;
}

int dma_map_remove(struct dma_map *map, uint64_t address, uint64_t size)
{
	uint64_t last = address + (size - 1);
	size_t index;
	int result;

	if (!size)
		return 0;
	pthread_mutex_lock(&map->lock);
	/* One region at most is split in two. */
	result = reserve(map);
	if (!result) {
		index = find(map, address);
		while (index < map->count && map->regions[index].first <= last)
			index = cut(map, index, address, last);
	}
	pthread_mutex_unlock(&map->lock);
	return result;
}

void dma_map_clear(struct dma_map *map)
{
	pthread_mutex_lock(&map->lock);
	map->count = 0;
	map->missed = false;
	pthread_mutex_unlock(&map->lock);
	for (size_t i = 0; i < DMA_MAP_FILES_MAX; i++) {
		if (map->files[i].data)
			unmap_file(&map->files[i]);
	}
}

static void *translate(struct dma_map *map, uint64_t address, uint64_t size, bool write)
{
	const struct region *region;
	size_t index = find(map, address);

	if (index == map->count || !size)
		return NULL;
	region = &map->regions[index];
	if (address < region->first || size - 1 > region->last - address)
		return NULL;
	if (!(write ? region->write : region->read))
		return NULL;
	if (!region->file) {
		map->missed = true;
		return NULL;
	}
	return region->file->data + region->offset + (address - region->first);
}

void *dma_map_translate(struct dma_map *map, uint64_t address, uint64_t size, bool write)
{
	void *pointer;

	pthread_mutex_lock(&map->lock);
	pointer = translate(map, address, size, write);
	pthread_mutex_unlock(&map->lock);
	return pointer;
}

struct dma_map_stats dma_map_stats(struct dma_map *map)
{
	struct dma_map_stats stats = { 0 };

	pthread_mutex_lock(&map->lock);
	for (size_t i = 0; i < map->count; i++) {
		if (map->regions[i].file)
			stats.with_file++;
		else if (map->regions[i].write)
			stats.without_file++;
	}
	stats.missed = map->missed;
	pthread_mutex_unlock(&map->lock);
	return stats;
}
