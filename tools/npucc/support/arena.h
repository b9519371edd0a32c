/* SPDX-License-Identifier: MIT */
/*
 * Region allocator of the compiler: everything a model's import and its passes
 * allocate lives in one arena and is freed with it, so that an error path
 * never has to know what was built so far.
 *
 * Not thread safe: one arena belongs to one thread at a time.
 */
#ifndef NPUCC_SUPPORT_ARENA_H
#define NPUCC_SUPPORT_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
	struct arena_block *head;	/* newest block */
	uint64_t used;			/* bytes handed out so far */
	uint64_t limit;			/* refuse to hand out more than this */
};

/*
 * arena_init - make an empty arena.
 * @limit: bytes it may hand out in all; 0 means the default of 4 GiB. Hostile
 *	models are stopped by this, not by the machine running out of memory.
 */
void arena_init(struct arena *arena, uint64_t limit);

/* arena_free - give everything back; the arena is empty and usable after. */
void arena_free(struct arena *arena);

/*
 * arena_alloc - @size zeroed bytes aligned to 64 when @size >= 64, to 16 else.
 * Returns NULL when memory or the arena's limit is exhausted. A size of zero
 * gives a valid pointer that must not be read.
 */
void *arena_alloc(struct arena *arena, uint64_t size);

/* arena_alloc_array - arena_alloc(count * size), NULL on overflow too. */
void *arena_alloc_array(struct arena *arena, uint64_t count, uint64_t size);

/* arena_copy - arena_alloc() followed by a copy of @size bytes of @data. */
void *arena_copy(struct arena *arena, const void *data, uint64_t size);

/* arena_string - a NUL terminated copy of @length bytes (which may hold NULs). */
char *arena_string(struct arena *arena, const char *text, size_t length);

/* arena_printf - a formatted string in the arena, NULL when out of memory. */
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
