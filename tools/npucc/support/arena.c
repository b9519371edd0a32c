// SPDX-License-Identifier: MIT
#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES (64u << 10)
#define ARENA_DEFAULT_LIMIT (4ull << 30)
#define ARENA_BIG_ALIGN 64u
#define ARENA_SMALL_ALIGN 16u

struct arena_block {
	struct arena_block *next;
	uint64_t size;
	uint64_t used;
	unsigned char *bytes; /* first 64-byte aligned byte of this allocation */
};

void arena_init(struct arena *arena, uint64_t limit)
{
	memset(arena, 0, sizeof(*arena));
	arena->limit = limit ? limit : ARENA_DEFAULT_LIMIT;
}

void arena_free(struct arena *arena)
{
	struct arena_block *block = arena->head;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	arena->head = NULL;
	arena->used = 0;
}

static struct arena_block *arena_new_block(uint64_t size)
{
	struct arena_block *block;
	uintptr_t start;

	if (size > SIZE_MAX - sizeof(*block) - ARENA_BIG_ALIGN)
		return NULL;
	/* calloc: the pages of a large zeroed block cost nothing until touched. */
	block = calloc(1, sizeof(*block) + ARENA_BIG_ALIGN + (size_t)size);
	if (!block)
		return NULL;
	start = (uintptr_t)(block + 1);
	start = (start + ARENA_BIG_ALIGN - 1) & ~(uintptr_t)(ARENA_BIG_ALIGN - 1);
	block->bytes = (unsigned char *)start;
	block->size = size;
	return block;
}

void *arena_alloc(struct arena *arena, uint64_t size)
{
	uint64_t align = size >= ARENA_BIG_ALIGN ? ARENA_BIG_ALIGN : ARENA_SMALL_ALIGN;
	struct arena_block *block = arena->head;
	uint64_t offset;

	if (size > arena->limit || arena->used > arena->limit - size)
		return NULL;
	if (block) {
		offset = (block->used + align - 1) & ~(align - 1);
		if (offset <= block->size && size <= block->size - offset) {
			block->used = offset + size;
			arena->used += size;
			return block->bytes + offset;
		}
	}
	block = arena_new_block(size > ARENA_BLOCK_BYTES / 4 ? size : ARENA_BLOCK_BYTES);
	if (!block)
		return NULL;
	block->used = size;
	if (arena->head && size > ARENA_BLOCK_BYTES / 4) {
		/* A block of its own must not hide the room left in the current one. */
		block->next = arena->head->next;
		arena->head->next = block;
	} else {
		block->next = arena->head;
		arena->head = block;
	}
	arena->used += size;
	return block->bytes;
}

void *arena_alloc_array(struct arena *arena, uint64_t count, uint64_t size)
{
	if (size && count > UINT64_MAX / size)
		return NULL;
	return arena_alloc(arena, count * size);
}

void *arena_copy(struct arena *arena, const void *data, uint64_t size)
{
	void *copy = arena_alloc(arena, size);

	if (copy && size)
		memcpy(copy, data, (size_t)size);
	return copy;
}

char *arena_string(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, (uint64_t)length + 1);

	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return NULL;
	text = arena_alloc(arena, (uint64_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}
