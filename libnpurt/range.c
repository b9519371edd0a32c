// SPDX-License-Identifier: MIT
/* First fit over an ordered array of free parts, coalescing on return. */
#include "range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Free parts are kept apart by parts taken, so there is at most one more of them. Room for it is
 * made when a part goes: giving back must not fail.
 */
static int make_room(struct npurt_range *range, size_t taken)
{
	struct npurt_range_part *parts;
	size_t capacity;

	if (range->capacity > taken)
		return 0;
	capacity = range->capacity * 2 + 8;
	parts = reallocarray(range->parts, capacity, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	range->parts = parts;
	range->capacity = capacity;
	return 0;
}

int npurt_range_init(struct npurt_range *range, uint64_t start, uint64_t end)
{
	memset(range, 0, sizeof(*range));
	if (make_room(range, 0))
		return -ENOMEM;
	range->parts[0] = (struct npurt_range_part){ start, end };
	range->count = 1;
	return 0;
}

void npurt_range_fini(struct npurt_range *range)
{
	free(range->parts);
	memset(range, 0, sizeof(*range));
}

static void part_insert(struct npurt_range *range, size_t at, uint64_t start, uint64_t end)
{
	memmove(&range->parts[at + 1], &range->parts[at],
		(range->count - at) * sizeof(range->parts[0]));
	range->parts[at] = (struct npurt_range_part){ start, end };
	range->count++;
}

static void part_remove(struct npurt_range *range, size_t at)
{
	range->count--;
	memmove(&range->parts[at], &range->parts[at + 1],
		(range->count - at) * sizeof(range->parts[0]));
}

int npurt_range_take(struct npurt_range *range, uint64_t bytes, uint64_t align, uint64_t *start)
{
	size_t i;

	if (!bytes)
		return -EINVAL;
	if (make_room(range, range->taken + 1))
		return -ENOMEM;
	for (i = 0; i < range->count; i++) {
		struct npurt_range_part *part = &range->parts[i];
		uint64_t first = (part->start + align - 1) & ~(align - 1);
		uint64_t end = part->end;

		if (first < part->start || first >= end || end - first < bytes)
			continue;
		*start = first;
		range->taken++;
		if (first > part->start && first + bytes < end) {
			part->end = first;
			part_insert(range, i + 1, first + bytes, end);
		} else if (first > part->start) {
			part->end = first;
		} else if (first + bytes < end) {
			part->start = first + bytes;
		} else {
			part_remove(range, i);
		}
		return 0;
	}
	return -ENOMEM;
}

/* Index of the first free part behind @start. */
static size_t find_behind(const struct npurt_range *range, uint64_t start)
{
	size_t low = 0, high = range->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range->parts[middle].start > start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void npurt_range_give(struct npurt_range *range, uint64_t start, uint64_t bytes)
{
	size_t at = find_behind(range, start);
	uint64_t end = start + bytes;
	int joins_before = at > 0 && range->parts[at - 1].end == start;
	int joins_behind = at < range->count && range->parts[at].start == end;

	range->taken--;
	if (joins_before && joins_behind) {
		range->parts[at - 1].end = range->parts[at].end;
		part_remove(range, at);
	} else if (joins_before) {
		range->parts[at - 1].end = end;
	} else if (joins_behind) {
		range->parts[at].start = start;
	} else {
		part_insert(range, at, start, end);
	}
}

uint64_t npurt_range_free_bytes(const struct npurt_range *range)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < range->count; i++)
		bytes += range->parts[i].end - range->parts[i].start;
	return bytes;
}
