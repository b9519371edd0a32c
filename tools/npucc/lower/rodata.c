// SPDX-License-Identifier: MIT
#include "rodata.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RODATA_MAX_BYTES ((size_t)1 << 39) /* what a descriptor's address reaches */

struct entry {
	uint64_t hash;
	size_t offset, size;
};

struct rodata {
	uint8_t *bytes;
	size_t size, capacity;
	struct entry *entries; /* open addressing; size 0 is free */
	size_t entry_count, entry_capacity; /* capacity: a power of two */
};

struct rodata *rodata_new(void)
{
	return calloc(1, sizeof(struct rodata));
}

void rodata_free(struct rodata *rodata)
{
	if (!rodata)
		return;
	free(rodata->bytes);
	free(rodata->entries);
	free(rodata);
}

void *rodata_take(struct rodata *rodata, size_t *size)
{
	void *bytes = rodata->bytes;

	*size = rodata->size;
	free(rodata->entries);
	memset(rodata, 0, sizeof(*rodata));
	return bytes;
}

/* Eight bytes at a time: weights are most of a model, and all of them come through here. */
static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0x9e3779b97f4a7c15ull ^ size, word;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		memcpy(&word, bytes + i, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes + i, size - i);
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 29;
}

static bool grow_entries(struct rodata *rodata)
{
	size_t capacity = rodata->entry_capacity ? rodata->entry_capacity * 2 : 256;
	struct entry *entries = calloc(capacity, sizeof(*entries));
	size_t i, at;

	if (!entries)
		return false;
	for (i = 0; i < rodata->entry_capacity; i++) {
		if (!rodata->entries[i].size)
			continue;
		at = rodata->entries[i].hash & (capacity - 1);
		while (entries[at].size)
			at = (at + 1) & (capacity - 1);
		entries[at] = rodata->entries[i];
	}
	free(rodata->entries);
	rodata->entries = entries;
	rodata->entry_capacity = capacity;
	return true;
}

static bool grow_bytes(struct rodata *rodata, size_t wanted)
{
	size_t capacity = rodata->capacity ? rodata->capacity : 65536;
	uint8_t *bytes;

	if (wanted > RODATA_MAX_BYTES)
		return false;
	if (wanted <= rodata->capacity)
		return true;
	while (capacity < wanted)
		capacity *= 2;
	bytes = realloc(rodata->bytes, capacity);
	if (!bytes)
		return false;
	rodata->bytes = bytes;
	rodata->capacity = capacity;
	return true;
}

int64_t rodata_add(struct rodata *rodata, const void *bytes, size_t size, uint32_t align)
{
	uint64_t hash;
	size_t at, offset;

	if (!size)
		return 0;
	if (2 * (rodata->entry_count + 1) > rodata->entry_capacity && !grow_entries(rodata))
		return -1;
	hash = hash_bytes(bytes, size);
	at = hash & (rodata->entry_capacity - 1);
	for (; rodata->entries[at].size; at = (at + 1) & (rodata->entry_capacity - 1)) {
		const struct entry *entry = &rodata->entries[at];

		if (entry->hash == hash && entry->size == size && !(entry->offset & (align - 1)) &&
		    !memcmp(rodata->bytes + entry->offset, bytes, size))
			return (int64_t)entry->offset;
	}
	offset = (rodata->size + align - 1) & ~((size_t)align - 1);
	if (size > RODATA_MAX_BYTES || !grow_bytes(rodata, offset + size))
		return -1;
	memset(rodata->bytes + rodata->size, 0, offset - rodata->size);
	memcpy(rodata->bytes + offset, bytes, size);
	rodata->size = offset + size;
	rodata->entries[at] = (struct entry){ .hash = hash, .offset = offset, .size = size };
	rodata->entry_count++;
	return (int64_t)offset;
}
