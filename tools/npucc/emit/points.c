// SPDX-License-Identifier: MIT
#include "points.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hash.h"

/* Of a point, for one cluster. */
struct part {
	size_t at;			/* in the stream */
	uint32_t count;
	uint32_t bytes;			/* of the ranges */
	struct npu_point_range range[NPU_POINT_RANGES_MAX];	/* little endian */
	struct stream *resume;
};

struct point {
	uint32_t done;			/* of the layer, in POINTS_WHOLE */
	bool resumes;
	struct part part[NPU_PROGRAM_CLUSTERS_MAX];
};

struct points {
	struct point *list;
	uint32_t count, capacity;
	uint32_t clusters, dma_channels;
	uint32_t layer_first;		/* first point of the layer under way */
	uint64_t since, longest;	/* cycles since the last point; the most so far */
	const char *error;		/* the first thing that went wrong */
};

struct points *points_new(uint32_t clusters, uint32_t dma_channels)
{
	struct points *points = calloc(1, sizeof(*points));

	if (!points)
		return NULL;
	points->clusters = clusters;
	points->dma_channels = dma_channels;
	return points;
}

void points_free(struct points *points)
{
	uint32_t i, cluster;

	if (!points)
		return;
	for (i = 0; i < points->count; i++)
		for (cluster = 0; cluster < points->clusters; cluster++)
			stream_free(points->list[i].part[cluster].resume);
	free(points->list);
	free(points);
}

static const char no_memory[] = "not enough memory for the program's points";

static void fail(struct points *points, const char *error)
{
	if (!points->error)
		points->error = error;
}

const char *points_error(const struct points *points)
{
	uint32_t i, cluster;

	for (i = 0; i < points->count && !points->error; i++)
		for (cluster = 0; cluster < points->clusters; cluster++) {
			const struct stream *resume = points->list[i].part[cluster].resume;

			if (resume && stream_failed(resume))
				return no_memory;
		}
	return points->error;
}

uint32_t points_add(struct points *points, uint32_t part)
{
	uint32_t capacity = points->capacity ? 2 * points->capacity : 64;
	struct point *list;

	if (points->count == points->capacity) {
		list = realloc(points->list, capacity * sizeof(*list));
		if (!list) {
			fail(points, no_memory);
			return 0;
		}
		points->list = list;
		points->capacity = capacity;
	}
	if (points->count > points->layer_first && part < points->list[points->count - 1].done)
		fail(points, "internal error: a layer's points are not in the order of its work");
	memset(&points->list[points->count], 0, sizeof(*points->list));
	points->list[points->count].done = part;
	return points->count++;
}

void points_here(struct points *points, uint32_t point, uint32_t cluster, struct stream *stream)
{
	if (!points->error)
		points->list[point].part[cluster].at = stream_point(stream);
}

void points_barrier(struct points *points, uint32_t point, uint32_t cluster, struct stream *stream)
{
	size_t at = stream_barrier(stream);

	if (!points->error)
		points->list[point].part[cluster].at = at;
}

static void add_range(struct points *points, uint32_t point, uint32_t cluster, uint32_t space,
		      uint32_t offset, uint32_t bytes)
{
	struct part *part;

	if (points->error || !bytes)
		return;
	part = &points->list[point].part[cluster];
	/* The device would take it for no point at all. */
	if (part->count == NPU_POINT_RANGES_MAX || bytes > NPU_POINT_BYTES_MAX - part->bytes) {
		fail(points, "internal error: a point of the program saves more than the device takes");
		return;
	}
	part->bytes += bytes;
	part->range[part->count++] = (struct npu_point_range){
		.space = htole32(space),
		.offset = htole32(offset),
		.bytes = htole32(bytes),
	};
}

void points_save(struct points *points, uint32_t point, uint32_t cluster, uint32_t offset,
		 uint32_t bytes)
{
	add_range(points, point, cluster, NPU_SPACE_LOCAL, offset, bytes);
}

void points_save_sums(struct points *points, uint32_t point, uint32_t cluster, uint32_t offset,
		      uint32_t bytes)
{
	add_range(points, point, cluster, NPU_POINT_SUMS, offset, bytes);
}

struct stream *points_resume(struct points *points, uint32_t point, uint32_t cluster)
{
	struct part *part;

	if (points->error)
		return NULL;
	part = &points->list[point].part[cluster];
	points->list[point].resumes = true;
	if (part->resume)
		return part->resume;
	part->resume = stream_new();
	if (!part->resume)
		fail(points, no_memory);
	else if (points->dma_channels == 1)
		stream_one_channel(part->resume);
	return part->resume;
}

uint64_t points_layer(struct points *points, uint64_t cycles)
{
	uint64_t before = 0, longest = 0;
	uint32_t i;

	for (i = points->layer_first; i < points->count; i++) {
		uint64_t at = cycles * points->list[i].done / POINTS_WHOLE;

		points->since += at - before;
		if (points->since > longest)
			longest = points->since;
		points->since = 0;
		before = at;
	}
	points->since += cycles - before;
	if (points->since > longest)
		longest = points->since;
	points->layer_first = points->count;
	if (longest > points->longest)
		points->longest = longest;
	return longest;
}

uint64_t points_longest(const struct points *points)
{
	return points->longest;
}

static uint32_t part_save_bytes(const struct part *part)
{
	uint32_t bytes = sizeof(struct npu_save_state), i;

	for (i = 0; i < part->count; i++)
		bytes += (le32toh(part->range[i].bytes) + NPU_SAVE_ALIGN - 1) &
			 ~(NPU_SAVE_ALIGN - 1u);
	return bytes;
}

uint32_t points_save_bytes(const struct points *points)
{
	uint32_t most = 0, i, cluster;

	for (i = 0; i < points->count; i++)
		for (cluster = 0; cluster < points->clusters; cluster++) {
			uint32_t bytes = part_save_bytes(&points->list[i].part[cluster]);

			most = bytes > most ? bytes : most;
		}
	return most;
}

/* ------------------------------------------------------------------------ writing */
/* Pieces that were written; equal ones are found again by their hash. */
struct piece {
	uint64_t hash;
	size_t offset, size;
};

struct image {
	uint8_t *bytes;
	size_t size, capacity;
	struct piece *slots;		/* by hash, open addressing; size 0: empty */
	size_t slot_count;		/* a power of two */
};

static bool image_reserve(struct image *image, size_t bytes)
{
	size_t capacity = image->capacity ? image->capacity : 4096;
	uint8_t *larger;

	while (capacity < image->size + bytes)
		capacity *= 2;
	if (capacity == image->capacity)
		return true;
	larger = realloc(image->bytes, capacity);
	if (!larger)
		return false;
	image->bytes = larger;
	image->capacity = capacity;
	return true;
}

/* Offset of @size bytes, a multiple of 16, written where they are not there yet; SIZE_MAX: no memory. */
static size_t image_add(struct image *image, const void *bytes, size_t size)
{
	uint64_t hash = hash_bytes(bytes, size);
	size_t at = hash & (image->slot_count - 1);
	struct piece *piece;

	for (; image->slots[at].size; at = (at + 1) & (image->slot_count - 1)) {
		piece = &image->slots[at];
		if (piece->hash == hash && piece->size == size &&
		    !memcmp(image->bytes + piece->offset, bytes, size))
			return piece->offset;
	}
	if (!image_reserve(image, size))
		return SIZE_MAX;
	memcpy(image->bytes + image->size, bytes, size);
	image->slots[at] = (struct piece){ .hash = hash, .offset = image->size, .size = size };
	image->size += size;
	return image->slots[at].offset;
}

static size_t add_resume(struct image *image, struct part *part)
{
	const void *code;
	size_t size;

	if (!part->resume)
		part->resume = stream_new();
	if (!part->resume)
		return SIZE_MAX;
	stream_end(part->resume);
	if (stream_failed(part->resume))
		return SIZE_MAX;
	code = stream_bytes(part->resume, &size);
	return image_add(image, code, size);
}

static size_t add_part(struct image *image, struct part *part, bool resumes, uint32_t base,
		       uint32_t flags)
{
	struct {
		struct npu_point header;
		struct npu_point_range range[NPU_POINT_RANGES_MAX];
	} table = { .header = { .count = htole32(part->count), .flags = htole32(flags) } };
	size_t resume;

	if (resumes) {
		resume = add_resume(image, part);
		if (resume == SIZE_MAX)
			return SIZE_MAX;
		table.header.resume = htole32(base + (uint32_t)resume);
	}
	memcpy(table.range, part->range, part->count * sizeof(table.range[0]));
	return image_add(image, &table,
			 sizeof(table.header) + part->count * sizeof(table.range[0]));
}

static bool write_parts(struct points *points, struct image *image, uint32_t base, uint32_t flags,
			struct stream *const *streams)
{
	uint32_t i, cluster;

	for (i = 0; i < points->count; i++) {
		struct point *point = &points->list[i];

		for (cluster = 0; cluster < points->clusters; cluster++) {
			struct part *part = &point->part[cluster];
			size_t table = add_part(image, part, point->resumes, base, flags);

			if (table == SIZE_MAX)
				return false;
			stream_set_point(streams[cluster], part->at, base + (uint32_t)table);
		}
	}
	return true;
}

void *points_write(struct points *points, uint32_t base, uint32_t global_bytes,
		   struct stream *const *streams, size_t *size)
{
	struct image image = { .slot_count = 64 };
	uint32_t flags = global_bytes ? NPU_POINT_WINDOW : 0;

	*size = 0;
	if (!points->count)
		return NULL;
	/* At most a table and a stream a part, and half of the slots empty. */
	while (image.slot_count < 4 * (size_t)points->count * points->clusters)
		image.slot_count *= 2;
	image.slots = calloc(image.slot_count, sizeof(*image.slots));
	if (!image.slots || !write_parts(points, &image, base, flags, streams)) {
		fail(points, no_memory);
		free(image.bytes);
		image.bytes = NULL;
	} else {
		*size = image.size;
	}
	free(image.slots);
	return image.bytes;
}
